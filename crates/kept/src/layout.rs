//! How a list of values is cut into blocks. Both sides compute it from the header.

use std::fmt;

use crate::error::HeaderFault;

/// Values of a block without labels, at least; twice as many on average at most.
const VALUES: u64 = 512;
/// Bytes of a block with labels, about.
const BYTES: u64 = 4096;
/// The fewest values of a block with long labels.
const FEWEST: u64 = 16;
/// Bytes of the longest block. Blocks of uniform values are far below.
pub(crate) const LONGEST: u32 = 1 << 24;
/// Bytes of an entry of the index: length and digest of a block.
pub(crate) const INDEXED: u64 = 20;
/// Bytes of a block before its code.
pub(crate) const COUNT: usize = 4;

const BLOCK_CONTEXT: &str = "vesica kept set: block v1";

/// One of the two lists of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum List {
    /// What is in the set from this epoch on.
    Additions,
    /// What is not in the set from this epoch on.
    Removals,
}

impl List {
    /// Both, in the order of the file.
    pub(crate) const BOTH: [List; 2] = [List::Additions, List::Removals];
}

impl fmt::Display for List {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            List::Additions => "additions",
            List::Removals => "removals",
        })
    }
}

/// How the values of one list lie in blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// Values of the list.
    pub(crate) count: u64,
    /// Bits of a value (w).
    pub(crate) width: u32,
    /// The top bits that number the blocks (b).
    pub(crate) block_bits: u32,
    /// The low bits of a gap that are written as they are.
    pub(crate) rice: u32,
    /// Bytes of a sealed label.
    pub(crate) label: usize,
}

impl Layout {
    pub(crate) fn new(count: u64, width: u32, label: u32, rice: u32) -> Result<Self, HeaderFault> {
        if width < u64::BITS && count > 1 << width {
            return Err(HeaderFault::Count);
        }
        // ⌊log2(count / values)⌋, so that a block has `values` to 2 · `values` values on average.
        let blocks = count / values_a_block(label);
        let block_bits = blocks.max(1).ilog2();
        if rice > 127 || rice + block_bits > width {
            return Err(HeaderFault::Rice);
        }
        Ok(Layout { count, width, block_bits, rice, label: label as usize })
    }

    pub(crate) fn blocks(&self) -> u64 {
        1 << self.block_bits
    }

    /// The block of a value, which has at most `width` bits.
    pub(crate) fn block_of(&self, value: u128) -> u64 {
        // The shift is by all 128 bits if the width is 128 and there is one block.
        value.checked_shr(self.rest_bits()).unwrap_or(0) as u64
    }

    /// The first value that a block can have.
    pub(crate) fn base(&self, block: u64) -> u128 {
        u128::from(block).checked_shl(self.rest_bits()).unwrap_or(0)
    }

    /// The largest number that the bits below those of the block can make.
    pub(crate) fn rest_mask(&self) -> u128 {
        mask(self.rest_bits())
    }

    fn rest_bits(&self) -> u32 {
        self.width - self.block_bits
    }

    /// The fewest bytes that the blocks can have together.
    pub(crate) fn least_bytes(&self) -> u128 {
        let (count, label) = (u128::from(self.count), self.label as u128);
        let code = (count * (u128::from(self.rice) + 1)).div_ceil(8);
        u128::from(self.blocks()) * COUNT as u128 + code + count * label
    }
}

/// The number of `bits` ones.
pub(crate) fn mask(bits: u32) -> u128 {
    u128::MAX.checked_shr(128 - bits).unwrap_or(0)
}

/// A power of two. With labels it is smaller, as a look-up reads them all.
fn values_a_block(label: u32) -> u64 {
    let values = BYTES / (BYTES / VALUES + u64::from(label));
    (1 << values.max(1).ilog2()).max(FEWEST)
}

/// The parameter of the Golomb–Rice code for `count` uniform values of `width` bits.
///
/// Gaps are nearly geometric with mean `μ = 2^w / count`, and a gap takes `k + 1 + 1/(e^x - 1)` bits for `x = 2^k / μ`. One
/// more `k` pays while `1/(e^x - 1) - 1/(e^2x - 1) = 1 / (2 sinh x) > 1`, so while `x < 0.4812`. The best `k` is the
/// smallest with `2^k ≥ 0.4812 μ`, so `k = w - ⌊log2(count / 0.4812)⌋`, and `1 / 0.4812 = 2128 / 1024`.
pub(crate) fn best_rice(count: u64, width: u32) -> u32 {
    let scaled = u128::from(count) * 2128 / 1024;
    match scaled {
        0 => 0,
        _ => width.saturating_sub(scaled.ilog2()).min(127),
    }
}

/// The digest of one block in the index.
pub(crate) struct BlockDigest(blake3::Hasher);

impl BlockDigest {
    pub(crate) fn new() -> Self {
        BlockDigest(blake3::Hasher::new_derive_key(BLOCK_CONTEXT))
    }

    pub(crate) fn of(&self, list: List, block: u64, bytes: &[u8]) -> [u8; 16] {
        let mut hasher = self.0.clone();
        hasher.update(&[list as u8]).update(&block.to_le_bytes()).update(bytes);
        hasher.finalize().as_bytes().first_chunk().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_512_values_or_about_4_kib_of_labels() {
        let blocks = |count, label| Layout::new(count, 80, label, 10).unwrap().blocks();
        assert_eq!([0, 1, 1023, 1024, 2047, 2048].map(|count| blocks(count, 0)), [1, 1, 1, 2, 2, 4]);
        assert_eq!([16, 64, 400, 65536].map(values_a_block), [128, 32, 16, 16]);
    }

    #[test]
    fn the_ends_of_blocks_meet() {
        for (count, width) in [(0, 1), (1, 128), (5000, 41), (1 << 40, 128), (u64::MAX, 128)] {
            let layout = Layout::new(count, width, 0, 0).unwrap();
            for block in [0, layout.blocks() / 2, layout.blocks() - 1] {
                let last = layout.base(block) + layout.rest_mask();
                assert_eq!([layout.block_of(layout.base(block)), layout.block_of(last)], [block; 2]);
            }
            assert_eq!(layout.base(layout.blocks() - 1) + layout.rest_mask(), mask(width));
        }
    }

    #[test]
    fn the_parameter_is_the_best_one() {
        for (count, width) in [(1u64, 41u32), (3, 60), (700, 60), (1 << 16, 72), (99_999, 80)] {
            let bits = |rice: u32| {
                let ratio = f64::exp2(f64::from(rice) - f64::from(width)) * count as f64;
                f64::from(rice) + 1.0 + 1.0 / ratio.exp_m1()
            };
            let best = (0..=width).min_by(|one, other| bits(*one).total_cmp(&bits(*other))).unwrap();
            assert_eq!(best_rice(count, width), best, "{count} values of {width} bits");
        }
        assert_eq!((best_rice(0, 50), best_rice(u64::MAX, 41)), (0, 0));
    }
}
