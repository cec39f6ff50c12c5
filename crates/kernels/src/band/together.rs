//! Sums under eight bands at a time, for rows that start near one another.
//!
//! An affine instruction of GFNI multiplies eight bytes by a matrix of 8 × 8 bits in each of eight lanes.
//! Take one byte position of the values of eight columns of the table: these bytes, transposed, are such a
//! matrix. The bits with which eight rows select among these columns are eight bytes. The product has the
//! byte of each row's sum at that position. One instruction thus does 512 additions, where a masked addition
//! does eight.

use core::arch::x86_64::*;

use super::shared::shifted;
use super::x86::wide;
use super::{BandRow, XorValue};

/// Rows that one step takes.
const ROWS: usize = 8;

/// Columns that one matrix has.
pub(super) const COLUMNS: usize = 8;

/// Rows of one step start less than this many columns apart.
const SPAN: usize = 64;

/// Sets `sums[i]` to the sum of the values of `table` that row i selects.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,gfni")]
pub(super) fn sums<V: XorValue, const N: usize, const K: usize>(
    table: &[V],
    rows: &[BandRow<N>],
    sums: &mut [V],
) {
    assert!(K == V::WORDS && size_of::<V>() == 8 * K && K <= 2, "words of a value");
    let (eights, rest) = rows.as_chunks::<ROWS>();
    let (eight_sums, rest_sums) = sums.as_chunks_mut::<ROWS>();
    for (rows, sums) in eights.iter().zip(eight_sums) {
        let (first, behind) = range_of(rows);
        let columns = (behind - first).next_multiple_of(COLUMNS);
        match table.get(first..first + columns) {
            Some(window) if behind - first < SPAN + 64 * N => {
                eight::<V, N, K>(window, first as u32, rows, sums)
            }
            _ => wide::sums::<V, N, K>(table, rows, sums),
        }
    }
    wide::sums::<V, N, K>(table, rest, rest_sums);
}

/// The first column of the first row, and the column behind the last row.
#[inline(always)]
pub(super) fn range_of<const N: usize>(rows: &[BandRow<N>]) -> (usize, usize) {
    let (mut first, mut last) = (u32::MAX, 0);
    for row in rows {
        first = first.min(row.start);
        last = last.max(row.start);
    }
    (first as usize, last as usize + 64 * N)
}

/// The sums of eight rows that select among the columns of `window`, which begins at column `first` and is a
/// multiple of eight columns long.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,gfni")]
#[inline]
fn eight<V: XorValue, const N: usize, const K: usize>(
    window: &[V],
    first: u32,
    rows: &[BandRow<N>; ROWS],
    sums: &mut [V; ROWS],
) {
    // Word k of every row, then the last words; made into bytes g of every row.
    let (mut words, mut last) = ([[0; ROWS]; N], [0; ROWS]);
    for (r, row) in rows.iter().enumerate() {
        let (shifted, behind) = shifted(&row.band, row.start - first);
        for (words, word) in words.iter_mut().zip(shifted) {
            words[r] = word;
        }
        last[r] = behind;
    }
    for words in words.iter_mut().chain([&mut last]) {
        let bytes = transpose_bytes(load(words));
        store(words, bytes);
    }

    let mut sum_planes = [_mm512_setzero_si512(); K];
    let selections = words.iter().chain([&last]).flatten();
    for (columns, selection) in window.as_chunks().0.iter().zip(selections) {
        let selection = _mm512_set1_epi64(*selection as i64);
        let columns = planes::<V, K>(columns, &Order::<K>::TO_PLANES_BACKWARDS);
        add_products(&mut sum_planes, selection, &matrices(columns));
    }
    let mut of_rows = [[0u64; ROWS]; 2];
    for (words, plane) in of_rows.iter_mut().zip(sum_planes) {
        store(words, transpose_bytes(plane));
    }
    for (r, sum) in sums.iter_mut().enumerate() {
        let value = [of_rows[0][r], of_rows[1][r]];
        // SAFETY: a value is K words, of at most two.
        *sum = unsafe { value.as_ptr().cast::<V>().read_unaligned() };
    }
}

/// Adds to each plane what eight rows select, by the matrix of the columns.
#[target_feature(enable = "avx512f,gfni")]
#[inline]
pub(super) fn add_products<const K: usize>(
    planes: &mut [__m512i; K],
    selection: __m512i,
    matrices: &[__m512i; K],
) {
    for (plane, matrix) in planes.iter_mut().zip(matrices) {
        *plane = _mm512_xor_si512(*plane, _mm512_gf2p8affine_epi64_epi8::<0>(selection, *matrix));
    }
}

/// The matrices by which selections are multiplied: the planes reflected at their other diagonal. Bit 0 of a row's
/// selection then stands for the last byte of a lane.
#[target_feature(enable = "avx512f,gfni")]
#[inline]
pub(super) fn matrices<const K: usize>(mut planes: [__m512i; K]) -> [__m512i; K] {
    /// Byte r is bit 7 - r.
    const ANTI_DIAGONAL: i64 = 0x0102_0408_1020_4080;
    for plane in &mut planes {
        *plane = _mm512_gf2p8affine_epi64_epi8::<0>(_mm512_set1_epi64(ANTI_DIAGONAL), *plane);
    }
    planes
}

/// The planes of eight values of K words: lane p of plane k has byte p of word k of each value, in one of [`Order`]'s
/// orders.
#[target_feature(enable = "avx512f,avx512vbmi")]
#[inline]
pub(super) fn planes<V: XorValue, const K: usize>(
    values: &[V; COLUMNS],
    orders: &[[u64; 8]; 2],
) -> [__m512i; K] {
    let place = values.as_ptr().cast::<u64>();
    // SAFETY: eight values of K words are K vectors of eight words.
    let [first, last] = unsafe {
        [_mm512_loadu_si512(place.cast()), _mm512_loadu_si512(place.add(COLUMNS * (K - 1)).cast())]
    };
    let mut planes = [first; K];
    for (plane, order) in planes.iter_mut().zip(orders) {
        *plane = _mm512_permutex2var_epi8(first, load(order), last);
    }
    planes
}

/// The orders of bytes that take eight values of K words to their planes, and back.
pub(super) struct Order<const K: usize>;

impl<const K: usize> Order<K> {
    /// Byte j of a lane is of value j.
    pub(super) const TO_PLANES: [[u64; 8]; 2] = Self::order(0, false);
    /// Byte j of a lane is of value 7 - j, so that selections have the bit of the first column first.
    const TO_PLANES_BACKWARDS: [[u64; 8]; 2] = Self::order(7, false);
    /// From the planes that [`TO_PLANES`](Self::TO_PLANES) gives.
    pub(super) const TO_VALUES: [[u64; 8]; 2] = Self::order(0, true);

    const fn order(first: usize, back: bool) -> [[u64; 8]; 2] {
        let mut order = [[0; 8]; 2];
        let mut place = 0;
        while place < 64 * K {
            let (k, p, j) = (place / 64, place / 8 % 8, (place % 8) ^ first);
            let of_values = 8 * K * j + 8 * k + p;
            let (to, from) = if back { (of_values, place) } else { (place, of_values) };
            order[to / 64][to / 8 % 8] |= (from as u64) << (8 * (to % 8));
            place += 1;
        }
        order
    }
}

/// Byte j of lane i becomes byte i of lane j.
#[target_feature(enable = "avx512f,avx512vbmi")]
#[inline]
pub(super) fn transpose_bytes(x: __m512i) -> __m512i {
    const ORDER: [u64; 8] = {
        let mut order = [0; 8];
        let mut lane = 0;
        while lane < 8 {
            order[lane] = 0x3830_2820_1810_0800 + 0x0101_0101_0101_0101 * lane as u64;
            lane += 1;
        }
        order
    };
    _mm512_permutexvar_epi8(load(&ORDER), x)
}

/// The vector that these values are.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn load<V: XorValue, const M: usize>(values: &[V; M]) -> __m512i {
    assert!(size_of::<[V; M]>() == 64, "a vector");
    // SAFETY: 64 readable bytes; the load has no alignment.
    unsafe { _mm512_loadu_si512(values.as_ptr().cast()) }
}

/// Sets these values to a vector.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn store<V: XorValue, const M: usize>(values: &mut [V; M], x: __m512i) {
    assert!(size_of::<[V; M]>() == 64, "a vector");
    // SAFETY: 64 writable bytes; the store has no alignment. Every pattern of bits is a value.
    unsafe { _mm512_storeu_si512(values.as_mut_ptr().cast(), x) }
}
