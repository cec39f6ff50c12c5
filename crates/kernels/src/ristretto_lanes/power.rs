//! Inverses and square roots: fixed powers, computed on several vectors at once because one chain of
//! squarings leaves the multipliers idle most of the time.

/// Defines the module over the field of the surrounding level.
macro_rules! power {
    ($features:literal) => {
        use super::field::{Fe, Lanes};

        /// A square root of -1, as in RFC 9496.
        pub(super) const SQRT_M1: [u64; 5] = [
            1_718_705_420_411_056,
            234_908_883_556_509,
            2_233_514_472_574_048,
            2_117_202_627_021_982,
            765_476_049_583_133,
        ];

        /// Every element multiplied by its partner.
        #[inline]
        #[target_feature(enable = $features)]
        fn mul<const N: usize>(a: &[Fe; N], b: &[Fe; N]) -> [Fe; N] {
            core::array::from_fn(|n| a[n].mul(&b[n]))
        }

        /// x^(2^count).
        #[inline(never)]
        #[target_feature(enable = $features)]
        fn square_times<const N: usize>(x: &[Fe; N], count: usize) -> [Fe; N] {
            let mut x = *x;
            for _ in 0..count {
                for x in &mut x {
                    *x = x.square();
                }
            }
            x
        }

        /// x^11 and x^(2^250 - 1).
        #[inline]
        #[target_feature(enable = $features)]
        fn common_powers<const N: usize>(x: &[Fe; N]) -> ([Fe; N], [Fe; N]) {
            let x2 = square_times(x, 1);
            let x9 = mul(&square_times(&x2, 2), x);
            let x11 = mul(&x9, &x2);
            // The names give n in x^(2^n - 1).
            let n5 = mul(&square_times(&x11, 1), &x9);
            let n10 = mul(&square_times(&n5, 5), &n5);
            let n20 = mul(&square_times(&n10, 10), &n10);
            let n40 = mul(&square_times(&n20, 20), &n20);
            let n50 = mul(&square_times(&n40, 10), &n10);
            let n100 = mul(&square_times(&n50, 50), &n50);
            let n200 = mul(&square_times(&n100, 100), &n100);
            let n250 = mul(&square_times(&n200, 50), &n50);
            (x11, n250)
        }

        /// Replaces every element by its inverse, zero by zero: one power for all of them, and three multiplications
        /// each.
        #[target_feature(enable = $features)]
        pub(super) fn invert_all(elements: &mut [Fe]) {
            let one = Fe::small(1);
            let mut product = one;
            // Products of all elements before this one. A zero counts as one, lest it take its lane with it.
            let before: Vec<Fe> = elements
                .iter()
                .map(|element| {
                    let before = product;
                    product = product.mul(&one.where_in(element.is_zero(), element));
                    before
                })
                .collect();
            // p - 2 = 2^255 - 21 = (2^250 - 1) · 2^5 + 11.
            let (x11, n250) = common_powers(&[product]);
            let [mut inverse] = mul(&square_times(&n250, 5), &x11);
            for (element, before) in elements.iter_mut().zip(&before).rev() {
                let zero = element.is_zero();
                let inverted = inverse.mul(before);
                inverse = inverse.mul(&one.where_in(zero, element));
                *element = Fe::small(0).where_in(zero, &inverted);
            }
        }

        /// SQRT_RATIO_M1 of RFC 9496: the lanes in which u/v is a square, and the non-negative square root of u/v or
        /// else of i · u/v. The root is zero where u or v is; a square is reported if u is zero, not if only v is.
        #[target_feature(enable = $features)]
        pub(super) fn sqrt_ratio_m1<const N: usize>(u: &[Fe; N], v: &[Fe; N]) -> [(Lanes, Fe); N] {
            let v3 = mul(&square_times(v, 1), v);
            let v7 = mul(&square_times(&v3, 1), v);
            // (p - 5) / 8 = 2^252 - 3 = (2^250 - 1) · 2^2 + 1.
            let base = mul(u, &v7);
            let (_, n250) = common_powers(&base);
            let power = mul(&square_times(&n250, 2), &base);
            let root = mul(&mul(u, &v3), &power);
            core::array::from_fn(|n| finish_root(&u[n], &v[n], &root[n]))
        }

        /// The candidate is a square root of ±u/v or of ±i · u/v; which one shows in its square.
        #[inline]
        #[target_feature(enable = $features)]
        fn finish_root(u: &Fe, v: &Fe, candidate: &Fe) -> (Lanes, Fe) {
            let i = Fe::splat(SQRT_M1);
            let check = candidate.square().mul(v);
            let minus_u = u.negate();
            let correct = check.equals(u);
            let flipped = check.equals(&minus_u);
            let flipped_i = check.equals(&minus_u.mul(&i));
            let root = candidate.mul(&i).where_in(flipped | flipped_i, candidate);
            (correct | flipped, root.abs())
        }
    };
}
