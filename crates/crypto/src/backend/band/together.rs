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
        let (mut first, mut last) = (u32::MAX, 0);
        for row in rows {
            first = first.min(row.start);
            last = last.max(row.start);
        }
        let (first, apart) = (first as usize, (last - first) as usize);
        let groups = 8 * N + apart.div_ceil(8);
        match table.get(first..first + 8 * groups) {
            Some(window) if apart < SPAN => eight::<V, N, K>(window, first as u32, rows, sums),
            _ => wide::sums::<V, N, K>(table, rows, sums),
        }
    }
    wide::sums::<V, N, K>(table, rest, rest_sums);
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

    let order = [load(&Plane::<K>::ORDERS[0]), load(&Plane::<K>::ORDERS[1])];
    let mut planes = [_mm512_setzero_si512(); 2];
    let selections = words.iter().chain([&last]).flatten();
    for (columns, selection) in window.as_chunks::<8>().0.iter().zip(selections) {
        let selection = _mm512_set1_epi64(*selection as i64);
        let place = columns.as_ptr().cast::<u64>();
        // SAFETY: eight values of K words are K vectors of eight words.
        let values =
            unsafe { [_mm512_loadu_si512(place.cast()), _mm512_loadu_si512(place.add(8 * (K - 1)).cast())] };
        for v in 0..K {
            let bytes = _mm512_permutex2var_epi8(values[0], order[v], values[1]);
            let matrix = _mm512_gf2p8affine_epi64_epi8::<0>(_mm512_set1_epi64(ANTI_DIAGONAL), bytes);
            let products = _mm512_gf2p8affine_epi64_epi8::<0>(selection, matrix);
            planes[v] = _mm512_xor_si512(planes[v], products);
        }
    }
    let mut of_rows = [[0u64; ROWS]; 2];
    for v in 0..K {
        store(&mut of_rows[v], transpose_bytes(planes[v]));
    }
    for (r, sum) in sums.iter_mut().enumerate() {
        let value = [of_rows[0][r], of_rows[1][r]];
        // SAFETY: a value is K words, of at most two.
        *sum = unsafe { value.as_ptr().cast::<V>().read_unaligned() };
    }
}

/// Byte r is bit 7 - r: multiplied by a matrix, it gives the matrix reflected at its other diagonal.
pub(super) const ANTI_DIAGONAL: i64 = 0x0102_0408_1020_4080;

/// Takes eight values of K words, side by side, to the bytes of their word v: lane p has byte p of each, from
/// the last value to the first, which undoes the other reflection.
struct Plane<const K: usize>;

impl<const K: usize> Plane<K> {
    const ORDERS: [[u64; 8]; 2] = {
        let mut orders = [[0; 8]; 2];
        let mut byte = 0;
        while byte < 128 {
            let (v, p, j) = (byte / 64, byte / 8 % 8, byte % 8);
            orders[v][p] |= (((7 - j) * 8 * K + 8 * v + p) as u64 % 128) << (8 * j);
            byte += 1;
        }
        orders
    };
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

#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn load(words: &[u64; 8]) -> __m512i {
    // SAFETY: 64 readable bytes; the load has no alignment.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn store(words: &mut [u64; 8], x: __m512i) {
    // SAFETY: 64 writable bytes; the store has no alignment.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), x) }
}
