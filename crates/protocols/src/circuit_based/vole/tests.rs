use super::*;
use crate::testing::ideal_opprf::{IdealReceiver, IdealSender};
use crate::testing::{Case, Planted, duel, planted, planted_for, run_pair, shape};

/// The rows that both parties end with over an ideal OPPRF.
fn over_the_ideal_opprf(sets: &Planted, case: Case) -> (Result<Vec<u64>, Error>, Option<Error>) {
    let (receiver, sender) = duel(
        (&ENTRY, sets, case),
        Box::new(|ctx| {
            let plan = Plan::new(&Shape::of(ctx.run))?;
            let noise = plan.draw_noise(ctx.rng);
            let placed = Placed::new(ctx.run, &plan, &sets.receiver)?;
            let opprf = IdealReceiver { programming: plan.programming, held: &placed.held };
            let values = opprf.evaluate(&sets.receiver, &placed.keys, ctx.channel)?;
            let ctx = &mut ctx.reborrow();
            let matched = receive_matches(ctx, &plan, placed, &sets.receiver, (&values, noise))?;
            Ok(matched.matches()?.into_rows())
        }),
        Box::new(|ctx| {
            let plan = Plan::new(&Shape::of(ctx.run))?;
            let noise = plan.draw_noise(ctx.rng);
            let keys = item_keys(ctx.run, &sets.sender)?;
            let secrets = Secrets::new(&plan, ctx.rng);
            let value = |number, function, item: usize| {
                secrets.value(&[], number, item, plan.layout.bin_of(keys[item], function) as usize)
            };
            let opprf = IdealSender { programming: plan.programming, rng: ctx.rng };
            opprf.program(&sets.sender, &keys, value, ctx.channel)?;
            send_matches(ctx, &plan, &sets.sender, &secrets, noise)
        }),
    );
    (receiver, sender.err())
}

#[test]
fn over_the_ideal_opprf_it_ends_with_the_same_matches() {
    for (receiver, sender, common) in
        [(1, 1, 1), (1, 1, 0), (300, 2000, 120), (2000, 40, 40), (500, 500, 500)]
    {
        let sets = &planted(receiver, sender, common, 4);
        for learns in [Learns::Receiver, Learns::Both] {
            let case = Case { learns, ..Case::default() };
            let (rows, failed) = over_the_ideal_opprf(sets, case);
            assert_eq!((rows.unwrap(), failed), (sets.receiver_rows.clone(), None));
            let real = run_pair(&ENTRY, sets, case);
            assert!(real.confirmed());
            assert_eq!(real.receiver.unwrap().rows(), sets.receiver_rows);
        }
    }
}

#[test]
fn the_audit_refuses_both_or_neither() {
    let sets = &planted(200, 300, 50, 4);
    for most in [0, 49, 50, 199] {
        let parameters = Parameters { audit_max: Some(most), ..Parameters::default() };
        let case = Case { parameters, ..Case::default() };
        // Both parties run to their ends, whatever they are.
        let (receiver, sender) = duel(
            (&ENTRY, sets, case),
            Box::new(|ctx| Ok(receive(&mut ctx.reborrow(), &sets.receiver).and_then(Pending::matches))),
            Box::new(|ctx| Ok(send(ctx, &sets.sender))),
        );
        let (receiver, sender) = (receiver.unwrap(), sender.unwrap());
        if most < 50 {
            assert_eq!(receiver, Err(Error::AuditRefused { most }));
            assert_eq!(sender, Err(Error::AuditRefused { most }));
        } else {
            assert_eq!((receiver.unwrap().rows(), sender), (&sets.receiver_rows[..], Ok(None)));
            let traffic = run_pair(&ENTRY, sets, case).traffic;
            let shape = shape(sets, case);
            assert_eq!(traffic.payload_sent, ENTRY.bytes(Role::Receiver, &shape));
            assert_eq!(traffic.payload_received, ENTRY.bytes(Role::Sender, &shape));
        }
    }
}

#[test]
fn native_items_profiles_and_threads_end_with_the_plain_join() {
    for (sigma, profile) in
        [(Some(20), Profile::Conservative), (Some(64), Profile::Fast), (None, Profile::Fast)]
    {
        let parameters = Parameters { sigma, profile, ..Parameters::default() };
        let sets = planted_for(&parameters, 4000, 3000, 1234, 2);
        for threads in [1, 2] {
            let ended = run_pair(&ENTRY, &sets, Case { parameters, threads, ..Case::default() });
            assert!(ended.confirmed());
            assert_eq!(ended.receiver.unwrap().rows(), sets.receiver_rows);
        }
    }
}

#[test]
fn flaw_every_bin_has_a_target_of_its_own() {
    let plan = Plan::new(&Shape::new(Sizes { receiver: 1000, sender: 10 })).unwrap();
    let [first, second] = [1, 2].map(|seed| Secrets::new(&plan, &mut Prg::from_seed([seed; 16])).targets);
    let distinct: std::collections::HashSet<u128> = first.0.iter().copied().collect();
    assert_eq!((first.0.len(), distinct.len()), (plan.bins(), plan.bins()));
    assert!(first.0.iter().zip(second.0.iter()).all(|(first, second)| first != second));
    assert!(first.0.iter().all(|target| target >> plan.width().bits() == 0));
}

/// A sum's value in a bin is masked by a number that no other bin, sum or run has.
#[test]
fn flaw_every_bin_has_a_share_of_its_own_for_each_sum() {
    let parameters = Parameters { result: ResultKind::Sums { columns: 2 }, ..Parameters::default() };
    let shape = Shape { parameters, ..Shape::new(Sizes { receiver: 1000, sender: 10 }) };
    let plan = Plan::new(&shape).unwrap();
    let runs = [1, 2].map(|seed| Secrets::new(&plan, &mut Prg::from_seed([seed; 16])));
    let shares: Vec<u128> =
        runs.iter().flat_map(|run| &run.shares).flat_map(|share| share.0.to_vec()).collect();
    let distinct: std::collections::HashSet<u128> = shares.iter().copied().collect();
    assert_eq!((shares.len(), distinct.len()), (4 * plan.bins(), 4 * plan.bins()));
    // As wide as the modulus.
    let width = plan.programming.more_width.bits();
    assert!(
        shares.iter().all(|share| share >> width == 0)
            && shares.iter().any(|share| share >> (width - 1) == 1)
    );
}

#[test]
fn a_million_items_take_less_than_eight_hundred_bits_each() {
    let sizes = Sizes { receiver: 1 << 20, sender: 1 << 20 };
    for (profile, most) in [(Profile::Conservative, 800.0), (Profile::Fast, 720.0)] {
        let parameters = Parameters { profile, ..Parameters::default() };
        let shape = Shape { parameters, ..Shape::new(sizes) };
        let plan = Plan::new(&shape).unwrap();
        assert_eq!((plan.bins(), plan.width().bits()), (1_363_230, 61));
        for result in [ResultKind::Rows, ResultKind::Count, ResultKind::AtLeast(9)] {
            let shape = Shape { parameters: Parameters { result, ..parameters }, ..shape };
            let bits = 8.0 * ENTRY.total_bytes(&shape) as f64 / f64::from(1 << 20);
            assert!(bits < most, "{result:?}: {bits}");
        }
    }
}

#[test]
fn sizes_for_which_there_is_no_table_are_refused() {
    for sizes in [
        Sizes { receiver: 1 << 31, sender: 1 },
        Sizes { receiver: 1, sender: 1 << 30 },
        Sizes { receiver: 1, sender: usize::MAX },
    ] {
        assert!(Plan::new(&Shape::new(sizes)).is_err(), "{sizes:?}");
        assert_eq!(ENTRY.total_bytes(&Shape::new(sizes)), 0);
    }
}
