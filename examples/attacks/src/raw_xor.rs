//! The raw XOR as a summary: a guess can be tested whose unknown strings cancel.
//!
//! In the random garbled Bloom filter the sender has a random string `G[j]` for each slot, the receiver those of
//! its own slots. The summary of an item in PSZ14 is `⊕_i G[h_i(x)]` over all k hash functions, and the XOR that
//! encodes an item in DCW13 runs over the same list. If two functions take x to one slot, its string cancels.
//! So if every slot of x that the receiver lacks is hit an even number of times, the receiver can compute the
//! summary of an item that it does not have, and look it up among the sender's (RR16 §4.1).
//!
//! For the filter of one item, m = k·log2 e slots, this is an item in about 2^(k/2), where the proof says one
//! in 2^k. The program shows it with k = 32.
//!
//! What prevents it: a sum over the *set* of slots. Here every hash function has a slice of its own, so that
//! no two slots of an item are the same, and a summary is a hash of context, item and XOR.

use std::collections::HashSet;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use vesica_crypto::hash::{Context, Label, Oracle};

use crate::{Error, items_of, phone_book, row_of, search};

/// What the receiver learns.
#[derive(Debug)]
pub struct Learnt {
    /// The numbers whose raw summary it can compute, without its own.
    pub computable: Vec<u32>,
    /// Those of them that the sender has.
    pub numbers: Vec<u32>,
    /// The numbers whose sum over the set of slots it can compute.
    pub computable_over_sets: Vec<u32>,
}

/// A receiver with one number, `hashes` hash functions, and a sender with `customers` of the first `range`
/// numbers; also the sender's numbers.
///
/// # Errors
/// If numbers do not become items.
pub fn test_guesses(hashes: usize, range: u32, customers: usize) -> Result<(Learnt, Vec<u32>), Error> {
    // Published: all functions share m = k·n·log2 e slots, n = 1.
    let slots = (hashes as f64 * std::f64::consts::LOG2_E).ceil() as usize;
    let context = Context::new(&[7; 32], "raw XOR", b"", 1, customers as u64);
    let functions = Functions { oracle: context.oracle(Label::new("raw xor: slots")), hashes, slots };
    let mut rng = StdRng::seed_from_u64(4);
    let strings: Vec<u128> = (0..slots).map(|_| rng.random()).collect();
    let raw =
        |item: &[u8], strings: &[u128]| functions.of(item).iter().fold(0, |sum, slot| sum ^ strings[*slot]);
    // The sender: the summaries of its numbers.
    let theirs = phone_book(range, customers, 5);
    let items = items_of(theirs.iter().copied())?;
    let summaries: HashSet<u128> = items.digests().map(|item| raw(item, &strings)).collect();
    // The receiver: the strings of its own slots, by random OT.
    let own: HashSet<usize> = functions.of(items_of([range])?.get(0)).into_iter().collect();
    let known: Vec<u128> =
        (0..slots).map(|slot| if own.contains(&slot) { strings[slot] } else { 0 }).collect();
    let computable = search(range, |item| {
        let mut odd = vec![false; slots];
        functions.of(item).into_iter().for_each(|slot| odd[slot] ^= true);
        odd.iter().enumerate().all(|(slot, odd)| !odd || own.contains(&slot))
    })?;
    let found = items_of(computable.iter().copied())?;
    let with_summary = (0..found.len()).filter(|item| summaries.contains(&raw(found.get(*item), &known)));
    let mut numbers: Vec<u32> = with_summary.map(|item| computable[row_of(&found, item) as usize]).collect();
    numbers.sort_unstable();
    let computable_over_sets =
        search(range, |item| functions.of(item).iter().all(|slot| own.contains(slot)))?;
    Ok((Learnt { computable, numbers, computable_over_sets }, theirs))
}

/// The hash functions.
struct Functions {
    oracle: Oracle,
    hashes: usize,
    slots: usize,
}

impl Functions {
    /// h_i of an item for all i.
    fn of(&self, item: &[u8]) -> Vec<usize> {
        let mut words = vec![[0; 4]; self.hashes];
        self.oracle.hash(item, words.as_flattened_mut());
        let slot = |word: &[u8; 4]| (u64::from(u32::from_le_bytes(*word)) * self.slots as u64) >> 32;
        words.iter().map(|word| slot(word) as usize).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_whose_unknown_strings_cancel_are_tested() -> Result<(), Error> {
        // One in 2^12 or so can be computed, not one in 2^24.
        let range = 60_000;
        let (learnt, theirs) = test_guesses(24, range, 30_000)?;
        let found = learnt.computable.len();
        assert!((4..60).contains(&found), "{found}");
        // Each of them is decided, rightly.
        let expected: Vec<u32> =
            learnt.computable.iter().copied().filter(|number| theirs.binary_search(number).is_ok()).collect();
        assert_eq!(learnt.numbers, expected);
        assert!(!expected.is_empty() && expected.len() < found);
        assert!(learnt.computable_over_sets.is_empty());
        Ok(())
    }
}
