//! The file of the OPRF's key: PEM, for its owner's eyes alone.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use pem_rfc7468::LineEnding;
use rand_core::CryptoRng;
use vesica_net::private_file::{self, PrivateFileError, Readers};
use vesica_protocols::public_key::voprf::SecretKey;
use vesica_table::shown_path;
use vesica_text::text;
use zeroize::Zeroizing;

use crate::words::error::{Error, Kind};

const LABEL: &str = "VESICA SET PRIVATE KEY";
/// The length of a file is below this.
const LIMIT: u64 = 4096;

/// The key in that file.
pub(super) fn load(path: &Path) -> Result<SecretKey, Error> {
    let bytes = private_file::read(path, LIMIT, Readers::Group).map_err(|error| match error {
        PrivateFileError::Exposed { .. } => {
            refused(path, &error.to_string(), "let only its owner read it (`chmod 600`)")
        }
        error => refused(path, &error.to_string(), "name the file that `vesica publish` made"),
    })?;
    let none = || refused(path, "it holds no key of a set", "name the file that `vesica publish` made");
    let (label, key) = pem_rfc7468::decode_vec(&bytes).map_err(|_| none())?;
    let key = Zeroizing::new(key);
    let scalar = <&[u8; 32]>::try_from(&key[..]).map_err(|_| none())?;
    if label != LABEL {
        return Err(none());
    }
    SecretKey::from_bytes(scalar).map_err(|_| none())
}

/// A file that goes again unless a set of its key is there: a key without a set is of no use, and the next try needs its name.
pub(super) struct Unused {
    secret: PathBuf,
    set: PathBuf,
}

impl Unused {
    /// The file of a new key, for the set in that file.
    pub(super) fn until(secret: &Path, set: &Path) -> Self {
        Unused { secret: secret.into(), set: set.into() }
    }
}

impl Drop for Unused {
    fn drop(&mut self) {
        if !self.set.exists() {
            let _ = fs::remove_file(&self.secret);
        }
    }
}

/// A new key in a new file.
pub(super) fn create(path: &Path, rng: &mut dyn CryptoRng) -> Result<SecretKey, Error> {
    let failed = |error: std::io::Error| Error {
        kind: Kind::Output,
        ..refused(path, &error.to_string(), "name a new file in a folder that you may write to")
    };
    let key = SecretKey::random(rng);
    let pem = pem_rfc7468::encode_string(LABEL, LineEnding::LF, &*key.to_bytes()).map(Zeroizing::new);
    let pem = pem.map_err(|error| failed(std::io::Error::other(error.to_string())))?;
    let mut file = private_file::create_new(path).map_err(failed)?;
    let written = file.write_all(pem.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|error| {
        // Half a key is of no use.
        let _ = fs::remove_file(path);
        failed(error)
    })?;
    Ok(key)
}

fn refused(path: &Path, why: &str, remedy: &'static str) -> Error {
    Error::usage(text!("`[secret {}]`: {}", shown_path(path), why.to_owned()), remedy)
}
