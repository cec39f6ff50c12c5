//! Run files on the command line: `--run-file FILE` stands for the arguments that the file has.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

use vesica::job::{Job, Partner};
use vesica::protocols::Role;
use vesica::results::ResultChoice;
use vesica::run_file::{Meeting, RunFile, unknown_host};
use vesica::settings::Settings;
use vesica::table::{KeySpec, shown_path};
use vesica::{Error, net::Address};

/// What meets the partner. A user who names an address or a relay does not take the file's.
const MEETING: &[&str] = &["listen", "connect", "via", "via-key", "run"];

/// The program's arguments, with those of the run file that they name.
///
/// # Errors
/// If the file cannot be read, is for the other command, or says what the arguments say too.
pub(crate) fn expand(arguments: Vec<OsString>) -> Result<Vec<OsString>, Error> {
    let texts: Vec<String> = arguments.iter().map(|text| text.to_string_lossy().into_owned()).collect();
    let command = texts.get(1).map_or("", |text| text.as_str());
    let named = match command {
        "receive" | "send" => values(&texts, "run-file"),
        _ => Vec::new(),
    };
    let [path] = &named[..] else { return Ok(arguments) };
    let file = RunFile::load(Path::new(path))?;
    file.check_command(command)?;
    let given = |name: &str| !values(&texts, name).is_empty() || texts.contains(&format!("--{name}"));
    let mut added: Vec<(&str, Option<&str>)> = Vec::new();
    for (name, value) in file.arguments() {
        if given(name) {
            return Err(Error::usage(
                format!("`--{name}` is given, and the run file has it too"),
                "leave it out; for other terms make a new run file with the partner",
            ));
        }
        added.push((name, value));
    }
    let meets = ["listen", "connect", "via"].into_iter().any(given);
    for (name, value) in file.meeting() {
        if given(name) || (meets && MEETING.contains(&name)) {
            continue;
        }
        if let Some(port) = unknown_host(value).filter(|_| name == "connect") {
            return Err(Error::usage(
                "the run file does not know by which name the partner's machine is reached",
                format!("give `--connect NAME:{port}` with its name or address"),
            ));
        }
        added.push((name, Some(value)));
    }
    let option = file.key_option();
    let keys = file.keys_of(&values(&texts, option))?;
    let mut expanded: Vec<OsString> = arguments[..2].to_vec();
    expanded.extend(added.into_iter().map(|(name, value)| argument(name, value).into()));
    expanded.extend(keys.iter().map(|key| argument(option, Some(key)).into()));
    expanded.extend(without(&arguments[2..], option));
    Ok(expanded)
}

/// An option as one argument.
fn argument(name: &str, value: Option<&str>) -> String {
    value.map_or_else(|| format!("--{name}"), |value| format!("--{name}={value}"))
}

/// The values that an option is given.
fn values(arguments: &[String], name: &str) -> Vec<String> {
    let (flag, mut found, mut next) = (format!("--{name}"), Vec::new(), false);
    for argument in arguments {
        match argument.strip_prefix(&flag) {
            _ if next => {
                found.push(argument.clone());
                next = false;
            }
            Some("") => next = true,
            Some(rest) => found.extend(rest.strip_prefix('=').map(str::to_owned)),
            None => {}
        }
    }
    found
}

/// The arguments without an option and its values.
fn without(arguments: &[OsString], name: &str) -> Vec<OsString> {
    let flag = format!("--{name}");
    let (mut left, mut next) = (Vec::new(), false);
    for argument in arguments {
        let text = argument.to_string_lossy();
        match text.strip_prefix(&flag) {
            _ if next => next = false,
            Some("") => next = true,
            Some(rest) if rest.starts_with('=') => {}
            _ => left.push(argument.clone()),
        }
    }
    left
}

/// Refuses an identity that the run file is not for.
pub(crate) fn check(path: &Path, partner: &Partner) -> Result<(), Error> {
    let expected = RunFile::load(path)?.partner.mine;
    match (expected, partner.my_key().map(|key| key.to_string())) {
        (Some(expected), Some(mine)) if expected != mine => Err(Error::usage(
            format!("the run file is for the public key {expected}, and this identity has {mine}"),
            "name the other identity with `--identity`, or ask the partner for a file for this one",
        )),
        _ => Ok(()),
    }
}

/// The run file for the partner of this job.
pub(crate) fn for_partner(job: &Job, partner: &Partner) -> RunFile {
    let (mine, theirs) = match &partner.keys {
        Some((identity, peer)) => (Some(identity.public_key().to_string()), Some(peer.to_string())),
        None => (None, None),
    };
    let helper = partner.helper.as_ref();
    let meeting = Meeting {
        peer: mine,
        mine: theirs,
        helper: helper.map(|helper| helper.address.clone()),
        ..Meeting::of(&partner.address)
    };
    RunFile::for_partner(job.role, &job.settings, &job.table.keys, meeting)
}

/// Whether the partner cannot be told where this side listens.
fn port_is_open(address: &Address) -> bool {
    matches!(address, Address::Listen(at) if at.ends_with(":0"))
}

/// What the partner runs, for the screen; none where that cannot be told yet.
pub(crate) fn line(file: &RunFile, job: &Job, partner: &Partner) -> Option<String> {
    let known = !port_is_open(&partner.address);
    known.then(|| format!("the partner runs: {}", command_line(file, &job.settings)))
}

/// Writes a new run file.
pub(crate) fn write(path: &Path, file: &RunFile, address: &Address) -> Result<(), Error> {
    if port_is_open(address) {
        return Err(Error::usage(
            "a run file names the port, and port 0 is whichever is free",
            "give `--listen` a port",
        ));
    }
    let text = file.to_text()?;
    let made = OpenOptions::new().write(true).create_new(true).open(path);
    let written = made.and_then(|mut to| to.write_all(text.as_bytes()).and_then(|()| to.sync_all()));
    written.map_err(|error| {
        let remedy = match error.kind() {
            ErrorKind::AlreadyExists => "name a new file, or remove that one",
            _ => "name a new file in a folder that you may write to",
        };
        Error::usage(format!("`--write-run-file {}`: {error}", shown_path(path)), remedy)
    })
}

/// The command that the partner runs, as a shell takes it.
fn command_line(file: &RunFile, settings: &Settings) -> String {
    let no_keys = Vec::<KeySpec>::new().into();
    let usual = RunFile::for_partner(Role::Receiver, &Settings::default(), &no_keys, Meeting::default());
    let usual = usual.arguments();
    let mut words = vec!["vesica".to_owned(), file.command().to_owned(), "--input TABLE".to_owned()];
    let key = |rule: &String| {
        let columns: Vec<String> = rule.split(" + ").map(|rule| format!("COLUMN:{rule}")).collect();
        format!("--{} {}", file.key_option(), quoted(&columns.join(" + ")))
    };
    words.extend(file.key_rules().iter().map(key));
    if file.command() == "receive" && settings.result.result == ResultChoice::Rows {
        words.push("--output FILE".to_owned());
    }
    let arguments = file.arguments();
    let chosen = arguments.iter().filter(|argument| !usual.contains(argument)).copied();
    let meeting = file.meeting().into_iter().map(|(name, value)| (name, Some(value)));
    words.extend(meeting.chain(chosen).map(|(name, value)| match value {
        Some(value) if value.starts_with('-') => format!("--{name}={}", quoted(value)),
        Some(value) => format!("--{name} {}", quoted(value)),
        None => format!("--{name}"),
    }));
    let alike = [
        (file.partner.helper.is_some(), "--helper-key PUBKEY"),
        (file.partner.peer.is_none(), "--insecure-plaintext"),
        (settings.allow_insecure, "--allow-insecure"),
    ];
    words.extend(alike.into_iter().filter(|(given, _)| *given).map(|(_, option)| option.to_owned()));
    words.join(" ")
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:@=,+%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_in_both_forms_and_taken_out() {
        let all: Vec<String> =
            ["--key", "a", "--key=b:email", "--keys=x", "--input", "--key"].map(Into::into).into();
        assert_eq!(values(&all[..5], "key"), ["a", "b:email"]);
        let arguments: Vec<OsString> = all[..5].iter().map(Into::into).collect();
        assert_eq!(without(&arguments, "key"), ["--keys=x", "--input"]);
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(
            [quoted("a:1"), quoted("a b"), quoted("it's"), quoted("")],
            ["a:1", "'a b'", "'it'\\''s'", "''"]
        );
    }
}
