//! Every private set intersection protocol, one file per paper.
//!
//! A protocol takes [`Items`](vesica_encode::items::Items) and a [`Channel`](vesica_channel::Channel) and gives
//! [`Matches`](vesica_encode::items::Matches); it never sees a column, a file or a socket. The [`registry`] lists them
//! all. A protocol file opens with what it computes, under which security model, its messages and its cost.
//!
//! Both roles of a protocol, on two sets of strings, over a channel in memory:
//!
//! ```
//! use rand::{SeedableRng, rngs::{StdRng, SysRng}};
//! use vesica_crypto::hash::Context;
//! use vesica_encode::items::{Encoding, Items, ItemsBuilder, ItemsError, OnDuplicates, Width};
//! use vesica_net::{Options, memory};
//! use vesica_protocols::{Learns, Parameters, Run, Sizes, NoProgress, registry};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let items = |keys: &[&str]| -> Result<Items, ItemsError> {
//!     let mut builder = ItemsBuilder::new(Encoding::Digest(Width::Digest128), keys.len())?;
//!     for (row, key) in (0..).zip(keys) {
//!         builder.push(row, key.as_bytes())?;
//!     }
//!     builder.build(OnDuplicates::All)
//! };
//! let (mine, theirs) = (items(&["ada", "bob", "eve"])?, items(&["zoe", "eve"])?);
//! let protocol = registry::find("dh").ok_or("no such protocol")?;
//! let sizes = Sizes { receiver: mine.len(), sender: theirs.len() };
//! // A session id is fresh and known to both; `vesica::session` derives it from the connection and the terms.
//! let parameters = Parameters::default();
//! let agreed = parameters.text();
//! let context =
//!     Context::new(&[7; 32], protocol.name, agreed.as_bytes(), sizes.receiver as u64, sizes.sender as u64);
//! let learns = Learns::Receiver;
//! let run = || Run { context: context.clone(), sizes, parameters, learns, threads: 1, progress: &NoProgress, base_ots: None };
//!
//! let (mut here, mut there) = memory::pair(&Options::default());
//! let (mut my_rng, mut their_rng) = (StdRng::try_from_rng(&mut SysRng)?, StdRng::try_from_rng(&mut SysRng)?);
//! let matches = std::thread::scope(|scope| {
//!     scope.spawn(|| (protocol.send)(&run(), &theirs, &mut there, &mut their_rng));
//!     (protocol.receive)(&run(), &mine, &mut here, &mut my_rng)?.finish()
//! })?;
//! assert_eq!(matches.rows(), [2]); // "eve"
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod entry;
mod error;
mod mask_lists;
mod masks;
mod outcome;
mod overlap;
mod parameters;
mod positions;
mod protocol;

pub mod bloom_filter;
pub mod insecure;
pub mod oprf;
pub mod ot_based;
pub mod public_key;
pub mod registry;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod vole_based;

pub use error::{Error, Misbehaviour, Misuse};
pub use masks::MaskWidth;
pub use outcome::{Outcome, Pairs, Pending};
pub use parameters::{
    DEFAULT_LEVEL, Parameters, Profile, STATISTICAL_SECURITY, Security, Supported, Unsupported, Variant,
    encoding_for,
};
pub use protocol::{Ctx, Learns, NoProgress, Phase, Progress, Role, Run, Sizes, Step};
