//! One digest per protocol, form and direction over everything it sends, from seeded randomness, against a
//! file for each protocol in this folder.
//!
//! A refactor that changes no byte leaves the files alone; a format change is a line of their diff, named in
//! the commit. `UPDATE_WIRE_DIGESTS=1 cargo test --release -p vesica-protocols --test wire_digest` writes
//! them anew.

use std::path::Path;

use vesica_protocols::registry::PROTOCOLS;
use vesica_protocols::testing::suites::wire_digest;

#[test]
fn transcripts_equal_the_baseline() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wire_digest"));
    wire_digest::transcripts_equal_the_baseline(PROTOCOLS, folder);
}
