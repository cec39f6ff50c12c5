//! Settings that are words of a list.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use vesica::settings::Word;

/// The words of a setting, for the parser and for completions.
pub(super) fn words<T: Word>() -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(T::WORDS.iter().map(|(word, _)| *word)).try_map(|word| T::of(&word))
}
