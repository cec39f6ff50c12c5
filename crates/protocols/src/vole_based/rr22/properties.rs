//! What the security of a malicious run rests on, and honest runs do not show: a run in which one of these did not hold
//! would end as well as any.

use std::thread;

use rand::SeedableRng;
use rand::rngs::StdRng;
use vesica_crypto::block::Block;
use vesica_encode::items::Items;
use vesica_net::{Options, memory};
use vesica_ot::vole::cheating::fingerprint_of_code;

use super::entry;
use super::oprf::{Coins, Oracles};
use crate::parameters::{Parameters, Security};
use crate::protocol::{Run, Sizes};
use crate::testing::{planted_for, run_of};

const MALICIOUS: Parameters = Parameters {
    security: Security::Malicious,
    level: crate::DEFAULT_LEVEL,
    sigma: None,
    variant: None,
    profile: crate::Profile::Conservative,
    paper: false,
};

fn run(parameters: Parameters) -> Run<'static> {
    let context = vesica_crypto::hash::Context::new(&[7; 32], "vole", b"properties", 1500, 9);
    run_of(context, Sizes { receiver: 1500, sender: 9 }, parameters)
}

/// Both parties' coins, whose randomness comes from these seeds: the receiver's, the sender's.
fn drawn(receiver: u64, sender: u64) -> [(Coins, StdRng, vesica_net::Connection); 2] {
    let (mut mine, mut theirs) = memory::pair(&Options::default());
    thread::scope(|scope| {
        let sender = scope.spawn(move || {
            let mut rng = StdRng::seed_from_u64(sender);
            (Coins::send(&run(MALICIOUS), &mut theirs, &mut rng).unwrap().unwrap(), rng, theirs)
        });
        let mut rng = StdRng::seed_from_u64(receiver);
        let coins = Coins::receive(&run(MALICIOUS), &mut mine, &mut rng).unwrap().unwrap();
        [(coins, rng, mine), sender.join().unwrap()]
    })
}

/// Seeds of runs that differ in one party's randomness, the first being what the others differ from.
const RUNS: [(u64, u64); 3] = [(1, 2), (3, 2), (1, 4)];

#[test]
fn each_partys_coin_decides_the_store_the_code_the_keys_and_the_masks() {
    let sets = planted_for(&MALICIOUS, 3, 3, 3, 1);
    let run = run(MALICIOUS);
    let plan = entry::plan(&run).unwrap();
    let of = |coins: &Coins| {
        let oracles = Oracles::new(&coins.context, &run);
        let (keys, values) = oracles.keyed::<Block>(&sets.receiver).unwrap();
        let mut outputs = vec![Block::from(5u128); 3];
        let masks = oracles.masks(&sets.receiver, &mut outputs, Some(Block::ZERO)).unwrap().to_vec();
        (coins.store_seed(), fingerprint_of_code(&coins.context, &plan)[0], keys[0], values[0], masks[0])
    };
    let [first, others @ ..] = RUNS.map(|(receiver, sender)| {
        let [mine, theirs] = drawn(receiver, sender).map(|(coins, ..)| of(&coins));
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
    let shift = |(receiver, sender)| {
        let [(mine, _, mut channel), (theirs, _, mut other)] = drawn(receiver, sender);
        let parts = [mine.mine, theirs.mine].map(|part| Block::from_bytes(part.as_chunks().0[0]));
        thread::scope(|scope| {
            let sender = scope.spawn(move || theirs.open(&mut other).unwrap());
            Coins::answer(Some(&mine), &mut channel).unwrap();
            channel.flush().unwrap();
            let shift = mine.shift(&mut channel).unwrap();
            assert!(shift == sender.join().unwrap(), "both parties have one w");
            assert!(shift == parts[0] ^ parts[1] && parts.iter().all(|part| *part != Block::ZERO));
            shift
        })
    };
    let [first, other_receiver, other_sender] = RUNS.map(shift);
    assert!(first != Block::ZERO && first != other_receiver && first != other_sender);
}

/// Masks of three items whose outputs are the same, and the proofs of their matches.
fn of_equal_outputs(parameters: Parameters, items: &Items, shift: Block) -> (Vec<u128>, Vec<u128>) {
    let run = run(parameters);
    let oracles = Oracles::new(&run.context, &run);
    let mut outputs = vec![Block::from(5u128); items.len()];
    let masks = oracles.masks(items, &mut outputs, Some(shift)).unwrap().to_vec();
    let proof = |item| u128::from_le_bytes(oracles.proof(items, item, outputs[item]));
    (masks, (0..items.len()).map(proof).collect())
}

#[test]
fn masks_and_proofs_take_the_item_and_w_and_differ() {
    for sigma in [None, Some(32)] {
        let parameters = Parameters { sigma, ..MALICIOUS };
        let items = planted_for(&parameters, 3, 3, 3, 1).receiver;
        let (masks, proofs) = of_equal_outputs(parameters, &items, Block::ZERO);
        let (with_w, other_proofs) = of_equal_outputs(parameters, &items, Block::from(1u128));
        let mut all = [masks, proofs, with_w, other_proofs].concat();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert!(all.len() == count && count == 12, "{parameters:?}");
    }
}
