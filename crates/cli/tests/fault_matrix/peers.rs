//! Peers that hold the right key and keep no other rule: bytes that no honest program sends, against a real sender.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use vesica::channel::codec::{Reader, Writer};
use vesica::channel::{Kind, MAX_PAYLOAD};
use vesica::net::{Identity, PublicKey};
use vesica_net::testing::{RawPeer, frame};

use crate::common::{SENDER, nothing_lost, with};
use crate::page::{Row, Section};
use crate::{Job, scene};

/// Rows of the sender's table.
const ROWS: usize = 5;
/// How long the sender waits where it is to wait in vain.
const SHORT: &str = "2s";
const LONG: &str = "5m";

const DATA: u8 = 1;
const DONE: u8 = 4;

type Play = fn(RawPeer) -> RawPeer;

/// What a peer does, the sender's `--timeout`, and its code and words.
const PEERS: [(&str, &str, Play, i32, &str); 23] = [
    ("says hello in another version", LONG, |p| says(p, &hello(9)), 77, "speaks version 9"),
    (
        "says no hello but something else",
        SHORT,
        |p| says(p, b"GET / HTTP/1.1\r\n\r\n"),
        69,
        "did not connect",
    ),
    (
        "does not return our nonce",
        SHORT,
        |p| says(p, &[hello(vesica::net::VERSION), vec![7; 32]].concat()),
        69,
        "did not connect",
    ),
    ("says hello and nothing more", SHORT, greeted, 69, "fell silent"),
    (
        "says hello, and then only that it lives",
        SHORT,
        |p| beats(greeted(p)),
        69,
        "did not complete its answer",
    ),
    ("sends its terms a byte at a time", SHORT, dribbles, 69, "did not complete its answer"),
    ("gives up", LONG, |p| says(greeted(p), &frame(Kind::Abort, b"")), 69, "the partner ended the run"),
    (
        "is done before it has begun",
        LONG,
        |p| says(greeted(p), &frame(Kind::Done, b"")),
        77,
        "rejected the run's parameters",
    ),
    ("sends a frame of an unknown type", LONG, |p| says(greeted(p), &[9, 0, 0, 0, 0]), 76, "unknown type 9"),
    (
        "sends a frame that is too long",
        LONG,
        |p| says(greeted(p), &head(1, MAX_PAYLOAD + 1)),
        76,
        "not allowed",
    ),
    ("sends an empty frame", LONG, |p| says(greeted(p), &head(1, 0)), 76, "not allowed"),
    ("sends a heartbeat that carries bytes", LONG, |p| says(greeted(p), &head(2, 1)), 76, "not allowed"),
    (
        "announces terms that are too long",
        LONG,
        |p| says(greeted(p), &data(&[0, 0xff, 0xff])),
        76,
        "terms that does not decode",
    ),
    (
        "sends terms that are none",
        LONG,
        |p| says(greeted(p), &data(&[0, 3, 0, 9, 9, 9])),
        76,
        "terms that does not decode",
    ),
    ("hangs up in the middle of its terms", LONG, hangs_up, 69, "closed the connection"),
    (
        "has a set beyond the limits",
        LONG,
        |p| says(sized(p, 1 << 40), &frame(Kind::Done, b"")),
        77,
        "accepts",
    ),
    ("agrees and falls silent", SHORT, |p| agreed(p, ROWS as u64), 69, "fell silent"),
    ("agrees and is done", LONG, |p| says(agreed(p, 5), &frame(Kind::Done, b"")), 76, "done in the middle"),
    ("sends less than a message and is done", LONG, short, 76, "done in the middle"),
    (
        "sends no group elements but other bytes",
        LONG,
        |p| says(agreed(p, 5), &data(&[0xff; 160])),
        76,
        "not valid",
    ),
    (
        "sends more than was agreed",
        LONG,
        |p| says(agreed(p, 0), &data(&[0; 32])),
        76,
        "more than the conversation",
    ),
    ("has other terms, and then only lives", SHORT, differs_and_beats, 77, "both sides run `send`"),
    ("confirms another run", LONG, other_run, 76, "did not see the same run"),
];

/// The tables of this file, and the jobs that fill them.
pub(crate) fn sections() -> Vec<(Section, Vec<Job>)> {
    let peers = PEERS.map(|(what, timeout, play, code, word)| -> Job {
        (what.to_owned(), Box::new(move || against(what.to_owned(), timeout, play, code, &[word])))
    });
    let section = |title: &str, text: &'static str, jobs: Vec<Job>| {
        let head: &[_] = &["the peer", "the sender"];
        (Section { title: title.into(), text, head, rows: Vec::new() }, jobs)
    };
    let fields = fields().into_iter().map(|field| -> Job {
        let run = move || {
            let word = format!("{field}: mine ");
            let other = field.clone();
            let play = move |peer| says(differing(peer, &other), &frame(Kind::Done, b""));
            against(format!("has other terms: {field}"), LONG, play, 77, &[&word, "theirs other"])
        };
        ("terms".to_owned(), Box::new(run))
    });
    vec![
        section(
            "Peers that keep no rule",
            "The peer has the right key, and sends what no honest program sends. (A stranger's bytes do not get this \
             far.)",
            peers.into_iter().chain([silent()]).collect(),
        ),
        section(
            "Terms that differ",
            "The peer changes one field of the terms at a time, and is otherwise honest.",
            fields.collect(),
        ),
    ]
}

/// Runs a sender against a peer. The peer stays until the sender has ended.
fn against(
    what: String,
    timeout: &str,
    play: impl FnOnce(RawPeer) -> RawPeer,
    code: i32,
    words: &[&str],
) -> Row {
    let scene = scene(ROWS);
    let named = ["--timeout", timeout, "--security", "semi-honest", "--protocol", "dh"];
    let (sender, address) = scene.sender(&with(&SENDER, &named));
    let identity = Identity::load(&scene.path("receiver.pem")).unwrap();
    let key: PublicKey = scene.sender_key.parse().unwrap();
    let peer = play(RawPeer::connect(address.parse().unwrap(), &identity, &key).unwrap());
    let sender = sender.end();
    drop(peer);
    sender.expect(code, &with(words, &["where: ", "what to do: "]));
    nothing_lost(&scene, &[&sender]);
    Row::new(what, [Some(&sender), None])
}

/// A connection over which not even TLS is spoken.
fn silent() -> Job {
    let run = || {
        let scene = scene(ROWS);
        let (sender, address) = scene.sender(&with(&SENDER, &["--timeout", SHORT]));
        let _silent = TcpStream::connect(address).unwrap();
        let sender = sender.end();
        sender.expect(69, &["did not connect", "where: ", "what to do: "]);
        nothing_lost(&scene, &[&sender]);
        Row::new("connects and says nothing", [Some(&sender), None])
    };
    ("silent".to_owned(), Box::new(run))
}

fn says(mut peer: RawPeer, bytes: &[u8]) -> RawPeer {
    peer.write_all(bytes).and_then(|()| peer.flush()).unwrap();
    peer
}

fn hello(version: u16) -> Vec<u8> {
    [&b"VESICA\r\n"[..], &version.to_le_bytes(), &[1; 32]].concat()
}

fn head(kind: u8, length: usize) -> Vec<u8> {
    [&[kind][..], &(length as u32).to_le_bytes()].concat()
}

fn data(payload: &[u8]) -> Vec<u8> {
    frame(Kind::Data, payload)
}

fn greeted(mut peer: RawPeer) -> RawPeer {
    peer.hello([1; 32]).unwrap();
    peer
}

/// The payload of the next frame of this kind.
fn next(peer: &mut RawPeer, wanted: u8) -> Vec<u8> {
    loop {
        let mut head = [0; 5];
        peer.read_exact(&mut head).unwrap();
        let [kind, length @ ..] = head;
        let mut payload = vec![0; u32::from_le_bytes(length) as usize];
        peer.read_exact(&mut payload).unwrap();
        if kind == wanted {
            return payload;
        }
    }
}

fn beats(mut peer: RawPeer) -> RawPeer {
    while peer.write_all(&frame(Kind::Heartbeat, b"")).and_then(|()| peer.flush()).is_ok() {
        thread::sleep(Duration::from_millis(100));
    }
    peer
}

/// Each byte is a sign of life, and the next follows well before it would be missed.
fn dribbles(peer: RawPeer) -> RawPeer {
    let mut peer = says(greeted(peer), &data(&[0, 0xff, 0x3f]));
    while peer.write_all(&data(b"x")).and_then(|()| peer.flush()).is_ok() {
        thread::sleep(Duration::from_millis(200));
    }
    peer
}

fn hangs_up(peer: RawPeer) -> RawPeer {
    let mut peer = says(greeted(peer), &data(&[0, 200, 0, 1, 2, 3]));
    // What came is read: otherwise the system may reset the connection, and what was sent is lost.
    next(&mut peer, DATA);
    peer.hang_up();
    peer
}

/// Terms as the sender's, from the other side; `edit` may change a field.
fn mirrored(theirs: &[u8], edit: &str) -> Vec<u8> {
    let (mut reader, mut writer) = (Reader::new(&theirs[3..]), Writer::new());
    let sends = reader.bool().unwrap();
    writer.bool(sends == (edit == "role"));
    writer.u8(reader.u8().unwrap()).u64(reader.u64().unwrap()).u64(reader.u64().unwrap());
    writer.u32(reader.u32().unwrap());
    let protocol = reader.text(1024).unwrap();
    writer.text(match edit {
        "protocol" => "other",
        // It is compared only where a side says `auto`.
        "table of auto" => "auto",
        _ => protocol,
    });
    let fields = reader.list(64, |reader| Ok((reader.text(1024)?, reader.text(1024)?))).unwrap();
    writer.list(&fields, |writer, (name, value)| {
        writer.text(name).text(if *name == edit { "other" } else { value });
    });
    writer.u8(reader.u8().unwrap());
    let terms = writer.into_vec();
    [&[0][..], &(terms.len() as u16).to_le_bytes(), &terms].concat()
}

/// The fields of the terms, by the order in which they are compared.
fn fields() -> Vec<String> {
    let terms = vesica::terms::Terms::new(
        vesica::protocols::Role::Sender,
        &vesica::settings::Settings::default(),
        &["raw".to_owned()],
    );
    ["protocol"]
        .into_iter()
        .chain(terms.equal().iter().map(|(name, _)| name.as_str()))
        .map(str::to_owned)
        .collect()
}

fn differing(peer: RawPeer, field: &str) -> RawPeer {
    let mut peer = greeted(peer);
    let terms = mirrored(&next(&mut peer, DATA), field);
    says(peer, &data(&terms))
}

/// Agrees on the terms, and has a set of this size; it began in 1970, and has no version.
fn sized(peer: RawPeer, items: u64) -> RawPeer {
    let mut peer = differing(peer, "");
    assert!(next(&mut peer, DATA).starts_with(&(ROWS as u64).to_le_bytes()));
    says(peer, &data(&[&items.to_le_bytes()[..], &[0; 9]].concat()))
}

/// Agrees on everything, with a set of this size, in one part.
fn agreed(peer: RawPeer, items: u64) -> RawPeer {
    let mut peer = sized(peer, items);
    let one = [1u32, 1].map(u32::to_le_bytes).concat();
    assert_eq!(next(&mut peer, DATA), one);
    says(peer, &data(&one))
}

/// The other side of a difference takes its leave; this one does not.
fn differs_and_beats(peer: RawPeer) -> RawPeer {
    beats(differing(peer, "role"))
}

fn short(peer: RawPeer) -> RawPeer {
    says(agreed(peer, 5), &[data(&[0; 31]), frame(Kind::Done, b"")].concat())
}

/// Nothing is asked of a receiver without items but its confirmation.
fn other_run(peer: RawPeer) -> RawPeer {
    let mut peer = agreed(peer, 0);
    // Not before the sender has said all it has to say: it would be in the middle of something.
    let digests = next(&mut peer, DONE).len() - size_of::<u64>();
    let done = [vec![0; digests], u64::MAX.to_le_bytes().to_vec()].concat();
    says(peer, &frame(Kind::Done, &done))
}
