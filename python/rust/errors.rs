//! Turns the error of a run into an exception, with its words as Python writes them.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use vesica::report::Report;
use vesica::text::Voice;
use vesica::{Error, Kind};

/// The name of a kind, as the report has it.
pub(crate) fn name(kind: Kind) -> String {
    text(&kind)
}

/// A value that serialises as a word.
fn text(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// A report as JSON, with its words as Python writes them.
pub(crate) fn json(report: &Report) -> Option<String> {
    serde_json::to_string(&report.told_in(Voice::Python)).ok()
}

/// The exception of the error's class.
pub(crate) fn raise(py: Python<'_>, error: &Error, report: Option<&Report>) -> PyErr {
    exception(py, error, report).map_or_else(|failed| failed, PyErr::from_value)
}

fn exception<'py>(py: Python<'py>, error: &Error, report: Option<&Report>) -> PyResult<Bound<'py, PyAny>> {
    let attributes = PyDict::new(py);
    attributes.set_item("side", text(&error.side))?;
    attributes.set_item("phase", error.phase.name())?;
    attributes.set_item("message", error.message.render(Voice::Python))?;
    attributes.set_item("remedy", error.remedy.render(Voice::Python))?;
    attributes.set_item("report", report.and_then(json))?;
    let class = py.import("vesica.errors")?.getattr(error.kind.exception())?;
    class.call((error.render(Voice::Python),), Some(&attributes))
}
