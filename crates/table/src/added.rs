//! The columns that the output has beside the input's: the partner's payload, and match numbers. They come
//! last, under names that no other column has.

use std::borrow::Cow;
use std::iter::once;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::payload::PayloadRows;

/// The name of the column of match numbers, if no other column has this name.
const NUMBER: &str = "match_id";
/// What the name of a payload column ends in, if a column of the input has its name.
const PARTNER: &str = "_partner";

/// Bytes of payload in a batch, at most: an array of text has room for 2^31.
const BATCH_BYTES: usize = 16 << 20;

/// What the output has beside the input's columns, for each matching row.
#[derive(Clone, Copy, Default)]
pub(crate) struct Added<'a> {
    pub(crate) payload: Option<&'a PayloadRows>,
    pub(crate) numbers: Option<&'a [u64]>,
}

impl Added<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.payload.is_none() && self.numbers.is_none()
    }

    /// Whether there is a value for each of so many rows.
    pub(crate) fn fits(&self, rows: usize) -> bool {
        self.payload.is_none_or(|payload| payload.rows() == rows)
            && self.numbers.is_none_or(|numbers| numbers.len() == rows)
    }

    /// The names of the columns in the output of a table with these columns.
    pub(crate) fn names<N: AsRef<[u8]>>(&self, columns: &[N]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let asked = self.payload.map_or(&[][..], PayloadRows::names);
        let asked = asked.iter().map(|name| (name.as_str(), PARTNER));
        for (name, ending) in asked.chain(self.numbers.map(|_| (NUMBER, ""))) {
            let is_free = |name: &String| {
                names.iter().all(|other| other != name)
                    && columns.iter().all(|column| column.as_ref() != name.as_bytes())
            };
            let marked = format!("{name}{ending}");
            let numbered = (2u64..).map(|number| format!("{marked}_{number}"));
            let mut tried = once(name.to_owned()).chain(once(marked.clone())).chain(numbered);
            // There are more numbers than columns.
            let free = tried.find(is_free).unwrap_or_default();
            names.push(free);
        }
        names
    }

    /// The schema of rows that have the columns.
    pub(crate) fn schema(&self, schema: &SchemaRef) -> SchemaRef {
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let payload = self.payload.map_or(0, |payload| payload.names().len());
        let new = self.names(&names).into_iter().enumerate().map(|(at, name)| {
            let text = at < payload;
            Arc::new(Field::new(name, if text { DataType::Utf8 } else { DataType::Int64 }, text))
        });
        let fields: Vec<_> = schema.fields().iter().cloned().chain(new).collect();
        Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
    }

    /// Rows of a batch, at most.
    pub(crate) fn rows_at_once(&self) -> usize {
        self.payload.map_or(usize::MAX, |payload| (BATCH_BYTES / payload.width()).max(1))
    }

    /// A batch of the matching rows `rows`, with its columns. None if their numbers differ, or a match number
    /// is too large.
    pub(crate) fn to(&self, batch: &RecordBatch, rows: Range<usize>) -> Option<RecordBatch> {
        let mut columns = batch.columns().to_vec();
        if let Some(payload) = self.payload {
            for column in 0..payload.names().len() {
                let texts = rows.clone().map(|row| payload.field(row, column));
                columns.push(Arc::new(StringArray::from_iter(texts)) as ArrayRef);
            }
        }
        if let Some(numbers) = self.numbers {
            let numbers = numbers.get(rows)?.iter().map(|number| i64::try_from(*number).ok());
            columns.push(Arc::new(Int64Array::from(numbers.collect::<Option<Vec<_>>>()?)));
        }
        RecordBatch::try_new(self.schema(batch.schema_ref()), columns).ok()
    }

    /// The fields of a matching row as text; a null is empty.
    pub(crate) fn texts(&self, row: usize) -> impl Iterator<Item = Cow<'_, str>> {
        let payload = self.payload.into_iter().flat_map(move |payload| payload.fields(row));
        let number = self.numbers.and_then(|numbers| numbers.get(row)).map(u64::to_string);
        payload.map(|text| Cow::Borrowed(text.unwrap_or_default())).chain(number.map(Cow::Owned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_ones_that_no_column_has() {
        let payload = PayloadRows::new(vec!["a".into(), "match_id".into()], 2, vec![], vec![]).unwrap();
        let both = Added { payload: Some(&payload), numbers: Some(&[]) };
        let numbers = Added { payload: None, ..both };
        for (columns, name) in [
            (&["k"][..], "match_id"),
            (&["match_id", "k"], "match_id_2"),
            (&["match_id_2", "match_id"], "match_id_3"),
        ] {
            assert_eq!(numbers.names(columns), [name]);
        }
        for (columns, names) in [
            (&["k"][..], ["a", "match_id", "match_id_2"]),
            (&["a"], ["a_partner", "match_id", "match_id_2"]),
            (&["a_partner", "a", "match_id"], ["a_partner_2", "match_id_partner", "match_id_2"]),
        ] {
            assert_eq!(both.names(columns), names);
        }
    }
}
