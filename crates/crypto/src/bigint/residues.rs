//! Residues, singly and in batches.

use core::fmt;

use crypto_bigint::{BoxedUint, Word};
use subtle::{Choice, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A residue of a [`Modulus`](super::Modulus): canonical, below it. Wiped when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Residue {
    pub(super) words: Vec<Word>,
}

/// Residues of one [`Modulus`](super::Modulus), one after another. Wiped when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Residues {
    /// Words of a residue, least significant first.
    #[zeroize(skip)]
    pub(super) each: usize,
    pub(super) words: Vec<Word>,
}

impl fmt::Debug for Residue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Residue(..)")
    }
}

impl fmt::Debug for Residues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Residues({})", self.len())
    }
}

impl ConstantTimeEq for Residue {
    fn ct_eq(&self, other: &Self) -> Choice {
        words_eq(&self.words, &other.words)
    }
}

impl ConstantTimeEq for Residues {
    fn ct_eq(&self, other: &Self) -> Choice {
        words_eq(&self.words, &other.words)
    }
}

/// In constant time if the lengths are equal.
pub(super) fn words_eq(a: &[Word], b: &[Word]) -> Choice {
    if a.len() != b.len() {
        return Choice::from(0);
    }
    a.iter().zip(b).fold(0, |any, (a, b)| any | (a ^ b)).ct_eq(&0)
}

impl Residue {
    /// The residue as a number.
    #[must_use]
    pub fn to_uint(&self) -> BoxedUint {
        BoxedUint::from_words(self.words.iter().copied())
    }
}

impl Residues {
    /// None yet, and room for `count` residues of `each` words.
    pub(super) fn with_capacity(each: usize, count: usize) -> Self {
        Self { each, words: Vec::with_capacity(each * count) }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.len() / self.each
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The residue at this position.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn get(&self, index: usize) -> Residue {
        Residue { words: self.words[index * self.each..][..self.each].to_vec() }
    }

    /// Appends a residue of the same modulus.
    ///
    /// # Panics
    /// If its length is not that of the others.
    pub fn push(&mut self, residue: &Residue) {
        self.push_words(&residue.words);
    }

    /// Appends the residues of a batch of the same modulus.
    ///
    /// # Panics
    /// If their length is not that of the others.
    pub fn extend(&mut self, others: &Self) {
        assert_eq!(self.each, others.each, "residues of one modulus");
        self.reserve(others.words.len());
        self.words.extend_from_slice(&others.words);
    }

    /// The residues at these positions, in this order.
    ///
    /// # Panics
    /// If a position is out of range.
    #[must_use]
    pub fn gather(&self, positions: &[u32]) -> Self {
        let mut gathered = Self::with_capacity(self.each, positions.len());
        for &position in positions {
            gathered.words.extend_from_slice(&self.words[position as usize * self.each..][..self.each]);
        }
        gathered
    }

    /// The first `count` residues, and the others.
    ///
    /// # Panics
    /// If there are fewer.
    #[must_use]
    pub fn split_at(&self, count: usize) -> (Self, Self) {
        let (first, second) = self.words.split_at(count * self.each);
        (Self { each: self.each, words: first.to_vec() }, Self { each: self.each, words: second.to_vec() })
    }

    /// The first position at which two batches of one length differ. The time tells no more than that.
    pub(super) fn first_difference(&self, other: &Self) -> Option<usize> {
        self.each_words().zip(other.each_words()).position(|(a, b)| !bool::from(words_eq(a, b)))
    }

    /// The words of each residue, least significant first.
    pub(super) fn each_words(&self) -> core::slice::ChunksExact<'_, Word> {
        self.words.chunks_exact(self.each)
    }

    pub(super) fn push_words(&mut self, words: &[Word]) {
        assert_eq!(words.len(), self.each, "residues of one modulus");
        self.reserve(words.len());
        self.words.extend_from_slice(words);
    }

    /// Makes room without leaving a copy behind.
    fn reserve(&mut self, more: usize) {
        if self.words.capacity() - self.words.len() < more {
            let mut grown = Vec::with_capacity((2 * self.words.len()).max(self.words.len() + more));
            grown.extend_from_slice(&self.words);
            self.words.zeroize();
            self.words = grown;
        }
    }
}
