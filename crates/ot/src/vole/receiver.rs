//! The side that gets A and C.

use rand_core::CryptoRng;
use subtle::ConstantTimeEq;
use vesica_crypto::block::Block;
use vesica_crypto::fold::BLOCKS;
use vesica_crypto::gf128;
use vesica_crypto::hash::Context;
use vesica_crypto::memory::large_vec;
use zeroize::Zeroize;

use super::check::{self, block_at};
use super::plan::{AnyCode, HASH, Plan, WIDTH};
use super::trees::{Forest, complete};
use super::value::Value;
use crate::Error;
use crate::pprf::levels;
use crate::softspoken::{self, Security};

/// The receiver between its message and the sender's.
pub struct Receiver<V: Value> {
    pub(super) plan: Plan,
    pub(super) context: Context,
    /// α of each block of each piece.
    pub(super) paths: Vec<usize>,
    /// t of the correlated OTs.
    pub(super) known: Vec<[Block; 1]>,
    /// β and δ of each block of each piece, or of each output.
    pub(super) values: Vec<V>,
    pub(super) deltas: Vec<Block>,
    code: Option<AnyCode>,
    /// The VOLE that the check uses up: its value and the receiver's share.
    spare: Vec<(Block, Block)>,
    /// What the reply to the challenge must be.
    pub(super) expected: [u8; HASH],
    /// Noise, and room to compress it: fresh memory costs as much as a pass over it.
    workspace: [Vec<Block>; 2],
}

impl<V: Value> Receiver<V> {
    /// Draws the noise; `base` are both strings of 128 base OTs, in which the sender's choices were the bits of Δ. The
    /// message is for [`Sender::new`](super::Sender::new).
    ///
    /// # Panics
    /// If there are not 128 base OTs, or the plan is malicious and no check covers values of this kind.
    #[must_use]
    pub fn new(
        context: &Context,
        plan: &Plan,
        base: &[[Block; 2]],
        rng: &mut dyn CryptoRng,
    ) -> (Self, Vec<u8>) {
        let start = softspoken::Receiver::new(context, WIDTH, plan.security(), base, rng);
        let paths = Self::draw_paths(plan, rng);
        Self::with_paths(context, plan, start, paths)
    }

    /// A uniform place in each block of each piece.
    pub(super) fn draw_paths(plan: &Plan, rng: &mut dyn CryptoRng) -> Vec<usize> {
        let mut paths = Vec::with_capacity(plan.pieces() * plan.weight());
        for _ in 0..plan.pieces() {
            paths.extend(plan.blocks().map(|block| below(block.len(), rng)));
        }
        paths
    }

    /// From the extension, its message, and α of each block of each piece.
    pub(super) fn with_paths(
        context: &Context,
        plan: &Plan,
        (mut field, mut message): (softspoken::Receiver, Vec<u8>),
        paths: Vec<usize>,
    ) -> (Self, Vec<u8>) {
        message.reserve(plan.receiver_bytes::<V>());
        // A bit for each level of each path: the side that it does not take.
        let mut choices = Bits::default();
        for (block, path) in plan.blocks().cycle().zip(&paths) {
            (0..levels(block.len())).for_each(|level| choices.push(path >> level & 1 == 0));
        }
        let mut known = vec![[Block::ZERO]; choices.count];
        let kept = field.extend_to(true, &mut choices.bytes, &mut known, |bytes| {
            message.extend_from_slice(bytes);
            Ok(())
        });
        debug_assert!(kept.is_ok(), "a message in memory");
        choices.bytes.zeroize();
        let (values, deltas) = draw_values(plan, &mut field, &mut message);
        let (spare, shares) = draw::<Block>(plan.spare(), &mut field, &mut message);
        let spare = spare.into_iter().zip(shares).collect();
        (
            Self {
                plan: plan.over::<V>(),
                context: context.clone(),
                paths,
                known,
                values,
                deltas,
                code: None,
                spare,
                expected: [0; HASH],
                workspace: Default::default(),
            },
            message,
        )
    }

    /// A. It can be asked for before the sender's message.
    ///
    /// In malicious runs nothing that depends on it may be sent before [`finish`](Self::finish) has accepted that message.
    #[must_use]
    pub fn values(&mut self) -> Vec<V> {
        if self.plan.pieces() == 0 {
            return self.values.clone();
        }
        let mut out = Vec::with_capacity(self.plan.length() + self.plan.pieces());
        let code = self.code.take().unwrap_or_else(|| self.plan.code(&self.context));
        let mut own = Default::default();
        let [noise, scratch] = V::workspace(&mut self.workspace, &mut own);
        *noise = large_vec(V::default(), self.plan.noise());
        let weight = self.plan.weight();
        for (piece, (paths, values)) in self.paths.chunks(weight).zip(self.values.chunks(weight)).enumerate()
        {
            if piece > 0 {
                noise.fill(V::default());
            }
            for ((block, path), value) in self.plan.blocks().zip(paths).zip(values) {
                V::put_at(&mut noise[block], *path, *value);
            }
            code.compress(noise, scratch, &mut out);
        }
        own.zeroize();
        out.truncate(self.plan.length());
        self.code = Some(code);
        out
    }

    /// C, from the sender's message, in a semi-honest run.
    ///
    /// # Errors
    /// If the message has another length than it must.
    ///
    /// # Panics
    /// If the run is malicious: [`challenge`](Self::challenge) and [`confirm`](Self::confirm) are for that.
    pub fn finish(mut self, message: &[u8]) -> Result<Vec<Block>, Error> {
        assert!(self.plan.security() == Security::SemiHonest, "nothing unchecked leaves a malicious run");
        let mut words = self.words(message)?;
        let mut noise = self.room(self.plan.noise());
        let c = self.compressed(&mut noise, Some(&mut words));
        noise.zeroize();
        Ok(c)
    }

    /// In a malicious run: takes the sender's message, and returns the challenge for
    /// [`Sender::reply`](super::Sender::reply).
    ///
    /// # Errors
    /// If the message has another length than it must.
    pub fn challenge(&mut self, message: &[u8], rng: &mut dyn CryptoRng) -> Result<Vec<u8>, Error> {
        let mut words = self.words(message)?;
        let Some((spare, share)) = self.spare.pop() else { return Ok(Vec::new()) };
        let (seed, length) = (Block::random(rng), self.plan.noise());
        let mut noise = self.room(self.plan.pieces() * length);
        let (mut hidden, mut sum) = (spare, share);
        for (piece, noise) in noise.chunks_mut(length).enumerate() {
            self.grow(piece, &mut words, noise);
            let coefficients = check::coefficients(seed, piece, length);
            sum ^= gf128::inner_product(&coefficients, noise).to_block();
            let trees = piece * self.plan.weight()..(piece + 1) * self.plan.weight();
            for (tree, block) in trees.zip(self.plan.blocks()) {
                hidden ^= self.values[tree].times(block_at(&coefficients[block], self.paths[tree]));
            }
        }
        self.workspace[0] = noise;
        self.expected = check::hash(&self.context, sum);
        Ok([seed.to_bytes(), hidden.to_bytes()].concat())
    }

    /// C, after the sender's reply to the [`challenge`](Self::challenge).
    ///
    /// # Errors
    /// If the reply does not fit: the trees were not those of one function.
    ///
    /// # Panics
    /// If the challenge was not asked for.
    pub fn confirm(mut self, reply: &[u8]) -> Result<Vec<Block>, Error> {
        if reply.len() != self.plan.reply_bytes() {
            return Err(Error::MessageLength { what: "reply to the check of a VOLE" });
        }
        assert!(self.spare.is_empty(), "a challenge before its reply");
        if !reply.is_empty() && !bool::from(self.expected.as_slice().ct_eq(reply)) {
            return Err(Error::Inconsistent);
        }
        let mut noise = core::mem::take(&mut self.workspace[0]);
        let c = self.compressed(&mut noise, None);
        noise.zeroize();
        Ok(c)
    }

    fn words<'a>(&self, message: &'a [u8]) -> Result<impl Iterator<Item = Block> + use<'a, V>, Error> {
        if message.len() != self.plan.sender_bytes() {
            return Err(Error::MessageLength { what: "words of the trees of a VOLE" });
        }
        Ok(message.as_chunks::<16>().0.iter().map(|bytes| Block::from_bytes(*bytes)))
    }

    /// Room for noise: that of A, if it is enough.
    fn room(&mut self, length: usize) -> Vec<Block> {
        let room = core::mem::take(&mut self.workspace[0]);
        if room.len() == length { room } else { large_vec(Block::ZERO, length) }
    }

    /// C, from the noise of all pieces; or, with words, each piece's noise being grown in the same place in its turn.
    fn compressed(
        &mut self,
        noise: &mut [Block],
        mut words: Option<&mut dyn Iterator<Item = Block>>,
    ) -> Vec<Block> {
        if self.plan.pieces() == 0 {
            return core::mem::take(&mut self.deltas);
        }
        let code = self.code.take().unwrap_or_else(|| self.plan.code(&self.context));
        let mut out = Vec::with_capacity(self.plan.length() + self.plan.pieces());
        let mut scratch = core::mem::take(&mut self.workspace[1]);
        let length = self.plan.noise();
        for piece in 0..self.plan.pieces() {
            let start = if words.is_some() { 0 } else { piece * length };
            let noise = &mut noise[start..start + length];
            if let Some(words) = words.as_deref_mut() {
                self.grow(piece, words, noise);
            }
            code.compress(noise, &mut scratch, &mut out);
        }
        scratch.zeroize();
        out.truncate(self.plan.length());
        out
    }

    /// Grows the trees of a piece.
    fn grow(&self, piece: usize, mut words: &mut dyn Iterator<Item = Block>, noise: &mut [Block]) {
        let forest = Forest::new(&self.context, self.plan.shape());
        let mut tree = piece * self.plan.weight();
        let mut index = piece * self.known.len() / self.plan.pieces();
        for block in self.plan.blocks() {
            let (leaves, path) = (&mut noise[block], self.paths[tree]);
            let height = levels(leaves.len());
            let tree_words: Vec<Block> = (&mut words).take(self.plan.words(leaves.len())).collect();
            let known = &self.known[index..index + height];
            forest.grow_punctured(index as u64, known, path, &tree_words, leaves);
            complete(leaves, path, self.deltas[tree], words.next().unwrap_or(Block::ZERO));
            (tree, index) = (tree + 1, index + height);
        }
    }

    #[cfg(test)]
    pub(super) fn paths(&self) -> &[usize] {
        &self.paths
    }
}

impl<V: Value> Drop for Receiver<V> {
    fn drop(&mut self) {
        self.paths.zeroize();
        self.known.as_flattened_mut().zeroize();
        self.values.zeroize();
        self.deltas.zeroize();
        self.workspace.zeroize();
        self.spare.iter_mut().for_each(|(value, share)| (*value, *share) = Default::default());
        self.expected.zeroize();
    }
}

/// The VOLEs of the noise values β, and δ. If there is but one value, its VOLE is γ = Δ, δ = 0.
fn draw_values<V: Value>(
    plan: &Plan,
    field: &mut softspoken::Receiver,
    message: &mut Vec<u8>,
) -> (Vec<V>, Vec<Block>) {
    let (mut values, mut deltas) = match V::ONLY {
        Some(only) if plan.pieces() > 0 => (vec![only; plan.values()], vec![Block::ZERO; plan.values()]),
        _ => draw(plan.places::<V>(), field, message),
    };
    values.truncate(plan.values());
    deltas.truncate(plan.values());
    (values, deltas)
}

/// Random values and the receiver's shares of their products with Δ, from so many blocks of columns.
fn draw<V: Value>(
    places: usize,
    field: &mut softspoken::Receiver,
    message: &mut Vec<u8>,
) -> (Vec<V>, Vec<Block>) {
    let (mut values, mut shares) = (Vec::new(), Vec::new());
    let mut strings = vec![Block::ZERO; places];
    for strings in strings.chunks_mut(field.chunk_places()) {
        let tiles = field.chunk(strings, false, message);
        for (tile, strings) in tiles.iter().zip(strings.chunks(BLOCKS)) {
            V::correlations(tile, strings, strings.len(), &mut values, &mut shares);
        }
    }
    strings.zeroize();
    (values, shares)
}

/// A uniformly random number below `bound`, by a product in place of a division, whose time would depend on the number
/// (Lemire, *Fast random integer generation in an interval*, 2019). Words that would make a number too likely are drawn
/// again: that tells of words that are not used.
fn below(bound: usize, rng: &mut dyn CryptoRng) -> usize {
    let bound = bound as u64;
    let surplus = bound.wrapping_neg() % bound;
    loop {
        let product = u128::from(rng.next_u64()) * u128::from(bound);
        if product as u64 >= surplus {
            return (product >> 64) as usize;
        }
    }
}

/// Bits, the least significant of a byte first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    count: usize,
}

impl Bits {
    fn push(&mut self, bit: bool) {
        if self.count.is_multiple_of(8) {
            self.bytes.push(0);
        }
        let last = self.bytes.len() - 1;
        self.bytes[last] |= u8::from(bit) << (self.count % 8);
        self.count += 1;
    }
}
