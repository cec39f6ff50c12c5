//! Records in, rows out: CSV, key rules, encoding, selection.
//!
//! A run passes over its input twice. [`Input::load`] streams it into [`Items`](vesica_encode::items::Items): key
//! columns by [`KeySpec`], values by [`Rule`], with a fingerprint of every byte read. [`Table::select`] streams it
//! again and copies the header and the matching rows as they are, and refuses an input that changed in between.
//! [`Output`] puts what was selected in its place only when all of it is there.
//!
//! ```
//! use std::ops::ControlFlow;
//! use vesica_encode::items::{Encoding, Width};
//! use vesica_table::{Input, Request, TableError};
//!
//! let mut file = &b"id,mail\n1,Ada@Example.com\n2,\n3,grace@example.com\n"[..];
//! let request = Request::new(vec!["mail:email".parse()?], Encoding::Digest(Width::Digest128));
//! let mut go = |_| ControlFlow::Continue(());
//! let (table, items) = Input::spool("people.csv", &mut file)?.load(&request, &mut go)?;
//! assert_eq!((table.report().items, table.report().nulls), (2, 1));
//!
//! let mut out = Vec::new();
//! table.select(&items.matches(0..items.len()), &mut out, &mut go)?;
//! assert_eq!(out, b"id,mail\n1,Ada@Example.com\n3,grace@example.com\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
