//! Points of the twisted Edwards curve -x² + y² = 1 + d x² y², whose subgroup of index 2 represents
//! ristretto255.

use zeroize::Zeroize;

use super::field::Fe;

/// The curve constant d.
pub(super) const D: [u64; 5] = [
    929_955_233_495_203,
    466_365_720_129_213,
    1_662_059_464_998_953,
    2_033_849_074_728_123,
    1_442_794_654_840_575,
];

/// Eight points in extended coordinates: x = X/Z, y = Y/Z, x y = T/Z.
#[derive(Clone, Copy, Zeroize)]
pub(super) struct Point {
    pub(super) x: Fe,
    pub(super) y: Fe,
    pub(super) z: Fe,
    pub(super) t: Fe,
}

impl Point {
    /// The points whose affine coordinates are these fractions, numerator first.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn from_fractions(x: [&Fe; 2], y: [&Fe; 2]) -> Self {
        Self { x: x[0].mul(y[1]), y: y[0].mul(x[1]), z: x[1].mul(y[1]), t: x[0].mul(y[0]) }
    }

    /// The sum, by the complete law for a = -1 (Hisil, Wong, Carter, Dawson 2008, section 3.1).
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn add(&self, other: &Self) -> Self {
        let a = self.y.sub(&self.x).product(&other.y.sub(&other.x));
        let b = self.y.add(&self.x).biased_product(&other.y.add(&other.x));
        let c = self.t.mul(&Fe::splat(D)).product(&other.t);
        let c = c.plus(c).carry();
        let d = self.z.product(&other.z);
        let d = d.plus(d).carry();
        let (e, h) = (b.minus(a).carry(), b.plus(a).carry());
        let (f, g) = (d.sub(&c), d.add(&c));
        Self::from_fractions([&e, &g], [&h, &f])
    }
}
