//! How two parties meet, and how everybody else is kept apart.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::{Listener, MAGIC, dial, identities, impatient, options, patient, raw_hello, receive, rng};
use vesica_channel::{Channel, ChannelError, Fault};
use vesica_net::{
    Address, Company, Connection, ConnectionSecurity, Identity, MeetingPlace, NetError, NetEvent, Options,
    PartCall, PartsAddress, PublicKey, RetryReason, StrangerReason, establish, gather, meet, meet_to_stay,
};

fn talk(mut one: Connection, mut two: Connection) {
    one.send(b"hello").and_then(|()| one.flush()).unwrap();
    assert_eq!(receive(&mut two, 5).unwrap(), b"hello");
}

/// An address that nobody listens on.
fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn key(identity: &Identity) -> PublicKey {
    *identity.public_key()
}

#[test]
fn the_listener_may_start_last() {
    let (one, two) = identities();
    let (one_key, two_key) = (key(&one), key(&two));
    let address = free_address();
    let connecting = thread::spawn(move || {
        let mut reasons = Vec::new();
        let mut tell = |event| {
            if let NetEvent::Retrying { reason, .. } = event {
                reasons.push(reason);
            }
        };
        let security = ConnectionSecurity::Tls { identity: &two, peer: &one_key };
        let to = Address::Connect(format!("localhost:{}", address.port()));
        let channel = establish(&to, &security, &patient(), &mut rng(2), &mut tell).unwrap();
        assert!(!reasons.is_empty());
        channel
    });
    thread::sleep(Duration::from_millis(200));
    let listener = Listener::at(&address.to_string(), Some((one, two_key)), patient());
    talk(listener.outcome().unwrap(), connecting.join().unwrap());
}

#[test]
fn the_peers_key_is_the_one_expected() {
    let (one, two) = identities();
    let (one_key, two_key) = (key(&one), key(&two));
    let listener = Listener::start(Some((one, two_key)), patient());
    let there = dial(listener.address, Some((two, one_key)), &patient()).unwrap();
    let here = listener.outcome().unwrap();
    assert_eq!((here.peer_key(), there.peer_key()), (Some(&two_key), Some(&one_key)));
    talk(there, here);
}

#[test]
fn a_listener_with_another_key_is_refused_at_once() {
    let (one, two) = identities();
    let (wrong, _) = identities();
    let (one_key, two_key, wrong_key) = (key(&one), key(&two), key(&wrong));
    let listener = Listener::start(Some((wrong, two_key)), impatient());
    let error = dial(listener.address, Some((two, one_key)), &patient()).map(drop).unwrap_err();
    assert_eq!(error, NetError::WrongPeer { expected: one_key, presented: wrong_key });
    assert_eq!(error.fault(), Fault::Identity);
    let error = listener.outcome().map(drop).unwrap_err();
    let NetError::NobodyCame { others, .. } = &error else { panic!("{error:?}") };
    assert_eq!(others.last, Some(StrangerReason::RefusedUs));
    assert!(
        error.fault() == Fault::Identity && error.to_string().contains(&wrong_key.to_string()),
        "{error}"
    );
}

#[test]
fn a_caller_with_another_key_is_told_so_and_dropped() {
    let (one, two) = identities();
    let (wrong, _) = identities();
    let (one_key, two_key, wrong_key) = (key(&one), key(&two), key(&wrong));
    let listener = Listener::start(Some((one, two_key)), impatient());
    let error = dial(listener.address, Some((wrong, one_key)), &patient()).map(drop).unwrap_err();
    assert_eq!(error, NetError::RefusedByPeer { ours: wrong_key });
    let dropped = listener.events.recv().unwrap();
    let NetEvent::StrangerDropped { reason, .. } = dropped else { panic!("{dropped:?}") };
    assert_eq!(reason, StrangerReason::OtherKey(wrong_key));
    let error = listener.outcome().map(drop).unwrap_err();
    assert_eq!(error.fault(), Fault::Identity, "who came alone is most likely the partner");
    let said = error.to_string();
    for part in ["did not connect", "one other", &wrong_key.to_string(), &two_key.to_string()] {
        assert!(said.contains(part), "{said}");
    }
}

/// A stranger among others does not decide why the partner did not come, whichever key it shows; it is told of.
#[test]
fn one_of_many_with_some_key_is_told_of_and_is_not_the_partner() {
    let (one, two) = identities();
    let (wrong, third) = identities();
    let (one_key, two_key, wrong_key) = (key(&one), key(&two), key(&wrong));
    for other in [Some(third), None] {
        let listener = Listener::start(Some((one.clone(), two_key)), options(Duration::from_secs(3)));
        let address = listener.address;
        match other {
            Some(third) => drop(dial(address, Some((third, one_key)), &patient()).map(drop).unwrap_err()),
            None => TcpStream::connect(address).unwrap().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap(),
        }
        assert!(matches!(listener.events.recv(), Ok(NetEvent::StrangerDropped { .. })));
        assert!(dial(address, Some((wrong.clone(), one_key)), &patient()).is_err());
        let error = listener.outcome().map(drop).unwrap_err();
        assert_eq!(error.fault(), Fault::Partner, "{error}");
        let said = error.to_string();
        for part in ["did not connect", "within 3s", "2 others", &wrong_key.to_string(), &two_key.to_string()]
        {
            assert!(said.contains(part), "{said}");
        }
    }
}

/// The last attempt, for whose lookup no time is left, does not hide why the others failed.
#[test]
fn a_host_name_at_which_nobody_listens_is_told_as_that() {
    let address = free_address();
    let to = Address::Connect(format!("localhost:{}", address.port()));
    for silence in [2000, 2350, 2700].map(Duration::from_millis) {
        let options = options(silence);
        let error =
            establish(&to, &ConnectionSecurity::InsecurePlaintext, &options, &mut rng(2), &mut |_| ());
        let error = error.map(drop).unwrap_err();
        let NetError::Unreachable { last, waited, .. } = &error else { panic!("{error:?}") };
        assert_eq!((last, *waited), (&RetryReason::Refused, silence));
    }
}

/// An address that answers nothing at all, not even to the first packet: its queue of callers is full.
#[test]
fn an_address_that_swallows_is_given_up_in_time() {
    let full = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    full.bind(&any.into()).and_then(|()| full.listen(0)).unwrap();
    let address = full.local_addr().unwrap().as_socket().unwrap();
    let queued: Vec<_> = (0..3)
        .map(|_| {
            let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
            socket.set_nonblocking(true).unwrap();
            drop(socket.connect(&address.into()));
            socket
        })
        .collect();
    let error = dial(address, None, &impatient()).map(drop).unwrap_err();
    let NetError::Unreachable { last, .. } = &error else { panic!("{error:?}") };
    assert_eq!(*last, RetryReason::NoAnswer);
    drop(queued);
}

#[test]
fn strangers_do_not_keep_the_partner_out() {
    let (one, two) = identities();
    let (wrong, _) = identities();
    let (one_key, two_key, wrong_key) = (key(&one), key(&two), key(&wrong));
    let listener = Listener::start(Some((one, two_key)), patient());
    let address = listener.address;
    // More silent ones than there is room for, a scanner, a babbler, one with a wrong key, one without TLS.
    let silent: Vec<_> = (0..50).map(|_| TcpStream::connect(address).unwrap()).collect();
    drop(TcpStream::connect(address).unwrap());
    let mut babbler = TcpStream::connect(address).unwrap();
    babbler.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert!(dial(address, Some((wrong, one_key)), &patient()).is_err());
    let error = dial(address, None, &patient()).map(drop).unwrap_err();
    assert_eq!(error, NetError::NotVesica { address });
    let mut missing =
        vec![StrangerReason::OtherKey(wrong_key), StrangerReason::NotVesica, StrangerReason::TooSlow];
    while !missing.is_empty() {
        let event = listener.events.recv_timeout(Duration::from_secs(10)).unwrap();
        let NetEvent::StrangerDropped { reason, .. } = event else { panic!("{event:?}") };
        missing.retain(|expected| *expected != reason);
    }
    let there = dial(address, Some((two, one_key)), &patient()).unwrap();
    talk(listener.outcome().unwrap(), there);
    drop(silent);
}

#[test]
fn nobody_listening_is_reported_after_the_wait() {
    let address = free_address();
    let error = dial(address, None, &impatient()).map(drop).unwrap_err();
    let NetError::Unreachable { address: text, last, .. } = &error else { panic!("{error:?}") };
    assert_eq!((text, last), (&address.to_string(), &RetryReason::Refused));
    assert_eq!(error.fault(), Fault::Partner);
}

/// Whoever only looks whether the port is open is no news. Should the partner not come, it is counted.
#[test]
fn flaw_who_comes_and_leaves_without_a_word_is_not_told_of() {
    let (one, two) = identities();
    let listener = Listener::start(Some((one, key(&two))), options(Duration::from_secs(5)));
    let address = listener.address;
    drop(TcpStream::connect(address).unwrap());
    // Until it has been noticed.
    thread::sleep(Duration::from_millis(300));
    TcpStream::connect(address).unwrap().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let told = listener.events.recv().unwrap();
    assert!(matches!(told, NetEvent::StrangerDropped { reason: StrangerReason::NotVesica, .. }), "{told:?}");
    let error = listener.outcome().map(drop).unwrap_err();
    assert!(matches!(&error, NetError::NobodyCame { others, .. } if others.count == 2), "{error:?}");
}

#[test]
fn nobody_coming_is_reported_after_the_wait() {
    let (one, two) = identities();
    let listener = Listener::start(Some((one, key(&two))), impatient());
    let address = listener.address;
    let mut scanner = TcpStream::connect(address).unwrap();
    scanner.write_all(&[0; 100]).unwrap();
    let error = listener.outcome().map(drop).unwrap_err();
    let NetError::NobodyCame { address: where_to, others, .. } = &error else { panic!("{error:?}") };
    assert_eq!((*where_to, others.count, &others.last), (address, 1, &Some(StrangerReason::NotVesica)));
    assert_eq!(error.fault(), Fault::Partner);
}

/// A server that does one thing with every connection.
fn serve(act: impl Fn(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || listener.incoming().for_each(|socket| socket.map(&act).unwrap_or(())));
    address
}

fn with_tls(address: SocketAddr, options: &vesica_net::Options) -> NetError {
    let (one, two) = identities();
    let peer = key(&two);
    dial(address, Some((one, peer)), options).map(drop).unwrap_err()
}

#[test]
fn something_else_at_the_address_is_named_at_once() {
    let garbage = serve(|mut socket| {
        drop(socket.write_all(b"SSH-2.0-OpenSSH_9.9\r\n"));
        drop(socket.read_to_end(&mut Vec::new()));
    });
    let http = serve(|mut socket| {
        drop(socket.read(&mut [0; 100]));
        drop(socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
    });
    let short = serve(|mut socket| drop(socket.write_all(b"no")));
    for address in [garbage, http] {
        assert_eq!(with_tls(address, &patient()), NetError::NotVesica { address });
    }
    for address in [garbage, http, short] {
        let error = dial(address, None, &patient()).map(drop).unwrap_err();
        assert_eq!((error.fault(), error), (Fault::Identity, NetError::NotVesica { address }));
    }
}

#[test]
fn a_listener_that_closes_or_says_nothing_is_tried_again() {
    let closing = serve(drop);
    let error = with_tls(closing, &impatient());
    let NetError::Unreachable { last: RetryReason::ClosedEarly, .. } = error else { panic!("{error:?}") };
    let silent = serve(|mut socket| {
        thread::spawn(move || drop(socket.read_to_end(&mut Vec::new())));
    });
    let error = with_tls(silent, &impatient());
    let NetError::Unreachable { last: RetryReason::NoAnswer, .. } = error else { panic!("{error:?}") };
}

#[test]
fn another_version_is_named_on_both_sides() {
    let address = serve(|mut socket| {
        drop(socket.write_all(&[MAGIC, &[9, 0]].concat()));
        drop(socket.read_to_end(&mut Vec::new()));
    });
    let error = dial(address, None, &patient()).map(drop).unwrap_err();
    assert_eq!(
        (error.fault(), error),
        (Fault::Identity, NetError::VersionMismatch { mine: vesica_net::VERSION, theirs: 9 })
    );

    let listener = Listener::start(None, patient());
    let mut peer = TcpStream::connect(listener.address).unwrap();
    peer.write_all(&[MAGIC, &[9, 0], &[5; 32]].concat()).unwrap();
    let mut heard = Vec::new();
    peer.read_to_end(&mut heard).unwrap();
    assert_eq!(
        heard[..10],
        [MAGIC, &vesica_net::VERSION.to_le_bytes()].concat(),
        "the other side learns our version"
    );
    assert_eq!(
        listener.outcome().map(drop).unwrap_err(),
        NetError::VersionMismatch { mine: vesica_net::VERSION, theirs: 9 }
    );
}

#[test]
fn an_echo_is_not_a_partner() {
    let mirror = serve(|mut socket| {
        let mut back = socket.try_clone().unwrap();
        drop(std::io::copy(&mut socket, &mut back));
    });
    let error = dial(mirror, None, &patient()).map(drop).unwrap_err();
    assert_eq!(error, NetError::NotVesica { address: mirror });
}

#[test]
fn plaintext_stays_on_this_machine() {
    for text in ["0.0.0.0:9", "[::]:9", "192.0.2.1:9", "[::ffff:192.0.2.1]:9"] {
        for address in [Address::Listen(text.to_owned()), Address::Connect(text.to_owned())] {
            let error = establish(
                &address,
                &ConnectionSecurity::InsecurePlaintext,
                &patient(),
                &mut rng(1),
                &mut |_| (),
            )
            .map(drop)
            .unwrap_err();
            assert_eq!(error, NetError::PlaintextNotLoopback { address: text.to_owned() });
            assert_eq!(error.fault(), Fault::Usage);
        }
    }
}

#[test]
fn addresses_that_cannot_be_are_refused_at_once() {
    for text in
        ["", "localhost", ":9000", "localhost:", "localhost:http", "localhost:70000", "::1:90", "http://x:80"]
    {
        for address in [Address::Listen(text.to_owned()), Address::Connect(text.to_owned())] {
            let error = establish(
                &address,
                &ConnectionSecurity::InsecurePlaintext,
                &patient(),
                &mut rng(1),
                &mut |_| (),
            )
            .map(drop)
            .unwrap_err();
            assert!(matches!(error, NetError::BadAddress { .. }), "{text}: {error}");
            assert_eq!(error.fault(), Fault::Usage);
        }
    }
}

#[test]
fn an_address_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let text = taken.local_addr().unwrap().to_string();
    let error = establish(
        &Address::Listen(text.clone()),
        &ConnectionSecurity::InsecurePlaintext,
        &patient(),
        &mut rng(1),
        &mut |_| (),
    );
    let error = error.map(drop).unwrap_err();
    assert!(matches!(&error, NetError::Bind { address, .. } if *address == text), "{error}");
    assert!(error.to_string().contains("in use"), "{error}");
}

#[test]
fn cancelling_ends_the_meeting() {
    let silent = serve(|mut socket| {
        thread::spawn(move || drop(socket.read_to_end(&mut Vec::new())));
    });
    let nobody = free_address();
    let waits = [
        Address::Listen("127.0.0.1:0".to_owned()),
        Address::Connect(silent.to_string()),
        Address::Connect(nobody.to_string()),
    ];
    for address in waits {
        let options = patient();
        let started = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(150));
                options.cancel.cancel();
            });
            let outcome = establish(
                &address,
                &ConnectionSecurity::InsecurePlaintext,
                &options,
                &mut rng(1),
                &mut |_| (),
            );
            assert_eq!(outcome.map(drop), Err(ChannelError::Cancelled.into()), "{address:?}");
        });
        assert!(started.elapsed() < Duration::from_secs(5), "{address:?}");
        let again =
            establish(&address, &ConnectionSecurity::InsecurePlaintext, &options, &mut rng(1), &mut |_| ());
        assert_eq!(again.map(drop), Err(ChannelError::Cancelled.into()));
    }
}

#[test]
fn a_proper_raw_hello_is_a_connection() {
    let listener = Listener::start(None, patient());
    let mut peer = TcpStream::connect(listener.address).unwrap();
    raw_hello(&mut peer, vesica_net::VERSION);
    let channel = listener.outcome().unwrap();
    assert_eq!(channel.nonces().theirs, [7; 32]);
    assert_eq!(channel.peer_address(), Some(peer.local_addr().unwrap()));
}

/// A part's connection is for the keys of its run: neither a run's connection nor another key passes for it.
/// Meets on a port that `told` hears of.
fn meet_here(
    (identity, peer): (&Identity, &PublicKey),
    told: &mpsc::Sender<SocketAddr>,
) -> (Connection, MeetingPlace) {
    let security = ConnectionSecurity::Tls { identity, peer };
    let address = Address::Listen("127.0.0.1:0".to_owned());
    let mut tell = |event| {
        if let NetEvent::Listening(address) = event {
            told.send(address).unwrap();
        }
    };
    meet_to_stay(&address, &security, b"run", &patient(), &mut rng(1), &mut tell).unwrap()
}

/// For both sides to wait at when they have met: whoever leaves before the other one has is waited for again.
fn met_on_both_sides() -> (Arc<Barrier>, Arc<Barrier>) {
    let met = Arc::new(Barrier::new(2));
    (met.clone(), met)
}

/// A connection of a part that stays wanted.
fn call<'a>(
    keys: (&'a Identity, &'a PublicKey),
    part: u32,
    first: &'a [u8],
    options: &'a Options,
) -> PartCall<'a> {
    PartCall { keys: Some(keys), tag: [9; 32], part, round: 0, first, options, wanted: &|| true }
}

#[test]
fn those_who_have_met_meet_again_under_other_keys() {
    let ((one, two), (first, second)) = (identities(), identities());
    let (one_key, two_key, first_key, second_key) = (key(&one), key(&two), key(&first), key(&second));
    let (sender, place) = mpsc::channel();
    let here = thread::spawn(move || {
        let (mut run, place) = meet_here((&one, &two_key), &sender);
        assert!(place.is_here());
        assert_eq!(receive(&mut run, 3).unwrap(), b"RUN");
        let (options, wanted) = (patient(), || run.readable() == 0);
        let call = call((&first, &second_key), u32::MAX, b"part", &options);
        let part = place.meet_again(&call, &mut rng(2)).unwrap().unwrap();
        let gone = place.meet_again(&PartCall { wanted: &wanted, ..call }, &mut rng(3)).unwrap();
        assert!(gone.is_none(), "nobody comes, and the partner says so over the run's connection");
        (run, part)
    });
    let address = place.recv().unwrap();
    let security = ConnectionSecurity::Tls { identity: &two, peer: &one_key };
    let to = Address::Connect(address.to_string());
    let met = meet_to_stay(&to, &security, b"RUN", &patient(), &mut rng(4), &mut |_| ());
    let (mut run, place) = met.unwrap();
    assert!(!place.is_here());
    assert_eq!(receive(&mut run, 3).unwrap(), b"run");
    // A worker needs no more than this, and the key made for the run. The key of the identity is another.
    let (worker, options, brief) = (PartsAddress::of(&to, Some(&one_key)), patient(), impatient());
    let foreign =
        worker.meet(&call((&two, &first_key), 3, b"PART", &brief), &mut rng(5)).map(drop).unwrap_err();
    assert_eq!(foreign.fault(), Fault::Identity, "{foreign}");
    // Who begins another run is told that this one is played.
    let early = dial(address, Some((two, one_key)), &impatient()).map(drop).unwrap_err();
    assert_eq!(early.fault(), Fault::Partner, "{early}");
    let part = worker.meet(&call((&second, &first_key), 3, b"PART", &options), &mut rng(5)).unwrap();
    run.send(b"over").and_then(|()| run.flush()).unwrap();
    let (_, mut there) = here.join().unwrap();
    let mut part = part.unwrap();
    assert_eq!(part.peer_key(), Some(&first_key));
    assert_eq!(receive(&mut part, 4).unwrap(), b"part");
    assert_eq!(receive(&mut there, 4).unwrap(), b"PART");
}

/// A run is taken up under the keys of the identities and the name of a run, as it was begun.
#[test]
fn a_run_is_taken_up_as_it_was_begun() {
    let (one, two) = identities();
    let (one_key, two_key) = (key(&one), key(&two));
    let (sender, place) = mpsc::channel();
    let (met, met_here) = met_on_both_sides();
    let here = thread::spawn(move || {
        let (run, place) = meet_here((&one, &two_key), &sender);
        met_here.wait();
        drop(run);
        place.take_up(b"again", &patient(), &mut rng(2), &mut |_| ()).unwrap().unwrap()
    });
    let to = Address::Connect(place.recv().unwrap().to_string());
    let security = ConnectionSecurity::Tls { identity: &two, peer: &one_key };
    let meets = |said: &[u8], seed| {
        let met = meet_to_stay(&to, &security, said, &patient(), &mut rng(seed), &mut |_| ());
        met.unwrap().0
    };
    let run = meets(b"RUN", 3);
    met.wait();
    drop(run);
    let mut run = meets(b"AGAIN", 4);
    assert_eq!(receive(&mut run, 5).unwrap(), b"again");
    assert_eq!(receive(&mut here.join().unwrap(), 5).unwrap(), b"AGAIN");
}

/// A side that takes up the run listens for nothing else. Whoever opens a part meanwhile is turned away, and comes again.
#[test]
fn flaw_a_part_is_opened_while_the_run_is_taken_up() {
    let ((one, two), (first, second)) = (identities(), identities());
    let (one_key, two_key, first_key, second_key) = (key(&one), key(&two), key(&first), key(&second));
    let (sender, place) = mpsc::channel();
    let (met, met_here) = met_on_both_sides();
    let here = thread::spawn(move || {
        let (run, place) = meet_here((&one, &two_key), &sender);
        met_here.wait();
        drop(run);
        let run = place.take_up(b"again", &patient(), &mut rng(2), &mut |_| ()).unwrap().unwrap();
        let options = patient();
        let call = call((&first, &second_key), u32::MAX, b"part", &options);
        let part = place.meet_again(&call, &mut rng(3)).unwrap().unwrap();
        (run, part)
    });
    let address = place.recv().unwrap();
    let security = ConnectionSecurity::Tls { identity: &two, peer: &one_key };
    let to = Address::Connect(address.to_string());
    let run = meet_to_stay(&to, &security, b"RUN", &patient(), &mut rng(4), &mut |_| ());
    let (run, place) = run.unwrap();
    met.wait();
    drop(run);
    let (worker, options) = (PartsAddress::of(&to, Some(&one_key)), patient());
    let (mut run, mut part) = thread::scope(|scope| {
        let part = scope.spawn(|| {
            let call = call((&second, &first_key), 3, b"PART", &options);
            worker.meet(&call, &mut rng(5)).unwrap().unwrap()
        });
        // Time to be turned away.
        thread::sleep(Duration::from_millis(500));
        let run = place.take_up(b"AGAIN", &patient(), &mut rng(6), &mut |_| ()).unwrap().unwrap();
        (run, part.join().unwrap())
    });
    let (mut run_there, mut part_there) = here.join().unwrap();
    assert_eq!((run.peer_key(), part.peer_key()), (Some(&one_key), Some(&first_key)));
    assert_eq!(receive(&mut run, 5).unwrap(), b"again");
    assert_eq!(receive(&mut part, 4).unwrap(), b"part");
    assert_eq!(receive(&mut run_there, 5).unwrap(), b"AGAIN");
    assert_eq!(receive(&mut part_there, 4).unwrap(), b"PART");
}

/// Two peers that come for two runs at once: the connections that are handed over are of one run, and the others wait until
/// then.
#[test]
fn flaw_who_is_gathered_is_there_for_one_run() {
    let (one, two) = identities();
    let (here, _) = identities();
    let (peers, here_key) = ([key(&one), key(&two)], key(&here));
    let (sender, events) = mpsc::channel();
    let gathering = thread::spawn(move || {
        let mut hear = |party: &mut Connection| receive(party, 1).unwrap()[0];
        let company = Company { peers: &peers, hear: &mut hear, belong: &|one: &u8, other| one == other };
        let mut tell = |event| drop(sender.send(event));
        let met = gather("127.0.0.1:0", &here, company, b"hello", &patient(), &mut rng(1), &mut tell);
        met.unwrap()
    });
    let Ok(NetEvent::Listening(address)) = events.recv() else { panic!("no listener") };
    let come = |identity: &Identity, run: u8| {
        let security = ConnectionSecurity::Tls { identity, peer: &here_key };
        let to = Address::Connect(address.to_string());
        let mut met = meet(&to, &security, &[run], &patient(), &mut rng(run.into()), &mut |_| ()).unwrap();
        assert_eq!(receive(&mut met, 5).unwrap(), b"hello");
        assert!(matches!(events.recv(), Ok(NetEvent::Connected { .. })));
        met
    };
    // More than wait, so that run 1 gives way; run 2 is that of both.
    let mut waiting: Vec<Connection> = (1..=17).map(|run| come(&one, run)).collect();
    assert!(receive(&mut waiting[0], 1).is_err() && waiting[0].was_declined());
    let mut first_of_two = come(&two, 1);
    let second_of_two = come(&two, 2);
    let mut met = gathering.join().unwrap();
    let (two_here, one_here) = (met.pop().unwrap(), met.pop().unwrap());
    assert_eq!((one_here.1, two_here.1), (2, 2));
    assert_eq!((one_here.0.peer_key(), two_here.0.peer_key()), (Some(&peers[0]), Some(&peers[1])));
    talk(one_here.0, waiting.remove(1));
    talk(second_of_two, two_here.0);
    assert!(receive(&mut first_of_two, 1).is_err() && first_of_two.was_declined());
    assert!(waiting.iter_mut().all(|late| receive(late, 1).is_err() && late.was_declined()));
}

/// Where both have come, but not for one run, whoever gathers says so when the time is over.
#[test]
fn who_never_comes_for_one_run_is_handed_over_at_the_end() {
    let (one, two) = identities();
    let (here, _) = identities();
    let (peers, here_key) = ([key(&one), key(&two)], key(&here));
    let (sender, events) = mpsc::channel();
    let gathering = thread::spawn(move || {
        let mut hear = |party: &mut Connection| receive(party, 1).unwrap()[0];
        let company = Company { peers: &peers, hear: &mut hear, belong: &|one: &u8, other| one == other };
        let mut tell = |event| drop(sender.send(event));
        gather(
            "127.0.0.1:0",
            &here,
            company,
            b"hello",
            &options(Duration::from_secs(5)),
            &mut rng(1),
            &mut tell,
        )
    });
    let Ok(NetEvent::Listening(address)) = events.recv() else { panic!("no listener") };
    let come = |identity: &Identity, run: u8| {
        let security = ConnectionSecurity::Tls { identity, peer: &here_key };
        let to = Address::Connect(address.to_string());
        meet(&to, &security, &[run], &patient(), &mut rng(run.into()), &mut |_| ()).unwrap()
    };
    let _come = (come(&one, 1), come(&two, 2));
    let met: Vec<u8> = gathering.join().unwrap().unwrap().into_iter().map(|(_, run)| run).collect();
    assert_eq!(met, [1, 2]);
}
