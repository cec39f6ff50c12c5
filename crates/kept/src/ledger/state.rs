//! What is left of each receiver's budget, from the records of the last days.

use std::collections::HashMap;

use super::file::Record;

const DAY: u64 = 24 * 60 * 60;
/// UTC days in which a query is answered again for nothing, today included.
const REPEATED: u64 = 8;

/// What a query costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decision {
    New,
    Paid,
    Over { left: u64, renews: u64 },
}

/// The budgets of all receivers at the time of the newest record.
#[derive(Default)]
pub(super) struct Budgets {
    newest: u64,
    receivers: HashMap<[u8; 32], Receiver>,
}

#[derive(Default)]
struct Receiver {
    /// The day of `keys`.
    day: u64,
    keys: u64,
    /// Queries by digest and number of keys, with the day they were charged.
    queries: HashMap<([u8; 32], u32), u64>,
}

impl Budgets {
    /// The time of the newest record; 0 if there is none.
    pub(super) fn newest(&self) -> u64 {
        self.newest
    }

    /// What the query of a record costs, if it comes now. The record's time is not before the newest.
    pub(super) fn decide(&self, record: &Record, most_a_day: Option<u64>) -> Decision {
        let today = record.time / DAY;
        if self.is_paid(record, today) {
            return Decision::Paid;
        }
        let most = most_a_day.unwrap_or(u64::MAX);
        let (left, renews) = self.left(&record.receiver, most, record.time);
        match u64::from(record.keys) <= left {
            true => Decision::New,
            false => Decision::Over { left, renews },
        }
    }

    /// The keys that are left to a receiver on the day of that time, and when that day ends.
    pub(super) fn left(&self, receiver: &[u8; 32], most_a_day: u64, time: u64) -> (u64, u64) {
        let today = time / DAY;
        let receiver = self.receivers.get(receiver).filter(|receiver| receiver.day == today);
        let left = most_a_day.saturating_sub(receiver.map_or(0, |receiver| receiver.keys));
        (left, (today + 1).saturating_mul(DAY))
    }

    pub(super) fn is_paid(&self, record: &Record, today: u64) -> bool {
        let receiver = self.receivers.get(&record.receiver);
        let day = receiver.and_then(|receiver| receiver.queries.get(&(record.query, record.keys)));
        day.is_some_and(|day| is_recent(*day, today))
    }

    /// Whether a query was charged in the last days before the newest record.
    pub(super) fn has(&self, receiver: &[u8; 32], query: &[u8; 32], keys: u32) -> bool {
        let record = Record { receiver: *receiver, time: self.newest, keys, query: *query };
        self.is_paid(&record, self.newest / DAY)
    }

    /// Takes note of a charge.
    pub(super) fn note(&mut self, record: &Record) {
        let now = record.time.max(self.newest);
        let today = now / DAY;
        if today != self.newest / DAY {
            self.forget(today);
        }
        self.newest = now;
        let receiver = self.receivers.entry(record.receiver).or_default();
        if receiver.day != today {
            (receiver.day, receiver.keys) = (today, 0);
        }
        receiver.keys = receiver.keys.saturating_add(record.keys.into());
        receiver.queries.insert((record.query, record.keys), today);
    }

    /// Forgets what no longer counts, once a day.
    fn forget(&mut self, today: u64) {
        self.receivers.retain(|_, receiver| {
            receiver.queries.retain(|_, day| is_recent(*day, today));
            !receiver.queries.is_empty()
        });
    }
}

fn is_recent(day: u64, today: u64) -> bool {
    today.saturating_sub(day) < REPEATED
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(receiver: u8, query: u8, keys: u32, time: u64) -> Record {
        Record { receiver: [receiver; 32], time, keys, query: [query; 32] }
    }

    #[test]
    fn a_budget_renews_at_midnight_and_a_query_is_paid_for_eight_days() {
        let mut budgets = Budgets::default();
        budgets.note(&record(1, 1, 60, 10 * DAY));
        let decide = |record: Record| budgets.decide(&record, Some(100));
        assert_eq!(decide(record(1, 2, 40, 10 * DAY + 5)), Decision::New);
        let over = Decision::Over { left: 40, renews: 11 * DAY };
        assert_eq!(decide(record(1, 2, 41, 11 * DAY - 1)), over);
        assert_eq!(decide(record(1, 2, 100, 11 * DAY)), Decision::New);
        assert_eq!(decide(record(2, 1, 60, 10 * DAY)), Decision::New);
        assert_eq!(decide(record(1, 1, 60, 18 * DAY - 1)), Decision::Paid);
        assert_eq!(decide(record(1, 1, 60, 18 * DAY)), Decision::New);
        // The same digest with another count is another query.
        assert_eq!(decide(record(1, 1, 41, 10 * DAY)), over);
    }

    #[test]
    fn what_no_longer_counts_is_forgotten() {
        let mut budgets = Budgets::default();
        for day in 0..100 {
            (0..10).for_each(|receiver| budgets.note(&record(receiver, day as u8, 1, day * DAY)));
        }
        budgets.note(&record(11, 1, 1, 100 * DAY));
        assert!(budgets.receivers.values().all(|receiver| receiver.queries.len() <= 8));
        budgets.note(&record(11, 1, 1, 200 * DAY));
        assert_eq!(budgets.receivers.len(), 1);
    }

    #[test]
    fn the_end_of_time_is_no_panic() {
        let mut budgets = Budgets::default();
        budgets.note(&record(1, 1, u32::MAX, u64::MAX));
        let renews = (u64::MAX / DAY + 1).saturating_mul(DAY);
        assert_eq!(budgets.decide(&record(1, 2, 1, u64::MAX), Some(1)), Decision::Over { left: 0, renews });
    }
}
