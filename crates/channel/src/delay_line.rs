//! What has been sent over a link and has not arrived yet.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::network::Network;

/// How far the sender may run ahead of the link: enough that a thread which wakes late finds the link still busy.
const AHEAD: Duration = Duration::from_millis(50);
/// The most that is under way on a connection, so that a link without a rate holds no more either.
const WINDOW: usize = 64 << 20;
/// Bytes become visible at the far end at least so often in link time, or packet by packet where that is longer.
const TICK: Duration = Duration::from_millis(1);
const PACKET: usize = 1500;
const LARGEST_SLICE: usize = 64 << 10;

/// One direction of a [`Network`]: things under way, in order, each with the moment at which it has arrived.
pub struct DelayLine<T> {
    network: Network,
    /// When the last of the bytes handed over so far has left.
    free: Instant,
    things: VecDeque<Flight<T>>,
    /// Bytes in `things`.
    bytes: usize,
}

struct Flight<T> {
    arrival: Instant,
    bytes: usize,
    thing: T,
}

impl<T> DelayLine<T> {
    /// An idle link.
    pub fn new(network: Network, now: Instant) -> Self {
        Self { network, free: now, things: VecDeque::new(), bytes: 0 }
    }

    /// Sends a thing of so many bytes.
    pub fn push(&mut self, now: Instant, bytes: usize, thing: T) {
        self.free = self.free.max(now) + self.network.leaving(bytes);
        let arrival = self.free + self.network.crossing();
        self.things.push_back(Flight { arrival, bytes, thing });
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// The next thing, if it has arrived.
    pub fn pop(&mut self, now: Instant) -> Option<T> {
        if self.next_arrival()? > now {
            return None;
        }
        let flight = self.things.pop_front()?;
        self.bytes -= flight.bytes;
        Some(flight.thing)
    }

    /// When the next thing arrives, or has arrived.
    pub fn next_arrival(&self) -> Option<Instant> {
        self.things.front().map(|flight| flight.arrival)
    }

    /// The things that have arrived and have not been popped.
    pub fn arrived(&self, now: Instant) -> impl Iterator<Item = T>
    where
        T: Copy,
    {
        self.things.iter().take_while(move |flight| flight.arrival <= now).map(|flight| flight.thing)
    }

    /// Until when the sender has to wait before it sends more, if it has to.
    pub fn busy(&self, now: Instant) -> Option<Instant> {
        if self.bytes >= WINDOW {
            return self.next_arrival();
        }
        let ahead = self.free.saturating_duration_since(now);
        (ahead > AHEAD).then(|| now + (ahead - AHEAD))
    }

    /// When the last of the bytes handed over so far has left.
    pub fn free(&self) -> Instant {
        self.free
    }

    /// How many bytes a busy link holds.
    pub fn capacity(&self) -> usize {
        self.network.carries(self.network.crossing()).min(WINDOW)
    }

    /// Whether nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.things.is_empty()
    }

    /// How many bytes of a stream travel, and arrive, as one thing.
    pub fn slice(&self) -> usize {
        self.network.carries(TICK).clamp(PACKET, LARGEST_SLICE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A byte takes a millisecond to leave and twenty to cross.
    const SLOW: Network = Network { bandwidth_bits_per_s: Some(8000), round_trip: Duration::from_millis(40) };

    fn arrivals(line: &DelayLine<()>, start: Instant) -> Vec<Duration> {
        line.things.iter().map(|flight| flight.arrival - start).collect()
    }

    #[test]
    fn bytes_leave_at_the_rate_and_cross_in_half_a_round_trip() {
        let start = Instant::now();
        let mut line = DelayLine::new(SLOW, start);
        for bytes in [10, 1, 5] {
            line.push(start, bytes, ());
        }
        assert_eq!(arrivals(&line, start), [30 * MS, 31 * MS, 36 * MS]);
        assert_eq!(line.free(), start + 16 * MS);
    }

    #[test]
    fn a_sender_that_comes_late_finds_the_link_busy_and_one_that_paused_has_saved_nothing() {
        let start = Instant::now();
        let mut line = DelayLine::new(SLOW, start);
        line.push(start, 10, ());
        line.push(start + 7 * MS, 10, ());
        line.push(start + 100 * MS, 10, ());
        assert_eq!(arrivals(&line, start), [30 * MS, 40 * MS, 130 * MS]);
    }

    #[test]
    fn nothing_arrives_early_or_out_of_order() {
        let start = Instant::now();
        let mut line = DelayLine::new(SLOW, start);
        line.push(start, 10, "large");
        line.push(start, 1, "small");
        assert_eq!(line.pop(start + 30 * MS - Duration::from_nanos(1)), None);
        assert_eq!(line.pop(start + 30 * MS), Some("large"));
        assert_eq!(line.pop(start + 30 * MS), None);
        assert_eq!(line.next_arrival(), Some(start + 31 * MS));
        assert_eq!(line.pop(start + 31 * MS), Some("small"));
        assert!(line.is_empty());
    }

    #[test]
    fn a_sender_runs_ahead_of_the_link_a_little() {
        let start = Instant::now();
        let mut line = DelayLine::new(SLOW, start);
        line.push(start, 50, ());
        assert_eq!(line.busy(start), None);
        line.push(start, 100, ());
        assert_eq!(line.busy(start), Some(start + 100 * MS));
        assert_eq!(line.busy(start + 99 * MS), Some(start + 100 * MS));
        assert_eq!(line.busy(start + 100 * MS), None);
    }

    #[test]
    fn a_link_without_a_rate_holds_a_window() {
        let start = Instant::now();
        let mut line = DelayLine::new(Network { round_trip: 40 * MS, ..Network::default() }, start);
        line.push(start, WINDOW - 1, ());
        assert_eq!(line.busy(start), None);
        line.push(start, 1, ());
        assert_eq!(line.busy(start), Some(start + 20 * MS));
        line.pop(start + 20 * MS);
        assert_eq!(line.busy(start + 20 * MS), None);
    }

    #[test]
    fn rounding_never_gains_time() {
        let network = Network { bandwidth_bits_per_s: Some(3_600_000), round_trip: Duration::ZERO };
        let start = Instant::now();
        let mut line = DelayLine::new(network, start);
        (0..1_000_000).for_each(|_| line.push(start, 1, ()));
        let exact = Duration::from_secs(8_000_000) / 3_600_000;
        assert!(line.free() - start >= exact);
        assert!(line.free() - start <= exact + MS);
    }

    #[test]
    fn slices_are_a_tick_long_within_bounds() {
        let slice = |rate| {
            DelayLine::<()>::new(
                Network { bandwidth_bits_per_s: rate, round_trip: Duration::ZERO },
                Instant::now(),
            )
            .slice()
        };
        assert_eq!(slice(Some(0)), PACKET);
        assert_eq!(slice(Some(3_600_000)), PACKET);
        assert_eq!(slice(Some(54_000_000)), 6750);
        assert_eq!(slice(Some(u64::MAX)), LARGEST_SLICE);
        assert_eq!(slice(None), LARGEST_SLICE);
    }

    #[test]
    fn no_network_is_too_strange_for_a_clock() {
        for network in [
            Network { bandwidth_bits_per_s: Some(0), round_trip: Duration::MAX },
            Network { bandwidth_bits_per_s: Some(u64::MAX), round_trip: Duration::MAX },
            Network::default(),
        ] {
            let start = Instant::now();
            let mut line = DelayLine::new(network, start);
            line.push(start, usize::MAX, ());
            assert!(line.next_arrival().is_some_and(|arrival| arrival >= start));
            assert!(line.capacity() <= WINDOW);
        }
    }
}
