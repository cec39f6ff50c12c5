//! `vesica receive`, `send` and `local`: from arguments to an exit code.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::{StdRng, SysRng};
use vesica::job::{Job, OnEvent, Outcome, Partner, TableArgs};
use vesica::net::{Address, CancelToken, Identity, PublicKey};
use vesica::protocols::{Role, registry::Security};
use vesica::report::{Event, Report};
use vesica::table::{FileId, Output, PairSpec, TableError};
use vesica::{Error, Kind, local};

use crate::args::{Common, Local, PartnerOptions, Receive, Send};
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
    let table = TableArgs {
        input: args.table.input,
        keys: args.table.key,
        output: Some(args.output),
        protected: Vec::new(),
    };
    with_partner("receive", Role::Receiver, table, &args.partner, &args.common)
}

/// `vesica send`.
pub(crate) fn send(args: Send) -> u8 {
    let table = TableArgs {
        input: args.table.input,
        keys: args.table.key,
        output: args.output,
        protected: Vec::new(),
    };
    with_partner("send", Role::Sender, table, &args.partner, &args.common)
}

/// `vesica local`.
pub(crate) fn local(args: Local) -> u8 {
    let keys = |side: fn(&PairSpec) -> vesica::table::KeySpec| args.key.iter().map(side).collect();
    let receiver = TableArgs {
        input: args.receiver,
        keys: keys(PairSpec::mine),
        output: Some(args.output),
        protected: vec![args.sender.clone()],
    };
    let sender =
        TableArgs { input: args.sender, keys: keys(PairSpec::theirs), output: None, protected: Vec::new() };
    if receiver.input.as_os_str() == "-" && sender.input.as_os_str() == "-" {
        return refuse("local", "only one of the two tables can be standard input");
    }
    let (output, inputs) = (receiver.output.clone(), vec![receiver.input.clone(), sender.input.clone()]);
    let settings = args.common.settings();
    run("local", &args.common, output.as_deref(), &inputs, |on_event, cancel, rng| {
        let mut other = StdRng::from_rng(rng);
        let (receiver, sender) = local::run(receiver, sender, &settings, cancel, [rng, &mut other], on_event);
        // The receiver sees no more of a sender that failed than a closed connection.
        match (&receiver.result, &sender.result) {
            (Err(seen), Err(cause)) if seen.kind == Kind::Partner => Outcome {
                report: Report { error: Some(cause.clone()), ..receiver.report },
                result: sender.result,
            },
            (Ok(_), Err(_)) => Outcome { result: sender.result, ..receiver },
            _ => receiver,
        }
    })
}

fn with_partner(
    command: &str,
    role: Role,
    table: TableArgs,
    partner: &PartnerOptions,
    common: &Common,
) -> u8 {
    let partner = match find_partner(partner) {
        Ok(partner) => partner,
        Err(message) => return refuse(command, &message),
    };
    let (output, inputs) = (table.output.clone(), vec![table.input.clone()]);
    let job = Job { role, table, settings: common.settings() };
    run(command, common, output.as_deref(), &inputs, |on_event, cancel, rng| {
        job.run(&partner, cancel, rng, on_event)
    })
}

/// What every run has: a screen, events, signals, randomness, a report.
fn run(
    command: &str,
    common: &Common,
    output: Option<&Path>,
    inputs: &[PathBuf],
    play: impl FnOnce(OnEvent<'_>, &CancelToken, &mut StdRng) -> Outcome,
) -> u8 {
    let cancel = CancelToken::new();
    let prepared = signals::watch(&cancel).map_err(|error| error.to_string()).and_then(|received| {
        let rng = StdRng::try_from_rng(&mut SysRng).map_err(|error| format!("no randomness: {error}"))?;
        Ok((received, rng))
    });
    let (received, mut rng) = match prepared {
        Ok(prepared) => prepared,
        Err(message) => {
            say(&format!("vesica {command}: {message}"));
            return Kind::Internal.exit_code();
        }
    };
    let (report, events) = match open_logs(common, output, inputs) {
        Ok(opened) => opened,
        Err(message) => return refuse(command, &message),
    };
    let screen = Screen::new(common.quiet);
    if common.settings().security == Security::SemiHonest {
        screen.line("security: semi-honest (it protects against a partner that follows the protocol and looks at all it sees)");
    }
    if common.settings().timeout < BUSY {
        screen.line("with a --timeout under 15 s a partner that is busy may be taken for one that is silent");
    }
    let on_event = |event: &Event| {
        screen.show(event);
        // How it ended is told below, when the outcome is known.
        if !matches!(event, Event::Done { .. } | Event::Failed { .. }) {
            events.write(event);
        }
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

fn find_partner(options: &PartnerOptions) -> Result<Partner, String> {
    let address = match (&options.listen, &options.connect) {
        (Some(address), _) => Address::Listen(address.clone()),
        (None, Some(address)) => Address::Connect(address.clone()),
        (None, None) => return Err("give --listen or --connect".into()),
    };
    let Some(peer) = &options.peer else { return Ok(Partner { address, keys: None }) };
    let peer = public_key(peer)?;
    let path = options.identity.clone().map_or_else(default_path, Ok)?;
    let identity = Identity::load(&path).map_err(|error| {
        format!("{error}\n  what to do: name the identity with --identity, or make one with `vesica keygen`")
    })?;
    if *identity.public_key() == peer {
        return Err(
            "--peer is this side's own public key; give the one that the partner's `vesica keygen` printed"
                .into(),
        );
    }
    Ok(Partner { address, keys: Some((identity, peer)) })
}

/// The text itself, or `@FILE` that holds it.
fn public_key(argument: &str) -> Result<PublicKey, String> {
    let text = match argument.strip_prefix('@') {
        None => argument.to_owned(),
        Some(path) => {
            let size = fs::metadata(path).map_err(|error| format!("--peer @{path}: {error}"))?.len();
            if size > PUBLIC_KEY_FILE {
                return Err(format!("--peer @{path}: {size} bytes are too many for a public key"));
            }
            fs::read_to_string(path).map_err(|error| format!("--peer @{path}: {error}"))?
        }
    };
    text.trim().parse().map_err(|error| format!("--peer: {error}"))
}

/// Report and events, if asked for. Their places are checked before the run: no two of output, report and events are the
/// same, and none is an input.
fn open_logs(
    common: &Common,
    output: Option<&Path>,
    inputs: &[PathBuf],
) -> Result<(Option<Output>, Events), String> {
    let (report, events) = (common.report.as_deref(), common.events.as_deref());
    let places = [output, report, events];
    let same = |(i, place): (usize, &Option<&Path>)| place.is_some() && places[..i].contains(place);
    if places.iter().enumerate().any(same) {
        return Err("--output, --report and --events need different places".into());
    }
    let ids: Vec<FileId> = inputs.iter().filter_map(|input| FileId::of_path(input).ok()).collect();
    let check =
        |path| Output::check(path, &ids.iter().collect::<Vec<_>>()).map_err(|error| error.to_string());
    let report = report.map(check).transpose()?;
    events.map(check).transpose()?;
    let events = Events::open(events).map_err(|error| format!("--events: cannot be written: {error}"))?;
    Ok((report, events))
}

fn write_report(file: Output, report: &Report) -> Result<(), TableError> {
    file.commit(|out| {
        let failed = |source| TableError::Write { path: String::new(), source };
        serde_json::to_writer_pretty(&mut *out, report).map_err(|error| failed(error.into()))?;
        out.write_all(b"\n").map_err(failed)
    })
}
