use super::*;

/// Lengths around every boundary of a group, a block and the lanes.
const LENGTHS: [usize; 22] =
    [0, 1, 7, 8, 9, 15, 16, 17, 23, 24, 31, 32, 33, 47, 48, 49, 63, 64, 65, 100, 1024, 1025];

fn bytes(count: usize) -> Vec<u8> {
    (0..count as u32).map(|i| (i * 7 % 251) as u8).collect()
}

fn reference(keyed: &Keyed<'_>, input: &[u8], length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    keyed.hasher().update(input).finalize_xof().fill(&mut out);
    out
}

fn check(keyed: &Keyed<'_>, inputs: &[&[u8]], width: usize) {
    let expected: Vec<u8> = inputs.iter().flat_map(|input| reference(keyed, input, width)).collect();
    for backend in Backend::available() {
        let mut out = vec![0xaa; expected.len()];
        keyed.hash_rows(backend, inputs.iter().copied(), &mut out, width);
        assert!(out == expected, "{backend:?}, {} inputs to {width} bytes", inputs.len());
        let length = inputs.first().map_or(1, |input| input.len());
        if length > 0 && inputs.iter().all(|input| input.len() == length) {
            out.fill(0xaa);
            keyed.hash_side_by_side(backend, &inputs.concat(), length, &mut out, width);
            assert!(out == expected, "{backend:?}, {} inputs side by side", inputs.len());
        }
    }
}

#[test]
fn equals_the_library_for_equal_lengths() {
    let bytes = bytes(64 * 1025);
    let keyed = Keyed { key: &[3; 32], mode: Mode::Keyed };
    for length in LENGTHS {
        let inputs: Vec<&[u8]> = (0..40).map(|i| &bytes[i * 13..][..length]).collect();
        for count in [0, 1, 7, 8, 9, 15, 16, 17, 40] {
            check(&keyed, &inputs[..count], 16);
            check(&keyed, &inputs[..count], 32);
        }
    }
}

#[test]
fn equals_the_library_for_mixed_lengths_and_all_widths() {
    let bytes = bytes(2000);
    let key = blake3::hazmat::hash_derive_key_context("vesica test");
    for keyed in [Keyed { key: &[9; 32], mode: Mode::Keyed }, Keyed { key: &key, mode: Mode::DeriveKey }] {
        let inputs: Vec<&[u8]> = (0..67).map(|i| &bytes[i..][..LENGTHS[i * 5 % LENGTHS.len()]]).collect();
        for width in 1..=70 {
            check(&keyed, &inputs, width);
        }
    }
}

#[test]
fn blocks_of_mixed_lengths_equal_the_library() {
    fn check<const N: usize>(keyed: &Keyed<'_>, blocks: &[[u8; BLOCK]], lengths: &[u32]) {
        for backend in Backend::available() {
            let mut out = vec![[0xaa; N]; blocks.len()];
            keyed.hash_blocks(backend, blocks, lengths, &mut out);
            for ((block, length), out) in blocks.iter().zip(lengths).zip(&out) {
                assert_eq!(*out, *reference(keyed, &block[..*length as usize], N), "{backend:?}, {length}");
            }
        }
    }
    let bytes = bytes(2000);
    let keyed = Keyed { key: &[9; 32], mode: Mode::Keyed };
    for longest in [0, 16, 32, 33, 48, 64] {
        for count in [0, 1, 7, 8, 9, 16, 17, 67] {
            let lengths: Vec<u32> = (0..count).map(|i| (i * 29 + longest) % (longest + 1)).collect();
            let mut blocks = vec![[0; BLOCK]; count as usize];
            for (i, (block, length)) in blocks.iter_mut().zip(&lengths).enumerate() {
                block[..*length as usize].copy_from_slice(&bytes[i * 13..][..*length as usize]);
            }
            check::<16>(&keyed, &blocks, &lengths);
            check::<32>(&keyed, &blocks, &lengths);
            check::<64>(&keyed, &blocks, &lengths);
        }
    }
}

#[test]
fn single_hashes_are_the_same() {
    for mode in [Mode::Keyed, Mode::DeriveKey] {
        let keyed = Keyed { key: &[1; 32], mode };
        for length in LENGTHS {
            for width in [0, 1, 32, 33, 64, 65, 200] {
                let mut out = vec![0; width];
                keyed.hash(&bytes(length), &mut out);
                assert_eq!(out, reference(&keyed, &bytes(length), width));
            }
        }
    }
}
