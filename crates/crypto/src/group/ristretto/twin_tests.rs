//! The kernels of a card, compiled for this machine by its C compiler (`kernels/src/cuda/twin.c`), against the group.

use crypto_bigint::{NonZero, U512};
use vesica_kernels::Backend;

use super::tests::{INVALID, MAPPED, MULTIPLES, hex, small};
use super::*;
use crate::prg::Prg;
use twin::{Operation, Shape, Twin};

#[path = "../../../../kernels/src/cuda/twin.rs"]
mod twin;

/// `map_mul_encode` of the twin.
fn map_mul_encode(twin: &Twin, scalar: &Scalar, uniform: &[[u8; 64]]) -> Vec<[u8; 32]> {
    let scalar = scalar.0.to_bytes();
    let out = twin.run(Operation::MapMulEncode, 64, Shape::default(), &scalar, uniform.as_flattened());
    out.as_chunks().0.to_vec()
}

/// `decode_mul_encode` of the twin: the first element that does not decode, and the products.
fn decode_mul_encode(twin: &Twin, scalar: &Scalar, encoded: &[[u8; 32]]) -> (Option<usize>, Vec<[u8; 32]>) {
    let scalar = scalar.0.to_bytes();
    let out = twin.run(Operation::DecodeMulEncode, 32, Shape::default(), &scalar, encoded.as_flattened());
    let (first, out) = out.split_first_chunk().unwrap();
    let first = u32::from_le_bytes(*first);
    ((first != u32::MAX).then_some(first as usize), out.as_chunks().0.to_vec())
}

/// Scalars at the edges of the windows and of the group order, and random ones.
fn scalars(rng: &mut Prg) -> Vec<Scalar> {
    let minus = |value| Ristretto255::sub_scalars(&small(0), &small(value));
    let mut scalars = vec![small(0), small(1), small(2), small(7), small(8), small(9), small(15), small(16)];
    scalars.extend([minus(1), minus(2), minus(8)]);
    // All windows at the edges of their digits.
    scalars.extend([0x77, 0x88, 0x80, 0x08, 0xff].map(|byte| {
        let mut bytes = [byte; 32];
        bytes[31] = 0x07;
        Ristretto255::decode_scalar(&bytes).ok().unwrap()
    }));
    scalars.extend((0..8).map(|_| Ristretto255::random_scalar(rng)));
    scalars
}

/// Numbers of 256 bits at every edge of a word, of p and of 2^256, each with each: there folding overflows twice.
#[test]
fn the_twin_computes_modulo_p_at_every_edge() {
    let number = |bytes: &[u8]| {
        let mut wide = [0; 64];
        wide[..bytes.len()].copy_from_slice(bytes);
        U512::from_le_slice(&wide)
    };
    let two_255 = U512::ONE.shl_vartime(255);
    let p = two_255.wrapping_sub(&U512::from_u64(19));
    let top = U512::ONE.shl_vartime(256);
    let mut numbers = vec![];
    for edge in [U512::ZERO, p, two_255, p.shl_vartime(1), top].into_iter().chain((1..8).map(|word| {
        // 2^32, 2^64, …: a carry through all words below.
        U512::ONE.shl_vartime(32 * word)
    })) {
        for offset in [0, 1, 2, 18, 19, 37, 38, 39] {
            let offset = U512::from_u64(offset);
            numbers.extend([edge.wrapping_add(&offset), edge.wrapping_sub(&offset)]);
        }
    }
    let mut rng = Prg::from_seed([14; 16]);
    let mut random = [[0; 32]; 8];
    rng.fill(random.as_flattened_mut());
    numbers.extend(random.iter().map(|bytes| number(bytes)));
    numbers.retain(|number| *number < top);
    let bytes = |number: &U512| *number.to_le_bytes().as_ref().first_chunk::<32>().unwrap();
    let pairs: Vec<_> = numbers.iter().flat_map(|a| numbers.iter().map(move |b| (a, b))).collect();
    let inputs: Vec<u8> = pairs.iter().flat_map(|(a, b)| [bytes(a), bytes(b)].concat()).collect();
    let answers = Twin::build("field").run(Operation::Field, 64, Shape::default(), &[], &inputs);
    let modulus = NonZero::new(p).unwrap();
    let four_p = p.shl_vartime(2);
    for ((a, b), answers) in pairs.iter().zip(answers.as_chunks::<160>().0) {
        let expected = [
            a.wrapping_add(b),
            a.wrapping_add(&four_p).wrapping_sub(b),
            a.wrapping_mul(b),
            a.wrapping_mul(*a),
            **a,
        ];
        for (expected, answer) in expected.iter().zip(answers.as_chunks::<32>().0) {
            assert_eq!(bytes(&expected.rem_vartime(&modulus)), *answer, "{a}, {b}");
        }
    }
}

#[test]
fn the_twin_equals_the_group_on_random_points() {
    let twin = Twin::build("group");
    let mut rng = Prg::from_seed([11; 16]);
    for scalar in scalars(&mut rng) {
        let mut uniform = vec![[0; 64]; 100];
        uniform.iter_mut().for_each(|bytes| rng.fill(bytes));
        let mut expected = vec![[0; 32]; uniform.len()];
        map_mul_encode_on(Backend::PORTABLE, &scalar, &uniform, &mut expected);
        assert!(map_mul_encode(&twin, &scalar, &uniform) == expected);
        // Elements whose encodings are those of single operations.
        let encoded: Vec<_> = uniform
            .iter()
            .map(|uniform| Ristretto255::encode(&Ristretto255::map_to_group(uniform)))
            .collect();
        assert!(decode_mul_encode(&twin, &scalar, &encoded) == (None, expected));
    }
}

#[test]
fn the_twin_equals_the_group_on_more_points_under_one_scalar() {
    let twin = Twin::build("more");
    let mut rng = Prg::from_seed([12; 16]);
    let scalar = Ristretto255::random_scalar(&mut rng);
    let mut uniform = vec![[0; 64]; 4096];
    uniform.iter_mut().for_each(|bytes| rng.fill(bytes));
    let mut expected = vec![[0; 32]; uniform.len()];
    Ristretto255::map_mul_encode(&scalar, &uniform, &mut expected);
    assert!(map_mul_encode(&twin, &scalar, &uniform) == expected);
    let mut again = vec![[0; 32]; uniform.len()];
    assert!(Ristretto255::decode_mul_encode(&scalar, &expected, &mut again).is_ok());
    assert!(decode_mul_encode(&twin, &scalar, &expected) == (None, again));
}

#[test]
fn the_twin_has_the_vectors_of_rfc_9496() {
    let twin = Twin::build("vectors");
    let generator = hex(MULTIPLES[1]);
    for (i, expected) in MULTIPLES.iter().enumerate() {
        assert_eq!(decode_mul_encode(&twin, &small(i as u64), &[generator]), (None, vec![hex(expected)]));
    }
    let (uniform, expected): (Vec<_>, Vec<_>) =
        MAPPED.iter().map(|(uniform, expected)| (hex(uniform), hex(expected))).unzip();
    assert_eq!(map_mul_encode(&twin, &small(1), &uniform), expected);
}

/// Halves of zero, one, p - 1, p, p + 1, and all ones, with and without the highest bit.
#[test]
fn the_twin_maps_the_edges_of_the_field_as_the_group_does() {
    let twin = Twin::build("edges");
    let number = |low: u8, rest: u8, top: u8| {
        let mut half = [rest; 32];
        (half[0], half[31]) = (low, top);
        half
    };
    let halves = [
        number(0, 0, 0),
        number(1, 0, 0),
        number(0xec, 0xff, 0x7f),
        number(0xed, 0xff, 0x7f),
        number(0xee, 0xff, 0x7f),
        number(0xff, 0xff, 0x7f),
        number(0, 0, 0x80),
        number(0xec, 0xff, 0xff),
        number(0xff, 0xff, 0xff),
    ];
    let pairs = halves.iter().flat_map(|first| halves.iter().map(move |second| [*first, *second]));
    let uniform: Vec<[u8; 64]> = pairs.map(|pair| *pair.as_flattened().first_chunk().unwrap()).collect();
    for scalar in [small(1), small(3)] {
        let mut expected = vec![[0; 32]; uniform.len()];
        map_mul_encode_on(Backend::PORTABLE, &scalar, &uniform, &mut expected);
        assert_eq!(map_mul_encode(&twin, &scalar, &uniform), expected);
    }
}

#[test]
fn the_twin_names_the_first_element_that_does_not_decode() {
    let twin = Twin::build("invalid");
    let good = hex(MULTIPLES[5]);
    for invalid in INVALID.iter().chain(&MULTIPLES[..1]) {
        for index in [0, 1, 19] {
            let mut batch = [good; 20];
            batch[19] = hex(invalid);
            batch[index] = hex(invalid);
            assert_eq!(decode_mul_encode(&twin, &small(3), &batch).0, Some(index), "{invalid}");
        }
    }
    // The other lanes are not spoilt.
    let mut expected = [[0; 32]];
    assert!(Ristretto255::decode_mul_encode(&small(3), &[good], &mut expected).is_ok());
    assert_eq!(decode_mul_encode(&twin, &small(3), &[hex(INVALID[0]), good]).1[1], expected[0]);
}
