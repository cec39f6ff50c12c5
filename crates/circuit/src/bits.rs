//! Packed bits: the same bit of many values, and numbers as rows of bits.

use std::fmt;
use std::ops::Range;

use vesica_crypto::memory::{Wiped, wipe};
use zeroize::{Zeroize, Zeroizing};

use crate::wires::Wires;

const WORD: usize = u64::BITS as usize;

/// A row of bits, 64 to a word, lowest first. Bits beyond the length are zero. They are wiped when dropped,
/// and never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl fmt::Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bits").field("len", &self.len).finish_non_exhaustive()
    }
}

impl Drop for Bits {
    fn drop(&mut self) {
        wipe(&mut self.words);
    }
}

impl FromIterator<bool> for Bits {
    fn from_iter<I: IntoIterator<Item = bool>>(bits: I) -> Self {
        let bits = bits.into_iter();
        let (mut words, mut len) = (Wiped::default(), 0usize);
        words.reserve(bits.size_hint().0.div_ceil(WORD));
        for bit in bits {
            if len.is_multiple_of(WORD) {
                words.reserve(1);
                words.push(0);
            }
            words[len / WORD] |= u64::from(bit) << (len % WORD);
            len += 1;
        }
        Bits { words: words.into_vec(), len }
    }
}

impl Bits {
    /// `len` times the same bit.
    #[must_use]
    pub fn repeat(bit: bool, len: usize) -> Self {
        Self::from_words(vec![if bit { u64::MAX } else { 0 }; len.div_ceil(WORD)], len)
    }

    /// The lowest `len` bits of these words; bits beyond are cleared.
    ///
    /// # Panics
    /// If there are more or fewer words than the bits need.
    #[must_use]
    pub fn from_words(mut words: Vec<u64>, len: usize) -> Self {
        assert_eq!(words.len(), len.div_ceil(WORD), "as many words as the bits need");
        if let (Some(last), rest @ 1..) = (words.last_mut(), len % WORD) {
            *last &= (1 << rest) - 1;
        }
        Bits { words, len }
    }

    /// The first `len` bits of bytes, eight to a byte, lowest first; bits beyond are ignored.
    ///
    /// # Panics
    /// If there are more or fewer bytes than the bits need.
    #[must_use]
    pub fn from_bytes(bytes: &[u8], len: usize) -> Self {
        assert_eq!(bytes.len(), len.div_ceil(8), "as many bytes as the bits need");
        let words = bytes.chunks(8).map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        });
        Self::from_words(words.collect(), len)
    }

    /// Eight bits to a byte, lowest first.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // No byte is added after the capacity was reserved, so that no copy stays behind.
        let mut bytes = Vec::with_capacity(self.words.len() * 8);
        self.words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        bytes.truncate(self.len.div_ceil(8));
        bytes
    }

    /// The words, 64 bits each.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The bit at a position.
    ///
    /// # Panics
    /// If it lies beyond the row.
    #[must_use]
    pub fn get(&self, position: usize) -> bool {
        assert!(position < self.len, "a position of the row");
        self.words[position / WORD] >> (position % WORD) & 1 == 1
    }

    /// All bits in order.
    pub fn iter(&self) -> impl Iterator<Item = bool> + '_ {
        (0..self.len).map(|position| self.words[position / WORD] >> (position % WORD) & 1 == 1)
    }

    /// The bits from a position on, which are gone from this row afterwards.
    ///
    /// # Panics
    /// If the position lies beyond the row.
    #[must_use]
    pub fn split_off(&mut self, at: usize) -> Self {
        let split = self.slice(at..self.len);
        let (kept, rest) = (at.div_ceil(WORD), at % WORD);
        self.words[kept..].zeroize();
        self.words.truncate(kept);
        if let (Some(last), 1..) = (self.words.last_mut(), rest) {
            *last &= (1 << rest) - 1;
        }
        self.len = at;
        split
    }

    /// The rows of these lengths, one after the other.
    ///
    /// # Panics
    /// If there are fewer bits.
    pub(crate) fn parts(&self, lengths: impl Iterator<Item = usize>) -> impl Iterator<Item = Self> {
        let mut at = 0;
        lengths.map(move |length| {
            at += length;
            self.slice(at - length..at)
        })
    }

    /// The row whose words are those that `combine` makes of the words of both.
    ///
    /// # Panics
    /// If the lengths differ.
    #[must_use]
    pub fn zip_words(&self, other: &Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        assert_eq!(self.len, other.len, "rows of one length");
        let words = self.words.iter().zip(&other.words).map(|(a, b)| combine(*a, *b)).collect();
        Self::from_words(words, self.len)
    }

    /// The 64 bits from a position on; zeros beyond the end.
    fn word_at(&self, position: usize) -> u64 {
        let (word, shift) = (position / WORD, position % WORD);
        let low = self.words.get(word).copied().unwrap_or(0) >> shift;
        let high = self.words.get(word + 1).copied().unwrap_or(0);
        if shift == 0 { low } else { low | high << (WORD - shift) }
    }
}

impl Wires for Bits {
    fn len(&self) -> usize {
        self.len
    }

    fn slice(&self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.len, "a range of the row");
        let (first, shift) = (range.start / WORD, range.start % WORD);
        let count = range.len().div_ceil(WORD);
        let words = if shift == 0 {
            self.words[first..first + count].to_vec()
        } else {
            let high = self.words.get(first + 1..).unwrap_or_default().iter().chain([&0]);
            let pairs = self.words.get(first..).unwrap_or_default().iter().zip(high).take(count);
            pairs.map(|(low, high)| low >> shift | high << (WORD - shift)).collect()
        };
        Self::from_words(words, range.len())
    }

    fn write(&mut self, at: usize, from: &Self) {
        assert!(at.checked_add(from.len).is_some_and(|end| end <= self.len), "a range of the row");
        let whole = from.len / WORD;
        if at.is_multiple_of(WORD) {
            self.words[at / WORD..at / WORD + whole].copy_from_slice(&from.words[..whole]);
        }
        let done = if at.is_multiple_of(WORD) { whole } else { 0 };
        for (i, &word) in from.words.iter().enumerate().skip(done) {
            let count = (from.len - i * WORD).min(WORD);
            let mask = if count == WORD { u64::MAX } else { (1 << count) - 1 };
            let (to, shift) = ((at + i * WORD) / WORD, (at + i * WORD) % WORD);
            self.words[to] = self.words[to] & !(mask << shift) | word << shift;
            if shift + count > WORD {
                let back = WORD - shift;
                self.words[to + 1] = self.words[to + 1] & !(mask >> back) | word >> back;
            }
        }
    }

    fn gather(&self, positions: &[u32]) -> Self {
        let words = positions.chunks(WORD).map(|positions| {
            assert!(positions.iter().all(|&position| (position as usize) < self.len), "positions of the row");
            if positions.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == 1) {
                return self.word_at(positions[0] as usize);
            }
            let bit = |position: u32| self.words[position as usize / WORD] >> (position as usize % WORD) & 1;
            positions.iter().rev().fold(0, |word, &position| word << 1 | bit(position))
        });
        Self::from_words(words.collect(), positions.len())
    }

    fn join(rows: &[&Self]) -> Self {
        assert!(!rows.is_empty(), "at least one row");
        let mut joined = Self::repeat(false, rows.iter().map(|row| row.len).sum());
        let mut at = 0;
        for row in rows {
            joined.write(at, row);
            at += row.len;
        }
        joined
    }

    fn xor(&self, other: &Self) -> Self {
        self.zip_words(other, |a, b| a ^ b)
    }

    fn add(&mut self, at: usize, from: &Self) {
        assert!(at.checked_add(from.len).is_some_and(|end| end <= self.len), "a range of the row");
        let (first, shift) = (at / WORD, at % WORD);
        for (to, &word) in (first..).zip(&from.words) {
            self.words[to] ^= word << shift;
            // The bits that the shift pushed out are zeros where the row has ended.
            if let (1.., Some(next)) = (shift, self.words.get_mut(to + 1)) {
                *next ^= word >> (WORD - shift);
            }
        }
    }
}

/// `width` rows, lowest bit first: row i has bit i of each number. Bits from `width` on are left out.
///
/// # Panics
/// If there are more than 128 rows.
#[must_use]
pub fn rows(numbers: &[u128], width: usize) -> Vec<Bits> {
    assert!(width <= u128::BITS as usize, "bits of a number");
    let mut words = vec![Vec::with_capacity(numbers.len().div_ceil(WORD)); width];
    let mut tile = Zeroizing::new([0; WORD]);
    for numbers in numbers.chunks(WORD) {
        for (half, words) in words.chunks_mut(WORD).enumerate() {
            tile.fill(0);
            tile.iter_mut().zip(numbers).for_each(|(row, number)| *row = (number >> (WORD * half)) as u64);
            transpose(&mut tile);
            words.iter_mut().zip(tile.iter()).for_each(|(words, word)| words.push(*word));
        }
    }
    words.into_iter().map(|words| Bits::from_words(words, numbers.len())).collect()
}

/// The numbers whose bits these rows have, lowest first: the reverse of [`rows`].
///
/// # Panics
/// If there are more than 128 rows, or their lengths differ.
#[must_use]
pub fn numbers(rows: &[Bits]) -> Vec<u128> {
    assert!(rows.len() <= u128::BITS as usize, "bits of a number");
    let len = rows.first().map_or(0, |row| row.len);
    assert!(rows.iter().all(|row| row.len == len), "rows of one length");
    let mut numbers = vec![0; len];
    let mut tile = Zeroizing::new([0; WORD]);
    for (at, numbers) in numbers.chunks_mut(WORD).enumerate() {
        for (half, rows) in rows.chunks(WORD).enumerate() {
            tile.fill(0);
            tile.iter_mut().zip(rows).for_each(|(word, row)| *word = row.words[at]);
            transpose(&mut tile);
            let halves = numbers.iter_mut().zip(tile.iter());
            halves.for_each(|(number, word)| *number |= u128::from(*word) << (WORD * half));
        }
    }
    numbers
}

/// Swaps bit j of word i with bit i of word j: blocks of half the side change places, then their blocks.
fn transpose(tile: &mut [u64; WORD]) {
    let (mut side, mut mask) = (WORD / 2, u64::MAX >> (WORD / 2));
    while side > 0 {
        for i in (0..WORD).filter(|i| i & side == 0) {
            let swapped = (tile[i] >> side ^ tile[i + side]) & mask;
            tile[i] ^= swapped << side;
            tile[i + side] ^= swapped;
        }
        side /= 2;
        mask ^= mask << side;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(len: usize, salt: usize) -> Vec<bool> {
        (0..len).map(|i| (i * i + salt * i / 3).is_multiple_of(3)).collect()
    }

    #[test]
    fn rearranging_agrees_with_lists() {
        for len in [0, 1, 63, 64, 65, 130, 200] {
            let list = pattern(len, 5);
            let row: Bits = list.iter().copied().collect();
            assert_eq!((row.len(), row.iter().collect::<Vec<_>>()), (len, list.clone()));
            for start in [0, len / 3, len / 2, len] {
                for end in [start, (start + 64).min(len), len] {
                    let slice = row.slice(start..end);
                    assert_eq!(slice, list[start..end].iter().copied().collect());
                    let mut back = Bits::repeat(true, len);
                    back.write(start, &slice);
                    for (i, bit) in back.iter().enumerate() {
                        assert_eq!(bit, !(start..end).contains(&i) || list[i]);
                    }
                    let mut sum = row.clone();
                    sum.add(start, &slice);
                    let added = |i| list[i] && !(start..end).contains(&i);
                    assert_eq!(sum, (0..len).map(added).collect());
                    assert_eq!(
                        row.ranges(&[start..end, 0..start]),
                        Bits::join(&[&slice, &row.slice(0..start)])
                    );
                    assert_eq!(Bits::join(&[&row.slice(0..start), &slice, &row.slice(end..len)]), row);
                    let mut front = row.clone();
                    assert_eq!(front.split_off(start), row.slice(start..len));
                    assert_eq!(front, row.slice(0..start));
                }
            }
            let positions: Vec<u32> = (0..len as u32).rev().chain(0..len as u32 / 2).collect();
            let gathered: Bits = positions.iter().map(|&i| list[i as usize]).collect();
            assert_eq!(row.gather(&positions), gathered);
        }
    }

    #[test]
    fn bytes_hold_eight_bits_each() {
        for len in [0, 1, 7, 8, 9, 64, 70, 129] {
            let row: Bits = pattern(len, 3).into_iter().collect();
            let mut bytes = row.to_bytes();
            assert_eq!((bytes.len(), Bits::from_bytes(&bytes, len)), (len.div_ceil(8), row.clone()));
            if let (Some(last), 1..) = (bytes.last_mut(), len % 8) {
                *last |= 0x80;
                assert_eq!(Bits::from_bytes(&bytes, len), row, "bits beyond the length are ignored");
            }
        }
    }

    #[test]
    fn bits_beyond_the_length_are_zero() {
        assert_eq!(Bits::repeat(true, 65).words(), [u64::MAX, 1]);
        assert_eq!(Bits::from_words(vec![u64::MAX], 3).words(), [7]);
        let row = Bits::repeat(true, 3).zip_words(&Bits::repeat(false, 3), |a, b| !(a ^ b));
        assert_eq!(row.words(), [0]);
    }

    #[test]
    fn numbers_become_rows_and_rows_numbers() {
        let all: Vec<u128> =
            (1..=200u128).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)).collect();
        for count in [0, 1, 63, 64, 65, 200] {
            for width in [1, 13, 63, 64, 65, 127, 128] {
                let (given, mask) = (&all[..count], u128::MAX >> (128 - width));
                let rows = rows(given, width);
                assert_eq!(rows.len(), width);
                for (bit, row) in rows.iter().enumerate() {
                    assert_eq!(*row, given.iter().map(|number| number >> bit & 1 == 1).collect());
                }
                assert_eq!(numbers(&rows), given.iter().map(|number| number & mask).collect::<Vec<_>>());
            }
        }
        assert!(rows(&[1], 0).is_empty() && numbers(&[]).is_empty());
    }
}
