//! Names of persons: what is left of them without accents, case, punctuation and titles.
//!
//! Two lists seldom write a name in the same way, so the rule keeps only what nearly all lists keep. It does not guess: it
//! neither reorders words nor knows short forms, and it writes a letter of one script never in another.

use std::borrow::Cow;

use icu_casemap::CaseMapper;
use icu_normalizer::DecomposingNormalizerBorrowed;
use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;
use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, Script};

use super::invalid::Invalid;
use super::invisible::is_invisible;
use super::{NFC, utf8};

/// The version of this definition. Both sides must have the same.
pub(super) const VERSION: &str = "version 1";

/// Words in front of a name that are no part of it.
const TITLES: [&str; 11] = ["mr", "mrs", "ms", "miss", "mx", "dr", "prof", "herr", "frau", "mme", "mlle"];

const NFKD: DecomposingNormalizerBorrowed<'static> = DecomposingNormalizerBorrowed::new_nfkd();
const CLASSES: CanonicalCombiningClassMapBorrowed<'static> = CanonicalCombiningClassMapBorrowed::new();

/// Appends the letters and digits of the name.
pub(super) fn name(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let plain = plain(utf8(bytes)?);
    let mut words: &[String] = &words(&plain);
    // A title alone is a name: there is nothing else that it could belong to.
    while let [title, rest @ ..] = words
        && !rest.is_empty()
        && TITLES.contains(&&**title)
    {
        words = rest;
    }
    out.extend_from_slice(NFC.normalize(&words.concat()).as_bytes());
    Ok(())
}

/// Decomposed and without case.
fn plain(text: &str) -> String {
    // Unicode decomposes this apostrophe to a blank and an accent.
    let text = if text.contains(ACUTE) { Cow::Owned(text.replace(ACUTE, "")) } else { Cow::Borrowed(text) };
    let decomposed = NFKD.normalize(&text);
    let folded = CaseMapper::new().fold_string(&decomposed);
    NFKD.normalize(&folded).into_owned()
}

const ACUTE: char = '\u{b4}';

/// The words of a name.
fn words(plain: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in plain.chars() {
        match kind(c) {
            Kind::Kept => match (latin(c), words.last_mut()) {
                (Some(letters), Some(word)) => word.push_str(letters),
                (None, Some(word)) => word.push(c),
                (_, None) => {}
            },
            Kind::Removed => {}
            Kind::Between => words.push(String::new()),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

enum Kind {
    Kept,
    Removed,
    Between,
}

fn kind(c: char) -> Kind {
    if c.is_ascii_alphanumeric() {
        return Kind::Kept;
    }
    if is_apostrophe(c) || is_invisible(c) {
        return Kind::Removed;
    }
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    let is = |group: GeneralCategoryGroup| group.contains(category);
    if is(GeneralCategoryGroup::Letter) || is(GeneralCategoryGroup::Number) {
        Kind::Kept
    } else if is(GeneralCategoryGroup::Mark) {
        if is_accent(c) { Kind::Removed } else { Kind::Kept }
    } else if c.is_control() && !c.is_whitespace() {
        Kind::Removed
    } else {
        Kind::Between
    }
}

fn is_apostrophe(c: char) -> bool {
    matches!(
        c,
        '\'' | '`' | '\u{2b9}' | '\u{2bb}' | '\u{2bc}' | '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{2032}'
    )
}

/// Whether a mark is an accent of Latin, Greek or Cyrillic, or a point of Hebrew, Arabic or Syriac, which many lists leave
/// out. Elsewhere marks are vowels, or make a consonant another one.
fn is_accent(mark: char) -> bool {
    let class = CLASSES.get_u8(mark);
    let of_class = (10..=36).contains(&class) || class >= 200;
    // What several scripts use is `Inherited`.
    let scripts =
        [Script::Inherited, Script::Common, Script::Cyrillic, Script::Hebrew, Script::Arabic, Script::Syriac];
    of_class && scripts.contains(&CodePointMapData::<Script>::new().get(mark))
}

/// What lists in ASCII write for a letter that does not decompose, as in the transliteration `Latin-ASCII` of CLDR.
fn latin(c: char) -> Option<&'static str> {
    Some(match c {
        'æ' => "ae",
        'đ' | 'ð' => "d",
        'ħ' => "h",
        'ı' => "i",
        'ł' => "l",
        'ŋ' => "n",
        'ø' => "o",
        'œ' => "oe",
        'ŧ' => "t",
        'þ' => "th",
        _ => return None,
    })
}
