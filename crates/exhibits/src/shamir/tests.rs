//! Sharing and reconstruction against polynomials and Lagrange's formula, step by step.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::*;

fn rng(seed: u64) -> StdRng {
    StdRng::seed_from_u64(seed)
}

fn point(i: usize) -> Gf128 {
    super::point(i as u32)
}

/// X_i(x), by its definition: s_b is the product of x - ω_j over j < 2^b, over its value at β_b.
fn basis_polynomial(i: usize, x: Gf128) -> Gf128 {
    let s = |bit: u32, x: Gf128| (0..1 << bit).fold(Gf128::ONE, |product, j| product * (x - point(j)));
    let bits = (0..usize::BITS).filter(|bit| i >> bit & 1 == 1);
    bits.fold(Gf128::ONE, |product, bit| product * s(bit, x) * s(bit, point(1 << bit)).invert())
}

/// The polynomial through these points of indices, at `x`: Lagrange.
fn interpolated(taken: &[usize], shares: &[Block], x: Gf128) -> Gf128 {
    let mut sum = Gf128::ZERO;
    for &i in taken {
        let others = taken.iter().filter(|j| **j != i);
        let factor = |j: &usize| (x - point(*j)) * (point(i) - point(*j)).invert();
        sum += others.fold(Gf128::from(shares[i]), |product, j| product * factor(j));
    }
    sum
}

fn bits(taken: &[usize], count: usize) -> Vec<u8> {
    let mut bits = vec![0; count.div_ceil(8)];
    taken.iter().for_each(|i| bits[i / 8] |= 1 << (i % 8));
    bits
}

/// `count` of `all` indices.
fn some(all: usize, count: usize, rng: &mut StdRng) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..all).collect();
    indices.shuffle(rng);
    indices.truncate(count);
    indices
}

#[test]
fn the_fft_gives_the_values_of_the_definition() {
    let mut rng = rng(1);
    for log_size in [0, 1, 2, 3, 4, 6] {
        let size = 1 << log_size;
        let coefficients: Vec<Block> = (0..size).map(|_| Block::random(&mut rng)).collect();
        let mut values = coefficients.clone();
        evaluate(&mut values);
        for (j, value) in values.iter().enumerate() {
            let terms =
                coefficients.iter().enumerate().map(|(i, c)| Gf128::from(*c) * basis_polynomial(i, point(j)));
            assert_eq!(
                Gf128::from(*value),
                terms.fold(Gf128::ZERO, |sum, term| sum + term),
                "2^{log_size}, {j}"
            );
        }
    }
}

#[test]
fn the_basis_is_cantors_and_spans_the_subfields() {
    assert_eq!(basis(0), Gf128::ONE);
    for b in 1..32 {
        assert_eq!(basis(b).square() + basis(b), basis(b - 1));
    }
    let frobenius = |x: Gf128, times: u32| (0..times).fold(x, |x, _| x.square());
    for field in [1, 2, 4, 8, 16, 32] {
        for b in 0..32 {
            assert_eq!(frobenius(basis(b), field) == basis(b), b < field, "β_{b} in GF(2^{field})");
        }
    }
}

#[test]
fn any_subset_gives_the_secret_as_lagrange_does() {
    let mut rng = rng(3);
    for (shares, threshold) in [(1, 1), (2, 1), (2, 2), (7, 3), (8, 8), (33, 16), (100, 50), (256, 128)] {
        let sharing = Sharing::new(shares, threshold);
        let (secret, values) = sharing.share(&mut rng);
        assert_eq!(values.len(), shares);
        let at = point(shares.next_power_of_two());
        for count in [threshold, (threshold + shares) / 2, shares] {
            let taken = some(shares, count, &mut rng);
            assert_eq!(interpolated(&taken, &values, at), secret, "{threshold} of {shares}, {count}");
            // What is not there does not count.
            let mut received = vec![Block::ONES; shares];
            taken.iter().for_each(|i| received[*i] = values[*i]);
            assert_eq!(sharing.reconstruct(&bits(&taken, shares), &received), Some(secret));
        }
        let too_few = some(shares, threshold - 1, &mut rng);
        assert_eq!(sharing.reconstruct(&bits(&too_few, shares), &values), None);
    }
}

/// Fewer shares than the threshold fit every secret: there is a polynomial for each.
#[test]
fn fewer_shares_say_nothing() {
    let mut rng = rng(4);
    let sharing = Sharing::new(12, 6);
    let (secret, values) = sharing.share(&mut rng);
    let taken = some(12, 5, &mut rng);
    // 5 shares and any value at the secret's point lie on a polynomial of degree below 6; its shares of the
    // other indices differ.
    let other = some(12, 12, &mut rng).into_iter().find(|i| !taken.contains(i)).unwrap();
    for lie in [1u128, 7, 1 << 100] {
        let mut shares = values.to_vec();
        shares[other] ^= Block::from(lie);
        let with_lie = [&taken[..], &[other]].concat();
        let told = sharing.reconstruct(&bits(&with_lie, 12), &shares).unwrap();
        assert_ne!(told, secret);
    }
}

#[test]
fn a_wrong_share_is_never_without_effect() {
    let mut rng = rng(5);
    let sharing = Sharing::new(300, 100);
    let (secret, values) = sharing.share(&mut rng);
    for _ in 0..20 {
        let count = rng.random_range(100..=300);
        let taken = some(300, count, &mut rng);
        let mut wrong = values.to_vec();
        wrong[taken[0]] ^= Block::from(1u128);
        let told = sharing.reconstruct(&bits(&taken, 300), &wrong).unwrap();
        assert_ne!(told, secret);
        // As Lagrange has it.
        assert_eq!(told, interpolated(&taken, &wrong, point(512)));
    }
}

#[test]
fn large_sharings_come_back() {
    for (shares, threshold) in [(40_000, 20_000), (65_536, 32_768), (7001, 1)] {
        let sharing = Sharing::new(shares, threshold);
        let (secret, values) = sharing.share(&mut rng(6));
        let bits = bits(&some(shares, threshold, &mut rng(7)), shares);
        assert_eq!(sharing.reconstruct(&bits, &values), Some(secret));
        let (all, mut wrong) = (vec![0xff; shares.div_ceil(8)], values.to_vec());
        assert_eq!(sharing.reconstruct(&all, &values), Some(secret));
        wrong[shares - 1] ^= Block::from(1u128 << 64);
        assert_ne!(sharing.reconstruct(&all, &wrong), Some(secret));
    }
}
