//! Finds the target of a path: a file, a device or a pipe, or a descriptor of this process.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf, is_separator};

use vesica_store::Address;

use super::Target;
use super::system::{self, is_closed, is_mounted, may_replace, names_descriptor, standard};
use super::temporary::TargetFile;
use crate::error::OutputFault;
use crate::file_id::FileId;
use crate::objects;

/// A standard descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standard {
    /// Descriptor 1.
    Output,
    /// Descriptor 2.
    Error,
}

impl Standard {
    /// Another handle of the descriptor, with the same position.
    pub(super) fn duplicate(self) -> io::Result<File> {
        match self {
            Standard::Output => system::duplicate(&io::stdout()),
            Standard::Error => system::duplicate(&io::stderr()),
        }
    }
}

/// Checks what is at `path`.
pub(super) fn of_path(path: &Path, inputs: &[&FileId]) -> Result<Target, OutputFault> {
    match standard(path) {
        Some(Standard::Output) if is_closed() => return Err(OutputFault::Closed),
        Some(standard) => return standard_target(standard, inputs),
        None => {}
    }
    if let Some(address) = Address::of(path).map_err(OutputFault::Object)? {
        return objects::target(&address).map(Target::Object);
    }
    let existing = match fs::metadata(path) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(OutputFault::NotWritable(error)),
    };
    let slash = path.as_os_str().as_encoded_bytes().last().is_some_and(|&last| is_separator(last.into()));
    if existing.as_ref().is_some_and(fs::Metadata::is_dir) || path.file_name().is_none() || slash {
        return Err(OutputFault::Directory);
    }
    if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
        // The pipe is not opened here: its reader would take the closing for the end.
        return Ok(Target::Stream(path.to_owned()));
    }
    if names_descriptor(path) {
        return Err(OutputFault::Descriptor);
    }
    file(path, existing.as_ref(), inputs)
}

/// A descriptor that leads to an input must not be written to either.
fn standard_target(standard: Standard, inputs: &[&FileId]) -> Result<Target, OutputFault> {
    let file = standard.duplicate().map_err(OutputFault::NotWritable)?;
    let id = system::id(&file).map_err(OutputFault::NotWritable)?;
    if id.is_some_and(|id| inputs.contains(&&id)) {
        return Err(OutputFault::IsInput);
    }
    Ok(Target::Standard(standard))
}

fn file(path: &Path, existing: Option<&Metadata>, inputs: &[&FileId]) -> Result<Target, OutputFault> {
    // Links are followed, so that the result replaces the file and not the link.
    let linked = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    let path =
        if linked { fs::canonicalize(path).map_err(OutputFault::NotWritable)? } else { path.to_owned() };
    if existing.is_some() {
        let id = FileId::of_path(&path).map_err(OutputFault::NotWritable)?;
        if inputs.contains(&&id) {
            return Err(OutputFault::IsInput);
        }
        // Its owner made the file read-only; a rename would ignore that.
        OpenOptions::new().write(true).open(&path).map_err(OutputFault::NotWritable)?;
    }
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    if !directory.is_dir() {
        return Err(OutputFault::NoDirectory);
    }
    if existing.is_some() && is_mounted(&path, &directory) {
        return Ok(Target::Mounted(path));
    }
    let target = TargetFile::new(path, directory, existing.map(Metadata::permissions))?;
    // After the folder was found to be writable, so that this is told first.
    if existing.is_some() && !may_replace(&target.path) {
        return Err(OutputFault::NotReplaceable);
    }
    Ok(Target::File(target))
}
