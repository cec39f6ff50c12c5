//! Times ristretto255 on the library's arithmetic and in lanes.
//!
//! `cargo run --release -p vesica-crypto --example ristretto`. One line an operation: microseconds an
//! element, minimum and median of many samples.

use std::hint::black_box;
use std::time::{Duration, Instant};

use vesica_crypto::backend::Backend;
use vesica_crypto::group::{Group, Ristretto255, decode_mul_encode_on, map_mul_encode_on};
use vesica_crypto::prg::Prg;

const SAMPLES: usize = 41;
const SAMPLE: Duration = Duration::from_millis(20);

fn main() {
    let mut rng = Prg::from_seed([7; 16]);
    let scalar = Ristretto255::random_scalar(&mut rng);
    let mut uniform = vec![[0; 64]; 1024];
    rng.fill(uniform.as_flattened_mut());
    let element = Ristretto255::map_to_group(&uniform[0]);
    let encoding = Ristretto255::encode(&element);

    println!("{:<44} {:>9} {:>9}", "microseconds an element", "minimum", "median");
    one("library: multiply", 1, || _ = black_box(Ristretto255::mul(&scalar, &element)));
    one("library: map", 1, || _ = black_box(Ristretto255::map_to_group(&uniform[0])));
    one("library: decode", 1, || _ = black_box(Ristretto255::decode(&encoding)));
    one("library: encode", 1, || _ = black_box(Ristretto255::encode(&element)));
    for backend in [Backend::PORTABLE, Backend::detect()] {
        let name = |what: &str, count: usize| format!("{:?}: {what}, batch of {count}", backend.level());
        for count in [1, 8, 16, 128, 1024] {
            let uniform = &uniform[..count];
            let mut encoded = vec![[0; 32]; count];
            one(&name("map, multiply, encode", count), count, || {
                map_mul_encode_on(backend, &scalar, uniform, &mut encoded);
            });
            let mut out = vec![[0; 32]; count];
            one(&name("decode, multiply, encode", count), count, || {
                let result = decode_mul_encode_on(backend, &scalar, &encoded, &mut out);
                assert!(result.is_ok(), "these are encodings of elements");
            });
        }
    }
    // A first chunk that does not decode is not multiplied.
    let mut invalid = vec![encoding; 128];
    invalid[127] = [0xff; 32];
    one("lanes: decode alone", 128, || {
        let result = decode_mul_encode_on(Backend::detect(), &scalar, &invalid, &mut [[0; 32]; 128]);
        assert!(result.is_err(), "the last one is no encoding");
    });
}

fn one(name: &str, elements: usize, mut work: impl FnMut()) {
    let start = Instant::now();
    work();
    let calls = (SAMPLE.as_nanos() / start.elapsed().as_nanos().max(1)).max(1);
    let mut samples: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..calls {
                work();
            }
            start.elapsed().as_secs_f64() * 1e6 / (calls as f64 * elements as f64)
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    println!("{name:<44} {:>9.3} {:>9.3}", samples[0], samples[SAMPLES / 2]);
}
