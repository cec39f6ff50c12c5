//! An output: all of a result in its place, or nothing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, SpooledTempFile};

use crate::error::{OutputFault, TableError};
use crate::file_id::FileId;
use crate::format::Format;
use crate::packing::{self, Packing};

/// A result for a stream is kept in memory up to this size, and in a temporary file beyond.
const SPOOL_MEMORY: usize = 8 << 20;

/// A place for a result that has been found fit for it.
#[derive(Debug)]
pub struct Output {
    name: String,
    packing: Packing,
    target: Target,
}

#[derive(Debug)]
enum Target {
    StandardOutput,
    /// A device or a pipe, which is written to and never replaced.
    Stream(PathBuf),
    /// A file, links resolved, and the permissions of the one that is replaced.
    File {
        path: PathBuf,
        directory: PathBuf,
        replaces: Option<fs::Permissions>,
    },
}

impl Output {
    /// Looks whether a result can be written to `path` (`-` is standard output), and leaves everything as it is.
    ///
    /// `inputs` are the files that must not be replaced, under whatever name.
    pub fn check(path: &Path, inputs: &[&FileId]) -> Result<Output, TableError> {
        if path.as_os_str() == "-" {
            let name = "standard output".to_owned();
            return Ok(Output { name, packing: Packing::None, target: Target::StandardOutput });
        }
        let name = path.display().to_string();
        match target(path, inputs) {
            Ok(target) => Ok(Output { name, packing: Packing::of_name(path), target }),
            Err(fault) => Err(TableError::Output { path: name, fault }),
        }
    }

    /// Looks whether rows of that format may be written under this name.
    pub fn check_format(&self, format: Format) -> Result<(), TableError> {
        match self.target {
            Target::File { .. } if !format.may_be_named(Path::new(&self.name)) => {
                let fault = OutputFault::OtherFormat { format: format.name() };
                Err(TableError::Output { path: self.name.clone(), fault })
            }
            _ => Ok(()),
        }
    }

    /// Writes a result with `write` and puts it in place if that succeeds; compressed, if the name ends in `.gz` or `.zst`.
    ///
    /// A file is written beside the target, synced, and renamed over it, with the permissions of the file it replaces
    /// or of a new file. A stream gets its bytes after the last of them is known. After a failure nothing is left and
    /// a file that was there is as it was.
    pub fn commit<T>(
        self,
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<T, TableError>,
    ) -> Result<T, TableError> {
        let name = self.name;
        let failed = |source| TableError::Write { path: name.clone(), source };
        let named = |error| match error {
            TableError::Write { source, .. } => failed(source),
            error => error,
        };
        if let Target::File { path, directory, replaces } = self.target {
            let mut file = beside(&directory, replaces.as_ref()).map_err(failed)?;
            let result = packing::encode(self.packing, file.as_file_mut(), write).map_err(named)?;
            put(file, &path, &directory, replaces).map_err(failed)?;
            return Ok(result);
        }
        let mut spool = SpooledTempFile::new(SPOOL_MEMORY);
        let result = packing::encode(self.packing, &mut spool, write).map_err(named)?;
        let copied = match &self.target {
            Target::Stream(path) => {
                OpenOptions::new().write(true).open(path).and_then(|mut stream| copy(&mut spool, &mut stream))
            }
            _ => copy(&mut spool, &mut io::stdout().lock()),
        };
        copied.map_err(failed)?;
        Ok(result)
    }
}

fn target(path: &Path, inputs: &[&FileId]) -> Result<Target, OutputFault> {
    let existing = match fs::metadata(path) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(OutputFault::NotWritable(error)),
    };
    let slash = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    if existing.as_ref().is_some_and(fs::Metadata::is_dir) || path.file_name().is_none() || slash {
        return Err(OutputFault::Directory);
    }
    if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
        // Not even opened: the reader of a pipe would take the closing for the end.
        return Ok(Target::Stream(path.to_owned()));
    }
    // A link is followed, so that the file it leads to is replaced and not the link.
    let linked = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    let path =
        if linked { fs::canonicalize(path).map_err(OutputFault::NotWritable)? } else { path.to_owned() };
    if existing.is_some() {
        let id = FileId::of_path(&path).map_err(OutputFault::NotWritable)?;
        if inputs.contains(&&id) {
            return Err(OutputFault::IsInput);
        }
        // A read-only file is protected by its owner's wish; a rename would not notice.
        OpenOptions::new().write(true).open(&path).map_err(OutputFault::NotWritable)?;
    }
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    if !directory.is_dir() {
        return Err(OutputFault::NoDirectory);
    }
    // The file is gone again at the end of the statement.
    beside(&directory, None).map_err(OutputFault::NotWritable)?;
    Ok(Target::File { path, directory, replaces: existing.map(|metadata| metadata.permissions()) })
}

/// A temporary file in the directory of the target.
fn beside(directory: &Path, replaces: Option<&fs::Permissions>) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".vesica-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The umask takes its part of this, as of any new file's mode.
        let mode = replaces.map_or(0o666, |permissions| permissions.mode() & 0o777);
        builder.permissions(fs::Permissions::from_mode(mode | 0o200));
    }
    #[cfg(not(unix))]
    let _ = replaces;
    builder.tempfile_in(directory)
}

fn put(
    mut file: NamedTempFile,
    path: &Path,
    directory: &Path,
    replaces: Option<fs::Permissions>,
) -> io::Result<()> {
    file.flush()?;
    if let Some(permissions) = replaces {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    // The result is in place; not every file system can sync a directory, and none can undo the rename.
    let _ = File::open(directory).and_then(|directory| directory.sync_all());
    Ok(())
}

fn copy(spool: &mut SpooledTempFile, out: &mut dyn Write) -> io::Result<()> {
    spool.seek(SeekFrom::Start(0))?;
    io::copy(spool, out)?;
    out.flush()
}

#[cfg(test)]
mod tests;
