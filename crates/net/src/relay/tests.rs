//! A relay and its parties on loopback: who is paired with whom, what ends a stream, and that no byte is lost.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rand::{SeedableRng, rngs::StdRng};
use rustls::Connection as TlsConnection;
use vesica_channel::{CancelToken, Channel, ChannelError, Fault};

use super::records::{Records, handshake, say, take_in};
use super::wire::{PING, Reply};
use super::*;
use crate::error::{NetError, RetryReason};
use crate::establish::tls::{Role, Tls};
use crate::{Address, Connection, ConnectionSecurity, Identity, NetEvent, Options, meet};

mod grants;

const PATIENCE: Duration = Duration::from_secs(30);
const SOON: Duration = Duration::from_millis(400);
const GOES_ON: (&dyn Fn() -> bool, &dyn Fn() -> bool) = (&|| false, &|| true);

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
        join(&socket, &tls, &asked, times, Instant::now() + within, GOES_ON, &mut || ())?;
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
fn a_key_that_is_not_on_the_list_gets_no_service() {
    let (one, two, stranger) = (identity(), identity(), identity());
    let relay = Running::start(&[&one, &two], |_| ());
    let error = met(&relay.via(""), &stranger, &one, PATIENCE, &mut |_| ()).unwrap_err();
    assert_eq!(error.fault(), Fault::Identity);
    assert!(error.to_string().contains(&relay.address.to_string()), "it names the relay: {error}");
    let NetError::RefusedByRelay { refusal, ours, .. } = error else { panic!("{error}") };
    assert_eq!((refusal, ours), (Refusal::NotAllowed, *stranger.public_key()));
    // Nor does an allowed party wait for it.
    let refused = relay.join(&one, &stranger, "").map(drop);
    assert!(matches!(refused, Err(JoinError::Refused(Refusal::PartnerNotAllowed))), "{refused:?}");
    let error = met(&relay.via(""), &one, &stranger, PATIENCE, &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("the partner's key is not on its list"), "{error}");
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
    // The same label is not enough: under that of one and two, one names two, three names one, and two names three.
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
fn streams_of_one_side_wait_in_line() {
    let (one, two) = (identity(), identity());
    let relay = Running::start(&[&one, &two], |_| ());
    thread::scope(|scope| {
        let mut streams = Vec::new();
        for number in 1..=3 {
            let (relay, one, two) = (&relay, &one, &two);
            streams.push(scope.spawn(move || {
                let mut socket = relay.join(one, two, "").unwrap();
                socket.write_all(&[number]).unwrap();
            }));
            relay.until_waiting(one);
        }
        for number in 1..=3 {
            let mut heard = [0];
            relay.join(&two, &one, "").unwrap().read_exact(&mut heard).unwrap();
            assert_eq!(heard, [number], "first come, first paired");
        }
    });
    // One that breaks loses its place to the next.
    let mut gone = Raw::new(&relay, &one);
    gone.say(&run_join(&one, &two, ""));
    relay.until_waiting(&one);
    thread::scope(|scope| {
        scope.spawn(|| relay.join(&one, &two, "").unwrap().write_all(b"2").unwrap());
        relay.until_waiting(&one);
        drop(gone);
        relay.until(|event| matches!(event, RelayEvent::Left { .. }));
        let mut heard = [0];
        relay.join(&two, &one, "").unwrap().read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"2");
    });
    relay.end();
}

#[test]
fn who_waits_shows_that_it_lives_and_who_does_not_is_dropped() {
    let (one, two) = (identity(), identity());
    let beat = Duration::from_millis(50);
    let times = Times { beat, silence: 8 * beat, ..Times::default() };
    let relay = Running::start(&[&one, &two], |rules| rules.times = times);
    thread::scope(|scope| {
        let patient = scope.spawn(|| relay.join_within(&one, &two, "", PATIENCE, &times).map(drop));
        relay.until_waiting(&one);
        // It outlasts the limit on silence three times.
        thread::sleep(24 * beat);
        relay.join(&two, &one, "").unwrap();
        patient.join().unwrap().unwrap();
    });
    let mut silent = Raw::new(&relay, &one);
    silent.say(&run_join(&one, &two, ""));
    let heard = silent.hear_all();
    assert!(heard.len() >= 3 && heard.iter().all(|byte| [*byte] == *Reply::Wait.encode()), "{heard:?}");
    relay.until(|event| matches!(event, RelayEvent::Left { .. }));
    relay.end();
}

/// A record that never ends is no sign of life.
#[test]
fn who_sends_a_byte_now_and_then_is_dropped() {
    let (one, two) = (identity(), identity());
    let beat = Duration::from_millis(50);
    let times = Times { beat, silence: 8 * beat, ..Times::default() };
    let relay = Running::start(&[&one, &two], |rules| rules.times = times);
    let mut raw = Raw::new(&relay, &one);
    raw.say(&run_join(&one, &two, ""));
    relay.until_waiting(&one);
    thread::scope(|scope| {
        scope.spawn(move || {
            let end = Instant::now() + 2 * PATIENCE;
            raw.socket.write_all(&[23, 3, 3, 0x40, 0]).unwrap();
            while Instant::now() < end && raw.socket.write_all(&[0]).is_ok() {
                thread::sleep(beat / 20);
            }
        });
        relay.until(|event| matches!(event, RelayEvent::Left { .. }));
    });
    relay.end();
}

/// Two that are paired and only ping take no room for longer than a handshake may last.
#[test]
fn who_never_hands_over_is_dropped() {
    let (one, two) = (identity(), identity());
    let beat = Duration::from_millis(50);
    let times = Times { beat, handshake: SOON, ..Times::default() };
    let relay = Running::start(&[&one, &two], |rules| rules.times = times);
    thread::scope(|scope| {
        for (party, partner) in [(&one, &two), (&two, &one)] {
            let mut raw = Raw::new(&relay, party);
            raw.say(&run_join(party, partner, ""));
            scope.spawn(move || {
                let end = Instant::now() + 2 * PATIENCE;
                while Instant::now() < end && say(&mut raw.tls, &[PING], false, &mut raw.socket).is_ok() {
                    thread::sleep(beat);
                }
            });
        }
        for _ in 0..2 {
            relay.until(|event| matches!(event, RelayEvent::Left { .. }));
        }
    });
    relay.end();
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
        let outcome = join(&socket, &tls, &asked, times, until, GOES_ON, &mut || ());
        ended(outcome.map(drop), socket);
    });
}

/// A relay that goes on talking after PAIRED fills no memory.
#[test]
fn a_relay_that_talks_on_after_paired_is_none() {
    let times = Times { handshake: 2 * SOON, ..Times::default() };
    join_at(
        &times,
        |FakeRelay { tls, socket, .. }| {
            let paired = Reply::Paired { part: 0 }.encode();
            while say(tls, &paired, false, socket).is_ok() {
                thread::sleep(Duration::from_millis(5));
            }
        },
        |outcome, _| assert!(matches!(outcome, Err(JoinError::NotARelay)), "{outcome:?}"),
    );
}

#[test]
fn a_relay_that_falls_silent_is_lost() {
    let times = Times { beat: Duration::from_millis(50), silence: SOON, ..Times::default() };
    join_at(
        &times,
        |FakeRelay { tls, records, socket, text }| {
            say(tls, &Reply::Wait.encode(), false, socket).unwrap();
            while let Ok(record) = records.next(socket) {
                take_in(tls, &record, text).unwrap();
            }
            assert!(text.len() > 73 && text[73..].iter().all(|&byte| byte == PING), "it was pinged");
        },
        |outcome, _| assert!(matches!(outcome, Err(JoinError::Lost(RetryReason::NoAnswer))), "{outcome:?}"),
    );
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

/// The same at the relay: a party whose first bytes come with its close_notify.
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

#[test]
fn a_relay_with_another_key_and_what_is_no_relay_are_told_apart() {
    let (one, two) = (identity(), identity());
    let relay = Running::start(&[&one, &two], |_| ());
    let Address::Via(via) = relay.via("") else { panic!() };
    let other = Address::Via(Via { key: *two.public_key(), ..via });
    let error = met(&other, &one, &two, PATIENCE, &mut |_| ()).unwrap_err();
    let NetError::WrongRelay { expected, presented, .. } = &error else { panic!("{error}") };
    assert_eq!((expected, presented), (two.public_key(), relay.identity.public_key()));
    assert_eq!(error.fault(), Fault::Identity);

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.write_all(b"SSH-2.0-OpenSSH_9.9\r\n").unwrap();
        socket.read_to_end(&mut Vec::new())
    });
    let key = *relay.identity.public_key();
    let ssh = Address::Via(Via { address: address.to_string(), key, run: String::new(), more: Vec::new() });
    let error = met(&ssh, &one, &two, PATIENCE, &mut |_| ()).unwrap_err();
    assert_eq!(error, NetError::NotARelay { address });

    let nobody =
        Address::Via(Via { address: "127.0.0.1:9".to_owned(), key, run: String::new(), more: Vec::new() });
    let error = met(&nobody, &one, &two, SOON, &mut |_| ()).unwrap_err();
    assert!(matches!(&error, NetError::RelayUnreachable { last: RetryReason::Refused, .. }), "{error}");
    let error = met(&relay.via(""), &one, &two, SOON, &mut |_| ()).unwrap_err();
    assert!(matches!(&error, NetError::NobodyAtRelay { last: RetryReason::NotThere, .. }), "{error}");
    assert_eq!(error.fault(), Fault::Partner);
    let plain = ConnectionSecurity::InsecurePlaintext;
    let mut rng = StdRng::seed_from_u64(2);
    let error = meet(&relay.via(""), &plain, b"", &options(SOON), &mut rng, &mut |_| ()).unwrap_err();
    assert_eq!(error.fault(), Fault::Usage);
    relay.end();
}

#[test]
fn streams_and_handshakes_are_bounded() {
    let (one, two) = (identity(), identity());
    let waiting = |relay: &Running, party: &Identity, partner: &Identity| {
        let mut raw = Raw::new(relay, party);
        raw.say(&run_join(party, partner, ""));
        raw
    };
    let relay = Running::start(&[&one, &two], |rules| rules.waiting = 2);
    let _held = [waiting(&relay, &one, &two), waiting(&relay, &one, &two)];
    relay.until_waiting(&one);
    relay.until_waiting(&one);
    assert_eq!(waiting(&relay, &one, &two).hear_all(), Reply::Refused(Refusal::Busy).encode());
    relay.end();

    let relay = Running::start(&[&one, &two], |rules| (rules.paired, rules.max_streams) = (1, 5));
    let _pair = thread::scope(|scope| {
        let here = scope.spawn(|| relay.join(&one, &two, "").unwrap());
        (relay.join(&two, &one, "").unwrap(), here.join().unwrap())
    });
    let _held = waiting(&relay, &one, &two);
    relay.until(|event| matches!(event, RelayEvent::Paired(_)));
    relay.until_waiting(&one);
    assert_eq!(
        waiting(&relay, &two, &one).hear_all(),
        Reply::Refused(Refusal::Busy).encode(),
        "a second pair"
    );
    assert_eq!(
        waiting(&relay, &one, &two).hear_all(),
        Reply::Refused(Refusal::Busy).encode(),
        "it would keep a sixth seat"
    );
    relay.stop.cancel();
    drop(_pair);
    relay.end();

    // Who says nothing leaves when its time is over.
    let relay = Running::start(&[&one, &two], |rules| rules.times.handshake = SOON);
    let silent = TcpStream::connect(relay.address).unwrap();
    relay.until(|event| matches!(event, RelayEvent::TurnedAway { reason: StrangerReason::TooSlow, .. }));
    drop(silent);
    relay.end();
    // And before, where others from its address fill the door.
    let relay = Running::start(&[&one, &two], |rules| {
        (rules.handshakes_an_address, rules.times.handshake) = (2, 4 * PATIENCE);
    });
    let silent = [(); 2].map(|()| TcpStream::connect(relay.address).unwrap());
    let via = relay.via("");
    drop(pair([&via, &via], [&one, &two], PATIENCE));
    drop(silent);
    relay.end();
}

#[test]
fn flaw_a_relay_full_of_parties_that_wait_still_pairs_them() {
    let parties = [(); 3].map(|()| [identity(), identity()]);
    let all: Vec<&Identity> = parties.iter().flatten().collect();
    let relay = Running::start(&all, |rules| rules.max_streams = 4);
    thread::scope(|scope| {
        let ([waiting @ .., [one, two]], relay) = (&parties, &relay);
        for [early, late] in waiting {
            scope.spawn(move || relay.join(early, late, "").unwrap().write_all(b"x").unwrap());
            relay.until_waiting(early);
        }
        let mut third = Raw::new(relay, one);
        third.say(&run_join(one, two, ""));
        assert_eq!(third.hear_all(), Reply::Refused(Refusal::Busy).encode(), "two seats are kept");
        let mut late = waiting.each_ref().map(|[early, late]| relay.join(late, early, "").unwrap());
        for stream in &mut late {
            stream.read_exact(&mut [0]).unwrap();
        }
        drop(late);
        relay.until(|event| matches!(event, RelayEvent::Ended { .. }));
        relay.until(|event| matches!(event, RelayEvent::Ended { .. }));
    });
    relay.end();
}

#[test]
fn flaw_one_key_cannot_take_every_seat() {
    let [crowd, one, two] = &[(); 3].map(|()| identity());
    let allow = [crowd, one, two].map(|party| *party.public_key()).to_vec();
    let rules = Rules::shared(allow, None, 12);
    assert_eq!((rules.waiting, rules.paired), (2, 2));
    let relay = Running::at("127.0.0.1:0", identity(), rules);
    let join = |run: &str| {
        let mut raw = Raw::new(&relay, crowd);
        raw.say(&run_join(crowd, one, run));
        raw
    };
    let held = ["a", "b"].map(|run| {
        let raw = join(run);
        relay.until_waiting(crowd);
        raw
    });
    for run in ["c", "d", "e", "f"] {
        assert_eq!(join(run).hear_all(), Reply::Refused(Refusal::Busy).encode());
    }
    let via = relay.via("");
    drop(pair([&via, &via], [one, two], PATIENCE));
    drop(held);
    relay.end();
}

/// Strangers with keys of their own fill the door, and have to make room for whoever is on the list.
#[test]
fn a_key_that_is_not_on_the_list_keeps_no_seat() {
    let (one, two) = (identity(), identity());
    let relay = Running::start(&[&one, &two], |rules| {
        (rules.handshakes, rules.times.handshake) = (4, 4 * PATIENCE);
    });
    let strangers: Vec<Raw> = (0..4).map(|_| Raw::new(&relay, &identity())).collect();
    // Until the relay has their last flight, and so their keys.
    thread::sleep(SOON);
    let via = relay.via("");
    drop(pair([&via, &via], [&one, &two], PATIENCE));
    drop(strangers);
    relay.end();
}

#[test]
fn a_rate_is_kept_over_all_streams_of_a_key() {
    let (one, two) = (identity(), identity());
    let relay = Running::start(&[&one, &two], |rules| rules.rate = Some(1 << 20));
    let started = Instant::now();
    thread::scope(|scope| {
        for run in ["a", "b"] {
            let (relay, one, two) = (&relay, &one, &two);
            scope.spawn(move || relay.join(one, two, run).unwrap().write_all(&[1; 256 << 10]).unwrap());
            scope.spawn(move || {
                let mut heard = Vec::new();
                relay.join(two, one, run).unwrap().read_to_end(&mut heard).unwrap();
                assert_eq!(heard.len(), 256 << 10);
            });
        }
    });
    assert!(started.elapsed() >= Duration::from_millis(500), "half a second's bytes");
    relay.end();
}

#[test]
fn a_relay_that_stops_lets_pairs_end_and_sends_away_who_waits() {
    let (one, two) = (identity(), identity());
    let relay = Running::start(&[&one, &two], |_| ());
    let via = relay.via("");
    let [mut here, mut there] = pair([&via, &via], [&one, &two], PATIENCE);
    let mut waits = Raw::new(&relay, &one);
    waits.say(&run_join(&one, &two, "other"));
    // Not the one of the pair.
    let other = Label::of_run(one.public_key(), two.public_key(), "other");
    relay.until(|event| matches!(event, RelayEvent::Waiting { label, .. } if *label == other));
    relay.stop.cancel();
    assert_eq!(waits.hear_all(), Reply::Wait.encode());
    assert_eq!(
        relay.until(|event| matches!(event, RelayEvent::Draining { .. })),
        RelayEvent::Draining { streams: 2 }
    );
    assert!(TcpStream::connect(relay.address).is_err(), "nobody else");
    here.send(b"goes on").and_then(|()| here.flush()).unwrap();
    assert_eq!(received(&mut there, 7).unwrap(), b"goes on");
    assert!(!relay.thread.is_finished());
    drop((here, there));
    relay.end();
}

#[test]
fn a_relay_that_comes_back_finds_who_waited() {
    let (one, two) = (identity(), identity());
    let allow = vec![*one.public_key(), *two.public_key()];
    let rules = Rules { allow, ..Rules::default() };
    let first = Running::at("127.0.0.1:0", identity(), rules.clone());
    let (via, address, own) = (first.via(""), first.address.to_string(), first.identity.clone());
    thread::scope(|scope| {
        let early = scope.spawn(|| {
            let mut retried = false;
            let on_event = &mut |event| retried |= matches!(event, NetEvent::Retrying { .. });
            (met(&via, &one, &two, PATIENCE, on_event).unwrap(), retried)
        });
        first.until_waiting(&one);
        first.end();
        let again = Running::at(&address, own, rules);
        let mut late = met(&via, &two, &one, PATIENCE, &mut |_| ()).unwrap();
        let (_early, retried) = early.join().unwrap();
        assert!(retried);
        assert_eq!(received(&mut late, 5).unwrap(), b"first");
        drop((late, _early));
        again.end();
    });
}

#[test]
fn many_pairs_at_once() {
    const PAIRS: usize = 32;
    let parties: Vec<[Identity; 2]> = (0..4).map(|_| [identity(), identity()]).collect();
    let all: Vec<&Identity> = parties.iter().flatten().collect();
    let relay = Running::start(&all, |_| ());
    thread::scope(|scope| {
        for number in 0..PAIRS {
            let (via, [one, two]) = (relay.via(&number.to_string()), &parties[number % 4]);
            scope.spawn(move || {
                let [mut here, mut there] = pair([&via, &via], [one, two], PATIENCE);
                let data = vec![number as u8; 200_000 + number];
                thread::scope(|scope| {
                    scope.spawn(|| here.send(&data).and_then(|()| here.flush()).unwrap());
                    assert_eq!(received(&mut there, data.len()).unwrap(), data);
                });
            });
        }
    });
    relay.end();
}

/// What a tampering relay does with the bytes of one direction, as soon as it is told to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lie {
    Flip,
    Drop,
    Repeat,
    Swap,
}

/// The bytes between a party and the relay go through here; later they are lied about.
struct Middle {
    address: SocketAddr,
    lie: Arc<Mutex<Option<Lie>>>,
}

impl Middle {
    fn new(to: SocketAddr, give: mpsc::Sender<Vec<u8>>, take: mpsc::Receiver<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (lie, take) = (Arc::<Mutex<Option<Lie>>>::default(), Arc::new(Mutex::new(take)));
        let middle = Self { address, lie: lie.clone() };
        thread::spawn(move || {
            while let Ok((party, _)) = listener.accept() {
                let relay = TcpStream::connect(to).unwrap();
                let (mut back, mut home) = (relay.try_clone().unwrap(), party.try_clone().unwrap());
                thread::spawn(move || {
                    drop(std::io::copy(&mut back, &mut home));
                    drop(home.shutdown(Shutdown::Both));
                });
                let (lie, give, take) = (lie.clone(), give.clone(), take.clone());
                thread::spawn(move || Self::pass(party, relay, &lie, &give, &take));
            }
        });
        middle
    }

    fn pass(
        mut party: TcpStream,
        mut relay: TcpStream,
        lie: &Mutex<Option<Lie>>,
        give: &mpsc::Sender<Vec<u8>>,
        take: &Mutex<mpsc::Receiver<Vec<u8>>>,
    ) {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = party.read(&mut buffer) {
            let mut bytes = buffer[..length].to_vec();
            let lie = *lie.lock().unwrap();
            match lie {
                None => {}
                Some(Lie::Flip) => bytes[length - 1] ^= 1,
                // One byte, so that what follows fills the record that lacks it.
                Some(Lie::Drop) => bytes.truncate(length - 1),
                Some(Lie::Repeat) => bytes = bytes.repeat(2),
                Some(Lie::Swap) => {
                    // The other pair may have ended.
                    drop(give.send(bytes));
                    let Ok(swapped) = take.lock().unwrap().recv_timeout(SOON) else { break };
                    bytes = swapped;
                }
            }
            if relay.write_all(&bytes).is_err() {
                break;
            }
        }
        drop(relay.shutdown(Shutdown::Both));
    }
}

#[test]
fn a_relay_that_tampers_is_noticed() {
    let parties = [identity(), identity()];
    let [one, two] = &parties;
    let relay = Running::start(&[one, two], |_| ());
    for lie in [Lie::Flip, Lie::Drop, Lie::Repeat, Lie::Swap] {
        let ((give, taken), (given, take)) = (mpsc::channel(), mpsc::channel());
        // Two pairs, whose streams can be swapped.
        let middles = [Middle::new(relay.address, give, take), Middle::new(relay.address, given, taken)];
        let mut pairs = ["a", "b"].map(|run| {
            let Address::Via(via) = relay.via(run) else { panic!() };
            let middle = &middles[usize::from(run == "b")];
            let through = Address::Via(Via { address: middle.address.to_string(), ..via.clone() });
            pair([&through, &Address::Via(via)], [one, two], PATIENCE)
        });
        for [here, there] in &mut pairs {
            here.send(b"good").and_then(|()| here.flush()).unwrap();
            assert_eq!(received(there, 4).unwrap(), b"good");
        }
        middles.iter().for_each(|middle| *middle.lie.lock().unwrap() = Some(lie));
        for [here, _] in &mut pairs {
            here.send(&[5; 1000]).and_then(|()| here.flush()).unwrap();
        }
        for [here, there] in &mut pairs {
            // What is dropped is noticed with what follows it.
            here.send(&[6; 30_000]).and_then(|()| here.flush()).unwrap_or_default();
            let error = received(there, 1000).and_then(|_| received(there, 30_000)).unwrap_err();
            assert!(matches!(error.fault(), Fault::Protocol | Fault::Partner), "{lie:?}: {error}");
        }
    }
    relay.end();
}

/// A relay that swaps whole streams, or joins a party with somebody of its own, is found out by the parties' TLS.
#[test]
fn a_relay_cannot_put_anybody_in_the_partners_place() {
    let (party, partner, relay) = (identity(), identity(), identity());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let via = Address::Via(Via { address, key: *relay.public_key(), run: String::new(), more: Vec::new() });
    let (larger, smaller) =
        if party.public_key() > partner.public_key() { (&party, &partner) } else { (&partner, &party) };
    thread::scope(|scope| {
        let (relay, party_key) = (&relay, *larger.public_key());
        scope.spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let (mut tls, _) = Tls::of_relay(relay).unwrap().connection(Role::Server).unwrap();
            let (mut records, mut text) = (Records::default(), Vec::new());
            handshake(&mut tls, &mut records, &mut socket, &mut text).unwrap();
            say(&mut tls, &Reply::Paired { part: 0 }.encode(), true, &mut socket).unwrap();
            while !take_in(&mut tls, &records.next(&mut socket).unwrap(), &mut text).unwrap() {}
            socket.write_all(&[0]).unwrap();
            // Its own key, in the place of the partner's.
            let forged = crate::establish::handshake::shake_hands(
                &socket,
                Role::Client,
                Some(&Tls::new(relay, &[party_key]).unwrap()),
                [1; 32],
                Instant::now() + PATIENCE,
                &|| false,
                &|_| (),
            );
            assert!(forged.is_err());
        });
        let error = met(&via, larger, smaller, PATIENCE, &mut |_| ()).unwrap_err();
        assert!(matches!(error, NetError::Mispaired { .. }), "{error}");
        assert_eq!(error.fault(), Fault::Partner);
    });
}
