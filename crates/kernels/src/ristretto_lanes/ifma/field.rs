//! Arithmetic modulo p = 2^255 - 19 on eight elements at a time, one a 64-bit lane. Constant time.
//!
//! An element is five limbs in radix 2^51. The multiply instructions read the low 52 bits of a lane and add
//! the low or the high 52 bits of the product, so a factor's limbs must stay below 2^52: one bit of slack,
//! not enough to add two elements without carrying, which costs a third of a multiplication. Therefore sums
//! are formed where there is room, on the 64-bit columns that a multiplication leaves behind, and carried
//! once. Two types tell the states apart:
//!
//! | type | limbs | may be |
//! |---|---|---|
//! | [`Fe`] | below 2^51 + 2^16 | multiplied, squared, compared |
//! | [`Columns`] | below 2^62 | added, subtracted, carried |
//!
//! # Bounds
//!
//! *Products.* With factors of type `Fe`, a low half is below 2^52 and a high half below (2^51 + 2^16)² /
//! 2^52 < 2^50 + 2^18. Column k of the 5 × 5 product takes the low halves of i + j = k and twice the high
//! halves of i + j = k - 1, twice because 2^52 is two units of the next limb; column k + 5 comes back to
//! column k times 19. In units of 2^52 a column below 5 takes at most k + 1 low halves and k doubled high
//! ones, a column k + 5 at most 4 - k and 5 - k, and a doubled high half counts 1/2 + 2^-31. The sum is
//! largest at k = 0, where it is 1 + 19 · (4 + 5/2) = 124.5 and a little. So the columns of a product are
//! below 2^59; those of a square are the same sums.
//!
//! *Differences.* `a - b` is computed as a + 512 p - b. The limbs of 512 p are above 2^60 - 2^14, so that no
//! column falls below zero while those of b are below 2^60 - 2^14: an element, a product, or the sum of two
//! products. Products may start at 512 p at no cost, and are then below 2^59 + 2^60.
//!
//! *Carries.* From columns below 2^62 the carries are below 2^11; the topmost comes back times 19, so that
//! limbs end up below 2^51 + 19 · 2^11 < 2^51 + 2^16.

use core::arch::x86_64::*;

use zeroize::Zeroize;

pub(super) use super::super::LANES;
use super::super::WordLimbs;

/// Vectors of elements that a ladder takes together: one alone leaves the multipliers idle.
pub(super) const TOGETHER: usize = 2;

/// A set of lanes, one bit each.
pub(super) type Lanes = __mmask8;

/// Bits of a limb.
const RADIX: u32 = 51;

/// The largest limb.
const LOW: u64 = (1 << RADIX) - 1;

/// The limbs of p.
const P: [u64; 5] = [LOW - 18, LOW, LOW, LOW, LOW];

/// The multiple of p that keeps differences positive.
const BIAS: u64 = 512;

/// Eight elements that may be multiplied.
#[derive(Clone, Copy, Zeroize)]
pub(super) struct Fe([__m512i; 5]);

/// Eight elements as a multiplication leaves them, to be added and carried.
#[derive(Clone, Copy, Zeroize)]
pub(super) struct Columns([__m512i; 5]);

/// The five limbs that an expression gives for k = 0..5. Written out: a closure with target features is
/// inlined into `map` or `from_fn` only where link-time optimisation looks at both.
macro_rules! limbs {
    (|$k:ident| $limb:expr) => {
        [
            {
                let $k = 0;
                $limb
            },
            {
                let $k = 1;
                $limb
            },
            {
                let $k = 2;
                $limb
            },
            {
                let $k = 3;
                $limb
            },
            {
                let $k = 4;
                $limb
            },
        ]
    };
}

/// Every lane the same.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn all(value: u64) -> __m512i {
    _mm512_set1_epi64(value.cast_signed())
}

/// All ones in some lanes, all zeros in the others.
#[derive(Clone, Copy)]
pub(super) struct Mask(__m512i);

impl Mask {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn none() -> Self {
        Self(_mm512_setzero_si512())
    }

    /// The lanes in whose word this bit is set.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn of_bit(words: &[u64; LANES], bit: u32) -> Self {
        let bits = _mm512_srl_epi64(each(words), _mm_cvtsi64_si128(bit.into()));
        Self(_mm512_sub_epi64(_mm512_setzero_si512(), _mm512_and_si512(bits, _mm512_set1_epi64(1))))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn xor(self, other: Self) -> Self {
        Self(_mm512_xor_si512(self.0, other.0))
    }
}

/// A number for each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn each(numbers: &[u64; LANES]) -> __m512i {
    // SAFETY: both types are 64 bytes of any content.
    unsafe { core::mem::transmute::<[u64; LANES], __m512i>(*numbers) }
}

impl Columns {
    /// Brings the limbs back to a little over 51 bits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn carry(self) -> Fe {
        let z = self.0;
        let carry = limbs!(|k| _mm512_srli_epi64::<RADIX>(z[k]));
        let low = limbs!(|k| _mm512_and_si512(z[k], all(LOW)));
        Fe([
            _mm512_madd52lo_epu64(low[0], carry[4], all(19)),
            _mm512_add_epi64(low[1], carry[0]),
            _mm512_add_epi64(low[2], carry[1]),
            _mm512_add_epi64(low[3], carry[2]),
            _mm512_add_epi64(low[4], carry[3]),
        ])
    }

    /// `self + other`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn plus(self, other: Self) -> Self {
        Self(limbs!(|k| _mm512_add_epi64(self.0[k], other.0[k])))
    }

    /// `self - other` where `self` started from or was given the bias.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn minus(self, other: Self) -> Self {
        Self(limbs!(|k| _mm512_sub_epi64(self.0[k], other.0[k])))
    }

    /// `self` plus the bias.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn biased(self) -> Self {
        Self(limbs!(|k| _mm512_add_epi64(self.0[k], all(BIAS * P[k]))))
    }

    /// `self + factor · element` for a factor below 2^20; adds less than 2^53 to a column.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn plus_multiple(self, factor: u32, element: &Fe) -> Self {
        let factor = all(factor.into());
        let high = limbs!(|k| _mm512_madd52hi_epu64(_mm512_setzero_si512(), element.0[k], factor));
        let high = limbs!(|k| _mm512_add_epi64(high[k], high[k]));
        let low = limbs!(|k| _mm512_madd52lo_epu64(self.0[k], element.0[k], factor));
        Self([
            _mm512_madd52lo_epu64(low[0], high[4], all(19)),
            _mm512_add_epi64(low[1], high[0]),
            _mm512_add_epi64(low[2], high[1]),
            _mm512_add_epi64(low[3], high[2]),
            _mm512_add_epi64(low[4], high[3]),
        ])
    }
}

impl Fe {
    /// The element with these limbs, none above 2^51, in every lane.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn splat(limbs: [u64; 5]) -> Self {
        Self(limbs!(|k| all(limbs[k])))
    }

    /// A small number, in every lane.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn small(value: u32) -> Self {
        Self::splat([value.into(), 0, 0, 0, 0])
    }

    /// The limbs as columns.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn columns(&self) -> Columns {
        Columns(self.0)
    }

    /// `self · other`, to be added or carried.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn product(&self, other: &Self) -> Columns {
        self.product_from(0, other)
    }

    /// `self · other` with the bias, to be subtracted from.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn biased_product(&self, other: &Self) -> Columns {
        self.product_from(BIAS, other)
    }

    /// `self²`, to be added or carried.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn squared(&self) -> Columns {
        self.squared_from(0)
    }

    /// `self²` with the bias, to be subtracted from.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn biased_squared(&self) -> Columns {
        self.squared_from(BIAS)
    }

    /// `bias · p + self · other`. The high halves come first and are doubled; the upper columns are complete
    /// before the lower ones, which wait for them.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn product_from(&self, bias: u64, other: &Self) -> Columns {
        let (a, b) = (&self.0, &other.0);
        let mut z = [_mm512_setzero_si512(); 10];
        z[0] = all(bias * P[0]);
        for k in 1..5 {
            z[k] = all(bias / 2 * P[k]);
        }
        for i in 0..5 {
            for j in 0..5 {
                z[i + j + 1] = _mm512_madd52hi_epu64(z[i + j + 1], a[i], b[j]);
            }
        }
        for z in &mut z[1..] {
            *z = _mm512_add_epi64(*z, *z);
        }
        for i in (1..5).rev() {
            for j in 5 - i..5 {
                z[i + j] = _mm512_madd52lo_epu64(z[i + j], a[i], b[j]);
            }
        }
        for i in 0..5 {
            for j in 0..5 - i {
                z[i + j] = _mm512_madd52lo_epu64(z[i + j], a[i], b[j]);
            }
        }
        fold(&z)
    }

    /// `bias · p + self²`: four times the high halves of i < j; twice the high halves of i = j and the low
    /// halves of i < j; once the low halves of i = j. Added up in this order, with a doubling after the first
    /// and the second sort.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn squared_from(&self, bias: u64) -> Columns {
        let a = &self.0;
        let mut z = [_mm512_setzero_si512(); 10];
        z[0] = all(bias * P[0]);
        z[1] = all(bias / 2 * P[1]);
        for k in 2..5 {
            z[k] = all(bias / 4 * P[k]);
        }
        for i in 0..5 {
            for j in i + 1..5 {
                z[i + j + 1] = _mm512_madd52hi_epu64(z[i + j + 1], a[i], a[j]);
            }
        }
        for z in &mut z[2..9] {
            *z = _mm512_add_epi64(*z, *z);
        }
        for i in 0..5 {
            z[2 * i + 1] = _mm512_madd52hi_epu64(z[2 * i + 1], a[i], a[i]);
            for j in i + 1..5 {
                z[i + j] = _mm512_madd52lo_epu64(z[i + j], a[i], a[j]);
            }
        }
        for z in &mut z[1..] {
            *z = _mm512_add_epi64(*z, *z);
        }
        for i in 0..5 {
            z[2 * i] = _mm512_madd52lo_epu64(z[2 * i], a[i], a[i]);
        }
        fold(&z)
    }

    /// `self · other`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn mul(&self, other: &Self) -> Self {
        self.product(other).carry()
    }

    /// `self²`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn square(&self) -> Self {
        self.squared().carry()
    }

    /// `self + other`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn add(&self, other: &Self) -> Self {
        self.columns().plus(other.columns()).carry()
    }

    /// `self - other`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn sub(&self, other: &Self) -> Self {
        self.columns().biased().minus(other.columns()).carry()
    }

    /// `-self`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn negate(&self) -> Self {
        Self::small(0).sub(self)
    }

    /// `self` where the lane is in the set, `other` elsewhere.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn where_in(&self, lanes: Lanes, other: &Self) -> Self {
        Self(limbs!(|k| _mm512_mask_blend_epi64(lanes, other.0[k], self.0[k])))
    }

    /// `other` where a bit of the mask is set, `self` elsewhere. Masks are all zeros or all ones.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn or_masked(&self, other: &Self, mask: Mask) -> Self {
        // Truth table of the inputs (mask, other, self), self the lowest bit: mask ? other : self.
        Self(limbs!(|k| _mm512_ternarylogic_epi64::<0xca>(mask.0, other.0[k], self.0[k])))
    }

    /// `-self` where the lane is in the set, `self` elsewhere.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn negate_in(&self, lanes: Lanes) -> Self {
        self.negate().where_in(lanes, self)
    }

    /// The absolute value in the sense of RFC 9496: `self` or `-self`, whichever is even when fully reduced.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn abs(&self) -> Self {
        self.negate_in(self.is_negative())
    }

    /// These elements with limbs below 2^51 and values below p.
    ///
    /// An `Fe` is below 2^255 + 2^221 < 2p. It is at least p exactly if adding 19 carries out of bit 255;
    /// then adding 19 and dropping that bit subtracts p.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn reduced(&self) -> Self {
        let mut carry = all(19);
        for limb in self.0 {
            carry = _mm512_srli_epi64::<RADIX>(_mm512_add_epi64(limb, carry));
        }
        carry = _mm512_madd52lo_epu64(_mm512_setzero_si512(), carry, all(19));
        let mut limbs = self.0;
        for limb in &mut limbs {
            let sum = _mm512_add_epi64(*limb, carry);
            carry = _mm512_srli_epi64::<RADIX>(sum);
            *limb = _mm512_and_si512(sum, all(LOW));
        }
        Self(limbs)
    }

    /// The lanes that hold zero.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn is_zero(&self) -> Lanes {
        let [a, b, c, d, e] = self.reduced().0;
        let low = _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d));
        _mm512_testn_epi64_mask(_mm512_or_si512(low, e), all(u64::MAX))
    }

    /// The lanes whose least non-negative residue is odd, which RFC 9496 calls negative.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn is_negative(&self) -> Lanes {
        _mm512_test_epi64_mask(self.reduced().0[0], all(1))
    }

    /// The lanes in which both are equal.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn equals(&self, other: &Self) -> Lanes {
        self.sub(other).is_zero()
    }
}

/// Columns 5 to 9 come back to 0 to 4 times 19, because 2^255 = 19 modulo p.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn fold(z: &[__m512i; 10]) -> Columns {
    Columns(limbs!(|k| _mm512_add_epi64(z[k], _mm512_mullo_epi64(z[k + 5], all(19)))))
}

impl Fe {
    /// Little-endian bytes, one element a lane. Bit 255 is ignored, any value of the others taken modulo p.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn from_bytes(bytes: [&[u8; 32]; LANES]) -> Self {
        // Word i of lane n.
        let mut words = [[0; LANES]; 4];
        for (i, words) in words.iter_mut().enumerate() {
            for (word, bytes) in words.iter_mut().zip(bytes) {
                *word = u64::from_le_bytes(bytes.as_chunks().0[i]);
            }
        }
        // SAFETY: both are 64 bytes in which every pattern is valid.
        let [a, b, c, d] = unsafe { core::mem::transmute::<[[u64; LANES]; 4], [__m512i; 4]>(words) };
        let limbs = [
            a,
            _mm512_or_si512(_mm512_srli_epi64::<51>(a), _mm512_slli_epi64::<13>(b)),
            _mm512_or_si512(_mm512_srli_epi64::<38>(b), _mm512_slli_epi64::<26>(c)),
            _mm512_or_si512(_mm512_srli_epi64::<25>(c), _mm512_slli_epi64::<39>(d)),
            _mm512_srli_epi64::<12>(d),
        ];
        Self(limbs!(|k| _mm512_and_si512(limbs[k], all(LOW))))
    }

    /// Little-endian bytes of the least non-negative residues.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn to_bytes(self) -> [[u8; 32]; LANES] {
        let [a, b, c, d, e] = self.reduced().0;
        let words = [
            _mm512_or_si512(a, _mm512_slli_epi64::<51>(b)),
            _mm512_or_si512(_mm512_srli_epi64::<13>(b), _mm512_slli_epi64::<38>(c)),
            _mm512_or_si512(_mm512_srli_epi64::<26>(c), _mm512_slli_epi64::<25>(d)),
            _mm512_or_si512(_mm512_srli_epi64::<39>(d), _mm512_slli_epi64::<12>(e)),
        ];
        let mut bytes = [[0; 32]; LANES];
        for (i, word) in words.into_iter().enumerate() {
            // SAFETY: both are 64 bytes in which every pattern is valid.
            let word = unsafe { core::mem::transmute::<__m512i, [u64; LANES]>(word) };
            for (bytes, word) in bytes.iter_mut().zip(word) {
                bytes.as_chunks_mut().0[i] = word.to_le_bytes();
            }
        }
        bytes
    }
}

impl Fe {
    /// The limbs, each with its eight lanes; below 2^51.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn to_limbs(self) -> WordLimbs {
        let limbs = self.reduced().0;
        // SAFETY: both are 64 bytes in which every pattern is valid.
        limbs!(|k| unsafe { core::mem::transmute::<__m512i, [u64; LANES]>(limbs[k]) })
    }

    /// Each lane takes the element of the lane that is `BY` further, cyclically.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn rotated<const BY: i32>(&self) -> Self {
        Self(limbs!(|k| _mm512_alignr_epi64::<BY>(self.0[k], self.0[k])))
    }

    /// Each lane takes the element of the table that its digit chooses, and `zero` if the digit is zero. The
    /// table is read as a whole, and permuted within registers.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn look_up(table: &Table, digits: &Digits, zero: u64) -> Self {
        let mut chosen = limbs!(|k| {
            let (a, b) = (entries(&table[k], 0), entries(&table[k], 1));
            let (c, d) = (entries(&table[k], 2), entries(&table[k], 3));
            let low = _mm512_maskz_permutex2var_epi64(digits.low, a, digits.index, b);
            let high = _mm512_maskz_permutex2var_epi64(digits.high, c, digits.index, d);
            _mm512_or_si512(low, high)
        });
        chosen[0] = _mm512_mask_mov_epi64(chosen[0], digits.zero(), all(zero));
        Self(chosen)
    }
}

/// Entries of a [`Table`].
pub(super) const ENTRIES: usize = 32;

/// The limbs of the elements for the digits 1 to 32.
pub(super) type Table = [[u64; ENTRIES]; 5];

/// Eight entries of a table's limb.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn entries(limb: &[u64; ENTRIES], quarter: usize) -> __m512i {
    // SAFETY: both are 64 bytes in which every pattern is valid.
    unsafe { core::mem::transmute::<[u64; LANES], __m512i>(limb.as_chunks().0[quarter]) }
}

/// A digit from -32 to 32 in each lane, ready to choose from a [`Table`].
#[derive(Clone, Copy)]
pub(super) struct Digits {
    /// |digit| - 1, of which the permutation reads the lowest four bits.
    index: __m512i,
    /// |digit| is 1 to 16.
    low: Lanes,
    /// |digit| is 17 to 32.
    high: Lanes,
    /// The digit is below zero.
    pub(super) negative: Lanes,
}

impl Digits {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn new(digits: [i8; LANES]) -> Self {
        let digits =
            _mm512_cvtepi8_epi64(_mm_set_epi64x(0, i64::from_le_bytes(digits.map(i8::cast_unsigned))));
        let size = _mm512_abs_epi64(digits);
        let large = _mm512_cmpgt_epu64_mask(size, all(16));
        let some = _mm512_test_epi64_mask(size, all(u64::MAX));
        Self {
            index: _mm512_sub_epi64(size, all(1)),
            low: some & !large,
            high: large,
            negative: _mm512_movepi64_mask(digits),
        }
    }

    /// The digit is zero.
    #[inline]
    fn zero(&self) -> Lanes {
        !(self.low | self.high)
    }

    /// |digit| is this number.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn equal(&self, size: u64) -> Lanes {
        _mm512_cmpeq_epu64_mask(self.index, all(size.wrapping_sub(1)))
    }
}

#[cfg(test)]
mod tests;
