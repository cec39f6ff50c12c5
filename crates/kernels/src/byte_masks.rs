//! Finds certain bytes in a text: 64 bytes of text become one word of bits.

#[cfg(any(target_arch = "aarch64", target_arch = "wasm32", target_arch = "x86_64"))]
use super::Level;
use super::{Backend, Kernels};

/// The kernels of an architecture that has one level.
#[cfg(target_arch = "aarch64")]
use arm as single;
#[cfg(target_arch = "wasm32")]
use wasm as single;

/// Bytes of text that one word of a mask covers.
pub const BLOCK: usize = 64;

/// Sets bit `j` of `masks[i][k]` if byte `j` of block `i` is `bytes[k]`, and clears it if not.
pub fn find<const N: usize>(backend: Backend, text: &[[u8; BLOCK]], bytes: [u8; N], masks: &mut [[u64; N]]) {
    assert_eq!(text.len(), masks.len(), "one row of words for each block");
    match backend.level_for(Kernels::ByteMasks) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of this level exists only where its instructions do.
        Level::Avx512 => unsafe { x86::wide(text, bytes, masks) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 => unsafe { x86::narrow(text, bytes, masks) },
        #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
        // SAFETY: as above.
        Level::Neon | Level::Simd128 => unsafe { single::find(text, bytes, masks) },
        _ => {
            for (block, masks) in text.iter().zip(masks) {
                for (mask, byte) in masks.iter_mut().zip(bytes) {
                    *mask = portable(block, byte);
                }
            }
        }
    }
}

/// Eight bytes at a time.
fn portable(block: &[u8; BLOCK], byte: u8) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let mut masks = 0;
    for (at, word) in block.as_chunks().0.iter().enumerate() {
        let other = u64::from_le_bytes(*word) ^ (u64::from(byte) * 0x0101_0101_0101_0101);
        // The high bit of each byte that is zero, without carries between them; then the eight bits side by
        // side.
        let equal = !(((other & LOW) + LOW) | other | LOW);
        masks |= ((equal >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * at);
    }
    masks
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::*;

    use super::BLOCK;

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn wide<const N: usize>(text: &[[u8; BLOCK]], bytes: [u8; N], masks: &mut [[u64; N]]) {
        let mut i = 0;
        while i < text.len() && i < masks.len() {
            // SAFETY: 64 readable bytes; the load has no alignment.
            let block = unsafe { _mm512_loadu_si512(text[i].as_ptr().cast()) };
            let mut k = 0;
            while k < N {
                masks[i][k] = _mm512_cmpeq_epi8_mask(block, _mm512_set1_epi8(bytes[k] as i8));
                k += 1;
            }
            i += 1;
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn narrow<const N: usize>(text: &[[u8; BLOCK]], bytes: [u8; N], masks: &mut [[u64; N]]) {
        let mut i = 0;
        while i < text.len() && i < masks.len() {
            let [low, high] = *text[i].as_chunks::<32>().0 else { return };
            // SAFETY: 32 readable bytes each; the loads have no alignment.
            let (low, high) = unsafe {
                (_mm256_loadu_si256(low.as_ptr().cast()), _mm256_loadu_si256(high.as_ptr().cast()))
            };
            let mut k = 0;
            while k < N {
                let byte = _mm256_set1_epi8(bytes[k] as i8);
                let low = _mm256_movemask_epi8(_mm256_cmpeq_epi8(low, byte)) as u32;
                let high = _mm256_movemask_epi8(_mm256_cmpeq_epi8(high, byte)) as u32;
                masks[i][k] = u64::from(high) << 32 | u64::from(low);
                k += 1;
            }
            i += 1;
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use core::arch::aarch64::*;

    use super::BLOCK;

    #[target_feature(enable = "neon")]
    pub(super) fn find<const N: usize>(text: &[[u8; BLOCK]], bytes: [u8; N], masks: &mut [[u64; N]]) {
        // The bit of each byte among eight.
        let places = vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201));
        let mut i = 0;
        while i < text.len() && i < masks.len() {
            let quarters = text[i].as_chunks::<16>().0;
            let mut k = 0;
            while k < N {
                let mut found = [vdupq_n_u8(0); 4];
                for j in 0..4 {
                    // SAFETY: sixteen readable bytes; the load of bytes has no alignment.
                    let quarter = unsafe { vld1q_u8(quarters[j].as_ptr()) };
                    found[j] = vandq_u8(vceqq_u8(quarter, vdupq_n_u8(bytes[k])), places);
                }
                // Sums of neighbours, three times: eight bytes become one.
                let halves = vpaddq_u8(vpaddq_u8(found[0], found[1]), vpaddq_u8(found[2], found[3]));
                let all = vreinterpretq_u64_u8(vpaddq_u8(halves, halves));
                masks[i][k] = vgetq_lane_u64::<0>(all);
                k += 1;
            }
            i += 1;
        }
    }
}

#[cfg(target_arch = "wasm32")]
mod wasm {
    use core::arch::wasm32::*;

    use super::BLOCK;

    #[target_feature(enable = "simd128")]
    pub(super) fn find<const N: usize>(text: &[[u8; BLOCK]], bytes: [u8; N], masks: &mut [[u64; N]]) {
        for (block, masks) in text.iter().zip(masks) {
            for (mask, byte) in masks.iter_mut().zip(bytes) {
                *mask = 0;
                for (j, quarter) in block.as_chunks::<16>().0.iter().enumerate() {
                    // SAFETY: sixteen readable bytes; the load has no alignment.
                    let quarter = unsafe { v128_load(quarter.as_ptr().cast()) };
                    let found = i8x16_bitmask(i8x16_eq(quarter, u8x16_splat(byte)));
                    *mask |= u64::from(found) << (16 * j);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_back_end_finds_every_byte() {
        let bytes = [b',', b'\n', b'"', 0, 0xff];
        for blocks in [0, 1, 2, 9] {
            let mut text = vec![[0; BLOCK]; blocks];
            for (place, byte) in text.as_flattened_mut().iter_mut().enumerate() {
                // The bytes that are looked for, their neighbours by one bit, and any.
                let number = (place as u32).wrapping_mul(0x9e37_79b9) >> 7;
                let one = bytes[number as usize % bytes.len()];
                *byte = [one, one ^ 1 << (number % 8), number as u8][place % 3];
            }
            for backend in Backend::available() {
                let mut masks = vec![[!0; 5]; blocks];
                find(backend, &text, bytes, &mut masks);
                for (block, masks) in text.iter().zip(&masks) {
                    for (byte, mask) in bytes.iter().zip(masks) {
                        let expected = (0..BLOCK).map(|at| u64::from(block[at] == *byte) << at).sum();
                        assert_eq!(*mask, expected, "{backend:?}");
                    }
                }
            }
        }
    }
}
