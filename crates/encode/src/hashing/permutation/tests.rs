use super::*;
use crate::hashing::bins::ItemBins;
use crate::hashing::cuckoo;
use crate::hashing::parameters::two_way;
use std::collections::HashSet;
use vesica_crypto::prg::Prg;
use vesica_crypto::security::STATISTICAL_SECURITY;

fn permutation(sigma: u32, layout: Layout) -> Permutation {
    Permutation::new(&Context::new(&[1; 32], "test", b"", 1, 1), sigma, layout)
}

/// The definition, one function at a time.
impl Permutation {
    /// Replaces items by their remainders under `function`; `bins` become their bins.
    fn evaluate(&self, function: usize, items: &mut [u128], bins: &mut [u32]) {
        assert!(function < self.layout.functions() && items.len() == bins.len(), "a bin for every item");
        for (items, bins) in items.chunks_mut(BATCH).zip(bins.chunks_mut(BATCH)) {
            self.checked(items);
            match self.short_range() {
                Some(range) => self.evaluate_batch(range, function, items, bins),
                None => self.evaluate_batch(self.remainders, function, items, bins),
            }
        }
    }

    fn evaluate_batch<R: Remainder>(&self, range: R, function: usize, items: &mut [u128], bins: &mut [u32]) {
        let mut pairs = self.split(items);
        self.permute(range, &mut pairs, function);
        for (item, remainder) in items.iter_mut().zip(pairs.remainders) {
            *item = remainder.into();
        }
        for (bin, offset) in bins.iter_mut().zip(pairs.offsets) {
            *bin = self.layout.bin(function, offset as u32);
        }
    }
}

#[test]
fn bin_and_remainder_belong_to_one_item_and_function() {
    // All items of a domain, also where bins are more than items, and with every function.
    for (sigma, functions, bins) in [(12, 3, 1000), (14, 2, 300), (10, 3, 5000), (12, 1, 1), (13, 4, 16)] {
        let permutation = permutation(sigma, Layout::new(functions, bins));
        let mut seen = HashSet::new();
        for function in 0..functions {
            let mut values: Vec<u128> = (0..1 << sigma).collect();
            let mut bins = vec![0; values.len()];
            permutation.evaluate(function, &mut values, &mut bins);
            for (remainder, bin) in values.into_iter().zip(bins) {
                assert_eq!(permutation.layout().function_of(bin as usize), function);
                assert!(remainder < permutation.remainders());
                assert!(seen.insert((bin, remainder)));
            }
        }
    }
}

#[test]
fn remainders_are_shorter_by_the_bits_of_a_bin() {
    for (sigma, functions, bins, bits) in [
        (32, 2, 5 << 19, 12),
        (32, 3, 3 << 20, 13),
        (64, 3, (3 << 20) + 3, 44),
        (128, 2, 2 << 24, 105),
        (20, 3, 3 << 20, 7),
    ] {
        let permutation = permutation(sigma, Layout::new(functions, bins));
        assert_eq!(permutation.bits(), bits);
        let mut items = [u128::MAX >> (128 - sigma), 0];
        permutation.evaluate(functions - 1, &mut items, &mut [0; 2]);
        assert!(items.into_iter().all(|remainder| remainder < permutation.vacant()));
        assert_eq!(permutation.vacant() >> bits, 0);
    }
}

#[test]
fn bins_are_what_evaluate_says_for_any_number_of_threads() {
    // Remainders of one byte to sixteen.
    for sigma in [15, 24, 40, 45, 70, 128] {
        bins_are_what_evaluate_says(sigma);
    }
}

fn bins_are_what_evaluate_says(sigma: u32) {
    let permutation = permutation(sigma, Layout::new(3, 9000));
    let value = |index: usize| (index as u128).wrapping_mul(u128::MAX / 7) >> (128 - sigma);
    let mut all: Vec<BinAssignments> =
        [1, 3].iter().map(|threads| permutation.place(*threads, 20_011, value)).collect();
    // By pieces, into room for more.
    let mut pieces = BinAssignments::with_room(&permutation, 30_000);
    for first in (0..20_011).step_by(4100) {
        pieces.extend(&permutation, 2, 4100.min(20_011 - first), |i| value(first + i));
    }
    all.push(pieces);
    for function in 0..3 {
        let mut items: Vec<u128> = (0..20_011).map(value).collect();
        let mut bins = vec![0; items.len()];
        permutation.evaluate(function, &mut items, &mut bins);
        for assignments in &all {
            let (width, mut bytes) = (assignments.width(), vec![9; 3]);
            // Backwards, and none in the place of every seventh.
            let item = |i: usize| (!i.is_multiple_of(7)).then_some((20_010 - i) as u32);
            assignments.remainders(function, 20_011, item, permutation.vacant(), &mut bytes);
            assert_eq!(bytes.len(), 20_011 * width);
            for (i, bytes) in bytes.chunks(width).enumerate() {
                let remainder = item(i).map_or(permutation.vacant(), |item| items[item as usize]);
                assert_eq!(*bytes, remainder.to_le_bytes()[..width]);
            }
            assert!(assignments.remainders_under(function).eq(items.iter().copied()));
            for (item, bin) in bins.iter().enumerate() {
                assert_eq!(
                    (assignments.bins_of(item)[function], assignments.bin_of(item, function)),
                    (*bin, *bin)
                );
            }
        }
    }
    assert_eq!(permutation.place(1, 0, value).items(), 0);
}

#[test]
fn another_context_is_another_permutation() {
    let layout = Layout::new(3, 3000);
    let bins = |sid: u8| {
        let context = Context::new(&[sid; 32], "test", b"", 1, 1);
        Permutation::new(&context, 32, layout).place(1, 64, |item| item as u128).bins
    };
    assert!(bins(1) == bins(1) && bins(1) != bins(2));
}

/// PSSZ15 §4 to the letter, with h functions on one table and no index of the function: bin x_L ⊕ f_i(x_R),
/// value x_R.
#[test]
fn without_the_function_in_it_a_value_belongs_to_several_items() {
    let f = |function: u32, right: u32| (right * 7 + function * 13) % 64;
    let paper = |x: u32, function: u32| ((x >> 6) ^ f(function, x & 63), x & 63);
    // x′ = x with x_L ⊕ f_0(x_R) ⊕ f_1(x_R) in place of x_L: two items, one bin, one value.
    let x = 45 << 6 | 9;
    let other = (45 ^ f(0, 9) ^ f(1, 9)) << 6 | 9;
    assert_ne!(x, other);
    assert_eq!(paper(x, 0), paper(other, 1));
    // Every item has such a partner there; here, over the whole domain, none does.
    let partners = (0..1u32 << 12).filter(|x| {
        let partner = ((x >> 6) ^ f(0, x & 63) ^ f(1, x & 63)) << 6 | x & 63;
        partner != *x && paper(*x, 0) == paper(partner, 1)
    });
    assert_eq!(partners.count(), 1 << 12);
    bin_and_remainder_belong_to_one_item_and_function();
}

#[test]
fn one_round_would_move_ranges_of_items_as_a_whole() {
    // 16 ranges of 256 items, each with one R, 300 times with fresh functions, and the stash that is never
    // exceeded.
    let parameters = two_way(4096, STATISTICAL_SECURITY);
    let layout = parameters.layout;
    let segment = layout.segment();
    let item = |i: usize| (i / 256 * 9) as u128 * u128::from(segment) + (i % 256) as u128;
    let fails = |assignments: BinAssignments| {
        usize::from(cuckoo::Table::build(&assignments, parameters.stash).is_err())
    };
    let (mut paper, mut ours) = (0, 0);
    for seed in 0..300 {
        let mut rng = Prg::fork([6; 16], seed);
        let f: Vec<u32> = (0..16 * 2).map(|_| rng.block().to_u128() as u32 % segment).collect();
        let bins = (0..4096 * 2).map(|entry| {
            let (i, function) = (entry / 2, entry % 2);
            layout.bin(function, ((i % 256) as u32 + f[i / 256 * 2 + function]) % segment)
        });
        let bins = bins.collect();
        paper +=
            fails(BinAssignments { layout, room: 4096, items: 4096, bins, width: 1, remainders: Vec::new() });
        let context = Context::new(&[7; 32], "test", b"", seed, 1);
        ours += fails(Permutation::new(&context, 32, layout).place(1, 4096, item));
    }
    assert!(paper > 3 && ours == 0, "{paper} and {ours} failures");
}

#[test]
fn items_in_ranges_and_steps_are_spread_like_any_others() {
    // 4096 items of 16 to 32 bits that share few halves. One round would move each range as a whole: cuckoo
    // hashing into 1.27 n bins, or 2.4 n with two functions, would fail often.
    for (sigma, step, run) in [
        (16u32, 1u128, 4096u128),
        (20, 1, 64),
        (32, 1, 256),
        (32, 1 << 20, 4096),
        (32, 3251, 4096),
        (24, 16, 1024),
    ] {
        for (functions, bins) in [(3, 5202), (2, 9830)] {
            let permutation = permutation(sigma, Layout::new(functions, bins));
            let gap = (1u128 << sigma) / (4096 / run);
            let assignments = permutation.place(1, 4096, |i| {
                let (block, inside) = (i as u128 / run, i as u128 % run);
                (block * gap + inside * step) % (1 << sigma)
            });
            let table = cuckoo::Table::build(&assignments, 1);
            assert!(table.is_ok(), "{sigma} {step} {run} {functions}");
        }
    }
}
