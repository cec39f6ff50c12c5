//! The side that gets A and C.

use rand_core::CryptoRng;
use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_crypto::memory::large_vec;
use zeroize::Zeroize;

use super::plan::{AnyCode, Plan, WIDTH};
use super::trees::{Forest, complete};
use super::value::Value;
use crate::Error;
use crate::pprf::levels;
use crate::softspoken;

/// The receiver between its message and the sender's.
pub struct Receiver<V: Value> {
    plan: Plan,
    context: Context,
    /// α of each block of each piece.
    paths: Vec<usize>,
    /// t of the correlated OTs.
    known: Vec<[Block; 1]>,
    /// β and δ of each block of each piece, or of each output.
    values: Vec<V>,
    deltas: Vec<Block>,
    code: Option<AnyCode>,
    /// Noise, and room to compress it: fresh memory costs as much as a pass over it.
    workspace: [Vec<Block>; 2],
}

impl<V: Value> Receiver<V> {
    /// Draws the noise; `base` are both strings of 128 base OTs, in which the sender's choices were the bits of Δ. The
    /// message is for [`Sender::new`](super::Sender::new).
    ///
    /// # Panics
    /// If there are not 128 base OTs.
    #[must_use]
    pub fn new(
        context: &Context,
        plan: &Plan,
        base: &[[Block; 2]],
        rng: &mut dyn CryptoRng,
    ) -> (Self, Vec<u8>) {
        let (mut field, mut message) = softspoken::Receiver::new(context, WIDTH, plan.security(), base, rng);
        message.reserve(plan.receiver_bytes::<V>());
        let mut paths = Vec::with_capacity(plan.pieces() * plan.weight());
        // A bit for each level of each path: the side that it does not take.
        let mut choices = Bits::default();
        for _ in 0..plan.pieces() {
            for block in plan.blocks() {
                let path = below(block.len(), rng);
                (0..levels(block.len())).for_each(|level| choices.push(path >> level & 1 == 0));
                paths.push(path);
            }
        }
        let mut known = vec![[Block::ZERO]; choices.count];
        let kept = field.extend_to(true, &mut choices.bytes, &mut known, |bytes| {
            message.extend_from_slice(bytes);
            Ok(())
        });
        debug_assert!(kept.is_ok(), "a message in memory");
        choices.bytes.zeroize();
        let (values, deltas) = draw_values(plan, &mut field, &mut message);
        (
            Self {
                plan: plan.clone(),
                context: context.clone(),
                paths,
                known,
                values,
                deltas,
                code: None,
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

    /// C, from the sender's message.
    ///
    /// # Errors
    /// If the message has another length than it must.
    pub fn finish(mut self, message: &[u8]) -> Result<Vec<Block>, Error> {
        if message.len() != self.plan.sender_bytes() {
            return Err(Error::MessageLength { what: "words of the trees of a VOLE" });
        }
        if self.plan.pieces() == 0 {
            return Ok(core::mem::take(&mut self.deltas));
        }
        let code = self.code.take().unwrap_or_else(|| self.plan.code(&self.context));
        let forest = Forest::new(&self.context, self.plan.shape());
        let mut words = message.as_chunks::<16>().0.iter().map(|bytes| Block::from_bytes(*bytes));
        let mut out = Vec::with_capacity(self.plan.length() + self.plan.pieces());
        let [mut noise, mut scratch] = core::mem::take(&mut self.workspace);
        if noise.is_empty() {
            noise = large_vec(Block::ZERO, self.plan.noise());
        }
        let (mut tree, mut index) = (0, 0);
        for _ in 0..self.plan.pieces() {
            for block in self.plan.blocks() {
                let (leaves, path) = (&mut noise[block], self.paths[tree]);
                let height = levels(leaves.len());
                let tree_words: Vec<Block> = words.by_ref().take(self.plan.words(leaves.len())).collect();
                let known = &self.known[index..index + height];
                forest.grow_punctured(index as u64, known, path, &tree_words, leaves);
                complete(leaves, path, self.deltas[tree], words.next().unwrap_or(Block::ZERO));
                (tree, index) = (tree + 1, index + height);
            }
            code.compress(&mut noise, &mut scratch, &mut out);
        }
        noise.zeroize();
        scratch.zeroize();
        out.truncate(self.plan.length());
        Ok(out)
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
    }
}

/// The VOLEs of the noise values: random β, and δ.
fn draw_values<V: Value>(
    plan: &Plan,
    field: &mut softspoken::Receiver,
    message: &mut Vec<u8>,
) -> (Vec<V>, Vec<Block>) {
    let places = plan.places::<V>();
    let (mut values, mut deltas) = (Vec::with_capacity(places * 2), Vec::with_capacity(places * 2));
    let mut strings = vec![Block::ZERO; places];
    for strings in strings.chunks_mut(field.chunk_places()) {
        let tiles = field.chunk(strings, false, message);
        for (i, string) in strings.iter().enumerate() {
            for lane in 0..V::PER_BLOCK {
                values.push(V::of(*string, lane));
                deltas.push(V::weighted(&tiles[i / 8], i % 8, lane));
            }
        }
    }
    strings.zeroize();
    values.truncate(plan.values());
    deltas.truncate(plan.values());
    (values, deltas)
}

/// A uniformly random number below `bound`: words above the largest multiple are drawn again.
fn below(bound: usize, rng: &mut dyn CryptoRng) -> usize {
    let bound = bound as u64;
    loop {
        let word = rng.next_u64();
        let number = word % bound;
        if word - number <= u64::MAX - (bound - 1) {
            return number as usize;
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
