//! An output: the complete result in its place, or nothing.
//!
//! A result for a file is written into a file without a name, so a process that is killed leaves nothing
//! behind. It gets a name when it is complete, and is renamed over the target. A device, a pipe or a
//! descriptor of this process is a stream: the result is written to it and never replaces it. So is a file that is a mount
//! point, because no file can be renamed over it: its bytes are replaced when all new ones are known.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::SpooledTempFile;

mod stream;
mod system;
mod target;
mod temporary;

use crate::error::{OutputFault, TableError};
use crate::file_id::FileId;
use crate::format::Format;
use crate::objects;
use crate::packing::{self, Packing};
use crate::shown::shown_path;
use stream::Stream;
pub(crate) use system::room;
pub use system::standard;
pub use target::Standard;
pub use temporary::remove_unfinished;
use temporary::{TargetFile, Temporary};

/// A result for a stream is kept in memory up to this size, and in a temporary file beyond.
const SPOOL_MEMORY: usize = 8 << 20;
/// Bytes copied to a stream between two checks for cancellation.
const BATCH: usize = 64 << 10;

/// Whether the caller has cancelled. A wait checks this several times a second.
pub type Cancelled<'a> = &'a (dyn Fn() -> bool + Sync);

/// A checked destination for a result.
#[derive(Debug)]
pub struct Output {
    name: String,
    path: PathBuf,
    packing: Packing,
    target: Target,
}

#[derive(Debug)]
enum Target {
    /// A descriptor of this process, to any file.
    Standard(Standard),
    /// A device or a pipe.
    Stream(PathBuf),
    /// A file that is a mount point, such as one that a container was given.
    Mounted(PathBuf),
    /// A file, links resolved.
    File(TargetFile),
    /// An object of a store.
    Object(vesica_store::Target),
}

impl Output {
    /// Checks whether a result can be written to `path` (`-` is standard output), and changes nothing.
    ///
    /// `inputs` are files that must not be replaced, under any name.
    pub fn check(path: &Path, inputs: &[&FileId]) -> Result<Output, TableError> {
        let name = if path.as_os_str() == "-" { "standard output".to_owned() } else { shown_path(path) };
        match target::of_path(path, inputs) {
            Ok(target) => Ok(Output { name, path: path.to_owned(), packing: Packing::of_name(path), target }),
            Err(fault) => Err(TableError::Output { path: name, fault }),
        }
    }

    /// Checks whether rows of that format may be written under this name.
    pub fn check_format(&self, format: Format) -> Result<(), TableError> {
        match self.target {
            Target::File { .. } | Target::Mounted(_) | Target::Object(_)
                if !format.may_be_named(&self.path) =>
            {
                let fault = OutputFault::OtherFormat { format: format.name() };
                Err(TableError::Output { path: self.name.clone(), fault })
            }
            _ => Ok(()),
        }
    }

    /// The format in which [`write_row`](crate::write_row) is to write here, of a result from an input of that format:
    /// the format that the name's ending stands for, or else the input's, and CSV for record batches.
    pub fn row_format(&self, input: Format) -> Format {
        Format::of_row(&self.path, input)
    }

    /// This output for a result that must not replace an earlier one: if there is one when it is complete, that is an error.
    #[must_use]
    pub fn never_replacing(self) -> Self {
        match self.target {
            Target::File(file) => {
                Output { target: Target::File(TargetFile { is_new: true, ..file }), ..self }
            }
            Target::Object(object) => Output { target: Target::Object(object.never_replacing()), ..self },
            _ => self,
        }
    }

    /// Whether there is a file with bytes that the result would replace.
    pub fn would_replace(&self) -> bool {
        match &self.target {
            Target::File(file) => file.is_taken(),
            Target::Object(object) => object.is_taken(),
            _ => false,
        }
    }

    /// Checks that rows can be kept until all are known, if they go to a stream: that needs a temporary file unless they
    /// are few. Leaves nothing behind.
    pub fn check_spool(&self) -> Result<(), TableError> {
        match &self.target {
            Target::File(_) => Ok(()),
            _ => self.spool_in(&std::env::temp_dir()),
        }
    }

    fn spool_in(&self, directory: &Path) -> Result<(), TableError> {
        let failed = |source| {
            let fault = OutputFault::NoSpool { directory: shown_path(directory), source };
            TableError::Output { path: self.name.clone(), fault }
        };
        let mut probe = tempfile::tempfile_in(directory).map_err(failed)?;
        probe.write_all(&[0]).map_err(failed)
    }

    /// Free bytes where the rows are written first, if the system tells.
    pub fn room(&self) -> Option<u64> {
        match &self.target {
            Target::File(file) => file.room(),
            _ => system::room(&std::env::temp_dir()),
        }
    }

    /// The name of the output in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes a result with `write` and puts it in place if that succeeds. It is compressed if the name ends
    /// in `.gz` or `.zst`.
    ///
    /// A file gets its name when it is complete and synced, with the permissions of the file it replaces or
    /// of a new file. A stream gets its bytes when all of them are known. After a failure nothing is left,
    /// and an existing file is unchanged, unless it is a mount point and the disk fails while its bytes are replaced. If a
    /// stream does not take its bytes, or nobody reads a named pipe
    /// yet, this waits until `cancelled`.
    pub fn commit<T>(
        self,
        cancelled: Cancelled<'_>,
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<T, TableError>,
    ) -> Result<T, TableError> {
        let name = self.name;
        let failed = |source| TableError::Write { path: name.clone(), source };
        let named = |error| match error {
            TableError::Write { source, .. } => failed(source),
            error => error,
        };
        if let Target::File(file) = self.target {
            let mut temporary = Temporary::beside(&file).map_err(failed)?;
            let result = packing::encode(self.packing, temporary.file(), write).map_err(named)?;
            temporary.put(&file).map_err(failed)?;
            return Ok(result);
        }
        if let Target::Object(object) = &self.target {
            let mut file = tempfile::tempfile().map_err(failed)?;
            let result = packing::encode(self.packing, &mut file, write).map_err(named)?;
            return objects::put(object, file, cancelled).map(|()| result);
        }
        let mut spool = SpooledTempFile::new(SPOOL_MEMORY);
        let result = packing::encode(self.packing, &mut spool, write).map_err(named)?;
        let stopped = |error: io::Error| {
            if stream::is_cancelled(&error) { TableError::Cancelled } else { failed(error) }
        };
        if let Target::Mounted(path) = &self.target {
            spool.seek(SeekFrom::Start(0)).map_err(failed)?;
            temporary::replace_bytes(&mut spool, path).map_err(failed)?;
            return Ok(result);
        }
        let mut out = self.target.stream(cancelled).map_err(stopped)?;
        copy(&mut spool, &mut out, cancelled).map_err(stopped)?;
        Ok(result)
    }

    /// Opens the output for incremental writes, such as a log. An existing file is truncated. A write to a
    /// stream that takes nothing waits until `cancelled` and then fails.
    pub fn log<'a>(self, cancelled: Cancelled<'a>) -> Result<Box<dyn Write + Send + 'a>, TableError> {
        let failed = |source| match source {
            source if stream::is_cancelled(&source) => TableError::Cancelled,
            source => TableError::Write { path: self.name.clone(), source },
        };
        match &self.target {
            Target::File(TargetFile { path, .. }) | Target::Mounted(path) => {
                Ok(Box::new(File::create(path).map_err(failed)?))
            }
            Target::Object(_) => {
                Err(TableError::Output { path: self.name.clone(), fault: OutputFault::Grows })
            }
            target => Ok(Box::new(target.stream(cancelled).map_err(failed)?)),
        }
    }
}

impl Target {
    /// Opens a stream for writing; none if the output is a file.
    fn stream<'a>(&self, cancelled: Cancelled<'a>) -> io::Result<Stream<'a>> {
        match self {
            Target::Standard(standard) => Stream::of(standard.duplicate()?, cancelled),
            Target::Stream(path) => Stream::open(path, cancelled),
            Target::File(_) | Target::Mounted(_) | Target::Object(_) => {
                Err(io::ErrorKind::Unsupported.into())
            }
        }
    }
}

fn copy(spool: &mut SpooledTempFile, out: &mut Stream<'_>, cancelled: Cancelled<'_>) -> io::Result<()> {
    spool.seek(SeekFrom::Start(0))?;
    let mut piece = vec![0; BATCH];
    loop {
        let count = spool.read(&mut piece)?;
        if count == 0 {
            return out.flush();
        }
        if cancelled() {
            return Err(stream::cancelled());
        }
        out.write_all(&piece[..count])?;
    }
}

#[cfg(test)]
mod tests;
