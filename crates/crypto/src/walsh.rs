//! Convolutions over bit strings modulo 2^32 - 1, by the Walsh–Hadamard transform.
//!
//! Numbers are exponents: 2^32 - 1 is the order of the multiplicative group of GF(2^32). They are residues
//! below 2^32, so that zero has the two forms 0 and 2^32 - 1. Nothing branches on them.
//!
//! The transform is T(a)\[i\] = Σ_j (-1)^⟨i,j⟩·a\[j\], and T(a∗b) = T(a)·T(b), T(T(a)) = 2^d·a. Its lowest
//! eight steps are done a tile at a time and leave the indices in another order. Both factors are in that
//! order when they are multiplied, and the last transform undoes it: an exchange of index bits commutes with
//! T.

use crate::backend::{Backend, walsh as kernels};
use crate::par;

/// Numbers that one thread transforms without more levels of recursion.
const LEAF: usize = 1 << 13;

/// a + b modulo 2^32 - 1.
#[must_use]
pub fn add(a: u32, b: u32) -> u32 {
    kernels::add(a, b)
}

/// a·b modulo 2^32 - 1.
#[must_use]
pub fn multiply(a: u32, b: u32) -> u32 {
    kernels::multiply(a, b)
}

/// Replaces `a[i]` by Σ_j `a[j]`·`b[i ⊕ j]` modulo 2^32 - 1, on at most `threads` threads. `b` is left as
/// scratch.
///
/// # Panics
/// If the lengths are not the same power of two.
pub fn convolve(threads: usize, a: &mut [u32], b: &mut [u32]) {
    convolve_on(Backend::detect(), threads, a, b);
}

/// [`convolve`] computed by `backend`.
///
/// # Panics
/// As [`convolve`].
pub fn convolve_on(backend: Backend, threads: usize, a: &mut [u32], b: &mut [u32]) {
    assert!(a.len() == b.len() && a.len().is_power_of_two(), "two factors of 2^d numbers");
    par::both(threads, || transform(backend, threads / 2, b), || transform(backend, threads.div_ceil(2), a));
    // 2^-d = 2^(32-d): a turn to the left.
    let turn = (u32::BITS - a.len().trailing_zeros() % u32::BITS) % u32::BITS;
    kernels::multiply_slices(backend, a, b, turn);
    transform(backend, threads, a);
}

/// T, in the order of the tiles.
fn transform(backend: Backend, threads: usize, values: &mut [u32]) {
    if values.len() <= LEAF {
        return transform_leaf(backend, values);
    }
    let (low, high) = values.split_at_mut(values.len() / 2);
    let pairs = low.chunks_mut(LEAF).zip(high.chunks_mut(LEAF));
    let Ok(()) = par::for_each(threads, pairs, |_, (low, high)| {
        kernels::butterflies(backend, low, high);
        Ok::<_, core::convert::Infallible>(())
    });
    let first = || transform(backend, threads / 2, low);
    par::both(threads, first, || transform(backend, threads.div_ceil(2), high));
}

fn transform_leaf(backend: Backend, values: &mut [u32]) {
    let tiled = values.len() >= kernels::TILE;
    let mut apart = values.len() / 2;
    while apart >= if tiled { kernels::TILE } else { 1 } {
        for pair in values.chunks_exact_mut(2 * apart) {
            let (low, high) = pair.split_at_mut(apart);
            kernels::butterflies(backend, low, high);
        }
        apart /= 2;
    }
    if tiled {
        kernels::tiles(backend, values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prg::Prg;

    const MODULUS: u64 = u32::MAX as u64;

    fn numbers(seed: u8, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * count];
        Prg::from_seed([seed; 16]).fill(&mut bytes);
        bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
    }

    #[test]
    fn both_zeros_and_all_carries_are_right() {
        for a in [0, 1, 2, 1 << 31, u32::MAX - 1, u32::MAX] {
            for b in [0, 1, 3, 1 << 31, u32::MAX - 1, u32::MAX] {
                let (sum, product) = (u64::from(a) + u64::from(b), u64::from(a) * u64::from(b));
                assert_eq!(u64::from(add(a, b)) % MODULUS, sum % MODULUS);
                assert_eq!(
                    u64::from(add(a, !b)) % MODULUS,
                    (u64::from(a) + MODULUS - u64::from(b)) % MODULUS
                );
                assert_eq!(u64::from(multiply(a, b)) % MODULUS, product % MODULUS);
            }
        }
    }

    #[test]
    fn a_convolution_is_the_sum_of_its_definition() {
        for backend in Backend::available() {
            for log_size in [0, 1, 3, 7, 8, 9, 10] {
                let size = 1 << log_size;
                let (a, b) = (numbers(1, size), numbers(2, size));
                let (mut product, mut scratch) = (a.clone(), b.clone());
                convolve_on(backend, 1, &mut product, &mut scratch);
                for (i, product) in product.into_iter().enumerate() {
                    let terms = (0..size).map(|j| u64::from(a[j]) * u64::from(b[i ^ j]) % MODULUS);
                    let expected = terms.fold(0, |sum, term| (sum + term) % MODULUS);
                    assert_eq!(u64::from(product) % MODULUS, expected, "{backend:?} 2^{log_size}, {i}");
                }
            }
        }
    }

    /// A convolution with a single one moves the indices; no reference of quadratic time is needed.
    #[test]
    fn large_ones_are_right_on_any_number_of_threads() {
        let (size, shift) = (1 << 16, 0xbeef);
        let a = numbers(3, size);
        for (backend, threads) in Backend::available().flat_map(|backend| [(backend, 1), (backend, 3)]) {
            let (mut product, mut one) = (a.clone(), vec![0; size]);
            one[shift] = 1;
            convolve_on(backend, threads, &mut product, &mut one);
            let moved = |i: usize| u64::from(a[i ^ shift]) % MODULUS;
            assert!((0..size).all(|i| u64::from(product[i]) % MODULUS == moved(i)), "{backend:?} {threads}");
        }
    }
}
