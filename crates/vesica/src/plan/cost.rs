//! What a run would cost: traffic and memory by the registry's formulas, time by the nearest measured cell.

mod budget;

use serde::Serialize;
use vesica_protocols::{Learns, Participant, ResultKind, Role, Sizes};
use vesica_text::{Text, text};

use crate::words::auto::{self, PlanError};
use crate::words::measured;
pub use crate::words::measured::{
    COLUMNS, Cell, Clock, Conditions, Configuration, LevelScale, RECORDS, ScaledBy, Time, sources,
};
use crate::words::memory::Bytes;
use crate::words::memory_use::side::{KeysAt, RunCosts, SideMemory};
use crate::words::parts::{self, Parts, questions};
use crate::words::registry::{self, Entry, Gates, PROTOCOLS, Security, Shape};
use crate::words::settings::{self, Wanted};

use budget::Layout;

/// A number of bytes of each party.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Parties {
    /// The receiver's.
    pub receiver: u64,
    /// The sender's.
    pub sender: u64,
}

/// What a helper's part would cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct HelperCost {
    /// Payload bytes that it sends.
    pub sent: u64,
    /// Bytes that it needs at most.
    pub memory: u64,
}

/// The gates of a circuit; XOR and NOT cost nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct GateCount {
    /// AND gates.
    pub ands: u64,
    /// AND gates one of whose inputs is a private bit of the sender.
    pub private_ands: u64,
    /// The most AND gates on a path, where that is what a run costs.
    pub depth: Option<u32>,
}

impl From<Gates> for GateCount {
    fn from(Gates { ands, private_ands, depth }: Gates) -> Self {
        GateCount { ands, private_ands, depth }
    }
}

/// What a run would cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// Payload bytes that each party sends; where both learn, as many as if all matched.
    pub traffic: Parties,
    /// Bytes that each party needs at most, its items included.
    pub memory: Parties,
    /// Bytes of temporary files, 0 for a party whose keys fit into its budget.
    pub disk: Parties,
    /// What a helper sends and needs, in a protocol that has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helper: Option<HelperCost>,
    /// The gates of the circuit, in a protocol that evaluates one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gates: Option<GateCount>,
    /// In a malicious run: keys of its choice that a receiver can test at most, with 2^64 evaluations of the run's hash.
    pub max_tested_keys: Option<u64>,
    /// Seconds; none for a protocol that was not measured.
    pub time: Option<Time>,
}

/// What a run of this shape would cost; none if the protocol cannot take sets of these sizes.
pub fn estimate(entry: &Entry, shape: &Shape, conditions: &Conditions) -> Option<Estimate> {
    let sizes = shape.sizes;
    let traffic =
        Parties { receiver: entry.bytes(Role::Receiver, shape), sender: entry.bytes(Role::Sender, shape) };
    let empty = sizes.receiver == 0 || sizes.sender == 0;
    if !empty && traffic.receiver + traffic.sender == 0 {
        return None;
    }
    let memory = Parties::of(|role| {
        let (rows, result) = (sizes.of(role) as u64, shape.parameters.result);
        let side = SideMemory { keys: KeysAt::Memory, role, rows, result, budget: None };
        side.needed(&RunCosts::of(entry, shape, (role, sizes), Parts::ONE), 1)
    });
    let time = measured::time(entry, shape, traffic.receiver.max(traffic.sender), conditions);
    let helper = entry.has_helper().then(|| HelperCost {
        sent: entry.bytes(Participant::Helper, shape),
        memory: entry.helper_memory(shape),
    });
    let gates = entry.gates_of(shape).map(GateCount::from);
    let (disk, max_tested_keys) = (Parties { receiver: 0, sender: 0 }, entry.max_tested_keys_of(shape));
    Some(Estimate { traffic, memory, disk, helper, gates, max_tested_keys, time })
}

impl Estimate {
    /// Of a run in so many parts, so many at once by so many threads, of which so many may be played again, where this
    /// estimate is of one part. Memory is left as it is.
    fn in_parts(self, parts: Parts, lanes: u16, threads: usize, repeated: u32) -> Self {
        let count = parts.count() as u64;
        let times =
            |Parties { receiver, sender }| Parties { receiver: count * receiver, sender: count * sender };
        Estimate {
            traffic: times(self.traffic),
            gates: self.gates.map(|gates| GateCount {
                ands: count * gates.ands,
                private_ands: count * gates.private_ands,
                ..gates
            }),
            max_tested_keys: self.max_tested_keys.map(|keys| questions::tested(parts, keys, repeated)),
            time: self.time.map(|time| time.in_parts(parts.count(), lanes, threads)),
            ..self
        }
    }
}

/// A protocol of the registry beside the chosen one.
pub struct Alternative {
    /// The protocol.
    pub protocol: &'static Entry,
    /// What it would cost, or why it cannot be taken.
    pub outcome: Result<Estimate, Unfit>,
}

/// Why a protocol cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unfit {
    /// It does not offer what was asked for.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// It cannot take sets of these sizes.
    #[error("protocol {0} cannot take sets of these sizes")]
    Sizes(&'static str),
    /// What parts do not go together with.
    #[error("a run in several parts gives rows, keeps no base OTs, and has at most 65536 parts")]
    Parts,
    /// A helper's protocol has no parts.
    #[error("protocol {0} has a helper, which takes no part in a run of several parts")]
    HelperInParts(&'static str),
    /// A side has too little memory.
    #[error("{}", self.text())]
    Memory {
        /// Whose.
        role: &'static str,
        /// So much.
        needed: u64,
    },
    /// Base OTs are kept only among parties that follow the protocol.
    #[error("{}", self.text())]
    KeptBaseOts,
}

impl Unfit {
    /// What it says, with the options that it names as data.
    pub fn text(&self) -> Text {
        match self {
            Unfit::Plan(error) => error.text(),
            Unfit::Memory { role, needed } => text!(
                "the run may take {} of memory on the {}'s side, more than `[memory]` allows",
                Bytes(*needed).to_string(),
                *role
            ),
            Unfit::KeptBaseOts => text!(
                "kept base OTs are secure only if both sides follow the protocol (`[security semi-honest]`)"
            ),
            other => Text::words(other),
        }
    }

    /// Whether the protocol could be taken with `--security semi-honest`.
    pub fn is_of_security(&self) -> bool {
        matches!(self, Unfit::Plan(PlanError::Security { name, security: Security::Malicious })
            if registry::find(name).is_some_and(|entry| !entry.needs_allow_insecure()))
    }
}

/// What would run, what it would cost, and every protocol beside it.
pub struct Forecast {
    /// What would run, and why.
    pub choice: auto::Choice,
    /// What it would cost.
    pub estimate: Estimate,
    /// Into how many parts the run is split.
    pub parts: Parts,
    /// How many of them are played at once.
    pub lanes: u16,
    /// All protocols, in the registry's order, the chosen one too.
    pub alternatives: Vec<Alternative>,
}

/// What a run would be for these terms and sizes, before there is a partner or a table.
pub fn forecast(
    asked: &settings::Choice,
    wanted: Wanted<'_>,
    sizes: Sizes,
    conditions: &Conditions,
) -> Result<Forecast, Unfit> {
    let Laid { choice, estimate, parts, lanes } = Laid::out(asked, wanted, sizes, conditions)?;
    let alternative = |&entry: &&'static Entry| {
        let named = settings::Choice::Named(entry.name.to_owned());
        // A variant is one of the chosen protocol.
        let variant = wanted.variant.filter(|_| entry.name == choice.protocol.name);
        let laid = Laid::out(&named, Wanted { variant, ..wanted }, sizes, conditions);
        Alternative { protocol: entry, outcome: laid.map(|laid| laid.estimate) }
    };
    let alternatives = PROTOCOLS.iter().map(alternative).collect();
    Ok(Forecast { choice, estimate, parts, lanes, alternatives })
}

/// A run as its parties lay it out.
struct Laid {
    choice: auto::Choice,
    estimate: Estimate,
    parts: Parts,
    lanes: u16,
}

impl Laid {
    fn out(
        asked: &settings::Choice,
        wanted: Wanted<'_>,
        sizes: Sizes,
        conditions: &Conditions,
    ) -> Result<Self, Unfit> {
        let layout = Layout::of(asked, wanted, sizes, conditions)?;
        let parts = layout.parts;
        if parts != Parts::ONE && (wanted.result != ResultKind::Rows || conditions.kept_base_ots) {
            return Err(Unfit::Parts);
        }
        let played = parts::sizes(parts, sizes);
        let wanted = Wanted { statistical: parts.statistical_security(), ..wanted };
        let choice = auto::choose(asked, wanted, Some(played))?;
        if conditions.kept_base_ots && wanted.security == Security::Malicious {
            return Err(Unfit::KeptBaseOts);
        }
        let auto::Choice { protocol, parameters, .. } = choice;
        if parts != Parts::ONE && protocol.has_helper() {
            return Err(Unfit::HelperInParts(protocol.name));
        }
        let matches = match wanted.learns {
            Learns::Receiver => 0,
            Learns::Both => sizes.receiver.min(sizes.sender),
        };
        let kept_base_ots =
            conditions.kept_base_ots && protocol.keeps_base_ots() && parameters.may_keep_base_ots();
        let shape = Shape { sizes: played, parameters, learns: wanted.learns, matches, kept_base_ots };
        let costs = |role| RunCosts::of(protocol, &shape, (role, sizes), parts);
        let lanes = layout.lanes(&costs, conditions.threads);
        // The threads are shared out among the parts that are played at once.
        let each = match parts {
            Parts::ONE => *conditions,
            _ => Conditions { threads: conditions.threads.div_ceil(lanes.into()), ..*conditions },
        };
        let estimate = estimate(protocol, &shape, &each).ok_or(Unfit::Sizes(protocol.name))?;
        let estimate = match parts {
            Parts::ONE => estimate,
            parts => estimate.in_parts(parts, lanes, conditions.threads, layout.allowance(lanes)),
        };
        Ok(Laid { choice, estimate: layout.within(estimate, &costs, lanes)?, parts, lanes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::settings::{Choice, Settings};

    const SIZES: Sizes = Sizes { receiver: 1 << 16, sender: 1 << 16 };

    #[test]
    fn kept_base_ots_save_time_and_traffic_of_the_protocols_that_take_them() {
        let settings = Settings { security: Security::SemiHonest, ..Settings::default() };
        let few = Sizes { receiver: 1 << 8, sender: 1 << 8 };
        let with = |kept_base_ots| {
            let conditions = Conditions { kept_base_ots, ..Conditions::ALONE };
            forecast(&Choice::Auto, settings.wanted(), few, &conditions).unwrap().alternatives
        };
        for (fresh, kept) in with(false).iter().zip(&with(true)) {
            let (Ok(fresh_cost), Ok(cost)) = (&fresh.outcome, &kept.outcome) else { continue };
            let name = kept.protocol.name;
            if kept.protocol.keeps_base_ots() {
                assert!(cost.traffic.sender < fresh_cost.traffic.sender, "{name}");
                // A circuit was measured with fresh base OTs only.
                let (kept, fresh) = (cost.time.unwrap(), fresh_cost.time.unwrap());
                let share = if cost.gates.is_some() { 1.0 } else { 0.5 };
                assert!(kept.total_s <= share * fresh.total_s, "{name}");
            } else {
                assert_eq!(cost, fresh_cost, "{name}");
            }
        }
        let malicious = Settings::default();
        let conditions = Conditions { kept_base_ots: true, ..Conditions::ALONE };
        let refused = forecast(&Choice::Auto, malicious.wanted(), few, &conditions);
        assert_eq!(refused.err(), Some(Unfit::KeptBaseOts));
    }

    #[test]
    fn a_forecast_holds_what_auto_takes_and_every_protocol() {
        let settings = Settings { security: Security::SemiHonest, ..Settings::default() };
        let look = forecast(&Choice::Auto, settings.wanted(), SIZES, &Conditions::ALONE).unwrap();
        let chosen = auto::choose(&Choice::Auto, settings.wanted(), Some(SIZES)).unwrap();
        assert_eq!(look.choice.protocol.name, chosen.protocol.name);
        assert_eq!(look.alternatives.len(), PROTOCOLS.len());
        for alternative in &look.alternatives {
            let name = alternative.protocol.name;
            match &alternative.outcome {
                Ok(estimate) => {
                    assert!(estimate.time.unwrap().total_s > 0.0, "{name}");
                    assert!(estimate.memory.receiver > 48 << 16, "{name}");
                    if name == chosen.protocol.name {
                        assert_eq!(*estimate, look.estimate);
                    }
                }
                Err(unfit) => {
                    let malicious_only = !alternative.protocol.security.contains(&Security::SemiHonest);
                    let native_only = !alternative.protocol.supports.digests;
                    let cannot = alternative.protocol.needs_allow_insecure() || malicious_only || native_only;
                    assert!(cannot, "{name}: {unfit}");
                }
            }
        }
        let variant = Settings { variant: Some("none".into()), ..settings };
        let named = Choice::Named("gbf".into());
        assert!(forecast(&named, variant.wanted(), SIZES, &Conditions::ALONE).is_err());
    }
}
