//! What a run ends with.

use std::fmt;

use vesica_encode::items::Matches;
use vesica_protocols::{Misuse, Outcome};
use vesica_table::{PayloadRows, RowBitmap, RowSet};

use crate::words::error::Error;
use crate::words::report::Report;
use crate::words::results::{Answer, ResultOptions};
use crate::words::tables::Batches;

/// What a run ended with. The report is there in any case.
pub struct Ended {
    /// The whole report; also given with the last event.
    pub report: Report,
    /// The result, or why there is none.
    pub result: Result<RunResult, Error>,
}

/// What this side learns by a run; all of it is absent on a side that learns nothing.
#[derive(Default)]
#[non_exhaustive]
pub struct RunResult {
    /// My matches. If my keys were on disk, there are none: the report has their numbers, and `selected` has the rows.
    pub matches: Option<Matches>,
    /// My matching rows, if my keys were on disk.
    pub selected: Option<RowBitmap>,
    /// The rule by which each of my matching rows matches, counted from 0, if there are several.
    pub matched_by: Option<Vec<u8>>,
    /// The match numbers of my matching rows, in the order of the rows, if they were agreed.
    pub numbers: Option<Vec<u64>>,
    /// The sender's columns for my matching rows, if they were agreed and the rows go nowhere
    /// ([`Destination::RowNumbers`](crate::words::tables::Destination::RowNumbers)).
    pub payload: Option<PayloadRows>,
    /// The matching rows themselves, if they were to go to
    /// [`Destination::Batches`](crate::words::tables::Destination::Batches).
    pub batches: Option<Batches>,
    /// The result, if it is not rows.
    pub answer: Option<Answer>,
}

impl RunResult {
    /// Of what the protocol ended with.
    ///
    /// # Errors
    /// The payload is not a block for each matching row.
    pub(crate) fn of(outcome: Outcome, options: &ResultOptions) -> Result<Self, Misuse> {
        let answer = |answer| RunResult { answer: Some(answer), ..RunResult::default() };
        Ok(match outcome {
            Outcome::Matches(matches) => RunResult { matches: Some(matches), ..RunResult::default() },
            Outcome::Payloads(matched) => {
                let (matches, blocks, of_row) = matched.into_parts();
                let width = blocks.width();
                let payload = PayloadRows::new(options.payload.clone(), width, blocks.into_bytes(), of_row);
                let payload = Some(payload.ok_or(Misuse::UnfitAttached)?);
                RunResult { matches: Some(matches), payload, ..RunResult::default() }
            }
            Outcome::Count(count) => answer(Answer::Count(count)),
            Outcome::AtLeast(reached) => answer(Answer::AtLeast(reached)),
            Outcome::Sums(sums) => answer(Answer::Sums(options.value.iter().cloned().zip(sums).collect())),
        })
    }

    /// This with numbers of rows in the place of those of keys, of which a row has so many.
    pub(crate) fn by_rows(mut self, rules: usize) -> Self {
        if rules < 2 {
            return self;
        }
        if let Some(bitmap) = self.selected.take() {
            let mut rows = RowBitmap::new(bitmap.room() / rules as u64);
            RowSet::from(&bitmap).by_first_key(rules).for_each(|found| {
                rows.insert(found.row);
            });
            self.selected = Some(rows);
        }
        let Some(matches) = self.matches.take() else { return self };
        let found = || RowSet::from(&matches).by_first_key(rules);
        let at = || found().map(|found| found.at);
        self.numbers = self.numbers.map(|numbers| at().map(|at| numbers[at]).collect());
        self.payload = self.payload.map(|payload| payload.of_rows(at()));
        // There are at most 16 rules.
        self.matched_by = Some(found().map(|found| found.rule as u8).collect());
        let rows = found().map(|found| found.row).collect();
        self.matches = Some(matches.with_rows(rows));
        self
    }
}

/// It shows no row.
impl fmt::Debug for RunResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunResult").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use vesica_encode::items::{Encoding, ItemsBuilder, KeyEncoder, OnDuplicates, Width};

    use super::*;

    /// Matches whose rows are these.
    fn matches(rows: &[u64]) -> Matches {
        let mut builder = ItemsBuilder::new(Encoding::Digest(Width::Digest128), rows.len()).unwrap();
        for row in rows {
            let mut key = KeyEncoder::new(1).unwrap();
            key.part(&row.to_le_bytes()).unwrap();
            builder.push(*row, key.canonical().unwrap()).unwrap();
        }
        let items = builder.build(OnDuplicates::All).unwrap();
        items.matches(0..items.len())
    }

    #[test]
    fn keys_become_rows_with_what_goes_with_their_first_key() {
        // Of three rules: row 0 by the second and the third, row 2 by the first, row 3 by the third.
        let keys = [1, 2, 6, 11];
        let blocks = vec![2, b'a', 2, b'b', 2, b'c', 0xff, 0xff];
        let result = || RunResult {
            matches: Some(matches(&keys)),
            numbers: Some(vec![40, 30, 20, 10]),
            payload: PayloadRows::new(vec!["p".into()], 2, blocks.clone(), vec![0, 1, 2, 3]),
            ..RunResult::default()
        };
        let found = result().by_rows(3);
        assert_eq!(found.matches.as_ref().map(Matches::rows), Some(&[0, 2, 3][..]));
        assert_eq!(found.matches.map(|matches| matches.items()), Some(4));
        assert_eq!(found.matched_by, Some(vec![1, 0, 2]));
        assert_eq!(found.numbers, Some(vec![40, 20, 10]));
        let payload = found.payload.unwrap();
        let texts: Vec<Option<&str>> = (0..3).flat_map(|row| payload.fields(row)).collect();
        assert_eq!(texts, [Some("a"), Some("c"), None]);
        assert_eq!(payload.undecodable(0..3), 1);
        // With one rule, keys are rows.
        let found = result().by_rows(1);
        assert_eq!((found.matches.unwrap().rows(), found.matched_by), (&keys[..], None));

        let mut bitmap = RowBitmap::new(15);
        keys.iter().for_each(|key| assert!(bitmap.insert(*key)));
        let found = RunResult { selected: Some(bitmap), ..RunResult::default() }.by_rows(3);
        assert!(found.selected.unwrap().iter().eq([0, 2, 3]));
    }
}
