//! Time: the nearest measured cell, scaled to the run, and what the network adds.
//!
//! ```text
//! time = (s + (t − s) · w / w_m) · f                  t: the measured time of a run with work w_m
//!      + bytes of the busier direction / bandwidth    s: the least measured time, which is the set-up
//!      + flights · round trip / 2                     w: the work of this run; f: its level
//! ```
//!
//! Work is the number of keys, n_r + n_s, and in a protocol that evaluates a circuit the number of its AND gates. The factor
//! f is 1 if the level was measured. Otherwise the time of the nearest level is scaled: by the work of a power where the
//! protocol mostly computes powers (the cube of the modulus, with full exponents), and else by traffic.
//!
//! The cells are medians of records of runs in which both parties share one machine. Nothing is fitted. Of several records,
//! the first one that has the protocol serves: times of one machine can be compared. Runs over loopback give the time from
//! keys to matches. A protocol that evaluates a circuit was measured over networks alone, which it keeps busy most of the
//! time. Its cells have the processor time of the busier party, since both parties work at once. A circuit protocol that no
//! record has takes the cell of another one on the same engine, by its gates.
//! Sending and computing overlap in part, so a run over a network may take less than the sum.

use std::cmp::Reverse;
use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};
use vesica_protocols::{DEFAULT_LEVEL, KeyAgreement, Parameters, Profile, ResultKind, Sizes};

use crate::words::memory::Budget;
use crate::words::registry::{self, Entry, Security, Shape};

/// The cells of each record, the preferred one first: a line that names record and machine, a line of column names, a line
/// for each cell. `benchmarks/run.py report` writes the files into the folders of the records, from which they are copied
/// here; its tests hold them against the records.
pub const RECORDS: [&str; 4] = [
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/cells/2026-11-22-zen4.csv")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/cells/2026-11-23-zen4.csv")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/cells/2026-11-23-zen5.csv")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/cells/2026-11-23-xeon.csv")),
];

/// The column names of [`RECORDS`].
pub const COLUMNS: &str =
    "protocol,security,profile,variant,sigma,level,paper,kept_base_ots,threads,receiver,sender,clock,seconds";

/// The names of the records and their machines, in the order of [`RECORDS`].
pub fn sources() -> impl Iterator<Item = &'static str> {
    RECORDS.into_iter().map(source)
}

/// What the cells of a record say of it.
fn source(record: &'static str) -> &'static str {
    record.lines().next().unwrap_or_default().trim_start_matches("# ")
}

/// A protocol with everything but the sizes that decides how long it computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Configuration {
    /// Its name in the registry.
    pub protocol: &'static str,
    /// The security model.
    pub security: Security,
    /// The profile.
    pub profile: Profile,
    /// The variant, empty for the standard one.
    pub variant: &'static str,
    /// σ, where items are native.
    pub sigma: Option<u32>,
    /// κ.
    pub level: u32,
    /// What base OTs are made from. No record has cells with ML-KEM.
    pub base_ots: KeyAgreement,
    /// The paper's own parameters.
    pub paper: bool,
    /// The base OTs are those of an earlier run.
    pub kept_base_ots: bool,
}

impl Configuration {
    /// The configuration of a protocol in a run of this shape.
    pub fn of(entry: &Entry, shape: &Shape) -> Self {
        let Parameters { security, level, sigma, profile, base_ots, paper, .. } = shape.parameters;
        let variant = shape.parameters.variant_name();
        let kept_base_ots = shape.kept_base_ots;
        let protocol = entry.name;
        Configuration { protocol, security, profile, variant, sigma, level, base_ots, paper, kept_base_ots }
    }

    /// How much `other` tells of this configuration: nothing of another protocol, most if it is the same.
    fn likeness(&self, other: &Configuration) -> Option<u32> {
        let alike = [
            self.base_ots == other.base_ots,
            self.sigma == other.sigma,
            self.paper == other.paper,
            self.profile == other.profile,
            self.level == other.level,
            self.sigma.is_some() == other.sigma.is_some(),
            self.variant == other.variant,
            self.kept_base_ots == other.kept_base_ots,
            self.security == other.security,
        ];
        let weigh = |(i, &alike): (usize, &bool)| u32::from(alike) << i;
        (self.protocol == other.protocol).then(|| alike.iter().enumerate().map(weigh).sum())
    }

    /// Its protocol, and a run of it on sets of these sizes.
    fn run(&self, sizes: Sizes) -> Option<(&'static Entry, Shape)> {
        let &Configuration {
            protocol,
            security,
            profile,
            variant,
            sigma,
            level,
            base_ots,
            paper,
            kept_base_ots,
        } = self;
        let entry = registry::find(protocol)?;
        let variant = entry.supports.variant(variant);
        let parameters =
            Parameters { security, level, sigma, variant, profile, base_ots, paper, ..Parameters::default() };
        Some((entry, Shape { parameters, kept_base_ots, ..Shape::new(sizes) }))
    }

    /// The first columns of [`COLUMNS`].
    pub fn columns(&self) -> String {
        let Configuration {
            protocol, security, profile, variant, sigma, level, paper, kept_base_ots, ..
        } = self;
        let sigma = sigma.map_or_else(String::new, |sigma| sigma.to_string());
        let (security, profile) = (security.name(), profile.name());
        format!("{protocol},{security},{profile},{variant},{sigma},{level},{paper},{kept_base_ots}")
    }
}

/// `vole, malicious`, `ot-phasing, σ = 32`: what is not the usual.
impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Configuration {
            protocol,
            security,
            profile,
            variant,
            sigma,
            level,
            base_ots,
            paper,
            kept_base_ots,
        } = self;
        let unusual = [
            (*security == Security::Malicious).then(|| "malicious".to_owned()),
            (*profile != Profile::Conservative).then(|| profile.name().to_owned()),
            (!variant.is_empty()).then(|| (*variant).to_owned()),
            sigma.map(|sigma| format!("σ = {sigma}")),
            (*level != DEFAULT_LEVEL).then(|| format!("level {level}")),
            (*base_ots != KeyAgreement::default()).then(|| format!("base OTs from {}", base_ots.name())),
            paper.then(|| "the paper's parameters".to_owned()),
            kept_base_ots.then(|| "kept base OTs".to_owned()),
        ];
        let words = [(*protocol).to_owned()].into_iter().chain(unusual.into_iter().flatten());
        f.write_str(&words.collect::<Vec<_>>().join(", "))
    }
}

impl Serialize for Configuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What the time of a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// From keys in memory to matches.
    Wall,
    /// The processor time of the busier party, without what the network took.
    Processor,
}

impl Clock {
    /// The name in [`COLUMNS`].
    fn of(name: &str) -> Option<Self> {
        [("wall", Clock::Wall), ("processor", Clock::Processor)]
            .into_iter()
            .find(|one| one.0 == name)
            .map(|one| one.1)
    }
}

/// A measured cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cell {
    /// The record that it is of, and the machine.
    pub record: &'static str,
    /// The protocol and its parameters.
    pub configuration: Configuration,
    /// Threads of each party.
    pub threads: usize,
    /// Keys of the receiver.
    pub receiver: usize,
    /// Keys of the sender.
    pub sender: usize,
    /// What was measured.
    pub clock: Clock,
    /// The median of its runs.
    pub seconds: f64,
}

impl Cell {
    /// All cells of a record.
    fn all(record: &'static str) -> impl Iterator<Item = Self> {
        record.lines().skip(2).filter_map(move |line| Cell::parse(source(record), line))
    }

    fn parse(record: &'static str, line: &'static str) -> Option<Self> {
        let mut fields = line.split(',');
        let mut next = || fields.next();
        let (protocol, security, profile) = (next()?, next()?, next()?);
        let configuration = Configuration {
            protocol,
            security: Security::ALL.into_iter().find(|known| known.name() == security)?,
            profile: Profile::ALL.into_iter().find(|known| known.name() == profile)?,
            variant: next()?,
            sigma: Some(next()?).filter(|sigma| !sigma.is_empty()).map(str::parse).transpose().ok()?,
            level: next()?.parse().ok()?,
            base_ots: KeyAgreement::default(),
            paper: next()?.parse().ok()?,
            kept_base_ots: next()?.parse().ok()?,
        };
        let [threads, receiver, sender] = [next()?, next()?, next()?].map(str::parse);
        let (threads, receiver, sender) = (threads.ok()?, receiver.ok()?, sender.ok()?);
        let (clock, seconds) = (Clock::of(next()?)?, next()?.parse().ok()?);
        Some(Cell { record, configuration, threads, receiver, sender, clock, seconds })
    }

    fn sizes(&self) -> Sizes {
        Sizes { receiver: self.receiver, sender: self.sender }
    }

    /// The work of its runs.
    fn work(&self) -> f64 {
        self.configuration.run(self.sizes()).map_or(1.0, |(entry, shape)| work(entry, &shape))
    }

    /// The engine that evaluated its circuit; none in a protocol without one.
    fn engine(&self) -> Option<Engine> {
        let (entry, shape) = self.configuration.run(Sizes { receiver: 1, sender: 1 })?;
        Engine::of(entry, &shape)
    }

    /// How far its sizes are from these, on a logarithmic scale: how many keys there are counts most, and a little how they
    /// are divided between the parties.
    fn distance(&self, sizes: Sizes) -> f64 {
        let ratio = |a: usize, b: usize| a.max(1) as f64 / b.max(1) as f64;
        let division = ratio(self.receiver, self.sender) / ratio(sizes.receiver, sizes.sender);
        (items(self.sizes()) / items(sizes)).ln().abs() + 0.1 * division.ln().abs()
    }
}

fn items(sizes: Sizes) -> f64 {
    (sizes.receiver + sizes.sender).max(1) as f64
}

/// What evaluates a protocol's circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Engine {
    /// Yao: one party garbles, the other evaluates.
    Garbled,
    /// GMW: wires are shared, and layers of gates follow one another.
    Shared,
}

impl Engine {
    fn of(entry: &Entry, shape: &Shape) -> Option<Self> {
        let gates = entry.gates_of(shape).filter(|_| entry.power_of(shape).is_none())?;
        Some(gates.depth.map_or(Engine::Garbled, |_| Engine::Shared))
    }
}

/// The work of a run, in a unit of its own for each protocol or engine; never 0.
fn work(entry: &Entry, shape: &Shape) -> f64 {
    let gates = entry.gates_of(shape).filter(|_| entry.power_of(shape).is_none());
    gates.map_or(items(shape.sizes), |gates| gates.work()).max(1.0)
}

/// A time of another level, as that of a run's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LevelScale {
    /// The level that was measured.
    pub from_level: u32,
    /// What it was scaled by.
    pub by: ScaledBy,
    /// How many times as long the run's level takes.
    pub factor: f64,
}

/// What the times of two levels are taken to be in proportion to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ScaledBy {
    /// The work of a power modulo a number: the square of the modulus, and the length of the exponent.
    Powers,
    /// Traffic.
    Traffic,
}

impl LevelScale {
    /// The scale from a level to that of a run; none if they are the same.
    fn of(entry: &Entry, shape: &Shape, from_level: u32) -> Option<Self> {
        if from_level == shape.parameters.level {
            return None;
        }
        let measured = Shape { parameters: Parameters { level: from_level, ..shape.parameters }, ..*shape };
        let (by, of): (_, fn(&Entry, &Shape) -> f64) = match entry.power_of(shape) {
            Some(_) => {
                (ScaledBy::Powers, |entry, shape| entry.power_of(shape).map_or(1.0, |power| power.work()))
            }
            None => (ScaledBy::Traffic, |entry, shape| entry.total_bytes(shape).max(1) as f64),
        };
        Some(LevelScale { from_level, by, factor: of(entry, shape) / of(entry, &measured) })
    }
}

/// What a run has at its disposal.
#[derive(Debug, Clone, Copy)]
pub struct Conditions {
    /// Threads of each party.
    pub threads: usize,
    /// Bits a second in each direction; none: no limit.
    pub bits_per_s: Option<f64>,
    /// To the partner and back.
    pub round_trip: Duration,
    /// Whether both keep base OTs of an earlier run, for the protocols that can take them.
    pub kept_base_ots: bool,
    /// What each of them gives as `--memory`.
    pub memory: Option<Budget>,
}

impl Conditions {
    /// One thread a party, a network without a limit, and nothing kept.
    pub const ALONE: Conditions = Conditions {
        threads: 1,
        bits_per_s: None,
        round_trip: Duration::ZERO,
        kept_base_ots: false,
        memory: None,
    };
}

/// Seconds that a run takes, what they are made of, and the measured cell behind them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Time {
    /// From keys in memory to matches.
    pub total_s: f64,
    /// What both parties compute, scaled from the measured cell.
    pub compute_s: f64,
    /// What waiting for the other end takes.
    pub latency_s: f64,
    /// What sending takes.
    pub transfer_s: f64,
    /// The measured cell.
    pub nearest: Cell,
    /// Whether the record holds the run's configuration, for rows, which is all that it has; otherwise the cell is one of the
    /// likest configuration.
    pub same_configuration: bool,
    /// How the time was scaled from the level that was measured, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level_scale: Option<LevelScale>,
}

impl Time {
    /// That of a run in so many such parts, of which so many are played at once by so many threads: while one waits, another
    /// computes or sends.
    pub(crate) fn in_parts(self, parts: usize, lanes: u16, threads: usize) -> Self {
        let rounds = |at_once: usize| parts.div_ceil(at_once.max(1)) as f64;
        let compute_s = self.compute_s * rounds(threads.min(lanes.into()));
        let (latency_s, transfer_s) = (self.latency_s * rounds(lanes.into()), self.transfer_s * parts as f64);
        Time { total_s: compute_s + latency_s + transfer_s, compute_s, latency_s, transfer_s, ..self }
    }
}

/// Seconds for a key of a protocol that neither was measured nor evaluates a circuit.
const UNMEASURED_S: f64 = 5e-6;

/// About how many seconds one thread of each party computes for a run.
pub(crate) fn seconds_of_one_thread(entry: &Entry, shape: &Shape) -> f64 {
    let time = time(entry, shape, 0, &Conditions::ALONE);
    time.map_or_else(|| UNMEASURED_S * items(shape.sizes), |time| time.compute_s)
}

/// The time of a run that sends `busier` bytes in its busier direction; none for a protocol that neither was measured nor
/// evaluates a circuit.
pub(crate) fn time(entry: &Entry, shape: &Shape, busier: u64, conditions: &Conditions) -> Option<Time> {
    let configuration = Configuration::of(entry, shape);
    let (nearest, setup_s) = match Engine::of(entry, shape) {
        Some(engine) => nearest_on_engine(engine, entry, shape, conditions.threads)?,
        None => nearest(&configuration, shape.sizes, conditions.threads)?,
    };
    let level_scale = LevelScale::of(entry, shape, nearest.configuration.level);
    let at_its_level = setup_s + (nearest.seconds - setup_s) * work(entry, shape) / nearest.work();
    let compute_s = at_its_level * level_scale.map_or(1.0, |scale| scale.factor);
    let latency_s = f64::from(entry.flights_of(shape)) / 2.0 * conditions.round_trip.as_secs_f64();
    let transfer_s = conditions.bits_per_s.map_or(0.0, |bits_per_s| busier as f64 * 8.0 / bits_per_s);
    Some(Time {
        total_s: compute_s + latency_s + transfer_s,
        compute_s,
        latency_s,
        transfer_s,
        nearest,
        same_configuration: nearest.configuration == configuration
            && shape.parameters.result == ResultKind::Rows,
        level_scale,
    })
}

/// The cell nearest to the sizes, and the least time of any of its configuration, of the first record that has the protocol.
fn nearest(configuration: &Configuration, sizes: Sizes, threads: usize) -> Option<(Cell, f64)> {
    RECORDS.into_iter().find_map(|record| {
        // Of the configuration that is most like this one, and then of the nearest level.
        let likest = Cell::all(record).map(|cell| cell.configuration).max_by_key(|other| {
            (configuration.likeness(other), Reverse(other.level.abs_diff(configuration.level)))
        })?;
        configuration.likeness(&likest)?;
        let of_it = Cell::all(record).filter(|cell| cell.configuration == likest).collect();
        nearest_of(of_it, threads, |cell| cell.distance(sizes))
    })
}

/// The cell nearest to the sizes, then to σ, and the least time of any of its protocol and level, of the first record that
/// has the protocol; of other protocols on the same engine, if none has. The gates of a circuit follow from sizes and σ.
fn nearest_on_engine(engine: Engine, entry: &Entry, shape: &Shape, threads: usize) -> Option<(Cell, f64)> {
    let parameters = &shape.parameters;
    let unlike = |cell: &Cell| {
        let Configuration { variant, level, .. } = cell.configuration;
        (variant != parameters.variant_name(), level.abs_diff(parameters.level))
    };
    // The width of digests is near that of the widest integers.
    let width = |sigma: Option<u32>| sigma.unwrap_or(64);
    let narrower = |cell: &Cell| width(cell.configuration.sigma).abs_diff(width(parameters.sigma));
    let of = |record, wanted: &dyn Fn(&Cell) -> bool| {
        let cells = || Cell::all(record).filter(wanted);
        let likest = cells().min_by_key(unlike)?;
        let of_it = cells().filter(|cell| unlike(cell) == unlike(&likest)).collect();
        nearest_of(of_it, threads, |cell| cell.distance(shape.sizes) + 1e-6 * f64::from(narrower(cell)))
    };
    let own = |cell: &Cell| cell.configuration.protocol == entry.name;
    // At a level that this protocol has, too.
    let offered = |cell: &Cell| entry.supports.levels.contains(&cell.configuration.level);
    let others = |cell: &Cell| offered(cell) && cell.engine() == Some(engine);
    let find = |wanted: &dyn Fn(&Cell) -> bool| RECORDS.into_iter().find_map(|record| of(record, wanted));
    find(&own).or_else(|| find(&others))
}

/// The nearest of these cells, and the least time of any. Cells of as many threads are preferred, then of fewer.
fn nearest_of(cells: Vec<Cell>, threads: usize, distance: impl Fn(&Cell) -> f64) -> Option<(Cell, f64)> {
    let counts = || cells.iter().map(|cell| cell.threads);
    let threads = counts().filter(|&count| count <= threads).max().or(counts().min())?;
    let candidates = || cells.iter().filter(|cell| cell.threads == threads);
    let nearest = candidates().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    Some((*nearest, candidates().map(|cell| cell.seconds).fold(f64::INFINITY, f64::min)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::registry::PROTOCOLS;

    fn vole() -> Configuration {
        let mut vole = Cell::all(RECORDS[0]).filter(|cell| cell.configuration.protocol == "vole");
        Configuration { security: Security::SemiHonest, ..vole.next().unwrap().configuration }
    }

    #[test]
    fn every_line_is_a_cell_of_a_protocol() {
        for record in RECORDS {
            let mut lines = record.lines();
            assert!(lines.next().unwrap().starts_with("# ") && lines.next() == Some(COLUMNS));
            for line in lines {
                let cell = Cell::parse(source(record), line).unwrap();
                assert!(registry::find(cell.configuration.protocol).is_some(), "{line}");
                assert!(line.starts_with(&cell.configuration.columns()) && cell.seconds > 0.0, "{line}");
            }
        }
    }

    #[test]
    fn the_first_record_that_has_a_protocol_serves() {
        let sizes = Sizes { receiver: 1 << 12, sender: 1 << 12 };
        let record = |configuration| nearest(&configuration, sizes, 1).unwrap().0.record;
        let of = |protocol, security| Configuration { protocol, security, ..vole() };
        assert_eq!(record(vole()), source(RECORDS[0]));
        let later = record(of("gbf-rr16", Security::Malicious));
        assert!(later != source(RECORDS[0]) && sources().any(|source| source == later), "{later}");
    }

    #[test]
    fn the_nearest_sizes_and_no_more_threads_are_taken() {
        let chosen = |receiver, sender, threads| {
            let (cell, setup_s) = nearest(&vole(), Sizes { receiver, sender }, threads).unwrap();
            assert!(setup_s <= cell.seconds);
            (cell.receiver, cell.sender, cell.threads)
        };
        assert_eq!(chosen(1 << 20, 1 << 20, 1), (1 << 20, 1 << 20, 1));
        assert_eq!(chosen(900_000, 1_000_000, 1), (1 << 20, 1 << 20, 1));
        assert_eq!(chosen(1000, 300_000, 1), (1 << 10, 1 << 18, 1));
        assert_eq!(chosen(1 << 18, 1 << 18, 64), (1 << 18, 1 << 18, 2));
        assert_eq!(chosen(0, 0, 1), (1 << 8, 1 << 8, 1));
    }

    #[test]
    fn the_likest_configuration_stands_in_for_one_that_was_not_measured() {
        let same = vole();
        assert_eq!(same.likeness(&Configuration { protocol: "dh", ..same }), None);
        let malicious = Configuration { security: Security::Malicious, ..same };
        let fast = Configuration { profile: Profile::Fast, ..same };
        assert!(same.likeness(&same) > same.likeness(&fast));
        assert!(same.likeness(&fast) > same.likeness(&malicious));
        // What a run with kept base OTs takes tells nothing of one that makes them, and the other way round.
        let kept = Configuration { kept_base_ots: true, ..same };
        assert!(same.likeness(&fast) > same.likeness(&kept));
        assert!(kept.likeness(&Configuration { sigma: Some(32), ..kept }) > kept.likeness(&same));
        let unknown = Configuration { protocol: "unknown", ..same };
        assert_eq!(nearest(&unknown, Sizes { receiver: 1, sender: 1 }, 1), None);
    }

    #[test]
    fn time_is_the_measured_one_with_what_the_network_adds() {
        let entry = registry::find("vole").unwrap();
        let parameters = Parameters { security: Security::SemiHonest, ..Parameters::default() };
        let shape = |n| Shape {
            sizes: Sizes { receiver: n, sender: n },
            parameters,
            learns: vesica_protocols::Learns::Receiver,
            matches: 0,
            kept_base_ots: false,
        };
        let alone = time(entry, &shape(1 << 20), 1000, &Conditions::ALONE).unwrap();
        assert!((alone.compute_s / alone.nearest.seconds - 1.0).abs() < 1e-9);
        assert_eq!((alone.total_s, alone.latency_s, alone.transfer_s), (alone.compute_s, 0.0, 0.0));
        let twice = time(entry, &shape(5 << 18), 1000, &Conditions::ALONE).unwrap();
        let factor = twice.compute_s / alone.compute_s;
        assert!(twice.nearest == alone.nearest && factor > 1.2 && factor <= 1.25, "{factor}");
        let network =
            Conditions { bits_per_s: Some(4e6), round_trip: Duration::from_millis(100), ..Conditions::ALONE };
        let there = time(entry, &shape(1 << 20), 1_000_000, &network).unwrap();
        let flights = f64::from(entry.flights_of(&shape(1 << 20)));
        assert!((there.latency_s - 0.05 * flights).abs() < 1e-9 && there.transfer_s == 2.0);
        assert!((there.total_s - alone.total_s - there.latency_s - 2.0).abs() < 1e-9);
    }

    #[test]
    fn every_protocol_takes_some_time() {
        let of = |name, n| {
            let shape = Shape::new(Sizes { receiver: n, sender: n });
            seconds_of_one_thread(registry::find(name).unwrap(), &shape)
        };
        assert!((0.2..5.0).contains(&of("vole", 1 << 20)));
        assert!((50.0..500.0).contains(&of("scs-wn", 1 << 20)), "{}", of("scs-wn", 1 << 20));
        assert!(PROTOCOLS.iter().all(|entry| of(entry.name, 1) > 0.0));
    }

    fn shape(entry: &Entry, n: usize, level: u32, variant: &str) -> Shape {
        // What is insecure offers none.
        let security = entry.security.first().copied().unwrap_or(Security::SemiHonest);
        let parameters = Parameters {
            security,
            level,
            variant: entry.supports.variant(variant),
            ..entry.supports.usual()
        };
        Shape { parameters, ..Shape::new(Sizes { receiver: n, sender: n }) }
    }

    #[test]
    fn every_protocol_that_was_measured_or_evaluates_a_circuit_has_a_time() {
        for entry in PROTOCOLS {
            let measured =
                RECORDS.into_iter().flat_map(Cell::all).any(|cell| cell.configuration.protocol == entry.name);
            let shape = shape(entry, 1 << 12, DEFAULT_LEVEL, "");
            assert!(measured || entry.gates_of(&shape).is_some(), "{}: no record has it", entry.name);
            let time = time(entry, &shape, 0, &Conditions::ALONE).unwrap();
            assert!(time.total_s > 0.0 && time.total_s.is_finite(), "{}: {time:?}", entry.name);
            if measured {
                assert_eq!(time.nearest.configuration.protocol, entry.name);
            }
        }
    }

    #[test]
    fn a_level_with_a_longer_modulus_takes_longer() {
        let mut with_powers = 0;
        for entry in PROTOCOLS {
            let shapes = || entry.supports.levels.iter().map(|&level| shape(entry, 1 << 12, level, ""));
            let seconds: Vec<f64> =
                shapes().map(|shape| time(entry, &shape, 0, &Conditions::ALONE).unwrap().compute_s).collect();
            if entry.power_of(&shape(entry, 1, DEFAULT_LEVEL, "")).is_some() {
                with_powers += 1;
                assert!(seconds.windows(2).all(|pair| pair[0] < pair[1]), "{}: {seconds:?}", entry.name);
            }
            // Above the default level everything takes longer.
            let above: Vec<f64> = entry
                .supports
                .levels
                .iter()
                .zip(&seconds)
                .filter(|(level, _)| **level >= DEFAULT_LEVEL)
                .map(|(_, &seconds)| seconds)
                .collect();
            assert!(above.windows(2).all(|pair| pair[0] < pair[1]), "{}: {above:?}", entry.name);
        }
        assert_eq!(with_powers, 5);
    }

    #[test]
    fn the_time_of_a_level_is_scaled_by_its_powers_or_else_by_traffic() {
        let scale = |name, level, variant, from| {
            let entry = registry::find(name).unwrap();
            LevelScale::of(entry, &shape(entry, 1 << 12, level, variant), from)
        };
        let powers = |name, level, variant| {
            let scale = scale(name, level, variant, 128).unwrap();
            assert_eq!((scale.from_level, scale.by), (128, ScaledBy::Powers));
            scale.factor
        };
        assert_eq!(powers("dt-rsa", 256, ""), 125.0, "15360 bits are five times 3072");
        assert_eq!(powers("scs-he", 80, ""), 1.0 / 27.0);
        // Short exponents are in proportion to the level.
        assert!((powers("dh-ffc", 112, "short-exponents") - 4.0 / 9.0 * 224.0 / 256.0).abs() < 1e-9);
        assert_eq!(scale("dt-rsa", 128, "", 128), None);
        let filter = scale("gbf", 256, "", 128).unwrap();
        assert!(filter.by == ScaledBy::Traffic && (4.0..10.0).contains(&filter.factor), "{filter:?}");
    }

    #[test]
    fn a_circuit_takes_time_by_its_gates() {
        let of = |name: &str, n, sigma| {
            let entry = registry::find(name).unwrap();
            let mut shape = shape(entry, n, DEFAULT_LEVEL, "");
            shape.parameters.sigma = sigma;
            let gates = work(entry, &shape);
            (time(entry, &shape, 0, &Conditions::ALONE).unwrap(), gates)
        };
        let (at, gates) = of("scs-wn", 1 << 16, Some(32));
        assert_eq!(
            (at.nearest.sizes().receiver, at.nearest.clock, at.same_configuration),
            (1 << 16, Clock::Processor, true)
        );
        assert!((at.compute_s / at.nearest.seconds - 1.0).abs() < 1e-9);
        // Sorting takes n log n gates.
        let (twice, more) = of("scs-wn", 1 << 17, Some(32));
        let (seconds, ratio) = (twice.compute_s / at.compute_s, more / gates);
        assert!(ratio > 2.0 && (seconds / ratio - 1.0).abs() < 0.02, "{seconds} {ratio}");
        // Wider items take more gates, in a protocol whose gates do not depend on the sets, too.
        assert!(of("bwa", 1024, Some(24)).0.compute_s > 8.0 * of("bwa", 1024, Some(20)).0.compute_s);
        // What no record has stands on another protocol of its engine.
        for (name, other) in [("scs-sort", "scs-wn"), ("circuit-vole", "circuit-phasing-gmw")] {
            let (time, gates) = of(name, 1 << 16, registry::find(name).unwrap().supports.usual().sigma);
            let engine = |name| {
                Engine::of(registry::find(name).unwrap(), &shape(registry::find(name).unwrap(), 4, 128, ""))
            };
            assert_eq!(engine(name), engine(other));
            assert_eq!(time.nearest.engine(), engine(other), "{name}");
            assert!(
                !time.same_configuration
                    && time.nearest.sizes() == Sizes { receiver: 1 << 16, sender: 1 << 16 }
            );
            let rate = time.nearest.seconds / time.nearest.work();
            assert!((0.5..2.0).contains(&(time.compute_s / gates / rate)), "{name}");
        }
    }

    #[test]
    fn configurations_have_names() {
        let name = |configuration: Configuration| configuration.to_string();
        assert_eq!(name(vole()), "vole");
        let unusual = Configuration { security: Security::Malicious, profile: Profile::Lean, ..vole() };
        assert_eq!(name(unusual), "vole, malicious, lean");
        assert_eq!(name(Configuration { sigma: Some(32), ..vole() }), "vole, σ = 32");
    }
}
