//! Text files that are not comma-separated UTF-8 with a header.

use std::fmt;
use std::str::FromStr;

mod charset;

pub use charset::Charset;

/// How to read a text file. It has no effect on other formats, which say all of this themselves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dialect {
    /// What separates fields. If nothing is given, a first line `sep=` may name it; otherwise it is the
    /// comma.
    pub delimiter: Option<Delimiter>,
    /// The encoding of a file without a byte-order mark; UTF-8 if none is given.
    pub encoding: Option<Charset>,
    /// Whether the first record names the columns. If not, their names are `1`, `2`, and so on.
    pub header: bool,
    /// Physical lines above the first record. They are copied into the output.
    pub skip_lines: u64,
    /// Lines that begin with it are no rows.
    pub comment: Option<Sign>,
    /// What fields are quoted with.
    pub quote: Quote,
    /// What takes the next character literally.
    pub escape: Option<Sign>,
    /// What a quote is in a field that does not begin with one.
    pub stray_quotes: StrayQuotes,
    /// What becomes of rows with more or fewer fields than the header.
    pub ragged: Ragged,
    /// Fields with one of these texts are null, as empty ones are.
    pub nulls: Vec<String>,
}

impl Default for Dialect {
    fn default() -> Self {
        Dialect {
            delimiter: None,
            encoding: None,
            header: true,
            skip_lines: 0,
            comment: None,
            quote: Quote::default(),
            escape: None,
            stray_quotes: StrayQuotes::default(),
            ragged: Ragged::default(),
            nulls: Vec::new(),
        }
    }
}

impl Dialect {
    /// Why this dialect cannot be read, in the words of an error.
    pub(crate) fn fault(&self) -> Option<String> {
        let quote = match self.quote {
            Quote::None => None,
            Quote::Sign(sign) => Some(sign),
        };
        let delimiter = Sign(self.delimiter.unwrap_or(Delimiter::COMMA).0);
        let signs = [
            ("delimiter", Some(delimiter)),
            ("quote", quote),
            ("escape", self.escape),
            ("comment sign", self.comment),
        ];
        let there = signs.iter().filter_map(|(what, sign)| Some((*what, (*sign)?)));
        for (at, (what, sign)) in there.clone().enumerate() {
            if let Some((other, _)) = there.clone().take(at).find(|(_, before)| *before == sign) {
                return Some(format!("{sign} cannot be both the {other} and the {what}"));
            }
            // A comment sign begins a line, where no character is half.
            if what != "comment sign" && self.encoding.is_some_and(|charset| charset.splits(sign.0)) {
                let (encoding, sign) = (self.encoding.map_or("", Charset::name), char::from(sign.0));
                return Some(format!(
                    "in {encoding}, `{sign}` may be half of another character, so records could not be told apart"
                ));
            }
        }
        None
    }

    /// Whether a value of that text is null, if it is not empty.
    pub(crate) fn is_null(&self, text: &[u8]) -> bool {
        self.nulls.iter().any(|null| null.as_bytes() == text)
    }
}

/// A character that separates fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delimiter(u8);

impl Delimiter {
    /// The comma of RFC 4180.
    pub const COMMA: Delimiter = Delimiter(b',');

    /// The one that the first lines show, which is found when the input gets its dialect.
    pub const AUTO: Delimiter = Delimiter(0);

    /// An ASCII character other than a letter, a digit, a double quote or a line end.
    pub fn new(byte: u8) -> Option<Delimiter> {
        Sign::new(byte).filter(|_| byte != b'"').map(|Sign(byte)| Delimiter(byte))
    }

    /// The character; zero for [`Delimiter::AUTO`].
    pub fn byte(self) -> u8 {
        self.0
    }
}

impl FromStr for Delimiter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let byte = match text.as_bytes() {
            b"auto" => return Ok(Delimiter::AUTO),
            b"tab" | b"\\t" => Some(b'\t'),
            [byte] => Some(*byte),
            _ => None,
        };
        byte.and_then(Delimiter::new).ok_or_else(|| {
            "write one ASCII character, such as ';' or '|', or tab, or auto; letters, digits and double quotes are not \
             allowed"
                .to_owned()
        })
    }
}

/// As the option `--delimiter` takes it.
impl fmt::Display for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("auto"),
            b'\t' => f.write_str("tab"),
            byte => write!(f, "'{}'", char::from(byte).escape_default()),
        }
    }
}

/// A character that quotes, escapes or begins a comment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sign(u8);

impl Sign {
    /// An ASCII character other than a letter, a digit or a line end.
    pub fn new(byte: u8) -> Option<Sign> {
        let is_sign = byte.is_ascii() && !byte.is_ascii_alphanumeric() && !matches!(byte, 0 | b'\r' | b'\n');
        is_sign.then_some(Sign(byte))
    }

    /// The character.
    pub fn byte(self) -> u8 {
        self.0
    }
}

impl FromStr for Sign {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let byte = match text.as_bytes() {
            [byte] => Some(*byte),
            _ => None,
        };
        byte.and_then(Sign::new)
            .ok_or_else(|| "write one ASCII character that is neither a letter nor a digit".to_owned())
    }
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match char::from(self.0) {
            control if control.is_ascii_control() => write!(f, "`{}`", control.escape_default()),
            sign => write!(f, "`{sign}`"),
        }
    }
}

/// What fields are quoted with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quote {
    /// With nothing: a quote is a character like others.
    None,
    /// With this character, the double quote by default.
    Sign(Sign),
}

impl Default for Quote {
    fn default() -> Self {
        Quote::Sign(Sign(b'"'))
    }
}

impl FromStr for Quote {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Quote::None),
            sign => sign.parse().map(Quote::Sign).map_err(|error: String| format!("{error}, or none")),
        }
    }
}

/// What a quote is in a field that does not begin with one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StrayQuotes {
    /// An error.
    #[default]
    Error,
    /// A character like others, such as an inch mark.
    Text,
}

impl FromStr for StrayQuotes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "error" => Ok(StrayQuotes::Error),
            "text" => Ok(StrayQuotes::Text),
            _ => Err("write error or text".to_owned()),
        }
    }
}

/// What becomes of rows with more or fewer fields than the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ragged {
    /// They are an error.
    #[default]
    Error,
    /// Missing fields are null, and surplus ones at the end must be empty.
    Pad,
    /// They are no rows: they are counted and left out.
    Skip,
}

impl FromStr for Ragged {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "error" => Ok(Ragged::Error),
            "pad" => Ok(Ragged::Pad),
            "skip" => Ok(Ragged::Skip),
            _ => Err("write error, pad or skip".to_owned()),
        }
    }
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
    fn a_delimiter_that_may_be_half_a_character_is_refused() {
        let dialect = |delimiter: &str, encoding: &str| Dialect {
            delimiter: delimiter.parse().ok(),
            encoding: encoding.parse().ok(),
            ..Dialect::default()
        };
        assert!(dialect("|", "shift_jis").fault().is_some());
        for (delimiter, encoding) in
            [(";", "shift_jis"), ("|", "windows-1252"), ("|", "utf-16"), ("|", "utf-8")]
        {
            assert_eq!(dialect(delimiter, encoding).fault(), None);
        }
    }

    #[test]
    fn one_sign_has_one_meaning() {
        let signs = |delimiter: &str, quote: &str, escape: &str, comment: &str| Dialect {
            delimiter: delimiter.parse().ok(),
            quote: quote.parse().unwrap(),
            escape: escape.parse().ok(),
            comment: comment.parse().ok(),
            ..Dialect::default()
        };
        for (dialect, told) in [
            (signs("", ",", "", ""), "`,` cannot be both the delimiter and the quote"),
            (signs("", "'", "'", ""), "`'` cannot be both the quote and the escape"),
            (signs("#", "none", "", "#"), "`#` cannot be both the delimiter and the comment sign"),
            (
                Dialect { encoding: "cp932".parse().ok(), ..signs("", "none", "\\", "") },
                "may be half of another",
            ),
        ] {
            assert!(dialect.fault().unwrap().contains(told), "{dialect:?}");
        }
        assert_eq!(signs("auto", "'", "\\", "#").fault(), None);
        for bad in ["", "a", "7", "ab", "\n", "é"] {
            assert!(bad.parse::<Sign>().is_err() && bad.parse::<Quote>().is_err(), "{bad:?}");
        }
    }
}
