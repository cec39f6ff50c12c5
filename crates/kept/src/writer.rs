//! Writes a set file whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::block::Collected;
use crate::error::{KeptError, Misuse};
use crate::header::{BEFORE, Epoch, Header, SIGNATURE, framed, signed};
use crate::layout::{BlockDigest, INDEXED, LONGEST, Layout, List, mask};
use crate::temporary::{Temporary, unnamed};

/// Bytes that are written at once.
const BUFFER: usize = 1 << 17;

/// Writes one set file. Memory holds one block of each list, and 20 bytes for each block.
///
/// Until [`finish`](SetWriter::finish) the file has a temporary name beside its path. A writer that is dropped leaves nothing.
pub struct SetWriter {
    path: PathBuf,
    header: Header,
    out: BufWriter<Temporary>,
    additions: ListWriter,
    removals: ListWriter,
    /// The blocks of removals, which follow those of additions in the file.
    removed: Option<BufWriter<File>>,
}

impl SetWriter {
    /// Begins the file of `epoch`, whose counts of values are exact.
    ///
    /// # Errors
    ///
    /// [`KeptError::Exists`] if there is something at `path`, [`KeptError::Misuse`] for an epoch that no header can state,
    /// [`KeptError::Write`] if no file can be made there.
    pub fn create(path: &Path, epoch: Epoch) -> Result<Self, KeptError> {
        let wrong = |fault| KeptError::Misuse { path: path.into(), fault: Misuse::Header(fault) };
        let header = Header::of(epoch).map_err(wrong)?;
        let additions = ListWriter::new(List::Additions, header.layout(List::Additions).map_err(wrong)?);
        let removals = ListWriter::new(List::Removals, header.layout(List::Removals).map_err(wrong)?);
        if path.symlink_metadata().is_ok() {
            return Err(KeptError::Exists { path: path.into() });
        }
        let write = |source| KeptError::Write { path: path.into(), source };
        let mut file = Temporary::beside(path).map_err(write)?;
        // The place of header, signature and index is left free.
        let blocks = additions.layout.blocks() + removals.layout.blocks();
        let start = (BEFORE + header.encode().len() + SIGNATURE) as u64 + blocks * INDEXED;
        file.seek(SeekFrom::Start(start)).map_err(write)?;
        let removed = match header.epoch.removed {
            0 => None,
            _ => Some(unnamed(path).map_err(write)?),
        };
        Ok(SetWriter {
            path: path.into(),
            header,
            out: BufWriter::with_capacity(BUFFER, file),
            additions,
            removals,
            removed: removed.map(|file| BufWriter::with_capacity(BUFFER, file)),
        })
    }

    /// Adds a value with its sealed label; the values of additions ascend. Additions and removals may take turns.
    ///
    /// # Errors
    ///
    /// [`KeptError::Misuse`] for a value or label that was not announced, [`KeptError::Write`].
    pub fn add(&mut self, value: u128, label: &[u8]) -> Result<(), KeptError> {
        self.additions.push(value, label, &mut self.out).map_err(|fault| fault.at(&self.path))
    }

    /// Adds a value to the removals, which ascend.
    ///
    /// # Errors
    ///
    /// As [`add`](SetWriter::add).
    pub fn remove(&mut self, value: u128) -> Result<(), KeptError> {
        match &mut self.removed {
            Some(out) => self.removals.push(value, &[], out),
            None => Err(Fault::Misuse(Misuse::More(List::Removals))),
        }
        .map_err(|fault| fault.at(&self.path))
    }

    /// Signs the file and gives it its name. It is durable then. `sign` makes the sender's signature over the bytes it gets.
    ///
    /// # Errors
    ///
    /// [`KeptError::Misuse`] if values are missing, [`KeptError::Exists`] if something came to be at the path,
    /// [`KeptError::Write`].
    pub fn finish(mut self, sign: &mut dyn FnMut(&[u8]) -> [u8; 64]) -> Result<Header, KeptError> {
        let path = std::mem::take(&mut self.path);
        self.complete(sign, &path).map_err(|fault| fault.at(&path))
    }

    fn complete(mut self, sign: &mut dyn FnMut(&[u8]) -> [u8; 64], path: &Path) -> Result<Header, Fault> {
        self.additions.finish(&mut self.out)?;
        match self.removed {
            Some(mut removed) => {
                self.removals.finish(&mut removed)?;
                let mut removed = removed.into_inner().map_err(|error| error.into_error())?;
                removed.seek(SeekFrom::Start(0))?;
                io::copy(&mut removed, &mut self.out)?;
            }
            // The one block of no removals.
            None => self.removals.finish(&mut self.out)?,
        }
        let mut file = self.out.into_inner().map_err(|error| error.into_error())?;
        let index = [self.additions.index, self.removals.index].concat();
        self.header.index = blake3::hash(&index).into();
        let framed = framed(&self.header.encode());
        let signature = sign(&signed(&framed));
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&[&framed[..], &signature, &index].concat())?;
        file.put(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Fault::Exists,
            _ => Fault::Io(error),
        })?;
        Ok(self.header)
    }
}

/// An error that does not know its file yet.
enum Fault {
    Io(io::Error),
    Misuse(Misuse),
    Exists,
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Fault::Io(error)
    }
}

impl Fault {
    fn at(self, path: &Path) -> KeptError {
        let path = path.into();
        match self {
            Fault::Io(source) => KeptError::Write { path, source },
            Fault::Misuse(fault) => KeptError::Misuse { path, fault },
            Fault::Exists => KeptError::Exists { path },
        }
    }
}

/// Cuts one list into blocks.
struct ListWriter {
    list: List,
    layout: Layout,
    left: u64,
    last: Option<u128>,
    /// The block that the next value may be in.
    block: u64,
    collected: Collected,
    digest: BlockDigest,
    index: Vec<u8>,
    encoded: Vec<u8>,
}

impl ListWriter {
    fn new(list: List, layout: Layout) -> Self {
        ListWriter {
            list,
            layout,
            left: layout.count,
            last: None,
            block: 0,
            collected: Collected::default(),
            digest: BlockDigest::new(),
            index: Vec::new(),
            encoded: Vec::new(),
        }
    }

    fn push(&mut self, value: u128, label: &[u8], out: &mut impl Write) -> Result<(), Fault> {
        let fault = if self.left == 0 {
            Some(Misuse::More(self.list))
        } else if value > mask(self.layout.width) {
            Some(Misuse::Width(self.list))
        } else if self.last.is_some_and(|last| last >= value) {
            Some(Misuse::Order(self.list))
        } else if label.len() != self.layout.label {
            Some(Misuse::Label)
        } else if self.collected.least_bytes() >= LONGEST as usize {
            Some(Misuse::Crowded(self.list))
        } else {
            None
        };
        if let Some(fault) = fault {
            return Err(Fault::Misuse(fault));
        }
        self.write_before(self.layout.block_of(value), out)?;
        self.left -= 1;
        self.last = Some(value);
        self.collected.push(value, label);
        Ok(())
    }

    /// Writes the blocks before `block`.
    fn write_before(&mut self, block: u64, out: &mut impl Write) -> Result<(), Fault> {
        while self.block < block {
            self.collected.encode(&self.layout, &mut self.encoded);
            let length = self.encoded.len() as u64;
            if length > LONGEST.into() {
                return Err(Fault::Misuse(Misuse::Crowded(self.list)));
            }
            self.index.extend_from_slice(&(length as u32).to_le_bytes());
            self.index.extend_from_slice(&self.digest.of(self.list, self.block, &self.encoded));
            out.write_all(&self.encoded)?;
            self.block += 1;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut impl Write) -> Result<(), Fault> {
        match self.left {
            0 => self.write_before(self.layout.blocks(), out),
            _ => Err(Fault::Misuse(Misuse::Fewer(self.list))),
        }
    }
}
