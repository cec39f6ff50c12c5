//! Selective failure: a sender learns the receiver's Bloom filter from whether the run fails.
//!
//! In `gbf-dcw-malicious` (DCW13 §5) the receiver takes a share of a key where its filter has a zero, and a
//! string where it has a one. A sender that spoils the share of one slot sees the receiver fail if the slot
//! is zero, and end well if it is one: one run, one bit. One run in which the shares of all k slots of a
//! guessed key are spoilt tells whether the receiver has that key (RR16 §3.1).
//!
//! What prevents it: in `gbf-rr16` no receiver needs what it gets where its filter is zero. A sender can spoil
//! rows of the oblivious transfers, but the receiver then misses items that it would have matched, and ends
//! as always.

use vesica_exhibits::dcw13_malicious;
use vesica_exhibits::dcw13_malicious::cheating::{send, slots_of};
use vesica_protocols::bloom_filter::rr16::cheating::SenderCheat;
use vesica_protocols::bloom_filter::rr16::{self, parameters::Rr16Parameters};
use vesica_protocols::testing::{Planted, duel};
use vesica_protocols::{Ctx, Error as ProtocolError};

use crate::{Error, malicious_case, malicious_items, malicious_sets, phone_book};

/// Numbers of each party.
const COUNT: usize = 8;

/// The first numbers, of which both parties have some.
const RANGE: u32 = 100;

/// What the sender learns of a receiver with eight numbers.
#[derive(Debug)]
pub struct Learnt {
    /// How many runs it took.
    pub runs: usize,
    /// Which of the guessed numbers the receiver has.
    pub numbers: Vec<u32>,
    /// Which of the first slots are ones in the receiver's filter.
    pub ones: Vec<usize>,
}

/// Both parties' numbers. The sender's set does not matter for the attack.
fn sets() -> Planted {
    malicious_sets(&receivers_numbers(), &phone_book(RANGE, COUNT, 10))
}

/// What the sender is after.
#[must_use]
pub fn receivers_numbers() -> Vec<u32> {
    phone_book(RANGE, COUNT, 9)
}

/// Against `gbf-dcw-malicious`: a run for each guessed number, and one for each of the first `slots`.
///
/// # Errors
/// If a filter does not fit the run.
pub fn against_gbf_dcw_malicious(guesses: &[u32], slots: usize) -> Result<Learnt, Error> {
    let sets = sets();
    let mut numbers = Vec::new();
    for &guess in guesses {
        let item = malicious_items(&[guess]);
        if ends_well(&sets, |ctx| Ok(slots_of(ctx.run, &item)?.concat()))? {
            numbers.push(guess);
        }
    }
    let mut ones = Vec::new();
    for slot in 0..slots {
        if ends_well(&sets, |_| Ok(vec![slot]))? {
            ones.push(slot);
        }
    }
    Ok(Learnt { runs: guesses.len() + slots, numbers, ones })
}

/// Whether the receiver ends well if the sender spoils the shares of these slots.
fn ends_well(
    sets: &Planted,
    spoilt: impl Fn(&Ctx<'_, '_>) -> Result<Vec<usize>, ProtocolError> + Sync,
) -> Result<bool, Error> {
    let (received, sent) = duel(
        (&dcw13_malicious::ENTRY, sets, malicious_case(1)),
        Box::new(|ctx| dcw13_malicious::ENTRY.receive(&mut ctx.reborrow(), &sets.receiver)?.matches()),
        Box::new(|ctx| {
            let spoilt = spoilt(ctx)?;
            send(ctx, &sets.sender, &spoilt)
        }),
    );
    sent?;
    Ok(received.is_ok())
}

/// Against `gbf-rr16`: in each run the sender spoils another part of the rows. How many runs the receiver
/// ended well, and in how many of those it found less than it should; the sender sees the first only.
///
/// # Errors
/// If the sender fails.
pub fn against_gbf_rr16(runs: usize) -> Result<(usize, usize), Error> {
    let sets = malicious_sets(&receivers_numbers(), &receivers_numbers());
    let rows = Rr16Parameters::for_items(COUNT).ots();
    let (mut well, mut fewer) = (0, 0);
    for run in 0..runs {
        let spoilt: Vec<usize> = (run * rows / runs..(run + 1) * rows / runs).collect();
        let (received, sent) = duel(
            (&rr16::ENTRY, &sets, malicious_case(run as u64)),
            Box::new(|ctx| rr16::ENTRY.receive(&mut ctx.reborrow(), &sets.receiver)?.matches()),
            Box::new(|ctx| {
                rr16::cheating::send(
                    ctx,
                    &sets.sender,
                    SenderCheat { rows: &spoilt, masks: &|masks| masks, id: false },
                )
            }),
        );
        sent?;
        if let Ok(matches) = received {
            well += 1;
            fewer += usize::from(matches.items() < COUNT);
        }
    }
    Ok((well, fewer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use vesica_protocols::Sizes;

    #[test]
    fn against_gbf_dcw_malicious_the_sender_learns_numbers_and_bits() -> Result<(), Error> {
        let slots = 24;
        let guesses: Vec<u32> = (0..RANGE).step_by(5).chain(receivers_numbers()).collect();
        let learnt = against_gbf_dcw_malicious(&guesses, slots)?;
        let held: HashSet<u32> = receivers_numbers().into_iter().collect();
        let expected: Vec<u32> = guesses.into_iter().filter(|guess| held.contains(guess)).collect();
        assert_eq!(learnt.numbers, expected);
        let sizes = Sizes { receiver: COUNT, sender: COUNT };
        let run = dcw13_malicious::ENTRY.run(&[7; 32], sizes, malicious_case(1).parameters);
        let filter: HashSet<usize> = slots_of(&run, &sets().receiver)?.concat().into_iter().collect();
        let expected: Vec<usize> = (0..slots).filter(|slot| filter.contains(slot)).collect();
        assert_eq!(learnt.ones, expected);
        assert!(!expected.is_empty() && expected.len() < slots);
        Ok(())
    }

    #[test]
    fn against_gbf_rr16_no_run_fails() -> Result<(), Error> {
        let runs = 12;
        let (well, fewer) = against_gbf_rr16(runs)?;
        assert_eq!(well, runs);
        assert!(fewer > 0, "rows were spoilt");
        Ok(())
    }
}
