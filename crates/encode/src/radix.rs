//! Sorting by radix, in place: records by their keys, masks by their value.
//!
//! Digests and masks are uniform, so their leading bits say where each record belongs: one pass moves all of them to their parts
//! (American flag sort: McIlroy, Bostic, McIlroy, "Engineering Radix Sort", 1993), a second one within each part leaves
//! a handful of records a place, which insertion puts in order. Nothing is needed beside the records, whatever their
//! width. Integers need not be uniform: bits that all records share are skipped, and a part that stays large is
//! divided again.

use vesica_crypto::memory::prefetch;

/// Records a place that insertion takes over from, on average.
const FEW: usize = 4;
/// Parts of one pass at most: their heads have to stay in the cache.
const PARTS: u32 = 10;
/// A part that is still larger than this after insertion would be slow is divided further.
const MANY: usize = 64;

/// A value whose order begins with that of an integer.
pub trait Prefixed: Copy + Ord {
    /// The integer: of two values the one with the smaller prefix is the smaller one.
    fn prefix(&self) -> u64;
}

impl Prefixed for u128 {
    #[inline(always)]
    fn prefix(&self) -> u64 {
        (self >> 64) as u64
    }
}

/// Sorts by the order of the values.
pub fn sort<T: Prefixed>(records: &mut [T]) {
    sort_below(records, 0);
}

/// Sorts records whose prefixes are known to share so many leading bits.
fn sort_below<T: Prefixed>(records: &mut [T], mut shared: u32) {
    if records.len() <= MANY {
        insertion(records);
        return;
    }
    let mut digit = Digit::behind(shared, records.len());
    let mut counts = digit.counts(records);
    if counts.contains(&records.len()) {
        // They share more than was known; uniform ones hardly ever do.
        let (mut least, mut most) = (u64::MAX, 0);
        for record in records.iter() {
            least = least.min(record.prefix());
            most = most.max(record.prefix());
        }
        shared = (least ^ most).leading_zeros();
        if shared == u64::BITS {
            // What differs, if anything does, is behind the first eight bytes.
            records.sort_unstable();
            return;
        }
        digit = Digit::behind(shared, records.len());
        counts = digit.counts(records);
    }
    let ends = partition(records, digit, counts);
    let mut start = 0;
    for end in ends {
        let part = &mut records[start..end];
        match part.len() {
            0 | 1 => {}
            2..=MANY => insertion(part),
            _ => sort_below(part, u64::BITS - digit.shift),
        }
        start = end;
    }
}

/// Some bits of a prefix.
#[derive(Clone, Copy)]
struct Digit {
    shift: u32,
    mask: u64,
}

impl Digit {
    /// As many bits behind the shared ones as so many records want, at least one if any is left.
    fn behind(shared: u32, records: usize) -> Self {
        let left = u64::BITS - shared;
        let bits = (records / FEW).ilog2().clamp(1, PARTS).min(left);
        Digit { shift: left - bits, mask: (1 << bits) - 1 }
    }

    /// How many records go to each part.
    fn counts<T: Prefixed>(self, records: &[T]) -> Vec<usize> {
        let mut counts = vec![0; self.mask as usize + 1];
        records.iter().for_each(|record| counts[self.of(record)] += 1);
        counts
    }

    #[inline(always)]
    fn of<T: Prefixed>(self, record: &T) -> usize {
        (record.prefix() >> self.shift & self.mask) as usize
    }
}

/// Moves every record to its part, and gives where the parts end.
fn partition<T: Prefixed>(records: &mut [T], digit: Digit, counts: Vec<usize>) -> Vec<usize> {
    let mut ends = counts;
    let mut heads = Vec::with_capacity(ends.len());
    let mut sum = 0;
    for end in &mut ends {
        heads.push(sum);
        sum += *end;
        *end = sum;
    }
    for part in 0..ends.len() {
        while heads[part] < ends[part] {
            let place = heads[part];
            let mut record = records[place];
            loop {
                let target = digit.of(&record);
                let head = heads[target];
                heads[target] += 1;
                if target == part {
                    // The cycle began in this part, so it ends here.
                    records[head] = record;
                    break;
                }
                prefetch(records, head + AHEAD);
                // Two moves, which a swap in memory is not for records of odd lengths.
                record = std::mem::replace(&mut records[head], record);
            }
        }
    }
    ends
}

/// How far before its use a part's next place is asked for.
const AHEAD: usize = 4;

fn insertion<T: Prefixed>(records: &mut [T]) {
    for next in 1..records.len() {
        let record = records[next];
        let mut place = next;
        while place > 0 && record < records[place - 1] {
            records[place] = records[place - 1];
            place -= 1;
        }
        records[place] = record;
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// A key of N bytes, and what goes with it.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    struct Record<const N: usize> {
        key: [u8; N],
        row: u32,
    }

    impl<const N: usize> Prefixed for Record<N> {
        fn prefix(&self) -> u64 {
            u64::from_be_bytes(*self.key.first_chunk().unwrap())
        }
    }

    fn check<const N: usize>(mut records: Vec<Record<N>>) {
        let mut expected = records.clone();
        expected.sort();
        sort(&mut records);
        assert!(records == expected);
    }

    fn all<const N: usize>(rng: &mut StdRng) {
        for rows in [0, 1, 2, 3, 50, 63, 64, 65, 66, 200, 1000, 5000, 70_000] {
            // Uniform; few keys; keys that differ in one byte, be it in front, behind the prefix or at the end.
            check(records::<N>(rows, |_| rng.random()));
            check(records::<N>(rows, |_| [rng.random_range(0..3); N]));
            for at in [0, 7, 8 % N, N - 1] {
                let mut key = [0xa5; N];
                check(records::<N>(rows, |_| {
                    key[at] = rng.random();
                    key
                }));
            }
            // One far from the rest, and orders that are there already.
            check(records::<N>(rows, |row| if row == 7 { [0xff; N] } else { small(row % 97) }));
            check(records::<N>(rows, small));
            check(records::<N>(rows, |row| small(rows - row)));
        }
    }

    fn small<const N: usize>(number: u32) -> [u8; N] {
        let mut key = [0; N];
        key[4..8].copy_from_slice(&number.to_be_bytes());
        key
    }

    fn records<const N: usize>(rows: u32, mut key: impl FnMut(u32) -> [u8; N]) -> Vec<Record<N>> {
        (0..rows).map(|row| Record { key: key(row), row }).collect()
    }

    #[test]
    fn narrow_numbers_are_sorted_too() {
        let mut rng = StdRng::seed_from_u64(2);
        for bits in [40, 63, 64, 65, 80, 128] {
            let mut numbers: Vec<u128> = (0..20_000).map(|_| rng.random::<u128>() >> (128 - bits)).collect();
            let mut expected = numbers.clone();
            expected.sort_unstable();
            sort(&mut numbers);
            assert_eq!(numbers, expected, "{bits}");
        }
    }

    #[test]
    fn the_order_is_that_of_a_comparison_sort() {
        let mut rng = StdRng::seed_from_u64(1);
        all::<8>(&mut rng);
        all::<16>(&mut rng);
        all::<32>(&mut rng);
    }
}
