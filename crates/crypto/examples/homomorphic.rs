//! Times ElGamal with encrypted polynomials, and Paillier, beside the exponentiations that they consist of.
//!
//! `cargo run --release -p vesica-crypto --example homomorphic`. Microseconds, the minimum of some samples on one
//! thread. A last column compares with the count of exponentiations at the rates of the blocks alone.

use std::hint::black_box;
use std::time::Instant;

use vesica_crypto::bigint::{BoxedUint, Exponent};
use vesica_crypto::elgamal::{PublicKey, Query, SecretKey, monic};
use vesica_crypto::group::{Elements, FixedBase, Group, Ristretto255, RistrettoBase, RistrettoElements};
use vesica_crypto::paillier;
use vesica_crypto::prg::Prg;

const SAMPLES: usize = 15;
/// Elements or ciphertexts in a batch.
const BATCH: usize = 192;
/// Roots of a polynomial, and bits of a point, of `ope` on two sets of 2^20.
const ROOTS: usize = 3;
const BITS: u32 = 63;

fn main() {
    let rng = &mut Prg::from_seed([1; 16]);
    println!("{:<52} {:>9} {:>9} {:>6}", "microseconds", "each", "count", "ratio");
    elgamal(rng);
    paillier_of(3072, rng);
}

fn elgamal(rng: &mut Prg) {
    let scalars: Vec<_> = (0..BATCH).map(|_| Ristretto255::random_scalar(rng)).collect();
    let base = RistrettoBase::new(&Ristretto255::generator());
    let elements = base.multiply(&scalars);
    let mut encoded = vec![[0; 32]; BATCH];
    elements.encode_doubles(&mut encoded);
    let fixed =
        show("ristretto255: multiple of a fixed base", 0.0, BATCH, || _ = black_box(base.multiply(&scalars)));
    let full = show("ristretto255: elements times one scalar", 0.0, BATCH, || {
        _ = black_box(elements.multiply(&scalars[0]));
    });
    let decode = show("ristretto255: decode", 0.0, BATCH, || {
        assert!(RistrettoElements::decode(&encoded).is_ok(), "these are encodings");
    });
    let encode = show("ristretto255: encode doubles", 0.0, BATCH, || elements.encode_doubles(&mut encoded));

    let secret = SecretKey::generate(rng);
    let Ok(public) = PublicKey::decode(&secret.public()) else { return };
    let messages: Vec<_> =
        (0..BATCH / ROOTS).flat_map(|bin| monic((0..3).map(|i| (3 * bin + i) as u128))).collect();
    let mut ciphertexts = vec![[0; 64]; BATCH];
    show("elgamal: encrypt", 2.0 * fixed, BATCH, || secret.encrypt(&messages, rng, &mut ciphertexts));
    show("elgamal: decode coefficients", 2.0 * decode, BATCH, || {
        assert!(public.decode_coefficients(&ciphertexts).is_ok(), "these are ciphertexts");
    });
    let Ok(coefficients) = public.decode_coefficients(&ciphertexts) else { return };
    let queries: Vec<Query> = (0..BATCH)
        .map(|i| Query { first: i / ROOTS * ROOTS, point: (1 << BITS) - 1 - i as u128, payload: i as u128 })
        .collect();
    let mut answers = ciphertexts.clone();
    let short = f64::from(BITS) / 253.0;
    let count = (2.0 + 2.0 * (ROOTS - 1) as f64 * short) * full + 3.0 * fixed;
    show("elgamal: evaluate, degree 3 and 63 bits", count, BATCH, || {
        public.evaluate(&coefficients, (ROOTS, BITS), &queries, rng, &mut answers);
    });
    println!("{:<52} {:>9.3}", "  (and two encodings)", 2.0 * encode);
    show("elgamal: open", full, BATCH, || {
        assert!(secret.open(&answers, &mut encoded).is_ok(), "these are ciphertexts");
    });
}

fn paillier_of(bits: u32, rng: &mut Prg) {
    const BATCH: usize = 72;
    let start = Instant::now();
    let secret = paillier::SecretKey::generate(bits, rng);
    println!(
        "{:<52} {:>9.0}",
        format!("paillier: a key of {bits} bits"),
        start.elapsed().as_secs_f64() * 1e6
    );
    let public = secret.public();
    let messages = public.messages().random_unit(BATCH, rng);
    let ciphertexts = public.encrypt(&messages, secret.randomisers(BATCH, rng));
    let short = Exponent::new(&BoxedUint::from(u64::MAX >> 1), BITS);
    let short = vec![short; BATCH];
    let long: Vec<_> = (0..BATCH).map(|_| Exponent::random(bits, rng)).collect();
    show("paillier: randomiser", 0.0, BATCH, || _ = black_box(public.randomisers(BATCH, rng)));
    show("paillier: randomiser, with the key", 0.0, BATCH, || _ = black_box(secret.randomisers(BATCH, rng)));
    show("paillier: factor of 63 bits", 0.0, BATCH, || _ = black_box(public.multiply(&ciphertexts, &short)));
    show("paillier: factor of full length", 0.0, BATCH, || {
        _ = black_box(public.multiply(&ciphertexts, &long))
    });
    show("paillier: sum", 0.0, BATCH, || _ = black_box(public.add(&ciphertexts, &ciphertexts)));
    show("paillier: decrypt", 0.0, BATCH, || _ = black_box(secret.decrypt(&ciphertexts).is_ok()));
}

/// Prints the minimum for one of `count` things, beside what was counted for one. Returns the first.
fn show(name: &str, counted: f64, count: usize, mut work: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e6 / count as f64
    };
    let best = (0..SAMPLES).map(time).fold(f64::INFINITY, f64::min);
    if counted > 0.0 {
        println!("{name:<52} {best:>9.3} {counted:>9.3} {:>6.2}", best / counted);
    } else {
        println!("{name:<52} {best:>9.3}");
    }
    best
}
