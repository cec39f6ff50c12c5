//! Uniformly random permutations that are applied in two passes over cached memory.
//!
//! Rao and Sandelius shuffle a list by giving each element a random bucket and shuffling every bucket: the
//! result is a uniformly random permutation, whatever the sizes of the buckets come out to be. Kept in that
//! form, a permutation can be applied without random access to memory: elements in their old order are
//! appended to their buckets, a few hundred streams, and each bucket, which fits the second-level cache, is
//! read in its own random order.
//!
//! ```text
//! old order j = 0, 1, …    ─► bucket[j] says where it goes        (scatter: sequential writes to each bucket)
//! new order i = 0, 1, …    ◄─ position[i] within the bucket       (gather: random reads within one bucket)
//! ```

use core::ops::Range;

use rand_core::Rng;
use vesica_crypto::memory::large_capacity;
use vesica_crypto::prg::Prg;

/// Elements of a bucket, about.
const BUCKET: usize = 1 << 13;
/// Bucket numbers are bytes.
pub(super) const MAX_BUCKETS: usize = 256;

/// A permutation, public.
pub(super) struct Permutation {
    /// Of each element in the old order.
    buckets: Vec<u8>,
    /// Where each bucket starts in the new order, and the end of the last.
    starts: Vec<usize>,
    /// Which element of its bucket stands at each position of the new order.
    positions: Vec<u16>,
}

impl Permutation {
    /// Longest permutation.
    pub(super) const MAX: usize = 1 << 23;

    /// A uniformly random permutation of `length` elements.
    ///
    /// # Panics
    /// If the length is above [`MAX`](Self::MAX).
    pub(super) fn random(length: usize, prg: &mut Prg) -> Self {
        assert!(length <= Self::MAX, "buckets are numbered by bytes, and positions in them by 16 bits");
        let count = (length / BUCKET).next_power_of_two().clamp(1, MAX_BUCKETS);
        let mut buckets = vec![0; length];
        prg.fill(&mut buckets);
        buckets.iter_mut().for_each(|bucket| *bucket &= (count - 1) as u8);
        let mut starts = vec![0];
        let mut positions = large_capacity(length);
        for size in sizes(&buckets).into_iter().take(count) {
            let start = positions.len();
            positions.extend((0..size).map(|position| position as u16));
            shuffle(&mut positions[start..], prg);
            starts.push(positions.len());
        }
        Self { buckets, starts, positions }
    }

    /// The bucket of each element in the old order.
    pub(super) fn buckets(&self) -> &[u8] {
        &self.buckets
    }

    /// Where each bucket starts.
    pub(super) fn starts(&self) -> [u32; MAX_BUCKETS] {
        core::array::from_fn(|bucket| self.starts.get(bucket).map_or(0, |start| *start as u32))
    }

    /// How many buckets there are.
    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Where the elements of some buckets stand in the new order.
    pub(super) fn range(&self, buckets: Range<usize>) -> Range<usize> {
        self.starts[buckets.start]..self.starts[buckets.end]
    }

    /// For each of some buckets the range of its elements, and in which order they are read.
    pub(super) fn reads(&self, buckets: Range<usize>) -> impl Iterator<Item = (Range<usize>, &[u16])> {
        buckets
            .map(|bucket| self.range(bucket..bucket + 1))
            .map(|range| (range.clone(), &self.positions[range]))
    }
}

/// How many of these elements are in each bucket.
pub(super) fn sizes(buckets: &[u8]) -> [u32; MAX_BUCKETS] {
    // Four counts of each bucket: none waits for the one before it.
    let mut sizes = [[0u32; MAX_BUCKETS]; 4];
    let (fours, rest) = buckets.as_chunks::<4>();
    for four in fours {
        for i in 0..4 {
            sizes[i][usize::from(four[i])] += 1;
        }
    }
    rest.iter().for_each(|bucket| sizes[0][usize::from(*bucket)] += 1);
    core::array::from_fn(|bucket| sizes.iter().map(|sizes| sizes[bucket]).sum())
}

/// Fisher and Yates.
fn shuffle(positions: &mut [u16], prg: &mut Prg) {
    let mut words = Words { prg, ahead: [0; AHEAD], used: AHEAD };
    let (mut left, mut chosen) = (positions.len(), [0; AHEAD]);
    while left >= 2 {
        // Products of many words at once, and again one by one where one of them may have to be drawn anew.
        let count = words.refill().len().min(left - 1);
        let mut whole = true;
        for ((bound, word), chosen) in
            (0..count).map(|i| (left - i) as u32).zip(words.left()).zip(&mut chosen)
        {
            let product = u64::from(*word) * u64::from(bound);
            whole &= product as u32 >= bound;
            *chosen = (product >> 32) as u32;
        }
        if whole {
            words.used += count;
        } else {
            for (i, chosen) in chosen[..count].iter_mut().enumerate() {
                *chosen = words.below((left - i) as u32);
            }
        }
        for chosen in &chosen[..count] {
            left -= 1;
            positions.swap(left, *chosen as usize);
        }
    }
}

/// Random words drawn ahead.
const AHEAD: usize = 1024;

struct Words<'a> {
    prg: &'a mut Prg,
    ahead: [u32; AHEAD],
    used: usize,
}

impl Words<'_> {
    /// The words that are left; new ones if none are.
    fn refill(&mut self) -> &[u32] {
        if self.used == AHEAD {
            let mut bytes = [0; 4 * AHEAD];
            self.prg.fill_bytes(&mut bytes);
            for (word, bytes) in self.ahead.iter_mut().zip(bytes.as_chunks().0) {
                *word = u32::from_le_bytes(*bytes);
            }
            self.used = 0;
        }
        self.left()
    }

    fn left(&self) -> &[u32] {
        &self.ahead[self.used..]
    }

    fn next(&mut self) -> u32 {
        let word = self.refill()[0];
        self.used += 1;
        word
    }

    /// A uniformly random number below `bound`: the high half of a product, rejected where it would be too
    /// likely.
    fn below(&mut self, bound: u32) -> u32 {
        loop {
            let product = u64::from(self.next()) * u64::from(bound);
            let low = product as u32;
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return (product >> 32) as u32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which old element stands at each new position.
    fn order(permutation: &Permutation) -> Vec<usize> {
        let mut arrived = vec![0; permutation.buckets.len()];
        let mut next = permutation.starts();
        for (old, bucket) in permutation.buckets.iter().enumerate() {
            let next = &mut next[usize::from(*bucket)];
            arrived[*next as usize] = old;
            *next += 1;
        }
        permutation
            .reads(0..permutation.count())
            .flat_map(|(range, positions)| {
                let bucket = &arrived[range];
                positions.iter().map(|position| bucket[usize::from(*position)])
            })
            .collect()
    }

    #[test]
    fn every_element_has_one_position() {
        let mut prg = Prg::from_seed([1; 16]);
        for length in [0, 1, 2, 100, 8192, 16_384, 40_000, 100_001] {
            let mut order = order(&Permutation::random(length, &mut prg));
            order.sort_unstable();
            assert!(order.into_iter().eq(0..length));
        }
    }

    #[test]
    fn shuffles_word_by_word_where_words_may_be_refused() {
        // One product after the other gives these; 400,000 draws of up to 60,000 meet about three words that
        // may be.
        let (mut many, mut single) = (Prg::from_seed([4; 16]), Prg::from_seed([4; 16]));
        for _ in 0..7 {
            let mut positions: Vec<u16> = (0..60_000).collect();
            let mut expected = positions.clone();
            shuffle(&mut positions, &mut many);
            let mut words = Words { prg: &mut single, ahead: [0; AHEAD], used: AHEAD };
            for left in (2..=expected.len()).rev() {
                expected.swap(left - 1, words.below(left as u32) as usize);
            }
            assert_eq!(positions, expected);
        }
    }

    #[test]
    fn every_order_is_equally_likely() {
        // All 24 orders of four elements, 24,000 draws: chi-square with 23 degrees of freedom, 0.1 % above
        // 49.7.
        let mut prg = Prg::from_seed([2; 16]);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..24_000 {
            *counts.entry(order(&Permutation::random(4, &mut prg))).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 24);
        let chi: f64 = counts.values().map(|count| (f64::from(*count) - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi < 49.7, "{chi}");
    }

    #[test]
    fn elements_go_to_all_buckets_alike() {
        // Where the first quarter of the old order goes, in sixteen parts of the new one.
        let length = 1 << 17;
        let order = order(&Permutation::random(length, &mut Prg::from_seed([3; 16])));
        let mut counts = [0f64; 16];
        for (new, old) in order.iter().enumerate() {
            if *old < length / 4 {
                counts[new * 16 / length] += 1.0;
            }
        }
        let mean = length as f64 / 64.0;
        // Variance of a hypergeometric count: three quarters of the mean and a little less.
        let chi: f64 = counts.iter().map(|count| (count - mean).powi(2) / (0.75 * mean)).sum();
        assert!(chi < 37.7, "{chi}");
    }
}
