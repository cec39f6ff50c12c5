//! The byte stream that two parties talk over, as protocols see it: [`Channel`].
//!
//! Protocols take `&mut dyn Channel`, call [`send`](Channel::send) and [`recv_exact`](Channel::recv_exact), and never
//! see a socket, a frame or a thread. This crate opens no socket and depends on no TLS library.
//!
//! ```text
//!  protocol ─ Channel ─► Stream ─► Counted ─► Digested ─► Tampered (tests), Shaped (benchmarks) ─► a transport
//!                      gathers 64 KiB       each wraps the ends of a transport                     memory, a socket
//! ```
//!
//! * A [`Stream`] cuts bytes into frames, `u8 type ‖ u32 length (LE) ‖ payload`, at most 1 MiB of payload ([`Kind`]).
//! * Transcript digests and payload counters see DATA payloads only, so they do not depend on how the bytes were cut.
//! * [`memory::pair`] connects two streams inside a process, [`shaped::pair`] over a network of a given bandwidth and
//!   round trip, `tampered::pair` through a test that alters frames.
//! * A [`transport`] keeps the queues bounded, says when a peer takes too long, and lets both sides send any amount at
//!   the same moment ([`Channel::send`]).

#![forbid(unsafe_code)]

mod cancel;
pub mod codec;
pub mod counted;
mod counters;
mod delay_line;
pub mod digested;
mod error;
mod frame;
mod kind;
mod limit;
pub mod memory;
mod network;
mod queue;
pub mod shaped;
mod signal;
mod span;
mod stream;
#[cfg(feature = "testing")]
pub mod tampered;
pub mod transport;

use std::time::Duration;

pub use cancel::{CancelToken, Cancellable};
pub use counters::{Counters, Meter, Traffic};
pub use delay_line::DelayLine;
pub use digested::Digests;
pub use error::{ChannelError, Fault};
pub use frame::{Frame, HEADER, header, parse_header};
pub use kind::{Kind, MAX_PAYLOAD};
pub use limit::{GRACE, LONGEST, Limit};
pub use queue::{FrameQueue, WAKE_BYTES, Wake};
pub use signal::Signal;
pub use span::Span;
pub use stream::Stream;

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
