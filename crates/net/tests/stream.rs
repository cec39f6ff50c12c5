//! The byte stream: whatever goes in on one side comes out on the other, over every kind of connection.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::thread;

use common::{bytes, everywhere, patient, receive};
use vesica_channel::{Channel, ChannelError};
use vesica_net::{Connection, memory};

#[test]
fn round_trips_at_many_sizes() {
    let sizes = [0, 1, 5, 16, 1000, 65_535, 65_536, 65_537, 131_072, 262_144, 262_145, 1_048_576, 3_000_001];
    everywhere(&patient(), |name, mut one, mut two| {
        thread::scope(|scope| {
            scope.spawn(|| {
                for (index, size) in sizes.into_iter().enumerate() {
                    let expected = bytes(size, index as u64);
                    assert_eq!(receive(&mut two, size).unwrap(), expected, "{name} {size}");
                    two.send(&expected).unwrap();
                }
                assert_eq!(two.finish(b"two").unwrap(), b"one");
            });
            for (index, size) in sizes.into_iter().enumerate() {
                let sent = bytes(size, index as u64);
                one.send(&sent).unwrap();
                assert_eq!(receive(&mut one, size).unwrap(), sent, "{name} {size}");
            }
            assert_eq!(one.finish(b"one").unwrap(), b"two");
        });
        let total: usize = sizes.iter().sum();
        for channel in [&one, &two] {
            let traffic = channel.traffic();
            assert_eq!((traffic.payload_sent, traffic.payload_received), (total as u64, total as u64));
            assert!(traffic.wire_sent > total as u64 && traffic.wire_received > total as u64);
        }
        let (sent, received) = (one.traffic().wire_sent, two.traffic().wire_received);
        // Who has heard that the conversation is over need not read TLS's last record, which says so again.
        assert!(sent == received || sent == received + CLOSE_NOTIFY, "{name}: {sent} {received}");
        assert_eq!(one.digests().sent, two.digests().received);
        assert_eq!(one.digests().received, two.digests().sent);
    });
}

/// Bytes of a close_notify as a record of TLS 1.3: header, alert, its type, tag.
const CLOSE_NOTIFY: u64 = 5 + 2 + 1 + 16;

/// Sends the bytes in pieces, flushed or not, and receives them in other pieces.
fn in_pieces(
    mut one: Connection,
    mut two: Connection,
    data: &[u8],
    out: usize,
    flush: bool,
    into: usize,
) -> [[u8; 32]; 2] {
    thread::scope(|scope| {
        scope.spawn(|| {
            for piece in data.chunks(out) {
                one.send(piece).unwrap();
                if flush {
                    one.flush().unwrap();
                }
            }
            one.flush().unwrap();
        });
        for piece in data.chunks(into) {
            assert_eq!(receive(&mut two, piece.len()).unwrap(), piece);
        }
    });
    assert_eq!(one.traffic().payload_sent, two.traffic().payload_received);
    [one.digests().sent, two.digests().received]
}

#[test]
fn digests_and_counters_do_not_depend_on_framing() {
    let data = bytes(400_000, 9);
    let expected = *blake3::hash(&data).as_bytes();
    for (out, flush, into) in
        [(400_000, false, 400_000), (777, true, 1000), (100, false, 77), (70_000, true, 3)]
    {
        everywhere(&patient(), |name, one, two| {
            assert_eq!(in_pieces(one, two, &data, out, flush, into), [expected; 2], "{name} {out} {into}");
        });
    }
}

#[test]
fn digests_cover_what_was_flushed_and_what_was_received() {
    let (mut one, mut two) = memory::pair(&patient().cancel);
    let nothing = *blake3::hash(b"").as_bytes();
    one.send(b"abcdef").unwrap();
    assert_eq!(one.digests().sent, nothing);
    assert_eq!(two.readable(), 0);
    one.flush().unwrap();
    assert_eq!(one.digests().sent, *blake3::hash(b"abcdef").as_bytes());
    assert_eq!((two.readable(), two.digests().received), (6, nothing));
    assert_eq!(receive(&mut two, 4).unwrap(), b"abcd");
    assert_eq!((two.readable(), two.digests().received), (2, *blake3::hash(b"abcd").as_bytes()));
    assert_eq!(two.traffic().payload_received, 4);
}

#[test]
fn both_sides_send_64_mib_at_once() {
    let size = 64 << 20;
    everywhere(&patient(), |name, mut one, mut two| {
        let talk = |channel: &mut Connection, byte: u8| {
            channel.send(&vec![byte; size]).unwrap();
            let got = receive(channel, size).unwrap();
            assert!(got.iter().all(|&other| other == 1 - byte), "{name}");
            channel.finish(&[]).unwrap();
        };
        thread::scope(|scope| {
            scope.spawn(|| talk(&mut one, 0));
            talk(&mut two, 1);
        });
        assert_eq!(one.digests().sent, two.digests().received);
    });
}

#[test]
fn halves_work_on_two_threads() {
    everywhere(&patient(), |name, mut one, mut two| {
        let data = bytes(20 << 20, 3);
        let stream = |channel: &mut Connection| {
            let (tx, rx) = channel.split();
            thread::scope(|scope| {
                scope.spawn(|| {
                    for piece in data.chunks(100_000) {
                        tx.send(piece).unwrap();
                    }
                    tx.flush().unwrap();
                });
                let mut got = vec![0; 1 << 20];
                for piece in data.chunks(1 << 20) {
                    rx.recv_exact(&mut got[..piece.len()]).unwrap();
                    assert_eq!(got[..piece.len()], *piece, "{name}");
                }
                assert_eq!(rx.readable(), 0);
            });
        };
        thread::scope(|scope| {
            scope.spawn(|| stream(&mut one));
            stream(&mut two);
        });
        thread::scope(|scope| {
            scope.spawn(|| one.finish(b"").unwrap());
            two.finish(b"").unwrap();
        });
    });
}

#[test]
fn one_thread_can_drive_a_memory_pair() {
    let (mut one, mut two) = memory::pair(&patient().cancel);
    one.send(&[5; 7 << 20]).unwrap();
    one.flush().unwrap();
    assert_eq!(receive(&mut two, 7 << 20).unwrap(), vec![5; 7 << 20]);
    drop(two);
    assert_eq!(receive(&mut one, 1), Err(ChannelError::Closed));
    assert_eq!(one.send(b"x").and_then(|()| one.flush()), Err(ChannelError::Closed));
    assert_eq!(one.send(b"x"), Err(ChannelError::Closed));
}

#[test]
fn connections_are_told_apart_by_binding_and_nonces() {
    everywhere(&patient(), |name, one, two| {
        assert_eq!(one.channel_binding(), two.channel_binding());
        assert_eq!((one.nonces().mine, one.nonces().theirs), (two.nonces().theirs, two.nonces().mine));
        assert_ne!(one.nonces().mine, one.nonces().theirs);
        assert_eq!(one.peer_key().is_some(), name == "tls");
        assert_eq!(one.peer_address().is_some(), name != "memory");
    });
    let (one, _) = common::tls_pair(&patient());
    let (other, _) = common::tls_pair(&patient());
    assert_ne!(one.channel_binding(), other.channel_binding());
}
