//! Finds the key columns among the names of a table, and explains why one is missing.

use vesica_text::{Text, text};

use crate::csv::grammar::Grammar;
use crate::dialect::Delimiter;
use crate::error::TableError;
use crate::key::KeySpec;
use crate::rule::Rule;
use crate::shown::shown;

/// Where a table has its column names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    FirstLine,
    /// A text without a header, whose columns have numbers.
    Numbers,
    Schema,
}

/// A column that a pass reads.
#[derive(Clone, Copy)]
pub(crate) struct Needed<'r> {
    pub(crate) name: &'r str,
    pub(crate) purpose: Purpose,
}

/// What a column is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Key(Rule),
    Value,
    Payload,
}

impl<'r> Needed<'r> {
    pub(crate) fn key(key: &'r KeySpec) -> Self {
        Needed { name: &key.column, purpose: Purpose::Key(key.rule) }
    }
}

impl Purpose {
    /// The option that names such columns, and what several of them are.
    fn option(self) -> (&'static str, &'static str) {
        match self {
            Purpose::Key(_) => ("key", "a key of several columns"),
            Purpose::Value => ("value", "several sums"),
            Purpose::Payload => ("payload", "several columns"),
        }
    }
}

/// The index of each needed column among the names.
pub(crate) fn find<N: AsRef<[u8]>>(
    file: &str,
    needed: &[Needed<'_>],
    columns: &[N],
    names_in: Where,
) -> Result<Vec<usize>, TableError> {
    let find = |needed: &Needed<'_>| {
        let mut found = (0..columns.len()).filter(|at| columns[*at].as_ref() == needed.name.as_bytes());
        match (found.next(), found.next()) {
            (Some(at), None) => Ok(at),
            (None, _) => Err(missing(file, *needed, columns, names_in)),
            (Some(_), Some(_)) => Err(TableError::RepeatedColumn {
                file: file.to_owned(),
                column: shown(needed.name.as_bytes()),
            }),
        }
    };
    needed.iter().map(find).collect()
}

/// The error for a missing column, with the cause that the header suggests.
///
/// The error does not list the columns: in a file without a header they are the first row's identifiers. It
/// shows only the requested names and a name that is similar to one of them.
fn missing<N: AsRef<[u8]>>(
    file: &str,
    Needed { name: column, purpose }: Needed<'_>,
    columns: &[N],
    names_in: Where,
) -> TableError {
    let header: Vec<&[u8]> = columns.iter().map(AsRef::as_ref).collect();
    let count = header.len();
    let s = if count == 1 { "" } else { "s" };
    let there = match names_in {
        Where::FirstLine => format!("the header has {count} column{s}"),
        Where::Schema => format!("the schema has {count} column{s}"),
        Where::Numbers => format!("without a header the {count} column{s} are named by number, from `1`"),
    };
    let hint = if names_in == Where::Numbers {
        Text::default()
    } else if let Some(parts) = parts(column, &header) {
        let columns: Vec<String> = parts.iter().map(|part| format!("`{}`", shown(part.as_bytes()))).collect();
        let (option, several) = purpose.option();
        let repeat = text!("repeat `{}`, once for each of", Text::option(option));
        let list = text!("give `{}` as a list of", Text::option(option));
        text!("; for {} {} {}", several, Text::in_python(repeat, list), columns.join(", "))
    } else if let Some((name, delimiter)) = delimiter(&header).filter(|_| names_in == Where::FirstLine) {
        text!("; {}", separated(name, delimiter))
    } else if let Some(name) = similar(column, &header) {
        text!("; did you mean `{}`?", shown(name))
    } else if names_in == Where::FirstLine {
        text!("; `vesica inspect` lists them; if the first line is no header, give `[no-header]`")
    } else {
        text!("; `vesica inspect` lists them")
    };
    TableError::MissingColumn { file: file.to_owned(), column: shown(column.as_bytes()), there, hint }
}

/// What to say of a table that seems to have another delimiter.
pub(crate) fn separated(name: &'static str, delimiter: Delimiter) -> Text {
    text!("it looks separated by {}: give `[delimiter {}]`", name, delimiter.to_string())
}

/// The column name that differs from the requested one only in case, blanks and punctuation, or by one or two
/// typing errors.
fn similar<'h>(asked: &str, header: &[&'h [u8]]) -> Option<&'h [u8]> {
    let asked = loosely(asked.as_bytes());
    if asked.is_empty() {
        return None;
    }
    let allowed = match asked.chars().count() {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    };
    // A name with a digit may be a value of a first row.
    let slips = |name: &&'h [u8]| match loosely(name) {
        name if name == asked => 0,
        name if name.chars().all(char::is_alphabetic) => strsim::osa_distance(&name, &asked),
        _ => usize::MAX,
    };
    header.iter().copied().min_by_key(slips).filter(|name| slips(name) <= allowed)
}

/// A name without case, blanks and punctuation.
fn loosely(name: &[u8]) -> String {
    String::from_utf8_lossy(name)
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// The delimiters that tables have, and what they are called.
const DELIMITERS: [(u8, &str); 4] =
    [(b';', "semicolons"), (b'\t', "tabs"), (b'|', "vertical bars"), (b',', "commas")];

/// The delimiter that a header of one column seems to have.
pub(crate) fn delimiter<N: AsRef<[u8]>>(header: &[N]) -> Option<(&'static str, Delimiter)> {
    let [only] = header else { return None };
    let found = DELIMITERS.into_iter().find(|(byte, _)| only.as_ref().contains(byte));
    found.and_then(|(byte, name)| Some((name, Delimiter::new(byte)?)))
}

/// The delimiter of a header that cannot be read with another one: with it, the line is well formed and has columns.
pub(crate) fn delimiter_of_line(line: &[u8], grammar: &Grammar) -> Option<(&'static str, Delimiter)> {
    let named = DELIMITERS.into_iter().filter_map(|(byte, name)| Some((name, Delimiter::new(byte)?)));
    let mut there = named.filter(|(_, delimiter)| line.contains(&delimiter.byte()));
    there.find(|(_, delimiter)| grammar.separated_by(*delimiter).record(line, true, &mut ()).is_ok())
}

/// The columns that a name lists, if the header has all of them.
fn parts<'a>(asked: &'a str, header: &[&[u8]]) -> Option<Vec<&'a str>> {
    let parts: Vec<&str> = asked.split([',', ';', '+']).map(str::trim).collect();
    let there = |part: &&str| header.contains(&part.as_bytes());
    (parts.len() > 1 && parts.iter().all(there)).then_some(parts)
}
