//! Secret exponents.

use core::fmt;

use crypto_bigint::{BoxedUint, NonZero, RandomBits, RandomMod, Word};
use rand_core::CryptoRng;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A secret exponent. Its length in bits is public; an exponentiation takes as long as the length asks. Wiped
/// when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Exponent {
    value: BoxedUint,
    #[zeroize(skip)]
    bits: u32,
}

impl fmt::Debug for Exponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Exponent({} bits)", self.bits)
    }
}

impl Exponent {
    /// This number, which has at most `bits` bits.
    ///
    /// # Panics
    /// If the number does not fit in the words that `bits` bits take.
    #[must_use]
    pub fn new(value: &BoxedUint, bits: u32) -> Self {
        let words = bits.div_ceil(Word::BITS).max(1) as usize;
        let (low, high) = value.as_words().split_at(words.min(value.nlimbs()));
        assert!(high.iter().fold(0, |any, word| any | word) == 0, "an exponent of that length");
        let value = BoxedUint::from_words_with_precision(low.iter().copied(), words as u32 * Word::BITS);
        Self { value, bits }
    }

    /// A big-endian number, as long as its bytes are.
    #[must_use]
    pub fn from_be_bytes(bytes: &[u8]) -> Self {
        let bits = bytes.len() as u32 * 8;
        Self { value: BoxedUint::from_be_slice_truncated(bytes, bits.max(1)), bits }
    }

    /// A uniformly random number of at most `bits` bits.
    #[must_use]
    pub fn random(bits: u32, rng: &mut dyn CryptoRng) -> Self {
        Self { value: BoxedUint::random_bits(rng, bits), bits }
    }

    /// A uniformly random number from 1 to `bound` - 1.
    ///
    /// # Panics
    /// If `bound` is below 2.
    #[must_use]
    pub fn random_below(bound: &BoxedUint, rng: &mut dyn CryptoRng) -> Self {
        let bits = bound.bits();
        #[expect(clippy::expect_used, reason = "checked by the caller")]
        let bound = NonZero::new(bound.clone()).into_option().expect("a bound above zero");
        assert!(bits > 1, "a bound above 1");
        loop {
            let mut value = BoxedUint::random_mod_vartime(rng, &bound);
            if !value.is_zero().to_bool() {
                let exponent = Self::new(&value, bits);
                value.zeroize();
                return exponent;
            }
        }
    }

    /// Its public length.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The number.
    #[must_use]
    pub fn value(&self) -> &BoxedUint {
        &self.value
    }

    /// The bits at `from` to `from + count` - 1, where `count` is at most 16; those beyond the length are zero.
    pub(super) fn window(&self, from: u32, count: u32) -> usize {
        let words = self.value.as_words();
        let (word, shift) = ((from / Word::BITS) as usize, from % Word::BITS);
        let low = words.get(word).copied().unwrap_or(0) >> shift;
        let high = match (shift + count > Word::BITS, words.get(word + 1)) {
            (true, Some(next)) => next << (Word::BITS - shift),
            _ => 0,
        };
        ((low | high) & ((1 << count) - 1)) as usize
    }
}
