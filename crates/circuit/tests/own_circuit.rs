//! The example `private_average` between two processes, and the page that shows its circuit.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The example as `cargo test` has built it, beside the folder of this test.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("examples/private_average")
}

fn numbers(name: &str, numbers: &[u64]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let lines: Vec<String> = numbers.iter().map(u64::to_string).collect();
    std::fs::write(&path, lines.join("\n")).unwrap();
    path
}

#[test]
fn two_processes_learn_the_average_and_no_total() {
    let (mine, theirs) = ([4100, 5250, 6000], [3900, 4800]);
    let files = [numbers("mine.txt", &mine), numbers("theirs.txt", &theirs)];
    // A port that was free a moment ago.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let [listening, connecting] = [("listen", &files[0]), ("connect", &files[1])].map(|(how, file)| {
        let mut command = Command::new(example());
        command.args([how, &address]).arg(file).stdout(Stdio::piped()).spawn().unwrap()
    });
    let total: u64 = mine.iter().chain(&theirs).sum();
    let expected = format!("5 salaries, on average about {}\n", (total >> 7 << 7) / 5);
    for party in [listening, connecting] {
        let output = party.wait_with_output().unwrap();
        assert!(output.status.success());
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    }
}

#[test]
fn the_page_shows_the_circuit_that_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(root.join("examples/private_average.rs")).unwrap();
    let circuit = source.split("// The circuit.\n").nth(1).unwrap();
    let circuit = circuit.split("// The end of the circuit.").next().unwrap();
    let page = std::fs::read_to_string(root.join("../../docs/your-own-circuit.md")).unwrap();
    assert!(page.contains(circuit), "docs/your-own-circuit.md has the circuit of the example");
}
