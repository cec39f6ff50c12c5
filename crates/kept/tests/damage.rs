//! A changed file is refused, or what is read of it is right; and the error says where.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where something is not as it must be")]

mod common;

use std::fs;
use std::path::Path;

use common::{SENDER, Set, VERIFY, assemble, block, epoch, open, rng, uniform, write};
use rand::{Rng, RngExt};
use vesica_kept::{Epoch, Header, HeaderFault, KeptError, Kind, List, SetFile};

/// All that a file answers: each list as it is read, and as it is found.
fn answers(path: &Path, asked: &[u128]) -> Result<(), KeptError> {
    let file = SetFile::open(path, VERIFY)?;
    for list in [List::Additions, List::Removals] {
        file.values(list).try_for_each(|entry| entry.map(drop))?;
        file.find(list, asked)?;
    }
    Ok(())
}

fn small(path: &Path) -> (Set, Vec<u128>) {
    let set = uniform(20, 60, 17, &mut rng(1));
    let removed: Vec<u128> = uniform(9, 60, 0, &mut rng(2)).into_keys().collect();
    write(path, epoch(Kind::Delta, 60, 17), &set, &removed);
    (set, removed)
}

#[test]
fn no_byte_can_be_changed_and_errors_name_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let (path, changed) = (folder.path().join("set.vset"), folder.path().join("changed.vset"));
    let (set, _) = small(&path);
    let bytes = fs::read(&path).unwrap();
    let header = 17 + u32::from_le_bytes(bytes[13..17].try_into().unwrap()) as usize;
    let (signature, index) = (header + 64, header + 64 + 40);
    let length = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let additions = index + length(signature);
    assert_eq!(additions + length(signature + 20), bytes.len());
    let asked: Vec<u128> = set.keys().copied().collect();
    for (at, bit) in (0..bytes.len()).flat_map(|at| [(at, 1), (at, 0x10), (at, 0x80)]) {
        let mut other = bytes.clone();
        other[at] ^= bit;
        fs::write(&changed, &other).unwrap();
        let error = answers(&changed, &asked).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("changed.vset: ") && text.contains("byte"), "{text}");
        let named = match error {
            KeptError::NotASet { .. } => at < 13,
            KeptError::Length { .. } => at < signature + 24,
            KeptError::Header { at: named, .. } => (13..header).contains(&at) && named <= header as u64,
            KeptError::Signature { .. } => at < signature,
            KeptError::Index { from, to, .. } => {
                (from, to) == (signature as u64, index as u64) && (signature..index).contains(&at)
            }
            KeptError::Damaged { list, block: 0, from, to, .. } => {
                let ends =
                    if list == List::Additions { (index, additions) } else { (additions, bytes.len()) };
                (from as usize, to as usize) == ends && (ends.0..ends.1).contains(&at)
            }
            _ => false,
        };
        assert!(named, "byte {at}: {text}");
    }
}

#[test]
fn a_file_that_was_cut_or_goes_on_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, changed) = (folder.path().join("set.vset"), folder.path().join("changed.vset"));
    small(&path);
    let bytes = fs::read(&path).unwrap();
    for length in 0..bytes.len() {
        fs::write(&changed, &bytes[..length]).unwrap();
        let error = SetFile::open(&changed, VERIFY).map(drop).unwrap_err();
        assert!(matches!(error, KeptError::Length { .. }), "{length}: {error}");
    }
    fs::write(&changed, [&bytes[..], &[0]].concat()).unwrap();
    assert!(matches!(SetFile::open(&changed, VERIFY), Err(KeptError::Length { .. })));
    fs::write(&changed, b"another file").unwrap();
    assert!(matches!(SetFile::open(&changed, VERIFY), Err(KeptError::NotASet { .. })));
    assert!(matches!(SetFile::open(&folder.path().join("none"), VERIFY), Err(KeptError::Read { .. })));
    assert!(matches!(SetFile::open(folder.path(), VERIFY), Err(KeptError::Read { .. })));
}

#[test]
fn one_damaged_block_leaves_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.vset");
    let set = uniform(4200, 60, 0, &mut rng(3));
    write(&path, epoch(Kind::Whole, 60, 0), &set, &[]);
    let mut bytes = fs::read(&path).unwrap();
    let file = open(&path);
    // Eight blocks; one byte of the removals' block follows them.
    let block_of = |value: &u128| (*value >> 57) as u64;
    let middle = bytes.len() / 2 + 200;
    bytes[middle] ^= 4;
    fs::write(&path, &bytes).unwrap();
    let results = set.keys().map(|value| (block_of(value), file.find(List::Additions, &[*value])));
    let mut damaged = std::collections::BTreeSet::new();
    for (number, result) in results {
        match result {
            Ok(found) => assert_eq!(found, [Some(vec![])]),
            Err(KeptError::Damaged { list: List::Additions, block, from, to, .. }) => {
                assert!(block == number && (from..to).contains(&(middle as u64)));
                damaged.insert(block);
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(damaged.len(), 1);
    // Cut while it is open: an error, and no signal.
    let cut = fs::OpenOptions::new().write(true).open(&path).unwrap();
    cut.set_len(middle as u64).unwrap();
    let asked: Vec<u128> = set.keys().copied().collect();
    assert!(matches!(file.find(List::Additions, &asked), Err(KeptError::Damaged { .. })));
    let read: Vec<_> = file.values(List::Additions).collect();
    assert!(read.iter().rev().skip(1).all(Result::is_ok) && read.last().unwrap().is_err());
}

#[test]
fn only_the_expected_sender_is_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.vset");
    write(&path, Epoch { sender: [8; 32], ..epoch(Kind::Whole, 60, 0) }, &Set::new(), &[]);
    let error = SetFile::open(&path, VERIFY).map(drop).unwrap_err();
    assert!(matches!(error, KeptError::Signature { .. }), "{error}");
    assert!(SetFile::open(&path, &|sender, _, _| *sender != SENDER).is_ok());
}

/// A header of one block of additions and one of removals.
fn header(added: u64, removed: u64, label_bytes: u32) -> Header {
    let epoch = Epoch { added, removed, ..epoch(Kind::Delta, 60, label_bytes) };
    Header { epoch, rice: [50, 50], index: [0; 32] }
}

#[test]
fn huge_numbers_in_a_header_take_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.vset");
    let empty = || [vec![block(&[], &[], 50)], vec![block(&[], &[], 50)]];
    let wide = |added, removed, label_bytes| {
        let mut header = header(added, removed, label_bytes);
        (header.epoch.width, header.rice) = (128, [60, 60]);
        fs::write(&path, assemble(header, &empty())).unwrap();
        SetFile::open(&path, VERIFY).map(drop).unwrap_err()
    };
    for (added, removed, label_bytes) in [
        (u64::MAX, 0, 0),
        (0, u64::MAX, 0),
        (u64::MAX, u64::MAX, 65536),
        (1 << 40, 0, 0),
        (3, 0, 65536),
        (1, 0, 16),
    ] {
        let error = wide(added, removed, label_bytes);
        assert!(matches!(error, KeptError::Length { part: "header", .. }), "{error}");
    }
    // A length of the header that no header has.
    fs::write(&path, [&b"vesica set 1\n"[..], &u32::MAX.to_le_bytes(), &[0; 100]].concat()).unwrap();
    let error = SetFile::open(&path, VERIFY).map(drop).unwrap_err();
    assert!(matches!(error, KeptError::Header { at: 13, fault: HeaderFault::TooLong, .. }), "{error}");
    // A file with holes is as long as the header wants it; its index is refused at the first entry.
    let mut hollow = header(1 << 36, 0, 0);
    (hollow.epoch.width, hollow.rice) = (128, [60, 60]);
    fs::write(&path, assemble(hollow, &[vec![], vec![]])).unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
    let error = SetFile::open(&path, VERIFY).map(drop).unwrap_err();
    assert!(matches!(error, KeptError::Index { .. }), "{error}");
}

#[test]
fn a_signed_block_that_does_not_follow_the_format_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.vset");
    let asked = [1u128, 2, 1 << 55];
    let good = block(&[1, 1 << 55], &[5; 32], 50);
    let check = |header: Header, block: Vec<u8>| {
        let removals = vec![common::block(&[], &[], 50)];
        fs::write(&path, assemble(header, &[vec![block], removals])).unwrap();
        let file = SetFile::open(&path, VERIFY)?;
        let found = file.find(List::Additions, &asked);
        let values = file.values(List::Additions).try_for_each(|entry| entry.map(drop));
        found.and_then(|found| values.map(|()| found))
    };
    let found = check(header(2, 0, 16), good.clone()).unwrap();
    assert_eq!(found, [Some(vec![5; 16]), None, Some(vec![5; 16])]);
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut block = good.clone();
        change(&mut block);
        block
    };
    let malformed = [
        // The count lies.
        with(&|block| block[0] = 1),
        with(&|block| block[0] = 3),
        with(&|block| block[..4].copy_from_slice(&u32::MAX.to_le_bytes())),
        // A bit of the padding, a byte too many, a byte too few.
        with(&|block| block[4 + 16] ^= 0x80),
        with(&|block| block.insert(20, 0)),
        with(&|block| block.truncate(block.len() - 1)),
        // A value beyond the width.
        common::block(&[1, 1 << 60], &[5; 32], 50),
        // No one ends the zeros.
        with(&|block| block[4..].fill(0)),
        // A label too many, one too few.
        common::block(&[1, 1 << 55], &[5; 48], 50),
        common::block(&[1, 1 << 55], &[5; 16], 50),
        // As it should be, with other numbers of values than the header says.
        common::block(&[1, 2, 1 << 55], &[5; 48], 50),
        common::block(&[1], &[5; 40], 50),
    ];
    for (number, block) in malformed.into_iter().enumerate() {
        let error = check(header(2, 0, 16), block).unwrap_err();
        let is_named = matches!(error, KeptError::Malformed { list: List::Additions, block: 0, .. });
        assert!(is_named || matches!(error, KeptError::Length { .. }), "{number}: {error}");
    }
}

#[test]
fn a_sender_that_signs_anything_gets_no_panic_and_no_wrong_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = rng(4);
    let (mut opened, mut read) = (0, 0);
    for number in 0..1000 {
        let path = folder.path().join(format!("{number}.vset"));
        let mut odd =
            header(rng.random_range(0..5), rng.random_range(0..3), [0, 0, 16, 17][rng.random_range(0..4)]);
        if rng.random_ratio(1, 4) {
            (odd.epoch.width, odd.rice) = (rng.random_range(1..=128), [rng.random_range(0..128), 50]);
        }
        let list = |count: u64, label: u32, rng: &mut rand::rngs::StdRng| {
            let rests: Vec<u128> = uniform(count as usize, 58, 0, rng).into_keys().collect();
            let mut block = block(&rests, &vec![1; rests.len() * label as usize], 50);
            for _ in 0..rng.random_range(0..3) {
                match (rng.random_range(0..4), rng.random_range(0..block.len())) {
                    (0, at) => block[at] = rng.random(),
                    (1, at) => drop(block.drain(at..)),
                    (2, at) => block.insert(at, rng.random()),
                    (_, at) => rng.fill_bytes(&mut block[at..]),
                }
                if block.is_empty() {
                    block.push(0);
                }
            }
            vec![block]
        };
        let (added, label) = (rng.random_range(0..5), odd.epoch.label_bytes);
        let lists = [list(added, label, &mut rng), list(odd.epoch.removed, 0, &mut rng)];
        fs::write(&path, assemble(odd, &lists)).unwrap();
        let Ok(file) = SetFile::open(&path, VERIFY) else {
            continue;
        };
        opened += 1;
        for list in [List::Additions, List::Removals] {
            let Ok(entries) = file.values(list).collect::<Result<Vec<_>, _>>() else {
                continue;
            };
            read += 1;
            let epoch = &file.header().epoch;
            let (count, label) = match list {
                List::Additions => (epoch.added, epoch.label_bytes),
                List::Removals => (epoch.removed, 0),
            };
            assert_eq!(entries.len() as u64, count);
            assert!(entries.iter().all(|entry| entry.label.len() == label as usize));
            assert!(entries.iter().all(|entry| entry.value >> (epoch.width - 1) <= 1));
            assert!(entries.is_sorted_by(|one, other| one.value < other.value));
            let asked: Vec<u128> = entries.iter().map(|entry| entry.value).collect();
            assert!(file.find(list, &asked).unwrap().iter().all(Option::is_some));
        }
    }
    println!("of 1000 files {opened} open, and {read} of their lists are read");
    assert!(opened > 400 && read > 200, "{opened} {read}");
}
