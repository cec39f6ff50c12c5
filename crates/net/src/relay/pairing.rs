//! Who waits for whom: streams of allowed keys, in line, until one comes that names them as they name it.

use std::collections::{HashMap, VecDeque};
use std::net::Shutdown;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::copy::Rate;
use super::stream::{Meeting, Stream};
use super::wire::Refusal;
use super::{Label, Pair, Rules};
use crate::identity::PublicKey;

/// The two ends that a stream is to have.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Ends {
    /// Whose stream it is.
    pub(super) from: PublicKey,
    /// Whom it names.
    pub(super) to: PublicKey,
    pub(super) label: Label,
}

impl Ends {
    /// The same as the partner says it.
    fn partners(self) -> Self {
        Self { from: self.to, to: self.from, label: self.label }
    }
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
    accounts: HashMap<PublicKey, Account>,
    /// Waiting and paired.
    streams: usize,
    waiting: usize,
    closed: bool,
}

/// The streams of one key.
#[derive(Clone, Copy, Default)]
struct Account {
    waiting: usize,
    paired: usize,
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

    /// Pairs the stream with the first one that waits for it, which comes back, or lets it wait.
    pub(super) fn join(&self, stream: &Arc<Stream>) -> Result<Option<Arc<Stream>>, Refusal> {
        let mut state = self.lock();
        let (ends, key) = (stream.ends, stream.ends.from);
        let (mine, theirs) = (state.account(&key), state.account(&ends.to));
        if state.closed {
            return Err(Refusal::Busy);
        }
        // Whoever waits keeps a seat for its partner. So a relay full of them can still pair each of them.
        let full = state.streams + state.waiting + 2 > self.rules.max_streams;
        let partners = ends.partners();
        let Some(line) = state.lines.get_mut(&partners) else {
            if full || mine.waiting >= self.rules.waiting {
                return Err(Refusal::Busy);
            }
            state.lines.entry(ends).or_default().push_back(stream.clone());
            state.accounts.entry(key).or_default().waiting += 1;
            state.waiting += 1;
            state.streams += 1;
            return Ok(None);
        };
        if mine.paired.max(theirs.paired) >= self.rules.paired {
            return Err(Refusal::Busy);
        }
        // A line that is there is not empty.
        let Some(partner) = line.pop_front() else { return Err(Refusal::Busy) };
        if line.is_empty() {
            state.lines.remove(&partners);
        }
        let pair = Pair { keys: [ends.to, key], label: ends.label };
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
        if account.waiting + account.paired == 0 {
            state.accounts.remove(&ends.from);
        }
        if let Some(line) = state.lines.get_mut(&ends) {
            line.retain(|other| other.number != stream.number);
            if line.is_empty() {
                state.lines.remove(&ends);
            }
        }
        state.streams -= 1;
    }

    /// Lets nobody in any more, and sends away who waits. Says how many streams still run.
    pub(super) fn close(&self) -> usize {
        let mut state = self.lock();
        state.closed = true;
        let waiting = std::mem::take(&mut state.lines);
        for stream in waiting.values().flatten() {
            // Its thread notices. Fails if the party has gone by itself.
            let _ = stream.socket.shutdown(Shutdown::Both);
        }
        state.streams - waiting.values().map(VecDeque::len).sum::<usize>()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn account(&self, key: &PublicKey) -> Account {
        self.accounts.get(key).copied().unwrap_or_default()
    }
}
