//! `docs/parameters.md`: tables between marks, words around them.

use std::path::Path;

/// The mark of what takes seconds.
pub(crate) const QUICK: &str = "parameters";
/// The mark of what takes minutes.
pub(crate) const SLOW: &str = "slow parameters";

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/parameters.md");

pub(crate) struct Page(String);

impl Page {
    pub(crate) fn read() -> Self {
        Page(std::fs::read_to_string(Path::new(PATH)).unwrap_or_default())
    }

    pub(crate) fn write(&self) {
        std::fs::write(Path::new(PATH), &self.0).unwrap();
    }

    /// The text between the marks of that name.
    pub(crate) fn between(&self, mark: &str) -> Option<&str> {
        let (begin, end) = marks(mark);
        let rest = self.0.split_once(&begin)?.1;
        Some(rest.split_once(&end)?.0)
    }

    /// Puts `text` between the marks; a page without them gets them at its end.
    pub(crate) fn put(&mut self, mark: &str, text: &str) {
        let (begin, end) = marks(mark);
        let old = self.between(mark).map(|old| format!("{begin}{old}{end}"));
        let new = format!("{begin}{text}{end}");
        match old {
            Some(old) => self.0 = self.0.replacen(&old, &new, 1),
            None => self.0 += &format!("\n{new}"),
        }
    }
}

fn marks(mark: &str) -> (String, String) {
    (format!("<!-- {mark}: made by `make parameters` -->\n\n"), format!("<!-- end of {mark} -->\n"))
}
