//! Python's keywords, their types and their texts are those of the list of options: they are written from it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where something is amiss")]

use std::path::Path;

use vesica::job::kept::{lookup, publish, serve};
use vesica::options::{Class, OPTIONS, Reads, RunOption};
use vesica::text::{Text, Voice};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/src/vesica/_options.py");
const MARKS: [&str; 2] = ["# Made from the list of options.\n", "# End of what is made.\n"];
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/python.md");
const PAGE_MARKS: [&str; 2] = ["<!-- options -->\n", "<!-- end of the options -->\n"];

/// The most letters of a line.
const WIDTH: usize = 120;

/// As Python's reader of types takes it.
fn type_of(option: &RunOption) -> String {
    let or_none = |of: &str| if option.usual.is_some() { of.to_owned() } else { format!("{of} | None") };
    match option.reads {
        Reads::Flag => "bool".to_owned(),
        Reads::Word(words) => {
            let quoted: Vec<_> = words().iter().map(|word| format!("\"{word}\"")).collect();
            format!("Literal[{}]", quoted.join(", "))
        }
        Reads::Protocol | Reads::Name | Reads::Device => or_none("str"),
        Reads::Number(_) => or_none("int"),
        Reads::Padding => or_none("int | Literal[\"pow2\"]"),
        Reads::Decimal(_) => or_none("float | str"),
        Reads::Time => or_none("str | float | timedelta"),
        Reads::Size => or_none("int | str"),
        Reads::Columns => "str | Sequence[str]".to_owned(),
    }
}

/// What it is for, in Python.
fn text_of(option: &RunOption) -> String {
    let number = match option.reads {
        Reads::Time => "; a number is seconds",
        Reads::Size => "; a number is bytes",
        _ => "",
    };
    let usual = option.usual.map(|usual| format!(" [default: {usual}]")).unwrap_or_default();
    Text::from(option.help).render(Voice::Python) + number + &usual
}

/// A keyword of a typed dictionary, with its text below.
fn keyword(option: &RunOption) -> String {
    let text = indented(&format!("\"\"\"{}.\"\"\"", text_of(option)));
    format!("    {}: {}\n{text}\n", option.name.replace('-', "_"), type_of(option))
}

/// In lines behind four spaces.
fn indented(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(last) if last.chars().count() + 1 + word.chars().count() <= WIDTH => {
                *last = format!("{last} {word}");
            }
            _ => lines.push(format!("    {word}")),
        }
    }
    lines.join("\n")
}

fn class(head: &str, text: &str, options: impl Iterator<Item = &'static RunOption>) -> String {
    let keywords: String = options.map(keyword).collect();
    format!("class {head}(TypedDict, total=False):\n    \"\"\"{text}\"\"\"\n\n{keywords}")
}

fn goes_with_result(option: &RunOption) -> bool {
    matches!(&option.class, Class::Agreed(term) if term.goes_with_result)
}

/// The options of these names, in the order of the list.
fn named(names: &[&str]) -> impl Iterator<Item = &'static RunOption> {
    OPTIONS.iter().filter(|option| names.contains(&option.name))
}

#[test]
fn pythons_keywords_are_the_options_of_the_list() {
    // The calls take `result` as an argument of its own.
    let of_run = || OPTIONS.iter().filter(|option| option.name != "result" && !goes_with_result(option));
    let agreed: Vec<_> = of_run()
        .filter(|option| matches!(option.class, Class::Agreed(_)))
        .map(|option| format!("``{}``", option.name.replace('-', "_")))
        .collect();
    let made = [
        class(
            "Options",
            &format!(
                "Options of every run, as keyword arguments: those of ``vesica receive --help``.\n\n{}\n    ",
                indented(&format!(
                    "Both sides give the same {}. One side may leave ``protocol`` to ``\"auto\"``.",
                    agreed.join(", ")
                ))
            ),
            of_run(),
        ),
        class(
            "ResultOptions",
            "What limits a result, and what goes with it; both sides give the same. See ``docs/results.md``.",
            OPTIONS.iter().filter(|option| goes_with_result(option)),
        ),
        class("PublishOptions", "Options of :func:`vesica.publish`.", named(&publish::OPTIONS)),
        class("LookupOptions", "Options of :func:`vesica.lookup`.", named(&lookup::OPTIONS)),
        class("ServeOptions", "Options of :func:`vesica.serve`.", named(&serve::OPTIONS)),
    ]
    .join("\n\n")
        + "\n\n";
    hold(FILE, MARKS, &made);
    let line =
        |option: &RunOption| format!("| `{}` | {} |\n", option.name.replace('-', "_"), text_of(option));
    let lines: String = OPTIONS.iter().map(line).collect();
    hold(PAGE, PAGE_MARKS, &format!("\n| keyword | what it is for |\n| --- | --- |\n{lines}\n"));
}

/// Holds what stands between the marks of a file against what was made, or writes it if `UPDATE_DOCS` is set.
fn hold(file: &str, marks: [&str; 2], made: &str) {
    let text = std::fs::read_to_string(Path::new(file)).unwrap();
    let (before, rest) = text.split_once(marks[0]).expect("the first mark");
    let (now, after) = rest.split_once(marks[1]).expect("the last mark");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(Path::new(file), [before, marks[0], made, marks[1], after].concat()).unwrap();
        return;
    }
    assert_eq!(now, made, "`UPDATE_DOCS=1 cargo test --profile ci -p vesica-cli --test cli python_options`");
}
