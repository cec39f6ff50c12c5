//! What every long-running command has beside the options of the library's list.

use std::path::PathBuf;

use clap::Args;
use vesica::output_paths::RecordPaths;
use vesica::settings::{Settings, count};

use super::options::{Chosen, Run, Takes};

/// The size of a set.
pub(super) fn set_size(text: &str) -> Result<usize, String> {
    let number = usize::try_from(count(text)?).ok().filter(|&number| number <= 1 << 30);
    number.ok_or_else(|| "write a number such as 50000, 50,000, 5e6, 1M or 2^20, up to 2^30".to_owned())
}

/// What is told of a run.
#[derive(Args, Clone)]
#[command(next_help_heading = "This side's choices")]
pub(crate) struct Records {
    /// Write a report of the run, also when it fails: to a new file, as a page for a person if its name ends in .html and otherwise as JSON, or to a folder, where it gets a name of its own; `-` is standard output
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) report: Option<PathBuf>,
    /// Where the receipt goes. Commands that have a partner have an option for it.
    #[arg(skip)]
    pub(crate) receipt: Option<PathBuf>,
    /// Write each event as it happens, one JSON object a line; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Show nothing but errors
    #[arg(long)]
    pub(crate) quiet: bool,
}

impl Records {
    /// These settings, with the digest of the input where a record shows it, and with the receipt if it is asked for.
    pub(crate) fn noted_in(&self, settings: &Settings) -> Settings {
        let digest_input = self.report.is_some() || self.events.is_some();
        Settings { digest_input, receipt: self.receipt.is_some(), ..settings.clone() }
    }

    /// As the library checks them.
    pub(crate) fn paths(&self) -> RecordPaths<'_> {
        let Records { report, receipt, events, .. } = self;
        RecordPaths { report: report.as_deref(), receipt: receipt.as_deref(), events: events.as_deref() }
    }
}

/// What a run has, with its options of the list.
#[derive(Args, Clone)]
pub(crate) struct Common<T: Takes = Run> {
    #[command(flatten)]
    options: Chosen<T>,
    /// Where encrypted temporary files lie if my keys do not fit into --memory [default: TMPDIR, else /var/tmp]
    #[arg(long, value_name = "DIR", help_heading = "This side's choices")]
    temp_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) records: Records,
}

impl<T: Takes> Common<T> {
    /// The settings of a run.
    pub(crate) fn settings(&self) -> Settings {
        let settings = self.records.noted_in(&self.options.settings);
        Settings { temp_dir: self.temp_dir.clone(), ..settings }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_sets_are_bounded() {
        assert_eq!((set_size("2^30"), set_size("1000")), (Ok(1 << 30), Ok(1000)));
        assert!(["2^31", "1073741825", "2^99", ""].iter().all(|bad| set_size(bad).is_err()));
    }
}
