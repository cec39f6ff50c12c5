//! `vesica bench`: the papers' tables, run again; and the hidden command by which the harness starts a party.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use vesica::Kind;
use vesica::net::{Address, PublicKey};
use vesica::protocols::Role;
use vesica_bench::BenchError;
use vesica_bench::cell::{Cell, Networks};
use vesica_bench::definition::Definition;
use vesica_bench::harness::{Harness, Limits};
use vesica_bench::party::{self, Place};
use vesica_bench::record::Folder;
use vesica_bench::report;

use crate::args::{
    Bench, BenchCommand, BenchFolders, BenchOnce, BenchParty, BenchReport, BenchRun, ProfileOfRuns,
};
use crate::screen::say;

/// Runs the command; its end as an exit code.
pub(crate) fn run(args: &Bench) -> u8 {
    let ended = match &args.command {
        BenchCommand::Run(args) => run_definitions(args),
        BenchCommand::Report(args) => write_report(args),
        BenchCommand::Once(args) => once(args),
        BenchCommand::Party(args) => play(args),
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
        say("WARNING: a debug build; its figures are worth nothing");
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
        return Err(BenchError::Cell("name a definition, or give --all".into()));
    }
    let harness = harness(&args.folders)?;
    let quick = matches!(args.profile, ProfileOfRuns::Quick);
    let limits = Limits {
        quick,
        runs: args.runs.unwrap_or(if quick { 1 } else { 5 }),
        warm_up: u32::from(!quick),
        cell_budget_s: args.budget,
        memory: memory_for_both(),
    };
    let definitions = definitions(&args.folders, &args.definitions)?;
    let record = Folder::open(&args.record)?;
    for (i, definition) in definitions.iter().enumerate() {
        say(&format!("[{} of {}] {}: {}", i + 1, definitions.len(), definition.name, definition.title));
        harness.fill(definition, &limits, &record, &mut |news| say(news))?;
    }
    Ok(())
}

/// Three quarters of what the system has to give.
fn memory_for_both() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.map_or(8 << 30, |kib| kib * 1024 / 4 * 3)
}

fn write_report(args: &BenchReport) -> Result<(), BenchError> {
    let folder = Folder::open(&args.record)?;
    let definitions = definitions(&args.folders, &[])?;
    let command =
        format!("vesica bench report --record {} --page {}", args.record.display(), args.page.display());
    let machine: String = folder.machine().lines().map(|line| format!("- {line}\n")).collect();
    let networks: String =
        networks(&args.folders)?.describe().map(|(name, what)| format!("- `{name}`: {what}\n")).collect();
    let tables = report::tables(&definitions, &folder)?;
    let text = format!(
        "Made by `{command}`. In each cell: the paper's figure → **ours, the median** [least–greatest] (ratio).\n\n\
         The machine:\n{machine}\nThe networks:\n{networks}\n{tables}"
    );
    report::splice(&args.page, &text)
}

/// One cell, its figures on standard output.
fn once(args: &BenchOnce) -> Result<(), BenchError> {
    let harness = harness(&args.folders)?;
    let cell = Cell {
        malicious: args.malicious,
        level: args.level,
        sigma: args.sigma,
        variant: args.variant.clone(),
        profile: args.profile.clone(),
        paper_parameters: args.paper_parameters,
        both: args.both,
        threads: args.threads,
        network: args.network.clone(),
        tls: args.tls,
        ..Cell::new(&args.protocol, args.receiver, args.sender)
    };
    let formula = cell.formula_bytes()?;
    print("wall s  CPU s (receiver, sender)  peak MB (receiver, sender)  bytes (/formula, bits an item)")?;
    let mut walls = Vec::new();
    for _ in 0..args.runs {
        let pair = harness.run(&cell)?;
        let (receiver, sender) = (&pair.receiver, &pair.sender);
        let bytes = receiver.sent + sender.sent;
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
            bytes as f64 * 8.0 / args.receiver.max(args.sender).max(1) as f64,
            receiver.phases.iter().map(|(name, s)| format!("{name}={s:.3}")).collect::<Vec<_>>().join(" "),
        ))?;
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
    let role = if args.role == "receiver" { Role::Receiver } else { Role::Sender };
    let address = match (&args.listen, &args.connect) {
        (Some(address), _) => Address::Listen(address.clone()),
        (None, Some(address)) => Address::Connect(address.clone()),
        (None, None) => return Err(BenchError::Cell("--listen or --connect".into())),
    };
    let keys: Option<(PathBuf, PublicKey)> = match (&args.identity, &args.peer) {
        (Some(identity), Some(peer)) => {
            Some((identity.clone(), peer.parse().map_err(|error| invalid("peer", &error))?))
        }
        _ => None,
    };
    let mut told = Ok(());
    let place = Place { address, link, keys };
    let measured = party::play(&cell, role, &place, &mut |address| told = print(&address.to_string()))?;
    told?;
    print(&serde_json::to_string(&measured).map_err(|error| invalid("cell", &error))?)
}
