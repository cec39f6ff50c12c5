//! PSI from VOLE and an oblivious key-value store. The receiver learns X ∩ Y, the sender |X| and no more.
//!
//! **Security:** semi-honest, or malicious, in the random oracle model, under (dual) learning parity with noise for the
//! codes of `vesica_ot::vole` and the decisional (or gap) Diffie–Hellman assumption for the base OTs. Leaks n_r and n_s. A malicious
//! receiver's set may be larger than n_r: [`max_malicious_items`](entry::max_malicious_items) says by how much. What each profile
//! rests on stands in `docs/security-of-the-default.md`.
//!
//! Source: Rindal, Schoppmann, *VOLE-PSI* (RS21, eprint 2021/266), Figures 3 and 5; Raghuraman, Rindal, *Blazing Fast PSI*
//! (RR22, eprint 2022/320), §5; the key-value store of Bienstock, Patel, Seo, Yeo (BPSY23, eprint 2023/903); for few items of a malicious receiver a polynomial
//! (`store.rs`).
//! Deviations: the sender's masks travel sorted, in Elias–Fano form, where the papers permute them; the seed of the
//! store is drawn after the keys are fixed, and in malicious runs from coins of both.
//!
//! ```text
//! receiver (X)                                               sender (Y)
//! [malicious: coins of both, committed by the sender]   ◄─►  context of all that follows
//! C = B + Δ·A, silently                                 ◄─►  Δ, B                              see vesica_ot::vole
//! the store's seed, its keys being fixed                ──►  its keys in the order of the store
//! P: Decode(P, x) = H_B(x) for all x in X
//! A' = A ⊕ P                    ── A' [w_r] ──►              B' = B ⊕ Δ·A'
//!                               ◄── [w_s,] sort{F(y)} ──     F(y) = H_o(Decode(B', y) ⊕ Δ·H_B(y) [⊕ w], y)
//! F(x) = H_o(Decode(C, x) [⊕ w], x)
//! output {x : F(x) received}
//! ```
//!
//! since Decode(C, x) = Decode(B, x) ⊕ Δ·(Decode(A', x) ⊕ H_B(x)). In brackets: malicious runs only, in which the seed
//! comes from the coins and is not sent; w = w_r ⊕ w_s, of which w_s is committed to before A' is sent.
//!
//! **Where malicious runs end.** All checks of the sender's come before anything of its items is used, and all of the
//! receiver's do not depend on its items: when and why a run ends tells of Δ or the noise, which are of that run alone.
//! (With `--learns both` the sender's last check is of positions and proofs.)
//!
//! | | conservative | fast, lean | malicious |
//! |---|---|---|---|
//! | values of A, P | GF(2^128) | GF(2^64) while λ + log2 n_s ≤ 64 | GF(2^128) |
//! | A' is sent | after the VOLE's last message | with its second | after its checks |
//! | masks | ℓ = λ + log2 n_r + log2 n_s bits | the same | 128 bits |
//!
//! Names: H_B = second half of the oracle `item`, whose first half is the key in the store; H_o = the oracle `mask`; m =
//! columns of the store.
//! Cost: see [`entry`].

mod cells;
#[cfg(any(test, feature = "testing"))]
pub mod cheating;
pub mod entry;
mod limits;
mod oprf;
#[cfg(test)]
mod properties;
mod store;

use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_crypto::join::Ascending;
use vesica_crypto::memory::{Wiped, large_capacity};
use vesica_encode::items::Items;
use vesica_encode::radix;
use vesica_encode::sorted::{self, Repeats};
use vesica_ot::vole::{self, Opening};
use zeroize::Zeroizing;

use crate::error::{Error, Misbehaviour};
use crate::masks::{self, Tagged};
use crate::outcome::{Outcome, Pending};
use crate::parameters::Security;
use crate::positions;
use crate::protocol::{Ctx, Learns, Phase, Progress, Run, Sizes};
use cells::Cell;
use oprf::{Coins, Oracles, Order, Proofs};
use store::Store;

pub use entry::ENTRY;

/// Bytes of the masks between two signs of progress: whole frames.
const PIECE: usize = 1 << 20;

/// The receiver's role.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pending<'a>, Error> {
    if entry::small_values(ctx.run) {
        receive_over::<u64>(ctx, items)
    } else {
        receive_over::<Block>(ctx, items)
    }
}

/// The sender's role.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Option<Outcome>, Error> {
    if entry::small_values(ctx.run) { send_over::<u64>(ctx, items) } else { send_over::<Block>(ctx, items) }
}

fn receive_over<'a, V: Cell>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pending<'a>, Error> {
    let run = ctx.run;
    let (_, channel, rng) = ctx.parts();
    let (n, early) = (items.len(), entry::early(run));
    // Progress in keys: hashed, ordered, stored, hidden and, with early columns, sent.
    run.phase(Phase::Blind, if early { 5 } else { 4 } * n);
    let coins = Coins::receive(run, channel, rng)?;
    let context = coins.as_ref().map_or(&run.context, |coins| &coins.context);
    let plan = entry::plan(run)?;
    // The keys of my items, while the sender opens.
    let oracles = Oracles::new(context, run);
    let (keys, values) = oracles.keyed::<V>(items)?;
    // The VOLE up to A; its last message is on the way. With the answer goes the seed of the store, which the sender can
    // bring its keys into order with: the keys of both are fixed.
    let mut opening = vec![0; Opening::BYTES];
    channel.recv_exact(&mut opening)?;
    let (mut vole, answer) = vole::answer::<V>(context, &plan, &opening, rng)?;
    channel.send(&answer)?;
    let seed = coins.as_ref().map_or_else(|| Block::random(rng), Coins::store_seed);
    if coins.is_none() {
        channel.send(seed.as_bytes())?;
    }
    channel.flush()?;
    // P, while the sender grows its trees.
    let store = Store::new(run.parameters.security, keys.len(), seed)?;
    let placed = store.place(run.threads, keys, values);
    run.advance(n)?;
    let mut table = placed.encode(run.threads)?;
    let placed = placed.without_values();
    run.advance(n)?;
    let pads = Wiped::from(vole.values());
    table.iter_mut().zip(pads.iter()).for_each(|(cell, pad)| *cell ^= *pad);
    drop(pads);
    run.advance(n)?;
    // Before the sender's last message has come and, in malicious runs, has been checked, nothing that depends on A may
    // leave; with early columns it may. C is computed while the sender works on them.
    if !early {
        run.phase(Phase::Unblind, 4 * n);
        vole::accept(&mut vole, &plan, channel, rng)?;
        run.advance(n)?;
    }
    V::send(&table, channel, &mut run.paced(n, table.len()))?;
    Coins::answer(coins.as_ref(), channel)?;
    channel.flush()?;
    drop(table);
    if early {
        run.phase(Phase::Unblind, 3 * n);
        vole::accept(&mut vole, &plan, channel, rng)?;
        run.advance(n)?;
    }
    let c = Wiped::from(vole.finish());
    run.advance(n)?;
    let outputs = placed.decode(run.threads, &c);
    drop(c);
    run.advance(n)?;
    run.phase(Phase::Exchange, n + run.sizes.sender);
    let shift = coins.map(|coins| coins.shift(channel)).transpose()?;
    let (mine, outputs, order) = oracles.masks_of(items, outputs, shift)?;
    let (lists, progress) = (Lists::recv(run, mine, &order, channel)?, run.progress);
    if run.learns == Learns::Receiver {
        return Ok(Pending::of_join(items, move || lists.join(progress)));
    }
    let pairs = lists.join(progress)?;
    let proofs = Proofs::of(&oracles, items, &outputs, &pairs);
    positions::send(run.sizes.sender, pairs.iter().map(|&(_, theirs)| theirs), channel.split().0)?;
    proofs.send(channel)?;
    Ok(Pending::of_join(items, || Ok(pairs)))
}

fn send_over<V: Cell>(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Option<Outcome>, Error> {
    let run = ctx.run;
    let (_, channel, rng) = ctx.parts();
    let (n, theirs) = (items.len(), run.sizes.receiver);
    // Progress in keys: mine hashed and ordered, the partner's answered.
    run.phase(Phase::Blind, 2 * n + theirs);
    let coins = Coins::send(run, channel, rng)?;
    let context = coins.as_ref().map_or(&run.context, |coins| &coins.context);
    let plan = entry::plan(run)?;
    let (opening, message) = Opening::new(context, rng);
    channel.send(&message)?;
    channel.flush()?;
    // The keys of my items, while the receiver answers.
    let oracles = Oracles::new(context, run);
    let (keys, values) = oracles.keyed::<V>(items)?;
    let mut answer = vec![0; Opening::answer_bytes::<V>(&plan)];
    channel.recv_exact(&mut answer)?;
    let seed = match &coins {
        Some(coins) => coins.store_seed(),
        None => {
            let mut seed = Block::ZERO;
            channel.recv_exact(seed.as_mut_bytes())?;
            seed
        }
    };
    // My items in the order of the store, while the receiver fills it; before there is memory for B, which the response
    // already takes if there are many columns.
    let store = Store::new(run.parameters.security, run.sizes.receiver, seed)?;
    let placed = store.place(run.threads, keys, values);
    run.advance(n)?;
    let (mut vole, words) = opening.respond::<V>(&plan, &answer, rng)?;
    channel.send(&words)?;
    channel.flush()?;
    vole::confirm(&mut vole, &plan, channel)?;
    run.advance(theirs)?;
    run.phase(Phase::Answer, 2 * theirs + n);
    let delta = Zeroizing::new(vole.delta());
    let mut b = Wiped::from(vole.finish());
    run.advance(theirs)?;
    // B' = B ⊕ Δ·A'.
    let columns = b.len();
    V::recv_products(&mut b, *delta, channel, &mut run.paced(theirs, columns))?;
    let shift = coins.map(|coins| coins.open(channel)).transpose()?;
    // Decode(B', y) ⊕ Δ·H_B(y).
    let mut decoded = placed.decode(run.threads, &b);
    drop(b);
    V::add_products(&mut decoded.outputs, *delta, &decoded.values);
    run.advance(n)?;
    run.phase(Phase::Exchange, 2 * n);
    let (mine, outputs, order) = oracles.masks_of(items, decoded.without_values(), shift)?;
    let order = send_masks(run, &oracles, mine, &order, channel)?;
    if run.learns == Learns::Receiver {
        return Ok(None);
    }
    let matched =
        positions::recv(run.sizes.sender, run.sizes.receiver.min(run.sizes.sender), channel.split().1)?;
    let matched: Vec<usize> = matched.into_iter().map(|position| order[position as usize] as usize).collect();
    oracles.check_proofs(items, &outputs, &matched, channel)?;
    Ok(Some(Outcome::Matches(items.matches(matched.into_iter()))))
}

/// Sends my masks in their short form; the item behind each, in sorted order, where the positions will be asked for.
fn send_masks(
    run: &Run<'_>,
    oracles: &Oracles<'_>,
    mut mine: Wiped<u128>,
    order: &Order,
    channel: &mut dyn Channel,
) -> Result<Vec<u32>, Error> {
    let order = if run.learns == Learns::Both {
        let mut tagged: Vec<Tagged> =
            mine.iter().enumerate().map(|(place, &mask)| Tagged { mask, item: order.item(place) }).collect();
        masks::sort(&mut tagged);
        mine.iter_mut().zip(&tagged).for_each(|(mask, tagged)| *mask = tagged.mask);
        tagged.iter().map(|tagged| tagged.item).collect()
    } else {
        radix::sort(&mut mine);
        Vec::new()
    };
    let bytes = sorted::encode(&mine, oracles.mask_bits);
    let mut sent = run.paced(mine.len(), bytes.len());
    for piece in bytes.chunks(PIECE) {
        channel.send(piece)?;
        sent.advance(piece.len())?;
    }
    channel.flush()?;
    Ok(order)
}

/// The masks of both, which are still to be joined.
struct Lists {
    mine: Ascending,
    /// The sender's, in their short form, which has been checked.
    theirs: Vec<u8>,
    sizes: Sizes,
    bits: u32,
}

impl Lists {
    /// Receives the sender's masks and holds them to their form, which tells nothing of mine.
    ///
    /// In malicious runs no mask may stand there twice. Otherwise the sender could send one that it made up n_s times: the
    /// time that n_s matches take would show it whether the receiver has that item. The masks of an honest sender are 128
    /// bits of a hash; two of them are equal with probability 2^-89 at n_s = 2^20 (n_s²/2 pairs, 2^-128 each). Shorter
    /// masks of semi-honest runs may be equal.
    fn recv(
        run: &Run<'_>,
        mine: Wiped<u128>,
        order: &Order,
        channel: &mut dyn Channel,
    ) -> Result<Self, Error> {
        let (count, bits) = (run.sizes.sender, entry::mask_bits(run.sizes, run.parameters.security));
        // Before theirs are here.
        let masks = Ascending::new(&mine, bits, |place| order.item(place));
        drop(mine);
        let mut theirs = vec![0; sorted::encoded_bytes(count, bits)];
        let mut received = run.paced(count, theirs.len());
        for piece in theirs.chunks_mut(PIECE) {
            channel.recv_exact(piece)?;
            received.advance(piece.len())?;
        }
        channel.expect_within(None);
        let repeats = match run.parameters.security {
            Security::SemiHonest => Repeats::Allowed,
            Security::Malicious => Repeats::Refused,
        };
        sorted::check(&theirs, count, bits, repeats).map_err(Misbehaviour::InvalidMasks)?;
        Ok(Self { mine: masks, theirs, sizes: run.sizes, bits })
    }

    /// The pairs of an item of mine and the position of its mask in the sender's list. How long that takes depends on how
    /// many there are.
    fn join(mut self, progress: &dyn Progress) -> Result<Vec<(u32, u32)>, Error> {
        let Sizes { receiver, sender } = self.sizes;
        progress.phase(Phase::Compare, sender as u64);
        let (mut pairs, mut first) = (large_capacity(sender.min(receiver)), 0);
        let each = |theirs: &[u128]| {
            self.mine.find(theirs, |item, place| pairs.push((item, first + place as u32)));
            first += theirs.len() as u32;
            progress.advance(theirs.len() as u64);
        };
        sorted::for_each_batch(&self.theirs, sender, self.bits, each).map_err(Misbehaviour::InvalidMasks)?;
        Ok(pairs)
    }
}

/// The context that both coins enter.
fn context_of(run: &Run<'_>, coins: &[u8]) -> Context {
    run.context.derive(oprf::COINS, coins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::{Parameters, Security};
    use crate::testing::{DIRECTIONS, Tampering, Target, wiped};

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
            // Without the columns: B is there.
            let columns = Store::new(security, 200, Block::ZERO).unwrap().columns();
            let [_, (well, wiped)] = run(dropped(0)).parties;
            assert!(!well && wiped >= columns * Block::BYTES, "{security:?}: {wiped}, {columns}");
        }
    }
}
