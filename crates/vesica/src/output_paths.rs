//! The files that a run writes, looked at before it begins: no two are the same, and none replaces what must stay.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use vesica_net::CancelToken;
use vesica_protocols::Phase;
use vesica_table::{FileId, Output, Standard, TableError, shown_path, standard};

use crate::error::Error;
use crate::report::Report;

/// How long a report may wait after a cancellation.
const MOMENT: Duration = Duration::from_secs(1);

/// Checks the places of report and events, which may be the same neither as each other nor as the output, and are none of the
/// protected files. `-` is a standard stream.
pub fn check(
    output: Option<&Path>,
    logs: [Option<&Path>; 2],
    protected: &[PathBuf],
) -> Result<[Option<Output>; 2], Error> {
    let places: Vec<_> = [output].into_iter().chain(logs).flatten().map(place).collect();
    if (0..places.len()).any(|i| places[..i].contains(&places[i])) {
        return Err(Error::usage(
            "--output, --report and --events need different places",
            "name another file, or leave one out",
        ));
    }
    let protected = Protected::of(protected);
    output.map_or(Ok(()), |path| protected.check_new(path))?;
    let check = |path: Option<&Path>| path.map(|path| protected.output_at(path)).transpose();
    let [report, events] = logs;
    Ok([check(report)?, check(events)?])
}

/// What no output may take the place of.
pub(crate) struct Protected {
    /// The files that are there.
    ids: Vec<FileId>,
    /// Where the run itself will put one that is not there yet.
    new: Vec<(PathBuf, Option<FileId>)>,
}

impl Protected {
    /// The files at these paths, as they stand now.
    pub(crate) fn of<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        // Standard input from a file comes under its number.
        let stdin = PathBuf::from("/dev/stdin");
        let (mut ids, mut new) = (Vec::new(), Vec::new());
        for path in paths.into_iter().map(|path| if path.as_os_str() == "-" { &stdin } else { path }) {
            match FileId::of_path(path) {
                Ok(id) => ids.push(id),
                Err(_) => new.push(place(path)),
            }
        }
        Protected { ids, new }
    }

    /// A place that can be written to and is none of these.
    pub(crate) fn output_at(&self, path: &Path) -> Result<Output, Error> {
        self.check_new(path)?;
        Output::check(path, &self.ids.iter().collect::<Vec<_>>())
            .map_err(|error| Error::table(Phase::Prepare, &error))
    }

    /// That the run does not put another file there as well.
    fn check_new(&self, path: &Path) -> Result<(), Error> {
        if !self.new.contains(&place(path)) {
            return Ok(());
        }
        Err(Error::usage(
            format!("{}: an output, and a file that this run reads or keeps", shown_path(path)),
            "name another file for one of them",
        ))
    }
}

/// What makes two paths the same place: the file where there is one, else folder and name.
fn place(path: &Path) -> (PathBuf, Option<FileId>) {
    match standard(path) {
        Some(Standard::Output) => return (PathBuf::from("-"), None),
        Some(Standard::Error) => return (PathBuf::from("/dev/stderr"), None),
        None => {}
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let by_name = || Some(fs::canonicalize(folder).ok()?.join(path.file_name()?));
    match FileId::of_path(path) {
        // Of a file that is there the number alone counts: it may have several names.
        Ok(id) => (PathBuf::new(), Some(id)),
        Err(_) => (by_name().unwrap_or_else(|| path.to_owned()), None),
    }
}

impl Report {
    /// Writes the report as JSON. Once the run has been cancelled, a stream that takes nothing is waited for no more than a
    /// moment.
    pub fn write(&self, to: Output, cancel: &CancelToken) -> Result<(), Error> {
        let begun = Instant::now();
        let written = to.commit(&|| cancel.is_cancelled() && begun.elapsed() > MOMENT, |out| {
            let failed = |source| TableError::Write { path: String::new(), source };
            serde_json::to_writer_pretty(&mut *out, self).map_err(|error| failed(error.into()))?;
            out.write_all(b"\n").map_err(failed)
        });
        written.map_err(|error| Error::log(Phase::Write, &error))
    }
}
