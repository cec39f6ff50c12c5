//! The first pass over a columnar input on several threads.
//!
//! A thread decodes a row group of Parquet and makes keys of it, if there are enough groups. Otherwise, and for other
//! formats, the calling thread decodes batches, and whichever thread is free makes keys of one.

use std::marker::PhantomData;

use arrow_array::RecordBatch;
use vesica_crypto::par::{Stages, in_order};

use super::parquet::Group;
use super::{Keys, Scan, Source};
use crate::collect::{Loading, Rows};
use crate::error::TableError;

/// Reads to the end of the scan, unless one thread must take all rows.
pub(super) fn read<'r, S: Rows<'r>>(
    threads: usize,
    scan: &mut Scan<'_>,
    keys: &Keys<'_>,
    rows: &mut S,
) -> Result<(), TableError> {
    if threads < 2 || rows.part()?.is_none() {
        return Ok(());
    }
    let by_groups =
        matches!(&scan.source, Source::Parquet(groups) if rows.keeps_all() && groups.suit(threads));
    in_order(threads, &mut Reading { scan, keys, rows, by_groups, parts: PhantomData })
}

struct Reading<'c, 'a, 'k, 'r, S> {
    scan: &'c mut Scan<'a>,
    keys: &'c Keys<'k>,
    rows: &'c mut S,
    by_groups: bool,
    parts: PhantomData<Loading<'r>>,
}

/// Rows that are to be read, and what a thread makes of them.
struct Read<'k, 'r> {
    keys: Keys<'k>,
    first: u64,
    source: Option<Piece>,
    part: Result<Option<Loading<'r>>, TableError>,
    read: Result<(), TableError>,
}

enum Piece {
    Batch(RecordBatch),
    Group(Group),
}

impl<'k, 'r, S: Rows<'r>> Stages for Reading<'_, '_, 'k, 'r, S> {
    type Piece = Read<'k, 'r>;
    type Error = TableError;

    fn piece(&mut self) -> Read<'k, 'r> {
        Read { keys: self.keys.clone(), first: 0, source: None, part: self.rows.part(), read: Ok(()) }
    }

    fn fill(&mut self, piece: &mut Read<'k, 'r>) -> Result<bool, TableError> {
        piece.first = self.scan.row;
        piece.source = match &mut self.scan.source {
            Source::Parquet(groups) if self.by_groups => groups.next_group()?.map(|(group, rows)| {
                self.scan.row += rows;
                Piece::Group(group)
            }),
            _ => self.scan.next()?.map(|(_, batch)| Piece::Batch(batch)),
        };
        Ok(piece.source.is_some())
    }

    fn work(piece: &mut Read<'k, 'r>) {
        if let (Some(source), Ok(Some(part))) = (piece.source.take(), &mut piece.part) {
            piece.read = source.read(&piece.keys, piece.first, part);
            part.collector.flush();
        }
    }

    fn take(&mut self, piece: &mut Read<'k, 'r>) -> Result<(), TableError> {
        std::mem::replace(&mut piece.read, Ok(()))?;
        if let Some(mut part) = std::mem::replace(&mut piece.part, Ok(None))? {
            self.rows.take_from(&mut part)?;
            piece.part = Ok(Some(part));
        }
        Ok(())
    }
}

impl Piece {
    fn read<'r>(self, keys: &Keys<'_>, mut first: u64, rows: &mut Loading<'r>) -> Result<(), TableError> {
        match self {
            Piece::Batch(batch) => keys.of(first, &batch, rows),
            Piece::Group(mut group) => {
                while let Some(batch) = group.next(keys.input)? {
                    keys.of(first, &batch, rows)?;
                    first += batch.num_rows() as u64;
                }
                Ok(())
            }
        }
    }
}
