//! Shared helpers of this crate's tests.

use std::ops::ControlFlow;

use vesica_encode::items::{Encoding, Items, Width};

use crate::{Dialect, Input, KeySpec, MatchRule, Progress, Request, Table, TableError};

pub(crate) const NARROW: Encoding = Encoding::Digest(Width::Digest128);

pub(crate) fn go(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

pub(crate) fn request(keys: &[&str]) -> Request {
    Request::new(keys.iter().map(|key| key.parse::<KeySpec>().unwrap()).collect(), NARROW)
}

/// A request for several keys.
pub(crate) fn matching(rules: &[&str]) -> Request {
    let rules: Vec<MatchRule> = rules.iter().map(|rule| MatchRule::parse(rule).unwrap()).collect();
    Request::matching(rules.into(), NARROW)
}

pub(crate) fn input(bytes: &[u8]) -> Result<Input, TableError> {
    Input::spool("test.csv", &mut &bytes[..])
}

/// A dialect from options, as a shell has them: `quote=none ragged=pad`. `\\t` and `\\s` stand for a tab and a space.
pub(crate) fn dialect(options: &str) -> Dialect {
    let mut dialect = Dialect::default();
    for option in options.split_whitespace() {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let value = &value.replace("\\s", " ");
        match name {
            "delimiter" => dialect.delimiter = Some(value.parse().unwrap()),
            "encoding" => dialect.encoding = Some(value.parse().unwrap()),
            "no-header" => dialect.header = false,
            "skip-lines" => dialect.skip_lines = value.parse().unwrap(),
            "comment" => dialect.comment = Some(value.parse().unwrap()),
            "quote" => dialect.quote = value.parse().unwrap(),
            "escape" => dialect.escape = Some(value.parse().unwrap()),
            "stray-quotes" => dialect.stray_quotes = value.parse().unwrap(),
            "ragged" => dialect.ragged = value.parse().unwrap(),
            "null" => dialect.nulls.push(value.clone()),
            _ => panic!("no such option: {name}"),
        }
    }
    dialect
}

pub(crate) fn load(bytes: &[u8], request: &Request) -> Result<(Table, Items), TableError> {
    input(bytes)?.load(request, &mut go)
}

/// A new named pipe in its own directory; none on systems without named pipes.
#[cfg(unix)]
pub(crate) fn pipe() -> Option<(tempfile::TempDir, std::path::PathBuf)> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    made.is_ok_and(|status| status.success()).then_some((directory, path))
}
