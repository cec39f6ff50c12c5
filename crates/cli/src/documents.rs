//! `vesica protocols`, `completions`, `man`: what the program can do, for people, programs and pages.

use std::fmt::Write;
use std::io::{self, Write as _};

use clap::CommandFactory;
use serde_json::Value;
use vesica::Kind;
use vesica::plan::catalogue;
use vesica::protocols::{KeyAgreement, Supported};
use vesica::registry::{self, Entry, Message, PROTOCOLS};
use vesica::text::Text;

use crate::args::{Cli, GET_EXHIBITS, Protocols};
use crate::screen::say;

/// Prints the registry.
pub(crate) fn protocols(args: &Protocols) -> u8 {
    let name = args.name.as_deref();
    let text = match (args.json, args.markdown) {
        (true, _) => format!("{:#}\n", only(name, catalogue::json())),
        (false, true) => as_markdown(),
        (false, false) => as_text(name),
    };
    print(text.as_bytes())
}

/// The registry with no other protocol than that one, if one is named.
fn only(name: Option<&str>, mut registry: Value) -> Value {
    if let (Some(name), Some(entries)) = (name, registry["protocols"].as_array_mut()) {
        entries.retain(|entry| entry["name"] == name);
    }
    registry
}

/// Prints completions for a shell.
pub(crate) fn completions(shell: clap_complete::Shell) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "vesica", &mut script);
    print(&script)
}

/// Prints the manual page of the program and of each of its commands, one after the other; or those of one command.
pub(crate) fn man(words: &[String]) -> u8 {
    let mut command = Cli::command();
    command.build();
    let mut name = "vesica".to_owned();
    for word in words {
        let Some(below) = command.find_subcommand(word).cloned() else {
            let command_line = name.replace('-', " ");
            say(&format!(
                "vesica man: `{command_line}` has no command `{word}`; `{command_line} --help` tells about it"
            ));
            return crate::args::USAGE;
        };
        name = format!("{name}-{word}");
        command = below;
    }
    let mut page = Vec::new();
    pages(command, &name, &mut page);
    print(&page)
}

/// The pages of a command and of those below it.
fn pages(command: clap::Command, name: &str, page: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    let man = clap_mangen::Man::new(command.clone().display_name(name.to_owned()));
    let _ = man.source(concat!("vesica ", env!("CARGO_PKG_VERSION"))).render(page);
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        pages(below.clone(), &format!("{name}-{}", below.get_name()), page);
    }
}

/// Writes to standard output; returns the exit code.
pub(crate) fn print(text: &[u8]) -> u8 {
    match io::stdout().lock().write_all(text) {
        // A reader may close the pipe early.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            say(&format!("vesica: standard output cannot be written: {error}"));
            Kind::Output.exit_code()
        }
        _ => 0,
    }
}

fn security(entry: &Entry) -> String {
    if entry.needs_allow_insecure() {
        return format!("none ({})", entry.status.name());
    }
    let models = entry.security.iter().map(|security| security.name()).collect::<Vec<_>>().join(", ");
    if entry.has_helper() { format!("{models}; the helper works with no party") } else { models }
}

/// Who sends a message, what it is, and to whom it goes where that is not clear.
fn whose(entry: &Entry, message: &Message) -> String {
    let Message { from, to, what, .. } = *message;
    let what = Text::from(what).shell();
    if entry.has_helper() {
        format!("from the {from} to the {to}: {what}")
    } else {
        format!("from the {from}: {what}")
    }
}

/// The options that this protocol takes and `dh` does not.
fn supported(entry: &Entry) -> Vec<(&'static str, String)> {
    let supports = entry.supports;
    let Supported {
        levels,
        sigma,
        digests,
        variants,
        profiles,
        base_ots,
        paper,
        audit,
        results,
        receiver_only,
    } = supports;
    let mut lines = Vec::new();
    let list = |names: &mut dyn Iterator<Item = String>| names.collect::<Vec<_>>().join(", ");
    if levels.len() > 1 {
        lines.push(("--level", list(&mut levels.iter().map(u32::to_string))));
    }
    if let Some((least, most)) = sigma {
        let only = if digests { "" } else { ", and keys of no other kind" };
        lines.push(("--sigma", format!("{least} to {most}{only}")));
    }
    if profiles.len() > 1 {
        lines.push(("--profile", list(&mut profiles.iter().map(|profile| profile.name().to_owned()))));
    }
    if base_ots {
        let [receiver, sender] = KeyAgreement::MlKem.bytes(1);
        lines.push((
            "--base-ots",
            format!("ml-kem: {receiver} bytes a base OT from their receiver, {sender} from their sender"),
        ));
    }
    for variant in variants {
        let both = if receiver_only.contains(variant) { ", without --learns both" } else { "" };
        lines.push(("--variant", format!("{}: {}{both}", variant.name, variant.what)));
    }
    if paper {
        lines.push(("also", "--paper-parameters".to_owned()));
    }
    if audit {
        lines.push(("also", "--audit-max".to_owned()));
    }
    if results.len() > 1 {
        lines.push(("results", list(&mut results.iter().map(|result| result.name().to_owned()))));
    }
    lines
}

fn as_text(name: Option<&str>) -> String {
    let mut text = String::new();
    for entry in PROTOCOLS.iter().filter(|entry| name.is_none_or(|name| name == entry.name)) {
        let shell = |template: &'static str| Text::from(template).shell();
        let messages: Vec<_> =
            entry.all_messages().map(|m| message(&shell(m.formula), &whose(entry, m))).collect();
        let rows = [
            ("paper", entry.paper.to_owned()),
            ("security", security(entry)),
            (
                "learns",
                entry.learns.to_owned()
                    + if entry.learns_both { "; the sender too with --learns both" } else { "" },
            ),
            ("reveals", entry.leakage.to_owned()),
            ("flights", flights(entry)),
            ("bytes", messages.join("\n            ")),
            ("memory", shell(entry.memory)),
        ];
        let gates = entry.gates_formula().map(|formula| ("gates", shell(formula)));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}: {}", entry.name, entry.title);
        for (name, value) in rows.into_iter().chain(gates).chain(supported(entry)) {
            let _ = writeln!(text, "  {name:9} {value}");
        }
        text.push('\n');
    }
    text += LETTERS;
    let left_out: Vec<_> = registry::left_out().collect();
    if name.is_none() && !left_out.is_empty() {
        let names = left_out.join(", ");
        let _ = writeln!(
            text,
            "\nThis build leaves out {names}, which protect nothing or were broken. One with the feature `exhibits` has them, \
             for\ncomparison: {GET_EXHIBITS}."
        );
    }
    text
}

/// A formula and its message, on two lines if one line is too short.
fn message(formula: &str, what: &str) -> String {
    const ROOM: usize = 24;
    if formula.chars().count() < ROOM {
        format!("{formula:ROOM$}{what}")
    } else {
        format!("{formula}\n{:12}{:ROOM$}{what}", "", "")
    }
}

/// What the letters of the formulas stand for. The pages of the protocols say how large they are.
const LETTERS: &str = "\
Letters of the formulas (docs/protocols/NAME.md has each one's size):
  n_r, n_s     keys of the receiver and of the sender, padding included
  ℓ, ℓ'        bits of a mask: ℓ = 40 + ⌈log2 n_r⌉ + ⌈log2 n_s⌉, unless stated otherwise
  κ            the level of security, --level
  k            keys that both sides have
  β, max_β     bins of a hash table, and the items in the fullest of them
  s            slots of the stash (ot-psi, ot-phasing); slots of a slice (gbf, gbf-random)
  t, t', h     pieces of an item, pieces of a stashed one, and hash functions (ot-psi, ot-phasing, ope)
  M            roots of a bin's polynomial (ope)
  c, κ'        bits of a code word (kkrt; ot-psi)
  w, w'        bits of a number in a circuit: σ for native items (--sigma), ℓ or more for digests; of its remainder
  m, v, t      slots of the merged list, bits of their masks, and slots in a ciphertext of c bytes (scs-*)
  p            the receiver's slots in a bin (ot-psi, 1 unless a variant says otherwise)
  b, m         bins of a Bloom filter, and all of its slots: m = b·κ·s (gbf, gbf-random)
  m            slots of a Bloom filter (gbf-dcw-malicious): 256·max(n_r, n_s), random 256·n_r
  b            bytes of a number modulo n or p (blind-rsa, dt-rsa, dt-dl): 384 at level 128
  e(n)         bytes of n sorted masks, about n·(ℓ - log2 n + 2)/8 (server-aided)
  N_ot, N_bf   OTs and slots of a filter, N_ones those of choice 1, and c the opened ones (gbf-rr16)
  w, g         bits of a bin's value, and AND gates, in all or of a layer (g_i); t_r(g), t_s(g): bytes of OTs (circuit-vole)
  m'           slots of the hint, 1.2·3·n_s + 127 (circuit-vole)
  m            elements of the encoded set (vole, circuit-vole); r(m), s(m), c(m) and c'(m) are bytes that grow with log m
";

/// How many there are, for each security if that makes a difference.
fn flights(entry: &Entry) -> String {
    let each: Vec<_> = entry.usual_flights().collect();
    match each.as_slice() {
        [(_, only)] => only.to_string(),
        several => several
            .iter()
            .map(|(security, flights)| format!("{flights} {}", security.name()))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

fn as_markdown() -> String {
    let mut text =
        String::from("| name | protocol | security | paper | reveals |\n| --- | --- | --- | --- | --- |\n");
    for entry in PROTOCOLS {
        let Entry { name, title, paper, leakage, .. } = entry;
        let _ =
            writeln!(text, "| [`{name}`]({name}.md) | {title} | {} | {paper} | {leakage} |", security(entry));
    }
    text
}
