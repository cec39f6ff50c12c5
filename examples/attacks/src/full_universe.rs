//! The full-universe filter: a receiver that claims to have every item.
//!
//! The receiver's input to the garbled Bloom filter is a string of choice bits. If all of them are ones, the
//! oblivious transfers give it the sender's whole filter, in which it looks up as many candidates as it likes
//! (DCW13 §5). The sender sees the message of a set of n items.
//!
//! `gbf` is for semi-honest parties and does not prevent it.

use vesica_protocols::bloom_filter::dcw13::{self, cheating};
use vesica_protocols::testing::{Case, duel};

use crate::{Error, items_of, phone_book, row_of, sets};

/// What the receiver learns.
#[derive(Debug)]
pub struct Learnt {
    /// The intersection, which is all that it should learn.
    pub intersection: usize,
    /// The sender's numbers in the range.
    pub numbers: Vec<u32>,
}

/// Against `gbf`: both parties have agreed on `count` numbers, and the receiver's filter is that of all `range`
/// numbers. Also the sender's numbers.
///
/// # Errors
/// If the sender notices anything.
pub fn against_gbf(range: u32, count: usize) -> Result<(Learnt, Vec<u32>), Error> {
    let (mine, theirs) = (phone_book(range, count, 6), phone_book(range, count, 7));
    let sets = sets(&mine, &theirs)?;
    let universe = items_of(0..range)?;
    let (found, sender) = duel(
        (&dcw13::ENTRY, &sets, Case::default()),
        Box::new(|ctx| cheating::receive(ctx, &universe)),
        Box::new(|ctx| dcw13::ENTRY.send(ctx, &sets.sender)),
    );
    sender?;
    let mut numbers: Vec<u32> = found?.into_iter().map(|item| row_of(&universe, item as usize)).collect();
    numbers.sort_unstable();
    Ok((Learnt { intersection: sets.receiver_rows.len(), numbers }, theirs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn against_gbf_the_receiver_learns_the_whole_table() -> Result<(), Error> {
        let (learnt, theirs) = against_gbf(20_000, 200)?;
        assert_eq!(learnt.numbers, theirs);
        assert!(learnt.intersection < 20);
        Ok(())
    }
}
