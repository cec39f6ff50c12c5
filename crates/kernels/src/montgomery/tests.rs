use crypto_bigint::{BoxedUint, ConcatenatingMul, NonZero};

use super::*;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// The number of each lane.
fn number(kernel: Kernel, numbers: &[Limbs], lane: usize) -> BoxedUint {
    let bits = kernel.radix() * numbers.len() as u32;
    let mut sum = BoxedUint::zero_with_precision(bits + 64);
    for limb in numbers.iter().rev() {
        sum = sum.shl(kernel.radix());
        sum.wrapping_add_assign(BoxedUint::from(limb.0[lane]));
    }
    sum
}

/// A limb of random bits, or one of the extremes.
fn limb(prg: &mut StdRng, mask: u64) -> u64 {
    match prg.next_u32() % 4 {
        0 => 0,
        1 => mask,
        _ => prg.next_u64() & mask,
    }
}

#[test]
fn products_and_squares_are_those_of_plain_numbers() {
    let mut prg = StdRng::seed_from_u64(3);
    for kernel in Backend::available().filter_map(Kernel::of) {
        let mask = (1 << kernel.radix()) - 1;
        for limbs in [10, 20, 30, 40, 60, 110, 320] {
            for _ in 0..2 {
                let mut m: Vec<u64> = (0..limbs).map(|_| limb(&mut prg, mask)).collect();
                m[0] |= 1;
                // The two highest bits are free.
                m[limbs - 1] = m[limbs - 1] >> 2 | 1;
                let modulus = Modulus::new(kernel, &m);
                let mut numbers = || {
                    let mut numbers = modulus.zero();
                    numbers.iter_mut().for_each(|limbs| limbs.0 = [(); LANES].map(|()| limb(&mut prg, mask)));
                    // Below m, and so below 2m.
                    numbers[limbs - 1] = Limbs([m[limbs - 1] - 1; LANES]);
                    numbers
                };
                let (a, b) = (numbers(), numbers());
                let (mut product, mut square) = (modulus.zero(), modulus.zero());
                let mut multiplier = Multiplier::new(&modulus, LANES);
                multiplier.mul(&mut product, &a, &b);
                multiplier.square(&mut square, &a);
                let m = number(kernel, &modulus.limbs, 0);
                let divisor = NonZero::new(m.clone()).unwrap();
                let r = BoxedUint::one_with_precision(kernel.radix() * limbs as u32 + 64);
                let r = r.shl(kernel.radix() * limbs as u32);
                for lane in 0..LANES {
                    let [a, b, product, square] =
                        [&a, &b, &product, &square].map(|numbers| number(kernel, numbers, lane));
                    for (result, b) in [(product, &b), (square, &a)] {
                        assert!(result < m.shl(1), "below 2m");
                        let expected = a.concatenating_mul(b).rem_vartime(&divisor);
                        let found = result.concatenating_mul(&r).rem_vartime(&divisor);
                        assert_eq!(found, expected, "{kernel:?} {limbs} {lane}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_digit_selects_its_entry() {
    let mut prg = StdRng::seed_from_u64(4);
    for kernel in Backend::available().filter_map(Kernel::of) {
        let mut m = [1; 20];
        m[3] = 5;
        let modulus = Modulus::new(kernel, &m);
        let multiplier = Multiplier::new(&modulus, LANES);
        for entries in [2, 8, 16, 32, 64] {
            let table: Vec<Limbs> =
                (0..20 * entries).map(|_| Limbs([(); LANES].map(|()| prg.next_u64()))).collect();
            let shared: Vec<u64> = (0..20 * entries).map(|_| prg.next_u64()).collect();
            for _ in 0..20 {
                let digits = Limbs([(); LANES].map(|()| prg.next_u64() % entries as u64));
                let mut found = modulus.zero();
                multiplier.select(&mut found, &table, &digits);
                for (limb, found) in found.iter().enumerate() {
                    for (lane, &digit) in digits.0.iter().enumerate() {
                        assert_eq!(found.0[lane], table[limb * entries + digit as usize].0[lane]);
                    }
                }
                if entries >= 16 {
                    multiplier.select_shared(&mut found, &shared, &digits);
                    for (limb, found) in found.iter().enumerate() {
                        let expected = digits.0.map(|digit| shared[limb * entries + digit as usize]);
                        assert_eq!(found.0, expected);
                    }
                }
            }
        }
    }
}

/// A kernel writes as many lanes as it is told to.
#[test]
#[cfg(panic = "unwind")]
fn more_numbers_than_lanes_are_refused() {
    for kernel in Backend::available().filter_map(Kernel::of) {
        let modulus = Modulus::new(kernel, &[1; BLOCK]);
        let made = std::panic::catch_unwind(|| drop(Multiplier::new(&modulus, LANES + 1)));
        assert!(made.is_err());
    }
}
