//! An input: a table that can be read twice, and a reader that hashes what it reads.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::OnceLock;
use std::time::SystemTime;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, SchemaRef, TimeUnit};
use twox_hash::xxhash3_128::Hasher;
use vesica_text::Text;

use crate::dialect::{Delimiter, Dialect};
use crate::error::TableError;
use crate::file_id::FileId;
use crate::files::{Files, Listing};
use crate::format::{self, Format, Guess};
use crate::objects::address;
use crate::shown::shown_path;
use crate::sniff;

/// How far a pass over the input is: in bytes, or in rows for record batches in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// How much has been read.
    pub done: u64,
    /// How much there is, as far as known.
    pub total: u64,
}

/// Called with the progress several times; `Break` cancels the pass.
pub(crate) type OnProgress<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// The columns of INT96, counted as leaves of the schema, and the unit that holds all their values; none if no unit does.
pub(crate) type Units = BTreeMap<usize, Option<TimeUnit>>;

/// A table that is open and can be read twice.
///
/// A regular file is read in place, and so are the files of a folder or pattern, which are one table. Everything else
/// (standard input, a pipe, batches that come one after the other) is first copied to an unlinked temporary file that only
/// this user can read.
#[derive(Debug)]
pub struct Input {
    source: Source,
    name: String,
    id: Option<FileId>,
    format: Format,
    dialect: Dialect,
    /// The delimiter that was found, and why.
    found: Option<Text>,
    /// What a pass over its time stamps of INT96 has found.
    int96: OnceLock<Units>,
}

pub(crate) enum Source {
    File { file: File, length: u64 },
    Files(Box<Files>),
    Batches { schema: SchemaRef, batches: Vec<RecordBatch> },
}

/// Prints no values of batches.
impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::File { length, .. } => {
                f.debug_struct("File").field("length", length).finish_non_exhaustive()
            }
            Source::Files(files) => files.fmt(f),
            Source::Batches { batches, .. } => {
                f.debug_struct("Batches").field("batches", &batches.len()).finish_non_exhaustive()
            }
        }
    }
}

impl Input {
    /// Opens a path; `-` is standard input. A folder, or a pattern such as `part-*.csv` where no file has that name, is the
    /// table of its files, in the order of their names' bytes. So are a folder and a pattern of objects, such as
    /// `s3://bucket/export/`; objects are copied first, as streams are.
    pub fn open(path: &Path) -> Result<Input, TableError> {
        Input::open_with(path, &mut |_| ControlFlow::Continue(()))
    }

    /// As [`Input::open`], for a caller that may want to stop.
    ///
    /// While a stream is copied, `on_progress` is called before each read. On Unix it is also called several
    /// times a second while no bytes come, also while a named pipe has no writer yet. `Break` ends the copy
    /// with [`TableError::Cancelled`]. It is not called for a regular file.
    pub fn open_with(
        path: &Path,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Input, TableError> {
        if path.as_os_str() == "-" {
            return Input::standard_input(on_progress);
        }
        if let Some(address) = address(path)? {
            return Input::of_objects(&address, on_progress);
        }
        if let Some(listing) = Listing::of(path)? {
            return Input::of_files(listing);
        }
        Input::open_one(path, on_progress)
    }

    /// Opens one of several files.
    pub(crate) fn open_file(path: &Path) -> Result<Input, TableError> {
        Input::open_one(path, &mut |_| ControlFlow::Continue(()))
    }

    fn open_one(path: &Path, on_progress: OnProgress<'_>) -> Result<Input, TableError> {
        let name = shown_path(path);
        let failed = |source| TableError::Open { file: name.clone(), source };
        let file = open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let id = FileId::of_file(&file, path).map_err(failed)?;
        if metadata.is_file() {
            Input::new(file, name.clone(), Some(id))
        } else {
            let input = Input::copy(&name, &mut &file, &|| readable(&file), on_progress)?;
            Ok(Input { id: Some(id), ..input })
        }
    }

    fn standard_input(on_progress: OnProgress<'_>) -> Result<Input, TableError> {
        let stdin = io::stdin();
        let id = standard_input_id(&stdin);
        let input = Input::copy("standard input", &mut stdin.lock(), &|| readable(&stdin), on_progress)?;
        Ok(Input { id, ..input })
    }

    /// This input with another dialect for text. It has no effect on other formats. If the delimiter is to be found,
    /// it is looked for here, in the first lines.
    pub fn with_dialect(self, dialect: Dialect) -> Result<Input, TableError> {
        if let Some(what) = dialect.fault() {
            return Err(TableError::Dialect { file: self.name, what });
        }
        let input = Input { dialect, ..self };
        match (input.format, input.dialect.delimiter) {
            // The first of several files tells that of all.
            (Format::Csv(_), Some(Delimiter::AUTO)) if input.files().is_some() => {
                let first = input.one(0)?;
                let (dialect, found) = (first.dialect().clone(), first.found().cloned());
                drop(first);
                Ok(Input { dialect, found, ..input })
            }
            (Format::Csv(packing), Some(Delimiter::AUTO)) => {
                let (delimiter, found) = sniff::delimiter(&input, packing)?;
                let dialect = Dialect { delimiter, ..input.dialect };
                Ok(Input { dialect, found: Some(found), ..input })
            }
            _ => Ok(input),
        }
    }

    /// How its text is read.
    pub(crate) fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// The delimiter that was found, and why, if it was looked for.
    pub fn found(&self) -> Option<&Text> {
        self.found.as_ref()
    }

    /// Copies the bytes of a stream; errors call the input `name`.
    pub fn spool(name: &str, from: &mut dyn Read) -> Result<Input, TableError> {
        Input::spool_with(name, from, &mut |_| ControlFlow::Continue(()))
    }

    /// As [`Input::spool`], for a caller that may want to stop. `on_progress` is called before each read.
    pub fn spool_with(
        name: &str,
        from: &mut dyn Read,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Input, TableError> {
        Input::copy(name, from, &|| true, on_progress)
    }

    /// Copies a stream that may have nothing to read for a while; `readable` tells.
    fn copy(
        name: &str,
        from: &mut dyn Read,
        readable: &dyn Fn() -> bool,
        on_progress: OnProgress<'_>,
    ) -> Result<Input, TableError> {
        let spool_error = |source| TableError::Spool { file: name.to_owned(), source };
        let mut file = tempfile::tempfile().map_err(spool_error)?;
        let (mut buffer, mut done, mut at_end) = (vec![0; 1 << 20], 0, false);
        loop {
            // Checked at the end too: the user's signal may have stopped the other end of the pipe as well.
            if on_progress(Progress { done, total: done }).is_break() {
                return Err(TableError::Cancelled);
            }
            if at_end {
                return Input::new(file, name.to_owned(), None);
            }
            if !readable() {
                continue;
            }
            match from.read(&mut buffer) {
                Ok(count) => {
                    file.write_all(&buffer[..count]).map_err(spool_error)?;
                    done += count as u64;
                    at_end = count == 0;
                }
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {}
                Err(source) => return Err(TableError::Read { file: name.to_owned(), source }),
            }
        }
    }

    /// Record batches that stay in memory, such as those of a data frame; nothing is copied.
    pub fn keep_batches(
        name: &str,
        schema: SchemaRef,
        batches: Vec<RecordBatch>,
    ) -> Result<Input, TableError> {
        let other = batches.iter().any(|batch| batch.schema_ref().fields() != schema.fields());
        if other {
            return Err(TableError::Damaged {
                file: name.to_owned(),
                format: Format::Batches.name(),
                place: String::new(),
                what: "a batch has another schema than the table".to_owned(),
            });
        }
        let source = Source::Batches { schema, batches };
        Ok(Input::of_source(source, name.to_owned(), None, Format::Batches))
    }

    /// Record batches that come one after the other and only once. They are kept in an unlinked temporary
    /// file. `on_progress` is called before each batch.
    pub fn from_batches(
        name: &str,
        batches: &mut dyn RecordBatchReader,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Input, TableError> {
        let spool_error = |error: ArrowError| TableError::Spool {
            file: name.to_owned(),
            source: match error {
                ArrowError::IoError(_, source) => source,
                // The message describes types and lengths, but could contain more.
                _ => io::Error::other("the batches cannot be encoded as Arrow IPC"),
            },
        };
        let file = tempfile::tempfile().map_err(|source| spool_error(source.into()))?;
        let mut writer =
            StreamWriter::try_new(BufWriter::new(file), &batches.schema()).map_err(spool_error)?;
        let mut rows = 0;
        for batch in batches {
            if on_progress(Progress { done: rows, total: rows }).is_break() {
                return Err(TableError::Cancelled);
            }
            // The producer's message may contain values.
            let failed = || io::Error::other("the producer of the batches failed");
            let batch = batch.map_err(|_| TableError::Read { file: name.to_owned(), source: failed() })?;
            rows += batch.num_rows() as u64;
            writer.write(&batch).map_err(spool_error)?;
        }
        let buffer = writer.into_inner().map_err(spool_error)?;
        let file = buffer.into_inner().map_err(|error| spool_error(error.into_error().into()))?;
        Input::new(file, name.to_owned(), None)
    }

    pub(crate) fn new(file: File, name: String, id: Option<FileId>) -> Result<Input, TableError> {
        let guess = (&file)
            .seek(SeekFrom::Start(0))
            .and_then(|_| Ok((format::guess(Path::new(&name), &mut &file)?, file.metadata()?.len())));
        let (guess, length) = guess.map_err(|source| TableError::Read { file: name.clone(), source })?;
        match guess {
            Guess::Readable(format) => Ok(Input::of_source(Source::File { file, length }, name, id, format)),
            Guess::NotAvailable(found) => Err(TableError::Format { file: name, found }),
            Guess::WrongEncoding(found) => Err(TableError::Encoding { file: name, found }),
            Guess::Misnamed(format) => Err(TableError::Misnamed { file: name, format }),
        }
    }

    pub(crate) fn of_source(source: Source, name: String, id: Option<FileId>, format: Format) -> Input {
        Input { source, name, id, format, dialect: Dialect::default(), found: None, int96: OnceLock::new() }
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// This input with what a pass over its time stamps of INT96 has found.
    pub(crate) fn with_int96(self, int96: &OnceLock<Units>) -> Input {
        Input { int96: int96.clone(), ..self }
    }

    /// The name of this input in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file behind it, which no output may replace; none for a pipe, and for several files.
    pub fn id(&self) -> Option<&FileId> {
        self.id.as_ref()
    }

    /// The format, which is also the format of the output.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The bytes of its file or files when it was opened, 0 for batches in memory.
    pub fn length(&self) -> u64 {
        match &self.source {
            Source::File { length, .. } => *length,
            Source::Files(files) => files.length(),
            Source::Batches { .. } => 0,
        }
    }

    /// Another handle of the file, which shares its position, and its length now.
    pub(crate) fn file(&self) -> io::Result<(File, u64)> {
        match &self.source {
            Source::File { file, .. } => Ok((file.try_clone()?, file.metadata()?.len())),
            Source::Files(_) | Source::Batches { .. } => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// The batches in memory; none for files.
    pub(crate) fn batches(&self) -> (SchemaRef, &[RecordBatch]) {
        match &self.source {
            Source::Batches { schema, batches } => (schema.clone(), batches),
            Source::File { .. } | Source::Files(_) => (SchemaRef::new(arrow_schema::Schema::empty()), &[]),
        }
    }

    /// What a pass over its time stamps of INT96 has found, if there was one.
    pub(crate) fn int96(&self) -> &OnceLock<Units> {
        &self.int96
    }

    /// The times of the file.
    pub(crate) fn stamp(&self) -> Result<Stamp, TableError> {
        let stamp = self.file().and_then(|(file, _)| Stamp::of(&file));
        stamp.map_err(|source| self.read_error(source))
    }

    /// Begins a pass over all bytes.
    pub(crate) fn pass<'a>(&'a self, on_progress: OnProgress<'a>) -> Result<Pass<'a>, TableError> {
        let begun = self.file().and_then(|(mut file, _)| file.seek(SeekFrom::Start(0)).map(|_| file));
        let file = begun.map_err(|source| self.read_error(source))?;
        let hasher = Hasher::new();
        Ok(Pass { input: self, file, hasher, done: 0, on_progress, cancelled: false, failed: false })
    }

    pub(crate) fn read_error(&self, source: io::Error) -> TableError {
        TableError::Read { file: self.name.clone(), source }
    }
}

/// Opens a file. Opening a named pipe does not wait for its writer.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Waits for a moment for something to read, which may also be the end or an error.
#[cfg(unix)]
fn readable(stream: &impl std::os::fd::AsFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    const MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    let found = poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&MOMENT));
    // The read reports other errors.
    !matches!(found, Ok(0) | Err(rustix::io::Errno::INTR))
}

#[cfg(not(unix))]
fn readable<T>(_stream: &T) -> bool {
    true
}

#[cfg(unix)]
fn standard_input_id(stdin: &io::Stdin) -> Option<FileId> {
    use std::os::fd::AsFd;
    let file = File::from(stdin.as_fd().try_clone_to_owned().ok()?);
    file.metadata().ok().filter(|metadata| metadata.is_file())?;
    FileId::of_file(&file, Path::new("-")).ok()
}

#[cfg(not(unix))]
fn standard_input_id(_stdin: &io::Stdin) -> Option<FileId> {
    None
}

/// The fingerprint of a pass over an input. Two passes with the same fingerprint read the same bytes.
///
/// It detects accidents, such as a file that is written while it is read. It does not protect against an
/// attacker who forges two contents with one fingerprint: an attacker who can write to my input could write
/// to it before the run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Fingerprint {
    pub(crate) length: u64,
    pub(crate) hash: u128,
    /// If the pass did not read the whole file: the file's times, and the ranges that the hash covers.
    pub(crate) stamp: Option<Stamp>,
    pub(crate) ranges: Vec<(u64, u64)>,
}

/// The times of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    length: u64,
    written: Option<SystemTime>,
    /// Also changes if somebody sets the file's times.
    changed: (i64, i64),
}

impl Stamp {
    fn of(file: &File) -> io::Result<Stamp> {
        let metadata = file.metadata()?;
        #[cfg(unix)]
        let changed = {
            use std::os::unix::fs::MetadataExt;
            (metadata.ctime(), metadata.ctime_nsec())
        };
        #[cfg(not(unix))]
        let changed = (0, 0);
        Ok(Stamp { length: metadata.len(), written: metadata.modified().ok(), changed })
    }
}

/// A reader over an input. It hashes the bytes in the order of reading, reports progress and can be
/// cancelled.
pub(crate) struct Pass<'a> {
    input: &'a Input,
    file: File,
    hasher: Hasher,
    done: u64,
    on_progress: OnProgress<'a>,
    cancelled: bool,
    failed: bool,
}

impl Pass<'_> {
    /// The message of the error that a cancelled pass returns to its reader.
    pub(crate) const CANCELLED: &'static str = "cancelled";

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        Fingerprint { length: self.done, hash: self.hasher.finish_128(), stamp: None, ranges: Vec::new() }
    }

    /// Bytes read.
    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    pub(crate) fn cancelled(&self) -> bool {
        self.cancelled
    }

    /// Whether an error came from the file itself or from a cancellation.
    pub(crate) fn failed(&self) -> bool {
        self.failed
    }

    /// The table error for a failed read.
    pub(crate) fn explain(&self, source: io::Error) -> TableError {
        if self.cancelled { TableError::Cancelled } else { self.input.read_error(source) }
    }
}

impl Read for Pass<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let progress = Progress { done: self.done, total: self.input.length().max(self.done) };
        if (self.on_progress)(progress).is_break() {
            (self.cancelled, self.failed) = (true, true);
            return Err(io::Error::other(Pass::CANCELLED));
        }
        let count = match self.file.read(into) {
            Ok(count) => count,
            Err(error) => {
                self.failed = error.kind() != io::ErrorKind::Interrupted;
                return Err(error);
            }
        };
        self.hasher.write(&into[..count]);
        self.done += count as u64;
        Ok(count)
    }
}

/// For formats with an index, which seek.
impl Seek for Pass<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[cfg(test)]
mod tests;
