//! The options that runs, `vesica plan` and `vesica bench once` have in common.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use vesica::encode::items::OnDuplicates;
use vesica::memory::Budget;
use vesica::parts::MOST;
use vesica::protocols::{DEFAULT_LEVEL, Learns, Profile};
use vesica::registry::{self, PROTOCOLS, Security};
use vesica::settings::{Choice, Limits, PadTo, Settings, count, duration, size};
use vesica::table::OnFault;

use super::result::ResultArgs;
use super::words::words;

/// `auto` and every protocol, for the parser and for completions.
fn protocols() -> impl TypedValueParser<Value = String> {
    names_and(&["auto"])
}

/// Every protocol.
pub(super) fn names() -> impl TypedValueParser<Value = String> {
    names_and(&[])
}

/// How to get the protocols that this build leaves out.
pub(crate) const GET_EXHIBITS: &str = "`cargo install --locked --path crates/cli --features exhibits`";

/// Every protocol after these words. Of one that this build leaves out it tells how to get it.
fn names_and(words: &'static [&'static str]) -> impl TypedValueParser<Value = String> {
    let known = words.iter().copied().chain(PROTOCOLS.iter().map(|entry| entry.name));
    let left_out = registry::left_out().map(|name| PossibleValue::new(name).hide(true));
    PossibleValuesParser::new(known.map(PossibleValue::new).chain(left_out)).try_map(|name| {
        if registry::left_out().any(|left_out| left_out == name) {
            Err(format!("{}: {GET_EXHIBITS}", registry::absent(&name)))
        } else {
            Ok(name)
        }
    })
}

/// A memory budget.
pub(super) fn memory(text: &str) -> Result<Budget, String> {
    match text {
        "auto" => Budget::automatic().ok_or_else(|| "this system does not tell its free memory".to_owned()),
        text => size(text).map(Budget::named),
    }
}

/// A number of parts.
pub(super) fn parts() -> impl TypedValueParser<Value = u32> {
    clap::value_parser!(u32).range(1..=i64::from(MOST))
}

/// The size of a set.
pub(super) fn set_size(text: &str) -> Result<usize, String> {
    let number = usize::try_from(count(text)?).ok().filter(|&number| number <= 1 << 30);
    number.ok_or_else(|| "write a number such as 50000, 50,000, 5e6, 1M or 2^20, up to 2^30".to_owned())
}

/// What both parties must ask for alike.
#[derive(Args, Clone)]
#[command(next_help_heading = "Agreed: both sides give the same")]
pub(crate) struct Agreed {
    /// Protocol by name (see `vesica protocols`), or auto
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = protocols(), hide_possible_values = true)]
    protocol: String,
    /// Protect against a partner that cheats (malicious), or only against a curious one (semi-honest)
    #[arg(long, value_parser = words::<Security>(), default_value = "malicious")]
    security: Security,
    #[command(flatten)]
    result: ResultArgs,
    #[command(flatten)]
    form: Form,
}

/// Which form of a protocol it is.
#[derive(Args, Clone)]
#[command(next_help_heading = "Agreed: both sides give the same")]
pub(super) struct Form {
    /// Who learns the result
    #[arg(long, value_parser = words::<Learns>(), default_value = "receiver")]
    pub(super) learns: Learns,
    /// What the protocol's parameters rest on: published bounds, our own arguments (fast), or estimates (lean)
    #[arg(long, value_parser = words::<Profile>(), default_value = "conservative")]
    pub(super) profile: Profile,
    /// Security level in bits, where the protocol offers it: 80, 112, 128, 192 or 256
    #[arg(long, value_name = "BITS", default_value_t = DEFAULT_LEVEL)]
    pub(super) level: u32,
    /// Use keys as they are: integers below 2^W; one key column of rule int or ip, where the protocol offers it
    #[arg(long, value_name = "W", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) sigma: Option<u32>,
    /// A variant of the named protocol, for comparison (see `vesica protocols`)
    #[arg(long, value_name = "NAME")]
    pub(super) variant: Option<String>,
    /// The paper's own parameters, for comparison with its tables; a run on real tables needs --allow-insecure
    #[arg(long)]
    pub(super) paper_parameters: bool,
    /// Reveal the result only if at most N keys match; otherwise both sides learn only that more do
    #[arg(long, value_name = "N", value_parser = count)]
    pub(super) audit_max: Option<u64>,
}

/// What every long-running command has: its resources, its times, the sizes that it accepts, and its records.
#[derive(Args, Clone)]
#[command(next_help_heading = "This side's choices")]
pub(crate) struct Around {
    /// Threads to keep busy [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Memory that this program may use, such as 512M or 4G, or half of the free memory (auto): what does not fit goes to disk, and a run that may take more is refused [default: 90 % of the free memory, and nothing goes to disk]
    #[arg(long, value_name = "SIZE|auto", value_parser = memory)]
    memory: Option<Budget>,
    /// How long to wait for the partner (a helper: for each party), and how long it may be silent: 90s, 5m, 2h
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    timeout: Duration,
    /// End the run if it is not done after this time, whatever it waits for: 90s, 5m, 2h [default: no end]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    deadline: Option<Duration>,
    /// Refuse a partner (a helper: a party) with fewer keys, padding included: a number, or 2^N
    #[arg(long, value_name = "N", default_value = "0", value_parser = count)]
    min_peer_rows: u64,
    /// Refuse a partner (a helper: a party) with more keys, padding included: a number, or 2^N
    #[arg(long, value_name = "N", default_value = "2^30", value_parser = count)]
    max_peer_rows: u64,
    /// Write a JSON report of the run, also when it fails: to a new file, or to a folder, where it gets a name of its own; `-` is standard output
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) report: Option<PathBuf>,
    /// Write each event as it happens, one JSON object a line; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Show nothing but errors
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Args, Clone)]
#[command(next_help_heading = "This side's choices")]
pub(crate) struct Common {
    #[command(flatten)]
    pub(crate) around: Around,
    /// My rows with the same key: all of them match, only the first matches, or they are an error
    #[arg(long, value_parser = words::<OnDuplicates>(), default_value = "all")]
    on_duplicates: OnDuplicates,
    /// My rows whose key is empty
    #[arg(long, value_parser = words::<OnFault>(), default_value = "skip")]
    on_null: OnFault,
    /// My rows whose key breaks its rule
    #[arg(long, value_parser = words::<OnFault>(), default_value = "error")]
    on_invalid: OnFault,
    /// Where encrypted temporary files lie if my keys do not fit into --memory [default: TMPDIR, else /var/tmp]
    #[arg(long, value_name = "DIR")]
    temp_dir: Option<PathBuf>,
    /// Hide my exact size: pad to the next power of two (pow2), or to N keys: a number, or 2^N
    #[arg(long, value_name = "pow2|N", value_parser = PadTo::from_str)]
    pad_to: Option<PadTo>,
    /// Split the run into at least N parts, several played at once; the larger number of both sides is taken
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parts())]
    parts: u32,
    /// Refuse a run of more than N parts [default: what suits the sizes: 64, or one for each 65,536 keys if that is more, with little padding]
    #[arg(long, value_name = "N", value_parser = parts())]
    max_parts: Option<u32>,
    /// Allow protocols that `vesica protocols` marks insecure or broken
    #[arg(long)]
    allow_insecure: bool,
    /// Add a column match_id to the matching rows: the same number on both sides for the same key; with --learns both
    #[arg(long, help_heading = "Agreed: both sides give the same")]
    match_id: bool,
    // Last, since its heading stays.
    #[command(flatten)]
    agreed: Agreed,
}

impl Agreed {
    /// The settings of a run with nothing local chosen.
    pub(crate) fn settings(&self) -> Settings {
        let Form { learns, profile, level, sigma, variant, paper_parameters, audit_max } = self.form.clone();
        Settings {
            protocol: match self.protocol.as_str() {
                "auto" => Choice::Auto,
                name => Choice::Named(name.to_owned()),
            },
            security: self.security,
            level,
            sigma,
            variant,
            profile,
            paper_parameters,
            audit_max,
            result: self.result.options(),
            learns,
            ..Settings::default()
        }
    }
}

impl Around {
    /// Settings with these choices, and the usual ones beside them.
    pub(crate) fn settings(&self) -> Settings {
        self.settings_on(Settings::default())
    }

    fn settings_on(&self, rest: Settings) -> Settings {
        Settings {
            limits: Limits {
                min_peer_rows: self.min_peer_rows,
                max_peer_rows: self.max_peer_rows,
                ..Limits::default()
            },
            threads: self.threads.map_or(0, usize::from),
            memory: self.memory,
            timeout: self.timeout,
            deadline: self.deadline,
            digest_input: self.report.is_some() || self.events.is_some(),
            ..rest
        }
    }
}

impl Common {
    /// The settings of a run.
    pub(crate) fn settings(&self) -> Settings {
        let settings = self.around.settings_on(Settings {
            parts: self.parts,
            on_duplicates: self.on_duplicates,
            on_null: self.on_null,
            on_invalid: self.on_invalid,
            temp_dir: self.temp_dir.clone(),
            pad_to: self.pad_to,
            allow_insecure: self.allow_insecure,
            match_id: self.match_id,
            ..self.agreed.settings()
        });
        Settings { limits: Limits { max_parts: self.max_parts, ..settings.limits }, ..settings }
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
