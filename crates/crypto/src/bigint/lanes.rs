//! Eight residues at a time, on the lanes of the processor.
//!
//! Numbers come in as words, are packed into limbs, and leave canonical. In between they are in Montgomery's form
//! and below twice the modulus.

use crypto_bigint::{BoxedUint, NonZero, Word};
use vesica_kernels::Backend;
use vesica_kernels::montgomery::{self, Kernel, LANES, Limbs, Multiplier, Numbers};
use zeroize::Zeroizing;

use super::{Exponent, Residues};

/// Bits of an exponent that one multiplication by an entry of a table takes in, for exponents of this length.
fn window(bits: u32) -> u32 {
    match bits {
        0..=24 => 1,
        25..=80 => 3,
        81..=512 => 4,
        _ => 5,
    }
}

/// Bits of an exponent that one multiplication takes in where the base is fixed.
const FIXED_WINDOW: u32 = 6;

/// Vectors of eight results that are computed together from one part of a fixed base's table.
const TOGETHER: usize = 8;

/// A modulus, ready for the lanes.
pub(super) struct Lanes {
    modulus: montgomery::Modulus,
    /// The modulus in words.
    words: Zeroizing<Vec<Word>>,
    /// R² in every lane: a factor that brings a number into Montgomery's form.
    square: Numbers,
    /// One, in Montgomery's form, in every lane.
    one: Numbers,
    /// One, plain, in every lane: a factor that brings a number out of Montgomery's form.
    unit: Numbers,
}

impl Lanes {
    /// For the modulus of this length, if the back end has lanes.
    pub(super) fn of(backend: Backend, divisor: &NonZero<BoxedUint>, bits: u32) -> Option<Self> {
        let kernel = Kernel::of(backend)?;
        let (words, limbs) = (divisor.as_words(), kernel.limbs(bits));
        let split = |words: &[Word]| {
            let limb = |index| limb_of(words, index, kernel.radix());
            Zeroizing::new((0..limbs).map(limb).collect::<Vec<u64>>())
        };
        let power_of_2 = |power: u32| {
            let mut number = BoxedUint::zero_with_precision(power + 1);
            number.as_mut_words()[(power / Word::BITS) as usize] = 1 << (power % Word::BITS);
            let residue = Zeroizing::new(number.rem(divisor));
            Zeroizing::new(
                split(residue.as_words()).iter().map(|&limb| Limbs([limb; LANES])).collect::<Vec<_>>(),
            )
        };
        let r = kernel.radix() * limbs as u32;
        let modulus = montgomery::Modulus::new(kernel, &split(words));
        let mut unit = modulus.zero();
        unit[0] = Limbs([1; LANES]);
        Some(Self {
            modulus,
            unit,
            words: Zeroizing::new(words.to_vec()),
            square: power_of_2(2 * r),
            one: power_of_2(r),
        })
    }

    /// True if so many numbers are worth the lanes.
    pub(super) fn worthwhile(&self, count: usize) -> bool {
        count >= self.modulus.kernel().worthwhile()
    }

    /// Every base raised to its exponent; an only exponent serves all.
    pub(super) fn pow(&self, bases: &Residues, exponents: &[Exponent]) -> Residues {
        let shared = exponents.len() == 1;
        self.map(bases, |work, first, base| {
            let exponents =
                if shared { exponents } else { &exponents[first..exponents.len().min(first + LANES)] };
            let bits = exponents.iter().map(Exponent::bits).max().unwrap_or(0);
            let digits = |from, width| {
                let mut digits = Limbs::default();
                for (lane, digit) in digits.0.iter_mut().enumerate() {
                    let exponent = if shared { exponents.first() } else { exponents.get(lane) };
                    *digit = exponent.map_or(0, |exponent| exponent.window(from, width) as u64);
                }
                digits
            };
            work.pow(base, bits, digits);
        })
    }

    /// Every base raised to a public exponent, big-endian.
    pub(super) fn vartime_pow_public(&self, bases: &Residues, exponent: &[u8]) -> Residues {
        let first = exponent.iter().take_while(|&&byte| byte == 0).count();
        let exponent = Exponent::from_be_bytes(&exponent[first..]);
        let bits = exponent.value().bits();
        let weight = (0..bits).filter(|&bit| exponent.value().bit_vartime(bit)).count();
        self.map(bases, |work, _, base| {
            if weight < 4 {
                work.vartime_pow_sparse(base, bits, &exponent);
            } else {
                work.vartime_pow(base, bits, |from, width| exponent.window(from, width));
            }
        })
    }

    /// Products, position by position; an only second factor serves all.
    pub(super) fn mul(&self, a: &Residues, b: &Residues) -> Residues {
        let one = (b.len() == 1).then(|| self.pack(&b.words, true));
        let mut results = self.none(a);
        let mut work = Work::new(self, a.len());
        for first in (0..a.len()).step_by(LANES) {
            let left = self.pack(group(a, first), false);
            work.load(&left);
            match &one {
                Some(one) => work.mul_by(one),
                None => work.mul_by(&self.pack(group(b, first), false)),
            }
            self.unpack(&work.value, group(a, first).len() / a.each, &mut results);
        }
        results
    }

    /// Squares.
    pub(super) fn square(&self, a: &Residues) -> Residues {
        let mut results = self.none(a);
        let mut work = Work::new(self, a.len());
        for first in (0..a.len()).step_by(LANES) {
            let value = self.pack(group(a, first), false);
            work.load(&value);
            work.mul_by(&value);
            self.unpack(&work.value, group(a, first).len() / a.each, &mut results);
        }
        results
    }

    /// The inverses, given a way to invert a batch: one inversion of at most eight products. As
    /// [`Modulus::invert`](super::Modulus::invert), in every lane.
    pub(super) fn invert(
        &self,
        residues: &Residues,
        invert: impl FnOnce(&Residues) -> Option<Residues>,
    ) -> Option<Residues> {
        let mut work = Work::new(self, LANES);
        // Every group's numbers, and the product of all before it. Lanes without a number hold one.
        let mut before: Vec<Numbers> = Vec::with_capacity(residues.len().div_ceil(LANES));
        let mut factors: Vec<Numbers> = Vec::with_capacity(residues.len().div_ceil(LANES));
        work.value.copy_from_slice(&self.one);
        for first in (0..residues.len()).step_by(LANES) {
            before.push(work.value.clone());
            let product = core::mem::replace(&mut work.value, self.pack_or_one(group(residues, first)));
            work.mul_by(&self.square);
            factors.push(work.value.clone());
            work.mul_by(&product);
        }
        work.mul_by(&self.unit);
        let mut products = Residues::with_capacity(residues.each, LANES);
        self.unpack(&work.value, LANES, &mut products);
        let inverses = invert(&products)?;
        let mut inverse = self.pack(&inverses.words, false);
        work.load(&inverse);
        inverse.copy_from_slice(&work.value);
        let mut groups: Vec<Numbers> = Vec::with_capacity(before.len());
        for (before, factor) in before.iter().zip(&factors).rev() {
            work.value.copy_from_slice(&inverse);
            work.mul_by(before);
            work.mul_by(&self.unit);
            groups.push(work.value.clone());
            work.value.copy_from_slice(&inverse);
            work.mul_by(factor);
            inverse.copy_from_slice(&work.value);
        }
        let mut results = self.none(residues);
        for (index, inverses) in groups.iter().rev().enumerate() {
            let count = group(residues, index * LANES).len() / residues.each;
            self.unpack(inverses, count, &mut results);
        }
        Some(results)
    }

    /// The residues of little-endian integers of `each` words. An integer is cut into pieces below R: the residue of
    /// p_0 + R·p_1 + … in Montgomery's form is p_0·R + R·(p_1·R + …), by Horner's rule.
    pub(super) fn reduce(&self, integers: &[Word], each: usize, results: &mut Residues) {
        let bits = self.modulus.kernel().radix() * self.modulus.limbs() as u32;
        let pieces = (each as u32 * Word::BITS).div_ceil(bits);
        let mut work = Work::new(self, integers.len() / each);
        for group in integers.chunks(LANES * each) {
            work.load(&self.pack_bits(group, each, (pieces - 1) * bits));
            for piece in (0..pieces - 1).rev() {
                work.mul_by(&self.square);
                let high = work.value.clone();
                work.load(&self.pack_bits(group, each, piece * bits));
                // Below 4m, and so is a factor below R.
                self.add(&mut work.value, &high);
            }
            work.mul_by(&self.unit);
            self.unpack(&work.value, group.len() / each, results);
        }
    }

    /// The table of a fixed base for exponents of `bits` bits: for every position the powers to each digit, limb
    /// after limb.
    pub(super) fn fixed_table(&self, base: &[Word], bits: u32) -> Zeroizing<Vec<u64>> {
        let (limbs, entries) = (self.modulus.limbs(), 1 << FIXED_WINDOW);
        let positions = bits.div_ceil(FIXED_WINDOW).max(1) as usize;
        let mut table = Zeroizing::new(vec![0; positions * limbs * entries]);
        let mut work = Work::new(self, 1);
        // Eight digits a time: base^(8i + j) in lane j.
        let mut steps = Work::new(self, LANES);
        work.value.copy_from_slice(&self.pack(base, true));
        work.mul_by(&self.square);
        for table in table.chunks_exact_mut(limbs * entries) {
            let base = work.value.clone();
            let mut digits = self.one.clone();
            for lane in 1..LANES {
                work.value
                    .iter()
                    .zip(digits.iter_mut())
                    .for_each(|(power, digit)| digit.0[lane] = power.0[0]);
                work.mul_by(&base);
            }
            // base^8 in every lane.
            let step =
                Zeroizing::new(work.value.iter().map(|limb| Limbs([limb.0[0]; LANES])).collect::<Vec<_>>());
            steps.value.copy_from_slice(&digits);
            for digit in (0..entries).step_by(LANES) {
                for (limb, value) in steps.value.iter().enumerate() {
                    table[limb * entries + digit..][..LANES].copy_from_slice(&value.0);
                }
                steps.mul_by(&step);
            }
            // The last power is base^entries, in lane 0.
            work.value
                .iter_mut()
                .zip(steps.value.iter())
                .for_each(|(to, from)| *to = Limbs([from.0[0]; LANES]));
        }
        table
    }

    /// A fixed base raised to each exponent, from its table.
    pub(super) fn fixed_pow(&self, table: &[u64], exponents: &[Exponent], each: usize) -> Residues {
        let part = self.modulus.limbs() << FIXED_WINDOW;
        let mut results = Residues::with_capacity(each, exponents.len());
        for exponents in exponents.chunks(LANES * TOGETHER) {
            let groups: Vec<&[Exponent]> = exponents.chunks(LANES).collect();
            let mut works: Vec<Work> = groups.iter().map(|group| Work::new(self, group.len())).collect();
            works.iter_mut().for_each(|work| work.value.copy_from_slice(&self.one));
            // Every group at one position of the table, which stays in the cache.
            for (position, table) in table.chunks_exact(part).enumerate() {
                for (work, exponents) in works.iter_mut().zip(&groups) {
                    let mut digits = Zeroizing::new(Limbs::default());
                    for (digit, exponent) in (*digits).0.iter_mut().zip(*exponents) {
                        *digit = exponent.window(position as u32 * FIXED_WINDOW, FIXED_WINDOW) as u64;
                    }
                    work.multiplier.select_shared(&mut work.factor, table, &digits);
                    work.mul_by_factor();
                }
            }
            for (work, exponents) in works.iter_mut().zip(&groups) {
                work.mul_by(&self.unit);
                self.unpack(&work.value, exponents.len(), &mut results);
            }
        }
        results
    }

    /// A function of each group of bases, from Montgomery's form to Montgomery's form. It gets the group's first
    /// position, and leaves its result as the value of the work.
    fn map(&self, bases: &Residues, mut f: impl FnMut(&mut Work<'_>, usize, &Numbers)) -> Residues {
        let mut results = self.none(bases);
        for first in (0..bases.len()).step_by(LANES) {
            let group = group(bases, first);
            let count = group.len() / bases.each;
            let mut work = Work::new(self, count);
            work.load(&self.pack(group, false));
            let base = work.value.clone();
            f(&mut work, first, &base);
            work.mul_by(&self.unit);
            self.unpack(&work.value, count, &mut results);
        }
        results
    }

    /// Room for as many results.
    fn none(&self, like: &Residues) -> Residues {
        Residues::with_capacity(like.each, like.len())
    }

    /// At most eight residues as limbs; or one residue, in every lane.
    fn pack(&self, residues: &[Word], in_every_lane: bool) -> Numbers {
        let each = self.words.len();
        let mut numbers = self.pack_bits(residues, each, 0);
        if in_every_lane {
            numbers.iter_mut().for_each(|limb| *limb = Limbs([limb.0[0]; LANES]));
        }
        numbers
    }

    /// At most eight residues as limbs, and one in the lanes that are left.
    fn pack_or_one(&self, residues: &[Word]) -> Numbers {
        let mut numbers = self.pack(residues, false);
        numbers[0].0[residues.len() / self.words.len()..].fill(1);
        numbers
    }

    /// As many bits as a number's limbs hold, from bit `from` on, of at most eight integers of `each` words.
    fn pack_bits(&self, integers: &[Word], each: usize, from: u32) -> Numbers {
        let radix = self.modulus.kernel().radix();
        let mut numbers = self.modulus.zero();
        let (skipped, shift) = ((from / Word::BITS) as usize, from % Word::BITS);
        for (lane, words) in integers.chunks_exact(each).enumerate() {
            let mut words = words.iter().copied().skip(skipped);
            // Bits that are read and not yet in a limb.
            let mut left = u128::from(words.next().unwrap_or(0) >> shift);
            let mut count = Word::BITS - shift;
            for limb in numbers.iter_mut() {
                if count < radix {
                    left |= u128::from(words.next().unwrap_or(0)) << count;
                    count += Word::BITS;
                }
                limb.0[lane] = left as u64 & ((1 << radix) - 1);
                left >>= radix;
                count -= radix;
            }
        }
        numbers
    }

    /// Appends the first `count` numbers, below twice the modulus, as residues.
    fn unpack(&self, numbers: &[Limbs], count: usize, results: &mut Residues) {
        let radix = self.modulus.kernel().radix();
        // Twice the modulus may need one word more.
        let mut words = Zeroizing::new(vec![0; self.words.len() + 1]);
        let mut reduced = words.clone();
        for lane in 0..count {
            let mut limbs = numbers.iter().map(|limb| limb.0[lane]);
            let (mut left, mut count) = (0u128, 0);
            for word in words.iter_mut() {
                while count < Word::BITS {
                    left |= u128::from(limbs.next().unwrap_or(0)) << count;
                    count += radix;
                }
                *word = left as Word;
                left >>= Word::BITS;
                count -= Word::BITS;
            }
            self.subtract_modulus(&words, &mut reduced);
            results.push_words(&reduced[..self.words.len()]);
        }
    }

    /// A number below twice the modulus, less the modulus if it is not below it.
    fn subtract_modulus(&self, number: &[Word], reduced: &mut [Word]) {
        let modulus = self.words.iter().copied().chain([0]);
        let mut borrow = 0;
        for ((reduced, &word), m) in reduced.iter_mut().zip(number).zip(modulus) {
            let (difference, first) = word.overflowing_sub(m);
            let (difference, second) = difference.overflowing_sub(borrow);
            (*reduced, borrow) = (difference, Word::from(first | second));
        }
        // All ones if the number was below.
        let keep = core::hint::black_box(borrow).wrapping_neg();
        for (reduced, &word) in reduced.iter_mut().zip(number) {
            *reduced ^= (*reduced ^ word) & keep;
        }
    }

    /// `a += b`, with carried limbs.
    fn add(&self, a: &mut [Limbs], b: &[Limbs]) {
        let radix = self.modulus.kernel().radix();
        let mut carry = [0; LANES];
        for (a, b) in a.iter_mut().zip(b) {
            for ((a, b), carry) in a.0.iter_mut().zip(b.0).zip(&mut carry) {
                let sum = *a + b + *carry;
                (*a, *carry) = (sum & ((1 << radix) - 1), sum >> radix);
            }
        }
    }
}

/// Eight numbers that are being computed.
struct Work<'a> {
    lanes: &'a Lanes,
    multiplier: Multiplier<'a>,
    value: Numbers,
    /// The other factor, where it was selected.
    factor: Numbers,
    /// Where products go; then it changes places with the value.
    product: Numbers,
}

impl<'a> Work<'a> {
    /// For the first `count` of eight numbers.
    fn new(lanes: &'a Lanes, count: usize) -> Self {
        let zero = || lanes.modulus.zero();
        let multiplier = Multiplier::new(&lanes.modulus, count.min(LANES));
        Self { lanes, multiplier, value: zero(), factor: zero(), product: zero() }
    }

    /// Takes plain numbers into Montgomery's form.
    fn load(&mut self, plain: &[Limbs]) {
        self.multiplier.mul(&mut self.value, plain, &self.lanes.square);
    }

    fn square(&mut self) {
        self.multiplier.square(&mut self.product, &self.value);
        core::mem::swap(&mut self.value, &mut self.product);
    }

    /// Multiplies by numbers of Montgomery's form; or out of it, by plain ones.
    fn mul_by(&mut self, factor: &[Limbs]) {
        self.multiplier.mul(&mut self.product, &self.value, factor);
        core::mem::swap(&mut self.value, &mut self.product);
    }

    fn mul_by_factor(&mut self) {
        self.multiplier.mul(&mut self.product, &self.value, &self.factor);
        core::mem::swap(&mut self.value, &mut self.product);
    }

    /// The powers of the base to 0 .. 2^`width`, limb after limb.
    fn table(&mut self, base: &Numbers, width: u32) -> Numbers {
        let (limbs, entries) = (base.len(), 1 << width);
        let mut table = Zeroizing::new(vec![Limbs::default(); limbs * entries]);
        let mut put = |entry: usize, number: &[Limbs]| {
            for (limb, value) in number.iter().enumerate() {
                table[limb * entries + entry] = *value;
            }
        };
        put(0, &self.lanes.one);
        self.value.copy_from_slice(base);
        for entry in 1..entries {
            put(entry, &self.value);
            self.mul_by(base);
        }
        table
    }

    /// The value becomes the base raised to exponents of `bits` bits, whose digits the function gives.
    fn pow(&mut self, base: &Numbers, bits: u32, digits: impl Fn(u32, u32) -> Limbs) {
        let width = window(bits);
        let table = self.table(base, width);
        self.value.copy_from_slice(&self.lanes.one);
        for position in (0..bits.div_ceil(width)).rev() {
            let digits = Zeroizing::new(digits(position * width, width));
            self.multiplier.select(&mut self.factor, &table, &digits);
            if (position + 1) * width >= bits {
                self.value.copy_from_slice(&self.factor);
            } else {
                (0..width).for_each(|_| self.square());
                self.mul_by_factor();
            }
        }
    }

    /// [`pow`](Self::pow) with public digits.
    fn vartime_pow(&mut self, base: &Numbers, bits: u32, digit: impl Fn(u32, u32) -> usize) {
        let width = window(bits);
        let (table, entries) = (self.table(base, width), 1 << width);
        self.value.copy_from_slice(&self.lanes.one);
        for position in (0..bits.div_ceil(width)).rev() {
            (0..width).for_each(|_| self.square());
            let digit = digit(position * width, width);
            if digit != 0 {
                self.factor
                    .iter_mut()
                    .zip(table.chunks_exact(entries))
                    .for_each(|(to, from)| *to = from[digit]);
                self.mul_by_factor();
            }
        }
    }

    /// [`vartime_pow`](Self::vartime_pow) for an exponent of few ones: a multiplication for each of them.
    fn vartime_pow_sparse(&mut self, base: &Numbers, bits: u32, exponent: &Exponent) {
        self.value.copy_from_slice(if bits == 0 { &self.lanes.one } else { base });
        for bit in (0..bits.saturating_sub(1)).rev() {
            self.square();
            if exponent.value().bit_vartime(bit) {
                self.mul_by(base);
            }
        }
    }
}

/// At most eight residues, from position `first` on.
fn group(residues: &Residues, first: usize) -> &[Word] {
    let words = &residues.words[first * residues.each..];
    &words[..words.len().min(LANES * residues.each)]
}

/// The limb at this position.
fn limb_of(words: &[Word], index: usize, radix: u32) -> u64 {
    bits_of(words, index as u32 * radix, radix)
}

/// The `count` bits from bit `from` on.
fn bits_of(words: &[Word], from: u32, count: u32) -> u64 {
    let word = |index: usize| words.get(index).copied().unwrap_or(0);
    let (index, shift) = ((from / Word::BITS) as usize, from % Word::BITS);
    // Two words reach as far as any limb: 52 bits and a shift below 64.
    let wide = u128::from(word(index)) | u128::from(word(index + 1)) << Word::BITS;
    (wide >> shift) as u64 & ((1 << count) - 1)
}
