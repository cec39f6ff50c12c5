//! Writes a result that is not rows of the input: a table with one row.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Decimal128Array, Int64Array, RecordBatch};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{DECIMAL128_MAX_PRECISION, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;

use crate::columnar::Unwritten;
use crate::csv::grammar::Grammar;
use crate::dialect::Dialect;
use crate::error::TableError;
use crate::format::Format;

/// The columnar type of a number: no integer is wide enough for every sum.
const NUMBER: DataType = DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0);

/// A value of the row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cell {
    /// A number from 0 on, below 10^38.
    Number(u128),
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
        let grammar = Grammar::new(&Dialect::default());
        let names: Vec<_> = columns.iter().filter_map(|(name, _)| grammar.field(name)).collect();
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
    let array = |cell: &Cell| -> Result<ArrayRef, Unwritten> {
        Ok(match cell {
            Cell::Number(number) => {
                let number = i128::try_from(*number).unwrap_or(i128::MAX);
                let numbers = Decimal128Array::from(vec![number]).with_data_type(NUMBER);
                numbers.validate_decimal_precision(DECIMAL128_MAX_PRECISION)?;
                Arc::new(numbers)
            }
            Cell::Integer(number) => Arc::new(Int64Array::from(vec![*number])),
            Cell::Truth(truth) => Arc::new(BooleanArray::from(vec![*truth])),
        })
    };
    let write = || -> Result<(), Unwritten> {
        let arrays: Vec<ArrayRef> = columns.iter().map(|(_, cell)| array(cell)).collect::<Result<_, _>>()?;
        let fields: Vec<Field> = columns
            .iter()
            .zip(&arrays)
            .map(|((name, _), array)| Field::new(name, array.data_type().clone(), false))
            .collect();
        let schema = Arc::new(Schema::new(fields));
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
