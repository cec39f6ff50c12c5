//! What to say about a header that lacks a key column.

use crate::error::{TableError, shown};

/// The error, with the cause that the header suggests.
///
/// The columns that are there are not named: in a file without a header they are the first row's identifiers. Only a name
/// that is the one asked for but for case, blanks and punctuation is shown.
pub(super) fn missing(file: &str, column: &str, header: &[Vec<u8>]) -> TableError {
    let asked = loosely(column.as_bytes());
    let hint = if let Some(name) = header.iter().find(|name| !asked.is_empty() && loosely(name) == asked) {
        format!("; did you mean `{}`?", shown(name))
    } else if let Some(separator) = separator(header) {
        format!("; it looks separated by {separator}, and commas are needed")
    } else {
        String::new()
    };
    let column = shown(column.as_bytes());
    TableError::MissingColumn { file: file.to_owned(), column, columns: header.len(), hint }
}

/// A name without case, blanks and punctuation.
fn loosely(name: &[u8]) -> String {
    String::from_utf8_lossy(name)
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

fn separator(header: &[Vec<u8>]) -> Option<&'static str> {
    let [only] = header else { return None };
    let known = [(b';', "semicolons"), (b'\t', "tabs"), (b'|', "vertical bars")];
    known.into_iter().find(|(byte, _)| only.contains(byte)).map(|(_, name)| name)
}
