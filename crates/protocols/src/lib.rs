//! Every private set intersection protocol, one module per protocol.
//!
//! A protocol takes [`Items`](vesica_encode::items::Items) and a [`Channel`](vesica_channel::Channel) and
//! gives [`Matches`](vesica_encode::items::Matches); it never sees a column, a file or a socket. The
//! [`registry`] lists them all. A protocol file opens with what it computes, under which security model, its
//! messages and its cost.
//!
//! A first run, of both roles in one process (the README has the same program):
//!
//! ```
//! use rand::{SeedableRng, rngs::{StdRng, SysRng}};
//! use vesica_encode::items::{Items, Width};
//! use vesica_protocols::{registry, run_local};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let mut rng = StdRng::try_from_rng(&mut SysRng)?;
//!     let mine = Items::of_keys(Width::Digest128, &["ada", "bob", "eve"])?;
//!     let theirs = Items::of_keys(Width::Digest128, &["zoe", "eve"])?;
//!     let protocol = registry::find("dh").ok_or("no such protocol")?;
//!     let matches = run_local(protocol, &mine, &theirs, &mut rng)?.into_matches()?;
//!     assert_eq!(matches.rows(), [2]); // "eve"
//!     Ok(())
//! }
//! ```
//!
//! Two processes each make a [`Run`] and a channel of their own, and call
//! [`Entry::receive`](registry::Entry::receive) or [`Entry::send`](registry::Entry::send): `vesica::session`
//! does.

#![forbid(unsafe_code)]

mod attached;
mod cost;
mod entry;
mod error;
mod local;
mod mask_lists;
mod outcome;
mod overlap;
mod participants;
mod positions;
mod protocol;
mod results;

pub mod bloom_filter;
pub mod circuit_based;
pub mod masks;
pub mod oprf;
pub mod ot_based;
pub mod parameters;
pub mod public_key;
pub mod registry;
pub mod server_aided;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod vole_based;

pub use attached::{Attached, MatchedPayloads, Payloads};
pub use error::{Error, Misbehaviour, Misuse};
pub use local::run_local;
pub use masks::MaskWidth;
pub use outcome::{Outcome, Pairs, Pending};
pub use parameters::{
    DEFAULT_LEVEL, KeyAgreement, MOST_STATISTICAL_SECURITY, Parameters, Profile, STATISTICAL_SECURITY,
    Security, Supported, Unsupported, Variant, encoding_for,
};
pub use participants::{Learns, Participant, Role, Sizes};
pub use protocol::{Ctx, HelperCtx, NoProgress, Phase, Progress, Run, Step};
pub use results::{MOST_PAYLOAD_BYTES, MOST_SUMS, Noise, ResultKind, ResultName};
