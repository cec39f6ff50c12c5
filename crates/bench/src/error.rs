//! What can go wrong with a benchmark, and where.

use std::path::{Path, PathBuf};

/// A benchmark that could not be run.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A file cannot be read or written.
    #[error("{path}: {cause}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// A list of networks is not well formed.
    #[error("{path}: {message}")]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// A cell names something unknown.
    #[error("{0}")]
    Cell(String),
    /// A party could not be started, or ended without a measurement.
    #[error("{role}: {message}")]
    Party {
        /// Which party, or both.
        role: &'static str,
        /// What happened.
        message: String,
    },
    /// The result of a protocol differs from the plain join.
    #[error("{protocol}: the result is wrong: {message}")]
    WrongResult {
        /// The protocol.
        protocol: String,
        /// In what way.
        message: String,
    },
    /// Debug builds are measured only with `--allow-debug`.
    #[error("benchmarks need a release build: build with `--release`, or give `--allow-debug`")]
    DebugBuild,
}

impl BenchError {
    pub(crate) fn file(path: &Path, cause: std::io::Error) -> Self {
        BenchError::File { path: path.to_owned(), cause }
    }

    pub(crate) fn form(path: &Path, message: impl ToString) -> Self {
        BenchError::Form { path: path.to_owned(), message: message.to_string() }
    }
}
