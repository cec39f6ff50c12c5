//! Mutations: blind ones, and one that knows frames.

use rand::RngExt;
use rand::rngs::StdRng;
use vesica_net::Kind;
use vesica_net::testing::{frame, frames};

/// No input grows beyond this.
const LONGEST: usize = 1 << 14;

/// Changes some bytes, or takes some away, or puts some in.
pub fn bytes(input: &mut Vec<u8>, rng: &mut StdRng) {
    for _ in 0..rng.random_range(1..=4) {
        change(input, rng);
    }
    input.truncate(LONGEST);
}

fn change(input: &mut Vec<u8>, rng: &mut StdRng) {
    const TELLING: [u8; 12] = [0, 1, 0x7f, 0x80, 0xff, b'"', b',', b'\n', b'\r', b'@', b'-', b':'];
    let at = rng.random_range(0..=input.len());
    let telling = TELLING[rng.random_range(0..TELLING.len())];
    let length = rng.random_range(0..=16).min(input.len() - at);
    match rng.random_range(0..8) {
        0 if at < input.len() => input[at] ^= 1 << rng.random_range(0..8),
        1 if at < input.len() => input[at] = telling,
        2 => input.insert(at, telling),
        3 => drop(input.drain(at..at + length)),
        4 => {
            let piece = input[at..at + length].to_vec();
            let to = rng.random_range(0..=input.len());
            input.splice(to..to, piece);
        }
        5 => input[at..at + length.min(8)].fill(telling),
        6 => input.truncate(at),
        _ => input.insert(at, rng.random()),
    }
}

/// Takes the input for frames: changes one, drops, repeats or moves it, or lies about its length.
pub fn framed(input: &mut Vec<u8>, rng: &mut StdRng) {
    const KINDS: [Kind; 4] = [Kind::Data, Kind::Heartbeat, Kind::Abort, Kind::Done];
    let (mut found, _) = frames(input);
    if found.is_empty() || rng.random_range(0..4) == 0 {
        return bytes(input, rng);
    }
    let at = rng.random_range(0..found.len());
    match rng.random_range(0..6) {
        0 => bytes(&mut found[at].1, rng),
        1 => found[at].0 = KINDS[rng.random_range(0..KINDS.len())],
        2 => drop(found.remove(at)),
        3 => found.insert(at, found[at].clone()),
        4 => found.rotate_left(at),
        _ => {}
    }
    let mut ends = Vec::new();
    input.clear();
    for (kind, payload) in &found {
        ends.push(input.len());
        input.extend(frame(*kind, payload));
    }
    if let Some(&start) = ends.get(at)
        && rng.random()
    {
        input[start + rng.random_range(1..5)] ^= 1 << rng.random_range(0..8);
    }
    input.truncate(LONGEST);
}
