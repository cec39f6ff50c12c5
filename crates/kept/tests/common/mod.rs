//! What the tests share: a toy signature, uniform values, and a second writer of the format, bit by bit.
#![allow(dead_code, reason = "each test program uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::collections::BTreeMap;
use std::path::Path;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use vesica_kept::{Epoch, Header, Kind, SetFile, SetWriter, Verify};

pub(crate) const SENDER: [u8; 32] = [7; 32];

/// The values of a set with their labels.
pub(crate) type Set = BTreeMap<u128, Vec<u8>>;

/// Not secret, and no byte can be changed without notice.
pub(crate) fn signature(sender: &[u8; 32], message: &[u8]) -> [u8; 64] {
    let mut out = [0; 64];
    blake3::Hasher::new_keyed(sender).update(message).finalize_xof().fill(&mut out);
    out
}

pub(crate) fn sign(message: &[u8]) -> [u8; 64] {
    signature(&SENDER, message)
}

pub(crate) const VERIFY: &Verify<'static> = &|sender, message, found| {
    *sender == SENDER && message.starts_with(b"vesica set file") && signature(sender, message) == *found
};

pub(crate) fn rng(seed: u64) -> StdRng {
    StdRng::seed_from_u64(seed)
}

/// A number of `width` bits.
pub(crate) fn value(width: u8, rng: &mut StdRng) -> u128 {
    rng.random::<u128>() >> (128 - u32::from(width))
}

pub(crate) fn label(bytes: u32, rng: &mut StdRng) -> Vec<u8> {
    (0..bytes).map(|_| rng.random()).collect()
}

pub(crate) fn uniform(count: usize, width: u8, label_bytes: u32, rng: &mut StdRng) -> Set {
    let mut set = Set::new();
    while set.len() < count {
        set.insert(value(width, rng), label(label_bytes, rng));
    }
    set
}

pub(crate) fn epoch(kind: Kind, width: u8, label_bytes: u32) -> Epoch {
    Epoch {
        width,
        label_bytes,
        most_keys_a_query: 1 << 10,
        time: 1_800_000_000,
        public_key: [3; 32],
        sender: SENDER,
        ..Epoch::new(kind, "vesica test terms")
    }
}

pub(crate) fn write(path: &Path, epoch: Epoch, added: &Set, removed: &[u128]) -> Header {
    let epoch = Epoch { added: added.len() as u64, removed: removed.len() as u64, ..epoch };
    let mut writer = SetWriter::create(path, epoch).unwrap();
    let mut removed = removed.iter().peekable();
    for (value, label) in added {
        while let Some(removed) = removed.next_if(|removed| *removed <= value) {
            writer.remove(*removed).unwrap();
        }
        writer.add(*value, label).unwrap();
    }
    removed.for_each(|removed| writer.remove(*removed).unwrap());
    writer.finish(&mut sign).unwrap()
}

pub(crate) fn open(path: &Path) -> SetFile {
    SetFile::open(path, VERIFY).unwrap()
}

/// A block with these numbers below the bits of its number, ascending, and these labels.
pub(crate) fn block(rests: &[u128], labels: &[u8], rice: u8) -> Vec<u8> {
    let mut bits = Vec::new();
    let mut next = 0;
    for rest in rests {
        let gap = rest - next;
        bits.extend((0..gap >> rice).map(|_| false));
        bits.push(true);
        bits.extend((0..rice).map(|bit| gap >> bit & 1 == 1));
        next = rest + 1;
    }
    let bytes = bits.chunks(8).map(|bits| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit)));
    let mut block = (rests.len() as u32).to_le_bytes().to_vec();
    block.extend(bytes);
    block.extend(labels);
    block
}

/// A signed file with these blocks, whatever they are.
pub(crate) fn assemble(mut header: Header, lists: &[Vec<Vec<u8>>; 2]) -> Vec<u8> {
    let (mut index, mut body) = (Vec::new(), Vec::new());
    for (list, blocks) in lists.iter().enumerate() {
        for (number, block) in blocks.iter().enumerate() {
            let mut hasher = blake3::Hasher::new_derive_key("vesica kept set: block v1");
            hasher.update(&[list as u8]).update(&(number as u64).to_le_bytes()).update(block);
            index.extend((block.len() as u32).to_le_bytes());
            index.extend(&hasher.finalize().as_bytes()[..16]);
            body.extend(block);
        }
    }
    header.index = blake3::hash(&index).into();
    let header = header.encode();
    let framed = [&b"vesica set 1\n"[..], &(header.len() as u32).to_le_bytes(), &header].concat();
    let signature = sign(&[&b"vesica set file"[..], &framed].concat());
    [&framed[..], &signature, &index, &body].concat()
}
