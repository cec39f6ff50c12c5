//! A profile: what one side's keys look like, in shares that say nothing of a single row, for the partner to compare.
//!
//! ```text
//! {
//!   "vesica_profile": 1,
//!   "rows": 10000,                         at least so many: a power of ten
//!   "rules": [                             those to match by, in order
//!     [{                                   their columns
//!       "rule": "email",
//!       "empty": 3, "invalid": 0,          percent of the rows
//!       "forms": {"address": 99},          percent of the values, as all that follows
//!       "letters": {"lower": 60, "mixed": 40},
//!       "blank_ends": 0,
//!       "lengths": {"16": 80, "32": 20},   by the least length of a class, in bytes
//!       "phone_regions": {}                under `phone`: by the first two digits of E.164
//!     }]
//!   ]
//! }
//! ```
//!
//! What fewer than 100 rows have, or have not, is left out, and shares are whole percents. A table of fewer than 100 rows
//! has no profile.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use vesica_table::{ColumnProfile, Form, Inspection, LENGTHS, Letters, shown_path};
use vesica_text::{Text, text};

use crate::words::error::Error;
use crate::words::system::read_small;

/// The version of the form.
const VERSION: u32 = 1;

/// The least rows of a table, and of whatever is told of it.
const LEAST_ROWS: u64 = 100;

/// The most bytes of a profile.
const MOST_BYTES: u64 = 1 << 16;

const REMEDY: &str =
    "make it with `vesica inspect`, `[key]` and `[profile FILE]`, of the same version of vesica";

/// A table's profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    vesica_profile: u32,
    /// At least so many rows: a power of ten.
    rows: u64,
    /// The columns of each rule to match by.
    rules: Vec<Vec<Column>>,
}

/// A key column in a profile. Shares are in percent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Column {
    rule: String,
    empty: u64,
    invalid: u64,
    forms: BTreeMap<String, u64>,
    letters: BTreeMap<String, u64>,
    blank_ends: u64,
    lengths: BTreeMap<String, u64>,
    phone_regions: BTreeMap<String, u64>,
}

/// A share in percent; 0 where fewer than [`LEAST_ROWS`] have it, and all where fewer have it not.
fn share(count: u64, of: u64) -> u64 {
    match count {
        count if count < LEAST_ROWS => 0,
        count if of - count < LEAST_ROWS => 100,
        count => (count * 100 + of / 2) / of,
    }
}

fn shares<N: ToString>(counts: impl Iterator<Item = (N, u64)>, of: u64) -> BTreeMap<String, u64> {
    let shares = counts.map(|(name, count)| (name.to_string(), share(count, of)));
    shares.filter(|(_, share)| *share > 0).collect()
}

impl Column {
    fn of(rule: &str, profile: &ColumnProfile) -> Self {
        let ColumnProfile { rows, empty, invalid, forms, letters, blank_ends, lengths, phone_regions } =
            profile;
        let values = rows - empty - invalid;
        let region =
            |(digits, count): (&[u8; 2], &u64)| (String::from_utf8_lossy(digits).into_owned(), *count);
        Column {
            rule: rule.to_owned(),
            empty: share(*empty, *rows),
            invalid: share(*invalid, *rows),
            forms: shares(Form::ALL.map(Form::name).into_iter().zip(*forms), values),
            letters: shares(Letters::ALL.map(Letters::name).into_iter().zip(*letters), values),
            blank_ends: share(*blank_ends, values),
            lengths: shares(LENGTHS.into_iter().zip(*lengths), values),
            phone_regions: shares(phone_regions.iter().map(region), values),
        }
    }

    fn form(&self, form: Form) -> u64 {
        self.forms.get(form.name()).copied().unwrap_or(0)
    }

    /// The form that most values have, if there is one.
    fn usual(&self) -> Option<&str> {
        self.forms.iter().find(|(_, share)| **share >= 50).map(|(name, _)| name.as_str())
    }

    /// Its key rule, without the variants.
    fn rule(&self) -> &str {
        self.rule.split('~').next().unwrap_or_default()
    }

    /// Whether its rule changes nothing of a value.
    fn is_raw(&self) -> bool {
        self.rule() == "raw"
    }
}

impl Profile {
    /// Of an inspected table with keys.
    ///
    /// # Errors
    /// If the table has too few rows, or no key was named.
    pub fn of(inspection: &Inspection) -> Result<Self, Error> {
        let Some(keys) = &inspection.keys else {
            return Err(Error::usage("a profile is of keys", "name them with `[key]` or `[match]`"));
        };
        if inspection.rows < LEAST_ROWS {
            return Err(Error::usage(
                text!("a profile of fewer than {} rows could tell of single ones", LEAST_ROWS),
                "look at the keys on both sides with `vesica inspect`",
            ));
        }
        let column = |(rule, profile): &(String, ColumnProfile)| Column::of(rule, profile);
        let rules = keys.profiles.iter().map(|rule| rule.iter().map(column).collect()).collect();
        Ok(Profile { vesica_profile: VERSION, rows: 10u64.pow(inspection.rows.ilog10()), rules })
    }

    /// Reads the one at this path.
    ///
    /// # Errors
    /// If it cannot be read, is no profile, or is of another version.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let refused = |why: String| Error::usage(text!("{}: {}", shown_path(path), why), REMEDY);
        let text = path.to_str().ok_or_else(|| "its name is not UTF-8".to_owned());
        let text = text.and_then(|path| read_small(path, MOST_BYTES)).map_err(refused)?;
        let profile: Profile = serde_json::from_str(&text)
            .map_err(|error| refused(format!("it is no profile: {}", error.to_string().escape_debug())))?;
        match profile.vesica_profile {
            VERSION => Ok(profile),
            other => Err(refused(format!("it has version {other}, and this program reads {VERSION}"))),
        }
    }

    /// Its text.
    ///
    /// # Errors
    /// If it cannot be written as JSON, which does not happen.
    pub fn to_text(&self) -> Result<String, Error> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n").map_err(|error| Error::usage(error.to_string(), REMEDY))
    }

    fn rule_names(&self) -> String {
        let of_rule = |columns: &Vec<Column>| {
            let names: Vec<String> = columns.iter().map(|column| shown(&column.rule)).collect();
            names.join(" + ")
        };
        self.rules.iter().map(of_rule).collect::<Vec<_>>().join(", then ")
    }
}

/// A word of a partner's file, as it may be shown.
fn shown(word: &str) -> String {
    shown_path(Path::new(word))
}

/// Why the keys of two tables would not match, and what to change: what their profiles show. Empty if they show nothing.
pub fn compare(mine: &Profile, theirs: &Profile) -> Vec<Text> {
    let shape = |profile: &Profile| profile.rules.iter().map(Vec::len).collect::<Vec<_>>();
    if shape(mine) != shape(theirs) {
        return vec![text!(
            "the keys have other columns: mine {}, theirs {}; give the same rules in the same order",
            mine.rule_names(),
            theirs.rule_names()
        )];
    }
    let mut found = Vec::new();
    let columns = mine.rules.iter().flatten().zip(theirs.rules.iter().flatten());
    for (number, (mine, theirs)) in (1u64..).zip(columns) {
        let causes = of_column(mine, theirs);
        found.extend(
            causes.into_iter().map(|cause| text!("key column {} ({}): {}", number, shown(&mine.rule), cause)),
        );
    }
    found
}

/// A column of both sides, and what a text calls them.
type Sides<'c> = [(&'static str, &'c Column); 2];

/// What the profiles of a column on both sides show.
fn of_column(mine: &Column, theirs: &Column) -> Vec<Text> {
    let sides = [("mine", mine), ("theirs", theirs)];
    let mut found: Vec<Text> = Vec::new();
    if mine.rule != theirs.rule {
        found.push(text!(
            "mine has the rule {}, theirs {}; give the same on both sides",
            shown(&mine.rule),
            shown(&theirs.rule)
        ));
    }
    found.extend(other_form(sides));
    if mine.is_raw() {
        found.extend(other_spelling(sides));
    }
    found.extend(lost_zeros(sides));
    found.extend(other_countries(mine, theirs));
    if found.is_empty() && mine.is_raw() && are_apart(&mine.lengths, &theirs.lengths) {
        let what =
            "the values of the two sides have other lengths: is it the same column, written in the same way?";
        found.push(what.into());
    }
    found.extend(sides.into_iter().flat_map(unusable));
    found
}

/// Digests beside plain values, or two forms.
fn other_form(sides: Sides<'_>) -> Option<Text> {
    let [(_, mine), (_, theirs)] = sides;
    match sides.map(|(_, side)| side.form(Form::Digest) >= 50) {
        [true, true] => (mine.rule() != "sha256").then(|| {
            "both sides have SHA-256 digests: give the rule sha256 on both, which reads hexadecimal and base64 alike".into()
        }),
        [false, false] => match (mine.usual(), theirs.usual()) {
            (Some(one), Some(other)) if one != other => Some(text!(
                "most of mine have the form `{}`, most of theirs `{}`: is it the same column, written in the same way?",
                shown(one),
                shown(other)
            )),
            _ => None,
        },
        [mine_are, _] => {
            let (hashed, plain) = if mine_are { ("mine", "theirs") } else { ("theirs", "mine") };
            Some(text!(
                "{} are SHA-256 digests, {} are not: make a column of the digests of the normal form under which the list was \
                 hashed, and give the rule sha256 on both sides",
                hashed,
                plain
            ))
        }
    }
}

/// Case and blanks, which count under the rule `raw`.
fn other_spelling(sides: Sides<'_>) -> Vec<Text> {
    let mut found = Vec::new();
    let share = |side: &Column, case: Letters| side.letters.get(case.name()).copied().unwrap_or(0);
    let usual = |side: &Column| Letters::ALL.into_iter().find(|case| share(side, *case) >= 50);
    if let [Some(one), Some(other)] = sides.map(|(_, side)| usual(side))
        && one != other
    {
        found.push(text!(
            "letters are mostly {} on my side and {} on theirs: the rule text ignores case",
            one.name(),
            other.name()
        ));
    }
    let blanks = |(whose, side): (&'static str, &Column)| {
        let share = side.blank_ends;
        (share > 0)
            .then(|| text!("{} % of {} have blanks at an end: the rule text removes them", share, whose))
    };
    found.extend(sides.into_iter().filter_map(blanks));
    found
}

/// Numbers that begin with zeros on one side more often.
fn lost_zeros(sides: Sides<'_>) -> Option<Text> {
    let zeros = sides.map(|(_, side)| side.form(Form::LeadingZero));
    let counts = matches!(sides[0].1.rule(), "raw" | "text");
    if zeros[0].abs_diff(zeros[1]) < 5 || !counts {
        return None;
    }
    let (with, without) = if zeros[0] > zeros[1] { ("mine", "theirs") } else { ("theirs", "mine") };
    Some(text!(
        "numbers of {} begin with zeros more often than {}: a program may have removed them there. Export the column as \
         text, or give the rule int if zeros mean nothing",
        with,
        without
    ))
}

/// Telephone numbers that begin otherwise on both sides.
fn other_countries(mine: &Column, theirs: &Column) -> Option<Text> {
    if !are_apart(&mine.phone_regions, &theirs.phone_regions) {
        return None;
    }
    let names = |side: &Column| {
        side.phone_regions.keys().map(|region| format!("+{}", shown(region))).collect::<Vec<_>>().join(", ")
    };
    Some(text!(
        "telephone numbers are of other countries: mine begin with {}, theirs with {}; is the country of phone:CC right?",
        names(mine),
        names(theirs)
    ))
}

/// Whether both sides have such shares, and none in common.
fn are_apart(one: &BTreeMap<String, u64>, other: &BTreeMap<String, u64>) -> bool {
    !one.is_empty() && !other.is_empty() && !one.keys().any(|name| other.contains_key(name))
}

/// Values of a side that match nothing, or one another.
fn unusable((whose, side): (&'static str, &Column)) -> Vec<Text> {
    let told = |(share, least, what): (u64, u64, &'static str)| {
        (share >= least).then(|| text!("{} % of {} {}", share, whose, what))
    };
    let shares = [
        (side.empty, 50, "are empty"),
        (side.invalid, 1, "break the rule"),
        (side.form(Form::WrittenNull), 1, "look like a null that a program wrote (NULL, NaN)"),
        (side.form(Form::Rounded), 1, "look like numbers that a spreadsheet wrote (1.2E+11)"),
    ];
    shares.into_iter().filter_map(told).collect()
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use vesica_table::{Input, MatchRule, MatchRules};

    use super::*;

    fn profile(rules: &[&str], header: &str, line: impl Fn(usize) -> String) -> Profile {
        let rows: String = (0..1000).map(|row| line(row) + "\n").collect();
        let text = format!("{header}\n{rows}");
        let rules: Vec<MatchRule> = rules.iter().map(|rule| MatchRule::parse(rule).unwrap()).collect();
        let input = Input::spool("test.csv", &mut text.as_bytes()).unwrap();
        let found =
            input.inspect(Some(&MatchRules::from(rules)), &mut |_| ControlFlow::Continue(())).unwrap();
        let profile = Profile::of(&found).unwrap();
        let again: Profile = serde_json::from_str(&profile.to_text().unwrap()).unwrap();
        assert_eq!(again, profile);
        profile
    }

    fn told(mine: &Profile, theirs: &Profile) -> String {
        compare(mine, theirs).iter().map(|cause| cause.shell() + "\n").collect()
    }

    #[test]
    fn what_would_keep_keys_apart_is_told_from_either_side() {
        let mail = |row: usize| format!("user{row}@example.org");
        let hex = |row: usize| format!("{row:064x}");
        let of = |rule: &'static str, line: &dyn Fn(usize) -> String| profile(&[rule], "k", line);
        let plain = of("k", &mail);
        for (mine, theirs, said) in [
            (&plain, of("k:email", &mail), "mine has the rule raw, theirs email"),
            (&plain, of("k", &hex), "theirs are SHA-256 digests, mine are not"),
            (&of("k", &hex), of("k", &hex), "give the rule sha256 on both"),
            (
                &plain,
                of("k", &|row| row.to_string()),
                "most of mine have the form `address`, most of theirs `digits`",
            ),
            (
                &plain,
                of("k", &|row| mail(row).to_uppercase()),
                "letters are mostly lower on my side and upper on theirs",
            ),
            (&plain, of("k", &|row| format!("{} ", mail(row))), "100 % of theirs have blanks at an end"),
            (
                &of("k", &|row| format!("{row:06}")),
                of("k", &|row| row.to_string()),
                "numbers of mine begin with zeros more often than theirs",
            ),
            (
                &of("k:phone", &|row| format!("+41446{row:06}")),
                of("k:phone", &|row| format!("+4930{row:07}")),
                "mine begin with +41, theirs with +49",
            ),
            (
                &plain,
                of("k", &|row| if row % 3 == 0 { mail(row) } else { "\"\"".into() }),
                "67 % of theirs are empty",
            ),
            (
                &plain,
                of("k", &|row| if row % 3 == 0 { "NULL".into() } else { mail(row) }),
                "33 % of theirs look like a null",
            ),
        ] {
            let forth = told(mine, &theirs);
            assert!(forth.contains(said) && forth.starts_with("key column 1 ("), "{said}: {forth}");
            assert!(!told(&theirs, mine).is_empty(), "{said}");
        }
        assert_eq!(told(&plain, &of("k", &|row| format!("other{row}@example.com"))), "");
        let two = profile(&["a + b", "c:email"], "a,b,c", |row| format!("{row},x,{}", mail(row)));
        assert!(told(&plain, &two).contains("mine raw, theirs raw + raw, then email"));
        let other = profile(&["a + b", "c:email"], "a,b,c", |row| format!("{row},x,{}", mail(row)));
        assert_eq!(told(&two, &other), "");
    }

    #[test]
    fn a_profile_says_nothing_of_few_rows_and_has_no_value() {
        // Nor does it say that a few are otherwise.
        let odd =
            profile(&["k"], "k", |row| if row == 7 { "+41446681800".into() } else { format!("secret{row}") });
        let even = profile(&["k"], "k", |row| format!("secret{row}"));
        assert_eq!(
            (odd.rules[0][0].forms.clone(), odd.rules[0][0].letters.clone()),
            (even.rules[0][0].forms.clone(), even.rules[0][0].letters.clone())
        );
        // Fifty rows of another kind leave no trace.
        let seen =
            profile(&["k"], "k", |row| if row < 50 { "+41446681800".into() } else { format!("secret{row}") });
        assert_eq!(seen.rules[0][0].forms, even.rules[0][0].forms);
        let text = seen.to_text().unwrap();
        assert!(
            !text.contains("international") && !text.contains("secret") && text.contains("\"rows\": 1000"),
            "{text}"
        );
        let few = Input::spool("few.csv", &mut &b"k\n1\n2\n"[..]).unwrap();
        let rules = MatchRules::from(MatchRule::parse("k").unwrap());
        let found = few.inspect(Some(&rules), &mut |_| ControlFlow::Continue(())).unwrap();
        assert!(Profile::of(&found).is_err());
    }

    #[test]
    fn a_file_of_anybody_is_refused_or_shown_without_control_characters() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("theirs.json");
        let good = profile(&["k"], "k", |row| format!("user{row}@example.org"));
        let text = good.to_text().unwrap();
        for bad in [
            "",
            "{}",
            &text.replace("\"vesica_profile\": 1", "\"vesica_profile\": 2"),
            &text.replace("raw", "\\u001b[2J\", \"x\": \""),
        ] {
            std::fs::write(&path, bad).unwrap();
            let error = Profile::load(&path).unwrap_err();
            assert!(
                error.message.shell().contains("theirs.json") && !error.message.shell().contains('\u{1b}'),
                "{error}"
            );
        }
        std::fs::write(&path, text.replace("raw", "\\u001b[2J")).unwrap();
        let shown = told(&good, &Profile::load(&path).unwrap());
        assert!(shown.contains("theirs") && !shown.contains('\u{1b}'), "{shown}");
    }
}
