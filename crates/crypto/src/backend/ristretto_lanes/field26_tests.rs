//! Tests of the field with limbs of 26 and 25 bits, against plain integers.

/// Defines the tests of the surrounding field.
macro_rules! field26_tests {
    ($features:literal) => {
        use super::super::super::integers::Int;
        use super::super::tests::on_lanes;
        use super::*;
        use crate::prg::Prg;

        type Limbs = [u64; 10];

        /// The largest limbs of an element.
        const TOP: Limbs = {
            const ODD: u64 = (1 << 25) + (1 << 17) - 1;
            [LOW[0], ODD, LOW[0], ODD, LOW[0], ODD, LOW[0], ODD, LOW[0], LOW[1]]
        };

        fn of_limbs(limbs: &Limbs) -> Int {
            Int::of_limbs(limbs, |k| 26 - (k % 2) as u32)
        }

        #[target_feature(enable = $features)]
        fn load_all(lanes: &[Limbs; LANES]) -> [Part; PARTS] {
            parts!(|part| {
                let mut limbs = [all(0); 10];
                for k in 0..10 {
                    let words = lanes.map(|limbs| limbs[k]);
                    limbs[k] = load(&words.as_chunks().0[part]);
                }
                limbs
            })
        }

        #[target_feature(enable = $features)]
        fn store_all(parts: &[Part; PARTS]) -> [Limbs; LANES] {
            let mut lanes = [[0; 10]; LANES];
            for part in 0..PARTS {
                for k in 0..10 {
                    let words = store(parts[part][k]);
                    for lane in 0..WIDTH {
                        lanes[part * WIDTH + lane][k] = words[lane];
                    }
                }
            }
            lanes
        }

        /// Limbs at every edge of what an element may be, and random ones.
        fn patterns() -> Vec<Limbs> {
            let at = |limb: usize, value: u64| {
                let mut limbs = [0; 10];
                limbs[limb] = value;
                limbs
            };
            let near_p = |by: i64| {
                let mut limbs = P;
                limbs[0] = limbs[0].wrapping_add_signed(by);
                limbs
            };
            let all_low = core::array::from_fn(|k| LOW[k % 2]);
            let every_second = |odd: usize| core::array::from_fn(|k| if k % 2 == odd { TOP[k] } else { 0 });
            let mut patterns = vec![[0; 10], at(0, 1), near_p(-1), P, near_p(1), all_low, TOP];
            patterns.extend([every_second(0), every_second(1), at(9, LOW[1]), at(1, TOP[1])]);
            let mut rng = Prg::from_seed([9; 16]);
            while patterns.len() < 32 {
                let mut bytes = [[0; 8]; 10];
                bytes.iter_mut().for_each(|bytes| rng.fill(bytes));
                patterns.push(core::array::from_fn(|k| u64::from_le_bytes(bytes[k]) % (TOP[k] + 1)));
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

        fn within(limbs: &Limbs) -> bool {
            limbs.iter().zip(TOP).all(|(limb, top)| *limb <= top)
        }

        #[track_caller]
        #[target_feature(enable = $features)]
        fn check(result: &Fe, a: &[Limbs; LANES], b: &[Limbs; LANES], expected: fn(Int, Int) -> Int) {
            for (lane, limbs) in store_all(&result.0).iter().enumerate() {
                assert!(within(limbs), "{limbs:x?}");
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
        fn columns_keep_the_bounds_of_the_module() {
            #[target_feature(enable = $features)]
            fn test() {
                for (a, b) in pairs() {
                    let (a, b) = (Fe(load_all(&a)), Fe(load_all(&b)));
                    let most = |columns: Columns| store_all(&columns.0).as_flattened().iter().copied().max();
                    for plain in [a.product(&b), a.squared()] {
                        // Two such are below what a difference starts from.
                        assert!(most(plain) < Some((1 << 59) - (1 << 34)));
                    }
                    for biased in [a.biased_product(&b), a.biased_squared(), a.columns().biased()] {
                        assert!(most(biased) < Some((1 << 59) + (1 << 61)));
                    }
                }
                let bias = store_all(&Fe::small(0).columns().biased().0);
                assert!(bias.as_flattened().iter().all(|limb| *limb >= (1 << 60) - (1 << 35)));
                let carried = Columns(load_all(&[[(1 << 63) - 1; 10]; LANES])).carry();
                assert!(store_all(&carried.0).iter().all(within));
            }
            on_lanes(test);
        }

        #[test]
        fn residues_are_unique() {
            #[target_feature(enable = $features)]
            fn test() {
                for (x, y) in pairs() {
                    let (a, b) = (Fe(load_all(&x)), Fe(load_all(&y)));
                    let least = Fe(parts!(|part| reduced(&a.0[part])));
                    check(&least, &x, &y, |a, _| a);
                    let limbs = store_all(&least.0);
                    assert!(limbs.iter().all(|limbs| (0..10).all(|k| limbs[k] <= LOW[k % 2])));
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
