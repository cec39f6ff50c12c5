//! `vesica bench`: measures a protocol; also the hidden commands with which the harness starts a party, and
//! `benchmarks/run.py` asks about cells.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;
use vesica::Kind;
use vesica::memory::Budget;
use vesica::net::{Address, PublicKey};
use vesica::protocols::{Participant, Role};
use vesica_bench::BenchError;
use vesica_bench::cell::{Cell, Networks};
use vesica_bench::describe::{describe, optimised};
use vesica_bench::harness::{Harness, Pair};
use vesica_bench::party::{self, Endpoint, Measured};

use crate::args::{Bench, BenchCommand, BenchOnce, BenchParty};
use crate::screen::say;

/// Runs the command; its end as an exit code.
pub(crate) fn run(args: &Bench) -> u8 {
    let ended = match &args.command {
        BenchCommand::Once(args) => once(args),
        BenchCommand::Describe => answer(),
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

fn harness(args: &BenchOnce) -> Result<Harness, BenchError> {
    if !optimised() {
        if !args.allow_debug {
            return Err(BenchError::DebugBuild);
        }
        say("WARNING: this build is not optimised; its figures mean nothing");
    }
    let program =
        std::env::current_exe().map_err(|cause| BenchError::File { path: "vesica".into(), cause })?;
    Ok(Harness { program, networks: Networks::read(&args.benchmarks.join("networks.toml"))? })
}

/// Answers the questions of standard input, an array of JSON.
fn answer() -> Result<(), BenchError> {
    let questions: Vec<Value> = serde_json::from_reader(io::stdin().lock())
        .map_err(|error| BenchError::Cell(format!("standard input: {error}")))?;
    print_json(serde_json::to_string(&describe(&questions, memory_for_both())))
}

/// Most of the memory that both parties may use together.
fn memory_for_both() -> u64 {
    Budget::usual().map_or(8 << 30, |budget| budget.bytes)
}

/// One cell, its figures on standard output.
fn once(args: &BenchOnce) -> Result<(), BenchError> {
    let (harness, cell) = (harness(args)?, args.cell());
    let run = || harness.run(&cell, args.time_limit);
    if args.json {
        return (0..args.runs).try_for_each(|_| print_json(serde_json::to_string(&run()?)));
    }
    let formula = cell.formula_bytes()?;
    print(&format!("{}, {}, {} × {}", cell.protocol, cell.security.name(), cell.receiver, cell.sender))?;
    print("wall s  CPU s (receiver, sender)  peak MB (receiver, sender)  bytes (/formula, bits an item)")?;
    let mut walls = Vec::new();
    for _ in 0..args.runs {
        let pair = run()?;
        walls.push(pair.receiver.wall_s);
        print(&figures(&cell, &pair, formula))?;
        if let Some(helper) = &pair.helper {
            let peak = helper.peak_bytes as f64 / 1e6;
            print(&format!(
                "  helper: {:.4} s, CPU {:.3} s, peak {peak:.0} MB  {}",
                helper.wall_s,
                helper.cpu_s,
                phases(helper)
            ))?;
        }
    }
    walls.sort_by(f64::total_cmp);
    if let (Some(least), Some(most)) = (walls.first(), walls.last()) {
        let median = walls[walls.len() / 2];
        print(&format!("median {median:.4} s ({least:.4} to {most:.4}), {} runs", walls.len()))?;
    }
    Ok(())
}

fn figures(cell: &Cell, pair: &Pair, formula: u64) -> String {
    let (receiver, sender) = (&pair.receiver, &pair.sender);
    let bytes = receiver.sent + sender.sent + pair.helper.as_ref().map_or(0, |helper| helper.sent);
    format!(
        "{:.4}  {:.3} ({:.3}, {:.3})  {:.0}, {:.0}  {bytes} ({:.4}, {:.1})  {}",
        receiver.wall_s,
        receiver.cpu_s + sender.cpu_s,
        receiver.cpu_s,
        sender.cpu_s,
        receiver.peak_bytes as f64 / 1e6,
        sender.peak_bytes as f64 / 1e6,
        bytes as f64 / formula as f64,
        bytes as f64 * 8.0 / cell.receiver.max(cell.sender).max(1) as f64,
        phases(receiver),
    )
}

fn phases(measured: &Measured) -> String {
    measured.phases.iter().map(|(name, s)| format!("{name}={s:.3}")).collect::<Vec<_>>().join(" ")
}

fn print_json(text: Result<String, serde_json::Error>) -> Result<(), BenchError> {
    print(&text.map_err(|error| BenchError::Cell(format!("standard output: {error}")))?)
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
    print_json(serde_json::to_string(&measured))
}
