//! OT extension by codes: the frame that 1-out-of-N OT ([`kk13`](crate::kk13)) and the batched OPRF
//! ([`kkrt`](crate::kkrt)) share.
//!
//! A public code C maps each value w to k bits, and any two codewords that matter differ in κ places or more. The sender
//! holds secret bits s ∈ {0,1}^k; k base OTs, in which it chooses with s, gave it one seed of each pair that the receiver
//! holds. For OT number j, in which the receiver chooses w:
//!
//! ```text
//! receiver (w)                                          sender (s)
//! t0_j, t1_j = bit j of the k streams, by row           bit j of the k streams chosen by s: t0_j ⊕ s ∧ (t0_j ⊕ t1_j)
//!                 ── u_j = t0_j ⊕ t1_j ⊕ C(w) ──►       k/8 bytes
//! output H(j, t0_j)                                     q_j = t0_j ⊕ s ∧ (t0_j ⊕ t1_j) ⊕ s ∧ u_j = t0_j ⊕ s ∧ C(w)
//!                                                       for any value v: H(j, q_j ⊕ s ∧ C(v))
//! ```
//!
//! For v = w both have H(j, t0_j). For v ≠ w the sender's input to H is t0_j ⊕ s ∧ (C(w) ⊕ C(v)): κ or more bits of s stand
//! between the receiver and it. That is what H has to withstand, the correlation robustness of KK13 (Definition 1) and of
//! KKRT16 (Definition 4, with Hamming distance κ); here H is BLAKE3 in lanes, keyed with the protocol context, over the
//! *whole row and the number j*. Folding a row into one block of 128 bits first would undo the distance: of two blocks XORed
//! together, s ∧ c and its neighbour may cancel. A hash from AES on rows of several blocks would have to be argued anew
//! (as an iterated compression function, with related inputs); in lanes the random oracle costs little more.
//!
//! Rows are produced in tiles of 1024 from the k streams and transposed while they are in the first-level cache. The
//! sender's rows can be evaluated at any number of values, or dropped at once.
//!
//! Semi-honest: the receiver is not held to codewords.

use rand_core::CryptoRng;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label, Oracle};
use vesica_crypto::par;
use vesica_crypto::prg::Streams;
use vesica_crypto::transpose::{COLUMNS as TILE, ROWS, Tile, transpose};
use vesica_net::{Channel, RecvHalf};
use zeroize::Zeroize;

use crate::base::kept::{self, Keeping};
use crate::error::Error;

/// Blocks of the hash's input ([`Oracle::hash_numbered`]): a row, zeros, and the OT's number. One block of BLAKE3.
const INPUT: usize = 4;

/// Bits of an OT's number.
const NUMBER_BITS: usize = 48;

/// Bits that are left for a row.
const ROW_BITS: usize = INPUT * Block::BITS - NUMBER_BITS;

/// Values evaluated at a time, so that their rows stay in the first-level cache.
const BATCH: usize = 128;

/// A public code of rows of `W` blocks.
pub trait Code<const W: usize>: Sync {
    /// What is encoded.
    type Word: Copy + Send + Sync;
    /// The oracle of this code's outputs.
    const OUTPUT: Label;
    /// The oracle of its base OTs.
    const BASE: Label;

    /// k: bits of a codeword, a multiple of eight, at most 464. Bits beyond them are ignored.
    fn columns(&self) -> usize;

    /// Sets block i to block `block`, below `W`, of the codeword of `words[i]`. There are as many of both.
    fn encode(&self, block: usize, words: &[Self::Word], blocks: &mut [Block]);
}

/// The party that chooses one value in each OT.
pub struct Receiver<C, const W: usize> {
    code: C,
    oracle: Oracle,
    pair: [Columns<W>; 2],
    threads: usize,
    place: Place,
    /// What a call sends; kept for the next one.
    wire: Vec<u8>,
}

/// A [`Receiver`] whose message of the base OTs is on its way, and who can do something else until they are answered.
pub struct Opening<'a, C, const W: usize> {
    code: C,
    context: Context,
    base: kept::Opening<'a>,
    threads: usize,
}

/// The party that can evaluate every OT at any value.
pub struct Sender<C, const W: usize> {
    code: C,
    oracle: Oracle,
    chosen: Columns<W>,
    secret: Secret<W>,
    threads: usize,
    place: Place,
    /// What a call receives; kept for the next one.
    wire: Vec<u8>,
}

/// s.
struct Secret<const W: usize>([Block; W]);

impl<const W: usize> Drop for Secret<W> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// How far the OTs of one setup have come. A call that ends within a tile leaves the rest of the tile unused.
#[derive(Clone, Copy, Default)]
struct Place {
    tile: u64,
    number: u64,
}

impl Place {
    /// The place of the next `rows` OTs; moves beyond them.
    fn take(&mut self, rows: usize) -> Place {
        let here = *self;
        self.tile += rows.div_ceil(TILE) as u64;
        self.number += rows as u64;
        assert!(self.number >> NUMBER_BITS == 0, "one setup has numbers for 2^48 OTs");
        here
    }
}

impl<C: Code<W>, const W: usize> Receiver<C, W> {
    /// Runs the base OTs, in which this party is the sender, or takes kept ones; `threads` is how many it may keep busy
    /// later.
    pub fn setup(
        code: C,
        context: &Context,
        threads: usize,
        keeping: Option<&Keeping>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self, Error> {
        Self::open(code, context, threads, keeping, channel, rng)?.finish(channel)
    }

    /// Sends the first message of [`setup`](Self::setup), where there is one.
    pub fn open<'a>(
        code: C,
        context: &Context,
        threads: usize,
        keeping: Option<&'a Keeping>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Opening<'a, C, W>, Error> {
        let base = kept::open(context, C::BASE, keeping, channel, rng)?;
        Ok(Opening { code, context: context.clone(), base, threads })
    }

    /// From base OTs done elsewhere: both seeds of each.
    ///
    /// # Panics
    /// If there are not as many as the code has columns.
    pub fn from_seeds(code: C, context: &Context, threads: usize, pairs: &[[Block; 2]]) -> Self {
        assert!(code.columns() <= ROW_BITS, "a row and a number in one block of the hash");
        assert_eq!(pairs.len(), code.columns(), "one base OT a column");
        let pair = [0, 1].map(|side| {
            let mut seeds: Vec<Block> = pairs.iter().map(|pair| pair[side]).collect();
            let columns = Columns::new(&seeds);
            seeds.zeroize();
            columns
        });
        let (oracle, place) = (context.oracle(C::OUTPUT), Place::default());
        Self { oracle, code, pair, threads, place, wire: Vec::new() }
    }

    /// The next OTs, one for each of `words`: what the sender computes at `words[j]` goes to `outputs[j]`.
    ///
    /// # Panics
    /// If there are not as many outputs as words, or more than 2^48 OTs of one setup.
    pub fn extend(
        &mut self,
        words: &[C::Word],
        outputs: &mut [Block],
        channel: &mut Channel,
    ) -> Result<(), Error> {
        assert_eq!(words.len(), outputs.len(), "one output a word");
        let place = self.place.take(words.len());
        let width = self.code.columns() / 8;
        // Rows are written whole, each over what its predecessor has beyond its width; so is the last one of a tile.
        let stride = TILE * width + W * Block::BYTES;
        let tiles = words.len().div_ceil(TILE);
        let mut wire = std::mem::take(&mut self.wire);
        wire.resize(wire.len().max(tiles * stride), 0);
        let at_once = tiles.div_ceil(self.threads.max(1)).max(1);
        let tasks = words
            .chunks(TILE * at_once)
            .zip(outputs.chunks_mut(TILE * at_once))
            .zip(wire[..tiles * stride].chunks_mut(stride * at_once));
        let this = &*self;
        par::for_each(self.threads, tasks, |task, ((words, outputs), wire)| {
            let mut scratch = Scratch::new();
            let tiles = words.chunks(TILE).zip(outputs.chunks_mut(TILE)).zip(wire.chunks_mut(stride));
            for (tile, ((words, outputs), wire)) in (task * at_once..).zip(tiles) {
                let (tile, number) = (place.tile + tile as u64, place.number + (tile * TILE) as u64);
                this.tile(Place { tile, number }, words, outputs, wire, &mut scratch);
            }
            Ok::<_, Error>(())
        })?;
        for (words, wire) in words.chunks(TILE).zip(wire.chunks(stride)) {
            channel.send(&wire[..words.len() * width])?;
        }
        self.wire = wire;
        Ok(())
    }

    /// One tile: outputs and what is sent.
    fn tile(
        &self,
        place: Place,
        words: &[C::Word],
        outputs: &mut [Block],
        wire: &mut [u8],
        scratch: &mut Scratch<W>,
    ) {
        let Scratch { bits, rows: [zero, u], codewords, .. } = scratch;
        for block in 0..W {
            self.pair[0].tile(place.tile, block, bits, &mut zero[block]);
            self.pair[1].tile(place.tile, block, bits, &mut u[block]);
            self.code.encode(block, words, &mut codewords[..words.len()]);
            // u = t0 ⊕ t1 ⊕ C(w)
            for ((u, zero), codeword) in u[block].iter_mut().zip(&zero[block]).zip(&*codewords) {
                *u ^= *zero ^ *codeword;
            }
        }
        let width = self.code.columns() / 8;
        for j in 0..words.len() {
            let row = wire[j * width..][..W * Block::BYTES].as_chunks_mut::<{ Block::BYTES }>().0;
            for block in 0..W {
                row[block] = u[block][j].to_bytes();
            }
        }
        let Scratch { rows: [zero, _], batch, numbers, .. } = scratch;
        for (first, outputs) in (0..).step_by(BATCH).zip(outputs.chunks_mut(BATCH)) {
            for j in 0..outputs.len() {
                for block in 0..W {
                    batch[j][block] = zero[block][first + j];
                }
                numbers[j] = place.number + (first + j) as u64;
            }
            self.oracle.hash_numbered(&batch[..outputs.len()], &numbers[..outputs.len()], outputs);
        }
    }
}

impl<C: Code<W>, const W: usize> Opening<'_, C, W> {
    /// Receives the other party's message.
    pub fn finish(self, channel: &mut Channel) -> Result<Receiver<C, W>, Error> {
        let pairs = self.base.finish(self.code.columns(), channel)?;
        let mut seeds: Vec<[Block; 2]> = pairs.iter().map(|[a, b]| [a.block(), b.block()]).collect();
        let receiver = Receiver::from_seeds(self.code, &self.context, self.threads, &seeds);
        seeds.as_flattened_mut().zeroize();
        Ok(receiver)
    }
}

impl<C: Code<W>, const W: usize> Sender<C, W> {
    /// Draws s and runs the base OTs, in which this party is the receiver, or takes kept ones; `threads` is how many it may
    /// keep busy later.
    pub fn setup(
        code: C,
        context: &Context,
        threads: usize,
        keeping: Option<&Keeping>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self, Error> {
        let (bits, seeds) = kept::receive(context, C::BASE, code.columns(), keeping, channel, rng)?;
        let mut secret = Secret([Block::ZERO; W]);
        Block::slice_as_mut_bytes(&mut secret.0)[..bits.len()].copy_from_slice(&bits);
        let mut seeds: Vec<Block> = seeds.iter().map(|seed| seed.block()).collect();
        let sender = Self::from_seeds(code, context, threads, secret.0, &seeds);
        seeds.zeroize();
        Ok(sender)
    }

    /// From base OTs done elsewhere: s, and of each pair the seed that it chooses.
    ///
    /// # Panics
    /// If there are not as many as the code has columns, or s has bits beyond them.
    pub fn from_seeds(
        code: C,
        context: &Context,
        threads: usize,
        secret: [Block; W],
        seeds: &[Block],
    ) -> Self {
        assert_eq!(seeds.len(), code.columns(), "one base OT a column");
        let beyond = &Block::slice_as_bytes(&secret)[code.columns() / 8..];
        assert!(beyond.iter().all(|byte| *byte == 0), "one bit of s a column");
        let (oracle, chosen) = (context.oracle(C::OUTPUT), Columns::new(seeds));
        let (secret, place) = (Secret(secret), Place::default());
        Self { code, oracle, chosen, secret, threads, place, wire: Vec::new() }
    }

    /// The number of the next OT, which [`evaluate`](Self::evaluate) wants to know of the first of its rows.
    pub fn next(&self) -> u64 {
        self.place.number
    }

    /// The next OTs: the row of each.
    ///
    /// # Panics
    /// If there are more than 2^48 OTs of one setup.
    pub fn extend(&mut self, rows: &mut [[Block; W]], channel: &mut RecvHalf) -> Result<(), Error> {
        let place = self.place.take(rows.len());
        let width = self.code.columns() / 8;
        // Rows are read whole; what is beyond their width meets zeros of s.
        let length = rows.len() * width;
        self.wire.resize(self.wire.len().max(length + W * Block::BYTES), 0);
        channel.recv_exact(&mut self.wire[..length])?;
        let at_once = rows.len().div_ceil(TILE).div_ceil(self.threads.max(1)).max(1);
        let this = &*self;
        par::for_each(self.threads, rows.chunks_mut(TILE * at_once), |task, rows| {
            let mut scratch = Scratch::new();
            for (tile, rows) in (task * at_once..).zip(rows.chunks_mut(TILE)) {
                let wire = &this.wire[tile * TILE * width..];
                this.tile(place.tile + tile as u64, wire, rows, &mut scratch);
            }
            Ok(())
        })
    }

    /// The rows of one tile.
    fn tile(&self, tile: u64, wire: &[u8], rows: &mut [[Block; W]], scratch: &mut Scratch<W>) {
        let Scratch { bits, rows: [columns, _], .. } = scratch;
        let (width, s) = (self.code.columns() / 8, &self.secret.0);
        for (block, columns) in columns.iter_mut().enumerate() {
            self.chosen.tile(tile, block, bits, columns);
        }
        for (j, row) in rows.iter_mut().enumerate() {
            let u = wire[j * width..][..W * Block::BYTES].as_chunks::<{ Block::BYTES }>().0;
            for block in 0..W {
                // q = t_s ⊕ s ∧ u
                row[block] = columns[block][j] ^ Block::from(u[block]) & s[block];
            }
        }
    }

    /// The outputs of OTs at any values: `outputs[i]` is that of the OT of row `at[i]` at `words[i]`. `rows` are what
    /// [`extend`](Self::extend) gave for the OTs from number `first` on.
    ///
    /// # Panics
    /// If the three differ in length, or a row is not there.
    pub fn evaluate(
        &self,
        first: u64,
        rows: &[[Block; W]],
        at: &[u32],
        words: &[C::Word],
        outputs: &mut [Block],
    ) {
        assert!(at.len() == words.len() && at.len() == outputs.len(), "one output a row and word");
        let (mut codewords, mut inputs) = ([[Block::ZERO; BATCH]; W], [[Block::ZERO; W]; BATCH]);
        let (mut numbers, s) = ([0; BATCH], &self.secret.0);
        for ((at, words), outputs) in at.chunks(BATCH).zip(words.chunks(BATCH)).zip(outputs.chunks_mut(BATCH))
        {
            for (block, codewords) in codewords.iter_mut().enumerate() {
                self.code.encode(block, words, &mut codewords[..words.len()]);
            }
            for (i, at) in at.iter().enumerate() {
                let q = &rows[*at as usize];
                for block in 0..W {
                    // q ⊕ s ∧ C(v)
                    inputs[i][block] = q[block] ^ codewords[block][i] & s[block];
                }
                numbers[i] = first + u64::from(*at);
            }
            self.oracle.hash_numbered(&inputs[..at.len()], &numbers[..at.len()], outputs);
        }
        inputs.as_flattened_mut().zeroize();
    }
}

/// What the tiles of a task are made in, one after the other; wiped when dropped.
struct Scratch<const W: usize> {
    bits: Box<Tile>,
    /// The rows of one stream a column, and of the other one: of each block of the rows a list.
    rows: [Vec<[Block; TILE]>; 2],
    codewords: Vec<Block>,
    /// Rows as they are hashed, and their numbers.
    batch: [[Block; W]; BATCH],
    numbers: [u64; BATCH],
}

impl<const W: usize> Scratch<W> {
    fn new() -> Self {
        Self {
            bits: Box::new([[Block::ZERO; TILE / Block::BITS]; ROWS]),
            rows: [0, 1].map(|_| vec![[Block::ZERO; TILE]; W]),
            codewords: vec![Block::ZERO; TILE],
            batch: [[Block::ZERO; W]; BATCH],
            numbers: [0; BATCH],
        }
    }
}

impl<const W: usize> Drop for Scratch<W> {
    fn drop(&mut self) {
        self.bits.as_flattened_mut().zeroize();
        self.rows.iter_mut().for_each(|rows| rows.as_flattened_mut().zeroize());
        self.codewords.zeroize();
        self.batch.as_flattened_mut().zeroize();
    }
}

/// One stream a column, given out by rows.
struct Columns<const W: usize> {
    /// Of 128 columns each, the last of fewer.
    blocks: Vec<Streams>,
    count: usize,
}

impl<const W: usize> Columns<W> {
    fn new(seeds: &[Block]) -> Self {
        assert!(seeds.len() <= W * ROWS, "at most 128 columns a block");
        Self { blocks: seeds.chunks(ROWS).map(Streams::from_seeds).collect(), count: seeds.len() }
    }

    /// Block `block` of the rows of a tile, by way of its bits as they come.
    fn tile(&self, tile: u64, block: usize, bits: &mut Tile, rows: &mut [Block; TILE]) {
        let Some(streams) = self.blocks.get(block) else { return rows.fill(Block::ZERO) };
        let (used, unused) = bits.split_at_mut((self.count - block * ROWS).min(ROWS));
        streams.fill_rows_at(tile * (TILE / Block::BITS) as u64, used);
        unused.as_flattened_mut().fill(Block::ZERO);
        transpose(bits, rows);
    }
}

/// Base OTs by a dealer, and the checks that every code has to pass.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use vesica_crypto::prg::Prg;
    use vesica_net::{Options, memory};

    const EMPTY: Tile = [[Block::ZERO; TILE / Block::BITS]; ROWS];

    pub(crate) fn context() -> Context {
        Context::new(&[3; 32], "test", b"", 5, 6)
    }

    pub(crate) fn distance<const W: usize>(a: &[Block; W], b: &[Block; W]) -> u32 {
        a.iter().zip(b).map(|(a, b)| (*a ^ *b).to_u128().count_ones()).sum()
    }

    /// Both parties, and the channel between them.
    pub(crate) struct Pair<C, const W: usize> {
        pub(crate) receiver: Receiver<C, W>,
        pub(crate) sender: Sender<C, W>,
        ends: [Channel; 2],
    }

    /// Two parties whose base OTs a dealer did.
    pub(crate) fn dealt<C: Code<W>, const W: usize>(code: impl Fn() -> C, threads: usize) -> Pair<C, W> {
        let mut rng = Prg::from_seed([8; 16]);
        let columns = code().columns();
        let pairs: Vec<[Block; 2]> = (0..columns).map(|_| [rng.block(), rng.block()]).collect();
        let mut secret = Secret([Block::ZERO; W]);
        rand_core::Rng::fill_bytes(&mut rng, &mut Block::slice_as_mut_bytes(&mut secret.0)[..columns / 8]);
        let bit = |i: usize| usize::from(secret.0[i / Block::BITS].bit(i % Block::BITS));
        let chosen: Vec<Block> = pairs.iter().enumerate().map(|(i, pair)| pair[bit(i)]).collect();
        let (a, b) = memory::pair(&Options::default());
        Pair {
            receiver: Receiver::from_seeds(code(), &context(), threads, &pairs),
            sender: Sender::from_seeds(code(), &context(), threads, secret.0, &chosen),
            ends: [a, b],
        }
    }

    impl<C: Code<W>, const W: usize> Pair<C, W> {
        pub(crate) fn run(&mut self, words: &[C::Word], outputs: &mut [Block], rows: &mut [[Block; W]]) {
            let [a, b] = &mut self.ends;
            self.receiver.extend(words, outputs, a).unwrap();
            a.flush().unwrap();
            self.sender.extend(rows, b.split().1).unwrap();
        }
    }

    /// The sender computes the receiver's outputs at the receiver's words, and others at other words; in pieces of any
    /// size, on any number of threads, all OTs of different numbers. The traffic is k/8 bytes an OT.
    pub(crate) fn check_against_the_ideal<C: Code<W>, const W: usize>(
        code: impl Fn() -> C,
        words: &[C::Word],
        other: impl Fn(C::Word) -> C::Word,
    ) {
        let mut before: Option<Vec<Block>> = None;
        for threads in [1, 3] {
            let mut pair = dealt(&code, threads);
            let mut outputs = vec![Block::ZERO; words.len()];
            let mut start = 0;
            for piece in [0, 1, 2, 1023, 1024, 1025].into_iter().chain([words.len()]) {
                let end = (start + piece).min(words.len());
                let mut rows = vec![[Block::ZERO; W]; end - start];
                let first = pair.sender.next();
                assert_eq!(first, start as u64);
                pair.run(&words[start..end], &mut outputs[start..end], &mut rows);
                let queries = |other: &dyn Fn(C::Word) -> C::Word| {
                    let words: Vec<_> = words[start..end].iter().map(|word| other(*word)).collect();
                    let at: Vec<u32> = (0..words.len() as u32).collect();
                    let mut found = vec![Block::ZERO; words.len()];
                    pair.sender.evaluate(first, &rows, &at, &words, &mut found);
                    found
                };
                assert_eq!(queries(&|word| word), outputs[start..end]);
                let others = queries(&other);
                assert!(others.iter().zip(&outputs[start..end]).all(|(a, b)| a != b));
                start = end;
            }
            assert_eq!(start, words.len());
            let bytes = (words.len() * code().columns() / 8) as u64;
            assert_eq!(pair.ends[0].traffic().payload_sent, bytes);
            assert!(before.replace(outputs.clone()).is_none_or(|before| before == outputs));
        }
    }

    #[test]
    fn a_row_is_what_the_identity_says() {
        // q = t0 ⊕ s ∧ C(w), with the rows of a code whose columns end within a block.
        let code = || crate::kkrt::PseudoRandomCode::new(&context(), 424);
        let mut pair = dealt(code, 1);
        let words = [Block::ONES; 1500];
        let (mut outputs, mut rows) = (vec![Block::ZERO; 1500], vec![[Block::ZERO; 4]; 1500]);
        pair.run(&words, &mut outputs, &mut rows);
        for block in 0..4 {
            let mut codeword = [Block::ZERO];
            code().encode(block, &words[..1], &mut codeword);
            for (tile, rows) in (0..).zip(rows.chunks(TILE)) {
                let mut zero = [Block::ZERO; TILE];
                pair.receiver.pair[0].tile(tile, block, &mut EMPTY.clone(), &mut zero);
                for (q, t) in rows.iter().zip(&zero) {
                    assert_eq!(q[block], *t ^ pair.sender.secret.0[block] & codeword[0]);
                }
            }
        }
    }

    #[test]
    fn streams_of_a_tile_are_transposed() {
        let seeds: Vec<Block> = (0..200u128).map(Block::from).collect();
        let columns = Columns::<2>::new(&seeds);
        let mut rows = [[Block::ZERO; TILE]; 2];
        for (block, rows) in rows.iter_mut().enumerate() {
            columns.tile(3, block, &mut EMPTY.clone(), rows);
        }
        for (i, seed) in seeds.iter().enumerate() {
            let mut stream = vec![Block::ZERO; 4 * 8];
            Prg::from_seed(*seed).fill_blocks(&mut stream);
            for (j, row) in rows[i / 128].iter().enumerate() {
                assert_eq!(row.bit(i % 128), stream[24 + j / 128].bit(j % 128));
            }
        }
        assert!(rows[1].iter().all(|row| row.to_u128() >> 72 == 0));
    }
}
