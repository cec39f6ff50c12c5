use super::*;
use crate::testing::{Case, planted, run_pair, shape};

#[test]
fn sets_of_every_kind_of_size_give_the_plain_join() {
    for (receiver, sender, common) in
        [(1, 300, 1), (16, 17, 5), (17, 16, 5), (100, 2000, 60), (1500, 200, 60), (3000, 3000, 1000)]
    {
        let sets = planted(receiver, sender, common, 1);
        let ended = run_pair(&ENTRY, &sets, Case { threads: 2, ..Case::default() });
        assert_eq!(ended.receiver.unwrap().rows(), sets.receiver_rows);
        let shape = shape(&sets, Case::default());
        assert_eq!(ended.traffic.payload_sent, ENTRY.bytes(Role::Receiver, &shape));
        assert_eq!(ended.traffic.payload_received, ENTRY.bytes(Role::Sender, &shape));
    }
}

#[test]
fn points_are_as_wide_as_the_pairs_of_a_bin_ask() {
    let plan = |receiver, sender| Plan::new(Sizes { receiver, sender }, &Parameters::default());
    // 40 + 20 + 20 bits, less the 17 that a segment of 2^17.7 bins tells apart.
    let large = plan(1 << 20, 1 << 20).unwrap();
    assert_eq!((large.layout.bins(), large.roots, large.bits), (426_064, 3, 63));
    let small = plan(16, 1 << 10).unwrap();
    assert_eq!((small.layout.bins(), small.roots, small.bits), (1, 16, 54));
    assert!(
        plan(MOST_ITEMS + 1, 1).is_err() && plan(16, 1 << 60).is_ok() && plan(1 << 30, usize::MAX).is_ok()
    );
}

/// The order of the answers is drawn from the sender's randomness alone, and not that of its items or of their
/// bins.
#[test]
fn flaw_the_order_of_the_answers_does_not_tell_of_items() {
    use crate::testing::{duel, order};
    let sets = planted(30, 64, 7, 1);
    let order_of = |seed| {
        let case = Case { seed, ..Case::default() };
        let receive = |ctx: &mut Ctx<'_, '_>| receive(&mut ctx.reborrow(), &sets.receiver).map(Pairs::find);
        let (pairs, order) =
            duel((&ENTRY, &sets, case), Box::new(receive), Box::new(|ctx| send(ctx, &sets.sender)));
        let (pairs, order) = (pairs.unwrap(), order.unwrap());
        for (mine, position) in &pairs {
            let theirs = sets.sender.get(order[*position as usize] as usize);
            assert_eq!(sets.receiver.get(*mine as usize), theirs);
        }
        assert_eq!(pairs.len(), 7);
        let mut places = vec![0; order.len()];
        (0..).zip(&order).for_each(|(place, item)| places[*item as usize] = place);
        places
    };
    order::assert_hidden(&(0..40).map(order_of).collect::<Vec<_>>());
}

/// A bin is filled up with a root that is no item's point, so that no item of the sender matches the filling.
#[test]
fn flaw_a_filled_up_bin_has_no_root_that_an_item_could_have() {
    let sets = planted(200, 200, 0, 1);
    let sizes = Sizes { receiver: 200, sender: 200 };
    let context = vesica_crypto::hash::Context::new(&[1; 32], "ope", b"", 200, 200);
    let run = crate::testing::run_of(context, sizes, Parameters::default());
    let plan = Plan::new(sizes, &run.parameters).unwrap();
    let hashed = Hashed::new(&run, &plan, &sets.receiver);
    assert!(hashed.points.iter().all(|point| *point < 1 << plan.bits));
    let roots: Vec<u128> = plan.roots_of([7].into_iter()).collect();
    assert!(roots.len() == plan.roots && roots[0] == 7);
    assert!(roots[1..].iter().all(|root| *root >= 1 << plan.bits));
}
