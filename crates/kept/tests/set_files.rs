//! What is written is found again, in as many bytes as promised.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where something is not as it must be")]

mod common;

use std::fs;

use common::{Set, assemble, block, epoch, open, rng, sign, uniform, value, write};
use rand::seq::SliceRandom;
use vesica_kept::{Entry, Epoch, KeptError, Kind, List, Misuse, SetFile, SetWriter, width};

/// Looks for all values, for their neighbours and for others, in a random order.
fn assert_holds(file: &SetFile, list: List, expected: &Set, seed: u64) {
    let read: Vec<Entry> = file.values(list).collect::<Result<_, _>>().unwrap();
    let all: Vec<Entry> =
        expected.iter().map(|(value, label)| Entry { value: *value, label: label.clone() }).collect();
    assert_eq!(read, all);
    let (mut rng, width) = (rng(seed), file.header().epoch.width);
    let step = expected.len() / 1500 + 1;
    let mut asked: Vec<u128> = expected.keys().copied().step_by(step).collect();
    asked.extend(asked.clone().iter().flat_map(|value| [value.wrapping_add(1), value.wrapping_sub(1)]));
    asked.extend((0..100).map(|_| value(width, &mut rng)));
    asked.extend([0, u128::MAX, u128::MAX >> (128 - u32::from(width))]);
    asked.extend(expected.keys().copied().take(3));
    asked.shuffle(&mut rng);
    let found = file.find(list, &asked).unwrap();
    let expected: Vec<_> = asked.iter().map(|value| expected.get(value).cloned()).collect();
    assert_eq!(found, expected);
}

#[test]
fn values_and_labels_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let sizes = [0, 1, 2, 511, 512, 513, 5000, 100_000];
    let shapes = [(41, 0), (47, 30), (64, 0), (65, 16), (77, 0), (100, 16), (127, 0), (128, 0)];
    for (size, (width, label_bytes)) in sizes.iter().flat_map(|size| shapes.map(|shape| (*size, shape))) {
        if size == 100_000 && !matches!(width, 41 | 77) {
            continue;
        }
        let mut rng = rng(size as u64 + u64::from(width));
        let set = uniform(size, width, label_bytes, &mut rng);
        let removed = uniform(size.min(3000), width, 0, &mut rng);
        let removals: Vec<u128> = removed.keys().copied().collect();
        let path = folder.path().join(format!("{size}-{width}.vset"));
        let header = write(&path, epoch(Kind::Delta, width, label_bytes), &set, &removals);
        let file = open(&path);
        assert_eq!((file.header(), file.path()), (&header, &*path));
        assert_holds(&file, List::Additions, &set, 1);
        assert_holds(&file, List::Removals, &removed, 2);
    }
    // No temporary file is left.
    let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| name.to_str().unwrap().ends_with(".vset")));
}

#[test]
fn the_ends_of_the_range_are_values_too() {
    let folder = tempfile::tempdir().unwrap();
    for width in [1, 2, 64, 128] {
        let last = u128::MAX >> (128 - u32::from(width));
        let set = Set::from([(0, vec![]), (last, vec![])]);
        let path = folder.path().join(format!("{width}.vset"));
        write(&path, epoch(Kind::Whole, width, 0), &set, &[]);
        assert_holds(&open(&path), List::Additions, &set, 3);
        assert_holds(&open(&path), List::Removals, &Set::new(), 3);
    }
    // Every value that there is.
    let set: Set = (0..1 << 11).map(|value| (value, vec![])).collect();
    write(&folder.path().join("all.vset"), epoch(Kind::Whole, 11, 0), &set, &[]);
    assert_holds(&open(&folder.path().join("all.vset")), List::Additions, &set, 4);
}

#[test]
fn a_key_takes_as_many_bits_as_the_formula_says() {
    let folder = tempfile::tempdir().unwrap();
    for (log_keys, log_most) in [(16u32, 10u32), (16, 0), (16, 20), (12, 10)] {
        let bits = width(1 << log_keys, 1 << log_most).unwrap();
        let set = uniform(1 << log_keys, bits as u8, 0, &mut rng(u64::from(log_keys)));
        let path = folder.path().join(format!("{log_keys}-{log_most}.vset"));
        write(&path, epoch(Kind::Whole, bits as u8, 0), &set, &[]);
        let bits = fs::metadata(&path).unwrap().len() as f64 * 8.0 / f64::from(1u32 << log_keys);
        println!("2^{log_keys} keys, 2^{log_most} a query: 40 + {log_most} + {:.2} bits a key", {
            bits - 40.0 - f64::from(log_most)
        });
        let header = if log_keys == 12 { 0.8 } else { 0.0 };
        assert!(bits <= 40.0 + f64::from(log_most) + 2.1 + header, "{bits}");
    }
}

#[test]
fn a_second_writer_makes_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    for (size, width, label_bytes) in [(0, 60, 0), (3, 41, 20), (2500, 64, 0), (900, 128, 16), (300, 90, 64)]
    {
        let set = uniform(size, width, label_bytes, &mut rng(5));
        let path = folder.path().join(format!("{size}.vset"));
        let header = write(&path, epoch(Kind::Whole, width, label_bytes), &set, &[]);
        // Blocks of 512 values without labels; 16 bytes: 4096 / 24 values, 20: 4096 / 28, 64: 4096 / 72, down to 2^i.
        let least =
            [(0, 512), (16, 128), (20, 128), (64, 32)].into_iter().find(|(bytes, _)| *bytes == label_bytes);
        let block_bits = (size / least.unwrap().1).max(1).ilog2();
        let blocks = (0..1u128 << block_bits).map(|number| {
            let top = |value: u128| value.checked_shr(u32::from(width) - block_bits).unwrap_or(0);
            let inside: Vec<_> = set.iter().filter(|(value, _)| top(**value) == number).collect();
            let base = number.checked_shl(u32::from(width) - block_bits).unwrap_or(0);
            let rests: Vec<_> = inside.iter().map(|(value, _)| **value - base).collect();
            let labels: Vec<u8> = inside.iter().flat_map(|(_, label)| label.to_vec()).collect();
            block(&rests, &labels, header.rice[0])
        });
        let expected = assemble(header.clone(), &[blocks.collect(), vec![block(&[], &[], 0)]]);
        assert!(fs::read(&path).unwrap() == expected, "{size} values of {width} bits");
    }
}

#[test]
fn the_bytes_of_a_file_are_pinned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pinned.vset");
    let columns = vec!["plan".into(), "seit".into()];
    let epoch =
        Epoch { columns, key_number: 2, number: 9, keys: 5, before: [1; 32], ..epoch(Kind::Delta, 61, 18) };
    let set: Set = (1..6u128).map(|index| (index.pow(25), vec![index as u8; 18])).collect();
    write(&path, epoch, &set, &[17, 1 << 60]);
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes.len(), 520);
    assert_eq!(
        blake3::hash(&bytes).to_hex().as_str(),
        "5645d8639b00fd346762fbf64af4178d8c726bd9fd8d920814f6a28028ddfb8a"
    );
    let digest = open(&path).digest().to_owned();
    // The digest is of what comes before the signature.
    let header = u32::from_le_bytes(bytes[13..17].try_into().unwrap()) as usize;
    assert_eq!(digest, *blake3::hash(&bytes[..17 + header]).as_bytes());
}

#[test]
fn a_file_is_whole_or_absent_and_replaces_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.vset");
    let listed = || fs::read_dir(folder.path()).unwrap().count();
    let whole = Epoch { added: 2, ..epoch(Kind::Whole, 50, 0) };
    let mut dropped = SetWriter::create(&path, whole.clone()).unwrap();
    dropped.add(1, b"").unwrap();
    assert!(!path.exists() && listed() == 1);
    let fewer = dropped.finish(&mut sign).unwrap_err();
    assert!(matches!(fewer, KeptError::Misuse { fault: Misuse::Fewer(List::Additions), .. }), "{fewer}");
    assert_eq!(listed(), 0);

    let mut late = SetWriter::create(&path, Epoch { added: 0, ..whole.clone() }).unwrap();
    assert!(matches!(late.add(1, b""), Err(KeptError::Misuse { fault: Misuse::More(_), .. })));
    write(&path, whole.clone(), &Set::from([(1, vec![]), (2, vec![])]), &[]);
    assert!(matches!(SetWriter::create(&path, whole), Err(KeptError::Exists { .. })));
    let before = fs::read(&path).unwrap();
    assert!(matches!(late.finish(&mut sign), Err(KeptError::Exists { .. })));
    assert_eq!((fs::read(&path).unwrap(), listed()), (before, 1));
}

#[cfg(unix)]
#[test]
fn a_file_has_the_usual_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
    write(&folder.path().join("set.vset"), epoch(Kind::Whole, 50, 0), &Set::new(), &[]);
    fs::write(folder.path().join("usual"), "").unwrap();
    assert_eq!(mode("set.vset"), mode("usual"));
}

#[test]
fn a_writer_refuses_what_was_not_announced() {
    let folder = tempfile::tempdir().unwrap();
    let create = |change: &dyn Fn(&mut Epoch)| {
        let mut epoch = Epoch { added: 3, removed: 3, ..epoch(Kind::Delta, 50, 16) };
        change(&mut epoch);
        SetWriter::create(&folder.path().join("set.vset"), epoch)
    };
    let fault = |result: Result<(), KeptError>| match result {
        Err(KeptError::Misuse { fault, .. }) => fault,
        other => panic!("{other:?}"),
    };
    let mut writer = create(&|_| {}).unwrap();
    writer.add(5, &[0; 16]).unwrap();
    assert_eq!(fault(writer.add(5, &[0; 16])), Misuse::Order(List::Additions));
    assert_eq!(fault(writer.add(4, &[0; 16])), Misuse::Order(List::Additions));
    assert_eq!(fault(writer.add(1 << 50, &[0; 16])), Misuse::Width(List::Additions));
    assert_eq!(fault(writer.add(6, &[0; 15])), Misuse::Label);
    writer.remove(5).unwrap();
    assert_eq!(fault(writer.remove(5)), Misuse::Order(List::Removals));
    assert_eq!(fault(writer.remove(1 << 50)), Misuse::Width(List::Removals));
    // Long labels, and all values in the first block.
    let mut crowded = create(&|epoch| (epoch.added, epoch.label_bytes) = (300, 1 << 16)).unwrap();
    let label = vec![0; 1 << 16];
    let refused = (0..300).find_map(|value| crowded.add(value, &label).err());
    assert_eq!(fault(refused.map_or(Ok(()), Err)), Misuse::Crowded(List::Additions));
    for change in [
        &(|epoch: &mut Epoch| epoch.width = 0) as &dyn Fn(&mut Epoch),
        &|epoch| epoch.kind = Kind::Whole,
        &|epoch| epoch.label_bytes = 3,
        &|epoch| epoch.terms = "x".repeat(1 << 16),
        &|epoch| (epoch.added, epoch.width) = (1 << 20, 19),
    ] {
        assert!(matches!(fault(create(change).map(drop)), Misuse::Header(_)));
    }
}

#[test]
fn many_threads_read_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.vset");
    let set = uniform(5000, 70, 0, &mut rng(6));
    write(&path, epoch(Kind::Whole, 70, 0), &set, &[]);
    let file = open(&path);
    std::thread::scope(|scope| {
        (0..4).for_each(|seed| {
            drop(scope.spawn({
                let (file, set) = (&file, &set);
                move || assert_holds(file, List::Additions, set, seed)
            }))
        });
    });
}
