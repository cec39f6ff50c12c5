//! SoftSpoken: correlated OT from small-field VOLE, 128/k - 1 bits an OT, against semi-honest and malicious
//! parties.
//!
//! The *sender* gets rows q_j, the *receiver* rows t_j and choice bits c_j with q_j = t_j ⊕ c_j·Δ. The sender
//! chooses Δ once. Random choices cost nothing; choices of the receiver's own cost one bit more an OT.
//!
//! **Security:** semi-honest, or malicious with the check below; the type parameter of either party says
//! which.
//!
//! Source: Roy, *SoftSpokenOT*, CRYPTO 2022 (eprint 2022/192). The code is the repetition code: one u for all
//! groups.
//!
//! ```text
//! receiver                                             sender
//! tiles (v, u_g) of small-field VOLE                   tiles w
//! u = u_0, or the choices
//! d_g = u ⊕ u_g, for all g unless u = u_0        ──►   w_{g,b} ⊕= Δ_{g,b} · d_g
//! [check: ũ = R(u), H(R(v_i) for each row i)]    ──►   [H(R(w_i) ⊕ Δ_i·ũ) must be the same]
//! t_j = column j of v                                  q_j = column j of w
//! ```
//!
//! **The check** (malicious receiver). A *chunk* is up to 16 tiles. R takes strings of P blocks of 128 bits
//! to R(x) = x_P + Σ_{p<P} χ_p·x_p in GF(2^128), linear over GF(2). The last block of each chunk is not used
//! for OTs: it hides u in ũ. The χ_p are pseudo-random from a hash of all d_g of the chunk, the number of the
//! chunk and the message of the set-up. So the receiver is bound to its strings before it learns the χ_p, and
//! the check adds no round.
//!
//! *What it gives.* A receiver whose d_g are wrong makes group g belong to u ⊕ e_g. Let two groups have e_g ≠
//! e_h. R takes them to the same value with probability 2^-128 over χ, since some χ_p, p < P, is multiplied
//! by a nonzero difference, or the difference is x_P itself. There are at most C(128/k, 2) pairs, so for 2^a
//! hash evaluations by the cheater all different errors stay different except with probability 2^(a -
//! 128)·C(128/k, 2): 2^(a-117), 2^(a-119), 2^(a-121) for k = 2, 4, 8 ([`collision_bits`]). Then whatever ũ it
//! sends, in every group whose error differs from the one that ũ stands for, R(w_i) ⊕ Δ_i·ũ depends on Δ_i, i
//! in the group: the one hash fits a single guess of all these bits of Δ. With probability 2^-(k·groups) the
//! guess is right. The cheater then knows the rows of these groups, which hide nothing any more; in the other
//! groups u is one string. The functionality of the paper grants this leakage: c bits of Δ are guessed, and a
//! wrong guess ends the run. The cheater gains nothing from it as long as rows are hashed, tweaked by their
//! number, before use.
//!
//! *Malicious sender.* It sends nothing here.
//!
//! The oracles have fixed labels: a second set-up in one run takes a context of its own, from
//! [`Context::derive`].
//!
//! Cost: ⌈n/128⌉·16·(128/k - 1) bytes (128/k for chosen choices) and 4 KiB of set-up. A checked run sends one
//! more block and 48 bytes for each started 127 blocks. Either side generates 2^k/k AES blocks an OT.

use subtle::ConstantTimeEq;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::gf128::{self, RowProducts};
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::transpose::{COLUMNS, ROWS, Tile, transpose};
use vesica_crypto::weighted_xor_sum::{BLOCKS, TileRow};
use zeroize::Zeroize;

use crate::base::cache::{self, Chosen, LEAST_LEVEL};
use crate::base::{chosen_blocks, pairs_of_blocks};
use crate::consistency::{Check, CheckLabels, HASH};
use crate::cot::{CotReceiver, CotSender};
use crate::error::Error;
use crate::security::{Security, SecurityModel};
use crate::seed::Seed;
use crate::small_field;
pub use crate::small_field::Width;

#[cfg(any(test, feature = "testing"))]
pub mod cheating;

/// Tiles of a checked chunk.
const TILES: usize = 16;
/// Blocks of a checked chunk, including the one that hides the others.
const CHECKED_BLOCKS: usize = TILES * BLOCKS;

const BASE: Label = Label::new("softspoken: base OT");
const CHECK: CheckLabels = CheckLabels {
    setup: Label::new("softspoken: setup"),
    challenge: Label::new("softspoken: coefficients of the check"),
    rows: Label::new("softspoken: checked rows"),
};

const EMPTY: Tile = [[Block::ZERO; BLOCKS]; ROWS];

/// -log2 of the probability that R takes two different errors to one value, for one evaluation of the
/// challenge hash.
#[must_use]
pub fn collision_bits(width: Width) -> u32 {
    let groups = width.groups() as u32;
    128 - (groups * (groups - 1) / 2).next_power_of_two().ilog2()
}

/// Where the receiver's choice bits come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choices {
    /// The protocol draws them: u = u_0, for which nothing is sent.
    Random,
    /// The receiver brings them.
    Chosen,
}

impl Choices {
    /// The groups whose d_g is sent.
    fn corrected_groups(self, width: Width) -> core::ops::Range<usize> {
        let first = match self {
            Choices::Random => 1,
            Choices::Chosen => 0,
        };
        first..width.groups()
    }
}

/// The sizes of chunks and of their messages.
#[derive(Clone, Copy)]
struct ChunkSizes {
    width: Width,
    security: Security,
}

impl ChunkSizes {
    /// The most blocks that a chunk yields.
    fn blocks(self) -> usize {
        match self.security {
            Security::SemiHonest => BLOCKS,
            Security::Malicious => CHECKED_BLOCKS - 1,
        }
    }

    /// Blocks generated for a chunk that yields `blocks`.
    fn generated(self, blocks: usize) -> usize {
        blocks + usize::from(self.security == Security::Malicious)
    }

    /// What all chunks for `count` correlated OTs take, where `each` says it of one that yields so many blocks.
    fn sum(self, count: usize, each: impl Fn(usize) -> usize) -> usize {
        let blocks = count.div_ceil(Block::BITS);
        let (whole, rest) = (blocks / self.blocks(), blocks % self.blocks());
        whole * each(self.blocks()) + if rest > 0 { each(rest) } else { 0 }
    }

    /// Bytes of the receiver's message for a chunk that yields `blocks`.
    fn bytes(self, blocks: usize, choices: Choices) -> usize {
        let check = if self.security == Security::Malicious { Block::BYTES + HASH } else { 0 };
        self.generated(blocks) * choices.corrected_groups(self.width).len() * Block::BYTES + check
    }
}

/// The bytes that the receiver sends for `count` correlated OTs, without the set-up.
#[must_use]
pub fn bytes(width: Width, security: Security, count: usize, choices: Choices) -> usize {
    let sizes = ChunkSizes { width, security };
    sizes.sum(count, |blocks| sizes.bytes(blocks, choices))
}

/// Tiles that either side generates for `count` correlated OTs.
pub(crate) fn tiles(width: Width, security: Security, count: usize) -> usize {
    let sizes = ChunkSizes { width, security };
    sizes.sum(count, |blocks| sizes.generated(blocks).div_ceil(BLOCKS))
}

/// Tiles for so many blocks. Those of a longer chunk keep their room.
fn room(tiles: &mut Vec<Tile>, blocks: usize) -> &mut [Tile] {
    let count = blocks.div_ceil(BLOCKS);
    if tiles.len() < count {
        tiles.resize(count, EMPTY);
    }
    &mut tiles[..count]
}

/// R of every row of the tiles.
fn checked_rows(tiles: &[Tile], coefficients: &[Block]) -> Vec<Block> {
    let mut products = RowProducts::new(ROWS);
    for (tile, coefficients) in tiles.iter().zip(coefficients.chunks(BLOCKS)) {
        let mut factors = [Block::ZERO; BLOCKS];
        factors[..coefficients.len()].copy_from_slice(coefficients);
        products.add(tile, &factors);
    }
    products.finish()
}

/// The side that learns t_j and c_j; the base OTs' sender.
pub struct Receiver<S> {
    field: small_field::Receiver<S>,
    sizes: ChunkSizes,
    check: Check,
    tiles: Vec<Tile>,
    sums: Vec<TileRow>,
}

impl<S: SecurityModel> Receiver<S> {
    /// Starts from base OTs done elsewhere: both strings of each. The message is for [`Sender::new`].
    #[must_use]
    pub fn new(
        context: &Context,
        width: Width,
        base: &[[Block; 2]; ROWS],
        rng: &mut dyn rand_core::CryptoRng,
    ) -> (Self, Vec<u8>) {
        Self::over(context, width, small_field::Receiver::new(context, width, base, rng))
    }

    fn over(
        context: &Context,
        width: Width,
        (field, message): (small_field::Receiver<S>, Vec<u8>),
    ) -> (Self, Vec<u8>) {
        let (sizes, check) =
            (ChunkSizes { width, security: S::SECURITY }, Check::new(context, CHECK, &message));
        let sums = vec![[Block::ZERO; BLOCKS]; width.groups()];
        (Self { field, sizes, check, tiles: Vec::new(), sums }, message)
    }

    /// Base OTs and set-up over a channel.
    ///
    /// Only a semi-honest run takes a cache:
    ///
    /// ```
    /// # use vesica_channel::Channel;
    /// # use vesica_crypto::{hash::Context, prg::Prg};
    /// # use vesica_ot::{Error, base::{Origin, cache::BaseOtCache}, security::*, softspoken::{Receiver, Width}};
    /// # fn setup(context: &Context, channel: &mut dyn Channel, rng: &mut Prg) -> Result<(), Error> {
    /// let cache = BaseOtCache::new();
    /// Receiver::<SemiHonest>::setup(context, Width::Four, Origin::from(&cache), channel, rng)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// ```compile_fail
    /// # use vesica_channel::Channel;
    /// # use vesica_crypto::{hash::Context, prg::Prg};
    /// # use vesica_ot::{Error, base::{Origin, cache::BaseOtCache}, security::*, softspoken::{Receiver, Width}};
    /// # fn setup(context: &Context, channel: &mut dyn Channel, rng: &mut Prg) -> Result<(), Error> {
    /// let cache = BaseOtCache::new();
    /// Receiver::<Malicious>::setup(context, Width::Four, Origin::from(&cache), channel, rng)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the connection fails, the cached base OTs do not fit, or the partner's base OT message is not valid.
    pub fn setup(
        context: &Context,
        width: Width,
        base_ots: S::BaseOts<'_>,
        channel: &mut dyn Channel,
        rng: &mut dyn rand_core::CryptoRng,
    ) -> Result<Self, Error> {
        let base = cache::send(LEAST_LEVEL, context, BASE, ROWS, base_ots.into(), channel, rng)?;
        Self::from_base(context, width, &base, channel, rng)
    }

    /// Set-up over a channel, from base OTs done elsewhere: both strings of each of 128.
    ///
    /// # Errors
    /// If the connection fails, or there are more or fewer base OTs.
    pub fn from_base(
        context: &Context,
        width: Width,
        base: &[[Seed; 2]],
        channel: &mut dyn Channel,
        rng: &mut dyn rand_core::CryptoRng,
    ) -> Result<Self, Error> {
        let (receiver, message) = Self::new(context, width, &*pairs_of_blocks(base)?, rng);
        channel.send(&message)?;
        Ok(receiver)
    }

    /// The most blocks that the next chunk can yield.
    pub(crate) fn chunk_blocks(&self) -> usize {
        self.sizes.blocks()
    }

    /// The next chunk, which yields as many blocks as `strings` has: v in tiles, u in `strings`. Chosen
    /// choices are read from `strings`, random ones are written to it. The message for the sender is appended
    /// to `message`.
    pub(crate) fn chunk(
        &mut self,
        strings: &mut [Block],
        choices: Choices,
        message: &mut Vec<u8>,
    ) -> &[Tile] {
        let generated = self.sizes.generated(strings.len());
        let tiles = room(&mut self.tiles, generated);
        let (groups, start) = (choices.corrected_groups(self.sizes.width), message.len());
        message.reserve(generated * groups.len() * Block::BYTES);
        let mut hidden = Block::ZERO;
        for (index, tile) in tiles.iter_mut().enumerate() {
            self.field.tile(tile, &mut self.sums);
            let begin = index * BLOCKS;
            let used = strings.len().saturating_sub(begin).min(BLOCKS);
            let sent = (generated - begin).min(BLOCKS);
            let mut u = self.sums[0];
            match choices {
                // The block that hides the others stays random.
                Choices::Chosen => u[..used].copy_from_slice(&strings[begin..begin + used]),
                Choices::Random => strings[begin..begin + used].copy_from_slice(&u[..used]),
            }
            if generated > strings.len() && sent > used {
                hidden = u[sent - 1];
            }
            // d_g = u ⊕ u_g
            for sum in &self.sums[groups.clone()] {
                let mut difference = u;
                for block in 0..BLOCKS {
                    difference[block] ^= sum[block];
                }
                message.extend_from_slice(Block::slice_as_bytes(&difference[..sent]));
            }
        }
        if S::SECURITY == Security::Malicious {
            // ũ = R(u), H(R(v_i) for each row i)
            let coefficients = self.check.coefficients(&message[start..], generated);
            let sum = gf128::inner_product(strings, &coefficients[..strings.len()]).to_block() ^ hidden;
            message.extend_from_slice(sum.as_bytes());
            message.extend_from_slice(&self.check.hash(checked_rows(tiles, &coefficients)));
        }
        tiles
    }

    /// Correlated OTs whose message goes to `send`, chunk by chunk. Chosen choices are read from `bits`,
    /// random ones are written to it.
    ///
    /// # Errors
    /// Those of `send`.
    ///
    /// # Panics
    /// If `bits` has fewer bits than there are rows.
    pub fn extend_to(
        &mut self,
        choices: Choices,
        bits: &mut [u8],
        rows: &mut [[Block; 1]],
        mut send: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        assert!(bits.len() * 8 >= rows.len(), "one choice for each row");
        let blocks = self.chunk_blocks();
        let (mut message, mut strings) = (Vec::new(), Vec::new());
        let bits = bits.chunks_mut(blocks * Block::BYTES);
        for (rows, bits) in rows.as_flattened_mut().chunks_mut(blocks * Block::BITS).zip(bits) {
            strings.clear();
            strings.resize(rows.len().div_ceil(Block::BITS), Block::ZERO);
            let bytes = bits.len().min(strings.len() * Block::BYTES);
            if choices == Choices::Chosen {
                Block::slice_as_mut_bytes(&mut strings)[..bytes].copy_from_slice(&bits[..bytes]);
            }
            message.clear();
            columns(self.chunk(&mut strings, choices, &mut message), rows);
            if choices == Choices::Random {
                bits[..bytes].copy_from_slice(&Block::slice_as_bytes(&strings)[..bytes]);
            }
            send(&message)?;
        }
        strings.zeroize();
        Ok(())
    }
}

impl<S: SecurityModel> CotReceiver<1> for Receiver<S> {
    type Security = S;

    fn extend(
        &mut self,
        choices: &[u8],
        rows: &mut [[Block; 1]],
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        let mut choices = choices.to_vec();
        let sent = self.extend_to(Choices::Chosen, &mut choices, rows, |message| Ok(channel.send(message)?));
        choices.zeroize();
        sent
    }

    fn extend_random(
        &mut self,
        choices: &mut [u8],
        rows: &mut [[Block; 1]],
        channel: &mut dyn Channel,
        _: &mut dyn rand_core::CryptoRng,
    ) -> Result<(), Error> {
        self.extend_to(Choices::Random, choices, rows, |message| Ok(channel.send(message)?))
    }
}

impl<S> Drop for Receiver<S> {
    fn drop(&mut self) {
        self.tiles.as_flattened_mut().as_flattened_mut().zeroize();
        self.sums.as_flattened_mut().zeroize();
    }
}

/// The side that learns q_j; the base OTs' receiver, its choices being the bits of Δ.
pub struct Sender<S> {
    field: small_field::Sender<S>,
    sizes: ChunkSizes,
    check: Check,
    tiles: Vec<Tile>,
    /// Tiles that are [expanded](Self::expand_ahead), the first `used` of which are gone.
    ahead: Vec<Tile>,
    used: usize,
    /// Whether a check has failed. Nothing leaves this sender afterwards.
    failed: bool,
}

impl<S: SecurityModel> Sender<S> {
    /// Starts from base OTs done elsewhere: `base` are the strings that the bits of `delta` chose. `message`
    /// is that of [`Receiver::new`].
    ///
    /// # Errors
    /// If the message has another length than it must, or (malicious security) its trees are not those of one
    /// function.
    pub fn new(
        context: &Context,
        width: Width,
        delta: Block,
        base: &[Block; ROWS],
        message: &[u8],
    ) -> Result<Self, Error> {
        let field = small_field::Sender::new(context, width, delta, base, message)?;
        let (sizes, check) =
            (ChunkSizes { width, security: S::SECURITY }, Check::new(context, CHECK, message));
        Ok(Self { field, sizes, check, tiles: Vec::new(), ahead: Vec::new(), used: 0, failed: false })
    }

    /// Base OTs for a random Δ, and set-up over a channel.
    ///
    /// # Errors
    /// If the connection fails, the cached base OTs do not fit, or the partner's messages are not what they must be.
    pub fn setup(
        context: &Context,
        width: Width,
        base_ots: S::BaseOts<'_>,
        channel: &mut dyn Channel,
        rng: &mut dyn rand_core::CryptoRng,
    ) -> Result<Self, Error> {
        let base = cache::receive(LEAST_LEVEL, context, BASE, ROWS, base_ots.into(), channel, rng)?;
        Self::from_base(context, width, &base, channel)
    }

    /// Set-up over a channel, from 128 base OTs done elsewhere, whose choices are the bits of Δ.
    ///
    /// # Errors
    /// If the connection fails, there are more or fewer base OTs, or the partner's message is not what it must be.
    pub fn from_base(
        context: &Context,
        width: Width,
        base: &Chosen,
        channel: &mut dyn Channel,
    ) -> Result<Self, Error> {
        let delta = *base.choices.first_chunk().ok_or(Error::UnfitBaseOts)?;
        let mut message = vec![0; small_field::message_bytes(width, S::SECURITY)];
        channel.recv_exact(&mut message)?;
        Self::new(context, width, Block::from_bytes(delta), &*chosen_blocks(&base.seeds)?, &message)
    }

    /// The most blocks that the next chunk can yield.
    pub(crate) fn chunk_blocks(&self) -> usize {
        self.sizes.blocks()
    }

    /// Bytes of the receiver's message for a chunk that yields `blocks`.
    pub(crate) fn chunk_bytes(&self, blocks: usize, choices: Choices) -> usize {
        self.sizes.bytes(blocks, choices)
    }

    /// Generates so many of the next tiles before the receiver's message has come.
    pub(crate) fn expand_ahead(&mut self, tiles: usize) {
        debug_assert!(self.ahead.is_empty(), "before the first chunk");
        self.ahead.resize(tiles, EMPTY);
        self.ahead.iter_mut().for_each(|tile| self.field.tile(tile));
    }

    /// The next chunk, which yields `blocks`: w in tiles.
    ///
    /// # Errors
    /// If the message has another length than it must, or a check has failed, this one or an earlier one.
    pub(crate) fn chunk(
        &mut self,
        blocks: usize,
        choices: Choices,
        message: &[u8],
    ) -> Result<&[Tile], Error> {
        if self.failed {
            return Err(Error::Inconsistent);
        }
        if message.len() != self.chunk_bytes(blocks, choices) {
            return Err(Error::MessageLength { what: "corrections of an OT extension" });
        }
        let generated = self.sizes.generated(blocks);
        let groups = choices.corrected_groups(self.sizes.width);
        let (differences, check) = message.split_at(generated * groups.len() * Block::BYTES);
        let mut unread = differences;
        let tiles = room(&mut self.tiles, generated);
        for (index, tile) in tiles.iter_mut().enumerate() {
            if let Some(ready) = self.ahead.get(self.used) {
                *tile = *ready;
                self.used += 1;
            } else {
                self.field.tile(tile);
            }
            let sent = (generated - index * BLOCKS).min(BLOCKS);
            // w_{g,b} ⊕= Δ_{g,b} · d_g
            for group in groups.clone() {
                let (now, later) = unread.split_at(sent * Block::BYTES);
                unread = later;
                self.field.correct(tile, group, now.as_chunks().0);
            }
        }
        if let Some((sum, hash)) = check.split_first_chunk::<{ Block::BYTES }>() {
            // H(R(w_i) ⊕ Δ_i·ũ)
            let coefficients = self.check.coefficients(differences, generated);
            let (delta, sum) = (self.field.delta(), Block::from_bytes(*sum));
            let mut rows = checked_rows(tiles, &coefficients);
            rows.iter_mut().enumerate().for_each(|(i, row)| *row ^= sum & Block::mask(delta.bit(i)));
            self.failed = !bool::from(self.check.hash(rows).as_slice().ct_eq(hash));
            if self.failed {
                return Err(Error::Inconsistent);
            }
        }
        Ok(tiles)
    }

    /// Correlated OTs. `receive` is asked for the receiver's message, chunk by chunk.
    ///
    /// # Errors
    /// Those of `receive`, and [`Error::Inconsistent`] if a check fails (malicious security). Every later
    /// call then fails, too.
    pub fn extend_from(
        &mut self,
        choices: Choices,
        rows: &mut [[Block; 1]],
        mut receive: impl FnMut(&mut [u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut message = Vec::new();
        for rows in rows.as_flattened_mut().chunks_mut(self.chunk_blocks() * Block::BITS) {
            let blocks = rows.len().div_ceil(Block::BITS);
            message.resize(self.chunk_bytes(blocks, choices), 0);
            receive(&mut message)?;
            columns(self.chunk(blocks, choices, &message)?, rows);
        }
        Ok(())
    }
}

impl<S: SecurityModel> CotSender<1> for Sender<S> {
    type Security = S;

    fn delta(&self) -> [Block; 1] {
        [self.field.delta()]
    }

    fn extend(&mut self, rows: &mut [[Block; 1]], channel: &mut dyn Channel) -> Result<(), Error> {
        self.extend_from(Choices::Chosen, rows, |message| Ok(channel.recv_exact(message)?))
    }

    fn extend_random(&mut self, rows: &mut [[Block; 1]], channel: &mut dyn Channel) -> Result<(), Error> {
        self.extend_from(Choices::Random, rows, |message| Ok(channel.recv_exact(message)?))
    }
}

impl<S> Drop for Sender<S> {
    fn drop(&mut self) {
        for tiles in [&mut self.tiles, &mut self.ahead] {
            tiles.as_flattened_mut().as_flattened_mut().zeroize();
        }
    }
}

/// The first columns of the tiles.
fn columns(tiles: &[Tile], rows: &mut [Block]) {
    for (tile, rows) in tiles.iter().zip(rows.chunks_mut(COLUMNS)) {
        if let Some((whole, _)) = rows.split_first_chunk_mut::<COLUMNS>() {
            transpose(tile, whole);
        } else {
            let mut columns = [Block::ZERO; COLUMNS];
            transpose(tile, &mut columns);
            rows.copy_from_slice(&columns[..rows.len()]);
            columns.zeroize();
        }
    }
}

#[cfg(test)]
mod tests;
