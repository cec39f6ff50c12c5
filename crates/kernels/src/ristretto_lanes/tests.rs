//! Tests of one level, against curve25519-dalek.

/// Defines the tests of the surrounding level.
macro_rules! tests {
    ($features:literal) => {
        use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
        use curve25519_dalek::traits::IsIdentity;

        use super::edwards::{D, Point};
        use super::field::Fe;
        use super::ladder::{Scalars, bases, multiply};
        use super::power::{SQRT_M1, invert_all, sqrt_ratio_m1};
        use super::*;
        use rand::rngs::StdRng;
        use rand::{Rng, SeedableRng};

        /// Runs a test if the processor has the instructions.
        pub(super) fn on_lanes(test: unsafe fn()) {
            if kernel().is_some() {
                // SAFETY: the kernel shows that the instructions are there, and the test asks for nothing else.
                unsafe { test() };
            }
        }

        fn kernel() -> Option<Kernel> {
            Backend::at(LEVEL).and_then(Kernel::of)
        }

        fn uniform(rng: &mut StdRng, count: usize) -> Vec<[u8; 64]> {
            let mut uniform = vec![[0; 64]; count];
            rng.fill_bytes(uniform.as_flattened_mut());
            uniform
        }

        fn random_scalar(rng: &mut StdRng) -> Scalar {
            Scalar::from_bytes_mod_order_wide(&uniform(rng, 1)[0])
        }

        /// Scalars around zero and the group order and its half, single bits, long runs of ones, and random ones.
        fn scalars(rng: &mut StdRng) -> Vec<Scalar> {
            let half = Scalar::ONE.div_by_2();
            let near = (0u64..4).map(Scalar::from).flat_map(|i| [i, -i, half + i, half - i]);
            let mut bit = [0; 32];
            bit[31] = 0x10;
            let bits = [Scalar::from(1u64 << 63), Scalar::from(u64::MAX), Scalar::from_bytes_mod_order(bit)];
            near.chain(bits).chain([random_scalar(rng), random_scalar(rng)]).collect()
        }

        fn expected(scalar: &Scalar, points: &[RistrettoPoint]) -> Vec<[u8; 32]> {
            points.iter().map(|point| (scalar * point).compress().to_bytes()).collect()
        }

        #[test]
        fn random_batches_of_every_length_equal_the_library() {
            let Some(kernel) = kernel() else { return };
            let mut rng = StdRng::seed_from_u64(1);
            for length in
                [0, 1, 2, 7, 8, 9, 15, 16, 17, 24, 63, 64, 65, 119, 120, 121, 127, 128, 129, 136, 257, 1024]
            {
                let scalar = random_scalar(&mut rng);
                let uniform = uniform(&mut rng, length);
                let points: Vec<_> = uniform.iter().map(RistrettoPoint::from_uniform_bytes).collect();
                let encoded: Vec<_> = points.iter().map(|point| point.compress().to_bytes()).collect();
                let expected = expected(&scalar, &points);
                let mut out = vec![[0xaa; 32]; length];
                kernel.map_mul_encode(&scalar, &uniform, &mut out);
                assert!(out == expected, "map, {length}");
                out.fill([0xaa; 32]);
                assert_eq!(kernel.decode_mul_encode(&scalar, &encoded, &mut out), Ok(()));
                assert!(out == expected, "decode, {length}");
            }
        }

        #[test]
        fn special_scalars_equal_the_library() {
            let Some(kernel) = kernel() else { return };
            let mut rng = StdRng::seed_from_u64(2);
            let uniform = uniform(&mut rng, 24);
            let points: Vec<_> = uniform.iter().map(RistrettoPoint::from_uniform_bytes).collect();
            let encoded: Vec<_> = points.iter().map(|point| point.compress().to_bytes()).collect();
            for scalar in scalars(&mut rng) {
                let expected = expected(&scalar, &points);
                let mut out = vec![[0xaa; 32]; 24];
                kernel.map_mul_encode(&scalar, &uniform, &mut out);
                assert!(out == expected);
                assert_eq!(kernel.decode_mul_encode(&scalar, &encoded, &mut out), Ok(()));
                assert!(out == expected);
            }
        }

        /// Random strings with the parity and the top bit that an encoding has: enough of them decode.
        #[test]
        fn random_strings_decode_as_in_the_library() {
            let Some(kernel) = kernel() else { return };
            let mut rng = StdRng::seed_from_u64(3);
            let (mut valid, mut invalid) = (0, 0);
            for _ in 0..2000 {
                let mut string = [0; 32];
                rng.fill_bytes(&mut string);
                string[0] &= 0xfe;
                string[31] &= 0x7f;
                let mut out = [[0; 32]];
                let result = kernel.decode_mul_encode(&Scalar::ONE, &[string], &mut out);
                match CompressedRistretto(string).decompress() {
                    Some(_) => {
                        assert_eq!((result, out), (Ok(()), [string]));
                        valid += 1;
                    }
                    None => {
                        assert_eq!(result, Err(InvalidElement { index: 0 }));
                        invalid += 1;
                    }
                }
            }
            assert!(valid > 400 && invalid > 400);
        }

        #[test]
        fn the_first_invalid_element_is_named() {
            let Some(kernel) = kernel() else { return };
            let good = (RistrettoPoint::mul_base(&Scalar::from(7u64))).compress().to_bytes();
            let mut out = [[0; 32]; 150];
            for (index, length) in (0..20).map(|i| (i, 20)).chain((125..135).map(|i| (i, 135))) {
                for second in [index, length - 1] {
                    let mut batch = vec![good; length];
                    batch[second] = [0; 32];
                    batch[index] = [0xff; 32];
                    let result = kernel.decode_mul_encode(&Scalar::ONE, &batch, &mut out[..length]);
                    assert_eq!(result, Err(InvalidElement { index }));
                }
            }
        }

        /// MAP(√-1 / t) = -MAP(t): the halves cancel and the sum stands for the identity, which no random input
        /// finds.
        #[test]
        fn maps_to_the_identity_equal_the_library() {
            #[target_feature(enable = $features)]
            fn test() {
                let mut rng = StdRng::seed_from_u64(4);
                let mut uniform: [_; LANES] = uniform(&mut rng, LANES).try_into().unwrap();
                let t = Fe::from_bytes(uniform.each_ref().map(|uniform| &uniform.as_chunks().0[0]));
                let mut inverse = [t];
                invert_all(&mut inverse);
                let opposite = inverse[0].mul(&Fe::splat(SQRT_M1)).to_bytes();
                // Lanes of both kinds side by side.
                for lane in [0, 3, 6, 7] {
                    uniform[lane][32..].copy_from_slice(&opposite[lane]);
                }
                uniform[7][..32].fill(0);
                uniform[7][32..].fill(0);
                let points = uniform.each_ref().map(RistrettoPoint::from_uniform_bytes);
                assert!(points[0].is_identity() && points[3].is_identity() && points[6].is_identity());
                assert!(!points[1].is_identity());
                for scalar in scalars(&mut rng) {
                    let mut out = [[0xaa; 32]; LANES];
                    map_mul_encode(&scalar, &uniform, &mut out);
                    assert_eq!(out.to_vec(), expected(&scalar, &points));
                }
            }
            on_lanes(test);
        }

        /// Representatives that differ by a point of order 1, 2 or 4 stand for the same element, and so do their
        /// multiples, also where the multiple or the point itself is such a point.
        #[test]
        fn the_choice_of_representative_does_not_show() {
            #[target_feature(enable = $features)]
            fn test() {
                let mut rng = StdRng::seed_from_u64(5);
                let (zero, one, i) = (Fe::small(0), Fe::small(1), Fe::splat(SQRT_M1));
                let small = |x: Fe, y: Fe| Point { x, y, z: one, t: zero };
                let torsion =
                    [small(zero, one), small(zero, one.negate()), small(i, zero), small(i.negate(), zero)];
                let uniform: [_; LANES] = uniform(&mut rng, LANES).try_into().unwrap();
                let elements = uniform.each_ref().map(RistrettoPoint::from_uniform_bytes);
                let points = ristretto::map(uniform.each_ref());
                for scalar in scalars(&mut rng) {
                    for torsion in &torsion {
                        let bases = bases(&[points.add(torsion), torsion.add(torsion), *torsion]);
                        let half = scalar.div_by_2();
                        for scalars in
                            [Scalars::one(half.as_bytes()), Scalars::each([half.as_bytes(); LANES])]
                        {
                            let products = multiply(&scalars, &[bases[0], bases[1], bases[2]]);
                            let encoded = ristretto::encode_doubled(&products);
                            assert_eq!(encoded[0].to_vec(), expected(&scalar, &elements));
                            assert_eq!(encoded[1..], [[[0; 32]; LANES]; 2]);
                        }
                    }
                }
            }
            on_lanes(test);
        }

        /// Lanes with different scalars do not mix.
        #[test]
        fn each_lane_has_its_scalar() {
            #[target_feature(enable = $features)]
            fn test() {
                let mut rng = StdRng::seed_from_u64(7);
                let uniform: [_; LANES] = uniform(&mut rng, LANES).try_into().unwrap();
                let elements = uniform.each_ref().map(RistrettoPoint::from_uniform_bytes);
                let bases = bases(&[ristretto::map(uniform.each_ref())]);
                for scalars in scalars(&mut rng).windows(LANES) {
                    let halves: Vec<_> = scalars.iter().map(|scalar| scalar.div_by_2().to_bytes()).collect();
                    let each = Scalars::each(std::array::from_fn(|lane| &halves[lane]));
                    let encoded = ristretto::encode_doubled(&multiply(&each, &[bases[0]]));
                    for ((scalar, element), encoded) in scalars.iter().zip(elements).zip(encoded[0]) {
                        assert_eq!(encoded, (scalar * element).compress().to_bytes());
                    }
                }
            }
            on_lanes(test);
        }

        #[test]
        fn sums_equal_the_library() {
            #[target_feature(enable = $features)]
            fn test() {
                let mut rng = StdRng::seed_from_u64(6);
                let mut draw = || -> [_; LANES] { uniform(&mut rng, LANES).try_into().unwrap() };
                let (first, second) = (draw(), draw());
                let (p, q) = (ristretto::map(first.each_ref()), ristretto::map(second.each_ref()));
                let library = |uniform: &[u8; 64]| RistrettoPoint::from_uniform_bytes(uniform);
                let elements: Vec<_> = first
                    .iter()
                    .zip(&second)
                    .map(|(first, second)| library(first) + library(second))
                    .collect();
                let sums = [p.add(&q), q.add(&p)];
                for sum in &sums {
                    let [x, y, z, t] = [sum.x, sum.y, sum.z, sum.t];
                    assert_eq!(x.mul(&y).equals(&z.mul(&t)), u8::MAX);
                    let (xx, yy, zz, tt) = (x.square(), y.square(), z.square(), t.square());
                    assert_eq!(yy.sub(&xx).equals(&zz.add(&tt.mul(&Fe::splat(D)))), u8::MAX);
                }
                let doubled: Vec<_> =
                    elements.iter().map(|element| (element + element).compress().to_bytes()).collect();
                assert_eq!(
                    ristretto::encode_doubled(&sums).as_flattened(),
                    [&doubled[..], &doubled].concat()
                );
                let doubles = [p.add(&p)];
                let quadruples: Vec<_> = first
                    .iter()
                    .map(|first| (Scalar::from(4u64) * library(first)).compress().to_bytes())
                    .collect();
                assert_eq!(ristretto::encode_doubled(&doubles).as_flattened(), quadruples);
            }
            on_lanes(test);
        }

        #[test]
        fn inverses_and_roots_are_what_they_claim() {
            #[target_feature(enable = $features)]
            fn test() {
                let mut rng = StdRng::seed_from_u64(7);
                let (zero, one, i) = (Fe::small(0), Fe::small(1), Fe::splat(SQRT_M1));
                assert_eq!(i.square().equals(&one.negate()), u8::MAX);
                let mut draw = || {
                    let bytes: [_; LANES] = uniform(&mut rng, LANES).try_into().unwrap();
                    Fe::from_bytes(bytes.each_ref().map(|bytes: &[u8; 64]| &bytes.as_chunks().0[0]))
                };
                // Zeros in some lanes of some vectors, in all of them, and nowhere.
                let elements =
                    [draw(), zero.where_in(0b1010_0101, &draw()), one, zero, draw(), one.negate(), draw()];
                let mut inverses = elements;
                invert_all(&mut inverses);
                for (element, inverse) in elements.iter().zip(&inverses) {
                    let zeros = element.is_zero();
                    assert_eq!(element.mul(inverse).equals(&one), !zeros);
                    assert_eq!(inverse.is_zero(), zeros);
                }
                invert_all(&mut []);
                let (mut squares, mut others) = (0, 0);
                for _ in 0..50 {
                    let (u, v) = ([draw(), draw()], [draw(), zero.where_in(0b0011_0000, &draw())]);
                    let u = [zero.where_in(0b0001_1000, &u[0]), zero.where_in(0b0001_1000, &u[1])];
                    for ((square, root), (u, v)) in sqrt_ratio_m1(&u, &v).into_iter().zip(u.iter().zip(&v)) {
                        let value = root.square().mul(v);
                        assert_eq!(root.is_negative(), 0);
                        // u = v = 0 satisfies both equations; the report is then "square".
                        let is_root = value.equals(u);
                        assert_eq!(square, is_root);
                        let is_other = value.equals(&u.mul(&i));
                        assert_eq!(is_root | is_other, !v.is_zero() | u.is_zero());
                        assert_eq!(root.is_zero(), u.is_zero() | v.is_zero());
                        squares += square.count_ones();
                        others += (!square).count_ones();
                    }
                }
                assert!(squares > 200 && others > 200);
            }
            on_lanes(test);
        }
    };
}
