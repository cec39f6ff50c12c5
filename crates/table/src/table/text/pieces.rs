//! Both passes over a text file on several threads.
//!
//! The calling thread reads the file, hashes it, cuts it behind the ends of records and hands out the pieces. Whichever
//! thread is free parses a piece, and the calling thread puts the results together in order. So rows, lines and errors are
//! those that one thread finds, which also reads what is left at the end.

use std::io::{self, Write};
use std::marker::PhantomData;

use vesica_crypto::par::{Stages, in_order};

use super::{Columns, Csv, Lines, Stop};
use crate::collect::{Loading, Rows};
use crate::csv::Records;
use crate::error::TableError;
use crate::request::Chosen;
use crate::rows::Ascending;

/// The pieces that a first pass was cut into, in order. What follows them is read by one thread.
#[derive(Debug, Default)]
pub(crate) struct Cuts {
    threads: usize,
    cuts: Vec<Cut>,
}

#[derive(Debug)]
struct Cut {
    bytes: usize,
    rows: u64,
}

/// The first pass, as far as pieces go. There are none for one thread, or for rows that one thread must take.
pub(super) fn read<'r, S: Rows<'r>>(
    threads: usize,
    csv: &mut Csv<'_>,
    columns: &Columns,
    rows: &mut S,
) -> Result<Cuts, TableError> {
    if threads < 2 || rows.part()?.is_none() {
        return Ok(Cuts::default());
    }
    let mut reading = Reading { csv, columns, rows, cuts: Vec::new(), parts: PhantomData };
    in_order(threads, &mut reading)?;
    Ok(Cuts { threads, cuts: reading.cuts })
}

struct Reading<'c, 'a, 'r, S> {
    csv: &'c mut Csv<'a>,
    columns: &'c Columns,
    rows: &'c mut S,
    cuts: Vec<Cut>,
    parts: PhantomData<Loading<'r>>,
}

/// Some records, and the rows that a thread makes of them.
struct Read<'r> {
    records: Records<io::Empty>,
    bytes: usize,
    columns: Columns,
    part: Result<Option<Loading<'r>>, TableError>,
    stop: Option<Stop>,
}

impl<'r, S: Rows<'r>> Stages for Reading<'_, '_, 'r, S> {
    type Piece = Read<'r>;
    type Error = TableError;

    fn piece(&mut self) -> Read<'r> {
        let (records, columns) = (self.csv.records.piece(), self.columns.clone());
        Read { records, bytes: 0, columns, part: self.rows.part(), stop: None }
    }

    fn fill(&mut self, piece: &mut Read<'r>) -> Result<bool, TableError> {
        let given = self.csv.records.give(&mut piece.records);
        piece.bytes = given.map_err(|failure| self.csv.explain(failure))?;
        Ok(piece.bytes > 0)
    }

    fn work(piece: &mut Read<'r>) {
        if let Ok(Some(part)) = &mut piece.part {
            piece.stop = piece.columns.read(&mut piece.records, part).err();
            part.collector.flush();
        }
    }

    fn take(&mut self, piece: &mut Read<'r>) -> Result<(), TableError> {
        match piece.stop.take() {
            Some(Stop::Failure(failure)) => return Err(self.csv.explain_in(&piece.records, failure)),
            Some(Stop::Table(error)) => return Err(error),
            None => {}
        }
        if let Some(mut part) = std::mem::replace(&mut piece.part, Ok(None))? {
            self.cuts.push(Cut { bytes: piece.bytes, rows: part.collector.report().rows });
            self.rows.take_from(&mut part)?;
            piece.part = Ok(Some(part));
        }
        Ok(())
    }
}

/// The second pass, as far as the pieces of the first one go. Returns how many rows they have.
pub(super) fn select<'r, W: Write>(
    Cuts { threads, cuts }: &Cuts,
    csv: &mut Csv<'_>,
    (chosen, wanted): (Chosen<'r>, &mut Ascending<'r>),
    lines: &mut Lines<'_, W>,
) -> Result<u64, TableError> {
    let mut selecting = Selecting { csv, chosen, wanted, cuts: cuts.iter(), row: 0, lines };
    in_order(*threads, &mut selecting)?;
    Ok(selecting.row)
}

struct Selecting<'c, 'a, 'r, 'f, W> {
    csv: &'c mut Csv<'a>,
    chosen: Chosen<'r>,
    wanted: &'c mut Ascending<'r>,
    cuts: std::slice::Iter<'c, Cut>,
    /// The row that the next piece begins with.
    row: u64,
    lines: &'c mut Lines<'f, W>,
}

/// Some records, and those that were chosen as they are written.
struct Selected<'r, 'f> {
    records: Records<io::Empty>,
    chosen: Chosen<'r>,
    /// The number of the first chosen row among all of them.
    first: usize,
    /// The chosen rows, counted from the beginning of the piece, ascending.
    rows: Vec<u32>,
    lines: Lines<'f, Vec<u8>>,
    stop: Option<Stop>,
}

impl<'r, 'f, W: Write> Stages for Selecting<'_, '_, 'r, 'f, W> {
    type Piece = Selected<'r, 'f>;
    type Error = TableError;

    fn piece(&mut self) -> Selected<'r, 'f> {
        let (records, lines) = (self.csv.records.piece(), Lines::new(Vec::new(), self.lines.form));
        Selected { records, chosen: self.chosen, first: 0, rows: Vec::new(), lines, stop: None }
    }

    fn fill(&mut self, piece: &mut Selected<'r, 'f>) -> Result<bool, TableError> {
        let Some(Cut { bytes, rows }) = self.cuts.next() else { return Ok(false) };
        let given = self.csv.records.give_bytes(*bytes, &mut piece.records);
        given.map_err(|failure| self.csv.explain(failure))?;
        piece.first = self.wanted.taken();
        piece.rows.clear();
        let end = self.row + rows;
        while let Some((_, row)) = self.wanted.next_below(end) {
            // A piece has fewer rows than bytes, which fit the memory.
            piece.rows.push((row - self.row) as u32);
        }
        self.row = end;
        Ok(true)
    }

    fn work(piece: &mut Selected<'r, 'f>) {
        piece.lines.out.clear();
        piece.stop = piece.write().err();
    }

    fn take(&mut self, piece: &mut Selected<'r, 'f>) -> Result<(), TableError> {
        if let Some(stop) = piece.stop.take() {
            return Err(self.csv.explain_stop(stop));
        }
        Ok(self.lines.out.write_all(&piece.lines.out)?)
    }
}

impl Selected<'_, '_> {
    fn write(&mut self) -> Result<(), Stop> {
        let Selected { records, chosen, first, rows, lines, .. } = self;
        let mut row = 0;
        let mut left = (*first..).zip(&*rows).peekable();
        while left.peek().is_some() {
            if records.read_block() {
                let end = row + records.block_rows();
                while let Some((number, at)) = left.next_if(|(_, at)| (**at as usize) < end) {
                    let record = records.block_record(*at as usize - row);
                    lines.record(record, chosen.added.texts(number)).map_err(Stop::Table)?;
                }
                row = end;
            } else if records.read_row().map_err(Stop::Failure)? {
                if let Some((number, _)) = left.next_if(|(_, at)| **at as usize == row) {
                    lines.record(records.verbatim(), chosen.added.texts(number)).map_err(Stop::Table)?;
                }
                row += 1;
            } else {
                // The file has changed, which its fingerprint shows.
                return Ok(());
            }
        }
        Ok(())
    }
}
