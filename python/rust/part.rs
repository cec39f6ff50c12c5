//! The tasks of an engine, and the way from a batch of rows to their items.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::builder::{
    BinaryBuilder, FixedSizeBinaryBuilder, Int32Builder, Int64Builder, StringBuilder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, make_array};
use arrow_pyarrow::{FromPyArrow, ToPyArrow};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use vesica::encode::items::Width;
use vesica::parts::Parts;
use vesica::parts::engine::{self, Played, Task};
use vesica::text::Voice;
use vesica::{Error, randomness};

use crate::errors::{name, raise};
use crate::options::Options;
use crate::play::{self, CancelToken, token};
use crate::run::Specs;

/// Most rows of a batch of what a task gives back.
const BATCH: usize = 1 << 16;

/// A part that is to be played.
#[pyclass(frozen, module = "vesica")]
pub(crate) struct PartTask {
    part: u32,
    task: Mutex<Option<Task>>,
}

#[pymethods]
impl PartTask {
    /// The task of a part, of the round whose ticket it is.
    #[new]
    fn new(py: Python<'_>, ticket: &[u8], part: u32) -> PyResult<Self> {
        let task = Task::new(ticket, part).map_err(|error| raise(py, &error, None))?;
        Ok(PartTask { part, task: Mutex::new(Some(task)) })
    }

    /// Takes a batch of the part's rows, with the columns `part`, `item` and `fingerprint`.
    fn add(&self, py: Python<'_>, batch: &Bound<'_, PyAny>) -> PyResult<()> {
        let batch = RecordBatch::from_pyarrow_bound(batch)?;
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        let task = task.as_mut().ok_or_else(|| PyRuntimeError::new_err("the part was played"))?;
        let [parts, items, fingerprints] = ["part", "item", "fingerprint"].map(|name| column(&batch, name));
        let (parts, items, fingerprints) = (parts?, items?, fingerprints?);
        let parts = parts.as_primitive_opt::<Int32Type>().ok_or_else(|| wrong("part", "int32"))?;
        let fingerprints =
            fingerprints.as_primitive_opt::<Int64Type>().ok_or_else(|| wrong("fingerprint", "int64"))?;
        let items = Bytes::of(&items).ok_or_else(|| wrong("item", "binary"))?;
        let mut add = || {
            for row in 0..batch.num_rows() {
                // No part has such a number, and no item no bytes.
                let part = if parts.is_null(row) { u32::MAX } else { parts.value(row).cast_unsigned() };
                let fingerprint = if fingerprints.is_null(row) { 0 } else { fingerprints.value(row) };
                task.add(part, items.get(row).unwrap_or_default(), fingerprint)?;
            }
            Ok(())
        };
        add().map_err(|error: Error| raise(py, &error, None))
    }

    /// Plays the part. Gives back batches of rows: the first one is of the receipt, or says what failed.
    #[pyo3(signature = (cancel = None))]
    fn play<'py>(
        &self,
        py: Python<'py>,
        cancel: Option<Bound<'py, CancelToken>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        let task = task.ok_or_else(|| PyRuntimeError::new_err("the part was played"))?;
        let (cancel, width) = (token(cancel.as_ref()), task.item_bytes());
        let played = play::play(py, &cancel, None, move |_, cancel| {
            let mut rng = randomness()?;
            Ok(task.play(cancel, &mut rng))
        })?;
        let played = played.map_err(|error: Error| raise(py, &error, None))?;
        let batches = Rows::of(self.part, &played, width).map_err(|error| failed(&error))?;
        batches.iter().map(|batch| batch.to_pyarrow(py)).collect()
    }
}

/// A column of bytes of any type.
pub(crate) enum Bytes<'a> {
    Binary(&'a arrow_array::BinaryArray),
    Large(&'a arrow_array::LargeBinaryArray),
    Fixed(&'a arrow_array::FixedSizeBinaryArray),
}

impl<'a> Bytes<'a> {
    pub(crate) fn of(array: &'a ArrayRef) -> Option<Self> {
        match array.data_type() {
            DataType::Binary => array.as_binary_opt::<i32>().map(Bytes::Binary),
            DataType::LargeBinary => array.as_binary_opt::<i64>().map(Bytes::Large),
            DataType::FixedSizeBinary(_) => array.as_fixed_size_binary_opt().map(Bytes::Fixed),
            _ => None,
        }
    }

    pub(crate) fn get(&self, row: usize) -> Option<&'a [u8]> {
        match self {
            Bytes::Binary(array) => (!array.is_null(row)).then(|| array.value(row)),
            Bytes::Large(array) => (!array.is_null(row)).then(|| array.value(row)),
            Bytes::Fixed(array) => (!array.is_null(row)).then(|| array.value(row)),
        }
    }
}

fn column(batch: &RecordBatch, name: &str) -> PyResult<ArrayRef> {
    let column = batch.column_by_name(name).cloned();
    column.ok_or_else(|| PyValueError::new_err(format!("the batch has no column {name:?}")))
}

fn wrong(name: &str, kind: &str) -> PyErr {
    PyTypeError::new_err(format!("the column {name:?} is not of type {kind}"))
}

pub(crate) fn failed(error: &ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// The columns of what a task gives back.
#[derive(Default)]
struct Rows {
    part: Int32Builder,
    receipt: BinaryBuilder,
    item: BinaryBuilder,
    matches: Int64Builder,
    distinct: Int64Builder,
    sum: Int64Builder,
    attempts: Int64Builder,
    failed: StringBuilder,
}

impl Rows {
    /// What the task of a part gives back.
    fn of(part: u32, played: &Played, width: usize) -> Result<Vec<RecordBatch>, ArrowError> {
        let part = part.cast_signed();
        let mut rows = Rows::default();
        let receipt = played.receipt.as_ref();
        rows.part.append_value(part);
        rows.receipt.append_option(receipt.ok().map(|receipt| receipt.receipt));
        rows.item.append_null();
        rows.matches.append_option(receipt.ok().map(|receipt| receipt.matches.cast_signed()));
        rows.distinct.append_value(played.distinct.cast_signed());
        rows.sum.append_value(played.sum);
        rows.attempts.append_value(played.attempts.into());
        rows.failed.append_option(receipt.err().map(|error| {
            let told = serde_json::to_string(&error.told_in(Voice::Python));
            told.unwrap_or_else(|_| name(error.kind))
        }));
        let mut batches = vec![rows.finish()?];
        let Ok(receipt) = receipt else { return Ok(batches) };
        for items in played.matched.chunks(BATCH * width) {
            let mut rows = Rows::default();
            for item in items.chunks_exact(width) {
                rows.part.append_value(part);
                rows.receipt.append_value(receipt.receipt);
                rows.item.append_value(item);
                [&mut rows.matches, &mut rows.distinct, &mut rows.sum, &mut rows.attempts]
                    .into_iter()
                    .for_each(Int64Builder::append_null);
                rows.failed.append_null();
            }
            batches.push(rows.finish()?);
        }
        Ok(batches)
    }

    fn finish(mut self) -> Result<RecordBatch, ArrowError> {
        let fields = [
            ("part", DataType::Int32),
            ("receipt", DataType::Binary),
            ("item", DataType::Binary),
            ("matches", DataType::Int64),
            ("distinct", DataType::Int64),
            ("sum", DataType::Int64),
            ("attempts", DataType::Int64),
            ("failed", DataType::Utf8),
        ];
        let fields: Vec<Field> =
            fields.into_iter().map(|(name, kind)| Field::new(name, kind, true)).collect();
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.part.finish()),
            Arc::new(self.receipt.finish()),
            Arc::new(self.item.finish()),
            Arc::new(self.matches.finish()),
            Arc::new(self.distinct.finish()),
            Arc::new(self.sum.finish()),
            Arc::new(self.attempts.finish()),
            Arc::new(self.failed.finish()),
        ];
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
    }
}

/// The digests of a batch's keys, and how many rows were left out: without a key, with an invalid one.
#[pyfunction]
pub(crate) fn digests<'py>(
    py: Python<'py>,
    batch: &Bound<'py, PyAny>,
    specs: Specs,
    role: Option<&str>,
    options: Options,
) -> PyResult<(Bound<'py, PyAny>, u64, u64)> {
    let refused = |error: Error| raise(py, &error, None);
    let batch = RecordBatch::from_pyarrow_bound(batch)?;
    let (keys, settings) = (specs.of(role).map_err(refused)?, options.settings().map_err(refused)?);
    let found = py.detach(|| engine::digests("the batch", batch, &keys, &settings)).map_err(refused)?;
    let width = found.width.bytes();
    let mut builder = FixedSizeBinaryBuilder::with_capacity(found.present.len(), width as i32);
    for (digest, present) in found.bytes.chunks_exact(width).zip(&found.present) {
        match present {
            true => builder.append_value(digest).map_err(|error| failed(&error))?,
            false => builder.append_null(),
        }
    }
    Ok((pyarrow(py, &builder.finish())?, found.nulls, found.invalid))
}

/// A fingerprint of each digest, under a key that only the application has.
#[pyfunction]
pub(crate) fn fingerprints<'py>(
    py: Python<'py>,
    key: [u8; 32],
    digests: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let Some(Present { width, bytes, rows }) = Present::of(digests)? else {
        return pyarrow(py, &arrow_array::Int64Array::new_null(digests.len()?));
    };
    let found = py.detach(|| engine::fingerprints(&key, width, &bytes));
    let mut builder = Int64Builder::with_capacity(rows.len());
    let mut found = found.into_iter();
    rows.iter().for_each(|present| builder.append_option(present.then(|| found.next()).flatten()));
    pyarrow(py, &builder.finish())
}

/// The part of each digest, and its item under k.
#[pyfunction]
pub(crate) fn keyed<'py>(
    py: Python<'py>,
    digests: &Bound<'py, PyAny>,
    items_key: [u8; 32],
    count: u32,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let parts = Parts::new(count).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let (mut numbers, mut items) = (Int32Builder::new(), BinaryBuilder::new());
    match Present::of(digests)? {
        None => (0..digests.len()?).for_each(|_| {
            numbers.append_null();
            items.append_null();
        }),
        Some(Present { width, bytes, rows }) => {
            let (of, keyed) = py.detach(|| engine::keyed(&items_key, parts, width, &bytes));
            let mut found = of.into_iter().zip(keyed.chunks_exact(width.bytes()));
            for present in rows {
                let (number, item) = present.then(|| found.next()).flatten().unzip();
                numbers.append_option(number.map(u32::cast_signed));
                items.append_option(item);
            }
        }
    }
    Ok((pyarrow(py, &numbers.finish())?, pyarrow(py, &items.finish())?))
}

/// The digests of an array that are not null, side by side.
pub(crate) struct Present {
    pub(crate) width: Width,
    pub(crate) bytes: Vec<u8>,
    /// Whether each row has one.
    rows: Vec<bool>,
}

impl Present {
    /// None if there is no digest at all.
    pub(crate) fn of(array: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let array = make_array(FromPyArrow::from_pyarrow_bound(array)?);
        let column = Bytes::of(&array).ok_or_else(|| PyTypeError::new_err("digests are of type binary"))?;
        let digests = || (0..array.len()).map(|row| column.get(row));
        let Some(first) = digests().flatten().next() else { return Ok(None) };
        let width =
            [Width::Digest128, Width::Digest256].into_iter().find(|width| width.bytes() == first.len());
        let width = width.filter(|width| digests().flatten().all(|digest| digest.len() == width.bytes()));
        let width = width.ok_or_else(|| PyValueError::new_err("digests have all 16 bytes, or all 32"))?;
        let mut bytes = Vec::with_capacity(array.len() * width.bytes());
        digests().flatten().for_each(|digest| bytes.extend_from_slice(digest));
        Ok(Some(Present { width, bytes, rows: digests().map(|digest| digest.is_some()).collect() }))
    }
}

pub(crate) fn pyarrow<'py>(py: Python<'py>, array: &dyn Array) -> PyResult<Bound<'py, PyAny>> {
    array.to_data().to_pyarrow(py)
}
