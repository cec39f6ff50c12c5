//! The program with a hook in it, for tests that disturb a party at a known step of its run.
//!
//! Only the feature `testing` has it, which no build of the program turns on.

use std::process::ExitCode;
use std::sync::OnceLock;

use vesica::channel::CancelToken;
use vesica::report::Event;

/// Called after each event has been shown, on the thread on which it happened.
pub type Hook = fn(&Event, &CancelToken);

static HOOK: OnceLock<Hook> = OnceLock::new();

/// The whole program, which calls `hook` at each event.
pub fn main_with(hook: Hook) -> ExitCode {
    HOOK.get_or_init(|| hook);
    crate::main()
}

pub(crate) fn at(event: &Event, cancel: &CancelToken) {
    if let Some(hook) = HOOK.get() {
        hook(event, cancel);
    }
}
