//! The documents say what the program does: the tables in them are the program's own output.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops where something is amiss"
)]

use std::path::Path;
use std::process::Command;

use vesica_crypto::backend::{Backend, Kernels, Level};

use crate::common::Scene;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn vesica(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_vesica")).args(args).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    text.split_once(start).and_then(|(_, rest)| rest.split_once(end)).expect("both markers").0
}

#[test]
fn the_page_of_protocols_holds_the_registry_and_the_readme_some_of_it() {
    let page = read("docs/protocols/README.md");
    let table = between(&page, "<!-- vesica protocols --markdown -->\n", "<!-- end -->");
    let now = vesica(&["protocols", "--markdown"]);
    assert_eq!(
        table, now,
        "docs/protocols/README.md is to hold what `vesica protocols --markdown` prints:\n{now}"
    );
    let readme = read("README.md");
    let some = between(&readme, "## Protocols\n", "## The library\n")
        .lines()
        .filter(|line| line.starts_with("| [`"));
    let some: Vec<_> = some.map(|line| line.replace("](docs/protocols/", "](")).collect();
    assert_eq!(some.len(), 5);
    for line in some {
        assert!(table.contains(&format!("{line}\n")), "no line of the table: {line}");
    }
}

/// The code that each family of kernels runs on each level, as a table.
fn kernels_by_levels() -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let columns = || Level::ALL.into_iter();
    let head = ["kernels".to_owned()].into_iter().chain(columns().map(|level| level.to_string()));
    let mut table = line(head.collect()) + &line(vec!["---".to_owned(); 1 + Level::ALL.len()]);
    for kernels in Kernels::ALL {
        let code = columns().map(|on| match kernels.level(on) {
            Level::Portable => "–".to_owned(),
            level => level.to_string(),
        });
        table += &line([kernels.to_string()].into_iter().chain(code).collect());
    }
    table
}

#[test]
fn the_page_of_processors_holds_the_levels_of_the_kernels() {
    let (start, end) = ("<!-- levels of the kernels -->\n", "<!-- end -->");
    let page = read("docs/processors.md");
    let (table, now) = (between(&page, start, end), kernels_by_levels());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let page = page.replace(&format!("{start}{table}{end}"), &format!("{start}{now}{end}"));
        std::fs::write(root().join("docs/processors.md"), page).unwrap();
        return;
    }
    assert_eq!(table, now, "`UPDATE_DOCS=1 cargo test --profile ci -p vesica-cli --test cli documents::`");
    for level in Level::ALL {
        assert!(page.contains(&format!("\n| {level} | ")), "the page does not say what {level} is");
    }
}

/// The words that follow `before` in a script, each up to a blank.
fn words_after<'a>(script: &'a str, before: &str) -> Vec<&'a str> {
    script.split(before).skip(1).filter_map(|rest| rest.split([' ', '"', ')', '\n']).next()).collect()
}

#[test]
fn the_page_of_platforms_names_what_the_scripts_test() {
    let (page, makefile) = (read("docs/platforms.md").replace('\n', " "), read("Makefile"));
    let targets = words_after(&page, "`make ");
    assert!(targets.contains(&"arm-test`"), "{targets:?}");
    for target in targets.iter().map(|target| target.trim_end_matches(['`', ',', ';', '.'])) {
        assert!(makefile.contains(&format!("\n{target}: ")), "`make {target}` is no target");
    }

    let arm = read("packaging/arm_test.sh");
    let tests = between(&arm, "\nunit_tests() {", "\n}");
    let crates = words_after(tests, "-p vesica-").join("`, `");
    let row = between(&page, "| Linux on ARM (aarch64), level NEON | ", " | `make arm-test`");
    assert!(row.starts_with(&format!("unit tests of `{crates}`;")), "{row}: {crates}");
    let runs = between(&arm, "\nwhole_runs() {", "\n}");
    let section = between(&page, "## ARM", "## 32 bits");
    for protocol in words_after(runs, "\"--protocol ") {
        assert!(section.contains(&format!("`{protocol}`")), "whole runs of {protocol}");
    }
    for test in between(&arm, "\nslow=(", ")").split_whitespace() {
        assert!(section.contains(&format!("`{test}`")), "{test} is left out");
    }

    let section = between(&page, "## Windows", "## macOS");
    for protocol in words_after(&read("packaging/windows_test.sh"), "\"--protocol ") {
        assert!(section.contains(&format!("`{protocol}`")), "whole runs of {protocol}");
    }
}

#[test]
fn the_version_is_one_line_and_with_verbose_names_the_kernels() {
    let version = concat!("vesica ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!([vesica(&["--version"]), vesica(&["-V"])], [version; 2]);
    let text = vesica(&["--version", "--verbose"]);
    assert!(text.starts_with(version) && text.contains("\nfeatures          exhibits, testing"), "{text}");
    for kernels in Kernels::ALL {
        let level = Backend::detect().level_for(kernels);
        assert!(text.contains(&format!("  {:<28}{level}\n", kernels.to_string())), "{kernels}: {text}");
    }
    let alone = Command::new(env!("CARGO_BIN_EXE_vesica")).arg("--verbose").output().unwrap();
    assert_eq!(alone.status.code(), Some(64));
}

#[test]
fn every_protocol_has_its_page_with_its_formulas() {
    let registry: serde_json::Value = serde_json::from_str(&vesica(&["protocols", "--json"])).unwrap();
    for entry in registry["protocols"].as_array().unwrap() {
        let name = entry["name"].as_str().unwrap();
        let page = format!("docs/protocols/{name}.md");
        assert!(root().join(&page).exists(), "write {page}: the page of a protocol that the registry lists");
        let page = read(&page);
        assert!(page.starts_with(&format!("# `{name}`")), "{name}");
        let page = page.replace('\n', " ");
        for message in entry["messages"].as_array().unwrap() {
            let bytes = message["bytes"].as_str().unwrap();
            assert!(page.contains(bytes), "docs/protocols/{name}.md does not mention {bytes}");
        }
        assert!(page.contains(entry["memory"].as_str().unwrap()), "docs/protocols/{name}.md: memory");
    }
}

#[test]
fn the_plain_table_names_every_protocol() {
    let text = vesica(&["protocols"]);
    let names = vesica::registry::PROTOCOLS.iter().map(|entry| format!("{}: ", entry.name));
    for part in names.chain(["none (insecure)", "PSSZ15 §3.3"].map(str::to_owned)) {
        assert!(text.contains(&part), "{part}: {text}");
    }
}

#[test]
fn no_column_of_the_plain_table_runs_into_the_next() {
    let text = vesica(&["protocols"]);
    assert!(
        !text
            .lines()
            .any(|line| { line.find("from the ").is_some_and(|at| at > 0 && !line[..at].ends_with(' ')) }),
        "{text}"
    );
    for letter in ["n_r, n_s ", "ℓ, ℓ' ", "κ ", "k ", "β, max_β", "s ", "t, t', h", "c", "b, m", "m "]
    {
        assert!(text.lines().any(|line| line.starts_with(&format!("  {letter}"))), "{letter}");
    }
}

#[test]
fn the_public_key_of_an_identity_stands_alone() {
    let scene = Scene::new();
    let shown = scene.run(&["pubkey", "--identity", "receiver.pem"]);
    shown.expect(0, &[]);
    assert_eq!(String::from_utf8(shown.stdout).unwrap(), format!("{}\n", scene.receiver_key));
    assert_eq!(shown.screen, "");
}

#[test]
fn every_command_has_a_page_of_its_own() {
    let all = vesica(&["man"]);
    for command in ["receive", "send", "local", "inspect", "keygen"] {
        let page = vesica(&["man", command]);
        assert!(page.starts_with(".ie") && page.contains(&format!("vesica\\-{command}")), "{page}");
        assert!(all.contains(&page), "{command}");
    }
    assert!(vesica(&["man", "receive"]).contains("\\-\\-delimiter"));
    assert!(vesica(&["man", "bench", "once"]).contains("vesica\\-bench\\-once"));
    let wrong = Command::new(env!("CARGO_BIN_EXE_vesica")).args(["man", "recieve"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(64));
}

#[test]
fn help_has_groups_an_example_and_every_address() {
    let help = vesica(&["receive", "--help"]);
    for part in [
        "<--listen <ADDR>|--connect <ADDR>|--via <ADDR>> --peer <PUBKEY>",
        "My table:",
        "The partner:",
        "Agreed: both sides give the same:",
        "This side's choices:",
        "Example:",
    ] {
        assert!(help.contains(part), "{part} is missing in:\n{help}");
    }
    let args = ["receive", "--input", "a", "--key", "k", "--output", "b", "--peer", "@c"];
    let refused = Command::new(env!("CARGO_BIN_EXE_vesica")).args(args).output().unwrap();
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(
        refused.status.code() == Some(64) && told.contains("<--listen <ADDR>|--connect <ADDR>|--via <ADDR>>"),
        "{told}"
    );
}

#[test]
fn one_protocol_is_told_alone() {
    let dh = vesica(&["protocols", "dh"]);
    assert!(dh.starts_with("dh: ") && !dh.contains("\nkkrt: ") && dh.contains("n_r, n_s"), "{dh}");
    assert!(vesica(&["protocols"]).contains(dh.split("\n\n").next().unwrap()));
    let json: serde_json::Value = serde_json::from_str(&vesica(&["protocols", "dh", "--json"])).unwrap();
    assert_eq!(
        (json["protocols"].as_array().unwrap().len(), &json["protocols"][0]["name"]),
        (1, &"dh".into())
    );
    let wrong = Command::new(env!("CARGO_BIN_EXE_vesica")).args(["protocols", "volle"]).output().unwrap();
    assert!(wrong.status.code() == Some(64) && String::from_utf8(wrong.stderr).unwrap().contains("'vole'"));
}

#[test]
fn completions_know_the_protocols() {
    assert!(vesica(&["completions", "bash"]).contains("ot-phasing"));
    let wrong = Command::new(env!("CARGO_BIN_EXE_vesica"))
        .args(["plan", "--receiver", "50,000", "--sender", "5e6", "--protocol", "voel"])
        .output()
        .unwrap();
    assert!(String::from_utf8(wrong.stderr).unwrap().contains("'vole'"));
    for sizes in [["50,000", "5e6"], ["1M", "2^20"]] {
        vesica(&["plan", "--receiver", sizes[0], "--sender", sizes[1]]);
    }
}

/// The documentation of `vesica-protocols` has the README's program, and runs it as a test.
#[test]
fn the_program_of_the_readme_is_one_that_is_tested() {
    let readme = read("README.md");
    let program = between(&readme, "```rust\n", "```");
    let library = read("crates/protocols/src/lib.rs");
    let tested: String = between(&library, "//! ```\n", "//! ```")
        .lines()
        .map(|line| line.trim_start_matches("//!").strip_prefix(' ').unwrap_or_default().to_owned() + "\n")
        .collect();
    assert_eq!(program, tested);
    let uses = program.lines().filter_map(|line| line.strip_prefix("use ")?.split("::").next());
    let workspace = read("Cargo.toml");
    for name in uses.map(|name| name.replace('_', "-")) {
        let needed = between(&readme, &format!("\n{name} = "), "\n");
        let folder = needed.trim_start_matches("{ path = \"vesica/").trim_end_matches("\" }");
        let version = needed.trim_end_matches('"');
        let is_there = root().join(folder).join("Cargo.toml").exists();
        let forms = [format!("\n{name} = {version}."), format!("\n{name} = {{ version = {version}.")];
        assert!(is_there || forms.iter().any(|form| workspace.contains(form)), "{name} = {needed}");
    }
}

#[test]
fn every_command_of_the_readme_exists() {
    let readme = read("README.md");
    let help = vesica(&["--help"]);
    let commands = readme.lines().filter_map(|line| line.trim_start_matches("$ ").strip_prefix("vesica "));
    let mut seen = 0;
    for command in commands {
        let name = command.split_whitespace().next().unwrap();
        assert!(help.contains(&format!("  {name} ")), "the README names `vesica {name}`");
        seen += 1;
    }
    assert!(seen >= 3, "the README shows keygen, receive and send");
}
