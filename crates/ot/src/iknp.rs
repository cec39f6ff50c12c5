//! IKNP: correlated OT from a base OT for each of κ columns, κ bits an OT, against semi-honest parties.
//!
//! The *sender* gets rows q_j and holds Δ, the *receiver* has choice bits r_j and gets rows t_j, with q_j = t_j ⊕ r_j·Δ.
//! What is made of the rows is the caller's: strings of a random OT are hashes of them, chosen or correlated strings are
//! sent under those.
//!
//! **Security:** semi-honest; the rows hide the choices as well as the generator hides its seeds.
//!
//! Source: Ishai, Kilian, Nissim, Petrank, *Extending oblivious transfers efficiently*, CRYPTO 2003, Figure 1, in the form
//! of Asharov, Lindell, Schneider, Zohner, CCS 2013, Protocol 5.1, where the columns themselves are outputs of the
//! generator and only u^i is sent.
//!
//! ```text
//! receiver: both seeds of base OT i, i = 1..κ                sender: Δ ←$ {0,1}^κ, seed k^i of choice Δ_i
//! t^i = G(k^i_0)
//! u^i = t^i ⊕ G(k^i_1) ⊕ r           ── u^i, all i ──►      q^i = G(k^i) ⊕ Δ_i·u^i
//! t_j = row j of the t^i                                     q_j = row j of the q^i
//! ```
//!
//! κ is 80, 128, 192 or 256: exactly so many columns travel, κ·16·⌈n/128⌉ bytes for n OTs of one call. Up to 128 the
//! generator is AES-128, above it AES-256, which has the strength of the level.
//!
//! Everything is done in tiles of 128 columns and 1024 rows, expanded, masked and transposed in cache.

use rand_core::CryptoRng;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::prg::Streams;
use vesica_crypto::transpose::{COLUMNS, ROWS, Tile, transpose};
use vesica_crypto::wide_prg::WideStreams;
use vesica_net::Channel;
use zeroize::Zeroize;

use crate::base::{bit, masny_rindal};
use crate::{CotReceiver, CotSender, Error, Seed};

/// Blocks in a column of a tile.
const BLOCKS: usize = COLUMNS / Block::BITS;

const EMPTY: Tile = [[Block::ZERO; BLOCKS]; ROWS];

/// The levels κ that there are columns for.
pub const LEVELS: [u32; 4] = [80, 128, 192, 256];

/// Bytes that the receiver sends for `count` OTs of one call, at level `columns`.
#[must_use]
pub fn bytes(columns: u32, count: usize) -> u64 {
    u64::from(columns) * (Block::BYTES * count.div_ceil(Block::BITS)) as u64
}

/// Bytes of the base OTs: from the sender, from the receiver of the extension.
#[must_use]
pub fn setup_bytes(columns: u32) -> [u64; 2] {
    [u64::from(columns) * masny_rindal::RECEIVER_BYTES as u64, masny_rindal::SENDER_BYTES as u64]
}

/// The generators of up to 128 columns.
enum Generators {
    Narrow(Streams),
    Wide(WideStreams),
}

impl Generators {
    /// Generators for part `part` of the columns, 128 of them or what is left.
    fn new(columns: u32, part: usize, seed: impl Fn(usize) -> Seed) -> Self {
        let first = part * ROWS;
        let seeds: Vec<Seed> = (first..(first + ROWS).min(columns as usize)).map(seed).collect();
        if columns <= 128 {
            let mut blocks: Vec<Block> = seeds.iter().map(Seed::block).collect();
            let streams = Streams::from_seeds(&blocks);
            blocks.zeroize();
            Generators::Narrow(streams)
        } else {
            let mut bytes: Vec<[u8; 32]> = seeds.iter().map(|seed| *seed.as_bytes()).collect();
            let streams = WideStreams::from_seeds(&bytes);
            bytes.zeroize();
            Generators::Wide(streams)
        }
    }

    /// The next rows of a tile.
    fn fill(&mut self, tile: &mut [[Block; BLOCKS]]) {
        match self {
            Generators::Narrow(streams) => streams.fill_rows(tile),
            Generators::Wide(streams) => streams.fill_rows(tile),
        }
    }
}

/// Columns of part `part`.
fn width(columns: u32, part: usize) -> usize {
    (columns as usize).saturating_sub(part * ROWS).min(ROWS)
}

fn check<const W: usize>(columns: u32) {
    assert!(LEVELS.contains(&columns), "no level of {columns} columns");
    assert_eq!(W, (columns as usize).div_ceil(ROWS), "blocks in a row of {columns} columns");
}

/// The side that holds Δ.
pub struct Sender<const W: usize> {
    columns: u32,
    delta: [Block; W],
    generators: [Generators; W],
}

impl<const W: usize> Sender<W> {
    /// Draws Δ and plays the base OTs' receiver.
    ///
    /// # Errors
    /// If the connection fails or the partner's message is not valid.
    ///
    /// # Panics
    /// If there is no such level, or its rows do not have `W` blocks.
    pub fn setup(
        context: &Context,
        label: Label,
        columns: u32,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self, Error> {
        check::<W>(columns);
        let mut delta = [Block::ZERO; W];
        rng.fill_bytes(&mut Block::slice_as_mut_bytes(&mut delta)[..columns as usize / 8]);
        let choices = Block::slice_as_bytes(&delta);
        let seeds = masny_rindal::receive(context, label, choices, columns as usize, channel, rng)?;
        let generators =
            core::array::from_fn(|part| Generators::new(columns, part, |column| seeds[column].clone()));
        Ok(Self { columns, delta, generators })
    }
}

impl<const W: usize> CotSender<W> for Sender<W> {
    fn delta(&self) -> [Block; W] {
        self.delta
    }

    fn extend(&mut self, rows: &mut [[Block; W]], channel: &mut Channel) -> Result<(), Error> {
        let (mut tile, mut sent) = (EMPTY, EMPTY);
        let mut transposed = [Block::ZERO; COLUMNS];
        for rows in rows.chunks_mut(COLUMNS) {
            let blocks = rows.len().div_ceil(Block::BITS);
            for (part, generators) in self.generators.iter_mut().enumerate() {
                let width = width(self.columns, part);
                generators.fill(&mut tile[..width]);
                // The part before may have been wider.
                tile[width..].fill([Block::ZERO; BLOCKS]);
                let sent = &mut sent.as_flattened_mut()[..width * blocks];
                channel.recv_exact(Block::slice_as_mut_bytes(sent))?;
                for (i, (column, sent)) in tile[..width].iter_mut().zip(sent.chunks(blocks)).enumerate() {
                    let mask = Block::mask(self.delta[part].bit(i));
                    for (block, sent) in column.iter_mut().zip(sent) {
                        *block ^= *sent & mask;
                    }
                }
                transpose(&tile, &mut transposed);
                for (row, block) in rows.iter_mut().zip(&transposed) {
                    row[part] = *block;
                }
            }
        }
        tile.as_flattened_mut().zeroize();
        transposed.zeroize();
        Ok(())
    }
}

impl<const W: usize> Drop for Sender<W> {
    fn drop(&mut self) {
        // The generators wipe themselves.
        self.delta.zeroize();
    }
}

/// The side that holds the choices.
pub struct Receiver<const W: usize> {
    columns: u32,
    generators: [[Generators; 2]; W],
}

impl<const W: usize> Receiver<W> {
    /// Plays the base OTs' sender.
    ///
    /// # Errors
    /// If the connection fails or the partner's message is not valid.
    ///
    /// # Panics
    /// If there is no such level, or its rows do not have `W` blocks.
    pub fn setup(
        context: &Context,
        label: Label,
        columns: u32,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self, Error> {
        check::<W>(columns);
        let seeds = masny_rindal::send(context, label, columns as usize, channel, rng)?;
        let generators = core::array::from_fn(|part| {
            [0, 1].map(|choice| Generators::new(columns, part, |column| seeds[column][choice].clone()))
        });
        Ok(Self { columns, generators })
    }
}

impl<const W: usize> CotReceiver<W> for Receiver<W> {
    fn extend(
        &mut self,
        choices: &[u8],
        rows: &mut [[Block; W]],
        channel: &mut Channel,
    ) -> Result<(), Error> {
        assert!(choices.len() >= rows.len().div_ceil(8), "a choice for each row");
        let (mut tile, mut masked) = (EMPTY, EMPTY);
        let mut transposed = [Block::ZERO; COLUMNS];
        let mut bits = [Block::ZERO; BLOCKS];
        for (rows, choices) in rows.chunks_mut(COLUMNS).zip(choices.chunks(COLUMNS / 8)) {
            let blocks = rows.len().div_ceil(Block::BITS);
            // Choices beyond the last row are zero.
            bits.fill(Block::ZERO);
            let bytes = Block::slice_as_mut_bytes(&mut bits);
            bytes[..choices.len()].copy_from_slice(choices);
            for j in rows.len()..choices.len() * 8 {
                bytes[j / 8] &= !(bit(choices, j) << (j % 8));
            }
            for (part, [zero, one]) in self.generators.iter_mut().enumerate() {
                let width = width(self.columns, part);
                zero.fill(&mut tile[..width]);
                one.fill(&mut masked[..width]);
                tile[width..].fill([Block::ZERO; BLOCKS]);
                for (masked, column) in masked[..width].iter_mut().zip(&tile) {
                    for (block, (zero, choices)) in masked.iter_mut().zip(column.iter().zip(&bits)) {
                        *block ^= *zero ^ *choices;
                    }
                }
                for column in &masked[..width] {
                    channel.send(Block::slice_as_bytes(&column[..blocks]))?;
                }
                transpose(&tile, &mut transposed);
                for (row, block) in rows.iter_mut().zip(&transposed) {
                    row[part] = *block;
                }
            }
        }
        channel.flush()?;
        bits.zeroize();
        tile.as_flattened_mut().zeroize();
        masked.as_flattened_mut().zeroize();
        transposed.zeroize();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};
    use std::thread;
    use vesica_net::{Options, Traffic, memory};

    const LABEL: Label = Label::new("test: iknp");

    fn context() -> Context {
        Context::new(&[3; 32], "test", b"", 1, 2)
    }

    /// Δ, q, t and the receiver's traffic after setup, from calls of these counts with these choices.
    #[expect(clippy::type_complexity, reason = "a test's own tuple")]
    fn run<const W: usize>(
        columns: u32,
        counts: &[usize],
        choices: &[Vec<u8>],
    ) -> ([Block; W], Vec<[Block; W]>, Vec<[Block; W]>, [Traffic; 2]) {
        let (mut here, mut there) = memory::pair(&Options::default());
        thread::scope(|scope| {
            let sender = scope.spawn(move || {
                let rng = &mut StdRng::seed_from_u64(1);
                let mut sender = Sender::<W>::setup(&context(), LABEL, columns, &mut there, rng).unwrap();
                let mut all = Vec::new();
                for &count in counts {
                    let mut rows = vec![[Block::ZERO; W]; count];
                    sender.extend(&mut rows, &mut there).unwrap();
                    all.extend(rows);
                }
                (sender.delta(), all)
            });
            let rng = &mut StdRng::seed_from_u64(2);
            let mut receiver = Receiver::<W>::setup(&context(), LABEL, columns, &mut here, rng).unwrap();
            let before = here.traffic();
            let mut all = Vec::new();
            for (&count, choices) in counts.iter().zip(choices) {
                let mut rows = vec![[Block::ZERO; W]; count];
                receiver.extend(choices, &mut rows, &mut here).unwrap();
                all.extend(rows);
            }
            let (delta, q) = sender.join().unwrap();
            (delta, q, all, [before, here.traffic()])
        })
    }

    fn correlated<const W: usize>(columns: u32) {
        let counts = [1, 127, 128, 129, 0, 1023, 1024, 1025, 5000];
        let mut rng = StdRng::seed_from_u64(3);
        let choices = counts.map(|count: usize| {
            let mut choices = vec![0; count.div_ceil(8)];
            rng.fill_bytes(&mut choices);
            choices
        });
        let (delta, q, t, [before, after]) = run::<W>(columns, &counts, &choices);
        let expected: u64 = counts.iter().map(|&count| bytes(columns, count)).sum();
        assert_eq!(after.payload_sent - before.payload_sent, expected);
        assert_eq!(setup_bytes(columns), [before.payload_received, before.payload_sent]);
        let bits =
            counts.iter().zip(&choices).flat_map(|(&count, choices)| (0..count).map(|j| bit(choices, j)));
        for (j, ((q, t), bit)) in q.iter().zip(&t).zip(bits).enumerate() {
            for part in 0..W {
                assert!(q[part] ^ t[part] == delta[part] & Block::mask(bit == 1), "level {columns}, row {j}");
            }
        }
        // Columns beyond the level are not there, those below are all used.
        let used =
            |rows: &[[Block; W]], part: usize| rows.iter().fold(0, |all, row| all | row[part].to_u128());
        for part in 0..W {
            let all = u128::MAX >> (128 - width(columns, part));
            assert_eq!((used(&q, part), used(&t, part)), (all, all));
        }
        let different: std::collections::HashSet<_> = t.iter().map(|row| row.map(Block::to_u128)).collect();
        assert_eq!(different.len(), t.len());
    }

    #[test]
    fn rows_are_correlated_at_every_level() {
        correlated::<1>(80);
        correlated::<1>(128);
        correlated::<2>(192);
        correlated::<2>(256);
    }

    #[test]
    fn a_partner_that_leaves_or_sends_nonsense_is_told() {
        let (mut here, there) = memory::pair(&Options::default());
        drop(there);
        let rng = &mut StdRng::seed_from_u64(2);
        assert!(matches!(Receiver::<1>::setup(&context(), LABEL, 128, &mut here, rng), Err(Error::Net(_))));
        let (mut here, mut there) = memory::pair(&Options::default());
        there.send(&vec![0xff; 128 * 64]).unwrap();
        there.flush().unwrap();
        assert!(matches!(
            Receiver::<1>::setup(&context(), LABEL, 128, &mut here, rng),
            Err(Error::InvalidElement { position: 0 })
        ));
    }
}
