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
use crate::gf128::multiply_bits;

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
                *sum ^= Block::from_halves(portable(*value, low), portable(*value, high));
            }
        }
    }
}

/// By integer multiplications where they are cheaper than [`product`].
fn portable(a: u64, b: u64) -> u64 {
    if cfg!(not(target_pointer_width = "32")) {
        return product(a, b);
    }
    let wide = multiply_bits(a, b);
    let times_rho = |v: u64| v ^ v << 1 ^ v << 3 ^ v << 4;
    let high = (wide >> 64) as u64;
    // The bits that the shifts of `high` push out fall on x^64 again.
    let pushed_out = high >> 63 ^ high >> 61 ^ high >> 60;
    wide as u64 ^ times_rho(high) ^ times_rho(pushed_out)
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
