//! Several keys of one row by one rule: what is written behind a key rule with `~`.
//!
//! `Born:date~1` also matches a day earlier or later, `First:name~swap + Last:name~swap` also the two names exchanged, and
//! `mail:email~google` also the address that Google's rule makes of it. Only the receiver makes these keys: where one side
//! has all variants, the other needs none. Both agree on them, and the receiver's set is as much larger.
//!
//! Each variant takes a place among the rules to match by ([`crate::match_rules`]), right behind the rule that it is a
//! variant of, and has that rule's number in its key, so that it meets the sender's keys of that rule.

use std::fmt;

use crate::error::TableError;
use crate::key::KeySpec;
use crate::rule::Rule;

/// Which other keys a column makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Variants {
    /// None.
    #[default]
    None,
    /// `~N`, with `date`: the days up to so many before and after.
    Days(u8),
    /// `~google`, with `email`: the address as `email-google` writes it.
    Google,
    /// `~swap`: the value of the other column with `~swap` of the same rule.
    Swap,
}

impl Variants {
    /// Most days before and after.
    const MOST_DAYS: u8 = 3;

    /// Those that a word stands for; none if it stands for no variants of this rule.
    pub(crate) fn find(word: &str, rule: Rule) -> Option<Variants> {
        match (word, rule) {
            ("swap", _) => Some(Variants::Swap),
            ("google", Rule::Email) => Some(Variants::Google),
            (days, Rule::Date(_)) => match days.parse() {
                Ok(days @ 1..=Variants::MOST_DAYS) => Some(Variants::Days(days)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The rules that a column has in the variants, the one as it is first.
    fn rules(self, rule: Rule) -> Vec<Rule> {
        match (self, rule) {
            (Variants::Days(most), Rule::Date(order)) => {
                let moved = (1..=most as i8).flat_map(|days| [-days, days]);
                std::iter::once(rule).chain(moved.map(|days| Rule::DateMoved(order, days))).collect()
            }
            (Variants::Google, Rule::Email) => vec![rule, Rule::EmailOfGoogle],
            _ => vec![rule],
        }
    }
}

/// As they are written behind a rule, with the `~`; nothing if there are none.
impl fmt::Display for Variants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Variants::None => Ok(()),
            Variants::Days(days) => write!(f, "~{days}"),
            Variants::Google => f.write_str("~google"),
            Variants::Swap => f.write_str("~swap"),
        }
    }
}

/// The columns of each variant of a rule with these columns, in the order in which they are tried: the one as it is first.
///
/// # Errors
/// One column alone is to be swapped, or more than two, or two of different rules.
pub(crate) fn of(columns: &[KeySpec]) -> Result<Vec<Vec<KeySpec>>, TableError> {
    let swapped: Vec<usize> =
        (0..columns.len()).filter(|at| columns[*at].variants == Variants::Swap).collect();
    let mut orders = vec![columns.to_vec()];
    match swapped[..] {
        [] => {}
        [one, other] if columns[one].rule.agreed() == columns[other].rule.agreed() => {
            let mut order = columns.to_vec();
            order.swap(one, other);
            orders.push(order);
        }
        _ => return Err(TableError::Swap { found: swapped.len() }),
    }
    let mut all = Vec::new();
    for order in orders {
        let mut made = vec![Vec::new()];
        for column in order {
            let rules = column.variants.rules(column.rule);
            let with = |first: Vec<KeySpec>| {
                let column = &column.column;
                rules
                    .iter()
                    .map(move |rule| [&first[..], &[KeySpec::new(column, *rule)]].concat())
                    .collect::<Vec<_>>()
            };
            made = made.into_iter().flat_map(with).collect();
        }
        all.extend(made);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::match_rules::MatchRule;

    fn variants(rule: &str) -> Vec<String> {
        let rule = MatchRule::parse(rule).unwrap();
        of(rule.columns()).unwrap().into_iter().map(|columns| MatchRule::from(columns).to_string()).collect()
    }

    #[test]
    fn variants_come_after_the_key_as_it_is() {
        assert_eq!(variants("a:email + b"), ["a:email + b:raw"]);
        assert_eq!(variants("b:date:DMY~1"), ["b:date:DMY", "b:date:DMY~-1", "b:date:DMY~+1"]);
        assert_eq!(variants("m:email~google"), ["m:email", "m:email~google"]);
        assert_eq!(
            variants("f:name~swap + l:name~swap + b:date~1"),
            [
                "f:name + l:name + b:date",
                "f:name + l:name + b:date~-1",
                "f:name + l:name + b:date~+1",
                "l:name + f:name + b:date",
                "l:name + f:name + b:date~-1",
                "l:name + f:name + b:date~+1",
            ]
        );
        assert_eq!(variants("b:date~3").len(), 7);
    }

    #[test]
    fn variants_that_cannot_be_are_refused() {
        for bad in
            ["a:date~0", "a:date~4", "a:date~", "a:date~google", "a:email~1", "a:int~1", "a:email~gmail"]
        {
            let error = MatchRule::parse(bad).unwrap_err().to_string();
            assert!(error.contains("~google"), "{bad}: {error}");
        }
        for bad in ["a:name~swap", "a:name~swap + b:text~swap", "a:int~swap + b:int~swap + c:int~swap"] {
            let rule = MatchRule::parse(bad).unwrap();
            assert!(matches!(of(rule.columns()), Err(TableError::Swap { .. })), "{bad}");
        }
    }
}
