//! The kernels of a card, compiled for this machine by its C compiler (`kernels/src/cuda/twin.c`), against the
//! positions of this crate. The keys come from their definition (`vesica_crypto::hash`).
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use twin::{Operation, Shape, Twin};
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::prg::Prg;
use vesica_encode::bloom::{FilterPositions, FilterShape, SLICES_PER_BLOCK};
use vesica_encode::items::{Items, Width};

#[path = "../../kernels/src/cuda/twin.rs"]
mod twin;

const SID: [u8; 32] = [9; 32];

fn context() -> Context {
    Context::new(&SID, "bloom", b"", 1, 1)
}

/// The key of an oracle of [`context`].
fn oracle_key(label: &str) -> [u8; 32] {
    let mut absorbed = SID.to_vec();
    absorbed.extend(5u64.to_le_bytes());
    absorbed.extend(b"bloom");
    absorbed.extend([0u64, 1, 1].iter().flat_map(|number| number.to_le_bytes()));
    let context_key = blake3::derive_key("vesica protocol context v1", &absorbed);
    *blake3::keyed_hash(&context_key, label.as_bytes()).as_bytes()
}

/// The keys that the kernels take: of seeds, and of the blocks, in pairs.
fn keys(hashes: usize) -> Vec<u8> {
    let mut keys = oracle_key("bloom: item to bin and seed").to_vec();
    if hashes > 128 {
        keys.extend(oracle_key("bloom: seed to positions"));
        return keys;
    }
    let key = context().oracle(Label::new("bloom: key of a hash function"));
    let groups = hashes.div_ceil(SLICES_PER_BLOCK) as u64;
    for group in 0..groups {
        let mut bytes = [0; 16];
        key.hash(&group.to_le_bytes(), &mut bytes);
        keys.extend(bytes);
    }
    keys.resize(keys.len().next_multiple_of(32), 0);
    keys
}

/// Bins, and slots by slice, as the twin computes them.
fn positions(twin: &Twin, shape: Shape, items: &[u8], width: usize) -> (Vec<u32>, Vec<u32>) {
    let hashes = shape.hashes as usize;
    let operation = if hashes > 128 { Operation::BloomWide } else { Operation::BloomNarrow };
    let out = twin.run(operation, width, shape, &keys(hashes), items);
    let words: Vec<u32> = out.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let (bins, slots) = words.split_at(items.len() / width);
    (bins.to_vec(), slots.to_vec())
}

#[test]
fn the_twin_has_the_positions_of_the_filters() {
    let twin = Twin::build("bloom");
    for (hashes, count) in [(128, 20_000), (128, 1), (80, 300), (81, 300), (36, 9000), (256, 9000), (130, 33)]
    {
        let filter = FilterShape::for_items(hashes, count);
        let numbers: Vec<[u8; 4]> = (0..count as u32).map(u32::to_le_bytes).collect();
        let items = Items::of_keys(Width::Digest128, &numbers).unwrap();
        let set = FilterPositions::new(&context(), filter, &items, 1);
        let shape = Shape { bins: filter.bins() as u32, slots: filter.slots() as u32, hashes };
        let bytes: Vec<u8> = (0..items.len()).flat_map(|item| items.get(item).to_vec()).collect();
        let (bins, slots) = positions(&twin, shape, &bytes, items.width());
        let (mut blocks, mut expected) = (Vec::new(), Default::default());
        for (number, bin) in (0..).zip(set.bins()) {
            let here = &set.items()[bin.range()];
            assert!(here.iter().all(|&item| bins[item as usize] == number));
            for group in 0..filter.hashes().div_ceil(SLICES_PER_BLOCK) {
                bin.positions(group, &mut blocks, &mut expected);
                for (slice, expected) in (SLICES_PER_BLOCK * group..filter.hashes()).zip(&expected) {
                    let found = here.iter().map(|&item| slots[slice * count + item as usize]);
                    assert!(found.eq(expected.iter().copied()), "slice {slice} of {hashes}");
                }
            }
        }
    }
}

/// Items of every number of blocks of BLAKE3, and lengths around them.
#[test]
fn the_twin_hashes_items_of_any_width_up_to_a_chunk() {
    let twin = Twin::build("widths");
    let mut rng = Prg::from_seed([13; 16]);
    let [seed, positions_of] = ["bloom: item to bin and seed", "bloom: seed to positions"];
    let seed = context().oracle(Label::new(seed));
    let blocks = context().oracle(Label::new(positions_of));
    // So many bins that every bit of the word counts.
    let shape = Shape { bins: 4_000_000_007, slots: 123_456_789, hashes: 132 };
    for width in [1, 3, 4, 31, 63, 64, 65, 127, 128, 129, 512, 1000, 1023, 1024] {
        let count = 3;
        let mut items = vec![0; count * width];
        rng.fill(&mut items);
        let (bins, slots) = positions(&twin, shape, &items, width);
        for (item, input) in items.chunks(width).enumerate() {
            let mut hash = [0; 40];
            seed.hash(input, &mut hash);
            let word = u64::from_le_bytes(*hash.last_chunk().unwrap());
            assert_eq!(u128::from(bins[item]), (u128::from(word) * 4_000_000_007) >> 64);
            let halves = [hash.as_chunks().0[0], hash.as_chunks().0[1]].map(Block::from);
            for group in 0..33 {
                let mut block = [Block::ZERO];
                blocks.hash_numbered(&[halves], 1, &[group as u64], &mut block);
                for (j, word) in block[0].as_bytes().as_chunks().0.iter().enumerate() {
                    let slot = (u64::from(u32::from_le_bytes(*word)) * 123_456_789) >> 32;
                    assert_eq!(u64::from(slots[(4 * group + j) * count + item]), slot);
                }
            }
        }
    }
}
