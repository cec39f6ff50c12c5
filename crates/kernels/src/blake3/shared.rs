//! The text of the compression function, once for each kind of vectors, and what it needs beside vectors.

use super::{Keyed, Mode};

pub(super) const IV: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

const CHUNK_START: u32 = 1 << 0;
const CHUNK_END: u32 = 1 << 1;
const ROOT: u32 = 1 << 3;
const KEYED_HASH: u32 = 1 << 4;
const DERIVE_KEY_MATERIAL: u32 = 1 << 6;

/// Which message words each round mixes in.
pub(super) const SCHEDULE: [[usize; 16]; 7] = {
    const PERMUTATION: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
    let mut schedule = [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]; 7];
    let mut round = 1;
    while round < 7 {
        let mut word = 0;
        while word < 16 {
            schedule[round][word] = schedule[round - 1][PERMUTATION[word]];
            word += 1;
        }
        round += 1;
    }
    schedule
};

/// Key and flags as the compression function takes them.
pub(super) struct Words {
    pub(super) key: [u32; 8],
    /// Of a hash of one block.
    pub(super) flags: u32,
}

impl Words {
    pub(super) fn new(keyed: &Keyed<'_>) -> Self {
        let (words, _) = keyed.key.as_chunks::<4>();
        let mode = match keyed.mode {
            Mode::Keyed => KEYED_HASH,
            Mode::DeriveKey => DERIVE_KEY_MATERIAL,
        };
        Self {
            key: core::array::from_fn(|i| u32::from_le_bytes(words[i])),
            flags: CHUNK_START | CHUNK_END | ROOT | mode,
        }
    }

    /// The flags of one of the blocks of a hash.
    pub(super) fn flags_of(&self, first: bool, last: bool) -> u32 {
        let start = if first { CHUNK_START } else { 0 };
        let end = if last { CHUNK_END | ROOT } else { 0 };
        self.flags & !(CHUNK_START | CHUNK_END | ROOT) | start | end
    }
}

/// The last `count` bytes of `input`, at most fifteen and the rest of a group, as a number. Loads of fixed
/// size that overlap cost less than a loop or a call.
#[inline]
pub(super) fn last_bytes(input: &[u8], count: usize) -> u128 {
    if count == 0 {
        0
    } else if let Some(last) = input.last_chunk() {
        u128::from_le_bytes(*last) >> (8 * (16 - count))
    } else if let (Some(first), Some(last)) = (input.first_chunk(), input.last_chunk()) {
        // Here the input is the group, eight bytes or more; where the two meet they hold the same bytes.
        u128::from(u64::from_le_bytes(*first)) | u128::from(u64::from_le_bytes(*last)) << (8 * (count - 8))
    } else {
        input.iter().rev().fold(0, |number, byte| number << 8 | u128::from(*byte))
    }
}

/// Defines the compression function over the vector operations of the surrounding module.
macro_rules! kernel {
    ($features:literal) => {
        /// 128-bit quarters or halves of a vector.
        const QUADS: usize = LANES / 4;

        /// Turns the 4 × 4 matrices of words, one in each 128-bit lane of four vectors.
        #[target_feature(enable = $features)]
        #[inline]
        fn turn(rows: [V; 4]) -> [V; 4] {
            let (ab_low, ab_high) = (unpack_low32(rows[0], rows[1]), unpack_high32(rows[0], rows[1]));
            let (cd_low, cd_high) = (unpack_low32(rows[2], rows[3]), unpack_high32(rows[2], rows[3]));
            [
                unpack_low64(ab_low, cd_low),
                unpack_high64(ab_low, cd_low),
                unpack_low64(ab_high, cd_high),
                unpack_high64(ab_high, cd_high),
            ]
        }

        /// Message words 0 to 4 · `GROUPS` - 1 of every input; the others are zero.
        #[target_feature(enable = $features)]
        #[inline]
        fn message<const GROUPS: usize>(inputs: &[&[u8]; LANES]) -> [V; 16] {
            let mut words = [splat(0); 16];
            for group in 0..GROUPS {
                // Lane q of row j is input 4q + j, so that turning leaves the inputs in order.
                let mut rows = [splat(0); 4];
                for (j, row) in rows.iter_mut().enumerate() {
                    let mut quads = [zero_quad(); QUADS];
                    for (quad, lane) in quads.iter_mut().enumerate() {
                        *lane = load_group(inputs[4 * quad + j], group);
                    }
                    *row = join(quads);
                }
                for (word, turned) in words[4 * group..].iter_mut().zip(turn(rows)) {
                    *word = turned;
                }
            }
            words
        }

        /// Sets message words 0 to 4 · `GROUPS` - 1 to those of every row.
        #[target_feature(enable = $features)]
        #[inline]
        fn row_message<const W: usize, const GROUPS: usize>(rows: &[[[u8; 16]; W]; LANES], m: &mut [V; 16]) {
            for group in 0..GROUPS {
                let mut part = [splat(0); 4];
                for j in 0..4 {
                    let mut quads = [zero_quad(); QUADS];
                    for quad in 0..QUADS {
                        quads[quad] = load_block(&rows[4 * quad + j][group]);
                    }
                    part[j] = join(quads);
                }
                let part = turn(part);
                for j in 0..4 {
                    m[4 * group + j] = part[j];
                }
            }
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn mix(v: &mut [V; 16], at: [usize; 4], x: V, y: V) {
            let [a, b, c, d] = at;
            v[a] = add(add(v[a], v[b]), x);
            v[d] = rotate::<16>(xor(v[d], v[a]));
            v[c] = add(v[c], v[d]);
            v[b] = rotate::<12>(xor(v[b], v[c]));
            v[a] = add(add(v[a], v[b]), y);
            v[d] = rotate::<8>(xor(v[d], v[a]));
            v[c] = add(v[c], v[d]);
            v[b] = rotate::<7>(xor(v[b], v[c]));
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn round<const ROUND: usize>(v: &mut [V; 16], m: &[V; 16]) {
            let s = &SCHEDULE[ROUND];
            mix(v, [0, 4, 8, 12], m[s[0]], m[s[1]]);
            mix(v, [1, 5, 9, 13], m[s[2]], m[s[3]]);
            mix(v, [2, 6, 10, 14], m[s[4]], m[s[5]]);
            mix(v, [3, 7, 11, 15], m[s[6]], m[s[7]]);
            mix(v, [0, 5, 10, 15], m[s[8]], m[s[9]]);
            mix(v, [1, 6, 11, 12], m[s[10]], m[s[11]]);
            mix(v, [2, 7, 8, 13], m[s[12]], m[s[13]]);
            mix(v, [3, 4, 9, 14], m[s[14]], m[s[15]]);
        }

        /// The seven rounds over messages of these lengths. Known zero words cost nothing.
        #[target_feature(enable = $features)]
        #[inline]
        fn mixed(words: &Words, m: &[V; 16], lengths: V, v: &mut [V; 16]) {
            for i in 0..8 {
                v[i] = splat(words.key[i]);
            }
            rounds(m, lengths, words.flags, v);
        }

        /// The seven rounds over messages of these lengths; the first eight words of `v` are what the blocks
        /// before left.
        #[target_feature(enable = $features)]
        #[inline]
        fn rounds(m: &[V; 16], lengths: V, flags: u32, v: &mut [V; 16]) {
            for i in 0..4 {
                v[i + 8] = splat(IV[i]);
            }
            // Words 12 and 13 are the counter, which is zero.
            v[12] = splat(0);
            v[13] = splat(0);
            v[14] = lengths;
            v[15] = splat(flags);
            round::<0>(v, m);
            round::<1>(v, m);
            round::<2>(v, m);
            round::<3>(v, m);
            round::<4>(v, m);
            round::<5>(v, m);
            round::<6>(v, m);
        }

        /// The hash of inputs of at most 16 · `GROUPS` bytes.
        #[target_feature(enable = $features)]
        fn compress_groups<const GROUPS: usize>(
            words: &Words,
            inputs: &[&[u8]; LANES],
            out: &mut [[u8; BLOCK]; LANES],
            width: usize,
        ) {
            let mut lengths = [0; LANES];
            for lane in 0..LANES {
                lengths[lane] = inputs[lane].len() as u32;
            }
            extended(words, &message::<GROUPS>(inputs), lengths, out, width);
        }

        /// The hash of messages of these lengths, as many groups of 16 bytes as `width` bytes take.
        #[target_feature(enable = $features)]
        #[inline]
        fn extended<const ROW: usize>(
            words: &Words,
            m: &[V; 16],
            lengths: [u32; LANES],
            out: &mut [[u8; ROW]; LANES],
            width: usize,
        ) {
            let mut v = [splat(0); 16];
            mixed(words, m, numbers(lengths), &mut v);
            for i in 0..8 {
                v[i] = xor(v[i], v[i + 8]);
                v[i + 8] = xor(v[i + 8], splat(words.key[i]));
            }
            for (group, words) in v.as_chunks::<4>().0.iter().enumerate().take(width.div_ceil(16)) {
                for (j, row) in turn(*words).into_iter().enumerate() {
                    for (quad, bytes) in split(row).into_iter().enumerate() {
                        store_block(&mut out[4 * quad + j].as_chunks_mut().0[group], bytes);
                    }
                }
            }
        }

        /// Fills `width` bytes of each row of `out` with the hashes of `inputs`, each of at most one block.
        #[target_feature(enable = $features)]
        pub(in super::super) fn compress(
            words: &Words,
            inputs: &[&[u8]; LANES],
            out: &mut [[u8; BLOCK]; LANES],
            width: usize,
        ) {
            let mut longest = 0;
            for input in inputs {
                longest = input.len().max(longest);
            }
            match longest {
                0..=16 => compress_groups::<1>(words, inputs, out, width),
                17..=32 => compress_groups::<2>(words, inputs, out, width),
                33..=48 => compress_groups::<3>(words, inputs, out, width),
                _ => compress_groups::<4>(words, inputs, out, width),
            }
        }

        /// Fills each row of `out`, whole groups of 16 bytes, with the hashes of blocks of these lengths,
        /// filled up with zeros.
        #[target_feature(enable = $features)]
        pub(in super::super) fn compress_blocks<const N: usize>(
            words: &Words,
            blocks: &[[[u8; 16]; 4]; LANES],
            lengths: &[u32; LANES],
            out: &mut [[u8; N]; LANES],
        ) {
            let mut longest = 0;
            for length in lengths {
                longest = longest.max(*length);
            }
            let mut m = [splat(0); 16];
            if longest <= 32 {
                row_message::<4, 2>(blocks, &mut m);
            } else if longest <= 48 {
                row_message::<4, 3>(blocks, &mut m);
            } else {
                row_message::<4, 4>(blocks, &mut m);
            }
            extended(words, &m, *lengths, out, N);
        }

        /// The first 16 · `N` bytes, at most 32, of the hashes of as many rows as there are lanes.
        #[target_feature(enable = $features)]
        pub(in super::super) fn compress_rows<const W: usize, const N: usize>(
            words: &Words,
            rows: &[[[u8; 16]; W]; LANES],
            out: &mut [[[u8; 16]; N]; LANES],
        ) {
            const { assert!(N <= 2, "groups before the words that the key enters") };
            let mut m = [splat(0); 16];
            row_message::<W, W>(rows, &mut m);
            let mut v = [splat(0); 16];
            mixed(words, &m, splat(16 * W as u32), &mut v);
            for group in 0..N {
                let mut part = [splat(0); 4];
                for i in 0..4 {
                    part[i] = xor(v[4 * group + i], v[4 * group + i + 8]);
                }
                let part = turn(part);
                for j in 0..4 {
                    let quads = split(part[j]);
                    for quad in 0..QUADS {
                        store_block(&mut out[4 * quad + j][group], quads[quad]);
                    }
                }
            }
        }

        /// [`super::super::Keyed::hash_numbered`] of any number of inputs.
        #[target_feature(enable = $features)]
        pub(in super::super) fn compress_numbered(
            words: &Words,
            halves: &[Half],
            per: usize,
            numbers: &[u64],
            out: &mut [Block],
        ) {
            let mut first = 0;
            while first < out.len() {
                let end = out.len().min(first + LANES);
                let halves = &halves[first * per..end * per];
                numbered_lanes(words, halves, per, &numbers[first..end], &mut out[first..end]);
                first = end;
            }
        }

        /// The hashes of at most as many inputs as there are lanes; lanes beyond repeat the last one.
        #[target_feature(enable = $features)]
        #[inline]
        fn numbered_lanes(words: &Words, halves: &[Half], per: usize, own: &[u64], out: &mut [Block]) {
            let (count, blocks) = (out.len(), per.div_ceil(2));
            let mut v = [splat(0); 16];
            for i in 0..8 {
                v[i] = splat(words.key[i]);
            }
            for block in 0..blocks {
                let last = block + 1 == blocks;
                let mut m = [splat(0); 16];
                half_message(halves, per, count, 2 * block, 0, &mut m);
                if 2 * block + 1 < per {
                    half_message(halves, per, count, 2 * block + 1, 8, &mut m);
                }
                if last {
                    // The number is added to the last six bytes.
                    let (mut low, mut high) = ([0; LANES], [0; LANES]);
                    for lane in 0..count {
                        low[lane] = (own[lane] << 16) as u32;
                        high[lane] = (own[lane] >> 16) as u32;
                    }
                    m[14] = xor(m[14], numbers(low));
                    m[15] = xor(m[15], numbers(high));
                }
                rounds(&m, splat(BLOCK as u32), words.flags_of(block == 0, last), &mut v);
                for i in 0..8 {
                    v[i] = xor(v[i], v[i + 8]);
                }
            }
            let first = turn([v[0], v[1], v[2], v[3]]);
            for j in 0..4 {
                let quads = split(first[j]);
                for quad in 0..QUADS {
                    if let Some(out) = out.get_mut(4 * quad + j) {
                        store_block(out.as_mut_bytes(), quads[quad]);
                    }
                }
            }
        }

        /// Sets eight message words from word `to` on to half number `half` of every input.
        #[target_feature(enable = $features)]
        #[inline]
        fn half_message(halves: &[Half], per: usize, count: usize, half: usize, to: usize, m: &mut [V; 16]) {
            for group in 0..2 {
                let mut part = [splat(0); 4];
                for j in 0..4 {
                    let mut quads = [zero_quad(); QUADS];
                    for quad in 0..QUADS {
                        let input = (4 * quad + j).min(count - 1);
                        quads[quad] = load_block(halves[input * per + half][group].as_bytes());
                    }
                    part[j] = join(quads);
                }
                let part = turn(part);
                for j in 0..4 {
                    m[to + 4 * group + j] = part[j];
                }
            }
        }
    };
}
