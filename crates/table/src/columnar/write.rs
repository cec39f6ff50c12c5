//! Writes selected batches to a file of the input's format and schema, or hands them to the caller.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ArrowWriter, encode_arrow_schema};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::{DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT, WriterProperties};

use super::groups::{GROUP_BYTES, GroupWriter};
use super::guard::guarded;
use super::ipc::Messages;
use super::layout;
use super::parquet::copied;
use crate::added::Added;
use crate::error::TableError;
use crate::format::Format;
use crate::input::{Input, Units};

/// Bytes of text that are given to the encoder at once.
const PIECE_BYTES: usize = 16 << 20;

const NOT_ENCODED: &str = "the rows cannot be encoded";

pub(super) type Out<'w> = &'w mut (dyn Write + Send);

/// Takes batches.
pub(crate) enum Sink<'w> {
    /// Nothing is written yet.
    Out(Option<Out<'w>>),
    Parquet(Box<GroupWriter<'w>>),
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
        threads: usize,
    ) -> Result<(), TableError> {
        let Sink::Out(out) = self else { return Ok(()) };
        let Some(out) = out.take() else { return Ok(()) };
        let more = !added.is_empty();
        let schema = &if more { added.schema(schema) } else { schema.clone() };
        *self = match input.format() {
            Format::Parquet => {
                let (metadata, units) = copied(input)?;
                let begun = guarded(|| {
                    let options = parquet_options(&metadata, &units, added)?;
                    let writer = ArrowWriter::try_new_with_options(out, schema.clone(), options)?;
                    GroupWriter::new(writer, schema.clone(), threads)
                });
                let writer = begun.ok_or_else(|| unwritten(NOT_ENCODED))?;
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
            Sink::Parquet(writer) => write_pieces(writer, &batch),
            Sink::File(writer) => Ok(writer.write(&batch)?),
            Sink::Stream(writer) => Ok(writer.write(&batch)?),
            Sink::Taker(take) => match take(batch) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(Failure(TableError::Cancelled)),
            },
        });
        Ok(written.unwrap_or_else(|| Err(unwritten(NOT_ENCODED)))?)
    }

    pub(super) fn finish(&mut self) -> Result<(), TableError> {
        let finished = guarded(|| match self {
            Sink::Out(_) | Sink::Taker(_) => Ok(()),
            Sink::Parquet(writer) => Ok(writer.finish()?),
            Sink::File(writer) => Ok(writer.finish()?),
            Sink::Stream(writer) => Ok(writer.finish()?),
        });
        Ok(finished.unwrap_or_else(|| Err(unwritten(NOT_ENCODED)))?)
    }
}

/// Writes a batch in pieces whose text has a limited size: rows with the same entry of a dictionary share it in memory, but
/// may not in the output.
fn write_pieces(writer: &mut GroupWriter<'_>, batch: &RecordBatch) -> Result<(), Failure> {
    let rows = batch.num_rows();
    let bytes: usize = batch.columns().iter().map(|column| text_bytes(column)).sum();
    if bytes > PIECE_BYTES && rows > 1 {
        write_pieces(writer, &batch.slice(0, rows / 2))?;
        return write_pieces(writer, &batch.slice(rows / 2, rows - rows / 2));
    }
    Ok(writer.write(batch.clone())?)
}

/// The bytes of text and binary values, each counted for itself.
fn text_bytes(array: &dyn Array) -> usize {
    // The low half of a view is the length.
    let lengths = |views: &[u128]| views.iter().map(|view| *view as u32 as usize).sum();
    match array.data_type() {
        DataType::BinaryView => lengths(array.as_binary_view().views()),
        DataType::Struct(_) => array.as_struct().columns().iter().map(|column| text_bytes(column)).sum(),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let (start, end) = (list.value_offsets()[0] as usize, list.value_offsets()[list.len()] as usize);
            text_bytes(&list.values().slice(start, end - start))
        }
        _ => 0,
    }
}

/// Schema, compression, order and notes of the file that the rows come from.
fn parquet_options(
    from: &ParquetMetaData,
    units: &Units,
    added: &Added<'_>,
) -> Result<ArrowWriterOptions, ParquetError> {
    let file = from.file_metadata();
    let mut notes = file.key_value_metadata().cloned();
    let mut new = Vec::new();
    if !added.is_empty() {
        let before = ArrowReaderMetadata::try_new(Arc::new(from.clone()), ArrowReaderOptions::new())?;
        let after = added.schema(before.schema());
        new.extend(after.fields().iter().skip(before.schema().fields().len()).cloned());
        // The stored schema lacks the new columns.
        for note in notes.iter_mut().flatten().filter(|note| note.key == ARROW_SCHEMA_META_KEY) {
            note.value = Some(encode_arrow_schema(&after));
        }
    }
    let mut properties = WriterProperties::builder().set_key_value_metadata(notes);
    if let Some(group) = from.row_groups().first() {
        properties = properties.set_sorting_columns(group.sorting_columns().cloned());
        for (leaf, column) in group.columns().iter().enumerate() {
            let compression = match column.compression() {
                // Both can be read but no longer written.
                Compression::LZO => Compression::SNAPPY,
                Compression::LZ4 => Compression::LZ4_RAW,
                compression => compression,
            };
            let path = column.column_path().clone();
            properties = properties.set_column_compression(path.clone(), compression);
            // A dictionary of a few long texts stays one.
            let most = from.row_groups().iter().map(|group| group.column(leaf).uncompressed_size()).max();
            let most = usize::try_from(most.unwrap_or(0)).unwrap_or(0);
            let most = most.clamp(DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT, GROUP_BYTES);
            properties = properties.set_column_dictionary_page_size_limit(path, most);
        }
    }
    let schema = layout::kept(file.schema_descr(), units, &new)?;
    // The Arrow schema, if any, is among the notes.
    let options = ArrowWriterOptions::new().with_properties(properties.build());
    Ok(options.with_skip_arrow_metadata(true).with_parquet_schema(schema))
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
            _ => unwritten(NOT_ENCODED),
        }
    }
}

impl From<ParquetError> for Failure {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(error) => match error.downcast::<io::Error>() {
                Ok(source) => Failure(TableError::Write { path: "output".to_owned(), source: *source }),
                Err(_) => unwritten(NOT_ENCODED),
            },
            _ => unwritten(NOT_ENCODED),
        }
    }
}
