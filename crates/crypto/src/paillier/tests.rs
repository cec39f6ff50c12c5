use super::*;
use crate::prg::Prg;

const P: &[&str] = &[
    "d69b5b823c62b64ca7e5f8456a13c8d5d06f4ece522a58bc2b8a784dcf3609b0f64551fcd6f07823cb87971cfb914464",
    "25da18286b3ab1ef935e0cbd7a69f701",
];
const Q: &[&str] = &[
    "f41c0a3e67c3146720fa1b9504927ece5f5daefadaad467dddfd2ff04ba039bec75de8c1b7c3ae5252091267a736a9bf",
    "57001d80e82668b3cb3cd09e2f6a45e9",
];
const FIRST: &[&str] = &[
    "177eaa058782a9bddcf4f05386eb0e9aede77fd214c0bd2a8db2fa5c823865164e5d170209e4794d9bd04b38ad15a8a3",
    "5272b12152cdc1271bf81b4da4a985a612842dea5f373edf3efb7dd27990c79c906a8ceb905a07b6f5c006a860f93cb2",
    "e2b946e086dcb1e13484b0c384d7e45fc70fde111918ebdbd38dd0988a8556f5",
];
const FIRST_UNIT: &[&str] = &[
    "9dc02223da426384268a0b489b28b008464099491967f6f0597853e939953ea0bb82030dbc2bcaba32a90bf2e207a84a",
    "856fc5f033b77c480836ab6f77f40f196ca202c88e549dff68c09bfafbfc60b2fac074debc1e6777e9ba4b6c703ed114",
    "011e39efe22590f4a339ad19cd180f4d855e32feba602d1ec8e154780838c99c",
];
const SECOND: &[&str] = &[
    "b98236d8cafd383b17becb1c5ecfdb23162ad7b74555fceac052387661f7fc00b8734faf726d77e6af0ae94ad87a1f85",
    "2f6538d3e957a5e0ee0d067fc8f1ee6bf24882524fefbfb58007716060403ea7ba42aec69b4856852749dc1c15f7c12f",
    "1965a0ed71cf90544a84aabc1525f071ba180bf6b6a49e48ee2d47b080839415",
];
const SECOND_UNIT: &[&str] = &[
    "cc2aa1d637a2ac89c00a5307661e7ff4f3bac699db375a703bfdcf38201d06ddedf596cc32996af36b5e78fbcc6e6094",
    "6841e8d6704f494b83a7e9606475a68d8a66366737b3140d307236b8fce3f0297a3c093b60529e0d3d15a50e13382004",
    "b6c81578dfbab675d02554e5a5524da25174e636344cfed90131367b0d5e193b",
];
const FACTOR: &[&str] = &["d1a5ac9a015fac2ef7b341673635512a"];
const FIRST_ENCRYPTED: &[&str] = &[
    "5ca9dd8ee058dd9657b12a9cf03ae104e1a5d5e0c75dfdeb1fb0a7b252e7466f0bcea03ffe8d92c081b75712a67368d3",
    "7fb666a0f6f61c87de24403916090794d0c90f1adc75a614bc5076fc87f3b1919811cd6ec8699c2e5ffd8d56fdaf4d56",
    "8365bee67dafda29954ab3e2fa2b82c32bcd86d21a390457ce4e1ff7f0531d0535c250ba53fee617b25b9fa6e48e1f76",
    "8a4214d356b8285688480e638100aecc10f1477666546a018cd921564c8020f4e7d4d7cecd617b9a4792a5306bb5f223",
    "62da157544ea639747ae953d3af2c8771c8e8b90e337b1e70e2032907d8dc2c3fa06058de06441f0ec94439f9ff35fa1",
    "0dde87fca3c352acca25aad3f06182fc",
];
const COMBINED: &[&str] = &[
    "80e190200564b81e08a2f103a7d8cefbac62d4795a5562c41b965507f5fd830fd4438d7f9a08a2b52ed456e5e5751b44",
    "21eabc694f25d963d7227580f6e05eab6e349c5cad8f1d4ee3e84f7c6cbe50e1310838fe730986de51d2cac2dd40cf01",
    "9595dd6fdd243b8e560a7f7fd06909bf0c2d2af260d9b123461f09e2093f854a1e0b481f20ffbda27bf556fd19009f3a",
    "bb1b0d06a6240c823e6c049b30fc18511161c21d8159b6a84a3778cd01730838eca75ef81bb60df1dbdfc7e7e9d1f7b3",
    "bc143af2f3d0580bd24f84489b80d6ddc343687b8356a945d8cbe8a4e4985c3738b349bc61eb5dd2061a7f970f766d44",
    "47a91c350a8803f18c88b64bb95a53f4",
];
const COMBINED_PLAIN: &[&str] = &[
    "890fc58115a7941ee141a26801fcc820c494b8d6c4623e88cb6dc64a0725fd42a9092531f1b506e90e68ab42f8310169",
    "a25a4d6b0c2e3451e60c53e9d76735f81801085bf693303d64aea0ee15a22cf20d376c827ef04980cac1c2d269e243bb",
    "cd92a594e6e3874e302ac1cad0db4dfb9bf3049e9ac7b0e52750aedf5c47c30c",
];

fn number(hex: &[&str]) -> BoxedUint {
    let hex = hex.concat();
    let bytes: Vec<u8> =
        (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect();
    BoxedUint::from_be_slice_truncated(&bytes, 8 * bytes.len() as u32)
}

fn key() -> SecretKey {
    SecretKey::from_primes(&number(P), &number(Q)).unwrap()
}

/// The randomisers that these units give.
fn of_unit(key: &PublicKey, unit: &[&str]) -> Randomisers {
    let unit = key.n.batch(&key.n.residue(&number(unit)));
    Randomisers(key.n_squared.pow(&key.lift(&unit), &key.exponent))
}

fn message(key: &PublicKey, hex: &[&str]) -> Residues {
    key.n.batch(&key.n.residue(&number(hex)))
}

fn equal(a: &Residues, b: &Residues) -> bool {
    use subtle::ConstantTimeEq;
    a.ct_eq(b).into()
}

/// Computed by Python's integers.
#[test]
fn encryption_and_homomorphic_operations_equal_known_ones() {
    let secret = key();
    let public = secret.public();
    let first = public.encrypt(&message(public, FIRST), of_unit(public, FIRST_UNIT));
    assert_eq!(first.0.get(0).to_uint(), number(FIRST_ENCRYPTED));
    let second = public.encrypt(&message(public, SECOND), of_unit(public, SECOND_UNIT));
    let factor = Exponent::new(&number(FACTOR), 128);
    let combined = public.add(&public.multiply(&first, &[factor]), &second);
    assert_eq!(combined.0.get(0).to_uint(), number(COMBINED));
    let plain = secret.decrypt(&combined).unwrap();
    assert_eq!(plain.get(0).to_uint(), number(COMBINED_PLAIN));
    assert!(equal(&secret.decrypt(&first).unwrap(), &message(public, FIRST)));
    let mut encoded = Vec::new();
    public.encode(&first, &mut encoded);
    assert_eq!(encoded.len(), public.ciphertext_bytes());
    assert!(equal(&public.decode(&encoded).unwrap().0, &first.0));
}

#[test]
fn messages_come_back_whoever_drew_the_randomness() {
    let (secret, rng) = (key(), &mut Prg::from_seed([1; 16]));
    let public = secret.public();
    let n = public.messages();
    let mut messages = n.random_unit(9, rng);
    // 0, 1, N - 1.
    messages.push(&n.residue(&BoxedUint::zero()));
    messages.push(&n.residue(&BoxedUint::one()));
    messages.push(&n.residue(&n.value().wrapping_sub(BoxedUint::one())));
    for randomisers in [public.randomisers(12, rng), secret.randomisers(12, rng)] {
        let encrypted = public.encrypt(&messages, randomisers);
        assert!(equal(&secret.decrypt(&encrypted).unwrap(), &messages));
        let again = public.rerandomise(&encrypted, public.randomisers(12, rng));
        assert!((0..12).all(|i| again.0.get(i).to_uint() != encrypted.0.get(i).to_uint()));
        assert!(equal(&secret.decrypt(&again).unwrap(), &messages));
        let sums = secret.decrypt(&public.add_messages(&again, &messages)).unwrap();
        assert!(equal(&sums, &n.add(&messages, &messages)));
    }
}

/// The randomisers of the key's holder are N-th powers too: their orders divide those of units modulo N.
#[test]
fn randomisers_of_the_holder_are_powers() {
    let (secret, rng) = (key(), &mut Prg::from_seed([2; 16]));
    let public = secret.public();
    let randomisers = secret.randomisers(5, rng);
    let one = BoxedUint::one();
    for half in &secret.halves {
        let reduced = lift(&public.n_squared, &half.square, &randomisers.0);
        let powers = half.square.pow(&reduced, &half.order);
        assert!((0..5).all(|i| powers.get(i).to_uint() == one));
    }
    assert!(equal(&secret.decrypt(&Ciphertexts(randomisers.0)).unwrap(), &{
        let mut zeros = public.n.none(5);
        (0..5).for_each(|_| zeros.push(&public.n.residue(&BoxedUint::zero())));
        zeros
    }));
}

#[test]
fn randomisers_are_split_and_used_up() {
    let (secret, rng) = (key(), &mut Prg::from_seed([3; 16]));
    let (first, others) = secret.randomisers(5, rng).split_at(2);
    assert_eq!((first.0.len(), others.0.len()), (2, 3));
}

#[test]
fn every_back_end_gives_the_same_ciphertexts() {
    let secret = key();
    let mut encoded: Option<Vec<u8>> = None;
    for backend in vesica_kernels::Backend::available() {
        let rng = &mut Prg::from_seed([4; 16]);
        let public = PublicKey::new(secret.public().n.clone().with_backend(backend)).unwrap();
        let messages = public.n.random_unit(9, rng);
        let mut out = Vec::new();
        public.encode(&public.encrypt(&messages, public.randomisers(9, rng)), &mut out);
        assert!(*encoded.get_or_insert_with(|| out.clone()) == out, "{backend:?}");
    }
}

#[test]
fn what_is_no_ciphertext_or_no_key_is_refused() {
    let (secret, rng) = (key(), &mut Prg::from_seed([5; 16]));
    let public = secret.public();
    let bytes = public.ciphertext_bytes();
    let good = public.encrypt(&public.n.random_unit(3, rng), public.randomisers(3, rng));
    let mut encoded = Vec::new();
    public.encode(&good, &mut encoded);
    // Zero, N² itself, and half a number.
    let mut zero = encoded.clone();
    zero[bytes..2 * bytes].fill(0);
    assert_eq!(public.decode(&zero).err(), Some(InvalidResidue { index: 1 }));
    let mut large = encoded.clone();
    large[2 * bytes..].copy_from_slice(&public.n_squared.to_be_bytes());
    assert_eq!(public.decode(&large).err(), Some(InvalidResidue { index: 2 }));
    assert_eq!(public.decode(&encoded[..bytes + 1]).err(), Some(InvalidResidue { index: 1 }));
    // Multiples of a factor.
    for (factor, index) in [(P, 2), (Q, 0)] {
        let mut bad = public.n_squared.none(3);
        (0..3).for_each(|i| {
            bad.push(&if i == index { public.n_squared.residue(&number(factor)) } else { good.0.get(i) })
        });
        assert_eq!(secret.decrypt(&Ciphertexts(bad)).err(), Some(InvalidCiphertext { index }));
    }
    let modulus = public.n.to_be_bytes();
    assert!(PublicKey::from_be_bytes(&modulus, 1024).is_ok());
    assert!(PublicKey::from_be_bytes(&modulus, 1023).is_err());
    let even: Vec<u8> = modulus[..127].iter().copied().chain([0]).collect();
    assert_eq!(PublicKey::from_be_bytes(&even, 1024).err(), Some(InvalidModulus::Even));
    assert!(PublicKey::from_be_bytes(&[], 1024).is_err());
    assert!(SecretKey::from_primes(&number(P), &number(P)).is_none());
    assert!(SecretKey::from_primes(&number(P), &prime::random_prime(600, rng)).is_none());
}

#[test]
fn fresh_keys_have_the_length_asked_for() {
    let rng = &mut Prg::from_seed([6; 16]);
    let secret = SecretKey::generate(1024, rng);
    assert_eq!((secret.public().n.bits(), secret.public().ciphertext_bytes()), (1024, 256));
    let messages = secret.public().n.random_unit(2, rng);
    let encrypted = secret.public().encrypt(&messages, secret.randomisers(2, rng));
    assert!(equal(&secret.decrypt(&encrypted).unwrap(), &messages));
}
