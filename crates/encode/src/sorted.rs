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

use vesica_crypto::memory::{large_capacity, large_zeros};

use crate::packed::{Packer, Unpacker, mask};

/// Most bits of a number.
pub const MAX_BITS: u32 = 128;

/// Numbers of a batch.
const BATCH: usize = 1 << 10;

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
    if numbers.is_empty() {
        return Vec::new();
    }
    let layout = Layout::new(numbers.len(), bits);
    let mut bytes = large_zeros(layout.bytes());
    let (low, high) = bytes.split_at_mut(layout.low_bytes);
    let mut packed = Packer::new(low);
    let (low_width, low_mask) = (layout.low_bits, mask(layout.low_bits));
    let mut before = 0;
    for (i, &number) in numbers.iter().enumerate() {
        assert!(number >= before && number & !mask(bits) == 0, "a sorted list of numbers of {bits} bits");
        before = number;
        packed.put(number & low_mask, low_width);
        let at = (number.checked_shr(low_width).unwrap_or(0)) as usize + i;
        high[at / 8] |= 1 << (at % 8);
    }
    bytes
}

/// Decodes a list of `count` numbers of `bits` bits.
///
/// # Panics
/// If the width is not 1 to [`MAX_BITS`].
pub fn decode(bytes: &[u8], count: usize, bits: u32) -> Result<Vec<u128>, SortedError> {
    if bytes.len() != encoded_bytes(count, bits) {
        return Err(SortedError::Length);
    }
    let mut numbers = large_capacity(count);
    for_each_batch(bytes, count, bits, |batch| numbers.extend_from_slice(batch))?;
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

/// Checks that these bytes are a list of `count` numbers of `bits` bits, in time that depends only on the
/// bytes.
///
/// # Errors
/// If the bytes are not such a list.
///
/// # Panics
/// As [`decode`].
pub fn check(bytes: &[u8], count: usize, bits: u32, repeats: Repeats) -> Result<(), SortedError> {
    walk(bytes, count, bits, repeats, |_| ())
}

/// As [`decode`], without memory for the list: calls `each` with one batch of numbers after another. An error
/// may be found after some calls.
///
/// # Errors
/// If the bytes are not such a list.
///
/// # Panics
/// As [`decode`].
pub fn for_each_batch(
    bytes: &[u8],
    count: usize,
    bits: u32,
    each: impl FnMut(&[u128]),
) -> Result<(), SortedError> {
    walk(bytes, count, bits, Repeats::Allowed, each)
}

fn walk(
    bytes: &[u8],
    count: usize,
    bits: u32,
    repeats: Repeats,
    mut each: impl FnMut(&[u128]),
) -> Result<(), SortedError> {
    if bytes.len() != encoded_bytes(count, bits) {
        return Err(SortedError::Length);
    }
    if count == 0 {
        return Ok(());
    }
    let layout = Layout::new(count, bits);
    let (low, high) = bytes.split_at(layout.low_bytes);
    let (mut batch, mut position) = (Vec::with_capacity(BATCH), 0);
    let mut parts = Unpacker::new(low);
    let mut before = 0;
    for (first, word) in words(high) {
        let mut word = word;
        while word != 0 {
            let at = first + word.trailing_zeros() as usize;
            word &= word - 1;
            if at >= layout.high_len {
                return Err(SortedError::Beyond);
            }
            // A high part has at most L - l bits: `at` is at most position + 2^(L-l) - 1, or there are too
            // few bits above it.
            let part = at.checked_sub(position).ok_or(SortedError::Count)? as u128;
            if position == count || part > mask(bits - layout.low_bits) {
                return Err(SortedError::Count);
            }
            let number = parts.take(layout.low_bits) | part.checked_shl(layout.low_bits).unwrap_or(0);
            if number < before {
                return Err(SortedError::Unsorted { position });
            }
            if number == before && position > 0 && repeats == Repeats::Refused {
                return Err(SortedError::Repeated { position });
            }
            before = number;
            position += 1;
            batch.push(number);
            if batch.len() == BATCH {
                each(&batch);
                batch.clear();
            }
        }
    }
    if position != count {
        return Err(SortedError::Count);
    }
    each(&batch);
    if parts.rest() == 0 { Ok(()) } else { Err(SortedError::Beyond) }
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
    fn a_list_of_distinct_numbers_holds_none_twice() {
        for bits in [33, 64, 128] {
            for distinct in [vec![], vec![0], vec![0, 1, 7], vec![5, 6, mask(bits)]] {
                let bytes = encode(&distinct, bits);
                assert_eq!(check(&bytes, distinct.len(), bits, Repeats::Refused), Ok(()));
                for position in 0..distinct.len() {
                    let mut twice = distinct.clone();
                    twice.insert(position, distinct[position]);
                    let bytes = encode(&twice, bits);
                    assert_eq!(check(&bytes, twice.len(), bits, Repeats::Allowed), Ok(()));
                    let found = check(&bytes, twice.len(), bits, Repeats::Refused);
                    assert_eq!(found, Err(SortedError::Repeated { position: position + 1 }));
                }
            }
        }
        // Far from the first batch, with equal low parts behind equal high ones.
        let mut numbers: Vec<u128> = (0..5000).map(|i| i << 100).collect();
        numbers[4000] = numbers[3999];
        let found = check(&encode(&numbers, 128), 5000, 128, Repeats::Refused);
        assert_eq!(found, Err(SortedError::Repeated { position: 4000 }));
        assert_eq!(check(&[0; 3], 5000, 128, Repeats::Refused), Err(SortedError::Length));
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
