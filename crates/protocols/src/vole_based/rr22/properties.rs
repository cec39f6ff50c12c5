//! What the security of a malicious run rests on, and honest runs do not show: a run in which one of these
//! did not hold would end as well as any.

use std::thread;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;
use vesica_channel::memory;
use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_encode::items::Items;
use vesica_ot::security::{Malicious, SemiHonest};
use vesica_ot::vole::cheating::fingerprint_of_code;

use super::cheating::masks;
use super::setup;
use crate::oprf::vole::hashes::Hashes;
use crate::oprf::vole::malicious::{ReceiverShare, SenderShare};
use crate::oprf::vole::{Coins, Hashing, Model, Proofs, ShareOfW, Values};
use crate::parameters::{Parameters, Security};
use crate::protocol::{Ctx, Learns, Run, Sizes};
use crate::testing::{planted_for, run_of};

const MALICIOUS: Parameters = Parameters { security: Security::Malicious, ..Parameters::DEFAULT };

fn run(parameters: Parameters) -> Run<'static> {
    let context = Context::new(&[7; 32], "vole", b"properties", 1500, 9);
    run_of(context, Sizes { receiver: 1500, sender: 9 }, parameters)
}

/// What the coins decide, and the channel that they were tossed over.
type Party<S> = (Coins<S>, vesica_channel::Stream);

/// Both parties' coins, whose randomness comes from these seeds: the receiver's, the sender's.
fn tossed(receiver: u64, sender: u64) -> (Party<ReceiverShare>, Party<SenderShare>) {
    let (mut mine, mut theirs) = memory::pair();
    let run = &run(MALICIOUS);
    let limit = Duration::from_secs(600);
    thread::scope(|scope| {
        let sender = scope.spawn(move || {
            let rng = &mut StdRng::seed_from_u64(sender);
            (SenderShare::toss(&mut Ctx::new(run, &mut theirs, rng), limit).unwrap(), theirs)
        });
        let rng = &mut StdRng::seed_from_u64(receiver);
        let coins = ReceiverShare::toss(&mut Ctx::new(run, &mut mine, rng), limit).unwrap();
        ((coins, mine), sender.join().unwrap())
    })
}

/// Seeds of runs that differ in one party's randomness, the first being what the others differ from.
const RUNS: [(u64, u64); 3] = [(1, 2), (3, 2), (1, 4)];

#[test]
fn each_partys_coin_decides_the_store_the_code_the_keys_and_the_masks() {
    let sets = planted_for(&MALICIOUS, 3, 3, 3, 1);
    let run = run(MALICIOUS);
    let plan = setup(&run).unwrap().plan;
    let of = |context: &Context, seed: Option<Block>| {
        let hashes = Hashes::new(context);
        let hashed = hashes.keys_and_values::<Block>(&run, &sets.receiver).unwrap();
        let values = vec![Block::from(5u128); 3];
        let with = &Hashing { run: &run, hashes: &hashes, items: &sets.receiver, w: Block::ZERO };
        let masks = masks(with, values).unwrap();
        (seed.unwrap(), fingerprint_of_code(context, &plan)[0], hashed.keys[0], hashed.values[0], masks[0])
    };
    let [first, others @ ..] = RUNS.map(|(receiver, sender)| {
        let ((mine, _), (theirs, _)) = tossed(receiver, sender);
        let [mine, theirs] = [of(&mine.context, mine.seed), of(&theirs.context, theirs.seed)];
        assert!(mine == theirs, "both parties draw the same");
        mine
    });
    for other in others {
        assert!(first.0 != other.0, "seed of the store");
        assert!(first.1 != other.1, "code");
        assert!(first.2 != other.2 && first.3 != other.3, "keys and values");
        assert!(first.4 != other.4, "masks");
    }
}

#[test]
fn both_parties_have_a_part_in_w() {
    let w = |(receiver, sender)| {
        let ((mine, mut channel), (theirs, mut other)) = tossed(receiver, sender);
        let (mine, theirs) = (mine.share, theirs.share);
        let parts = [mine.w_r, theirs.w_s].map(|part| Block::from_bytes(part.as_chunks().0[0]));
        thread::scope(|scope| {
            let sender = scope.spawn(move || theirs.w(&mut other).unwrap());
            mine.send_w(&mut channel).unwrap();
            let w = mine.w(&mut channel).unwrap();
            assert!(w == sender.join().unwrap(), "both parties have one w");
            assert!(w == parts[0] ^ parts[1] && parts.iter().all(|part| *part != Block::ZERO));
            w
        })
    };
    let [first, other_receiver, other_sender] = RUNS.map(w);
    assert!(first != Block::ZERO && first != other_receiver && first != other_sender);
}

/// Masks of three items whose decoded values are the same, the proofs of their matches, and the pads of their payloads.
fn of_equal_values(parameters: Parameters, items: &Items, w: u128, value: u128) -> [Vec<u128>; 3] {
    let run = Run { learns: Learns::Both, ..run(parameters) };
    let hashes = Hashes::new(&run.context);
    let values = vec![Block::from(value); items.len()];
    let with = &Hashing { run: &run, hashes: &hashes, items, w: Block::from(w) };
    let proofs = Malicious::proofs(with, &Values::of_items(values.clone().into()));
    let proof = |item| u128::from_le_bytes(proofs.proof(items, item));
    let mut pads = vec![[0; 16]; items.len()];
    let all: Vec<u32> = (0..items.len() as u32).collect();
    proofs.pads(items, &all, pads.as_flattened_mut());
    let pads = pads.into_iter().map(u128::from_le_bytes).collect();
    [masks(with, values).unwrap(), (0..items.len()).map(proof).collect(), pads]
}

#[test]
fn masks_proofs_and_pads_take_the_value_the_item_and_w_and_differ() {
    for sigma in [None, Some(32)] {
        let parameters = Parameters { sigma, ..MALICIOUS };
        let items = planted_for(&parameters, 3, 3, 3, 1).receiver;
        let [first, other_w, other_value] =
            [(0, 5), (1, 5), (0, 9)].map(|(w, value)| of_equal_values(parameters, &items, w, value));
        let mut all = [first, other_w, other_value].concat().concat();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert!(all.len() == count && count == 27, "{parameters:?}");
    }
}

#[test]
fn flaw_a_semi_honest_pad_is_not_the_output_that_a_mask_is_cut_from() {
    let parameters =
        Parameters { result: crate::results::ResultKind::Payload { bytes: 16 }, ..Parameters::default() };
    let items = planted_for(&parameters, 3, 3, 3, 1).receiver;
    let run = run(parameters);
    let hashes = Hashes::new(&run.context);
    let values: Vec<Block> = (1..4u128).map(Block::from).collect();
    let with = &Hashing { run: &run, hashes: &hashes, items: &items, w: () };
    let mut outputs = values.clone();
    let hash = |range, values: &[Block], into: &mut [u8]| {
        <SemiHonest as Model<Block>>::hash(with, range, values, into);
    };
    hashes.outputs(&run, &mut outputs, hash).unwrap();
    let mut pads = vec![Block::ZERO; 3];
    let proofs = <SemiHonest as Model<Block>>::proofs(with, &Values::of_items(values.into()));
    proofs.pads(&items, &[0, 1, 2], Block::slice_as_mut_bytes(&mut pads));
    assert!(pads.iter().all(|pad| !outputs.contains(pad)) && pads[0] != pads[1] && pads[1] != pads[2]);
}
