//! Whether the order of a list hides which item stands where.

/// Ranges of items and of places that are counted.
const RANGES: usize = 8;

/// Panics unless the place of an item in a list says nothing about the item. A trial has the place of each
/// item, made with other randomness of the party that orders the list than the other trials.
///
/// Chi-square of ranges of items against ranges of places, about 7·7 where the order is uniform; 64 or fewer
/// trials of a fixed order are far above the bound.
pub(crate) fn assert_hidden(trials: &[Vec<u32>]) {
    let items = trials[0].len();
    assert!(items.is_multiple_of(RANGES) && trials.len() * items >= 32 * RANGES * RANGES, "too few trials");
    let mut counts = [[0u32; RANGES]; RANGES];
    for places in trials {
        let mut sorted = places.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq(0..items as u32), "every item has a place of its own");
        for (item, place) in places.iter().enumerate() {
            counts[item * RANGES / items][*place as usize * RANGES / items] += 1;
        }
    }
    let expected = (trials.len() * items) as f64 / (RANGES * RANGES) as f64;
    let deviation = |count: &u32| (f64::from(*count) - expected).powi(2) / expected;
    let chi_square: f64 = counts.as_flattened().iter().map(deviation).sum();
    assert!(chi_square < 110.0, "places tell of items: chi-square {chi_square:.0}, {counts:?}");
}

/// The place of each item, from pairs of an item and its place.
pub(crate) fn places(pairs: &[(u32, u32)]) -> Vec<u32> {
    let mut pairs = pairs.to_vec();
    pairs.sort_unstable();
    assert!((0..).zip(&pairs).all(|(item, pair)| pair.0 == item), "a pair for each item");
    pairs.into_iter().map(|(_, place)| place).collect()
}

#[test]
fn orders_that_tell_are_found() {
    use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};
    let shuffled = |seed| {
        let mut places: Vec<u32> = (0..64).collect();
        places.shuffle(&mut StdRng::seed_from_u64(seed));
        places
    };
    let trials = |of: &dyn Fn(u64) -> Vec<u32>| (0..40).map(of).collect::<Vec<_>>();
    let refused = |trials: Vec<Vec<u32>>| std::panic::catch_unwind(move || assert_hidden(&trials)).is_err();
    (0..20).for_each(|seed| assert_hidden(&trials(&|trial| shuffled(1000 * seed + trial))));
    assert!(refused(trials(&|_| (0..64).collect())), "no order");
    assert!(refused(trials(&|_| shuffled(7))), "one order for all runs");
    assert!(
        refused(trials(&|trial| {
            let (few, many) = (shuffled(trial), shuffled(trial + 1));
            let (low, high): (Vec<u32>, Vec<u32>) = (few, many);
            low.into_iter()
                .filter(|place| *place < 32)
                .chain(high.into_iter().filter(|place| *place >= 32))
                .collect()
        })),
        "each half for itself"
    );
}
