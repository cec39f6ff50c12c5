//! What a relay passes on a second, and the memory that it takes: `relay PAIRS MIB_A_PAIR`.
//!
//! The relay is this process, and another one plays all parties. Their sockets are bare, so that the time is the relay's and
//! the system's.
#![allow(clippy::expect_used, reason = "a measurement that cannot go on ends")]

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rand::{SeedableRng, rngs::StdRng};
use vesica_channel::CancelToken;
use vesica_net::relay::{RelayEvent, Rules, serve};
use vesica_net::testing::through_relay;
use vesica_net::{Identity, PublicKey};

const PIECE: usize = 256 << 10;
const PATIENCE: Duration = Duration::from_secs(120);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |at: usize, usual: usize| words.get(at).map_or(usual, |word| word.parse().expect("a number"));
    let (pairs, bytes) = (number(0, 8), number(1, 1024) << 20);
    match &words[words.len().min(2)..] {
        [address, key] => drive((address.parse().expect("address"), key.parse().expect("key")), pairs, bytes),
        _ => relay(pairs, bytes),
    }
}

fn relay(pairs: usize, bytes: usize) {
    let [one, two, own] = [(); 3].map(|()| Identity::generate().expect("identity"));
    let allow = vec![*one.public_key(), *two.public_key()];
    let (stop, key) = (CancelToken::new(), *own.public_key());
    let on_event = |event| {
        let RelayEvent::Listening(address) = event else { return };
        let pems = [&one, &two].map(|identity| identity.to_pem().expect("identity").to_string()).join("|");
        let stop = stop.clone();
        thread::spawn(move || {
            let mut child = Command::new(std::env::current_exe().expect("program"))
                .args([pairs.to_string(), (bytes >> 20).to_string(), address.to_string(), key.to_string()])
                .stdin(Stdio::piped())
                .spawn()
                .expect("the parties");
            child.stdin.take().expect("pipe").write_all(pems.as_bytes()).expect("pipe");
            child.wait().expect("the parties");
            stop.cancel();
        });
    };
    let rules = Rules { allow, ..Rules::default() };
    serve("127.0.0.1:0", &own, rules, &stop, &mut StdRng::seed_from_u64(1), &on_event).expect("relay");
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: unknown");
    let seconds = cpu_seconds().unwrap_or(f64::NAN);
    println!("the relay: {:.3} s of CPU a GB; {peak}", seconds * 1e9 / (pairs * bytes) as f64);
}

/// CPU time of this process, in its own code and in the system.
fn cpu_seconds() -> Option<f64> {
    const TICKS_A_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let times = fields.split_whitespace().skip(11).take(2);
    Some(times.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / TICKS_A_SECOND)
}

/// All parties: each pair joins, then all send at once, in one direction.
fn drive(relay: (SocketAddr, PublicKey), pairs: usize, bytes: usize) {
    let mut pems = String::new();
    std::io::stdin().read_to_string(&mut pems).expect("identities");
    let parties: Vec<Identity> =
        pems.split('|').map(|pem| Identity::from_pem(pem).expect("identity")).collect();
    let meet = |me: usize, run: usize| {
        let (party, partner) = (&parties[me], parties[1 - me].public_key());
        // The door lets 64 in at once.
        (0..100)
            .find_map(|_| through_relay(relay, party, partner, &run.to_string(), PATIENCE).ok())
            .expect("a way through the relay")
    };
    let started = Instant::now();
    let met: Vec<_> = thread::scope(|scope| {
        let sides: Vec<_> =
            (0..pairs).map(|run| [0, 1].map(|me| scope.spawn(move || meet(me, run)))).collect();
        sides.into_iter().map(|side| side.map(|one| one.join().expect("a party"))).collect()
    });
    println!("{pairs} pairs after {:.2} s", started.elapsed().as_secs_f64());
    let started = Instant::now();
    thread::scope(|scope| {
        for [mut from, mut to] in met {
            scope.spawn(move || {
                let piece = vec![7; PIECE];
                (0..bytes / PIECE).for_each(|_| from.write_all(&piece).expect("send"));
                from.shutdown(Shutdown::Write).expect("send");
            });
            scope.spawn(move || {
                let (mut piece, mut heard) = (vec![0; PIECE], 0);
                while let Ok(length @ 1..) = to.read(&mut piece) {
                    heard += length;
                }
                assert_eq!(heard, bytes / PIECE * PIECE, "no byte is lost");
            });
        }
    });
    let seconds = started.elapsed().as_secs_f64();
    println!("{:.2} GB/s in {seconds:.2} s", (pairs * bytes) as f64 / 1e9 / seconds);
}
