//! Who waits for whom: streams of allowed keys, in line, until one comes that names them as they name it.
//!
//! A part's stream shows a key made for its run. While the grant for that key and the run's tag is open, it counts as a
//! stream of whoever holds the grant, in every respect: what it may be paired with, how many there may be, whose rate it takes.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::copy::Rate;
use super::stream::{Meeting, Stream};
use super::{Pair, PartId, Rules};
use crate::error::Refusal;
use crate::establish::at_relay::{ANY_PART, Label};
use crate::identity::PublicKey;

/// The two ends that a stream is to have.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Ends {
    /// Whose stream it is.
    pub(super) from: PublicKey,
    /// Whom it names.
    pub(super) to: PublicKey,
    pub(super) label: Label,
    /// The round, of a part.
    pub(super) round: Option<u16>,
}

impl Ends {
    /// These ends as the partner says them.
    fn partners(self) -> Self {
        Self { from: self.to, to: self.from, ..self }
    }
}

/// A key that was made for a run, and the run's tag.
pub(super) type RunKey = (PublicKey, Label);

/// Why a stream is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotIn {
    Refused(Refusal),
    /// Its round is over.
    Closed,
}

/// All streams that have joined.
pub(super) struct Pairing {
    rules: Rules,
    rates: HashMap<PublicKey, Option<Rate>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    lines: HashMap<Ends, VecDeque<Arc<Stream>>>,
    grants: HashMap<RunKey, Grant>,
    accounts: HashMap<PublicKey, Account>,
    /// Waiting, paired, and those that hold grants.
    streams: usize,
    waiting: usize,
    closed: bool,
}

/// The streams of one key.
#[derive(Clone, Copy, Default)]
struct Account {
    waiting: usize,
    paired: usize,
    grants: usize,
}

/// A grant that is open.
struct Grant {
    /// Who holds it.
    stream: Arc<Stream>,
    /// Rounds below this one are over.
    rounds_over: u32,
    /// How many of its streams wait in each round, so that nobody looks for them in vain.
    waiting: BTreeMap<u16, usize>,
}

impl Pairing {
    pub(super) fn new(rules: Rules) -> Self {
        let rates = rules.allow.iter().map(|key| (*key, rules.rate.map(Rate::new))).collect();
        Self { rules, rates, state: Mutex::default() }
    }

    pub(super) fn allows(&self, key: &PublicKey) -> bool {
        self.rates.contains_key(key)
    }

    pub(super) fn rate(&self, key: &PublicKey) -> Option<&Rate> {
        self.rates.get(key)?.as_ref()
    }

    /// In whose name that key may join parts.
    pub(super) fn granter(&self, run_key: &RunKey) -> Option<PublicKey> {
        self.lock().grants.get(run_key).map(|grant| grant.stream.ends.from)
    }

    /// Whether any grant is open for that key.
    pub(super) fn is_granted(&self, key: &PublicKey) -> bool {
        self.lock().grants.keys().any(|(run_key, _)| run_key == key)
    }

    /// Opens a grant. A second one of the same key takes the place of the first, whose connection may have broken unnoticed.
    pub(super) fn grant(&self, run_key: RunKey, stream: &Arc<Stream>) -> Result<(), Refusal> {
        let mut state = self.lock();
        let key = stream.ends.from;
        let full = state.streams + state.waiting + 1 > self.rules.max_streams;
        if state.closed || full || state.account(&key).grants >= self.rules.waiting {
            return Err(Refusal::Busy);
        }
        match state.grants.get_mut(&run_key) {
            Some(before) if before.stream.ends.from != key => return Err(Refusal::Malformed),
            Some(before) => std::mem::replace(&mut before.stream, stream.clone()).shut(),
            None => {
                let grant = Grant { stream: stream.clone(), rounds_over: 0, waiting: BTreeMap::new() };
                state.grants.insert(run_key, grant);
            }
        }
        state.accounts.entry(key).or_default().grants += 1;
        state.streams += 1;
        Ok(())
    }

    /// A grant has ended, and with it the waiting of its streams.
    pub(super) fn revoke(&self, run_key: &RunKey, stream: &Stream) {
        let mut state = self.lock();
        state.streams -= 1;
        state.accounts.entry(stream.ends.from).or_default().grants -= 1;
        state.forget(&stream.ends.from);
        if state.grants.get(run_key).is_some_and(|grant| grant.stream.number == stream.number) {
            // The threads of these notice.
            state.take_waiting(run_key, u32::MAX).iter().for_each(|waiting| waiting.shut());
            state.grants.remove(run_key);
        }
    }

    /// A round of a grant is over, and those before it: gives the streams that wait in vain.
    pub(super) fn end_round(&self, run_key: &RunKey, round: u16) -> Vec<Arc<Stream>> {
        let mut state = self.lock();
        let over = u32::from(round) + 1;
        match state.grants.get_mut(run_key) {
            Some(grant) if grant.rounds_over < over => grant.rounds_over = over,
            _ => return Vec::new(),
        }
        state.take_waiting(run_key, over)
    }

    /// Pairs the stream with the first one that waits for it, which comes back, or lets it wait.
    pub(super) fn join(&self, stream: &Arc<Stream>) -> Result<Option<Arc<Stream>>, NotIn> {
        let mut state = self.lock();
        let (ends, key) = (stream.ends, stream.ends.from);
        let (mine, theirs) = (state.account(&key), state.account(&ends.to));
        let busy = Err(NotIn::Refused(Refusal::Busy));
        if state.closed {
            return busy;
        }
        state.check_grant(stream)?;
        // Whoever waits keeps a seat for its partner. So a relay full of them can still pair each of them.
        let full = state.streams + state.waiting + 2 > self.rules.max_streams;
        let partners = ends.partners();
        let line = state.lines.get(&partners);
        let place = line.and_then(|line| line.iter().position(|other| met_at(stream, other).is_some()));
        let Some(place) = place else {
            if full || mine.waiting >= self.rules.waiting {
                return busy;
            }
            state.lines.entry(ends).or_default().push_back(stream.clone());
            if let Some((waiting, round)) = state.waiting_of(stream) {
                *waiting.entry(round).or_default() += 1;
            }
            state.accounts.entry(key).or_default().waiting += 1;
            state.waiting += 1;
            state.streams += 1;
            return Ok(None);
        };
        if mine.paired.max(theirs.paired) >= self.rules.paired {
            return busy;
        }
        let Some(partner) = state.take(&partners, place) else { return busy };
        let number = met_at(stream, &partner).unwrap_or_default();
        let part = ends.round.map(|round| PartId { part: number, round });
        let pair = Pair { keys: [ends.to, key], label: ends.label, part };
        let meeting = Arc::new(Meeting::new([partner.socket.clone(), stream.socket.clone()], pair));
        partner.meets(meeting.clone(), 0);
        stream.meets(meeting, 1);
        state.accounts.entry(ends.to).or_default().waiting -= 1;
        for key in pair.keys {
            state.accounts.entry(key).or_default().paired += 1;
        }
        state.waiting -= 1;
        state.streams += 1;
        Ok(Some(partner))
    }

    /// The stream has ended.
    pub(super) fn leave(&self, stream: &Stream) {
        let mut state = self.lock();
        let (ends, waits) = (stream.ends, stream.meeting().is_none());
        state.waiting -= usize::from(waits);
        let account = state.accounts.entry(ends.from).or_default();
        if waits {
            account.waiting -= 1;
        } else {
            account.paired -= 1;
        }
        state.forget(&ends.from);
        let line = state.lines.get(&ends);
        let place = line.and_then(|line| line.iter().position(|other| other.number == stream.number));
        if let Some(place) = place {
            state.take(&ends, place);
        }
        state.streams -= 1;
    }

    /// Lets nobody in any more, and sends away who waits or holds a grant. Says how many streams still run.
    pub(super) fn close(&self) -> usize {
        let mut state = self.lock();
        state.closed = true;
        let waiting = std::mem::take(&mut state.lines);
        let grants = state.accounts.values().map(|account| account.grants).sum::<usize>();
        // Their threads notice.
        waiting.values().flatten().for_each(|stream| stream.shut());
        state.grants.values().for_each(|grant| grant.stream.shut());
        state.streams - grants - waiting.values().map(VecDeque::len).sum::<usize>()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part at which two streams of the two sides meet, if they do: the same one, or the one that one of them names. Runs are
/// part 0.
fn met_at(one: &Stream, other: &Stream) -> Option<u32> {
    match (one.part, other.part) {
        (ANY_PART, ANY_PART) => None,
        (ANY_PART, part) | (part, ANY_PART) => Some(part),
        (one, other) => (one == other).then_some(one),
    }
}

impl State {
    fn account(&self, key: &PublicKey) -> Account {
        self.accounts.get(key).copied().unwrap_or_default()
    }

    /// An account with nothing on it needs no room.
    fn forget(&mut self, key: &PublicKey) {
        if self
            .accounts
            .get(key)
            .is_some_and(|account| account.waiting + account.paired + account.grants == 0)
        {
            self.accounts.remove(key);
        }
    }

    /// Whether a part's stream still has its grant, and its round goes on.
    fn check_grant(&self, stream: &Stream) -> Result<(), NotIn> {
        let (Some(run_key), Some(round)) = (&stream.run_key, stream.ends.round) else { return Ok(()) };
        match self.grants.get(run_key) {
            Some(grant) if grant.stream.ends.from != stream.ends.from => {
                Err(NotIn::Refused(Refusal::NotGranted))
            }
            Some(grant) if u32::from(round) < grant.rounds_over => Err(NotIn::Closed),
            Some(_) => Ok(()),
            None => Err(NotIn::Refused(Refusal::NotGranted)),
        }
    }

    /// Takes the stream at that place in a line.
    fn take(&mut self, ends: &Ends, place: usize) -> Option<Arc<Stream>> {
        let line = self.lines.get_mut(ends)?;
        let stream = line.remove(place)?;
        if line.is_empty() {
            self.lines.remove(ends);
        }
        if let Some((waiting, round)) = self.waiting_of(&stream)
            && let Some(count) = waiting.get_mut(&round)
        {
            *count -= 1;
            if *count == 0 {
                waiting.remove(&round);
            }
        }
        Some(stream)
    }

    /// Where its grant counts a part's stream among those that wait, and under which round.
    fn waiting_of(&mut self, stream: &Stream) -> Option<(&mut BTreeMap<u16, usize>, u16)> {
        let grant = self.grants.get_mut(stream.run_key.as_ref()?)?;
        Some((&mut grant.waiting, stream.ends.round?))
    }

    /// Takes all streams of a grant that wait in rounds below this one.
    fn take_waiting(&mut self, run_key: &RunKey, rounds: u32) -> Vec<Arc<Stream>> {
        let mut taken = Vec::new();
        let Some(grant) = self.grants.get_mut(run_key) else { return taken };
        let before = grant.waiting.len();
        grant.waiting.retain(|round, _| u32::from(*round) >= rounds);
        if grant.waiting.len() == before {
            return taken;
        }
        self.lines.retain(|ends, line| {
            if ends.round.is_some_and(|round| u32::from(round) < rounds) {
                let vain = |stream: &Arc<Stream>| stream.run_key == Some(*run_key);
                taken.extend(line.iter().filter(|stream| vain(stream)).cloned());
                line.retain(|stream| !vain(stream));
            }
            !line.is_empty()
        });
        taken
    }
}
