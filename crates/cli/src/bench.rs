//! `vesica bench`: runs the papers' tables again; also the hidden command with which the harness starts a party.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use vesica::Kind;
use vesica::memory::Budget;
use vesica::net::{Address, PublicKey};
use vesica::protocols::{Participant, Role};
use vesica::registry;
use vesica_bench::BenchError;
use vesica_bench::cell::{Cell, Networks};
use vesica_bench::definition::Definition;
use vesica_bench::harness::Harness;
use vesica_bench::party::{self, Endpoint};
use vesica_bench::record::{self, Folder};
use vesica_bench::report::Sources;
use vesica_bench::schedule::{Limits, Remaining};
use vesica_bench::{blocks, report};

use crate::args::{
    Bench, BenchBlocks, BenchCommand, BenchFolders, BenchOnce, BenchParty, BenchReport, BenchRun, Extent,
};
use crate::screen::say;

/// Runs the command; its end as an exit code.
pub(crate) fn run(args: &Bench) -> u8 {
    let ended = match &args.command {
        BenchCommand::Run(args) => run_definitions(args),
        BenchCommand::Report(args) => write_report(args),
        BenchCommand::Once(args) => once(args),
        BenchCommand::Blocks(args) => keep_blocks(args),
        BenchCommand::Party(args) => play(args),
        BenchCommand::ClaimMemory(args) => {
            vesica::resources::claim_memory(args.bytes.min(memory_for_both()));
            Ok(())
        }
    };
    match ended {
        Ok(()) => 0,
        Err(error) => {
            say(&format!("vesica bench: {error}"));
            match error {
                BenchError::File { .. } | BenchError::Form { .. } => Kind::Input.exit_code(),
                BenchError::Cell(_) | BenchError::DebugBuild => Kind::Usage.exit_code(),
                BenchError::Party { .. } => Kind::Partner.exit_code(),
                BenchError::WrongResult { .. } => Kind::Internal.exit_code(),
            }
        }
    }
}

fn harness(folders: &BenchFolders) -> Result<Harness, BenchError> {
    if cfg!(debug_assertions) && !folders.allow_debug {
        return Err(BenchError::DebugBuild);
    }
    if cfg!(debug_assertions) {
        say("WARNING: this is a debug build; its figures mean nothing");
    }
    let program =
        std::env::current_exe().map_err(|cause| BenchError::File { path: "vesica".into(), cause })?;
    Ok(Harness { program, networks: networks(folders)? })
}

fn networks(folders: &BenchFolders) -> Result<Networks, BenchError> {
    Networks::read(&folders.benchmarks.join("networks.toml"))
}

/// The definitions of these names; all of them if none is named.
fn definitions(folders: &BenchFolders, names: &[String]) -> Result<Vec<Definition>, BenchError> {
    let (folder, networks) = (folders.benchmarks.join("definitions"), networks(folders)?);
    let all = Definition::all(&folder)?;
    let chosen = if names.is_empty() { all } else { names.to_vec() };
    chosen.iter().map(|name| Definition::read(&folder, name, &networks)).collect()
}

fn run_definitions(args: &BenchRun) -> Result<(), BenchError> {
    if args.definitions.is_empty() && !args.all {
        return Err(BenchError::Cell("name a definition, or give `--all`".into()));
    }
    let harness = harness(&args.folders)?;
    let quick = matches!(args.profile, Extent::Quick);
    let (run_budget, budget) =
        if quick { (QUICK_RUN, QUICK) } else { (Duration::from_secs(60), Duration::from_secs(1 << 30)) };
    let limits = Limits {
        quick,
        runs: args.runs.unwrap_or(if quick { 1 } else { 3 }),
        warm_up: !quick,
        run_budget_s: args.run_budget.unwrap_or(run_budget).as_secs_f64(),
        budget_s: args.budget.unwrap_or(budget).as_secs_f64(),
        memory: memory_for_both(),
    };
    let mut definitions = definitions(&args.folders, &args.definitions)?;
    if !args.protocol.is_empty() {
        if let Some(name) = args.protocol.iter().find(|name| registry::find(name).is_none()) {
            return Err(BenchError::Cell(registry::absent(name)));
        }
        definitions.iter_mut().for_each(|definition| definition.keep_protocols(&args.protocol));
    }
    let path = match &args.record {
        Some(path) => path.clone(),
        None => records(&args.folders).join(record::default_name()),
    };
    say(&format!("the record: {}", path.display()));
    if args.dry_run {
        let known = if path.is_dir() { Folder::open(&path)?.read_all()? } else { Vec::new() };
        return tell_remaining(&harness.remaining(&definitions, &limits, &known));
    }
    let folder = Folder::open(&path)?;
    folder.note_command(&command_line())?;
    let summary = harness.fill(&definitions, &limits, &folder, &mut |message| say(message))?;
    say(&format!(
        "{} runs recorded, {} cells skipped, {} failed",
        summary.runs, summary.skipped, summary.failed
    ));
    if args.all && args.protocol.is_empty() {
        report_on(Sources { main: &folder, beside: &[] }, &args.page, &args.folders)?;
    } else {
        let record = path.display();
        say(&format!(
            "the tables, with the papers' figures: `vesica bench report --record {record} --page tables.md`"
        ));
    }
    let message = format!("{} runs failed, see above", summary.failed);
    if summary.failed == 0 { Ok(()) } else { Err(BenchError::Party { role: "parties", message }) }
}

/// What is left to run, a definition a line, on standard output.
fn tell_remaining(remaining: &BTreeMap<String, Remaining>) -> Result<(), BenchError> {
    let mut all = Remaining::default();
    print("cells  runs  skipped  definition")?;
    let row = |name: &str, one: &Remaining| {
        format!("{:>5}  {:>4}  {:>7}  {name}", one.cells, one.runs, one.skipped)
    };
    for (name, one) in remaining {
        print(&row(name, one))?;
        all.cells += one.cells;
        all.runs += one.runs;
        all.skipped += one.skipped;
    }
    print(&row("all, without warm-ups", &all))
}

/// How long one run and all runs may take in the quick profile, which must end within 15 minutes.
const QUICK_RUN: Duration = Duration::from_secs(10);
const QUICK: Duration = Duration::from_secs(12 * 60);

fn records(folders: &BenchFolders) -> PathBuf {
    folders.benchmarks.join("record")
}

/// Day, revision, version and what was typed, without the program's folder.
fn command_line() -> String {
    let words = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    let revision = Command::new("git").args(["rev-parse", "--short", "HEAD"]).output();
    let revision = revision.ok().filter(|ended| ended.status.success());
    let revision = revision.and_then(|ended| String::from_utf8(ended.stdout).ok());
    let revision = revision.map_or_else(String::new, |revision| format!(", revision {}", revision.trim()));
    format!("{}, vesica {}{revision}: vesica {words}", record::today(), env!("CARGO_PKG_VERSION"))
}

/// Most of the memory that both parties may use together.
fn memory_for_both() -> u64 {
    Budget::usual().map_or(8 << 30, |budget| budget.bytes)
}

fn write_report(args: &BenchReport) -> Result<(), BenchError> {
    let path = match &args.record {
        Some(path) => path.clone(),
        None => last_record(&records(&args.folders))?,
    };
    let main = Folder::open(&path)?;
    let beside = args.beside.iter().map(|path| Folder::open(path)).collect::<Result<Vec<_>, _>>()?;
    report_on(Sources { main: &main, beside: &beside }, &args.page, &args.folders)
}

/// The record that was begun last, by its name.
fn last_record(records: &Path) -> Result<PathBuf, BenchError> {
    let failed = |cause| BenchError::File { path: records.to_owned(), cause };
    let entries = std::fs::read_dir(records).map_err(failed)?;
    let folders = entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_dir());
    folders.max().ok_or_else(|| failed(io::ErrorKind::NotFound.into()))
}

/// The tables and plots of a record, of all definitions.
fn report_on(sources: Sources<'_>, page: &Path, folders: &BenchFolders) -> Result<(), BenchError> {
    let definitions = definitions(folders, &[])?;
    let beside: String =
        sources.beside.iter().map(|folder| format!(" --beside {}", folder.path().display())).collect();
    let main = sources.main.path().display();
    let command = format!("vesica bench report --record {main}{beside} --page {}", page.display());
    report::write(&definitions, sources, &networks(folders)?, page, &command)?;
    say(&format!("the report: {}", page.display()));
    Ok(())
}

fn keep_blocks(args: &BenchBlocks) -> Result<(), BenchError> {
    let blocks = blocks::collect(&args.criterion)?;
    if blocks.is_empty() {
        let message = format!("{} holds no results: run `make bench-blocks` first", args.criterion.display());
        return Err(BenchError::Cell(message));
    }
    Folder::open(&args.record)?.keep_blocks(&blocks)?;
    say(&format!("{} building blocks in {}", blocks.len(), args.record.display()));
    Ok(())
}

/// How long one run of `bench once` may take.
const ONCE: Duration = Duration::from_secs(6 * 3600);

/// One cell, its figures on standard output.
fn once(args: &BenchOnce) -> Result<(), BenchError> {
    let harness = harness(&args.folders)?;
    let cell = args.cell();
    let formula = cell.formula_bytes()?;
    print(&format!("{}, {}, {} × {}", cell.protocol, cell.security.name(), cell.receiver, cell.sender))?;
    print("wall s  CPU s (receiver, sender)  peak MB (receiver, sender)  bytes (/formula, bits an item)")?;
    let mut walls = Vec::new();
    for _ in 0..args.runs {
        let pair = harness.run(&cell, ONCE)?;
        let (receiver, sender) = (&pair.receiver, &pair.sender);
        let bytes = receiver.sent + sender.sent + pair.helper.as_ref().map_or(0, |helper| helper.sent);
        walls.push(receiver.wall_s);
        print(&format!(
            "{:.4}  {:.3} ({:.3}, {:.3})  {:.0}, {:.0}  {bytes} ({:.4}, {:.1})  {}",
            receiver.wall_s,
            receiver.cpu_s + sender.cpu_s,
            receiver.cpu_s,
            sender.cpu_s,
            receiver.peak_bytes as f64 / 1e6,
            sender.peak_bytes as f64 / 1e6,
            bytes as f64 / formula as f64,
            bytes as f64 * 8.0 / cell.receiver.max(cell.sender).max(1) as f64,
            receiver.phases.iter().map(|(name, s)| format!("{name}={s:.3}")).collect::<Vec<_>>().join(" "),
        ))?;
        if let Some(helper) = &pair.helper {
            let phases: Vec<_> = helper.phases.iter().map(|(name, s)| format!("{name}={s:.3}")).collect();
            let peak = helper.peak_bytes as f64 / 1e6;
            print(&format!(
                "  helper: {:.4} s, CPU {:.3} s, peak {peak:.0} MB  {}",
                helper.wall_s,
                helper.cpu_s,
                phases.join(" ")
            ))?;
        }
    }
    walls.sort_by(f64::total_cmp);
    if let (Some(least), Some(most)) = (walls.first(), walls.last()) {
        print(&format!(
            "median {:.4} s ({least:.4} to {most:.4}), {} runs",
            walls[walls.len() / 2],
            walls.len()
        ))?;
    }
    Ok(())
}

fn print(line: &str) -> Result<(), BenchError> {
    let path = || Path::new("standard output").to_owned();
    writeln!(io::stdout().lock(), "{line}").map_err(|cause| BenchError::File { path: path(), cause })
}

fn play(args: &BenchParty) -> Result<(), BenchError> {
    let invalid = |what: &str, error: &dyn std::fmt::Display| BenchError::Cell(format!("--{what}: {error}"));
    let cell: Cell = serde_json::from_str(&args.cell).map_err(|error| invalid("cell", &error))?;
    let link = serde_json::from_str(&args.link).map_err(|error| invalid("link", &error))?;
    let key = |what: &str, text: &String| text.parse::<PublicKey>().map_err(|error| invalid(what, &error));
    let peers: Vec<PublicKey> = args.peer.iter().map(|text| key("peer", text)).collect::<Result<_, _>>()?;
    let mut printed = Ok(());
    let measured = if args.role == Participant::Helper.name() {
        let peers = <[PublicKey; 2]>::try_from(peers).ok();
        let keys = args.identity.clone().zip(peers);
        party::assist(&cell, link, keys, &mut |[receiver, sender]| {
            printed = print(&format!("{receiver} {sender}"))
        })?
    } else {
        let role = if args.role == "receiver" { Role::Receiver } else { Role::Sender };
        let address = match (&args.listen, &args.connect) {
            (Some(address), _) => Address::Listen(address.clone()),
            (None, Some(address)) => Address::Connect(address.clone()),
            (None, None) => return Err(BenchError::Cell("--listen or --connect".into())),
        };
        let keys: Option<(PathBuf, PublicKey)> = args.identity.clone().zip(peers.first().copied());
        let helper_key = args.helper_key.as_ref().map(|text| key("helper-key", text)).transpose()?;
        let helper = args.helper.clone().map(|address| (address, helper_key));
        let endpoint = Endpoint { address, link, keys, helper };
        party::play(&cell, role, &endpoint, &mut |address| printed = print(&address.to_string()))?
    };
    printed?;
    print(&serde_json::to_string(&measured).map_err(|error| invalid("cell", &error))?)
}
