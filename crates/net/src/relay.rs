//! A relay: two parties of whom neither can listen both connect to it, and it passes bytes from one to the other.
//!
//! ```text
//!  party A                              relay                              party B
//!     │ TCP, TLS (ALPN vesica-relay/2) ─►  │  ◄─ TCP, TLS (ALPN vesica-relay/2) │
//!     │ JOIN label, key of B ───────────►  │                                    │
//!     │ ◄──────────────── WAIT, every 15 s │  ◄─────────── JOIN label, key of A │
//!     │ ◄──── PAIRED, close_notify ─────── │  ───── PAIRED, close_notify ─────► │
//!     │ ───── close_notify ─────────────►  │  ◄─────────────── close_notify ─── │
//!     │ ◄──── a bare byte 0 ────────────── │  ────────────── a bare byte 0 ───► │
//!     │ ◄═══════════ TLS of the two parties, with their own pinned keys ══════► │
//! ```
//!
//! * **Pairing.** A stream of A that names B is paired with one of B that names A under the same [`Label`]. First come,
//!   first paired: further streams of the same side wait in line.
//! * **Parts.** Whoever holds its identity's key opens a grant for a key made for a run, and for the run's tag. While the grant
//!   is open, a stream that shows that key may join parts of that tag in the granter's name: it is paired by the granter's
//!   key, the tag, the round and the part, and counts as the granter's. It may leave the part open; then it gets any at which
//!   the partner waits. When the granter says that a round is over, or the grant ends, streams that wait under it are sent
//!   away. Streams that are paired go on.
//! * **Handover.** TLS with the relay ends with a close_notify of each side, and a party sends nothing until the relay's
//!   bare byte. Each side takes TLS records from its socket one by one, so the bytes that follow stay there, also if they
//!   came in the same segment. The byte goes out once *both* parties have closed their TLS.
//! * **What a relay learns:** addresses, both public keys, the label, bytes and times. It can drop, delay and cut. It cannot
//!   read or alter, and it cannot put somebody else in a partner's place: the parties' TLS goes from end to end.
//! * **Against abuse:** keys that are not on the list get no service; handshakes, streams and rates are bounded ([`Rules`]).

mod copy;
mod pairing;
mod server;
mod stream;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

pub use crate::error::Refusal;
use crate::error::StrangerReason;
use crate::establish::at_relay::SHORT;
pub use crate::establish::at_relay::{Join, Label, RelayAddress, Times, Via};
pub use crate::establish::grants::Grants;
use crate::identity::PublicKey;

pub use server::{OnRelayEvent, serve};

impl PublicKey {
    /// The 8 characters that a relay's log holds of a key.
    pub fn short(&self) -> String {
        self.encoded().chars().take(SHORT).collect()
    }
}

/// Whom a relay serves, and how much.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The keys that get service.
    pub allow: Vec<PublicKey>,
    /// Bytes a second that each key may send, over all of its streams.
    pub rate: Option<u64>,
    /// Streams at once, waiting and paired. Whoever waits takes a second one, which its partner will get.
    pub max_streams: usize,
    /// Waiting streams of one key; also the grants that it may hold.
    pub waiting: usize,
    /// Paired streams of one key.
    pub paired: usize,
    /// Handshakes at once.
    pub handshakes: usize,
    /// Handshakes at once from one address (for IPv6 one /64).
    pub handshakes_an_address: usize,
    /// How long things may take.
    pub times: Times,
}

impl Rules {
    /// For these keys, of which none can take all of the streams.
    #[must_use]
    pub fn shared(allow: Vec<PublicKey>, rate: Option<u64>, max_streams: usize) -> Self {
        let usual = Self::default();
        // Whoever waits keeps a seat for its partner, too. A run in parts has a connection of its own beside those of parts.
        let share = (max_streams / (2 * allow.len().max(1))).max(2);
        let (waiting, paired) = (usual.waiting.min(share), usual.paired.min(share));
        Self { allow, rate, max_streams, waiting, paired, ..usual }
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            rate: None,
            max_streams: 20_000,
            waiting: 4096,
            paired: 4096,
            handshakes: 1000,
            handshakes_an_address: 64,
            times: Times::default(),
        }
    }
}

/// What happens at a relay.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RelayEvent {
    /// It listens.
    Listening(SocketAddr),
    /// Somebody came who did not get as far as a JOIN.
    TurnedAway {
        /// From where.
        from: SocketAddr,
        /// Why.
        reason: StrangerReason,
    },
    /// A party got no service.
    Refused {
        /// From where.
        from: SocketAddr,
        /// The key that it has proven.
        key: PublicKey,
        /// Why.
        refusal: Refusal,
    },
    /// A stream waits for its partner.
    Waiting {
        /// Whose.
        key: PublicKey,
        /// Under which label.
        label: Label,
    },
    /// A waiting stream left.
    Left {
        /// Whose.
        key: PublicKey,
        /// Under which label.
        label: Label,
    },
    /// A grant is open: a key made for a run may join the run's parts.
    Granted {
        /// Whose.
        key: PublicKey,
        /// The run's tag.
        label: Label,
    },
    /// A grant has ended.
    Revoked {
        /// Whose.
        key: PublicKey,
        /// The run's tag.
        label: Label,
    },
    /// Two streams are one connection.
    Paired(Pair),
    /// A pair has ended.
    Ended {
        /// Which.
        pair: Pair,
        /// Bytes that each of the two has sent.
        bytes: [u64; 2],
        /// From the pairing to the end.
        lasted: Duration,
    },
    /// No streams are taken any more; so many still run.
    Draining {
        /// Streams of pairs.
        streams: usize,
    },
}

/// Two parties whose streams are paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Their keys; first who waited.
    pub keys: [PublicKey; 2],
    /// Their label.
    pub label: Label,
    /// Which part; none if it is the connection of a run.
    pub part: Option<PartId>,
}

/// A part of a run, in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartId {
    /// Its number.
    pub part: u32,
    /// The round.
    pub round: u16,
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, other] = self.keys.map(|key| key.short());
        write!(f, "{one} and {other} (label {})", self.label.short())
    }
}
