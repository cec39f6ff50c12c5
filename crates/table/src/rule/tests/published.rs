//! What the owners of hashed lists publish of their normal forms.

use super::*;

const VECTORS: &str = include_str!("published.txt");

#[test]
fn flaw_the_owners_of_hashed_lists_get_the_same() {
    let mut seen = [0; 3];
    for line in VECTORS.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<_> = line.split('\t').collect();
        let [name, value, expected] = fields[..] else { panic!("{line}") };
        let rules = [Rule::EmailGoogle, Rule::EmailUid2, Rule::EmailMeta];
        let at = rules.iter().position(|rule| rule.name() == name).unwrap();
        seen[at] += 1;
        let found = apply(rules[at], value);
        let digest = |text: &[u8]| hex::encode(Sha256::digest(text));
        match (expected, expected.strip_prefix("sha256:")) {
            ("-", _) => assert!(found.is_err(), "{line}"),
            ("null", _) => assert_eq!(found, Ok(None), "{line}"),
            (_, Some(expected)) => assert_eq!(digest(&found.unwrap().unwrap()), expected, "{line}"),
            (text, None) => assert_eq!(found, Ok(Some(text.as_bytes().to_vec())), "{line}"),
        }
    }
    assert_eq!(seen, [21, 35, 5]);
}
