//! TLS whose records are taken from the socket one by one, so that nothing behind the last one is.
//!
//! A library that reads as much as there is would take bytes that follow a close_notify into its own buffer. Here they stay
//! in the socket, for whoever reads it next.

use std::io::{self, ErrorKind, Read, Write};

use rustls::Connection as TlsConnection;

/// A record's type, version and length (RFC 8446, section 5.1).
const HEAD: usize = 5;
/// The longest record: 2^14 bytes, and what encryption may add (RFC 8446, section 5.2).
const LONGEST: usize = (1 << 14) + 256;

/// The record that is being read.
#[derive(Default)]
pub(crate) struct Records {
    record: Vec<u8>,
}

impl Records {
    /// Reads to the end of a record. After an error, such as the end of a time-out, the next call goes on where this one
    /// stopped.
    fn fill(&mut self, source: &mut impl Read) -> io::Result<()> {
        loop {
            let wanted = match *self.record {
                [_, _, _, high, low, ..] => HEAD + usize::from(u16::from_be_bytes([high, low])),
                _ => HEAD,
            };
            let start = self.record.len();
            let is_record = |head: &[u8]| matches!(head, [20..=24, 3, ..]) || head.len() < 2;
            if wanted > HEAD + LONGEST || !is_record(&self.record) {
                return Err(ErrorKind::InvalidData.into());
            }
            if start >= HEAD && start == wanted {
                return Ok(());
            }
            self.record.resize(wanted, 0);
            let read = source.read(&mut self.record[start..]);
            self.record.truncate(start + read.as_ref().copied().unwrap_or(0));
            match read {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
    }

    /// The next record, for [`take_in`].
    pub(crate) fn next(&mut self, source: &mut impl Read) -> io::Result<Vec<u8>> {
        self.fill(source)?;
        Ok(std::mem::take(&mut self.record))
    }
}

/// Gives a record to TLS; its text goes to the end of `text`. Says whether it was the other side's close_notify.
pub(crate) fn take_in(tls: &mut TlsConnection, record: &[u8], text: &mut Vec<u8>) -> io::Result<bool> {
    let mut left = record;
    while !left.is_empty() {
        if tls.read_tls(&mut left)? == 0 {
            break;
        }
        let state =
            tls.process_new_packets().map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        let start = text.len();
        text.resize(start + state.plaintext_bytes_to_read(), 0);
        tls.reader().read_exact(&mut text[start..])?;
        if state.peer_has_closed() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Sends what TLS has to send.
pub(crate) fn put_out(tls: &mut TlsConnection, sink: &mut impl Write) -> io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(sink)?;
    }
    Ok(())
}

/// Sends a text, and then close_notify if it is the last one.
pub(crate) fn say(tls: &mut TlsConnection, text: &[u8], last: bool, sink: &mut impl Write) -> io::Result<()> {
    tls.writer().write_all(text)?;
    if last {
        tls.send_close_notify();
    }
    put_out(tls, sink)
}

/// Shakes hands. A text that came with the last flight is in `text`.
pub(crate) fn handshake(
    tls: &mut TlsConnection,
    records: &mut Records,
    socket: &mut (impl Read + Write),
    text: &mut Vec<u8>,
) -> io::Result<()> {
    loop {
        put_out(tls, socket)?;
        if !tls.is_handshaking() {
            return Ok(());
        }
        let record = records.next(socket)?;
        if let Err(error) = take_in(tls, &record, text) {
            // The alert that tells the other side why; it may be gone already.
            let _ = put_out(tls, socket);
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives out its bytes one by one, and fails before each.
    struct Halting<'a>(&'a [u8], bool);

    impl Read for Halting<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(ErrorKind::WouldBlock.into());
            }
            self.0.read(&mut into[..1])
        }
    }

    #[test]
    fn a_record_is_read_to_its_end_and_no_further() {
        let bytes = [&[23, 3, 3, 0, 4, 1, 2, 3, 4][..], &[21, 3, 3, 0, 0], b"bare"].concat();
        let mut whole = &bytes[..];
        let mut records = Records::default();
        assert_eq!(records.next(&mut whole).unwrap(), bytes[..9]);
        assert_eq!(records.next(&mut whole).unwrap(), bytes[9..14]);
        assert_eq!(whole, b"bare");

        let mut halting = Halting(&bytes, false);
        let mut next = || {
            loop {
                match records.next(&mut halting) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    outcome => break outcome,
                }
            }
        };
        assert_eq!(next().unwrap(), bytes[..9]);
        assert_eq!(next().unwrap(), bytes[9..14]);
        assert_eq!(halting.0, b"bare");
    }

    #[test]
    fn what_is_no_record_ends_before_memory_is_taken_for_it() {
        // The last one would be a record without content.
        for bytes in [&[23, 3, 3, 0x41, 1, 9, 9][..], b"SSH-2.0-OpenSSH", &[0; 7]] {
            let mut records = Records::default();
            let error = records.next(&mut &*bytes).unwrap_err();
            assert_eq!((error.kind(), records.record.len()), (ErrorKind::InvalidData, HEAD));
        }
        let cut = Records::default().next(&mut &[23, 3, 3, 0, 4, 1][..]).unwrap_err();
        assert_eq!(cut.kind(), ErrorKind::UnexpectedEof);
    }
}
