//! The levels of the processor, and the kernels for each of them: blocks, AES, BLAKE3, fields, bit matrices, the linear
//! algebra of codes, big integers and ristretto255 in lanes. This crate has the only unsafe code of the project.
//! `vesica-crypto` builds on it; other crates call that one.
//!
//! A back end is a value: [`Backend::detect`] finds the best one once, and tests pass in each of
//! [`Backend::available`]. Nobody can make a back end for instructions that the processor lacks, so code that
//! holds one may call the kernels of its level, and of the levels that it includes. All back ends compute the same
//! bytes. The portable one is always compiled in.
//!
//! A kernel asks for the instructions that it uses, no more: [`Kernels`] lists the levels that each family of
//! kernels has code for, and [`Backend::level_for`] names the best of them.
//!
//! Each kernel has its own module, which also defines the types and constants that the kernel and its caller share. It
//! dispatches once a batch to functions that are marked with the target features of their level. Their inner helpers
//! have the same marks and are inlined. What runs for a single element is marked `inline`, so that callers in other
//! crates have it in line.

#![allow(unsafe_code, reason = "intrinsics and byte views live here and nowhere else")]
#![cfg_attr(target_family = "wasm", allow(unused_unsafe, reason = "calls of kernels are safe there alone"))]

pub mod aes;
pub mod band;
pub mod blake3;
pub mod block;
pub mod byte_masks;
pub mod convolve;
#[cfg(feature = "cuda")]
pub mod cuda;
mod error;
pub mod gf128;
pub mod gf64;
pub mod golay;
pub mod hadamard;
#[cfg(target_family = "wasm")]
pub mod host;
mod levels;
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, unused_variables, reason = "there is no kernel, and so no multiplier")
)]
pub mod montgomery;
pub mod pages;
pub mod prefetch;
#[cfg(target_arch = "x86_64")]
pub mod ristretto_lanes;
pub mod short_keys;
pub mod transpose;
pub mod weighted_xor_sum;

use std::sync::OnceLock;

pub use error::InvalidElement;
pub use levels::{Kernels, Level};

/// A level that this processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend(Level);

impl Backend {
    /// The back end that runs everywhere.
    pub const PORTABLE: Self = Self(Level::Portable);

    /// The best level of this processor.
    #[inline]
    #[must_use]
    pub fn detect() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        Self(*BEST.get_or_init(best_level))
    }

    /// Every level of this processor, the portable one first.
    pub fn available() -> impl Iterator<Item = Self> {
        Level::ALL.into_iter().filter_map(Self::at)
    }

    /// The back end of a level, if this processor has it.
    #[must_use]
    pub fn at(level: Level) -> Option<Self> {
        Self::detect().level().includes(level).then_some(Self(level))
    }

    /// The instructions of this back end.
    #[inline]
    #[must_use]
    pub fn level(self) -> Level {
        self.0
    }

    /// The level whose code these kernels run on this back end. This processor has its instructions.
    #[inline]
    #[must_use]
    pub fn level_for(self, kernels: Kernels) -> Level {
        kernels.level(self.0)
    }
}

#[cfg(target_arch = "x86_64")]
fn best_level() -> Level {
    macro_rules! all_detected {
        ($($feature:tt),*) => { $(std::is_x86_feature_detected!($feature))&&* };
    }
    let avx2 = all_detected!("avx2", "aes", "pclmulqdq", "sse4.1", "ssse3", "bmi1", "bmi2");
    let vaes = all_detected!("vaes", "vpclmulqdq");
    let avx512 = all_detected!("avx512f", "avx512bw", "avx512dq", "avx512vl");
    let more = all_detected!("avx512vbmi", "avx512ifma", "gfni");
    match (avx2, vaes, avx512) {
        (false, ..) => Level::Portable,
        (true, true, true) if more => Level::Avx512Vaes,
        (true, _, true) => Level::Avx512,
        (true, true, false) => Level::Avx2Vaes,
        (true, false, false) => Level::Avx2,
    }
}

#[cfg(target_arch = "aarch64")]
fn best_level() -> Level {
    use std::arch::is_aarch64_feature_detected as detected;
    let neon = detected!("neon") && detected!("aes") && detected!("pmull");
    // The kernels take the lanes of a vector for the bytes of memory in their order.
    if neon && cfg!(target_endian = "little") { Level::Neon } else { Level::Portable }
}

// A module with these instructions loads only where they are.
#[cfg(target_arch = "wasm32")]
fn best_level() -> Level {
    if cfg!(target_feature = "simd128") { Level::Simd128 } else { Level::Portable }
}

#[cfg(not(any(target_arch = "aarch64", target_arch = "wasm32", target_arch = "x86_64")))]
fn best_level() -> Level {
    Level::Portable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_run_from_portable_to_the_best() {
        let all: Vec<_> = Backend::available().collect();
        assert_eq!(all.first(), Some(&Backend::PORTABLE));
        assert_eq!(all.last(), Some(&Backend::detect()));
        assert!(all.iter().all(|backend| Backend::detect().level().includes(backend.level())));
    }

    /// So that a test run on another processor, or on an emulated one, shows which kernels it tested.
    #[test]
    fn the_best_level_is_the_one_that_the_caller_expects() {
        if let Ok(expected) = std::env::var("VESICA_EXPECTED_LEVEL") {
            assert_eq!(Backend::detect().level().to_string(), expected);
        }
    }
}
