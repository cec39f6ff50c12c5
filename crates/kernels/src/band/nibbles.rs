//! Bands by four columns at a time, for processors with shuffles of bytes and no GFNI: sums under sixteen rows that
//! start near one another, and systems solved by blocks of sixteen rows.
//!
//! Four columns have sixteen sums. A shuffle looks up sixteen bytes in each lane of sixteen bytes: with the four bits by
//! which each of sixteen rows selects among four columns as indices, and one byte of each of the sixteen sums as a table,
//! it gives that byte of what each row selects. The tables of four columns serve all rows that reach them. This is the
//! method of the four Russians (Arlazarov, Dinic, Kronrod, Faradžev, 1970) without addresses that depend on bits.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::shared::shifted;
use super::together::{load, range_of, store};
use super::x86::wide;
use super::{BandRow, XorValue, substitute_range};

/// Rows of a step, and columns of a block.
const ROWS: usize = 16;

/// Columns that share tables.
const COLUMNS: usize = 4;

/// Rows of one step start less than this many columns apart.
const SPAN: usize = 64;

/// Most words of a band.
pub(super) const MOST_WORDS: usize = 2;

/// Steps of [`sums`] that share tables.
const STEPS: usize = 4;

/// Most groups of four columns whose tables they share: those of a band, and of 192 columns in which rows start.
const MOST_GROUPS: usize = (64 * MOST_WORDS + 192) / COLUMNS;

/// Lane l of vector t: byte t + 4·l of each of sixteen values.
type Planes = [__m512i; 4];

/// How sixteen rows select among four columns: a byte each.
type Selection = [u64; 2];

/// How sixteen rows select among all groups of four columns that they reach.
type Selections = [Selection; 16 * (MOST_WORDS + 1)];

/// Sets `sums[i]` to the sum of the values of `table`, two words each, that row i selects.
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
pub(super) fn sums<V: XorValue, const N: usize>(table: &[V], rows: &[BandRow<N>], sums: &mut [V]) {
    assert!(V::WORDS == 2 && size_of::<V>() == 16, "words of a value");
    assert!(N <= MOST_WORDS, "words of a band");
    let mut memory = [const { MaybeUninit::<Planes>::uninit() }; MOST_GROUPS];
    for (rows, sums) in rows.chunks(STEPS * ROWS).zip(sums.chunks_mut(STEPS * ROWS)) {
        let (first, behind) = range_of(rows);
        let groups = (behind - first).div_ceil(COLUMNS);
        let window = table.get(first..first + COLUMNS * groups).filter(|_| groups <= MOST_GROUPS);
        let (Some(window), (steps, rest)) = (window, rows.as_chunks::<ROWS>()) else {
            wide::sums::<V, N, 2>(table, rows, sums);
            continue;
        };
        let (step_sums, rest_sums) = sums.as_chunks_mut::<ROWS>();
        let groups = if steps.is_empty() { 0 } else { groups };
        for (tables, columns) in memory[..groups].iter_mut().zip(window.as_chunks::<COLUMNS>().0) {
            tables.write(tables_of(load(columns)));
        }
        // SAFETY: the window has so many groups, and the tables of each have just been written.
        let tables = unsafe { core::slice::from_raw_parts(memory.as_ptr().cast::<Planes>(), groups) };
        for (rows, sums) in steps.iter().zip(step_sums) {
            let (begin, reached) = range_of(rows);
            // The first group that a row of this step may reach.
            let group = (begin - first) / COLUMNS;
            let begin = first + group * COLUMNS;
            if reached - begin >= SPAN + 64 * N {
                wide::sums::<V, N, 2>(table, rows, sums);
                continue;
            }
            let mut words = [[0; ROWS]; MOST_WORDS + 1];
            for (i, row) in rows.iter().enumerate() {
                set_words(&mut words, i, &row.band, row.start - begin as u32);
            }
            let selected = selections::<N>(&words);
            let tables = &tables[group..][..(reached - begin).div_ceil(COLUMNS)];
            let mut planes = [_mm512_setzero_si512(); 4];
            for (selection, tables) in selected.iter().zip(tables) {
                add_selected(&mut planes, selection, tables);
            }
            for (sums, values) in sums.as_chunks_mut().0.iter_mut().zip(values_of(planes)) {
                store::<V, COLUMNS>(sums, values);
            }
        }
        wide::sums::<V, N, 2>(table, rest, rest_sums);
    }
}

/// Solves a triangular system of values of two words, as [`back_substitute`](super::back_substitute) says.
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
pub(super) fn back_substitute<V: XorValue, const N: usize>(bands: &[[u64; N]], table: &mut [V]) {
    assert!(V::WORDS == 2 && size_of::<V>() == 16, "words of a value");
    assert!(N <= MOST_WORDS, "words of a band");
    // Columns before the first boundary of a cache line.
    let ahead = (table.as_ptr().align_offset(64) % COLUMNS).min(bands.len());
    let end = bands.len() - (bands.len() - ahead) % ROWS;
    substitute_range(bands, table, end..bands.len());
    let (of_blocks, behind) = table[ahead..].split_at_mut(end - ahead);
    let (blocks, rows) = (of_blocks.as_chunks_mut::<ROWS>().0, bands[ahead..end].as_chunks::<ROWS>().0);
    // The tables of group g are at g modulo how many a row reaches.
    let reached = 64 * N / COLUMNS;
    let of_block = ROWS / COLUMNS;
    let mut kept = [[_mm512_setzero_si512(); 4]; 64 * MOST_WORDS / COLUMNS];
    for (group, columns) in (blocks.len() * of_block..).zip(behind.as_chunks::<COLUMNS>().0).take(reached) {
        kept[group % reached] = tables_of(load(columns));
    }
    for (block, (values, rows)) in blocks.iter_mut().zip(rows).enumerate().rev() {
        let (mut words, mut own) = ([[0; ROWS]; MOST_WORDS + 1], [0; ROWS]);
        for (i, band) in rows.iter().enumerate() {
            own[i] = set_words(&mut words, i, band, i as u32) & (u64::MAX << 1 << i);
        }
        let selected = selections::<N>(&words);
        let mut planes = [_mm512_setzero_si512(); 4];
        // The columns next behind the block come last: they have only just been solved.
        for group in (of_block..of_block + reached).rev() {
            add_selected(&mut planes, &selected[group], &kept[(block * of_block + group) % reached]);
        }
        let mut solved = values_of(planes);
        let values = values.as_chunks_mut::<COLUMNS>().0;
        for (sum, values) in solved.iter_mut().zip(&*values) {
            *sum = _mm512_xor_si512(*sum, load(values));
        }
        let own = both_words(&own);
        solve_own::<3>(&mut solved, &own);
        solve_own::<2>(&mut solved, &own);
        solve_own::<1>(&mut solved, &own);
        solve_own::<0>(&mut solved, &own);
        for (group, (values, solved)) in values.iter_mut().zip(solved).enumerate() {
            store(values, solved);
            kept[(block * of_block + group) % reached] = tables_of(solved);
        }
    }
    substitute_range(bands, table, 0..ahead);
}

/// Adds the last four values that are left, those of vector Q, to the values before them whose rows select them.
#[target_feature(enable = "avx512f")]
#[inline]
fn solve_own<const Q: usize>(solved: &mut [__m512i; 4], own: &[__m512i; 4]) {
    const WORDS: [[u64; 8]; 4] = [
        [0, 1, 0, 1, 0, 1, 0, 1],
        [2, 3, 2, 3, 2, 3, 2, 3],
        [4, 5, 4, 5, 4, 5, 4, 5],
        [6, 7, 6, 7, 6, 7, 6, 7],
    ];
    for j in (0..COLUMNS).rev() {
        let value = _mm512_permutexvar_epi64(load(&WORDS[j]), solved[Q]);
        let bit = _mm512_set1_epi64(1 << (COLUMNS * Q + j));
        for q in 0..=Q {
            let rows = _mm512_test_epi64_mask(own[q], bit);
            solved[q] = _mm512_mask_xor_epi64(solved[q], rows, solved[q], value);
        }
    }
}

/// The word of each row, twice side by side as the words of its value are.
#[target_feature(enable = "avx512f")]
#[inline]
fn both_words(words: &[u64; ROWS]) -> [__m512i; 4] {
    let mut twice = [_mm512_setzero_si512(); 4];
    for (q, twice) in twice.iter_mut().enumerate() {
        let words: &[u64; 4] = &words.as_chunks().0[q];
        // SAFETY: 32 readable bytes; the load has no alignment.
        let words = unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
        *twice = _mm512_permutexvar_epi64(load(&[0, 0, 1, 1, 2, 2, 3, 3]), _mm512_castsi256_si512(words));
    }
    twice
}

/// Sets the words of row i of a step, moved by so many columns, where [`selections`] wants them. Returns the first.
#[inline(always)]
fn set_words<const N: usize>(
    words: &mut [[u64; ROWS]; MOST_WORDS + 1],
    i: usize,
    band: &[u64; N],
    by: u32,
) -> u64 {
    let slot = 2 * (i / 4) + i % 4 / 2 + 8 * (i % 2);
    let (moved, last) = shifted(band, by);
    for (words, word) in words.iter_mut().zip(moved) {
        words[slot] = word;
    }
    words[N][slot] = last;
    moved[0]
}

/// What the rows select: of each byte of their words the two halves.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn selections<const N: usize>(words: &[[u64; ROWS]; MOST_WORDS + 1]) -> Selections {
    const ORDERS: [[u64; 8]; 2] = [[0, 1, 8, 9, 2, 3, 10, 11], [4, 5, 12, 13, 6, 7, 14, 15]];
    let mut selections = [[0; 2]; 16 * (MOST_WORDS + 1)];
    let low = _mm512_set1_epi8(0x0f);
    for (words, selections) in words[..=N].iter().zip(selections.as_chunks_mut::<16>().0) {
        let [first, second] = [load(&words.as_chunks::<8>().0[0]), load(&words.as_chunks::<8>().0[1])];
        let pairs = [_mm512_unpacklo_epi8(first, second), _mm512_unpackhi_epi8(first, second)];
        let fours = [_mm512_unpacklo_epi16(pairs[0], pairs[1]), _mm512_unpackhi_epi16(pairs[0], pairs[1])];
        for (fours, selections) in
            fours.into_iter().zip(selections.as_flattened_mut().as_chunks_mut::<16>().0)
        {
            let bytes = transposed_fours(fours);
            let halves = [_mm512_and_si512(bytes, low), _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), low)];
            // Of each lane both halves, one behind the other.
            for (selections, order) in selections.as_chunks_mut().0.iter_mut().zip(&ORDERS) {
                store::<u64, 8>(selections, _mm512_permutex2var_epi64(halves[0], load(order), halves[1]));
            }
        }
    }
    selections
}

/// Adds to each row what it selects among four columns.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn add_selected(planes: &mut Planes, selection: &Selection, tables: &Planes) {
    // SAFETY: 16 readable bytes; the load has no alignment.
    let selection = _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(selection.as_ptr().cast()) });
    for (plane, table) in planes.iter_mut().zip(tables) {
        *plane = _mm512_xor_si512(*plane, _mm512_shuffle_epi8(*table, selection));
    }
}

/// All sums of four values.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn tables_of(values: __m512i) -> Planes {
    /// Vector t, value i: where sums that contain the value have its byte, and others zero.
    const BYTES: [[[u64; 8]; 4]; 4] = {
        let mut bytes = [[[0; 8]; 4]; 4];
        let mut place = 0;
        while place < 4 * 4 * 64 {
            let (t, i, lane, sum) = (place / 256, place / 64 % 4, place / 16 % 4, place % 16);
            let byte = if sum >> i & 1 == 1 { t + 4 * lane } else { 0x80 };
            bytes[t][i][place / 8 % 8] |= (byte as u64) << (8 * (place % 8));
            place += 1;
        }
        bytes
    };
    let each = [
        _mm512_shuffle_i64x2::<0x00>(values, values),
        _mm512_shuffle_i64x2::<0x55>(values, values),
        _mm512_shuffle_i64x2::<0xaa>(values, values),
        _mm512_shuffle_i64x2::<0xff>(values, values),
    ];
    let mut tables = [_mm512_setzero_si512(); 4];
    for (table, bytes) in tables.iter_mut().zip(&BYTES) {
        for (value, bytes) in each.iter().zip(bytes) {
            *table = _mm512_xor_si512(*table, _mm512_shuffle_epi8(*value, load(bytes)));
        }
    }
    tables
}

/// The sixteen values, four a vector.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn values_of(planes: Planes) -> [__m512i; 4] {
    let [a, b, c, d] = planes;
    // Bytes 4·l to 4·l + 3 of a value are in lane l.
    let low = [_mm512_unpacklo_epi8(a, b), _mm512_unpacklo_epi8(c, d)];
    let high = [_mm512_unpackhi_epi8(a, b), _mm512_unpackhi_epi8(c, d)];
    [
        transposed_fours(_mm512_unpacklo_epi16(low[0], low[1])),
        transposed_fours(_mm512_unpackhi_epi16(low[0], low[1])),
        transposed_fours(_mm512_unpacklo_epi16(high[0], high[1])),
        transposed_fours(_mm512_unpackhi_epi16(high[0], high[1])),
    ]
}

/// Four bytes j of lane i become four bytes i of lane j.
#[target_feature(enable = "avx512f")]
#[inline]
fn transposed_fours(x: __m512i) -> __m512i {
    const ORDER: [u64; 8] = {
        let mut order = [0; 8];
        let mut to = 0;
        while to < 16 {
            order[to / 2] |= (to as u64 / 4 + to as u64 % 4 * 4) << (32 * (to % 2));
            to += 1;
        }
        order
    };
    _mm512_permutexvar_epi32(load(&ORDER), x)
}
