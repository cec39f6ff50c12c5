//! SoftSpoken: correlated OT from small-field VOLE, 128/k - 1 bits an OT, against semi-honest and malicious parties.
//!
//! The *sender* gets rows q_j, the *receiver* rows t_j and choice bits c_j with q_j = t_j ⊕ c_j·Δ, the sender choosing Δ
//! once. Choices are random, for nothing, or the receiver's own, for one bit more.
//!
//! Source: Roy, *SoftSpokenOT*, CRYPTO 2022 (eprint 2022/192). The code is the repetition code: one u for all groups.
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
//! **The check** (malicious receiver). A *chunk* is up to 16 tiles. R takes strings of P blocks of 128 bits to
//! R(x) = x_P + Σ_{p<P} χ_p·x_p in GF(2^128), linear over GF(2). The last block of each chunk is not used for OTs: it
//! hides u in ũ. The χ_p are pseudo-random from a hash of all d_g of the chunk, the number of the chunk and the message of
//! the setup: the receiver is bound to its strings before it learns them, and no round is added.
//!
//! *What it gives.* A receiver whose d_g are wrong makes group g belong to u ⊕ e_g. Let two groups have e_g ≠ e_h. R
//! takes them to the same value with probability 2^-128 over χ, since some χ_p, p < P, is multiplied by a nonzero
//! difference, or the difference is x_P itself. There are at most C(128/k, 2) pairs, so for 2^a hash evaluations by the
//! cheater all different errors stay different but for probability 2^(a - 128)·C(128/k, 2): 2^(a-117), 2^(a-119),
//! 2^(a-121) for k = 2, 4, 8 ([`collision_bits`]). Then whatever ũ it sends, in every group whose error differs
//! from the one that ũ stands for, R(w_i) ⊕ Δ_i·ũ depends on Δ_i, i in the group: the one hash fits a single guess of
//! all these bits of Δ. With probability 2^-(k·groups) the guess is right, and tells what the groups' rows are, which are
//! then worth nothing; in the others u is one string. That is the leakage which the functionality of the paper grants:
//! c bits of Δ guessed, an end if wrong. It is worth nothing to the cheater as long as rows are hashed, tweaked by
//! their number, before use.
//!
//! *Malicious sender.* It sends nothing here.
//!
//! The oracles have fixed labels: a second set-up in one run takes a context of its own, from [`Context::derive`].
//!
//! Cost: bytes ⌈n/128⌉·16·(128/k - 1, or 128/k for chosen choices), 4 KiB of setup, and for each started 127 blocks of a
//! checked run one more block and 48 bytes; 2^k/k AES blocks an OT on either side.

use subtle::ConstantTimeEq;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::gf128::{self, RowProducts};
use vesica_crypto::hash::{Context, Label, Oracle};
use vesica_crypto::prg::Prg;
use vesica_crypto::transpose::{COLUMNS, ROWS, Tile, transpose};
use vesica_crypto::weighted_xor_sum::{BLOCKS, TileRow};
use zeroize::Zeroize;

use crate::base::cache::{self, BaseOtCache, Chosen, LEAST_LEVEL};
use crate::security::Security;
use crate::small_field;
pub use crate::small_field::Width;
use crate::{CotReceiver, CotSender, Error, Seed};

#[cfg(any(test, feature = "testing"))]
pub mod cheating;

/// Tiles of a checked chunk.
const TILES: usize = 16;
/// Blocks of a checked chunk, the one that hides the others among them.
const PLACES: usize = TILES * BLOCKS;
/// Bytes of the hash of the checked rows.
const HASH: usize = 32;

const BASE: Label = Label::new("softspoken: base OT");
const SETUP: Label = Label::new("softspoken: setup");
const CHALLENGE: Label = Label::new("softspoken: coefficients of the check");
const CHECKED: Label = Label::new("softspoken: checked rows");

const EMPTY: Tile = [[Block::ZERO; BLOCKS]; ROWS];

/// -log2 of the probability that R takes two different errors to one value, for one evaluation of the challenge hash.
#[must_use]
pub fn collision_bits(width: Width) -> u32 {
    let groups = width.groups() as u32;
    128 - (groups * (groups - 1) / 2).next_power_of_two().ilog2()
}

/// A failed check tells something of Δ, and with one Δ for many runs that would add up.
fn check_keeping(security: Security, cache: Option<&BaseOtCache>) {
    assert!(security == Security::SemiHonest || cache.is_none(), "kept base OTs are for semi-honest runs");
}

/// What both sides know of a run.
struct Terms {
    width: Width,
    security: Security,
    /// Of context, label and setup message.
    challenge: Oracle,
    checked: Oracle,
    chunk: u64,
}

impl Terms {
    fn new(context: &Context, width: Width, security: Security, message: &[u8]) -> Self {
        let mut key = [0; 32];
        context.hash(SETUP, message, &mut key);
        let mut bound = [0; 32];
        context.hash_parts(CHALLENGE, &[&key], &mut bound);
        Self {
            width,
            security,
            challenge: Oracle::with_key(bound),
            checked: context.oracle(CHECKED),
            chunk: 0,
        }
    }

    /// Blocks that one chunk yields.
    fn places(&self) -> usize {
        match self.security {
            Security::SemiHonest => BLOCKS,
            Security::Malicious => PLACES - 1,
        }
    }

    /// Blocks generated for `places` used ones.
    fn generated(&self, places: usize) -> usize {
        places + usize::from(self.security == Security::Malicious)
    }

    /// Bytes of the receiver's message for a chunk.
    fn bytes(&self, places: usize, chosen: bool) -> usize {
        let shifts = self.width.groups() - usize::from(!chosen);
        let check = if self.security == Security::Malicious { Block::BYTES + HASH } else { 0 };
        self.generated(places) * shifts * Block::BYTES + check
    }

    /// The coefficients of the next check, one for each block of a chunk, the last used one being 1.
    fn coefficients(&mut self, shifts: &[u8], generated: usize) -> Vec<Block> {
        // The number makes a key: with it in front of the strings, the hash's pieces would lie across their ends, and most
        // of it would go one piece at a time.
        let (mut key, mut seed) = ([0; 32], [0; 16]);
        self.challenge.hash(&self.chunk.to_le_bytes(), &mut key);
        Oracle::with_key(key).hash(shifts, &mut seed);
        self.chunk += 1;
        let mut coefficients = vec![Block::ZERO; generated];
        Prg::from_seed(seed).fill_blocks(&mut coefficients[..generated - 1]);
        coefficients[generated - 1] = Block::from(1u128);
        coefficients
    }
}

/// How many bytes the receiver sends for `count` correlated OTs, the setup aside.
#[must_use]
pub fn bytes(width: Width, security: Security, count: usize, chosen: bool) -> usize {
    let terms = Terms::new(&Context::new(&[0; 32], "", b"", 0, 0), width, security, b"");
    let places = count.div_ceil(Block::BITS);
    let (whole, rest) = (places / terms.places(), places % terms.places());
    whole * terms.bytes(terms.places(), chosen) + if rest > 0 { terms.bytes(rest, chosen) } else { 0 }
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
pub struct Receiver {
    field: small_field::Receiver,
    terms: Terms,
    tiles: Vec<Tile>,
    sums: Vec<TileRow>,
}

impl Receiver {
    /// `base` are both strings of 128 base OTs; the message is for [`Sender::new`].
    ///
    /// # Panics
    /// If there are not 128 base OTs.
    #[must_use]
    pub fn new(
        context: &Context,
        width: Width,
        security: Security,
        base: &[[Block; 2]],
        rng: &mut dyn rand_core::CryptoRng,
    ) -> (Self, Vec<u8>) {
        let (field, message) = small_field::Receiver::new(context, width, security, base, rng);
        let terms = Terms::new(context, width, security, &message);
        let sums = vec![[Block::ZERO; BLOCKS]; width.groups()];
        (Self { field, terms, tiles: Vec::new(), sums }, message)
    }

    /// Base OTs and setup over a channel.
    ///
    /// # Errors
    /// If the connection fails or the partner's base OT message is not valid.
    ///
    /// # Panics
    /// If a maliciously secure run would keep base OTs.
    pub fn setup(
        context: &Context,
        width: Width,
        security: Security,
        cache: Option<&BaseOtCache>,
        channel: &mut dyn Channel,
        rng: &mut dyn rand_core::CryptoRng,
    ) -> Result<Self, Error> {
        check_keeping(security, cache);
        let base = cache::send(LEAST_LEVEL, context, BASE, ROWS, cache, channel, rng)?;
        let mut seeds: Vec<[Block; 2]> = base.iter().map(|[zero, one]| [zero.block(), one.block()]).collect();
        let (receiver, message) = Self::new(context, width, security, &seeds, rng);
        seeds.as_flattened_mut().zeroize();
        channel.send(&message)?;
        Ok(receiver)
    }

    /// The blocks that the next chunk can yield at most.
    pub(crate) fn chunk_places(&self) -> usize {
        self.terms.places()
    }

    /// One chunk of `places` blocks: v in tiles, u in `strings`. With `chosen`, `strings` are taken as u; else they
    /// become it. What the sender needs is appended to `message`.
    pub(crate) fn chunk(&mut self, strings: &mut [Block], chosen: bool, message: &mut Vec<u8>) -> &[Tile] {
        let generated = self.terms.generated(strings.len());
        self.tiles.resize(generated.div_ceil(BLOCKS), EMPTY);
        let (groups, start) = (usize::from(!chosen)..self.sums.len(), message.len());
        message.reserve(generated * groups.len() * Block::BYTES);
        let mut hidden = Block::ZERO;
        for (index, tile) in self.tiles.iter_mut().enumerate() {
            self.field.tile(tile, &mut self.sums);
            let begin = index * BLOCKS;
            let used = strings.len().saturating_sub(begin).min(BLOCKS);
            let sent = (generated - begin).min(BLOCKS);
            let mut u = self.sums[0];
            if chosen {
                u[..used].copy_from_slice(&strings[begin..begin + used]);
                // The block that hides the others is random whoever chose those.
            } else {
                strings[begin..begin + used].copy_from_slice(&u[..used]);
            }
            if generated > strings.len() && sent > used {
                hidden = u[sent - 1];
            }
            for sum in &self.sums[groups.clone()] {
                let mut shift = u;
                for block in 0..BLOCKS {
                    shift[block] ^= sum[block];
                }
                message.extend_from_slice(Block::slice_as_bytes(&shift[..sent]));
            }
        }
        if self.terms.security == Security::Malicious {
            let coefficients = self.terms.coefficients(&message[start..], generated);
            let sum = gf128::inner_product(strings, &coefficients[..strings.len()]).to_block() ^ hidden;
            let mut rows = checked_rows(&self.tiles, &coefficients);
            let mut hash = [0; HASH];
            self.terms.checked.hash(Block::slice_as_bytes(&rows), &mut hash);
            rows.zeroize();
            message.extend_from_slice(sum.as_bytes());
            message.extend_from_slice(&hash);
        }
        &self.tiles
    }

    /// Correlated OTs with random choices, which are written to `choices`: one bit less for each to send.
    ///
    /// # Errors
    /// Those of the channel.
    ///
    /// # Panics
    /// If `choices` has fewer bits than there are rows.
    pub fn extend_random(
        &mut self,
        choices: &mut [u8],
        rows: &mut [[Block; 1]],
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        self.extend_to(false, choices, rows, |message| Ok(channel.send(message)?))
    }

    /// Correlated OTs, the message being handed to `send` piece by piece: with the given choices if `chosen`, else with
    /// random ones, which are written to `choices`.
    ///
    /// # Errors
    /// Those of `send`.
    ///
    /// # Panics
    /// If `choices` has fewer bits than there are rows.
    pub fn extend_to(
        &mut self,
        chosen: bool,
        choices: &mut [u8],
        rows: &mut [[Block; 1]],
        mut send: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        assert!(choices.len() * 8 >= rows.len(), "one choice for each row");
        let places = self.chunk_places();
        let (mut message, mut strings) = (Vec::new(), Vec::new());
        let choices = choices.chunks_mut(places * Block::BYTES);
        for (rows, choices) in rows.as_flattened_mut().chunks_mut(places * Block::BITS).zip(choices) {
            strings.clear();
            strings.resize(rows.len().div_ceil(Block::BITS), Block::ZERO);
            let bytes = choices.len().min(strings.len() * Block::BYTES);
            if chosen {
                Block::slice_as_mut_bytes(&mut strings)[..bytes].copy_from_slice(&choices[..bytes]);
            }
            message.clear();
            columns(self.chunk(&mut strings, chosen, &mut message), rows);
            if !chosen {
                choices[..bytes].copy_from_slice(&Block::slice_as_bytes(&strings)[..bytes]);
            }
            send(&message)?;
        }
        strings.zeroize();
        Ok(())
    }
}

impl CotReceiver<1> for Receiver {
    fn extend(
        &mut self,
        choices: &[u8],
        rows: &mut [[Block; 1]],
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        let mut choices = choices.to_vec();
        let result = self.extend_to(true, &mut choices, rows, |message| Ok(channel.send(message)?));
        choices.zeroize();
        result
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.tiles.as_flattened_mut().as_flattened_mut().zeroize();
        self.sums.as_flattened_mut().zeroize();
    }
}

/// The side that learns q_j; the base OTs' receiver, its choices being the bits of Δ.
pub struct Sender {
    field: small_field::Sender,
    terms: Terms,
    tiles: Vec<Tile>,
}

impl Sender {
    /// `base` are the strings of 128 base OTs whose choices were the bits of `delta`, `message` that of
    /// [`Receiver::new`].
    ///
    /// # Errors
    /// If the message has another length than it must, or (malicious security) its trees are not those of one function.
    ///
    /// # Panics
    /// If there are not 128 base OTs.
    pub fn new(
        context: &Context,
        width: Width,
        security: Security,
        delta: Block,
        base: &[Block],
        message: &[u8],
    ) -> Result<Self, Error> {
        let field = small_field::Sender::new(context, width, security, delta, base, message)?;
        Ok(Self { field, terms: Terms::new(context, width, security, message), tiles: Vec::new() })
    }

    /// Base OTs for a random Δ, and setup over a channel.
    ///
    /// # Errors
    /// If the connection fails or the partner's messages are not what they must be.
    ///
    /// # Panics
    /// If a maliciously secure run would keep base OTs.
    pub fn setup(
        context: &Context,
        width: Width,
        security: Security,
        cache: Option<&BaseOtCache>,
        channel: &mut dyn Channel,
        rng: &mut dyn rand_core::CryptoRng,
    ) -> Result<Self, Error> {
        check_keeping(security, cache);
        let Chosen { choices, seeds } =
            cache::receive(LEAST_LEVEL, context, BASE, ROWS, cache, channel, rng)?;
        let mut delta = Block::ZERO;
        Block::slice_as_mut_bytes(std::slice::from_mut(&mut delta)).copy_from_slice(&choices);
        let mut seeds: Vec<Block> = seeds.iter().map(Seed::block).collect();
        let mut message = vec![0; small_field::message_bytes(width, security)];
        channel.recv_exact(&mut message)?;
        let sender = Self::new(context, width, security, delta, &seeds, &message);
        seeds.zeroize();
        sender
    }

    /// The blocks that the next chunk can yield at most.
    pub(crate) fn chunk_places(&self) -> usize {
        self.terms.places()
    }

    /// Bytes of the receiver's message for the next chunk of so many places.
    pub(crate) fn chunk_bytes(&self, places: usize, chosen: bool) -> usize {
        self.terms.bytes(places, chosen)
    }

    /// One chunk of `places` blocks: w in tiles.
    ///
    /// # Errors
    /// If the check fails or the message has another length than it must.
    pub(crate) fn chunk(&mut self, places: usize, chosen: bool, message: &[u8]) -> Result<&[Tile], Error> {
        if message.len() != self.terms.bytes(places, chosen) {
            return Err(Error::MessageLength { what: "corrections of an OT extension" });
        }
        let generated = self.terms.generated(places);
        let groups = usize::from(!chosen)..self.terms.width.groups();
        let (shifts, check) = message.split_at(generated * groups.len() * Block::BYTES);
        let mut unread = shifts;
        self.tiles.resize(generated.div_ceil(BLOCKS), EMPTY);
        for (index, tile) in self.tiles.iter_mut().enumerate() {
            self.field.tile(tile);
            let sent = (generated - index * BLOCKS).min(BLOCKS);
            for group in groups.clone() {
                let (now, later) = unread.split_at(sent * Block::BYTES);
                unread = later;
                self.field.shift(tile, group, now.as_chunks().0);
            }
        }
        if let Some((sum, hash)) = check.split_first_chunk::<16>() {
            let coefficients = self.terms.coefficients(shifts, generated);
            let (delta, sum) = (self.field.delta(), Block::from_bytes(*sum));
            let mut rows = checked_rows(&self.tiles, &coefficients);
            rows.iter_mut().enumerate().for_each(|(i, row)| *row ^= sum & Block::mask(delta.bit(i)));
            let mut expected = [0; HASH];
            self.terms.checked.hash(Block::slice_as_bytes(&rows), &mut expected);
            rows.zeroize();
            if !bool::from(expected.as_slice().ct_eq(hash)) {
                return Err(Error::Inconsistent);
            }
        }
        Ok(&self.tiles)
    }

    /// Correlated OTs; `chosen` says whether the receiver chooses ([`CotReceiver::extend`]) or not.
    ///
    /// # Errors
    /// Those of the channel, and [`Error::Inconsistent`] if a check fails (malicious security): the run must end then.
    pub fn extend_as(
        &mut self,
        chosen: bool,
        rows: &mut [[Block; 1]],
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        self.extend_from(chosen, rows, |message| Ok(channel.recv_exact(message)?))
    }

    /// Correlated OTs, the receiver's message being asked from `receive` piece by piece.
    ///
    /// # Errors
    /// Those of `receive`, and as [`extend_as`](Self::extend_as).
    pub fn extend_from(
        &mut self,
        chosen: bool,
        rows: &mut [[Block; 1]],
        mut receive: impl FnMut(&mut [u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut message = Vec::new();
        for rows in rows.as_flattened_mut().chunks_mut(self.chunk_places() * Block::BITS) {
            let places = rows.len().div_ceil(Block::BITS);
            message.resize(self.chunk_bytes(places, chosen), 0);
            receive(&mut message)?;
            columns(self.chunk(places, chosen, &message)?, rows);
        }
        Ok(())
    }
}

impl CotSender<1> for Sender {
    fn delta(&self) -> [Block; 1] {
        [self.field.delta()]
    }

    fn extend(&mut self, rows: &mut [[Block; 1]], channel: &mut dyn Channel) -> Result<(), Error> {
        self.extend_as(true, rows, channel)
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.tiles.as_flattened_mut().as_flattened_mut().zeroize();
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
