//! Nobody asks more than the budget, whatever crashes.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use vesica_kept::{Charge, Ledger, LedgerError};

const DAY: u64 = 86_400;
const NOW: u64 = 20_000 * DAY + 1000;
const RENEWS: u64 = 20_001 * DAY;
const RECORD: usize = 92;
const MAGIC: usize = 16;

fn open(path: &Path) -> Ledger {
    Ledger::open(path).unwrap()
}

/// Charges receiver 1 for a query of this number.
fn charge(ledger: &Ledger, query: u8, keys: u32, now: u64) -> Charge {
    ledger.charge(&[1; 32], &[query; 32], keys, Some(100), now).unwrap()
}

#[test]
fn a_budget_holds_over_restarts_and_a_query_is_paid_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let ledger = open(&path);
    assert_eq!(ledger.newest(), 0);
    assert_eq!(charge(&ledger, 1, 60, NOW), Charge::New);
    assert_eq!(charge(&ledger, 1, 60, NOW + 1), Charge::Paid);
    assert_eq!(charge(&ledger, 2, 41, NOW + 1), Charge::Over { left: 40, renews: RENEWS });
    assert_eq!(charge(&ledger, 1, 41, NOW + 1), Charge::Over { left: 40, renews: RENEWS });
    drop(ledger);
    let ledger = open(&path);
    assert_eq!(ledger.newest(), NOW);
    assert_eq!(charge(&ledger, 1, 60, NOW + 2), Charge::Paid);
    assert_eq!(charge(&ledger, 2, 40, NOW + 2), Charge::New);
    assert_eq!(charge(&ledger, 3, 1, NOW + 2), Charge::Over { left: 0, renews: RENEWS });
    // Others have budgets of their own, or none.
    assert_eq!(ledger.charge(&[2; 32], &[1; 32], 100, Some(100), NOW).unwrap(), Charge::New);
    assert_eq!(ledger.charge(&[1; 32], &[3; 32], u32::MAX, None, NOW).unwrap(), Charge::New);
    // A new day.
    assert_eq!(charge(&ledger, 4, 100, RENEWS), Charge::New);
    assert_eq!(charge(&ledger, 1, 60, RENEWS + 6 * DAY), Charge::Paid);
    assert_eq!(charge(&ledger, 5, 100, RENEWS + 7 * DAY), Charge::New);
    assert_eq!(charge(&ledger, 1, 60, RENEWS + 7 * DAY), Charge::Over { left: 0, renews: RENEWS + 8 * DAY });
    assert_eq!(fs::metadata(&path).unwrap().len() as usize, MAGIC + 6 * RECORD);
}

#[test]
fn a_clock_that_goes_back_gives_no_second_budget() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let mut ledger = open(&path);
    assert_eq!(charge(&ledger, 1, 90, NOW), Charge::New);
    for _ in 0..2 {
        let over = Charge::Over { left: 10, renews: RENEWS };
        assert!(
            [0, NOW - DAY, NOW - 1]
                .map(|now| charge(&ledger, 2, 11, now))
                .iter()
                .all(|charge| *charge == over)
        );
        drop(ledger);
        ledger = open(&path);
    }
    assert_eq!(charge(&ledger, 2, 10, NOW - DAY), Charge::New);
    assert_eq!(ledger.newest(), NOW);
}

#[test]
fn what_a_crash_leaves_of_a_record_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let ledger = open(&path);
    (1..=3).for_each(|query| assert_eq!(charge(&ledger, query, 20, NOW), Charge::New));
    drop(ledger);
    let bytes = fs::read(&path).unwrap();
    let two = MAGIC + 2 * RECORD;
    let after = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let ledger = open(&path);
        assert_eq!(ledger.removed() as usize, bytes.len() - two);
        // Two records count, and the third can be charged again.
        assert_eq!(charge(&ledger, 9, 61, NOW), Charge::Over { left: 60, renews: RENEWS });
        assert_eq!(charge(&ledger, 3, 20, NOW), Charge::New);
        drop(ledger);
        assert_eq!(fs::read(&path).unwrap().len(), two + RECORD);
        assert_eq!(charge(&open(&path), 9, 41, NOW), Charge::Over { left: 40, renews: RENEWS });
    };
    (two..two + RECORD).for_each(|length| after(&bytes[..length]));
    // The length is on disk, and the bytes are not, or not all.
    for filled in [0, 1, 50, RECORD - 1] {
        let mut torn = bytes.clone();
        torn[two + filled..].fill(0);
        after(&torn);
    }
    after(&[&bytes[..two], &[0; 5 * RECORD + 7]].concat());
    // A ledger that had just been begun.
    for length in 0..MAGIC {
        fs::write(&path, &bytes[..length]).unwrap();
        assert_eq!(charge(&open(&path), 1, 100, NOW), Charge::New);
        assert_eq!(fs::read(&path).unwrap().len(), MAGIC + RECORD);
    }
}

#[test]
fn a_changed_record_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let ledger = open(&path);
    (1..=4).for_each(|query| assert_eq!(charge(&ledger, query, 20, NOW), Charge::New));
    drop(ledger);
    let bytes = fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let error = Ledger::open(&path).map(drop).unwrap_err();
        // What is refused is not changed.
        assert_eq!(fs::read(&path).unwrap(), bytes);
        error
    };
    for at in MAGIC..MAGIC + 3 * RECORD {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let number = ((at - MAGIC) / RECORD) as u64;
        let error = refused(&changed);
        assert!(matches!(error, LedgerError::Broken { record, .. } if record == number), "{at}: {error}");
    }
    // A record taken out, and two that changed places.
    let records: Vec<&[u8]> = bytes[MAGIC..].chunks(RECORD).collect();
    for order in [&[0, 2, 3][..], &[1, 2, 3], &[0, 2, 1, 3]] {
        let order: Vec<&[u8]> = order.iter().map(|record| records[*record]).collect();
        let error = refused(&[&bytes[..MAGIC], &order.concat()].concat());
        assert!(matches!(error, LedgerError::Broken { .. }), "{error}");
    }
    assert!(matches!(refused(b"another file of some length"), LedgerError::NotALedger { .. }));
    assert!(matches!(refused(b"vesica l_"), LedgerError::NotALedger { .. }));
}

#[test]
fn a_ledger_is_for_one_process_and_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let ledger = open(&path);
    let error = Ledger::open(&path).map(drop).unwrap_err();
    assert!(matches!(error, LedgerError::InUse { .. }), "{error}");
    drop(ledger);
    drop(open(&path));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(matches!(Ledger::open(&folder.path().join("no/ledger")), Err(LedgerError::Open { .. })));
}

#[test]
fn sixteen_threads_never_get_more_than_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let (ledger, granted, paid) = (open(&path), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..16u8 {
            let (ledger, granted, paid) = (&ledger, &granted, &paid);
            scope.spawn(move || {
                for query in 0..40u8 {
                    // Neighbours ask the same.
                    let (query, keys) = ([thread / 2, query].repeat(16), u32::from(query % 7) + 1);
                    let query = query.as_slice().try_into().unwrap();
                    match ledger.charge(&[1; 32], query, keys, Some(500), NOW).unwrap() {
                        Charge::New => drop(granted.fetch_add(keys.into(), Relaxed)),
                        Charge::Paid => drop(paid.fetch_add(1, Relaxed)),
                        Charge::Over { left, .. } => assert!(left < keys.into()),
                    }
                }
            });
        }
    });
    // 8 · 40 queries of 4 keys on average are asked for, each twice.
    let granted = granted.into_inner();
    assert!((500 - 7..=500).contains(&granted) && paid.into_inner() > 50, "{granted}");
    drop(ledger);
    let left = 500 - granted;
    let over = open(&path).charge(&[1; 32], &[99; 32], 8, Some(500), NOW).unwrap();
    assert_eq!(over, Charge::Over { left, renews: RENEWS });
}

#[test]
fn a_charge_is_on_disk_when_it_returns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let ledger = open(&path);
    for query in 1..=5 {
        charge(&ledger, query, 1, NOW);
        assert_eq!(fs::metadata(&path).unwrap().len() as usize, MAGIC + usize::from(query) * RECORD);
    }
    drop(ledger);
    let bytes = fs::read(&path).unwrap();
    assert_eq!(&bytes[..MAGIC], b"vesica ledger 1\n");
    assert_eq!(
        blake3::hash(&bytes).to_hex().as_str(),
        "c944207b7c456566ff594fffaf41c7b6f5f774674ff1bb136acc0fdcd4901320"
    );
}

#[test]
fn a_ledger_charges_as_a_list_of_all_queries_would() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let mut rng = StdRng::seed_from_u64(1);
    let (mut ledger, mut clock, mut newest) = (open(&path), NOW, 0);
    let mut list: Vec<(u8, u8, u32, u64)> = Vec::new();
    let mut seen = [0; 3];
    for _ in 0..600 {
        if rng.random_ratio(1, 10) {
            drop(ledger);
            ledger = open(&path);
        }
        clock += if rng.random_ratio(1, 5) { rng.random_range(0..2 * DAY) } else { 60 };
        let now = if rng.random_ratio(1, 5) { clock - rng.random_range(0..3 * DAY) } else { clock };
        let (receiver, query, keys) =
            (rng.random_range(0..3), rng.random_range(0..8), rng.random_range(1..4) * 20);
        let charge = ledger.charge(&[receiver; 32], &[query; 32], keys, Some(100), now).unwrap();
        let time = now.max(newest);
        let today = |record: &(u8, u8, u32, u64)| record.0 == receiver && record.3 / DAY == time / DAY;
        let used: u64 = list.iter().filter(|record| today(record)).map(|record| u64::from(record.2)).sum();
        let is_paid = list.iter().any(|record| {
            (record.0, record.1, record.2) == (receiver, query, keys) && time / DAY - record.3 / DAY < 8
        });
        let expected = if is_paid {
            Charge::Paid
        } else if used + u64::from(keys) > 100 {
            Charge::Over { left: 100 - used, renews: (time / DAY + 1) * DAY }
        } else {
            list.push((receiver, query, keys, time));
            newest = time;
            Charge::New
        };
        assert_eq!(charge, expected);
        seen[[Charge::New, Charge::Paid].iter().position(|charge| *charge == expected).unwrap_or(2)] += 1;
    }
    assert!(seen.iter().all(|count| *count > 50), "{seen:?}");
}
