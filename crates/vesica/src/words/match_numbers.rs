//! Numbers of the common keys, the same on both sides, so that the two outputs can be joined (`--match-id`).
//!
//! Both sides know the common keys, since both learn the result. They number them from 1 in the order of a keyed hash of the
//! items, under a key of this session. So a number depends only on what both sides know: it tells neither side anything
//! about the other's rows, their order, or the rest of the table. The order is random for anybody without the session id,
//! and new in every run: the numbers reveal nothing about the keys, and cannot join files of different runs.

use vesica_encode::items::{Items, Matches};

/// The domain of the key, in which the session id is hashed.
const DOMAIN: &str = "vesica match numbers v1";

/// The number of each matching row, in the order of [`Matches::rows`]. `sid` is the session's.
pub(crate) fn numbers(sid: &[u8; 32], items: &Items, matches: &Matches) -> Vec<u64> {
    let key = blake3::derive_key(DOMAIN, sid);
    let rows = matches.rows();
    // If one row of an item matches, all its rows match.
    let is_match =
        |item: &usize| items.rows_of(*item).next().is_some_and(|row| rows.binary_search(&row).is_ok());
    let hashed = |item: usize| (*blake3::keyed_hash(&key, items.get(item)).as_bytes(), item);
    let mut common: Vec<([u8; 32], usize)> = (0..items.len()).filter(is_match).map(hashed).collect();
    common.sort_unstable();
    let mut numbers = vec![0; rows.len()];
    for (number, (_, item)) in (1..).zip(common) {
        for row in items.rows_of(item) {
            if let Ok(at) = rows.binary_search(&row) {
                numbers[at] = number;
            }
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use vesica_encode::items::{Encoding, ItemsBuilder, KeyEncoder, OnDuplicates, Width};

    use super::*;

    fn items(keys: &[&str]) -> Items {
        let mut builder = ItemsBuilder::new(Encoding::Digest(Width::Digest128), keys.len()).unwrap();
        for (row, key) in (0..).zip(keys) {
            let mut encoder = KeyEncoder::new(1).unwrap();
            encoder.part(key.as_bytes()).unwrap();
            builder.push(row, encoder.canonical().unwrap()).unwrap();
        }
        builder.build(OnDuplicates::All).unwrap()
    }

    /// The keys by number, of a table in which these match.
    fn by_number(sid: u8, keys: &[&str], common: &[&str]) -> Vec<(u64, String)> {
        let items = items(keys);
        let rows: Vec<u64> =
            (0..).zip(keys).filter(|(_, key)| common.contains(key)).map(|(row, _)| row).collect();
        let matching = (0..items.len()).filter(|item| items.rows_of(*item).any(|row| rows.contains(&row)));
        let matches = items.matches(matching);
        assert_eq!(matches.rows(), rows);
        let numbers = numbers(&[sid; 32], &items, &matches);
        let mut found: Vec<_> = numbers
            .into_iter()
            .zip(rows)
            .map(|(number, row)| (number, keys[row as usize].to_owned()))
            .collect();
        found.sort();
        found
    }

    #[test]
    fn both_sides_number_alike_whatever_their_rows() {
        let common: Vec<String> = (0..40).map(|n| format!("common {n}")).collect();
        let common: Vec<&str> = common.iter().map(String::as_str).collect();
        let mine: Vec<&str> = ["mine", "also mine"].into_iter().chain(common.clone()).collect();
        let mut theirs: Vec<&str> = common.iter().rev().copied().chain(["theirs"]).collect();
        theirs.push(common[3]);
        let (mine, mut theirs) = (by_number(7, &mine, &common), by_number(7, &theirs, &common));
        theirs.dedup();
        assert_eq!(mine, theirs);
        assert!(mine.iter().map(|(number, _)| *number).eq(1..=40));
    }

    #[test]
    fn the_order_is_the_sessions_and_not_the_tables() {
        let keys: Vec<String> = (0..40).map(|n| n.to_string()).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let (one, other) = (by_number(1, &keys, &keys), by_number(2, &keys, &keys));
        let order = |found: Vec<(u64, String)>| found.into_iter().map(|(_, key)| key).collect::<Vec<_>>();
        let (one, other) = (order(one), order(other));
        assert_ne!(one, other);
        // Neither the order of the rows, nor that of the items' bytes, which a partner could know.
        let items = items(&keys);
        let by_item: Vec<_> =
            (0..items.len()).flat_map(|item| items.rows_of(item)).map(|row| keys[row as usize]).collect();
        for order in [one, other] {
            assert!(order != keys && order != by_item);
        }
    }
}
