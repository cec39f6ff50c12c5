//! The optional column of match numbers in the output: the last column, under a name that no other column
//! has.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

/// Its name, if no other column has this name.
const NAME: &str = "match_id";

/// The name of the column in a table with these columns.
pub(crate) fn column<N: AsRef<[u8]>>(columns: &[N]) -> String {
    let is_free = |name: &String| columns.iter().all(|column| column.as_ref() != name.as_bytes());
    let numbered = (2u64..).map(|number| format!("{NAME}_{number}"));
    // There are more numbers than columns.
    std::iter::once(NAME.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
}

/// The schema of rows that have the column.
pub(crate) fn schema(schema: &SchemaRef) -> SchemaRef {
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let new = Arc::new(Field::new(column(&names), DataType::Int64, false));
    let fields: Vec<_> = schema.fields().iter().cloned().chain([new]).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Rows with their numbers. None if the numbers of both differ, or a number is too large.
pub(crate) fn numbered(batch: &RecordBatch, numbers: &[u64]) -> Option<RecordBatch> {
    let numbers: Option<Vec<i64>> = numbers.iter().map(|number| i64::try_from(*number).ok()).collect();
    let column: ArrayRef = Arc::new(Int64Array::from(numbers?));
    let columns = batch.columns().iter().cloned().chain([column]).collect();
    RecordBatch::try_new(schema(batch.schema_ref()), columns).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_one_that_no_column_has() {
        for (columns, name) in [
            (&["k"][..], "match_id"),
            (&["match_id", "k"], "match_id_2"),
            (&["match_id_2", "match_id"], "match_id_3"),
        ] {
            assert_eq!(column(columns), name);
        }
    }
}
