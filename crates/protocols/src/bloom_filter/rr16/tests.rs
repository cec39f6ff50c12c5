//! The online phase over OTs that a dealer hands out, and what the permutation shows.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use vesica_channel::memory;
use vesica_crypto::block::Block;
use vesica_crypto::memory::Wiped;
use vesica_crypto::prg::Prg;
use vesica_ot::testing::credible;
use zeroize::Zeroizing;

use super::chosen::{self, ChosenStrings};
use super::draws::{challenge, vartime_shuffle};
use super::ots::Batches;
use super::state::RowHashes;
use super::*;
use crate::parameters::Parameters;
use crate::testing::{Case, DIRECTIONS, Planted, Tampering, Target, duel, planted, wiped};

/// Both outputs of an offline phase, of OTs as a dealer hands them out.
fn dealt(items: usize, seed: u64) -> (OfflineReceiver, OfflineSender) {
    let parameters = Rr16Parameters::for_items(items);
    let (id, mut prg) = ([seed as u8; ID], Prg::from_seed(Block::from(u128::from(seed))));
    let (kept, ots, ones) = (parameters.kept(), parameters.ots_of_group() as usize, parameters.ones());
    let offset = prg.block();
    let mut rows = vec![Block::ZERO; parameters.ots()];
    prg.fill_blocks(&mut rows);
    let challenges: Vec<_> = (0..Batches::of(&parameters).count()).map(|_| prg.block()).collect();
    let (rows, offset, chosen) = (Wiped::from(rows), Zeroizing::new(offset), false);
    let sender = OfflineSender { id, parameters, challenges, rows, offset, chosen };
    let (mut orders, mut counts) = (Vec::new(), Vec::new());
    let mut strings = vec![Block::ZERO; parameters.groups() * ones];
    let order_seed = prg.block();
    for group in 0..parameters.groups() {
        let (mut opened, mut marks, mut order) = (vec![0; ots - kept], vec![0; ots], vec![0; ots]);
        challenge(sender.challenge_of(group), group as u64, &mut opened, &mut marks);
        vartime_shuffle(order_seed, group as u64, &mut order);
        let unopened = |order: &[u16]| -> Vec<u16> {
            order.iter().copied().filter(|&number| marks[usize::from(number)] == 0).collect()
        };
        let mine = unopened(&order[..ones]);
        for (string, number) in strings[group * ones..].iter_mut().zip(&mine) {
            let ot = group * ots + usize::from(*number);
            let mut row = [[sender.rows[ot] ^ *sender.offset]];
            RowHashes::of(&id).strings.hash_at(&[ot as u64], &mut row);
            *string = row[0][0];
        }
        counts.push(mine.len() as u32);
        orders.extend(unopened(&order));
    }
    let (order, strings) = (Wiped::from(orders), Wiped::from(strings));
    (OfflineReceiver { id, parameters, order, ones: counts, strings }, sender)
}

fn online(sets: &Planted, case: Case, offline: (OfflineReceiver, OfflineSender)) -> Result<Vec<u64>, Error> {
    let (receiver, sender) = offline;
    let (rows, sent) = duel(
        (&ENTRY, sets, case),
        Box::new(|ctx| {
            Ok(online_receive(&mut ctx.reborrow(), &sets.receiver, receiver)?.matches()?.into_rows())
        }),
        Box::new(|ctx| online_send(ctx, &sets.sender, sender)),
    );
    sent.and(rows)
}

#[test]
fn over_dealt_ots_it_is_the_plain_join() {
    for (receiver, sender, made_for, threads) in
        [(1, 1, 1, 1), (3000, 200, 3000, 3), (200, 3000, 200, 2), (150, 90, 500, 1)]
    {
        let sets = planted(receiver, sender, receiver.min(sender) / 2, 3);
        let case = Case { threads, ..Case::default() };
        assert_eq!(online(&sets, case, dealt(made_for, 5)).unwrap(), sets.receiver_rows, "{receiver}");
    }
}

/// The strings of opened OTs and those of the filter come from two hashes, each tweaked by the OT's number.
#[test]
fn flaw_equal_rows_have_equal_strings() {
    let hashes = RowHashes::of(&[1; ID]);
    let mut seen = std::collections::HashSet::new();
    for pads in [&hashes.opened, &hashes.strings, &RowHashes::of(&[2; ID]).strings] {
        for number in 0..50 {
            let mut row = [[Block::ONES]];
            pads.hash_at(&[number], &mut row);
            assert!(seen.insert(row[0][0].to_bytes()));
        }
    }
}

/// Where the filter is set, π is as random as elsewhere: OTs of neighbouring slots of one kind are in
/// either order equally often, and both kinds have the same OTs.
#[test]
fn the_permutation_does_not_depend_on_the_filter() {
    let parameters = Rr16Parameters::for_items(30);
    assert_eq!(parameters.groups(), 1);
    let middle = parameters.ots_of_group() as usize / 2;
    let (mut ascending, mut low, mut pairs, mut set_slots) = ([0; 2], [0; 2], [0; 2], [0; 2]);
    for seed in 0..3 {
        let sets = planted(30, 5, 0, seed);
        let (offline, _) = dealt(30, seed);
        let (mut here, mut there) = memory::pair();
        let run = ENTRY.run(&[seed as u8; 32], Sizes { receiver: 30, sender: 5 }, Parameters::default());
        let positions = FilterPositions::new(&run.context, parameters.shape(), &sets.receiver, 1);
        let random = offline.order.to_vec();
        let filter = ReceiverFilter::new(&run, offline, &positions);
        let set = filter.set();
        filter.permute_and_sum(&run, &mut here).unwrap();
        let mut bytes = vec![0; 2 * parameters.all_slots()];
        there.recv_exact(&mut bytes).unwrap();
        let order: Vec<_> = bytes.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect();
        for kind in [false, true] {
            let of_kind: Vec<_> =
                order.iter().zip(&set).filter(|(_, set)| **set == kind).map(|(ot, _)| *ot).collect();
            // Set slots take OTs from the front of the order, the others from its back.
            let taken: Vec<_> = match kind {
                true => random[..of_kind.len()].to_vec(),
                false => random.iter().rev().copied().take(of_kind.len()).collect(),
            };
            assert!(of_kind == taken, "seed {seed}, {kind}");
            let kind = usize::from(kind);
            set_slots[kind] += of_kind.len();
            low[kind] += of_kind.iter().filter(|&&ot| usize::from(ot) < middle).count();
            pairs[kind] += of_kind.len() / 2;
            ascending[kind] += of_kind.as_chunks::<2>().0.iter().filter(|[a, b]| a < b).count();
        }
    }
    for kind in 0..2 {
        assert!(near_half(ascending[kind], pairs[kind]), "{ascending:?} of {pairs:?}");
        assert!(near_half(low[kind], set_slots[kind]), "{low:?} of {set_slots:?}");
    }
}

/// Whether so many of all are what a fair coin may give. (The binomial sum of `credible` is for some hundreds.)
fn near_half(count: usize, all: usize) -> bool {
    (count as f64 - all as f64 / 2.0).abs() < 2.0 * (all as f64).sqrt()
}

/// What an offline phase leaves to the receiver: of each group the OTs that were not opened, those of choice 1
/// first, with their strings; apart from that in random order, the ones like the zeros.
#[test]
fn the_order_has_the_unopened_ots_with_the_ones_first_and_is_random_otherwise() {
    let sets = planted(40, 5, 0, 1);
    let (receiver, sender) = duel(
        (&ENTRY, &sets, Case::default()),
        Box::new(|ctx| offline_receive(ctx, 40)),
        Box::new(|ctx| offline_send(ctx, 40)),
    );
    let (receiver, sender) = (receiver.unwrap(), sender.unwrap());
    let (parameters, strings) = (receiver.parameters, RowHashes::of(&receiver.id).strings);
    let (kept, ots) = (parameters.kept(), parameters.ots_of_group() as usize);
    for group in 0..parameters.groups() {
        let order = &receiver.order[group * kept..][..kept];
        let (mut opened, mut marks) = (vec![0; ots - kept], vec![0; ots]);
        challenge(sender.challenge_of(group), group as u64, &mut opened, &mut marks);
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        let unopened = (0..ots as u16).filter(|&number| marks[usize::from(number)] == 0);
        assert!(sorted.into_iter().eq(unopened), "group {group}");
        let (ones, zeros) = order.split_at(receiver.ones[group] as usize);
        for (number, string) in ones.iter().zip(&receiver.strings[group * parameters.ones()..]) {
            let ot = group * ots + usize::from(*number);
            let mut row = [[sender.rows[ot] ^ *sender.offset]];
            strings.hash_at(&[ot as u64], &mut row);
            assert!(row[0][0] == *string, "group {group}, {number} has choice 0");
        }
        for kind in [ones, zeros] {
            let ascending = kind.as_chunks::<2>().0.iter().filter(|[a, b]| a < b).count();
            let low = kind.iter().filter(|&&number| usize::from(number) < ots / 2).count();
            assert!(near_half(ascending, kind.len() / 2) && near_half(low, kind.len()), "group {group}");
        }
    }
}

/// Another phase of the same session, and another group of the same phase, have other choices. A sender that knew them
/// would see in π which slots are set.
#[test]
fn flaw_choices_that_another_phase_or_group_shares() {
    let sets = planted(5, 5, 0, 1);
    // The choices of each group, where they were not opened. The sender draws the same each time.
    let choices = |seed| {
        let (receiver, sender) = duel(
            (&ENTRY, &sets, Case::default()),
            Box::new(|ctx| {
                let mut rng = StdRng::seed_from_u64(seed);
                offline_receive(&mut Ctx { rng: &mut rng, ..ctx.reborrow() }, 800)
            }),
            Box::new(|ctx| offline_send(ctx, 800)),
        );
        let (receiver, sender) = (receiver.unwrap(), sender.unwrap());
        assert!(sender.challenges.len() > 1, "more than one batch");
        let (kept, ots) = (receiver.parameters.kept(), receiver.parameters.ots_of_group() as usize);
        let of_group = |(order, ones): (&[u16], &u32)| {
            let mut choices = vec![None; ots];
            (0..).zip(order).for_each(|(at, ot)| choices[usize::from(*ot)] = Some(at < *ones));
            choices
        };
        receiver.order.chunks(kept).zip(&receiver.ones).map(of_group).collect::<Vec<_>>()
    };
    let (first, second) = (choices(101), choices(102));
    let differ = |first: &[Option<bool>], second: &[Option<bool>]| {
        let both = || first.iter().zip(second).filter_map(|(a, b)| Some((a.as_ref()?, b.as_ref()?)));
        let [all, ones, others] =
            [both().count(), both().filter(|(a, _)| **a).count(), both().filter(|(_, b)| **b).count()]
                .map(|count| count as f64);
        let equal = both().filter(|(a, b)| a == b).count() as f64;
        // As two independent draws would have it, within about eight standard deviations.
        let expected = (ones * others + (all - ones) * (all - others)) / all;
        assert!(
            all > 1000.0 && (equal - expected).abs() < 4.0 * all.sqrt(),
            "{equal} of {all}, not {expected}"
        );
    };
    for (group, choices) in first.iter().enumerate() {
        differ(choices, &second[group]);
        first[..group].iter().for_each(|other| differ(choices, other));
    }
}

/// The choices are ones at random places, so many in each group.
#[test]
fn choices_say_nothing_of_the_items() {
    let mut counts = [0; 40];
    for seed in 0..500 {
        let mut order = [0; 40];
        vartime_shuffle(Block::from(seed as u128), 0, &mut order);
        order[..15].iter().for_each(|&ot| counts[usize::from(ot)] += 1);
    }
    assert!(counts.iter().all(|&count| credible(count, 500, 15.0 / 40.0)), "{counts:?}");
}

#[test]
fn secrets_are_wiped_where_a_run_breaks_off() {
    let honest = wiped::run(&ENTRY, Parameters::default(), None);
    let parameters = Rr16Parameters::for_items(200);
    let strings = parameters.groups() * parameters.ones() * Block::BYTES;
    let rows = parameters.ots() * Block::BYTES;
    let [receiver, sender] = honest.parties;
    assert!(receiver.0 && receiver.1 > strings + rows && sender.0 && sender.1 > rows);
    // Without the masks, and without the permutation.
    let target = |party: usize| Target {
        direction: DIRECTIONS[party],
        frame: honest.frames[party] - 1,
        tampering: Tampering::Drop,
    };
    let [(well, wiped_bytes), _] = wiped::run(&ENTRY, Parameters::default(), Some(target(1))).parties;
    assert!(!well && wiped_bytes > strings + rows);
    let [_, (well, wiped_bytes)] = wiped::run(&ENTRY, Parameters::default(), Some(target(0))).parties;
    assert!(!well && wiped_bytes > rows);
}

/// A run's randomness makes its own OTs: the same items twice show nothing in common.
#[test]
fn offline_phases_differ() {
    let mut rng = StdRng::seed_from_u64(1);
    let (first, second) = (dealt(2, rng.next_u64() % 200), dealt(2, 201));
    assert!(first.0.order[..] != second.0.order[..] && first.0.id() != second.0.id());
    assert_eq!(format!("{:?}", first.1), format!("{:?}", second.1), "nothing of a state is printed");
}

/// Both halves of an offline phase with strings that the sender chooses.
fn with_chosen_strings(items: usize, seed: u64) -> (OfflineReceiver, OfflineSender) {
    let sets = planted(5, 5, 0, 1);
    let case = Case {
        parameters: Parameters { variant: Form::Chosen.variant(), ..Parameters::default() },
        seed,
        ..Case::default()
    };
    let (receiver, sender) = duel(
        (&ENTRY, &sets, case),
        Box::new(|ctx| offline_receive(ctx, items)),
        Box::new(|ctx| offline_send(ctx, items)),
    );
    (receiver.unwrap(), sender.unwrap())
}

/// Where the sender chooses strings, the receiver has those of its ones as they were chosen, with no hash on top.
#[test]
fn chosen_strings_arrive_as_they_were_chosen() {
    let (receiver, sender) = with_chosen_strings(800, 1);
    let parameters = receiver.parameters;
    assert!(parameters.groups() > 1 && sender.chosen);
    for group in 0..parameters.groups() {
        let order = &receiver.order[group * parameters.kept()..][..receiver.ones[group] as usize];
        for (number, string) in order.iter().zip(&receiver.strings[group * parameters.ones()..]) {
            let ot = group * parameters.ots_of_group() as usize + usize::from(*number);
            assert!(*string == sender.rows[ot], "group {group}, OT {number}");
        }
    }
}

/// A string that two OTs share tells what a choice of zero must not: no two of a run are equal, nor of two runs, and
/// the proof of a zero is none of the filter's strings.
#[test]
fn flaw_chosen_strings_that_two_ots_share() {
    let mut seen = std::collections::HashSet::new();
    let mut add = |strings: &[Block]| assert!(strings.iter().all(|string| seen.insert(string.to_bytes())));
    add(&with_chosen_strings(300, 1).1.rows);
    add(&with_chosen_strings(300, 2).1.rows);
    let parameters = Rr16Parameters::for_items(800);
    let strings = ChosenStrings::new(&parameters, Block::ONES);
    for group in 0..parameters.groups() {
        [false, true].into_iter().for_each(|choice| add(&strings.of_group(group, choice)));
    }
}

/// What is sent of a string is masked by a hash of a row that the receiver has for its own choice alone.
#[test]
fn flaw_a_chosen_string_without_its_mask() {
    let parameters = Rr16Parameters::for_items(3);
    let (strings, hashes) = (ChosenStrings::new(&parameters, Block::ONES), RowHashes::of(&[1; ID]));
    let (mut here, mut there) = memory::pair();
    let (mut prg, count) = (Prg::from_seed(Block::ZERO), parameters.ots_of_group() as usize);
    let (mut rows, delta) = (vec![Block::ZERO; count], prg.block());
    prg.fill_blocks(&mut rows);
    let first = rows.clone();
    strings.send((1, &hashes), (0, delta), &mut rows, &mut here).unwrap();
    here.flush().unwrap();
    let masked = chosen::receive(count, &mut there).unwrap();
    let own = [false, true].map(|choice| strings.of_group(0, choice));
    for (number, masked) in masked.iter().enumerate() {
        let pad = |pads: &vesica_ot::random::OtPads<1>, row| {
            let mut row = [[row]];
            pads.hash_at(&[number as u64], &mut row);
            row[0][0]
        };
        let masks = [pad(&hashes.opened, first[number]), pad(&hashes.strings, first[number] ^ delta)];
        assert!(*masked == [own[0][number] ^ masks[0], own[1][number] ^ masks[1]], "OT {number}");
    }
    assert!(rows[..] == own[1][..]);
}

/// Nobody knows which OTs are opened before they are made: each batch of each run has a challenge of its own.
#[test]
fn flaw_a_challenge_that_can_be_known_before_its_ots() {
    let mut seen = std::collections::HashSet::new();
    for seed in [1, 2] {
        let sets = planted(5, 5, 0, 1);
        let (receiver, sender) = duel(
            (&ENTRY, &sets, Case { seed, ..Case::default() }),
            Box::new(|ctx| offline_receive(ctx, 800)),
            Box::new(|ctx| offline_send(ctx, 800)),
        );
        let (_, sender) = (receiver.unwrap(), sender.unwrap());
        assert!(sender.challenges.len() > 1);
        assert!(sender.challenges.iter().all(|challenge| seen.insert(challenge.to_bytes())));
    }
}

/// The context of the hash functions and masks, as both sides have it after a coin toss.
fn tossed(receiver_seed: u64, sender_seed: u64) -> [u8; 16] {
    let run = ENTRY.run(&[7; 32], Sizes { receiver: 3, sender: 3 }, Parameters::default());
    let (mut here, mut there) = memory::pair();
    let hash = |context: Context| {
        let mut hash = [0; 16];
        context.hash(Label::new("test"), &[], &mut hash);
        hash
    };
    let run = &run;
    std::thread::scope(|scope| {
        let sender = scope.spawn(move || {
            let mut rng = StdRng::seed_from_u64(sender_seed);
            hash(coins_of_sender(&mut Ctx::new(run, &mut there, &mut rng), &[1; ID]).unwrap())
        });
        let mut rng = StdRng::seed_from_u64(receiver_seed);
        let mine = hash(coins_of_receiver(&mut Ctx::new(run, &mut here, &mut rng), &[1; ID]).unwrap());
        assert_eq!(mine, sender.join().unwrap());
        mine
    })
}

/// Either side's coin decides where items are, so that nobody can search for items while the OTs are made.
#[test]
fn flaw_hash_functions_that_one_side_chooses() {
    let [first, other_receiver, other_sender] = [(1, 2), (3, 2), (1, 4)].map(|(r, s)| tossed(r, s));
    assert!(first != other_receiver && first != other_sender && first == tossed(1, 2));
}
