use super::super::super::integers::Int;
use super::super::tests::on_lanes;
use super::*;
use crate::prg::Prg;

/// The largest limb of an element.
const TOP: u64 = (1 << 51) + (1 << 16) - 1;

type Limbs = [u64; 5];

fn of_limbs(limbs: Limbs) -> Int {
    Int::of_limbs(&limbs, |_| RADIX)
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn load(lanes: [Limbs; LANES]) -> [__m512i; 5] {
    // SAFETY: both are 64 bytes in which every pattern is valid.
    core::array::from_fn(|k| unsafe { core::mem::transmute::<[u64; LANES], _>(lanes.map(|limbs| limbs[k])) })
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn store(vectors: [__m512i; 5]) -> [Limbs; LANES] {
    // SAFETY: both are 64 bytes in which every pattern is valid.
    let limbs = vectors.map(|vector| unsafe { core::mem::transmute::<__m512i, [u64; LANES]>(vector) });
    core::array::from_fn(|lane| limbs.map(|limb| limb[lane]))
}

/// Limbs at every edge of what an element may be, and random ones.
fn patterns() -> Vec<Limbs> {
    let mut patterns = vec![
        [0; 5],
        [1, 0, 0, 0, 0],
        [P[0] - 1, LOW, LOW, LOW, LOW],
        P,
        [P[0] + 1, LOW, LOW, LOW, LOW],
        [LOW; 5],
        [0, 0, 0, 0, LOW + 1],
        [TOP; 5],
        [TOP, 0, TOP, 0, TOP],
        [0, TOP, 0, TOP, 0],
        [TOP, LOW, LOW, LOW, LOW],
        [0, 0, 0, 0, TOP],
        [2 * P[0] - LOW, LOW, LOW, LOW, LOW],
    ];
    let mut rng = Prg::from_seed([9; 16]);
    while patterns.len() < 32 {
        let mut bytes = [[0; 8]; 5];
        bytes.iter_mut().for_each(|bytes| rng.fill(bytes));
        patterns.push(bytes.map(|bytes| u64::from_le_bytes(bytes) % (TOP + 1)));
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

#[track_caller]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn check(result: &Fe, a: &[Limbs; LANES], b: &[Limbs; LANES], expected: impl Fn(Int, Int) -> Int) {
    let limbs = store(result.0);
    for (lane, limbs) in limbs.into_iter().enumerate() {
        assert!(limbs.iter().all(|limb| *limb <= TOP), "{limbs:x?}");
        let expected = expected(of_limbs(a[lane]), of_limbs(b[lane]));
        assert_eq!(of_limbs(limbs), expected, "{:x?} {:x?}", a[lane], b[lane]);
    }
}

#[test]
fn arithmetic_is_that_of_integers() {
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn test() {
        for (a_limbs, b_limbs) in pairs() {
            let (a, b) = (Fe(load(a_limbs)), Fe(load(b_limbs)));
            let (ab, aa, bb) = (a.product(&b), a.squared(), b.squared());
            let (biased_ab, biased_aa) = (a.biased_product(&b), a.biased_squared());
            let is = |result: &Fe, expected: fn(Int, Int) -> Int| check(result, &a_limbs, &b_limbs, expected);
            is(&ab.carry(), |a, b| a.mul(b));
            is(&biased_ab.carry(), |a, b| a.mul(b));
            is(&aa.carry(), |a, _| a.mul(a));
            is(&biased_aa.carry(), |a, _| a.mul(a));
            is(&a.add(&b), |a, b| a.add(b));
            is(&a.sub(&b), |a, b| a.add(b.negate()));
            is(&a.negate(), |a, _| a.negate());
            is(&biased_ab.plus(bb).carry(), |a, b| a.mul(b).add(b.mul(b)));
            is(&biased_ab.minus(bb).carry(), |a, b| a.mul(b).add(b.mul(b).negate()));
            is(&biased_aa.minus(ab.plus(bb)).carry(), |a, b| a.mul(a).add(a.add(b).mul(b).negate()));
            is(&biased_aa.plus(biased_ab).carry(), |a, b| a.mul(a.add(b)));
            is(&aa.plus_multiple((1 << 20) - 1, &b).carry(), |a, b| {
                a.mul(a).add(b.mul(Int::small((1 << 20) - 1)))
            });
            is(&a.columns().biased().minus(b.columns()).carry(), |a, b| a.add(b.negate()));
        }
    }
    on_lanes(test);
}

#[test]
fn columns_keep_the_bounds_of_the_module() {
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn test() {
        let below = |columns: Columns, bound: u64| {
            assert!(store(columns.0).as_flattened().iter().all(|column| *column < bound));
        };
        for (a, b) in pairs() {
            let (a, b) = (Fe(load(a)), Fe(load(b)));
            for plain in [a.product(&b), a.squared()] {
                below(plain, 1 << 59);
            }
            for biased in [a.biased_product(&b), a.biased_squared(), a.columns().biased()] {
                below(biased, (1 << 59) + (1 << 60));
            }
        }
        let bias = store(Fe::small(0).columns().biased().0);
        assert!(bias.as_flattened().iter().all(|limb| *limb > (1 << 60) - (1 << 14)));
        let carried = store(Columns(load([[(1 << 62) - 1; 5]; LANES])).carry().0);
        assert!(carried.as_flattened().iter().all(|limb| *limb <= TOP));
    }
    on_lanes(test);
}

#[test]
fn residues_are_unique() {
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn test() {
        for (a_limbs, b_limbs) in pairs() {
            let (a, b) = (Fe(load(a_limbs)), Fe(load(b_limbs)));
            check(&a.reduced(), &a_limbs, &b_limbs, |a, _| a);
            assert!(store(a.reduced().0).as_flattened().iter().all(|limb| *limb <= LOW));
            let bytes = a.to_bytes();
            let again = Fe::from_bytes(bytes.each_ref());
            let absolute = a.abs().to_bytes();
            for lane in 0..LANES {
                let (x, y) = (of_limbs(a_limbs[lane]), of_limbs(b_limbs[lane]));
                let bit = |lanes: Lanes| lanes >> lane & 1 == 1;
                assert_eq!(bytes[lane], x.to_bytes());
                assert_eq!(bit(a.is_zero()), x == Int([0; 4]));
                assert_eq!(bit(a.is_negative()), bytes[lane][0] & 1 == 1);
                assert_eq!(bit(a.equals(&b)), x == y);
                let even = if bit(a.is_negative()) { x.negate() } else { x };
                assert_eq!(absolute[lane], even.to_bytes());
            }
            assert_eq!(again.equals(&a), u8::MAX);
        }
    }
    on_lanes(test);
}

#[test]
fn bytes_are_taken_modulo_p_without_bit_255() {
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
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
        assert_eq!(read.to_bytes(), [three, three, three, eighteen, three, three, three, eighteen]);
    }
    on_lanes(test);
}

#[test]
fn selections_take_each_lane() {
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn test() {
        let (a, b) = (Fe::small(1), Fe::small(2));
        for lane in 0..LANES {
            let chosen = a.where_in(1 << lane, &b).to_bytes();
            assert!((0..LANES).all(|i| chosen[i][0] == if i == lane { 1 } else { 2 }));
            let negated = a.negate_in(1 << lane);
            assert_eq!(negated.equals(&a), !(1 << lane));
            assert_eq!(negated.equals(&a.negate()), 1 << lane);
        }
        assert_eq!(a.or_masked(&b, Mask::none()).equals(&a), u8::MAX);
        assert_eq!(a.or_masked(&b, Mask(all(u64::MAX))).equals(&b), u8::MAX);
    }
    on_lanes(test);
}
