//! Tables in object stores and on web servers, and results that go there.
//!
//! A table is fetched whole before it is read: a run reads its table twice, and both passes must see the same bytes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use vesica_store::{Address, Found, StoreError, Target};

use crate::error::{OutputFault, TableError};
use crate::input::{Input, OnProgress, Progress};
use crate::output::{Cancelled, room};
use crate::shown::shown_path;

/// The address that a path is, if it is one.
pub(crate) fn address(path: &Path) -> Result<Option<Address>, TableError> {
    Address::of(path).map_err(|fault| TableError::Object { file: shown_path(path), fault })
}

impl Input {
    /// Fetches an object, or all of a folder or pattern.
    pub(crate) fn of_objects(address: &Address, on_progress: OnProgress<'_>) -> Result<Input, TableError> {
        let name = shown_path(Path::new(&address.shown()));
        let failed = |fault| match fault {
            StoreError::Cancelled => TableError::Cancelled,
            fault => TableError::Object { file: name.clone(), fault },
        };
        let found =
            Found::at(address, &mut || on_progress(Progress { done: 0, total: 0 })).map_err(failed)?;
        check_room(found.bytes().unwrap_or(0)).map_err(failed)?;
        let several = found.is_several();
        let mut objects =
            found.fetch(&mut |done, total| on_progress(Progress { done, total })).map_err(failed)?;
        for object in &mut objects {
            object.name = shown_path(Path::new(&object.name));
        }
        match objects.pop() {
            Some(only) if !several => Input::new(only.file, only.name, None),
            last => Input::of_copies(name, objects.into_iter().chain(last).collect()),
        }
    }

    /// A copy of one of several objects, for a pass over it.
    pub(crate) fn of_copy(file: &File, name: &str) -> Result<Input, TableError> {
        let again = file.try_clone().map_err(|source| TableError::Read { file: name.to_owned(), source })?;
        Input::new(again, name.to_owned(), None)
    }
}

/// Checks that so many bytes fit where temporary files are.
fn check_room(bytes: u64) -> Result<(), StoreError> {
    let folder = std::env::temp_dir();
    match room(&folder) {
        Some(room) if room < bytes => Err(StoreError::Local(io::Error::new(
            io::ErrorKind::StorageFull,
            format!("{bytes} bytes are fetched, and {room} are free in {}", shown_path(&folder)),
        ))),
        _ => Ok(()),
    }
}

/// Checks that an object can be written there.
pub(crate) fn target(address: &Address) -> Result<Target, OutputFault> {
    Target::check(address, &mut || ControlFlow::Continue(())).map_err(OutputFault::Object)
}

/// Puts a file as an object. If the store does not take it, or the caller stops it, the file gets a name in the current
/// folder, or else among the temporary files: the exchange that it is the result of cannot be had again without the partner.
pub(crate) fn put(target: &Target, mut file: File, cancelled: Cancelled<'_>) -> Result<(), TableError> {
    let stop = &mut || if cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let fault = match target.put(&mut file, stop) {
        Ok(()) => return Ok(()),
        Err(fault) => fault,
    };
    let path = target.shown();
    let name = path.rsplit('/').next().unwrap_or("rows").to_owned();
    let kept =
        keep(&mut file, Path::new("."), &name).or_else(|_| keep(&mut file, &std::env::temp_dir(), &name));
    let kept = match kept {
        Ok(kept) => format!("what would be there is in {} instead", shown_path(&kept)),
        Err(error) => format!("nor could it be kept on this machine: {error}"),
    };
    Err(TableError::Put { path: shown_path(Path::new(&path)), fault, kept })
}

/// Copies a file into a folder, under a name that nothing has there, readable by this user alone.
fn keep(file: &mut File, folder: &Path, name: &str) -> io::Result<PathBuf> {
    let numbered = (2..1000).map(|number| format!("{number}-{name}"));
    for name in [name.to_owned()].into_iter().chain(numbered) {
        let path = folder.join(name);
        match new_file(&path) {
            Ok(mut copy) => {
                file.rewind()?;
                let copied = io::copy(file, &mut copy).and_then(|_| copy.sync_all());
                return copied.map(|()| path.clone()).inspect_err(|_| drop(fs::remove_file(&path)));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn new_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_a_store_does_not_take_is_kept_under_a_name_that_is_free() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"rows").unwrap();
        for name in ["out.csv", "2-out.csv", "3-out.csv"] {
            let kept = keep(&mut file, folder.path(), "out.csv").unwrap();
            assert_eq!(kept, folder.path().join(name));
            assert_eq!(fs::read(&kept).unwrap(), b"rows");
            #[cfg(unix)]
            assert_eq!(
                std::os::unix::fs::PermissionsExt::mode(&fs::metadata(kept).unwrap().permissions()) & 0o777,
                0o600
            );
        }
    }
}
