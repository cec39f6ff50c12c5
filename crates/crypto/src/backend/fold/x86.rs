//! The folding kernels for x86-64.
//!
//! The wide one keeps the streams of four keys, two vectors each, in flight: enough to hide the latency of the
//! instructions, and what is added up first. Its loops count, since iterators are not inlined into functions with target
//! features by every build.

use core::arch::x86_64::*;

use crate::block::Block;
use crate::fold::{BLOCKS, Row};

/// Vectors of a row.
const VECTORS: usize = BLOCKS / 4;

#[target_feature(enable = "vaes,avx512f")]
pub(super) fn wide(rounds: &[[Block; 11]], first: u64, sum: &mut Row, weighted: &mut [Row]) {
    match weighted.len() {
        2 => wide_of::<2>(rounds, first, sum, weighted),
        4 => wide_of::<4>(rounds, first, sum, weighted),
        8 => wide_of::<8>(rounds, first, sum, weighted),
        _ => narrow(rounds, first, sum, weighted),
    }
}

/// Sixteen keys at a time, in fours: their sums for the low bits stay in registers, the sum of all sixteen is added for
/// each higher bit that their number has.
#[target_feature(enable = "vaes,avx512f")]
#[inline]
#[expect(clippy::needless_range_loop, reason = "iterators are not inlined here by every build")]
fn wide_of<const K: usize>(rounds: &[[Block; 11]], first: u64, sum: &mut Row, weighted: &mut [Row]) {
    let zero = _mm512_setzero_si512();
    let first = _mm512_set_epi64(0, first as i64, 0, first as i64, 0, first as i64, 0, first as i64);
    let numbers = _mm512_add_epi64(first, _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0));
    let counters = [numbers, _mm512_add_epi64(numbers, _mm512_set_epi64(0, 4, 0, 4, 0, 4, 0, 4))];
    let mut total = [zero; VECTORS];
    let mut low = [[zero; VECTORS]; 4];
    let mut high = [[zero; VECTORS]; 4];
    for (sixteen, keys) in rounds.chunks(16).enumerate() {
        let mut all = [zero; VECTORS];
        for (quad, keys) in keys.as_chunks::<4>().0.iter().enumerate() {
            let mut x = [counters; 4];
            for k in 0..4 {
                let key = splat(&keys[k][0]);
                x[k] = [_mm512_xor_si512(x[k][0], key), _mm512_xor_si512(x[k][1], key)];
            }
            for round in 1..10 {
                for k in 0..4 {
                    let key = splat(&keys[k][round]);
                    x[k] = [_mm512_aesenc_epi128(x[k][0], key), _mm512_aesenc_epi128(x[k][1], key)];
                }
            }
            for k in 0..4 {
                let key = splat(&keys[k][10]);
                x[k] = [_mm512_aesenclast_epi128(x[k][0], key), _mm512_aesenclast_epi128(x[k][1], key)];
            }
            for i in 0..VECTORS {
                let upper = _mm512_xor_si512(x[2][i], x[3][i]);
                let four = _mm512_xor_si512(_mm512_xor_si512(x[0][i], x[1][i]), upper);
                low[0][i] = _mm512_xor_si512(low[0][i], _mm512_xor_si512(x[1][i], x[3][i]));
                low[1][i] = _mm512_xor_si512(low[1][i], upper);
                if quad & 1 == 1 {
                    low[2][i] = _mm512_xor_si512(low[2][i], four);
                }
                if quad & 2 == 2 {
                    low[3][i] = _mm512_xor_si512(low[3][i], four);
                }
                all[i] = _mm512_xor_si512(all[i], four);
            }
        }
        for i in 0..VECTORS {
            for (bit, sum) in high.iter_mut().enumerate() {
                if sixteen >> bit & 1 == 1 {
                    sum[i] = _mm512_xor_si512(sum[i], all[i]);
                }
            }
            total[i] = _mm512_xor_si512(total[i], all[i]);
        }
    }
    store_wide(sum, total);
    for (weighted, sums) in weighted.iter_mut().zip(low.into_iter().chain(high)).take(K) {
        store_wide(weighted, sums);
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn splat(key: &Block) -> __m512i {
    // SAFETY: sixteen readable bytes; the load has no alignment.
    _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(key.as_bytes().as_ptr().cast()) })
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store_wide(row: &mut Row, vectors: [__m512i; VECTORS]) {
    for (bytes, vector) in Block::slice_as_mut_bytes(row).as_chunks_mut::<64>().0.iter_mut().zip(vectors) {
        // SAFETY: 64 writable bytes; the store has no alignment.
        unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), vector) }
    }
}

#[target_feature(enable = "aes,avx2")]
pub(super) fn narrow(rounds: &[[Block; 11]], first: u64, sum: &mut Row, weighted: &mut [Row]) {
    for (x, rounds) in rounds.iter().enumerate() {
        let mut stream = [_mm_setzero_si128(); BLOCKS];
        for (number, stream) in (first..).zip(&mut stream) {
            *stream = _mm_xor_si128(_mm_set_epi64x(0, number as i64), load(&rounds[0]));
        }
        for round in &rounds[1..10] {
            let round = load(round);
            for stream in &mut stream {
                *stream = _mm_aesenc_si128(*stream, round);
            }
        }
        let last = load(&rounds[10]);
        for stream in &mut stream {
            *stream = _mm_aesenclast_si128(*stream, last);
        }
        add(sum, &stream);
        for (bit, weighted) in weighted.iter_mut().enumerate() {
            if x >> bit & 1 == 1 {
                add(weighted, &stream);
            }
        }
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(block: &Block) -> __m128i {
    // SAFETY: sixteen readable bytes; the load has no alignment.
    unsafe { _mm_loadu_si128(block.as_bytes().as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn add(row: &mut Row, stream: &[__m128i; BLOCKS]) {
    for (block, stream) in row.iter_mut().zip(stream) {
        let sum = _mm_xor_si128(load(block), *stream);
        // SAFETY: sixteen writable bytes; the store has no alignment.
        unsafe { _mm_storeu_si128(block.as_mut_bytes().as_mut_ptr().cast(), sum) }
    }
}
