//! Many records in one value, for an engine whose shuffle costs by the row.
//!
//! A *packed row* is a group's number and up to [`MOST`] records of that group, side by side. To count, records are *marks*:
//! 16 bytes for each digest, under a key that only the engine has. To play, they are items with their fingerprints, which are
//! the first half of the marks; their groups are the parts.
//!
//! Two different digests have one mark with probability n²/2^129, which is 2^-57 for 2^36 digests, so different marks count
//! different digests. Nobody can do better: who chooses keys does not know the key of the marks. The same holds for the two
//! halves of 16 bytes of an item ([`halves`]), by which an engine joins rows with matches: the items' key is tossed for after
//! both tables are fixed. Rows that somebody adds after the run would have to meet 16 bytes of a matched item.

use vesica_crypto::hash::Oracle;
use vesica_encode::items::Width;
use vesica_encode::parts::Parts;

use super::items::{fingerprints, keyed};

/// Most records of a packed row. So a row has a few kilobytes, and an engine that takes in thousands of them at once holds a
/// few tens of megabytes.
const MOST: usize = 128;

/// Bytes of a mark.
pub const MARK: usize = 16;

/// Entries of the table of digests seen last.
const SEEN: usize = 1 << 14;

/// Packed rows: the group of each, and where its records end among those of all rows.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The groups' numbers, ascending.
    pub groups: Vec<u32>,
    /// The number of records in the rows up to each one, itself included.
    pub ends: Vec<usize>,
}

/// Packed rows of marks.
#[derive(Debug, PartialEq, Eq)]
pub struct Marks {
    /// Group and end of each row.
    pub rows: Rows,
    /// [`MARK`] bytes a record.
    pub marks: Vec<u8>,
}

/// Packed rows of items; their groups are the parts.
#[derive(Debug, PartialEq, Eq)]
pub struct PackedItems {
    /// Part and end of each row.
    pub rows: Rows,
    /// As many bytes a record as a digest has.
    pub items: Vec<u8>,
    /// Eight bytes a record, an integer in little-endian order.
    pub fingerprints: Vec<u8>,
}

/// The marks of these digests under `key`, in as many groups. Digests repeated within a short distance are left out.
pub fn marks(key: &[u8; 32], groups: Parts, width: Width, digests: &[u8]) -> Marks {
    let marks = marked(key, width, &distinct(width, digests));
    let (marks, _) = marks.as_chunks::<MARK>();
    // The other half is added up as fingerprints.
    let group = |mark: &[u8; MARK]| {
        let half = mark.last_chunk().copied().map_or(0, u64::from_be_bytes);
        groups.of_prefix(half) as u32
    };
    let (order, rows) = pack(&marks.iter().map(group).collect::<Vec<u32>>(), groups.count());
    let marks: Vec<[u8; MARK]> = order.iter().map(|record| marks[*record as usize]).collect();
    Marks { rows, marks: marks.into_flattened() }
}

/// The items of these digests under `k` by their parts, with fingerprints under `key`. Digests repeated within a short
/// distance are left out.
pub fn pack_items(k: &[u8; 32], key: &[u8; 32], parts: Parts, width: Width, digests: &[u8]) -> PackedItems {
    let digests = distinct(width, digests);
    let (of, items) = keyed(k, parts, width, &digests);
    let fingerprints = fingerprints(key, width, &digests);
    let (order, rows) = pack(&of, parts.count());
    let mut packed = Vec::with_capacity(items.len());
    for record in &order {
        packed.extend_from_slice(&items[*record as usize * width.bytes()..][..width.bytes()]);
    }
    let fingerprints: Vec<[u8; 8]> =
        order.iter().map(|record| fingerprints[*record as usize].to_le_bytes()).collect();
    PackedItems { rows, items: packed, fingerprints: fingerprints.into_flattened() }
}

/// Counts different marks.
#[derive(Debug, Default)]
pub struct Distinct {
    /// The first `known` are different and in order.
    marks: Vec<u128>,
    known: usize,
}

impl Distinct {
    /// Takes in marks, side by side.
    pub fn add(&mut self, marks: &[u8]) {
        self.marks.extend(marks.as_chunks().0.iter().map(|mark| u128::from_le_bytes(*mark)));
        // Repeats take no more memory than what is different.
        if self.marks.len() > (2 * self.known).max(1 << 20) {
            self.sort();
        }
    }

    /// How many different marks there were, and the sum of their fingerprints modulo 2^64.
    pub fn count(&mut self) -> (usize, i64) {
        self.sort();
        let sum = self.marks.iter().fold(0, |sum: i64, mark| sum.wrapping_add(*mark as i64));
        (self.known, sum)
    }

    fn sort(&mut self) {
        self.marks.sort_unstable();
        self.marks.dedup();
        self.known = self.marks.len();
    }
}

/// Two halves of the first 16 bytes of each of these items, which lie side by side.
pub fn halves(width: Width, items: &[u8]) -> (Vec<i64>, Vec<i64>) {
    let half = |item: &[u8], at: usize| item[at..].first_chunk().copied().map_or(0, i64::from_le_bytes);
    items.chunks_exact(width.bytes()).map(|item| (half(item, 0), half(item, 8))).unzip()
}

/// How many of so many records each packed row has, if they are all of one group.
pub fn row_lengths(records: usize) -> impl Iterator<Item = usize> {
    (0..records).step_by(MOST).map(move |first| MOST.min(records - first))
}

/// The marks of these digests, side by side.
fn marked(key: &[u8; 32], width: Width, digests: &[u8]) -> Vec<u8> {
    let mut marks = vec![0; digests.len() / width.bytes() * MARK];
    Oracle::with_key(*key).hash_batch(digests, width.bytes(), &mut marks, MARK);
    marks
}

/// The digests without those that were seen shortly before, among the last [`SEEN`] or so.
fn distinct(width: Width, digests: &[u8]) -> Vec<u8> {
    let width = width.bytes();
    let mut seen: Vec<&[u8]> = vec![&[]; SEEN];
    let mut kept = Vec::with_capacity(digests.len());
    for digest in digests.chunks_exact(width) {
        let place = digest.first_chunk().map_or(0, |prefix| u64::from_le_bytes(*prefix) as usize % SEEN);
        if seen[place] != digest {
            seen[place] = digest;
            kept.extend_from_slice(digest);
        }
    }
    kept
}

/// The records in the order of their groups, and the rows that they make up.
fn pack(groups: &[u32], count: usize) -> (Vec<u32>, Rows) {
    let mut next = vec![0; count + 1];
    for group in groups {
        next[*group as usize + 1] += 1;
    }
    let mut rows = Rows::default();
    for group in 0..count {
        let mut end = next[group];
        for records in row_lengths(next[group + 1]) {
            end += records;
            rows.groups.push(group as u32);
            rows.ends.push(end);
        }
        next[group + 1] = end;
    }
    let mut order = vec![0; groups.len()];
    for (record, group) in (0..).zip(groups) {
        let place = &mut next[*group as usize];
        order[*place] = record;
        *place += 1;
    }
    (order, rows)
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    /// Digests of as many numbers, which repeat after `period`.
    fn digests(width: Width, count: usize, period: usize) -> Vec<u8> {
        let bytes: Vec<u8> = (0..count).flat_map(|i| ((i % period) as u64).to_le_bytes()).collect();
        let mut digests = vec![0; count * width.bytes()];
        Oracle::derive_key("vesica test").hash_batch(&bytes, 8, &mut digests, width.bytes());
        digests
    }

    /// Each row's group, and the numbers of its records.
    fn each(rows: &Rows) -> impl Iterator<Item = (u32, std::ops::Range<usize>)> {
        let starts = std::iter::once(0).chain(rows.ends.iter().copied());
        rows.groups.iter().copied().zip(starts.zip(&rows.ends).map(|(start, end)| start..*end))
    }

    #[test]
    fn packed_items_are_the_items_of_their_parts() {
        for (width, parts) in [(Width::Digest128, 1), (Width::Digest256, 7), (Width::Digest256, 3000)] {
            let (k, key, parts) = ([3; 32], [4; 32], Parts::new(parts).unwrap());
            let digests = digests(width, 5000, 5000);
            let (of, items) = keyed(&k, parts, width, &digests);
            let fingerprints = fingerprints(&key, width, &digests);
            let expected: HashMap<&[u8], (u32, i64)> =
                items.chunks_exact(width.bytes()).zip(of.into_iter().zip(fingerprints)).collect();
            let packed = pack_items(&k, &key, parts, width, &digests);
            let mut found = HashMap::new();
            for (part, records) in each(&packed.rows) {
                assert!((1..=MOST).contains(&records.len()));
                for record in records {
                    let item = &packed.items[record * width.bytes()..][..width.bytes()];
                    let fingerprint = packed.fingerprints.as_chunks().0[record];
                    found.insert(item, (part, i64::from_le_bytes(fingerprint)));
                }
            }
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn different_marks_are_counted_wherever_they_come() {
        let (key, groups) = ([5; 32], Parts::new(9).unwrap());
        for width in [Width::Digest128, Width::Digest256] {
            let digests = digests(width, 3000, 1000);
            let mut counts: Vec<Distinct> = (0..9).map(|_| Distinct::default()).collect();
            // In batches, and the same ones twice.
            for batch in digests.chunks(700 * width.bytes()).chain(digests.chunks(1100 * width.bytes())) {
                let Marks { rows, marks } = marks(&key, groups, width, batch);
                for (group, records) in each(&rows) {
                    counts[group as usize].add(&marks[records.start * MARK..records.end * MARK]);
                }
            }
            let (items, sums): (Vec<usize>, Vec<i64>) = counts.iter_mut().map(Distinct::count).unzip();
            assert_eq!(items.iter().sum::<usize>(), 1000);
            let fingerprints = fingerprints(&key, width, &digests[..1000 * width.bytes()]);
            let sum = |of: Vec<i64>| of.into_iter().fold(0, i64::wrapping_add);
            assert_eq!(sum(sums), sum(fingerprints));
        }
    }

    #[test]
    fn a_count_sorts_now_and_then() {
        let mut count = Distinct::default();
        let marks: Vec<u8> = (0..1u128 << 18).flat_map(u128::to_le_bytes).collect();
        (0..40).for_each(|_| count.add(&marks));
        assert!(count.marks.capacity() <= 1 << 22);
        assert_eq!(count.count(), (1 << 18, ((1 << 18) - 1) << 17));
        assert_eq!(Distinct::default().count(), (0, 0));
    }

    #[test]
    fn repeats_nearby_are_left_out() {
        let width = Width::Digest256;
        assert_eq!(distinct(width, &digests(width, 5000, 1)).len(), width.bytes());
        let kept = distinct(width, &digests(width, 5000, 50));
        assert!(kept.len() < 500 * width.bytes());
        let kept: HashSet<&[u8]> = kept.chunks_exact(width.bytes()).collect();
        assert_eq!(kept.len(), 50);
    }

    #[test]
    fn halves_are_the_first_sixteen_bytes() {
        let items: Vec<u8> = (0..64).collect();
        let (first, second) = halves(Width::Digest256, &items);
        let bytes = |half: i64| half.to_le_bytes().to_vec();
        assert_eq!([bytes(first[1]), bytes(second[1])].concat(), items[32..48]);
        assert_eq!(halves(Width::Digest128, &items).0.len(), 4);
    }
}
