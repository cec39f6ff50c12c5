//! How fast one stream is, over memory and over loopback TCP and TLS, in one direction.
//!
//! `cargo run --release -p vesica-net --example throughput [MiB [memory|tcp|tls [KiB]]]`
#![allow(clippy::expect_used, reason = "a measurement that fails has nobody to tell")]

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rand::{SeedableRng, rngs::StdRng};
use vesica_channel::{CancelToken, Channel};
use vesica_net::{Address, Connection, ConnectionSecurity, Identity, NetEvent, Options, establish, memory};

fn main() {
    let mut args = std::env::args().skip(1);
    let total = args.next().and_then(|text| text.parse().ok()).unwrap_or(1024_usize) << 20;
    let only = args.next();
    let pieces = match args.next().and_then(|text| text.parse::<usize>().ok()) {
        Some(piece) => vec![piece << 10],
        None => vec![4 << 10, 64 << 10, 1 << 20, 16 << 20],
    };
    println!("{} MiB, payload GB/s by size of one send and one receive", total >> 20);
    for (name, connect) in
        [("memory", in_memory as fn() -> (Connection, Connection)), ("tcp", tcp), ("tls", tls)]
    {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        for &piece in &pieces {
            let (one, two) = connect();
            println!("{name:>8} {:>6} KiB  {:.2}", piece >> 10, measure(one, two, total, piece));
        }
    }
    if only.is_some() {
        return;
    }
    let (mut one, mut two) = tls();
    let rounds = 5000;
    let started = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| (0..rounds).for_each(|_| pong(&mut two)));
        (0..rounds).for_each(|_| ping(&mut one));
    });
    println!("tls ping-pong {:.1} us", started.elapsed().as_secs_f64() * 1e6 / f64::from(rounds));
}

fn ping(channel: &mut Connection) {
    channel.send(&[1; 16]).expect("send");
    channel.recv_exact(&mut [0; 16]).expect("receive");
}

fn pong(channel: &mut Connection) {
    channel.recv_exact(&mut [0; 16]).expect("receive");
    channel.send(&[1; 16]).and_then(|()| channel.flush()).expect("send");
}

fn measure(mut one: Connection, mut two: Connection, total: usize, piece: usize) -> f64 {
    let (out, mut into) = (vec![7; piece], vec![0; piece]);
    let started = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            (0..total / piece).for_each(|_| one.send(&out).expect("send"));
            one.finish(&[]).expect("finish");
        });
        (0..total / piece).for_each(|_| two.recv_exact(&mut into).expect("receive"));
        two.finish(&[]).expect("finish");
    });
    let seconds = started.elapsed().as_secs_f64();
    assert_eq!(one.digests().sent, two.digests().received);
    (total / piece * piece) as f64 / seconds / 1e9
}

fn options() -> Options {
    Options { silence: Duration::from_secs(30), ..Options::default() }
}

fn in_memory() -> (Connection, Connection) {
    memory::pair(&CancelToken::new())
}

fn tcp() -> (Connection, Connection) {
    connect(&ConnectionSecurity::InsecurePlaintext, &ConnectionSecurity::InsecurePlaintext)
}

fn tls() -> (Connection, Connection) {
    let [one, two] = [(); 2].map(|()| Identity::generate().expect("key"));
    connect(
        &ConnectionSecurity::Tls { identity: &one, peer: two.public_key() },
        &ConnectionSecurity::Tls { identity: &two, peer: one.public_key() },
    )
}

fn connect(here: &ConnectionSecurity<'_>, there: &ConnectionSecurity<'_>) -> (Connection, Connection) {
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let listening = scope.spawn(move || {
            let mut tell = move |event| {
                if let NetEvent::Listening(address) = event {
                    sender.send(address).expect("tell");
                }
            };
            let address = Address::Listen("127.0.0.1:0".to_owned());
            establish(&address, here, &options(), &mut StdRng::seed_from_u64(1), &mut tell).expect("listen")
        });
        let address = Address::Connect(receiver.recv().expect("address").to_string());
        let two = establish(&address, there, &options(), &mut StdRng::seed_from_u64(2), &mut |_| ())
            .expect("connect");
        (listening.join().expect("listener"), two)
    })
}
