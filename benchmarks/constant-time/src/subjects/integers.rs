//! Integers modulo large numbers, and what stands on them: RSA, Paillier; and ElGamal.

use vesica_crypto::backend::{Backend, Kernels};
use vesica_crypto::bigint::{BoxedUint, Exponent, FixedBase, Modulus, Residues, RsaKey, modp};
use vesica_crypto::block::Block;
use vesica_crypto::prg::Prg;
use vesica_crypto::{elgamal, paillier};

use super::{Subject, block, row, rows};
use crate::measure::{Class, Operation, operation};

/// The length of the modulus. The code for longer ones is the same, and a measurement of it takes longer.
const BITS: u32 = 1024;
/// Numbers of a measurement, as many as the lanes of a vector.
const COUNT: usize = 8;
/// The length of short exponents, as those of the proofs of `dkt10` and of key exchange.
const SHORT: u32 = 256;
const MODULUS: &str = "crypto/src/bigint/modulus.rs";

pub(super) fn list() -> Vec<Subject> {
    let kernels = Kernels::Montgomery;
    let mut list = Vec::new();
    list.extend(rows(
        kernels,
        MODULUS,
        "8 powers with one exponent of 256 bits",
        "the exponent",
        |backend| {
            let (modulus, bases) = modulus_and_bases(backend);
            operation(|class, rng| exponent(class, SHORT, rng), move |exponent| modulus.pow(&bases, exponent))
        },
    ));
    list.extend(rows(kernels, MODULUS, "8 powers with one exponent of 256 bits", "the bases", |backend| {
        let (modulus, _) = modulus_and_bases(backend);
        let exponent = exponent(Class::Random, SHORT, &mut Prg::from_seed([2; 16]));
        let own = modulus.clone();
        operation(move |class, rng| residues(&own, class, rng), move |bases| modulus.pow(bases, &exponent))
    }));
    list.extend(rows(
        kernels,
        MODULUS,
        "8 powers with an exponent of 256 bits each",
        "the exponents",
        |backend| {
            let (modulus, bases) = modulus_and_bases(backend);
            operation(
                |class, rng| [(); COUNT].map(|()| exponent(class, SHORT, rng)),
                move |exponents| modulus.pow_each(&bases, exponents),
            )
        },
    ));
    list.extend(rows(
        kernels,
        "crypto/src/bigint/fixed_base.rs",
        "8 powers of a fixed base, exponents of 256 bits",
        "the exponents",
        |backend| {
            let (modulus, bases) = modulus_and_bases(backend);
            let base = FixedBase::new(&modulus, &bases.get(0), SHORT);
            operation(
                |class, rng| [(); COUNT].map(|()| exponent(class, SHORT, rng)),
                move |exponents| base.pow_each(exponents),
            )
        },
    ));
    list.extend(rows(kernels, MODULUS, "8 products", "the factors", |backend| {
        let (modulus, others) = modulus_and_bases(backend);
        let own = modulus.clone();
        operation(move |class, rng| residues(&own, class, rng), move |factors| modulus.mul(factors, &others))
    }));
    list.extend(rows(kernels, MODULUS, "8 integers of 2048 bits reduced", "the integers", |backend| {
        let (modulus, _) = modulus_and_bases(backend);
        operation(super::bytes::<{ COUNT * 256 }>, move |integers| modulus.reduce(integers, 256))
    }));
    list.push(row(MODULUS, "8 residues added, subtracted, encoded up to sign", "the residues", || {
        let (modulus, others) = modulus_and_bases(Backend::detect());
        let own = modulus.clone();
        operation(
            move |class, rng| residues(&own, class, rng),
            move |values| {
                let mut encoded = Vec::new();
                modulus.encode_up_to_sign(&modulus.sub(&modulus.add(values, &others), values), &mut encoded);
                modulus.encode_up_to_sign(values, &mut encoded);
                encoded
            },
        )
    }));
    list.push(row(MODULUS, "8 inverses, by one inversion", "the residues", || {
        let (modulus, _) = modulus_and_bases(Backend::detect());
        let own = modulus.clone();
        operation(move |class, rng| residues(&own, class, rng), move |values| modulus.invert(values))
    }));
    list.push(row("crypto/src/bigint/rsa.rs", "8 RSA signatures modulo 1024 bits", "the messages", rsa));
    list.extend(paillier_rows());
    list.extend(elgamal_rows());
    list
}

fn modulus_and_bases(backend: Backend) -> (Modulus, Residues) {
    let Some(modulus) = modp::modulus(BITS) else { unreachable!("a standard prime") };
    let modulus = modulus.with_backend(backend);
    let bases = modulus.random_unit(COUNT, &mut Prg::from_seed([1; 16]));
    (modulus, bases)
}

/// A random exponent, or one.
fn exponent(class: Class, bits: u32, rng: &mut Prg) -> Exponent {
    let (random, one) = (Exponent::random(bits, rng), Exponent::new(&BoxedUint::from(1u8), bits));
    if class == Class::Random { random } else { one }
}

/// Random residues, or ones.
fn residues(modulus: &Modulus, class: Class, rng: &mut Prg) -> Residues {
    let random = modulus.random_unit(COUNT, rng);
    let mut ones = modulus.none(COUNT);
    (0..COUNT).for_each(|_| ones.push(&modulus.residue(&BoxedUint::from(1u8))));
    if class == Class::Random { random } else { ones }
}

fn rsa() -> Box<dyn Operation> {
    let key = RsaKey::generate(BITS, 65_537, &mut Prg::from_seed([1; 16]));
    let modulus = key.public().modulus().clone();
    operation(move |class, rng| residues(&modulus, class, rng), move |messages| key.sign(messages).is_ok())
}

fn paillier_rows() -> [Subject; 3] {
    const MODULE: &str = "crypto/src/paillier.rs";
    let key = || paillier::SecretKey::generate(1024, &mut Prg::from_seed([1; 16]));
    [
        row(MODULE, "8 Paillier plaintexts decrypted, 1024 bits", "the plaintexts", move || {
            let secret = key();
            let own = secret.clone();
            operation(
                move |class, rng| {
                    let messages = residues(own.public().messages(), class, rng);
                    own.public().encrypt(&messages, own.randomisers(COUNT, rng))
                },
                move |ciphertexts| secret.decrypt(ciphertexts).is_ok(),
            )
        }),
        row(MODULE, "8 Paillier plaintexts encrypted, 1024 bits", "the plaintexts", move || {
            let secret = key();
            let own = secret.clone();
            operation(
                move |class, rng| {
                    let randomisers = own.randomisers(COUNT, rng);
                    (residues(own.public().messages(), class, rng), Some(randomisers))
                },
                move |(messages, randomisers)| {
                    randomisers.take().map(|randomisers| secret.public().encrypt(messages, randomisers))
                },
            )
        }),
        row(MODULE, "8 Paillier plaintexts multiplied, factors of 63 bits", "the factors", move || {
            let secret = key();
            let rng = &mut Prg::from_seed([2; 16]);
            let messages = residues(secret.public().messages(), Class::Random, rng);
            let ciphertexts = secret.public().encrypt(&messages, secret.randomisers(COUNT, rng));
            operation(
                |class, rng| [(); COUNT].map(|()| exponent(class, 63, rng)),
                move |factors| secret.public().multiply(&ciphertexts, factors),
            )
        }),
    ]
}

fn elgamal_rows() -> Vec<Subject> {
    const MODULE: &str = "crypto/src/elgamal.rs";
    let kernels = Kernels::Ristretto;
    let messages =
        |class, rng: &mut Prg| elgamal::monic([(); COUNT].map(|()| block(class, rng).to_u128() >> 1));
    let mut list =
        rows(kernels, MODULE, "8 ElGamal plaintexts encrypted", "the plaintexts", move |backend| {
            let secret = elgamal::SecretKey::with_backend(backend, &mut Prg::from_seed([1; 16]));
            let mut out = [[0; 64]; COUNT];
            operation(messages, move |messages| {
                secret.encrypt(messages, &mut Prg::from_seed([2; 16]), &mut out)
            })
        });
    list.extend(rows(kernels, MODULE, "8 ElGamal ciphertexts opened", "the key", |backend| {
        let other = elgamal::SecretKey::generate(&mut Prg::from_seed([1; 16]));
        let messages = elgamal::monic([3; COUNT]);
        let (mut ciphertexts, mut out) = ([[0; 64]; COUNT], [[0; 32]; COUNT]);
        other.encrypt(&messages, &mut Prg::from_seed([2; 16]), &mut ciphertexts);
        operation(
            move |class, rng| {
                elgamal::SecretKey::with_backend(backend, &mut Prg::from_seed(block(class, rng)))
            },
            move |secret| secret.open(&ciphertexts, &mut out).is_ok(),
        )
    }));
    list.extend(rows(
        kernels,
        MODULE,
        "8 ElGamal polynomials evaluated at 63 bits",
        "points and payloads",
        |backend| {
            let secret = elgamal::SecretKey::with_backend(backend, &mut Prg::from_seed([1; 16]));
            let Ok(public) = elgamal::PublicKey::decode_on(backend, &secret.public()) else {
                unreachable!("the key's own encoding")
            };
            let mut ciphertexts = [[0; 64]; COUNT];
            secret.encrypt(&elgamal::monic([5; COUNT]), &mut Prg::from_seed([2; 16]), &mut ciphertexts);
            let Ok(coefficients) = public.decode_coefficients(&ciphertexts) else {
                unreachable!("encrypted above")
            };
            let mut out = [[0; 64]; COUNT];
            let query = |class, rng: &mut Prg| {
                let [point, payload] =
                    [block(class, rng), block(class, rng)].map(|block| block.to_u128() >> 65);
                elgamal::Query { first: 0, point, payload }
            };
            operation(
                move |class, rng| [(); COUNT].map(|()| query(class, rng)),
                move |queries| {
                    public.evaluate(
                        &coefficients,
                        (4, 63),
                        queries,
                        &mut Prg::from_seed(Block::ONES),
                        &mut out,
                    );
                },
            )
        },
    ));
    list
}
