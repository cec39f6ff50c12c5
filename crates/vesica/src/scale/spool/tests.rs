use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use vesica_encode::items::Matches;
use vesica_encode::items::Split;
use vesica_encode::parts::Parts;
use vesica_table::{RowBitmap, RowMarks};

use super::count::Counts;
use super::*;

const KEY: [u8; 32] = [9; 32];
/// Too small a budget for large blocks.
const PLAN: MemoryPlan = MemoryPlan::new(128 << 20, 0);
const WIDTHS: [Width; 2] = [Width::Digest128, Width::Digest256];
const POLICIES: [OnDuplicates; 2] = [OnDuplicates::All, OnDuplicates::First];

fn go(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn rng(seed: u64) -> StdRng {
    StdRng::seed_from_u64(seed)
}

/// Rows of a table: numbers, of which some have no key, and the digests of the others.
type Rows = Vec<(u64, Vec<u8>)>;

/// A table of so many rows with about so many different keys.
fn rows(count: u64, keys: u64, width: Width, seed: u64) -> Rows {
    let mut rng = rng(seed);
    let digest = |key: u64| blake3::hash(&key.to_le_bytes()).as_bytes()[..width.bytes()].to_vec();
    let with_key = (0..count).filter(|row| row % 11 != 5);
    // Some keys are much more frequent than others.
    with_key.map(|row| (row, digest(rng.random_range(0..keys) * rng.random_range(0..2)))).collect()
}

fn in_memory(rows: &Rows, width: Width, on_duplicates: OnDuplicates) -> Result<Items, ItemsError> {
    let mut builder = ItemsBuilder::new(Encoding::Digest(width), 0)?;
    rows.iter().for_each(|(row, digest)| builder.push_digest(*row, digest).unwrap());
    builder.build(on_duplicates)
}

struct Folder {
    folder: tempfile::TempDir,
    rng: StdRng,
}

impl Folder {
    fn new() -> Self {
        Folder { folder: tempfile::tempdir().unwrap(), rng: rng(1) }
    }

    fn disk(&mut self) -> Disk<'_> {
        Disk { named: Some(self.folder.path()), rng: &mut self.rng, plan: PLAN, learns: true, threads: 3 }
    }

    /// The keys of these rows, of which `room` may be in memory.
    fn keys(&mut self, rows: &Rows, width: Width, room: usize, policy: OnDuplicates) -> Keys {
        let mut spool = Spool::new(width, room, self.disk()).unwrap();
        assert!(rows.iter().all(|(row, digest)| spool.take(*row, digest).is_continue()));
        spool.finish(policy).unwrap()
    }

    fn spooled(&mut self, rows: &Rows, width: Width, policy: OnDuplicates) -> SpooledKeys {
        match self.keys(rows, width, rows.len() / 3, policy) {
            Keys::OnDisk(keys) => keys,
            Keys::InMemory(_) => panic!("there is too little room"),
        }
    }
}

/// Items on disk, as a table has them whose keys do not fit into memory.
pub(crate) fn spooled(items: &Items, folder: &Path) -> OnDisk {
    let width = if items.width() == 16 { Width::Digest128 } else { Width::Digest256 };
    let disk = Disk { named: Some(folder), rng: &mut rng(6), plan: PLAN, learns: true, threads: 1 };
    let mut rows: Rows = (0..items.len())
        .flat_map(|item| items.rows_of(item).map(move |row| (row, items.get(item).to_vec())))
        .collect();
    rows.sort_unstable();
    let mut spool = Spool::new(width, 1, disk).unwrap();
    assert!(rows.iter().all(|(row, digest)| spool.take(*row, digest).is_continue()));
    let Keys::OnDisk(keys) = spool.finish(OnDuplicates::All).unwrap() else { panic!("one key has room") };
    let rows = rows.last().map_or(0, |(row, _)| row + 1);
    OnDisk { keys, rows, items: items.len() as u64, plan: PLAN }
}

#[test]
fn what_fits_makes_no_file_and_is_what_it_always_was() {
    // A directory that does not exist is not even looked at.
    let disk = || PathBuf::from("/nowhere/at/all");
    for width in WIDTHS {
        let rows = rows(5000, 900, width, 1);
        for (room, fits) in [(rows.len() - 1, false), (rows.len(), true), (usize::MAX, true)] {
            let (named, mut rng) = (disk(), rng(1));
            let disk = Disk { named: Some(&named), rng: &mut rng, plan: PLAN, learns: true, threads: 3 };
            let mut spool = Spool::new(width, room, disk).unwrap();
            let taken = rows.iter().all(|(row, digest)| spool.take(*row, digest).is_continue());
            assert_eq!(taken, fits);
            if !fits {
                assert!(matches!(spool.error, Some(SpoolError::Spill(SpillError::Create { .. }))));
                continue;
            }
            let expected = in_memory(&rows, width, OnDuplicates::All).unwrap();
            let Keys::InMemory(items) = spool.finish(OnDuplicates::All).unwrap() else { panic!() };
            assert!(items.digests().eq(expected.digests()) && items.duplicates() == expected.duplicates());
        }
    }
}

#[test]
fn the_count_is_that_of_the_items_in_memory() {
    let mut folder = Folder::new();
    for width in WIDTHS {
        for (count, keys) in [(4, 1), (3000, 1), (3000, 40), (50_000, 30_000), (50_000, u64::MAX)] {
            let rows = rows(count, keys, width, count + keys);
            for policy in POLICIES {
                let expected = in_memory(&rows, width, policy).unwrap();
                let spooled = folder.spooled(&rows, width, policy);
                let counts = spooled.count(&mut go).unwrap();
                let (items, duplicates) = (expected.len() as u64, expected.duplicates());
                assert_eq!(counts, Counts { items, duplicates }, "{count} rows of {keys} keys");
                assert_eq!(spooled.rows(), rows.len() as u64);
            }
        }
    }
}

#[test]
fn duplicates_that_are_not_allowed_are_the_first_of_the_table() {
    let mut folder = Folder::new();
    for (count, keys) in [(50, 10), (20_000, 3000), (20_000, 60_000_000)] {
        for seed in 0..4 {
            let mut rows = rows(count, keys, Width::Digest256, seed);
            if keys > 1 << 20 {
                // Without the frequent key, there are next to no duplicates.
                let mut seen = BTreeSet::new();
                rows.retain(|(_, digest)| seen.insert(digest.clone()));
            }
            let expected = in_memory(&rows, Width::Digest256, OnDuplicates::Error);
            let counted = folder.spooled(&rows, Width::Digest256, OnDuplicates::Error).count(&mut go);
            match (expected, counted) {
                (Ok(items), Ok(counts)) => assert_eq!(counts.items, items.len() as u64),
                (
                    Err(ItemsError::Duplicate { first, second }),
                    Err(SpoolError::Duplicate { first: a, second: b }),
                ) => assert_eq!((a, b), (first, second)),
                other => panic!("{other:?}"),
            }
        }
    }
}

/// The matches of a part's items that are among `theirs`.
fn matches(items: &Items, theirs: &BTreeSet<Vec<u8>>) -> Matches {
    items.matches((0..items.len()).filter(|item| theirs.contains(items.get(*item))))
}

#[test]
fn parts_and_rows_are_those_of_the_items_in_memory() {
    let mut folder = Folder::new();
    for (width, policy) in WIDTHS.into_iter().flat_map(|width| POLICIES.map(|policy| (width, policy))) {
        for (count, keys, parts) in [(3, 1, 1), (4000, 700, 3), (40_000, 30_000, 16), (40_000, 2, 5)] {
            let rows = rows(count, keys, width, count);
            let last = rows.last().map_or(0, |(row, _)| row + 1);
            let parts = Parts::new(parts).unwrap();
            let mut items = in_memory(&rows, width, policy).unwrap();
            let padded = items.len() + 50;
            items.pad(padded, &mut rng(2)).unwrap();
            let expected = Split::new(&items, &KEY, parts).unwrap();
            let spooled = folder.spooled(&rows, width, policy);
            let files = spooled.split(&KEY, parts, padded as u64, Block::SMALL, &mut go).unwrap();

            let (mut of_parts, found, mut found_items) = (Vec::new(), RowMarks::new(last), 0);
            for part in 0..parts.count() {
                let seed = || rng(part as u64);
                let (mine, theirs) =
                    (files.part(part, &mut seed()).unwrap(), expected.part(part, &mut seed()).unwrap());
                assert!(mine.len() == expected.bound() && mine.digests().eq(theirs.digests()));
                // About half of the items, of dummies as well.
                let wanted: BTreeSet<Vec<u8>> =
                    theirs.digests().filter(|item| item[11] < 128).map(<[u8]>::to_vec).collect();
                of_parts.push(matches(&theirs, &wanted));
                // An earlier attempt, whose result does not count.
                let earlier =
                    files.keep(&mine, &matches(&mine, &theirs.digests().map(<[u8]>::to_vec).collect()));
                let kept = files.keep(&mine, &matches(&mine, &wanted)).unwrap();
                drop(earlier.unwrap());
                found_items += kept.items();
                files.mark(part, &kept, &found).unwrap();
            }
            let (expected, found) = (expected.matches(of_parts), RowBitmap::from(found));
            assert!(found.iter().eq(expected.rows().iter().copied()), "{count} rows of {keys} keys");
            assert_eq!(found_items, expected.items() as u64);
            assert!(keys < 100 || !found.is_empty());
        }
    }
}

#[test]
fn the_disk_holds_one_copy_and_a_little() {
    let mut folder = Folder::new();
    let rows = rows(200_000, u64::MAX, Width::Digest256, 7);
    let spooled = folder.spooled(&rows, Width::Digest256, OnDuplicates::All);
    let spill = spooled.spill.clone();
    let written = spill.usage().written;
    let counts = spooled.count(&mut go).unwrap();
    let files = spooled.split(&KEY, Parts::new(4).unwrap(), counts.items, Block::LARGE, &mut go).unwrap();
    let usage = spill.usage();
    // What the contract of the formula is: written twice, read once to count and once to split.
    assert!(usage.written < 2 * written && usage.read == 2 * written);
    let bound = bytes_on_disk(rows.len() as u64, Width::Digest256, Block::SMALL, false);
    let slack = written / 20 + (BUCKETS * Block::SMALL.bytes()) as u64;
    assert!(written <= bound && bound < written + slack, "{written} of {bound}");
    // If all keys match.
    let kept = (0..4).map(|part| {
        let items = files.part(part, &mut rng(part as u64)).unwrap();
        files.keep(&items, &items.matches(0..items.len())).unwrap()
    });
    assert_eq!(kept.map(|kept| kept.items()).sum::<u64>(), counts.items);
    let matched = spill.usage().written - usage.written;
    let with_matches = bytes_on_disk(rows.len() as u64, Width::Digest256, Block::SMALL, true);
    // Half of the rows repeat a key.
    let more = with_matches - bound;
    assert!(matched <= more && more < matched * 11 / 5, "{matched} of {more}");
}

#[test]
fn planted_keys_fill_no_bucket() {
    let mut folder = Folder::new();
    // Digests whose first bits are all equal, as anybody can find some.
    let mut random = rng(3);
    let planted: Rows = (0..100_000)
        .map(|row| {
            let mut digest: [u8; 32] = random.random();
            digest[..2].copy_from_slice(&[0xab, 0xcd]);
            (row, digest.to_vec())
        })
        .collect();
    let spooled = folder.spooled(&planted, Width::Digest256, OnDuplicates::All);
    let most = spooled.buckets.iter().map(Bucket::records).max().unwrap();
    assert!(most < 3 * 100_000 / BUCKETS as u64, "{most} in one bucket");
}

#[test]
fn too_little_room_on_the_disk_is_found_before_anything_is_written() {
    let mut folder = Folder::new();
    let disk = Disk { plan: MemoryPlan::new(u64::MAX, 0), ..folder.disk() };
    let mut spool = Spool::new(Width::Digest256, 10, disk).unwrap();
    assert!(spool.begin(usize::MAX).is_continue());
    let rows = rows(100, 1000, Width::Digest256, 1);
    assert!(!rows.iter().all(|(row, digest)| spool.take(*row, digest).is_continue()));
    assert!(matches!(spool.error, Some(SpoolError::Spill(SpillError::Room { .. }))));
}

fn request(on_duplicates: OnDuplicates) -> Request {
    let request = Request::new(vec!["k".parse().unwrap()], Encoding::Digest(Width::Digest256));
    Request { on_duplicates, ..request }
}

/// As [`read`] with room for so many keys.
fn read_with(
    input: Input,
    request: &Request,
    room: usize,
    disk: Disk<'_>,
    on_progress: OnProgress<'_>,
) -> Result<(Table, Keys), SpoolError> {
    let mut spool = Spool::new(Width::Digest256, room, disk)?;
    let table = input.load_into(request, &mut spool, on_progress)?;
    Ok((table, spool.finish(request.on_duplicates)?))
}

/// A whole table, from the file to the matching rows.
#[test]
fn a_table_is_read_matched_and_selected_as_in_memory() {
    let mut folder = Folder::new();
    let mut random = rng(4);
    let line = |row: u64, key: u64| format!("{row},k{key},\"x\n{row}\"\n");
    let text: String = (0..30_000).map(|row| line(row, random.random_range(0..9000))).collect();
    let text = "id,k,pad\n".to_owned() + &text;
    let input = || Input::spool("test.csv", &mut text.as_bytes()).unwrap();
    let (table, items) = input().load(&request(OnDuplicates::All), &mut go).unwrap();
    let (spooled, keys) =
        read_with(input(), &request(OnDuplicates::All), 100, folder.disk(), &mut go).unwrap();
    let Keys::OnDisk(keys) = keys else { panic!("there is too little room") };
    let counts = keys.count(&mut go).unwrap();
    let spooled = spooled.with_counts(counts.items, counts.duplicates);
    assert_eq!(spooled.report(), table.report());

    let parts = Parts::new(7).unwrap();
    let split = Split::new(&items, &KEY, parts).unwrap();
    let files = keys.split(&KEY, parts, counts.items, Block::SMALL, &mut go).unwrap();
    let rows = RowMarks::new(spooled.report().rows);
    let of_parts = (0..parts.count()).map(|part| {
        let mine = files.part(part, &mut rng(5)).unwrap();
        let matched = mine.matches((0..mine.len()).step_by(3));
        let kept = files.keep(&mine, &matched).unwrap();
        files.mark(part, &kept, &rows).unwrap();
        let theirs = split.part(part, &mut rng(5)).unwrap();
        theirs.matches((0..theirs.len()).step_by(3))
    });
    let matches = split.matches(of_parts.collect::<Vec<_>>());
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    table.select(&matches, &mut expected, &mut go).unwrap();
    spooled.select(&RowBitmap::from(rows), &mut found, &mut go).unwrap();
    assert!(expected == found && found.len() > text.len() / 4);
}

#[test]
fn errors_of_a_table_are_those_of_a_load() {
    let mut folder = Folder::new();
    let text = "k\na\nb\na\n\nb\n";
    let input = || Input::spool("test.csv", &mut text.as_bytes()).unwrap();
    let expected = input().load(&request(OnDuplicates::Error), &mut go).map(drop).unwrap_err();
    let found = read(input(), &request(OnDuplicates::Error), folder.disk(), &mut go);
    assert_eq!(found.map(drop).unwrap_err().to_string(), expected.to_string());
    let mut absent = request(OnDuplicates::All);
    absent.keys = vec!["absent".parse::<vesica_table::KeySpec>().unwrap()].into();
    let error = read(input(), &absent, folder.disk(), &mut go).map(drop).unwrap_err();
    assert!(matches!(error, SpoolError::Table(TableError::MissingColumn { .. })), "{error}");
    let mut stop = |_: Progress| ControlFlow::Break(());
    let error = read(input(), &request(OnDuplicates::All), folder.disk(), &mut stop).map(drop).unwrap_err();
    assert!(matches!(error, SpoolError::Table(TableError::Cancelled)), "{error}");
    let spooled = folder.spooled(&rows(100, 9, Width::Digest256, 1), Width::Digest256, OnDuplicates::All);
    assert!(matches!(spooled.count(&mut stop), Err(SpoolError::Cancelled)));
    let split = spooled.split(&KEY, Parts::ONE, 100, Block::SMALL, &mut stop).map(drop);
    assert!(matches!(split, Err(SpoolError::Cancelled)));
}

#[test]
fn what_was_kept_has_the_first_rows_alone_if_these_are_wanted() {
    let mut folder = Folder::new();
    let table = rows(1000, 10, Width::Digest128, 1);
    let files = folder
        .spooled(&table, Width::Digest128, OnDuplicates::First)
        .split(&KEY, Parts::ONE, 100, Block::SMALL, &mut go)
        .unwrap();
    let items = files.part(0, &mut rng(1)).unwrap();
    let kept = files.keep(&items, &items.matches(0..items.len())).unwrap();
    let found = RowMarks::new(1000);
    files.mark(0, &kept, &found).unwrap();
    let mut first = BTreeMap::new();
    table.into_iter().for_each(|(row, digest)| {
        first.entry(digest).or_insert(row);
    });
    let expected: BTreeSet<u64> = first.into_values().collect();
    assert!(RowBitmap::from(found).iter().eq(expected));
}

#[test]
fn too_small_a_budget_is_told_before_anything_is_written() {
    let mut folder = Folder::new();
    let disk = Disk { plan: MemoryPlan::new(64 << 20, 0), ..folder.disk() };
    let mut spool = Spool::new(Width::Digest256, 10, disk).unwrap();
    let rows = rows(100, 1000, Width::Digest256, 1);
    assert!(!rows.iter().all(|(row, digest)| spool.take(*row, digest).is_continue()));
    assert!(
        matches!(spool.error, Some(SpoolError::Budget { least, .. }) if least > 64 << 20 && least < 80 << 20)
    );
}
