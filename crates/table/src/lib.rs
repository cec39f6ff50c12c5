//! Reads tables (CSV, Parquet, Arrow), makes items of their keys, and writes the matching rows.
//!
//! A run passes over its input twice. [`Input::load`] streams it into [`Items`](vesica_encode::items::Items):
//! [`KeySpec`] names the key columns, [`Rule`] makes their values canonical, and the pass takes a fingerprint
//! of the bytes it reads. [`Table::select`] streams the input again, copies the matching rows in the input's
//! format, and refuses an input that has changed. [`Output`] puts the result in its place only when it is
//! complete. An input may be several files, which [`Listing`] finds.
//!
//! A table of more rows than fit into memory goes through [`Input::load_into`] to a [`RowSink`], and the rows to
//! select are a [`RowBitmap`].
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
//! No error, log or `Debug` output of this crate contains a value of the table. Errors name file, line and
//! column.

#![forbid(unsafe_code)]

mod added;
mod attach;
mod collect;
mod columnar;
mod csv;
mod dialect;
mod digest;
mod error;
mod file_id;
mod files;
mod format;
mod header;
mod hints;
mod input;
mod inspect;
mod key;
mod match_rules;
mod objects;
mod one_row;
mod output;
mod packing;
mod payload;
mod profile;
mod request;
mod rows;
mod rule;
mod shown;
mod sink;
mod sniff;
mod spec_error;
mod table;
mod unicode;
mod variants;

pub use arrow_array::{RecordBatch, RecordBatchReader};
pub use arrow_schema::SchemaRef;
pub use attach::{Attach, Attached};
pub use columnar::decoding;
pub use dialect::{Charset, Delimiter, Dialect, Quote, Ragged, Sign, StrayQuotes};
pub use digest::InputDigest;
pub use error::{BadValue, Fault, Invalid, OutputFault, PayloadFault, Place, Syntax, TableError};
pub use file_id::FileId;
pub use files::Listing;
pub use format::Format;
pub use hints::{Hints, Look};
pub use input::{Input, Progress};
pub use inspect::{Column, Inspection, KeyFault, KeyHint, Keys};
pub use key::{KeySpec, PairSpec};
pub use match_rules::{MatchRule, MatchRules, PairRule};
pub use one_row::{Cell, write_row};
pub use output::{Cancelled, Output, Standard, remove_unfinished, standard};
pub use packing::Packing;
pub use payload::PayloadRows;
pub use profile::{ColumnProfile, Form, LENGTHS, Letters};
pub use request::{OnFault, Request, RuleReport, TableReport};
pub use rows::{MatchedRow, RowBitmap, RowMarks, RowSet};
pub use rule::{Country, DateOrder, Part, Rule, Value};
pub use shown::shown_path;
pub use sink::RowSink;
pub use spec_error::SpecError;
pub use table::Table;
pub use variants::Variants;
pub use vesica_store::{Address, StoreError};

#[cfg(test)]
mod testing;
