//! The side that has Δ and gets B.

use std::sync::{Mutex, PoisonError};

use vesica_crypto::block::Block;
use vesica_crypto::gf128::{self, Gf128};
use vesica_crypto::hash::Context;
use vesica_crypto::memory::{Wiped, wipe};
use vesica_crypto::prg::Prg;
use vesica_crypto::weighted_xor_sum::BLOCKS;
use zeroize::Zeroize;

use super::check;
use super::codes::{Code, Intake};
use super::pieces::{compressed, compressed_kept, compressed_last, grown};
use super::plan::{AnyCode, Plan, WIDTH};
use super::trees::Forest;
use super::value::Value;
use crate::CotSender;
use crate::Error;
use crate::security::Security;
use crate::softspoken;

/// The sender after the receiver's message.
pub struct Sender {
    plan: Plan,
    context: Context,
    delta: Block,
    /// In malicious runs the noise of each piece until it is compressed.
    pub(super) noise: Vec<Vec<Block>>,
    /// The code, where it is made already.
    code: Option<AnyCode>,
    /// What the code has taken in of the only piece of a semi-honest run.
    taken: Vec<Block>,
    /// The outputs, where they are made at once.
    outputs: Vec<Block>,
    /// The sender's share of the VOLE that the check uses up.
    spare: Vec<Block>,
}

impl Sender {
    /// Grows the trees; `base` are the strings of 128 base OTs whose choices were the bits of `delta`, `message` is that
    /// of [`Receiver::new`](super::Receiver::new) over the same values. The sender's message is returned beside it.
    ///
    /// # Errors
    /// If the message has another length than it must, or (malicious security) fails a check.
    ///
    /// # Panics
    /// If there are not 128 base OTs, or the plan is malicious and no check covers values of this kind.
    pub fn new<V: Value>(
        context: &Context,
        plan: &Plan,
        delta: Block,
        base: &[Block],
        message: &[u8],
        rng: &mut dyn rand_core::CryptoRng,
    ) -> Result<(Self, Vec<u8>), Error> {
        Self::with_code::<V>(context, plan, None, (delta, base), message, rng)
    }

    /// The same with a code that was made before.
    pub(super) fn with_code<V: Value>(
        context: &Context,
        plan: &Plan,
        code: Option<AnyCode>,
        (delta, base): (Block, &[Block]),
        message: &[u8],
        rng: &mut dyn rand_core::CryptoRng,
    ) -> Result<(Self, Vec<u8>), Error> {
        assert!(V::CHECKED || plan.security() == Security::SemiHonest, "a check covers the values");
        let Correlations { offsets, gammas, spare } =
            Correlations::new::<V>(context, plan, delta, base, message)?;
        let mut sender = Self {
            plan: plan.clone(),
            context: context.clone(),
            delta,
            noise: Vec::new(),
            code,
            taken: Vec::new(),
            outputs: Vec::new(),
            spare: spare.into_vec(),
        };
        let mut message = Vec::new();
        if plan.pieces() == 0 {
            sender.outputs = gammas.into_vec();
        } else {
            message = sender.grow(&offsets, &gammas, rng);
        }
        Ok((sender, message))
    }

    /// Δ.
    #[must_use]
    pub fn delta(&self) -> Block {
        self.delta
    }

    /// In malicious runs: the reply to [`Receiver::challenge`](super::Receiver::challenge), once.
    ///
    /// # Errors
    /// If the challenge has another length than it must.
    pub fn reply(&mut self, challenge: &[u8]) -> Result<Vec<u8>, Error> {
        if challenge.len() != self.plan.challenge_bytes() {
            return Err(Error::MessageLength { what: "challenge of the check of a VOLE" });
        }
        let ([seed, hidden], Some(share)) = (challenge.as_chunks::<16>().0, self.spare.pop()) else {
            return Ok(Vec::new());
        };
        let length = self.plan.noise();
        let hidden = Gf128::from(Block::from_bytes(*hidden));
        let mut sum = Gf128::from(share) + Gf128::from(self.delta) * hidden;
        for (piece, noise) in self.noise.iter().enumerate() {
            let coefficients = check::coefficients(Block::from_bytes(*seed), piece, length);
            sum += gf128::inner_product(&coefficients, noise);
        }
        Ok(check::hash(&self.context, sum.to_block()).to_vec())
    }

    /// B. In malicious runs the receiver's challenge must have been replied to before.
    #[must_use]
    pub fn finish(mut self) -> Vec<Block> {
        let code = self.code.take().filter(|_| self.outputs.is_empty());
        let Some(code) = code else { return core::mem::take(&mut self.outputs) };
        let room = [core::mem::take(&mut self.taken), Vec::new()];
        if self.noise.is_empty() {
            compressed_last(&self.plan, &code, room, |_, _, _| {})
        } else {
            compressed_kept(&self.plan, &code, room, core::mem::take(&mut self.noise))
        }
    }

    /// The leaves of all trees, and the message. The pieces of a long vector are compressed at once, since nothing checks
    /// their noise in a semi-honest run; of one piece the message should be on its way first.
    fn grow(
        &mut self,
        offsets: &[[Block; 1]],
        gammas: &[Block],
        rng: &mut dyn rand_core::CryptoRng,
    ) -> Vec<u8> {
        let plan = &self.plan;
        let mut prg = Prg::from_rng(rng);
        let mut roots: Vec<Block> = (0..plan.pieces() * plan.weight()).map(|_| prg.block()).collect();
        let grower = Grower {
            plan,
            forest: Forest::new(&self.context),
            delta: self.delta,
            offsets,
            gammas,
            roots: &roots,
        };
        let each = plan.sender_bytes() / Block::BYTES / plan.pieces();
        let mut words = vec![Block::ZERO; each * plan.pieces()];
        let code = self.code.take().unwrap_or_else(|| plan.code(&self.context));
        if plan.security() == Security::Malicious {
            for (piece, words) in words.chunks_mut(each).enumerate() {
                let mut noise = Vec::new();
                grower.grow(plan.threads(), piece, words, &mut Intake::whole(&mut noise, plan.noise()));
                self.noise.push(noise);
            }
        } else if plan.pieces() == 1 {
            grower.grow(plan.threads(), 0, &mut words, &mut code.intake(&mut self.taken));
        } else {
            let slots: Vec<Mutex<&mut [Block]>> = words.chunks_mut(each).map(Mutex::new).collect();
            let mut room = Default::default();
            self.outputs = compressed(plan, &code, &mut room, |threads, piece, [room, _]| {
                let mut words = slots[piece].lock().unwrap_or_else(PoisonError::into_inner);
                grower.grow(threads, piece, &mut words, &mut code.intake(room));
            });
            room.iter_mut().for_each(wipe);
        }
        self.code = Some(code);
        roots.zeroize();
        Block::slice_as_bytes(&words).to_vec()
    }
}

/// The sender's side of what the trees are made of.
pub(super) struct Correlations {
    /// q of the correlated OTs.
    pub(super) offsets: Wiped<[Block; 1]>,
    /// γ of each noise value, or of each output.
    pub(super) gammas: Wiped<Block>,
    pub(super) spare: Wiped<Block>,
}

impl Correlations {
    /// From the receiver's message, held to its length and, against malicious ones, its checks.
    pub(super) fn new<V: Value>(
        context: &Context,
        plan: &Plan,
        delta: Block,
        base: &[Block],
        message: &[u8],
    ) -> Result<Self, Error> {
        if message.len() != plan.receiver_bytes::<V>() {
            return Err(Error::MessageLength { what: "corrections of a VOLE" });
        }
        let (setup, mut corrections) =
            message.split_at(crate::small_field::message_bytes(WIDTH, plan.security()));
        let mut field = softspoken::Sender::new(context, WIDTH, plan.security(), delta, base, setup)?;
        let mut offsets = Wiped::from(vec![[Block::ZERO]; plan.choices()]);
        field.extend_from(true, &mut offsets, |bytes| {
            let (now, later) = corrections.split_at(bytes.len());
            bytes.copy_from_slice(now);
            corrections = later;
            Ok(())
        })?;
        let gammas = gammas::<V>(plan, &mut field, &mut corrections)?;
        let spare = draw::<Block>(plan.spare(), &mut field, &mut corrections)?;
        Ok(Self { offsets, gammas, spare })
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.delta.zeroize();
        self.noise.iter_mut().chain([&mut self.taken, &mut self.outputs]).for_each(wipe);
        self.spare.zeroize();
    }
}

/// γ of each value; Δ where there is but one value, whose VOLE is γ = Δ, δ = 0.
fn gammas<V: Value>(
    plan: &Plan,
    field: &mut softspoken::Sender,
    corrections: &mut &[u8],
) -> Result<Wiped<Block>, Error> {
    if plan.pieces() > 0 && V::ONLY.is_some() {
        return Ok(vec![field.delta()[0]; plan.values()].into());
    }
    let mut gammas = draw::<V>(plan.places::<V>(), field, corrections)?;
    gammas.truncate(plan.values());
    Ok(gammas)
}

/// The sender's shares of random values times Δ, from so many blocks of columns.
fn draw<V: Value>(
    mut left: usize,
    field: &mut softspoken::Sender,
    corrections: &mut &[u8],
) -> Result<Wiped<Block>, Error> {
    // Room for all of them: what grows leaves copies behind.
    let mut shares = Wiped::from(Vec::with_capacity(left * Block::BITS / V::COLUMNS));
    while left > 0 {
        let places = left.min(field.chunk_places());
        let (now, later) = corrections.split_at(field.chunk_bytes(places, false));
        for (i, tile) in field.chunk(places, false, now)?.iter().take(places.div_ceil(BLOCKS)).enumerate() {
            V::correlations(tile, &[], (places - i * BLOCKS).min(BLOCKS), &mut Vec::new(), &mut shares);
        }
        (*corrections, left) = (later, left - places);
    }
    Ok(shares)
}

/// What the trees of a run are grown from.
struct Grower<'a> {
    plan: &'a Plan,
    forest: Forest,
    delta: Block,
    offsets: &'a [[Block; 1]],
    gammas: &'a [Block],
    roots: &'a [Block],
}

impl Grower<'_> {
    /// Takes in the leaves of the trees of a piece, and makes its words.
    fn grow(&self, threads: usize, piece: usize, words: &mut [Block], intake: &mut Intake<'_, Block>) {
        let mut rest = words;
        let slots = self.plan.trees(piece).map(|tree| {
            let (own, others) = core::mem::take(&mut rest).split_at_mut(tree.words.len());
            rest = others;
            own
        });
        grown(self.plan, threads, piece, slots, intake, |tree, words, leaves| {
            let (offsets, index) = (&self.offsets[tree.choices.clone()], tree.choices.start as u64);
            let own = (self.roots[tree.number], self.gammas[tree.number]);
            let mut made = Vec::with_capacity(words.len());
            self.forest.grow(index, (offsets, self.delta), own, leaves, &mut made);
            words.copy_from_slice(&made);
        });
    }
}
