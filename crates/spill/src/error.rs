//! Why something could not be put on disk, or not be read again.

use std::io;

use thiserror::Error;

/// An error of this crate. None holds anything that was stored.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpillError {
    /// The directory cannot be used.
    #[error("{directory}: temporary files cannot be created there: {source}")]
    Create {
        /// The directory.
        directory: String,
        /// What the system says.
        source: io::Error,
    },
    /// The directory is in memory, and nobody asked for it.
    #[error("{directory}: lies in memory (tmpfs), so temporary files there would save none")]
    InMemory {
        /// The directory.
        directory: String,
    },
    /// There is too little room.
    #[error("{directory}: {free} bytes are free there, and temporary files need up to {needed}")]
    Room {
        /// The directory.
        directory: String,
        /// Bytes that are needed.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// A block could not be written.
    #[error("{directory}: a temporary file cannot be written: {source}")]
    Write {
        /// The directory.
        directory: String,
        /// What the system says.
        source: io::Error,
    },
    /// A block could not be read.
    #[error("{directory}: a temporary file cannot be read: {source}")]
    Read {
        /// The directory.
        directory: String,
        /// What the system says.
        source: io::Error,
    },
    /// A block is not what was written.
    #[error("{directory}: a temporary file is not what was written to it; is the disk damaged?")]
    Damaged {
        /// The directory.
        directory: String,
    },
    /// More buckets or more bytes than can be numbered, or a record that fits no block.
    #[error(
        "more temporary data than can be numbered, or a record that fits no block (a fault of the caller)"
    )]
    TooMany,
    /// The cipher refused.
    #[error("the cipher refused a block (a fault of this program)")]
    Cipher,
}

/// Who can do something about an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Whoever chose the directory, before anything was written.
    Usage,
    /// Whoever keeps the disk.
    Disk,
    /// This program.
    Ours,
}

impl SpillError {
    /// Who can do something about it.
    pub fn fault(&self) -> Fault {
        match self {
            SpillError::InMemory { .. } => Fault::Usage,
            SpillError::TooMany | SpillError::Cipher => Fault::Ours,
            _ => Fault::Disk,
        }
    }
}
