//! Key specifications: `COLUMN[:RULE]`, and `MINE=THEIRS[:RULE]` where both tables are at hand.
//!
//! A column name that contains `:` or `=`, or begins with `"`, is written in double quotes, with `""` for a quote.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::error::TableError;
use crate::rule::{Rule, Word};

/// A key column of one table and the rule for its values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeySpec {
    /// The column's name, as the table's header has it.
    pub column: String,
    /// What its values become.
    pub rule: Rule,
}

/// A key column that both tables have, under names of their own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PairSpec {
    /// The column of the first table.
    pub mine: String,
    /// The column of the second table.
    pub theirs: String,
    /// What the values of both become.
    pub rule: Rule,
}

/// Why a key specification means nothing.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum SpecError {
    /// There is no column name.
    #[error("a column name is missing; write COLUMN or COLUMN:RULE")]
    NoColumn,
    /// A quoted column name does not end.
    #[error("the column name's closing double quote is missing")]
    UnclosedQuote,
    /// Something other than `:` follows a quoted column name.
    #[error("only `:RULE` may follow a quoted column name")]
    AfterQuote,
    /// `=` elsewhere than between the two names of a pair.
    #[error(
        "`=` stands only between MINE and THEIRS where there are two tables; a column name with `=` goes in double quotes"
    )]
    Pair,
    /// A colon within an unquoted column name.
    #[error("a column name with `:` goes in double quotes: \"{column}\":{rule}")]
    QuoteColumn {
        /// What looks like the column name.
        column: String,
        /// The rule at the end.
        rule: String,
    },
    /// A rule nobody knows.
    #[error("unknown rule `{word}`; known are {}; a column name with `:` goes in double quotes", names())]
    UnknownRule {
        /// What stands where the rule should be.
        word: String,
    },
    /// A telephone rule with a country that is none.
    #[error("`{word}`: give the country as the two letters of ISO 3166, as in phone:CH")]
    UnknownCountry {
        /// The rule as given.
        word: String,
    },
}

fn names() -> String {
    Rule::ALL.map(Rule::name).join(", ")
}

impl KeySpec {
    /// Reads `COLUMN[:RULE]`; the error names the specification.
    pub fn parse(spec: &str) -> Result<Self, TableError> {
        spec.parse().map_err(|reason| TableError::Spec { spec: spec.to_owned(), reason })
    }

    /// A column under a rule.
    pub fn new(column: impl Into<String>, rule: Rule) -> Self {
        KeySpec { column: column.into(), rule }
    }
}

impl PairSpec {
    /// Reads `MINE=THEIRS[:RULE]` or `COLUMN[:RULE]`; the error names the specification.
    pub fn parse(spec: &str) -> Result<Self, TableError> {
        spec.parse().map_err(|reason| TableError::Spec { spec: spec.to_owned(), reason })
    }

    /// The key of the first table.
    pub fn mine(&self) -> KeySpec {
        KeySpec::new(&*self.mine, self.rule)
    }

    /// The key of the second table.
    pub fn theirs(&self) -> KeySpec {
        KeySpec::new(&*self.theirs, self.rule)
    }
}

impl FromStr for KeySpec {
    type Err = SpecError;

    fn from_str(spec: &str) -> Result<Self, SpecError> {
        let (column, rest) = name(spec)?;
        if rest.starts_with('=') {
            return Err(SpecError::Pair);
        }
        Ok(KeySpec { rule: rule(&column, rest)?, column })
    }
}

impl FromStr for PairSpec {
    type Err = SpecError;

    fn from_str(spec: &str) -> Result<Self, SpecError> {
        let (mine, rest) = name(spec)?;
        let (theirs, rest) = match rest.strip_prefix('=') {
            Some(rest) => name(rest)?,
            None => (mine.clone(), rest),
        };
        Ok(PairSpec { rule: rule(&theirs, rest)?, mine, theirs })
    }
}

/// A column name and what follows it.
fn name(spec: &str) -> Result<(String, &str), SpecError> {
    let Some(quoted) = spec.strip_prefix('"') else {
        let end = spec.find([':', '=']).unwrap_or(spec.len());
        return if end == 0 { Err(SpecError::NoColumn) } else { Ok((spec[..end].to_owned(), &spec[end..])) };
    };
    let mut name = String::new();
    let mut rest = quoted;
    loop {
        let end = rest.find('"').ok_or(SpecError::UnclosedQuote)?;
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(after) => rest = after,
            None => break,
        }
        name.push('"');
    }
    match rest.chars().next() {
        _ if name.is_empty() => Err(SpecError::NoColumn),
        None | Some(':' | '=') => Ok((name, rest)),
        Some(_) => Err(SpecError::AfterQuote),
    }
}

/// The rule in `rest`, which is empty or begins with `:` or `=`.
fn rule(column: &str, rest: &str) -> Result<Rule, SpecError> {
    let Some(word) = rest.strip_prefix(':') else {
        return if rest.is_empty() { Ok(Rule::Raw) } else { Err(SpecError::Pair) };
    };
    match Rule::word(word) {
        Word::Rule(rule) => Ok(rule),
        Word::NoCountry => Err(SpecError::UnknownCountry { word: word.to_owned() }),
        Word::Unknown => {
            // The longest known suffix tells a colon in the column name from a misspelt rule.
            let known = word
                .match_indices(':')
                .map(|(at, _)| at)
                .find(|at| !matches!(Rule::word(&word[at + 1..]), Word::Unknown));
            Err(match known {
                Some(at) => SpecError::QuoteColumn {
                    column: format!("{column}:{}", &word[..at]),
                    rule: word[at + 1..].to_owned(),
                },
                None => SpecError::UnknownRule { word: word.to_owned() },
            })
        }
    }
}

/// A column name as a specification has it.
struct Name<'a>(&'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.starts_with('"') || self.0.contains([':', '=']) {
            write!(f, "\"{}\"", self.0.replace('"', "\"\""))
        } else {
            f.write_str(self.0)
        }
    }
}

impl fmt::Display for KeySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", Name(&self.column), self.rule)
    }
}

impl fmt::Display for PairSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}:{}", Name(&self.mine), Name(&self.theirs), self.rule)
    }
}

#[cfg(test)]
mod tests;
