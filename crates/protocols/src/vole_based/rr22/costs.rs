//! What a run costs, and what its sizes and profile decide.

use vesica_crypto::block::Block;
use vesica_encode::sorted;
use vesica_ot::vole::Plan;

use crate::entry::{Memory, Message, POSITIONS, Shape};
use crate::error::{Error, Misuse};
use crate::masks::MaskWidth;
use crate::oprf;
use crate::oprf::vole::malicious::{COIN_BYTES, proof_bytes};
use crate::oprf::vole::store::Store;
use crate::parameters::{Parameters, Profile, STATISTICAL_SECURITY, Security};
use crate::protocol::{Role, Run, Sizes};
use crate::results::ResultKind;

/// The messages of a run.
pub(super) const MESSAGES: &[Message] = &[
    coin(Role::Sender, "commitments to coins (malicious)", COIN_BYTES[0]),
    coin(Role::Receiver, "coin (malicious)", COIN_BYTES[1]),
    coin(Role::Sender, "coin, opened (malicious)", COIN_BYTES[2]),
    Message::of_sender("base OTs, whose choices are the bits of Δ", "8192", |shape| {
        Plan::flight1_bytes(shape.parameters.base_ots) as u64
    }),
    Message::of_receiver(
        "base OT and small-field trees of the VOLE",
        "32 + 4096, and 1024 if malicious",
        |shape| {
            let Parameters { security, base_ots, .. } = shape.parameters;
            with_plan(shape, |_, _| Plan::beginning_bytes(base_ots, security))
        },
    ),
    Message::of_receiver(
        "corrections of the VOLE; seed of the store",
        "r(m), and 16 if semi-honest",
        |shape| {
            let security = shape.parameters.security;
            let seed = if security == Security::SemiHonest { Block::BYTES } else { 0 };
            with_plan(shape, |plan, small| match small {
                true => plan.rest_bytes::<u64>(security) + seed,
                false => plan.rest_bytes::<Block>(security) + seed,
            })
        },
    ),
    Message::of_sender("correction words of the puncturable PRF", "s(m)", |shape| {
        with_plan(shape, |plan, _| plan.flight3_bytes())
    }),
    Message::of_receiver("challenge of the VOLE's check (malicious)", "c(m)", |shape| {
        with_plan(shape, |plan, _| plan.flight4_bytes(shape.parameters.security))
    }),
    Message::of_sender("reply to it (malicious)", "c'(m)", |shape| {
        with_plan(shape, |plan, _| plan.flight5_bytes(shape.parameters.security))
    }),
    Message::of_receiver(
        "A' = A + P, an element for each slot of the store, and w_r if malicious",
        "m·(16, or 8 for small values), and 32 if malicious",
        |shape| {
            let malicious = shape.parameters.security == Security::Malicious;
            let more = if malicious { COIN_BYTES[3] } else { 0 };
            with_plan(shape, |plan, small| plan.length() * (if small { 8 } else { 16 }) + more)
        },
    ),
    coin(Role::Sender, "w_s, opened (malicious)", COIN_BYTES[4]),
    Message::of_sender(
        "masks, sorted, in Elias–Fano form",
        "about n_s·(ℓ - ⌊log2 n_s⌋ + 2)/8, ℓ = 128 if malicious",
        |shape| {
            let bits = mask_bits(shape.sizes, &shape.parameters);
            sorted::encoded_bytes(shape.sizes.sender, bits) as u64
        },
    ),
    Message::of_sender("payloads, encrypted, of p bytes each ([payload])", "n_s·p", |shape| {
        shape.sender() * payload_bytes(shape)
    }),
    POSITIONS,
    Message::of_receiver("proofs of the matches (malicious, [learns both])", "16·k", |shape| {
        proof_bytes(shape.parameters.security, shape.learns, shape.matches)
    }),
];

/// Base OTs, the receiver's flight 2 of the VOLE with A', the masks: three. The correction words and what
/// follows them take two more, unless A' goes early; coins of a malicious run two, and the check of the trees
/// two. A small VOLE has no trees.
pub(super) fn flights(shape: &Shape) -> u32 {
    let Parameters { security, profile, .. } = shape.parameters;
    let trees = with_plan(shape, |plan, _| plan.flight3_bytes()) > 0;
    match (security, profile, trees) {
        (Security::Malicious, _, true) => 9,
        (Security::Malicious, _, false) => 5,
        (Security::SemiHonest, Profile::Conservative, true) => 5,
        (Security::SemiHonest, ..) => 3,
    }
}

/// Bytes that a run adds to the items at its peak.
pub(super) fn memory(shape: &Shape) -> Memory {
    const PIECE: u64 = 90_000_000;
    let (receiver, sender) = (shape.receiver(), shape.sender());
    let payload = payload_bytes(shape);
    let [mine, theirs] = match payload {
        0 => [0; 2],
        _ => [16 * receiver + 2 * payload * sender, 20 * sender],
    };
    Memory {
        receiver: 90 * receiver + 32 * sender + mine + PIECE,
        sender: 60 * receiver + 75 * sender + theirs + PIECE,
    }
}

/// Bytes of a payload; 0 in a run without.
fn payload_bytes(shape: &Shape) -> u64 {
    match shape.parameters.result {
        ResultKind::Payload { bytes } => bytes.into(),
        _ => 0,
    }
}

/// A message of coins.
const fn coin(from: Role, what: &'static str, bytes: usize) -> Message {
    let (formula, bytes): (_, fn(&Shape) -> u64) = match bytes {
        32 => ("32", |shape| malicious(shape, 32)),
        _ => ("64", |shape| malicious(shape, 64)),
    };
    match from {
        Role::Receiver => Message::of_receiver(what, formula, bytes),
        Role::Sender => Message::of_sender(what, formula, bytes),
    }
}

fn malicious(shape: &Shape, bytes: usize) -> u64 {
    if shape.parameters.security == Security::Malicious { bytes as u64 } else { 0 }
}

fn with_plan(shape: &Shape, bytes: impl FnOnce(&Plan, bool) -> usize) -> u64 {
    let (sizes, parameters) = (shape.sizes, &shape.parameters);
    let plan = plan_for(sizes, parameters);
    plan.map_or(0, |plan| bytes(&plan, are_small(sizes, parameters)) as u64)
}

/// Bits of a mask: ℓ, and 128 in malicious runs, where the masks are what the sender's set is extracted from.
pub(super) fn mask_bits(sizes: Sizes, parameters: &Parameters) -> u32 {
    MaskWidth::for_run(sizes, parameters).map_or(u128::BITS, MaskWidth::bits)
}

/// Whether values are from GF(2^64).
fn are_small(sizes: Sizes, parameters: &Parameters) -> bool {
    oprf::vole::small_values(sizes.sender, parameters)
}

pub(super) fn small_values(run: &Run<'_>) -> bool {
    are_small(run.sizes, &run.parameters)
}

/// Whether A' goes with flight 2 of the VOLE.
pub(super) fn early(run: &Run<'_>) -> bool {
    oprf::vole::early(&run.parameters)
}

/// The VOLE of a run: one output for each slot of the store.
pub(super) fn plan(run: &Run<'_>) -> Result<Plan, Error> {
    let Sizes { receiver, sender } = run.sizes;
    let plan = plan_for(run.sizes, &run.parameters).ok_or(Misuse::TooManyItems { receiver, sender })?;
    Ok(plan.with_threads(run.threads))
}

fn plan_for(sizes: Sizes, parameters: &Parameters) -> Option<Plan> {
    let Parameters { security, statistical, .. } = *parameters;
    let slots = Store::new(security, sizes.receiver, statistical, Block::ZERO).ok()?.slots();
    Some(Plan::new(slots, parameters.profile).with_base_ots(parameters.base_ots))
}

/// The most items that a malicious receiver can have put into a store made for `items`, if it asks the hash
/// at most 2^`log2_queries` times; exceeded with probability at most 2^-λ.
///
/// A store of m slots of 128 bits has 2^(128·m) contents. Each fits a fixed choice of n' queried items with
/// probability 2^(-128·n'), so that one fits n' of q with probability at most C(q, n')·2^(-128·(n' - m)); the
/// bound is where that falls below 2^-λ. (HKLS24 shows that an attack of this kind exists: n' = n_r, as RS21
/// has it, is too much to claim.)
#[must_use]
pub fn max_malicious_items(items: usize, log2_queries: u32) -> usize {
    if items == 0 {
        return 0;
    }
    let store = Store::new(Security::Malicious, items, STATISTICAL_SECURITY, Block::ZERO);
    let slots = store.map_or(items, |store| store.slots()) as f64;
    // log2 C(q, n') < n'·log2(q·e / n').
    let fits = |more: f64| {
        let ways = more * (f64::from(log2_queries) + std::f64::consts::LOG2_E - more.log2());
        ways >= 128.0 * (more - slots) - f64::from(STATISTICAL_SECURITY)
    };
    let (mut least, mut most) = (slots, slots * 1024.0 + 1024.0);
    while most - least > 1.0 {
        let middle = (least + most) / 2.0;
        if fits(middle) { least = middle } else { most = middle }
    }
    most.ceil() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vole_based::rr22::ENTRY;

    #[test]
    fn a_malicious_receivers_set_is_bounded_as_the_table_says() {
        // The solutions n'/m of log2 C(q, n') = 128·(n' - m), for m slots and q queries.
        // `docs/security-against-cheating.md` has those of 2^64 queries, rounded.
        for (log2_slots, log2_queries, expected) in
            [(10, 64, 1.75), (20, 64, 1.54), (10, 80, 2.2), (20, 80, 1.9)]
        {
            let items = ((1u64 << log2_slots) as f64 / 1.2) as usize;
            let slots = Store::new(Security::Malicious, items, STATISTICAL_SECURITY, Block::ZERO)
                .unwrap()
                .slots() as f64;
            let ratio = max_malicious_items(items, log2_queries) as f64 / slots;
            assert!((ratio - expected).abs() < 0.1, "{log2_slots} {log2_queries}: {ratio}");
        }
    }

    #[test]
    fn a_structured_code_finds_the_intersection_on_any_number_of_threads() {
        use crate::testing::{Case, planted_for, run_pair};
        for (security, profile) in [
            (Security::SemiHonest, Profile::Conservative),
            (Security::SemiHonest, Profile::Fast),
            (Security::Malicious, Profile::Conservative),
        ] {
            let parameters = Parameters { security, profile, ..Parameters::default() };
            // So many columns that structured codes are taken.
            let sets = planted_for(&parameters, 5000, 3000, 777, 1);
            let runs = [1, 2]
                .map(|threads| run_pair(&ENTRY, &sets, Case { parameters, threads, ..Case::default() }));
            for run in &runs {
                assert!(run.confirmed());
                assert_eq!(run.receiver.as_ref().unwrap().rows(), sets.receiver_rows);
            }
            assert!(runs[0].digests.sent == runs[1].digests.sent);
            assert!(runs[0].digests.received == runs[1].digests.received);
        }
    }

    #[test]
    fn small_values_are_for_what_they_suffice_for() {
        let sizes = |sender| Sizes { receiver: 1 << 20, sender };
        let fast = Parameters { profile: Profile::Fast, ..Parameters::default() };
        assert!(are_small(sizes(1 << 24), &fast) && !are_small(sizes((1 << 24) + 1), &fast));
        assert!(!are_small(sizes(1 << 20), &Parameters::default()));
        assert!(!are_small(sizes(1 << 20), &Parameters { security: Security::Malicious, ..fast }));
    }
}
