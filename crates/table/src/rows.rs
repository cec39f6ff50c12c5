//! Which rows of a table leave it.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use vesica_encode::items::Matches;

/// Rows of a table, counted from 0, each once.
#[derive(Clone, Copy, Debug)]
pub enum RowSet<'a> {
    /// An ascending list.
    List(&'a [u64]),
    /// A bit for each row of the table.
    Bitmap(&'a RowBitmap),
}

impl<'a> From<&'a Matches> for RowSet<'a> {
    fn from(matches: &'a Matches) -> Self {
        RowSet::List(matches.rows())
    }
}

impl<'a> From<&'a RowBitmap> for RowSet<'a> {
    fn from(rows: &'a RowBitmap) -> Self {
        RowSet::Bitmap(rows)
    }
}

impl<'a> RowSet<'a> {
    /// How many there are.
    #[allow(clippy::len_without_is_empty, reason = "only how many there are is of use")]
    pub fn len(self) -> usize {
        match self {
            RowSet::List(rows) => rows.len(),
            RowSet::Bitmap(rows) => rows.len() as usize,
        }
    }

    /// The highest row.
    pub(crate) fn last(self) -> Option<u64> {
        match self {
            RowSet::List(rows) => rows.last().copied(),
            RowSet::Bitmap(rows) => rows.last(),
        }
    }

    /// The rows of these keys, ascending, each with the first of its keys. With one rule to match by, keys are rows.
    pub fn by_first_key(self, rules: usize) -> impl Iterator<Item = MatchedRow> {
        let mut rows = Ascending::new(self, rules.max(1));
        std::iter::from_fn(move || rows.next_below(u64::MAX))
    }

    /// The first row from `from` on that is in the set, if so many of a list have been passed.
    #[inline]
    fn following(self, passed: usize, from: u64) -> Option<u64> {
        match self {
            RowSet::List(rows) => rows.get(passed).copied(),
            RowSet::Bitmap(rows) => rows.at_or_after(from),
        }
    }
}

/// A row that matches, of a table whose rows have several keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatchedRow {
    /// The row.
    pub row: u64,
    /// The number of its first matching key among all that match, if they are a list.
    pub at: usize,
    /// The rule of that key.
    pub rule: usize,
}

/// Goes through the rows of a set of keys, which a pass over the table reaches one after the other.
pub(crate) struct Ascending<'a> {
    keys: RowSet<'a>,
    /// Keys that a row has.
    rules: u64,
    /// The next key.
    next: Option<u64>,
    passed: usize,
}

impl<'a> Ascending<'a> {
    /// The rows that have one of these keys, from the first on.
    pub(crate) fn new(keys: RowSet<'a>, rules: usize) -> Self {
        Ascending { keys, rules: rules as u64, next: keys.following(0, 0), passed: 0 }
    }

    /// The next row; none at the end.
    pub(crate) fn peek(&self) -> Option<u64> {
        self.next.map(|key| key / self.rules)
    }

    /// Takes the next row if it is below `end`.
    #[inline]
    pub(crate) fn next_below(&mut self, end: u64) -> Option<MatchedRow> {
        let key = self.next.filter(|key| *key < end.saturating_mul(self.rules))?;
        let at = self.passed;
        // Nearly all tables have one rule, and a division takes longer than the rest.
        let (row, rule) =
            if self.rules == 1 { (key, 0) } else { (key / self.rules, (key % self.rules) as usize) };
        let behind = (row + 1) * self.rules;
        // The other keys of the row are passed by.
        while self.next.is_some_and(|key| key < behind) {
            self.passed += 1;
            self.next = self.keys.following(self.passed, behind);
        }
        Some(MatchedRow { row, at, rule })
    }

    /// Takes all rows below `end`.
    pub(crate) fn all_below(&mut self, end: u64) -> impl Iterator<Item = MatchedRow> {
        std::iter::from_fn(move || self.next_below(end))
    }
}

/// Rows of a table, as a bit for each: an eighth of a byte a row, however many of them are in it.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct RowBitmap {
    words: Vec<u64>,
    len: u64,
}

impl RowBitmap {
    /// None of a table's rows, which are below `rows`.
    pub fn new(rows: u64) -> Self {
        RowBitmap { words: vec![0; rows.div_ceil(64) as usize], len: 0 }
    }

    /// Puts a row into the set, and returns whether it was not in it.
    ///
    /// # Panics
    /// If the table has no such row.
    #[inline]
    pub fn insert(&mut self, row: u64) -> bool {
        let word = &mut self.words[(row / 64) as usize];
        let bit = 1 << (row % 64);
        let new = *word & bit == 0;
        *word |= bit;
        self.len += u64::from(new);
        new
    }

    /// The number below which rows are, rounded up to a word.
    pub fn room(&self) -> u64 {
        self.words.len() as u64 * 64
    }

    /// How many rows are in the set.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether no row is in the set.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The rows, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let row = self.at_or_after(at)?;
            at = row + 1;
            Some(row)
        })
    }

    /// The first row of the set that is not below `row`.
    #[inline]
    fn at_or_after(&self, row: u64) -> Option<u64> {
        let at = (row / 64) as usize;
        let first = self.words.get(at)? & (u64::MAX << (row % 64));
        if first != 0 {
            return Some(at as u64 * 64 + u64::from(first.trailing_zeros()));
        }
        let more = self.words[at + 1..].iter().position(|word| *word != 0)?;
        let at = at + 1 + more;
        Some(at as u64 * 64 + u64::from(self.words[at].trailing_zeros()))
    }

    fn last(&self) -> Option<u64> {
        let at = self.words.iter().rposition(|word| *word != 0)?;
        Some(at as u64 * 64 + u64::from(self.words[at].ilog2()))
    }
}

/// A [`RowBitmap`] into which several threads put rows.
pub struct RowMarks(Vec<AtomicU64>);

impl RowMarks {
    /// None of a table's rows, which are below `rows`.
    pub fn new(rows: u64) -> Self {
        RowMarks((0..rows.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    /// Puts a row into the set.
    ///
    /// # Panics
    /// If the table has no such row.
    #[inline]
    pub fn insert(&self, row: u64) {
        // Whoever ends the threads sees what they wrote; nobody reads before.
        self.0[(row / 64) as usize].fetch_or(1 << (row % 64), Relaxed);
    }
}

impl From<RowMarks> for RowBitmap {
    fn from(RowMarks(words): RowMarks) -> Self {
        let words: Vec<u64> = words.into_iter().map(AtomicU64::into_inner).collect();
        let len = words.iter().map(|word| u64::from(word.count_ones())).sum();
        RowBitmap { words, len }
    }
}

impl fmt::Debug for RowMarks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowMarks").finish_non_exhaustive()
    }
}

impl fmt::Debug for RowBitmap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowBitmap").field("len", &self.len).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// Rows whose bits lie in the same words, from several threads.
    #[test]
    fn marks_of_all_threads_are_there() {
        let marks = RowMarks::new(1000);
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let marks = &marks;
                scope.spawn(move || (thread..999).step_by(3).for_each(|row| marks.insert(row)));
            }
        });
        let rows = RowBitmap::from(marks);
        assert!(rows.iter().eq(0..999));
        assert_eq!(rows.len(), 999);
    }

    #[test]
    fn a_bitmap_is_a_list() {
        let mut rng = StdRng::seed_from_u64(4);
        for share in [0.0, 0.001, 0.5, 1.0] {
            for rows in [0, 1, 63, 64, 65, 1000, 10_000] {
                let list: Vec<u64> = (0..rows).filter(|_| rng.random_bool(share)).collect();
                let mut bitmap = RowBitmap::new(rows);
                assert!(list.iter().all(|row| bitmap.insert(*row)));
                assert!(list.iter().all(|row| !bitmap.insert(*row)));
                assert!(bitmap.iter().eq(list.iter().copied()) && bitmap.is_empty() == list.is_empty());
                let sets = [RowSet::List(&list), RowSet::from(&bitmap)];
                for set in sets {
                    assert!(set.len() == list.len() && set.last() == list.last().copied());
                    let (mut ascending, mut taken) = (Ascending::new(set, 1), Vec::new());
                    // In steps, as a pass over batches of rows takes them.
                    for end in (0..rows + 100).step_by(97) {
                        assert_eq!(ascending.peek(), list.get(taken.len()).copied());
                        while let Some(MatchedRow { row, at, rule }) = ascending.next_below(end) {
                            assert!(at == taken.len() && row < end && rule == 0);
                            taken.push(row);
                        }
                    }
                    assert_eq!(taken, list);
                }
            }
        }
    }

    #[test]
    fn a_row_is_chosen_once_by_its_first_key() {
        let mut rng = StdRng::seed_from_u64(5);
        for rules in [1, 2, 3, 16] {
            for (share, rows) in [(0.0, 50), (0.1, 200), (0.6, 130), (1.0, 70)] {
                let keys: Vec<u64> = (0..rows * rules).filter(|_| rng.random_bool(share)).collect();
                let mut bitmap = RowBitmap::new(rows * rules);
                keys.iter().for_each(|key| assert!(bitmap.insert(*key)));
                let mut expected: Vec<(u64, usize, usize)> = Vec::new();
                for (at, key) in keys.iter().enumerate() {
                    if expected.last().is_none_or(|(row, ..)| *row != key / rules) {
                        expected.push((key / rules, at, (key % rules) as usize));
                    }
                }
                let all = RowSet::List(&keys).by_first_key(rules as usize);
                assert!(all.map(|found| (found.row, found.at, found.rule)).eq(expected.iter().copied()));
                for set in [RowSet::List(&keys), RowSet::from(&bitmap)] {
                    let (mut ascending, mut found) = (Ascending::new(set, rules as usize), Vec::new());
                    for end in (0..rows + 10).step_by(7) {
                        assert!(ascending.peek().is_none_or(|row| row >= end.saturating_sub(7)));
                        found.extend(ascending.all_below(end).map(|chosen| (chosen.row, chosen.rule)));
                    }
                    assert!(found.into_iter().eq(expected.iter().map(|(row, _, rule)| (*row, *rule))));
                }
            }
        }
    }
}
