//! Buckets of records in an encrypted file, one byte of which is changed before they are read.

use std::io::{Read, Seek, SeekFrom, Write};

use rand::SeedableRng;
use rand::rngs::StdRng;
use vesica_spill::testing::spill_in;
use vesica_spill::{Block, Directory, Label, SpillError};

use crate::Target;

const LABEL: Label = Label::new("fuzz");
/// Widths of a record, and how many of them a byte of the input appends.
const RECORDS: [(usize, usize); 5] = [(1, 97), (8, 300), (24, 40), (1000, 3), (4080, 1)];

pub(crate) fn target() -> Target {
    let undamaged = [&[1, 2, 0, 0, 0, 0, 0, 0][..], &[0, 1, 2, 0, 1, 1]].concat();
    let seeds = (0..5).flat_map(|width: u8| {
        // In a block of the first bucket, in its tag, and behind everything.
        [[0, 0, 7], [15, 240, 9], [255, 255, 1]].map(|[high, low, value]| {
            [&[width, 2, width, value, 0, 0, high, low][..], &[0, 1, 0, 2, 0, 0, 0, 0, 1, 1]].concat()
        })
    });
    Target::new("spill", run, seeds.chain([undamaged]).collect(), 2000)
}

/// What is read back is what was stored, as far as it goes; it goes to the end unless a block of it was changed.
fn run(input: &[u8]) {
    let Some(([width, count, block, change, at @ ..], pushes)) = input.split_first_chunk::<8>() else {
        return;
    };
    let (record, times) = RECORDS[usize::from(*width) % RECORDS.len()];
    let (count, at) = (1 + usize::from(*count) % 7, u64::from(u32::from_be_bytes(*at)));
    let block = if block % 2 == 0 { Block::SMALL } else { Block::LARGE };
    let mut file = tempfile::tempfile().unwrap();
    let directory = Directory::choose(Some(&std::env::temp_dir())).unwrap();
    let spill = spill_in(file.try_clone().unwrap(), directory, &mut StdRng::seed_from_u64(1)).unwrap();
    let mut buckets = spill.buckets(LABEL, count, record, block).unwrap();
    let (mut stored, mut number) = (vec![Vec::new(); count], 0_u8);
    for push in pushes.iter().take(200) {
        for _ in 0..times {
            number = number.wrapping_mul(5).wrapping_add(1);
            let bucket = usize::from(*push) % count;
            buckets.push(bucket, &vec![number; record]).unwrap();
            stored[bucket].extend(vec![number; record]);
        }
    }
    let buckets = buckets.finish().unwrap();
    let changed = *change != 0 && at < file.metadata().unwrap().len();
    if changed {
        let mut byte = [0];
        file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(&mut byte)).unwrap();
        byte[0] ^= change;
        file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(&byte)).unwrap();
    }
    let mut damaged = 0;
    for (bucket, stored) in buckets.iter().zip(&stored) {
        assert_eq!(bucket.records() as usize, stored.len() / record);
        let mut read = Vec::new();
        let outcome = bucket.read(|records| {
            read.extend_from_slice(records);
            Ok::<(), SpillError>(())
        });
        match outcome {
            Ok(()) => assert!(read == *stored),
            Err(SpillError::Damaged { .. }) if changed && stored.starts_with(&read) => damaged += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(damaged <= 1, "a byte is of one block at most");
}
