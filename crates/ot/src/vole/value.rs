//! The fields that values are from.
//!
//! F = GF(2^128) is read in two ways. Over values in GF(2^128) it is the field of [`vesica_crypto::gf128`]. Over values in
//! GF(2^64) = GF(2)\[x\] / (x^64 + x^4 + x^3 + x + 1) it is a vector space of dimension two, the halves of a block being
//! the coordinates, and a value multiplies each coordinate; values are the first coordinate of those elements whose second is
//! zero, in whichever quadratic extension. No product of two elements of F is ever needed.

use vesica_crypto::block::Block;
use vesica_crypto::gf128::{self, Gf128};
use vesica_crypto::transpose::Tile;

use super::codes::Word;
use crate::pprf::add_at;
use crate::small_field;

/// A value: an element of GF(2^128) ([`Block`]) or of GF(2^64) (`u64`).
pub trait Value: Word + core::fmt::Debug + PartialEq + private::Sealed {
    /// Values in a block.
    const PER_BLOCK: usize;

    /// Value number `lane` of a block.
    fn of(block: Block, lane: usize) -> Self;

    /// The sum over i of row i of a tile at a place, weighted with the element of F that bit i of Δ stands for.
    fn weighted(tile: &Tile, place: usize, lane: usize) -> Block;

    /// Vectors to work in: those for blocks, if values are blocks, or else the other ones.
    fn workspace<'a>(blocks: &'a mut [Vec<Block>; 2], own: &'a mut [Vec<Self>; 2]) -> &'a mut [Vec<Self>; 2];

    /// Adds `value` at the secret place `index`.
    fn put_at(values: &mut [Self], index: usize, value: Self);

    /// The product with an element of F.
    #[must_use]
    fn times(self, element: Block) -> Block;

    /// Adds to each sum the product of `element` and the value in its place.
    ///
    /// # Panics
    /// If the slices differ in length.
    fn add_products(sums: &mut [Block], element: Block, values: &[Self]);
}

mod private {
    pub trait Sealed {}
    impl Sealed for vesica_crypto::block::Block {}
    impl Sealed for u64 {}
}

impl Value for Block {
    const PER_BLOCK: usize = 1;

    fn of(block: Block, _lane: usize) -> Self {
        block
    }

    fn weighted(tile: &Tile, place: usize, _lane: usize) -> Block {
        small_field::as_element(tile, place)
    }

    fn workspace<'a>(
        blocks: &'a mut [Vec<Block>; 2],
        _own: &'a mut [Vec<Self>; 2],
    ) -> &'a mut [Vec<Self>; 2] {
        blocks
    }

    fn put_at(values: &mut [Self], index: usize, value: Self) {
        add_at(values, index, value);
    }

    fn times(self, element: Block) -> Block {
        (Gf128::from(self) * Gf128::from(element)).to_block()
    }

    fn add_products(sums: &mut [Block], element: Block, values: &[Self]) {
        gf128::multiply_add(sums, Gf128::from(element), values);
    }
}

impl Value for u64 {
    const PER_BLOCK: usize = 2;

    fn of(block: Block, lane: usize) -> Self {
        let (low, high) = block.to_halves();
        if lane == 0 { low } else { high }
    }

    fn weighted(tile: &Tile, place: usize, lane: usize) -> Block {
        let half = |rows: &[[Block; 8]]| {
            rows.iter()
                .rev()
                .fold(0u64, |sum, row| (sum << 1) ^ ((sum >> 63) * REDUCTION) ^ Self::of(row[place], lane))
        };
        let (low, high) = tile.split_at(64);
        Block::from_halves(half(low), half(high))
    }

    fn workspace<'a>(
        _blocks: &'a mut [Vec<Block>; 2],
        own: &'a mut [Vec<Self>; 2],
    ) -> &'a mut [Vec<Self>; 2] {
        own
    }

    fn put_at(values: &mut [Self], index: usize, value: Self) {
        for (i, place) in values.iter_mut().enumerate() {
            *place ^= value & 0u64.wrapping_sub(u64::from(i == index));
        }
    }

    fn times(self, element: Block) -> Block {
        let (low, high) = element.to_halves();
        Block::from_halves(multiply(self, low), multiply(self, high))
    }

    fn add_products(sums: &mut [Block], element: Block, values: &[Self]) {
        assert_eq!(sums.len(), values.len(), "one summand for each element");
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum ^= value.times(element);
        }
    }
}

/// x^64 modulo the polynomial of GF(2^64).
const REDUCTION: u64 = 0x1b;

/// The product in GF(2^64): shift and add under masks.
fn multiply(a: u64, b: u64) -> u64 {
    (0..64)
        .rev()
        .fold(0u64, |sum, bit| (sum << 1) ^ ((sum >> 63) * REDUCTION) ^ (a & 0u64.wrapping_sub(b >> bit & 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_small_field_is_one() {
        let power = |mut base: u64, mut exponent: u64| {
            let mut product = 1;
            while exponent > 0 {
                if exponent & 1 == 1 {
                    product = multiply(product, base);
                }
                base = multiply(base, base);
                exponent >>= 1;
            }
            product
        };
        // 2^64 - 1 = 3·5·17·257·641·65537·6700417: x has an order that no proper subfield allows, and inverses exist.
        assert_eq!(power(2, u64::MAX), 1);
        for subfield in [u64::from(u32::MAX), 0xffff, 0xff] {
            assert_ne!(power(2, subfield), 1);
        }
        for a in [1, 2, 0x8000_0000_0000_0000, u64::MAX, 0x0123_4567_89ab_cdef] {
            assert_eq!(multiply(a, power(a, u64::MAX - 1)), 1);
            assert_eq!(multiply(a, 3), a ^ multiply(a, 2));
        }
    }
}
