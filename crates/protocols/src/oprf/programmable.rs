//! The oblivious programmable pseudo-random function (OPPRF): an OPRF whose sender chooses the values at points of
//! its own.
//!
//! Ideal functionality (Kolesnikov, Matania, Pinkas, Rosulek, Trieu, eprint 2017/799, §3; PSTY19, eprint
//! 2019/241, §3), with L functions and values of w bits. A point is an item under a function. The functionality
//! draws a random value for every point at which the sender has chosen none.
//!
//! ```text
//! receiver (X)                                        sender (Y, values v_i(y))
//! X ──►                                               of X it learns the size
//! v_i(x) if x is in Y, else a random value:
//! at each x in X, with one i of its own
//! nothing else; not whether x is in Y
//! ```
//!
//! Source: RS21 (eprint 2021/266), whose circuit PSI makes an OPPRF from an OPRF F and a store that hides its
//! keys; with a polynomial for the store it is that of the papers above.
//!
//! ```text
//! 1. F_i(x) for all x in X                 ◄─►        F_i(y) for all y in Y and all i          see oprf
//! 2.                                                  seed, the points being fixed
//!                                                     P: Decode(P, (i, y)) = v_i(y) ⊕ F_i(y)
//!                                  ◄── seed, P ──     the hint
//! 3. Decode(P, (i, x)) ⊕ F_i(x)
//! ```
//!
//! **What the hint tells.** The receiver knows F_i(x) at its own points alone. At all other points F is random
//! to it, so the store holds random values there, and its free columns are random, too
//! ([`Band::encode_oblivious`]). Such a table is uniformly random, whatever its keys are. So the hint shows
//! neither which points are programmed nor how many of the receiver's are.
//!
//! **A programmed point looks like any other** as long as the value at it looks random to the receiver: the
//! caller chooses values of which the receiver may learn one, and of which it knows nothing else. Values may be
//! equal at points of which the receiver holds one at most, such as all points of a bin.
//!
//! **Failure.** The store cannot be made with probability at most 2^-40 over the seed, for every set of points.
//!
//! **More values at a point.** The sender can program further values at each point, `more` of w' bits. Each has a
//! store of its own, under the same seed and sent before that of v, and instead of F_i(y) a hash of it, with a key for
//! each: all are random to the receiver where F is.
//!
//! Deviations: the OPRF is any that has the contract of [`oprf`](super). The store is a random band.
//!
//! Names: X, Y = `items`; the point (i, y) in the store = y's key ⊕ i, where a key is a hash of 128 bits under
//! the session; w = `width`, w' = `more_width`.
//!
//! **Cost:** 16 + ⌈m·w/8⌉ bytes, and ⌈m·w'/8⌉ for each further value, m = ⌈1.2·L·n_s⌉ + 127 columns (1.23 above 2^23 points): about 1.2·w bits a
//! point. The sender encodes L·n_s points, the receiver decodes n_r.

use std::convert::Infallible;

use rand_core::CryptoRng;
use vesica_channel::{Channel, RecvHalf, SendHalf};
use vesica_crypto::block::Block;
use vesica_crypto::hash::Label;
use vesica_crypto::memory::{Wiped, large_capacity, large_zeros};
use vesica_crypto::par;
use vesica_crypto::prg::Prg;
use vesica_encode::items::Items;
use vesica_encode::okvs::{self, Band};
use vesica_encode::packed::{pack, packed_bytes, unpack};
use vesica_encode::sorted::SortedError;
use zeroize::Zeroizing;

use super::{EvaluationSink, OprfReceiver, OprfSender, OutputSink};
use crate::error::{Error, Misbehaviour};
use crate::masks::MaskWidth;
use crate::protocol::{Phase, Run};

/// Of an output of the OPRF, by the number of a further value.
const MORE: Label = Label::new("opprf: output to mask of a further value");

/// What both parties agree on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Programming {
    /// L: functions, fewer than 2^8. The sender programs each of its items under all of them.
    pub(crate) functions: usize,
    /// n_s.
    pub(crate) items: usize,
    /// w: bits of a value.
    pub(crate) width: MaskWidth,
    /// Further values at each point, and w': their bits.
    pub(crate) more: usize,
    pub(crate) more_width: MaskWidth,
    /// λ: the hint's store cannot be built with probability 2^-λ at most.
    pub(crate) statistical: u32,
}

/// For the value of an item, and for each further one: a number for each item.
pub(crate) type Values = Vec<Zeroizing<Vec<u128>>>;

/// The party that learns a value for each of its items.
pub(crate) trait OpprfReceiver {
    /// The values at each of `items`, which have these `keys`.
    fn evaluate(self, items: &Items, keys: &[Block], channel: &mut dyn Channel) -> Result<Values, Error>;
}

/// The party that chooses values.
pub(crate) trait OpprfSender {
    /// Makes `value(0, i, item)` the value at an item, which has a key of `keys`, under function i: its lowest w bits;
    /// and `value(j, i, item)` the further value j, from 1.
    fn program(
        self,
        items: &Items,
        keys: &[Block],
        value: impl Fn(usize, usize, usize) -> u128,
        channel: &mut dyn Channel,
    ) -> Result<(), Error>;
}

impl Programming {
    /// L·n_s.
    fn points(self) -> usize {
        self.functions * self.items
    }

    /// The hint's store.
    fn store(self, seed: Block) -> Result<Band, okvs::Error> {
        Band::within(self.points(), self.statistical, seed)
    }

    /// Bytes of the hint; none if there are too many points.
    pub(crate) fn hint_bytes(self) -> Option<u64> {
        let columns = self.store(Block::ZERO).ok()?.columns();
        let more = self.more * packed_bytes(columns, self.more_width.bits());
        Some((Block::BYTES + packed_bytes(columns, self.width.bits()) + more) as u64)
    }

    /// Bits of value j.
    fn width_of(self, value: usize) -> MaskWidth {
        if value == 0 { self.width } else { self.more_width }
    }
}

/// The point in the store of an item with this key under a function.
fn point(key: Block, function: usize) -> Block {
    key ^ Block::from(function as u128)
}

/// What masks value j at points with these outputs: they themselves, or a hash of each.
fn masks(run: &Run<'_>, value: usize, outputs: &[Block]) -> Wiped<Block> {
    let mut masks = Wiped::from(outputs.to_vec());
    if value > 0 {
        let oracle = run.context.derive(MORE, &(value as u64).to_le_bytes()).oracle(MORE);
        let Ok(()) = par::fill_chunks(run.threads, CHUNK, &mut masks, |chunk, masks| {
            let outputs = &outputs[chunk * CHUNK..][..masks.len()];
            let masks = Block::slice_as_mut_bytes(masks);
            oracle.hash_batch(Block::slice_as_bytes(outputs), Block::BYTES, masks, Block::BYTES);
            Ok::<_, Infallible>(())
        });
    }
    masks
}

/// The receiver over an OPRF.
pub(crate) struct Receiver<'a, O> {
    pub(crate) run: &'a Run<'a>,
    pub(crate) programming: Programming,
    pub(crate) oprf: O,
}

/// The receiver's outputs of the OPRF, and the function that each is of.
struct Outputs<'a> {
    run: &'a Run<'a>,
    /// Columns of the hint, which comes afterwards.
    columns: usize,
    outputs: Wiped<Block>,
    functions: Vec<u8>,
}

impl OutputSink for Outputs<'_> {
    fn begin(&mut self, function: usize, _: usize) {
        if function == 0 {
            self.run.phase(Phase::Exchange, self.outputs.len() + self.columns);
        }
    }

    fn put(&mut self, function: usize, outputs: &[Block], item: impl Fn(usize) -> Option<u32> + Sync) {
        for (i, output) in outputs.iter().enumerate() {
            if let Some(item) = item(i) {
                (self.outputs[item as usize], self.functions[item as usize]) = (*output, function as u8);
            }
        }
    }

    fn receive_available(&mut self, _: usize, _: &mut dyn Channel) -> Result<(), Error> {
        Ok(())
    }
}

impl<O: OprfReceiver> OpprfReceiver for Receiver<'_, O> {
    fn evaluate(self, items: &Items, keys: &[Block], channel: &mut dyn Channel) -> Result<Values, Error> {
        let Self { run, programming, oprf } = self;
        // 1. F_i(x).
        let outputs = Wiped::from(large_zeros(items.len()));
        let columns = programming.store(Block::ZERO)?.columns();
        let all = columns * (1 + programming.more);
        let mut held = Outputs { run, columns: all, outputs, functions: vec![0; items.len()] };
        oprf.evaluate(items, channel, &mut held)?;
        // 2. The hint.
        let mut seed = Block::ZERO;
        channel.recv_exact(seed.as_mut_bytes())?;
        let store = programming.store(seed)?;
        // 3. Decode(P, (i, x)) ⊕ F_i(x), in the order of the store, which reads it from end to end.
        let points: Vec<Block> =
            keys.iter().zip(&held.functions).map(|(key, function)| point(*key, (*function).into())).collect();
        let mut values = Values::new();
        for value in (0..=programming.more).rev() {
            let width = programming.width_of(value);
            let table = recv_table(run, columns, width, channel.split().1)?;
            let sorted = store.sort_keys(run.threads, &points, &vec![(); points.len()]);
            let decoded = store.decode_sorted(run.threads, &table, sorted).in_order();
            let masks = masks(run, value, &held.outputs);
            let unmasked = decoded.iter().zip(masks.iter());
            let unmasked = unmasked.map(|(hint, mask)| width.truncate((*hint ^ *mask).as_bytes()));
            values.push(unmasked.collect::<Vec<_>>().into());
        }
        values.reverse();
        Ok(values)
    }
}

/// The sender over an OPRF.
pub(crate) struct Sender<'a, O> {
    pub(crate) run: &'a Run<'a>,
    pub(crate) programming: Programming,
    pub(crate) oprf: O,
    /// For the hint's seed and free columns.
    pub(crate) rng: Prg,
}

/// The outputs of the OPRF at all points, function after function.
struct Evaluated<'a> {
    run: &'a Run<'a>,
    /// Columns of the hint, which goes afterwards.
    columns: usize,
    outputs: Wiped<Block>,
    items: usize,
    function: usize,
}

impl EvaluationSink for Evaluated<'_> {
    fn begin(&mut self, function: usize, _: usize) {
        if function == 0 {
            self.run.phase(Phase::Exchange, self.outputs.len() + self.columns);
        }
        self.function = function;
    }

    fn put(&mut self, positions: impl Iterator<Item = u32>, outputs: &[Block]) {
        let first = self.function * self.items;
        for (position, output) in positions.zip(outputs) {
            self.outputs[first + position as usize] = *output;
        }
    }

    fn send_due(&mut self, _: usize, _: usize, _: &mut dyn SendHalf) -> Result<(), Error> {
        Ok(())
    }

    fn complete(&mut self, _: &mut dyn SendHalf) -> Result<(), Error> {
        Ok(())
    }
}

impl<O: OprfSender> OpprfSender for Sender<'_, O> {
    fn program(
        self,
        items: &Items,
        keys: &[Block],
        value: impl Fn(usize, usize, usize) -> u128,
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        let Self { run, programming, oprf, mut rng } = self;
        let all =
            || (0..programming.functions).flat_map(|function| (0..items.len()).map(move |i| (function, i)));
        // 1. F_i(y).
        let outputs = Wiped::from(large_zeros(programming.points()));
        let columns = programming.store(Block::ZERO)?.columns() * (1 + programming.more);
        let mut evaluated = Evaluated { run, columns, outputs, items: items.len(), function: 0 };
        oprf.evaluate_all(items, |item| item as u32, channel, &mut evaluated)?;
        // 2. The hint, of v_i(y) ⊕ F_i(y).
        let seed = Block::random(&mut rng);
        let store = programming.store(seed)?;
        let points: Vec<Block> = all().map(|(function, item)| point(keys[item], function)).collect();
        channel.send(seed.as_bytes())?;
        for j in (0..=programming.more).rev() {
            let mut masked = match j {
                // The last one takes the memory of the outputs.
                0 => std::mem::take(&mut evaluated.outputs),
                _ => masks(run, j, &evaluated.outputs),
            };
            let values = all().map(|(function, item)| Block::from(value(j, function, item)));
            masked.iter_mut().zip(values).for_each(|(masked, value)| *masked ^= value);
            let rng = &mut rng as &mut dyn CryptoRng;
            let table = store.encode_oblivious(run.threads, &points, &masked, rng)?;
            send_table(run, &table, programming.width_of(j), channel.split().0)?;
        }
        Ok(())
    }
}

/// Columns handled between two calls of the channel: whole bytes at every width.
const CHUNK: usize = 1 << 14;

/// Sends the lowest w bits of each column, side by side.
fn send_table(
    run: &Run<'_>,
    table: &[Block],
    width: MaskWidth,
    channel: &mut dyn SendHalf,
) -> Result<(), Error> {
    let mut bytes = Vec::new();
    for columns in table.chunks(CHUNK) {
        let values = columns.iter().map(|column| width.truncate(column.as_bytes()));
        pack(values, width.bits(), &mut bytes);
        channel.send(&bytes)?;
        run.advance(columns.len())?;
    }
    Ok(channel.flush()?)
}

/// Receives so many columns.
fn recv_table(
    run: &Run<'_>,
    columns: usize,
    width: MaskWidth,
    channel: &mut dyn RecvHalf,
) -> Result<Vec<Block>, Error> {
    let (mut table, mut numbers) = (large_capacity(columns), Vec::new());
    let mut bytes = vec![0; packed_bytes(CHUNK.min(columns), width.bits())];
    while table.len() < columns {
        let count = CHUNK.min(columns - table.len());
        let bytes = &mut bytes[..packed_bytes(count, width.bits())];
        channel.recv_exact(bytes)?;
        numbers.clear();
        if !unpack(bytes, count, width.bits(), &mut numbers) {
            return Err(Misbehaviour::InvalidMasks(SortedError::Beyond).into());
        }
        table.extend(numbers.iter().map(|number| Block::from(*number)));
        run.advance(count)?;
    }
    Ok(table)
}

#[cfg(test)]
mod tests;
