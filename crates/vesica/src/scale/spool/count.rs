//! How many different keys there are.

use vesica_crypto::par::{Pipeline, in_order};
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
        let (keys, buckets) = (self, self.buckets.iter());
        let mut counting = Counting { keys, buckets, on_progress, done: 0, items: 0, earliest: None };
        in_order(self.plan.counters(self.threads, self.rows), &mut counting)?;
        let Counting { items, earliest, .. } = counting;
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

/// The buckets that are counted, one after the other.
struct Counting<'c, 'p> {
    keys: &'c SpooledKeys,
    buckets: std::slice::Iter<'c, Bucket>,
    on_progress: OnProgress<'p>,
    /// Rows of the buckets that were begun.
    done: u64,
    items: u64,
    /// Of the rows that repeat a key, the first one, and the row whose key it repeats.
    earliest: Option<(u64, u64)>,
}

/// A bucket, and what was counted in it.
struct Counted<'c> {
    keys: &'c SpooledKeys,
    bucket: Option<&'c Bucket>,
    found: Result<(usize, Option<(u64, u64)>), SpoolError>,
}

impl<'c> Pipeline for Counting<'c, '_> {
    type Piece = Counted<'c>;
    type Error = SpoolError;

    fn piece(&mut self) -> Result<Counted<'c>, SpoolError> {
        Ok(Counted { keys: self.keys, bucket: None, found: Ok((0, None)) })
    }

    fn fill(&mut self, piece: &mut Counted<'c>) -> Result<bool, SpoolError> {
        if (self.on_progress)(Progress { done: self.done, total: self.keys.rows }).is_break() {
            return Err(SpoolError::Cancelled);
        }
        piece.bucket = self.buckets.next();
        self.done += piece.bucket.map_or(0, Bucket::records);
        Ok(piece.bucket.is_some())
    }

    fn work(piece: &mut Counted<'c>) {
        piece.found = piece.bucket.map_or(Ok((0, None)), |bucket| piece.keys.distinct(bucket));
    }

    fn take(&mut self, piece: &mut Counted<'c>) -> Result<(), SpoolError> {
        let (distinct, repeated) = std::mem::replace(&mut piece.found, Ok((0, None)))?;
        self.items += distinct as u64;
        let strict = self.keys.on_duplicates == OnDuplicates::Error;
        if let Some((bucket, pair)) = piece.bucket.zip(repeated.filter(|_| strict)) {
            let found = self.keys.rows_at(bucket, pair)?;
            self.earliest = self.earliest.filter(|(_, second)| *second < found.1).or(Some(found));
        }
        Ok(())
    }
}
