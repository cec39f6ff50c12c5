//! The side that gets A and C.

use rand_core::CryptoRng;
use subtle::ConstantTimeEq;
use vesica_crypto::block::Block;
use vesica_crypto::gf128;
use vesica_crypto::hash::Context;
use vesica_crypto::memory::wipe;
use vesica_crypto::weighted_xor_sum::BLOCKS;
use zeroize::Zeroize;

use super::check::{self, block_at};
use super::codes::{Code, Intake};
use super::pieces::{compressed, compressed_kept, compressed_last, grown};
use super::plan::{AnyCode, HASH, Plan, WIDTH};
use super::trees::Forest;
use super::value::Value;
use crate::Error;
use crate::pprf::levels;
use crate::security::Security;
use crate::softspoken;

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
    /// What the reply to the challenge must be, and whether it was.
    pub(super) expected: [u8; HASH],
    pub(super) confirmed: bool,
    /// The sender's message in a semi-honest run, once it is in.
    words: Option<Vec<u8>>,
    /// In malicious runs the noise of each piece, once it is known.
    pub(super) noise: Vec<Vec<Block>>,
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
                plan: plan.clone(),
                context: context.clone(),
                paths,
                known,
                values,
                deltas,
                code: None,
                spare,
                expected: [0; HASH],
                confirmed: false,
                words: None,
                noise: Vec::new(),
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
        let code = self.code.take().unwrap_or_else(|| self.plan.code(&self.context));
        let (mut rooms, mut own) = (core::mem::take(&mut self.workspace), Default::default());
        let room = V::workspace(&mut rooms, &mut own);
        let out = compressed(&self.plan, &code, room, |_, piece, [room, _]| {
            let (mut intake, mut block) = (code.intake(room), Vec::new());
            for tree in self.plan.trees(piece) {
                block.clear();
                block.resize(tree.leaves, V::default());
                V::put_at(&mut block, self.paths[tree.number], self.values[tree.number]);
                intake.push(&block);
            }
            wipe(&mut block);
        });
        own.iter_mut().for_each(wipe);
        self.workspace = rooms;
        self.code = Some(code);
        out
    }

    /// Takes the sender's message in a semi-honest run: its last one.
    ///
    /// # Errors
    /// If the message has another length than it must.
    ///
    /// # Panics
    /// If the run is malicious: [`challenge`](Self::challenge) and [`confirm`](Self::confirm) are for that.
    pub fn accept(&mut self, message: Vec<u8>) -> Result<(), Error> {
        assert!(self.plan.security() == Security::SemiHonest, "nothing unchecked leaves a malicious run");
        self.check_length(&message)?;
        self.words = Some(message);
        Ok(())
    }

    /// C, after [`accept`](Self::accept), or after [`confirm`](Self::confirm) in a malicious run.
    ///
    /// # Panics
    /// If that has not been done.
    #[must_use]
    pub fn finish(mut self) -> Vec<Block> {
        let message = self.words.take();
        assert!(message.is_some() || self.confirmed, "the sender's last message");
        if self.plan.pieces() == 0 {
            return core::mem::take(&mut self.deltas);
        }
        let code = self.code.take().unwrap_or_else(|| self.plan.code(&self.context));
        let room = core::mem::take(&mut self.workspace);
        match &message {
            Some(words) => compressed_last(&self.plan, &code, room, |threads, piece, [room, _]| {
                self.grow(threads, piece, words, &mut code.intake(room));
            }),
            None => compressed_kept(&self.plan, &code, room, core::mem::take(&mut self.noise)),
        }
    }

    /// In a malicious run: takes the sender's message, and returns the challenge for
    /// [`Sender::reply`](super::Sender::reply).
    ///
    /// # Errors
    /// If the message has another length than it must.
    pub fn challenge(&mut self, message: &[u8], rng: &mut dyn CryptoRng) -> Result<Vec<u8>, Error> {
        self.check_length(message)?;
        self.noise = vec![Vec::new(); self.plan.pieces()];
        for piece in 0..self.plan.pieces() {
            let mut noise = if piece == 0 { core::mem::take(&mut self.workspace[0]) } else { Vec::new() };
            let intake = &mut Intake::whole(&mut noise, self.plan.noise());
            self.grow(self.plan.threads(), piece, message, intake);
            self.noise[piece] = noise;
        }
        let Some((spare, share)) = self.spare.pop() else { return Ok(Vec::new()) };
        let (seed, length) = (Block::random(rng), self.plan.noise());
        let (mut hidden, mut sum) = (spare, share);
        for (piece, noise) in self.noise.iter().enumerate() {
            let coefficients = check::coefficients(seed, piece, length);
            sum ^= gf128::inner_product(&coefficients, noise).to_block();
            let trees = piece * self.plan.weight()..(piece + 1) * self.plan.weight();
            for (tree, block) in trees.zip(self.plan.blocks()) {
                hidden ^= self.values[tree].times(block_at(&coefficients[block], self.paths[tree]));
            }
        }
        self.expected = check::hash(&self.context, sum);
        Ok([seed.to_bytes(), hidden.to_bytes()].concat())
    }

    /// Takes the sender's reply to the [`challenge`](Self::challenge): its last message.
    ///
    /// # Errors
    /// If the reply does not fit: the trees were not those of one function.
    ///
    /// # Panics
    /// If the challenge was not asked for.
    pub fn confirm(&mut self, reply: &[u8]) -> Result<(), Error> {
        if reply.len() != self.plan.reply_bytes() {
            return Err(Error::MessageLength { what: "reply to the check of a VOLE" });
        }
        assert!(self.spare.is_empty(), "a challenge before its reply");
        if !reply.is_empty() && !bool::from(self.expected.as_slice().ct_eq(reply)) {
            return Err(Error::Inconsistent);
        }
        self.confirmed = true;
        Ok(())
    }

    fn check_length(&self, message: &[u8]) -> Result<(), Error> {
        if message.len() == self.plan.sender_bytes() {
            Ok(())
        } else {
            Err(Error::MessageLength { what: "words of the trees of a VOLE" })
        }
    }

    /// Takes in the leaves of the trees of a piece.
    fn grow(&self, threads: usize, piece: usize, message: &[u8], intake: &mut Intake<'_, Block>) {
        let plan = &self.plan;
        let forest = Forest::new(&self.context);
        let words =
            &message.as_chunks::<16>().0[piece * plan.sender_bytes() / Block::BYTES / plan.pieces()..];
        let words = plan.trees(piece).map(|tree| &words[tree.words]);
        grown(plan, threads, piece, words, intake, |tree, words, leaves| {
            let (known, path) = (&self.known[tree.choices.clone()], self.paths[tree.number]);
            let words: Vec<Block> = words.iter().map(|bytes| Block::from_bytes(*bytes)).collect();
            let hole = (path, self.deltas[tree.number]);
            forest.grow_punctured(tree.choices.start as u64, known, hole, &words, leaves);
        });
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
        self.noise.iter_mut().chain(&mut self.workspace).for_each(wipe);
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
    // Room for all of them: what grows leaves copies behind.
    let count = places * Block::BITS / V::COLUMNS;
    let (mut values, mut shares) = (Vec::with_capacity(count), Vec::with_capacity(count));
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
