//! Key specifications: `COLUMN[:RULE]`, and `MINE=THEIRS[:RULE]` for commands that read both tables.
//!
//! A column name that contains `:` or `=`, or begins with `"`, is written in double quotes, with `""` for a
//! quote. So is one with `+` or with blanks at its ends in a rule of several columns ([`crate::match_rules`]).
//!
//! Behind a rule, `~` may say which other keys the column makes: [`Variants`].

use std::fmt;
use std::str::FromStr;

use crate::error::TableError;
use crate::rule::{Rule, Word};
use crate::spec_error::SpecError;
use crate::variants::Variants;

/// A key column of one table and the rule for its values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeySpec {
    /// The column's name, as in the table's header.
    pub column: String,
    /// The rule for its values.
    pub rule: Rule,
    /// Which other keys it makes.
    pub variants: Variants,
}

/// A key column of both tables, whose names may differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PairSpec {
    /// The column of the first table.
    pub mine: String,
    /// The column of the second table.
    pub theirs: String,
    /// The rule for the values of both.
    pub rule: Rule,
    /// Which other keys it makes.
    pub variants: Variants,
}

impl KeySpec {
    /// Reads `COLUMN[:RULE]`; the error names the specification.
    pub fn parse(spec: &str) -> Result<Self, TableError> {
        spec.parse().map_err(|reason| TableError::Spec { option: "key", spec: spec.to_owned(), reason })
    }

    /// A column under a rule.
    pub fn new(column: impl Into<String>, rule: Rule) -> Self {
        KeySpec { column: column.into(), rule, variants: Variants::None }
    }

    /// What both parties must agree on: its rule, and which other keys it makes.
    pub fn agreed(&self) -> String {
        format!("{}{}", self.rule.agreed(), self.variants)
    }
}

impl PairSpec {
    /// Reads `MINE=THEIRS[:RULE]` or `COLUMN[:RULE]`; the error names the specification.
    pub fn parse(spec: &str) -> Result<Self, TableError> {
        spec.parse().map_err(|reason| TableError::Spec { option: "key", spec: spec.to_owned(), reason })
    }

    /// The key of the first table.
    pub fn mine(&self) -> KeySpec {
        KeySpec { variants: self.variants, ..KeySpec::new(&*self.mine, self.rule) }
    }

    /// The key of the second table.
    pub fn theirs(&self) -> KeySpec {
        KeySpec { variants: self.variants, ..KeySpec::new(&*self.theirs, self.rule) }
    }
}

impl FromStr for KeySpec {
    type Err = SpecError;

    fn from_str(spec: &str) -> Result<Self, SpecError> {
        let (column, rest) = name(spec)?;
        if rest.starts_with('=') {
            return Err(SpecError::Pair);
        }
        let (rule, variants) = rule(&column, rest)?;
        Ok(KeySpec { rule, variants, column })
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
        let (rule, variants) = rule(&theirs, rest)?;
        Ok(PairSpec { rule, variants, mine, theirs })
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

/// The rule in `rest`, which is empty or begins with `:` or `=`, and which other keys it makes.
fn rule(column: &str, rest: &str) -> Result<(Rule, Variants), SpecError> {
    let Some(word) = rest.strip_prefix(':') else {
        return if rest.is_empty() { Ok((Rule::Raw, Variants::None)) } else { Err(SpecError::Pair) };
    };
    if let Some((rule, variants)) = word.split_once('~')
        && let Word::Rule(rule) = Rule::word(rule)
    {
        let found = Variants::find(variants, rule).map(|variants| (rule, variants));
        return found.ok_or_else(|| SpecError::UnknownVariants { word: word.to_owned() });
    }
    match Rule::word(word) {
        Word::Rule(rule) => Ok((rule, Variants::None)),
        Word::NoCountry => Err(SpecError::UnknownCountry { word: word.to_owned() }),
        Word::NoOrder => Err(SpecError::UnknownOrder { word: word.to_owned() }),
        Word::Unknown => {
            // If a suffix is a known rule, the column name contains a colon; if not, the rule is misspelt.
            let known = word.match_indices(':').map(|(at, _)| at).find(|at| {
                let rule = word[at + 1..].split('~').next().unwrap_or_default();
                !matches!(Rule::word(rule), Word::Unknown)
            });
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

/// A column name as it is written in a specification.
struct Name<'a>(&'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // In a rule of several columns, `+` and blanks stand between them.
        let ends_blank = self.0.trim().len() < self.0.len();
        if self.0.starts_with('"') || self.0.contains([':', '=', '+']) || ends_blank {
            write!(f, "\"{}\"", self.0.replace('"', "\"\""))
        } else {
            f.write_str(self.0)
        }
    }
}

impl fmt::Display for KeySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}{}", Name(&self.column), self.rule, self.variants)
    }
}

impl fmt::Display for PairSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}:{}{}", Name(&self.mine), Name(&self.theirs), self.rule, self.variants)
    }
}

#[cfg(test)]
mod tests;
