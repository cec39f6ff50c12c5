//! The kernels of weighted XOR sums for x86-64.
//!
//! The wide kernel keeps the streams of four keys, two vectors each, in flight, which hides the latency of
//! the instructions. These four are also added up first. States, round keys and sums fit the registers. If
//! the loop over the rounds is unrolled, they do not: the compiler then takes one vector of each key through
//! all rounds before the other and spills the round keys. Loops count, because not every build inlines
//! iterators into functions with target features.

use core::arch::x86_64::*;
use core::hint::black_box;

use zeroize::Zeroize;

use super::{BLOCKS, TileRow};
use crate::block::Block;

/// Vectors of a row.
const VECTORS: usize = BLOCKS / 4;

/// Vectors of 256 bits of a row.
const HALVES: usize = BLOCKS / 2;

/// The schedules of four keys, round by round.
pub(super) type Quad = [[Block; 4]; 11];

/// Quads whose sums for the four lowest bits stay in registers.
const QUADS: usize = 4;

/// A part of a stream.
type Vectors = [__m512i; VECTORS];

/// A part of a stream, in vectors of 256 bits.
type Halves = [__m256i; HALVES];

/// The most bits that number a key.
const MOST_BITS: usize = 8;

const EMPTY: TileRow = [Block::ZERO; BLOCKS];

/// Adds up the streams of four quads; a function would not be inlined everywhere.
macro_rules! add_sixteen {
    ($sums:ident, $quads:expr, $counters:expr) => {
        let [quad0, quad1, quad2, quad3] = $quads;
        $sums.add::<0>(quad0, $counters);
        $sums.add::<1>(quad1, $counters);
        $sums.add::<2>(quad2, $counters);
        $sums.add::<3>(quad3, $counters);
    };
}

/// Adds up the streams of all keys. There are 2^k keys for k weighted sums.
#[target_feature(enable = "vaes,avx512f")]
pub(super) fn wide(quads: &[Quad], first: u64, sum: &mut TileRow, weighted: &mut [TileRow]) {
    let first = _mm512_set_epi64(0, first as i64, 0, first as i64, 0, first as i64, 0, first as i64);
    let numbers = _mm512_add_epi64(first, _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0));
    let counters = [numbers, _mm512_add_epi64(numbers, _mm512_set_epi64(0, 4, 0, 4, 0, 4, 0, 4))];
    // The numbers of the four quads of sixteen keys are known to the compiler.
    match quads {
        [quad] => {
            let mut sums = Sums::zero();
            sums.add::<0>(quad, &counters);
            sums.store(sum, weighted);
        }
        [quad0, quad1] => {
            let mut sums = Sums::zero();
            sums.add::<0>(quad0, &counters);
            sums.add::<1>(quad1, &counters);
            sums.store(sum, weighted);
        }
        [_, _, _, _] => {
            let mut sums = Sums::zero();
            add_sixteen!(sums, [&quads[0], &quads[1], &quads[2], &quads[3]], &counters);
            sums.store(sum, weighted);
        }
        _ => many(quads, &counters, sum, weighted),
    }
}

/// Sixteen keys at a time; their sum is added for each higher bit that their number has.
#[target_feature(enable = "vaes,avx512f")]
#[inline]
fn many(quads: &[Quad], counters: &Vectors, sum: &mut TileRow, weighted: &mut [TileRow]) {
    let zero = [_mm512_setzero_si512(); VECTORS];
    let mut sums = Sums::zero();
    let (mut total, mut high) = (zero, [zero; 4]);
    for (number, quads) in quads.as_chunks::<QUADS>().0.iter().enumerate() {
        sums.all = zero;
        add_sixteen!(sums, quads, counters);
        for i in 0..VECTORS {
            for (bit, high) in high.iter_mut().enumerate() {
                if number >> bit & 1 == 1 {
                    high[i] = _mm512_xor_si512(high[i], sums.all[i]);
                }
            }
            total[i] = _mm512_xor_si512(total[i], sums.all[i]);
        }
    }
    sums.all = total;
    let (low, rest) = weighted.split_at_mut(QUADS);
    sums.store(sum, low);
    for (weighted, high) in rest.iter_mut().zip(high) {
        store_wide(weighted, high);
    }
}

/// The sum of all keys so far, and those of the keys whose number has bit 0, …, 3.
struct Sums {
    all: Vectors,
    low: [Vectors; 4],
}

impl Sums {
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn zero() -> Self {
        let zero = [_mm512_setzero_si512(); VECTORS];
        Self { all: zero, low: [zero; 4] }
    }

    /// Adds up the streams of quad number `Q` of sixteen keys.
    #[target_feature(enable = "vaes,avx512f")]
    #[inline]
    #[expect(clippy::needless_range_loop, reason = "iterators are not inlined here by every build")]
    fn add<const Q: usize>(&mut self, keys: &Quad, counters: &Vectors) {
        let mut x = [*counters; 4];
        for k in 0..4 {
            let key = splat(&keys[0][k]);
            x[k] = [_mm512_xor_si512(x[k][0], key), _mm512_xor_si512(x[k][1], key)];
        }
        // How many rounds there are is not known to the compiler.
        let (mut round, last) = (1, black_box(10).min(10));
        while round < last {
            for k in 0..4 {
                let key = splat(&keys[round][k]);
                x[k] = [_mm512_aesenc_epi128(x[k][0], key), _mm512_aesenc_epi128(x[k][1], key)];
            }
            round += 1;
        }
        for k in 0..4 {
            let key = splat(&keys[10][k]);
            x[k] = [_mm512_aesenclast_epi128(x[k][0], key), _mm512_aesenclast_epi128(x[k][1], key)];
        }
        for i in 0..VECTORS {
            let upper = _mm512_xor_si512(x[2][i], x[3][i]);
            let four = _mm512_xor_si512(_mm512_xor_si512(x[0][i], x[1][i]), upper);
            self.low[0][i] = _mm512_xor_si512(self.low[0][i], _mm512_xor_si512(x[1][i], x[3][i]));
            self.low[1][i] = _mm512_xor_si512(self.low[1][i], upper);
            if Q & 1 == 1 {
                self.low[2][i] = _mm512_xor_si512(self.low[2][i], four);
            }
            if Q & 2 == 2 {
                self.low[3][i] = _mm512_xor_si512(self.low[3][i], four);
            }
            self.all[i] = _mm512_xor_si512(self.all[i], four);
        }
    }

    /// Stores the sum of all, and as many of the others as there is room for.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn store(&self, sum: &mut TileRow, weighted: &mut [TileRow]) {
        store_wide(sum, self.all);
        for bit in 0..weighted.len().min(self.low.len()) {
            store_wide(&mut weighted[bit], self.low[bit]);
        }
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
fn store_wide(row: &mut TileRow, vectors: [__m512i; VECTORS]) {
    let bytes = Block::slice_as_mut_bytes(row).as_chunks_mut::<64>().0;
    for i in 0..VECTORS {
        // SAFETY: 64 writable bytes; the store has no alignment.
        unsafe { _mm512_storeu_si512(bytes[i].as_mut_ptr().cast(), vectors[i]) }
    }
}

/// Two keys at a time, four vectors each: all of them and a round key of either fit the registers.
#[target_feature(enable = "vaes,avx2")]
#[expect(clippy::needless_range_loop, reason = "iterators are not inlined here by every build")]
pub(super) fn middle(rounds: &[[Block; 11]], first: u64, sum: &mut TileRow, weighted: &mut [TileRow]) {
    let numbers = _mm256_set_epi64x(0, first.wrapping_add(1) as i64, 0, first as i64);
    let mut counters = [numbers; HALVES];
    for i in 1..HALVES {
        counters[i] = _mm256_add_epi64(counters[i - 1], _mm256_set_epi64x(0, 2, 0, 2));
    }
    let (pairs, mut waiting) = (rounds.as_chunks::<2>().0, [EMPTY; MOST_BITS]);
    for number in 0..pairs.len() {
        let [even, odd] = two_streams(&pairs[number], &counters);
        let mut both = even;
        for i in 0..HALVES {
            both[i] = _mm256_xor_si256(even[i], odd[i]);
        }
        add_vectors(&mut weighted[0], &odd);
        add_up(2 * number + 1, 1, both, &mut waiting, sum, weighted);
    }
    waiting.as_flattened_mut().zeroize();
}

/// The streams of two keys.
#[target_feature(enable = "vaes,avx2")]
#[inline]
#[expect(clippy::needless_range_loop, reason = "iterators are not inlined here by every build")]
fn two_streams(keys: &[[Block; 11]; 2], counters: &Halves) -> [Halves; 2] {
    let mut x = [*counters; 2];
    for k in 0..2 {
        let key = splat_twice(&keys[k][0]);
        for i in 0..HALVES {
            x[k][i] = _mm256_xor_si256(x[k][i], key);
        }
    }
    // How many rounds there are is not known to the compiler.
    let (mut round, last) = (1, black_box(10).min(10));
    while round < last {
        for k in 0..2 {
            let key = splat_twice(&keys[k][round]);
            for i in 0..HALVES {
                x[k][i] = _mm256_aesenc_epi128(x[k][i], key);
            }
        }
        round += 1;
    }
    for k in 0..2 {
        let key = splat_twice(&keys[k][10]);
        for i in 0..HALVES {
            x[k][i] = _mm256_aesenclast_epi128(x[k][i], key);
        }
    }
    x
}

/// A key at a time, eight vectors.
#[target_feature(enable = "aes,avx2")]
#[expect(clippy::needless_range_loop, reason = "iterators are not inlined here by every build")]
pub(super) fn narrow(rounds: &[[Block; 11]], first: u64, sum: &mut TileRow, weighted: &mut [TileRow]) {
    let mut waiting = [EMPTY; MOST_BITS];
    for number in 0..rounds.len() {
        let stream = one_stream(&rounds[number], first);
        let mut halves = [_mm256_setzero_si256(); HALVES];
        for i in 0..HALVES {
            halves[i] = _mm256_set_m128i(stream[2 * i + 1], stream[2 * i]);
        }
        add_up(number, 0, halves, &mut waiting, sum, weighted);
    }
    waiting.as_flattened_mut().zeroize();
}

/// The stream of a key.
#[target_feature(enable = "aes,avx2")]
#[inline]
#[expect(clippy::needless_range_loop, reason = "iterators are not inlined here by every build")]
fn one_stream(key: &[Block; 11], first: u64) -> [__m128i; BLOCKS] {
    let mut x = [load(&key[0]); BLOCKS];
    for i in 0..BLOCKS {
        x[i] = _mm_xor_si128(x[i], _mm_set_epi64x(0, first.wrapping_add(i as u64) as i64));
    }
    // How many rounds there are is not known to the compiler.
    let (mut round, last) = (1, black_box(10).min(10));
    while round < last {
        let key = load(&key[round]);
        for i in 0..BLOCKS {
            x[i] = _mm_aesenc_si128(x[i], key);
        }
        round += 1;
    }
    let last = load(&key[10]);
    for i in 0..BLOCKS {
        x[i] = _mm_aesenclast_si128(x[i], last);
    }
    x
}

/// Adds up rows that come in the order of their numbers, as a binary counter counts: `row` is the sum of the keys
/// whose numbers differ from `number` below `bit` alone. A sum that has the next bit meets the waiting one that lacks
/// it. So a row is added once for each bit that ends, and not for each bit of its number.
#[target_feature(enable = "avx2")]
#[inline]
fn add_up(
    number: usize,
    mut bit: usize,
    mut row: Halves,
    waiting: &mut [TileRow; MOST_BITS],
    sum: &mut TileRow,
    weighted: &mut [TileRow],
) {
    while number >> bit & 1 == 1 {
        add_vectors(&mut weighted[bit], &row);
        add_row(&mut row, &waiting[bit]);
        bit += 1;
    }
    store_halves(if bit < weighted.len() { &mut waiting[bit] } else { sum }, &row);
}

#[target_feature(enable = "avx2")]
#[inline]
fn splat_twice(key: &Block) -> __m256i {
    _mm256_broadcastsi128_si256(load(key))
}

/// Adds the vectors to the row.
#[target_feature(enable = "avx2")]
#[inline]
fn add_vectors(row: &mut TileRow, vectors: &Halves) {
    let mut sum = *vectors;
    add_row(&mut sum, row);
    store_halves(row, &sum);
}

/// Adds the row to the vectors.
#[target_feature(enable = "avx2")]
#[inline]
fn add_row(vectors: &mut Halves, row: &TileRow) {
    let bytes = Block::slice_as_bytes(row).as_chunks::<32>().0;
    for i in 0..HALVES {
        // SAFETY: 32 readable bytes; the load has no alignment.
        vectors[i] = _mm256_xor_si256(vectors[i], unsafe { _mm256_loadu_si256(bytes[i].as_ptr().cast()) });
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn store_halves(row: &mut TileRow, vectors: &Halves) {
    let bytes = Block::slice_as_mut_bytes(row).as_chunks_mut::<32>().0;
    for i in 0..HALVES {
        // SAFETY: 32 writable bytes; the store has no alignment.
        unsafe { _mm256_storeu_si256(bytes[i].as_mut_ptr().cast(), vectors[i]) }
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(block: &Block) -> __m128i {
    // SAFETY: sixteen readable bytes; the load has no alignment.
    unsafe { _mm_loadu_si128(block.as_bytes().as_ptr().cast()) }
}
