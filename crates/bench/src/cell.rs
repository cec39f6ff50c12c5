//! A cell: one protocol, and everything that its figures depend on.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use vesica::auto;
use vesica::net::shaped;
use vesica::protocols::registry::{Entry, Security, Shape};
use vesica::protocols::{DEFAULT_LEVEL, KeyAgreement, Learns, Noise, Profile, Role, Sizes};
use vesica::results::{ResultChoice, ResultOptions};
use vesica::settings::{Choice, Settings};

use crate::BenchError;

/// The network without a limit.
pub const LOOPBACK: &str = "loopback";

/// A protocol, its parameters, the sizes of the sets, the network. The JSON form leaves out defaults.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Its name in the registry.
    pub protocol: String,
    /// n_r.
    pub receiver: usize,
    /// n_s.
    pub sender: usize,
    /// The security: `semi-honest` or `malicious`.
    #[serde(default = "default_security", skip_serializing_if = "is_default_security", with = "word")]
    pub security: Security,
    /// κ.
    #[serde(default = "default_level", skip_serializing_if = "is_default_level")]
    pub level: u32,
    /// σ, for native items.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sigma: Option<u32>,
    /// A variant of the protocol.
    #[serde(default, skip_serializing_if = "is_default")]
    pub variant: Option<String>,
    /// `conservative`, `fast` or `lean`.
    #[serde(default, skip_serializing_if = "is_default", with = "word")]
    pub profile: Profile,
    /// What base OTs are made from: `diffie-hellman` or `ml-kem`.
    #[serde(default, skip_serializing_if = "is_default", with = "word")]
    pub base_ots: KeyAgreement,
    /// The paper's own parameters.
    #[serde(default, skip_serializing_if = "is_default")]
    pub paper_parameters: bool,
    /// The most items of an intersection that the run reveals.
    #[serde(default, skip_serializing_if = "is_default")]
    pub audit_max: Option<u64>,
    /// The result, and what limits it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub result: Asked,
    /// Percent of the smaller set that both sets have; none: a quarter, and at least one item.
    #[serde(default, skip_serializing_if = "is_default")]
    pub common_percent: Option<u32>,
    /// Who learns the matches: `receiver` or `both`.
    #[serde(default = "default_learns", skip_serializing_if = "is_default_learns", with = "word")]
    pub learns: Learns,
    /// Threads of each party.
    #[serde(default = "default_threads", skip_serializing_if = "is_default_threads")]
    pub threads: usize,
    /// A name of `networks.toml`, or [`LOOPBACK`].
    #[serde(default = "default_network", skip_serializing_if = "is_default_network")]
    pub network: String,
    /// Whether the parties speak TLS.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tls: bool,
    /// Whether the base OTs are those of an earlier run, which is not measured.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kept_base_ots: bool,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_default_level(level: &u32) -> bool {
    *level == default_level()
}

fn is_default_security(security: &Security) -> bool {
    *security == default_security()
}

fn is_default_learns(learns: &Learns) -> bool {
    *learns == default_learns()
}

fn is_default_threads(threads: &usize) -> bool {
    *threads == default_threads()
}

fn is_default_network(network: &str) -> bool {
    network == default_network()
}

fn default_level() -> u32 {
    DEFAULT_LEVEL
}

fn default_security() -> Security {
    Security::SemiHonest
}

fn default_learns() -> Learns {
    Learns::Receiver
}

fn default_threads() -> usize {
    1
}

fn default_network() -> String {
    LOOPBACK.to_owned()
}

impl Cell {
    /// The cell of that protocol and these sizes, with defaults for the rest.
    pub fn new(protocol: &str, receiver: usize, sender: usize) -> Self {
        Cell {
            protocol: protocol.to_owned(),
            receiver,
            sender,
            security: default_security(),
            level: default_level(),
            sigma: None,
            variant: None,
            profile: Profile::default(),
            base_ots: KeyAgreement::default(),
            paper_parameters: false,
            audit_max: None,
            result: Asked::default(),
            common_percent: None,
            learns: default_learns(),
            threads: default_threads(),
            network: default_network(),
            tls: false,
            kept_base_ots: false,
        }
    }

    /// Items that both sets have.
    pub fn common(&self) -> usize {
        let smaller = self.receiver.min(self.sender);
        self.common_percent.map_or(smaller.div_ceil(4), |percent| smaller * percent.min(100) as usize / 100)
    }

    /// Whether a party in this role learns the result.
    pub fn learns_result(&self, role: Role) -> bool {
        self.settings().learns_result(role)
    }

    /// The settings of a run. Insecure protocols are allowed, since a benchmark has no real data.
    pub fn settings(&self) -> Settings {
        Settings {
            protocol: Choice::Named(self.protocol.clone()),
            security: self.security,
            level: self.level,
            sigma: self.sigma,
            variant: self.variant.clone(),
            profile: self.profile,
            base_ots: self.base_ots,
            paper_parameters: self.paper_parameters,
            audit_max: self.audit_max,
            result: self.result.options(),
            learns: self.learns,
            threads: self.threads,
            timeout: Duration::from_secs(3600),
            allow_insecure: true,
            ..Settings::default()
        }
    }

    /// The protocol, and the shape for its formulas; an error if the protocol does not offer these parameters.
    pub fn plan(&self) -> Result<(&'static Entry, Shape), BenchError> {
        let settings = self.settings();
        settings.check().map_err(|error| BenchError::Cell(error.message.shell()))?;
        let chosen = auto::choose(&settings.protocol, settings.wanted(), None);
        let auto::Choice { protocol, parameters, .. } =
            chosen.map_err(|error| BenchError::Cell(error.text().shell()))?;
        let sizes = Sizes { receiver: self.receiver, sender: self.sender };
        let takes_kept = protocol.keeps_base_ots() && parameters.may_keep_base_ots();
        if self.kept_base_ots && (!takes_kept || self.security == Security::Malicious) {
            let (name, level) = (protocol.name, parameters.level);
            let what = format!("{name} ({}, level {level}) cannot use kept base OTs", self.security);
            return Err(BenchError::Cell(what));
        }
        Ok((
            protocol,
            Shape {
                sizes,
                parameters,
                learns: settings.learns,
                matches: self.common(),
                kept_base_ots: self.kept_base_ots,
            },
        ))
    }

    /// Bytes that both parties send, and a helper, by the registry's formulas.
    pub fn formula_bytes(&self) -> Result<u64, BenchError> {
        let (entry, shape) = self.plan()?;
        Ok(entry.total_bytes(&shape))
    }

    /// Peak memory of both parties together, and of a helper, by the registry's formulas and the items' own.
    pub fn memory_bytes(&self) -> Result<u64, BenchError> {
        let (entry, shape) = self.plan()?;
        let memory = entry.memory_of(&shape);
        let items = 48 * (self.receiver + self.sender) as u64;
        Ok(memory.receiver + memory.sender + entry.helper_memory(&shape) + items)
    }
}

/// What the result of a cell is: [`ResultOptions`] without names of columns.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// `rows`, `count` or `sum`.
    #[serde(default, skip_serializing_if = "is_default", with = "word")]
    pub kind: ResultChoice,
    /// How many sums.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sums: usize,
    /// For a count: whether it is at least this.
    #[serde(default, skip_serializing_if = "is_default")]
    pub at_least: Option<u64>,
    /// Bytes of payload, for rows with one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub payload_bytes: Option<u32>,
    /// The least matching keys that the result is revealed of.
    #[serde(default, skip_serializing_if = "is_default")]
    pub min_matches: Option<u64>,
    /// ε of the noise on a count, in thousandths.
    #[serde(default, skip_serializing_if = "is_default")]
    pub noise_thousandths: Option<u32>,
}

impl Asked {
    fn options(&self) -> ResultOptions {
        ResultOptions {
            result: self.kind,
            value: (1..=self.sums).map(|number| format!("value {number}")).collect(),
            at_least: self.at_least,
            payload: self.payload_bytes.map(|_| "payload".to_owned()).into_iter().collect(),
            payload_bytes: self.payload_bytes,
            min_matches: self.min_matches,
            noise: self.noise_thousandths.and_then(Noise::of_thousandths),
        }
    }
}

impl From<ResultOptions> for Asked {
    fn from(options: ResultOptions) -> Self {
        Asked {
            kind: options.result,
            sums: options.value.len(),
            at_least: options.at_least,
            payload_bytes: (!options.payload.is_empty()).then(|| options.payload_width()),
            min_matches: options.min_matches,
            noise_thousandths: options.noise.map(Noise::thousandths),
        }
    }
}

/// A value that is written as its word on the command line.
mod word {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};
    use vesica::settings::Word;

    pub(super) fn serialize<T: Word, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(value.word())
    }

    pub(super) fn deserialize<'de, T: Word, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        let text = String::deserialize(from)?;
        T::of(&text).map_err(|why| D::Error::custom(format!("{text:?}: {why}")))
    }
}

/// A network as `networks.toml` describes it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Megabits per second in each direction; none: no limit.
    pub megabits_per_s: Option<f64>,
    /// Round trip in milliseconds.
    pub round_trip_ms: f64,
}

impl Link {
    /// Without any limit.
    pub const UNLIMITED: Link = Link { megabits_per_s: None, round_trip_ms: 0.0 };

    /// The network as the channel takes it.
    pub fn network(&self) -> shaped::Network {
        shaped::Network {
            bandwidth_bits_per_s: self.megabits_per_s.map(|megabits| (megabits * 1e6) as u64),
            round_trip: Duration::from_secs_f64(self.round_trip_ms.max(0.0) / 1e3),
        }
    }
}

/// The networks that cells may name.
#[derive(Debug, Clone, Default)]
pub struct Networks(BTreeMap<String, Described>);

/// A network of the file: what it is, and where it comes from.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    megabits_per_s: f64,
    round_trip_ms: f64,
    #[serde(rename = "source")]
    _source: String,
}

/// `benchmarks/networks.toml`, as it was when the program was built: a copy, since a package holds its own files alone.
const BUILT_IN: &str = include_str!("networks.toml");

impl Networks {
    /// Reads `networks.toml`. If there is none, the networks are those that the program was built with, so that a single cell
    /// can be measured in any folder.
    pub fn read(path: &Path) -> Result<Self, BenchError> {
        let text = match std::fs::read_to_string(path) {
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => BUILT_IN.to_owned(),
            text => text.map_err(|cause| BenchError::file(path, cause))?,
        };
        toml::from_str(&text).map(Networks).map_err(|error| BenchError::form(path, error))
    }

    /// The network of that name.
    pub fn find(&self, name: &str) -> Result<Link, BenchError> {
        if name == LOOPBACK {
            return Ok(Link::UNLIMITED);
        }
        let found = self.0.get(name).ok_or_else(|| BenchError::Cell(format!("no network {name:?}")))?;
        Ok(Link { megabits_per_s: Some(found.megabits_per_s), round_trip_ms: found.round_trip_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_knows_what_its_protocol_offers() {
        let cell = Cell::new("dh", 100, 100);
        assert_eq!(cell.formula_bytes().unwrap(), 64 * 100 + 100 * 7);
        assert!(cell.memory_bytes().unwrap() > 9600);
        assert!(Cell { sigma: Some(32), ..cell.clone() }.plan().is_err());
        assert!(Cell { protocol: "none".into(), ..cell.clone() }.plan().is_err());
        assert!(Cell { kept_base_ots: true, ..cell }.plan().is_err());
    }

    #[test]
    fn a_cell_is_written_in_the_words_of_the_command_line() {
        let usual = Cell::new("vole", 1, 2);
        let text = serde_json::to_string(&usual).unwrap();
        assert_eq!(text, r#"{"protocol":"vole","receiver":1,"sender":2}"#);
        let chosen = Cell {
            security: Security::Malicious,
            profile: Profile::Lean,
            learns: Learns::Both,
            kept_base_ots: true,
            ..usual
        };
        let text = serde_json::to_string(&chosen).unwrap();
        assert!(text.contains(r#""security":"malicious","profile":"lean","learns":"both""#), "{text}");
        assert_eq!(serde_json::from_str::<Cell>(&text).unwrap(), chosen);
        for (word, unknown) in [("malicious", "covert"), ("lean", "none"), ("both", "sender")] {
            let error = serde_json::from_str::<Cell>(&text.replace(word, unknown)).unwrap_err();
            assert!(error.to_string().contains(unknown), "{error}");
        }
    }

    #[test]
    fn the_networks_of_the_repository_are_those_of_the_channel() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks/networks.toml");
        let networks = Networks::read(&path).unwrap();
        use vesica::net::shaped::Network;
        let expected = [
            ("lan", Network::GIGABIT_LAN),
            ("lan-100", Network::LAN_100),
            ("802.11g", Network::WIFI_802_11G),
            ("intra-country-25", Network::INTRA_COUNTRY_25),
            ("intra-country-10", Network::INTRA_COUNTRY_10),
            ("hsdpa", Network::HSDPA),
            ("wan-pssz15", Network::WAN_PSSZ15),
            ("wan-rr16", Network::WAN_RR16),
        ];
        for (name, network) in expected {
            assert_eq!(networks.find(name).unwrap().network(), network, "{name}");
        }
        assert_eq!(networks.0.len(), expected.len());
        assert_eq!(networks.find(LOOPBACK).unwrap(), Link::UNLIMITED);
        assert!(networks.find("carrier pigeon").is_err());
    }
}
