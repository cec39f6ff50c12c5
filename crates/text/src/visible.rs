//! Words from files and partners as they may be shown: nothing in them moves the cursor or turns the text around.

/// This text with control characters escaped, and those that change the direction of the text around them.
pub fn visible(text: &str) -> String {
    let escape = |c: char| {
        if c.is_control() || turns_text(c) { c.escape_default().collect() } else { c.to_string() }
    };
    text.chars().map(escape).collect()
}

/// Whether the character changes the direction of the text around it, so that a name may look like another one.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_cursor_or_turns_the_text() {
        let turns = "\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}";
        let shown = visible(&format!("a\n\u{1b}[2J{turns}é"));
        assert_eq!(shown, r"a\n\u{1b}[2J\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}é");
    }
}
