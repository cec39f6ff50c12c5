//! What to say about a header that lacks a key column.

use crate::error::{TableError, shown};

/// The error, with the cause that the header suggests.
pub(super) fn missing(file: &str, column: &str, header: &[Vec<u8>]) -> TableError {
    let data = header.iter().any(|name| looks_like_data(name));
    let hint = if let Some(name) = header.iter().find(|name| loosely(name) == loosely(column.as_bytes())) {
        format!("; did you mean `{}`, which differs in case or blanks only?", shown(name))
    } else if data {
        "; the first line is not shown because it looks like data: is the header line missing?".to_owned()
    } else if let Some(separator) = separator(header) {
        format!("; it looks separated by {separator}, and commas are needed")
    } else {
        String::new()
    };
    let columns = if data { Vec::new() } else { header.iter().map(|name| shown(name)).collect() };
    TableError::MissingColumn { file: file.to_owned(), column: shown(column.as_bytes()), columns, hint }
}

/// A file without a header shows its first row's identifiers where names should be, and those belong in no error.
fn looks_like_data(name: &[u8]) -> bool {
    let digits = name.iter().filter(|byte| byte.is_ascii_digit()).count();
    digits > 4 || name.contains(&b'@') || name.len() > 128 || std::str::from_utf8(name).is_err()
}

fn loosely(name: &[u8]) -> String {
    String::from_utf8_lossy(name)
        .chars()
        .filter(|c| !c.is_whitespace())
        .flat_map(char::to_lowercase)
        .collect()
}

fn separator(header: &[Vec<u8>]) -> Option<&'static str> {
    let [only] = header else { return None };
    let known = [(b';', "semicolons"), (b'\t', "tabs"), (b'|', "vertical bars")];
    known.into_iter().find(|(byte, _)| only.contains(byte)).map(|(_, name)| name)
}
