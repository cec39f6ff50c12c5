//! The grants of a run's side at its relays, held open from a thread each.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use vesica_channel::{CancelToken, Cancellable, ChannelError};

use super::at_relay::{Held, Join, Label, RelayAddress, Times};
use super::connect::{Doubts, FIRST_PAUSE, LONGEST_PAUSE, dial, judge_join};
use super::names::{Names, Unresolved};
use super::race::{Lane, Miss, race};
use super::tls::Tls;
use super::{HANDSHAKE_LIMIT, Patience};
use crate::error::{NetError, RetryReason};
use crate::identity::{Identity, PublicKey};
use crate::options::Options;

/// The right of a key that was made for a run to join the run's parts at relays, in the name of the identity. It lasts until
/// this is dropped. A relay that is lost is sought again for as long as silence may last.
#[derive(Debug)]
pub struct Grants {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: CancelToken,
    /// Rounds below this one are over.
    rounds_over: AtomicU32,
    /// What has ended a grant for good.
    failed: Mutex<Option<NetError>>,
}

impl Shared {
    fn failed(&self) -> MutexGuard<'_, Option<NetError>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of the run is that of its grants.
impl Cancellable for Shared {
    fn cancel(&self) {
        self.stop.cancel();
    }
}

impl Grants {
    /// Opens a grant for that key and tag at each of the relays.
    ///
    /// # Errors
    /// If a relay is not reached within [`Options::silence`], is not the expected one, or refuses.
    pub fn open(
        relays: &[RelayAddress],
        identity: &Identity,
        run_key: PublicKey,
        tag: [u8; 32],
        options: &Options,
    ) -> Result<Self, NetError> {
        let mut grants = Self { shared: Arc::default(), threads: Vec::new() };
        let join = Join::Grant { run_key, tag: Label(tag) };
        options.cancel.watch(&grants.shared);
        // All that its threads wait for ends with it, too.
        let options = Options { cancel: grants.shared.stop.clone(), ..options.clone() };
        for relay in relays {
            let place = Place {
                tls: Tls::to_relay(identity, relay.key)?,
                join,
                relay: relay.address.clone(),
                options: options.clone(),
                shared: grants.shared.clone(),
                names: Names::default(),
            };
            let (sender, opened) = std::sync::mpsc::channel();
            let body = move || {
                place.hold(&|| {
                    // Nobody waits for it once it has been open.
                    let _ = sender.send(());
                });
            };
            let thread = thread::Builder::new().name("vesica-net-grant".into()).spawn(body);
            let thread = thread.map_err(|error| NetError::system("cannot start a thread", &error))?;
            grants.threads.push(thread);
            // Its end without a grant is that of the channel.
            if opened.recv().is_err() {
                return Err(grants.check().err().unwrap_or(ChannelError::Closed.into()));
            }
        }
        Ok(grants)
    }

    /// That round is over, and those before it: nobody waits for a part of it any more.
    pub fn end_round(&self, round: u16) {
        self.shared.rounds_over.fetch_max(u32::from(round) + 1, Relaxed);
    }

    /// What has ended one of the grants for good, if anything has.
    ///
    /// # Errors
    /// If a relay was lost for too long, or refuses.
    pub fn check(&self) -> Result<(), NetError> {
        self.shared.failed().clone().map_or(Ok(()), Err)
    }
}

impl Drop for Grants {
    fn drop(&mut self) {
        self.shared.stop.cancel();
        for thread in self.threads.drain(..) {
            // A panic there is of no more interest.
            let _ = thread.join();
        }
    }
}

/// A grant at one relay.
struct Place {
    tls: Tls,
    join: Join,
    relay: String,
    options: Options,
    shared: Arc<Shared>,
    names: Names,
}

impl Place {
    /// Opens the grant, again and again, until it is not wanted any more.
    fn hold(self, opened: &(dyn Fn() + Sync)) {
        let (mut pause, mut limit, mut lost) = (FIRST_PAUSE, HANDSHAKE_LIMIT, Instant::now());
        let mut doubts = Doubts::default();
        while !self.stopped() {
            let was_open = AtomicBool::new(false);
            let miss = self.attempt(limit, &mut doubts, &|| {
                was_open.store(true, Relaxed);
                opened();
            });
            if was_open.into_inner() {
                (pause, limit, lost) = (FIRST_PAUSE, HANDSHAKE_LIMIT, Instant::now());
            }
            let waited = self.options.limit();
            let last = match miss {
                Miss::Again(RetryReason::Relay(reason)) => *reason,
                Miss::Again(reason) => reason,
                Miss::Over => return,
                Miss::Fatal(error) => return self.fail(error),
            };
            if lost.elapsed() >= waited {
                return self.fail(NetError::RelayUnreachable { relay: self.relay.clone(), waited, last });
            }
            if last.says_little() {
                limit = (limit * 2).min(waited);
            }
            // Ends at once where it is no longer wanted, or cancelled.
            let _ = self.shared.stop.sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn stopped(&self) -> bool {
        self.shared.stop.is_cancelled()
    }

    fn fail(&self, error: NetError) {
        if !self.stopped() {
            self.shared.failed().get_or_insert(error);
        }
    }

    /// One connection to the relay, at the first of its addresses that answers, until it ends.
    fn attempt(&self, limit: Duration, doubts: &mut Doubts, opened: &(dyn Fn() + Sync)) -> Miss {
        let addresses = match self.names.addresses(&self.relay, &Patience::new(&self.options)) {
            Ok(addresses) => addresses,
            Err(Unresolved::Name(cause)) => return Miss::Again(RetryReason::Resolve(cause)),
            Err(Unresolved::Silent) => return Miss::Again(RetryReason::ResolverSilent),
            Err(Unresolved::Fatal(error)) => return Miss::Fatal(error),
        };
        let ends: (&CancelToken, &dyn Fn() -> bool) = (&self.options.cancel, &|| true);
        let ended =
            race(&addresses, ends, &mut |_| (), &|lane| Err::<Infallible, _>(self.at(lane, limit, opened)));
        match ended {
            Ok(never) => match never {},
            Err(_) if self.stopped() => Miss::Over,
            Err(misses) => doubts.weigh(misses),
        }
    }

    fn at(&self, lane: &Lane<'_>, limit: Duration, opened: &(dyn Fn() + Sync)) -> Miss {
        let (times, stop) = (Times { handshake: limit, ..Times::default() }, || lane.stopped());
        let limit = limit.min(self.options.limit().max(Duration::from_millis(1)));
        let socket = match dial(lane.address, Instant::now() + limit, &stop) {
            Ok(socket) => socket,
            Err(miss) => return miss,
        };
        let ended = match Held::open(&socket, &self.tls, &self.join, &times, &stop, &|| lane.wins()) {
            Ok(mut held) => {
                self.names.met(&self.relay, lane.address);
                opened();
                let mut told = 0;
                held.hold(&Times::default(), &mut || {
                    let over = self.shared.rounds_over.load(Relaxed);
                    (std::mem::replace(&mut told, over) < over).then(|| (over - 1) as u16)
                })
            }
            Err(error) => error,
        };
        judge_join(&self.relay, lane.address, &self.tls, ended)
    }
}
