//! The OPRF by VOLE: RS21 (eprint 2021/266), Figure 3. One function; semi-honest or malicious, as a type
//! parameter says.
//!
//! ```text
//! receiver (X)                                               sender (Y)
//! [malicious: coins of both, committed by the sender]   ◄─►  context of all that follows
//! 1. H(x), H_B(x) for all x in X                             H(y), H_B(y) for all y in Y
//! 2. A, C = B + Δ·A                                     ◄─►  Δ, B                              see vesica_ot::vole
//! 3. the store's seed, the keys of X being fixed        ──►  its keys in the order of the store
//!    P: Decode(P, x) = H_B(x) for all x in X
//! 4. A' = A ⊕ P                    ── A' [w_r] ──►           B' = B ⊕ Δ·A'
//!                                  ◄── [w_s] ──
//! 5. F(x) = H_o(Decode(C, x) [⊕ w, x])                       F(y) = H_o(Decode(B', y) ⊕ Δ·H_B(y) [⊕ w, y])
//! ```
//!
//! since Decode(C, x) = Decode(B, x) ⊕ Δ·(Decode(A', x) ⊕ H_B(x)). In brackets: malicious runs only, in which
//! the seed comes from the coins and is not sent; w = w_r ⊕ w_s, of which w_s is committed to before A' is
//! sent.
//!
//! [`SemiHonest`](semi_honest) and [`Malicious`](malicious) runs differ in what their [`Model`] says, and in
//! nothing else:
//!
//! | | semi-honest | malicious |
//! |---|---|---|
//! | context and seed | the run's; the receiver draws the seed | from coins of both |
//! | A' is sent | after the VOLE's last message; with its second in the profiles `fast` and `lean` | after the VOLE's checks |
//! | values of A, P | GF(2^128), or GF(2^64) if they suffice | GF(2^128) |
//! | F(x) | H_o of the decoded value | H_o of it, w and the item |
//!
//! Deviations: the seed of the store is drawn after the keys are fixed, and in malicious runs from the coins.
//! The OKVS is that of [`store`]. `fast` and `lean` send A' early, which the paper does not.
//!
//! **Where malicious runs end.** All checks of the sender's come before anything of its items is used, and
//! all of the receiver's do not depend on its items: when and why a run ends tells of Δ or the noise, which
//! are of that run alone.
//!
//! Names: H_B = the second half of the oracle `item`, whose first half is the key in the store; H_o = the
//! oracle `output`.

pub(crate) mod elements;
pub(crate) mod hashes;
pub(crate) mod malicious;
mod semi_honest;
pub(crate) mod store;

use std::marker::PhantomData;
use std::ops::Range;
use std::time::Duration;

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_crypto::memory::Wiped;
use vesica_encode::items::Items;
use vesica_encode::okvs::Decoded;
use vesica_ot::vole::receiver::{Answered, Checked, Held};
use vesica_ot::vole::{self, Check, Plan, sender::Expanded};

use super::{EvaluationSink, OprfReceiver, OprfSender, OutputSink};
use crate::error::Error;
use crate::protocol::{Phase, Run};
use elements::FieldElement;
use hashes::Hashes;
use store::Store;

/// Outputs of the sender that are made before its sink gets them: they stay in the second-level cache.
const SEGMENT: usize = 1 << 16;

/// What both parties know before the first message.
pub(crate) struct Setup<'a> {
    pub(crate) run: &'a Run<'a>,
    /// The VOLE: one output for each slot of the store.
    pub(crate) plan: Plan,
    /// Whether A' goes with the receiver's second message of the VOLE. No part in malicious runs.
    pub(crate) early: bool,
    /// How long the partner may take in malicious runs while it could search.
    pub(crate) limit: Duration,
}

/// The party that evaluates F at its items.
pub(crate) struct Receiver<'a, M, V> {
    setup: Setup<'a>,
    rng: &'a mut dyn CryptoRng,
    model: PhantomData<(M, V)>,
}

/// The party that has F.
pub(crate) struct Sender<'a, M, V> {
    setup: Setup<'a>,
    rng: &'a mut dyn CryptoRng,
    model: PhantomData<(M, V)>,
}

/// What the coins of a run decide; in semi-honest runs there are none.
pub(crate) struct Tossed<C> {
    /// Enters all that follows.
    pub(crate) context: Context,
    /// The seed of the store; none: the receiver draws it and sends it.
    pub(crate) seed: Option<Block>,
    pub(crate) coins: C,
}

/// A security model: what it adds to the figure, over values V.
pub(crate) trait Model<V: FieldElement>: Check<V> {
    /// What the receiver keeps of the coins: that by which w is made.
    type ReceiverCoins;
    /// What the sender keeps of the coins.
    type SenderCoins;
    /// w, or nothing.
    type W: Copy + Sync;
    /// What remains beside the outputs.
    type Proofs: Proofs;

    /// The receiver's part in the coins.
    fn toss_as_receiver(
        setup: &Setup<'_>,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Tossed<Self::ReceiverCoins>, Error>;

    /// The sender's part in the coins.
    fn toss_as_sender(
        setup: &Setup<'_>,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Tossed<Self::SenderCoins>, Error>;

    /// Sends A', and takes the last message of the VOLE.
    fn send_masked(
        setup: &Setup<'_>,
        coins: &Self::ReceiverCoins,
        vole: Answered<V, Self>,
        masked: Held<Vec<V>, Self>,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Checked<V>, Error>;

    /// The receiver receives w_s: w.
    fn w_of_receiver(coins: Self::ReceiverCoins, channel: &mut dyn Channel) -> Result<Self::W, Error>;

    /// The sender receives w_r and sends w_s: w.
    fn w_of_sender(coins: Self::SenderCoins, channel: &mut dyn Channel) -> Result<Self::W, Error>;

    /// Decoded values in the order in which they are hashed.
    fn in_order(decoded: Decoded<()>) -> Values;

    /// F of the decoded `values` of the items `range`.
    fn hash(
        hashes: &Hashes,
        items: &Items,
        w: Self::W,
        range: Range<usize>,
        values: &[Block],
        into: &mut [u8],
    );

    /// What remains of the decoded values.
    fn proofs(run: &Run<'_>, hashes: &Hashes, values: &Values, w: Self::W) -> Self::Proofs;
}

/// By which a receiver proves its matches to the sender, where both learn them.
pub(crate) trait Proofs {
    /// Proves pairs (item of mine, position in the sender's list), in the order of the positions.
    fn send(&self, items: &Items, pairs: &[(u32, u32)], channel: &mut dyn Channel) -> Result<(), Error>;

    /// Receives a proof of each of these items. A receiver can withhold matches, and cannot invent them.
    fn check(&self, items: &Items, matched: &[usize], channel: &mut dyn Channel) -> Result<(), Error>;
}

impl<C> Tossed<C> {
    /// The seed of the store, which the receiver sends where no coins decide it. The keys of X are fixed by
    /// now.
    fn send_seed(&self, channel: &mut dyn Channel, rng: &mut dyn CryptoRng) -> Result<Block, Error> {
        if let Some(seed) = self.seed {
            return Ok(seed);
        }
        let seed = Block::random(rng);
        channel.send(seed.as_bytes())?;
        Ok(seed)
    }

    /// The same on the sender's side.
    fn recv_seed(&self, channel: &mut dyn Channel) -> Result<Block, Error> {
        if let Some(seed) = self.seed {
            return Ok(seed);
        }
        let mut seed = Block::ZERO;
        channel.recv_exact(seed.as_mut_bytes())?;
        Ok(seed)
    }
}

/// Decoded values, in the order in which they are hashed.
pub(crate) struct Values {
    values: Wiped<Block>,
    /// The item of each; none: the one of the same number.
    items: Option<Vec<u32>>,
}

/// What values are hashed with.
struct Hashing<'a, W> {
    run: &'a Run<'a>,
    hashes: &'a Hashes,
    items: &'a Items,
    w: W,
}

impl Values {
    /// Puts F(x) in place of each value and gives all to the sink at once.
    fn put<M: Model<V>, V: FieldElement>(
        mut self,
        with: &Hashing<'_, M::W>,
        sink: &mut impl OutputSink,
    ) -> Result<(), Error> {
        hash_all::<M, V>(with, 0, &mut self.values)?;
        let item = |index| self.items.as_ref().map_or(index as u32, |items| items[index]);
        sink.put(0, &self.values, |index| Some(item(index)));
        Ok(())
    }

    /// Puts F(y) in place of each value and gives segment by segment to the sink.
    fn put_by_segments<M: Model<V>, V: FieldElement>(
        mut self,
        with: &Hashing<'_, M::W>,
        position: impl Fn(usize) -> u32,
        sink: &mut impl EvaluationSink,
    ) -> Result<(), Error> {
        let item = |index| self.items.as_ref().map_or(index, |items| items[index] as usize);
        for (index, values) in self.values.chunks_mut(SEGMENT).enumerate() {
            let first = index * SEGMENT;
            hash_all::<M, V>(with, first, values)?;
            sink.put((first..first + values.len()).map(|index| position(item(index))), values);
        }
        Ok(())
    }
}

/// Puts F in place of each value, the first of which has that number.
fn hash_all<M: Model<V>, V: FieldElement>(
    with: &Hashing<'_, M::W>,
    first: usize,
    values: &mut [Block],
) -> Result<(), Error> {
    let Hashing { run, hashes, items, w } = *with;
    hashes.outputs(run, values, |range, values, into| {
        M::hash(hashes, items, w, first + range.start..first + range.end, values, into);
    })
}

impl<'a, M: Model<V>, V: FieldElement> Receiver<'a, M, V> {
    pub(crate) fn new(setup: Setup<'a>, rng: &'a mut dyn CryptoRng) -> Self {
        Self { setup, rng, model: PhantomData }
    }
}

impl<M: Model<V>, V: FieldElement> OprfReceiver for Receiver<'_, M, V> {
    type Proofs = M::Proofs;

    fn evaluate(
        self,
        items: &Items,
        channel: &mut dyn Channel,
        sink: &mut impl OutputSink,
    ) -> Result<Self::Proofs, Error> {
        let Self { setup, rng, .. } = self;
        let (run, n) = (setup.run, items.len());
        // Progress in keys: hashed, sorted, stored, masked and, with A' early, sent.
        run.phase(Phase::Blind, if setup.early { 5 } else { 4 } * n);
        let tossed = M::toss_as_receiver(&setup, channel, rng)?;
        let hashes = Hashes::new(&tossed.context);
        // 1. H(x), H_B(x), while the sender opens the VOLE.
        let pairs = hashes.pairs::<V>(run, items)?;
        // 2. The VOLE up to A; its last message is on the way.
        let mut vole = vole::answer::<V, M>(&tossed.context, &setup.plan, channel, rng)?;
        // 3. The seed of the store, with which the sender can sort its keys, and P, while the sender grows
        //    its trees.
        let store = Store::new(M::SECURITY, n, tossed.send_seed(channel, rng)?)?;
        channel.flush()?;
        let (p, keys) = store.encode(run, pairs)?;
        // 4. A' = A ⊕ P. C is computed while the sender works on it.
        let masked = run.counted(n, vole.values().add_to(p))?;
        let vole = M::send_masked(&setup, &tossed.coins, vole, masked, channel, rng)?;
        let c = run.counted(n, vole.expand())?;
        // 5. F(x).
        let decoded = keys.decode(run, c)?;
        sink.begin(0, n);
        let w = M::w_of_receiver(tossed.coins, channel)?;
        let values = M::in_order(decoded);
        let proofs = M::proofs(run, &hashes, &values, w);
        values.put::<M, V>(&Hashing { run, hashes: &hashes, items, w }, sink)?;
        Ok(proofs)
    }
}

impl<'a, M: Model<V>, V: FieldElement> Sender<'a, M, V> {
    pub(crate) fn new(setup: Setup<'a>, rng: &'a mut dyn CryptoRng) -> Self {
        Self { setup, rng, model: PhantomData }
    }
}

impl<M: Model<V>, V: FieldElement> OprfSender for Sender<'_, M, V> {
    type Proofs = M::Proofs;

    fn evaluate_all(
        self,
        items: &Items,
        position: impl Fn(usize) -> u32,
        channel: &mut dyn Channel,
        sink: &mut impl EvaluationSink,
    ) -> Result<Self::Proofs, Error> {
        let Self { setup, rng, .. } = self;
        let (run, n, theirs) = (setup.run, items.len(), setup.run.sizes.receiver);
        // Progress in keys: mine hashed and sorted, the partner's answered.
        run.phase(Phase::Blind, 2 * n + theirs);
        let tossed = M::toss_as_sender(&setup, channel, rng)?;
        let hashes = Hashes::new(&tossed.context);
        let vole = vole::open(&tossed.context, channel, rng)?;
        // 1. H(y), H_B(y), while the receiver answers.
        let pairs = hashes.pairs::<V>(run, items)?;
        let flight2 = vole::receive_flight2::<V, M>(&setup.plan, channel)?;
        // 3. My keys in the order of the store, while the receiver fills it; before there is memory for B,
        //    which step 2 already takes if there are many slots.
        let store = Store::new(M::SECURITY, theirs, tossed.recv_seed(channel)?)?;
        let keys = store.sort(run, pairs)?;
        // 2. Δ, B.
        let vole = vole::respond::<V, M>(vole, &setup.plan, &flight2, channel, rng)?;
        let vole = run.counted(theirs, vole)?;
        run.phase(Phase::Answer, 2 * theirs + n);
        let Expanded { delta, b } = run.counted(theirs, vole.expand())?;
        // 4. B' = B ⊕ Δ·A'.
        let b = V::recv_products(b, *delta, channel, run)?;
        let w = M::w_of_sender(tossed.coins, channel)?;
        // 5. F(y), from Decode(B', y) ⊕ Δ·H_B(y).
        let decoded = keys.decode_and_add(run, b, *delta)?;
        sink.begin(0, n);
        let values = M::in_order(decoded);
        let proofs = M::proofs(run, &hashes, &values, w);
        values.put_by_segments::<M, V>(&Hashing { run, hashes: &hashes, items, w }, position, sink)?;
        sink.complete(channel.split().0)?;
        Ok(proofs)
    }
}
