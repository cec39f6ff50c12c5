//! Which format an input has, by its first bytes.

/// A format that can be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Csv,
}

/// What the first bytes look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Guess {
    Readable(Format),
    /// A format of a later version, or none of ours.
    NotAvailable(&'static str),
    WrongEncoding(&'static str),
}

/// Enough bytes for [`guess`].
pub(crate) const HEAD: usize = 16;

pub(crate) fn guess(head: &[u8]) -> Guess {
    const KNOWN: [(&[u8], Guess); 9] = [
        (b"\x1f\x8b", Guess::NotAvailable("gzip-compressed")),
        (b"\x28\xb5\x2f\xfd", Guess::NotAvailable("zstd-compressed")),
        (b"\xfd7zXZ\0", Guess::NotAvailable("xz-compressed")),
        (b"BZh91AY&SY", Guess::NotAvailable("bzip2-compressed")),
        (b"PK\x03\x04", Guess::NotAvailable("zip or spreadsheet")),
        (b"PAR1", Guess::NotAvailable("Parquet")),
        (b"ARROW1", Guess::NotAvailable("Arrow")),
        (b"\xff\xfe", Guess::WrongEncoding("in UTF-16")),
        (b"\xfe\xff", Guess::WrongEncoding("in UTF-16")),
    ];
    let found = KNOWN.into_iter().find(|(magic, _)| head.starts_with(magic));
    found.map_or(Guess::Readable(Format::Csv), |(_, guess)| guess)
}
