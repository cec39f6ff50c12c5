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
use std::time::{Duration, Instant};

use crate::cancel::CancelToken;
use crate::delay_line::DelayLine;
use crate::frame::{Frame, Kind};
use crate::limit::LONGEST;
use crate::transport::{Control, FrameReceiver, FrameSender, Meanwhile, Result, Transport, Urgency};
use crate::{Stream, memory};

/// A network between two parties, the same in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// What each direction carries, in bits per second; none: any amount at once. 0 is taken for 1.
    pub bandwidth_bits_per_s: Option<u64>,
    /// How long a bit needs to the other side and an answer back; each direction takes half of it.
    pub round_trip: Duration,
}

impl Network {
    /// 1 Gbit/s, 0.2 ms: "Gigabit LAN" of PSZ14 (slide "Communication effect on runtime") and the LAN of RR16 §6.1.
    /// PSSZ15 §8 and DCW13 measured in a Gigabit LAN, too, and state no round trip.
    pub const GIGABIT_LAN: Self = Self::of(1_000_000, 200);
    /// 100 Mbit/s: the LAN of HEK12 §6. It states no round trip; 0.2 ms is that of the other papers' LANs.
    pub const LAN_100: Self = Self::of(100_000, 200);
    /// 54 Mbit/s, 0.2 ms: "802.11g" of PSZ14 (slide "Communication effect on runtime").
    pub const WIFI_802_11G: Self = Self::of(54_000, 200);
    /// 25 Mbit/s, 10 ms: the faster "Intra-country" of PSZ14 (slide "Communication effect on runtime").
    pub const INTRA_COUNTRY_25: Self = Self::of(25_000, 10_000);
    /// 10 Mbit/s, 50 ms: the slower "Intra-country" of PSZ14 (slide "Communication effect on runtime").
    pub const INTRA_COUNTRY_10: Self = Self::of(10_000, 50_000);
    /// 3.6 Mbit/s, 500 ms: mobile, "HSDPA" of PSZ14 (slide "Communication effect on runtime", spelled HDSPA there).
    pub const HSDPA: Self = Self::of(3_600, 500_000);
    /// 50 MB/s, 96 ms: the WAN of PSSZ15 §8, between North Virginia and Frankfurt.
    pub const WAN_PSSZ15: Self = Self::of(400_000, 96_000);
    /// 60 Mbit/s, 95 ms: the simulated WAN of RR16 §6.1.
    pub const WAN_RR16: Self = Self::of(60_000, 95_000);

    const fn of(kilobits_per_s: u64, round_trip_us: u64) -> Self {
        Self {
            bandwidth_bits_per_s: Some(1000 * kilobits_per_s),
            round_trip: Duration::from_micros(round_trip_us),
        }
    }

    /// How long so many bytes take to leave, rounded up.
    pub fn leaving(&self, bytes: usize) -> Duration {
        let Some(rate) = self.bandwidth_bits_per_s else { return Duration::ZERO };
        let nanos = (bytes as u128 * 8 * 1_000_000_000).div_ceil(u128::from(rate.max(1)));
        Duration::from_nanos(nanos.try_into().unwrap_or(u64::MAX)).min(LONGEST)
    }

    /// How long it takes from one side to the other.
    pub fn crossing(&self) -> Duration {
        (self.round_trip / 2).min(LONGEST)
    }

    /// How long the last words of both sides may take beyond what they take without a network: each waits for a frame
    /// or two to leave.
    pub fn farewell(&self) -> Duration {
        (self.crossing() + 2 * self.leaving(64 << 10)) * 2
    }

    /// How many bytes leave in a given time.
    pub fn carries(&self, time: Duration) -> usize {
        let Some(rate) = self.bandwidth_bits_per_s else { return usize::MAX };
        let bytes = u128::from(rate) * time.as_nanos() / (8 * 1_000_000_000);
        bytes.try_into().unwrap_or(usize::MAX)
    }
}

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

    fn leave(&mut self, last: Vec<Frame>) {
        for frame in &last {
            self.link().push(Instant::now(), frame.bytes.len(), 0);
        }
        self.inner.leave(last);
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

/// The same; the switch ends the conversation.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_times_are_each_others_inverse() {
        let lan = Network::GIGABIT_LAN;
        assert_eq!(lan.leaving(125_000), Duration::from_millis(1));
        assert_eq!(lan.carries(Duration::from_millis(1)), 125_000);
        assert_eq!(Network::WAN_PSSZ15.leaving(50_000_000), Duration::from_secs(1));
        assert_eq!(Network::HSDPA.crossing(), Duration::from_millis(250));
        assert_eq!(Network::default().leaving(usize::MAX), Duration::ZERO);
    }
}
