//! Why a line of a text is no row.

use thiserror::Error;
use vesica_text::{Text, text};

use crate::dialect::Delimiter;

/// Why a text is not valid CSV.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Syntax {
    /// A row has more or fewer fields than the header.
    #[error("{}", self.text())]
    Uneven {
        /// Fields of the header.
        expected: usize,
        /// Fields of the row.
        found: usize,
        /// The header, or the first line where there is none.
        first: &'static str,
    },
    /// A row has more fields than the header, and those at its end are not all empty.
    #[error(
        "the row has more fields than the {expected} of the {first}, and those at its end are not all empty"
    )]
    Surplus {
        /// Fields of the header.
        expected: usize,
        /// The header, or the first line where there is none.
        first: &'static str,
    },
    /// The file ends within a quoted field.
    #[error("{}", self.text())]
    UnclosedQuote,
    /// The file ends behind an escape.
    #[error("{}", self.text())]
    EscapesNothing,
    /// A quote where only a quoted field may have one.
    #[error("{}", self.text())]
    StrayQuote {
        /// The field, counted from 1.
        field: usize,
        /// Its column, if the header is known.
        column: Option<String>,
    },
    /// A line that cannot be read, in a table that seems to have another delimiter.
    #[error("{}", self.text())]
    OtherwiseSeparated {
        /// The delimiter in words.
        name: &'static str,
        /// The delimiter as an option takes it.
        delimiter: Delimiter,
    },
    /// A line that cannot be read as a row and begins as comments do.
    #[error("{}", self.text())]
    LikeComment,
    /// A carriage return that ends no line.
    #[error("a carriage return without a line feed: lines must end in LF or CRLF")]
    BareReturn,
    /// Longer than any record should be.
    #[error("{}", self.text())]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// Lines to skip that are longer, all together.
    #[error("{}", self.text())]
    SkippedTooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// A zero byte.
    #[error("{}", self.text())]
    ZeroByte,
    /// Bytes that the encoding of the file does not have.
    #[error("{}", self.text())]
    NotInEncoding {
        /// Its name.
        encoding: &'static str,
    },
    /// A first line `sep=` that contradicts what was asked for.
    #[error("{}", self.text())]
    OtherDelimiter {
        /// What the line names.
        delimiter: Delimiter,
    },
    /// A first line `sep=` with a delimiter that the encoding does not allow.
    #[error("this line names a character that cannot be the delimiter: {0}")]
    BadDelimiter(String),
}

impl Syntax {
    pub(super) fn text(&self) -> Text {
        match self {
            Syntax::OtherwiseSeparated { name, delimiter } => text!(
                "this line cannot be read; the table looks separated by {}: give `[delimiter {}]`",
                *name,
                delimiter.to_string()
            ),
            Syntax::ZeroByte => text!(
                "a zero byte: the file is not text, or it is UTF-16 without a byte-order mark (then give \
                 `[encoding utf-16le]`)"
            ),
            Syntax::OtherDelimiter { delimiter } => text!(
                "this line names {} as the delimiter, but `[delimiter]` names another one; leave the option out",
                delimiter.to_string()
            ),
            Syntax::Uneven { expected, found, first } => text!(
                "the row has {} field{}, but the {} has {} (`[ragged pad]` fills up short rows, and `[ragged skip]` leaves \
                 such rows out; `[skip-lines N]` is for lines above the header)",
                *found,
                if *found == 1 { "" } else { "s" },
                *first,
                *expected
            ),
            Syntax::StrayQuote { field, column } => text!(
                "a quote in field {}{} that does not enclose it: write it twice, in a field in quotes; or, if quotes in this \
                 table are text, give `[stray-quotes text]`, or `[quote none]` if they enclose no field",
                *field,
                column.as_ref().map(|name| format!(" (`{name}`)")).unwrap_or_default()
            ),
            Syntax::UnclosedQuote => text!(
                "the quoted field that begins here is not closed by the end of the file (if quotes enclose no field in this \
                 table, give `[quote none]`)"
            ),
            Syntax::LikeComment => text!(
                "this line cannot be read as a row, and it begins with `#`: if such lines are comments, give `[comment '#']`"
            ),
            Syntax::EscapesNothing => {
                text!("the `[escape]` character at the end of the file escapes nothing")
            }
            Syntax::TooLong { limit } => text!(
                "the record that begins here has more than {} MiB; is a closing quote missing? (If quotes enclose no field in \
                 this table, give `[quote none]`)",
                *limit >> 20
            ),
            Syntax::SkippedTooLong { limit } => {
                text!("the lines above the header (`[skip-lines]`) have more than {} MiB", *limit >> 20)
            }
            Syntax::NotInEncoding { encoding } => text!(
                "the text from here on is not in the file's encoding, {} (`[encoding]` names another one)",
                *encoding
            ),
            other => Text::words(other),
        }
    }
}
