//! `vesica publish`, `serve` and `lookup`: from arguments to an exit code.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use vesica::channel::CancelToken;
use vesica::job::kept::lookup::{LookupJob, Sender};
use vesica::job::kept::publish::{Change, PublishJob};
use vesica::job::kept::serve::{Place, ServeJob, ServeNotice, ServeOptions};
use vesica::job::{Destination, Partner, TableArgs};
use vesica::net::{Address, Identity, PublicKey};
use vesica::output_paths::RecordPaths;
use vesica::partner::AddressOptions;
use vesica::{Error, RunPhase, output_paths, partner, randomness};

use crate::args::{Lookup, Publish, Serve};
use crate::events::Events;
use crate::run::run;
use crate::screen::{self, say};
use crate::signals;

/// What ends the server. The thread that writes the events may outlive it, where nobody takes them.
static STOP: LazyLock<CancelToken> = LazyLock::new(CancelToken::new);

fn stopped() -> bool {
    STOP.is_cancelled()
}

/// The identity's file.
fn identity_file(named: Option<&PathBuf>) -> Option<PathBuf> {
    named.cloned().or_else(|| partner::default_identity().ok())
}

/// Files that are no folders: an output may lie in a folder.
fn files(paths: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    paths.iter().filter(|path| !path.is_dir()).cloned()
}

/// `vesica publish`.
pub(crate) fn publish(args: &Publish) -> u8 {
    let settings = args.settings();
    let mut protected: Vec<PathBuf> =
        [args.input(), args.added.clone(), args.removed.clone()].into_iter().flatten().collect();
    protected.extend(identity_file(args.identity.as_ref()).into_iter().chain([args.secret.clone()]));
    protected.extend(files(&args.previous));
    let change = match (args.input(), args.compact) {
        (Some(input), _) => Change::Table(input.into()),
        (None, true) => Change::Compact,
        (None, false) => Change::Lists {
            added: args.added.clone().map(Into::into),
            removed: args.removed.clone().map(Into::into),
        },
    };
    let output = Some(args.output.as_path());
    run("publish", (&settings, &args.records), (output, None), &protected, |on_event, cancel, rng| {
        let identity = match partner::identity(args.identity.as_deref()) {
            Ok(identity) => identity,
            Err(error) => return PublishJob::refuse(&settings, error, on_event),
        };
        let job = PublishJob {
            change,
            keys: args.keys.keys(),
            dialect: args.keys.text.clone().dialect(),
            output: args.output.clone(),
            secret: args.secret.clone(),
            identity,
            previous: args.previous.clone(),
            rotate: args.rotate,
            most_keys: args.max_keys,
            settings: settings.clone(),
        };
        job.run(cancel, rng, on_event)
    })
}

/// `vesica lookup`.
pub(crate) fn lookup(mut args: Lookup) -> u8 {
    args.records.receipt = args.receipt.take();
    let settings = args.settings();
    let input = args.table.input();
    let mut protected: Vec<PathBuf> = input.iter().cloned().collect();
    protected.extend(identity_file(args.identity.as_ref()));
    let keys = [Some(&args.peer), args.via_key.as_ref()];
    protected.extend(keys.into_iter().flatten().filter_map(|key| key.strip_prefix('@')).map(PathBuf::from));
    protected.extend(files(&args.set));
    let output = args.output.clone();
    let (records, options) = (args.records.clone(), settings.clone());
    run(
        "lookup",
        (&settings, &records),
        (Some(&output), None),
        &protected.clone(),
        |on_event, cancel, rng| {
            let found = found(&args, input);
            let (input, identity, peer, served) = match found {
                Ok(found) => found,
                Err(error) => return LookupJob::refuse(&options, error, on_event),
            };
            let sender = match (&served, &args.post) {
                (None, Some(post)) => Sender::Post { post, identity: &identity, sender: peer },
                (Some(partner), _) => Sender::Served(partner),
                (None, None) => {
                    let error = Error::usage("no address", "give `[connect]`, `[via]` or `[post]`");
                    return LookupJob::refuse(&options, error, on_event);
                }
            };
            let table = TableArgs {
                input: input.into(),
                keys: args.table.keys(),
                dialect: args.table.text.clone().dialect(),
                output: Destination::Path(args.output),
                protected,
            };
            let job = LookupJob { table, set: args.set, fetch: args.fetch, settings: options };
            job.run(&sender, cancel, rng, on_event)
        },
    )
}

/// What a look-up needs: the table, who asks, the sender's key, and where the sender serves, if not by post.
fn found(
    args: &Lookup,
    input: Option<PathBuf>,
) -> Result<(PathBuf, Identity, PublicKey, Option<Partner>), Error> {
    let input = input.ok_or_else(|| Error::usage("no table", "give `--input`"))?;
    let peer = partner::peer_key(&args.peer)?;
    let identity = partner::identity(args.identity.as_deref())?;
    let served = args.post.is_none().then(|| {
        let address = place(None, args.connect.as_deref(), args.via.as_ref(), args.via_key.as_ref())?;
        Partner::authenticated(address, identity.clone(), peer)
    });
    let served = served.transpose()?;
    Ok((input, identity, peer, served))
}

fn place(
    listen: Option<&str>,
    connect: Option<&str>,
    via: Option<&String>,
    via_key: Option<&String>,
) -> Result<Address, Error> {
    let one = |text: Option<&String>| text.cloned().into_iter().collect::<Vec<_>>();
    let (via, via_keys) = (one(via), one(via_key));
    AddressOptions { listen, connect, via: &via, via_keys: &via_keys, run: None }.address()
}

/// `vesica serve`.
pub(crate) fn serve(args: &Serve) -> u8 {
    match served(args) {
        Ok(()) => 0,
        Err(error) => {
            screen::failure("serve", &error);
            error.kind.exit_code()
        }
    }
}

fn served(args: &Serve) -> Result<(), Error> {
    signals::watch_service(&STOP)
        .map_err(|error| Error::resources(RunPhase::Prepare, "cannot watch signals", &error))?;
    let mut protected: Vec<PathBuf> = identity_file(args.identity.as_ref()).into_iter().collect();
    protected.extend([args.secret.clone(), args.ledger.clone()]);
    protected.extend(files(&args.set));
    let listed = args.allow.iter().chain(&args.via_key).filter_map(|key| key.strip_prefix('@'));
    protected.extend(listed.map(PathBuf::from));
    let records = RecordPaths { events: args.events.as_deref(), ..RecordPaths::default() };
    let to = output_paths::check(None, records, &protected)?.events;
    let events = Events::open(to, &stopped).map_err(|error| Error::log(RunPhase::Prepare, &error))?;
    let _ = crate::system::grant_descriptors();
    let job = ServeJob::new(ServeOptions {
        place: match &args.post {
            Some(post) => Place::Post(post.clone()),
            None => {
                Place::Address(place(args.listen.as_deref(), None, args.via.as_ref(), args.via_key.as_ref())?)
            }
        },
        identity: partner::identity(args.identity.as_deref())?,
        allow: &args.allow,
        secret: &args.secret,
        set: &args.set,
        ledger: Path::new(&args.ledger),
        most_a_day: args.max_keys_per_day,
        settings: args.options.settings.clone(),
    })?;
    let quiet = args.quiet;
    job.run(&STOP, &mut randomness()?, move |notice| {
        events.write_line(|started| notice.to_json_line(started));
        if !quiet {
            show(notice);
        }
    })
}

/// What the person who runs it sees.
fn show(notice: &ServeNotice) {
    match notice {
        ServeNotice::Listening { address, key } => {
            say(&format!(
                "listening on {address}; receivers give `--connect` this machine's name and port, and `--peer {key}`"
            ));
        }
        ServeNotice::Set { epoch, key_number, keys } => {
            say(&format!("the set: epoch {epoch} under key {key_number}, {keys} keys"));
        }
        ServeNotice::TurnedAway { message } | ServeNotice::Trouble { message } => say(message),
        ServeNotice::Answered { key, keys, again, seconds, .. } => {
            let again = if *again > 0 { format!(", {again} of them charged before") } else { String::new() };
            say(&format!("{key}: {keys} keys answered in {seconds:.2} s{again}"));
        }
        ServeNotice::Refused { key, why } => say(&format!("{key}: refused; {why}")),
        ServeNotice::Fetched { key, files } => say(&format!("{key}: fetched {files} files")),
        ServeNotice::LeftOut { events } => say(&format!("{events} events were left out")),
        ServeNotice::Stopping => say("stopping"),
        _ => {}
    }
}
