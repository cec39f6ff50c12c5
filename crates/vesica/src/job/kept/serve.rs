//! `serve`: answers to look-ups, within budgets.
//!
//! It computes on the cores, and never on a card: a batch has 512 keys, which a launch of a card is not worth, and it is
//! answered before the next one is read.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rand_core::CryptoRng;
use vesica_channel::{CancelToken, Channel, ChannelError};
use vesica_kept::{Chain, Charge, Ledger};
use vesica_net::{Address, Connection, Identity, NetEvent, Options, PublicKey, serve_peers};
use vesica_protocols::public_key::voprf::SecretKey;
use vesica_protocols::{Error as ProtocolError, Role};

mod by_post;
mod notice;

pub use notice::ServeNotice;

use super::wire::{
    ANSWERED, FAILED, OVER_BUDGET, RECEIVER_HELLO, ReceiverHello, SERVER, ServerHello, TOO_MANY, Want,
    recv_elements, recv_u32, refuse,
};
use super::{BATCH, PROTOCOL, open_chain, secret};
use crate::job::post_box::PostBox;
use crate::job::queue::Queue;
use crate::job::relay::allowed;
use crate::session::exchange_digests;
use crate::session::partner::Partner;
use crate::session::signing::{self, Signing, Told};
use crate::session::strangers::{Dropped, Strangers};
use crate::words::error::{Error, RunPhase, caught};
use crate::words::randomness::randomness;
use crate::words::settings::{Settings, count};

/// The options of the list that a server takes.
pub const OPTIONS: [&str; 2] = ["threads", "timeout"];

/// Connections of one receiver at once.
const MOST_OF_ONE: usize = 16;
/// Bytes of a file that are sent at a time.
const PIECE: usize = 1 << 16;
/// Between two looks whether the set has new files.
const LOOK: Duration = Duration::from_secs(1);
/// How long a receiver that was refused may take to leave, and how much of 32 bytes is taken in until then.
const FAREWELL: Duration = Duration::from_secs(10);
const MOST_UNREAD: usize = 1 << 20;
/// Stack of a connection's thread.
const STACK: usize = 1 << 20;

const ASK: &str = "give `[allow]` for each receiver: the line that its `vesica keygen` printed, or `@FILE` with a file that \
                   holds one key a line";

/// The most keys of a receiver in a day, as a user writes it: a number from 1 on, or `2^N`.
///
/// # Errors
/// What to write instead.
pub fn most_a_day(text: &str) -> Result<u64, String> {
    let number = count(text)?;
    if number > 0 {
        Ok(number)
    } else {
        Err("write 1 or more; a receiver who is not allowed gets nothing".to_owned())
    }
}

/// A server of a set.
pub struct ServeJob {
    place: Place,
    identity: Identity,
    allow: Vec<PublicKey>,
    secret: SecretKey,
    set: PathBufs,
    ledger: Ledger,
    /// The most keys that a receiver may ask for in a UTC day.
    most_a_day: Option<u64>,
    settings: Settings,
}

/// Where receivers come.
pub enum Place {
    /// To an address, or to a relay.
    Address(Address),
    /// To a post-box: what is there is answered, and that is all.
    Post(PathBuf),
}

/// What a server needs, as a user gives it.
pub struct ServeOptions<'a> {
    /// Where receivers come.
    pub place: Place,
    /// Who the sender is: its sets are signed with this.
    pub identity: Identity,
    /// The receivers: public keys, or `@FILE` with one a line.
    pub allow: &'a [String],
    /// The file of the OPRF's key.
    pub secret: &'a Path,
    /// The files of the set; a folder stands for those in it, and is looked at again.
    pub set: &'a [PathBuf],
    /// Where it is written down who asked for how many keys.
    pub ledger: &'a Path,
    /// The most keys that a receiver may ask for in a UTC day.
    pub most_a_day: Option<u64>,
    /// Threads and the time-out.
    pub settings: Settings,
}

/// The paths of a set.
struct PathBufs(Vec<PathBuf>);

impl PathBufs {
    /// The files there, and when they were written, to see whether anything has changed.
    fn listing(&self) -> Vec<(PathBuf, Option<SystemTime>)> {
        let mut files = Vec::new();
        for path in &self.0 {
            match fs::read_dir(path) {
                Ok(folder) => files.extend(folder.flatten().map(|file| file.path())),
                Err(_) => files.push(path.clone()),
            }
        }
        files.sort_unstable();
        let written = |path: &PathBuf| fs::metadata(path).and_then(|about| about.modified()).ok();
        files.into_iter().map(|path| (path.clone(), written(&path))).collect()
    }
}

impl ServeJob {
    /// A server.
    ///
    /// # Errors
    /// If the address is none, a key or a file cannot be read, the secret is not the set's, or the ledger is another's.
    pub fn new(options: ServeOptions<'_>) -> Result<Self, Error> {
        let ServeOptions { place, identity, allow, secret, set, ledger, most_a_day, settings } = options;
        if let Place::Address(address) = &place {
            address.check().map_err(|error| Error::net(RunPhase::Prepare, &error))?;
        }
        let mut keys = Vec::new();
        for argument in allow {
            keys.extend(allowed(argument, ASK)?);
        }
        keys.sort_unstable();
        keys.dedup();
        if keys.is_empty() {
            return Err(Error::usage("nobody is allowed to ask", ASK));
        }
        let secret = secret::load(secret)?;
        let chain = open_chain(set, *identity.public_key())?;
        is_key_of(&secret, &chain)?;
        let ledger = Ledger::open(ledger).map_err(|error| Error::ledger(&error))?;
        let set = PathBufs(set.to_vec());
        Ok(ServeJob { place, identity, allow: keys, secret, set, ledger, most_a_day, settings })
    }

    /// Serves until `stop` is cancelled. `on_notice` is called from one thread, which may take its time: what it does not take
    /// is left out.
    ///
    /// # Errors
    /// If it cannot listen, or the ledger cannot be written.
    pub fn run(
        self,
        stop: &CancelToken,
        rng: &mut dyn CryptoRng,
        on_notice: impl FnMut(&ServeNotice) + Send + 'static,
    ) -> Result<(), Error> {
        let queue = Queue::start("vesica-serve-log", on_notice, |events| ServeNotice::LeftOut { events })
            .map_err(|error| Error::resources(RunPhase::Prepare, "cannot start a thread", &error))?;
        let chain = open_chain(&self.set.0, *self.identity.public_key())?;
        let listing = self.set.listing();
        let hall = Hall {
            job: &self,
            stop,
            queue: &queue,
            loaded: Mutex::new(Loaded { chain: Arc::new(chain), listing, looked: Instant::now() }),
            of_each: Mutex::default(),
            free: (Mutex::new(self.settings.threads()), Condvar::new()),
            failed: Mutex::new(None),
        };
        hall.tell_set(&hall.loaded().chain);
        let ended = match &self.place {
            Place::Post(post) => PostBox::at(post, stop).and_then(|post| hall.post(&post, rng)),
            Place::Address(at @ Address::Via(_)) => thread::scope(|scope| hall.at_relay(at, scope)),
            Place::Address(Address::Listen(at) | Address::Connect(at)) => {
                thread::scope(|scope| hall.listen(at, scope, rng))
            }
        };
        if stop.is_cancelled() {
            queue.put(ServeNotice::Stopping);
        }
        let failed = hall.failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        queue.close();
        match (failed, ended) {
            (Some(error), _) => Err(error),
            (None, Err(error)) if !stop.is_cancelled() => Err(error),
            _ => Ok(()),
        }
    }
}

/// Refuses a key that is not the set's.
fn is_key_of(secret: &SecretKey, chain: &Chain) -> Result<(), Error> {
    match secret.public_key().encoded() == chain.head().epoch.public_key {
        true => Ok(()),
        false => Err(Error::usage(
            "`[secret]` is not the key of the set",
            "name the file that `vesica publish` made for this set",
        )),
    }
}

/// The files as they were found last.
struct Loaded {
    chain: Arc<Chain>,
    listing: Vec<(PathBuf, Option<SystemTime>)>,
    looked: Instant,
}

/// Where receivers are attended to.
struct Hall<'a> {
    job: &'a ServeJob,
    stop: &'a CancelToken,
    queue: &'a Queue<ServeNotice>,
    loaded: Mutex<Loaded>,
    /// Connections of each receiver.
    of_each: Mutex<HashMap<PublicKey, usize>>,
    /// Threads that may compute.
    free: (Mutex<usize>, Condvar),
    /// What ends the server.
    failed: Mutex<Option<Error>>,
}

/// What the ledger knows a batch by.
fn query(receiver: PublicKey, blinded: &[[u8; 32]]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("vesica kept set: query v1");
    hasher.update(receiver.as_bytes()).update(blinded.as_flattened());
    *hasher.finalize().as_bytes()
}

/// Why a connection ends early. Nothing of it concerns other connections.
enum Ended {
    /// It broke, or the receiver misbehaved.
    Broken,
    /// It was told why.
    Refused(&'static str),
}

impl From<ChannelError> for Ended {
    fn from(_: ChannelError) -> Self {
        Ended::Broken
    }
}

impl<'a> Hall<'a> {
    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell_set(&self, chain: &Chain) {
        let epoch = &chain.head().epoch;
        let (number, key_number, keys) = (epoch.number, epoch.key_number, epoch.keys);
        self.queue.put(ServeNotice::Set { epoch: number, key_number, keys });
    }

    /// The set, with the files that have come since.
    fn chain(&self) -> Arc<Chain> {
        let mut loaded = self.loaded();
        if loaded.looked.elapsed() < LOOK {
            return loaded.chain.clone();
        }
        loaded.looked = Instant::now();
        let listing = self.job.set.listing();
        if listing != loaded.listing {
            let opened = open_chain(&self.job.set.0, *self.job.identity.public_key());
            match opened.and_then(|chain| is_key_of(&self.job.secret, &chain).map(|()| chain)) {
                Ok(chain) => {
                    self.tell_set(&chain);
                    loaded.chain = Arc::new(chain);
                }
                Err(error) => {
                    let message = format!("the set's new files are not used: {}", error.message.shell());
                    self.queue.put(ServeNotice::Trouble { message });
                }
            }
            loaded.listing = listing;
        }
        loaded.chain.clone()
    }

    fn hello(&self) -> ServerHello {
        let chain = self.chain();
        let epoch = &chain.head().epoch;
        ServerHello {
            public_key: epoch.public_key,
            key_number: epoch.key_number,
            epoch: epoch.number,
            digest: *chain.digest(),
            most_keys: epoch.most_keys_a_query,
            most_a_day: self.job.most_a_day.unwrap_or(0),
        }
    }

    fn options(&self) -> Options {
        Options { silence: self.job.settings.timeout, cancel: self.stop.clone() }
    }

    /// Waits at an address.
    fn listen<'scope>(
        &'scope self,
        address: &str,
        scope: &'scope thread::Scope<'scope, '_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Error> {
        let strangers = &mut Strangers::default();
        let own = self.job.identity.public_key().to_string();
        let mut on_event = |event: NetEvent| match event {
            NetEvent::Listening(address) => {
                self.queue.put(ServeNotice::Listening { address: address.to_string(), key: own.clone() });
            }
            NetEvent::StrangerDropped { from, reason } => {
                if let Some(Dropped { what, rest }) = strangers.message(from, &reason, Instant::now()) {
                    self.queue.put(ServeNotice::TurnedAway { message: what + rest });
                }
            }
            _ => {}
        };
        let mut each = |channel: Connection| self.admit(channel, scope);
        let options = self.options();
        let place = (&self.job.identity, &self.job.allow[..]);
        serve_peers(address, place.0, place.1, SERVER, &options, rng, (&mut each, &mut on_event))
            .map_err(|error| Error::net(RunPhase::Connect, &error))
    }

    /// Waits at a relay, for each receiver.
    fn at_relay<'scope>(
        &'scope self,
        relay: &Address,
        scope: &'scope thread::Scope<'scope, '_>,
    ) -> Result<(), Error> {
        for receiver in &self.job.allow {
            let partner = Partner::authenticated(relay.clone(), self.job.identity.clone(), *receiver)?;
            let wait = move || {
                let Ok(mut rng) = randomness() else { return };
                while !self.stop.is_cancelled() {
                    let met = partner.meet(SERVER, &self.options(), &mut rng, &mut |_| {});
                    match met {
                        Ok(channel) => self.admit(channel, scope),
                        // Nobody came, or the relay is gone for a while.
                        Err(_) => thread::sleep(LOOK),
                    }
                }
            };
            thread::Builder::new()
                .name("vesica-serve-wait".into())
                .stack_size(STACK)
                .spawn_scoped(scope, wait)
                .map_err(|error| Error::resources(RunPhase::Connect, "cannot start a thread", &error))?;
        }
        Ok(())
    }

    /// Attends to a connection on a thread of its own.
    fn admit<'scope>(&'scope self, channel: Connection, scope: &'scope thread::Scope<'scope, '_>) {
        let Some(receiver) = channel.peer_key().copied() else { return };
        {
            let mut of_each = self.of_each.lock().unwrap_or_else(PoisonError::into_inner);
            let count = of_each.entry(receiver).or_default();
            if *count == MOST_OF_ONE {
                let why = "it has too many connections at once";
                return self.queue.put(ServeNotice::Refused { key: receiver.short(), why });
            }
            *count += 1;
        }
        let attend = move || {
            let ended = caught(|| self.attend(receiver, channel)).ok();
            if let Some(Err(Ended::Refused(why))) = ended {
                self.queue.put(ServeNotice::Refused { key: receiver.short(), why });
            }
            let mut of_each = self.of_each.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(count) = of_each.get_mut(&receiver) {
                *count -= 1;
            }
        };
        // Where there is no thread for it, the connection just ends, and the receiver comes again.
        drop(
            thread::Builder::new().name("vesica-serve".into()).stack_size(STACK).spawn_scoped(scope, attend),
        );
    }

    fn attend(&self, receiver: PublicKey, mut channel: Connection) -> Result<(), Ended> {
        channel.expect_within(Some(self.job.settings.timeout));
        let (server, mine) = (self.hello(), Told::at(signing::now()));
        channel.send(&server.encode())?;
        channel.send(&mine.encode())?;
        channel.flush()?;
        let mut hello = [0; RECEIVER_HELLO];
        channel.recv_exact(&mut hello)?;
        let Some(hello) = ReceiverHello::decode(&hello) else {
            channel.abort();
            return Err(Ended::Refused("it is no look-up, or of another version"));
        };
        let theirs = Told::recv(&mut channel).map_err(|_| Ended::Broken)?;
        match hello.want {
            Want::Files => self.hand_out(receiver, &hello, &mut channel),
            Want::Query | Want::Rest => {
                let (began, mut counts) = (Instant::now(), [0, 0]);
                let answered = self.answer(receiver, &hello, &mut channel, &mut counts);
                let [keys, again] = counts;
                let seconds = began.elapsed().as_secs_f64();
                let receipt = answered.is_ok().then(|| {
                    let (mine, theirs) = ((&self.job.identity, mine), (&receiver, theirs));
                    let set = server.set_name(&hello.digest);
                    let signing = Signing::of_look_up(&channel, Role::Sender, PROTOCOL, set, mine, theirs);
                    // A receiver may go without it.
                    exchange_digests(u64::MAX, Some(&signing.asked(keys)), &mut channel, &|| ()).ok()
                });
                if keys > 0 {
                    let (key, receipt) = (receiver.short(), receipt.flatten().flatten().map(Box::new));
                    self.queue.put(ServeNotice::Answered { key, keys, again, seconds, receipt });
                }
                answered
            }
        }
    }

    /// Answers batches until the receiver has no more. `counts`: keys answered, and those of them that had been charged before.
    fn answer(
        &self,
        receiver: PublicKey,
        hello: &ReceiverHello,
        channel: &mut Connection,
        counts: &mut [u64; 2],
    ) -> Result<(), Ended> {
        let most = self.chain().head().epoch.most_keys_a_query;
        let mut rng = randomness().map_err(|_| Ended::Refused("there is no randomness"))?;
        if hello.keys > most {
            turn_down(channel, TOO_MANY, 0, 0)?;
            return Err(Ended::Refused("it asks for too many keys at once"));
        }
        // A query that is beyond the budget costs nothing; the rest of one that broke may have been charged.
        if let (Some(most_a_day), Want::Query) = (self.job.most_a_day, hello.want) {
            let (left, renews) = self.job.ledger.left(receiver.as_bytes(), most_a_day, now());
            if u64::from(hello.keys) > left {
                turn_down(channel, OVER_BUDGET, left, renews)?;
                return Err(Ended::Refused("it is over its budget"));
            }
        }
        let mut asked = 0u64;
        loop {
            let count = recv_u32(channel)?;
            if count == 0 {
                return Ok(());
            }
            asked += u64::from(count);
            if count as usize > BATCH || asked > u64::from(most) {
                turn_down(channel, TOO_MANY, 0, 0)?;
                return Err(Ended::Refused("it asks for too many keys at once"));
            }
            let blinded = recv_elements(channel, count as usize)?;
            match self.charge(receiver, &blinded, count)? {
                Charge::New => {}
                Charge::Paid => counts[1] += u64::from(count),
                Charge::Over { left, renews } => {
                    turn_down(channel, OVER_BUDGET, left, renews)?;
                    return Err(Ended::Refused("it is over its budget"));
                }
            }
            let evaluated = {
                let _permit = self.permit();
                self.job.secret.evaluate(&blinded, &mut rng)
            };
            let evaluation = match evaluated {
                Ok(evaluation) => evaluation,
                Err(ProtocolError::PeerMisbehaved(_)) => {
                    channel.abort();
                    return Err(Ended::Refused("it sent what is no blinded key"));
                }
                Err(_) => {
                    turn_down(channel, FAILED, 0, 0)?;
                    return Err(Ended::Broken);
                }
            };
            channel.send(&[ANSWERED])?;
            channel.send(evaluation.elements.as_flattened())?;
            channel.send(&evaluation.proof)?;
            channel.flush()?;
            counts[0] += u64::from(count);
        }
    }

    /// Writes a batch down.
    fn charge(&self, receiver: PublicKey, blinded: &[[u8; 32]], count: u32) -> Result<Charge, Ended> {
        let digest = query(receiver, blinded);
        let most = self.job.most_a_day;
        let charged = self.job.ledger.charge(receiver.as_bytes(), &digest, count, most, now());
        charged.map_err(|error| {
            // Nothing more can be answered.
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert_with(|| Error::ledger(&error));
            self.stop.cancel();
            Ended::Broken
        })
    }

    /// The right to compute, of which there is one for each thread.
    fn permit(&self) -> Permit<'_> {
        let mut free = self.free.0.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            free = self.free.1.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        Permit(&self.free)
    }

    /// Sends the files that the receiver lacks: those behind its epoch, or all of the chain.
    fn hand_out(
        &self,
        receiver: PublicKey,
        hello: &ReceiverHello,
        channel: &mut Connection,
    ) -> Result<(), Ended> {
        let chain = self.chain();
        let files = chain.files();
        let known = files.iter().rposition(|file| *file.digest() == hello.digest);
        let lacking = &files[known.map_or(0, |known| known + 1)..];
        channel.send(&(lacking.len() as u32).to_le_bytes())?;
        for file in lacking {
            let unread = |_| Ended::Refused("a file of the set cannot be read");
            let mut bytes = File::open(file.path()).map_err(unread)?;
            let mut left = bytes.metadata().map_err(unread)?.len();
            channel.send(&left.to_le_bytes())?;
            let mut piece = vec![0; PIECE];
            while left > 0 {
                let part = &mut piece[..PIECE.min(usize::try_from(left).unwrap_or(PIECE))];
                bytes.read_exact(part).map_err(unread)?;
                channel.send(part)?;
                left -= part.len() as u64;
            }
        }
        channel.flush()?;
        self.queue.put(ServeNotice::Fetched { key: receiver.short(), files: lacking.len() });
        let _ = channel.finish(&[]);
        Ok(())
    }
}

/// Sends a refusal, and takes in what the receiver has sent before it reads that: a connection that is closed with bytes
/// unread takes the refusal with it.
fn turn_down(channel: &mut Connection, reason: u8, left: u64, renews: u64) -> Result<(), ChannelError> {
    refuse(channel, reason, left, renews)?;
    channel.expect_within(Some(FAREWELL));
    let mut unread = [0; 32];
    for _ in 0..MOST_UNREAD {
        if channel.recv_exact(&mut unread).is_err() {
            break;
        }
    }
    Ok(())
}

/// Seconds since 1970 by this machine's clock.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// See [`Hall::permit`].
struct Permit<'a>(&'a (Mutex<usize>, Condvar));

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.1.notify_one();
    }
}
