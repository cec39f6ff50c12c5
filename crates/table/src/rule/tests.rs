use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base64::engine::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sha2::{Digest, Sha256};

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
        for rule in [Rule::EmailUid2, Rule::EmailMeta] {
            assert_eq!(apply(rule, value), Err(reason), "{rule} {value:?}");
            assert_eq!(apply(rule, b"ad\xe4@example.com"), Err(Invalid::NotUtf8));
        }
    }
}

#[test]
fn ip_is_the_canonical_notation() {
    becomes(
        Rule::Ip,
        &[
            (" \t192.0.2.1 ", "192.0.2.1"),
            ("0.0.0.0", "0.0.0.0"),
            ("255.255.255.255", "255.255.255.255"),
            // RFC 5952, sections 1 and 2: forms of one address.
            ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
            ("2001:0db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
            ("2001:db8::1:0:0:1", "2001:db8::1:0:0:1"),
            ("2001:db8::0:1:0:0:1", "2001:db8::1:0:0:1"),
            ("2001:0db8::1:0:0:1", "2001:db8::1:0:0:1"),
            ("2001:db8:0:0:1::1", "2001:db8::1:0:0:1"),
            ("2001:DB8:0:0:1::1", "2001:db8::1:0:0:1"),
            // Section 4.2: the longest run of zeros, the first of equals, never a single one.
            ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"),
            ("2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
            ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
            ("0:0:0:0:0:0:0:0", "::"),
            ("0::1", "::1"),
            // IPv4-mapped addresses, and others that only hold one.
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("::FFFF:c000:0201", "192.0.2.1"),
            ("0:0:0:0:0:ffff:192.0.2.1", "192.0.2.1"),
            ("::192.0.2.1", "::c000:201"),
            ("64:ff9b::192.0.2.1", "64:ff9b::c000:201"),
            (" \t", ""),
        ],
    );
    for value in [
        "192.0.2",
        "192.0.2.1.1",
        "192.0.2.01",
        "192.0.2.00",
        "010.0.0.1",
        "192.0.2.256",
        "192.0.2.-1",
        "192.0.2. 1",
        "0xc0.0.2.1",
        "3221225985",
        "192.0.2.1:80",
        "192.0.2.0/24",
        "[2001:db8::1]",
        "[2001:db8::1]:80",
        "2001:db8::/32",
        "fe80::1%eth0",
        "fe80::1%1",
        "2001:db8:::1",
        "1::2::3",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        "1:2:3:4::5:6:7:8",
        "2001:db8::00001",
        "2001:db8::g",
        "::ffff:192.0.2.01",
        "192.0.2.1\n",
        "１92.0.2.1",
        "localhost",
    ] {
        assert_eq!(apply(Rule::Ip, value), Err(Invalid::NotAnAddress), "{value:?}");
    }
    assert_eq!(apply(Rule::Ip, b"::1\xff"), Err(Invalid::NotAnAddress));
}

#[test]
fn every_notation_of_an_address_is_one_key() {
    let mut rng = StdRng::seed_from_u64(4);
    let mut seen = std::collections::HashMap::new();
    for _ in 0..20_000 {
        // Many groups are zero, so that runs of them come up.
        let groups: [u16; 8] = std::array::from_fn(|_| if rng.random() { 0 } else { rng.random() });
        let address = Ipv6Addr::from(groups);
        let plain = groups.map(|group| format!("{group:x}")).join(":");
        let full = groups.map(|group| format!("{group:04X}")).join(":");
        let key = apply(Rule::Ip, address.to_string()).unwrap().unwrap();
        for other in [plain, full] {
            assert_eq!(apply(Rule::Ip, &other), Ok(Some(key.clone())), "{other}");
        }
        assert_eq!(*seen.entry(key).or_insert(address), address);

        let address = Ipv4Addr::from(rng.random::<u32>());
        let key = apply(Rule::Ip, address.to_string()).unwrap().unwrap();
        assert_eq!(apply(Rule::Ip, address.to_ipv6_mapped().to_string()), Ok(Some(key.clone())));
        assert_eq!(std::str::from_utf8(&key).unwrap().parse(), Ok(IpAddr::V4(address)));
    }
}

#[test]
fn date_is_a_day_of_the_calendar() {
    becomes(
        Rule::Date,
        &[
            ("2026-11-21", "2026-11-21"),
            ("20261121", "2026-11-21"),
            (" \t2026-11-21 ", "2026-11-21"),
            ("0001-01-01", "0001-01-01"),
            ("99991231", "9999-12-31"),
            ("2024-02-29", "2024-02-29"),
            ("2000-02-29", "2000-02-29"),
            ("  ", ""),
        ],
    );
    for value in [
        "2023-02-29",
        "1900-02-29",
        "2026-04-31",
        "2026-00-01",
        "2026-13-01",
        "2026-01-00",
        "2026-01-32",
        "0000-01-01",
        "00000000",
        "0000-00-00",
        "2026-1-1",
        "26-01-01",
        "2026-01",
        "2026",
        "202611-21",
        "2026-1121",
        "2026/11/21",
        "21.11.2026",
        "11/21/2026",
        "2026-W47-6",
        "2026-325",
        "2026325",
        "+2026-11-21",
        "-2026-11-21",
        "+2026121",
        "2026−11−21",
        "2026-11-21Z",
        "2026-11-21 ago",
        "２026-11-21",
        "2026-11-21\n",
        "46347",
        "x",
    ] {
        assert_eq!(apply(Rule::Date, value), Err(Invalid::NotADate), "{value:?}");
    }
    assert_eq!(apply(Rule::Date, b"2026-11-2\xff"), Err(Invalid::NotADate));
    for value in ["2026-11-21T00:00:00", " 2026-11-21 04:16:07.5", "2026-11-21T04Z"] {
        assert_eq!(apply(Rule::Date, value), Err(Invalid::DateWithTime), "{value:?}");
    }

    // Days of 400 years, after which the calendar repeats.
    let valid = |value: String| apply(Rule::Date, value).is_ok();
    let days = (2000..2400).flat_map(|year| {
        (0..20).flat_map(move |month| (0..40).map(move |day| format!("{year}-{month:02}-{day:02}")))
    });
    assert_eq!(days.filter(|day| valid(day.clone())).count(), 146_097);
}

#[test]
fn sha256_is_the_same_in_every_notation() {
    let mut rng = StdRng::seed_from_u64(5);
    for round in 0..2_000 {
        let digest: [u8; 32] = match round {
            0 => [0; 32],
            1 => [0xff; 32],
            _ => rng.random(),
        };
        let hex = hex::encode(digest);
        let mixed: String =
            hex.chars().map(|c| if rng.random() { c.to_ascii_uppercase() } else { c }).collect();
        for form in [
            format!(" {hex}\t"),
            hex.to_uppercase(),
            mixed,
            hex,
            STANDARD.encode(digest),
            STANDARD_NO_PAD.encode(digest),
            URL_SAFE.encode(digest),
            format!("\t{} ", URL_SAFE_NO_PAD.encode(digest)),
        ] {
            assert_eq!(apply(Rule::Sha256, &form), Ok(Some(digest.to_vec())), "{form}");
        }
    }
    assert_eq!(apply(Rule::Sha256, " \t "), Ok(None));
    let uid2 = "tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRQ=";
    let hex = "b4c9a289323b21a01c3e940f150eb9b8c542587f1abfd8f0e1cc1ffc5e475514";
    for list in [uid2, hex] {
        assert_eq!(apply(Rule::Sha256, list), Ok(Some(hashed(Rule::EmailUid2, "User@example.com").to_vec())));
    }
}

#[test]
fn sha256_refuses_what_is_no_digest() {
    let hex = "b4c9a289323b21a01c3e940f150eb9b8c542587f1abfd8f0e1cc1ffc5e475514";
    for value in [
        &hex[1..],
        &format!("{hex}0"),
        &format!("0x{}", &hex[2..]),
        &format!("0x{hex}"),
        &hex.replace('f', "g"),
        &format!("+{}", &hex[1..]),
        // Half a byte too much in the last character, so a second text of the same 32 bytes.
        "tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRR=",
        "tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRR",
        // Both alphabets at once.
        "tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HV-Q=",
        // Padding in excess, and 33, 31 and 30 bytes.
        "tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRQ==",
        "tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRQA",
        "tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVA==",
        "tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVA=",
        "tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5H",
        "tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5H VRQ",
        "d41d8cd98f00b204e9800998ecf8427e",
        "user@example.com",
    ] {
        assert_eq!(apply(Rule::Sha256, value), Err(Invalid::NotADigest), "{value:?}");
    }
    assert_eq!(apply(Rule::Sha256, [0xb4; 32]), Err(Invalid::NotADigest));
    assert_eq!(apply(Rule::Sha256, [0xb4; 43]), Err(Invalid::NotADigest));
    assert_eq!(apply(Rule::Sha256, [0xb4; 64]), Err(Invalid::NotADigest));
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
    let swiss = Rule::Phone(Country::find("CH"));
    assert!(matches!(Rule::word("phone:CH"), Word::Rule(found) if found == swiss));
    assert_eq!((swiss.to_string().as_str(), swiss.name()), ("phone:CH", "phone"));
    // Two parties may read their tables in different countries; the numbers are the same.
    assert_eq!(swiss.agreed(), Rule::Phone(None).agreed());
    assert_eq!(Rule::Text.agreed(), "text");
    for country in ["phone:", "phone:c1", "phone:CHE"] {
        assert!(matches!(Rule::word(country), Word::NoCountry));
    }
    for unknown in ["", "Raw", "email ", "phone ", "sha-256", "email-", "uid2", "IP"] {
        assert!(matches!(Rule::word(unknown), Word::Unknown), "{unknown:?}");
    }
}
