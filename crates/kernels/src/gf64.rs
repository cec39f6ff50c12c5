//! Multiplication in GF(2^64) modulo x^64 + x^4 + x^3 + x + 1, of pairs by single elements.
//!
//! With ρ = x^4 + x^3 + x + 1 a product lo + hi·x^64 is lo + hi·ρ, of which the upper four bits fall on x^64
//! again.

#[cfg(target_arch = "aarch64")]
mod arm;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
use super::Level;
use super::{Backend, Kernels};
use crate::block::Block;

/// ρ.
pub const REDUCTION: u64 = 0x1b;

/// Adds to each sum the product of a value with both halves of `pair`.
pub fn multiply_add(backend: Backend, sums: &mut [Block], pair: Block, values: &[u64]) {
    assert_eq!(sums.len(), values.len(), "one summand for each element");
    match backend.level_for(Kernels::Gf64) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of this level exists only where its instructions do.
        Level::Avx512Vaes => unsafe { x86::wide(sums, pair, values) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2Vaes => unsafe { x86::middle(sums, pair, values) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 => unsafe { x86::narrow(sums, pair, values) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        Level::Neon => unsafe { arm::multiply_add(sums, pair, values) },
        _ => {
            let (low, high) = pair.to_halves();
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum ^= Block::from_halves(product(*value, low), product(*value, high));
            }
        }
    }
}

/// Shift and add, under masks.
pub const fn product(a: u64, b: u64) -> u64 {
    let (mut sum, mut bit) = (0u64, 64);
    while bit > 0 {
        bit -= 1;
        sum = (sum << 1) ^ ((sum >> 63) * REDUCTION) ^ (a & 0u64.wrapping_sub(b >> bit & 1));
    }
    sum
}
