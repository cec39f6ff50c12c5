//! The AES kernels for x86-64, once for 128-bit and once for 512-bit vectors.
//!
//! Both widths run the same text: it speaks of vectors of `LANES` blocks and keeps `FLIGHT` of them in flight, which
//! hides the latency of the instructions.

use core::arch::x86_64::*;

use zeroize::Zeroize;

use crate::block::Block;

/// Round constants of the key schedule.
const RCON: [i32; 10] = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36];

/// Takes RotWord(w₃) of a round key to all four columns.
const ROT_WORD: u128 = 0x0c0f_0e0d_0c0f_0e0d_0c0f_0e0d_0c0f_0e0d;

/// The round keys of `key`.
#[target_feature(enable = "aes,avx2")]
pub(super) fn expand(key: &Block) -> [Block; 11] {
    let mut rounds = [*key; 11];
    for round in 0..10 {
        let previous = narrow::load(rounds[round].as_bytes());
        let next = narrow::next_round_key(previous, RCON[round]);
        narrow::store(rounds[round + 1].as_mut_bytes(), next);
    }
    rounds
}

/// Defines the kernels over the vector operations of the surrounding module.
macro_rules! kernels {
    ($features:literal) => {
        /// Bytes of a vector.
        const BYTES: usize = LANES * Block::BYTES;
        /// Blocks in flight.
        const AT_ONCE: usize = LANES * FLIGHT;

        #[target_feature(enable = $features)]
        #[inline]
        pub(super) fn next_round_key(key: V, rcon: i32) -> V {
            let last_column = enclast(shuffle_bytes(key, splat(ROT_WORD)), splat_words(rcon));
            // Column i becomes the XOR of columns 0 to i.
            let key = xor(key, shift_left_bytes::<4>(key));
            let key = xor(key, shift_left_bytes::<8>(key));
            xor(key, last_column)
        }

        /// σ(low ‖ high) = high ‖ (low ⊕ high).
        #[target_feature(enable = $features)]
        #[inline]
        fn sigma(x: V) -> V {
            xor(swap_halves(x), and(x, splat(u128::MAX << 64)))
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn broadcast(rounds: &[Block; 11]) -> [V; 11] {
            rounds.map(|round| splat(round.to_u128()))
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn encrypt_vectors<const N: usize>(rounds: &[V; 11], x: [V; N]) -> [V; N] {
            let mut x = x.map(|x| xor(x, rounds[0]));
            for round in &rounds[1..10] {
                x = x.map(|x| enc(x, *round));
            }
            x.map(|x| enclast(x, rounds[10]))
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn load_all(chunk: &[Block; AT_ONCE]) -> [V; FLIGHT] {
            let vectors = Block::slice_as_bytes(chunk).as_chunks::<BYTES>().0;
            core::array::from_fn(|i| load(&vectors[i]))
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn store_all(chunk: &mut [Block; AT_ONCE], x: [V; FLIGHT]) {
            let vectors = Block::slice_as_mut_bytes(chunk).as_chunks_mut::<BYTES>().0;
            for (vector, x) in vectors.iter_mut().zip(x) {
                store(vector, x);
            }
        }

        /// The numbers first, first + 1, … one to a block.
        #[target_feature(enable = $features)]
        #[inline]
        fn counters(first: u64) -> [V; FLIGHT] {
            let first = add64(splat(u128::from(first)), lane_numbers());
            core::array::from_fn(|i| add64(first, splat((i * LANES) as u128)))
        }

        /// Runs `work` over all blocks, `AT_ONCE` at a time; the last are filled up with zeros.
        #[target_feature(enable = $features)]
        #[inline]
        fn for_chunks(blocks: &mut [Block], work: impl Fn(u64, [V; FLIGHT]) -> [V; FLIGHT]) {
            let (chunks, rest) = blocks.as_chunks_mut::<AT_ONCE>();
            let mut done = 0;
            for chunk in chunks {
                store_all(chunk, work(done, load_all(chunk)));
                done += AT_ONCE as u64;
            }
            if !rest.is_empty() {
                let mut last = [Block::ZERO; AT_ONCE];
                last[..rest.len()].copy_from_slice(rest);
                let hashed = work(done, load_all(&last));
                store_all(&mut last, hashed);
                rest.copy_from_slice(&last[..rest.len()]);
                last.zeroize();
            }
        }

        #[target_feature(enable = $features)]
        pub(in super::super) fn encrypt(rounds: &[Block; 11], blocks: &mut [Block]) {
            let rounds = broadcast(rounds);
            for_chunks(blocks, |_, x| encrypt_vectors(&rounds, x));
        }

        #[target_feature(enable = $features)]
        pub(in super::super) fn ccr(rounds: &[Block; 11], blocks: &mut [Block]) {
            let rounds = broadcast(rounds);
            for_chunks(blocks, |_, x| {
                let x = x.map(|x| sigma(x));
                let permuted = encrypt_vectors(&rounds, x);
                core::array::from_fn(|i| xor(permuted[i], x[i]))
            });
        }

        #[target_feature(enable = $features)]
        pub(in super::super) fn tccr(rounds: &[Block; 11], first: u64, blocks: &mut [Block]) {
            let rounds = broadcast(rounds);
            for_chunks(blocks, |done, x| {
                let once = encrypt_vectors(&rounds, x);
                let tweaks = counters(first.wrapping_add(done));
                let twice: [V; FLIGHT] =
                    encrypt_vectors(&rounds, core::array::from_fn(|i| xor(once[i], tweaks[i])));
                core::array::from_fn(|i| xor(once[i], twice[i]))
            });
        }

        #[target_feature(enable = $features)]
        pub(in super::super) fn keystream(rounds: &[Block; 11], first: u64, out: &mut [u8]) {
            let rounds = broadcast(rounds);
            let mut counters = counters(first);
            let (flights, rest) = out.as_chunks_mut::<{ FLIGHT * BYTES }>();
            for flight in flights {
                let stream = encrypt_vectors(&rounds, counters);
                for (vector, x) in flight.as_chunks_mut().0.iter_mut().zip(stream) {
                    store(vector, x);
                }
                counters = counters.map(|counter| add64(counter, splat(AT_ONCE as u128)));
            }
            let (vectors, rest) = rest.as_chunks_mut();
            let mut counter = [counters[0]];
            for vector in vectors {
                store(vector, encrypt_vectors(&rounds, counter)[0]);
                counter = [add64(counter[0], splat(LANES as u128))];
            }
            if !rest.is_empty() {
                let mut last = [0; BYTES];
                store(&mut last, encrypt_vectors(&rounds, counter)[0]);
                rest.copy_from_slice(&last[..rest.len()]);
                last.zeroize();
            }
        }

        /// Schedules `AT_ONCE` keys and encrypts one block of each column under each, round by round.
        #[target_feature(enable = $features)]
        #[inline]
        fn rekeyed_vectors<const COLUMNS: usize, const CCR: bool>(
            mut key: [V; FLIGHT],
            mut x: [[V; FLIGHT]; COLUMNS],
        ) -> [[V; FLIGHT]; COLUMNS] {
            if CCR {
                x = x.map(|column| column.map(|x| sigma(x)));
            }
            let plain = x;
            for column in &mut x {
                *column = core::array::from_fn(|i| xor(column[i], key[i]));
            }
            for rcon in RCON {
                key = key.map(|key| next_round_key(key, rcon));
                let last = rcon == RCON[9];
                for column in &mut x {
                    *column = core::array::from_fn(|i| {
                        if last { enclast(column[i], key[i]) } else { enc(column[i], key[i]) }
                    });
                }
            }
            if CCR {
                for (column, plain) in x.iter_mut().zip(plain) {
                    *column = core::array::from_fn(|i| xor(column[i], plain[i]));
                }
            }
            x
        }

        #[target_feature(enable = $features)]
        pub(in super::super) fn rekeyed<const COLUMNS: usize, const CCR: bool>(
            keys: &[Block],
            columns: [&mut [Block]; COLUMNS],
        ) {
            let (keys, last_keys) = keys.as_chunks::<AT_ONCE>();
            let mut columns = columns.map(|column| column.as_chunks_mut::<AT_ONCE>());
            for (i, keys) in keys.iter().enumerate() {
                let x = core::array::from_fn(|column| load_all(&columns[column].0[i]));
                let x = rekeyed_vectors::<COLUMNS, CCR>(load_all(keys), x);
                for (column, x) in columns.iter_mut().zip(x) {
                    store_all(&mut column.0[i], x);
                }
            }
            if !last_keys.is_empty() {
                let pad = |blocks: &[Block]| {
                    let mut padded = [Block::ZERO; AT_ONCE];
                    padded[..blocks.len()].copy_from_slice(blocks);
                    padded
                };
                let mut padded_keys = pad(last_keys);
                let mut padded: [_; COLUMNS] = core::array::from_fn(|column| pad(columns[column].1));
                let x = core::array::from_fn(|column| load_all(&padded[column]));
                let x = rekeyed_vectors::<COLUMNS, CCR>(load_all(&padded_keys), x);
                for ((column, padded), x) in columns.iter_mut().zip(&mut padded).zip(x) {
                    store_all(padded, x);
                    column.1.copy_from_slice(&padded[..column.1.len()]);
                }
                padded_keys.zeroize();
                padded.zeroize();
            }
        }
    };
}

/// 128-bit vectors.
pub(super) mod narrow {
    use super::*;

    type V = __m128i;
    const LANES: usize = 1;
    const FLIGHT: usize = 8;

    kernels!("aes,avx2");

    #[target_feature(enable = "aes,avx2")]
    #[inline]
    pub(super) fn load(bytes: &[u8; BYTES]) -> V {
        // SAFETY: sixteen readable bytes; the load has no alignment.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }

    #[target_feature(enable = "aes,avx2")]
    #[inline]
    pub(super) fn store(bytes: &mut [u8; BYTES], x: V) {
        // SAFETY: sixteen writable bytes; the store has no alignment.
        unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), x) }
    }

    #[target_feature(enable = "aes,avx2")]
    #[inline]
    fn splat(value: u128) -> V {
        _mm_set_epi64x((value >> 64) as i64, value as i64)
    }

    #[target_feature(enable = "aes,avx2")]
    #[inline]
    fn lane_numbers() -> V {
        _mm_setzero_si128()
    }

    #[target_feature(enable = "aes,avx2")]
    #[inline]
    fn swap_halves(x: V) -> V {
        _mm_shuffle_epi32::<0x4e>(x)
    }

    use {
        _mm_add_epi64 as add64, _mm_aesenc_si128 as enc, _mm_aesenclast_si128 as enclast,
        _mm_and_si128 as and, _mm_set1_epi32 as splat_words, _mm_shuffle_epi8 as shuffle_bytes,
        _mm_slli_si128 as shift_left_bytes, _mm_xor_si128 as xor,
    };
}

/// 512-bit vectors.
pub(super) mod wide {
    use super::*;

    type V = __m512i;
    const LANES: usize = 4;
    const FLIGHT: usize = 4;

    kernels!("vaes,avx512f,avx512bw");

    #[target_feature(enable = "vaes,avx512f,avx512bw")]
    #[inline]
    fn load(bytes: &[u8; BYTES]) -> V {
        // SAFETY: 64 readable bytes; the load has no alignment.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }

    #[target_feature(enable = "vaes,avx512f,avx512bw")]
    #[inline]
    fn store(bytes: &mut [u8; BYTES], x: V) {
        // SAFETY: 64 writable bytes; the store has no alignment.
        unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), x) }
    }

    #[target_feature(enable = "vaes,avx512f,avx512bw")]
    #[inline]
    fn splat(value: u128) -> V {
        _mm512_broadcast_i32x4(_mm_set_epi64x((value >> 64) as i64, value as i64))
    }

    #[target_feature(enable = "vaes,avx512f,avx512bw")]
    #[inline]
    fn lane_numbers() -> V {
        _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0)
    }

    #[target_feature(enable = "vaes,avx512f,avx512bw")]
    #[inline]
    fn swap_halves(x: V) -> V {
        _mm512_shuffle_epi32::<0x4e>(x)
    }

    use {
        _mm512_add_epi64 as add64, _mm512_aesenc_epi128 as enc, _mm512_aesenclast_epi128 as enclast,
        _mm512_and_si512 as and, _mm512_bslli_epi128 as shift_left_bytes, _mm512_set1_epi32 as splat_words,
        _mm512_shuffle_epi8 as shuffle_bytes, _mm512_xor_si512 as xor,
    };
}
