//! The rules to match by: what makes the keys of a row, in the order in which they are tried.
//!
//! A rule is one column, or several whose values make one key: `COLUMN[:RULE] + COLUMN[:RULE]`. A row has at most one key
//! of each rule, and keys of different rules never meet. It matches by the first rule whose key the partner has.
//!
//! With several rules, a pass numbers keys instead of rows: key `row * rules + rule` is the one that `rule` makes of `row`,
//! both counted from 0. So whatever handles rows handles keys, and the first key of a row that matches is the one with the
//! lowest number. [`crate::variants`] adds rules.

use std::fmt;
use std::str::FromStr;

use vesica_encode::items::KeyKind;

use crate::error::TableError;
use crate::key::{KeySpec, PairSpec};
use crate::spec_error::SpecError;
use crate::variants::{self, Variants};

/// Columns whose values make one key, in the agreed order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatchRule(Vec<KeySpec>);

/// The same of both tables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PairRule(Vec<PairSpec>);

/// The rules of a table, in the agreed order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatchRules {
    rules: Vec<MatchRule>,
    /// The agreed rule that each is, or is a variant of, counted from 0.
    of: Vec<usize>,
}

impl MatchRule {
    /// Reads `COLUMN[:RULE] + COLUMN[:RULE]`; the error names the specification.
    pub fn parse(spec: &str) -> Result<Self, TableError> {
        spec.parse().map_err(|reason| TableError::Spec { option: "match", spec: spec.to_owned(), reason })
    }

    /// Its columns.
    pub fn columns(&self) -> &[KeySpec] {
        &self.0
    }

    /// The columns in the text of a rule, which need not be one: what stands between the `+` signs that are not in double
    /// quotes.
    pub fn split(spec: &str) -> impl Iterator<Item = &str> {
        // Quotes count where a column name begins, and doubled within: those of `6" + b` are part of a name.
        let (mut quoted, mut opens) = (false, true);
        let between = spec.split(move |c| {
            let ends = c == '+' && !quoted;
            match c {
                '"' if quoted || opens => (quoted, opens) = (!quoted, quoted),
                _ => opens = !quoted && (matches!(c, '+' | '=') || opens && c.is_whitespace()),
            }
            ends
        });
        between.map(str::trim)
    }
}

impl PairRule {
    /// Reads `MINE=THEIRS[:RULE] + COLUMN[:RULE]`; the error names the specification.
    pub fn parse(spec: &str) -> Result<Self, TableError> {
        spec.parse().map_err(|reason| TableError::Spec { option: "match", spec: spec.to_owned(), reason })
    }

    /// Its columns in both tables.
    pub fn columns(&self) -> &[PairSpec] {
        &self.0
    }

    /// The rule of the first table.
    pub fn mine(&self) -> MatchRule {
        MatchRule(self.0.iter().map(PairSpec::mine).collect())
    }

    /// The rule of the second table.
    pub fn theirs(&self) -> MatchRule {
        MatchRule(self.0.iter().map(PairSpec::theirs).collect())
    }
}

impl MatchRules {
    /// Most rules.
    pub const MOST: usize = KeyKind::MOST;

    /// How many rules there are.
    pub fn count(&self) -> usize {
        self.rules.len()
    }

    /// Whether a row has several keys.
    pub fn are_several(&self) -> bool {
        self.rules.len() > 1
    }

    /// Whether the receiver makes more keys of a row than there are rules.
    pub fn have_variants(&self) -> bool {
        self.columns().any(|key| key.variants != Variants::None)
    }

    /// The rules with which the receiver reads its table: each followed by its variants.
    ///
    /// # Errors
    /// They are more than a row can have keys, or cannot be.
    pub fn with_variants(&self) -> Result<MatchRules, TableError> {
        let (mut rules, mut of) = (Vec::new(), Vec::new());
        for (rule, number) in self.rules.iter().zip(&self.of) {
            for columns in variants::of(rule.columns())? {
                rules.push(MatchRule(columns));
                of.push(*number);
            }
        }
        match rules.len() {
            found if found > MatchRules::MOST => Err(TableError::TooManyRules { found }),
            _ => Ok(MatchRules { rules, of }),
        }
    }

    /// Of each rule, which of the variants of an agreed rule it is, counted from 0; none if that has no others.
    pub(crate) fn variants(&self) -> impl Iterator<Item = Option<usize>> {
        let same = |number: usize, rules: &[usize]| rules.iter().filter(|other| **other == number).count();
        let variant = move |(at, number): (usize, &usize)| {
            (same(*number, &self.of) > 1).then(|| same(*number, &self.of[..at]))
        };
        self.of.iter().enumerate().map(variant)
    }

    /// The rules, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &MatchRule> {
        self.rules.iter()
    }

    /// The columns of all rules. A column may be in several.
    pub fn columns(&self) -> impl Iterator<Item = &KeySpec> {
        self.rules.iter().flat_map(MatchRule::columns)
    }

    /// What both parties must agree on: the rules of the values, their variants, and their order.
    pub fn agreed(&self) -> String {
        let columns =
            |rule: &MatchRule| rule.columns().iter().map(KeySpec::agreed).collect::<Vec<_>>().join(" + ");
        self.rules.iter().map(columns).collect::<Vec<_>>().join(", then ")
    }

    /// Whether a run can have these rules.
    ///
    /// # Errors
    /// There are too many, or too many columns in one, or variants that cannot be.
    pub fn check(&self) -> Result<(), TableError> {
        self.kinds().and_then(|_| self.with_variants()).map(drop)
    }

    /// What tells the keys of each rule from those of all others.
    pub(crate) fn kinds(&self) -> Result<Vec<KeyKind>, TableError> {
        let several = self.of.iter().any(|which| *which > 0);
        let kind = |(which, rule): (&usize, &MatchRule)| {
            let columns = rule.columns().len();
            let kind = if several { KeyKind::of_several(*which, columns) } else { KeyKind::only(columns) };
            kind.map_err(|_| TableError::KeyCount { found: columns })
        };
        match self.count() {
            0 => Err(TableError::KeyCount { found: 0 }),
            found if found > MatchRules::MOST => Err(TableError::TooManyRules { found }),
            _ => self.of.iter().zip(&self.rules).map(kind).collect(),
        }
    }
}

/// One rule: these columns make the only key of a row.
impl From<Vec<KeySpec>> for MatchRules {
    fn from(columns: Vec<KeySpec>) -> Self {
        MatchRules::from(vec![MatchRule(columns)])
    }
}

impl From<Vec<KeySpec>> for MatchRule {
    fn from(columns: Vec<KeySpec>) -> Self {
        MatchRule(columns)
    }
}

impl From<MatchRule> for MatchRules {
    fn from(rule: MatchRule) -> Self {
        MatchRules::from(vec![rule])
    }
}

impl From<Vec<MatchRule>> for MatchRules {
    fn from(rules: Vec<MatchRule>) -> Self {
        MatchRules { of: (0..rules.len()).collect(), rules }
    }
}

impl FromStr for MatchRule {
    type Err = SpecError;

    fn from_str(spec: &str) -> Result<Self, SpecError> {
        MatchRule::split(spec).map(KeySpec::from_str).collect::<Result<_, _>>().map(MatchRule)
    }
}

impl FromStr for PairRule {
    type Err = SpecError;

    fn from_str(spec: &str) -> Result<Self, SpecError> {
        MatchRule::split(spec).map(PairSpec::from_str).collect::<Result<_, _>>().map(PairRule)
    }
}

fn joined<T: fmt::Display>(columns: &[T], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    columns.iter().enumerate().try_for_each(|(at, column)| {
        let plus = if at == 0 { "" } else { " + " };
        write!(f, "{plus}{column}")
    })
}

impl fmt::Display for MatchRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        joined(&self.0, f)
    }
}

impl fmt::Display for PairRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        joined(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Rule;

    #[test]
    fn a_rule_is_one_column_or_several() {
        let columns = |spec: &str| {
            let rule = MatchRule::parse(spec).unwrap();
            assert_eq!(MatchRule::parse(&rule.to_string()).unwrap(), rule, "{spec}");
            rule.columns().iter().map(|key| (key.column.clone(), key.rule)).collect::<Vec<_>>()
        };
        let key = |column: &str, rule| (column.to_owned(), rule);
        assert_eq!(columns("Email:email"), [key("Email", Rule::Email)]);
        assert_eq!(
            columns("Last:text + Born:date"),
            [key("Last", Rule::Text), key("Born", Rule::Date(None))]
        );
        assert_eq!(columns(" a+b "), [key("a", Rule::Raw), key("b", Rule::Raw)]);
        assert_eq!(columns("\"a + b\":int+c"), [key("a + b", Rule::Int), key("c", Rule::Raw)]);
        assert_eq!(columns("\"a\"\"+\":int + c"), [key("a\"+", Rule::Int), key("c", Rule::Raw)]);
        assert_eq!(columns("6\" + b"), [key("6\"", Rule::Raw), key("b", Rule::Raw)]);
        assert_eq!(columns("\"6\"\"\" + b"), [key("6\"", Rule::Raw), key("b", Rule::Raw)]);
        for bad in ["", "+", "a +", "+ a", "a + + b", "a:nosuch + b", "\"a + b", "a=b + c"] {
            assert!(MatchRule::parse(bad).is_err(), "{bad}");
        }
        let pair: PairRule = "a=\"b + c\":text".parse().unwrap();
        assert_eq!(pair.theirs().columns(), [KeySpec::new("b + c", Rule::Text)]);
        let pair: PairRule = "Mail=email:email + born:date".parse().unwrap();
        assert_eq!(pair.mine().to_string(), "Mail:email + born:date");
        assert_eq!(pair.theirs().to_string(), "email:email + born:date");
    }

    #[test]
    fn the_order_of_the_rules_is_agreed() {
        let rules = |specs: &[&str]| {
            MatchRules::from(specs.iter().map(|spec| MatchRule::parse(spec).unwrap()).collect::<Vec<_>>())
        };
        assert_eq!(rules(&["a:email", "b:text + c:date"]).agreed(), "email, then text + date");
        assert_ne!(
            rules(&["a:email", "b:text + c:date"]).agreed(),
            rules(&["b:text + c:date", "a:email"]).agreed()
        );
        assert_eq!(
            MatchRules::from(vec![KeySpec::parse("a:email").unwrap(), KeySpec::parse("b").unwrap()]).agreed(),
            "email + raw"
        );
    }

    #[test]
    fn variants_are_agreed_and_bounded() {
        let rules = |specs: &[&str]| {
            MatchRules::from(specs.iter().map(|spec| MatchRule::parse(spec).unwrap()).collect::<Vec<_>>())
        };
        let made = rules(&["m:email~google", "f:name~swap + l:name~swap + b:date~1", "n:int"]);
        assert_eq!(
            made.agreed(),
            "email~google, then name (version 1)~swap + name (version 1)~swap + date~1, then int"
        );
        let all = made.with_variants().unwrap();
        assert_eq!((all.count(), all.of.clone()), (9, vec![0, 0, 1, 1, 1, 1, 1, 1, 2]));
        // The variants have the kind of their rule, which is the sender's.
        let (theirs, mine) = (made.kinds().unwrap(), all.kinds().unwrap());
        assert_eq!(mine, [0, 0, 1, 1, 1, 1, 1, 1, 2].map(|rule| theirs[rule]));
        let alone = rules(&["b:date~1"]);
        assert_eq!(alone.with_variants().unwrap().kinds().unwrap(), vec![KeyKind::ONE_PART; 3]);
        assert_eq!(all.columns().count(), 2 + 6 * 3 + 1);
        for too_many in [&["a:date~3 + b:date~3"][..], &["a:date~3"; 3]] {
            let rules = rules(too_many);
            assert!(matches!(rules.with_variants(), Err(TableError::TooManyRules { .. })));
            assert!(rules.check().is_err());
        }
        assert!(rules(&["f:name~swap + l:name"]).check().is_err());
    }

    #[test]
    fn rules_that_are_too_many_or_have_too_many_columns_are_refused() {
        let rule = |columns: usize| MatchRule(vec!["a".parse().unwrap(); columns]);
        let kinds = |rules: Vec<MatchRule>| MatchRules::from(rules).kinds();
        assert!(
            kinds(vec![rule(1); 16]).is_ok()
                && kinds(vec![rule(15); 2]).is_ok()
                && kinds(vec![rule(255)]).is_ok()
        );
        assert!(matches!(kinds(vec![rule(1); 17]), Err(TableError::TooManyRules { found: 17 })));
        assert!(matches!(kinds(vec![rule(16); 2]), Err(TableError::KeyCount { found: 16 })));
        assert!(matches!(kinds(vec![rule(256)]), Err(TableError::KeyCount { found: 256 })));
        assert!(matches!(kinds(vec![]), Err(TableError::KeyCount { found: 0 })));
    }
}
