//! The levels of the processor, and the kernels for each of them. This folder has the only unsafe code of the
//! project.
//!
//! A back end is a value: [`Backend::detect`] finds the best one once, and tests pass in each of
//! [`Backend::available`]. Nobody can make a back end for instructions that the processor lacks, so code that
//! holds one may call the kernels of its level. All back ends compute the same bytes. The portable one is
//! always compiled in.
//!
//! Each kernel has its own module, which also defines the types and constants that the kernel and its public
//! module share. It dispatches once a batch to functions that are marked with the target features of their
//! level. Their inner helpers have the same marks and are inlined.

#![allow(unsafe_code, reason = "intrinsics and byte views live here and nowhere else")]

pub(crate) mod aes;
pub(crate) mod band;
pub(crate) mod blake3;
pub(crate) mod block;
pub(crate) mod byte_masks;
pub(crate) mod convolve;
pub(crate) mod gf128;
pub(crate) mod gf64;
pub(crate) mod golay;
pub(crate) mod hadamard;
pub(crate) mod montgomery;
pub(crate) mod pages;
pub(crate) mod prefetch;
#[cfg(target_arch = "x86_64")]
pub(crate) mod ristretto_ifma;
pub(crate) mod short_keys;
pub(crate) mod transpose;
pub(crate) mod walsh;
pub(crate) mod weighted_xor_sum;

use std::sync::OnceLock;

/// The instructions that a back end uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// Plain Rust.
    Portable,
    /// x86-64 with AVX2, AES-NI and PCLMULQDQ.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ, VL, VBMI and IFMA, VAES, VPCLMULQDQ and GFNI.
    Avx512,
}

/// A level that this processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Backend(Level);

impl Backend {
    /// The back end that runs everywhere.
    pub const PORTABLE: Self = Self(Level::Portable);

    /// The best level of this processor.
    #[must_use]
    pub fn detect() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        Self(*BEST.get_or_init(best_level))
    }

    /// Every level of this processor, the portable one first.
    pub fn available() -> impl Iterator<Item = Self> {
        let best = Self::detect();
        [Level::Portable, Level::Avx2, Level::Avx512]
            .map(Self)
            .into_iter()
            .filter(move |backend| *backend <= best)
    }

    /// The instructions of this back end.
    #[inline]
    #[must_use]
    pub fn level(self) -> Level {
        self.0
    }
}

#[cfg(target_arch = "x86_64")]
fn best_level() -> Level {
    macro_rules! all_detected {
        ($($feature:tt),*) => { $(std::is_x86_feature_detected!($feature))&&* };
    }
    let avx2 = all_detected!("avx2", "aes", "pclmulqdq", "sse4.1", "ssse3", "bmi1", "bmi2");
    let avx512 = all_detected!(
        "avx512f",
        "avx512bw",
        "avx512dq",
        "avx512vl",
        "avx512vbmi",
        "avx512ifma",
        "vaes",
        "vpclmulqdq",
        "gfni"
    );
    match (avx2, avx512) {
        (true, true) => Level::Avx512,
        (true, false) => Level::Avx2,
        (false, _) => Level::Portable,
    }
}

#[cfg(not(target_arch = "x86_64"))]
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
    }
}
