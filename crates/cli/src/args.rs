//! Every argument of every command, once: the parser, the help and the checks that need no file.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use vesica::table::{KeySpec, PairSpec};

mod bench;
mod common;
mod plan;

pub(crate) use bench::{
    Bench, BenchBlocks, BenchCommand, BenchFit, BenchFolders, BenchOnce, BenchParty, BenchReport, BenchRun,
    Extent,
};
pub(crate) use common::Common;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_is_well_formed() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
