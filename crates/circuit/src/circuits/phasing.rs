//! Circuit-phasing: which of the receiver's bins hold an item of the sender's.
//!
//! PSSZ15 §5. The receiver has one number in each of β bins (cuckoo hashing), the sender max_β numbers in
//! each (simple hashing, padded). Numbers have σ′ bits. The circuit compares the receiver's number with each
//! of the sender's by a tree of AND gates. At most one of a bin's comparisons is true, since the sender's
//! numbers of a bin are different, so their XOR, which costs nothing, is their OR. Each of s slots of a stash
//! is compared with all n_s items of the sender, in σ bits.
//!
//! The output is a wire for each bin, and behind them one for each slot of the stash. The bins are the
//! receiver's own, and depend on all of its items. So the wires are opened to the receiver alone, who learns
//! which of its own items the sender has; there is nothing to shuffle.
//!
//! **What stands for no item.** It is for the caller to fill the receiver's empty bins with a number that is
//! no item's, and the sender's empty slots with another one. In the stash, where every number may be an
//! item's, a bit of the receiver's says that the slot is occupied.
//!
//! | paper | here |
//! |---|---|
//! | β, max_β, σ′ | [`Table`] `bins`, `load`, `bits` |
//! | s, n_1, σ | the same of the stash's table |
//! | m | [`Table::comparisons`], of bins and stash together |
//!
//! **Cost:** β·max_β·(σ′ - 1) + s·n_s·(σ - 1) + s AND gates in max(⌈log2 σ′⌉, ⌈log2 σ⌉ + 1) layers. Without
//! a stash there are ⌈log2 σ′⌉ layers. The last s gates, and the layer that they add, are for the occupied
//! slots; the paper does not have them. All other gates are those of its Table 6, to the gate, with β =
//! ⌊2.4·n⌋, σ′ = σ - ⌊log2 β⌋ and max_β by Equation (5), but 15 for n = 2^8.

use std::ops::Range;

use zeroize::Zeroizing;

use crate::bits::{Bits, rows};
use crate::engine::{Engine, Input, Party};
use crate::error::Error;
use crate::gadgets::equality;
use crate::pieces::ranges;
use crate::wires::Wires;

/// About so many wires of the receiver are put in by one call, where the engine does not want all in one: a
/// call costs a round trip, and its wires memory.
const INPUT_WIRES: usize = 1 << 21;

/// Bins of such a call are a multiple of this, so that OT extensions, which round up to blocks, send no more than
/// for one call.
const INPUT_BINS: usize = 128;

/// Bins whose contents are compared. Agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Bins, in each of which the receiver has one number.
    pub bins: usize,
    /// Numbers of the sender in each.
    pub load: usize,
    /// Bits of a number.
    pub bits: usize,
}

impl Table {
    /// Pairs that are compared.
    #[must_use]
    pub fn comparisons(&self) -> u64 {
        self.bins as u64 * self.load as u64
    }

    /// AND gates.
    #[must_use]
    pub fn and_gates(&self) -> u64 {
        self.comparisons() * (self.bits.max(1) as u64 - 1)
    }

    /// Bits that the receiver puts in.
    #[must_use]
    pub fn receiver_bits(&self) -> u64 {
        self.bins as u64 * self.bits as u64
    }

    /// Bits that the sender puts in.
    #[must_use]
    pub fn sender_bits(&self) -> u64 {
        self.comparisons() * self.bits as u64
    }

    /// Bins and slots that are compared at a time, about `chunk` pairs.
    fn piece(&self, chunk: usize) -> (usize, usize) {
        let slots = self.load.min(chunk).max(1);
        ((chunk / slots).clamp(1, self.bins.max(1)), slots)
    }

    /// Bins whose numbers the receiver puts in by one call.
    fn stretch(&self, chunk: usize) -> usize {
        if chunk == usize::MAX {
            return self.bins;
        }
        (INPUT_WIRES / self.bits.max(1)).next_multiple_of(INPUT_BINS)
    }

    /// Calls by which the receiver puts in its numbers, where the engine has a small
    /// [`chunk`](Engine::chunk).
    #[must_use]
    pub fn input_calls(&self) -> u64 {
        self.bins.div_ceil(self.stretch(1)) as u64
    }
}

/// The circuit. Agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The bins.
    pub bins: Table,
    /// The slots of the stash as bins, each of which has all items of the sender.
    pub stash: Table,
}

impl Shape {
    /// AND gates.
    #[must_use]
    pub fn and_gates(&self) -> u64 {
        self.bins.and_gates() + self.stash.and_gates() + self.stash.bins as u64
    }

    /// AND gates on the longest path.
    #[must_use]
    pub fn depth(&self) -> u32 {
        let tree = |table: &Table| table.bits.max(1).next_power_of_two().ilog2();
        let of_stash = if self.stash.bins > 0 { tree(&self.stash) + 1 } else { 0 };
        tree(&self.bins).max(of_stash)
    }

    /// Bits that the receiver puts in: its numbers, and which slots of the stash are occupied.
    #[must_use]
    pub fn receiver_bits(&self) -> u64 {
        self.bins.receiver_bits() + self.stash.receiver_bits() + self.stash.bins as u64
    }

    /// Bits that the sender puts in.
    #[must_use]
    pub fn sender_bits(&self) -> u64 {
        self.bins.sender_bits() + self.stash.sender_bits()
    }

    /// Calls by which the receiver puts in its bits, where the engine has a small [`chunk`](Engine::chunk).
    #[must_use]
    pub fn input_calls(&self) -> u64 {
        self.bins.input_calls() + self.stash.input_calls() + u64::from(self.stash.bins > 0)
    }

    /// Wires of the output.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.bins.bins + self.stash.bins
    }
}

/// What the receiver has in bins and, if there is one, in the stash. The vectors are wiped after their use.
pub trait Receiver {
    /// The numbers in these bins.
    fn bins(&self, bins: Range<usize>) -> Zeroizing<Vec<u128>>;

    /// The items in these slots of the stash, or anything where one is empty.
    fn stash(&self, _slots: Range<usize>) -> Zeroizing<Vec<u128>> {
        Zeroizing::default()
    }

    /// Whether a slot of the stash has an item.
    fn occupied(&self, _slot: usize) -> bool {
        false
    }
}

/// What the sender has in bins and, where there is a stash, its items. The vectors are wiped after their use.
pub trait Sender {
    /// The numbers in these slots of these bins: slot after slot, all bins.
    fn bins(&self, bins: Range<usize>, slots: Range<usize>) -> Zeroizing<Vec<u128>>;

    /// These items.
    fn items(&self, _items: Range<usize>) -> Zeroizing<Vec<u128>> {
        Zeroizing::default()
    }
}

/// A wire for each bin and each slot of the stash: whether the sender has what the receiver has there. Each
/// party gives what is its own.
///
/// # Errors
/// As [`Engine::and`] and [`Engine::input`].
pub fn matches<E: Engine>(
    engine: &mut E,
    shape: &Shape,
    receiver: Option<&dyn Receiver>,
    sender: Option<&dyn Sender>,
) -> Result<E::Wires, Error> {
    let in_bins = compare(
        engine,
        &shape.bins,
        receiver.map(|own| |bins| own.bins(bins)),
        sender.map(|own| |bins, slots| own.bins(bins, slots)),
    )?;
    let slots = shape.stash.bins;
    if slots == 0 {
        return Ok(in_bins);
    }
    let in_stash = compare(
        engine,
        &shape.stash,
        receiver.map(|own| |slots| own.stash(slots)),
        sender.map(|own| {
            move |slots: Range<usize>, items| {
                let items = own.items(items);
                // With room for all, so that no copy stays behind where the vector grows.
                let mut copies = Zeroizing::new(Vec::with_capacity(items.len() * slots.len()));
                items.iter().for_each(|item| copies.extend(std::iter::repeat_n(*item, slots.len())));
                copies
            }
        }),
    )?;
    let occupied = receiver.map(|own| vec![(0..slots).map(|slot| own.occupied(slot)).collect::<Bits>()]);
    let occupied = put_in(engine, Party::Receiver, occupied, 1, slots)?;
    let in_stash = engine.and(&[(&in_stash, &occupied[0])])?;
    Ok(Wires::join(&[&in_bins, &in_stash[0]]))
}

/// A wire for each bin of a table: whether one of the sender's numbers there is the receiver's.
fn compare<E: Engine>(
    engine: &mut E,
    table: &Table,
    receiver: Option<impl Fn(Range<usize>) -> Zeroizing<Vec<u128>>>,
    sender: Option<impl Fn(Range<usize>, Range<usize>) -> Zeroizing<Vec<u128>>>,
) -> Result<E::Wires, Error> {
    let mut matches = engine.constant(false, table.bins);
    let ((bins_at_once, slots_at_once), bits) = (table.piece(engine.chunk()), table.bits);
    for stretch in ranges(0..table.bins, table.stretch(engine.chunk())) {
        let own = receiver.as_ref().map(|own| rows(&own(stretch.clone()), bits));
        let numbers = put_in(engine, Party::Receiver, own, bits, stretch.len())?;
        for bins in ranges(stretch.clone(), bins_at_once) {
            let of_piece = bins.start - stretch.start..bins.end - stretch.start;
            let numbers: Vec<E::Wires> = numbers.iter().map(|row| row.slice(of_piece.clone())).collect();
            let mut any = engine.constant(false, bins.len());
            for slots in ranges(0..table.load, slots_at_once) {
                let own = sender.as_ref().map(|own| rows(&own(bins.clone(), slots.clone()), bits));
                let theirs = put_in(engine, Party::Sender, own, bits, bins.len() * slots.len())?;
                let copies: Vec<_> = numbers.iter().map(|row| Wires::join(&vec![row; slots.len()])).collect();
                let equal = equality::equal(engine, &copies, &theirs)?;
                // At most one of a bin's numbers is equal: XOR is OR.
                for of_slot in ranges(0..equal.len(), bins.len()) {
                    any = engine.xor(&any, &equal.slice(of_slot));
                }
            }
            matches.write(bins.start, &any);
        }
    }
    Ok(matches)
}

/// The wires of a party's bits; none are given by the other party.
fn put_in<E: Engine>(
    engine: &mut E,
    owner: Party,
    own: Option<Vec<Bits>>,
    rows: usize,
    len: usize,
) -> Result<Vec<E::Wires>, Error> {
    match own {
        Some(own) => engine.input(owner, Input::Known(&own)),
        None => engine.input(owner, Input::Hidden { rows, len }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clear::Clear;
    use crate::count::Count;
    use crate::engine::Opening;

    /// Numbers in bins and slots, all in the clear.
    struct Sides {
        receiver: Vec<u128>,
        stash: Vec<Option<u128>>,
        /// Bin after bin.
        sender: Vec<Vec<u128>>,
        items: Vec<u128>,
    }

    impl Receiver for Sides {
        fn bins(&self, bins: Range<usize>) -> Zeroizing<Vec<u128>> {
            self.receiver[bins].to_vec().into()
        }

        fn stash(&self, slots: Range<usize>) -> Zeroizing<Vec<u128>> {
            self.stash[slots].iter().map(|slot| slot.unwrap_or(self.items[0])).collect::<Vec<_>>().into()
        }

        fn occupied(&self, slot: usize) -> bool {
            self.stash[slot].is_some()
        }
    }

    impl Sender for Sides {
        fn bins(&self, bins: Range<usize>, slots: Range<usize>) -> Zeroizing<Vec<u128>> {
            let numbers = slots.flat_map(|slot| bins.clone().map(move |bin| self.sender[bin][slot]));
            numbers.collect::<Vec<_>>().into()
        }

        fn items(&self, items: Range<usize>) -> Zeroizing<Vec<u128>> {
            self.items[items].to_vec().into()
        }
    }

    /// Different numbers in each bin; the receiver's is that of slot `bin` % (load + 1), if there is one.
    fn sides(shape: &Shape) -> Sides {
        let Shape { bins: Table { bins, load, bits }, stash } = *shape;
        let number = |bin: usize, slot: usize| (bin * 7 + slot) as u128 % (1 << bits);
        Sides {
            receiver: (0..bins).map(|bin| number(bin, bin % (load + 1))).collect(),
            stash: (0..stash.bins).map(|slot| (slot % 3 > 0).then_some(slot as u128 * 5)).collect(),
            sender: (0..bins).map(|bin| (0..load).map(|slot| number(bin, slot)).collect()).collect(),
            items: (0..stash.load as u128).map(|item| item * 2).collect(),
        }
    }

    fn shape(bins: [usize; 3], stash: [usize; 3]) -> Shape {
        let table = |[bins, load, bits]: [usize; 3]| Table { bins, load, bits };
        Shape { bins: table(bins), stash: table(stash) }
    }

    const SHAPES: [([usize; 3], [usize; 3]); 6] = [
        ([1, 1, 1], [0, 0, 0]),
        ([100, 5, 9], [0, 0, 0]),
        ([100, 5, 9], [4, 32, 12]),
        ([3, 70, 12], [1, 1, 8]),
        ([65, 1, 64], [0, 0, 0]),
        ([0, 4, 3], [2, 9, 7]),
    ];

    #[test]
    fn a_bin_matches_if_the_sender_has_its_number() {
        for (bins, stash) in SHAPES {
            let shape = shape(bins, stash);
            let sides = sides(&shape);
            let in_bins = (0..shape.bins.bins).map(|bin| sides.sender[bin].contains(&sides.receiver[bin]));
            let has = |item: &Option<u128>| item.is_some_and(|item| sides.items.contains(&item));
            let expected: Bits = in_bins.chain(sides.stash.iter().map(has)).collect();
            for chunk in [1, 4, 17, 64, 300, usize::MAX] {
                let mut engine = Clear::with_chunk(chunk);
                let matches = matches(&mut engine, &shape, Some(&sides), Some(&sides)).unwrap();
                assert_eq!(matches, expected, "{shape:?} in pieces of {chunk}");
            }
        }
    }

    #[test]
    fn gates_are_as_many_as_the_formula_says() {
        for (bins, stash) in SHAPES {
            let shape = shape(bins, stash);
            for chunk in [1, 4, 300, usize::MAX] {
                let mut count = Count::with_chunk(chunk);
                let wires = matches(&mut count, &shape, None, None).unwrap();
                count.open(Opening::ToReceiver, &[wires]).unwrap();
                assert_eq!(count.ands, shape.and_gates(), "{shape:?} in pieces of {chunk}");
                assert_eq!(count.inputs, [shape.receiver_bits(), shape.sender_bits()]);
                assert_eq!((count.outputs, count.private_ands), (shape.outputs() as u64, 0));
                if shape.bins.bins > 0 {
                    assert_eq!(count.depth, shape.depth(), "{shape:?}");
                }
            }
        }
    }

    #[test]
    fn gates_are_those_of_table_6() {
        let printed = [(8, 15, 12, 297_852), (12, 18, 6, 3_946_776), (16, 19, 4, 49_964_540)];
        for (log, load, stash, gates) in printed.into_iter().chain([(20, 20, 3, 600_833_968)]) {
            let items = 1usize << log;
            let bins = items * 12 / 5;
            let bits = 32 - bins.ilog2() as usize;
            let shape = shape([bins, load, bits], [stash, items, 32]);
            let mut count = Count::with_chunk(1 << 16);
            matches(&mut count, &shape, None, None).unwrap();
            assert_eq!(count.ands, gates + stash as u64, "2^{log} items");
            assert_eq!(count.depth, 6, "a layer more than the paper's 5");
        }
    }
}
