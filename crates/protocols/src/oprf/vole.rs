//! The OPRF by VOLE: RS21 (eprint 2021/266), Figure 3. Semi-honest or malicious, as a type parameter says.
//!
//! There is one function, or, in semi-honest runs, [several](Functions): F_i(x) = F(x, i), so that an item
//! under a function is what the figure calls an item. The receiver has one of these for each item, as many as
//! without; the sender has as many as it has items and functions.
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
//! [`SemiHonest`] and [`Malicious`](malicious) runs differ in what their [`Model`] says, and in
//! nothing else:
//!
//! | | semi-honest | malicious |
//! |---|---|---|
//! | context and seed | the run's; the receiver draws the seed | from coins of both |
//! | A' is sent | after the VOLE's flight 3; with its flight 2 in the profiles `fast` and `lean` | after the VOLE's checks |
//! | values of A, P | GF(2^128), or GF(2^64) if they suffice | GF(2^128) |
//! | F(x) | H_o of the decoded value | H_o of it, w and the item |
//!
//! Deviations: the seed of the store is drawn after the keys are fixed, and in malicious runs from the coins.
//! The OKVS is that of [`store`], and the key in it is a hash of the item, not the item. In semi-honest runs
//! H_o does not take the item (`SemiHonest::hash`), as in RR22 (eprint 2022/320), Figure 4. `fast` and `lean`
//! send A' early, which the papers do not.
//!
//! **Where malicious runs abort.** The sender makes its checks before it sends anything that depends on its
//! items. The receiver's checks do not depend on its items. So whether a run aborts, and at which check, tells
//! of Δ or the noise at most, which are fresh in every run. Two cases are left. The receiver's store cannot be
//! built with probability at most 2^-λ, which does depend on its items. With `--learns both` the sender also
//! checks positions and proofs, after its masks are sent.
//!
//! Names: H_B = the second half of the oracle `item`, whose first half is the key in the store; H_o = the
//! oracle `output`. The letters are those of RR22, Figure 4; RS21 has others.

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
use vesica_crypto::memory::{Wiped, large_zeros};
use vesica_encode::items::Items;
use vesica_encode::okvs::Decoded;
use vesica_ot::security::SemiHonest;
use vesica_ot::vole::receiver::{Answered, Checked};
use vesica_ot::vole::{self, Check, Plan, sender::Expanded};

use super::{EvaluationSink, OprfReceiver, OprfSender, OutputSink};
use crate::error::Error;
use crate::parameters::{Parameters, Profile, Security};
use crate::protocol::{Ctx, Phase, Run};
use crate::results::ResultKind;
use elements::FieldElement;
use hashes::Hashes;
use store::Store;

/// Outputs of the sender that are made before its sink gets them: they stay in the second-level cache.
const SEGMENT: usize = 1 << 16;

/// What both parties know before the first message.
pub(crate) struct Setup {
    /// The VOLE: one output for each slot of the store.
    pub(crate) plan: Plan,
    /// Whether A' goes with flight 2 of the VOLE, the receiver's first. Without effect in malicious runs.
    pub(crate) early: bool,
    /// How long the partner may take in malicious runs while it could search.
    pub(crate) limit: Duration,
}

/// Whether values are from GF(2^64), where the sender evaluates so many points: if a point that is not the
/// receiver's decodes to its own value with probability at most 2^-λ for all of them together, λ + log2 of
/// their number ≤ 64. Not in the conservative profile.
pub(crate) fn small_values(evaluated: usize, parameters: &Parameters) -> bool {
    let fits = evaluated <= 1 << (u64::BITS - parameters.statistical);
    fits && parameters.profile != Profile::Conservative && parameters.security == Security::SemiHonest
}

/// Whether A' goes with flight 2 of the VOLE, the receiver's first. That is not the papers' order of the
/// messages, and in malicious runs it would be before the checks.
pub(crate) fn early(parameters: &Parameters) -> bool {
    parameters.profile != Profile::Conservative && parameters.security == Security::SemiHonest
}

/// The functions of an OPRF, fewer than 2^8.
#[derive(Clone, Copy)]
pub(crate) enum Functions<'a> {
    /// One, which does not enter the hash of an item.
    One,
    /// So many. The receiver holds item i under function `held[i]`, the sender its items under all.
    Several { count: u8, held: &'a [u8] },
}

impl Functions<'_> {
    fn all(self) -> Range<u8> {
        match self {
            Functions::One => 0..1,
            Functions::Several { count, .. } => 0..count,
        }
    }

    /// What enters the hash of an item under `function`.
    fn hashed(self, function: u8) -> Option<u8> {
        matches!(self, Functions::Several { .. }).then_some(function)
    }

    /// The function under which the receiver holds an item.
    fn of(self, item: usize) -> u8 {
        match self {
            Functions::One => 0,
            Functions::Several { held, .. } => held[item],
        }
    }
}

/// Either party of the OPRF, in the security model M, over values V.
pub(crate) struct Oprf<'a, M, V> {
    run: &'a Run<'a>,
    setup: Setup,
    functions: Functions<'a>,
    rng: &'a mut dyn CryptoRng,
    model: PhantomData<(M, V)>,
}

/// A security model: what it adds to the figure, over values V.
pub(crate) trait Model<V: FieldElement>: Check<V> {
    /// w, or nothing.
    type W: Copy + Sync;
    type ReceiverShare: ShareOfW<W = Self::W>;
    type SenderShare: ShareOfW<W = Self::W>;
    type Proofs: Proofs;

    /// The rest of the VOLE, and A' of P, made and sent: in the order of the model.
    fn send_masked(
        setup: &Setup,
        ctx: &mut Ctx<'_, '_>,
        share: &Self::ReceiverShare,
        vole: Answered<V, Self>,
        p: Wiped<V>,
    ) -> Result<Checked<V>, Error>;

    /// Decoded values in the order in which they are hashed.
    fn in_order(decoded: Decoded<()>) -> Values;

    /// F of the decoded `values` of the items `range`.
    fn hash(with: &Hashing<'_, Self::W>, range: Range<usize>, values: &[Block], into: &mut [u8]);

    /// What remains of the decoded values.
    fn proofs(with: &Hashing<'_, Self::W>, values: &Values) -> Self::Proofs;
}

/// A party's share of w: w_r or w_s, with what a commitment takes; nothing in semi-honest runs.
pub(crate) trait ShareOfW: Sized {
    type W;

    /// The conversation of coins, until both parties have the context. The partner has so long while it could
    /// search.
    fn toss(ctx: &mut Ctx<'_, '_>, limit: Duration) -> Result<Coins<Self>, Error>;

    /// w, from both parties' shares: the sender receives w_r and opens w_s, the receiver takes the opening.
    fn w(self, channel: &mut dyn Channel) -> Result<Self::W, Error>;
}

/// What the coins of a run decide.
pub(crate) struct Coins<S> {
    /// Enters all that follows.
    pub(crate) context: Context,
    /// The seed of the store; none: the receiver draws it and sends it.
    pub(crate) seed: Option<Block>,
    /// For w, later.
    pub(crate) share: S,
}

impl<S> Coins<S> {
    /// The receiver's step 3: the seed is sent where no coins decide it. The keys of X are fixed by now.
    fn send_seed(&self, ctx: &mut Ctx<'_, '_>) -> Result<Block, Error> {
        let seed = self.seed.unwrap_or_else(|| Block::random(ctx.rng));
        if self.seed.is_none() {
            ctx.channel.send(seed.as_bytes())?;
        }
        ctx.channel.flush()?;
        Ok(seed)
    }

    /// The sender's step 3.
    fn recv_seed(&self, channel: &mut dyn Channel) -> Result<Block, Error> {
        let mut seed = self.seed.unwrap_or(Block::ZERO);
        if self.seed.is_none() {
            channel.recv_exact(seed.as_mut_bytes())?;
        }
        Ok(seed)
    }
}

/// What remains of the values that outputs are hashes of: by which a receiver proves its matches to the sender, where
/// both learn them, and by which payloads are encrypted.
pub(crate) trait Proofs {
    /// Proves pairs (item of mine, position in the sender's list), in the order of the positions.
    fn send(&self, items: &Items, pairs: &[(u32, u32)], channel: &mut dyn Channel) -> Result<(), Error>;

    /// Receives a proof of each of these items. A receiver can withhold matches, and cannot invent them.
    fn check(&self, items: &Items, matched: &[usize], channel: &mut dyn Channel) -> Result<(), Error>;

    /// The pads of the payloads of these items, side by side: in a run for payloads.
    fn pads(&self, items: &Items, of: &[u32], pads: &mut [u8]);
}

/// Whether values are kept for payloads.
fn has_payloads(run: &Run<'_>) -> bool {
    matches!(run.parameters.result, ResultKind::Payload { .. })
}

/// What decoded values are hashed with.
pub(crate) struct Hashing<'a, W> {
    pub(crate) run: &'a Run<'a>,
    pub(crate) hashes: &'a Hashes,
    pub(crate) items: &'a Items,
    pub(crate) w: W,
}

/// Decoded values, in the order in which they are hashed.
pub(crate) struct Values {
    values: Wiped<Block>,
    order: Order,
}

/// The item of each value; none: the one of the same number.
struct Order(Option<Vec<u32>>);

impl Order {
    fn item(&self, index: usize) -> u32 {
        self.0.as_ref().map_or(index as u32, |items| items[index])
    }
}

impl Values {
    /// Those of items, in their order.
    pub(crate) fn of_items(values: Wiped<Block>) -> Self {
        Self { values, order: Order(None) }
    }

    /// They in the order of the items.
    fn by_item(&self) -> Wiped<Block> {
        let mut by_item = Wiped::from(large_zeros(self.values.len()));
        for (index, value) in self.values.iter().enumerate() {
            by_item[self.order.item(index) as usize] = *value;
        }
        by_item
    }

    /// Step 5: puts F in place of each value, and hands out segment by segment.
    fn hashed<M: Model<V>, V: FieldElement>(
        mut self,
        with: &Hashing<'_, M::W>,
        segment: usize,
        mut put: impl FnMut(Range<usize>, &[Block], &Order),
    ) -> Result<(), Error> {
        for (index, values) in self.values.chunks_mut(segment).enumerate() {
            let (first, count) = (index * segment, values.len());
            with.hashes.outputs(with.run, values, |range, values, into| {
                M::hash(with, first + range.start..first + range.end, values, into);
            })?;
            put(first..first + count, values, &self.order);
        }
        Ok(())
    }
}

impl<'a, M: Model<V>, V: FieldElement> Oprf<'a, M, V> {
    pub(crate) fn new(run: &'a Run<'_>, setup: Setup, rng: &'a mut dyn CryptoRng) -> Self {
        Self { run, setup, functions: Functions::One, rng, model: PhantomData }
    }
}

impl<'a, V: FieldElement> Oprf<'a, SemiHonest, V> {
    /// The OPRF with these functions. (What a malicious receiver's hash takes is the item alone.)
    pub(crate) fn with_functions(self, functions: Functions<'a>) -> Self {
        Self { functions, ..self }
    }
}

impl<M: Model<V>, V: FieldElement> OprfReceiver for Oprf<'_, M, V> {
    type Proofs = M::Proofs;

    fn evaluate(
        self,
        items: &Items,
        channel: &mut dyn Channel,
        sink: &mut impl OutputSink,
    ) -> Result<Self::Proofs, Error> {
        let Self { run, setup, functions, rng, .. } = self;
        let (ctx, n) = (&mut Ctx::new(run, channel, rng), items.len());
        // Progress in keys: hashed, sorted, stored, masked and, with A' early, sent. [Malicious: waiting for flight 3 and
        // the check of its trees are part of it, since they come before A'.]
        run.phase(Phase::Blind, if setup.early { 5 } else { 4 } * n);
        // [Malicious: the sender's commitments, my coin, its coin opened.]
        let coins = M::ReceiverShare::toss(ctx, setup.limit)?;
        let hashes = &Hashes::new(&coins.context);
        // 1. H(x), H_B(x), while the sender opens the VOLE.
        let hashed =
            hashes.keys_and_values_under::<V>(run, items, |item| functions.hashed(functions.of(item)))?;
        // 2. Flights 1 and 2 of the VOLE, which determine A. The sender's flight 3 is still to come.
        let vole = vole::answer::<V, M>(&coins.context, &setup.plan, ctx.channel, ctx.rng)?;
        // 3. The seed of the store, with which the sender can sort its keys, and P, while the sender grows
        //    its trees.
        let store = Store::new(M::SECURITY, n, ctx.run.parameters.statistical, coins.send_seed(ctx)?)?;
        let (p, keys) = store.encode(run, hashed)?;
        // 4. A' = A ⊕ P [malicious: after the VOLE's check, with w_r behind it]. C is computed while the
        //    sender works on it, but where the VOLE is malicious and has several pieces: then it was, before the check.
        let vole = M::send_masked(&setup, ctx, &coins.share, vole, p.into())?;
        let c = run.report(n, vole.expand())?;
        // 5. F(x) [malicious: once w_s is opened].
        let decoded = keys.decode(run, c)?;
        for function in functions.all() {
            let held = (0..n).filter(|item| functions.of(*item) == function).count();
            sink.begin(function.into(), held);
        }
        let with = &Hashing { run, hashes, items, w: coins.share.w(ctx.channel)? };
        let values = M::in_order(decoded);
        let proofs = M::proofs(with, &values);
        values.hashed::<M, V>(with, n, |_, outputs, order| {
            for function in functions.all() {
                let held = |item: &u32| functions.of(*item as usize) == function;
                sink.put(function.into(), outputs, |index| Some(order.item(index)).filter(held));
            }
        })?;
        Ok(proofs)
    }
}

impl<M: Model<V>, V: FieldElement> OprfSender for Oprf<'_, M, V> {
    type Proofs = M::Proofs;

    fn evaluate_all(
        self,
        items: &Items,
        position: impl Fn(usize) -> u32,
        channel: &mut dyn Channel,
        sink: &mut impl EvaluationSink,
    ) -> Result<Self::Proofs, Error> {
        let Self { run, setup, functions, rng, .. } = self;
        let (ctx, n, theirs) = (&mut Ctx::new(run, channel, rng), items.len(), run.sizes.receiver);
        let all = n * functions.all().len();
        // Progress in keys: mine hashed and sorted, the partner's answered.
        run.phase(Phase::Blind, 2 * all + theirs);
        // [Malicious: my commitments, the receiver's coin, my coin opened.]
        let coins = M::SenderShare::toss(ctx, setup.limit)?;
        let hashes = &Hashes::new(&coins.context);
        let vole = vole::open(&coins.context, setup.plan.base_ots(), ctx.channel, ctx.rng)?;
        // 1. H(y), H_B(y), while the receiver answers.
        let hashed = functions
            .all()
            .map(|function| hashes.keys_and_values_under::<V>(run, items, |_| functions.hashed(function)));
        let hashed = hashed.collect::<Result<Vec<_>, _>>()?;
        let (vole, corrections) = vole::receive_flight2::<V, M>(vole, &setup.plan, ctx.channel)?;
        // 3. My keys in the order of the store, while the receiver fills it; before there is memory for B,
        //    which step 2 already takes if there are many slots.
        let store =
            Store::new(M::SECURITY, theirs, ctx.run.parameters.statistical, coins.recv_seed(ctx.channel)?)?;
        let keys = hashed.into_iter().map(|hashed| store.sort(run, hashed)).collect::<Result<Vec<_>, _>>()?;
        // 2. Δ, B: flight 3 [malicious: and my answer to the receiver's challenge].
        let vole = vole::respond::<V, M>(vole, &setup.plan, &corrections, ctx.channel, ctx.rng)?;
        let vole = run.report(theirs, vole)?;
        run.phase(Phase::Answer, 2 * theirs + all);
        let Expanded { delta, b } = run.report(theirs, vole.expand())?;
        // 4. B' = B ⊕ Δ·A' [malicious: w_r comes behind A'; w_s is opened].
        let b = V::recv_products(b, *delta, ctx.channel, run)?;
        let w = coins.share.w(ctx.channel)?;
        // 5. F(y), from Decode(B', y) ⊕ Δ·H_B(y).
        let decoded = keys.into_iter().map(|keys| keys.decode_and_add(run, &b, *delta));
        let decoded = decoded.collect::<Result<Vec<_>, _>>()?;
        drop(b);
        let decoded: Vec<_> = decoded.into_iter().map(M::in_order).collect();
        let with = &Hashing { run, hashes, items, w };
        // A run that keeps values has one function.
        let none = Values::of_items(Wiped::default());
        let proofs = M::proofs(with, decoded.first().unwrap_or(&none));
        for (function, values) in decoded.into_iter().enumerate() {
            sink.begin(function, n);
            values.hashed::<M, V>(with, SEGMENT, |range, outputs, order| {
                sink.put(range.map(|index| position(order.item(index) as usize)), outputs);
            })?;
            sink.complete(ctx.channel.split().0)?;
        }
        Ok(proofs)
    }
}
