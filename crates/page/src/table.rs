//! Tables, lists of facts and sentences, as the templates lay them out.

use vesica_text::amounts::grouped;

/// A cell of a table.
pub(crate) struct Cell {
    pub(crate) text: String,
    /// How it is set: `number`, `code`, or as words.
    pub(crate) class: &'static str,
}

impl Cell {
    pub(crate) fn words(text: impl Into<String>) -> Self {
        Cell { text: text.into(), class: "words" }
    }

    pub(crate) fn code(text: impl Into<String>) -> Self {
        Cell { text: text.into(), class: "code" }
    }

    pub(crate) fn number(text: impl Into<String>) -> Self {
        Cell { text: text.into(), class: "number" }
    }

    pub(crate) fn count(count: u64) -> Self {
        Cell::number(grouped(count))
    }
}

/// A column's head, and how its cells are set.
pub(crate) type Head = (&'static str, &'static str);

/// A table. The first cell of a row is its head.
pub(crate) struct Table {
    pub(crate) caption: &'static str,
    pub(crate) head: Vec<Head>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// How many rows are printed; all of them are on the screen.
    pub(crate) printed: usize,
}

impl Table {
    /// How many rows are only on the screen.
    pub(crate) fn left_out(&self) -> usize {
        self.rows.len().saturating_sub(self.printed)
    }
}

/// A name and what belongs to it.
pub(crate) struct Fact {
    pub(crate) name: String,
    pub(crate) value: Cell,
}

impl Fact {
    pub(crate) fn new(name: impl Into<String>, value: Cell) -> Self {
        Fact { name: name.into(), value }
    }
}

/// A sentence in pieces; those between backticks are code.
pub(crate) struct Prose(pub(crate) Vec<(bool, String)>);

impl Prose {
    pub(crate) fn of(text: &str) -> Self {
        // Without a second backtick, one stands for itself.
        let closed = text.matches('`').count().is_multiple_of(2);
        let pieces = text.split(|c| closed && c == '`').enumerate();
        let pieces = pieces.map(|(number, piece)| (number % 2 == 1, piece.to_owned()));
        Prose(pieces.filter(|(_, piece)| !piece.is_empty()).collect())
    }
}

/// `count` things: "1 key", "2 keys".
pub(crate) fn counted(count: u64, one: &str) -> String {
    format!("{} {one}{}", grouped(count), if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stands_between_backticks() {
        let pieces = |text: &str| Prose::of(text).0;
        assert_eq!(pieces("give `--key`"), [(false, "give ".to_owned()), (true, "--key".to_owned())]);
        assert_eq!(pieces("a ` alone"), [(false, "a ` alone".to_owned())]);
        assert_eq!(pieces(""), []);
        assert_eq!([counted(1, "key"), counted(2000, "key")], ["1 key", "2,000 keys"]);
    }
}
