//! Every argument of every command, once: the parser, the help and the checks that need no file.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand};
use vesica::settings::size;
use vesica::table::{KeySpec, MatchRule, MatchRules, PairRule, PairSpec};

mod bench;
mod common;
mod kept;
mod options;
mod plan;
mod text;

pub(crate) use bench::{Bench, BenchCommand, BenchOnce, BenchParty};
pub(crate) use common::{Common, Records};
pub(crate) use kept::{Lookup, Publish, Serve};
pub(crate) use options::GET_EXHIBITS;
use options::{Chosen, Help, InOneProgram, names};
pub(crate) use plan::Plan;
pub(crate) use text::{TextOptions, TextPair};

/// The exit code of wrong usage, as in sysexits.
pub(crate) const USAGE: u8 = 64;

/// Examples below the options.
const RECEIVE: &str = "Example:
  vesica receive --input ours.csv --key Email:email --output matched.csv --listen :7400 --peer @partner.pub

The partner runs `vesica send` with --connect, or the other way round; see also `vesica inspect` and `vesica plan`.";
const SEND: &str = "Example:
  vesica send --input ours.csv --key mail:email --connect partner.example:7400 --peer vesica-pub1-…

The partner runs `vesica receive`.";
const RELAY: &str = "Example:
  vesica relay --listen :7401 --allow @allowed-keys

Two parties of whom neither can listen run `vesica receive` and `vesica send` with --via HOST:7401 and --via-key, \
this relay's public key. It cannot read what goes through it. INT or TERM lets the pairs under way end; a second \
one cuts them.";
const LOCAL: &str = "Example:
  vesica local --receiver ours.csv --sender theirs.csv --key Email=mail:email --output matched.csv";
const ASSIST: &str = "Example:
  vesica assist --listen :7500 --peer @one.pub --peer @two.pub

The two parties run `vesica receive` and `vesica send` with --protocol server-aided --security semi-honest, \
--helper HOST:7500 and --helper-key, this helper's public key. It helps them once.";
const INSPECT: &str = "Example:
  vesica inspect --input ours.csv --key Email:email";
const VERIFY: &str = "Example:
  vesica verify receipt.json --peer @one.pub --peer @two.pub

It needs no partner and no network. It ends with 0 if the receipt holds, with 65 if the file is none, with 76 if a \
signature does not hold or the report is of another run, and with 77 if somebody else than these keys took part.";

/// Private set intersection: find the rows two tables share, and show neither side anything else.
#[derive(Parser)]
#[command(
    name = "vesica",
    version,
    disable_version_flag = true,
    override_usage = "vesica <COMMAND>",
    max_term_width = 110,
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true
)]
pub(crate) struct Cli {
    /// Print the version
    #[arg(id = "version", short = 'V', long = "version")]
    _version: bool,
    /// With --version: also the features of this build, the instructions of this processor, and what each kernel uses
    #[arg(long, requires = "version")]
    pub(crate) verbose: bool,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Try it: two sample tables, two processes, TLS on loopback, the matched rows on the screen
    Quickstart(Quickstart),
    /// Make a new identity and print its public key, which the partner needs
    Keygen(Keygen),
    /// Print the public key of my identity, alone on standard output
    Pubkey(Pubkey),
    /// Look at a table: its columns, its rows, and its keys, masked
    Inspect(Inspect),
    /// Tell why the keys of two tables would not match, from a profile of each
    Compare(Compare),
    /// Find the rows of my table whose keys are in the partner's table
    Receive(Box<Receive>),
    /// Let the partner find the rows of its table whose keys are in mine
    Send(Box<Send>),
    /// Be the helper of two parties (--protocol server-aided): compare their lists of keyed hashes, once
    Assist(Box<Assist>),
    /// Pass bytes between parties that cannot listen, and read nothing
    Relay(Relay),
    /// Show what a ledger has of my runs: with whom, about which sets, how often, and what the budgets leave
    Ledger(Ledger),
    /// Run the real protocol between two tables on this machine
    Local(Box<Local>),
    /// Publish a set that others look keys up in: once, then each night what has changed
    Publish(Box<Publish>),
    /// Answer look-ups in a published set, within budgets
    Serve(Box<Serve>),
    /// Find the rows of my table whose keys are in a published set
    Lookup(Box<Lookup>),
    /// Check a receipt of a run: whether both sides have signed it, and what it proves
    Verify(Verify),
    /// List the protocols: paper, security, who learns what, bytes
    Protocols(Protocols),
    /// Show what a run would take: protocol, traffic, memory and time, and the alternatives
    Plan(Box<Plan>),
    /// Measure a protocol; benchmarks/run.py in the sources reproduces the papers' tables
    Bench(Bench),
    /// Print completions for a shell
    Completions(Completions),
    /// Print the manual pages, or one command's, for `man -l -`
    Man(Man),
}

#[derive(Args)]
pub(crate) struct Quickstart {
    /// Leave the tables, the identities and the matched rows in this new folder, to go on with
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Keygen {
    /// The file for the new identity [default: vesica/identity.pem in $XDG_CONFIG_HOME or ~/.config]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Pubkey {
    /// My identity, made by `vesica keygen`; `-` is standard input [default: vesica/identity.pem in $XDG_CONFIG_HOME or ~/.config]
    #[arg(long, value_name = "FILE")]
    pub(crate) identity: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = INSPECT)]
pub(crate) struct Inspect {
    /// The table: CSV (gzip or zstd too), Parquet or Arrow IPC, a folder or pattern of such files, an address of them (s3://, gs://, az://, https://), or `-` for standard input
    #[arg(long, value_name = "FILE", required_unless_present = "file")]
    input: Option<PathBuf>,
    /// The same as --input
    #[arg(value_name = "FILE", conflicts_with = "input")]
    file: Option<PathBuf>,
    /// Key column, COLUMN[:RULE]; repeat for a composite key
    #[arg(long, value_name = "SPEC")]
    key: Vec<KeySpec>,
    /// A rule to match by, COLUMN[:RULE], or COLUMN[:RULE] + COLUMN[:RULE] for a key of several columns; repeat for several keys, in their order
    #[arg(long = "match", value_name = "RULE", conflicts_with = "key")]
    rules: Vec<MatchRule>,
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
    /// Write it to a new FILE in place of the screen: a page for a person if the name ends in .html, otherwise JSON
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(crate) output: Option<PathBuf>,
    /// Write what the keys look like to a new FILE that the partner may have, for `vesica compare`: shares of forms, letters and lengths, and no value
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) text: TextOptions,
}

#[derive(Args)]
pub(crate) struct Compare {
    /// The profile of my keys, which `vesica inspect --profile` wrote
    #[arg(value_name = "MINE")]
    pub(crate) mine: PathBuf,
    /// The profile of the partner's keys
    #[arg(value_name = "THEIRS")]
    pub(crate) theirs: PathBuf,
}

#[derive(Args)]
#[command(after_help = VERIFY)]
pub(crate) struct Verify {
    /// The receipt that --receipt wrote; or a report that has one, as JSON or as a page
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The public key of one side, vesica-pub1-…, or @FILE with a file that holds it: the run has to be with its holder; give both sides' to name both
    #[arg(long, value_name = "PUBKEY")]
    pub(crate) peer: Vec<String>,
    /// The report of the same run, which the receipt has to fit
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Print the receipt as JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

impl Inspect {
    /// The table.
    pub(crate) fn input(&self) -> PathBuf {
        self.input.clone().or_else(|| self.file.clone()).unwrap_or_default()
    }

    /// What makes the keys, if there are any.
    pub(crate) fn keys(&self) -> Option<MatchRules> {
        let any = !self.key.is_empty() || !self.rules.is_empty();
        any.then(|| keys(&self.key, &self.rules))
    }
}

/// What makes the keys: the columns of one, or rules for several.
fn keys(key: &[KeySpec], rules: &[MatchRule]) -> MatchRules {
    if rules.is_empty() { key.to_vec().into() } else { rules.to_vec().into() }
}

#[derive(Args)]
#[command(after_help = RECEIVE, next_help_heading = "My table", override_usage = "vesica receive --input <FILE> --key <SPEC> --output <FILE> <--listen <ADDR>|--connect <ADDR>|--via <ADDR>> --peer <PUBKEY> [OPTIONS]")]
pub(crate) struct Receive {
    #[command(flatten)]
    pub(crate) table: TableOptions,
    /// The file, or s3://, gs:// or az:// address, for the matching rows, in my table's format, or for another result, which needs no file, in the format of the name's ending; CSV is compressed if the name ends in .gz or .zst; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "My table")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) partner: PartnerOptions,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Args)]
#[command(after_help = SEND, next_help_heading = "My table", override_usage = "vesica send --input <FILE> --key <SPEC> <--listen <ADDR>|--connect <ADDR>|--via <ADDR>> --peer <PUBKEY> [OPTIONS]")]
pub(crate) struct Send {
    #[command(flatten)]
    pub(crate) table: TableOptions,
    /// The file or address for my matching rows or for another result, if I learn it (--learns both, --at-least); `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "My table")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) partner: PartnerOptions,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Args)]
#[command(after_help = ASSIST, next_help_heading = "The two parties", override_usage = "vesica assist --listen <ADDR> --peer <PUBKEY> --peer <PUBKEY> [OPTIONS]")]
pub(crate) struct Assist {
    /// Wait for the parties at this address: HOST:PORT, or :PORT for all IPv4 addresses of this machine ([::]:PORT for IPv6)
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: String,
    /// My identity, made by `vesica keygen`; `-` is standard input [default: vesica/identity.pem in $XDG_CONFIG_HOME or ~/.config]
    #[arg(long, value_name = "FILE")]
    pub(crate) identity: Option<PathBuf>,
    /// A party's public key, vesica-pub1-…, or @FILE with a file that holds it; give both parties'
    #[arg(long, value_name = "PUBKEY", required = true)]
    pub(crate) peer: Vec<String>,
    #[command(flatten)]
    pub(crate) options: Chosen<Help>,
    #[command(flatten)]
    pub(crate) records: Records,
}

#[derive(Args)]
pub(crate) struct Ledger {
    /// The ledger, which `vesica receive` and `send` write with --ledger
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Fail unless a line of it has this digest, which was that of the last line at some time: what was noted elsewhere shows whether lines were cut off since
    #[arg(long, value_name = "DIGEST")]
    pub(crate) expect: Option<String>,
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = RELAY)]
pub(crate) struct Relay {
    /// Wait for the parties at this address: HOST:PORT, or :PORT for all IPv4 addresses of this machine ([::]:PORT for IPv6)
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: String,
    /// This relay's identity, made by `vesica keygen`; `-` is standard input [default: vesica/identity.pem in $XDG_CONFIG_HOME or ~/.config]
    #[arg(long, value_name = "FILE")]
    pub(crate) identity: Option<PathBuf>,
    /// Serve the party with this public key, vesica-pub1-…, or those in @FILE, one a line; repeat for more
    #[arg(long, value_name = "PUBKEY", required = true)]
    pub(crate) allow: Vec<String>,
    /// Bytes a second that each party may send, such as 100M [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) rate: Option<u64>,
    /// Connections at once; a pair has two
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = streams)]
    pub(crate) max_streams: usize,
    /// Write each event as it happens, one JSON object a line; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Show nothing but errors
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// How many connections a relay may have.
fn streams(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (2..=1_000_000).contains(number));
    number.ok_or_else(|| "write a number from 2 to 1000000".to_owned())
}

#[derive(Args)]
#[command(after_help = LOCAL, next_help_heading = "The tables")]
pub(crate) struct Local {
    /// The receiver's table, or its address; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) receiver: PathBuf,
    /// The sender's table, or its address; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) sender: PathBuf,
    /// Key column, COLUMN[:RULE], or MINE=THEIRS[:RULE] where the names differ; repeat for a composite key
    #[arg(long, value_name = "SPEC", required_unless_present = "rules")]
    key: Vec<PairSpec>,
    /// A rule to match by, COLUMN[:RULE] or MINE=THEIRS[:RULE], with ` + ` between the columns of one key; repeat for several keys, in their order. A row matches by the first rule that hits, and column matched_by says by which. `~` behind a rule adds variants: date~1, email~google, name~swap
    #[arg(long = "match", value_name = "RULE", conflicts_with = "key")]
    rules: Vec<PairRule>,
    /// The file or address for the receiver's matching rows, or for another result, which needs no file; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) text: TextPair,
    #[command(flatten)]
    pub(crate) common: Common<InOneProgram>,
}

impl Local {
    /// What makes the keys of the receiver's table.
    pub(crate) fn mine(&self) -> MatchRules {
        let key: Vec<KeySpec> = self.key.iter().map(PairSpec::mine).collect();
        keys(&key, &self.rules.iter().map(PairRule::mine).collect::<Vec<_>>())
    }

    /// What makes those of the sender's.
    pub(crate) fn theirs(&self) -> MatchRules {
        let key: Vec<KeySpec> = self.key.iter().map(PairSpec::theirs).collect();
        keys(&key, &self.rules.iter().map(PairRule::theirs).collect::<Vec<_>>())
    }
}

#[derive(Args)]
pub(crate) struct Protocols {
    /// Only this protocol; all of them if none is given
    #[arg(value_name = "NAME", value_parser = names(), hide_possible_values = true)]
    pub(crate) name: Option<String>,
    /// Print JSON, for programs
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Print the table of docs/protocols/README.md
    #[arg(long, hide = true, conflicts_with = "name")]
    pub(crate) markdown: bool,
}

#[derive(Args)]
pub(crate) struct Man {
    /// A command, such as receive or bench once; all of them if none is given
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args)]
#[command(next_help_heading = "My table")]
pub(crate) struct TableOptions {
    /// My table: CSV with a header (gzip or zstd too), Parquet or Arrow IPC, a folder or pattern of such files, an address of them (s3://, gs://, az://, https://), or `-` for standard input
    #[arg(long, value_name = "FILE", required_unless_present = "file")]
    input: Option<PathBuf>,
    /// The same as --input
    #[arg(value_name = "FILE", conflicts_with = "input")]
    file: Option<PathBuf>,
    /// Key column, COLUMN[:RULE]; rules are raw, text, email, email-uid2, email-meta, email-google, phone, phone:CC, name, postcode, ip, date, date:DMY, int, uuid, sha256; repeat for a composite key
    #[arg(long, value_name = "SPEC", required_unless_present = "rules")]
    key: Vec<KeySpec>,
    /// A rule to match by, COLUMN[:RULE], or COLUMN[:RULE] + COLUMN[:RULE] for a key of several columns; repeat for several keys, in the order that both sides agree on. A row matches by the first rule that hits, and column matched_by says by which. `~` behind a rule adds variants: date~1, email~google, name~swap
    #[arg(long = "match", value_name = "RULE", conflicts_with = "key")]
    rules: Vec<MatchRule>,
    #[command(flatten)]
    pub(crate) text: TextOptions,
}

impl TableOptions {
    /// My table, named in either way.
    pub(crate) fn input(&self) -> Option<PathBuf> {
        self.input.clone().or_else(|| self.file.clone())
    }

    /// What makes the keys.
    pub(crate) fn keys(&self) -> MatchRules {
        keys(&self.key, &self.rules)
    }
}

#[derive(Args)]
#[command(next_help_heading = "The partner", group = ArgGroup::new("address").args(["listen", "connect", "via", "post"]).required(true))]
pub(crate) struct PartnerOptions {
    /// Wait for the partner at this address: HOST:PORT, or :PORT for all IPv4 addresses of this machine ([::]:PORT for IPv6)
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// Connect to the partner at this address: HOST:PORT
    #[arg(long, value_name = "ADDR")]
    pub(crate) connect: Option<String>,
    /// Meet the partner at this relay, HOST:PORT, where somebody runs `vesica relay`; both sides give the same. Give several to share out the parts of a run among them
    #[arg(long, value_name = "ADDR", requires = "via_key", conflicts_with = "insecure_plaintext")]
    pub(crate) via: Vec<String>,
    /// The relay's public key, vesica-pub1-…, or @FILE with a file that holds it; once for each --via, in their order
    #[arg(long, value_name = "PUBKEY", requires = "via")]
    pub(crate) via_key: Vec<String>,
    /// Leave files for the partner in this folder, or s3://, gs:// or az:// address, in place of a connection: the two are never online together. With --protocol dh --security semi-honest; the same command goes on once the partner has done its part (exit code 75 until then)
    #[arg(long, value_name = "DIR", conflicts_with_all = ["insecure_plaintext", "run_file", "write_run_file", "keep_base_ots", "helper"])]
    pub(crate) post: Option<PathBuf>,
    /// A name for the run, the same on both sides, where several with this partner meet at the relay, or lie in the post-box, at the same time
    #[arg(long, value_name = "NAME")]
    pub(crate) run: Option<String>,
    /// My identity, made by `vesica keygen`; `-` is standard input [default: vesica/identity.pem in $XDG_CONFIG_HOME or ~/.config]
    #[arg(long, value_name = "FILE")]
    pub(crate) identity: Option<PathBuf>,
    /// The partner's public key, vesica-pub1-…, or @FILE with a file that holds it
    #[arg(long, value_name = "PUBKEY", required_unless_present = "insecure_plaintext")]
    pub(crate) peer: Option<String>,
    /// Take the agreed options, the address and the keys from FILE, which the partner wrote with --write-run-file; beside it give my table, and --key COLUMN for each of its keys
    #[arg(long, value_name = "FILE")]
    pub(crate) run_file: Option<PathBuf>,
    /// Write a new FILE for the partner, with all agreed options, the address and both public keys; nothing in it is secret
    #[arg(long, value_name = "FILE", conflicts_with = "run_file")]
    pub(crate) write_run_file: Option<PathBuf>,
    /// Keep base OTs with this partner in FILE, and use those in it: later runs start faster (kkrt, ot-phasing, ot-psi, gbf, gbf-random and those over circuits, but not circuit-vole; --security semi-honest)
    #[arg(long, value_name = "FILE", conflicts_with = "insecure_plaintext")]
    pub(crate) keep_base_ots: Option<PathBuf>,
    /// Write this run into FILE, a ledger of my runs, before anything of my table leaves, and refuse it if my budgets over all runs in it are spent (--max-counts, --max-questions, --max-epsilon); it is made if it is not there. See `vesica ledger`
    #[arg(long, value_name = "FILE", conflicts_with = "insecure_plaintext")]
    pub(crate) ledger: Option<PathBuf>,
    /// The helper's address, HOST:PORT, where a third party runs `vesica assist`; with --protocol server-aided
    #[arg(long, value_name = "ADDR", requires = "helper_key")]
    pub(crate) helper: Option<String>,
    /// The helper's public key, vesica-pub1-…, or @FILE with a file that holds it
    #[arg(long, value_name = "PUBKEY", requires = "helper")]
    pub(crate) helper_key: Option<String>,
    /// Write the receipt that both sides sign at the end of the run, for `vesica verify`: to a new file, or to a folder, where it gets a name of its own; `-` is standard output
    #[arg(long, value_name = "FILE|DIR", conflicts_with_all = ["insecure_plaintext", "post"])]
    pub(crate) receipt: Option<PathBuf>,
    /// No TLS and no keys, so the partner may be anybody; on loopback addresses only
    #[arg(long, conflicts_with_all = ["peer", "identity", "helper"])]
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
