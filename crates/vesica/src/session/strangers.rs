//! Messages about strangers that connect: one for each of the first ten, then one a minute, however many come.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use vesica_net::StrangerReason;

/// Strangers with a message each.
const BY_NAME: u32 = 10;
/// How often there is a message about those after them.
const EVERY: Duration = Duration::from_secs(60);

/// A message about strangers: before and behind who is still waited for.
pub(crate) struct Dropped {
    pub(crate) what: String,
    pub(crate) rest: &'static str,
}

/// Strangers so far.
#[derive(Default)]
pub(crate) struct Strangers {
    named: u32,
    unnamed: u64,
    last: Option<Instant>,
}

impl Strangers {
    /// The message about one more stranger, if there is to be one.
    pub(crate) fn message(
        &mut self,
        from: SocketAddr,
        reason: &StrangerReason,
        now: Instant,
    ) -> Option<Dropped> {
        let last = *self.last.get_or_insert(now);
        if self.named < BY_NAME {
            (self.named, self.last) = (self.named + 1, Some(now));
            let more = if self.named == BY_NAME { "; from now on one message a minute" } else { "" };
            let what = format!("turned away a stranger from {from}: {reason}");
            return Some(Dropped { what, rest: more });
        }
        self.unnamed += 1;
        if now.saturating_duration_since(last) < EVERY {
            return None;
        }
        self.last = Some(now);
        let count = std::mem::take(&mut self.unnamed);
        let what = format!("turned away {count} more strangers, the last one from {from}: {reason}");
        Some(Dropped { what, rest: "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_is_told_of_once_a_minute() {
        let (mut strangers, start) = (Strangers::default(), Instant::now());
        let from = "192.0.2.1:9".parse().unwrap();
        // A hundred a second for five minutes.
        let lines: Vec<String> = (0..30_000)
            .map(|number| start + Duration::from_millis(10) * number)
            .filter_map(|now| strangers.message(from, &StrangerReason::NotVesica, now))
            .map(|Dropped { what, rest }| what + rest)
            .collect();
        assert_eq!(lines.len(), 10 + 4, "{lines:?}");
        assert!(lines[9].contains("one message a minute"), "{}", lines[9]);
        assert!(lines[10].contains("6000 more"), "{}", lines[10]);
    }
}
