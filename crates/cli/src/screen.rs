//! What a person sees of a run: messages, a line of progress on a terminal, the result. All of it on standard error.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use console::{Style, Term};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use vesica::Error;
use vesica::memory::Bytes;
use vesica::protocols::Participant;
use vesica::report::{Event, KeptReport, Report};
use vesica::results::ResultReport;
use vesica::text::Voice;
use vesica::text::amounts::seconds;

use crate::outbox::{Outbox, outbox};

mod line;
mod margin;

use line::Line;
use margin::{MARGIN, Margin};

/// Shows events.
pub(crate) struct Screen {
    quiet: bool,
    /// How long to wait for the partner.
    timeout: Duration,
    bar: Option<ProgressBar>,
    /// Whether this is a helper's run.
    helps: AtomicBool,
    now: Arc<Mutex<Line>>,
    /// Lines that stay, and the thread that shows them.
    lines: Outbox,
    showing: JoinHandle<()>,
}

impl Screen {
    pub(crate) fn new(quiet: bool, timeout: Duration) -> io::Result<Self> {
        let now = Arc::new(Mutex::new(Line::default()));
        let bar = (!quiet && io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(None, terminal());
            bar.set_style(style(now.clone()));
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        let (lines, waiting) = outbox();
        let above = bar.clone();
        let show = move || {
            waiting.each(|line| match &above {
                Some(bar) => bar.suspend(|| say(line)),
                None => say(line),
            });
        };
        let showing = thread::Builder::new().name("vesica-screen".into()).spawn(show)?;
        Ok(Screen { quiet, timeout, bar, helps: AtomicBool::new(false), now, lines, showing })
    }

    /// Waits until all is shown.
    pub(crate) fn end(self) {
        drop(self.lines);
        // A panic there has been shown.
        drop(self.showing.join());
    }

    /// Shows one event; called from any thread.
    pub(crate) fn show(&self, event: &Event) {
        match event {
            Event::Started { role } => self.helps.store(*role == Participant::Helper.name(), Relaxed),
            Event::Connected { address: None, .. } => {}
            Event::Listening { address, key } => self.listening(address, key.as_deref()),
            Event::Notice { message } => self.line(&message.shell()),
            Event::Connected { address: Some(address), relayed } => {
                let way = if *relayed { "through the relay at" } else { "at" };
                self.line(&format!("connected to the partner {way} {address}"));
            }
            Event::Phase { name, words, step, steps, .. } => {
                let waits =
                    ["connect", "gather", "helper"].contains(name).then_some((Instant::now(), self.timeout));
                let mut now = self.now();
                *now = now.next((name, words), (*step, *steps), waits);
            }
            Event::Progress { done, total, share, left_s } => {
                let left = left_s.map(|left| (Instant::now(), Duration::from_secs_f64(left)));
                self.now().progress((*done, *total), *share, left);
            }
            // The progress of the phase tells how many parts are done.
            Event::Done { .. } | Event::Failed { .. } => self.clear(),
            // `Part` among them.
            _ => {}
        }
    }

    fn listening(&self, address: &str, key: Option<&str>) {
        let helps = self.helps.load(Relaxed);
        let who = if helps { "the two parties" } else { "the partner" };
        self.line(&format!("listening on {address}; waiting for {who}"));
        if let (Some(key), true) = (key, helps) {
            let needed = format!("--helper {} --helper-key {key}", reached_at(address));
            self.line(&format!("both parties need: {needed}"));
        }
    }

    fn now(&self) -> MutexGuard<'_, Line> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the line of progress.
    fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Shows a line that stays, unless only errors are to be shown.
    pub(crate) fn line(&self, message: &str) {
        let message = if message.starts_with("WARNING") {
            Style::new().for_stderr().yellow().apply_to(message).to_string()
        } else {
            message.to_owned()
        };
        if !self.quiet {
            self.lines.put(message);
        }
    }
}

/// Standard error, fifteen times a second at most, with a margin.
fn terminal() -> ProgressDrawTarget {
    ProgressDrawTarget::term_like_with_hz(Box::new(Margin(Term::buffered_stderr())), 15)
}

/// One line whose text is made anew at each tick, never wider than the terminal.
fn style(now: Arc<Mutex<Line>>) -> ProgressStyle {
    // A template that does not parse is a mistake in this file. Then the bar is plain.
    let style =
        ProgressStyle::with_template("{spinner} {line}").unwrap_or_else(|_| ProgressStyle::default_bar());
    style.with_key("line", move |_: &ProgressState, out: &mut dyn fmt::Write| {
        // The spinner and a space take two columns.
        let width = usize::from(Term::stderr().size().1).saturating_sub(usize::from(MARGIN) + 2);
        let text = now.lock().unwrap_or_else(PoisonError::into_inner).text(width);
        // A bar that cannot be written is no reason to stop.
        let _ = out.write_str(&text);
    })
}

/// The address for the partner's `--connect`. A side that listens at all addresses does not know its own host name.
fn reached_at(address: &str) -> String {
    match address.parse::<SocketAddr>() {
        Ok(at) if at.ip().is_unspecified() => format!("HOST:{}", at.port()),
        _ => address.to_owned(),
    }
}

/// A line on standard error. A closed standard error is no reason to stop.
pub(crate) fn say(message: &str) {
    drop(writeln!(io::stderr(), "{message}"));
}

/// Shows the error of a run that failed.
pub(crate) fn failure(command: &str, error: &Error) {
    show_failure(command, &error.render(Voice::Shell));
}

/// Shows why a command that meets nobody ended without a result.
pub(crate) fn failure_alone(command: &str, error: &Error) {
    show_failure(command, &error.render_alone(Voice::Shell));
}

fn show_failure(command: &str, text: &str) {
    let (first, rest) = text.split_at(text.find('\n').unwrap_or(text.len()));
    let red = Style::new().for_stderr().red().bold();
    say(&format!("vesica {command}: {}{rest}", red.apply_to(first)));
}

/// What is shown of a run that succeeded, for the party of this report. `alone`: both parties ran here.
pub(crate) fn summary(report: &Report, output: Option<&str>, alone: bool) -> String {
    if let Some(parties) = &report.parties {
        let common = parties.common_items.map_or(String::new(), |common| format!("; both have {common}"));
        let (receiver, sender) = (keys(parties.receiver.items), parties.sender.items);
        return format!(
            "done: the receiver has {receiver}, the sender {sender}{common}\n{}",
            took(report, alone)
        );
    }
    if let Some(kept) = report.kept.as_ref().filter(|kept| kept.asked.is_none()) {
        return published(report, kept, output);
    }
    let sizes = &report.sizes;
    let place = output.map_or(String::new(), |path| format!("; written to {path}"));
    let mut text = match (&report.matches, report.result.as_ref().and_then(answer)) {
        (_, Some(answer)) => answer + &place,
        (Some(matches), None) => {
            let verb = if matches.rows == 1 { "matches" } else { "match" };
            format!("{} of {} {verb} ({}){place}", matches.rows, rows(sizes.rows), keys(matches.items))
        }
        (None, None) => format!(
            "done: this side's part is complete ({}); ask the partner whether it has its result",
            keys(sizes.items)
        ),
    };
    for rule in &report.match_rules {
        if let Some(matching) = rule.matching_rows {
            let verb = if matching == 1 { "matches" } else { "match" };
            let have = if rule.keys == 1 { "has" } else { "have" };
            text += &format!(
                "\n{} {verb} by {}; {} {have} such a key",
                rows(matching),
                rule.rule,
                rows(rule.keys)
            );
        }
    }
    let skipped = [("without a key", sizes.nulls), ("with an invalid key", sizes.invalid)];
    for (what, count) in skipped.into_iter().filter(|(_, count)| *count > 0) {
        text += &format!("\n{} {what} left out", rows(count));
    }
    if let (Some(shown), Some(seen)) = (sizes.shown_items, sizes.peer_items) {
        text += &if alone {
            format!("\nthe receiver has {}, the sender {seen}", keys(shown))
        } else {
            format!("\nthe partner learned our size, {}; we learned theirs, {seen}", keys(shown))
        };
    }
    if let Some((kept, asked)) = report.kept.as_ref().and_then(|kept| Some((kept, kept.asked?))) {
        text += &format!(
            "\nthe set: epoch {} under key {}, {}; the sender learned that we asked for {}",
            kept.epoch,
            kept.key_number,
            keys(kept.keys),
            keys(asked)
        );
    }
    if let Some(parts) = &report.parts {
        text += &format!("\nplayed in {} parts", parts.count);
    }
    text + "\n" + &took(report, alone)
}

/// What is shown of a set that was published.
fn published(report: &Report, kept: &KeptReport, output: Option<&str>) -> String {
    let changes = match kept.removed {
        0 if kept.added == kept.keys => String::new(),
        removed => format!(" ({} came or have new labels, {removed} went)", kept.added),
    };
    let place = output.map_or(String::new(), |path| format!("; written to {path}"));
    let mut text =
        format!("epoch {} under key {}: {}{changes}{place}", kept.epoch, kept.key_number, keys(kept.keys));
    let skipped = [("without a key", report.sizes.nulls), ("with an invalid key", report.sizes.invalid)];
    for (what, count) in skipped.into_iter().filter(|(_, count)| *count > 0) {
        text += &format!("\n{} {what} left out", rows(count));
    }
    text + &format!(
        "\n{} rows read; took {}",
        report.sizes.rows,
        seconds(report.phases.iter().map(|phase| phase.wall_s).sum())
    )
}

/// A result that is not rows; none if this side does not learn it.
fn answer(result: &ResultReport) -> Option<String> {
    let noisy = result.receiver_learns.iter().any(|what| what.ends_with("with noise"));
    let how = |noise: &'static str| if noisy { noise } else { "" };
    if let Some(count) = result.count {
        let verb = if count == 1 { "key matches" } else { "keys match" };
        return Some(format!("{count} {verb}{}", how(", with noise")));
    }
    if let Some(reached) = result.at_least {
        let told = if reached { "as many keys match as" } else { "fewer keys match than" };
        return Some(format!("{told} `--at-least` asks{}", how(", by a count with noise")));
    }
    let sums = result.sums.as_ref()?.iter().map(|sum| format!("`{}`: {}", sum.column, sum.sum));
    Some(format!("sums over the matching keys: {}", sums.collect::<Vec<_>>().join("; ")))
}

/// How long it took, and what went over the connection.
fn took(report: &Report, alone: bool) -> String {
    let time = |of: &dyn Fn(&str) -> bool| {
        let phases = report.phases.iter().filter(|phase| of(phase.name));
        phases.map(|phase| phase.wall_s).sum::<f64>()
    };
    let (all, waited) = (time(&|_| true), time(&|name| ["connect", "gather"].contains(&name)));
    let mut text = format!("took {}", seconds(all));
    if !alone && waited >= 1.0 {
        let whom = if report.parties.is_some() { "the two parties" } else { "the partner" };
        text += &format!(", {} of it waiting for {whom}", seconds(waited));
    }
    let wire = report.bytes.wire;
    // Parties in one process have no connection.
    let (who, sent) = if alone { ("the receiver ", report.bytes.payload) } else { ("", wire) };
    text + &format!("; {who}sent {}, received {}", Bytes(sent.sent), Bytes(sent.received))
}

fn rows(count: u64) -> String {
    format!("{count} {}", if count == 1 { "row" } else { "rows" })
}

fn keys(count: u64) -> String {
    format!("{count} {}", if count == 1 { "key" } else { "keys" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_at_all_addresses_is_reached_by_name() {
        let shown = ["0.0.0.0:7400", "[::]:7400", "192.168.1.5:7400"].map(reached_at);
        assert_eq!(shown, ["HOST:7400", "HOST:7400", "192.168.1.5:7400"]);
    }
}
