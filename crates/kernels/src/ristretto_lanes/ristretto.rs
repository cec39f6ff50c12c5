//! Maps between bytes and points: RFC 9496, section 4.3, eight elements at a time.

/// Defines the module over the field of the surrounding level.
macro_rules! ristretto {
    ($features:literal) => {
        use core::array;

        use super::edwards::{D, Point};
        use super::field::{Fe, LANES, Lanes};
        use super::power::{SQRT_M1, invert_all, sqrt_ratio_m1};

        /// 1 - d².
        const ONE_MINUS_D_SQ: [u64; 5] = [
            1_136_626_929_484_150,
            1_998_550_399_581_263,
            496_427_632_559_748,
            118_527_312_129_759,
            45_110_755_273_534,
        ];
        /// (d - 1)².
        const D_MINUS_ONE_SQ: [u64; 5] = [
            1_507_062_230_895_904,
            1_572_317_787_530_805,
            683_053_064_812_840,
            317_374_165_784_489,
            1_572_899_562_415_810,
        ];
        /// √(a d - 1) with a = -1.
        const SQRT_AD_MINUS_ONE: [u64; 5] = [
            2_241_493_124_984_347,
            425_987_919_032_274,
            2_207_028_919_301_688,
            1_220_490_630_685_848,
            974_799_131_293_748,
        ];
        /// 1 / √(a - d) with a = -1.
        const INVSQRT_A_MINUS_D: [u64; 5] = [
            278_908_739_862_762,
            821_645_201_101_625,
            8_113_234_426_968,
            1_777_959_178_193_151,
            2_118_520_810_568_447,
        ];

        /// The elements that uniform bytes map to.
        #[target_feature(enable = $features)]
        pub(super) fn map(uniform: [&[u8; 64]; LANES]) -> Point {
            let half = |i: usize| Fe::from_bytes(uniform.map(|uniform| &uniform.as_chunks().0[i]));
            let [first, second] = elligator([half(0), half(1)]);
            first.add(&second)
        }

        /// MAP of the RFC.
        #[inline]
        #[target_feature(enable = $features)]
        fn elligator(t: [Fe; 2]) -> [Point; 2] {
            let one = Fe::small(1);
            let d = Fe::splat(D);
            let r = t.each_ref().map(|t| t.square().mul(&Fe::splat(SQRT_M1)));
            let u = r.each_ref().map(|r| r.add(&one).mul(&Fe::splat(ONE_MINUS_D_SQ)));
            let v = r.each_ref().map(|r| one.negate().sub(&r.mul(&d)).mul(&r.add(&d)));
            let roots = sqrt_ratio_m1(&u, &v);
            array::from_fn(|n| {
                let (was_square, root) = roots[n];
                let s = root.where_in(was_square, &root.mul(&t[n]).abs().negate());
                let c = one.negate().where_in(was_square, &r[n]);
                let n_t = c.mul(&r[n].sub(&one)).mul(&Fe::splat(D_MINUS_ONE_SQ)).sub(&v[n]);
                let ss = s.square();
                let (w0, w1) = (s.add(&s).mul(&v[n]), n_t.mul(&Fe::splat(SQRT_AD_MINUS_ONE)));
                Point::from_fractions([&w0, &w1], [&one.sub(&ss), &one.add(&ss)])
            })
        }

        /// The elements that have these encodings, and the lanes whose encoding is canonical and not that of the
        /// identity. The other lanes hold nothing of use.
        #[target_feature(enable = $features)]
        pub(super) fn decode<const N: usize>(encoded: [[&[u8; 32]; LANES]; N]) -> [(Lanes, Point); N] {
            let one = Fe::small(1);
            let s = encoded.map(|encoded| Fe::from_bytes(encoded));
            let u1 = s.each_ref().map(|s| one.sub(&s.square()));
            let u2 = s.each_ref().map(|s| one.add(&s.square()));
            let v: [Fe; N] =
                array::from_fn(|n| u1[n].square().mul(&Fe::splat(D)).add(&u2[n].square()).negate());
            let roots = sqrt_ratio_m1(&[one; N], &array::from_fn(|n| v[n].mul(&u2[n].square())));
            array::from_fn(|n| {
                let (was_square, inverse_root) = roots[n];
                let den_x = inverse_root.mul(&u2[n]);
                let den_y = inverse_root.mul(&den_x).mul(&v[n]);
                let x = s[n].add(&s[n]).mul(&den_x).abs();
                let y = u1[n].mul(&den_y);
                let t = x.mul(&y);
                // y = 0 implies t = 0, and t = 0 otherwise means x = 0, hence s = 0, the identity.
                let valid = canonical(encoded[n], &s[n]) & was_square & !t.is_negative() & !t.is_zero();
                (valid, Point { x, y, z: one, t })
            })
        }

        /// The lanes whose bytes are the shortest form of a non-negative element.
        #[inline]
        #[target_feature(enable = $features)]
        fn canonical(encoded: [&[u8; 32]; LANES], s: &Fe) -> Lanes {
            let again = s.to_bytes();
            let equal =
                (0..LANES).fold(0, |lanes, lane| lanes | Lanes::from(again[lane] == *encoded[lane]) << lane);
            equal & !s.is_negative()
        }

        /// The encodings: ENCODE of the RFC. A point that has x or y zero stands for the identity, and encodes to zero.
        #[target_feature(enable = $features)]
        pub(super) fn encode<const N: usize>(points: &[Point; N]) -> [[[u8; 32]; LANES]; N] {
            let i = Fe::splat(SQRT_M1);
            let u1 = points.each_ref().map(|point| point.z.add(&point.y).mul(&point.z.sub(&point.y)));
            let u2 = points.each_ref().map(|point| point.x.mul(&point.y));
            let v: [Fe; N] = array::from_fn(|n| u1[n].mul(&u2[n].square()));
            let roots = sqrt_ratio_m1(&[Fe::small(1); N], &v);
            array::from_fn(|n| {
                let (point, (_, inverse_root)) = (&points[n], roots[n]);
                let (den1, den2) = (inverse_root.mul(&u1[n]), inverse_root.mul(&u2[n]));
                let z_inv = den1.mul(&den2).mul(&point.t);
                let rotate = point.t.mul(&z_inv).is_negative();
                let x = point.y.mul(&i).where_in(rotate, &point.x);
                let y = point.x.mul(&i).where_in(rotate, &point.y);
                let den = den1.mul(&Fe::splat(INVSQRT_A_MINUS_D)).where_in(rotate, &den2);
                let y = y.negate_in(x.mul(&z_inv).is_negative());
                den.mul(&point.z.sub(&y)).abs().to_bytes()
            })
        }

        /// The encodings of 2P for each P, which unlike those of P need no square root, only inverses.
        ///
        /// With E = 2XY, F = Z² + dT², G = Y² + X² and H = Z² - dT², the double is (E/F, G/H), T/Z of it is EG / FH,
        /// and the square root in ENCODE of the RFC is a product of these and their inverses.
        /// (`double_and_compress_batch` of curve25519-dalek.) A lane where E or G is zero stands for the identity and
        /// encodes to zero.
        #[target_feature(enable = $features)]
        pub(super) fn encode_doubled(points: &[Point]) -> Vec<[[u8; 32]; LANES]> {
            let doubled: Vec<Doubled> = points.iter().map(|point| Doubled::new(point)).collect();
            let mut inverses: Vec<Fe> = doubled.iter().map(|doubled| doubled.eg.mul(&doubled.fh)).collect();
            invert_all(&mut inverses);
            doubled.iter().zip(&inverses).map(|(doubled, inverse)| doubled.encode(inverse)).collect()
        }

        /// Twice a point, as in [`encode_doubled`].
        #[derive(Clone, Copy)]
        struct Doubled {
            e: Fe,
            f: Fe,
            g: Fe,
            h: Fe,
            eg: Fe,
            fh: Fe,
        }

        impl Doubled {
            #[inline]
            #[target_feature(enable = $features)]
            fn new(point: &Point) -> Self {
                let zz = point.z.biased_squared();
                let dtt = point.t.square().product(&Fe::splat(D));
                let xy = point.x.product(&point.y);
                let (e, f) = (xy.plus(xy).carry(), zz.plus(dtt).carry());
                let (g, h) = (point.y.squared().plus(point.x.squared()).carry(), zz.minus(dtt).carry());
                Self { e, f, g, h, eg: e.mul(&g), fh: f.mul(&h) }
            }

            /// The encoding, with the inverse of EFGH, or zero for zero.
            #[inline(never)]
            #[target_feature(enable = $features)]
            fn encode(&self, inverse: &Fe) -> [[u8; 32]; LANES] {
                let z_inv = self.eg.mul(inverse);
                let t_inv = self.fh.mul(inverse);
                // The RFC rotates by a point of order 4 where T/Z is negative, and negates Y where X/Z is.
                let rotate = self.eg.mul(&z_inv).is_negative();
                let e = self.g.where_in(rotate, &self.e);
                let g = self.e.negate().where_in(rotate, &self.g);
                let h = self.f.mul(&Fe::splat(SQRT_M1)).where_in(rotate, &self.h);
                let magic = Fe::splat(SQRT_M1).where_in(rotate, &Fe::splat(INVSQRT_A_MINUS_D));
                let g = g.negate_in(h.mul(&e).mul(&z_inv).is_negative());
                h.sub(&g).mul(&magic).mul(&g.mul(&t_inv)).abs().to_bytes()
            }
        }
    };
}
