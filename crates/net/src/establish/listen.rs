//! The side that waits for the partner.
//!
//! Every caller is handled on a thread of its own, up to 512 at once (fewer where the process may have fewer descriptors
//! or threads); when one more comes, somebody is sent away who has not proven the expected key: see [`door`](super::door).
//! So silence keeps nobody out. A crowd slows the partner down, and keeps it out only where hundreds come in the time that
//! the partner needs for its greeting, from the partner's own address or each from another one; even then a later attempt
//! of the partner's gets through.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rand_core::CryptoRng;
use rustix::event::{PollFd, PollFlags, poll};
use socket2::{Domain, Socket, Type};

use super::connect::timespec;
use super::door::{Visitor, Visitors};
use super::handshake::{Stage, Trouble, shake_hands};
use super::names::{Unresolved, resolve};
use super::tls::{Role, Tls};
use super::{
    Belong, HANDSHAKE_LIMIT, Hear, NetEvent, Opener, Others, POLL, Patience, Wanted, check_form,
    check_loopback, hello, nonce,
};
use crate::connection::Connection;
use crate::error::{NetError, RetryReason, StrangerReason};
use crate::identity::PublicKey;
use crate::system::{self, Bell};
use vesica_channel::ChannelError;

/// Callers that the system holds for us.
const BACKLOG: i32 = 1024;
/// Callers that are let in before the reports are looked at.
const AT_A_TIME: usize = 32;
/// Connections of one party that wait for another party's.
const MOST_WAITING: usize = 16;
/// How long those who come too late are waited for.
const LATE: Duration = Duration::from_secs(1);
/// Stack of a visitor's thread.
const STACK: usize = 512 << 10;

/// Listens at this address.
pub(super) fn listen(text: &str, tls: Option<&Tls>, opener: &Opener) -> Result<TcpListener, NetError> {
    check_form(text)?;
    bind(text, tls, &Patience::new(&opener.options))
}

/// Waits for the partner. None where it is no longer wanted. `text` is the address that a user has given.
pub(super) fn wait_for_one(
    place: (&TcpListener, &str),
    tls: Option<Tls>,
    opener: &Arc<Opener>,
    wanted: Wanted<'_>,
    rng: &mut dyn CryptoRng,
    on_event: &mut dyn FnMut(NetEvent),
) -> Result<Option<Connection>, NetError> {
    let (hear, belong) = (&mut |_: &mut Connection| (), &|(): &_, (): &_| true);
    let met = gather(place, tls, opener, wanted, (hear, belong), rng, on_event)?;
    Ok(met.and_then(|mut met| met.pop()).map(|(channel, ())| channel))
}

/// Waits until all who are expected are there with connections that belong together, in the order of their keys; one
/// without TLS. None where they are no longer wanted. `text` is the address that a user has given.
pub(super) fn gather<R>(
    (listener, text): (&TcpListener, &str),
    tls: Option<Tls>,
    opener: &Arc<Opener>,
    wanted: Wanted<'_>,
    (hear, belong): (Hear<'_, R>, Belong<'_, R>),
    rng: &mut dyn CryptoRng,
    on_event: &mut dyn FnMut(NetEvent),
) -> Result<Option<Vec<(Connection, R)>>, NetError> {
    let patience = Patience::new(&opener.options);
    let mut met = Met::new(tls.as_ref().map_or(&[], Tls::peers));
    let failed = |error: &io::Error| NetError::Bind { address: text.to_owned(), cause: error.to_string() };
    let address = listener.local_addr().map_err(|error| failed(&error))?;
    let mut door = Door::new(tls.map(Arc::new), opener.clone()).map_err(|error| failed(&error))?;
    on_event(NetEvent::Listening(address));
    while wanted() {
        patience.cancel.check()?;
        let over = patience.left().is_zero();
        // Whoever has proven the key has until its own limit for its first message.
        if over && !door.visitors.any_proven() {
            return match met.latest() {
                Some(latest) => Ok(Some(latest)),
                None => Err(met.missing(door.nobody_came(address, patience.silence))),
            };
        }
        door.wait(listener, if over { POLL } else { POLL.min(patience.left()) }, &patience)?;
        door.let_in(listener, rng, &patience)?;
        if met.forget_those_who_left() {
            on_event(door.gone());
        }
        while let Ok(report) = door.reports.try_recv() {
            match door.judge(report, patience.left().is_zero())? {
                Verdict::Partner(mut channel) => {
                    if let Some(peer) = channel.peer_address() {
                        on_event(NetEvent::Connected { peer });
                    }
                    let heard = hear(&mut channel);
                    if let Some(all) = met.add(*channel, heard, belong) {
                        if all.len() > 1 {
                            door.decline_the_late();
                        }
                        return Ok(Some(all));
                    }
                }
                Verdict::Other(event) => on_event(event),
                Verdict::Nobody => {}
            }
        }
    }
    Ok(None)
}

/// What becomes of whoever is met, and of what else happens at a door.
pub(super) type Handlers<'a> =
    (&'a mut dyn FnMut(Connection), &'a mut dyn FnMut(Other) -> Result<(), NetError>);

/// Hands whoever has proven a key, and has sent a first message, to `each`, for as long as they are wanted. All have one
/// door, so that nobody loses its place when another one comes in. What else happens there is `other`'s to judge. `wanted` is
/// asked again after `every`, or earlier.
pub(super) fn take_all(
    (listener, text): (&TcpListener, &str),
    tls: Option<Tls>,
    opener: &Arc<Opener>,
    (wanted, every): (Wanted<'_>, Duration),
    rng: &mut dyn CryptoRng,
    (each, other): Handlers<'_>,
) -> Result<(), NetError> {
    let patience = Patience::new(&opener.options);
    let failed = |error: &io::Error| NetError::Bind { address: text.to_owned(), cause: error.to_string() };
    let mut door = Door::new(tls.map(Arc::new), opener.clone()).map_err(|error| failed(&error))?;
    while wanted() {
        patience.cancel.check()?;
        door.wait(listener, every, &patience)?;
        door.let_in(listener, rng, &patience)?;
        while let Ok(report) = door.reports.try_recv() {
            match door.judge(report, false) {
                Ok(Verdict::Partner(channel)) => each(*channel),
                Ok(Verdict::Other(event)) => other(Other::Event(event))?,
                Ok(Verdict::Nobody) => {}
                Err(error) => other(Other::Failed(error))?,
            }
        }
    }
    Ok(())
}

/// What happens at a door for many, beside those who come in.
pub(super) enum Other {
    /// Somebody was turned away.
    Event(NetEvent),
    /// A visitor's connection failed.
    Failed(NetError),
}

/// Those of whom some have come.
struct Met<R> {
    /// Who is expected; one whose key is not known without TLS.
    expected: Vec<Option<PublicKey>>,
    /// The connections of each, the latest last.
    waiting: Vec<Vec<(Connection, R)>>,
}

impl<R> Met<R> {
    fn new(keys: &[PublicKey]) -> Self {
        let expected = if keys.is_empty() { vec![None] } else { keys.iter().copied().map(Some).collect() };
        let waiting = expected.iter().map(|_| Vec::new()).collect();
        Self { expected, waiting }
    }

    /// One more connection; those that are complete with it. Who comes again takes the place of its first connection.
    fn add(&mut self, channel: Connection, heard: R, belong: Belong<'_, R>) -> Option<Vec<(Connection, R)>> {
        let place = self.expected.iter().position(|key| key.as_ref() == channel.peer_key())?;
        self.waiting[place].retain(|(_, other)| !belong(&heard, other));
        if self.waiting[place].len() == MOST_WAITING {
            decline([self.waiting[place].remove(0).0]);
        }
        let others = self.waiting.iter().enumerate().map(|(key, waiting)| {
            if key == place {
                return Some(waiting.len());
            }
            waiting.iter().rposition(|(_, other)| belong(&heard, other))
        });
        let chosen: Option<Vec<usize>> = others.collect();
        self.waiting[place].push((channel, heard));
        self.take(&chosen?)
    }

    /// The latest of each, if all have come.
    fn latest(&mut self) -> Option<Vec<(Connection, R)>> {
        let chosen: Option<Vec<usize>> =
            self.waiting.iter().map(|waiting| waiting.len().checked_sub(1)).collect();
        self.take(&chosen?)
    }

    /// One connection of each. The others are told that theirs is not wanted.
    fn take(&mut self, chosen: &[usize]) -> Option<Vec<(Connection, R)>> {
        let taken =
            self.waiting.iter_mut().zip(chosen).map(|(waiting, &index)| waiting.remove(index)).collect();
        decline(self.waiting.drain(..).flatten().map(|(channel, _)| channel));
        Some(taken)
    }

    /// Drops the connections that have ended, and says whether there were any.
    fn forget_those_who_left(&mut self) -> bool {
        let count = |all: &[Vec<_>]| all.iter().map(Vec::len).sum::<usize>();
        let before = count(&self.waiting);
        for waiting in &mut self.waiting {
            waiting.retain_mut(|(channel, _)| channel.check().is_ok());
        }
        count(&self.waiting) < before
    }

    /// The error, if nobody else comes: where several are expected, who it is that has not come.
    fn missing(&self, error: NetError) -> NetError {
        let mut missing = self.expected.iter().zip(&self.waiting).filter(|(_, there)| there.is_empty());
        match (error, missing.next()) {
            (NetError::NobodyCame { address, waited, others }, Some((Some(key), _)))
                if self.expected.len() > 1 =>
            {
                NetError::PartyMissing {
                    key: *key,
                    all: self.waiting.iter().all(Vec::is_empty),
                    address,
                    waited,
                    others,
                }
            }
            (error, _) => error,
        }
    }
}

/// Tells their other sides that they are not wanted, which may take a moment for each.
fn decline(channels: impl IntoIterator<Item = Connection>) {
    thread::scope(|scope| {
        for mut channel in channels {
            // Where there is no thread for it, the connection just ends.
            drop(thread::Builder::new().spawn_scoped(scope, move || channel.decline()));
        }
    });
}

/// Listens at the first address of the name where that is possible.
pub(crate) fn bind(text: &str, tls: Option<&Tls>, patience: &Patience<'_>) -> Result<TcpListener, NetError> {
    let failed = |cause: String| NetError::Bind { address: text.to_owned(), cause };
    let addresses = resolve(text, patience).map_err(|unresolved| match unresolved {
        Unresolved::Name(cause) => failed(cause),
        Unresolved::Silent => failed(RetryReason::ResolverSilent.to_string()),
        Unresolved::Fatal(error) => error,
    })?;
    for address in &addresses {
        check_loopback(text, address, tls)?;
    }
    let mut outcome = Err(failed("it has no address".to_owned()));
    for address in addresses {
        outcome = bind_one(address).map_err(|error| failed(error.to_string()));
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

fn bind_one(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    // On Windows it would let another program listen on the same port.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Those who are shaking hands, and what became of the others.
struct Door {
    tls: Option<Arc<Tls>>,
    opener: Arc<Opener>,
    visitors: Visitors,
    next: u64,
    reports: mpsc::Receiver<Report>,
    sender: mpsc::Sender<Report>,
    /// A byte comes out of the first when there is a report.
    bell: Bell,
    rope: Arc<Bell>,
    others: Others,
    /// The partner was here, and its connection ended before its first message.
    left: bool,
}

struct Report {
    number: u64,
    from: SocketAddr,
    /// It said nothing whole.
    mute: bool,
    outcome: Result<Connection, Trouble>,
}

/// Who a visitor was.
enum Verdict {
    Partner(Box<Connection>),
    /// Somebody to be told of.
    Other(NetEvent),
    /// Whoever looks whether somebody listens here: a port scanner, a health check, or whoever sets up this run's network.
    Nobody,
}

impl Door {
    fn new(tls: Option<Arc<Tls>>, opener: Arc<Opener>) -> io::Result<Self> {
        let (bell, rope) = system::bell()?;
        bell.set_nonblocking(true)?;
        rope.set_nonblocking(true)?;
        let (sender, reports) = mpsc::channel();
        let keys = tls.as_ref().and_then(|tls| match tls.peers() {
            [peer] => Some((*tls.ours(), *peer)),
            _ => None,
        });
        Ok(Self {
            tls,
            opener,
            visitors: Visitors::new(),
            next: 0,
            reports,
            sender,
            bell,
            rope: Arc::new(rope),
            others: Others { keys, ..Others::default() },
            left: false,
        })
    }

    /// Waits for a caller or a report.
    fn wait(
        &mut self,
        listener: &TcpListener,
        limit: Duration,
        patience: &Patience<'_>,
    ) -> Result<(), NetError> {
        let mut interest = [PollFd::new(listener, PollFlags::IN), PollFd::new(&self.bell, PollFlags::IN)];
        if poll(&mut interest, Some(&timespec(limit))).is_err() {
            // Interrupted, or short of memory: both pass.
            patience.cancel.sleep(Duration::from_millis(1))?;
        }
        let mut rung = [0; 64];
        while self.bell.read(&mut rung).is_ok_and(|length| length > 0) {}
        Ok(())
    }

    /// Lets in those who call, and not too many at once, so that a crowd does not keep the reports waiting.
    fn let_in(
        &mut self,
        listener: &TcpListener,
        rng: &mut dyn CryptoRng,
        patience: &Patience<'_>,
    ) -> Result<(), NetError> {
        for _ in 0..AT_A_TIME {
            match listener.accept() {
                Ok((socket, from)) => self.admit(socket, from, rng),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // A caller gone already passes; descriptors come back when somebody leaves.
                Err(error) => {
                    if system::is_short_of_descriptors(&error) {
                        self.visitors.full(rng.next_u32());
                    }
                    patience.cancel.sleep(Duration::from_millis(10))?;
                    break;
                }
            }
        }
        Ok(())
    }

    fn admit(&mut self, socket: TcpStream, from: SocketAddr, rng: &mut dyn CryptoRng) {
        if !self.visitors.make_room(from, rng.next_u32()) {
            return;
        }
        let (socket, number) = (Arc::new(socket), self.next);
        self.next += 1;
        let visitor = Visitor::new(number, socket.clone(), from);
        let (tls, opener, state) = (self.tls.clone(), self.opener.clone(), visitor.state.clone());
        let (nonce, sender, rope) = (nonce(rng), self.sender.clone(), self.rope.clone());
        let body = move || {
            let deadline = Instant::now() + HANDSHAKE_LIMIT;
            let (stop, reached) = (|| state.stopped(), |stage| state.reached(stage));
            let proven = shake_hands(&socket, Role::Server, tls.as_deref(), nonce, deadline, &stop, &reached);
            let outcome = proven.and_then(|proven| opener.open(proven));
            // Nobody listens any more once the partner has come, and a full pipe has rung already.
            let _ = sender.send(Report { number, from, mute: state.is(Stage::Silent), outcome });
            let _ = (&*rope).write(&[0]);
        };
        let thread = thread::Builder::new().name("vesica-net-visitor".into()).stack_size(STACK);
        match thread.spawn(body) {
            Ok(_) => self.visitors.add(visitor),
            // The caller is dropped, and may come again.
            Err(_) => self.visitors.full(rng.next_u32()),
        }
    }

    /// Who it was, or an end to the waiting. `over`: there is no time for another.
    fn judge(&mut self, report: Report, over: bool) -> Result<Verdict, NetError> {
        self.visitors.remove(report.number);
        let reason = match report.outcome {
            Ok(channel) => return Ok(Verdict::Partner(Box::new(channel))),
            Err(Trouble::Version(theirs)) => {
                return Err(NetError::VersionMismatch { mine: hello::VERSION, theirs });
            }
            Err(Trouble::LeftEarly) => return Ok(Verdict::Other(self.gone())),
            Err(Trouble::Ours(NetError::Channel(
                ChannelError::Silent { .. } | ChannelError::Unanswered { .. },
            ))) if !over => {
                return Ok(Verdict::Other(self.gone()));
            }
            // A crowd took the threads that its connection needs.
            Err(Trouble::Ours(NetError::Channel(ChannelError::System { .. }))) if !over => {
                self.visitors.full(report.number as u32);
                return Ok(Verdict::Other(self.gone()));
            }
            Err(Trouble::Ours(error)) => return Err(error),
            Err(Trouble::OtherKey(key)) => StrangerReason::OtherKey(key),
            Err(Trouble::RefusedUs) => StrangerReason::RefusedUs,
            Err(Trouble::NotVesica | Trouble::Busy) => StrangerReason::NotVesica,
            Err(Trouble::TooSlow | Trouble::Stopped) => StrangerReason::TooSlow,
            Err(Trouble::ClosedEarly | Trouble::Io(_)) => StrangerReason::ClosedEarly,
        };
        self.others.add(reason.clone());
        if report.mute && reason == StrangerReason::ClosedEarly {
            return Ok(Verdict::Nobody);
        }
        Ok(Verdict::Other(NetEvent::StrangerDropped { from: report.from, reason }))
    }

    /// The partner was here and went without a word; it may come again.
    fn gone(&mut self) -> NetEvent {
        self.left = true;
        NetEvent::Retrying { reason: RetryReason::LeftEarly, after: Duration::ZERO }
    }

    /// Whoever has proven the key may have had our first message, and is told that it is not wanted.
    fn decline_the_late(&mut self) {
        let until = Instant::now() + LATE;
        while self.visitors.any_proven() {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(report) = self.reports.recv_timeout(left) else { break };
            self.visitors.remove(report.number);
            decline(report.outcome);
        }
    }

    fn nobody_came(&mut self, address: SocketAddr, waited: Duration) -> NetError {
        if self.left {
            return ChannelError::Closed.into();
        }
        NetError::NobodyCame { address, waited, others: Box::new(std::mem::take(&mut self.others)) }
    }
}
