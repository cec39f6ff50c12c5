//! `vesica bench` of a program that was built without it.

use crate::args::Bench;
use crate::screen::say;

/// Says what to build; the exit code of wrong usage.
pub(crate) fn run(_: &Bench) -> u8 {
    say(
        "vesica bench: this program was built without the feature `bench`, as `make demo` does. Build it with \
         `cargo build --release --package vesica-cli`",
    );
    crate::args::USAGE
}
