//! Frames: `u8 type ‖ u32 length (LE) ‖ payload`.

use crate::error::ChannelError;
use crate::kind::{Kind, MAX_PAYLOAD};

/// Bytes before the payload.
pub const HEADER: usize = 5;

impl Kind {
    /// Fails if a frame of this kind may not carry `length` bytes.
    pub fn check(self, length: usize) -> Result<(), ChannelError> {
        let good = match self {
            Self::Data => (1..=MAX_PAYLOAD).contains(&length),
            Self::Heartbeat | Self::Abort => length == 0,
            Self::Done => length <= MAX_PAYLOAD,
        };
        if good { Ok(()) } else { Err(ChannelError::FrameLength { kind: self, length: length as u64 }) }
    }
}

/// A whole frame: the header and the payload in one buffer, so that it goes to the socket in one piece.
pub struct Frame {
    /// What it is for.
    pub kind: Kind,
    /// Header and payload.
    pub bytes: Vec<u8>,
}

impl Frame {
    /// A frame whose buffer already holds room for the header followed by the payload; writes the header.
    pub fn seal(kind: Kind, mut bytes: Vec<u8>) -> Self {
        let length = (bytes.len() - HEADER) as u32;
        bytes[..HEADER].copy_from_slice(&header(kind, length));
        Self { kind, bytes }
    }

    /// A frame with this payload.
    pub fn new(kind: Kind, payload: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(HEADER + payload.len());
        bytes.extend_from_slice(&[0; HEADER]);
        bytes.extend_from_slice(payload);
        Self::seal(kind, bytes)
    }

    /// The payload.
    pub fn payload(&self) -> &[u8] {
        &self.bytes[HEADER..]
    }
}

/// The header of a frame.
pub fn header(kind: Kind, length: u32) -> [u8; HEADER] {
    let [a, b, c, d] = length.to_le_bytes();
    [kind.byte(), a, b, c, d]
}

/// Reads a header and refuses whatever no frame may have, before anything is allocated for the payload.
pub fn parse_header(header: [u8; HEADER]) -> Result<(Kind, usize), ChannelError> {
    let [byte, a, b, c, d] = header;
    let kind = Kind::from_byte(byte).ok_or(ChannelError::FrameKind { byte })?;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    kind.check(length)?;
    Ok((kind, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_round_trip() {
        for (kind, length) in [
            (Kind::Data, 1),
            (Kind::Data, MAX_PAYLOAD),
            (Kind::Heartbeat, 0),
            (Kind::Abort, 0),
            (Kind::Done, 7),
        ] {
            assert_eq!(parse_header(header(kind, length as u32)).unwrap(), (kind, length));
        }
    }

    #[test]
    fn bad_headers_are_named() {
        assert_eq!(parse_header([0; HEADER]), Err(ChannelError::FrameKind { byte: 0 }));
        assert_eq!(parse_header([9, 1, 0, 0, 0]), Err(ChannelError::FrameKind { byte: 9 }));
        for (kind, length) in [
            (Kind::Data, 0),
            (Kind::Data, MAX_PAYLOAD as u32 + 1),
            (Kind::Data, u32::MAX),
            (Kind::Heartbeat, 1),
            (Kind::Abort, 1),
            (Kind::Done, MAX_PAYLOAD as u32 + 1),
        ] {
            assert_eq!(
                parse_header(header(kind, length)),
                Err(ChannelError::FrameLength { kind, length: u64::from(length) })
            );
        }
    }
}
