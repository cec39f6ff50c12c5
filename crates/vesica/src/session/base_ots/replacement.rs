//! The file that takes the place of kept base OTs, while it is written.
//!
//! It has one name, beside the kept file, and is locked by the run that writes it. A process that is killed leaves no more than
//! this file, unlocked, and the next run with the same kept file removes it.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use vesica_net::private_file::{self, PrivateFileError};

use crate::words::system::{is_same_file, sync_folder};

/// How long a run waits for another one that writes the same file, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(20);

/// A file that is not complete yet. Dropping it removes it.
pub(super) struct Replacement {
    path: PathBuf,
    file: File,
}

/// Removes what a killed run has left beside `kept`, and checks that a file can be made there.
pub(super) fn prepare(kept: &Path) -> io::Result<()> {
    let path = path_beside(kept)?;
    match remove_left_over(&path)? {
        // That it can be written shows.
        Found::InUse => Ok(()),
        Found::Nothing => Replacement::beside(kept).map(drop),
    }
}

impl Replacement {
    /// A new file beside `kept`, which its owner alone can read. Waits while another run writes there.
    pub(super) fn beside(kept: &Path) -> io::Result<Self> {
        let path = path_beside(kept)?;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if matches!(remove_left_over(&path)?, Found::InUse) {
                thread::sleep(AGAIN);
                continue;
            }
            let file = match private_file::create_new(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            };
            // Before it was locked, another run may have taken it for a left-over.
            if locks(&file) && is_same_file(&file, &path).unwrap_or(false) {
                return Ok(Replacement { path, file });
            }
        }
        Err(io::Error::new(ErrorKind::WouldBlock, "another run is writing it"))
    }

    /// Writes all of it and renames it over `kept`.
    pub(super) fn put(mut self, bytes: &[u8], kept: &Path) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.file.sync_all()?;
        fs::rename(&self.path, kept)?;
        // The file is in place. A failure here is no error.
        let _ = sync_folder(kept);
        Ok(())
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        // After the renaming there is no such file, or it is another run's.
        if is_same_file(&self.file, &self.path).unwrap_or(false) {
            // What cannot be removed is a left-over, which the next run removes.
            let _ = self.file.set_len(0);
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// What was found at the path of a replacement.
enum Found {
    /// Nothing, by now.
    Nothing,
    /// The file that another run is writing.
    InUse,
}

fn remove_left_over(path: &Path) -> io::Result<Found> {
    match private_file::open(path) {
        Ok(file) if !locks(&file) => return Ok(Found::InUse),
        Ok(file) => {
            if is_same_file(&file, path).unwrap_or(false) {
                file.set_len(0)?;
                fs::remove_file(path)?;
            }
        }
        Err(PrivateFileError::Io(error)) if error.kind() == ErrorKind::NotFound => {}
        // It is no file of ours: a link, for one. What it leads to stays.
        Err(_) => fs::remove_file(path)?,
    }
    Ok(Found::Nothing)
}

/// Whether this process has the lock now. Where the file system has no locks, runs at the same time are not kept apart.
fn locks(file: &File) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// The one path of replacements of that file.
fn path_beside(kept: &Path) -> io::Result<PathBuf> {
    let mut name = std::ffi::OsString::from(".");
    name.push(kept.file_name().ok_or(ErrorKind::InvalidFilename)?);
    name.push(".vesica-new");
    Ok(kept.with_file_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_has_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (kept, other) = (folder.path().join("shop.ots"), folder.path().join("other"));
        let path = folder.path().join(".shop.ots.vesica-new");
        fs::write(&other, "other").unwrap();
        let left: [&dyn Fn(); 3] = [
            &|| private_file::create_new(&path).unwrap().write_all(b"secret").unwrap(),
            &|| fs::write(&path, "readable by all").unwrap(),
            &|| std::os::unix::fs::symlink(&other, &path).unwrap(),
        ];
        for leave in left {
            leave();
            prepare(&kept).unwrap();
            assert!(fs::symlink_metadata(&path).is_err());
            leave();
            Replacement::beside(&kept).unwrap().put(b"new", &kept).unwrap();
            assert!(fs::symlink_metadata(&path).is_err());
            assert_eq!(fs::read(&kept).unwrap(), b"new");
        }
        assert_eq!(fs::read(&other).unwrap(), b"other");
        drop(Replacement::beside(&kept).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the kept file and the other one");
    }

    #[test]
    fn what_another_run_is_writing_stays() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("shop.ots");
        let first = Replacement::beside(&kept).unwrap();
        let path = first.path.clone();
        prepare(&kept).unwrap();
        assert!(is_same_file(&first.file, &path).unwrap());
        let second = thread::spawn({
            let kept = kept.clone();
            move || Replacement::beside(&kept).unwrap().put(b"second", &kept).unwrap()
        });
        first.put(b"first", &kept).unwrap();
        second.join().unwrap();
        assert_eq!(fs::read(&kept).unwrap(), b"second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
