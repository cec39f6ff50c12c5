//! One party of a measured run, in a process of its own.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use vesica::base_ots::{CacheState, Mark};
use vesica::channel::CancelToken;
use vesica::channel::codec::{CodecError, Writer};
use vesica::channel::{Channel, Traffic};
use vesica::encode::items::{Encoding, Items, ItemsBuilder, ItemsError, OnDuplicates};
use vesica::helper::{self, Allowed, Assisted, Heard, Request};
use vesica::net::{
    Address, Connection, ConnectionSecurity, Identity, NetError, NetEvent, Options, PublicKey, shaped,
};
use vesica::protocols::{
    Attached, MatchedPayloads, Outcome, Participant, Payloads, Pending, Phase, Progress, ResultKind, Role,
};
use vesica::resources;
use vesica::session::{self, SessionError};
use vesica::settings::Settings;
use vesica::terms::Terms;
use vesica_ot::base::cache::{BaseOtCache, CachedBaseOts};

use crate::BenchError;
use crate::cell::{Cell, Link};

/// How a party reaches the other one.
pub struct Endpoint {
    /// Listen or connect.
    pub address: Address,
    /// The network between them.
    pub link: Link,
    /// Own identity and the other's key, if they speak TLS.
    pub keys: Option<(PathBuf, PublicKey)>,
    /// Where a helper listens, and its key, if it speaks TLS.
    pub helper: Option<(String, Option<PublicKey>)>,
}

/// What one party's run took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Seconds from the first message of the protocol to the result.
    pub wall_s: f64,
    /// CPU seconds of the process in that time, all threads.
    pub cpu_s: f64,
    /// Peak resident bytes in that time, items included; 0 where the system does not tell.
    pub peak_bytes: u64,
    /// Payload bytes of the protocol that this party sent.
    pub sent: u64,
    /// Payload bytes of the protocol that this party received.
    pub received: u64,
    /// The protocol's phases and the wall seconds of each.
    pub phases: Vec<(String, f64)>,
    /// Items found, for a party that learns a result, which was checked.
    pub matches: Option<usize>,
}

/// Plays one role of a cell. Calls `on_listening` with the address once the other party can connect.
pub fn play(
    cell: &Cell,
    role: Role,
    endpoint: &Endpoint,
    on_listening: &mut dyn FnMut(std::net::SocketAddr),
) -> Result<Measured, BenchError> {
    let settings = cell.settings();
    let failed = |message: String| BenchError::Party { role: role.name(), message };
    let items = items(cell, role, &settings).map_err(|error| failed(error.to_string()))?;
    let columns = Columns::of(settings.result.kind(), role, &items);
    let mut rng = vesica::randomness().map_err(|error| failed(error.to_string()))?;
    let identity = endpoint.keys.as_ref().map(|(path, _)| Identity::load(path)).transpose();
    let identity = identity.map_err(|error| failed(error.to_string()))?;
    let transport = match (&identity, &endpoint.keys) {
        (Some(identity), Some((_, peer))) => ConnectionSecurity::Tls { identity, peer },
        _ => ConnectionSecurity::InsecurePlaintext,
    };
    let options = Options { silence: settings.timeout, cancel: CancelToken::new() };
    let mut on_event = |event| {
        if let NetEvent::Listening(address) = event {
            on_listening(address);
        }
    };
    let network = endpoint.link.network();
    let connected =
        shaped::establish(&endpoint.address, &transport, network, &options, &mut rng, &mut on_event);
    let mut channel = connected.map_err(|error: NetError| failed(error.to_string()))?;
    let terms = Terms::new(role, &settings, &["raw".to_owned()]);
    let terms = if cell.kept_base_ots { terms.with_base_ots(CacheState::Holds(mark(cell))) } else { terms };
    let agreed = session::agree(&mut channel, &terms, settings.wanted(), items.len(), identity.as_ref());
    let agreed = agreed.map_err(|error| failed(error.to_string()))?;
    let kept = cell
        .kept_base_ots
        .then(|| dealt(mark(cell), role))
        .transpose()
        .map_err(|error| failed(error.to_string()))?;

    let meet = |address: &Address, transport: &ConnectionSecurity<'_>| {
        shaped::establish(address, transport, network, &options, &mut rng, &mut |_| {})
    };
    let met = endpoint.helper.as_ref().map(|helper| {
        let request = Request::new(&agreed, &channel);
        meet_helper(helper, identity.as_ref(), &request, meet)
    });
    let mut helper = met.transpose().map_err(failed)?;

    let watch = Stopwatch::default();
    let (traffic, cpu) = (traffic_of(&channel, helper.as_ref()), resources::cpu_seconds());
    resources::reset_peak_rss();
    let started = Instant::now();
    let links = (&mut channel, helper.as_mut());
    let mine = (&items, columns.lend());
    let outcome = agreed.run_helped(mine, links, settings.threads(), &watch, kept.as_ref(), &mut rng);
    // The search for the matches is measured, the confirmation is not.
    let outcome = outcome.and_then(|pending| Ok(pending.map(Pending::finish).transpose()?));
    let wall = started.elapsed();
    let outcome = outcome.map_err(|error| failed(error.to_string()))?;
    let (cpu_s, after) = (resources::cpu_seconds() - cpu, traffic_of(&channel, helper.as_ref()));
    let peak_bytes = resources::peak_rss().unwrap_or(0);
    if let Some(helper) = &mut helper {
        let confirmed = session::confirm_helper(helper, &mut channel, &|| ());
        confirmed.map_err(|error| failed(error.to_string()))?;
    }
    let confirmed = agreed.confirm(outcome.map(Pending::found), &mut channel, &|| ());
    let confirmed = confirmed.map_err(|error| failed(error.to_string()))?;
    let outcome =
        confirmed.pending.map(Pending::finish).transpose().map_err(|error| failed(error.to_string()))?;
    check(cell, role, outcome.as_ref())?;
    Ok(Measured {
        wall_s: wall.as_secs_f64(),
        cpu_s,
        peak_bytes,
        sent: after.payload_sent - traffic.payload_sent,
        received: after.payload_received - traffic.payload_received,
        phases: watch.phases(started + wall),
        matches: outcome.map(|_| cell.common()),
    })
}

/// The connection to a helper at this address and of this key, with what this party asks of it.
fn meet_helper(
    (address, key): &(String, Option<PublicKey>),
    identity: Option<&Identity>,
    request: &Request,
    meet: impl FnOnce(&Address, &ConnectionSecurity<'_>) -> Result<Connection, NetError>,
) -> Result<Connection, String> {
    let transport = match (identity, key) {
        (Some(identity), Some(peer)) => ConnectionSecurity::Tls { identity, peer },
        _ => ConnectionSecurity::InsecurePlaintext,
    };
    let met = meet(&Address::Connect(address.clone()), &transport);
    let mut met = met.map_err(|error| error.to_string())?;
    let asked = met.send(&request.greeting()).map_err(SessionError::from);
    asked.and_then(|()| helper::join(&mut met)).map_err(|error| error.to_string())?;
    Ok(met)
}

/// What went over both connections of a party.
fn traffic_of(channel: &Connection, helper: Option<&Connection>) -> Traffic {
    let (direct, helped) =
        (channel.traffic(), helper.map_or_else(Traffic::default, |helper| helper.traffic()));
    Traffic {
        payload_sent: direct.payload_sent + helped.payload_sent,
        payload_received: direct.payload_received + helped.payload_received,
        ..direct
    }
}

/// Plays the helper of a cell for the parties with these keys, if they speak TLS. Calls `on_listening` with the addresses
/// for the receiver and for the sender.
pub fn assist(
    cell: &Cell,
    link: Link,
    keys: Option<(PathBuf, [PublicKey; 2])>,
    on_listening: &mut dyn FnMut([std::net::SocketAddr; 2]),
) -> Result<Measured, BenchError> {
    let settings = cell.settings();
    let failed = |message: String| BenchError::Party { role: Participant::Helper.name(), message };
    let identity = keys.as_ref().map(|(path, _)| Identity::load(path)).transpose();
    let identity = identity.map_err(|error| failed(error.to_string()))?;
    let met = std::thread::scope(|scope| {
        let mut listeners = Vec::new();
        let mut addresses = Vec::new();
        for party in 0..2 {
            let (tell, told) = std::sync::mpsc::channel();
            let (identity, peer) = (&identity, keys.as_ref().map(|(_, peers)| &peers[party]));
            let options = Options { silence: settings.timeout, cancel: CancelToken::new() };
            listeners.push(scope.spawn(move || {
                let transport = match (identity, peer) {
                    (Some(identity), Some(peer)) => ConnectionSecurity::Tls { identity, peer },
                    _ => ConnectionSecurity::InsecurePlaintext,
                };
                let mut rng = vesica::randomness().map_err(|error| error.to_string())?;
                let address = Address::Listen("127.0.0.1:0".to_owned());
                let on_event = &mut |event| {
                    if let NetEvent::Listening(address) = event {
                        // The caller may have given up.
                        let _ = tell.send(address);
                    }
                };
                shaped::establish(&address, &transport, link.network(), &options, &mut rng, on_event)
                    .map_err(|error| error.to_string())
            }));
            addresses.push(told.recv().map_err(|_| failed("cannot listen".to_owned()))?);
        }
        on_listening([addresses[0], addresses[1]]);
        let mut met = Vec::new();
        for listener in listeners {
            let connected = listener.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            met.push(connected.map_err(failed)?);
        }
        Ok(met)
    })?;
    let mut parties = <[Connection; 2]>::try_from(met).map_err(|_| failed("two parties".to_owned()))?;
    for party in &mut parties {
        party.send(&helper::greeting(settings.limits)).map_err(|error| failed(error.to_string()))?;
    }
    let allowed = Allowed { limits: settings.limits, memory: None };
    let heard = parties.map(|mut party| {
        let heard = Heard::of(&mut party);
        (party, heard)
    });
    let (assisted, mut parties) =
        Assisted::agree(heard, allowed).map_err(|error| failed(error.to_string()))?;
    let traffic = |parties: &[Connection; 2]| traffic_of(&parties[0], Some(&parties[1]));
    let (before, cpu, watch) = (traffic(&parties), resources::cpu_seconds(), Stopwatch::default());
    resources::reset_peak_rss();
    let started = Instant::now();
    let common =
        assisted.run(&mut parties, settings.threads(), &watch).map_err(|error| failed(error.to_string()))?;
    let wall = started.elapsed();
    let (cpu_s, after) = (resources::cpu_seconds() - cpu, traffic(&parties));
    let peak_bytes = resources::peak_rss().unwrap_or(0);
    assisted.confirm(&mut parties, &|| ()).map_err(|error| failed(error.to_string()))?;
    Ok(Measured {
        wall_s: wall.as_secs_f64(),
        cpu_s,
        peak_bytes,
        sent: after.payload_sent - before.payload_sent,
        received: after.payload_received - before.payload_received,
        phases: watch.phases(started + wall),
        matches: Some(common as usize),
    })
}

/// What both parties of a cell with kept base OTs say of them.
fn mark(cell: &Cell) -> Mark {
    Mark { id: [0; 32], level: cell.level, count: 464, generation: 0 }
}

/// Base OTs as an earlier run would have left them. Nothing depends on what they are, so each side makes up its own part.
fn dealt(mark: Mark, role: Role) -> Result<BaseOtCache, CodecError> {
    let count = mark.count as usize;
    let string = |i: usize, j: usize| [i as u8, (i >> 8) as u8, j as u8, 1].repeat(8);
    let choice = |i: usize| i * 7 / 3 % 2;
    let mut bytes = Writer::new();
    bytes.bool(role == Role::Receiver).u64(mark.generation).u32(mark.level).u32(mark.count);
    match role {
        Role::Receiver => (0..count).for_each(|i| {
            bytes.fixed(&string(i, 0)).fixed(&string(i, 1));
        }),
        Role::Sender => {
            let byte = |first: usize| (0..8).map(|b| (choice(first + b) as u8) << b).sum();
            (0..count).step_by(8).for_each(|first| {
                bytes.u8(byte(first));
            });
            (0..count).for_each(|i| {
                bytes.fixed(&string(i, choice(i)));
            });
        }
    }
    CachedBaseOts::from_bytes(bytes.as_slice()).map(BaseOtCache::of)
}

/// The first items of both sets are the shared ones; what follows is each side's own. Row i holds item i.
fn items(cell: &Cell, role: Role, settings: &Settings) -> Result<Items, ItemsError> {
    let (count, own) = match role {
        Role::Receiver => (cell.receiver, 0),
        Role::Sender => (cell.sender, cell.receiver),
    };
    let number = |row: usize| if row < cell.common() { row as u64 } else { (row + own) as u64 };
    let encoding = settings.encoding();
    let mut builder = ItemsBuilder::new(encoding, count)?;
    for row in 0..count {
        match encoding {
            // An odd factor permutes the integers of σ bits.
            Encoding::Native { sigma } => {
                let mixed = number(row).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                builder.push_native(row as u64, mixed & (u64::MAX >> (64 - sigma)))?;
            }
            Encoding::Digest(_) => builder.push(row as u64, &number(row).to_le_bytes())?,
        }
    }
    builder.build(OnDuplicates::Error)
}

/// What a sender attaches to its items.
enum Columns {
    Nothing,
    Values(Vec<Vec<u64>>),
    Payloads(Option<Payloads>),
}

impl Columns {
    fn of(result: ResultKind, role: Role, items: &Items) -> Self {
        let rows = || (0..items.len()).map(|item| items.rows_of(item).next().unwrap_or_default());
        match (role, result) {
            (Role::Sender, ResultKind::Sums { columns }) => {
                let column = |column: u8| rows().map(|row| value(row, column.into())).collect();
                Columns::Values((0..columns).map(column).collect())
            }
            (Role::Sender, ResultKind::Payload { bytes }) => {
                let blocks = rows().flat_map(|row| block(row, bytes as usize)).collect();
                Columns::Payloads(Payloads::new(bytes as usize, blocks))
            }
            _ => Columns::Nothing,
        }
    }

    fn lend(&self) -> Attached<'_> {
        match self {
            Columns::Values(columns) => Attached::Values(columns),
            Columns::Payloads(Some(payloads)) => Attached::Payloads(payloads),
            Columns::Nothing | Columns::Payloads(None) => Attached::Nothing,
        }
    }
}

/// The number of a row in a column to be summed.
fn value(row: u64, column: u64) -> u64 {
    row * 3 + column
}

/// The payload of a row.
fn block(row: u64, width: usize) -> impl Iterator<Item = u8> {
    row.to_le_bytes().into_iter().cycle().take(width)
}

/// A wrong result makes the benchmark fail.
fn check(cell: &Cell, role: Role, outcome: Option<&Outcome>) -> Result<(), BenchError> {
    let wrong = |message: String| Err(BenchError::WrongResult { protocol: cell.protocol.clone(), message });
    let common = cell.common() as u64;
    let right = match outcome {
        None if !cell.learns_result(role) => return Ok(()),
        None => return wrong(format!("the {role} learnt nothing")),
        Some(_) if !cell.learns_result(role) => return wrong("the sender learnt something".into()),
        Some(Outcome::Matches(matches)) => (0..common).eq(matches.rows().iter().copied()),
        Some(Outcome::Payloads(matched)) => {
            let right = |(at, row): (usize, u64)| {
                let found: &MatchedPayloads = matched;
                block(row, found.payload(at).len()).eq(found.payload(at).iter().copied())
            };
            (0..common).eq(matched.matches().rows().iter().copied()) && (0..common).enumerate().all(right)
        }
        // Noise can be any number.
        Some(Outcome::Count(count)) => {
            cell.result.noise_thousandths.is_some() || *count == common.cast_signed()
        }
        Some(Outcome::AtLeast(reached)) => {
            let noisy = cell.result.noise_thousandths.is_some();
            noisy || cell.result.at_least.is_some_and(|least| *reached == (common >= least))
        }
        Some(Outcome::Sums(sums)) => {
            let sum = |column: u64| (0..common).map(|row| u128::from(value(row, column))).sum::<u128>();
            (0..cell.result.sums as u64).map(sum).eq(sums.iter().copied())
        }
    };
    if right { Ok(()) } else { wrong(format!("the {role} did not find the {common} planted items")) }
}

/// The times at which phases began, and work within a phase that counts as another phase's.
#[derive(Default)]
struct Stopwatch(Mutex<Vec<Began>>);

/// The beginning of a phase, or of work within phase `current` that counts as `phase`.
struct Began {
    phase: Phase,
    current: Phase,
    at: Instant,
}

impl Stopwatch {
    fn began(&self) -> MutexGuard<'_, Vec<Began>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Stopwatch {
    fn phase(&self, phase: Phase, _: u64) {
        self.began().push(Began { phase, current: phase, at: Instant::now() });
    }

    fn attribute_time(&self, phase: Option<Phase>) {
        let mut began = self.began();
        if let Some(current) = began.last().map(|began| began.current) {
            began.push(Began { phase: phase.unwrap_or(current), current, at: Instant::now() });
        }
    }

    fn advance(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        false
    }
}

impl Stopwatch {
    /// Name and seconds of each phase, in the order of their beginnings, until `end`.
    fn phases(&self, end: Instant) -> Vec<(String, f64)> {
        let began = self.began();
        let ends = began.iter().skip(1).map(|began| began.at.min(end)).chain([end]);
        let mut phases: Vec<(String, f64)> = Vec::new();
        for (&Began { phase, at, .. }, end) in began.iter().zip(ends).filter(|(began, _)| began.at <= end) {
            let lasted = end.checked_duration_since(at).unwrap_or(Duration::ZERO).as_secs_f64();
            match phases.iter_mut().find(|(name, _)| name == phase.name()) {
                Some((_, seconds)) => *seconds += lasted,
                None => phases.push((phase.name().to_owned(), lasted)),
            }
        }
        phases
    }
}

#[cfg(test)]
mod tests {
    use vesica::results::ResultChoice;

    use super::*;
    use crate::cell::Asked;

    /// Sender's and receiver's figures.
    fn both(cell: &Cell) -> (Measured, Measured) {
        let (send, told) = std::sync::mpsc::channel();
        let endpoint = |address| Endpoint { address, link: Link::UNLIMITED, keys: None, helper: None };
        std::thread::scope(|scope| {
            let receiver = scope.spawn(|| {
                let here = endpoint(Address::Listen("127.0.0.1:0".into()));
                play(cell, Role::Receiver, &here, &mut |address| send.send(address).unwrap())
            });
            let there = endpoint(Address::Connect(told.recv().unwrap().to_string()));
            let sent = play(cell, Role::Sender, &there, &mut |_| {}).unwrap();
            (sent, receiver.join().unwrap().unwrap())
        })
    }

    #[test]
    fn both_roles_of_every_protocol_can_be_measured_in_one_process() {
        let cell = Cell::new("dh", 60, 90);
        let (sent, received) = both(&cell);
        assert_eq!(received.matches, Some(15));
        assert_eq!((sent.matches, sent.received), (None, received.sent));
        assert_eq!(sent.sent + sent.received, cell.formula_bytes().unwrap());
        assert!(received.wall_s > 0.0 && !received.phases.is_empty());
    }

    #[test]
    fn work_that_counts_apart_is_summed_under_its_own_phase() {
        let (watch, start) = (Stopwatch::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        let (extend, evaluate) = (Phase::Extend, Phase::Evaluate);
        for (phase, current, at) in
            [(extend, extend, 0), (evaluate, extend, 1), (extend, extend, 3), (evaluate, extend, 4)]
        {
            watch.began().push(Began { phase, current, at: after(at) });
        }
        let expected = [("extend".to_owned(), 2.0), ("evaluate".to_owned(), 8.0)];
        assert_eq!(watch.phases(after(10)), expected);
        watch.attribute_time(None);
        assert_eq!(watch.began().last().map(|began| began.phase), Some(extend));
    }

    #[test]
    fn kept_base_ots_fit_both_roles() {
        let cell = Cell { kept_base_ots: true, ..Cell::new("kkrt", 60, 90) };
        assert_eq!(
            Cell::new("kkrt", 60, 90).formula_bytes().unwrap() - cell.formula_bytes().unwrap(),
            32 + 32 * 416
        );
        let (sent, received) = both(&cell);
        assert_eq!(received.matches, Some(15));
        assert_eq!(sent.sent + sent.received, cell.formula_bytes().unwrap());
    }

    #[test]
    fn a_wrong_result_is_told() {
        let cell = Cell::new("dh", 8, 8);
        let settings = cell.settings();
        let items = items(&cell, Role::Receiver, &settings).unwrap();
        let found = |indices: std::ops::Range<usize>| items.matches(indices);
        let by_row = |row: u64| (0..8).find(|&i| found(i..i + 1).rows() == [row]).unwrap();
        let of = |rows: [u64; 2]| Outcome::Matches(items.matches(rows.map(by_row).into_iter()));
        let right = of([0, 1]);
        assert!(check(&cell, Role::Receiver, Some(&right)).is_ok());
        for wrong in [of([0, 0]), of([0, 2]), Outcome::Count(1)] {
            assert!(check(&cell, Role::Receiver, Some(&wrong)).is_err());
        }
        assert!(check(&cell, Role::Receiver, None).is_err());
        assert!(check(&cell, Role::Sender, Some(&right)).is_err());
        assert!(check(&cell, Role::Sender, None).is_ok());
        let sums = Asked { kind: ResultChoice::Sum, sums: 2, ..Asked::default() };
        let cell = Cell { result: sums, ..cell };
        assert!(check(&cell, Role::Receiver, Some(&Outcome::Sums(vec![3, 5]))).is_ok());
        assert!(check(&cell, Role::Receiver, Some(&Outcome::Sums(vec![3, 4]))).is_err());
    }
}
