//! One set file, read at positions.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::block::Block;
use crate::error::KeptError;
use crate::header::{self, BEFORE, Header, Kind, MAGIC, SIGNATURE, framed, signed};
use crate::layout::{BlockDigest, COUNT, INDEXED, LONGEST, Layout, List, mask};
use crate::system::read_exact_at;
use crate::values::Values;

/// Whether a signature (64 bytes) of an identity (32 bytes) over a message holds, and whether that identity is the expected
/// sender.
pub type Verify<'v> = dyn Fn(&[u8; 32], &[u8], &[u8; 64]) -> bool + 'v;

/// A set file whose header, signature and index hold. Many threads can read it at once.
pub struct SetFile {
    signed: SignedHeader,
    file: File,
    lists: [Blocks; 2],
    digest: BlockDigest,
}

impl SetFile {
    /// Opens a file, and reads all but its blocks.
    ///
    /// # Errors
    ///
    /// Any [`KeptError`] that says where a file is damaged. A number in the file asks for no memory that the file itself does
    /// not have.
    pub fn open(path: &Path, verify: &Verify<'_>) -> Result<Self, KeptError> {
        let (file, signed) = SignedHeader::read(path, verify)?;
        let lists = signed.read_index(&file)?;
        Ok(SetFile { signed, file, lists, digest: BlockDigest::new() })
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.signed.path
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.signed.header
    }

    /// The digest of the epoch, which the next epoch names. A [compact](Kind::Compact) file has that of the epoch it stands
    /// for.
    #[must_use]
    pub fn digest(&self) -> &[u8; 32] {
        self.signed.epoch_digest()
    }

    /// Looks values up in one list, in any order: for each its sealed label if it is there. Each block is read once.
    ///
    /// # Errors
    ///
    /// [`KeptError::Read`], [`KeptError::Damaged`] and [`KeptError::Malformed`] for a block that was needed.
    pub fn find(&self, list: List, values: &[u128]) -> Result<Vec<Option<Vec<u8>>>, KeptError> {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_unstable_by_key(|position| values[*position]);
        let mut found = vec![None; values.len()];
        let layout = self.blocks(list).layout;
        let (mut block, mut read) = (Block::default(), None);
        for position in order {
            let value = values[position];
            if value > mask(layout.width) {
                continue;
            }
            let number = layout.block_of(value);
            if read != Some(number) {
                self.read_block(list, number, &mut block)?;
                read = Some(number);
            }
            if let Ok(place) = block.values.binary_search(&value) {
                found[position] = Some(block.label(place).to_vec());
            }
        }
        Ok(found)
    }

    /// All values of one list, ascending. Memory holds one block.
    #[must_use]
    pub fn values(&self, list: List) -> Values<'_> {
        Values::new(self, list)
    }

    /// Whether this is the file whose header was read before.
    pub(crate) fn is(&self, read: &SignedHeader) -> bool {
        self.signed.digest == read.digest
    }

    pub(crate) fn blocks(&self, list: List) -> &Blocks {
        &self.lists[list as usize]
    }

    /// The lists have other numbers of values than the header says.
    pub(crate) fn miscounted(&self, list: List, block: u64) -> KeptError {
        let starts = &self.blocks(list).starts;
        let place = block as usize;
        let (from, to) = (starts[place], starts[place + 1]);
        KeptError::Malformed { path: self.path().to_owned(), list, block, from, to }
    }

    /// Reads a block and checks it.
    pub(crate) fn read_block(&self, list: List, number: u64, block: &mut Block) -> Result<(), KeptError> {
        let blocks = self.blocks(list);
        let place = number as usize;
        let (from, to) = (blocks.starts[place], blocks.starts[place + 1]);
        let path = || self.path().to_owned();
        let damaged = || KeptError::Damaged { path: path(), list, block: number, from, to };
        let read = block.read(&blocks.layout, number, (to - from) as usize, |bytes| {
            read_exact_at(&self.file, bytes, from).map_err(|source| match source.kind() {
                io::ErrorKind::UnexpectedEof => damaged(),
                _ => KeptError::Read { path: path(), source },
            })?;
            match self.digest.of(list, number, bytes) == blocks.digests[place] {
                true => Ok(()),
                false => Err(damaged()),
            }
        })?;
        read.ok_or_else(|| KeptError::Malformed { path: path(), list, block: number, from, to })
    }
}

/// The blocks of one list: 24 bytes for each.
pub(crate) struct Blocks {
    pub(crate) layout: Layout,
    /// Where each begins in the file, and where the last one ends.
    starts: Vec<u64>,
    digests: Vec<[u8; 16]>,
}

/// A header whose signature holds.
pub(crate) struct SignedHeader {
    pub(crate) path: PathBuf,
    pub(crate) header: Header,
    /// BLAKE3 over magic, length and header.
    pub(crate) digest: [u8; 32],
    /// Bytes of the file.
    length: u64,
}

impl SignedHeader {
    /// The digest by which the next epoch names this one.
    pub(crate) fn epoch_digest(&self) -> &[u8; 32] {
        match self.header.epoch.kind {
            Kind::Compact => &self.header.epoch.before,
            _ => &self.digest,
        }
    }

    pub(crate) fn read(path: &Path, verify: &Verify<'_>) -> Result<(File, Self), KeptError> {
        let reading = |source| KeptError::Read { path: path.into(), source };
        let mut file = File::open(path).map_err(reading)?;
        let length = file.metadata().map_err(reading)?.len();
        let reaches = |part, needed: u64| match length >= needed {
            true => Ok(()),
            false => Err(KeptError::Length { path: path.into(), part, needed: needed.into(), found: length }),
        };
        let mut before = [0; BEFORE];
        let there = BEFORE.min(usize::try_from(length).unwrap_or(BEFORE));
        file.read_exact(&mut before[..there]).map_err(reading)?;
        let (magic, stated) = before.split_at(MAGIC.len());
        if magic != MAGIC && !(there < MAGIC.len() && MAGIC.starts_with(&magic[..there])) {
            return Err(KeptError::NotASet { path: path.into() });
        }
        reaches("beginning", BEFORE as u64)?;
        let stated = stated.iter().rev().fold(0u32, |number, byte| number << 8 | u32::from(*byte));
        let wrong = |at: usize, fault| KeptError::Header { path: path.into(), at: at as u64, fault };
        if stated > header::LONGEST {
            return Err(wrong(MAGIC.len(), crate::HeaderFault::TooLong));
        }
        reaches("header", (BEFORE + stated as usize + SIGNATURE) as u64)?;
        let (mut bytes, mut signature) = (vec![0; stated as usize], [0; SIGNATURE]);
        file.read_exact(&mut bytes).and_then(|()| file.read_exact(&mut signature)).map_err(reading)?;
        let header = Header::decode(&bytes).map_err(|(at, fault)| wrong(BEFORE + at, fault))?;
        let framed = framed(&bytes);
        if !verify(&header.epoch.sender, &signed(&framed), &signature) {
            let from = framed.len() as u64;
            return Err(KeptError::Signature { path: path.into(), from, to: from + SIGNATURE as u64 });
        }
        let digest = blake3::hash(&framed).into();
        Ok((file, SignedHeader { path: path.into(), header, digest, length }))
    }

    /// Reads the index and compares the lengths of the blocks with that of the file.
    fn read_index(&self, mut file: &File) -> Result<[Blocks; 2], KeptError> {
        let path = || self.path.clone();
        let start = (BEFORE + self.header.encode().len() + SIGNATURE) as u64;
        let wrong = |fault| KeptError::Header { path: path(), at: BEFORE as u64, fault };
        let [additions, removals] = List::BOTH.map(|list| self.header.layout(list));
        let layouts = [additions.map_err(wrong)?, removals.map_err(wrong)?];
        let blocks: u128 = layouts.iter().map(|layout| u128::from(layout.blocks())).sum();
        let end = u128::from(start) + blocks * u128::from(INDEXED);
        let needed = end + layouts.iter().map(Layout::least_bytes).sum::<u128>();
        let length = |part, needed| KeptError::Length { path: path(), part, needed, found: self.length };
        if needed > self.length.into() {
            return Err(length("header", needed));
        }
        // The file is that long, so these numbers are below 2^64.
        let (mut at, end) = (end as u64, end as u64);
        let reading = |source| KeptError::Read { path: path(), source };
        let damaged = || KeptError::Index { path: path(), from: start, to: end };
        file.seek(SeekFrom::Start(start)).map_err(reading)?;
        let mut index = BufReader::with_capacity(1 << 16, file.take(end - start));
        let mut hasher = blake3::Hasher::new();
        let mut read = |layout: Layout| {
            let (mut starts, mut digests) = (vec![at], Vec::new());
            for _ in 0..layout.blocks() {
                let mut entry = [0; INDEXED as usize];
                index.read_exact(&mut entry).map_err(reading)?;
                hasher.update(&entry);
                let [l0, l1, l2, l3, digest @ ..] = entry;
                let bytes = u32::from_le_bytes([l0, l1, l2, l3]);
                // An index that lies is left at its first lie, before memory is taken for the rest.
                if bytes < COUNT as u32 || bytes > LONGEST {
                    return Err(damaged());
                }
                at = match at.checked_add(bytes.into()) {
                    Some(next) if next <= self.length => next,
                    _ => return Err(length("index", u128::from(at) + u128::from(bytes))),
                };
                starts.push(at);
                digests.push(digest);
            }
            Ok(Blocks { layout, starts, digests })
        };
        let [additions, removals] = layouts;
        let lists = [read(additions)?, read(removals)?];
        if *hasher.finalize().as_bytes() != self.header.index {
            return Err(damaged());
        }
        match at == self.length {
            true => Ok(lists),
            false => Err(length("index", at.into())),
        }
    }
}
