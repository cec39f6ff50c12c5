//! The files that a run writes, checked before it begins: no two are the same, and none replaces a protected file.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use vesica_channel::CancelToken;
use vesica_protocols::Phase;
use vesica_table::{FileId, Output, Standard, TableError, shown_path, standard};

use crate::error::Error;
use crate::report::Report;

/// How long a report may wait for its stream after a cancellation.
const GRACE: Duration = Duration::from_secs(1);

/// Checks the paths of report and events, which must differ from each other, from the output and from every protected file.
/// `-` is a standard stream.
pub fn check(
    output: Option<&Path>,
    logs: [Option<&Path>; 2],
    protected: &[PathBuf],
) -> Result<[Option<Output>; 2], Error> {
    let targets: Vec<_> = [output].into_iter().chain(logs).flatten().map(target).collect();
    if (0..targets.len()).any(|i| targets[..i].contains(&targets[i])) {
        return Err(Error::usage(
            "two of `--output`, `--report` and `--events` name the same file",
            "name different files, or leave one out",
        ));
    }
    let protected = Protected::of(protected);
    output.map_or(Ok(()), |path| protected.check_new(path))?;
    let check = |path: Option<&Path>| path.map(|path| protected.output_at(path)).transpose();
    let [report, events] = logs;
    Ok([check(report)?, check(events)?])
}

/// Files that no output may replace.
pub(crate) struct Protected {
    /// The files that are there.
    ids: Vec<FileId>,
    /// Paths at which the run itself will make one.
    new: Vec<(PathBuf, Option<FileId>)>,
}

impl Protected {
    /// The files at these paths, as they stand now.
    pub(crate) fn of<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        // Standard input may be a file.
        let stdin = PathBuf::from("/dev/stdin");
        let (mut ids, mut new) = (Vec::new(), Vec::new());
        for path in paths.into_iter().map(|path| if path.as_os_str() == "-" { &stdin } else { path }) {
            match FileId::of_path(path) {
                Ok(id) => ids.push(id),
                Err(_) => new.push(target(path)),
            }
        }
        Protected { ids, new }
    }

    /// An output that can be written to and is none of these.
    pub(crate) fn output_at(&self, path: &Path) -> Result<Output, Error> {
        self.check_new(path)?;
        Output::check(path, &self.ids.iter().collect::<Vec<_>>())
            .map_err(|error| Error::table(Phase::Prepare, &error))
    }

    /// Checks that the run does not make another file at the same path.
    fn check_new(&self, path: &Path) -> Result<(), Error> {
        if !self.new.contains(&target(path)) {
            return Ok(());
        }
        Err(Error::usage(
            format!("{}: named as an output and as a file that this run reads or keeps", shown_path(path)),
            "name another file for one of the two",
        ))
    }
}

/// What two paths to the same file have in common: the file if it exists, else folder and name.
fn target(path: &Path) -> (PathBuf, Option<FileId>) {
    match standard(path) {
        Some(Standard::Output) => return (PathBuf::from("-"), None),
        Some(Standard::Error) => return (PathBuf::from("/dev/stderr"), None),
        None => {}
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let by_name = || Some(fs::canonicalize(folder).ok()?.join(path.file_name()?));
    match FileId::of_path(path) {
        // An existing file may have several names, so only its number counts.
        Ok(id) => (PathBuf::new(), Some(id)),
        Err(_) => (by_name().unwrap_or_else(|| path.to_owned()), None),
    }
}

impl Report {
    /// Writes the report as JSON. After a cancellation it waits only a moment for a stream that takes nothing.
    pub fn write(&self, to: Output, cancel: &CancelToken) -> Result<(), Error> {
        let begun = Instant::now();
        let written = to.commit(&|| cancel.is_cancelled() && begun.elapsed() > GRACE, |out| {
            let failed = |source| TableError::Write { path: String::new(), source };
            serde_json::to_writer_pretty(&mut *out, self).map_err(|error| failed(error.into()))?;
            out.write_all(b"\n").map_err(failed)
        });
        written.map_err(|error| Error::log(Phase::Write, &error))
    }
}
