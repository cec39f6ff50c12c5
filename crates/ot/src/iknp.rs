//! IKNP: correlated OT from a base OT for each of κ columns, κ bits an OT, against semi-honest parties.
//!
//! The *sender* gets rows q_j and holds Δ, the *receiver* has choice bits r_j and gets rows t_j, with q_j =
//! t_j ⊕ r_j·Δ. [`random`](crate::random) and [`chosen`](crate::chosen) make OTs of strings from the rows.
//!
//! **Security:** semi-honest; the message hides the choices as well as the generator hides its seeds.
//!
//! Source: Ishai, Kilian, Nissim, Petrank, *Extending oblivious transfers efficiently*, CRYPTO 2003, Figure
//! 1, in the form of Asharov, Lindell, Schneider, Zohner, CCS 2013, Protocol 5.1, where the columns
//! themselves are outputs of the generator and only u^i is sent.
//!
//! ```text
//! receiver: both seeds of base OT i, i = 1..κ                sender: Δ ←$ {0,1}^κ, seed k^i of choice Δ_i
//! t^i = G(k^i_0)
//! u^i = t^i ⊕ G(k^i_1) ⊕ r           ── u^i, all i ──►      q^i = G(k^i) ⊕ Δ_i·u^i
//! t_j = row j of the t^i                                     q_j = row j of the q^i
//! ```
//!
//! κ is 80, 112, 128, 192 or 256. Exactly κ columns are sent: κ·16·⌈n/128⌉ bytes for n OTs of one call. Up to 128
//! the generator is AES-128; above it is AES-256, which has the strength of the level, as the base OTs have
//! ([`cache`]).
//!
//! Rows are made in tiles of 1024: κ strings of 1024 bits are expanded, masked, and transposed while they are
//! in the first-level cache. They are sent tile by tile and column by column; of a call's last tile, only the
//! blocks that hold rows are sent. A call starts with a new tile, so no bit of a generator is used twice, and
//! calls for multiples of 1024 rows send the same as one call for all of them. The bytes do not depend on the
//! number of threads.
//!
//! Cost: κ base OTs once; per OT 2κ/128 blocks of the generator for the receiver, κ/128 for the sender.

use core::convert::Infallible;

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::par;
use vesica_crypto::prg::Streams;
use vesica_crypto::transpose::{COLUMNS as TILE, ROWS, Tile, transpose};
use vesica_crypto::wide_prg::WideStreams;
use zeroize::{Zeroize, Zeroizing};

use crate::base::KeyAgreement;
use crate::base::bit;
use crate::base::cache::{self, Chosen, Origin};
use crate::cot::{CotReceiver, CotSender};
use crate::error::Error;
use crate::security::SemiHonest;
use crate::seed::Seed;

/// Blocks of a string of a tile.
const BLOCKS: usize = TILE / Block::BITS;

/// Tiles of a message, for each thread: their strings stay in the second-level cache.
const CHUNK_TILES: usize = 8;

const EMPTY: Tile = [[Block::ZERO; BLOCKS]; ROWS];

/// The levels κ that are supported.
pub const LEVELS: [u32; 5] = [80, 112, 128, 192, 256];

/// Bytes that the receiver sends for `count` OTs of one call, at level `columns`.
#[must_use]
pub fn bytes(columns: u32, count: usize) -> u64 {
    u64::from(columns) * (Block::BYTES * count.div_ceil(Block::BITS)) as u64
}

/// Bytes of the base OTs: from the sender, from the receiver of the extension.
#[must_use]
pub fn setup_bytes(agreement: KeyAgreement, columns: u32) -> [u64; 2] {
    cache::bytes(agreement, columns, columns.into())
}

/// Whether a level has so many columns, and their rows `W` blocks.
///
/// # Errors
/// If not.
fn check<const W: usize>(columns: usize) -> Result<(), Error> {
    let fits = LEVELS.iter().any(|level| *level as usize == columns) && W == columns.div_ceil(ROWS);
    if fits { Ok(()) } else { Err(Error::UnfitColumns { columns, blocks: W }) }
}

/// The generators of up to 128 columns.
enum Generators {
    Narrow(Streams),
    Wide(WideStreams),
}

impl Generators {
    /// The generators of all columns, 128 to each part of a row.
    fn of<'a, const W: usize>(mut seeds: impl ExactSizeIterator<Item = &'a Seed>) -> [Self; W] {
        let wide = seeds.len() > ROWS;
        core::array::from_fn(|_| {
            let part = seeds.by_ref().take(ROWS);
            if wide {
                let mut bytes: Vec<[u8; 32]> = part.map(|seed| *seed.as_bytes()).collect();
                let streams = WideStreams::from_seeds(&bytes);
                bytes.zeroize();
                Generators::Wide(streams)
            } else {
                let mut blocks: Vec<Block> = part.map(Seed::block).collect();
                let streams = Streams::from_seeds(&blocks);
                blocks.zeroize();
                Generators::Narrow(streams)
            }
        })
    }

    /// The strings of tile number `tile`.
    fn fill(&self, tile: u64, strings: &mut [[Block; BLOCKS]]) {
        let first = tile * BLOCKS as u64;
        match self {
            Generators::Narrow(streams) => streams.fill_rows_at(first, strings),
            Generators::Wide(streams) => streams.fill_rows_at(first, strings),
        }
    }
}

/// Puts the transposed tile into block `part` of the rows.
fn into_rows<const W: usize>(tile: &Tile, part: usize, rows: &mut [[Block; W]]) {
    if W == 1
        && let Ok(columns) = rows.as_flattened_mut().try_into()
    {
        return transpose(tile, columns);
    }
    let mut columns = [Block::ZERO; TILE];
    transpose(tile, &mut columns);
    for (row, column) in rows.iter_mut().zip(&columns) {
        row[part] = *column;
    }
    columns.zeroize();
}

/// Calls `part` with the strings of `rows` rows in the order in which they are sent: tile by tile, column by
/// column, and of the last tile only the blocks that hold rows.
fn for_each_part<E>(
    strings: &mut [[Block; BLOCKS]],
    columns: usize,
    rows: usize,
    mut part: impl FnMut(&mut [u8]) -> Result<(), E>,
) -> Result<(), E> {
    let (whole, rest) = strings.split_at_mut(rows / TILE * columns);
    part(Block::slice_as_mut_bytes(whole.as_flattened_mut()))?;
    let blocks = (rows % TILE).div_ceil(Block::BITS);
    if blocks > 0 {
        for string in rest.iter_mut().take(columns) {
            part(Block::slice_as_mut_bytes(&mut string[..blocks]))?;
        }
    }
    Ok(())
}

/// The choices of a tile as a string; those beyond its last row are zero.
pub(crate) fn choice_string(choices: &[u8], rows: usize) -> [Block; BLOCKS] {
    let mut string = [Block::ZERO; BLOCKS];
    let bytes = Block::slice_as_mut_bytes(&mut string);
    bytes[..rows.div_ceil(8)].copy_from_slice(&choices[..rows.div_ceil(8)]);
    for j in rows..rows.next_multiple_of(8) {
        bytes[j / 8] &= !(bit(choices, j) << (j % 8));
    }
    string
}

/// The tiles of one set-up: how many have been made, and by how many threads.
struct Tiles {
    columns: usize,
    /// The next tile.
    next: u64,
    threads: usize,
    /// The buffer of the strings that were sent last, for the next call.
    buffer: Vec<[Block; BLOCKS]>,
}

impl Tiles {
    fn new(columns: usize) -> Self {
        Self { columns, next: 0, threads: 1, buffer: Vec::new() }
    }

    /// Rows of a message.
    fn chunk(&self) -> usize {
        CHUNK_TILES * self.threads * TILE
    }

    /// A buffer for the strings of one message of a call for so many rows.
    fn strings(&mut self, rows: usize) -> Vec<[Block; BLOCKS]> {
        let mut strings = core::mem::take(&mut self.buffer);
        strings.resize(rows.min(self.chunk()).div_ceil(TILE) * self.columns, [Block::ZERO; BLOCKS]);
        strings
    }

    /// Runs `work(number, task, tile)` for the next tiles, one for each task. The tile is scratch memory.
    fn make<T: Send>(
        &mut self,
        tasks: impl ExactSizeIterator<Item = T> + Send,
        work: impl Fn(u64, T, &mut Tile) + Sync,
    ) {
        let first = self.next;
        self.next += tasks.len() as u64;
        if self.threads == 1 {
            let mut tile = EMPTY;
            (first..).zip(tasks).for_each(|(number, task)| work(number, task, &mut tile));
            return tile.as_flattened_mut().zeroize();
        }
        let Ok(()) = par::for_each(self.threads, tasks, |index, task| {
            let mut tile = EMPTY;
            work(first + index as u64, task, &mut tile);
            tile.as_flattened_mut().zeroize();
            Ok::<_, Infallible>(())
        });
    }
}

/// The side that holds Δ; the base OTs' receiver.
pub struct Sender<const W: usize> {
    delta: [Block; W],
    generators: [Generators; W],
    tiles: Tiles,
}

impl<const W: usize> Sender<W> {
    /// Draws Δ and plays the base OTs' receiver, or takes cached ones.
    ///
    /// # Errors
    /// If the connection fails, the partner's message is not valid, or no level has so many columns in rows
    /// of `W` blocks.
    pub fn setup(
        context: &Context,
        label: Label,
        columns: u32,
        origin: Origin<'_>,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self, Error> {
        let (level, columns) = (columns, columns as usize);
        check::<W>(columns)?;
        Self::from_chosen(&cache::receive(level, context, label, columns, origin, channel, rng)?)
    }

    /// Starts from base OTs done elsewhere, whose choices are the bits of Δ.
    ///
    /// # Errors
    /// If no level has so many columns in rows of `W` blocks, or there are more or fewer choices.
    pub fn from_chosen(base: &Chosen) -> Result<Self, Error> {
        let Chosen { choices, seeds } = base;
        check::<W>(seeds.len())?;
        if choices.len() != seeds.len().div_ceil(8) {
            return Err(Error::UnfitBaseOts);
        }
        let mut delta = Zeroizing::new([Block::ZERO; W]);
        Block::slice_as_mut_bytes(&mut *delta)[..choices.len()].copy_from_slice(choices);
        Self::from_base(&delta, seeds)
    }

    /// Starts from base OTs done elsewhere: Δ, and of each OT the string that its bit chose. Bits of Δ beyond
    /// the columns are ignored.
    ///
    /// # Errors
    /// If no level has so many columns in rows of `W` blocks.
    pub fn from_base(delta: &[Block; W], seeds: &[Seed]) -> Result<Self, Error> {
        check::<W>(seeds.len())?;
        let mut delta = *delta;
        Block::slice_as_mut_bytes(&mut delta)[seeds.len() / 8..].fill(0);
        Ok(Self { delta, generators: Generators::of(seeds.iter()), tiles: Tiles::new(seeds.len()) })
    }

    /// Sets how many threads make rows; the default is one.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.tiles.threads = threads.max(1);
        self
    }

    /// Correlated rows. `receive` is asked for the receiver's message, part by part.
    ///
    /// # Errors
    /// Those of `receive`.
    pub(crate) fn extend_from(
        &mut self,
        rows: &mut [[Block; W]],
        mut receive: impl FnMut(&mut [u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (columns, delta, generators) = (self.tiles.columns, &self.delta, &self.generators);
        let mut strings = self.tiles.strings(rows.len());
        for rows in rows.chunks_mut(self.tiles.chunk()) {
            for_each_part(&mut strings, columns, rows.len(), &mut receive)?;
            let tiles = rows.chunks_mut(TILE).zip(strings.chunks(columns));
            self.tiles.make(tiles, |number, (rows, u), tile| {
                for (part, u) in u.chunks(ROWS).enumerate() {
                    let (q, unused) = tile.split_at_mut(u.len());
                    unused.fill([Block::ZERO; BLOCKS]);
                    generators[part].fill(number, q);
                    // q^i = G(k^i) ⊕ Δ_i·u^i
                    for (i, (q, u)) in q.iter_mut().zip(u).enumerate() {
                        let mask = Block::mask(delta[part].bit(i));
                        for block in 0..BLOCKS {
                            q[block] ^= u[block] & mask;
                        }
                    }
                    into_rows(tile, part, rows);
                }
            });
        }
        self.tiles.buffer = strings;
        Ok(())
    }
}

impl<const W: usize> CotSender<W> for Sender<W> {
    type Security = SemiHonest;

    fn delta(&self) -> [Block; W] {
        self.delta
    }

    fn extend(&mut self, rows: &mut [[Block; W]], channel: &mut dyn Channel) -> Result<(), Error> {
        self.extend_from(rows, |part| Ok(channel.recv_exact(part)?))
    }
}

impl<const W: usize> Drop for Sender<W> {
    fn drop(&mut self) {
        // The generators wipe themselves.
        self.delta.zeroize();
    }
}

/// The side that holds the choices; the base OTs' sender.
pub struct Receiver<const W: usize> {
    generators: [[Generators; W]; 2],
    tiles: Tiles,
}

impl<const W: usize> Receiver<W> {
    /// Plays the base OTs' sender, or takes cached ones.
    ///
    /// # Errors
    /// If the connection fails, the partner's message is not valid, or no level has so many columns in rows
    /// of `W` blocks.
    pub fn setup(
        context: &Context,
        label: Label,
        columns: u32,
        origin: Origin<'_>,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self, Error> {
        let (level, columns) = (columns, columns as usize);
        check::<W>(columns)?;
        Self::from_base(&cache::send(level, context, label, columns, origin, channel, rng)?)
    }

    /// Starts from base OTs done elsewhere: both strings of each.
    ///
    /// # Errors
    /// If no level has so many columns in rows of `W` blocks.
    pub fn from_base(seeds: &[[Seed; 2]]) -> Result<Self, Error> {
        check::<W>(seeds.len())?;
        let generators = [0, 1].map(|choice| Generators::of(seeds.iter().map(|pair| &pair[choice])));
        Ok(Self { generators, tiles: Tiles::new(seeds.len()) })
    }

    /// Sets how many threads make rows; the default is one.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.tiles.threads = threads.max(1);
        self
    }

    /// Correlated rows whose message goes to `send`, part by part.
    ///
    /// # Errors
    /// Those of `send`.
    ///
    /// # Panics
    /// If there are fewer choices than rows.
    pub(crate) fn extend_to(
        &mut self,
        choices: &[u8],
        rows: &mut [[Block; W]],
        mut send: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        assert!(choices.len() >= rows.len().div_ceil(8), "a choice for each row");
        let (columns, generators, chunk) = (self.tiles.columns, &self.generators, self.tiles.chunk());
        let mut strings = self.tiles.strings(rows.len());
        for (rows, choices) in rows.chunks_mut(chunk).zip(choices.chunks(chunk / 8)) {
            let count = rows.len();
            let tiles = rows.chunks_mut(TILE).zip(choices.chunks(TILE / 8)).zip(strings.chunks_mut(columns));
            self.tiles.make(tiles, |number, ((rows, choices), u), tile| {
                let choices = Zeroizing::new(choice_string(choices, rows.len()));
                for (part, u) in u.chunks_mut(ROWS).enumerate() {
                    let (t, unused) = tile.split_at_mut(u.len());
                    unused.fill([Block::ZERO; BLOCKS]);
                    generators[0][part].fill(number, t);
                    generators[1][part].fill(number, u);
                    // u^i = t^i ⊕ G(k^i_1) ⊕ r
                    for (u, t) in u.iter_mut().zip(&*t) {
                        for block in 0..BLOCKS {
                            u[block] ^= t[block] ^ choices[block];
                        }
                    }
                    into_rows(tile, part, rows);
                }
            });
            for_each_part(&mut strings, columns, count, |part| send(part))?;
        }
        self.tiles.buffer = strings;
        Ok(())
    }
}

impl<const W: usize> CotReceiver<W> for Receiver<W> {
    type Security = SemiHonest;

    fn extend(
        &mut self,
        choices: &[u8],
        rows: &mut [[Block; W]],
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        self.extend_to(choices, rows, |part| Ok(channel.send(part)?))?;
        Ok(channel.flush()?)
    }
}

#[cfg(test)]
mod tests;
