//! Tables in: a path, or anything with the Arrow PyCapsule interface.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_pyarrow::FromPyArrow;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vesica::job::{Destination, Source, TableArgs};
use vesica::table::{MatchRules, shown_path};
use vesica::{Error, Kind, RunPhase};

use crate::errors::raise;
use crate::options::ReadOptions;
use crate::play::Escaped;

/// A table as the package passes it on.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Table<'py> {
    table: Bound<'py, PyAny>,
    /// Its name in errors, if it is no path.
    name: String,
    /// Whether its rows can be read only once.
    stream: bool,
    /// Whether it is a file object, opened for bytes.
    file: bool,
    /// The file behind it, which an output must not replace.
    behind: Option<PathBuf>,
    output: Option<PathBuf>,
    /// Whether the rows are to come back as batches.
    batches: bool,
    /// How a path is read, if it is text.
    read: ReadOptions,
}

impl Table<'_> {
    pub(crate) fn output(&self) -> Option<&PathBuf> {
        self.output.as_ref()
    }

    /// The path, if it is one.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        self.table.extract().ok()
    }

    pub(crate) fn args(
        &self,
        keys: MatchRules,
        protected: Vec<PathBuf>,
        escaped: &Escaped,
    ) -> PyResult<TableArgs> {
        let output = match (&self.output, self.batches) {
            (Some(path), _) => Destination::Path(path.clone()),
            (None, true) => Destination::Batches,
            (None, false) => Destination::RowNumbers,
        };
        let dialect = self.read.dialect().map_err(|error| raise(self.table.py(), &error, None))?;
        let protected = protected.into_iter().chain(self.behind.clone()).collect();
        Ok(TableArgs { input: self.source(escaped)?, keys, dialect, output, protected })
    }

    fn source(&self, escaped: &Escaped) -> PyResult<Source> {
        if let Some(path) = self.path() {
            return Ok(Source::Path(path));
        }
        let (py, name) = (self.table.py(), self.name.clone());
        if self.file {
            let reader =
                Box::new(FileObject { object: self.table.clone().unbind(), escaped: escaped.clone() });
            let name = shown_path(Path::new(&name));
            return Ok(Source::Stream { name, reader });
        }
        let reader = RecordBatchStreamReader::from_pyarrow_bound(&self.table).map_err(|error| {
            // The words of a producer's exception may hold a value of the table, so only its class is shown. Exceptions
            // such as KeyboardInterrupt pass as they are.
            let class =
                error.get_type(py).name().map_or_else(|_| "Exception".into(), |name| name.to_string());
            let ours = || raise(py, &unreadable(&name, &class), None);
            if error.is_instance_of::<PyException>(py) { ours() } else { error }
        })?;
        if self.stream {
            return Ok(Source::Reader { name, reader: Box::new(reader) });
        }
        let schema = reader.schema();
        // A producer may need the interpreter in another thread.
        let batches = py.detach(|| reader.collect::<Result<Vec<_>, _>>());
        let batches =
            batches.map_err(|_| raise(py, &unreadable(&name, "its rows stop with an error"), None))?;
        Ok(Source::Batches { name, schema, batches })
    }
}

/// A file object of Python, opened for bytes.
struct FileObject {
    object: Py<PyAny>,
    escaped: Escaped,
}

impl Read for FileObject {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let failed = |error: PyErr| {
                // Its words may hold a value of the table.
                let class =
                    error.get_type(py).name().map_or_else(|_| "an exception".into(), |name| name.to_string());
                if !error.is_instance_of::<PyException>(py) {
                    self.escaped.put(error);
                }
                io::Error::other(format!("its read() raised {class}"))
            };
            let read = self.object.bind(py).call_method1("read", (buffer.len(),)).map_err(failed)?;
            let wrong = |what| io::Error::new(io::ErrorKind::InvalidData, what);
            let bytes = read
                .cast::<PyBytes>()
                .map_err(|_| wrong("its read() gives no bytes; open it with mode rb"))?;
            let bytes = bytes.as_bytes();
            let part = buffer.get_mut(..bytes.len());
            part.ok_or(wrong("its read() gives more than was asked for"))?.copy_from_slice(bytes);
            Ok(bytes.len())
        })
    }
}

fn unreadable(name: &str, why: &str) -> Error {
    let message = format!("{name}: cannot be read as an Arrow table ({why})");
    // pandas gives its tables through pyarrow, which it does not bring.
    let remedy = match why {
        "ImportError" | "ModuleNotFoundError" => "install what the table needs for it: `pip install pyarrow`",
        _ => "give every column one Arrow type; converting the table with pyarrow shows what is wrong",
    };
    Error { kind: Kind::Input, phase: RunPhase::Read, ..Error::usage(message, remedy) }
}
