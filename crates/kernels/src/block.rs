//! A 128-bit block: wire label, seed, OT string, element of GF(2^128) or row of a bit matrix.
//!
//! Byte 0 is the least significant one, and bit `i` is bit `i % 8` of byte `i / 8`, on every machine and on
//! the wire. Most blocks are secrets, so a block never prints its content and compares without branches.

use core::fmt;
use core::ops::{BitAnd, BitAndAssign, BitXor, BitXorAssign, Not};
use core::slice;

use rand_core::CryptoRng;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::DefaultIsZeroes;

/// 128 bits, little-endian, aligned to 16 bytes.
#[derive(Clone, Copy, Default)]
#[repr(C, align(16))]
pub struct Block(pub(crate) [u8; 16]);

impl Block {
    /// Bytes in a block.
    pub const BYTES: usize = 16;
    /// Bits in a block.
    pub const BITS: usize = 128;
    /// All bits zero.
    pub const ZERO: Self = Self([0; 16]);
    /// All bits one.
    pub const ONES: Self = Self([0xff; 16]);

    /// The block with these bytes.
    #[inline]
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes of this block.
    #[inline]
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// The bytes of this block, in place.
    #[inline]
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The bytes of this block, in place and writable.
    #[inline]
    pub const fn as_mut_bytes(&mut self) -> &mut [u8; 16] {
        &mut self.0
    }

    /// The block as a number; bit `i` has the weight 2^i.
    #[inline]
    #[must_use]
    pub const fn to_u128(self) -> u128 {
        u128::from_le_bytes(self.0)
    }

    /// The block with the bits of `value`.
    #[inline]
    #[must_use]
    pub const fn from_u128(value: u128) -> Self {
        Self(value.to_le_bytes())
    }

    /// The block `low + 2^64 · high`.
    #[inline]
    #[must_use]
    pub const fn from_halves(low: u64, high: u64) -> Self {
        Self::from_u128(low as u128 | (high as u128) << 64)
    }

    /// Bits 0 to 63 and bits 64 to 127.
    #[inline]
    #[must_use]
    pub const fn to_halves(self) -> (u64, u64) {
        let value = self.to_u128();
        (value as u64, (value >> 64) as u64)
    }

    /// A uniformly random block.
    #[must_use]
    pub fn random<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut block = Self::ZERO;
        rng.fill_bytes(&mut block.0);
        block
    }

    /// Bit `index`, counted modulo 128.
    #[inline]
    #[must_use]
    pub fn bit(self, index: usize) -> bool {
        (self.to_u128() >> (index % Self::BITS)) & 1 == 1
    }

    /// All ones if `bit`, else all zeros; without a branch, here and where the mask is used.
    ///
    /// A compiler that knows the mask to be one of two values may turn a loop that uses it into two, and branch on the
    /// bit. So the bit comes from memory, of which it may assume nothing.
    #[inline]
    #[must_use]
    pub fn mask(bit: bool) -> Self {
        let bit = u64::from(bit);
        // SAFETY: a reference to a number is valid to read from.
        let bit = unsafe { core::ptr::read_volatile(&raw const bit) };
        let half = 0u64.wrapping_sub(bit);
        Self::from_halves(half, half)
    }

    /// The bytes of `blocks`, in place.
    #[inline]
    #[must_use]
    pub fn slice_as_bytes(blocks: &[Self]) -> &[u8] {
        // SAFETY: `Block` is `repr(C)` around sixteen bytes without padding, and bytes have no alignment.
        unsafe { slice::from_raw_parts(blocks.as_ptr().cast(), size_of_val(blocks)) }
    }

    /// The bytes of `blocks`, in place and writable.
    #[inline]
    pub fn slice_as_mut_bytes(blocks: &mut [Self]) -> &mut [u8] {
        // SAFETY: as above; every byte pattern is a valid `Block`, and the exclusive borrow passes to the
        // result.
        unsafe { slice::from_raw_parts_mut(blocks.as_mut_ptr().cast(), size_of_val(blocks)) }
    }

    /// a ⊕ b of rows of blocks, in line in every build: a call would cost more than what it does.
    #[inline(always)]
    #[must_use]
    pub fn xor_rows<const W: usize>(a: &[Self; W], b: &[Self; W]) -> [Self; W] {
        let mut sum = *a;
        for word in 0..W {
            sum[word] ^= b[word];
        }
        sum
    }

    /// Each block of a row, and `mask`.
    #[inline(always)]
    #[must_use]
    pub fn mask_row<const W: usize>(row: &[Self; W], mask: Self) -> [Self; W] {
        let mut masked = *row;
        for block in &mut masked {
            *block &= mask;
        }
        masked
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Block(..)")
    }
}

impl From<[u8; 16]> for Block {
    #[inline]
    fn from(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl From<Block> for [u8; 16] {
    #[inline]
    fn from(block: Block) -> Self {
        block.0
    }
}

impl From<u128> for Block {
    #[inline]
    fn from(value: u128) -> Self {
        Self::from_u128(value)
    }
}

impl PartialEq for Block {
    /// One comparison of 128 bits: no early exit at the first differing byte.
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.to_u128() ^ other.to_u128() == 0
    }
}

impl Eq for Block {}

impl ConstantTimeEq for Block {
    #[inline]
    fn ct_eq(&self, other: &Self) -> Choice {
        let (low, high) = (*self ^ *other).to_halves();
        (low | high).ct_eq(&0)
    }
}

impl ConditionallySelectable for Block {
    #[inline]
    fn conditional_select(a: &Self, b: &Self, choice: Choice) -> Self {
        Self::from_u128(u128::conditional_select(&a.to_u128(), &b.to_u128(), choice))
    }
}

impl DefaultIsZeroes for Block {}

impl BitXor for Block {
    type Output = Self;

    #[inline]
    fn bitxor(self, other: Self) -> Self {
        Self::from_u128(self.to_u128() ^ other.to_u128())
    }
}

impl BitXorAssign for Block {
    #[inline]
    fn bitxor_assign(&mut self, other: Self) {
        *self = *self ^ other;
    }
}

impl BitAnd for Block {
    type Output = Self;

    #[inline]
    fn bitand(self, other: Self) -> Self {
        Self::from_u128(self.to_u128() & other.to_u128())
    }
}

impl BitAndAssign for Block {
    #[inline]
    fn bitand_assign(&mut self, other: Self) {
        *self = *self & other;
    }
}

impl Not for Block {
    type Output = Self;

    #[inline]
    fn not(self) -> Self {
        Self::from_u128(!self.to_u128())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zeroize::Zeroize;

    #[test]
    fn bytes_bits_and_halves_agree() {
        let block = Block::from_halves(0x0807_0605_0403_0201, 0x100f_0e0d_0c0b_0a09);
        assert_eq!(block.to_bytes(), core::array::from_fn(|i| i as u8 + 1));
        assert_eq!(block.to_halves(), (0x0807_0605_0403_0201, 0x100f_0e0d_0c0b_0a09));
        assert_eq!(Block::from(block.to_u128()), block);
        for bit in 0..128 {
            assert_eq!(block.bit(bit), block.as_bytes()[bit / 8] >> (bit % 8) & 1 == 1);
        }
        assert!(block.bit(0));
        assert_eq!(align_of::<Block>(), 16);
    }

    #[test]
    fn slices_are_viewed_in_place() {
        let mut blocks = [Block::from(1u128), Block::from(2u128 << 120)];
        let bytes = Block::slice_as_mut_bytes(&mut blocks);
        assert_eq!((bytes.len(), bytes[0], bytes[31]), (32, 1, 2));
        bytes[16] = 7;
        assert_eq!(blocks[1], Block::from(2u128 << 120 | 7));
        assert_eq!(Block::slice_as_bytes(&blocks)[16], 7);
        assert!(Block::slice_as_bytes(&[]).is_empty());
    }

    #[test]
    fn operators_are_bitwise() {
        let (a, b) = (Block::from(0b1100u128), Block::from(0b1010u128));
        assert_eq!((a ^ b).to_u128(), 0b0110);
        assert_eq!((a & b).to_u128(), 0b1000);
        assert_eq!(!Block::ZERO, Block::ONES);
        assert_eq!((Block::mask(true), Block::mask(false)), (Block::ONES, Block::ZERO));
        assert_eq!(Block::conditional_select(&a, &b, Choice::from(1)), b);
        assert_eq!(Block::conditional_select(&a, &b, Choice::from(0)), a);
    }

    #[test]
    fn every_bit_counts_in_a_comparison() {
        for bit in 0..128 {
            let other = Block::from(1u128 << bit);
            assert_ne!(Block::ZERO, other);
            assert!(!bool::from(Block::ZERO.ct_eq(&other)));
        }
        assert!(bool::from(Block::ONES.ct_eq(&Block::ONES)));
    }

    #[test]
    fn content_is_not_printed_and_can_be_wiped() {
        let mut block = Block::from(0x1234_5678u128);
        assert_eq!(format!("{block:?}"), "Block(..)");
        block.zeroize();
        assert_eq!(block, Block::ZERO);
    }
}
