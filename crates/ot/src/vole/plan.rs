//! The plan of a VOLE of a given length: its pieces, its noise, and the bytes of its flights.

use core::ops::Range;

use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::prg::Prg;
use vesica_crypto::transpose::ROWS;

use super::codes::accumulate::Accumulate;
use super::codes::random::Random;
use super::codes::{Code, Intake, Sparse, Word};
use super::parameters::{PIECE, STRUCTURED, TWO_ROUNDS};
use super::value::Value;
use crate::base::KeyAgreement;
use crate::pprf;
use crate::security::{Profile, Security};
use crate::softspoken::{self, Choices, Width};

/// Seeds the public code of a run.
const CODE: Label = Label::new("vole: code");

/// Bytes of the hash that the check compares.
pub(super) const HASH: usize = 32;

/// Bits of Δ in one group of the small-field VOLE that everything starts from: the width with the fewest
/// bytes.
pub const WIDTH: Width = Width::Eight;

/// The number of correlated OTs from which on LPN takes fewer bytes than the extension that it starts from.
const SILENT_BITS: usize = 1 << 16;

/// How a VOLE of a given length is made; both sides have the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    length: usize,
    /// Whether the noise is of bits.
    bits: bool,
    weight: usize,
    /// Pieces, and outputs of each. Without LPN there are no pieces.
    pieces: usize,
    outputs: usize,
    base_ots: KeyAgreement,
    /// Local: changes no byte.
    threads: usize,
}

impl Plan {
    /// The plan for `length` outputs.
    #[must_use]
    pub fn new(length: usize, profile: Profile) -> Self {
        Self::of_weight(length, profile.field_weight())
    }

    /// The plan for `length` outputs from so many noise values in each piece.
    pub(super) fn of_weight(length: usize, weight: usize) -> Self {
        // Below, the noise values would be as many as the outputs that they make.
        let pieces = if length <= 2 * weight { 0 } else { length.div_ceil(PIECE) };
        let outputs = length.checked_div(pieces).map_or(0, |_| length.div_ceil(pieces));
        let base_ots = KeyAgreement::default();
        Self { length, bits: false, weight, pieces, outputs, base_ots, threads: 1 }
    }

    /// The plan for `length` correlated OTs, which is a VOLE over values that are a [`Bit`](super::Bit).
    #[must_use]
    pub fn of_bits(length: usize, profile: Profile) -> Self {
        let mut plan = Self { bits: true, weight: profile.binary_weight(), ..Self::new(length, profile) };
        if length < SILENT_BITS {
            (plan.pieces, plan.outputs) = (0, 0);
        }
        plan
    }

    /// This plan in so many pieces, however short they are.
    #[cfg(test)]
    pub(super) fn in_pieces(mut self, pieces: usize) -> Self {
        (self.pieces, self.outputs) = (pieces, self.length.div_ceil(pieces));
        self
    }

    /// The plan of so many of its pieces.
    pub(super) fn of_pieces(&self, pieces: usize) -> Self {
        Self { length: pieces * self.outputs, pieces, ..self.clone() }
    }

    /// This plan over base OTs from another key agreement than Diffie–Hellman.
    #[must_use]
    pub fn with_base_ots(mut self, agreement: KeyAgreement) -> Self {
        self.base_ots = agreement;
        self
    }

    /// What the base OTs come from.
    #[must_use]
    pub fn base_ots(&self) -> KeyAgreement {
        self.base_ots
    }

    /// This plan, worked on by so many threads. No message depends on it.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Outputs.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// Noise values in each piece.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// Codes to compress; none for a short length.
    #[must_use]
    pub fn pieces(&self) -> usize {
        self.pieces
    }

    /// Bytes of flight 1: the sender's part of the base OTs.
    #[must_use]
    pub fn flight1_bytes(agreement: KeyAgreement) -> usize {
        agreement.bytes(ROWS)[0]
    }

    /// Bytes of the receiver's part of the base OTs, with which flight 2 begins.
    pub(super) fn base_bytes(agreement: KeyAgreement) -> usize {
        agreement.bytes(ROWS)[1]
    }

    /// Bytes of flight 2: the receiver's part of the base OTs, and its corrections.
    #[must_use]
    pub fn flight2_bytes<V: Value>(&self, security: Security) -> usize {
        Self::base_bytes(self.base_ots) + self.correction_bytes::<V>(security)
    }

    /// Bytes of the beginning of flight 2, from which on the sender can expand what it corrects later.
    #[must_use]
    pub fn beginning_bytes(agreement: KeyAgreement, security: Security) -> usize {
        Self::base_bytes(agreement) + crate::small_field::message_bytes(WIDTH, security)
    }

    /// Bytes of the rest of it, the corrections.
    #[must_use]
    pub fn rest_bytes<V: Value>(&self, security: Security) -> usize {
        self.flight2_bytes::<V>(security) - Self::beginning_bytes(self.base_ots, security)
    }

    /// Bytes of the receiver's corrections, with the trees that they begin with.
    #[must_use]
    pub fn correction_bytes<V: Value>(&self, security: Security) -> usize {
        crate::small_field::message_bytes(WIDTH, security)
            + softspoken::bytes(WIDTH, security, self.choices(), Choices::Chosen)
            + softspoken::bytes(WIDTH, security, self.blocks_of_columns::<V>() * 128, Choices::Random)
            + softspoken::bytes(WIDTH, security, self.spare(security) * 128, Choices::Random)
    }

    /// Tiles of the extension that the corrections are for.
    pub(super) fn tiles<V: Value>(&self, security: Security) -> usize {
        [self.choices(), self.blocks_of_columns::<V>() * 128, self.spare(security) * 128]
            .map(|count| softspoken::tiles(WIDTH, security, count))
            .iter()
            .sum()
    }

    /// Bytes of flight 3: the sender's correction words.
    #[must_use]
    pub fn flight3_bytes(&self) -> usize {
        16 * self.pieces * self.blocks().map(|block| correction_words(block.len()) + 1).sum::<usize>()
    }

    /// Bytes of flight 4, the receiver's challenge in malicious runs; else none.
    #[must_use]
    pub fn flight4_bytes(&self, security: Security) -> usize {
        2 * Block::BYTES * self.spare(security)
    }

    /// Bytes of flight 5, the sender's reply to the challenge.
    #[must_use]
    pub fn flight5_bytes(&self, security: Security) -> usize {
        HASH * self.spare(security)
    }

    /// VOLEs over GF(2^128) that the check uses up.
    pub(super) fn spare(&self, security: Security) -> usize {
        usize::from(self.pieces > 0 && security == Security::Malicious)
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Positions of the noise of each piece.
    #[must_use]
    pub fn noise(&self) -> usize {
        if self.outputs < STRUCTURED {
            Random::noise_for(self.outputs)
        } else {
            Accumulate::noise_for(self.outputs)
        }
    }

    /// Rounds of permuting and summing of a block-accumulate code. Two leave words of few flips, which see the
    /// noise of bits (`make parameters` has their number).
    #[must_use]
    pub fn rounds(&self) -> usize {
        if self.outputs < TWO_ROUNDS || self.bits { 3 } else { 2 }
    }

    /// Outputs of each piece; none without pieces.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Noise values of all pieces, or the outputs themselves.
    pub(super) fn values(&self) -> usize {
        if self.pieces == 0 { self.length } else { self.pieces * self.weight }
    }

    /// Blocks of 128 columns that the values take.
    pub(super) fn blocks_of_columns<V: Value>(&self) -> usize {
        if self.pieces > 0 && V::ONLY.is_some() {
            0
        } else {
            (self.values() * V::COLUMNS).div_ceil(Block::BITS)
        }
    }

    /// Correlated OTs of all pieces.
    pub(super) fn choices(&self) -> usize {
        self.pieces * self.blocks().map(|block| pprf::levels(block.len())).sum::<usize>()
    }

    /// The blocks of the noise of one piece, as even as can be.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Range<usize>> + Clone {
        let (noise, weight) = if self.pieces == 0 { (0, 0) } else { (self.noise(), self.weight) };
        (0..weight).map(move |i| i * noise / weight..(i + 1) * noise / weight)
    }

    /// The trees of a piece, in the order of its noise.
    pub(super) fn trees(&self, piece: usize) -> impl Iterator<Item = Tree> {
        let (mut choice, mut word) = (piece * self.choices() / self.pieces.max(1), 0);
        (piece * self.weight..).zip(self.blocks()).map(move |(number, block)| {
            let choices = choice..choice + pprf::levels(block.len());
            let correction_words = word..word + correction_words(block.len()) + 1;
            (choice, word) = (choices.end, correction_words.end);
            Tree { number, leaves: block.len(), choices, correction_words }
        })
    }

    /// The code of each piece. Public and the same for all of them: what the pieces have in common is Δ and
    /// the code.
    pub(super) fn code(&self, context: &Context) -> AnyCode {
        let mut seed = [0; 16];
        context.hash(CODE, &(self.outputs as u64).to_le_bytes(), &mut seed);
        let mut prg = Prg::from_seed(seed);
        if self.outputs < STRUCTURED {
            AnyCode::Random(Random::new(self.outputs, &mut prg))
        } else {
            AnyCode::Accumulate(Accumulate::new(self.outputs, self.rounds(), &mut prg))
        }
    }
}

/// Correction words of a half-tree of so many leaves, the final correction aside: one a level, and two for
/// the last.
pub(super) fn correction_words(leaves: usize) -> usize {
    pprf::levels(leaves) + 1
}

/// Whichever code a plan takes.
pub(super) enum AnyCode {
    Random(Random),
    Accumulate(Accumulate),
}

impl Code for AnyCode {
    fn noise(&self) -> usize {
        match self {
            Self::Random(code) => code.noise(),
            Self::Accumulate(code) => code.noise(),
        }
    }

    fn outputs(&self) -> usize {
        match self {
            Self::Random(code) => code.outputs(),
            Self::Accumulate(code) => code.outputs(),
        }
    }

    fn intake<'a, W: Word>(&'a self, room: &'a mut Vec<W>) -> Intake<'a, W> {
        match self {
            Self::Random(code) => code.intake(room),
            Self::Accumulate(code) => code.intake(room),
        }
    }

    fn taken<W: Word>(
        &self,
        room: &[W],
        lengths: impl Iterator<Item = usize> + Clone,
        each: impl FnMut(&[W]),
    ) {
        match self {
            Self::Random(code) => code.taken(room, lengths, each),
            Self::Accumulate(code) => code.taken(room, lengths, each),
        }
    }

    fn finish<W: Word>(&self, room: &mut Vec<W>, scratch: &mut Vec<W>, out: &mut Vec<W>) {
        match self {
            Self::Random(code) => code.finish(room, scratch, out),
            Self::Accumulate(code) => code.finish(room, scratch, out),
        }
    }

    fn finish_within<W: Word>(&self, room: &mut Vec<W>, scratch: &mut Vec<W>) -> Vec<W> {
        match self {
            Self::Random(code) => code.finish_within(room, scratch),
            Self::Accumulate(code) => code.finish_within(room, scratch),
        }
    }

    fn add_sparse<W: Word>(&self, noise: &Sparse<'_, W>, passes: usize, sums: &mut [W]) {
        match self {
            Self::Random(code) => code.add_sparse(noise, passes, sums),
            Self::Accumulate(code) => code.add_sparse(noise, passes, sums),
        }
    }
}

/// The tree of one block of noise: what it takes from the correlations, and from the correction words of its
/// piece.
pub(super) struct Tree {
    /// Among those of all pieces.
    pub(super) number: usize,
    pub(super) leaves: usize,
    /// Its correlated OTs, among those of all pieces.
    pub(super) choices: Range<usize>,
    /// Its correction words, of which the last is the final correction.
    pub(super) correction_words: Range<usize>,
}
