//! The main job's benchmark: two processes, TLS on loopback, `dh` on one thread a party, against the floor of its group
//! operations measured alone in the same run.
//!
//! ```text
//! cargo build --release && cargo run --release -p vesica-cli --example main_job -- [log2 of the rows, 20] [runs, 3]
//! ```
//!
//! Floor, a party: n · (map, multiply, encode) + n · (decode, multiply, encode). Both parties run at once, each on a
//! core of its own, so the rates are measured with as many threads as there are parties.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "a benchmark stops where something is amiss"
)]

use std::fmt::Write;
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::Value;
use vesica_crypto::group::{Group, Ristretto255};

/// Both parties at once.
const PARTIES: usize = 2;

fn main() {
    if cfg!(debug_assertions) {
        panic!("a debug build measures nothing: give --release");
    }
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<u32>().unwrap());
    let (log_rows, runs) = (args.next().unwrap_or(20), args.next().unwrap_or(3));
    let rows = 1usize << log_rows;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("receiver.csv"), table("receiver", rows)).unwrap();
    std::fs::write(folder.path().join("sender.csv"), table("sender", rows)).unwrap();
    let keys = ["receiver.pem", "sender.pem"].map(|name| keygen(folder.path(), name));

    let (map, decode) = (rate(map_mul_encode), rate(decode_mul_encode));
    let floor = rows as f64 * (map + decode);
    println!(
        "2^{log_rows} rows a side; map·multiply·encode {:.2} µs, decode·multiply·encode {:.2} µs",
        map * 1e6,
        decode * 1e6
    );
    println!("floor {floor:.2} s a party on one core");
    println!(
        "run  wall s  protocol s  /floor  payload bytes  /formula  peak MB receiver, sender (bound)  CPU s both"
    );
    let mut times = Vec::new();
    for run in 1..=runs {
        let started = Instant::now();
        let reports = play(folder.path(), &keys);
        let wall = started.elapsed().as_secs_f64();
        times.push(show(run, wall, floor, rows, &reports));
    }
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    let spread = (times[0], times[times.len() - 1]);
    println!(
        "protocol, median of {runs}: {median:.2} s ({:.2} to {:.2}), {:.2} × floor",
        spread.0,
        spread.1,
        median / floor
    );
}

/// `id,email,city` rows; the first half of both tables has the same addresses.
fn table(side: &str, rows: usize) -> String {
    let mut rng = StdRng::seed_from_u64(1);
    let mut text = String::from("id,email,city\n");
    for i in 0..rows {
        let who = if i < rows / 2 { "person" } else { side };
        let part = rng.next_u32() % 1000;
        writeln!(text, "{i},{who}.{i}.{part}@mail{}.example.com,Zürich", part % 40).unwrap();
    }
    text
}

/// Seconds an operation, on each of as many threads as there are parties: the best of several batches.
fn rate(operation: fn(&mut StdRng) -> f64) -> f64 {
    let one = || {
        let mut rng = StdRng::seed_from_u64(2);
        (0..5).map(|_| operation(&mut rng)).fold(f64::INFINITY, f64::min)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..PARTIES).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).fold(0.0, f64::max)
    })
}

const BATCH: usize = 1 << 14;

fn map_mul_encode(rng: &mut StdRng) -> f64 {
    let mut uniform = vec![[0; 64]; BATCH];
    rng.fill_bytes(uniform.as_flattened_mut());
    let (scalar, mut out) = (Ristretto255::random_scalar(rng), vec![[0; 32]; BATCH]);
    let started = Instant::now();
    Ristretto255::map_mul_encode(&scalar, &uniform, &mut out);
    black_box(&out);
    started.elapsed().as_secs_f64() / BATCH as f64
}

fn decode_mul_encode(rng: &mut StdRng) -> f64 {
    let mut uniform = vec![[0; 64]; BATCH];
    rng.fill_bytes(uniform.as_flattened_mut());
    let (scalar, mut encoded) = (Ristretto255::random_scalar(rng), vec![[0; 32]; BATCH]);
    Ristretto255::map_mul_encode(&scalar, &uniform, &mut encoded);
    let mut out = encoded.clone();
    let started = Instant::now();
    Ristretto255::decode_mul_encode(&scalar, &encoded, &mut out).unwrap();
    black_box(&out);
    started.elapsed().as_secs_f64() / BATCH as f64
}

/// The program beside this example.
fn vesica(folder: &Path, args: &[&str]) -> Command {
    let mut program = std::env::current_exe().unwrap();
    program.pop();
    program.set_file_name("vesica");
    assert!(program.exists(), "{} is not there: run `cargo build --release` first", program.display());
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn keygen(folder: &Path, name: &str) -> String {
    let made = vesica(folder, &["keygen", "--output", name]).output().unwrap();
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

/// One run of both processes; their reports, receiver's first.
fn play(folder: &Path, [receiver_key, sender_key]: &[String; 2]) -> [Value; 2] {
    let security = ["--security", "semi-honest", "--protocol", "dh"];
    let common = [&["--key", "email:email", "--threads", "1"][..], &security].concat();
    let sender = ["send", "--input", "sender.csv", "--listen", "127.0.0.1:0", "--report", "sender.json"];
    let keys = ["--identity", "sender.pem", "--peer", receiver_key];
    let mut sender = vesica(folder, &[&sender[..], &common, &keys].concat()).spawn().unwrap();
    let address = listening(&mut sender);
    let receiver = ["receive", "--input", "receiver.csv", "--output", "out.csv", "--report", "receiver.json"];
    let keys = ["--identity", "receiver.pem", "--peer", sender_key, "--connect", &address];
    let receiver = vesica(folder, &[&receiver[..], &common, &keys].concat()).output().unwrap();
    assert!(receiver.status.success() && sender.wait().unwrap().success());
    ["receiver.json", "sender.json"].map(|name| {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        // A run replaces no report.
        std::fs::remove_file(folder.join(name)).unwrap();
        serde_json::from_str(&text).unwrap()
    })
}

fn listening(sender: &mut Child) -> String {
    let mut screen = BufReader::new(sender.stderr.take().unwrap()).lines();
    let line = screen.find(|line| line.as_ref().unwrap().starts_with("listening on ")).unwrap().unwrap();
    // The rest of the screen is read to its end, so that the sender never waits for us.
    std::thread::spawn(move || screen.for_each(drop));
    line.trim_start_matches("listening on ").split(';').next().unwrap().to_owned()
}

/// Prints one run's line; the receiver's protocol time, from the terms to the confirmation.
fn show(run: u32, wall: f64, floor: f64, rows: usize, [receiver, sender]: &[Value; 2]) -> f64 {
    assert_eq!(receiver["matches"]["rows"], rows / 2, "the result is wrong");
    let phases = |report: &Value, what: &str, skip: &[&str]| -> f64 {
        let phases = report["phases"].as_array().unwrap().iter();
        phases
            .filter(|p| !skip.contains(&p["name"].as_str().unwrap()))
            .map(|p| p[what].as_f64().unwrap())
            .sum()
    };
    let protocol = phases(receiver, "wall_s", &["prepare", "read", "connect", "write"]);
    let cpu = phases(receiver, "cpu_s", &[]) + phases(sender, "cpu_s", &[]);
    // ℓ = 40 + 2·⌈log2 n⌉ bits a mask; the terms and sizes before it are the rest.
    let mask = (40 + 2 * rows.next_power_of_two().ilog2()).div_ceil(8) as usize;
    let formula = (rows * (64 + mask)) as f64;
    let payload = &receiver["bytes"]["payload"];
    let bytes = payload["sent"].as_f64().unwrap() + payload["received"].as_f64().unwrap();
    let memory = |report: &Value, what: &str| report[what].as_f64().unwrap_or(f64::NAN) / 1e6;
    println!(
        "{run:3}  {wall:6.2}  {protocol:10.2}  {:6.2}  {bytes:13.0}  {:8.4}  {:.0} ({:.0}), {:.0} ({:.0})  {cpu:.2}",
        protocol / floor,
        bytes / formula,
        memory(receiver, "peak_rss"),
        memory(receiver, "memory_bound"),
        memory(sender, "peak_rss"),
        memory(sender, "memory_bound"),
    );
    protocol
}
