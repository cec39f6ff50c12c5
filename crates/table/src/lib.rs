//! Records in, rows out: CSV, key rules, encoding, selection.
//!
//! A run passes over its input twice. [`Input::load`] streams it into [`Items`](vesica_encode::items::Items): key
//! columns by [`KeySpec`], values by [`Rule`], with a fingerprint of every byte read. [`Table::select`] streams it
//! again and copies the header and the matching rows as they are, and refuses an input that changed in between.
//! [`Output`] puts what was selected in its place only when all of it is there.
//!
//! No error, log or `Debug` output of this crate holds a value of the table: errors name file, line and column.

mod collect;
mod csv;
mod error;
mod file_id;
mod format;
mod input;
mod key;
mod output;
mod rule;
mod table;

pub use error::{Fault, Invalid, OutputFault, Syntax, TableError};
pub use file_id::FileId;
pub use input::{Input, Progress};
pub use key::{KeySpec, PairSpec, SpecError};
pub use output::Output;
pub use rule::{Part, Rule, Value};
pub use table::{OnFault, Request, Table, TableReport};

#[cfg(test)]
mod testing;
