//! The side that has Δ and gets B.

use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_crypto::memory::large_vec;
use vesica_crypto::prg::Prg;
use zeroize::Zeroize;

use super::plan::{Plan, WIDTH};
use super::trees::{Forest, completion};
use super::value::Value;
use crate::Error;
use crate::pprf::{Shape, levels};
use crate::softspoken;

/// The sender after the receiver's message.
pub struct Sender {
    plan: Plan,
    context: Context,
    delta: Block,
    /// The noise of all pieces, or the outputs.
    noise: Vec<Block>,
}

impl Sender {
    /// Grows the trees; `base` are the strings of 128 base OTs whose choices were the bits of `delta`, `message` is that
    /// of [`Receiver::new`](super::Receiver::new) over the same values. The sender's message is returned beside it.
    ///
    /// # Errors
    /// If the message has another length than it must, or (malicious security) fails a check.
    ///
    /// # Panics
    /// If there are not 128 base OTs.
    pub fn new<V: Value>(
        context: &Context,
        plan: &Plan,
        delta: Block,
        base: &[Block],
        message: &[u8],
        rng: &mut dyn rand_core::CryptoRng,
    ) -> Result<(Self, Vec<u8>), Error> {
        if message.len() != plan.receiver_bytes::<V>() {
            return Err(Error::MessageLength { what: "corrections of a VOLE" });
        }
        let (setup, corrections) =
            message.split_at(crate::small_field::message_bytes(WIDTH, plan.security()));
        let mut field = softspoken::Sender::new(context, WIDTH, plan.security(), delta, base, setup)?;
        let mut corrections = corrections;
        let mut offsets = vec![[Block::ZERO]; plan.choices()];
        field.extend_from(true, &mut offsets, |bytes| {
            let (now, later) = corrections.split_at(bytes.len());
            bytes.copy_from_slice(now);
            corrections = later;
            Ok(())
        })?;
        let mut gammas = values::<V>(plan, &mut field, corrections)?;
        let (noise, message) = if plan.pieces() == 0 {
            (core::mem::take(&mut gammas), Vec::new())
        } else {
            grow(context, plan, delta, &offsets, &gammas, rng)
        };
        offsets.as_flattened_mut().zeroize();
        gammas.zeroize();
        Ok((Self { plan: plan.clone(), context: context.clone(), delta, noise }, message))
    }

    /// Δ.
    #[must_use]
    pub fn delta(&self) -> Block {
        self.delta
    }

    /// B.
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

impl Drop for Sender {
    fn drop(&mut self) {
        self.delta.zeroize();
        self.noise.zeroize();
    }
}

/// γ of each value.
fn values<V: Value>(
    plan: &Plan,
    field: &mut softspoken::Sender,
    mut corrections: &[u8],
) -> Result<Vec<Block>, Error> {
    let mut left = plan.places::<V>();
    let mut gammas = Vec::with_capacity(left * V::PER_BLOCK);
    while left > 0 {
        let places = left.min(field.chunk_places());
        let (now, later) = corrections.split_at(field.chunk_bytes(places, false));
        let tiles = field.chunk(places, false, now)?;
        for i in 0..places {
            gammas.extend((0..V::PER_BLOCK).map(|lane| V::weighted(&tiles[i / 8], i % 8, lane)));
        }
        (corrections, left) = (later, left - places);
    }
    gammas.truncate(plan.values());
    Ok(gammas)
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
