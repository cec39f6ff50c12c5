//! A run, flight by flight: how long each party works before it sends or waits, and how long it waits.

use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rand::{SeedableRng, rngs::StdRng};
use vesica_channel::transport::{FrameReceiver, FrameSender, Meanwhile, Result, Transport, Urgency};
use vesica_channel::{CancelToken, Channel, Frame, Kind, Stream, memory};
use vesica_protocols::registry::Entry;
use vesica_protocols::testing::{Planted, planted_for};
use vesica_protocols::{Ctx, Parameters, Pending, Sizes};

use crate::rates::milliseconds;

/// Runs of which the one with the least time is shown.
const RUNS: usize = 61;

/// What a party did at its end of the channel.
#[derive(Clone, Copy)]
struct Event {
    sends: bool,
    bytes: usize,
    from: Instant,
    until: Instant,
}

type Log = Arc<Mutex<Vec<Event>>>;

/// An end of a transport that notes when frames go through.
struct Noted<T> {
    inner: T,
    log: Log,
}

impl<T> Noted<T> {
    fn note(&self, sends: bool, bytes: usize, from: Instant) {
        self.log.lock().unwrap().push(Event { sends, bytes, from, until: Instant::now() });
    }
}

impl<T: FrameSender> FrameSender for Noted<T> {
    fn push(&mut self, frame: Frame, urgency: Urgency, meanwhile: Meanwhile) -> Result<Vec<u8>> {
        let (bytes, from) =
            (if frame.kind == Kind::Data { frame.payload().len() } else { 0 }, Instant::now());
        let pushed = self.inner.push(frame, urgency, meanwhile);
        self.note(true, bytes, from);
        pushed
    }

    fn close_with(&mut self, last: Vec<Frame>) {
        self.inner.close_with(last);
    }
}

impl<T: FrameReceiver> FrameReceiver for Noted<T> {
    fn pop(&mut self, spent: Vec<u8>, wanted: usize) -> Result<Frame> {
        let from = Instant::now();
        let frame = self.inner.pop(spent, wanted)?;
        self.note(false, frame.payload().len(), from);
        Ok(frame)
    }

    fn waiting(&self) -> usize {
        self.inner.waiting()
    }
}

/// A stream over this end, and what is noted of it.
fn noted(transport: Transport) -> (Stream, Log) {
    let log = Log::default();
    let (sender, receiver) = (log.clone(), log.clone());
    let stream = Stream::new(Transport {
        outgoing: Box::new(Noted { inner: transport.outgoing, log: sender }),
        incoming: Box::new(Noted { inner: transport.incoming, log: receiver }),
        ..transport
    });
    (stream, log)
}

/// Work, and then a flight: frames one way, with no frame the other way between them.
struct Row {
    work: Duration,
    sends: bool,
    bytes: usize,
    wait: Duration,
}

/// What one party did.
struct Party {
    rows: Vec<Row>,
    /// Behind the last flight.
    rest: Duration,
}

impl Party {
    fn new(start: Instant, events: &[Event], end: Instant) -> Self {
        let (mut rows, mut last): (Vec<Row>, _) = (Vec::new(), start);
        for event in events {
            let (work, waited) = (event.from - last, event.until - event.from);
            last = event.until;
            match rows.last_mut() {
                Some(row) if row.sends == event.sends => {
                    row.work += work;
                    row.bytes += event.bytes;
                    row.wait += waited;
                }
                _ => rows.push(Row { work, sends: event.sends, bytes: event.bytes, wait: waited }),
            }
        }
        Self { rows, rest: end - last }
    }

    fn work(&self) -> Duration {
        self.rows.iter().map(|row| row.work).sum::<Duration>() + self.rest
    }

    fn print(&self, who: &str) {
        for row in &self.rows {
            let does = if row.sends { "sends" } else { "takes" };
            println!(
                "  {who:<9} works {:>7.3} ms, {does} {:>8} bytes, waits {:>7.3} ms",
                milliseconds(row.work),
                row.bytes,
                milliseconds(row.wait)
            );
        }
        println!(
            "  {who:<9} works {:>7.3} ms; in all {:>7.3} ms",
            milliseconds(self.rest),
            milliseconds(self.work())
        );
    }
}

/// What both parties did in a run.
struct Played {
    parties: [Party; 2],
    wall: Duration,
}

/// Prints the fastest of many runs.
pub(crate) fn print(protocol: &Entry, parameters: Parameters, count: usize) {
    let sets = planted_for(&parameters, count, count, count / 2, 1);
    let runs = (0..RUNS).map(|_| play(protocol, parameters, &sets));
    let Some(best) = runs.min_by_key(|run| run.wall) else { return };
    let Played { parties: [receiver, sender], wall } = best;
    println!("flights of the fastest of {RUNS} runs: {:.3} ms", milliseconds(wall));
    receiver.print("receiver");
    sender.print("sender");
}

fn play(protocol: &Entry, parameters: Parameters, sets: &Planted) -> Played {
    let (here, there) = memory::transports(&CancelToken::new());
    let ((mut mine, my_log), (mut theirs, their_log)) = (noted(here), noted(there));
    let sizes = Sizes { receiver: sets.receiver.len(), sender: sets.sender.len() };
    let run = || protocol.run(&[7; 32], sizes, parameters);
    let ready = &Barrier::new(2);
    let (times, wall) = thread::scope(|scope| {
        let sender = scope.spawn(move || {
            let (run, mut rng) = (run(), StdRng::seed_from_u64(2));
            ready.wait();
            let start = Instant::now();
            protocol.send(&mut Ctx::new(&run, &mut theirs, &mut rng), &sets.sender).unwrap();
            theirs.flush().unwrap();
            [start, Instant::now()]
        });
        let (run, mut rng) = (run(), StdRng::seed_from_u64(1));
        ready.wait();
        let start = Instant::now();
        let found = protocol.receive(&mut Ctx::new(&run, &mut mine, &mut rng), &sets.receiver);
        let matches = found.and_then(Pending::matches).unwrap();
        mine.flush().unwrap();
        let end = Instant::now();
        assert_eq!(matches.rows(), sets.receiver_rows);
        ([[start, end], sender.join().unwrap()], end - start)
    });
    let party = |log: &Log, [start, end]: [Instant; 2]| Party::new(start, &log.lock().unwrap(), end);
    Played { parties: [party(&my_log, times[0]), party(&their_log, times[1])], wall }
}
