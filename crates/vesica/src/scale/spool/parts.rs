//! The parts of a set on disk: items in, matching rows out.

use std::ops::Range;
use std::sync::Arc;

use rand_core::CryptoRng;
use vesica_crypto::par::{Pipeline, in_order};
use vesica_encode::items::{Items, Matches, OnDuplicates, Width};
use vesica_encode::parts::Parts;
use vesica_spill::{Block, Bucket, Buckets, Label, Spill};
use vesica_table::{Progress, RowMarks};

use crate::words::memory_use::disk::PIECE_BLOCKS;

use super::distinct::Distinct;
use super::{OnProgress, ROW, SpoolError, SpooledKeys, each_record, prefix, push_record, split_records};

const PARTS: Label = Label::new("vesica parts v1");
const MATCHED: Label = Label::new("vesica matched items v1");

impl SpooledKeys {
    /// Splits the keys under the key of a run. `of` is the size of the set, padded.
    pub(crate) fn split(
        self,
        key: &[u8; 32],
        parts: Parts,
        of: u64,
        block: Block,
        on_progress: OnProgress<'_>,
    ) -> Result<PartFiles, SpoolError> {
        let SpooledKeys { width, rows, buckets, spill, on_duplicates, plan, threads } = self;
        let files = spill.buckets(PARTS, parts.count(), width.bytes() + ROW, block)?;
        let (buckets, bucket) = (buckets.into_iter(), None);
        let mut splitting =
            Splitting { key, width, parts, files, buckets, bucket, on_progress, rows, done: 0 };
        in_order(plan.splitters(threads, rows), &mut splitting)?;
        let files = splitting.files.finish()?;
        Ok(PartFiles { width, parts, of, files, spill, on_duplicates })
    }
}

/// Buckets that are split, some blocks at a time. Once all its blocks were taken, a bucket gives back its place on disk.
struct Splitting<'k, 'p> {
    key: &'k [u8; 32],
    width: Width,
    parts: Parts,
    files: Buckets,
    buckets: std::vec::IntoIter<Bucket>,
    /// The bucket that is being handed out, and its next block.
    bucket: Option<(Arc<Bucket>, u64)>,
    on_progress: OnProgress<'p>,
    rows: u64,
    /// Rows of the buckets that were begun.
    done: u64,
}

/// Blocks of a bucket, and their items under the key of the run.
struct SplitPiece<'k> {
    key: &'k [u8; 32],
    width: Width,
    blocks: Option<(Arc<Bucket>, Range<u64>)>,
    digests: Vec<u8>,
    items: Vec<u8>,
    rows: Vec<u64>,
    read: Result<(), SpoolError>,
}

impl<'k> Pipeline for Splitting<'k, '_> {
    type Piece = SplitPiece<'k>;
    type Error = SpoolError;

    fn piece(&mut self) -> Result<SplitPiece<'k>, SpoolError> {
        let (digests, items, rows) = (Vec::new(), Vec::new(), Vec::new());
        let Splitting { key, width, .. } = *self;
        Ok(SplitPiece { key, width, blocks: None, digests, items, rows, read: Ok(()) })
    }

    fn fill(&mut self, piece: &mut SplitPiece<'k>) -> Result<bool, SpoolError> {
        loop {
            if let Some((bucket, next)) = self.bucket.take() {
                let end = bucket.blocks().min(next + PIECE_BLOCKS);
                if next < end {
                    piece.blocks = Some((bucket.clone(), next..end));
                    self.bucket = Some((bucket, end)).filter(|(bucket, end)| *end < bucket.blocks());
                    return Ok(true);
                }
            }
            if (self.on_progress)(Progress { done: self.done, total: self.rows }).is_break() {
                return Err(SpoolError::Cancelled);
            }
            let Some(bucket) = self.buckets.next() else { return Ok(false) };
            self.done += bucket.records();
            self.bucket = Some((Arc::new(bucket), 0));
        }
    }

    fn work(piece: &mut SplitPiece<'k>) {
        let SplitPiece { key, width, blocks, digests, items, rows, read } = piece;
        digests.clear();
        rows.clear();
        if let Some((bucket, blocks)) = blocks {
            *read = bucket.read_blocks(blocks.clone(), |records| {
                for (digest, row) in split_records(records, *width) {
                    digests.extend_from_slice(digest);
                    rows.push(row);
                }
                Ok(())
            });
        }
        items.resize(digests.len(), 0);
        Parts::keyed(key, *width, digests, items);
    }

    fn take(&mut self, piece: &mut SplitPiece<'k>) -> Result<(), SpoolError> {
        std::mem::replace(&mut piece.read, Ok(()))?;
        for (item, row) in piece.items.chunks_exact(self.width.bytes()).zip(&piece.rows) {
            push_record(&mut self.files, self.parts.of_prefix(prefix(item)), *row, item)?;
        }
        piece.blocks = None;
        Ok(())
    }
}

/// The parts of a set on disk: each item under the key of the run, with its row.
pub(crate) struct PartFiles {
    width: Width,
    parts: Parts,
    of: u64,
    files: Vec<Bucket>,
    spill: Spill,
    on_duplicates: OnDuplicates,
}

/// Items of a part that matched, on disk.
pub(crate) struct Matched(Bucket);

impl Matched {
    /// How many there are.
    pub(crate) fn items(&self) -> u64 {
        self.0.records()
    }
}

impl PartFiles {
    /// The file that holds them.
    pub(crate) fn spill(&self) -> &Spill {
        &self.spill
    }

    /// The items of a part, padded with dummies. In place of rows they have numbers that [`keep`](Self::keep) takes.
    pub(crate) fn part(&self, part: usize, rng: &mut dyn CryptoRng) -> Result<Items, SpoolError> {
        let bound = self.parts.bound(self.of);
        let mut distinct = Distinct::new(self.width, self.files[part].records().min(bound))?;
        self.records(part, |item, _| Ok(distinct.add(0, item)?))?;
        let (mut builder, _) = distinct.finish();
        builder.renumber();
        let mut items = builder.build(OnDuplicates::First)?;
        self.parts.fill(part, self.of, &mut items, rng)?;
        Ok(items)
    }

    /// Keeps the matching items of a part on disk, until [`mark`](Self::mark) takes them.
    pub(crate) fn keep(&self, items: &Items, matches: &Matches) -> Result<Matched, SpoolError> {
        let mut kept = self.spill.buckets(MATCHED, 1, self.width.bytes(), Block::LARGE)?;
        // Numbers ascend with the items.
        let mut wanted = matches.rows().iter().peekable();
        for index in 0..items.len() {
            let number = items.rows_of(index).next();
            if wanted.next_if(|wanted| Some(**wanted) == number).is_some() {
                kept.push(0, items.get(index))?;
            }
        }
        let kept = kept.finish()?.pop();
        debug_assert!(wanted.next().is_none(), "all matches are items of the part");
        kept.map(Matched).ok_or(SpoolError::Spill(vesica_spill::SpillError::TooMany))
    }

    /// Puts the rows of matched items of a part into `rows`.
    pub(crate) fn mark(&self, part: usize, matched: &Matched, rows: &RowMarks) -> Result<(), SpoolError> {
        match self.width {
            Width::Digest128 => self.mark_wide::<16>(part, matched, rows),
            Width::Digest256 => self.mark_wide::<32>(part, matched, rows),
        }
    }

    /// Of items of N bytes.
    fn mark_wide<const N: usize>(
        &self,
        part: usize,
        matched: &Matched,
        rows: &RowMarks,
    ) -> Result<(), SpoolError> {
        let mut items: Vec<[u8; N]> = Vec::with_capacity(matched.items() as usize);
        matched.0.read(|records| {
            items.extend_from_slice(records.as_chunks().0);
            Ok::<(), SpoolError>(())
        })?;
        let lookup = Lookup::of(items);
        let mut is_marked = match self.on_duplicates {
            OnDuplicates::First => vec![false; lookup.items.len()],
            _ => Vec::new(),
        };
        self.records(part, |item, row| {
            let Some(at) = lookup.find(item) else { return Ok(()) };
            // The records of an item come in the order of its rows.
            let again = is_marked.get_mut(at).is_some_and(|marked| std::mem::replace(marked, true));
            if !again {
                rows.insert(row);
            }
            Ok(())
        })
    }

    /// Hands the items and rows of a part to `take`.
    fn records(
        &self,
        part: usize,
        take: impl FnMut(&[u8], u64) -> Result<(), SpoolError>,
    ) -> Result<(), SpoolError> {
        each_record(&self.files[part], self.width, take)
    }
}

/// Finds an item among ascending ones. Items of a part are uniform in its range, so a linear guess is nearly right.
struct Lookup<const N: usize> {
    items: Vec<[u8; N]>,
    first: u64,
    /// Where the items of each slot begin; about two items have one slot.
    starts: Vec<u32>,
    /// Prefixes of one slot.
    step: u64,
}

impl<const N: usize> Lookup<N> {
    fn of(items: Vec<[u8; N]>) -> Self {
        let (first, last) =
            (items.first().map_or(0, |item| prefix(item)), items.last().map_or(0, |item| prefix(item)));
        let slots = items.len() as u64 / 2 + 1;
        let step = (last - first) / slots + 1;
        let mut starts = Vec::with_capacity(slots as usize + 1);
        for (at, item) in (0..).zip(&items) {
            let slot = (prefix(item) - first) / step;
            while starts.len() as u64 <= slot {
                starts.push(at);
            }
        }
        starts.push(items.len() as u32);
        Lookup { items, first, starts, step }
    }

    #[inline]
    fn find(&self, item: &[u8]) -> Option<usize> {
        let slot = (prefix(item).checked_sub(self.first)? / self.step) as usize;
        let (start, end) = (*self.starts.get(slot)? as usize, *self.starts.get(slot + 1)? as usize);
        (start..end).find(|at| self.items[*at] == *item)
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn what_is_there_is_found_and_nothing_else() {
        let mut rng = StdRng::seed_from_u64(5);
        for count in [0, 1, 2, 3, 1000, 20_000] {
            // Of the whole range, of a part's, and all equal in front.
            for (shift, offset) in [(0, 0), (20, u64::MAX - (u64::MAX >> 20)), (64, 77)] {
                let mut item = || {
                    let mut item: [u8; 16] = rng.random();
                    let number = u64::from_be_bytes(*item.first_chunk().unwrap());
                    let number = offset + number.checked_shr(shift).unwrap_or(0);
                    item[..8].copy_from_slice(&number.to_be_bytes());
                    item
                };
                let mut items: Vec<_> = (0..count).map(|_| item()).collect();
                let others: Vec<_> = (0..count + 9).map(|_| item()).collect();
                items.sort_unstable();
                let lookup = Lookup::of(items.clone());
                assert!(items.iter().enumerate().all(|(at, item)| lookup.find(item) == Some(at)));
                assert!(others.iter().all(|item| lookup.find(item).is_none()));
                assert!(lookup.find(&[0; 16]).is_none() && lookup.find(&[0xff; 16]).is_none());
            }
        }
    }
}
