//! Finds what stands at an address, and fetches it whole.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::ops::{ControlFlow, Range};

use futures_util::{StreamExt, TryStreamExt};
use glob::Pattern;
use object_store::path::Path as Key;
use object_store::{GetOptions, GetRange, ListResult, ObjectMeta, ObjectStore, ObjectStoreExt};

use crate::address::{Address, Place};
use crate::connect::{self, Patience};
use crate::error::StoreError;
use crate::listing::{
    LOGS, OF_ONE_NAME, is_left_out, log_refused, none_there, other_refused, partition_refused,
};
use crate::wait::{self, Stop};

/// Bytes of one request. A request that breaks is repeated from where it broke.
const PIECE: u64 = 32 << 20;
/// Requests at one time.
const AT_ONCE: usize = 8;
/// Files that the process has open besides those of a table.
#[cfg(unix)]
const OTHER_FILES: u64 = 128;

/// What stands at an address: one object or several, in the order of their names' bytes.
#[derive(Debug)]
pub struct Found {
    address: Address,
    /// None for a file of a web server, which may only be asked for once.
    objects: Option<Vec<ObjectMeta>>,
    several: bool,
}

/// A copy of an object.
#[derive(Debug)]
pub struct Object {
    /// Its address, to be shown.
    pub name: String,
    /// Its bytes, in a file without a name.
    pub file: File,
}

impl Found {
    /// Looks for an object; for several, if the address ends in a slash, is that of a folder, or is a pattern and no object
    /// has that name.
    ///
    /// # Errors
    /// There is nothing, or what is there is no table, or the store does not say.
    pub fn at(address: &Address, stop: Stop<'_>) -> Result<Found, StoreError> {
        let found = |objects, several| Ok(Found { address: address.clone(), objects, several });
        if matches!(address.place, Place::Web { .. }) {
            return found(None, false);
        }
        wait::run(wait::until(
            async {
                let store = connect::client(address, Patience::Short).await?;
                let failed = |error| StoreError::of(error, address);
                let key = address.key()?;
                let missing = match address.is_folder() {
                    true => None,
                    false => match store.head(&key).await {
                        Ok(object) => return found(Some(vec![object]), false),
                        Err(error @ object_store::Error::NotFound { .. }) => Some(error),
                        Err(error) => return Err(failed(error)),
                    },
                };
                let pattern = address.pattern()?;
                let folder = pattern.as_ref().map_or(&key, |(_, folder)| folder);
                // Names beyond the folder, unless the pattern goes there, neither cost time nor stand in the way.
                let deep = pattern.as_ref().is_some_and(|(pattern, folder)| {
                    pattern.as_str().matches('/').count() > folder.parts().count()
                        || pattern.as_str().contains("**")
                });
                let listed = if deep {
                    let objects = store.list(Some(folder)).try_collect().await.map_err(failed)?;
                    ListResult { objects, common_prefixes: Vec::new(), extensions: Default::default() }
                } else {
                    store.list_with_delimiter(Some(folder)).await.map_err(failed)?
                };
                let ListResult { objects, common_prefixes: folders, .. } = listed;
                let objects = match &pattern {
                    Some((pattern, folder)) => matching(objects, &folders, pattern, folder)?,
                    None => in_folder(objects, &folders, folder)?,
                };
                match (objects.is_empty(), missing, &pattern) {
                    (false, ..) => found(Some(objects), true),
                    (true, Some(error), None) => Err(failed(error)),
                    (true, _, pattern) => {
                        Err(StoreError::NotOneTable(none_there(pattern.is_some()).to_owned()))
                    }
                }
            },
            stop,
        ))
    }

    /// Whether the address is that of a folder or a pattern.
    pub fn is_several(&self) -> bool {
        self.several
    }

    /// The bytes of all, if the store says so before they are fetched.
    pub fn bytes(&self) -> Option<u64> {
        self.objects.as_ref().map(|objects| objects.iter().map(|object| object.size).sum())
    }

    /// Copies all into temporary files without names. `on_progress` is called with the bytes so far and of all, several times
    /// a second; `Break` stops it.
    ///
    /// # Errors
    /// An object is another one than was found, the store or the network fails, or there is no room.
    pub fn fetch(
        self,
        on_progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<Vec<Object>, StoreError> {
        let Found { address, objects, .. } = self;
        let (done, total) = (Cell::new(0), Cell::new(0));
        let stop = &mut || on_progress(done.get(), total.get());
        let Some(objects) = objects else {
            return wait::run(wait::until(whole(&address, &done, &total), stop));
        };
        total.set(objects.iter().map(|object| object.size).sum());
        allow_files(objects.len())?;
        let files = objects.iter().map(|_| tempfile::tempfile()).collect::<Result<Vec<_>, _>>();
        let files = files.map_err(StoreError::Local)?;
        wait::run(wait::until(in_pieces(&address, &objects, &files, &done), stop))?;
        let name = |object: &ObjectMeta| address.sibling(&object.location).shown();
        Ok(objects.iter().zip(files).map(|(object, file)| Object { name: name(object), file }).collect())
    }
}

/// A file of a web server, by one request.
async fn whole(address: &Address, done: &Cell<u64>, total: &Cell<u64>) -> Result<Vec<Object>, StoreError> {
    let failed = |error| StoreError::of(error, address);
    let store = connect::client(address, Patience::Short).await?;
    let answer = store.get(&Key::default()).await.map_err(failed)?;
    total.set(answer.meta.size);
    let file = tempfile::tempfile().map_err(StoreError::Local)?;
    let mut bytes = answer.into_stream();
    while let Some(piece) = bytes.try_next().await.map_err(failed)? {
        write_at(&file, &piece, done.get()).map_err(StoreError::Local)?;
        done.set(done.get() + piece.len() as u64);
    }
    if done != total { Err(StoreError::Changed) } else { Ok(vec![Object { name: address.shown(), file }]) }
}

/// All objects, several pieces at one time.
async fn in_pieces(
    address: &Address,
    objects: &[ObjectMeta],
    files: &[File],
    done: &Cell<u64>,
) -> Result<(), StoreError> {
    let store = &connect::client(address, Patience::Long).await?;
    let pieces = objects.iter().zip(files).flat_map(|(object, file)| {
        let starts = (0..object.size).step_by(PIECE as usize);
        starts.map(move |start| (object, file, start..object.size.min(start + PIECE)))
    });
    let fetched =
        |(object, file, range)| async move { piece(address, store, object, file, range, done).await };
    futures_util::stream::iter(pieces.map(fetched)).buffer_unordered(AT_ONCE).try_collect().await
}

async fn piece(
    address: &Address,
    store: &dyn ObjectStore,
    object: &ObjectMeta,
    file: &File,
    range: Range<u64>,
    done: &Cell<u64>,
) -> Result<(), StoreError> {
    let failed = |error| match StoreError::of(error, address) {
        // It was there a moment ago.
        StoreError::NotFound => StoreError::Changed,
        error => error,
    };
    let wanted = Some(GetRange::Bounded(range.clone()));
    let if_match = object.e_tag.as_deref().map(quoted);
    let options = GetOptions { range: wanted, if_match: if_match.clone(), ..GetOptions::default() };
    let answer = store.get_opts(&object.location, options).await.map_err(failed)?;
    let tag = answer.meta.e_tag.as_deref().map(quoted);
    if answer.meta.size != object.size || answer.range != range || tag != if_match {
        return Err(StoreError::Changed);
    }
    let mut at = range.start;
    let mut bytes = answer.into_stream();
    while let Some(piece) = bytes.try_next().await.map_err(failed)? {
        write_at(file, &piece, at).map_err(StoreError::Local)?;
        at += piece.len() as u64;
        done.set(done.get() + piece.len() as u64);
    }
    if at == range.end { Ok(()) } else { Err(StoreError::Changed) }
}

/// An entity tag as requests have it. The lists of Azure have no quotes.
fn quoted(tag: &str) -> String {
    if tag.ends_with('"') { tag.to_owned() } else { format!("\"{tag}\"") }
}

/// The objects of a folder, which must be a table; `folders` are those in it.
fn in_folder(objects: Vec<ObjectMeta>, folders: &[Key], folder: &Key) -> Result<Vec<ObjectMeta>, StoreError> {
    for name in folders.iter().filter_map(Key::filename) {
        check_no_log(name)?;
        if !is_left_out(name.as_bytes()) {
            let refused = if name.contains('=') { partition_refused(name) } else { other_refused(name) };
            return Err(StoreError::NotOneTable(refused));
        }
    }
    // The folder itself may be an object without bytes.
    let is_file = |object: &ObjectMeta| {
        let name = object.location.filename().filter(|_| object.location != *folder);
        name.is_some_and(|name| !is_left_out(name.as_bytes()))
    };
    Ok(sorted(objects.into_iter().filter(is_file).collect()))
}

/// The objects whose keys match a pattern; `folders` are those beside them.
fn matching(
    listed: Vec<ObjectMeta>,
    folders: &[Key],
    pattern: &Pattern,
    folder: &Key,
) -> Result<Vec<ObjectMeta>, StoreError> {
    let mut objects = Vec::new();
    // What lies beside a log is not to be read, and it may come after what lies there.
    let is_log =
        |folder: &&Key| folder.filename().is_some_and(|name| LOGS.iter().any(|(log, _)| *log == name));
    let beside = |log: &Key| Some((folder.clone(), log.filename()?.to_owned()));
    let mut logs: Vec<(Key, String)> = folders.iter().filter(is_log).filter_map(beside).collect();
    // Consoles make an object without bytes for a folder, with a slash at its end, which the library does not tell. A file
    // without bytes is no part of a table either.
    let is_folder = |object: &ObjectMeta| {
        let inside = |other: &ObjectMeta| {
            other.location != object.location && other.location.prefix_matches(&object.location)
        };
        object.size == 0 && listed.iter().any(inside)
    };
    for object in &listed {
        let parts: Vec<_> = object.location.parts().collect();
        let log = parts.iter().position(|part| LOGS.iter().any(|(log, _)| *log == part.as_ref()));
        if let Some(at) = log {
            logs.push((Key::from_iter(parts[..at].iter().cloned()), parts[at].as_ref().to_owned()));
        }
        let left_out =
            parts.iter().skip(folder.parts().count()).any(|part| is_left_out(part.as_ref().as_bytes()));
        if !left_out && pattern.matches_with(object.location.as_ref(), OF_ONE_NAME) && !is_folder(object) {
            objects.push(object.clone());
        }
    }
    for (folder, log) in &logs {
        if objects.iter().any(|object| object.location.prefix_matches(folder)) {
            check_no_log(log)?;
        }
    }
    Ok(sorted(objects))
}

fn check_no_log(name: &str) -> Result<(), StoreError> {
    match LOGS.iter().find(|(log, _)| *log == name) {
        Some((_, format)) => Err(StoreError::NotOneTable(log_refused(format))),
        None => Ok(()),
    }
}

fn sorted(mut objects: Vec<ObjectMeta>) -> Vec<ObjectMeta> {
    objects.sort_unstable_by(|a, b| a.location.as_ref().as_bytes().cmp(b.location.as_ref().as_bytes()));
    objects
}

/// Lets this process have so many more files open, if the system allows it.
#[cfg(unix)]
fn allow_files(count: usize) -> Result<(), StoreError> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let needed = count as u64 + OTHER_FILES;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let current = Some(limit.maximum.map_or(needed, |most| most.min(needed)));
    let raised = setrlimit(Resource::Nofile, Rlimit { current, ..limit });
    if raised.is_ok() && limit.maximum.is_none_or(|most| most >= needed) {
        return Ok(());
    }
    Err(StoreError::NotOneTable(format!(
        "is {count} objects, and this process may not open so many files (`ulimit -n`); export the table into fewer"
    )))
}

#[cfg(not(unix))]
fn allow_files(_count: usize) -> Result<(), StoreError> {
    Ok(())
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(windows)]
fn write_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = std::os::windows::fs::FileExt::seek_write(file, bytes, at)?;
        bytes = &bytes[written..];
        at += written as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
