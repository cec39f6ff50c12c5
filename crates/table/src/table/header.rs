//! The key columns among the names of a table, and what to say where one is missing.

use crate::error::{TableError, shown};
use crate::key::KeySpec;

/// Where a table has the names of its columns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    FirstLine,
    Schema,
}

/// Where the key columns are among the names.
pub(crate) fn find<N: AsRef<[u8]>>(
    file: &str,
    keys: &[KeySpec],
    columns: &[N],
    place: Where,
) -> Result<Vec<usize>, TableError> {
    let find = |key: &KeySpec| {
        let mut found = (0..columns.len()).filter(|at| columns[*at].as_ref() == key.column.as_bytes());
        match (found.next(), found.next()) {
            (Some(at), None) => Ok(at),
            (None, _) => Err(missing(file, &key.column, columns, place)),
            (Some(_), Some(_)) => Err(TableError::RepeatedColumn {
                file: file.to_owned(),
                column: shown(key.column.as_bytes()),
            }),
        }
    };
    keys.iter().map(find).collect()
}

/// The error, with the cause that the header suggests.
///
/// The columns that are there are not named: in a file without a header they are the first row's identifiers. Only a name
/// that is the one asked for but for case, blanks and punctuation is shown.
fn missing<N: AsRef<[u8]>>(file: &str, column: &str, columns: &[N], place: Where) -> TableError {
    let header: Vec<&[u8]> = columns.iter().map(AsRef::as_ref).collect();
    let asked = loosely(column.as_bytes());
    let hint = if let Some(name) = header.iter().find(|name| !asked.is_empty() && loosely(name) == asked) {
        format!("; did you mean `{}`?", shown(name))
    } else if let Some(separator) = separator(&header).filter(|_| place == Where::FirstLine) {
        format!("; it looks separated by {separator}, and commas are needed")
    } else {
        String::new()
    };
    let column = shown(column.as_bytes());
    let names = match place {
        Where::FirstLine => "first line, the header",
        Where::Schema => "schema",
    };
    TableError::MissingColumn { file: file.to_owned(), column, columns: header.len(), header: names, hint }
}

/// A name without case, blanks and punctuation.
fn loosely(name: &[u8]) -> String {
    String::from_utf8_lossy(name)
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

fn separator(header: &[&[u8]]) -> Option<&'static str> {
    let [only] = header else { return None };
    let known = [(b';', "semicolons"), (b'\t', "tabs"), (b'|', "vertical bars")];
    known.into_iter().find(|(byte, _)| only.contains(byte)).map(|(_, name)| name)
}
