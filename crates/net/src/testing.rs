//! What a peer may send, taken apart without a peer: for tests that send what no honest peer does. Only with the
//! feature `testing`.

use std::io::{self, Cursor, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

pub use crate::establish::RawPeer;
use crate::establish::at_relay::records::Records;
use crate::establish::at_relay::wire::{Reply, Sign};
use crate::establish::at_relay::{Join, Label, Times, Until};
use crate::establish::exchange_hellos;
use crate::establish::tls::Tls;
use crate::identity::{Identity, PublicKey};
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

/// The JOIN that a relay takes these bytes for, encoded again; none if they are none, or more are needed.
pub fn join(bytes: &[u8]) -> Option<Vec<u8>> {
    Join::decode(bytes).ok().flatten().map(|(join, _)| join.encode())
}

/// The signs that a relay takes these bytes for, encoded again, up to the first that is none.
pub fn signs(bytes: &[u8]) -> Vec<u8> {
    let (mut left, mut again) = (bytes, Vec::new());
    while let Ok(Some((sign, length))) = Sign::decode(left) {
        again.extend(sign.encode());
        left = &left[length..];
    }
    again
}

/// The replies that a party takes these bytes for, encoded again, up to the first that is none.
pub fn replies(bytes: &[u8]) -> Vec<u8> {
    let (mut left, mut again) = (bytes, Vec::new());
    while let Ok(Some((reply, length))) = Reply::decode(left) {
        again.extend(reply.encode());
        left = &left[length..];
    }
    again
}

/// A bare socket that a relay has paired with the partner's: what a party has before the parties' own TLS.
///
/// # Errors
/// If the relay cannot be reached within that time, refuses, or the partner does not come.
pub fn through_relay(
    relay: (SocketAddr, PublicKey),
    party: &Identity,
    partner: &PublicKey,
    run: &str,
    within: Duration,
) -> io::Result<TcpStream> {
    let tls = Tls::to_relay(party, relay.1).map_err(io::Error::other)?;
    let label = Label::of_run(party.public_key(), partner, run);
    let asked = Join::Run { label, partner: *partner };
    let time = Instant::now() + within;
    let until = Until { time, stop: &|| false, wins: &|| true, wanted: &|| true };
    let socket = TcpStream::connect(relay.0)?;
    crate::establish::at_relay::join(&socket, &tls, &asked, &Times::default(), &until, &mut || ())
        .map_err(|apart| io::Error::other(format!("{apart:?}")))?;
    socket.set_read_timeout(None).and_then(|()| socket.set_write_timeout(None))?;
    Ok(socket)
}

/// The TLS records that a relay or a party at one takes from these bytes, up to the first that is none; they arrive in pieces of
/// so many bytes, with a pause after each.
pub fn records(bytes: &[u8], piece: usize) -> Vec<Vec<u8>> {
    let (mut source, mut found) = (Pieces { left: bytes, piece: piece.max(1), pause: false }, Vec::new());
    let mut records = Records::default();
    loop {
        match records.next(&mut source) {
            Ok(record) => found.push(record),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return found,
        }
    }
}

struct Pieces<'a> {
    left: &'a [u8],
    piece: usize,
    pause: bool,
}

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.pause = !self.pause;
        if self.pause {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let most = into.len().min(self.piece);
        self.left.read(&mut into[..most])
    }
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
