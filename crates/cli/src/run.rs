//! `vesica receive`, `send`, `assist` and `local`: from arguments to an exit code.

use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rand_core::CryptoRng;
use vesica::assist::{self, AssistJob};
use vesica::channel::CancelToken;
use vesica::job::{ByPost, Destination, Ended, Job, OnEvent, Partner, TableArgs};
use vesica::net::Address;
use vesica::output_paths::{self, RecordPlaces};
use vesica::partner::AddressOptions;
use vesica::protocols::{Learns, Role};
use vesica::report::{Event, Report};
use vesica::results::ResultChoice;
use vesica::settings::Settings;
use vesica::table::{self, Cancelled};
use vesica::text::{Text, Voice};
use vesica::{Error, Kind, RunPhase, local, partner, randomness};

use crate::args::{Assist, Common, Local, PartnerOptions, Receive, Records, Send, TableOptions};
use crate::deadline::Net;
use crate::events::Events;
use crate::outbox::outbox;
use crate::run_file;
use crate::screen::{self, Screen, say};
use crate::{signals, system};

/// A shell's code for a program whose reader has closed the pipe: 128, and the number of PIPE.
const READER_LEFT: u8 = 141;

/// A partner sends a heartbeat every five seconds. A time-out below three of them may end a run with a busy partner.
const LEAST_TIMEOUT: Duration = Duration::from_secs(15);

/// `vesica receive`.
pub(crate) fn receive(mut args: Receive) -> u8 {
    args.common.records.receipt = args.partner.receipt.take();
    with_partner("receive", Role::Receiver, args.table, args.output, &args.partner, &args.common)
}

/// `vesica send`.
pub(crate) fn send(mut args: Send) -> u8 {
    args.common.records.receipt = args.partner.receipt.take();
    with_partner("send", Role::Sender, args.table, args.output, &args.partner, &args.common)
}

/// `vesica assist`.
pub(crate) fn assist(args: &Assist) -> u8 {
    let settings = args.records.noted_in(&args.options.settings);
    let mut protected: Vec<PathBuf> =
        args.identity.clone().or_else(|| partner::default_identity().ok()).into_iter().collect();
    protected.extend(args.peer.iter().filter_map(|peer| peer.strip_prefix('@')).map(PathBuf::from));
    run("assist", (&settings, &args.records), (None, None), &protected, |on_event, cancel, rng| {
        match find_parties(args, &settings) {
            Ok(job) => job.run(cancel, rng, on_event),
            Err(error) => assist::refuse(error, &settings, on_event),
        }
    })
}

fn find_parties(args: &Assist, settings: &Settings) -> Result<AssistJob, Error> {
    let [one, two] = &args.peer[..] else {
        let message = format!("a helper has two parties, and `--peer` is given {} times", args.peer.len());
        return Err(Error::usage(message, "give `--peer` twice, once for each party's public key"));
    };
    let address = partner::address(Some(&args.listen), None)?;
    let Address::Listen(address) = address else { return Err(Error::usage("no address", "give `--listen`")) };
    let peers = [partner::peer_key(one)?, partner::peer_key(two)?];
    AssistJob::new(address, partner::identity(args.identity.as_deref())?, peers, settings.clone())
}

/// `vesica local`.
pub(crate) fn local(args: Local) -> u8 {
    let (mine, theirs) = (args.mine(), args.theirs());
    let inputs = vec![args.receiver.clone(), args.sender.clone()];
    if inputs.iter().all(|input| input.as_os_str() == "-") {
        let message = "both tables are standard input (`-`), which can be read only once";
        return refused("local", &Error::usage(message, "name a file for `--receiver` or for `--sender`"));
    }
    let settings = args.common.settings();
    let output = match result_place(args.output.as_deref(), &settings, &args.common.records) {
        Ok(output) => output,
        Err(error) => return refused("local", &error),
    };
    let receiver = TableArgs {
        input: args.receiver.into(),
        keys: mine,
        dialect: args.text.receiver(),
        output,
        protected: inputs.clone(),
    };
    let sender = TableArgs {
        input: args.sender.into(),
        keys: theirs,
        dialect: args.text.sender(),
        output: Destination::RowNumbers,
        protected: Vec::new(),
    };
    let said = caution(&settings, args.output.as_deref()).or_else(|| {
        let both = settings.learns == Learns::Both;
        both.then_some("`--output` is what the receiver gets; what the sender would get is not written")
    });
    let written = (args.output.as_deref(), said);
    run("local", (&settings, &args.common.records), written, &inputs, |on_event, cancel, rng| {
        let mut other = match randomness() {
            Ok(other) => other,
            Err(error) => {
                let settings = settings.clone();
                return Job { role: Role::Sender, table: sender, settings }.refuse(error, on_event);
            }
        };
        let (receiver, sender) = local::run(receiver, sender, &settings, cancel, [rng, &mut other], on_event);
        local::combined(receiver, sender)
    })
}

fn with_partner(
    command: &'static str,
    role: Role,
    table: TableOptions,
    output: Option<PathBuf>,
    partner: &PartnerOptions,
    common: &Common,
) -> u8 {
    let Some(input) = table.input() else {
        return refused(command, &Error::usage("no table", "give `--input`"));
    };
    if input.as_os_str() == "-" && partner.identity.as_deref().is_some_and(|path| path.as_os_str() == "-") {
        let error = Error::usage(
            "only one of `--input` and `--identity` can be standard input",
            "name a file for one of the two",
        );
        return refused(command, &error);
    }
    let settings = common.settings();
    let place = match role {
        Role::Receiver => result_place(output.as_deref(), &settings, &common.records),
        Role::Sender => Ok(output.clone().map_or(Destination::RowNumbers, Destination::Path)),
    };
    let place = match place {
        Ok(place) => place,
        Err(error) => return refused(command, &error),
    };
    let protected = protected(Some(&input), partner);
    let table = TableArgs {
        input: input.into(),
        keys: table.keys(),
        dialect: table.text.clone().dialect(),
        output: place,
        protected: protected.clone(),
    };
    let job = Job { role, table, settings: settings.clone() };
    let written = (output.as_deref(), caution(&settings, output.as_deref()));
    run(command, (&settings, &common.records), written, &protected, |on_event, cancel, rng| {
        if let Some(post) = &partner.post {
            return by_post(job, post, partner, (cancel, rng), on_event);
        }
        let met = find_partner(partner).and_then(|met| {
            let file = run_file::for_partner(&job, &met);
            let to = partner.write_run_file.as_deref();
            to.map_or(Ok(()), |to| run_file::write(to, &file, &met.address))?;
            let line = run_file::line(&file, &job, &met).filter(|_| partner.run_file.is_none());
            Ok((met, line))
        });
        match met {
            Ok((met, line)) => {
                let ended = job.run(&met, cancel, rng, &|event| {
                    on_event(event);
                    if let (Event::Started { .. }, Some(line)) = (event, &line) {
                        on_event(&Event::Notice { message: Text::words(line) });
                    }
                });
                // A file that the partner was never waited for with is of no use.
                let unmet = |error: &Error| {
                    matches!(error.phase, RunPhase::Prepare | RunPhase::Read | RunPhase::Count)
                };
                if ended.result.as_ref().err().is_some_and(unmet) {
                    partner.write_run_file.iter().for_each(|file| drop(std::fs::remove_file(file)));
                }
                ended
            }
            Err(error) => job.refuse(error, on_event),
        }
    })
}

/// A run by post.
fn by_post(
    job: Job,
    post: &Path,
    partner: &PartnerOptions,
    (cancel, rng): (&CancelToken, &mut dyn CryptoRng),
    on_event: OnEvent<'_>,
) -> Ended {
    let peer = partner.peer.as_deref().unwrap_or_default();
    let found = partner::peer_key(peer)
        .and_then(|peer| partner::identity(partner.identity.as_deref()).map(|identity| (peer, identity)));
    match found {
        Ok((peer, identity)) => {
            let run = partner.run.as_deref().unwrap_or_default();
            let ledger = partner.ledger.as_deref();
            let way = ByPost { post, identity: &identity, peer, run, ledger };
            job.run_by_post(&way, cancel, rng, on_event)
        }
        Err(error) => job.refuse(error, on_event),
    }
}

/// Where the receiver's result goes. Rows need a file; another result is on the screen too.
fn result_place(output: Option<&Path>, settings: &Settings, records: &Records) -> Result<Destination, Error> {
    match output {
        Some(path) => Ok(Destination::Path(path.to_owned())),
        None if settings.result.result == ResultChoice::Rows => {
            Err(Error::usage("no file for the matching rows", "give `--output FILE`, or `--output -`"))
        }
        None if records.quiet && records.report.is_none() => Err(Error::usage(
            "with `--quiet` and without `--output`, nothing would show the result",
            "give `--output FILE`, or leave out `--quiet`",
        )),
        None => Ok(Destination::RowNumbers),
    }
}

/// Files that nothing that the run writes may replace.
fn protected(input: Option<&PathBuf>, partner: &PartnerOptions) -> Vec<PathBuf> {
    let mut protected: Vec<_> = input.into_iter().cloned().collect();
    protected.extend(partner.identity.clone().or_else(|| partner::default_identity().ok()));
    let keys = [&partner.peer, &partner.helper_key];
    let keys = keys.into_iter().filter_map(Option::as_ref).chain(&partner.via_key);
    let key_files = keys.filter_map(|key| key.strip_prefix('@'));
    protected.extend(key_files.map(PathBuf::from));
    let kept = [&partner.keep_base_ots, &partner.ledger, &partner.run_file, &partner.write_run_file];
    // A folder is none of these, which whoever opens it says. Only as an input it stands for its files.
    protected.extend(kept.into_iter().flatten().filter(|path| !path.is_dir()).cloned());
    protected
}

/// Runs `play` with what every run has: a screen, events, signals, a deadline, randomness, a report. Nothing may replace a
/// file of `protected`. `caution` is for the screen.
pub(crate) fn run(
    command: &'static str,
    (settings, records): (&Settings, &Records),
    (output, caution): (Option<&Path>, Option<&str>),
    protected: &[PathBuf],
    play: impl FnOnce(OnEvent<'_>, &CancelToken, &mut (dyn CryptoRng + std::marker::Send)) -> Ended,
) -> u8 {
    let cancel = CancelToken::new();
    let threads = || -> io::Result<_> {
        let received = signals::watch(command, &cancel)?;
        let net = Net::start(command, settings.deadline, &cancel)?;
        Ok((received, net, Screen::new(records.quiet, settings.timeout)?))
    };
    let threads =
        threads().map_err(|error| Error::resources(RunPhase::Prepare, "cannot start a thread", &error));
    let ((received, net, screen), mut rng) = match threads.and_then(|threads| Ok((threads, randomness()?))) {
        Ok(prepared) => prepared,
        Err(error) => return refused(command, &error),
    };
    let given_up = || net.logs().is_cancelled();
    let opened = open_logs(records, output, protected, &given_up);
    let played = opened.and_then(|(places, events)| {
        // Until the first phase an identity is read.
        net.ends_with(Kind::Input.exit_code());
        caution.into_iter().for_each(|caution| screen.line(caution));
        if settings.timeout < LEAST_TIMEOUT {
            screen
                .line("with a `--timeout` below 15 s, this side may give up on a partner that is only busy");
        }
        with_events(&events, |tell| {
            let on_event = |event: &Event| {
                net.see(event);
                screen.show(event);
                // The last event is told below, once the outcome is known.
                if !matches!(event, Event::Done { .. } | Event::Failed { .. }) {
                    tell(event);
                }
                #[cfg(feature = "testing")]
                crate::testing::at(event, &cancel);
            };
            let outcome = play(&on_event, &cancel, &mut rng);
            let report_copy = Box::new(outcome.report.clone());
            tell(&match outcome.result {
                Ok(_) => Event::Done { report: report_copy },
                Err(_) => Event::Failed { report: report_copy },
            });
            let written = write_records(&outcome.report, places, records, &screen, net.logs());
            let end = End { command, output, outcome, written, cancel: &cancel };
            end.tell(screen, &net, &received)
        })
    });
    played.unwrap_or_else(|error| {
        let error = net.explain(error, &cancel);
        screen::failure(command, &error);
        exit_code(&error, &received)
    })
}

/// A report or a receipt that was not written.
struct Unwritten<'a> {
    what: &'static str,
    place: Option<&'a Path>,
    error: Error,
}

/// Writes report and receipt to their places.
fn write_records<'a>(
    report: &Report,
    RecordPlaces { report: report_place, receipt: receipt_place, .. }: RecordPlaces,
    records: &'a Records,
    screen: &Screen,
    cancel: &CancelToken,
) -> Result<(), Unwritten<'a>> {
    let written = [
        ("report", &records.report, report_place.map(|place| report.write(place, cancel))),
        ("receipt", &records.receipt, receipt_place.map(|place| report.write_receipt(place, cancel))),
    ];
    let mut ended = Ok(());
    for (what, place, written) in written {
        match written {
            Some(Ok(Some(name))) => screen.line(&format!("the {what} is in {name}")),
            Some(Err(error)) if ended.is_ok() => {
                ended = Err(Unwritten { what, place: place.as_deref(), error });
            }
            _ => {}
        }
    }
    ended
}

/// Has events written by a thread of its own, and waits for the last one.
fn with_events<T>(events: &Events<'_>, act: impl FnOnce(&(dyn Fn(&Event) + Sync)) -> T) -> Result<T, Error> {
    let (outbox, lines) = outbox();
    thread::scope(|scope| {
        let write = || lines.each(|line| events.write_line(|_| Ok(line.to_owned())));
        thread::Builder::new()
            .name("vesica-events".into())
            .spawn_scoped(scope, write)
            .map_err(|error| Error::resources(RunPhase::Prepare, "cannot start a thread", &error))?;
        let acted = act(&|event| {
            let missable = matches!(event, Event::Progress { .. });
            if !(missable && outbox.is_behind()) {
                events.line(event).into_iter().for_each(|line| outbox.put(line));
            }
        });
        drop(outbox);
        Ok(acted)
    })
}

/// How a run has ended, and what is told of it.
struct End<'a> {
    command: &'static str,
    output: Option<&'a Path>,
    outcome: Ended,
    /// Whether report and receipt were written, if there are any.
    written: Result<(), Unwritten<'a>>,
    cancel: &'a CancelToken,
}

impl End<'_> {
    /// Shows it; gives the exit code.
    fn tell(self, screen: Screen, net: &Net, received: &signals::Received) -> u8 {
        let End { command, output, outcome, written, cancel } = self;
        let failed = |error: &Error, place| match reader_left(error, place) {
            true => READER_LEFT,
            false => exit_code(error, received),
        };
        let written = written
            .map_err(|unwritten| Unwritten { error: net.explain(unwritten.error, cancel), ..unwritten });
        let code = match (&outcome.result, &written) {
            (Err(error), _) => failed(error, output),
            (Ok(_), Err(unwritten)) => failed(&unwritten.error, unwritten.place),
            (Ok(_), Ok(())) => 0,
        };
        net.ends_with(code);
        if outcome.result.is_ok() {
            let shown = output.filter(|path| table::standard(path).is_none()).map(table::shown_path);
            screen.line(&screen::summary(&outcome.report, shown.as_deref(), command == "local"));
        }
        screen.end();
        match (&outcome.result, &written) {
            (Err(error), _) if code != READER_LEFT => screen::failure(command, error),
            (Ok(_), Err(Unwritten { what, error, .. })) if code != READER_LEFT => {
                let error = error.render(Voice::Shell);
                say(&format!("vesica {command}: the run succeeded, but its {what} was not written: {error}"));
            }
            _ => {}
        }
        code
    }
}

/// What a user may not expect of these options.
fn caution(settings: &Settings, output: Option<&Path>) -> Option<&'static str> {
    let only_shown = settings.learns == Learns::Both && output.is_none();
    only_shown.then_some(match settings.result.result {
        ResultChoice::Rows => "without `--output`, only the number of matching rows is shown",
        _ => "without `--output`, the result is only shown",
    })
}

fn exit_code(error: &Error, received: &signals::Received) -> u8 {
    match error.kind {
        Kind::Interrupted => received.exit_code().unwrap_or(Kind::Interrupted.exit_code()),
        kind => kind.exit_code(),
    }
}

/// Whether the program that reads standard output has closed it early, as `| head` does.
fn reader_left(error: &Error, place: Option<&Path>) -> bool {
    let to_stdout = place.and_then(table::standard) == Some(table::Standard::Output);
    error.kind == Kind::Output && to_stdout && system::reader_left()
}

/// The end of a run before its events file is open.
fn refused(command: &str, error: &Error) -> u8 {
    screen::failure(command, error);
    error.kind.exit_code()
}

fn find_partner(options: &PartnerOptions) -> Result<Partner, Error> {
    let place = AddressOptions {
        listen: options.listen.as_deref(),
        connect: options.connect.as_deref(),
        via: &options.via,
        via_keys: &options.via_key,
        run: options.run.as_deref(),
    };
    let address = place.address()?;
    let Some(peer) = &options.peer else { return Ok(Partner::insecure(address)) };
    let peer = partner::peer_key(peer)?;
    let partner = Partner::authenticated(address, partner::identity(options.identity.as_deref())?, peer)?;
    let partner = partner.helped_by(options.helper.as_deref(), options.helper_key.as_deref())?;
    options.run_file.as_deref().map_or(Ok(()), |file| run_file::check(file, &partner))?;
    Ok(partner.keeping_base_ots(options.keep_base_ots.clone()).noted_in(options.ledger.clone()))
}

/// Report, receipt and events, if asked for.
fn open_logs<'a>(
    records: &Records,
    output: Option<&Path>,
    protected: &[PathBuf],
    cancelled: Cancelled<'a>,
) -> Result<(RecordPlaces, Events<'a>), Error> {
    let mut places = output_paths::check(output, records.paths(), protected)?;
    let events = Events::open(places.events.take(), cancelled);
    Ok((places, events.map_err(|error| Error::log(RunPhase::Prepare, &error))?))
}
