//! The identity of the file behind a path or a handle, through links.

use std::fs::File;
use std::io;
use std::path::Path;

/// The identity of a file, the same for all its names.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FileId(Inner);

#[cfg(unix)]
type Inner = (u64, u64);
#[cfg(not(unix))]
type Inner = std::path::PathBuf;

impl FileId {
    /// The file that `path` leads to, links followed.
    #[cfg(unix)]
    pub fn of_path(path: &Path) -> io::Result<FileId> {
        Ok(FileId::of_metadata(&std::fs::metadata(path)?))
    }

    /// The file behind an open handle.
    #[cfg(unix)]
    pub(crate) fn of_file(file: &File, _path: &Path) -> io::Result<FileId> {
        Ok(FileId::of_metadata(&file.metadata()?))
    }

    #[cfg(unix)]
    fn of_metadata(metadata: &std::fs::Metadata) -> FileId {
        use std::os::unix::fs::MetadataExt;
        FileId((metadata.dev(), metadata.ino()))
    }

    /// The file that `path` leads to, links followed; hard links are not recognised on this system.
    #[cfg(not(unix))]
    pub fn of_path(path: &Path) -> io::Result<FileId> {
        std::fs::canonicalize(path).map(FileId)
    }

    #[cfg(not(unix))]
    pub(crate) fn of_file(_file: &File, path: &Path) -> io::Result<FileId> {
        FileId::of_path(path)
    }
}
