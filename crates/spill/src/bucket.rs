//! Buckets: lists of records that are written side by side, and read one by one.

use std::ops::Range;

use crate::cipher::{BlockName, Label, TAG};
use crate::error::SpillError;
use crate::store::{Block, EXTENT, Spill};

/// What the buckets of one kind have in common.
#[derive(Clone, Copy)]
struct Layout {
    label: Label,
    record: usize,
    block: Block,
}

impl Layout {
    /// Blocks of an extent.
    fn blocks_per_extent(&self) -> u64 {
        EXTENT / self.block.bytes() as u64
    }

    fn name(&self, bucket: u32, block: u64, last: bool) -> BlockName {
        BlockName { label: self.label, bucket, block, last }
    }
}

/// Many buckets to which records are appended.
pub struct Buckets {
    layout: Layout,
    /// Bytes of records in a full block.
    payload: usize,
    buckets: Vec<Appended>,
    spill: Spill,
}

/// One bucket while it grows.
#[derive(Default)]
struct Appended {
    /// What is not yet in the file.
    block: Vec<u8>,
    written: Option<Written>,
}

/// The blocks of a bucket in the file. Dropped, it gives its extents back.
struct Written {
    number: u32,
    blocks: u64,
    extents: Vec<u32>,
    spill: Spill,
}

impl Drop for Written {
    fn drop(&mut self) {
        self.spill.free(std::mem::take(&mut self.extents));
    }
}

impl Written {
    fn new(spill: &Spill) -> Result<Self, SpillError> {
        Ok(Written { number: spill.bucket_number()?, blocks: 0, extents: Vec::new(), spill: spill.clone() })
    }

    /// The offset of a block whose extent exists.
    fn offset(&self, layout: &Layout, block: u64) -> u64 {
        let each = layout.blocks_per_extent();
        let extent = self.extents[(block / each) as usize];
        u64::from(extent) * EXTENT + block % each * layout.block.bytes() as u64
    }

    /// Writes the next block and empties it. The number of the block counts as used even if this fails.
    fn append(&mut self, layout: &Layout, records: &mut Vec<u8>, last: bool) -> Result<(), SpillError> {
        let block = self.blocks;
        self.blocks += 1;
        if block.is_multiple_of(layout.blocks_per_extent()) {
            self.extents.push(self.spill.allocate()?);
        }
        let at = self.offset(layout, block);
        self.spill.write(layout.name(self.number, block, last), records, at)
    }
}

impl Spill {
    /// Begins so many buckets of records of `record` bytes. They take `count` blocks of memory until they are
    /// finished.
    pub fn buckets(
        &self,
        label: Label,
        count: usize,
        record: usize,
        block: Block,
    ) -> Result<Buckets, SpillError> {
        Buckets::new(self, label, count, record, block)
    }
}

impl Buckets {
    pub(crate) fn new(
        spill: &Spill,
        label: Label,
        count: usize,
        record: usize,
        block: Block,
    ) -> Result<Self, SpillError> {
        if record == 0 || record > block.bytes() - TAG {
            return Err(SpillError::TooMany);
        }
        let mut buckets = Vec::new();
        buckets.resize_with(count, Appended::default);
        let layout = Layout { label, record, block };
        Ok(Buckets { layout, payload: block.payload(record), buckets, spill: spill.clone() })
    }

    /// Appends a record to a bucket. After an error, nothing more may be appended.
    ///
    /// # Panics
    /// If there is no such bucket, or the record has another width.
    #[inline]
    pub fn push(&mut self, bucket: usize, record: &[u8]) -> Result<(), SpillError> {
        assert_eq!(record.len(), self.layout.record, "a record of this width");
        let bucket = &mut self.buckets[bucket];
        if bucket.block.len() == self.payload {
            bucket.append(&self.spill, &self.layout, false)?;
        } else if bucket.block.capacity() == 0 {
            bucket.block.reserve_exact(self.layout.block.bytes());
        }
        bucket.block.extend_from_slice(record);
        Ok(())
    }

    /// Writes what is left in memory.
    pub fn finish(self) -> Result<Vec<Bucket>, SpillError> {
        let Buckets { layout, payload, buckets, spill } = self;
        let finished = |mut bucket: Appended| {
            let rest = bucket.block.len();
            // Only a bucket without records has an empty rest.
            if rest > 0 {
                bucket.append(&spill, &layout, true)?;
            }
            let full = bucket.written.as_ref().map_or(0, |written| written.blocks.saturating_sub(1));
            let records = (full * payload as u64 + rest as u64) / layout.record as u64;
            Ok(Bucket { layout, payload, rest, records, written: bucket.written })
        };
        buckets.into_iter().map(finished).collect()
    }
}

impl Appended {
    #[cold]
    fn append(&mut self, spill: &Spill, layout: &Layout, last: bool) -> Result<(), SpillError> {
        let written = match &mut self.written {
            Some(written) => written,
            none => none.insert(Written::new(spill)?),
        };
        written.append(layout, &mut self.block, last)
    }
}

impl std::fmt::Debug for Buckets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buckets").field("count", &self.buckets.len()).finish_non_exhaustive()
    }
}

/// A finished list of records. What it takes on disk is free again once it is dropped.
pub struct Bucket {
    layout: Layout,
    /// Bytes of records in a full block, and in the last one.
    payload: usize,
    rest: usize,
    records: u64,
    written: Option<Written>,
}

impl Bucket {
    /// How many records it has.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// How many blocks it has.
    pub fn blocks(&self) -> u64 {
        self.written.as_ref().map_or(0, |written| written.blocks)
    }

    /// Hands its records to `take`, in their order: whole records side by side, a block at a time.
    pub fn read<E: From<SpillError>>(&self, take: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        self.read_blocks(0..self.blocks(), take)
    }

    /// Hands the records of these blocks to `take`, as [`read`](Self::read) does.
    ///
    /// # Panics
    /// If there are no such blocks.
    pub fn read_blocks<E: From<SpillError>>(
        &self,
        blocks: Range<u64>,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(written) = &self.written else { return Ok(()) };
        let mut buffer = vec![0; self.layout.block.bytes()];
        for block in blocks {
            let last = block + 1 == written.blocks;
            let length = if last { self.rest } else { self.payload } + TAG;
            let name = self.layout.name(written.number, block, last);
            let at = written.offset(&self.layout, block);
            take(written.spill.read(name, &mut buffer[..length], at)?)?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Bucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bucket").field("records", &self.records).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
