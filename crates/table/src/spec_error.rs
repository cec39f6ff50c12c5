//! Why a key specification is invalid.

use thiserror::Error;

use crate::rule::Rule;

/// Why a key specification is invalid.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum SpecError {
    /// There is no column name.
    #[error("the column name is missing; write COLUMN or COLUMN:RULE")]
    NoColumn,
    /// A quoted column name does not end.
    #[error("the column name's closing double quote is missing")]
    UnclosedQuote,
    /// Something other than `:` follows a quoted column name.
    #[error("only `:RULE` may follow a quoted column name")]
    AfterQuote,
    /// `=` outside of a pair of names.
    #[error(
        "`=` is allowed only in MINE=THEIRS, where there are two tables; put a column name that contains `=` in double quotes"
    )]
    Pair,
    /// A colon within an unquoted column name.
    #[error("put a column name that contains `:` in double quotes: \"{column}\":{rule}")]
    QuoteColumn {
        /// What looks like the column name.
        column: String,
        /// The rule at the end.
        rule: String,
    },
    /// An unknown rule.
    #[error("unknown rule `{word}`; {}the rules are {}{}", meant(word), names(),
        if similar(word).is_some() { "" } else { "; put a column name that contains `:` in double quotes" })]
    UnknownRule {
        /// The text in place of the rule.
        word: String,
    },
    /// A telephone rule with an unknown country.
    #[error("`{word}`: give the country as the two letters of ISO 3166, as in phone:CH")]
    UnknownCountry {
        /// The rule as given.
        word: String,
    },
    /// Unknown variants of a rule.
    #[error(
        "`{word}`: behind `~`, give 1 to 3 days with the rule date, `~google` with the rule email, or `~swap` with both columns \
         to be exchanged"
    )]
    UnknownVariants {
        /// The rule as given.
        word: String,
    },
    /// A date rule with an unknown order.
    #[error("`{word}`: give the order of the numbers, as in date:DMY, date:MDY or date:YMD")]
    UnknownOrder {
        /// The rule as given.
        word: String,
    },
}

/// The rule that was probably meant: the word differs from its name in case, or by one or two typing errors.
fn similar(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    let allowed = if word.len() < 6 { 1 } else { 2 };
    let slips = |name: &&str| strsim::osa_distance(name, &word);
    Rule::ALL.map(Rule::name).into_iter().min_by_key(slips).filter(|name| slips(name) <= allowed)
}

fn meant(word: &str) -> String {
    similar(word).map_or_else(String::new, |name| format!("did you mean `{name}`? "))
}

fn names() -> String {
    Rule::ALL.map(Rule::name).join(", ")
}
