//! A second use of the offline output of `gbf-rr16`.
//!
//! The offline phase makes the oblivious transfers ahead and stores each party's half. It proves security for
//! one online phase: what the receiver has learnt of the strings in a first one it knows in a second one. So a
//! half is consumed by the online phase that uses it (`online_send` takes it by value;
//! [`second_use_of_files`](crate::second_use_of_files) has the files), and both parties name the offline phase that they use before anything that
//! depends on items.
//!
//! Here the receiver has kept a copy of its half and uses it again. The sender has consumed its own, and comes
//! with that of the next offline phase.
//!
//! What no program prevents: a sender whose whole disk is set back to an earlier state has its half again.

use vesica_protocols::bloom_filter::rr16::{self, ENTRY, OfflineReceiver, OfflineSender};
use vesica_protocols::testing::Planted;

use crate::{Error, in_session, malicious_sets, phone_book};

/// Numbers of each party.
const COUNT: usize = 8;

/// What came of both online phases.
#[derive(Debug)]
pub struct Outcome {
    /// Numbers that the first one found.
    pub matches: usize,
    /// What the sender ended the second one with.
    pub second: Result<(), vesica_protocols::Error>,
}

/// A run, and another one for which the receiver comes with the half that it has used.
///
/// # Errors
/// If an honest step fails.
pub fn replay() -> Result<Outcome, Error> {
    let sets = malicious_sets(&phone_book(40, COUNT, 13), &phone_book(40, COUNT, 14));
    let (receivers_half, senders_half) = offline(&sets, 1)?;
    let mut copy = Vec::new();
    receivers_half.write_to(&mut copy)?;
    let (matches, sent) = online(&sets, 2, receivers_half, senders_half);
    sent?;
    let (_, next) = offline(&sets, 3)?;
    let (_, second) = online(&sets, 4, OfflineReceiver::read_from(&mut &copy[..], COUNT)?, next);
    Ok(Outcome { matches: matches?, second })
}

/// Both halves of an offline phase.
fn offline(sets: &Planted, session: u8) -> Result<(OfflineReceiver, OfflineSender), Error> {
    let (receiver, sender) = in_session(
        (&ENTRY, sets, session),
        |ctx| rr16::offline_receive(ctx, COUNT),
        |ctx| rr16::offline_send(ctx, COUNT),
    );
    Ok((receiver?, sender?))
}

/// What both parties end an online phase with.
fn online(
    sets: &Planted,
    session: u8,
    receivers_half: OfflineReceiver,
    senders_half: OfflineSender,
) -> (Result<usize, vesica_protocols::Error>, Result<(), vesica_protocols::Error>) {
    in_session(
        (&ENTRY, sets, session),
        |ctx| {
            Ok(rr16::online_receive(&mut ctx.reborrow(), &sets.receiver, receivers_half)?.matches()?.items())
        },
        |ctx| rr16::online_send(ctx, &sets.sender, senders_half),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use vesica_protocols::{Error, Misbehaviour};

    #[test]
    fn the_second_use_is_refused() -> Result<(), crate::Error> {
        let Outcome { matches, second } = replay()?;
        assert!(matches > 0);
        assert_eq!(second, Err(Error::PeerMisbehaved(Misbehaviour::OtherOfflinePhase)));
        Ok(())
    }
}
