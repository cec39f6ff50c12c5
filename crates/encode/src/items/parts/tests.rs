use std::collections::{BTreeMap, BTreeSet};

use vesica_crypto::prg::Prg;

use super::*;
use crate::hashing::parameters::bounds::overflow;
use crate::items::{Encoding, Items, ItemsBuilder, OnDuplicates, Split, Width, digest};

const WIDTHS: [Width; 2] = [Width::Digest128, Width::Digest256];

fn parts(count: u32) -> Parts {
    Parts::new(count).unwrap()
}

fn rng() -> Prg {
    Prg::from_seed([7; 16])
}

/// Names from the first to before the last.
fn names(range: std::ops::Range<u32>) -> Vec<String> {
    range.map(|name| format!("name {name}")).collect()
}

#[test]
fn counts_are_from_one_to_the_most() {
    assert_eq!(Parts::new(1), Ok(Parts::ONE));
    assert_eq!(parts(MOST).count(), 65_536);
    assert_eq!(Parts::new(0), Err(PartsError::Count { count: 0 }));
    assert_eq!(Parts::new(MOST + 1), Err(PartsError::Count { count: MOST + 1 }));
}

#[test]
fn lambda_grows_with_the_parts() {
    let lambda = [1, 2, 3, 4, 5, 1024, 1025, MOST].map(|count| parts(count).statistical_security());
    assert_eq!(lambda, [40, 41, 42, 42, 43, 50, 51, 56]);
}

#[test]
fn bounds_are_those_of_the_contract() {
    let table: [(u32, &[(u32, u64)]); 5] = [
        (20, &[(4, 266_120), (16, 67_596), (64, 17_435), (1024, 1308)]),
        (24, &[(4, 4_210_178), (16, 1_056_780), (64, 266_315), (1024, 17_483)]),
        (28, &[(64, 4_210_954), (256, 1_057_033), (1024, 266_501), (4096, 67_752)]),
        (30, &[(256, 4_211_205), (1024, 1_057_277), (4096, 266_562), (16_384, 67_810)]),
        (32, &[(1024, 4_211_694), (4096, 1_057_398), (16_384, 266_679)]),
    ];
    for (log, row) in table {
        for (count, bound) in row {
            assert_eq!(parts(*count).bound(1 << log), *bound, "2^{log} items in {count} parts");
        }
    }
}

#[test]
fn a_bound_is_never_above_the_items_nor_below_a_fair_share() {
    for items in [0, 1, 2, 3, 100, 65_535, (1 << 20) + 1, 1 << 36, u64::MAX] {
        assert_eq!(Parts::ONE.bound(items), items);
        for count in [2, 3, 7, 1000, MOST] {
            let bound = parts(count).bound(items);
            assert!(bound <= items && bound >= items.div_ceil(count.into()), "{items} {count} {bound}");
            assert!(bound <= parts(count).bound(items.saturating_add(1)));
        }
    }
}

/// log2 of the probability that a part of either side has more than its bound.
fn log2_overfull(items: u64, count: u32) -> f64 {
    let bound = parts(count).bound(items);
    1.0 + if bound < items { overflow(items, count.into(), bound) } else { f64::NEG_INFINITY }
}

/// Sizes 2^`log`, and odd ones up to the next power, with numbers of parts, odd ones among them.
fn pairs(log: u32) -> impl Iterator<Item = (u64, u32)> {
    let power = 1u64 << log;
    let sizes: BTreeSet<u64> = BTreeSet::from([power, power + power / 2 + 1]);
    let counts = [2, 3, 4, 5, 8, 13, 16, 64, 255, 256, 1000, 1024, 4096, 9999, 16_384, 65_535, MOST];
    sizes.into_iter().flat_map(move |size| counts.into_iter().map(move |count| (size, count)))
}

/// The exact tail is summed; the logarithms of factorials up to (2^36)! are good to a thousandth of a bit.
fn assert_tails(logs: impl Iterator<Item = u32>) -> (usize, f64) {
    let (mut checked, mut most) = (0, f64::NEG_INFINITY);
    for (items, count) in logs.flat_map(pairs).filter(|(items, _)| *items <= 1 << 36) {
        let log2 = log2_overfull(items, count);
        assert!(log2 <= -40.0, "{items} items in {count} parts: 2^{log2}");
        (checked, most) = (checked + 1, most.max(log2));
    }
    (checked, most)
}

#[test]
fn parts_are_overfull_with_probability_2_to_the_minus_40_at_most() {
    let (checked, most) = assert_tails((0..=24).step_by(3));
    assert_eq!(checked, 9 * 2 * 17);
    assert!(most > -60.0, "the bound wastes too much: 2^{most}");
}

#[test]
#[ignore = "takes seconds; run after any change of the bound"]
fn parts_of_any_size_are_overfull_with_probability_2_to_the_minus_40_at_most() {
    let (checked, most) = assert_tails(0..=36);
    println!("{checked} pairs of sizes and parts: at most 2^{most:.2}");
}

#[test]
fn a_smaller_bound_would_not_do() {
    // A tenth less room above the mean load is too little.
    let (items, count) = (1u64 << 24, 16);
    let (bound, mean) = (parts(count).bound(items), items / u64::from(count));
    let room = bound - mean;
    assert!(1.0 + overflow(items, count.into(), mean + room * 9 / 10) > -40.0);
}

#[test]
fn every_prefix_is_in_the_range_of_its_part() {
    for count in [1, 2, 3, 5, 16, 1000, 65_535, MOST] {
        let parts = parts(count);
        let mut next = 0;
        for part in 0..parts.count() {
            let range = parts.range(part);
            assert_eq!(u128::from(range.start), next, "a gap before part {part} of {count}");
            next += range.len;
            for prefix in [range.at(0), range.at(1 << 63), range.at(u64::MAX)] {
                assert_eq!(parts.of_prefix(prefix), part, "{prefix} of {count}");
            }
        }
        assert_eq!(next, 1 << 64);
    }
}

#[test]
fn items_are_hashed_under_the_key_and_go_to_the_part_that_their_hash_names() {
    for width in WIDTHS {
        let names = names(0..500);
        let items = Items::of_keys(width, &names).unwrap();
        for count in [1, 3, 16] {
            let (key, parts) = ([9; 32], parts(count));
            let split = Split::new(&items, &key, parts).unwrap();
            let mut expected: BTreeMap<Vec<u8>, (u64, usize)> = BTreeMap::new();
            for (row, name) in (0..).zip(&names) {
                let mut item = vec![0; width.bytes()];
                digest(width, name.as_bytes(), &mut item);
                let keyed = blake3::keyed_hash(&key, &item).as_bytes()[..width.bytes()].to_vec();
                let prefix = u64::from_be_bytes(*keyed.first_chunk().unwrap());
                expected.insert(keyed, (row, parts.of_prefix(prefix)));
            }
            for part in 0..parts.count() {
                let of_part = split.part(part, &mut rng()).unwrap();
                assert_eq!((of_part.len(), of_part.encoding()), (split.bound(), items.encoding()));
                for item in 0..of_part.len() {
                    let mut number = of_part.rows_of(item);
                    let Some(number) = number.next() else { continue };
                    let row = items.rows_of(number as usize).next().unwrap();
                    assert_eq!(expected.remove(of_part.get(item)), Some((row, part)));
                }
            }
            assert!(expected.is_empty(), "every item is in one part");
        }
    }
}

#[test]
fn threads_split_as_one_does() {
    for width in WIDTHS {
        // Several chunks, and some dummies.
        let mut items = Items::of_keys(width, &names(0..70_000)).unwrap();
        items.pad(71_000, &mut rng()).unwrap();
        let all = |threads| {
            let split = Split::by_threads(threads, &items, &[7; 32], parts(5)).unwrap();
            let parts = split.all_parts(threads, &mut rng()).unwrap();
            let of = |part: &Items| {
                let rows = |item| part.rows_of(item).collect::<Vec<_>>();
                (0..part.len()).map(|item| (part.get(item).to_vec(), rows(item))).collect::<Vec<_>>()
            };
            parts.iter().map(of).collect::<Vec<_>>()
        };
        let expected = all(1);
        assert!(expected.iter().flatten().filter(|(_, rows)| !rows.is_empty()).count() == 70_000);
        for threads in [2, 3, 7] {
            assert!(all(threads) == expected, "{threads} threads");
        }
    }
}

#[test]
fn every_part_is_padded_to_the_bound_and_its_order_does_not_tell_dummies() {
    // Many dummies, and few.
    for (width, size, count) in [(WIDTHS[0], 2000, 16), (WIDTHS[1], 5000, 2)] {
        let items = Items::of_keys(width, &names(0..size)).unwrap();
        let parts = parts(count);
        let split = Split::new(&items, &[1; 32], parts).unwrap();
        assert_eq!(split.bound() as u64, parts.bound(size.into()));
        for part in 0..parts.count() {
            let of_part = split.part(part, &mut rng()).unwrap();
            assert_eq!(of_part.len(), split.bound());
            assert!(of_part.distinct() < of_part.len(), "there are dummies");
            assert!(of_part.digests().is_sorted());
            for item in of_part.digests() {
                let prefix = u64::from_be_bytes(*item.first_chunk().unwrap());
                assert_eq!(parts.of_prefix(prefix), part, "an item or a dummy of another part");
            }
            // The numbers of the dummies are spread evenly: their mean is within five deviations of the middle.
            let dummies: Vec<f64> = (0..of_part.len())
                .filter(|item| of_part.rows_of(*item).next().is_none())
                .map(|item| item as f64 / of_part.len() as f64)
                .collect();
            let mean = dummies.iter().sum::<f64>() / dummies.len() as f64;
            assert!((mean - 0.5).abs() < 5.0 * (1.0 / 12.0 / dummies.len() as f64).sqrt(), "{mean}");
        }
    }
}

#[test]
fn dummies_match_no_dummy_of_another_draw() {
    let items = Items::of_keys(Width::Digest128, &["only"]).unwrap();
    let mut padded = items;
    padded.pad(1000, &mut rng()).unwrap();
    let split = Split::new(&padded, &[1; 32], parts(4)).unwrap();
    let mut rng = rng();
    let [mine, theirs] = [(); 2].map(|()| {
        let part = split.part(2, &mut rng).unwrap();
        (0..part.len())
            .filter(|item| part.rows_of(*item).next().is_none())
            .map(|item| part.get(item).to_vec())
            .collect::<BTreeSet<_>>()
    });
    assert!(mine.len() >= split.bound() - 1 && mine.is_disjoint(&theirs));
}

#[test]
fn matches_of_parts_are_the_rows_of_the_whole() {
    for width in WIDTHS {
        // Rows that repeat a key, and dummies of the whole set.
        let keys: Vec<String> = (0..900).map(|row| format!("name {}", row % 700)).collect();
        let mut items = Items::of_keys(width, &keys).unwrap();
        items.pad(1000, &mut rng()).unwrap();
        let theirs = Items::of_keys(width, &names(100..1500)).unwrap();
        for count in [1, 4, 7] {
            let [split, other] =
                [&items, &theirs].map(|items| Split::new(items, &[3; 32], parts(count)).unwrap());
            assert_eq!(split.bound() as u64, parts(count).bound(1000));
            let of_parts = (0..count as usize).map(|part| {
                let (mine, theirs) =
                    (split.part(part, &mut rng()).unwrap(), other.part(part, &mut rng()).unwrap());
                let real = |items: &Items| {
                    (0..items.len())
                        .filter(|item| items.rows_of(*item).next().is_some())
                        .map(|item| (items.get(item).to_vec(), item))
                        .collect::<BTreeMap<_, _>>()
                };
                let (of_mine, of_theirs) = (real(&mine), real(&theirs));
                mine.matches(
                    of_mine.iter().filter(|(key, _)| of_theirs.contains_key(*key)).map(|(_, item)| *item),
                )
            });
            let matches = split.matches(of_parts.collect::<Vec<_>>());
            let expected: Vec<u64> = (0..900).filter(|row| row % 700 >= 100).collect();
            assert_eq!((matches.rows(), matches.items()), (expected.as_slice(), 600));
        }
    }
}

#[test]
fn another_key_splits_otherwise() {
    let items = Items::of_keys(Width::Digest256, &names(0..100)).unwrap();
    let loads = |key: u8| {
        let split = Split::new(&items, &[key; 32], parts(5)).unwrap();
        (0..5).map(|part| split.part(part, &mut rng()).unwrap().distinct()).collect::<Vec<_>>()
    };
    assert_ne!(loads(1), loads(2));
    assert_eq!(loads(1).iter().sum::<usize>(), 100);
}

#[test]
fn small_sets_split_into_more_parts_than_items() {
    for count in [2, 5, MOST] {
        let empty = Items::of_keys::<&str>(Width::Digest128, &[]).unwrap();
        let split = Split::new(&empty, &[0; 32], parts(count)).unwrap();
        assert_eq!((split.bound(), split.part(1, &mut rng()).unwrap().len()), (0, 0));
        let one = Items::of_keys(Width::Digest128, &["one"]).unwrap();
        let split = Split::new(&one, &[0; 32], parts(count)).unwrap();
        assert_eq!(split.bound(), 1);
        let real: usize =
            (0..count as usize).map(|part| split.part(part, &mut rng()).unwrap().distinct()).sum();
        assert_eq!(real, 1);
    }
}

/// Names of which `crowded` go to part 0 under this key, and the others anywhere.
fn crowded(key: &[u8; 32], parts: Parts, crowded: usize, others: usize) -> Vec<String> {
    let part = |name: &str| {
        let mut item = [0; 32];
        digest(Width::Digest256, name.as_bytes(), &mut item);
        parts.of_prefix(u64::from_be_bytes(*blake3::keyed_hash(key, &item).as_bytes().first_chunk().unwrap()))
    };
    let planted = (0..).map(|i| format!("planted {i}")).filter(|name| part(name) == 0).take(crowded);
    planted.chain(names(0..others as u32)).collect()
}

#[test]
fn keys_planted_for_another_key_do_no_harm_and_an_overfull_part_is_refused() {
    let (known, drawn, parts) = ([5; 32], [6; 32], parts(64));
    let items = Items::of_keys(Width::Digest256, &crowded(&known, parts, 60, 40)).unwrap();
    let bound = parts.bound(100);
    assert!(bound < 60);
    assert!(Split::new(&items, &drawn, parts).is_ok());
    match Split::new(&items, &known, parts) {
        Err(PartsError::Overfull { part: 0, items: 60.., bound: most }) => assert_eq!(most, bound),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_part_may_be_full_to_the_bound_and_no_further() {
    let (key, parts) = ([5; 32], parts(1 << 12));
    let bound = parts.bound(100) as usize;
    for (planted, fits) in [(bound, true), (bound + 1, false)] {
        let items = Items::of_keys(Width::Digest256, &crowded(&key, parts, planted, 0)).unwrap();
        let mut items = items;
        items.pad(100, &mut rng()).unwrap();
        let split = Split::new(&items, &key, parts);
        assert_eq!(split.is_ok(), fits);
        if let Ok(split) = split {
            assert_eq!(split.part(0, &mut rng()).unwrap().distinct(), bound);
        }
    }
}

#[test]
fn native_items_are_refused() {
    let mut builder = ItemsBuilder::new(Encoding::Native { sigma: 32 }, 2).unwrap();
    builder.push_native(0, 7).unwrap();
    let items = builder.build(OnDuplicates::All).unwrap();
    assert_eq!(Split::new(&items, &[0; 32], parts(2)).unwrap_err(), PartsError::Native);
}

/// A part made without the whole set in memory, in which equal items come several times.
#[test]
fn a_part_of_keyed_digests_is_the_part_of_the_set() {
    let (key, parts) = ([8; 32], parts(6));
    for width in WIDTHS {
        let names: Vec<String> = names(0..3000);
        let mut items = Items::of_keys(width, &names).unwrap();
        items.pad(3100, &mut rng()).unwrap();
        let split = Split::new(&items, &key, parts).unwrap();
        let mut digests = vec![0; names.len() * width.bytes()];
        for (name, out) in names.iter().zip(digests.chunks_mut(width.bytes())) {
            digest(width, name.as_bytes(), out);
        }
        let mut keyed = vec![0; digests.len()];
        Parts::keyed(&key, width, &digests, &mut keyed);
        for number in 0..parts.count() {
            let mut builder = ItemsBuilder::new(Encoding::Digest(width), 0).unwrap();
            let here =
                |item: &[u8]| parts.of_prefix(u64::from_be_bytes(*item.first_chunk().unwrap())) == number;
            for item in keyed.chunks(width.bytes()).filter(|item| here(item)) {
                (0..3).for_each(|_| builder.push_digest(0, item).unwrap());
                assert!(!builder.len().is_multiple_of(100) || builder.keep_first().is_some());
            }
            builder.keep_first();
            builder.renumber();
            let mut part = builder.build(OnDuplicates::Error).unwrap();
            let real = part.len();
            parts.fill(number, 3100, &mut part, &mut rng()).unwrap();
            let expected = split.part(number, &mut rng()).unwrap();
            assert!(part.digests().eq(expected.digests()));
            let numbers = (0..part.len()).flat_map(|item| part.rows_of(item));
            assert!(numbers.eq(0..real as u64), "items are numbered in their order");
            let bound = parts.bound(20) as usize;
            let error = parts.fill(number, 20, &mut part, &mut rng()).unwrap_err();
            assert!(matches!(error, PartsError::Overfull { bound: most, .. } if most == bound as u64));
        }
    }
    let mut native =
        ItemsBuilder::new(Encoding::Native { sigma: 32 }, 0).unwrap().build(OnDuplicates::All).unwrap();
    assert_eq!(parts.fill(0, 9, &mut native, &mut rng()), Err(PartsError::Native));
}
