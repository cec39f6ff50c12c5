//! A file before it has its name: it gets that once it is whole and durable, and replaces none.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::system::{folder, sync_folder, usual};

/// What temporary names begin and end with.
const PREFIX: &str = ".vesica-";
const SUFFIX: &str = ".tmp";
/// No file takes longer to be written.
const LONGEST_WRITE: Duration = Duration::from_secs(3600);

/// A file with a temporary name, beside the path that it is for.
pub struct Temporary {
    file: NamedTempFile,
    unfinished: Unfinished,
}

impl Temporary {
    /// A new file in the folder of that path.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn beside(path: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        let file = usual(builder.prefix(PREFIX).suffix(SUFFIX)).tempfile_in(folder(path))?;
        let unfinished = Unfinished::new(file.path());
        Ok(Temporary { file, unfinished })
    }

    /// Where it is until then.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Makes the file durable and gives it its name.
    ///
    /// # Errors
    ///
    /// The system's, and one of the kind `AlreadyExists` if the name is taken.
    pub fn put(self, path: &Path) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        if let Err(failed) = self.file.persist_noclobber(path) {
            // Some file systems have no step that names a file unless the name is taken.
            if failed.error.kind() == io::ErrorKind::AlreadyExists || path.symlink_metadata().is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            failed.file.persist(path).map_err(|error| error.error)?;
        }
        drop(self.unfinished);
        sync_folder(path)
    }
}

impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Temporary {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// A file of the same folder that never has a name.
pub(crate) fn unnamed(path: &Path) -> io::Result<File> {
    tempfile::tempfile_in(folder(path))
}

/// Unfinished files with a name.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// An entry of that list; dropping it removes the entry.
struct Unfinished(PathBuf);

impl Unfinished {
    fn new(path: &Path) -> Self {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
        Unfinished(path.to_owned())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).retain(|path| *path != self.0);
    }
}

/// Deletes every unfinished set file of this process. A program calls it before it exits without returning to its writers.
pub fn remove_unfinished() {
    for path in UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        // If a deletion fails, nothing more can be done.
        let _ = fs::remove_file(path);
    }
}

/// Removes what killed processes left unfinished in a folder, an hour after it was last written.
pub fn remove_stale(folder: &Path) {
    let is_old = |entry: &fs::DirEntry| {
        let written = entry.metadata().and_then(|about| about.modified()).ok();
        written.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > LONGEST_WRITE)
    };
    let is_unfinished = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        name.starts_with(PREFIX.as_bytes()) && name.ends_with(SUFFIX.as_bytes())
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| is_unfinished(entry) && is_old(entry)) {
        // It may be another user's, who removes it.
        let _ = fs::remove_file(entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_file_can_be_removed_by_whoever_ends_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let listed = || fs::read_dir(folder.path()).unwrap().count();
        let path = folder.path().join("set.vset");
        Temporary::beside(&path).unwrap().put(&path).unwrap();
        let unfinished = Temporary::beside(&folder.path().join("other.vset")).unwrap();
        assert_eq!(listed(), 2);
        remove_unfinished();
        assert!(listed() == 1 && path.exists());
        drop(unfinished);
        assert!(UNFINISHED.lock().unwrap().is_empty());
    }

    #[test]
    fn what_was_left_long_ago_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let old = std::time::SystemTime::now() - 2 * LONGEST_WRITE;
        for (name, is_old) in
            [(".vesica-a.tmp", true), (".vesica-b.tmp", false), (".vesica-c", true), ("d.tmp", true)]
        {
            let file = File::create(folder.path().join(name)).unwrap();
            if is_old {
                file.set_modified(old).unwrap();
            }
        }
        remove_stale(folder.path());
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".vesica-b.tmp", ".vesica-c", "d.tmp"]);
    }
}
