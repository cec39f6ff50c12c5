//! `vesica relay`: from arguments to an exit code.

use std::path::PathBuf;
use std::sync::LazyLock;

use vesica::channel::CancelToken;
use vesica::output_paths::{self, RecordPaths};
use vesica::relay::{RelayJob, RelayNotice};
use vesica::{Error, Kind, RunPhase, Side, partner, randomness};

use crate::args::Relay;
use crate::events::Events;
use crate::screen::{self, say};
use crate::{signals, system};

/// What ends the relay. The thread that writes the events may outlive it, where nobody takes them.
static STOP: LazyLock<CancelToken> = LazyLock::new(CancelToken::new);

fn stopped() -> bool {
    STOP.is_cancelled()
}

/// `vesica relay`.
pub(crate) fn run(args: &Relay) -> u8 {
    match relay(args) {
        Ok(()) => 0,
        Err(error) => {
            screen::failure("relay", &error);
            error.kind.exit_code()
        }
    }
}

fn relay(args: &Relay) -> Result<(), Error> {
    signals::watch_service(&STOP)
        .map_err(|error| Error::resources(RunPhase::Prepare, "cannot watch signals", &error))?;
    let identity = partner::identity(args.identity.as_deref())?;
    let streams = args.max_streams.min(room_for_streams());
    let job = RelayJob::new(&args.listen, identity, &args.allow, args.rate, streams)?;
    let mut protected: Vec<PathBuf> =
        args.identity.clone().or_else(|| partner::default_identity().ok()).into_iter().collect();
    protected.extend(args.allow.iter().filter_map(|key| key.strip_prefix('@')).map(PathBuf::from));
    let records = RecordPaths { events: args.events.as_deref(), ..RecordPaths::default() };
    let place = output_paths::check(None, records, &protected)?.events;
    let events = Events::open(place, &stopped).map_err(|error| Error::log(RunPhase::Prepare, &error))?;
    if streams < PAIR {
        let message = "this process may have too few files open for a single pair of connections".into();
        let remedy = "raise the limit on open files (`ulimit -n`)".into();
        let (side, phase, kind) = (Side::Ours, RunPhase::Prepare, Kind::Resources);
        return Err(Error { side, phase, kind, message, remedy });
    }
    if streams < args.max_streams && !args.quiet {
        say(&format!(
            "at most {streams} connections at once: this process may have no more files open (`ulimit -n`)"
        ));
    }
    let quiet = args.quiet;
    job.run(&STOP, &mut randomness()?, move |notice| {
        events.write_line(|started| notice.to_json_line(started));
        if !quiet {
            show(notice);
        }
    })
}

/// Descriptors beside those of connections.
const SPARE: u64 = 16;
/// The fewest streams with which two parties can meet.
const PAIR: usize = 2;

/// How many streams have a descriptor each, if this process takes all that the system lets it have. Half of them are for
/// handshakes, so that a party without room is told so.
fn room_for_streams() -> usize {
    let descriptors = system::grant_descriptors().unwrap_or(u64::MAX);
    usize::try_from((descriptors / 2).saturating_sub(SPARE)).unwrap_or(usize::MAX)
}

/// What the person who runs it has to know; the rest is in the events.
fn show(notice: &RelayNotice) {
    match notice {
        RelayNotice::Listening { address, key } => {
            say(&format!(
                "listening on {address}; both parties give `--via` this machine's name and port, and `--via-key {key}`"
            ));
        }
        RelayNotice::TurnedAway { message } => say(message),
        RelayNotice::Stopping { pairs: 0 } => say("stopping"),
        RelayNotice::Stopping { pairs } => {
            say(&format!(
                "stopping when the last pair has ended; there are {pairs}. A second signal cuts them"
            ));
        }
        _ => {}
    }
}
