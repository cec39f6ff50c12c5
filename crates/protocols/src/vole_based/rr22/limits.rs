//! How long a partner may take in a malicious run, once it knows what it could search with.
//!
//! From the opened coin on a receiver knows every hash of the run. Until it sends A' it can evaluate them to
//! put more items into its store than it named. From w_r on the sender knows the hash of the masks. Until its
//! masks are there it can look for two items with one mask. So each party waits for the other no longer than
//! the limit, whatever heartbeats come in: that bounds the evaluations by a rate times a time
//! (`docs/security-against-cheating.md`). The limit leaves room for honest partners on slow machines and slow
//! networks.

use std::time::Duration;

use super::costs::MESSAGES;
use crate::entry::Shape;
use crate::protocol::Run;

/// For a run of no size: latency, a machine that stands still for a while.
const LEAST: Duration = Duration::from_secs(600);
/// A network that carries less in a second, or a machine that computes less, is too slow for a malicious run.
const BYTES_PER_SECOND: u64 = 16 << 10;
const MICROSECONDS_PER_ITEM: u64 = 20;

/// The limit of a run of these sizes: all its messages count, and the items of both.
pub(super) fn search(run: &Run<'_>) -> Duration {
    let (sizes, parameters, learns) = (run.sizes, run.parameters, run.learns);
    let shape = Shape { sizes, parameters, learns, matches: 0, kept_base_ots: false };
    let bytes: u64 = MESSAGES.iter().map(|message| (message.bytes)(&shape)).sum();
    let items = shape.receiver() + shape.sender();
    LEAST
        + Duration::from_secs(bytes / BYTES_PER_SECOND)
        + Duration::from_micros(items.saturating_mul(MICROSECONDS_PER_ITEM))
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_channel::tampered::{self, Direction};
    use vesica_channel::{Channel, ChannelError, RecvHalf, SendHalf, Stream};
    use vesica_crypto::hash::Context;

    use super::super::ENTRY;
    use super::*;
    use crate::error::Error;
    use crate::parameters::{Parameters, Security};
    use crate::protocol::{Ctx, Role, Sizes};
    use crate::testing::{planted_for, run_of};

    fn context() -> Context {
        Context::new(&[7; 32], "vole", &[], 300, 200)
    }

    /// What the page says: q evaluations in the limit take so many a second.
    #[test]
    fn the_limit_is_minutes_for_small_runs_and_hours_for_large_ones() {
        let parameters = Parameters { security: Security::Malicious, ..Parameters::default() };
        let minutes = |receiver, sender| {
            search(&run_of(context(), Sizes { receiver, sender }, parameters)).as_secs() / 60
        };
        assert!((10..=15).contains(&minutes(1000, 1000)), "{}", minutes(1000, 1000));
        assert!((40..=70).contains(&minutes(1 << 20, 1 << 20)), "{}", minutes(1 << 20, 1 << 20));
        assert!((8 * 60..=12 * 60).contains(&minutes(1 << 24, 1 << 24)), "{}", minutes(1 << 24, 1 << 24));
    }

    /// A channel with limits of at most 300 ms, for a test cannot wait as long as a run.
    struct Impatient(Stream);

    impl Channel for Impatient {
        fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
            self.0.send(bytes)
        }
        fn flush(&mut self) -> Result<(), ChannelError> {
            self.0.flush()
        }
        fn recv_exact(&mut self, into: &mut [u8]) -> Result<(), ChannelError> {
            self.0.recv_exact(into)
        }
        fn readable(&self) -> usize {
            self.0.readable()
        }
        fn split(&mut self) -> (&mut dyn SendHalf, &mut dyn RecvHalf) {
            self.0.split()
        }
        fn expect_within(&mut self, limit: Option<Duration>) {
            self.0.expect_within(limit.map(|limit| limit.min(Duration::from_millis(300))));
        }
    }

    /// A run of both roles in which nothing of one side arrives after so many bytes of it, while it lives on.
    /// What the other side ends with, whose limits are short.
    fn stalled(from: Direction, bytes: usize) -> Error {
        let parameters = Parameters { security: Security::Malicious, ..Parameters::default() };
        let sets = planted_for(&parameters, 300, 200, 20, 1);
        let mut passed = 0;
        let tap = move |direction: Direction, mut frame: tampered::Frame| {
            if direction == from {
                frame.payload.truncate(bytes.saturating_sub(passed));
                passed += frame.payload.len();
            }
            if frame.payload.is_empty() { Vec::new() } else { vec![frame] }
        };
        let (first, second) = tampered::pair(tap);
        let (mut first, mut second) = (Impatient(first), Impatient(second));
        let run = || run_of(context(), Sizes { receiver: 300, sender: 200 }, parameters);
        let rng = || StdRng::seed_from_u64(1);
        // Both channels outlive both roles: whoever is done is still there.
        let ends = std::thread::scope(|scope| {
            let sender = scope.spawn(|| {
                let (run, mut rng) = (run(), rng());
                ENTRY.send(&mut Ctx::new(&run, &mut second, &mut rng), &sets.sender).map(drop)
            });
            let (run, mut rng) = (run(), rng());
            let ctx = &mut Ctx::new(&run, &mut first, &mut rng);
            let receiver = ENTRY.receive(ctx, &sets.receiver).map(drop);
            if receiver.is_err() {
                first.0.abort();
            }
            [receiver, sender.join().unwrap()]
        });
        let [receiver, sender] = ends;
        match from {
            Direction::FirstToSecond => sender.unwrap_err(),
            Direction::SecondToFirst => receiver.unwrap_err(),
        }
    }

    /// It may have any number of hash evaluations behind it: the sender does not take its A'.
    #[test]
    fn a_receiver_that_stalls_after_the_coins_is_ended() {
        for bytes in [32, 40, 10_000] {
            let error = stalled(Direction::FirstToSecond, bytes);
            assert!(matches!(error, Error::Channel(ChannelError::Unanswered { .. })), "{bytes}: {error}");
        }
    }

    /// Of a sender before its last mask.
    #[test]
    fn a_sender_that_stalls_before_its_masks_is_ended() {
        let parameters = Parameters { security: Security::Malicious, ..Parameters::default() };
        let sizes = Sizes { receiver: 300, sender: 200 };
        let sent = ENTRY.bytes(Role::Sender, &Shape { parameters, ..Shape::new(sizes) });
        let masks = vesica_encode::sorted::encoded_bytes(200, 128) as u64;
        // Before w_s, in the middle of the masks, and before their last byte.
        for bytes in [sent - masks - 64, sent - masks / 2, sent - 1] {
            let error = stalled(Direction::SecondToFirst, bytes as usize);
            assert!(matches!(error, Error::Channel(ChannelError::Unanswered { .. })), "{bytes}: {error}");
        }
    }
}
