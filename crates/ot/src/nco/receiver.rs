//! The party that chooses one value in each OT.

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Oracle};
use vesica_crypto::transpose::COLUMNS as TILE;
use zeroize::Zeroize;

use super::columns::{Columns, Scratch};
use super::traits::{NcoReceiver, Step};
use super::{BATCH, Code, Position, ROW_BITS, hash_groups};
use crate::base::cache::{self, Origin};
use crate::error::Error;

/// The party that chooses one value in each OT.
pub struct Receiver<C, const W: usize> {
    pub(super) code: C,
    pub(super) oracle: Oracle,
    pub(super) pair: [Columns<W>; 2],
    position: Position,
    work: Work<W>,
}

/// A [`Receiver`] that has sent its message of the base OTs. It can do other work until the answer comes.
pub struct ReceiverSetup<'a, C, const W: usize> {
    code: C,
    context: Context,
    base: cache::PendingSend<'a>,
}

/// The memory of a step, which stays in the cache and is kept from call to call; wiped when dropped.
#[derive(Default)]
struct Work<const W: usize> {
    tile: Option<Scratch<W>>,
    /// t0.
    rows: Vec<[Block; W]>,
    /// u.
    wire: Vec<u8>,
}

impl<const W: usize> Drop for Work<W> {
    fn drop(&mut self) {
        self.rows.as_flattened_mut().zeroize();
    }
}

impl<C: Code<W>, const W: usize> Receiver<C, W> {
    /// Runs the base OTs, in which this party is the sender, or takes cached ones.
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
        Self::start_setup(code, context, origin, channel, rng)?.complete_base_ots(channel)
    }

    /// Sends the first message of [`setup`](Self::setup), if it is this party's.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn start_setup<'a>(
        code: C,
        context: &Context,
        origin: Origin<'a>,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<ReceiverSetup<'a, C, W>, Error> {
        let base = cache::start_send(context, C::BASE, code.columns(), origin, channel, rng)?;
        Ok(ReceiverSetup { code, context: context.clone(), base })
    }

    /// Starts from base OTs done elsewhere: both seeds of each.
    ///
    /// # Errors
    /// If there are not as many as the code has columns, or a row and a number do not fit one block of the
    /// hash.
    pub fn from_seeds(code: C, context: &Context, pairs: &[[Block; 2]]) -> Result<Self, Error> {
        if pairs.len() != code.columns() || code.columns() > ROW_BITS {
            return Err(Error::UnfitColumns { columns: pairs.len(), blocks: W });
        }
        let pair = [0, 1].map(|side| {
            let mut seeds: Vec<Block> = pairs.iter().map(|pair| pair[side]).collect();
            let columns = Columns::new(&seeds);
            seeds.zeroize();
            columns
        });
        let (oracle, position) = (context.oracle(C::OUTPUT), Position::default());
        Ok(Self { oracle, code, pair, position, work: Work::default() })
    }

    /// Bytes of the buffer of a tile of u. Every row is written whole, so that it ends beyond its width; the
    /// next row overwrites what is beyond, and the last one needs some bytes more.
    fn stride(&self) -> usize {
        TILE * self.code.columns() / 8 + W * Block::BYTES
    }

    /// The rows t0 and u of a step's words, which begin with a tile.
    fn fill(&self, position: Position, words: &[C::Word], work: &mut Work<W>) {
        let (tiles, stride) = (words.len().div_ceil(TILE), self.stride());
        let Work { tile: scratch, rows, wire } = work;
        let scratch = scratch.get_or_insert_with(Scratch::new);
        rows.resize(rows.len().max(tiles * TILE), [Block::ZERO; W]);
        wire.resize(wire.len().max(tiles * stride), 0);
        let tiles = words.chunks(TILE).zip(rows.chunks_mut(TILE)).zip(wire.chunks_mut(stride));
        for (tile, ((words, rows), wire)) in (position.tile..).zip(tiles) {
            self.tile(tile, words, rows, wire, scratch);
        }
    }

    /// One tile: the rows t0, which stay here, and the rows u, which are sent.
    fn tile(
        &self,
        tile: u64,
        words: &[C::Word],
        rows: &mut [[Block; W]],
        wire: &mut [u8],
        scratch: &mut Scratch<W>,
    ) {
        let Scratch { bits, rows: [zero, one] } = scratch;
        self.pair[0].tile(tile, bits, zero);
        self.pair[1].tile(tile, bits, one);
        let (width, mut batch) = (self.code.columns() / 8, [[Block::ZERO; W]; BATCH]);
        for (first, words) in (0..).step_by(BATCH).zip(words.chunks(BATCH)) {
            let (rows, batch) = (&mut rows[first..][..words.len()], &mut batch[..words.len()]);
            for (j, (row, u)) in rows.iter_mut().zip(&mut *batch).enumerate() {
                for block in 0..W {
                    row[block] = zero[block][first + j];
                    u[block] = row[block] ^ one[block][first + j];
                }
            }
            // u = t0 ⊕ t1 ⊕ C(w)
            self.code.add(words, batch);
            for (j, u) in (first..).zip(batch) {
                let bytes = wire[j * width..][..W * Block::BYTES].as_chunks_mut::<{ Block::BYTES }>().0;
                for block in 0..W {
                    bytes[block] = u[block].to_bytes();
                }
            }
        }
    }

    /// The outputs of groups of `size` rows.
    fn hash(&self, position: Position, size: usize, rows: &[[Block; W]], outputs: &mut [Block]) {
        let mut numbers = [0; BATCH];
        let batches = outputs.chunks_mut(BATCH).zip(rows.chunks(BATCH * size));
        for (batch, (outputs, rows)) in batches.enumerate() {
            for (group, number) in (batch * BATCH..).zip(&mut numbers[..outputs.len()]) {
                *number = position.number + (group * size) as u64;
            }
            let rows = &rows[..outputs.len() * size];
            hash_groups(&self.oracle, size, rows, &numbers[..outputs.len()], outputs);
        }
    }
}

impl<C: Code<W>, const W: usize> NcoReceiver<C::Word> for Receiver<C, W> {
    fn extend_in_steps(
        &mut self,
        size: usize,
        words: &[C::Word],
        outputs: &mut [Block],
        channel: &mut dyn Channel,
        on_step: &mut dyn FnMut(Step),
    ) -> Result<(), Error> {
        assert!(size > 0 && words.len() == size * outputs.len(), "one output a group of words");
        let position = self.position.take(words.len())?;
        let mut work = std::mem::take(&mut self.work);
        // A step is whole tiles and whole groups, and fits the cache.
        let (width, stride) = (self.code.columns() / 8, self.stride());
        let step = TILE * (size >> size.trailing_zeros().min(TILE.trailing_zeros()));
        let steps = words.chunks(step).zip(outputs.chunks_mut(step / size));
        for (first, (words, outputs)) in (0..).step_by(step).zip(steps) {
            let position = position.at(first);
            self.fill(position, words, &mut work);
            on_step(Step::Evaluate);
            self.hash(position, size, &work.rows, outputs);
            on_step(Step::Extend);
            for (words, wire) in words.chunks(TILE).zip(work.wire.chunks(stride)) {
                channel.send(&wire[..words.len() * width])?;
            }
        }
        self.work = work;
        Ok(())
    }
}

impl<C: Code<W>, const W: usize> ReceiverSetup<'_, C, W> {
    /// Receives the other party's message.
    ///
    /// # Errors
    /// If the connection fails, the message is not valid, or the cached base OTs do not fit.
    pub fn complete_base_ots(self, channel: &mut dyn Channel) -> Result<Receiver<C, W>, Error> {
        let pairs = self.base.complete(channel)?;
        let mut seeds: Vec<[Block; 2]> = pairs.iter().map(|[a, b]| [a.block(), b.block()]).collect();
        let receiver = Receiver::from_seeds(self.code, &self.context, &seeds);
        seeds.as_flattened_mut().zeroize();
        receiver
    }
}
