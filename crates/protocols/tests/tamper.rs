//! A wire that lies: whatever is flipped, cut, repeated, swapped or dropped, both ends stop, and neither panics or hangs.
//!
//! In a semi-honest protocol a changed mask goes unnoticed by the protocol itself; the session's exchange of digests
//! settles that. So a run counts as caught when a role ends in an error, or the ends disagree about what was sent.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use vesica_net::memory::{Direction, Frame, tapped_pair};
use vesica_net::{CancelToken, Options};
use vesica_protocols::Learns;
use vesica_protocols::registry::{Entry, PROTOCOLS};
use vesica_protocols::testing::{Case, Ended, Planted, planted, run_over};

/// No frame for this long means that both ends wait for each other: the run is then cancelled, as silence would end it.
/// Too hasty a cancellation is one more way to be caught.
const STUCK: Duration = Duration::from_millis(150);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Tampering {
    Flip { byte: usize },
    Cut,
    Lengthen,
    Repeat,
    Swap,
    Drop,
}

/// Runs the pair with frame `target` of `direction` tampered with; counts the frames.
fn run_tampered(
    entry: &Entry,
    sets: &Planted,
    learns: Learns,
    what: Option<(Direction, usize, Tampering)>,
) -> (Ended, [usize; 2], bool) {
    let options = Options { cancel: CancelToken::new(), ..Options::default() };
    let counts: Arc<[AtomicUsize; 2]> = Arc::default();
    let (moved, stuck) = mpsc::channel();
    let seen = counts.clone();
    let mut held: Option<Frame> = None;
    let ends = tapped_pair(&options, move |direction, frame| {
        let _ = moved.send(());
        let index = seen[(direction == Direction::SecondToFirst) as usize].fetch_add(1, Ordering::Relaxed);
        let Some((_, target, tampering)) = what.filter(|(target, ..)| *target == direction) else {
            return vec![frame];
        };
        if target == index {
            tamper(tampering, frame, &mut held)
        } else {
            // A swapped frame comes out behind its successor.
            std::iter::once(frame).chain(held.take()).collect()
        }
    });
    let patience = if what.is_some() { STUCK } else { Duration::from_secs(60) };
    let was_stuck = Arc::new(AtomicBool::new(false));
    let watchdog = std::thread::spawn({
        let was_stuck = was_stuck.clone();
        move || {
            loop {
                match stuck.recv_timeout(patience) {
                    Ok(()) => {}
                    Err(mpsc::RecvTimeoutError::Timeout) => {
                        was_stuck.store(true, Ordering::Relaxed);
                        options.cancel.cancel();
                    }
                    Err(mpsc::RecvTimeoutError::Disconnected) => break,
                }
            }
        }
    });
    let ended = run_over(entry, sets, Case { learns, ..Case::default() }, ends);
    watchdog.join().unwrap();
    let counts = [0, 1].map(|direction| counts[direction].load(Ordering::Relaxed));
    (ended, counts, was_stuck.load(Ordering::Relaxed))
}

fn tamper(tampering: Tampering, mut frame: Frame, held: &mut Option<Frame>) -> Vec<Frame> {
    match tampering {
        Tampering::Flip { byte } => {
            if let Some(byte) = frame.payload.get_mut(byte) {
                *byte ^= 1 << (*byte % 8);
            }
            vec![frame]
        }
        Tampering::Cut => {
            frame.payload.pop();
            vec![frame]
        }
        Tampering::Lengthen => {
            frame.payload.push(0x55);
            vec![frame]
        }
        Tampering::Repeat => vec![frame.clone(), frame],
        Tampering::Swap => {
            *held = Some(frame);
            vec![]
        }
        Tampering::Drop => vec![],
    }
}

fn sets() -> [Planted; 2] {
    [planted(8, 9, 4, 1), planted(9, 8, 4, 1)]
}

fn modes(entry: &Entry) -> Learns {
    if entry.learns_both { Learns::Both } else { Learns::Receiver }
}

#[test]
fn an_honest_wire_is_confirmed() {
    for entry in PROTOCOLS {
        for sets in sets() {
            let (ended, frames, stuck) = run_tampered(entry, &sets, modes(entry), None);
            assert!(ended.confirmed() && !stuck, "{}", entry.name);
            assert!(frames.iter().all(|&count| count > 0), "{}: {frames:?}", entry.name);
        }
    }
}

#[test]
fn every_flipped_byte_is_caught() {
    for entry in PROTOCOLS {
        for sets in sets() {
            let (honest, frames, _) = run_tampered(entry, &sets, modes(entry), None);
            let sent = [honest.traffic.payload_sent, honest.traffic.payload_received];
            for (side, direction) in
                [Direction::FirstToSecond, Direction::SecondToFirst].into_iter().enumerate()
            {
                for frame in 0..frames[side] {
                    // Bytes past the end of a frame leave it alone, and the run is then confirmed.
                    for byte in 0..sent[side] as usize {
                        let what = Some((direction, frame, Tampering::Flip { byte }));
                        let (ended, ..) = run_tampered(entry, &sets, modes(entry), what);
                        if ended.confirmed() {
                            assert_eq!(ended.receiver.unwrap().rows(), sets.receiver_rows);
                            assert_eq!(ended.digests, honest.digests, "{} {what:?}", entry.name);
                            break;
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn frames_cut_lengthened_repeated_swapped_or_dropped_are_caught() {
    use Tampering::{Cut, Drop, Lengthen, Repeat, Swap};
    for entry in PROTOCOLS {
        for sets in sets() {
            let (_, frames, _) = run_tampered(entry, &sets, modes(entry), None);
            for (side, direction) in
                [Direction::FirstToSecond, Direction::SecondToFirst].into_iter().enumerate()
            {
                for frame in 0..frames[side] {
                    for tampering in [Cut, Lengthen, Repeat, Swap, Drop] {
                        let what = (direction, frame, tampering);
                        let (ended, ..) = run_tampered(entry, &sets, modes(entry), Some(what));
                        // What follows the last message of a direction is the session's to see (DONE, leftover data).
                        let last = frame + 1 == frames[side] && matches!(tampering, Lengthen | Repeat);
                        assert!(last || !ended.confirmed(), "{} {what:?}", entry.name);
                    }
                }
            }
        }
    }
}
