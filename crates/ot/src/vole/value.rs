//! The fields that values are from.
//!
//! F = GF(2^128) is read in two ways. Over values in GF(2^128) it is the field of [`vesica_crypto::gf128`].
//! Over values in GF(2^64), the field of [`vesica_crypto::gf64`], it is a vector space of dimension two, the
//! halves of a block being the coordinates, and a value multiplies each coordinate. Values are the first
//! coordinate of those elements whose second is zero, in any quadratic extension. No product of two elements
//! of F is ever needed.

use vesica_crypto::block::Block;
use vesica_crypto::gf64;
use vesica_crypto::gf128::{self, Gf128};
use vesica_crypto::transpose::{COLUMNS, Tile, transpose};

use super::codes::Word;
use crate::security::{Malicious, SecurityModel, SemiHonest};
use crate::small_field;

/// A value: an element of GF(2^128) ([`Block`]), of GF(2^64) (`u64`), or a [`Bit`].
pub trait Value: Word + core::fmt::Debug + PartialEq + private::Sealed {
    /// Columns of correlated OT that one random value takes.
    const COLUMNS: usize;

    /// The only value that noise may have, if there is but one. It takes no correlation then.
    const ONLY: Option<Self>;

    /// The values that a tile's strings u stand for, and the sums of its rows weighted with the elements of F
    /// that the bits of Δ stand for, of the first `count` blocks of columns. The sender has no strings.
    fn correlations(
        tile: &Tile,
        strings: &[Block],
        count: usize,
        values: &mut Vec<Self>,
        sums: &mut Vec<Block>,
    );

    /// Its product with an element of F.
    #[must_use]
    fn times(self, element: Block) -> Block;

    /// Adds to each sum the product of `element` and the value at its position.
    ///
    /// # Panics
    /// If the slices differ in length.
    fn add_products(sums: &mut [Block], element: Block, values: &[Self]);
}

/// Values that the check against a malicious partner covers. Those in GF(2^64) are not among them: in a
/// quadratic extension the check would need the product of F, which is another one than that of GF(2^128).
pub trait CheckedValue: Value {}

impl CheckedValue for Block {}
impl CheckedValue for Bit {}

/// A security model that a VOLE over values V can have.
pub trait Covers<V: Value>: SecurityModel {}

impl<V: Value> Covers<V> for SemiHonest {}
impl<V: CheckedValue> Covers<V> for Malicious {}

mod private {
    pub trait Sealed {}
    impl Sealed for vesica_crypto::block::Block {}
    impl Sealed for u64 {}
    impl Sealed for super::Bit {}
}

impl Value for Block {
    const COLUMNS: usize = 128;
    const ONLY: Option<Self> = None;

    fn correlations(
        tile: &Tile,
        strings: &[Block],
        count: usize,
        values: &mut Vec<Self>,
        sums: &mut Vec<Block>,
    ) {
        values.extend_from_slice(strings);
        sums.extend((0..count).map(|block| small_field::as_element(tile, block)));
    }

    fn times(self, element: Block) -> Block {
        (Gf128::from(self) * Gf128::from(element)).to_block()
    }

    fn add_products(sums: &mut [Block], element: Block, values: &[Self]) {
        gf128::multiply_add(sums, Gf128::from(element), values);
    }
}

impl Value for u64 {
    const COLUMNS: usize = 64;
    const ONLY: Option<Self> = None;

    fn correlations(
        tile: &Tile,
        strings: &[Block],
        count: usize,
        values: &mut Vec<Self>,
        sums: &mut Vec<Block>,
    ) {
        for string in strings {
            values.extend([string.to_halves().0, string.to_halves().1]);
        }
        for block in 0..count {
            let half = |rows: &[[Block; 8]], shift: usize| {
                rows.iter()
                    .rev()
                    .fold(0u64, |sum, row| gf64::times_x(sum) ^ (row[block].to_u128() >> shift) as u64)
            };
            let (low, high) = tile.split_at(64);
            sums.extend([0, 64].map(|shift| Block::from_halves(half(low, shift), half(high, shift))));
        }
    }

    fn times(self, element: Block) -> Block {
        let (low, high) = element.to_halves();
        Block::from_halves(gf64::product(self, low), gf64::product(self, high))
    }

    fn add_products(sums: &mut [Block], element: Block, values: &[Self]) {
        gf64::multiply_add(sums, element, values);
    }
}

/// A bit, over which a VOLE is correlated OT: A are the choices. It is 0 or 1 in a byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bit(u8);

impl Bit {
    /// The bit as a number.
    #[must_use]
    pub fn number(self) -> u8 {
        self.0
    }
}

impl zeroize::DefaultIsZeroes for Bit {}

impl core::ops::BitXor for Bit {
    type Output = Self;

    fn bitxor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
}

impl core::ops::BitXorAssign for Bit {
    fn bitxor_assign(&mut self, other: Self) {
        self.0 ^= other.0;
    }
}

impl vesica_crypto::memory::Blank for Bit {
    const BLANK: Self = Self(0);
}

impl Word for Bit {
    #[inline]
    fn masked(self, mask: u64) -> Self {
        Self(self.0 & mask as u8)
    }
}

impl Value for Bit {
    const COLUMNS: usize = 1;
    const ONLY: Option<Self> = Some(Self(1));

    fn correlations(
        tile: &Tile,
        strings: &[Block],
        count: usize,
        values: &mut Vec<Self>,
        sums: &mut Vec<Block>,
    ) {
        for string in strings {
            values.extend((0..Block::BITS).map(|bit| Self(u8::from(string.bit(bit)))));
        }
        let mut columns = [Block::ZERO; COLUMNS];
        transpose(tile, &mut columns);
        sums.extend_from_slice(&columns[..count * Block::BITS]);
    }

    fn times(self, element: Block) -> Block {
        element & Block::mask(self.0 == 1)
    }

    fn add_products(sums: &mut [Block], element: Block, values: &[Self]) {
        assert_eq!(sums.len(), values.len(), "one summand for each element");
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum ^= value.times(element);
        }
    }
}
