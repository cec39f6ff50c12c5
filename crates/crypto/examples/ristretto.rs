//! Times ristretto255 on the library's arithmetic and in lanes.
//!
//! `cargo run --release -p vesica-crypto --example ristretto`. One line an operation: microseconds an
//! element, minimum and median of many samples.

use std::hint::black_box;
use std::time::{Duration, Instant};

use vesica_crypto::backend::Backend;
use vesica_crypto::group::{
    Elements, FixedBase, Group, Ristretto255, RistrettoBase, RistrettoElements, decode_mul_encode_on,
    map_mul_encode_on,
};
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
    for backend in Backend::available() {
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
    for backend in Backend::available() {
        elements(backend, &uniform[..512]);
    }
    // A first chunk that does not decode is not multiplied.
    let mut invalid = vec![encoding; 128];
    invalid[127] = [0xff; 32];
    one("lanes: decode alone", 128, || {
        let result = decode_mul_encode_on(Backend::detect(), &scalar, &invalid, &mut [[0; 32]; 128]);
        assert!(result.is_err(), "the last one is no encoding");
    });
}

/// The operations on elements that stay in lanes.
fn elements(backend: Backend, uniform: &[[u8; 64]]) {
    let count = uniform.len();
    let name = |what: &str| format!("{:?}: {what}, elements", backend.level());
    let mut rng = Prg::from_seed([8; 16]);
    let scalars: Vec<_> = (0..count).map(|_| Ristretto255::random_scalar(&mut rng)).collect();
    let weights: Vec<u128> = (0..count).map(|_| rng.block().to_u128()).collect();
    let mut encoded = vec![[0; 32]; count];
    let elements = RistrettoElements::map_on(backend, uniform);
    elements.encode_doubles(&mut encoded);
    let base = Ristretto255::random_element(&mut rng);
    let table = RistrettoBase::new_on(backend, &base);
    let decode = || RistrettoElements::decode_on(backend, &encoded).is_ok();
    one(&name("map"), count, || drop(black_box(RistrettoElements::map_on(backend, uniform))));
    one(&name("decode"), count, || assert!(black_box(decode()), "these are encodings of elements"));
    one(&name("one scalar"), count, || drop(black_box(elements.multiply(&scalars[0]))));
    one(&name("one short scalar"), count, || drop(black_box(elements.multiply_short(weights[0]))));
    one(&name("fixed base"), count, || drop(black_box(table.multiply(&scalars))));
    one(&name("weighted sum"), count, || _ = black_box(elements.vartime_double_weighted_sum(&weights)));
    one(&name("sum"), count, || _ = black_box(elements.double_sum()));
    let mut out = encoded.clone();
    one(&name("encode doubles"), count, || elements.encode_doubles(&mut out));
    one(&name("table of a fixed base"), 1, || _ = black_box(RistrettoBase::new_on(backend, &base)));
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
