//! AES, BLAKE3, and what works on bits and words of secrets: streams, hashes, trees, transposition, codes.

use vesica_crypto::aes_hash::{FixedKey, rekeyed_ccr_on};
use vesica_crypto::backend::Kernels;
use vesica_crypto::band::{BandRow, back_substitute_on, margin, sums_on};
use vesica_crypto::block::Block;
use vesica_crypto::convolve::convolve_on;
use vesica_crypto::golay::{LONG, SHORT, compress_from_on};
use vesica_crypto::hadamard::add_with;
use vesica_crypto::laplace;
use vesica_crypto::prg::{Prg, Streams};
use vesica_crypto::transpose::{COLUMNS, ROWS, transpose_on};
use vesica_crypto::tree::add_at_on;
use vesica_crypto::weighted_xor_sum::{BLOCKS, SeedStreams};
use vesica_crypto::wide_prg::WidePrg;

use super::{LABEL, Subject, block, blocks, bytes, context, generator, known, row, rows};
use crate::measure::{Class, operation};

const COUNT: usize = 256;

pub(super) fn list() -> Vec<Subject> {
    let mut list = streams();
    list.extend(hashes());
    list.extend(bit_matrices());
    list.extend(codes());
    list.push(row("crypto/src/laplace.rs", "a number of the Laplace distribution", "its randomness", || {
        operation(generator, |rng| laplace::sample(1, 10, rng))
    }));
    list
}

fn streams() -> Vec<Subject> {
    let aes = Kernels::Aes;
    let mut list =
        rows(aes, "crypto/src/prg.rs", "AES-128 key schedule and 4 KiB of stream", "the seed", |backend| {
            let mut out = [0; 4096];
            operation(block, move |seed| Prg::with_backend(backend, *seed).fill(&mut out))
        });
    list.extend(rows(
        aes,
        "crypto/src/prg.rs",
        "128 key schedules, and 128 streams of 128 bytes",
        "the seeds",
        |backend| {
            let mut out = vec![[Block::ZERO; 8]; 128];
            operation(
                |class, rng| blocks(class, 128, rng),
                move |seeds| Streams::with_backend(backend, seeds).fill_rows(&mut out),
            )
        },
    ));
    list.extend(rows(
        aes,
        "crypto/src/wide_prg.rs",
        "AES-256 key schedule and 4 KiB of stream",
        "the seed",
        |backend| {
            let mut out = [0; 4096];
            operation(bytes::<32>, move |seed| WidePrg::with_backend(backend, seed).fill(&mut out))
        },
    ));
    list.extend(rows(
        Kernels::WeightedSums,
        "crypto/src/weighted_xor_sum.rs",
        "weighted sums of 16 streams",
        "the seeds",
        |backend| {
            let (mut sum, mut weighted) = ([Block::ZERO; BLOCKS], [[Block::ZERO; BLOCKS]; 4]);
            operation(
                |class, rng| blocks(class, 16, rng),
                move |seeds| SeedStreams::with_backend(backend, seeds).sum_at(0, &mut sum, &mut weighted),
            )
        },
    ));
    list
}

fn hashes() -> Vec<Subject> {
    let aes = Kernels::Aes;
    let module = "crypto/src/aes_hash.rs";
    let secret = |class: Class, rng: &mut Prg| blocks(class, COUNT, rng);
    let mut list =
        rows(aes, module, "circular correlation-robust hash of 256 blocks", "the blocks", move |backend| {
            let key = FixedKey::with_backend(backend, Block::ONES);
            operation(secret, move |blocks| key.ccr(blocks))
        });
    list.extend(rows(aes, module, "tweakable hash of 256 blocks", "the blocks", move |backend| {
        let key = FixedKey::with_backend(backend, Block::ONES);
        operation(secret, move |blocks| key.tccr(0, blocks))
    }));
    list.extend(rows(aes, module, "hash of 256 blocks under a key each", "the keys", move |backend| {
        let (from, mut hashed) = (known(COUNT), known(COUNT));
        operation(secret, move |keys| {
            hashed.copy_from_slice(&from);
            rekeyed_ccr_on(backend, keys, [&mut hashed]);
        })
    }));
    list.extend(rows(
        Kernels::Blake3,
        "crypto/src/hash.rs",
        "BLAKE3 of 64 inputs of 64 bytes",
        "the inputs",
        |backend| {
            let oracle = context().oracle(LABEL);
            let mut out = [0; 64 * 32];
            operation(bytes::<4096>, move |inputs| oracle.hash_batch_on(backend, inputs, 64, &mut out, 32))
        },
    ));
    // The promise is that of the tree whose path is secret.
    list.extend(rows(
        aes,
        "ot/src/pprf.rs",
        "a value added to one of 1024 blocks",
        "which block",
        |backend| {
            operation(
                |class, rng| (known(1024), block(class, rng).to_u128() as usize % 1024),
                move |(blocks, index)| add_at_on(backend, blocks, *index, Block::ONES),
            )
        },
    ));
    list
}

fn bit_matrices() -> Vec<Subject> {
    rows(
        Kernels::Transposition,
        "crypto/src/transpose.rs",
        "transposition of a tile",
        "the bits",
        |backend| {
            let mut out = [Block::ZERO; COLUMNS];
            operation(
                |class, rng| {
                    let mut tile = Box::new([[Block::ZERO; COLUMNS / 128]; ROWS]);
                    tile.as_flattened_mut().copy_from_slice(&blocks(class, ROWS * COLUMNS / 128, rng));
                    tile
                },
                move |tile| transpose_on(backend, tile, &mut out),
            )
        },
    )
}

fn codes() -> Vec<Subject> {
    let mut list = rows(
        Kernels::Hadamard,
        "crypto/src/hadamard.rs",
        "256 Walsh-Hadamard codewords",
        "the words and the mask",
        |backend| {
            let mut out = vec![[Block::ZERO; 2]; COUNT];
            operation(
                |class, rng| (bytes::<COUNT>(class, rng), [block(class, rng), block(class, rng)]),
                move |(words, kept)| add_with(backend, kept, words, &mut out),
            )
        },
    );
    // The linear algebra of codes and OKVS: positions are public or a party's own, values are secret.
    list.extend(rows(
        Kernels::Golay,
        "ot/src/vole.rs",
        "64 blocks of the Golay code",
        "the values",
        |backend| {
            let positions: Vec<[u16; LONG]> =
                (0..64u16).map(|i| core::array::from_fn(|j| (61 * i + 37 * j as u16) % 1024)).collect();
            let mut out = vec![[Block::ZERO; SHORT]; 64];
            operation(
                |class, rng| blocks(class, 1024, rng),
                move |words| compress_from_on(backend, words, &positions, &[], &mut out),
            )
        },
    ));
    list.extend(rows(
        Kernels::Convolution,
        "ot/src/vole.rs",
        "a convolution of 1024 words",
        "the values",
        |backend| {
            let taps: Vec<u32> = known(16).iter().map(|tap| tap.to_u128() as u32).collect();
            operation(|class, rng| blocks(class, 1024, rng), move |words| convolve_on(backend, words, &taps))
        },
    ));
    list.extend(rows(
        Kernels::BandSums,
        "ot/src/vole.rs",
        "64 sums under rows of a band matrix",
        "the values",
        |backend| {
            let bands: Vec<BandRow<6>> = (0..64).map(|i| BandRow { start: 5 * i, band: band(i) }).collect();
            let mut out = vec![Block::ZERO; bands.len()];
            operation(
                |class, rng| blocks(class, 1024, rng),
                move |table| sums_on(backend, table, &bands, &mut out),
            )
        },
    ));
    list.extend(rows(
        Kernels::BandSolving,
        "ot/src/vole.rs",
        "back substitution in a band matrix of 256 rows",
        "the values",
        |backend| {
            let bands: Vec<[u64; 6]> = (0..256).map(|i| band(i).map(|word| word | 1)).collect();
            operation(
                |class, rng| blocks(class, bands_and_margin(256), rng),
                move |table| back_substitute_on(backend, &bands, table),
            )
        },
    ));
    list
}

fn bands_and_margin(bands: usize) -> usize {
    bands + margin(6)
}

/// A band that is the same every time.
fn band(number: u32) -> [u64; 6] {
    let mut words = [0; 6];
    let mut prg = Prg::fork(Block::ONES, u64::from(number));
    words.iter_mut().for_each(|word| *word = prg.block().to_halves().0);
    words
}
