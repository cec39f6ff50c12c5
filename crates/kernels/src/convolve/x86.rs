//! The convolution for x86-64 with AVX-512.

use core::arch::x86_64::*;

use super::MEMORY;
use crate::band::XorValue;

/// Convolves whole vectors of words of K times eight bytes, while a vector and the words behind it lie within
/// the slice. R vectors are 32 words. Returns how many words it did.
#[target_feature(enable = "avx512f,bmi2")]
#[expect(clippy::needless_range_loop, reason = "iterators are not inlined here by every build")]
pub(super) fn wide<V: XorValue, const K: usize, const R: usize>(words: &mut [V], taps: &[u32]) -> usize {
    let columns = 8 / K;
    assert!(size_of::<V>() == 8 * K && K == V::WORDS && R * columns == MEMORY, "words of a value");
    let groups = taps.len().min(words.len().saturating_sub(MEMORY)) / columns;
    if groups == 0 {
        return 0;
    }
    let place: *mut __m512i = words.as_mut_ptr().cast();
    // SAFETY: `groups` vectors and the R behind them lie within the slice; no access has an alignment.
    let mut current = unsafe { _mm512_loadu_si512(place) };
    let mut behind = [_mm512_setzero_si512(); R];
    for r in 0..R {
        // SAFETY: as above.
        behind[r] = unsafe { _mm512_loadu_si512(place.add(1 + r)) };
    }
    // For each word of a vector the lanes that it has, over and over.
    let high = K as i64 - 1;
    let mut lanes = [_mm512_set_epi64(high, 0, high, 0, high, 0, high, 0); 8];
    for t in 1..columns {
        lanes[t] = _mm512_add_epi64(lanes[t - 1], _mm512_set1_epi64(K as i64));
    }
    for group in 0..groups {
        for t in 0..columns {
            let word = _mm512_permutexvar_epi64(lanes[t], current);
            // K bits for each tap.
            let taps = u64::from(taps[group * columns + t]);
            let bits = if K == 2 { _pdep_u64(taps, 0x5555_5555_5555_5555) * 3 } else { taps };
            let shift = K * (t + 1);
            current = _mm512_mask_xor_epi64(current, (bits << shift) as u8, current, word);
            for r in 0..R {
                let mask = (bits >> (8 * (r + 1) - shift)) as u8;
                behind[r] = _mm512_mask_xor_epi64(behind[r], mask, behind[r], word);
            }
        }
        // SAFETY: as above.
        unsafe { _mm512_storeu_si512(place.add(group), current) };
        current = behind[0];
        for r in 1..R {
            behind[r - 1] = behind[r];
        }
        if group + 1 < groups {
            // SAFETY: as above.
            behind[R - 1] = unsafe { _mm512_loadu_si512(place.add(group + 1 + R)) };
        }
    }
    // SAFETY: as above; the last vector that was loaded is number groups - 1 + R.
    unsafe {
        _mm512_storeu_si512(place.add(groups), current);
        for r in 0..R - 1 {
            _mm512_storeu_si512(place.add(groups + 1 + r), behind[r]);
        }
    }
    groups * columns
}
