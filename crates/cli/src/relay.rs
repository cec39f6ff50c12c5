//! `vesica relay`: from arguments to an exit code.

use std::path::PathBuf;

use vesica::channel::CancelToken;
use vesica::protocols::Phase;
use vesica::relay::{RelayJob, RelayNotice};
use vesica::{Error, output_paths, partner, randomness};

use crate::args::Relay;
use crate::events::Events;
use crate::screen::{self, say};
use crate::{signals, system};

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
    let stop = CancelToken::new();
    signals::watch_service(&stop)
        .map_err(|error| Error::resources(Phase::Prepare, "cannot watch signals", &error))?;
    let identity = partner::identity(args.identity.as_deref())?;
    let streams = args.max_streams.min(room_for_streams());
    let job = RelayJob::new(&args.listen, identity, &args.allow, args.rate, streams)?;
    let mut protected: Vec<PathBuf> =
        args.identity.clone().or_else(|| partner::default_identity().ok()).into_iter().collect();
    protected.extend(args.allow.iter().filter_map(|key| key.strip_prefix('@')).map(PathBuf::from));
    let [_, place] = output_paths::check(None, [None, args.events.as_deref()], &protected)?;
    let cancelled = || stop.is_cancelled();
    let events = Events::open(place, &cancelled).map_err(|error| Error::log(Phase::Prepare, &error))?;
    if streams < args.max_streams && !args.quiet {
        say(&format!(
            "at most {streams} connections at once: this process may have no more files open (`ulimit -n`)"
        ));
    }
    job.run(&stop, &mut randomness()?, &|notice| {
        events.write_line(|started| notice.to_json_line(started));
        if !args.quiet {
            show(notice);
        }
    })
}

/// Descriptors beside those of connections.
const SPARE: u64 = 16;

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
