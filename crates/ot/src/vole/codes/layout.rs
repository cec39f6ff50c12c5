//! Where the words of a block-accumulate code lie in its room.
//!
//! Of two rounds the second needs no second room. The buckets of the first permutation make a few slices of the
//! noise. One slice after the other moves up by a *window*, which is as large as a slice: what was read leaves
//! room for what is written next.
//!
//! ```text
//! sums, by buckets of π₁                        │ slice 3 │ slice 2 │ slice 1 │ slice 0 │ window  │
//! sums of these, in each slice by buckets of π₂ │ window  │ slice 3 │ slice 2 │ slice 1 │ slice 0 │
//! outputs                                       │ outputs        ─► │
//! ```
//!
//! A bucket of π₂ has a piece in each slice. The outputs take the window, and then what was read of slice 3.

use core::ops::Range;

use super::permutation::{MAX_BUCKETS, Permutation, sizes};

/// Slices: a window of a quarter and as much of the lowest slice hold the outputs, half as many as the noise.
const SLICES: usize = 4;

/// The layout of a room before the last pass.
pub(super) struct Layout {
    /// Words of the room beyond the noise.
    pub(super) window: usize,
    /// In the order in which they were written.
    pub(super) slices: Vec<Slice>,
}

/// What comes from some buckets of the permutation before the last one.
pub(super) struct Slice {
    pub(super) buckets: Range<usize>,
    /// Its place before it moves up.
    pub(super) place: Range<usize>,
    /// Where each bucket of the last permutation starts in it, and the end of the last one.
    pub(super) starts: Vec<usize>,
}

impl Layout {
    /// All in one slice that does not move.
    pub(super) fn whole(last: &Permutation) -> Self {
        let starts = (0..=last.count()).map(|bucket| last.range(0..bucket).end).collect();
        let place = last.range(0..last.count());
        Self { window: 0, slices: vec![Slice { buckets: 0..0, place, starts }] }
    }

    /// The second round in place.
    pub(super) fn in_place(first: &Permutation, last: &Permutation) -> Self {
        let length = first.buckets().len();
        let of_number = |number: usize| {
            let buckets = number * first.count() / SLICES..(number + 1) * first.count() / SLICES;
            let reads = first.range(buckets.clone());
            let mut sum = 0;
            let ends = sizes(&last.buckets()[reads.clone()]).into_iter().take(last.count()).map(|size| {
                sum += size as usize;
                sum
            });
            let starts = core::iter::once(0).chain(ends).collect();
            Slice { buckets, place: length - reads.end..length - reads.start, starts }
        };
        let slices: Vec<Slice> = (0..SLICES).map(of_number).collect();
        // A slice leaves its place before another takes it, and what lies at an output's place has been read.
        let longest = slices.iter().map(|slice| slice.place.len()).max().unwrap_or(0);
        let beyond = (1..=last.count()).map(|bucket| {
            let outputs = last.range(0..bucket).end.div_ceil(2);
            outputs.saturating_sub(slices[SLICES - 1].starts[bucket])
        });
        Self { window: beyond.fold(longest, usize::max), slices }
    }

    /// Where each bucket of the first permutation starts in the room, before anything has moved.
    pub(super) fn starts(&self, first: &Permutation) -> [u32; MAX_BUCKETS] {
        let mut starts = first.starts();
        for slice in &self.slices {
            let reads = first.range(slice.buckets.clone());
            for start in &mut starts[slice.buckets.clone()] {
                *start = *start - reads.start as u32 + slice.place.start as u32;
            }
        }
        starts
    }

    /// Where a bucket of the last permutation lies, in each slice, in their order.
    pub(super) fn pieces_of(&self, bucket: usize) -> impl Iterator<Item = Range<usize>> {
        self.slices.iter().map(move |slice| {
            let start = self.window + slice.place.start;
            start + slice.starts[bucket]..start + slice.starts[bucket + 1]
        })
    }
}
