//! How many different keys there are.

use vesica_encode::items::OnDuplicates;
use vesica_spill::Bucket;
use vesica_table::Progress;

use super::distinct::Distinct;
use super::{OnProgress, SpoolError, SpooledKeys, each_record};

/// What a count has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Distinct keys.
    pub(crate) items: u64,
    /// Rows with the key of an earlier row.
    pub(crate) duplicates: u64,
}

impl SpooledKeys {
    /// Counts the distinct keys.
    ///
    /// # Errors
    /// If two rows have the same key and duplicates are not allowed.
    pub(crate) fn count(&self, on_progress: OnProgress<'_>) -> Result<Counts, SpoolError> {
        let strict = self.on_duplicates == OnDuplicates::Error;
        let (mut items, mut done, mut earliest) = (0, 0, None::<(u64, u64)>);
        for bucket in &self.buckets {
            if on_progress(Progress { done, total: self.rows }).is_break() {
                return Err(SpoolError::Cancelled);
            }
            let (distinct, repeated) = self.distinct(bucket)?;
            items += distinct as u64;
            done += bucket.records();
            if let Some(pair) = repeated.filter(|_| strict) {
                let found = self.rows_at(bucket, pair)?;
                earliest = earliest.filter(|(_, second)| *second < found.1).or(Some(found));
            }
        }
        match earliest {
            Some((first, second)) => Err(SpoolError::Duplicate { first, second }),
            None => Ok(Counts { items, duplicates: self.rows - items }),
        }
    }

    /// How many distinct digests a bucket has, and the first two of its records with one digest.
    fn distinct(&self, bucket: &Bucket) -> Result<(usize, Option<(u64, u64)>), SpoolError> {
        // A bucket with many more records than others has many equal ones.
        let usual = self.rows / super::BUCKETS as u64 * 5 / 4;
        let mut distinct = Distinct::new(self.width, bucket.records().min(usual))?;
        let mut number = 0;
        each_record(bucket, self.width, |digest, _| {
            distinct.add(number, digest)?;
            number += 1;
            Ok(())
        })?;
        let (items, repeated) = distinct.finish();
        Ok((items.len(), repeated))
    }

    /// The rows of two records of a bucket, the first before the second.
    fn rows_at(&self, bucket: &Bucket, (first, second): (u64, u64)) -> Result<(u64, u64), SpoolError> {
        let (mut rows, mut number) = ((0, 0), 0);
        each_record(bucket, self.width, |_, row| {
            if number == first {
                rows.0 = row;
            } else if number == second {
                rows.1 = row;
            }
            number += 1;
            Ok(())
        })?;
        Ok(rows)
    }
}
