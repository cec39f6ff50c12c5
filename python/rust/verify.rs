//! Receipts, checked.

use std::path::PathBuf;

use pyo3::prelude::*;
use vesica::verify::verify;

use crate::errors::raise;

/// The receipt in a file as JSON, and in words, if it holds.
#[pyfunction]
#[pyo3(signature = (path, peers, report))]
pub(crate) fn verified(
    py: Python<'_>,
    path: PathBuf,
    peers: Vec<String>,
    report: Option<PathBuf>,
) -> PyResult<(String, String)> {
    let checked = py.detach(|| {
        let verified = verify(&path, &peers, report.as_deref())?;
        Ok((verified.receipt.to_line().unwrap_or_default(), verified.in_words()))
    });
    checked.map_err(|error: vesica::Error| raise(py, &error, None))
}
