//! The columns that the output has beside the input's: the partner's payload, the rule by which a row matches, and match
//! numbers. They come last, under names that no other column has.

use std::borrow::Cow;
use std::iter::once;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::payload::PayloadRows;
use crate::rows::MatchedRow;

/// The names of the columns of rules and of match numbers, if no other column has them.
const RULE: &str = "matched_by";
const NUMBER: &str = "match_id";
/// What the name of a payload column ends in, if a column of the input has its name.
const PARTNER: &str = "_partner";

/// Bytes of text that a batch gets, at most: an array of text has room for 2^31.
const BATCH_BYTES: usize = 16 << 20;

/// What the output has beside the input's columns, for each matching row.
#[derive(Clone, Copy, Default)]
pub(crate) struct Added<'a> {
    /// For each matching key.
    pub(crate) payload: Option<&'a PayloadRows>,
    /// The rules to match by, if they are several.
    pub(crate) rules: Option<&'a [String]>,
    /// For each matching key.
    pub(crate) numbers: Option<&'a [u64]>,
}

impl Added<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.payload.is_none() && self.rules.is_none() && self.numbers.is_none()
    }

    /// Whether there is a value for each of so many matching keys.
    pub(crate) fn fits(&self, keys: usize) -> bool {
        self.payload.is_none_or(|payload| payload.rows() == keys)
            && self.numbers.is_none_or(|numbers| numbers.len() == keys)
    }

    /// The names of the columns in the output of a table with these columns.
    pub(crate) fn names<N: AsRef<[u8]>>(&self, columns: &[N]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let asked = self.payload.map_or(&[][..], PayloadRows::names);
        let asked = asked.iter().map(|name| (name.as_str(), PARTNER));
        let own = self.rules.map(|_| RULE).into_iter().chain(self.numbers.map(|_| NUMBER));
        for (name, ending) in asked.chain(own.map(|name| (name, ""))) {
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
        // A payload may be null.
        let payload = self.payload.map_or(0, |payload| payload.names().len());
        let types = std::iter::repeat_n((DataType::Utf8, true), payload)
            .chain(self.rules.map(|_| (DataType::Utf8, false)))
            .chain(self.numbers.map(|_| (DataType::Int64, false)));
        let field = |(name, (data_type, nullable))| Arc::new(Field::new(name, data_type, nullable));
        let new = self.names(&names).into_iter().zip(types).map(field);
        let fields: Vec<_> = schema.fields().iter().cloned().chain(new).collect();
        Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
    }

    /// Rows of a batch, at most.
    pub(crate) fn rows_at_once(&self) -> usize {
        let payload = self.payload.map_or(0, PayloadRows::width);
        let rule = self.rules.into_iter().flatten().map(String::len).max().unwrap_or(0);
        BATCH_BYTES.checked_div(payload + rule).map_or(usize::MAX, |rows| rows.max(1))
    }

    /// A batch of these matching rows, with its columns. None if their numbers differ, or a match number is too large.
    pub(crate) fn to(&self, batch: &RecordBatch, rows: &[MatchedRow]) -> Option<RecordBatch> {
        let mut columns = batch.columns().to_vec();
        if let Some(payload) = self.payload {
            for column in 0..payload.names().len() {
                let texts = rows.iter().map(|row| payload.field(row.at, column));
                columns.push(Arc::new(StringArray::from_iter(texts)) as ArrayRef);
            }
        }
        if let Some(rules) = self.rules {
            let names = rows.iter().map(|row| rules.get(row.rule)).collect::<Option<Vec<_>>>()?;
            columns.push(Arc::new(StringArray::from_iter_values(names)));
        }
        if let Some(numbers) = self.numbers {
            let number = |row: &MatchedRow| i64::try_from(*numbers.get(row.at)?).ok();
            let numbers = rows.iter().map(number);
            columns.push(Arc::new(Int64Array::from(numbers.collect::<Option<Vec<_>>>()?)));
        }
        RecordBatch::try_new(self.schema(batch.schema_ref()), columns).ok()
    }

    /// The fields of a matching row as text; a null is empty.
    pub(crate) fn texts(&self, row: MatchedRow) -> impl Iterator<Item = Cow<'_, str>> {
        let payload = self.payload.into_iter().flat_map(move |payload| payload.fields(row.at));
        let rule = self.rules.and_then(|rules| rules.get(row.rule)).map(|name| Cow::Borrowed(name.as_str()));
        let number = self.numbers.and_then(|numbers| numbers.get(row.at)).map(u64::to_string);
        payload.map(|text| Cow::Borrowed(text.unwrap_or_default())).chain(rule).chain(number.map(Cow::Owned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_ones_that_no_column_has() {
        let payload = PayloadRows::new(vec!["a".into(), "match_id".into()], 2, vec![], vec![]).unwrap();
        let both = Added { payload: Some(&payload), rules: None, numbers: Some(&[]) };
        let numbers = Added { payload: None, ..both };
        let rules = Added { rules: Some(&[]), ..numbers };
        assert_eq!(rules.names(&["matched_by", "k"]), ["matched_by_2", "match_id"]);
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
