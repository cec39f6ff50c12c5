//! Whether files are one table: the same columns, written in the same way.

use crate::columnar::text::is_uuid;
use crate::columnar::{self, Layout};
use crate::error::TableError;
use crate::format::Format;
use crate::input::Input;
use crate::shown::shown;
use crate::table::{Writing, writing};

impl Input {
    /// Checks that its files, if it has several, are one table, and returns approximately how many rows they have; 0 if
    /// unknown. Reads headers and footers, and only the first time.
    ///
    /// # Errors
    /// The error names the first file and the one that differs, and says in what, by the first column in which they differ. A
    /// first line that is no header has values, so columns of text are named by number.
    pub(crate) fn alike(&self) -> Result<usize, TableError> {
        let Some(files) = self.files() else { return Ok(0) };
        if let Some(rows) = files.rows_hint.get() {
            return Ok(*rows);
        }
        let rows = match self.format() {
            Format::Csv(packing) => {
                self.compare(|input| writing(input, packing), differing_text)?;
                // The longest file tells most. The others are taken to have as many rows for each byte.
                let longest = (0..files.names.len()).max_by_key(|index| files.length_of(*index)).unwrap_or(0);
                let rows = writing(&*self.one(longest)?, packing)?.rows_hint as u128;
                let length = u128::from(files.length_of(longest).max(1));
                usize::try_from(rows * u128::from(files.length()) / length).unwrap_or(usize::MAX)
            }
            _ => {
                let mut rows = 0_usize;
                let layout = |input: &Input| columnar::layout(input).inspect(|layout| rows += layout.rows);
                self.compare(layout, differing_columns)?;
                rows
            }
        };
        Ok(*files.rows_hint.get_or_init(|| rows))
    }

    /// Compares each file with the first one.
    fn compare<T>(
        &self,
        mut of: impl FnMut(&Input) -> Result<T, TableError>,
        differ: impl Fn(&T, &T) -> Option<String>,
    ) -> Result<(), TableError> {
        let mut first = None;
        for (index, one) in self.each().enumerate() {
            let found = of(&*one?)?;
            let Some(first) = &first else {
                first = Some(found);
                continue;
            };
            if let Some(what) = differ(first, &found) {
                let [first, second] = [0, index].map(|index| self.name_of(index).to_owned());
                return Err(TableError::Unlike { first, second, what });
            }
        }
        Ok(())
    }

    /// Checks that the rows of several files can be in one file of their format.
    pub(crate) fn check_one_output(&self) -> Result<(), TableError> {
        if self.format() != Format::ArrowFile || self.file_count() < 2 {
            return Ok(());
        }
        let schema = columnar::schema(&*self.one(0)?, columnar::Wanted::Names)?;
        match columnar::dictionary(&schema) {
            None => Ok(()),
            Some(column) => Err(TableError::NotOneTable {
                file: self.name().to_owned(),
                what: format!(
                    "column `{}` is a dictionary, and an Arrow IPC file has one dictionary for all rows; write the \
                     files as Arrow IPC streams or as Parquet",
                    shown(column.as_bytes())
                ),
            }),
        }
    }
}

/// How the second file is written otherwise than the first.
fn differing_text(first: &Writing, second: &Writing) -> Option<String> {
    if first.encoding != second.encoding {
        return Some(format!("it is in {}, and that one is in {}", second.encoding, first.encoding));
    }
    if first.delimiter != second.delimiter {
        return Some("it has another delimiter".to_owned());
    }
    let (there, here) = (first.columns.len(), second.columns.len());
    match first.columns.iter().zip(&second.columns).position(|(first, second)| first != second) {
        Some(at) => Some(format!("column {} has another name in the first line", at + 1)),
        None => (here != there).then(|| counts(there, here)),
    }
}

fn differing_columns(first: &Layout, second: &Layout) -> Option<String> {
    let (there, here) = (first.schema.fields(), second.schema.fields());
    let name = |field: &arrow_schema::FieldRef| shown(field.name().as_bytes());
    for (at, (there, here)) in there.iter().zip(here).enumerate() {
        let column = at + 1;
        if there.name() != here.name() {
            return Some(format!("column {column} is `{}`, and that one has `{}`", name(here), name(there)));
        }
        if there.data_type() != here.data_type() {
            let (name, here, there) = (name(here), here.data_type(), there.data_type());
            return Some(format!("column {column}, `{name}`, is {here}, and that one has {there}"));
        }
        // Arrow says so beside the type, and keys are made accordingly.
        if is_uuid(there) != is_uuid(here) {
            let said = |field: &arrow_schema::Field| if is_uuid(field) { "UUIDs" } else { "16 bytes" };
            let (name, here, there) = (name(here), said(here), said(there));
            return Some(format!("column {column}, `{name}`, is {here}, and that one has {there}"));
        }
        let stored = |layout: &Layout| layout.stored.get(at).cloned();
        if there.is_nullable() != here.is_nullable() || stored(first) != stored(second) {
            return Some(format!("column {column}, `{}`, is stored as another type", name(here)));
        }
    }
    (there.len() != here.len()).then(|| counts(there.len(), here.len()))
}

fn counts(there: usize, here: usize) -> String {
    let s = if here == 1 { "" } else { "s" };
    format!("it has {here} column{s}, and that one has {there}")
}
