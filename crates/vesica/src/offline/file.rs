//! The file of `--offline`: what an offline phase has left to one party, for one run with one partner in one role.
//!
//! ```text
//! head   "vesica offline.\n" · u16 version · u8 role (1: sender) · my public key · the partner's · u64 items of the
//!        receiver · id · u32 length · protocol and parameters · BLAKE3 of all that
//! body   the output as the protocol stores it, of a length that role and items give
//! sum    BLAKE3 of head and body
//! ```
//!
//! Little-endian. Only its owner may be able to read it. It is made whole or not at all, and replaces nothing. A run that
//! takes it puts its id on the [lists](super::used), renames it, and only then sends a byte of the online phase. The
//! renamed file is emptied and deleted when the run has ended, however it ends, unless it is killed.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use vesica_channel::codec::{CodecError, Reader, Writer};
use vesica_net::PublicKey;
use vesica_net::private_file::{self, PrivateFileError};
use vesica_protocols::registry::Entry;
use vesica_protocols::{OfflineOutput, OfflinePhase, OfflineSlot, Parameters, Role};

use super::used::{Use, UsedFault, UsedIds, is_there};
use super::{Id, hex};
use crate::system::{self, sync_folder};

const MAGIC: &[u8; 16] = b"vesica offline.\n";
const VERSION: u16 = 1;
const SUM: usize = 32;
/// The most bytes of protocol and parameters.
const MOST_TEXT: usize = 512;
/// Bytes of a head before its text, the text's length included.
const FIXED: usize = MAGIC.len() + 2 + 1 + 32 + 32 + 8 + 32 + 4;
/// Bytes that are read at a time. Nothing is buffered beside that, since it would not be wiped.
const PIECE: usize = 1 << 20;

/// What a file is for. A run takes it only if all of this is the run's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) role: Role,
    /// Mine, theirs.
    pub(crate) keys: [PublicKey; 2],
    /// The protocol, and its parameters as the protocol context absorbs them.
    protocol: String,
}

impl Binding {
    pub(crate) fn new(role: Role, keys: [PublicKey; 2], entry: &Entry, parameters: &Parameters) -> Self {
        Binding { role, keys, protocol: format!("{} {}", entry.name, parameters.text()) }
    }
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    File(#[from] PrivateFileError),
    #[error("it holds no output of an offline phase")]
    Foreign,
    #[error("its version is {0}, and this program knows version {VERSION}")]
    Version(u16),
    #[error("it is damaged")]
    Damaged,
    #[error("this side made it as {0}")]
    Role(Role),
    #[error("this side made it under another identity")]
    Identity,
    #[error("it was made with another partner")]
    Partner,
    #[error("it was made for `{made}`, and this run is `{run}`")]
    Parameters { made: String, run: String },
    #[error(transparent)]
    Used(#[from] UsedFault),
    #[error("another file took its place")]
    Replaced,
    #[error("the run was interrupted")]
    Cancelled,
}

impl From<CodecError> for Fault {
    fn from(_: CodecError) -> Self {
        Fault::Damaged
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => Fault::Damaged,
            _ => Fault::File(PrivateFileError::Io(error)),
        }
    }
}

impl Fault {
    /// Whether the file is as it should be, and the options name another one.
    pub(crate) fn is_mismatch(&self) -> bool {
        matches!(self, Fault::Role(_) | Fault::Identity | Fault::Partner | Fault::Parameters { .. })
    }
}

fn hasher() -> blake3::Hasher {
    blake3::Hasher::new_derive_key("vesica offline output v1")
}

/// The head's bytes.
fn head(binding: &Binding, items: usize, id: &Id) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.fixed(MAGIC).u16(VERSION).bool(binding.role == Role::Sender);
    writer.fixed(binding.keys[0].as_bytes()).fixed(binding.keys[1].as_bytes());
    writer.u64(items as u64).fixed(id).text(&binding.protocol);
    let mut head = writer.into_vec();
    let sum = hasher().update(&head).finalize();
    head.extend_from_slice(sum.as_bytes());
    head
}

/// A file that is there, and whose head fits the run. Nothing is used up yet.
pub(crate) struct OfflineFile {
    path: PathBuf,
    file: File,
    lists: UsedIds,
    binding: Binding,
    phase: &'static OfflinePhase,
    head: Vec<u8>,
    pub(crate) items: usize,
    pub(crate) id: Id,
}

impl OfflineFile {
    /// Opens the file, and reads its head.
    pub(crate) fn open(
        path: &Path,
        state: Option<&Path>,
        binding: Binding,
        phase: &'static OfflinePhase,
    ) -> Result<Self, Fault> {
        let file = private_file::open(path)?;
        let (head, items, id) = read_head(&file, &binding, phase)?;
        let expected = (head.len() + SUM) as u64 + phase.stored_bytes(binding.role, items);
        if file.metadata()?.len() != expected {
            return Err(Fault::Damaged);
        }
        let lists = UsedIds::beside(folder(path), state)?;
        lists.check(Use(id, binding.role))?;
        Ok(OfflineFile { path: path.to_owned(), file, lists, binding, phase, head, items, id })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of the output.
    pub(crate) fn stored_bytes(&self) -> u64 {
        self.phase.stored_bytes(self.binding.role, self.items)
    }

    /// Reads the body.
    pub(crate) fn load(self, cancelled: &dyn Fn() -> bool) -> Result<Loaded, Fault> {
        let mut body = Hashed { file: (&self.file).take(self.stored_bytes()), hasher: hasher(), cancelled };
        body.hasher.update(&self.head);
        let read = self.phase.read(&mut body, self.binding.role, self.items);
        let output = read.map_err(|error| if cancelled() { Fault::Cancelled } else { error.into() })?;
        let (sum, mut found) = (body.hasher.finalize(), [0; SUM]);
        (&self.file).read_exact(&mut found)?;
        if body.file.limit() > 0 || *sum.as_bytes() != found || output.id() != self.id {
            return Err(Fault::Damaged);
        }
        Ok(Loaded { file: self, output })
    }
}

/// Hashes what is read.
struct Hashed<'a> {
    file: io::Take<&'a File>,
    hasher: blake3::Hasher,
    cancelled: &'a dyn Fn() -> bool,
}

impl Read for Hashed<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if (self.cancelled)() {
            return Err(io::Error::other("cancelled"));
        }
        let most = into.len().min(PIECE);
        let count = self.file.read(&mut into[..most])?;
        self.hasher.update(&into[..count]);
        Ok(count)
    }
}

/// Reads the head, which must fit the run: its bytes, the receiver's items, and the id.
fn read_head(
    mut file: &File,
    binding: &Binding,
    phase: &OfflinePhase,
) -> Result<(Vec<u8>, usize, Id), Fault> {
    let mut head = vec![0; FIXED];
    let begun = file.read(&mut head)?;
    if !head[..begun].starts_with(MAGIC) {
        return Err(Fault::Foreign);
    }
    file.read_exact(&mut head[begun..])?;
    let mut reader = Reader::new(&head[MAGIC.len()..]);
    let version = reader.u16()?;
    if version != VERSION {
        return Err(Fault::Version(version));
    }
    let role = if reader.bool()? { Role::Sender } else { Role::Receiver };
    let keys = [reader.array()?, reader.array()?].map(PublicKey::from_bytes);
    let (items, id, length) = (reader.u64()?, reader.array()?, reader.u32()? as usize);
    if length > MOST_TEXT {
        return Err(Fault::Damaged);
    }
    head.resize(FIXED + length + SUM, 0);
    file.read_exact(&mut head[FIXED..])?;
    let (content, sum) = head.split_last_chunk::<SUM>().ok_or(Fault::Damaged)?;
    if *hasher().update(content).finalize().as_bytes() != *sum {
        return Err(Fault::Damaged);
    }
    let made = std::str::from_utf8(&content[FIXED..]).map_err(|_| Fault::Damaged)?;
    let items = usize::try_from(items).ok().filter(|items| (1..=phase.most_items).contains(items));
    let Some(items) = items else { return Err(Fault::Damaged) };
    match () {
        () if keys == [binding.keys[1], binding.keys[0]] => Err(Fault::Identity),
        () if keys[1] != binding.keys[1] => Err(Fault::Partner),
        () if keys[0] != binding.keys[0] => Err(Fault::Identity),
        () if role != binding.role => Err(Fault::Role(role)),
        () if made != binding.protocol => {
            Err(Fault::Parameters { made: made.to_owned(), run: binding.protocol.clone() })
        }
        () => Ok((head, items, id)),
    }
}

/// A file whose output is in memory. Nothing is used up yet.
pub(crate) struct Loaded {
    file: OfflineFile,
    output: OfflineOutput,
}

impl Loaded {
    pub(crate) fn id(&self) -> Id {
        self.file.id
    }

    pub(crate) fn items(&self) -> usize {
        self.file.items
    }

    /// Uses the file up: when this returns, its id is on the lists and the file has another name, all of it on the disk.
    pub(crate) fn consume(self, cancelled: &dyn Fn() -> bool) -> Result<Consumed, Fault> {
        let OfflineFile { path, file, lists, binding, id, .. } = self.file;
        let mut locked = lists.lock(cancelled)?;
        locked.add(Use(id, binding.role))?;
        if !system::is_same_file(&file, &path)? {
            return Err(Fault::Replaced);
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".used-{}", &hex(&id)[..16]));
        let used = path.with_file_name(name);
        fs::rename(&path, &used)?;
        sync_folder(&used)?;
        Ok(Consumed { slot: OfflineSlot::of(self.output), path: used, file })
    }
}

/// Output for the run that has used its file up. The file is deleted with it.
pub(crate) struct Consumed {
    slot: OfflineSlot,
    path: PathBuf,
    file: File,
}

impl Consumed {
    pub(crate) fn slot(&self) -> &OfflineSlot {
        &self.slot
    }
}

impl Drop for Consumed {
    fn drop(&mut self) {
        // A file that stays cannot be used again: it has another name, and its id is on the lists.
        let _ = self.file.set_len(0);
        let _ = fs::remove_file(&self.path);
    }
}

/// The place of a file that an offline phase is about to fill.
pub(crate) struct NewOfflineFile {
    path: PathBuf,
    binding: Binding,
    temporary: NamedTempFile,
}

/// Why a file cannot be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NewFault {
    #[error("it is there already, and no file is overwritten")]
    Exists,
    #[error("it takes {needed}, and {free} are free there")]
    Room { needed: crate::memory::Bytes, free: crate::memory::Bytes },
    #[error("it cannot be written: {0}")]
    Io(#[from] io::Error),
}

impl NewOfflineFile {
    /// Checks that a file of so many bytes can be made there.
    pub(crate) fn at(path: &Path, binding: Binding, bytes: u64) -> Result<Self, NewFault> {
        if is_there(path) {
            return Err(NewFault::Exists);
        }
        let prefix = tempfile::Builder::new().prefix(".vesica-").suffix(".tmp").tempfile_in(folder(path));
        let temporary = prefix?;
        if let Some(free) = system::free(temporary.as_file()).filter(|&free| free < bytes) {
            let [needed, free] = [bytes, free].map(crate::memory::Bytes);
            return Err(NewFault::Room { needed, free });
        }
        Ok(NewOfflineFile { path: path.to_owned(), binding, temporary })
    }

    /// Writes all of it, under a temporary name, and waits until it is on the disk.
    pub(crate) fn write(&mut self, output: &OfflineOutput, items: usize) -> io::Result<()> {
        let head = head(&self.binding, items, &output.id());
        let mut summed = Summed { file: self.temporary.as_file(), hasher: hasher() };
        summed.write_all(&head)?;
        output.write_to(&mut summed)?;
        let sum = summed.hasher.finalize();
        summed.file.write_all(sum.as_bytes())?;
        summed.file.sync_all()
    }

    /// Gives the file its name.
    pub(crate) fn commit(self) -> Result<(), NewFault> {
        self.temporary.persist_noclobber(&self.path).map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => NewFault::Exists,
            _ => NewFault::Io(error.error),
        })?;
        Ok(sync_folder(&self.path)?)
    }
}

/// Hashes what is written.
struct Summed<'a> {
    file: &'a File,
    hasher: blake3::Hasher,
}

impl Write for Summed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The folder of a path.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
