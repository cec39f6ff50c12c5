//! Linear codes that compress sparse noise to pseudo-random vectors, behind one trait.
//!
//! Dual learning parity with noise: with a public generator matrix G of a good code, G·e is pseudo-random for
//! a random sparse e. Both parties of a VOLE compress their noise vectors by the same G. G is linear over
//! GF(2), so a relation that holds at every position before holds at every position afterwards.
//!
//! | code | noise length | distance |
//! |---|---|---|
//! | [`accumulate`]: blocks of the Golay code, twice permuted and accumulated | 2m | [`accumulate::log2_light_words`] bounds it |
//! | [`random`]: a uniformly random matrix | 2m | [`random::log2_light_words`] bounds it |

pub mod accumulate;
mod layout;
mod permutation;
pub mod random;
mod sparse;

use core::ops::{BitXor, BitXorAssign};

use vesica_crypto::block::Block;
use vesica_crypto::golay::{self, LONG, SHORT};
use vesica_crypto::memory::{Blank, large_capacity, large_vec, large_zeros, prefetch, wipe};
use vesica_crypto::tree::add_at;

pub use sparse::Sparse;

/// An element of a field of characteristic two, which codes compress.
pub trait Word:
    Default + BitXor<Output = Self> + BitXorAssign + Send + Sync + Blank + zeroize::Zeroize + 'static
{
    /// The bits of the word where `mask`, which is all ones or zero, has ones.
    #[must_use]
    fn masked(self, mask: u64) -> Self;

    /// Adds `value` at the secret position `index`.
    fn put_at(words: &mut [Self], index: usize, value: Self) {
        words
            .iter_mut()
            .enumerate()
            .for_each(|(i, word)| *word ^= value.masked(0u64.wrapping_sub(u64::from(i == index))));
    }

    /// So many words that are zero, as [`large_zeros`] has them.
    fn zeros(count: usize) -> Vec<Self> {
        large_vec(Self::default(), count)
    }

    /// Compresses blocks of the Golay code, as [`golay::compress_from`] does.
    fn compress_from(words: &[Self], positions: &[[u16; LONG]], next: &[Self], out: &mut [[Self; SHORT]]) {
        for (i, (positions, out)) in positions.iter().zip(out).enumerate() {
            prefetch(next, i * LONG);
            *out = golay::compress(&positions.map(|position| words[usize::from(position)]));
        }
    }
}

/// Eight vectors of bits, each of which has one bit of a byte.
impl Word for u8 {
    #[inline]
    fn masked(self, mask: u64) -> Self {
        self & mask as u8
    }
}

impl Word for Block {
    #[inline]
    fn masked(self, mask: u64) -> Self {
        self & Block::from_halves(mask, mask)
    }

    fn put_at(words: &mut [Self], index: usize, value: Self) {
        add_at(words, index, value);
    }

    fn zeros(count: usize) -> Vec<Self> {
        large_zeros(count)
    }

    fn compress_from(words: &[Self], positions: &[[u16; LONG]], next: &[Self], out: &mut [[Self; SHORT]]) {
        golay::compress_from(words, positions, next, out);
    }
}

impl Word for u64 {
    #[inline]
    fn masked(self, mask: u64) -> Self {
        self & mask
    }

    fn zeros(count: usize) -> Vec<Self> {
        large_zeros(count)
    }

    fn compress_from(words: &[Self], positions: &[[u16; LONG]], next: &[Self], out: &mut [[Self; SHORT]]) {
        golay::compress_from(words, positions, next, out);
    }
}

/// A code, that is, its transposed encoder.
pub trait Code {
    /// Length of the noise vector.
    fn noise(&self) -> usize;

    /// Outputs; at most half the noise.
    fn outputs(&self) -> usize;

    /// Takes noise into `room`, whatever that held.
    fn intake<'a, W: Word>(&'a self, room: &'a mut Vec<W>) -> Intake<'a, W> {
        Intake::whole(room, self.noise())
    }

    /// Calls `each` with the noise that `room` has taken in, in parts of these lengths.
    fn taken<W: Word>(
        &self,
        room: &[W],
        lengths: impl Iterator<Item = usize> + Clone,
        mut each: impl FnMut(&[W]),
    ) {
        let mut rest = room;
        for length in lengths {
            let (part, others) = rest.split_at(length);
            rest = others;
            each(part);
        }
    }

    /// G·noise, appended to `out`, from the room that took in all of the noise. It is overwritten by
    /// intermediate values, and so is `scratch`.
    ///
    /// # Panics
    /// If the room is not that of the code.
    fn finish<W: Word>(&self, room: &mut Vec<W>, scratch: &mut Vec<W>, out: &mut Vec<W>);

    /// G·noise where neither room is needed afterwards, in the memory of one of them if possible.
    ///
    /// # Panics
    /// If the room is not that of the code.
    fn finish_within<W: Word>(&self, room: &mut Vec<W>, scratch: &mut Vec<W>) -> Vec<W> {
        let mut out = large_capacity(self.outputs() + MARGIN);
        self.finish(room, scratch, &mut out);
        out
    }

    /// Adds G·noise to `sums`: to as many as there are, the first ones first. More `passes` than one may take less
    /// memory, and more time.
    fn add_sparse<W: Word>(&self, noise: &Sparse<'_, W>, _passes: usize, sums: &mut [W])
    where
        Self: Sized,
    {
        add_dense(self, noise, sums);
    }
}

/// [`Code::add_sparse`] by way of all words of the noise.
fn add_dense<W: Word>(code: &impl Code, noise: &Sparse<'_, W>, sums: &mut [W]) {
    let (mut room, mut scratch) = (Vec::new(), Vec::new());
    let mut intake = code.intake(&mut room);
    noise.for_each_block(|block| intake.push(block));
    let mut out = code.finish_within(&mut room, &mut scratch);
    sums.iter_mut().zip(&out).for_each(|(sum, output)| *sum ^= *output);
    [&mut room, &mut scratch, &mut out].into_iter().for_each(wipe);
}

/// What a code may append beyond its outputs before it truncates them.
pub(super) const MARGIN: usize = 64;

/// Takes in noise from its first word to its last, in parts: as it is, or through the first pass of a code.
pub struct Intake<'a, W> {
    room: &'a mut [W],
    taken: usize,
    sum: W,
    /// The stream of each word's sum, and how far each stream has come.
    streams: Option<(&'a [u8], Box<[u32; 256]>)>,
}

impl<'a, W: Word> Intake<'a, W> {
    /// Noise of this length as it is.
    pub fn whole(room: &'a mut Vec<W>, length: usize) -> Self {
        make_room(room, length);
        Self { room, taken: 0, sum: W::default(), streams: None }
    }

    /// Running sums of the noise, word j appended to stream `buckets[j]`.
    fn summed(room: &'a mut [W], buckets: &'a [u8], starts: [u32; 256]) -> Self {
        Self { room, taken: 0, sum: W::default(), streams: Some((buckets, Box::new(starts))) }
    }

    /// Takes the next words.
    ///
    /// # Panics
    /// If there are more than the code has positions.
    pub fn push(&mut self, words: &[W]) {
        let range = self.taken..self.taken + words.len();
        self.taken = range.end;
        match &mut self.streams {
            None => self.room[range].copy_from_slice(words),
            Some((buckets, next)) => {
                let mut sum = self.sum;
                for (word, bucket) in words.iter().zip(&buckets[range]) {
                    sum ^= *word;
                    append(self.room, next, *bucket, sum);
                }
                self.sum = sum;
            }
        }
    }
}

/// How far ahead of its end the memory of a stream is asked for.
const AHEAD: usize = 8;

/// Appends a word to its stream.
#[inline(always)]
fn append<T>(to: &mut [T], next: &mut [u32; 256], bucket: u8, word: T) {
    let next = &mut next[usize::from(bucket)];
    // The stream's next cache line: no processor prefetches so many streams.
    prefetch(to, *next as usize + AHEAD);
    to[*next as usize] = word;
    *next += 1;
}

/// Makes room for so many words, which hold anything.
fn make_room<W: Word>(room: &mut Vec<W>, length: usize) {
    if room.len() != length {
        wipe(room);
        *room = W::zeros(length);
    }
}

/// The logarithm to base 2 of the binomial coefficient n over k, for programs that bound failures.
pub(crate) fn log2_binomial(n: f64, k: f64) -> f64 {
    if k < 0.0 || k > n {
        return f64::NEG_INFINITY;
    }
    log2_factorial(n) - log2_factorial(k) - log2_factorial(n - k)
}

/// log2(n!), by Stirling's series.
fn log2_factorial(n: f64) -> f64 {
    if n < 20.0 {
        return (2..=n as u64).map(|i| (i as f64).log2()).sum();
    }
    let natural = n * n.ln() - n + 0.5 * (2.0 * core::f64::consts::PI * n).ln() + 1.0 / (12.0 * n)
        - 1.0 / (360.0 * n * n * n);
    natural * core::f64::consts::LOG2_E
}

/// log2(2^a + 2^b).
pub(crate) fn log2_sum(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY {
        high
    } else {
        high + (low - high).exp2().ln_1p() * core::f64::consts::LOG2_E
    }
}

/// G·noise at once.
#[cfg(test)]
pub(crate) fn compressed<W: Word + PartialEq>(code: &impl Code, noise: &[W]) -> Vec<W> {
    let (mut room, mut out) = (Vec::new(), Vec::new());
    code.intake(&mut room).push(noise);
    let mut taken = Vec::new();
    let lengths = [noise.len() / 3, 0, noise.len() - noise.len() / 3];
    code.taken(&room, lengths.into_iter(), |part| taken.extend_from_slice(part));
    assert!(taken == noise, "what was taken in");
    code.finish(&mut room, &mut Vec::new(), &mut out);
    code.intake(&mut room).push(noise);
    assert!(code.finish_within(&mut room, &mut Vec::new()) == out, "in whichever memory");
    out
}

#[cfg(test)]
mod tests {
    use super::accumulate::Accumulate;
    use super::random::Random;
    use super::*;
    use rand_core::Rng;
    use vesica_crypto::prg::Prg;

    /// Noise of that many blocks is compressed like any other, onto what is there.
    fn sparse_noise_is_noise(code: &impl Code, blocks: usize) {
        let (mut prg, noise) = (Prg::from_seed([7; 16]), code.noise());
        let lengths: Vec<usize> =
            (0..blocks).map(|i| (i + 1) * noise / blocks - i * noise / blocks).collect();
        let points: Vec<usize> =
            lengths.iter().map(|length| prg.next_u64() as usize % (*length).max(1)).collect();
        let values: Vec<Block> = (0..blocks).map(|_| prg.block()).collect();
        let sparse = Sparse { lengths, points: &points, values: &values };
        let mut all = Vec::new();
        sparse.for_each_block(|block| all.extend_from_slice(block));
        assert_eq!(all.iter().filter(|word| **word != Block::ZERO).count(), blocks.min(noise));
        let expected = compressed(code, &all);
        for count in [expected.len(), expected.len() / 3] {
            let before: Vec<Block> = (0..count).map(|_| prg.block()).collect();
            let mut sums = before.clone();
            code.add_sparse(&sparse, 1, &mut sums);
            assert!((0..count).all(|i| sums[i] == before[i] ^ expected[i]), "{noise}, {blocks}, {count}");
            for passes in [2, 3] {
                code.add_sparse(&sparse, passes, &mut sums);
                code.add_sparse(&sparse, 1, &mut sums);
                assert!((0..count).all(|i| sums[i] == before[i] ^ expected[i]), "{passes} passes");
            }
        }
    }

    #[test]
    fn every_code_takes_sparse_noise() {
        let prg = &mut Prg::from_seed([6; 16]);
        for blocks in [1, 3, 24] {
            sparse_noise_is_noise(&Accumulate::new(12, 2, prg), blocks);
            sparse_noise_is_noise(&Accumulate::new(5000, 3, prg), blocks);
            sparse_noise_is_noise(&Random::new(100, prg), blocks);
        }
        // One bucket, two, several; more blocks than marks can number.
        for (outputs, blocks) in [(1000, 200), (10_000, 848), (100_000, 848), (20_000, 33_000)] {
            sparse_noise_is_noise(&Accumulate::new(outputs, 2, prg), blocks);
        }
    }

    #[test]
    fn logarithms_are_right() {
        assert!((log2_binomial(10.0, 3.0) - 120f64.log2()).abs() < 1e-9);
        assert!((log2_binomial(100.0, 50.0) - 96.348_5).abs() < 1e-3);
        assert!((log2_factorial(20.0) - log2_factorial(19.0) - 20f64.log2()).abs() < 1e-6);
        assert_eq!(log2_binomial(3.0, 4.0), f64::NEG_INFINITY);
        assert!((log2_sum(3.0, 3.0) - 4.0).abs() < 1e-12);
        assert!((log2_sum(f64::NEG_INFINITY, 3.0) - 3.0).abs() < 1e-12);
    }
}
