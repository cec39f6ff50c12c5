//! Steps of a Feistel network, sixteen at a time.

use super::*;

/// Numbers of a vector.
const NUMBERS: usize = BYTES / size_of::<u64>();

/// What all steps of a call share.
struct Step {
    rounds: [V; 11],
    mask: V,
    range: V,
    /// The bits of a hash that are added, where these are not a fraction of the range.
    bits: Option<V>,
}

/// See [`Key::step`](crate::aes::Key::step).
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512ifma")]
pub(in super::super::super) fn step(
    rounds: &[Block; 11],
    mask: &Block,
    range: u64,
    bits: Option<u64>,
    from: &[u64],
    to: &mut [u64],
) {
    let step = Step {
        rounds: broadcast(rounds),
        mask: load_splat(mask),
        range: _mm512_set1_epi64(range as i64),
        bits: bits.map(|bits| _mm512_set1_epi64(bits as i64)),
    };
    let (from, from_rest) = from.as_chunks::<{ 2 * NUMBERS }>();
    let (to, to_rest) = to.as_chunks_mut::<{ 2 * NUMBERS }>();
    let mut i = 0;
    while i < from.len() && i < to.len() {
        sixteen(&step, &from[i], &mut to[i]);
        i += 1;
    }
    if !from_rest.is_empty() && from_rest.len() == to_rest.len() {
        let (mut from, mut to) = ([0; 2 * NUMBERS], [0; 2 * NUMBERS]);
        from[..from_rest.len()].copy_from_slice(from_rest);
        to[..to_rest.len()].copy_from_slice(to_rest);
        sixteen(&step, &from, &mut to);
        to_rest.copy_from_slice(&to[..to_rest.len()]);
    }
}

#[target_feature(enable = "vaes,avx512f,avx512bw,avx512ifma")]
#[inline]
fn sixteen(step: &Step, from: &[u64; 2 * NUMBERS], to: &mut [u64; 2 * NUMBERS]) {
    let zero = splat(0);
    let mut x = [step.mask; FLIGHT];
    for half in 0..2 {
        let from = load_numbers(from, half);
        // Those at even indices, and those at odd ones, as blocks.
        x[2 * half] = xor(step.mask, _mm512_unpacklo_epi64(from, zero));
        x[2 * half + 1] = xor(step.mask, _mm512_unpackhi_epi64(from, zero));
    }
    let x = sigma_all(x);
    let hashes = xor_all(encrypt_vectors(&step.rounds, x), x);
    for half in 0..2 {
        // The lower halves of the hashes, in order again.
        let hashes = _mm512_unpacklo_epi64(hashes[2 * half], hashes[2 * half + 1]);
        let shift = match step.bits {
            Some(bits) => and(hashes, bits),
            None => _mm512_madd52hi_epu64(zero, hashes, step.range),
        };
        let sum = add64(load_numbers(to, half), shift);
        // Below the range the difference is less than zero, and as a number without a sign the larger one.
        let sum = _mm512_min_epu64(sum, _mm512_sub_epi64(sum, step.range));
        store_numbers(to, half, sum);
    }
}

#[target_feature(enable = "vaes,avx512f,avx512bw,avx512ifma")]
#[inline]
fn load_numbers(numbers: &[u64; 2 * NUMBERS], half: usize) -> V {
    let numbers: &[[u64; NUMBERS]] = numbers.as_chunks().0;
    // SAFETY: eight readable numbers; the load has no alignment.
    unsafe { _mm512_loadu_si512(numbers[half].as_ptr().cast()) }
}

#[target_feature(enable = "vaes,avx512f,avx512bw,avx512ifma")]
#[inline]
fn store_numbers(numbers: &mut [u64; 2 * NUMBERS], half: usize, x: V) {
    let numbers: &mut [[u64; NUMBERS]] = numbers.as_chunks_mut().0;
    // SAFETY: eight writable numbers; the store has no alignment.
    unsafe { _mm512_storeu_si512(numbers[half].as_mut_ptr().cast(), x) }
}
