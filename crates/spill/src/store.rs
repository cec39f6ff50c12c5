//! The one file, and who uses which part of it.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand_core::CryptoRng;

use crate::cipher::{BlockName, Cipher, TAG};
use crate::directory::Directory;
use crate::error::SpillError;
use crate::system;

/// Bytes of the file that a bucket takes at a time.
pub const EXTENT: u64 = 256 << 10;

/// The size of a block in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block(usize);

impl Block {
    /// 32 KiB.
    pub const LARGE: Block = Block(32 << 10);
    /// 4 KiB, for so many buckets that larger blocks would take too much memory.
    pub const SMALL: Block = Block(4 << 10);

    /// Bytes in the file, which are also those in memory.
    pub const fn bytes(self) -> usize {
        self.0
    }

    /// Bytes of whole records of this width.
    pub(crate) fn payload(self, record: usize) -> usize {
        let room = self.0 - TAG;
        room - room % record
    }
}

/// What has been moved to the disk and back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Bytes written.
    pub written: u64,
    /// Bytes read.
    pub read: u64,
}

/// An encrypted temporary file for buckets of records. Copies of it are the same file.
#[derive(Clone)]
pub struct Spill(Arc<Inner>);

struct Inner {
    directory: Directory,
    file: File,
    cipher: Cipher,
    next_bucket: AtomicU32,
    extents: Mutex<Extents>,
    written: AtomicU64,
    read: AtomicU64,
}

/// Which extents of the file are in use.
#[derive(Default)]
struct Extents {
    free: Vec<u32>,
    /// The first extent that was never used.
    next: u32,
}

impl std::fmt::Debug for Spill {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spill").field("directory", &self.0.directory).finish_non_exhaustive()
    }
}

impl Spill {
    /// A new file in a directory, with a new key.
    pub fn create(directory: Directory, rng: &mut dyn CryptoRng) -> Result<Spill, SpillError> {
        let file = directory.file()?;
        Spill::in_file(directory, file, rng)
    }

    pub(crate) fn in_file(
        directory: Directory,
        file: File,
        rng: &mut dyn CryptoRng,
    ) -> Result<Spill, SpillError> {
        Ok(Spill(Arc::new(Inner {
            directory,
            file,
            cipher: Cipher::new(rng)?,
            next_bucket: AtomicU32::new(0),
            extents: Mutex::default(),
            written: AtomicU64::new(0),
            read: AtomicU64::new(0),
        })))
    }

    /// Where the file is.
    pub fn directory(&self) -> &Directory {
        &self.0.directory
    }

    /// What has been written and read so far.
    pub fn usage(&self) -> Usage {
        let inner = &self.0;
        Usage { written: inner.written.load(Ordering::Relaxed), read: inner.read.load(Ordering::Relaxed) }
    }

    /// A number that no bucket had before.
    pub(crate) fn bucket_number(&self) -> Result<u32, SpillError> {
        let next = |number: u32| number.checked_add(1);
        let numbers = &self.0.next_bucket;
        numbers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).map_err(|_| SpillError::TooMany)
    }

    fn extents(&self) -> MutexGuard<'_, Extents> {
        self.0.extents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An extent that nobody uses.
    pub(crate) fn allocate(&self) -> Result<u32, SpillError> {
        let mut extents = self.extents();
        if let Some(extent) = extents.free.pop() {
            return Ok(extent);
        }
        let extent = extents.next;
        extents.next = extent.checked_add(1).ok_or(SpillError::TooMany)?;
        Ok(extent)
    }

    /// Gives extents back.
    pub(crate) fn free(&self, extents: Vec<u32>) {
        self.extents().free.extend(extents);
    }

    /// Encrypts the records in `block` and writes them at an offset; then the block is empty.
    pub(crate) fn write(&self, name: BlockName, block: &mut Vec<u8>, at: u64) -> Result<(), SpillError> {
        self.0.cipher.seal(name, block)?;
        let written = system::write_all_at(&self.0.file, block, at);
        self.0.written.fetch_add(block.len() as u64, Ordering::Relaxed);
        block.clear();
        written.map_err(|source| SpillError::Write { directory: self.0.directory.shown(), source })
    }

    /// Reads the block at an offset into `buffer`, which has its length, and decrypts it.
    pub(crate) fn read<'b>(
        &self,
        name: BlockName,
        buffer: &'b mut [u8],
        at: u64,
    ) -> Result<&'b [u8], SpillError> {
        let directory = || self.0.directory.shown();
        system::read_exact_at(&self.0.file, buffer, at).map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => SpillError::Damaged { directory: directory() },
            _ => SpillError::Read { directory: directory(), source },
        })?;
        self.0.read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        let opened = self.0.cipher.open(name, buffer);
        opened.ok_or_else(|| SpillError::Damaged { directory: directory() })
    }

    /// The file, for tests that look into it or damage it.
    #[cfg(test)]
    pub(crate) fn file(&self) -> &File {
        &self.0.file
    }

    /// Goes on with this bucket number, for tests.
    #[cfg(test)]
    pub(crate) fn skip_bucket_numbers(&self, next: u32) {
        self.0.next_bucket.store(next, Ordering::Relaxed);
    }

    /// How many extents were ever used, for tests.
    #[cfg(test)]
    pub(crate) fn extents_used(&self) -> u32 {
        self.extents().next
    }
}
