//! What a peer may send, taken apart without a peer: for tests that send what no honest peer does. Only with the
//! feature `testing`.

use std::io::{self, Cursor, Read, Write};

pub use crate::establish::RawPeer;
use crate::establish::exchange_hellos;
use crate::io_threads;
use vesica_channel::{ChannelError, Frame, Kind, MAX_PAYLOAD};

/// The frames that a reader of `bytes` takes for such, and what ended it: none where the connection just ended.
pub fn frames(bytes: &[u8]) -> (Vec<(Kind, Vec<u8>)>, Option<ChannelError>) {
    let (mut source, mut frames) = (io_threads::Frames::new(bytes), Vec::new());
    loop {
        match source.next(Vec::new()) {
            Ok(frame) => frames.push((frame.kind, frame.payload().to_vec())),
            Err(end) => return (frames, end),
        }
    }
}

/// A frame as it goes over the wire; payloads beyond [`MAX_PAYLOAD`] are cut.
pub fn frame(kind: Kind, payload: &[u8]) -> Vec<u8> {
    Frame::new(kind, &payload[..payload.len().min(MAX_PAYLOAD)]).bytes
}

/// Whether a peer that sends `bytes` is taken for one that has said hello. `mine` is the nonce that it should echo.
pub fn hello(bytes: &[u8], mine: [u8; 32]) -> bool {
    exchange_hellos(&mut Answers(Cursor::new(bytes)), mine).is_ok()
}

/// Reads are answered; writes go nowhere.
struct Answers<'a>(Cursor<&'a [u8]>);

impl Read for Answers<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for Answers<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
