use std::collections::HashSet;

use vesica_crypto::band::{Row, Wide};
use vesica_crypto::prg::Prg;

use super::rows::Rows;
use super::*;

fn pairs<V: Value>(count: usize, seed: u8) -> (Vec<Block>, Vec<V>) {
    let mut rng = Prg::from_seed([seed; 16]);
    let (mut keys, mut values) = (vec![Block::ZERO; count], vec![V::ZERO; count]);
    rng.fill_blocks(&mut keys);
    V::randomise(&mut values, &mut rng);
    (keys, values)
}

fn decoded<O: Okvs, V: Value>(store: &O, table: &[V], keys: &[Block]) -> Vec<V> {
    let mut values = vec![V::ZERO; keys.len()];
    store.decode(1, table, keys, &mut values);
    values
}

fn decodes<O: Okvs, V: Value>(count: usize) {
    let (keys, values) = pairs::<V>(count, 3);
    let store = O::new(count, Block::from(count as u128)).unwrap();
    let mut rng = Prg::from_seed([4; 16]);
    for free in [Free::Zero, Free::Random(&mut rng)] {
        let table = store.encode(1, &keys, &values, free).unwrap();
        assert_eq!(table.len(), store.columns());
        assert!(decoded(&store, &table, &keys) == values, "{count} keys");
    }
}

#[test]
fn what_is_encoded_is_decoded() {
    for count in (0..70).chain([100, 511, 512, 513, 1000, 3000, 5000]).chain([40_000, 80_000]) {
        decodes::<Band128, u64>(count);
        decodes::<Band128, Block>(count);
        decodes::<Band128, Wide<3>>(count);
        decodes::<Band256, Block>(count);
        decodes::<Band512, u64>(count);
        decodes::<ThreeHash, u64>(count);
        decodes::<ThreeHash, Block>(count);
    }
}

#[test]
fn a_large_band_and_many_foreign_keys() {
    // Several chunks and segments, and another number of keys to decode than to encode.
    decodes::<Band128, u64>(700_000);
    decodes::<ThreeHash, u64>(700_000);
    for (mine, theirs) in [(10, 600_000), (20_000, 600_000), (600_000, 10)] {
        let (keys, values) = pairs::<Block>(mine.max(theirs), 8);
        let store = Band128::new(mine, Block::ONES).unwrap();
        let table = store.encode(1, &keys[..mine], &values[..mine], Free::Zero).unwrap();
        let found = decoded(&store, &table, &keys[..theirs]);
        let both = mine.min(theirs);
        assert!(found[..both] == values[..both]);
        assert!(found[both..].iter().zip(&values[both..]).all(|(found, value)| found != value));
    }
}

fn same_on_any_number_of_threads<O: Okvs>() {
    let (mut keys, mut values) = pairs::<u64>(600_000, 5);
    let store = O::new(keys.len(), Block::ONES).unwrap();
    let table = |threads, keys: &[Block], values: &[u64]| {
        let mut rng = Prg::from_seed([6; 16]);
        store.encode(threads, keys, values, Free::Random(&mut rng)).unwrap()
    };
    let one = table(1, &keys, &values);
    for threads in [2, 3] {
        assert!(table(threads, &keys, &values) == one, "{threads} threads");
        let mut found = vec![0; keys.len()];
        store.decode(threads, &one, &keys, &mut found);
        assert!(found == values, "{threads} threads");
    }
    keys.reverse();
    values.reverse();
    keys[1000..].reverse();
    values[1000..].reverse();
    let other_order = table(1, &keys, &values);
    assert!(decoded(&store, &other_order, &keys) == values);
}

#[test]
fn threads_do_not_change_the_table() {
    same_on_any_number_of_threads::<Band128>();
    same_on_any_number_of_threads::<ThreeHash>();
}

#[test]
fn the_order_of_the_pairs_does_not_change_a_band() {
    let (mut keys, mut values) = pairs::<u64>(10_000, 5);
    let store = Band128::new(keys.len(), Block::ONES).unwrap();
    let table = |keys: &[Block], values: &[u64]| {
        store.encode(1, keys, values, Free::Random(&mut Prg::from_seed([6; 16]))).unwrap()
    };
    let one = table(&keys, &values);
    keys.reverse();
    values.reverse();
    assert!(table(&keys, &values) == one);
}

fn decoding_is_linear<O: Okvs>() {
    let (keys, values) = pairs::<Block>(3000, 7);
    let (_, others) = pairs::<Block>(3000, 8);
    let store = O::new(keys.len(), Block::ONES).unwrap();
    let [one, other] = [&values, &others].map(|values| store.encode(1, &keys, values, Free::Zero).unwrap());
    let sum: Vec<Block> = one.iter().zip(&other).map(|(a, b)| *a ^ *b).collect();
    let (foreign, _) = pairs::<Block>(500, 9);
    for keys in [&keys, &foreign] {
        let [of_one, of_other, of_sum] = [&one, &other, &sum].map(|table| decoded(&store, table, keys));
        assert!(of_sum.iter().zip(of_one.iter().zip(&of_other)).all(|(sum, (a, b))| *sum == *a ^ *b));
    }
    // The encoding with zeros for the free columns is linear as well.
    let sums: Vec<Block> = values.iter().zip(&others).map(|(a, b)| *a ^ *b).collect();
    assert!(store.encode(1, &keys, &sums, Free::Zero).unwrap() == sum);
}

#[test]
fn decoding_and_encoding_are_linear() {
    decoding_is_linear::<Band128>();
    decoding_is_linear::<Band256>();
    decoding_is_linear::<ThreeHash>();
}

/// The columns that each key selects, told by decoding the unit vectors.
fn matrix<O: Okvs>(store: &O, keys: &[Block]) -> Vec<Vec<bool>> {
    let mut rows = vec![vec![false; store.columns()]; keys.len()];
    for column in (0..store.columns()).step_by(64) {
        let mut table = vec![0u64; store.columns()];
        table[column..].iter_mut().take(64).enumerate().for_each(|(bit, unit)| *unit = 1 << bit);
        for (row, found) in rows.iter_mut().zip(decoded(store, &table, keys)) {
            row[column..].iter_mut().take(64).enumerate().for_each(|(bit, one)| *one = found >> bit & 1 == 1);
        }
    }
    rows
}

/// Whether the rows are independent, by Gaussian elimination of the whole matrix.
fn independent(mut rows: Vec<Vec<bool>>) -> bool {
    let mut done = 0;
    for column in 0..rows.first().map_or(0, Vec::len) {
        let Some(pivot) = (done..rows.len()).find(|row| rows[*row][column]) else { continue };
        rows.swap(done, pivot);
        let (above, below) = rows.split_at_mut(done + 1);
        for row in below.iter_mut().filter(|row| row[column]) {
            row.iter_mut().zip(&above[done]).for_each(|(bit, other)| *bit ^= other);
        }
        done += 1;
    }
    done == rows.len()
}

#[test]
fn tables_satisfy_the_dense_system() {
    fn one<O: Okvs>(count: usize) {
        let (keys, values) = pairs::<u64>(count, 10);
        let store = O::new(count, Block::ONES).unwrap();
        let table = store.encode(1, &keys, &values, Free::Zero).unwrap();
        let rows = matrix(&store, &keys);
        assert!(independent(rows.clone()));
        for (row, value) in rows.iter().zip(&values) {
            let sum = row.iter().zip(&table).filter(|(one, _)| **one).fold(0, |sum, (_, value)| sum ^ value);
            assert_eq!(sum, *value);
        }
    }
    for count in [1, 2, 30, 300] {
        one::<Band128>(count);
        one::<Band256>(count);
        one::<Band512>(count);
        one::<ThreeHash>(count);
    }
}

#[test]
fn an_encoding_fails_when_the_rows_are_dependent_and_only_then() {
    let mut failures = 0;
    for seed in 0..200u128 {
        let (keys, values) = pairs::<u64>(60, 11);
        // Narrow bands at few places.
        let rows = Rows::<1>::new(66, Block::from(seed)).narrowed(9);
        let store = Band::with_rows(keys.len(), rows);
        let result = store.encode(1, &keys, &values, Free::Zero);
        assert_eq!(result.is_ok(), independent(matrix(&store, &keys)), "{seed}");
        failures += usize::from(result == Err(Error::Dependent));
    }
    assert!((20..180).contains(&failures), "{failures}");
}

/// Of `trials` encodings of `keys` keys at `starts` places with bands of `width` bits, how many fail.
fn failures(keys: usize, starts: usize, width: usize, trials: u128) -> u32 {
    let (all, values) = pairs::<u64>(keys, 12);
    (0..trials)
        .map(|seed| {
            let rows = Rows::<2>::new(starts as u32, Block::from(seed)).narrowed(width);
            u32::from(Band::with_rows(keys, rows).encode(2, &all, &values, Free::Zero).is_err())
        })
        .sum()
}

#[test]
fn narrow_bands_fail_as_often_as_was_simulated() {
    // Rates of BPSY23's construction found by simulation elsewhere: ε, width, rate.
    for (per_mille, width, rate) in [
        (1100, 48, 0.078),
        (1100, 56, 0.015),
        (1200, 28, 0.24),
        (1200, 32, 0.06),
        (1200, 36, 0.019),
        (1050, 80, 0.064),
        (1050, 92, 0.018),
    ] {
        let (keys, trials) = (1 << 14, 400);
        let starts = (keys * per_mille / 1000) - width;
        let found = f64::from(failures(keys, starts, width, trials)) / trials as f64;
        // Four standard deviations of the count, and the reference's own digits.
        let spread = 4.0 * (rate * (1.0 - rate) / trials as f64).sqrt() + 0.1 * rate;
        assert!((found - rate).abs() < spread, "{per_mille}, {width}: {found}");
        let bound = parameters::band_failure(width, keys, starts);
        assert!(found <= bound, "{per_mille}, {width}: {found}, {bound}");
    }
}

/// Of `trials` encodings into one cluster with so many sparse and dense columns, how many fail.
fn three_hash_failures(keys: usize, sparse: u32, dense: u32, trials: u128) -> f64 {
    let (all, values) = pairs::<u64>(keys, 18);
    let failed = (0..trials).filter(|seed| {
        let store = ThreeHash::narrowed(keys, sparse, dense, Block::from(*seed));
        store.encode(1, &all, &values, Free::Zero).is_err()
    });
    failed.count() as f64
}

#[test]
fn three_hashes_fail_whenever_the_rows_are_dependent() {
    let (mut failed, mut dependent) = (0, 0);
    for seed in 0..200u128 {
        let (keys, values) = pairs::<u64>(60, 11);
        let store = ThreeHash::narrowed(60, 70, 3, Block::from(seed));
        let result = store.encode(1, &keys, &values, Free::Zero);
        let independent = independent(matrix(&store, &keys));
        // Also where the gap has more rows than there are dense columns; never the other way round.
        assert!(result.is_err() || independent, "{seed}");
        failed += usize::from(result.is_err());
        dependent += usize::from(!independent);
    }
    assert!(dependent > 0 && dependent <= failed && failed < 200, "{dependent} {failed}");
    assert!(three_hash_failures(60, 70, 24, 200) < 10.0, "with dense columns for the gap");
}

#[test]
fn three_hashes_fail_as_seldom_as_the_fit_says() {
    // RR22's columns for λ = 2, 3, 5 instead of 41: e = 1.223 + (λ + 9.2)/s, and λ + ⌊λ/log2(e·n)⌋ dense ones over GF(2).
    let c = {
        let w = 3f64.log2();
        0.093 * w.powi(3) - 1.01 * w.powi(2) + 2.925 * w - 0.133
    };
    for (keys, lambda, trials) in [(1024usize, 2u32, 400), (1024, 3, 400), (4096, 3, 200), (1024, 5, 800)] {
        let slope = (0.555 * (keys as f64).log2() + c).exp2();
        let sparse = (keys as f64 * (1.223 + (f64::from(lambda) + 9.2) / slope)).ceil() as u32;
        let dense = lambda + lambda / sparse.ilog2();
        let failed = three_hash_failures(keys, sparse, dense, trials);
        let most = trials as f64 * 0.5f64.powi(lambda as i32);
        assert!(failed <= most + 4.0 * most.sqrt(), "{keys} keys, λ = {lambda}: {failed} of {trials}");
        // Without dense columns, and below the threshold of three hashes, failures are the rule.
        let bare = three_hash_failures(keys, sparse, 0, trials / 4);
        assert!(4.0 * bare * 4.0 >= failed, "{keys} keys: {bare} without dense columns");
        let crowded = three_hash_failures(keys, (keys as f64 * 1.15) as u32, dense, 20);
        assert!(crowded >= 19.0, "{keys} keys: {crowded} of 20 in too few columns");
    }
}

#[test]
fn failures_have_names() {
    let (mut keys, values) = pairs::<u64>(1000, 13);
    keys[700] = keys[31];
    let equal = Err(Error::DuplicateKeys { first: 31, second: 700 });
    assert_eq!(Band128::new(1000, Block::ONES).unwrap().encode(1, &keys, &values, Free::Zero), equal);
    assert_eq!(ThreeHash::new(1000, Block::ONES).unwrap().encode(1, &keys, &values, Free::Zero), equal);
    let many = Err(Error::TooManyKeys { keys: 1000, most: 999 });
    assert_eq!(Band128::new(999, Block::ONES).unwrap().encode(1, &keys, &values, Free::Zero), many);
    assert_eq!(ThreeHash::new(999, Block::ONES).unwrap().encode(1, &keys, &values, Free::Zero), many);
    assert!(Band256::new(usize::MAX, Block::ONES).is_err());
    assert!(ThreeHash::new(usize::MAX, Block::ONES).is_err());
}

#[test]
fn another_seed_gives_other_rows() {
    let (keys, _) = pairs::<u64>(64, 14);
    let rows_of = |seed: u128| {
        let rows = Rows::<2>::new(1 << 30, Block::from(seed));
        let mut starts = [0; 64];
        rows.start_of(&keys, &mut starts);
        let mut bands = [Row { start: 0, band: [0; 2] }; 64];
        rows.fill_bands(&keys, &mut bands);
        (starts, bands.map(|row| row.band))
    };
    let ((one, one_bands), (other, other_bands)) = (rows_of(1), rows_of(2));
    assert!(one.iter().zip(other).all(|(a, b)| *a != b));
    assert!(one_bands.iter().zip(other_bands).all(|(a, b)| *a != b));
    assert_eq!(HashSet::from(one).len(), 64);
    assert!(one_bands.iter().all(|band| band[0] & 1 == 1));
    // Bits other than the first are ones as often as not, starts spread over all places.
    let ones: u32 = one_bands.iter().flatten().map(|word| word.count_ones()).sum();
    assert!((3900..4300).contains(&ones), "{ones}");
    assert!(one.iter().any(|start| *start < 1 << 27) && one.iter().any(|start| *start > 7 << 27));
}

/// Tables for random values, with random free columns, are uniform: every bit of every column, whatever the keys.
fn free_columns_hide_the_keys<O: Okvs>() {
    let (keys, _) = pairs::<u64>(40, 15);
    let store = O::new(40, Block::ONES).unwrap();
    let mut rng = Prg::from_seed([16; 16]);
    let trials = 64u32;
    let mut counts = vec![[0u32; 64]; store.columns()];
    for _ in 0..trials {
        let mut values = vec![0u64; 40];
        u64::randomise(&mut values, &mut rng);
        let table = store.encode(1, &keys, &values, Free::Random(&mut rng)).unwrap();
        for (counts, value) in counts.iter_mut().zip(&table) {
            counts.iter_mut().enumerate().for_each(|(bit, count)| *count += (value >> bit & 1) as u32);
        }
    }
    // Each count is binomial: mean 32, deviation 4. Column sums of 64 of them: 2048, 32.
    for (column, counts) in counts.iter().enumerate() {
        let sum: u32 = counts.iter().sum();
        assert!((2048 - 200..2048 + 200).contains(&sum), "column {column}: {sum}");
        assert!(counts.iter().all(|count| (5..60).contains(count)), "column {column}");
    }
    let squares: f64 = counts.iter().flatten().map(|count| (f64::from(*count) - 32.0).powi(2)).sum();
    let variance = squares / (counts.len() * 64) as f64;
    assert!((15.0..17.0).contains(&variance), "{variance}");
}

#[test]
fn oblivious_tables_are_uniform() {
    free_columns_hide_the_keys::<Band128>();
    free_columns_hide_the_keys::<ThreeHash>();
}

#[test]
fn without_random_values_free_columns_are_zero() {
    let (keys, values) = pairs::<u64>(5, 17);
    let store = Band128::new(5, Block::ONES).unwrap();
    let table = store.encode(1, &keys, &values, Free::Zero).unwrap();
    assert_eq!(table.iter().filter(|value| **value != 0).count(), 5);
}
