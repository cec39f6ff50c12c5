//! The report of a run and its events. Neither holds a key of a table.

use std::collections::BTreeMap;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Serialize, Serializer};
use vesica_channel::Traffic;
use vesica_text::{Text, Voice};

use crate::words::error::{Error, RunPhase, shell};
use crate::words::receipt::Receipt;
use crate::words::resources;
use crate::words::results::ResultReport;

/// The version of the report's and the events' form.
pub const SCHEMA: u32 = 1;

/// A whole run, as `--report` writes it; also after a failure, with what was known by then.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// `done` or `failed`.
    pub outcome: &'static str,
    /// `receiver` or `sender`; `helper` in a helper's report.
    pub role: &'static str,
    /// The protocol that ran, once it was agreed.
    pub protocol: Option<&'static str>,
    /// Why that one; `named` if it was.
    pub reason: Option<&'static str>,
    /// The security of the run; `none` for a protocol that is marked insecure or broken.
    pub security: &'static str,
    /// The profile of its parameters.
    pub profile: &'static str,
    /// When the run began, by this machine's clock: UTC, as RFC 3339 writes it.
    pub started: String,
    /// When it ended.
    pub ended: Option<String>,
    /// The public keys of both sides; none in plaintext, and for both parties in one process.
    pub keys: Option<Keys>,
    /// The name of the run: the same on both sides, and different for every run. Known once the terms were agreed.
    pub session: Option<String>,
    /// The helper, in a protocol that has one.
    pub helper: Option<HelperReport>,
    /// The address of the relay through which the partner was met; the relay learns who the two sides are, when they ran and
    /// how many bytes they sent.
    pub relay: Option<String>,
    /// What a helper saw of its two parties; in a helper's own report.
    pub parties: Option<PartiesReport>,
    /// Digests of all that session and protocol sent and received; my `sent` is the partner's `received`.
    pub transcript: Option<Transcript>,
    /// The file that was read, if the settings ask for its digest and it is one.
    pub input: Option<InputReport>,
    /// The terms that were equal on both sides, once they were compared.
    pub terms: BTreeMap<String, String>,
    /// The protocol's parameters, once the sizes were known.
    pub parameters: BTreeMap<&'static str, serde_json::Value>,
    /// `receiver` or `both`.
    pub learns: &'static str,
    /// Counts of my table and the size of the partner's.
    pub sizes: Sizes,
    /// Whether both sides confirmed the exchange. If a run failed after that, only this side's output is missing, and the
    /// partner has ended well.
    pub confirmed: bool,
    /// The matching rows' counts, for a party that learns them.
    pub matches: Option<MatchCounts>,
    /// What the result is, what each side learns by the run, and the result itself if it is not rows. Known once the terms
    /// were agreed.
    pub result: Option<ResultReport>,
    /// Where there are several rules to match by: each of them, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_rules: Vec<RuleCounts>,
    /// Hints that the counts suggest: all rows were left out, or nothing matches.
    #[serde(serialize_with = "shells")]
    pub hints: Vec<Text>,
    /// Bytes over the connection.
    pub bytes: Bytes,
    /// Where the time went.
    pub phases: Vec<PhaseReport>,
    /// Peak resident memory of the process in bytes, where the system tells.
    pub peak_rss: Option<u64>,
    /// The upper bound of the memory for the table and the protocol, in bytes.
    pub memory_bound: Option<u64>,
    /// Where the base OTs of the run came from, with `--keep-base-ots`: `kept`, `new`, `not kept` or `none`.
    pub base_ots: Option<&'static str>,
    /// The parts of a run that was split into several.
    pub parts: Option<PartsReport>,
    /// The temporary files of a run whose keys did not fit into its `--memory`.
    pub spill: Option<SpillReport>,
    /// The kept set that was published or asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptReport>,
    /// What both sides have signed, if the settings ask for it and the run was confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
    /// The run in this side's ledger, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerReport>,
    /// Why it failed, if it did.
    pub error: Option<Error>,
    /// Versions of program and wire.
    pub versions: Versions,
}

/// The parts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PartsReport {
    /// How many there are.
    pub count: u32,
    /// The keys that each part of this side is padded to.
    pub bound: u64,
    /// Parts played at once.
    pub lanes: u32,
    /// Attempts at all parts together.
    pub attempts: u32,
    /// Attempts beyond the first of each part, of which there is an allowance.
    pub spent: u32,
}

/// The temporary files of a run.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct SpillReport {
    /// Bytes written to them.
    pub bytes_written: u64,
    /// Bytes read from them.
    pub bytes_read: u64,
    /// What chose their directory: `named`, `TMPDIR` or `/var/tmp`.
    pub dir_kind: &'static str,
}

/// A kept set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeptReport {
    /// The number of its newest epoch.
    pub epoch: u64,
    /// The number of the OPRF's key.
    pub key_number: u32,
    /// The digest of the epoch, in hexadecimal.
    pub digest: String,
    /// Keys in the set, padding included.
    pub keys: u64,
    /// Values that came with the epoch's file, padding included.
    pub added: u64,
    /// Values that went.
    pub removed: u64,
    /// Keys that were asked for, padding included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<u64>,
}

/// Where a run ends in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LedgerReport {
    /// The number of the run.
    pub run: u64,
    /// The number of its last line.
    pub line: u64,
    /// The BLAKE3 digest of that line in hexadecimal digits, which [`crate::ledger::read`] finds again.
    pub digest: String,
}

/// The public keys of the two sides, as `vesica keygen` prints them.
#[derive(Debug, Clone, Serialize)]
pub struct Keys {
    /// This side's.
    pub mine: String,
    /// The partner's, which has proven to hold the private key.
    pub partner: String,
}

/// The helper as a party saw it.
#[derive(Debug, Clone, Serialize)]
pub struct HelperReport {
    /// Its public key, which it has proven to hold; none for parties in one process.
    pub key: Option<String>,
    /// What went over the connection to it.
    pub transcript: Option<Transcript>,
}

/// What a helper saw.
#[derive(Debug, Clone, Serialize)]
pub struct PartiesReport {
    /// The receiver.
    pub receiver: PartyReport,
    /// The sender.
    pub sender: PartyReport,
    /// Different keys that both have, once they were compared.
    pub common_items: Option<u64>,
}

/// A party as its helper saw it.
#[derive(Debug, Clone, Serialize)]
pub struct PartyReport {
    /// Its public key, which it has proven to hold; none for parties in one process.
    pub key: Option<String>,
    /// The size of its set, padding included.
    pub items: u64,
    /// What went over the connection to it.
    pub transcript: Option<Transcript>,
}

/// BLAKE3 digests of the payload in each direction, in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Transcript {
    /// Of what this side sent.
    pub sent: String,
    /// Of what it received.
    pub received: String,
}

/// The bytes that a table was read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InputReport {
    /// The file's name without its folder; none for a stream.
    pub name: Option<String>,
    /// How many they are.
    pub bytes: u64,
    /// Their BLAKE3 digest in hexadecimal digits, as `b3sum` prints it.
    pub blake3: String,
}

/// Counts of my table, and what each side saw of the other.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Sizes {
    /// Rows of my table.
    pub rows: u64,
    /// Different keys among them.
    pub items: u64,
    /// Rows without a key, skipped.
    pub nulls: u64,
    /// Rows whose key breaks its rule, skipped.
    pub invalid: u64,
    /// Rows with the key of an earlier row.
    pub duplicates: u64,
    /// The size of my set that the partner saw.
    pub shown_items: Option<u64>,
    /// Whether that size has left this side, so that the partner can have seen it.
    pub shown: bool,
    /// The size of the partner's set that I saw.
    pub peer_items: Option<u64>,
}

/// What a rule to match by made of my rows.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RuleCounts {
    /// The rule, with my columns.
    pub rule: String,
    /// Rows with a key of this rule.
    pub keys: u64,
    /// Rows without one.
    pub nulls: u64,
    /// Rows in which it is invalid.
    pub invalid: u64,
    /// Rows that match by this rule and by none before it, for a party that learns them.
    pub matching_rows: Option<u64>,
}

/// The result's counts.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct MatchCounts {
    /// Different keys in the intersection.
    pub items: u64,
    /// Rows of my table that have one of them.
    pub rows: u64,
}

/// Bytes over the connection, payload and as they went over the wire.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Bytes {
    /// What the session and the protocol sent and received.
    pub payload: Both,
    /// Payload, frames, heartbeats and TLS.
    pub wire: Both,
}

/// A count in each direction.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Both {
    /// From me to the partner.
    pub sent: u64,
    /// From the partner to me.
    pub received: u64,
}

impl From<Traffic> for Bytes {
    fn from(t: Traffic) -> Self {
        Bytes {
            payload: Both { sent: t.payload_sent, received: t.payload_received },
            wire: Both { sent: t.wire_sent, received: t.wire_received },
        }
    }
}

/// One phase. CPU time is the whole process's, all threads together.
#[derive(Debug, Clone, Serialize)]
pub struct PhaseReport {
    /// Its name.
    pub name: &'static str,
    /// What happens in it.
    pub words: &'static str,
    /// Wall time in seconds.
    pub wall_s: f64,
    /// CPU time in seconds.
    pub cpu_s: f64,
    /// Payload bytes sent meanwhile.
    pub sent: u64,
    /// Payload bytes received meanwhile.
    pub received: u64,
}

/// Versions of program and wire.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Versions {
    /// The program's.
    pub vesica: &'static str,
    /// The wire's.
    pub wire: u16,
}

impl Report {
    /// This report with its texts as that place writes them; the command line's are in reports otherwise.
    #[must_use]
    pub fn told_in(&self, voice: Voice) -> Self {
        let hints = self.hints.iter().map(|hint| hint.told_in(voice)).collect();
        let error = self.error.as_ref().map(|error| error.told_in(voice));
        Report { hints, error, ..self.clone() }
    }
}

/// Texts in a report, as the command line shows them.
fn shells<S: Serializer>(texts: &[Text], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(texts.iter().map(Text::shell))
}

/// What happens during a run. The last event is `Done` or `Failed`.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Event {
    /// The run began.
    Started {
        /// `receiver` or `sender`.
        role: &'static str,
    },
    /// We wait for the partner at this address.
    Listening {
        /// The address, with the port really bound.
        address: String,
        /// This side's public key, which the partner needs; none for plaintext.
        key: Option<String>,
    },
    /// A line for the screen that is no failure.
    Notice {
        /// The line.
        #[serde(serialize_with = "shell")]
        message: Text,
    },
    /// The partner is connected and authenticated.
    Connected {
        /// Where it connects from, or listens; the relay's, if it is met through one.
        address: Option<String>,
        /// Whether it is met through a relay.
        relayed: bool,
    },
    /// A phase begins.
    Phase {
        /// Its name.
        name: &'static str,
        /// What happens in it.
        words: &'static str,
        /// Which step of the run it is, from 1 on.
        step: u32,
        /// How many steps the run has, once the protocol is agreed.
        steps: Option<u32>,
        /// Units of work in it; 0 if not known.
        total: u64,
    },
    /// Work was done in the current phase.
    Progress {
        /// Units done so far.
        done: u64,
        /// Units of work in it; 0 if not known.
        total: u64,
        /// The share of the run that is done since the partner agreed to it, 0 to 1.
        share: Option<f64>,
        /// About how many seconds the run still takes.
        left_s: Option<f64>,
    },
    /// A part of the run is done.
    Part {
        /// Which one, from 0 on.
        index: u32,
        /// Parts done so far.
        done: u32,
        /// Parts of the run.
        of: u32,
    },
    /// The run ended with a result.
    Done {
        /// The whole report.
        report: Box<Report>,
    },
    /// The run ended without one.
    Failed {
        /// The whole report, with the error in it.
        report: Box<Report>,
    },
}

impl Event {
    /// This event with its texts as that place writes them; the command line's are in events otherwise.
    #[must_use]
    pub fn told_in(&self, voice: Voice) -> Self {
        match self {
            Event::Notice { message } => Event::Notice { message: message.told_in(voice) },
            Event::Done { report } => Event::Done { report: Box::new(report.told_in(voice)) },
            Event::Failed { report } => Event::Failed { report: Box::new(report.told_in(voice)) },
            other => other.clone(),
        }
    }

    /// The event as a line of JSON with `t`, the seconds since the start; no line end.
    pub fn to_json_line(&self, started: Instant) -> Result<String, serde_json::Error> {
        json_line(self, started)
    }
}

/// The time by this machine's clock, in milliseconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

/// A time as RFC 3339 writes it, in UTC and to the millisecond.
pub(crate) fn shown_time(milliseconds: u64) -> String {
    let time = i64::try_from(milliseconds).ok().and_then(DateTime::<Utc>::from_timestamp_millis);
    time.unwrap_or_default().to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// An event as a line of JSON with `t`, the seconds since the start; no line end.
pub(crate) fn json_line(event: &impl Serialize, started: Instant) -> Result<String, serde_json::Error> {
    let mut line = serde_json::to_value(event)?;
    line["t"] = started.elapsed().as_secs_f64().into();
    serde_json::to_string(&line)
}

/// Called with every event, on the thread on which it happens.
pub type OnEvent<'a> = &'a (dyn Fn(&Event) + Sync);

/// Splits the run into phases and records what each one takes.
pub(crate) struct PhaseLog {
    finished: Vec<PhaseReport>,
    /// The index of the current phase's own entry. Entries of other phases that alternate with it follow.
    first: usize,
    current: RunPhase,
    /// The phase for which the time since then counts.
    attributed: RunPhase,
    since: Mark,
}

#[derive(Clone, Copy)]
struct Mark {
    wall: Instant,
    cpu: f64,
    traffic: Traffic,
}

impl Mark {
    fn now(traffic: Traffic) -> Self {
        Mark { wall: Instant::now(), cpu: resources::cpu_seconds(), traffic }
    }
}

impl PhaseLog {
    pub(crate) fn start() -> Self {
        let (current, since) = (RunPhase::Prepare, Mark::now(Traffic::default()));
        PhaseLog { finished: Vec::new(), first: 0, current, attributed: current, since }
    }

    pub(crate) fn current(&self) -> RunPhase {
        self.current
    }

    /// Ends the current phase and begins `next`.
    pub(crate) fn enter(&mut self, next: RunPhase, traffic: Traffic) {
        self.book(traffic);
        self.first = self.finished.len();
        self.current = next;
        self.attributed = next;
    }

    /// From now on, time counts for `phase`, or again for the current one.
    pub(crate) fn attribute_time(&mut self, phase: Option<RunPhase>, traffic: Traffic) {
        self.book(traffic);
        self.attributed = phase.unwrap_or(self.current);
    }

    /// Adds what was done since the last mark to its entry.
    fn book(&mut self, traffic: Traffic) {
        let (now, (name, words)) = (Mark::now(traffic), self.attributed.told());
        let known = self.finished[self.first..].iter().position(|entry| entry.name == name);
        let index = known.map_or(self.finished.len(), |index| self.first + index);
        if known.is_none() {
            self.finished.push(PhaseReport { name, words, wall_s: 0.0, cpu_s: 0.0, sent: 0, received: 0 });
        }
        let (entry, since) = (&mut self.finished[index], self.since);
        entry.wall_s += (now.wall - since.wall).as_secs_f64();
        entry.cpu_s += now.cpu - since.cpu;
        entry.sent += traffic.payload_sent.saturating_sub(since.traffic.payload_sent);
        entry.received += traffic.payload_received.saturating_sub(since.traffic.payload_received);
        self.since = now;
    }

    /// All phases, the current one ended now.
    pub(crate) fn finish(&mut self, traffic: Traffic) -> Vec<PhaseReport> {
        self.enter(self.current, traffic);
        std::mem::take(&mut self.finished)
    }
}

#[cfg(test)]
mod tests {
    use vesica_protocols::Phase;

    use super::*;

    #[test]
    fn steps_that_alternate_have_an_entry_each_with_their_own_bytes() {
        let mut log = PhaseLog::start();
        let mut traffic = Traffic::default();
        log.enter(RunPhase::Protocol(Phase::Extend), traffic);
        for _ in 0..1000 {
            traffic.payload_received += 7;
            log.attribute_time(Some(RunPhase::Protocol(Phase::Evaluate)), traffic);
            log.attribute_time(Some(RunPhase::Protocol(Phase::Exchange)), traffic);
            traffic.payload_sent += 3;
            log.attribute_time(None, traffic);
            assert_eq!(log.current(), RunPhase::Protocol(Phase::Extend));
        }
        log.enter(RunPhase::Protocol(Phase::Exchange), traffic);
        traffic.payload_sent += 11;
        let told: Vec<_> = log.finish(traffic).iter().map(|p| (p.name, p.sent, p.received)).collect();
        let expected = [
            ("prepare", 0, 0),
            ("extend", 0, 7000),
            ("evaluate", 0, 0),
            ("exchange", 3000, 0),
            ("exchange", 11, 0),
        ];
        assert_eq!(told, expected);
    }
}
