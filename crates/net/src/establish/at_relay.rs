//! The way through a relay: where it is, what a party says to it, and how it waits there. See [`relay`](crate::relay).

mod client;
pub(crate) mod records;
pub(crate) mod wire;

use std::time::Duration;

use crate::identity::PublicKey;

pub(super) use client::Held;
pub(crate) use client::{JoinError, Until, join};
pub(crate) use wire::ANY_PART;
pub use wire::Join;

/// The domain of a run's label.
const RUN_LABEL: &str = "vesica relay v2";
/// Characters of a key or a label in a log.
pub(crate) const SHORT: usize = 8;

/// A way through a relay to the partner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Via {
    /// Where the relay listens: `HOST:PORT`.
    pub address: String,
    /// The relay's key.
    pub key: PublicKey,
    /// Which of several runs of the same two parties at the same time; both sides give the same name.
    pub run: String,
    /// More relays for the parts of a run: part i goes through relay i mod count, of which this one is relay 0.
    pub more: Vec<RelayAddress>,
}

/// A relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayAddress {
    /// Where it listens: `HOST:PORT`.
    pub address: String,
    /// Its key.
    pub key: PublicKey,
}

impl Via {
    /// All relays, in order.
    pub fn relays(&self) -> Vec<RelayAddress> {
        let first = RelayAddress { address: self.address.clone(), key: self.key };
        std::iter::once(first).chain(self.more.iter().cloned()).collect()
    }
}

/// What two streams must have in common to be paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label(pub [u8; 32]);

impl Label {
    /// The label of a run: BLAKE3 in its derive-key mode over both keys, the smaller first, and the name.
    pub fn of_run(one: &PublicKey, other: &PublicKey, name: &str) -> Self {
        let (first, second) = (one.min(other), one.max(other));
        let mut hash = blake3::Hasher::new_derive_key(RUN_LABEL);
        hash.update(first.as_bytes()).update(second.as_bytes()).update(name.as_bytes());
        Self(*hash.finalize().as_bytes())
    }

    /// Its first 8 characters, which is all that a log may hold.
    pub fn short(&self) -> String {
        self.0.iter().take(SHORT / 2).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// How long things may take at a relay.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// From the connection to JOIN, and from PAIRED to the party's close_notify.
    pub handshake: Duration,
    /// Between two signs of life of a party that waits, and of the relay.
    pub beat: Duration,
    /// A side that has shown no sign of life for so long is gone; so is a pair of which one side has closed, or whose relay is
    /// about to end, and through which nothing has gone for so long.
    pub silence: Duration,
    /// A pair through which nothing has gone for so long is cut. Parties send a heartbeat every five seconds.
    pub idle: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            beat: Duration::from_secs(15),
            silence: Duration::from_secs(60),
            idle: Duration::from_secs(15 * 60),
        }
    }
}
