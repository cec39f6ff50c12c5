//! A terminal whose last columns stay free.
//!
//! A bar leaves the cursor behind its line, which it fills to the last column. The `^C` of a user would begin another line there,
//! and the bar's line would stay on the screen for good.

use std::io;

use console::Term;
use indicatif::TermLike;

/// Columns that stay free.
pub(super) const MARGIN: u16 = 4;

/// A terminal that pretends to be narrower.
#[derive(Debug)]
pub(super) struct Margin(pub(super) Term);

impl TermLike for Margin {
    fn width(&self) -> u16 {
        self.0.size().1.saturating_sub(MARGIN).max(1)
    }

    fn height(&self) -> u16 {
        self.0.size().0
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_left(n)
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        self.0.write_line(line)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.0.write_str(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}
