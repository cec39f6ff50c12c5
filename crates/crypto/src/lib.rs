//! Blocks, pseudo-random generators, hashes, groups, homomorphic encryption.
//!
//! | module | what it offers |
//! |---|---|
//! | [`block`] | 128-bit [`Block`](block::Block): labels, seeds, OT strings |
//! | [`prg`] | AES-128-CTR generator, one stream per seed or per chunk |
//! | [`wide_prg`] | AES-256-CTR streams, for levels above 128 bits |
//! | [`tree`] | levels of punctured trees: children, their sums, an addition at a secret index |
//! | [`aes_hash`] | correlation-robust hashes of blocks from AES |
//! | [`half_gates`] | garbled AND gates |
//! | [`hash`] | hashes under a protocol [`Context`](hash::Context), singly and in batches |
//! | [`transpose`] | bit matrices of 128 rows |
//! | [`gf128`] | the field GF(2^128) |
//! | [`gf64`] | the field GF(2^64), and pairs of its elements |
//! | [`weighted_xor_sum`] | sums of many pseudo-random strings, weighted by the bits of their numbers |
//! | [`band`] | sums of values selected by the bits of a band |
//! | [`convolve`] | convolutions with random taps |
//! | [`golay`] | blocks of the Golay code, gathered and compressed |
//! | [`group`] | prime-order groups, [`Ristretto255`](group::Ristretto255) |
//! | [`bigint`] | batches of residues modulo large numbers, primes, RSA keys |
//! | [`paillier`] | Paillier encryption |
//! | [`elgamal`] | exponential ElGamal, and encrypted polynomials evaluated at a point |
//! | [`join`] | which tags of two lists are equal |
//! | [`laplace`] | the discrete Laplace distribution, drawn in constant time |
//! | [`byte_masks`] | certain bytes of a text, found as bit masks |
//! | [`short_keys`] | short texts in blocks, and the classes of their bytes |
//! | [`memory`] | large vectors on huge pages |
//! | [`par`] | chunked loops whose result does not depend on the number of threads |
//! | [`partitions`] | records partitioned into many buckets that share their memory |
//! | [`security`] | the security models, and λ |
//! | [`backend`] | the levels of the processor |
//! | [`device`] | the cores, or a card beside them |
//! | `card` | group operations and Bloom filters on a card of NVIDIA (feature `cuda`) |
//!
//! Every computation is a function of its arguments: randomness comes in as `&mut dyn CryptoRng`, and no
//! result depends on the processor or the number of threads.

#![forbid(unsafe_code)]

pub use vesica_kernels::block;

pub mod aes_hash;
pub mod band;
pub mod bigint;
pub mod byte_masks;
#[cfg(feature = "cuda")]
pub mod card;
pub mod convolve;
pub mod device;
pub mod elgamal;
pub mod gf128;
pub mod gf64;
pub mod golay;
pub mod group;
pub mod hadamard;
pub mod half_gates;
pub mod hash;
pub mod join;
pub mod laplace;
pub mod memory;
#[cfg(not(feature = "cuda"))]
mod no_card;
pub mod paillier;
pub mod par;
pub mod partitions;
pub mod prg;
pub mod security;
pub mod short_keys;
mod stream;
pub mod transpose;
pub mod tree;
pub mod weighted_xor_sum;
pub mod wide_prg;

/// The levels of the processor. Their kernels, the only unsafe code, are the crate `vesica-kernels`.
pub mod backend {
    pub use vesica_kernels::{Backend, Kernels, Level};
}
