//! How conversations end: well, by silence, by an abort, by a break, by bytes that no partner sends.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use common::{
    Listener, against_raw, bytes, dial, everywhere, frame, identities, impatient, options, patient,
    plain_pair, receive, tls_pair,
};
use vesica_channel::{CancelToken, Channel, ChannelError, Fault, Kind, MAX_PAYLOAD};
use vesica_net::{Connection, Options, memory};

const DATA: u8 = 1;
const HEARTBEAT: u8 = 2;
const ABORT: u8 = 3;
const DONE: u8 = 4;

/// What a channel receives after a raw peer has written these bytes, and perhaps closed.
fn after_bytes(written: &[u8], close: bool) -> ChannelError {
    let (mut channel, mut peer) = against_raw(&patient());
    peer.write_all(written).unwrap();
    if close {
        peer.shutdown(Shutdown::Write).unwrap();
    }
    let error = channel.recv_exact(&mut [0; 64]).unwrap_err();
    assert_eq!(channel.recv_exact(&mut [0]), Err(error.clone()), "errors stick");
    assert_eq!(channel.send(&[0]).and_then(|()| channel.flush()), Err(error.clone()));
    assert_eq!(channel.finish(b""), Err(error.clone()));
    error
}

#[test]
fn bytes_that_no_partner_sends_are_named() {
    let huge = [&[DATA][..], &(MAX_PAYLOAD as u32 + 1).to_le_bytes()].concat();
    let endless = [&[DONE][..], &u32::MAX.to_le_bytes()].concat();
    for (written, expected) in [
        (frame(0, b""), ChannelError::FrameKind { byte: 0 }),
        (frame(77, b"abc"), ChannelError::FrameKind { byte: 77 }),
        (huge, ChannelError::FrameLength { kind: Kind::Data, length: MAX_PAYLOAD as u64 + 1 }),
        (endless, ChannelError::FrameLength { kind: Kind::Done, length: u64::from(u32::MAX) }),
        (frame(DATA, b""), ChannelError::FrameLength { kind: Kind::Data, length: 0 }),
        (frame(ABORT, b"because"), ChannelError::FrameLength { kind: Kind::Abort, length: 7 }),
        (frame(HEARTBEAT, b"."), ChannelError::FrameLength { kind: Kind::Heartbeat, length: 1 }),
        ([frame(DONE, b""), frame(DATA, b"x")].concat(), ChannelError::AfterDone),
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), ChannelError::FrameKind { byte: b'G' }),
    ] {
        let error = after_bytes(&written, false);
        // The reader may be ahead of the receiver, or not.
        let expected = if expected == ChannelError::AfterDone && error == ChannelError::PeerFinished {
            error.clone()
        } else {
            expected
        };
        assert_eq!((error.fault(), error), (Fault::Protocol, expected));
    }
}

#[test]
fn an_end_without_done_is_a_break() {
    let cut_header = frame(DATA, b"abcdef")[..3].to_vec();
    let cut_payload = frame(DATA, b"abcdef")[..8].to_vec();
    for written in [Vec::new(), frame(HEARTBEAT, b""), frame(DATA, b"abc"), cut_header, cut_payload] {
        let error = after_bytes(&written, true);
        assert_eq!((error.fault(), error), (Fault::Partner, ChannelError::Closed));
    }
}

#[test]
fn what_came_before_the_break_is_received() {
    let (mut channel, mut peer) = against_raw(&patient());
    peer.write_all(&frame(DATA, b"last words")).unwrap();
    drop(peer);
    assert_eq!(receive(&mut channel, 10).unwrap(), b"last words");
    assert_eq!(receive(&mut channel, 1), Err(ChannelError::Closed));
}

#[test]
fn silence_ends_a_receive() {
    let (mut channel, peer) = against_raw(&impatient());
    let started = Instant::now();
    let error = channel.recv_exact(&mut [0]).unwrap_err();
    assert_eq!((error.fault(), error), (Fault::Partner, ChannelError::Silent { after: impatient().silence }));
    assert!(started.elapsed() >= impatient().silence / 2);
    drop(peer);
}

#[test]
fn silence_ends_a_blocked_send() {
    for split in [false, true] {
        let (mut channel, peer) = against_raw(&impatient());
        let piece = vec![0; 1 << 20];
        let error = loop {
            let sent = if split { channel.split().0.send(&piece) } else { channel.send(&piece) };
            if let Err(error) = sent {
                break error;
            }
        };
        assert_eq!(error, ChannelError::Silent { after: impatient().silence });
        let dropping = Instant::now();
        drop(channel);
        assert!(dropping.elapsed() < Duration::from_secs(5), "the threads end although the socket is full");
        drop(peer);
    }
}

#[test]
fn a_long_computation_can_ask_whether_the_peer_is_there() {
    // Alive, gone, silent.
    let (mut channel, mut peer) = against_raw(&impatient());
    for _ in 0..4 {
        thread::sleep(impatient().silence / 3);
        peer.write_all(&frame(HEARTBEAT, b"")).unwrap();
        assert_eq!(channel.split().0.check(), Ok(()));
    }
    drop(peer);
    let error = loop {
        if let Err(error) = channel.split().0.check() {
            break error;
        }
    };
    assert_eq!(error, ChannelError::Closed);
    assert_eq!(channel.recv_exact(&mut [0]), Err(ChannelError::Closed), "errors stick");

    let (mut channel, _silent) = against_raw(&impatient());
    thread::sleep(impatient().silence * 2);
    assert_eq!(channel.split().0.check(), Err(ChannelError::Silent { after: impatient().silence }));
    let (mut here, there) = memory::pair(&patient().cancel);
    assert_eq!(here.split().0.check(), Ok(()));
    drop(there);
    assert_eq!(here.split().0.check(), Err(ChannelError::Closed));
}

#[test]
fn a_peer_that_only_shows_that_it_lives_is_waited_for() {
    let (mut channel, mut peer) = against_raw(&impatient());
    let waiting = thread::spawn(move || channel.recv_exact(&mut [0; 3]).map(|()| channel));
    // Heartbeats, then a frame that arrives byte by byte: each is a sign of life.
    for _ in 0..6 {
        thread::sleep(impatient().silence / 3);
        peer.write_all(&frame(HEARTBEAT, b"")).unwrap();
    }
    for byte in frame(DATA, b"abc") {
        thread::sleep(impatient().silence / 4);
        peer.write_all(&[byte]).unwrap();
    }
    waiting.join().unwrap().unwrap();
}

#[test]
fn a_peer_that_has_nothing_to_compute_does_not_hold_us_with_heartbeats() {
    let (mut channel, mut peer) = against_raw(&impatient());
    channel.expect_prompt();
    let beating = thread::spawn(move || {
        while peer.write_all(&frame(HEARTBEAT, b"")).is_ok() {
            thread::sleep(impatient().silence / 5);
        }
    });
    let error = channel.recv_exact(&mut [0]).unwrap_err();
    assert_eq!(
        (error.fault(), error),
        (Fault::Partner, ChannelError::Unanswered { after: impatient().silence })
    );
    drop(channel);
    beating.join().unwrap();
}

/// Bytes that come one by one do not prolong it either.
#[test]
fn a_peer_that_dribbles_does_not_hold_us_beyond_the_limit() {
    let (mut channel, mut peer) = against_raw(&impatient());
    channel.expect_prompt();
    let dribbling = thread::spawn(move || {
        while peer.write_all(&frame(DATA, b"x")).is_ok() {
            thread::sleep(impatient().silence / 5);
        }
    });
    let error = channel.recv_exact(&mut [0; 1 << 20]).unwrap_err();
    assert_eq!(error, ChannelError::Unanswered { after: impatient().silence });
    drop(channel);
    dribbling.join().unwrap();
}

/// Nor does one that reads nothing and lives.
#[test]
fn a_peer_that_reads_nothing_does_not_hold_us_beyond_the_limit() {
    let (mut channel, mut peer) = against_raw(&options(Duration::from_secs(20)));
    channel.expect_within(Some(Duration::from_millis(300)));
    let beating = thread::spawn(move || {
        while peer.write_all(&frame(HEARTBEAT, b"")).is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    });
    let error = channel.send(&vec![0; 64 << 20]).unwrap_err();
    assert_eq!(error, ChannelError::Unanswered { after: Duration::from_millis(300) });
    drop(channel);
    beating.join().unwrap();
}

/// In memory too; and what is there in time is given out, however late it is asked for.
#[test]
fn a_limit_holds_in_memory_and_what_came_in_time_is_no_fault() {
    let (mut one, mut two) = memory::pair(&patient().cancel);
    let limit = Duration::from_millis(50);
    two.send(b"in time").and_then(|()| two.flush()).unwrap();
    one.expect_within(Some(limit));
    thread::sleep(2 * limit);
    assert_eq!(receive(&mut one, 7).unwrap(), b"in time");
    assert_eq!(one.recv_exact(&mut [0]).unwrap_err(), ChannelError::Unanswered { after: limit });
    // The other side has a limit of its own, and none is set.
    assert_eq!(two.recv_exact(&mut [0]).unwrap_err(), ChannelError::Closed);
}

#[test]
fn heartbeats_go_out_while_the_protocol_computes() {
    for (mut one, mut two) in [plain_pair(&impatient()), tls_pair(&impatient())] {
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(impatient().silence * 3);
                one.send(b"result").unwrap();
                one.finish(b"").unwrap();
            });
            assert_eq!(receive(&mut two, 6).unwrap(), b"result");
            two.finish(b"").unwrap();
        });
        assert_eq!(two.traffic().payload_received, 6, "a heartbeat is no payload");
    }
}

#[test]
fn a_full_inbox_is_not_the_peers_silence() {
    for (mut one, mut two) in [plain_pair(&impatient()), tls_pair(&impatient())] {
        let data = bytes(24 << 20, 1);
        thread::scope(|scope| {
            scope.spawn(|| {
                one.send(&data).unwrap();
                assert_eq!(receive(&mut one, 2).unwrap(), b"ok");
                one.finish(b"").unwrap();
            });
            // All this while the reader thread can take nothing more, so hears nothing.
            thread::sleep(impatient().silence * 3);
            assert_eq!(receive(&mut two, data.len()).unwrap(), data);
            two.send(b"ok").unwrap();
            two.finish(b"").unwrap();
        });
    }
}

#[test]
fn a_full_inbox_does_not_make_the_other_half_see_silence() {
    let (mut one, mut two) = plain_pair(&impatient());
    let data = bytes(24 << 20, 1);
    let slow = |channel: &mut Connection| {
        let (tx, rx) = channel.split();
        thread::scope(|scope| {
            scope.spawn(|| tx.send(&data).and_then(|()| tx.flush()).unwrap());
            thread::sleep(impatient().silence * 3);
            let mut got = vec![0; data.len()];
            rx.recv_exact(&mut got).unwrap();
            assert_eq!(got, data);
        });
    };
    thread::scope(|scope| {
        scope.spawn(|| slow(&mut one));
        slow(&mut two);
    });
}

#[test]
fn an_abort_reaches_the_peer() {
    everywhere(&patient(), |name, mut one, mut two| {
        one.send(b"never flushed").unwrap();
        one.abort();
        assert_eq!(one.send(b"x").and_then(|()| one.flush()), Err(ChannelError::Aborted), "{name}");
        let error = two.recv_exact(&mut [0; 3]).unwrap_err();
        assert_eq!((error.fault(), error), (Fault::Partner, ChannelError::PeerAborted), "{name}");
        assert_eq!(two.finish(b""), Err(ChannelError::PeerAborted));
    });
}

#[test]
fn an_abort_reaches_a_peer_that_sends() {
    everywhere(&patient(), |name, mut one, mut two| {
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(100));
                one.abort();
            });
            let piece = vec![0; 1 << 20];
            let error = loop {
                if let Err(error) = two.send(&piece) {
                    break error;
                }
            };
            assert_eq!(error, ChannelError::PeerAborted, "{name}");
        });
    });
}

#[test]
fn an_abort_says_nothing_but_that() {
    let (mut channel, mut peer) = against_raw(&patient());
    channel.send(b"secret").unwrap();
    let reading = thread::spawn(move || {
        let mut all = Vec::new();
        peer.read_to_end(&mut all).map(|_| all)
    });
    channel.abort();
    assert_eq!(reading.join().unwrap().unwrap(), frame(ABORT, b""));
}

#[test]
fn done_carries_a_message_each_way() {
    everywhere(&patient(), |name, mut one, mut two| {
        thread::scope(|scope| {
            scope.spawn(|| assert_eq!(one.finish(b"from one").unwrap(), b"from two"));
            assert_eq!(two.finish(b"from two").unwrap(), b"from one", "{name}");
        });
        assert_eq!(two.send(b"x").and_then(|()| two.flush()), Err(ChannelError::Finished));
        assert_eq!(one.finish(b""), Err(ChannelError::Finished));
        drop(one);
        drop(two);
    });
}

#[test]
fn the_last_done_is_not_lost_when_its_sender_leaves_at_once() {
    for _ in 0..20 {
        for (mut one, mut two) in [plain_pair(&patient()), tls_pair(&patient())] {
            let done = vec![3; MAX_PAYLOAD];
            thread::scope(|scope| {
                scope.spawn(move || one.finish(&done).map(drop).unwrap());
                thread::sleep(Duration::from_millis(2));
                assert_eq!(two.finish(b"").unwrap().len(), MAX_PAYLOAD);
            });
        }
    }
}

#[test]
fn a_done_peer_may_be_silent_while_we_compute() {
    let (mut one, mut two) = tls_pair(&impatient());
    thread::scope(|scope| {
        scope.spawn(|| one.finish(b"early").unwrap());
        thread::sleep(impatient().silence * 3);
        assert_eq!(two.finish(b"late").unwrap(), b"early");
    });
}

/// Passes bytes on to that address, and closes both directions as soon as one of them ends, as many proxies do.
fn proxy_that_closes_both(to: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (client, server) = (listener.accept().unwrap().0, TcpStream::connect(to).unwrap());
        for (mut from, mut into) in
            [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)]
        {
            thread::spawn(move || {
                // If the other direction has ended first, there is nothing left to do.
                let _ = std::io::copy(&mut from, &mut into);
                for end in [from, into] {
                    let _ = end.shutdown(Shutdown::Both);
                }
            });
        }
    });
    address
}

#[test]
fn a_done_side_leaves_its_direction_open_until_the_peer_is_done() {
    for late in [false, true] {
        let (one, two) = identities();
        let (one_key, two_key) = (*one.public_key(), *two.public_key());
        let listener = Listener::start(Some((one, two_key)), patient());
        let proxy = proxy_that_closes_both(listener.address);
        let mut there = dial(proxy, Some((two, one_key)), &patient()).unwrap();
        let mut here = listener.outcome().unwrap();
        let (early, later) = if late { (&mut there, &mut here) } else { (&mut here, &mut there) };
        thread::scope(|scope| {
            scope.spawn(|| assert_eq!(early.finish(b"early").unwrap(), b"late"));
            thread::sleep(Duration::from_millis(200));
            assert_eq!(later.finish(b"late").unwrap(), b"early");
        });
    }
}

/// Heartbeats fill up a record that has lost bytes. They are no sign of life there.
#[test]
fn a_record_that_has_lost_bytes_ends_in_silence() {
    let (one, two) = identities();
    let (one_key, two_key) = (*one.public_key(), *two.public_key());
    let listener = Listener::start(Some((one, two_key)), impatient());
    let (to, proxy) = (listener.address, TcpListener::bind("127.0.0.1:0").unwrap());
    let address = proxy.local_addr().unwrap();
    let (loses, lose) = (Arc::new(AtomicBool::new(false)), |loses: &AtomicBool| loses.swap(false, Relaxed));
    let tells = loses.clone();
    thread::spawn(move || {
        let (client, server) = (proxy.accept().unwrap().0, TcpStream::connect(to).unwrap());
        let (mut back, mut into) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        thread::spawn(move || drop(std::io::copy(&mut back, &mut into)));
        let (mut from, mut into, mut buffer) = (client, server, [0; 1 << 16]);
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let kept = if lose(&tells) { length / 2 } else { length };
            if into.write_all(&buffer[..kept]).is_err() {
                break;
            }
        }
    });
    let mut there = dial(address, Some((two, one_key)), &impatient()).unwrap();
    let mut here = listener.outcome().unwrap();
    loses.store(true, Relaxed);
    there.send(&[7; 8000]).and_then(|()| there.flush()).unwrap();
    let started = Instant::now();
    let error = here.recv_exact(&mut [0; 8000]).unwrap_err();
    assert_eq!(error, ChannelError::Silent { after: impatient().silence });
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn what_is_left_over_is_an_error() {
    everywhere(&patient(), |name, mut one, mut two| {
        thread::scope(|scope| {
            scope.spawn(|| {
                one.send(b"more than asked for").unwrap();
                // The other side fails, so this does, too.
                one.finish(b"").unwrap_err();
            });
            assert_eq!(receive(&mut two, 4).unwrap(), b"more");
            let error = two.finish(b"").unwrap_err();
            assert_eq!((error.fault(), error), (Fault::Protocol, ChannelError::LeftoverData), "{name}");
            drop(two);
        });
    });
}

#[test]
fn a_peer_that_is_done_too_early_is_an_error() {
    everywhere(&patient(), |name, mut one, mut two| {
        thread::scope(|scope| {
            scope.spawn(|| one.finish(b"").unwrap_err());
            assert_eq!(two.recv_exact(&mut [0]), Err(ChannelError::PeerFinished), "{name}");
            drop(two);
        });
    });
}

#[test]
fn a_final_message_has_a_limit() {
    let (mut one, _two) = memory::pair(&patient().cancel);
    let error = one.finish(&vec![0; MAX_PAYLOAD + 1]).unwrap_err();
    assert_eq!((error.fault(), error), (Fault::Ours, ChannelError::DoneTooLong { length: MAX_PAYLOAD + 1 }));
}

#[test]
fn dropping_closes_at_once() {
    everywhere(&patient(), |name, mut one, mut two| {
        one.send(b"gathered, never flushed").unwrap();
        let started = Instant::now();
        drop(one);
        assert!(started.elapsed() < Duration::from_secs(5), "{name}");
        assert_eq!(two.recv_exact(&mut [0]), Err(ChannelError::Closed), "{name}");
    });
}

/// Waits for the peer in one of three ways.
fn wait(channel: &mut Connection, way: usize) -> Result<(), ChannelError> {
    match way {
        0 => channel.recv_exact(&mut [0]),
        1 => channel.finish(b"").map(drop),
        _ => loop {
            if let Err(error) = channel.send(&[0; 1 << 20]) {
                break Err(error);
            }
        },
    }
}

#[test]
fn cancelling_ends_every_wait() {
    for way in 0..3 {
        for kind in 0..3 {
            let options = patient();
            let (mut one, two) = match kind {
                0 => memory::pair(&options.cancel),
                1 => plain_pair(&options),
                _ => tls_pair(&options),
            };
            thread::scope(|scope| {
                scope.spawn(|| {
                    thread::sleep(Duration::from_millis(50));
                    options.cancel.cancel();
                });
                let started = Instant::now();
                let error = wait(&mut one, way).unwrap_err();
                assert_eq!((error.fault(), error), (Fault::Cancelled, ChannelError::Cancelled));
                assert!(started.elapsed() < Duration::from_secs(5));
            });
            drop(two);
        }
    }
}

#[test]
fn whoever_is_cancelled_tells_its_peer() {
    for way in 0..3 {
        for (name, pair) in [("plain", plain_pair as fn(&Options) -> _), ("tls", tls_pair)] {
            let (one, mut two): (Connection, Connection) = pair(&patient());
            let token = CancelToken::new();
            one.cancel_on(&token);
            token.cancel();
            // The channel itself may be held by a thread that looks at it much later.
            assert_eq!(wait(&mut two, way), Err(ChannelError::PeerAborted), "{name} {way}");
            assert_eq!(one.check(), Err(ChannelError::Cancelled), "{name} {way}");
        }
    }
}

#[test]
fn whoever_is_cancelled_after_its_done_says_nothing_more() {
    let (channel, mut peer) = against_raw(&patient());
    let token = CancelToken::new();
    channel.cancel_on(&token);
    let mut channel = channel;
    let ending = thread::spawn(move || channel.finish(b"done"));
    let mut said = vec![0; frame(DONE, b"done").len()];
    peer.read_exact(&mut said).unwrap();
    assert_eq!(said, frame(DONE, b"done"));
    token.cancel();
    assert_eq!(ending.join().unwrap(), Err(ChannelError::Cancelled));
    let mut rest = Vec::new();
    // It may end by a reset.
    drop(peer.read_to_end(&mut rest));
    assert_eq!(rest, []);
}

#[test]
fn damage_to_a_record_is_noticed() {
    // A man in the middle who passes everything on, and then one byte changed.
    let (one, two) = common::identities();
    let keys = (*one.public_key(), *two.public_key());
    let listener = common::Listener::start(Some((one, keys.1)), patient());
    let middle = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = middle.local_addr().unwrap();
    let (start, started) = std::sync::mpsc::channel::<()>();
    let relay = thread::spawn({
        let to = listener.address;
        move || {
            let (client, _) = middle.accept().unwrap();
            let server = TcpStream::connect(to).unwrap();
            let (mut from, mut into) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            let back = thread::spawn(move || std::io::copy(&mut from, &mut into));
            let mut client_side = client;
            let mut server_side = server;
            let mut buffer = [0; 4096];
            while let Ok(length) = client_side.read(&mut buffer) {
                if length == 0 {
                    break;
                }
                if started.try_recv().is_ok() {
                    buffer[length - 1] ^= 1;
                }
                if server_side.write_all(&buffer[..length]).is_err() {
                    break;
                }
            }
            drop(server_side.shutdown(Shutdown::Both));
            drop(client_side.shutdown(Shutdown::Both));
            drop(back.join());
        }
    });
    let mut sender = common::dial(address, Some((two, keys.0)), &patient()).unwrap();
    let mut receiver = listener.outcome().unwrap();
    sender.send(b"good").and_then(|()| sender.flush()).unwrap();
    assert_eq!(receive(&mut receiver, 4).unwrap(), b"good");
    start.send(()).unwrap();
    sender.send(b"evil").and_then(|()| sender.flush()).unwrap();
    let error = receiver.recv_exact(&mut [0; 4]).unwrap_err();
    assert_eq!(error.fault(), Fault::Protocol, "{error}");
    drop((sender, receiver));
    relay.join().unwrap();
}
