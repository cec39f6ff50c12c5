//! Two processes, TLS on loopback, two tables: the output is exactly the plain join's rows.

use crate::common::{LOCAL, Scene, emails, plain_join, scene};

const SENDER: [&str; 4] = ["--input", "sender.csv", "--key", "email:email"];
const RECEIVER: [&str; 6] = ["--input", "receiver.csv", "--key", "email:email", "--output", "out.csv"];

fn with<'a>(base: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [base, more].concat()
}

/// Runs both sides on planted tables and compares with the plain join.
fn check(rows: [usize; 2], common: usize, sender: &[&str], receiver: &[&str]) -> Scene {
    let scene = Scene::new();
    let (mine, theirs) = (emails("receiver", rows[0], common), emails("sender", rows[1], common));
    scene.write("receiver.csv", &mine);
    scene.write("sender.csv", &theirs);
    let (received, sent) = scene.pair(&with(&SENDER, sender), &with(&RECEIVER, receiver));
    sent.expect(0, &["done: this side's part is complete"]);
    received.expect(0, &[&format!("{common} of {} ", rows[0])]);
    assert_eq!(scene.read("out.csv"), plain_join(&mine, &theirs));
    assert!(
        sent.stdout.is_empty() && received.stdout.is_empty(),
        "standard output holds only what was asked for"
    );
    scene
}

#[test]
fn equal_sizes() {
    check([1 << 12, 1 << 12], 1 << 10, &[], &[]);
}

#[test]
fn two_to_the_sixteen() {
    check([1 << 16, 1 << 16], 12_345, &[], &[]);
}

#[test]
fn unequal_sizes_either_way() {
    check([40, 3000], 17, &[], &[]);
    check([3000, 40], 17, &[], &[]);
}

#[test]
fn none_one_and_all() {
    check([100, 100], 0, &[], &[]);
    check([1, 1], 1, &[], &[]);
    check([100, 100], 100, &[], &[]);
}

#[test]
fn a_table_without_rows() {
    check([0, 20], 0, &[], &[]);
    check([20, 0], 0, &[], &[]);
    check([0, 0], 0, &[], &[]);
}

#[test]
fn the_protocol_may_be_named_on_one_side() {
    let named = ["--security", "semi-honest", "--protocol", "dh"];
    let mine = ["--security", "semi-honest", "--report", "report.json"];
    let scene = check([50, 50], 20, &named, &mine);
    let report: serde_json::Value = serde_json::from_str(&scene.read("report.json")).unwrap();
    assert_eq!((&report["protocol"], &report["reason"]), (&"dh".into(), &"named by the partner".into()));
}

#[test]
fn naive_hash_runs_where_both_sides_allow_it() {
    let allowed = ["--security", "semi-honest", "--protocol", "naive-hash", "--allow-insecure"];
    check([50, 60], 20, &allowed, &allowed);
}

#[test]
fn padding_hides_the_sizes_and_changes_nothing_else() {
    let scene = check([50, 60], 20, &["--pad-to", "100"], &["--pad-to", "pow2", "--report", "report.json"]);
    let report: serde_json::Value = serde_json::from_str(&scene.read("report.json")).unwrap();
    assert_eq!(report["sizes"]["items"], 50);
    assert_eq!(report["sizes"]["shown_items"], 64);
    assert_eq!(report["sizes"]["peer_items"], 100);
    assert_eq!(report["matches"]["rows"], 20);
}

#[test]
fn both_learn_where_both_asked_for_it() {
    let scene = Scene::new();
    for rows in [[60, 80], [80, 60]] {
        let (mine, theirs) = (emails("receiver", rows[0], 31), emails("sender", rows[1], 31));
        scene.write("receiver.csv", &mine);
        scene.write("sender.csv", &theirs);
        let both = ["--learns", "both"];
        let sender = with(&SENDER, &["--learns", "both", "--output", "theirs.csv"]);
        let (received, sent) = scene.pair(&sender, &with(&RECEIVER, &both));
        received.expect(0, &[]);
        sent.expect(0, &["31 of "]);
        assert_eq!(scene.read("out.csv"), plain_join(&mine, &theirs));
        assert_eq!(scene.read("theirs.csv"), plain_join(&theirs, &mine));
    }
}

#[test]
fn keys_in_columns_of_other_names_composite_and_messy() {
    let scene = Scene::new();
    // A byte-order mark, CRLF, quoted commas, quotes and line ends, nulls, duplicates, case and spaces.
    scene.write(
        "receiver.csv",
        "\u{feff}Name,\"E-Mail: work\",Note\r\n\
         \"Müller, Anna\",ANNA@example.org,\"two\r\nlines\"\r\n\
         Bob,,none\r\n\
         STRASSE,bob@example.org,\"he said \"\"hi\"\"\"\r\n\
         \"Müller, Anna\",\" anna@EXAMPLE.org\",again\r\n\
         Carol,carol@example.org,last",
    );
    scene.write(
        "sender.csv",
        "mail,who\nanna@example.org,\"MÜLLER, ANNA\"\nbob@example.org,straße\ncarol@example.org,Karol\n,Bob\n",
    );
    let (received, sent) = scene.pair(
        &["--input", "sender.csv", "--key", "mail:email", "--key", "who:text"],
        &[
            "--input",
            "receiver.csv",
            "--key",
            "\"E-Mail: work\":email",
            "--key",
            "Name:text",
            "--output",
            "out.csv",
        ],
    );
    sent.expect(0, &["1 row without a key left out"]);
    received.expect(0, &["3 of 5 rows match (2 keys)", "1 row without a key left out"]);
    assert_eq!(
        scene.read("out.csv"),
        "\u{feff}Name,\"E-Mail: work\",Note\r\n\
         \"Müller, Anna\",ANNA@example.org,\"two\r\nlines\"\r\n\
         STRASSE,bob@example.org,\"he said \"\"hi\"\"\"\r\n\
         \"Müller, Anna\",\" anna@EXAMPLE.org\",again\r\n"
    );
}

#[test]
fn composite_keys_do_not_collide() {
    let scene = Scene::new();
    scene.write("receiver.csv", "a,b\n\"a,b\",c\nx,y\n");
    scene.write("sender.csv", "a,b\na,\"b,c\"\nx,y\n");
    let keys = ["--key", "a", "--key", "b"];
    let sender = with(&["--input", "sender.csv"], &keys);
    let (received, sent) =
        scene.pair(&sender, &with(&["--input", "receiver.csv", "--output", "out.csv"], &keys));
    received.expect(0, &["1 of 2 rows match"]);
    sent.expect(0, &[]);
    assert_eq!(scene.read("out.csv"), "a,b\nx,y\n");
}

#[test]
fn standard_input_and_output() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let scene = Scene::new();
    let (mine, theirs) = (emails("receiver", 30, 11), emails("sender", 30, 11));
    scene.write("sender.csv", &theirs);
    let (sender, address) = scene.sender(&SENDER);
    let mut receiver = Command::new(env!("CARGO_BIN_EXE_vesica"))
        .args(["receive", "--input", "-", "--key", "email:email", "--output", "-", "--connect", &address])
        .arg("--identity")
        .arg(scene.path("receiver.pem"))
        .args(["--peer", &scene.sender_key, "--quiet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    receiver.stdin.take().unwrap().write_all(mine.as_bytes()).unwrap();
    let received = receiver.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(received.stdout).unwrap(), plain_join(&mine, &theirs));
    assert_eq!(String::from_utf8(received.stderr).unwrap(), "", "--quiet shows nothing but errors");
    sender.end().expect(0, &[]);
}

#[test]
fn the_receiver_may_listen_and_either_side_may_start_first() {
    let scene = Scene::new();
    let (mine, theirs) = (emails("receiver", 30, 11), emails("sender", 30, 11));
    scene.write("receiver.csv", &mine);
    scene.write("sender.csv", &theirs);
    // A port that was free a moment ago; the sender goes there before anybody listens.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    let keys = ["--identity", "sender.pem", "--peer", &scene.receiver_key, "--connect", &address];
    let mut sender = scene.start(&with(&["send"], &with(&SENDER, &keys)));
    sender.wait_for("waiting for the partner: nobody listens there");
    scene.write("sender.pub", format!("{}\n", scene.sender_key));
    let keys = ["--identity", "receiver.pem", "--peer", "@sender.pub", "--listen", &address];
    let received = scene.run(&with(&["receive"], &with(&RECEIVER, &keys)));
    received.expect(0, &["11 of 30 rows match"]);
    sender.end().expect(0, &[]);
    assert_eq!(scene.read("out.csv"), plain_join(&mine, &theirs));
}

#[test]
fn an_existing_output_is_replaced_after_success() {
    let scene = Scene::new();
    scene.write("out.csv", "from last time\n");
    let (mine, theirs) = (emails("receiver", 9, 3), emails("sender", 9, 3));
    scene.write("receiver.csv", &mine);
    scene.write("sender.csv", &theirs);
    let (received, sent) = scene.pair(&SENDER, &RECEIVER);
    received.expect(0, &[]);
    sent.expect(0, &[]);
    assert_eq!(scene.read("out.csv"), plain_join(&mine, &theirs));
}

#[test]
fn plaintext_on_loopback() {
    let scene = Scene::new();
    scene.write("receiver.csv", emails("receiver", 9, 3));
    scene.write("sender.csv", emails("sender", 9, 3));
    let plaintext = ["--insecure-plaintext", "--listen", "127.0.0.1:0"];
    let mut sender = scene.start(&with(&["send"], &with(&SENDER, &plaintext)));
    let line = sender.wait_for("listening on ");
    let address = line.trim_start_matches("listening on ").split(';').next().unwrap();
    let connect = ["--insecure-plaintext", "--connect", address];
    scene.run(&with(&["receive"], &with(&RECEIVER, &connect))).expect(0, &["3 of 9 rows match"]);
    sender.end().expect(0, &[]);
}

#[test]
fn local_runs_the_real_protocol() {
    let scene = Scene::new();
    let (mine, theirs) = (emails("receiver", 500, 123), emails("sender", 400, 123));
    scene.write("receiver.csv", &mine);
    scene.write("sender.csv", theirs.replacen("id,email", "id,mail", 1));
    let tables = ["local", "--receiver", "receiver.csv", "--sender", "sender.csv", "--output", "out.csv"];
    let ended = scene.run(&with(&tables, &["--key", "email=mail:email", "--report", "report.json"]));
    ended.expect(0, &["123 of 500 rows match"]);
    assert_eq!(scene.read("out.csv"), plain_join(&mine, &theirs));
    let report: serde_json::Value = serde_json::from_str(&scene.read("report.json")).unwrap();
    // Both messages of the protocol went over the channel: 32 bytes a key, and the terms before them.
    assert!(report["bytes"]["payload"]["sent"].as_u64().unwrap() > 32 * 500, "{report}");
    assert!(report["bytes"]["payload"]["received"].as_u64().unwrap() > 32 * 400, "{report}");
}

#[test]
fn the_report_tells_the_run() {
    let scene = check([50, 60], 20, &["--report", "theirs.json"], &["--report", "mine.json"]);
    let [mine, theirs] = ["mine.json", "theirs.json"]
        .map(|name| -> serde_json::Value { serde_json::from_str(&scene.read(name)).unwrap() });
    assert_eq!(
        (&mine["schema"], &mine["outcome"], &mine["role"]),
        (&1.into(), &"done".into(), &"receiver".into())
    );
    assert_eq!((&theirs["outcome"], &theirs["role"]), (&"done".into(), &"sender".into()));
    assert_eq!((&mine["matches"]["items"], &theirs["matches"]), (&20.into(), &serde_json::Value::Null));
    assert_eq!(mine["bytes"]["payload"]["sent"], theirs["bytes"]["payload"]["received"]);
    assert_eq!(mine["bytes"]["payload"]["received"], theirs["bytes"]["payload"]["sent"]);
    assert!(mine["bytes"]["wire"]["sent"].as_u64() > mine["bytes"]["payload"]["sent"].as_u64());
    let phases: Vec<_> =
        mine["phases"].as_array().unwrap().iter().map(|phase| phase["name"].clone()).collect();
    let names = [
        "prepare", "read", "connect", "agree", "blind", "unblind", "exchange", "confirm", "compare", "write",
    ];
    assert_eq!(phases, names);
    assert_eq!((&mine["profile"], &mine["security"]), (&"conservative".into(), &"malicious".into()));
    assert_eq!((&mine["protocol"], &mine["terms"]["security"]), (&"vole".into(), &"malicious".into()));
    assert_eq!(
        (&mine["terms"]["key rules"], &mine["parameters"]["mask_bits"]),
        (&"email".into(), &128.into())
    );
    assert!(mine["peak_rss"].as_u64().is_some() && mine["memory_bound"].as_u64().is_some());
}

#[test]
fn the_reports_of_both_sides_are_evidence_of_one_run() {
    let reports = || {
        let scene = check([50, 60], 20, &["--report", "theirs.json"], &["--report", "mine.json"]);
        let [mine, theirs] = ["mine.json", "theirs.json"]
            .map(|name| -> serde_json::Value { serde_json::from_str(&scene.read(name)).unwrap() });
        (mine, theirs, scene)
    };
    let (mine, theirs, scene) = reports();
    // Who: each key on both sides, crossed.
    assert_eq!(mine["keys"]["mine"], scene.receiver_key.as_str());
    assert_eq!(theirs["keys"]["mine"], scene.sender_key.as_str());
    assert_eq!(mine["keys"]["mine"], theirs["keys"]["partner"]);
    assert_eq!(mine["keys"]["partner"], theirs["keys"]["mine"]);
    // Which run, and all that went over the wire, crossed.
    assert_eq!(mine["session"], theirs["session"]);
    assert_eq!(mine["transcript"]["sent"], theirs["transcript"]["received"]);
    assert_eq!(mine["transcript"]["received"], theirs["transcript"]["sent"]);
    assert_ne!(mine["transcript"]["sent"], mine["transcript"]["received"]);
    assert_eq!((&mine["terms"], &mine["versions"]), (&theirs["terms"], &theirs["versions"]));
    for digest in [&mine["session"], &mine["transcript"]["sent"], &mine["input"]["blake3"]] {
        let digest = digest.as_str().unwrap();
        assert!(digest.len() == 64 && digest.bytes().all(|digit| digit.is_ascii_hexdigit()), "{digest}");
    }
    // On what: the file's name without its folder, its bytes and their digest.
    for (report, name) in [(&mine, "receiver.csv"), (&theirs, "sender.csv")] {
        let table = scene.read(name);
        assert_eq!(
            (&report["input"]["name"], &report["input"]["bytes"]),
            (&name.into(), &table.len().into())
        );
        assert_eq!(report["input"]["blake3"], blake3::hash(table.as_bytes()).to_hex().as_str());
    }
    // When: UTC, as RFC 3339 writes it, which sorts as text.
    for report in [&mine, &theirs] {
        let [started, ended] = ["started", "ended"].map(|name| report[name].as_str().unwrap());
        assert!(started.starts_with("20") && started.ends_with('Z') && started.len() == 24, "{started}");
        assert!(started <= ended, "{started} {ended}");
    }
    let (again, _, _) = reports();
    assert!(again["session"] != mine["session"] && again["transcript"] != mine["transcript"]);
}

#[test]
fn a_run_that_fails_says_with_whom_and_when_too() {
    let scene = Scene::new();
    scene.write("receiver.csv", emails("receiver", 9, 3));
    scene.write("sender.csv", emails("sender", 9, 3));
    let (received, sent) = scene
        .pair(&with(&SENDER, &["--security", "semi-honest"]), &with(&RECEIVER, &["--report", "report.json"]));
    for ended in [&received, &sent] {
        ended.expect(
            77,
            &["security: mine ", "what to do: agree on `--security`; then start both sides again"],
        );
    }
    let report: serde_json::Value = serde_json::from_str(&scene.read("report.json")).unwrap();
    assert_eq!(
        (&report["outcome"], &report["keys"]["partner"]),
        (&"failed".into(), &scene.sender_key.as_str().into())
    );
    assert!(report["session"].is_null() && report["ended"].is_string(), "{report}");
}

#[test]
fn two_senders_are_told_that_one_of_them_receives() {
    let scene = Scene::new();
    scene.write("receiver.csv", emails("receiver", 9, 3));
    scene.write("sender.csv", emails("sender", 9, 3));
    let (sender, address) = scene.sender(&SENDER);
    let keys = ["--identity", "receiver.pem", "--peer", &scene.sender_key, "--connect", &address];
    let other =
        scene.run(&[&["send", "--input", "receiver.csv", "--key", "email:email"][..], &keys].concat());
    for ended in [other, sender.end()] {
        ended.expect(77, &["both sides run `send`", "one side runs `receive`, the other `send`"]);
    }
}

#[test]
fn local_speaks_of_no_partner() {
    let scene = Scene::new();
    scene.write("receiver.csv", emails("receiver", 9, 3));
    scene.write("sender.csv", "id,email\n1,not an address\n");
    scene.write("good.csv", emails("sender", 9, 3));
    let tables = ["local", "--receiver", "receiver.csv", "--output", "out.csv", "--key", "email:email"];
    let dh = ["--sender", "good.csv", "--protocol", "dh"];
    let insecure = ["--sender", "good.csv", "--protocol", "naive-hash", "--security", "semi-honest"];
    let cases: [(&[&str], u8, &str); 5] = [
        (&["--sender", "sender.csv"], 65, "correct the input"),
        (&["--sender", "missing.csv"], 65, "missing.csv"),
        (&dh, 64, "--security semi-honest"),
        (&insecure, 64, "--allow-insecure"),
        (&["--sender", "good.csv"], 0, "the receiver has 9 keys, the sender 9\ntook "),
    ];
    for (options, code, words) in cases {
        let ended = scene.run(&with(&tables, options));
        ended.expect(code.into(), &[words]);
        // Whom the security is against is said in any case.
        let words =
            ["the partner learned", "has not been contacted", "both sides", "other side", "start both"];
        for word in words.into_iter().chain((code != 0).then_some("partner")) {
            assert!(
                !ended.screen.contains(word),
                "{word:?} on the screen of somebody alone:\n{}",
                ended.screen
            );
        }
    }
    let both = scene.run(&["local", "--receiver", "-", "--sender", "-", "--key", "email", "--output", "-"]);
    both.expect(64, &["where: on this side", "what to do: name a file for `--receiver` or for `--sender`"]);
}

#[test]
fn the_last_words_tell_time_and_bytes() {
    let scene = Scene::new();
    scene.write("receiver.csv", emails("receiver", 9, 3));
    scene.write("sender.csv", emails("sender", 9, 3));
    let (received, sent) = scene.pair(&SENDER, &RECEIVER);
    received.expect(
        0,
        &["the partner learned our size, 9 keys; we learned theirs, 9", "\ntook ", "; sent ", " kB"],
    );
    sent.expect(0, &["done: this side's part is complete (9 keys)", "\ntook ", ", received "]);
}

#[test]
fn events_tell_how_far_the_default_is() {
    let scene = check([3000, 4000], 20, &[], &["--events", "events.json"]);
    let lines: Vec<serde_json::Value> =
        scene.read("events.json").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| lines.iter().filter(|line| line["event"] == kind).cloned().collect::<Vec<_>>();
    let protocol = ["blind", "unblind", "exchange", "compare"];
    let phases = of("phase");
    for (number, name) in (3..).zip(protocol) {
        let phase = phases.iter().find(|phase| phase["name"] == name).unwrap();
        assert_eq!((&phase["step"], &phase["steps"]), (&number.into(), &7.into()), "{phase}");
        assert!(phase["total"].as_u64().unwrap() > 0 && phase["words"].is_string(), "{phase}");
    }
    assert!(phases[0]["steps"].is_null(), "nobody knows yet which protocol it will be");
    for progress in of("progress") {
        let share = progress["share"].as_f64().unwrap_or(0.0);
        assert!((0.0..=1.0).contains(&share), "{progress}");
    }
}

#[test]
fn events_tell_the_run_line_by_line() {
    let scene = check([50, 60], 20, &[], &["--events", "events.json"]);
    let lines: Vec<serde_json::Value> =
        scene.read("events.json").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("started", "done"));
    let phases: Vec<_> =
        lines.iter().filter(|line| line["event"] == "phase").map(|line| &line["name"]).collect();
    assert_eq!((phases[0], phases[phases.len() - 1]), (&"read".into(), &"write".into()));
    assert!(lines.windows(2).all(|pair| pair[0]["t"].as_f64() <= pair[1]["t"].as_f64()));
    assert_eq!(lines[lines.len() - 1]["report"]["matches"]["rows"], 20);
}

#[test]
fn completions_and_manual_name_every_command() {
    let scene = Scene::new();
    for args in [&["completions", "bash"][..], &["completions", "zsh"], &["completions", "fish"], &["man"]] {
        let ended = scene.run(args);
        ended.expect(0, &[]);
        let text = String::from_utf8(ended.stdout).unwrap();
        for command in ["quickstart", "keygen", "receive", "send", "local", "protocols"] {
            assert!(text.contains(command), "{args:?} does not name {command}");
        }
    }
}

#[test]
fn quickstart_shows_the_matched_rows() {
    let ended = Scene::new().run(&["quickstart"]);
    ended.expect(0, &["6 of 12 rows match (5 keys)"]);
    let rows = String::from_utf8(ended.stdout).unwrap();
    let ids: Vec<_> = rows.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(ids, ["1001", "1002", "1004", "1009", "1010", "1012"]);

    // What it used can be kept, to go on with.
    let scene = Scene::new();
    let kept = scene.run(&["quickstart", "--keep", "try"]);
    kept.expect(0, &["All files of both sides are in try."]);
    assert_eq!(scene.read("try/matched.csv").as_bytes(), kept.stdout);
    scene.run(&["pubkey", "--identity", "try/shop.pem"]).expect(0, &[]);
    scene.run(&["quickstart", "--keep", "try"]).expect(64, &["try: cannot be made", "name a new folder"]);
}

#[test]
fn a_number_needs_no_file_and_rows_do() {
    let scene = scene(10);
    let count = ["--result", "count", "--security", "semi-honest"];
    let table = ["--input", "receiver.csv", "--key", "email:email"];
    let (received, sent) = scene.pair(&with(&SENDER, &count), &with(&table, &count));
    received.expect(0, &["keys match", "\ntook "]);
    sent.expect(0, &[]);
    scene.run(&with(&LOCAL, &count)).expect(0, &["keys match", "; the receiver sent "]);
    scene.run(&with(&with(&LOCAL, &count), &["--quiet"])).expect(64, &["`--quiet`", "`--output FILE`"]);
    scene.run(&LOCAL).expect(64, &["no file for the matching rows", "`--output FILE`"]);
    let both = ["--learns", "both", "--output", "out.csv"];
    scene.run(&with(&LOCAL, &both)).expect(0, &["what the sender would get is not written"]);
}

#[test]
fn a_table_may_be_named_without_its_option() {
    let scene = scene(10);
    let seen = scene.run(&["inspect", "receiver.csv", "--key", "email:email"]);
    seen.expect(0, &[]);
    assert_eq!(
        seen.stdout,
        scene.run(&["inspect", "--input", "receiver.csv", "--key", "email:email"]).stdout
    );
    let key = ["--key", "email:email"];
    let (received, sent) = scene
        .pair(&with(&["sender.csv"], &key), &with(&with(&["receiver.csv"], &key), &["--output", "out.csv"]));
    received.expect(0, &["rows match"]);
    sent.expect(0, &[]);
    scene.run(&["inspect", "receiver.csv", "--input", "receiver.csv"]).expect(64, &["cannot be used with"]);
    scene.run(&["inspect"]).expect(64, &["--input <FILE>"]);
}
