//! A wire that lies: it tampers with one frame of a conversation in memory, and cancels the conversation if
//! it then hangs.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use vesica_channel::tampered::{self, Direction, Frame};
use vesica_channel::{CancelToken, Stream};

/// No frame for this long after the tampered one means that both ends wait for each other, since bytes are
/// missing: the conversation is then cancelled, as silence would end it.
const STUCK: Duration = Duration::from_millis(150);

/// A flip makes a conversation stick only if it changes a length. In a protocol's messages that is rare, and
/// a cancellation should not be what catches the others, however slow the machine is.
const STUCK_BY_FLIP: Duration = Duration::from_secs(20);

/// A session's terms are full of lengths.
const STUCK_BY_LENGTH: Duration = Duration::from_secs(1);

/// A wire that is honest, or still is, waits longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Frames of at most so many bytes are flipped byte by byte.
const SHORT: usize = 512;

/// Bytes of a longer frame that are flipped, its first and its last among them.
const SAMPLE: usize = 24;

/// What is done to a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tampering {
    /// One bit of this byte of the payload is flipped; nothing, if the payload is shorter.
    Flip {
        /// The byte.
        byte: usize,
    },
    /// The last byte of the payload is cut off.
    Cut,
    /// A byte is added to the payload.
    Lengthen,
    /// The frame arrives twice.
    Repeat,
    /// The frame arrives after its successor, or never if there is none.
    Swap,
    /// The frame never arrives.
    Drop,
}

impl Tampering {
    /// Every kind but the flips.
    pub const WHOLE_FRAMES: [Tampering; 5] =
        [Tampering::Cut, Tampering::Lengthen, Tampering::Repeat, Tampering::Swap, Tampering::Drop];
}

/// The frame that is tampered with, and how.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Which end sends it.
    pub direction: Direction,
    /// Which of that end's frames it is, from 0.
    pub frame: usize,
    /// What is done to it.
    pub tampering: Tampering,
}

/// Both directions, that of the first end first.
pub const DIRECTIONS: [Direction; 2] = [Direction::FirstToSecond, Direction::SecondToFirst];

/// What the wire saw.
pub struct Wire {
    frames: Arc<Mutex<[Vec<usize>; 2]>>,
    stuck: Arc<AtomicBool>,
    same: Arc<AtomicBool>,
}

impl Wire {
    /// The payload lengths of the frames that were sent, by the first and by the second end.
    pub fn frames(&self) -> [Vec<usize>; 2] {
        self.frames.lock().unwrap().clone()
    }

    /// The flips of each byte of a short frame, and of some bytes all over a long one.
    pub fn flips(&self) -> Vec<Target> {
        let bytes = |length: usize| match length {
            0..=SHORT => (0..length).collect::<Vec<_>>(),
            _ => (0..SAMPLE).map(|i| i * (length - 1) / (SAMPLE - 1)).collect(),
        };
        self.targets(|length| bytes(length).into_iter().map(|byte| Tampering::Flip { byte }).collect())
    }

    /// Every other way to tamper with one of these frames.
    pub fn whole_frames(&self) -> Vec<Target> {
        self.targets(|_| Tampering::WHOLE_FRAMES.to_vec())
    }

    /// Whether the target is the last frame of its direction.
    pub fn is_last(&self, target: &Target) -> bool {
        let direction = DIRECTIONS.iter().position(|direction| *direction == target.direction);
        direction.is_some_and(|direction| target.frame + 1 == self.frames()[direction].len())
    }

    fn targets(&self, ways: impl Fn(usize) -> Vec<Tampering>) -> Vec<Target> {
        let mut targets = Vec::new();
        for (direction, lengths) in DIRECTIONS.into_iter().zip(self.frames()) {
            for (frame, length) in lengths.into_iter().enumerate() {
                targets.extend(ways(length).into_iter().map(|tampering| Target {
                    direction,
                    frame,
                    tampering,
                }));
            }
        }
        targets
    }

    /// Whether two frames were swapped that are the same.
    pub fn was_left_alone(&self) -> bool {
        self.same.load(Relaxed)
    }

    /// Whether the conversation had to be cancelled.
    pub fn was_stuck(&self) -> bool {
        self.stuck.load(Relaxed)
    }
}

/// Two ends in memory whose conversation is tampered with at `target`, or left alone.
pub fn lying_wire(target: Option<Target>) -> (Stream, Stream, Wire) {
    lying_wire_for(STUCK_BY_FLIP, target)
}

/// A lying wire for a conversation in which many bytes are lengths, which is given up sooner.
pub fn lying_wire_among_lengths(target: Option<Target>) -> (Stream, Stream, Wire) {
    lying_wire_for(STUCK_BY_LENGTH, target)
}

fn lying_wire_for(after_flip: Duration, target: Option<Target>) -> (Stream, Stream, Wire) {
    let cancel = CancelToken::new();
    let wire = Wire { frames: Arc::default(), stuck: Arc::default(), same: Arc::default() };
    let (moved, watch) = mpsc::channel();
    let (frames, same) = (wire.frames.clone(), wire.same.clone());
    let (mut held, mut lied): (Option<Frame>, bool) = (None, false);
    let (first, second) = tampered::pair_under(&cancel, move |direction, frame| {
        let index = {
            let lengths = &mut frames.lock().unwrap()[usize::from(direction == Direction::SecondToFirst)];
            lengths.push(frame.payload.len());
            lengths.len() - 1
        };
        lied |= target.is_some_and(|target| target.direction == direction && target.frame == index);
        // Nobody watches any more once the test is over.
        let _ = moved.send(lied);
        match target {
            Some(target) if target.direction == direction && target.frame == index => {
                tamper(target.tampering, frame, &mut held)
            }
            Some(target) if target.direction == direction => {
                let held = held.take();
                same.fetch_or(held.as_ref().is_some_and(|held| held.payload == frame.payload), Relaxed);
                std::iter::once(frame).chain(held).collect()
            }
            _ => vec![frame],
        }
    });
    let after = match target.map(|target| target.tampering) {
        None => PATIENCE,
        Some(Tampering::Flip { .. }) => after_flip,
        Some(_) => STUCK,
    };
    let stuck = wire.stuck.clone();
    thread::spawn(move || {
        let mut patience = PATIENCE;
        loop {
            match watch.recv_timeout(patience) {
                Ok(lied) => patience = if lied { after } else { PATIENCE },
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    stuck.store(true, Relaxed);
                    cancel.cancel();
                }
            }
        }
    });
    (first, second, wire)
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
