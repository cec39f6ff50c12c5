//! Triangular systems, solved by blocks of eight columns with GFNI.
//!
//! The values of eight columns are handled as *planes*. A plane has one word of each value: lane p has byte p of each,
//! in the order of the columns. As in [`together`](super::together), an affine instruction multiplies the bits with
//! which eight rows select among these columns by a matrix that is made of the plane. Here the matrix of a block is kept
//! for the 8 · N blocks before it, whose rows reach it.
//!
//! Within a block the eight rows select by a triangular matrix T = I + U, where U⁸ = 0. Its inverse, (I + U)(I +
//! U²)(I + U⁴), does not depend on values, so it is ready before those of the block behind are.

use core::arch::x86_64::*;

use super::together::{COLUMNS, Order, add_products, load, matrices, planes, store, transpose_bytes};
use super::{XorValue, substitute_range};

/// Most words of a band.
pub(super) const MOST_WORDS: usize = 8;

/// The bits with which the rows of a block select: entry g has those for the columns of the block g further on, a byte
/// a row, bit 0 for the last column.
type Selections = [u64; COLUMNS * (MOST_WORDS + 1)];

/// Solves a triangular system, as [`back_substitute`](super::back_substitute) says.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,gfni")]
pub(super) fn back_substitute<V: XorValue, const N: usize, const K: usize>(
    bands: &[[u64; N]],
    table: &mut [V],
) {
    assert!(K == V::WORDS && size_of::<V>() == 8 * K && K <= 2, "words of a value");
    assert!(N <= MOST_WORDS, "words of a band");
    // Columns before the first boundary of a cache line.
    let ahead = (table.as_ptr().align_offset(64) % COLUMNS).min(bands.len());
    let end = bands.len() - (bands.len() - ahead) % COLUMNS;
    substitute_range(bands, table, end..bands.len());
    let (of_blocks, behind) = table[ahead..].split_at_mut(end - ahead);
    let (blocks, rows) = (of_blocks.as_chunks_mut().0, bands[ahead..end].as_chunks().0);
    // The matrices of block b are at b modulo how many a row reaches.
    let reached = COLUMNS * N;
    let mut kept = [[_mm512_setzero_si512(); K]; COLUMNS * MOST_WORDS];
    for (block, values) in (blocks.len()..).zip(behind.as_chunks().0).take(reached) {
        kept[block % reached] = matrices(planes::<V, K>(values, &Order::<K>::TO_PLANES));
    }
    for (block, (values, rows)) in blocks.iter_mut().zip(rows).enumerate().rev() {
        let (selected, inverse) = selections(rows);
        let mut sums = planes::<V, K>(values, &Order::<K>::TO_PLANES);
        // The block behind this one comes last: it has only just been solved.
        for group in (1..=reached).rev() {
            let selection = _mm512_set1_epi64(selected[group] as i64);
            add_products(&mut sums, selection, &kept[(block + group) % reached]);
        }
        let mut solved = [_mm512_setzero_si512(); K];
        add_products(&mut solved, inverse, &matrices(sums));
        kept[block % reached] = matrices(solved);
        set_values(values, solved);
    }
    substitute_range(bands, table, 0..ahead);
}

/// What the rows of a block select behind it, and the inverse of what they select in it, in every lane.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn selections<const N: usize>(rows: &[[u64; N]; COLUMNS]) -> (Selections, __m512i) {
    let by = load(&[0, 1, 2, 3, 4, 5, 6, 7]);
    let back = _mm512_sub_epi64(_mm512_set1_epi64(64), by);
    let (mut selections, mut carry, mut own) = ([0; COLUMNS * (MOST_WORDS + 1)], _mm512_setzero_si512(), 0);
    for (word, of_blocks) in selections.as_chunks_mut::<COLUMNS>().0.iter_mut().take(N + 1).enumerate() {
        // Row r starts r columns into the block. A shift by all 64 bits leaves zero.
        let mut shifted = carry;
        if word < N {
            let words = load::<u64, 8>(&core::array::from_fn(|row| rows[row][word]));
            shifted = _mm512_or_si512(_mm512_sllv_epi64(words, by), carry);
            carry = _mm512_srlv_epi64(words, back);
        }
        let bytes = transpose_bytes(shifted);
        if word == 0 {
            own = _mm_cvtsi128_si64(_mm512_castsi512_si128(bytes)) as u64;
        }
        store(of_blocks, reversed(bytes));
    }
    (selections, inverse(own))
}

/// Byte r has the bits above bit r, those of the columns behind the row's own.
const ABOVE_DIAGONAL: u64 = 0x0080_c0e0_f0f8_fcfe;

/// Byte r is bit r.
const DIAGONAL: u64 = 0x8040_2010_0804_0201;

/// The inverse of the triangular matrix of a block's own columns, byte r being row r, as a selection.
#[target_feature(enable = "avx512f,gfni")]
#[inline]
fn inverse(own: u64) -> __m512i {
    let one = _mm512_set1_epi64(DIAGONAL as i64);
    let u = _mm512_set1_epi64((own & ABOVE_DIAGONAL) as i64);
    let u2 = product(u, u);
    let u4 = product(u2, u2);
    let low = product(_mm512_xor_si512(one, u), _mm512_xor_si512(one, u2));
    reversed(product(low, _mm512_xor_si512(one, u4)))
}

/// The product of two matrices, byte r of which is row r.
#[target_feature(enable = "avx512f,gfni")]
#[inline]
fn product(left: __m512i, right: __m512i) -> __m512i {
    let [right] = matrices([right]);
    _mm512_gf2p8affine_epi64_epi8::<0>(reversed(left), right)
}

/// The bits of each byte in reverse order.
#[target_feature(enable = "avx512f,gfni")]
#[inline]
fn reversed(bytes: __m512i) -> __m512i {
    _mm512_gf2p8affine_epi64_epi8::<0>(bytes, _mm512_set1_epi64(DIAGONAL as i64))
}

/// Sets eight values to what these planes are of.
#[target_feature(enable = "avx512f,avx512vbmi")]
#[inline]
fn set_values<V: XorValue, const K: usize>(values: &mut [V; COLUMNS], planes: [__m512i; K]) {
    let place = values.as_mut_ptr().cast::<u64>();
    for (vector, order) in Order::<K>::TO_VALUES.iter().enumerate().take(K) {
        let words = _mm512_permutex2var_epi8(planes[0], load(order), planes[K - 1]);
        // SAFETY: eight values of K words are K vectors of eight words.
        unsafe { _mm512_storeu_si512(place.add(COLUMNS * vector).cast(), words) };
    }
}
