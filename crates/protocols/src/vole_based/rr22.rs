//! PSI from the OPRF by VOLE: RS21, Figure 5. The receiver learns X ∩ Y, the sender |X| and no more.
//!
//! **Security:** semi-honest, or malicious, in the random oracle model, under (dual) learning parity with
//! noise for the codes of `vesica_ot::vole` and, for the base OTs, the decisional (or gap) Diffie–Hellman assumption
//! or Module-LWE. Leaks n_r and n_s. A malicious receiver's set may be larger than n_r: [`max_malicious_items`]
//! says by how much. What each profile rests on stands in `docs/security-of-the-default.md`.
//!
//! Sources: Rindal, Schoppmann, *VOLE-PSI* (RS21, eprint 2021/266), Figures 3 and 5; Raghuraman, Rindal,
//! *Blazing Fast PSI* (RR22, eprint 2022/320), §5; the key-value store of Bienstock, Patel, Seo, Yeo (BPSY23,
//! eprint 2023/903); for few items of a malicious receiver a polynomial. Deviations: the sender's masks
//! travel sorted, in Elias–Fano form, where the papers permute them; those of the OPRF stand in
//! `oprf::vole`.
//!
//! ```text
//! receiver (X)                                               sender (Y)
//! 1. F(x) for all x in X                   ◄─►               F(y) for all y in Y       see oprf::vole (Figure 3)
//! 2.                                       ◄──               sort{F(y)}, cut to ℓ bits
//! 3. output {x : F(x) received}
//! [payloads: E_j for every mask            ◄── ]            see payloads
//! [--learns both: positions of the matches ──►
//!  malicious: a proof of each              ──► ]
//! ```
//!
//! | | semi-honest | malicious |
//! |---|---|---|
//! | ℓ | λ + log2 n_r + log2 n_s | 128 |
//! | equal masks | may come up | are refused |
//!
//! Where malicious runs abort: see `oprf::vole`.
//!
//! Cost: see [`costs`].

#[cfg(any(test, feature = "testing"))]
pub mod cheating;
pub mod costs;
mod limits;
mod payloads;
#[cfg(test)]
mod properties;
mod sorted_masks;

use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_encode::items::Items;
use vesica_ot::security::{Malicious, SemiHonest};

use crate::attached::Attached;
use crate::entry::{Entry, Roles};
use crate::error::Error;
use crate::oprf::vole::{Oprf, Proofs, Setup};
use crate::oprf::{OprfReceiver, OprfSender};
use crate::outcome::{Outcome, Pending};
use crate::parameters::{Profile, Security};
use crate::positions;
use crate::protocol::{Ctx, Learns, Phase, Role, Run};
use crate::results::ResultName;
use costs::max_malicious_items;
use sorted_masks::{IndexedMasks, OutgoingMasks};

/// The registry's entry.
pub static ENTRY: Entry = Entry::new(
    "vole",
    "VOLE and an oblivious key-value store",
    Roles::Whole { receive, send },
)
.family("vole_based")
.paper("RS21, RR22; BPSY23")
.security(&Security::ALL)
.profiles(&Profile::ALL)
.makes_base_ots()
.sigma(1, 64)
.learns_both()
.results(&[ResultName::Rows, ResultName::Payload])
.flights(costs::flights)
.steps(|role, _| match role {
    Role::Receiver => &[(Phase::Blind, 60), (Phase::Unblind, 25), (Phase::Exchange, 10), (Phase::Compare, 5)],
    Role::Sender => &[(Phase::Blind, 60), (Phase::Answer, 25), (Phase::Exchange, 15)],
})
.messages(costs::MESSAGES)
.memory(
    "receiver 90·n_r + (32 + 2·p)·n_s, sender 60·n_r + 75·n_s, 90 MB, and with payloads 16·n_r, 20·n_s",
    costs::memory,
)
.max_tested_keys_by_search(|shape| max_malicious_items(shape.sizes.receiver, 64) as u64);

/// The receiver's role.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pending<'a>, Error> {
    let Ctx { run, channel, rng, .. } = ctx.reborrow();
    let setup = setup(run)?;
    match (run.parameters.security, costs::small_values(run)) {
        (Security::SemiHonest, true) => receive_masks(run, Small::new(run, setup, rng), items, channel),
        (Security::SemiHonest, false) => receive_masks(run, Wide::new(run, setup, rng), items, channel),
        (Security::Malicious, _) => receive_masks(run, Checked::new(run, setup, rng), items, channel),
    }
}

/// The sender's role.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Option<Outcome>, Error> {
    let Ctx { run, channel, rng, .. } = ctx.reborrow();
    let setup = setup(run)?;
    match (run.parameters.security, costs::small_values(run)) {
        (Security::SemiHonest, true) => send_masks(run, Small::new(run, setup, rng), items, channel),
        (Security::SemiHonest, false) => send_masks(run, Wide::new(run, setup, rng), items, channel),
        (Security::Malicious, _) => send_masks(run, Checked::new(run, setup, rng), items, channel),
    }
}

/// The OPRF in each model, over small and wide values.
type Small<'a> = Oprf<'a, SemiHonest, u64>;
type Wide<'a> = Oprf<'a, SemiHonest, Block>;
type Checked<'a> = Oprf<'a, Malicious, Block>;

/// The OPRF's parameters.
fn setup(run: &Run<'_>) -> Result<Setup, Error> {
    Ok(Setup { plan: costs::plan(run)?, early: costs::early(run), limit: limits::search(run) })
}

/// RS21, Figure 5, the receiver.
fn receive_masks<'a>(
    run: &Run<'a>,
    oprf: impl OprfReceiver<Proofs: Proofs + Send + Sync + 'a>,
    items: &'a Items,
    channel: &mut dyn Channel,
) -> Result<Pending<'a>, Error> {
    // 1. F(x) for all x in X.
    let mut mine = IndexedMasks::new(run);
    let proofs = oprf.evaluate(items, channel, &mut mine)?;
    // 2. The sender's masks.
    let lists = mine.receive(channel)?;
    // [E_j for every mask.]
    let width = payloads::width(run);
    let blocks = width.map(|width| payloads::recv(run, width, channel.split().1)).transpose()?;
    // 3. x is a match if F(x) is among them.
    let (progress, threads) = (run.progress, run.threads);
    let result = move |proofs, pairs| match blocks {
        Some(blocks) => payloads::open(threads, items, &proofs, &blocks, pairs),
        None => Outcome::Matches(items.matches(pairs.iter().map(|pair: &(u32, u32)| pair.0 as usize))),
    };
    if run.learns == Learns::Receiver {
        return Ok(Pending::new(move || Ok(result(proofs, lists.join(progress)?))));
    }
    let pairs = lists.join(progress)?;
    positions::send(run.sizes.sender, pairs.iter().map(|&(_, theirs)| theirs), channel.split().0)?;
    proofs.send(items, &pairs, channel)?;
    Ok(Pending::new(move || Ok(result(proofs, pairs))))
}

/// RS21, Figure 5, the sender.
fn send_masks(
    run: &Run<'_>,
    oprf: impl OprfSender<Proofs: Proofs + Sync>,
    items: &Items,
    channel: &mut dyn Channel,
) -> Result<Option<Outcome>, Error> {
    // 1. and 2. F(y) for all y in Y, which leave in ascending order.
    let mut masks = OutgoingMasks::new(run);
    let proofs = oprf.evaluate_all(items, |item| item as u32, channel, &mut masks)?;
    let order = masks.into_order();
    // [E_j for every mask.]
    if let Attached::Payloads(payloads) = run.attached {
        payloads::send(run, (items, &order), &proofs, payloads, channel)?;
    }
    if run.learns == Learns::Receiver {
        return Ok(None);
    }
    // 3. What the receiver says has matched.
    let most = run.sizes.receiver.min(run.sizes.sender);
    let matched = positions::recv(run.sizes.sender, most, channel.split().1)?;
    let matched: Vec<usize> = matched.into_iter().map(|position| order[position as usize] as usize).collect();
    proofs.check(items, &matched, channel)?;
    Ok(Some(Outcome::Matches(items.matches(matched.into_iter()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oprf::vole::store::Store;
    use crate::parameters::{Parameters, STATISTICAL_SECURITY};
    use crate::testing::ideal_oprf::{IdealReceiver, IdealSender};
    use crate::testing::{Case, DIRECTIONS, Tampering, Target, duel, planted, wiped};

    #[test]
    fn over_the_ideal_oprf_it_is_the_plain_join() {
        let sets = &planted(1500, 2500, 400, 1);
        for learns in [Learns::Receiver, Learns::Both] {
            let (matches, told) = duel(
                (&ENTRY, sets, Case { learns, ..Case::default() }),
                Box::new(|ctx| {
                    let oprf = IdealReceiver { functions: 1, rng: ctx.rng };
                    receive_masks(ctx.run, oprf, &sets.receiver, ctx.channel)?.finish()
                }),
                Box::new(|ctx| send_masks(ctx.run, IdealSender { functions: 1 }, &sets.sender, ctx.channel)),
            );
            assert_eq!(matches.unwrap().into_matches().unwrap().rows(), sets.receiver_rows);
            let told = told.unwrap().map(|told| told.into_matches().unwrap().rows().to_vec());
            assert_eq!(told, (learns == Learns::Both).then(|| sets.sender_rows.clone()));
        }
    }

    #[test]
    fn secrets_are_wiped_where_a_run_breaks_off() {
        for security in [Security::SemiHonest, Security::Malicious] {
            let run = |target| wiped::run(&ENTRY, Parameters { security, ..Parameters::default() }, target);
            let honest = run(None);
            assert!(honest.parties.iter().all(|(well, _)| *well));
            let dropped = |party: usize| {
                let (direction, frame) = (DIRECTIONS[party], honest.frames[party] - 1);
                Some(Target { direction, frame, tampering: Tampering::Drop })
            };
            // Without the masks: all is there by then.
            let [(well, wiped), _] = run(dropped(1)).parties;
            assert!(!well && wiped == honest.parties[0].1, "{security:?}: {wiped}, {:?}", honest.parties);
            // Without A': B is there.
            let slots = Store::new(security, 200, STATISTICAL_SECURITY, Block::ZERO).unwrap().slots();
            let [_, (well, wiped)] = run(dropped(0)).parties;
            assert!(!well && wiped >= slots * Block::BYTES, "{security:?}: {wiped}, {slots}");
        }
    }
}
