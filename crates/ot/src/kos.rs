//! KOS15: IKNP with a consistency check, 128 bits an OT. The malicious OT of RR16, kept for comparison with
//! it. [`softspoken`](crate::softspoken) is the malicious OT of this project: it sends less, and has a proof.
//!
//! The *sender* gets rows q_j and holds Δ, the *receiver* has choice bits x_j and gets rows t_j, with q_j =
//! t_j ⊕ x_j·Δ.
//!
//! **Security:** malicious, with the check [`Revised`]. [`PublishedUnproven`] is the check that RR16 ran, for
//! comparisons. *Its published proof is wrong*, as the next section says: it counts as semi-honest, and a protocol
//! that needs malicious OTs does not compile with it.
//!
//! Source: Keller, Orsini, Scholl, *Actively secure OT extension with optimal overhead*, CRYPTO 2015 (eprint
//! 2015/546), Figure 7, and its revision of 2022, Figure 10. Base OTs are those of Masny and Rindal, which
//! are maliciously secure, and are never those of an earlier run.
//!
//! ```text
//! receiver: both seeds of base OT i, i = 1..128              sender: Δ ←$ {0,1}^128, seed k^i of choice Δ_i
//! x' ←$ {0,1}^256, the hidden choices behind x
//! t^i = G(k^i_0)
//! u^i = t^i ⊕ G(k^i_1) ⊕ (x ‖ x')    ── u^i, all i ──►       q^i = G(k^i) ⊕ Δ_i·u^i
//! χ = G(H(all u^i))                                           χ the same
//! published   x̂ = Σ x_j·χ_j          ── x̂, H(t̂) ──►           H(Σ χ_j·q_j + x̂·Δ) must be the same
//!             t̂ = Σ χ_j·t_j                                   in GF(2^128)
//! revised     x̂ = R(x ‖ x')          ── x̂, H(t̂^1..t̂^128) ──►  H(R(q^i) ⊕ Δ_i·x̂, all i) must be the same
//!             t̂^i = R(t^i)                                    R(y) = Σ χ_p·(block p of y) in GF(2^128)
//! ```
//!
//! **What the checks give.** A cheating receiver uses another choice string x ⊕ e^i in column i. In row j the
//! sender then has q_j = t_j ⊕ x_j·Δ ⊕ (e_j ∗ Δ), where e_j has the bits e^i_j and ∗ is the product bit by
//! bit. An answer to the check has to guess the bits of Δ in the columns with an error. In either check a
//! receiver with errors in w columns of one row, or with one and the same error in w columns, passes with
//! probability 2^-w, and has learnt these w bits if it passes.
//!
//! *Published.* The proof of 2015 rests on Lemma 1 of the paper: whatever the errors are, the number of values
//! of Δ with which an answer passes, and what an accepted receiver then knows of Δ, are bounded as in the case
//! above. Roy (eprint 2022/192, appendix D) shows that the lemma is false: errors of many rows can be laid out
//! so that Σ χ_j·(e_j ∗ Δ) takes few values. That attack stays impractical at 128 columns. Diamond (eprint
//! 2022/1371) proves the check secure asymptotically. A concrete bound follows from that proof only from
//! about 5000 columns on, so **no proven bound holds for the 128 columns of RR16 and of this file**, and more
//! hidden rows do not help. What is proven here is that the choices stay hidden: x̂ is uniform unless the χ of
//! the 256 hidden rows span less than the field, probability 2^-128. (The paper asks for κ + s = 168 hidden
//! rows; rows are sent in blocks of 128.)
//!
//! *Revised.* R is applied to columns, as in SoftSpoken's check with k = 1. Two columns with different errors
//! keep different values under R except with probability 2^-128, for each of the C(128, 2) pairs. For 2^a
//! evaluations of the challenge hash by the cheater the bound is 2^(a - 128)·C(128, 2) < 2^(a - 115). If no
//! pair collides, there is at most one error that x̂ stands for, and the one hash fits a single guess of the
//! bits of Δ in all columns with another error. Nothing but the 128 columns and one hidden block is needed.
//!
//! Deviations, the same for both checks: the coefficients come from a hash of the message instead of a coin
//! toss, so that the check adds no round; the errors of a set-up are fixed by the base OTs, whose strings are
//! outputs of a random oracle, before that hash. t̂ is sent as its hash: the sender can compute it from x̂ and
//! what it holds, so this hides nothing more and nothing less. A call is checked in chunks of 2^16 rows, and
//! no row of a chunk leaves this file before the chunk is checked. All chunks share Δ, and a failed check
//! ends the run, so guesses multiply over chunks.
//!
//! *Malicious sender.* It sends nothing here.
//!
//! The oracles have fixed labels: a second set-up in one run takes a context of its own, from
//! [`Context::derive`].
//!
//! Cost: the bytes and the generator of [`iknp`] for all rows, for each started 2^16 rows 256 more rows and
//! 48 bytes, and a multiplication in GF(2^128) a row for either party.

use std::convert::Infallible;
use std::marker::PhantomData;

use rand_core::CryptoRng;
use subtle::ConstantTimeEq;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::gf128::{Gf128, RowProducts, inner_product};
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::par;
use vesica_crypto::prg::Prg;
use vesica_crypto::transpose::{COLUMNS as TILE, ROWS, Tile, transpose};
use zeroize::Zeroize;

use crate::base::{KeyAgreement, bit};
use crate::consistency::{Check, CheckLabels, HASH};
use crate::cot::{CotReceiver, CotSender};
use crate::error::Error;
use crate::iknp;
use crate::security::{Malicious, SecurityModel, SemiHonest};
use crate::seed::Seed;

/// κ.
const LEVEL: u32 = ROWS as u32;
/// Rows of a checked chunk.
const CHUNK: usize = 64 * TILE;
/// Rows of a task of the check.
const PIECE: usize = 8 * TILE;
/// Rows whose choices hide the others in x̂.
const HIDDEN: usize = 2 * Block::BITS;
/// Blocks of a row of a tile.
const BLOCKS: usize = TILE / Block::BITS;

const BASE: Label = Label::new("kos: base OT");
const CHECK: CheckLabels = CheckLabels {
    setup: Label::new("kos: setup"),
    challenge: Label::new("kos: coefficients of the check"),
    rows: Label::new("kos: checked sums"),
};

mod sealed {
    pub trait Sealed {}
}

/// How the sender checks that all columns have one choice string: [`Revised`] or [`PublishedUnproven`].
pub trait CorrelationCheck: sealed::Sealed + Copy + std::fmt::Debug + Send + Sync + 'static {
    /// What it is proven to withstand.
    type Security: SecurityModel;

    /// Whether it combines columns, or else rows.
    const COLUMNS: bool;
}

/// A combination of the blocks of each column, as in the revision of 2022.
#[derive(Clone, Copy, Debug)]
pub enum Revised {}

/// A combination of the rows, as in the paper of 2015 and in RR16. Its proof is wrong.
#[derive(Clone, Copy, Debug)]
pub enum PublishedUnproven {}

impl sealed::Sealed for Revised {}
impl sealed::Sealed for PublishedUnproven {}

impl CorrelationCheck for Revised {
    type Security = Malicious;
    const COLUMNS: bool = true;
}

impl CorrelationCheck for PublishedUnproven {
    type Security = SemiHonest;
    const COLUMNS: bool = false;
}

/// What a check combines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Combination {
    Rows,
    Columns,
}

/// Bytes that the receiver sends for `count` OTs of one call.
#[must_use]
pub fn bytes(count: usize) -> u64 {
    let checks = count.div_ceil(CHUNK) as u64;
    iknp::bytes(LEVEL, count) + checks * (iknp::bytes(LEVEL, HIDDEN) + (Block::BYTES + HASH) as u64)
}

/// Bytes of the base OTs: from the sender, from the receiver of the extension.
#[must_use]
pub fn setup_bytes(agreement: KeyAgreement) -> [u64; 2] {
    iknp::setup_bytes(agreement, LEVEL)
}

/// The combinations of a chunk: t̂ or q̂, one block or one for each column, and x̂ (zero for the sender).
#[derive(Clone)]
struct Sums {
    rows: Vec<Block>,
    choices: Block,
}

impl Sums {
    /// Adds other combinations, and wipes them.
    fn add(&mut self, mut other: Self) {
        self.rows.iter_mut().zip(&other.rows).for_each(|(sum, row)| *sum ^= *row);
        self.choices ^= other.choices;
        other.rows.zeroize();
    }
}

impl Combination {
    fn of<C: CorrelationCheck>() -> Self {
        if C::COLUMNS { Self::Columns } else { Self::Rows }
    }

    /// The combinations of a chunk, whose hidden rows are its last piece. The sender has no choices.
    fn sums(
        self,
        seed: [u8; 16],
        rows: [&[[Block; 1]]; 2],
        choices: Option<[&[u8]; 2]>,
        threads: usize,
    ) -> Sums {
        let [visible, hidden] = rows;
        let [visible_choices, hidden_choices] = choices.map_or([None, None], |choices| choices.map(Some));
        let pieces = visible.len().div_ceil(PIECE);
        let mut partial: Vec<Sums> = vec![self.empty(); pieces + 1];
        let Ok(()) = par::fill_chunks(threads, 1, &mut partial, |index, sums| {
            let stream = Prg::fork(seed, index as u64);
            let (rows, choices) = match visible.chunks(PIECE).nth(index) {
                Some(rows) => (rows, visible_choices.map(|choices| &choices[index * PIECE / 8..])),
                None => (hidden, hidden_choices),
            };
            match self {
                Self::Rows => combine_rows(stream, rows, choices, &mut sums[0]),
                Self::Columns => combine_columns(stream, rows, choices, &mut sums[0]),
            }
            Ok::<_, Infallible>(())
        });
        let mut total = self.empty();
        partial.into_iter().for_each(|sums| total.add(sums));
        total
    }

    fn empty(self) -> Sums {
        let columns = match self {
            Self::Rows => 1,
            Self::Columns => ROWS,
        };
        Sums { rows: vec![Block::ZERO; columns], choices: Block::ZERO }
    }

    /// t̂ that belongs to the sender's q̂ and the receiver's x̂.
    fn expected(self, mut sums: Sums, delta: Block, choices: Block) -> Vec<Block> {
        match self {
            // Σ χ_j·q_j = Σ χ_j·(t_j ⊕ x_j·Δ) = t̂ + x̂·Δ
            Self::Rows => sums.rows[0] ^= (Gf128::from(choices) * Gf128::from(delta)).to_block(),
            // R(q^i) = R(t^i ⊕ Δ_i·x) = t̂^i ⊕ Δ_i·x̂
            Self::Columns => {
                for (i, row) in sums.rows.iter_mut().enumerate() {
                    *row ^= choices & Block::mask(delta.bit(i));
                }
            }
        }
        sums.rows
    }
}

/// Adds Σ χ_j·t_j and Σ x_j·χ_j.
fn combine_rows(mut stream: Prg, rows: &[[Block; 1]], choices: Option<&[u8]>, sums: &mut Sums) {
    let mut coefficients = [Block::ZERO; TILE];
    for (tile, rows) in rows.chunks(TILE).enumerate() {
        let coefficients = &mut coefficients[..rows.len()];
        stream.fill_blocks(coefficients);
        sums.rows[0] ^= inner_product(rows.as_flattened(), coefficients).to_block();
        if let Some(choices) = choices {
            for (j, coefficient) in coefficients.iter().enumerate() {
                sums.choices ^= *coefficient & Block::mask(bit(choices, tile * TILE + j) == 1);
            }
        }
    }
}

/// Adds R(t^i) for each column i, and R(x). Strings end with zeros up to a whole block.
fn combine_columns(mut stream: Prg, rows: &[[Block; 1]], choices: Option<&[u8]>, sums: &mut Sums) {
    let mut products = RowProducts::new(ROWS);
    for (tile, rows) in rows.chunks(TILE).enumerate() {
        let mut coefficients = [Block::ZERO; BLOCKS];
        stream.fill_blocks(&mut coefficients[..rows.len().div_ceil(Block::BITS)]);
        let mut strings = columns(rows);
        products.add(&strings, &coefficients);
        strings.as_flattened_mut().zeroize();
        if let Some(choices) = choices {
            let mut string = iknp::choice_string(&choices[tile * TILE / 8..], rows.len());
            sums.choices ^= inner_product(&string, &coefficients).to_block();
            string.zeroize();
        }
    }
    sums.rows.iter_mut().zip(products.finish()).for_each(|(sum, product)| *sum ^= product);
}

/// The columns of up to 1024 rows, as strings.
fn columns(rows: &[[Block; 1]]) -> Tile {
    // Row r of the tile has row 128·b + r as its block b. After the transposition, entry 128·b + i is block b
    // of column i.
    let mut tile = [[Block::ZERO; BLOCKS]; ROWS];
    for (j, row) in rows.iter().enumerate() {
        tile[j % ROWS][j / ROWS] = row[0];
    }
    let mut transposed = [Block::ZERO; TILE];
    transpose(&tile, &mut transposed);
    for (j, block) in transposed.iter().enumerate() {
        tile[j % ROWS][j / ROWS] = *block;
    }
    transposed.zeroize();
    tile
}

/// The rows behind those of a chunk, whose choices are random.
struct Hidden {
    choices: [u8; HIDDEN / 8],
    rows: [[Block; 1]; HIDDEN],
}

impl Drop for Hidden {
    fn drop(&mut self) {
        self.choices.zeroize();
        self.rows.as_flattened_mut().zeroize();
    }
}

/// The side that holds the choices; the base OTs' sender.
pub struct Receiver<C> {
    iknp: iknp::Receiver<1>,
    combination: Combination,
    correlation: PhantomData<C>,
    check: Check,
    hiding: Prg,
    threads: usize,
}

impl<C: CorrelationCheck> Receiver<C> {
    /// Plays the base OTs' sender.
    ///
    /// # Errors
    /// If the connection fails or the partner's message is not valid.
    pub fn setup(
        context: &Context,
        agreement: KeyAgreement,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self, Error> {
        let iknp = iknp::Receiver::setup(context, BASE, LEVEL, agreement.into(), channel, rng)?;
        Ok(Self::over(context, iknp, rng))
    }

    /// Starts from 128 base OTs done elsewhere: both strings of each.
    ///
    /// # Errors
    /// If there are not 128.
    pub fn from_base(context: &Context, base: &[[Seed; 2]], rng: &mut dyn CryptoRng) -> Result<Self, Error> {
        if base.len() != ROWS {
            return Err(Error::UnfitBaseOts);
        }
        Ok(Self::over(context, iknp::Receiver::from_base(base)?, rng))
    }

    fn over(context: &Context, iknp: iknp::Receiver<1>, rng: &mut dyn CryptoRng) -> Self {
        let check = Check::new(context, CHECK, &[]);
        Self {
            iknp,
            combination: Combination::of::<C>(),
            correlation: PhantomData,
            check,
            hiding: Prg::from_rng(rng),
            threads: 1,
        }
    }

    /// Sets how many threads make and check rows; the default is one.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self.iknp = self.iknp.with_threads(threads);
        self
    }

    /// All u^i of a chunk.
    fn corrections(
        &mut self,
        choices: &[u8],
        rows: &mut [[Block; 1]],
        message: &mut Vec<u8>,
    ) -> Result<Hidden, Error> {
        let mut hidden = Hidden { choices: [0; HIDDEN / 8], rows: [[Block::ZERO]; HIDDEN] };
        self.hiding.fill(&mut hidden.choices);
        let mut append = |part: &[u8]| {
            message.extend_from_slice(part);
            Ok(())
        };
        self.iknp.extend_to(choices, rows, &mut append)?;
        self.iknp.extend_to(&hidden.choices, &mut hidden.rows, &mut append)?;
        Ok(hidden)
    }

    /// Appends x̂ and the hash of t̂ to the message of a chunk.
    fn answer(&mut self, choices: &[u8], rows: &[[Block; 1]], hidden: &Hidden, message: &mut Vec<u8>) {
        let seed = self.check.seed(message);
        let choices = Some([choices, &hidden.choices]);
        let sums = self.combination.sums(seed, [rows, &hidden.rows], choices, self.threads);
        message.extend_from_slice(sums.choices.as_bytes());
        message.extend_from_slice(&self.check.hash(sums.rows));
    }
}

impl<C: CorrelationCheck> CotReceiver<1> for Receiver<C> {
    type Security = C::Security;

    fn extend(
        &mut self,
        choices: &[u8],
        rows: &mut [[Block; 1]],
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        assert!(choices.len() >= rows.len().div_ceil(8), "a choice for each row");
        let mut message = Vec::new();
        for (rows, choices) in rows.chunks_mut(CHUNK).zip(choices.chunks(CHUNK / 8)) {
            message.clear();
            let hidden = self.corrections(choices, rows, &mut message)?;
            self.answer(choices, rows, &hidden, &mut message);
            channel.send(&message)?;
        }
        Ok(channel.flush()?)
    }
}

/// The side that holds Δ; the base OTs' receiver.
pub struct Sender<C> {
    iknp: iknp::Sender<1>,
    combination: Combination,
    correlation: PhantomData<C>,
    check: Check,
    threads: usize,
    /// Whether a check has failed. Nothing leaves this sender afterwards.
    failed: bool,
}

impl<C: CorrelationCheck> Sender<C> {
    /// Draws Δ and plays the base OTs' receiver.
    ///
    /// # Errors
    /// If the connection fails or the partner's message is not valid.
    pub fn setup(
        context: &Context,
        agreement: KeyAgreement,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self, Error> {
        let iknp = iknp::Sender::setup(context, BASE, LEVEL, agreement.into(), channel, rng)?;
        Ok(Self::over(context, iknp))
    }

    /// Starts from 128 base OTs done elsewhere: Δ, and of each OT the string that its bit chose.
    ///
    /// # Errors
    /// If there are not 128.
    pub fn from_base(context: &Context, delta: Block, base: &[Seed]) -> Result<Self, Error> {
        if base.len() != ROWS {
            return Err(Error::UnfitBaseOts);
        }
        Ok(Self::over(context, iknp::Sender::from_base(&[delta], base)?))
    }

    fn over(context: &Context, iknp: iknp::Sender<1>) -> Self {
        let check = Check::new(context, CHECK, &[]);
        Self {
            iknp,
            combination: Combination::of::<C>(),
            correlation: PhantomData,
            check,
            threads: 1,
            failed: false,
        }
    }

    /// Sets how many threads make and check rows; the default is one.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self.iknp = self.iknp.with_threads(threads);
        self
    }

    /// The rows of a chunk, checked.
    fn chunk(
        &mut self,
        rows: &mut [[Block; 1]],
        message: &mut Vec<u8>,
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        let mut hidden = [[Block::ZERO]; HIDDEN];
        message.clear();
        let mut receive = |part: &mut [u8]| {
            channel.recv_exact(part)?;
            message.extend_from_slice(part);
            Ok(())
        };
        self.iknp.extend_from(rows, &mut receive)?;
        self.iknp.extend_from(&mut hidden, &mut receive)?;
        let seed = self.check.seed(message);
        let (mut choices, mut hash) = (Block::ZERO, [0; HASH]);
        channel.recv_exact(choices.as_mut_bytes())?;
        channel.recv_exact(&mut hash)?;
        let sums = self.combination.sums(seed, [rows, &hidden], None, self.threads);
        hidden.as_flattened_mut().zeroize();
        let expected = self.check.hash(self.combination.expected(sums, self.iknp.delta()[0], choices));
        self.failed = !bool::from(expected.as_slice().ct_eq(&hash));
        if self.failed { Err(Error::Inconsistent) } else { Ok(()) }
    }
}

impl<C: CorrelationCheck> CotSender<1> for Sender<C> {
    type Security = C::Security;

    fn delta(&self) -> [Block; 1] {
        self.iknp.delta()
    }

    fn extend(&mut self, rows: &mut [[Block; 1]], channel: &mut dyn Channel) -> Result<(), Error> {
        if self.failed {
            return Err(Error::Inconsistent);
        }
        let mut message = Vec::new();
        for start in (0..rows.len()).step_by(CHUNK) {
            let end = rows.len().min(start + CHUNK);
            if let Err(error) = self.chunk(&mut rows[start..end], &mut message, channel) {
                self.failed = true;
                rows.as_flattened_mut().zeroize();
                return Err(error);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
