//! Writes to a stream without blocking: each wait checks whether the caller has cancelled.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::{Cancelled, system};

/// How long until a named pipe is tried again.
const PAUSE: Duration = Duration::from_millis(50);
/// Bytes that a writable pipe takes without blocking (POSIX's PIPE_BUF on Linux). The descriptor may be
/// shared with other programs, so it cannot be made non-blocking, and a longer write could block.
const ATOMIC: usize = 4096;

/// A device, a pipe, or a descriptor of this process.
pub(super) struct Stream<'a> {
    file: File,
    /// Most bytes of one write.
    most: usize,
    cancelled: Cancelled<'a>,
}

/// The error of a wait that the caller cancelled.
pub(super) fn cancelled() -> io::Error {
    io::Error::other(GaveUp)
}

/// Whether it is that error.
pub(super) fn is_cancelled(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<GaveUp>())
}

#[derive(Debug, thiserror::Error)]
#[error("the run was interrupted")]
struct GaveUp;

impl<'a> Stream<'a> {
    /// A descriptor that may be shared with other programs.
    pub(super) fn of(file: File, cancelled: Cancelled<'a>) -> io::Result<Self> {
        let most = if file.metadata().is_ok_and(|about| about.is_file()) { usize::MAX } else { ATOMIC };
        Ok(Stream { file, most, cancelled })
    }

    /// Opens a device or a pipe. For a named pipe, this waits until somebody reads it.
    pub(super) fn open(path: &Path, cancelled: Cancelled<'a>) -> io::Result<Self> {
        loop {
            // None: nobody reads the pipe yet.
            if let Some(file) = system::open_stream(path)? {
                return Ok(Stream { file, most: usize::MAX, cancelled });
            }
            if cancelled() {
                return Err(self::cancelled());
            }
            thread::sleep(PAUSE);
        }
    }

    /// Waits until it takes bytes or has an error.
    fn wait(&self) -> io::Result<()> {
        while !system::takes_bytes(&self.file) {
            if (self.cancelled)() {
                return Err(cancelled());
            }
        }
        Ok(())
    }
}

impl Write for Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            self.wait()?;
            match self.file.write(&bytes[..bytes.len().min(self.most)]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if (self.cancelled)() {
                        return Err(cancelled());
                    }
                    thread::sleep(PAUSE);
                }
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
