//! The text of the AES kernels, once for each kind of vectors.
//!
//! It works on vectors of `LANES` blocks and keeps `FLIGHT` of them in flight, which hides the latency of the
//! instructions. It loops over indices instead of calling `map`, `from_fn` and `zip`: library code has no target
//! features, and vectors go through memory wherever such code is not inlined.

#[macro_use]
mod children;
#[macro_use]
mod half_gates;

/// Round constants of the key schedule.
pub(super) const RCON: [i32; 10] = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36];

/// Takes RotWord(w₃) of a round key to all four columns.
pub(super) const ROT_WORD: u128 = 0x0c0f_0e0d_0c0f_0e0d_0c0f_0e0d_0c0f_0e0d;

/// Takes w₃ itself to all four columns.
pub(super) const LAST_WORD: u128 = 0x0f0e_0d0c_0f0e_0d0c_0f0e_0d0c_0f0e_0d0c;

/// Blocks whose hashes give a word of bits.
pub(super) const WORD: usize = u64::BITS as usize;

/// Defines the key schedules over the vector operations of the surrounding module, of one block each.
macro_rules! schedules {
    ($features:literal) => {
        /// The round keys of `key`.
        #[target_feature(enable = $features)]
        pub(crate) fn expand(key: &Block) -> [Block; 11] {
            let mut rounds = [*key; 11];
            for round in 0..10 {
                let next = next_round_key(load(rounds[round].as_bytes()), RCON[round]);
                store(rounds[round + 1].as_mut_bytes(), next);
            }
            rounds
        }

        /// The round keys of a key of 256 bits.
        #[target_feature(enable = $features)]
        pub(crate) fn expand_wide(key: &[u8; 32]) -> [Block; 15] {
            let mut rounds = [Block::ZERO; 15];
            Block::slice_as_mut_bytes(&mut rounds[..2]).copy_from_slice(key);
            for round in 2..15 {
                let (before, last) = (load(rounds[round - 2].as_bytes()), load(rounds[round - 1].as_bytes()));
                let next = if round % 2 == 0 {
                    next_words::<ROT_WORD>(before, last, RCON[round / 2 - 1])
                } else {
                    next_words::<LAST_WORD>(before, last, 0)
                };
                store(rounds[round].as_mut_bytes(), next);
            }
            rounds
        }
    };
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
        fn next_round_key(key: V, rcon: i32) -> V {
            next_words::<ROT_WORD>(key, key, rcon)
        }

        /// The four words of a key schedule that follow a key's length after `key`, where `last` are those
        /// just before them; `WORD` is how w₃ enters.
        #[target_feature(enable = $features)]
        #[inline]
        fn next_words<const WORD: u128>(key: V, last: V, rcon: i32) -> V {
            let last_column = enclast(shuffle_bytes(last, splat(WORD)), splat_words(rcon));
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
        fn broadcast<const KEYS: usize>(rounds: &[Block; KEYS]) -> [V; KEYS] {
            let mut vectors = [splat(0); KEYS];
            for i in 0..KEYS {
                vectors[i] = load_splat(&rounds[i]);
            }
            vectors
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn encrypt_vectors<const KEYS: usize, const N: usize>(rounds: &[V; KEYS], mut x: [V; N]) -> [V; N] {
            for i in 0..N {
                x[i] = xor(x[i], rounds[0]);
            }
            for round in 1..KEYS - 1 {
                for i in 0..N {
                    x[i] = enc(x[i], rounds[round]);
                }
            }
            for i in 0..N {
                x[i] = enclast(x[i], rounds[KEYS - 1]);
            }
            x
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn xor_all<const N: usize>(mut x: [V; N], y: [V; N]) -> [V; N] {
            for i in 0..N {
                x[i] = xor(x[i], y[i]);
            }
            x
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn sigma_all<const N: usize>(mut x: [V; N]) -> [V; N] {
            for i in 0..N {
                x[i] = sigma(x[i]);
            }
            x
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn load_all(chunk: &[Block; AT_ONCE]) -> [V; FLIGHT] {
            let vectors = Block::slice_as_bytes(chunk).as_chunks().0;
            let mut x = [splat(0); FLIGHT];
            for i in 0..FLIGHT {
                x[i] = load(&vectors[i]);
            }
            x
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn store_all(chunk: &mut [Block; AT_ONCE], x: [V; FLIGHT]) {
            let vectors = Block::slice_as_mut_bytes(chunk).as_chunks_mut().0;
            for i in 0..FLIGHT {
                store(&mut vectors[i], x[i]);
            }
        }

        /// The numbers first, first + 1, … one to a block.
        #[target_feature(enable = $features)]
        #[inline]
        fn counters(first: u64) -> [V; FLIGHT] {
            let mut numbers = [add64(splat(u128::from(first)), lane_numbers()); FLIGHT];
            for i in 1..FLIGHT {
                numbers[i] = add64(numbers[i - 1], splat(LANES as u128));
            }
            numbers
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
                let x = sigma_all(x);
                xor_all(encrypt_vectors(&rounds, x), x)
            });
        }

        #[target_feature(enable = $features)]
        pub(in super::super) fn tccr(rounds: &[Block; 11], first: u64, blocks: &mut [Block]) {
            let rounds = broadcast(rounds);
            for_chunks(blocks, |done, x| tccr_vectors(&rounds, counters(first.wrapping_add(done)), x));
        }

        /// `blocks` and `tweaks` have the same length.
        #[target_feature(enable = $features)]
        pub(in super::super) fn tccr_at(rounds: &[Block; 11], tweaks: &[Block], blocks: &mut [Block]) {
            let rounds = broadcast(rounds);
            let (all_tweaks, last_tweaks) = tweaks.as_chunks::<AT_ONCE>();
            let (whole, rest) = blocks.split_at_mut(all_tweaks.len() * AT_ONCE);
            let whole = whole.as_chunks_mut().0;
            for i in 0..all_tweaks.len() {
                let hashed = tccr_vectors(&rounds, load_all(&all_tweaks[i]), load_all(&whole[i]));
                store_all(&mut whole[i], hashed);
            }
            if !rest.is_empty() {
                let mut tweaks = [Block::ZERO; AT_ONCE];
                tweaks[..rest.len()].copy_from_slice(last_tweaks);
                for_chunks(rest, |_, x| tccr_vectors(&rounds, load_all(&tweaks), x));
            }
        }

        /// Sets bit i of word j to the lowest bit of the tweakable hash of block 64j + i ⊕ `offset`. There are as
        /// many words as the blocks need.
        #[target_feature(enable = $features)]
        pub(in super::super) fn tccr_bits(
            rounds: &[Block; 11],
            mut first: u64,
            offset: &Block,
            blocks: &[Block],
            words: &mut [u64],
        ) {
            let (rounds, offset) = (broadcast(rounds), load_splat(offset));
            let (whole, rest) = blocks.as_chunks();
            for i in 0..whole.len() {
                words[i] = tccr_word(&rounds, first, offset, &whole[i]);
                first = first.wrapping_add(u64::BITS.into());
            }
            if !rest.is_empty() {
                let mut last = [Block::ZERO; WORD];
                last[..rest.len()].copy_from_slice(rest);
                words[whole.len()] = tccr_word(&rounds, first, offset, &last) & ((1 << rest.len()) - 1);
                last.zeroize();
            }
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn tccr_word(rounds: &[V; 11], first: u64, offset: V, blocks: &[Block; WORD]) -> u64 {
            let (chunks, mut word) = (blocks.as_chunks::<AT_ONCE>().0, 0);
            for i in 0..chunks.len() {
                let x = xor_all(load_all(&chunks[i]), [offset; FLIGHT]);
                let tweaks = counters(first.wrapping_add((i * AT_ONCE) as u64));
                word |= lowest_bits(tccr_vectors(rounds, tweaks, x)) << (i * AT_ONCE);
            }
            word
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn tccr_vectors(rounds: &[V; 11], tweaks: [V; FLIGHT], x: [V; FLIGHT]) -> [V; FLIGHT] {
            let once = encrypt_vectors(rounds, x);
            xor_all(once, encrypt_vectors(rounds, xor_all(once, tweaks)))
        }

        #[target_feature(enable = $features)]
        pub(in super::super) fn keystream<const KEYS: usize>(
            rounds: &[Block; KEYS],
            first: u64,
            out: &mut [u8],
        ) {
            let rounds = broadcast(rounds);
            let mut counters = counters(first);
            let (flights, rest) = out.as_chunks_mut::<{ FLIGHT * BYTES }>();
            for flight in flights {
                let (stream, vectors) = (encrypt_vectors(&rounds, counters), flight.as_chunks_mut().0);
                for i in 0..FLIGHT {
                    store(&mut vectors[i], stream[i]);
                    counters[i] = add64(counters[i], splat(AT_ONCE as u128));
                }
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

        /// [`keystream`] under two keys at once. Round keys are taken from memory as they are needed: a short
        /// row is not worth keeping them.
        #[target_feature(enable = $features)]
        pub(in super::super) fn two_keystreams<const KEYS: usize>(
            rounds: [&[Block; KEYS]; 2],
            first: u64,
            out: [&mut [u8]; 2],
        ) {
            const HALF: usize = FLIGHT / 2;
            let [one, two] = out;
            let (ones, one_rest) = one.as_chunks_mut::<{ HALF * BYTES }>();
            let (twos, two_rest) = two.as_chunks_mut::<{ HALF * BYTES }>();
            let all = counters(first);
            let mut numbers = [splat(0); HALF];
            for i in 0..HALF {
                numbers[i] = all[i];
            }
            let mut done = 0;
            while done < ones.len() && done < twos.len() {
                let (mut x, mut y) = (numbers, numbers);
                let (key, other) = (load_splat(&rounds[0][0]), load_splat(&rounds[1][0]));
                for i in 0..HALF {
                    (x[i], y[i]) = (xor(x[i], key), xor(y[i], other));
                }
                for round in 1..KEYS - 1 {
                    let (key, other) = (load_splat(&rounds[0][round]), load_splat(&rounds[1][round]));
                    for i in 0..HALF {
                        x[i] = enc(x[i], key);
                    }
                    for i in 0..HALF {
                        y[i] = enc(y[i], other);
                    }
                }
                let (key, other) = (load_splat(&rounds[0][KEYS - 1]), load_splat(&rounds[1][KEYS - 1]));
                let (one, two) = (ones[done].as_chunks_mut().0, twos[done].as_chunks_mut().0);
                for i in 0..HALF {
                    store(&mut one[i], enclast(x[i], key));
                    store(&mut two[i], enclast(y[i], other));
                    numbers[i] = add64(numbers[i], splat((HALF * LANES) as u128));
                }
                done += 1;
            }
            let done = (done * HALF * LANES) as u64;
            if !one_rest.is_empty() {
                keystream(rounds[0], first.wrapping_add(done), one_rest);
                keystream(rounds[1], first.wrapping_add(done), two_rest);
            }
        }

        /// Schedules `N` vectors of keys and encrypts one block of each column under each, round by round.
        #[target_feature(enable = $features)]
        #[inline]
        fn rekeyed_vectors<const N: usize, const COLUMNS: usize, const CCR: bool>(
            mut key: [V; N],
            mut x: [[V; N]; COLUMNS],
        ) -> [[V; N]; COLUMNS] {
            if CCR {
                for column in 0..COLUMNS {
                    x[column] = sigma_all(x[column]);
                }
            }
            let plain = x;
            for column in 0..COLUMNS {
                x[column] = xor_all(x[column], key);
            }
            for round in 0..RCON.len() {
                for i in 0..N {
                    key[i] = next_round_key(key[i], RCON[round]);
                }
                for column in 0..COLUMNS {
                    for i in 0..N {
                        let x = &mut x[column][i];
                        *x = if round == 9 { enclast(*x, key[i]) } else { enc(*x, key[i]) };
                    }
                }
            }
            if CCR {
                for column in 0..COLUMNS {
                    x[column] = xor_all(x[column], plain[column]);
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
            let mut x = [[splat(0); FLIGHT]; COLUMNS];
            for i in 0..keys.len() {
                for column in 0..COLUMNS {
                    x[column] = load_all(&columns[column].0[i]);
                }
                x = rekeyed_vectors::<FLIGHT, COLUMNS, CCR>(load_all(&keys[i]), x);
                for column in 0..COLUMNS {
                    store_all(&mut columns[column].0[i], x[column]);
                }
            }
            if !last_keys.is_empty() {
                let mut padded = [Block::ZERO; AT_ONCE];
                for (x, column) in x.iter_mut().zip(&columns) {
                    padded[..column.1.len()].copy_from_slice(column.1);
                    *x = load_all(&padded);
                }
                padded[..last_keys.len()].copy_from_slice(last_keys);
                x = rekeyed_vectors::<FLIGHT, COLUMNS, CCR>(load_all(&padded), x);
                for (column, x) in columns.iter_mut().zip(x) {
                    store_all(&mut padded, x);
                    column.1.copy_from_slice(&padded[..column.1.len()]);
                }
                padded.zeroize();
            }
        }
    };
}
