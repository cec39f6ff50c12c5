field_tests!("avx512f,avx512dq,avx512ifma");

type Limbs = [u64; 5];

/// The largest limbs of an element.
const TOP: Limbs = [(1 << 51) + (1 << 16) - 1; 5];

/// Those of an element below p.
const LOWEST: Limbs = [LOW; 5];

fn of_limbs(limbs: &Limbs) -> Int {
    Int::of_limbs(limbs, |_| RADIX)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn load_all(lanes: &[Limbs; LANES]) -> [__m512i; 5] {
    core::array::from_fn(|k| each(&lanes.map(|limbs| limbs[k])))
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn store_all(vectors: &[__m512i; 5]) -> [Limbs; LANES] {
    // SAFETY: both are 64 bytes in which every pattern is valid.
    let limbs = vectors.map(|vector| unsafe { core::mem::transmute::<__m512i, [u64; LANES]>(vector) });
    core::array::from_fn(|lane| limbs.map(|limb| limb[lane]))
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn least(a: &Fe) -> Fe {
    a.reduced()
}

/// Limbs at every edge of what an element may be.
fn edges() -> Vec<Limbs> {
    let top = TOP[0];
    vec![
        [0; 5],
        [1, 0, 0, 0, 0],
        [P[0] - 1, LOW, LOW, LOW, LOW],
        P,
        [P[0] + 1, LOW, LOW, LOW, LOW],
        [LOW; 5],
        [0, 0, 0, 0, LOW + 1],
        TOP,
        [top, 0, top, 0, top],
        [0, top, 0, top, 0],
        [top, LOW, LOW, LOW, LOW],
        [0, 0, 0, 0, top],
        [2 * P[0] - LOW, LOW, LOW, LOW, LOW],
    ]
}

#[test]
fn columns_keep_the_bounds_of_the_module() {
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn test() {
        let below = |columns: Columns, bound: u64| {
            assert!(store_all(&columns.0).as_flattened().iter().all(|column| *column < bound));
        };
        for (a, b) in pairs() {
            let (a, b) = (Fe(load_all(&a)), Fe(load_all(&b)));
            for plain in [a.product(&b), a.squared()] {
                below(plain, 1 << 59);
            }
            for biased in [a.biased_product(&b), a.biased_squared(), a.columns().biased()] {
                below(biased, (1 << 59) + (1 << 60));
            }
        }
        let bias = store_all(&Fe::small(0).columns().biased().0);
        assert!(bias.as_flattened().iter().all(|limb| *limb > (1 << 60) - (1 << 14)));
        let carried = store_all(&Columns(load_all(&[[(1 << 62) - 1; 5]; LANES])).carry().0);
        assert!(carried.iter().all(|limbs| within(limbs, &TOP)));
    }
    on_lanes(test);
}
