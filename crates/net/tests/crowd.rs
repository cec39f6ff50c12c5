//! A crowd of strangers at a listener's door, and a partner who needs a tenth of a second for a round trip.
//!
//! The partner comes through a proxy that holds every byte back for half of that. Strangers come as fast as a test can
//! afford, on loopback, from the partner's address, from another one, or each from one of its own. What is asserted is
//! that the partner gets through, at whichever attempt; nothing here depends on how fast.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::{Listener, identities, options, receive, rng, security};
use socket2::{Domain, Socket, Type};
use vesica_net::{
    Address, Connection, ConnectionSecurity, Identity, NetError, NetEvent, PublicKey, RetryReason, meet,
};

/// Half a round trip.
const CROSSING: Duration = Duration::from_millis(50);
/// Between two strangers.
const PAUSE: Duration = Duration::from_millis(4);
/// How long the partner and the listener try: as long as a busy machine may need.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long strangers have to fill the door; where there are too few descriptors for so many, fewer have to do.
const FILLING: Duration = Duration::from_secs(5);
/// The most strangers that are held open, so that the test does not run out of descriptors.
const HELD: usize = 700;

/// A connection from this address of the loopback network.
fn from(source: Ipv4Addr, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::new(IpAddr::V4(source), 0).into())?;
    socket.connect_timeout(&to.into(), Duration::from_secs(5))?;
    Ok(socket.into())
}

/// Carries bytes from one connection to another, each a crossing later.
fn carry(mut source: TcpStream, mut sink: TcpStream) {
    let (sender, arriving) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        for (at, bytes) in arriving {
            thread::sleep(at.saturating_duration_since(Instant::now()));
            if sink.write_all(&bytes).is_err() {
                break;
            }
        }
        drop(sink.shutdown(Shutdown::Both));
    });
    thread::spawn(move || {
        let mut bytes = [0; 16 << 10];
        while let Ok(length @ 1..) = source.read(&mut bytes) {
            if sender.send((Instant::now() + CROSSING, bytes[..length].to_vec())).is_err() {
                break;
            }
        }
    });
}

/// A way to the listener that takes its time; it comes from this address.
fn far_away(source: Ipv4Addr, to: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for near in listener.incoming().map_while(Result::ok) {
            let Ok(far) = from(source, to) else { continue };
            let (Ok(near_too), Ok(far_too)) = (near.try_clone(), far.try_clone()) else { continue };
            carry(near, far);
            carry(far_too, near_too);
        }
    });
    address
}

/// What strangers do once they are connected.
#[derive(Clone, Copy, PartialEq)]
enum Stranger {
    /// Nothing.
    Silent,
    /// They send a whole ClientHello, and nothing more.
    Greeting,
}

/// Where strangers come from, by their number.
type Sources = fn(u32) -> Ipv4Addr;

const PARTNER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

fn one_other(_: u32) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, 3)
}

fn the_partners(_: u32) -> Ipv4Addr {
    PARTNER
}

fn each_its_own(number: u32) -> Ipv4Addr {
    let [_, _, high, low] = number.to_be_bytes();
    Ipv4Addr::new(127, 9, high, low)
}

/// The first flight of a client that expects another key.
fn client_hello() -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let caller = thread::spawn(move || {
        let (one, two) = identities();
        let keys = Some((one, *two.public_key()));
        drop(common::dial(address, keys, &options(Duration::from_millis(500))));
    });
    let (mut socket, _) = listener.accept().unwrap();
    let mut bytes = vec![0; 16 << 10];
    let mut head = [0; 5];
    socket.read_exact(&mut head).unwrap();
    let length = usize::from(u16::from_be_bytes([head[3], head[4]]));
    socket.read_exact(&mut bytes[..length]).unwrap();
    bytes.truncate(length);
    drop((socket, listener));
    caller.join().unwrap();
    [&head[..], &bytes].concat()
}

/// Strangers, one after the other, until told to stop. They keep the last connections open.
fn crowd(to: SocketAddr, kind: Stranger, sources: Sources, stop: &AtomicBool, came: &AtomicU32) {
    let words = if kind == Stranger::Greeting { client_hello() } else { Vec::new() };
    let mut held = std::collections::VecDeque::new();
    for number in 0.. {
        if stop.load(Relaxed) {
            break;
        }
        if let Ok(mut socket) = from(sources(number), to) {
            // It may have been sent away already.
            let _ = socket.write_all(&words);
            held.push_back(socket);
            came.fetch_add(1, Relaxed);
        }
        if held.len() > HELD {
            held.pop_front();
        }
        thread::sleep(PAUSE);
    }
}

/// A listener that expects a first message, behind so many strangers that its door is full.
fn gets_through(kind: Stranger, sources: Sources) {
    let (one, two) = identities();
    let (one_key, two_key) = (*one.public_key(), *two.public_key());
    let listener = Listener::meeting(Some((one, two_key)), b"here", options(PATIENCE));
    let address = listener.address;
    let (stop, came) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let strangers = {
        let (stop, came) = (stop.clone(), came.clone());
        thread::spawn(move || crowd(address, kind, sources, &stop, &came))
    };
    // The door is full: 512 visitors, or as many as half of the descriptors.
    let started = Instant::now();
    while came.load(Relaxed) < 560 && started.elapsed() < FILLING {
        thread::sleep(Duration::from_millis(5));
    }
    let there = comes((two, one_key), far_away(PARTNER, address));
    stop.store(true, Relaxed);
    strangers.join().unwrap();
    talk(listener.outcome().unwrap(), there.unwrap());
}

/// The partner: it tries until it is through or its time is over.
fn comes(keys: (Identity, PublicKey), to: SocketAddr) -> Result<Connection, NetError> {
    let address = Address::Connect(to.to_string());
    meet(&address, &security(&Some(keys)), b"there", &options(PATIENCE), &mut rng(2), &mut |_| ())
}

fn talk(mut here: Connection, mut there: Connection) {
    assert_eq!(receive(&mut here, 5).unwrap(), b"there");
    assert_eq!(receive(&mut there, 4).unwrap(), b"here");
}

#[test]
fn a_silent_crowd_at_another_address_does_not_keep_the_partner_out() {
    gets_through(Stranger::Silent, one_other);
}

#[test]
fn a_silent_crowd_at_the_partners_own_address_does_not_keep_it_out() {
    gets_through(Stranger::Silent, the_partners);
}

#[test]
fn a_crowd_that_greets_from_the_partners_own_address_does_not_keep_it_out() {
    gets_through(Stranger::Greeting, the_partners);
}

#[test]
fn a_crowd_of_many_addresses_does_not_keep_the_partner_out() {
    gets_through(Stranger::Greeting, each_its_own);
}

/// Tells why attempts are made again.
fn reasons(tell: mpsc::Sender<RetryReason>) -> impl FnMut(NetEvent) {
    move |event| {
        if let NetEvent::Retrying { reason, .. } = event {
            drop(tell.send(reason));
        }
    }
}

/// Whoever is sent away after its nonce came back, and before the other side has said anything, tries again.
#[test]
fn a_listener_that_ends_the_connection_before_its_first_message_is_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = Address::Connect(listener.local_addr().unwrap().to_string());
    let (tell, told) = mpsc::channel();
    let mut tell = reasons(tell);
    let connecting = thread::spawn(move || {
        meet(
            &to,
            &ConnectionSecurity::InsecurePlaintext,
            b"there",
            &options(PATIENCE),
            &mut rng(2),
            &mut tell,
        )
    });
    for last in [false, false, true] {
        let (mut socket, _) = listener.accept().unwrap();
        common::raw_hello(&mut socket, vesica_net::VERSION);
        if last {
            socket.write_all(&common::frame(1, b"here")).unwrap();
            assert_eq!(receive(&mut connecting.join().unwrap().unwrap(), 4).unwrap(), b"here");
            break;
        }
    }
    assert_eq!(told.iter().collect::<Vec<_>>(), vec![RetryReason::LeftEarly; 2]);
}

/// A listener waits again for a partner that goes before its first message.
#[test]
fn a_caller_that_ends_the_connection_before_its_first_message_is_waited_for_again() {
    let listener = Listener::meeting(None, b"here", options(PATIENCE));
    for _ in 0..2 {
        let mut socket = TcpStream::connect(listener.address).unwrap();
        common::raw_hello(&mut socket, vesica_net::VERSION);
        // Also where it has shown that it lives.
        socket.write_all(&common::frame(2, b"")).unwrap();
        drop(socket);
        let event = listener.events.recv_timeout(PATIENCE).unwrap();
        assert!(matches!(event, NetEvent::Retrying { reason: RetryReason::LeftEarly, .. }), "{event:?}");
    }
    let to = Address::Connect(listener.address.to_string());
    let there = meet(
        &to,
        &ConnectionSecurity::InsecurePlaintext,
        b"there",
        &options(PATIENCE),
        &mut rng(2),
        &mut |_| (),
    );
    talk(listener.outcome().unwrap(), there.unwrap());
}

/// One that says hello and is silent does not stand in the way of the partner's next attempt.
#[test]
fn a_partner_whose_connection_died_gets_through_with_another() {
    let listener = Listener::meeting(None, b"here", options(PATIENCE));
    let mut dead = TcpStream::connect(listener.address).unwrap();
    common::raw_hello(&mut dead, vesica_net::VERSION);
    let to = Address::Connect(listener.address.to_string());
    let there = meet(
        &to,
        &ConnectionSecurity::InsecurePlaintext,
        b"there",
        &options(PATIENCE),
        &mut rng(2),
        &mut |_| (),
    );
    talk(listener.outcome().unwrap(), there.unwrap());
    drop(dead);
}
