use core::iter;

use crypto_bigint::{BoxedUint, ConcatenatingMul, ConcatenatingSquare, NonZero, Resize};
use rand_core::Rng;
use sha2::{Digest, Sha256, Sha512};
use subtle::ConstantTimeEq;
use vesica_kernels::Backend;

use super::*;
use crate::prg::Prg;

/// SHA-256 of the results of Python's integers for inputs that [`number`] derives from the size: five powers,
/// their 65537th powers, products, and inverses where all exist.
const OF_PYTHON: [(u32, bool, &str); 10] = [
    (512, false, "5c471a63a16caedf2232b3b8e2ebca00b63c7a1f63dbc6cf94ca238c85f87c73"),
    (1024, true, "d3fd661e692a991fd80d37acab55070421c3c7fcae7a2ee8e99b54be7ac29c0b"),
    (1536, false, "83e25ff0c78a2a6cbd7fc8ee9bcd156d4509fbc6aef20e56eae31b4d29de7646"),
    (2048, true, "324894dea079cdfa44468c43ee43363ece716d530e44ff1f7f305e0d1aeaa04d"),
    (3072, false, "79e9f1cc7502fc53666ccf6780a2af332308cd670f960fa17a0af0be1c76a012"),
    (4096, true, "e23b460244180b8407c6c48a0f47f32de857afa62c0b83ef9a1b6b6ec725b90e"),
    (6144, false, "2380769328b0df780d844a2e320d3eb0841482acf2cb4ee850805ea06b064f0b"),
    (8192, false, "b23cd34bf44505bc358c4f74454391e87f6738069e69d7f6949fd1327ac03b57"),
    (1000, false, "39e11d5385920cd8376d890903b11b1db2cb9dfd442fa16bae6e24e8f8e93bd8"),
    (1155, false, "e182a2a0460cd463173be9a582be2b8d8cbcdd4b4e5afcf7ec3c5083217b7585"),
];

/// The prime of RFC 3526, group 14.
const GROUP_14: &str = "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD\
    EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED\
    EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F\
    83655D23DCA3AD961C62F356208552BB9ED529077096966D670C354E4ABC9804F1746C08CA18217C32905E462E36CE3B\
    E39E772C180E86039B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF6955817183995497CEA956AE515D2261898FA0510\
    15728E5A8AACAA68FFFFFFFFFFFFFFFF";

/// A number of `bits` bits at most: SHA-512 of the label and a counter, as many bytes as it takes, big-endian.
fn number(label: &str, bits: u32) -> Vec<u8> {
    let bytes = (0u32..).flat_map(|counter| Sha512::digest(format!("{label} {counter}")));
    let mut bytes: Vec<u8> = bytes.take(bits.div_ceil(8) as usize).collect();
    if !bits.is_multiple_of(8) {
        bytes[0] &= (1 << (bits % 8)) - 1;
    }
    bytes
}

fn modulus(bits: u32, backend: Backend) -> Modulus {
    let mut bytes = number(&format!("modulus {bits}"), bits);
    *bytes.last_mut().unwrap() |= 1;
    bytes[0] |= 1 << ((bits - 1) % 8);
    Modulus::from_be_bytes(&bytes).unwrap().with_backend(backend)
}

fn prg() -> Prg {
    Prg::from_seed([7; 16])
}

fn encoded(modulus: &Modulus, residues: &Residues) -> Vec<u8> {
    let mut bytes = Vec::new();
    modulus.encode(residues, &mut bytes);
    bytes
}

/// The power by squaring and multiplying, in the library's arithmetic on plain numbers.
fn slow_pow(base: &BoxedUint, exponent: &BoxedUint, modulus: &Modulus) -> BoxedUint {
    let divisor = NonZero::new(modulus.value().clone()).unwrap();
    let mut power = modulus.residue(&BoxedUint::one()).to_uint();
    for bit in (0..exponent.bits()).rev() {
        power = power.mul_mod(&power, &divisor);
        if exponent.bit_vartime(bit) {
            power = power.mul_mod(base, &divisor);
        }
    }
    power
}

#[test]
fn agrees_with_other_integers() {
    for backend in Backend::available() {
        for (bits, invertible, expected) in OF_PYTHON {
            let modulus = modulus(bits, backend);
            assert_eq!((modulus.bits(), modulus.bytes()), (bits, bits.div_ceil(8) as usize));
            let wide: Vec<u8> =
                (0..5).flat_map(|i| number(&format!("base {bits} {i}"), bits + 128)).collect();
            let bases = modulus.reduce_wide(&wide, wide.len() / 5);
            let exponent = number(&format!("exponent {bits}"), 200);
            let mut found = encoded(&modulus, &modulus.pow(&bases, &Exponent::from_be_bytes(&exponent)));
            let at_once = found.clone();
            found.extend(encoded(&modulus, &modulus.vartime_pow_public(&bases, &[1, 0, 1])));
            found.extend(encoded(&modulus, &modulus.mul(&bases, &bases.gather(&[1, 2, 3, 4, 0]))));
            match modulus.invert(&bases) {
                Some(inverses) => found.extend(encoded(&modulus, &inverses)),
                None => assert!(!invertible),
            }
            assert_eq!(hex(&Sha256::digest(&found)), expected, "{backend:?} {bits}");
            let public = modulus.vartime_pow_public(&bases, &exponent);
            assert_eq!(encoded(&modulus, &public), at_once);
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn two_is_a_square_modulo_the_prime_of_group_14() {
    let p = BoxedUint::from_be_hex(GROUP_14, 2048).unwrap();
    let q = p.shr(1);
    for backend in Backend::available() {
        let modulus = Modulus::from_uint(&p).unwrap().with_backend(backend);
        let [one, two] = [1u8, 2].map(|number| modulus.residue(&BoxedUint::from(number)));
        let exponent = Exponent::new(&q, 2047);
        let mut bases = modulus.batch(&two);
        // -2 is none, as the prime is 3 modulo 4.
        bases.push(&modulus.residue(&p.wrapping_sub(BoxedUint::from(2u8).resize(2048))));
        let powers = modulus.pow(&bases, &exponent);
        assert!(bool::from(powers.get(0).ct_eq(&one)));
        assert!(!bool::from(powers.get(1).ct_eq(&one)));
        assert!(bool::from(modulus.square(&modulus.batch(&powers.get(1))).get(0).ct_eq(&one)));
        let fixed = FixedBase::new(&modulus, &two, 2048).pow_each(&[exponent]);
        assert!(bool::from(fixed.get(0).ct_eq(&one)));
    }
}

#[test]
fn powers_of_every_batch_and_exponent_length_are_those_of_plain_numbers() {
    let mut prg = prg();
    for backend in Backend::available() {
        let modulus = modulus(768, backend);
        for (count, bits) in [
            (0, 5),
            (1, 0),
            (2, 1),
            (3, 2),
            (7, 63),
            (8, 64),
            (9, 65),
            (5, 130),
            (16, 31),
            (17, 256),
            (21, 4),
        ] {
            let bases = modulus.random_unit(count, &mut prg);
            let exponents: Vec<Exponent> = (0..count).map(|_| Exponent::random(bits, &mut prg)).collect();
            let each = modulus.pow_each(&bases, &exponents);
            let shared = exponents.first().map(|exponent| modulus.pow(&bases, exponent));
            for index in 0..count {
                let base = bases.get(index).to_uint();
                assert_eq!(each.get(index).to_uint(), slow_pow(&base, exponents[index].value(), &modulus));
                let shared = shared.as_ref().unwrap().get(index).to_uint();
                assert_eq!(shared, slow_pow(&base, exponents[0].value(), &modulus));
            }
            let one = modulus.random_unit(1, &mut prg).get(0);
            let fixed = FixedBase::new(&modulus, &one, bits).pow_each(&exponents);
            assert_eq!(fixed.len(), count);
            for (index, exponent) in exponents.iter().enumerate() {
                assert_eq!(fixed.get(index).to_uint(), slow_pow(&one.to_uint(), exponent.value(), &modulus));
            }
        }
    }
}

#[test]
fn exponents_may_differ_in_length() {
    for backend in Backend::available() {
        let modulus = modulus(1024, backend);
        let bases = modulus.random_unit(11, &mut prg());
        let exponents: Vec<Exponent> =
            (0..11).map(|index| Exponent::from_be_bytes(&number("differ", 8 * (index % 4) * 5))).collect();
        let powers = modulus.pow_each(&bases, &exponents);
        for (index, exponent) in exponents.iter().enumerate() {
            let expected = slow_pow(&bases.get(index).to_uint(), exponent.value(), &modulus);
            assert_eq!(powers.get(index).to_uint(), expected, "{index}");
        }
    }
}

#[test]
fn extremes_of_residues_and_exponents() {
    for backend in Backend::available() {
        for bits in [512, 520, 1024, 3072, 6144] {
            // 2^bits - 1 and 2^(bits - 1) + 1: the largest and the smallest modulus.
            let mut smallest = vec![0; bits as usize / 8];
            (smallest[0], *smallest.last_mut().unwrap()) = (0x80, 1);
            for bytes in [vec![0xff; bits as usize / 8], smallest] {
                let modulus = Modulus::from_be_bytes(&bytes).unwrap().with_backend(backend);
                let minus_one = modulus.value().wrapping_sub(BoxedUint::one_with_precision(bits));
                let mut bases = modulus.batch(&modulus.residue(&minus_one));
                for number in [1u8, 2] {
                    bases.push(&modulus.residue(&BoxedUint::from(number)));
                }
                for exponent in [&[0][..], &[1], &[2], &[0xff; 9], &[0; 9], &[0x84, 0x21]] {
                    let powers = modulus.pow(&bases, &Exponent::from_be_bytes(exponent));
                    let fixed: Vec<Residues> = (0..3)
                        .map(|index| FixedBase::new(&modulus, &bases.get(index), 72))
                        .map(|base| base.pow_each(&[Exponent::from_be_bytes(exponent)]))
                        .collect();
                    let exponent = BoxedUint::from_be_slice_vartime(exponent);
                    for (index, fixed) in fixed.iter().enumerate() {
                        let expected = slow_pow(&bases.get(index).to_uint(), &exponent, &modulus);
                        assert_eq!(powers.get(index).to_uint(), expected, "{backend:?} {bits}");
                        assert_eq!(fixed.get(0).to_uint(), expected);
                    }
                }
                let square = modulus.square(&bases);
                assert_eq!(encoded(&modulus, &square), encoded(&modulus, &modulus.mul(&bases, &bases)));
                assert_eq!(square.get(0).to_uint(), bases.get(1).to_uint());
                let inverses = modulus.invert(&bases).unwrap();
                assert_eq!(inverses.get(0).to_uint(), minus_one);
            }
        }
    }
}

#[test]
fn sums_products_and_inverses_obey_the_laws_of_rings() {
    for backend in Backend::available() {
        for bits in [512, 1024, 2049] {
            let modulus = modulus(bits, backend);
            let mut prg = prg();
            let [a, b] = [(); 2].map(|()| modulus.random_unit(13, &mut prg));
            let one = modulus.random_unit(1, &mut prg).get(0);
            let sum = modulus.add(&a, &b);
            assert!(bool::from(modulus.sub(&sum, &b).ct_eq(&a)));
            // (a + b)(a - b) = a² - b²
            let left = modulus.mul(&sum, &modulus.sub(&a, &b));
            let right = modulus.sub(&modulus.square(&a), &modulus.square(&b));
            assert!(bool::from(left.ct_eq(&right)));
            let left = modulus.mul_one(&sum, &one);
            let right = modulus.add(&modulus.mul_one(&a, &one), &modulus.mul_one(&b, &one));
            assert!(bool::from(left.ct_eq(&right)));
            if let Some(inverses) = modulus.invert(&a) {
                let products = modulus.mul(&modulus.mul(&a, &inverses), &b);
                assert!(bool::from(products.ct_eq(&b)));
            }
        }
    }
}

#[test]
fn invert_finds_what_has_no_inverse() {
    let mut prg = prg();
    let [p, q] = [(); 2].map(|()| prime::random_rsa_prime(256, &mut prg));
    for backend in Backend::available() {
        let modulus = Modulus::from_uint(&p.concatenating_mul(&q)).unwrap().with_backend(backend);
        for count in [1, 8, 9, 30] {
            let mut units = modulus.random_unit(count, &mut prg);
            let inverses = modulus.invert(&units).unwrap();
            let ones = modulus.mul(&units, &inverses);
            assert!((0..count).all(|index| ones.get(index).to_uint().is_one().to_bool()));
            units.push(&modulus.residue(&p));
            assert!(modulus.invert(&units).is_none());
        }
        assert!(modulus.invert(&modulus.none(0)).unwrap().is_empty());
    }
}

#[test]
fn decoding_accepts_canonical_residues_only() {
    for bits in [512, 1000, 1155, 2048] {
        let modulus = modulus(bits, Backend::PORTABLE);
        let residues = modulus.random_unit(3, &mut prg());
        let bytes = encoded(&modulus, &residues);
        assert!(bool::from(modulus.decode(&bytes).unwrap().ct_eq(&residues)));
        assert!(modulus.decode(&[]).unwrap().is_empty());
        let of = |index| Some(InvalidResidue { index });
        assert_eq!(modulus.decode(&bytes[1..]).err(), of(2));
        let with = |index: usize, residue: &[u8]| {
            let mut bytes = bytes.clone();
            bytes[index * residue.len()..][..residue.len()].copy_from_slice(residue);
            modulus.decode(&bytes).err()
        };
        let itself = modulus.to_be_bytes();
        let mut below = itself.clone();
        *below.last_mut().unwrap() -= 1;
        let mut above = itself.clone();
        above[modulus.bytes() - 2] = above[modulus.bytes() - 2].wrapping_add(1).max(1);
        assert_eq!(with(1, &vec![0; itself.len()]), of(1));
        assert_eq!(with(2, &itself), of(2));
        assert_eq!(with(0, &vec![0xff; itself.len()]), of(0));
        assert_eq!(with(0, &below), None);
    }
}

#[test]
fn moduli_are_odd_and_of_the_sizes_promised() {
    assert_eq!(Modulus::from_be_bytes(&[]).err(), Some(InvalidModulus::Size { bits: 0 }));
    assert_eq!(Modulus::from_be_bytes(&[0xff; 63]).err(), Some(InvalidModulus::Size { bits: 504 }));
    assert_eq!(Modulus::from_be_bytes(&[0xff; 2049]).err(), Some(InvalidModulus::Size { bits: 16392 }));
    assert_eq!(Modulus::from_be_bytes(&[0xfe; 64]).err(), Some(InvalidModulus::Even));
    let padded: Vec<u8> = iter::repeat_n(0, 9).chain([0x7f; 70]).collect();
    let modulus = Modulus::from_be_bytes(&padded).unwrap();
    assert_eq!((modulus.bits(), modulus.to_be_bytes()), (559, vec![0x7f; 70]));
}

#[test]
fn a_residue_and_its_negative_have_one_encoding() {
    for bits in [512, 1000, 2048] {
        let modulus = modulus(bits, Backend::PORTABLE);
        let residues = modulus.random_unit(20, &mut prg());
        let mut negated = modulus.none(20);
        (0..20).for_each(|_| negated.push(&modulus.residue(modulus.value())));
        let negated = modulus.sub(&negated, &residues);
        let (mut bytes, mut others) = (Vec::new(), Vec::new());
        modulus.encode_up_to_sign(&residues, &mut bytes);
        modulus.encode_up_to_sign(&negated, &mut others);
        assert_eq!(bytes, others);
        let decoded = modulus.decode_up_to_sign(&bytes).unwrap();
        for index in 0..20 {
            let is = |residues: &Residues| bool::from(residues.get(index).ct_eq(&decoded.get(index)));
            assert!(is(&residues) ^ is(&negated));
        }
        let half = modulus.value().shr(1);
        let one = BoxedUint::one_with_precision(half.bits_precision());
        for (number, valid) in [
            (half.clone(), true),
            (half.wrapping_add(&one), false),
            (one.clone(), false),
            (one.shl(1), true),
            (modulus.value().wrapping_sub(&one), false),
        ] {
            bytes.clear();
            modulus.encode(&modulus.batch(&modulus.residue(&number)), &mut bytes);
            assert_eq!(modulus.decode_up_to_sign(&bytes).is_ok(), valid, "{bits}");
        }
        assert!(modulus.decode_up_to_sign(&vec![0; modulus.bytes()]).is_err());
    }
}

/// As Python computes them from the formulas, as SHA-256 of the encodings.
#[test]
fn standard_primes_are_those_of_the_formulas() {
    let mut hash = Sha256::new();
    for bits in modp::SIZES {
        let modulus = modp::modulus(bits).unwrap();
        assert_eq!(modulus.bits(), bits);
        hash.update(modulus.to_be_bytes());
    }
    assert_eq!(hex(&hash.finalize()), "927f59045c0e048c4914b0e2c5b5e13d5b01f0ecf8a76dcb633f3f57d64f1756");
    assert_eq!(modp::prime(2048).unwrap(), BoxedUint::from_be_hex(GROUP_14, 2048).unwrap());
    assert!(modp::prime(1234).is_none());
    for bits in [1024, 1536] {
        let p = modp::prime(bits).unwrap();
        assert!(prime::is_prime(&p) && prime::is_prime(&p.shr(1)));
    }
}

#[test]
fn reduction_is_the_remainder() {
    let mut prg = prg();
    for backend in Backend::available() {
        for bits in [512, 1000, 2048] {
            let modulus = modulus(bits, backend);
            for each in
                [1, 63, modulus.bytes(), modulus.bytes() + 16, 2 * modulus.bytes(), 3 * modulus.bytes() + 5]
            {
                let mut integers = vec![0; 9 * each];
                prg.fill_bytes(&mut integers);
                integers[each..2 * each].fill(0xff);
                let residues = modulus.reduce(&integers, each);
                for (index, integer) in integers.chunks(each).enumerate() {
                    let integer = BoxedUint::from_be_slice_vartime(integer);
                    let divisor = NonZero::new(modulus.value().clone()).unwrap();
                    assert_eq!(residues.get(index).to_uint(), integer.rem_vartime(&divisor), "{bits} {each}");
                }
            }
        }
    }
}

#[test]
fn primes_have_their_length_and_pass_both_tests() {
    let mut prg = prg();
    for bits in [64, 160, 256, 512] {
        let prime = prime::random_prime(bits, &mut prg);
        assert_eq!(prime.bits(), bits);
        assert!(prime::is_prime(&prime) && prime::is_prime_of_peer(&prime, &mut prg));
        let square = prime.concatenating_mul(&prime);
        assert!(!prime::is_prime(&square) && !prime::is_prime_of_peer(&square, &mut prg));
    }
    let safe = prime::random_safe_prime(96, &mut prg);
    assert!(prime::is_prime(&safe.shr(1)));
    let rsa = prime::random_rsa_prime(128, &mut prg);
    assert!(rsa.bit_vartime(127) && rsa.bit_vartime(126));
    // Carmichael numbers, and strong pseudoprimes to base 2.
    for composite in [561u64, 3_215_031_751, 3_825_123_056_546_413_051] {
        assert!(!prime::is_prime(&BoxedUint::from(composite)));
    }
}

/// Carmichael numbers, strong pseudoprimes to many bases, products that fool a few tests of fixed bases; and primes.
#[test]
fn composites_that_were_made_to_pass_for_primes_do_not() {
    let numbers = include_str!("wycheproof_primality.txt").lines().filter(|line| !line.starts_with('#'));
    let (mut prg, mut primes, mut composites) = (prg(), 0, 0);
    for (kind, digits) in numbers.map(|line| line.split_once(' ').unwrap()) {
        let digits = format!("{digits:0>width$}", width = digits.len().next_multiple_of(16));
        let number = BoxedUint::from_be_hex(&digits, 4 * digits.len() as u32).unwrap();
        let prime = kind == "prime";
        assert_eq!(prime::is_prime(&number), prime, "{digits}");
        // It asks `is_prime` first, and long ones take their time.
        if digits.len() <= 128 {
            assert_eq!(prime::is_prime_of_peer(&number, &mut prg), prime, "{digits}");
        }
        *(if prime { &mut primes } else { &mut composites }) += 1;
    }
    assert_eq!((primes, composites), (66, 237));
}

#[test]
fn keys_sign_and_a_wrong_half_is_caught() {
    [3, 65537].into_iter().for_each(a_key_signs_and_a_wrong_half_is_caught);
}

fn a_key_signs_and_a_wrong_half_is_caught(e: u32) {
    let mut prg = prg();
    let key = RsaKey::generate(1024, e, &mut prg);
    let n = key.public().modulus();
    assert_eq!(n.bits(), 1024);
    let messages = n.random_unit(10, &mut prg);
    let signatures = key.sign(&messages).unwrap();
    assert!(key.public().verify(&messages, &signatures).is_ok());
    let (p, q) = key.crt().factors();
    // The slow way: d = 1 / e modulo (p - 1)(q - 1).
    let one = BoxedUint::one();
    let order = p.value().wrapping_sub(&one).concatenating_mul(&q.value().wrapping_sub(&one));
    let d = BoxedUint::from(e).resize(1024);
    let d = d.invert_mod(&NonZero::new(order).unwrap()).unwrap();
    assert!(bool::from(n.pow(&messages, &Exponent::new(&d, 1024)).ct_eq(&signatures)));
    // A key whose halves do not belong together: a fault in one of them.
    let other = RsaKey::generate(1024, e, &mut prg);
    let faulty = key.clone().with_exponents_of(&other);
    assert_eq!(faulty.sign(&messages).err(), Some(WrongSignature { index: 0 }));
    let public = RsaPublicKey::from_modulus(&n.to_be_bytes(), 1024, e).unwrap();
    let (first, rest) = signatures.split_at(4);
    let mut swapped = first;
    swapped.push(&rest.get(1));
    swapped.extend(&rest.gather(&[0, 2, 3, 4, 5]));
    assert_eq!(public.verify(&messages, &swapped).err(), Some(WrongSignature { index: 4 }));
    assert_eq!(
        RsaPublicKey::from_modulus(&n.to_be_bytes(), 1026, e).err(),
        Some(InvalidModulus::Size { bits: 1024 })
    );
}

#[test]
fn splitting_and_joining_are_inverse() {
    let mut prg = prg();
    let [p, q] = [(); 2].map(|()| prime::random_rsa_prime(512, &mut prg));
    for (p, q) in [(&p, &q), (&q, &p)] {
        let squares = Crt::new(&p.concatenating_square(), &q.concatenating_square()).unwrap();
        for crt in [Crt::new(p, q).unwrap(), squares] {
            let residues = crt.modulus().random_unit(5, &mut prg);
            let (modulo_p, modulo_q) = crt.split(&residues);
            assert!(bool::from(crt.join(&modulo_p, &modulo_q).ct_eq(&residues)));
        }
    }
    assert!(Crt::new(&p, &p).is_none());
    assert!(Crt::new(&p, &prime::random_prime(520, &mut prg)).is_none());
}

#[test]
fn secrets_do_not_print() {
    let mut prg = prg();
    let key = RsaKey::generate(1024, 65537, &mut prg);
    let residues = key.public().modulus().random_unit(2, &mut prg);
    let printed = format!("{key:?} {residues:?} {:?} {:?}", residues.get(0), Exponent::random(256, &mut prg));
    assert!(!printed.contains("0x") && printed.len() < 400, "{printed}");
}
