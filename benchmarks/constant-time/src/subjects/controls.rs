//! Operations that leak on purpose, and one whose classes are the same: they say what the machine lets a run see.

use vesica_crypto::bigint::modp;
use vesica_crypto::block::Block;
use vesica_crypto::gf128::multiply;

use super::{Purpose, Subject, blocks, bytes, known, row};
use crate::measure::{Class, Operation, operation};

/// Rounds of the loop of the last control.
const ROUNDS: u32 = 1000;

pub(super) fn list() -> Vec<Subject> {
    let control = |purpose, name, secret, make: fn() -> Box<dyn Operation>| Subject {
        purpose,
        ..row("", name, secret, make)
    };
    vec![
        control(Purpose::Leaks, "`==` on byte strings, which ends at the first difference", "1 KiB", || {
            let expected = vec![0; 1024];
            operation(bytes::<1024>, move |secret| secret[..] == expected[..])
        }),
        control(Purpose::Leaks, "shift and add in GF(2^128), with a branch for each bit", "a factor", || {
            let other = known(1)[0];
            operation(|class, rng| blocks(class, 1, rng)[0], move |secret| shift_and_add(*secret, other))
        }),
        control(
            Purpose::Leaks,
            "`vartime_pow_public` modulo 1024 bits, by squares and products",
            "the exponent",
            || {
                let Some(modulus) = modp::modulus(1024) else { unreachable!("a standard prime") };
                let base = modulus.random_unit(1, &mut vesica_crypto::prg::Prg::from_seed([1; 16]));
                operation(
                    |class, rng| {
                        // The same length in both classes.
                        let mut exponent = bytes::<8>(class, rng);
                        exponent[0] |= 0x80;
                        exponent
                    },
                    move |exponent| modulus.vartime_pow_public(&base, exponent),
                )
            },
        ),
        control(
            Purpose::Leaks,
            "a loop that is one hundredth longer for random secrets",
            "the class",
            || {
                operation(
                    |class, _| if class == Class::Random { ROUNDS + ROUNDS / 100 } else { ROUNDS },
                    |rounds| (0..*rounds).fold(1u64, |x, i| x.wrapping_mul(x | 5) ^ u64::from(i)),
                )
            },
        ),
        control(Purpose::Same, "products in GF(2^128), of random factors in both classes", "nothing", || {
            let other = known(512);
            operation(|_, rng| blocks(Class::Random, 512, rng), move |factors| multiply(factors, &other))
        }),
    ]
}

/// x·y, one bit of x after another.
fn shift_and_add(x: Block, y: Block) -> Block {
    let (mut y, mut sum) = (y.to_u128(), 0);
    for bit in 0..128 {
        if core::hint::black_box(x.bit(bit)) {
            sum = core::hint::black_box(sum ^ y);
        }
        y = y << 1 ^ if y >> 127 == 1 { 0x87 } else { 0 };
    }
    Block::from(sum)
}
