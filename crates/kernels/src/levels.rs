//! The levels of instructions as processors have them, and the levels that each family of kernels has code for.
//!
//! Processors do not gain instructions in one order: servers had AVX-512 years before VAES, and many laptops have
//! VAES without AVX-512. So the levels are ordered in part only, and a family of kernels runs the best code that
//! the level of the processor includes.

use core::fmt;

/// The instructions that a back end uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Level {
    /// Plain Rust.
    Portable,
    /// x86-64 with AVX2, BMI, AES-NI and PCLMULQDQ: Intel since Haswell, AMD since Zen.
    Avx2,
    /// AVX2, and VAES and VPCLMULQDQ on 256 bits: AMD Zen 3, Intel's laptops and desktops since Alder Lake.
    Avx2Vaes,
    /// AVX2, and AVX-512 F, BW, DQ and VL: Intel's servers from Skylake to Cooper Lake.
    Avx512,
    /// All of these, and AVX-512 VBMI and IFMA, and GFNI: Intel's servers since Ice Lake, AMD since Zen 4.
    Avx512Vaes,
    /// ARM (aarch64) with NEON, and AES and PMULL of its cryptography extension.
    Neon,
    /// WebAssembly with vectors of 128 bits, which has neither AES nor carry-less products.
    Simd128,
}

impl Level {
    /// All levels; each comes after those that it includes.
    pub const ALL: [Self; 7] = [
        Self::Portable,
        Self::Avx2,
        Self::Avx2Vaes,
        Self::Avx512,
        Self::Avx512Vaes,
        Self::Neon,
        Self::Simd128,
    ];

    /// Whether a processor of this level has all instructions of the other.
    #[must_use]
    pub const fn includes(self, other: Self) -> bool {
        match other {
            Self::Portable => true,
            Self::Avx2 => matches!(self, Self::Avx2 | Self::Avx2Vaes | Self::Avx512 | Self::Avx512Vaes),
            Self::Avx2Vaes => matches!(self, Self::Avx2Vaes | Self::Avx512Vaes),
            Self::Avx512 => matches!(self, Self::Avx512 | Self::Avx512Vaes),
            Self::Avx512Vaes => matches!(self, Self::Avx512Vaes),
            Self::Neon => matches!(self, Self::Neon),
            Self::Simd128 => matches!(self, Self::Simd128),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Portable => "portable",
            Self::Avx2 => "AVX2",
            Self::Avx2Vaes => "AVX2 + VAES",
            Self::Avx512 => "AVX-512",
            Self::Avx512Vaes => "AVX-512 + VAES",
            Self::Neon => "NEON",
            Self::Simd128 => "SIMD128",
        })
    }
}

/// Defines the families: name, words, and the levels that have code of their own, the best last.
macro_rules! families {
    ($($(#[$doc:meta])+ $family:ident, $words:literal: [$($level:ident),+];)+) => {
        /// A family of kernels, which have code for the same levels.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Kernels {
            $($(#[$doc])+ $family,)+
        }

        impl Kernels {
            /// All families.
            pub const ALL: [Self; [$(Self::$family),+].len()] = [$(Self::$family),+];

            /// The levels that have code of their own, beside plain Rust; the best last.
            #[must_use]
            pub const fn levels(self) -> &'static [Level] {
                match self {
                    $(Self::$family => &[$(Level::$level),+],)+
                }
            }
        }

        impl fmt::Display for Kernels {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self {
                    $(Self::$family => $words,)+
                })
            }
        }
    };
}

families! {
    /// Streams and hashes of AES, half gates, levels of trees.
    Aes, "AES": [Avx2, Avx2Vaes, Avx512Vaes, Neon, Simd128];
    /// Steps of a Feistel network whose function is AES.
    FeistelSteps, "Feistel steps": [Avx512Vaes];
    /// Weighted XOR sums of streams.
    WeightedSums, "weighted XOR sums": [Avx2, Avx2Vaes, Avx512Vaes];
    /// BLAKE3, an input a lane.
    Blake3, "BLAKE3": [Avx2, Avx512, Neon, Simd128];
    /// Products in GF(2^128).
    Gf128, "GF(2^128)": [Avx2, Avx2Vaes, Avx512Vaes, Neon];
    /// Products in GF(2^64).
    Gf64, "GF(2^64)": [Avx2, Avx2Vaes, Avx512Vaes, Neon];
    /// Transposition of bit matrices.
    Transposition, "transposition": [Avx2, Avx512, Avx512Vaes, Neon, Simd128];
    /// Sums under the rows of a band matrix.
    BandSums, "band sums": [Avx2, Avx512, Avx512Vaes, Neon, Simd128];
    /// Back substitution in a band matrix.
    BandSolving, "band back substitution": [Avx2, Avx512, Avx512Vaes, Neon, Simd128];
    /// Convolution with random taps.
    Convolution, "convolution": [Avx512];
    /// Blocks of the Golay code.
    Golay, "Golay blocks": [Avx512];
    /// Codewords of the Walsh–Hadamard code.
    Hadamard, "Hadamard codewords": [Avx2, Avx512Vaes, Neon, Simd128];
    /// Bytes that are looked for in a text.
    ByteMasks, "byte search": [Avx2, Avx512, Neon, Simd128];
    /// Short texts copied into blocks.
    ShortKeys, "short keys": [Avx512];
    /// Arithmetic modulo large numbers.
    Montgomery, "modular multiplication": [Avx2, Avx512, Avx512Vaes];
    /// ristretto255 in lanes.
    Ristretto, "ristretto255": [Avx2, Avx512, Avx512Vaes];
}

impl Kernels {
    /// The level whose code these kernels run on a processor of the level `on`.
    #[inline]
    #[must_use]
    pub const fn level(self, on: Level) -> Level {
        TABLE[self as usize][on as usize]
    }
}

/// [`Kernels::level`], by families and levels.
const TABLE: [[Level; Level::ALL.len()]; Kernels::ALL.len()] = {
    let mut table = [[Level::Portable; Level::ALL.len()]; Kernels::ALL.len()];
    let mut family = 0;
    while family < table.len() {
        let levels = Kernels::ALL[family].levels();
        let mut on = 0;
        while on < Level::ALL.len() {
            let mut i = 0;
            while i < levels.len() {
                if Level::ALL[on].includes(levels[i]) {
                    table[family][on] = levels[i];
                }
                i += 1;
            }
            on += 1;
        }
        family += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_families_are_listed_in_the_order_of_their_numbers() {
        for (i, level) in Level::ALL.into_iter().enumerate() {
            assert_eq!(level as usize, i);
            assert!(Level::ALL[i + 1..].iter().all(|later| !level.includes(*later)), "{level}");
        }
        for (i, kernels) in Kernels::ALL.into_iter().enumerate() {
            assert_eq!(kernels as usize, i);
        }
    }

    #[test]
    fn inclusion_is_a_partial_order() {
        for a in Level::ALL {
            assert!(a.includes(a) && a.includes(Level::Portable));
            for b in Level::ALL {
                assert!(a == b || !(a.includes(b) && b.includes(a)), "{a}, {b}");
                for c in Level::ALL {
                    assert!(a.includes(c) || !(a.includes(b) && b.includes(c)), "{a}, {b}, {c}");
                }
            }
        }
    }

    /// What a level does not have: a processor would stop at such an instruction.
    #[test]
    fn levels_beside_one_another_do_not_include_one_another() {
        for (level, lacks) in [
            (Level::Portable, &Level::ALL[1..]),
            (Level::Avx2, &[Level::Avx2Vaes, Level::Avx512, Level::Avx512Vaes]),
            (Level::Avx2Vaes, &[Level::Avx512, Level::Avx512Vaes]),
            (Level::Avx512, &[Level::Avx2Vaes, Level::Avx512Vaes]),
        ] {
            assert!(lacks.iter().all(|other| !level.includes(*other)), "{level}");
        }
    }

    /// No kernel runs where its instructions are not, and none leaves better code of its own unused.
    #[test]
    fn kernels_run_the_best_code_that_their_level_includes() {
        for kernels in Kernels::ALL {
            for on in Level::ALL {
                let runs = kernels.level(on);
                assert!(on.includes(runs), "{kernels} on {on}");
                for other in kernels.levels().iter().filter(|other| on.includes(**other)) {
                    let better = other.includes(runs) && *other != runs;
                    assert!(!better, "{kernels} on {on}: {other} would be better than {runs}");
                }
            }
        }
    }
}
