//! Plays one role of every run whose digests `crates/protocols/tests/wire_digest` pins, for the protocols that a page
//! offers, and prints the lines of those files. `tests/wire_digests.mjs` starts two of it.

#![forbid(unsafe_code)]

#[cfg(target_family = "wasm")]
fn main() {
    wasm::main();
}

#[cfg(not(target_family = "wasm"))]
fn main() {}

#[cfg(target_family = "wasm")]
mod wasm {
    use std::time::Duration;

    use vesica_channel::piped::{self, Missing, Pipe};
    use vesica_channel::{CancelToken, Stream};
    use vesica_kernels::host;
    use vesica_protocols::testing::suites::wire_digest;
    use vesica_protocols::{Role, registry};
    use vesica_web::Connection;

    /// One run after the other goes over the connection, so that none closes it.
    struct Kept;

    impl Pipe for Kept {
        fn send(&self, bytes: &[u8]) {
            Connection.send(bytes);
        }

        fn recv_exact(&self, into: &mut [u8]) -> Result<(), Missing> {
            Connection.recv_exact(into)
        }

        fn readable(&self) -> Option<usize> {
            Connection.readable()
        }

        fn expect_within(&self, limit: Option<Duration>) {
            Connection.expect_within(limit);
        }

        fn close(&self) {}
    }

    pub(crate) fn main() {
        vesica_web::show_panics();
        let role = if host::argument("role").as_deref() == Some("sender") { Role::Sender } else { Role::Receiver };
        for name in host::argument("protocols").unwrap_or_default().split_whitespace() {
            let Some(entry) = registry::find(name) else { panic!("no protocol `{name}`") };
            for run in wire_digest::pinned(entry) {
                let channel = Stream::new(piped::transport(Kept, &CancelToken::new()));
                host::print(&format!("{name} {}", run.line_of(entry, role, channel).trim_end()));
            }
        }
    }
}
