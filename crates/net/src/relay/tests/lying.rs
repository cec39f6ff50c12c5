//! Relays that keep no rule, or change what passes.

use super::*;

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

/// A party that goes on takes what follows for the partner's TLS.
#[test]
fn a_relay_that_pairs_another_part_or_says_another_bare_byte_is_none() {
    for (part, bare) in [(0, 0), (1, 0), (ANY_PART, 0), (0, 1), (0, 0xff)] {
        join_at(
            &Times::default(),
            |FakeRelay { tls, socket, .. }| {
                let mut last = Vec::new();
                say(tls, &Reply::Paired { part }.encode(), true, &mut last).unwrap();
                last.push(bare);
                socket.write_all(&last).unwrap();
                // Until the party goes.
                drop(socket.read_to_end(&mut Vec::new()));
            },
            |outcome, _| match (part, bare) {
                (0, 0) => outcome.unwrap(),
                _ => assert!(matches!(outcome, Err(JoinError::NotARelay)), "{part} {bare}: {outcome:?}"),
            },
        );
    }
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
        while let Ok((mut socket, _)) = listener.accept() {
            socket.write_all(b"SSH-2.0-OpenSSH_9.9\r\n").unwrap();
            drop(socket.read_to_end(&mut Vec::new()));
        }
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

/// A damaged byte of the handshake with a relay is no reason to give up: the next attempt may be whole.
#[test]
fn flaw_one_damaged_byte_on_the_way_to_a_relay_is_not_the_end() {
    let (one, two) = (identity(), identity());
    let relay = Running::start(&[&one, &two], |_| ());
    // A record's type, and within what is encrypted.
    for place in [0, 1300] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (middle, to) = (listener.local_addr().unwrap(), relay.address);
        thread::spawn(move || {
            for (number, party) in listener.incoming().map_while(Result::ok).enumerate() {
                let there = TcpStream::connect(to).unwrap();
                let (mut out, mut away) = (party.try_clone().unwrap(), there.try_clone().unwrap());
                thread::spawn(move || drop(std::io::copy(&mut out, &mut away)));
                thread::spawn(move || {
                    let (mut back, mut home) = (there, party);
                    let mut first = vec![0; if number == 0 { place + 1 } else { 0 }];
                    let damaged = back.read_exact(&mut first).and_then(|()| {
                        first.last_mut().into_iter().for_each(|byte| *byte ^= 0x40);
                        home.write_all(&first)
                    });
                    drop(damaged.and_then(|()| std::io::copy(&mut back, &mut home)));
                    drop(home.shutdown(Shutdown::Both));
                });
            }
        });
        let Address::Via(via) = relay.via("") else { panic!() };
        let through = Address::Via(Via { address: middle.to_string(), ..via.clone() });
        pair([&through, &Address::Via(via)], [&one, &two], PATIENCE);
    }
    relay.end();
}
