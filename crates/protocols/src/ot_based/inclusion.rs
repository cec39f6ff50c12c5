//! Private set inclusion: of each of m items of the receiver, whether it is in a set of n items of the
//! sender's.
//!
//! **Security:** semi-honest, in the random oracle model. The receiver learns one bit for each of its items,
//! the sender nothing. Both know m, n and the length of an item. Each item of the receiver has a set of its
//! own, in a random order of its own.
//!
//! Source: PSZ14 ("Private set inclusion"), PSSZ15 §3.5. Items are strings of t characters of 8 bits:
//!
//! ```text
//! receiver (y)                                     sender (x_1 … x_n)
//!            ── t 1-out-of-256 OTs, y ──►          32·t       (21·t at level 80)
//! M_k = G(S_1)[k] ⊕ … ⊕ G(S_t)[k],                 the same for x_π(k), from the strings of its characters
//!     all k < n, S_c the string of y's character c
//!            ◄── M_1 … M_n ──                      n·⌈ℓ/8⌉
//! output whether M_k is the k-th mask, for some k
//! ```
//!
//! An item other than y differs in a character, whose string the receiver does not know; and every k has its
//! own part of the streams. So masks of other items are random, all n of them together. A batch of m items
//! has m·n pairs of masks, and ℓ = 40 + ⌈log2 m⌉ + ⌈log2 n⌉ bits are enough for a wrong answer in it with
//! probability 2^-40 at most.
//!
//! Deviations: characters of 8 bits in place of one (PSSZ15 §3.5.2); π, so that the position of a match says
//! nothing.
//!
//! The OTs come from the caller: [`kk13`](vesica_ot::kk13), at the level of its code, or any other that a
//! protocol could have instead. This is the step of [`ot_psi`](super::ot_psi) without bins, and that of the
//! slots of its stash. With n = 1 it is [`equality`](super::equality), which has an example.
//!
//! Names: G = the stream of a [`Prg`], t = `characters`.
//!
//! Cost: receiver t OTs and t·n AES an item; sender 256·t OT strings, or t·n if that is less, and t·n AES.

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::aes_hash::rekeyed_encrypt;
use vesica_crypto::block::Block;
use vesica_crypto::memory::Wiped;
use vesica_crypto::prg::Prg;
use vesica_encode::items::random_order;
use vesica_ot::kk13::VALUES;
use vesica_ot::nco::{NcoReceiver, NcoSender};

use crate::error::{Error, Misuse};
use crate::masks::{self, MaskWidth};
use crate::parameters::STATISTICAL_SECURITY;
use crate::protocol::Sizes;

/// Items whose OTs are made in one call. A multiple of a tile of the OT extension: both parties cut alike.
const CALL: usize = 1 << 12;

/// Elements of a set whose masks are made at a time. Local.
const CHUNK: usize = 1 << 12;

/// Masks of a batch, and characters of either party: fewer than so many.
const MOST: u64 = 1 << 32;

/// What both parties know of a batch. Agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// m: items of the receiver, and sets of the sender.
    pub items: usize,
    /// n: items of each set.
    pub set: usize,
    /// t: characters (bytes) of an item, at least one.
    pub characters: usize,
}

impl Batch {
    /// The masks' width.
    ///
    /// # Errors
    /// [`Misuse::InvalidBatch`] if items have no characters, or the batch has more than 2^32 masks or
    /// characters.
    pub fn width(self) -> Result<MaskWidth, Error> {
        let Self { items, set, characters } = self;
        let most = items.checked_mul(set.max(1)).and_then(|masks| masks.checked_mul(characters));
        if characters == 0 || most.is_none_or(|most| most as u64 >= MOST) {
            return Err(Misuse::InvalidBatch.into());
        }
        MaskWidth::for_sizes(Sizes { receiver: items, sender: set }, STATISTICAL_SECURITY)
    }

    /// Bytes that the receiver sends, with OTs of `row` bytes, and that the sender sends; what set the OTs up
    /// is not counted.
    ///
    /// # Errors
    /// As [`width`](Self::width).
    pub fn bytes(self, row: usize) -> Result<[u64; 2], Error> {
        let masks = self.width()?.bytes() * self.items * self.set;
        // A set of nothing is not asked for.
        let rows = if self.set == 0 { 0 } else { self.items * self.characters * row };
        Ok([rows as u64, masks as u64])
    }
}

/// The receiver's role. `items` are those of the batch side by side, t bytes each; of each, whether its set
/// has it.
///
/// # Errors
/// [`Misuse`] if `items` are not as many bytes as the batch says, or the batch has no width; if the
/// connection fails, or the partner's masks are wider than agreed.
pub fn receive(
    batch: Batch,
    items: &[u8],
    ots: &mut impl NcoReceiver<u8>,
    channel: &mut dyn Channel,
) -> Result<Vec<bool>, Error> {
    let (width, t) = (batch.width()?, batch.characters);
    expect(batch.items * t, items.len())?;
    let mut found = vec![false; batch.items];
    if batch.set == 0 {
        return Ok(found);
    }
    // 1. OTs: the string of each character.
    let mut strings = Wiped::from(vec![Block::ZERO; items.len()]);
    for (items, strings) in items.chunks(CALL * t).zip(strings.chunks_mut(CALL * t)) {
        ots.extend_groups(1, items, strings, channel)?;
    }
    channel.flush()?;
    // 2. The masks of every element, each compared with what it would be if it were this item.
    for (found, strings) in found.iter_mut().zip(strings.chunks_exact(t)) {
        let mut mine = Masks::new(strings);
        for first in (0..batch.set).step_by(CHUNK) {
            let count = CHUNK.min(batch.set - first);
            for theirs in masks::recv(width, count, channel.split().1, &mut |_| Ok(()))? {
                *found |= width.truncate(&mine.next().to_bytes()) == theirs;
            }
        }
    }
    Ok(found)
}

/// The sender's role. `sets` are the m sets of n items side by side, t bytes each.
///
/// # Errors
/// [`Misuse`] if `sets` are not as many bytes as the batch says, or the batch has no width; if the connection
/// fails, or the partner's message is not what it must be.
pub fn send<const W: usize>(
    batch: Batch,
    sets: &[u8],
    ots: &mut impl NcoSender<u8, W>,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<(), Error> {
    let (width, t) = (batch.width()?, batch.characters);
    expect(batch.items * batch.set * t, sets.len())?;
    if batch.set == 0 {
        return Ok(());
    }
    // 1. OTs: a row for each character of the receiver's items, which it sends before it reads a mask.
    let number = ots.next();
    let mut rows = Wiped::from(vec![[Block::ZERO; W]; batch.items * t]);
    for rows in rows.chunks_mut(CALL * t) {
        ots.extend(rows, channel.split().1)?;
    }
    // 2. The masks of each set, in a random order of it.
    let mut list = Vec::with_capacity(batch.set);
    for (instance, rows) in rows.chunks_exact(t).enumerate() {
        let (first, order) = (number + (instance * t) as u64, random_order(batch.set as u32, rng));
        let element = |position: usize| &sets[(instance * batch.set + order[position] as usize) * t..][..t];
        list.clear();
        let characters = |position: usize, out: &mut Vec<u8>| out.extend_from_slice(element(position));
        masks_of(ots, first, rows, batch.set, characters, |_, mask| {
            list.push(width.truncate(&mask.to_bytes()));
        });
        masks::send(width, list.iter().copied(), channel.split().0, &mut |_| Ok(()))?;
    }
    Ok(())
}

fn expect(agreed: usize, given: usize) -> Result<(), Error> {
    if agreed == given { Ok(()) } else { Err(Misuse::InvalidBatch.into()) }
}

/// The masks that an item of the receiver's has, one after the other, from the strings of its characters.
pub(super) struct Masks(Vec<Prg>);

impl Masks {
    pub(super) fn new(strings: &[Block]) -> Self {
        Self(strings.iter().map(|string| Prg::from_seed(*string)).collect())
    }

    /// `G(S_1)[k] ⊕ … ⊕ G(S_t)[k]`, for the next k.
    pub(super) fn next(&mut self) -> Block {
        self.0.iter_mut().fold(Block::ZERO, |mask, stream| mask ^ stream.block())
    }
}

/// The sender's masks for one item of the receiver's, whose OTs have these `rows` and numbers from `first`
/// on: `take` has k and the mask of element k, whose characters `characters` appends.
pub(super) fn masks_of<const W: usize>(
    ots: &impl NcoSender<u8, W>,
    first: u64,
    rows: &[[Block; W]],
    set: usize,
    characters: impl Fn(usize, &mut Vec<u8>),
    mut take: impl FnMut(usize, Block),
) {
    let t = rows.len();
    let strings = Strings::new(ots, first, rows, set);
    let (mut words, mut keys, mut blocks) = (Vec::new(), Wiped::default(), Vec::new());
    for begin in (0..set).step_by(CHUNK) {
        let elements = begin..set.min(begin + CHUNK);
        words.clear();
        blocks.clear();
        for k in elements.clone() {
            characters(k, &mut words);
            blocks.extend(std::iter::repeat_n(Block::from(k as u128), t));
        }
        strings.of(&words, &mut keys);
        rekeyed_encrypt(&keys, [&mut blocks]);
        for (k, blocks) in elements.zip(blocks.chunks_exact(t)) {
            take(k, sum(blocks));
        }
    }
}

/// The sender's strings of t OTs.
struct Strings<'a, S, const W: usize> {
    ots: &'a S,
    first: u64,
    rows: &'a [[Block; W]],
    /// All 256 of each OT, where as many are asked for.
    all: Wiped<Block>,
}

impl<'a, S: NcoSender<u8, W>, const W: usize> Strings<'a, S, W> {
    fn new(ots: &'a S, first: u64, rows: &'a [[Block; W]], set: usize) -> Self {
        let mut all = Wiped::default();
        if set >= VALUES {
            let values: Vec<u8> = rows.iter().flat_map(|_| 0..=u8::MAX).collect();
            let at: Vec<u32> = (0..rows.len() as u32).flat_map(|row| [row; VALUES]).collect();
            all.resize(values.len(), Block::ZERO);
            ots.evaluate_groups(1, first, rows, &at, &values, &mut all);
        }
        Self { ots, first, rows, all }
    }

    /// The strings of these words, item after item.
    fn of(&self, words: &[u8], out: &mut Wiped<Block>) {
        let t = self.rows.len();
        out.clear();
        if self.all.is_empty() {
            let at: Vec<u32> = (0..words.len()).map(|i| (i % t) as u32).collect();
            out.resize(words.len(), Block::ZERO);
            self.ots.evaluate_groups(1, self.first, self.rows, &at, words, out);
        } else {
            let strings = words.iter().enumerate();
            out.extend(strings.map(|(i, word)| self.all[i % t * VALUES + usize::from(*word)]));
        }
    }
}

/// The XOR of an item's blocks.
pub(super) fn sum(blocks: &[Block]) -> Block {
    blocks.iter().fold(Block::ZERO, |sum, block| sum ^ *block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Misbehaviour;
    use vesica_channel::memory;
    use vesica_crypto::hash::Context;
    use vesica_ot::base::Origin;
    use vesica_ot::kk13::{Concatenated, WalshHadamard};
    use vesica_ot::nco::ideal;

    const BATCH: Batch = Batch { items: 5, set: 300, characters: 3 };

    fn context() -> Context {
        Context::new(&[3; 32], "test", b"", 5, 300)
    }

    /// Sets in which no item is another's, and of each set an element or none.
    fn inputs(batch: Batch) -> (Vec<u8>, Vec<u8>, Vec<bool>) {
        let Batch { items, set, characters: t } = batch;
        let mut sets = vec![0; items * set * t];
        Prg::from_seed([7; 16]).fill(&mut sets);
        let mut mine = vec![0; items * t];
        Prg::from_seed([8; 16]).fill(&mut mine);
        let held: Vec<bool> = (0..items).map(|i| set > 0 && i % 2 == 0).collect();
        for i in (0..items).step_by(2).filter(|_| set > 0) {
            mine[i * t..][..t].copy_from_slice(&sets[(i * set + i * 7 % set) * t..][..t]);
        }
        (mine, sets, held)
    }

    /// Both roles over real OTs of a code; what each sent after the set-up.
    fn run<C: vesica_ot::nco::Code<2, Word = u8>>(code: fn() -> C, batch: Batch) -> (Vec<bool>, [u64; 2]) {
        let (mine, sets, _) = inputs(batch);
        let (mut a, mut b) = memory::pair();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let rng = &mut Prg::from_seed([1; 16]);
                let mut ots =
                    vesica_ot::nco::Sender::setup(code(), &context(), Origin::default(), &mut a, rng)
                        .unwrap();
                send(batch, &sets, &mut ots, &mut a, rng).unwrap();
            });
            let rng = &mut Prg::from_seed([2; 16]);
            let mut ots =
                vesica_ot::nco::Receiver::setup(code(), &context(), Origin::default(), &mut b, rng).unwrap();
            let before = b.traffic();
            let found = receive(batch, &mine, &mut ots, &mut b);
            let after = b.traffic();
            let bytes =
                [after.payload_sent - before.payload_sent, after.payload_received - before.payload_received];
            (found.unwrap(), bytes)
        })
    }

    #[test]
    fn each_item_is_found_in_its_own_set_and_in_no_other() {
        for (items, set, characters) in
            [(5, 300, 3), (3, 1, 4), (1, 5000, 8), (4, 0, 2), (0, 9, 2), (4200, 2, 5)]
        {
            let batch = Batch { items, set, characters };
            let held = inputs(batch).2;
            let (found, bytes) = run(WalshHadamard::default, batch);
            assert!(found == held, "{batch:?}");
            assert_eq!(bytes, batch.bytes(32).unwrap(), "{batch:?}");
        }
        let (found, bytes) = run(Concatenated::default, BATCH);
        assert_eq!((found, bytes), (inputs(BATCH).2, BATCH.bytes(21).unwrap()));
    }

    /// The sender's masks of one instance, over ideal OTs, and the receiver's answer.
    fn ideal_run(mine: &[u8], batch: Batch, sets: &[u8]) -> Vec<bool> {
        let (mut a, mut b) = memory::pair();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let rng = &mut Prg::from_seed([1; 16]);
                let mut ots = ideal::Sender::setup(&context(), &mut a, rng).unwrap();
                send::<2>(batch, sets, &mut ots, &mut a, rng).unwrap();
            });
            let rng = &mut Prg::from_seed([2; 16]);
            let mut ots = ideal::Receiver::setup(&context(), &mut b, rng).unwrap();
            receive(batch, mine, &mut ots, &mut b).unwrap()
        })
    }

    #[test]
    fn over_ideal_ots_it_answers_the_same() {
        let (mine, sets, held) = inputs(BATCH);
        assert_eq!(ideal_run(&mine, BATCH, &sets), held);
    }

    #[test]
    fn an_item_that_differs_in_one_bit_is_not_found() {
        let batch = Batch { items: 1, set: 1, characters: 6 };
        let item = [1, 2, 3, 4, 5, 6];
        assert_eq!(ideal_run(&item, batch, &item), [true]);
        for bit in 0..48 {
            let mut other = item;
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(ideal_run(&item, batch, &other), [false], "bit {bit}");
        }
    }

    #[test]
    fn masks_are_as_long_as_a_batch_needs_and_sizes_are_bounded() {
        let bits = |items, set| Batch { items, set, characters: 1 }.width().unwrap().bits();
        assert_eq!([bits(1, 1), bits(1, 2), bits(1000, 1), bits(1000, 300)], [40, 41, 50, 59]);
        let refused = |items, set, characters| {
            assert_eq!(Batch { items, set, characters }.width(), Err(Misuse::InvalidBatch.into()));
        };
        refused(1, 1, 0);
        refused(usize::MAX, 2, 1);
        refused(1 << 20, 1 << 12, 2);
        let (mut a, _b) = memory::pair();
        let rng = &mut Prg::from_seed([2; 16]);
        let mut ots = ideal::Receiver::setup(&context(), &mut a, rng).unwrap();
        let wrong = receive(BATCH, &[0; 14], &mut ots, &mut a);
        assert_eq!(wrong, Err(Misuse::InvalidBatch.into()));
    }

    #[test]
    fn what_is_not_the_item_has_a_random_mask_and_positions_are_random() {
        // Sets of one item many times over: its masks differ by position. In sets of 8 with the item first,
        // its position is uniform.
        let (context, batch) = (context(), Batch { items: 800, set: 8, characters: 2 });
        let item = |i: usize| [i as u8, (i >> 8) as u8];
        let mine: Vec<u8> = (0..800).flat_map(item).collect();
        let sets: Vec<u8> = (0..800)
            .flat_map(|i| (0..8).flat_map(move |k| if k == 0 { item(i) } else { [k, 0xff] }))
            .collect();
        let (mut a, mut b) = memory::pair();
        let positions = std::thread::scope(|scope| {
            scope.spawn(|| {
                let rng = &mut Prg::from_seed([1; 16]);
                let mut ots = ideal::Sender::setup(&context, &mut a, rng).unwrap();
                send::<2>(batch, &sets, &mut ots, &mut a, rng).unwrap();
            });
            let rng = &mut Prg::from_seed([2; 16]);
            let mut ots = ideal::Receiver::setup(&context, &mut b, rng).unwrap();
            let width = batch.width().unwrap();
            let mut strings = vec![Block::ZERO; 1600];
            ots.extend_groups(1, &mine, &mut strings, &mut b).unwrap();
            let mut positions = [0u32; 8];
            for strings in strings.chunks_exact(2) {
                let mut expected = Masks::new(strings);
                let list = masks::recv(width, 8, b.split().1, &mut |_| Ok(())).unwrap();
                let hit = |mask: &u128| width.truncate(&expected.next().to_bytes()) == *mask;
                let hits: Vec<bool> = list.iter().map(hit).collect();
                assert_eq!(hits.iter().filter(|hit| **hit).count(), 1);
                positions[hits.iter().position(|hit| *hit).unwrap()] += 1;
            }
            positions
        });
        // A hundred at each position, within six deviations.
        assert!(positions.iter().all(|count| count.abs_diff(100) < 57), "{positions:?}");
    }

    #[test]
    fn a_wide_mask_is_refused() {
        let (mut a, mut b) = memory::pair();
        let batch = Batch { items: 1, set: 3, characters: 1 };
        assert_eq!(batch.width().unwrap().bits(), 42);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _: ideal::Sender =
                    ideal::Sender::setup(&context(), &mut a, &mut Prg::from_seed([1; 16])).unwrap();
                a.send(&[0xff; 18]).unwrap();
                a.flush().unwrap();
            });
            let rng = &mut Prg::from_seed([2; 16]);
            let mut ots = ideal::Receiver::setup(&context(), &mut b, rng).unwrap();
            let refused = receive(batch, &[5], &mut ots, &mut b).unwrap_err();
            assert_eq!(refused, Misbehaviour::WideMask { position: 0 }.into());
        });
    }
}
