//! Items as characters, the words of 1-out-of-256 OTs ([`kk13`](vesica_ot::kk13)): t characters of 8 bits for
//! each bin.
//!
//! What stands for an item in a bin is its remainder under permutation-based hashing, or the whole item, a
//! number of σ′ bits. In the stash it is always the whole item.
//!
//! **Empty bins.** An empty bin must not query a real item: the receiver could then test whether the sender
//! holds it. Every remainder is that of some item. So an empty bin queries M, one more than any remainder
//! ([`Permutation::vacant`]). Where whole items are compared, and in the stash, it queries an item of the
//! receiver's own.

use std::ops::Range;

use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::memory::{large_capacity, prefetch};
use vesica_crypto::partitions::Record;
use vesica_encode::hashing::parameters::Cuckoo;
use vesica_encode::hashing::partitioned::{PartitionedKeys, Regions};
use vesica_encode::hashing::{BinAssignments, Digests, ItemBins, Layout, Permutation, cuckoo};
use vesica_encode::items::Items;

use super::{Batch, BinPartition, BinTable, BinWords, cuckoo_failure, keys};
use crate::error::Error;
use crate::masks::MaskWidth;
use crate::protocol::Run;

/// OTs of a region, about. Local: regions are multiples of [`BINS`] or end a segment.
const ROWS: usize = 1 << 13;

/// Bins of a region are a multiple of this, so that OTs fill their tiles.
const BINS: usize = 1 << 10;

/// More of the sender's regions than this would be more streams of writes than the processor can follow.
const MOST_REGIONS: usize = 1 << 12;

/// Items ahead whose numbers are on their way.
const AHEAD: usize = 64;

/// σ′: bits of the numbers that are compared. Native items of at most the bits of `width` are used as they
/// are, others hashed to so many.
pub(crate) fn item_bits(sigma: Option<u32>, width: MaskWidth) -> u32 {
    sigma.unwrap_or(width.bits()).min(width.bits())
}

/// ⌈bits/8⌉, at least one: characters of a number.
pub(crate) fn characters(bits: u32) -> usize {
    bits.div_ceil(8).max(1) as usize
}

/// Appends the lowest characters of a number.
#[inline]
pub(crate) fn push_characters(words: &mut Vec<u8>, number: u128, characters: usize) {
    // In a fixed length, for a copy of one that varies would be a call.
    let length = words.len() + characters;
    words.extend_from_slice(&number.to_le_bytes());
    words.truncate(length);
}

/// Every item, in the order of the items, as a number below 2^σ′, and as a digest where `digests` asks for it,
/// [piece](keys::piece) by piece; `take` has the number of a piece's first item, its numbers and its digests.
pub(crate) fn by_pieces(
    run: &Run<'_>,
    width: MaskWidth,
    items: &Items,
    digests: bool,
    mut take: impl FnMut(usize, &[u128], &[Block]),
) -> Result<(), Error> {
    let native = run.parameters.sigma.is_some_and(|sigma| sigma <= width.bits());
    let (mut numbers, mut bytes) = (Vec::new(), Vec::new());
    let mut integers = |first: usize, count: usize, numbers: &mut Vec<u128>| {
        bytes.clear();
        items.gather(count, |i| first + i, &mut bytes);
        numbers.extend(bytes.as_chunks().0.iter().map(|bytes| u128::from(u64::from_be_bytes(*bytes))));
    };
    if native && !digests {
        for first in (0..items.len()).step_by(keys::piece(run)) {
            let count = keys::piece(run).min(items.len() - first);
            numbers.clear();
            integers(first, count, &mut numbers);
            take(first, &numbers, &[]);
            run.advance(count)?;
        }
        return Ok(());
    }
    let oracle = run.context.oracle(Label::new("ot: item to number"));
    keys::by_pieces(run, &oracle, items, |first, keys| {
        numbers.clear();
        match native {
            true => integers(first, keys.len(), &mut numbers),
            false => numbers.extend(keys.iter().map(|key| width.truncate(key.as_bytes()))),
        }
        take(first, &numbers, keys);
    })
}

/// What both parties derive from sizes and parameters.
pub(crate) struct Characters {
    cuckoo: Cuckoo,
    /// ℓ', of items that are hashed.
    pub(crate) hashed: MaskWidth,
    /// σ′.
    pub(crate) sigma: u32,
    /// Whether remainders stand for items.
    permuted: bool,
    /// t.
    pub(crate) of_bin: usize,
    /// t'.
    pub(crate) of_slot: usize,
}

impl Characters {
    /// For native items of `sigma` bits, or items hashed to `hashed`.
    pub(crate) fn new(cuckoo: Cuckoo, sigma: Option<u32>, hashed: MaskWidth, permuted: bool) -> Self {
        let sigma = item_bits(sigma, hashed);
        let of_slot = characters(sigma);
        let of_bin = if permuted { characters(remainder_bits(sigma, cuckoo.layout)) } else { of_slot };
        Self { cuckoo, hashed, sigma, permuted, of_bin, of_slot }
    }

    pub(crate) fn permutation(&self, context: &Context) -> Permutation {
        Permutation::new(context, self.sigma, self.cuckoo.layout)
    }

    /// All OTs of a run.
    pub(crate) fn all_ots(&self) -> u64 {
        (self.of_bin * self.cuckoo.layout.bins() + self.of_slot * self.cuckoo.stash) as u64
    }
}

/// Bits of what a bin has: a remainder, or none.
fn remainder_bits(sigma: u32, layout: Layout) -> u32 {
    // An empty bin has M itself.
    u128::BITS - Permutation::count_remainders(sigma, layout).leading_zeros()
}

impl BinWords for Characters {
    type Word = u8;
    type Table = HeldCharacters;
    type Partition = PartitionedCharacters;

    fn cuckoo(&self) -> Cuckoo {
        self.cuckoo
    }

    fn ots(&self) -> [usize; 2] {
        [self.of_bin, self.of_slot]
    }

    fn extension_calls(&self) -> Regions {
        Regions::of_segments(self.cuckoo.layout, (ROWS / self.of_bin).max(BINS).ilog2())
    }

    fn place(&self, run: &Run<'_>, items: &Items) -> Result<HeldCharacters, Error> {
        let (Cuckoo { layout, stash }, permuted) = (self.cuckoo, self.permuted);
        let permutation = permuted.then(|| self.permutation(&run.context));
        let mut assignments =
            permutation.as_ref().map(|permutation| BinAssignments::with_room(permutation, items.len()));
        let room = |wanted: bool| if wanted { items.len() } else { 0 };
        let (whole, mut own) = (!permuted || stash > 0, None);
        let mut numbers = large_capacity(room(whole));
        let mut digests: Vec<Block> = large_capacity(room(!permuted));
        by_pieces(run, self.hashed, items, !permuted, |_, values, keys| {
            own = own.or(values.first().copied());
            if let (Some(permutation), Some(assignments)) = (&permutation, &mut assignments) {
                assignments.extend(permutation, run.threads, values.len(), |i| values[i]);
            }
            if whole {
                numbers.extend_from_slice(values);
            }
            if !permuted {
                digests.extend_from_slice(keys);
            }
        })?;
        let table = match &assignments {
            Some(assignments) => cuckoo::Table::build(assignments, stash),
            None => cuckoo::Table::build(&Digests::new(&digests, layout), stash),
        };
        let table = table.map_err(|_| cuckoo_failure(run.parameters.paper))?;
        let own = own.unwrap_or_default();
        let vacant = permutation.map_or(own, |permutation| permutation.vacant());
        Ok(HeldCharacters { table, assignments, vacant, own, numbers, ots: self.ots() })
    }

    fn partition(
        &self,
        run: &Run<'_>,
        items: &Items,
        position: impl Fn(usize) -> u32,
    ) -> Result<PartitionedCharacters, Error> {
        let layout = self.cuckoo.layout;
        let mut partition = PartitionedCharacters::empty(self, items.len());
        let mut permuted: Option<(Permutation, BinAssignments)> = self.permuted.then(|| {
            let permutation = self.permutation(&run.context);
            let assignments = BinAssignments::with_room(&permutation, keys::piece(run));
            (permutation, assignments)
        });
        by_pieces(run, self.hashed, items, !self.permuted, |first, values, keys| {
            let position = |i: usize| position(first + i);
            match &mut permuted {
                Some((permutation, assignments)) => {
                    assignments.clear();
                    assignments.extend(permutation, run.threads, values.len(), |i| values[i]);
                    for function in 0..layout.functions() {
                        let remainders = assignments.remainders_under(function);
                        partition.push_all(function, position, assignments, remainders);
                    }
                }
                None => {
                    for function in 0..layout.functions() {
                        let digests = Digests::new(keys, layout);
                        partition.push_all(function, position, &digests, values.iter().copied());
                    }
                }
            }
            if !partition.numbers.is_empty() {
                let numbers = &mut partition.numbers;
                values.iter().enumerate().for_each(|(i, value)| numbers[position(i) as usize] = *value);
            }
        })?;
        Ok(partition)
    }
}

/// The receiver's items in their bins, and what stands for them there.
pub(crate) struct HeldCharacters {
    table: cuckoo::Table,
    /// Bins and remainders, where these stand for the items.
    assignments: Option<BinAssignments>,
    /// What stands for no item in a bin: [`Permutation::vacant`], or `own`.
    vacant: u128,
    /// A whole item of the receiver's own, for empty slots of the stash. The receiver learns whether the
    /// sender has it, which it learns anyway.
    own: u128,
    /// Whole items, where there is use for them.
    numbers: Vec<u128>,
    /// t and t'.
    ots: [usize; 2],
}

impl BinTable<u8> for HeldCharacters {
    #[inline]
    fn item(&self, bin: usize) -> Option<u32> {
        self.table.get(bin)
    }

    fn occupied(&self, bins: Range<usize>) -> usize {
        self.table.occupied(bins)
    }

    fn words(&self, bins: Range<usize>, words: &mut Vec<u8>) {
        let (function, item) =
            (self.table.layout().function_of(bins.start), |i: usize| self.table.get(bins.start + i));
        let Self { assignments, vacant, numbers, .. } = self;
        if let Some(assignments) = assignments {
            return assignments.remainders(function, bins.len(), item, *vacant, words);
        }
        words.clear();
        for i in 0..bins.len() {
            let ahead = Some(i + AHEAD).filter(|ahead| *ahead < bins.len()).and_then(item);
            prefetch(numbers, ahead.map_or(usize::MAX, |item| item as usize));
            let number = item(i).map_or(*vacant, |item| numbers[item as usize]);
            push_characters(words, number, self.ots[0]);
        }
    }

    fn stash(&self, slots: usize, words: &mut Vec<u8>) -> &[u32] {
        words.clear();
        let stash = self.table.stash();
        for slot in 0..slots {
            let number = stash.get(slot).map_or(self.own, |item| self.numbers[*item as usize]);
            push_characters(words, number, self.ots[1]);
        }
        stash
    }
}

/// What a bin has of one of the sender's items.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// Where the item's masks are in the lists.
    pub(crate) position: u32,
    /// The bin, counted from the first of its region.
    pub(crate) bin: u16,
    /// What stands for the item.
    pub(crate) value: u128,
}

/// Bytes of a record before the value.
const HEAD: usize = size_of::<u32>() + size_of::<u16>();

impl Record for Entry {
    const BYTES: usize = HEAD + size_of::<u128>();

    #[inline(always)]
    fn write(self, room: &mut [u8]) {
        // Chunks of known lengths, and no slices: those are copied by a call. The second covers the first
        // one's last bytes.
        if let Some(head) = room.first_chunk_mut() {
            *head = (u64::from(self.bin) << u32::BITS | u64::from(self.position)).to_le_bytes();
        }
        if let Some(value) = room[HEAD..].first_chunk_mut() {
            *value = self.value.to_le_bytes();
        }
    }

    #[inline(always)]
    fn read(room: &[u8], width: usize) -> Self {
        let head = room.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let value = room[HEAD..].first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes));
        let value = value & u128::MAX >> (8 * (Self::BYTES - width));
        Self { position: head as u32, bin: (head >> u32::BITS) as u16, value }
    }
}

/// The sender's items in all of their bins. What stands for an item is computed once.
pub(crate) struct PartitionedCharacters {
    entries: PartitionedKeys<Entry>,
    /// t and t'.
    ots: [usize; 2],
    /// By their positions, whole items; where there is a stash.
    pub(crate) numbers: Vec<u128>,
}

impl PartitionedCharacters {
    fn empty(agreed: &Characters, items: usize) -> Self {
        let layout = agreed.cuckoo.layout;
        let mut bits = (ROWS / agreed.of_bin).max(BINS).ilog2();
        while layout.bins() >> bits >= MOST_REGIONS && bits < u16::BITS {
            bits += 1;
        }
        let regions = Regions::of_segments(layout, bits);
        let entries = PartitionedKeys::new(regions, HEAD + agreed.of_bin, layout.functions() * items);
        let numbers = if agreed.cuckoo.stash > 0 { vec![0; items] } else { Vec::new() };
        Self { entries, ots: agreed.ots(), numbers }
    }

    fn push_all(
        &mut self,
        function: usize,
        position: impl Fn(usize) -> u32,
        bins: &impl ItemBins,
        values: impl Iterator<Item = u128>,
    ) {
        for (item, value) in values.enumerate() {
            let (bin, position) = (bins.bin_of(item, function), position(item));
            self.entries.push(function, bin, |bin| Entry { position, bin: bin as u16, value });
        }
    }

    /// Hands out some of what `function` has in the region that begins with bin `first`. False if there was
    /// nothing.
    #[inline]
    pub(crate) fn take_each(&mut self, function: usize, first: usize, each: impl FnMut(Entry)) -> bool {
        self.entries.take_each(function, first, each)
    }
}

impl BinPartition<u8> for PartitionedCharacters {
    fn regions(&self) -> Regions {
        self.entries.regions()
    }

    fn take(&mut self, function: usize, first: usize, batch: &mut Batch<u8>) -> bool {
        batch.clear();
        let (Batch { positions, rows, words }, characters) = (batch, self.ots[0]);
        self.take_each(function, first, |entry| {
            positions.push(entry.position);
            rows.push(u32::from(entry.bin) * characters as u32);
            push_characters(words, entry.value, characters);
        })
    }

    fn stash_words(&self, positions: Range<usize>, words: &mut Vec<u8>) {
        words.clear();
        self.numbers[positions].iter().for_each(|number| push_characters(words, *number, self.ots[1]));
    }
}
