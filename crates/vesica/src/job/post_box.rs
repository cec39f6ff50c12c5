//! A post-box: a folder, a mounted share or an address in an object store where two sides leave signed files for each other,
//! so that they need never be online at the same time.
//!
//! A file has its name only once it is whole and durable, and replaces none. It ends in its writer's signature (Ed25519, 64
//! bytes) over everything before. What both write is theirs to make meaningless to everybody else.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use vesica_channel::CancelToken;
use vesica_kept::{Temporary, remove_stale};
use vesica_net::{Identity, PublicKey};
use vesica_store::{Folder, StoreError};
use vesica_table::{Address, shown_path};
use vesica_text::text;

use crate::words::error::{Error, Kind, REPORT_A_BUG, RunPhase, Side};
use crate::words::settings::Settings;

const SIGNED: &[u8] = b"vesica post-box file";
const SIGNATURE: usize = 64;

/// Bytes of a signature, behind each file.
pub(super) const SIGNATURE_BYTES: u64 = SIGNATURE as u64;

/// Where both sides leave files.
pub(super) struct PostBox<'a> {
    place: Place,
    cancel: &'a CancelToken,
}

enum Place {
    Folder(PathBuf),
    Store(Folder),
}

impl<'a> PostBox<'a> {
    /// The box at that path or address. A folder has to be there.
    pub(super) fn at(path: &Path, cancel: &'a CancelToken) -> Result<Self, Error> {
        let failed = |why: String| refused(path, &why);
        let address = Address::of(path).map_err(|error| failed(error.to_string()))?;
        let place = match address {
            Some(address) => Place::Store(Folder::at(&address).map_err(|error| failed(error.to_string()))?),
            None if path.is_dir() => {
                remove_stale(path);
                Place::Folder(path.to_owned())
            }
            None => return Err(failed("there is no such folder".into())),
        };
        Ok(PostBox { place, cancel })
    }

    fn stop(&self) -> impl FnMut() -> ControlFlow<()> {
        let cancel = self.cancel.clone();
        move || if cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn failed(&self, why: &str) -> Error {
        match &self.place {
            Place::Folder(folder) => refused(folder, why),
            Place::Store(folder) => refused(Path::new(&folder.shown()), why),
        }
    }

    fn of_store(&self, error: &StoreError) -> Error {
        match error {
            StoreError::Cancelled => Error::interrupted(RunPhase::Post),
            error => self.failed(&error.to_string()),
        }
    }

    /// The names of the files there, ascending.
    pub(super) fn names(&self) -> Result<Vec<String>, Error> {
        let mut names: Vec<String> = match &self.place {
            Place::Folder(folder) => {
                let entries = fs::read_dir(folder).map_err(|error| self.failed(&error.to_string()))?;
                entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
            }
            Place::Store(folder) => folder.names(&mut self.stop()).map_err(|error| self.of_store(&error))?,
        };
        names.sort_unstable();
        Ok(names)
    }

    /// A file of at most so many bytes without its signature; none if there is none.
    fn read_signed(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, Error> {
        let most = most + SIGNATURE_BYTES;
        let bytes = match &self.place {
            Place::Folder(folder) => match File::open(folder.join(name)) {
                Ok(file) => {
                    let mut bytes = Vec::new();
                    let read = file.take(most + 1).read_to_end(&mut bytes);
                    read.map_err(|error| self.failed(&error.to_string()))?;
                    bytes
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(self.failed(&error.to_string())),
            },
            Place::Store(folder) => {
                let read = folder.read(name, most, &mut self.stop());
                let Some(bytes) = read.map_err(|error| self.of_store(&error))? else { return Ok(None) };
                bytes
            }
        };
        // Too long a file is no file of anybody's.
        Ok(Some(if bytes.len() as u64 > most { Vec::new() } else { bytes }))
    }

    /// The content of a file of at most so many bytes, if `writer` has signed it: `Some(None)` if it has not, or if it is longer.
    pub(super) fn read(
        &self,
        name: &str,
        most: u64,
        writer: impl FnOnce(&[u8]) -> Option<PublicKey>,
    ) -> Result<Option<Option<Vec<u8>>>, Error> {
        let Some(mut bytes) = self.read_signed(name, most)? else { return Ok(None) };
        let checked = bytes.split_last_chunk::<SIGNATURE>().and_then(|(content, signature)| {
            writer(content)?.has_signed(&signed(content), signature).then_some(content.len())
        });
        Ok(Some(checked.map(|length| {
            bytes.truncate(length);
            bytes
        })))
    }

    /// Signs a file and gives it its name; says whether there was none.
    pub(super) fn put(&self, name: &str, mut bytes: Vec<u8>, identity: &Identity) -> Result<bool, Error> {
        let signature = identity.sign(&signed(&bytes));
        bytes.extend(signature.map_err(|error| Error::usage(error.to_string(), REPORT_A_BUG))?);
        match &self.place {
            Place::Folder(folder) => {
                let path = folder.join(name);
                let write = || {
                    let mut file = Temporary::beside(&path)?;
                    file.write_all(&bytes)?;
                    match file.put(&path) {
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
                        put => put.map(|()| true),
                    }
                };
                write().map_err(|error| self.failed(&error.to_string()))
            }
            Place::Store(folder) => {
                folder.put_new(name, bytes, &mut self.stop()).map_err(|error| self.of_store(&error))
            }
        }
    }

    /// Removes files. What cannot be removed now lies there, and is of no use to anybody.
    pub(super) fn remove(&self, names: &[String]) {
        for name in names {
            match &self.place {
                Place::Folder(folder) => drop(fs::remove_file(folder.join(name))),
                Place::Store(folder) => drop(folder.remove(name, &mut self.stop())),
            }
        }
    }
}

/// Refuses what is not told of a run or a look-up by post: nobody confirms one, so nothing is left that both could sign.
pub(super) fn check_records(settings: &Settings) -> Result<(), Error> {
    match settings.receipt {
        false => Ok(()),
        true => Err(Error::usage(
            "by post there is no receipt: each side has signed its own files alone",
            "leave out `[receipt]`, or meet {the partner} with `[connect]`",
        )),
    }
}

/// What a signature is over.
fn signed(content: &[u8]) -> Vec<u8> {
    [SIGNED, content].concat()
}

fn refused(path: &Path, why: &str) -> Error {
    let message = text!("the post-box {}: {}", shown_path(path), why.to_owned());
    let remedy =
        "name a folder, or an address in an object store, that both sides can read and write with `[post]`";
    Error { kind: Kind::Output, phase: RunPhase::Post, ..Error::usage(message, remedy) }
}

/// A file that is not what its name says.
pub(super) fn not_theirs(name: &str) -> Error {
    Error {
        side: Side::Partner,
        phase: RunPhase::Post,
        kind: Kind::Protocol,
        message: text!(
            "{} in the post-box is not what the partner writes there for this run",
            name.to_owned()
        ),
        remedy:
            "ask {the partner}; if somebody else has changed it, remove it, and the partner writes it again"
                .into(),
    }
}

/// Nothing is wrong; the partner has to go on.
pub(super) fn waiting(message: &'static str, remedy: vesica_text::Text) -> Error {
    Error { side: Side::Partner, phase: RunPhase::Post, kind: Kind::Waiting, message: message.into(), remedy }
}
