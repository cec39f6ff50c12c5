//! Shared helpers of this crate's tests.

use std::ops::ControlFlow;

use vesica_encode::items::{Encoding, Items, Width};

use crate::{Input, KeySpec, MatchRule, Progress, Request, Table, TableError};

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
