//! Every argument of every command, once: the parser, the help and the checks that need no file.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use vesica::encode::items::OnDuplicates;
use vesica::protocols::registry::Security;
use vesica::protocols::{DEFAULT_LEVEL, Learns, Profile};
use vesica::settings::{Choice, Limits, PadTo, Settings, duration};
use vesica::table::{KeySpec, OnFault, PairSpec};

mod plan;

pub(crate) use plan::Plan;

/// Private set intersection: find the rows two tables share, and show neither side anything else.
#[derive(Parser)]
#[command(name = "vesica", version, max_term_width = 110, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Try it: two sample tables, two processes, TLS on loopback, the matched rows on screen
    Quickstart,
    /// Make a new identity; prints its public key, which is what the partner needs
    Keygen(Keygen),
    /// Look at a table: columns, rows, and what its keys would be, masked
    Inspect(Inspect),
    /// Find the rows of my table whose keys the partner's table has too
    Receive(Box<Receive>),
    /// Let the partner find its rows whose keys my table has too
    Send(Box<Send>),
    /// Run the real protocol between two tables on this machine
    Local(Box<Local>),
    /// List the protocols: paper, security, who learns what, bytes
    Protocols(Protocols),
    /// Tell what a run would take: protocol, traffic, memory and time, and the alternatives
    Plan(Box<Plan>),
    /// Measure protocols, and make the papers' tables again
    Bench(Bench),
    /// Print completions for a shell, to be put where it looks for them
    Completions(Completions),
    /// Print the manual page
    Man,
}

#[derive(Args)]
pub(crate) struct Keygen {
    /// Where to put the new identity [default: vesica/identity.pem in the configuration folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Inspect {
    /// The table: CSV (gzip or zstd too), Parquet or Arrow IPC; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) input: PathBuf,
    /// Key column, COLUMN[:RULE]; repeat for a composite key
    #[arg(long, value_name = "SPEC")]
    pub(crate) key: Vec<KeySpec>,
    /// As JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Receive {
    #[command(flatten)]
    pub(crate) table: TableOptions,
    /// Where the matching rows go, in my table's format, CSV compressed if the name ends in .gz or .zst; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) partner: PartnerOptions,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Args)]
pub(crate) struct Send {
    #[command(flatten)]
    pub(crate) table: TableOptions,
    /// Where my matching rows go, with --learns both; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) partner: PartnerOptions,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Args)]
pub(crate) struct Local {
    /// The receiver's table; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) receiver: PathBuf,
    /// The sender's table; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) sender: PathBuf,
    /// Key column, COLUMN[:RULE], or MINE=THEIRS[:RULE] where the names differ; repeat for a composite key
    #[arg(long, value_name = "SPEC", required = true)]
    pub(crate) key: Vec<PairSpec>,
    /// Where the receiver's matching rows go; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Args)]
pub(crate) struct Protocols {
    /// As JSON, for programs
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// As the README's table
    #[arg(long, hide = true)]
    pub(crate) markdown: bool,
}

#[derive(Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    pub(crate) command: BenchCommand,
}

#[derive(Subcommand)]
pub(crate) enum BenchCommand {
    /// Run what definitions ask for and the record does not hold yet
    Run(BenchRun),
    /// Write the tables of a record into the page of benchmarks
    Report(BenchReport),
    /// Run one protocol on two sets of given sizes, figures on standard output
    Once(Box<BenchOnce>),
    /// Fit the cost model of `vesica plan` to a record, and show how far it is off
    Fit(BenchFit),
    /// One party of a run
    #[command(hide = true)]
    Party(BenchParty),
}

#[derive(Args)]
pub(crate) struct BenchFolders {
    /// The folder with definitions and networks.toml
    #[arg(long, value_name = "FOLDER", default_value = "benchmarks")]
    pub(crate) benchmarks: PathBuf,
    /// Measure a debug build all the same
    #[arg(long)]
    pub(crate) allow_debug: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ProfileOfRuns {
    /// One run of the smaller columns, within 15 minutes
    Quick,
    /// A warm-up and three runs of all that memory and the budgets allow
    Full,
}

#[derive(Args)]
pub(crate) struct BenchRun {
    /// Definitions by their path below the folder: pssz15/table-08
    #[arg(value_name = "DEFINITION")]
    pub(crate) definitions: Vec<String>,
    /// All definitions
    #[arg(long, conflicts_with = "definitions")]
    pub(crate) all: bool,
    /// How much of them
    #[arg(long, value_enum, default_value = "quick")]
    pub(crate) profile: ProfileOfRuns,
    /// Runs of each cell [default: 1 quick, 3 full]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: Option<u32>,
    /// Time for everything, as 90s, 12m or 2h; what does not fit is left out [default: 12m quick, none full]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) budget: Option<Duration>,
    /// Time that one run may be expected to take [default: 10s quick, 60s full]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) run_budget: Option<Duration>,
    /// Only tell what would be run, and how long it may take
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The folder of this machine's record [default: a new one of today in benchmarks/record]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) record: Option<PathBuf>,
    /// The page whose tables are written anew, with --all
    #[arg(long, value_name = "FILE", default_value = "docs/benchmarks.md")]
    pub(crate) page: PathBuf,
    #[command(flatten)]
    pub(crate) folders: BenchFolders,
}

#[derive(Args)]
pub(crate) struct BenchReport {
    /// The folder of the record [default: the last one in benchmarks/record]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) record: Option<PathBuf>,
    /// The page that holds the tables
    #[arg(long, value_name = "FILE", default_value = "docs/benchmarks.md")]
    pub(crate) page: PathBuf,
    #[command(flatten)]
    pub(crate) folders: BenchFolders,
}

#[derive(Args)]
pub(crate) struct BenchFit {
    /// Definitions by their path below the folder, whose records are fitted [default: vesica/model and its networks]
    #[arg(value_name = "DEFINITION", default_values = ["vesica/model", "vesica/model-networks"])]
    pub(crate) definitions: Vec<String>,
    /// The folder of the record
    #[arg(long, value_name = "FOLDER")]
    pub(crate) record: PathBuf,
    /// Where the coefficients go
    #[arg(long, value_name = "FILE", default_value = "crates/vesica/src/cost/fitted.rs")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) folders: BenchFolders,
}

#[derive(Args)]
pub(crate) struct BenchOnce {
    /// Protocol by name
    #[arg(long, value_name = "NAME")]
    pub(crate) protocol: String,
    /// Items of the receiver: a number, or 2^N
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) receiver: usize,
    /// Items of the sender: a number, or 2^N
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) sender: usize,
    /// Against malicious parties
    #[arg(long)]
    pub(crate) malicious: bool,
    /// Computational security in bits
    #[arg(long, value_name = "BITS", default_value_t = DEFAULT_LEVEL)]
    pub(crate) level: u32,
    /// Native items of W bits
    #[arg(long, value_name = "W", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) sigma: Option<u32>,
    /// A form of the protocol beside its standard one
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
    /// What its parameters rest on
    #[arg(long, value_name = "NAME", default_value = "conservative")]
    pub(crate) profile: String,
    /// The paper's own parameters
    #[arg(long)]
    pub(crate) paper_parameters: bool,
    /// The sender learns the matches too
    #[arg(long)]
    pub(crate) both: bool,
    /// Threads of each party
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) threads: usize,
    /// A network of networks.toml
    #[arg(long, value_name = "NAME", default_value = "loopback")]
    pub(crate) network: String,
    /// TLS between the parties
    #[arg(long)]
    pub(crate) tls: bool,
    /// Base OTs kept from an earlier run
    #[arg(long)]
    pub(crate) kept_base_ots: bool,
    /// How many runs
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) runs: usize,
    #[command(flatten)]
    pub(crate) folders: BenchFolders,
}

#[derive(Args)]
pub(crate) struct BenchParty {
    #[arg(long, value_parser = ["receiver", "sender"])]
    pub(crate) role: String,
    #[arg(long)]
    pub(crate) cell: String,
    #[arg(long)]
    pub(crate) link: String,
    #[arg(long)]
    pub(crate) listen: Option<String>,
    #[arg(long)]
    pub(crate) connect: Option<String>,
    #[arg(long)]
    pub(crate) identity: Option<PathBuf>,
    #[arg(long)]
    pub(crate) peer: Option<String>,
}

/// A number of seconds, minutes or hours.
fn time(text: &str) -> Result<Duration, String> {
    let units = [("s", 1.0), ("m", 60.0), ("h", 3600.0), ("", 1.0)];
    let number = units.into_iter().find_map(|(unit, seconds)| {
        let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
        (0.0..1e9).contains(&number).then(|| Duration::from_secs_f64(number * seconds))
    });
    number.ok_or_else(|| "write a time as 90s, 12m or 2h".to_owned())
}

/// A number, or a power of two.
fn count(text: &str) -> Result<usize, String> {
    let number = match text.strip_prefix("2^") {
        Some(exponent) => exponent.parse().ok().and_then(|exponent| 1usize.checked_shl(exponent)),
        None => text.parse().ok(),
    };
    number.filter(|&number| number <= 1 << 30).ok_or_else(|| "write a number, or 2^N, up to 2^30".to_owned())
}

#[derive(Args)]
pub(crate) struct TableOptions {
    /// My table: CSV with a header (gzip or zstd too), Parquet or Arrow IPC; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) input: PathBuf,
    /// Key column, COLUMN[:RULE]; rules are raw, text, email, email-uid2, email-meta, phone, phone:CC, ip, date, int, sha256; repeat for a composite key
    #[arg(long, value_name = "SPEC", required = true)]
    pub(crate) key: Vec<KeySpec>,
}

#[derive(Args)]
pub(crate) struct PartnerOptions {
    /// Wait for the partner at this address, as HOST:PORT, or as :PORT at all of this machine
    #[arg(long, value_name = "ADDR", required_unless_present = "connect", conflicts_with = "connect")]
    pub(crate) listen: Option<String>,
    /// Go to the partner at this address, as HOST:PORT
    #[arg(long, value_name = "ADDR")]
    pub(crate) connect: Option<String>,
    /// My identity, made by `vesica keygen` [default: vesica/identity.pem in the configuration folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) identity: Option<PathBuf>,
    /// The partner's public key, vesica-pub1-…, or @FILE that holds it
    #[arg(long, value_name = "PUBKEY", required_unless_present = "insecure_plaintext")]
    pub(crate) peer: Option<String>,
    /// Keep base OTs with this partner in FILE, and take those that are there: later runs start at once (kkrt, ot-phasing, ot-psi, gbf, gbf-random; --security semi-honest)
    #[arg(long, value_name = "FILE", conflicts_with = "insecure_plaintext")]
    pub(crate) keep_base_ots: Option<PathBuf>,
    /// No TLS, and no knowing who is there; on loopback addresses only
    #[arg(long, conflicts_with_all = ["peer", "identity"])]
    pub(crate) insecure_plaintext: bool,
}

/// What both parties have to ask for alike.
#[derive(Args, Clone)]
pub(crate) struct Agreed {
    /// Protocol by name (see `vesica protocols`), or auto
    #[arg(long, value_name = "NAME", default_value = "auto")]
    protocol: String,
    /// What the protocol must withstand: a partner that does anything, or one that follows the protocol and looks
    #[arg(long, value_enum, default_value = "malicious")]
    security: SecurityArg,
    /// Who learns the matching rows
    #[arg(long, value_enum, default_value = "receiver")]
    learns: LearnsArg,
    /// What the result is; rows is all this version has
    #[arg(long, value_enum, default_value = "rows")]
    result: ResultArg,
    /// What the protocol's parameters rest on: published bounds, arguments of ours (fast), estimates (lean)
    #[arg(long, value_enum, default_value = "conservative")]
    profile: ProfileArg,
    /// Computational security in bits: 80, 128, 192 or 256, where the protocol offers them
    #[arg(long, value_name = "BITS", default_value_t = DEFAULT_LEVEL)]
    level: u32,
    /// Keys are integers below 2^W and used as they are; one key of rule int or ip, where the protocol offers it
    #[arg(long, value_name = "W", value_parser = clap::value_parser!(u32).range(1..=64))]
    sigma: Option<u32>,
    /// A form of the named protocol beside its standard one, for comparison (see `vesica protocols`)
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// The paper's own parameters, for comparison with its tables; needs --allow-insecure
    #[arg(long)]
    paper_parameters: bool,
}

#[derive(Args, Clone)]
pub(crate) struct Common {
    #[command(flatten)]
    agreed: Agreed,
    /// Threads to keep busy [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// How long to wait for the partner, and how long it may be silent: 90s, 5m, 2h
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    timeout: Duration,
    /// Rows of mine with the same key: all that match come out, or the first, or it is an error
    #[arg(long, value_enum, default_value = "all")]
    on_duplicates: DuplicatesArg,
    /// Rows of mine without a key
    #[arg(long, value_enum, default_value = "skip")]
    on_null: FaultArg,
    /// Rows of mine whose key breaks its rule
    #[arg(long, value_enum, default_value = "error")]
    on_invalid: FaultArg,
    /// Hide my exact size: pad up to a power of two (pow2) or to N keys
    #[arg(long, value_name = "pow2|N", value_parser = PadTo::from_str)]
    pad_to: Option<PadTo>,
    /// Refuse a partner with fewer keys, padding counted; not above --max-peer-rows
    #[arg(long, value_name = "N", default_value_t = 0)]
    min_peer_rows: u64,
    /// Refuse a partner with more keys, padding counted
    #[arg(long, value_name = "N", default_value_t = 1 << 30)]
    max_peer_rows: u64,
    /// Write a report of the run, as JSON, also when it fails; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Write what happens as it happens, a JSON object a line; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Show nothing but errors
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Allow protocols that `vesica protocols` marks insecure or broken
    #[arg(long)]
    allow_insecure: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum SecurityArg {
    Malicious,
    SemiHonest,
}

#[derive(Clone, Copy, ValueEnum)]
enum ResultArg {
    Rows,
}

#[derive(Clone, Copy, ValueEnum)]
enum ProfileArg {
    Conservative,
    Fast,
    Lean,
}

#[derive(Clone, Copy, ValueEnum)]
enum LearnsArg {
    Receiver,
    Both,
}

#[derive(Clone, Copy, ValueEnum)]
enum DuplicatesArg {
    All,
    First,
    Error,
}

#[derive(Clone, Copy, ValueEnum)]
enum FaultArg {
    Skip,
    Error,
}

impl From<FaultArg> for OnFault {
    fn from(arg: FaultArg) -> Self {
        match arg {
            FaultArg::Skip => OnFault::Skip,
            FaultArg::Error => OnFault::Error,
        }
    }
}

impl Agreed {
    /// The settings of a run with nothing local chosen.
    pub(crate) fn settings(&self) -> Settings {
        // The only value there is; it is a term already.
        let ResultArg::Rows = self.result;
        Settings {
            protocol: match self.protocol.as_str() {
                "auto" => Choice::Auto,
                name => Choice::Named(name.to_owned()),
            },
            security: match self.security {
                SecurityArg::Malicious => Security::Malicious,
                SecurityArg::SemiHonest => Security::SemiHonest,
            },
            level: self.level,
            sigma: self.sigma,
            variant: self.variant.clone(),
            profile: match self.profile {
                ProfileArg::Conservative => Profile::Conservative,
                ProfileArg::Fast => Profile::Fast,
                ProfileArg::Lean => Profile::Lean,
            },
            paper_parameters: self.paper_parameters,
            learns: match self.learns {
                LearnsArg::Receiver => Learns::Receiver,
                LearnsArg::Both => Learns::Both,
            },
            ..Settings::default()
        }
    }
}

impl Common {
    /// The settings of a run.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            limits: Limits { min_peer_rows: self.min_peer_rows, max_peer_rows: self.max_peer_rows },
            threads: self.threads.map_or(0, usize::from),
            timeout: self.timeout,
            on_duplicates: match self.on_duplicates {
                DuplicatesArg::All => OnDuplicates::All,
                DuplicatesArg::First => OnDuplicates::First,
                DuplicatesArg::Error => OnDuplicates::Error,
            },
            on_null: self.on_null.into(),
            on_invalid: self.on_invalid.into(),
            pad_to: self.pad_to,
            allow_insecure: self.allow_insecure,
            ..self.agreed.settings()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_is_well_formed() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn counts_are_read() {
        assert_eq!((count("2^20"), count("1000"), count("2^0")), (Ok(1 << 20), Ok(1000), Ok(1)));
        assert!(count("2^31").is_err() && count("2^99").is_err() && count("").is_err());
    }
}
