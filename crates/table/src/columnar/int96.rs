//! Time stamps of INT96: a day and nanoseconds of it, which cover more years than 64 bits of nanoseconds.
//!
//! The type is obsolete, but programs still write it, with dates such as 9999-12-31 for "for ever". As INT64 these need
//! microseconds. So a pass over all values of such a column finds the unit that holds each of them exactly. It happens before
//! anything else is read of the column.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::TimeUnit;
use parquet::basic::Type as Physical;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{Int96, Int96Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::serialized_reader::SerializedPageReader;

use super::parquet::{Chunks, place};
use super::{What, damaged, guarded};
use crate::error::TableError;
use crate::input::{Input, OnProgress, Progress, Units};

/// Values read at once.
const BATCH: usize = 8192;

const DAY_NANOS: i128 = 86_400_000_000_000;
/// The Julian day of 1970-01-01.
const EPOCH: i128 = 2_440_588;

/// The columns of INT96.
pub(super) fn columns(metadata: &ParquetMetaData) -> impl Iterator<Item = usize> {
    let leaves = metadata.file_metadata().schema_descr().columns().iter().enumerate();
    leaves.filter(|(_, leaf)| leaf.physical_type() == Physical::INT96).map(|(at, _)| at)
}

/// What holds the values of each column of INT96.
pub(super) type Holding = BTreeMap<usize, Held>;

pub(super) fn units(holding: &Holding) -> Units {
    holding.iter().map(|(leaf, held)| (*leaf, held.unit())).collect()
}

/// Reads all columns of INT96.
pub(super) fn held(
    input: &Input,
    chunks: &Chunks,
    metadata: &ParquetMetaData,
    on_progress: OnProgress<'_>,
) -> Result<Holding, TableError> {
    let mut holding = Holding::new();
    for leaf in columns(metadata) {
        let mut held = Held::default();
        for group in 0..metadata.num_row_groups() {
            let failed = |what| damaged(input, Some(place(group)), what);
            let failure = |error: &ParquetError| failed(error.into());
            let opened = guarded(|| open(chunks, metadata, group, leaf)).ok_or_else(|| failed(What::Data))?;
            let Some(mut reader) = opened.map_err(|error| failure(&error))? else { continue };
            loop {
                if on_progress(Progress { done: 0, total: input.length() }).is_break() {
                    return Err(TableError::Cancelled);
                }
                let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
                let read = guarded(|| {
                    reader.read_records(BATCH, Some(&mut definitions), Some(&mut repetitions), &mut values)
                });
                let (records, ..) =
                    read.ok_or_else(|| failed(What::Data))?.map_err(|error| failure(&error))?;
                values.iter().for_each(|value| held.include(value));
                if records == 0 {
                    break;
                }
            }
        }
        holding.insert(leaf, held);
    }
    Ok(holding)
}

fn open(
    chunks: &Chunks,
    metadata: &ParquetMetaData,
    group: usize,
    leaf: usize,
) -> Result<Option<ColumnReaderImpl<Int96Type>>, ParquetError> {
    let group = metadata.row_group(group);
    let rows = usize::try_from(group.num_rows()).unwrap_or(0);
    let pages = SerializedPageReader::new(Arc::new(chunks.clone()), group.column(leaf), rows, None)?;
    let column = metadata.file_metadata().schema_descr().column(leaf);
    Ok(match get_column_reader(column, Box::new(pages)) {
        ColumnReader::Int96ColumnReader(reader) => Some(reader),
        _ => None,
    })
}

/// Which units hold all values so far.
pub(super) struct Held {
    micros: bool,
    nanos: bool,
}

impl Default for Held {
    fn default() -> Self {
        Held { micros: true, nanos: true }
    }
}

impl Held {
    fn include(&mut self, value: &Int96) {
        let nanos = nanos(value);
        self.micros &= nanos % 1000 == 0 && i64::try_from(nanos / 1000).is_ok();
        self.nanos &= i64::try_from(nanos).is_ok();
    }

    /// Includes the values of another file.
    pub(super) fn and(&mut self, other: Held) {
        self.micros &= other.micros;
        self.nanos &= other.nanos;
    }

    fn unit(&self) -> Option<TimeUnit> {
        match (self.micros, self.nanos) {
            (true, _) => Some(TimeUnit::Microsecond),
            (false, true) => Some(TimeUnit::Nanosecond),
            (false, false) => None,
        }
    }
}

/// Nanoseconds from 1970 on.
fn nanos(value: &Int96) -> i128 {
    let [low, high, day] = *value.data() else { return 0 };
    let of_day = (i64::from(high) << 32) | i64::from(low);
    (i128::from(day.cast_signed()) - EPOCH) * DAY_NANOS + i128::from(of_day)
}
