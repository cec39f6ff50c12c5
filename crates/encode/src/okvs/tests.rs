use std::collections::HashSet;

use vesica_crypto::band::XorValue;
use vesica_crypto::prg::Prg;

use super::rows::{EMPTY_ROW, RowHash};
use super::*;

fn pairs<V: XorValue>(count: usize, seed: u8) -> (Vec<Block>, Vec<V>) {
    let mut rng = Prg::from_seed([seed; 16]);
    let (mut keys, mut values) = (vec![Block::ZERO; count], vec![V::ZERO; count]);
    rng.fill_blocks(&mut keys);
    V::randomise(&mut values, &mut rng);
    (keys, values)
}

fn decoded<V: XorValue>(store: &Band, table: &[V], keys: &[Block]) -> Vec<V> {
    let mut values = vec![V::ZERO; keys.len()];
    store.decode(1, table, keys, &mut values);
    values
}

/// The value of each key in the table, by way of sorted keys.
fn decoded_sorted(store: &Band, threads: usize, table: &[Block], keys: &[Block]) -> Vec<Block> {
    let sorted = store.sort_keys(threads, keys, &vec![(); keys.len()]);
    let within = store.sort_keys_within(threads, keys.to_vec(), vec![(); keys.len()]);
    let [one, other] = [sorted, within].map(|sorted| store.decode_sorted(threads, table, sorted));
    assert!(*one.outputs == *other.outputs && one.numbers == other.numbers, "in whichever memory");
    other.in_order().into_vec()
}

fn decodes<V: XorValue>(count: usize) {
    let (keys, values) = pairs::<V>(count, 3);
    let store = Band::new(count, Block::from(count as u128)).unwrap();
    let table = store.encode(1, &keys, &values).unwrap();
    assert_eq!(table.len(), store.columns());
    assert!(decoded(&store, &table, &keys) == values, "{count} keys");
}

#[test]
fn what_is_encoded_is_decoded() {
    for count in (0..70).chain([100, 511, 512, 513, 1000, 3000, 5000]).chain([40_000, 80_000]) {
        decodes::<u64>(count);
        decodes::<Block>(count);
    }
}

#[test]
fn a_large_band_and_many_foreign_keys() {
    // Several chunks and segments, and another number of keys to decode than to encode.
    decodes::<u64>(700_000);
    for (mine, theirs) in [(10, 600_000), (20_000, 600_000), (600_000, 10)] {
        let (keys, values) = pairs::<Block>(mine.max(theirs), 8);
        let store = Band::new(mine, Block::ONES).unwrap();
        let table = store.encode(1, &keys[..mine], &values[..mine]).unwrap();
        let found = decoded(&store, &table, &keys[..theirs]);
        let both = mine.min(theirs);
        assert!(found[..both] == values[..both]);
        assert!(found[both..].iter().zip(&values[both..]).all(|(found, value)| found != value));
        assert!(decoded_sorted(&store, 1, &table, &keys[..theirs]) == found);
    }
}

#[test]
fn threads_do_not_change_the_table() {
    let (mut keys, mut values) = pairs::<Block>(600_000, 5);
    let store = Band::new(keys.len(), Block::ONES).unwrap();
    let table = |threads, keys: &[Block], values: &[Block]| store.encode(threads, keys, values).unwrap();
    let one = table(1, &keys, &values);
    for threads in [2, 3] {
        assert!(table(threads, &keys, &values) == one, "{threads} threads");
        let mut found = vec![Block::ZERO; keys.len()];
        store.decode(threads, &one, &keys, &mut found);
        assert!(found == values, "{threads} threads");
        assert!(decoded_sorted(&store, threads, &one, &keys) == values, "{threads} threads");
    }
    keys.reverse();
    values.reverse();
    keys[1000..].reverse();
    values[1000..].reverse();
    let other_order = table(1, &keys, &values);
    assert!(decoded(&store, &other_order, &keys) == values);
}

#[test]
fn the_order_of_the_pairs_does_not_change_a_band() {
    let (mut keys, mut values) = pairs::<u64>(10_000, 5);
    let store = Band::new(keys.len(), Block::ONES).unwrap();
    let one = store.encode(1, &keys, &values).unwrap();
    keys.reverse();
    values.reverse();
    assert!(store.encode(1, &keys, &values).unwrap() == one);
}

#[test]
fn decoding_and_encoding_are_linear() {
    let (keys, values) = pairs::<Block>(3000, 7);
    let (_, others) = pairs::<Block>(3000, 8);
    let store = Band::new(keys.len(), Block::ONES).unwrap();
    let [one, other] = [&values, &others].map(|values| store.encode(1, &keys, values).unwrap());
    let sum: Vec<Block> = one.iter().zip(&other).map(|(a, b)| *a ^ *b).collect();
    let (foreign, _) = pairs::<Block>(500, 9);
    for keys in [&keys, &foreign] {
        let [of_one, of_other, of_sum] = [&one, &other, &sum].map(|table| decoded(&store, table, keys));
        assert!(of_sum.iter().zip(of_one.iter().zip(&of_other)).all(|(sum, (a, b))| *sum == *a ^ *b));
    }
    let sums: Vec<Block> = values.iter().zip(&others).map(|(a, b)| *a ^ *b).collect();
    assert!(store.encode(1, &keys, &sums).unwrap() == sum);
}

/// The columns that each key selects, found by decoding the unit vectors.
fn matrix(store: &Band, keys: &[Block]) -> Vec<Vec<bool>> {
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
    for count in [1, 2, 30, 300] {
        let (keys, values) = pairs::<u64>(count, 10);
        let store = Band::new(count, Block::ONES).unwrap();
        let table = store.encode(1, &keys, &values).unwrap();
        let rows = matrix(&store, &keys);
        assert!(independent(rows.clone()));
        for (row, value) in rows.iter().zip(&values) {
            let sum = row.iter().zip(&table).filter(|(one, _)| **one).fold(0, |sum, (_, value)| sum ^ value);
            assert_eq!(sum, *value);
        }
    }
}

#[test]
fn an_encoding_fails_when_the_rows_are_dependent_and_only_then() {
    let mut failures = 0;
    for seed in 0..200u128 {
        let (keys, values) = pairs::<u64>(60, 11);
        // Narrow bands that start at few columns.
        let rows = RowHash::new(66, Block::from(seed)).narrowed(9);
        let store = Band::with_rows(keys.len(), rows);
        let result = store.encode(1, &keys, &values);
        assert_eq!(result.is_ok(), independent(matrix(&store, &keys)), "{seed}");
        failures += usize::from(result == Err(Error::Dependent));
    }
    assert!((20..180).contains(&failures), "{failures}");
}

/// Encodes `keys` keys `trials` times, with bands of `width` bits that start at `starts` columns; how often
/// it fails.
fn failures(keys: usize, starts: usize, width: usize, trials: u128) -> u32 {
    let (all, values) = pairs::<u64>(keys, 12);
    (0..trials)
        .map(|seed| {
            let rows = RowHash::new(starts as u32, Block::from(seed)).narrowed(width);
            u32::from(Band::with_rows(keys, rows).encode(2, &all, &values).is_err())
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
        let bound = parameters::band_failure(width, keys as u64, starts as u64);
        assert!(found <= bound, "{per_mille}, {width}: {found}, {bound}");
    }
}

#[test]
fn failures_have_names() {
    let (mut keys, values) = pairs::<u64>(1000, 13);
    keys[700] = keys[31];
    let equal = Err(Error::DuplicateKeys { first: 31, second: 700 });
    assert_eq!(Band::new(1000, Block::ONES).unwrap().encode(1, &keys, &values), equal);
    let many = Err(Error::TooManyKeys { keys: 1000, most: 999 });
    assert_eq!(Band::new(999, Block::ONES).unwrap().encode(1, &keys, &values), many);
    assert!(Band::new(usize::MAX, Block::ONES).is_err());
}

#[test]
fn another_seed_gives_other_rows() {
    let (keys, _) = pairs::<u64>(64, 14);
    let rows_of = |seed: u128| {
        let rows = RowHash::new(1 << 30, Block::from(seed));
        let mut starts = [0; 64];
        rows.start_of(&keys, &mut starts);
        let mut bands = [EMPTY_ROW; 64];
        rows.fill_bands(&keys, &mut bands);
        (starts, bands.map(|row| row.band))
    };
    let ((one, one_bands), (other, other_bands)) = (rows_of(1), rows_of(2));
    assert!(one.iter().zip(other).all(|(a, b)| *a != b));
    assert!(one_bands.iter().zip(other_bands).all(|(a, b)| *a != b));
    assert_eq!(HashSet::from(one).len(), 64);
    assert!(one_bands.iter().all(|band| band[0] & 1 == 1));
    // Bits other than the first are ones as often as not, and starts spread over all columns.
    let ones: u32 = one_bands.iter().flatten().map(|word| word.count_ones()).sum();
    assert!((3900..4300).contains(&ones), "{ones}");
    assert!(one.iter().any(|start| *start < 1 << 27) && one.iter().any(|start| *start > 7 << 27));
}

#[test]
fn columns_without_a_row_are_zero() {
    let (keys, values) = pairs::<u64>(5, 17);
    let store = Band::new(5, Block::ONES).unwrap();
    let table = store.encode(1, &keys, &values).unwrap();
    assert_eq!(table.iter().filter(|value| **value != 0).count(), 5);
}

#[test]
fn an_oblivious_table_holds_the_values_and_is_random_elsewhere() {
    for count in [0, 1, 5, 1000, 80_000] {
        let (keys, values) = pairs::<u64>(count, 18);
        let store = Band::new(count, Block::ONES).unwrap();
        let mut rng = Prg::from_seed([1; 16]);
        let [one, other] =
            [1, 2].map(|threads| store.encode_oblivious(threads, &keys, &values, &mut rng).unwrap());
        assert!(decoded(&store, &one, &keys) == values && decoded(&store, &other, &keys) == values);
        // Every column that the rows leave free, and so every column, differs from one table to the next.
        assert!(one.iter().zip(&other).all(|(one, other)| *one != 0 && one != other), "{count} keys");
    }
}
