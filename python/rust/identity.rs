//! Identities: key pairs in files or in memory.

use std::path::PathBuf;

use pyo3::prelude::*;
use vesica::{Error, net, partner};

use crate::errors::raise;

/// A key pair. Only its public half can be seen.
#[pyclass(frozen, module = "vesica")]
pub(crate) struct Identity(pub(crate) net::Identity);

fn refused(py: Python<'_>, error: &net::identity::IdentityError) -> PyErr {
    raise(
        py,
        &Error::usage(error.to_string(), "give a file that holds an identity, or a new name for one"),
        None,
    )
}

#[pymethods]
impl Identity {
    /// A new key pair, in memory.
    #[staticmethod]
    fn generate(py: Python<'_>) -> PyResult<Self> {
        net::Identity::generate().map(Identity).map_err(|error| refused(py, &error))
    }

    /// The key pair in that file, or in the default one.
    #[staticmethod]
    #[pyo3(signature = (path = None))]
    fn load(py: Python<'_>, path: Option<PathBuf>) -> PyResult<Self> {
        partner::identity(path.as_deref()).map(Identity).map_err(|error| raise(py, &error, None))
    }

    /// Writes the key pair to a new file that only its owner can read.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.0.save(&path).map_err(|error| refused(py, &error))
    }

    /// The line to give to the partner.
    #[getter]
    fn public_key(&self) -> String {
        self.0.public_key().to_string()
    }

    fn __repr__(&self) -> String {
        format!("Identity({})", self.0.public_key())
    }
}

/// How a caller names an identity.
#[derive(FromPyObject)]
pub(crate) enum IdentityArg<'py> {
    Object(Bound<'py, Identity>),
    File(PathBuf),
}

impl IdentityArg<'_> {
    pub(crate) fn load(argument: Option<&Self>) -> Result<net::Identity, Error> {
        match argument {
            Some(IdentityArg::Object(identity)) => Ok(identity.get().0.clone()),
            Some(IdentityArg::File(path)) => partner::identity(Some(path)),
            None => partner::identity(None),
        }
    }
}

/// Makes an identity in a new file; gives the file and the public key.
#[pyfunction]
#[pyo3(signature = (output = None))]
pub(crate) fn keygen(py: Python<'_>, output: Option<PathBuf>) -> PyResult<(PathBuf, String)> {
    partner::make_identity(output.as_deref())
        .map(|(path, key)| (path, key.to_string()))
        .map_err(|error| raise(py, &error, None))
}
