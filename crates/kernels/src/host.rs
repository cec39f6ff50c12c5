//! What a module of WebAssembly has from the page, or from the test, that runs it: functions that it imports from
//! `vesica`. `crates/web` builds on them.
//!
//! | import | gives |
//! | --- | --- |
//! | `send(bytes, length)` | takes bytes for the other party, without waiting |
//! | `receive(into, length)` | waits for so many bytes: 0; or 1 if the connection has closed, 2 after the limit |
//! | `readable()` | bytes that can be received without waiting; -1 if the connection has closed and none is left |
//! | `expect_within(milliseconds)` | limits all that is awaited from now on; no limit if negative |
//! | `close()` | closes the connection once everything has left |
//! | `random(into, length)` | fills it with random bytes for cryptography |
//! | `argument(name, length, into, room)` | what was given by this name: copies it if there is room; its length, or -1 |
//! | `now()` | milliseconds since some moment |
//! | `print(bytes, length)` | shows a line of UTF-8 |
//!
//! Addresses and lengths are numbers of 32 bits into the module's memory.

use std::time::Duration;

mod imports {
    #[link(wasm_import_module = "vesica")]
    unsafe extern "C" {
        pub(super) fn send(bytes: *const u8, length: usize);
        pub(super) fn receive(into: *mut u8, length: usize) -> i32;
        pub(super) safe fn readable() -> i32;
        pub(super) safe fn expect_within(milliseconds: f64);
        pub(super) safe fn close();
        pub(super) fn random(into: *mut u8, length: usize);
        pub(super) fn argument(name: *const u8, length: usize, into: *mut u8, room: usize) -> i32;
        pub(super) safe fn now() -> f64;
        pub(super) fn print(bytes: *const u8, length: usize);
    }
}

/// Why a receive ended without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotReceived {
    /// The connection has closed.
    Closed,
    /// The limit has passed.
    Late,
}

/// Takes bytes for the other party, without waiting.
pub fn send(bytes: &[u8]) {
    // SAFETY: the host reads these bytes during the call.
    unsafe { imports::send(bytes.as_ptr(), bytes.len()) }
}

/// Waits until `into` is full.
///
/// # Errors
/// If the connection closes, or the limit passes, before that.
pub fn receive(into: &mut [u8]) -> Result<(), NotReceived> {
    // SAFETY: the host writes so many bytes during the call.
    match unsafe { imports::receive(into.as_mut_ptr(), into.len()) } {
        0 => Ok(()),
        2 => Err(NotReceived::Late),
        _ => Err(NotReceived::Closed),
    }
}

/// How many bytes can be received without waiting; none if the connection has closed and nothing is left.
pub fn readable() -> Option<usize> {
    usize::try_from(imports::readable()).ok()
}

/// Limits all that is awaited from now on.
pub fn expect_within(limit: Option<Duration>) {
    imports::expect_within(limit.map_or(-1.0, |limit| limit.as_secs_f64() * 1000.0));
}

/// Closes the connection once everything has left.
pub fn close() {
    imports::close();
}

/// Fills `into` with random bytes for cryptography.
pub fn random(into: &mut [u8]) {
    // SAFETY: the host writes so many bytes during the call.
    unsafe { imports::random(into.as_mut_ptr(), into.len()) }
}

/// What this argument says, if it is given.
pub fn argument(name: &str) -> Option<String> {
    let mut value = Vec::new();
    loop {
        // SAFETY: the host reads the name, and writes no more than there is room for, during the call.
        let length = unsafe { imports::argument(name.as_ptr(), name.len(), value.as_mut_ptr(), value.len()) };
        let length = usize::try_from(length).ok()?;
        if length <= value.len() {
            value.truncate(length);
            return Some(String::from_utf8_lossy(&value).into_owned());
        }
        value.resize(length, 0);
    }
}

/// The time since some moment.
pub fn now() -> Duration {
    Duration::try_from_secs_f64(imports::now() / 1000.0).unwrap_or_default()
}

/// Shows a line.
pub fn print(line: &str) {
    // SAFETY: the host reads these bytes during the call.
    unsafe { imports::print(line.as_ptr(), line.len()) }
}
