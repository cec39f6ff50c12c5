//! Everything that goes wrong ends both sides with the documented exit code and words that name side, phase, cause and
//! remedy; no output is left behind or overwritten, and no identifier is shown.

use crate::common::{LOCAL, RECEIVER, SENDER, nothing_lost, scene, with};

#[test]
fn wrong_usage() {
    let scene = scene(3);
    let identity = ["--identity", "receiver.pem", "--peer", &scene.sender_key, "--connect", "127.0.0.1:9"];
    let receive = |more: &[&str]| scene.run(&with(&with(&["receive"], &identity), more));
    let ends = [
        (scene.run(&["receive"]), "--input"),
        (scene.run(&["recieve"]), "recieve"),
        (receive(&with(&RECEIVER, &["--timeout", "soon"])), "such as 90s or 5m"),
        (receive(&with(&RECEIVER, &["--listen", "127.0.0.1:0"])), "--listen"),
        (
            receive(&["--input", "receiver.csv", "--key", "email:e-mail", "--output", "out.csv"]),
            "unknown rule",
        ),
        (receive(&with(&RECEIVER, &["--protocol", "dhh"])), "possible values"),
        (receive(&with(&RECEIVER, &["--device", "gpu"])), "cuda:N"),
        // Of a build without cards, or of a machine.
        (receive(&with(&RECEIVER, &["--device", "cuda:99"])), "card"),
        (receive(&with(&RECEIVER, &["--protocol", "naive-hash"])), "--allow-insecure"),
        (receive(&with(&RECEIVER, &["--protocol", "dh"])), "--security semi-honest"),
        (receive(&with(&RECEIVER, &["--protocol", "kkrt", "--security", "malicious"])), "malicious parties"),
        (
            receive(&with(&RECEIVER, &["--protocol", "naive-hash", "--security", "semi-honest"])),
            "only if both sides give `--allow-insecure`",
        ),
        (receive(&with(&RECEIVER, &["--report", "out.csv"])), "name the same file"),
        (receive(&with(&RECEIVER, &["--report", "-", "--events", "-"])), "name the same file"),
        (receive(&with(&RECEIVER, &["--pad-to", "1"])), "larger `--pad-to`"),
        (receive(&with(&RECEIVER, &["--result", "count"])), "--security semi-honest"),
        (receive(&with(&RECEIVER, &["--min-peer-rows", "9", "--max-peer-rows", "5"])), "--min-peer-rows"),
        (receive(&with(&RECEIVER, &["--key", "id"].repeat(200))), "fewer columns"),
    ];
    for (end, word) in &ends {
        end.expect(64, &[word]);
        nothing_lost(&scene, &[end]);
    }
    scene.run(&["--help"]).expect(0, &[]);
    scene.run(&["receive", "--help"]).expect(0, &[]);
}

#[test]
fn bad_identities_and_addresses() {
    let scene = scene(3);
    let key = &scene.sender_key;
    let receive = |more: &[&str]| scene.run(&with(&with(&["receive"], &RECEIVER), more));
    let address = ["--connect", "127.0.0.1:9"];
    receive(&with(&address, &["--identity", "absent.pem", "--peer", key]))
        .expect(64, &["absent.pem", "keygen"]);
    receive(&with(&address, &["--peer", key])).expect(64, &["identity.pem", "keygen"]);
    receive(&with(&address, &["--identity", "receiver.csv", "--peer", key])).expect(64, &["receiver.csv"]);
    let identity = ["--identity", "receiver.pem"];
    receive(&with(&with(&address, &identity), &["--peer", "vesica-pub1-xx"])).expect(64, &["--peer"]);
    receive(&with(&with(&address, &identity), &["--peer", "@absent"])).expect(64, &["@absent"]);
    receive(&with(&with(&address, &identity), &["--peer", &scene.receiver_key]))
        .expect(64, &["own public key"]);
    let keys = with(&identity, &["--peer", key]);
    receive(&with(&keys, &["--listen", "127.0.0.1"])).expect(64, &["HOST:PORT"]);
    receive(&with(&keys, &["--listen", "192.0.2.1:7400"])).expect(64, &["192.0.2.1:7400"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let end = receive(&with(&keys, &["--listen", &taken]));
    end.expect(64, &[&taken, "choose another port"]);
    receive(&["--insecure-plaintext", "--listen", "0.0.0.0:0"]).expect(64, &["loopback"]);
    scene.run(&["keygen", "--output", "receiver.pem"]).expect(64, &["not overwritten", "`vesica pubkey`"]);
    scene.run(&["pubkey", "--identity", "absent.pem"]).expect(64, &["absent.pem", "keygen"]);
    nothing_lost(&scene, &[&end]);
}

#[test]
fn bad_input_is_found_before_the_partner_is_bothered() {
    let scene = scene(3);
    // Nobody listens there: an attempt to connect would show.
    let keys = ["--identity", "receiver.pem", "--peer", &scene.sender_key, "--connect", "127.0.0.1:9"];
    let receive = |more: &[&str]| scene.run(&with(&with(&["receive", "--output", "out.csv"], &keys), more));
    let absent = receive(&["--input", "absent.csv", "--key", "email"]);
    absent.expect(65, &["absent.csv", "on this side", "phase read", "has not been contacted"]);
    let column = receive(&["--input", "receiver.csv", "--key", "mail:email"]);
    column.expect(
        65,
        &["no column `mail`; the header has 2 columns; did you mean `email`?", "on this side", "phase read"],
    );
    let invalid = receive(&["--input", "receiver.csv", "--key", "email:int"]);
    invalid.expect(65, &["receiver.csv, line 2, column `email`", "rule int"]);
    nothing_lost(&scene, &[&absent, &column, &invalid]);
    for end in [&absent, &column, &invalid] {
        assert!(!end.screen.contains("127.0.0.1"), "{}", end.screen);
    }
}

#[test]
fn an_output_that_cannot_be_is_refused_before_anything_is_read() {
    let scene = scene(3);
    let keys = ["--identity", "receiver.pem", "--peer", &scene.sender_key, "--connect", "127.0.0.1:9"];
    let table = ["receive", "--input", "receiver.csv", "--key", "email:email"];
    let receive = |output: &str| scene.run(&with(&with(&table, &keys), &["--output", output]));
    receive("receiver.csv").expect(74, &["receiver.csv", "same file as an input", "phase prepare"]);
    std::os::unix::fs::symlink(scene.path("receiver.csv"), scene.path("link.json")).unwrap();
    receive("link.json").expect(74, &["same file as an input"]);
    std::fs::remove_file(scene.path("link.json")).unwrap();
    receive("absent/out.csv").expect(64, &["absent/out.csv"]);
    receive(".").expect(64, &["directory"]);
    let learns_nothing = scene.run(&with(&with(&with(&["send"], &SENDER), &keys), &["--output", "rows.csv"]));
    learns_nothing.expect(64, &["--learns both"]);
    nothing_lost(&scene, &[&learns_nothing]);
}

#[test]
fn no_output_replaces_a_key_or_another_output() {
    let scene = scene(3);
    let identity = scene.read("receiver.pem");
    scene.write("sender.json", &scene.sender_key);
    let keys = ["--identity", "receiver.pem", "--peer", "@sender.json", "--connect", "127.0.0.1:9"];
    let table = with(&["receive", "--input", "receiver.csv", "--key", "email:email"], &keys);
    let run = |more: &[&str]| scene.run(&with(&table, more));
    for place in ["receiver.pem", "./receiver.pem", "sender.json", "receiver.csv"] {
        run(&["--output", place]).expect(74, &["same file as an input"]);
        run(&["--output", "out.csv", "--report", place]).expect(74, &["same file as an input"]);
        run(&["--output", "out.csv", "--events", place]).expect(74, &["same file as an input"]);
    }
    std::fs::hard_link(scene.path("out.csv"), scene.path("link.json")).unwrap();
    for (report, events) in
        [("./out.csv", "a.json"), ("a.json", "out.csv"), ("link.json", "a.json"), ("a.json", "./a.json")]
    {
        let end = run(&["--output", "out.csv", "--report", report, "--events", events]);
        end.expect(64, &["name the same file"]);
        nothing_lost(&scene, &[&end]);
    }
    assert_eq!((scene.read("receiver.pem"), scene.read("sender.json")), (identity, scene.sender_key.clone()));
}

#[test]
fn a_report_replaces_none_and_finds_a_name_in_a_folder() {
    let scene = scene(3);
    let keys = ["--identity", "receiver.pem", "--peer", &scene.sender_key, "--connect", "127.0.0.1:9"];
    let table = with(&with(&["receive"], &RECEIVER), &keys);
    let run = |report: &str| scene.run(&with(&table, &["--report", report]));
    scene.write("old.json", "{}");
    std::os::unix::fs::symlink(scene.path("old.json"), scene.path("link.json")).unwrap();
    for old in ["old.json", "./old.json", "link.json"] {
        let end = run(old);
        end.expect(64, &["is there already", "phase prepare", "or a folder"]);
        nothing_lost(&scene, &[&end]);
    }
    assert_eq!(scene.read("old.json"), "{}");
    for other in ["report.pdf", "report.CSV"] {
        run(other).expect(64, &["is of another format", "`.html` for a page"]);
    }
    run("absent/").expect(64, &["absent/: there is no such folder"]);

    // A file without bytes is none, as `mktemp` makes it.
    let local = ["local", "--receiver", "receiver.csv", "--sender", "receiver.csv", "--key", "email:email"];
    let local = |report: &str| scene.run(&with(&local, &["--output", "-", "--report", report]));
    scene.write("new.json", "");
    local("new.json").expect(0, &[]);
    assert!(scene.read("new.json").contains("\"done\""));
    local("new.json").expect(64, &["is there already"]);

    std::fs::create_dir(scene.path("reports")).unwrap();
    for (report, word) in [("reports", "-receiver-"), ("reports/", "-receiver-")] {
        local(report).expect(0, &["the report is in reports/20", word]);
    }
    scene.write("receiver.csv", "nothing\n");
    // Without a session, two runs of one second have different names all the same.
    for _ in 0..3 {
        local("reports").expect(65, &["-receiver-no-session"]);
    }
    let reports = std::fs::read_dir(scene.path("reports")).unwrap().map(|entry| entry.unwrap().path());
    let outcomes = reports.map(|path| std::fs::read_to_string(path).unwrap().contains("\"done\""));
    let outcomes: Vec<bool> = outcomes.collect();
    assert_eq!((outcomes.len(), outcomes.iter().filter(|done| **done).count()), (5, 2));
}

#[test]
fn a_header_that_is_data_is_not_shown() {
    let scene = scene(3);
    scene.write("receiver.csv", "Ada Person,Basel\nPersonal,Bern\n");
    let keys = ["--identity", "receiver.pem", "--peer", &scene.sender_key, "--connect", "127.0.0.1:9"];
    let logs = ["--report", "report.json", "--events", "events.json"];
    let end = scene.run(&with(&with(&with(&["receive"], &RECEIVER), &keys), &logs));
    end.expect(65, &["no column `email`; the header has 2 columns"]);
    nothing_lost(&scene, &[&end]);
}

#[test]
fn a_run_that_cannot_begin_is_reported_too() {
    let scene = scene(3);
    let keys = ["--identity", "absent.pem", "--peer", &scene.sender_key, "--connect", "127.0.0.1:9"];
    let logs = ["--report", "report.json", "--events", "events.json"];
    scene
        .run(&with(&with(&with(&["receive"], &RECEIVER), &keys), &logs))
        .expect(64, &["phase prepare", "keygen"]);
    let report: serde_json::Value = serde_json::from_str(&scene.read("report.json")).unwrap();
    assert_eq!((&report["outcome"], &report["error"]["kind"]), (&"failed".into(), &"usage".into()));
    assert!(scene.read("events.json").lines().last().unwrap().contains("\"event\":\"failed\""));
}

#[test]
fn an_insecure_protocol_is_called_so() {
    let scene = scene(5);
    let allowed = ["--security", "semi-honest", "--allow-insecure"];
    let naive = with(&allowed, &["--protocol", "naive-hash"]);
    let mine = with(&allowed, &["--report", "r.json"]);
    let (receiver, sender) = scene.pair(&with(&SENDER, &naive), &with(&RECEIVER, &mine));
    receiver.expect(0, &["WARNING: naive-hash is insecure", "named by the partner"]);
    sender.expect(0, &["WARNING: naive-hash is insecure", "named by this side"]);
    let report: serde_json::Value = serde_json::from_str(&scene.read("r.json")).unwrap();
    assert_eq!(report["security"], "none");
}

#[test]
fn nobody_at_the_address() {
    let scene = scene(3);
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    let keys = ["--identity", "receiver.pem", "--peer", &scene.sender_key, "--timeout", "1s"];
    let receive = |more: &[&str]| scene.run(&with(&with(&with(&["receive"], &RECEIVER), &keys), more));
    let alone = receive(&["--connect", &address, "--report", "alone.json"]);
    alone.expect(
        69,
        &[&address, "nobody listens there", "on the partner's side", "phase connect", "what to do"],
    );
    let waiting = receive(&["--listen", &address]);
    waiting.expect(69, &[&address, "did not connect", "phase connect", "what to do"]);
    nothing_lost(&scene, &[&alone, &waiting]);
    let report: serde_json::Value = serde_json::from_str(&scene.read("alone.json")).unwrap();
    assert_eq!((&report["outcome"], &report["error"]["kind"]), (&"failed".into(), &"partner".into()));
    assert_eq!(report["sizes"]["rows"], 3);
}

#[test]
fn local_names_the_table_at_fault() {
    let scene = scene(5);
    let local = |receiver: &str, sender: &str, key: &str| {
        scene.run(&["local", "--receiver", receiver, "--sender", sender, "--key", key, "--output", "out.csv"])
    };
    local("receiver.csv", "absent.csv", "email").expect(65, &["absent.csv"]);
    local("absent.csv", "sender.csv", "email").expect(65, &["absent.csv"]);
    local("receiver.csv", "sender.csv", "email=mail").expect(65, &["sender.csv", "`mail`"]);
    local("-", "-", "email").expect(64, &["standard input"]);
    let end = scene.run(&with(&LOCAL, &["--output", "sender.csv"]));
    end.expect(74, &["same file as an input"]);
    nothing_lost(&scene, &[&end]);
}
