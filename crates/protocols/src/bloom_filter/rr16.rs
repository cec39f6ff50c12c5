//! The garbled Bloom filter with cut and choose. The receiver learns X ∩ Y, the sender |Y| and no more.
//!
//! **Security:** malicious, in the random oracle model for masks and coins, with fixed-key AES as an ideal cipher
//! for the strings of the OTs, given maliciously secure OT (SoftSpoken's check, or silent OT with its own). Leaks
//! n_r and n_s. A malicious receiver's set may be larger than n_r: [`Rr16Parameters::most_tested_keys`] says by
//! how much. A malicious sender may send masks of another set, or of nothing: it has chosen that set.
//!
//! Source: RR16 (eprint 2016/746), Figure 4 with the optimisations of §4.1: the random garbled filter, strings
//! hashed on demand, one sum r* for all opened zeros, and OTs of random strings (programmable random oracle; the
//! variant `chosen-strings` does without). There the receiver is Bob and the sender Alice. Deviations, whose bounds `docs/protocols/gbf-rr16.md`
//! proves:
//!
//! - *Slices.* Hash function i has a slice of the filter of its own, so that an item's positions differ (RR16
//!   sums over the set of positions). A filter with N_1 ones holds a foreign item with probability Π f_i ≤
//!   (N_1/N_bf)^k, f_i being the fraction of ones in slice i.
//! - *Groups.* The permutation works inside groups of about 2^14 OTs and slots: 16 bits a slot in place of
//!   ⌈log2 N_ot⌉. RR16's bound counts all ones of the filter, wherever they are, so it holds as it is.
//!   An honest receiver needs ones in every group; the parameters see to that.
//! - *Opened OTs* are a fixed number of each group, drawn from a seed of the sender. Fixed numbers vary less
//!   than independent choices, and leave exactly one OT for each slot.
//! - *All unopened OTs are used.* A slot that is not set may get an OT of choice 1, for fewer than nk
//!   positions of n items differ.
//! - The coin toss is in the online phase, so nobody can search for items before the OTs are fixed.
//!
//! ```text
//! receiver (Y)                                         sender (X)
//! 2.–4. random OTs, a bounded number of ones          offline: `offline.rs`
//! 1.    H(coin_r)                        ──►
//!                                        ◄──           coin_s
//!       coin_r                           ──►           h_1, …, h_k under both coins
//! 5.    π: set slots to OTs with b = 1   ──►           π is a bijection of slots and unopened OTs
//! 6.                                     ◄──           sort{H(x, ⊕_i m_{π(h_i(x)),1})}
//! 7.    output {y : H(y, ⊕_i m*_{π(h_i(y))}) received}
//! ```
//!
//! **π tells nothing of the filter.** For each group the receiver has one uniformly random order of its OTs,
//! of which the first have choice 1. Without the opened ones, it is a uniformly random order of the others
//! to whoever knows the opened choices. Slots that are set take OTs from its front, the other slots from its
//! back. Where a slot looks depends on the filter alone, so π is a uniformly random bijection whatever the
//! filter is.
//!
//! Names: N_ot, N_bf, N_maxones, N_1, k: [`Rr16Parameters`]; C = `challenge`; r* = `sum_of_zeros`; K_x =
//! `Masks`; h_i = [`FilterPositions`].
//!
//! Cost: about 248·n_r OTs at n_r = 2^20 (390·n_r at 2^8), of 32 bits each, two bytes for each slot, and 16
//! bytes for each item of the sender. The receiver hashes all ones, the sender what its items pick.

#[cfg(any(test, feature = "testing"))]
pub mod cheating;
mod chosen;
mod draws;
mod filter;
mod offline;
mod ots;
pub mod parameters;
mod state;

use subtle::ConstantTimeEq;
use vesica_channel::Channel;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::join::join;
use vesica_encode::bloom::FilterPositions;
use vesica_encode::items::Items;

use self::filter::{ReceiverFilter, SenderFilter};
use self::ots::{Form, base_bytes, extension_bytes};
use self::parameters::{MOST_ITEMS, Rr16Parameters};
use self::state::ID;
use super::random_gbf::Masks;
use crate::entry::{Entry, Memory, Message, Roles};
use crate::error::{Error, Misbehaviour, Misuse};
use crate::masks::{self, MaskWidth};
use crate::outcome::{Outcome, Pairs, Pending};
use crate::parameters::Security;
use crate::protocol::{Ctx, Phase, Role, Run, Sizes};

pub use self::offline::{offline_receive, offline_send};
pub use self::state::{OfflineReceiver, OfflineSender};

/// Bytes of a coin, and of a commitment to one.
const COIN: usize = 32;

const COMMITMENT: Label = Label::new("gbf-rr16: commitment to a coin");
const COINS: Label = Label::new("gbf-rr16: coins");

/// The registry's entry.
pub static ENTRY: Entry =
    Entry::new("gbf-rr16", "garbled Bloom filter with cut and choose", Roles::Whole { receive, send })
        .family("bloom_filter")
        .paper("RR16 §4–5")
        .security(&[Security::Malicious])
        .makes_base_ots()
        .variants(Form::VARIANTS)
        .test_items(1 << 7)
        .flights(ots::flights)
        .steps(|role, _| match role {
            Role::Receiver => &[
                (Phase::BaseOts, 1),
                (Phase::Extend, 64),
                (Phase::Hash, 5),
                (Phase::Answer, 25),
                (Phase::Exchange, 4),
                (Phase::Compare, 1),
            ],
            Role::Sender => {
                &[(Phase::BaseOts, 1), (Phase::Extend, 64), (Phase::Evaluate, 30), (Phase::Exchange, 5)]
            }
        })
        .messages(&[
            Message::of_sender("base OTs", "64·128 (silent: for each set-up)", |shape| base_bytes(shape)[0]),
            Message::of_receiver("base OTs", "32 (silent: for each set-up)", |shape| base_bytes(shape)[1]),
            Message::of_receiver(
                "OTs, of choices b",
                "about 4·N_ot (silent: N_ot/8; kos15: 16·N_ot)",
                |shape| extension_bytes(shape)[0],
            ),
            Message::of_sender("silent OTs ([variant silent])", "s(N_ot)", |shape| extension_bytes(shape)[1]),
            Message::of_sender("masked strings ([variant chosen-strings])", "32·N_ot", ots::string_bytes),
            Message::of_sender("challenges", "16 for 2^17 OTs", |shape| {
                let batches = ots::Batches::of(&Rr16Parameters::of_shape(shape));
                16 * batches.count() as u64
            }),
            Message::of_receiver("opened choices, and the sum of their strings", "c/8 + 16", |shape| {
                let parameters = Rr16Parameters::of_shape(shape);
                (parameters.groups() * parameters.opened() / 8 + 16) as u64
            }),
            Message::of_receiver("id, and commitment to a coin", "64", |_| (ID + COIN) as u64),
            Message::of_sender("id, and a coin", "64", |_| (ID + COIN) as u64),
            Message::of_receiver("the receiver's coin", "32", |_| COIN as u64),
            Message::of_receiver("the permutation π", "2·N_bf", |shape| {
                2 * Rr16Parameters::of_shape(shape).all_slots() as u64
            }),
            Message::of_sender("masks of the sender", "16·n_s", |shape| 16 * shape.sender()),
        ])
        .memory(
            "receiver 16·N_ones + 2·N_bf + 124·n_r + 36·n_s + 2^26, sender 16·N_ot + 120·n_s + 2^26 \
                (silent: 2^28 more, chosen-strings: 2^27 more)",
            |shape| {
                let parameters = Rr16Parameters::of_shape(shape);
                let fixed = match Form::of(&shape.parameters) {
                    Form::Standard | Form::Kos => 1 << 26,
                    Form::Chosen => 3 << 26,
                    Form::Silent => 5 << 26,
                };
                let ones = 16 * (parameters.groups() * parameters.ones()) as u64;
                let receiver = ones + 2 * parameters.all_slots() as u64;
                Memory {
                    receiver: receiver + 124 * shape.receiver() + 36 * shape.sender() + fixed,
                    sender: 16 * parameters.ots() as u64 + 120 * shape.sender() + fixed,
                }
            },
        )
        .max_tested_keys_by_search(|shape| match shape.sizes.receiver {
            0 => 0,
            _ => Rr16Parameters::of_shape(shape).most_tested_keys(64),
        });

/// The receiver's role: both phases.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pending<'a>, Error> {
    expect_sizes(ctx.run.sizes)?;
    let offline = offline_receive(ctx, items.len())?;
    online_receive(ctx, items, offline)
}

/// The sender's role: both phases.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Option<Outcome>, Error> {
    expect_sizes(ctx.run.sizes)?;
    let offline = offline_send(ctx, ctx.run.sizes.receiver)?;
    online_send(ctx, items, offline)?;
    Ok(None)
}

/// So many items are refused before anything is allocated for them.
fn expect_sizes(sizes: Sizes) -> Result<(), Error> {
    let Sizes { receiver, sender } = sizes;
    if receiver <= MOST_ITEMS { Ok(()) } else { Err(Misuse::TooManyItems { receiver, sender }.into()) }
}

/// The receiver's online phase, which uses up the output of an offline phase for at least as many items.
///
/// # Errors
/// If the partner does not keep to the protocol or has the output of another offline phase, the channel fails,
/// or the run is cancelled.
pub fn online_receive<'a>(
    ctx: &mut Ctx<'_, 'a>,
    items: &'a Items,
    offline: OfflineReceiver,
) -> Result<Pending<'a>, Error> {
    let run = ctx.run;
    fits(&offline.parameters, run)?;
    // 1. The hash functions.
    let context = coins_of_receiver(ctx, &offline.id)?;
    // 5. The filter, and the permutation of the OTs; the sums of the items' strings.
    run.phase(Phase::Hash, 0);
    let positions = FilterPositions::new(&context, offline.parameters.shape(), items, run.threads);
    let filter = ReceiverFilter::new(run, offline, &positions);
    run.phase(Phase::Answer, filter.groups());
    let sums = filter.permute_and_sum(run, ctx.channel)?;
    // 7. The items whose mask is among the sender's, which are all different.
    let masks = masks_of(&context);
    let mine = masks.of(run.threads, items, &positions, sums);
    let theirs = masks::recv_sorted(run, masks.width, ctx.channel.split().1)?;
    let threads = run.threads;
    let pairs = Pairs::joined(run, move || {
        let pairs = join(threads, &mine[..], &theirs[..]).into_iter();
        pairs.map(|(mine, theirs)| (positions.items()[mine as usize], theirs)).collect()
    });
    Ok(Pending::of_join(items, || Ok(pairs.find())))
}

/// The sender's online phase, which uses up the output of an offline phase for at least as many items of the
/// receiver. A malicious receiver can test as many keys as [`Rr16Parameters::most_tested_keys`] says for the
/// items of the *offline phase*.
///
/// # Errors
/// As [`online_receive`].
pub fn online_send(ctx: &mut Ctx<'_, '_>, items: &Items, offline: OfflineSender) -> Result<(), Error> {
    let run = ctx.run;
    fits(&offline.parameters, run)?;
    // 1. The hash functions.
    let context = coins_of_sender(ctx, &offline.id)?;
    // 6. The sums of the items' strings, while the permutation arrives, and the masks.
    run.phase(Phase::Evaluate, offline.parameters.groups());
    let positions = FilterPositions::new(&context, offline.parameters.shape(), items, run.threads);
    let sums = SenderFilter::new(offline, &positions).sums(run, ctx.channel)?;
    let masks = masks_of(&context);
    let mine = masks.of(run.threads, items, &positions, sums);
    let mine = mine.into_iter().zip(positions.items().iter().copied());
    masks::send_sorted(run, masks.width, mine, ctx.channel.split().0)?;
    Ok(())
}

/// Whether stored OTs serve the receiver's items.
fn fits(parameters: &Rr16Parameters, run: &Run<'_>) -> Result<(), Error> {
    if run.sizes.receiver <= parameters.items() { Ok(()) } else { Err(Misuse::UnfitOts.into()) }
}

/// K_x: masks of 128 bits, since the sender's set is extracted from them.
fn masks_of(context: &Context) -> Masks {
    let oracle = context.oracle(Label::new("gbf-rr16: item and sum to mask"));
    Masks { width: MaskWidth::WHOLE, oracle }
}

/// The receiver's part of the coin toss. It speaks first and last, so that its coin says nothing until the
/// sender's is there, and cannot be changed then.
fn coins_of_receiver(ctx: &mut Ctx<'_, '_>, id: &[u8; ID]) -> Result<Context, Error> {
    let (mut mine, mut commitment) = ([0; COIN], [0; COIN]);
    ctx.rng.fill_bytes(&mut mine);
    ctx.run.context.hash(COMMITMENT, &mine, &mut commitment);
    ctx.channel.send(id)?;
    ctx.channel.send(&commitment)?;
    ctx.channel.flush()?;
    let theirs = recv_with_id(ctx.channel, id)?;
    ctx.channel.send(&mine)?;
    ctx.channel.flush()?;
    Ok(context(ctx.run, id, &mine, &theirs))
}

/// The sender's part of the coin toss.
fn coins_of_sender(ctx: &mut Ctx<'_, '_>, id: &[u8; ID]) -> Result<Context, Error> {
    let mut mine = [0; COIN];
    ctx.rng.fill_bytes(&mut mine);
    // The answer goes out in any case: both parties are to know why a run with two different ids ends.
    let commitment = recv_with_id(ctx.channel, id);
    ctx.channel.send(id)?;
    ctx.channel.send(&mine)?;
    ctx.channel.flush()?;
    let commitment = commitment?;
    let (mut theirs, mut committed) = ([0; COIN], [0; COIN]);
    ctx.channel.recv_exact(&mut theirs)?;
    ctx.run.context.hash(COMMITMENT, &theirs, &mut committed);
    if !bool::from(committed.ct_eq(&commitment)) {
        return Err(Misbehaviour::FailedCheck.into());
    }
    Ok(context(ctx.run, id, &theirs, &mine))
}

/// Receives an id, which must be ours, and what follows it.
fn recv_with_id(channel: &mut dyn Channel, id: &[u8; ID]) -> Result<[u8; COIN], Error> {
    let (mut theirs, mut rest) = ([0; ID], [0; COIN]);
    channel.recv_exact(&mut theirs)?;
    channel.recv_exact(&mut rest)?;
    if theirs == *id { Ok(rest) } else { Err(Misbehaviour::OtherOfflinePhase.into()) }
}

/// The context of the hash functions and masks.
fn context(run: &Run<'_>, id: &[u8; ID], receivers: &[u8; COIN], senders: &[u8; COIN]) -> Context {
    run.context.derive(COINS, &[&id[..], receivers, senders].concat())
}

#[cfg(test)]
mod tests;
