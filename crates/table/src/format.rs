//! Detects the format of an input by its first bytes, and by its name if they do not tell.

use std::io::{self, Read};
use std::path::Path;

use crate::packing::{self, Packing};

/// A format that can be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Format {
    /// Text, perhaps packed.
    Csv(Packing),
    /// Parquet.
    Parquet,
    /// Arrow IPC, the file format (also called Feather version 2).
    ArrowFile,
    /// Arrow IPC, the stream format.
    ArrowStream,
    /// Record batches in memory.
    Batches,
}

impl Format {
    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Csv(Packing::None) => "CSV",
            Format::Csv(Packing::Gzip) => "CSV (gzip)",
            Format::Csv(Packing::Zstd) => "CSV (zstd)",
            Format::Parquet => "Parquet",
            Format::ArrowFile => "Arrow IPC file",
            Format::ArrowStream => "Arrow IPC stream",
            Format::Batches => "Arrow record batches",
        }
    }

    /// The format of a table with one row under that name: that of the name's ending, or else the input's.
    pub(crate) fn of_row(path: &Path, input: Format) -> Format {
        match (Ending::of(path), input) {
            (Ending::Parquet, _) => Format::Parquet,
            (Ending::Arrow, Format::ArrowStream) => Format::ArrowStream,
            (Ending::Arrow, _) => Format::ArrowFile,
            (Ending::Csv, _) | (Ending::Foreign | Ending::Other, Format::Csv(_) | Format::Batches) => {
                Format::Csv(Packing::None)
            }
            (Ending::Foreign | Ending::Other, input) => input,
        }
    }

    /// Whether rows of this format may be written under that name. Only a known ending of another format is
    /// refused.
    pub(crate) fn may_be_named(self, path: &Path) -> bool {
        match (Ending::of(path), self) {
            (Ending::Parquet, format) => format == Format::Parquet,
            (Ending::Arrow, format) => !matches!(format, Format::Csv(_) | Format::Parquet),
            (Ending::Csv, format) => matches!(format, Format::Csv(_)),
            (Ending::Foreign, _) => false,
            (Ending::Other, _) => true,
        }
    }
}

/// The format that the ending of a name stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Csv,
    Parquet,
    Arrow,
    /// A format in which nothing is written here.
    Foreign,
    Other,
}

impl Ending {
    fn of(path: &Path) -> Self {
        let stem = packing::without_ending(path);
        match stem.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("csv") => Ending::Csv,
            Some("parquet" | "pq") => Ending::Parquet,
            Some("arrow" | "arrows" | "feather" | "ipc") => Ending::Arrow,
            Some(
                "json" | "jsonl" | "ndjson" | "xls" | "xlsx" | "ods" | "orc" | "avro" | "zip" | "bz2" | "xz"
                | "7z",
            ) => Ending::Foreign,
            _ => Ending::Other,
        }
    }
}

/// What the first bytes suggest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Guess {
    Readable(Format),
    /// A format that this program does not read.
    NotAvailable(&'static str),
    WrongEncoding(&'static str),
    /// Not the format of its name, which is named here.
    Misnamed(&'static str),
}

/// Enough bytes for [`guess`].
pub(crate) const HEAD: usize = 16;

/// `reader` stands at the beginning.
pub(crate) fn guess(name: &Path, reader: &mut dyn Read) -> io::Result<Guess> {
    let head = head(reader)?;
    let packing = Packing::of_head(&head);
    if packing == Packing::None {
        return Ok(match plain(&head) {
            Guess::Readable(Format::Csv(_)) => match Ending::of(name) {
                Ending::Parquet => Guess::Misnamed("Parquet"),
                Ending::Arrow => Guess::Misnamed("Arrow IPC"),
                Ending::Csv | Ending::Foreign | Ending::Other => Guess::Readable(Format::Csv(Packing::None)),
            },
            other => other,
        });
    }
    // If this does not unpack, the pass over the whole input reports it, with the position.
    let inside = self::head(&mut packing::decoder(packing, (&head[..]).chain(reader))?).unwrap_or_default();
    Ok(match plain(&inside) {
        Guess::Readable(Format::Csv(_)) => Guess::Readable(Format::Csv(packing)),
        Guess::Readable(_) => Guess::NotAvailable("compressed as a whole"),
        other => other,
    })
}

fn head(reader: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(HEAD);
    reader.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

fn plain(head: &[u8]) -> Guess {
    const KNOWN: [(&[u8], Guess); 16] = [
        (b"PAR1", Guess::Readable(Format::Parquet)),
        (b"ARROW1\0\0", Guess::Readable(Format::ArrowFile)),
        (b"\xff\xff\xff\xff", Guess::Readable(Format::ArrowStream)),
        (b"\x1f\x8b", Guess::NotAvailable("compressed twice")),
        (b"\x28\xb5\x2f\xfd", Guess::NotAvailable("compressed twice")),
        (b"PARE", Guess::NotAvailable("encrypted Parquet")),
        (b"FEA1", Guess::NotAvailable("Feather version 1")),
        (b"\xfd7zXZ\0", Guess::NotAvailable("compressed by xz")),
        (b"7z\xbc\xaf\x27\x1c", Guess::NotAvailable("a 7z archive")),
        (b"PK\x03\x04", Guess::NotAvailable("a spreadsheet (xlsx) or another zip archive")),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Guess::NotAvailable("a spreadsheet (xls)")),
        (b"SQLite format 3\0", Guess::NotAvailable("a SQLite database")),
        (b"Obj\x01", Guess::NotAvailable("Avro")),
        (b"ORC", Guess::NotAvailable("ORC")),
        (b"\xff\xfe\0\0", Guess::WrongEncoding("in UTF-32")),
        (b"\0\0\xfe\xff", Guess::WrongEncoding("in UTF-32")),
    ];
    let found = KNOWN.into_iter().find(|(magic, _)| head.starts_with(magic));
    let other = match head {
        [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', b'&', b'S', b'Y', ..] => {
            Guess::NotAvailable("compressed by bzip2")
        }
        [_, _, _, _, _, _, _, _, b'D', b'U', b'C', b'K', ..] => Guess::NotAvailable("a DuckDB database"),
        head if is_json(head) => Guess::NotAvailable("JSON"),
        _ => Guess::Readable(Format::Csv(Packing::None)),
    };
    found.map_or(other, |(_, guess)| guess)
}

/// Whether a text begins with a JSON object, or with an array of objects or arrays. In CSV this would be a
/// misplaced quote or an unusual header.
fn is_json(head: &[u8]) -> bool {
    let mut marks = head.iter().filter(|byte| !byte.is_ascii_whitespace());
    matches!((marks.next(), marks.next()), (Some(b'{'), Some(b'"')) | (Some(b'['), Some(b'{' | b'[')))
}
