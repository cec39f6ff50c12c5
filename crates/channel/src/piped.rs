//! A transport without threads, over a [`Pipe`] that keeps what is sent until it has left: what a page has, whose socket
//! belongs to another thread.
//!
//! A send never waits for the peer to read, so two sides that both send first do not block each other, whatever their
//! sizes. How much is kept is the pipe's affair.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cancel::{CancelToken, Cancellable};
use crate::counters::Counters;
use crate::error::ChannelError;
use crate::frame::{Frame, HEADER, parse_header};
use crate::kind::Kind;
use crate::queue::FrameQueue;
use crate::transport::{Control, FrameReceiver, FrameSender, Meanwhile, Result, Transport, Urgency};

/// A byte stream each way. One thread sends while another receives.
pub trait Pipe: Send + Sync {
    /// Takes bytes that are to leave, without waiting for the peer.
    fn send(&self, bytes: &[u8]);

    /// Waits for bytes until `into` is full.
    fn recv_exact(&self, into: &mut [u8]) -> std::result::Result<(), Missing>;

    /// How many bytes can be received without waiting; none if the connection has closed and nothing is left.
    fn readable(&self) -> Option<usize>;

    /// From this call on, all that is awaited has to arrive within the limit.
    fn expect_within(&self, limit: Option<Duration>);

    /// Sends what was taken, then closes; a receive that waits ends.
    fn close(&self);
}

/// Why bytes did not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The connection has closed.
    Closed,
    /// The limit has passed.
    Late,
}

/// One party's end of what a pipe carries, for a [`Stream`](crate::Stream).
pub fn transport(pipe: impl Pipe + 'static, cancel: &CancelToken) -> Transport {
    let counters = Arc::<Counters>::default();
    let shared = Arc::new(Shared {
        pipe: Box::new(pipe),
        inbox: Mutex::new(Inbox { queue: FrameQueue::new(usize::MAX), next: vec![0; HEADER], kind: None }),
        ended: Mutex::default(),
        limit: Mutex::default(),
        cancel: cancel.clone(),
        counters: counters.clone(),
    });
    cancel.watch(&shared);
    let end = End(shared);
    Transport {
        outgoing: Box::new(end.clone()),
        incoming: Box::new(end.clone()),
        control: Arc::new(end),
        counters,
    }
}

struct Shared {
    pipe: Box<dyn Pipe>,
    inbox: Mutex<Inbox>,
    /// What ended the conversation.
    ended: Mutex<Option<ChannelError>>,
    /// What the pipe was told last.
    limit: Mutex<Option<Duration>>,
    cancel: CancelToken,
    counters: Arc<Counters>,
}

/// Frames that came in, and the one that comes in.
struct Inbox {
    queue: FrameQueue,
    /// Room for its header; once that is known, the header and room for the payload.
    next: Vec<u8>,
    kind: Option<Kind>,
}

/// One of the ends; all are alike.
#[derive(Clone)]
struct End(Arc<Shared>);

impl Inbox {
    /// What is missing of the next header or payload.
    fn missing(&mut self) -> &mut [u8] {
        if self.kind.is_some() { &mut self.next[HEADER..] } else { &mut self.next }
    }

    /// The missing bytes are there.
    fn advance(&mut self) -> Result<()> {
        let kind = match (self.kind, self.next.first_chunk()) {
            (None, Some(header)) => {
                let (kind, length) = parse_header(*header)?;
                self.next.resize(HEADER + length, 0);
                self.kind = Some(kind);
                if length > 0 {
                    return Ok(());
                }
                kind
            }
            (Some(kind), _) => kind,
            (None, None) => unreachable!("there is room for a header"),
        };
        self.kind = None;
        let mut room = self.queue.spare();
        room.clear();
        room.resize(HEADER, 0);
        let bytes = std::mem::replace(&mut self.next, room);
        self.queue.deliver(Frame { kind, bytes }).map(drop)
    }
}

impl Shared {
    fn ended(&self) -> MutexGuard<'_, Option<ChannelError>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn limit(&self) -> MutexGuard<'_, Option<Duration>> {
        self.limit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self) -> Result<()> {
        self.ended().clone().map_or(Ok(()), Err)
    }

    /// Ends the conversation with this error, unless another one has.
    fn fail(&self, error: ChannelError) -> ChannelError {
        let mut ended = self.ended();
        if let Some(error) = &*ended {
            return error.clone();
        }
        // The close can be seen before the cancellation that caused it.
        let error = if self.cancel.is_cancelled() { ChannelError::Cancelled } else { error };
        *ended = Some(error.clone());
        drop(ended);
        self.pipe.close();
        error
    }

    /// Waits for the missing bytes of the next header or payload.
    fn take_in(&self, inbox: &mut Inbox) -> Result<()> {
        let missing = inbox.missing();
        self.pipe.recv_exact(missing).map_err(|why| match why {
            Missing::Closed => ChannelError::Closed,
            Missing::Late => ChannelError::Unanswered { after: self.limit().unwrap_or_default() },
        })?;
        self.counters.add_wire_received(missing.len());
        inbox.advance()
    }

    /// Takes in all frames that are there as a whole.
    fn take_in_ready(&self, inbox: &mut Inbox) -> Result<()> {
        loop {
            self.check()?;
            match self.pipe.readable() {
                Some(bytes) if bytes < inbox.missing().len() => return Ok(()),
                None if inbox.queue.said_done() => return Ok(()),
                None => return Err(self.fail(ChannelError::Closed)),
                Some(_) => self.take_in(inbox).map_err(|error| self.fail(error))?,
            }
        }
    }

    fn send(&self, frame: &Frame) {
        self.counters.add_wire_sent(frame.bytes.len());
        self.pipe.send(&frame.bytes);
    }
}

impl Cancellable for Shared {
    fn cancel(&self) {
        self.fail(ChannelError::Cancelled);
    }
}

impl FrameSender for End {
    /// Neither urgency nor a full queue has a meaning here: bytes leave as they come.
    fn push(&mut self, frame: Frame, _: Urgency, _: Meanwhile) -> Result<Vec<u8>> {
        self.0.check()?;
        self.0.send(&frame);
        Ok(frame.bytes)
    }

    fn close_with(&mut self, last: Vec<Frame>) {
        if self.0.check().is_ok() {
            last.iter().for_each(|frame| self.0.send(frame));
            self.0.fail(ChannelError::Aborted);
        }
    }
}

impl FrameReceiver for End {
    fn pop(&mut self, spent: Vec<u8>, _: usize) -> Result<Frame> {
        let mut inbox = self.0.inbox();
        inbox.queue.recycle(spent);
        loop {
            self.0.check()?;
            if let Some(frame) = inbox.queue.pop() {
                return Ok(frame);
            }
            self.0.take_in(&mut inbox).map_err(|error| self.0.fail(error))?;
        }
    }

    fn waiting(&self) -> usize {
        let mut inbox = self.0.inbox();
        // A failure ends the conversation, which the next call tells.
        let _ = self.0.take_in_ready(&mut inbox);
        inbox.queue.waiting()
    }
}

impl Control for End {
    fn send_now(&self) {}

    fn check(&self) -> Result<()> {
        // A thread that receives at this moment finds out itself.
        match self.0.inbox.try_lock() {
            Ok(mut inbox) => self.0.take_in_ready(&mut inbox),
            Err(_) => self.0.check(),
        }
    }

    fn expect_within(&self, limit: Option<Duration>) {
        *self.0.limit() = limit;
        self.0.pipe.expect_within(limit);
    }

    /// For networks that are simulated, which pages have none of.
    fn pause_until(&self, moment: Instant) -> Result<()> {
        std::thread::sleep(moment.saturating_duration_since(Instant::now()));
        self.0.check()
    }

    fn fail(&self, error: ChannelError) -> ChannelError {
        self.0.fail(error)
    }

    fn was_declined(&self) -> bool {
        self.0.inbox().queue.declined()
    }

    fn cancel_on(&self, token: &CancelToken) {
        token.watch(&self.0);
    }

    fn finish(&self) -> Result<()> {
        match self.fail(ChannelError::Finished) {
            ChannelError::Finished => Ok(()),
            error => Err(error),
        }
    }

    fn close(&self) {
        self.fail(ChannelError::Finished);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Condvar;
    use std::thread;

    use super::*;
    use crate::channel::Channel;
    use crate::frame::header;
    use crate::kind::MAX_PAYLOAD;
    use crate::stream::Stream;

    /// Bytes on their way, and whether there will be more.
    #[derive(Default)]
    struct Way {
        bytes: Mutex<(VecDeque<u8>, bool)>,
        changed: Condvar,
    }

    struct Memory {
        out: Arc<Way>,
        back: Arc<Way>,
        limit: Mutex<Option<Duration>>,
    }

    impl Pipe for Memory {
        fn send(&self, bytes: &[u8]) {
            self.out.bytes.lock().unwrap().0.extend(bytes);
            self.out.changed.notify_all();
        }

        fn recv_exact(&self, into: &mut [u8]) -> std::result::Result<(), Missing> {
            let limit = *self.limit.lock().unwrap();
            let mut state = self.back.bytes.lock().unwrap();
            while state.0.len() < into.len() {
                if state.1 {
                    return Err(Missing::Closed);
                }
                let (waited, late) =
                    self.back.changed.wait_timeout(state, limit.unwrap_or(Duration::from_secs(10))).unwrap();
                if late.timed_out() {
                    return Err(Missing::Late);
                }
                state = waited;
            }
            into.fill_with(|| state.0.pop_front().unwrap());
            Ok(())
        }

        fn readable(&self) -> Option<usize> {
            let state = self.back.bytes.lock().unwrap();
            (!state.0.is_empty() || !state.1).then_some(state.0.len())
        }

        fn expect_within(&self, limit: Option<Duration>) {
            *self.limit.lock().unwrap() = limit;
        }

        fn close(&self) {
            for way in [&self.out, &self.back] {
                way.bytes.lock().unwrap().1 = true;
                way.changed.notify_all();
            }
        }
    }

    /// A stream, and what is at the other end of its pipe.
    fn stream_and_peer(cancel: &CancelToken) -> (Stream, Memory) {
        let (one, two) = (Arc::<Way>::default(), Arc::<Way>::default());
        let pipe = |out: &Arc<Way>, back: &Arc<Way>| Memory {
            out: out.clone(),
            back: back.clone(),
            limit: Mutex::default(),
        };
        (Stream::new(transport(pipe(&one, &two), cancel)), pipe(&two, &one))
    }

    fn pair() -> (Stream, Stream) {
        let token = CancelToken::new();
        let (one, peer) = stream_and_peer(&token);
        (one, Stream::new(transport(peer, &token)))
    }

    #[test]
    fn one_thread_drives_both_ends_whatever_is_sent() {
        let (mut one, mut two) = pair();
        let bytes: Vec<u8> = (0..9 << 20).map(|i| (i * 7 % 251) as u8).collect();
        for end in [&mut one, &mut two] {
            end.send(&bytes).and_then(|()| end.flush()).unwrap();
        }
        for end in [&mut one, &mut two] {
            assert_eq!(end.readable(), bytes.len());
            let mut received = vec![0; bytes.len()];
            end.recv_exact(&mut received).unwrap();
            assert!(received == bytes);
        }
        assert_eq!(one.digests().sent, two.digests().received);
        assert_eq!(one.traffic().payload_sent, two.traffic().payload_received);
        assert_eq!(one.traffic().wire_sent, two.traffic().wire_received);
        thread::scope(|scope| {
            scope.spawn(|| assert_eq!(one.finish(b"one").unwrap(), b"two"));
            assert_eq!(two.finish(b"two").unwrap(), b"one");
        });
        assert_eq!(two.flush(), Ok(()));
        assert_eq!(two.send(&[0; 1 << 20]), Err(ChannelError::Finished));
    }

    #[test]
    fn whoever_ends_the_conversation_is_named() {
        let (mut one, mut two) = pair();
        one.abort();
        assert_eq!(two.check(), Err(ChannelError::PeerAborted));
        assert_eq!(two.recv_exact(&mut [0]), Err(ChannelError::PeerAborted));
        assert_eq!(one.recv_exact(&mut [0]), Err(ChannelError::Aborted));

        let (one, mut two) = pair();
        drop(one);
        assert_eq!(two.check(), Err(ChannelError::Closed));
        assert_eq!(two.recv_exact(&mut [0]), Err(ChannelError::Closed));

        let (mut one, mut two) = pair();
        one.decline();
        assert_eq!(two.recv_exact(&mut [0]), Err(ChannelError::PeerFinished));
        assert!(two.was_declined());

        let token = CancelToken::new();
        let (mut one, _peer) = stream_and_peer(&token);
        token.cancel();
        assert_eq!(one.recv_exact(&mut [0]), Err(ChannelError::Cancelled));
    }

    #[test]
    fn a_limit_bounds_the_wait() {
        let (mut one, _two) = pair();
        let after = Duration::from_millis(20);
        let start = Instant::now();
        one.expect_within(Some(after));
        assert_eq!(one.recv_exact(&mut [0]), Err(ChannelError::Unanswered { after }));
        assert!(start.elapsed() < Duration::from_secs(5), "the pipe knows the limit");
    }

    #[test]
    fn bytes_that_are_no_frames_are_refused_before_room_is_made_for_them() {
        for (bytes, error) in [
            (vec![9, 1, 0, 0, 0], ChannelError::FrameKind { byte: 9 }),
            (
                header(Kind::Data, MAX_PAYLOAD as u32 + 1).to_vec(),
                ChannelError::FrameLength { kind: Kind::Data, length: MAX_PAYLOAD as u64 + 1 },
            ),
            ([header(Kind::Done, 0), header(Kind::Done, 0)].concat(), ChannelError::AfterDone),
        ] {
            let (mut stream, peer) = stream_and_peer(&CancelToken::new());
            peer.send(&bytes);
            assert_eq!(stream.readable(), 0);
            assert_eq!(stream.recv_exact(&mut [0]), Err(error));
        }
    }

    #[test]
    fn heartbeats_are_passed_over_and_frames_may_come_in_pieces() {
        let (mut stream, peer) = stream_and_peer(&CancelToken::new());
        let bytes = [&header(Kind::Heartbeat, 0)[..], &header(Kind::Data, 3), b"abc"].concat();
        for (at, byte) in bytes.iter().enumerate() {
            assert_eq!(stream.readable(), 0, "{at} bytes");
            peer.send(&[*byte]);
        }
        assert_eq!(stream.readable(), 3);
        let mut word = [0; 3];
        stream.recv_exact(&mut word).unwrap();
        assert_eq!(&word, b"abc");
    }
}
