//! Which files make the chain.

use std::fs;
use std::path::PathBuf;

use crate::error::KeptError;
use crate::file::{SignedHeader, Verify};
use crate::header::{Epoch, Kind};

/// The files of the chain, a whole one first, then deltas, ascending.
pub(super) fn select(paths: &[PathBuf], verify: &Verify<'_>) -> Result<Vec<SignedHeader>, KeptError> {
    let mut files = Vec::new();
    for path in listed(paths)? {
        files.push(SignedHeader::read(&path, verify)?.1);
    }
    let nothing = || KeptError::NoFile { path: paths.first().cloned().unwrap_or_default() };
    let newest_key = files.iter().map(|file| file.header.epoch.key_number).max().ok_or_else(nothing)?;
    files.retain(|file| file.header.epoch.key_number == newest_key);
    // Copies of a file are one file.
    files.sort_by(|one, other| (one.digest, &one.path).cmp(&(other.digest, &other.path)));
    files.dedup_by_key(|file| file.digest);
    files.sort_by_key(|file| file.header.epoch.number);
    agree(&files)?;
    let is_delta = |file: &SignedHeader| file.header.epoch.kind == Kind::Delta;
    let (mut deltas, mut wholes): (Vec<_>, Vec<_>) = files.into_iter().partition(is_delta);
    let Some(whole) = wholes.pop() else {
        // There is a file, so there is a delta.
        let path = deltas.first().map(|delta| delta.path.clone()).unwrap_or_default();
        return Err(KeptError::NoWhole { path, key_number: newest_key });
    };
    if let Some(other) = wholes.pop() {
        same_epoch(&whole, &other)?;
    }
    deltas.retain(|delta| delta.header.epoch.number > whole.header.epoch.number);
    link(whole, deltas)
}

/// The regular paths, and the set files of the folders.
fn listed(paths: &[PathBuf]) -> Result<Vec<PathBuf>, KeptError> {
    let mut listed = Vec::new();
    for path in paths {
        let reading = |source| KeptError::Read { path: path.clone(), source };
        if !fs::metadata(path).map_err(reading)?.is_dir() {
            listed.push(path.clone());
            continue;
        }
        for entry in fs::read_dir(path).map_err(reading)? {
            let entry = entry.map_err(reading)?.path();
            if entry.extension().is_some_and(|extension| extension == "vset") && entry.is_file() {
                listed.push(entry);
            }
        }
    }
    listed.sort();
    Ok(listed)
}

/// Whether all files are of one sender, key and form.
fn agree(files: &[SignedHeader]) -> Result<(), KeptError> {
    let Some((first, others)) = files.split_first() else {
        return Ok(());
    };
    for other in others {
        if let Some(what) = difference(&first.header.epoch, &other.header.epoch) {
            return Err(differ(first, other, what));
        }
    }
    Ok(())
}

fn difference(one: &Epoch, other: &Epoch) -> Option<&'static str> {
    let differs = [
        (one.sender != other.sender, "sender"),
        (one.suite != other.suite, "suite"),
        (one.public_key != other.public_key, "public key"),
        (one.width != other.width, "width of values"),
        (one.most_keys_a_query != other.most_keys_a_query, "most keys of a query"),
        (one.terms != other.terms, "text of the terms"),
        (one.columns != other.columns, "list of columns"),
        (one.label_bytes != other.label_bytes, "length of labels"),
    ];
    differs.into_iter().find_map(|(differs, what)| differs.then_some(what))
}

fn differ(first: &SignedHeader, second: &SignedHeader, what: &'static str) -> KeptError {
    KeptError::Differs { first: first.path.clone(), second: second.path.clone(), what }
}

/// Two whole files of one number have to be the same epoch: one is the other's compact file.
fn same_epoch(one: &SignedHeader, other: &SignedHeader) -> Result<(), KeptError> {
    let epoch = one.header.epoch.number;
    if other.header.epoch.number != epoch || one.epoch_digest() == other.epoch_digest() {
        return Ok(());
    }
    Err(KeptError::TwoHeads { first: other.path.clone(), second: one.path.clone(), epoch })
}

/// Puts deltas, which ascend by number, behind the whole file.
fn link(whole: SignedHeader, deltas: Vec<SignedHeader>) -> Result<Vec<SignedHeader>, KeptError> {
    let epoch = |file: &SignedHeader| file.header.epoch.number;
    if let Some([first, second]) = deltas
        .windows(2)
        .filter_map(|pair| pair.first_chunk())
        .find(|[one, other]| epoch(one) == epoch(other))
    {
        let (first, second, epoch) = (first.path.clone(), second.path.clone(), epoch(first));
        return Err(KeptError::TwoHeads { first, second, epoch });
    }
    let (mut number, mut digest, mut path) = (epoch(&whole), *whole.epoch_digest(), whole.path.clone());
    for delta in &deltas {
        let found = epoch(delta);
        // The deltas ascend from above the whole file, so there is a next number.
        if found != number + 1 {
            return Err(KeptError::Missing { path: delta.path.clone(), found, missing: number + 1 });
        }
        if delta.header.epoch.before != digest {
            return Err(KeptError::OtherBefore { path: delta.path.clone(), before: path });
        }
        (number, digest, path) = (found, *delta.epoch_digest(), delta.path.clone());
    }
    Ok([whole].into_iter().chain(deltas).collect())
}
