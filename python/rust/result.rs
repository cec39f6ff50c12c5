//! What a run returns.

use arrow_array::RecordBatchIterator;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList, PyString};
use vesica::output_paths::RecordPlaces;
use vesica::results::Answer;
use vesica::table::PayloadRows;
use vesica::{channel, job};

use crate::errors::{json, raise};

/// Rows as Arrow record batches, for libraries with the Arrow PyCapsule interface.
#[pyclass(frozen, module = "vesica")]
pub(crate) struct Batches(job::Batches);

#[pymethods]
impl Batches {
    /// The Arrow PyCapsule interface.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer ignore the wish for another schema.
        let _ = requested_schema;
        let batches = self.0.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.0.schema.clone());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    /// The Arrow PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema.as_ref());
        let schema = schema.map_err(|_| PyValueError::new_err("the schema has no form in C"))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    fn __len__(&self) -> usize {
        self.0.batches.iter().map(arrow_array::RecordBatch::num_rows).sum()
    }

    fn __repr__(&self) -> String {
        format!("Batches({} rows, {} columns)", self.__len__(), self.0.schema.fields().len())
    }
}

/// The end of a run that succeeded.
#[pyclass(frozen, module = "vesica")]
pub(crate) struct Outcome {
    report: String,
    rows: Option<Vec<u64>>,
    answer: Option<Answer>,
    payload: Option<PayloadRows>,
    /// The rule of each row, and the rules.
    matched_by: Option<(Vec<u8>, Vec<String>)>,
    numbers: Option<Vec<u64>>,
    batches: Option<Py<Batches>>,
}

#[pymethods]
impl Outcome {
    /// The report, as JSON.
    #[getter]
    fn report(&self) -> &str {
        &self.report
    }

    /// The numbers of the matching rows, each as 8 bytes in the machine's order; none for a party that does not learn them.
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.rows.as_deref().map(|rows| words(py, rows)).transpose()
    }

    /// A result that is not rows: a number, a truth value, or pairs of a column and its sum.
    #[getter]
    fn answer<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let answer = match &self.answer {
            None => return Ok(None),
            Some(Answer::Count(count)) => count.into_bound_py_any(py)?,
            Some(Answer::AtLeast(reached)) => reached.into_bound_py_any(py)?,
            Some(Answer::Sums(sums)) => sums.into_bound_py_any(py)?,
        };
        Ok(Some(answer))
    }

    /// The sender's columns for the matching rows, as pairs of a name and a list of texts, if they were agreed and are not in
    /// `batches`.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(payload) = &self.payload else { return Ok(None) };
        let columns: Vec<(&str, Vec<Option<&str>>)> = payload.columns().collect();
        Ok(Some(columns.into_bound_py_any(py)?))
    }

    /// The rule by which each row matches, if there are several and the rows are not in `batches`.
    #[getter]
    fn matched_by<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let Some((of_rows, rules)) = &self.matched_by else { return Ok(None) };
        // One text for all rows of a rule.
        let names: Vec<_> = rules.iter().map(|rule| PyString::new(py, rule)).collect();
        PyList::new(py, of_rows.iter().map(|rule| names[usize::from(*rule)].clone())).map(Some)
    }

    /// Their match numbers in the same form and order, if they were agreed.
    #[getter]
    fn numbers<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.numbers.as_deref().map(|numbers| words(py, numbers)).transpose()
    }

    /// The matching rows, if they were asked for.
    #[getter]
    fn batches(&self, py: Python<'_>) -> Option<Py<Batches>> {
        self.batches.as_ref().map(|batches| batches.clone_ref(py))
    }
}

/// Numbers as 8 bytes each, in the machine's order.
fn words<'py>(py: Python<'py>, numbers: &[u64]) -> PyResult<Bound<'py, PyBytes>> {
    let fill = |bytes: &mut [u8]| {
        for (word, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            word.copy_from_slice(&number.to_ne_bytes());
        }
        Ok(())
    };
    PyBytes::new_with(py, 8 * numbers.len(), fill)
}

impl Outcome {
    /// The outcome or the exception. Writes the files of report and receipt in both cases, as far as there is something to write.
    pub(crate) fn of(
        py: Python<'_>,
        ended: job::Ended,
        places: RecordPlaces,
        cancel: &channel::CancelToken,
    ) -> PyResult<Self> {
        let job::Ended { report: full_report, result } = ended;
        let RecordPlaces { report, receipt, .. } = places;
        let written = py.detach(|| {
            let report = report.map_or(Ok(None), |place| full_report.write(place, cancel));
            let receipt = receipt.map_or(Ok(None), |place| full_report.write_receipt(place, cancel));
            report.and(receipt)
        });
        let result = result.map_err(|error| raise(py, &error, Some(&full_report)))?;
        written.map_err(|error| raise(py, &error, Some(&full_report)))?;
        let rules = full_report.match_rules.iter().map(|rule| rule.rule.clone()).collect();
        Ok(Outcome {
            matched_by: result.matched_by.map(|of_rows| (of_rows, rules)),
            report: json(&full_report).unwrap_or_default(),
            rows: result
                .matches
                .map(vesica::encode::items::Matches::into_rows)
                .or_else(|| result.selected.map(|rows| rows.iter().collect())),
            answer: result.answer,
            payload: result.payload,
            numbers: result.numbers,
            batches: result.batches.map(|batches| Py::new(py, Batches(batches))).transpose()?,
        })
    }
}
