//! Rules whose values have several notations.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

use super::*;

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
        Rule::Date(None),
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
        assert_eq!(apply(Rule::Date(None), value), Err(Invalid::NotADate), "{value:?}");
    }
    assert_eq!(apply(Rule::Date(None), b"2026-11-2\xff"), Err(Invalid::NotADate));
    for value in ["2026-11-21T00:00:00", " 2026-11-21 04:16:07.5", "2026-11-21T04Z"] {
        assert_eq!(apply(Rule::Date(None), value), Err(Invalid::DateWithTime), "{value:?}");
    }

    // Days of 400 years, after which the calendar repeats.
    let valid = |value: String| apply(Rule::Date(None), value).is_ok();
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
    // The 32 bytes themselves are a digest in a binary column alone.
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

/// The canonical bytes of a value of a binary column.
fn binary(rule: Rule, value: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>, Invalid> {
    let mut out = Vec::new();
    let part = rule.apply(Value::Binary(Cow::Borrowed(value.as_ref())), &mut out)?;
    Ok((part == Part::Present).then_some(out))
}

#[test]
fn flaw_a_digest_in_a_binary_column_is_its_bytes() {
    let mut rng = StdRng::seed_from_u64(6);
    for round in 0..2_000 {
        let digest: [u8; 32] = match round {
            // White space at the ends, and text that is no digits.
            0 => [b' '; 32],
            1 => *b"g0123456789abcdef0123456789abcde",
            _ => rng.random(),
        };
        assert_eq!(binary(Rule::Sha256, digest), Ok(Some(digest.to_vec())));
        for text in [hex::encode(digest), STANDARD.encode(digest)] {
            assert_eq!(binary(Rule::Sha256, text), Ok(Some(digest.to_vec())));
        }
        if round > 0 {
            assert_eq!(apply(Rule::Sha256, digest), Err(Invalid::NotADigest));
            assert_eq!(binary(Rule::Sha256, &digest[1..]), Err(Invalid::NotADigest));
        }
        assert_eq!(binary(Rule::Sha256, [&digest[..], b"x"].concat()), Err(Invalid::NotADigest));
    }
    // MD5 as text.
    assert_eq!(binary(Rule::Sha256, "d41d8cd98f00b204e9800998ecf8427e"), Err(Invalid::NotADigest));
    assert_eq!(binary(Rule::Sha256, ""), Ok(None));
    // Under other rules the bytes of a binary column are text.
    assert_eq!(binary(Rule::Email, "Ada@example.com"), apply(Rule::Email, "Ada@example.com"));
    assert_eq!(binary(Rule::Raw, [0xb4; 32]), Ok(Some(vec![0xb4; 32])));
}

#[test]
fn base64_of_hexadecimal_digits_is_told() {
    let hex = "b4c9a289323b21a01c3e940f150eb9b8c542587f1abfd8f0e1cc1ffc5e475514";
    for text in [STANDARD.encode(hex), STANDARD_NO_PAD.encode(hex), STANDARD.encode(hex.to_uppercase())] {
        assert_eq!(apply(Rule::Sha256, text), Err(Invalid::Base64OfHex));
    }
    for bytes in [&[b'g'; 64][..], &[0xb4; 64], &hex.as_bytes()[1..]] {
        assert_eq!(apply(Rule::Sha256, STANDARD.encode(bytes)), Err(Invalid::NotADigest));
    }
}

#[test]
fn uuid_is_the_same_in_every_notation() {
    let mut rng = StdRng::seed_from_u64(7);
    for _ in 0..2_000 {
        let raw: [u8; 16] = rng.random();
        let digits = hex::encode(raw);
        let text = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-");
        for form in [
            text.clone(),
            format!(" {}\t", text.to_uppercase()),
            format!("{{{text}}}"),
            format!("urn:uuid:{text}"),
            format!("URN:UUID:{}", text.to_uppercase()),
            digits,
        ] {
            assert_eq!(apply(Rule::Uuid, &form), Ok(Some(text.clone().into_bytes())), "{form}");
        }
        assert_eq!(binary(Rule::Uuid, raw), Ok(Some(text.into_bytes())));
        assert_eq!(apply(Rule::Uuid, raw), Err(Invalid::NotAUuid));
    }
    for value in [
        "01234567-89ab-cdef-0123-456789abcde",
        "01234567-89ab-cdef-0123-456789abcdeff",
        "01234567-89ab-cdef-0123-456789abcdeg",
        "0123456-789ab-cdef-0123-456789abcdef",
        "01234567_89ab_cdef_0123_456789abcdef",
        "0123456789abcdef0123456789abcde",
        "{0123456789abcdef0123456789abcdef}",
        "{01234567-89ab-cdef-0123-456789abcdef",
        "uuid:01234567-89ab-cdef-0123-456789abcdef",
        "01234567-89ab-cdef-0123-456789abcdef\n",
        "{}",
        "x",
    ] {
        assert_eq!(apply(Rule::Uuid, value), Err(Invalid::NotAUuid), "{value:?}");
        assert_eq!(binary(Rule::Uuid, value), Err(Invalid::NotAUuid), "{value:?}");
    }
    assert_eq!(apply(Rule::Uuid, " \t"), Ok(None));
    assert_eq!(binary(Rule::Uuid, " \t"), Ok(None));
}

#[test]
fn a_date_is_read_in_the_order_of_its_table() {
    let [dmy, mdy, ymd] =
        [DateOrder::Dmy, DateOrder::Mdy, DateOrder::Ymd].map(|order| Rule::Date(Some(order)));
    becomes(
        dmy,
        &[
            ("21.11.2026", "2026-11-21"),
            ("21/11/2026", "2026-11-21"),
            ("21-11-2026", "2026-11-21"),
            (" 1.2.2026\t", "2026-02-01"),
            ("01.02.0001", "0001-02-01"),
            ("29.2.2024", "2024-02-29"),
            // Only one reading is left for a year in front.
            ("2026-11-21", "2026-11-21"),
            ("2026-02-01", "2026-02-01"),
            ("  ", ""),
        ],
    );
    becomes(mdy, &[("11/21/2026", "2026-11-21"), ("2.1.2026", "2026-02-01"), ("2026-02-01", "2026-02-01")]);
    becomes(
        ymd,
        &[
            ("2026/11/21", "2026-11-21"),
            ("2026.2.1", "2026-02-01"),
            ("2026-2-01", "2026-02-01"),
            ("20260201", "2026-02-01"),
        ],
    );
    let refused = |rule: Rule, value: &str| {
        let Rule::Date(Some(order)) = rule else { panic!() };
        assert_eq!(apply(rule, value), Err(Invalid::NotInOrder { order }), "{rule} {value:?}");
    };
    for value in [
        "29.2.2023",
        "31.4.2026",
        "11/21/2026",
        "0.1.2026",
        "1.13.2026",
        "1.1.0000",
        "1.2-2026",
        "1.2.26",
        "1.2.02026",
        "001.2.2026",
        "1..2026",
        "1.2.2026.",
        "1 2 2026",
        "1. 2. 2026",
        "01022026",
        "20260201",
        "2026/02/01",
        "1.Feb.2026",
        "+1.2.2026",
        "1.2.２026",
        "1.2.2026 ago",
        "x",
    ] {
        refused(dmy, value);
    }
    for (rule, value) in [(mdy, "21/11/2026"), (mdy, "02012026"), (ymd, "21.11.2026"), (ymd, "2026/21/11")] {
        refused(rule, value);
    }
    for (rule, value) in [
        (dmy, "21.11.2026 00:00:00"),
        (mdy, "11/21/2026 4:16 PM"),
        (ymd, "2026/11/21T04"),
        (dmy, "2026-11-21 04:16"),
    ] {
        assert_eq!(apply(rule, value), Err(Invalid::DateWithTime), "{rule} {value:?}");
    }
    let told = apply(dmy, "x").unwrap_err().to_string();
    assert!(told.contains("DMY") && told.contains("21.11.2026"), "{told}");

    // The same days as without an order, whatever they are written with.
    for (year, month, day) in
        (1999..2005).flat_map(|y| (0..14).flat_map(move |m| (0..33).map(move |d| (y, m, d))))
    {
        let expected = apply(Rule::Date(None), format!("{year}-{month:02}-{day:02}")).ok();
        for (rule, value) in [
            (dmy, format!("{day}.{month}.{year}")),
            (dmy, format!("{day:02}/{month:02}/{year}")),
            (mdy, format!("{month}-{day:02}-{year}")),
            (ymd, format!("{year}.{month:02}.{day}")),
        ] {
            assert_eq!(apply(rule, &value).ok(), expected, "{rule} {value}");
        }
    }
}

#[test]
fn a_postal_code_is_its_letters_and_digits() {
    becomes(
        Rule::Postcode,
        &[
            ("8001", "8001"),
            (" 80331 ", "80331"),
            ("sw1a 1aa", "SW1A1AA"),
            ("SW1A\u{a0}1AA", "SW1A1AA"),
            ("1234 AB", "1234AB"),
            ("1229-076", "1229076"),
            ("100\u{2010}0001", "1000001"),
            ("01310-100", "01310100"),
            ("ad100", "AD100"),
            // The United States: the extension goes.
            ("12345-6789", "12345"),
            ("12345 6789", "12345"),
            ("123456789", "12345"),
            ("12345", "12345"),
            // Iran has ten digits.
            ("1193653471", "1193653471"),
            ("12345678A", "12345678A"),
            (" - ", ""),
            ("\u{a0}", ""),
        ],
    );
    for value in [
        "1",
        "12345678901",
        "80331 München",
        "8001.",
        "８００１",
        "№8001",
        "SW1A/1AA",
        "8001,5",
        "e\u{301}8001",
    ] {
        assert_eq!(apply(Rule::Postcode, value), Err(Invalid::NotAPostcode), "{value:?}");
    }
    assert_eq!(apply(Rule::Postcode, b"8001\xff"), Err(Invalid::NotUtf8));
}
