//! The join with a list in ascending order: mine is split by the highest bits, and the other one goes over the parts one
//! after another as it comes. Nothing of theirs is kept or moved.

use super::{EMPTY, MOST_PARTS, PART, Part, Parts, Table};

/// Tags looked up at a time.
const BATCH: usize = 128;

/// My tags, ready for an ascending list.
pub struct Ascending {
    parts: Parts,
    /// How far the number of its part is up in a tag.
    shift: u32,
    /// The table of a part.
    table: Table,
    current: Option<usize>,
}

impl Ascending {
    /// The tags of `mine`, which have `bits` bits, and what is to be found in place of each: `item(i)` for tag number i.
    /// Of several equal tags only the first is ever found.
    ///
    /// # Panics
    /// If there are 2^32 tags or more, or a tag has more bits.
    #[must_use]
    pub fn new(mine: &[u128], bits: u32, item: impl Fn(usize) -> u32) -> Self {
        let parts = (mine.len() / PART).next_power_of_two().min(MOST_PARTS).min(1 << bits.min(u32::BITS - 1));
        let shift = bits - parts.ilog2();
        let parts = Parts::split(mine, parts, |tag| part_of(tag, shift), item);
        Self { parts, shift, table: Table::default(), current: None }
    }

    /// Calls `found(item, j)` for every tag j of `theirs` that equals one of mine, with the item of that. A tag below one
    /// that was asked for before takes long.
    pub fn find(&mut self, theirs: &[u128], mut found: impl FnMut(u32, usize)) {
        let mut first = 0;
        for batch in theirs.chunk_by(|a, b| part_of(*a, self.shift) == part_of(*b, self.shift)) {
            let number = part_of(batch[0], self.shift);
            if self.current != Some(number) && number < self.parts.ends.len() {
                self.current = Some(number);
                self.table.fill(&self.parts.part(number), 0);
            }
            if self.current == Some(number) {
                let part = self.parts.part(number);
                for (index, tags) in batch.chunks(BATCH).enumerate() {
                    let place = |i| first + index * BATCH + i;
                    self.table
                        .find_all(&part, tags, |position, i| found(part.records[position] as u32, place(i)));
                }
            }
            first += batch.len();
        }
    }
}

impl Table {
    /// Calls `found(position, i)` for every tag i, of at most [`BATCH`], that the part which filled the table has. Most
    /// others end at an empty slot at once: those are told apart without a branch, which would go either way.
    #[inline]
    fn find_all(&self, mine: &Part<'_>, tags: &[u128], mut found: impl FnMut(usize, usize)) {
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

/// The part of a tag.
#[inline]
fn part_of(tag: u128, shift: u32) -> usize {
    tag.checked_shr(shift).unwrap_or(0) as usize
}
