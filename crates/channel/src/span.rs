//! A length of time as a person writes it.

use std::fmt;
use std::time::Duration;

/// Shows a time in the words of the command line: `16s`, `5m`, `2h`, `600ms`. From a second on it is rounded to seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = self.0.as_millis();
        match milliseconds.saturating_add(500) / 1000 {
            _ if milliseconds < 1000 => write!(f, "{milliseconds}ms"),
            seconds if seconds % 3600 == 0 => write!(f, "{}h", seconds / 3600),
            seconds if seconds % 60 == 0 => write!(f, "{}m", seconds / 60),
            seconds => write!(f, "{seconds}s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_as_they_are_written() {
        let shown = |milliseconds| Span(Duration::from_millis(milliseconds)).to_string();
        let cases = [
            (0, "0ms"),
            (600, "600ms"),
            (999, "999ms"),
            (1000, "1s"),
            (16_003, "16s"),
            (90_000, "90s"),
            (300_007, "5m"),
            (7_200_000, "2h"),
            (59_700, "1m"),
        ];
        for (milliseconds, text) in cases {
            assert_eq!(shown(milliseconds), text);
        }
    }
}
