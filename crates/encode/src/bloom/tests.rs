//! The program against experiments at reduced parameters, the filters against slow references, and the flaws
//! of the published text against what stands here. Seeds are fixed: a run repeats.

use std::collections::HashSet;

use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::prg::Prg;

use super::shape::power;
use super::*;
use crate::items::{Encoding, Items, ItemsBuilder, OnDuplicates, Width};

fn context(number: u32) -> Context {
    let mut sid = [9; 32];
    sid[..4].copy_from_slice(&number.to_le_bytes());
    Context::new(&sid, "bloom", b"", 1, 1)
}

/// The items `from`, …, `to` - 1.
fn numbers(range: std::ops::Range<u64>) -> Items {
    numbers_of(Width::Digest128, range)
}

/// The items `range`, as digests of this width.
fn numbers_of(width: Width, range: std::ops::Range<u64>) -> Items {
    let mut builder = ItemsBuilder::new(Encoding::Digest(width), 0).unwrap();
    for (row, number) in (0..).zip(range) {
        builder.push(row, &number.to_le_bytes()).unwrap();
    }
    builder.build(OnDuplicates::All).unwrap()
}

/// All positions of the items of a bin: slot by slice.
fn all_positions(bin: &Bin<'_>) -> Vec<Vec<u32>> {
    let (mut blocks, mut slots) = (Vec::new(), Default::default());
    let mut all = Vec::new();
    for group in 0..bin.shape().hashes().div_ceil(SLICES_PER_BLOCK) {
        bin.positions(group, &mut blocks, &mut slots);
        all.extend(slots.iter().cloned());
    }
    all.truncate(bin.shape().hashes());
    all
}

#[test]
fn shapes_are_the_smallest_that_hold_the_bound() {
    for hashes in [80, 128, 192, 256] {
        for items in [0, 1, 2, 3, 100, 1 << 12, 8192, 8193, 100_000, 1 << 20, 1 << 24] {
            let shape = FilterShape::for_items(hashes, items);
            let bound = power(0.5, hashes);
            assert!(shape.false_positive(items) <= bound, "{shape:?} for {items}");
            if shape.slots > 1 {
                let smaller = FilterShape { slots: shape.slots - 1, ..shape };
                assert!(smaller.false_positive(items) > bound, "{shape:?} for {items}");
            }
        }
    }
}

#[test]
fn a_half_empty_filter_has_a_free_half_whatever_the_items() {
    for items in [1, 2, 3, 100, 3000] {
        let shape = FilterShape::half_empty(128, items);
        assert_eq!((shape.bins(), shape.all_slots()), (1, 256 * items as u64));
        assert!(shape.false_positive(items) <= power(0.5, 128) * 1.001, "{shape:?}");
        let set = numbers(0..items as u64);
        let placed = FilterPositions::new(&context(1), shape, &set, 1);
        let mut bits = vec![0; shape.all_slots() as usize / 8];
        for (slice, slots) in all_positions(&placed.bins().next().unwrap()).iter().enumerate() {
            choices(slice * shape.slots(), slots, &mut bits);
        }
        let ones: u32 = bits.iter().map(|byte| byte.count_ones()).sum();
        assert!(u64::from(ones) <= shape.all_slots() / 2, "{ones}");
    }
    // Whatever a partner claims.
    assert!(FilterShape::half_empty(128, usize::MAX).all_slots() > 1 << 38);
}

#[test]
fn any_number_of_items_has_a_shape() {
    // What a partner says of its set is not checked before the cost of a run is known.
    let bound = power(0.5, 128);
    for items in [1 << 31, u32::MAX as usize, 1 << 40] {
        let shape = FilterShape::for_items(128, items);
        assert!(shape.bins() == items.div_ceil(1 << 13) && shape.false_positive(items) <= bound);
    }
    assert_eq!(FilterShape::for_items(128, usize::MAX), FilterShape::for_items(128, 1 << 44));
}

#[test]
fn a_filter_is_as_long_as_in_the_paper() {
    // m = ⌈k·n·log2 e⌉; the bins of large sets cost what the spread of their loads does.
    for (hashes, items, excess) in [
        (128, 1 << 10, 0.001),
        (80, 1 << 13, 0.0002),
        (128, 1 << 20, 0.006),
        (256, 1 << 20, 0.012),
        (128, 1 << 24, 0.006),
    ] {
        let shape = FilterShape::for_items(hashes, items);
        let paper = f64::from(hashes) * items as f64 * std::f64::consts::LOG2_E;
        let ratio = shape.all_slots() as f64 / paper;
        assert!(ratio > 1.0 && ratio < 1.0 + excess, "{shape:?} for {items}: {ratio}");
    }
}

#[test]
fn shapes_are_these_on_every_machine() {
    let shape = |hashes, items| {
        let shape = FilterShape::for_items(hashes, items);
        (shape.bins, shape.slots)
    };
    let found = [
        (128, 0),
        (128, 1),
        (80, 1000),
        (128, 1 << 13),
        (128, 1 << 20),
        (192, 1 << 20),
        (256, 1 << 20),
        (128, 1 << 24),
    ]
    .map(|(hashes, items)| shape(hashes, items));
    let pinned =
        [(1, 1), (1, 2), (1, 1444), (1, 11820), (128, 11882), (128, 11913), (128, 11944), (2048, 11882)];
    assert_eq!(found, pinned);
}

#[test]
fn the_program_averages_over_the_loads_of_the_bins() {
    // Against the definition, with weights from factorials.
    let (items, shape) = (40usize, FilterShape { hashes: 5, bins: 3, slots: 21 });
    let choose = |n: usize, j: usize| (0..j).map(|i| (n - i) as f64 / (j - i) as f64).product::<f64>();
    let expected: f64 = (0..=items)
        .map(|load| {
            let weight =
                choose(items, load) * power(1.0 / 3.0, load as u32) * power(2.0 / 3.0, (items - load) as u32);
            weight * power(1.0 - power(1.0 - 1.0 / 21.0, load as u32), 5)
        })
        .sum();
    let found = shape.false_positive(items);
    assert!((found / expected - 1.0).abs() < 1e-9, "{found} against {expected}");
}

#[test]
fn foreign_items_are_found_as_often_as_the_program_says() {
    // One bin and five of them, six functions: about 2^-6 of the foreign items.
    for shape in [FilterShape::for_items(6, 300), FilterShape { hashes: 6, bins: 5, slots: 90 }] {
        let (mut found, mut asked) = (0u32, 0u32);
        for trial in 0..40 {
            let mine = FilterPositions::new(&context(trial), shape, &numbers(0..300), 1);
            let other = FilterPositions::new(&context(trial), shape, &numbers(1000..3000), 1);
            for (mine, other) in mine.bins().zip(other.bins()) {
                let taken: Vec<HashSet<u32>> =
                    all_positions(&mine).iter().map(|slots| slots.iter().copied().collect()).collect();
                let theirs = all_positions(&other);
                asked += other.len() as u32;
                found += (0..other.len())
                    .filter(|&item| {
                        taken.iter().zip(&theirs).all(|(taken, slots)| taken.contains(&slots[item]))
                    })
                    .count() as u32;
            }
        }
        let expected = shape.false_positive(300) * f64::from(asked);
        // Items of one trial share a filter, so more than the spread of independent ones is allowed for.
        assert!(
            (f64::from(found) - expected).abs() < 6.0 * expected.sqrt(),
            "{shape:?}: {found}, expected {expected}"
        );
    }
}

/// Builds the filter of each bin with these values; all strings, slice after slice.
fn garbled<const W: usize>(
    bin: &Bin<'_>,
    targets: &[[Block; W]],
    seed: u128,
) -> Result<Vec<[Block; W]>, NoFreeSlot> {
    garbled_on(1, bin, targets, seed)
}

fn garbled_on<const W: usize>(
    threads: usize,
    bin: &Bin<'_>,
    targets: &[[Block; W]],
    seed: u128,
) -> Result<Vec<[Block; W]>, NoFreeSlot> {
    let (mut prg, mut strings) = (Prg::from_seed(Block::from(seed)), Vec::new());
    garble(
        threads,
        bin,
        targets,
        |strings| prg.fill_blocks(strings.as_flattened_mut()),
        |slice: &[[Block; W]]| {
            strings.extend_from_slice(slice);
            Ok::<_, NoFreeSlot>(())
        },
    )?;
    Ok(strings)
}

#[test]
fn threads_change_no_string_of_a_filter() {
    fn check<const W: usize>(hashes: u32) {
        let placed =
            FilterPositions::new(&context(3), FilterShape::for_items(hashes, 5000), &numbers(0..5000), 1);
        for bin in placed.bins() {
            let targets: Vec<_> = (0..bin.len()).map(|item| [Block::from(item as u128); W]).collect();
            let one = garbled_on(1, &bin, &targets, 5).unwrap();
            assert!([2, 4].into_iter().all(|threads| garbled_on(threads, &bin, &targets, 5).unwrap() == one));
        }
    }
    check::<1>(128);
    check::<2>(192);
}

#[test]
fn building_fails_as_often_as_the_program_says() {
    // The i-th item finds no slot with probability (1 - (1 - 1/s)^(i-1))^k exactly, so at most one of the n
    // fails with the sum of these, and hardly less while the sum is small.
    let (items, shape) = (60u32, FilterShape { hashes: 9, bins: 1, slots: 87 });
    let trials = 4000;
    let failed = (0..trials)
        .filter(|&trial| {
            let placed = FilterPositions::new(&context(trial), shape, &numbers(0..items.into()), 1);
            let bin = placed.bins().next().unwrap();
            garbled(&bin, &vec![[Block::ZERO]; items as usize], 1).is_err()
        })
        .count() as f64;
    let free = 1.0 - 1.0 / f64::from(shape.slots);
    let one_trial: f64 = (0..items).map(|earlier| power(1.0 - power(free, earlier), shape.hashes)).sum();
    assert!(one_trial <= f64::from(items) * shape.false_positive(items as usize));
    let expected = one_trial * f64::from(trials);
    assert!(
        (failed - expected).abs() < 5.0 * expected.sqrt() + 0.05 * expected,
        "{failed} of {trials}, expected {expected}"
    );
}

#[test]
fn a_garbled_filter_holds_the_values_and_is_random_otherwise() {
    fn check<const W: usize>(items: u64, shape: FilterShape) {
        let placed = FilterPositions::new(&context(1), shape, &numbers(0..items), 1);
        let mut total = 0;
        for bin in placed.bins() {
            let mut prg = Prg::from_seed(Block::from(77u128));
            let mut targets = vec![[Block::ZERO; W]; bin.len()];
            prg.fill_blocks(targets.as_flattened_mut());
            let strings = garbled(&bin, &targets, 3).unwrap();
            assert_eq!(strings.len(), shape.hashes() * shape.slots());
            let mut sums = vec![[Block::ZERO; W]; bin.len()];
            for (slice, slots) in strings.chunks(shape.slots()).zip(all_positions(&bin)) {
                Sums(&mut sums).add(slice, &slots);
            }
            assert!(sums == targets);
            // No string is empty, none occurs twice.
            let different: HashSet<_> = strings.iter().map(|string| string.map(Block::to_bytes)).collect();
            assert_eq!(different.len(), strings.len());
            total += bin.len();
        }
        assert_eq!(total as u64, items);
    }
    check::<1>(0, FilterShape::for_items(80, 0));
    check::<1>(1, FilterShape::for_items(80, 1));
    check::<2>(3, FilterShape::for_items(256, 3));
    check::<1>(500, FilterShape::for_items(128, 500));
    check::<2>(500, FilterShape::for_items(192, 500));
    check::<1>(500, FilterShape { hashes: 40, bins: 4, slots: 300 });
}

#[test]
fn garbled_filters_of_one_set_differ_in_every_slot() {
    let placed = FilterPositions::new(&context(2), FilterShape::for_items(80, 50), &numbers(0..50), 1);
    let bin = placed.bins().next().unwrap();
    let targets = [[Block::ONES]; 50];
    let (one, other) = (garbled(&bin, &targets, 1).unwrap(), garbled(&bin, &targets, 2).unwrap());
    assert!(one.iter().zip(&other).all(|(one, other)| one != other));
}

#[test]
fn positions_follow_their_definition() {
    let (items, context) = (numbers(0..200), context(3));
    let shape = FilterShape { hashes: 10, bins: 7, slots: 50 };
    let placed = FilterPositions::new(&context, shape, &items, 2);
    assert_eq!(placed.items().iter().copied().collect::<HashSet<_>>(), (0..200).collect());
    for (number, bin) in placed.bins().enumerate() {
        let positions = all_positions(&bin);
        for (at, place) in bin.range().enumerate() {
            let mut hashed = [0; 24];
            context.hash(
                Label::new("bloom: item to bin and seed"),
                items.get(placed.items()[place] as usize),
                &mut hashed,
            );
            let word = u64::from_le_bytes(hashed[16..].try_into().unwrap());
            assert_eq!(number, ((u128::from(word) * 7) >> 64) as usize);
            let seed: [u8; 16] = hashed[..16].try_into().unwrap();
            for (slice, slots) in positions.iter().enumerate() {
                let mut key = [0; 16];
                let group = slice as u64 / 4;
                context.hash(Label::new("bloom: key of a hash function"), &group.to_le_bytes(), &mut key);
                let mut block = [Block::from(seed)];
                vesica_crypto::aes_hash::FixedKey::new(Block::from(key)).ccr(&mut block);
                let word = u32::from_le_bytes(block[0].as_bytes()[slice % 4 * 4..][..4].try_into().unwrap());
                assert_eq!(slots[at], ((u64::from(word) * 50) >> 32) as u32);
            }
        }
    }
}

#[test]
fn wide_positions_follow_their_definition() {
    // More than 256 items in a bin, and more than 128 functions.
    let (items, context) = (numbers_of(Width::Digest256, 0..700), context(3));
    let shape = FilterShape { hashes: 130, bins: 2, slots: 50 };
    let placed = FilterPositions::new(&context, shape, &items, 2);
    for (number, bin) in placed.bins().enumerate() {
        let positions = all_positions(&bin);
        for (at, place) in bin.range().enumerate() {
            let mut hashed = [0; 40];
            context.hash(
                Label::new("bloom: item to bin and seed"),
                items.get(placed.items()[place] as usize),
                &mut hashed,
            );
            let word = u64::from_le_bytes(hashed[32..].try_into().unwrap());
            assert_eq!(number, ((u128::from(word) * 2) >> 64) as usize);
            for (slice, slots) in positions.iter().enumerate() {
                // Seed and number of the group, as a block of BLAKE3: the number is added to its last six
                // bytes.
                let (mut input, mut block) = ([0; 64], [0; 16]);
                input[..32].copy_from_slice(&hashed[..32]);
                input[58] = slice as u8 / 4;
                context.hash(Label::new("bloom: seed to positions"), &input, &mut block);
                let word = u32::from_le_bytes(block[slice % 4 * 4..][..4].try_into().unwrap());
                assert_eq!(slots[at], ((u64::from(word) * 50) >> 32) as u32);
            }
        }
    }
}

#[test]
fn other_contexts_give_other_positions_and_threads_do_not_matter() {
    let (items, shape) = (numbers(0..10_000), FilterShape::for_items(8, 10_000));
    let positions = |number, threads| {
        let placed = FilterPositions::new(&context(number), shape, &items, threads);
        placed.bins().map(|bin| all_positions(&bin)).collect::<Vec<_>>()
    };
    assert_eq!(shape.bins(), 2);
    assert!(positions(1, 1) == positions(1, 3));
    assert!(positions(1, 1) != positions(2, 1));
}

/// The published text: k functions over all m slots, taken as a list.
struct Published {
    functions: Vec<Vec<usize>>,
    slots: usize,
}

impl Published {
    fn new(items: usize, hashes: usize, slots: usize, rng: &mut StdRng) -> Self {
        let positions = |rng: &mut StdRng| (0..hashes).map(|_| rng.random_range(0..slots)).collect();
        Self { functions: (0..items).map(|_| positions(rng)).collect(), slots }
    }

    /// Algorithm 1 to the letter; the strings, or none if an item finds no slot.
    fn build(&self, values: &[u64], rng: &mut StdRng) -> Option<Vec<u64>> {
        let mut filter = vec![None; self.slots];
        for (positions, value) in self.functions.iter().zip(values) {
            let (mut empty_slot, mut final_share) = (None, *value);
            for &j in positions {
                if let Some(share) = filter[j] {
                    final_share ^= share;
                } else if empty_slot.is_none() {
                    empty_slot = Some(j);
                } else {
                    let share = rng.next_u64();
                    filter[j] = Some(share);
                    final_share ^= share;
                }
            }
            filter[empty_slot?] = Some(final_share);
        }
        Some(filter.into_iter().map(|string| string.unwrap_or_else(|| rng.next_u64())).collect())
    }

    fn query(&self, filter: &[u64], item: usize) -> u64 {
        self.functions[item].iter().map(|&j| filter[j]).fold(0, |sum, string| sum ^ string)
    }
}

#[test]
fn flaw_overwritten_slot() {
    // Eight functions over few slots: positions of one item often coincide, and Algorithm 1 overwrites what
    // it stored.
    let (items, hashes, slots) = (8usize, 8, 92);
    let mut lost = 0;
    for seed in 0..300 {
        let mut rng = StdRng::seed_from_u64(seed);
        let published = Published::new(items, hashes, slots, &mut rng);
        let values: Vec<u64> = (0..items).map(|_| rng.next_u64()).collect();
        if let Some(filter) = published.build(&values, &mut rng) {
            lost += (0..items).filter(|&item| published.query(&filter, item) != values[item]).count();
        }
    }
    assert!(lost > 50, "the published construction loses items: {lost}");

    let (mut built, shape) = (0, FilterShape::for_items(hashes as u32, items));
    for trial in 0..300 {
        let placed = FilterPositions::new(&context(trial), shape, &numbers(0..items as u64), 1);
        let bin = placed.bins().next().unwrap();
        let targets = vec![[Block::from(u128::from(trial))]; items];
        if let Ok(strings) = garbled(&bin, &targets, trial.into()) {
            let mut sums = vec![[Block::ZERO]; items];
            for (slice, slots) in strings.chunks(shape.slots()).zip(all_positions(&bin)) {
                Sums(&mut sums).add(slice, &slots);
            }
            assert!(sums == targets);
            built += 1;
        }
    }
    assert!(built > 280, "{built}");
}

#[test]
fn flaw_cancelling_positions() {
    // Where all positions of an item coincide in pairs the XOR over the list is zero whatever the strings
    // are: everybody knows the summary of an item that nobody gave them.
    let mut rng = StdRng::seed_from_u64(1);
    let published = Published::new(20_000, 4, 60, &mut rng);
    let strings: Vec<u64> = (0..60).map(|_| rng.next_u64()).collect();
    let known = (0..20_000).filter(|&item| published.query(&strings, item) == 0).count();
    assert!(known > 5, "the published construction has summaries that need no string: {known}");

    // Here each slice counts once in every sum.
    let shape = FilterShape { hashes: 4, bins: 1, slots: 15 };
    let placed = FilterPositions::new(&context(1), shape, &numbers(0..20_000), 1);
    let bin = placed.bins().next().unwrap();
    let mut sums = vec![[Block::ZERO]; bin.len()];
    for (slice, slots) in all_positions(&bin).iter().enumerate() {
        // Bytes 4·slice to 4·slice + 3 of the strings of a slice: a sum shows which slices it has.
        let strings = vec![[Block::from(0xffff_ffffu128 << (32 * slice))]; 15];
        Sums(&mut sums).add(&strings, slots);
    }
    assert!(sums.iter().all(|sum| sum[0] == Block::ONES));
}

/// Items in filters of one bin, those of the next two tests.
fn place(items: &Items) -> FilterPositions {
    FilterPositions::new(&context(4), FilterShape::for_items(20, 200), items, 1)
}

fn only_bin(placed: &FilterPositions) -> Bin<'_> {
    placed.bins().next().unwrap()
}

/// The Bloom filter, packed.
fn bits(placed: &FilterPositions) -> Vec<u8> {
    let mut bits = vec![0; placed.shape().all_slots().div_ceil(8) as usize];
    for (slice, slots) in all_positions(&only_bin(placed)).iter().enumerate() {
        choices(slice * placed.shape().slots(), slots, &mut bits);
    }
    bits
}

#[test]
fn flaw_intersection_of_two_bloom_filters() {
    // DCW13 §4.3: the AND of two plain filters has more ones than the filter of the intersection, about
    // (t_S - t_∩)(t_C - t_∩)/(m - t_∩), and they are bits of the other party's set.
    let ones = |range| bits(&place(&numbers(range)));
    let count = |bits: &[u8]| bits.iter().map(|byte| byte.count_ones()).sum::<u32>() as f64;
    let (mine, theirs, common) = (ones(0..200), ones(150..350), ones(150..200));
    let and: Vec<u8> = mine.iter().zip(&theirs).map(|(mine, theirs)| mine & theirs).collect();
    let shape = place(&numbers(0..0)).shape();
    let m = shape.all_slots() as f64;
    let expected = (count(&theirs) - count(&common)) * (count(&mine) - count(&common)) / (m - count(&common));
    let extra = count(&and) - count(&common);
    assert!(
        extra > 0.8 * expected && extra < 1.2 * expected,
        "{extra} ones too many, {expected} by the paper's formula"
    );
    // So the receiver tells items outside its set that the sender has from those that it has not: of their
    // positions, one half are ones for the former, a quarter for the latter.
    let (has, has_not) = (place(&numbers(200..350)), place(&numbers(350..500)));
    let share = |placed: &FilterPositions| {
        let one = |slot: usize| u32::from(and[slot / 8] >> (slot % 8) & 1);
        let slices = all_positions(&only_bin(placed)).into_iter().enumerate();
        let ones: u32 = slices
            .flat_map(|(slice, slots)| {
                slots.into_iter().map(move |slot| one(slice * shape.slots() + slot as usize))
            })
            .sum();
        f64::from(ones) / (20.0 * 150.0)
    };
    assert!(share(&has) > 0.45 && share(&has_not) < 0.35, "{} and {}", share(&has), share(&has_not));
}

#[test]
fn the_garbled_filter_of_an_intersection_tells_no_more_than_it() {
    // By the bits of its own filter the receiver chooses the strings of the sender's garbled one, and has
    // random ones for the others. An item's value is its digest.
    let value = |items: &Items, placed: &FilterPositions| -> Vec<[Block; 1]> {
        let bytes = |item: &u32| *items.get(*item as usize).first_chunk::<16>().unwrap();
        placed.items().iter().map(|item| [Block::from(bytes(item))]).collect()
    };
    let (items, own) = (numbers(150..350), numbers(0..200));
    let (sender, receiver) = (place(&items), place(&own));
    let (shape, mine) = (sender.shape(), bits(&receiver));
    let strings = garbled(&only_bin(&sender), &value(&items, &sender), 9).unwrap();
    let mut prg = Prg::from_seed(Block::from(10u128));
    let chosen = |slot: usize| mine[slot / 8] >> (slot % 8) & 1 == 1;
    let received: Vec<[Block; 1]> = strings
        .iter()
        .enumerate()
        .map(|(slot, string)| if chosen(slot) { *string } else { [prg.block()] })
        .collect();
    let sums = |placed: &FilterPositions, counted: &dyn Fn(usize) -> bool| {
        let mut sums = vec![[Block::ZERO]; placed.items().len()];
        for (slice, slots) in all_positions(&only_bin(placed)).iter().enumerate() {
            let first = slice * shape.slots();
            let strings: Vec<[Block; 1]> = (first..first + shape.slots())
                .map(|slot| if counted(slot) { received[slot] } else { [Block::ZERO] })
                .collect();
            Sums(&mut sums).add(&strings, slots);
        }
        sums
    };
    // The items in common are found, and no other of its own.
    let found =
        sums(&receiver, &|_| true).iter().zip(value(&own, &receiver)).filter(|(a, b)| *a == b).count();
    assert_eq!(found, 50);
    // Of items outside its set it learns the same whether the sender has them or not: what it has at all
    // their positions, and what it has of the sender at those that it chose, are random strings, and never
    // the item's value.
    for range in [200..350, 350..500] {
        let items = numbers(range);
        let outside = place(&items);
        let values = value(&items, &outside);
        for counted in [&(|_| true) as &dyn Fn(usize) -> bool, &chosen] {
            let sums = sums(&outside, counted);
            assert!(sums.iter().zip(&values).all(|(sum, value)| sum != value));
            let bits: u32 = sums.iter().map(|sum| sum[0].to_u128().count_ones()).sum();
            assert!((f64::from(bits) - 150.0 * 64.0).abs() < 5.0 * (150.0f64 * 32.0).sqrt(), "{bits} ones");
            let different: HashSet<_> = sums.iter().map(|sum| sum[0].to_bytes()).collect();
            assert_eq!(different.len(), 150);
        }
    }
}
