//! `vesica serve` among many: budgets over restarts, a server that is killed, a disk that refuses, peers that send what no
//! receiver sends; and the bytes of a query.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use vesica::channel::Kind;
use vesica::net::{Identity, PublicKey};
use vesica_crypto::group::{Group as _, Ristretto255 as G};
use vesica_net::testing::{RawPeer, frame};

use crate::common::{ANOTHER_DAY, Party, Scene, emails, plain_join, with};
use crate::kept_sets::{MINE, lookup, published, report, serve, serve_at, stop};
use crate::relay::relay;

/// Receivers at once.
const MANY: usize = 20;
/// Keys of each: four batches.
const KEYS: usize = 1800;
/// How often the server is killed.
const KILLS: u64 = 6;

const SET: [&str; 4] = ["--secret", "set.key", "--set", "set"];

/// The charges of a ledger: whose, how many keys, and the digest of the query.
fn charges(scene: &Scene) -> Vec<([u8; 32], u32, [u8; 32])> {
    let bytes = fs::read(scene.path("ledger")).unwrap();
    let records = bytes.strip_prefix(b"vesica ledger 1\n").unwrap().as_chunks::<92>().0.iter();
    let of = |record: &[u8; 92]| {
        let keys = u32::from_le_bytes(record[40..44].try_into().unwrap());
        (record[..32].try_into().unwrap(), keys, record[44..76].try_into().unwrap())
    };
    records.map(of).collect()
}

/// Keys that were charged, by receiver. No batch is charged twice.
fn charged(scene: &Scene) -> HashMap<[u8; 32], u64> {
    let (mut sums, mut queries) = (HashMap::new(), HashSet::new());
    for (receiver, keys, query) in charges(scene) {
        assert!(queries.insert(query), "a batch was charged twice");
        *sums.entry(receiver).or_default() += u64::from(keys);
    }
    sums
}

fn key(text: &str) -> PublicKey {
    text.parse().unwrap()
}

// ---- budgets --------------------------------------------------------------------------------------------------------

#[test]
fn a_budget_holds_over_restarts_and_says_when_it_renews() {
    let scene = published(&emails("sender", 700, 650), &[]);
    let budget = ["--max-keys-per-day", "600"];
    let (mut server, mut address) = serve(&scene, &budget);
    let mut ask = |keys: usize, restart: bool| {
        if restart {
            server.signal(Signal::KILL);
            (server, address) = serve(&scene, &budget);
        }
        scene.write("receiver.csv", emails("receiver", keys, keys));
        scene.write("out.csv", ANOTHER_DAY);
        lookup(&scene, &address, &MINE)
    };
    let over =
        |left: &str| format!("the sender's budget for this side is used up: {left} keys are left until 20");
    // Two batches, of which the first would be within the budget.
    ask(601, false).expect(77, &[&over("600"), "T00:00:00Z", "ask for fewer keys, or run again after 20"]);
    assert_eq!(scene.read("out.csv"), ANOTHER_DAY);
    ask(360, false).expect(0, &["360 of 360 rows match", "answers up to 600 keys a day"]);
    ask(241, false).expect(77, &[&over("240")]);
    assert_eq!(scene.read("out.csv"), ANOTHER_DAY);
    ask(241, true).expect(77, &[&over("240")]);
    ask(240, true).expect(0, &["240 of 240 rows match"]);
    ask(1, true).expect(77, &[&over("0")]);
    ask(1, false).expect(77, &[&over("0")]);
    // None of the refused ones was charged.
    assert_eq!(charged(&scene), HashMap::from([(*key(&scene.receiver_key).as_bytes(), 600)]));
    let said = stop(server).screen;
    assert_eq!(said.matches("refused; it is over its budget").count(), 2, "{said}");
}

#[test]
fn a_server_that_is_killed_charges_nobody_twice_and_every_receiver_has_its_rows() {
    let scene = published(&emails("sender", 1 << 14, 1000), &[]);
    scene.write("receiver.csv", emails("receiver", KEYS, 1000));
    let mut keys = Vec::new();
    for number in 0..MANY {
        let made = scene.run(&["keygen", "--output", &format!("r{number}.pem")]);
        keys.push(String::from_utf8(made.stdout).unwrap().trim().to_owned());
    }
    scene.write("receivers", keys.join("\n"));
    // As many keys as each has: a batch that is charged twice would not be answered.
    let budget = KEYS.to_string();
    let how =
        [&SET[..], &["--allow", "@receivers", "--max-keys-per-day", &budget, "--threads", "1"]].concat();
    let (mut server, address) = serve_at(&scene, "127.0.0.1:0", &how);
    let receivers: Vec<Party> = (0..MANY)
        .map(|number| {
            let (identity, output) = (format!("r{number}.pem"), format!("out{number}.csv"));
            let args = ["lookup", "--connect", &address, "--peer", &scene.sender_key, "--set", "set"];
            let own = ["--identity", &identity, "--output", &output];
            scene.start(&[&args[..], &MINE, &own].concat())
        })
        .collect();
    let mut killed = 0;
    for _ in 0..KILLS {
        thread::sleep(Duration::from_millis(40 + rand::random::<u64>() % 160));
        server.signal(Signal::KILL);
        let screen = server.end().screen;
        killed += screen.matches("keys answered").count();
        (server, _) = serve_at(&scene, &address, &how);
    }
    let expected = plain_join(&scene.read("receiver.csv"), &scene.read("sender.csv"));
    let mut again = 0;
    for (number, receiver) in receivers.into_iter().enumerate() {
        let ended = receiver.end();
        ended.expect(0, &[&format!("1000 of {KEYS} rows match")]);
        again += usize::from(ended.screen.contains("asking again for what was not answered"));
        assert_eq!(scene.read(&format!("out{number}.csv")), expected);
    }
    println!("{killed} queries were over before the last kill; {again} receivers asked again");
    assert!(again > 0, "no server was killed in time");
    let expected = keys.iter().map(|text| (*key(text).as_bytes(), KEYS as u64)).collect();
    assert_eq!(charged(&scene), expected);
    stop(server);
}

#[test]
fn a_ledger_that_cannot_be_written_ends_the_server_before_it_answers() {
    let scene = published(&emails("sender", 30, 10), &[]);
    scene.write("receiver.csv", emails("receiver", 1, 1));
    let mut limited = Command::new("sh");
    limited.args(["-c", r#"ulimit -f 1; exec "$0" "$@""#, env!("CARGO_BIN_EXE_vesica")]);
    let args = ["serve", "--listen", "127.0.0.1:0", "--identity", "sender.pem", "--ledger", "ledger"];
    let args = [&args[..], &SET, &["--allow", &scene.receiver_key]].concat();
    let mut server = scene.start_as(limited, &args);
    let line = server.wait_for("listening on ");
    let address = line.trim_start_matches("listening on ").split(';').next().unwrap().to_owned();
    // A block of files has 512 or 1024 bytes, and a record 92.
    let mut answered = 0;
    let last = loop {
        scene.write("out.csv", ANOTHER_DAY);
        let ended = lookup(&scene, &address, &with(&MINE, &["--timeout", "2s"]));
        if ended.code != Some(0) {
            break ended;
        }
        answered += 1;
        assert!(answered < 12, "{}", ended.screen);
    };
    last.expect(69, &["what to do: "]);
    assert_eq!(scene.read("out.csv"), ANOTHER_DAY);
    let ended = server.end();
    ended.expect(74, &["ledger: the ledger cannot be written", "nothing was answered"]);
    assert!(answered >= 5 && charges(&scene).len() == answered, "{answered}");
    // A server with room goes on with what was charged.
    let (server, address) = serve(&scene, &["--max-keys-per-day", &(answered + 1).to_string()]);
    lookup(&scene, &address, &MINE).expect(0, &["1 of 1 row matches"]);
    lookup(&scene, &address, &MINE).expect(77, &["0 keys are left"]);
    stop(server);
}

/// Start and version, as each side tells them.
const TOLD: usize = 8 + 1 + env!("CARGO_PKG_VERSION").len();

/// A server's first message.
const SERVER_HELLO: usize = 96 + TOLD;

// ---- peers that are no receivers ------------------------------------------------------------------------------------

/// A receiver's first message: what it wants, and for how many keys; it began in 1970, and has no version.
fn asks(want: u8, keys: u32) -> Vec<u8> {
    [b"vesica Q", &[want][..], &[0; 32], &keys.to_le_bytes(), &[0; 9]].concat()
}

/// A batch of so many elements, which says that it has `count`.
fn batch(count: u32, elements: &[[u8; 32]]) -> Vec<u8> {
    [&count.to_le_bytes(), elements.as_flattened()].concat()
}

/// Somebody with the receiver's key who has said hello.
fn greeted(scene: &Scene, address: &str) -> RawPeer {
    let identity = Identity::load(&scene.path("receiver.pem")).unwrap();
    let mut peer = RawPeer::connect(address.parse().unwrap(), &identity, &key(&scene.sender_key)).unwrap();
    peer.hello([1; 32]).unwrap();
    peer
}

/// Somebody with the receiver's key who has sent this.
fn sends(scene: &Scene, address: &str, bytes: &[u8]) -> RawPeer {
    let mut peer = greeted(scene, address);
    peer.write_all(&frame(Kind::Data, bytes)).and_then(|()| peer.flush()).unwrap();
    peer
}

/// Reads this many bytes, and the heads of their frames.
fn reads(peer: &mut RawPeer, mut left: usize) {
    let mut piece = [0; 4096];
    while left > 0 {
        let count = peer.read(&mut piece).unwrap();
        assert!(count > 0, "{left} bytes are missing");
        left = left.saturating_sub(count);
    }
}

#[test]
fn foreign_bytes_end_their_own_connection_and_the_next_receiver_is_answered() {
    let scene = published(&emails("sender", 40, 20), &["--max-keys", "600"]);
    scene.write("receiver.csv", emails("receiver", 30, 20));
    let (mut server, address) = serve(&scene, &["--max-keys-per-day", "1000"]);
    let short = key(&scene.receiver_key).short();
    let mut garbage = vec![0; 3000];
    rand::fill(&mut garbage[..]);

    // Without TLS, and before the hello.
    let mut socket = TcpStream::connect(&address).unwrap();
    socket.write_all(&garbage).unwrap();
    server.wait_for("turned away a stranger");
    let identity = Identity::load(&scene.path("receiver.pem")).unwrap();
    let mut peer = RawPeer::connect(address.parse().unwrap(), &identity, &key(&scene.sender_key)).unwrap();
    peer.write_all(&garbage).and_then(|()| peer.flush()).unwrap();
    server.wait_for("turned away a stranger");

    let none = [0; 32];
    let no_field_element = [0xff; 32];
    let negative = [1; 32];
    let mut no_square = [0; 32];
    no_square[0] = 2;
    let no_hello = "it is no look-up, or of another version";
    let no_key = "it sent what is no blinded key";
    let too_many = "it asks for too many keys at once";
    let over = "it is over its budget";
    let cases = [
        (garbage[..45].to_vec(), no_hello),
        (asks(3, 1), no_hello),
        ([b"vesica S", &asks(0, 1)[8..]].concat(), no_hello),
        (asks(0, 601), too_many),
        (asks(0, u32::MAX), too_many),
        ([asks(0, 1), batch(u32::MAX, &[])].concat(), too_many),
        ([asks(0, 1), batch(513, &[])].concat(), too_many),
        ([asks(0, 1), batch(1, &[none])].concat(), no_key),
        ([asks(0, 1), batch(1, &[no_field_element])].concat(), no_key),
        ([asks(0, 1), batch(1, &[negative])].concat(), no_key),
        ([asks(1, 1), batch(2, &[no_square, none])].concat(), no_key),
    ];
    for (bytes, why) in cases {
        let mut peer = sends(&scene, &address, &bytes);
        if why == too_many {
            // The server waits until the refusal has been read: its own hello comes before it.
            reads(&mut peer, SERVER_HELLO + 17);
            peer.hang_up();
        }
        server.wait_for(&format!("{short}: refused; {why}"));
    }
    // Those that go in the middle of a word, and one that asks for files and takes none.
    for bytes in [&asks(0, 1)[..20], &[asks(0, 40), batch(40, &[[7; 32]; 3])].concat(), &asks(2, 0)] {
        sends(&scene, &address, bytes).hang_up();
    }
    lookup(&scene, &address, &MINE).expect(0, &["20 of 30 rows match"]);
    // A receiver that says less than it asks for, or that it only asks again, gets no more than its budget.
    let spent: u64 = charged(&scene).values().sum();
    assert_eq!(spent, 30 + 5, "elements that are none are charged, too");
    let point = G::encode(&G::generator());
    for want in [0, 1] {
        let bytes = [asks(want, 1), batch(500, &[point; 500]), batch(100, &[point; 100])].concat();
        let mut peer = sends(&scene, &address, &bytes);
        reads(&mut peer, SERVER_HELLO + 600 * 32 + 2 * (1 + 64));
    }
    scene.write("receiver.csv", emails("receiver", 500, 20));
    let ended = lookup(&scene, &address, &MINE);
    ended.expect(77, &["365 keys are left until 20"]);
    server.wait_for(&format!("{short}: refused; {over}"));
    stop(server);
}

#[test]
fn one_receiver_has_a_bounded_number_of_connections_and_others_do_not_notice() {
    let scene = published(&emails("sender", 40, 20), &[]);
    scene.write("receiver.csv", emails("receiver", 30, 20));
    let helper = ["--allow", &*scene.helper_key];
    let (mut server, address) = serve(&scene, &helper);
    let mut idle: Vec<RawPeer> = (0..16).map(|_| sends(&scene, &address, &asks(0, 1))).collect();
    idle.iter_mut().for_each(|peer| assert!(peer.read(&mut [0; 10]).unwrap() > 0));
    let full = with(&MINE, &["--timeout", "2s"]);
    lookup(&scene, &address, &full).expect(69, &["what to do: "]);
    server.wait_for(&format!("{}: refused; it has too many connections", key(&scene.receiver_key).short()));
    let other = ["lookup", "--connect", &address, "--peer", &scene.sender_key, "--identity", "helper.pem"];
    let other = [&other, &MINE[..], &["--set", "set", "--output", "out.csv"]].concat();
    scene.run(&other).expect(0, &["20 of 30 rows match"]);
    idle.iter().for_each(RawPeer::hang_up);
    lookup(&scene, &address, &MINE).expect(0, &["20 of 30 rows match"]);
    // Whoever holds a connection does not hold up the end.
    let held = sends(&scene, &address, &asks(0, 1));
    stop(server);
    drop(held);
}

// ---- bytes ----------------------------------------------------------------------------------------------------------

#[test]
fn a_query_has_the_bytes_that_the_contract_says() {
    let scene = published(&emails("sender", 40, 20), &[]);
    let (server, address) = serve(&scene, &[]);
    for keys in [0, 1, 20, 512, 513, 1100] {
        scene.write("receiver.csv", emails("receiver", keys, 0));
        lookup(&scene, &address, &with(&MINE, &["--report", "mine.json"])).expect(0, &[]);
        let bytes = report(&scene, "mine.json")["bytes"]["payload"].clone();
        let batches = keys.div_ceil(512);
        // Hellos, then for each batch its number of keys, and a sign that it was answered and the proof.
        let sent = 45 + TOLD + 32 * keys + 4 * batches + 4;
        let received = SERVER_HELLO + 32 * keys + (1 + 64) * batches;
        let expected = if keys == 0 { [0, 0] } else { [sent, received] };
        assert_eq!([&bytes["sent"], &bytes["received"]], expected, "{keys} keys");
    }
    stop(server);
}

#[test]
fn a_set_is_looked_up_through_a_relay() {
    let scene = published(&emails("sender", 40, 20), &[]);
    scene.write("receiver.csv", emails("receiver", 30, 20));
    let mine = scene.read("receiver.csv");
    let (_relay, there) = relay(&scene, "127.0.0.1:0", &[]);
    let via = ["--via", &*there, "--via-key", &scene.helper_key];
    let args = ["serve", "--identity", "sender.pem", "--ledger", "ledger", "--allow", &scene.receiver_key];
    let mut server = scene.start(&[&args[..], &SET, &via].concat());
    server.wait_for("the set: ");
    let args = ["lookup", "--peer", &scene.sender_key, "--identity", "receiver.pem", "--output", "out.csv"];
    for set in [&["--set", "set"][..], &["--set", "fetched", "--fetch"]] {
        scene.run(&[&args[..], &MINE, set, &via].concat()).expect(0, &["20 of 30 rows match"]);
        assert_eq!(scene.read("out.csv"), plain_join(&mine, &scene.read("sender.csv")));
    }
    stop(server);
}
