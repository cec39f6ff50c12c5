//! An input: a file that can be read twice, and a reader that watches what it gives.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::Path;

use crate::error::TableError;
use crate::file_id::FileId;
use crate::format::{self, Format, Guess};

/// How far a pass over the input is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Bytes read.
    pub done: u64,
    /// Bytes of the input, as far as is known.
    pub total: u64,
}

/// Told about progress every so often; `Break` cancels the pass.
pub(crate) type OnProgress<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// A table that is open and can be read twice.
///
/// A path that is a regular file is read where it is. Everything else (standard input, a pipe) is first copied to an
/// unlinked temporary file that only this user can read.
#[derive(Debug)]
pub struct Input {
    file: File,
    name: String,
    id: Option<FileId>,
    length: u64,
    format: Format,
}

impl Input {
    /// Opens a path; `-` is standard input.
    pub fn open(path: &Path) -> Result<Input, TableError> {
        Input::open_with(path, &mut |_| ControlFlow::Continue(()))
    }

    /// Opens a path as [`Input::open`] does, for a caller that may want to stop.
    ///
    /// While a stream is copied, `on_progress` is called before each read and, on Unix, several times a second while
    /// nothing comes, also while a named pipe has no writer yet; `Break` ends it with [`TableError::Cancelled`]. It is
    /// not called for a regular file.
    pub fn open_with(
        path: &Path,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Input, TableError> {
        if path.as_os_str() == "-" {
            return Input::standard_input(on_progress);
        }
        let name = path.display().to_string();
        let failed = |source| TableError::Open { file: name.clone(), source };
        let file = open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(TableError::Directory { file: name });
        }
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

    /// Takes the bytes of a stream; `name` is what errors call it.
    pub fn spool(name: &str, from: &mut dyn Read) -> Result<Input, TableError> {
        Input::copy(name, from, &|| true, &mut |_| ControlFlow::Continue(()))
    }

    /// The same for a stream that may have nothing to read for a while, as `readable` tells.
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
            // At the end too: whoever cancels may have stopped the other end of a pipe as well.
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

    fn new(mut file: File, name: String, id: Option<FileId>) -> Result<Input, TableError> {
        let head = start(&mut file);
        let (head, length) = head.map_err(|source| TableError::Read { file: name.clone(), source })?;
        match format::guess(&head) {
            Guess::Readable(format) => Ok(Input { file, name, id, length, format }),
            Guess::NotAvailable(found) => Err(TableError::Format { file: name, found }),
            Guess::WrongEncoding(found) => Err(TableError::Encoding { file: name, found }),
        }
    }

    /// What errors call this input.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file behind it, which no output may replace; none for a pipe.
    pub fn id(&self) -> Option<&FileId> {
        self.id.as_ref()
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Begins a pass over all bytes.
    pub(crate) fn pass<'a>(&'a self, on_progress: OnProgress<'a>) -> Result<Pass<'a>, TableError> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0)).map_err(|source| self.read_error(source))?;
        let hasher = Box::new(blake3::Hasher::new());
        Ok(Pass { input: self, hasher, done: 0, on_progress, cancelled: false })
    }

    pub(crate) fn read_error(&self, source: io::Error) -> TableError {
        TableError::Read { file: self.name.clone(), source }
    }
}

/// Opens a file; a named pipe too does not wait for its writer here.
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

/// Waits for a moment until there is something to read, be it the end or an error.
#[cfg(unix)]
fn readable(stream: &impl std::os::fd::AsFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    const MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    let found = poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&MOMENT));
    // What else goes wrong the read will tell.
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

/// The first bytes and the length.
fn start(file: &mut File) -> io::Result<(Vec<u8>, u64)> {
    file.seek(SeekFrom::Start(0))?;
    let mut head = Vec::with_capacity(format::HEAD);
    (&*file).take(format::HEAD as u64).read_to_end(&mut head)?;
    Ok((head, file.metadata()?.len()))
}

/// What a pass over an input saw: two passes that saw the same read the same bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fingerprint {
    length: u64,
    hash: blake3::Hash,
}

/// A reader over an input that hashes what it reads, tells progress and can be cancelled.
pub(crate) struct Pass<'a> {
    input: &'a Input,
    hasher: Box<blake3::Hasher>,
    done: u64,
    on_progress: OnProgress<'a>,
    cancelled: bool,
}

impl Pass<'_> {
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        Fingerprint { length: self.done, hash: self.hasher.finalize() }
    }

    /// The error that a failed read stands for.
    pub(crate) fn explain(&self, source: io::Error) -> TableError {
        if self.cancelled { TableError::Cancelled } else { self.input.read_error(source) }
    }
}

impl Read for Pass<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let progress = Progress { done: self.done, total: self.input.length.max(self.done) };
        if (self.on_progress)(progress).is_break() {
            self.cancelled = true;
            return Err(io::Error::other("cancelled"));
        }
        let count = (&self.input.file).read(into)?;
        self.hasher.update(&into[..count]);
        self.done += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
