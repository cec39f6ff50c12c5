//! Plays one role of runs that the tests know; `tests/*.mjs` start two of it. Of the protocols that are named, the runs
//! whose digests `crates/protocols/tests/wire_digest` pins: it prints the lines of those files. With a size, one run over
//! as many items: it prints how many are common, and how long the run took.

#![forbid(unsafe_code)]
#![allow(clippy::expect_used, reason = "a test stops where something is not as it must be")]

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
    use vesica_crypto::prg::Prg;
    use vesica_kernels::block::Block;
    use vesica_kernels::{Backend, host};
    use vesica_protocols::testing::suites::wire_digest;
    use vesica_protocols::testing::{Case, planted_for, play_role};
    use vesica_protocols::{Parameters, Role, Security, registry};
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
        host::print(&Backend::detect().level().to_string());
        let role =
            if host::argument("role").as_deref() == Some("sender") { Role::Sender } else { Role::Receiver };
        let size = host::argument("size").map(|size| size.parse().expect("a number of items"));
        for name in host::argument("protocols").unwrap_or_default().split_whitespace() {
            match size {
                Some(size) => sized(name, role, size),
                None => pinned(name, role),
            }
        }
    }

    fn channel() -> Stream {
        Stream::new(piped::transport(Kept, &CancelToken::new()))
    }

    fn pinned(name: &str, role: Role) {
        let entry = registry::find(name).expect("a protocol of the registry");
        for run in wire_digest::pinned(entry) {
            host::print(&format!("{name} {}", run.line_of(entry, role, channel()).trim_end()));
        }
    }

    /// A third of the items are common.
    fn sized(name: &str, role: Role, size: usize) {
        let entry = registry::find(name).expect("a protocol of the registry");
        let semi_honest = host::argument("security").as_deref() == Some("semi-honest");
        let security = if semi_honest { Security::SemiHonest } else { Security::Malicious };
        let case = Case { parameters: Parameters { security, ..entry.supports.usual() }, ..Case::default() };
        let sets = planted_for(&case.parameters, size, size, size / 3, 1);
        let mut seed = Block::ZERO;
        host::random(seed.as_mut_bytes());
        let mut rng = Prg::from_seed(seed);
        let start = host::now();
        let ended = play_role((entry, &sets, case), role, channel(), None, &mut rng);
        let matches = ended.expect("an honest run").map_or(0, |matches| matches.rows().len());
        let seconds = (host::now() - start).as_secs_f64();
        host::print(&format!("{name} {security:?} {size}: {matches} common, {seconds:.2} s"));
    }
}
