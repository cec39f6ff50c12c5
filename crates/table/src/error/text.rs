//! What the errors of a table say, where they name options.

use vesica_text::{Text, text};

use super::{Invalid, PayloadFault, TableError};

impl PayloadFault {
    pub(super) fn text(&self) -> Text {
        match self {
            PayloadFault::TooLong { taken, most } => text!(
                "the payload takes {} and `[payload-bytes]` allows {}; {agree with the partner on} more",
                taken.map_or("too many bytes".to_owned(), |taken| format!("{taken} bytes")),
                *most
            ),
            PayloadFault::NotText => text!(
                "the value is not text in UTF-8 or in the encoding that `[encoding]` names, as a payload must be"
            ),
            PayloadFault::ZeroByte => Text::words(self),
        }
    }
}

impl TableError {
    /// What it says, with the options that it names as data.
    pub fn text(&self) -> Text {
        match self {
            TableError::Spec { option, spec, reason } => {
                text!("`{}`: {}", Text::option_with(option, spec.clone()), reason.to_string())
            }
            TableError::NativeKey => text!(
                "native items (`[sigma]`) need 1 to 64 bits and exactly one key column with the rule int or ip"
            ),
            TableError::Payload { file, place, column, reason } => {
                let column = column.as_ref().map(|name| format!(", column `{name}`")).unwrap_or_default();
                text!("{}, {}{}: {}", file, place.to_string(), column, reason.text())
            }
            TableError::PayloadsDiffer { file, first, second, second_file } => text!(
                "{}, {} have the same key and different payloads; a key has one payload (`[on-duplicates first]` takes \
                 that of its first row)",
                file,
                first.pair(*second, second_file.as_deref())
            ),
            TableError::Syntax { file, line, what } => {
                text!("{}, line {}: {}", file, *line, what.text())
            }
            TableError::MissingColumn { file, column, there, hint } => {
                text!("{}: no column `{}`; {}{}", file, column, there, hint)
            }
            TableError::Null { file, place, column } => text!(
                "{}, {}, column `{}`: the key is empty (`[on-null skip]` leaves such rows out)",
                file,
                place.to_string(),
                column
            ),
            TableError::Invalid { file, place, column, rule, reason } => text!(
                "{}, {}, column `{}`: the value is invalid under the rule {}: {}{}",
                file,
                place.to_string(),
                column,
                rule.to_string(),
                reason.text(),
                match reason {
                    Invalid::OutOfRange { .. } => "",
                    _ => " (`[on-invalid skip]` leaves such rows out)",
                }
            ),
            TableError::Duplicate { file, first, second, second_file } => text!(
                "{}, {} have the same key (`[on-duplicates all]` or `[on-duplicates first]` allows this)",
                file,
                first.pair(*second, second_file.as_deref())
            ),
            TableError::Unquotable { file } => text!(
                "{}: is read with `[quote none]`, and what the output adds (the partner's columns, the rule of a match) has \
                 characters that would have to be quoted; with `[escape]` most can be written",
                file
            ),
            TableError::DelimiterUnclear { file, either: [one, other] } => text!(
                "{}: the first lines may be separated by {} or by {}: give `[delimiter {}]` or `[delimiter {}]`",
                file,
                one.to_string(),
                other.to_string(),
                one.to_string(),
                other.to_string()
            ),
            TableError::Advised { error, advice } => text!("{}; {}", error.text(), advice),
            other => Text::words(other),
        }
    }
}
