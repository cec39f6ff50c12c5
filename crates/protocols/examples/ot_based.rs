//! Times the OT-based protocols, both parties in one process on one thread each, beside the floor of the work they do.
//!
//! `cargo run --release -p vesica-protocols --example ot_based -- PROTOCOL LOG2_RECEIVER LOG2_SENDER [SIGMA|-] [ROUNDS]
//! [VARIANT]`. From items in memory to matches: base OTs, hashing and the final join are inside the clock, connecting
//! is not. A channel in memory has the cost of transcript digests and of nothing else.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that fails has nobody to tell")]

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use rand::{SeedableRng, rngs::StdRng};
use vesica_channel::{Channel, Stream, memory};
use vesica_protocols::registry::{self, Entry, Shape};
use vesica_protocols::testing::{Planted, planted_for};
use vesica_protocols::{Ctx, Learns, Parameters, Pending, Phase, Progress, Role, Run, Sizes};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: usize| args.get(i).and_then(|text| text.parse().ok()).unwrap_or(default);
    let protocol = registry::find(args.first().map_or("kkrt", String::as_str)).expect("a protocol");
    let (receiver, sender) = (1usize << number(1, 20), 1usize << number(2, number(1, 20)));
    let sigma = args.get(3).and_then(|text| text.parse().ok());
    let variant = args.get(5).map(|name| protocol.supports.variant(name).expect("a variant"));
    let parameters = Parameters { sigma, variant, ..Parameters::default() };
    let sets = planted_for(&parameters, receiver, sender, receiver.min(sender) / 2, 1);
    let shape = Shape {
        sizes: Sizes { receiver, sender },
        parameters,
        learns: Learns::Receiver,
        matches: sets.receiver_rows.len(),
        kept_base_ots: false,
    };
    let bytes = [Role::Receiver, Role::Sender].map(|from| protocol.bytes(from, &shape));
    let mut walls: Vec<Duration> = (0..number(4, 5))
        .map(|round| once(protocol, &sets, &shape, bytes, memory::pair(), round == 0))
        .collect();
    walls.sort();
    let median = walls[walls.len() / 2].as_secs_f64();
    let floor = floor(protocol.name, &shape, bytes[0] + bytes[1]);
    println!(
        "{} {receiver} x {sender} sigma {sigma:?} {}: median {median:.3} s of {} ({:.3} to {:.3}), {} bytes, floor {floor:.3} s, {:.2}x",
        parameters.variant_name(),
        protocol.name,
        walls.len(),
        walls[0].as_secs_f64(),
        walls[walls.len() - 1].as_secs_f64(),
        bytes[0] + bytes[1],
        median / floor,
    );
}

/// `limits.md` §9, in seconds: nanoseconds an item of each party's own work, and the wire where that is more.
fn floor(name: &str, shape: &Shape, bytes: u64) -> f64 {
    let (receiver, sender) = (shape.sizes.receiver as f64, shape.sizes.sender as f64);
    let [mine, theirs] = match name {
        "kkrt" => [40.0 * receiver + 60.0 * sender, 4.0 * receiver + 48.0 * sender],
        _ => [54.0 * receiver + 50.0 * sender, 13.0 * receiver + 48.0 * sender],
    };
    (mine.max(theirs) * 1e-9).max(bytes as f64 / 3.3e9)
}

fn once(
    protocol: &Entry,
    sets: &Planted,
    shape: &Shape,
    bytes: [u64; 2],
    ends: (Stream, Stream),
    told: bool,
) -> Duration {
    let (mut mine, mut theirs) = ends;
    let watches = ["receiver", "sender"].map(Phases::new);
    let run = |progress| Run { progress, ..protocol.run(&[7; 32], shape.sizes, shape.parameters) };
    let started = Instant::now();
    let (matches, wall) = thread::scope(|scope| {
        scope.spawn(|| {
            let mut rng = StdRng::seed_from_u64(2);
            let run = run(&watches[1]);
            let ctx = &mut Ctx::new(&run, &mut theirs, &mut rng);
            protocol.send(ctx, &sets.sender).expect("sender");
            theirs.flush().expect("flush");
            watches[1].end();
        });
        let mut rng = StdRng::seed_from_u64(1);
        let run = run(&watches[0]);
        let ctx = &mut Ctx::new(&run, &mut mine, &mut rng);
        let matches = protocol.receive(ctx, &sets.receiver).and_then(Pending::matches).expect("receiver");
        (matches, started.elapsed())
    });
    watches[0].end();
    assert_eq!(matches.rows(), sets.receiver_rows);
    let traffic = mine.traffic();
    assert_eq!([traffic.payload_sent, traffic.payload_received], bytes);
    if told {
        watches.iter().for_each(Phases::print);
    }
    wall
}

/// When a party's phases began.
struct Phases {
    who: &'static str,
    marks: Mutex<Vec<(String, Instant)>>,
}

impl Phases {
    fn new(who: &'static str) -> Self {
        Self { who, marks: Mutex::default() }
    }

    fn end(&self) {
        self.marks.lock().unwrap().push(("end".to_owned(), Instant::now()));
    }

    fn print(&self) {
        let marks = self.marks.lock().unwrap();
        let spans: Vec<String> = marks
            .windows(2)
            .map(|pair| format!("{} {:.3}", pair[0].0, (pair[1].1 - pair[0].1).as_secs_f64()))
            .collect();
        println!("{:>9}: {}", self.who, spans.join(", "));
    }
}

impl Progress for Phases {
    fn phase(&self, phase: Phase, _: u64) {
        self.marks.lock().unwrap().push((phase.name().to_owned(), Instant::now()));
    }
    fn advance(&self, _: u64) {}
    fn cancelled(&self) -> bool {
        false
    }
}
