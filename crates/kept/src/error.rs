//! What is wrong with a set file, a chain or a ledger, and where.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::layout::List;

/// Why a set file cannot be written, read or believed. None holds a value of a set.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeptError {
    /// The file cannot be opened or read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A set file never replaces another.
    #[error("{}: exists already, and a set file replaces none", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file begins with other bytes.
    #[error("{}: is not a set file of this version (bytes 0 to 13)", path.display())]
    NotASet {
        /// The file.
        path: PathBuf,
    },
    /// The file has fewer bytes, or more, than its header and its index say.
    #[error("{}: has {found} bytes, and its {part} asks for {needed}", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Which part of the file says so.
        part: &'static str,
        /// Bytes that are needed: exactly, or at least.
        needed: u128,
        /// Bytes that are there.
        found: u64,
    },
    /// The header is not one that a program of this version writes.
    #[error("{}: the header (byte {at}) {fault}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// Where in the file.
        at: u64,
        /// What is wrong.
        fault: HeaderFault,
    },
    /// The signature does not hold, or its signer is not the expected sender.
    #[error("{}: the signature (bytes {from} to {to}) is not the expected sender's", path.display())]
    Signature {
        /// The file.
        path: PathBuf,
        /// The first byte of the signature.
        from: u64,
        /// The byte after it.
        to: u64,
    },
    /// The index is not the one that was signed.
    #[error("{}: the index (bytes {from} to {to}) is damaged", path.display())]
    Index {
        /// The file.
        path: PathBuf,
        /// The first byte of the index.
        from: u64,
        /// The byte after it.
        to: u64,
    },
    /// A block is not the one that was signed.
    #[error("{}: block {block} of the {list} (bytes {from} to {to}) is damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which list.
        list: List,
        /// The number of the block, from 0.
        block: u64,
        /// The first byte of the block.
        from: u64,
        /// The byte after it.
        to: u64,
    },
    /// A block was signed so, and does not follow the format: a fault of the sender's program.
    #[error("{}: block {block} of the {list} (bytes {from} to {to}) does not follow the format", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Which list.
        list: List,
        /// The number of the block, from 0.
        block: u64,
        /// The first byte of the block.
        from: u64,
        /// The byte after it.
        to: u64,
    },
    /// The writer was not given what it was told to expect.
    #[error("{}: {fault} (a fault of the caller)", path.display())]
    Misuse {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: Misuse,
    },
    /// No value is wide enough.
    #[error(
        "{keys} keys, and queries of up to {most_keys_a_query}, need values of more than 128 bits; allow fewer keys a query"
    )]
    TooManyKeys {
        /// Keys of the set.
        keys: u64,
        /// The most keys of a query.
        most_keys_a_query: u32,
    },
    /// There is no set file at all.
    #[error("{}: no set file (*.vset) is there", path.display())]
    NoFile {
        /// The folder, or the first path.
        path: PathBuf,
    },
    /// Deltas of a key are there, and no whole file.
    #[error("{}: is a delta under key {key_number}, and no whole file of that key is there", path.display())]
    NoWhole {
        /// A delta.
        path: PathBuf,
        /// The number of its key.
        key_number: u32,
    },
    /// A delta between two files is missing.
    #[error(
        "{}: is epoch {found}, and the delta of epoch {missing} of the same key is missing before it", path.display()
    )]
    Missing {
        /// The file after the gap.
        path: PathBuf,
        /// Its epoch.
        found: u64,
        /// The epoch that is missing.
        missing: u64,
    },
    /// A delta follows another epoch than the one that is there.
    #[error(
        "{}: does not follow {}; the epoch before it has the same number and other content", path.display(),
        before.display()
    )]
    OtherBefore {
        /// The delta.
        path: PathBuf,
        /// The file of the epoch before.
        before: PathBuf,
    },
    /// Two files claim to be the same epoch.
    #[error("{} and {}: both are epoch {epoch} of the same key, and they differ", first.display(), second.display())]
    TwoHeads {
        /// One file.
        first: PathBuf,
        /// The other file.
        second: PathBuf,
        /// Their epoch.
        epoch: u64,
    },
    /// Two files of a chain differ in what must be the same.
    #[error("{} and {}: the {what} differs, so they are no chain", first.display(), second.display())]
    Differs {
        /// One file.
        first: PathBuf,
        /// The other file.
        second: PathBuf,
        /// What differs.
        what: &'static str,
    },
    /// A file was replaced while the chain was opened.
    #[error("{}: was replaced by another file in this moment; run again", path.display())]
    Replaced {
        /// The file.
        path: PathBuf,
    },
}

/// What is wrong with a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum HeaderFault {
    /// A field goes past its end.
    #[error("ends within a field")]
    Short,
    /// Bytes follow the last field.
    #[error("has bytes after its last field")]
    Long,
    /// It is longer than any.
    #[error("is longer than 68 KiB")]
    TooLong,
    /// The texts are too long.
    #[error("has more than 64 KiB of texts")]
    Texts,
    /// A text is not UTF-8.
    #[error("has a text that is not UTF-8")]
    Utf8,
    /// The kind is unknown.
    #[error("is of an unknown kind")]
    Kind,
    /// The width is not between 1 and 128.
    #[error("states a width that is not between 1 and 128 bits")]
    Width,
    /// A whole file has removals.
    #[error("is of a whole file and states removals")]
    Removals,
    /// More values than there are of that width, or more than can be numbered.
    #[error("states more values than its width allows")]
    Count,
    /// The parameter of the code does not suit the width.
    #[error("states a parameter of the code that its width does not allow")]
    Rice,
    /// A sealed label is too long, or too short for its tag.
    #[error("states a length of sealed labels that is not 0 and not between 16 and 65536 bytes")]
    Label,
}

/// What the caller of a writer did wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Misuse {
    /// The header cannot be written.
    #[error("the header {0}")]
    Header(HeaderFault),
    /// A value is not above the one before it.
    #[error("the values of the {0} do not ascend")]
    Order(List),
    /// A value has more bits than stated.
    #[error("a value of the {0} has more bits than stated")]
    Width(List),
    /// More values than stated.
    #[error("there are more {0} than stated")]
    More(List),
    /// Fewer values than stated.
    #[error("there are fewer {0} than stated")]
    Fewer(List),
    /// A label has another length than stated.
    #[error("a label has another length than stated")]
    Label,
    /// A block is beyond its bound, so the values are not uniform.
    #[error("the values of the {0} crowd in one block, so they are not the outputs of a PRF")]
    Crowded(List),
}

/// Why a label cannot be sealed or opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum LabelError {
    /// The label was not sealed for this key and epoch, or was changed.
    #[error("a label does not open: it belongs to another key or epoch, or was changed")]
    Closed,
    /// The cipher refused.
    #[error("the cipher refused a label (a fault of this program)")]
    Cipher,
}

/// Why a ledger cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The ledger cannot be opened, read or begun.
    #[error("{}: the ledger cannot be opened: {source}", path.display())]
    Open {
        /// The ledger.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Another process has it, or this one twice.
    #[error("{}: the ledger is in use by another process", path.display())]
    InUse {
        /// The ledger.
        path: PathBuf,
    },
    /// The file system has no locks.
    #[error("{}: the ledger cannot be locked there: {source}", path.display())]
    NoLock {
        /// The ledger.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file begins with other bytes.
    #[error("{}: is not a ledger of this version", path.display())]
    NotALedger {
        /// The file.
        path: PathBuf,
    },
    /// A record in the middle was changed, or one before it was removed.
    #[error(
        "{}: record {record} of the ledger (bytes {from} to {to}) was changed, or one before it was removed", path.display()
    )]
    Broken {
        /// The ledger.
        path: PathBuf,
        /// The number of the record, from 0.
        record: u64,
        /// The first byte of the record.
        from: u64,
        /// The byte after it.
        to: u64,
    },
    /// A record could not be made durable. Nothing more is charged until the ledger is opened again.
    #[error("{}: the ledger cannot be written: {source}; charges stop until it is opened again", path.display())]
    Write {
        /// The ledger.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}
