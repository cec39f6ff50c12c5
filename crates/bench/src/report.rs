//! The report of a record: pages of tables as Markdown, and all figures as CSV.
//!
//! `figures` finds what stands in a cell, `table` writes one definition as Markdown, `pages` the page of results and a page
//! for each paper behind it, `figures.csv` in the record's folder holds every figure with its spread and floor.

mod csv;
mod figures;
mod pages;
mod table;

pub use csv::FILE;
pub use figures::{Record, Spread, ours, value};
pub use pages::{MARKERS, write};

/// Three significant digits.
pub fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let digits = 2 - value.abs().log10().floor() as i32;
    if digits >= 0 {
        format!("{value:.*}", digits as usize)
    } else {
        let scale = 10f64.powi(-digits);
        format!("{:.0}", (value / scale).round() * scale)
    }
}

#[cfg(test)]
mod tests;
