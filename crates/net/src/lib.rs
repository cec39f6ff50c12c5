//! Connections between the parties: TCP and TLS, with heartbeats, limits on silence, and identities.
//!
//! A [`Connection`] is a [`Channel`](vesica_channel::Channel) over a socket. Two threads stand between the two:
//!
//! ```text
//!  protocol                                                                    peer
//!     │ send ─► pending 64 KiB ─► outgoing queue ─► writer thread ─► [TLS] ─► socket
//!     │                                                                           │
//!     └ recv ◄─ current frame ◄── incoming queue ◄─ reader thread ◄─ [TLS] ◄──────┘
//! ```
//!
//! * A connection whose peer says nothing, not even a heartbeat, for [`Options::silence`] is over. The writer thread
//!   sends the heartbeats, so they go out while the protocol computes.
//! * Where a peer must not take its time, a limit ends the wait, heartbeats or not:
//!   [`expect_within`](vesica_channel::Channel::expect_within).
//!
//! [`establish()`] makes a connection: TLS 1.3 with mutual raw public keys, or plaintext on a loopback address.
//! [`meet()`] does so too, and goes on trying until the partner's first message is there. [`shaped`] makes one over a
//! network of a given bandwidth and round trip, [`memory`] two inside one process.

#![forbid(unsafe_code)]

mod connection;
mod error;
mod establish;
mod fork;
pub mod identity;
mod io_threads;
pub mod memory;
mod options;
pub mod private_file;
pub mod relay;
pub mod shaped;
mod shaped_writer;
mod socket;
mod socket_writer;
mod system;
#[cfg(feature = "testing")]
pub mod testing;

pub use connection::{Connection, Nonces};
pub use error::{NetError, Others, RetryReason, StrangerReason};
pub use establish::{
    Address, Company, ConnectionSecurity, MeetingPlace, NetEvent, PartCall, PartsAddress, VERSION, establish,
    gather, meet, meet_to_stay, serve_peers,
};
pub use identity::{Identity, PublicKey};
pub use options::Options;
