//! The side that has Δ and gets B.

use vesica_crypto::block::Block;
use vesica_crypto::fold::BLOCKS;
use vesica_crypto::gf128::{self, Gf128};
use vesica_crypto::hash::Context;
use vesica_crypto::memory::large_vec;
use vesica_crypto::prg::Prg;
use zeroize::Zeroize;

use super::check;
use super::plan::{Plan, WIDTH};
use super::trees::{Forest, completion};
use super::value::Value;
use crate::CotSender;
use crate::Error;
use crate::pprf::{Shape, levels};
use crate::softspoken::{self, Security};

/// The sender after the receiver's message.
pub struct Sender {
    plan: Plan,
    context: Context,
    delta: Block,
    /// The noise of all pieces, or the outputs.
    pub(super) noise: Vec<Block>,
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
        assert!(V::CHECKED || plan.security() == Security::SemiHonest, "a check covers the values");
        let Correlations { mut offsets, mut gammas, spare } =
            Correlations::new::<V>(context, plan, delta, base, message)?;
        let (noise, message) = if plan.pieces() == 0 {
            (core::mem::take(&mut gammas), Vec::new())
        } else {
            grow(context, plan, delta, &offsets, &gammas, rng)
        };
        offsets.as_flattened_mut().zeroize();
        gammas.zeroize();
        Ok((Self { plan: plan.over::<V>(), context: context.clone(), delta, noise, spare }, message))
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
        for (piece, noise) in self.noise.chunks(length).enumerate() {
            let coefficients = check::coefficients(Block::from_bytes(*seed), piece, length);
            sum += gf128::inner_product(&coefficients, noise);
        }
        Ok(check::hash(&self.context, sum.to_block()).to_vec())
    }

    /// B. In malicious runs the receiver's challenge must have been replied to before.
    #[must_use]
    pub fn finish(mut self) -> Vec<Block> {
        if self.plan.pieces() == 0 {
            return core::mem::take(&mut self.noise);
        }
        let code = self.plan.code(&self.context);
        let mut out = Vec::with_capacity(self.plan.length() + self.plan.pieces());
        let mut scratch = Vec::new();
        for noise in self.noise.chunks_mut(self.plan.noise()) {
            code.compress(noise, &mut scratch, &mut out);
        }
        scratch.zeroize();
        out.truncate(self.plan.length());
        out
    }
}

/// The sender's side of what the trees are made of.
pub(super) struct Correlations {
    /// q of the correlated OTs.
    pub(super) offsets: Vec<[Block; 1]>,
    /// γ of each noise value, or of each output.
    pub(super) gammas: Vec<Block>,
    pub(super) spare: Vec<Block>,
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
        let mut offsets = vec![[Block::ZERO]; plan.choices()];
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
        self.noise.zeroize();
        self.spare.zeroize();
    }
}

/// γ of each value; Δ where there is but one value, whose VOLE is γ = Δ, δ = 0.
fn gammas<V: Value>(
    plan: &Plan,
    field: &mut softspoken::Sender,
    corrections: &mut &[u8],
) -> Result<Vec<Block>, Error> {
    if plan.pieces() > 0 && V::ONLY.is_some() {
        return Ok(vec![field.delta()[0]; plan.values()]);
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
) -> Result<Vec<Block>, Error> {
    let mut shares = Vec::new();
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

/// The leaves of all trees, and the message.
fn grow(
    context: &Context,
    plan: &Plan,
    delta: Block,
    offsets: &[[Block; 1]],
    gammas: &[Block],
    rng: &mut dyn rand_core::CryptoRng,
) -> (Vec<Block>, Vec<u8>) {
    let forest = Forest::new(context, plan.shape());
    let mut roots = Prg::from_rng(rng);
    let mut noise = large_vec(Block::ZERO, plan.pieces() * plan.noise());
    let mut words = Vec::with_capacity(plan.sender_bytes() / Block::BYTES);
    let (mut tree, mut index) = (0, 0);
    for piece in noise.chunks_mut(plan.noise()) {
        for block in plan.blocks() {
            let leaves = &mut piece[block];
            let height = levels(leaves.len());
            let root = if plan.shape() == Shape::Plain { roots.block() } else { Block::ZERO };
            let offsets = &offsets[index..index + height];
            forest.grow(index as u64, (offsets, delta), root, leaves, &mut words);
            words.push(completion(gammas[tree], leaves));
            (tree, index) = (tree + 1, index + height);
        }
    }
    (noise, Block::slice_as_bytes(&words).to_vec())
}
