//! Writes row groups of Parquet, whose columns are encoded by all threads.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowLeafColumn, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use vesica_crypto::par;

use super::guard::guarded;
use super::write::Out;

/// Encoded bytes that a row group may collect before it is written.
pub(super) const GROUP_BYTES: usize = 64 << 20;

/// Rows of a row group, at most.
const GROUP_ROWS: usize = 1 << 20;

/// Rows that wait until threads encode them, and bytes of memory that they keep: a few rows of text may keep whole pages.
const WAITING_ROWS: usize = 1 << 16;
const WAITING_BYTES: usize = 16 << 20;

/// A file that grows by row groups.
///
/// **Memory:** one row group, the rows that wait, and their levels.
pub(crate) struct GroupWriter<'w> {
    file: SerializedFileWriter<Out<'w>>,
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    threads: usize,
    /// What was not encoded yet.
    waiting: Vec<RecordBatch>,
    waiting_rows: usize,
    waiting_bytes: usize,
    /// The columns of the group that is being encoded, and its rows.
    columns: Vec<ArrowColumnWriter>,
    rows: usize,
}

impl<'w> GroupWriter<'w> {
    /// Goes on where a writer of that schema has begun.
    pub(super) fn new(
        writer: ArrowWriter<Out<'w>>,
        schema: SchemaRef,
        threads: usize,
    ) -> Result<Self, ParquetError> {
        let (file, factory) = writer.into_serialized_writer()?;
        let (waiting, columns) = (Vec::new(), Vec::new());
        let (waiting_rows, waiting_bytes, rows) = (0, 0, 0);
        Ok(GroupWriter {
            file,
            factory,
            schema,
            threads,
            waiting,
            waiting_rows,
            waiting_bytes,
            columns,
            rows,
        })
    }

    /// Adds a batch.
    pub(super) fn write(&mut self, mut batch: RecordBatch) -> Result<(), ParquetError> {
        while batch.num_rows() > 0 {
            let room = GROUP_ROWS - self.rows - self.waiting_rows;
            let now = batch.slice(0, batch.num_rows().min(room));
            batch = batch.slice(now.num_rows(), batch.num_rows() - now.num_rows());
            self.waiting_rows += now.num_rows();
            self.waiting_bytes += now.get_array_memory_size();
            self.waiting.push(now);
            let is_full = self.rows + self.waiting_rows == GROUP_ROWS;
            if is_full || self.waiting_rows >= WAITING_ROWS || self.waiting_bytes >= WAITING_BYTES {
                self.encode()?;
            }
            let encoded = self.columns.iter().map(ArrowColumnWriter::get_estimated_total_bytes);
            if is_full || encoded.sum::<usize>() > GROUP_BYTES {
                self.end_group()?;
            }
        }
        Ok(())
    }

    /// Encodes what waits.
    fn encode(&mut self) -> Result<(), ParquetError> {
        if self.columns.is_empty() {
            self.columns = self.factory.create_column_writers(self.file.flushed_row_groups().len())?;
        }
        let mut leaves: Vec<Vec<ArrowLeafColumn>> = self.columns.iter().map(|_| Vec::new()).collect();
        for batch in self.waiting.drain(..) {
            let mut of_batch = leaves.iter_mut();
            for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
                for (leaf, leaves) in compute_leaves(field, column)?.into_iter().zip(&mut of_batch) {
                    leaves.push(leaf);
                }
            }
        }
        let tasks = self.columns.iter_mut().zip(leaves);
        par::for_each(self.threads, tasks, |_, (column, leaves)| {
            let encoded = guarded(|| leaves.iter().try_for_each(|leaf| column.write(leaf)));
            encoded.unwrap_or_else(panicked)
        })?;
        self.rows += self.waiting_rows;
        (self.waiting_rows, self.waiting_bytes) = (0, 0);
        Ok(())
    }

    /// Writes the group.
    fn end_group(&mut self) -> Result<(), ParquetError> {
        let columns = std::mem::take(&mut self.columns);
        let mut chunks: Vec<Option<ArrowColumnChunk>> = columns.iter().map(|_| None).collect();
        par::for_each(self.threads, columns.into_iter().zip(&mut chunks), |_, (column, chunk)| {
            *chunk = Some(guarded(|| column.close()).unwrap_or_else(panicked)?);
            Ok::<_, ParquetError>(())
        })?;
        let mut group = self.file.next_row_group()?;
        for chunk in chunks.into_iter().flatten() {
            chunk.append_to_row_group(&mut group)?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }

    /// Writes the last group and the end of the file.
    pub(super) fn finish(&mut self) -> Result<(), ParquetError> {
        if self.waiting_rows > 0 {
            self.encode()?;
        }
        if self.rows > 0 {
            self.end_group()?;
        }
        self.file.finish().map(drop)
    }
}

fn panicked<T>() -> Result<T, ParquetError> {
    Err(ParquetError::General("a column cannot be encoded".into()))
}
