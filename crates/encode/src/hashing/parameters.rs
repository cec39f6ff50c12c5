//! How many bins, how large a stash, how full a bin: for a failure of at most 2^-40.
//!
//! Protocols agree on the numbers in the tables of this file. Numbers that depend on the sizes of both
//! parties ([`maximum_load`]) are computed from [`bounds`], by operations that give the same bits on every
//! machine. The tests derive the tables again from the bounds, which are proven and not extrapolated.
//! [`experiment`] counts failures; the tests compare the bounds with these counts where failures are frequent
//! enough. [`paper`] has the parameters of PSSZ15 and repeats its derivations.
//!
//! | | ours | PSSZ15 |
//! |---|---|---|
//! | three functions | 1.3 n bins and 80 more, more for n ≤ 512, no stash | 1.2 n bins, the stash sizes of two functions |
//! | two functions, bins of three | 0.41 n bins and 80 more, more for n ≤ 2048, no stash | |
//! | two functions | 2.4 n bins, a stash of 2 for 2^20 items, 8 for 2^12, 12 for 2^8 | 2.4 n bins, a stash of 3, 6, 12 |
//!
//! Three functions may be as safe with 1.2 n or 1.27 n bins, but only extrapolations support this. For 2^12
//! items PSSZ15's stash is too small: in its own experiment more than 4 items were left over with a frequency
//! of 2^-28, and the frequency falls by about 2^-4 with every further item.

pub mod bounds;
pub mod experiment;
mod logarithm;
pub mod paper;

use vesica_crypto::security::{MOST_STATISTICAL_SECURITY, STATISTICAL_SECURITY};

use super::bins::Layout;

/// The largest failure probability of any hashing, as a power of 2: -λ.
pub const FAILURE: f64 = -(STATISTICAL_SECURITY as f64);

/// The agreed parameters of a cuckoo table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cuckoo {
    /// Functions and bins.
    pub layout: Layout,
    /// How many items the stash holds.
    pub stash: usize,
}

/// The agreed numbers for one λ.
struct Numbers {
    /// λ.
    statistical: u32,
    /// Bins for up to 2^0, 2^1, … items and three functions. For few items, the likeliest failure is a handful of
    /// items that share too few bins.
    few_items: &'static [u64],
    /// Items left over by two functions in 2.4 n bins, of 2^0, 2^1, … items and fewer than twice as many.
    stash: [usize; 25],
    /// Bins of [`BLOCKED_CAPACITY`] slots for up to 2^5, 2^6, … items and two functions.
    blocked_few: &'static [u64],
}

/// For the standard λ, and for every longer one. A longer λ than needed costs a few bins of a small table.
static NUMBERS: [Numbers; 2] = [
    Numbers {
        statistical: STATISTICAL_SECURITY,
        few_items: &[3, 3, 66, 105, 153, 213, 291, 399, 543, 738],
        stash: [0, 1, 5, 7, 8, 10, 11, 12, 12, 12, 12, 10, 8, 7, 5, 5, 4, 3, 3, 3, 2, 2, 2, 2, 2],
        blocked_few: &[72, 110, 166, 250, 376, 564, 846],
    },
    Numbers {
        statistical: MOST_STATISTICAL_SECURITY,
        few_items: &[3, 3, 225, 360, 516, 720, 990, 1353, 1848, 2517, 3426, 4665, 6348, 10_680],
        stash: [0, 1, 5, 8, 11, 13, 15, 17, 18, 18, 18, 16, 13, 11, 9, 7, 6, 5, 5, 4, 4, 3, 3, 3, 3],
        blocked_few: &[178, 276, 418, 630, 948, 1422, 2132, 3194, 4788, 7172, 13_308],
    },
];

impl Numbers {
    /// Those for this λ.
    fn of(statistical: u32) -> &'static Numbers {
        NUMBERS.iter().find(|numbers| statistical <= numbers.statistical).unwrap_or(&NUMBERS[1])
    }
}

/// Three functions and no stash, for the receiver's `items`, dummies included, which fail with probability
/// 2^-`statistical` at most.
///
/// # Panics
/// If there would be 2^32 bins or more.
#[must_use]
pub fn three_way(items: usize, statistical: u32) -> Cuckoo {
    let class = items.max(1).next_power_of_two().ilog2() as usize;
    let few = Numbers::of(statistical).few_items.get(class);
    let bins = few.copied().unwrap_or_else(|| (items as u64 * 13).div_ceil(10) + 80);
    Cuckoo { layout: Layout::new(3, bins), stash: 0 }
}

/// Two functions, 2.4 n bins and a stash, for the receiver's `items`, dummies included, which fail with
/// probability 2^-`statistical` at most.
///
/// # Panics
/// If there would be 2^32 bins or more.
#[must_use]
pub fn two_way(items: usize, statistical: u32) -> Cuckoo {
    let class = items.max(1).ilog2() as usize;
    let stash = &Numbers::of(statistical).stash;
    let stash = stash[class.min(stash.len() - 1)];
    Cuckoo { layout: Layout::new(2, (items as u64 * 12).div_ceil(5)), stash }
}

/// The maximum load of simple hashing: except with probability 2^-`statistical`, no bin of this `layout` holds
/// more of `items` items.
#[must_use]
pub fn maximum_load(items: usize, layout: Layout, statistical: u32) -> usize {
    let (items, segment) = (items as u64, u64::from(layout.segment()));
    let segments = logarithm::log2(layout.functions() as f64);
    // A binary search: with few bins and many items, which a partner may claim, there are a million loads. No
    // load exceeds the number of items.
    let (mut least, mut most) = (items / segment, items.max(items / segment));
    while least < most {
        let load = least + (most - least) / 2;
        if bounds::overflow(items, segment, load) + segments <= -f64::from(statistical) {
            most = load
        } else {
            least = load + 1
        }
    }
    most as usize
}

/// The maximum load of [`balanced`](super::balanced) hashing: except with probability 2^-`statistical`, no bin
/// of this `layout` holds more.
#[must_use]
pub fn maximum_balanced_load(items: usize, layout: Layout, statistical: u32) -> usize {
    if statistical > STATISTICAL_SECURITY {
        // The steps of the induction fail with 2^-54 each. A bin has no more items than if all its items stayed.
        return maximum_load(items, layout, statistical);
    }
    let (items, bins) = (items as u64, layout.bins() as u64);
    let enough = |load: &u64| bounds::balanced(layout.functions(), items, bins, *load) <= FAILURE;
    (items / bins..items).find(enough).unwrap_or(items) as usize
}

/// Slots of a bin in [`blocked`] hashing.
const BLOCKED_CAPACITY: usize = 3;

/// So many items go to a single bin in [`blocked`] hashing.
const ONE_BIN: usize = 16;

/// The layout of [`blocked`](super::blocked) hashing and the capacity of its bins, for the receiver's `items`,
/// dummies included: a single bin for a few items, then two functions and bins of three slots. It fails with
/// probability 2^-`statistical` at most.
///
/// # Panics
/// If there would be 2^32 bins or more.
#[must_use]
pub fn blocked(items: usize, statistical: u32) -> (Layout, usize) {
    if items <= ONE_BIN {
        return (Layout::new(1, 1), items.max(1));
    }
    let class = items.next_power_of_two().ilog2() as usize - 5;
    let few = Numbers::of(statistical).blocked_few.get(class);
    let bins = few.copied().unwrap_or_else(|| (items as u64 * 13).div_ceil(32) + 80);
    (Layout::new(2, bins), BLOCKED_CAPACITY)
}

#[cfg(test)]
mod tests {
    use super::bounds::Table::Segments;
    use super::*;

    fn failure(items: usize, cuckoo: Cuckoo) -> f64 {
        let Cuckoo { layout, stash } = cuckoo;
        bounds::cuckoo(Segments, layout.functions(), items as u64, layout.bins() as u64, stash)
    }

    impl Numbers {
        fn failure(&self) -> f64 {
            -f64::from(self.statistical)
        }
    }

    #[test]
    fn bins_for_few_items_are_the_fewest_that_do() {
        for numbers in &NUMBERS {
            for (class, &bins) in numbers.few_items.iter().enumerate() {
                let items = 1 << class;
                let enough = |bins: u64| {
                    let layout = Layout::new(3, bins);
                    failure(items, Cuckoo { layout, stash: 0 }) <= numbers.failure()
                };
                assert!(enough(bins) && (bins == 3 || !enough(bins - 3)), "{items} items");
            }
        }
    }

    #[test]
    fn blocked_hashing_fails_with_the_permitted_probability_at_most() {
        let failure = |items: usize, bins: u64| bounds::blocked(items as u64, bins, 3);
        for numbers in &NUMBERS {
            for class in 5..=24 {
                for items in [(1usize << class) / 2 + 1, (3 << class) / 4, (7 << class) / 8, 1 << class] {
                    let (layout, capacity) = blocked(items, numbers.statistical);
                    assert_eq!((layout.functions(), capacity), (2, 3));
                    let bound = failure(items, layout.bins() as u64);
                    assert!(bound <= numbers.failure(), "{items} items: {bound}");
                }
            }
            for (class, &bins) in (5..).zip(numbers.blocked_few) {
                let (does, less) = (failure(1 << class, bins), failure(1 << class, bins - 2));
                assert!(does <= numbers.failure() && less > numbers.failure(), "2^{class}");
            }
        }
        let of =
            |items| (blocked(items, STATISTICAL_SECURITY).0.bins(), blocked(items, STATISTICAL_SECURITY).1);
        assert_eq!([0, 1, 16, 17].map(of), [(1, 1), (1, 1), (1, 16), (72, 3)]);
    }

    #[test]
    fn three_functions_fail_with_the_permitted_probability_at_most() {
        for numbers in &NUMBERS {
            let mut fewer = Layout::new(3, 3);
            for class in 0..=24 {
                for items in [(1usize << class) / 2 + 1, (3 << class) / 4, (7 << class) / 8, 1 << class] {
                    let cuckoo = three_way(items, numbers.statistical);
                    let bound = failure(items, cuckoo);
                    assert!(bound <= numbers.failure(), "{items} items: {bound}");
                    assert!(cuckoo.layout.bins() >= fewer.bins());
                    fewer = cuckoo.layout;
                }
            }
            assert_eq!(three_way(0, numbers.statistical).layout.bins(), 3);
        }
    }

    #[test]
    fn the_stash_is_the_smallest_that_does() {
        for numbers in &NUMBERS {
            let two_way = |items| two_way(items, numbers.statistical);
            for (class, stash) in numbers.stash.into_iter().enumerate() {
                let first = 1usize << class;
                let sizes = [first, first + first / 4, first + first / 2, 2 * first - 1];
                let does = |stash| {
                    let failure = |items: &usize| failure(*items, Cuckoo { stash, ..two_way(*items) });
                    sizes.iter().all(|items| failure(items) <= numbers.failure())
                };
                assert!(does(stash) && (stash == 0 || !does(stash - 1)), "2^{class} items");
                assert!(sizes.iter().all(|items| two_way(*items).stash == stash));
            }
            assert_eq!(two_way(0).stash, 0);
            assert_eq!(two_way(1 << 26).stash, numbers.stash[24]);
        }
    }

    #[test]
    fn the_load_is_the_smallest_that_does() {
        for statistical in [STATISTICAL_SECURITY, 50, MOST_STATISTICAL_SECURITY] {
            for (items, functions, bins) in [
                (1 << 12, 2, 9831),
                (1 << 20, 2, 2_516_584),
                (1 << 20, 3, 618),
                (3, 2, 2400),
                (0, 2, 1),
                (50, 1, 1),
            ] {
                let layout = Layout::new(functions, bins);
                let load = maximum_load(items, layout, statistical);
                let bound = |load: usize| {
                    let segment = u64::from(layout.segment());
                    bounds::overflow(items as u64, segment, load as u64) + (functions as f64).log2()
                };
                let failure = -f64::from(statistical);
                let least = load == 0 || bound(load - 1) > failure;
                assert!(bound(load) <= failure && least, "{items} items, {load}");
            }
        }
        let layout = two_way(1 << 20, STATISTICAL_SECURITY).layout;
        assert_eq!(maximum_load(1 << 20, layout, STATISTICAL_SECURITY), 18);
    }

    #[test]
    #[ignore = "prints the tables of a λ, for whoever changes it"]
    fn tables() {
        // Failures fall as the number grows.
        let least = |does: &dyn Fn(u64) -> bool, step: u64| {
            let (mut few, mut enough) = (0, 1);
            while !does(enough * step) {
                (few, enough) = (enough, enough * 2);
            }
            while enough - few > 1 {
                let middle = few + (enough - few) / 2;
                if does(middle * step) { enough = middle } else { few = middle }
            }
            enough * step
        };
        let allowed = -f64::from(MOST_STATISTICAL_SECURITY);
        for class in 0..14 {
            let does =
                |bins| failure(1 << class, Cuckoo { layout: Layout::new(3, bins), stash: 0 }) <= allowed;
            println!("three 2^{class}: {} ({})", least(&does, 3), three_way(1 << class, 40).layout.bins());
        }
        for class in 0..25 {
            let first = 1usize << class;
            let sizes = [first, first + first / 4, first + first / 2, 2 * first - 1];
            let does = |stash: u64| {
                let cuckoo = |items| Cuckoo { stash: stash as usize - 1, ..two_way(items, 40) };
                sizes.iter().all(|items| failure(*items, cuckoo(*items)) <= allowed)
            };
            println!("stash 2^{class}: {}", least(&does, 1) - 1);
        }
        for class in 5..16 {
            let does = |bins| bounds::blocked(1 << class, bins, 3) <= allowed;
            println!("blocked 2^{class}: {} ({})", least(&does, 2), blocked(1 << class, 40).0.bins());
        }
    }
}
