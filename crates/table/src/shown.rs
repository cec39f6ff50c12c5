//! Names of files and columns as a screen may show them: nothing in them moves the cursor or turns the text around.

use std::path::Path;

use vesica_store::Address;
use vesica_text::visible;

/// A path for the screen: on one line, with control characters escaped, and those that turn the text around them. Of an
/// address, a signature behind `?` and a password before `@` are left out.
pub fn shown_path(path: &Path) -> String {
    let text = match Address::of(path) {
        Ok(None) => path.to_string_lossy().into_owned(),
        Ok(Some(address)) => address.shown(),
        Err(_) => {
            let text = path.to_string_lossy();
            let (scheme, rest) = text.split_at(text.find(":/").map_or(0, |at| at + 2));
            let (slash, rest) = rest.split_at(usize::from(rest.starts_with('/')));
            let rest = rest.split('?').next().unwrap_or_default();
            format!("{scheme}{slash}{}", rest.rsplit('@').next().unwrap_or_default())
        }
    };
    visible(&text)
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

    #[test]
    fn signatures_and_passwords_of_addresses_are_not_shown() {
        for (path, shown) in [
            ("https://h/a.csv?X-Amz-Signature=secret", "https://h/a.csv"),
            ("https://user:secret@h/a.csv?b", "https://h/a.csv"),
            ("s3a://b/what?.csv", "s3://b/what?.csv"),
            ("ftp://h/a.csv", "ftp://h/a.csv"),
            ("a?b@c", "a?b@c"),
            ("s3:/b/a.csv", "s3:/b/a.csv"),
        ] {
            assert_eq!(shown_path(Path::new(path)), shown);
        }
    }
}
