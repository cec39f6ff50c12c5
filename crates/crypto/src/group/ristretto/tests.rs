use super::*;
use crate::prg::Prg;

pub(super) fn hex<const N: usize>(text: &str) -> [u8; N] {
    assert_eq!(text.len(), 2 * N);
    core::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
}

/// RFC 9496, appendix A.1: multiples 0 to 15 of the generator.
pub(super) const MULTIPLES: [&str; 16] = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76",
    "6a493210f7499cd17fecb510ae0cea23a110e8d5b901f8acadd3095c73a3b919",
    "94741f5d5d52755ece4f23f044ee27d5d1ea1e2bd196b462166b16152a9d0259",
    "da80862773358b466ffadfe0b3293ab3d9fd53c5ea6c955358f568322daf6a57",
    "e882b131016b52c1d3337080187cf768423efccbb517bb495ab812c4160ff44e",
    "f64746d3c92b13050ed8d80236a7f0007c3b3f962f5ba793d19a601ebb1df403",
    "44f53520926ec81fbd5a387845beb7df85a96a24ece18738bdcfa6a7822a176d",
    "903293d8f2287ebe10e2374dc1a53e0bc887e592699f02d077d5263cdd55601c",
    "02622ace8f7303a31cafc63f8fc48fdc16e1c8c8d234b2f0d6685282a9076031",
    "20706fd788b2720a1ed2a5dad4952b01f413bcf0e7564de8cdc816689e2db95f",
    "bce83f8ba5dd2fa572864c24ba1810f9522bc6004afe95877ac73241cafdab42",
    "e4549ee16b9aa03099ca208c67adafcafa4c3f3e4e5303de6026e3ca8ff84460",
    "aa52e000df2e16f55fb1032fc33bc42742dad6bd5a8fc0be0167436c5948501f",
    "46376b80f409b29dc2b5f6f0c52591990896e5716f41477cd30085ab7f10301e",
    "e0c418f7c8d9c4cdd7395b93ea124f3ad99021bb681dfc3302a9d99a2e53e64e",
];

/// RFC 9496, appendix A.2: encodings that no element has.
pub(super) const INVALID: [&str; 29] = [
    // Non-canonical field elements.
    "00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "f3ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    // Negative field elements.
    "0100000000000000000000000000000000000000000000000000000000000000",
    "01ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "ed57ffd8c914fb201471d1c3d245ce3c746fcbe63a3679d51b6a516ebebe0e20",
    "c34c4e1826e5d403b78e246e88aa051c36ccf0aafebffe137d148a2bf9104562",
    "c940e5a4404157cfb1628b108db051a8d439e1a421394ec4ebccb9ec92a8ac78",
    "47cfc5497c53dc8e61c91d17fd626ffb1c49e2bca94eed052281b510b1117a24",
    "f1c6165d33367351b0da8f6e4511010c68174a03b6581212c71c0e1d026c3c72",
    "87260f7a2f12495118360f02c26a470f450dadf34a413d21042b43b9d93e1309",
    // Non-square x^2.
    "26948d35ca62e643e26a83177332e6b6afeb9d08e4268b650f1f5bbd8d81d371",
    "4eac077a713c57b4f4397629a4145982c661f48044dd3f96427d40b147d9742f",
    "de6a7b00deadc788eb6b6c8d20c0ae96c2f2019078fa604fee5b87d6e989ad7b",
    "bcab477be20861e01e4a0e295284146a510150d9817763caf1a6f4b422d67042",
    "2a292df7e32cababbd9de088d1d1abec9fc0440f637ed2fba145094dc14bea08",
    "f4a9e534fc0d216c44b218fa0c42d99635a0127ee2e53c712f70609649fdff22",
    "8268436f8c4126196cf64b3c7ddbda90746a378625f9813dd9b8457077256731",
    "2810e5cbc2cc4d4eece54f61c6f69758e289aa7ab440b3cbeaa21995c2f4232b",
    // Negative x·y.
    "3eb858e78f5a7254d8c9731174a94f76755fd3941c0ac93735c07ba14579630e",
    "a45fdc55c76448c049a1ab33f17023edfb2be3581e9c7aade8a6125215e04220",
    "d483fe813c6ba647ebbfd3ec41adca1c6130c2beeee9d9bf065c8d151c5f396e",
    "8a2e1d30050198c65a54483123960ccc38aef6848e1ec8f5f780e8523769ba32",
    "32888462f8b486c68ad7dd9610be5192bbeaf3b443951ac1a8118419d9fa097b",
    "227142501b9d4355ccba290404bde41575b037693cef1f438c47f8fbf35d1165",
    "5c37cc491da847cfeb9281d407efc41e15144c876e0170b499a96a22ed31e01e",
    "445425117cb8c90edcbc7c1cc0e74f747f2c1efa5630a967c64f287792a48a4b",
    // s = -1, hence y = 0.
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
];

/// RFC 9496, appendix A.3: uniform bytes and the element they map to; the last four map to the same one.
pub(super) const MAPPED: [(&str, &str); 11] = [
    (
        "5d1be09e3d0c82fc538112490e35701979d99e06ca3e2b5b54bffe8b4dc772c1\
         4d98b696a1bbfb5ca32c436cc61c16563790306c79eaca7705668b47dffe5bb6",
        "3066f82a1a747d45120d1740f14358531a8f04bbffe6a819f86dfe50f44a0a46",
    ),
    (
        "f116b34b8f17ceb56e8732a60d913dd10cce47a6d53bee9204be8b44f6678b27\
         0102a56902e2488c46120e9276cfe54638286b9e4b3cdb470b542d46c2068d38",
        "f26e5b6f7d362d2d2a94c5d0e7602cb4773c95a2e5c31a64f133189fa76ed61b",
    ),
    (
        "8422e1bbdaab52938b81fd602effb6f89110e1e57208ad12d9ad767e2e25510c\
         27140775f9337088b982d83d7fcf0b2fa1edffe51952cbe7365e95c86eaf325c",
        "006ccd2a9e6867e6a2c5cea83d3302cc9de128dd2a9a57dd8ee7b9d7ffe02826",
    ),
    (
        "ac22415129b61427bf464e17baee8db65940c233b98afce8d17c57beeb7876c2\
         150d15af1cb1fb824bbd14955f2b57d08d388aab431a391cfc33d5bafb5dbbaf",
        "f8f0c87cf237953c5890aec3998169005dae3eca1fbb04548c635953c817f92a",
    ),
    (
        "165d697a1ef3d5cf3c38565beefcf88c0f282b8e7dbd28544c483432f1cec767\
         5debea8ebb4e5fe7d6f6e5db15f15587ac4d4d4a1de7191e0c1ca6664abcc413",
        "ae81e7dedf20a497e10c304a765c1767a42d6e06029758d2d7e8ef7cc4c41179",
    ),
    (
        "a836e6c9a9ca9f1e8d486273ad56a78c70cf18f0ce10abb1c7172ddd605d7fd2\
         979854f47ae1ccf204a33102095b4200e5befc0465accc263175485f0e17ea5c",
        "e2705652ff9f5e44d3e841bf1c251cf7dddb77d140870d1ab2ed64f1a9ce8628",
    ),
    (
        "2cdc11eaeb95daf01189417cdddbf95952993aa9cb9c640eb5058d09702c7462\
         2c9965a697a3b345ec24ee56335b556e677b30e6f90ac77d781064f866a3c982",
        "80bd07262511cdde4863f8a7434cef696750681cb9510eea557088f76d9e5065",
    ),
    (
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\
         1200000000000000000000000000000000000000000000000000000000000000",
        "304282791023b73128d277bdcb5c7746ef2eac08dde9f2983379cb8e5ef0517f",
    ),
    (
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f\
         ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "304282791023b73128d277bdcb5c7746ef2eac08dde9f2983379cb8e5ef0517f",
    ),
    (
        "0000000000000000000000000000000000000000000000000000000000000080\
         ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "304282791023b73128d277bdcb5c7746ef2eac08dde9f2983379cb8e5ef0517f",
    ),
    (
        "0000000000000000000000000000000000000000000000000000000000000000\
         1200000000000000000000000000000000000000000000000000000000000080",
        "304282791023b73128d277bdcb5c7746ef2eac08dde9f2983379cb8e5ef0517f",
    ),
];

pub(super) fn small(value: u64) -> Scalar {
    Scalar(Integer::from(value))
}

#[test]
fn multiples_of_the_generator_are_those_of_rfc_9496() {
    let mut sum = Ristretto255::identity();
    for (i, expected) in MULTIPLES.iter().enumerate() {
        let expected = hex::<32>(expected);
        assert_eq!(Ristretto255::encode(&sum), expected);
        assert_eq!(Ristretto255::encode(&Ristretto255::mul_base(&small(i as u64))), expected);
        for backend in Backend::available() {
            let mut multiple = [[0xaa; 32]];
            let result = decode_mul_encode_on(backend, &small(i as u64), &[hex(MULTIPLES[1])], &mut multiple);
            assert_eq!((result, multiple), (Ok(()), [expected]), "{backend:?}");
        }
        match Ristretto255::decode(&expected) {
            Ok(element) => assert!(element == sum && i > 0),
            Err(InvalidElement { index: 0 }) => assert_eq!(i, 0, "only the identity is rejected"),
            Err(_) => unreachable!(),
        }
        sum = Ristretto255::add(&sum, &Ristretto255::generator());
    }
}

#[test]
fn invalid_encodings_are_rejected_and_named() {
    let good = hex(MULTIPLES[5]);
    for invalid in INVALID.iter().chain(&MULTIPLES[..1]) {
        let invalid = hex(invalid);
        assert!(Ristretto255::decode(&invalid).is_err());
        for index in (0..16).chain([63, 64, 99]) {
            let mut batch = [good; 100];
            batch[index] = invalid;
            batch[99] = invalid;
            for backend in Backend::available() {
                let result = decode_mul_encode_on(backend, &small(3), &batch, &mut [[0; 32]; 100]);
                assert_eq!(result, Err(InvalidElement { index }), "{backend:?}");
            }
        }
    }
}

#[test]
fn the_map_is_that_of_rfc_9496() {
    let uniform = MAPPED.map(|(uniform, _)| hex(uniform));
    let expected = MAPPED.map(|(_, expected)| hex::<32>(expected));
    for backend in Backend::available() {
        let mut batch = [[0; 32]; 11];
        map_mul_encode_on(backend, &small(1), &uniform, &mut batch);
        assert_eq!(batch, expected, "{backend:?}");
    }
    for (uniform, expected) in uniform.iter().zip(&expected) {
        assert_eq!(Ristretto255::encode(&Ristretto255::map_to_group(uniform)), *expected);
    }
}

/// RFC 9497, appendix A.1.1: OPRF(ristretto255, SHA-512), both vectors.
#[test]
fn hashes_to_the_group_as_rfc_9497_does() {
    let dst = b"HashToGroup-OPRFV1-\x00-ristretto255-SHA512";
    let blind = hex("64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706");
    let key = hex("5ebcea5ee37023ccb9fc2d2019f9d7737be85591ae8652ffa9ef0f4d37063b0e");
    let (blind, key) = (Ristretto255::decode_scalar(&blind), Ristretto255::decode_scalar(&key));
    let (blind, key) = (blind.ok().unwrap(), key.ok().unwrap());
    let vectors: [(&[u8], _, _); 2] = [
        (
            &[0],
            "609a0ae68c15a3cf6903766461307e5c8bb2f95e7e6550e1ffa2dc99e412803c",
            "7ec6578ae5120958eb2db1745758ff379e77cb64fe77b0b2d8cc917ea0869c7e",
        ),
        (
            &[0x5a; 17],
            "da27ef466870f5f15296299850aa088629945a17d1f5b7f5ff043f76b3c06418",
            "b4cbf5a4f1eeda5a63ce7b77c7d23f461db3fcab0dd28e4e17cecb5c90d02c25",
        ),
    ];
    for (input, blinded, evaluated) in vectors {
        let element = Ristretto255::mul(&blind, &hash_to_ristretto255(input, dst));
        assert_eq!(Ristretto255::encode(&element), hex(blinded));
        let mut out = [[0; 32]];
        assert!(Ristretto255::decode_mul_encode(&key, &[hex(blinded)], &mut out).is_ok());
        assert_eq!(out, [hex(evaluated)]);
    }
}

#[test]
fn an_oversized_dst_is_hashed_first() {
    let long = [b'd'; 256];
    let short = Sha512::new().chain_update(b"H2C-OVERSIZE-DST-").chain_update(long).finalize();
    assert!(hash_to_ristretto255(b"m", &long) == hash_to_ristretto255(b"m", &short));
    assert!(hash_to_ristretto255(b"m", &long) != hash_to_ristretto255(b"m", &long[..255]));
}

/// RFC 9380 has vectors for 32 and 128 bytes of output (appendix K), and the length is hashed: for 64 bytes, another
/// implementation takes their place, which those for the curves of NIST check.
#[test]
fn messages_are_expanded_as_by_another_implementation() {
    use elliptic_curve::consts::U32;
    use hash2curve::{ExpandMsg, ExpandMsgXmd, Expander as _};
    let long = ["q128_".to_owned() + &"q".repeat(128), "a512_".to_owned() + &"a".repeat(512)];
    let domains = ["QUUX-V01-CS02-with-expander-SHA512-256".to_owned(), "d".repeat(255), "d".repeat(256)];
    for message in ["", "abc", "abcdef0123456789", &long[0], &long[1]].map(str::as_bytes) {
        for domain in domains.iter().map(|domain| domain.as_bytes()) {
            let length = core::num::NonZero::new(64).unwrap();
            let parts = [domain];
            let expander =
                <ExpandMsgXmd<Sha512> as ExpandMsg<U32>>::expand_message(&[message], &parts, length);
            let mut expected = [0; 64];
            expander.unwrap().fill_bytes(&mut expected).unwrap();
            assert_eq!(ExpandMessage::new(domain).expand(&[message]), expected);
            let (one, two) = message.split_at(message.len() / 2);
            assert_eq!(ExpandMessage::new(domain).expand(&[one, two]), expected);
        }
    }
}

#[test]
fn batches_equal_single_operations() {
    let mut rng = Prg::from_seed([1; 16]);
    let scalar = Ristretto255::random_scalar(&mut rng);
    // Odd and even scalars halve differently; zero yields the identity in every place.
    for scalar in [scalar, small(0), small(1), small(2), Ristretto255::sub_scalars(&small(0), &small(1))] {
        for count in [0, 1, 64, 65] {
            let mut uniform = vec![[0; 64]; count];
            uniform.iter_mut().for_each(|bytes| rng.fill(bytes));
            let points: Vec<_> = uniform.iter().map(Ristretto255::map_to_group).collect();
            let encoded: Vec<_> = points.iter().map(Ristretto255::encode).collect();
            let multiply = |point| Ristretto255::encode(&Ristretto255::mul(&scalar, point));
            let expected: Vec<_> = points.iter().map(multiply).collect();
            for backend in Backend::available() {
                let mut masked = vec![[0xaa; 32]; count];
                map_mul_encode_on(backend, &scalar, &uniform, &mut masked);
                assert!(masked == expected, "{backend:?}, {count}");
                let mut again = vec![[0xaa; 32]; count];
                assert!(decode_mul_encode_on(backend, &scalar, &encoded, &mut again).is_ok());
                assert!(again == expected, "{backend:?}, {count}");
            }
        }
    }
}

#[test]
fn a_sum_of_multiples_equals_its_terms() {
    let mut rng = Prg::from_seed([2; 16]);
    let scalars: Vec<_> = (0..5).map(|_| Ristretto255::random_scalar(&mut rng)).collect();
    let elements: Vec<_> = (0..5).map(|_| Ristretto255::random_element(&mut rng)).collect();
    let terms = scalars.iter().zip(&elements).map(|(scalar, element)| Ristretto255::mul(scalar, element));
    let sum = terms.fold(Ristretto255::identity(), |sum, term| Ristretto255::add(&sum, &term));
    assert!(Ristretto255::vartime_mul_sum(&scalars, &elements) == sum);
    let rest = Ristretto255::sub(&sum, &Ristretto255::mul(&scalars[0], &elements[0]));
    assert!(Ristretto255::vartime_mul_sum(&scalars[1..], &elements[1..]) == rest);
}

#[test]
fn scalars_form_a_field_and_decode_canonically() {
    let mut rng = Prg::from_seed([3; 16]);
    let a = Ristretto255::random_scalar(&mut rng);
    let one = Ristretto255::mul_scalars(&a, &Ristretto255::invert(&a));
    assert!(bool::from(one.ct_eq(&small(1))));
    let two = Ristretto255::sub_scalars(&Ristretto255::add_scalars(&one, &small(7)), &small(6));
    assert_eq!(Ristretto255::encode_scalar(&two)[..2], [2, 0]);
    let order = hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
    assert!(Ristretto255::decode_scalar(&order).is_err());
    assert!(Ristretto255::decode_scalar(&Ristretto255::encode_scalar(&a)).is_ok_and(|b| b.ct_eq(&a).into()));
    let wide = Ristretto255::scalar_from_uniform(&[0xff; 64]);
    assert!(Ristretto255::decode_scalar(&Ristretto255::encode_scalar(&wide)).is_ok());
}
