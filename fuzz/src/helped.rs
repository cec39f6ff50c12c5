//! The messages of a protocol with a helper. Both parties and the helper run; one direction of one of their three
//! connections carries what an honest end sends there, changed.
//!
//! The first byte of an input says whether both parties learn, the second one which direction of which connection. The
//! other bytes are the changes, as in the targets of the other protocols.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use vesica_channel::tampered::{self, Direction, Frame};
use vesica_channel::{Kind, Stream};
use vesica_protocols::registry::{Entry, PROTOCOLS};
use vesica_protocols::testing::{Case, Ended, Planted, planted_for, run_over_links};
use vesica_protocols::{Learns, Parameters};

use crate::Target;
use crate::roles::{FILL, MOST, edit};

/// Connections: of the two parties, of the helper with the receiver, and with the sender.
const LINKS: u8 = 3;

/// What was sent over each connection, by direction.
type Said = [[Vec<u8>; 2]; LINKS as usize];

pub(crate) fn targets() -> Vec<Target> {
    PROTOCOLS.iter().filter(|entry| entry.has_helper()).map(|entry| target(entry)).collect()
}

fn target(entry: &'static Entry) -> Target {
    let stage =
        Stage { entry, sets: planted_for(&Parameters::default(), 12, 9, 4, 5), said: Mutex::default() };
    let forms = (0..2).flat_map(|both| (0..2 * LINKS).map(move |place| vec![both, place]));
    let seeds = forms.flat_map(|form| {
        [&[][..], &[1, 0, 0, 1], &[2, 9, 0, 3], &[4, 20, 0, 0], &[0, 70, 0, 0xff, 5, 3, 0, 9]]
            .map(|edits| [&form, edits].concat())
    });
    Target::new(format!("helped-{}", entry.name), move |input| stage.run(input), seeds.collect(), 60)
}

/// A protocol, its sets, and what honest roles say in it.
struct Stage {
    entry: &'static Entry,
    sets: Planted,
    said: Mutex<HashMap<bool, Arc<Said>>>,
}

impl Stage {
    fn run(&self, input: &[u8]) {
        let [both, place, edits @ ..] = input else { return };
        let both = both & 1 == 1 && self.entry.learns_both;
        let (link, back) = (usize::from(place / 2 % LINKS), usize::from(place % 2));
        let honest = &self.said(both)[link][back];
        let said = edit(honest.clone(), edits);
        // Nobody sends anything there, so there is nothing to take the place of.
        if honest.is_empty() || said.len() > MOST {
            return;
        }
        let ends = [0, 1, 2].map(|at| {
            // What is honest needs no end, which would find its reader gone.
            let mut frames = frames(&said, said != *honest);
            tampered::pair(move |direction, frame| match (at == link, side(direction) == back) {
                (true, true) => std::mem::take(&mut frames),
                _ => vec![frame],
            })
        });
        let ended = self.play(both, ends);
        if said == *honest {
            let rows = ended.receiver.expect("honest roles are no fault");
            assert_eq!(rows.rows(), self.sets.receiver_rows);
            let counted = ended.helper.expect("it has a helper").result;
            assert_eq!(counted, Ok(self.sets.receiver_rows.len() as u64));
        }
    }

    /// What honest roles say.
    fn said(&self, both: bool) -> Arc<Said> {
        let mut known = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let listen = || {
            let said = Arc::new(Mutex::new(Said::default()));
            let ends = [0, 1, 2].map(|at| {
                let said = said.clone();
                tampered::pair(move |direction, frame| {
                    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
                    said[at][side(direction)].extend_from_slice(&frame.payload);
                    vec![frame]
                })
            });
            assert!(self.play(both, ends).confirmed(), "{}: honest roles", self.entry.name);
            let said = std::mem::take(&mut *said.lock().unwrap_or_else(PoisonError::into_inner));
            Arc::new(said)
        };
        known.entry(both).or_insert_with(listen).clone()
    }

    fn play(&self, both: bool, [direct, receiver, sender]: [(Stream, Stream); LINKS as usize]) -> Ended {
        let learns = if both { Learns::Both } else { Learns::Receiver };
        let case = Case { learns, ..Case::default() };
        run_over_links((self.entry, &self.sets, case), direct, [receiver, sender])
    }
}

/// These bytes, and then the end if it `ends`, so that whoever waits for more learns that nothing comes.
fn frames(said: &[u8], ends: bool) -> Vec<Frame> {
    let data = said.chunks(FILL).map(|piece| Frame { kind: Kind::Data, payload: piece.to_vec() });
    data.chain(ends.then(|| Frame { kind: Kind::Done, payload: Vec::new() })).collect()
}

fn side(direction: Direction) -> usize {
    usize::from(direction == Direction::SecondToFirst)
}
