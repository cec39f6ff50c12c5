//! Somebody between the two sides of a run in parts who alters what goes over the parts' connections. Both processes
//! end, in time, with 69 or 76 and without an output; or what he did could be made good, and the result is exact.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{ANOTHER_DAY, Ended, RECEIVER, SENDER, Scene, nothing_lost, plain_join, scene, with};
use crate::relay::{meeting, relay};

/// Every wait of the middle is shorter than this, and so is every run.
const BOUND: Duration = Duration::from_secs(60);

/// How long the two sides wait for each other.
const TIMEOUT: [&str; 2] = ["--timeout", "3s"];

const PARTS: [&str; 2] = ["--parts", "4"];

/// Bytes of a connection after which its protocol is under way: more than any handshake has, and fewer than a part.
const DEEP: usize = 6_000;

/// The direction of a stream: from who connects, or to it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum From {
    Caller,
    Callee,
}

/// What is done to a stream of a part.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Act {
    /// A bit is flipped.
    Flip,
    /// The connection ends.
    Cut,
    /// Some bytes are left out.
    Drop,
    /// Some bytes come twice.
    Repeat,
    /// Nothing comes through any more, and nothing is closed.
    Hold,
    /// The streams of two parts take each other's place.
    Swap,
    /// Another part's bytes, from its beginning, take the place of these.
    Replay,
}

/// Somebody in the middle: what he does, after how many bytes, to which stream, of which connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Middle {
    pub(crate) act: Act,
    pub(crate) at: usize,
    pub(crate) from: From,
    pub(crate) chosen: fn(usize) -> bool,
    /// The first connection of a part.
    pub(crate) first: usize,
}

/// What the streams of all connections share.
#[derive(Default)]
pub(crate) struct Shared {
    /// Where the streams lead that wait for another one's place.
    places: Mutex<Vec<Option<TcpStream>>>,
    changed: Condvar,
    /// What the first part's connection has carried.
    recorded: Mutex<Vec<u8>>,
    /// How often something was done.
    pub(crate) done: AtomicUsize,
    /// Bytes of each stream of a part in the chosen direction that has come to its end.
    pub(crate) whole: Mutex<Vec<usize>>,
}

impl Shared {
    /// Leaves a stream's place, and takes another's: of two that come, each gets the other one's.
    fn swap(&self, own: TcpStream) -> Option<TcpStream> {
        let mut places = self.places.lock().unwrap();
        let mine = places.len();
        places.push(Some(own));
        self.changed.notify_all();
        let other = mine ^ 1;
        let waits = |places: &mut Vec<Option<TcpStream>>| places.len() <= other;
        let (mut places, _) = self.changed.wait_timeout_while(places, Duration::from_secs(2), waits).unwrap();
        let found = places.get_mut(other).and_then(Option::take);
        found.or_else(|| places[mine].take())
    }
}

impl Middle {
    /// Passes on all connections to that address.
    pub(crate) fn start(self, to: String) -> (String, Arc<Shared>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::<Shared>::default();
        let kept = shared.clone();
        thread::spawn(move || {
            for number in 0.. {
                let Ok((caller, _)) = listener.accept() else { return };
                let Ok(callee) = TcpStream::connect(&to) else { continue };
                for from in [From::Caller, From::Callee] {
                    let clone = |socket: &TcpStream| socket.try_clone().unwrap();
                    let ends = match from {
                        From::Caller => (clone(&caller), clone(&callee)),
                        From::Callee => (clone(&callee), clone(&caller)),
                    };
                    let (shared, acts) = (shared.clone(), from == self.from && (self.chosen)(number));
                    let counts = from == self.from && number >= self.first;
                    let records = counts && number == self.first;
                    thread::spawn(move || self.pass(ends, &shared, acts, (counts, records)));
                }
            }
        });
        (address, kept)
    }

    fn pass(
        self,
        (mut from, mut to): (TcpStream, TcpStream),
        shared: &Shared,
        acts: bool,
        (counts, records): (bool, bool),
    ) {
        let (started, mut passed, mut acted) = (Instant::now(), 0, !acts);
        from.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let mut buffer = [0; 4096];
        while started.elapsed() < BOUND {
            let mut bytes = match from.read(&mut buffer) {
                Ok(0) => {
                    if counts {
                        shared.whole.lock().unwrap().push(passed);
                    }
                    break;
                }
                Ok(length) => buffer[..length].to_vec(),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
                Err(_) => break,
            };
            if records {
                shared.recorded.lock().unwrap().extend(&bytes);
            }
            passed += bytes.len();
            if !acted && passed > self.at {
                acted = true;
                shared.done.fetch_add(1, Relaxed);
                match self.act {
                    Act::Flip => *bytes.last_mut().unwrap() ^= 1,
                    Act::Drop => bytes.truncate(bytes.len() / 2),
                    Act::Repeat => bytes.extend(bytes.clone()),
                    Act::Cut => break,
                    // Until whoever sends closes.
                    Act::Hold => bytes = drained(&mut from, started),
                    Act::Swap => to = shared.swap(to).unwrap(),
                    Act::Replay => bytes = shared.recorded.lock().unwrap().clone(),
                }
            }
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        // One half, as whoever closes does; all of it, where it is cut.
        let how = if self.act == Act::Cut && acts && acted { Shutdown::Both } else { Shutdown::Write };
        drop(to.shutdown(how));
        drop(from.shutdown(if how == Shutdown::Both { how } else { Shutdown::Read }));
    }
}

/// Takes what comes until its end, and gives nothing.
fn drained(from: &mut TcpStream, started: Instant) -> Vec<u8> {
    let mut buffer = [0; 4096];
    while started.elapsed() < BOUND {
        match from.read(&mut buffer) {
            Ok(1..) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            _ => break,
        }
    }
    Vec::new()
}

/// Both ends of a run in four parts through that middle, receiver and sender; whether anything was done.
fn run(scene: &Scene, middle: Middle) -> ([Ended; 2], bool) {
    let (sender, address) = scene.sender(&with(&SENDER, &TIMEOUT));
    let (address, shared) = middle.start(address);
    let started = Instant::now();
    let receiver = scene.receiver(&address, &with(&with(&RECEIVER, &TIMEOUT), &PARTS));
    let ends = [receiver.end(), sender.end()];
    assert!(started.elapsed() < BOUND, "{middle:?} took {:?}", started.elapsed());
    (ends, shared.done.load(Relaxed) > 0)
}

/// Neither side has a result.
#[track_caller]
fn no_output(scene: &Scene, ends: &[Ended; 2], middle: Middle) {
    for end in ends {
        assert!(matches!(end.code, Some(69 | 76)), "{middle:?}: {:?}\n{}", end.code, end.screen);
    }
    nothing_lost(scene, &[&ends[0], &ends[1]]);
}

/// Both sides have the exact one.
#[track_caller]
fn exact(scene: &Scene, ends: &[Ended; 2], middle: Middle) {
    for end in ends {
        assert_eq!(end.code, Some(0), "{middle:?}:\n{}", end.screen);
    }
    assert_eq!(scene.read("out.csv"), plain_join(&scene.read("receiver.csv"), &scene.read("sender.csv")));
    scene.write("out.csv", ANOTHER_DAY);
}

const ACTS: [Act; 7] = [Act::Flip, Act::Cut, Act::Drop, Act::Repeat, Act::Hold, Act::Swap, Act::Replay];
const SIDES: [From; 2] = [From::Caller, From::Callee];

#[test]
fn altered_streams_of_parts_end_both_sides_with_69_or_76_and_without_output() {
    let scene = scene(2000);
    for (act, from) in ACTS.into_iter().flat_map(|act| SIDES.map(|from| (act, from))) {
        let middle = Middle { act, at: DEEP, from, chosen: |number| number > 0, first: 1 };
        let (ends, done) = run(&scene, middle);
        no_output(&scene, &ends, middle);
        assert!(done, "{middle:?}");
    }
}

/// What breaks one connection is made good by another. What alters its content ends the run, if anybody saw it.
#[test]
fn one_altered_stream_costs_the_run_or_nothing() {
    let scene = scene(2000);
    for (act, from) in ACTS.into_iter().flat_map(|act| SIDES.map(|from| (act, from))) {
        let middle = Middle { act, at: DEEP, from, chosen: |number| number == 2, first: 1 };
        let (ends, done) = run(&scene, middle);
        match act {
            // Nobody else comes for the place of the one.
            Act::Cut | Act::Hold | Act::Swap => exact(&scene, &ends, middle),
            _ if ends[0].code == Some(0) => exact(&scene, &ends, middle),
            _ => no_output(&scene, &ends, middle),
        }
        assert!(done, "{middle:?}");
    }
}

#[test]
fn altered_beginnings_of_parts_end_both_sides_with_69_or_76_and_without_output() {
    let scene = scene(2000);
    for (act, from) in ACTS.into_iter().flat_map(|act| SIDES.map(|from| (act, from))) {
        let middle = Middle { act, at: 0, from, chosen: |number| number > 0, first: 1 };
        let (ends, _) = run(&scene, middle);
        if ends[0].code == Some(0) { exact(&scene, &ends, middle) } else { no_output(&scene, &ends, middle) }
    }
}

#[test]
fn altered_streams_of_parts_through_a_relay_end_both_sides_with_69_or_76_and_without_output() {
    let scene = scene(2000);
    let (_relay, address) = relay(&scene, "127.0.0.1:0", &[]);
    for (act, from) in ACTS.into_iter().flat_map(|act| SIDES.map(|from| (act, from))) {
        // Connections of the run, and of the grant, come first.
        let middle = Middle { act, at: 2 * DEEP, from, chosen: |number| number > 1, first: 2 };
        let (through, shared) = middle.start(address.clone());
        let started = Instant::now();
        let [receiver, _] = meeting(&scene, &through);
        let [_, sender] = meeting(&scene, &address);
        let receiver = scene.start(&with(&with(&receiver, &TIMEOUT), &PARTS));
        let sender = scene.run(&with(&sender, &TIMEOUT));
        let ends = [receiver.end(), sender];
        assert!(started.elapsed() < BOUND, "{middle:?} took {:?}", started.elapsed());
        no_output(&scene, &ends, middle);
        assert!(shared.done.load(Relaxed) > 0, "{middle:?}");
    }
}
