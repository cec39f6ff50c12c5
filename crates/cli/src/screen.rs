//! What a person sees while a run goes on: notices, a progress bar on a terminal, the end. All on standard error.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use vesica::Error;
use vesica::report::{Event, Report};

/// Shows events.
pub(crate) struct Screen {
    quiet: bool,
    bar: Option<ProgressBar>,
    /// The phase the bar shows, and whether it counts bytes.
    phase: Mutex<&'static str>,
}

impl Screen {
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = (!quiet && io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.set_style(style("{spinner} {msg}"));
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        Screen { quiet, bar, phase: Mutex::new("") }
    }

    /// Shows one event; called from any thread.
    pub(crate) fn show(&self, event: &Event) {
        match event {
            Event::Started { .. } => {}
            Event::Listening { address } => {
                self.line(&format!("listening on {address}; waiting for the partner"))
            }
            Event::Notice { message } => self.line(message),
            Event::Connected { address: Some(address) } => {
                self.line(&format!("connected to the partner at {address}"))
            }
            Event::Connected { address: None } => {}
            Event::Phase { name, total } => self.enter(name, *total),
            Event::Progress { done, total } => self.progress(*done, *total),
            Event::Done { .. } | Event::Failed { .. } => {
                if let Some(bar) = &self.bar {
                    bar.finish_and_clear();
                }
            }
        }
    }

    /// A line that stays, unless nothing but errors is to be shown.
    pub(crate) fn line(&self, message: &str) {
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => bar.suspend(|| say(message)),
            None => say(message),
        }
    }

    fn enter(&self, name: &'static str, total: u64) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = name;
        if let Some(bar) = &self.bar {
            bar.reset();
            bar.set_message(name);
            self.progress(0, total);
        }
    }

    fn progress(&self, done: u64, total: u64) {
        let Some(bar) = &self.bar else { return };
        let bytes = matches!(*self.phase.lock().unwrap_or_else(PoisonError::into_inner), "read" | "write");
        bar.set_style(style(match (total, bytes) {
            (0, _) => "{spinner} {msg}",
            (_, true) => "{msg:10} {bar:30} {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left",
            (_, false) => "{msg:10} {bar:30} {human_pos}/{human_len}  {rate}  {eta} left",
        }));
        bar.set_length(total);
        bar.set_position(done);
    }
}

fn style(template: &str) -> ProgressStyle {
    // A template that does not parse is a mistake in this file; the bar is then plain.
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.with_key("rate", |state: &ProgressState, line: &mut dyn fmt::Write| {
        // A bar that cannot be written is no reason to stop.
        let _ = write!(line, "{}/s", HumanCount(state.per_sec() as u64));
    })
}

/// A line on standard error. A closed standard error is no reason to stop.
pub(crate) fn say(message: &str) {
    drop(writeln!(io::stderr(), "{message}"));
}

/// The last words of a run that failed.
pub(crate) fn failure(command: &str, error: &Error) {
    say(&format!("vesica {command}: {error}"));
}

/// The last words of a run that ended well, for the party of this report.
pub(crate) fn summary(report: &Report, output: Option<&str>) -> String {
    let sizes = &report.sizes;
    let mut text = match &report.matches {
        Some(matches) => {
            let place = output.map_or(String::new(), |path| format!("; written to {path}"));
            format!("{} of {} match ({}){place}", matches.rows, rows(sizes.rows), keys(matches.items))
        }
        None => format!("done: the receiver has its result; {} of this side took part", keys(sizes.items)),
    };
    let skipped = [("without a key", sizes.nulls), ("with an invalid key", sizes.invalid)];
    for (what, count) in skipped.into_iter().filter(|(_, count)| *count > 0) {
        text += &format!("\n{} {what} left out", rows(count));
    }
    if let (Some(shown), Some(seen)) = (sizes.shown_items, sizes.peer_items) {
        text += &format!("\nsizes shown: ours {}, the partner's {seen}", keys(shown));
    }
    text
}

fn rows(count: u64) -> String {
    format!("{count} {}", if count == 1 { "row" } else { "rows" })
}

fn keys(count: u64) -> String {
    format!("{count} {}", if count == 1 { "key" } else { "keys" })
}
