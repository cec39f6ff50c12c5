//! The hello: each side sends `magic ‖ version ‖ nonce`, then the other's nonce back. Only who answers with our nonce
//! is there now, speaks our version, and reads what we write.
//!
//! ```text
//!   "VESICA\r\n" ‖ u16 version ‖ nonce_a   ──►
//!                                          ◄──   "VESICA\r\n" ‖ u16 version ‖ nonce_b
//!                                nonce_b   ──►
//!                                          ◄──   nonce_a
//! ```
//!
//! Neither waits for the other before it has sent its part, so the order of the lines does not matter.

use std::io::{self, Read, Write};

use crate::connection::Nonces;
use vesica_channel::codec::Writer;

/// The version of everything that goes over the wire.
pub const VERSION: u16 = 2;
const MAGIC: [u8; 8] = *b"VESICA\r\n";

/// Why there is no common hello.
pub(crate) enum Failure {
    /// The connection broke.
    Io(io::Error),
    /// Not our magic, or our nonce did not come back.
    NotVesica,
    /// Another version.
    Version(u16),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

pub(crate) fn exchange(stream: &mut (impl Read + Write), mine: [u8; 32]) -> Result<Nonces, Failure> {
    let mut hello = Writer::new();
    hello.fixed(&MAGIC).u16(VERSION).fixed(&mine);
    stream.write_all(hello.as_slice())?;
    stream.flush()?;

    // Another version may have another hello after these.
    match read_version(stream)? {
        VERSION => {}
        theirs => return Err(Failure::Version(theirs)),
    }
    let mut theirs = [0; 32];
    stream.read_exact(&mut theirs)?;

    stream.write_all(&theirs)?;
    stream.flush()?;
    let mut echo = [0; 32];
    stream.read_exact(&mut echo)?;
    // Public, so compared plainly. Our own nonce as theirs would be our own words sent back.
    if echo == mine && theirs != mine { Ok(Nonces { mine, theirs }) } else { Err(Failure::NotVesica) }
}

/// Reads magic and version, and stops at the first byte that is not ours: a stranger may send fewer bytes than we do.
fn read_version(stream: &mut impl Read) -> Result<u16, Failure> {
    let mut magic = [0; MAGIC.len()];
    let mut filled = 0;
    while filled < magic.len() {
        let length = stream.read(&mut magic[filled..])?;
        filled += length;
        if magic[..filled] != MAGIC[..filled] {
            return Err(Failure::NotVesica);
        }
        if length == 0 {
            return Err(Failure::Io(io::ErrorKind::UnexpectedEof.into()));
        }
    }
    let mut version = [0; 2];
    stream.read_exact(&mut version)?;
    Ok(u16::from_le_bytes(version))
}
