//! Finds the target of a path: a file, a device or a pipe, or a descriptor of this process.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Stdout};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::OFlags;

use super::Target;
use super::temporary::TargetFile;
use crate::error::OutputFault;
use crate::file_id::FileId;

/// The longest chain of links that is followed.
const LINKS: usize = 40;

/// A standard descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standard {
    /// Descriptor 1.
    Output,
    /// Descriptor 2.
    Error,
}

impl Standard {
    fn with<T>(self, f: impl FnOnce(BorrowedFd<'_>) -> T) -> T {
        match self {
            Standard::Output => f(io::stdout().as_fd()),
            Standard::Error => f(io::stderr().as_fd()),
        }
    }

    /// Another handle of the descriptor, with the same position.
    pub(super) fn duplicate(self) -> io::Result<File> {
        self.with(|descriptor| Ok(File::from(descriptor.try_clone_to_owned()?)))
    }
}

/// The descriptor that `path` leads to: by a link such as `/dev/stdout`, or because both are the same file.
pub fn standard(path: &Path) -> Option<Standard> {
    match descriptor(path) {
        Some(Descriptor::Mine(1)) => return Some(Standard::Output),
        Some(Descriptor::Mine(2)) => return Some(Standard::Error),
        Some(_) => return None,
        None if path.as_os_str() == "-" => return Some(Standard::Output),
        None => {}
    }
    let id = |metadata: &Metadata| metadata.is_file().then(|| (metadata.dev(), metadata.ino()));
    let target = id(&fs::metadata(path).ok()?)?;
    let leads = |standard: &Standard| {
        let metadata = standard.duplicate().and_then(|file| file.metadata());
        metadata.is_ok_and(|metadata| id(&metadata) == Some(target))
    };
    [Standard::Output, Standard::Error].into_iter().find(leads)
}

/// An open file that a path names by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Descriptor {
    Mine(u32),
    Foreign,
}

/// Follows the links of `path` to an entry of `/proc/PROCESS/fd`, if they lead there.
fn descriptor(path: &Path) -> Option<Descriptor> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let parent = fs::canonicalize(parent).ok()?;
        let name = path.file_name()?.to_owned();
        let parts: Vec<_> = parent.components().map(Component::as_os_str).collect();
        if parts.len() >= 4 && parts[1] == "proc" && parts[parts.len() - 1] == "fd" {
            let mine = parts[2].to_str()?.parse() == Ok(std::process::id());
            return match name.to_str()?.parse() {
                Ok(number) if mine => Some(Descriptor::Mine(number)),
                Ok(_) => Some(Descriptor::Foreign),
                Err(_) => None,
            };
        }
        path = parent.join(fs::read_link(parent.join(&name)).ok()?);
    }
    None
}

/// Whether standard output was closed at the start. Rust's start-up then opens `/dev/null` in its place, for
/// reading and writing.
fn is_closed(stdout: &Stdout) -> bool {
    let both = rustix::fs::fcntl_getfl(stdout).is_ok_and(|flags| flags & OFlags::ACCMODE == OFlags::RDWR);
    let found = Standard::Output.duplicate().and_then(|file| file.metadata());
    let null = fs::metadata("/dev/null");
    both && matches!((found, null), (Ok(found), Ok(null))
        if found.file_type().is_char_device() && found.rdev() == null.rdev())
}

/// Checks what is at `path`.
pub(super) fn of_path(path: &Path, inputs: &[&FileId]) -> Result<Target, OutputFault> {
    match standard(path) {
        Some(Standard::Output) if is_closed(&io::stdout()) => return Err(OutputFault::Closed),
        Some(standard) => return standard_target(standard, inputs),
        None => {}
    }
    let existing = match fs::metadata(path) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(OutputFault::NotWritable(error)),
    };
    let slash = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    if existing.as_ref().is_some_and(fs::Metadata::is_dir) || path.file_name().is_none() || slash {
        return Err(OutputFault::Directory);
    }
    if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
        // The pipe is not opened here: its reader would take the closing for the end.
        return Ok(Target::Stream(path.to_owned()));
    }
    if descriptor(path).is_some() {
        return Err(OutputFault::Descriptor);
    }
    file(path, existing.as_ref(), inputs)
}

/// A descriptor that leads to an input must not be written to either.
fn standard_target(standard: Standard, inputs: &[&FileId]) -> Result<Target, OutputFault> {
    let file = standard.duplicate().map_err(OutputFault::NotWritable)?;
    let regular = file.metadata().map_err(OutputFault::NotWritable)?.is_file();
    let id = FileId::of_file(&file, Path::new("-")).map_err(OutputFault::NotWritable)?;
    if regular && inputs.contains(&&id) {
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
    let replaces = existing.map(Metadata::permissions);
    TargetFile::new(path, directory, replaces).map(Target::File).map_err(OutputFault::NotWritable)
}
