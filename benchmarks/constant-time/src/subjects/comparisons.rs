//! Comparisons of secrets: the fixed class compares equal values, the random one different ones.

use subtle::ConstantTimeEq;
use vesica_crypto::bigint::modp;
use vesica_crypto::block::Block;
use vesica_crypto::group::modp::{Bits1024Short, Modp};
use vesica_crypto::group::{Group, P256, P384, P521, Ristretto255};

use super::{Subject, blocks, bytes, row};
use crate::measure::{Class, operation};

/// Pairs of one measurement.
const PAIRS: usize = 64;

pub(super) fn list() -> Vec<Subject> {
    let mut list = vec![
        row("kernels/src/block.rs", "comparison of blocks, 64", "equal or not", || {
            operation(
                |class, rng| blocks(class, PAIRS, rng),
                |blocks| blocks.iter().filter(|block| bool::from(block.ct_eq(&Block::ZERO))).count(),
            )
        }),
        row("ot/src/softspoken.rs", "comparison of digests of 32 bytes, 64", "equal or not", || {
            operation(
                |class, rng| [(); PAIRS].map(|()| bytes::<32>(class, rng)),
                |digests| digests.iter().filter(|one| bool::from(one[..].ct_eq(&[0; 32][..]))).count(),
            )
        }),
        row(
            "crypto/src/bigint/residues.rs",
            "comparison of residues of 2048 bits, 64",
            "equal or not",
            || {
                let Some(modulus) = modp::modulus(2048) else { unreachable!("a standard prime") };
                let zeros = modulus.reduce(&[0; PAIRS * 256], 256);
                operation(
                    move |class, rng| modulus.reduce(&bytes::<{ PAIRS * 256 }>(class, rng), 256),
                    move |residues| bool::from(residues.ct_eq(&zeros)),
                )
            },
        ),
    ];
    list.extend(of::<Ristretto255>(
        "crypto/src/group/ristretto.rs",
        ["ristretto255: comparison of scalars, 64", "ristretto255: comparison of elements, 64"],
    ));
    list.extend(of::<P256>(
        "crypto/src/group/nist.rs",
        ["P-256: comparison of scalars, 64", "P-256: comparison of elements, 64"],
    ));
    list.extend(of::<P384>(
        "crypto/src/group/nist.rs",
        ["P-384: comparison of scalars, 64", "P-384: comparison of elements, 64"],
    ));
    list.extend(of::<P521>(
        "crypto/src/group/nist.rs",
        ["P-521: comparison of scalars, 64", "P-521: comparison of elements, 64"],
    ));
    list.extend(of::<Modp<Bits1024Short>>(
        "crypto/src/group/modp.rs",
        ["modulo 1024 bits: comparison of scalars, 64", "modulo 1024 bits: comparison of elements, 64"],
    ));
    list
}

fn of<G: Group>(module: &'static str, names: [&'static str; 2]) -> [Subject; 2] {
    [
        row(module, names[0], "equal or not", || {
            let mut own = vesica_crypto::prg::Prg::from_seed([1; 16]);
            let expected = G::random_scalar(&mut own);
            let kept = expected.clone();
            operation(
                move |class, rng| {
                    let random = [(); PAIRS].map(|()| G::random_scalar(rng));
                    let same = [(); PAIRS].map(|()| kept.clone());
                    if class == Class::Random { random } else { same }
                },
                move |scalars| scalars.iter().filter(|scalar| bool::from(scalar.ct_eq(&expected))).count(),
            )
        }),
        row(module, names[1], "equal or not", || {
            let mut own = vesica_crypto::prg::Prg::from_seed([1; 16]);
            let choice = [(); 16].map(|()| G::random_element(&mut own));
            operation(
                move |class, rng| {
                    let pick = bytes::<PAIRS>(Class::Random, rng);
                    let kept = usize::from(class == Class::Random);
                    // Element 0 is the expected one.
                    pick.map(|byte| choice[kept * (1 + usize::from(byte) % 15)])
                },
                move |elements| {
                    elements.iter().filter(|element| bool::from(element.ct_eq(&choice[0]))).count()
                },
            )
        }),
    ]
}
