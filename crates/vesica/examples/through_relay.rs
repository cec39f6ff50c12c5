//! A run directly and through a relay, in turns: `through_relay LOG2_ITEMS [RUNS]`, over a gigabit LAN of 0.2 ms.
//!
//! Both parties and the relay are in this process. The network is between a party and what it connects to; see
//! [`vesica::net::shaped`].
#![allow(clippy::expect_used, reason = "a measurement that cannot go on ends")]

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use vesica::channel::CancelToken;
use vesica::net::relay::{RelayEvent, Rules, Via, serve};
use vesica::net::shaped::{self, Network};
use vesica::net::{Address, ConnectionSecurity, Identity, NetEvent, Options, PublicKey};
use vesica::protocols::Role;
use vesica::randomness;
use vesica::sets::{self, SetJob};
use vesica::settings::{Choice, Settings};

fn main() {
    let mut words = std::env::args().skip(1).map(|word| word.parse::<u32>().expect("a number"));
    let (log, runs) = (words.next().unwrap_or(16), words.next().unwrap_or(3));
    let [receiver, sender, own] = [(); 3].map(|()| Identity::generate().expect("identity"));
    let allow = vec![*receiver.public_key(), *sender.public_key()];
    let stop = CancelToken::new();
    thread::scope(|scope| {
        let (told, relay) = mpsc::channel();
        let (rules, key, token) = (Rules { allow, ..Rules::default() }, *own.public_key(), stop.clone());
        scope.spawn(move || {
            let on_event = |event| {
                if let RelayEvent::Listening(address) = event {
                    told.send(address).expect("the caller waits");
                }
            };
            // Its sender stays on this thread: the events come from many.
            let on_event = std::sync::Mutex::new(on_event);
            let on_event = |event| (on_event.lock().expect("no panic"))(event);
            serve("127.0.0.1:0", &own, rules, &token, &mut randomness().expect("randomness"), &on_event)
                .expect("a relay");
        });
        let relay: SocketAddr = relay.recv().expect("a relay");
        let (mut direct, mut relayed) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            direct.push(run([&receiver, &sender], log, None));
            relayed.push(run([&receiver, &sender], log, Some((relay, key))));
        }
        let median = |times: &mut Vec<Duration>| {
            times.sort();
            times[times.len() / 2].as_secs_f64()
        };
        let (direct, relayed) = (median(&mut direct), median(&mut relayed));
        println!("direct {direct:.3} s, through the relay {relayed:.3} s: {:.3}", relayed / direct);
        stop.cancel();
    });
}

/// From the channel to the result.
fn run(parties: [&Identity; 2], log: u32, relay: Option<(SocketAddr, PublicKey)>) -> Duration {
    let [receiver, sender] = parties;
    let lan = Network::GIGABIT_LAN;
    let (told, listening) = mpsc::channel();
    thread::scope(|scope| {
        let via = relay.map(|(address, key)| {
            Address::Via(Via { address: address.to_string(), key, run: String::new(), more: Vec::new() })
        });
        let other = via.clone();
        let sending = scope.spawn(move || {
            let address = other.unwrap_or(Address::Listen("127.0.0.1:0".to_owned()));
            play(Role::Sender, [sender, receiver], &address, lan, log, &mut |event| {
                if let NetEvent::Listening(address) = event {
                    told.send(address).expect("the partner waits");
                }
            })
        });
        let address = via
            .unwrap_or_else(|| Address::Connect(listening.recv().expect("the partner listens").to_string()));
        let time = play(Role::Receiver, [receiver, sender], &address, lan, log, &mut |_| ());
        sending.join().expect("the sender").max(time)
    })
}

fn play(
    role: Role,
    [party, partner]: [&Identity; 2],
    address: &Address,
    network: Network,
    log: u32,
    on_event: &mut dyn FnMut(NetEvent),
) -> Duration {
    let mut rng = randomness().expect("randomness");
    let settings = Settings { protocol: Choice::Named("vole".to_owned()), threads: 1, ..Settings::default() };
    let first = if role == Role::Receiver { 0 } else { 1u64 << (log - 1) };
    let keys: Vec<[u8; 8]> = (first..first + (1 << log)).map(u64::to_le_bytes).collect();
    let items = sets::items(keys.iter().map(|key| &key[..]), &settings).expect("items");
    let security = ConnectionSecurity::Tls { identity: party, peer: partner.public_key() };
    let options = Options::default();
    let channel =
        shaped::establish(address, &security, network, &options, &mut rng, on_event).expect("a channel");
    let started = Instant::now();
    let job = SetJob { role, items, settings };
    let ended = job.run(channel, Some(party), &CancelToken::new(), &mut rng, &|_| {});
    let found = ended.result.expect("a result").matches;
    if let Some(found) = found {
        assert_eq!(found.rows().len(), 1 << (log - 1));
    }
    started.elapsed()
}
