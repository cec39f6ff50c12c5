//! Times every kernel on every level of this processor, beside the figures measured for the project's machine type.
//!
//! `cargo run --release -p vesica-crypto --example kernels [FILTER]`. One line a kernel: nanoseconds a unit, minimum
//! and median of many samples, and the reference figure.

use std::hint::black_box;
use std::time::{Duration, Instant};

use vesica_crypto::aes_hash::{FixedKey, rekeyed_ccr_on};
use vesica_crypto::backend::{Backend, Level};
use vesica_crypto::block::Block;
use vesica_crypto::prg::Prg;

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
            Level::Avx512 => self.avx512,
            Level::Avx2 => self.avx2,
            _ => self.portable,
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
            let start = Instant::now();
            (0..calls).for_each(|_| work());
            start.elapsed().as_nanos() as f64 / (calls as f64 * units as f64)
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    (samples[0], samples[SAMPLES / 2])
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
    let mut large = vec![Block::ZERO; 1 << 24];
    bench.one("AES-CTR stream, 256 MiB, block", large.len(), Some(0.553), || {
        Prg::from_seed([2; 16]).fill_blocks(black_box(&mut large));
    });
}

fn main() {
    let bench = Bench { filter: std::env::args().nth(1).unwrap_or_default() };
    println!("{:<48} {:>9} {:>9} {:>9}", "kernel, unit", "min ns", "median", "reference");
    aes(&bench);
}
