//! The byte stream that two parties talk over, as protocols see it: [`Channel`].
//!
//! Protocols take `&mut dyn Channel`, call [`send`](Channel::send) and [`recv_exact`](Channel::recv_exact), and never
//! see a socket, a frame or a thread. This crate opens no socket and depends on no TLS library.
//!
//! ```text
//!  protocol ─ Channel ─► Stream ─► Counted ─► Digested ─► Tampered (tests), Shaped (benchmarks) ─► a transport
//!                      gathers 64 KiB       each wraps the ends of a transport                     memory, a socket,
//!                                                                                                    a page's pipe
//! ```
//!
//! * A [`Stream`] cuts bytes into frames, `u8 type ‖ u32 length (LE) ‖ payload`, at most 1 MiB of payload ([`Kind`]).
//! * Transcript digests and payload counters see DATA payloads only, so they do not depend on how the bytes were cut.
//! * [`memory::pair`] connects two streams inside a process, [`shaped::pair`] over a network of a given bandwidth and
//!   round trip, `tampered::pair` through a test that alters frames. [`piped`] needs no thread.
//! * A [`transport`] keeps the queues bounded, says when a peer takes too long, and lets both sides send any amount at
//!   the same moment ([`Channel::send`]).

#![forbid(unsafe_code)]

mod cancel;
mod channel;
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
pub mod piped;
mod queue;
pub mod shaped;
mod signal;
mod span;
mod stream;
#[cfg(feature = "testing")]
pub mod tampered;
pub mod transport;

pub use cancel::{CancelToken, Cancellable};
pub use channel::{Channel, RecvHalf, SendHalf};
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
