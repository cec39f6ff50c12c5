//! The messages of every protocol of the registry. A role runs against a peer that sends an honest peer's bytes, changed.
//!
//! The first bytes of an input choose a configuration of the protocol, and a role. The other bytes are changes to the
//! messages that the honest peer sent in the same run. Both parties' randomness is seeded, so the role under test stays in
//! step with the recording until the first change.
//!
//! Hundreds of base OTs take nearly all of the time, and test the same each time. So a protocol runs with kept base OTs
//! if it can. A slow target of its own makes them. The target `base-ots` tries the messages of a few base OTs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rand::SeedableRng;
use rand::rngs::StdRng;
use vesica::registry::{Entry, PROTOCOLS};
use vesica_channel::tampered::{self, Direction, Frame};
use vesica_channel::{Channel, Kind};
use vesica_ot::base::cache::{BaseOtCache, CachedBaseOts};
use vesica_protocols::testing::{Case, Planted, planted_for, play_role, run_keeping, ways};
use vesica_protocols::{Error, Learns, Parameters, Role};

use crate::Target;

/// Payload of a frame.
pub(crate) const FILL: usize = 1 << 16;
/// The bytes that a conversation in memory holds before they are read.
pub(crate) const MOST: usize = 7 << 20;

/// Bits of an input's second byte: whether both parties learn, and which role runs.
const BOTH: u8 = 1;
const SENDER: u8 = 2;

pub(crate) fn targets() -> Vec<Target> {
    // `helped` has those with a helper, which needs three recorded conversations.
    let two = || PROTOCOLS.iter().filter(|entry| !entry.has_helper());
    let slow = two().filter(|entry| entry.keeps_base_ots()).map(|entry| target(entry, true));
    two().map(|entry| target(entry, false)).chain(slow).collect()
}

/// The messages of a protocol. `fresh`: base OTs are made, although kept ones could serve.
fn target(entry: &'static Entry, fresh: bool) -> Target {
    let mut ways = ways(entry);
    if fresh {
        // The target with kept base OTs tries the later messages.
        ways.truncate(1);
    }
    let count = ways.len().min(usize::from(u8::MAX)) as u8;
    let stage = Stage { entry, ways, fresh, recorded: Mutex::default() };
    let forms = (0..count).flat_map(|way| (0..4).map(move |form| vec![way, form]));
    let seeds = forms.flat_map(|form| {
        [&[][..], &[1, 0, 0, 1], &[2, 9, 0, 3], &[0, 70, 0, 0xff, 5, 3, 0, 9]]
            .map(|edits| [&form, edits].concat())
    });
    let (name, tries) = if fresh { ("fresh", 4) } else { ("protocol", 40) };
    Target::new(format!("{name}-{}", entry.name), move |input| stage.run(input), seeds.collect(), tries)
}

/// A protocol, and the messages of honest parties in it.
struct Stage {
    entry: &'static Entry,
    ways: Vec<Parameters>,
    fresh: bool,
    recorded: Mutex<HashMap<(usize, bool), Arc<Recording>>>,
}

/// A run of two honest parties, the bytes that each sent, and its base OTs if it had kept some: the receiver's, the sender's.
struct Recording {
    sets: Planted,
    case: Case,
    sent: [Vec<u8>; 2],
    kept: [Option<Vec<u8>>; 2],
}

impl Stage {
    fn run(&self, input: &[u8]) {
        let [way, form, edits @ ..] = input else { return };
        let way = usize::from(*way) % self.ways.len();
        let both = self.entry.learns_both_with(&self.ways[way]) && form & BOTH != 0;
        let role = if form & SENDER == 0 { Role::Receiver } else { Role::Sender };
        let recording = self.recording(way, both);
        let honest = &recording.sent[usize::from(role == Role::Receiver)];
        let said = edit(honest.clone(), edits);
        if said.len() > MOST {
            return;
        }
        let ended = feed(self.entry, &recording, role, &said);
        if said == *honest {
            let rows = ended.expect("an honest peer is no fault");
            let expected = match role {
                Role::Receiver => Some(&recording.sets.receiver_rows),
                Role::Sender if both => Some(&recording.sets.sender_rows),
                Role::Sender => None,
            };
            assert_eq!(rows.as_ref(), expected);
        }
    }

    fn recording(&self, way: usize, both: bool) -> Arc<Recording> {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || Arc::new(record(self.entry, self.ways[way], both, self.fresh));
        recorded.entry((way, both)).or_insert_with(make).clone()
    }
}

fn record(entry: &Entry, parameters: Parameters, both: bool, fresh: bool) -> Recording {
    let sets = planted_for(&parameters, 12, 9, 4, 5);
    let learns = if both { Learns::Both } else { Learns::Receiver };
    let case = Case { parameters, learns, ..Case::default() };
    let mut recording = Recording { sets, case, sent: Default::default(), kept: [None, None] };
    if entry.keeps_base_ots() && !fresh {
        // A run that makes them comes first.
        let keeping = [BaseOtCache::new(), BaseOtCache::new()];
        converse(entry, &recording, keeping.each_ref().map(Some));
        recording.kept = keeping.map(|keeping| Some(keeping.into_cached()?.to_bytes().to_vec()));
    }
    let keeping = [0, 1].map(|party| recording.keeping(party));
    recording.sent = converse(entry, &recording, keeping.each_ref().map(Option::as_ref));
    recording
}

impl Recording {
    /// The base OTs that a party begins with.
    fn keeping(&self, party: usize) -> Option<BaseOtCache> {
        // These are the bytes that `CachedBaseOts::to_bytes` gave when the run was recorded.
        let kept = CachedBaseOts::from_bytes(self.kept[party].as_ref()?).expect("what was kept");
        Some(BaseOtCache::of(kept))
    }
}

/// The messages of two honest parties.
fn converse(entry: &Entry, recording: &Recording, base_ots: [Option<&BaseOtCache>; 2]) -> [Vec<u8>; 2] {
    let sent = Arc::new(Mutex::new([Vec::new(), Vec::new()]));
    let heard = sent.clone();
    let ends = tampered::pair(move |direction, frame| {
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard[usize::from(direction == Direction::SecondToFirst)].extend_from_slice(&frame.payload);
        vec![frame]
    });
    let ended = run_keeping(entry, &recording.sets, recording.case, ends, base_ots);
    assert!(ended.confirmed(), "{}: two honest parties", entry.name);
    std::mem::take(&mut *sent.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A change has four bytes: the kind, the position (two bytes), and the value.
pub(crate) fn edit(mut bytes: Vec<u8>, edits: &[u8]) -> Vec<u8> {
    for change in edits.chunks_exact(4).take(16) {
        let [what, low, high, with] = [change[0], change[1], change[2], change[3]];
        let place = usize::from(u16::from_le_bytes([low, high]));
        // A change can reach every position: exactly near the beginning, by scale in a long conversation.
        let at = if what & 0x80 == 0 { place } else { place * bytes.len() / 0xffff }.min(bytes.len());
        let end = (at + usize::from(with)).min(bytes.len());
        match what & 0x7f {
            0 | 1 if at < bytes.len() => bytes[at] ^= with,
            2 => drop(bytes.drain(at..end)),
            3 => drop(bytes.splice(at..at, [with; 8])),
            4 => bytes.truncate(at),
            5 => bytes[at..end].fill(0xff),
            6 => bytes[at..end].fill(0),
            7 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => bytes[at..end].reverse(),
        }
    }
    bytes
}

/// Runs a role against a peer that sends `said` whatever it receives, and then says that it is done.
fn feed(entry: &Entry, recording: &Recording, role: Role, said: &[u8]) -> Result<Option<Vec<u64>>, Error> {
    let mut frames: Vec<Frame> =
        said.chunks(FILL).map(|piece| Frame { kind: Kind::Data, payload: piece.to_vec() }).collect();
    frames.push(Frame { kind: Kind::Done, payload: Vec::new() });
    let (here, mut there) = tampered::pair(move |direction, _| match direction {
        Direction::FirstToSecond => Vec::new(),
        Direction::SecondToFirst => std::mem::take(&mut frames),
    });
    // The tap puts the peer's words in the place of this one.
    there.send(&[0]).and_then(|()| there.flush())?;
    let mut rng = StdRng::seed_from_u64(recording.case.seed << 1 | u64::from(role == Role::Sender));
    let keeping = recording.keeping(usize::from(role == Role::Sender));
    let agreed = (entry, &recording.sets, recording.case);
    let ended = play_role(agreed, role, here, keeping.as_ref(), &mut rng);
    drop(there);
    ended.map(|matches| matches.map(|matches| matches.rows().to_vec()))
}
