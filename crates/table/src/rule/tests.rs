use base64::engine::Engine;
use base64::engine::general_purpose::STANDARD;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sha2::{Digest, Sha256};

use super::*;

mod forms;
mod names;
mod published;

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

/// What a partner who hashes addresses sends for `value`.
fn hashed(rule: Rule, value: &str) -> [u8; 32] {
    Sha256::digest(apply(rule, value).unwrap().unwrap()).into()
}

#[test]
fn email_uid2_drops_what_gmail_ignores() {
    becomes(
        Rule::EmailUid2,
        &[
            (" \tUSER@Example.COM\r\n", "user@example.com"),
            ("\u{a0}user@example.com\u{3000}", "user@example.com"),
            ("Jane.Saoirse+UID2@GMail.com", "janesaoirse@gmail.com"),
            ("..j.s..@gmail.com", "js@gmail.com"),
            ("js+a+b.c@gmail.com", "js@gmail.com"),
            ("js+@gmail.com", "js@gmail.com"),
            ("jane.saoirse+UID2@example.com", "jane.saoirse+uid2@example.com"),
            ("a.b+c@googlemail.com", "a.b+c@googlemail.com"),
            ("a.b+c@mail.gmail.com", "a.b+c@mail.gmail.com"),
            ("a.b+c@gmail.com.example", "a.b+c@gmail.com.example"),
            ("a.b+c@xgmail.com", "a.b+c@xgmail.com"),
            ("G.RÜN@gmail.com", "grÜn@gmail.com"),
            ("e\u{301}@x", "e\u{301}@x"),
            (" \u{a0} ", ""),
        ],
    );
    for (values, base64) in [
        (
            &["janesaoirse@gmail.com", "JANESaoirse@gmail.com", " jane.saoirse+uid2@Gmail.com "][..],
            "ku4mBX7Z3qJTXWyLFB1INzkyR2WZGW4ANSJUiW21iI8=",
        ),
        (&["user@example.com", " USER@example.com"], "tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRQ="),
    ] {
        for value in values {
            assert_eq!(STANDARD.encode(hashed(Rule::EmailUid2, value)), base64, "{value}");
        }
    }
    for value in ["+news@gmail.com", "...@gmail.com", ".+x@GMAIL.com", "@gmail.com"] {
        assert_eq!(apply(Rule::EmailUid2, value), Err(Invalid::NoLocalOrDomain), "{value:?}");
    }
    let long = format!("{}a@gmail.com", ".".repeat(64));
    assert_eq!(apply(Rule::EmailUid2, &long), Err(Invalid::EmailTooLong));
    assert_eq!(apply(Rule::EmailUid2, &long[1..]), Ok(Some(b"a@gmail.com".to_vec())));
    assert_eq!(apply(Rule::EmailUid2, "a+@b@gmail.com"), Err(Invalid::NotOneAt));
}

#[test]
fn email_meta_only_lowers() {
    becomes(
        Rule::EmailMeta,
        &[
            (" John_Smith@Gmail.com\n", "john_smith@gmail.com"),
            ("A.d.a+news@gmail.com", "a.d.a+news@gmail.com"),
            ("\u{a0}GRÜN@Bücher.example", "grün@bücher.example"),
            ("E\u{301}@x", "e\u{301}@x"),
            ("STRAßE@x", "straße@x"),
            (" \u{a0} ", ""),
        ],
    );
    for value in ["john_smith@gmail.com", "\tJohn_SMITH@gmail.com "] {
        let hex = hex::encode(hashed(Rule::EmailMeta, value));
        assert!(hex.starts_with("62a14e44") && hex.ends_with("a0f62f"), "{value}: {hex}");
    }
}

#[test]
fn email_google_drops_what_gmail_ignores_in_both_domains() {
    becomes(
        Rule::EmailGoogle,
        &[
            (" \tUSER@Example.COM\r\n", "user@example.com"),
            ("Jane.Saoirse+Shop@GMail.com", "janesaoirse@gmail.com"),
            ("j.s+a+b.c@GoogleMail.com", "js@googlemail.com"),
            ("jane.saoirse+Shop@example.com", "jane.saoirse+shop@example.com"),
            ("a.b+c@mail.gmail.com", "a.b+c@mail.gmail.com"),
            ("a.b+c@xgooglemail.com", "a.b+c@xgooglemail.com"),
            ("a.b+c@gmail.com.example", "a.b+c@gmail.com.example"),
            ("G.RÜN@gmail.com", "grün@gmail.com"),
            // Java and Python write a sigma at the end of a word in its own way.
            ("ΣΑΣ@x", "σας@x"),
            ("İ@x", "i\u{307}@x"),
            ("E\u{301}@x", "e\u{301}@x"),
            (" \u{a0} ", ""),
        ],
    );
    for value in ["+news@gmail.com", "...@googlemail.com", ".+x@GMAIL.com", "@gmail.com"] {
        assert_eq!(apply(Rule::EmailGoogle, value), Err(Invalid::NoLocalOrDomain), "{value:?}");
    }
    // As a variant it has no key then, since the address itself is valid.
    for (value, expected) in [
        ("+news@gmail.com", ""),
        (" J.S+a@Gmail.com", "js@gmail.com"),
        ("É.e@E.org", "é.e@e.org"),
        ("a.b@googlemail.com", "ab@googlemail.com"),
        ("none", ""),
    ] {
        let mut out = Vec::new();
        Rule::EmailOfGoogle.apply(Value::Text(value.as_bytes().into()), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
    assert_eq!(apply(Rule::EmailGoogle, "a+@b@gmail.com"), Err(Invalid::NotOneAt));
}

#[test]
fn flaw_what_nobody_sees_makes_no_second_key() {
    let strict = [
        (Rule::Email, "ada@example.com"),
        (Rule::EmailUid2, "ada@example.com"),
        (Rule::EmailMeta, "ada@example.com"),
        (Rule::EmailGoogle, "ada@gmail.com"),
        (Rule::Postcode, "8001"),
        (Rule::Ip, "192.0.2.1"),
        (Rule::Date(None), "2026-11-21"),
        (Rule::Date(Some(DateOrder::Dmy)), "21.11.2026"),
        (Rule::Int, "4711"),
        (Rule::Uuid, "01234567-89ab-cdef-0123-456789abcdef"),
        (Rule::Sha256, "tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRQ="),
    ];
    let kind = [(Rule::Phone(None), "+41446681800"), (Rule::Name, "annameier")];
    // Zero-width characters, soft hyphen, byte-order mark, marks of direction, a filler, a variation, a tag.
    let unseen = "\u{200b}\u{200c}\u{200d}\u{2060}\u{ad}\u{feff}\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}\u{34f}\u{115f}\u{180e}\u{fe0f}\u{e0020}";
    for c in unseen.chars() {
        let put = |value: &str, at: usize| format!("{}{c}{}", &value[..at], &value[at..]);
        for (rule, value) in strict {
            assert!(matches!(apply(rule, value), Ok(Some(_))), "{rule}");
            for at in [0, 3, value.len()] {
                assert_eq!(apply(rule, put(value, at)), Err(Invalid::Invisible), "{rule} {c:?} {at}");
            }
        }
        for (rule, value) in kind {
            for at in [0, 3, value.len()] {
                assert_eq!(apply(rule, put(value, at)), apply(rule, value), "{rule} {c:?} {at}");
            }
            assert_eq!(apply(rule, c.to_string()), Ok(None), "{rule} {c:?}");
        }
        for rule in [Rule::Raw, Rule::Text] {
            assert_ne!(apply(rule, put("ada", 3)), apply(rule, "ada"), "{rule} {c:?}");
        }
    }
    // What can be seen is no such character.
    for value in ["ada+😊@example.com", "grün@bücher.example", "е́@x"] {
        assert!(apply(Rule::Email, value).is_ok(), "{value}");
    }
}

#[test]
fn email_rules_refuse_the_same() {
    for value in [
        "ada",
        "a@b@c",
        "@b",
        "a@",
        "@",
        "a da@b",
        "ada@exam\u{a0}ple.com",
        "ada\u{7f}@example.com",
        "ada\u{85}ü@example.com",
        &format!("{}@x", "l".repeat(65)),
        &format!("x@{}", "d".repeat(256)),
    ] {
        let reason = apply(Rule::Email, value).unwrap_err();
        for rule in [Rule::EmailUid2, Rule::EmailMeta, Rule::EmailGoogle] {
            assert_eq!(apply(rule, value), Err(reason), "{rule} {value:?}");
            assert_eq!(apply(rule, b"ad\xe4@example.com"), Err(Invalid::NotUtf8));
        }
    }
}

#[test]
fn rules_leave_their_own_results_alone() {
    let mut rng = StdRng::seed_from_u64(1);
    let mut checked = 0;
    for _ in 0..200_000 {
        let length = rng.random_range(1..6);
        let mut value: String = (0..length).map(|_| random_char(&mut rng)).collect();
        match rng.random_range(0..4) {
            0 => value.push_str("@x"),
            1 => value.push_str("+@Gmail.com"),
            _ => (),
        }
        // What `sha256` yields is no text.
        for rule in Rule::ALL.into_iter().filter(|rule| *rule != Rule::Sha256) {
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
        for rule in [Rule::Text, Rule::Email, Rule::Name] {
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
    let swiss = Rule::Phone(Country::find("CH"));
    assert!(matches!(Rule::word("phone:CH"), Word::Rule(found) if found == swiss));
    assert_eq!((swiss.to_string().as_str(), swiss.name()), ("phone:CH", "phone"));
    // Two parties may read their tables in different countries; the numbers are the same.
    assert_eq!(swiss.agreed(), Rule::Phone(None).agreed());
    let order = Rule::Date(DateOrder::find("DMY"));
    assert!(matches!(Rule::word("date:dmy"), Word::Rule(found) if found == order));
    assert_eq!((order.to_string().as_str(), order.name()), ("date:DMY", "date"));
    assert_eq!((order.agreed().as_str(), Rule::Date(None).agreed().as_str()), ("date", "date"));
    assert_eq!(Rule::Text.agreed(), "text");
    assert_eq!(Rule::EmailGoogle.agreed(), "email-google (2026-06)");
    assert_eq!(Rule::Name.agreed(), "name (version 1)");
    for unknown in ["date:", "date:DM", "date:YDM", "date: DMY"] {
        assert!(matches!(Rule::word(unknown), Word::NoOrder), "{unknown:?}");
    }
    for country in ["phone:", "phone:c1", "phone:CHE"] {
        assert!(matches!(Rule::word(country), Word::NoCountry));
    }
    for unknown in ["", "Raw", "email ", "phone ", "sha-256", "email-", "uid2", "IP"] {
        assert!(matches!(Rule::word(unknown), Word::Unknown), "{unknown:?}");
    }
}
