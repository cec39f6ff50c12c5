//! What libraries say: no string of theirs has an option as a shell writes it, or edits English, and templates name options and
//! phrases that exist.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where something is not as it must be")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, iter};

use vesica::text::{is_option, is_phrase};

use crate::floors::sources;

/// The crates whose words are data. `crates/text` is where they become words.
const LIBRARIES: &[&str] = &[
    "channel",
    "circuit",
    "encode",
    "exhibits",
    "net",
    "ot",
    "protocols",
    "spill",
    "store",
    "table",
    "vesica",
];

/// The string literals in the product code of a source, without their quotes; comments are none.
fn literals(text: &str) -> Vec<&str> {
    let mut rest = text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let mut found = Vec::new();
    while let Some(at) = rest.find(['"', '\'', '/']) {
        let raw = rest[..at].chars().rev().take_while(|letter| *letter == '#').count();
        let is_raw = rest[..at - raw].ends_with('r');
        let from = &rest[at..];
        let length = match &from[..1] {
            "/" if from.starts_with("//") => from.find('\n').unwrap_or(from.len()),
            "/" => 1,
            "\"" if is_raw => {
                let end = format!("\"{}", "#".repeat(raw));
                let length = 1 + from[1..].find(&end).unwrap();
                found.push(&from[1..length]);
                length + end.len()
            }
            "\"" => {
                let length = 1 + ends(&from[1..], '"');
                found.push(&from[1..length]);
                length + 1
            }
            // A letter, such as '"' or '\''; or a lifetime.
            _ if from[1..].starts_with('\\') => 2 + ends(&from[1..], '\''),
            _ => {
                let letter = from[1..].chars().next().map_or(0, char::len_utf8);
                if from[1 + letter..].starts_with('\'') { letter + 2 } else { 1 }
            }
        };
        rest = &from[length..];
    }
    found
}

/// Where a literal ends: at the first such mark without a backslash in front.
fn ends(text: &str, mark: char) -> usize {
    let mut escaped = false;
    text.find(|letter| {
        let end = letter == mark && !escaped;
        escaped = letter == '\\' && !escaped;
        end
    })
    .unwrap()
}

/// What stands between such marks, without the marks.
fn between<'t>(text: &'t str, open: &'t str, close: &'t str) -> impl Iterator<Item = &'t str> {
    text.split(open).skip(1).filter_map(move |rest| Some(rest.split_once(close)?.0))
}

/// A literal without the line breaks that the compiler takes out.
fn joined(literal: &str) -> String {
    let mut lines = literal.split("\\\n");
    let first = lines.next().unwrap_or_default().to_owned();
    iter::once(first).chain(lines.map(|line| line.trim_start().to_owned())).collect()
}

/// What begins a call of each function that is written with `head` and whose first argument is the name of an option.
fn takers_of_options(text: &str, head: &'static str) -> Vec<String> {
    let heads = between(text, head, ")").filter_map(|head| head.split_once('('));
    let takers = heads.filter(|(_, arguments)| arguments.trim_start().starts_with("option: &'static str"));
    takers.map(|(name, _)| format!("{name}(")).collect()
}

/// The arguments of a call, given what stands behind its parenthesis.
fn arguments(behind: &str) -> &str {
    let mut depth = 0;
    let end = behind.find(|letter| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        depth < 0
    });
    &behind[..end.unwrap_or_default()]
}

/// Every source of these crates that is part of the product.
fn of_libraries() -> impl Iterator<Item = (PathBuf, String)> {
    let crates = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let mut found = Vec::new();
    LIBRARIES.iter().for_each(|name| sources(&crates.join(name).join("src"), &mut found));
    let product = found.into_iter().filter(|path| !path.to_str().unwrap().ends_with("_tests.rs"));
    product.map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
}

#[test]
fn libraries_name_no_option_as_a_shell_does() {
    let mut checked = 0;
    for (path, text) in of_libraries() {
        for literal in literals(&text) {
            let flag =
                literal.split("--").skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()));
            assert!(!flag, "{}: \"{literal}\"", path.display());
            checked += 1;
        }
    }
    assert!(checked > 3000, "{checked} strings are found");
}

#[test]
fn options_and_phrases_of_templates_exist() {
    let (mut options, mut names, mut phrases) = (0, 0, 0);
    let completions =
        Command::new(env!("CARGO_BIN_EXE_vesica")).args(["completions", "fish"]).output().unwrap();
    let completions = String::from_utf8(completions.stdout).unwrap();
    let known = |name: &str| completions.contains(&format!(" -l {name} "));
    let python = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/rust")).unwrap();
    let python =
        python.map(|file| file.unwrap().path()).map(|path| (path.clone(), fs::read_to_string(path).unwrap()));
    let sources: Vec<_> = of_libraries().chain(python).collect();
    let public: Vec<_> = sources.iter().flat_map(|(_, text)| takers_of_options(text, ") fn ")).collect();
    for (path, text) in &sources {
        let takers = ["Text::option(", "Text::option_with("].map(String::from).into_iter();
        let mut takers: Vec<_> = takers.chain(takers_of_options(text, "fn ")).chain(public.clone()).collect();
        takers.sort();
        takers.dedup();
        let calls = takers.iter().flat_map(|taker| text.split(&**taker).skip(1));
        for name in calls.map(arguments).flat_map(literals).filter(|name| is_option(name)) {
            assert!(known(name), "{}: `{name}`", path.display());
            names += 1;
        }
        for literal in literals(text).into_iter().map(joined) {
            for option in between(&literal, "[", "]") {
                let name = option.split(' ').next().unwrap_or_default();
                if !is_option(name) {
                    continue;
                }
                assert!(known(name), "{}: [{option}]", path.display());
                options += 1;
            }
            let words = |marked: &&str| {
                marked.contains(' ') && marked.chars().all(|c| c.is_ascii_lowercase() || " ;,".contains(c))
            };
            for phrase in between(&literal, "{", "}").filter(words) {
                assert!(is_phrase(phrase), "{}: {{{phrase}}}", path.display());
                phrases += 1;
            }
        }
    }
    assert!(options > 150 && phrases > 50, "{options} options and {phrases} phrases are found");
    assert!(names > 5, "{names} names of options are found");
}

/// A variant whose `Display` is its text has an arm of `text` of its own; the last arm asks `Display`.
#[test]
fn no_text_is_asked_of_itself() {
    const ITSELF: &str = "#[error(\"{}\", self.text())]";
    let mut variants = 0;
    for (path, text) in of_libraries() {
        // The texts may have a file of their own.
        let below = fs::read_to_string(path.with_extension("").join("text.rs")).unwrap_or_default();
        let arms: String = [&text, &below]
            .into_iter()
            .flat_map(|text| between(text, "fn text(&self) -> Text {", "\n    }\n"))
            .collect();
        for rest in text.split(ITSELF).skip(1) {
            let name = rest.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            let arm = |end| arms.contains(&format!("::{name}{end}"));
            assert!([" ", "(", "\n"].into_iter().any(arm), "{}: {name}", path.display());
            variants += 1;
        }
    }
    assert!(variants > 30, "{variants} variants are found");
}

#[test]
fn libraries_edit_no_english() {
    for (path, text) in of_libraries() {
        let product = text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for replaced in between(product, ".replace(\"", "\"") {
            let words = replaced.trim().contains(' ') && replaced.chars().any(char::is_alphabetic);
            assert!(!words, "{} edits \"{replaced}\"", path.display());
        }
    }
}

#[test]
fn literals_are_found() {
    let text = "// \"no\"\nlet a = \"b\\\"c\"; f('\"', '\\'', r#\"d\"e\"#, &'a str, \"--x\"); /// it's\n\n#[cfg(test)]\nmod tests { \"t\" }";
    assert_eq!(literals(text), ["b\\\"c", "d\"e", "--x"]);
    assert_eq!(joined("a \\\n    b"), "a b");
}
