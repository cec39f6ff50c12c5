//! Cantor's basis of GF(2^32) in GF(2^128), and the points that it spans.

use std::sync::LazyLock;

use vesica_crypto::block::Block;
use vesica_crypto::gf128::Gf128;

/// Elements of the basis: those of GF(2^32).
pub(super) const BASIS: usize = 32;

/// β_0, …, β_31.
pub(super) struct Points {
    basis: [Gf128; BASIS],
}

impl Points {
    /// The points; made once.
    pub(super) fn get() -> &'static Self {
        static POINTS: LazyLock<Points> = LazyLock::new(Points::new);
        &POINTS
    }

    /// β_127 is the first power of x with trace 1, and β_b = β_(b+1)² + β_(b+1). With S(x) = x² + x this is
    /// β_b = S^(127-b)(β_127). S^127 is the trace, as all binomial coefficients over 127 are odd, and so β_0 is
    /// 1; S^(2^k)(x) = x^(2^(2^k)) + x vanishes on the first 2^k elements, which therefore span GF(2^(2^k)).
    fn new() -> Self {
        let map = |x: &Gf128| x.square() + *x;
        let mut candidate = Gf128::ONE;
        loop {
            candidate *= Gf128::X;
            let mut chain: Vec<Gf128> =
                std::iter::successors(Some(candidate), |x| Some(map(x))).take(128).collect();
            if chain[127] == Gf128::ONE {
                chain.reverse();
                let mut basis = [Gf128::ZERO; BASIS];
                basis.copy_from_slice(&chain[..BASIS]);
                return Self { basis };
            }
        }
    }

    /// β_b.
    pub(super) fn basis(&self, b: u32) -> Gf128 {
        self.basis[b as usize]
    }

    /// ω_i.
    pub(super) fn point(&self, i: u32) -> Gf128 {
        let taken = (0..u32::BITS).filter(|bit| i >> bit & 1 == 1);
        taken.fold(Gf128::ZERO, |sum, bit| sum + self.basis(bit))
    }

    /// The i with ω_i = `element`, an element of GF(2^32): s_b(ω_i) = ω_(i >> b) tells its highest bit.
    pub(super) fn index(&self, element: Gf128) -> u32 {
        let (mut rest, mut index) = (element, 0);
        for bit in (0..BASIS as u32).rev() {
            let high = (0..bit).fold(rest, |x, _| x.square() + x);
            if high != Gf128::ZERO {
                index |= 1 << bit;
                rest += self.basis(bit);
            }
        }
        index
    }

    /// ω_0, ω_step, ω_(2·step), …: so many, for powers of two.
    pub(super) fn multiples(&self, log_step: u32, log_count: u32) -> Vec<Block> {
        let mut multiples = vec![Block::ZERO];
        for bit in 0..log_count {
            let basis = Block::from(self.basis(log_step + bit));
            let upper: Vec<Block> = multiples.iter().map(|point| *point ^ basis).collect();
            multiples.extend(upper);
        }
        multiples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_basis_is_cantors_and_spans_the_subfields() {
        let points = Points::get();
        assert_eq!(points.basis(0), Gf128::ONE);
        for b in 1..BASIS as u32 {
            assert_eq!(points.basis(b).square() + points.basis(b), points.basis(b - 1));
        }
        let frobenius = |x: Gf128, times: u32| (0..times).fold(x, |x, _| x.square());
        for field in [1, 2, 4, 8, 16, 32] {
            for b in 0..BASIS as u32 {
                let b_of = points.basis(b);
                assert_eq!(frobenius(b_of, field) == b_of, b < field, "β_{b} in GF(2^{field})");
            }
        }
    }

    #[test]
    fn indices_are_those_of_their_points() {
        let points = Points::get();
        for i in [0, 1, 2, 3, 77, 0xffff, 0x1_0000, 0xdead_beef, u32::MAX] {
            assert_eq!(points.index(points.point(i)), i);
        }
        let multiples = points.multiples(3, 5);
        assert!((0..32).all(|i| multiples[i as usize] == points.point(i << 3).to_block()));
    }
}
