//! What every protocol takes and gives: the agreed run, the two roles, and the progress it tells.

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::device::Device;
use vesica_crypto::hash::Context;
use vesica_encode::items::Items;
use vesica_ot::base::cache::{BaseOtCache, Origin};

use crate::attached::Attached;
use crate::error::{Error, Misuse};
use crate::parameters::Parameters;
use crate::results::ResultKind;

pub(crate) use crate::participants::{Learns, Participant, Role, Sizes};

/// A phase of a protocol, as the progress bar, the events, the report and the errors of a run name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// The base OTs of an OT extension.
    BaseOts,
    /// Own items go to the bins of a table.
    Hash,
    /// The OTs are extended, by messages of the receiver.
    Extend,
    /// Rows of the OTs become masks.
    Evaluate,
    /// A key is shared out among the OTs, or put together of its shares.
    Share,
    /// Own items become masks or blinded elements.
    Blind,
    /// The partner's messages are answered.
    Answer,
    /// Own blinding is taken off.
    Unblind,
    /// Masks are exchanged.
    Exchange,
    /// Masks are compared.
    Compare,
    /// The circuit is garbled.
    Garble,
    /// The circuit is evaluated.
    EvaluateCircuit,
}

impl Phase {
    /// The name in reports, events and errors, and what happens in it, for a person who waits.
    pub const fn told(self) -> (&'static str, &'static str) {
        match self {
            Phase::BaseOts => ("base-ots", "exchanging base OTs"),
            Phase::Hash => ("hash", "hashing our keys to bins"),
            Phase::Extend => ("extend", "running oblivious transfers"),
            Phase::Evaluate => ("evaluate", "computing masks"),
            Phase::Share => ("share", "sharing out a key, or joining its shares"),
            Phase::Blind => ("blind", "encrypting our keys"),
            Phase::Answer => ("answer", "answering the partner"),
            Phase::Unblind => ("unblind", "taking off our encryption"),
            Phase::Exchange => ("exchange", "exchanging masks"),
            Phase::Compare => ("compare", "comparing masks"),
            Phase::Garble => ("garble", "garbling the circuit"),
            Phase::EvaluateCircuit => ("evaluate-circuit", "evaluating the circuit"),
        }
    }

    /// The name alone.
    pub const fn name(self) -> &'static str {
        self.told().0
    }
}

/// A phase of a party in a protocol, and roughly how many percent of the protocol's time it takes. The
/// estimate of the time left uses them.
pub type Step = (Phase, u32);

impl std::fmt::Display for Phase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Hears how far a protocol is, and says whether it is to go on. The thread that runs the protocol begins each
/// phase; threads that share its work report their part.
pub trait Progress: Sync {
    /// A phase begins, in which `total` units of work are to be done (0: not known).
    fn phase(&self, phase: Phase, total: u64);
    /// From here on, time counts for `phase`, or again for the current one if none. A report tells such phases
    /// apart; progress stays that of the current one, since steps of several phases may alternate thousands of
    /// times.
    fn attribute_time(&self, _phase: Option<Phase>) {}
    /// `units` more are done in the current phase.
    fn advance(&self, units: u64);
    /// Whether the run is to stop.
    fn cancelled(&self) -> bool;
}

/// Nobody hears of the progress.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn phase(&self, _: Phase, _: u64) {}
    fn advance(&self, _: u64) {}
    fn cancelled(&self) -> bool {
        false
    }
}

/// What a role works with.
pub struct Ctx<'c, 'a> {
    /// What was agreed, and how this party runs.
    pub run: &'c Run<'a>,
    /// The connection to the other party.
    pub channel: &'c mut dyn Channel,
    /// The connection to the helper, in a protocol that has one.
    pub helper: Option<&'c mut dyn Channel>,
    /// This party's randomness.
    pub rng: &'c mut dyn CryptoRng,
}

impl<'c, 'a> Ctx<'c, 'a> {
    /// A role between two parties.
    pub fn new(run: &'c Run<'a>, channel: &'c mut dyn Channel, rng: &'c mut dyn CryptoRng) -> Self {
        Ctx { run, channel, helper: None, rng }
    }

    /// This context, lent to a part of the run. A step that takes its parts one by one takes this to pieces.
    pub fn reborrow(&mut self) -> Ctx<'_, 'a> {
        let helper = self.helper.as_mut().map(|helper| &mut **helper as &mut dyn Channel);
        Ctx { run: self.run, channel: self.channel, helper, rng: self.rng }
    }
}

/// What the helper of a protocol works with.
pub struct HelperCtx<'c, 'a> {
    /// What the two parties agreed on, as they both told the helper, and how the helper runs. Its context is not
    /// that of the parties, which the helper does not know.
    pub run: &'c Run<'a>,
    /// The connection to the receiver.
    pub receiver: &'c mut dyn Channel,
    /// The connection to the sender.
    pub sender: &'c mut dyn Channel,
}

/// What both parties agreed on before the first message, and how this party is to run.
pub struct Run<'a> {
    /// Agreed: prefix of every hash, bound to session, protocol, parameters and sizes.
    pub context: Context,
    /// Agreed: both set sizes.
    pub sizes: Sizes,
    /// Agreed: everything else.
    pub parameters: Parameters,
    /// Agreed: who learns the result.
    pub learns: Learns,
    /// Local: threads this party may keep busy, at least 1.
    pub threads: usize,
    /// Local: a card that this party computes on beside its cores, if it has one.
    pub device: Device,
    /// Local: who is told of progress.
    pub progress: &'a dyn Progress,
    /// Agreed: the cache that base OTs come from, or go to for later runs. Without one, they are made for
    /// this run alone. It has no part in protocols whose entry names no
    /// [`base_ots`](crate::entry::Entry::base_ots).
    pub base_ots: Option<&'a BaseOtCache>,
    /// Local: what goes along with this party's items.
    pub attached: Attached<'a>,
}

impl<'a> Run<'a> {
    /// Checks that `items` has the agreed size and kind: native items of σ bits, or digests of the agreed
    /// width; and that what the result takes is attached to them.
    pub fn expect_items(&self, role: Role, items: &Items) -> Result<(), Error> {
        let (agreed, given) = (self.sizes.of(role), items.len());
        if agreed != given {
            return Err(Misuse::SizeMismatch { agreed, given }.into());
        }
        let (agreed, given) = (self.parameters.encoding(), items.encoding());
        if given != agreed {
            return Err(Misuse::EncodingMismatch { agreed, given }.into());
        }
        self.attached.expect(self.parameters.result, role, items.len())
    }

    /// Where this run's base OTs come from.
    pub(crate) fn origin(&self) -> Origin<'a> {
        let cache = self.base_ots.filter(|_| self.parameters.may_keep_base_ots());
        Origin { agreement: self.parameters.base_ots, cache }
    }

    /// Whether the sender has a result.
    pub(crate) fn sender_learns(&self) -> bool {
        self.learns == Learns::Both || matches!(self.parameters.result, ResultKind::AtLeast(_))
    }

    /// Begins a phase of `total` units.
    pub fn phase(&self, phase: Phase, total: usize) {
        self.progress.phase(phase, total as u64);
    }

    /// Does a piece of work whose time counts for `phase`, not for the current one.
    pub fn in_phase<T>(&self, phase: Phase, work: impl FnOnce() -> T) -> T {
        self.progress.attribute_time(Some(phase));
        let done = work();
        self.progress.attribute_time(None);
        done
    }

    /// `units` more are done; ends the run if the caller cancelled it.
    pub fn advance(&self, units: usize) -> Result<(), Error> {
        self.progress.advance(units as u64);
        if self.progress.cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Advances after work that gave `done`, which is handed on.
    pub(crate) fn report<T>(&self, units: usize, done: T) -> Result<T, Error> {
        self.advance(units)?;
        Ok(done)
    }

    /// Progress of `units`, told in proportion while `pieces` of other things are done.
    pub(crate) fn paced(&self, units: usize, pieces: usize) -> Paced<'_> {
        Paced { run: self, units, pieces: pieces.max(1), done: 0, told: 0 }
    }
}

/// Progress that is told in other units than those of the work.
pub(crate) struct Paced<'a> {
    run: &'a Run<'a>,
    units: usize,
    pieces: usize,
    done: usize,
    told: usize,
}

impl Paced<'_> {
    /// So many more pieces are done.
    pub(crate) fn advance(&mut self, pieces: usize) -> Result<(), Error> {
        self.done += pieces;
        let now = (self.units as u128 * self.done as u128 / self.pieces as u128) as usize;
        self.run.advance(now - std::mem::replace(&mut self.told, now))
    }
}
