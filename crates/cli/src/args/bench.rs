//! The arguments of `vesica bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use vesica::registry::{self, Security};
use vesica::settings::{Settings, Word};
use vesica_bench::cell::Cell;

use super::common::set_size;
use super::options::{Chosen, Compare};

#[derive(Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    pub(crate) command: BenchCommand,
}

#[derive(Subcommand)]
pub(crate) enum BenchCommand {
    /// Run the cells of definitions that the record does not hold yet
    Run(BenchRun),
    /// Write the pages of a record
    Report(BenchReport),
    /// Run one protocol on two sets of given sizes, and print the figures
    Once(Box<BenchOnce>),
    /// Add what `make bench-blocks` measured to a record
    Blocks(BenchBlocks),
    /// One party of a run
    #[command(hide = true)]
    Party(BenchParty),
    /// Claims memory before the clock of a run starts
    #[command(hide = true)]
    ClaimMemory(BenchClaim),
}

#[derive(Args)]
pub(crate) struct BenchFolders {
    /// The folder with definitions and networks.toml
    #[arg(long, value_name = "FOLDER", default_value = "benchmarks")]
    pub(crate) benchmarks: PathBuf,
    /// Measure a debug build anyway
    #[arg(long)]
    pub(crate) allow_debug: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Extent {
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
    /// Only the cells of this protocol; may be given several times. No pages are written
    #[arg(long, value_name = "NAME")]
    pub(crate) protocol: Vec<String>,
    /// How much of them to run
    #[arg(long, value_enum, default_value = "quick")]
    pub(crate) profile: Extent,
    /// Runs of each cell [default: 1 quick, 3 full]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: Option<u32>,
    /// Time for everything: 90s, 12m, 2h; what does not fit is left out [default: 12m quick, none full]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) budget: Option<Duration>,
    /// Time that one run may take, judged by a smaller run of its kind [default: 10s quick, 60s full]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) run_budget: Option<Duration>,
    /// Only show what would be run
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The folder of this machine's record [default: a new one of today in benchmarks/record]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) record: Option<PathBuf>,
    /// The page of results to write, with --all
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
    /// The folder of another machine's record, whose figures stand beside with its name; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) beside: Vec<PathBuf>,
    /// The page of results, made if it is not there; the tables, a page for each paper, go into a folder of its name beside it
    #[arg(long, value_name = "FILE", default_value = "docs/benchmarks.md")]
    pub(crate) page: PathBuf,
    #[command(flatten)]
    pub(crate) folders: BenchFolders,
}

#[derive(Args)]
pub(crate) struct BenchBlocks {
    /// The folder that criterion filled
    #[arg(long, value_name = "FOLDER", default_value = "target/blocks/criterion")]
    pub(crate) criterion: PathBuf,
    /// The folder of the record
    #[arg(long, value_name = "FOLDER")]
    pub(crate) record: PathBuf,
}

#[derive(Args)]
pub(crate) struct BenchOnce {
    /// Protocol by name
    #[arg(long, value_name = "NAME")]
    protocol: String,
    /// Items of the receiver: a number, or 2^N
    #[arg(long, value_name = "N", value_parser = set_size)]
    receiver: usize,
    /// Items of the sender: a number, or 2^N
    #[arg(long, value_name = "N", value_parser = set_size)]
    sender: usize,
    /// Protect against a partner that cheats (malicious), or only against a curious one (semi-honest) [default: malicious if the protocol offers it]
    #[arg(long, value_parser = Security::of)]
    security: Option<Security>,
    #[command(flatten)]
    agreed: Chosen<Compare>,
    /// Threads of each party
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// A network of networks.toml
    #[arg(long, value_name = "NAME", default_value = "loopback")]
    network: String,
    /// TLS between the parties
    #[arg(long)]
    tls: bool,
    /// Use base OTs of an earlier run, which is not measured
    #[arg(long)]
    kept_base_ots: bool,
    /// How many runs
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) runs: usize,
    #[command(flatten)]
    pub(crate) folders: BenchFolders,
}

impl BenchOnce {
    /// What is to be measured.
    pub(crate) fn cell(&self) -> Cell {
        let Settings { level, profile, paper_parameters, audit_max, learns, .. } = self.agreed.settings;
        let Settings { sigma, variant, result, .. } = self.agreed.settings.clone();
        Cell {
            security: self.security.unwrap_or_else(|| strongest(&self.protocol)),
            level,
            sigma,
            variant,
            profile,
            paper_parameters,
            audit_max,
            result: result.into(),
            learns,
            threads: self.threads,
            network: self.network.clone(),
            tls: self.tls,
            kept_base_ots: self.kept_base_ots,
            ..Cell::new(&self.protocol, self.receiver, self.sender)
        }
    }
}

/// The strongest security that the protocol offers.
fn strongest(protocol: &str) -> Security {
    let offered = registry::find(protocol).map_or(&[][..], |entry| entry.security);
    if offered.contains(&Security::Malicious) { Security::Malicious } else { Security::SemiHonest }
}

#[derive(Args)]
pub(crate) struct BenchParty {
    #[arg(long, value_parser = ["receiver", "sender", "helper"])]
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
    pub(crate) peer: Vec<String>,
    #[arg(long)]
    pub(crate) helper: Option<String>,
    #[arg(long)]
    pub(crate) helper_key: Option<String>,
}

#[derive(Args)]
pub(crate) struct BenchClaim {
    #[arg(long)]
    pub(crate) bytes: u64,
}

/// A number of seconds, minutes or hours.
fn time(text: &str) -> Result<Duration, String> {
    let units = [("s", 1.0), ("m", 60.0), ("h", 3600.0), ("", 1.0)];
    let number = units.into_iter().find_map(|(unit, seconds)| {
        let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
        (0.0..1e9).contains(&number).then(|| Duration::from_secs_f64(number * seconds))
    });
    number.ok_or_else(|| "write a time such as 90s, 12m or 2h".to_owned())
}
