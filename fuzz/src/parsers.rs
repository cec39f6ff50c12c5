//! Decoders of one message or one text: the codec, frames, hello, what parties and a relay say, terms, receipts, ledgers of
//! runs, identities, public keys, key rules.

use std::borrow::Cow;

use vesica::ledger::testing::{chained, of_bytes};
use vesica::receipt::Receipt;
use vesica::settings::Settings;
use vesica::terms::Terms;
use vesica_channel::Kind;
use vesica_channel::codec::{CodecError, Reader, Writer};
use vesica_encode::items::{Encoding, Width};
use vesica_net::relay::{Join, Label};
use vesica_net::testing::{frame, frames, hello, join, records, replies, signs};
use vesica_net::{Identity, PublicKey};
use vesica_protocols::Role;
use vesica_table::{DateOrder, Input, KeySpec, PairSpec, Request, Rule, Value};

use crate::{Target, mutate};

const NONCE: [u8; 32] = [7; 32];

pub(crate) fn targets() -> Vec<Target> {
    let frames = Target { mutate: mutate::framed, ..Target::new("frames", read_frames, framed(), 20000) };
    let key = PublicKey::from_bytes([9; 32]).to_string().into_bytes();
    let identity = Identity::generate().and_then(|identity| identity.to_pem()).unwrap();
    vec![
        Target::new("codec", decode, vec![vec![0; 8], (0..40).collect()], 20000),
        frames,
        Target::new("hello", say_hello, hellos(), 20000),
        Target::new("relay-join", read_join, joins(), 20000),
        Target::new("relay-records", read_records, record_streams(), 5000),
        Target::new("relay-sign", read_signs, vec![vec![1, 1, 2, 3, 0], vec![2, 0xff, 0xff]], 20000),
        Target::new("relay-reply", read_replies, vec![vec![1, 1, 2, 0, 0, 0, 0], vec![3, 1], vec![4]], 20000),
        Target::new("terms", read_terms, terms(), 20000),
        Target::new("receipt", read_receipt, Vec::new(), 20000),
        Target::new("ledger", read_ledger, Vec::new(), 20000),
        Target::new("identity", read_identity, vec![identity.as_bytes().to_vec()], 10000),
        Target::new("public-key", read_public_key, vec![key], 20000),
        Target::new(
            "key-spec",
            read_key_spec,
            vec![b"mail:email".to_vec(), b"\"a:b\"=c:int".to_vec()],
            20000,
        ),
        Target::new("rules", apply_rules, values(), 30000),
    ]
}

/// The first byte of each pair chooses the value to read, the second its limit.
fn decode(input: &[u8]) {
    let (steps, rest) = input.split_at(input.len() / 2);
    let mut reader = Reader::new(rest);
    for step in steps.chunks_exact(2) {
        let limit = usize::from(step[1]);
        let before = reader.left();
        let read = read_value(&mut reader, step[0], limit);
        assert!(reader.left() <= before);
        if read.is_err() {
            break;
        }
    }
    let left = reader.left() as u64;
    assert_eq!(reader.finish().err(), (left > 0).then_some(CodecError::Leftover { left }));
}

fn read_value(reader: &mut Reader<'_>, what: u8, limit: usize) -> Result<(), CodecError> {
    match what % 9 {
        0 => reader.u8().map(drop),
        1 => reader.u16().map(drop),
        2 => reader.u32().map(drop),
        3 => reader.u64().map(drop),
        4 => reader.bool().map(drop),
        5 => reader.fixed(limit).map(|bytes| assert_eq!(bytes.len(), limit)),
        6 => reader.bytes(limit).map(|bytes| assert!(bytes.len() <= limit)),
        7 => reader.text(limit).map(|text| assert!(text.len() <= limit)),
        _ => reader.list(limit, Reader::u16).map(|list| assert!(list.len() <= limit)),
    }
}

fn framed() -> Vec<Vec<u8>> {
    let kinds =
        [(Kind::Data, 5), (Kind::Heartbeat, 0), (Kind::Data, 300), (Kind::Done, 72), (Kind::Abort, 0)];
    let each = kinds.map(|(kind, length)| frame(kind, &vec![3; length]));
    [each.concat()].into_iter().chain(each).collect()
}

/// The value that was read encodes to the beginning of the input, byte for byte.
fn read_frames(input: &[u8]) {
    let (found, _) = frames(input);
    let again: Vec<u8> = found.iter().flat_map(|(kind, payload)| frame(*kind, payload)).collect();
    assert!(input.starts_with(&again));
}

fn hellos() -> Vec<Vec<u8>> {
    let hello = |version: u16| {
        let mut hello = Writer::new();
        hello.fixed(b"VESICA\r\n").u16(version).fixed(&[8; 32]).fixed(&NONCE);
        hello.into_vec()
    };
    vec![hello(vesica_net::VERSION), hello(9), b"GET / HTTP/1.1\r\n".to_vec()]
}

/// A peer has said hello only if it echoes our nonce, and not as its own.
fn say_hello(input: &[u8]) {
    if hello(input, NONCE) {
        assert_eq!((&input[..8], &input[42..74]), (&b"VESICA\r\n"[..], &NONCE[..]));
        assert_ne!(input[10..42], NONCE);
    }
}

fn joins() -> Vec<Vec<u8>> {
    let (key, label) = (PublicKey::from_bytes([9; 32]), Label([5; 32]));
    let joins = [
        Join::Run { label, partner: key },
        Join::Part { tag: label, partner: key, part: 7, round: 1 },
        Join::Grant { run_key: key, tag: label },
    ];
    joins.map(|join| join.encode()).into()
}

/// A byte that says in which pieces they arrive, and records.
fn record_streams() -> Vec<Vec<u8>> {
    let long = [&[200, 23, 3, 3, 0x40, 0x10][..], &[1; 0x4010], &[21, 3, 3, 0, 2, 1, 0], b"bare"].concat();
    vec![vec![1, 22, 3, 1, 0, 2, 5, 6, 23, 3, 3, 0, 0, 0], long, b"\x07HTTP/1.1 400 Bad Request".to_vec()]
}

/// Records come one by one, as they are, however they arrive.
fn read_records(input: &[u8]) {
    let Some((piece, bytes)) = input.split_first() else { return };
    let found = records(bytes, usize::from(*piece));
    for record in &found {
        let length = usize::from(u16::from_be_bytes([record[3], record[4]]));
        assert!(record.len() == 5 + length && length <= (1 << 14) + 256);
    }
    assert!(bytes.starts_with(&found.concat()));
    assert_eq!(found, records(bytes, usize::MAX));
}

/// One form for one meaning; what follows a JOIN is not looked at.
fn read_join(input: &[u8]) {
    if let Some(again) = join(input) {
        assert!(input.starts_with(&again));
        assert!((0..again.len()).all(|length| join(&input[..length]).is_none()), "none before its end");
    }
}

fn read_replies(input: &[u8]) {
    assert!(input.starts_with(&replies(input)));
}

fn read_signs(input: &[u8]) {
    assert!(input.starts_with(&signs(input)));
}

fn terms() -> Vec<Vec<u8>> {
    let rules = |count: usize| vec!["email-uid2".to_owned(); count];
    let of = |role, count| Terms::new(role, &Settings::default(), &rules(count)).encode();
    vec![of(Role::Receiver, 1), of(Role::Sender, 40)]
}

fn read_terms(input: &[u8]) {
    let Ok(terms) = Terms::decode(input) else { return };
    assert_eq!(terms.encode(), input, "one form for one meaning");
    let mine = Terms::new(Role::Receiver, &Settings::default(), &["raw".to_owned()]);
    let (here, there) = (mine.differences(&terms), terms.differences(&mine));
    assert_eq!(here.len(), there.len(), "both sides see the same differences");
    for difference in &here {
        let shown = difference.to_string();
        assert!(shown.bytes().all(|byte| (0x20..0x7f).contains(&byte)), "{shown:?} on a terminal");
    }
}

/// What is read has one form, and does nothing to a terminal.
fn read_receipt(input: &[u8]) {
    let Ok((receipt, report)) = Receipt::find(input) else { return };
    let line = receipt.to_line().unwrap();
    assert_eq!(Receipt::find(line.as_bytes()), Ok((receipt.clone(), None)));
    let words = receipt.in_words(&[]);
    assert!(words.bytes().all(|byte| byte == b'\n' || (0x20..0x7f).contains(&byte)), "{words:?}");
    drop(receipt.verify());
    drop(report.map(|report| receipt.is_of(&report)));
}

/// As a ledger, and as what its lines say: a changed line no longer fits its digest. What is read does nothing to a terminal.
fn read_ledger(input: &[u8]) {
    for bytes in [input.to_vec(), chained(input)] {
        let Some(summary) = of_bytes(&bytes) else { continue };
        let sets = summary.partners.iter().flat_map(|partner| &partner.sets);
        let words = format!("{summary:?}").replace("\\\\", "").replace("\\\"", "");
        assert!(words.bytes().all(|byte| (0x20..0x7f).contains(&byte) && byte != b'\\'), "{words}");
        for counts in sets.map(|set| set.counts) {
            let most = counts.most.unwrap_or(u64::MAX);
            assert_eq!(counts.left, Some(most.saturating_sub(counts.spent)));
        }
        assert!(bytes.len() as u64 > summary.lines && of_bytes(&bytes).is_some_and(|again| again == summary));
    }
}

fn read_identity(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(identity) = Identity::from_pem(text) else { return };
    let again = Identity::from_pem(&identity.to_pem().unwrap()).unwrap();
    assert_eq!(again.public_key(), identity.public_key());
}

fn read_public_key(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(key) = text.parse::<PublicKey>() else { return };
    assert_eq!(key.to_string(), text, "one text for one key");
}

fn read_key_spec(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Ok(spec) = text.parse::<KeySpec>() {
        assert!(!spec.column.is_empty());
        // A column is found by any name.
        let _found = Input::spool("input", &mut &b"a,b\n1,2\n"[..]).and_then(|input| {
            let request = Request::new(vec![spec], Encoding::Digest(Width::Digest128));
            input.load(&request, &mut |_| std::ops::ControlFlow::Continue(()))
        });
    }
    if let Ok(pair) = text.parse::<PairSpec>() {
        assert_eq!(pair.mine().rule, pair.theirs().rule);
    }
}

fn values() -> Vec<Vec<u8>> {
    let values = [
        "Jane.Saoirse+x@Gmail.com",
        " ﬁ Ümläut\u{301} ",
        "2001:db8::1",
        "192.0.2.1",
        "2026-02-28T23:59:60.5+01:00",
        "-000123",
        "tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRQ=",
        "Prof. Dr. Łukasz O’Brien-\u{200b}Đặng",
        "sw1a 1aa",
        "21.11.2026 04:16",
        "{01234567-89AB-cdef-0123-456789abcdef}",
    ];
    values.map(|value| value.as_bytes().to_vec()).into()
}

/// A rule only appends. It appends the same bytes for the same value, after any other bytes.
fn apply_rules(input: &[u8]) {
    let orders = ["DMY", "MDY", "YMD"].map(|name| Rule::Date(DateOrder::find(name)));
    let rules = Rule::ALL.into_iter().chain(orders);
    for (rule, binary) in rules.flat_map(|rule| [(rule, false), (rule, true)]) {
        let bytes = Cow::Borrowed(input);
        let value = || if binary { Value::Binary(bytes.clone()) } else { Value::Text(bytes.clone()) };
        let (mut alone, mut after) = (Vec::new(), b"before".to_vec());
        let (first, second) = (rule.apply(value(), &mut alone), rule.apply(value(), &mut after));
        assert_eq!(first.is_ok(), second.is_ok());
        if first.is_ok() {
            assert_eq!([&b"before"[..], &alone].concat(), after, "{rule}");
        }
    }
}
