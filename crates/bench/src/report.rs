//! The report of a record: pages of tables as Markdown, and all figures as CSV.
//!
//! `figures` finds what stands in a cell, `table` writes one definition as Markdown, `pages` the page of results and a page
//! for each paper behind it. Two files go into the record's folder: `csv` writes every figure with its
//! spread, `cells` the times that `vesica plan` starts from.

mod cells;
mod csv;
mod figures;
mod pages;
mod table;

pub use figures::{Record, Records, Spread, ours, value};
pub use pages::{MARKERS, Sources, write};

#[cfg(test)]
mod tests;
