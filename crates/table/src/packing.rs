//! Compression around a whole file: gzip and zstd.

use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
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
    Gzip(Box<MultiGzDecoder<BufReader<R>>>),
    Zstd(Box<zstd::stream::read::Decoder<'static, BufReader<R>>>),
}

pub(crate) fn decoder<R: Read>(packing: Packing, from: R) -> io::Result<Decoder<R>> {
    let buffered = |from| BufReader::with_capacity(BUFFER, from);
    Ok(match packing {
        Packing::None => Decoder::None(from),
        Packing::Gzip => Decoder::Gzip(Box::new(MultiGzDecoder::new(buffered(from)))),
        Packing::Zstd => Decoder::Zstd(Box::new(zstd::stream::read::Decoder::with_buffer(buffered(from))?)),
    })
}

impl<R: Read> Decoder<R> {
    /// Where the compressed bytes come from.
    pub(crate) fn source(&self) -> &R {
        match self {
            Decoder::None(from) => from,
            Decoder::Gzip(decoder) => decoder.get_ref().get_ref(),
            Decoder::Zstd(decoder) => decoder.get_ref().get_ref(),
        }
    }
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Decoder::None(from) => from.read(into),
            Decoder::Gzip(decoder) => decoder.read(into),
            Decoder::Zstd(decoder) => decoder.read(into),
        }
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
