//! Channels over a network: known transfers take the time that arithmetic says, and nothing else changes.
//!
//! Never is a transfer faster than its arithmetic. It may be slower by what a busy machine needs to wake a thread; so
//! the upper limit is generous, and a transfer that misses it is made again.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::thread;
use std::time::{Duration, Instant};

use common::{Listener, bytes, identities, options, patient, plain_pair, receive, rng, security, tls_pair};
use vesica_channel::{Channel, ChannelError, Digests, MAX_PAYLOAD, Traffic};
use vesica_net::shaped::{self, Network};
use vesica_net::{Address, Connection, Identity, Options, PublicKey, memory};

const MS: Duration = Duration::from_millis(1);
const HEADER: usize = 5;
const FRAME: usize = 64 << 10;

const fn network(megabits_per_s: u64, round_trip_ms: u64) -> Network {
    Network {
        bandwidth_bits_per_s: Some(megabits_per_s * 1_000_000),
        round_trip: Duration::from_millis(round_trip_ms),
    }
}

// ---- pairs ----------------------------------------------------------------------------------------------------------

fn connect(
    keys: [Option<(Identity, PublicKey)>; 2],
    networks: [Network; 2],
    options: &Options,
) -> (Connection, Connection) {
    let [here, there] = keys;
    let listener = Listener::start_shaped(here, networks[0], options.clone());
    let address = Address::Connect(listener.address.to_string());
    let two = shaped::establish(&address, &security(&there), networks[1], options, &mut rng(2), &mut |_| ());
    (listener.outcome().unwrap(), two.unwrap())
}

fn plain(network: Network, options: &Options) -> (Connection, Connection) {
    connect([None, None], [network; 2], options)
}

fn tls(network: Network, options: &Options) -> (Connection, Connection) {
    let (one, two) = identities();
    let (one_key, two_key) = (*one.public_key(), *two.public_key());
    connect([Some((one, two_key)), Some((two, one_key))], [network; 2], options)
}

const KINDS: [&str; 3] = ["memory", "tcp", "tls"];

fn open(kind: &str, network: Network, options: &Options) -> (Connection, Connection) {
    match kind {
        "memory" => memory::connections(vesica_channel::shaped::pair_under(&options.cancel, network)),
        "tcp" => plain(network, options),
        _ => tls(network, options),
    }
}

// ---- arithmetic -----------------------------------------------------------------------------------------------------

/// How long so much payload needs to leave, headers included and TLS left out: the least it can be.
fn leaving(network: Network, payload: usize) -> Duration {
    let wire = payload + payload.div_ceil(FRAME) * HEADER;
    Duration::from_secs_f64(wire as f64 * 8.0 / network.bandwidth_bits_per_s.unwrap() as f64)
}

fn one_way(network: Network, payload: usize) -> Duration {
    leaving(network, payload) + network.round_trip / 2
}

/// What a transfer took, and what it takes by arithmetic.
type Timed = (Duration, Duration);

/// Runs a transfer over every kind of channel.
fn timed(network: Network, transfer: impl Fn(Connection, Connection) -> Vec<Timed>) {
    for name in KINDS {
        let in_time = (0..3).any(|_| {
            let (one, two) = open(name, network, &patient());
            let results = transfer(one, two);
            for (took, least) in &results {
                assert!(took >= least, "{name}: {took:?} is faster than {least:?}");
            }
            println!("{name}: {results:?}");
            results.iter().all(|(took, least)| *took <= least.mul_f64(1.3) + 60 * MS)
        });
        assert!(in_time, "{name}: slower than arithmetic, three times");
    }
}

/// Both sides on threads of their own. They are given the moment before anything was sent.
fn together<A: Send, B>(
    mut one: Connection,
    mut two: Connection,
    first: impl FnOnce(&mut Connection, Instant) -> A + Send,
    second: impl FnOnce(&mut Connection, Instant) -> B,
) -> (A, B) {
    let start = Instant::now();
    thread::scope(|scope| {
        let other = scope.spawn(|| first(&mut one, start));
        let mine = second(&mut two, start);
        (other.join().unwrap(), mine)
    })
}

fn flushed(channel: &mut Connection, payload: &[u8]) {
    channel.send(payload).and_then(|()| channel.flush()).unwrap();
}

// ---- time -----------------------------------------------------------------------------------------------------------

#[test]
fn bulk_in_both_directions_at_once_takes_what_one_direction_takes() {
    let network = network(40, 40);
    let payload = bytes(1 << 20, 1);
    timed(network, |one, two| {
        let talk = |channel: &mut Connection, start: Instant| {
            flushed(channel, &payload);
            assert!(receive(channel, payload.len()).unwrap() == payload);
            (start.elapsed(), one_way(network, payload.len()))
        };
        let (mine, theirs) = together(one, two, talk, talk);
        vec![mine, theirs]
    });
}

#[test]
fn a_round_of_ping_pong_takes_a_round_trip() {
    let network = network(100, 20);
    let rounds = 10;
    timed(network, |one, two| {
        let ((), took) = together(
            one,
            two,
            |channel, _| {
                for _ in 0..rounds {
                    let ball = receive(channel, 16).unwrap();
                    flushed(channel, &ball);
                }
            },
            |channel, start| {
                for _ in 0..rounds {
                    flushed(channel, &[7; 16]);
                    receive(channel, 16).unwrap();
                }
                start.elapsed()
            },
        );
        vec![(took, 2 * rounds * one_way(network, 16))]
    });
}

#[test]
fn small_messages_wait_for_what_was_sent_before_and_for_nothing_else() {
    let network = network(20, 60);
    let large = 400_000;
    timed(network, |one, two| {
        let ((), results) = together(
            one,
            two,
            |channel, _| {
                flushed(channel, b"before");
                flushed(channel, &vec![1; large]);
                flushed(channel, b"after.");
            },
            |channel, start| {
                let mut arrived = |length| {
                    receive(channel, length).unwrap();
                    start.elapsed()
                };
                vec![
                    (arrived(6), one_way(network, 6)),
                    (arrived(large), one_way(network, large + 6)),
                    (arrived(6), one_way(network, large + 12)),
                ]
            },
        );
        results
    });
}

#[test]
fn an_idle_link_saves_nothing_up() {
    let network = network(16, 20);
    let payload = 150_000;
    let pause = 100 * MS;
    timed(network, |one, two| {
        let ((), took) = together(
            one,
            two,
            |channel, start| {
                flushed(channel, &vec![1; payload]);
                thread::sleep((start + one_way(network, payload) + pause).duration_since(Instant::now()));
                flushed(channel, &vec![1; payload]);
            },
            |channel, start| {
                receive(channel, 2 * payload).unwrap();
                start.elapsed()
            },
        );
        vec![(took, one_way(network, payload) + pause + one_way(network, payload))]
    });
}

#[test]
fn halves_share_nothing_but_the_network() {
    let network = network(40, 20);
    let payload = 1 << 20;
    timed(network, |one, two| {
        let talk = |channel: &mut Connection, start: Instant| {
            let (tx, rx) = channel.split();
            thread::scope(|scope| {
                scope.spawn(|| {
                    for piece in vec![1; payload].chunks(10_000) {
                        tx.send(piece).unwrap();
                    }
                    tx.flush().unwrap();
                });
                rx.recv_exact(&mut vec![0; payload]).unwrap();
            });
            (start.elapsed(), one_way(network, payload))
        };
        let (mine, theirs) = together(one, two, talk, talk);
        vec![mine, theirs]
    });
}

#[test]
fn a_network_may_be_delay_alone_or_a_rate_alone() {
    let delay = Network { bandwidth_bits_per_s: None, round_trip: 200 * MS };
    let rate = network(80, 0);
    let payload = 1 << 20;
    for (network, expected) in [(delay, 100 * MS), (rate, one_way(rate, payload))] {
        timed(network, |one, two| {
            let ((), took) = together(
                one,
                two,
                |channel, _| flushed(channel, &vec![1; payload]),
                |channel, start| {
                    receive(channel, payload).unwrap();
                    start.elapsed()
                },
            );
            vec![(took, expected)]
        });
    }
}

#[test]
fn each_side_shapes_what_it_sends() {
    let slow = network(100, 200);
    let at_once = (0..3).any(|_| {
        let (mut one, mut two) = connect([None, None], [slow, Network::default()], &patient());
        let start = Instant::now();
        flushed(&mut two, b"fast");
        receive(&mut one, 4).unwrap();
        let fast = start.elapsed();
        flushed(&mut one, b"slow");
        receive(&mut two, 4).unwrap();
        assert!(start.elapsed() >= fast + one_way(slow, 4));
        fast < slow.round_trip / 2
    });
    assert!(at_once, "the side without a network is slow, three times");
}

#[test]
fn what_is_under_way_is_not_readable() {
    for name in KINDS {
        let (mut one, mut two) = open(name, network(100, 200), &patient());
        let start = Instant::now();
        flushed(&mut one, b"abcdef");
        let early = two.readable();
        assert!(early == 0 || start.elapsed() >= 100 * MS, "{name}");
        assert_eq!(receive(&mut two, 2).unwrap(), b"ab");
        assert_eq!(two.readable(), 4, "{name}");
        assert!(start.elapsed() >= 100 * MS, "{name}");
    }
}

// ---- all else is as without -----------------------------------------------------------------------------------------

/// What both sides have counted and digested after a conversation with frames of many sizes. Bytes read from the socket
/// are left out: the peer's farewell in TLS may or may not be among them yet.
fn conversation(one: Connection, two: Connection) -> [(Traffic, Digests); 2] {
    let sizes = [1, 16, 1000, 70_000, 3, 200_000];
    let talk = |channel: &mut Connection, first: bool| {
        for (seed, size) in sizes.into_iter().enumerate() {
            let sent = bytes(size, seed as u64);
            if first {
                flushed(channel, &sent);
            }
            assert!(receive(channel, size).unwrap() == sent);
            if !first {
                flushed(channel, &sent);
            }
        }
        assert_eq!(channel.finish(&[u8::from(first)]).unwrap(), [u8::from(!first)]);
        (Traffic { wire_received: 0, ..channel.traffic() }, channel.digests())
    };
    let (mine, theirs) =
        together(one, two, |channel, _| talk(channel, true), |channel, _| talk(channel, false));
    assert_eq!(mine.1.sent, theirs.1.received);
    assert_eq!(mine.1.received, theirs.1.sent);
    [mine, theirs]
}

#[test]
fn counters_and_digests_are_those_of_a_channel_without_shaping() {
    for name in KINDS {
        let (one, two) = open(name, network(200, 4), &patient());
        let shaped = conversation(one, two);
        let (one, two) = match name {
            "memory" => memory::pair(&patient().cancel),
            "tcp" => plain_pair(&patient()),
            _ => tls_pair(&patient()),
        };
        let direct = conversation(one, two);
        assert_eq!(shaped, direct, "{name}");
    }
}

#[test]
fn heartbeats_cross_the_network() {
    let short = options(400 * MS);
    thread::scope(|scope| {
        for name in KINDS {
            let (mut one, mut two) = open(name, network(1, 100), &short);
            scope.spawn(move || {
                thread::sleep(800 * MS);
                flushed(&mut one, b"result");
                one.finish(b"").unwrap();
            });
            scope.spawn(move || {
                assert_eq!(receive(&mut two, 6).unwrap(), b"result", "{name}");
                two.finish(b"").unwrap();
            });
        }
    });
}

#[test]
fn a_frame_that_takes_longer_than_the_silence_shows_life_on_its_way() {
    let short = options(400 * MS);
    let slow = Network { bandwidth_bits_per_s: Some(600_000), round_trip: 20 * MS };
    let (one, two) = plain(slow, &short);
    together(
        one,
        two,
        |channel, _| flushed(channel, &[1; FRAME]),
        |channel, start| {
            receive(channel, FRAME).unwrap();
            assert!(start.elapsed() >= one_way(slow, FRAME));
        },
    );
}

#[test]
fn the_last_done_and_an_abort_arrive_before_the_end() {
    let slow = network(100, 100);
    for name in KINDS {
        let (one, two) = open(name, slow, &patient());
        let leave = |channel: &mut Connection, start: Instant| {
            let theirs = channel.finish(&vec![1; MAX_PAYLOAD]).unwrap();
            assert_eq!(theirs.len(), MAX_PAYLOAD, "{name}");
            assert!(start.elapsed() >= one_way(slow, MAX_PAYLOAD), "{name}");
        };
        together(one, two, leave, leave);

        let (mut one, mut two) = open(name, slow, &patient());
        flushed(&mut one, &[1; 3000]);
        one.abort();
        let error = two.recv_exact(&mut [0; 3001]).unwrap_err();
        assert_eq!(error, ChannelError::PeerAborted, "{name}");
    }
}

#[test]
fn a_switch_ends_every_wait_on_a_network() {
    let endless = Network { bandwidth_bits_per_s: Some(1000), round_trip: Duration::from_secs(60) };
    let wait = |channel: &mut Connection, way: usize| match way {
        0 => channel.recv_exact(&mut [0]),
        1 => channel.finish(b"").map(drop),
        _ => loop {
            if let Err(error) = channel.send(&[0; 1 << 20]) {
                break Err(error);
            }
        },
    };
    for name in KINDS {
        for way in 0..3 {
            let options = patient();
            let (mut one, mut two) = open(name, endless, &options);
            flushed(&mut two, &[1; 1000]);
            thread::scope(|scope| {
                scope.spawn(|| {
                    thread::sleep(20 * MS);
                    options.cancel.cancel();
                });
                assert_eq!(wait(&mut one, way).unwrap_err(), ChannelError::Cancelled, "{name} {way}");
            });
            let dropping = Instant::now();
            drop((one, two));
            assert!(dropping.elapsed() < Duration::from_secs(5), "{name} {way}");
        }
    }
}

#[test]
fn dropping_does_not_wait_for_the_network() {
    let endless = Network { bandwidth_bits_per_s: Some(1000), round_trip: Duration::from_secs(60) };
    for name in KINDS {
        let (mut one, two) = open(name, endless, &patient());
        flushed(&mut one, &[1; 300_000]);
        let dropping = Instant::now();
        drop((one, two));
        assert!(dropping.elapsed() < Duration::from_secs(5), "{name}");
    }
}

#[test]
fn both_sides_send_first_and_receive_afterwards() {
    let network = network(4000, 2);
    let payload = vec![3; 24 << 20];
    for name in KINDS {
        let (one, two) = open(name, network, &patient());
        let talk = |channel: &mut Connection, _: Instant| {
            channel.send(&payload).unwrap();
            assert!(receive(channel, payload.len()).unwrap() == payload, "{name}");
            channel.finish(b"").unwrap();
        };
        together(one, two, talk, talk);
    }
}
