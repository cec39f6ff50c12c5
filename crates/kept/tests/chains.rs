//! Whole files and deltas are one set, and what is missing or wrong is named.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use common::{SENDER, Set, VERIFY, epoch, label, rng, uniform, value, write};
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::{IteratorRandom, SliceRandom};
use vesica_kept::{Chain, Epoch, Found, KeptError, Kind, Present};

const WIDTH: u8 = 60;
const LABEL: u32 = 20;

/// A sender's set: values with the epoch that added them and their labels.
type State = BTreeMap<u128, (u64, Vec<u8>)>;

struct Publisher {
    folder: PathBuf,
    state: State,
    number: u64,
    digest: [u8; 32],
    rng: StdRng,
}

impl Publisher {
    fn new(folder: &Path, seed: u64, keys: usize) -> Self {
        let mut rng = rng(seed);
        let set = uniform(keys, WIDTH, LABEL, &mut rng);
        let state = set.iter().map(|(value, label)| (*value, (1, label.clone()))).collect();
        let mut publisher = Publisher { folder: folder.into(), state, number: 1, digest: [0; 32], rng };
        publisher.write(Kind::Whole, &set, &[]);
        publisher
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.vset"))
    }

    fn epoch(&self, kind: Kind) -> Epoch {
        let keys = self.state.len() as u64;
        Epoch { number: self.number, before: self.digest, keys, ..epoch(kind, WIDTH, LABEL) }
    }

    fn write(&mut self, kind: Kind, added: &Set, removed: &[u128]) -> PathBuf {
        let path = self.path(&format!("{}-{kind:?}", self.number));
        write(&path, self.epoch(kind), added, removed);
        self.digest = *common::open(&path).digest();
        path
    }

    /// One night: keys come, keys go, and labels change in both of the ways that there are.
    fn night(&mut self, changes: usize) -> PathBuf {
        self.number += 1;
        let (mut added, mut removed) = (Set::new(), Vec::new());
        for _ in 0..changes {
            added.insert(value(WIDTH, &mut self.rng), label(LABEL, &mut self.rng));
        }
        for gone in self.state.keys().copied().sample(&mut self.rng, changes) {
            match self.rng.random_range(0..3) {
                0 => drop(added.insert(gone, label(LABEL, &mut self.rng))),
                1 => {
                    added.insert(gone, label(LABEL, &mut self.rng));
                    removed.push(gone);
                }
                _ => {
                    removed.push(gone);
                }
            }
        }
        removed.sort_unstable();
        removed.iter().for_each(|value| drop(self.state.remove(value)));
        let number = self.number;
        self.state.extend(added.iter().map(|(value, label)| (*value, (number, label.clone()))));
        self.write(Kind::Delta, &added, &removed)
    }

    /// The set as one file that stands for the newest epoch. Its labels are of that epoch then.
    fn compact(&mut self) -> PathBuf {
        let digest = self.digest;
        let set: Set = self.state.iter().map(|(value, (_, label))| (*value, label.clone())).collect();
        let path = self.write(Kind::Compact, &set, &[]);
        assert_eq!(self.digest, digest);
        path
    }
}

fn open(paths: &[PathBuf]) -> Result<Chain, KeptError> {
    Chain::open(paths, VERIFY)
}

fn refused(paths: &[PathBuf]) -> KeptError {
    open(paths).map(drop).unwrap_err()
}

fn assert_is(chain: &Chain, state: &State, seed: u64) {
    let read: Vec<Present> = chain.values().collect::<Result<_, _>>().unwrap();
    let all = state.iter().map(|(value, (epoch, label))| Present {
        value: *value,
        epoch: *epoch,
        label: label.clone(),
    });
    assert!(read.iter().cloned().eq(all));
    let mut rng = rng(seed);
    let mut asked: Vec<u128> = state.keys().flat_map(|value| [*value, value ^ 1]).collect();
    asked.extend((0..100).map(|_| value(WIDTH, &mut rng)));
    asked.shuffle(&mut rng);
    for (value, found) in asked.iter().zip(chain.find(&asked).unwrap()) {
        let expected = match state.get(value) {
            Some((epoch, label)) => Found::Present { epoch: *epoch, label: label.clone() },
            None => Found::Absent,
        };
        assert_eq!(found, expected);
    }
}

#[test]
fn nights_of_changes_are_one_set_in_any_order_of_files() {
    for seed in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let mut publisher = Publisher::new(folder.path(), seed, 1500);
        let mut paths = vec![publisher.path("1-Whole")];
        for night in 0..6 {
            paths.push(publisher.night(40 * night));
            paths.shuffle(&mut publisher.rng);
            let chain = open(&paths).unwrap();
            assert_eq!((chain.head().epoch.number, chain.digest()), (night as u64 + 2, &publisher.digest));
            assert_eq!(chain.files().len(), night + 2);
            assert_is(&chain, &publisher.state, seed);
        }
        fs::write(folder.path().join("notes.txt"), "no set").unwrap();
        assert_is(&open(&[folder.path().into()]).unwrap(), &publisher.state, seed);
    }
}

#[test]
fn who_missed_three_nights_reads_them_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut publisher = Publisher::new(folder.path(), 9, 800);
    let known = vec![publisher.path("1-Whole"), publisher.night(10)];
    let state = publisher.state.clone();
    let missed = [publisher.night(50), publisher.night(0), publisher.night(70)];
    assert_is(&open(&known).unwrap(), &state, 1);
    assert_is(&open(&[&known[..], &missed].concat()).unwrap(), &publisher.state, 1);
    // One of them is still missing.
    for (gone, missing) in [(0, 3), (1, 4)] {
        let mut some = missed.to_vec();
        some.remove(gone);
        let error = refused(&[&known[..], &some].concat());
        let path = some[gone].clone();
        let is_named = matches!(&error, KeptError::Missing { path: found, missing: number, .. }
            if *found == path && *number == missing);
        assert!(is_named, "{error}");
    }
}

#[test]
fn a_compact_file_stands_for_the_chain() {
    let folder = tempfile::tempdir().unwrap();
    let mut publisher = Publisher::new(folder.path(), 10, 600);
    let mut long = vec![publisher.path("1-Whole"), publisher.night(30), publisher.night(30)];
    let mut short = vec![publisher.compact()];
    let mut compact = publisher.state.clone();
    compact.values_mut().for_each(|(epoch, _)| *epoch = 3);
    assert_is(&open(&short).unwrap(), &compact, 2);
    assert_eq!(open(&short).unwrap().digest(), open(&long).unwrap().digest());
    // The next delta follows both; where both are, the compact file is used.
    let next = publisher.night(30);
    long.push(next.clone());
    short.push(next);
    assert_is(&open(&long).unwrap(), &publisher.state, 3);
    let chain = open(&[folder.path().into()]).unwrap();
    assert_eq!((chain.files().len(), chain.head().epoch.number), (2, 4));
    let (one, other) = (open(&short).unwrap(), open(&long).unwrap());
    let values = |chain: &Chain| chain.values().map(|entry| entry.unwrap().value).collect::<Vec<_>>();
    assert_eq!((values(&one), one.digest()), (values(&other), other.digest()));
}

#[test]
fn older_keys_and_older_wholes_are_left_aside() {
    let (folder, old) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut older = Publisher::new(old.path(), 11, 100);
    let mut paths = vec![older.path("1-Whole"), older.night(5), older.night(5)];
    let mut publisher = Publisher::new(folder.path(), 12, 100);
    // A new whole file under the same key, epoch 2.
    publisher.number = 2;
    let set: Set = publisher.state.iter().map(|(value, (_, label))| (*value, label.clone())).collect();
    publisher.state.values_mut().for_each(|(epoch, _)| *epoch = 2);
    publisher.write(Kind::Whole, &set, &[]);
    assert_is(&open(&[folder.path().into()]).unwrap(), &publisher.state, 4);
    // A rotation: another key.
    let rotated = folder.path().join("rotated.vset");
    let epoch = Epoch { key_number: 2, public_key: [4; 32], ..publisher.epoch(Kind::Whole) };
    write(&rotated, Epoch { number: 1, ..epoch }, &Set::new(), &[]);
    paths.extend([folder.path().into(), rotated.clone()]);
    let chain = open(&paths).unwrap();
    assert_eq!((chain.files().len(), chain.head().epoch.key_number), (1, 2));
    assert_is(&chain, &State::new(), 4);
    // A copy of a file is that file.
    let copy = folder.path().join("copy.vset");
    fs::copy(&rotated, &copy).unwrap();
    assert_eq!(open(&[copy, rotated]).unwrap().files().len(), 1);
}

#[test]
fn two_heads_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut publisher = Publisher::new(folder.path(), 13, 100);
    publisher.night(5);
    let other = folder.path().join("other.vset");
    let before = *common::open(&publisher.path("1-Whole")).digest();
    write(&other, Epoch { before, ..publisher.epoch(Kind::Delta) }, &Set::new(), &[]);
    let error = refused(&[folder.path().into()]);
    assert!(matches!(error, KeptError::TwoHeads { epoch: 2, .. }), "{error}");
    assert!(error.to_string().contains("other.vset") && error.to_string().contains("2-Delta.vset"));
    // A delta of another history.
    fs::remove_file(publisher.path("2-Delta")).unwrap();
    fs::remove_file(&other).unwrap();
    write(&other, Epoch { before: [9; 32], ..publisher.epoch(Kind::Delta) }, &Set::new(), &[]);
    let error = refused(&[folder.path().into()]);
    assert!(
        matches!(&error, KeptError::OtherBefore { path, before } if *path == other
        && *before == publisher.path("1-Whole")),
        "{error}"
    );
    // Two whole files.
    fs::remove_file(&other).unwrap();
    write(&other, Epoch { number: 1, ..publisher.epoch(Kind::Whole) }, &Set::new(), &[]);
    assert!(matches!(refused(&[folder.path().into()]), KeptError::TwoHeads { epoch: 1, .. }));
}

#[test]
fn a_delta_needs_its_whole_and_a_chain_a_file() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(refused(&[]), KeptError::NoFile { .. }));
    assert!(matches!(refused(&[folder.path().into()]), KeptError::NoFile { path } if path == folder.path()));
    assert!(matches!(refused(&[folder.path().join("none.vset")]), KeptError::Read { .. }));
    let mut publisher = Publisher::new(folder.path(), 14, 10);
    let delta = publisher.night(1);
    assert!(
        matches!(refused(std::slice::from_ref(&delta)), KeptError::NoWhole { path, key_number: 1 } if path == delta)
    );
    // Deltas of a new key, and a whole file of the old one: nobody is sent back to the old key.
    let rotated = folder.path().join("rotated.vset");
    write(&rotated, Epoch { key_number: 2, ..publisher.epoch(Kind::Delta) }, &Set::new(), &[]);
    assert!(matches!(refused(&[folder.path().into()]), KeptError::NoWhole { key_number: 2, .. }));
    fs::remove_file(&rotated).unwrap();
    // A damaged file is no missing one.
    let mut bytes = fs::read(&delta).unwrap();
    bytes[40] ^= 1;
    fs::write(&delta, bytes).unwrap();
    assert!(matches!(refused(&[folder.path().into()]), KeptError::Signature { path, .. } if path == delta));
}

#[test]
fn files_of_a_chain_agree() {
    let folder = tempfile::tempdir().unwrap();
    let publisher = Publisher::new(folder.path(), 15, 10);
    let delta = folder.path().join("delta.vset");
    type Change = fn(&mut Epoch);
    let changes: [(&str, Change); 8] = [
        ("sender", |epoch| epoch.sender = [8; 32]),
        ("suite", |epoch| epoch.suite = "P256-SHA256".into()),
        ("public key", |epoch| epoch.public_key = [9; 32]),
        ("width", |epoch| epoch.width += 1),
        ("most keys", |epoch| epoch.most_keys_a_query += 1),
        ("terms", |epoch| epoch.terms.push('.')),
        ("columns", |epoch| epoch.columns.push("plan".into())),
        ("length of labels", |epoch| epoch.label_bytes += 1),
    ];
    for (name, change) in changes {
        let mut epoch = Epoch { number: 2, ..publisher.epoch(Kind::Delta) };
        change(&mut epoch);
        write(&delta, epoch, &Set::new(), &[]);
        let error = Chain::open(&[folder.path().into()], &|_, _, _| true).map(drop).unwrap_err();
        assert!(matches!(&error, KeptError::Differs { what, .. } if what.contains(name)), "{name}: {error}");
        fs::remove_file(&delta).unwrap();
    }
    assert_eq!(open(&[folder.path().into()]).unwrap().head().epoch.sender, SENDER);
}
