//! Channels over a network that is slower than the one at hand, so that a measurement on one machine sees the network
//! of a paper.
//!
//! Each direction is a link of its own: bytes leave one after the other at the link's rate, and arrive half a round
//! trip after they have left.
//!
//! ```text
//!  handed over at t      leaves from s = max(t, when the link is free)      has left at s + bits / bandwidth
//!                                             arrives half a round trip after it has left
//! ```
//!
//! * The moments are computed, not slept: a wait that lasts too long delays what it waits for, and nothing after it.
//!   An idle link saves up nothing, so there are no bursts. Nothing is ever faster than the arithmetic; it is slower by
//!   the time that threads need to wake up and the real connection needs, once per message that is waited for.
//! * What counts is frames with their headers. On a connection (`vesica_net::shaped`) TLS and heartbeats count too.
//! * In memory an abort arrives at once; what was under way is lost.
//!
//! Digests, counters and errors are those of a channel without shaping; no protocol can tell the difference but by a
//! clock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::cancel::CancelToken;
use crate::delay_line::DelayLine;
use crate::frame::Frame;
use crate::kind::Kind;
use crate::memory;
pub use crate::network::Network;
use crate::stream::Stream;
use crate::transport::{Control, FrameReceiver, FrameSender, Meanwhile, Result, Transport, Urgency};

/// Of each frame that is under way, or has arrived and is not taken: its payload.
type Link = Arc<Mutex<DelayLine<usize>>>;

/// Two ends of a link over some other transport: the one that sends notes when each frame arrives, the one that receives
/// waits for that moment.
struct Shaped<T> {
    inner: T,
    link: Link,
    control: Arc<dyn Control>,
}

impl<T> Shaped<T> {
    fn link(&self) -> MutexGuard<'_, DelayLine<usize>> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: FrameSender> FrameSender for Shaped<T> {
    fn push(&mut self, frame: Frame, urgency: Urgency, meanwhile: Meanwhile) -> Result<Vec<u8>> {
        let payload = if frame.kind == Kind::Data { frame.payload().len() } else { 0 };
        self.link().push(Instant::now(), frame.bytes.len(), payload);
        self.inner.push(frame, urgency, meanwhile)
    }

    fn close_with(&mut self, last: Vec<Frame>) {
        for frame in &last {
            self.link().push(Instant::now(), frame.bytes.len(), 0);
        }
        self.inner.close_with(last);
    }
}

impl<T: FrameReceiver> FrameReceiver for Shaped<T> {
    fn pop(&mut self, spent: Vec<u8>, wanted: usize) -> Result<Frame> {
        let frame = self.inner.pop(spent, wanted)?;
        let arrival = self.link().next_arrival().unwrap_or_else(Instant::now);
        self.control.pause_until(arrival)?;
        self.link().pop(arrival);
        Ok(frame)
    }

    fn waiting(&self) -> usize {
        self.link().arrived(Instant::now()).sum()
    }
}

/// As [`memory::pair`], with a network in between.
///
/// What is sent may run ahead of the link by some MiB, as with a system's send buffer.
pub fn pair(network: Network) -> (Stream, Stream) {
    pair_under(&CancelToken::new(), network)
}

/// As [`pair`]; cancelling the token ends the conversation.
pub fn pair_under(cancel: &CancelToken, network: Network) -> (Stream, Stream) {
    let links = [(); 2].map(|()| Arc::new(Mutex::new(DelayLine::new(network, Instant::now()))));
    let (one, two) =
        memory::transports_with_room(cancel, DelayLine::<()>::new(network, Instant::now()).capacity());
    let shaped = |transport: Transport, links: [&Link; 2]| {
        let Transport { outgoing, incoming, control, counters } = transport;
        let outgoing = Shaped { inner: outgoing, link: links[0].clone(), control: control.clone() };
        let incoming = Shaped { inner: incoming, link: links[1].clone(), control: control.clone() };
        Stream::new(Transport {
            outgoing: Box::new(outgoing),
            incoming: Box::new(incoming),
            control,
            counters,
        })
    };
    (shaped(one, [&links[0], &links[1]]), shaped(two, [&links[1], &links[0]]))
}
