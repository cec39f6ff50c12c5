//! The gathering of Golay blocks for x86-64 with AVX-512.

use core::arch::x86_64::*;

use super::{B, LONG, SHORT};
use crate::band::XorValue;

/// Bytes that the processor fetches at once.
const LINE: usize = 64;

/// Compresses blocks in groups of as many as a vector has lanes of K times eight bytes. Returns how many it
/// did.
#[target_feature(enable = "avx512f,avx512bw")]
#[expect(clippy::needless_range_loop, reason = "iterators are not inlined here by every build")]
pub(super) fn wide<V: XorValue, const K: usize>(
    words: &[V],
    positions: &[[u16; LONG]],
    next: &[V],
    out: &mut [[V; SHORT]],
) -> usize {
    assert!(size_of::<V>() == 8 * K && K == V::WORDS, "words of a value");
    let (lanes, count) = (8 / K, positions.len().min(out.len()));
    assert!(
        count == 0 || usize::from(greatest(positions.as_flattened())) < words.len(),
        "positions within the words"
    );
    let (from, ahead): (*const u64, *const u8) = (words.as_ptr().cast(), next.as_ptr().cast());
    let mut done = 0;
    while done + lanes <= count {
        let positions = &positions[done..done + lanes];
        // Each gather prefetches one line. Prefetching all lines at once would delay the current reads.
        let ahead = ahead.wrapping_add(done * size_of::<[V; LONG]>());
        let mut short = [_mm512_setzero_si512(); SHORT];
        for i in 0..SHORT {
            // SAFETY: all positions are within the words.
            short[i] = unsafe { gather::<K>(from, positions, i, ahead) };
        }
        for group in 0..4 {
            let mut sums = [_mm512_setzero_si512(); 8];
            for i in 0..3 {
                // SAFETY: as above.
                sums[1 << i] = unsafe { gather::<K>(from, positions, SHORT + 3 * group + i, ahead) };
            }
            sums[3] = _mm512_xor_si512(sums[1], sums[2]);
            sums[5] = _mm512_xor_si512(sums[1], sums[4]);
            sums[6] = _mm512_xor_si512(sums[2], sums[4]);
            sums[7] = _mm512_xor_si512(sums[3], sums[4]);
            for i in 0..SHORT {
                short[i] = _mm512_xor_si512(short[i], sums[usize::from(B[i] >> (3 * group) & 7)]);
            }
        }
        // SAFETY: `lanes` results lie behind the first; they are plain words.
        unsafe { scatter::<K>(out.as_mut_ptr().add(done).cast(), &short) };
        done += lanes;
    }
    done
}

/// The greatest of the numbers; none: zero.
#[target_feature(enable = "avx512f,avx512bw")]
fn greatest(numbers: &[u16]) -> u16 {
    let (vectors, rest) = numbers.as_chunks::<32>();
    let mut greatest = _mm512_setzero_si512();
    for vector in vectors {
        // SAFETY: 64 readable bytes; the load has no alignment.
        greatest = _mm512_max_epu16(greatest, unsafe { _mm512_loadu_si512(vector.as_ptr().cast()) });
    }
    let mut all = [0u16; 32];
    // SAFETY: 64 writable bytes; the store has no alignment.
    unsafe { _mm512_storeu_si512(all.as_mut_ptr().cast(), greatest) };
    let mut most = 0;
    for number in all.iter().chain(rest) {
        most = most.max(*number);
    }
    most
}

/// Word `index` of each block. Prefetches line `index` behind `ahead`.
///
/// # Safety
/// There is a block for each lane, and its positions lie within the words.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
unsafe fn gather<const K: usize>(
    from: *const u64,
    positions: &[[u16; LONG]],
    index: usize,
    ahead: *const u8,
) -> __m512i {
    // A prefetch of any address changes nothing but the caches.
    _mm_prefetch::<_MM_HINT_T0>(ahead.wrapping_add(LINE * index).cast());
    macro_rules! word {
        ($lane:literal) => {
            from.add(K * usize::from(positions[$lane][index]))
        };
    }
    // SAFETY: the caller's promise.
    unsafe {
        if K == 2 {
            let first = _mm512_castsi128_si512(_mm_loadu_si128(word!(0).cast()));
            let two = _mm512_inserti32x4::<1>(first, _mm_loadu_si128(word!(1).cast()));
            let three = _mm512_inserti32x4::<2>(two, _mm_loadu_si128(word!(2).cast()));
            _mm512_inserti32x4::<3>(three, _mm_loadu_si128(word!(3).cast()))
        } else {
            macro_rules! pair {
                ($low:literal, $high:literal) => {
                    _mm_castpd_si128(_mm_loadh_pd(_mm_load_sd(word!($low).cast()), word!($high).cast()))
                };
            }
            let first = _mm512_castsi128_si512(pair!(0, 1));
            let two = _mm512_inserti32x4::<1>(first, pair!(2, 3));
            let three = _mm512_inserti32x4::<2>(two, pair!(4, 5));
            _mm512_inserti32x4::<3>(three, pair!(6, 7))
        }
    }
}

/// Writes the results of each lane side by side.
///
/// # Safety
/// There is room for the results of all lanes.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
unsafe fn scatter<const K: usize>(to: *mut u64, short: &[__m512i; SHORT]) {
    macro_rules! quarter {
        ($quarter:literal) => {
            for i in 0..SHORT {
                let quarter = _mm512_extracti32x4_epi32::<$quarter>(short[i]);
                // SAFETY: the caller's promise.
                unsafe {
                    if K == 2 {
                        _mm_storeu_si128(to.add(2 * ($quarter * SHORT + i)).cast(), quarter);
                    } else {
                        let pair = _mm_castsi128_pd(quarter);
                        _mm_storel_pd(to.add(2 * $quarter * SHORT + i).cast(), pair);
                        _mm_storeh_pd(to.add((2 * $quarter + 1) * SHORT + i).cast(), pair);
                    }
                }
            }
        };
    }
    quarter!(0);
    quarter!(1);
    quarter!(2);
    quarter!(3);
}
