//! Messages as bytes: little-endian, fixed width, canonical. Pure functions; decoding never panics and never allocates
//! more than the input is long.
//!
//! ```
//! use vesica_channel::codec::{Reader, Writer};
//! let mut writer = Writer::new();
//! writer.u16(7).bytes(b"abc");
//! let mut reader = Reader::new(writer.as_slice());
//! assert_eq!(reader.u16(), Ok(7));
//! assert_eq!(reader.bytes(10), Ok(&b"abc"[..]));
//! assert_eq!(reader.finish(), Ok(()));
//! ```

use thiserror::Error;

/// Why bytes do not decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CodecError {
    /// The input ends too early.
    #[error("{wanted} bytes expected where {left} are left")]
    Truncated {
        /// What the next value takes.
        wanted: u64,
        /// What is left.
        left: u64,
    },
    /// The input goes on after the last value.
    #[error("{left} bytes too many")]
    Leftover {
        /// How many.
        left: u64,
    },
    /// A length prefix is larger than agreed.
    #[error("a length of {length} where at most {limit} is allowed")]
    TooLong {
        /// The length found.
        length: u64,
        /// The length allowed.
        limit: u64,
    },
    /// A value that its field does not allow.
    #[error("not a valid {what}")]
    Invalid {
        /// The field.
        what: &'static str,
    },
}

/// Puts values one after the other.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    out: Vec<u8>,
}

impl Writer {
    /// An empty writer.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty writer that does not move what it holds until it has so many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { out: Vec::with_capacity(bytes) }
    }

    /// One byte.
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.fixed(&[value])
    }

    /// Two bytes.
    pub fn u16(&mut self, value: u16) -> &mut Self {
        self.fixed(&value.to_le_bytes())
    }

    /// Four bytes.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.fixed(&value.to_le_bytes())
    }

    /// Eight bytes.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.fixed(&value.to_le_bytes())
    }

    /// One byte, 0 or 1.
    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.u8(u8::from(value))
    }

    /// Bytes whose number both sides know.
    pub fn fixed(&mut self, bytes: &[u8]) -> &mut Self {
        self.out.extend_from_slice(bytes);
        self
    }

    /// A u32 length, then the bytes. Fewer than 2^32 of them; a longer message has no use for one buffer.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.u32(length).fixed(&bytes[..length as usize])
    }

    /// A u32 length, then UTF-8.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    /// A u32 count, then the elements.
    pub fn list<T>(&mut self, elements: &[T], mut write: impl FnMut(&mut Self, &T)) -> &mut Self {
        let count = u32::try_from(elements.len()).unwrap_or(u32::MAX);
        self.u32(count);
        for element in &elements[..count as usize] {
            write(self, element);
        }
        self
    }

    /// What has been written.
    pub fn as_slice(&self) -> &[u8] {
        &self.out
    }

    /// What has been written.
    pub fn into_vec(self) -> Vec<u8> {
        self.out
    }
}

/// Takes values one after the other.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    left: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads from the beginning of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes }
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, CodecError> {
        self.array().map(|[byte]: [u8; 1]| byte)
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Result<u16, CodecError> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Result<u32, CodecError> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Result<u64, CodecError> {
        self.array().map(u64::from_le_bytes)
    }

    /// One byte, 0 or 1.
    pub fn bool(&mut self) -> Result<bool, CodecError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(CodecError::Invalid { what: "truth value" }),
        }
    }

    /// So many bytes.
    pub fn fixed(&mut self, length: usize) -> Result<&'a [u8], CodecError> {
        let (now, later) = self.left.split_at_checked(length).ok_or(self.truncated(length as u64))?;
        self.left = later;
        Ok(now)
    }

    /// So many bytes, as an array.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        let (now, later) = self.left.split_first_chunk::<N>().ok_or(self.truncated(N as u64))?;
        self.left = later;
        Ok(*now)
    }

    /// A u32 length of at most `limit`, then the bytes.
    pub fn bytes(&mut self, limit: usize) -> Result<&'a [u8], CodecError> {
        let length = self.length(limit)?;
        self.fixed(length)
    }

    /// A u32 length of at most `limit`, then UTF-8.
    pub fn text(&mut self, limit: usize) -> Result<&'a str, CodecError> {
        std::str::from_utf8(self.bytes(limit)?).map_err(|_| CodecError::Invalid { what: "text (UTF-8)" })
    }

    /// A u32 count of at most `limit`, then the elements, each of which takes at least one byte.
    pub fn list<T>(
        &mut self,
        limit: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, CodecError>,
    ) -> Result<Vec<T>, CodecError> {
        let count = self.length(limit)?;
        if count > self.left.len() {
            return Err(self.truncated(count as u64));
        }
        (0..count).map(|_| read(self)).collect()
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.left.len()
    }

    /// Refuses bytes after the last value.
    pub fn finish(self) -> Result<(), CodecError> {
        match self.left.len() as u64 {
            0 => Ok(()),
            left => Err(CodecError::Leftover { left }),
        }
    }

    fn length(&mut self, limit: usize) -> Result<usize, CodecError> {
        let length = u64::from(self.u32()?);
        if length > limit as u64 {
            return Err(CodecError::TooLong { length, limit: limit as u64 });
        }
        Ok(length as usize)
    }

    fn truncated(&self, wanted: u64) -> CodecError {
        CodecError::Truncated { wanted, left: self.left.len() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_round_trip() {
        let mut writer = Writer::new();
        writer.u8(1).u16(0x0203).u32(0x0405_0607).u64(8).bool(true).fixed(b"xy").bytes(b"abc").text("é");
        writer.list(&[3u16, 4], |writer, value| {
            writer.u16(*value);
        });
        let bytes = writer.into_vec();
        assert_eq!(bytes[..7], [1, 3, 2, 7, 6, 5, 4]);
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.u8(), Ok(1));
        assert_eq!(reader.u16(), Ok(0x0203));
        assert_eq!(reader.u32(), Ok(0x0405_0607));
        assert_eq!(reader.u64(), Ok(8));
        assert_eq!(reader.bool(), Ok(true));
        assert_eq!(reader.array(), Ok(*b"xy"));
        assert_eq!(reader.bytes(3), Ok(&b"abc"[..]));
        assert_eq!(reader.text(2), Ok("é"));
        assert_eq!(reader.list(2, Reader::u16), Ok(vec![3, 4]));
        assert_eq!(reader.finish(), Ok(()));
    }

    #[test]
    fn bad_bytes_are_named() {
        assert_eq!(Reader::new(&[1]).u16(), Err(CodecError::Truncated { wanted: 2, left: 1 }));
        assert_eq!(Reader::new(&[2]).bool(), Err(CodecError::Invalid { what: "truth value" }));
        assert_eq!(Reader::new(&[4, 0, 0, 0]).bytes(3), Err(CodecError::TooLong { length: 4, limit: 3 }));
        assert_eq!(Reader::new(&[4, 0, 0, 0, 9]).bytes(4), Err(CodecError::Truncated { wanted: 4, left: 1 }));
        assert_eq!(
            Reader::new(&[1, 0, 0, 0, 0xff]).text(4),
            Err(CodecError::Invalid { what: "text (UTF-8)" })
        );
        assert_eq!(Reader::new(&[0, 0]).finish(), Err(CodecError::Leftover { left: 2 }));
        let huge = [0xff; 4];
        assert_eq!(
            Reader::new(&huge).list(usize::MAX, Reader::u8),
            Err(CodecError::Truncated { wanted: u64::from(u32::MAX), left: 0 })
        );
    }
}
