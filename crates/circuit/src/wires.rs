//! A row of wires, as engines have them.

use std::ops::Range;

/// A row of wires: the same bit of many instances. Rearranging wires costs no gate.
pub trait Wires: Clone + Send {
    /// How many wires.
    fn len(&self) -> usize;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The wires of a range of positions.
    ///
    /// # Panics
    /// If the range leaves the row.
    #[must_use]
    fn slice(&self, range: Range<usize>) -> Self;

    /// Replaces the wires from position `at` on by those of `from`.
    ///
    /// # Panics
    /// If they do not fit.
    fn write(&mut self, at: usize, from: &Self);

    /// The wires at these positions, in their order; a position may occur more than once.
    ///
    /// # Panics
    /// If a position leaves the row.
    #[must_use]
    fn gather(&self, positions: &[u32]) -> Self;

    /// The rows one after another.
    ///
    /// # Panics
    /// If there is no row.
    #[must_use]
    fn join(rows: &[&Self]) -> Self;

    /// The wires of some ranges, one after another.
    ///
    /// # Panics
    /// If there is no range, or one leaves the row.
    #[must_use]
    fn ranges(&self, ranges: &[Range<usize>]) -> Self {
        let parts: Vec<Self> = ranges.iter().map(|range| self.slice(range.clone())).collect();
        Self::join(&parts.iter().collect::<Vec<_>>())
    }

    /// a ⊕ b, which every engine computes without the other party.
    ///
    /// # Panics
    /// If the lengths differ.
    #[must_use]
    fn xor(&self, other: &Self) -> Self;

    /// Adds (⊕) the wires of `from` to those from position `at` on.
    ///
    /// # Panics
    /// If they do not fit.
    fn add(&mut self, at: usize, from: &Self);
}
