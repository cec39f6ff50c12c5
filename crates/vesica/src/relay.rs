//! A relay for `vesica relay`: two parties of whom neither can listen meet there. See [`vesica_net::relay`].
//!
//! A log of a relay holds 8 characters of keys and labels.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use rand_core::CryptoRng;
use serde::Serialize;
use vesica_channel::CancelToken;
use vesica_net::relay::{Pair, RelayEvent, Rules, serve};
use vesica_net::{Address, Identity, PublicKey, StrangerReason};
use vesica_protocols::Phase;
use vesica_table::shown_path;

use crate::error::Error;
use crate::partner::{PRIVATE, is_private, named_key, read_small};
use crate::report::json_line;
use crate::strangers::Strangers;

/// The most bytes that a list of keys may have: more than ten thousand keys.
const LIST: u64 = 1 << 20;
const ASK: &str = "give `--allow` for each party: the line that its `vesica keygen` printed, or `@FILE` with a file that \
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
    /// Two streams are one connection.
    Paired {
        /// Whose; first who waited.
        keys: [String; 2],
        /// Under which label.
        label: String,
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
    },
    /// It was told to stop.
    Stopping {
        /// Pairs that go on to their end.
        pairs: usize,
    },
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
        let Address::Listen(listen) = crate::partner::address(Some(listen), None)? else {
            return Err(Error::usage("no address", "give `--listen`"));
        };
        let address = Address::Listen(listen.clone());
        address.check().map_err(|error| Error::net(Phase::Prepare, &error))?;
        let mut keys = Vec::new();
        for argument in allow {
            keys.extend(allowed(argument)?);
        }
        keys.sort_unstable();
        keys.dedup();
        if keys.len() < 2 {
            let message = format!("a relay is between two parties, and `--allow` names {}", keys.len());
            return Err(Error::usage(message, ASK));
        }
        Ok(RelayJob { listen, identity, rules: Rules::shared(keys, rate, max_streams) })
    }

    /// Relays until `stop` is cancelled, and then until the last pair has ended. `on_notice` is called from many threads.
    ///
    /// # Errors
    /// If it cannot listen.
    pub fn run(
        self,
        stop: &CancelToken,
        rng: &mut dyn CryptoRng,
        on_notice: &(dyn Fn(&RelayNotice) + Sync),
    ) -> Result<(), Error> {
        let strangers = Mutex::<Strangers>::default();
        let key = self.identity.public_key();
        let on_event = |event| {
            if let Some(notice) = notice(event, key, &strangers) {
                on_notice(&notice);
            }
        };
        serve(&self.listen, &self.identity, self.rules, stop, rng, &on_event)
            .map_err(|error| Error::net(Phase::Connect, &error))
    }
}

fn notice(event: RelayEvent, own: &PublicKey, strangers: &Mutex<Strangers>) -> Option<RelayNotice> {
    let of = |pair: Pair| (pair.keys.map(|key| key.short()), pair.label.short());
    Some(match event {
        RelayEvent::Listening(address) => {
            RelayNotice::Listening { address: address.to_string(), key: own.to_string() }
        }
        RelayEvent::TurnedAway { from, reason } => {
            let mut strangers = strangers.lock().unwrap_or_else(PoisonError::into_inner);
            let message = strangers.message(from, &reason, Instant::now())?;
            RelayNotice::TurnedAway { message: message.replace("; still waiting for the partner", "") }
        }
        RelayEvent::Refused { from, key, refusal } => {
            // As many as strangers please: anybody can make a key.
            let mut strangers = strangers.lock().unwrap_or_else(PoisonError::into_inner);
            strangers.message(from, &StrangerReason::RefusedUs, Instant::now())?;
            let message = format!("refused {} from {from}: {refusal}", key.short());
            RelayNotice::TurnedAway { message }
        }
        RelayEvent::Waiting { key, label } => RelayNotice::Waiting { key: key.short(), label: label.short() },
        RelayEvent::Left { key, label } => RelayNotice::Left { key: key.short(), label: label.short() },
        RelayEvent::Paired(pair) => {
            let (keys, label) = of(pair);
            RelayNotice::Paired { keys, label }
        }
        RelayEvent::Ended { pair, bytes, lasted } => {
            let (keys, label) = of(pair);
            RelayNotice::Ended { keys, label, bytes, seconds: lasted.as_secs_f64() }
        }
        RelayEvent::Draining { streams } => RelayNotice::Stopping { pairs: streams / 2 },
        _ => return None,
    })
}

/// A key, or the keys of a file: one a line; empty lines and those that begin with `#` do not count.
fn allowed(argument: &str) -> Result<Vec<PublicKey>, Error> {
    let Some(path) = argument.strip_prefix('@') else {
        return named_key("allow", argument, ASK).map(|key| vec![key]);
    };
    let shown = shown_path(Path::new(path));
    let wrong = |message: String| Error::usage(format!("`--allow @{shown}`: {message}"), ASK);
    let text = read_small(path, LIST).map_err(wrong)?;
    if text.contains(PRIVATE) || is_private(Path::new(path)) {
        // With the words that the option's other form has.
        return named_key("allow", argument, ASK).map(|key| vec![key]);
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
        assert_eq!((rules.max_streams, rules.waiting, rules.paired), (10, 1, 1), "each key has its share");
        assert!(job(&[keys[0].clone(), keys[0].clone()]).is_err(), "one party is none to relay for");

        std::fs::write(&path, format!("{}\nvesica-pub1-short\n", keys[0])).unwrap();
        let error = job(std::slice::from_ref(&file)).err().unwrap();
        assert!(error.message.contains("line 2") && error.message.contains("`--allow @"), "{error}");
        std::fs::remove_file(&path).unwrap();
        Identity::generate().unwrap().save(&path).unwrap();
        let error = job(&[file]).err().unwrap();
        assert!(error.message.contains("`--allow`: THIS IS A PRIVATE KEY"), "{error}");
    }

    #[test]
    fn notices_hold_eight_characters_and_strangers_do_not_fill_the_disk() {
        let keys = [1, 2].map(|byte| PublicKey::from_bytes([byte; 32]));
        let label = vesica_net::relay::Label::of_run(&keys[0], &keys[1], "");
        let strangers = Mutex::default();
        let paired = notice(RelayEvent::Paired(Pair { keys, label }), &keys[0], &strangers).unwrap();
        let line = paired.to_json_line(Instant::now()).unwrap();
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&value["event"], value["label"].as_str().unwrap().len()), (&"paired".into(), 8));
        assert!(keys.iter().all(|key| !line.contains(&key.to_string()[..24])), "{line}");
        let from = "192.0.2.1:9".parse().unwrap();
        let refused =
            || RelayEvent::Refused { from, key: keys[1], refusal: vesica_net::relay::Refusal::NotAllowed };
        let told = (0..10_000).filter_map(|_| notice(refused(), &keys[0], &strangers)).count();
        assert_eq!(told, 10);
    }
}
