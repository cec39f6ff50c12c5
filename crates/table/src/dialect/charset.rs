//! Encodings, by the names that programs and standards have for them.

use std::fmt;
use std::str::FromStr;

use encoding_rs::{Encoding, ISO_2022_JP, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, X_USER_DEFINED};

/// An encoding of text, by a name of the WHATWG Encoding Standard.
///
/// By that standard, ISO-8859-1 and ASCII are read as Windows-1252. It has letters and signs where they have
/// control characters or nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Charset(pub(crate) &'static Encoding);

impl Charset {
    /// The name.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Whether this byte, below 0x80, may be a part of another character.
    pub(super) fn splits(self, byte: u8) -> bool {
        // The second byte of such a character is never below 0x30, nor one of the marks between 0x30 and
        // 0x40.
        byte >= 0x40 && !self.0.is_single_byte() && !is_utf(self.0)
    }
}

/// Names of other vendors, with letters and digits alone, for the standard's labels.
const ALIASES: &[(&str, &str)] = &[
    ("utf8sig", "utf-8"),
    ("utf8bom", "utf-8"),
    ("utf16", "utf-16"),
    ("utf16le", "utf-16le"),
    ("utf16be", "utf-16be"),
    ("sjis", "shift_jis"),
    ("shiftjis", "shift_jis"),
    ("windows31j", "shift_jis"),
    ("mswindows31j", "shift_jis"),
    ("mskanji", "shift_jis"),
    ("ujis", "euc-jp"),
    ("eucjp", "euc-jp"),
    ("euckr", "euc-kr"),
    ("uhc", "euc-kr"),
    ("euccn", "gbk"),
    ("gb18030", "gb18030"),
    ("gb180302000", "gb18030"),
    ("big5hkscs", "big5"),
    ("latin9", "iso-8859-15"),
    ("latin10", "iso-8859-16"),
    ("latin0", "iso-8859-15"),
    ("arabic", "iso-8859-6"),
    ("greek", "iso-8859-7"),
    ("hebrew", "iso-8859-8"),
    ("cyrillic", "iso-8859-5"),
    ("thai", "windows-874"),
    ("tis620", "windows-874"),
    ("usascii", "ascii"),
    ("macroman", "macintosh"),
    ("maccyrillic", "x-mac-cyrillic"),
    ("koi8r", "koi8-r"),
    ("koi8u", "koi8-u"),
];

/// Numbers of code pages, as Windows, Java and Python name them, for the standard's labels.
const CODE_PAGES: &[(u32, &str)] = &[
    (65001, "utf-8"),
    (1200, "utf-16le"),
    (1201, "utf-16be"),
    (874, "windows-874"),
    (866, "ibm866"),
    (932, "shift_jis"),
    (943, "shift_jis"),
    (936, "gbk"),
    (949, "euc-kr"),
    (950, "big5"),
    (54936, "gb18030"),
    (51932, "euc-jp"),
    (51949, "euc-kr"),
    (20866, "koi8-r"),
    (21866, "koi8-u"),
    (10000, "macintosh"),
    (10007, "x-mac-cyrillic"),
];

/// What stands before the number of a code page.
const CODE_PAGE: [&str; 8] = ["xwindows", "windows", "cp", "ms", "win", "ibm", "codepage", ""];

/// A name that the standard does not have, as a label that it has.
fn label(name: &str) -> Option<String> {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let squeezed: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    if let Some((_, label)) = ALIASES.iter().find(|(alias, _)| *alias == squeezed) {
        return Some((*label).to_owned());
    }
    if let Some(part) = squeezed.strip_prefix("iso8859").or(squeezed.strip_prefix("8859")) {
        return Some(format!("iso-8859-{part}"));
    }
    if let Some(part) = squeezed.strip_prefix("latin") {
        return Some(format!("latin{part}"));
    }
    let number = |before: &&str| squeezed.strip_prefix(*before)?.parse::<u32>().ok();
    match CODE_PAGE.iter().find_map(number) {
        Some(number @ 1250..=1258) => Some(format!("windows-{number}")),
        Some(number @ 28591..=28606) => Some(format!("iso-8859-{}", number - 28590)),
        Some(number) => {
            CODE_PAGES.iter().find(|(page, _)| *page == number).map(|(_, label)| (*label).to_owned())
        }
        None => Some(squeezed),
    }
}

impl FromStr for Charset {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = |label: &str| Encoding::for_label(label.as_bytes());
        match known(name).or_else(|| known(&label(name)?)) {
            // Their bytes cannot be split at a delimiter.
            Some(other) if other == ISO_2022_JP || other == REPLACEMENT || other == X_USER_DEFINED => {
                Err(format!("{name} cannot be read; convert the file to UTF-8"))
            }
            Some(encoding) => Ok(Charset(encoding)),
            None => Err("unknown encoding; the known ones are utf-8, utf-16, windows-1252, iso-8859-1, iso-8859-15, shift_jis, \
                         gb18030, the other names of the WHATWG Encoding Standard, and those of code pages such as cp949"
                .to_owned()),
        }
    }
}

impl fmt::Display for Charset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

/// Whether it is UTF-8 or UTF-16.
fn is_utf(encoding: &'static Encoding) -> bool {
    encoding == UTF_8 || encoding == UTF_16LE || encoding == UTF_16BE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_have_many_names() {
        for (names, standard) in [
            (
                "Windows-1252 cp1252 CP-1252 win1252 ms1252 1252 ISO-8859-1 latin-1 latin1 L1 iso8859_1 ISO8859-1 ascii",
                "windows-1252",
            ),
            ("cp28591 us_ascii", "windows-1252"),
            ("utf-16 UTF16 utf_16_le cp1200", "UTF-16LE"),
            ("UTF16BE utf_16_be", "UTF-16BE"),
            ("utf-8 utf8 UTF_8 utf-8-sig cp65001", "UTF-8"),
            ("iso-8859-15 latin9 latin-9 iso8859_15 ISO8859-15", "ISO-8859-15"),
            ("iso-8859-2 latin2 iso8859_2 latin-2", "ISO-8859-2"),
            ("cp1250 windows1250", "windows-1250"),
            ("cp949 ms949 uhc x-windows-949 euc_kr euckr ks_c_5601-1987 korean", "EUC-KR"),
            ("ms932 cp932 sjis shift-jis Windows-31J ms_kanji", "Shift_JIS"),
            ("euc_jp eucjp EUC-JP", "EUC-JP"),
            ("gbk cp936 ms936 gb2312 EUC_CN", "GBK"),
            ("gb18030 GB18030-2000", "gb18030"),
            ("big5 cp950 ms950 big5hkscs Big5-HKSCS", "Big5"),
            ("cp866 ibm866", "IBM866"),
            ("koi8_r KOI8-R cp20866", "KOI8-R"),
            ("mac_roman macroman macintosh", "macintosh"),
            ("cp874 tis-620", "windows-874"),
        ] {
            for name in names.split(' ') {
                let found = name.parse::<Charset>();
                assert_eq!(found.map(Charset::name), Ok(standard), "{name}");
            }
        }
        for bad in [
            "",
            "klingon",
            "iso-2022-jp",
            "utf-7",
            "x-user-defined",
            "cp437",
            "cp850",
            "iso8859_99",
            "latin99",
            "12",
        ] {
            assert!(bad.parse::<Charset>().is_err(), "{bad}");
        }
    }
}
