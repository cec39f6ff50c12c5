//! Text files that are not comma-separated UTF-8 with a header.

use std::fmt;
use std::str::FromStr;

use encoding_rs::{Encoding, ISO_2022_JP, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, X_USER_DEFINED};

/// How to read a text file. It has no effect on other formats, which say all of this themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dialect {
    /// What separates fields. If nothing is given, a first line `sep=` may name it; otherwise it is the
    /// comma.
    pub delimiter: Option<Delimiter>,
    /// The encoding of a file without a byte-order mark; UTF-8 if none is given.
    pub encoding: Option<Charset>,
    /// Whether the first record names the columns. If not, their names are `1`, `2`, and so on.
    pub header: bool,
}

impl Default for Dialect {
    fn default() -> Self {
        Dialect { delimiter: None, encoding: None, header: true }
    }
}

impl Dialect {
    /// Why this dialect cannot be read, in the words of an error.
    pub(crate) fn fault(&self) -> Option<String> {
        let (delimiter, encoding) = (self.delimiter?, self.encoding?.0);
        // The second byte of such a character is never below 0x30, nor one of the marks between 0x30 and
        // 0x40.
        let inside = delimiter.0 >= 0x40 && !encoding.is_single_byte() && !is_utf(encoding);
        inside.then(|| {
            format!(
                "in {}, `{}` may be half of another character, so records could not be told apart",
                encoding.name(),
                char::from(delimiter.0)
            )
        })
    }
}

/// A character that separates fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delimiter(u8);

impl Delimiter {
    /// The comma of RFC 4180.
    pub const COMMA: Delimiter = Delimiter(b',');

    /// An ASCII character other than a letter, a digit, a double quote or a line end.
    pub fn new(byte: u8) -> Option<Delimiter> {
        let separates =
            byte.is_ascii() && !byte.is_ascii_alphanumeric() && !matches!(byte, 0 | b'"' | b'\r' | b'\n');
        separates.then_some(Delimiter(byte))
    }

    /// The character.
    pub fn byte(self) -> u8 {
        self.0
    }
}

impl FromStr for Delimiter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let byte = match text.as_bytes() {
            b"tab" | b"\\t" => Some(b'\t'),
            [byte] => Some(*byte),
            _ => None,
        };
        byte.and_then(Delimiter::new).ok_or_else(|| {
            "write one ASCII character, such as ';' or '|', or tab; letters, digits and double quotes are not allowed".to_owned()
        })
    }
}

/// As the option `--delimiter` takes it.
impl fmt::Display for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b'\t' => f.write_str("tab"),
            byte => write!(f, "'{}'", char::from(byte).escape_default()),
        }
    }
}

/// An encoding of text, by a name of the WHATWG Encoding Standard.
///
/// By that standard, ISO-8859-1 and ASCII are read as Windows-1252. It has letters and signs where they have
/// control characters or nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Charset(pub(crate) &'static Encoding);

impl Charset {
    /// The name.
    pub fn name(self) -> &'static str {
        self.0.name()
    }
}

/// Common names that the standard does not have.
const ALIASES: [(&str, &str); 6] = [
    ("latin-1", "latin1"),
    ("utf16", "utf-16"),
    ("utf16le", "utf-16le"),
    ("utf16be", "utf-16be"),
    ("utf_8", "utf-8"),
    ("utf-8-sig", "utf-8"),
];

impl FromStr for Charset {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let lower = name.to_ascii_lowercase();
        let alias = ALIASES.iter().find(|(alias, _)| *alias == lower);
        let found = Encoding::for_label(alias.map_or(name, |(_, label)| label).as_bytes());
        match found {
            // Their bytes cannot be split at a delimiter.
            Some(other) if other == ISO_2022_JP || other == REPLACEMENT || other == X_USER_DEFINED => {
                Err(format!("{name} cannot be read; convert the file to UTF-8"))
            }
            Some(encoding) => Ok(Charset(encoding)),
            None => Err("unknown encoding; the known ones are utf-8, utf-16, windows-1252, iso-8859-1, iso-8859-15, shift_jis, \
                         gb18030 and the other names of the WHATWG Encoding Standard"
                .to_owned()),
        }
    }
}

impl fmt::Display for Charset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

/// Whether it is UTF-8 or UTF-16.
fn is_utf(encoding: &'static Encoding) -> bool {
    encoding == UTF_8 || encoding == UTF_16LE || encoding == UTF_16BE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_are_read_as_they_are_shown() {
        for (text, byte) in [
            (";", b';'),
            ("tab", b'\t'),
            ("\\t", b'\t'),
            ("\t", b'\t'),
            ("|", b'|'),
            (" ", b' '),
            ("\u{1}", 1),
        ] {
            assert_eq!(text.parse::<Delimiter>().unwrap().byte(), byte, "{text:?}");
        }
        for bad in ["", ";;", "a", "0", "\"", "\n", "\r", "\0", "é", "semicolon"] {
            assert!(bad.parse::<Delimiter>().is_err(), "{bad:?}");
        }
        assert_eq!(["tab", ";"].map(|text| text.parse::<Delimiter>().unwrap().to_string()), ["tab", "';'"]);
    }

    #[test]
    fn encodings_have_many_names() {
        for (text, name) in [
            ("Windows-1252", "windows-1252"),
            ("cp1252", "windows-1252"),
            ("ISO-8859-1", "windows-1252"),
            ("latin-1", "windows-1252"),
            ("utf-16", "UTF-16LE"),
            ("UTF16BE", "UTF-16BE"),
            ("utf-8", "UTF-8"),
            ("iso-8859-15", "ISO-8859-15"),
        ] {
            assert_eq!(text.parse::<Charset>().unwrap().name(), name, "{text}");
        }
        for bad in ["", "klingon", "iso-2022-jp", "utf-7", "x-user-defined"] {
            assert!(bad.parse::<Charset>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_delimiter_that_may_be_half_a_character_is_refused() {
        let dialect = |delimiter: &str, encoding: &str| Dialect {
            delimiter: delimiter.parse().ok(),
            encoding: encoding.parse().ok(),
            header: true,
        };
        assert!(dialect("|", "shift_jis").fault().is_some());
        for (delimiter, encoding) in
            [(";", "shift_jis"), ("|", "windows-1252"), ("|", "utf-16"), ("|", "utf-8")]
        {
            assert_eq!(dialect(delimiter, encoding).fault(), None);
        }
    }
}
