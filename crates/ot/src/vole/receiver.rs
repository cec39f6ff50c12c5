//! The side that gets A and C. Each of its states is consumed by the step that leads to the next.
//!
//! ```text
//! Begun ── answer ──► Answered<SemiHonest> or Answered<Malicious>
//!
//! Answered<SemiHonest> ── accept (flight 3) ──────────────────────────────────────► A, Checked ── expand ──► C
//! Answered<Malicious>  ── challenge (flight 3) ──► Challenged ── check (flight 5) ──► A, Checked ── expand ──► C
//! ```
//!
//! A is known before the sender has answered, and can be made before or after the challenge. In semi-honest runs it may
//! leave at any time ([`Answered::masked`]). In malicious runs nothing that depends on A may leave before the check: it
//! stays inside the receiver, and the check of this very run hands it out. None of these compiles:
//!
//! ```compile_fail,E0599
//! use vesica_crypto::{block::Block, memory::Wiped};
//! use vesica_ot::{security::Malicious, vole::receiver::Answered};
//!
//! fn before_the_challenge(mut receiver: Answered<Block, Malicious>, p: Wiped<Block>) -> Wiped<Block> {
//!     receiver.masked(p)
//! }
//! ```
//!
//! ```compile_fail,E0308
//! use vesica_crypto::{block::Block, memory::Wiped};
//! use vesica_ot::vole::receiver::Challenged;
//!
//! fn before_the_check(mut receiver: Challenged<Block>, p: Wiped<Block>) -> Wiped<Block> {
//!     receiver.mask(p)
//! }
//! ```
//!
//! ```compile_fail,E0616
//! use vesica_crypto::{block::Block, memory::Wiped};
//! use vesica_ot::vole::receiver::Challenged;
//!
//! fn past_the_check(receiver: Challenged<Block>) -> Wiped<Block> {
//!     receiver.values
//! }
//! ```

use core::convert::Infallible;
use core::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use rand_core::CryptoRng;
use subtle::ConstantTimeEq;
use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_crypto::memory::{Wiped, wipe};
use vesica_crypto::par;
use vesica_crypto::transpose::ROWS;
use vesica_crypto::weighted_xor_sum::BLOCKS;
use zeroize::{Zeroize, Zeroizing};

use super::check::{self, Coefficients};
use super::codes::{Code, Sparse};
use super::multi_point::{MultiPointPprf, Punctured};
use super::pieces::{compressed, compressed_last, grown};
use super::plan::{AnyCode, Plan, WIDTH};
use super::sender::BASE;
use super::value::{Covers, Value};
use crate::base::{KeyAgreement, key_agreement, pairs_of_blocks};
use crate::error::Error;
use crate::pprf::levels;
use crate::security::{Malicious, SecurityModel, SemiHonest};
use crate::softspoken::{self, Choices};

/// The receiver after the beginning of flight 2: base OTs, and the trees of the extension.
pub struct Begun<S> {
    context: Context,
    extension: softspoken::Receiver<S>,
}

impl<S: SecurityModel> Begun<S> {
    /// Takes flight 1 and returns the beginning of flight 2, for
    /// [`sender::Opened::prepare`](super::sender::Opened::prepare).
    ///
    /// # Errors
    /// If flight 1 is not what it must be.
    pub fn new(
        context: &Context,
        agreement: KeyAgreement,
        flight1: &[u8],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Self, Vec<u8>), Error> {
        let (base, answer) = base_ots(context, agreement, flight1, rng)?;
        let (extension, trees) = softspoken::Receiver::new(context, WIDTH, &base, rng);
        Ok((Self { context: context.clone(), extension }, [answer, trees].concat()))
    }

    /// Draws the noise, and returns the corrections, which are the rest of flight 2.
    #[must_use]
    pub fn answer<V: Value>(self, plan: &Plan, rng: &mut dyn CryptoRng) -> (Answered<V, S>, Vec<u8>)
    where
        S: Covers<V>,
    {
        let points = draw_points(plan, rng);
        Answered::with_points(&self.context, plan, (self.extension, Vec::new()), points)
    }
}

/// The receiver after flight 2.
pub struct Answered<V: Value, S> {
    pub(super) noise: Noise<V>,
    /// A, once it has been made.
    values: Wiped<V>,
    /// The VOLE that the check uses up: its value and the receiver's share.
    spare: Wiped<[Block; 2]>,
    security: PhantomData<S>,
}

/// The receiver of a malicious run after flight 4, its challenge.
pub struct Challenged<V: Value> {
    noise: Noise<V>,
    /// A, or A ⊕ a table, once it has been made.
    values: Wiped<V>,
    vector: Vector,
    /// What flight 5 must be.
    pub(super) expected: Zeroizing<Vec<u8>>,
}

/// A receiver that has checked all there is to check: it may expand.
pub struct Checked<V: Value> {
    noise: Noise<V>,
    vector: Vector,
}

/// What C will be made of.
enum Vector {
    /// The correction words of a semi-honest run, whose trees are still to be grown.
    CorrectionWords(Vec<u8>),
    /// In malicious runs what the code has taken in of the only piece.
    Taken(Wiped<Block>),
    /// In malicious runs the outputs of several pieces.
    Outputs(Wiped<Block>),
}

/// The noise of all pieces: where it is, what it is, and what its trees are grown from.
pub(super) struct Noise<V: Value> {
    pub(super) plan: Plan,
    pub(super) context: Context,
    /// α, the punctured point of each block of each piece.
    pub(super) points: Wiped<usize>,
    /// t of the correlated OTs.
    pub(super) known: Wiped<[Block; 1]>,
    /// β and δ of each block of each piece, or of each output.
    pub(super) values: Wiped<V>,
    pub(super) deltas: Wiped<Block>,
    pub(super) code: Option<AnyCode>,
}

impl<V: Value, S: SecurityModel> Answered<V, S> {
    /// Draws the noise, from base OTs that are there already: both strings of 128 of them, in which the
    /// sender's choices were the bits of Δ. The corrections are for
    /// [`sender::Answered::new`](super::sender::Answered::new).
    #[must_use]
    pub fn new(
        context: &Context,
        plan: &Plan,
        base: &[[Block; 2]; ROWS],
        rng: &mut dyn CryptoRng,
    ) -> (Self, Vec<u8>)
    where
        S: Covers<V>,
    {
        let start = softspoken::Receiver::new(context, WIDTH, base, rng);
        let points = draw_points(plan, rng);
        Self::with_points(context, plan, start, points)
    }

    /// From the extension, what its message begins with, and the punctured point of each block of each piece.
    pub(super) fn with_points(
        context: &Context,
        plan: &Plan,
        (mut field, mut message): (softspoken::Receiver<S>, Vec<u8>),
        points: Wiped<usize>,
    ) -> (Self, Vec<u8>) {
        message.reserve(plan.correction_bytes::<V>(S::SECURITY));
        let known = path_ots(plan, &points, &mut field, |bytes| {
            message.extend_from_slice(bytes);
            Ok(())
        });
        debug_assert!(known.is_ok(), "a message in memory");
        let known = known.unwrap_or_default();
        let (values, deltas) = draw_values(plan, &mut field, &mut message);
        let (spare, shares) = draw::<Block, S>(plan.spare(S::SECURITY), &mut field, &mut message);
        let spare = spare.iter().zip(shares.iter()).map(|(value, share)| [*value, *share]);
        let noise =
            Noise { plan: plan.clone(), context: context.clone(), points, known, values, deltas, code: None };
        let spare = spare.collect::<Vec<_>>().into();
        (Self { noise, values: Wiped::default(), spare, security: PhantomData }, message)
    }

    /// Makes A, which the receiver keeps until it has accepted the sender's last flight. Flight 3 need not have come.
    pub fn make_values(&mut self) {
        self.values = self.noise.masked(V::zeros(self.noise.plan.length()).into());
    }
}

impl<V: Value> Answered<V, SemiHonest> {
    /// A ⊕ `table`, in the memory of `table`. Flight 3 need not have come.
    ///
    /// # Panics
    /// If the table has another length than A.
    pub fn masked(&mut self, table: Wiped<V>) -> Wiped<V> {
        self.noise.masked(table)
    }

    /// Takes flight 3, the sender's last one, and returns A, if it [was made](Self::make_values).
    ///
    /// # Errors
    /// If flight 3 has another length than it must.
    pub fn accept(self, flight3: Vec<u8>) -> Result<(Wiped<V>, Checked<V>), Error> {
        self.noise.check_length(&flight3)?;
        let vector = Vector::CorrectionWords(flight3);
        Ok((self.values, Checked { noise: self.noise, vector }))
    }
}

impl<V: Value> Answered<V, Malicious> {
    /// Takes flight 3 and returns flight 4, the challenge.
    ///
    /// # Errors
    /// If flight 3 has another length than it must.
    pub fn challenge(
        mut self,
        flight3: &[u8],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Challenged<V>, Vec<u8>), Error> {
        self.noise.check_length(flight3)?;
        let (mut flight4, mut expected) = (Vec::new(), Zeroizing::default());
        let mut vector = Vector::CorrectionWords(Vec::new());
        if let Some([spare, share]) = self.spare.first() {
            // The words have come: the coefficients may be drawn.
            let seed = Block::random(rng);
            let grown = self.noise.grow_checked(flight3, seed);
            *expected = check::hash(&self.noise.context, *share ^ grown.sum).to_vec();
            flight4 = [seed.to_bytes(), (*spare ^ grown.hidden).to_bytes()].concat();
            vector = grown.vector;
        }
        Ok((Challenged { noise: self.noise, values: self.values, vector, expected }, flight4))
    }
}

/// What grows in a malicious run, with Σ φ·χ_j·c_j and X = Σ φ·χ_α·β.
struct GrownChecked {
    vector: Vector,
    sum: Block,
    hidden: Block,
}

impl<V: Value> Challenged<V> {
    /// Makes A ⊕ `table`, in the memory of `table`, while the sender replies. The check hands it out in place of A.
    ///
    /// # Panics
    /// If the table has another length than A.
    pub fn mask(&mut self, table: Wiped<V>) {
        self.values = self.noise.masked(table);
    }

    /// Takes flight 5, the sender's reply and last one. If it is right, returns A ⊕ the table of [`mask`](Self::mask),
    /// or else A, if either was made.
    ///
    /// # Errors
    /// If the reply does not fit: the trees were not those of one function.
    pub fn check(self, flight5: &[u8]) -> Result<(Wiped<V>, Checked<V>), Error> {
        if flight5.len() != self.expected.len() {
            return Err(Error::MessageLength { what: "reply to the check of a VOLE" });
        }
        if !bool::from(self.expected.as_slice().ct_eq(flight5)) {
            return Err(Error::Inconsistent);
        }
        Ok(self.go_on())
    }

    /// Goes on, whatever the reply.
    pub(super) fn go_on(self) -> (Wiped<V>, Checked<V>) {
        (self.values, Checked { noise: self.noise, vector: self.vector })
    }
}

impl<V: Value> Checked<V> {
    /// C.
    #[must_use]
    pub fn expand(self) -> Wiped<Block> {
        let Checked { mut noise, vector } = self;
        if noise.plan.pieces() == 0 {
            return noise.deltas;
        }
        let code = noise.take_code();
        let words = match vector {
            Vector::Outputs(outputs) => return outputs,
            Vector::Taken(taken) => {
                return compressed_last(&noise.plan, &code, [taken.into_vec(), Vec::new()], |_, _, _| {})
                    .into();
            }
            Vector::CorrectionWords(words) => words,
        };
        let c = compressed_last(&noise.plan, &code, Default::default(), |threads, piece, [room, _]| {
            let mut intake = code.intake(room);
            noise.grow(threads, piece, &words, |leaves| intake.push(leaves));
        });
        c.into()
    }
}

impl<V: Value> Noise<V> {
    fn check_length(&self, flight3: &[u8]) -> Result<(), Error> {
        if flight3.len() == self.plan.flight3_bytes() {
            Ok(())
        } else {
            Err(Error::MessageLength { what: "correction words of a VOLE" })
        }
    }

    fn take_code(&mut self) -> AnyCode {
        self.code.take().unwrap_or_else(|| self.plan.code(&self.context))
    }

    fn masked(&mut self, mut table: Wiped<V>) -> Wiped<V> {
        self.add_values(&mut table);
        table
    }

    /// Adds A to `sums`.
    fn add_values(&mut self, sums: &mut [V]) {
        assert_eq!(sums.len(), self.plan.length(), "one sum for each value");
        if self.plan.pieces() == 0 {
            return sums.iter_mut().zip(self.values.iter()).for_each(|(sum, value)| *sum ^= *value);
        }
        let code = self.take_code();
        let (plan, weight) = (&self.plan, self.plan.weight());
        let pieces = self.points.chunks(weight).zip(self.values.chunks(weight));
        let tasks: Vec<_> = pieces.zip(sums.chunks_mut(plan.outputs())).collect();
        // With one piece its room is much of the run's peak; with several it is little.
        let passes = if plan.pieces() == 1 { 2 } else { 1 };
        let threads = plan.threads();
        let Ok(()) = par::for_each::<_, Infallible, _>(threads, tasks.into_iter(), |_, (of_piece, sums)| {
            let (points, values) = of_piece;
            let lengths = plan.blocks().map(|block| block.len()).collect();
            code.add_sparse(&Sparse { lengths, points, values }, passes, sums);
            Ok(())
        });
        self.code = Some(code);
    }

    /// Takes in c of every piece, and adds it up with the coefficients of the check.
    fn grow_checked(&mut self, flight3: &[u8], seed: Block) -> GrownChecked {
        let code = self.take_code();
        let total = Mutex::new([Block::ZERO; 2]);
        let fill = |threads, piece, room: &mut Vec<Block>| {
            let (mut intake, mut coefficients) =
                (code.intake(room), Coefficients::new(&self.plan, seed, piece));
            let (mut trees, mut sums) = (self.plan.trees(piece), [Block::ZERO; 2]);
            self.grow(threads, piece, flight3, |leaves| {
                intake.push(leaves);
                let mut rest = leaves;
                while !rest.is_empty()
                    && let Some(tree) = trees.next()
                {
                    let (leaves, others) = rest.split_at(tree.leaves);
                    rest = others;
                    let coefficients = coefficients.next(tree.leaves);
                    let hidden = coefficients.at(self.points[tree.number]).to_block();
                    sums[0] ^= coefficients.sum(leaves).to_block();
                    sums[1] ^= self.values[tree.number].times(hidden);
                }
            });
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            (0..2).for_each(|i| total[i] ^= sums[i]);
        };
        let vector = if self.plan.pieces() == 1 {
            let mut taken = Vec::new();
            fill(self.plan.threads(), 0, &mut taken);
            Vector::Taken(taken.into())
        } else {
            let mut rooms = Default::default();
            let outputs = compressed(&self.plan, &code, &mut rooms, |threads, piece, [room, _]| {
                fill(threads, piece, room);
            });
            rooms.iter_mut().for_each(wipe);
            Vector::Outputs(outputs.into())
        };
        let [sum, hidden] = total.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.code = Some(code);
        GrownChecked { vector, sum, hidden }
    }

    /// Grows the trees of a piece, whose leaves go to `take`, those of some trees at a time.
    fn grow(&self, threads: usize, piece: usize, flight3: &[u8], take: impl FnMut(&[Block])) {
        let words = piece * self.plan.flight3_bytes() / self.plan.pieces();
        self.grow_piece(threads, piece, &flight3[words..], take);
    }

    /// Grows the trees of a piece from its correction words.
    pub(super) fn grow_piece(&self, threads: usize, piece: usize, words: &[u8], take: impl FnMut(&[Block])) {
        let (plan, words) = (&self.plan, words.as_chunks::<16>().0);
        let pprf = MultiPointPprf::new(&self.context);
        let words = plan.trees(piece).map(|tree| &words[tree.correction_words]);
        grown(plan, threads, piece, words, take, |tree, words, leaves| {
            let punctured = Punctured {
                index: tree.choices.start as u64,
                known: &self.known[tree.choices.clone()],
                point: self.points[tree.number],
                delta: self.deltas[tree.number],
            };
            let words: Vec<Block> = words.iter().map(|bytes| Block::from_bytes(*bytes)).collect();
            pprf.grow_punctured(&punctured, &words, leaves);
        });
    }
}

/// Both strings of each base OT.
type Pairs = Zeroizing<[[Block; 2]; ROWS]>;

/// The base OTs, and the part of them that flight 2 begins with.
pub(super) fn base_ots(
    context: &Context,
    agreement: KeyAgreement,
    flight1: &[u8],
    rng: &mut dyn CryptoRng,
) -> Result<(Pairs, Vec<u8>), Error> {
    let (base, answer) = key_agreement::answer(agreement, context, BASE, ROWS, flight1, rng)?;
    Ok((pairs_of_blocks(&base)?, answer))
}

/// The correlated OTs of the paths to these points: t of each. Their message goes to `send`, part by part.
///
/// # Errors
/// Those of `send`.
pub(super) fn path_ots<S: SecurityModel>(
    plan: &Plan,
    points: &[usize],
    field: &mut softspoken::Receiver<S>,
    send: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<Wiped<[Block; 1]>, Error> {
    // A bit for each level of each path: the side that it does not take.
    let mut choices = Bits::default();
    for (block, point) in plan.blocks().cycle().zip(points) {
        (0..levels(block.len())).for_each(|level| choices.push(point >> level & 1 == 0));
    }
    let mut known = Wiped::from(vec![[Block::ZERO]; choices.count]);
    let sent = field.extend_to(Choices::Chosen, &mut choices.bytes, &mut known, send);
    choices.bytes.zeroize();
    sent.map(|()| known)
}

/// A uniform point in each block of each piece.
pub(super) fn draw_points(plan: &Plan, rng: &mut dyn CryptoRng) -> Wiped<usize> {
    let mut points = Vec::with_capacity(plan.pieces() * plan.weight());
    for _ in 0..plan.pieces() {
        points.extend(plan.blocks().map(|block| below(block.len(), rng)));
    }
    points.into()
}

/// The VOLEs of the noise values β, and δ. If there is but one value, its VOLE is γ = Δ, δ = 0.
fn draw_values<V: Value, S: SecurityModel>(
    plan: &Plan,
    field: &mut softspoken::Receiver<S>,
    message: &mut Vec<u8>,
) -> (Wiped<V>, Wiped<Block>) {
    let (mut values, mut deltas) = match V::ONLY {
        Some(only) if plan.pieces() > 0 => {
            (vec![only; plan.values()].into(), vec![Block::ZERO; plan.values()].into())
        }
        _ => draw::<V, S>(plan.blocks_of_columns::<V>(), field, message),
    };
    values.truncate(plan.values());
    deltas.truncate(plan.values());
    (values, deltas)
}

/// Random values and the receiver's shares of their products with Δ, from so many blocks of columns.
fn draw<V: Value, S: SecurityModel>(
    blocks: usize,
    field: &mut softspoken::Receiver<S>,
    message: &mut Vec<u8>,
) -> (Wiped<V>, Wiped<Block>) {
    // Room for all of them: what grows leaves copies behind.
    let count = blocks * Block::BITS / V::COLUMNS;
    let (mut values, mut shares) =
        (Wiped::from(Vec::with_capacity(count)), Wiped::from(Vec::with_capacity(count)));
    let mut strings = vec![Block::ZERO; blocks];
    for strings in strings.chunks_mut(field.chunk_blocks()) {
        let tiles = field.chunk(strings, Choices::Random, message);
        for (tile, strings) in tiles.iter().zip(strings.chunks(BLOCKS)) {
            V::correlations(tile, strings, strings.len(), &mut values, &mut shares);
        }
    }
    strings.zeroize();
    (values, shares)
}

/// A uniformly random number below `bound`, by a product in place of a division, whose time would depend on
/// the number (Lemire, *Fast random integer generation in an interval*, 2019). Words that would make a number
/// too likely are drawn again: that tells of words that are not used.
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
