//! Discrete logarithms of the points, and powers of the generator.
//!
//! GF(2^32) is GF(2^16)\[y\] with y = β_16, and s_16 takes c·y + e to c, for c and e in GF(2^16). Since
//! s_16(ω_i) = ω_(i >> 16), the upper half of an index is that of c. With c ≠ 0,
//!
//! ```text
//! log ω_i = log c + log(y + e/c)
//! ```
//!
//! The first term has a table of 2^16 - 1 entries, h^0, h^1, … for h = g^65537, which generates GF(2^16)*. So
//! has the second one: g^0, g^1, …, g^65536 lie in different classes of GF(2^32)* modulo GF(2^16)*, of which
//! there are 65537. The first power is in the class of 1; of each other power c·(y + e) it is known that log(y
//! + e) = i - log c.
//!
//! All tables are public. They have 640 KiB and are made once.

use std::sync::LazyLock;

use vesica_crypto::block::Block;
use vesica_crypto::gf128::{self, Gf128};
use vesica_crypto::{par, walsh};

use super::points::Points;

/// Elements of GF(2^16).
const SMALL: usize = 1 << 16;

/// The order of GF(2^32)*, in which logarithms are taken modulo.
const ORDER: u32 = u32::MAX;

/// Its prime factors.
const PRIMES: [u32; 5] = [3, 5, 17, 257, 65537];

/// Tables of powers, each for three bits of an exponent.
const WINDOWS: usize = (u32::BITS as usize).div_ceil(3);

pub(super) struct Logarithms {
    /// Of h in GF(2^16)*: exponents by index, 0 for 0, and indices by exponent, twice.
    small: Vec<u16>,
    small_powers: Vec<u16>,
    /// log(y + ω_e) by e.
    class: Vec<u32>,
    /// e of ω_(2^16·c), for the bits of c.
    shear: [u16; 16],
    /// g^(a·8^w) for w < 11 and a < 8.
    windows: Vec<[Block; 8]>,
}

impl Logarithms {
    /// The tables; made once.
    pub(super) fn get() -> &'static Self {
        static LOGARITHMS: LazyLock<Logarithms> = LazyLock::new(Logarithms::new);
        &LOGARITHMS
    }

    fn new() -> Self {
        let points = Points::get();
        // The points before that lie in GF(2^16).
        let generates = |g: &Gf128| PRIMES.iter().all(|p| power(*g, ORDER / p) != Gf128::ONE);
        let generator = (SMALL as u32..).map(|i| points.point(i)).find(generates);
        let Some(generator) = generator else { unreachable!("the group is cyclic") };
        let small_generator = power(generator, 65537);
        let (mut small, mut small_powers) = (vec![0; SMALL], Vec::with_capacity(2 * SMALL));
        let columns = columns::<16>(points, small_generator);
        let mut index = 1;
        for exponent in 0..SMALL as u32 - 1 {
            small[index as usize] = exponent as u16;
            small_powers.push(index as u16);
            index = apply(&columns, index);
        }
        small_powers.extend_from_within(..);
        // e of β_(16+b) = β_b·y + e.
        let y = points.basis(16);
        let shear = core::array::from_fn(|b| {
            points.index(points.basis(16 + b as u32) + points.basis(b as u32) * y) as u16
        });
        let windows = (0..WINDOWS).map(|w| {
            let step = power(generator, 1 << (3 * w));
            core::array::from_fn(|a| power(step, a as u32).into())
        });
        let mut tables =
            Self { small, small_powers, class: vec![0; SMALL], shear, windows: windows.collect() };
        let columns = self::columns::<32>(points, generator);
        let mut index = 1;
        for exponent in 1..=SMALL as u32 {
            index = apply(&columns, index);
            let (c, e) = tables.split(index);
            let (class, of_c) = (tables.divide(e, c), tables.of_small(c));
            tables.class[class] = walsh::add(exponent, !of_c);
        }
        tables
    }

    /// c and e of ω_i = c·y + e.
    fn split(&self, i: u32) -> (u16, u16) {
        let c = (i >> 16) as u16;
        let e = (0..16).filter(|bit| c >> bit & 1 == 1).fold(i as u16, |e, bit| e ^ self.shear[bit]);
        (c, e)
    }

    /// log c, for c ≠ 0.
    fn of_small(&self, c: u16) -> u32 {
        u32::from(self.small[usize::from(c)]) * 65537
    }

    /// The index of e/c, for c ≠ 0.
    fn divide(&self, e: u16, c: u16) -> usize {
        let exponent = |x: u16| usize::from(self.small[usize::from(x)]);
        let quotient = self.small_powers[exponent(e) + SMALL - 1 - exponent(c)];
        if e == 0 { 0 } else { usize::from(quotient) }
    }

    /// log ω_i; 0 for i = 0, where there is none.
    #[cfg(test)]
    fn of(&self, i: u32) -> u32 {
        let (c, e) = self.split(i);
        if c == 0 {
            return self.of_small(e);
        }
        walsh::add(self.of_small(c), self.class[self.divide(e, c)])
    }

    /// log ω_i for i = `first`, `first` + 1, …; 0 for i = 0. `first` is a multiple of 2^12,
    /// or of their number where that is a smaller power of two.
    pub(super) fn fill(&self, threads: usize, first: usize, logarithms: &mut [u32]) {
        const CHUNK: usize = 1 << 12;
        let Ok(()) = par::fill_chunks(threads, CHUNK, logarithms, |chunk, logarithms| {
            // A chunk has one c, and the lower bits of its indices add to e.
            let (c, start) = self.split((first + chunk * CHUNK) as u32);
            let of_c = self.of_small(c);
            for (low, logarithm) in (0..).zip(logarithms) {
                let e = start ^ low;
                *logarithm = match c {
                    0 => self.of_small(e),
                    c => walsh::add(of_c, self.class[self.divide(e, c)]),
                };
            }
            Ok::<_, core::convert::Infallible>(())
        });
    }

    /// g^e for each exponent, in constant time.
    pub(super) fn powers(&self, exponents: &[u32], powers: &mut [Block]) {
        powers.fill(Gf128::ONE.to_block());
        gf128::table_products(powers, &self.windows, exponents);
    }
}

/// base^exponent, both public.
fn power(base: Gf128, exponent: u32) -> Gf128 {
    (0..u32::BITS).rev().fold(Gf128::ONE, |power, bit| {
        let square = power.square();
        if exponent >> bit & 1 == 1 { square * base } else { square }
    })
}

/// Multiplication by `factor` as a matrix on indices: those of factor·β_b.
fn columns<const BITS: usize>(points: &Points, factor: Gf128) -> [u32; BITS] {
    core::array::from_fn(|b| points.index(factor * points.basis(b as u32)))
}

fn apply(columns: &[u32], index: u32) -> u32 {
    columns
        .iter()
        .enumerate()
        .fold(0, |sum, (bit, column)| sum ^ (column & (index >> bit & 1).wrapping_neg()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_the_exponents_of_their_points() {
        let (logarithms, points) = (Logarithms::get(), Points::get());
        let indices: Vec<u32> = (1..2000).chain((1..500).map(|i: u32| i.wrapping_mul(0x9e37_79b1))).collect();
        let indices = [&indices[..], &[0xffff, 0x1_0000, 0x1_ffff, 1 << 31, u32::MAX]].concat();
        let exponents: Vec<u32> = indices.iter().map(|i| logarithms.of(*i)).collect();
        let mut powers = vec![Block::ZERO; indices.len()];
        logarithms.powers(&exponents, &mut powers);
        for (i, power) in indices.iter().zip(powers) {
            assert!(power == points.point(*i).to_block(), "ω_{i}");
        }
        let mut filled = vec![7; 9000];
        logarithms.fill(2, 0xf000, &mut filled);
        assert!((0xf000..).zip(filled).all(|(i, logarithm)| logarithm == logarithms.of(i)));
        assert_eq!(logarithms.of(0), 0);
    }

    #[test]
    fn both_zero_exponents_give_one() {
        let mut powers = [Block::ZERO; 3];
        Logarithms::get().powers(&[0, ORDER, 1], &mut powers);
        assert!(powers[0] == powers[1] && powers[0] == Gf128::ONE.to_block() && powers[2] != powers[0]);
    }
}
