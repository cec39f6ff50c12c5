//! PSI from the batched OPRF of KKRT16. The receiver learns X ∩ Y, the sender |Y| and no more.
//!
//! **Security:** semi-honest, in the random oracle model. Leaks n_r and n_s. A malicious receiver could ask
//! for values that are no codewords; a malicious sender can use any set.
//!
//! Source: Kolesnikov, Kumaresan, Rosulek, Trieu (CCS 2016, eprint 2016/799), Figures 2
//! (`vesica_ot::kkrt`) and 6 (the rest). Deviations:
//!
//! - No stash. There are as many bins as make three hash functions fail with probability at most 2^-40; the
//!   paper's stash costs n_s masks for each of its slots.
//! - Each hash function has a segment of the bins to itself.
//! - The sender's three lists are in one random order, where the paper draws three. That hides as much, and a
//!   position stands for an item.
//! - Items are hashed under the session first.
//!
//! ```text
//! receiver (Y)                                        sender (X), s ←$ {0,1}^c
//! 1.            ── base OTs, sender ──►               32
//!               ◄── base OTs, receiver ──             32·c
//! 2. each y in one of its bins h_1(y), h_2(y), h_3(y)
//! 3.            ── u_b, for every bin b ──►           β·c/8
//!    F(b, y) = H(b, t0_b), y in bin b                 F(b, x) = H(b, q_b ⊕ s ∧ C(x)), b each bin of x
//! 4.            ◄── F(h_i(x), x), a list each i ──    3·n_s·⌈ℓ/8⌉
//!    output {y in bin h_i(y) : F(h_i(y), y) in list i}
//! ```
//!
//! F depends on the number of the bin, and a bin belongs to one function, so that an item's three masks
//! differ (with bins that functions share, an item with h_1(x) = h_2(x) would show by two equal masks). An
//! empty bin's OPRF is asked at a constant, which the sender cannot tell from an item.
//!
//! Names: β = `bins`, c = `columns`; s, t0, q, u as in [`nco`](vesica_ot::nco), C, H and F as in [`kkrt`], F
//! cut to ℓ bits; an item under the session = its `key`. Steps 2 and 3 are the OPRF [by bins](crate::oprf),
//! step 4 is `mask_lists`.
//!
//! Cost: receiver β OPRFs, n_r placements in the cuckoo table, which holds the keys, 3·n_s masks looked up;
//! sender β OPRFs and 3·n_s evaluations, in the order of the bins, as they arrive. The sender keeps no table;
//! it partitions its keys by regions of bins. Both work at once: the receiver hashes and places its items
//! while the sender answers the base OTs; a list leaves, and is looked through, while the next one is made.
//! An OPRF takes the receiver 2c/128 blocks of AES and rows transposed, 4 blocks for the code and a hash of
//! 64 bytes, the sender half of the former; an evaluation is 4 blocks and a hash (`ot/examples/nco.rs` prints
//! them beside their floors).

use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Label, Oracle};
use vesica_encode::hashing::{Layout, parameters};
use vesica_encode::items::Items;
use vesica_ot::kkrt::{self, PseudoRandomCode};
use vesica_ot::nco::{NcoReceiver, NcoSender};

use super::{base_ots_of_receiver, base_ots_of_sender, check_sizes, entry};
use crate::entry::{Entry, Memory, Message, Shape};
use crate::error::{Error, Misuse};
use crate::mask_lists;
use crate::masks::MaskWidth;
use crate::oprf::bins::{self, Reported, keys::ItemKeys};
use crate::outcome::Pairs;
use crate::protocol::{Ctx, Phase, Role, Run, Sizes};

/// The registry's entry.
pub static ENTRY: Entry = entry("kkrt", "batched OPRF from OT extension, cuckoo hashing", receive, send)
    .paper("KKRT16 (eprint 2016/799), Figures 2 and 6")
    .steps(|role, _| match role {
        Role::Receiver => {
            &[(Phase::BaseOts, 2), (Phase::Hash, 13), (Phase::Answer, 60), (Phase::Exchange, 25)]
        }
        Role::Sender => &[(Phase::BaseOts, 2), (Phase::Hash, 13), (Phase::Answer, 65), (Phase::Exchange, 20)],
    })
    .base_ots(|shape| counts(shape).map_or(0, |(_, columns)| columns))
    .messages(&[
        base_ots_of_receiver(|shape| {
            counts(shape).map_or(0, |(_, columns)| shape.base_ots_for_code(columns)[1])
        }),
        base_ots_of_sender("32·c", |shape| {
            counts(shape).map_or(0, |(_, columns)| shape.base_ots_for_code(columns)[0])
        }),
        Message::of_receiver("OT extension, a row for each of β bins", "β·c/8", |shape| {
            counts(shape).map_or(0, |(bins, columns)| bins * columns / 8)
        }),
        Message::of_sender("masks, a list for each hash function", "3·n_s·⌈ℓ/8⌉", |shape| {
            counts(shape).map_or(0, |_| 3 * shape.sender() * shape.mask())
        }),
    ])
    .memory("receiver 24·n_r + 20·β, sender (30 + ⌈ℓ/8⌉)·n_s", |shape| {
        let bins = counts(shape).map_or(0, |(bins, _)| bins);
        let sender = (30 + shape.mask()) * shape.sender();
        Memory { receiver: 24 * shape.receiver() + 20 * bins, sender }
    });

/// β and c of a run of this shape; none of sizes that are refused.
fn counts(shape: &Shape) -> Option<(u64, u64)> {
    let plan = Plan::new(shape.sizes, shape.parameters.statistical).ok()?;
    Some((plan.layout.bins() as u64, plan.columns as u64))
}

/// What both parties derive from the sizes.
struct Plan {
    width: MaskWidth,
    layout: Layout,
    columns: usize,
}

impl Plan {
    fn of(run: &Run<'_>) -> Result<Self, Error> {
        Self::new(run.sizes, run.parameters.statistical)
    }

    fn new(sizes: Sizes, statistical: u32) -> Result<Self, Error> {
        let Sizes { receiver, sender } = sizes;
        check_sizes(sizes)?;
        let width = MaskWidth::for_sizes(sizes, statistical)?;
        let layout = parameters::three_way(receiver, statistical).layout;
        // Each of the sender's evaluations is a pair with the receiver's choice in that bin.
        let columns = kkrt::columns(layout.functions() as u64 * sender as u64, statistical);
        let columns = columns.ok_or(Misuse::TooManyItems { receiver, sender })?;
        Ok(Self { width, layout, columns })
    }

    fn code(&self, run: &Run<'_>) -> PseudoRandomCode {
        PseudoRandomCode::new(&run.context, self.columns)
    }

    fn keys(&self, run: &Run<'_>) -> ItemKeys {
        ItemKeys::new(self.layout, item_oracle(run))
    }
}

fn item_oracle(run: &Run<'_>) -> Oracle {
    run.context.oracle(Label::new("kkrt: item to key"))
}

/// The receiver's role.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pairs<'a>, Error> {
    let (run, plan) = (ctx.run, Plan::of(ctx.run)?);
    // 1. The base OTs: their first message.
    run.phase(Phase::BaseOts, 0);
    let (context, code) = (&run.context, plan.code(run));
    let setup = kkrt::Receiver::start_setup(code, context, run.origin(), ctx.channel, ctx.rng)?;
    let complete_base_ots = |channel: &mut dyn Channel| setup.complete_base_ots(channel);
    Ok(Pairs::found(receive_pairs(ctx, &plan, items, complete_base_ots)?))
}

/// The sender's role.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Vec<u32>, Error> {
    let (run, plan) = (ctx.run, Plan::of(ctx.run)?);
    // 1. The base OTs.
    run.phase(Phase::BaseOts, 0);
    let (context, code) = (&run.context, plan.code(run));
    let ots = kkrt::Sender::setup(code, context, run.origin(), ctx.channel, ctx.rng)?;
    send_masks(ctx, &plan, items, ots)
}

/// Pairs (item of mine, position in the sender's lists). `complete_base_ots` ends the base OTs.
fn receive_pairs<R: NcoReceiver<Block>>(
    ctx: &mut Ctx<'_, '_>,
    plan: &Plan,
    items: &Items,
    complete_base_ots: impl FnOnce(&mut dyn Channel) -> Result<R, vesica_ot::Error>,
) -> Result<Vec<(u32, u32)>, Error> {
    // 2. While the sender answers: each y in one of its bins. 3. F(b, y) for the y in each bin b.
    let (run, reported) = (ctx.run, Reported::As(Phase::Answer));
    run.phase(Phase::Hash, items.len());
    let oprf = bins::Receiver { run, words: &plan.keys(run), reported, complete_base_ots };
    // 4. F(b, y) is looked for in the list of the function that bin b belongs to.
    mask_lists::receive(ctx, plan.width, plan.layout.functions(), items, oprf)
}

/// The item at each position of the lists.
fn send_masks<S: NcoSender<Block, { kkrt::BLOCKS }>>(
    ctx: &mut Ctx<'_, '_>,
    plan: &Plan,
    items: &Items,
    ots: S,
) -> Result<Vec<u32>, Error> {
    // 3. F(h_i(x), x) for each x and i, bin by bin.
    let (run, reported) = (ctx.run, Reported::As(Phase::Answer));
    run.phase(Phase::Hash, items.len());
    let oprf = bins::Sender { run, words: &plan.keys(run), reported, ots };
    // 4. A list for each i, in one random order.
    mask_lists::send(ctx, plan.width, plan.layout.functions(), items, oprf)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oprf::bins::keys;
    use crate::parameters::STATISTICAL_SECURITY;
    use crate::protocol::Learns;
    use crate::testing::{Case, Planted, duel, ideal_ots, items, order, planted, run_pair, shape};
    use vesica_ot::nco::ideal;

    #[test]
    fn unequal_sets_of_many_bins_end_with_the_plain_join() {
        for (receiver, sender, common) in
            [(1 << 8, 1 << 16, 100), (1 << 16, 1 << 8, 100), (40_000, 60_000, 9000)]
        {
            for (threads, learns) in [(1, Learns::Both), (2, Learns::Receiver)] {
                let sets = planted(receiver, sender, common, 1);
                let case = Case { threads, learns, ..Case::default() };
                let ended = run_pair(&ENTRY, &sets, case);
                assert_eq!(ended.receiver.unwrap().rows(), sets.receiver_rows);
                let sender = ended.sender.unwrap().map(|matches| matches.rows().to_vec());
                assert_eq!(sender, (learns == Learns::Both).then(|| sets.sender_rows.clone()));
                let shape = shape(&sets, case);
                assert_eq!(ended.traffic.payload_sent, ENTRY.bytes(Role::Receiver, &shape));
                assert_eq!(ended.traffic.payload_received, ENTRY.bytes(Role::Sender, &shape));
            }
        }
    }

    #[test]
    fn over_the_ideal_oprf_it_ends_with_the_same_matches() {
        let (sets, case) = (&planted(3000, 5000, 700, 4), Case::default());
        let (receiver, sender) = duel(
            (&ENTRY, sets, case),
            Box::new(|ctx| {
                let plan = Plan::of(ctx.run)?;
                receive_pairs(ctx, &plan, &sets.receiver, ideal_ots::complete_base_ots)
            }),
            Box::new(|ctx| {
                let plan = Plan::of(ctx.run)?;
                let ots = ideal::Sender::setup(&ctx.run.context, ctx.channel, ctx.rng)?;
                send_masks(ctx, &plan, &sets.sender, ots)
            }),
        );
        let (pairs, order) = (receiver.unwrap(), sender.unwrap());
        assert!(order.is_empty(), "positions are for a sender that learns too");
        let ideal = sets.receiver.matches(pairs.iter().map(|&(item, _)| item as usize));
        assert_eq!(ideal.rows(), sets.receiver_rows);
        assert_eq!(ideal.rows(), run_pair(&ENTRY, sets, case).receiver.unwrap().rows());
    }

    /// Two sets of the sender that differ only in where their items lie under the second function: in the
    /// first half of its bins, or in the second. A receiver that sends the rows of a region and waits sees
    /// how much has come by then.
    #[test]
    fn flaw_what_has_left_after_each_region_does_not_tell_the_senders_bins() {
        let count = 35_000;
        let receiver = || planted(60_000, 1, 1, 1).receiver;
        let sizes = Sizes { receiver: 60_000, sender: count };
        let plan = Plan::new(sizes, STATISTICAL_SECURITY).unwrap();
        let sets =
            |sender| Planted { receiver: receiver(), sender, receiver_rows: vec![], sender_rows: vec![] };
        let case = Case::default();
        let names: Vec<String> = (0..5 * count / 2).map(|i| format!("{i}@example.org")).collect();
        // The keys of all, by the context that a run of these sizes has.
        let keys = std::sync::Mutex::new(Vec::new());
        let any = sets(planted(1, count, 1, 3).sender);
        let all = items(&names);
        let looked = duel::<(), ()>(
            (&ENTRY, &any, case),
            Box::new(|ctx| {
                let oracle = item_oracle(ctx.run);
                keys::by_pieces(ctx.run, &oracle, &all, |_, piece| {
                    keys.lock().unwrap().extend_from_slice(piece)
                })
            }),
            Box::new(|_| Ok(())),
        );
        looked.0.unwrap();
        let keys = keys.into_inner().unwrap();
        let segment = plan.layout.segment_of(1);
        let name = |item: usize| &names[all.rows_of(item).next().unwrap() as usize];
        let in_half = |half: usize| {
            let low =
                |i: &usize| (plan.layout.bin_of(keys[*i], 1) as usize) < segment.start + segment.len() / 2;
            let chosen: Vec<&String> =
                (0..names.len()).filter(|i| low(i) == (half == 0)).map(name).take(count).collect();
            sets(items(&chosen))
        };
        let sent = [0, 1].map(|half| {
            let sets = in_half(half);
            ideal_ots::noted((&ENTRY, &sets, case), |ctx, sent| {
                let plan = Plan::of(ctx.run)?;
                let ots = ideal_ots::Sender::setup(&ctx.run.context, ctx.channel, ctx.rng, sent)?;
                send_masks(ctx, &plan, &sets.sender, ots).map(|_| ())
            })
        });
        assert!(sent[0].len() > 8 && sent[0].last() > Some(&0), "{sent:?}");
        assert_eq!(sent[0], sent[1]);
    }

    #[test]
    fn flaw_positions_in_the_lists_do_not_tell_of_items() {
        let sets = &planted(64, 64, 64, 4);
        let trials: Vec<_> = (0..40)
            .map(|seed| {
                let (pairs, order) = duel(
                    (&ENTRY, sets, Case { seed, ..Case::default() }),
                    Box::new(|ctx| {
                        let plan = Plan::of(ctx.run)?;
                        receive_pairs(ctx, &plan, &sets.sender, ideal_ots::complete_base_ots)
                    }),
                    Box::new(|ctx| {
                        let plan = Plan::of(ctx.run)?;
                        let ots = ideal::Sender::setup(&ctx.run.context, ctx.channel, ctx.rng)?;
                        send_masks(ctx, &plan, &sets.sender, ots)
                    }),
                );
                order.unwrap();
                order::places(&pairs.unwrap())
            })
            .collect();
        order::assert_hidden(&trials);
    }
}
