//! Tests of the field with limbs of 26 and 25 bits, against plain integers.

/// Defines the tests of the surrounding field.
macro_rules! field26_tests {
    ($features:literal) => {
        field_tests!($features);

        type Limbs = [u64; 10];

        /// The largest limbs of an element.
        const TOP: Limbs = {
            const ODD: u64 = (1 << 25) + (1 << 17) - 1;
            [LOW[0], ODD, LOW[0], ODD, LOW[0], ODD, LOW[0], ODD, LOW[0], LOW[1]]
        };

        /// Those of an element below p.
        const LOWEST: Limbs =
            [LOW[0], LOW[1], LOW[0], LOW[1], LOW[0], LOW[1], LOW[0], LOW[1], LOW[0], LOW[1]];

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

        #[target_feature(enable = $features)]
        fn least(a: &Fe) -> Fe {
            Fe(parts!(|part| reduced(&a.0[part])))
        }

        /// Limbs at every edge of what an element may be.
        fn edges() -> Vec<Limbs> {
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
            let every_second = |odd: usize| core::array::from_fn(|k| if k % 2 == odd { TOP[k] } else { 0 });
            let mut edges = vec![[0; 10], at(0, 1), near_p(-1), P, near_p(1), LOWEST, TOP];
            edges.extend([every_second(0), every_second(1), at(9, LOW[1]), at(1, TOP[1])]);
            edges
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
                assert!(store_all(&carried.0).iter().all(|limbs| within(limbs, &TOP)));
            }
            on_lanes(test);
        }
    };
}
