//! A relay for `vesica relay`: two parties of whom neither can listen meet there. See [`vesica_net::relay`].
//!
//! A log of a relay holds 8 characters of keys and labels. Neither strangers nor a key on the list can fill the disk with
//! it. No party waits for whoever reads it.

mod told;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rand_core::CryptoRng;
use serde::Serialize;
use vesica_channel::CancelToken;
use vesica_net::relay::{Pair, PartId, RelayEvent, Rules, serve};
use vesica_net::{Address, Identity, PublicKey, StrangerReason};
use vesica_table::shown_path;
use vesica_text::text;

use crate::job::queue::Queue;
use crate::session::partner::{PRIVATE, is_private, named_key};
use crate::session::strangers::{Dropped, Strangers};
use crate::words::error::{Error, RunPhase};
use crate::words::report::json_line;
use crate::words::system::read_small;
use told::{Telling, Told};

/// The most bytes that a list of keys may have: more than ten thousand keys.
const LIST: u64 = 1 << 20;
const ASK: &str = "give `[allow]` for each party: the line that its `vesica keygen` printed, or `@FILE` with a file that \
                   holds one key a line";

/// A relay that is to run.
pub struct RelayJob {
    listen: String,
    identity: Identity,
    rules: Rules,
}

/// What a relay tells. Keys and labels are shortened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RelayNotice {
    /// It listens.
    Listening {
        /// Where.
        address: String,
        /// Its whole public key, which the parties need.
        key: String,
    },
    /// Somebody got no service.
    TurnedAway {
        /// Who and why.
        message: String,
    },
    /// A stream waits for its partner.
    Waiting {
        /// Whose.
        key: String,
        /// Under which label.
        label: String,
    },
    /// A stream left before it was paired.
    Left {
        /// Whose.
        key: String,
        /// Under which label.
        label: String,
    },
    /// A key that was made for a run in parts may join the run's parts.
    Granted {
        /// Whose run.
        key: String,
        /// The run's tag.
        label: String,
    },
    /// It may do so no longer.
    Revoked {
        /// Whose run.
        key: String,
        /// The run's tag.
        label: String,
    },
    /// Two streams are one connection.
    Paired {
        /// Whose; first who waited.
        keys: [String; 2],
        /// Under which label.
        label: String,
        /// Which part of a run in parts, and in which round.
        #[serde(flatten)]
        part: Option<PartNotice>,
    },
    /// A pair has ended.
    Ended {
        /// Whose.
        keys: [String; 2],
        /// Under which label.
        label: String,
        /// Bytes that each of the two has sent.
        bytes: [u64; 2],
        /// How long it lasted.
        seconds: f64,
        /// As when it began.
        #[serde(flatten)]
        part: Option<PartNotice>,
    },
    /// Streams of a key waited, left, were paired or ended more often than is told of one by one; or more was to be told than
    /// whoever reads this has taken.
    LeftOut {
        /// Whose; none where the reader is too slow.
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// How often since this was last told.
        events: u64,
    },
    /// It was told to stop.
    Stopping {
        /// Pairs that go on to their end.
        pairs: usize,
    },
}

/// A part of a run, as a relay tells of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PartNotice {
    /// Its number.
    pub part: u32,
    /// The round.
    pub round: u16,
}

impl RelayNotice {
    /// The notice as a line of JSON with `t`, the seconds since the start; no line end.
    pub fn to_json_line(&self, started: Instant) -> Result<String, serde_json::Error> {
        json_line(self, started)
    }
}

impl RelayJob {
    /// A relay at `listen` for the parties with these keys: the keys themselves, or `@FILE` with one a line. `rate` is in
    /// bytes a second for each key; `max_streams` counts both parties of a pair.
    ///
    /// # Errors
    /// If the address is none, or a key cannot be read, or there are fewer than two.
    pub fn new(
        listen: &str,
        identity: Identity,
        allow: &[String],
        rate: Option<u64>,
        max_streams: usize,
    ) -> Result<Self, Error> {
        let Address::Listen(listen) = crate::session::partner::address(Some(listen), None)? else {
            return Err(Error::usage("no address", "give `[listen]`"));
        };
        let address = Address::Listen(listen.clone());
        address.check().map_err(|error| Error::net(RunPhase::Prepare, &error))?;
        let mut keys = Vec::new();
        for argument in allow {
            keys.extend(allowed(argument, ASK)?);
        }
        keys.sort_unstable();
        keys.dedup();
        if keys.len() < 2 {
            let message = text!("a relay is between two parties, and `[allow]` names {}", keys.len());
            return Err(Error::usage(message, ASK));
        }
        Ok(RelayJob { listen, identity, rules: Rules::shared(keys, rate, max_streams) })
    }

    /// Relays until `stop` is cancelled, and then until the last pair has ended. `on_notice` is called from one thread, which may
    /// take its time: what it does not take is left out, and it is left behind if it does not return.
    ///
    /// # Errors
    /// If it cannot listen.
    pub fn run(
        self,
        stop: &CancelToken,
        rng: &mut dyn CryptoRng,
        on_notice: impl FnMut(&RelayNotice) + Send + 'static,
    ) -> Result<(), Error> {
        let left_out = |events| RelayNotice::LeftOut { key: None, events };
        let queue = Queue::start("vesica-relay-log", on_notice, left_out)
            .map_err(|error| Error::resources(RunPhase::Prepare, "cannot start a thread", &error))?;
        let on_notice = |notice| queue.put(notice);
        let log = Log { own: *self.identity.public_key(), limits: Mutex::default(), on_notice: &on_notice };
        let on_event = |event| log.tell(event, Instant::now());
        let ended = serve(&self.listen, &self.identity, self.rules, stop, rng, &on_event);
        log.close();
        queue.close();
        ended.map_err(|error| Error::net(RunPhase::Connect, &error))
    }
}

/// Makes notices of events, not of all.
struct Log<'a> {
    own: PublicKey,
    limits: Mutex<Limits>,
    on_notice: &'a (dyn Fn(RelayNotice) + Sync),
}

/// What is left out: who has been told of how often.
#[derive(Default)]
struct Limits {
    strangers: Strangers,
    told: Told,
}

impl Log<'_> {
    fn limits(&self) -> MutexGuard<'_, Limits> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, event: RelayEvent, now: Instant) {
        let telling = key_of(&event).map(|key| (key, self.limits().told.one_more(key, now)));
        if let Some((key, Telling { left_out: Some(events), .. })) = telling {
            (self.on_notice)(RelayNotice::LeftOut { key: Some(key.short()), events });
        }
        if telling.is_none_or(|(_, telling)| telling.event)
            && let Some(notice) = self.notice(event, now)
        {
            (self.on_notice)(notice);
        }
    }

    /// Tells what has been left out and not told of.
    fn close(self) {
        let Limits { told, .. } = self.limits.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (key, events) in told.rest() {
            (self.on_notice)(RelayNotice::LeftOut { key: Some(key.short()), events });
        }
    }

    fn notice(&self, event: RelayEvent, now: Instant) -> Option<RelayNotice> {
        let of = |pair: Pair| {
            let part = pair.part.map(|PartId { part, round }| PartNotice { part, round });
            (pair.keys.map(|key| key.short()), pair.label.short(), part)
        };
        Some(match event {
            RelayEvent::Listening(address) => {
                RelayNotice::Listening { address: address.to_string(), key: self.own.to_string() }
            }
            RelayEvent::TurnedAway { from, reason } => {
                let Dropped { what, rest } = self.limits().strangers.message(from, &reason, now)?;
                RelayNotice::TurnedAway { message: what + rest }
            }
            RelayEvent::Refused { from, key, refusal } => {
                // As many as strangers please: anybody can make a key.
                self.limits().strangers.message(from, &StrangerReason::RefusedUs, now)?;
                let message = format!("refused {} from {from}: {refusal}", key.short());
                RelayNotice::TurnedAway { message }
            }
            RelayEvent::Waiting { key, label } => {
                RelayNotice::Waiting { key: key.short(), label: label.short() }
            }
            RelayEvent::Left { key, label } => RelayNotice::Left { key: key.short(), label: label.short() },
            RelayEvent::Granted { key, label } => {
                RelayNotice::Granted { key: key.short(), label: label.short() }
            }
            RelayEvent::Revoked { key, label } => {
                RelayNotice::Revoked { key: key.short(), label: label.short() }
            }
            RelayEvent::Paired(pair) => {
                let (keys, label, part) = of(pair);
                RelayNotice::Paired { keys, label, part }
            }
            RelayEvent::Ended { pair, bytes, lasted } => {
                let (keys, label, part) = of(pair);
                RelayNotice::Ended { keys, label, bytes, seconds: lasted.as_secs_f64(), part }
            }
            RelayEvent::Draining { streams } => RelayNotice::Stopping { pairs: streams / 2 },
            _ => return None,
        })
    }
}

/// The key on the relay's list that an event is due to: of a pair the one that came to who waited.
fn key_of(event: &RelayEvent) -> Option<PublicKey> {
    match event {
        RelayEvent::Waiting { key, .. }
        | RelayEvent::Left { key, .. }
        | RelayEvent::Granted { key, .. }
        | RelayEvent::Revoked { key, .. } => Some(*key),
        RelayEvent::Paired(pair) | RelayEvent::Ended { pair, .. } => Some(pair.keys[1]),
        _ => None,
    }
}

/// A key, or the keys of a file: one a line; empty lines and those that begin with `#` do not count.
pub(super) fn allowed(argument: &str, ask: &'static str) -> Result<Vec<PublicKey>, Error> {
    let Some(path) = argument.strip_prefix('@') else {
        return named_key("allow", argument, ask).map(|key| vec![key]);
    };
    let shown = shown_path(Path::new(path));
    let wrong = |message: String| Error::usage(text!("`[allow @{}]`: {}", &shown, message), ask);
    let text = read_small(path, LIST).map_err(wrong)?;
    if text.contains(PRIVATE) || is_private(Path::new(path)) {
        // With the words that the option's other form has.
        return named_key("allow", argument, ask).map(|key| vec![key]);
    }
    let lines = text.lines().map(str::trim).enumerate();
    let keys = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    keys.map(|(number, line)| line.parse().map_err(|error| wrong(format!("line {}: {error}", number + 1))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(allow: &[String]) -> Result<RelayJob, Error> {
        RelayJob::new("127.0.0.1:0", Identity::generate().unwrap(), allow, None, 10)
    }

    #[test]
    fn keys_come_one_by_one_or_as_a_file() {
        let keys: Vec<String> =
            (0..3).map(|_| Identity::generate().unwrap().public_key().to_string()).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("allowed");
        std::fs::write(&path, format!("# the shop\n{}\n\n  {}\n", keys[0], keys[1])).unwrap();
        let file = format!("@{}", path.display());
        assert_eq!(
            job(&[file.clone(), keys[2].clone(), keys[2].clone()]).map(|job| job.rules.allow.len()),
            Ok(3)
        );
        let rules = job(&keys).unwrap().rules;
        assert_eq!((rules.max_streams, rules.waiting, rules.paired), (10, 2, 2), "each key has its share");
        assert!(job(&[keys[0].clone(), keys[0].clone()]).is_err(), "one party is none to relay for");

        std::fs::write(&path, format!("{}\nvesica-pub1-short\n", keys[0])).unwrap();
        let error = job(std::slice::from_ref(&file)).err().unwrap();
        assert!(
            error.message.shell().contains("line 2") && error.message.shell().contains("`--allow @"),
            "{error}"
        );
        std::fs::remove_file(&path).unwrap();
        Identity::generate().unwrap().save(&path).unwrap();
        let error = job(&[file]).err().unwrap();
        assert!(error.message.shell().contains("`--allow`: THIS IS A PRIVATE KEY"), "{error}");
    }

    /// The notices of so many events, all at once.
    fn notices(events: impl IntoIterator<Item = RelayEvent>) -> Vec<RelayNotice> {
        let (notices, own) = (Mutex::new(Vec::new()), PublicKey::from_bytes([9; 32]));
        let on_notice = |notice: RelayNotice| notices.lock().unwrap().push(notice);
        let log = Log { own, limits: Mutex::default(), on_notice: &on_notice };
        let now = Instant::now();
        events.into_iter().for_each(|event| log.tell(event, now));
        log.close();
        notices.into_inner().unwrap()
    }

    #[test]
    fn notices_hold_eight_characters_and_strangers_do_not_fill_the_disk() {
        let keys = [1, 2].map(|byte| PublicKey::from_bytes([byte; 32]));
        let label = vesica_net::relay::Label::of_run(&keys[0], &keys[1], "");
        let paired = notices([RelayEvent::Paired(Pair { keys, label, part: None })]);
        let line = paired[0].to_json_line(Instant::now()).unwrap();
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&value["event"], value["label"].as_str().unwrap().len()), (&"paired".into(), 8));
        assert!(keys.iter().all(|key| !line.contains(&key.to_string()[..24])), "{line}");
        let from = "192.0.2.1:9".parse().unwrap();
        let refusal = vesica_net::relay::Refusal::NotAllowed;
        let refused = RelayEvent::Refused { from, key: keys[1], refusal };
        assert_eq!(notices(std::iter::repeat_n(refused, 10_000)).len(), 10);
    }

    #[test]
    fn a_key_on_the_list_does_not_fill_the_disk_either_and_leaves_room_for_others() {
        let keys = [1, 2].map(|byte| PublicKey::from_bytes([byte; 32]));
        let label = vesica_net::relay::Label::of_run(&keys[0], &keys[1], "");
        let bytes = [0; 2];
        let (key, pair, lasted) =
            (keys[0], Pair { keys: [keys[1], keys[0]], label, part: None }, Instant::now().elapsed());
        for event in [
            RelayEvent::Waiting { key, label },
            RelayEvent::Left { key, label },
            RelayEvent::Paired(pair),
            RelayEvent::Ended { pair, bytes, lasted },
        ] {
            let other = RelayEvent::Waiting { key: keys[1], label };
            let told = notices(std::iter::repeat_n(event, 1_000_000).chain([other]));
            let [of_key @ .., other, rest] = &told[..] else { panic!("{} notices", told.len()) };
            assert!(of_key.len() < 20_000, "{}", of_key.len());
            assert!(
                matches!(other, RelayNotice::Waiting { key, .. } if *key == keys[1].short()),
                "{other:?}"
            );
            let left_out = 1_000_000 - of_key.len() as u64;
            assert_eq!(*rest, RelayNotice::LeftOut { key: Some(key.short()), events: left_out });
        }
    }
}
