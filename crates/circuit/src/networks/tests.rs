use super::*;
use crate::bits::{Bits, numbers, rows};
use crate::clear::Clear;
use crate::count::Count;
use crate::engine::{Input, Party};
use crate::gadgets::greater_than::greater;

const CHUNKS: [usize; 5] = [1, 4, 33, 300, usize::MAX];

/// A circuit that sorts in place.
type Network = fn(&mut Clear, &mut [Bits], Greater<Clear>) -> Result<(), Error>;

fn run(network: Network, chunk: usize, list: &[u128], sigma: usize) -> Vec<u128> {
    let mut wires = rows(list, sigma);
    network(&mut Clear::with_chunk(chunk), &mut wires, greater).unwrap();
    numbers(&wires)
}

fn sorted(mut list: Vec<u128>) -> Vec<u128> {
    list.sort_unstable();
    list
}

/// Numbers of 16 bits in no order, some of them twice.
fn list(len: usize, salt: usize) -> Vec<u128> {
    (0..len).map(|i| ((i + salt) * (i + 7) * 40_503 % 65_521) as u128).collect()
}

/// A falling list and then a rising one.
fn bitonic(first: usize, second: usize) -> Vec<u128> {
    let mut both = sorted(list(first, 1));
    both.reverse();
    both.extend(sorted(list(second, 2)));
    both
}

/// A network sorts all lists if it sorts all lists of zeros and ones (Knuth 5.3.4, the zero-one principle).
#[test]
fn all_zeros_and_ones_are_sorted() {
    for n in 1..=12usize {
        let all: Vec<Vec<u128>> =
            (0..1u32 << n).map(|bits| (0..n).map(|i| (bits >> i & 1).into()).collect()).collect();
        for zeros_and_ones in all {
            let chunk = CHUNKS[zeros_and_ones.iter().sum::<u128>() as usize % 3];
            assert_eq!(run(sort, chunk, &zeros_and_ones, 1), sorted(zeros_and_ones));
        }
    }
}

/// The principle holds for mergers with sorted lists of zeros and ones.
#[test]
fn all_pairs_of_sorted_zeros_and_ones_are_merged() {
    for (first, second) in (0..=17).flat_map(|first| (0..=17).map(move |second| (first, second))) {
        for (ones, others) in (0..=first).flat_map(|ones| (0..=second).map(move |others| (ones, others))) {
            let mut both = vec![1; ones];
            both.resize(first + second - others, 0);
            both.resize(first + second, 1);
            assert_eq!(run(merge, CHUNKS[(ones + others) % 3], &both, 1), sorted(both));
        }
    }
}

#[test]
fn lists_of_any_lengths() {
    let long = [(64, 64), (100, 3), (0, 257), (500, 500), (1024, 1024), (1000, 1700)];
    for (first, second) in
        (0..=40).map(|n| (n, 40 - n)).chain((0..=40).map(|n| (n / 3, n - n / 3))).chain(long)
    {
        for chunk in CHUNKS {
            let both = bitonic(first, second);
            assert_eq!(run(merge, chunk, &both, 16), sorted(both));
            let all = list(first + second, first);
            assert_eq!(run(sort, chunk, &all, 16), sorted(all));
        }
    }
}

#[test]
fn sorters_are_as_many_as_the_formulas_say() {
    let sigma = 8;
    for n in (0..=130).chain([500, 512, 1000, 4097]) {
        for chunk in CHUNKS {
            let counted = |network: fn(&mut Count, &mut [_], Greater<Count>) -> Result<(), Error>| {
                let mut count = Count::with_chunk(chunk);
                let input = Input::Hidden { rows: sigma, len: n };
                let mut wires = count.input(Party::Sender, input).unwrap();
                network(&mut count, &mut wires, greater).unwrap();
                (count.ands, if chunk == usize::MAX { count.depth } else { 0 }, count.layers)
            };
            let width = 2 * sigma as u64;
            let depth = |stages| if chunk == usize::MAX { stages * (sigma as u32 + 1) } else { 0 };
            let n = n as u64;
            let (ands, deepest, layers) = counted(merge);
            assert_eq!((ands, deepest), (width * merge_sorters(n), depth(merge_stages(n))), "{n} {chunk}");
            assert!(chunk < usize::MAX || layers == u64::from(deepest));
            let (ands, deepest, layers) = counted(sort);
            assert_eq!((ands, deepest), (width * sort_sorters(n), depth(sort_stages(n))), "{n} {chunk}");
            assert!(chunk < usize::MAX || layers == u64::from(deepest));
        }
    }
}

#[test]
fn the_largest_of_any_number() {
    for n in (0..=40).chain([300]) {
        for count in [0, 1, 2, 3, 7, 16, 39, 40, 100] {
            let numbers_in = list(n, 3);
            for chunk in [1, 33, usize::MAX] {
                let wires = rows(&numbers_in, 16);
                let kept = largest(&mut Clear::with_chunk(chunk), &wires, count, greater).unwrap();
                let expected = sorted(numbers_in.clone()).split_off(n - count.min(n));
                assert_eq!(numbers(&kept), expected, "{count} of {n}");
            }
            let mut gates = Count::default();
            let wires = gates.input(Party::Sender, Input::Hidden { rows: 16, len: n }).unwrap();
            largest(&mut gates, &wires, count, greater).unwrap();
            assert_eq!(gates.ands, 32 * largest_sorters(n as u64, count as u64), "{count} of {n}");
        }
    }
    // HEK12 Table 1 counts log2(2n̂)² 2-sorters a number for its n/n̂ calls of a sorter for 2n̂.
    for (n, count) in [(1 << 16, 1 << 4), (1 << 16, 1 << 10), (1 << 20, 1 << 8)] {
        let log = u64::from((2_u64 * count).ilog2());
        assert!(largest_sorters(n, count) < n * log * log);
        assert!(largest_sorters(n, count) < (n / count - 1) * sort_sorters(2 * count));
    }
}

/// HEK12 §5.1 and Knuth 5.3.4, for powers of two.
#[test]
fn published_formulas() {
    for k in 1..=30u64 {
        let n = 1u64 << k;
        assert_eq!(merge_sorters(n), n / 2 * k);
        assert_eq!(sort_sorters(n), if k < 2 { 1 } else { (k * k - k + 4) * (n / 4) - 1 });
    }
}

/// A network that leaves out a 2-sorter does not sort.
#[test]
fn every_sorter_is_needed() {
    let n = 8;
    let total = sort_sorters(n as u64) as usize;
    for missing in 0..total {
        let fails = (0..1u32 << n).any(|bits| {
            let list: Vec<u128> = (0..n).map(|i| (bits >> i & 1).into()).collect();
            let mut wires = rows(&list, 1);
            let mut seen = 0;
            let mut exchange = |engine: &mut Clear, _: &[Run], low: &[Bits], high: &[Bits]| {
                seen += 1;
                if seen == missing + 1 {
                    return Ok(low.iter().map(|row| row.xor(row)).collect());
                }
                sorter_differences(engine, greater, low, high)
            };
            sort_range(&mut Clear::with_chunk(1), &mut wires, 0..n, &mut exchange).unwrap();
            numbers(&wires) != sorted(list)
        });
        assert!(fails, "2-sorter {missing}");
    }
}
