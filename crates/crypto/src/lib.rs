//! Blocks, pseudo-random generators, hashes, groups; all SIMD kernels.
