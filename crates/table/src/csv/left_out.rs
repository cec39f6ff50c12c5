//! The rows that are left out for their number of fields, as far as they are told.

use vesica_text::{Text, text};

/// How many lines are named.
const NAMED: usize = 10;

/// Rows that were left out: how many, and where the first of them are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LeftOut {
    count: u64,
    lines: Vec<u64>,
}

impl LeftOut {
    pub(super) fn add(&mut self, line: u64) {
        self.count += 1;
        if self.lines.len() < NAMED {
            self.lines.push(line);
        }
    }

    /// Takes those of a piece that comes next.
    pub(crate) fn take_from(&mut self, piece: &mut LeftOut) {
        self.count += std::mem::take(&mut piece.count);
        let room = NAMED - self.lines.len();
        self.lines.extend(piece.lines.drain(..).take(room));
    }

    /// Whether there are any.
    pub(crate) fn any(&self) -> bool {
        self.count > 0
    }

    /// What is told of them, which have not as many fields as the `first` line; nothing if there are none.
    pub(crate) fn told(&self, first: &'static str) -> Option<Text> {
        let lines: Vec<String> = self.lines.iter().map(u64::to_string).collect();
        let more = if self.count > self.lines.len() as u64 { ", …" } else { "" };
        let (rows, in_lines) = match self.count {
            0 => return None,
            1 => ("row was", "in line"),
            _ => ("rows were", "in lines"),
        };
        Some(text!(
            "{} {} left out (`[ragged skip]`): not as many fields as the {}, {} {}{}",
            self.count,
            rows,
            first,
            in_lines,
            lines.join(", "),
            more
        ))
    }
}
