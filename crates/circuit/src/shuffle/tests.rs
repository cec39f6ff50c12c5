use rand::seq::SliceRandom;
use rand::{SeedableRng, rngs::StdRng};

use super::*;
use crate::bits::{numbers, rows};
use crate::clear::Clear;
use crate::count::Count;

const SIGMA: usize = 12;

/// The numbers 0..n after the network.
fn permuted(permutation: &[u32], chunk: usize) -> Vec<u32> {
    let all: Vec<u128> = (0..permutation.len() as u128).collect();
    let mut wires = rows(&all, SIGMA);
    let controls = Controls::new(permutation);
    permute(&mut Clear::with_chunk(chunk), Party::Sender, Some(&controls), &mut wires).unwrap();
    numbers(&wires).into_iter().map(|number| number as u32).collect()
}

/// All permutations of the numbers below n.
fn all(n: u32) -> Vec<Vec<u32>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let insert = |list: Vec<u32>| {
        (0..n as usize).map(move |at| {
            let mut list = list.clone();
            list.insert(at, n - 1);
            list
        })
    };
    all(n - 1).into_iter().flat_map(insert).collect()
}

#[test]
fn all_permutations_of_a_few_numbers() {
    for permutation in (1..=6).flat_map(all) {
        for chunk in [1, 2, usize::MAX] {
            assert_eq!(permuted(&permutation, chunk), permutation);
        }
    }
}

#[test]
fn permutations_of_any_size() {
    let mut rng = StdRng::seed_from_u64(1);
    for n in (0..=70).chain([127, 128, 129, 1000, 4095]) {
        let mut permutation: Vec<u32> = (0..n).collect();
        for chunk in [1, 10, 64, 300, usize::MAX] {
            assert_eq!(permuted(&permutation, chunk), permutation);
            permutation.shuffle(&mut rng);
        }
        permutation = (0..n).rev().collect();
        assert_eq!(permuted(&permutation, 100), permutation);
    }
}

#[test]
#[should_panic(expected = "each number once")]
fn a_number_twice_is_refused() {
    let _ = Controls::new(&[0, 1, 1]);
}

#[test]
fn controls_are_not_printed() {
    assert_eq!(format!("{:?}", Controls::new(&[1, 0])), "Controls { len: 2, .. }");
}

#[test]
fn swappers_are_as_many_as_the_formula_says() {
    for n in (0..=130).chain([1000, 1024]) {
        for chunk in [1, 10, 300, usize::MAX] {
            let mut count = Count::with_chunk(chunk);
            let mut wires = count.input(Party::Sender, Input::Hidden { rows: SIGMA, len: n }).unwrap();
            permute(&mut count, Party::Sender, None, &mut wires).unwrap();
            assert_eq!((count.ands, count.private_ands), (0, SIGMA as u64 * swappers(n as u64)));
            if chunk == usize::MAX {
                assert_eq!((count.depth, count.layers), (depth(n as u64), depth(n as u64).into()));
            }
        }
    }
    for k in 0..=30u64 {
        assert_eq!(swappers(1 << k), (1 << k) * k + 1 - (1 << k));
    }
    // No network has fewer than ⌈log2 n!⌉ swappers.
    let log = |n: u64| (2..=n).map(|i| (i as f64).log2()).sum::<f64>();
    assert!((0..200).all(|n| swappers(n) as f64 >= log(n)));
}

/// Both parties run the same gates: the one without controls sees only how many there are.
#[test]
fn a_million_numbers() {
    let n = 1 << 20;
    let mut permutation: Vec<u32> = (0..n).collect();
    permutation.shuffle(&mut StdRng::seed_from_u64(2));
    let controls = Controls::new(&permutation);
    let bits = [0, 1, 19].map(|bit| (0..n).map(|number| number >> bit & 1 == 1).collect::<Bits>());
    let mut wires = bits.to_vec();
    permute(&mut Clear::default(), Party::Sender, Some(&controls), &mut wires).unwrap();
    for (before, after) in bits.iter().zip(&wires) {
        assert_eq!(*after, before.gather(&permutation));
    }
}
