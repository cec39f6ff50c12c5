//! The Rust part of the Python package `vesica`: runs, kept sets, identities and channels, which the typed package above it calls. That
//! package has the documentation for users (`python/src/vesica`).
//!
//! A run has a thread of its own, without Python's interpreter lock. The calling thread waits for it, passes its events on,
//! and looks for Ctrl-C.

#![forbid(unsafe_code)]

mod channel;
mod errors;
mod identity;
mod kept;
mod options;
mod packed;
mod part;
mod parts;
mod play;
mod result;
mod run;
mod table;
mod verify;

use pyo3::prelude::*;

/// What the package calls.
#[pymodule]
mod _internal {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::channel::Channel;
    #[pymodule_export]
    use crate::identity::{Identity, keygen};
    #[pymodule_export]
    use crate::kept::{Server, lookup, publish};
    #[pymodule_export]
    use crate::packed::{Distinct, halves, marks, pack_items, side_by_side, unpack_items};
    #[pymodule_export]
    use crate::part::{PartTask, digests, fingerprints, keyed};
    #[pymodule_export]
    use crate::parts::PartsRun;
    #[pymodule_export]
    use crate::play::CancelToken;
    #[pymodule_export]
    use crate::result::{Batches, Outcome};
    #[pymodule_export]
    use crate::run::{assist, key_columns, local, pair_columns, rules, run, run_file};
    #[pymodule_export]
    use crate::verify::verified;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // The hook of this module, not of other extension modules. A panic becomes an exception without its words, which
        // could hold a value of a table.
        std::panic::set_hook(Box::new(|_| {}));
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// The registry of protocols, as JSON.
    #[pyfunction]
    fn protocols() -> String {
        vesica::plan::catalogue::json().to_string()
    }

    /// The allocator's setting that the command line makes at its start.
    #[pyfunction]
    fn keep_freed_memory() {
        vesica::keep_freed_memory();
    }

    /// Every kind of failure: its name, its exit code, its exception.
    #[pyfunction]
    fn kinds() -> Vec<(String, u8, &'static str)> {
        vesica::Kind::ALL.map(|kind| (crate::errors::name(kind), kind.exit_code(), kind.exception())).into()
    }
}
