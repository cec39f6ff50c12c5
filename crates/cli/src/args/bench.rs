//! The arguments of `vesica bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use vesica::registry::{self, Security};
use vesica::settings::{Settings, duration};
use vesica_bench::cell::Cell;

use super::common::set_size;
use super::options::{Chosen, Compare, GROUP, words};

#[derive(Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    pub(crate) command: BenchCommand,
}

#[derive(Subcommand)]
pub(crate) enum BenchCommand {
    /// Run one protocol on two sets of given sizes, and print the figures
    Once(Box<BenchOnce>),
    /// What the cells of definitions are and cost, for benchmarks/run.py
    #[command(hide = true)]
    Describe,
    /// One party of a run
    #[command(hide = true)]
    Party(Box<BenchParty>),
    /// Claims memory before the clock of a run starts
    #[command(hide = true)]
    ClaimMemory(BenchClaim),
}

/// What `--cell` says in place of these options.
const MEASURED: [&str; 9] =
    ["protocol", "receiver", "sender", "security", GROUP, "threads", "network", "tls", "kept_base_ots"];

#[derive(Args)]
pub(crate) struct BenchOnce {
    /// Protocol by name
    #[arg(long, value_name = "NAME", required_unless_present = "cell")]
    protocol: Option<String>,
    /// Items of the receiver: a number, or 2^N
    #[arg(long, value_name = "N", value_parser = set_size, required_unless_present = "cell")]
    receiver: Option<usize>,
    /// Items of the sender: a number, or 2^N
    #[arg(long, value_name = "N", value_parser = set_size, required_unless_present = "cell")]
    sender: Option<usize>,
    /// All that is to be measured as JSON, in the words of the definitions of benchmarks/, in place of the options for it
    #[arg(long, value_name = "JSON", value_parser = cell, conflicts_with_all = MEASURED)]
    cell: Option<Cell>,
    /// Protect against a partner that cheats (malicious), or only against a curious one (semi-honest) [default: malicious if the protocol offers it]
    #[arg(long, value_parser = words::<Security>())]
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
    /// Print what each party took as JSON, a line for each run
    #[arg(long)]
    pub(crate) json: bool,
    /// Stop a run that takes longer: 90s, 12m, 2h
    #[arg(long, value_name = "TIME", default_value = "6h", value_parser = duration)]
    pub(crate) time_limit: Duration,
    /// The folder with networks.toml
    #[arg(long, value_name = "FOLDER", default_value = "benchmarks")]
    pub(crate) benchmarks: PathBuf,
    /// Measure a debug build anyway
    #[arg(long)]
    pub(crate) allow_debug: bool,
}

impl BenchOnce {
    /// What is to be measured.
    pub(crate) fn cell(&self) -> Cell {
        if let Some(cell) = &self.cell {
            return cell.clone();
        }
        let Settings { level, profile, base_ots, paper_parameters, audit_max, learns, .. } =
            self.agreed.settings;
        let Settings { sigma, variant, result, .. } = self.agreed.settings.clone();
        // Without a cell the parser asks for these.
        let protocol = self.protocol.as_deref().unwrap_or_default();
        let (receiver, sender) = (self.receiver.unwrap_or_default(), self.sender.unwrap_or_default());
        Cell {
            security: self.security.unwrap_or_else(|| strongest(protocol)),
            level,
            sigma,
            variant,
            profile,
            base_ots,
            paper_parameters,
            audit_max,
            result: result.into(),
            learns,
            threads: self.threads,
            network: self.network.clone(),
            tls: self.tls,
            kept_base_ots: self.kept_base_ots,
            ..Cell::new(protocol, receiver, sender)
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

/// A cell as records name it.
fn cell(json: &str) -> Result<Cell, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}
