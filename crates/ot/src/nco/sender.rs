//! The party that can evaluate every OT at any value.

use rand_core::CryptoRng;
use vesica_channel::{Channel, RecvHalf};
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Oracle};
use vesica_crypto::memory::Wiped;
use vesica_crypto::transpose::COLUMNS as TILE;
use zeroize::Zeroize;

use super::columns::{Columns, Scratch};
use super::traits::NcoSender;
use super::{BATCH, Code, LANES, Position, hash_groups};
use crate::base::cache::{self, Chosen, Origin};
use crate::error::Error;

/// The party that can evaluate every OT at any value.
pub struct Sender<C, const W: usize> {
    /// Its codewords are s ∧ C(v).
    code: C,
    pub(super) oracle: Oracle,
    chosen: Columns<W>,
    pub(super) secret: Secret<W>,
    position: Position,
    /// The buffer of the receiver's messages, and the memory of a tile.
    wire: Vec<u8>,
    scratch: Option<Scratch<W>>,
}

/// s.
pub(super) struct Secret<const W: usize>(pub(super) [Block; W]);

impl<const W: usize> Drop for Secret<W> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<C: Code<W>, const W: usize> Sender<C, W> {
    /// Draws s and runs the base OTs, in which this party is the receiver, or takes cached ones.
    ///
    /// # Errors
    /// If the connection fails, the partner's message is not valid, or the cached base OTs do not fit.
    pub fn setup(
        code: C,
        context: &Context,
        origin: Origin<'_>,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self, Error> {
        let Chosen { choices, seeds } =
            cache::receive_for_code(context, C::BASE, code.columns(), origin, channel, rng)?;
        let mut secret = Secret([Block::ZERO; W]);
        Block::slice_as_mut_bytes(&mut secret.0)[..choices.len()].copy_from_slice(&choices);
        let seeds = Wiped::from(seeds.iter().map(|seed| seed.block()).collect::<Vec<_>>());
        Self::from_seeds(code, context, &secret.0, &seeds)
    }

    /// Starts from base OTs done elsewhere: s, and of each pair the seed that it chooses. Bits of s beyond
    /// the columns of the code are ignored.
    ///
    /// # Errors
    /// If there are not as many base OTs as the code has columns.
    pub fn from_seeds(
        mut code: C,
        context: &Context,
        secret: &[Block; W],
        seeds: &[Block],
    ) -> Result<Self, Error> {
        if seeds.len() != code.columns() {
            return Err(Error::UnfitColumns { columns: seeds.len(), blocks: W });
        }
        let (oracle, chosen) = (context.oracle(C::OUTPUT), Columns::new(seeds));
        let (mut secret, position) = (Secret(*secret), Position::default());
        Block::slice_as_mut_bytes(&mut secret.0)[code.columns() / 8..].fill(0);
        code.restrict(&secret.0);
        Ok(Self { code, oracle, chosen, secret, position, wire: Vec::new(), scratch: None })
    }

    /// The rows of one tile.
    fn tile(&self, tile: u64, wire: &[u8], rows: &mut [[Block; W]], scratch: &mut Scratch<W>) {
        let Scratch { bits, rows: [columns, _] } = scratch;
        let (width, s) = (self.code.columns() / 8, &self.secret.0);
        self.chosen.tile(tile, bits, columns);
        for (j, row) in rows.iter_mut().enumerate() {
            let u = wire[j * width..][..W * Block::BYTES].as_chunks::<{ Block::BYTES }>().0;
            for block in 0..W {
                // q = t_s ⊕ s ∧ u
                row[block] = columns[block][j] ^ Block::from(u[block]) & s[block];
            }
        }
    }
}

impl<C: Code<W>, const W: usize> NcoSender<C::Word, W> for Sender<C, W> {
    fn next(&self) -> u64 {
        self.position.number
    }

    fn extend(&mut self, rows: &mut [[Block; W]], channel: &mut dyn RecvHalf) -> Result<(), Error> {
        let position = self.position.take(rows.len())?;
        let width = self.code.columns() / 8;
        // Rows are read whole; bits beyond their width meet zeros of s.
        let length = rows.len() * width;
        self.wire.resize(self.wire.len().max(length + W * Block::BYTES), 0);
        channel.recv_exact(&mut self.wire[..length])?;
        let mut scratch = self.scratch.take().unwrap_or_else(Scratch::new);
        for (tile, rows) in rows.chunks_mut(TILE).enumerate() {
            self.tile(position.tile + tile as u64, &self.wire[tile * TILE * width..], rows, &mut scratch);
        }
        self.scratch = Some(scratch);
        Ok(())
    }

    fn evaluate_groups(
        &self,
        size: usize,
        first: u64,
        rows: &[[Block; W]],
        at: &[u32],
        words: &[C::Word],
        outputs: &mut [Block],
    ) {
        assert!(size > 0 && words.len() == size * at.len(), "a group of words for each of `at`");
        assert_eq!(at.len(), outputs.len(), "an output for each of `at`");
        let at_once = match (BATCH / size).max(1) {
            groups @ LANES.. => groups / LANES * LANES,
            groups => groups,
        };
        let (mut inputs, mut numbers) = ([[Block::ZERO; W]; BATCH], [0; BATCH]);
        let batches = at.chunks(at_once).zip(words.chunks(at_once * size)).zip(outputs.chunks_mut(at_once));
        for ((at, words), outputs) in batches {
            // q ⊕ s ∧ C(v)
            let inputs = &mut inputs[..words.len()];
            self.code.add_to(size, rows, at, words, inputs);
            for (number, at) in numbers.iter_mut().zip(at) {
                *number = first + u64::from(*at);
            }
            hash_groups(&self.oracle, size, inputs, &numbers[..at.len()], outputs);
        }
        inputs.as_flattened_mut().zeroize();
    }
}
