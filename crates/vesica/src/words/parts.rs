//! The parts of a run: how many there are, how large they are, and why there may be none.

pub(crate) mod questions;

use vesica_encode::parts::PartsError as SplitError;
pub use vesica_encode::parts::{MOST, Parts};
use vesica_net::NetError;
use vesica_protocols::Sizes;
use vesica_text::{Text, text};

pub use questions::Asked;

use crate::words::error::Error;

/// The most rounds in which a part is played.
pub(crate) const MOST_ROUNDS: u16 = 4;

/// Items of a part that is as quick for an item as it gets.
const USUAL_PART: u64 = 1 << 20;

/// Items below which a part costs more than it saves.
pub(crate) const LEAST_PART: u64 = 1 << 16;

/// The least parts of an engine's run.
pub(crate) const LEAST_PARTS_OF_ENGINE: u32 = 2;

/// The most lanes. A part waits for its partner part of the time only, so more would not be quicker.
pub(crate) const MOST_LANES: u16 = 16;

/// Seconds that the connection of a part takes.
const CONNECTION_S: f64 = 0.005;

/// Seconds that one thread takes to split a set, an item (`make bench-cores CORES=split`).
const SPLIT_S: f64 = 1e-7;

/// What parts leave of the time at most: the loops of `vole` in one piece leave somewhat more (`make bench-cores`).
const MOST_LEFT: f64 = 0.55;

/// Seconds that they save at least: connections and coins take some round trips.
const LEAST_SAVED_S: f64 = 0.25;

/// How many times as much all threads compute at most.
const MOST_CPU: f64 = 1.75;

/// Into how many parts a side wants a run to be split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartsWanted {
    /// At least so many: its memory takes them, or its user says so.
    pub(crate) needed: u32,
    /// So many, one for each core, if the partner has as many.
    pub(crate) for_cores: u32,
}

impl PartsWanted {
    /// A run in one piece.
    pub(crate) const ONE: Self = PartsWanted { needed: 1, for_cores: 1 };
}

/// The most parts that a side with so many threads asks for, so that each thread has one: as many as save time, and `fit`.
/// `seconds` tells how long one thread computes for a part.
pub(crate) fn for_cores(
    threads: usize,
    sizes: Sizes,
    seconds: &dyn Fn(Parts) -> f64,
    fit: &dyn Fn(Parts) -> bool,
) -> u32 {
    let whole = seconds(Parts::ONE);
    if threads < 2 || whole < LEAST_SAVED_S {
        return 1;
    }
    let split = SPLIT_S * sizes.receiver.max(sizes.sender) as f64;
    let saves_time = |parts: Parts| {
        let count = parts.count() as f64;
        let left = seconds(parts) + split / count + CONNECTION_S;
        left <= MOST_LEFT * whole && whole - left >= LEAST_SAVED_S && count * left <= MOST_CPU * whole
    };
    let most = threads.min(MOST_LANES.into()) as u32;
    let counts = (2..=most).rev().filter_map(|count| Parts::new(count).ok());
    let found = counts.into_iter().find(|parts| saves_time(*parts) && fit(*parts));
    found.map_or(1, |parts| parts.count() as u32)
}

/// Why a run in parts did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartsError {
    /// The run has something that a part cannot have.
    #[error("{}", self.text())]
    Excluded(&'static str),
    /// More parts than a side allows.
    #[error("the run would have {count} parts, and {limiter} allows {most}")]
    TooMany {
        /// B.
        count: u32,
        /// Who set the limit: "this side" or "the partner".
        limiter: &'static str,
        /// `--max-parts`, or what the sizes suggest.
        most: u32,
    },
    /// The parts have room for more items of a party than the other side accepts.
    #[error("{}", self.text())]
    Questions {
        /// B.
        count: u32,
        /// Who set the limit: "this side" or "the partner".
        limiter: &'static str,
        /// The figures.
        asked: Asked,
    },
    /// The system gave no key for the parts' connections.
    #[error("a key for the connections of the parts could not be made")]
    Key,
    /// The partner's coin is not the one that it had chosen.
    #[error("the partner's coin does not fit its commitment")]
    Coin,
    /// The two sides do not mean the same.
    #[error("the two sides do not have the same {0}")]
    Differ(&'static str),
    /// The connection of a part could not be made.
    #[error(transparent)]
    Link(#[from] Box<NetError>),
    /// The connection of a part that is there for the cores alone could not be made.
    #[error(transparent)]
    LinkForCores(Box<NetError>),
    /// The connection of a part leads to somebody else than that of the run.
    #[error("{}", self.text())]
    Elsewhere(Box<NetError>),
    /// Parts did not come through.
    #[error("{missing} of {count} parts did not come through, in {MOST_ROUNDS} rounds")]
    Missing {
        /// So many.
        missing: usize,
        /// Of so many.
        count: usize,
    },
    /// Too many parts had to be played again.
    #[error("{}", self.text())]
    Allowance {
        /// How often that is allowed.
        allowance: u32,
    },
    /// A set could not be split.
    #[error(transparent)]
    Split(#[from] SplitError),
    /// The temporary files failed.
    #[error("{}", self.text())]
    Disk(Box<Error>),
    /// The engine that plays the parts failed, or ended the run.
    #[error("{}", self.text())]
    Engine(Box<Error>),
}

impl PartsError {
    /// What it says, with the options that it names as data.
    pub(crate) fn text(&self) -> Text {
        match self {
            PartsError::Excluded(what) => {
                text!("a run in several parts does not go together with {}", *what)
            }
            PartsError::Questions { count, limiter, asked } => text!(
                "the run would have {} parts with room for {} keys of the {}, which has {}, and {} accepts {}: \
                 `[max-peer-rows {}]` and a quarter of those {}",
                *count,
                asked.slots,
                asked.whose,
                asked.items,
                *limiter,
                asked.most,
                asked.limit,
                asked.items
            ),
            PartsError::Allowance { allowance } => text!(
                "connections of parts broke too often: parts were played again {} times, and no more is allowed",
                *allowance
            ),
            PartsError::Link(error) | PartsError::LinkForCores(error) => error.text(),
            PartsError::Elsewhere(error) => {
                text!("the partner was met, and connections of parts do not lead to it: {}", error.text())
            }
            PartsError::Disk(error) | PartsError::Engine(error) => error.message.clone(),
            other => Text::words(other),
        }
    }
}

/// M_r and M_s: the sizes of each pair of parts of two such sets.
pub fn sizes(parts: Parts, Sizes { receiver, sender }: Sizes) -> Sizes {
    // A bound is no larger than the size.
    let bound = |items: usize| parts.bound(items as u64) as usize;
    Sizes { receiver: bound(receiver), sender: bound(sender) }
}

/// How many parts a side with so many threads offers to play at once, if `room` of them fit into its memory: one for each
/// thread, and two at least, so that one computes while another waits.
pub(crate) fn lanes(parts: Parts, threads: usize, room: u16) -> u16 {
    let wanted = threads.clamp(2, MOST_LANES.into()).min(parts.count());
    u16::try_from(wanted).unwrap_or(MOST_LANES).min(room).max(1)
}

/// The numbers of parts that are tried for sets of `items` items at most, `least` at least: from parts of 2^20 items on.
pub(crate) fn numbers_of_parts(items: u64, least: u32) -> impl Iterator<Item = u32> {
    let most = most_parts(items, least);
    let first = items.div_ceil(USUAL_PART).clamp(least.into(), most.into()) as u32;
    let doubled = move |count: &u32| (*count < most).then(|| count.saturating_mul(2).min(most));
    std::iter::successors(Some(first), doubled)
}

/// The most parts that sets of `items` items at most are split into.
pub(crate) fn most_parts(items: u64, least: u32) -> u32 {
    (items / LEAST_PART).clamp(least.into(), MOST.into()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_parts_double_up_to_the_most() {
        let numbers = |items, least| numbers_of_parts(items, least).collect::<Vec<_>>();
        assert_eq!(numbers(5 << 20, 2), [5, 10, 20, 40, 80]);
        assert_eq!(numbers(3 << 20, 2), [3, 6, 12, 24, 48]);
        assert_eq!(numbers(100, 1), [1]);
        assert_eq!(numbers(100, 2), [2]);
        assert_eq!(numbers(u64::MAX, 2), [MOST]);
    }

    #[test]
    fn each_thread_has_a_part_where_that_saves_time() {
        let asked = |each: f64, n: usize| {
            let sizes = Sizes { receiver: n, sender: n / 2 };
            let seconds = |parts: Parts| each * parts.bound(n as u64) as f64;
            [0, 1, 2, 3, 8, 64].map(|threads| for_cores(threads, sizes, &seconds, &|_| true))
        };
        // A slow protocol, and a quick one, which two threads do not make twice as quick.
        assert_eq!(asked(9e-6, 1 << 20), [1, 1, 2, 3, 8, 16]);
        assert_eq!(asked(0.9e-6, 1 << 20), [1, 1, 1, 3, 8, 16]);
        // A short run, and one whose parts are mostly padding.
        assert_eq!(asked(0.9e-6, 1 << 18), [1; 6]);
        assert_eq!(asked(0.05, 80), [1; 6]);
        assert_eq!(asked(0.0, 0), [1; 6]);
    }

    #[test]
    fn parts_for_cores_are_fewer_where_memory_is_short_and_still_save_time() {
        let n = 1 << 20;
        let sizes = Sizes { receiver: n, sender: n };
        let of = |each: f64, most: usize| {
            let seconds = |parts: Parts| each * parts.bound(n as u64) as f64;
            for_cores(16, sizes, &seconds, &|parts| parts.count() <= most)
        };
        assert_eq!([of(0.9e-6, 16), of(0.9e-6, 5), of(0.9e-6, 2), of(9e-6, 2)], [16, 5, 1, 2]);
    }

    #[test]
    fn lanes_are_as_many_as_threads_parts_and_memory_allow() {
        let lanes = |count, threads, room| lanes(Parts::new(count).unwrap(), threads, room);
        assert_eq!([lanes(64, 1, 99), lanes(64, 2, 99), lanes(64, 5, 99), lanes(64, 99, 99)], [2, 2, 5, 16]);
        assert_eq!([lanes(3, 8, 99), lanes(64, 8, 3), lanes(64, 8, 0), lanes(1, 8, 9)], [3, 3, 1, 1]);
    }
}
