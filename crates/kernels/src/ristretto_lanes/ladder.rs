//! Multiplication by a secret scalar: Montgomery's ladder on u-coordinates, then the second coordinate
//! recovered.
//!
//! The twisted Edwards curve is birational to the Montgomery curve B w² = u³ + A u² + u with A = 486662, B =
//! -(A + 2):
//!
//! - u = (1 + y) / (1 - y) and w = u / x;
//! - x = u / w and y = (u - 1) / (u + 1).
//!
//! The ladder keeps kP and (k + 1) P for the leading bits k of the scalar, as fractions X/Z. Each bit doubles
//! one of them and replaces the other by their sum, whose difference P is known. The bit decides which one is
//! doubled, by a masked selection, and nothing else: the sum is symmetric. All lanes may have one scalar, or each its own.
//!
//! # Exceptional points
//!
//! The ladder is right for base points with u and w other than zero and infinity, also where it passes
//! through the point at infinity. Recovery of w fails for kP of order 1 or 2 and for kP = -P. No lane needs a
//! branch for that, because the points represent elements of ristretto255: those of order 1, 2 and 4 all
//! stand for the identity, and no other point of the subgroup has such an order or an order of 8.
//!
//! - If P or kP stands for the identity, then X or Y is zero in the point that `Pair::finish` returns,
//!   whatever the other coordinates are. The encoding of its double has X Y as a factor in the place where a
//!   zero yields the identity. (Order 1 or 2: F or X2 below is zero, and so is X; or w is, and so is Y. Order
//!   4: u = 1, and Y is zero.)
//! - If kP = -P otherwise, then (k + 1) P is at infinity and shows Z = 0; the lane receives -P.

/// Defines the module over the field of the surrounding level.
macro_rules! ladder {
    ($features:literal) => {
        use core::hint::black_box;

        use zeroize::{Zeroize, ZeroizeOnDrop};

        use super::edwards::Point;
        use super::field::{Columns, Fe, LANES, Mask};
        use super::power::invert_all;

        /// Bits of a scalar below the group order.
        const BITS: usize = 253;
        /// (A - 2) / 4.
        const A24: u32 = 121_665;
        /// 2 A.
        const TWICE_A: u32 = 2 * 486_662;
        /// -2 B.
        const MINUS_TWICE_B: u32 = 2 * 486_664;

        /// The scalars of eight lanes, below the group order.
        #[derive(Zeroize, ZeroizeOnDrop)]
        pub(super) struct Scalars {
            /// Word by word, the lowest first.
            words: [[u64; LANES]; 4],
            bits: usize,
        }

        impl Scalars {
            /// One scalar for all lanes, little-endian: of 16 bytes, or of 32.
            pub(super) fn one(scalar: &[u8]) -> Self {
                let mut words = [[0; LANES]; 4];
                for (word, bytes) in words.iter_mut().zip(scalar.as_chunks().0) {
                    *word = [u64::from_le_bytes(*bytes); LANES];
                }
                Self { words, bits: BITS.min(8 * scalar.len()) }
            }

            /// A scalar for each lane, little-endian.
            pub(super) fn each(scalars: [&[u8; 32]; LANES]) -> Self {
                let mut words = [[0; LANES]; 4];
                for (lane, scalar) in scalars.iter().enumerate() {
                    for (word, bytes) in words.iter_mut().zip(scalar.as_chunks().0) {
                        word[lane] = u64::from_le_bytes(*bytes);
                    }
                }
                Self { words, bits: BITS }
            }

            /// All ones in the lanes whose bit is set, all zeros in the others. The compiler does not learn that there
            /// are two cases only.
            #[inline]
            #[target_feature(enable = $features)]
            fn mask(&self, bit: usize) -> Mask {
                black_box(Mask::of_bit(&self.words[bit / 64], (bit % 64) as u32))
            }
        }

        /// Eight base points.
        #[derive(Clone, Copy, Zeroize)]
        pub(super) struct Base {
            u: Fe,
            /// -2 B w.
            scaled_w: Fe,
        }

        /// The base points that the Edwards points correspond to.
        #[target_feature(enable = $features)]
        pub(super) fn bases(points: &[Point]) -> Vec<Base> {
            // With the inverse I of (Z - Y) X: u = (Z + Y) / (Z - Y) = (Z + Y) X I and w = u Z / X = (Z + Y) Z I.
            let mut inverses: Vec<Fe> =
                points.iter().map(|point| point.z.sub(&point.y).mul(&point.x)).collect();
            invert_all(&mut inverses);
            let convert = |(point, inverse): (&Point, &Fe)| {
                let shared = point.z.add(&point.y).mul(inverse);
                let w = shared.mul(&point.z);
                Base {
                    u: shared.mul(&point.x),
                    scaled_w: Fe::small(0).columns().plus_multiple(MINUS_TWICE_B, &w).carry(),
                }
            };
            points.iter().zip(&inverses).map(convert).collect()
        }

        /// `scalar · base` for each of the vectors, up to a point of order 1, 2 or 4. The time depends on the length of
        /// the scalars.
        #[target_feature(enable = $features)]
        pub(super) fn multiply<const N: usize>(scalars: &Scalars, bases: &[Base; N]) -> [Point; N] {
            let mut pairs = bases.each_ref().map(|base| Pair::start(base));
            let mut last = Mask::none();
            for bit in (0..scalars.bits).rev() {
                let mask = scalars.mask(bit);
                step(&mut pairs, mask.xor(last), bases);
                last = mask;
            }
            let products = core::array::from_fn(|n| pairs[n].finish(last, &bases[n]));
            pairs.zeroize();
            products
        }

        /// Doubles the first of each pair, or the second in the lanes of the mask, and makes the second the sum of both.
        /// (Montgomery 1987, section 10.3.1.) The order of the lines keeps apart what waits for each other; several
        /// pairs fill what gaps remain.
        #[inline]
        #[target_feature(enable = $features)]
        fn step<const N: usize>(pairs: &mut [Pair; N], exchange: Mask, bases: &[Base; N]) {
            for (pair, base) in pairs.iter_mut().zip(bases) {
                let a = pair.x2.plus(pair.z2).carry();
                let b = pair.x2.minus(pair.z2).carry();
                let c = pair.x3.plus(pair.z3).carry();
                let d = pair.x3.minus(pair.z3).carry();
                let aa_columns = a.or_masked(&c, exchange).biased_squared();
                let bb_columns = b.or_masked(&d, exchange).squared();
                let da = d.biased_product(&a);
                let aa = aa_columns.carry();
                let cb = c.product(&b);
                let bb = bb_columns.carry();
                let e = aa_columns.minus(bb_columns).carry();
                pair.x2 = aa.biased_product(&bb);
                let difference = da.minus(cb).carry();
                let sum = da.plus(cb).carry();
                let difference = difference.squared();
                let scaled = aa.columns().plus_multiple(A24, &e).carry();
                pair.z3 = difference.carry().product(&base.u);
                pair.z2 = scaled.product(&e);
                pair.x3 = sum.biased_squared();
            }
        }

        /// kP and (k + 1) P in eight lanes. The one that was doubled last comes first, as X2/Z2; the sum is X3/Z3.
        #[derive(Clone, Copy, Zeroize)]
        struct Pair {
            /// With the bias.
            x2: Columns,
            z2: Columns,
            /// With the bias.
            x3: Columns,
            z3: Columns,
        }

        impl Pair {
            /// k = 0: the point at infinity and the base point.
            #[inline]
            #[target_feature(enable = $features)]
            fn start(base: &Base) -> Self {
                let (zero, one) = (Fe::small(0).columns(), Fe::small(1).columns());
                Self { x2: one.biased(), z2: zero, x3: base.u.columns().biased(), z3: one }
            }

            /// kP on the Edwards curve. (Okeya, Sakurai 2001: B w of kP from the u-coordinates of kP, (k + 1) P and
            /// from P.)
            #[inline(never)]
            #[target_feature(enable = $features)]
            fn finish(&self, exchange: Mask, base: &Base) -> Point {
                let (first, second) =
                    ((self.x2.carry(), self.z2.carry()), (self.x3.carry(), self.z3.carry()));
                let (x2, z2) =
                    (first.0.or_masked(&second.0, exchange), first.1.or_masked(&second.1, exchange));
                let (x3, z3) =
                    (second.0.or_masked(&first.0, exchange), second.1.or_masked(&first.1, exchange));
                // With (u, w) = P and kP = (u2, w2):
                //   2 B w w2 = (u u2 + 1) (u + u2 + 2A) - 2A - (u - u2)² u3
                //   F = -2 B w Z2 Z3
                //   V = (u Z2 - X2)² X3 - Z3 ((u X2 + Z2) (u Z2 + X2 + 2A Z2) - 2A Z2 Z2) = F Z2 w2
                let uz2 = base.u.mul(&z2);
                let left = base.u.product(&x2).plus(z2.columns()).carry();
                let right = uz2.columns().plus(x2.columns()).plus_multiple(TWICE_A, &z2).carry();
                let last = Fe::small(0).columns().plus_multiple(TWICE_A, &z2).carry();
                let bracket = left.biased_product(&right).minus(last.product(&z2)).carry();
                let square = uz2.sub(&x2).square();
                let v = square.biased_product(&x3).minus(bracket.product(&z3)).carry();
                let scaled_wz2 = base.scaled_w.mul(&z2);
                let f = scaled_wz2.mul(&z3);
                // Z3 = 0: -P = (u, -w), that is F = -2B, V = 2 B w Z2.
                let opposite = z3.is_zero();
                let f = Fe::small(MINUS_TWICE_B).where_in(opposite, &f);
                let v = scaled_wz2.negate().where_in(opposite, &v);
                // x = u2 / w2 = F X2 / V and y = (X2 - Z2) / (X2 + Z2).
                Point::from_fractions([&f.mul(&x2), &v], [&x2.sub(&z2), &x2.add(&z2)])
            }
        }
    };
}
