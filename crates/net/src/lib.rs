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
pub mod private_file;
pub mod relay;
pub mod shaped;
mod shaped_writer;
mod socket;
mod socket_writer;
mod system;
#[cfg(feature = "testing")]
pub mod testing;

use std::time::Duration;

pub use connection::{Connection, Nonces};
pub use error::{NetError, Others, RetryReason, StrangerReason};
pub use establish::{
    Address, Company, ConnectionSecurity, MeetingPlace, NetEvent, PartCall, PartsAddress, VERSION, establish,
    gather, meet, meet_to_stay,
};
pub use identity::{Identity, PublicKey};
use vesica_channel::{CancelToken, LONGEST};

/// What a connection obeys besides its address and keys. Local: never sent to the peer.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long to wait for the partner to come, and for any sign of life from it afterwards.
    ///
    /// A heartbeat goes out every five seconds, or every third of this where that is shorter; a party whose limit is
    /// shorter than the *peer's* heartbeat would see silence where there is none.
    pub silence: Duration,
    /// Ends every wait and closes the connection.
    pub cancel: CancelToken,
}

impl Default for Options {
    fn default() -> Self {
        Self { silence: Duration::from_secs(300), cancel: CancelToken::new() }
    }
}

impl Options {
    /// How long the writer may be idle before it sends a heartbeat.
    fn heartbeat(&self) -> Duration {
        (self.silence / 3).min(Duration::from_secs(5))
    }

    /// The limit on silence, such that it can be added to any moment.
    fn limit(&self) -> Duration {
        self.silence.min(LONGEST)
    }
}
