use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;

/// The canonical text, `None` for null.
fn apply(rule: Rule, value: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>, Invalid> {
    let mut out = b"before".to_vec();
    let part = rule.apply(Value::Text(Cow::Borrowed(value.as_ref())), &mut out)?;
    let appended = out.split_off(6);
    assert_eq!(out, b"before");
    assert_eq!(part == Part::Null, appended.is_empty());
    Ok((part == Part::Present).then_some(appended))
}

fn becomes(rule: Rule, vectors: &[(&str, &str)]) {
    for (value, expected) in vectors {
        let found = apply(rule, value).unwrap_or_else(|reason| panic!("{rule} {value:?}: {reason}"));
        let expected = (!expected.is_empty()).then(|| expected.as_bytes().to_vec());
        assert_eq!(found, expected, "{rule} {value:?}");
    }
}

#[test]
fn null_is_null_under_every_rule() {
    for rule in Rule::ALL {
        assert_eq!(rule.apply(Value::Null, &mut Vec::new()), Ok(Part::Null));
        assert_eq!(apply(rule, ""), Ok(None));
    }
}

#[test]
fn raw_changes_nothing() {
    becomes(Rule::Raw, &[("a", "a"), (" A ", " A "), ("007", "007"), ("e\u{301}", "e\u{301}"), (" ", " ")]);
    assert_eq!(apply(Rule::Raw, b"\xff\x00"), Ok(Some(b"\xff\x00".to_vec())));
}

#[test]
fn text_composes_trims_and_folds() {
    becomes(
        Rule::Text,
        &[
            ("Anna", "anna"),
            ("  Anna  Meier\t\r\n", "anna  meier"),
            ("\u{b}\u{c}x\u{b}", "x"),
            ("\u{a0}\u{2003}x\u{3000}", "x"),
            ("\u{200b}x", "\u{200b}x"),
            ("Straße", "strasse"),
            ("STRASSE", "strasse"),
            ("Zu\u{308}rich", "z\u{fc}rich"),
            ("ZÜRICH", "zürich"),
            ("ΜΆΪΟΣ", "μάϊοσ"),
            ("μάϊος", "μάϊοσ"),
            ("I", "i"),
            ("İ", "i\u{307}"),
            ("ı", "ı"),
            ("ﬁn", "fin"),
            ("①", "①"),
            ("Ａ", "ａ"),
            ("\u{212b}", "å"),
            ("   ", ""),
            ("\u{a0}", ""),
        ],
    );
    assert_eq!(apply(Rule::Text, b"\xff"), Err(Invalid::NotUtf8));
    assert_eq!(apply(Rule::Text, b"caf\xe9"), Err(Invalid::NotUtf8));
}

#[test]
fn email_lowers_and_checks() {
    becomes(
        Rule::Email,
        &[
            ("Ada@Example.COM", "ada@example.com"),
            (" \tada@example.com\r\n", "ada@example.com"),
            ("\u{a0}ada@example.com\u{3000}", "ada@example.com"),
            ("A.d.a+news@gmail.com", "a.d.a+news@gmail.com"),
            ("root@localhost", "root@localhost"),
            ("GRÜN@Bücher.example", "grün@bücher.example"),
            ("gru\u{308}n@x", "grün@x"),
            ("STRAßE@x", "straße@x"),
            ("ΣΑΣ@x", "σασ@x"),
            ("   ", ""),
        ],
    );
    let long = |local: usize, domain: usize| format!("{}@{}", "l".repeat(local), "d".repeat(domain));
    for good in [long(64, 255), long(1, 1)] {
        assert_eq!(apply(Rule::Email, &good), Ok(Some(good.into_bytes())));
    }
    for (value, reason) in [
        ("ada", Invalid::NotOneAt),
        ("a@b@c", Invalid::NotOneAt),
        ("@example.com", Invalid::NoLocalOrDomain),
        ("ada@", Invalid::NoLocalOrDomain),
        ("@", Invalid::NoLocalOrDomain),
        ("a da@example.com", Invalid::BlankInside),
        ("ada@exam\u{a0}ple.com", Invalid::BlankInside),
        ("ada@exam\nple.com", Invalid::BlankInside),
        ("ada\u{7f}@example.com", Invalid::BlankInside),
        ("ada\u{85}ü@example.com", Invalid::BlankInside),
        (&long(65, 1), Invalid::EmailTooLong),
        (&long(1, 256), Invalid::EmailTooLong),
    ] {
        assert_eq!(apply(Rule::Email, value), Err(reason), "{value:?}");
    }
    assert_eq!(apply(Rule::Email, b"ad\xe4@example.com"), Err(Invalid::NotUtf8));
}

#[test]
fn int_is_canonical_decimal() {
    let (most, more) = ("9".repeat(64), "1".repeat(65));
    becomes(
        Rule::Int,
        &[
            ("7", "7"),
            ("007", "7"),
            ("+7", "7"),
            ("-7", "-7"),
            ("-007", "-7"),
            (" \t7 ", "7"),
            ("0", "0"),
            ("000", "0"),
            ("-0", "0"),
            ("+00", "0"),
            (&most, &most),
            (&format!("-000{most}"), &format!("-{most}")),
            ("  ", ""),
        ],
    );
    for value in ["x", "+", "-", "1.0", "1e3", "1,000", "1 000", "--1", "0x1", "١", "\u{a0}1", "1\n", "−1"]
    {
        assert_eq!(apply(Rule::Int, value), Err(Invalid::NotAnInteger), "{value:?}");
    }
    assert_eq!(apply(Rule::Int, &more), Err(Invalid::TooManyDigits));
    assert_eq!(apply(Rule::Int, b"1\xff"), Err(Invalid::NotAnInteger));
}

#[test]
fn rules_leave_their_own_results_alone() {
    let mut rng = StdRng::seed_from_u64(1);
    let mut checked = 0;
    for _ in 0..200_000 {
        let length = rng.random_range(1..6);
        let mut value: String = (0..length).map(|_| random_char(&mut rng)).collect();
        if rng.random() {
            value.push_str("@x");
        }
        for rule in Rule::ALL {
            if let Ok(Some(once)) = apply(rule, &value) {
                assert_eq!(apply(rule, &once).as_ref(), Ok(&Some(once.clone())), "{rule} {value:?}");
                checked += 1;
            }
        }
    }
    assert!(checked > 300_000);
}

fn random_char(rng: &mut StdRng) -> char {
    let ranges =
        [0x20..0x7f, 0xa0..0x250, 0x300..0x370, 0x370..0x530, 0x1e00..0x2100, 0xfb00..0xfb20, 0xa0..0x1_0000];
    let range = ranges[rng.random_range(0..ranges.len())].clone();
    char::from_u32(rng.random_range(range)).unwrap_or('x')
}

#[test]
fn equivalent_forms_become_equal() {
    let mut rng = StdRng::seed_from_u64(2);
    let decomposed = icu_normalizer::DecomposingNormalizerBorrowed::new_nfd();
    for _ in 0..50_000 {
        let value: String = (0..rng.random_range(1..6)).map(|_| random_char(&mut rng)).collect();
        let other = decomposed.normalize(&value);
        for rule in [Rule::Text, Rule::Email] {
            assert_eq!(apply(rule, &value), apply(rule, other.as_bytes()), "{rule} {value:?}");
        }
    }
}

#[test]
fn the_short_way_for_ascii_is_the_long_way() {
    let long = |bytes: &[u8]| {
        let composed = composed(bytes).unwrap();
        NFC.normalize(&CaseMapper::new().fold_string(composed.trim())).as_bytes().to_vec()
    };
    let mut rng = StdRng::seed_from_u64(3);
    for _ in 0..50_000 {
        let value: Vec<u8> = (0..rng.random_range(0..8)).map(|_| rng.random_range(0..128)).collect();
        let mut short = Vec::new();
        ascii_lower(&value, &mut short);
        assert_eq!(short, long(&value), "{value:?}");
    }
}

#[test]
fn words() {
    for rule in Rule::ALL {
        assert!(matches!(Rule::word(rule.name()), Word::Rule(found) if found == rule));
        assert_eq!(rule.to_string(), rule.name());
    }
    for later in LATER.into_iter().chain(["phone:CH", "phone:US"]) {
        assert!(matches!(Rule::word(later), Word::Later));
    }
    for unknown in ["", "Raw", "email ", "phone:", "phone:ch", "phone:CHE", "sha-256"] {
        assert!(matches!(Rule::word(unknown), Word::Unknown), "{unknown:?}");
    }
}
