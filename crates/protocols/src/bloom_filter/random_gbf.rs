//! The random garbled Bloom filter. The receiver learns X ∩ Y, the sender |Y| and no more.
//!
//! **Security:** semi-honest, in the random oracle model, given OT. Leaks n_r and n_s. Beyond the
//! intersection, the receiver could learn an item of the sender whose k positions are all set in its own
//! filter. Over the hash functions ([`FilterShape`]) this has probability n_s·2^-κ; two items with one digest
//! or one seed ([`FilterPositions`]) add n_r·n_s·2^-128, or 2^-256 in place of 2^-128 above level 128.
//!
//! Source: PSZ14, "Our optimizations" of the garbled Bloom filter. The sender's filter is what random OT
//! gives; nothing is encoded into it and no string travels. Deviations:
//!
//! - The summary of an item is a hash of context, item and XOR, of ℓ bits. The XOR itself would tie the masks
//!   of several items to one another.
//! - Each hash function has a slice of its own, since positions that coincide cancel in the XOR (RR16 §4.1).
//! - Large sets are split into bins of the same form (DCW13 §6.4).
//! - The receiver's set alone decides the size of the filter, since nothing is built for the sender's.
//! - Masks are sorted where the paper permutes them.
//! - Up to level 128 the OTs are SoftSpoken's; `--variant iknp` has those of the paper (`extension.rs`).
//!
//! ```text
//! receiver (Y)                                       sender (X), Δ ←$ {0,1}^κ
//!                ◄─ base OTs, seeds against Δ ─►     64·128 + 32 + 4096 bytes (IKNP: 64·κ + 32)
//! for each slice of the filter: c = BF_Y
//!                ── the extension, choices c ──►     4 bytes a slot (IKNP: κ/8)
//! t_j                                                q_j = t_j ⊕ c_j·Δ
//! S(y) = ⊕_i H(h_i(y), t_h_i(y))                     S(x) = ⊕_i H(h_i(x), q_h_i(x) ⊕ Δ)
//!                ◄── sort{F(x, S(x))} ──             n_s·⌈ℓ/8⌉
//! output {y : F(y, S(y)) received}
//! ```
//!
//! Names: k = κ hash functions h_i, `FilterPositions`; S = `receiver_sums`, `sender_sums`; F = `Masks`; Δ, q,
//! t as in `vesica_ot`.
//!
//! Cost: m = b·k·s slots, where b = ⌈n_r/2^13⌉ bins have k slices each, and s is the least number of slots
//! with which a foreign item is positive with probability 2^-k, about log2 e for each item ([`FilterShape`]).
//! A slot takes from each party four blocks of a generator and its share of a transposition (IKNP: two blocks
//! from the receiver, one from the sender), an item k hashes.

use vesica_crypto::block::Block;
use vesica_crypto::hash::{Label, Oracle};
use vesica_crypto::join::join;
use vesica_crypto::memory::{Wiped, large_vec};
use vesica_crypto::par;
use vesica_encode::bloom::{FilterPositions, FilterShape};
use vesica_encode::items::Items;

use super::extension;
use super::transfer::{self, receiver_sums, sender_sums};
use crate::entry::{Entry, Memory, Message, Roles, Shape};
use crate::error::Error;
use crate::masks::{self, MaskWidth};
use crate::outcome::Pairs;
use crate::protocol::{Ctx, Phase, Role, Run};

/// Items that one thread handles at a time.
const CHUNK: usize = 1 << 12;

/// The registry's entry.
pub static ENTRY: Entry =
    extension::entry("gbf-random", "random garbled Bloom filter", Roles::Listed { receive, send })
        .paper("PSZ14, optimised garbled Bloom filter")
        .variants(&[transfer::IKNP])
        .steps(|role, _| match role {
            Role::Receiver => &[(Phase::Answer, 80), (Phase::Exchange, 15), (Phase::Compare, 5)],
            Role::Sender => &[(Phase::Answer, 80), (Phase::Exchange, 20)],
        })
        .messages(&[
            extension::BASE_MESSAGES[0],
            extension::BASE_MESSAGES[1],
            extension::choices("4096 + m·4 (IKNP: m·κ/8), m = b·κ·s for n = n_r", |shape| {
                transfer::choice_bytes(shape, filter(shape))
            }),
            Message::of_sender("masks of the sender", "n_s·⌈ℓ/8⌉", |shape| {
                shape.sender() * shape.mask()
            }),
        ])
        .memory(
            "receiver 68·n_r + 36·n_s + 2^23, sender 68·n_s + 2^23 (above level 128: 24 more an own item)",
            |shape| {
                let own = 68 + transfer::wider(&shape.parameters);
                Memory {
                    receiver: own * shape.receiver() + 36 * shape.sender() + (1 << 23),
                    sender: own * shape.sender() + (1 << 23),
                }
            },
        );

/// The filter of a run: k = κ functions, the receiver's items.
fn filter(shape: &Shape) -> FilterShape {
    FilterShape::for_items(shape.parameters.level, shape.sizes.receiver)
}

/// The receiver's role.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pairs<'a>, Error> {
    match ctx.run.parameters.level {
        ..=128 => receive_masks::<1>(ctx, items),
        _ => receive_masks::<2>(ctx, items),
    }
}

/// The sender's role.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Vec<u32>, Error> {
    match ctx.run.parameters.level {
        ..=128 => send_masks::<1>(ctx, items),
        _ => send_masks::<2>(ctx, items),
    }
}

fn receive_masks<'a, const W: usize>(ctx: &mut Ctx<'_, 'a>, items: &Items) -> Result<Pairs<'a>, Error> {
    let (run, positions) = (ctx.run, filter_positions(ctx.run, items));
    // 1. An OT for each slot: c_j = BF_Y[j] chooses. S(y) for each y.
    let mut ot = extension::Receiver::<W>::setup(ctx)?;
    let sums = receiver_sums(run, &positions, &mut ot, ctx.channel)?;
    // 2. F(y, S(y)).
    let masks = Masks::new(run)?;
    let mine = masks.of(run.threads, items, &positions, sums);
    // 3. The sender's masks, sorted. The y whose mask is among them.
    let theirs = masks::recv_sorted(run, masks.width, ctx.channel.split().1)?;
    let threads = run.threads;
    Ok(Pairs::joined(run, move || {
        let pairs = join(threads, &mine[..], &theirs[..]).into_iter();
        pairs.map(|(mine, theirs)| (positions.items()[mine as usize], theirs)).collect()
    }))
}

fn send_masks<const W: usize>(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Vec<u32>, Error> {
    let (run, positions) = (ctx.run, filter_positions(ctx.run, items));
    // 1. An OT for each slot. S(x) for each x, of the strings that the receiver has where its filter has a
    // one.
    let mut ot = extension::Sender::<W>::setup(ctx)?;
    let sums = sender_sums(run, &positions, &mut ot, ctx.channel)?;
    // 2. F(x, S(x)).
    let masks = Masks::new(run)?;
    let mine = masks.of(run.threads, items, &positions, sums);
    // 3. The masks, sorted.
    let mine = mine.into_iter().zip(positions.items().iter().copied());
    masks::send_sorted(run, masks.width, mine, ctx.channel.split().0)
}

/// The positions h_1(x), …, h_k(x) of each item in the filter of a run.
fn filter_positions(run: &Run<'_>, items: &Items) -> FilterPositions {
    let filter = FilterShape::for_items(run.parameters.level, run.sizes.receiver);
    FilterPositions::new(&run.context, filter, items, run.threads)
}

/// F: the mask of an item whose strings are known, H(context, x, S(x)) cut to ℓ bits.
pub(super) struct Masks {
    pub(super) width: MaskWidth,
    pub(super) oracle: Oracle,
}

impl Masks {
    fn new(run: &Run<'_>) -> Result<Self, Error> {
        let oracle = run.context.oracle(Label::new("gbf-random: item and sum to mask"));
        Ok(Self { width: MaskWidth::for_sizes(run.sizes, run.parameters.statistical)?, oracle })
    }

    /// The masks of all items, in the order of the filter's bins. The sums go.
    pub(super) fn of<const W: usize>(
        &self,
        threads: usize,
        items: &Items,
        positions: &FilterPositions,
        sums: Wiped<[Block; W]>,
    ) -> Vec<u128> {
        let mut masks = large_vec(0, sums.len());
        let input = items.width() + W * Block::BYTES;
        let chunks = sums.chunks(CHUNK).zip(positions.items().chunks(CHUNK)).zip(masks.chunks_mut(CHUNK));
        let Ok(()) = par::for_each(threads, chunks, |_, ((sums, items_here), masks)| {
            let (mut inputs, mut hashes) =
                (Wiped::from(Vec::with_capacity(sums.len() * input)), vec![[0; 16]; sums.len()]);
            for (sum, &item) in sums.iter().zip(items_here) {
                inputs.extend_from_slice(items.get(item as usize));
                inputs.extend_from_slice(Block::slice_as_bytes(sum));
            }
            self.oracle.hash_batch(&inputs, input, hashes.as_flattened_mut(), 16);
            for (mask, hash) in masks.iter_mut().zip(&hashes) {
                *mask = self.width.truncate(hash);
            }
            Ok::<_, std::convert::Infallible>(())
        });
        masks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Sizes;
    use crate::testing::{planted, run_of};
    use std::collections::HashMap;
    use vesica_crypto::hash::Context;
    use vesica_crypto::prg::Prg;
    use vesica_encode::bloom::{SLICES_PER_BLOCK, Sums};

    fn run(sizes: Sizes) -> Run<'static> {
        run_of(Context::new(&[1; 32], "gbf-random", b"", 1, 1), sizes, crate::Parameters::default())
    }

    /// Sums over random strings, as the sender has them, in a filter of four functions; and all positions.
    fn sums(positions: &FilterPositions, seed: u128) -> (Vec<[Block; 1]>, [Vec<u32>; SLICES_PER_BLOCK]) {
        let mut prg = Prg::from_seed(Block::from(seed));
        let mut sums = vec![[Block::ZERO]; positions.items().len()];
        let (mut blocks, mut slots) = (Vec::new(), Default::default());
        let bin = positions.bins().next().unwrap();
        bin.positions(0, &mut blocks, &mut slots);
        for slots in &slots {
            let mut slice = vec![[Block::ZERO]; positions.shape().slots()];
            prg.fill_blocks(slice.as_flattened_mut());
            Sums(&mut sums).add(&slice, slots);
        }
        (sums, slots)
    }

    #[test]
    fn flaw_raw_sums_as_masks() {
        // Items x1 and x2 differ in their first position alone, x3 and x4 as well and in the same two slots:
        // the XOR of the four sums is zero, whatever the strings. Who sees raw sums sees that the set has
        // four such items.
        let set = planted(4000, 1, 0, 5).receiver;
        let run = run(Sizes { receiver: 20, sender: set.len() });
        let positions = FilterPositions::new(&run.context, FilterShape::for_items(4, 20), &set, 1);
        let (sums, slots) = sums(&positions, 1);
        let mut by_rest: HashMap<[u32; 3], Vec<usize>> = HashMap::new();
        let [_, second, third, fourth] = &slots;
        for (item, ((&second, &third), &fourth)) in second.iter().zip(third).zip(fourth).enumerate() {
            by_rest.entry([second, third, fourth]).or_default().push(item);
        }
        let mut by_first: HashMap<[u32; 2], [usize; 2]> = HashMap::new();
        let mut rests: Vec<_> = by_rest.into_values().collect();
        rests.sort();
        let four = rests.iter().find_map(|items| {
            let pair = [*items.first()?, *items.get(1)?];
            let firsts = pair.map(|item| slots[0][item]);
            let other = (firsts[0] != firsts[1]).then(|| by_first.insert(firsts, pair)).flatten()?;
            Some([pair, other].concat())
        });
        let four = four.expect("four items in a filter so small");
        let related = |masks: &[u128]| four.iter().fold(0, |sum, &item| sum ^ masks[item]) == 0;
        let raw: Vec<u128> = sums.iter().map(|sum| sum[0].to_u128()).collect();
        assert!(related(&raw), "raw sums are related");
        assert!(!related(&Masks::new(&run).unwrap().of(1, &set, &positions, sums.into())));
    }

    #[test]
    fn items_with_the_same_positions_have_different_masks() {
        let set = planted(3000, 1, 0, 5).receiver;
        let run = run(Sizes { receiver: 1, sender: set.len() });
        let positions = FilterPositions::new(&run.context, FilterShape::for_items(4, 1), &set, 1);
        let (sums, _) = sums(&positions, 1);
        let different = |masks: &[u128]| masks.iter().collect::<std::collections::HashSet<_>>().len();
        let raw: Vec<u128> = sums.iter().map(|sum| sum[0].to_u128()).collect();
        assert!(different(&raw) < 100, "sixteen sums for three thousand items");
        assert_eq!(different(&Masks::new(&run).unwrap().of(1, &set, &positions, sums.into())), set.len());
    }

    #[test]
    fn flaw_masks_with_too_few_bits() {
        // Two disjoint sets of 2^10: masks of 20 bits match by chance about once, those of ℓ = 60 bits never.
        let sets = planted(1 << 10, 1 << 10, 0, 6);
        let run = run(Sizes { receiver: 1 << 10, sender: 1 << 10 });
        let masks = Masks::new(&run).unwrap();
        assert_eq!(masks.width.bits(), 60);
        let filter = FilterShape::for_items(4, 1 << 10);
        let (mut short, mut full) = (0, 0);
        for seed in 0..10 {
            let [mine, theirs] =
                [(&sets.receiver, 2 * seed), (&sets.sender, 2 * seed + 1)].map(|(set, seed)| {
                    let positions = FilterPositions::new(&run.context, filter, set, 1);
                    masks.of(1, set, &positions, sums(&positions, seed).0.into())
                });
            full += join(1, &mine[..], &theirs[..]).len();
            let [mine, theirs] =
                [mine, theirs].map(|masks| -> Vec<u128> { masks.iter().map(|m| m % (1 << 20)).collect() });
            short += join(1, &mine[..], &theirs[..]).len();
        }
        assert!(short > 0, "masks of 20 bits match by chance");
        assert_eq!(full, 0);
    }
}
