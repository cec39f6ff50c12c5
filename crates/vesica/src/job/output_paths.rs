//! The files that a run writes, checked before it begins: no two are the same, and none replaces a protected file.

use std::fs;
use std::io;
use std::iter;
use std::path::{Path, PathBuf, is_separator};
use std::time::{Duration, Instant};

use vesica_channel::CancelToken;
use vesica_page::PageError;
use vesica_table::{Address, FileId, Listing, Output, Standard, TableError, shown_path, standard};
use vesica_text::Text;

use crate::words::error::{Error, RunPhase};
use crate::words::report::Report;

/// Endings of names of pages.
const PAGES: [&str; 2] = ["html", "htm"];

/// Endings of names that neither JSON nor a page can have.
const OTHER_FORMATS: [&str; 3] = ["pdf", "csv", "xlsx"];

/// Digits of a session's name in the name of a report.
const SESSION_DIGITS: usize = 12;

/// A name such as a report gets in a folder.
const LIKE_A_REPORT: &str = "2026-01-01T000000Z-receiver-no-session.json";

/// How long a report may wait for its stream after a cancellation.
const GRACE: Duration = Duration::from_secs(1);

/// Where a report or a receipt goes.
#[derive(Debug)]
pub enum ReportPlace {
    /// A new file, or a stream.
    File(Document),
    /// A new file in this folder, named after the run.
    Folder(PathBuf),
}

/// A new file, or a stream, of JSON or of the page that is made of it.
#[derive(Debug)]
pub struct Document {
    output: Output,
    is_page: bool,
}

/// What is told of a run, and where, as a user names it.
#[derive(Debug, Clone, Copy, Default)]
pub struct RecordPaths<'a> {
    /// A new file, or a folder.
    pub report: Option<&'a Path>,
    /// A new file, or a folder.
    pub receipt: Option<&'a Path>,
    /// A file.
    pub events: Option<&'a Path>,
}

/// What is told of a run, and where, once that is checked.
#[derive(Debug, Default)]
pub struct RecordPlaces {
    /// The report.
    pub report: Option<ReportPlace>,
    /// The receipt.
    pub receipt: Option<ReportPlace>,
    /// The events.
    pub events: Option<Output>,
}

/// What makes a page of JSON.
type MakePage = fn(&str) -> Result<String, PageError>;

/// What a run writes of itself at its end.
struct Kind {
    /// As messages call it.
    what: &'static str,
    /// The ending of a name that it gets in a folder.
    ending: &'static str,
    /// How it becomes a page, if it can be one.
    page: Option<MakePage>,
}

const REPORT: Kind = Kind { what: "report", ending: "json", page: Some(vesica_page::report) };
const RECEIPT: Kind = Kind { what: "receipt", ending: "receipt.json", page: None };

/// Checks the paths of report, receipt and events, which must differ from each other, from the output and from every
/// protected file. `-` is a standard stream. A report or a receipt replaces no file: its path is a new file's, or a folder's.
pub fn check(
    output: Option<&Path>,
    records: RecordPaths<'_>,
    protected: &[PathBuf],
) -> Result<RecordPlaces, Error> {
    let RecordPaths { report, receipt, events } = records;
    // In a folder each gets a name of its own.
    let files = [report, receipt, events].into_iter().flatten().filter(|path| !path.is_dir());
    let targets: Vec<_> = output.into_iter().chain(files).map(target).collect();
    if (0..targets.len()).any(|i| targets[..i].contains(&targets[i])) {
        return Err(Error::usage(
            "two of `[output]`, `[report]`, `[receipt]` and `[events]` name the same file",
            "name different files, or leave one out",
        ));
    }
    let protected = Protected::of(protected)?;
    output.map_or(Ok(()), |path| protected.check_new(path))?;
    Ok(RecordPlaces {
        report: report.map(|path| new_at(path, &REPORT, &protected)).transpose()?,
        receipt: receipt.map(|path| new_at(path, &RECEIPT, &protected)).transpose()?,
        events: events.map(|path| protected.output_at(path)).transpose()?,
    })
}

/// Checks the path of a document of no run, a plan or an inspected table. It replaces no file.
pub fn check_document(path: &Path, protected: &[PathBuf]) -> Result<Document, Error> {
    document_at(path, &Protected::of(protected)?, "name a new file")
}

/// Checks that a new file at that path would not become a part of the table, if that is a folder or a pattern.
pub fn check_apart(path: &Path, table: &Path) -> Result<(), Error> {
    Protected::of([&table.to_owned()])?.check_tables(path)
}

/// A place for a report or a receipt that can be written to and holds none yet.
fn new_at(path: &Path, kind: &Kind, protected: &Protected) -> Result<ReportPlace, Error> {
    let what = kind.what;
    if path.is_dir() {
        // Whatever name it will have, it must be possible to make a file there.
        protected.output_at(&path.join(".vesica-report"))?;
        protected.check_tables(&path.join(LIKE_A_REPORT))?;
        return Ok(ReportPlace::Folder(path.to_owned()));
    }
    if path.as_os_str().as_encoded_bytes().last().is_some_and(|&last| is_separator(last.into())) {
        if let Ok(Some(_)) = Address::of(path) {
            let message =
                format!("{}: a store has no folders in which a {what} could get a name", shown_path(path));
            return Err(Error::usage(message, "give it a name, such as s3://bucket/reports/run-1.json"));
        }
        let message = format!("{}: there is no such folder", shown_path(path));
        return Err(Error::usage(message, "make the folder first, or name a new file in an existing one"));
    }
    if kind.page.is_none() && has_ending(path, &PAGES) {
        let message = format!("{}: a {what} is JSON, and this name is of another format", shown_path(path));
        return Err(Error::usage(message, "give the name the ending `.json`"));
    }
    let remedy = format!("name a new file, or a folder, where each {what} gets a name of its own");
    document_at(path, protected, remedy).map(ReportPlace::File)
}

/// A document's place that can be written to. `remedy` is for a file that is there.
fn document_at(path: &Path, protected: &Protected, remedy: impl Into<Text>) -> Result<Document, Error> {
    let output = protected.output_at(path)?.never_replacing();
    if has_ending(path, &OTHER_FORMATS) {
        let message = format!(
            "{}: what is written there is JSON or a page, and this name is of another format",
            shown_path(path)
        );
        return Err(Error::usage(message, "give the name the ending `.json`, or `.html` for a page"));
    }
    if output.would_replace() {
        let message = format!("{}: this file is there already, and is not replaced", shown_path(path));
        return Err(Error::usage(message, remedy));
    }
    Ok(Document { output, is_page: has_ending(path, &PAGES) })
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|ending| endings.contains(&&*ending.to_string_lossy().to_lowercase()))
}

/// Files that no output may replace.
pub(crate) struct Protected {
    /// The files that are there.
    ids: Vec<FileId>,
    /// Paths at which the run itself will make one.
    new: Vec<(PathBuf, Option<FileId>)>,
    /// Tables of several files.
    tables: Vec<Listing>,
    /// Tables in stores.
    stores: Vec<Address>,
}

impl Protected {
    /// The files at these paths, as they stand now. A folder or a pattern is a table, and stands for its files.
    pub(crate) fn of<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<Self, Error> {
        // Standard input may be a file.
        let stdin = PathBuf::from("/dev/stdin");
        let mut protected =
            Protected { ids: Vec::new(), new: Vec::new(), tables: Vec::new(), stores: Vec::new() };
        let mut kept = Vec::new();
        for path in paths.into_iter().map(|path| if path.as_os_str() == "-" { &stdin } else { path }) {
            // Whoever opens the table reports why it is none.
            if let Ok(Some(address)) = Address::of(path) {
                protected.new.push(target(path));
                protected.stores.push(address);
                continue;
            }
            match (Listing::of(path).ok().flatten(), FileId::of_path(path)) {
                (Some(table), _) => {
                    protected.ids.extend(table.files().iter().filter_map(|file| FileId::of_path(file).ok()));
                    protected.tables.push(table);
                }
                (None, Ok(id)) => protected.ids.push(id),
                (None, Err(_)) => {
                    protected.new.push(target(path));
                    kept.push(path);
                }
            }
        }
        kept.into_iter().try_for_each(|path| protected.check_tables(path))?;
        Ok(protected)
    }

    /// Checks that no table gets this file, which is to be made.
    fn check_tables(&self, path: &Path) -> Result<(), Error> {
        let would_have = match Address::of(path) {
            Ok(Some(object)) => self.stores.iter().any(|table| table.would_have(&object)),
            _ => self.tables.iter().any(|table| table.would_have(path)),
        };
        if !would_have {
            return Ok(());
        }
        Err(Error::usage(
            format!("{}: would become one of the files that are the input", shown_path(path)),
            "name a file in another folder",
        ))
    }

    /// An output that can be written to and is none of these.
    pub(crate) fn output_at(&self, path: &Path) -> Result<Output, Error> {
        self.check_new(path)?;
        Output::check(path, &self.ids.iter().collect::<Vec<_>>())
            .map_err(|error| Error::table(RunPhase::Prepare, &error))
    }

    /// Checks that the run does not make another file at the same path, and no table gets a file more.
    fn check_new(&self, path: &Path) -> Result<(), Error> {
        // A standard stream is no new file.
        if standard(path).is_none() {
            self.check_tables(path)?;
        }
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
    if let Ok(Some(address)) = Address::of(path) {
        return (PathBuf::from(address.identity()), None);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let by_name = || Some(fs::canonicalize(folder).ok()?.join(path.file_name()?));
    match FileId::of_path(path) {
        // An existing file may have several names, so only its number counts.
        Ok(id) => (PathBuf::new(), Some(id)),
        Err(_) => (by_name().unwrap_or_else(|| path.to_owned()), None),
    }
}

impl Document {
    /// Writes the text, or the page that `page` makes of it. After a cancellation it waits only a moment for a stream that
    /// takes nothing.
    pub fn write(self, json: String, page: Option<MakePage>, cancel: &CancelToken) -> Result<(), Error> {
        let begun = Instant::now();
        let failed = |source| TableError::Write { path: String::new(), source };
        let text = match page.filter(|_| self.is_page) {
            Some(page) => page(&json).map_err(|error| failed(io::Error::other(error))),
            None => Ok(json),
        };
        let written = self.output.commit(&|| cancel.is_cancelled() && begun.elapsed() > GRACE, |out| {
            out.write_all(text?.as_bytes()).map_err(failed)
        });
        written.map_err(|error| Error::log(RunPhase::Write, &error))
    }
}

impl Report {
    /// Writes the report, as JSON or as a page, and gives the name of its file if it was to choose one.
    pub fn write(&self, to: ReportPlace, cancel: &CancelToken) -> Result<Option<String>, Error> {
        let json = serde_json::to_string_pretty(self).map_err(io::Error::from);
        self.write_as(&REPORT, to, json.map(|json| json + "\n"), cancel)
    }

    /// Writes the receipt, if there is one, in the same way.
    pub fn write_receipt(&self, to: ReportPlace, cancel: &CancelToken) -> Result<Option<String>, Error> {
        let Some(receipt) = &self.receipt else { return Ok(None) };
        self.write_as(&RECEIPT, to, receipt.to_line().map_err(io::Error::other), cancel)
    }

    fn write_as(
        &self,
        kind: &Kind,
        to: ReportPlace,
        json: io::Result<String>,
        cancel: &CancelToken,
    ) -> Result<Option<String>, Error> {
        let failed = |error: &TableError| Error::log(RunPhase::Write, error);
        let json = json.map_err(|source| failed(&TableError::Write { path: String::new(), source }))?;
        let (to, chosen) = match to {
            ReportPlace::File(document) => (document, None),
            ReportPlace::Folder(folder) => {
                let output = Output::check(&self.new_file(&folder, kind.ending), &[]);
                let output = output.map(Output::never_replacing).map_err(|error| failed(&error))?;
                let name = output.name().to_owned();
                (Document { output, is_page: false }, Some(name))
            }
        };
        to.write(json, kind.page, cancel).map(|()| chosen)
    }

    /// A path in that folder that is free: when the run began, who this side was, and the run's name if it has one.
    fn new_file(&self, folder: &Path, ending: &str) -> PathBuf {
        let second = self.started.split('.').next().unwrap_or_default().replace(':', "");
        let session = self.session.as_deref().map(|session| &session[..session.len().min(SESSION_DIGITS)]);
        let name = format!("{second}Z-{}-{}", self.role, session.unwrap_or("no-session"));
        let numbered = (2..).map(|number| folder.join(format!("{name}-{number}.{ending}")));
        let mut paths = iter::once(folder.join(format!("{name}.{ending}"))).chain(numbered);
        paths.find(|path| !path.exists()).unwrap_or_else(|| folder.join(name))
    }
}
