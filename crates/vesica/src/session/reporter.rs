//! Keeps the report of a run while it goes on, and sends the caller its events.

mod announced;
mod helped;
mod kept;
mod parts;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use vesica_channel::{CancelToken, Digests, Meter, Traffic};
use vesica_net::{Connection, NetEvent, PublicKey};
use vesica_protocols::{Participant, Phase, Progress, Role};
use vesica_table::{Output, RowSet, RuleReport, Table, TableReport, shown_path};
use vesica_text::{Audience, Text};

use crate::session::Agreed;
use crate::session::hints;
use crate::session::progress::Course;
use crate::session::signing;
use crate::session::strangers::{Dropped, Strangers};
use crate::words::base_ots::CacheState;
use crate::words::ended::{Ended, RunResult};
use crate::words::error::{Error, RunPhase};
use crate::words::memory::Bytes as Amount;
use crate::words::parts::Parts;
use crate::words::receipt::Receipt;
use crate::words::report::{
    self, Bytes, Event, InputReport, Keys, LedgerReport, MatchCounts, OnEvent, PhaseLog, Report, Transcript,
    Versions,
};
use crate::words::resources;
use crate::words::results::{Answer, ResultReport};
use crate::words::settings::{Settings, Word};
use crate::words::terms::Terms;

/// The least time between two events of progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// The report so far, and who receives the events.
pub(crate) struct Reporter<'a> {
    pub(crate) cancel: &'a CancelToken,
    on_event: OnEvent<'a>,
    state: Mutex<State>,
    done: AtomicU64,
    /// Held while a part is told of, so that the events come in order from several threads.
    telling: Mutex<()>,
    /// This side's public key, if it shows one.
    my_key: Option<PublicKey>,
    /// For whom a listener waits.
    awaited: &'static str,
    /// When the run began, in milliseconds since 1970.
    pub(crate) started: u64,
    /// Whether the report holds the receipt.
    receipt: bool,
}

struct State {
    report: Report,
    phases: PhaseLog,
    course: Course,
    /// One for each connection.
    meters: Vec<Meter>,
    /// What went over the connections of parts that have ended.
    past: Traffic,
    /// Those of the parts that are played.
    playing: Vec<(u64, Meter)>,
    /// Attempts at parts so far.
    attempts: u64,
    parts_done: u32,
    last_part: Option<Instant>,
    total: u64,
    last_progress: Instant,
    /// The last message about attempts to connect.
    retrying: String,
    strangers: Strangers,
}

impl<'a> Reporter<'a> {
    pub(crate) fn new(
        role: Role,
        settings: &Settings,
        cancel: &'a CancelToken,
        on_event: OnEvent<'a>,
    ) -> Self {
        Self::of(role.into(), settings, cancel, on_event)
    }

    /// That of a helper.
    pub(crate) fn of_helper(settings: &Settings, cancel: &'a CancelToken, on_event: OnEvent<'a>) -> Self {
        Reporter { awaited: "the two parties", ..Self::of(Participant::Helper, settings, cancel, on_event) }
    }

    fn of(role: Participant, settings: &Settings, cancel: &'a CancelToken, on_event: OnEvent<'a>) -> Self {
        let started = report::now();
        let report = Report {
            schema: report::SCHEMA,
            outcome: "failed",
            role: role.name(),
            protocol: None,
            reason: None,
            security: settings.security.name(),
            profile: settings.profile.name(),
            started: report::shown_time(started),
            ended: None,
            keys: None,
            session: None,
            helper: None,
            relay: None,
            parties: None,
            transcript: None,
            input: None,
            terms: BTreeMap::new(),
            parameters: BTreeMap::new(),
            learns: settings.learns.word(),
            sizes: report::Sizes::default(),
            match_rules: Vec::new(),
            confirmed: false,
            matches: None,
            result: None,
            hints: Vec::new(),
            bytes: Bytes::default(),
            phases: Vec::new(),
            peak_rss: None,
            memory_bound: None,
            base_ots: None,
            parts: None,
            spill: None,
            kept: None,
            receipt: None,
            ledger: None,
            error: None,
            versions: Versions { vesica: signing::PROGRAM, wire: vesica_net::VERSION },
        };
        let state = State {
            report,
            phases: PhaseLog::start(),
            course: Course::default(),
            meters: Vec::new(),
            past: Traffic::default(),
            playing: Vec::new(),
            attempts: 0,
            parts_done: 0,
            last_part: None,
            total: 0,
            last_progress: Instant::now(),
            retrying: String::new(),
            strangers: Strangers::default(),
        };
        let (state, done) = (Mutex::new(state), AtomicU64::new(0));
        Reporter {
            cancel,
            on_event,
            state,
            done,
            telling: Mutex::new(()),
            my_key: None,
            awaited: "the partner",
            started,
            receipt: settings.receipt,
        }
    }

    /// The reporter of a run through this relay, if there is one.
    #[must_use]
    pub(crate) fn with_relay(self, relay: Option<String>) -> Self {
        self.state().report.relay = relay;
        self
    }

    /// The reporter of a side that shows this key.
    #[must_use]
    pub(crate) fn with_key(self, my_key: Option<PublicKey>) -> Self {
        Reporter { my_key, ..self }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn current(&self) -> RunPhase {
        self.state().phases.current()
    }

    /// A phase of the run begins, in which `total` units of work are to be done (0: not known).
    pub(crate) fn enter(&self, phase: RunPhase, total: u64) {
        let mut state = self.state();
        let traffic = state.traffic();
        state.phases.enter(phase, traffic);
        state.course.enter(phase);
        state.total = total;
        self.done.store(0, Relaxed);
        let ((step, steps), (name, words)) = (state.course.step(), phase.told());
        drop(state);
        (self.on_event)(&Event::Phase { name, words, step, steps, total });
    }

    /// From here on, time counts for `phase`, or again for the current one.
    pub(crate) fn attribute(&self, phase: Option<RunPhase>) {
        let mut state = self.state();
        let traffic = state.traffic();
        state.phases.attribute_time(phase, traffic);
    }

    /// Progress of a pass over a file, in bytes.
    pub(crate) fn bytes(&self, progress: vesica_table::Progress) -> ControlFlow<()> {
        self.state().total = progress.total;
        self.done.store(progress.done, Relaxed);
        self.send_progress();
        if self.cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Sends an event of progress, not too often.
    fn send_progress(&self) {
        let progress = {
            let mut state = self.state();
            if state.last_progress.elapsed() < PROGRESS_EVERY {
                return;
            }
            state.last_progress = Instant::now();
            state.progress(self.done.load(Relaxed))
        };
        (self.on_event)(&progress);
    }

    /// What the table was read from.
    pub(crate) fn input(&self, input: InputReport) {
        self.state().report.input = Some(input);
    }

    /// The digest of what the table was read from, where there is one.
    pub(crate) fn input_digest(&self) -> Option<String> {
        self.state().report.input.as_ref().map(|input| input.blake3.clone())
    }

    /// How many different keys the table has.
    pub(crate) fn distinct_keys(&self) -> u64 {
        self.state().report.sizes.items
    }

    /// Digests of what went over the channel, which may have ended early.
    pub(crate) fn transcript(&self, channel: &Connection) {
        self.state().report.transcript = Some(transcript_of(channel));
    }

    /// A line for the screen.
    pub(crate) fn notice(&self, message: impl Into<Text>) {
        let message = message.into();
        (self.on_event)(&Event::Notice { message });
    }

    /// The input is a stream that has given no data for a while.
    pub(crate) fn quiet_input(&self, input: &Path) {
        let input = if input.as_os_str() == "-" { "standard input".into() } else { shown_path(input) };
        self.notice(format!("no data from {input} yet; waiting for the program that writes it"));
    }

    pub(crate) fn net_event(&self, event: &NetEvent) {
        self.net_event_of(self.awaited, event);
    }

    /// Tells of the network while `awaited` is waited for.
    pub(crate) fn net_event_of(&self, awaited: &str, event: &NetEvent) {
        let message = match event {
            NetEvent::Listening(address) => {
                let key = self.my_key.map(|key| key.to_string());
                return (self.on_event)(&Event::Listening { address: address.to_string(), key });
            }
            NetEvent::Retrying { reason, .. } => {
                let reason = match awaited {
                    "the helper" => reason.text().told(Audience::Three("helper")),
                    _ => reason.text(),
                };
                let message = format!("waiting for {awaited}: {}", reason.shell());
                // One message for each reason: there are many attempts.
                if std::mem::replace(&mut self.state().retrying, message.clone()) == message {
                    return;
                }
                message
            }
            NetEvent::StrangerDropped { from, reason } => {
                let line = self.state().strangers.message(*from, reason, Instant::now());
                let Some(Dropped { what, rest }) = line else { return };
                format!("{what}; still waiting for {awaited}{rest}")
            }
            NetEvent::AtRelay { relay } => format!("at the relay {relay}; waiting for {awaited}"),
            // `connected` sends the rest.
            _ => return,
        };
        self.notice(message);
    }

    pub(crate) fn connected(&self, channel: &Connection) {
        let relayed = {
            let mut state = self.state();
            state.meters.push(channel.meter());
            let keys = self.my_key.as_ref().zip(channel.peer_key());
            state.report.keys =
                keys.map(|(mine, partner)| Keys { mine: mine.to_string(), partner: partner.to_string() });
            state.report.relay.is_some()
        };
        (self.on_event)(&Event::Connected {
            address: channel.peer_address().map(|address| address.to_string()),
            relayed,
        });
    }

    /// The counts of the table, and the size of its set that the partner sees.
    pub(crate) fn read(&self, counts: TableReport, shown_items: u64, settings: &Settings) {
        self.state().report.sizes = report::Sizes {
            rows: counts.rows,
            items: counts.items,
            nulls: counts.nulls,
            invalid: counts.invalid,
            duplicates: counts.duplicates,
            shown_items: Some(shown_items),
            shown: false,
            peer_items: None,
        };
        self.hint(None);
        hints::of_options(settings).into_iter().for_each(|hint| self.keep(hint));
    }

    /// The size of my set leaves.
    pub(crate) fn size_leaves(&self) {
        self.state().report.sizes.shown = true;
    }

    /// Where the run ends in the ledger.
    pub(crate) fn ledger(&self, last: LedgerReport) {
        self.state().report.ledger = Some(last);
    }

    /// What each of several rules made of the table's rows, and what keys look like that hardly anybody means.
    pub(crate) fn match_rules(&self, table: &Table) {
        table.hints().iter().for_each(|hint| self.keep(hint.text()));
        if table.keys_of_row() > 1 {
            let counts = |(rule, RuleReport { keys, nulls, invalid }): (&str, RuleReport)| {
                report::RuleCounts { rule: rule.to_owned(), keys, nulls, invalid, matching_rows: None }
            };
            self.state().report.match_rules = table.rules().map(counts).collect();
        }
    }

    /// How many keys the table's rows have, repeated ones counted; of rows with one key those without it too.
    pub(crate) fn keys_of_rows(&self) -> u64 {
        let report = &self.state().report;
        match &report.match_rules[..] {
            [] => report.sizes.rows,
            rules => rules.iter().map(|rule| rule.keys).sum(),
        }
    }

    /// How many keys a row may have.
    pub(crate) fn keys_of_row(&self) -> usize {
        self.state().report.match_rules.len().max(1)
    }

    /// Counts the rows of these keys, which match: all of them, and those of each rule.
    pub(super) fn matching_rows(&self, keys: RowSet<'_>) -> u64 {
        let rules = self.keys_of_row();
        if rules == 1 {
            return keys.len() as u64;
        }
        let mut rows = vec![0; rules];
        keys.by_first_key(rules).for_each(|found| rows[found.rule] += 1);
        for (rule, rows) in self.state().report.match_rules.iter_mut().zip(&rows) {
            rule.matching_rows = Some(*rows);
        }
        rows.iter().sum()
    }

    /// A hint that the counts so far suggest, if there is one. Before the result is known, `matching` is none.
    fn hint(&self, matching: Option<u64>) {
        let hint = hints::of(&self.state().report.sizes, matching);
        hint.into_iter().for_each(|hint| self.keep(hint));
    }

    /// Sends a hint at once, and keeps it for the report.
    pub(crate) fn keep(&self, hint: Text) {
        self.state().report.hints.push(hint.clone());
        self.notice(hint);
    }

    /// Warns of an output that may not fit on the disk. It is only a guess: some rows, or compressed ones, may need less.
    pub(crate) fn room(&self, output: Option<&Output>, input_bytes: Option<u64>) {
        if let (Some(output), Some(bytes)) = (output, input_bytes)
            && let Some(room) = output.room()
            && room < bytes
        {
            self.notice(format!(
                "{}: {} are free there, and the input has {}; the rows will not fit if all of them match",
                output.name(),
                Amount(room),
                Amount(bytes)
            ));
        }
    }

    /// Puts what was agreed into the report and announces it.
    pub(crate) fn agreed(&self, agreed: &Agreed, terms: &Terms) {
        let entry = agreed.protocol;
        let parameters = agreed.parameters;
        let shape = agreed.shape();
        let mut state = self.state();
        let steps = match agreed.parts {
            Parts::ONE => {
                let steps = entry.steps_of(agreed.role(), &shape).iter();
                steps.map(|&(phase, share)| (RunPhase::Protocol(phase), share)).collect()
            }
            _ => vec![(RunPhase::Parts, 100)],
        };
        state.course.agreed(steps);
        let report = &mut state.report;
        report.session = Some(agreed.public_id());
        report.protocol = Some(entry.name);
        report.reason = Some(agreed.reason);
        report.terms = terms.equal().iter().cloned().collect();
        let stated = agreed.stated_parameters().into_iter();
        report.parameters.extend(stated.map(|(name, value)| (name, value.into())));
        if let Some(tested) = agreed.max_tested_keys(0) {
            report.parameters.insert("max_tested_keys", tested.into());
        }
        report.profile = parameters.profile.name();
        if let Some(caveat) = parameters.caveat() {
            report.parameters.insert("caveat", caveat.into());
        }
        let several = report.match_rules.len() > 1;
        report.result = Some(ResultReport::of(entry, &parameters, agreed.learns, several));
        report.sizes.peer_items = Some(agreed.sizes.of(agreed.role().other()) as u64);
        if entry.needs_allow_insecure() {
            report.security = "none";
        }
        let security = report.security;
        let keeps = *terms.base_ots() != CacheState::Disabled;
        report.base_ots = keeps.then(|| agreed.base_ots.name());
        drop(state);
        self.announce(agreed, security, keeps);
    }

    /// The run failed, and the kept base OTs that it used were removed.
    pub(crate) fn forgot_base_ots(&self) {
        self.notice("the kept base OTs were removed, since the run failed; the next run makes new ones");
    }

    /// Both sides have confirmed the run, and signed the receipt where they have keys.
    pub(crate) fn confirmed(&self, receipt: Option<Receipt>) {
        let report = &mut self.state().report;
        report.confirmed = true;
        report.receipt = receipt.filter(|_| self.receipt);
    }

    /// Whether both sides have confirmed the run.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.state().report.confirmed
    }

    /// The run found this; nothing on a side that does not learn it. A count is `exact` without noise.
    pub(crate) fn found(&self, found: &RunResult, exact: bool) {
        let counts = found.matches.as_ref().map(|matches| MatchCounts {
            items: matches.items() as u64,
            rows: self.matching_rows(RowSet::from(matches)),
        });
        let undecodable = found.payload.as_ref().zip(found.matches.as_ref()).map(|(payload, matches)| {
            let rows = RowSet::from(matches).by_first_key(self.keys_of_row());
            payload.undecodable(rows.map(|found| found.at)) as u64
        });
        {
            let report = &mut self.state().report;
            report.matches = counts;
            if let Some(result) = &mut report.result {
                result.undecodable_rows = undecodable;
                found.answer.iter().for_each(|answer| result.answered(answer));
            }
        }
        let counted = match found.answer {
            Some(Answer::Count(count)) if exact => u64::try_from(count).ok(),
            _ => None,
        };
        if let Some(matching) = counts.map(|counts| counts.items).or(counted) {
            self.hint(Some(matching));
        }
        if let Some(rows @ 1..) = undecodable {
            self.keep(hints::undecodable(rows));
        }
    }

    /// Completes the report and sends the last event.
    pub(crate) fn end(&self, result: Result<RunResult, Error>) -> Ended {
        let report = {
            let mut state = self.state();
            let traffic = state.traffic();
            let mut report = state.report.clone();
            report.outcome = if result.is_ok() { "done" } else { "failed" };
            report.error = result.as_ref().err().cloned();
            report.ended = Some(report::shown_time(report::now()));
            report.bytes = traffic.into();
            report.phases = state.phases.finish(traffic);
            report.peak_rss = resources::peak_rss();
            report
        };
        let boxed = Box::new(report.clone());
        (self.on_event)(&if result.is_ok() {
            Event::Done { report: boxed }
        } else {
            Event::Failed { report: boxed }
        });
        Ended { report, result }
    }
}

fn transcript_of(channel: &Connection) -> Transcript {
    let Digests { sent, received } = channel.digests();
    let [sent, received] = [sent, received].map(|digest| blake3::Hash::from_bytes(digest).to_hex());
    Transcript { sent: sent.to_string(), received: received.to_string() }
}

/// What went over two connections.
fn sum(one: Traffic, other: Traffic) -> Traffic {
    Traffic {
        payload_sent: one.payload_sent + other.payload_sent,
        payload_received: one.payload_received + other.payload_received,
        wire_sent: one.wire_sent + other.wire_sent,
        wire_received: one.wire_received + other.wire_received,
    }
}

impl State {
    /// The event for so much of the current phase.
    fn progress(&self, done: u64) -> Event {
        let completion = self.course.completion(done, self.total);
        let (share, left_s) = (
            completion.map(|completion| completion.share),
            completion.and_then(|completion| completion.left_s),
        );
        Event::Progress { done, total: self.total, share, left_s }
    }

    fn traffic(&self) -> Traffic {
        let playing = self.playing.iter().map(|(_, meter)| meter);
        self.meters.iter().chain(playing).map(Meter::traffic).fold(self.past, sum)
    }
}

impl Progress for Reporter<'_> {
    fn phase(&self, phase: Phase, total: u64) {
        self.enter(RunPhase::Protocol(phase), total);
    }

    fn attribute_time(&self, phase: Option<Phase>) {
        self.attribute(phase.map(RunPhase::Protocol));
    }

    fn advance(&self, units: u64) {
        self.done.fetch_add(units, Relaxed);
        self.send_progress();
    }

    fn cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}
