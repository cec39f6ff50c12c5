use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;

const WIDTHS: [Width; 2] = [Width::Digest128, Width::Digest256];

fn build(width: Width, keys: &[&[u8]], on_duplicates: OnDuplicates) -> Result<Items, ItemsError> {
    let mut builder = ItemsBuilder::new(Encoding::Digest(width), keys.len())?;
    for (row, key) in keys.iter().enumerate() {
        builder.push(row as u64, key)?;
    }
    builder.build(on_duplicates)
}

fn find(items: &Items, key: &[u8]) -> usize {
    let mut wanted = vec![0; items.width()];
    let width = if items.width() == 16 { Width::Digest128 } else { Width::Digest256 };
    digest(width, key, &mut wanted);
    items.digests().position(|item| item == wanted).unwrap()
}

#[test]
fn digests_are_separated_by_width_and_from_dummies_and_from_plain_hashes() {
    let (mut narrow, mut wide, mut none) = ([0; 16], [0; 32], [0; 32]);
    let key = [7u8; 32];
    digest(Width::Digest128, &key, &mut narrow);
    digest(Width::Digest256, &key, &mut wide);
    dummy(Width::Digest256, &key, &mut none);
    assert_ne!(narrow, wide[..16]);
    assert_ne!(wide, none);
    assert_ne!(&wide, blake3::hash(&key).as_bytes());
}

#[test]
fn digests_keep_their_bytes() {
    // What both parties must compute alike; a change here is a new version of the digest.
    let mut key = KeyEncoder::new(1).unwrap();
    key.part(b"ada@example.com").unwrap();
    let (mut narrow, mut wide) = ([0; 16], [0; 32]);
    digest(Width::Digest128, key.canonical().unwrap(), &mut narrow);
    digest(Width::Digest256, key.canonical().unwrap(), &mut wide);
    let reference = |width: u8| {
        let key_of_width =
            blake3::Hasher::new_derive_key("vesica item digest v1").update(&[width]).finalize();
        *blake3::Hasher::new_keyed(key_of_width.as_bytes())
            .update(b"\x01\x0f\0\0\0ada@example.com")
            .finalize()
            .as_bytes()
    };
    assert_eq!(narrow, reference(16)[..16]);
    assert_eq!(wide, reference(32));
    assert_eq!(u128::from_be_bytes(narrow), 0xf2a49344_8250fe90_1620bd3c_5f95db04);
    assert_eq!(u128::from_be_bytes(*wide.first_chunk().unwrap()), 0xd0b377ca_85b206bf_81b0656e_b73aa3b8);
}

#[test]
fn keys_written_in_place_are_keys_pushed() {
    let encoding = Encoding::Digest(Width::Digest128);
    let (two, mut rng) = (KeyKind::only(2).unwrap(), StdRng::seed_from_u64(4));
    // More than one batch, by number and by bytes.
    for longest in [4, 300] {
        let mut written = ItemsBuilder::new(encoding, 0).unwrap();
        let mut pushed = ItemsBuilder::new(encoding, 0).unwrap();
        for row in 0..3000 {
            let parts = [0, 1].map(|_| vec![rng.random::<u8>(); rng.random_range(0..longest)]);
            let mut key = KeyEncoder::new(2).unwrap();
            parts.iter().for_each(|part| key.part(part).unwrap());
            // Some keys are begun and given up, and some come from elsewhere.
            written.key(two).part(b"given up").unwrap();
            if row % 7 == 0 {
                written.push(row, key.canonical().unwrap()).unwrap();
            } else {
                written.key(two);
                assert!(written.push_key(row).is_err(), "a key without its parts");
                let encoder = written.key(two);
                parts.iter().for_each(|part| encoder.part(part).unwrap());
                written.push_key(row).unwrap();
            }
            pushed.push(row, key.canonical().unwrap()).unwrap();
        }
        let [written, pushed] = [written, pushed].map(|builder| builder.build(OnDuplicates::All).unwrap());
        assert!(written.digests().eq(pushed.digests()));
        assert!((0..written.len()).all(|item| written.rows_of(item).eq(pushed.rows_of(item))));
    }
}

#[test]
fn short_keys_in_blocks_are_keys_pushed() {
    let mut rng = StdRng::seed_from_u64(9);
    let kinds = [KeyKind::ONE_PART, KeyKind::of_several(3, 1).unwrap()];
    for (width, kind) in WIDTHS.into_iter().flat_map(|width| kinds.map(|kind| (width, kind))) {
        let builder = || ItemsBuilder::new(Encoding::Digest(width), 0).unwrap();
        let (mut short, mut pushed) = (builder(), builder());
        let mut row = 0;
        for count in (0..=ShortKey::BATCH).chain([16; 5]) {
            let (mut keys, mut blocks) = (Vec::new(), vec![[0; 64]; count]);
            for block in &mut blocks {
                let length = rng.random_range(0..=ShortKey::LONGEST);
                let part = &mut block[ShortKey::AT..][..length];
                rng.fill(part);
                let mut key = KeyEncoder::new(1).unwrap();
                key.begin(kind);
                key.part(part).unwrap();
                pushed.push(row, key.canonical().unwrap()).unwrap();
                keys.push(ShortKey { row, length: length as u8 });
                row += 1;
            }
            short.push_short(kind, &keys, &mut blocks).unwrap();
        }
        let [short, pushed] = [short, pushed].map(|builder| builder.build(OnDuplicates::All).unwrap());
        assert!(short.len() > 1000 && short.digests().eq(pushed.digests()));
        assert!((0..short.len()).all(|item| short.rows_of(item).eq(pushed.rows_of(item))));
    }
}

#[test]
fn short_keys_that_are_none_are_refused() {
    let digests = Encoding::Digest(Width::Digest128);
    let push_as = |kind, builder: Result<ItemsBuilder, ItemsError>, row, length| {
        builder.unwrap().push_short(kind, &[ShortKey { row, length }], &mut [[0; 64]]).unwrap_err()
    };
    let push = |builder, row, length| push_as(KeyKind::ONE_PART, builder, row, length);
    let longer = ShortKey::LONGEST as u8 + 1;
    assert_eq!(push(ItemsBuilder::new(digests, 0), 0, longer), ItemsError::PartTooLong);
    assert_eq!(push(ItemsBuilder::new(digests, 0), u32::MAX.into(), 1), ItemsError::TooManyRows);
    let two = push_as(KeyKind::only(2).unwrap(), ItemsBuilder::new(digests, 0), 0, 1);
    assert_eq!(two, ItemsError::KeyParts { parts: 1 });
    assert_eq!(push(ItemsBuilder::new(Encoding::Native { sigma: 8 }, 0), 0, 1), ItemsError::WrongEncoding);
}

#[test]
fn keys_of_different_kinds_never_meet() {
    let mut written = std::collections::BTreeSet::new();
    let kinds = (0..KeyKind::MOST).flat_map(|which| (1..=2).map(move |parts| (which, parts)));
    let all = kinds.map(|(which, parts)| (KeyKind::of_several(which, parts).unwrap(), parts));
    for (kind, parts) in all {
        let mut key = KeyEncoder::new(1).unwrap();
        key.begin(kind);
        (0..parts).for_each(|_| key.part(b"same").unwrap());
        assert!(written.insert(key.canonical().unwrap().to_vec()), "{kind:?}");
        key.part(b"one more").unwrap();
        assert!(key.canonical().is_err());
    }
    // The first kind writes what a key alone is.
    let (first, alone) = (KeyKind::of_several(0, 1).unwrap(), KeyKind::only(1).unwrap());
    assert_eq!(first, alone);
    for (which, parts) in [(16, 1), (0, 0), (0, 16)] {
        assert!(KeyKind::of_several(which, parts).is_err(), "{which} {parts}");
    }
    assert!(KeyKind::only(0).is_err() && KeyKind::only(256).is_err() && KeyKind::only(255).is_ok());
}

#[test]
fn a_batch_is_its_single_digests() {
    for width in WIDTHS {
        let keys: Vec<Vec<u8>> = (0..300).map(|n| vec![n as u8; n]).collect();
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for key in &keys {
            bytes.extend_from_slice(key);
            ends.push(bytes.len());
        }
        let mut all = vec![0; keys.len() * width.bytes()];
        digest_batch(width, Batch { bytes: &bytes, ends: &ends }, &mut all);
        for (key, found) in keys.iter().zip(all.chunks(width.bytes())) {
            let mut one = vec![0; width.bytes()];
            digest(width, key, &mut one);
            assert_eq!(one, found);
        }
    }
}

#[test]
fn items_are_distinct_sorted_and_know_their_rows() {
    let mut rng = StdRng::seed_from_u64(1);
    for width in WIDTHS {
        for rows in [0usize, 1, 2, 255, 256, 257, 5000] {
            let keys: Vec<Vec<u8>> =
                (0..rows).map(|_| rng.random_range(0..rows as u32).to_le_bytes().to_vec()).collect();
            let mut expected = BTreeMap::<Vec<u8>, Vec<u64>>::new();
            for (row, key) in keys.iter().enumerate() {
                let mut item = vec![0; width.bytes()];
                digest(width, key, &mut item);
                expected.entry(item).or_default().push(row as u64);
            }
            let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            let items = build(width, &slices, OnDuplicates::All).unwrap();
            assert_eq!(items.len(), expected.len());
            assert_eq!(items.rows(), rows as u64);
            assert_eq!(items.duplicates(), (rows - expected.len()) as u64);
            for (index, (item, rows)) in expected.iter().enumerate() {
                assert_eq!(items.get(index), item);
                assert_eq!(items.rows_of(index).collect::<Vec<_>>(), *rows);
            }
            let first = build(width, &slices, OnDuplicates::First).unwrap();
            assert_eq!(first.duplicates(), items.duplicates());
            for (index, (item, rows)) in expected.iter().enumerate() {
                assert_eq!(first.get(index), item);
                assert_eq!(first.rows_of(index).collect::<Vec<_>>(), rows[..1]);
            }
        }
    }
}

#[test]
fn the_error_names_the_first_repeated_row() {
    let keys: [&[u8]; 6] = [b"a", b"b", b"c", b"b", b"a", b"b"];
    for width in WIDTHS {
        let error = build(width, &keys, OnDuplicates::Error).unwrap_err();
        assert_eq!(error, ItemsError::Duplicate { first: 1, second: 3 });
        assert_eq!(build(width, &keys[..3], OnDuplicates::Error).unwrap().len(), 3);
    }
}

#[test]
fn matches_are_ascending_rows_each_once() {
    let keys: [&[u8]; 6] = [b"a", b"b", b"c", b"b", b"d", b"b"];
    let items = build(Width::Digest128, &keys, OnDuplicates::All).unwrap();
    let wanted = [find(&items, b"c"), find(&items, b"b"), find(&items, b"b"), find(&items, b"a")];
    let matches = items.matches(wanted.into_iter());
    assert_eq!((matches.rows(), matches.items()), (&[0, 1, 2, 3, 5][..], 3));
    assert_eq!(items.matches(std::iter::empty()), Matches::default());
    assert_eq!(items.matches(0..items.len()).into_rows(), [0, 1, 2, 3, 4, 5]);
    let none = build(Width::Digest128, &[], OnDuplicates::All).unwrap();
    assert_eq!(none.matches(std::iter::empty()).items(), 0);
}

#[test]
fn padding_adds_items_that_never_match() {
    let mut rng = StdRng::seed_from_u64(2);
    let keys: [&[u8]; 6] = [b"a", b"b", b"c", b"b", b"d", b"b"];
    for width in WIDTHS {
        for on_duplicates in [OnDuplicates::All, OnDuplicates::First] {
            let plain = build(width, &keys, on_duplicates).unwrap();
            let mut items = build(width, &keys, on_duplicates).unwrap();
            items.pad(64, &mut rng).unwrap();
            assert_eq!((items.len(), items.distinct(), items.duplicates(), items.rows()), (64, 4, 2, 6));
            assert!(items.digests().is_sorted());
            assert_eq!(items.digests().collect::<HashSet<_>>().len(), 64);
            assert_eq!(items.matches(0..64), plain.matches(0..4));
            assert_eq!((0..64).filter(|index| items.rows_of(*index).next().is_none()).count(), 60);
            assert_eq!(items.pad(63, &mut rng), Err(ItemsError::PadBelowSize { items: 64, to: 63 }));
            items.pad(64, &mut rng).unwrap();
            items.pad(65, &mut rng).unwrap();
            assert_eq!((items.len(), items.distinct()), (65, 4));
            assert_eq!(items.pad(usize::MAX, &mut rng), Err(ItemsError::TooManyRows));
            assert_eq!((items.len(), items.rows()), (65, 6));
        }
    }
}

#[test]
fn dummies_lie_anywhere() {
    let mut rng = StdRng::seed_from_u64(3);
    let keys: Vec<[u8; 2]> = (0..500u16).map(u16::to_le_bytes).collect();
    let slices: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    let mut items = build(Width::Digest128, &slices, OnDuplicates::All).unwrap();
    items.pad(1000, &mut rng).unwrap();
    let in_front = (0..500).filter(|index| items.rows_of(*index).next().is_none()).count();
    assert!((190..310).contains(&in_front), "{in_front} of 500");
}

#[test]
fn native_items_are_the_integers() {
    for sigma in [1, 32, 63, 64] {
        let top = u64::MAX >> (64 - sigma);
        let mut builder = ItemsBuilder::new(Encoding::Native { sigma }, 3).unwrap();
        for (row, value) in [top, 0, top].into_iter().enumerate() {
            builder.push_native(row as u64, value).unwrap();
        }
        if sigma < 64 {
            let error = builder.push_native(9, top + 1);
            assert_eq!(error, Err(ItemsError::ValueOutOfRange { row: 9, sigma }));
        }
        assert_eq!(builder.push(9, b"key"), Err(ItemsError::WrongEncoding));
        let mut items = builder.build(OnDuplicates::All).unwrap();
        assert_eq!((items.native(0), items.native(1), items.len()), (Some(0), Some(top), 2));
        assert_eq!(items.get(1), top.to_be_bytes());
        assert_eq!(items.matches([1].into_iter()).rows(), [0, 2]);
        assert_eq!(items.pad(4, &mut StdRng::seed_from_u64(4)), Err(ItemsError::PadNative));
    }
    for sigma in [0, 65] {
        let error = ItemsBuilder::new(Encoding::Native { sigma }, 0).unwrap_err();
        assert_eq!(error, ItemsError::Sigma { sigma });
    }
    let mut digests = ItemsBuilder::new(Encoding::Digest(Width::Digest128), 0).unwrap();
    assert_eq!(digests.push_native(0, 0), Err(ItemsError::WrongEncoding));
}

#[test]
fn rows_end_below_the_dummies() {
    let mut builder = ItemsBuilder::new(Encoding::Digest(Width::Digest256), usize::MAX).unwrap();
    builder.push(u64::from(u32::MAX) - 1, b"last").unwrap();
    for row in [u64::from(u32::MAX), u64::from(u32::MAX) + 1, u64::MAX] {
        assert_eq!(builder.push(row, b"beyond"), Err(ItemsError::TooManyRows));
    }
    let items = builder.build(OnDuplicates::All).unwrap();
    assert_eq!(items.matches(0..1).rows(), [u64::from(u32::MAX) - 1]);
}

/// Rows are ordered by sorting where few of many match, and by a bit a row elsewhere.
#[test]
fn matched_rows_ascend_however_many_match() {
    let keys: Vec<[u8; 4]> = (0..2000u32).map(u32::to_be_bytes).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    let items = build(Width::Digest128, &keys, OnDuplicates::All).unwrap();
    // Item i is some row: digests are in another order than rows.
    let row = |item| items.matches([item].into_iter()).rows()[0];
    for count in [1, 12, 30, 31, 32, 33, 500, 2000] {
        let mut expected: Vec<u64> = (0..count).map(row).collect();
        assert!(count < 12 || !expected.is_sorted(), "{count}");
        expected.sort_unstable();
        assert_eq!(items.matches(0..count).rows(), expected, "{count}");
    }
    // As many words of bits as rows.
    let two: Vec<usize> = (0..2000).filter(|item| [3, 127].contains(&row(*item))).collect();
    assert_eq!(items.matches(two.into_iter().rev()).rows(), [3, 127]);
}

#[test]
fn shuffles_are_permutations_and_uniform() {
    let mut rng = StdRng::seed_from_u64(5);
    let keys: [&[u8]; 4] = [b"a", b"b", b"c", b"d"];
    let items = build(Width::Digest128, &keys, OnDuplicates::All).unwrap();
    let mut seen = BTreeMap::<Vec<u32>, u32>::new();
    for _ in 0..24_000 {
        *seen.entry(items.shuffled(&mut rng)).or_default() += 1;
    }
    assert_eq!(seen.len(), 24);
    assert!(seen.values().all(|count| (850..1150).contains(count)));
}

#[test]
fn keys_do_not_collide_across_their_parts() {
    let encode = |parts: &[&[u8]]| {
        let mut key = KeyEncoder::new(parts.len()).unwrap();
        for part in parts {
            key.part(part).unwrap();
        }
        key.canonical().unwrap().to_vec()
    };
    assert_eq!(encode(&[b"ab"]), b"\x01\x02\0\0\0ab");
    assert_eq!(encode(&[b"", b"c"]), b"\x02\0\0\0\0\x01\0\0\0c");
    assert_ne!(encode(&[b"a,b", b"c"]), encode(&[b"a", b"b,c"]));
    assert_ne!(encode(&[b"ab", b""]), encode(&[b"", b"ab"]));
    let nested = encode(&[b"b"]);
    assert_ne!(encode(&[b"a", b"b"]), encode(&[&[b"a", &nested[..]].concat()]));
}

#[test]
fn keys_are_reused_and_counted() {
    let mut key = KeyEncoder::new(2).unwrap();
    key.part(b"long enough to matter").unwrap();
    assert_eq!(key.canonical(), Err(ItemsError::KeyParts { parts: 1 }));
    key.clear();
    key.part(b"a").unwrap();
    assert_eq!(key.part_with(|bytes| bytes.push(b'b')), Ok(()));
    assert_eq!(key.canonical().unwrap(), b"\x02\x01\0\0\0a\x01\0\0\0b");
    key.part(b"c").unwrap();
    assert_eq!(key.canonical(), Err(ItemsError::KeyParts { parts: 3 }));
    for parts in [0, 256] {
        assert_eq!(KeyEncoder::new(parts).unwrap_err(), ItemsError::KeyParts { parts });
    }
}

#[test]
fn debug_output_has_no_content() {
    let keys: [&[u8]; 1] = [b"planted"];
    let items = build(Width::Digest128, &keys, OnDuplicates::All).unwrap();
    let mut builder = ItemsBuilder::new(items.encoding(), 1).unwrap();
    builder.push(0, keys[0]).unwrap();
    let mut key = KeyEncoder::new(1).unwrap();
    key.part(keys[0]).unwrap();
    let shown = format!("{items:?} {builder:?} {key:?} {:?}", items.matches(0..1));
    assert_eq!(
        shown,
        "Items { encoding: Digest(Digest128), len: 1, .. } ItemsBuilder { encoding: Digest(Digest128), .. } \
         KeyEncoder { arity: 1, .. } Matches { rows: 1, items: 1 }"
    );
}

#[test]
fn a_drained_builder_gives_what_it_would_have_built() {
    let mut rng = StdRng::seed_from_u64(31);
    for width in WIDTHS {
        let keys: Vec<String> = (0..5000).map(|_| format!("key {}", rng.random_range(0..3000))).collect();
        let expected = Items::of_keys(width, &keys).unwrap();
        let mut builder = ItemsBuilder::new(Encoding::Digest(width), 0).unwrap();
        let mut taken = Vec::new();
        for (row, key) in keys.iter().enumerate() {
            builder.push(row as u64, key.as_bytes()).unwrap();
            if row % 1700 == 99 {
                let held = builder.len();
                let before = taken.len();
                let all = builder.drain(|row, digest| {
                    taken.push((row, digest.to_vec()));
                    ControlFlow::Continue(())
                });
                assert!(all.is_continue() && builder.is_empty() && taken.len() - before == held);
            }
        }
        let stopped = builder.drain(|row, _| {
            assert_eq!(row, taken.len() as u64);
            ControlFlow::Break(())
        });
        assert!(stopped.is_break() && builder.is_empty());
        assert!(taken.iter().map(|(row, _)| *row).eq(0..taken.len() as u64));
        // Digests that go in again are the same items.
        let mut again = ItemsBuilder::new(Encoding::Digest(width), 0).unwrap();
        taken.iter().for_each(|(row, digest)| again.push_digest(*row, digest).unwrap());
        for (row, key) in keys.iter().enumerate().skip(taken.len()) {
            let mut bytes = vec![0; width.bytes()];
            digest(width, key.as_bytes(), &mut bytes);
            again.push_digest(row as u64, &bytes).unwrap();
        }
        let again = again.build(OnDuplicates::All).unwrap();
        assert!(again.digests().eq(expected.digests()));
        assert!((0..again.len()).all(|item| again.rows_of(item).eq(expected.rows_of(item))));
    }
    let mut native = ItemsBuilder::new(Encoding::Native { sigma: 8 }, 0).unwrap();
    assert_eq!(native.push_digest(0, &[0; 8]), Err(ItemsError::WrongEncoding));
}

#[test]
fn the_first_rows_are_kept_and_the_first_repeated_row_is_told() {
    let mut rng = StdRng::seed_from_u64(32);
    for width in WIDTHS {
        for keys in [300, 5000] {
            let names: Vec<String> = (0..2000).map(|_| format!("{}", rng.random_range(0..keys))).collect();
            let slices: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
            let expected = build(width, &slices, OnDuplicates::Error).map(|_| ());
            let first = build(width, &slices, OnDuplicates::First).unwrap();
            let mut builder = ItemsBuilder::new(Encoding::Digest(width), 0).unwrap();
            let mut repeated = None;
            for (row, name) in (0..).zip(&names) {
                builder.push(row, name.as_bytes()).unwrap();
                if row % 321 == 0 {
                    repeated = repeated.or(builder.keep_first());
                }
            }
            repeated = repeated.or(builder.keep_first());
            assert_eq!(
                repeated.map(|(first, second)| ItemsError::Duplicate { first, second }),
                expected.err()
            );
            assert_eq!((builder.len(), builder.keep_first()), (first.len(), None));
            let kept = builder.build(OnDuplicates::Error).unwrap();
            assert!((0..kept.len()).all(|item| kept.rows_of(item).eq(first.rows_of(item))));
        }
    }
}
