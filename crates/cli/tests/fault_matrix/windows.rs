//! The windows of the two generals: one side ends with 0, and the other does not. The last bytes of a run are lost, damaged
//! or come too late, and whatever pair of ends comes of it is one of the table's. The receiver's 0 is exact in all of them.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use rustix::process::Signal;
use vesica::protocols::Role;

use crate::common::{ANOTHER_DAY, Ended, Party, RECEIVER, SENDER, Scene, nothing_shown, plain_join};
use crate::page::{Row, Section};
use crate::{Job, scene};

type Codes = &'static [Option<i32>];

/// Ended by a signal.
const SIGNALLED: Codes = &[None, Some(129), Some(130), Some(131), Some(143)];

/// When it happens, and how the receiver and the sender end: the page's cells, and the codes.
type Window = (&'static str, [&'static str; 2], [Codes; 2]);

const WINDOWS: [Window; 8] = [
    (
        "the last bytes to the receiver are lost, and its connection stays open",
        ["69", "0"],
        [&[Some(69)], &[Some(0)]],
    ),
    (
        "the last bytes to the sender are lost, or its connection ends before them",
        ["0", "69"],
        [&[Some(0)], &[Some(69)]],
    ),
    ("the last bytes to the receiver are damaged, and not encrypted", ["76", "0"], [&[Some(76)], &[Some(0)]]),
    ("the last bytes to the sender are damaged", ["0", "76"], [&[Some(0)], &[Some(76)]]),
    (
        "the receiver is killed, or gets a signal, after its last bytes",
        ["killed, 129, 130, 131, 143", "0"],
        [SIGNALLED, &[Some(0)]],
    ),
    (
        "the sender is killed, or gets a signal, after its last bytes",
        ["0", "killed, 129, 130, 131, 143"],
        [&[Some(0)], SIGNALLED],
    ),
    ("the receiver's input changes during the run", ["65", "0"], [&[Some(65)], &[Some(0)]]),
    ("the receiver's rows cannot be written", ["74, 141", "0"], [&[Some(74), Some(141)], &[Some(0)]]),
];

/// What is done to the bytes of one direction, from one of them on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    Nothing,
    /// They do not come, and nothing is closed.
    Swallow,
    /// The connection ends.
    Cut,
    /// A bit of the first one is another.
    Flip,
}

/// The table of this file, and the jobs that fill it.
pub(crate) fn section() -> (Section, Vec<Job>) {
    let section = Section {
        title: "One side ends well, and the other does not".into(),
        text: "The last message of a run cannot be confirmed. So there are moments in which a fault lets one side end with \
               0 alone.\nThese are all pairs of ends of that kind; the test fails if it sees another one, and if it does not \
               see each of them.\n**Where the receiver ends with 0, its output is exact.** A sender's 0 does not tell whether \
               the receiver has its result.",
        head: &["when", "receiver", "sender"],
        rows: Vec::new(),
    };
    let jobs = WINDOWS.iter().enumerate().map(|(at, (when, ..))| -> Job {
        let run = move || {
            let ends = match at {
                0 => lost(at, Role::Receiver, true, &[Act::Swallow, Act::Cut]),
                1 => lost(at, Role::Sender, true, &[Act::Swallow, Act::Cut]),
                2 => lost(at, Role::Receiver, false, &[Act::Flip]),
                3 => lost(at, Role::Sender, true, &[Act::Flip]),
                5 => signalled(at),
                // Other tables have them.
                _ => return row(at, None),
            };
            row(at, Some(ends))
        };
        ((*when).to_owned(), Box::new(run))
    });
    (section, jobs.collect())
}

fn row(window: usize, ends: Option<(Ended, Ended)>) -> Row {
    let (when, [receiver, sender], _) = WINDOWS[window];
    let ends = ends.as_ref().map(|(receiver, sender)| [receiver, sender]);
    let mut row = Row::new(when, [0, 1].map(|at| ends.map(|ends| ends[at])));
    row.instead = [Some(receiver), Some(sender), None];
    row
}

/// The window that these two ends are in.
fn window_of(codes: [Option<i32>; 2]) -> Option<usize> {
    let has =
        |(_, _, window): &Window| window.iter().zip(codes).all(|(allowed, code)| allowed.contains(&code));
    WINDOWS.iter().position(has)
}

/// Whether two sides may end like this.
fn may_be(codes: [Option<i32>; 2]) -> bool {
    let well = codes.iter().filter(|code| **code == Some(0)).count();
    well != 1 || window_of(codes).is_some()
}

/// Holds the ends of all tables against this one.
pub(crate) fn check(sections: &[Section]) -> Result<(), String> {
    let mut seen = [false; WINDOWS.len()];
    for section in sections.iter().filter(|section| section.head[1..] == ["receiver", "sender"]) {
        for row in &section.rows {
            let [Some(receiver), Some(sender)] = &row.ends[..] else { continue };
            let codes = [receiver.code, sender.code];
            if !may_be(codes) {
                return Err(format!("{}, {}: {codes:?} is in no window", section.title, row.what));
            }
            window_of(codes).into_iter().for_each(|window| seen[window] = true);
        }
    }
    match seen.iter().position(|seen| !seen) {
        Some(window) => Err(format!("no run ended like this: {}", WINDOWS[window].0)),
        None => Ok(()),
    }
}

// ---- runs -----------------------------------------------------------------------------------------------------------

/// Runs in which the last bytes in the direction of one side are lost or damaged, at one place after the other. Gives the ends
/// of one in the window.
fn lost(window: usize, toward: Role, secured: bool, acts: &'static [Act]) -> (Ended, Ended) {
    let whole = Middle::run(toward, secured, (Act::Nothing, 0)).length;
    // The last message, and what encryption adds to it. TLS has a word of its own for the end.
    let every = if secured { 24 } else { 8 };
    let places: Vec<(Act, usize)> =
        acts.iter().flat_map(|act| (1..=8).map(move |back| (*act, whole - back * every))).collect();
    let mut found = None;
    for places in places.chunks(4) {
        let ends: Vec<(Ended, Ended)> = thread::scope(|scope| {
            let runs = places.iter().map(|place| scope.spawn(|| Middle::run(toward, secured, *place).ends));
            let runs: Vec<_> = runs.collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        });
        for (receiver, sender) in ends {
            let codes = [receiver.code, sender.code];
            assert!(may_be(codes), "{codes:?}:\n{}\n{}", receiver.screen, sender.screen);
            if window_of(codes) == Some(window) {
                found = Some((receiver, sender));
            }
        }
    }
    found.unwrap_or_else(|| panic!("no run ended like this: {}", WINDOWS[window].0))
}

/// A sender that still waits for the last bytes gets a signal.
fn signalled(window: usize) -> (Ended, Ended) {
    let whole = Middle::run(Role::Sender, true, (Act::Nothing, 0)).length;
    let mut ends = [Signal::KILL, Signal::TERM].map(|signal| {
        let scene = scene(9);
        let (sender, receiver, _) = start(&scene, Role::Sender, true, (Act::Swallow, whole - 60), "5m");
        let receiver = receiver.end();
        sender.signal(signal);
        let sender = sender.end();
        exact(&scene, &receiver, &sender);
        assert_eq!(window_of([receiver.code, sender.code]), Some(window), "{}", receiver.screen);
        Some((receiver, sender))
    });
    ends[1].take().unwrap()
}

/// What came of a run with somebody in the middle.
struct Middle {
    ends: (Ended, Ended),
    /// Bytes in the direction that he looks at.
    length: usize,
}

impl Middle {
    fn run(toward: Role, secured: bool, place: (Act, usize)) -> Self {
        let scene = scene(9);
        // A disturbed run may have to be given up, and a program may take long to start.
        let timeout = if place.0 == Act::Nothing { "5m" } else { "8s" };
        let (sender, receiver, passed) = start(&scene, toward, secured, place, timeout);
        let (receiver, sender) = (receiver.end(), sender.end());
        exact(&scene, &receiver, &sender);
        if place.0 == Act::Nothing {
            assert_eq!([receiver.code, sender.code], [Some(0); 2], "{}\n{}", receiver.screen, sender.screen);
        }
        Middle { ends: (receiver, sender), length: passed.load(Relaxed) }
    }
}

/// Starts both sides, and counts what goes in that direction.
fn start(
    scene: &Scene,
    toward: Role,
    secured: bool,
    place: (Act, usize),
    timeout: &str,
) -> (Party, Party, Arc<AtomicUsize>) {
    let named = ["--security", "semi-honest", "--protocol", "dh", "--timeout", timeout, "--threads", "1"];
    let plaintext = ["--insecure-plaintext"];
    let own = |identity, peer| match secured {
        true => vec!["--identity", identity, "--peer", peer],
        false => plaintext.to_vec(),
    };
    let keys = own("sender.pem", &scene.receiver_key);
    let mut sender =
        scene.start(&[&["send", "--listen", "127.0.0.1:0"], &keys[..], &SENDER, &named].concat());
    let line = sender.wait_for("listening on ");
    let address = line.trim_start_matches("listening on ").split(';').next().unwrap().to_owned();
    let (middle, passed) = between(address.parse().unwrap(), toward, place);
    let (keys, middle) = (own("receiver.pem", &scene.sender_key), middle.to_string());
    let receiver = scene.start(&[&["receive", "--connect", &middle], &keys[..], &RECEIVER, &named].concat());
    (sender, receiver, passed)
}

/// The output is that of a plain join, or of another day.
fn exact(scene: &Scene, receiver: &Ended, sender: &Ended) {
    let expected = match receiver.code {
        Some(0) => plain_join(&scene.read("receiver.csv"), &scene.read("sender.csv")),
        _ => ANOTHER_DAY.to_owned(),
    };
    assert_eq!(scene.read("out.csv"), expected, "{}", receiver.screen);
    nothing_shown(scene, &[receiver, sender]);
}

/// Somebody between the two, who passes everything on but what is to be lost.
fn between(sender: SocketAddr, toward: Role, (act, at): (Act, usize)) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, passed) = (listener.local_addr().unwrap(), Arc::<AtomicUsize>::default());
    let count = passed.clone();
    thread::spawn(move || {
        let mut act = act;
        while let Ok((near, _)) = listener.accept() {
            let Ok(far) = TcpStream::connect(sender) else { continue };
            let back = (far.try_clone().unwrap(), near.try_clone().unwrap());
            let (chosen, other) = match toward {
                Role::Receiver => (back, (near, far)),
                Role::Sender => ((near, far), back),
            };
            let (count, place) = (count.clone(), (std::mem::replace(&mut act, Act::Nothing), at));
            thread::spawn(move || pass(other, (Act::Nothing, 0), &AtomicUsize::new(0)));
            thread::spawn(move || pass(chosen, place, &count));
        }
    });
    (address, passed)
}

fn pass((mut from, mut to): (TcpStream, TcpStream), (act, at): (Act, usize), passed: &AtomicUsize) {
    let mut buffer = [0; 1 << 12];
    let mut lost = false;
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let (before, bytes) = (passed.fetch_add(length, Relaxed), &mut buffer[..length]);
        let mut bytes = &mut bytes[..];
        if act != Act::Nothing && (before..before + length).contains(&at) {
            match act {
                Act::Flip => bytes[at - before] ^= 1,
                Act::Cut => {
                    // What comes before is still to arrive.
                    drop(to.write_all(&bytes[..at - before]));
                    drop((to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both)));
                    return;
                }
                Act::Swallow | Act::Nothing => {
                    drop(to.write_all(&bytes[..at - before]));
                    (lost, bytes) = (true, &mut []);
                }
            }
        }
        if !lost && to.write_all(bytes).is_err() {
            return;
        }
    }
    if lost {
        // It stays open for as long as the test runs.
        std::mem::forget(to);
    } else {
        drop(to.shutdown(Shutdown::Write));
    }
}
