//! A malicious end whose own messages are consistent, against an honest one, and no digests of the session:
//! either the run ends, as often as the theory says, or the honest end's output is that of an input which the
//! cheater could have had, within the stated bound. One program for each check.
//!
//! What the blocks do by themselves, with more runs and smaller fields, is tested beside them: `cheating` in
//! `vesica_ot::{small_field, softspoken, vole}`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where something is not as it must be")]

mod circuits;
mod dkt;
mod receivers;
mod rr16;
mod senders;
mod small_sets;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use vesica_crypto::block::Block;
use vesica_encode::items::{Items, Matches};
use vesica_ot::vole::Plan;
use vesica_ot::vole::cheating::points_drawn;
use vesica_protocols::registry::Entry;
use vesica_protocols::testing::{Case, Planted, duel, planted_for};
use vesica_protocols::vole_based::rr22::ENTRY;
use vesica_protocols::vole_based::rr22::cheating::{
    self, Learnt, RECEIVERS_COINS, ReceiverCheat, SENDERS_COINS, SenderCheat,
};
use vesica_protocols::{Error, Learns, Misbehaviour, Outcome, Parameters, Security};

const MALICIOUS: Parameters = Parameters { security: Security::Malicious, ..Parameters::DEFAULT };

const ENTRY_OF_VOLE: &Entry = &ENTRY;

fn sets(receiver: usize, sender: usize, common: usize) -> Planted {
    planted_for(&MALICIOUS, receiver, sender, common, 1)
}

fn case(learns: Learns, seed: u64) -> Case {
    Case { parameters: MALICIOUS, learns, seed, ..Case::default() }
}

/// A receiver that cheats, with `items` in place of its own, against an honest sender.
fn cheating_receiver(
    sets: &Planted,
    items: &Items,
    case: Case,
    cheat: &ReceiverCheat<'_>,
) -> (Result<Learnt, Error>, Result<Option<Matches>, Error>) {
    duel(
        (ENTRY_OF_VOLE, sets, case),
        Box::new(|ctx| cheating::receive(ctx.run, items, ctx.channel, ctx.rng, cheat)),
        Box::new(|ctx| ENTRY.send(ctx, &sets.sender)?.map(Outcome::into_matches).transpose()),
    )
}

/// A sender that cheats, with `items` in place of its own, against an honest receiver.
fn cheating_sender(
    sets: &Planted,
    items: &Items,
    case: Case,
    cheat: &SenderCheat<'_>,
) -> Result<Matches, Error> {
    duel(
        (ENTRY_OF_VOLE, sets, case),
        Box::new(|ctx| ENTRY.receive(&mut ctx.reborrow(), &sets.receiver)?.matches()),
        Box::new(|ctx| cheating::send(ctx.run, items, ctx.channel, ctx.rng, cheat)),
    )
    .0
}

/// The Δ that the honest sender draws in such a run: behind its coins.
fn delta_of_sender(case: Case) -> Block {
    let mut rng = StdRng::seed_from_u64(case.seed << 1 | 1);
    rng.fill_bytes(&mut [0; SENDERS_COINS]);
    Block::random(&mut rng)
}

/// The points that the honest receiver draws in such a run: behind its coins.
fn points_of_receiver(case: Case, plan: &Plan) -> Vec<usize> {
    let mut rng = StdRng::seed_from_u64(case.seed << 1);
    rng.fill_bytes(&mut [0; RECEIVERS_COINS]);
    points_drawn(plan, &mut rng)
}

/// Rows of a set of strings are their items' numbers in the order in which they were given.
fn rows(items: &Items, numbers: &[usize]) -> Vec<u64> {
    items.matches(numbers.iter().copied()).into_rows()
}

fn is_failed_check(error: &Error) -> bool {
    *error == Error::PeerMisbehaved(Misbehaviour::FailedCheck)
}

fn is_inconsistent(error: &Error) -> bool {
    *error == Error::PeerMisbehaved(Misbehaviour::Transfer(vesica_ot::Error::Inconsistent))
}

#[test]
fn the_cheats_that_do_not_cheat_are_honest() {
    for (receiver, sender) in [(12, 9), (1500, 40)] {
        let sets = sets(receiver, sender, 5);
        for learns in [Learns::Receiver, Learns::Both] {
            let (learnt, told) =
                cheating_receiver(&sets, &sets.receiver, case(learns, 1), &ReceiverCheat::default());
            let learnt = learnt.unwrap();
            assert_eq!(learnt.stored.len(), receiver);
            assert_eq!(rows(&sets.receiver, &learnt.matched), sets.receiver_rows);
            assert_eq!(told.unwrap().is_some(), learns == Learns::Both);
        }
        let matches =
            cheating_sender(&sets, &sets.sender, case(Learns::Receiver, 1), &SenderCheat::default());
        assert_eq!(matches.unwrap().rows(), sets.receiver_rows);
    }
}
