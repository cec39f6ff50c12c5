//! The file of `--keep-base-ots`: the base OTs of one party with one partner, in one role.
//!
//! ```text
//! "vesica base OTs\n" · u16 version · u8 role (1: sender) · my public key · the partner's · id · the base OTs · BLAKE3 of all that
//! ```
//!
//! Little-endian. Nobody but its owner may be able to read it. It is replaced as a whole, after a run that both sides
//! confirmed; a file that is not one of this party, partner and role is never replaced.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use vesica_channel::codec::{CodecError, Reader};
use vesica_net::PublicKey;
use vesica_net::private_file::{self, PrivateFileError, Readers};
use vesica_ot::base::kept::{Keeping, Kept};
use vesica_protocols::{Phase, Role};
use zeroize::Zeroizing;

use super::{BaseOts, Mark, Offer};
use crate::error::{Error, Kind};

const MAGIC: &[u8; 16] = b"vesica base OTs\n";
const VERSION: u16 = 2;
const SUM: usize = 32;
/// No such file is longer: 512 base OTs, and what stands before and after them.
const LIMIT: u64 = 64 << 10;

/// The file, and what was in it.
pub(crate) struct Keeper {
    path: PathBuf,
    role: Role,
    /// Mine, theirs.
    keys: [PublicKey; 2],
    found: Option<Stored>,
}

struct Stored {
    id: [u8; 32],
    kept: Kept,
}

/// Why a file is not one of this party, partner and role.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error(transparent)]
    File(#[from] PrivateFileError),
    #[error("it holds no base OTs")]
    Foreign,
    #[error("it is of version {0}, and this program knows version {VERSION}")]
    Version(u16),
    #[error("it is damaged")]
    Damaged,
    #[error("it was kept by this side as {0}")]
    Role(Role),
    #[error("it was kept under another identity of this side")]
    Identity,
    #[error("it was kept with another partner")]
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

impl Keeper {
    /// Reads the file, if there is one. Without one there must be a folder to put it into.
    pub(crate) fn open(path: &Path, role: Role, mine: PublicKey, theirs: PublicKey) -> Result<Self, Error> {
        let mut keeper = Keeper { path: path.to_owned(), role, keys: [mine, theirs], found: None };
        let refused = |why: String, remedy: &str| {
            Error::usage(format!("--keep-base-ots {}: {why}", path.display()), remedy)
        };
        keeper.found = keeper.read().map_err(|fault| {
            let remedy = match fault {
                Fault::File(PrivateFileError::Exposed { .. }) => {
                    "remove the file: others may know it, and base OTs are soon made anew"
                }
                _ => "name another file, one for each partner and role; this one is left as it is",
            };
            refused(fault.to_string(), remedy)
        })?;
        keeper.beside().map_err(|error| {
            refused(format!("cannot be written: {error}"), "name a file in a folder that can be written to")
        })?;
        Ok(keeper)
    }

    /// What this side says of it in the terms.
    pub(crate) fn offer(&self) -> Offer {
        self.found.as_ref().map_or(Offer::Room, |Stored { id, kept }| {
            let (level, count, generation) = (kept.level(), kept.count() as u32, kept.generation());
            Offer::Have(Mark { id: *id, level, count, generation })
        })
    }

    /// What a run takes, or is to leave, as was agreed; none if it has nothing to do with the file. Base OTs that it makes
    /// get the name `new`.
    pub(crate) fn begin(mut self, agreed: BaseOts, new: [u8; 32]) -> Option<Held> {
        match (agreed, self.found.take()) {
            (BaseOts::New(_), _) => {
                Some(Held { keeper: self, id: new, found: false, keeping: Keeping::new() })
            }
            (BaseOts::Kept(generation), Some(Stored { id, mut kept })) => {
                kept.renew_until(generation);
                Some(Held { keeper: self, id, found: true, keeping: Keeping::of(kept) })
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
        let (told, found) = bytes.split_last_chunk::<SUM>().ok_or(Fault::Damaged)?;
        if sum(told) != *found {
            return Err(Fault::Damaged);
        }
        let mut reader = Reader::new(&told[MAGIC.len() + size_of::<u16>()..]);
        let role = if reader.bool()? { Role::Sender } else { Role::Receiver };
        let [mine, theirs] = [reader.array()?, reader.array()?].map(PublicKey::from_bytes);
        let id = reader.array()?;
        let kept = Kept::from_bytes(reader.fixed(reader.left())?)?;
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

    fn folder(&self) -> &Path {
        self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// A file beside the one that is meant, for its owner alone, gone if nothing else is done with it.
    fn beside(&self) -> io::Result<NamedTempFile> {
        tempfile::Builder::new().prefix(".vesica-").suffix(".tmp").tempfile_in(self.folder())
    }

    fn write(&self, stored: &Stored) -> io::Result<()> {
        let mut file = self.beside()?;
        file.write_all(&self.encode(stored))?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        // It is in place; not every file system can sync a folder.
        let _ = File::open(self.folder()).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

/// The base OTs of a run under way.
pub(crate) struct Held {
    keeper: Keeper,
    id: [u8; 32],
    /// Whether they were in the file.
    found: bool,
    keeping: Keeping,
}

impl Held {
    /// For the protocol.
    pub(crate) fn keeping(&self) -> &Keeping {
        &self.keeping
    }

    /// After a run that both sides confirmed: stores what is to be kept of it.
    pub(crate) fn keep(self) -> Result<(), Error> {
        let Held { keeper, id, found, keeping } = self;
        let Some(kept) = keeping.finish() else { return Ok(()) };
        // Another run may have gone on with the same ones in the meantime, or have failed and removed them.
        let behind = |stored: Stored| stored.id == id && stored.kept.generation() < kept.generation();
        if found && !keeper.read().ok().flatten().is_some_and(behind) {
            return Ok(());
        }
        keeper.write(&Stored { id, kept }).map_err(|error| Error {
            phase: Phase::Write,
            kind: Kind::Output,
            ..Error::usage(
                format!("--keep-base-ots {}: cannot be written: {error}", keeper.path.display()),
                "name a file that can be written, and run again on both sides; nothing was written here",
            )
        })
    }

    /// After a run that failed: removes what it took from the file. Whether it did is said.
    pub(crate) fn forget(self) -> bool {
        let same = || self.keeper.read().ok().flatten().is_some_and(|stored| stored.id == self.id);
        self.found && same() && fs::remove_file(&self.keeper.path).is_ok()
    }
}
