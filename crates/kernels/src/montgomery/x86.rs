//! The vectors of x86-64.

#![allow(clippy::inline_always, reason = "the functions take the target features of their caller")]

use core::arch::x86_64::*;

use super::columns::{self, Number, Vector};
use super::{LANES, Limbs};

/// What both vectors of 512 bits do alike.
macro_rules! eight_lanes {
    () => {
        const PARTS: usize = 1;

        #[inline(always)]
        unsafe fn load(from: *const Self) -> Self {
            // SAFETY: the caller's pointer is to a vector, and aligned.
            unsafe { Self(_mm512_load_si512(from.cast())) }
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut Self) {
            // SAFETY: the caller's pointer is to a vector, and aligned.
            unsafe { _mm512_store_si512(to.cast(), self.0) }
        }

        #[inline(always)]
        unsafe fn all(value: u64) -> Self {
            // SAFETY: the caller has the instructions. So below.
            unsafe { Self(_mm512_set1_epi64(value.cast_signed())) }
        }

        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { Self(_mm512_add_epi64(self.0, other.0)) }
        }

        #[inline(always)]
        unsafe fn low(self) -> Self {
            // SAFETY: as above.
            unsafe { Self(_mm512_and_si512(self.0, _mm512_set1_epi64((1 << Self::RADIX) - 1))) }
        }

        #[inline(always)]
        unsafe fn high(self) -> Self {
            // SAFETY: as above.
            unsafe { Self(_mm512_srli_epi64::<{ Self::RADIX }>(self.0)) }
        }

        #[inline(always)]
        unsafe fn equal(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { Self(_mm512_movm_epi64(_mm512_cmpeq_epi64_mask(self.0, other.0))) }
        }

        #[inline(always)]
        unsafe fn or_masked(self, mask: Self, value: Self) -> Self {
            // SAFETY: as above.
            unsafe { Self(_mm512_ternarylogic_epi64::<0xf8>(self.0, mask.0, value.0)) }
        }
    };
}

/// Eight lanes; the multiply instructions read 52 bits and give either half of the product.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Ifma(__m512i);

impl Vector for Ifma {
    const RADIX: u32 = 52;

    eight_lanes!();

    #[inline(always)]
    unsafe fn mul_low(self, other: Self) -> Self {
        // SAFETY: the caller has the instructions.
        unsafe { Self(_mm512_madd52lo_epu64(_mm512_setzero_si512(), self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn mul_add(low: &mut Self, high: &mut Self, a: Self, b: Self) {
        // SAFETY: as above.
        unsafe {
            low.0 = _mm512_madd52lo_epu64(low.0, a.0, b.0);
            high.0 = _mm512_madd52hi_epu64(high.0, a.0, b.0);
        }
    }
}

/// Eight lanes; the multiply instruction reads 32 bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Avx512(__m512i);

impl Vector for Avx512 {
    const RADIX: u32 = 26;

    eight_lanes!();

    #[inline(always)]
    unsafe fn mul_low(self, other: Self) -> Self {
        // SAFETY: the caller has the instructions. The bits above the low limb that the instruction reads change
        // nothing below them.
        unsafe { Self(_mm512_mul_epu32(self.0, other.0)).low() }
    }

    #[inline(always)]
    unsafe fn mul_add(low: &mut Self, _: &mut Self, a: Self, b: Self) {
        // SAFETY: as above.
        unsafe { low.0 = _mm512_add_epi64(low.0, _mm512_mul_epu32(a.0, b.0)) }
    }
}

/// Four lanes; the multiply instruction reads 32 bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Avx2(__m256i);

impl Vector for Avx2 {
    const RADIX: u32 = 26;
    const PARTS: usize = 2;

    #[inline(always)]
    unsafe fn load(from: *const Self) -> Self {
        // SAFETY: the caller's pointer is to a vector, and aligned.
        unsafe { Self(_mm256_load_si256(from.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut Self) {
        // SAFETY: the caller's pointer is to a vector, and aligned.
        unsafe { _mm256_store_si256(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn all(value: u64) -> Self {
        // SAFETY: the caller has the instructions. So below.
        unsafe { Self(_mm256_set1_epi64x(value.cast_signed())) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm256_add_epi64(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn low(self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm256_and_si256(self.0, _mm256_set1_epi64x((1 << Self::RADIX) - 1))) }
    }

    #[inline(always)]
    unsafe fn high(self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm256_srli_epi64::<{ Self::RADIX as i32 }>(self.0)) }
    }

    #[inline(always)]
    unsafe fn mul_low(self, other: Self) -> Self {
        // SAFETY: as above. The bits above the low limb that the instruction reads change nothing below them.
        unsafe { Self(_mm256_mul_epu32(self.0, other.0)).low() }
    }

    #[inline(always)]
    unsafe fn mul_add(low: &mut Self, _: &mut Self, a: Self, b: Self) {
        // SAFETY: as above.
        unsafe { low.0 = _mm256_add_epi64(low.0, _mm256_mul_epu32(a.0, b.0)) }
    }

    #[inline(always)]
    unsafe fn equal(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm256_cmpeq_epi64(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn or_masked(self, mask: Self, value: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm256_or_si256(self.0, _mm256_and_si256(mask.0, value.0))) }
    }
}

/// The lanes of `part`, for reading.
#[inline(always)]
fn read<V: Vector>(limbs: &[Limbs], part: usize) -> Number<V> {
    Number(limbs.as_ptr().cast::<V>().cast_mut().wrapping_add(part))
}

/// The lanes of `part`, for writing.
#[inline(always)]
fn write<V: Vector>(limbs: &mut [Limbs], part: usize) -> Number<V> {
    Number(limbs.as_mut_ptr().cast::<V>().wrapping_add(part))
}

/// The product and the square in all eight lanes at once.
macro_rules! whole_products {
    ($vector:ident, $features:literal, $mul:ident, $square:ident) => {
        /// # Safety
        /// All numbers have the same length, in whole blocks.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $mul(
            out: &mut [Limbs],
            a: &[Limbs],
            b: &[Limbs],
            q: &mut [Limbs],
            m: &[Limbs],
            inverse: u64,
        ) {
            let (n, operands) = (out.len(), [read(a, 0), read(b, 0)]);
            // SAFETY: the instructions are there, the lengths are the caller's, and borrowed apart.
            unsafe { columns::mul::<$vector>(n, write(out, 0), operands, write(q, 0), read(m, 0), inverse) }
        }

        /// # Safety
        /// All numbers have the same length, in whole blocks.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $square(
            out: &mut [Limbs],
            a: &[Limbs],
            q: &mut [Limbs],
            m: &[Limbs],
            inverse: u64,
        ) {
            let n = out.len();
            // SAFETY: as above.
            unsafe {
                columns::square::<$vector>(n, write(out, 0), read(a, 0), write(q, 0), read(m, 0), inverse)
            }
        }
    };
}

whole_products!(Ifma, "avx512f,avx512dq,avx512ifma", mul_ifma, square_ifma);
whole_products!(Avx512, "avx512f,avx512dq", mul_avx512, square_avx512);

/// # Safety
/// The table has whole entries.
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) unsafe fn select_wide(out: &mut [Limbs], table: &[Limbs], digits: &Limbs) {
    let (n, entries) = (out.len(), table.len() / out.len());
    // SAFETY: as above.
    unsafe {
        columns::select::<Avx512>(
            n,
            entries,
            write(out, 0),
            read(table, 0),
            read(core::slice::from_ref(digits), 0),
        )
    }
}

/// # Safety
/// The entries come in multiples of 16.
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) unsafe fn select_shared_wide(out: &mut [Limbs], table: &[u64], digits: &Limbs) {
    let entries = table.len() / out.len();
    // SAFETY: eight readable words; the load has no alignment.
    let digits = unsafe { _mm512_loadu_si512(digits.0.as_ptr().cast()) };
    for (out, entries) in out.iter_mut().zip(table.chunks_exact(entries)) {
        let mut chosen = _mm512_setzero_si512();
        for (group, entries) in entries.chunks_exact(16).enumerate() {
            // SAFETY: sixteen readable words; the loads have no alignment.
            let (low, high) = unsafe {
                (
                    _mm512_loadu_si512(entries.as_ptr().cast()),
                    _mm512_loadu_si512(entries.as_ptr().add(8).cast()),
                )
            };
            // Reads the four low bits of a digit; the bits above choose the group.
            let found = _mm512_permutex2var_epi64(low, digits, high);
            let here =
                _mm512_cmpeq_epi64_mask(_mm512_srli_epi64::<4>(digits), _mm512_set1_epi64(group as i64));
            chosen = _mm512_mask_mov_epi64(chosen, here, found);
        }
        // SAFETY: eight writable words; the store has no alignment.
        unsafe { _mm512_storeu_si512(out.0.as_mut_ptr().cast(), chosen) }
    }
}

/// # Safety
/// All numbers have the same length, in whole blocks.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn mul_avx2(
    count: usize,
    out: &mut [Limbs],
    a: &[Limbs],
    b: &[Limbs],
    q: &mut [Limbs],
    m: &[Limbs],
    inverse: u64,
) {
    let n = out.len();
    for part in parts(count) {
        let operands = [read(a, part), read(b, part)];
        // SAFETY: as above.
        unsafe { columns::mul::<Avx2>(n, write(out, part), operands, write(q, part), read(m, part), inverse) }
    }
}

/// # Safety
/// As [`mul_avx2`].
#[target_feature(enable = "avx2")]
pub(super) unsafe fn square_avx2(
    count: usize,
    out: &mut [Limbs],
    a: &[Limbs],
    q: &mut [Limbs],
    m: &[Limbs],
    inverse: u64,
) {
    let n = out.len();
    for part in parts(count) {
        // SAFETY: as above.
        unsafe {
            columns::square::<Avx2>(
                n,
                write(out, part),
                read(a, part),
                write(q, part),
                read(m, part),
                inverse,
            )
        }
    }
}

/// # Safety
/// The table has whole entries.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn select_avx2(out: &mut [Limbs], table: &[Limbs], digits: &Limbs) {
    let (n, entries) = (out.len(), table.len() / out.len());
    let digits = core::slice::from_ref(digits);
    for part in 0..Avx2::PARTS {
        // SAFETY: as above.
        unsafe {
            columns::select::<Avx2>(n, entries, write(out, part), read(table, part), read(digits, part));
        }
    }
}

/// # Safety
/// The entries come in multiples of 16, at most 64.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn select_shared_avx2(out: &mut [Limbs], table: &[u64], digits: &Limbs) {
    let entries = table.len() / out.len();
    for part in 0..Avx2::PARTS {
        let lanes = part * LANES / Avx2::PARTS;
        // SAFETY: four readable words; the load has no alignment.
        let digits = unsafe { _mm256_loadu_si256(digits.0[lanes..].as_ptr().cast()) };
        // The two low bits of a digit, as the positions of the halves of a word; the bits above choose the group.
        let word = _mm256_slli_epi64::<1>(_mm256_and_si256(digits, _mm256_set1_epi64x(3)));
        let halves =
            _mm256_or_si256(word, _mm256_slli_epi64::<32>(_mm256_add_epi64(word, _mm256_set1_epi64x(1))));
        let group = _mm256_srli_epi64::<2>(digits);
        let mut masks = [_mm256_setzero_si256(); 16];
        for (number, mask) in masks.iter_mut().enumerate() {
            *mask = _mm256_cmpeq_epi64(group, _mm256_set1_epi64x(number as i64));
        }
        for (out, entries) in out.iter_mut().zip(table.chunks_exact(entries)) {
            let mut chosen = _mm256_setzero_si256();
            for (entries, mask) in entries.chunks_exact(4).zip(masks) {
                // SAFETY: four readable words; the load has no alignment.
                let entries = unsafe { _mm256_loadu_si256(entries.as_ptr().cast()) };
                let found = _mm256_permutevar8x32_epi32(entries, halves);
                chosen = _mm256_or_si256(chosen, _mm256_and_si256(mask, found));
            }
            // SAFETY: four writable words; the store has no alignment.
            unsafe { _mm256_storeu_si256(out.0[lanes..].as_mut_ptr().cast(), chosen) }
        }
    }
}

/// The parts of the lanes in which the first `count` numbers are.
fn parts(count: usize) -> core::ops::Range<usize> {
    0..count.div_ceil(LANES / Avx2::PARTS)
}
