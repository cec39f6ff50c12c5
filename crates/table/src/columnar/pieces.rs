//! The first pass over a columnar input on several threads.
//!
//! A thread decodes a row group of Parquet and makes keys of it, if there are enough groups. Otherwise, and for other
//! formats, the calling thread decodes batches, and whichever thread is free makes keys of one.

use arrow_array::RecordBatch;
use vesica_crypto::par::{Pipeline, in_order};

use super::parquet::Group;
use super::{Keys, Scan, Source};
use crate::collect::{Loading, Parted, Rows};
use crate::error::TableError;

/// Bytes of decoded batches beyond which no further one is decoded while threads work on them.
const MOST_BYTES: usize = 32 << 20;

/// Reads to the end of the scan, unless one thread must take all rows.
pub(super) fn read<'r>(
    threads: usize,
    scan: &mut Scan<'_>,
    keys: &Keys<'_>,
    rows: &mut impl Rows<'r>,
) -> Result<(), TableError> {
    let Some(rows) = rows.parted().filter(|_| threads > 1) else { return Ok(()) };
    let by_groups =
        matches!(&scan.source, Source::Parquet(groups) if rows.keeps_all() && groups.suit(threads));
    in_order(threads, &mut Reading { scan, keys, rows, by_groups, bytes: 0 })
}

struct Reading<'c, 'a, 'k, 'r> {
    scan: &'c mut Scan<'a>,
    keys: &'c Keys<'k>,
    rows: &'c mut dyn Parted<'r>,
    by_groups: bool,
    /// Of the batches that threads have.
    bytes: usize,
}

/// Rows that are to be read, and what a thread makes of them.
struct ReadPiece<'k, 'r> {
    keys: Keys<'k>,
    first: u64,
    source: Option<RowSource>,
    bytes: usize,
    part: Loading<'r>,
    read: Result<(), TableError>,
}

enum RowSource {
    Batch(RecordBatch),
    Group(Group),
}

impl<'k, 'r> Pipeline for Reading<'_, '_, 'k, 'r> {
    type Piece = ReadPiece<'k, 'r>;
    type Error = TableError;

    fn piece(&mut self) -> Result<ReadPiece<'k, 'r>, TableError> {
        let (keys, part) = (self.keys.clone(), self.rows.part()?);
        Ok(ReadPiece { keys, first: 0, source: None, bytes: 0, part, read: Ok(()) })
    }

    fn has_room(&self) -> bool {
        self.bytes < MOST_BYTES
    }

    fn fill(&mut self, piece: &mut ReadPiece<'k, 'r>) -> Result<bool, TableError> {
        piece.first = self.scan.row;
        piece.source = match &mut self.scan.source {
            Source::Parquet(groups) if self.by_groups => groups.next_group()?.map(|(group, rows)| {
                self.scan.row += rows;
                RowSource::Group(group)
            }),
            _ => self.scan.next()?.map(|(_, batch)| RowSource::Batch(batch)),
        };
        piece.bytes = match (&piece.source, &self.scan.source) {
            // Slices of a table in memory take none of their own.
            (_, Source::Batches(_)) => 0,
            (Some(RowSource::Batch(batch)), _) => batch.get_array_memory_size(),
            _ => 0,
        };
        self.bytes += piece.bytes;
        Ok(piece.source.is_some())
    }

    fn work(piece: &mut ReadPiece<'k, 'r>) {
        if let Some(source) = piece.source.take() {
            piece.read = source.read(&piece.keys, piece.first, &mut piece.part);
            piece.part.collector.flush();
        }
    }

    fn take(&mut self, piece: &mut ReadPiece<'k, 'r>) -> Result<(), TableError> {
        std::mem::replace(&mut piece.read, Ok(()))?;
        self.bytes -= piece.bytes;
        if let Source::Parquet(groups) = &mut self.scan.source
            && self.by_groups
        {
            groups.has_read(piece.part.collector.report().rows);
        }
        self.rows.take_from(&mut piece.part)?;
        if self.by_groups {
            // The memory of so many rows is not kept beside them.
            piece.part = self.rows.part()?;
        }
        Ok(())
    }
}

impl RowSource {
    fn read<'r>(self, keys: &Keys<'_>, mut first: u64, rows: &mut Loading<'r>) -> Result<(), TableError> {
        match self {
            RowSource::Batch(batch) => keys.of(first, &batch, rows),
            RowSource::Group(mut group) => {
                while let Some(batch) = group.next(keys.input)? {
                    keys.of(first, &batch, rows)?;
                    first += batch.num_rows() as u64;
                }
                Ok(())
            }
        }
    }
}
