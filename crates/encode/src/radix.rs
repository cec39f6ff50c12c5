//! Sorts by radix: records by their keys, masks by their value.
//!
//! Digests and masks are uniform, so their leading bits tell where each record belongs. Records that do not fit the cache
//! are first moved to buckets of some thousand, in their own memory (American flag sort: McIlroy, Bostic, McIlroy,
//! "Engineering Radix Sort", 1993). Each bucket is then dealt out to slots for one or two records each, by way of a room:
//! memory for one bucket, which stays in the cache. Insertion puts right what shares a slot. Integers need not be
//! uniform: bits that all records share are skipped, and a slot that many records share is divided again.

use std::convert::Infallible;

use vesica_crypto::memory::prefetch;
use vesica_crypto::par;

/// Records of a bucket that the first pass aims at.
const BUCKET: usize = 1 << 12;
/// Fewest and most buckets of one pass, in bits: few would leave integers that are not uniform together for many passes,
/// and the heads of all must stay in the cache.
const BUCKET_BITS: [u32; 2] = [6, 10];
/// A bucket of at most so many records is dealt out by way of the room.
const ROOM: usize = 1 << 14;
/// Most records that insertion should sort.
const MANY: usize = 64;

/// A value whose order is first that of an integer.
pub trait Prefixed: Copy + Ord {
    /// The integer: a value with a smaller prefix is smaller.
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
    Sort { room: Vec::new(), counts: Vec::new() }.below(records, 0);
}

/// Records below which one thread is as fast.
const ALONE: usize = 1 << 16;

/// Buckets that a thread sorts before it takes more.
const CHUNK: usize = 4;

/// Sorts by the order of the values, on at most `threads` threads and where the records are: the threads move records to
/// their buckets together, and then sort a bucket each.
pub fn sort_by_threads<T: Prefixed + Send + Sync>(threads: usize, records: &mut [T]) {
    if threads < 2 || records.len() < ALONE {
        return sort(records);
    }
    let threads = threads.min(records.len() / (ALONE / 8));
    let Some(digit) = Digit::that_differs(records, 0) else { return sort(records) };
    let ends = partition_by_threads(threads, records, digit);
    let mut buckets = Vec::with_capacity(ends.len());
    let (mut rest, mut start) = (records, 0);
    for end in ends {
        let (bucket, behind) = std::mem::take(&mut rest).split_at_mut(end - start);
        buckets.push(bucket);
        (rest, start) = (behind, end);
    }
    let Ok(()) = par::fill_chunks(threads, CHUNK, &mut buckets, |_, buckets| {
        let mut sort = Sort { room: Vec::new(), counts: Vec::new() };
        buckets.iter_mut().for_each(|records| sort.below(records, u64::BITS - digit.shift));
        Ok::<_, Infallible>(())
    });
}

/// A sort under way.
struct Sort<T> {
    /// For the records of a small bucket.
    room: Vec<T>,
    /// For the number of records in each of its slots.
    counts: Vec<u32>,
}

impl<T: Prefixed> Sort<T> {
    /// Sorts records whose prefixes are known to share so many leading bits.
    fn below(&mut self, records: &mut [T], shared: u32) {
        if records.len() <= MANY {
            insertion(records);
            return;
        }
        let Some(digit) = Digit::that_differs(records, shared) else {
            // Records can differ only behind the first eight bytes.
            records.sort_unstable();
            return;
        };
        let shared = u64::BITS - digit.shift;
        if records.len() <= ROOM {
            self.deal(records, digit, shared);
        } else {
            let mut start = 0;
            for end in partition(records, digit) {
                self.below(&mut records[start..end], shared);
                start = end;
            }
        }
    }

    /// Sorts a small bucket by way of the room: by this digit, then what shares it.
    fn deal(&mut self, records: &mut [T], digit: Digit, shared: u32) {
        let Self { room, counts } = self;
        counts.clear();
        counts.resize(digit.mask as usize + 1, 0);
        records.iter().for_each(|record| counts[digit.of(record)] += 1);
        let (mut sum, mut most) = (0, 0);
        for count in counts.iter_mut() {
            most = most.max(*count);
            sum += core::mem::replace(count, sum);
        }
        room.resize(room.len().max(records.len()), records[0]);
        for record in records.iter() {
            let next = &mut counts[digit.of(record)];
            room[*next as usize] = *record;
            *next += 1;
        }
        records.copy_from_slice(&room[..records.len()]);
        if most as usize <= MANY {
            insertion(records);
        } else {
            for group in records.chunk_by_mut(|a, b| digit.of(a) == digit.of(b)) {
                self.below(group, shared);
            }
        }
    }
}

/// Some bits of a prefix.
#[derive(Clone, Copy)]
struct Digit {
    shift: u32,
    mask: u64,
}

impl Digit {
    /// As many bits behind the shared ones as so many records need, at least one if any is left.
    fn behind(shared: u32, records: usize) -> Self {
        let left = u64::BITS - shared;
        let [fewest, most] = BUCKET_BITS;
        let bits =
            if records <= ROOM { records.ilog2() } else { (records / BUCKET).ilog2().clamp(fewest, most) };
        let bits = bits.min(left);
        Digit { shift: left - bits, mask: (1 << bits) - 1 }
    }

    /// Bits in which records differ that are known to share so many leading ones; none if their prefixes are equal.
    fn that_differs<T: Prefixed>(records: &[T], shared: u32) -> Option<Self> {
        let digit = Digit::behind(shared, records.len());
        if records.iter().any(|record| digit.of(record) != digit.of(&records[0])) {
            return Some(digit);
        }
        // They share more bits than was known. Uniform records hardly ever do.
        let (mut least, mut most) = (u64::MAX, 0);
        for record in records.iter() {
            least = least.min(record.prefix());
            most = most.max(record.prefix());
        }
        let shared = (least ^ most).leading_zeros();
        (shared < u64::BITS).then(|| Digit::behind(shared, records.len()))
    }

    #[inline(always)]
    fn of<T: Prefixed>(self, record: &T) -> usize {
        (record.prefix() >> self.shift & self.mask) as usize
    }
}

/// Moves every record to its bucket, and returns where the buckets end.
fn partition<T: Prefixed>(records: &mut [T], digit: Digit) -> Vec<usize> {
    let mut counts = vec![0; digit.mask as usize + 1];
    records.iter().for_each(|record| counts[digit.of(record)] += 1);
    let (mut heads, ends) = bounds(counts);
    place(records, digit, &mut heads, &ends);
    ends
}

/// Where buckets of so many records begin and end.
fn bounds(counts: Vec<usize>) -> (Vec<usize>, Vec<usize>) {
    let mut ends = counts;
    let mut heads = Vec::with_capacity(ends.len());
    let mut sum = 0;
    for end in &mut ends {
        heads.push(sum);
        sum += *end;
        *end = sum;
    }
    (heads, ends)
}

/// Moves the records between the heads and the ends of the buckets to the buckets that they belong to.
fn place<T: Prefixed>(records: &mut [T], digit: Digit, heads: &mut [usize], ends: &[usize]) {
    for bucket in 0..ends.len() {
        while heads[bucket] < ends[bucket] {
            let slot = heads[bucket];
            let mut record = records[slot];
            loop {
                let target = digit.of(&record);
                let head = heads[target];
                heads[target] += 1;
                if target == bucket {
                    // The cycle began in this bucket, so it ends here.
                    records[head] = record;
                    break;
                }
                prefetch(records, head + PREFETCH_DISTANCE);
                // Two moves: a swap in memory is slower for records of odd lengths.
                record = std::mem::replace(&mut records[head], record);
            }
        }
    }
}

/// As [`partition`], by several threads (Cho, Brand, Bordawekar, Finkler, Kulandaisamy, Puri, "PARADIS: An Efficient
/// Parallel Algorithm for In-place Radix Sort", VLDB 2015): each takes a stripe of every bucket and moves records among its
/// stripes as long as they have room. The few that have found none are moved at the end.
fn partition_by_threads<T: Prefixed + Send + Sync>(
    threads: usize,
    records: &mut [T],
    digit: Digit,
) -> Vec<usize> {
    let buckets = digit.mask as usize + 1;
    let share = records.len().div_ceil(threads);
    let mut shares = vec![vec![0; buckets]; records.len().div_ceil(share)];
    let Ok(()) = par::for_each(threads, records.chunks(share).zip(&mut shares), |_, (records, counts)| {
        records.iter().for_each(|record| counts[digit.of(record)] += 1);
        Ok::<_, Infallible>(())
    });
    let (mut heads, ends) =
        bounds((0..buckets).map(|b| shares.iter().map(|counts| counts[b]).sum()).collect());
    let lengths: Vec<usize> =
        heads.iter().zip(&ends).map(|(head, end)| (end - head).div_ceil(threads)).collect();
    let mut stripes: Vec<Vec<Stripe<'_, T>>> = (0..threads).map(|_| Vec::with_capacity(buckets)).collect();
    let mut rest = &mut *records;
    for bucket in 0..buckets {
        let (mut here, behind) = std::mem::take(&mut rest).split_at_mut(ends[bucket] - heads[bucket]);
        for stripes in &mut stripes {
            let (records, left) = std::mem::take(&mut here).split_at_mut(lengths[bucket].min(here.len()));
            stripes.push(Stripe { records, placed: 0 });
            here = left;
        }
        rest = behind;
    }
    let Ok(()) = par::fill_chunks(threads, 1, &mut stripes, |_, stripes| {
        stripes.iter_mut().for_each(|stripes| move_among(stripes, digit));
        Ok::<_, Infallible>(())
    });
    let placed: Vec<Vec<usize>> =
        stripes.iter().map(|stripes| stripes.iter().map(|stripe| stripe.placed).collect()).collect();
    drop(stripes);
    for bucket in 0..buckets {
        let (begin, length) = (heads[bucket], lengths[bucket]);
        let start = |thread: usize| (begin + thread * length).min(ends[bucket]);
        let placed_in = |thread: usize| start(thread)..start(thread) + placed[thread][bucket];
        // What is placed goes before what is not.
        let gaps = (0..threads).flat_map(|thread| placed_in(thread).end..start(thread + 1));
        let mut from = (0..threads).rev().flat_map(|thread| placed_in(thread).rev());
        heads[bucket] = begin + placed.iter().map(|placed| placed[bucket]).sum::<usize>();
        for gap in gaps.take_while(|gap| *gap < heads[bucket]) {
            if let Some(last) = from.next() {
                records.swap(gap, last);
            }
        }
    }
    place(records, digit, &mut heads, &ends);
    ends
}

/// A thread's share of a bucket: records of the bucket at its beginning, others behind them.
struct Stripe<'r, T> {
    records: &'r mut [T],
    placed: usize,
}

/// Moves records among stripes, until each stripe is full or has only records whose stripes are.
fn move_among<T: Prefixed>(stripes: &mut [Stripe<'_, T>], digit: Digit) {
    for bucket in 0..stripes.len() {
        let mut at = stripes[bucket].placed;
        while at < stripes[bucket].records.len() {
            let mut record = stripes[bucket].records[at];
            loop {
                let target = digit.of(&record);
                let Stripe { records, placed } = &mut stripes[target];
                if target == bucket || *placed == records.len() {
                    break;
                }
                prefetch(records, *placed + PREFETCH_DISTANCE);
                record = std::mem::replace(&mut records[*placed], record);
                *placed += 1;
            }
            let Stripe { records, placed } = &mut stripes[bucket];
            if digit.of(&record) == bucket {
                // What stood there has found no room.
                records[at] = records[*placed];
                records[*placed] = record;
                *placed += 1;
            } else {
                records[at] = record;
            }
            at += 1;
        }
    }
}

/// How many records before its use a bucket's next slot is prefetched.
const PREFETCH_DISTANCE: usize = 4;

fn insertion<T: Prefixed>(records: &mut [T]) {
    for next in 1..records.len() {
        let record = records[next];
        let mut slot = next;
        while slot > 0 && record < records[slot - 1] {
            records[slot] = records[slot - 1];
            slot -= 1;
        }
        records[slot] = record;
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// A key of N bytes, and a value.
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
        for threads in [2, 3, 7] {
            let mut records = records.clone();
            sort_by_threads(threads, &mut records);
            assert!(records == expected);
        }
        sort(&mut records);
        assert!(records == expected);
    }

    fn all<const N: usize>(rng: &mut StdRng) {
        for rows in [0, 1, 2, 3, 50, 63, 64, 65, 66, 200, 1000, 5000, 16_383, 16_384, 16_385, 70_000] {
            // Uniform keys; few keys; keys that differ in one byte, at the front, behind the prefix or at the
            // end.
            check(records::<N>(rows, |_| rng.random()));
            check(records::<N>(rows, |_| [rng.random_range(0..3); N]));
            for at in [0, 7, 8 % N, N - 1] {
                let mut key = [0xa5; N];
                check(records::<N>(rows, |_| {
                    key[at] = rng.random();
                    key
                }));
            }
            // One key far from the rest, and keys that are already sorted.
            check(records::<N>(rows, |row| if row == 7 { [0xff; N] } else { small(row % 97) }));
            check(records::<N>(rows, small));
            // Few in a bucket of their own, and the rest in one that is larger than the room.
            check(records::<N>(rows, |row| if row % 1000 == 7 { rng.random() } else { small(row % 20_011) }));
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
