//! The arguments of kept sets: `publish`, `serve`, `lookup`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use vesica::job::kept::{lookup, publish, serve};
use vesica::options::RunOption;
use vesica::settings::Settings;
use vesica::table::{KeySpec, MatchRule, MatchRules};

use super::options::{Chosen, Takes};
use super::{Records, TextOptions, keys};

const PUBLISH: &str = "Examples:
  vesica publish --input list.csv --key Email:email --secret set.pem --output set/monday.vset
  vesica publish --input list.csv --key Email:email --secret set.pem --previous set --output set/tuesday.vset

The first makes the key of the set and a whole file, the second a file with what has changed since. Receivers need \
the files and this side's public key (`vesica pubkey`), and ask `vesica serve`.";
const SERVE: &str = "Example:
  vesica serve --secret set.pem --set set --listen :7402 --allow @receivers --ledger ledger --max-keys-per-day 1M

Receivers run `vesica lookup`. INT or TERM ends it; a receiver whose connection breaks goes on with the next server.";
const LOOKUP: &str = "Example:
  vesica lookup --set set --fetch --input ours.csv --key mail:email --output matched.csv --connect sender.example:7402 \
--peer @sender.pub

The sender runs `vesica publish` and `vesica serve`. It learns how many keys are asked for, and nothing of them.";

/// Who publishes takes what is about a table and its labels.
#[derive(Clone)]
pub(crate) struct Publishing;

impl Takes for Publishing {
    fn takes(option: &RunOption) -> bool {
        publish::OPTIONS.contains(&option.name)
    }
}

/// Who looks keys up takes what is about a table, and about the sender.
#[derive(Clone)]
pub(crate) struct Asking;

impl Takes for Asking {
    fn takes(option: &RunOption) -> bool {
        lookup::OPTIONS.contains(&option.name)
    }
}

/// A server takes neither.
#[derive(Clone)]
pub(crate) struct Serving;

impl Takes for Serving {
    fn takes(option: &RunOption) -> bool {
        serve::OPTIONS.contains(&option.name)
    }
}

/// The keys of a table that may be absent.
#[derive(Args)]
#[command(next_help_heading = "My table")]
pub(crate) struct KeyOptions {
    /// Key column, COLUMN[:RULE]; rules are raw, text, email, email-uid2, email-meta, email-google, phone, phone:CC, name, postcode, ip, date, date:DMY, int, uuid, sha256; repeat for a composite key
    #[arg(long, value_name = "SPEC")]
    key: Vec<KeySpec>,
    /// A rule to match by, COLUMN[:RULE], or COLUMN[:RULE] + COLUMN[:RULE] for a key of several columns; repeat for several keys, in the order that both sides agree on
    #[arg(long = "match", value_name = "RULE", conflicts_with = "key")]
    rules: Vec<MatchRule>,
    #[command(flatten)]
    pub(crate) text: TextOptions,
}

impl KeyOptions {
    /// What makes the keys.
    pub(crate) fn keys(&self) -> MatchRules {
        keys(&self.key, &self.rules)
    }
}

#[derive(Args)]
#[command(after_help = PUBLISH, next_help_heading = "My table", override_usage = "vesica publish --input <FILE> --key <SPEC> --secret <FILE> --output <FILE> [OPTIONS]")]
#[command(group = ArgGroup::new("change").args(["input", "file", "added", "removed", "compact"]).multiple(true).required(true))]
pub(crate) struct Publish {
    /// The whole table: CSV with a header (gzip or zstd too), Parquet or Arrow IPC, a folder or pattern of such files, an address of them (s3://, gs://, az://, https://), or `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["added", "removed", "compact"])]
    input: Option<PathBuf>,
    /// The same as --input
    #[arg(value_name = "FILE", conflicts_with_all = ["input", "added", "removed", "compact"])]
    file: Option<PathBuf>,
    /// In place of the whole table: the rows that came since, or whose labels changed; with --previous
    #[arg(long, value_name = "FILE", requires = "previous")]
    pub(crate) added: Option<PathBuf>,
    /// In place of the whole table: the rows that went since; with --previous
    #[arg(long, value_name = "FILE", requires = "previous")]
    pub(crate) removed: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) keys: KeyOptions,
    /// The new set file
    #[arg(long, value_name = "FILE", help_heading = "The set")]
    pub(crate) output: PathBuf,
    /// The set's secret key, which the first set and --rotate make; only its owner may read it
    #[arg(long, value_name = "FILE", help_heading = "The set")]
    pub(crate) secret: PathBuf,
    /// The set's files so far, or the folder that holds them: the new file has what has changed; repeat for several
    #[arg(long, value_name = "FILE|DIR", help_heading = "The set")]
    pub(crate) previous: Vec<PathBuf>,
    /// Make a new secret key, so that outputs that receivers hold tell them nothing of this set and later ones; with --previous
    #[arg(long, requires = "previous", help_heading = "The set")]
    pub(crate) rotate: bool,
    /// Make one file of those in --previous
    #[arg(long, requires = "previous", conflicts_with_all = ["added", "removed"], help_heading = "The set")]
    pub(crate) compact: bool,
    /// The most keys that one look-up may ask for: a number, or 2^N [default: 2^20, or that of the set]
    #[arg(long, value_name = "N", value_parser = publish::most_keys, help_heading = "The set")]
    pub(crate) max_keys: Option<u32>,
    /// My identity, made by `vesica keygen`, which signs; `-` is standard input [default: vesica/identity.pem in $XDG_CONFIG_HOME or ~/.config]
    #[arg(long, value_name = "FILE", help_heading = "The set")]
    pub(crate) identity: Option<PathBuf>,
    #[command(flatten)]
    options: Chosen<Publishing>,
    /// Where encrypted temporary files lie if my keys do not fit into --memory [default: TMPDIR, else /var/tmp]
    #[arg(long, value_name = "DIR", help_heading = "This side's choices")]
    temp_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) records: Records,
}

impl Publish {
    /// The whole table, named in either way.
    pub(crate) fn input(&self) -> Option<PathBuf> {
        self.input.clone().or_else(|| self.file.clone())
    }

    /// The settings.
    pub(crate) fn settings(&self) -> Settings {
        let settings = self.records.noted_in(&self.options.settings);
        Settings { temp_dir: self.temp_dir.clone(), ..settings }
    }
}

#[derive(Args)]
#[command(after_help = SERVE, next_help_heading = "The set", group = ArgGroup::new("place").args(["listen", "via", "post"]).required(true))]
pub(crate) struct Serve {
    /// The set's secret key, which `vesica publish` made
    #[arg(long, value_name = "FILE")]
    pub(crate) secret: PathBuf,
    /// The set's files, or the folder that holds them, which is looked at again; repeat for several
    #[arg(long, value_name = "FILE|DIR", required = true)]
    pub(crate) set: Vec<PathBuf>,
    /// Where it is written down who asked for how many keys, before an answer leaves; it is made if it is not there
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: PathBuf,
    /// The most keys that each receiver may ask for in a day (UTC): a number, 1M, or 2^N [default: any number]
    #[arg(long, value_name = "N", value_parser = serve::most_a_day)]
    pub(crate) max_keys_per_day: Option<u64>,
    /// Wait for receivers at this address: HOST:PORT, or :PORT for all IPv4 addresses of this machine ([::]:PORT for IPv6)
    #[arg(long, value_name = "ADDR", help_heading = "The receivers")]
    pub(crate) listen: Option<String>,
    /// Meet receivers at this relay, HOST:PORT, where somebody runs `vesica relay`
    #[arg(long, value_name = "ADDR", requires = "via_key", help_heading = "The receivers")]
    pub(crate) via: Option<String>,
    /// Answer the queries that lie in this folder, which both sides read and write, and end
    #[arg(long, value_name = "DIR", help_heading = "The receivers")]
    pub(crate) post: Option<PathBuf>,
    /// The relay's public key, vesica-pub1-…, or @FILE with a file that holds it
    #[arg(long, value_name = "PUBKEY", requires = "via", help_heading = "The receivers")]
    pub(crate) via_key: Option<String>,
    /// Serve the receiver with this public key, vesica-pub1-…, or those in @FILE, one a line; repeat for more
    #[arg(long, value_name = "PUBKEY", required = true, help_heading = "The receivers")]
    pub(crate) allow: Vec<String>,
    /// My identity, made by `vesica keygen`, which signed the set; `-` is standard input [default: vesica/identity.pem in $XDG_CONFIG_HOME or ~/.config]
    #[arg(long, value_name = "FILE", help_heading = "The receivers")]
    pub(crate) identity: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) options: Chosen<Serving>,
    /// Write each event as it happens, one JSON object a line; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "This side's choices")]
    pub(crate) events: Option<PathBuf>,
    /// Show nothing but errors
    #[arg(long, help_heading = "This side's choices")]
    pub(crate) quiet: bool,
}

#[derive(Args)]
#[command(after_help = LOOKUP, next_help_heading = "My table", override_usage = "vesica lookup --set <FILE|DIR> --input <FILE> --key <SPEC> --output <FILE> <--connect <ADDR>|--via <ADDR>|--post <DIR>> --peer <PUBKEY> [OPTIONS]")]
#[command(group = ArgGroup::new("place").args(["connect", "via", "post"]).required(true))]
pub(crate) struct Lookup {
    #[command(flatten)]
    pub(crate) table: super::TableOptions,
    /// The file, or s3://, gs:// or az:// address, for the matching rows, in my table's format; CSV is compressed if the name ends in .gz or .zst; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "My table")]
    pub(crate) output: PathBuf,
    /// The files of the sender's set, or the folder that holds them; repeat for several
    #[arg(long, value_name = "FILE|DIR", required = true, help_heading = "The set")]
    pub(crate) set: Vec<PathBuf>,
    /// First fetch the files that are new, from the sender into the folder of --set
    #[arg(long, help_heading = "The set")]
    pub(crate) fetch: bool,
    /// Ask the sender at this address: HOST:PORT, where it runs `vesica serve`
    #[arg(long, value_name = "ADDR", help_heading = "The sender")]
    pub(crate) connect: Option<String>,
    /// Meet the sender at this relay, HOST:PORT, where somebody runs `vesica relay`
    #[arg(long, value_name = "ADDR", requires = "via_key", help_heading = "The sender")]
    pub(crate) via: Option<String>,
    /// Leave the query in this folder, which both sides read and write; the same command finishes when the answer is there
    #[arg(long, value_name = "DIR", conflicts_with = "fetch", help_heading = "The sender")]
    pub(crate) post: Option<PathBuf>,
    /// The relay's public key, vesica-pub1-…, or @FILE with a file that holds it
    #[arg(long, value_name = "PUBKEY", requires = "via", help_heading = "The sender")]
    pub(crate) via_key: Option<String>,
    /// My identity, made by `vesica keygen`; `-` is standard input [default: vesica/identity.pem in $XDG_CONFIG_HOME or ~/.config]
    #[arg(long, value_name = "FILE", help_heading = "The sender")]
    pub(crate) identity: Option<PathBuf>,
    /// The sender's public key, vesica-pub1-…, or @FILE with a file that holds it: its answers and the set's files are signed with it
    #[arg(long, value_name = "PUBKEY", help_heading = "The sender")]
    pub(crate) peer: String,
    /// Write the receipt that both sides sign at the end, for `vesica verify`: to a new file, or to a folder, where it gets a name of its own; `-` is standard output
    #[arg(long, value_name = "FILE|DIR", conflicts_with = "post", help_heading = "The sender")]
    pub(crate) receipt: Option<PathBuf>,
    #[command(flatten)]
    options: Chosen<Asking>,
    #[command(flatten)]
    pub(crate) records: Records,
}

impl Lookup {
    /// The settings.
    pub(crate) fn settings(&self) -> Settings {
        self.records.noted_in(&self.options.settings)
    }
}
