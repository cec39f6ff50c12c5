//! Who a party is: an Ed25519 key pair in a file, and the public key as a line of text that the partner is given.
//!
//! The file is PKCS#8 in PEM. What [`Identity::generate`] makes holds the public key, too (version 2); files without it
//! (version 1, `openssl genpkey -algorithm ed25519`) are read as well.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use base64::engine::{Engine, general_purpose::URL_SAFE_NO_PAD};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::private_file::{self, PrivateFileError, Readers};

/// What every public key in text starts with.
const PREFIX: &str = "vesica-pub1-";
/// Characters of 32 bytes in base64 without padding.
const ENCODED: usize = 43;
/// Bytes of a signature.
pub const SIGNATURE: usize = 64;
const PEM_LABEL: &str = "PRIVATE KEY";
/// No key file is longer.
const FILE_LIMIT: u64 = 16 << 10;
/// SubjectPublicKeyInfo of an Ed25519 key, up to the key itself (RFC 8410).
const SPKI_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// A public key: what the partner expects, and what it is asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

/// A key pair. Its private half is wiped when it is dropped, and never printed.
#[derive(Clone)]
pub struct Identity {
    pkcs8: Zeroizing<Vec<u8>>,
    public: PublicKey,
}

/// Why text is not a public key. The text itself is not repeated: it may be a secret given by mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PublicKeyError {
    /// Something else altogether.
    #[error("a public key starts with `{PREFIX}`")]
    Prefix,
    /// The end is missing.
    #[error("the public key is cut short: {found} of {ENCODED} characters follow `{PREFIX}`")]
    Truncated {
        /// Characters after the prefix.
        found: usize,
    },
    /// Something follows.
    #[error("{extra} characters too many follow the public key")]
    Trailing {
        /// How many.
        extra: usize,
    },
    /// A character that cannot be in a key.
    #[error("character {position} of the public key is not one of A-Z a-z 0-9 - _")]
    Character {
        /// Where, counted from 1 over the whole text.
        position: usize,
    },
    /// The last character does not fit.
    #[error("the last character of the public key is wrong")]
    LastCharacter,
}

/// Why an identity could not be made, read or written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IdentityError {
    /// There is a file already.
    #[error("{} exists and is not overwritten: move it away first, or name another file", shown(path))]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Others may read the file.
    #[error("{path} can be read by others (mode {mode:03o}): if it is your identity, run `chmod 600 {path}`", path = shown(path))]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A directory, a device, or far too long.
    #[error("{} is not a key file", shown(path))]
    NotAKeyFile {
        /// The file.
        path: PathBuf,
    },
    /// The system's reason.
    #[error("cannot {action} {}: {cause}", shown(path))]
    File {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        cause: String,
    },
    /// The file's content is no identity.
    #[error("{}: {why}", shown(path))]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: Box<IdentityError>,
    },
    /// Not PEM, or PEM of something else.
    #[error("this is not a private key in PEM (`-----BEGIN {PEM_LABEL}-----`)")]
    NotPem,
    /// PEM of a private key, but not a good Ed25519 one.
    #[error("this is not an Ed25519 private key")]
    NotEd25519,
    /// The system has no randomness, or the like.
    #[error("a key could not be generated")]
    Generation,
}

/// A signature as text: base64 without padding, as in public keys.
pub fn signature_to_text(signature: &[u8; SIGNATURE]) -> String {
    URL_SAFE_NO_PAD.encode(signature)
}

/// The signature of a text, if it is one. No two texts are the same signature.
pub fn signature_from_text(text: &str) -> Option<[u8; SIGNATURE]> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

/// A path for the screen: on one line, with characters escaped that are not seen or turn the text around them.
fn shown(path: &Path) -> String {
    let escape = |c: char| match c {
        '\'' | '"' | '\\' => c.to_string(),
        c => c.escape_debug().to_string(),
    };
    path.to_string_lossy().chars().map(escape).collect()
}

impl PublicKey {
    /// The key of these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key's bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Whether this key's holder signed the message (Ed25519, RFC 8032).
    pub fn has_signed(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.0).verify(message, signature).is_ok()
    }

    /// The key in base64, which the text form has behind its prefix.
    pub(crate) fn encoded(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// The key as TLS carries it.
    pub(crate) fn to_spki(self) -> Vec<u8> {
        [&SPKI_PREFIX[..], &self.0].concat()
    }

    pub(crate) fn from_spki(spki: &[u8]) -> Option<Self> {
        spki.strip_prefix(&SPKI_PREFIX)?.try_into().ok().map(Self)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.encoded())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PublicKey {
    type Err = PublicKeyError;

    fn from_str(text: &str) -> Result<Self, PublicKeyError> {
        let encoded = text.strip_prefix(PREFIX).ok_or(PublicKeyError::Prefix)?;
        let allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
        let found = encoded.chars().take_while(|&character| allowed(character)).count();
        let length = encoded.chars().count();
        if found < ENCODED && found < length {
            return Err(PublicKeyError::Character { position: PREFIX.len() + found + 1 });
        }
        if length < ENCODED {
            return Err(PublicKeyError::Truncated { found });
        }
        if length > ENCODED {
            return Err(PublicKeyError::Trailing { extra: length - ENCODED });
        }
        let mut bytes = [0; 32];
        match URL_SAFE_NO_PAD.decode_slice(encoded, &mut bytes) {
            Ok(32) => Ok(Self(bytes)),
            _ => Err(PublicKeyError::LastCharacter),
        }
    }
}

impl Identity {
    /// A new key pair, from the system's randomness.
    pub fn generate() -> Result<Self, IdentityError> {
        let pair = Ed25519KeyPair::generate().map_err(|_| IdentityError::Generation)?;
        let pkcs8 = pair.to_pkcs8().map_err(|_| IdentityError::Generation)?;
        Self::from_pkcs8(Zeroizing::new(pkcs8.as_ref().to_vec()))
    }

    /// The key pair in a PEM text.
    pub fn from_pem(pem: &str) -> Result<Self, IdentityError> {
        let (label, pkcs8) = pem_rfc7468::decode_vec(pem.as_bytes()).map_err(|_| IdentityError::NotPem)?;
        let pkcs8 = Zeroizing::new(pkcs8);
        if label != PEM_LABEL {
            return Err(IdentityError::NotPem);
        }
        Self::from_pkcs8(pkcs8)
    }

    /// The key pair as a PEM text.
    pub fn to_pem(&self) -> Result<Zeroizing<String>, IdentityError> {
        pem_rfc7468::encode_string(PEM_LABEL, pem_rfc7468::LineEnding::LF, &self.pkcs8)
            .map(Zeroizing::new)
            .map_err(|_| IdentityError::Generation)
    }

    /// Reads a key file, which nobody but its owner may be able to read, and its group if this process is in it. A pipe is
    /// read too; `-` is standard input.
    pub fn load(path: &Path) -> Result<Self, IdentityError> {
        let fail = |error: io::Error| IdentityError::File {
            action: "read",
            path: path.to_owned(),
            cause: error.to_string(),
        };
        let bytes = private_file::read(path, FILE_LIMIT, Readers::Group).map_err(|error| match error {
            PrivateFileError::Exposed { mode } => IdentityError::Exposed { path: path.to_owned(), mode },
            PrivateFileError::NotAFile | PrivateFileError::Link => {
                IdentityError::NotAKeyFile { path: path.to_owned() }
            }
            PrivateFileError::Io(error) => fail(error),
        })?;
        let identity =
            std::str::from_utf8(&bytes).map_err(|_| IdentityError::NotPem).and_then(Self::from_pem);
        identity.map_err(|why| IdentityError::Content { path: path.to_owned(), why: Box::new(why) })
    }

    /// Writes a key file that nobody but its owner can read. An existing file is left alone.
    pub fn save(&self, path: &Path) -> Result<(), IdentityError> {
        let fail = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => IdentityError::Exists { path: path.to_owned() },
            _ => IdentityError::File { action: "write", path: path.to_owned(), cause: error.to_string() },
        };
        let pem = self.to_pem()?;
        let mut file = private_file::create_new(path).map_err(fail)?;
        let written = file.write_all(pem.as_bytes()).and_then(|()| file.sync_all());
        written.map_err(|error| {
            // Half a key is of no use, and would keep the next attempt from writing a whole one.
            let _ = fs::remove_file(path);
            fail(error)
        })
    }

    /// The public half.
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// A signature (Ed25519, RFC 8032). What is signed begins with words for one use, so that it is taken for no other.
    ///
    /// # Errors
    /// If the library refuses the key, which it made or has read.
    pub fn sign(&self, message: &[u8]) -> Result<[u8; 64], IdentityError> {
        let pair = Ed25519KeyPair::from_pkcs8(&self.pkcs8).map_err(|_| IdentityError::NotEd25519)?;
        pair.sign(message).as_ref().try_into().map_err(|_| IdentityError::NotEd25519)
    }

    pub(crate) fn pkcs8(&self) -> &[u8] {
        &self.pkcs8
    }

    fn from_pkcs8(pkcs8: Zeroizing<Vec<u8>>) -> Result<Self, IdentityError> {
        let pair = Ed25519KeyPair::from_pkcs8(&pkcs8).map_err(|_| IdentityError::NotEd25519)?;
        let public = pair.public_key().as_ref().try_into().map_err(|_| IdentityError::NotEd25519)?;
        Ok(Self { pkcs8, public: PublicKey(public) })
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("public", &self.public).finish_non_exhaustive()
    }
}
