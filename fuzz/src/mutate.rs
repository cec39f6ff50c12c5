//! Mutations: blind ones, one that knows frames, and two that change the content of a packed file.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use rand::RngExt;
use rand::rngs::StdRng;
use vesica_channel::Kind;
use vesica_net::testing::{frame, frames};

use crate::seeds::{gzip_member, zstd_frame};

/// No input grows beyond this.
const LONGEST: usize = 1 << 14;

/// Changes, removes or inserts some bytes.
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

/// Reads the input as frames, and changes, drops, repeats or moves one, or falsifies its length.
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

/// Reads the bytes after the first two as a gzip file, and changes its content. If they are none, changes the bytes.
pub fn gzip(input: &mut Vec<u8>, rng: &mut StdRng) {
    let effort = rng.random_range(0..=9);
    let unpack = |packed: &mut dyn Read, text: &mut Vec<u8>| {
        MultiGzDecoder::new(packed).take(LONGEST as u64).read_to_end(text)
    };
    inside(input, rng, unpack, |text| gzip_member(text, effort));
}

/// Reads the bytes after the first two as a Zstandard file, and changes its content. If they are none, changes the bytes.
pub fn zstd(input: &mut Vec<u8>, rng: &mut StdRng) {
    let level = rng.random_range(1..=9);
    let unpack = |packed: &mut dyn Read, text: &mut Vec<u8>| {
        zstd::stream::read::Decoder::new(packed)?.take(LONGEST as u64).read_to_end(text)
    };
    inside(input, rng, unpack, |text| zstd_frame(text, level));
}

fn inside(
    input: &mut Vec<u8>,
    rng: &mut StdRng,
    unpack: impl Fn(&mut dyn Read, &mut Vec<u8>) -> std::io::Result<usize>,
    pack: impl Fn(&[u8]) -> Vec<u8>,
) {
    let mut text = Vec::new();
    // If the file is damaged: the content before the damage.
    let whole = input.get(2..).is_some_and(|mut packed| unpack(&mut packed, &mut text).is_ok());
    if text.is_empty() && !whole || rng.random_range(0..3) == 0 {
        return bytes(input, rng);
    }
    bytes(&mut text, rng);
    input.truncate(2);
    input.extend(pack(&text));
}
