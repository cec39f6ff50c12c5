//! Writes selected batches to a file of the input's format and schema, or hands them to the caller.

use std::io::{self, Write};
use std::ops::ControlFlow;

use arrow_array::RecordBatch;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ArrowWriter};
use parquet::basic::{Compression, Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::WriterProperties;

use super::guard::guarded;
use super::ipc::Messages;
use super::parquet::metadata;
use crate::added::Added;
use crate::error::TableError;
use crate::format::Format;
use crate::input::Input;

/// Encoded bytes that a row group may collect before it is written.
const GROUP_BYTES: usize = 64 << 20;

type Out<'w> = &'w mut (dyn Write + Send);

/// Takes batches.
pub(crate) enum Sink<'w> {
    /// Nothing is written yet.
    Out(Option<Out<'w>>),
    Parquet(Box<ArrowWriter<Out<'w>>>),
    File(Box<FileWriter<Out<'w>>>),
    Stream(Box<StreamWriter<Out<'w>>>),
    Taker(&'w mut dyn FnMut(RecordBatch) -> ControlFlow<()>),
}

impl<'w> Sink<'w> {
    pub(super) fn begin(
        &mut self,
        input: &Input,
        schema: &SchemaRef,
        added: &Added<'_>,
    ) -> Result<(), TableError> {
        let Sink::Out(out) = self else { return Ok(()) };
        let Some(out) = out.take() else { return Ok(()) };
        let more = !added.is_empty();
        let schema = &if more { added.schema(schema) } else { schema.clone() };
        *self = match input.format() {
            Format::Parquet => {
                let metadata = metadata(input)?;
                let options = parquet_options(&metadata, more);
                let writer = ArrowWriter::try_new_with_options(out, schema.clone(), options);
                Sink::Parquet(Box::new(writer.map_err(Failure::from)?))
            }
            Format::ArrowFile => {
                let mut writer = FileWriter::try_new(out, schema).map_err(Failure::from)?;
                let mut go = |_| ControlFlow::Continue(());
                for (key, value) in Messages::open(input, None, &mut go)?.notes() {
                    writer.write_metadata(key, value);
                }
                Sink::File(Box::new(writer))
            }
            _ => Sink::Stream(Box::new(StreamWriter::try_new(out, schema).map_err(Failure::from)?)),
        };
        Ok(())
    }

    pub(super) fn write(&mut self, batch: RecordBatch) -> Result<(), TableError> {
        let written = guarded(|| match self {
            Sink::Out(_) => Ok(()),
            Sink::Parquet(writer) => {
                writer.write(&batch)?;
                if writer.in_progress_size() > GROUP_BYTES { Ok(writer.flush()?) } else { Ok(()) }
            }
            Sink::File(writer) => Ok(writer.write(&batch)?),
            Sink::Stream(writer) => Ok(writer.write(&batch)?),
            Sink::Taker(take) => match take(batch) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(Failure(TableError::Cancelled)),
            },
        });
        Ok(written.unwrap_or_else(|| Err(unwritten("the rows cannot be encoded")))?)
    }

    pub(super) fn finish(&mut self) -> Result<(), TableError> {
        let finished = guarded(|| match self {
            Sink::Out(_) | Sink::Taker(_) => Ok(()),
            Sink::Parquet(writer) => Ok(writer.finish().map(drop)?),
            Sink::File(writer) => Ok(writer.finish()?),
            Sink::Stream(writer) => Ok(writer.finish()?),
        });
        Ok(finished.unwrap_or_else(|| Err(unwritten("the rows cannot be encoded")))?)
    }
}

/// Schema, compression, order and notes of the file that the rows come from.
fn parquet_options(from: &ParquetMetaData, more: bool) -> ArrowWriterOptions {
    let file = from.file_metadata();
    let mut notes = file.key_value_metadata().cloned();
    if let Some(notes) = notes.as_mut().filter(|_| more) {
        // The stored schema lacks the new columns; the writer makes another one.
        notes.retain(|note| note.key != ARROW_SCHEMA_META_KEY);
    }
    let mut properties = WriterProperties::builder().set_key_value_metadata(notes);
    if let Some(group) = from.row_groups().first() {
        properties = properties.set_sorting_columns(group.sorting_columns().cloned());
        for column in group.columns() {
            let compression = match column.compression() {
                // Both can be read but no longer written.
                Compression::LZO => Compression::SNAPPY,
                Compression::LZ4 => Compression::LZ4_RAW,
                compression => compression,
            };
            properties = properties.set_column_compression(column.column_path().clone(), compression);
        }
    }
    // The Arrow schema, if any, is among the notes.
    let options =
        ArrowWriterOptions::new().with_properties(properties.build()).with_skip_arrow_metadata(!more);
    // Time stamps of the obsolete type can be read, and are written as its replacement.
    let obsolete = file.schema_descr().columns().iter().any(|column| column.physical_type() == Type::INT96);
    if obsolete || more { options } else { options.with_parquet_schema(file.schema_descr().clone()) }
}

/// Why rows could not be written, on its way to an error with the output's name.
pub(crate) struct Failure(TableError);

fn unwritten(what: &str) -> Failure {
    Failure(TableError::Write { path: "output".to_owned(), source: io::Error::other(what) })
}

impl From<Failure> for TableError {
    fn from(failure: Failure) -> Self {
        failure.0
    }
}

impl From<ArrowError> for Failure {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::IoError(_, source) => {
                Failure(TableError::Write { path: "output".to_owned(), source })
            }
            // The message describes types and lengths, but could contain more.
            _ => unwritten("the rows cannot be encoded"),
        }
    }
}

impl From<ParquetError> for Failure {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(error) => match error.downcast::<io::Error>() {
                Ok(source) => Failure(TableError::Write { path: "output".to_owned(), source: *source }),
                Err(_) => unwritten("the rows cannot be encoded"),
            },
            _ => unwritten("the rows cannot be encoded"),
        }
    }
}
