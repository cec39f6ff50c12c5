//! Who waits: in line, showing that it lives, and beyond a restart of the relay.

use super::*;

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
