//! Times big integers on every back end.
//!
//! `cargo run --release -p vesica-crypto --example bigint -- [BITS…]`. One line an operation: microseconds a residue
//! on each back end, the minimum of some samples taken in turns, and how many times faster the last is than the first.

use std::hint::black_box;
use std::time::Instant;

use rand_core::Rng;
use vesica_crypto::backend::Backend;
use vesica_crypto::bigint::{Exponent, FixedBase, Modulus};
use vesica_crypto::prg::Prg;

const SAMPLES: usize = 5;

fn main() {
    let sizes: Vec<u32> = std::env::args().skip(1).filter_map(|bits| bits.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![1024, 1536, 2048, 3072, 4096, 6144] } else { sizes };
    let backends: Vec<Backend> = Backend::available().collect();
    print!("{:<36}", "microseconds a residue");
    backends.iter().for_each(|backend| print!(" {:>12}", format!("{:?}", backend.level())));
    println!("  times faster");
    for bits in sizes {
        let mut prg = Prg::from_seed([5; 16]);
        let mut bytes = vec![0; bits as usize / 8];
        prg.fill_bytes(&mut bytes);
        (bytes[0], *bytes.last_mut().unwrap_or(&mut 1)) = (0xff, 1);
        let Ok(modulus) = Modulus::from_be_bytes(&bytes) else { continue };
        let moduli: Vec<Modulus> =
            backends.iter().map(|&backend| modulus.clone().with_backend(backend)).collect();
        let bases = modulus.random_unit(8, &mut prg);
        let many = modulus.random_unit(64, &mut prg);
        let (short, long) = (Exponent::random(256, &mut prg), Exponent::random(bits, &mut prg));
        let each: Vec<Exponent> = (0..64).map(|_| Exponent::random(256, &mut prg)).collect();
        let wide = vec![7; 64 * (modulus.bytes() + Modulus::EXCESS)];
        let fixed: Vec<FixedBase> =
            moduli.iter().map(|modulus| FixedBase::new(modulus, &bases.get(0), 256)).collect();
        let time = |what: &str, count: usize, work: &dyn Fn(usize)| {
            let mut best = vec![f64::INFINITY; moduli.len()];
            for _ in 0..SAMPLES {
                for (index, best) in best.iter_mut().enumerate() {
                    let start = Instant::now();
                    work(index);
                    *best = best.min(start.elapsed().as_secs_f64() * 1e6 / count as f64);
                }
            }
            print!("{:<36}", format!("{bits} bits: {what}"));
            best.iter().for_each(|best| print!(" {best:>12.2}"));
            println!(" {:>13.1}", best[0] / best[best.len() - 1]);
        };
        time("power of full length", 8, &|i| _ = black_box(moduli[i].pow(&bases, &long)));
        time("power of 256 bits", 8, &|i| _ = black_box(moduli[i].pow(&bases, &short)));
        time("fixed base, 256 bits", 64, &|i| _ = black_box(fixed[i].pow_each(&each)));
        time("65537th power", 64, &|i| _ = black_box(moduli[i].vartime_pow_public(&many, &[1, 0, 1])));
        time("product", 64, &|i| _ = black_box(moduli[i].mul(&many, &many)));
        time("inverse", 64, &|i| _ = black_box(moduli[i].invert(&many)));
        time("reduction of uniform bytes", 64, &|i| {
            _ = black_box(moduli[i].reduce_wide(&wide, wide.len() / 64))
        });
    }
}
