//! Noise that is zero but for one value in each block.
//!
//! Its running sums are constant but for one step in each block. So two bytes tell a sum: the number of its block,
//! which is public, and whether it stands before the step, which is secret. Permuting these *marks* moves an eighth
//! of the memory that permuting the sums would.

use vesica_crypto::memory::{Wiped, large_zeros, wipe};

use super::permutation::Permutation;
use super::{Word, append};

/// Most blocks that marks can number.
const MOST_BLOCKS: usize = 1 << 15;

/// The noise, block by block.
pub struct Sparse<'a, W> {
    /// Positions of each block.
    pub lengths: Vec<usize>,
    /// Where the value of each block is.
    pub points: &'a [usize],
    /// The values.
    pub values: &'a [W],
}

impl<W: Word> Sparse<'_, W> {
    /// Calls `each` with one block after the other, as it is.
    pub(super) fn for_each_block(&self, mut each: impl FnMut(&[W])) {
        let mut block = Vec::with_capacity(self.lengths.iter().copied().max().unwrap_or(0));
        for ((length, point), value) in self.lengths.iter().zip(self.points).zip(self.values) {
            block.clear();
            block.resize(*length, W::default());
            W::put_at(&mut block, *point, *value);
            each(&block);
        }
        wipe(&mut block);
    }

    /// Whether marks can number the blocks.
    pub(super) fn fits_marks(&self) -> bool {
        self.lengths.len() <= MOST_BLOCKS
    }

    /// The marks of all running sums, in the buckets of a permutation.
    pub(super) fn marks(&self, permutation: &Permutation) -> Wiped<u16> {
        let mut marks: Vec<u16> = large_zeros(permutation.buckets().len());
        let (mut next, mut rest) = (permutation.starts(), permutation.buckets());
        for (number, (length, point)) in (0u16..).zip(self.lengths.iter().zip(self.points)) {
            let (buckets, others) = rest.split_at(*length);
            rest = others;
            for (position, bucket) in buckets.iter().enumerate() {
                append(&mut marks, &mut next, *bucket, number << 1 | u16::from(position >= *point));
            }
        }
        marks.into()
    }

    /// What marks stand for.
    pub(super) fn steps(&self) -> Steps<'_, W> {
        let (mut before, mut sum) = (Vec::with_capacity(self.values.len()), W::default());
        before.extend(self.values.iter().map(|value| {
            let before = sum;
            sum ^= *value;
            before
        }));
        Steps { before: before.into(), values: self.values }
    }
}

/// The running sums of sparse noise, a step for each block.
pub(super) struct Steps<'a, W: Word> {
    /// The sum before each block.
    before: Wiped<W>,
    /// What each block adds to it.
    values: &'a [W],
}

impl<W: Word> Steps<'_, W> {
    /// The running sum that a mark stands for. Both words are read whatever its secret bit is: a choice between two sums
    /// could become a choice between two addresses.
    #[inline(always)]
    pub(super) fn sum(&self, mark: u16) -> W {
        let number = usize::from(mark >> 1);
        self.before[number] ^ self.values[number].masked(0u64.wrapping_sub(u64::from(mark & 1)))
    }
}
