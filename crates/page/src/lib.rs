//! Pages for a person: the report of a run, a plan, an inspected table.
//!
//! A page is a function of the JSON that programs get, and holds that JSON, so it says nothing that a program would
//! not find. It is one file, has no script and loads nothing. Its policy forbids both.
//!
//! Everything in the JSON may come from a file or from the partner. The templates escape every value, and
//! [`visible`](vesica_text::visible) replaces the characters that would turn the text around. A field that is
//! missing, or of another type, is left out of the page.
//!
//! Their places: `report.rs`, with `lens.rs`, which draws the two sets; `plan.rs`; `inspection.rs`. The templates and
//! the style are in `templates/`.

#![forbid(unsafe_code)]

mod bars;
mod document;
mod inspection;
mod json;
mod lens;
mod plan;
mod report;
mod table;

pub use document::PageError;

/// The page of a run's report, which `--report` writes as JSON. Programs find that JSON in the page between
/// `<script type="application/json" id="vesica-report">` and `</script>`.
///
/// # Errors
/// If the text is no JSON.
pub fn report(json: &str) -> Result<String, PageError> {
    document::page(json, "vesica-report", report::Page::of)
}

/// The page of a plan, as `vesica plan --json` prints it.
///
/// # Errors
/// If the text is no JSON.
pub fn plan(json: &str) -> Result<String, PageError> {
    document::page(json, "vesica-plan", plan::Page::of)
}

/// The page of an inspected table, as `vesica inspect --json` prints it.
///
/// # Errors
/// If the text is no JSON.
pub fn inspection(json: &str) -> Result<String, PageError> {
    document::page(json, "vesica-inspection", inspection::Page::of)
}
