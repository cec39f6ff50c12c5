//! Who gets service, and how much of it.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::*;

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

/// A machine that lost power closes nothing: here, a socket that nobody uses any more.
#[test]
fn flaw_half_of_a_pair_does_not_outlast_the_other_for_long() {
    let (one, two) = (identity(), identity());
    let relay = Running::start(&[&one, &two], |rules| (rules.max_streams, rules.times.silence) = (3, SOON));
    for _ in 0..2 {
        let (mut gone, dead) = thread::scope(|scope| {
            let gone = scope.spawn(|| relay.join(&one, &two, "").unwrap());
            let dead = relay.join(&two, &one, "").unwrap();
            (gone.join().unwrap(), dead)
        });
        gone.write_all(b"x").unwrap();
        // As long as both are there, silence is no end.
        thread::sleep(2 * SOON);
        gone.write_all(b"x").and_then(|()| gone.shutdown(Shutdown::Both)).unwrap();
        relay.until(|event| matches!(event, RelayEvent::Ended { .. }));
        drop(dead);
    }
    relay.end();
}

#[test]
fn flaw_a_relay_that_stops_does_not_wait_for_a_pair_that_is_dead() {
    let (one, two) = (identity(), identity());
    let relay = Running::start(&[&one, &two], |rules| rules.times.silence = 5 * SOON);
    let pairs = ["dead", "alive"].map(|run| {
        thread::scope(|scope| {
            let here = scope.spawn(|| relay.join(&one, &two, run).unwrap());
            (relay.join(&two, &one, run).unwrap(), here.join().unwrap())
        })
    });
    let [dead, (mut here, mut there)] = pairs;
    relay.until(|event| matches!(event, RelayEvent::Paired(_)));
    relay.until(|event| matches!(event, RelayEvent::Paired(_)));
    relay.stop.cancel();
    relay.until(|event| matches!(event, RelayEvent::Draining { streams: 4 }));
    let over = AtomicBool::new(false);
    let ended = thread::scope(|scope| {
        scope.spawn(|| {
            let begun = Instant::now();
            while !over.load(Relaxed) && begun.elapsed() < 2 * PATIENCE {
                here.write_all(b"x").and_then(|()| there.read_exact(&mut [0])).unwrap();
                thread::sleep(SOON / 8);
            }
        });
        let ended = relay.until(|event| matches!(event, RelayEvent::Ended { .. }));
        over.store(true, Relaxed);
        ended
    });
    assert!(matches!(ended, RelayEvent::Ended { bytes: [0, 0], .. }), "{ended:?}");
    drop(dead);
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
