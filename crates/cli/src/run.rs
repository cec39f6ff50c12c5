//! `vesica receive`, `send` and `local`: from arguments to an exit code.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rand_core::CryptoRng;
use vesica::job::{Job, OnEvent, Outcome, Partner, TableArgs};
use vesica::net::{Address, CancelToken, Identity, PublicKey};
use vesica::protocols::{Learns, Role};
use vesica::report::{Event, Report};
use vesica::table::{FileId, Output, PairSpec, TableError};
use vesica::{Error, Kind, local, randomness};

use crate::args::{Common, Local, PartnerOptions, Receive, Send, TableOptions};
use crate::events::Events;
use crate::keygen::default_path;
use crate::screen::{self, Screen, say};
use crate::{USAGE, signals};

/// The most bytes that a file with a public key may have.
const PUBLIC_KEY_FILE: u64 = 4096;

/// A partner gives a sign of life every five seconds; a time-out of less than three of them is hasty.
const BUSY: Duration = Duration::from_secs(15);

/// `vesica receive`.
pub(crate) fn receive(args: Receive) -> u8 {
    with_partner("receive", Role::Receiver, args.table, Some(args.output), &args.partner, &args.common)
}

/// `vesica send`.
pub(crate) fn send(args: Send) -> u8 {
    with_partner("send", Role::Sender, args.table, args.output, &args.partner, &args.common)
}

/// `vesica local`.
pub(crate) fn local(args: Local) -> u8 {
    let keys = |side: fn(&PairSpec) -> vesica::table::KeySpec| args.key.iter().map(side).collect();
    let inputs = vec![args.receiver.clone(), args.sender.clone()];
    if inputs.iter().all(|input| input.as_os_str() == "-") {
        return refuse("local", "only one of the two tables can be standard input");
    }
    let receiver = TableArgs {
        input: args.receiver,
        keys: keys(PairSpec::mine),
        output: Some(args.output),
        protected: inputs.clone(),
    };
    let sender =
        TableArgs { input: args.sender, keys: keys(PairSpec::theirs), output: None, protected: Vec::new() };
    let (output, settings) = (receiver.output.clone(), args.common.settings());
    run("local", &args.common, output.as_deref(), &inputs, |on_event, cancel, rng| {
        let mut other = match randomness() {
            Ok(other) => other,
            Err(error) => return Job { role: Role::Sender, table: sender, settings }.refuse(error, on_event),
        };
        let (receiver, sender) = local::run(receiver, sender, &settings, cancel, [rng, &mut other], on_event);
        // The receiver sees no more of a sender that failed than a closed connection.
        match (&receiver.result, &sender.result) {
            (Err(seen), Err(cause)) if seen.kind == Kind::Partner => Outcome {
                report: Report { error: Some(cause.clone()), ..receiver.report },
                result: sender.result,
            },
            _ => receiver,
        }
    })
}

fn with_partner(
    command: &str,
    role: Role,
    table: TableOptions,
    output: Option<PathBuf>,
    partner: &PartnerOptions,
    common: &Common,
) -> u8 {
    let mut protected = vec![table.input.clone()];
    protected.extend(partner.identity.clone().or_else(|| default_path().ok()));
    let peer_file = partner.peer.as_deref().and_then(|peer| peer.strip_prefix('@'));
    protected.extend(peer_file.map(PathBuf::from));
    let table = TableArgs {
        input: table.input,
        keys: table.key,
        output: output.clone(),
        protected: protected.clone(),
    };
    let job = Job { role, table, settings: common.settings() };
    run(command, common, output.as_deref(), &protected, |on_event, cancel, rng| match find_partner(partner) {
        Ok(partner) => job.run(&partner, cancel, rng, on_event),
        Err(error) => job.refuse(error, on_event),
    })
}

/// What every run has: a screen, events, signals, randomness, a report. `protected` are the files that nothing may replace.
fn run(
    command: &str,
    common: &Common,
    output: Option<&Path>,
    protected: &[PathBuf],
    play: impl FnOnce(OnEvent<'_>, &CancelToken, &mut (dyn CryptoRng + std::marker::Send)) -> Outcome,
) -> u8 {
    let cancel = CancelToken::new();
    let prepared = signals::watch(&cancel).map_err(|error| error.to_string());
    let prepared =
        prepared.and_then(|received| Ok((received, randomness().map_err(|error| error.to_string())?)));
    let (received, mut rng) = match prepared {
        Ok(prepared) => prepared,
        Err(message) => {
            say(&format!("vesica {command}: {message}"));
            return Kind::Internal.exit_code();
        }
    };
    let (report, events) = match open_logs(common, output, protected) {
        Ok(opened) => opened,
        Err((code, message)) => {
            say(&format!("vesica {command}: {message}"));
            return code;
        }
    };
    let screen = Screen::new(common.quiet);
    if common.settings().timeout < BUSY {
        screen.line("with a --timeout under 15 s a partner that is busy may be taken for one that is silent");
    }
    if common.settings().learns == Learns::Both && output.is_none() {
        screen.line("without --output only the number of matching rows will be told");
    }
    let on_event = |event: &Event| {
        screen.show(event);
        // How it ended is told below, when the outcome is known.
        if !matches!(event, Event::Done { .. } | Event::Failed { .. }) {
            events.write(event);
        }
        #[cfg(feature = "testing")]
        crate::testing::at(event, &cancel);
    };
    let outcome = play(&on_event, &cancel, &mut rng);
    let report_copy = Box::new(outcome.report.clone());
    events.write(&match outcome.result {
        Ok(_) => Event::Done { report: report_copy },
        Err(_) => Event::Failed { report: report_copy },
    });
    let written = report.map(|file| write_report(file, &outcome.report)).transpose();
    let code = match &outcome.result {
        Ok(_) => {
            let shown = output.map(|path| path.display().to_string()).filter(|path| path != "-");
            screen.line(&screen::summary(&outcome.report, shown.as_deref()));
            0
        }
        Err(error) => {
            screen::failure(command, error);
            exit_code(error, &received)
        }
    };
    match written {
        Err(error) if code == 0 => {
            say(&format!("vesica {command}: the run ended well, but not its report: {error}"));
            Kind::Output.exit_code()
        }
        _ => code,
    }
}

fn exit_code(error: &Error, received: &signals::Received) -> u8 {
    match error.kind {
        Kind::Interrupted => received.exit_code().unwrap_or(Kind::Interrupted.exit_code()),
        kind => kind.exit_code(),
    }
}

fn refuse(command: &str, message: &str) -> u8 {
    say(&format!("vesica {command}: {message}"));
    USAGE
}

fn find_partner(options: &PartnerOptions) -> Result<Partner, Error> {
    let address = match (&options.listen, &options.connect) {
        (Some(address), _) => Address::Listen(address.clone()),
        (None, Some(address)) => Address::Connect(address.clone()),
        (None, None) => return Err(Error::usage("no address", "give --listen or --connect")),
    };
    let Some(peer) = &options.peer else { return Ok(Partner { address, keys: None }) };
    let ask = "give the line that the partner's `vesica keygen` printed, or @FILE that holds it";
    let peer = public_key(peer).map_err(|message| Error::usage(message, ask))?;
    let make = "name the identity with --identity, or make one with `vesica keygen`";
    let path =
        options.identity.clone().map_or_else(default_path, Ok).map_err(|error| Error::usage(error, make))?;
    let identity = Identity::load(&path).map_err(|error| Error::usage(error.to_string(), make))?;
    if *identity.public_key() == peer {
        return Err(Error::usage("--peer is this side's own public key", ask));
    }
    Ok(Partner { address, keys: Some((identity, peer)) })
}

/// The text itself, or `@FILE` that holds it.
fn public_key(argument: &str) -> Result<PublicKey, String> {
    let Some(path) = argument.strip_prefix('@') else {
        let hint = if Path::new(argument).exists() {
            format!(" (for the file write @{argument})")
        } else {
            String::new()
        };
        return argument.trim().parse().map_err(|error| format!("--peer: {error}{hint}"));
    };
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(PUBLIC_KEY_FILE + 1).read_to_string(&mut text));
    match read.map_err(|error| error.to_string()) {
        Ok(bytes) if bytes as u64 <= PUBLIC_KEY_FILE => {
            text.trim().parse().map_err(|error| format!("--peer @{path}: {error}"))
        }
        Ok(_) => Err(format!("--peer @{path}: too long for a public key")),
        Err(error) => Err(format!("--peer @{path}: {error}")),
    }
}

/// Report and events, if asked for; or an exit code and a message. Their places are checked before the run: no two of output,
/// report and events are the same, and none is a protected file.
fn open_logs(
    common: &Common,
    output: Option<&Path>,
    protected: &[PathBuf],
) -> Result<(Option<Output>, Events), (u8, String)> {
    let (report, events) = (common.report.as_deref(), common.events.as_deref());
    let places: Vec<_> = [output, report, events].into_iter().flatten().map(place).collect();
    if (0..places.len()).any(|i| places[..i].contains(&places[i])) {
        return Err((USAGE, "--output, --report and --events need different places".into()));
    }
    let stdin = PathBuf::from("/dev/stdin");
    let protected = protected.iter().map(|path| if path.as_os_str() == "-" { &stdin } else { path });
    let ids: Vec<FileId> = protected.filter_map(|path| FileId::of_path(path).ok()).collect();
    let failed = |message: String| (Kind::Output.exit_code(), message);
    let check = |path| {
        Output::check(path, &ids.iter().collect::<Vec<_>>()).map_err(|error| failed(error.to_string()))
    };
    let report = report.map(check).transpose()?;
    events.map(check).transpose()?;
    let events =
        Events::open(events).map_err(|error| failed(format!("--events: cannot be written: {error}")))?;
    Ok((report, events))
}

/// What makes two paths the same place: the file where there is one, else folder and name.
fn place(path: &Path) -> (PathBuf, Option<FileId>) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let by_name = || Some(fs::canonicalize(folder).ok()?.join(path.file_name()?));
    match FileId::of_path(path) {
        // Of a file that is there the number alone counts: it may have several names.
        Ok(id) if path.as_os_str() != "-" => (PathBuf::new(), Some(id)),
        _ if path.as_os_str() == "-" => (path.to_owned(), None),
        _ => (by_name().unwrap_or_else(|| path.to_owned()), None),
    }
}

fn write_report(file: Output, report: &Report) -> Result<(), TableError> {
    file.commit(|out| {
        let failed = |source| TableError::Write { path: String::new(), source };
        serde_json::to_writer_pretty(&mut *out, report).map_err(|error| failed(error.into()))?;
        out.write_all(b"\n").map_err(failed)
    })
}
