//! What protocol tests share: planted intersections, runs of both roles, tampering, an ideal group.
//!
//! Reachable only with the feature `testing`, which this crate's own tests turn on. Randomness here is
//! seeded, so that a run repeats byte for byte.
#![expect(clippy::unwrap_used, reason = "a test that cannot build its items is to stop there")]

use std::sync::Mutex;
use std::thread;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand_core::CryptoRng;
use vesica_channel::{Channel, Digests, Stream, Traffic, memory};
use vesica_crypto::device::Device;
use vesica_crypto::hash::Oracle;
use vesica_encode::items::{Encoding, Items, ItemsBuilder, Matches, OnDuplicates};
use vesica_ot::base::cache::BaseOtCache;

use crate::attached::Attached;
use crate::entry::{Entry, Shape};
use crate::error::Error;
use crate::outcome::{Outcome, Pending};
use crate::parameters::{KeyAgreement, Parameters, Security};
use crate::protocol::{Ctx, HelperCtx, Learns, NoProgress, Progress, Role, Run, Sizes};
use crate::results::{Noise, ResultKind};

mod ideal_group;
#[cfg(test)]
pub(crate) mod ideal_opprf;
#[cfg(test)]
pub(crate) mod ideal_oprf;
#[cfg(test)]
pub(crate) mod ideal_ots;
mod lying_wire;
#[cfg(test)]
pub(crate) mod order;
mod rsa_keys;
pub mod suites;
pub mod wiped;

pub use ideal_group::IdealGroup;
pub use lying_wire::{DIRECTIONS, Tampering, Target, Wire, lying_wire, lying_wire_among_lengths};
pub(crate) use rsa_keys::rsa_key;

/// Two sets with a known intersection.
pub struct Planted {
    /// The receiver's items.
    pub receiver: Items,
    /// The sender's items.
    pub sender: Items,
    /// Rows of the receiver's table that a plain join gives.
    pub receiver_rows: Vec<u64>,
    /// Rows of the sender's table that a plain join gives.
    pub sender_rows: Vec<u64>,
}

/// Sets of `receiver` and `sender` different strings, `common` of which are the same, each set in an order of
/// its own.
pub fn planted(receiver: usize, sender: usize, common: usize, seed: u64) -> Planted {
    planted_for(&Parameters::default(), receiver, sender, common, seed)
}

/// Planted sets as items of the kind that runs with `parameters` take: digests of their width, or native integers.
pub fn planted_for(
    parameters: &Parameters,
    receiver: usize,
    sender: usize,
    common: usize,
    seed: u64,
) -> Planted {
    assert!(common <= receiver.min(sender));
    let mut rng = StdRng::seed_from_u64(seed);
    // Numbers below `common` are the shared keys; the others lie apart.
    let mut numbers = |first: usize, count: usize| {
        let own = first..first + (count - common);
        let mut numbers: Vec<u64> = (0..common).chain(own).map(|number| number as u64).collect();
        numbers.shuffle(&mut rng);
        numbers
    };
    let (mine, theirs) = (numbers(common, receiver), numbers(receiver, sender));
    let rows = |numbers: &[u64]| {
        (0..).zip(numbers).filter(|(_, number)| **number < common as u64).map(|(row, _)| row).collect()
    };
    let (receiver_rows, sender_rows) = (rows(&mine), rows(&theirs));
    let items = |numbers: &[u64]| numbered(parameters, numbers, seed);
    Planted { receiver: items(&mine), sender: items(&theirs), receiver_rows, sender_rows }
}

/// Items whose keys are these numbers in some fixed form; the row of a key is its index.
fn numbered(parameters: &Parameters, numbers: &[u64], seed: u64) -> Items {
    let encoding = parameters.encoding();
    let mut builder = ItemsBuilder::new(encoding, numbers.len()).unwrap();
    for (row, &number) in (0..).zip(numbers) {
        match encoding {
            // An odd factor permutes the integers of σ bits.
            Encoding::Native { sigma } => {
                let mixed = number.wrapping_add(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                builder.push_native(row, mixed & (u64::MAX >> (64 - sigma))).unwrap();
            }
            Encoding::Digest(_) => {
                builder.push(row, format!("{seed}-{number}@example.org").as_bytes()).unwrap();
            }
        }
    }
    builder.build(OnDuplicates::All).unwrap()
}

/// The audit's limit of [`ways`]: less than the tests' sets have items, more than they have in common.
const LIMIT: u64 = 38;

/// Every way to run `entry`: its standard form in each security model, then each parameter that it supports
/// by itself. Slow entries stay at level 128 or below: an RSA key of 15360 bits takes minutes.
pub fn ways(entry: &Entry) -> Vec<Parameters> {
    let models: &[Security] =
        if entry.security.is_empty() { &[Security::SemiHonest] } else { entry.security };
    let mut ways = Vec::new();
    for &security in models {
        let base = Parameters { security, ..entry.supports.usual() };
        let supports = &entry.supports;
        ways.push(base);
        let slow = entry.test_items < 1 << 8;
        let levels = supports.levels.iter().filter(|&&level| !slow || level <= 128);
        ways.extend(levels.map(|&level| Parameters { level, ..base }));
        // A domain is small where items are native alone: all its numbers go through the circuit.
        let widths = |&(least, most): &(u32, u32)| {
            if supports.digests { [least.max(20), 32, most] } else { [12, 13, 14] }
        };
        let widths = supports.sigma.iter().flat_map(widths);
        ways.extend(widths.map(|sigma| Parameters { sigma: Some(sigma), ..base }));
        ways.extend(supports.variants.iter().map(|variant| Parameters { variant: Some(variant), ..base }));
        ways.extend(supports.profiles.iter().map(|&profile| Parameters { profile, ..base }));
        if supports.base_ots {
            ways.push(Parameters { base_ots: KeyAgreement::MlKem, ..base });
        }
        if supports.paper {
            ways.push(Parameters { paper: true, ..base });
        }
        if supports.audit {
            let counted = Parameters { audit_max: Some(LIMIT), ..base };
            ways.push(counted);
            ways.extend(
                supports.variants.iter().map(|variant| Parameters { variant: Some(variant), ..counted }),
            );
        }
    }
    let mut seen = std::collections::HashSet::new();
    ways.retain(|parameters| entry.supports.unsupported(parameters).is_none() && seen.insert(*parameters));
    ways
}

/// Every result of `entry` but rows, with each of its limits, in each security model.
pub fn result_ways(entry: &Entry) -> Vec<Parameters> {
    let results = [
        ResultKind::Payload { bytes: 5 },
        ResultKind::Count,
        ResultKind::AtLeast(9),
        ResultKind::Sums { columns: 2 },
    ];
    let models: &[Security] =
        if entry.security.is_empty() { &[Security::SemiHonest] } else { entry.security };
    let mut ways = Vec::new();
    for (&security, result) in models.iter().flat_map(|model| results.map(|result| (model, result))) {
        let base = Parameters { security, result, ..entry.supports.usual() };
        ways.extend([base, Parameters { min_matches: 9, ..base }]);
        ways.push(Parameters { noise: Noise::of_thousandths(1000), ..base });
    }
    ways.retain(|parameters| entry.supports.unsupported(parameters).is_none());
    ways
}

/// Items of these keys, in semi-honest width; the row of a key is its index.
pub fn items<S: AsRef<[u8]>>(keys: &[S]) -> Items {
    items_for(&Parameters::default(), keys)
}

/// Items of these keys as runs with `parameters` take them; digests only.
pub fn items_for<S: AsRef<[u8]>>(parameters: &Parameters, keys: &[S]) -> Items {
    let digests = |width| Items::of_keys(width, keys).unwrap();
    match parameters.encoding() {
        Encoding::Digest(width) => digests(width),
        Encoding::Native { .. } => unreachable!("keys become digests"),
    }
}

/// The usual case of this protocol.
pub fn usual(entry: &Entry) -> Case {
    Case { parameters: entry.supports.usual(), ..Case::default() }
}

/// How a test runs a pair.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// What both agreed on.
    pub parameters: Parameters,
    /// Who learns the result.
    pub learns: Learns,
    /// Threads of each party.
    pub threads: usize,
    /// A card that both parties compute on, too.
    pub device: Option<&'static Device>,
    /// Seed of both parties' randomness.
    pub seed: u64,
}

impl Default for Case {
    fn default() -> Self {
        let (parameters, learns) = (Parameters::default(), Learns::Receiver);
        Case { parameters, learns, threads: 1, device: None, seed: 1 }
    }
}

/// What both parties ended with.
pub struct Ended {
    /// The receiver's result.
    pub receiver: Result<Matches, Error>,
    /// The sender's result.
    pub sender: Result<Option<Matches>, Error>,
    /// Bytes, seen from the receiver.
    pub traffic: Traffic,
    /// Digests, seen from the receiver.
    pub digests: Digests,
    /// Digests, seen from the sender.
    pub sender_digests: Digests,
    /// What the helper ended with, in a protocol that has one.
    pub helper: Option<HelperEnded>,
}

/// What a helper ended with.
pub struct HelperEnded {
    /// The size of the intersection.
    pub result: Result<u64, Error>,
    /// Digests of the connections to the receiver and to the sender, seen from the helper.
    pub digests: [Digests; 2],
    /// Digests of these connections, seen from the parties.
    pub parties: [Digests; 2],
}

impl HelperEnded {
    fn confirmed(&self) -> bool {
        let same = |(mine, theirs)| crossed(mine, theirs);
        self.result.is_ok() && self.digests.iter().zip(&self.parties).all(same)
    }
}

/// Whether each of the two ends has received what the other one sent.
fn crossed(mine: &Digests, theirs: &Digests) -> bool {
    mine.sent == theirs.received && mine.received == theirs.sent
}

impl Ended {
    /// Whether all roles ended with a result and saw the same bytes, as the session demands before it says
    /// success.
    pub fn confirmed(&self) -> bool {
        let same = crossed(&self.digests, &self.sender_digests);
        let helped = self.helper.as_ref().is_none_or(HelperEnded::confirmed);
        self.receiver.is_ok() && self.sender.is_ok() && same && helped
    }

    /// Digests of all that the receiver sent, and of all that the others sent.
    pub fn transcript(&self) -> [[u8; 32]; 2] {
        let direct = [self.digests.sent, self.digests.received];
        let Some(helper) = &self.helper else { return direct };
        let [receiver, sender] = &helper.parties;
        let digest = |parts: &[[u8; 32]]| {
            let mut digest = [0; 32];
            Oracle::derive_key("vesica transcripts of several channels")
                .hash(parts.as_flattened(), &mut digest);
            digest
        };
        [
            digest(&[direct[0], receiver.sent]),
            digest(&[direct[1], receiver.received, sender.sent, sender.received]),
        ]
    }
}

/// Runs both roles of `entry` over a memory channel.
pub fn run_pair(entry: &Entry, sets: &Planted, case: Case) -> Ended {
    run_over(entry, sets, case, memory::pair())
}

/// Runs both roles of `entry` over the two ends of a channel, the receiver's and the sender's. As between
/// processes, an end is dropped when its role ends, and aborted if the role failed.
pub fn run_over(entry: &Entry, sets: &Planted, case: Case, ends: (Stream, Stream)) -> Ended {
    run_keeping(entry, sets, case, ends, [None, None])
}

/// Runs both roles with base OTs that both parties keep, or kept before: receiver's, sender's.
pub fn run_keeping(
    entry: &Entry,
    sets: &Planted,
    case: Case,
    ends: (Stream, Stream),
    base_ots: [Option<&BaseOtCache>; 2],
) -> Ended {
    run_watched(entry, sets, case, ends, (base_ots, [&NoProgress; 2]))
}

/// Runs both roles, and somebody hears of each party's progress.
pub fn run_watched(
    entry: &Entry,
    sets: &Planted,
    case: Case,
    ends: (Stream, Stream),
    (base_ots, progress): ([Option<&BaseOtCache>; 2], [&dyn Progress; 2]),
) -> Ended {
    let links = entry.has_helper().then(|| [memory::pair(), memory::pair()]);
    run_all((entry, sets, case), (ends, links), (base_ots, progress))
}

/// Runs both roles and the helper over these connections: the helper's to the receiver and to the sender, the helper's end of each
/// first.
pub fn run_over_links(
    agreed: (&Entry, &Planted, Case),
    ends: (Stream, Stream),
    links: [(Stream, Stream); 2],
) -> Ended {
    run_all(agreed, (ends, Some(links)), ([None; 2], [&NoProgress; 2]))
}

/// Two ends of the direct connection, and those of the helper's.
type Ends = ((Stream, Stream), Option<[(Stream, Stream); 2]>);

fn run_all(
    (entry, sets, case): (&Entry, &Planted, Case),
    ends: Ends,
    (base_ots, progress): ([Option<&BaseOtCache>; 2], [&dyn Progress; 2]),
) -> Ended {
    let (receiver, sender, helper) = play_all(
        (entry, sets, case),
        ends,
        (base_ots, progress, Attached::Nothing),
        |ctx| entry.receive(&mut ctx.reborrow(), &sets.receiver)?.matches(),
        |ctx| entry.send(ctx, &sets.sender)?.map(Outcome::into_matches).transpose(),
    );
    let parties = receiver.with_helper.zip(sender.with_helper).map(|(receiver, sender)| [receiver, sender]);
    Ended {
        receiver: receiver.result,
        sender: sender.result,
        traffic: receiver.traffic,
        digests: receiver.digests,
        sender_digests: sender.digests,
        helper: helper.zip(parties).map(|((result, digests), parties)| HelperEnded {
            result,
            digests,
            parties,
        }),
    }
}

/// What both parties ended with, where the result is any.
pub struct EndedWith {
    /// The receiver's result.
    pub receiver: Result<Outcome, Error>,
    /// The sender's result.
    pub sender: Result<Option<Outcome>, Error>,
    /// Bytes, seen from the receiver.
    pub traffic: Traffic,
    /// Digests, seen from the receiver.
    pub digests: Digests,
    /// Whether both saw the same bytes.
    pub same_transcript: bool,
}

/// Runs both roles of `entry` for any result, over the two ends of a channel; `attached` goes along with the
/// sender's items.
pub fn run_for_result(
    agreed: (&Entry, &Planted, Case),
    attached: Attached<'_>,
    ends: (Stream, Stream),
) -> EndedWith {
    let (entry, sets, _) = agreed;
    let (receiver, sender, _) = play_all(
        agreed,
        (ends, None),
        ([None; 2], [&NoProgress; 2], attached),
        |ctx| entry.receive(&mut ctx.reborrow(), &sets.receiver)?.finish(),
        |ctx| entry.send(ctx, &sets.sender),
    );
    EndedWith {
        receiver: receiver.result,
        sender: sender.result,
        traffic: receiver.traffic,
        same_transcript: crossed(&receiver.digests, &sender.digests),
        digests: receiver.digests,
    }
}

/// Runs a test for each of these, some at a time: two parties wait for each other most of the time.
pub fn each<T: Send>(all: impl IntoIterator<Item = T>, test: impl Fn(T) + Sync) {
    const AT_A_TIME: usize = 6;
    let left = Mutex::new(all.into_iter().collect::<Vec<_>>().into_iter());
    // The lock ends with the statement: a test that fails does not hold it.
    let next = || left.lock().unwrap().next();
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| std::iter::from_fn(next).for_each(&test));
        }
    });
}

/// A party, honest or not, and what it ends with.
pub type Party<'a, T> = dyn FnOnce(&mut Ctx<'_, '_>) -> Result<T, Error> + Send + 'a;

/// Runs two parties as receiver and sender; usually at least one of them cheats.
pub fn duel<R: Send, S: Send>(
    agreed: (&Entry, &Planted, Case),
    receiver: Box<Party<'_, R>>,
    sender: Box<Party<'_, S>>,
) -> (Result<R, Error>, Result<S, Error>) {
    duel_over(agreed, memory::pair(), receiver, sender)
}

/// Runs two parties over these two ends: receiver's, sender's.
pub(crate) fn duel_over<R: Send, S: Send>(
    agreed: (&Entry, &Planted, Case),
    ends: (Stream, Stream),
    receiver: Box<Party<'_, R>>,
    sender: Box<Party<'_, S>>,
) -> (Result<R, Error>, Result<S, Error>) {
    let links = agreed.0.has_helper().then(|| [memory::pair(), memory::pair()]);
    let alone = ([None; 2], [&NoProgress as &dyn Progress; 2], Attached::Nothing);
    let (receiver, sender, _) = play_all(agreed, (ends, links), alone, receiver, sender);
    (receiver.result, sender.result)
}

/// A party's end.
struct Played<T> {
    result: Result<T, Error>,
    digests: Digests,
    /// With the other party and with the helper.
    traffic: Traffic,
    with_helper: Option<Digests>,
}

/// What a helper ends with, and its digests of the connections to the receiver and to the sender.
type Helped = (Result<u64, Error>, [Digests; 2]);

fn play_all<R: Send, S: Send>(
    (entry, sets, case): (&Entry, &Planted, Case),
    ((mine, theirs), links): Ends,
    (base_ots, progress, attached): ([Option<&BaseOtCache>; 2], [&dyn Progress; 2], Attached<'_>),
    receiver: impl FnOnce(&mut Ctx<'_, '_>) -> Result<R, Error>,
    sender: impl FnOnce(&mut Ctx<'_, '_>) -> Result<S, Error> + Send,
) -> (Played<R>, Played<S>, Option<Helped>) {
    let run = |party| {
        let attached = if party == 1 { attached } else { Attached::Nothing };
        Run { base_ots: base_ots[party], progress: progress[party], attached, ..run(entry, sets, case) }
    };
    let mut rngs = [0, 1].map(|party| StdRng::seed_from_u64(case.seed << 1 | party));
    let [my_rng, their_rng] = &mut rngs;
    let (helpers, with_helper) = match links {
        Some([(first, my_end), (second, their_end)]) => {
            (Some([first, second]), [Some(my_end), Some(their_end)])
        }
        None => (None, [None, None]),
    };
    let [my_helper, their_helper] = with_helper;
    thread::scope(|scope| {
        let helper = helpers.map(|ends| scope.spawn(move || help((entry, sets, case), ends)));
        let sender = scope.spawn(|| {
            play((theirs, their_helper), |channel, helper| {
                sender(&mut Ctx { helper: lent(helper), ..Ctx::new(&run(1), channel, their_rng) })
            })
        });
        let receiver = play((mine, my_helper), |channel, helper| {
            receiver(&mut Ctx { helper: lent(helper), ..Ctx::new(&run(0), channel, my_rng) })
        });
        let sender = sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let helper =
            helper.map(|helper| helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        (receiver, sender, helper)
    })
}

/// The connection to a helper, for as long as it is needed.
fn lent<'c>(helper: Option<&'c mut (dyn Channel + '_)>) -> Option<&'c mut (dyn Channel + 'c)> {
    helper.map(|helper| helper as &mut dyn Channel)
}

/// The helper of a run.
fn help((entry, sets, case): (&Entry, &Planted, Case), [mut receiver, mut sender]: [Stream; 2]) -> Helped {
    let run = run(entry, sets, case);
    let ctx = &mut HelperCtx { run: &run, receiver: &mut receiver, sender: &mut sender };
    let ended = entry.assist(ctx);
    let digests = [receiver.digests(), sender.digests()];
    if ended.is_err() {
        receiver.abort();
        sender.abort();
    }
    (ended, digests)
}

/// Runs one role over its end of a channel, against whoever is at the other; with kept base OTs, if there are
/// some.
pub fn play_role(
    (entry, sets, case): (&Entry, &Planted, Case),
    role: Role,
    mut channel: Stream,
    base_ots: Option<&BaseOtCache>,
    rng: &mut dyn CryptoRng,
) -> Result<Option<Matches>, Error> {
    let run = Run { base_ots, ..run(entry, sets, case) };
    let ctx = &mut Ctx::new(&run, &mut channel, rng);
    let ended = match role {
        Role::Receiver => entry.receive(ctx, &sets.receiver).and_then(Pending::finish).map(Some),
        Role::Sender => entry.send(ctx, &sets.sender),
    };
    let ended = ended.and_then(|outcome| outcome.map(Outcome::into_matches).transpose());
    let ended = ended.and_then(|result| Ok(channel.flush().map(|()| result)?));
    if ended.is_err() {
        channel.abort();
    }
    ended
}

/// Plays one role with the test's randomness over its end of a channel; digests of what went over it.
fn play_one(
    (entry, sets, case): (&Entry, &Planted, Case),
    role: Role,
    attached: Attached<'_>,
    channel: Stream,
) -> Result<Digests, Error> {
    let attached = if role == Role::Sender { attached } else { Attached::Nothing };
    let run = Run { attached, ..run(entry, sets, case) };
    let mut rng = StdRng::seed_from_u64(case.seed << 1 | u64::from(role == Role::Sender));
    let played = play((channel, None), |channel, _| {
        let ctx = &mut Ctx::new(&run, channel, &mut rng);
        match role {
            Role::Receiver => entry.receive(ctx, &sets.receiver)?.finish().map(drop),
            Role::Sender => entry.send(ctx, &sets.sender).map(drop),
        }
    });
    played.result.map(|()| played.digests)
}

fn run<'a>(entry: &Entry, sets: &Planted, case: Case) -> Run<'a> {
    let sizes = Sizes { receiver: sets.receiver.len(), sender: sets.sender.len() };
    let run = entry.run(&[7; 32], sizes, case.parameters);
    let device = case.device.cloned().unwrap_or_default();
    Run { learns: case.learns, threads: case.threads, device, ..run }
}

/// A run with a context of the test's own, on one thread; the receiver alone learns the result.
#[cfg(test)]
pub(crate) fn run_of<'a>(
    context: vesica_crypto::hash::Context,
    sizes: Sizes,
    parameters: Parameters,
) -> Run<'a> {
    let learns = Learns::Receiver;
    let progress = &NoProgress;
    let (base_ots, attached) = (None, Attached::Nothing);
    let device = Device::default();
    Run { context, sizes, parameters, learns, threads: 1, device, progress, base_ots, attached }
}

fn play<T>(
    (mut channel, mut helper): (Stream, Option<Stream>),
    role: impl FnOnce(&mut dyn Channel, Option<&mut dyn Channel>) -> Result<T, Error>,
) -> Played<T> {
    let ended = role(&mut channel, helper.as_mut().map(|helper| helper as &mut dyn Channel));
    let result = ended.and_then(|result| Ok(channel.flush().map(|()| result)?));
    let with_helper = helper.as_ref().map(Stream::digests);
    let mut traffic = channel.traffic();
    for with_helper in helper.iter().map(Stream::traffic) {
        traffic.payload_sent += with_helper.payload_sent;
        traffic.payload_received += with_helper.payload_received;
    }
    let digests = channel.digests();
    // Both parties end well where both know that nothing is revealed, and confirm it.
    if result.as_ref().is_err_and(|error| !error.is_agreed_refusal()) {
        channel.abort();
        helper.iter_mut().for_each(Stream::abort);
    }
    Played { result, digests, traffic, with_helper }
}

/// The shape of a case with planted sets.
pub fn shape(sets: &Planted, case: Case) -> Shape {
    Shape {
        sizes: Sizes { receiver: sets.receiver.len(), sender: sets.sender.len() },
        parameters: case.parameters,
        learns: case.learns,
        matches: sets.receiver_rows.len(),
        kept_base_ots: false,
    }
}
