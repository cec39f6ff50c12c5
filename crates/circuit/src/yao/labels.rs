//! Rows of wire labels, and how the gates of a layer are gathered.

use std::fmt;
use std::ops::Range;

use vesica_crypto::block::Block;
use vesica_crypto::memory::Wiped;

use crate::bits::Bits;
use crate::error::Error;
use crate::wires::Wires;

/// A label of a wire: `W` blocks, of which a level uses the lowest bits.
pub(super) type Label<const W: usize> = [Block; W];

/// Gates of a call of the kernel: labels and tables of so many stay in the first-level cache.
pub(super) const BATCH: usize = 256;

/// A row of wires: the label of each that this party has. Wiped when dropped, and never printed.
pub struct Labels<const W: usize>(pub(super) Wiped<Label<W>>);

impl<const W: usize> Labels<W> {
    /// The row of these labels.
    pub(super) fn of(labels: Vec<Label<W>>) -> Self {
        Labels(Wiped::from(labels))
    }

    /// `len` times the same label.
    pub(super) fn repeat(label: Label<W>, len: usize) -> Self {
        Self::of(vec![label; len])
    }

    /// The lowest bit of each label.
    pub(super) fn low_bits(&self) -> Bits {
        self.0.iter().map(|label| label.first().is_some_and(|low| low.bit(0))).collect()
    }
}

impl<const W: usize> fmt::Debug for Labels<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Labels").field("len", &self.0.len()).finish_non_exhaustive()
    }
}

impl<const W: usize> Clone for Labels<W> {
    fn clone(&self) -> Self {
        Self::of(self.0.to_vec())
    }
}

impl<const W: usize> Wires for Labels<W> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn slice(&self, range: Range<usize>) -> Self {
        Self::of(self.0[range].to_vec())
    }

    fn write(&mut self, at: usize, from: &Self) {
        self.0[at..at + from.0.len()].copy_from_slice(&from.0);
    }

    fn gather(&self, positions: &[u32]) -> Self {
        Self::of(positions.iter().map(|&position| self.0[position as usize]).collect())
    }

    fn join(rows: &[&Self]) -> Self {
        assert!(!rows.is_empty(), "at least one row");
        let mut joined = Vec::with_capacity(rows.iter().map(|row| row.0.len()).sum());
        rows.iter().for_each(|row| joined.extend_from_slice(&row.0));
        Self::of(joined)
    }

    fn ranges(&self, ranges: &[Range<usize>]) -> Self {
        assert!(!ranges.is_empty(), "at least one range");
        let mut labels = Vec::with_capacity(ranges.iter().map(Range::len).sum());
        ranges.iter().for_each(|range| labels.extend_from_slice(&self.0[range.clone()]));
        Self::of(labels)
    }

    fn xor(&self, other: &Self) -> Self {
        assert_eq!(self.0.len(), other.0.len(), "rows of one length");
        Self::of(self.0.iter().zip(other.0.iter()).map(|(a, b)| Block::xor_rows(a, b)).collect())
    }

    fn add(&mut self, at: usize, from: &Self) {
        let to = &mut self.0[at..at + from.0.len()];
        to.iter_mut().zip(from.0.iter()).for_each(|(to, from)| *to = Block::xor_rows(to, from));
    }
}

/// The gates that go to one call of the kernel.
pub(super) struct Stage<const W: usize> {
    inputs: [Wiped<Label<W>>; 2],
    outputs: Wiped<Label<W>>,
    /// Both ciphertexts of each gate, on their way to or from the other party.
    tables: Vec<[Label<W>; 2]>,
}

impl<const W: usize> Stage<W> {
    pub(super) fn new() -> Self {
        let row = || Wiped::from(vec![[Block::ZERO; W]; BATCH]);
        Stage { inputs: [row(), row()], outputs: row(), tables: vec![[[Block::ZERO; W]; 2]; BATCH] }
    }

    /// Hands the gates of a layer to `work`, at most [`BATCH`] at a time: both inputs, and room for the ciphertexts and
    /// the outputs. Rows share a batch, so that short ones do not waste it. The batches depend on the number of gates
    /// alone.
    pub(super) fn run(
        &mut self,
        layer: &[[&Labels<W>; 2]],
        mut work: impl FnMut([&[Label<W>]; 2], &mut [[Label<W>; 2]], &mut [Label<W>]) -> Result<(), Error>,
    ) -> Result<Vec<Labels<W>>, Error> {
        assert!(layer.iter().all(|[a, b]| a.len() == b.len()), "rows of one length");
        let lengths: Vec<usize> = layer.iter().map(|[a, _]| a.len()).collect();
        let mut made: Vec<Labels<W>> =
            lengths.iter().map(|len| Labels::of(Vec::with_capacity(*len))).collect();
        let (mut read, mut written) = (Cursor::default(), Cursor::default());
        let mut left: usize = lengths.iter().sum();
        let Stage { inputs: [first, second], outputs, tables } = self;
        while left > 0 {
            let count = left.min(BATCH);
            if let Some(range) = read.within_row(&lengths, count) {
                let inputs = layer[read.row].map(|row| &row.0[range.clone()]);
                work(inputs, &mut tables[..count], &mut outputs[..count])?;
                read.advance(&lengths, count, |_, _, _| ());
            } else {
                read.advance(&lengths, count, |row, range, at| {
                    let [a, b] = layer[row];
                    first[at..at + range.len()].copy_from_slice(&a.0[range.clone()]);
                    second[at..at + range.len()].copy_from_slice(&b.0[range]);
                });
                work([&first[..count], &second[..count]], &mut tables[..count], &mut outputs[..count])?;
            }
            written.advance(&lengths, count, |row, range, at| {
                made[row].0.extend_from_slice(&outputs[at..at + range.len()]);
            });
            left -= count;
        }
        Ok(made)
    }
}

/// A position in rows that lie one after another.
#[derive(Default)]
struct Cursor {
    row: usize,
    at: usize,
}

impl Cursor {
    /// The next `count` positions, if one row has them all.
    fn within_row(&self, lengths: &[usize], count: usize) -> Option<Range<usize>> {
        (lengths[self.row] - self.at >= count).then(|| self.at..self.at + count)
    }

    /// Moves on by `count`. Calls `piece` with each row on the way, its range, and where that lies among the `count`.
    fn advance(
        &mut self,
        lengths: &[usize],
        count: usize,
        mut piece: impl FnMut(usize, Range<usize>, usize),
    ) {
        let mut done = 0;
        while done < count {
            let len = (lengths[self.row] - self.at).min(count - done);
            piece(self.row, self.at..self.at + len, done);
            (done, self.at) = (done + len, self.at + len);
            if self.at == lengths[self.row] {
                *self = Cursor { row: self.row + 1, at: 0 };
            }
        }
    }
}

/// The rows that lie one after another in `all`.
pub(super) fn split<const W: usize>(all: &[Label<W>], rows: usize, len: usize) -> Vec<Labels<W>> {
    (0..rows).map(|row| Labels::of(all[row * len..(row + 1) * len].to_vec())).collect()
}
