//! Characters that nobody sees. They come with pasted text and make two values different that look the same.

use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory};
use icu_properties::{CodePointMapData, CodePointSetData};

/// Whether a character shows nothing: general category `Cf`, or property `Default_Ignorable_Code_Point`. Among them
/// are soft hyphens, zero-width spaces and joiners, byte-order marks, and marks of direction.
pub(crate) fn is_invisible(c: char) -> bool {
    !c.is_ascii()
        && (CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
            || CodePointMapData::<GeneralCategory>::new().get(c) == GeneralCategory::Format)
}

/// Whether any character of the text is invisible. Bytes that are no text have none.
pub(crate) fn any(bytes: &[u8]) -> bool {
    !bytes.is_ascii() && std::str::from_utf8(bytes).is_ok_and(|text| text.chars().any(is_invisible))
}
