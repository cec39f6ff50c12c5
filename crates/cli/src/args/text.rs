//! How text is read: the options of one table, and those of two.

use std::fmt::Display;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use vesica::table::{Charset, Delimiter, Dialect, Quote, Ragged, Sign, StrayQuotes};

#[derive(Args, Clone)]
#[command(next_help_heading = "Text that is not comma-separated UTF-8 with a header")]
pub(crate) struct TextOptions {
    /// What separates fields: one character, such as ';' or '|', or tab, or auto: the one that the first lines show; matching rows keep it [default: a comma, or what a first line sep= names]
    #[arg(long, value_name = "CHAR")]
    delimiter: Option<Delimiter>,
    /// The encoding of text without a byte-order mark: windows-1252, iso-8859-1, utf-16, cp949, …; matching rows keep it [default: utf-8]
    #[arg(long, value_name = "NAME")]
    encoding: Option<Charset>,
    /// The first line is a row: columns are named by number from 1, and the output has no header either
    #[arg(long)]
    no_header: bool,
    /// Lines above the header, which are skipped and copied into the output [default: 0]
    #[arg(long, value_name = "N")]
    skip_lines: Option<u64>,
    /// Lines that begin with this character are no rows
    #[arg(long, value_name = "CHAR")]
    comment: Option<Sign>,
    /// What fields are quoted with: one character, or none [default: '"']
    #[arg(long, value_name = "CHAR")]
    quote: Option<Quote>,
    /// What takes the next character literally, in quotes or not, such as '\'
    #[arg(long, value_name = "CHAR")]
    escape: Option<Sign>,
    /// A quote in a field that does not begin with one is an error, or text, such as an inch mark [default: error]
    #[arg(long, value_name = "error|text")]
    stray_quotes: Option<StrayQuotes>,
    /// Rows with more or fewer fields than the header: an error, filled up with nulls, or left out [default: error]
    #[arg(long, value_name = "error|pad|skip")]
    ragged: Option<Ragged>,
    /// A field that is exactly TEXT is null, as an empty one is; repeat for several
    #[arg(long, value_name = "TEXT")]
    null: Vec<String>,
}

impl TextOptions {
    pub(crate) fn dialect(self) -> Dialect {
        let usual = Dialect::default();
        Dialect {
            delimiter: self.delimiter,
            encoding: self.encoding,
            header: !self.no_header,
            skip_lines: self.skip_lines.unwrap_or(usual.skip_lines),
            comment: self.comment,
            quote: self.quote.unwrap_or(usual.quote),
            escape: self.escape,
            stray_quotes: self.stray_quotes.unwrap_or(usual.stray_quotes),
            ragged: self.ragged.unwrap_or(usual.ragged),
            nulls: self.null,
        }
    }
}

/// How two tables of text are read.
#[derive(Args, Clone)]
#[command(next_help_heading = "Text that is not comma-separated UTF-8 with a header")]
pub(crate) struct TextPair {
    /// What separates fields: one character, such as ';' or '|', or tab, or auto; MINE=THEIRS where the tables differ, here and below
    #[arg(long, value_name = "CHAR")]
    delimiter: Option<Both<Delimiter>>,
    /// The encoding of text without a byte-order mark: windows-1252, utf-16, cp949, …
    #[arg(long, value_name = "NAME")]
    encoding: Option<Both<Charset>>,
    /// The first line is a row, in both tables or in one of them; columns are then named by number, from 1
    #[arg(long, value_name = "TABLE", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "both")]
    no_header: Option<Without>,
    /// Lines above the header, which are skipped and copied into the output [default: 0]
    #[arg(long, value_name = "N")]
    skip_lines: Option<Both<u64>>,
    /// Lines that begin with this character are no rows; in one table only: CHAR= or =CHAR
    #[arg(long, value_name = "CHAR")]
    comment: Option<Both<Maybe>>,
    /// What fields are quoted with: one character, or none [default: '"']
    #[arg(long, value_name = "CHAR")]
    quote: Option<Both<Quote>>,
    /// What takes the next character literally, in quotes or not, such as '\'; in one table only: CHAR= or =CHAR
    #[arg(long, value_name = "CHAR")]
    escape: Option<Both<Maybe>>,
    /// A quote in a field that does not begin with one is an error, or text, such as an inch mark [default: error]
    #[arg(long, value_name = "error|text")]
    stray_quotes: Option<Both<StrayQuotes>>,
    /// Rows with more or fewer fields than the header: an error, filled up with nulls, or left out [default: error]
    #[arg(long, value_name = "error|pad|skip")]
    ragged: Option<Both<Ragged>>,
    /// A field that is exactly TEXT is null in both tables, as an empty one is; repeat for several
    #[arg(long, value_name = "TEXT")]
    null: Vec<String>,
}

/// Tables without a header.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Without {
    Both,
    Receiver,
    Sender,
}

/// A value for each of two tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Both<T> {
    receiver: T,
    sender: T,
}

impl<T: FromStr<Err: Display> + Copy> FromStr for Both<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = |text: &str| text.parse().map_err(|error: T::Err| error.to_string());
        // `=` alone may be a delimiter.
        match (parse(text), text.split_once('=')) {
            (Ok(one), _) => Ok(Both { receiver: one, sender: one }),
            (Err(_), Some((mine, theirs))) => Ok(Both { receiver: parse(mine)?, sender: parse(theirs)? }),
            (Err(error), None) => Err(error),
        }
    }
}

/// A character, or none in a table that has no such thing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Maybe(Option<Sign>);

impl FromStr for Maybe {
    type Err = <Sign as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() { Ok(Maybe(None)) } else { text.parse().map(|sign| Maybe(Some(sign))) }
    }
}

impl<T> Both<T> {
    fn of(self, table: Without) -> T {
        if table == Without::Sender { self.sender } else { self.receiver }
    }
}

impl TextPair {
    pub(crate) fn receiver(&self) -> Dialect {
        self.of(Without::Receiver)
    }

    pub(crate) fn sender(&self) -> Dialect {
        self.of(Without::Sender)
    }

    fn of(&self, table: Without) -> Dialect {
        let one = TextOptions {
            delimiter: self.delimiter.map(|both| both.of(table)),
            encoding: self.encoding.map(|both| both.of(table)),
            no_header: self.no_header.is_some_and(|without| without == Without::Both || without == table),
            skip_lines: self.skip_lines.map(|both| both.of(table)),
            comment: self.comment.and_then(|both| both.of(table).0),
            quote: self.quote.map(|both| both.of(table)),
            escape: self.escape.and_then(|both| both.of(table).0),
            stray_quotes: self.stray_quotes.map(|both| both.of(table)),
            ragged: self.ragged.map(|both| both.of(table)),
            null: self.null.clone(),
        };
        one.dialect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_is_for_both_tables_and_a_pair_for_each() {
        let bytes = |text: &str| {
            text.parse::<Both<Delimiter>>().map(|both| [both.receiver, both.sender].map(Delimiter::byte))
        };
        assert_eq!(bytes(";"), Ok([b';', b';']));
        assert_eq!(bytes(";=tab"), Ok([b';', b'\t']));
        assert_eq!(bytes("="), Ok([b'=', b'=']));
        assert!(bytes(";=").is_err() && bytes("ab").is_err());
        let signs = |text: &str| {
            text.parse::<Both<Maybe>>()
                .map(|both| [both.receiver, both.sender].map(|Maybe(sign)| sign.map(Sign::byte)))
        };
        assert_eq!(signs("#"), Ok([Some(b'#'); 2]));
        assert_eq!(signs("#="), Ok([Some(b'#'), None]));
        assert_eq!(signs("=#"), Ok([None, Some(b'#')]));
        assert_eq!(signs("="), Ok([Some(b'='); 2]));
        assert!(signs("a=").is_err() && signs("##").is_err());
        let names = "utf-8=latin1".parse::<Both<Charset>>().unwrap();
        assert_eq!((names.receiver.name(), names.sender.name()), ("UTF-8", "windows-1252"));
    }
}
