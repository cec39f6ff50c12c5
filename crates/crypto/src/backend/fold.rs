//! Sums of the streams of 2^k keys, weighted by the bits of their numbers.
//!
//! Keys that differ by their lowest bits are added up first: their sum goes into the total and, whole, into the weighted
//! sums of the higher bits.

#[cfg(target_arch = "x86_64")]
mod x86;

use zeroize::Zeroize;

use super::Backend;
#[cfg(target_arch = "x86_64")]
use super::Level;
use super::aes;
use crate::block::Block;
use crate::fold::{BLOCKS, Row};

/// Key schedules; wiped when dropped.
pub(crate) enum Keys {
    Each(Vec<aes::Key>),
    #[cfg(target_arch = "x86_64")]
    Rounds(Backend, Vec<[Block; 11]>),
}

impl Keys {
    pub(crate) fn new(backend: Backend, keys: &[Block]) -> Self {
        match backend.level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx512 => {
                // SAFETY: a back end of these levels exists only where their instructions do.
                Self::Rounds(backend, keys.iter().map(|key| unsafe { aes::expand(key) }).collect())
            }
            _ => Self::Each(keys.iter().map(|key| aes::Key::new(backend, key)).collect()),
        }
    }

    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Each(keys) => keys.len(),
            #[cfg(target_arch = "x86_64")]
            Self::Rounds(_, rounds) => rounds.len(),
        }
    }

    /// The sums of the encrypted counters from `first` on; as many keys as 2 to the number of weighted sums.
    pub(crate) fn fold(&self, first: u64, sum: &mut Row, weighted: &mut [Row]) {
        assert_eq!(self.count(), 1 << weighted.len(), "a power of two of keys");
        *sum = [Block::ZERO; BLOCKS];
        weighted.fill(*sum);
        match self {
            Self::Each(keys) => {
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
            // SAFETY: a back end of these levels exists only where their instructions do.
            Self::Rounds(backend, rounds) => unsafe {
                match backend.level() {
                    Level::Avx512 => x86::wide(rounds, first, sum, weighted),
                    _ => x86::narrow(rounds, first, sum, weighted),
                }
            },
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        match self {
            // Each wipes itself.
            Self::Each(_) => {}
            #[cfg(target_arch = "x86_64")]
            Self::Rounds(_, rounds) => rounds.iter_mut().for_each(|rounds| rounds.zeroize()),
        }
    }
}

fn add(sum: &mut Row, row: &Row) {
    sum.iter_mut().zip(row).for_each(|(sum, block)| *sum ^= *block);
}
