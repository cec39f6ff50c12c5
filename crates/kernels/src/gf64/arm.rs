//! Multiplication in GF(2^64) for ARM with PMULL, one pair at a time.

use core::arch::aarch64::*;

use super::REDUCTION;
use crate::block::Block;

#[target_feature(enable = "neon,aes")]
pub(super) fn multiply_add(sums: &mut [Block], pair: Block, values: &[u64]) {
    let (low, high) = pair.to_halves();
    for (sum, value) in sums.iter_mut().zip(values) {
        let (lower, upper) = both_products([*value, *value], [low, high]);
        let (reduced, again) =
            both_products([vgetq_lane_u64::<0>(upper), vgetq_lane_u64::<1>(upper)], [REDUCTION; 2]);
        // Of the upper parts only four bits are left, so that nothing is shifted out.
        let again = veorq_u64(
            veorq_u64(again, vshlq_n_u64::<1>(again)),
            veorq_u64(vshlq_n_u64::<3>(again), vshlq_n_u64::<4>(again)),
        );
        let product = veorq_u64(veorq_u64(lower, reduced), again);
        let bytes = sum.as_mut_bytes();
        // SAFETY: sixteen readable and writable bytes; accesses of bytes have no alignment.
        unsafe {
            let sum = veorq_u8(vld1q_u8(bytes.as_ptr()), vreinterpretq_u8_u64(product));
            vst1q_u8(bytes.as_mut_ptr(), sum);
        }
    }
}

/// x₀·y₀ and x₁·y₁ as polynomials: their lower halves and their upper halves.
#[target_feature(enable = "neon,aes")]
#[inline]
fn both_products(x: [u64; 2], y: [u64; 2]) -> (uint64x2_t, uint64x2_t) {
    let first = vreinterpretq_u64_p128(vmull_p64(x[0], y[0]));
    let second = vreinterpretq_u64_p128(vmull_p64(x[1], y[1]));
    (vzip1q_u64(first, second), vzip2q_u64(first, second))
}
