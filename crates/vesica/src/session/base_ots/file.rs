//! The file of `--keep-base-ots`: the base OTs of one party with one partner, in one role.
//!
//! ```text
//! "vesica base OTs\n" · u16 version · u8 role (1: sender) · my public key · the partner's · id · the base OTs · BLAKE3 of all that
//! ```
//!
//! Little-endian. Only its owner may be able to read it. A run that both sides confirmed replaces the whole
//! file. A file of another party, partner or role is never replaced.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use vesica_channel::codec::{CodecError, Reader};
use vesica_net::PublicKey;
use vesica_net::private_file::{self, PrivateFileError, Readers};
use vesica_ot::base::cache::{BaseOtCache, CachedBaseOts};
use vesica_protocols::Role;
use vesica_table::shown_path;
use vesica_text::text;
use zeroize::Zeroizing;

use super::replacement::{self, Replacement};

use crate::words::base_ots::{BaseOts, CacheState, Mark};
use crate::words::error::{Error, Kind, RunPhase};

const MAGIC: &[u8; 16] = b"vesica base OTs\n";
const VERSION: u16 = 2;
const SUM: usize = 32;
/// The length of a file is below this: 512 base OTs, a header and a checksum.
const LIMIT: u64 = 64 << 10;

/// The file, and the base OTs that were in it.
pub(crate) struct CacheFile {
    path: PathBuf,
    role: Role,
    /// Mine, theirs.
    keys: [PublicKey; 2],
    found: Option<Stored>,
}

struct Stored {
    id: [u8; 32],
    kept: CachedBaseOts,
}

/// Why a file cannot be used by this party, with this partner, in this role.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error(transparent)]
    File(#[from] PrivateFileError),
    #[error("it holds no base OTs")]
    Foreign,
    #[error("its version is {0}, and this program knows version {VERSION}")]
    Version(u16),
    #[error("it is damaged")]
    Damaged,
    #[error("this side kept it as {0}")]
    Role(Role),
    #[error("this side kept it under another identity")]
    Identity,
    #[error("it belongs to another partner")]
    Partner,
}

impl From<CodecError> for Fault {
    fn from(_: CodecError) -> Self {
        Fault::Damaged
    }
}

fn sum(bytes: &[u8]) -> [u8; SUM] {
    let mut hasher = blake3::Hasher::new_derive_key("vesica kept base OTs v1");
    hasher.update(bytes);
    *hasher.finalize().as_bytes()
}

impl CacheFile {
    /// Reads the file, if there is one, and removes what a killed run has left beside it. The folder must be writable.
    pub(crate) fn open(path: &Path, role: Role, mine: PublicKey, theirs: PublicKey) -> Result<Self, Error> {
        let mut cache_file = CacheFile { path: path.to_owned(), role, keys: [mine, theirs], found: None };
        let refused = |why: String, remedy: &'static str| {
            Error::usage(text!("`[keep-base-ots {}]`: {}", shown_path(path), why), remedy)
        };
        cache_file.found = cache_file.read().map_err(|fault| {
            let remedy = match fault {
                Fault::File(PrivateFileError::Exposed { .. }) => {
                    "remove the file, which others may have read; the next run makes new base OTs"
                }
                _ => "name another file, one for each partner and role; this one is left unchanged",
            };
            refused(fault.to_string(), remedy)
        })?;
        replacement::prepare(path).map_err(|error| {
            refused(format!("cannot be written: {error}"), "name a file in a folder that you may write to")
        })?;
        Ok(cache_file)
    }

    /// The state of this cache, as the terms name it.
    pub(crate) fn state(&self) -> CacheState {
        self.found.as_ref().map_or(CacheState::Empty, |Stored { id, kept }| {
            let (level, count, generation) = (kept.level(), kept.count() as u32, kept.generation());
            CacheState::Holds(Mark { id: *id, level, count, generation })
        })
    }

    /// The cache of a run, as the parties agreed: filled, or to be filled. None if the run does not use the
    /// file. Base OTs that the run makes get the id `new`.
    pub(crate) fn begin(mut self, agreed: BaseOts, new: [u8; 32]) -> Option<CacheInUse> {
        match (agreed, self.found.take()) {
            (BaseOts::New(_), _) => {
                Some(CacheInUse { file: self, id: new, found: false, cache: BaseOtCache::new() })
            }
            (BaseOts::Kept(generation), Some(Stored { id, mut kept })) => {
                kept.renew_until(generation);
                Some(CacheInUse { file: self, id, found: true, cache: BaseOtCache::of(kept) })
            }
            _ => None,
        }
    }

    fn read(&self) -> Result<Option<Stored>, Fault> {
        let bytes = match private_file::read(&self.path, LIMIT, Readers::Owner) {
            Err(PrivateFileError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        self.decode(&bytes).map(Some)
    }

    fn decode(&self, bytes: &[u8]) -> Result<Stored, Fault> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(Fault::Foreign)?;
        let version = Reader::new(rest).u16()?;
        if version != VERSION {
            return Err(Fault::Version(version));
        }
        let (content, found) = bytes.split_last_chunk::<SUM>().ok_or(Fault::Damaged)?;
        if sum(content) != *found {
            return Err(Fault::Damaged);
        }
        let mut reader = Reader::new(&content[MAGIC.len() + size_of::<u16>()..]);
        let role = if reader.bool()? { Role::Sender } else { Role::Receiver };
        let [mine, theirs] = [reader.array()?, reader.array()?].map(PublicKey::from_bytes);
        let id = reader.array()?;
        let kept = CachedBaseOts::from_bytes(reader.fixed(reader.left())?)?;
        match () {
            () if [mine, theirs] == [self.keys[1], self.keys[0]] => Err(Fault::Identity),
            () if theirs != self.keys[1] => Err(Fault::Partner),
            () if mine != self.keys[0] => Err(Fault::Identity),
            () if role != self.role => Err(Fault::Role(role)),
            // The receiver of the intersection is the sender of the base OTs.
            () if kept.is_sender() != (role == Role::Receiver) => Err(Fault::Damaged),
            () => Ok(Stored { id, kept }),
        }
    }

    fn encode(&self, Stored { id, kept }: &Stored) -> Zeroizing<Vec<u8>> {
        let kept = kept.to_bytes();
        let mut bytes = Zeroizing::new(Vec::with_capacity(kept.len() + 256));
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.push(u8::from(self.role == Role::Sender));
        for part in [self.keys[0].as_bytes(), self.keys[1].as_bytes(), id] {
            bytes.extend_from_slice(part);
        }
        bytes.extend_from_slice(&kept);
        let sum = sum(&bytes);
        bytes.extend_from_slice(&sum);
        bytes
    }

    fn write(&self, stored: &Stored) -> io::Result<()> {
        Replacement::beside(&self.path)?.put(&self.encode(stored), &self.path)
    }
}

/// The base OTs of a run under way.
pub(crate) struct CacheInUse {
    file: CacheFile,
    id: [u8; 32],
    /// Whether they were in the file.
    found: bool,
    cache: BaseOtCache,
}

impl CacheInUse {
    /// The cache that the protocol uses.
    pub(crate) fn cache(&self) -> &BaseOtCache {
        &self.cache
    }

    /// Stores the run's base OTs. To be called after a run that both sides confirmed.
    pub(crate) fn store(self) -> Result<(), Error> {
        let CacheInUse { file, id, found, cache } = self;
        let Some(kept) = cache.into_cached() else { return Ok(()) };
        // Another run may have used the same base OTs in the meantime, or have failed and removed them.
        let behind = |stored: Stored| stored.id == id && stored.kept.generation() < kept.generation();
        if found && !file.read().ok().flatten().is_some_and(behind) {
            return Ok(());
        }
        file.write(&Stored { id, kept }).map_err(|error| Error {
            phase: RunPhase::Write,
            kind: Kind::Output,
            ..Error::usage(
                text!("`[keep-base-ots {}]`: cannot be written: {}", shown_path(&file.path), error.to_string()),
                "name a file that you may write to, and {run again on both sides}; {nothing was written here}",
            )
        })
    }

    /// Removes the file that the run's base OTs came from. To be called after a run that failed. Returns
    /// whether there was such a file.
    pub(crate) fn remove(&self) -> bool {
        let same = || self.file.read().ok().flatten().is_some_and(|stored| stored.id == self.id);
        self.found && same() && fs::remove_file(&self.file.path).is_ok()
    }
}
