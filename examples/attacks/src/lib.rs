//! Attacks on private set intersection, each a program that prints what the attacker learns.
//!
//! | module | what the attacker does | against | ends with |
//! |---|---|---|---|
//! | [`naive_hash`] | tries every telephone number | `naive-hash` | the sender's whole table |
//! | [`bloom_filter_and`] | looks numbers up in the AND of two Bloom filters | filters, combined securely | the other party's whole table |
//! | [`raw_xor`] | looks for items whose unknown strings cancel | summaries as PSZ14 and DCW13 have them | whether the sender has items that the receiver has not |
//! | [`full_universe`] | claims to have every item | `gbf` | the sender's whole table |
//! | | | `gbf-dcw-malicious`, `gbf-rr16` | nothing; a refusal |
//! | [`selective_failure`] | spoils what a receiver without a guessed item needs | `gbf-dcw-malicious` | the receiver's items and bits of its filter |
//! | | | `gbf-rr16` | nothing |
//! | [`over_full_choices`] | chooses more ones than a filter has | `gbf-rr16` | a refusal, as often as predicted |
//! | [`invalid_elements`] | sends the identity and other encodings that no group element has | every protocol on groups | a refusal |
//! | [`repeated_counts`] | counts halves of a list, again and again | counts of any protocol | who of the list the sender has |
//! | [`many_parts`] | asks for many parts and fills them with guesses | runs in parts of any protocol | a refusal; the sender's whole table if it lifts its limits |
//! | [`colluding_helper`] | helper and receiver work together | `server-aided` | the sender's whole table |
//!
//! Each module says what the attack shows, and which step of a protocol prevents it. Its function runs the
//! attack against the honest roles of the library and returns what was learnt; its tests assert that.
//! `cargo run --profile ci -p vesica-attacks --bin NAME` prints it.

#![forbid(unsafe_code)]

pub mod bloom_filter_and;
pub mod colluding_helper;
pub mod full_universe;
pub mod invalid_elements;
pub mod many_parts;
pub mod naive_hash;
pub mod over_full_choices;
pub mod raw_xor;
pub mod repeated_counts;
pub mod selective_failure;

use std::collections::HashSet;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::index::sample;
use vesica_encode::items::{Items, ItemsError, Width};
use vesica_protocols::testing::{Case, Planted, items_for};
use vesica_protocols::{Parameters, Security};

/// An attack that did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A protocol ended with an error that the attack did not mean to cause.
    #[error(transparent)]
    Protocol(#[from] vesica_protocols::Error),
    /// A connection failed.
    #[error(transparent)]
    Channel(#[from] vesica_channel::ChannelError),
    /// Keys do not become items.
    #[error(transparent)]
    Items(#[from] ItemsError),
    /// A list of masks does not decode.
    #[error(transparent)]
    Masks(#[from] vesica_encode::sorted::SortedError),
    /// A table of the attacker's cannot be written.
    #[error(transparent)]
    Table(#[from] std::io::Error),
    /// A whole run failed that the attack did not mean to disturb.
    #[error("{}", .0.message)]
    Run(Box<vesica::Error>),
}

impl From<vesica::Error> for Error {
    fn from(error: vesica::Error) -> Self {
        Error::Run(Box::new(error))
    }
}

/// Candidates of one call of [`Items::of_keys`].
const CHUNK: u32 = 1 << 14;

/// A mobile number of the range that an attacker tries.
#[must_use]
pub fn phone_number(number: u32) -> String {
    format!("+4179{number:07}")
}

/// So many different numbers of the first `range`, in ascending order.
#[must_use]
pub fn phone_book(range: u32, count: usize, seed: u64) -> Vec<u32> {
    let mut numbers: Vec<u32> = sample(&mut StdRng::seed_from_u64(seed), range as usize, count)
        .into_iter()
        .map(|number| number as u32)
        .collect();
    numbers.sort_unstable();
    numbers
}

/// The items of these numbers.
pub(crate) fn items_of(numbers: impl IntoIterator<Item = u32>) -> Result<Items, ItemsError> {
    let keys: Vec<String> = numbers.into_iter().map(phone_number).collect();
    Items::of_keys(Width::Digest128, &keys)
}

/// Both tables of numbers as sets for a run.
pub(crate) fn sets(receiver: &[u32], sender: &[u32]) -> Result<Planted, ItemsError> {
    let items = [receiver, sender].map(|numbers| items_of(numbers.iter().copied()));
    let [mine, theirs] = items;
    Ok(planted(receiver, sender, [mine?, theirs?]))
}

/// Planted sets of these numbers, as these items.
fn planted(receiver: &[u32], sender: &[u32], [receivers, senders]: [Items; 2]) -> Planted {
    let rows = |mine: &[u32], theirs: &[u32]| {
        let theirs: HashSet<&u32> = theirs.iter().collect();
        (0..).zip(mine).filter(|(_, number)| theirs.contains(number)).map(|(row, _)| row).collect()
    };
    Planted {
        receiver: receivers,
        sender: senders,
        receiver_rows: rows(receiver, sender),
        sender_rows: rows(sender, receiver),
    }
}

/// A run against malicious parties.
pub(crate) fn malicious_case(seed: u64) -> Case {
    let parameters = Parameters { security: Security::Malicious, ..Parameters::default() };
    Case { parameters, seed, ..Case::default() }
}

/// The items of these numbers in such a run.
pub(crate) fn malicious_items(numbers: &[u32]) -> Items {
    let keys: Vec<String> = numbers.iter().map(|number| phone_number(*number)).collect();
    items_for(&malicious_case(0).parameters, &keys)
}

/// Both tables of numbers as sets for such a run.
pub(crate) fn malicious_sets(receiver: &[u32], sender: &[u32]) -> Planted {
    planted(receiver, sender, [receiver, sender].map(malicious_items))
}

/// The numbers of the first `range` whose items pass `test`.
pub(crate) fn search(range: u32, mut test: impl FnMut(&[u8]) -> bool) -> Result<Vec<u32>, ItemsError> {
    let mut found = Vec::new();
    for first in (0..range).step_by(CHUNK as usize) {
        let items = items_of(first..range.min(first + CHUNK))?;
        let passing = (0..items.len()).filter(|item| test(items.get(*item)));
        found.extend(passing.map(|item| first + row_of(&items, item)));
    }
    found.sort_unstable();
    Ok(found)
}

/// Which of the numbers that were given an item is.
pub(crate) fn row_of(items: &Items, item: usize) -> u32 {
    items.rows_of(item).next().map_or(u32::MAX, |row| row as u32)
}

/// The first of these numbers, for the screen.
#[must_use]
pub fn shown(numbers: &[u32]) -> String {
    const SHOWN: usize = 4;
    let first: Vec<String> = numbers.iter().take(SHOWN).map(|number| phone_number(*number)).collect();
    let more = if numbers.len() > SHOWN { ", …" } else { "" };
    format!("{}{more}", first.join(", "))
}
