//! Parquet: row group by row group, the wanted columns of each, a batch of rows at a time.
//!
//! The first pass reads the footer and the key columns. Its fingerprint covers those, and the file's length
//! and times. Hashing the whole file would cost more than reading the few columns of a key.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, FieldRef, Fields, Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{LogicalType, Type as Physical};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::{SchemaDescriptor, TypePtr};
use twox_hash::xxhash3_128::Hasher;

use super::int96::{self, Holding};
use super::{Wanted, What, damaged, guarded, layout, text};
use crate::error::TableError;
use crate::input::{Fingerprint, Input, OnProgress, Progress, Stamp, Units};
use crate::shown::shown;

/// Rows of a batch, and the bytes that a batch should not exceed by far.
const BATCH_ROWS: u64 = 8192;
const BATCH_BYTES: u128 = 8 << 20;
/// Most rows of a group that a thread reads as a whole.
const GROUP_ROWS: u64 = 1 << 20;

/// A row group, and how many of its rows are left.
pub(super) struct Group {
    number: usize,
    reader: ParquetRecordBatchReader,
    left: u64,
}

impl Group {
    /// The next rows; none at the end.
    pub(super) fn next(&mut self, input: &Input) -> Result<Option<RecordBatch>, TableError> {
        let next = guarded(|| self.reader.next().transpose());
        let failed = |what| damaged(input, Some(place(self.number)), what);
        let batch = match next {
            None => return Err(failed(What::Data)),
            Some(Err(error)) => return Err(failed((&error).into())),
            Some(Ok(batch)) => batch,
        };
        match batch {
            Some(batch) if batch.num_rows() as u64 <= self.left => {
                self.left -= batch.num_rows() as u64;
                Ok(Some(batch))
            }
            // A group must have as many rows as the footer says.
            None if self.left == 0 => Ok(None),
            _ => Err(failed(What::Data)),
        }
    }
}

/// The row groups of a file: the current one and those to come.
pub(super) struct Groups<'a> {
    input: &'a Input,
    on_progress: OnProgress<'a>,
    chunks: Chunks,
    metadata: ArrowReaderMetadata,
    mask: ProjectionMask,
    schema: SchemaRef,
    left: VecDeque<usize>,
    current: Option<Group>,
    done: u64,
    seen: Fingerprint,
}

impl<'a> Groups<'a> {
    /// Opens a file for the wanted columns. Text and binary columns come as views.
    pub(super) fn open(
        input: &'a Input,
        wanted: Wanted<'_>,
        on_progress: OnProgress<'a>,
    ) -> Result<Self, TableError> {
        let failed = |what| damaged(input, None, what);
        let footer = Footer::open(input)?;
        let mask = match wanted.columns() {
            None => ProjectionMask::all(),
            Some(columns) => {
                let schema = footer.metadata.file_metadata().schema_descr();
                ProjectionMask::roots(schema, columns.iter().copied())
            }
        };
        let units = footer.units(input, &wanted, &mask, &mut *on_progress)?;
        let arranged = guarded(|| arrange(footer.metadata.clone(), &wanted, &units));
        let metadata = arranged.ok_or(What::Data).and_then(|done| done.map_err(|error| (&error).into()));
        let metadata: ArrowReaderMetadata = metadata.map_err(failed)?;
        let schema = match wanted.columns() {
            None if matches!(wanted, Wanted::Names) => named(metadata.schema(), metadata.parquet_schema()),
            None => metadata.schema().clone(),
            Some(columns) => Arc::new(metadata.schema().project(columns).map_err(|_| failed(What::Data))?),
        };
        let Footer { chunks, stamp, .. } = footer;
        let length = chunks.length;
        let ranges = ranges(metadata.metadata(), &mask, length).ok_or_else(|| failed(What::EndsEarly))?;
        let left = (0..metadata.metadata().num_row_groups()).collect();
        let seen = Fingerprint { length, hash: 0, stamp: Some(stamp), ranges };
        Ok(Groups { input, on_progress, chunks, metadata, mask, schema, left, current: None, done: 0, seen })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The types of the columns as they are stored.
    pub(super) fn stored(&self) -> Vec<TypePtr> {
        self.metadata.metadata().file_metadata().schema().get_fields().to_vec()
    }

    pub(super) fn rows_hint(&self) -> usize {
        let rows = self.metadata.metadata().file_metadata().num_rows();
        // Every row takes at least a bit, except in a file of very many equal rows.
        usize::try_from(rows)
            .unwrap_or(0)
            .min(usize::try_from(self.seen.length).unwrap_or(0).saturating_mul(8))
    }

    fn rows_of(&self, group: usize) -> u64 {
        u64::try_from(self.metadata.metadata().row_group(group).num_rows()).unwrap_or(0)
    }

    /// Skips the groups that end before the row `ahead` of the next one, or all groups if there is no such
    /// row. Returns how many rows it skipped.
    pub(super) fn skip(&mut self, ahead: Option<u64>) -> Result<u64, TableError> {
        let mut passed = 0;
        let leaves = |passed: u64, rows: u64| ahead.is_none_or(|ahead| passed + rows <= ahead);
        if let Some(Group { left, .. }) = &self.current {
            if !leaves(0, *left) {
                return Ok(0);
            }
            passed = *left;
            self.current = None;
        }
        while let Some(&group) = self.left.front() {
            let rows = self.rows_of(group);
            if !leaves(passed, rows) {
                break;
            }
            passed += rows;
            self.left.pop_front();
        }
        self.done += passed;
        Ok(passed)
    }

    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>, TableError> {
        loop {
            self.tell()?;
            let mut group = match self.current.take() {
                Some(group) => group,
                None => match self.group()? {
                    Some(group) => group,
                    None => return Ok(None),
                },
            };
            if let Some(batch) = group.next(self.input)? {
                self.done += batch.num_rows() as u64;
                self.current = Some(group);
                return Ok(Some(batch));
            }
        }
    }

    /// Whether the groups are many enough that those which so many threads have in their hands are few of all rows, and not
    /// larger than a thread may read while others wait.
    pub(super) fn suit(&self, threads: usize) -> bool {
        self.left.len() >= 4 * threads && self.left.iter().all(|group| self.rows_of(*group) <= GROUP_ROWS)
    }

    /// The next group as a whole, and how many rows it has.
    pub(super) fn next_group(&mut self) -> Result<Option<(Group, u64)>, TableError> {
        self.tell()?;
        let group = self.group()?;
        Ok(group.map(|group| {
            let rows = group.left;
            (group, rows)
        }))
    }

    /// So many rows of such groups were read.
    pub(super) fn has_read(&mut self, rows: u64) {
        self.done += rows;
    }

    fn group(&mut self) -> Result<Option<Group>, TableError> {
        let Some(number) = self.left.pop_front() else { return Ok(None) };
        Ok(Some(Group { number, reader: self.reader(number)?, left: self.rows_of(number) }))
    }

    fn reader(&self, group: usize) -> Result<ParquetRecordBatchReader, TableError> {
        let rows = self.rows_at_once(group);
        let built = guarded(|| {
            ParquetRecordBatchReaderBuilder::new_with_metadata(self.chunks.clone(), self.metadata.clone())
                .with_projection(self.mask.clone())
                .with_row_groups(vec![group])
                .with_batch_size(rows)
                .build()
        });
        let built = built.ok_or(What::Data).and_then(|built| built.map_err(|error| (&error).into()));
        built.map_err(|what| damaged(self.input, Some(place(group)), what))
    }

    /// Rows of a batch of that group. Its values take the bytes that are stored, or what they take in an array if that is
    /// more: few bytes can stand for many values.
    fn rows_at_once(&self, group: usize) -> usize {
        let group = self.metadata.metadata().row_group(group);
        let columns = group.columns().iter().enumerate().filter(|(leaf, _)| self.mask.leaf_included(*leaf));
        let bytes = columns.map(|(_, column)| {
            let width = match column.column_type() {
                Physical::BOOLEAN => 1,
                Physical::INT32 | Physical::FLOAT => 4,
                Physical::INT64 | Physical::DOUBLE | Physical::INT96 => 8,
                // A view.
                Physical::BYTE_ARRAY => 16,
                Physical::FIXED_LEN_BYTE_ARRAY => positive(column.column_descr().type_length().into()),
            };
            positive(column.uncompressed_size()).max(positive(column.num_values()) * width)
        });
        let fit = BATCH_BYTES * positive(group.num_rows()) / bytes.sum::<u128>().max(1);
        u64::try_from(fit).unwrap_or(BATCH_ROWS).clamp(1, BATCH_ROWS) as usize
    }

    fn tell(&mut self) -> Result<(), TableError> {
        let rows = u64::try_from(self.metadata.metadata().file_metadata().num_rows()).unwrap_or(0).max(1);
        let total = self.seen.length;
        let done = u128::from(total) * u128::from(self.done.min(rows)) / u128::from(rows);
        let progress = Progress { done: done as u64, total };
        if (self.on_progress)(progress).is_break() { Err(TableError::Cancelled) } else { Ok(()) }
    }

    /// The footer and the columns of this pass, hashed, if the file did not change meanwhile.
    pub(super) fn fingerprint(self) -> Result<Fingerprint, TableError> {
        let hash = hash(self.input, &self.seen.ranges)?;
        if self.seen.stamp != Some(self.input.stamp()?) {
            return Err(TableError::Changed { file: self.input.name().to_owned() });
        }
        Ok(Fingerprint { hash, ..self.seen })
    }
}

pub(super) fn place(group: usize) -> String {
    format!("row group {}", group + 1)
}

fn positive(number: i64) -> u128 {
    u128::try_from(number).unwrap_or(0)
}

/// The footer of a file.
pub(super) struct Footer {
    chunks: Chunks,
    stamp: Stamp,
    pub(super) metadata: Arc<ParquetMetaData>,
}

impl Footer {
    pub(super) fn open(input: &Input) -> Result<Footer, TableError> {
        let (file, length) = input.file().map_err(|source| input.read_error(source))?;
        let stamp = input.stamp()?;
        let chunks = Chunks { file: Arc::new(file), length };
        let loaded =
            guarded(|| ParquetMetaDataReader::new().parse_and_finish(&chunks).and_then(without_null_offsets));
        let loaded = loaded.ok_or(What::Data).and_then(|loaded| loaded.map_err(|error| (&error).into()));
        let metadata = Arc::new(loaded.map_err(|what| damaged(input, None, what))?);
        Ok(Footer { chunks, stamp, metadata })
    }

    /// What holds the values of each column of INT96.
    pub(super) fn held(&self, input: &Input, on_progress: OnProgress<'_>) -> Result<Holding, TableError> {
        int96::held(input, &self.chunks, &self.metadata, on_progress)
    }

    /// The units of the columns of INT96, if such a column is wanted. They are looked for once.
    fn units(
        &self,
        input: &Input,
        wanted: &Wanted<'_>,
        mask: &ProjectionMask,
        on_progress: OnProgress<'_>,
    ) -> Result<Units, TableError> {
        let obsolete = || int96::columns(&self.metadata).filter(|leaf| mask.leaf_included(*leaf));
        if matches!(wanted, Wanted::Names) || obsolete().next().is_none() {
            return Ok(Units::new());
        }
        let units = match input.int96().get() {
            Some(units) => units.clone(),
            None => {
                let held = self.held(input, on_progress)?;
                input.int96().get_or_init(|| int96::units(&held)).clone()
            }
        };
        match obsolete().find(|leaf| units.get(leaf) == Some(&None)) {
            None => Ok(units),
            Some(leaf) => {
                let column = self.metadata.file_metadata().schema_descr().column(leaf);
                Err(TableError::ColumnType {
                    file: input.name().to_owned(),
                    column: shown(column.path().string().as_bytes()),
                    found: "INT96".to_owned(),
                    purpose: "read exactly",
                    remedy: NOT_HELD,
                })
            }
        }
    }
}

/// Takes out offsets of dictionary pages that are zero. Old programs in Java write them where there is no such page; a file
/// begins with its magic bytes, so none can be there.
fn without_null_offsets(metadata: ParquetMetaData) -> Result<ParquetMetaData, ParquetError> {
    let is_null = |column: &ColumnChunkMetaData| column.dictionary_page_offset() == Some(0);
    if !metadata.row_groups().iter().any(|group| group.columns().iter().any(is_null)) {
        return Ok(metadata);
    }
    let mut builder = metadata.into_builder();
    for group in builder.take_row_groups() {
        let mended = group.columns().iter().map(|column| match is_null(column) {
            true => column.clone().into_builder().set_dictionary_page_offset(None).build(),
            false => Ok(column.clone()),
        });
        let mended = mended.collect::<Result<_, _>>()?;
        builder = builder.add_row_group(group.into_builder().set_column_metadata(mended).build()?);
    }
    Ok(builder.build())
}

const NOT_HELD: &str = "as 64 bits, some of these time stamps need nanoseconds, and some lie too far from 1970 for them; \
                        write the file again with time stamps of INT64 (in Spark, set \
                        `spark.sql.parquet.outputTimestampType` to `TIMESTAMP_MICROS`)";

/// The schema in which the wanted columns are read.
fn arrange(
    metadata: Arc<ParquetMetaData>,
    wanted: &Wanted<'_>,
    units: &Units,
) -> Result<ArrowReaderMetadata, ParquetError> {
    let stored = matches!(wanted, Wanted::Stored);
    let metadata = if stored { Arc::new(layout::plain(&metadata)?) } else { metadata };
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(stored);
    let usual = ArrowReaderMetadata::try_new(metadata.clone(), options)?;
    if matches!(wanted, Wanted::Names) {
        return Ok(usual);
    }
    let views = !matches!(wanted, Wanted::All);
    let schema = layout::read_as(usual.schema(), units, views);
    ArrowReaderMetadata::try_new(metadata, ArrowReaderOptions::new().with_schema(schema))
}

/// The Arrow schema in which columns of UUIDs are named as such, as Parquet's schema has them.
fn named(schema: &Schema, parquet: &SchemaDescriptor) -> SchemaRef {
    let name = |(field, stored): (&FieldRef, &TypePtr)| match stored.get_basic_info().logical_type_ref() {
        Some(LogicalType::Uuid) => Arc::new(text::as_uuid(Field::clone(field))),
        _ => field.clone(),
    };
    let fields: Fields = schema.fields().iter().zip(parquet.root_schema().get_fields()).map(name).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Whether a file is still what an earlier pass read. Only Parquet has something to compare.
pub(super) fn unchanged(input: &Input, seen: &Fingerprint) -> Result<bool, TableError> {
    let Some(stamp) = seen.stamp else { return Ok(true) };
    Ok(input.stamp()? == stamp && hash(input, &seen.ranges)? == seen.hash)
}

/// The byte ranges of these columns and of the footer; none if a range is not within the file.
fn ranges(metadata: &ParquetMetaData, mask: &ProjectionMask, length: u64) -> Option<Vec<(u64, u64)>> {
    let mut ranges = Vec::new();
    let mut end = 4;
    for group in metadata.row_groups() {
        for (leaf, column) in group.columns().iter().enumerate() {
            let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let (start, size) = (u64::try_from(start).ok()?, u64::try_from(column.compressed_size()).ok()?);
            let range_end = start.checked_add(size).filter(|end| *end <= length)?;
            end = end.max(range_end);
            if mask.leaf_included(leaf) {
                ranges.push((start, size));
            }
        }
    }
    ranges.push((end, length - end));
    Some(ranges)
}

fn hash(input: &Input, ranges: &[(u64, u64)]) -> Result<u128, TableError> {
    let failed = |source| input.read_error(source);
    let (mut file, _) = input.file().map_err(failed)?;
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; 1 << 18];
    for (start, size) in ranges {
        file.seek(SeekFrom::Start(*start)).map_err(failed)?;
        let mut left = *size;
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            match file.read(&mut buffer[..most]) {
                Ok(0) => break,
                Ok(count) => {
                    hasher.write(&buffer[..count]);
                    left -= count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }
    Ok(hasher.finish_128())
}

/// Reads ranges of a file, but only ranges within the file: the length in a damaged footer must not be
/// allocated.
#[derive(Clone)]
pub(super) struct Chunks {
    file: Arc<File>,
    length: u64,
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.length
    }
}

/// Reads a file from a place of its own: other threads read it too.
pub(super) struct Position {
    file: Arc<File>,
    at: u64,
}

impl Read for Position {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let count = std::os::unix::fs::FileExt::read_at(&*self.file, into, self.at)?;
        #[cfg(windows)]
        let count = std::os::windows::fs::FileExt::seek_read(&*self.file, into, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Chunks {
    fn at(&self, at: u64) -> Position {
        Position { file: self.file.clone(), at }
    }
}

impl ChunkReader for Chunks {
    type T = BufReader<Position>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::new(self.at(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            return Err(ParquetError::EOF("a range beyond the end".to_owned()));
        }
        let mut bytes = Vec::with_capacity(length);
        self.at(start).take(length as u64).read_to_end(&mut bytes)?;
        if bytes.len() == length {
            Ok(bytes.into())
        } else {
            Err(ParquetError::EOF("the file became shorter".to_owned()))
        }
    }
}

/// The footer, and the units of its columns of INT96, as the rows are copied.
pub(super) fn copied(input: &Input) -> Result<(Arc<ParquetMetaData>, Units), TableError> {
    let footer = Footer::open(input)?;
    let mut go = |_| std::ops::ControlFlow::Continue(());
    let units = footer.units(input, &Wanted::Stored, &ProjectionMask::all(), &mut go)?;
    Ok((footer.metadata, units))
}
