//! Runs the public-key protocols and compares each party's CPU time with its count of exponentiations.
//!
//! ```text
//! cargo run --release -p vesica-bench --example exponentiations -- target/release/vesica [PROTOCOL…]
//! ```
//!
//! Two processes run a protocol, as in every benchmark; the program of the first argument plays them. In the same minute
//! each kind of exponentiation is timed alone on one thread. The counts are those of the protocol's source. All times are
//! CPU times, so a machine that does something else as well gives the same ratios, if it does so all the time.
//!
//! What is not counted: hashes to the group, encodings and their checks, products of two elements, masks, sorting, and
//! what the channel takes.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for the screen that stops where it must"
)]

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Duration;

use vesica::encode::hashing::parameters::blocked;
use vesica::protocols::{STATISTICAL_SECURITY, Security};
use vesica::resources::cpu_seconds;
use vesica_bench::cell::{Cell, Networks};
use vesica_bench::harness::Harness;
use vesica_crypto::bigint::{BoxedUint, Exponent, FixedBase as Powers, RsaKey, modp};
use vesica_crypto::group::{Elements, FixedBase, Group, Ristretto255, RistrettoBase, RistrettoElements};
use vesica_crypto::paillier;
use vesica_crypto::prg::Prg;

/// Elements of a batch, as many as the protocols give the kernels.
const ELEMENTS: usize = 512;
const RESIDUES: usize = 64;
const CIPHERTEXTS: usize = 72;

/// CPU time that a rate is measured for.
const ENOUGH_S: f64 = 0.4;

/// A kind of exponentiation: its name, its seconds, and how many the receiver and the sender make.
struct Kind {
    name: &'static str,
    seconds: f64,
    counts: [f64; 2],
}

/// A protocol to run, and the kinds of exponentiations that it makes.
struct Case {
    cell: Cell,
    kinds: fn(&Cell) -> Vec<Kind>,
}

fn main() {
    let mut args = std::env::args().skip(1);
    let program = PathBuf::from(args.next().unwrap_or_else(|| "target/release/vesica".to_owned()));
    let wanted: Vec<String> = args.collect();
    let harness = Harness { program, networks: Networks::default() };
    for Case { cell, kinds } in cases() {
        if !wanted.is_empty() && !wanted.contains(&cell.protocol) {
            continue;
        }
        let kinds = kinds(&cell);
        let pair = harness.run(&cell, Duration::from_secs(600)).unwrap();
        let variant = cell.variant.as_deref().map_or(String::new(), |variant| format!(", {variant}"));
        println!("{}{variant}, {} × {}, level {}", cell.protocol, cell.receiver, cell.sender, cell.level);
        for Kind { name, seconds, counts: [receiver, sender] } in &kinds {
            println!(
                "  {name:<44} {:>10.2} µs  receiver {receiver:>8.0}  sender {sender:>8.0}",
                seconds * 1e6
            );
        }
        let counted =
            [0, 1].map(|role| kinds.iter().map(|kind| kind.seconds * kind.counts[role]).sum::<f64>());
        let cpu = [pair.receiver.cpu_s, pair.sender.cpu_s];
        for (who, cpu_s, counted_s) in [
            ("receiver", cpu[0], counted[0]),
            ("sender", cpu[1], counted[1]),
            ("both", cpu[0] + cpu[1], counted[0] + counted[1]),
        ] {
            println!(
                "  {who:<9} CPU {cpu_s:>8.3} s  counted {counted_s:>8.3} s  ratio {:.2}",
                cpu_s / counted_s
            );
        }
    }
}

fn cases() -> Vec<Case> {
    let case = |protocol: &str, items: usize, kinds| Case { cell: Cell::new(protocol, items, items), kinds };
    let in_form = |mut case: Case, variant: &str| {
        case.cell.variant = Some(variant.to_owned());
        case
    };
    let mut dkt = case("dkt", 1 << 14, dkt);
    dkt.cell.security = Security::Malicious;
    vec![
        dkt,
        case("dh", 1 << 14, dh),
        case("dh-ffc", 1 << 9, dh_ffc),
        case("blind-rsa", 1 << 10, blind_rsa),
        case("dt-rsa", 1 << 10, dt_rsa),
        case("dt-dl", 1 << 9, dt_dl),
        case("ope", 1 << 12, ope),
        in_form(case("ope", 1 << 6, ope_paillier), "paillier"),
    ]
}

/// CPU seconds of one of the `count` things that `work` does.
fn price(count: usize, mut work: impl FnMut()) -> f64 {
    work();
    let (start, mut calls) = (cpu_seconds(), 0);
    while cpu_seconds() - start < ENOUGH_S {
        work();
        calls += 1;
    }
    (cpu_seconds() - start) / (calls * count) as f64
}

fn kind(name: &'static str, seconds: f64, receiver: usize, sender: usize) -> Kind {
    Kind { name, seconds, counts: [receiver as f64, sender as f64] }
}

/// Elements of ristretto255 in lanes, and as many scalars.
struct Curve {
    elements: RistrettoElements,
    scalars: Vec<<Ristretto255 as Group>::Scalar>,
    weights: Vec<u128>,
    base: RistrettoBase,
}

impl Curve {
    fn new() -> Self {
        let rng = &mut Prg::from_seed([7; 16]);
        let mut uniform = vec![[0; 64]; ELEMENTS];
        rng.fill(uniform.as_flattened_mut());
        Curve {
            elements: RistrettoElements::map(&uniform),
            scalars: (0..ELEMENTS).map(|_| Ristretto255::random_scalar(rng)).collect(),
            weights: (0..ELEMENTS).map(|_| rng.block().to_u128()).collect(),
            base: RistrettoBase::new(&Ristretto255::generator()),
        }
    }

    fn product(&self) -> f64 {
        price(ELEMENTS, || _ = black_box(self.elements.multiply(&self.scalars[0])))
    }

    /// By a scalar of so many bits at most 128.
    fn short_product(&self, bits: u32) -> f64 {
        let short = self.weights[0] >> (u128::BITS - bits);
        price(ELEMENTS, || _ = black_box(self.elements.multiply_short(short)))
    }

    fn fixed(&self) -> f64 {
        price(ELEMENTS, || _ = black_box(self.base.multiply(&self.scalars)))
    }

    fn term(&self) -> f64 {
        price(ELEMENTS, || _ = black_box(self.elements.vartime_double_weighted_sum(&self.weights)))
    }
}

fn dkt(cell: &Cell) -> Vec<Kind> {
    let (curve, n) = (Curve::new(), cell.receiver);
    vec![
        kind("product with a scalar", curve.product(), 0, n + cell.sender),
        kind("product with a challenge of 128 bits", curve.short_product(128), 0, n),
        kind("multiple of a fixed base", curve.fixed(), 4 * n, n),
        kind("term of a sum with weights of 128 bits", curve.term(), 2 * n, n),
    ]
}

fn dh(cell: &Cell) -> Vec<Kind> {
    let n = cell.receiver;
    vec![kind("product with a scalar", Curve::new().product(), 2 * n, n + cell.sender)]
}

fn dh_ffc(cell: &Cell) -> Vec<Kind> {
    let (rng, modulus) = (&mut Prg::from_seed([5; 16]), modp::modulus(3072).unwrap());
    let (bases, exponent) = (modulus.random_unit(RESIDUES, rng), Exponent::random(3071, rng));
    let power = price(RESIDUES, || _ = black_box(modulus.pow(&bases, &exponent)));
    vec![kind("power of 3071 bits modulo 3072 bits", power, 2 * cell.receiver, cell.receiver + cell.sender)]
}

fn dt_dl(cell: &Cell) -> Vec<Kind> {
    let (rng, modulus) = (&mut Prg::from_seed([5; 16]), modp::modulus(3072).unwrap());
    let (bases, exponent) = (modulus.random_unit(RESIDUES, rng), Exponent::random(3071, rng));
    let power = price(RESIDUES, || _ = black_box(modulus.pow(&bases, &exponent)));
    let each: Vec<Exponent> = (0..RESIDUES).map(|_| Exponent::random(3071, rng)).collect();
    let table = price(1, || _ = black_box(Powers::new(&modulus, &bases.get(0), 3071)));
    let fixed = Powers::new(&modulus, &bases.get(0), 3071);
    let fixed = price(RESIDUES, || _ = black_box(fixed.pow_each(&each)));
    let n = cell.receiver;
    vec![
        kind("power of 3071 bits modulo 3072 bits", power, 0, n + cell.sender + 1),
        kind("power of a fixed base", fixed, 2 * n + 1, 0),
        kind("table of a fixed base", table, 2, 0),
    ]
}

/// t roots prove the exponent sound.
fn rsa(cell: &Cell, exponent: u32, roots: usize) -> Vec<Kind> {
    let rng = &mut Prg::from_seed([6; 16]);
    let make = || RsaKey::generate(3072, exponent, rng);
    let (mut made, mut make) = (Vec::new(), make);
    // A key takes as long as its primes are far: the mean of some.
    let start = cpu_seconds();
    made.extend((0..8).map(|_| make()));
    let key_s = (cpu_seconds() - start) / made.len() as f64;
    let key = &made[0];
    let residues = key.public().modulus().random_unit(RESIDUES, &mut Prg::from_seed([8; 16]));
    let signed = price(RESIDUES, || assert!(black_box(key.sign(&residues)).is_ok()));
    let raised = price(RESIDUES, || _ = black_box(key.public().raise(&residues)));
    let n = cell.receiver;
    vec![
        kind("key (it differs from run to run)", key_s, 0, 1),
        kind("private operation, checked", signed, 0, n + cell.sender + roots),
        kind("power to the public exponent", raised, 2 * n + roots, 0),
    ]
}

fn blind_rsa(cell: &Cell) -> Vec<Kind> {
    rsa(cell, 65_537, 8)
}

fn dt_rsa(cell: &Cell) -> Vec<Kind> {
    rsa(cell, 3, 81)
}

/// M·β roots, answers, and bits of a point.
fn plan(cell: &Cell) -> (usize, usize, usize, u32) {
    let (layout, roots) = blocked(cell.receiver, STATISTICAL_SECURITY);
    let bits = 40 + cell.receiver.ilog2() + cell.sender.ilog2() - layout.segment().ilog2();
    (roots, roots * layout.bins(), layout.functions() * cell.sender, bits)
}

fn ope(cell: &Cell) -> Vec<Kind> {
    let (curve, (roots, coefficients, answers, bits)) = (Curve::new(), plan(cell));
    vec![
        kind("product with a scalar", curve.product(), answers, 2 * answers),
        kind("product with a point", curve.short_product(bits), 0, 2 * (roots - 1) * answers),
        kind("multiple of a fixed base", curve.fixed(), 2 * coefficients + cell.receiver, 3 * answers),
    ]
}

fn ope_paillier(cell: &Cell) -> Vec<Kind> {
    const BITS: u32 = 3072;
    let rng = &mut Prg::from_seed([9; 16]);
    let secret = paillier::SecretKey::generate(BITS, rng);
    let public = secret.public();
    let messages = public.messages().random_unit(CIPHERTEXTS, rng);
    let ciphertexts = public.encrypt(&messages, secret.randomisers(CIPHERTEXTS, rng));
    let (roots, coefficients, answers, bits) = plan(cell);
    let short = vec![Exponent::new(&BoxedUint::from(u64::MAX >> (64 - bits)), bits); CIPHERTEXTS];
    let long: Vec<_> = (0..CIPHERTEXTS).map(|_| Exponent::random(BITS, rng)).collect();
    let with_key = price(CIPHERTEXTS, || _ = black_box(secret.randomisers(CIPHERTEXTS, rng)));
    let without = price(CIPHERTEXTS, || _ = black_box(public.randomisers(CIPHERTEXTS, rng)));
    let decrypted = price(CIPHERTEXTS, || _ = black_box(secret.decrypt(&ciphertexts).is_ok()));
    let by_long = price(CIPHERTEXTS, || _ = black_box(public.multiply(&ciphertexts, &long)));
    let by_short = price(CIPHERTEXTS, || _ = black_box(public.multiply(&ciphertexts, &short)));
    vec![
        kind("N-th power, with the key", with_key, coefficients, 0),
        kind("decryption", decrypted, answers, 0),
        kind("N-th power", without, 0, answers),
        kind("power of full length modulo N²", by_long, 0, answers),
        kind("power of a point's length modulo N²", by_short, 0, (roots - 1) * answers),
    ]
}
