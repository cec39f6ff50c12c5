//! How the real program ends: by every signal, in every wait, out of disk space, memory and descriptors, and with its
//! standard streams in unusual hands.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where something is not as it must be")]

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::common::{
    ANOTHER_DAY, Ended, LOCAL, Party, RECEIVER, SENDER, Scene, emails, nothing_lost, nothing_shown,
    plain_join, scene, until, with,
};
use rustix::process::Signal;

/// The program as a shell script has it.
const PROGRAM: &str = r#"exec "$0" "$@""#;
/// So much does not fit into a pipe.
const MANY: usize = 4000;

/// The program, started by a shell that runs this first.
fn shell(scene: &Scene, script: &str, args: &[&str]) -> Party {
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_vesica")]);
    scene.start_as(command, args)
}

fn local(scene: &Scene, more: &[&str]) -> Ended {
    scene.run(&with(&LOCAL, more))
}

/// A scene in which all rows match.
fn all_match(rows: usize) -> Scene {
    let scene = scene(rows);
    scene.write("receiver.csv", emails("receiver", rows, rows));
    scene.write("sender.csv", emails("sender", rows, rows));
    scene
}

fn expected(scene: &Scene) -> String {
    plain_join(&scene.read("receiver.csv"), &scene.read("sender.csv"))
}

pub(crate) fn pipe(scene: &Scene, name: &str) {
    assert!(Command::new("mkfifo").args(["-m", "600"]).arg(scene.path(name)).status().unwrap().success());
}

// ---- signals --------------------------------------------------------------------------------------------------------

#[test]
fn every_signal_that_asks_for_the_end_ends_a_run_in_good_order() {
    let signals = [(Signal::HUP, 129), (Signal::INT, 130), (Signal::QUIT, 131), (Signal::TERM, 143)];
    for (signal, code) in signals {
        let scene = scene(3);
        // Whoever runs the tests may have had the signal ignored.
        let mut command = Command::new("env");
        command.args(["--default-signal=HUP,INT,QUIT,TERM", env!("CARGO_BIN_EXE_vesica")]);
        let own =
            ["send", "--listen", "127.0.0.1:0", "--identity", "sender.pem", "--peer", &scene.receiver_key];
        let logs = ["--report", "r.json", "--events", "e.json"];
        let mut party = scene.start_as(command, &with(&with(&own, &SENDER), &logs));
        party.wait_for("listening on ");
        party.signal(signal);
        let end = party.end();
        end.expect(
            code,
            &["vesica send: the run was interrupted", "where: on this side", "start both sides again"],
        );
        assert!(scene.read("r.json").contains("\"kind\": \"interrupted\""));
        assert!(scene.read("e.json").lines().last().unwrap().contains("\"event\":\"failed\""));
        nothing_lost(&scene, &[&end]);
    }
}

#[test]
fn nohup_keeps_a_run_and_a_schedulers_warning_does_not_end_it() {
    let scene = scene(3);
    let args = ["send", "--listen", "127.0.0.1:0", "--identity", "sender.pem", "--peer", &scene.receiver_key];
    let mut sender = shell(&scene, &format!("trap '' HUP; {PROGRAM}"), &with(&args, &SENDER));
    let line = sender.wait_for("listening on ");
    let address = line.trim_start_matches("listening on ").split(';').next().unwrap();
    for signal in [Signal::HUP, Signal::USR1, Signal::USR2] {
        sender.signal(signal);
    }
    scene.receiver(address, &RECEIVER).end().expect(0, &[]);
    sender
        .end()
        .expect(0, &["done: this side's part is complete", "ask the partner whether it has its result"]);
}

#[test]
fn a_limit_on_the_size_of_files_is_told_and_leaves_nothing() {
    let scene = all_match(MANY);
    let end =
        shell(&scene, &format!("ulimit -f 8; {PROGRAM}"), &with(&LOCAL, &["--output", "out.csv"])).end();
    end.expect(
        74,
        &["out.csv: cannot be written", "phase write", "`ulimit -f`", "start it again to get this result"],
    );
    nothing_lost(&scene, &[&end]);
}

// ---- waits ----------------------------------------------------------------------------------------------------------

/// Runs until it writes, and ends it by one signal.
fn terminated_while_writing(output: &str) {
    let scene = all_match(MANY);
    if output != "-" {
        pipe(&scene, output);
    }
    let party = scene.start(&with(&LOCAL, &["--output", output, "--events", "e.json"]));
    until(&scene, "e.json", "\"write\"");
    party.signal(Signal::TERM);
    party
        .end_unread()
        .expect(143, &["the run was interrupted", "phase write", "start it again to get this result"]);
}

#[test]
fn one_signal_ends_a_pipe_without_a_reader() {
    terminated_while_writing("rows.json");
}

#[test]
fn one_signal_ends_an_output_whose_reader_stopped() {
    terminated_while_writing("-");
}

#[test]
fn one_signal_ends_a_report_and_events_that_nobody_reads() {
    for log in ["--report", "--events"] {
        let scene = scene(9);
        pipe(&scene, "log.json");
        let party = scene.start(&with(&LOCAL, &["--output", "rows.csv", log, "log.json"]));
        thread::sleep(Duration::from_millis(500));
        party.signal(Signal::TERM);
        let end = party.end();
        assert_eq!(end.code, Some(143), "{log}: {}", end.screen);
    }
}

/// Fills standard output, which is a pipe that nobody reads.
const FULL: &str = r#"head -c 65536 /dev/zero; exec "$0" "$@""#;

#[test]
fn a_log_collector_that_stops_reading_does_not_hold_the_run() {
    let scene = scene(300);
    let (sender, address) = scene.sender(&SENDER);
    let own = ["receive", "--connect", &address, "--identity", "receiver.pem", "--peer", &scene.sender_key];
    let receiver = shell(&scene, FULL, &with(&with(&own, &RECEIVER), &["--events", "-"]));
    // The receiver is through with it, and still has events for its reader.
    sender.end().expect(0, &[]);
    until(&scene, "out.csv", "common");
    assert_eq!(scene.read("out.csv"), expected(&scene));
    let end = receiver.end();
    end.expect(0, &["150 of 300 rows match"]);
    let events = String::from_utf8(end.stdout[65536..].to_vec()).unwrap();
    let names: Vec<String> = events
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["event"].as_str().unwrap().into()
        })
        .collect();
    assert_eq!((names.first().unwrap().as_str(), names.last().unwrap().as_str()), ("started", "done"));
    assert!(names.iter().filter(|name| *name == "phase").count() > 5, "{names:?}");
}

#[test]
fn a_deadline_ends_a_run_whose_reader_is_stuck() {
    // On an error of the program the test ends, too.
    let limited = r#"exec timeout -s KILL 100 "$0" "$@""#;
    let screen = format!("exec 9<> log.json; head -c 65536 /dev/zero >&9; {limited} 2>&9");
    let output = format!("head -c 65536 /dev/zero; {limited}");
    for (script, more, code, words) in [
        (limited, ["--events", "log.json"], 74, "nobody read it within 1s, the `--deadline`"),
        (limited, ["--report", "log.json"], 74, "its report was not written: nobody read it within 1s"),
        (output.as_str(), ["--events", "-"], 0, "`--events`: no more can be written"),
        (screen.as_str(), ["--threads", "1"], 0, ""),
    ] {
        let scene = scene(9);
        pipe(&scene, "log.json");
        let args = with(&LOCAL, &["--output", "rows.csv", "--deadline", "1s"]);
        let end = shell(&scene, script, &with(&args, &more)).end_unread();
        end.expect(code, &[words]);
        assert_eq!(scene.exists("rows.csv"), more != ["--events", "log.json"], "{more:?}");
    }
}

#[test]
fn a_deadline_ends_a_wait_that_looks_at_nothing() {
    let scene = scene(3);
    pipe(&scene, "identity.json");
    let keys = ["--identity", "identity.json", "--peer", &scene.sender_key, "--connect", "127.0.0.1:9"];
    let end = scene.run(&with(&with(&["receive", "--deadline", "1s"], &RECEIVER), &keys));
    end.expect(65, &["still waited for something after its `--deadline`", "start both sides again"]);
    fs::remove_file(scene.path("identity.json")).unwrap();
    nothing_lost(&scene, &[&end]);
}

#[test]
fn a_pipe_is_no_file_with_a_public_key() {
    let scene = scene(3);
    pipe(&scene, "peer.json");
    let keys = ["--identity", "receiver.pem", "--peer", "@peer.json", "--connect", "127.0.0.1:9"];
    let end = scene.run(&with(&with(&["receive"], &RECEIVER), &keys));
    end.expect(64, &["`--peer @peer.json`: it is not a file"]);
}

#[test]
fn a_wait_that_looks_at_nothing_is_ended_too() {
    let scene = scene(3);
    pipe(&scene, "identity.json");
    let keys = ["--identity", "identity.json", "--peer", &scene.sender_key, "--connect", "127.0.0.1:9"];
    let party = scene.start(&with(&with(&["receive", "--events", "e.json"], &RECEIVER), &keys));
    until(&scene, "e.json", "");
    party.signal(Signal::TERM);
    let end = party.end();
    end.expect(143, &["while it waited for something", "start both sides again"]);
    fs::remove_file(scene.path("identity.json")).unwrap();
    nothing_lost(&scene, &[&end]);
}

// ---- standard streams -----------------------------------------------------------------------------------------------

#[test]
fn standard_output_by_any_name_is_written_to_and_not_replaced() {
    for (i, output) in
        ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "all.json"].into_iter().enumerate()
    {
        let scene = all_match(9);
        let redirection = if i % 2 == 0 { ">>" } else { ">" };
        scene.write("all.json", if i % 2 == 0 { "before\n" } else { "" });
        let script = format!("{{ echo head; \"$0\" \"$@\"; echo tail; }} {redirection} all.json");
        shell(&scene, &script, &with(&LOCAL, &["--output", output])).end().expect(0, &[]);
        let before = if i % 2 == 0 { "before\n" } else { "" };
        assert_eq!(scene.read("all.json"), format!("{before}head\n{}tail\n", expected(&scene)), "{output}");
    }
}

#[test]
fn a_report_and_events_on_standard_output_replace_nothing_either() {
    for (log, word) in [("--report", "\"outcome\": \"done\""), ("--events", "\"event\":\"done\"")] {
        let scene = scene(9);
        let script = "{ echo head; \"$0\" \"$@\"; echo tail; } > all.json";
        shell(&scene, script, &with(&LOCAL, &["--output", "out.csv", log, "/dev/stdout"]))
            .end()
            .expect(0, &[]);
        let all = scene.read("all.json");
        assert!(
            all.starts_with("head\n{") && all.contains(word) && all.ends_with("}\ntail\n"),
            "{log}: {all}"
        );
    }
}

#[test]
fn two_outputs_cannot_be_standard_output_under_two_names() {
    let scene = scene(3);
    let end = local(&scene, &["--output", "-", "--report", "/dev/stdout"]);
    end.expect(64, &["name the same file"]);
}

#[test]
fn a_closed_standard_output_is_refused_before_anything_happens() {
    let scene = scene(3);
    for place in ["--output", "--report"] {
        let output = if place == "--output" { "-" } else { "out.csv" };
        let mut args = with(&LOCAL, &["--output", output]);
        if place == "--report" {
            args.extend([place, "-"]);
        }
        let end = shell(&scene, &format!("{PROGRAM} >&-"), &args).end();
        end.expect(74, &["standard output: it is closed", "phase prepare", "leave standard output open"]);
        nothing_lost(&scene, &[&end]);
    }
    // Whoever wants nothing of it says so.
    shell(&scene, &format!("{PROGRAM} > /dev/null"), &with(&LOCAL, &["--output", "-"])).end().expect(0, &[]);
}

#[test]
fn a_reader_that_has_seen_enough_ends_a_run_without_a_word() {
    let scene = all_match(MANY);
    let mut party = scene.start(&with(&LOCAL, &["--output", "-", "--report", "r.json"]));
    party.close_stdout();
    let end = party.end();
    assert_eq!(end.code, Some(141), "{}", end.screen);
    assert!(!end.screen.contains("vesica local:"), "{}", end.screen);
    let report = scene.read("r.json");
    assert!(report.contains("\"outcome\": \"failed\"") && report.contains("\"confirmed\": true"), "{report}");
}

// ---- outputs --------------------------------------------------------------------------------------------------------

#[test]
fn each_cause_of_a_failed_output_has_its_remedy() {
    let scene = scene(9);
    local(&scene, &["--output", "absent/out.csv"]).expect(64, &["make the folder first", "phase prepare"]);
    local(&scene, &["--output", "out.parquet"]).expect(64, &["ending of the input's format"]);
    local(&scene, &["--output", "."]).expect(64, &["name a file, not a folder"]);
    local(&scene, &["--output", "receiver.csv"]).expect(74, &["name another file"]);
    local(&scene, &["--output", "/dev/full", "--report", "r.json"])
        .expect(74, &["free space on that disk", "start it again to get this result", "phase write"]);
    let report: serde_json::Value = serde_json::from_str(&scene.read("r.json")).unwrap();
    assert_eq!((&report["confirmed"], &report["outcome"]), (&true.into(), &"failed".into()));
    local(&scene, &["--output", "receiver.csv", "--report", "second.json"]).expect(74, &[]);
    let report: serde_json::Value = serde_json::from_str(&scene.read("second.json")).unwrap();
    assert_eq!(report["confirmed"], false, "nothing had happened yet");
    scene.run(&["keygen", "--output", "absent/id.pem"]).expect(64, &["a folder that you may write to"]);
}

#[test]
fn too_little_room_is_told_before_the_run() {
    let scene = scene(3);
    let free = rustix::fs::statvfs(scene.path(".")).unwrap();
    let table = fs::OpenOptions::new().write(true).open(scene.path("receiver.csv")).unwrap();
    // A hole takes no room. It is no table either, which is found after the notice.
    if table.set_len(free.f_bavail * free.f_frsize + (1 << 32)).is_err() {
        return;
    }
    let end = local(&scene, &["--output", "out.csv"]);
    end.expect(65, &["are free there, and the input has", "the rows will not fit"]);
}

#[test]
fn characters_that_move_the_cursor_are_not_shown() {
    let scene = scene(3);
    for args in [
        ["--receiver", "a\u{1b}[2Jb\u{202e}.csv", "--output", "out.csv"],
        ["--receiver", "receiver.csv", "--output", "no\u{1b}[2J\u{202e}/b.csv"],
    ] {
        let end = scene.run(&with(&["local", "--sender", "sender.csv", "--key", "email"], &args));
        assert!(matches!(end.code, Some(64 | 65)), "{}", end.screen);
        assert!(!end.screen.contains(['\u{1b}', '\u{202e}']), "{}", end.screen);
        assert!(end.screen.contains("\\u{1b}[2J") && end.screen.contains("\\u{202e}"), "{}", end.screen);
    }
}

// ---- memory, descriptors, secrets -----------------------------------------------------------------------------------

#[test]
fn a_run_that_may_take_more_memory_than_allowed_is_refused_on_both_sides() {
    let scene = scene(2000);
    let small = ["--memory", "1M"];
    let mine = "this run may take";
    let theirs = "the partner refused the run: it may take about";
    let options = ["`--memory SIZE`", "phase agree"];
    let (receiver, sender) = scene.pair(&SENDER, &with(&RECEIVER, &small));
    receiver.expect(77, &with(&options, &[mine, "`--memory` allows 1.0 MB", "`--max-peer-rows`"]));
    sender.expect(77, &[theirs, "`--memory SIZE`"]);
    nothing_lost(&scene, &[&receiver, &sender]);
    let (receiver, sender) = scene.pair(&with(&SENDER, &small), &RECEIVER);
    receiver.expect(77, &[theirs]);
    sender.expect(77, &with(&options, &[mine]));
    nothing_lost(&scene, &[&receiver, &sender]);
    let (receiver, sender) = scene.pair(&with(&SENDER, &small), &with(&RECEIVER, &small));
    receiver.expect(77, &[mine]);
    sender.expect(77, &[mine]);
    local(&scene, &["--output", "out.csv", "--memory", "1M"]).expect(77, &[mine]);
    local(&scene, &["--output", "out.csv", "--memory", "1X"]).expect(64, &["such as 512M or 4G"]);
    local(&scene, &["--output", "out.csv", "--memory", "1G"]).expect(0, &[]);
}

#[test]
fn a_limit_on_the_address_space_is_looked_at() {
    let scene = scene(2000);
    let args = with(&LOCAL, &["--output", "out.csv", "--pad-to", "2^20", "--threads", "1"]);
    let end = shell(&scene, &format!("ulimit -v 600000; {PROGRAM}"), &args).end();
    end.expect(77, &["this run may take", "what the limit on address space leaves"]);
    nothing_lost(&scene, &[&end]);
}

#[test]
fn a_table_without_room_is_refused_before_it_is_read() {
    let scene = scene(3);
    let rows: String = (0..6_000_000).map(|number| format!("{number}\n")).collect();
    scene.write("many.json", format!("id\n{rows}"));
    let tables = ["local", "--receiver", "many.json", "--sender", "many.json", "--key", "id"];
    let args = with(&tables, &["--output", "out.csv", "--threads", "1"]);
    let end = shell(&scene, &format!("ulimit -v 300000; {PROGRAM}"), &args).end();
    end.expect(77, &["this run may take", "what the limit on address space leaves", "phase read"]);
    nothing_lost(&scene, &[&end]);
}

#[test]
fn memory_that_cannot_be_had_is_said_in_a_line() {
    let scene = scene(2000);
    // As much as the bound asks for is allowed, and is not there.
    let args =
        with(&LOCAL, &["--output", "out.csv", "--pad-to", "2^20", "--threads", "1", "--memory", "100G"]);
    let end = shell(&scene, &format!("ulimit -v 300000; {PROGRAM}"), &args).end();
    end.expect(71, &["memory"]);
    nothing_lost(&scene, &[&end]);
}

#[test]
fn too_few_descriptors_are_named() {
    let scene = scene(3);
    for limit in [4, 5, 6, 8] {
        let args = with(
            &with(&["send", "--listen", "127.0.0.1:0"], &SENDER),
            &["--identity", "sender.pem", "--peer"],
        );
        let end =
            shell(&scene, &format!("ulimit -n {limit}; {PROGRAM}"), &with(&args, &[&scene.receiver_key]))
                .end();
        end.expect(71, &["where: on this side", "what to do: raise the limit on open files (`ulimit -n`)"]);
    }
}

#[test]
fn a_run_leaves_no_core() {
    let scene = scene(3);
    let args = ["send", "--listen", "127.0.0.1:0", "--identity", "sender.pem", "--peer", &scene.receiver_key];
    // Where that is allowed, so that the limit is not there already.
    let script = format!("ulimit -c unlimited; {PROGRAM}");
    let mut party = shell(&scene, &script, &with(&args, &SENDER));
    party.wait_for("listening on ");
    let limits = fs::read_to_string(format!("/proc/{}/limits", party.pid().as_raw_nonzero())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(line.split_whitespace().nth(4), Some("0"), "{line}");
    party.signal(Signal::TERM);
    party.end().expect(143, &[]);
}

#[test]
fn identities_come_as_containers_have_them() {
    use std::os::unix::fs::PermissionsExt;
    let scene = scene(9);
    let run = |script: &str, identity: &str| {
        let (sender, address) = scene.sender(&SENDER);
        let own = ["receive", "--connect", &address, "--identity", identity, "--peer", &scene.sender_key];
        let end = shell(&scene, script, &with(&own, &RECEIVER)).end();
        (end, sender)
    };
    for mode in [0o440, 0o640] {
        fs::set_permissions(scene.path("receiver.pem"), fs::Permissions::from_mode(mode)).unwrap();
        let (receiver, sender) = run(PROGRAM, "receiver.pem");
        receiver.expect(0, &[]);
        sender.end().expect(0, &[]);
    }
    for (script, identity) in [
        (r#"cat receiver.pem | exec "$0" "$@""#, "-"),
        (r#"cat receiver.pem | exec "$0" "$@""#, "/dev/stdin"),
        (r#"exec "$0" "$@" 3< receiver.pem"#, "/dev/fd/3"),
    ] {
        let (receiver, sender) = run(script, identity);
        receiver.expect(0, &[]);
        sender.end().expect(0, &[]);
    }
    fs::set_permissions(scene.path("receiver.pem"), fs::Permissions::from_mode(0o644)).unwrap();
    let (receiver, sender) = run(PROGRAM, "receiver.pem");
    receiver.expect(64, &["can be read by others (mode 644)", "`chmod 640`"]);
    sender.signal(Signal::TERM);
    sender.end().expect(143, &[]);
    let end = scene.run(&with(
        &["receive", "--input", "-", "--key", "id", "--output", "rows.csv", "--identity", "-"],
        &["--peer", &scene.sender_key, "--connect", "127.0.0.1:9"],
    ));
    end.expect(64, &["only one of `--input` and `--identity`"]);
    assert_ne!(scene.read("out.csv"), ANOTHER_DAY);
    nothing_shown(&scene, &[&end]);
}
