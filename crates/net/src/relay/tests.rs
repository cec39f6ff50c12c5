//! A relay and its parties on loopback: who is paired with whom, what ends a stream, and that no byte is lost.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rand::{SeedableRng, rngs::StdRng};
use rustls::Connection as TlsConnection;
use vesica_channel::{CancelToken, Channel, ChannelError, Fault};

use super::*;
use crate::error::{NetError, RetryReason};
use crate::establish::at_relay::records::{Records, handshake, say, take_in};
use crate::establish::at_relay::wire::{self, PING, Reply};
use crate::establish::at_relay::{ANY_PART, JoinError, Until, join};
use crate::establish::tls::{Role, Tls};
use crate::{Address, Connection, ConnectionSecurity, Identity, NetEvent, Options, meet};

mod bounds;
mod grants;
mod lying;
mod waiting;

const PATIENCE: Duration = Duration::from_secs(30);
const SOON: Duration = Duration::from_millis(400);

/// Nothing but time ends the wait for the partner.
fn goes_on(time: Instant) -> Until<'static> {
    Until { time, stop: &|| false, wins: &|| true, wanted: &|| true }
}

fn identity() -> Identity {
    Identity::generate().unwrap()
}

fn options(silence: Duration) -> Options {
    Options { silence, cancel: CancelToken::new() }
}

/// A relay on a thread of its own.
struct Running {
    address: SocketAddr,
    identity: Identity,
    stop: CancelToken,
    events: Mutex<mpsc::Receiver<RelayEvent>>,
    thread: thread::JoinHandle<Result<(), NetError>>,
}

impl Running {
    fn start(parties: &[&Identity], change: impl FnOnce(&mut Rules)) -> Self {
        let allow = parties.iter().map(|party| *party.public_key()).collect();
        let mut rules = Rules { allow, ..Rules::default() };
        change(&mut rules);
        Self::at("127.0.0.1:0", identity(), rules)
    }

    fn at(listen: &str, identity: Identity, rules: Rules) -> Self {
        let (sender, events) = mpsc::channel();
        let (stop, sender) = (CancelToken::new(), Mutex::new(sender));
        let (listen, own, token) = (listen.to_owned(), identity.clone(), stop.clone());
        let thread = thread::spawn(move || {
            let on_event = |event| drop(sender.lock().unwrap().send(event));
            serve(&listen, &own, rules, &token, &mut StdRng::seed_from_u64(1), &on_event)
        });
        let Ok(RelayEvent::Listening(address)) = events.recv() else { panic!("no relay") };
        Self { address, identity, stop, events: Mutex::new(events), thread }
    }

    fn via(&self, run: &str) -> Address {
        let key = *self.identity.public_key();
        Address::Via(Via { address: self.address.to_string(), key, run: run.to_owned(), more: Vec::new() })
    }

    /// A bare socket, for which this party waits as long as it takes.
    fn join(&self, party: &Identity, partner: &Identity, run: &str) -> Result<TcpStream, JoinError> {
        self.join_within(party, partner, run, PATIENCE, &Times::default())
    }

    fn join_within(
        &self,
        party: &Identity,
        partner: &Identity,
        run: &str,
        within: Duration,
        times: &Times,
    ) -> Result<TcpStream, JoinError> {
        let socket = TcpStream::connect(self.address).unwrap();
        let tls = Tls::to_relay(party, *self.identity.public_key()).unwrap();
        let label = Label::of_run(party.public_key(), partner.public_key(), run);
        let asked = Join::Run { label, partner: *partner.public_key() };
        join(&socket, &tls, &asked, times, &goes_on(Instant::now() + within), &mut || ())?;
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Ok(socket)
    }

    /// Waits for an event.
    fn until(&self, wanted: impl Fn(&RelayEvent) -> bool) -> RelayEvent {
        loop {
            let event = self.events.lock().unwrap().recv_timeout(PATIENCE).unwrap();
            if wanted(&event) {
                return event;
            }
        }
    }

    fn until_waiting(&self, party: &Identity) {
        self.until(|event| matches!(event, RelayEvent::Waiting { key, .. } if key == party.public_key()));
    }

    fn end(self) {
        self.stop.cancel();
        self.thread.join().unwrap().unwrap();
    }
}

fn security<'a>(party: &'a Identity, partner: &'a Identity) -> ConnectionSecurity<'a> {
    ConnectionSecurity::Tls { identity: party, peer: partner.public_key() }
}

fn met(
    address: &Address,
    party: &Identity,
    partner: &Identity,
    silence: Duration,
    on_event: &mut dyn FnMut(NetEvent),
) -> Result<Connection, NetError> {
    // Each side draws its own.
    let mut rng = StdRng::from_seed(*party.public_key().as_bytes());
    meet(address, &security(party, partner), b"first", &options(silence), &mut rng, on_event)
}

fn received(channel: &mut Connection, length: usize) -> Result<Vec<u8>, ChannelError> {
    let mut bytes = vec![0; length];
    channel.recv_exact(&mut bytes).map(|()| bytes)
}

/// Two connections of two parties through that address each.
fn pair(addresses: [&Address; 2], parties: [&Identity; 2], silence: Duration) -> [Connection; 2] {
    let [one, two] = parties;
    thread::scope(|scope| {
        let first = scope.spawn(|| met(addresses[0], one, two, silence, &mut |_| ()).unwrap());
        let second = met(addresses[1], two, one, silence, &mut |_| ()).unwrap();
        let mut both = [first.join().unwrap(), second];
        both.iter_mut().for_each(|side| assert_eq!(received(side, 5).unwrap(), b"first"));
        both
    })
}

/// A party that keeps no rule: TLS with the relay, and whatever the test says.
struct Raw {
    tls: TlsConnection,
    records: Records,
    socket: TcpStream,
    text: Vec<u8>,
}

impl Raw {
    fn new(relay: &Running, party: &Identity) -> Self {
        let tls = Tls::to_relay(party, *relay.identity.public_key()).unwrap();
        let (tls, _) = tls.connection(Role::Client).unwrap();
        let socket = TcpStream::connect(relay.address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut raw = Self { tls, records: Records::default(), socket, text: Vec::new() };
        handshake(&mut raw.tls, &mut raw.records, &mut raw.socket, &mut raw.text).unwrap();
        raw
    }

    fn say(&mut self, text: &[u8]) {
        say(&mut self.tls, text, false, &mut self.socket).unwrap();
    }

    /// What the relay says up to its close_notify; what it has said where it only goes.
    fn hear_all(&mut self) -> Vec<u8> {
        while let Ok(record) = self.records.next(&mut self.socket) {
            if take_in(&mut self.tls, &record, &mut self.text).unwrap() {
                break;
            }
        }
        std::mem::take(&mut self.text)
    }
}

fn run_join(party: &Identity, partner: &Identity, run: &str) -> Vec<u8> {
    let label = Label::of_run(party.public_key(), partner.public_key(), run);
    Join::Run { label, partner: *partner.public_key() }.encode()
}

/// A relay of a test, whose TLS with a party stands.
struct FakeRelay<'a> {
    tls: &'a mut TlsConnection,
    records: &'a mut Records,
    socket: &'a mut TcpStream,
    /// What the party has said.
    text: &'a mut Vec<u8>,
}

/// Joins at a relay that does `relay`, and hands on how that ended.
fn join_at(
    times: &Times,
    relay: impl FnOnce(FakeRelay<'_>) + Send,
    ended: impl FnOnce(Result<(), JoinError>, TcpStream),
) {
    let (party, partner, own) = (identity(), identity(), identity());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tls = Tls::to_relay(&party, *own.public_key()).unwrap();
    let asked = Join::decode(&run_join(&party, &partner, "")).unwrap().unwrap().0;
    thread::scope(|scope| {
        let address = listener.local_addr().unwrap();
        scope.spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let (mut tls, _) = Tls::of_relay(&own).unwrap().connection(Role::Server).unwrap();
            let (mut records, mut text) = (Records::default(), Vec::new());
            handshake(&mut tls, &mut records, &mut socket, &mut text).unwrap();
            relay(FakeRelay { tls: &mut tls, records: &mut records, socket: &mut socket, text: &mut text });
        });
        let socket = TcpStream::connect(address).unwrap();
        let until = Instant::now() + PATIENCE;
        let outcome = join(&socket, &tls, &asked, times, &goes_on(until), &mut || ());
        ended(outcome.map(drop), socket);
    });
}

#[test]
fn two_parties_of_whom_neither_listens_are_one_connection() {
    let (one, two) = (identity(), identity());
    let relay = Running::start(&[&one, &two], |_| ());
    // Whoever comes first waits, and whichever end of TLS it is.
    for (first, second) in [(&one, &two), (&two, &one)] {
        let address = &relay.via("");
        thread::scope(|scope| {
            let early = scope.spawn(|| {
                let mut events = Vec::new();
                let channel = met(address, first, second, PATIENCE, &mut |event| events.push(event));
                (channel.unwrap(), events)
            });
            relay.until_waiting(first);
            let mut late = met(address, second, first, PATIENCE, &mut |_| ()).unwrap();
            let (mut early, events) = early.join().unwrap();
            assert!(events.contains(&NetEvent::AtRelay { relay: relay.address }), "{events:?}");
            assert_eq!(early.channel_binding(), late.channel_binding(), "TLS goes from end to end");
            assert_eq!(
                (early.peer_key(), late.peer_key()),
                (Some(second.public_key()), Some(first.public_key()))
            );
            let data = vec![7; 3 << 20];
            let sent = data.clone();
            scope.spawn(move || {
                early.send(&sent).and_then(|()| early.flush()).unwrap();
                assert_eq!(received(&mut early, 10).unwrap(), b"firstanswe");
                assert_eq!(early.finish(b"one").unwrap(), b"two");
            });
            assert_eq!(received(&mut late, 5).unwrap(), b"first");
            assert_eq!(received(&mut late, data.len()).unwrap(), data);
            late.send(b"answe").and_then(|()| late.flush()).unwrap();
            assert_eq!(late.finish(b"two").unwrap(), b"one");
        });
        let ended = relay.until(|event| matches!(event, RelayEvent::Ended { .. }));
        let RelayEvent::Ended { pair, bytes, .. } = ended else { panic!("{ended:?}") };
        assert_eq!(pair.keys, [*first.public_key(), *second.public_key()]);
        assert!(bytes[0] > 3 << 20 && bytes[1] > 0 && bytes[1] < 1 << 20, "{bytes:?}");
    }
    relay.end();
}

#[test]
fn strangers_do_not_pair() {
    let parties = [identity(), identity(), identity()];
    let [one, two, three] = &parties;
    let relay = Running::start(&[one, two, three], |_| ());
    // One names two. Three names one; two names three; two names one for another run.
    let streams = [(one, two, ""), (three, one, ""), (two, three, ""), (two, one, "other")];
    thread::scope(|scope| {
        for (party, partner, run) in streams {
            let relay = &relay;
            scope.spawn(move || {
                let outcome = relay.join_within(party, partner, run, 3 * SOON, &Times::default());
                assert!(matches!(outcome, Err(JoinError::Nobody)), "{:?}", outcome.map(drop));
            });
        }
    });
    relay.end();
    let relay = Running::start(&[one, two, three], |_| ());
    // A label in common is not enough: under that of one and two, one names two, three names one, and two names three.
    let label = Label::of_run(one.public_key(), two.public_key(), "");
    let mut streams = [(one, two), (three, one), (two, three)].map(|(party, partner)| {
        let mut raw = Raw::new(&relay, party);
        raw.say(&Join::Run { label, partner: *partner.public_key() }.encode());
        relay.until_waiting(party);
        raw
    });
    relay.stop.cancel();
    for stream in &mut streams {
        assert_eq!(stream.hear_all(), Reply::Wait.encode());
    }
    relay.end();
}

#[test]
fn a_pair_that_is_idle_is_cut_and_one_that_beats_is_not() {
    let (one, two) = (identity(), identity());
    let relay = Running::start(&[&one, &two], |rules| rules.times.idle = SOON);
    let via = relay.via("");
    // Heartbeats every third of a silence.
    let [mut here, mut there] = pair([&via, &via], [&one, &two], SOON / 2);
    thread::sleep(3 * SOON);
    here.send(b"alive").and_then(|()| here.flush()).unwrap();
    assert_eq!(received(&mut there, 5).unwrap(), b"alive");
    drop((here, there));
    let [mut here, mut there] = pair([&via, &via], [&one, &two], PATIENCE);
    for side in [&mut here, &mut there] {
        assert_eq!(received(side, 1).unwrap_err(), ChannelError::Closed);
    }
    relay.end();
}

#[test]
fn a_half_that_is_closed_leaves_the_other_open() {
    let (one, two) = (identity(), identity());
    let relay = Running::start(&[&one, &two], |_| ());
    let [mut here, mut there] = thread::scope(|scope| {
        let here = scope.spawn(|| relay.join(&one, &two, "").unwrap());
        [relay.join(&two, &one, "").unwrap(), here.join().unwrap()]
    });
    here.write_all(b"question").unwrap();
    here.shutdown(Shutdown::Write).unwrap();
    let mut heard = Vec::new();
    there.read_to_end(&mut heard).unwrap();
    assert_eq!(heard, b"question");
    let answer = vec![9; 1 << 20];
    there.write_all(&answer).unwrap();
    drop(there);
    heard.clear();
    here.read_to_end(&mut heard).unwrap();
    assert_eq!(heard, answer);
    relay.end();
}

/// The relay's last record, its bare byte and the partner's first bytes come in one segment, and each goes where it belongs.
#[test]
fn bytes_behind_the_handover_stay_in_the_socket() {
    let partners = vec![0xab; 40_000];
    join_at(
        &Times::default(),
        |FakeRelay { tls, socket, .. }| {
            let mut last = Vec::new();
            say(tls, &Reply::Wait.encode(), false, &mut last).unwrap();
            say(tls, &Reply::Paired { part: 0 }.encode(), true, &mut last).unwrap();
            last.push(0);
            last.extend(&partners);
            socket.write_all(&last).unwrap();
            let mut rest = Vec::new();
            socket.read_to_end(&mut rest).unwrap();
        },
        |outcome, mut socket| {
            outcome.unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut heard = vec![0; partners.len()];
            socket.read_exact(&mut heard).unwrap();
            assert_eq!(heard, partners);
        },
    );
}

/// A party's first bytes come with its close_notify, and the relay hands both on.
#[test]
fn bytes_behind_a_partys_close_notify_go_to_the_partner() {
    let (one, two) = (identity(), identity());
    let relay = Running::start(&[&one, &two], |_| ());
    let mut hasty = Raw::new(&relay, &one);
    hasty.say(&[run_join(&one, &two, ""), vec![PING, PING]].concat());
    relay.until_waiting(&one);
    let first = vec![0xcd; 40_000];
    thread::scope(|scope| {
        scope.spawn(|| {
            hasty.hear_all();
            let mut last = Vec::new();
            say(&mut hasty.tls, &[PING], true, &mut last).unwrap();
            last.extend(&first);
            hasty.socket.write_all(&last).unwrap();
            let mut bare = [0xff];
            hasty.socket.read_exact(&mut bare).unwrap();
            assert_eq!(bare, [0]);
        });
        let mut heard = vec![0; first.len()];
        relay.join(&two, &one, "").unwrap().read_exact(&mut heard).unwrap();
        assert_eq!(heard, first);
    });
    drop(hasty);
    relay.end();
}

/// A party that does not close its TLS never becomes a connection, and its partner is told by the end of its own.
#[test]
fn no_byte_goes_out_before_both_are_ready() {
    let (one, two) = (identity(), identity());
    let relay = Running::start(&[&one, &two], |rules| rules.times.handshake = SOON);
    let mut stuck = Raw::new(&relay, &one);
    stuck.say(&run_join(&one, &two, ""));
    relay.until_waiting(&one);
    let outcome = relay.join(&two, &one, "").map(drop);
    assert!(matches!(outcome, Err(JoinError::Lost(_))), "{outcome:?}");
    assert_eq!(stuck.hear_all(), [Reply::Wait.encode(), Reply::Paired { part: 0 }.encode()].concat());
    let mut rest = Vec::new();
    let _ = stuck.socket.read_to_end(&mut rest);
    assert_eq!(rest, b"", "no bare byte");
    relay.end();
}

#[test]
fn what_is_no_join_is_refused_with_a_reason() {
    let (one, two) = (identity(), identity());
    let relay = Running::start(&[&one, &two], |rules| rules.times.handshake = 2 * SOON);
    let (key, tag) = (*two.public_key(), Label([1; 32]));
    let mut other_version = run_join(&one, &two, "");
    other_version[0] = 9;
    let mut other_kind = run_join(&one, &two, "");
    other_kind[2] = 3;
    let mut with_part = run_join(&one, &two, "");
    with_part[67] = 1;
    let cases = [
        (other_version, Refusal::Version),
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), Refusal::Version),
        (other_kind, Refusal::Malformed),
        (with_part, Refusal::Malformed),
        (run_join(&one, &one, ""), Refusal::Malformed),
        (Join::Part { tag, partner: key, part: u32::MAX, round: 1 }.encode(), Refusal::NotGranted),
        (Join::Grant { run_key: *one.public_key(), tag }.encode(), Refusal::Malformed),
    ];
    for (bytes, refusal) in cases {
        let mut raw = Raw::new(&relay, &one);
        raw.say(&bytes);
        assert_eq!(raw.hear_all(), Reply::Refused(refusal).encode(), "{bytes:?}");
        let told = relay.until(|event| matches!(event, RelayEvent::Refused { .. }));
        assert!(matches!(told, RelayEvent::Refused { refusal: told, .. } if told == refusal), "{told:?}");
    }
    // Half a JOIN, one that comes byte by byte, and something else than pings behind it.
    let mut half = Raw::new(&relay, &one);
    half.say(&run_join(&one, &two, "")[..40]);
    assert_eq!(half.hear_all(), b"");
    relay.until(|event| matches!(event, RelayEvent::TurnedAway { reason: StrangerReason::TooSlow, .. }));
    let mut slow = Raw::new(&relay, &one);
    run_join(&one, &two, "").iter().for_each(|byte| slow.say(&[*byte]));
    relay.until_waiting(&one);
    slow.say(&[PING, 7]);
    assert_eq!(slow.hear_all(), Reply::Wait.encode());
    // No TLS at all, and TLS of another protocol.
    let mut plain = TcpStream::connect(relay.address).unwrap();
    plain.write_all(&[0xff; 100]).unwrap();
    relay.until(|event| matches!(event, RelayEvent::TurnedAway { reason: StrangerReason::NotVesica, .. }));
    let direct = Address::Connect(relay.address.to_string());
    let as_partner = met(&direct, &one, &relay.identity, PATIENCE, &mut |_| ()).unwrap_err();
    assert!(matches!(as_partner, NetError::NotVesica { .. }), "{as_partner}");
    relay.end();
}
