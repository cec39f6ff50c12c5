//! Every private set intersection protocol, one file per paper.
//!
//! A protocol takes [`Items`](vesica_encode::items::Items) and a [`Channel`](vesica_net::Channel) and gives
//! [`Matches`](vesica_encode::items::Matches); it never sees a column, a file or a socket. The [`registry`] lists them
//! all. A protocol file opens with what it computes, under which security model, its messages and its cost.

#![forbid(unsafe_code)]

mod error;
mod masks;
mod overlap;
mod positions;
mod protocol;

#[cfg(any(test, feature = "testing"))]
mod ideal_group;
pub mod insecure;
pub mod public_key;
pub mod registry;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use error::{Error, Misbehaviour, Misuse};
pub use masks::MaskWidth;
pub use protocol::{Learns, Phase, Receive, Role, Run, STATISTICAL_SECURITY, Send, Sizes, Unwatched, Watch};
