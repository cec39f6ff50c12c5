//! Both passes over a text file on several threads.
//!
//! The calling thread reads the file, hashes it, cuts it behind the ends of records and hands out the pieces. Whichever
//! thread is free parses a piece, and the calling thread puts the results together in order. So rows, lines and errors are
//! those that one thread finds, which also reads what is left at the end.

use std::io::{self, Write};

use vesica_crypto::par::{Pipeline, in_order};

use super::{Columns, Csv, Lines, Stop};
use crate::collect::{Loading, Parted, Rows};
use crate::csv::Records;
use crate::error::TableError;
use crate::request::Chosen;
use crate::rows::{Ascending, MatchedRow};

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
pub(super) fn read<'r>(
    threads: usize,
    csv: &mut Csv<'_>,
    columns: &Columns,
    rows: &mut impl Rows<'r>,
) -> Result<Cuts, TableError> {
    let Some(rows) = rows.parted().filter(|_| threads > 1) else { return Ok(Cuts::default()) };
    let mut reading = Reading { csv, columns, rows, cuts: Vec::new() };
    in_order(threads, &mut reading)?;
    Ok(Cuts { threads, cuts: reading.cuts })
}

struct Reading<'c, 'a, 'r> {
    csv: &'c mut Csv<'a>,
    columns: &'c Columns,
    rows: &'c mut dyn Parted<'r>,
    cuts: Vec<Cut>,
}

/// Some records, and the rows that a thread makes of them.
struct ReadPiece<'r> {
    records: Records<io::Empty>,
    bytes: usize,
    columns: Columns,
    part: Loading<'r>,
    read: Result<(), Stop>,
}

impl<'r> Pipeline for Reading<'_, '_, 'r> {
    type Piece = ReadPiece<'r>;
    type Error = TableError;

    fn piece(&mut self) -> Result<ReadPiece<'r>, TableError> {
        let (records, columns) = (self.csv.records.piece(), self.columns.clone());
        Ok(ReadPiece { records, bytes: 0, columns, part: self.rows.part()?, read: Ok(()) })
    }

    fn fill(&mut self, piece: &mut ReadPiece<'r>) -> Result<bool, TableError> {
        let given = self.csv.records.give(&mut piece.records);
        piece.bytes = given.map_err(|failure| self.csv.explain(failure))?;
        Ok(piece.bytes > 0)
    }

    fn work(piece: &mut ReadPiece<'r>) {
        piece.read = piece.columns.read(&mut piece.records, &mut piece.part);
        piece.part.collector.flush();
    }

    fn take(&mut self, piece: &mut ReadPiece<'r>) -> Result<(), TableError> {
        let read = std::mem::replace(&mut piece.read, Ok(()));
        read.map_err(|stop| self.csv.explain_stop(&piece.records, stop))?;
        self.csv.records.left_out().take_from(piece.records.left_out());
        self.cuts.push(Cut { bytes: piece.bytes, rows: piece.part.collector.report().rows });
        self.rows.take_from(&mut piece.part)
    }
}

/// The second pass over a file that begins with row `first`, as far as the pieces of the first pass go. Returns the row
/// behind them.
pub(super) fn select<'r, W: Write>(
    Cuts { threads, cuts }: &Cuts,
    csv: &mut Csv<'_>,
    (chosen, wanted): (Chosen<'r>, &mut Ascending<'r>),
    first: u64,
    lines: &mut Lines<'_, W>,
) -> Result<u64, TableError> {
    let mut selecting = Selecting { csv, chosen, wanted, cuts: cuts.iter(), row: first, lines };
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
struct SelectPiece<'r, 'f> {
    records: Records<io::Empty>,
    chosen: Chosen<'r>,
    /// The chosen rows, counted from the beginning of the piece, ascending.
    rows: Vec<MatchedRow>,
    lines: Lines<'f, Vec<u8>>,
    written: Result<(), Stop>,
}

impl<'r, 'f, W: Write> Pipeline for Selecting<'_, '_, 'r, 'f, W> {
    type Piece = SelectPiece<'r, 'f>;
    type Error = TableError;

    fn piece(&mut self) -> Result<SelectPiece<'r, 'f>, TableError> {
        let (records, lines) =
            (self.csv.records.piece(), Lines::new(Vec::new(), self.lines.notation.clone()));
        let chosen = self.chosen;
        Ok(SelectPiece { records, chosen, rows: Vec::new(), lines, written: Ok(()) })
    }

    fn fill(&mut self, piece: &mut SelectPiece<'r, 'f>) -> Result<bool, TableError> {
        let Some(Cut { bytes, rows }) = self.cuts.next() else { return Ok(false) };
        let given = self.csv.records.give_bytes(*bytes, &mut piece.records);
        given.map_err(|failure| self.csv.explain(failure))?;
        piece.rows.clear();
        let end = self.row + rows;
        while let Some(chosen) = self.wanted.next_below(end) {
            piece.rows.push(MatchedRow { row: chosen.row - self.row, ..chosen });
        }
        self.row = end;
        Ok(true)
    }

    fn work(piece: &mut SelectPiece<'r, 'f>) {
        piece.lines.out.clear();
        piece.written = piece.write();
    }

    fn take(&mut self, piece: &mut SelectPiece<'r, 'f>) -> Result<(), TableError> {
        let written = std::mem::replace(&mut piece.written, Ok(()));
        written.map_err(|stop| self.csv.explain_stop(&piece.records, stop))?;
        Ok(self.lines.out.write_all(&piece.lines.out)?)
    }
}

impl SelectPiece<'_, '_> {
    fn write(&mut self) -> Result<(), Stop> {
        let SelectPiece { records, chosen, rows, lines, .. } = self;
        let mut row = 0;
        let mut left = rows.iter().peekable();
        while left.peek().is_some() {
            if records.read_block() {
                let end = row + records.block_rows() as u64;
                while let Some(wanted) = left.next_if(|wanted| wanted.row < end) {
                    let record = records.block_record((wanted.row - row) as usize);
                    let texts = chosen.added.texts(*wanted);
                    lines.record(record, texts).map_err(Stop::Table)?;
                }
                row = end;
            } else if records.read_row().map_err(Stop::Failure)? {
                if let Some(wanted) = left.next_if(|wanted| wanted.row == row) {
                    let texts = chosen.added.texts(*wanted);
                    lines.record(records.record(), texts).map_err(Stop::Table)?;
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
