//! Several keys of one row by one rule, against a plain join that tries them one after the other.

use std::collections::BTreeSet;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use vesica_encode::items::OnDuplicates;

use super::*;
use crate::match_rules::{MatchRule, MatchRules};
use crate::testing::{load, matching};

const RULES: [&str; 2] = ["first:name~swap + last:name~swap + born:date~1", "mail:email~google"];

/// First name, last name, day of March 2024 (0 if unknown), mailbox of Gmail (empty if unknown).
type Person = (String, String, u32, String);

fn people(rng: &mut StdRng, rows: usize) -> Vec<Person> {
    const NAMES: [&str; 5] = ["Ada", "Grace", "Alan", "Kurt", "Émile"];
    const BOXES: [&str; 4] = ["", "a.b", "ab", "a.b+news"];
    let mut any = |most: usize| rng.random_range(0..most);
    let mut person = || {
        let (first, last) = (NAMES[any(5)].to_owned(), format!("{} {}", NAMES[any(5)], any(9)));
        let (day, mailbox, number) = (any(31) as u32, BOXES[any(4)], any(40));
        let mail = if mailbox.is_empty() { String::new() } else { format!("{mailbox}{number}") };
        // Some wrote their names into the wrong fields.
        if any(4) == 0 { (last, first, day, mail) } else { (first, last, day, mail) }
    };
    (0..rows).map(|_| person()).collect()
}

fn csv(people: &[Person]) -> Vec<u8> {
    let line = |(first, last, day, mail): &Person| {
        let born = if *day == 0 { String::new() } else { format!("2024-03-{day:02}") };
        let mail = if mail.is_empty() { String::new() } else { format!("{mail}@Gmail.com") };
        format!("{first},{last},{born},{mail}\n")
    };
    ("first,last,born,mail\n".to_owned() + &people.iter().map(line).collect::<String>()).into_bytes()
}

/// The keys of one of my rows in the order of the variants: rule, and text.
fn mine((first, last, day, mail): &Person) -> Vec<Option<(usize, String)>> {
    let mut keys = Vec::new();
    for (one, other) in [(first, last), (last, first)] {
        for later in [0, -1, 1] {
            let born = *day as i32 + later;
            keys.push((*day > 0).then(|| (0, format!("{one}|{other}|{born}"))));
        }
    }
    let google: String = mail.split('+').next().unwrap_or_default().replace('.', "");
    keys.extend([mail.clone(), google].map(|mail| (!mail.is_empty()).then_some((1, mail))));
    keys
}

#[test]
fn rows_match_by_the_first_variant_that_hits() {
    let rules = MatchRules::from(RULES.map(|rule| MatchRule::parse(rule).unwrap()).to_vec());
    let mut rng = StdRng::seed_from_u64(41);
    let mut by = [0; 8];
    for (rows, others) in [(0, 3), (1, 1), (400, 30), (2000, 60)] {
        let (here, there) = (people(&mut rng, rows), people(&mut rng, others));
        let plain = |person: &Person| {
            let all = mine(person);
            [all[0].clone(), all[6].clone()]
        };
        let theirs: BTreeSet<(usize, String)> = there.iter().flat_map(plain).flatten().collect();
        let hit = |person: &Person| {
            mine(person).iter().position(|key| key.as_ref().is_some_and(|key| theirs.contains(key)))
        };
        let expected: Vec<(u64, usize)> =
            (0..).zip(&here).filter_map(|(row, person)| Some((row, hit(person)?))).collect();
        expected.iter().for_each(|(_, variant)| by[*variant] += 1);
        let (_, their_items) = load(&csv(&there), &matching(&RULES)).unwrap();
        for threads in [1, 2, 3, 7] {
            let keys = rules.with_variants().unwrap();
            // A row's own keys are no duplicates of one another.
            let request = Request { keys, threads, ..matching(&RULES) };
            let (table, items) = load(&csv(&here), &request).unwrap();
            let digests: BTreeSet<&[u8]> = their_items.digests().collect();
            let common = items.digests().enumerate().filter(|(_, digest)| digests.contains(digest));
            let found = items.matches(common.map(|(item, _)| item)).into_rows();
            let hits: Vec<(u64, usize)> =
                RowSet::List(&found).by_first_key(8).map(|found| (found.row, found.rule)).collect();
            assert_eq!(hits, expected, "{rows} {threads}");
            let different =
                |person: &Person| mine(person).into_iter().flatten().collect::<BTreeSet<_>>().len();
            let keys: usize = here.iter().map(different).sum();
            assert_eq!(table.rules().map(|(_, counts)| counts.keys).sum::<u64>(), keys as u64);
        }
    }
    assert!(by.iter().all(|hits| *hits > 0), "{by:?}");
}

#[test]
fn a_row_whose_variants_are_equal_is_no_duplicate() {
    let rules = MatchRules::from(MatchRule::parse("a:name~swap + b:name~swap").unwrap());
    let request = Request {
        keys: rules.with_variants().unwrap(),
        on_duplicates: OnDuplicates::Error,
        ..matching(&["a:name + b:name"])
    };
    let (table, items) = load(b"a,b\nAda,Ada\nAda,Grace\n", &request).unwrap();
    assert_eq!((items.len(), table.report().duplicates), (3, 0));
    assert!(load(b"a,b\nAda,Grace\nGrace,Ada\n", &request).is_err());
}
