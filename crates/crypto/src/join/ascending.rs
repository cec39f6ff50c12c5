//! The join with a list in ascending order. My list is partitioned by the highest bits, and the other list
//! visits the buckets one after another as it comes. Nothing of the other list is kept or moved.

use super::{BUCKET, Bucket, Buckets, EMPTY, MOST_BUCKETS, Table, Tags};

/// Tags that one call looks up.
const BATCH: usize = 128;

/// My tags, ready for an ascending list.
pub struct Ascending {
    buckets: Buckets,
    /// The lowest bit of a tag's bucket number in the tag.
    shift: u32,
}

/// A walk along an ascending list.
pub struct Walk<'a> {
    mine: &'a Ascending,
    /// The hash table of the current bucket.
    table: Table,
    current: Option<usize>,
}

impl Ascending {
    /// Arranges the tags of `mine` on at most `threads` threads. They have `bits` bits; tag number i stands for
    /// `item(i)`. Of several equal tags only the first is ever found.
    ///
    /// # Panics
    /// If there are 2^32 tags or more, or a tag has more bits.
    #[must_use]
    pub fn new<T: Tags + ?Sized>(
        threads: usize,
        mine: &T,
        bits: u32,
        item: impl Fn(usize) -> u32 + Sync,
    ) -> Self {
        let buckets =
            (mine.count() / BUCKET).next_power_of_two().min(MOST_BUCKETS).min(1 << bits.min(u32::BITS - 1));
        let shift = bits - buckets.ilog2();
        let buckets = Buckets::split(threads, mine, buckets, |tag| bucket_of(tag, shift), item);
        Self { buckets, shift }
    }

    /// Begins a walk along a list, or a part of one.
    #[must_use]
    pub fn walk(&self) -> Walk<'_> {
        Walk { mine: self, table: Table::default(), current: None }
    }
}

impl Walk<'_> {
    /// Calls `found(item, j)` for every tag j of `theirs` that equals a tag of mine, with my tag's item. Tags
    /// must ascend from call to call: a tag of an earlier bucket costs time.
    pub fn find(&mut self, theirs: &[u128], mut found: impl FnMut(u32, usize)) {
        let Ascending { buckets, shift } = self.mine;
        let mut first = 0;
        for batch in theirs.chunk_by(|a, b| bucket_of(*a, *shift) == bucket_of(*b, *shift)) {
            let number = bucket_of(batch[0], *shift);
            if self.current != Some(number) && number < buckets.ends.len() {
                self.current = Some(number);
                self.table.fill(&buckets.bucket(number), 0);
            }
            if self.current == Some(number) {
                let bucket = buckets.bucket(number);
                for (index, tags) in batch.chunks(BATCH).enumerate() {
                    let index_of = |i| first + index * BATCH + i;
                    self.table.find_all(&bucket, tags, |position, i| {
                        found(bucket.records[position] as u32, index_of(i))
                    });
                }
            }
            first += batch.len();
        }
    }
}

impl Table {
    /// Calls `found(position, i)` for every tag i, of at most [`BATCH`], that is in the bucket which filled
    /// the table. Most other tags meet an empty slot at once. The loop drops them without a branch, which
    /// would be unpredictable.
    #[inline]
    fn find_all(&self, mine: &Bucket<'_>, tags: &[u128], mut found: impl FnMut(usize, usize)) {
        let (mut passed, mut count) = ([0; BATCH], 0);
        for (i, tag) in tags.iter().enumerate() {
            passed[count] = i;
            count += usize::from(self.slots[*tag as usize & (self.slots.len() - 1)] != EMPTY);
        }
        for i in &passed[..count] {
            if let Ok(position) = self.search_for(mine, tags[*i] << u32::BITS, (tags[*i] >> 96) as u32) {
                found(position, *i);
            }
        }
    }
}

/// The bucket number of a tag.
#[inline]
fn bucket_of(tag: u128, shift: u32) -> usize {
    tag.checked_shr(shift).unwrap_or(0) as usize
}
