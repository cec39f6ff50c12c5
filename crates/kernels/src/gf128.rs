//! Multiplication in GF(2^128) modulo x^128 + x^7 + x^2 + x + 1, bit i of a block being the coefficient of
//! x^i.
//!
//! Polynomials are multiplied first and reduced afterwards; a sum of products is reduced once, at its end.
//! With ρ = x^7 + x^2 + x + 1 and a product lo + hi·x^128, hi = h0 + h1·x^64, reduction uses x^128 = ρ twice:
//! h1·ρ has 71 bits, of which the upper seven t fall on x^128 again, so lo + hi·x^128 = lo + (h1·ρ mod
//! x^64)·x^64 + (h0 + t)·ρ.

#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
#[macro_use]
mod shared;
#[cfg(target_arch = "aarch64")]
mod arm;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
use super::Level;
use super::{Backend, Kernels};
use crate::block::Block;

/// Multiplies every block of `x` by the block of `y` at the same index.
pub fn multiply(backend: Backend, x: &mut [Block], y: &[Block]) {
    assert_eq!(x.len(), y.len(), "one factor per element");
    match backend.level_for(Kernels::Gf128) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of this level exists only where its instructions do.
        Level::Avx512Vaes => unsafe { x86::wide::multiply(x, y) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2Vaes => unsafe { x86::middle::multiply(x, y) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 => unsafe { x86::narrow::multiply(x, y) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        Level::Neon => unsafe { arm::neon::multiply(x, y) },
        _ => x.iter_mut().zip(y).for_each(|(x, y)| *x = product(*x, *y)),
    }
}

/// Adds c · x to y.
pub fn multiply_add(backend: Backend, y: &mut [Block], c: Block, x: &[Block]) {
    assert_eq!(x.len(), y.len(), "one summand per element");
    match backend.level_for(Kernels::Gf128) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of this level exists only where its instructions do.
        Level::Avx512Vaes => unsafe { x86::wide::multiply_add(y, c, x) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2Vaes => unsafe { x86::middle::multiply_add(y, c, x) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 => unsafe { x86::narrow::multiply_add(y, c, x) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        Level::Neon => unsafe { arm::neon::multiply_add(y, c, x) },
        _ => y.iter_mut().zip(x).for_each(|(y, x)| *y ^= product(c, *x)),
    }
}

/// Adds c · high to low, then low to high.
pub fn butterfly(backend: Backend, low: &mut [Block], high: &mut [Block], c: Block) {
    assert_eq!(low.len(), high.len(), "halves of one length");
    match backend.level_for(Kernels::Gf128) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of this level exists only where its instructions do.
        Level::Avx512Vaes => unsafe { x86::wide::butterfly(low, high, c) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2Vaes => unsafe { x86::middle::butterfly(low, high, c) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 => unsafe { x86::narrow::butterfly(low, high, c) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        Level::Neon => unsafe { arm::neon::butterfly(low, high, c) },
        _ => {
            for (low, high) in low.iter_mut().zip(high) {
                *low ^= product(c, *high);
                *high ^= *low;
            }
        }
    }
}

/// Multiplies every block of x by an entry of each table: of table w the one that bits 3w, 3w + 1 and 3w + 2
/// of the block's number select.
pub fn table_products(backend: Backend, x: &mut [Block], tables: &[[Block; 8]], numbers: &[u32]) {
    assert_eq!(x.len(), numbers.len(), "one number per element");
    match backend.level_for(Kernels::Gf128) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of this level exists only where its instructions do.
        Level::Avx512Vaes => unsafe { x86::wide::table_products(x, tables, numbers) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2Vaes => unsafe { x86::middle::table_products(x, tables, numbers) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 => unsafe { x86::narrow::table_products(x, tables, numbers) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        Level::Neon => unsafe { arm::neon::table_products(x, tables, numbers) },
        _ => {
            for (x, number) in x.iter_mut().zip(numbers) {
                for (window, table) in (0..).zip(tables) {
                    *x = product(*x, select(table, u64::from(*number) >> (3 * window)));
                }
            }
        }
    }
}

/// The entry that the lowest three bits select, in constant time.
fn select(table: &[Block; 8], bits: u64) -> Block {
    let choose = |bit: u32, zero: Block, one: Block| zero ^ (zero ^ one) & Block::mask(bits >> bit & 1 == 1);
    let pair = |i: usize| choose(0, table[i], table[i + 1]);
    choose(2, choose(1, pair(0), pair(2)), choose(1, pair(4), pair(6)))
}

/// The sum of the products of x and y, reduced once.
pub fn inner_product(backend: Backend, x: &[Block], y: &[Block]) -> Block {
    assert_eq!(x.len(), y.len(), "one factor per element");
    match backend.level_for(Kernels::Gf128) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of this level exists only where its instructions do.
        Level::Avx512Vaes => unsafe { x86::wide::inner_product(x, y) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2Vaes => unsafe { x86::middle::inner_product(x, y) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 => unsafe { x86::narrow::inner_product(x, y) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        Level::Neon => unsafe { arm::neon::inner_product(x, y) },
        _ => {
            let sum = x.iter().zip(y).fold((0, 0), |(low, high), (x, y)| {
                let (l, h) = wide_product(*x, *y);
                (low ^ l, high ^ h)
            });
            reduce(sum)
        }
    }
}

/// Adds to `sums` the products of each row with the factors: low, middle and high parts of four lanes each.
/// [`reduce_lanes`] turns them into an element.
pub fn add_row_products(
    backend: Backend,
    sums: &mut [[Block; 12]],
    rows: &[[Block; 8]],
    factors: &[Block; 8],
) {
    assert_eq!(sums.len(), rows.len(), "one sum for each row");
    match backend.level_for(Kernels::Gf128) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of this level exists only where its instructions do.
        Level::Avx512Vaes => unsafe { x86::wide::add_row_products(sums, rows, factors) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2Vaes => unsafe { x86::middle::add_row_products(sums, rows, factors) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 => unsafe { x86::narrow::add_row_products(sums, rows, factors) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        Level::Neon => unsafe { arm::neon::add_row_products(sums, rows, factors) },
        _ => {
            for (sums, row) in sums.iter_mut().zip(rows) {
                for (x, y) in row.iter().zip(factors) {
                    let (low, high) = wide_product(*x, *y);
                    sums[0] ^= Block::from(low);
                    sums[8] ^= Block::from(high);
                }
            }
        }
    }
}

/// The element of such parts: low + middle·x^64 + high·x^128.
pub fn reduce_lanes(parts: &[Block; 12]) -> Block {
    let part = |i: usize| parts[4 * i..4 * i + 4].iter().fold(0, |sum, lane| sum ^ lane.to_u128());
    let (low, middle, high) = (part(0), part(1), part(2));
    reduce((low ^ middle << 64, high ^ middle >> 64))
}

/// The product of two elements.
pub fn single(backend: Backend, x: Block, y: Block) -> Block {
    match backend.level_for(Kernels::Gf128) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of these levels exists only where their instructions do.
        Level::Avx512Vaes | Level::Avx2Vaes | Level::Avx2 => unsafe { x86::single(x, y) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        Level::Neon => unsafe { arm::single(x, y) },
        _ => product(x, y),
    }
}

fn product(x: Block, y: Block) -> Block {
    reduce(wide_product(x, y))
}

/// The 255 coefficients of the product of two polynomials, low half first; Karatsuba on 64-bit halves.
fn wide_product(x: Block, y: Block) -> (u128, u128) {
    let ((x0, x1), (y0, y1)) = (x.to_halves(), y.to_halves());
    let (low, high) = (multiply_bits(x0, y0), multiply_bits(x1, y1));
    let middle = multiply_bits(x0 ^ x1, y0 ^ y1) ^ low ^ high;
    (low ^ middle << 64, high ^ middle >> 64)
}

fn reduce((low, high): (u128, u128)) -> Block {
    let times_rho = |v: u128| v ^ v << 1 ^ v << 2 ^ v << 7;
    // The bits that the shifts of `high` push out fall on x^128 again.
    let pushed_out = high >> 127 ^ high >> 126 ^ high >> 121;
    Block::from(low ^ times_rho(high) ^ times_rho(pushed_out))
}

/// The product of two polynomials of degree below 64, with integer multiplications only: no table, no branch,
/// hence constant time wherever the processor multiplies in constant time.
///
/// Every fifth bit of each factor is kept, which leaves gaps of four. A product of two such numbers adds at
/// most thirteen ones at a bit, so no sum carries into the bit five further on, and the lowest bit of each
/// sum is the coefficient sought.
#[cfg(not(target_pointer_width = "32"))]
pub(crate) fn multiply_bits(x: u64, y: u64) -> u128 {
    const EVERY_FIFTH: u128 = every(5);
    let combs = |v: u64| core::array::from_fn::<_, 5, _>(|i| u128::from(v) & EVERY_FIFTH << i);
    let (x, y) = (combs(x), combs(y));
    let mut product = 0;
    for place in 0..5 {
        // Combs i and j of the factors meet at the bits i + j modulo 5.
        let sums = (0..5).fold(0, |sums, i| sums ^ (x[i] * y[(place + 5 - i) % 5]));
        product |= sums & (EVERY_FIFTH << place);
    }
    product
}

/// The product of two polynomials where products of 64 bits are the longest: Karatsuba on 32-bit halves, whose combs have gaps of three and
/// add at most eight ones at a bit.
#[cfg(target_pointer_width = "32")]
pub(crate) fn multiply_bits(x: u64, y: u64) -> u128 {
    const EVERY_FOURTH: u64 = every(4) as u64;
    fn halves(x: u32, y: u32) -> u64 {
        let (x, y) = (u64::from(x), u64::from(y));
        let x: [u64; 4] = core::array::from_fn(|i| x & EVERY_FOURTH << i);
        let y: [u64; 4] = core::array::from_fn(|i| y & EVERY_FOURTH << i);
        let sums = |place: usize| (0..4).fold(0, |sums, i| sums ^ (x[i] * y[(place + 4 - i) % 4]));
        (0..4).fold(0, |product, place| product | sums(place) & EVERY_FOURTH << place)
    }
    let ([x0, x1], [y0, y1]) = ([x as u32, (x >> 32) as u32], [y as u32, (y >> 32) as u32]);
    let (low, high) = (halves(x0, y0), halves(x1, y1));
    let middle = halves(x0 ^ x1, y0 ^ y1) ^ low ^ high;
    u128::from(low) ^ u128::from(middle) << 32 ^ u128::from(high) << 64
}

/// Ones at the multiples of `gap`.
const fn every(gap: usize) -> u128 {
    let (mut mask, mut bit) = (0, 0);
    while bit < 128 {
        mask |= 1 << bit;
        bit += gap;
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    /// Shift and add, one bit at a time.
    fn reference(x: Block, y: Block) -> Block {
        let (mut x, mut sum) = (x.to_u128(), 0);
        for bit in 0..128 {
            if y.bit(bit) {
                sum ^= x;
            }
            x = x << 1 ^ if x >> 127 == 1 { 0x87 } else { 0 };
        }
        Block::from(sum)
    }

    /// Extremes, single bits around every boundary, and random elements.
    fn elements() -> Vec<Block> {
        let mut elements = vec![Block::ZERO, Block::ONES, Block::from(1u128), Block::from(u128::MAX >> 64)];
        elements
            .extend([1, 4, 5, 59, 60, 63, 64, 65, 120, 121, 126, 127].map(|bit| Block::from(1u128 << bit)));
        let mut rng = StdRng::seed_from_u64(4);
        elements.extend((0..24).map(|_| Block::random(&mut rng)));
        elements
    }

    #[test]
    fn products_equal_shift_and_add() {
        let elements = elements();
        for backend in Backend::available() {
            for factor in &elements {
                let mut products = elements.clone();
                multiply(backend, &mut products, &vec![*factor; elements.len()]);
                for (x, product) in elements.iter().zip(products) {
                    assert!(product == reference(*x, *factor), "{backend:?}");
                    assert!(product == single(backend, *x, *factor), "{backend:?}");
                }
            }
        }
    }

    #[test]
    fn vectors_of_every_length_equal_single_products() {
        let elements = elements();
        let reversed: Vec<_> = elements.iter().rev().copied().collect();
        let c = Block::from_halves(0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210);
        for backend in Backend::available() {
            for count in 0..elements.len() {
                let (x, y) = (&elements[..count], &reversed[..count]);
                let mut products = x.to_vec();
                multiply(backend, &mut products, y);
                let mut sums = y.to_vec();
                multiply_add(backend, &mut sums, c, x);
                let (mut low, mut high) = (y.to_vec(), x.to_vec());
                butterfly(backend, &mut low, &mut high, c);
                let mut total = Block::ZERO;
                for i in 0..count {
                    assert!(low[i] == sums[i] && high[i] == x[i] ^ sums[i], "{backend:?} {count} {i}");
                    let product = reference(x[i], y[i]);
                    total ^= product;
                    assert!(products[i] == product, "{backend:?} {count} {i}");
                    assert!(sums[i] == y[i] ^ reference(c, x[i]), "{backend:?} {count} {i}");
                }
                assert!(inner_product(backend, x, y) == total, "{backend:?} {count}");
            }
        }
    }

    #[test]
    fn products_of_tables_are_those_of_their_entries() {
        let mut rng = StdRng::seed_from_u64(5);
        let tables: Vec<[Block; 8]> =
            (0..11).map(|_| core::array::from_fn(|_| Block::random(&mut rng))).collect();
        for backend in Backend::available() {
            for count in [0, 1, 3, 4, 5, 300] {
                let before: Vec<Block> = (0..count).map(|_| Block::random(&mut rng)).collect();
                let numbers: Vec<u32> =
                    (0..count).map(|_| Block::random(&mut rng).to_u128() as u32).collect();
                let mut after = before.clone();
                table_products(backend, &mut after, &tables, &numbers);
                for ((before, after), number) in before.iter().zip(after).zip(numbers) {
                    let entry = |w: usize| tables[w][(u64::from(number) >> (3 * w)) as usize & 7];
                    let expected = (0..11).fold(*before, |product, w| reference(product, entry(w)));
                    assert!(after == expected, "{backend:?} {count}");
                }
            }
        }
    }

    #[test]
    fn combs_multiply_all_ones() {
        // The fullest sums that occur.
        let (mut expected, ones) = (0, u128::from(u64::MAX));
        (0..64).for_each(|bit| expected ^= ones << bit);
        assert_eq!(multiply_bits(u64::MAX, u64::MAX), expected);
    }
}
