//! A conversation as protocols see it.

use std::time::Duration;

use crate::error::ChannelError;

/// A conversation with the other party: a byte stream each way.
pub trait Channel: Send {
    /// Sends bytes. Small pieces are gathered until [`flush`](Self::flush), the next receive, or 64 KiB.
    ///
    /// Waits while the peer does not take what was sent before. If the peer is itself blocked in a large send, what it
    /// sends is taken in meanwhile (up to 1 GiB), so that two sides which both send first and receive afterwards do not
    /// block each other.
    fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError>;

    /// Sends what has been gathered.
    fn flush(&mut self) -> Result<(), ChannelError>;

    /// Fills `into` with the next bytes of the stream; flushes first.
    fn recv_exact(&mut self, into: &mut [u8]) -> Result<(), ChannelError>;

    /// How many bytes can be received without waiting.
    fn readable(&self) -> usize;

    /// The two halves, to be used by two threads at once. They do not flush for each other.
    fn split(&mut self) -> (&mut dyn SendHalf, &mut dyn RecvHalf);

    /// From this call on, everything awaited from the peer has to arrive within `limit`: neither heartbeats nor single
    /// bytes prolong a wait beyond it ([`ChannelError::Unanswered`]). The limit holds until the next such call; `None`
    /// removes it. What has arrived is given out at any time.
    fn expect_within(&mut self, limit: Option<Duration>);
}

/// The sending half of a [`Channel`].
pub trait SendHalf: Send {
    /// As [`Channel::send`], but nothing is taken in while it waits.
    fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError>;

    /// Sends what has been gathered.
    fn flush(&mut self) -> Result<(), ChannelError>;

    /// Fails if the peer has gone or fallen silent: for a long computation that neither sends nor receives.
    fn check(&self) -> Result<(), ChannelError>;

    /// Gives up. The peer is told so, if it can be, and never why; then the connection is closed. A receive that waits
    /// in another thread ends too.
    fn abort(&mut self);
}

/// The receiving half of a [`Channel`].
pub trait RecvHalf: Send {
    /// As [`Channel::recv_exact`], but flushes nothing.
    fn recv_exact(&mut self, into: &mut [u8]) -> Result<(), ChannelError>;

    /// How many bytes can be received without waiting.
    fn readable(&self) -> usize;
}
