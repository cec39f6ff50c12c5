//! The field GF(2^64) = GF(2)\[x\] / (x^64 + x^4 + x^3 + x + 1), and pairs of its elements.
//!
//! Bit i of a word is the coefficient of x^i. A [`Block`] is read as a pair: a vector of dimension two, of
//! which a field element multiplies both coordinates. All operations are constant time.

use vesica_kernels::{Backend, gf64 as kernels};

use crate::block::Block;

/// Multiplies by x.
#[inline]
#[must_use]
pub const fn times_x(a: u64) -> u64 {
    (a << 1) ^ ((a >> 63) * kernels::REDUCTION)
}

/// The product of two elements.
#[inline]
#[must_use]
pub const fn product(a: u64, b: u64) -> u64 {
    kernels::product(a, b)
}

/// `sums[i] ← sums[i] + values[i] · pair`, coordinate by coordinate.
///
/// # Panics
/// If the slices differ in length.
#[inline]
pub fn multiply_add(sums: &mut [Block], pair: Block, values: &[u64]) {
    multiply_add_on(Backend::detect(), sums, pair, values);
}

/// [`multiply_add`] computed by `backend`.
///
/// # Panics
/// If the slices differ in length.
#[inline]
pub fn multiply_add_on(backend: Backend, sums: &mut [Block], pair: Block, values: &[u64]) {
    kernels::multiply_add(backend, sums, pair, values);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prg::Prg;
    use rand_core::Rng;

    fn power(mut base: u64, mut exponent: u64) -> u64 {
        let mut power = 1;
        while exponent > 0 {
            if exponent & 1 == 1 {
                power = product(power, base);
            }
            base = product(base, base);
            exponent >>= 1;
        }
        power
    }

    #[test]
    fn is_a_field() {
        // x lies in no proper subfield, and every element tried has an inverse.
        assert_eq!(power(2, u64::MAX), 1);
        for subfield in [u64::from(u32::MAX), 0xffff, 0xff] {
            assert_ne!(power(2, subfield), 1);
        }
        for a in [1, 2, 1 << 63, u64::MAX, 0x0123_4567_89ab_cdef] {
            assert_eq!(product(a, power(a, u64::MAX - 1)), 1);
            assert_eq!(product(a, 3), a ^ times_x(a));
        }
    }

    #[test]
    fn pairs_are_multiplied_by_coordinates() {
        let mut rng = Prg::from_seed([6; 16]);
        for backend in Backend::available() {
            for count in [0, 1, 3, 4, 5, 8, 31] {
                let mut values: Vec<u64> = (0..count).map(|_| rng.next_u64()).collect();
                if count > 3 {
                    values[..4].copy_from_slice(&[0, 1, u64::MAX, 1 << 63]);
                }
                for pair in [rng.block(), Block::ONES, Block::ZERO] {
                    let before: Vec<Block> = (0..count).map(|_| rng.block()).collect();
                    let mut sums = before.clone();
                    multiply_add_on(backend, &mut sums, pair, &values);
                    let (low, high) = pair.to_halves();
                    for i in 0..count {
                        let products = Block::from_halves(product(values[i], low), product(values[i], high));
                        assert!(sums[i] == before[i] ^ products, "{backend:?} {count} {i}");
                    }
                }
            }
        }
    }
}
