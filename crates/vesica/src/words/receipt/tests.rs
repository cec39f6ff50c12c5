use serde_json::{Value, json};
use vesica_net::Identity;

use super::*;

/// The vectors of RFC 8785.
#[test]
fn the_canonical_form_is_that_of_rfc_8785() {
    let vectors: Value = serde_json::from_str(include_str!("rfc8785.json")).unwrap();
    let examples = vectors["examples"].as_array().unwrap();
    for example in examples {
        let input: Value = serde_json::from_str(example["input"].as_str().unwrap()).unwrap();
        let canonical = serde_json_canonicalizer::to_vec(&input).unwrap();
        let hex: String = canonical.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, example["canonical"].as_str().unwrap(), "{}", example["of"]);
    }
    let numbers = vectors["numbers"].as_array().unwrap();
    for pair in numbers {
        let bits = u64::from_str_radix(pair[0].as_str().unwrap(), 16).unwrap();
        let written = serde_json_canonicalizer::to_vec(&f64::from_bits(bits)).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), pair[1].as_str().unwrap());
    }
    assert_eq!((examples.len(), numbers.len()), (8, 24));
    assert!(serde_json_canonicalizer::to_vec(&f64::NAN).is_err());
}

/// A statement with everything that one may have.
fn statement([receiver, sender]: [&Identity; 2]) -> Statement {
    let party = |identity: &Identity, digit: &str| Party {
        key: identity.public_key().to_string(),
        items: Some(1000),
        started: "2026-01-01T00:00:00.000Z".into(),
        version: "0.1.0".into(),
        sent: digit.repeat(64),
    };
    Statement {
        session: "5".repeat(64),
        protocol: "vole".into(),
        parameters: [
            ("level", Scalar::Number(128)),
            ("paper_parameters", Scalar::Flag(true)),
            ("variant", Scalar::Name("x".into())),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into(),
        terms: [
            ("security".to_owned(), "malicious".to_owned()),
            ("learns".to_owned(), "receiver".to_owned()),
        ]
        .into(),
        result: "rows".into(),
        learns: "receiver".into(),
        parts: 1,
        receiver: party(receiver, "a"),
        sender: party(sender, "b"),
        set: Some(SetName { digest: "c".repeat(64), epoch: 3, served: "d".repeat(64), key_number: 1 }),
        wire: 2,
    }
}

fn signed(statement: Statement, [receiver, sender]: [&Identity; 2]) -> Receipt {
    let message = statement.message().unwrap();
    let [receiver, sender] = [receiver, sender].map(|identity| identity.sign(&message).unwrap());
    Receipt::of(statement, &receiver, &sender)
}

fn two() -> [Identity; 2] {
    [(); 2].map(|()| Identity::generate().unwrap())
}

fn checked(bytes: &[u8]) -> Result<Receipt, ReceiptError> {
    let (receipt, _) = Receipt::find(bytes)?;
    receipt.verify()?;
    Ok(receipt)
}

#[test]
fn a_receipt_of_both_holds_also_in_a_report_and_in_a_page() {
    let [one, other] = &two();
    let receipt = signed(statement([one, other]), [one, other]);
    let line = receipt.to_line().unwrap();
    assert_eq!(checked(line.as_bytes()).unwrap(), receipt);
    let report = json!({"schema": 1, "role": "receiver", "started": "", "receipt": &receipt, "keys": null});
    let pretty = format!("{report:#}");
    assert_eq!(checked(pretty.as_bytes()).unwrap(), receipt);
    let inside = report.to_string().replace('<', "\\u003c");
    let page = format!("<!doctype html><p>{}{inside}{}", IN_A_PAGE[0], IN_A_PAGE[1]);
    assert_eq!(checked(page.as_bytes()).unwrap(), receipt);
    let twice = page.clone() + &page;
    assert_eq!(checked(twice.as_bytes()), Err(ReceiptError::None));
    let without = json!({"schema": 1, "role": "receiver", "started": ""}).to_string();
    assert_eq!(checked(without.as_bytes()), Err(ReceiptError::None));
}

/// A character that differs makes another statement, or none.
#[test]
fn every_byte_of_a_receipt_counts() {
    let [one, other] = &two();
    let line = signed(statement([one, other]), [one, other]).to_line().unwrap();
    let bytes = line.trim_end().as_bytes();
    for at in 0..bytes.len() {
        for changed in [bytes[at] ^ 1, bytes[at] ^ 0x20, b' ', b'0', b'"', 0xff] {
            let mut copy = bytes.to_vec();
            copy[at] = changed;
            assert!(changed == bytes[at] || checked(&copy).is_err(), "byte {at} to {changed:#x}");
        }
        assert!(checked(&bytes[..at]).is_err(), "cut at {at}");
    }
}

#[test]
fn each_field_is_signed() {
    let [one, other] = &two();
    let receipt = signed(statement([one, other]), [one, other]);
    let changes: [fn(&mut Statement); 14] = [
        |of| of.session.replace_range(..1, "6"),
        |of| of.protocol = "dh".into(),
        |of| drop(of.parameters.remove("level")),
        |of| drop(of.terms.remove("security")),
        |of| drop(of.terms.insert("sigma".into(), "none".into())),
        |of| of.result = "count".into(),
        |of| of.learns = "both".into(),
        |of| of.parts = 2,
        |of| of.receiver.items = None,
        |of| of.sender.started.replace_range(..4, "2027"),
        |of| of.sender.version = "0.1.1".into(),
        |of| std::mem::swap(&mut of.receiver.sent, &mut of.sender.sent),
        |of| of.set = None,
        |of| of.wire = 3,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut changed = receipt.clone();
        change(&mut changed.statement);
        assert_eq!(changed.verify(), Err(ReceiptError::Signature(Role::Receiver)), "{number}");
    }
}

#[test]
fn each_side_signs_with_its_own_key_and_for_this_alone() {
    let [one, other] = &two();
    let receipt = signed(statement([one, other]), [one, other]);
    assert_eq!(receipt.verify(), Ok(()));
    // A signature in the place of the other one.
    let mut swapped = receipt.clone();
    std::mem::swap(&mut swapped.signatures.receiver, &mut swapped.signatures.sender);
    assert_eq!(swapped.verify(), Err(ReceiptError::Signature(Role::Receiver)));
    // The two sides in each other's place.
    let mut roles = receipt.clone();
    std::mem::swap(&mut roles.statement.receiver, &mut roles.statement.sender);
    std::mem::swap(&mut roles.signatures.receiver, &mut roles.signatures.sender);
    assert_eq!(roles.verify(), Err(ReceiptError::Signature(Role::Receiver)));
    // A stranger's signature.
    let [stranger, _] = two();
    let forged = signed(statement([one, other]), [one, &stranger]);
    assert_eq!(forged.verify(), Err(ReceiptError::Signature(Role::Sender)));
    // A signature over the statement without the words in front, as somebody may have got it for something else.
    let bare = serde_json_canonicalizer::to_vec(&receipt.statement).unwrap();
    let mut of_bare = receipt.clone();
    of_bare.signatures.sender = signature_to_text(&other.sign(&bare).unwrap());
    assert_eq!(of_bare.verify(), Err(ReceiptError::Signature(Role::Sender)));
    // One key for both sides.
    let alone = signed(statement([one, one]), [one, one]);
    assert_eq!(alone.verify(), Err(ReceiptError::Field("key")));
}

#[test]
fn strangers_are_named() {
    let [one, other] = &two();
    let [stranger, second] = &two();
    let keys = |identities: &[&Identity]| -> Vec<PublicKey> {
        identities.iter().map(|identity| *identity.public_key()).collect()
    };
    let receipt = signed(statement([one, other]), [one, other]);
    for known in [&[one][..], &[other], &[one, other], &[other, one]] {
        assert_eq!(receipt.is_between(&keys(known)), Ok(()));
    }
    let sender = ReceiptError::Stranger { role: Role::Sender, key: *other.public_key() };
    let receiver = ReceiptError::Stranger { role: Role::Receiver, key: *one.public_key() };
    assert_eq!(receipt.is_between(&keys(&[one, stranger])), Err(sender.clone()));
    assert_eq!(receipt.is_between(&keys(&[stranger, other])), Err(receiver.clone()));
    assert_eq!(receipt.is_between(&keys(&[stranger])), Err(sender));
    assert_eq!(receipt.is_between(&keys(&[stranger, second])), Err(receiver));
}

#[test]
fn what_no_run_writes_is_refused() {
    let [one, other] = &two();
    let line = signed(statement([one, other]), [one, other]).to_line().unwrap();
    let refused = |text: &str| {
        assert_ne!(text, line, "nothing was changed");
        checked(text.as_bytes()).map(drop).unwrap_err()
    };
    // Names that stand twice: which of the two was signed, readers could tell differently.
    for (name, value) in
        [("\"wire\"", "2"), ("\"version\"", "1"), ("\"items\"", "1000"), ("\"security\"", "\"malicious\"")]
    {
        let twice = line.replacen(&format!("{name}:{value}"), &format!("{name}:{value},{name}:{value}"), 1);
        assert!(matches!(refused(&twice), ReceiptError::Form(_)), "{name}");
    }
    let statement_twice = line.replacen("{\"signatures\"", "{\"statement\":{},\"signatures\"", 1);
    assert!(matches!(refused(&statement_twice), ReceiptError::Form(_)));
    // What is not signed has no place in it.
    assert!(matches!(refused(&line.replacen('{', "{\"note\":1,", 1)), ReceiptError::Form(_)));
    assert!(matches!(refused(&line.replace("\"wire\":2", "\"wire\":2,\"x\":1")), ReceiptError::Form(_)));
    // Another version.
    assert_eq!(refused(&line.replace("\"version\":1}", "\"version\":2}")), ReceiptError::Version(2));
    // Numbers that are rounded, and texts for a terminal.
    let long = line.replacen("\"items\":1000", "\"items\":9007199254740993", 1);
    assert_eq!(refused(&long), ReceiptError::Field("items"));
    assert!(matches!(refused(&line.replacen("1000", "1e3", 1)), ReceiptError::Form(_)));
    assert_eq!(refused(&line.replace("\"rows\"", "\"\\u001b[2J\"")), ReceiptError::Field("result"));
    assert_eq!(refused(&line.replace("\"0.1.0\"", "\"0.1.0é\"")), ReceiptError::Field("version"));
    // No JSON, too deep, too long, no text.
    for other in ["", "{", &"[".repeat(1 << 20), &format!("{{\"statement\":{}", "[".repeat(1 << 20))] {
        assert_eq!(refused(other), ReceiptError::NotJson, "{}", &other[..other.len().min(9)]);
    }
    for other in ["[]", "null", "7"] {
        assert!(matches!(refused(other), ReceiptError::Form(_)), "{other}");
    }
    assert!(matches!(refused(&" ".repeat(MOST_BYTES as usize + 1)), ReceiptError::Form(_)));
    assert_eq!(checked(&[0xff; 9]), Err(ReceiptError::NotJson));
}

#[test]
fn the_report_of_another_run_is_told_from_its_own() {
    let [one, other] = &two();
    let mut receipt = signed(Statement { set: None, ..statement([one, other]) }, [one, other]);
    let Statement { receiver, sender, session, protocol, terms, .. } = &mut receipt.statement;
    receiver.items = Some(77);
    let report = json!({
        "role": "sender", "session": session, "protocol": protocol, "started": &sender.started,
        "keys": {"mine": &sender.key, "partner": &receiver.key},
        "transcript": {"sent": &sender.sent, "received": &receiver.sent},
        "terms": terms, "learns": "receiver", "result": {"kind": "rows"}, "confirmed": true,
        "parameters": {"level": 128, "paper_parameters": true, "variant": "x", "max_tested_keys": 9},
        "sizes": {"rows": 5, "shown_items": 1000, "peer_items": 77},
    });
    let is_of = |report: &Value| receipt.is_of(&ReportedRun::find(report.to_string().as_bytes()).unwrap());
    assert_eq!(is_of(&report), Ok(()));
    for (field, what) in [
        ("session", "the session"),
        ("protocol", "the protocol"),
        ("keys", "the keys of the two sides"),
        ("transcript", "the transcript"),
        ("learns", "the result, or who learns it,"),
        ("result", "the result, or who learns it,"),
        ("sizes", "a size"),
    ] {
        let mut without = report.clone();
        without[field] = Value::Null;
        assert_eq!(is_of(&without), Err(ReceiptError::OtherRun(what)));
    }
    for (place, value, what) in [
        ("/terms/security", json!("semi-honest"), "the terms"),
        ("/parameters/level", json!(129), "a parameter"),
        ("/learns", json!("both"), "the result, or who learns it,"),
        ("/result/kind", json!("count"), "the result, or who learns it,"),
        ("/sizes/shown_items", json!(77), "a size"),
        ("/sizes/peer_items", json!(1000), "a size"),
        ("/confirmed", json!(false), "whether the run was confirmed"),
    ] {
        let mut changed = report.clone();
        *changed.pointer_mut(place).unwrap() = value;
        assert_eq!(is_of(&changed), Err(ReceiptError::OtherRun(what)), "{place}");
    }
    // Which of two terms a reader takes, nobody could tell.
    let twice = report.to_string().replacen("\"security\"", "\"security\":\"none\",\"security\"", 1);
    assert!(matches!(ReportedRun::find(twice.as_bytes()), Err(ReceiptError::NoReport(_))));
    let mut changed = report.clone();
    changed["role"] = "receiver".into();
    assert!(is_of(&changed).is_err());
    changed["role"] = "helper".into();
    assert_eq!(is_of(&changed), Err(ReceiptError::OtherRun("the role")));
    let mut later = report;
    later["started"] = "2026-01-01T00:00:00.001Z".into();
    assert_eq!(is_of(&later), Err(ReceiptError::OtherRun("the time")));
}

#[test]
fn its_words_tell_who_learnt_what() {
    let [one, other] = &two();
    let mut receipt = signed(statement([one, other]), [one, other]);
    let keys = [one, other].map(|identity| *identity.public_key());
    let words = receipt.in_words(&keys);
    for said in
        ["security malicious", "which of its own rows match", "at epoch 3", "keys are those that were"]
    {
        assert!(words.contains(said), "{said}\n{words}");
    }
    assert_eq!(words.matches("which of its own rows match").count(), 1, "a sender learns no rows");
    receipt.statement.learns = "both".into();
    assert_eq!(receipt.in_words(&[]).matches("which of its own rows match").count(), 2);
}

#[test]
fn its_words_say_which_key_was_expected() {
    let [one, other] = &two();
    let receipt = signed(statement([one, other]), [one, other]);
    let [receiver, sender] = [one, other].map(|identity| *identity.public_key());
    for (expected, said) in [
        (&[][..], "Whose keys these are, it does not say"),
        (&[receiver], "The receiver has an expected key. No key was named for the sender"),
        (&[sender], "The sender has an expected key. No key was named for the receiver"),
        (&[receiver, sender], "Both keys are those that were expected"),
    ] {
        let words = receipt.in_words(expected);
        assert!(words.contains(said), "{said}\n{words}");
        assert_eq!(words.contains("those that were expected"), expected.len() == 2, "{words}");
    }
}

#[test]
fn its_words_tell_of_limits_noise_and_several_rules() {
    let [one, other] = &two();
    let mut statement = Statement { set: None, result: "count".into(), ..statement([one, other]) };
    for (term, value) in
        [("min-matches", "5"), ("audit-max", "none"), ("noise", "2"), ("key rules", "email + phone")]
    {
        statement.terms.insert(term.into(), value.into());
    }
    let words = signed(statement.clone(), [one, other]).in_words(&[]);
    let learned: Vec<&str> =
        words.lines().filter(|line| line.contains("was to learn")).map(str::trim).collect();
    let both = "was to learn the size of the other set, padding included; whether at least 5 keys match, by a count \
                with noise";
    assert_eq!(learned, [&*format!("{both}; how many keys match, with noise"), both]);
    assert!(words.contains("kept the result back"), "{words}");
    statement.terms.insert("audit-max".into(), "9".into());
    (statement.result, statement.protocol) = ("rows".into(), "naive-hash".into());
    let words = signed(statement, [one, other]).in_words(&[]);
    for said in ["by each rule", "whether more than 9 keys match"] {
        assert!(words.contains(said), "{said}\n{words}");
    }
}
