//! What the sender has in its bins: whole items, or their remainders, dealt to regions of bins.

use vesica_crypto::partitions::{Partitions, Record};
use vesica_encode::hashing::permutation::{BinAssignments, Permutation};
use vesica_encode::hashing::{Digests, ItemBins};
use vesica_encode::items::Items;

use super::super::{keys, numbers};
use super::{BINS, Plan};
use crate::error::Error;
use crate::protocol::Run;

/// More regions than this would be more streams of writes than the processor can follow.
const MOST_REGIONS: usize = 1 << 12;

/// What a bin has of an item.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// Where the item's masks are in the lists.
    pub(super) place: u32,
    /// The bin, counted from the first of its region.
    pub(super) bin: u16,
    /// What stands for the item.
    pub(super) value: u128,
}

/// Bytes of a record before the value.
const HEAD: usize = size_of::<u32>() + size_of::<u16>();

impl Record for Entry {
    const BYTES: usize = HEAD + size_of::<u128>();

    #[inline(always)]
    fn write(self, room: &mut [u8]) {
        // Chunks of known lengths, and no slices: those are copied by a call. The second covers the first one's last bytes.
        if let Some(head) = room.first_chunk_mut() {
            *head = (u64::from(self.bin) << u32::BITS | u64::from(self.place)).to_le_bytes();
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
        Self { place: head as u32, bin: (head >> u32::BITS) as u16, value }
    }
}

/// The sender's items in all of their bins. An item is known by its place in the lists.
pub(super) struct Dealt {
    /// Bins of a region, as a power of 2.
    region_bits: u32,
    /// Regions of a segment; each segment begins a new one.
    regions: usize,
    segment: usize,
    partitions: Partitions<Entry>,
    /// By their places, whole items; where there is a stash.
    pub(super) numbers: Vec<u128>,
}

impl Dealt {
    pub(super) fn new(run: &Run<'_>, plan: &Plan, items: &Items, places: &[u32]) -> Result<Self, Error> {
        let layout = plan.cuckoo.layout;
        let mut dealt = Self::empty(plan, items.len());
        let mut permuted: Option<(Permutation, BinAssignments)> = plan.permuted.then(|| {
            let permutation = plan.permutation(&run.context);
            let placed = BinAssignments::with_room(&permutation, keys::piece(run));
            (permutation, placed)
        });
        numbers::by_pieces(run, plan.hashed, items, !plan.permuted, |first, values, keys| {
            let places = &places[first..][..values.len()];
            match &mut permuted {
                Some((permutation, placed)) => {
                    placed.clear();
                    placed.extend(permutation, run.threads, values.len(), |i| values[i]);
                    for function in 0..layout.functions() {
                        dealt.push_all(function, places, placed, placed.remainders_under(function));
                    }
                }
                None => {
                    for function in 0..layout.functions() {
                        let digests = Digests::new(keys, layout);
                        dealt.push_all(function, places, &digests, values.iter().copied());
                    }
                }
            }
            if !dealt.numbers.is_empty() {
                places.iter().zip(values).for_each(|(place, value)| dealt.numbers[*place as usize] = *value);
            }
        })?;
        Ok(dealt)
    }

    fn empty(plan: &Plan, items: usize) -> Self {
        let (layout, segment) = (plan.cuckoo.layout, plan.cuckoo.layout.segment() as usize);
        let mut region_bits = (super::ROWS / plan.characters).max(BINS).ilog2();
        while layout.bins() >> region_bits >= MOST_REGIONS && region_bits < u16::BITS {
            region_bits += 1;
        }
        let regions = segment.div_ceil(1 << region_bits);
        let partitions =
            Partitions::new(layout.functions() * regions, HEAD + plan.characters, layout.functions() * items);
        let numbers = if plan.cuckoo.stash > 0 { vec![0; items] } else { Vec::new() };
        Self { region_bits, regions, segment, partitions, numbers }
    }

    fn push_all(
        &mut self,
        function: usize,
        places: &[u32],
        bins: &impl ItemBins,
        values: impl Iterator<Item = u128>,
    ) {
        let first = (function * self.segment) as u32;
        for (item, (place, value)) in places.iter().zip(values).enumerate() {
            let offset = bins.bin_of(item, function) - first;
            let bucket = function * self.regions + (offset >> self.region_bits) as usize;
            let bin = (offset & ((1 << self.region_bits) - 1)) as u16;
            self.partitions.push(bucket, Entry { place: *place, bin, value });
        }
    }

    /// The regions in order: function, first bin, bins. Whole tiles of OTs, but for the last of each segment.
    pub(super) fn regions(&self) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let (size, segment, regions) = (1 << self.region_bits, self.segment, self.regions);
        (0..self.partitions.buckets()).map(move |region| {
            let (function, offset) = (region / regions, region % regions * size);
            (function, function * segment + offset, size.min(segment - offset))
        })
    }

    /// Hands out some of what is in a region. Says whether there was anything.
    #[inline]
    pub(super) fn take(&mut self, region: usize, each: impl FnMut(Entry)) -> bool {
        self.partitions.take_each(region, each)
    }
}
