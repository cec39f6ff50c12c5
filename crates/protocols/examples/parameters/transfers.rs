//! Base OTs, extensions, and the codes of the batched OPRF.

use vesica_crypto::block::Block;
use vesica_ot::base::{KeyAgreement, cache};
use vesica_ot::nco::Code;
use vesica_ot::softspoken::{Width, collision_bits};
use vesica_ot::vole::Plan;
use vesica_ot::{iknp, kk13, kkrt};
use vesica_protocols::STATISTICAL_SECURITY;

use crate::table::{Section, power};

pub(crate) fn sections() -> Vec<Section> {
    vec![counts(), codewords(), oprf(), checks()]
}

fn counts() -> Section {
    let mut section = Section::new(
        "Base OTs",
        "An extension needs as many base OTs as its secret has bits. Each takes 64 bytes up to level 128 \
         (Masny–Rindal over ristretto255), 32 for a code (Naor–Pinkas over ristretto255), 49 bytes at 192 and 67 at \
         256 (Naor–Pinkas over P-384 and P-521). From ML-KEM-768 (`--base-ots ml-kem`, up to level 128) it takes 2336 \
         bytes and an answer of 2176.",
        &["extension", "base OTs in the code", "derived", "from"],
    );
    let agreement = KeyAgreement::DiffieHellman;
    let vole = Plan::flight1_bytes(agreement) / agreement.bytes(1)[0];
    section.same("SoftSpoken, silent VOLE and OT", vole, 128, "κ bits of Δ");
    for level in iknp::LEVELS {
        let code = iknp::setup_bytes(agreement, level)[0] / cache::bytes(agreement, level, 1)[0];
        let what = format!("IKNP at level {level}");
        section.same(&what, code, u64::from(level), "κ columns: IKNP03, ALSZ13");
    }
    section.same("KK13", kk13::COLUMNS, 256, "length of the code");
    section
}

fn codewords() -> Section {
    let mut section = Section::new(
        "1-out-of-256 OT",
        "KK13 is secure at κ = the least distance of its code, which is counted here over all pairs of \
         codewords (Walsh–Hadamard, length 256).",
        &["parameter", "in the code", "derived", "from"],
    );
    let code = kk13::WalshHadamard::default();
    let words: Vec<u8> = (0..=255).collect();
    let mut rows = vec![[Block::ZERO; 2]; words.len()];
    code.add(&words, &mut rows);
    let distance = |a: &[Block; 2], b: &[Block; 2]| {
        a.iter().zip(b).map(|(a, b)| (*a ^ *b).to_u128().count_ones()).sum::<u32>()
    };
    let least = (0..rows.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    let least = least.map(|(a, b)| distance(&rows[a], &rows[b])).min().unwrap();
    section.same("least distance", least, 128, "κ");
    section
}

fn oprf() -> Section {
    let mut section = Section::new(
        "Columns of the batched OPRF (KKRT16)",
        "Codewords are pseudo-random. A pair that matters differs in fewer than 128 of k positions with \
         probability Σ_{i<128} C(k, i)·2^-k. k is the least multiple of eight, from 400 on, for which that \
         is at most 2^-λ over all of the sender's evaluations, three an item (KKRT16 §4.1).",
        &["evaluations", "k in the code", "k derived", "failure"],
    );
    for log2 in [0, 10, 12, 16, 18, 20, 22, 24, 26, 30] {
        let evaluations = 3u64 << log2;
        let code = kkrt::columns(evaluations, STATISTICAL_SECURITY).unwrap();
        // The code rounds evaluations up to a power of two.
        let pairs = evaluations.next_power_of_two().ilog2();
        let enough = |k: usize| f64::from(pairs) + light(k) <= -f64::from(STATISTICAL_SECURITY);
        let derived = (400..).step_by(8).find(|k| enough(*k)).unwrap();
        let failure = (evaluations as f64).log2() + light(code);
        section.row(
            &[format!("3·2^{log2}"), code.to_string(), derived.to_string(), power(failure)],
            code == derived && failure <= -f64::from(STATISTICAL_SECURITY),
        );
    }
    section
}

/// log2 of Σ_{i<128} C(k, i)·2^-k.
fn light(k: usize) -> f64 {
    let (mut term, mut sum) = (0.5f64.powi(k as i32), 0.0);
    for i in 0..128 {
        sum += term;
        term *= (k - i) as f64 / (i + 1) as f64;
    }
    sum.log2()
}

fn checks() -> Section {
    let mut section = Section::new(
        "Checks of malicious runs",
        "*SoftSpoken:* the check maps two different corrections to one value with probability 2^-128, for \
         each of C(128/k, 2) pairs of groups and each evaluation of the challenge's hash. *The trees of a \
         VOLE:* the check is a sum with 128-bit coefficients that are drawn after the correction words have \
         come. So it errs with probability 2^-128, except for a guess of the noise's positions. Its reply is \
         a hash of 256 bits.",
        &["parameter", "bits in the code", "bits derived", "from"],
    );
    for width in [Width::Two, Width::Four, Width::Eight] {
        let groups = (128 / width.bits()) as f64;
        let derived = (128.0 - (groups * (groups - 1.0) / 2.0).log2()).floor() as u32;
        let what = format!("SoftSpoken, k = {}", width.bits());
        section.same(&what, collision_bits(width), derived, "eprint 2022/192 §4, union over pairs");
    }
    section
}
