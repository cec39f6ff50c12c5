//! The scaffolding of every protocol test: planted intersections, a run of both roles, tampering, an ideal group.
//!
//! Reachable only with the feature `testing`, which this crate's own tests turn on. Randomness here is seeded, so that a
//! run repeats byte for byte.
#![expect(clippy::unwrap_used, reason = "a test that cannot build its items is to stop there")]

use std::thread;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use vesica_crypto::hash::Context;
use vesica_encode::items::{Encoding, Items, ItemsBuilder, Matches, OnDuplicates, Width};
use vesica_net::{Channel, Digests, Options, Traffic, memory};

use crate::error::Error;
use crate::protocol::{Learns, Run, Sizes, Unwatched};
use crate::registry::{Entry, Shape};

mod ideal_group;
mod lying_wire;

pub use ideal_group::IdealGroup;
pub use lying_wire::{DIRECTIONS, Tampering, Target, Wire, lying_wire};

/// Two sets with a known intersection.
pub struct Planted {
    /// The receiver's items.
    pub receiver: Items,
    /// The sender's items.
    pub sender: Items,
    /// Rows of the receiver's table that a plain join gives.
    pub receiver_rows: Vec<u64>,
    /// Rows of the sender's table that a plain join gives.
    pub sender_rows: Vec<u64>,
}

/// Sets of `receiver` and `sender` different strings, `common` of which are the same, each set in an order of its own.
pub fn planted(receiver: usize, sender: usize, common: usize, seed: u64) -> Planted {
    assert!(common <= receiver.min(sender));
    let mut rng = StdRng::seed_from_u64(seed);
    let strings = |side: &str, count: usize, rng: &mut StdRng| {
        let mut strings: Vec<String> =
            (0..common).map(|i| format!("common-{seed}-{i}@example.org")).collect();
        strings.extend((common..count).map(|i| format!("{side}-{seed}-{i}@example.org")));
        strings.shuffle(rng);
        strings
    };
    let (mine, theirs) = (strings("receiver", receiver, &mut rng), strings("sender", sender, &mut rng));
    Planted {
        receiver: items(&mine),
        sender: items(&theirs),
        receiver_rows: common_rows(&mine, seed),
        sender_rows: common_rows(&theirs, seed),
    }
}

/// Items of these keys, in semi-honest width; the row of a key is its index.
pub fn items<S: AsRef<str>>(keys: &[S]) -> Items {
    let mut builder = ItemsBuilder::new(Encoding::Digest(Width::Digest128), keys.len()).unwrap();
    for (row, key) in (0..).zip(keys) {
        builder.push(row, key.as_ref().as_bytes()).unwrap();
    }
    builder.finish(OnDuplicates::All).unwrap()
}

fn common_rows(strings: &[String], seed: u64) -> Vec<u64> {
    let prefix = format!("common-{seed}-");
    (0..).zip(strings).filter(|(_, s)| s.starts_with(&prefix)).map(|(row, _)| row).collect()
}

/// How a test runs a pair.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Who learns the result.
    pub learns: Learns,
    /// Threads of each party.
    pub threads: usize,
    /// Seed of both parties' randomness.
    pub seed: u64,
}

impl Default for Case {
    fn default() -> Self {
        Case { learns: Learns::Receiver, threads: 1, seed: 1 }
    }
}

/// What both parties ended with.
pub struct Ended {
    /// The receiver's result.
    pub receiver: Result<Matches, Error>,
    /// The sender's result.
    pub sender: Result<Option<Matches>, Error>,
    /// Bytes, seen from the receiver.
    pub traffic: Traffic,
    /// Digests, seen from the receiver.
    pub digests: Digests,
    /// Digests, seen from the sender.
    pub sender_digests: Digests,
}

impl Ended {
    /// Whether both roles ended with a result and saw the same bytes, as the session demands before it says success.
    pub fn confirmed(&self) -> bool {
        let (mine, theirs) = (self.digests, self.sender_digests);
        let same = mine.sent == theirs.received && mine.received == theirs.sent;
        self.receiver.is_ok() && self.sender.is_ok() && same
    }
}

/// Runs both roles of `entry` over a memory channel.
pub fn run_pair(entry: &Entry, sets: &Planted, case: Case) -> Ended {
    run_over(entry, sets, case, memory::pair(&Options::default()))
}

/// Runs both roles of `entry` over the two ends of a channel: receiver's, sender's. An end is dropped when its role ends,
/// and aborted if it failed, as it is between processes.
pub fn run_over(entry: &Entry, sets: &Planted, case: Case, ends: (Channel, Channel)) -> Ended {
    let (mine, theirs) = ends;
    let sizes = Sizes { receiver: sets.receiver.len(), sender: sets.sender.len() };
    let run = || Run {
        context: Context::new(&[7; 32], entry.name, b"", sizes.receiver as u64, sizes.sender as u64),
        sizes,
        learns: case.learns,
        threads: case.threads,
        watch: &Unwatched,
    };
    let mut rngs = [0, 1].map(|party| StdRng::seed_from_u64(case.seed << 1 | party));
    let [my_rng, their_rng] = &mut rngs;
    thread::scope(|scope| {
        let sender =
            scope.spawn(|| play(theirs, |channel| (entry.send)(&run(), &sets.sender, channel, their_rng)));
        let (receiver, digests, traffic) =
            play(mine, |channel| (entry.receive)(&run(), &sets.receiver, channel, my_rng));
        let sender = sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ended { receiver, sender: sender.0, traffic, digests, sender_digests: sender.1 }
    })
}

fn play<T>(
    mut channel: Channel,
    role: impl FnOnce(&mut Channel) -> Result<T, Error>,
) -> (Result<T, Error>, Digests, Traffic) {
    let ended = role(&mut channel).and_then(|result| Ok(channel.flush().map(|()| result)?));
    let seen = (channel.digests(), channel.traffic());
    if ended.is_err() {
        channel.abort();
    }
    (ended, seen.0, seen.1)
}

/// The shape of a case with planted sets.
pub fn shape(sets: &Planted, case: Case) -> Shape {
    Shape {
        sizes: Sizes { receiver: sets.receiver.len(), sender: sets.sender.len() },
        learns: case.learns,
        matches: sets.receiver_rows.len(),
    }
}
