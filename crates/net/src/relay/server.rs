//! The relay itself: its door, and the thread of each stream from the handshake to the end.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use rand_core::CryptoRng;
use rustix::event::{PollFd, PollFlags, poll};
use rustls::Connection as TlsConnection;
use vesica_channel::CancelToken;

use super::copy::pass_on;
use super::pairing::{Ends, NotIn, Pairing, RunKey};
use super::stream::{Meeting, Stream};
use super::{RelayEvent, Rules};
use crate::error::{NetError, Refusal, RetryReason, StrangerReason};
use crate::establish::at_relay::Times;
use crate::establish::at_relay::records::{Records, handshake, say, take_in};
use crate::establish::at_relay::wire::{Join, Reply};
use crate::establish::connect::timespec;
use crate::establish::door::{State, Visitor, Visitors};
use crate::establish::handshake::{Line, Stage};
use crate::establish::listen::bind;
use crate::establish::tls::{RELAY_ALPN, Role, Tls};
use crate::establish::{POLL, Patience};
use crate::identity::{Identity, PublicKey};
use crate::options::Options;
use crate::system::is_short_of_descriptors;

/// Stack of a stream's thread.
const STACK: usize = 512 << 10;

/// Who is told what happens, from many threads.
pub type OnRelayEvent<'a> = &'a (dyn Fn(RelayEvent) + Sync);

/// Relays streams of the allowed keys at the address `listen` until `stop` is cancelled. Then it takes no more streams and
/// sends away those that wait; it returns when the last pair has ended. A pair through which nothing goes any more ends soon
/// ([`Times::silence`]).
///
/// `rng` decides who has to leave a full door.
///
/// # Errors
/// If it cannot listen there.
pub fn serve(
    listen: &str,
    identity: &Identity,
    rules: Rules,
    stop: &CancelToken,
    rng: &mut dyn CryptoRng,
    on_event: OnRelayEvent<'_>,
) -> Result<(), NetError> {
    let tls = Tls::of_relay(identity)?;
    let options = Options { cancel: stop.clone(), ..Options::default() };
    let listener = bind(listen, Some(&tls), &Patience::new(&options))?;
    let failed = |error: &io::Error| NetError::Bind { address: listen.to_owned(), cause: error.to_string() };
    let address = listener.local_addr().map_err(|error| failed(&error))?;
    on_event(RelayEvent::Listening(address));
    let relay = Relay {
        tls,
        times: rules.times,
        an_address: rules.handshakes_an_address,
        visitors: Mutex::new(Visitors::with_seats(rules.handshakes)),
        pairing: Pairing::new(rules),
        stop,
        on_event,
    };
    thread::scope(|scope| {
        relay.take_visitors(scope, &listener, stop, rng);
        drop(listener);
        relay.visitors().send_all_away();
        on_event(RelayEvent::Draining { streams: relay.pairing.close() });
    });
    Ok(())
}

struct Relay<'a> {
    tls: Tls,
    times: Times,
    an_address: usize,
    visitors: Mutex<Visitors>,
    pairing: Pairing,
    stop: &'a CancelToken,
    on_event: OnRelayEvent<'a>,
}

/// A visitor that has proven its key and has joined.
struct Greeted {
    key: PublicKey,
    asked: Result<Join, Refusal>,
    tls: TlsConnection,
    records: Records,
    /// What it has said since.
    text: Vec<u8>,
}

/// Who has come and stays.
enum Seated {
    Stream(Joined),
    Grant(Held),
}

/// A party that holds a grant.
struct Held {
    stream: Arc<Stream>,
    run_key: RunKey,
    records: Records,
    text: Vec<u8>,
}

/// A stream that waits or is paired.
struct Joined {
    stream: Arc<Stream>,
    /// Who has waited for it.
    partner: Option<Arc<Stream>>,
    records: Records,
    text: Vec<u8>,
}

/// What a party may have.
enum Asked {
    /// A stream, of a part if it has a number.
    Stream(Ends, Option<u32>),
    /// A grant.
    Grant(RunKey),
}

/// Why there is no stream.
enum NoStream {
    Stranger(StrangerReason),
    Refused(PublicKey, Refusal),
    /// Of a part whose round is over.
    TooLate,
}

impl From<io::Error> for NoStream {
    fn from(error: io::Error) -> Self {
        Self::Stranger(match RetryReason::from(&error) {
            RetryReason::NoAnswer => StrangerReason::TooSlow,
            RetryReason::ClosedEarly => StrangerReason::ClosedEarly,
            _ => StrangerReason::NotVesica,
        })
    }
}

impl Relay<'_> {
    fn take_visitors<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        listener: &TcpListener,
        stop: &CancelToken,
        rng: &mut dyn CryptoRng,
    ) {
        let mut number = 0;
        while !stop.is_cancelled() {
            match listener.accept() {
                Ok((socket, from)) => {
                    self.admit(scope, (number, socket, from), rng);
                    number += 1;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let mut interest = [PollFd::new(listener, PollFlags::IN)];
                    // Interrupted, or short of memory: both pass.
                    let _ = poll(&mut interest, Some(&timespec(POLL)));
                }
                // A caller gone already passes; descriptors come back when somebody leaves.
                Err(error) => {
                    if is_short_of_descriptors(&error) {
                        self.visitors().full(rng.next_u32());
                    }
                    thread::sleep(Duration::from_millis(10));
                }
            }
        }
    }

    fn admit<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        (number, socket, from): (u64, TcpStream, SocketAddr),
        rng: &mut dyn CryptoRng,
    ) {
        let mut visitors = self.visitors();
        let lot = rng.next_u32();
        if !visitors.make_room_there(from, self.an_address, lot) || !visitors.make_room(from, lot) {
            return;
        }
        let socket = Arc::new(socket);
        let visitor = Visitor::new(number, socket.clone(), from);
        let state = visitor.state.clone();
        let body = move || self.visit(number, socket, from, &state);
        let thread = thread::Builder::new().name("vesica-relay".into()).stack_size(STACK);
        // Before its thread can remove it. Without a thread the caller is dropped, and may come again.
        visitors.add(visitor);
        if thread.spawn_scoped(scope, body).is_err() {
            visitors.remove(number);
        }
    }

    fn visit(&self, number: u64, socket: Arc<TcpStream>, from: SocketAddr, state: &State) {
        let (stop, reached) = (|| state.stopped(), |stage| state.reached(stage));
        let deadline = Instant::now() + self.times.handshake;
        let outcome = Line::new(&socket, deadline, &stop, &reached)
            .map_err(NoStream::from)
            .and_then(|line| self.greet(line, number, &socket, state));
        self.visitors().remove(number);
        match outcome {
            Ok(Seated::Stream(joined)) => self.stay(joined),
            Ok(Seated::Grant(held)) => self.hold(held),
            // Whoever had to make room is of no interest.
            Err(_) if state.stopped() => {}
            // Nor is whoever did not hear in time that a round is over.
            Err(NoStream::TooLate) => {}
            Err(NoStream::Stranger(reason)) => (self.on_event)(RelayEvent::TurnedAway { from, reason }),
            Err(NoStream::Refused(key, refusal)) => {
                (self.on_event)(RelayEvent::Refused { from, key, refusal })
            }
        }
    }

    /// From the first byte to a stream that waits or is paired. Where there is none, the party is told why.
    fn greet(
        &self,
        mut line: Line<'_>,
        number: u64,
        socket: &Arc<TcpStream>,
        state: &State,
    ) -> Result<Seated, NoStream> {
        let greeted = match self.shake_hands(&mut line, state) {
            Ok(greeted) => greeted,
            Err(error) => {
                line.farewell();
                return Err(error.into());
            }
        };
        let Greeted { key, asked, mut tls, records, text } = greeted;
        let refusal = match asked.and_then(|asked| self.judge(key, asked)) {
            Ok(Asked::Stream(ends, part)) => {
                let stream = Stream::new(number, ends, socket.clone(), tls);
                let stream = match part {
                    Some(part) => stream.of_part(part, (key, ends.label)),
                    None => stream,
                };
                let stream = Arc::new(stream);
                match self.pairing.join(&stream) {
                    Ok(partner) => return Ok(Seated::Stream(Joined { stream, partner, records, text })),
                    Err(NotIn::Refused(refusal)) => {
                        stream.say_last(Reply::Refused(refusal));
                        Some(refusal)
                    }
                    Err(NotIn::Closed) => {
                        stream.say_last(Reply::Closed);
                        None
                    }
                }
            }
            Ok(Asked::Grant(run_key)) => {
                let ends = Ends { from: key, to: run_key.0, label: run_key.1, round: None };
                let stream = Arc::new(Stream::new(number, ends, socket.clone(), tls));
                match self.pairing.grant(run_key, &stream) {
                    Ok(()) => return Ok(Seated::Grant(Held { stream, run_key, records, text })),
                    Err(refusal) => {
                        stream.say_last(Reply::Refused(refusal));
                        Some(refusal)
                    }
                }
            }
            Err(refusal) => {
                // It may be gone already.
                let _ = say(&mut tls, &Reply::Refused(refusal).encode(), true, &mut line);
                Some(refusal)
            }
        };
        line.farewell();
        Err(refusal.map_or(NoStream::TooLate, |refusal| NoStream::Refused(key, refusal)))
    }

    /// What a party with that key may have of what it asks for.
    fn judge(&self, key: PublicKey, asked: Join) -> Result<Asked, Refusal> {
        let listed = |key: &PublicKey, refusal| if self.pairing.allows(key) { Ok(()) } else { Err(refusal) };
        match asked {
            Join::Run { partner, label } => {
                listed(&key, Refusal::NotAllowed)?;
                Ok(Asked::Stream(self.served(Ends { from: key, to: partner, label, round: None })?, None))
            }
            Join::Part { tag, partner, part, round } => {
                let granter = self.pairing.granter(&(key, tag)).ok_or(Refusal::NotGranted)?;
                let ends = Ends { from: granter, to: partner, label: tag, round: Some(round) };
                Ok(Asked::Stream(self.served(ends)?, Some(part)))
            }
            Join::Grant { run_key, tag } => {
                listed(&key, Refusal::NotAllowed)?;
                if run_key == key { Err(Refusal::Malformed) } else { Ok(Asked::Grant((run_key, tag))) }
            }
        }
    }

    /// These ends, if a stream may have them.
    fn served(&self, ends: Ends) -> Result<Ends, Refusal> {
        match ends.from != ends.to {
            true if self.pairing.allows(&ends.to) => Ok(ends),
            true => Err(Refusal::PartnerNotAllowed),
            false => Err(Refusal::Malformed),
        }
    }

    fn shake_hands(&self, line: &mut Line<'_>, state: &State) -> io::Result<Greeted> {
        let (mut tls, presented) = self.tls.connection(Role::Server).map_err(io::Error::other)?;
        let (mut records, mut text) = (Records::default(), Vec::new());
        handshake(&mut tls, &mut records, line, &mut text)?;
        let key = presented.get().copied().filter(|_| tls.alpn_protocol() == Some(RELAY_ALPN));
        let Some(key) = key else { return Err(ErrorKind::InvalidData.into()) };
        // Anybody can make a key. Whoever has one that nobody knows may still have to make room.
        if self.pairing.allows(&key) || self.pairing.is_granted(&key) {
            state.reached(Stage::Proven);
        }
        loop {
            match Join::decode(&text).transpose() {
                Some(asked) => {
                    let asked = asked.map(|(join, length)| {
                        text.drain(..length);
                        join
                    });
                    return Ok(Greeted { key, asked, tls, records, text });
                }
                None if take_in(&mut tls, &records.next(line)?, &mut text)? => {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
                None => {}
            }
        }
    }

    /// A stream's time here, until both parties of its pair have sent all, or one of them is gone.
    fn stay(&self, joined: Joined) {
        let Joined { stream, partner, records, text } = joined;
        let (key, label) = (stream.ends.from, stream.ends.label);
        // A write takes a moment only, unless the party reads nothing; then its socket is shut.
        let _ = stream.socket.set_write_timeout(Some(self.times.handshake));
        if let Some(partner) = partner {
            let part = stream.meeting().and_then(|(meeting, _)| meeting.pair.part);
            for stream in [&partner, &stream] {
                stream.say_last(Reply::Paired { part: part.map_or(0, |part| part.part) });
            }
        } else {
            // If that fails, so does the next read.
            let _ = stream.say_wait();
            (self.on_event)(RelayEvent::Waiting { key, label });
        }
        let ready = stream.attend(records, text, &self.times, None);
        let Some((meeting, side)) = stream.meeting().filter(|_| ready) else {
            self.pairing.leave(&stream);
            if let Some((meeting, _)) = stream.meeting() {
                meeting.fail();
            }
            return (self.on_event)(RelayEvent::Left { key, label });
        };
        stream.bare();
        if meeting.arrive(self.times.handshake) {
            self.pass_on(meeting, *side);
        } else {
            (self.on_event)(RelayEvent::Left { key, label });
        }
        self.pairing.leave(&stream);
    }

    /// A grant's time here, until it ends.
    fn hold(&self, held: Held) {
        let Held { stream, run_key, records, text } = held;
        let (key, label) = (stream.ends.from, stream.ends.label);
        let _ = stream.socket.set_write_timeout(Some(self.times.handshake));
        let _ = stream.say_wait();
        (self.on_event)(RelayEvent::Granted { key, label });
        let mut over = |round| {
            let vain = self.pairing.end_round(&run_key, round);
            vain.iter().for_each(|stream| stream.say_last(Reply::Closed));
        };
        stream.attend(records, text, &self.times, Some(&mut over));
        stream.shut();
        self.pairing.revoke(&run_key, &stream);
        (self.on_event)(RelayEvent::Revoked { key, label });
    }

    fn pass_on(&self, meeting: &Meeting, side: usize) {
        let (pair, socket, times) = (meeting.pair, &meeting.sockets[side], &self.times);
        if side == 1 {
            (self.on_event)(RelayEvent::Paired(pair));
        }
        // A machine that lost power keeps its half of a pair, and the relay's end, no longer than a living one would.
        let patience = |meeting: &Meeting| match meeting.is_closing() || self.stop.is_cancelled() {
            true => times.silence.min(times.idle),
            false => times.idle,
        };
        let tick = Some(times.beat.min(times.silence).min(times.idle));
        match socket.set_read_timeout(tick).and_then(|()| socket.set_write_timeout(tick)) {
            Ok(()) => pass_on(meeting, side, self.pairing.rate(&pair.keys[side]), &patience),
            Err(_) => meeting.cut(),
        }
        if meeting.end() {
            let (bytes, lasted) = (meeting.bytes(), meeting.lasted());
            (self.on_event)(RelayEvent::Ended { pair, bytes, lasted });
        }
    }

    fn visitors(&self) -> MutexGuard<'_, Visitors> {
        self.visitors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
