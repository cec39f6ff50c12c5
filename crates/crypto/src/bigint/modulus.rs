//! Moduli, and arithmetic with batches of their residues.

use core::fmt;
use std::sync::Arc;

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, NonZero, Odd, Word};
use rand_core::CryptoRng;
use subtle::{Choice, ConditionallySelectable};
use vesica_kernels::Backend;
use vesica_kernels::montgomery::LANES;
use zeroize::{Zeroize, Zeroizing};

use super::lanes::Lanes;
use super::{Exponent, InvalidModulus, InvalidResidue, Residue, Residues};

/// An odd modulus of 512 to 16384 bits, with the constants of Montgomery's multiplication. Nothing about it but its
/// length shows in the time that its operations take, so that it may be a secret prime. A copy is cheap.
#[derive(Clone)]
pub struct Modulus {
    params: BoxedMontyParams,
    bits: u32,
    backend: Backend,
    /// What the lanes of the back end need, if it has lanes.
    lanes: Option<Arc<Lanes>>,
}

impl fmt::Debug for Modulus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Modulus({} bits)", self.bits)
    }
}

impl Modulus {
    /// The shortest modulus, in bits.
    pub const MIN_BITS: u32 = 512;
    /// The longest modulus, in bits.
    pub const MAX_BITS: u32 = 16384;
    /// Bytes that an integer must have in excess of the modulus for its residue to look uniform: 2^-128.
    pub const EXCESS: usize = 16;

    /// The modulus with this big-endian encoding. Leading zeros do not count.
    ///
    /// # Errors
    /// If it is even, too short or too long.
    pub fn from_be_bytes(bytes: &[u8]) -> Result<Self, InvalidModulus> {
        let bytes = &bytes[bytes.iter().take_while(|&&byte| byte == 0).count()..];
        let bits = bytes.len() * 8 - bytes.first().map_or(0, |first| first.leading_zeros() as usize);
        let bits = u32::try_from(bits).unwrap_or(u32::MAX);
        if bits > Self::MAX_BITS {
            return Err(InvalidModulus::Size { bits });
        }
        Self::from_uint(&BoxedUint::from_be_slice_truncated(bytes, bits.max(1)))
    }

    /// This number as a modulus. Its length becomes public.
    ///
    /// # Errors
    /// If it is even, too short or too long.
    pub fn from_uint(modulus: &BoxedUint) -> Result<Self, InvalidModulus> {
        let bits = modulus.bits();
        if !(Self::MIN_BITS..=Self::MAX_BITS).contains(&bits) {
            return Err(InvalidModulus::Size { bits });
        }
        let words = bits.div_ceil(Word::BITS) as usize;
        let modulus = BoxedUint::from_words(modulus.as_words()[..words].iter().copied());
        let odd = Odd::new(modulus).into_option().ok_or(InvalidModulus::Even)?;
        let params = BoxedMontyParams::new(odd);
        Ok(Self { params, bits, backend: Backend::PORTABLE, lanes: None }.with_backend(Backend::detect()))
    }

    /// This modulus, for operations computed by `backend`.
    #[must_use]
    pub fn with_backend(self, backend: Backend) -> Self {
        let lanes = Lanes::of(backend, self.divisor(), self.bits).map(Arc::new);
        Self { backend, lanes, ..self }
    }

    /// What computes.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Its length in bits.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Bytes of an encoded residue.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bits.div_ceil(8) as usize
    }

    /// The modulus as a number.
    #[must_use]
    pub fn value(&self) -> &BoxedUint {
        self.params.modulus()
    }

    /// The big-endian encoding of the modulus, [`bytes`](Self::bytes) long.
    #[must_use]
    pub fn to_be_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes());
        encode_words(self.value().as_words(), self.bytes(), &mut bytes);
        bytes
    }

    /// The residues with these encodings: big-endian, [`bytes`](Self::bytes) each, one after another.
    ///
    /// # Errors
    /// The first that is zero or not below the modulus; or that the length is no multiple.
    pub fn decode(&self, encoded: &[u8]) -> Result<Residues, InvalidResidue> {
        let chunks = encoded.chunks_exact(self.bytes());
        if !chunks.remainder().is_empty() {
            return Err(InvalidResidue { index: chunks.len() });
        }
        let mut residues = self.none(chunks.len());
        for (index, chunk) in chunks.enumerate() {
            let start = residues.words.len();
            decode_words(chunk, self.words(), &mut residues.words);
            let residue = &residues.words[start..];
            let zero = residue.iter().fold(0, |any, word| any | word) == 0;
            if zero || !bool::from(below(residue, self.value().as_words())) {
                return Err(InvalidResidue { index });
            }
        }
        Ok(residues)
    }

    /// Appends the encodings that [`decode`](Self::decode) reads.
    pub fn encode(&self, residues: &Residues, out: &mut Vec<u8>) {
        out.reserve(residues.len() * self.bytes());
        for words in residues.each_words() {
            encode_words(words, self.bytes(), out);
        }
    }

    /// Appends the encodings of x or m - x, whichever is smaller: one encoding for both. Zero must not be among the
    /// residues.
    pub fn encode_up_to_sign(&self, residues: &Residues, out: &mut Vec<u8>) {
        let mut chosen = Zeroizing::new(vec![0; self.words()]);
        out.reserve(residues.len() * self.bytes());
        for words in residues.each_words() {
            let mut borrow = 0;
            for ((negated, &word), &m) in chosen.iter_mut().zip(words).zip(self.value().as_words()) {
                let (difference, first) = m.overflowing_sub(word);
                let (difference, second) = difference.overflowing_sub(borrow);
                (*negated, borrow) = (difference, Word::from(first | second));
            }
            // x and m - x are never equal, as m is odd.
            let keep = below(words, &chosen);
            for (chosen, word) in chosen.iter_mut().zip(words) {
                chosen.conditional_assign(word, keep);
            }
            encode_words(&chosen, self.bytes(), out);
        }
    }

    /// The residues from 2 to (m - 1) / 2 with these encodings, as [`encode_up_to_sign`](Self::encode_up_to_sign)
    /// makes them of anything but 1 and -1.
    ///
    /// # Errors
    /// The first that is out of range; or that the length is no multiple.
    pub fn decode_up_to_sign(&self, encoded: &[u8]) -> Result<Residues, InvalidResidue> {
        let residues = self.decode(encoded)?;
        let half = self.value().shr(1);
        let last = half.wrapping_add(BoxedUint::one_with_precision(half.bits_precision()));
        let valid = |words: &[Word]| {
            let above_one = words[0] > 1 || words[1..].iter().fold(0, |any, word| any | word) != 0;
            above_one && bool::from(below(words, last.as_words()))
        };
        match residues.each_words().position(|words| !valid(words)) {
            Some(index) => Err(InvalidResidue { index }),
            None => Ok(residues),
        }
    }

    /// The residue of a number.
    #[must_use]
    pub fn residue(&self, number: &BoxedUint) -> Residue {
        let reduced = Zeroizing::new(number.rem(self.divisor()));
        Residue { words: reduced.as_words().to_vec() }
    }

    /// A batch of one residue.
    #[must_use]
    pub fn batch(&self, residue: &Residue) -> Residues {
        Residues { each: self.words(), words: residue.words.clone() }
    }

    /// An empty batch with room for `count` residues.
    #[must_use]
    pub fn none(&self, count: usize) -> Residues {
        Residues::with_capacity(self.words(), count)
    }

    /// The residues of big-endian integers of `each` bytes. They are statistically close to uniform (2^-128) if the
    /// bytes are uniform.
    ///
    /// # Panics
    /// If `each` is below [`bytes`](Self::bytes) + [`EXCESS`](Self::EXCESS), or the length is no multiple of it.
    #[must_use]
    pub fn reduce_wide(&self, uniform: &[u8], each: usize) -> Residues {
        assert!(each >= self.bytes() + Self::EXCESS, "integers longer than the modulus");
        self.reduce(uniform, each)
    }

    /// The residues of big-endian integers of `each` bytes.
    ///
    /// # Panics
    /// If the length is no multiple of `each`.
    #[must_use]
    pub fn reduce(&self, integers: &[u8], each: usize) -> Residues {
        assert!(integers.len().is_multiple_of(each), "whole integers");
        let mut residues = self.none(integers.len() / each);
        if let Some(lanes) = self.lanes(integers.len() / each) {
            let words = each.div_ceil(size_of::<Word>());
            let mut numbers = Zeroizing::new(Vec::with_capacity(integers.len() / each * words));
            integers.chunks_exact(each).for_each(|bytes| decode_words(bytes, words, &mut numbers));
            lanes.reduce(&numbers, words, &mut residues);
            return residues;
        }
        for bytes in integers.chunks_exact(each) {
            let integer = Zeroizing::new(BoxedUint::from_be_slice_truncated(bytes, each as u32 * 8));
            let reduced = Zeroizing::new(integer.rem(self.divisor()));
            residues.push_words(reduced.as_words());
        }
        residues
    }

    /// Uniformly random residues other than zero. One that is no unit would be a factor of the modulus.
    #[must_use]
    pub fn random_unit(&self, count: usize, rng: &mut dyn CryptoRng) -> Residues {
        let each = self.bytes() + Self::EXCESS;
        let mut uniform = Zeroizing::new(vec![0; count * each]);
        loop {
            rng.fill_bytes(&mut uniform);
            let units = self.reduce_wide(&uniform, each);
            // Never happens to a modulus of this size: a chance of 2^-511 for each number.
            if units.each_words().all(|words| words.iter().fold(0, |any, word| any | word) != 0) {
                return units;
            }
        }
    }

    /// Every base raised to one exponent.
    #[must_use]
    pub fn pow(&self, bases: &Residues, exponent: &Exponent) -> Residues {
        match self.lanes(bases.len()) {
            Some(lanes) => lanes.pow(bases, core::slice::from_ref(exponent)),
            None => self.map(bases, |base| base.pow_bounded_exp(exponent.value(), exponent.bits())),
        }
    }

    /// Each base raised to its exponent.
    ///
    /// # Panics
    /// If there is not one exponent for each base.
    #[must_use]
    pub fn pow_each(&self, bases: &Residues, exponents: &[Exponent]) -> Residues {
        assert_eq!(bases.len(), exponents.len(), "one exponent for each base");
        if let Some(lanes) = self.lanes(bases.len()) {
            return lanes.pow(bases, exponents);
        }
        let mut exponents = exponents.iter();
        self.map(bases, |base| match exponents.next() {
            Some(exponent) => base.pow_bounded_exp(exponent.value(), exponent.bits()),
            None => base.clone(),
        })
    }

    /// Every base raised to a public exponent, a big-endian number. The time depends on the exponent.
    #[must_use]
    pub fn vartime_pow_public(&self, bases: &Residues, exponent: &[u8]) -> Residues {
        if let Some(lanes) = self.lanes(bases.len()) {
            return lanes.vartime_pow_public(bases, exponent);
        }
        let one = self.monty_one();
        let bits = || exponent.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1));
        self.map(bases, |base| {
            let mut bits = bits().skip_while(|bit| !bit);
            if bits.next().is_none() {
                return one.clone();
            }
            let mut power = base.clone();
            for bit in bits {
                power = power.square();
                if bit {
                    power = power.mul(base);
                }
            }
            power
        })
    }

    /// Products, position by position.
    ///
    /// # Panics
    /// If the batches differ in length.
    #[must_use]
    pub fn mul(&self, a: &Residues, b: &Residues) -> Residues {
        assert_eq!(a.len(), b.len(), "batches of one length");
        if let Some(lanes) = self.lanes(a.len()) {
            return lanes.mul(a, b);
        }
        let mut others = b.each_words();
        self.map(a, |a| match others.next() {
            Some(b) => a.mul(&self.monty(b)),
            None => a.clone(),
        })
    }

    /// Every residue times `one`.
    #[must_use]
    pub fn mul_one(&self, residues: &Residues, one: &Residue) -> Residues {
        if let Some(lanes) = self.lanes(residues.len()) {
            return lanes.mul(residues, &self.batch(one));
        }
        let one = Zeroizing::new(self.monty(&one.words));
        self.map(residues, |residue| residue.mul(&one))
    }

    /// Squares.
    #[must_use]
    pub fn square(&self, residues: &Residues) -> Residues {
        match self.lanes(residues.len()) {
            Some(lanes) => lanes.square(residues),
            None => self.map(residues, BoxedMontyForm::square),
        }
    }

    /// a + b, position by position.
    ///
    /// # Panics
    /// If the batches differ in length.
    #[must_use]
    pub fn add(&self, a: &Residues, b: &Residues) -> Residues {
        self.zip(a, b, |a, b| a.add_mod(b, self.divisor()))
    }

    /// a - b, position by position.
    ///
    /// # Panics
    /// If the batches differ in length.
    #[must_use]
    pub fn sub(&self, a: &Residues, b: &Residues) -> Residues {
        self.zip(a, b, |a, b| a.sub_mod(b, self.divisor()))
    }

    /// The inverses; none if one of the residues has no inverse. One inversion for the whole batch (Montgomery's
    /// trick): with the products p_i = x_0 ··· x_i, 1 / x_i = p_(i - 1) · (1 / p_i) and 1 / p_(i - 1) = x_i · (1 / p_i).
    #[must_use]
    pub fn invert(&self, residues: &Residues) -> Option<Residues> {
        match self.lanes(residues.len().saturating_sub(LANES)) {
            Some(lanes) => lanes.invert(residues, |products| self.invert_in_turn(products)),
            None => self.invert_in_turn(residues),
        }
    }

    /// [`invert`](Self::invert), one residue after another.
    fn invert_in_turn(&self, residues: &Residues) -> Option<Residues> {
        let mut product = BoxedMontyForm::one(&self.params);
        let mut before = Zeroizing::new(Vec::with_capacity(residues.len()));
        for words in residues.each_words() {
            let next = product.mul(&self.monty(words));
            before.push(core::mem::replace(&mut product, next));
        }
        let mut inverse = Zeroizing::new(product.invert().into_option()?);
        product.zeroize();
        let mut inverses = self.none(residues.len());
        inverses.words.resize(residues.words.len(), 0);
        let places = inverses.words.chunks_exact_mut(self.words());
        for ((place, words), before) in places.zip(residues.each_words()).zip(before.iter()).rev() {
            place.copy_from_slice(Zeroizing::new(inverse.mul(before).retrieve()).as_words());
            *inverse = inverse.mul(&self.monty(words));
        }
        Some(inverses)
    }

    /// The lanes, if so many residues are worth them.
    pub(super) fn lanes(&self, count: usize) -> Option<&Lanes> {
        self.lanes.as_deref().filter(|lanes| count > 0 && lanes.worthwhile(count))
    }

    /// The modulus, as a divisor.
    pub(super) fn divisor(&self) -> &NonZero<BoxedUint> {
        self.params.modulus().as_nz_ref()
    }

    /// Words of a residue.
    pub(super) fn words(&self) -> usize {
        self.bits.div_ceil(Word::BITS) as usize
    }

    /// One, in Montgomery's form.
    pub(super) fn monty_one(&self) -> BoxedMontyForm {
        BoxedMontyForm::one(&self.params)
    }

    /// A residue in Montgomery's form.
    pub(super) fn monty(&self, words: &[Word]) -> BoxedMontyForm {
        BoxedMontyForm::new(BoxedUint::from_words(words.iter().copied()), &self.params)
    }

    /// A function of each residue, in Montgomery's form.
    fn map(&self, residues: &Residues, mut f: impl FnMut(&BoxedMontyForm) -> BoxedMontyForm) -> Residues {
        let mut mapped = self.none(residues.len());
        for words in residues.each_words() {
            let result = Zeroizing::new(f(&Zeroizing::new(self.monty(words))));
            mapped.push_words(Zeroizing::new(result.retrieve()).as_words());
        }
        mapped
    }

    /// A function of the numbers at each position.
    fn zip(&self, a: &Residues, b: &Residues, f: impl Fn(&BoxedUint, &BoxedUint) -> BoxedUint) -> Residues {
        assert_eq!(a.len(), b.len(), "batches of one length");
        let number = |words: &[Word]| Zeroizing::new(BoxedUint::from_words(words.iter().copied()));
        let mut results = self.none(a.len());
        for (a, b) in a.each_words().zip(b.each_words()) {
            results.push_words(Zeroizing::new(f(&number(a), &number(b))).as_words());
        }
        results
    }
}

/// True if a is below b, numbers of as many words.
fn below(a: &[Word], b: &[Word]) -> Choice {
    let borrow = a.iter().zip(b).fold(0, |borrow, (&a, &b)| {
        let (difference, first) = a.overflowing_sub(b);
        let (_, second) = difference.overflowing_sub(borrow);
        Word::from(first | second)
    });
    Choice::from(borrow as u8)
}

/// Appends the last `bytes` bytes of the big-endian encoding.
pub(super) fn encode_words(words: &[Word], bytes: usize, out: &mut Vec<u8>) {
    const WORD: usize = size_of::<Word>();
    out.extend(
        (0..bytes)
            .rev()
            .map(|byte| words.get(byte / WORD).map_or(0, |word| (word >> (byte % WORD * 8)) as u8)),
    );
}

/// Appends a big-endian number as `count` words.
fn decode_words(bytes: &[u8], count: usize, words: &mut Vec<Word>) {
    const WORD: usize = size_of::<Word>();
    let digit = |digits: &[u8]| digits.iter().fold(0, |word, &byte| word << 8 | Word::from(byte));
    let before = words.len();
    words.extend(bytes.rchunks(WORD).map(digit));
    words.resize(before + count, 0);
}
