//! ln and exp, computed only by the four operations, which IEEE 754 defines to the last bit.
//!
//! The functions of the standard library come from the system, and their last bits may differ between
//! systems. A number that both parties must compute alike cannot depend on them.

use std::f64::consts::{LN_2, SQRT_2};

/// ln 2 in two parts, the first of so few bits that a product with an exponent is exact.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// Below this, e^x counts as 0, long before the number underflows.
const LEAST: f64 = -700.0;

const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;

/// ln `x`, for x = 0 and for x ≥ 2^-1022.
pub(super) fn ln(x: f64) -> f64 {
    if x == 0.0 || x.is_infinite() {
        return if x == 0.0 { f64::NEG_INFINITY } else { x };
    }
    // x = m·2^e, m from √½ to √2.
    let bits = x.to_bits();
    let mut e = (bits >> MANTISSA_BITS) as i64 - 1023;
    let mut m = f64::from_bits(bits & ((1 << MANTISSA_BITS) - 1) | 1023 << MANTISSA_BITS);
    if m > SQRT_2 {
        (m, e) = (m / 2.0, e + 1);
    }
    let e = e as f64;
    e * LN_2_HIGH + (atanh_twice((m - 1.0) / (m + 1.0)) + e * LN_2_LOW)
}

/// log2 `x`, as [`ln`]; exact for powers of 2.
pub(super) fn log2(x: f64) -> f64 {
    ln(x) / LN_2
}

/// ln(1 + `x`), for x > -1.
pub(super) fn ln_1p(x: f64) -> f64 {
    if x.abs() < 0.25 { atanh_twice(x / (2.0 + x)) } else { ln(1.0 + x) }
}

/// 2·artanh z = ln((1 + z)/(1 - z)), for |z| below 0.18.
fn atanh_twice(z: f64) -> f64 {
    let square = z * z;
    let sum = (0..12).rev().fold(0.0, |sum, i| sum * square + 1.0 / f64::from(2 * i + 1));
    2.0 * z * sum
}

/// e^`x`, for x ≤ 700; 0 below -700.
pub(super) fn exp(x: f64) -> f64 {
    if x < LEAST {
        return 0.0;
    }
    // x = k·ln 2 + r, |r| at most half of ln 2.
    let k = (x / LN_2 + 0.5).floor();
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    let sum = (1..16).rev().fold(1.0, |sum, i| 1.0 + sum * r / f64::from(i));
    sum * f64::from_bits(((k as i64 + 1023) as u64) << MANTISSA_BITS)
}

/// `x` to the power of `n`.
pub(super) fn power(x: f64, n: usize) -> f64 {
    (0..n).fold(1.0, |product, _| product * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(ours: f64, theirs: f64, what: &str) {
        assert!(
            ours == theirs || (ours - theirs).abs() <= 1e-15 * theirs.abs(),
            "{what}: {ours:e}, {theirs:e}"
        );
    }

    #[test]
    fn they_are_those_of_the_system_but_for_the_last_bits() {
        let mut x = 1e-300;
        while x < 1e300 {
            near(ln(x), x.ln(), "ln");
            x *= 1.0173;
        }
        for i in -999..4000 {
            let x = f64::from(i) / 1000.0;
            near(ln_1p(x), x.ln_1p(), "ln_1p");
            let x = f64::from(i) / 5.71;
            let (ours, theirs) = (exp(x), x.exp());
            assert!((ours / theirs - 1.0).abs() < 1e-15 * x.abs().max(1.0), "exp {x}: {ours:e}, {theirs:e}");
        }
        assert_eq!((ln(0.0), ln(1.0), ln_1p(-0.0), exp(0.0)), (f64::NEG_INFINITY, 0.0, 0.0, 1.0));
        assert_eq!((exp(-701.0), exp(f64::NEG_INFINITY), log2(2.0)), (0.0, 0.0, 1.0));
        assert_eq!((power(3.0, 0), power(3.0, 4)), (1.0, 81.0));
    }

    #[test]
    fn every_machine_has_these_bits() {
        let bits = [ln(3.0), ln(1e-9), ln_1p(-1e-7), exp(-27.7)].map(f64::to_bits);
        let known =
            [0x3ff1_93ea_7aad_030b, 0xc034_b927_f32b_ffb8, 0xbe7a_d7f2_b141_4ae9, 0x3d70_6b6b_1f53_b438];
        assert_eq!(bits, known, "{bits:#x?}");
    }
}
