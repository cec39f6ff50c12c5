//! What several columnar files of one table have in common.

use std::ops::ControlFlow;

use ::parquet::schema::types::TypePtr;
use arrow_schema::{DataType, Field, SchemaRef};

use super::int96::{self, Holding};
use super::parquet::Footer;
use super::{Scan, Source, Wanted, schema};
use crate::error::TableError;
use crate::format::Format;
use crate::input::{Input, OnProgress};

/// The schema of the rows that leave a table of one file or several.
pub(crate) fn schema_of_rows(input: &Input) -> Result<SchemaRef, TableError> {
    settle_units(input, &mut |_| ControlFlow::Continue(()))?;
    schema(&*input.one_again(0)?, Wanted::All)
}

/// What the files of a table have in common.
pub(crate) struct Layout {
    pub(crate) schema: SchemaRef,
    /// The types of the columns as Parquet stores them; empty for other formats.
    pub(crate) stored: Vec<TypePtr>,
    /// How many rows there are; 0 if unknown.
    pub(crate) rows: usize,
}

pub(crate) fn layout(input: &Input) -> Result<Layout, TableError> {
    let mut go = |_| ControlFlow::Continue(());
    let scan = Scan::open(input, Wanted::Names, &mut go)?;
    let stored = match &scan.source {
        Source::Parquet(groups) => groups.stored(),
        _ => Vec::new(),
    };
    Ok(Layout { schema: scan.schema.clone(), stored, rows: scan.rows_hint() })
}

/// A column whose values are entries of a dictionary, or have such parts.
pub(crate) fn dictionary(schema: &SchemaRef) -> Option<&str> {
    let is_dictionary = |field: &&Field| matches!(field.data_type(), DataType::Dictionary(..));
    schema.flattened_fields().into_iter().find(is_dictionary).map(|field| field.name().as_str())
}

/// Finds the units that hold the time stamps of INT96 in all files of an input, if it has several.
pub(super) fn settle_units(whole: &Input, on_progress: OnProgress<'_>) -> Result<(), TableError> {
    if whole.format() != Format::Parquet || whole.files().is_none() || whole.int96().get().is_some() {
        return Ok(());
    }
    let mut of_all = Holding::new();
    for index in 0..whole.file_count() {
        let input = whole.one_again(index)?;
        let held = Footer::open(&input)?.held(&input, &mut whole.within(index, on_progress))?;
        for (leaf, held) in held {
            of_all.entry(leaf).or_default().and(held);
        }
    }
    whole.int96().get_or_init(|| int96::units(&of_all));
    Ok(())
}
