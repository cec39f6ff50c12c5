use super::*;
use crate::circuit_based::vole::ENTRY;
use crate::testing::{Case, EndedWith, Planted, planted, run_for_result, shape};
use crate::{Attached, ResultName};
use vesica_channel::memory;

fn noise(thousandths: u32) -> Option<Noise> {
    Some(Noise::of_thousandths(thousandths).unwrap())
}

/// A case of this result.
fn case(result: ResultKind, min_matches: u64) -> Case {
    Case { parameters: Parameters { result, min_matches, ..Parameters::default() }, ..Case::default() }
}

/// Runs it, and holds its bytes to the formulas and both transcripts to one another.
fn ended(sets: &Planted, case: Case, values: &[Vec<u64>]) -> EndedWith {
    let attached = if values.is_empty() { Attached::Nothing } else { Attached::Values(values) };
    let ended = run_for_result((&ENTRY, sets, case), attached, memory::pair());
    let shape = shape(sets, case);
    assert_eq!(ended.traffic.payload_sent, ENTRY.bytes(Role::Receiver, &shape), "{case:?}");
    assert_eq!(ended.traffic.payload_received, ENTRY.bytes(Role::Sender, &shape), "{case:?}");
    assert!(ended.same_transcript);
    ended
}

/// What both parties learn.
fn learnt(sets: &Planted, case: Case, values: &[Vec<u64>]) -> [Result<Option<Outcome>, Error>; 2] {
    let EndedWith { receiver, sender, .. } = ended(sets, case, values);
    [receiver.map(Some), sender]
}

/// Sizes 1, unequal, none in common, all in common.
const SIZES: [(usize, usize, usize); 7] =
    [(1, 1, 1), (1, 1, 0), (1, 500, 1), (500, 1, 1), (300, 900, 120), (400, 150, 0), (250, 250, 250)];

/// `columns` numbers for each item, of which some are 0 and some large.
fn values(sets: &Planted, columns: usize) -> Vec<Vec<u64>> {
    let number = |item: usize, column: usize| match (item + column) % 5 {
        0 => 0,
        1 => u64::MAX,
        _ => ((item as u64 + 1) * 0x0123_4567_89ab) >> column,
    };
    (0..columns).map(|column| (0..sets.sender.len()).map(|item| number(item, column)).collect()).collect()
}

/// Their sums over the items whose rows match.
fn plain_sums(sets: &Planted, values: &[Vec<u64>]) -> Vec<u128> {
    let matches = |item: &usize| sets.sender.rows_of(*item).any(|row| sets.sender_rows.contains(&row));
    let items: Vec<usize> = (0..sets.sender.len()).filter(matches).collect();
    values.iter().map(|column| items.iter().map(|item| u128::from(column[*item])).sum()).collect()
}

#[test]
fn a_count_is_that_of_the_plain_join() {
    for (receiver, sender, common) in SIZES {
        let sets = &planted(receiver, sender, common, 3);
        let count = Some(Outcome::Count(common as i64));
        for learns in [Learns::Receiver, Learns::Both] {
            let theirs = if learns == Learns::Both { count.clone() } else { None };
            let learnt = learnt(sets, Case { learns, ..case(ResultKind::Count, 0) }, &[]);
            assert_eq!(learnt, [Ok(count.clone()), Ok(theirs)], "{receiver}x{sender}");
        }
    }
}

#[test]
fn an_empty_set_has_nothing_in_common_and_needs_no_message() {
    for (receiver, sender) in [(0, 0), (0, 3), (3, 0)] {
        let sets = &planted(receiver, sender, 0, 3);
        let refused = Err(Error::BelowMinimum { least: 1, noisy: false });
        assert_eq!(learnt(sets, case(ResultKind::Count, 0), &[]), [Ok(Some(Outcome::Count(0))), Ok(None)]);
        assert_eq!(learnt(sets, case(ResultKind::Count, 1), &[]), [refused.clone(), refused]);
        let (yes, no) = (Outcome::AtLeast(true), Outcome::AtLeast(false));
        let ask = |least| learnt(sets, case(ResultKind::AtLeast(least), 0), &[]);
        assert_eq!(
            [ask(0), ask(1)],
            [[Ok(Some(yes.clone())), Ok(Some(yes))], [Ok(Some(no.clone())), Ok(Some(no))]]
        );
        let sums = [vec![7; sender], vec![9; sender]];
        let ended = learnt(sets, case(ResultKind::Sums { columns: 2 }, 0), &sums);
        assert_eq!(ended, [Ok(Some(Outcome::Sums(vec![0, 0]))), Ok(None)]);
    }
}

#[test]
fn below_the_minimum_both_refuse_and_from_there_on_neither() {
    let sets = &planted(90, 70, 20, 3);
    let values = &values(sets, 1);
    let sum = plain_sums(sets, values)[0];
    for learns in [Learns::Receiver, Learns::Both] {
        for least in [1, 19, 20, 21, 70, 71, u64::MAX] {
            let refused: Result<Option<Outcome>, _> = Err(Error::BelowMinimum { least, noisy: false });
            for (result, values, outcome) in [
                (ResultKind::Count, &[][..], Outcome::Count(20)),
                (ResultKind::Sums { columns: 1 }, &values[..], Outcome::Sums(vec![sum])),
            ] {
                let both = Case { learns, ..case(result, least) };
                let expected = if least > 20 {
                    [refused.clone(), refused.clone()]
                } else {
                    [Ok(Some(outcome.clone())), Ok((learns == Learns::Both).then_some(outcome))]
                };
                assert_eq!(learnt(sets, both, values), expected, "{result:?} of at least {least}");
            }
        }
    }
}

#[test]
fn both_learn_whether_there_are_so_many() {
    for (receiver, sender, common) in SIZES {
        let sets = &planted(receiver, sender, common, 4);
        let common = common as u64;
        for least in [0, common.saturating_sub(1), common, common + 1, u64::MAX] {
            let answer = Some(Outcome::AtLeast(common >= least));
            let learnt = learnt(sets, case(ResultKind::AtLeast(least), 0), &[]);
            assert_eq!(learnt, [Ok(answer.clone()), Ok(answer)], "{common} of {least}");
        }
    }
}

#[test]
fn sums_are_those_of_the_plain_join() {
    for (receiver, sender, common) in SIZES {
        let sets = &planted(receiver, sender, common, 5);
        for columns in [1, 3] {
            let values = &values(sets, columns);
            let sums = Some(Outcome::Sums(plain_sums(sets, values)));
            for learns in [Learns::Receiver, Learns::Both] {
                let theirs = if learns == Learns::Both { sums.clone() } else { None };
                let case = Case { learns, ..case(ResultKind::Sums { columns: columns as u8 }, 0) };
                assert_eq!(learnt(sets, case, values), [Ok(sums.clone()), Ok(theirs)], "{receiver}x{sender}");
            }
        }
    }
}

#[test]
fn flaw_however_large_a_sum_is_the_sender_learns_nothing_of_it() {
    // A sender could choose its values so that a limit on a sum tests whether an item matches.
    let sets = &planted(60, 50, 8, 6);
    let matching: Vec<usize> = (0..50)
        .filter(|item| sets.sender.rows_of(*item).any(|row| sets.sender_rows.contains(&row)))
        .collect();
    let column = |first: u64, others: u64| {
        let mut column = vec![u64::MAX; 50];
        matching.iter().for_each(|item| column[*item] = others);
        column[matching[0]] = first;
        column
    };
    let mut seen = Vec::new();
    for (first, others) in [(u64::MAX - 7, 1), (u64::MAX - 6, 1), (u64::MAX, u64::MAX)] {
        let columns = [column(first, others), column(u64::MAX, 0)];
        let sums = vec![u128::from(first) + 7 * u128::from(others), u64::MAX.into()];
        let case = case(ResultKind::Sums { columns: 2 }, 0);
        assert_eq!(learnt(sets, case, &columns), [Ok(Some(Outcome::Sums(sums))), Ok(None)]);
        // The last thing that the sender gets are the masked numbers, with all their bits at random.
        let (sent, _) = recorded(sets, case, &columns);
        seen.push([sent[0].len(), sent[1].len()]);
        let refused: Result<Option<Outcome>, _> = Err(Error::BelowMinimum { least: 9, noisy: false });
        let few = Case { parameters: Parameters { min_matches: 9, ..case.parameters }, ..case };
        assert_eq!(learnt(sets, few, &columns), [refused.clone(), refused]);
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]));
    // The sender is opened nothing: the circuit ends with the match bits.
    let shape = shape(sets, case(ResultKind::Sums { columns: 2 }, 0));
    let aggregate = Aggregate::of(&shape, 10).unwrap();
    let mut count = vesica_circuit::count::Count::default();
    let matches = count.constant(false, 10);
    aggregate.count(&mut count, &matches).unwrap();
    assert_eq!((count.ands, aggregate.opened_bytes(Role::Receiver)), (0, 0));
}

/// What each party adds in a run with this seed.
fn drawn(case: Case) -> [i64; 2] {
    use rand::SeedableRng;
    let noise = case.parameters.noise.unwrap();
    [0, 1].map(|party| {
        let rng = &mut rand::rngs::StdRng::seed_from_u64(case.seed << 1 | party);
        laplace::sample(noise.thousandths(), Noise::WHOLE, rng)
    })
}

#[test]
fn a_noisy_count_has_the_noise_of_both() {
    let sets = &planted(80, 60, 3, 7);
    let (mut seen, mut negative, mut added) = (std::collections::HashSet::new(), false, [0; 2]);
    for seed in 0..12 {
        let mut case = Case { seed, ..case(ResultKind::Count, 0) };
        case.parameters.noise = noise(if seed % 2 == 0 { 100 } else { 1 });
        let [mine, theirs] = drawn(case);
        added = [added[0] + i64::from(mine != 0), added[1] + i64::from(theirs != 0)];
        let count = 3 + mine + theirs;
        assert_eq!(learnt(sets, case, &[])[0], Ok(Some(Outcome::Count(count))));
        seen.insert(count - 3);
        negative |= count < 0;
        // The minimum and the threshold are those of the noisy count.
        for least in [count - 1, count, count + 1].into_iter().filter(|least| *least > 0) {
            let least = least as u64;
            let answer = Outcome::AtLeast(count >= least as i64);
            let with = |result, min_matches| Parameters { result, min_matches, ..case.parameters };
            let asked = Case { parameters: with(ResultKind::AtLeast(least), 0), ..case };
            assert_eq!(learnt(sets, asked, &[]), [Ok(Some(answer.clone())), Ok(Some(answer))]);
            let minimum = Case { parameters: with(ResultKind::Count, least), ..case };
            let expected = if count >= least as i64 {
                Ok(Some(Outcome::Count(count)))
            } else {
                Err(Error::BelowMinimum { least, noisy: true })
            };
            assert_eq!(learnt(sets, minimum, &[])[0], expected);
        }
    }
    assert!(seen.len() > 8 && negative && added.iter().all(|party| *party > 8));
}

#[test]
fn what_is_sent_depends_on_sizes_and_terms_alone() {
    let same = |parameters: Parameters, columns: usize| {
        for learns in [Learns::Receiver, Learns::Both] {
            let traffic = [(0, 1), (1, 2), (40, 3), (70, 4)].map(|(common, seed)| {
                let sets = &planted(90, 70, common, seed);
                let case = Case { parameters, learns, seed, ..Case::default() };
                let ended = ended(sets, case, &values(sets, columns));
                [ended.traffic.payload_sent, ended.traffic.payload_received]
            });
            assert!(traffic.windows(2).all(|pair| pair[0] == pair[1]), "{parameters:?} {traffic:?}");
        }
    };
    let base = Parameters::default();
    // Below, at and above the minimum.
    same(Parameters { result: ResultKind::Count, ..base }, 0);
    same(Parameters { result: ResultKind::Count, min_matches: 40, noise: noise(5000), ..base }, 0);
    same(Parameters { result: ResultKind::AtLeast(40), ..base }, 0);
    same(Parameters { result: ResultKind::Sums { columns: 2 }, ..base }, 2);
    same(Parameters { result: ResultKind::Sums { columns: 1 }, min_matches: 40, ..base }, 1);
}

#[test]
fn moduli_hold_every_difference() {
    for (sizes, thousandths) in
        [((1, 1), 0), ((1 << 20, 1 << 20), 0), ((1 << 20, 9), 1), ((5, 1 << 24), 20_000)]
    {
        let parameters = Parameters {
            result: ResultKind::AtLeast(u64::MAX),
            noise: Noise::of_thousandths(thousandths),
            ..Parameters::default()
        };
        let sizes = crate::Sizes { receiver: sizes.0, sender: sizes.1 };
        let aggregate = Aggregate::of(&Shape { parameters, ..Shape::new(sizes) }, 10).unwrap();
        let most = sizes.receiver.min(sizes.sender) as i128;
        let noise = 2 * parameters.noise.map_or(0, |noise| laplace::bound(noise.thousandths(), 1000)) as i128;
        let least = i128::from(aggregate.least.unwrap());
        assert!(least > most + noise, "no count reaches it");
        let (lowest, highest) = (-noise - least, most + noise);
        let half = 1i128 << (aggregate.count_bits - 1);
        assert!(-half <= lowest && highest < half && lowest < -half / 4, "{sizes:?}");
        let all = u128::from(u64::MAX) * most as u128;
        assert!(all < 1 << aggregate.sum_bits());
    }
}

#[test]
fn fewer_bits_with_weights_count_the_same() {
    use vesica_circuit::clear::Clear;
    use vesica_circuit::count::Count;
    for bins in [1, 2, 3, 4, 26, 27, 28, 1000] {
        for ones in [0, 1, bins / 2, bins] {
            let matches: Bits = (0..bins).map(|bin| bin * 7 % bins < ones).collect();
            let ones = matches.iter().filter(|one| *one).count() as u64;
            let rows = added(&mut Clear::default(), &matches).unwrap();
            let weights = weights(bins);
            assert_eq!(
                rows.iter().map(Wires::len).collect::<Vec<_>>(),
                weights.iter().map(|row| row.1).collect::<Vec<_>>()
            );
            let of_row = |(row, (weight, _)): (&Bits, &(u32, usize))| {
                (row.iter().filter(|one| *one).count() as u64) << weight
            };
            assert_eq!(rows.iter().zip(&weights).map(of_row).sum::<u64>(), ones, "{bins}");
        }
        let mut count = Count::default();
        let row = count.constant(false, bins);
        added(&mut count, &row).unwrap();
        assert!(count.layers == ADDERS as u64 && count.ands <= 5 * bins as u64 / 9 + 4);
    }
}

#[test]
fn the_entry_names_the_results() {
    for (name, parameters) in [
        (ResultName::Count, Parameters { result: ResultKind::Count, ..Parameters::default() }),
        (ResultName::AtLeast, Parameters { result: ResultKind::AtLeast(3), ..Parameters::default() }),
        (ResultName::Sum, Parameters { result: ResultKind::Sums { columns: 2 }, ..Parameters::default() }),
    ] {
        assert!(ENTRY.supports.results.contains(&name));
        assert_eq!(ENTRY.supports.unsupported(&parameters), None);
        let with_noise = Parameters { noise: noise(100), ..parameters };
        assert_eq!(ENTRY.supports.unsupported(&with_noise).is_some(), name == ResultName::Sum);
        let minimum = Parameters { min_matches: 1, ..parameters };
        assert_eq!(ENTRY.supports.unsupported(&minimum).is_some(), name == ResultName::AtLeast);
    }
}

/// What a run sends: all that the receiver sends, and all that the sender does.
fn recorded(sets: &Planted, case: Case, values: &[Vec<u64>]) -> ([Vec<u8>; 2], EndedWith) {
    use std::sync::{Arc, Mutex};
    use vesica_channel::tampered::{self, Direction};
    let seen = Arc::new(Mutex::new([Vec::new(), Vec::new()]));
    let tap = seen.clone();
    let ends = tampered::pair(move |direction, frame| {
        tap.lock().unwrap()[usize::from(direction == Direction::SecondToFirst)].extend(&frame.payload);
        vec![frame]
    });
    let attached = if values.is_empty() { Attached::Nothing } else { Attached::Values(values) };
    let ended = run_for_result((&ENTRY, sets, case), attached, ends);
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (seen, ended)
}

/// The last bytes that each party sends: its shares of the result.
fn opened_shares(sets: &Planted, case: Case, values: &[Vec<u64>]) -> [Vec<u8>; 2] {
    let aggregate = Aggregate::of(&shape(sets, case), 1).unwrap();
    let (sent, _) = recorded(sets, case, values);
    let bytes = [Role::Receiver, Role::Sender].map(|from| aggregate.opened_bytes(from) as usize);
    [0, 1].map(|party| sent[party][sent[party].len() - bytes[party]..].to_vec())
}

#[test]
fn flaw_where_the_answer_is_no_nothing_more_is_opened() {
    let sets = &planted(90, 70, 20, 3);
    let numbers = values(sets, 2);
    let count = |min_matches| case(ResultKind::Count, min_matches);
    let sums = |min_matches| case(ResultKind::Sums { columns: 2 }, min_matches);
    for learns in [Learns::Receiver, Learns::Both] {
        let shares = |case: Case, values: &[Vec<u64>]| {
            let [receiver, sender] = opened_shares(sets, Case { learns, ..case }, values);
            assert_eq!(receiver.is_empty(), learns == Learns::Receiver, "it goes to those who learn it");
            assert!(!sender.is_empty());
            [receiver, sender].concat()
        };
        // Below the minimum, zeros go in the place of the shares.
        for refused in [shares(count(21), &[]), shares(sums(21), &numbers)] {
            assert!(refused.iter().all(|byte| *byte == 0), "{refused:?}");
        }
        for revealed in [shares(count(20), &[]), shares(sums(20), &numbers)] {
            assert!(revealed.iter().any(|byte| *byte != 0), "{revealed:?}");
        }
    }
}

#[test]
fn flaw_what_is_opened_is_a_random_share() {
    // One result, other randomness: the share is another one each time, and has all of its bits.
    let sets = &planted(90, 70, 20, 3);
    let values = &values(sets, 1);
    for (result, values, bits) in
        [(ResultKind::Count, &[][..], 7), (ResultKind::Sums { columns: 1 }, values, 71)]
    {
        let mut seen = std::collections::HashSet::new();
        let (mut ones, mut zeros) = (0u128, 0u128);
        for seed in 0..24 {
            let [_, share] = opened_shares(sets, Case { seed, ..case(result, 0) }, values);
            let mut bytes = [0; 16];
            bytes[..share.len()].copy_from_slice(&share);
            let share = u128::from_le_bytes(bytes);
            (ones, zeros) = (ones | share, zeros | !share);
            seen.insert(share);
        }
        let all = (1 << bits) - 1;
        assert!(seen.len() > 16 && ones & all == all && zeros & all == all, "{result:?}: {seen:?}");
    }
}

#[test]
fn whatever_is_changed_on_the_wire_ends_the_run_or_is_seen() {
    use crate::testing::{Target, lying_wire};
    let sets = &planted(9, 8, 4, 1);
    let numbers = &values(sets, 1);
    for (result, min_matches, numbers) in [
        (ResultKind::Count, 3, &[][..]),
        (ResultKind::AtLeast(5), 0, &[]),
        (ResultKind::Sums { columns: 1 }, 3, numbers),
    ] {
        let case = Case { learns: Learns::Both, ..case(result, min_matches) };
        let attached = if numbers.is_empty() { Attached::Nothing } else { Attached::Values(numbers) };
        let run = |target: Option<Target>| {
            let (first, second, wire) = lying_wire(target);
            (run_for_result((&ENTRY, sets, case), attached, (first, second)), wire)
        };
        let confirmed = |ended: &EndedWith| {
            let fine = |error: &Error| error.is_agreed_refusal();
            let [first, second] = [ended.receiver.as_ref().err(), ended.sender.as_ref().err()];
            ended.same_transcript && first.is_none_or(fine) && second.is_none_or(fine)
        };
        let (honest, wire) = run(None);
        assert!(confirmed(&honest));
        // The conversation up to the comparisons is that of rows, of which another test changes every byte.
        let frames = wire.frames();
        let late = |target: &Target| {
            let direction = usize::from(target.direction == crate::testing::DIRECTIONS[1]);
            target.frame * 2 > frames[direction].len()
        };
        for target in wire.flips().into_iter().filter(late).step_by(5) {
            let (ended, wire) = run(Some(target));
            assert!(!confirmed(&ended) && !wire.was_stuck(), "{result:?} {target:?}");
        }
    }
}

/// The products of the numbers of one set-up are masked by hashes, which number their inputs from 0.
#[test]
fn flaw_each_number_has_a_context_of_its_own() {
    let setup = Context::new(&[3; 32], "test", b"", 1, 1);
    let key = |i| {
        let mut key = [0; 32];
        of_number(&setup, i).hash(PRODUCTS, b"", &mut key);
        key
    };
    let keys: std::collections::HashSet<[u8; 32]> = (0..16).map(key).collect();
    assert_eq!(keys.len(), 16);
}
