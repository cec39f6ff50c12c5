//! The full-universe filter: a receiver that claims to have every item.
//!
//! The receiver's input to the garbled Bloom filter is a string of choice bits. If all of them are ones, the
//! oblivious transfers give it the sender's whole filter, in which it looks up as many candidates as it likes
//! (DCW13 §5). The sender sees the message of a set of n items.
//!
//! What prevents it: `gbf` is for semi-honest parties and does not. `gbf-dcw-malicious` gives the receiver a key
//! only for the shares of half of the slots, which it gets where its filter is zero. `gbf-rr16` opens some of the
//! transfers and ends the run if too many of them were ones.

use vesica_exhibits::dcw13_malicious;
use vesica_protocols::bloom_filter::dcw13::{self, cheating};
use vesica_protocols::bloom_filter::rr16::cheating::ReceiverCheat;
use vesica_protocols::bloom_filter::rr16::{self, parameters::Rr16Parameters};
use vesica_protocols::testing::{Case, duel};

use crate::{Error, items_of, malicious_case, malicious_items, malicious_sets, phone_book, row_of, sets};

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

/// Against `gbf-dcw-malicious`: how many of the sender's numbers the receiver learns.
#[must_use]
pub fn against_gbf_dcw_malicious(range: u32, count: usize) -> usize {
    let sets = malicious_sets(&phone_book(range, count, 6), &phone_book(range, count, 7));
    let universe = malicious_items(&(0..range).collect::<Vec<_>>());
    let (found, _) = duel(
        (&dcw13_malicious::ENTRY, &sets, malicious_case(1)),
        Box::new(|ctx| {
            dcw13_malicious::cheating::receive(ctx, &universe, &|filter: &mut [u8]| filter.fill(0xff))
        }),
        Box::new(|ctx| dcw13_malicious::ENTRY.send(ctx, &sets.sender)),
    );
    found.map_or(0, |found| found.len())
}

/// Against `gbf-rr16`: what the sender ends with if all choices of the receiver are ones.
///
/// # Errors
/// The sender's refusal.
pub fn against_gbf_rr16(range: u32, count: usize) -> Result<(), vesica_protocols::Error> {
    let sets = malicious_sets(&phone_book(range, count, 6), &phone_book(range, count, 7));
    let universe = malicious_items(&(0..range).collect::<Vec<_>>());
    let ones = Some(Rr16Parameters::for_items(count).ots_of_group() as usize);
    let cheat = ReceiverCheat { ones, full_filter: true, ..ReceiverCheat::default() };
    let (_, sent) = duel(
        (&rr16::ENTRY, &sets, malicious_case(1)),
        Box::new(|ctx| rr16::cheating::receive(ctx, &universe, &cheat)),
        Box::new(|ctx| rr16::ENTRY.send(ctx, &sets.sender)),
    );
    sent.map(|_| ())
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

    #[test]
    fn against_gbf_dcw_malicious_the_receiver_learns_nothing() {
        assert_eq!(against_gbf_dcw_malicious(1000, 20), 0);
    }

    #[test]
    fn against_gbf_rr16_the_receiver_is_refused() {
        let refused = vesica_protocols::Error::PeerMisbehaved(vesica_protocols::Misbehaviour::FailedCheck);
        assert_eq!(against_gbf_rr16(1000, 20), Err(refused));
    }
}
