//! Channels between the parties: memory, TCP and TLS behind one type, with frames, heartbeats, counters and digests.
//!
//! A [`Connection`] is a byte stream each way. Protocols call [`send`](Connection::send) and
//! [`recv_exact`](Connection::recv_exact) and never see a socket, a frame or a thread:
//!
//! ```text
//!  protocol                                                                    peer
//!     │ send ─► pending 64 KiB ─► outgoing lane ─► writer thread ─► [TLS] ─► socket
//!     │                                                                          │
//!     └ recv ◄─ current frame ◄── incoming lane ◄─ reader thread ◄─ [TLS] ◄──────┘
//! ```
//!
//! * Frames are `u8 type ‖ u32 length (LE) ‖ payload`, at most 1 MiB of payload ([`Kind`]).
//! * The transcript digests and payload counters see DATA payloads only, so they do not depend on how the bytes were
//!   cut into frames.
//! * A connection whose peer says nothing, not even a heartbeat, for [`Options::silence`] is over. The writer thread
//!   sends the heartbeats, so they go out while the protocol computes.
//! * Where a peer must not take its time, a limit ends the wait, heartbeats or not: [`Connection::expect_within`].
//! * Both sides may send any amount at the same moment: see [`Connection::send`].
//!
//! [`establish()`] makes a connection: TLS 1.3 with mutual raw public keys, or plaintext on a loopback address.
//! [`meet()`] does so too, and goes on trying until the partner's first message is there.
//! [`memory::pair`] connects two channels inside a process. [`shaped`] does both over a network of a given bandwidth and
//! round trip.

#![forbid(unsafe_code)]

mod air;
mod cancel;
mod connection;
mod error;
mod establish;
pub mod identity;
mod lane;
mod link;
pub mod memory;
mod outlet;
pub mod private_file;
mod pump;
pub mod shaped;
mod signal;
#[cfg(feature = "testing")]
pub mod testing;

use std::time::Duration;

pub use cancel::CancelToken;
pub use connection::{Connection, Digests, Hello, Meter, RecvHalf, SendHalf, Traffic};
pub use error::{NetError, Others, RetryReason, StrangerReason};
pub use establish::{Address, NetEvent, Security, VERSION, establish, meet};
pub use identity::{Identity, PublicKey};
pub use vesica_channel::{ChannelError, Fault, Kind, MAX_PAYLOAD, Span};

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
        self.silence.min(Duration::from_secs(365 * 24 * 3600))
    }
}
