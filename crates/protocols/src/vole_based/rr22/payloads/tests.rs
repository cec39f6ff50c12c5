use super::*;
use crate::oprf::OprfSender;
use crate::testing::{Case, Planted, duel, planted_for, run_for_result, shape};
use crate::vole_based::rr22::sorted_masks::OutgoingMasks;
use crate::vole_based::rr22::{Checked, ENTRY, Small, Wide, costs, setup};
use crate::{Attached, Ctx, Learns, Misuse, Parameters, Profile, Role, Security};
use vesica_channel::memory;
use vesica_crypto::memory::wiped_bytes;
use vesica_encode::items::{ItemsBuilder, OnDuplicates};

fn case(security: Security, profile: Profile, bytes: u32) -> Case {
    let result = ResultKind::Payload { bytes };
    Case { parameters: Parameters { security, profile, result, ..Parameters::default() }, ..Case::default() }
}

/// Whether the receiver's and the sender's items of these numbers are the same.
fn same(sets: &Planted, mine: usize, theirs: usize) -> bool {
    sets.receiver.get(mine) == sets.sender.get(theirs)
}

/// A block for each item of the sender, which says which one it is.
fn payloads(sets: &Planted, bytes: u32) -> Payloads {
    let block =
        |item: usize| (0..bytes as usize).map(move |at| (item * 7 + at * 13 + 1) as u8 ^ (item >> 8) as u8);
    Payloads::new(bytes as usize, (0..sets.sender.len()).flat_map(block).collect()).unwrap()
}

#[test]
fn matched_rows_come_with_their_blocks() {
    for (security, profile) in [
        (Security::SemiHonest, Profile::Conservative),
        (Security::SemiHonest, Profile::Fast),
        (Security::Malicious, Profile::Conservative),
    ] {
        for (receiver, sender, common, bytes) in [
            (1, 1, 1, 1),
            (1, 1, 0, 64),
            (300, 2000, 120, 32),
            (2000, 40, 40, 100),
            (500, 500, 0, 5),
            (0, 3, 0, 4),
        ] {
            for (learns, threads) in [(Learns::Receiver, 1), (Learns::Both, 2)] {
                let case = Case { learns, threads, ..case(security, profile, bytes) };
                let sets = &planted_for(&case.parameters, receiver, sender, common, 2);
                let payloads = payloads(sets, bytes);
                let ended =
                    run_for_result((&ENTRY, sets, case), Attached::Payloads(&payloads), memory::pair());
                let Ok(Outcome::Payloads(found)) = ended.receiver else { panic!("{:?}", ended.receiver) };
                assert_eq!(found.matches().rows(), sets.receiver_rows);
                for (index, row) in found.matches().rows().iter().enumerate() {
                    let mine = (0..receiver).find(|item| sets.receiver.rows_of(*item).any(|own| own == *row));
                    let theirs = (0..sender).find(|theirs| same(sets, mine.unwrap(), *theirs)).unwrap();
                    assert_eq!(
                        found.payload(index),
                        payloads.get(theirs),
                        "{security:?} {receiver}x{sender}"
                    );
                }
                let told = ended.sender.unwrap().map(|told| told.into_matches().unwrap().rows().to_vec());
                assert_eq!(told, (learns == Learns::Both).then(|| sets.sender_rows.clone()));
                let shape = shape(sets, case);
                let formulas = [Role::Receiver, Role::Sender].map(|from| ENTRY.bytes(from, &shape));
                assert_eq!([ended.traffic.payload_sent, ended.traffic.payload_received], formulas);
                assert!(ended.same_transcript);
            }
        }
    }
}

#[test]
fn every_row_of_a_key_has_its_block() {
    let Case { parameters, .. } = case(Security::SemiHonest, Profile::Conservative, 3);
    let table = |keys: &[&str]| {
        let mut builder = ItemsBuilder::new(parameters.encoding(), keys.len()).unwrap();
        (0..).zip(keys).for_each(|(row, key)| builder.push(row, key.as_bytes()).unwrap());
        builder.build(OnDuplicates::All).unwrap()
    };
    let sets = &Planted {
        receiver: table(&["a", "b", "a", "c", "a"]),
        sender: table(&["x", "a", "c", "a"]),
        receiver_rows: vec![0, 2, 3, 4],
        sender_rows: vec![1, 2, 3],
    };
    let payloads = payloads(sets, 3);
    let case = case(Security::SemiHonest, Profile::Conservative, 3);
    let ended = run_for_result((&ENTRY, sets, case), Attached::Payloads(&payloads), memory::pair());
    let Ok(Outcome::Payloads(found)) = ended.receiver else { panic!("{:?}", ended.receiver) };
    assert_eq!((found.matches().rows(), found.matches().items()), (&sets.receiver_rows[..], 2));
    let [a, _, again, third] = [0, 2, 1, 3].map(|index| found.payload(index));
    assert!(a == again && a == third && a != found.payload(2));
}

#[test]
fn what_is_sent_depends_on_sizes_and_terms_alone() {
    for security in Security::ALL {
        let case = case(security, Profile::Conservative, 40);
        let sent = [0, 1, 70].map(|common| {
            let sets = &planted_for(&case.parameters, 90, 70, common, 3);
            let attached = &payloads(sets, 40);
            let traffic =
                run_for_result((&ENTRY, sets, case), Attached::Payloads(attached), memory::pair()).traffic;
            [traffic.payload_sent, traffic.payload_received]
        });
        assert!(sent.windows(2).all(|pair| pair[0] == pair[1]), "{sent:?}");
    }
}

/// The pads of all items are sevens.
struct Sevens;

impl Proofs for Sevens {
    fn send(&self, _: &Items, _: &[(u32, u32)], _: &mut dyn Channel) -> Result<(), Error> {
        unreachable!("no proofs")
    }

    fn check(&self, _: &Items, _: &[usize], _: &mut dyn Channel) -> Result<(), Error> {
        unreachable!("no proofs")
    }

    fn pads(&self, _: &Items, _: &[u32], pads: &mut [u8]) {
        pads.fill(7);
    }
}

#[test]
fn pads_are_wiped() {
    let sets = &planted_for(&Parameters::default(), 2000, 0, 0, 1);
    let (order, width): (Vec<u32>, _) = ((0..2000).collect(), 5);
    let (mut blocks, before) = (vec![1; 2000 * width], wiped_bytes());
    encrypt(1, &Sevens, &sets.receiver, &order, width, &mut blocks);
    assert!(blocks.iter().all(|byte| *byte == 6));
    assert_eq!(wiped_bytes() - before, blocks.len());
}

#[test]
fn what_is_attached_has_to_fit() {
    let asked = case(Security::SemiHonest, Profile::Conservative, 8);
    let sets = &planted_for(&asked.parameters, 9, 7, 3, 1);
    let few = Payloads::new(8, vec![0; 6 * 8]).unwrap();
    let (narrow, right) = (payloads(sets, 4), payloads(sets, 8));
    for attached in [Attached::Nothing, Attached::Payloads(&few), Attached::Payloads(&narrow)] {
        let ended = run_for_result((&ENTRY, sets, asked), attached, memory::pair());
        assert_eq!(ended.sender, Err(Misuse::UnfitAttached.into()));
    }
    let plain = Case::default();
    let ended = run_for_result((&ENTRY, sets, plain), Attached::Payloads(&right), memory::pair());
    assert_eq!(ended.sender, Err(Misuse::UnfitAttached.into()));
}

/// The honest sender, but for its list of encrypted blocks.
fn send_list(
    ctx: &mut Ctx<'_, '_>,
    items: &Items,
    payloads: &Payloads,
    cheat: impl FnOnce(Vec<u8>) -> Vec<u8>,
) -> Result<(), Error> {
    fn masks(
        run: &Run<'_>,
        oprf: impl OprfSender<Proofs: Proofs + Sync>,
        (items, payloads): (&Items, &Payloads),
        channel: &mut dyn Channel,
    ) -> Result<Vec<u8>, Error> {
        let mut masks = OutgoingMasks::new(run);
        let proofs = oprf.evaluate_all(items, |item| item as u32, channel, &mut masks)?;
        let (mut here, mut there) = memory::pair();
        send(run, (items, &masks.into_order()), &proofs, payloads, &mut here)?;
        let mut bytes = vec![0; items.len() * payloads.width()];
        there.recv_exact(&mut bytes)?;
        Ok(bytes)
    }
    let Ctx { run, channel, rng, .. } = ctx.reborrow();
    let (setup, what) = (setup(run)?, (items, payloads));
    let list = match (run.parameters.security, costs::small_values(run)) {
        (Security::SemiHonest, true) => masks(run, Small::new(run, setup, rng), what, channel)?,
        (Security::SemiHonest, false) => masks(run, Wide::new(run, setup, rng), what, channel)?,
        (Security::Malicious, _) => masks(run, Checked::new(run, setup, rng), what, channel)?,
    };
    channel.send(&cheat(list))?;
    Ok(channel.flush()?)
}

/// The blocks that a receiver opens, by row, and its items' true ones; or how it ends.
fn opened(
    sets: &Planted,
    case: Case,
    payloads: &Payloads,
    cheat: impl FnOnce(Vec<u8>) -> Vec<u8> + Send,
) -> Result<Vec<Vec<u8>>, Error> {
    let (found, _) = duel(
        (&ENTRY, sets, case),
        Box::new(|ctx| ENTRY.receive(&mut ctx.reborrow(), &sets.receiver)?.finish()),
        Box::new(|ctx| send_list(ctx, &sets.sender, payloads, cheat)),
    );
    match found? {
        Outcome::Payloads(found) => {
            assert_eq!(found.matches().rows(), sets.receiver_rows, "the rows are those of the masks");
            Ok((0..found.matches().rows().len()).map(|index| found.payload(index).to_vec()).collect())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cheating_sender_chooses_blocks_of_its_own_items_and_nothing_else() {
    const BYTES: usize = 24;
    for security in Security::ALL {
        let case = case(security, Profile::Conservative, BYTES as u32);
        let sets = &planted_for(&case.parameters, 80, 60, 30, 5);
        let payloads = &payloads(sets, BYTES as u32);
        let honest = opened(sets, case, payloads, |list| list).unwrap();
        assert_eq!(honest.len(), 30);
        // Too few: the receiver waits for the whole list, and the connection ends.
        for kept in [0, BYTES - 1, 59 * BYTES, 60 * BYTES - 1] {
            let short = opened(sets, case, payloads, |mut list| {
                list.truncate(kept);
                list
            });
            assert!(matches!(short, Err(Error::Channel(_))), "{short:?}");
        }
        // More than agreed is not looked at; both ends have seen other bytes then, which ends a session.
        let long = opened(sets, case, payloads, |mut list| {
            list.extend([7; 100]);
            list
        });
        assert_eq!(long.unwrap(), honest);
        // Another order: no block opens under another item's key.
        let permuted = opened(sets, case, payloads, |mut list| {
            list.rotate_left(BYTES);
            list
        });
        let known: Vec<&[u8]> = (0..60).map(|item| payloads.get(item)).collect();
        assert!(permuted.unwrap().iter().all(|block| !known.contains(&&block[..])), "{security:?}");
        // A changed bit is that bit of that block, and changes nothing about which rows match or how the run ends.
        let tampered = opened(sets, case, payloads, |mut list| {
            list.iter_mut().step_by(BYTES).for_each(|first| *first ^= 1);
            list
        });
        for (tampered, honest) in tampered.unwrap().iter().zip(&honest) {
            assert_eq!((tampered[0] ^ 1, &tampered[1..]), (honest[0], &honest[1..]));
        }
    }
}

#[test]
fn flaw_blocks_say_nothing_without_a_match() {
    const BYTES: usize = 32;
    for security in Security::ALL {
        // All payloads are zeros, so that the list shows the pads.
        let lists = [0, 0, 60].map(|common| {
            let case = Case { seed: common as u64, ..case(security, Profile::Conservative, BYTES as u32) };
            let sets = &planted_for(&case.parameters, 80, 60, common, 5);
            let zeros = &Payloads::new(BYTES, vec![0; 60 * BYTES]).unwrap();
            let seen = std::sync::Mutex::new(Vec::new());
            let found = opened(sets, case, zeros, |list| {
                *seen.lock().unwrap() = list.clone();
                list
            });
            assert!(found.unwrap().iter().all(|block| block.iter().all(|byte| *byte == 0)));
            seen.into_inner().unwrap()
        });
        for list in &lists {
            // Each block has a pad of its own, without a byte that stays the same.
            let blocks: std::collections::HashSet<&[u8]> = list.chunks(BYTES).collect();
            assert_eq!(blocks.len(), 60);
            let ones: u32 = list.iter().map(|byte| byte.count_ones()).sum();
            let bits = 8.0 * list.len() as f64;
            assert!((2.0 * f64::from(ones) - bits).powi(2) <= 25.0 * bits, "{ones} of {bits}");
        }
        assert!(lists[0] == lists[1], "one seed");
        let other: std::collections::HashSet<&[u8]> = lists[2].chunks(BYTES).collect();
        assert!(lists[0].chunks(BYTES).all(|block| !other.contains(block)), "other pads in another run");
    }
}
