//! Settings that are one of a few words.

/// A setting that is one of a few words: on the command line, in Python, in definitions of benchmarks, in terms and reports.
pub trait Word: Copy + PartialEq + Send + Sync + 'static {
    /// The words and their values, in the order of the help.
    const WORDS: &'static [(&'static str, Self)];

    /// The value of a word; the words to choose from if there is none.
    fn of(word: &str) -> Result<Self, String> {
        let found = Self::WORDS.iter().find(|(known, _)| *known == word);
        found.map(|(_, value)| *value).ok_or_else(|| format!("write {}", Self::words().join(" or ")))
    }

    /// The words alone.
    fn words() -> Vec<&'static str> {
        Self::WORDS.iter().map(|(word, _)| *word).collect()
    }

    /// The word of this value.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }
}
