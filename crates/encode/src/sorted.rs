//! Sorted lists of numbers in Elias–Fano form: about L - log2 n + 2 bits for each of n numbers of L bits.
//!
//! A number is cut into its low l bits and its high bits. The low bits are stored unchanged. The high bits
//! never decrease along the list and are stored in unary: number i sets bit (high part + i) of a vector of
//! n + 2^(L-l) bits. The value of l is the one that gives the smallest size. The size depends only on n and L,
//! never on the numbers, so a message in this form tells no more than the set that it holds.
//!
//! ```text
//! n·l bits: low parts, side by side    ⌈·/8⌉ bytes
//! n + 2^(L-l) bits: the vector         ⌈·/8⌉ bytes          bits from the lowest of each byte up, rest zero
//! ```
//!
//! Each list has exactly one form, and [`decode`] refuses all other bytes.
//!
//! Source: Elias, *Efficient storage and retrieval by content and address of static files*, JACM 1974;
//! Fano 1971. The information-theoretic bound for a set is about L - log2 n + 1.44 bits a number.

use std::convert::Infallible;
use std::ops::Range;

use vesica_crypto::memory::{large_capacity, large_zeros};
use vesica_crypto::par;

use crate::packed::{Packer, Unpacker, mask};

/// Most bits of a number.
pub const MAX_BITS: u32 = 128;

/// Numbers of a batch.
const BATCH: usize = 1 << 10;
/// Numbers that a thread encodes before it takes more: a multiple of eight, so that their low parts fill whole bytes.
const CHUNK: usize = 1 << 14;
/// Bytes of the vector that a thread checks before it takes more: whole words.
const SEGMENT: usize = 1 << 12;
/// Stretches of a list for each thread.
const STRETCHES: usize = 8;

/// Why bytes are not a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SortedError {
    /// The number of bytes does not fit count and width.
    #[error("a list of the wrong length")]
    Length,
    /// Bits beyond the end are set.
    #[error("a list with bits beyond its end")]
    Beyond,
    /// The vector does not have one bit for each number.
    #[error("a list with the wrong number of entries")]
    Count,
    /// A number occurs twice in a list of distinct numbers.
    #[error("a list that holds a number twice (entry {position})")]
    Repeated {
        /// The index of its second occurrence.
        position: usize,
    },
    /// A number is smaller than the one before it.
    #[error("a list that is not sorted (entry {position})")]
    Unsorted {
        /// The index of the first such number.
        position: usize,
    },
}

/// The layout of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    /// l.
    low_bits: u32,
    low_bytes: usize,
    high_len: usize,
    high_bytes: usize,
}

impl Layout {
    /// # Panics
    /// If the width is not 1 to [`MAX_BITS`].
    fn new(count: usize, bits: u32) -> Self {
        assert!((1..=MAX_BITS).contains(&bits), "numbers of {bits} bits");
        // At the optimum the high part takes between n and 2n values, or all values there are.
        let near = count.max(1).ilog2();
        let candidates = [near, near + 1].map(|high| Self::with_high(count, bits, high.min(bits)));
        let [first, second] = candidates;
        if second.bytes() < first.bytes() { second } else { first }
    }

    fn with_high(count: usize, bits: u32, high_bits: u32) -> Self {
        let low_bits = bits - high_bits;
        let high_len = count + (1usize << high_bits);
        let low_bytes = (count as u128 * u128::from(low_bits)).div_ceil(8) as usize;
        Layout { low_bits, low_bytes, high_len, high_bytes: high_len.div_ceil(8) }
    }

    fn bytes(&self) -> usize {
        self.low_bytes + self.high_bytes
    }

    /// The bit of the vector that stands for a number.
    fn high_bit(&self, number: u128, position: usize) -> usize {
        number.checked_shr(self.low_bits).unwrap_or(0) as usize + position
    }
}

/// Bytes of `count` numbers of `bits` bits; zero for an empty list.
///
/// # Panics
/// If the width is not 1 to [`MAX_BITS`].
#[must_use]
pub fn encoded_bytes(count: usize, bits: u32) -> usize {
    if count == 0 { 0 } else { Layout::new(count, bits).bytes() }
}

/// Encodes a list.
///
/// # Panics
/// If the width is not 1 to [`MAX_BITS`], a number is wider, or the list does not ascend (equal neighbours
/// are allowed).
#[must_use]
pub fn encode(numbers: &[u128], bits: u32) -> Vec<u8> {
    encode_by_threads(1, numbers, bits)
}

/// Encodes a list on at most `threads` threads.
///
/// # Panics
/// As [`encode`].
#[must_use]
pub fn encode_by_threads(threads: usize, numbers: &[u128], bits: u32) -> Vec<u8> {
    if numbers.is_empty() {
        return Vec::new();
    }
    let layout = Layout::new(numbers.len(), bits);
    let mut bytes = large_zeros(layout.bytes());
    let (low, high) = bytes.split_at_mut(layout.low_bytes);
    // Where the vector's byte with the first bit of each chunk is. A chunk's last bits may be in the next one's first byte.
    let first_byte = |at: usize| layout.high_bit(numbers[at], at) / 8;
    let mut tasks = Vec::with_capacity(numbers.len().div_ceil(CHUNK));
    let (mut low, mut high, mut begin) = (low, high, 0);
    for first in (0..numbers.len()).step_by(CHUNK) {
        let next = first + CHUNK;
        let is_last = next >= numbers.len();
        let end = if is_last { layout.high_bytes } else { first_byte(next).clamp(begin, layout.high_bytes) };
        let low_end = if is_last { low.len() } else { CHUNK / 8 * layout.low_bits as usize };
        let (low_here, low_rest) = std::mem::take(&mut low).split_at_mut(low_end);
        let (high_here, high_rest) = std::mem::take(&mut high).split_at_mut(end - begin);
        tasks.push((first, begin, low_here, high_here, 0));
        (low, high, begin) = (low_rest, high_rest, end);
    }
    let Ok(()) = par::fill_chunks(threads, 1, &mut tasks, |_, tasks| {
        for (first, begin, low, high, behind) in tasks {
            let mut packed = Packer::new(low);
            let mut before = first.checked_sub(1).map_or(0, |before| numbers[before]);
            for (i, &number) in (*first..).zip(&numbers[*first..numbers.len().min(*first + CHUNK)]) {
                let fits = number >= before && number & !mask(bits) == 0;
                assert!(fits, "a sorted list of numbers of {bits} bits");
                before = number;
                packed.put(number & mask(layout.low_bits), layout.low_bits);
                let at = layout.high_bit(number, i);
                *high.get_mut(at / 8 - *begin).unwrap_or(behind) |= 1 << (at % 8);
            }
        }
        Ok::<_, Infallible>(())
    });
    let shared: Vec<(usize, u8)> =
        tasks.iter().map(|(_, begin, _, high, behind)| (begin + high.len(), *behind)).collect();
    for (byte, bits) in shared.into_iter().filter(|(_, bits)| *bits > 0) {
        bytes[layout.low_bytes + byte] |= bits;
    }
    bytes
}

/// Decodes a list of `count` numbers of `bits` bits.
///
/// # Panics
/// If the width is not 1 to [`MAX_BITS`].
pub fn decode(bytes: &[u8], count: usize, bits: u32) -> Result<Vec<u128>, SortedError> {
    let list = List::new(bytes, count, bits)?;
    let mut numbers = large_capacity(count);
    for segment in list.segments()? {
        list.walk(segment, Repeats::Allowed, |_, batch| numbers.extend_from_slice(batch))?;
    }
    Ok(numbers)
}

/// Whether a list may hold a number more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    /// A number may occur any number of times.
    Allowed,
    /// Each number occurs once: the list is a set.
    Refused,
}

/// Checks that these bytes are a list of `count` numbers of `bits` bits, on at most `threads` threads, in time that depends
/// only on the bytes.
///
/// # Errors
/// If the bytes are not such a list.
///
/// # Panics
/// As [`decode`].
pub fn check(
    threads: usize,
    bytes: &[u8],
    count: usize,
    bits: u32,
    repeats: Repeats,
) -> Result<(), SortedError> {
    let list = List::new(bytes, count, bits)?;
    par::for_each(threads, list.segments()?.into_iter(), |_, segment| list.walk(segment, repeats, |_, _| ()))
}

/// As [`decode`], without memory for the list: threads, at most `threads`, go along stretches of it, batch by batch. `begin`
/// makes what a stretch needs, `work` takes it with a batch and the batch's position in the list, and `end` makes of it what
/// is returned, in the order of the list.
///
/// # Errors
/// If the bytes are not such a list.
///
/// # Panics
/// As [`decode`].
pub fn by_stretches<S, T: Send>(
    threads: usize,
    bytes: &[u8],
    (count, bits): (usize, u32),
    begin: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize, &[u128]) + Sync,
    end: impl Fn(S) -> T + Sync,
) -> Result<Vec<T>, SortedError> {
    let list = List::new(bytes, count, bits)?;
    let mut segments = list.segments()?;
    let stretches = if threads < 2 { 1 } else { STRETCHES * threads };
    let each = segments.len().div_ceil(stretches).max(1);
    let mut made: Vec<Option<T>> = (0..segments.len().div_ceil(each)).map(|_| None).collect();
    par::for_each(threads, segments.chunks_mut(each).zip(&mut made), |_, (segments, made)| {
        let mut state = begin();
        for segment in segments {
            let segment = std::mem::take(segment);
            list.walk(segment, Repeats::Allowed, |first, batch| work(&mut state, first, batch))?;
        }
        *made = Some(end(state));
        Ok(())
    })?;
    Ok(made.into_iter().flatten().collect())
}

/// The bytes of a list.
struct List<'a> {
    layout: Layout,
    count: usize,
    bits: u32,
    low: &'a [u8],
    high: &'a [u8],
}

/// Some bytes of the vector.
#[derive(Default)]
struct Segment {
    bytes: Range<usize>,
    /// How many numbers lie before them, and the bit of the last one.
    position: usize,
    last: Option<usize>,
}

impl<'a> List<'a> {
    fn new(bytes: &'a [u8], count: usize, bits: u32) -> Result<Self, SortedError> {
        if bytes.len() != encoded_bytes(count, bits) {
            return Err(SortedError::Length);
        }
        let layout = Layout::new(count, bits);
        let (low, high) = bytes.split_at(layout.low_bytes.min(bytes.len()));
        Ok(List { layout, count, bits, low, high })
    }

    /// The list in segments. Their number depends on its length alone.
    fn segments(&self) -> Result<Vec<Segment>, SortedError> {
        let (mut position, mut last) = (0, None);
        let segment = |start: usize| {
            let bytes = start..self.high.len().min(start + SEGMENT);
            let segment = Segment { bytes: bytes.clone(), position, last };
            for (first, word) in words(&self.high[bytes]) {
                position += word.count_ones() as usize;
                last = word.checked_ilog2().map(|bit| 8 * start + first + bit as usize).or(last);
            }
            segment
        };
        let segments = (0..self.high.len()).step_by(SEGMENT).map(segment).collect();
        if position == self.count { Ok(segments) } else { Err(SortedError::Count) }
    }

    /// The number at a position whose bit in the vector is known; none if no list has it there.
    fn number(&self, low: u128, at: usize, position: usize) -> Option<u128> {
        // A high part has at most L - l bits: `at` is at most position + 2^(L-l) - 1, or there are too few bits above it.
        let high = at.checked_sub(position)? as u128;
        let fits = high <= mask(self.bits - self.layout.low_bits);
        fits.then(|| low | high.checked_shl(self.layout.low_bits).unwrap_or(0))
    }

    /// The number before a segment.
    fn before(&self, segment: &Segment) -> Option<u128> {
        let (position, at) = (segment.position.checked_sub(1)?, segment.last?);
        let mut parts = Unpacker::at(self.low, position, self.layout.low_bits);
        self.number(parts.take(self.layout.low_bits), at, position)
    }

    /// Calls `each` with the numbers of a segment, batch by batch, and the position of the first.
    fn walk(
        &self,
        segment: Segment,
        repeats: Repeats,
        mut each: impl FnMut(usize, &[u128]),
    ) -> Result<(), SortedError> {
        let low_bits = self.layout.low_bits;
        let mut before = self.before(&segment);
        let Segment { bytes, mut position, .. } = segment;
        let mut parts = Unpacker::at(self.low, position, low_bits);
        let mut batch = Vec::with_capacity(BATCH);
        for (first, word) in words(&self.high[bytes.clone()]) {
            let mut word = word;
            while word != 0 {
                let at = 8 * bytes.start + first + word.trailing_zeros() as usize;
                word &= word - 1;
                if at >= self.layout.high_len {
                    return Err(SortedError::Beyond);
                }
                let number = self.number(parts.take(low_bits), at, position).ok_or(SortedError::Count)?;
                if before.is_some_and(|before| number < before) {
                    return Err(SortedError::Unsorted { position });
                }
                if before == Some(number) && repeats == Repeats::Refused {
                    return Err(SortedError::Repeated { position });
                }
                before = Some(number);
                position += 1;
                batch.push(number);
                if batch.len() == BATCH {
                    each(position - BATCH, &batch);
                    batch.clear();
                }
            }
        }
        each(position - batch.len(), &batch);
        if position == self.count && parts.rest() != 0 { Err(SortedError::Beyond) } else { Ok(()) }
    }
}

/// Yields 64 bits at a time, with the number of the first bit. Missing bits at the end are zero.
fn words(bytes: &[u8]) -> impl Iterator<Item = (usize, u64)> {
    bytes.chunks(8).enumerate().map(|(i, chunk)| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        (64 * i, u64::from_le_bytes(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{Rng, RngExt, SeedableRng};

    fn sorted(count: usize, bits: u32, rng: &mut StdRng) -> Vec<u128> {
        let mut numbers: Vec<u128> = (0..count).map(|_| rng.random::<u128>() & mask(bits)).collect();
        numbers.sort_unstable();
        numbers
    }

    #[test]
    fn lists_come_back_at_every_width_and_length() {
        let mut rng = StdRng::seed_from_u64(1);
        for bits in [1, 2, 7, 8, 40, 63, 64, 65, 80, 88, 127, 128] {
            for count in [0, 1, 2, 3, 7, 8, 9, 100, 1000, 1024, 1500] {
                let numbers = sorted(count, bits, &mut rng);
                let bytes = encode(&numbers, bits);
                assert_eq!(bytes.len(), encoded_bytes(count, bits), "{bits} {count}");
                assert_eq!(decode(&bytes, count, bits).as_deref(), Ok(&numbers[..]), "{bits} {count}");
            }
        }
    }

    #[test]
    fn threads_do_what_one_does() {
        let mut rng = StdRng::seed_from_u64(5);
        for (count, bits) in [(1, 64), (100_000, 80), (70_001, 20), (140_000, 128), (40_000, 9), (65_536, 64)]
        {
            let mut numbers = sorted(count, bits, &mut rng);
            let one = encode(&numbers, bits);
            for threads in [2, 3, 7] {
                assert!(encode_by_threads(threads, &numbers, bits) == one, "{count} {bits}");
                let work = |made: &mut Vec<_>, first: usize, batch: &[u128]| {
                    made.extend((first..).zip(batch.iter().copied()));
                };
                let found = by_stretches(threads, &one, (count, bits), Vec::new, work, |made| made);
                let found = found.unwrap().concat();
                assert!(found.into_iter().eq((0..).zip(numbers.iter().copied())), "{count} {bits}");
            }
            // Equal neighbours on either side of a segment's end, and a list that falls, in its low parts, there.
            for position in (1..count).step_by(997) {
                let kept = numbers[position];
                numbers[position] = numbers[position - 1];
                let bytes = encode(&numbers, bits);
                let [found, expected] =
                    [3, 1].map(|threads| check(threads, &bytes, count, bits, Repeats::Refused));
                assert!(found == expected && found.is_err());
                numbers[position] = kept;
                let mut falling = one.clone();
                let at = position * 13 % falling.len();
                falling[at] ^= 0x55;
                let [found, expected] =
                    [7, 1].map(|threads| check(threads, &falling, count, bits, Repeats::Allowed));
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn a_segment_knows_the_number_before_it() {
        // The bit of number i is 2i + 1, so that number 16383 has the last bit of a segment.
        let (count, bits, low, at) = (20_000, 64, 49, 8 * SEGMENT / 2);
        let mut numbers: Vec<u128> = (0..count as u128).map(|i| (i + 1) << low | 5).collect();
        assert_eq!(Layout::new(count, bits).low_bits, low);
        numbers[at] = numbers[at - 1];
        let mut bytes = encode(&numbers, bits);
        let segments = List::new(&bytes, count, bits).unwrap().segments().unwrap();
        assert!(segments.iter().any(|segment| segment.position == at));
        let checked = |bytes: &[u8], repeats| {
            let [one, three] = [1, 3].map(|threads| check(threads, bytes, count, bits, repeats));
            assert_eq!(one, three);
            one
        };
        assert_eq!(checked(&bytes, Repeats::Allowed), Ok(()));
        assert_eq!(checked(&bytes, Repeats::Refused), Err(SortedError::Repeated { position: at }));
        // Its low part falls from 5 to 1.
        let bit = at * low as usize + 2;
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(checked(&bytes, Repeats::Allowed), Err(SortedError::Unsorted { position: at }));
    }

    #[test]
    fn a_list_of_distinct_numbers_holds_none_twice() {
        for bits in [33, 64, 128] {
            for distinct in [vec![], vec![0], vec![0, 1, 7], vec![5, 6, mask(bits)]] {
                let bytes = encode(&distinct, bits);
                assert_eq!(check(1, &bytes, distinct.len(), bits, Repeats::Refused), Ok(()));
                for position in 0..distinct.len() {
                    let mut twice = distinct.clone();
                    twice.insert(position, distinct[position]);
                    let bytes = encode(&twice, bits);
                    assert_eq!(check(1, &bytes, twice.len(), bits, Repeats::Allowed), Ok(()));
                    let found = check(2, &bytes, twice.len(), bits, Repeats::Refused);
                    assert_eq!(found, Err(SortedError::Repeated { position: position + 1 }));
                }
            }
        }
        // Far from the first batch, with equal low parts behind equal high ones.
        let mut numbers: Vec<u128> = (0..5000).map(|i| i << 100).collect();
        numbers[4000] = numbers[3999];
        let found = check(3, &encode(&numbers, 128), 5000, 128, Repeats::Refused);
        assert_eq!(found, Err(SortedError::Repeated { position: 4000 }));
        assert_eq!(check(1, &[0; 3], 5000, 128, Repeats::Refused), Err(SortedError::Length));
    }

    #[test]
    fn the_ends_of_the_range_come_back() {
        for bits in [1, 33, 64, 128] {
            for count in [1, 2, 5, 300] {
                for list in [vec![0; count], vec![mask(bits); count]] {
                    assert_eq!(decode(&encode(&list, bits), count, bits).as_deref(), Ok(&list[..]));
                }
            }
        }
    }

    #[test]
    fn the_size_is_near_the_bound() {
        for (count, bits, most) in
            [(1 << 20, 80, 62.01), (1 << 16, 72, 58.01), (1 << 24, 88, 66.01), (3 << 18, 80, 62.6)]
        {
            let per_number = encoded_bytes(count, bits) as f64 * 8.0 / count as f64;
            let entropy = f64::from(bits) - (count as f64).log2() + 1.44;
            assert!(per_number <= most && per_number > entropy, "{count} {bits}: {per_number}");
        }
    }

    #[test]
    fn every_changed_bit_is_another_list_or_none() {
        let mut rng = StdRng::seed_from_u64(2);
        for (count, bits) in [(9, 20), (40, 9), (5, 128)] {
            let numbers = sorted(count, bits, &mut rng);
            let bytes = encode(&numbers, bits);
            for bit in 0..bytes.len() * 8 {
                let mut changed = bytes.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                if let Ok(other) = decode(&changed, count, bits) {
                    assert_ne!(other, numbers);
                    assert_eq!(encode(&other, bits), changed, "a list has one form");
                }
            }
        }
    }

    #[test]
    fn bytes_of_any_kind_are_a_list_or_an_error() {
        let mut rng = StdRng::seed_from_u64(3);
        for round in 0..3000 {
            let (count, bits) = (rng.random_range(0..30), rng.random_range(1..=128));
            let mut bytes = vec![0; encoded_bytes(count, bits)];
            rng.fill_bytes(&mut bytes);
            if let Ok(list) = decode(&bytes, count, bits) {
                assert!(list.is_sorted() && encode(&list, bits) == bytes, "round {round}");
            }
        }
    }

    #[test]
    fn each_fault_has_its_name() {
        let (count, bits) = (3, 16);
        let bytes = encode(&[1, 500, 60_000], bits);
        let layout = Layout::new(count, bits);
        assert_eq!(decode(&bytes[1..], count, bits), Err(SortedError::Length));
        assert_eq!(decode(&bytes, count + 8, bits), Err(SortedError::Length));
        let mut none = bytes.clone();
        none[layout.low_bytes..].fill(0);
        assert_eq!(decode(&none, count, bits), Err(SortedError::Count));
        let beyond = |at: usize| {
            let mut bytes = bytes.clone();
            bytes[at] |= 0x80;
            decode(&bytes, count, bits)
        };
        assert!(!layout.high_len.is_multiple_of(8));
        assert!(matches!(beyond(bytes.len() - 1), Err(SortedError::Beyond | SortedError::Count)));
        // Two numbers with one high part and falling low parts.
        let falling = {
            let mut bytes = encode(&[2, 3, 60_000], bits);
            let low = layout.low_bits;
            assert!(low >= 8);
            bytes[0] = 9;
            bytes
        };
        assert_eq!(decode(&falling, count, bits), Err(SortedError::Unsorted { position: 1 }));
    }
}
