//! Several files that are one table: all of a folder, or all that match a pattern.
//!
//! Programs that export a table by several workers write it so. The rows are those of the first file, then those of the
//! second, and so on, in the order of their names' bytes. Each file is opened when a pass comes to it, so there may be more
//! files than a process may have open.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::ops::{ControlFlow, Deref};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use glob::Pattern;
use vesica_store::Object;
use vesica_store::listing::{self, OF_ONE_NAME, log_refused, none_there, other_refused, partition_refused};

use crate::error::TableError;
use crate::file_id::FileId;
use crate::format::Format;
use crate::input::{Input, OnProgress, Progress, Source};
use crate::shown::shown_path;

mod alike;

/// What an input path stands for, if it is more than one file.
#[derive(Clone, Debug)]
pub struct Listing {
    path: PathBuf,
    pattern: Option<Pattern>,
    files: Vec<PathBuf>,
}

impl Listing {
    /// The files of a folder, or those that match the pattern if there is no such file; none for any other path.
    ///
    /// Names that begin with `_` or `.` or end in `.crc` are left out: an export's notes and unfinished files.
    ///
    /// # Errors
    /// There is no file, or something that is no file, or one file twice, or the files are those of a table format with a
    /// log, whose files are not all current.
    pub fn of(path: &Path) -> Result<Option<Listing>, TableError> {
        let (pattern, mut files) = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => (None, in_folder(path)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => match pattern(path) {
                Some(text) => {
                    let (pattern, files) = matching(path, text)?;
                    (Some(pattern), files)
                }
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        if files.is_empty() {
            return Err(refused(path, none_there(pattern.is_some())));
        }
        files.sort_unstable_by(|a, b| bytes(a).cmp(bytes(b)));
        check_different(path, &files)?;
        Ok(Some(Listing { path: path.to_owned(), pattern, files }))
    }

    /// The files, in the order of the rows.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Whether a new file at that path would be one of them.
    pub fn would_have(&self, path: &Path) -> bool {
        let Some(name) = path.file_name().filter(|name| !is_left_out(name)) else { return false };
        let folder = |path: &Path| FileId::of_path(parent(path)).ok();
        let Some(pattern) = &self.pattern else {
            return folder(path)
                .is_some_and(|parent| FileId::of_path(&self.path).is_ok_and(|id| id == parent));
        };
        let last = self.path.file_name().and_then(OsStr::to_str).and_then(|last| Pattern::new(last).ok());
        let named_so = last.is_some_and(|last| last.matches(&name.to_string_lossy()));
        // A link may lead to a folder that the pattern does not name.
        let beside = || self.files.iter().any(|file| folder(file).is_some_and(|id| Some(id) == folder(path)));
        let as_spelled =
            pattern.matches_path_with(path, OF_ONE_NAME) && !has_left_out(path, fixed(&self.path));
        as_spelled || self.matches_real(path, name).unwrap_or(false) || named_so && beside()
    }

    /// Whether the pattern matches a path however the two are spelled; none if there are no such folders.
    fn matches_real(&self, path: &Path, name: &OsStr) -> Option<bool> {
        let fixed: PathBuf = self.path.components().take(fixed(&self.path)).collect();
        let wild: PathBuf = self.path.components().skip(fixed.components().count()).collect();
        let folder =
            fs::canonicalize(if fixed.as_os_str().is_empty() { Path::new(".") } else { &fixed }).ok()?;
        let path = fs::canonicalize(parent(path)).ok()?.join(name);
        let within = path.strip_prefix(folder).ok()?;
        let matches = Pattern::new(wild.to_str()?).ok()?.matches_path_with(within, OF_ONE_NAME);
        Some(matches && !has_left_out(within, 0))
    }
}

/// The folder that a path is in.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// How many parts a pattern has before its first wildcard. These folders may have any name.
fn fixed(path: &Path) -> usize {
    path.components().take_while(|part| pattern(Path::new(part)).is_none()).count()
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

fn is_left_out(name: &OsStr) -> bool {
    listing::is_left_out(name.as_encoded_bytes())
}

/// Whether a part of the path after so many is left out.
fn has_left_out(path: &Path, fixed: usize) -> bool {
    path.components().skip(fixed).any(|part| is_left_out(part.as_os_str()))
}

fn refused(path: &Path, what: impl Into<String>) -> TableError {
    TableError::NotOneTable { file: shown_path(path), what: what.into() }
}

fn unreadable(path: &Path, source: io::Error) -> TableError {
    TableError::Open { file: shown_path(path), source }
}

/// The path as a pattern, if it looks like one.
fn pattern(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| text.contains(['*', '?', '[']))
}

fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, TableError> {
    check_no_log(folder)?;
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(|source| unreadable(folder, source))? {
        let name = entry.map_err(|source| unreadable(folder, source))?.file_name();
        if !is_left_out(&name) {
            files.push(folder.join(name));
        }
    }
    files.iter().try_for_each(|path| check(path, folder))?;
    Ok(files)
}

/// Checks that a folder is no table whose log says which files are current.
fn check_no_log(folder: &Path) -> Result<(), TableError> {
    for (log, format) in listing::LOGS {
        if folder.join(log).exists() {
            return Err(refused(folder, log_refused(format)));
        }
    }
    Ok(())
}

fn matching(path: &Path, text: &str) -> Result<(Pattern, Vec<PathBuf>), TableError> {
    let wrong =
        |error: glob::PatternError| refused(path, format!("cannot be read as a pattern: {}", error.msg));
    let pattern = Pattern::new(text).map_err(wrong)?;
    let fixed = fixed(path);
    let (mut files, mut folders) = (Vec::new(), HashSet::new());
    for found in glob::glob(text).map_err(wrong)? {
        let found = found.map_err(|error| {
            let path = error.path().to_owned();
            unreadable(&path, error.into())
        })?;
        if !has_left_out(&found, fixed) {
            check(&found, path)?;
            for folder in found.ancestors().skip(1).take_while(|folder| folder.components().count() >= fixed)
            {
                if !folders.insert(folder.to_owned()) {
                    break;
                }
                check_no_log(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })?;
            }
            files.push(found);
        }
    }
    Ok((pattern, files))
}

/// Checks that this is a file, which stands in a folder or matches a pattern.
fn check(path: &Path, whole: &Path) -> Result<(), TableError> {
    let metadata = fs::metadata(path).map_err(|source| unreadable(path, source))?;
    let name = path.file_name().map(|name| shown_path(Path::new(name))).unwrap_or_default();
    if metadata.is_dir() && name.contains('=') {
        return Err(refused(whole, partition_refused(&name)));
    }
    match metadata.is_file() {
        true => Ok(()),
        false => Err(refused(whole, other_refused(&name))),
    }
}

/// Checks that no file has two of these names, by links: its rows would count twice.
fn check_different(whole: &Path, files: &[PathBuf]) -> Result<(), TableError> {
    let mut names = HashMap::new();
    for file in files {
        let id = FileId::of_path(file).map_err(|source| unreadable(file, source))?;
        if let Some(first) = names.insert(id, file) {
            let what = format!(
                "has one file under two names, `{}` and `{}`, so its rows would count twice; remove one of the names, \
                 or name files by a pattern that matches one of them",
                shown_path(first),
                shown_path(file)
            );
            return Err(refused(whole, what));
        }
    }
    Ok(())
}

/// The files of an open input.
#[derive(Debug)]
pub(crate) struct Files {
    place: Place,
    /// Their names in errors.
    names: Vec<String>,
    /// The bytes of each file and those before it.
    ends: Vec<u64>,
    /// Approximately how many rows there are, once the files were found to be one table.
    rows_hint: OnceLock<usize>,
}

/// Where they are.
#[derive(Debug)]
enum Place {
    /// In a folder, where anybody may change them.
    Folder(Listing),
    /// Copies of objects of a store, in files without names.
    Copies(Vec<File>),
}

impl Files {
    /// The bytes of all.
    pub(crate) fn length(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The bytes of all before that file.
    fn before(&self, index: usize) -> u64 {
        index.checked_sub(1).map_or(0, |index| self.ends[index])
    }

    /// The bytes of that file.
    fn length_of(&self, index: usize) -> u64 {
        self.ends[index] - self.before(index)
    }
}

impl Place {
    fn open(&self, index: usize, name: &str) -> Result<Input, TableError> {
        match self {
            Place::Folder(listing) => Input::open_file(&listing.files[index]),
            Place::Copies(files) => Input::of_copy(&files[index], name),
        }
    }
}

/// One file of an input: the input itself, or one of several files, which is open as long as this lives.
pub(crate) enum One<'a> {
    Whole(&'a Input),
    File(Box<Input>),
}

impl Deref for One<'_> {
    type Target = Input;

    fn deref(&self) -> &Input {
        match self {
            One::Whole(input) => input,
            One::File(input) => input,
        }
    }
}

impl Input {
    /// The files of a listing as one table.
    pub(crate) fn of_files(listing: Listing) -> Result<Input, TableError> {
        let names = listing.files.iter().map(|file| shown_path(file)).collect();
        let name = shown_path(&listing.path);
        Input::of_several(Place::Folder(listing), name, names)
    }

    /// Copies of objects, with their names, as one table.
    pub(crate) fn of_copies(name: String, objects: Vec<Object>) -> Result<Input, TableError> {
        let (names, files) = objects.into_iter().map(|object| (object.name, object.file)).unzip();
        Input::of_several(Place::Copies(files), name, names)
    }

    fn of_several(place: Place, name: String, names: Vec<String>) -> Result<Input, TableError> {
        let (mut ends, mut format) = (Vec::new(), None);
        for (index, name) in names.iter().enumerate() {
            let input = place.open(index, name)?;
            ends.push(ends.last().copied().unwrap_or(0) + input.length());
            let expected: Format = *format.get_or_insert(input.format());
            if input.format() != expected {
                let what = format!("it is {}, and that one is {}", input.format().name(), expected.name());
                return Err(TableError::Unlike { first: names[0].clone(), second: name.clone(), what });
            }
        }
        let files = Files { place, names, ends, rows_hint: OnceLock::new() };
        Ok(Input::of_source(Source::Files(Box::new(files)), name, None, format.unwrap_or(Format::Batches)))
    }

    /// Its files, if it has several.
    pub(crate) fn files(&self) -> Option<&Files> {
        match self.source() {
            Source::Files(files) => Some(files),
            _ => None,
        }
    }

    /// How many files it is.
    pub fn file_count(&self) -> usize {
        self.files().map_or(1, |files| files.names.len())
    }

    /// What errors call that file.
    pub(crate) fn name_of(&self, index: usize) -> &str {
        self.files().map_or(self.name(), |files| &files.names[index])
    }

    /// Opens a file of this input, for a pass over it.
    pub(crate) fn one(&self, index: usize) -> Result<One<'_>, TableError> {
        let Some(files) = self.files() else { return Ok(One::Whole(self)) };
        let input = files.place.open(index, &files.names[index])?;
        if input.format() != self.format() {
            return Err(TableError::Changed { file: files.names[index].clone() });
        }
        input
            .with_dialect(self.dialect().clone())
            .map(|input| One::File(Box::new(input.with_int96(self.int96()))))
    }

    /// As [`one`](Self::one), for a file that a first pass has read.
    pub(crate) fn one_again(&self, index: usize) -> Result<One<'_>, TableError> {
        self.one(index).map_err(|error| match error {
            TableError::Open { source, .. } if source.kind() != io::ErrorKind::NotFound => {
                TableError::Open { file: self.name_of(index).to_owned(), source }
            }
            _ => TableError::Changed { file: self.name_of(index).to_owned() },
        })
    }

    /// Every file, open while it is current.
    pub(crate) fn each(&self) -> impl Iterator<Item = Result<One<'_>, TableError>> {
        (0..self.file_count()).map(|index| self.one(index))
    }

    /// Checks that its folder or pattern still has the same files, of which each pass only sees those that there were.
    pub(crate) fn check_listing(&self) -> Result<(), TableError> {
        let Some(files) = self.files() else { return Ok(()) };
        let Place::Folder(listing) = &files.place else { return Ok(()) };
        match Listing::of(&listing.path) {
            Ok(Some(now)) if now.files == listing.files => Ok(()),
            _ => Err(TableError::Changed { file: self.name().to_owned() }),
        }
    }

    /// The progress of a pass over that file, told as progress over all of them.
    pub(crate) fn within<'p>(
        &self,
        index: usize,
        on_progress: OnProgress<'p>,
    ) -> impl FnMut(Progress) -> ControlFlow<()> + 'p {
        let all = self.files().map(|files| (files.before(index), files.length()));
        move |Progress { done, total }| {
            on_progress(match all {
                Some((before, all)) => Progress { done: before + done, total: all.max(before + done) },
                None => Progress { done, total },
            })
        }
    }
}

#[cfg(test)]
mod tests;
