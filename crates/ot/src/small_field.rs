//! Vector oblivious linear evaluation over small fields: correlated rows from 128 base OTs.
//!
//! The *receiver* holds 128 rows of pseudo-random bits, v_i, and a string u. The *sender* holds its secret Δ
//! and 128 rows w_i = v_i ⊕ Δ_i·u. Read by columns that is correlated OT. Read by blocks, with row i weighted
//! by X^i, it is vector OLE over GF(2^128).
//!
//! **Security:** semi-honest, or malicious with the consistency check in brackets. A malicious receiver can
//! guess bits of Δ; a wrong guess ends the run.
//!
//! Source: Roy, *SoftSpokenOT*, CRYPTO 2022 (eprint 2022/192): small-field VOLE from puncturable PRFs, the
//! puncturable PRF from k OTs, and its consistency check against a malicious tree maker (tags of all leaves:
//! their sum in clear, and their hash).
//!
//! ```text
//! receiver (both strings of each base OT)                          sender (one each, choice bits Δ)
//! for each group of k bits: tree of 2^k leaves
//!     sums of the nodes of each level, each under a base OT   ──►  all leaves but number Δ_g
//!     [tags' sum and hash]                                    ──►  the tags add up, and hash to the same
//! leaf x ─► string r_x
//! u_g = ⊕ r_x     v_{g,b} = ⊕ of r_x where x has bit b           w_{g,b} = ⊕ of r_x where x ⊕ Δ_g has bit b
//!     d_g = u ⊕ u_g                                           ──►  w_{g,b} ⊕= Δ_{g,b} · d_g
//! ```
//!
//! The leaf that the sender lacks has number 0 after the exclusive or with Δ_g, so its weight is zero. The
//! sender puts its leaves in that order once, by exchanges under masks, so that neither its memory accesses
//! nor its branches depend on Δ. All groups share one u: the receiver sends the difference d_g between it and
//! the u_g of each group.
//!
//! Names: q = 2^k the field, `tile` 1024 columns of all rows, `difference` d_g. Cost: 4 KiB of tree sums;
//! then, for each column, 128/k bits sent and 2^k·128/k pseudo-random bits generated on either side.

use core::marker::PhantomData;

use subtle::{Choice, ConstantTimeEq};
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::memory::{Wiped, wipe};
use vesica_crypto::transpose::{ROWS, Tile};
use vesica_crypto::weighted_xor_sum::{BLOCKS, SeedStreams, TileRow};
use zeroize::Zeroize;

use crate::error::Error;
use crate::pprf::{Shape, Trees};
use crate::security::{Security, SecurityModel};

#[cfg(any(test, feature = "testing"))]
pub mod cheating;

/// Bits of Δ that go together: a field of 2^k elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// k = 2: least work, 64 bits a column.
    Two,
    /// k = 4: 32 bits a column.
    Four,
    /// k = 8: fewest bytes, 16 bits a column.
    Eight,
}

impl Width {
    /// k.
    #[must_use]
    pub const fn bits(self) -> usize {
        match self {
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    /// The groups of the 128 bits of Δ.
    #[must_use]
    pub const fn groups(self) -> usize {
        ROWS / self.bits()
    }
}

const TREES: Label = Label::new("small field: keys of the trees");
const PAD: Label = Label::new("small field: pads of the tree sums");
const TAG: Label = Label::new("small field: tags and seeds of leaves");
const ALL_TAGS: Label = Label::new("small field: hash of all tags");

/// Bytes of the tree sums.
const SUMS: usize = ROWS * 2 * Block::BYTES;
/// Bytes of the sum of the tags, and of their hash.
const TAG_BYTES: usize = 32;

/// Length of the receiver's one message.
#[must_use]
pub const fn message_bytes(width: Width, security: Security) -> usize {
    match security {
        Security::SemiHonest => SUMS,
        Security::Malicious => SUMS + 2 * TAG_BYTES * width.groups(),
    }
}

/// The side that knows all strings.
pub(crate) struct Receiver<S> {
    groups: Vec<SeedStreams>,
    next: u64,
    security: PhantomData<S>,
}

impl<S: SecurityModel> Receiver<S> {
    /// Grows the trees; `base` are both strings of each base OT. The message is for [`Sender::new`].
    pub(crate) fn new(
        context: &Context,
        width: Width,
        base: &[[Block; 2]; ROWS],
        rng: &mut dyn rand_core::CryptoRng,
    ) -> (Self, Vec<u8>) {
        let mut roots: Vec<Block> = (0..width.groups()).map(|_| Block::random(rng)).collect();
        let new = Self::with_roots(context, width, base, &roots);
        roots.zeroize();
        new
    }

    /// Grows the trees from these roots.
    fn with_roots(
        context: &Context,
        width: Width,
        base: &[[Block; 2]; ROWS],
        roots: &[Block],
    ) -> (Self, Vec<u8>) {
        let trees = Trees::new(context, TREES, Shape::Plain);
        let (mut message, mut checks) = (Vec::with_capacity(SUMS), Vec::new());
        let mut groups = Vec::with_capacity(width.groups());
        for (group, (base, root)) in base.chunks(width.bits()).zip(roots).enumerate() {
            let mut leaves = vec![Block::ZERO; 1 << width.bits()];
            leaves[0] = *root;
            let mut sums = vec![[Block::ZERO; 2]; width.bits()];
            trees.tree(group as u64).grow(&mut leaves, &mut sums);
            for (level, (sums, seeds)) in sums.iter().zip(base).enumerate() {
                // A sender that chose bit c learns the sum of the side that a path through c does not take.
                let index = group * width.bits() + level;
                for choice in [0, 1] {
                    let hidden = sums[1 - choice] ^ pad(context, index, choice == 1, &seeds[choice]);
                    message.extend_from_slice(hidden.as_bytes());
                }
            }
            if S::SECURITY == Security::Malicious {
                let (tags, seeds) = tag(context, group, &leaves);
                checks.extend_from_slice(Block::slice_as_bytes(&sum_of(&tags)));
                checks.extend_from_slice(&hash_of(context, group, &tags));
                wipe(&mut leaves);
                leaves = seeds;
            }
            groups.push(SeedStreams::new(&leaves));
            wipe(&mut leaves);
        }
        message.append(&mut checks);
        (Self { groups, next: 0, security: PhantomData }, message)
    }

    /// The next tile of v, and of the string u_g of each group.
    pub(crate) fn tile(&mut self, tile: &mut Tile, sums: &mut [TileRow]) {
        debug_assert_eq!(sums.len(), self.groups.len(), "one string for each group");
        let rows = tile.chunks_mut(ROWS / self.groups.len());
        for ((strings, sum), rows) in self.groups.iter().zip(sums).zip(rows) {
            strings.sum_at(self.next, sum, rows);
        }
        self.next += BLOCKS as u64;
    }
}

/// The side that knows Δ. If the model is malicious, its trees have passed the check.
pub(crate) struct Sender<S> {
    groups: Vec<SeedStreams>,
    delta: Block,
    next: u64,
    security: PhantomData<S>,
}

impl<S: SecurityModel> Sender<S> {
    /// Grows the punctured trees from the message of [`Receiver::new`]; `base` are the strings of the base
    /// OTs whose choices were the bits of `delta`.
    ///
    /// # Errors
    /// If the message has another length than it must, or (malicious security) its trees are not those of one
    /// function.
    pub(crate) fn new(
        context: &Context,
        width: Width,
        delta: Block,
        base: &[Block; ROWS],
        message: &[u8],
    ) -> Result<Self, Error> {
        if message.len() != message_bytes(width, S::SECURITY) {
            return Err(Error::MessageLength { what: "small-field trees" });
        }
        let (sums, checks) = message.split_at(SUMS);
        let hidden: &[[[u8; 16]; 2]] = sums.as_chunks::<16>().0.as_chunks().0;
        let mut checks = checks.as_chunks::<TAG_BYTES>().0.as_chunks::<2>().0.iter();
        let trees = Trees::new(context, TREES, Shape::Plain);
        let k = width.bits();
        let mut groups = Vec::with_capacity(width.groups());
        let mut consistent = Choice::from(1);
        for group in 0..width.groups() {
            let digit = (delta.to_u128() >> (group * k)) as usize & ((1 << k) - 1);
            let known: Vec<Block> = (group * k..(group + 1) * k)
                .map(|index| {
                    let choice = Block::mask(delta.bit(index));
                    let [zero, one] = hidden[index].map(Block::from_bytes);
                    zero ^ ((zero ^ one) & choice) ^ pad(context, index, delta.bit(index), &base[index])
                })
                .collect();
            let mut leaves = vec![Block::ZERO; 1 << k];
            trees.tree(group as u64).grow_punctured(&mut leaves, digit, &known, |_| Block::ZERO);
            if let Some([sum, hash]) = checks.next() {
                let (seeds, fits) = checked(context, group, &leaves, digit, sum, hash);
                wipe(&mut leaves);
                leaves = seeds;
                consistent &= fits;
            }
            order_by_difference(&mut leaves, digit);
            groups.push(SeedStreams::new(&leaves));
            wipe(&mut leaves);
        }
        // All trees are checked before the answer, so that the time does not show which one was wrong.
        let sender = Self { groups, delta, next: 0, security: PhantomData };
        if bool::from(consistent) { Ok(sender) } else { Err(Error::Inconsistent) }
    }

    /// Δ.
    pub(crate) fn delta(&self) -> Block {
        self.delta
    }

    /// The next tile of w, in which each group has its own string u_g; [`correct`](Self::correct) makes them
    /// agree.
    pub(crate) fn tile(&mut self, tile: &mut Tile) {
        let mut unused = [Block::ZERO; BLOCKS];
        for (strings, rows) in self.groups.iter().zip(tile.chunks_mut(ROWS / self.groups.len())) {
            strings.sum_at(self.next, &mut unused, rows);
        }
        self.next += BLOCKS as u64;
    }

    /// Adds Δ_i·d_g to each row i of group g: afterwards the group belongs to u_g ⊕ d_g. Blocks beyond the
    /// end of `difference` stay as they are.
    pub(crate) fn correct(&self, tile: &mut Tile, group: usize, difference: &[[u8; Block::BYTES]]) {
        let k = ROWS / self.groups.len();
        let mut added = [Block::ZERO; BLOCKS];
        for (added, difference) in added.iter_mut().zip(difference) {
            *added = Block::from_bytes(*difference);
        }
        for (row, index) in tile[group * k..].iter_mut().zip(group * k..(group + 1) * k) {
            let mask = Block::mask(self.delta.bit(index));
            for block in 0..BLOCKS {
                row[block] ^= added[block] & mask;
            }
        }
    }
}

impl<S> Drop for Sender<S> {
    fn drop(&mut self) {
        self.delta.zeroize();
    }
}

/// The one-time pad of the tree sum that choice `choice` of base OT `index` gives.
fn pad(context: &Context, index: usize, choice: bool, seed: &Block) -> Block {
    let mut out = [0; 16];
    let mut input = [0; 18];
    input[0] = index as u8;
    input[1] = u8::from(choice);
    input[2..].copy_from_slice(seed.as_bytes());
    context.hash(PAD, &input, &mut out);
    input.zeroize();
    Block::from_bytes(out)
}

type Tag = [Block; TAG_BYTES / Block::BYTES];

/// A tag for each leaf, and the seed that replaces it.
fn tag(context: &Context, group: usize, leaves: &[Block]) -> (Vec<Tag>, Vec<Block>) {
    const INPUT: usize = 1 + Block::BYTES;
    let mut inputs = Wiped::from(Vec::with_capacity(leaves.len() * INPUT));
    for leaf in leaves {
        inputs.push(group as u8);
        inputs.extend_from_slice(leaf.as_bytes());
    }
    let mut tagged = Wiped::from(vec![[Block::ZERO; 3]; leaves.len()]);
    let out = Block::slice_as_mut_bytes(tagged.as_flattened_mut());
    context.hash_batch(TAG, &inputs, INPUT, out, TAG_BYTES + Block::BYTES);
    let tags = tagged.iter().map(|[low, high, _]| [*low, *high]).collect();
    (tags, tagged.iter().map(|[.., seed]| *seed).collect())
}

fn sum_of(tags: &[Tag]) -> Tag {
    tags.iter().fold(Tag::default(), |sum, tag| Block::xor_rows(&sum, tag))
}

fn hash_of(context: &Context, group: usize, tags: &[Tag]) -> [u8; TAG_BYTES] {
    let mut hash = [0; TAG_BYTES];
    context.hash_parts(ALL_TAGS, &[&[group as u8], Block::slice_as_bytes(tags.as_flattened())], &mut hash);
    hash
}

/// The seeds of the leaves, and whether all leaves but the one at the secret position `punctured` are
/// determined by the message of the tree maker. A malicious tree maker can only make the check depend on the
/// punctured point. That is a guess of bits of Δ, and a wrong guess ends the run.
fn checked(
    context: &Context,
    group: usize,
    leaves: &[Block],
    punctured: usize,
    sum: &[u8; TAG_BYTES],
    hash: &[u8; TAG_BYTES],
) -> (Vec<Block>, Choice) {
    let (mut tags, mut seeds) = tag(context, group, leaves);
    let [low, high] = [0, 1].map(|half| Block::from_bytes(sum.as_chunks().0[half]));
    let missing = Block::xor_rows(&sum_of(&tags), &[low, high]);
    for (i, (tag, seed)) in tags.iter_mut().zip(&mut seeds).enumerate() {
        let here = Block::mask(i == punctured);
        *seed &= !here;
        *tag = Block::xor_rows(tag, &Block::mask_row(&missing, here));
    }
    (seeds, hash_of(context, group, &tags).ct_eq(hash))
}

/// Moves leaf x to position x ⊕ `digit`.
fn order_by_difference(leaves: &mut [Block], digit: usize) {
    for bit in 0..leaves.len().ilog2() {
        let (half, exchange) = (1usize << bit, Block::mask(digit >> bit & 1 == 1));
        for pair in leaves.chunks_mut(2 * half) {
            let (low, high) = pair.split_at_mut(half);
            for (low, high) in low.iter_mut().zip(high) {
                let difference = (*low ^ *high) & exchange;
                *low ^= difference;
                *high ^= difference;
            }
        }
    }
}

/// The sum of the rows of a tile at block `block`, row i weighted by X^i: an element of GF(2^128). With w_i =
/// v_i ⊕ Δ_i·u that of w is that of v plus Δ·u, the product taken in the field.
pub(crate) fn as_element(tile: &Tile, block: usize) -> Block {
    // Horner: multiply by X, add the next row.
    let sum = tile.iter().rev().fold(0u128, |sum, row| {
        let reduction = (sum >> 127) * 0x87;
        (sum << 1) ^ reduction ^ row[block].to_u128()
    });
    Block::from_u128(sum)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::security::{Malicious, SemiHonest};
    use vesica_crypto::gf128::Gf128;
    use vesica_crypto::prg::Prg;

    pub(crate) const WIDTHS: [Width; 3] = [Width::Two, Width::Four, Width::Eight];

    pub(crate) fn context() -> Context {
        Context::new(&[8; 32], "small field", b"", 1, 2)
    }

    /// Base OTs as a dealer hands them out: both strings, Δ, the strings that its bits choose.
    type Dealt = ([[Block; 2]; ROWS], Block, [Block; ROWS]);

    pub(crate) fn deal(seed: u8) -> Dealt {
        deal_from(&mut Prg::from_seed([seed; 16]))
    }

    pub(crate) fn deal_from(rng: &mut Prg) -> Dealt {
        let pairs: [[Block; 2]; ROWS] = core::array::from_fn(|_| [rng.block(), rng.block()]);
        let delta = rng.block();
        (pairs, delta, core::array::from_fn(|i| pairs[i][usize::from(delta.bit(i))]))
    }

    fn both<S: SecurityModel>(width: Width) -> (Receiver<S>, Sender<S>) {
        let (pairs, delta, chosen) = deal(width.bits() as u8);
        let (receiver, message) = Receiver::new(&context(), width, &pairs, &mut Prg::from_seed([9; 16]));
        let sender = Sender::new(&context(), width, delta, &chosen, &message);
        (receiver, sender.unwrap_or_else(|error| panic!("{error}")))
    }

    pub(crate) const EMPTY: Tile = [[Block::ZERO; BLOCKS]; ROWS];

    /// w_i = v_i ⊕ Δ_i·u_g, before the groups are made to agree.
    pub(crate) fn assert_tiles(width: Width, delta: Block, v: &Tile, w: &Tile, u: &[TileRow]) {
        for (i, (v, w)) in v.iter().zip(w).enumerate() {
            for block in 0..BLOCKS {
                let difference = Block::mask(delta.bit(i)) & u[i / width.bits()][block];
                assert!(w[block] == v[block] ^ difference, "{width:?}, row {i}");
            }
        }
    }

    fn check_rows<S: SecurityModel>(width: Width) {
        let (mut receiver, mut sender) = both::<S>(width);
        let delta = sender.delta();
        for _ in 0..3 {
            let (mut v, mut w, mut u) = (EMPTY, EMPTY, vec![[Block::ZERO; BLOCKS]; width.groups()]);
            receiver.tile(&mut v, &mut u);
            sender.tile(&mut w);
            assert_tiles(width, delta, &v, &w, &u);
            for group in 1..width.groups() {
                let difference: [_; BLOCKS] = core::array::from_fn(|i| (u[0][i] ^ u[group][i]).to_bytes());
                sender.correct(&mut w, group, &difference);
            }
            for (block, u) in u[0].iter().enumerate() {
                let [v, w] = [&v, &w].map(|tile| Gf128::from(as_element(tile, block)));
                assert!(w == v + Gf128::from(delta) * Gf128::from(*u), "{width:?}");
            }
        }
    }

    #[test]
    fn rows_differ_by_delta_times_u() {
        for width in WIDTHS {
            check_rows::<SemiHonest>(width);
            check_rows::<Malicious>(width);
        }
    }

    #[test]
    fn strings_of_different_groups_and_tiles_differ() {
        let (mut receiver, _) = both::<SemiHonest>(Width::Four);
        let mut seen = Vec::new();
        for _ in 0..3 {
            let (mut v, mut u) = (EMPTY, vec![[Block::ZERO; BLOCKS]; 32]);
            receiver.tile(&mut v, &mut u);
            seen.extend(v.iter().chain(&u).flatten().map(|block| block.to_u128()));
        }
        let all = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), all);
    }

    fn check_lengths<S: SecurityModel>() {
        let (pairs, delta, chosen) = deal(1);
        let width = Width::Eight;
        let (_, message) = Receiver::<S>::new(&context(), width, &pairs, &mut Prg::from_seed([9; 16]));
        assert_eq!(message.len(), message_bytes(width, S::SECURITY));
        for length in [0, SUMS - 1, message.len() - 1] {
            let result = Sender::<S>::new(&context(), width, delta, &chosen, &message[..length]);
            assert!(matches!(result, Err(Error::MessageLength { .. })));
        }
    }

    #[test]
    fn another_length_is_refused() {
        check_lengths::<SemiHonest>();
        check_lengths::<Malicious>();
    }

    #[test]
    fn inconsistent_trees_are_noticed_or_stand_on_a_guess() {
        let (pairs, delta, chosen) = deal(2);
        let width = Width::Four;
        let (_, message) =
            Receiver::<Malicious>::new(&context(), width, &pairs, &mut Prg::from_seed([9; 16]));
        let accepted =
            |message: &[u8]| Sender::<Malicious>::new(&context(), width, delta, &chosen, message).is_ok();
        assert!(accepted(&message));
        for index in 0..ROWS {
            for choice in [false, true] {
                let mut changed = message.clone();
                changed[index * 32 + 16 * usize::from(choice)] ^= 4;
                // The sum that was not chosen is not read: one bit of Δ was guessed.
                assert_eq!(accepted(&changed), delta.bit(index) != choice, "{index}");
            }
        }
        for byte in SUMS..message.len() {
            let mut changed = message.clone();
            changed[byte] ^= 1;
            assert!(!accepted(&changed));
        }
    }
}
