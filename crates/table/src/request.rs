//! The requests and results of the two passes over a table.

use vesica_encode::items::{Encoding, OnDuplicates};

use crate::added::Added;
use crate::attach::Attach;
use crate::csv::LeftOut;
use crate::header::Needed;
use crate::input::Fingerprint;
use crate::key::KeySpec;
use crate::match_rules::MatchRules;
use crate::rows::{Ascending, RowSet};
use crate::table::Cuts;

/// What to do with a row whose key is null or invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnFault {
    /// Count the row and leave it out.
    Skip,
    /// End the run.
    Error,
}

/// How to load an input.
#[derive(Clone, Debug)]
pub struct Request {
    /// The rules that make keys of a row, in the agreed order.
    pub keys: MatchRules,
    /// The encoding of the items.
    pub encoding: Encoding,
    /// What to do with rows with a null key.
    pub on_null: OnFault,
    /// What to do with rows with an invalid key.
    pub on_invalid: OnFault,
    /// What to do with rows with the same key.
    pub on_duplicates: OnDuplicates,
    /// What the rows carry beside their keys.
    pub attach: Attach,
    /// Threads that read, sort and copy rows, the calling one included.
    pub threads: usize,
}

impl Request {
    /// The defaults for a key of these columns: null keys are skipped, invalid keys are errors, and all rows with the same
    /// key count.
    pub fn new(keys: Vec<KeySpec>, encoding: Encoding) -> Self {
        Request::matching(keys.into(), encoding)
    }

    /// The same for several keys.
    pub fn matching(keys: MatchRules, encoding: Encoding) -> Self {
        let (on_null, on_invalid) = (OnFault::Skip, OnFault::Error);
        Request {
            keys,
            encoding,
            on_null,
            on_invalid,
            on_duplicates: OnDuplicates::All,
            attach: Attach::Nothing,
            threads: 1,
        }
    }

    /// The columns that the first pass reads: the keys, then what the rows carry.
    pub(crate) fn needed(&self) -> Vec<Needed<'_>> {
        self.keys.columns().map(Needed::key).chain(self.attach.needed()).collect()
    }
}

/// The counts of the first pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TableReport {
    /// Rows, the header not counted.
    pub rows: u64,
    /// Distinct keys.
    pub items: u64,
    /// Rows without a key, none of whose values is invalid.
    pub nulls: u64,
    /// Other rows without a key.
    pub invalid: u64,
    /// Keys that an earlier row has too.
    pub duplicates: u64,
}

/// What a rule made of the rows of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RuleReport {
    /// Rows with a key of this rule.
    pub keys: u64,
    /// Rows with a null value.
    pub nulls: u64,
    /// Rows with an invalid value and no null one.
    pub invalid: u64,
}

/// The rows to write, and what the output has beside them.
#[derive(Clone, Copy)]
pub(crate) struct Chosen<'a> {
    /// Their keys.
    pub(crate) keys: RowSet<'a>,
    /// Keys that a row has.
    pub(crate) rules: usize,
    pub(crate) added: Added<'a>,
    /// Threads that may write them.
    pub(crate) threads: usize,
}

impl<'a> Chosen<'a> {
    /// The rows, from the first on.
    pub(crate) fn ascending(&self) -> Ascending<'a> {
        Ascending::new(self.keys, self.rules)
    }
}

/// The result of a first pass over a file.
pub(crate) struct Loaded<S> {
    pub(crate) rows: S,
    pub(crate) columns: Vec<String>,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) cuts: Cuts,
    /// Rows of a text that were left out for their number of fields.
    pub(crate) left_out: LeftOut,
}

/// The result of a first pass over all files of a table.
pub(crate) struct Whole<S> {
    pub(crate) rows: S,
    pub(crate) columns: Vec<String>,
    pub(crate) seen: Vec<Seen>,
}

/// What a first pass has seen of a file.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) rows: u64,
    pub(crate) fingerprint: Fingerprint,
    /// Where a text file was cut for the threads.
    pub(crate) cuts: Cuts,
    /// Rows of a text that were left out for their number of fields.
    pub(crate) left_out: LeftOut,
}
