//! Sums of the streams of 2^k keys, weighted by the bits of their numbers.
//!
//! The streams of keys whose numbers differ only in their lowest bits are added up first. Their sum goes into
//! the total and into the weighted sums of the higher bits.

#[cfg(target_arch = "x86_64")]
mod x86;

use zeroize::Zeroize;

#[cfg(target_arch = "x86_64")]
use super::Level;
use super::aes;
use super::transpose::Tile;
use super::{Backend, Kernels};
use crate::block::Block;

/// Blocks of each string that one call adds up: the row of a [`Tile`].
pub const BLOCKS: usize = size_of::<[Block; 8]>() / Block::BYTES;

/// So many blocks of a string: the row of a [`Tile`].
pub type TileRow = [Block; BLOCKS];

const _: () = assert!(size_of::<TileRow>() * super::transpose::ROWS == size_of::<Tile>(), "a row of a tile");

/// Key schedules; wiped when dropped.
pub struct Keys(Schedules);

/// Made where the instructions of their level are, and so private.
enum Schedules {
    Each(Vec<aes::Key>),
    #[cfg(target_arch = "x86_64")]
    Narrow(Vec<[Block; 11]>),
    #[cfg(target_arch = "x86_64")]
    Middle(Vec<[Block; 11]>),
    #[cfg(target_arch = "x86_64")]
    Wide(Vec<x86::Quad>),
}

impl Keys {
    /// The schedules of these keys, for sums computed by `backend`.
    ///
    /// # Panics
    /// If the keys are not a multiple of four.
    #[must_use]
    pub fn new(backend: Backend, keys: &[Block]) -> Self {
        assert!(keys.len().is_multiple_of(4), "four keys side by side");
        Self(match backend.level_for(Kernels::WeightedSums) {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => {
                // SAFETY: a back end of this level exists only where its instructions do.
                Schedules::Narrow(keys.iter().map(|key| unsafe { aes::expand(key) }).collect())
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2Vaes => {
                // SAFETY: as above.
                Schedules::Middle(keys.iter().map(|key| unsafe { aes::expand(key) }).collect())
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx512Vaes => {
                let mut quads = vec![[[Block::ZERO; 4]; 11]; keys.len() / 4];
                for (i, key) in keys.iter().enumerate() {
                    // SAFETY: a back end of this level exists only where its instructions do.
                    let mut rounds = unsafe { aes::expand(key) };
                    quads[i / 4].iter_mut().zip(&rounds).for_each(|(quad, round)| quad[i % 4] = *round);
                    rounds.zeroize();
                }
                Schedules::Wide(quads)
            }
            _ => Schedules::Each(keys.iter().map(|key| aes::Key::new(backend, key)).collect()),
        })
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        match &self.0 {
            Schedules::Each(keys) => keys.len(),
            #[cfg(target_arch = "x86_64")]
            Schedules::Narrow(rounds) | Schedules::Middle(rounds) => rounds.len(),
            #[cfg(target_arch = "x86_64")]
            Schedules::Wide(quads) => 4 * quads.len(),
        }
    }

    /// Sets `sum` to the sum of the encrypted counters from `first` on under all keys, and `weighted[b]` to that under the
    /// keys whose number has bit b.
    ///
    /// # Panics
    /// If there are not 2^k keys for k weighted sums.
    pub fn sum_at(&self, first: u64, sum: &mut TileRow, weighted: &mut [TileRow]) {
        assert_eq!(self.count(), 1 << weighted.len(), "a power of two of keys");
        match &self.0 {
            Schedules::Each(keys) => {
                clear(sum, weighted);
                let mut stream = *sum;
                for (x, key) in keys.iter().enumerate() {
                    key.keystream(first, Block::slice_as_mut_bytes(&mut stream));
                    add(sum, &stream);
                    for (bit, weighted) in weighted.iter_mut().enumerate() {
                        if x >> bit & 1 == 1 {
                            add(weighted, &stream);
                        }
                    }
                }
                stream.zeroize();
            }
            #[cfg(target_arch = "x86_64")]
            Schedules::Narrow(rounds) => {
                clear(sum, weighted);
                // SAFETY: such keys are made where the instructions of this level are.
                unsafe { x86::narrow(rounds, first, sum, weighted) }
            }
            #[cfg(target_arch = "x86_64")]
            Schedules::Middle(rounds) => {
                clear(sum, weighted);
                // SAFETY: as above.
                unsafe { x86::middle(rounds, first, sum, weighted) }
            }
            #[cfg(target_arch = "x86_64")]
            // SAFETY: such keys are made where the instructions of this level are.
            Schedules::Wide(quads) => unsafe { x86::wide(quads, first, sum, weighted) },
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        match &mut self.0 {
            // Each wipes itself.
            Schedules::Each(_) => {}
            #[cfg(target_arch = "x86_64")]
            Schedules::Narrow(rounds) | Schedules::Middle(rounds) => {
                rounds.iter_mut().for_each(|rounds| rounds.zeroize())
            }
            #[cfg(target_arch = "x86_64")]
            Schedules::Wide(quads) => quads.iter_mut().flatten().for_each(|round| round.zeroize()),
        }
    }
}

fn clear(sum: &mut TileRow, weighted: &mut [TileRow]) {
    *sum = [Block::ZERO; BLOCKS];
    weighted.fill(*sum);
}

fn add(sum: &mut TileRow, row: &TileRow) {
    sum.iter_mut().zip(row).for_each(|(sum, block)| *sum ^= *block);
}
