//! Compression around a whole file: gzip and zstd.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;

/// How a file is compressed as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packing {
    /// Not at all.
    None,
    /// gzip (RFC 1952), one member or several.
    Gzip,
    /// Zstandard (RFC 8878), one frame or several.
    Zstd,
}

const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
/// Compressed bytes read at a time.
const BUFFER: usize = 256 << 10;

impl Packing {
    pub(crate) fn of_head(head: &[u8]) -> Self {
        match head {
            head if head.starts_with(GZIP) => Packing::Gzip,
            head if head.starts_with(ZSTD) => Packing::Zstd,
            _ => Packing::None,
        }
    }

    /// The compression of a file of that name.
    pub(crate) fn of_name(path: &Path) -> Self {
        match path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("gz") => Packing::Gzip,
            Some("zst" | "zstd") => Packing::Zstd,
            _ => Packing::None,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Packing::None => "plain",
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
        }
    }
}

/// A name without the ending of its compression.
pub(crate) fn without_ending(path: &Path) -> PathBuf {
    if Packing::of_name(path) == Packing::None { path.to_owned() } else { path.with_extension("") }
}

/// Decompresses what `from` reads.
pub(crate) enum Decoder<R: Read> {
    None(R),
    Gzip(Box<Members<BufReader<R>>>),
    Zstd(Box<zstd::stream::read::Decoder<'static, BufReader<R>>>),
}

pub(crate) fn decoder<R: Read>(packing: Packing, from: R) -> io::Result<Decoder<R>> {
    let buffered = |from| BufReader::with_capacity(BUFFER, from);
    Ok(match packing {
        Packing::None => Decoder::None(from),
        Packing::Gzip => Decoder::Gzip(Box::new(Members::new(buffered(from)))),
        Packing::Zstd => Decoder::Zstd(Box::new(zstd::stream::read::Decoder::with_buffer(buffered(from))?)),
    })
}

impl<R: Read> Decoder<R> {
    /// Where the compressed bytes come from.
    pub(crate) fn source(&self) -> &R {
        match self {
            Decoder::None(from) => from,
            Decoder::Gzip(members) => members.from.get_ref(),
            Decoder::Zstd(decoder) => decoder.get_ref().get_ref(),
        }
    }
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Decoder::None(from) => from.read(into),
            Decoder::Gzip(members) => members.read(into),
            Decoder::Zstd(decoder) => decoder.read(into),
        }
    }
}

/// The members of a gzip file. Behind the last one may be zeros, which tapes and mainframes add, but nothing else.
pub(crate) struct Members<R> {
    from: R,
    member: GzDecoder<Fed>,
    ended: bool,
}

/// The bytes that a member's decoder gets. It waits for more by an error, so that the reader stays outside of it.
#[derive(Default)]
struct Fed {
    bytes: Vec<u8>,
    taken: usize,
    at_end: bool,
}

impl Fed {
    fn unread(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    /// Takes the next bytes, once all others are read.
    fn refill(&mut self, from: &mut impl BufRead) -> io::Result<()> {
        let bytes = from.fill_buf()?;
        let count = bytes.len();
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        from.consume(count);
        (self.taken, self.at_end) = (0, count == 0);
        Ok(())
    }
}

impl BufRead for Fed {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self.unread() {
            [] if !self.at_end => Err(io::ErrorKind::WouldBlock.into()),
            unread => Ok(unread),
        }
    }

    fn consume(&mut self, count: usize) {
        self.taken += count;
    }
}

impl Read for Fed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut unread = self.fill_buf()?;
        let count = unread.read(into)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> Members<R> {
    fn new(from: R) -> Self {
        Members { from, member: GzDecoder::new(Fed::default()), ended: false }
    }

    /// Goes on behind a member that was read.
    fn next(&mut self) -> io::Result<()> {
        let mut fed = std::mem::take(self.member.get_mut());
        if fed.unread().is_empty() {
            fed.refill(&mut self.from)?;
        }
        let is_padding = fed.unread().first() == Some(&0);
        self.ended = is_padding || fed.unread().is_empty();
        while is_padding && !fed.unread().is_empty() {
            if fed.unread().iter().any(|byte| *byte != 0) {
                return Err(io::ErrorKind::InvalidData.into());
            }
            fed.refill(&mut self.from)?;
        }
        self.member = GzDecoder::new(fed);
        Ok(())
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !self.ended && !into.is_empty() {
            match self.member.read(into) {
                Ok(0) => self.next()?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.member.get_mut().refill(&mut self.from)?;
                }
                read => return read,
            }
        }
        Ok(0)
    }
}

/// Compresses what `write` writes, into `out`.
pub(crate) fn encode<T, E: From<io::Error>>(
    packing: Packing,
    out: &mut (dyn Write + Send),
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<T, E>,
) -> Result<T, E> {
    match packing {
        Packing::None => write(out),
        Packing::Gzip => {
            let mut encoder = GzEncoder::new(out, flate2::Compression::default());
            let result = write(&mut encoder)?;
            encoder.finish()?;
            Ok(result)
        }
        Packing::Zstd => {
            let mut encoder = zstd::stream::write::Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?;
            encoder.include_checksum(true)?;
            let result = write(&mut encoder)?;
            encoder.finish()?;
            Ok(result)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_comes_out_and_what_was_cut_does_not() {
        let text: Vec<u8> = (0..200_000u32).flat_map(|n| (n * n).to_string().into_bytes()).collect();
        for packing in [Packing::None, Packing::Gzip, Packing::Zstd] {
            let mut packed = Vec::new();
            encode(packing, &mut packed, |out| out.write_all(&text)).unwrap();
            assert_eq!(Packing::of_head(&packed), packing);
            let unpack = |bytes: &[u8]| {
                let mut all = Vec::new();
                decoder(packing, bytes)?.read_to_end(&mut all).map(|_| all)
            };
            assert!(unpack(&packed).unwrap() == text);
            if packing != Packing::None {
                // Two concatenated files are one file, as for the tools.
                assert_eq!(unpack(&[&packed[..], &packed].concat()).unwrap().len(), 2 * text.len());
                for cut in [1, 9, packed.len() / 2, packed.len() - 5, packed.len() - 1] {
                    assert!(unpack(&packed[..cut]).is_err(), "{packing:?} {cut}");
                }
            }
        }
    }

    /// Gives few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let most = into.len().min(self.1);
            self.0.read(&mut into[..most])
        }
    }

    #[test]
    fn members_are_read_wherever_their_bytes_are_cut() {
        let text: Vec<u8> = (0..3000u32).flat_map(|n| (n * n).to_string().into_bytes()).collect();
        let mut packed = Vec::new();
        encode(Packing::Gzip, &mut packed, |out| out.write_all(&text)).unwrap();
        for step in [1, 2, 3, 7, 1000] {
            let unpack = |bytes: &[u8]| {
                let mut all = Vec::new();
                decoder(Packing::Gzip, Slow(bytes, step))?.read_to_end(&mut all).map(|_| all)
            };
            let twice = [&packed[..], &packed, &[0; 20]].concat();
            assert!(unpack(&twice).unwrap() == [&text[..], &text].concat(), "{step}");
            for cut in [1, 5, packed.len() - 1, packed.len() + 1, packed.len() + 12] {
                assert!(unpack(&twice[..cut]).is_err(), "{step} {cut}");
            }
            assert!(unpack(&[&twice[..], b"x"].concat()).is_err());
        }
    }

    #[test]
    fn flaw_zeros_behind_the_last_gzip_member_are_padding_and_nothing_else_is() {
        for length in [0, 1, 100_000] {
            let text: Vec<u8> = (0..length).map(|n: u32| (n * n) as u8).collect();
            let mut packed = Vec::new();
            encode(Packing::Gzip, &mut packed, |out| out.write_all(&text)).unwrap();
            let unpack = |bytes: &[u8]| {
                let mut all = Vec::new();
                decoder(Packing::Gzip, bytes)?.read_to_end(&mut all).map(|_| all)
            };
            for zeros in [1, 512, 3 * BUFFER] {
                assert!(unpack(&[&packed[..], &vec![0; zeros]].concat()).unwrap() == text);
                for behind in [&packed[..], b"x", b"\x1f\x8b"] {
                    let padded = [&packed[..], &vec![0; zeros], behind].concat();
                    let error = unpack(&padded).unwrap_err();
                    assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{zeros}");
                }
            }
            assert!(unpack(&[&packed[..], b"x"].concat()).is_err());
            assert!(unpack(&vec![0; 512]).is_err());
        }
    }

    #[test]
    fn names_say_how_a_file_is_packed() {
        let of = |name: &str| Packing::of_name(Path::new(name));
        assert_eq!(
            (of("a.csv.gz"), of("A.CSV.GZ"), of("a.gzip")),
            (Packing::Gzip, Packing::Gzip, Packing::None)
        );
        assert_eq!((of("a.zst"), of("a.csv"), of("-")), (Packing::Zstd, Packing::None, Packing::None));
        assert_eq!(without_ending(Path::new("x/a.csv.gz")), Path::new("x/a.csv"));
    }
}
