//! One base, many exponents.

use std::sync::Arc;

use crypto_bigint::Word;
use crypto_bigint::modular::BoxedMontyForm;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use super::{Exponent, Modulus, Residue, Residues};

/// Bits of an exponent that one multiplication takes in.
const WINDOW: u32 = 5;

/// A batch that is worth the lanes, if there are any: a table serves batches of every size.
const MANY: usize = 8;

/// The powers of one base from which its power to any exponent is a short product: base^(d·2^(wi)) for every digit
/// d of w bits and every position i.
#[derive(Clone)]
pub struct FixedBase {
    modulus: Modulus,
    exponent_bits: u32,
    table: Arc<Table>,
}

/// The powers.
enum Table {
    /// In Montgomery's form of the library; the 2^w powers of a position follow one another.
    Words(Zeroizing<Vec<Word>>),
    /// As the lanes have it.
    Lanes(Zeroizing<Vec<u64>>),
}

impl core::fmt::Debug for FixedBase {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "FixedBase({:?}, {} bits)", self.modulus, self.exponent_bits)
    }
}

impl FixedBase {
    /// For exponents of at most `exponent_bits` bits.
    #[must_use]
    pub fn new(modulus: &Modulus, base: &Residue, exponent_bits: u32) -> Self {
        let table = match modulus.lanes(MANY) {
            Some(lanes) => Table::Lanes(lanes.fixed_table(&base.words, exponent_bits)),
            None => Table::Words(Self::powers(modulus, base, exponent_bits)),
        };
        Self { modulus: modulus.clone(), exponent_bits, table: Arc::new(table) }
    }

    fn powers(modulus: &Modulus, base: &Residue, exponent_bits: u32) -> Zeroizing<Vec<Word>> {
        let positions = exponent_bits.div_ceil(WINDOW).max(1) as usize;
        let mut powers = Zeroizing::new(Vec::with_capacity((positions << WINDOW) * modulus.words()));
        let mut base = Zeroizing::new(modulus.monty(&base.words));
        for _ in 0..positions {
            let mut power = Zeroizing::new(modulus.monty_one());
            for _ in 0..1 << WINDOW {
                powers.extend_from_slice(power.as_montgomery().as_words());
                *power = power.mul(&base);
            }
            *base = core::mem::replace(&mut power, modulus.monty_one());
        }
        powers
    }

    /// The base raised to each exponent.
    ///
    /// # Panics
    /// If an exponent is longer than the table.
    #[must_use]
    pub fn pow_each(&self, exponents: &[Exponent]) -> Residues {
        let long = |exponent: &Exponent| exponent.bits() > self.exponent_bits;
        assert!(!exponents.iter().any(long), "exponents of the table's length");
        match (&*self.table, self.modulus.lanes(MANY)) {
            (Table::Lanes(table), Some(lanes)) => lanes.fixed_pow(table, exponents, self.modulus.words()),
            (Table::Words(powers), _) => self.pow_in_turn(powers, exponents),
            (Table::Lanes(_), None) => self.modulus.none(0),
        }
    }

    /// [`pow_each`](Self::pow_each), one exponent after another.
    fn pow_in_turn(&self, powers: &[Word], exponents: &[Exponent]) -> Residues {
        let (modulus, each) = (&self.modulus, self.modulus.words());
        let mut results = modulus.none(exponents.len());
        for exponent in exponents {
            let mut product: Option<Zeroizing<BoxedMontyForm>> = None;
            for (position, powers) in powers.chunks_exact(each << WINDOW).enumerate() {
                let digit = exponent.window(position as u32 * WINDOW, WINDOW);
                let factor = self.select(powers, digit);
                product = Some(match product {
                    Some(product) => Zeroizing::new(product.mul(&factor)),
                    None => factor,
                });
            }
            let product = product.unwrap_or_else(|| Zeroizing::new(modulus.monty_one()));
            results.push_words(Zeroizing::new(product.retrieve()).as_words());
        }
        results
    }

    /// The power at `digit`; reads all of them.
    fn select(&self, powers: &[Word], digit: usize) -> Zeroizing<BoxedMontyForm> {
        let mut chosen = Zeroizing::new(self.modulus.monty_one());
        let words = chosen.as_montgomery_mut().as_mut_words();
        for (index, power) in powers.chunks_exact(words.len()).enumerate() {
            let choice = (index as u64).ct_eq(&(digit as u64));
            for (word, power) in words.iter_mut().zip(power) {
                word.conditional_assign(power, choice);
            }
        }
        chosen
    }
}
