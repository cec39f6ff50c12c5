//! Times every kernel on every level of this processor, beside the figures measured for the project's machine
//! type.
//!
//! `cargo run --release -p vesica-crypto --example kernels [FILTER]`. One line a kernel: nanoseconds a unit,
//! minimum and median of many samples, and the reference figure.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rand_core::Rng;
use vesica_crypto::aes_hash::{FixedKey, rekeyed_ccr_on};
use vesica_crypto::backend::{Backend, Level};
use vesica_crypto::band::{BandRow, XorValue, back_substitute_on, margin, sums_on};
use vesica_crypto::block::Block;
use vesica_crypto::byte_masks::byte_masks_on;
use vesica_crypto::convolve::convolve_on;
use vesica_crypto::gf64::multiply_add_on as pairs_multiply_add_on;
use vesica_crypto::gf128::{Gf128, inner_product_on, multiply_add_on, multiply_on};
use vesica_crypto::golay::{LONG, SHORT, compress_from_on};
use vesica_crypto::hadamard::add_with;
use vesica_crypto::half_gates::HalfGates;
use vesica_crypto::hash::{Context, Label, Oracle};
use vesica_crypto::join::{Collection, Lookup, PackedTags, join};
use vesica_crypto::prg::{Prg, Streams};
use vesica_crypto::short_keys::{CharClasses, copy_to_blocks_on};
use vesica_crypto::transpose::{COLUMNS, ROWS, transpose_on};
use vesica_crypto::weighted_xor_sum::SeedStreams;

const SAMPLES: usize = 31;
const SAMPLE: Duration = Duration::from_millis(4);

/// The figure of the table for a level, if it has one.
struct Reference {
    portable: Option<f64>,
    avx2: Option<f64>,
    avx512: Option<f64>,
}

impl Reference {
    const fn new(portable: Option<f64>, avx2: Option<f64>, avx512: Option<f64>) -> Self {
        Self { portable, avx2, avx512 }
    }

    fn of(&self, backend: Backend) -> Option<f64> {
        match backend.level() {
            Level::Avx512Vaes => self.avx512,
            Level::Portable => self.portable,
            _ => self.avx2,
        }
    }
}

struct Bench {
    filter: String,
}

impl Bench {
    /// Times `work`, which handles `units` units a call, on each level.
    fn levels(&self, name: &str, units: usize, reference: &Reference, mut work: impl FnMut(Backend)) {
        for backend in Backend::available() {
            let name = format!("{name}, {:?}", backend.level());
            self.one(&name, units, reference.of(backend), || work(backend));
        }
    }

    fn one(&self, name: &str, units: usize, reference: Option<f64>, mut work: impl FnMut()) {
        if !name.contains(&self.filter) {
            return;
        }
        let (minimum, median) = measure(units, &mut work);
        let beside =
            reference.map_or_else(String::new, |figure| format!("{figure:>9.3} {:>6.2}x", minimum / figure));
        println!("{name:<48} {minimum:>9.3} {median:>9.3} {beside}");
    }
}

/// Nanoseconds a unit: minimum and median over samples of several calls.
fn measure(units: usize, work: &mut impl FnMut()) -> (f64, f64) {
    work();
    let start = Instant::now();
    work();
    let once = start.elapsed().max(Duration::from_nanos(1));
    let calls = (SAMPLE.as_nanos() / once.as_nanos()).max(1);
    let mut samples: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let (start, ran) = (Instant::now(), running());
            (0..calls).for_each(|_| work());
            let wall = start.elapsed();
            let ran = running().zip(ran).map(|(end, start)| end - start);
            // The time this thread ran leaves out other programs, but is counted in steps of some
            // milliseconds.
            let time = ran.filter(|_| wall > 10 * SAMPLE).unwrap_or(wall);
            time.as_nanos() as f64 / (calls as f64 * units as f64)
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    (samples[0], samples[SAMPLES / 2])
}

/// Time that this thread has run, where Linux tells it.
fn running() -> Option<Duration> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    statistics.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

fn random_blocks(count: usize) -> Vec<Block> {
    let mut blocks = vec![Block::ZERO; count];
    Prg::from_seed([1; 16]).fill_blocks(&mut blocks);
    blocks
}

fn aes(bench: &Bench) {
    const BLOCKS: usize = 1024;
    let mut blocks = random_blocks(BLOCKS);
    let per_block = Reference::new(Some(1.6), Some(1.3), Some(0.34));
    bench.levels("AES-CTR stream, 16 KiB, block", BLOCKS, &per_block, |backend| {
        let mut prg = Prg::with_backend(backend, [2; 16]);
        prg.fill_blocks(black_box(&mut blocks));
    });
    let permutation = |backend| FixedKey::with_backend(backend, Block::from(3u128));
    bench.levels("AES ccr hash, block", BLOCKS, &per_block, |backend| {
        permutation(backend).ccr(black_box(&mut blocks));
    });
    let twice = Reference::new(Some(3.2), Some(2.6), Some(0.68));
    bench.levels("AES tccr hash, block", BLOCKS, &twice, |backend| {
        permutation(backend).tccr(0, black_box(&mut blocks));
    });
    let keys = random_blocks(BLOCKS);
    let mut more = random_blocks(BLOCKS);
    let rekeyed = Reference::new(Some(54.3), Some(5.8), Some(1.5));
    bench.levels("AES rekeyed, 1 block a key, key", BLOCKS, &rekeyed, |backend| {
        rekeyed_ccr_on(backend, &keys, [black_box(&mut blocks)]);
    });
    let rekeyed = Reference::new(Some(54.3), Some(5.8), Some(2.04));
    bench.levels("AES rekeyed, 2 blocks a key, key", BLOCKS, &rekeyed, |backend| {
        rekeyed_ccr_on(backend, &keys, [black_box(&mut blocks), black_box(&mut more)]);
    });
    // Allocated at the first call, which is not timed.
    let mut large = Vec::new();
    bench.one("AES-CTR stream, 256 MiB, block", 1 << 24, Some(0.553), || {
        large.resize(1 << 24, Block::ZERO);
        Prg::from_seed([2; 16]).fill_blocks(black_box(&mut large));
    });
}

/// Gates, whose reference is the key schedules and blocks (at 128 bits) or hashes that they take, timed alone.
fn half_gates(bench: &Bench) {
    fn gates<const W: usize>(bench: &Bench, backend: Backend, bits: u32) {
        const GATES: usize = 256;
        let rows = || -> Vec<[Block; W]> { random_blocks(GATES * W).as_chunks().0.to_vec() };
        let (a, b, mut out) = (rows(), rows(), rows());
        let (mut halves, mut tables) = (rows(), vec![[[Block::ZERO; W]; 2]; GATES]);
        let delta = [Block::ONES; W];
        let context = Context::new(&[1; 32], "kernels", b"", 0, 0);
        let mut half_gates = HalfGates::<W>::of(&context, Label::new("gates"), bits).with_backend(backend);
        let mut one = |name: &str, floor: f64, work: &mut dyn FnMut(&mut HalfGates<W>)| {
            let name = format!("{name} of {bits} bits, {:?}, gate", backend.level());
            bench.one(&name, GATES, Some(floor), || work(black_box(&mut half_gates)));
        };
        let [garbled, evaluated] = floors::<W>(backend);
        one("half gates garbled", 2.0 * garbled, &mut |gates| {
            gates.garble(&delta, &a, &b, &mut tables, black_box(&mut out));
        });
        one("half gates evaluated", 2.0 * evaluated, &mut |gates| {
            gates.evaluate(&a, &b, &tables, black_box(&mut out));
        });
        one("private half gates garbled", garbled, &mut |gates| {
            gates.garble_private(&delta, &a, &b, &mut halves, black_box(&mut out));
        });
        one("private half gates evaluated", evaluated, &mut |gates| {
            gates.evaluate_private(&a, &halves, black_box(&mut out));
        });
    }
    if !bench.filter.contains("half gates") && !bench.filter.is_empty() {
        return;
    }
    for backend in Backend::available() {
        gates::<1>(bench, backend, 80);
        gates::<1>(bench, backend, 128);
        gates::<2>(bench, backend, 256);
    }
}

/// What the hashes of a half gate take, to garble and to evaluate.
fn floors<const W: usize>(backend: Backend) -> [f64; 2] {
    const HALVES: usize = 512;
    let keys = random_blocks(HALVES);
    let (mut x, mut y) = (random_blocks(HALVES), random_blocks(HALVES));
    if W == 1 {
        let two = measure(HALVES, &mut || rekeyed_ccr_on(backend, &keys, [black_box(&mut x), &mut y]));
        return [two.0, measure(HALVES, &mut || rekeyed_ccr_on(backend, &keys, [black_box(&mut x)])).0];
    }
    let (inputs, oracle) = (vec![1; 48 * HALVES], Oracle::derive_key("vesica kernels example"));
    let mut out = vec![0; 32 * HALVES];
    let (hash, _) =
        measure(HALVES, &mut || oracle.hash_batch_on(backend, &inputs, 48, black_box(&mut out), 32));
    [2.0 * hash, hash]
}

fn blake3(bench: &Bench) {
    const ITEMS: usize = 1024;
    let bytes = Block::slice_as_bytes(&random_blocks(4 * ITEMS)).to_vec();
    let mut out = vec![0; 64 * ITEMS];
    let oracle = Oracle::derive_key("vesica kernels example");
    let wide = |avx512| Reference::new(Some(68.7), Some(68.7), Some(avx512));
    for (width, out_width, reference) in
        [(16, 16, 6.05), (16, 10, 6.05), (32, 32, 7.63), (32, 64, 7.63), (64, 32, 7.63)]
    {
        let name = format!("BLAKE3 {width} to {out_width} bytes, item");
        let (inputs, out) = (&bytes[..width * ITEMS], &mut out[..out_width * ITEMS]);
        bench.levels(&name, ITEMS, &wide(reference), |backend| {
            oracle.hash_batch_on(backend, inputs, width, black_box(out), out_width);
        });
    }
    let ends: Vec<usize> = (1..=ITEMS).map(|i| i * 23 + i % 7).collect();
    bench.one("BLAKE3 17 to 29 bytes, gathered, item", ITEMS, Some(7.63), || {
        oracle.hash_ranges(&bytes, &ends, black_box(&mut out[..16 * ITEMS]), 16);
    });
}

fn bit_matrices(bench: &Bench) {
    let mut tile = [[Block::ZERO; 8]; ROWS];
    Prg::from_seed([5; 16]).fill_blocks(tile.as_flattened_mut());
    let mut columns = [Block::ZERO; COLUMNS];
    let reference = Reference::new(None, Some(1.3), Some(0.34));
    let seeds = random_blocks(ROWS);
    for backend in Backend::available() {
        let name = format!("128 streams of 1024 bits, {:?}, block", backend.level());
        let mut streams = Streams::with_backend(backend, &seeds);
        bench.one(&name, ROWS * 8, reference.of(backend), || streams.fill_rows(black_box(&mut tile)));
    }
    let reference = Reference::new(None, Some(127.0), Some(46.0));
    bench.levels("transpose 128 x 1024, square of 128 x 128", COLUMNS / 128, &reference, |backend| {
        transpose_on(backend, black_box(&tile), black_box(&mut columns));
    });
}

fn field(bench: &Bench) {
    const ELEMENTS: usize = 512;
    let (mut x, y) = (random_blocks(ELEMENTS), random_blocks(2 * ELEMENTS).split_off(ELEMENTS));
    let reference = |avx512| Reference::new(None, Some(3.09), Some(avx512));
    bench.levels("GF(2^128) product, element", ELEMENTS, &reference(0.657), |backend| {
        multiply_on(backend, black_box(&mut x), &y);
    });
    bench.levels("GF(2^128) y += c x, element", ELEMENTS, &reference(0.802), |backend| {
        multiply_add_on(backend, black_box(&mut x), Gf128::X, &y);
    });
    let reference = Reference::new(None, Some(2.12), Some(0.528));
    bench.levels("GF(2^128) inner product, element", ELEMENTS, &reference, |backend| {
        black_box(inner_product_on(backend, black_box(&x), &y));
    });
    bench.one("GF(2^128) single product", 1, Some(8.3), || {
        black_box(black_box(Gf128::X) * black_box(Gf128::X));
    });
}

/// No figure of another implementation.
const NONE: Reference = Reference::new(None, None, None);

fn codes(bench: &Bench) {
    const ROWS: usize = 1024;
    let mut rng = Prg::from_seed([6; 16]);
    let words: Vec<u64> = random_blocks(4 * ROWS).iter().map(|block| block.to_u128() as u64).collect();
    let taps: Vec<u32> = words.iter().map(|word| *word as u32 & (word >> 32) as u32).collect();
    let mut convolved = words.clone();
    bench.levels("convolution of words, word", words.len(), &NONE, |backend| {
        convolve_on(backend, black_box(&mut convolved), &taps);
    });
    let positions: Vec<[u16; LONG]> = (0..ROWS)
        .map(|i| std::array::from_fn(|j| words[(24 * i + j) % words.len()] as u16 & 0xfff))
        .collect();
    let mut out = vec![[0u64; SHORT]; ROWS];
    bench.levels("Golay blocks of words, block", ROWS, &NONE, |backend| {
        compress_from_on(backend, &words, &positions, &words, black_box(&mut out));
    });
    let (bytes, kept) = (random_blocks(ROWS / 16), [Block::ONES; 2]);
    let mut rows = vec![[Block::ZERO; 2]; ROWS];
    bench.levels("Hadamard codewords, row", ROWS, &NONE, |backend| {
        add_with(backend, &kept, Block::slice_as_bytes(&bytes), black_box(&mut rows));
    });
    let streams = |backend| SeedStreams::with_backend(backend, &random_blocks(16));
    let (mut sum, mut weighted) = ([Block::ZERO; 8], [[Block::ZERO; 8]; 4]);
    for backend in Backend::available() {
        let streams = streams(backend);
        let name = format!("weighted sums of 16 streams, {:?}, block", backend.level());
        bench.one(&name, 128, None, || streams.sum_at(rng.next_u64(), black_box(&mut sum), &mut weighted));
    }
    let (mut sums, values) = (random_blocks(ROWS), &words[..ROWS]);
    bench.levels("GF(2^64) sums += pair * value, value", ROWS, &NONE, |backend| {
        pairs_multiply_add_on(backend, black_box(&mut sums), bytes[0], values);
    });
}

fn bands(bench: &Bench) {
    fn of<V: XorValue>(bench: &Bench, what: &str) {
        const ROWS: usize = 4096;
        let mut rng = Prg::from_seed([7; 16]);
        let mut table = vec![V::ZERO; ROWS + margin(2)];
        V::randomise(&mut table, &mut rng);
        let mut rows: Vec<BandRow<2>> = (0..ROWS)
            .map(|_| BandRow { start: rng.next_u32() % ROWS as u32, band: [rng.next_u64(), rng.next_u64()] })
            .collect();
        let mut sums = vec![V::ZERO; ROWS];
        let mut bands: Vec<[u64; 2]> = rows.iter().map(|row| row.band).collect();
        bands.iter_mut().for_each(|band| band[0] |= 1);
        bench.levels(&format!("band sums of {what} in any order, row"), ROWS, &NONE, |backend| {
            sums_on(backend, &table, &rows, black_box(&mut sums));
        });
        rows.sort_by_key(|row| row.start);
        bench.levels(&format!("band sums of {what} in order, row"), ROWS, &NONE, |backend| {
            sums_on(backend, &table, &rows, black_box(&mut sums));
        });
        bench.levels(&format!("band back substitution of {what}, row"), ROWS, &NONE, |backend| {
            back_substitute_on(backend, &bands, black_box(&mut table));
        });
    }
    of::<u64>(bench, "words");
    of::<Block>(bench, "blocks");
}

fn texts(bench: &Bench) {
    const TEXTS: usize = 1024;
    let bytes = Block::slice_as_bytes(&random_blocks(4 * TEXTS)).to_vec();
    let text = bytes.as_chunks::<64>().0;
    let mut masks = vec![[0; 3]; TEXTS];
    bench.levels("three bytes looked for, 64 bytes", TEXTS, &NONE, |backend| {
        byte_masks_on(backend, text, *b",\n\"", black_box(&mut masks));
    });
    let texts: Vec<&[u8]> = text.iter().enumerate().map(|(i, text)| &text[..8 + i % 24]).collect();
    let (mut blocks, mut classes) = (vec![[0; 64]; TEXTS], vec![CharClasses::default(); TEXTS]);
    bench.levels("short texts in blocks, text", TEXTS, &NONE, |backend| {
        copy_to_blocks_on::<5, true>(backend, &texts, black_box(&mut blocks), &mut classes);
    });
}

fn joins(bench: &Bench) {
    for (log, reference) in [(16, 23.0), (20, 23.0), (24, 27.0)] {
        let count = 1 << log;
        // Made at the first call, which is not timed. Half of the tags in common.
        let mut lists = None;
        bench.one(&format!("join of 16-byte tags, 2^{log}, item"), count, Some(reference), || {
            let (mine, theirs) = lists.get_or_insert_with(|| {
                let mine = random_blocks(3 * count / 2);
                (mine[..count].to_vec(), mine[count / 2..].to_vec())
            });
            assert_eq!(join(1, black_box(mine.as_slice()), theirs.as_slice()).len(), count / 2);
        });
        let mut lists = None;
        bench.one(&format!("join of 10-byte tags, 2^{log}, item"), count, Some(reference), || {
            let bytes = lists.get_or_insert_with(|| Block::slice_as_bytes(&random_blocks(count)).to_vec());
            let mine = PackedTags::new(&bytes[..10 * count], 10);
            let theirs = PackedTags::new(&bytes[5 * count..15 * count], 10);
            assert_eq!(join(1, black_box(&mine), &theirs).len(), count / 2);
        });
    }
}

/// A third of the items in a list of all of the other party's, half of them in common, as OT-based protocols
/// end.
fn lookups(bench: &Bench) {
    for log in [20, 24] {
        let (count, mine) = (1 << log, (1 << log) / 3);
        let collection = |tags: &[u128]| {
            let mut collection = Collection::new(88, tags.len());
            (0..).zip(tags).for_each(|(i, tag)| collection.push(*tag, i));
            collection
        };
        let mut lists = None;
        let make = || {
            let bytes = Block::slice_as_bytes(&random_blocks(count)).to_vec();
            let mut tags: Vec<u128> =
                random_blocks(mine).iter().map(|block| !block.to_u128() & u128::MAX >> 40).collect();
            for (i, tag) in tags.iter_mut().enumerate().step_by(2) {
                let mut padded = [0; 16];
                padded[..11].copy_from_slice(&bytes[33 * i..][..11]);
                *tag = u128::from_le_bytes(padded);
            }
            (tags, bytes)
        };
        bench.one(&format!("table of 11-byte tags, 2^{log} / 3, tag"), mine, Some(10.0), || {
            let (mine, _) = lists.get_or_insert_with(make);
            black_box(Lookup::new(collection(black_box(mine))));
        });
        let mut table = None;
        bench.one(&format!("lookup of 11-byte tags, 2^{log}, tag"), count, Some(8.0), || {
            let (mine, theirs) = lists.get_or_insert_with(make);
            let table = table.get_or_insert_with(|| Lookup::new(collection(mine)));
            let mut found = 0;
            for piece in theirs[..11 * count].chunks(11 << 14) {
                table.find(&PackedTags::new(black_box(piece), 11), |_, _| found += 1);
            }
            assert_eq!(found, mine.len().div_ceil(2));
        });
    }
}

fn main() {
    // As programs do: memory that goes back to the system would be handed out anew.
    vesica_crypto::memory::keep_freed_memory();
    let bench = Bench { filter: std::env::args().nth(1).unwrap_or_default() };
    println!("{:<48} {:>9} {:>9} {:>9}", "kernel, unit", "min ns", "median", "reference");
    aes(&bench);
    half_gates(&bench);
    blake3(&bench);
    bit_matrices(&bench);
    field(&bench);
    codes(&bench);
    bands(&bench);
    texts(&bench);
    joins(&bench);
    lookups(&bench);
}
