//! Compares a card with the back ends of the processor, and times it.
//!
//! `cargo run --release -p vesica-crypto --features cuda --example card [KERNELS]`, where KERNELS is the machine
//! code that `benchmarks/card/compile.py --output` wrote; without it, NVRTC compiles. `VESICA_CARD` is the number of
//! the card, and `VESICA_CARD_COUNT` how many elements and items there are, 2^20 unless it says otherwise. One line an
//! operation: the time of a whole call with its copies, minimum and median, and the rate.

use std::time::Instant;

use vesica_crypto::aes_hash::FixedKey;
use vesica_crypto::backend::Backend;
use vesica_crypto::block::Block;
use vesica_crypto::card::{BloomBlocks, BloomFunctions, BloomShape, Card};
use vesica_crypto::group::{Group, Ristretto255, map_mul_encode_on};
use vesica_crypto::hash::{Context, Label, Oracle};
use vesica_crypto::par;
use vesica_crypto::prg::Prg;

type Failure = Box<dyn std::error::Error>;

/// Elements that one task of the processor computes.
const CHUNK: usize = 1 << 12;
/// Calls that are timed.
const SAMPLES: usize = 9;
/// Bytes of an item.
const WIDTH: usize = 16;
/// `FilterShape` of `vesica_encode::bloom` for DCW13 at level 128 and 2^20 items.
const SHAPE: BloomShape = BloomShape { bins: 128, slots: 11_882, hashes: 128 };

fn main() -> Result<(), Failure> {
    let number = std::env::var("VESICA_CARD").map_or(Ok(0), |number| number.parse())?;
    let start = Instant::now();
    let card = match std::env::args().nth(1) {
        Some(kernels) => Card::open_with(number, std::fs::read(kernels)?)?,
        None => Card::open(number)?,
    };
    println!("{}; opened in {:.3} s", card.name(), start.elapsed().as_secs_f64());
    let mut rng = Prg::from_seed([7; 16]);
    let count = std::env::var("VESICA_CARD_COUNT").map_or(Ok(1 << 20), |count| count.parse())?;
    group(&card, count, &mut rng)?;
    bloom(&card, count, &mut rng)
}

/// Both operations of the group on `count` elements, and what has to be refused.
fn group(card: &Card, count: usize, rng: &mut Prg) -> Result<(), Failure> {
    let threads = std::thread::available_parallelism()?.get();
    let scalar = Ristretto255::random_scalar(rng);
    let mut uniform = vec![[0; 64]; count];
    rng.fill(uniform.as_flattened_mut());
    let (mut masked, mut again) = (vec![[0; 32]; count], vec![[0; 32]; count]);
    time("map_mul_encode", count, || card.map_mul_encode(&scalar, &uniform, &mut masked))?;
    time("decode_mul_encode", count, || card.decode_mul_encode(&scalar, &masked, &mut again).map(drop))?;

    let start = Instant::now();
    let mut expected = vec![[0; 32]; count];
    let Ok(()) = par::fill_chunks(threads, CHUNK, &mut expected, |chunk, out| {
        map_mul_encode_on(Backend::detect(), &scalar, &uniform[chunk * CHUNK..][..out.len()], out);
        Ok::<_, std::convert::Infallible>(())
    });
    println!("the processor, {threads} threads: {:.3} s for map_mul_encode", start.elapsed().as_secs_f64());
    check("map_mul_encode", masked == expected)?;
    par::fill_chunks(threads, CHUNK, &mut expected, |chunk, out| {
        Ristretto255::decode_mul_encode(&scalar, &masked[chunk * CHUNK..][..out.len()], out)
    })?;
    check("decode_mul_encode", again == expected)?;

    // Scalars at the edges.
    let zero = Ristretto255::sub_scalars(&scalar, &scalar);
    let one = Ristretto255::mul_scalars(&scalar, &Ristretto255::invert(&scalar));
    let minus_one = Ristretto255::sub_scalars(&zero, &one);
    let few = &uniform[..count.min(1000)];
    for (name, scalar) in [("0", zero), ("1", one), ("-1", minus_one)] {
        let mut out = vec![[0; 32]; few.len()];
        let mut expected = out.clone();
        card.map_mul_encode(&scalar, few, &mut out)?;
        Ristretto255::map_mul_encode(&scalar, few, &mut expected);
        check(&format!("scalar {name}"), out == expected)?;
    }
    // The first of two that do not decode: the identity, and a number that is not reduced.
    let at = count / 2;
    (masked[at], masked[at + 1]) = ([0; 32], [0xff; 32]);
    let refused = card.decode_mul_encode(&scalar, &masked, &mut again)?;
    check("an invalid element", refused.is_err_and(|invalid| invalid.index == at))
}

/// Positions of `count` items at level 128.
fn bloom(card: &Card, count: usize, rng: &mut Prg) -> Result<(), Failure> {
    let context = Context::new(&[9; 32], "gbf", b"", count as u64, count as u64);
    let seed = context.oracle(Label::new("bloom: item to bin and seed"));
    let mut keys = vec![Block::ZERO; SHAPE.hashes as usize / 4];
    rng.fill_blocks(&mut keys);
    let mut items = vec![0; WIDTH * count];
    rng.fill(&mut items);
    let (mut bins, mut slots) = (vec![0; count], vec![0; SHAPE.hashes as usize * count]);
    let functions = BloomFunctions { seed: &seed, blocks: BloomBlocks::Narrow(&keys), shape: SHAPE };
    time("bloom_positions, 128 functions", count, || {
        card.bloom_positions(&functions, &items, WIDTH, &mut bins, &mut slots)
    })?;

    let start = Instant::now();
    let expected = expected_positions(&seed, &keys, &items);
    println!("the processor, 1 thread: {:.3} s for bloom_positions", start.elapsed().as_secs_f64());
    check("bloom_positions", (bins, slots) == expected)?;
    bloom_wide(card, &items[..WIDTH * count.min(5000)])
}

/// Bins and slots, as `vesica_encode::bloom` defines them.
fn expected_positions(seed: &Oracle, keys: &[Block], items: &[u8]) -> (Vec<u32>, Vec<u32>) {
    let count = items.len() / WIDTH;
    let mut hashes = vec![[0; 24]; count];
    seed.hash_batch(items, WIDTH, hashes.as_flattened_mut(), 24);
    let word = |hash: &[u8; 24]| u64::from_le_bytes(*hash.last_chunk().unwrap_or(&[0; 8]));
    let bins =
        hashes.iter().map(|hash| ((u128::from(word(hash)) * u128::from(SHAPE.bins)) >> 64) as u32).collect();
    let mut slots = vec![0; SHAPE.hashes as usize * count];
    for (key, slots) in keys.iter().zip(slots.chunks_mut(4 * count)) {
        let mut blocks: Vec<_> =
            hashes.iter().map(|hash| Block::from(*hash.first_chunk().unwrap_or(&[0; 16]))).collect();
        FixedKey::new(*key).ccr(&mut blocks);
        for (item, block) in blocks.iter().enumerate() {
            for (j, word) in block.as_bytes().as_chunks().0.iter().enumerate() {
                let word = u64::from(u32::from_le_bytes(*word));
                slots[j * count + item] = ((word * u64::from(SHAPE.slots)) >> 32) as u32;
            }
        }
    }
    (bins, slots)
}

/// Some items under 256 hash functions, whose seeds have 256 bits.
fn bloom_wide(card: &Card, items: &[u8]) -> Result<(), Failure> {
    let context = Context::new(&[9; 32], "gbf", b"256", 1, 1);
    let seed = context.oracle(Label::new("bloom: item to bin and seed"));
    let oracle = context.oracle(Label::new("bloom: seed to positions"));
    let (count, shape) = (items.len() / WIDTH, BloomShape { hashes: 256, ..SHAPE });
    let (mut bins, mut slots) = (vec![0; count], vec![0; 256 * count]);
    let functions = BloomFunctions { seed: &seed, blocks: BloomBlocks::Wide(&oracle), shape };
    card.bloom_positions(&functions, items, WIDTH, &mut bins, &mut slots)?;
    let mut hashes = vec![[0; 40]; count];
    seed.hash_batch(items, WIDTH, hashes.as_flattened_mut(), 40);
    let seeds: Vec<[Block; 2]> =
        hashes.iter().map(|hash| [0, 1].map(|half| Block::from(hash.as_chunks().0[half]))).collect();
    let mut equal = true;
    for (group, slots) in slots.chunks(4 * count).enumerate() {
        let mut blocks = vec![Block::ZERO; count];
        oracle.hash_numbered(&seeds, 1, &vec![group as u64; count], &mut blocks);
        for (item, block) in blocks.iter().enumerate() {
            for (j, word) in block.as_bytes().as_chunks().0.iter().enumerate() {
                let word = u64::from(u32::from_le_bytes(*word));
                equal &= slots[j * count + item] == ((word * u64::from(shape.slots)) >> 32) as u32;
            }
        }
    }
    check("bloom_positions, 256 functions", equal)
}

fn check(what: &str, holds: bool) -> Result<(), Failure> {
    if !holds {
        return Err(format!("{what}: the card and the processor differ").into());
    }
    println!("{what}: equal");
    Ok(())
}

fn time<E>(what: &str, count: usize, mut work: impl FnMut() -> Result<(), E>) -> Result<(), E> {
    let mut samples = [0.0; SAMPLES];
    for sample in &mut samples {
        let start = Instant::now();
        work()?;
        *sample = start.elapsed().as_secs_f64();
    }
    samples.sort_by(f64::total_cmp);
    let (least, median) = (samples[0], samples[SAMPLES / 2]);
    let rate = count as f64 / least / 1e6;
    println!("{what}: {:.3} ms, median {:.3} ms, {rate:.1} M a second", least * 1e3, median * 1e3);
    Ok(())
}
