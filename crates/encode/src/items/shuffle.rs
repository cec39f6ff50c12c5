//! A random order of many items.
//!
//! Fisher–Yates swaps entries all over the list. In a long list, nearly every swap waits for memory. A long
//! list is therefore partitioned first: each item goes to an independent, uniformly random bucket. Then each
//! bucket, which fits the cache, is shuffled (Rao, *Generation of random permutation of given number of
//! elements using random sampling numbers*, 1961; Sandelius, *A simple randomization procedure*, 1962). The
//! order is uniform: given the sizes of the buckets, every partition into them is equally likely, and so is
//! every order within a bucket.

use rand::seq::SliceRandom;
use rand_core::CryptoRng;
use vesica_crypto::memory::large_vec;
use vesica_crypto::wide_prg::WidePrg;
use zeroize::Zeroizing;

/// Up to so many items are shuffled without a partition.
pub(super) const SHORT: usize = 1 << 16;

/// Approximate items of a bucket.
const BUCKET: usize = 1 << 13;

/// Most buckets: the processor cannot follow more streams of writes.
const MOST_BUCKETS: usize = 1 << 11;

/// Random words that one call draws.
const BATCH: usize = 1 << 10;

/// Bytes of the seeds of a partition: those of the widest level.
const SEED: usize = 32;

/// The numbers below `count` in uniformly random order, which is as hard to guess as 256 bits.
pub fn random_order(count: u32, rng: &mut dyn CryptoRng) -> Vec<u32> {
    if count as usize <= SHORT {
        let mut order: Vec<u32> = (0..count).collect();
        order.shuffle(rng);
        return order;
    }
    let [mut partition, mut within] = [(); 2].map(|()| Zeroizing::new([0; SEED]));
    rng.fill_bytes(&mut *partition);
    rng.fill_bytes(&mut *within);
    let buckets = (count as usize / BUCKET).next_power_of_two().min(MOST_BUCKETS);
    let mut ends = vec![0u32; buckets];
    let bucket_of = |word: u32| (word & (buckets as u32 - 1)) as usize;
    // The words serve twice: they give the sizes of the buckets, and then their items.
    let mut words = Words::new(&partition);
    (0..count).for_each(|_| ends[bucket_of(words.next())] += 1);
    let mut sum = 0;
    for end in &mut ends {
        // Where the bucket begins; writing its items moves this to its end.
        sum += std::mem::replace(end, sum);
    }
    let mut order = large_vec(0u32, count as usize);
    let mut words = Words::new(&partition);
    for item in 0..count {
        let slot = &mut ends[bucket_of(words.next())];
        order[*slot as usize] = item;
        *slot += 1;
    }
    let mut words = Words::new(&within);
    let mut begin = 0;
    for end in ends {
        let bucket = &mut order[begin as usize..end as usize];
        for last in (1..bucket.len()).rev() {
            bucket.swap(last, words.below(last as u32 + 1) as usize);
        }
        begin = end;
    }
    order
}

/// A stream of random words.
struct Words {
    prg: WidePrg,
    drawn: Zeroizing<Vec<[u8; 4]>>,
    used: usize,
}

impl Words {
    fn new(seed: &[u8; SEED]) -> Self {
        Self { prg: WidePrg::from_seed(seed), drawn: Zeroizing::new(vec![[0; 4]; BATCH]), used: BATCH }
    }

    #[inline]
    fn next(&mut self) -> u32 {
        if self.used == BATCH {
            self.prg.fill(self.drawn.as_flattened_mut());
            self.used = 0;
        }
        let word = self.drawn[self.used];
        self.used += 1;
        u32::from_le_bytes(word)
    }

    /// A uniform number below `range` (Lemire, *Fast random integer generation in an interval*, 2019).
    #[inline]
    fn below(&mut self, range: u32) -> u32 {
        loop {
            let product = u64::from(self.next()) * u64::from(range);
            // 2^32 mod range of the low halves belong to numbers that would come once more often than the
            // others.
            if product as u32 >= range || product as u32 >= range.wrapping_neg() % range {
                return (product >> 32) as u32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vesica_crypto::prg::Prg;

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

    /// Bytes that begin with some that are given, and are then those of a stream.
    struct Begun(Vec<u8>, Prg);

    impl rand_core::TryRng for Begun {
        type Error = std::convert::Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            let mut word = [0; 4];
            self.try_fill_bytes(&mut word).map(|()| u32::from_le_bytes(word))
        }

        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            let mut word = [0; 8];
            self.try_fill_bytes(&mut word).map(|()| u64::from_le_bytes(word))
        }

        fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
            for byte in out {
                *byte = self.0.pop().unwrap_or_else(|| {
                    let mut next = [0];
                    self.1.fill(&mut next);
                    next[0]
                });
            }
            Ok(())
        }
    }

    impl rand_core::TryCryptoRng for Begun {}

    #[test]
    fn an_order_takes_more_than_a_block_of_the_randomness() {
        for count in [1000, SHORT as u32 + 1] {
            // Whoever guesses the first 31 bytes still does not know the order, nor where an item's bucket is.
            let orders =
                [1, 2].map(|seed| random_order(count, &mut Begun(vec![7; 31], Prg::from_seed([seed; 16]))));
            let same = orders[0].iter().zip(&orders[1]).filter(|(one, other)| one == other).count();
            assert!(same < 100, "{same} of {count}");
        }
    }

    #[test]
    fn numbers_stand_anywhere_beside_any_other() {
        // Sixteenths of the numbers against sixteenths of the positions, and pairs of neighbours: chi-square
        // of 256 cells within six deviations.
        let count = 1 << 18;
        let order = order(count, 3);
        let sixteenth = |number: usize| number * 16 / count;
        let (mut positions, mut pairs) = ([0u32; 256], [0u32; 256]);
        for (position, number) in order.iter().enumerate() {
            positions[sixteenth(position) * 16 + sixteenth(*number as usize)] += 1;
        }
        for pair in order.windows(2) {
            pairs[sixteenth(pair[0] as usize) * 16 + sixteenth(pair[1] as usize)] += 1;
        }
        for counts in [positions, pairs] {
            let chi: f64 = counts.iter().map(|count| (f64::from(*count) - 1024.0).powi(2) / 1024.0).sum();
            assert!((chi - 240.0).abs() < 6.0 * (2.0f64 * 240.0).sqrt(), "{chi}");
        }
    }

    #[test]
    fn small_ranges_are_uniform() {
        let mut words = Words::new(&[4; SEED]);
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
