//! How text is read: the options of one table, and those of two.

use std::str::FromStr;

use clap::{Args, ValueEnum};
use vesica::table::{Charset, Delimiter, Dialect};

#[derive(Args, Clone, Copy)]
#[command(next_help_heading = "Text that is not comma-separated UTF-8 with a header")]
pub(crate) struct TextOptions {
    /// What separates fields: one character, such as ';' or '|', or tab; matching rows keep it [default: a comma, or what a first line sep= names]
    #[arg(long, value_name = "CHAR")]
    delimiter: Option<Delimiter>,
    /// The encoding of text without a byte-order mark: windows-1252, iso-8859-1, utf-16, …; matching rows keep it [default: utf-8]
    #[arg(long, value_name = "NAME")]
    encoding: Option<Charset>,
    /// The first line is a row: columns are named by number from 1, and the output has no header either
    #[arg(long)]
    no_header: bool,
}

impl TextOptions {
    pub(crate) fn dialect(self) -> Dialect {
        Dialect { delimiter: self.delimiter, encoding: self.encoding, header: !self.no_header }
    }
}

/// How two tables of text are read.
#[derive(Args, Clone, Copy)]
#[command(next_help_heading = "Text that is not comma-separated UTF-8 with a header")]
pub(crate) struct TextPair {
    /// What separates fields: one character, such as ';' or '|', or tab; MINE=THEIRS where the tables differ
    #[arg(long, value_name = "CHAR")]
    delimiter: Option<Both<Delimiter>>,
    /// The encoding of text without a byte-order mark: windows-1252, utf-16, …; MINE=THEIRS where the tables differ
    #[arg(long, value_name = "NAME")]
    encoding: Option<Both<Charset>>,
    /// The first line is a row, in both tables or in one of them; columns are then named by number, from 1
    #[arg(long, value_name = "TABLE", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "both")]
    no_header: Option<Without>,
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

impl<T: FromStr<Err = String> + Copy> FromStr for Both<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // `=` alone may be a delimiter.
        match (text.parse(), text.split_once('=')) {
            (Ok(one), _) => Ok(Both { receiver: one, sender: one }),
            (Err(_), Some((mine, theirs))) => Ok(Both { receiver: mine.parse()?, sender: theirs.parse()? }),
            (Err(error), None) => Err(error),
        }
    }
}

impl TextPair {
    pub(crate) fn receiver(self) -> Dialect {
        Dialect {
            delimiter: self.delimiter.map(|both| both.receiver),
            encoding: self.encoding.map(|both| both.receiver),
            header: matches!(self.no_header, None | Some(Without::Sender)),
        }
    }

    pub(crate) fn sender(self) -> Dialect {
        Dialect {
            delimiter: self.delimiter.map(|both| both.sender),
            encoding: self.encoding.map(|both| both.sender),
            header: matches!(self.no_header, None | Some(Without::Receiver)),
        }
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
        let names = "utf-8=latin1".parse::<Both<Charset>>().unwrap();
        assert_eq!((names.receiver.name(), names.sender.name()), ("UTF-8", "windows-1252"));
    }
}
