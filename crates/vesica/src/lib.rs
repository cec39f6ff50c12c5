//! Private set intersection: find the rows that two tables share, and show neither side anything else.
//!
//! [`job::Job`] is a whole run for one party: a table, a partner, a protocol, the matching rows. The table is a file, or
//! record batches in memory, which are not copied. [`local::run`] plays both parties in one process. [`sets::SetJob`] takes a
//! set of byte strings and a [`Connection`](vesica_net::Connection). Below them, [`session`] is the conversation around a
//! protocol, and [`registry`] the protocols themselves.
//!
//! ```
//! use vesica::{job::{Destination, TableArgs}, channel::CancelToken, local, randomness, settings::Settings,
//!     table::{Dialect, MatchRule}};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let table = |name: &str, text: &str, key: &str| -> Result<TableArgs, Box<dyn std::error::Error>> {
//!     let input = folder.path().join(name);
//!     std::fs::write(&input, text)?;
//!     let (keys, output) = (MatchRule::parse(key)?.into(), Destination::RowNumbers);
//!     Ok(TableArgs { input: input.into(), keys, dialect: Dialect::default(), output, protected: Vec::new() })
//! };
//! let mine = table("mine.csv", "id,mail\n1,ada@example.org\n2,bob@example.org\n", "mail:email")?;
//! let theirs = table("theirs.csv", "e-mail\nBOB@example.org\ncarol@example.org\n", "e-mail:email")?;
//!
//! let mut rngs = [randomness()?, randomness()?];
//! let [my_rng, their_rng] = &mut rngs;
//! let (receiver, _sender) =
//!     local::run(mine, theirs, &Settings::default(), &CancelToken::new(), [my_rng, their_rng], &|_event| {});
//! assert_eq!(receiver.result?.matches.unwrap().rows(), [1]); // the second row of mine, counted from 0
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

pub mod job;
pub mod plan;
mod scale;
pub mod session;
mod words;

pub use job::{assist, inspect, local, output_paths, relay, sets, verify};
pub use scale::parts;
pub use session::{helper, partner};
pub use words::error::{Error, Kind, RunPhase, Side, caught};
pub use words::randomness::randomness;
pub use words::{
    auto, base_ots, memory, options, profile, receipt, registry, report, resources, results, run_file,
    settings, terms,
};

pub use vesica_channel as channel;
pub use vesica_crypto::backend;
pub use vesica_crypto::device;
pub use vesica_crypto::memory::keep_freed_memory;
pub use vesica_encode as encode;
pub use vesica_net as net;
pub use vesica_page as page;
pub use vesica_protocols as protocols;
pub use vesica_table as table;
pub use vesica_text as text;

/// Deletes every unfinished output and set file of this process. A program calls it before it exits without returning to
/// whoever writes them.
pub fn remove_unfinished() {
    vesica_table::remove_unfinished();
    vesica_kept::remove_unfinished();
}
