//! Tests of a field against plain integers.

/// Defines the tests that all fields share. The surrounding module has what depends on the limbs:
///
/// | name | what it is |
/// |---|---|
/// | `Limbs` | the limbs of an element |
/// | `TOP`, `LOWEST` | the largest ones, and those of a number below p |
/// | `edges()` | limbs at every edge of what an element may be |
/// | `of_limbs` | their number |
/// | `load_all`, `store_all` | limbs into lanes and back |
/// | `least` | an element below p |
macro_rules! field_tests {
    ($features:literal) => {
        use super::super::super::integers::Int;
        use super::super::tests::on_lanes;
        use super::*;
        use rand::rngs::StdRng;
        use rand::{Rng, SeedableRng};

        /// Limbs at the edges, and random ones.
        fn patterns() -> Vec<Limbs> {
            let mut patterns = edges();
            let mut rng = StdRng::seed_from_u64(9);
            while patterns.len() < 32 {
                patterns.push(TOP.map(|top| {
                    let mut bytes = [0; 8];
                    rng.fill_bytes(&mut bytes);
                    u64::from_le_bytes(bytes) % (top + 1)
                }));
            }
            patterns
        }

        /// Every ordered pair of patterns, eight pairs at a time.
        fn pairs() -> impl Iterator<Item = ([Limbs; LANES], [Limbs; LANES])> {
            let patterns = patterns();
            (0..patterns.len()).flat_map(move |shift| {
                let patterns = patterns.clone();
                (0..patterns.len()).step_by(LANES).map(move |start| {
                    let first = core::array::from_fn(|lane| patterns[start + lane]);
                    (first, core::array::from_fn(|lane| patterns[(start + lane + shift) % patterns.len()]))
                })
            })
        }

        fn within(limbs: &Limbs, top: &Limbs) -> bool {
            limbs.iter().zip(top).all(|(limb, top)| limb <= top)
        }

        #[track_caller]
        #[target_feature(enable = $features)]
        fn check(result: &Fe, a: &[Limbs; LANES], b: &[Limbs; LANES], expected: fn(Int, Int) -> Int) {
            for (lane, limbs) in store_all(&result.0).iter().enumerate() {
                assert!(within(limbs, &TOP), "{limbs:x?}");
                let expected = expected(of_limbs(&a[lane]), of_limbs(&b[lane]));
                assert_eq!(of_limbs(limbs), expected, "{:x?} {:x?}", a[lane], b[lane]);
            }
        }

        #[test]
        fn arithmetic_is_that_of_integers() {
            #[target_feature(enable = $features)]
            fn test() {
                for (x, y) in pairs() {
                    let (a, b) = (Fe(load_all(&x)), Fe(load_all(&y)));
                    let (ab, aa, bb) = (a.product(&b), a.squared(), b.squared());
                    let (biased_ab, biased_aa) = (a.biased_product(&b), a.biased_squared());
                    check(&ab.carry(), &x, &y, |a, b| a.mul(b));
                    check(&biased_ab.carry(), &x, &y, |a, b| a.mul(b));
                    check(&aa.carry(), &x, &y, |a, _| a.mul(a));
                    check(&biased_aa.carry(), &x, &y, |a, _| a.mul(a));
                    check(&a.add(&b), &x, &y, |a, b| a.add(b));
                    check(&a.sub(&b), &x, &y, |a, b| a.add(b.negate()));
                    check(&a.negate(), &x, &y, |a, _| a.negate());
                    check(&biased_ab.plus(bb).carry(), &x, &y, |a, b| a.mul(b).add(b.mul(b)));
                    check(&biased_ab.minus(bb).carry(), &x, &y, |a, b| a.mul(b).add(b.mul(b).negate()));
                    check(&biased_aa.minus(ab.plus(bb)).carry(), &x, &y, |a, b| {
                        a.mul(a).add(a.add(b).mul(b).negate())
                    });
                    check(&biased_aa.plus(biased_ab).carry(), &x, &y, |a, b| a.mul(a.add(b)));
                    check(&aa.plus_multiple((1 << 20) - 1, &b).carry(), &x, &y, |a, b| {
                        a.mul(a).add(b.mul(Int::small((1 << 20) - 1)))
                    });
                }
            }
            on_lanes(test);
        }

        #[test]
        fn residues_are_unique() {
            #[target_feature(enable = $features)]
            fn test() {
                for (x, y) in pairs() {
                    let (a, b) = (Fe(load_all(&x)), Fe(load_all(&y)));
                    let least = least(&a);
                    check(&least, &x, &y, |a, _| a);
                    let limbs = store_all(&least.0);
                    assert!(limbs.iter().all(|limbs| within(limbs, &LOWEST)));
                    let bytes = a.to_bytes();
                    let again = Fe::from_bytes(bytes.each_ref());
                    let absolute = a.abs().to_bytes();
                    for lane in 0..LANES {
                        let (x, y) = (of_limbs(&x[lane]), of_limbs(&y[lane]));
                        let bit = |lanes: Lanes| lanes >> lane & 1 == 1;
                        assert_eq!(bytes[lane], x.to_bytes());
                        assert_eq!(bit(a.is_zero()), x == Int([0; 4]));
                        assert_eq!(bit(a.is_negative()), bytes[lane][0] & 1 == 1);
                        assert_eq!(bit(a.equals(&b)), x == y);
                        let even = if bit(a.is_negative()) { x.negate() } else { x };
                        assert_eq!(absolute[lane], even.to_bytes());
                    }
                    assert_eq!(again.equals(&a), Lanes::MAX);
                }
            }
            on_lanes(test);
        }

        #[test]
        fn bytes_are_taken_modulo_p_without_bit_255() {
            #[target_feature(enable = $features)]
            fn test() {
                let mut p = Int(Int::P).to_bytes();
                p[0] += 3;
                let mut three = [0; 32];
                three[0] = 3;
                let mut high = three;
                high[31] = 0x80;
                let mut eighteen = [0; 32];
                eighteen[0] = 18;
                let read = Fe::from_bytes([&p, &high, &three, &[0xff; 32], &p, &high, &three, &[0xff; 32]]);
                let expected = [three, three, three, eighteen, three, three, three, eighteen];
                assert_eq!(read.to_bytes(), expected);
            }
            on_lanes(test);
        }

        #[test]
        fn selections_take_each_lane() {
            #[target_feature(enable = $features)]
            fn test() {
                let (a, b) = (Fe::small(1), Fe::small(2));
                for lane in 0..LANES {
                    let chosen = a.where_in(1 << lane, &b).to_bytes();
                    assert!((0..LANES).all(|i| chosen[i][0] == if i == lane { 1 } else { 2 }));
                    let negated = a.negate_in(1 << lane);
                    assert_eq!(negated.equals(&a), !(1 << lane));
                    assert_eq!(negated.equals(&a.negate()), 1 << lane);
                }
                let words = [0, 1 << 40, 0, 0, 1 << 40, 1 << 41, 0, 1 << 40];
                let mask = Mask::of_bit(&words, 40);
                assert_eq!(a.or_masked(&b, Mask::none()).equals(&a), Lanes::MAX);
                assert_eq!(a.or_masked(&b, mask).equals(&b), 0b1001_0010);
                assert_eq!(a.or_masked(&b, mask.xor(mask)).equals(&a), Lanes::MAX);
            }
            on_lanes(test);
        }

        #[test]
        fn digits_choose_their_entries() {
            #[target_feature(enable = $features)]
            fn test() {
                let table: Table =
                    core::array::from_fn(|k| core::array::from_fn(|i| (i as u64 + 1) << 32 | 5 * k as u64));
                for first in -32..=25 {
                    let digits: [i8; LANES] = core::array::from_fn(|lane| first + lane as i8);
                    let chosen = Digits::new(digits);
                    let found = Fe::look_up(&table, &chosen, 7).to_limbs();
                    for lane in 0..LANES {
                        let size = usize::from(digits[lane].unsigned_abs());
                        assert_eq!(chosen.negative >> lane & 1 == 1, digits[lane] < 0);
                        assert_eq!(chosen.equal(5) >> lane & 1 == 1, size == 5);
                        for k in 0..5 {
                            let none = if k == 0 { 7 } else { 0 };
                            let expected = size.checked_sub(1).map_or(none, |i| table[k][i]);
                            assert_eq!(found[k][lane], expected, "{digits:?}");
                        }
                    }
                }
            }
            on_lanes(test);
        }
    };
}
