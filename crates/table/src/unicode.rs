//! Converts UTF-16 to UTF-8 for the reader. All other encodings pass unchanged: in them a delimiter, a quote
//! and a line end are single bytes that no other character contains, so records can be separated and keep
//! their bytes.

use std::io::{self, Read};

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::dialect::Charset;

/// Bytes of UTF-16 that one step decodes.
const BUFFER: usize = 1 << 16;

/// Reads `source` as text.
pub(crate) struct Text<R> {
    source: R,
    named: Option<Charset>,
    begun: bool,
    utf16: Option<Box<Utf16>>,
}

struct Utf16 {
    encoding: &'static Encoding,
    decoder: Decoder,
    /// Bytes that were read and not yet decoded, and their number.
    raw: Vec<u8>,
    waiting: usize,
    /// Decoded text, and how much of it was returned.
    text: Vec<u8>,
    given: usize,
    at_end: bool,
    broken: bool,
}

impl<R: Read> Text<R> {
    /// Reads in the encoding of the byte-order mark, or in `encoding` if there is none.
    pub(crate) fn new(source: R, named: Option<Charset>) -> Self {
        Text { source, named, begun: false, utf16: None }
    }

    pub(crate) fn source(&self) -> &R {
        &self.source
    }

    /// The encoding of the returned bytes, if it is not UTF-8. Valid after the first read.
    pub(crate) fn charset(&self) -> Option<Charset> {
        self.named.filter(|_| self.utf16.is_none())
    }

    /// The form of UTF-16 of the source, if it is UTF-16.
    pub(crate) fn utf16(&self) -> Option<&'static Encoding> {
        self.utf16.as_ref().map(|utf16| utf16.encoding)
    }

    /// Whether reading failed because the bytes are not valid text.
    pub(crate) fn is_broken(&self) -> bool {
        self.utf16.as_ref().is_some_and(|utf16| utf16.broken)
    }

    /// The first read, which sees the byte-order mark. `into` has room for the mark.
    fn begin(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut count = self.source.read(into)?;
        while (1..3).contains(&count) && count < into.len() {
            match self.source.read(&mut into[count..]) {
                Ok(0) => break,
                Ok(more) => count += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.begun = true;
        let found = match into[..count] {
            [0xff, 0xfe, ..] => Some(UTF_16LE),
            [0xfe, 0xff, ..] => Some(UTF_16BE),
            [0xef, 0xbb, 0xbf, ..] => Some(UTF_8),
            _ => self.named.map(|named| named.0),
        };
        match found {
            Some(encoding) if encoding == UTF_16LE || encoding == UTF_16BE => {
                self.utf16 = Some(Box::new(Utf16::new(encoding, &into[..count])));
                self.read(into)
            }
            _ => {
                self.named = found.filter(|encoding| *encoding != UTF_8).map(Charset);
                Ok(count)
            }
        }
    }
}

impl<R: Read> Read for Text<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &mut self.utf16 {
            Some(utf16) => utf16.read(&mut self.source, into),
            None if self.begun => self.source.read(into),
            None => self.begin(into),
        }
    }
}

impl Utf16 {
    fn new(encoding: &'static Encoding, head: &[u8]) -> Self {
        let mut raw = vec![0; BUFFER.max(head.len())];
        raw[..head.len()].copy_from_slice(head);
        Utf16 {
            encoding,
            // The mark remains, as U+FEFF.
            decoder: encoding.new_decoder_without_bom_handling(),
            raw,
            waiting: head.len(),
            text: Vec::new(),
            given: 0,
            at_end: false,
            broken: false,
        }
    }

    fn read(&mut self, source: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() {
            if self.broken {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if self.at_end {
                return Ok(0);
            }
            if self.waiting == 0 {
                self.waiting = source.read(&mut self.raw)?;
                self.at_end = self.waiting == 0;
            }
            self.decode();
        }
        let count = into.len().min(self.text.len() - self.given);
        into[..count].copy_from_slice(&self.text[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }

    /// Decodes what was read. Text before an error is returned first.
    fn decode(&mut self) {
        let room = self.decoder.max_utf8_buffer_length_without_replacement(self.waiting);
        self.text.resize(room.unwrap_or(4 * BUFFER), 0);
        let raw = &self.raw[..self.waiting];
        let (result, _, written) =
            self.decoder.decode_to_utf8_without_replacement(raw, &mut self.text, self.at_end);
        self.text.truncate(written);
        (self.given, self.waiting) = (0, 0);
        // There is room for all of it.
        self.broken = result != DecoderResult::InputEmpty;
    }
}

/// Appends text in the form of UTF-16 in which it was read. Text that was decoded without an error gets its
/// original bytes.
pub(crate) fn encode(text: &[u8], encoding: &'static Encoding, out: &mut Vec<u8>) {
    // This module decoded it, so it is UTF-8.
    for unit in String::from_utf8_lossy(text).encode_utf16() {
        out.extend_from_slice(&if encoding == UTF_16BE { unit.to_be_bytes() } else { unit.to_le_bytes() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that gives so many bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(into.len());
            self.0.read(&mut into[..count])
        }
    }

    fn utf16(text: &str, encoding: &'static Encoding) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(text.as_bytes(), encoding, &mut bytes);
        bytes
    }

    #[test]
    fn utf16_comes_as_utf8_and_goes_back() {
        let text = "\u{feff}k,v\r\nZürich,𝄞\n".repeat(3000);
        for encoding in [UTF_16LE, UTF_16BE] {
            let bytes = utf16(&text, encoding);
            for step in [1, 3, 1000, 1 << 20] {
                let mut reader = Text::new(Slow(&bytes, step), None);
                let mut found = String::new();
                reader.read_to_string(&mut found).unwrap();
                assert!(found == text && reader.utf16() == Some(encoding) && reader.charset().is_none());
                assert!(utf16(&found, encoding) == bytes);
            }
        }
    }

    #[test]
    fn a_mark_wins_over_a_name() {
        let latin: Charset = "windows-1252".parse().unwrap();
        for (bytes, given, charset) in [
            (&b"k\n\xfc\n"[..], &b"k\n\xfc\n"[..], Some(latin)),
            (b"\xef\xbb\xbfk\n", b"\xef\xbb\xbfk\n", None),
            (b"\xff\xfek\0\n\0", b"\xef\xbb\xbfk\n", None),
            (b"", b"", Some(latin)),
        ] {
            let mut reader = Text::new(bytes, Some(latin));
            let mut found = Vec::new();
            reader.read_to_end(&mut found).unwrap();
            assert_eq!((&found[..], reader.charset()), (given, charset));
        }
    }

    #[test]
    fn what_stands_before_a_fault_is_given() {
        for (fault, step) in [(&b"\x00\xd8x\0"[..], 1), (b"x", 100), (b"\x00\xdc", 2)] {
            let bytes = [&utf16("k\nab\n", UTF_16LE)[..], fault].concat();
            let mut reader = Text::new(Slow(&bytes, step), "utf-16le".parse().ok());
            let mut found = Vec::new();
            let error = reader.read_to_end(&mut found).unwrap_err();
            assert!(error.kind() == io::ErrorKind::InvalidData && reader.is_broken());
            assert!(found.starts_with(b"k\nab\n") && found.len() <= 6);
        }
    }
}
