use std::collections::HashSet;
use std::fs::File;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::directory::Directory;
use crate::system::{read_exact_at, write_all_at};

const LABEL: Label = Label::new("test");

fn rng() -> StdRng {
    StdRng::seed_from_u64(9)
}

fn spill() -> (tempfile::TempDir, Spill) {
    let folder = tempfile::tempdir().unwrap();
    let directory = Directory::choose(Some(folder.path())).unwrap();
    (folder, Spill::create(directory, &mut rng()).unwrap())
}

fn read(bucket: &Bucket) -> Result<Vec<u8>, SpillError> {
    let mut all = Vec::new();
    bucket.read(|records| {
        all.extend_from_slice(records);
        Ok::<(), SpillError>(())
    })?;
    Ok(all)
}

/// A bucket of these bytes, in records of 8.
fn stored(spill: &Spill, records: &[u8]) -> Bucket {
    let mut buckets = spill.buckets(LABEL, 1, 8, Block::SMALL).unwrap();
    records.chunks(8).for_each(|record| buckets.push(0, record).unwrap());
    buckets.finish().unwrap().remove(0)
}

fn bytes(count: usize) -> Vec<u8> {
    let mut rng = rng();
    (0..count).map(|_| rng.random()).collect()
}

fn raw(spill: &Spill) -> Vec<u8> {
    let mut all = vec![0; spill.file().metadata().unwrap().len() as usize];
    read_exact_at(spill.file(), &mut all, 0).unwrap();
    all
}

#[test]
fn records_come_back_in_their_order() {
    let (_folder, spill) = spill();
    let mut rng = rng();
    for (record, block) in [(1, Block::SMALL), (24, Block::SMALL), (40, Block::LARGE), (4080, Block::SMALL)] {
        let most = 20_000 / record + 900;
        let mut expected: Vec<Vec<u8>> = vec![Vec::new(); 50];
        let mut buckets = spill.buckets(LABEL, expected.len(), record, block).unwrap();
        for _ in 0..most * 10 {
            // Some buckets get many records, and some none.
            let at = rng.random_range(1..expected.len()) & rng.random_range(1..64) | 1;
            let new: Vec<u8> = (0..record).map(|_| rng.random()).collect();
            buckets.push(at, &new).unwrap();
            expected[at].extend(new);
        }
        let buckets = buckets.finish().unwrap();
        for (bucket, expected) in buckets.iter().zip(&expected) {
            assert_eq!(bucket.records() as usize, expected.len() / record);
            assert!(read(bucket).unwrap() == *expected && read(bucket).unwrap() == *expected);
        }
        assert!(expected.iter().any(Vec::is_empty) && expected.iter().any(|one| one.len() > block.bytes()));
    }
    let usage = spill.usage();
    assert!(usage.read == 2 * usage.written && usage.written > 0);
}

#[test]
fn full_blocks_at_the_end_are_read_too() {
    let (_folder, spill) = spill();
    let payload = Block::SMALL.payload(8);
    for records in [0, 8, payload - 8, payload, payload + 8, 3 * payload] {
        let expected = bytes(records);
        let bucket = stored(&spill, &expected);
        assert!(bucket.records() as usize == records / 8 && read(&bucket).unwrap() == expected, "{records}");
    }
}

#[test]
fn room_is_used_again_once_it_is_free() {
    let (_folder, spill) = spill();
    let size = 3 * EXTENT as usize;
    drop(stored(&spill, &[]));
    assert_eq!(spill.extents_used(), 0, "a bucket without records takes nothing");
    let first = stored(&spill, &bytes(size));
    let used = spill.extents_used();
    assert_eq!(used, 4, "three extents of records, and their tags");
    drop(first);
    let mut kept = Vec::new();
    for _ in 0..4 {
        kept.push(stored(&spill, &bytes(800)));
    }
    assert_eq!(spill.extents_used(), used);
    kept.push(stored(&spill, &bytes(800)));
    assert_eq!(spill.extents_used(), used + 1);
    assert!(kept.iter().all(|bucket| read(bucket).unwrap() == bytes(800)));
    // A bucket that nobody finished takes nothing either.
    let mut unfinished = spill.buckets(LABEL, 1, 8, Block::SMALL).unwrap();
    bytes(size).chunks(8).for_each(|record| unfinished.push(0, record).unwrap());
    assert_eq!(unfinished.buckets[0].block.capacity(), Block::SMALL.bytes(), "in memory it takes a block");
    let used = spill.extents_used();
    drop(unfinished);
    // A finished one of the same size takes one more, for its last block.
    drop(stored(&spill, &bytes(size)));
    assert_eq!(spill.extents_used(), used + 1);
}

#[test]
fn every_flipped_bit_is_noticed() {
    let (_folder, spill) = spill();
    let bucket = stored(&spill, &bytes(6000));
    let length = Block::SMALL.bytes() + 6000 - Block::SMALL.payload(8) + TAG;
    for at in (0..length).step_by(13) {
        let mut byte = [0];
        read_exact_at(spill.file(), &mut byte, at as u64).unwrap();
        write_all_at(spill.file(), &[byte[0] ^ 1 << (at % 8)], at as u64).unwrap();
        let error = read(&bucket).unwrap_err();
        assert!(matches!(error, SpillError::Damaged { .. }), "{at}: {error}");
        write_all_at(spill.file(), &byte, at as u64).unwrap();
    }
    assert_eq!(read(&bucket).unwrap(), bytes(6000));
}

#[test]
fn blocks_in_another_place_are_noticed() {
    let (_folder, spill) = spill();
    let buckets = [1, 2].map(|_| stored(&spill, &bytes(3 * Block::SMALL.payload(8))));
    let block = Block::SMALL.bytes() as u64;
    // Within a bucket; from one bucket to the other; a last block in place of an earlier one.
    for (from, to) in [(0, block), (0, EXTENT), (2 * block, EXTENT + 2 * block), (2 * block, block)] {
        let before = raw(&spill);
        let moved = &before[from as usize..][..block as usize];
        write_all_at(spill.file(), moved, to).unwrap();
        let damaged = &buckets[(to / EXTENT) as usize];
        assert!(matches!(read(damaged), Err(SpillError::Damaged { .. })), "{from} {to}");
        write_all_at(spill.file(), &before, 0).unwrap();
    }
    assert!(buckets.iter().all(|bucket| read(bucket).is_ok()));
}

#[test]
fn a_file_cut_short_is_noticed() {
    let (_folder, spill) = spill();
    let bucket = stored(&spill, &bytes(20_000));
    let length = spill.file().metadata().unwrap().len();
    for cut in [1, TAG as u64, Block::SMALL.bytes() as u64, length] {
        spill.file().set_len(length - cut).unwrap();
        assert!(matches!(read(&bucket), Err(SpillError::Damaged { .. })), "{cut}");
        // Zeros in place of what was there.
        spill.file().set_len(length).unwrap();
        assert!(matches!(read(&bucket), Err(SpillError::Damaged { .. })), "{cut}");
    }
}

/// Equal blocks under one key must never be equal bytes, and no planted value may be among them.
#[test]
fn the_file_shows_nothing_that_was_stored() {
    let (folder, spill) = spill();
    let planted = *b"PLANTED!";
    let mut buckets = spill.buckets(LABEL, 3, 8, Block::SMALL).unwrap();
    for at in 0..30_000 {
        buckets.push(at % 3, &planted).unwrap();
    }
    let buckets = buckets.finish().unwrap();
    let raw = raw(&spill);
    assert!(raw.len() > 200_000 && !raw.windows(8).any(|window| window == planted));
    // Full blocks of equal records: equal if a nonce were used twice.
    let blocks: Vec<&[u8]> = (0..buckets.len())
        .flat_map(|bucket| (0..10).map(move |block| bucket * EXTENT as usize + block * Block::SMALL.bytes()))
        .map(|at| &raw[at..at + 64])
        .collect();
    assert_eq!(blocks.iter().collect::<HashSet<_>>().len(), blocks.len());
    assert!(buckets.iter().all(|bucket| read(bucket).unwrap().chunks(8).all(|record| record == planted)));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file has no name");
}

/// What is written where something else was has another nonce.
#[test]
fn room_that_is_used_again_holds_other_bytes() {
    let (_folder, spill) = spill();
    let content = vec![0; 4000];
    drop(stored(&spill, &content));
    let before = raw(&spill);
    let again = stored(&spill, &content);
    assert_eq!(spill.extents_used(), 1);
    assert!(raw(&spill).iter().zip(&before).filter(|(new, old)| new == old).count() < 100);
    assert_eq!(read(&again).unwrap(), content);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_of_the_disk() {
    let full = File::options().read(true).write(true).open("/dev/full").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let spill = Spill::in_file(Directory::choose(Some(folder.path())).unwrap(), full, &mut rng()).unwrap();
    let mut buckets = spill.buckets(LABEL, 1, 8, Block::SMALL).unwrap();
    let error = (0..10_000).find_map(|_| buckets.push(0, &[7; 8]).err()).unwrap();
    assert!(
        matches!(&error, SpillError::Write { source, .. } if source.kind() == std::io::ErrorKind::StorageFull)
    );
    assert_eq!(error.fault(), crate::error::Fault::Disk);
    // At the end as well.
    let mut buckets = spill.buckets(LABEL, 1, 8, Block::SMALL).unwrap();
    buckets.push(0, &[7; 8]).unwrap();
    assert!(matches!(buckets.finish(), Err(SpillError::Write { .. })));
}

/// What was written in part may be on the disk, so the same number would be another content under one nonce.
#[cfg(target_os = "linux")]
#[test]
fn the_number_of_a_block_that_failed_is_not_used_again() {
    let full = File::options().read(true).write(true).open("/dev/full").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let spill = Spill::in_file(Directory::choose(Some(folder.path())).unwrap(), full, &mut rng()).unwrap();
    let mut bucket = Written::new(&spill).unwrap();
    let layout = Layout { label: LABEL, record: 8, block: Block::SMALL };
    for failed in 1..=3 {
        let written = bucket.append(&layout, &mut vec![7; 80], false);
        assert!(matches!(written, Err(SpillError::Write { .. })));
        assert_eq!(bucket.blocks, failed);
    }
}

#[test]
fn bucket_numbers_come_to_an_end_and_do_not_begin_again() {
    let (_folder, spill) = spill();
    let numbers = [(); 3].map(|()| spill.bucket_number().unwrap());
    assert_eq!(numbers, [0, 1, 2]);
    spill.skip_bucket_numbers(u32::MAX - 1);
    assert_eq!(spill.bucket_number().unwrap(), u32::MAX - 1);
    for _ in 0..3 {
        assert!(matches!(spill.bucket_number(), Err(SpillError::TooMany)));
    }
    let mut buckets = spill.buckets(LABEL, 1, 8, Block::SMALL).unwrap();
    buckets.push(0, &[7; 8]).unwrap();
    assert!(
        matches!(buckets.finish(), Err(SpillError::TooMany)),
        "nothing is written under a number of before"
    );
}

#[test]
fn records_fit_a_block() {
    let (_folder, spill) = spill();
    for record in [0, Block::SMALL.bytes() - TAG + 1] {
        assert!(matches!(spill.buckets(LABEL, 1, record, Block::SMALL), Err(SpillError::TooMany)));
    }
    assert!(spill.buckets(LABEL, 1, Block::SMALL.bytes() - TAG, Block::SMALL).is_ok());
}

#[test]
fn buckets_can_be_read_and_dropped_by_other_threads() {
    let (_folder, spill) = spill();
    let buckets: Vec<Bucket> = (0..8).map(|_| stored(&spill, &bytes(100_000))).collect();
    std::thread::scope(|scope| {
        for bucket in buckets {
            scope.spawn(move || assert!(read(&bucket).unwrap() == bytes(100_000)));
        }
        scope.spawn(|| {
            (0..20).for_each(|_| assert!(read(&stored(&spill, &bytes(9000))).unwrap() == bytes(9000)))
        });
    });
}
