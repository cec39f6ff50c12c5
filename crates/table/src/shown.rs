//! Names of files and columns as a screen may show them: nothing in them moves the cursor or turns the text around.

use std::path::Path;

/// A path for the screen: on one line, with control characters escaped, and those that turn the text around them.
pub fn shown_path(path: &Path) -> String {
    let escape = |c: char| {
        if c.is_control() || turns_text(c) { c.escape_default().collect() } else { c.to_string() }
    };
    path.to_string_lossy().chars().map(escape).collect()
}

/// Whether the character changes the direction of the text around it, so that a name may look like another one.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A name from a file, as errors show it: on one line and of limited length.
pub(crate) fn shown(name: &[u8]) -> String {
    const LONGEST: usize = 64;
    let name = String::from_utf8_lossy(name);
    let mut shown: String = name.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if name.chars().nth(LONGEST).is_some() {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_shown_on_one_line_and_in_its_own_order() {
        let turns = "\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}";
        let shown = shown_path(Path::new(&format!("a\n\u{1b}[2J{turns}é.csv")));
        assert_eq!(shown, r"a\n\u{1b}[2J\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}é.csv");
    }
}
