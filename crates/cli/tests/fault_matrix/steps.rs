//! Every fault at every step of either party.

use std::collections::BTreeSet;
use std::process::Command;

use rustix::process::{Resource, Rlimit, Signal, prlimit};
use vesica::protocols::Role;

use crate::common::{ANOTHER_DAY, Ended, Party, RECEIVER, SENDER, Scene, nothing_shown, plain_join, with};
use crate::hook::{Bell, NEVER, WRITING};
use crate::page::{Row, Section};
use crate::wire::{Line, Port};
use crate::{Job, scene};

/// What is done to a party that stands at a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    Killed,
    Frozen,
    Cut,
    DiskFull,
    OutputClosed,
    Interrupted,
    HungUp,
    Terminated,
}

const FAULTS: [(Fault, &str, &str); 8] = [
    (Fault::Killed, "killed", "The party gets a SIGKILL when it enters the step."),
    (
        Fault::Frozen,
        "frozen",
        "The party gets a SIGSTOP when it enters the step. It goes on when the other party has given up.",
    ),
    (
        Fault::Cut,
        "cut off",
        "A proxy between the parties closes the connection while the party enters the step. At `connect` it does so in \
         the\nmiddle of the first handshake, and the parties find each other again.",
    ),
    (
        Fault::DiskFull,
        "out of disk space",
        "From this step on no file can grow. (The test limits file sizes, so the system's reason is not that of \
         a full disk.)",
    ),
    (
        Fault::OutputClosed,
        "without a reader",
        "With `--output -`, the reader of standard output ends at the step. There is no message.",
    ),
    (Fault::Interrupted, "interrupted", "The party gets a SIGINT when it enters the step."),
    (
        Fault::HungUp,
        "hung up",
        "The party gets a SIGHUP when it enters the step, as if its terminal or its SSH connection had closed.",
    ),
    (Fault::Terminated, "terminated", "The party gets a SIGTERM when it enters the step."),
];

/// One cell of the matrix.
#[derive(Clone, Debug)]
struct Cell {
    fault: Fault,
    victim: Role,
    step: String,
}

/// A silence that the undisturbed party does not bear, where it is to notice one.
const SHORT: &str = "3s";
/// How long a party waits for somebody who does not come.
const ALONE: &str = "1s";

/// The tables of all faults, and the jobs that fill them.
pub(crate) fn sections() -> Vec<(Section, Vec<Job>)> {
    let roles = [Role::Receiver, Role::Sender];
    let steps = roles.map(|role| (role, steps_of(role)));
    let mut sections = Vec::new();
    for (fault, name, text) in FAULTS {
        for (victim, steps) in &steps {
            let cells = steps.iter().map(|step| Cell { fault, victim: *victim, step: step.clone() });
            let jobs: Vec<Job> = cells
                .filter(Cell::makes_sense)
                .map(|cell| (format!("{cell:?}"), Box::new(move || cell.run()) as Box<_>))
                .collect();
            if !jobs.is_empty() {
                let title = format!("The {victim} {name}");
                sections.push((
                    Section { title, text, head: &["step", "receiver", "sender"], rows: Vec::new() },
                    jobs,
                ));
            }
        }
    }
    sections
}

/// The steps of a role, in the order in which a run tells them.
fn steps_of(role: Role) -> Vec<String> {
    let scene = scene(9);
    let events = ["--events", "events.json"];
    let (mine, theirs) = match role {
        Role::Receiver => (&events[..], &[][..]),
        Role::Sender => (&[][..], &events[..]),
    };
    let named = ["--security", "semi-honest", "--protocol", "dh"];
    let (receiver, sender) =
        scene.pair(&with(&with(&SENDER, theirs), &named), &with(&with(&RECEIVER, mine), &named));
    receiver.expect(0, &[]);
    sender.expect(0, &[]);
    let mut seen = BTreeSet::new();
    let mut steps = vec!["prepare".to_owned()];
    for line in scene.read("events.json").lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        let step = event["name"].as_str().filter(|_| event["event"] == "phase");
        steps.extend(step.filter(|step| seen.insert((*step).to_owned())).map(str::to_owned));
    }
    if role == Role::Receiver {
        steps.push(WRITING.to_owned());
    }
    steps
}

impl Cell {
    fn makes_sense(&self) -> bool {
        match self.fault {
            // There is no line yet, or none any more.
            Fault::Cut => !matches!(self.step.as_str(), "prepare" | "read" | "compare" | "write" | WRITING),
            Fault::DiskFull | Fault::OutputClosed => self.victim == Role::Receiver,
            _ => true,
        }
    }

    /// Before there is a connection.
    fn early(&self) -> bool {
        matches!(self.step.as_str(), "prepare" | "read" | "connect")
    }

    /// The partner has confirmed the run, or finds the victim again.
    fn harmless(&self) -> bool {
        matches!(self.step.as_str(), "compare" | "write" | WRITING)
            || self.fault == Fault::Cut && self.early()
    }

    /// The partner may have said all it had to say before the victim froze: a partner who gives up afterwards is then
    /// not missed. (Of two parties one always has the last word, and cannot know whether it was heard.)
    fn may_have_all(&self) -> bool {
        let late: &[&str] = match self.victim {
            Role::Receiver => &["answer", "unblind", "exchange", "confirm"],
            Role::Sender => &["confirm"],
        };
        self.fault == Fault::Frozen && late.contains(&self.step.as_str())
    }

    /// The codes that the victim and its partner end with.
    fn codes(&self) -> [Option<i32>; 2] {
        let victim = match self.fault {
            Fault::Killed => None,
            Fault::Interrupted => Some(130),
            Fault::HungUp => Some(129),
            Fault::Terminated => Some(143),
            Fault::DiskFull => Some(74),
            Fault::OutputClosed => Some(141),
            Fault::Frozen | Fault::Cut if self.harmless() => Some(0),
            Fault::Frozen | Fault::Cut => Some(69),
        };
        let unharmed = matches!(self.fault, Fault::DiskFull | Fault::OutputClosed) || self.harmless();
        [victim, Some(if unharmed { 0 } else { 69 })]
    }

    /// Words on the partner's screen.
    fn words(&self) -> &'static str {
        match (self.codes()[1], self.fault) {
            (Some(0), _) => "",
            _ if self.early() && self.victim == Role::Sender => "could not reach the partner",
            _ if self.early() => "the partner did not connect",
            (_, Fault::Frozen) => "fell silent",
            (_, Fault::Interrupted | Fault::HungUp | Fault::Terminated) => "the partner ended the run",
            _ => "closed the connection",
        }
    }

    fn run(self) -> Row {
        let scene = scene(9);
        let port = Port::new();
        let handshake = (self.step == "connect").then_some(200);
        let line = (self.fault == Fault::Cut).then(|| Line::to(port.address, handshake));
        let (bell, other_bell) = (Bell::new(), Bell::new());
        let goal = line.as_ref().map_or(port.address, |line| line.address).to_string();
        let victim = self.command(&bell);
        // If the line is cut, neither is to have all it needs from the other.
        let apart = line.is_some() && !self.harmless();
        let other = other_bell.command(if apart { "confirm" } else { NEVER });
        let start = |role: Role, command: Command| self.start(&scene, role, command, &port, &goal);
        let mut victim = start(self.victim, victim);
        let partner = if self.stands_at_the_door() {
            let paused = bell.wait();
            if self.victim == Role::Sender {
                drop(paused);
                victim.wait_for("listening on ");
                start(Role::Receiver, other)
            } else {
                let mut partner = start(Role::Sender, other);
                partner.wait_for("listening on ");
                partner
            }
        } else {
            start(self.victim.other(), other)
        };
        let (victim, partner) = self.disturb(victim, partner, [bell, other_bell], line.as_ref());
        self.check(&scene, &victim, &partner);
        let (first, second) =
            if self.victim == Role::Receiver { (&victim, &partner) } else { (&partner, &victim) };
        let mut row = Row::new(format!("`{}`", self.step), [Some(first), Some(second)]);
        if self.may_have_all() {
            let at = usize::from(self.victim == Role::Sender);
            row.instead[at] = Some(
                "69: the partner closed the connection before the end; or 0 if all that it needs has come",
            );
        }
        row
    }

    /// Whether the victim has read its table before the partner begins to wait: the partner bears no long silence, and a
    /// machine under load may take as long to start a program.
    fn stands_at_the_door(&self) -> bool {
        self.fault == Fault::Frozen && !self.early() && !self.harmless()
    }

    fn command(&self, bell: &Bell) -> Command {
        match self.fault {
            _ if self.stands_at_the_door() => bell.command(&format!("connect,{}", self.step)),
            Fault::Cut if self.step == "connect" => bell.command(NEVER),
            Fault::HungUp => bell.command_that_hears(&self.step),
            _ => bell.command(&self.step),
        }
    }

    fn start(&self, scene: &Scene, role: Role, command: Command, port: &Port, goal: &str) -> Party {
        let timeout = match (role == self.victim, self.harmless(), self.early()) {
            (_, true, _) => "5m",
            (true, _, true) if self.fault == Fault::Frozen => ALONE,
            (true, ..) => "5m",
            (false, _, true) if self.codes()[1] == Some(69) => ALONE,
            (false, ..) if self.fault == Fault::Frozen => SHORT,
            (false, ..) => "5m",
        };
        let named = ["--security", "semi-honest", "--protocol", "dh"];
        let more = with(&named, &["--timeout", timeout, "--threads", "1"]);
        let listen = port.address.to_string();
        let args = match role {
            Role::Sender => {
                let mine = ["send", "--listen", &listen, "--identity", "sender.pem"];
                with(&with(&mine, &["--peer", &scene.receiver_key]), &SENDER)
            }
            Role::Receiver => {
                let mine = ["receive", "--connect", goal, "--identity", "receiver.pem"];
                let mut args = with(&with(&mine, &["--peer", &scene.sender_key]), &RECEIVER);
                if self.fault == Fault::OutputClosed {
                    args.pop();
                    args.push("-");
                }
                args
            }
        };
        scene.start_as(command, &with(&args, &more))
    }

    /// Does it, when the victim has come to its step. Gives the ends of the victim and of its partner.
    fn disturb(
        &self,
        mut victim: Party,
        mut partner: Party,
        [bell, other_bell]: [Bell; 2],
        line: Option<&Line>,
    ) -> (Ended, Ended) {
        if self.fault == Fault::Cut && self.step == "connect" {
            other_bell.release();
            return (victim.end(), partner.end());
        }
        let paused = bell.wait();
        if !self.early() {
            // The last word of the handshake has come to it.
            partner.wait_for("connected to the partner");
        }
        match self.fault {
            Fault::Killed => victim.signal(Signal::KILL),
            Fault::Interrupted => victim.signal(Signal::INT),
            Fault::HungUp => victim.signal(Signal::HUP),
            Fault::Terminated => victim.signal(Signal::TERM),
            Fault::Frozen => {
                victim.signal(Signal::STOP);
                let partner = partner.end();
                victim.signal(Signal::CONT);
                drop(paused);
                return (victim.end(), partner);
            }
            Fault::Cut => {
                line.unwrap().cut();
                other_bell.release();
                drop(paused);
                return (victim.end(), partner.end());
            }
            Fault::DiskFull => {
                let none = Rlimit { current: Some(0), maximum: Some(0) };
                prlimit(Some(victim.pid()), Resource::Fsize, none).unwrap();
                drop(paused);
                return (victim.end(), partner.end());
            }
            Fault::OutputClosed => {
                victim.close_stdout();
                // A process that another cell is just starting holds a copy of the pipe until it becomes the program.
                std::thread::sleep(std::time::Duration::from_millis(500));
                drop(paused);
                return (victim.end(), partner.end());
            }
        }
        // Whoever got a signal goes on by itself, or not at all.
        let victim = victim.end();
        drop(paused);
        (victim, partner.end())
    }

    fn check(&self, scene: &Scene, victim: &Ended, partner: &Ended) {
        let [victim_code, partner_code] = self.codes();
        let lucky = self.may_have_all() && victim.code == Some(0);
        assert!(victim.code == victim_code || lucky, "the victim, {:?}:\n{}", victim.code, victim.screen);
        assert_eq!(partner.code, partner_code, "the partner:\n{}", partner.screen);
        assert!(partner.screen.contains(self.words()), "the partner:\n{}", partner.screen);
        for end in [victim, partner] {
            if end.code.is_some_and(|code| !matches!(code, 0 | 141)) {
                for part in ["\n  where: ", ", phase ", "\n  what to do: "] {
                    assert!(end.screen.contains(part), "{part:?}:\n{}", end.screen);
                }
            }
        }
        nothing_shown(scene, &[victim, partner]);
        let receiver = if self.victim == Role::Receiver { victim } else { partner };
        let expected = match receiver.code {
            Some(0) => plain_join(&scene.read("receiver.csv"), &scene.read("sender.csv")),
            _ => ANOTHER_DAY.to_owned(),
        };
        assert_eq!(scene.read("out.csv"), expected, "the output");
    }
}
