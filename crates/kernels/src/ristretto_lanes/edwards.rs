//! Points of the twisted Edwards curve -x² + y² = 1 + d x² y², whose subgroup of index 2 represents
//! ristretto255.

/// Defines the module over the field of the surrounding level.
macro_rules! edwards {
    ($features:literal) => {
        use zeroize::Zeroize;

        use super::super::WordLimbs;
        use super::field::{Columns, Digits, Fe, Lanes, Table};

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
            #[target_feature(enable = $features)]
            pub(super) fn from_fractions(x: [&Fe; 2], y: [&Fe; 2]) -> Self {
                Self { x: x[0].mul(y[1]), y: y[0].mul(x[1]), z: x[1].mul(y[1]), t: x[0].mul(y[0]) }
            }

            /// The sum, by the complete law for a = -1 (Hisil, Wong, Carter, Dawson 2008, section 3.1).
            #[inline]
            #[target_feature(enable = $features)]
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

        impl Point {
            /// The neutral element.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn identity() -> Self {
                let (zero, one) = (Fe::small(0), Fe::small(1));
                Self { x: zero, y: one, z: one, t: zero }
            }

            /// `-self`.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn negate(&self) -> Self {
                Self { x: self.x.negate(), t: self.t.negate(), ..*self }
            }

            /// `2 · self` (Hisil, Wong, Carter, Dawson 2008, section 3.3).
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn double(&self) -> Self {
                let [e, f, g, h] = self.double_parts();
                Self::from_fractions([&e, &g], [&h, &f])
            }

            /// `2 · self` without T, which another doubling does not need.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn double_without_t(&self) -> Self {
                let [e, f, g, h] = self.double_parts();
                Self { x: e.mul(&f), y: h.mul(&g), z: g.mul(&f), t: self.t }
            }

            /// The paper's E, F, G and H, all four negated, which changes no product of two.
            #[inline]
            #[target_feature(enable = $features)]
            fn double_parts(&self) -> [Fe; 4] {
                let (xx, yy, zz) = (self.x.biased_squared(), self.y.squared(), self.z.squared());
                let (g, h) = (xx.minus(yy).carry(), xx.plus(yy).carry());
                let e = h.columns().biased().minus(self.x.add(&self.y).squared()).carry();
                let f = zz.plus(zz).plus(g.columns()).carry();
                [e, f, g, h]
            }

            /// `self` where the lane is in the set, `other` elsewhere.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn where_in(&self, lanes: Lanes, other: &Self) -> Self {
                Self {
                    x: self.x.where_in(lanes, &other.x),
                    y: self.y.where_in(lanes, &other.y),
                    z: self.z.where_in(lanes, &other.z),
                    t: self.t.where_in(lanes, &other.t),
                }
            }

            /// The neutral element in the lanes that stand for it, and where a ladder left a point that is none (see
            /// `ladder`): those where x or y is zero.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn cleared(&self) -> Self {
                Self::identity().where_in(self.x.mul(&self.y).is_zero(), self)
            }

            /// The sum of all lanes, in every lane.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn across(&self) -> Self {
                let fours = self.add(&self.rotated::<4>());
                let twos = fours.add(&fours.rotated::<2>());
                twos.add(&twos.rotated::<1>())
            }

            #[inline]
            #[target_feature(enable = $features)]
            fn rotated<const BY: i32>(&self) -> Self {
                Self {
                    x: self.x.rotated::<BY>(),
                    y: self.y.rotated::<BY>(),
                    z: self.z.rotated::<BY>(),
                    t: self.t.rotated::<BY>(),
                }
            }

            /// This point as an addend, given the inverse of its Z.
            #[target_feature(enable = $features)]
            pub(super) fn to_affine(self, inverse: &Fe) -> Affine {
                let (x, y, t) = (self.x.mul(inverse), self.y.mul(inverse), self.t.mul(inverse));
                let scaled = t.mul(&Fe::splat(D));
                Affine { difference: y.sub(&x), sum: y.add(&x), scaled: scaled.add(&scaled) }
            }

            /// `self + addend`: [`add`](Self::add) with what depends on the second point alone already computed.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn add_affine(&self, addend: &Affine) -> Self {
                let z = self.z.columns();
                self.add_parts(&addend.difference, &addend.sum, &addend.scaled, z.plus(z))
            }

            /// `self + addend`, for an addend that has a denominator.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn add_projective(&self, addend: &Projective) -> Self {
                let Projective { parts, twice_z } = addend;
                self.add_parts(&parts.difference, &parts.sum, &parts.scaled, self.z.product(twice_z))
            }

            #[inline]
            #[target_feature(enable = $features)]
            fn add_parts(&self, difference: &Fe, sum: &Fe, scaled: &Fe, d: Columns) -> Self {
                let a = self.y.sub(&self.x).product(difference);
                let b = self.y.add(&self.x).biased_product(sum);
                let c = self.t.product(scaled);
                let (e, h) = (b.minus(a).carry(), b.plus(a).carry());
                let (f, g) = (d.biased().minus(c).carry(), d.plus(c).carry());
                Self::from_fractions([&e, &g], [&h, &f])
            }
        }

        /// Eight points to be added, without a denominator: y - x, y + x and 2 d x y.
        #[derive(Clone, Copy, Zeroize)]
        pub(super) struct Affine {
            pub(super) difference: Fe,
            pub(super) sum: Fe,
            pub(super) scaled: Fe,
        }

        /// Multiples 1 to 32 of a point, in the form of [`Affine`].
        pub(super) type Multiples = [Table; 3];

        impl Affine {
            /// The multiple that each lane's digit chooses.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn look_up(multiples: &Multiples, digits: &Digits) -> Self {
                let [difference, sum, scaled] = multiples;
                Self {
                    difference: Fe::look_up(difference, digits, 1),
                    sum: Fe::look_up(sum, digits, 1),
                    scaled: Fe::look_up(scaled, digits, 0),
                }
                .negate_in(digits.negative)
            }

            #[inline]
            #[target_feature(enable = $features)]
            fn negate_in(&self, lanes: Lanes) -> Self {
                Self {
                    difference: self.sum.where_in(lanes, &self.difference),
                    sum: self.difference.where_in(lanes, &self.sum),
                    scaled: self.scaled.negate_in(lanes),
                }
            }

            /// The limbs of a lane's parts.
            #[target_feature(enable = $features)]
            pub(super) fn to_limbs(self) -> [WordLimbs; 3] {
                [self.difference.to_limbs(), self.sum.to_limbs(), self.scaled.to_limbs()]
            }
        }

        /// Eight points to be added, with a denominator: the numerators as in [`Affine`], and 2 Z.
        #[derive(Clone, Copy, Zeroize)]
        pub(super) struct Projective {
            parts: Affine,
            twice_z: Fe,
        }

        impl Projective {
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn new(point: &Point) -> Self {
                let scaled = point.t.mul(&Fe::splat(D));
                let parts = Affine {
                    difference: point.y.sub(&point.x),
                    sum: point.y.add(&point.x),
                    scaled: scaled.add(&scaled),
                };
                Self { parts, twice_z: point.z.add(&point.z) }
            }

            /// The multiples 1 to 8 of a point.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn multiples(point: &Point) -> [Self; 8] {
                let first = Self::new(point);
                let mut multiples = [first; 8];
                let mut multiple = *point;
                for next in &mut multiples[1..] {
                    multiple = multiple.add_projective(&first);
                    *next = Self::new(&multiple);
                }
                multiples
            }

            /// The multiple that each lane's digit, from -8 to 8, chooses among the multiples 1 to 8 of its own point.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn look_up(multiples: &[Self; 8], digits: &Digits) -> Self {
                let one = Fe::small(1);
                let none = Affine { difference: one, sum: one, scaled: Fe::small(0) };
                let mut chosen = Self { parts: none, twice_z: Fe::small(2) };
                for (size, multiple) in (1..).zip(multiples) {
                    let lanes = digits.equal(size);
                    let Affine { difference, sum, scaled } = &multiple.parts;
                    chosen.parts.difference = difference.where_in(lanes, &chosen.parts.difference);
                    chosen.parts.sum = sum.where_in(lanes, &chosen.parts.sum);
                    chosen.parts.scaled = scaled.where_in(lanes, &chosen.parts.scaled);
                    chosen.twice_z = multiple.twice_z.where_in(lanes, &chosen.twice_z);
                }
                Self { parts: chosen.parts.negate_in(digits.negative), ..chosen }
            }
        }
    };
}
