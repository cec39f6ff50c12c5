//! What a connection obeys besides its address and keys.

use std::time::Duration;

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
    pub(crate) fn heartbeat(&self) -> Duration {
        (self.silence / 3).min(Duration::from_secs(5))
    }

    /// The limit on silence, such that it can be added to any moment.
    pub(crate) fn limit(&self) -> Duration {
        self.silence.min(LONGEST)
    }
}
