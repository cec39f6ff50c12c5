//! Many records in one value, for engines whose shuffle costs by the row. `vesica._spark_tasks` calls this.

use std::sync::{Mutex, PoisonError};

use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, PrimitiveArray, make_array};
use arrow_pyarrow::FromPyArrow;
use arrow_schema::ArrowError;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use vesica::encode::items::Width;
use vesica::parts::Parts;
use vesica::parts::engine::{self, MARK, Rows};

use crate::part::{Bytes, Present, failed, pyarrow};

/// The marks of these digests in as many groups, as packed rows: the group (int32) and the marks (binary) of each.
#[pyfunction]
pub(crate) fn marks<'py>(
    py: Python<'py>,
    digests: &Bound<'py, PyAny>,
    key: [u8; 32],
    groups: u32,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let (groups, (width, digests)) = (parts(groups)?, present(digests)?);
    let engine::Marks { rows, marks } = py.detach(|| engine::marks(&key, groups, width, &digests));
    let marks = column(&rows, &marks, MARK).map_err(|error| failed(&error))?;
    Ok((numbers(py, &rows)?, pyarrow(py, &marks)?))
}

/// The items of these digests as packed rows: the part (int32), the items and their fingerprints (binary) of each.
#[pyfunction]
pub(crate) fn pack_items<'py>(
    py: Python<'py>,
    digests: &Bound<'py, PyAny>,
    items_key: [u8; 32],
    key: [u8; 32],
    count: u32,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let (parts, (width, digests)) = (parts(count)?, present(digests)?);
    let packed = py.detach(|| engine::pack_items(&items_key, &key, parts, width, &digests));
    let items = column(&packed.rows, &packed.items, width.bytes()).map_err(|error| failed(&error))?;
    let fingerprints = column(&packed.rows, &packed.fingerprints, 8).map_err(|error| failed(&error))?;
    Ok((numbers(py, &packed.rows)?, pyarrow(py, &items)?, pyarrow(py, &fingerprints)?))
}

/// Packed rows of items, unpacked: the part (int32), the item (binary) and the fingerprint (int64) of each.
#[pyfunction]
pub(crate) fn unpack_items<'py>(
    py: Python<'py>,
    parts: &Bound<'py, PyAny>,
    items: &Bound<'py, PyAny>,
    fingerprints: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let [parts, items, fingerprints] = [array(parts)?, array(items)?, array(fingerprints)?];
    let wrong = || PyValueError::new_err("these are no packed rows of items");
    let parts = parts.as_primitive_opt::<Int32Type>().ok_or_else(wrong)?;
    let (items, fingerprints) = (bytes(&items)?, bytes(&fingerprints)?);
    let (mut of, mut each, mut numbers) = (Vec::new(), BinaryBuilder::new(), Vec::new());
    for row in 0..parts.len() {
        let (items, fingerprints) = items.get(row).zip(fingerprints.get(row)).ok_or_else(wrong)?;
        let (fingerprints, rest) = fingerprints.as_chunks();
        let width =
            items.len().checked_div(fingerprints.len()).filter(|width| *width > 0).ok_or_else(wrong)?;
        let fits = items.len() % width == 0 && items.len() / width == fingerprints.len();
        if parts.is_null(row) || !rest.is_empty() || !fits {
            return Err(wrong());
        }
        items.chunks_exact(width).for_each(|item| each.append_value(item));
        numbers.extend(fingerprints.iter().map(|fingerprint| i64::from_le_bytes(*fingerprint)));
        of.resize(numbers.len(), parts.value(row));
    }
    let of = PrimitiveArray::<Int32Type>::from(of);
    Ok((pyarrow(py, &of)?, pyarrow(py, &each.finish())?, pyarrow(py, &Int64Array::from(numbers))?))
}

/// The items of an array without nulls in fewer values, each with some of them side by side.
#[pyfunction]
pub(crate) fn side_by_side<'py>(py: Python<'py>, items: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let array = array(items)?;
    let items = bytes(&array)?;
    let (mut builder, mut packed, mut row) = (BinaryBuilder::new(), Vec::new(), 0);
    for length in engine::row_lengths(array.len()) {
        (row..row + length).filter_map(|row| items.get(row)).for_each(|item| packed.extend_from_slice(item));
        builder.append_value(&packed);
        packed.clear();
        row += length;
    }
    pyarrow(py, &builder.finish())
}

/// The two halves (int64) of the first 16 bytes of items of `width` bytes, all those in an array of binary values, which hold
/// any number of them.
#[pyfunction]
pub(crate) fn halves<'py>(
    py: Python<'py>,
    items: &Bound<'py, PyAny>,
    width: usize,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let width = [Width::Digest128, Width::Digest256].into_iter().find(|known| known.bytes() == width);
    let width = width.ok_or_else(|| PyValueError::new_err("items have 16 bytes, or 32"))?;
    let array = array(items)?;
    let column = bytes(&array)?;
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for packed in (0..array.len()).filter_map(|row| column.get(row)) {
        whole(packed, width.bytes())?;
        let (one, other) = engine::halves(width, packed);
        first.extend(one);
        second.extend(other);
    }
    Ok((pyarrow(py, &Int64Array::from(first))?, pyarrow(py, &Int64Array::from(second))?))
}

/// Counts different marks.
#[pyclass(frozen, module = "vesica")]
#[derive(Default)]
pub(crate) struct Distinct(Mutex<engine::Distinct>);

#[pymethods]
impl Distinct {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Takes in the marks of packed rows; null for none.
    fn add(&self, marks: &Bound<'_, PyAny>) -> PyResult<()> {
        let array = array(marks)?;
        let column = bytes(&array)?;
        let mut distinct = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for marks in (0..array.len()).filter_map(|row| column.get(row)) {
            whole(marks, MARK)?;
            distinct.add(marks);
        }
        Ok(())
    }

    /// How many different marks there were, and the sum of their fingerprints modulo 2^64.
    fn count(&self, py: Python<'_>) -> (usize, i64) {
        py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).count())
    }
}

/// A packed row has whole records of `width` bytes.
fn whole(packed: &[u8], width: usize) -> PyResult<()> {
    match packed.len().is_multiple_of(width) {
        true => Ok(()),
        false => Err(PyValueError::new_err(format!("a packed row is not of whole records of {width} bytes"))),
    }
}

fn array(array: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    Ok(make_array(FromPyArrow::from_pyarrow_bound(array)?))
}

fn bytes(array: &ArrayRef) -> PyResult<Bytes<'_>> {
    Bytes::of(array).ok_or_else(|| PyTypeError::new_err("packed rows are of type binary"))
}

fn parts(count: u32) -> PyResult<Parts> {
    Parts::new(count).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The digests that are there. Of none, the width does not matter.
fn present(digests: &Bound<'_, PyAny>) -> PyResult<(Width, Vec<u8>)> {
    let found = Present::of(digests)?;
    Ok(found.map_or((Width::Digest256, Vec::new()), |Present { width, bytes, .. }| (width, bytes)))
}

fn numbers<'py>(py: Python<'py>, rows: &Rows) -> PyResult<Bound<'py, PyAny>> {
    let numbers = rows.groups.iter().map(|group| group.cast_signed());
    pyarrow(py, &PrimitiveArray::<Int32Type>::from_iter_values(numbers))
}

/// The records of `width` bytes as the values of their rows.
fn column(rows: &Rows, records: &[u8], width: usize) -> Result<BinaryArray, ArrowError> {
    let mut builder = BinaryBuilder::with_capacity(rows.ends.len(), records.len());
    let mut start = 0;
    for end in &rows.ends {
        builder.append_value(&records[start * width..end * width]);
        start = *end;
    }
    Ok(builder.finish())
}
