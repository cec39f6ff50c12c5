//! Derives every security parameter again: `make parameters`.
//!
//! Prints, as Markdown, each parameter beside what its derivation gives, and from where the derivation is. Ends with status
//! 1 if the code has anything else. `--full` adds what takes minutes. With `UPDATE_DOCS` set the tables go into
//! `docs/parameters.md` too, between its marks; a test holds that page against the tables.
//!
//! A derivation here is either the library's own program of a bound (`okvs::parameters`, `hashing::parameters::bounds`,
//! `vole::codes`, `softspoken`), asked again at the parameters in use, or, where the code has a formula of its own, the
//! formula's definition summed up in another way.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the developer"
)]

mod bins;
mod common;
mod counts;
mod cut_and_choose;
mod filters;
mod noise;
mod page;
mod silent;
mod stores;
mod table;
mod transfers;

use std::process::ExitCode;

use page::{Page, QUICK, SLOW};
use table::Section;

/// Seconds, all together.
fn quick() -> Vec<Section> {
    let mut sections = Vec::new();
    sections.extend(common::sections());
    sections.extend(silent::sections());
    sections.extend(noise::sections());
    sections.extend(stores::sections());
    sections.extend(bins::sections());
    sections.extend(counts::sections());
    sections.extend(transfers::sections());
    sections.extend(filters::sections());
    sections.extend(cut_and_choose::sections());
    sections
}

/// Minutes.
fn slow() -> Vec<Section> {
    let mut sections = silent::slow_sections();
    sections.extend(bins::slow_sections());
    sections
}

fn main() -> ExitCode {
    let full = std::env::args().any(|argument| argument == "--full");
    let mut page = Page::read();
    let mut wrong = Vec::new();
    let mut put = |mark, sections: Vec<Section>| {
        let text: String = sections.iter().map(Section::text).collect();
        println!("{text}");
        page.put(mark, &text);
        wrong.extend(sections.into_iter().flat_map(|section| section.wrong));
    };
    put(QUICK, quick());
    if full {
        put(SLOW, slow());
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        page.write();
    }
    for parameter in &wrong {
        eprintln!("code and derivation differ: {parameter}");
    }
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_has_what_is_derived_and_the_page_says_so() {
        let sections = quick();
        let wrong: Vec<_> = sections.iter().flat_map(|section| &section.wrong).collect();
        assert!(wrong.is_empty(), "code and derivation differ: {wrong:#?}");
        let text: String = sections.iter().map(Section::text).collect();
        let page = Page::read();
        assert!(
            page.between(QUICK).is_some_and(|old| old == text),
            "docs/parameters.md is out of date: `UPDATE_DOCS=1 make parameters`\n{text}"
        );
        assert!(page.between(SLOW).is_some(), "the page has the slow tables too");
    }

    #[test]
    fn what_differs_is_told() {
        let mut section = Section::new("Title", "Text.", &["parameter", "code", "derived"]);
        section.row(&["one", "1", "1"], true);
        section.row(&["two", "2", "3"], false);
        assert_eq!(section.wrong, ["Title: two"]);
        assert!(section.text().contains("| two | 2 | 3 **differs** |"));
    }
}
