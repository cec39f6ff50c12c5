//! What a ledger keeps of a set of one's own, to tell later how much of it another set has in common with it.
//!
//! It is a sketch by minwise hashing with one permutation (Li, Owen and Zhang, "One permutation hashing", NIPS 2012,
//! §3), of which each bin keeps b = 4 bits (Li and König, "b-bit minwise hashing", WWW 2010, §3). A keyed hash sends
//! each item to one of 512 bins, with a rank. The sketch has four further bits of the hash of each bin's lowest item,
//! and says which bins are empty.
//!
//! ```text
//! A, B two sets    s  bins that are not empty in both sketches together
//!                  t  bins that have an item in each       e  those of them whose bits are equal
//! resemblance      J = |A ∩ B| / |A ∪ B| ≈ m / s,   m = (e − t/16) / (1 − 1/16)       (a sixteenth is equal by chance)
//! overlap          |A ∩ B| / min(|A|, |B|) = J / (1 + J) · (|A| + |B|) / min(|A|, |B|)
//! ```
//!
//! The standard error of J is √(E(1 − E)/s)·16/15 at most, where E = e/s: with full bins 0.024 at J = 1/2 and 0.011 at
//! J = 0. So of sets whose sizes differ by more than eight times the sketches tell nothing.
//!
//! **What it gives away.** Whoever has the ledger has the key too and can test a guess: that it fits to the four bits
//! of its bin. Among n items, a member fits with probability 512/n + (1 − 512/n)/16 about, and any other key with 1/16.
//! With 100,000 items that tells next to nothing. With less than 512 it tells nearly as much as the items' digests, up
//! to one error in 16, or less where bins are empty.

use std::str::FromStr;

use vesica_crypto::hash::Oracle;

/// Bins of a sketch.
const BINS: usize = 512;
/// Bytes of a hash: bin and bits (4), nothing (4), rank (8).
const HASH: usize = 16;
/// Items that are hashed in one call.
const BATCH: usize = 1024;
/// The share of bins whose bits are equal by chance.
const CHANCE: f64 = 1.0 / 16.0;
/// Sets whose sizes differ by more than this are not compared by their sketches.
const LARGEST_RATIO: u64 = 8;
/// A bin without an item, as text.
const EMPTY: u8 = b'.';

/// Takes a set's items, in any order, repeated ones too.
pub(crate) struct Sketcher {
    hash: Oracle,
    /// Of the lowest item of each bin: its rank and its bits; none: there is no item.
    lowest: Vec<Option<(u64, u8)>>,
    /// Items that are not hashed yet, one after the other.
    waiting: Vec<u8>,
    width: usize,
}

impl Sketcher {
    /// For items of so many bytes.
    pub(crate) fn new(key: [u8; 32], width: usize) -> Self {
        let waiting = Vec::with_capacity(BATCH * width);
        Sketcher { hash: Oracle::with_key(key), lowest: vec![None; BINS], waiting, width }
    }

    /// Takes an item of the width that was given.
    pub(crate) fn take(&mut self, item: &[u8]) {
        self.waiting.extend_from_slice(item);
        if self.waiting.len() >= BATCH * self.width {
            self.hash_waiting();
        }
    }

    /// The sketch of all items.
    pub(crate) fn finish(mut self) -> Sketch {
        self.hash_waiting();
        Sketch(self.lowest.iter().map(|lowest| lowest.map(|(_, bits)| bits)).collect())
    }

    fn hash_waiting(&mut self) {
        let mut hashes = vec![0; self.waiting.len() / self.width * HASH];
        self.hash.hash_batch(&self.waiting, self.width, &mut hashes, HASH);
        self.waiting.clear();
        for hash in hashes.chunks_exact(HASH) {
            let [a, b, bits, ..] = *hash else { continue };
            let rank = hash.last_chunk().copied().map_or(0, u64::from_le_bytes);
            let lowest = &mut self.lowest[usize::from(u16::from_le_bytes([a, b])) % BINS];
            let item = (rank, bits % 16);
            *lowest = Some(lowest.map_or(item, |lowest| lowest.min(item)));
        }
    }
}

/// Four bits for each bin that has an item.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Sketch(Vec<Option<u8>>);

/// As few bits as it has, they are not for a screen.
impl std::fmt::Debug for Sketch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sketch(..)")
    }
}

impl Sketch {
    /// Which share of the smaller set the other one has too, by the sketches of sets of so many items; none if their
    /// sizes differ so much that these do not tell.
    pub(crate) fn overlap(&self, other: &Sketch, items: [u64; 2]) -> Option<f64> {
        let (least, most) = (items[0].min(items[1]), items[0].max(items[1]));
        if most > least.saturating_mul(LARGEST_RATIO) {
            return None;
        }
        if least == 0 {
            return Some(1.0);
        }
        let (mut seen, mut both, mut equal) = (0u32, 0u32, 0u32);
        for pair in self.0.iter().zip(&other.0) {
            seen += u32::from(pair.0.is_some() || pair.1.is_some());
            both += u32::from(pair.0.is_some() && pair.1.is_some());
            equal += u32::from(pair.0.is_some() && pair.0 == pair.1);
        }
        let matching = (f64::from(equal) - CHANCE * f64::from(both)) / (1.0 - CHANCE);
        let resemblance = (matching / f64::from(seen.max(1))).clamp(0.0, 1.0);
        let sum = least as f64 + most as f64;
        Some((resemblance / (1.0 + resemblance) * sum / least as f64).min(1.0))
    }
}

/// A digit for each bin, or a point where it is empty.
impl std::fmt::Display for Sketch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digit = |bits: u8| char::from_digit(bits.into(), 16).unwrap_or('0');
        let digits = self.0.iter().map(|bits| bits.map_or(char::from(EMPTY), digit));
        f.write_str(&digits.collect::<String>())
    }
}

impl FromStr for Sketch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bin = |letter: u8| match letter {
            EMPTY => Some(None),
            b'0'..=b'9' => Some(Some(letter - b'0')),
            b'a'..=b'f' => Some(Some(letter - b'a' + 10)),
            _ => None,
        };
        let bins: Option<Vec<_>> = text.bytes().map(bin).collect();
        bins.filter(|bins| bins.len() == BINS).map(Sketch).ok_or_else(|| "is no sketch of a set".to_owned())
    }
}

impl serde::Serialize for Sketch {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Sketch {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'_, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(numbers: impl Iterator<Item = u64>) -> Sketch {
        let mut sketcher = Sketcher::new([7; 32], 16);
        for number in numbers {
            sketcher.take(&blake3::hash(&number.to_le_bytes()).as_bytes()[..16]);
        }
        sketcher.finish()
    }

    /// What is said of sets of which the second one has `common` of the `n` items of the first, and so many in all.
    fn overlap(n: u64, common: u64, other: u64) -> Option<f64> {
        let (mine, theirs) = (sketch(0..n), sketch(n - common..n - common + other));
        mine.overlap(&theirs, [n, other])
    }

    #[test]
    fn overlaps_are_told_within_four_standard_errors() {
        for n in [200, 2000, 50_000] {
            for (share, other) in [(0.0, 1), (0.25, 1), (0.5, 1), (0.9, 1), (1.0, 1), (0.0, 4), (1.0, 4)] {
                let common = (n as f64 * share) as u64;
                let said = overlap(n, common, n * other).unwrap();
                // The error of the overlap is that of J, times (|A| + |B|)/min(|A|, |B|) at most; a small set fills fewer bins.
                let error = 4.0 * 0.024 * (1 + other) as f64 * if n < 512 { 1.7 } else { 1.0 };
                assert!((said - share).abs() < error, "{n} {share} {other}: {said}");
            }
        }
        assert_eq!([overlap(100, 100, 900), overlap(5, 0, 0)], [None; 2]);
        assert_eq!([overlap(1000, 1000, 1000), overlap(0, 0, 0)], [Some(1.0); 2]);
    }

    #[test]
    fn repeated_items_and_their_order_do_not_count() {
        let backwards = sketch((0..3000).rev().chain(0..3000));
        assert_eq!(backwards, sketch(0..3000));
        assert_ne!(backwards, sketch(0..2999 / 2));
    }

    #[test]
    fn another_key_makes_another_sketch() {
        let mut other = Sketcher::new([8; 32], 16);
        (0..3000u64).for_each(|number| other.take(&blake3::hash(&number.to_le_bytes()).as_bytes()[..16]));
        assert!(other.finish().overlap(&sketch(0..3000), [3000; 2]).unwrap() < 0.2);
    }

    #[test]
    fn a_sketch_is_read_as_it_was_written() {
        for items in [0, 3, 5000] {
            let text = sketch(0..items).to_string();
            assert_eq!((text.len(), text.parse()), (BINS, Ok(sketch(0..items))));
        }
        for bad in ["", "0", &"g".repeat(BINS), &"0".repeat(BINS + 1), &"é".repeat(BINS / 2)] {
            assert!(bad.parse::<Sketch>().is_err());
        }
    }
}
