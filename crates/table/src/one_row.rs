//! Writes a result that is not rows of the input: a table with one row.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, UInt64Array};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;

use crate::columnar::Unwritten;
use crate::error::TableError;
use crate::format::Format;
use crate::table::quoted;

/// A value of the row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cell {
    /// A number from 0 on.
    Number(u64),
    /// A number.
    Integer(i64),
    /// True or false.
    Truth(bool),
}

/// Writes the row in that format: a header and a line of CSV with commas, a Parquet file, or Arrow IPC. `columns` are
/// the names and values. What is packed is the caller's [`Output`](crate::Output).
pub fn write_row(
    format: Format,
    columns: &[(String, Cell)],
    out: &mut (dyn Write + Send),
) -> Result<(), TableError> {
    if let Format::Csv(_) = format {
        let names: Vec<_> = columns.iter().map(|(name, _)| quoted(name, b',')).collect();
        let values: Vec<_> = columns
            .iter()
            .map(|(_, cell)| match cell {
                Cell::Number(number) => number.to_string(),
                Cell::Integer(number) => number.to_string(),
                Cell::Truth(truth) => truth.to_string(),
            })
            .collect();
        return Ok(writeln!(out, "{}\n{}", names.join(","), values.join(","))?);
    }
    let array = |cell: &Cell| -> (DataType, ArrayRef) {
        match cell {
            Cell::Number(number) => (DataType::UInt64, Arc::new(UInt64Array::from(vec![*number]))),
            Cell::Integer(number) => (DataType::Int64, Arc::new(Int64Array::from(vec![*number]))),
            Cell::Truth(truth) => (DataType::Boolean, Arc::new(BooleanArray::from(vec![*truth]))),
        }
    };
    let (fields, arrays): (Vec<_>, Vec<_>) = columns
        .iter()
        .map(|(name, cell)| {
            let (data_type, array) = array(cell);
            (Field::new(name, data_type, false), array)
        })
        .unzip();
    let schema = Arc::new(Schema::new(fields));
    let write = || -> Result<(), Unwritten> {
        let batch = RecordBatch::try_new(schema.clone(), arrays)?;
        match format {
            Format::Parquet => {
                let mut writer = ArrowWriter::try_new(out, schema.clone(), None)?;
                writer.write(&batch)?;
                writer.finish()?;
            }
            Format::ArrowFile => {
                let mut writer = FileWriter::try_new(out, &schema)?;
                writer.write(&batch)?;
                writer.finish()?;
            }
            _ => {
                let mut writer = StreamWriter::try_new(out, &schema)?;
                writer.write(&batch)?;
                writer.finish()?;
            }
        }
        Ok(())
    };
    Ok(write()?)
}
