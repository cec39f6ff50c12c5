//! A random order of many items.
//!
//! Fisher–Yates swaps with places all over the list: of a long one nearly every swap waits for memory. A long list is
//! therefore dealt first: each item goes to a part drawn uniformly and by itself, then each part, which fits the cache, is
//! shuffled (Rao, *Generation of random permutation of given number of elements using random sampling numbers*, 1961;
//! Sandelius, *A simple randomization procedure*, 1962). The order is uniform: given how many items each part
//! received, every way to deal them is equally likely, and every order within a part.

use rand::seq::SliceRandom;
use rand_core::CryptoRng;
use vesica_crypto::block::Block;
use vesica_crypto::memory::large_vec;
use vesica_crypto::prg::Prg;

/// Items that are shuffled at once.
pub(super) const SHORT: usize = 1 << 16;

/// Items of a part, about.
const PART: usize = 1 << 13;

/// More parts than this would be more streams of writes than the processor can follow.
const MOST_PARTS: usize = 1 << 11;

/// Random words drawn at a time.
const WORDS: usize = 1 << 10;

/// The numbers below `count` in uniformly random order.
pub fn random_order(count: u32, rng: &mut dyn CryptoRng) -> Vec<u32> {
    if count as usize <= SHORT {
        let mut order: Vec<u32> = (0..count).collect();
        order.shuffle(rng);
        return order;
    }
    let seed = Block::random(rng);
    let parts = (count as usize / PART).next_power_of_two().min(MOST_PARTS);
    let mut ends = vec![0u32; parts];
    let part_of = |word: u32| (word & (parts as u32 - 1)) as usize;
    // The same words twice: for how many items each part gets, and for which.
    let mut words = Words::new(seed, 0);
    (0..count).for_each(|_| ends[part_of(words.next())] += 1);
    let mut sum = 0;
    for end in &mut ends {
        // For now where the part begins; dealing moves it to where it ends.
        sum += std::mem::replace(end, sum);
    }
    let mut order = large_vec(0u32, count as usize);
    let mut words = Words::new(seed, 0);
    for item in 0..count {
        let place = &mut ends[part_of(words.next())];
        order[*place as usize] = item;
        *place += 1;
    }
    let mut words = Words::new(seed, 1);
    let mut begin = 0;
    for end in ends {
        let part = &mut order[begin as usize..end as usize];
        for last in (1..part.len()).rev() {
            part.swap(last, words.below(last as u32 + 1) as usize);
        }
        begin = end;
    }
    order
}

/// A stream of random words.
struct Words {
    prg: Prg,
    drawn: Box<[Block; WORDS / 4]>,
    used: usize,
}

impl Words {
    fn new(seed: Block, stream: u64) -> Self {
        Self { prg: Prg::fork(seed, stream), drawn: Box::new([Block::ZERO; WORDS / 4]), used: WORDS }
    }

    #[inline]
    fn next(&mut self) -> u32 {
        if self.used == WORDS {
            self.prg.fill_blocks(&mut self.drawn[..]);
            self.used = 0;
        }
        let word = Block::slice_as_bytes(&self.drawn[..]).as_chunks::<4>().0[self.used];
        self.used += 1;
        u32::from_le_bytes(word)
    }

    /// A uniform number below `range` (Lemire, *Fast random integer generation in an interval*, 2019).
    #[inline]
    fn below(&mut self, range: u32) -> u32 {
        loop {
            let product = u64::from(self.next()) * u64::from(range);
            // 2^32 mod range of the low halves belong to numbers that would come once more than the others.
            if product as u32 >= range || product as u32 >= range.wrapping_neg() % range {
                return (product >> 32) as u32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(count: usize, seed: u8) -> Vec<u32> {
        random_order(count as u32, &mut Prg::from_seed([seed; 16]))
    }

    #[test]
    fn every_number_comes_once() {
        for count in [0, 1, 2, SHORT, SHORT + 1, 300_000] {
            let mut numbers = order(count, 1);
            assert_eq!(numbers == order(count, 2), count < 2);
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..count as u32));
        }
    }

    #[test]
    fn numbers_stand_anywhere_beside_any_other() {
        // Sixteenths of the numbers against sixteenths of the places, and pairs of neighbours: chi-square of 256 cells
        // within six deviations.
        let count = 1 << 18;
        let order = order(count, 3);
        let sixteenth = |number: usize| number * 16 / count;
        let (mut places, mut pairs) = ([0u32; 256], [0u32; 256]);
        for (place, number) in order.iter().enumerate() {
            places[sixteenth(place) * 16 + sixteenth(*number as usize)] += 1;
        }
        for pair in order.windows(2) {
            pairs[sixteenth(pair[0] as usize) * 16 + sixteenth(pair[1] as usize)] += 1;
        }
        for counts in [places, pairs] {
            let chi: f64 = counts.iter().map(|count| (f64::from(*count) - 1024.0).powi(2) / 1024.0).sum();
            assert!((chi - 240.0).abs() < 6.0 * (2.0f64 * 240.0).sqrt(), "{chi}");
        }
    }

    #[test]
    fn small_ranges_are_uniform() {
        let mut words = Words::new(Block::from(4u128), 0);
        for range in [1, 3, 7, 3 << 30] {
            let mut counts = [0u32; 3];
            for _ in 0..30_000 {
                let number = words.below(range);
                assert!(number < range);
                counts[(u64::from(number) * 3 / u64::from(range)) as usize] += 1;
            }
            assert!(
                range % 3 != 0 || counts.iter().all(|count| (9500..10_500).contains(count)),
                "{counts:?}"
            );
        }
    }
}
