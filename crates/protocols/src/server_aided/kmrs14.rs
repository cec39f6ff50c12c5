//! Server-aided PSI: the two parties hash their items under a key of their own, and a helper, who does not know
//! the key, finds the hashes that both have. The receiver learns X ∩ Y. The helper learns both sizes and
//! |X ∩ Y|, and nothing of the items.
//!
//! **Security: semi-honest, and the helper works with neither party.** A helper that has the key can try every
//! identifier against both lists; with one of the two parties behind it, the other one's set is as open as
//! under salted hashing. A helper that cheats alone can give a wrong result, and learns no more.
//!
//! Source: KMRS14 (Kamara, Mohassel, Raykova, Sadeghian, *Scaling private set intersection to billion-element
//! sets*, the protocol for a semi-honest server), in the words of PSSZ15 §3.2. Deviations:
//!
//! - The key is a hash of a share of each party, where the paper's P_1 draws it: it is fresh if the randomness
//!   of either party is. The shares go over the direct connection of the two parties.
//! - F is a pseudorandom function cut to ℓ bits, where the paper has a permutation on κ bits: the answer names
//!   positions, so nobody inverts it. Two different items of the two sides are equal under it with probability
//!   at most 2^-λ.
//! - The lists are sorted, where the paper permutes them: nothing of the items' order is left either way. A sorted
//!   list takes about log2 n bits less for each item (Elias–Fano form).
//! - The answer has a bit for each mask of the list, where the paper sends back the common hashes: its length
//!   does not tell a network's observer how many there are.
//!
//! ```text
//! receiver P2 (Y)                     helper                       sender P1 (X)
//! k_2 ←$ {0,1}^256     ───────────── k_2, 32 bytes ─────────────►
//!                      ◄──────────── k_1, 32 bytes ──────────────  k_1 ←$ {0,1}^256
//! k = H(k_2, k_1)                                                  k = H(k_2, k_1)
//! sort{F_k(y)}          ── e(n_r) ──►       ◄── e(n_s) ──          sort{F_k(x)}
//!                       ◄── a bit for each of the n_r masks: is it in both lists?
//! output {y : its bit is set}                  a bit for each of the n_s masks ──►  (--learns both)
//! ```
//!
//! Names: k_1, k_2 = `share`, k = the key of the oracle `prf`, F_k = `masks_of`, ℓ = [`MaskWidth`],
//! e(n) = `list_bytes`.
//! Cost: n hashes and a sort for each party, n_r + n_s comparisons for the helper;
//! 64 + e(n_r) + e(n_s) + ⌈n_r/8⌉ bytes, e(n) ≈ n·(ℓ - log2 n + 2)/8.

use std::sync::OnceLock;
use std::thread;

use rand_core::CryptoRng;
use vesica_channel::{Channel, ChannelError, RecvHalf, SendHalf};
use vesica_crypto::hash::{Label, Oracle};
use vesica_crypto::memory::large_zeros;
use vesica_crypto::par;
use vesica_encode::items::Items;
use vesica_encode::sorted;
use zeroize::Zeroizing;

use crate::entry::{Entry, Memory, Message, Roles, Shape};
use crate::error::{Error, Misbehaviour, Misuse};
use crate::masks::{self, MaskWidth, mask_bits};
use crate::outcome::{Outcome, Pending};
use crate::protocol::{Ctx, HelperCtx, Learns, Participant, Phase, Role, Run, Sizes};

/// Bytes of a share of the key: 2κ bits.
const SHARE: usize = 32;

/// Items hashed by one task.
const CHUNK: usize = 1 << 12;

/// Bytes of a list between two reports of progress.
const PIECE: usize = 1 << 20;

/// The registry's entry.
pub static ENTRY: Entry = Entry::new(
    "server-aided",
    "keyed hashes, compared by a helper",
    Roles::Whole { receive, send },
)
.family("server_aided")
.paper("KMRS14, PSSZ15 §3.2")
.learns(
    "receiver: the intersection",
    "the sizes of both sets, and to the helper also the size of the intersection; everything, if the helper \
             works with a party",
)
.learns_both()
.helper(assist, |shape| 24 * (shape.receiver() + shape.sender()))
.flights(|_| 3)
.steps(|_, _| &[(Phase::Blind, 40), (Phase::Exchange, 60)])
.messages(&[
    Message::of_receiver("share of the key", "32", |_| SHARE as u64),
    Message::of_sender("share of the key", "32", |_| SHARE as u64),
    Message::between(Participant::Receiver, Participant::Helper, "masks", "e(n_r)", |shape| {
        list_bytes(Role::Receiver, shape)
    }),
    Message::between(Participant::Sender, Participant::Helper, "masks", "e(n_s)", |shape| {
        list_bytes(Role::Sender, shape)
    }),
    Message::between(
        Participant::Helper,
        Participant::Receiver,
        "which masks are in both lists",
        "⌈n_r/8⌉",
        |shape| shape.receiver().div_ceil(8),
    ),
    Message::between(
        Participant::Helper,
        Participant::Sender,
        "the same ([learns both])",
        "⌈n_s/8⌉",
        |shape| match shape.learns {
            Learns::Receiver => 0,
            Learns::Both => shape.sender().div_ceil(8),
        },
    ),
])
.memory("receiver 60·n_r, sender 60·n_s, helper 24·(n_r + n_s)", |shape| Memory {
    receiver: 60 * shape.receiver(),
    sender: 60 * shape.sender(),
})
.test_items(1 << 12);

/// e(n): bytes of the list of `role`.
fn list_bytes(role: Role, shape: &Shape) -> u64 {
    // Wider masks do not run.
    let bits = mask_bits(shape.sizes, shape.parameters.statistical).min(sorted::MAX_BITS);
    sorted::encoded_bytes(shape.sizes.of(role), bits) as u64
}

/// The receiver's role.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pending<'a>, Error> {
    let matched = play(ctx, Role::Receiver, items)?;
    Ok(Pending::of_items(items, move || matched))
}

/// The sender's role.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Option<Outcome>, Error> {
    let learns = ctx.run.learns == Learns::Both;
    let matched = play(ctx, Role::Sender, items)?;
    let matches = || Outcome::Matches(items.matches(matched.iter().map(|&item| item as usize)));
    Ok(learns.then(matches))
}

/// A party: the items that match, if it learns them.
fn play(ctx: &mut Ctx<'_, '_>, role: Role, items: &Items) -> Result<Vec<u32>, Error> {
    let Ctx { run, channel, helper, rng } = ctx;
    let helper: &mut dyn Channel = match helper {
        Some(helper) => &mut **helper,
        None => return Err(Misuse::NoHelper.into()),
    };
    let width = MaskWidth::for_sizes(run.sizes, run.parameters.statistical)?;
    run.phase(Phase::Blind, items.len());
    // 1. The two parties agree on a key that the helper does not see.
    let prf = agree_on_key(run, role, *channel, *rng)?;
    // 2. F_k of every item, sorted.
    let learns = role == Role::Receiver || run.learns == Learns::Both;
    let (mut masks, mut order) = (masks_of(run, width, &prf, items)?, Vec::new());
    if learns {
        order.extend(0..items.len() as u32);
        masks::sort_with_items(run.threads, width.bits(), &mut masks, &mut order);
    } else {
        masks::sort(run.threads, width.bits(), &mut masks);
    }
    // 3. The helper compares the two lists.
    run.phase(Phase::Exchange, items.len());
    let of_helper = |error: Error| error.with(Participant::Helper);
    let (outgoing, incoming) = helper.split();
    send_list(run, width, masks, outgoing).map_err(of_helper)?;
    if !learns {
        return Ok(Vec::new());
    }
    // 4. A bit for each mask of mine.
    let most = run.sizes.of(role.other());
    let common = recv_common(items.len(), most, incoming).map_err(of_helper)?;
    Ok(common.into_iter().map(|position| order[position]).collect())
}

/// F_k, for k = H(k_2, k_1).
fn agree_on_key(
    run: &Run<'_>,
    role: Role,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Oracle, Error> {
    let (mut mine, mut theirs) = (Zeroizing::new([0; SHARE]), Zeroizing::new([0; SHARE]));
    rng.fill_bytes(&mut *mine);
    let (outgoing, incoming) = channel.split();
    outgoing.send(&*mine)?;
    outgoing.flush()?;
    incoming.recv_exact(&mut *theirs)?;
    let [of_receiver, of_sender] = match role {
        Role::Receiver => [mine, theirs],
        Role::Sender => [theirs, mine],
    };
    let mut key = Zeroizing::new([0; 32]);
    let label = Label::new("server-aided: shares to key");
    run.context.hash_parts(label, &[&*of_receiver, &*of_sender], &mut *key);
    Ok(Oracle::with_key(*key))
}

/// F_k of every item, in the items' order.
fn masks_of(run: &Run<'_>, width: MaskWidth, prf: &Oracle, items: &Items) -> Result<Vec<u128>, Error> {
    let mut masks = large_zeros(items.len());
    par::fill_chunks(run.threads, CHUNK, &mut masks, |chunk, masks: &mut [u128]| {
        let (mut inputs, mut hashes) =
            (Vec::with_capacity(masks.len() * items.width()), vec![[0; 16]; masks.len()]);
        items.gather(masks.len(), |item| chunk * CHUNK + item, &mut inputs);
        prf.hash_batch(&inputs, items.width(), hashes.as_flattened_mut(), 16);
        masks.iter_mut().zip(&hashes).for_each(|(mask, hash)| *mask = width.truncate(hash));
        run.advance(masks.len())
    })?;
    Ok(masks)
}

/// Sends a sorted list of masks.
fn send_list(
    run: &Run<'_>,
    width: MaskWidth,
    masks: Vec<u128>,
    channel: &mut dyn SendHalf,
) -> Result<(), Error> {
    let bytes = sorted::encode_by_threads(run.threads, &masks, width.bits());
    let mut sent = run.paced(masks.len(), bytes.len());
    drop(masks);
    for piece in bytes.chunks(PIECE) {
        channel.send(piece)?;
        sent.advance(piece.len())?;
    }
    Ok(channel.flush()?)
}

/// Receives a sorted list of `count` masks.
fn recv_list(
    run: &Run<'_>,
    width: MaskWidth,
    count: usize,
    channel: &mut dyn RecvHalf,
) -> Result<Vec<u128>, Error> {
    let mut bytes = large_zeros(sorted::encoded_bytes(count, width.bits()));
    let mut received = run.paced(count, bytes.len());
    for piece in bytes.chunks_mut(PIECE) {
        channel.recv_exact(piece)?;
        received.advance(piece.len())?;
    }
    Ok(sorted::decode(&bytes, count, width.bits()).map_err(Misbehaviour::InvalidMasks)?)
}

/// Receives a bit for each of `count` masks: the positions of those that are set, at most `most`.
fn recv_common(count: usize, most: usize, channel: &mut dyn RecvHalf) -> Result<Vec<usize>, Error> {
    let mut bits = vec![0u8; count.div_ceil(8)];
    channel.recv_exact(&mut bits)?;
    let common: Vec<usize> = (0..8 * bits.len()).filter(|at| bits[at / 8] >> (at % 8) & 1 == 1).collect();
    if common.len() > most || common.last().is_some_and(|&last| last >= count) {
        return Err(Misbehaviour::InvalidPositions.into());
    }
    Ok(common)
}

/// The helper's role.
fn assist(ctx: &mut HelperCtx<'_, '_>) -> Result<u64, Error> {
    let HelperCtx { run, receiver, sender } = ctx;
    let Sizes { receiver: n_r, sender: n_s } = run.sizes;
    // 1. Both lists, as they come.
    run.phase(Phase::Exchange, n_r + n_s);
    let [receivers, senders] = recv_lists(run, *receiver, *sender)?;
    // 2. The masks that are in both.
    run.phase(Phase::Compare, n_r);
    let bits = common(&receivers, &senders);
    let matches = bits.iter().map(|byte| u64::from(byte.count_ones())).sum();
    let answer = |bits: &[u8], channel: &mut dyn Channel| channel.send(bits).and_then(|()| channel.flush());
    let failed = |role: Role| move |error: ChannelError| Error::from(error).with(role);
    answer(&bits, *receiver).map_err(failed(Role::Receiver))?;
    if run.learns == Learns::Both {
        answer(&common(&senders, &receivers), *sender).map_err(failed(Role::Sender))?;
    }
    run.report(n_r, matches)
}

/// Receives both parties' lists at the same time. Where one fails, the other party's connection ends too.
fn recv_lists(
    run: &Run<'_>,
    receiver: &mut dyn Channel,
    sender: &mut dyn Channel,
) -> Result<[Vec<u128>; 2], Error> {
    let width = MaskWidth::for_sizes(run.sizes, run.parameters.statistical)?;
    let ((to_receiver, from_receiver), (to_sender, from_sender)) = (receiver.split(), sender.split());
    let first = OnceLock::new();
    let list = |role: Role, from: &mut dyn RecvHalf, other: &mut dyn SendHalf| {
        recv_list(run, width, run.sizes.of(role), from).map_err(|error| {
            // What the other one then ends with is not the cause.
            let _ = first.set(error.with(role));
            other.abort();
        })
    };
    let lists = thread::scope(|scope| {
        let of_receiver = thread::Builder::new()
            .spawn_scoped(scope, || list(Role::Receiver, from_receiver, to_sender))
            .map_err(|error| Error::from(ChannelError::system("cannot start a thread", &error)))?;
        let of_sender = list(Role::Sender, from_sender, to_receiver);
        let of_receiver = of_receiver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok::<_, Error>((of_receiver, of_sender))
    })?;
    match (lists, first.into_inner()) {
        ((Ok(receivers), Ok(senders)), _) => Ok([receivers, senders]),
        (_, Some(error)) => Err(error),
        (_, None) => unreachable!("a list that fails leaves its error"),
    }
}

/// A bit for each of these masks: whether it is among `others`. Both lists ascend.
fn common(masks: &[u128], others: &[u128]) -> Vec<u8> {
    let (mut bits, mut at, mut other) = (vec![0; masks.len().div_ceil(8)], 0, 0);
    while let (Some(mask), Some(with)) = (masks.get(at), others.get(other)) {
        bits[at / 8] |= u8::from(mask == with) << (at % 8);
        at += usize::from(mask <= with);
        other += usize::from(mask > with);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, planted, run_over_links, run_pair, shape};
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    use std::collections::HashSet;
    use std::sync::{Arc, Mutex};
    use vesica_channel::tampered::{self, Direction};
    use vesica_channel::{Kind, memory};

    #[test]
    fn the_bits_are_those_of_the_plain_intersection() {
        let mut rng = StdRng::seed_from_u64(1);
        for (mine, theirs, range) in
            [(0, 5, 9), (5, 0, 9), (1, 1, 1), (300, 200, 400), (7, 900, 50), (64, 64, 1 << 20)]
        {
            let mut list = |count: usize| {
                // Masks may be equal within a list, if hardly ever.
                let mut list: Vec<u128> = (0..count).map(|_| rng.random_range(0..range)).collect();
                list.sort_unstable();
                list
            };
            let (mine, theirs) = (list(mine), list(theirs));
            let others: HashSet<u128> = theirs.iter().copied().collect();
            let bits = common(&mine, &theirs);
            assert_eq!(bits.len(), mine.len().div_ceil(8));
            for (at, mask) in mine.iter().enumerate() {
                assert_eq!(bits[at / 8] >> (at % 8) & 1 == 1, others.contains(mask), "{at}");
            }
            assert!((mine.len()..8 * bits.len()).all(|at| bits[at / 8] >> (at % 8) & 1 == 0));
        }
    }

    #[test]
    fn an_answer_that_names_too_many_or_what_is_not_there_is_refused() {
        let answer = |count: usize, most: usize, bits: &[u8]| {
            let (mut a, mut b) = memory::pair();
            a.send(bits).unwrap();
            a.flush().unwrap();
            recv_common(count, most, b.split().1)
        };
        assert_eq!(answer(11, 4, &[0b1000_0001, 0b100]), Ok(vec![0, 7, 10]));
        let refused = Err(Misbehaviour::InvalidPositions.into());
        assert_eq!(answer(11, 2, &[0b1000_0001, 0b100]), refused);
        assert_eq!(answer(11, 4, &[0, 0b1000]), refused);
    }

    #[test]
    fn without_a_helper_nothing_runs() {
        let sets = planted(4, 4, 1, 1);
        let run = ENTRY.run(&[0; 32], Sizes { receiver: 4, sender: 4 }, crate::Parameters::default());
        let (mut channel, _other) = memory::pair();
        let mut rng = StdRng::seed_from_u64(1);
        let ended = ENTRY.receive(&mut Ctx::new(&run, &mut channel, &mut rng), &sets.receiver);
        assert_eq!(ended.unwrap_err(), Misuse::NoHelper.into());
        let other = crate::registry::find("dh").unwrap();
        let ctx = &mut HelperCtx { run: &run, receiver: &mut channel, sender: &mut memory::pair().0 };
        assert_eq!(other.assist(ctx), Err(Misuse::NoHelper.into()));
    }

    /// What the receiver sends to the helper in a run.
    fn masks_seen(seed: u64, share: Option<[u8; SHARE]>) -> Vec<u8> {
        let (seen, sets) = (Arc::new(Mutex::new(Vec::new())), planted(50, 60, 20, 1));
        let heard = seen.clone();
        let to_receiver = tampered::pair(move |direction, frame| {
            if direction == Direction::SecondToFirst && frame.kind == Kind::Data {
                heard.lock().unwrap().extend_from_slice(&frame.payload);
            }
            vec![frame]
        });
        // Both shares on the wire of the two parties are replaced.
        let mut direct = tampered::pair(move |_, mut frame| {
            if let (Some(share), Kind::Data) = (share, frame.kind) {
                frame.payload.copy_from_slice(&share);
            }
            vec![frame]
        });
        if share.is_none() {
            direct = memory::pair();
        }
        let case = Case { seed, ..Case::default() };
        let _ = run_over_links((&ENTRY, &sets, case), direct, [to_receiver, memory::pair()]);
        seen.lock().unwrap().clone()
    }

    /// The key depends on both shares: each of them alone makes it fresh.
    #[test]
    fn flaw_the_key_is_no_constant_and_no_choice_of_one_party() {
        assert_ne!(masks_seen(1, None), masks_seen(2, None), "another run, another key");
        assert_eq!(masks_seen(1, None), masks_seen(1, None));
        // The receiver's own share is the same, the one that it hears is another; and the other way round.
        assert_ne!(masks_seen(1, None), masks_seen(1, Some([7; SHARE])));
        assert_ne!(masks_seen(1, Some([7; SHARE])), masks_seen(2, Some([7; SHARE])));
    }

    /// Nothing but the two lists reaches the helper, in the one order that says nothing; the direct connection
    /// carries two shares.
    #[test]
    fn the_helper_sees_two_sorted_lists_and_no_share() {
        let sets = planted(50, 60, 20, 3);
        let ended = run_pair(&ENTRY, &sets, Case::default());
        let shape = shape(&sets, Case::default());
        assert_eq!(ended.traffic.payload_sent - list_bytes(Role::Receiver, &shape), SHARE as u64);
        let width = MaskWidth::for_sizes(shape.sizes, shape.parameters.statistical).unwrap();
        let masks = sorted::decode(&masks_seen(1, None), 50, width.bits()).unwrap();
        assert!(masks.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(ended.helper.unwrap().result, Ok(20));
    }
}
