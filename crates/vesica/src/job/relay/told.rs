//! How much of a relay's log each allowed key may fill: a number of events at once, then one a second, and each minute how
//! many were left out.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use vesica_net::PublicKey;

/// Events of a key at once: four for each stream that may wait under it.
const AT_ONCE: u32 = 1 << 14;
/// How often there is one more.
const ONE_MORE: Duration = Duration::from_secs(1);
/// How often the log says how many were left out.
const SUMMARY: Duration = Duration::from_secs(60);

/// What is left of each key's events. No key is known to the relay but those on its list, so there are as many.
#[derive(Default)]
pub(super) struct Told(HashMap<PublicKey, Account>);

struct Account {
    left: u32,
    /// Up to when `left` has been added to.
    added: Instant,
    left_out: u64,
    /// When the log has last said so.
    said: Instant,
}

/// Whether an event is told, and how many of the same key, not told so far, are told of beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Telling {
    pub(super) event: bool,
    pub(super) left_out: Option<u64>,
}

impl Told {
    /// One more event of this key.
    pub(super) fn one_more(&mut self, key: PublicKey, now: Instant) -> Telling {
        let fresh = Account { left: AT_ONCE, added: now, left_out: 0, said: now };
        let account = self.0.entry(key).or_insert(fresh);
        account.add(now);
        let event = account.left > 0;
        account.left -= u32::from(event);
        account.left_out += u64::from(!event);
        let due = account.left_out > 0 && now.saturating_duration_since(account.said) >= SUMMARY;
        Telling { event, left_out: due.then(|| account.say(now)) }
    }

    /// Keys with events that were left out and not told of.
    pub(super) fn rest(self) -> impl Iterator<Item = (PublicKey, u64)> {
        let rest = self.0.into_iter().map(|(key, account)| (key, account.left_out));
        rest.filter(|(_, left_out)| *left_out > 0)
    }
}

impl Account {
    fn add(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.added).as_secs() / ONE_MORE.as_secs();
        let more = u32::try_from(passed).unwrap_or(u32::MAX);
        self.left = self.left.saturating_add(more).min(AT_ONCE);
        self.added += ONE_MORE * more;
    }

    fn say(&mut self, now: Instant) -> u64 {
        self.said = now;
        std::mem::take(&mut self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_without_rest_is_told_of_once_a_second_and_in_sums() {
        let (mut told, start) = (Told::default(), Instant::now());
        let keys = [1, 2].map(|byte| PublicKey::from_bytes([byte; 32]));
        // A thousand a second for five minutes, of a key; and one a minute, of another one.
        let (mut events, mut sums, mut others) = (0, Vec::new(), 0);
        for number in 0..300_000 {
            let now = start + Duration::from_millis(1) * number;
            let telling = told.one_more(keys[0], now);
            events += u64::from(telling.event);
            sums.extend(telling.left_out);
            if number % 60_000 == 0 {
                let telling = told.one_more(keys[1], now);
                assert_eq!(telling, Telling { event: true, left_out: None });
                others += 1;
            }
        }
        assert!(events <= u64::from(AT_ONCE) + 300 && events >= u64::from(AT_ONCE) + 298, "{events}");
        assert!(sums.len() == 4 && others == 5, "{sums:?}");
        let rest: Vec<(PublicKey, u64)> = told.rest().collect();
        assert!(rest.len() == 1 && rest[0].0 == keys[0]);
        assert_eq!(events + sums.iter().sum::<u64>() + rest[0].1, 300_000, "nothing is lost");
    }

    #[test]
    fn a_pause_gives_no_more_than_at_first() {
        let (mut told, start) = (Told::default(), Instant::now());
        let key = PublicKey::from_bytes([1; 32]);
        let mut burst = |now| (0..2 * AT_ONCE).filter(|_| told.one_more(key, now).event).count();
        assert_eq!(burst(start), AT_ONCE as usize);
        assert_eq!(burst(start + Duration::from_secs(30)), 30);
        assert_eq!(burst(start + Duration::from_secs(1 << 30)), AT_ONCE as usize);
        assert_eq!(burst(start), 0, "a clock that goes backwards gives nothing");
    }
}
