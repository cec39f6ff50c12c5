//! What a run would cost: traffic and memory by the registry's formulas, time by coefficients fitted to records.
//!
//! ```text
//! C = Σ c_i · term_i(n_r, n_s, bytes) · (1 − p + p / threads)     what both parties compute, c_i ≥ 0
//! L = flights · round trip / 2                  fewer where a protocol does with less for few items
//! W = (bytes of the busier direction + q · bytes of the other one) / bandwidth
//! time = C + L + W − θ · min(C, W)                                 θ: how much of it goes on at once
//! ```
//!
//! `vesica bench fit` makes the coefficients of [`FITTED`] from a record, by least squares on relative errors; a test of
//! `vesica-bench` makes them again and holds them against that record. In it both parties share one machine, so that a
//! pair of machines is rather faster, more so with several threads. TLS costs next to nothing beside what a run
//! computes; a real network's slow start and losses are not in the model.

mod fitted;

use serde::Serialize;
use std::time::Duration;
use vesica_ot::base::kept;
use vesica_protocols::registry::{Entry, PROTOCOLS, Security, Shape};
use vesica_protocols::{Learns, Parameters, Profile, Role, Sizes};

use crate::plan::{self, PlanError, Wanted};
use crate::settings;

pub use fitted::{FITTED, SOURCE};

/// Bytes that reading a table and keeping its items take at most, a row.
pub const TABLE_BYTES_PER_ROW: u64 = 48;

/// Sets from this size on take the paths for many items.
pub const FEW: usize = 1 << 12;

/// How many terms computing time is a sum of.
pub const TERMS: usize = 7;

/// The terms that computing time is a sum of, as a reader writes them.
pub const TERM_NAMES: [&str; TERMS] =
    ["1", "n_r", "n_s", "max(n_r, n_s)", "n_r·log2 n_r", "n_s·log2 n_s", "bytes"];

/// The values of the terms, in the order of [`TERM_NAMES`].
pub fn terms(sizes: Sizes, bytes: u64) -> [f64; TERMS] {
    let (receiver, sender) = (sizes.receiver as f64, sizes.sender as f64);
    let with_log = |n: f64| n * n.max(1.0).log2();
    [1.0, receiver, sender, receiver.max(sender), with_log(receiver), with_log(sender), bytes as f64]
}

/// What has coefficients of its own: a protocol in one of its forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Form {
    /// Its name in the registry.
    pub protocol: &'static str,
    /// The security model.
    pub security: Security,
    /// The profile.
    pub profile: Profile,
    /// The variant, empty for the standard form.
    pub variant: &'static str,
    /// σ, where items are native.
    pub sigma: Option<u32>,
    /// κ.
    pub level: u32,
    /// The paper's own parameters.
    pub paper: bool,
    /// The base OTs are those of an earlier run.
    pub kept_base_ots: bool,
}

impl Form {
    /// The form that a protocol has in a run of this shape.
    pub fn of(entry: &Entry, shape: &Shape) -> Self {
        let Parameters { security, level, sigma, variant, profile, paper } = shape.parameters;
        let kept_base_ots = shape.kept_base_ots;
        Form { protocol: entry.name, security, profile, variant, sigma, level, paper, kept_base_ots }
    }

    /// How much `other` tells of this form: nothing of another protocol, most of the same form.
    fn likeness(&self, other: &Form) -> Option<u32> {
        let alike = [
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
}

/// The coefficients of one form.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fitted {
    /// The form.
    pub form: Form,
    /// c: seconds for one of each term, on one thread.
    pub compute: [f64; TERMS],
    /// p: the share of it that more threads divide between them; below zero where they only stood in each other's way.
    pub parallel: f64,
    /// Flights: halves of round trips that a run waits, with sets below [`FEW`] and with larger ones.
    pub flights: [f64; 2],
    /// θ: which share of the shorter of computing and sending goes on during the other.
    pub overlap: f64,
    /// q: which share of the less busy direction's bytes is sent while the other direction is silent.
    pub one_way: f64,
    /// The largest set in the record.
    pub largest: usize,
    /// The greatest deviation from the record, as a share.
    pub deviation: f64,
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
}

impl Conditions {
    /// One thread a party, a network without a limit, and nothing kept.
    pub const ALONE: Conditions =
        Conditions { threads: 1, bits_per_s: None, round_trip: Duration::ZERO, kept_base_ots: false };
}

/// The same of both parties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Parties {
    /// The receiver's.
    pub receiver: u64,
    /// The sender's.
    pub sender: u64,
}

/// Seconds that a run takes, and what they are made of.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Time {
    /// From items in memory to matches.
    pub total_s: f64,
    /// C: what computing alone would take.
    pub compute_s: f64,
    /// L: what waiting for the other end takes.
    pub latency_s: f64,
    /// W: what sending alone would take.
    pub transfer_s: f64,
    /// Whether the record holds this form; otherwise one that is like it was taken.
    pub measured: bool,
    /// Whether the sizes are within those of the record.
    pub within: bool,
}

/// What a run would cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// Payload bytes that each party sends; where both learn, as many as if all matched.
    pub traffic: Parties,
    /// Bytes that each party needs at most, its items included.
    pub memory: Parties,
    /// In a malicious run: keys of its choice that a receiver can test at most, with 2^64 evaluations of the run's hash.
    pub max_tested_keys: Option<u64>,
    /// Seconds; none for a protocol without a record.
    pub time: Option<Time>,
}

impl Fitted {
    /// The coefficients for a form, or for the one in the record that is most like it; and whether it is that form.
    pub fn find(form: &Form) -> Option<(&'static Fitted, bool)> {
        let likest = FITTED.iter().filter_map(|fitted| Some((form.likeness(&fitted.form)?, fitted)));
        likest.max_by_key(|&(likeness, _)| likeness).map(|(_, fitted)| (fitted, fitted.form == *form))
    }

    /// C on one thread.
    pub fn compute_s(&self, sizes: Sizes, traffic: Parties) -> f64 {
        let terms = terms(sizes, traffic.receiver + traffic.sender);
        self.compute.iter().zip(terms).map(|(coefficient, term)| coefficient * term).sum()
    }

    /// The time of a run that sends these bytes.
    pub fn time(&self, sizes: Sizes, traffic: Parties, conditions: &Conditions) -> Time {
        let divided = 1.0 - self.parallel + self.parallel / conditions.threads.max(1) as f64;
        let compute_s = self.compute_s(sizes, traffic) * divided;
        let larger = sizes.receiver.max(sizes.sender);
        let latency_s = self.flights[usize::from(larger >= FEW)] * conditions.round_trip.as_secs_f64() / 2.0;
        let (busy, other) = (traffic.receiver.max(traffic.sender), traffic.receiver.min(traffic.sender));
        let bits = 8.0 * (busy as f64 + self.one_way * other as f64);
        let transfer_s = conditions.bits_per_s.map_or(0.0, |bits_per_s| bits / bits_per_s);
        let total_s = compute_s + latency_s + transfer_s - self.overlap * compute_s.min(transfer_s);
        Time { total_s, compute_s, latency_s, transfer_s, measured: true, within: larger <= self.largest }
    }
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
    let memory = (entry.memory_bytes)(shape);
    let memory = Parties {
        receiver: memory.receiver + TABLE_BYTES_PER_ROW * shape.receiver(),
        sender: memory.sender + TABLE_BYTES_PER_ROW * shape.sender(),
    };
    let time = Fitted::find(&Form::of(entry, shape))
        .map(|(fitted, measured)| Time { measured, ..fitted.time(sizes, traffic, conditions) });
    Some(Estimate { traffic, memory, max_tested_keys: entry.max_tested_keys(shape), time })
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
pub enum Unfit {
    /// It does not offer what was asked for.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// It cannot take sets of these sizes.
    #[error("protocol {0} cannot take sets of these sizes")]
    Sizes(&'static str),
    /// Base OTs are kept only among parties that follow the protocol.
    #[error("base OTs may be used again only where both sides follow the protocol: --security semi-honest")]
    KeptBaseOts,
}

/// What would run, what it would cost, and every protocol beside it.
pub struct Outlook {
    /// What would run, and why.
    pub choice: plan::Choice,
    /// What it would cost.
    pub estimate: Estimate,
    /// All protocols, in the registry's order, the chosen one too.
    pub alternatives: Vec<Alternative>,
}

/// What a run would be for these terms and sizes, before there is a partner or a table.
pub fn outlook(
    asked: &settings::Choice,
    wanted: Wanted<'_>,
    sizes: Sizes,
    conditions: &Conditions,
) -> Result<Outlook, Unfit> {
    let matches = match wanted.learns {
        Learns::Receiver => 0,
        Learns::Both => sizes.receiver.min(sizes.sender),
    };
    let cost = |choice: &plan::Choice| {
        let shape = Shape {
            sizes,
            parameters: choice.parameters,
            learns: wanted.learns,
            matches,
            kept_base_ots: conditions.kept_base_ots
                && choice.protocol.base_ots.is_some()
                && kept::may_be_kept(choice.parameters.level),
        };
        estimate(choice.protocol, &shape, conditions).ok_or(Unfit::Sizes(choice.protocol.name))
    };
    let choice = plan::choose(asked, wanted, Some(sizes))?;
    if conditions.kept_base_ots && wanted.security == Security::Malicious {
        return Err(Unfit::KeptBaseOts);
    }
    let alternative = |&entry: &&'static Entry| {
        let named = settings::Choice::Named(entry.name.to_owned());
        // A variant is one of the chosen protocol.
        let variant = wanted.variant.filter(|_| entry.name == choice.protocol.name);
        let planned = plan::choose(&named, Wanted { variant, ..wanted }, Some(sizes));
        let outcome = planned.map_err(Unfit::from).and_then(|planned| cost(&planned));
        Alternative { protocol: entry, outcome }
    };
    let alternatives = PROTOCOLS.iter().map(alternative).collect();
    Ok(Outlook { choice, estimate: cost(&choice)?, alternatives })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Choice, Settings};

    const SIZES: Sizes = Sizes { receiver: 1 << 16, sender: 1 << 16 };

    fn fitted() -> Fitted {
        let form = Form {
            protocol: "dh",
            security: Security::SemiHonest,
            profile: Profile::Conservative,
            variant: "",
            sigma: None,
            level: 128,
            paper: false,
            kept_base_ots: false,
        };
        Fitted {
            form,
            compute: [0.5, 1e-6, 0.0, 0.0, 0.0, 0.0, 0.0],
            parallel: 0.5,
            flights: [3.0; 2],
            overlap: 1.0,
            one_way: 0.0,
            largest: 1 << 16,
            deviation: 0.0,
        }
    }

    #[test]
    fn time_is_what_the_formula_says() {
        let sizes = Sizes { receiver: 500_000, sender: 10 };
        let traffic = Parties { receiver: 1_000_000, sender: 250_000 };
        let alone = fitted().time(sizes, traffic, &Conditions::ALONE);
        assert_eq!((alone.total_s, alone.latency_s, alone.transfer_s), (1.0, 0.0, 0.0));
        assert!(!alone.within);
        let network = Conditions {
            threads: 2,
            bits_per_s: Some(4e6),
            round_trip: Duration::from_millis(100),
            kept_base_ots: false,
        };
        let there = fitted().time(sizes, traffic, &network);
        assert_eq!((there.compute_s, there.transfer_s), (0.75, 2.0));
        assert!((there.latency_s - 0.15).abs() < 1e-12 && (there.total_s - 2.15).abs() < 1e-12);
        let both_ways = Fitted { one_way: 1.0, overlap: 0.0, ..fitted() }.time(sizes, traffic, &network);
        assert!((both_ways.total_s - 3.4).abs() < 1e-12);
    }

    #[test]
    fn the_likest_form_stands_in_for_one_that_was_not_measured() {
        let (same, other) = (fitted().form, Form { protocol: "vole", ..fitted().form });
        assert_eq!(same.likeness(&other), None);
        let malicious = Form { security: Security::Malicious, ..same };
        let fast = Form { profile: Profile::Fast, ..same };
        assert!(same.likeness(&same) > same.likeness(&fast));
        assert!(same.likeness(&fast) > same.likeness(&malicious));
        // What a run with kept base OTs takes tells nothing of one that makes them, and the other way round.
        let kept = Form { kept_base_ots: true, ..same };
        assert!(same.likeness(&fast) > same.likeness(&kept));
        assert!(kept.likeness(&Form { sigma: Some(32), ..kept }) > kept.likeness(&same));
    }

    #[test]
    fn coefficients_are_of_protocols_and_none_is_negative() {
        let (fitted, measured) = Fitted::find(&Form { protocol: "vole", ..fitted().form }).unwrap();
        assert!(measured && fitted.largest >= 1 << 16);
        for fitted in FITTED {
            assert!(vesica_protocols::registry::find(fitted.form.protocol).is_some(), "{:?}", fitted.form);
            assert!(fitted.compute.iter().all(|&c| c >= 0.0) && fitted.flights.iter().all(|&f| f >= 0.0));
            for share in [fitted.parallel.abs(), fitted.overlap, fitted.one_way] {
                assert!((0.0..=1.0).contains(&share), "{:?}", fitted.form);
            }
        }
    }

    #[test]
    fn kept_base_ots_save_time_and_traffic_of_the_protocols_that_take_them() {
        let settings = Settings { security: Security::SemiHonest, ..Settings::default() };
        let few = Sizes { receiver: 1 << 8, sender: 1 << 8 };
        let with = |kept_base_ots| {
            let conditions = Conditions { kept_base_ots, ..Conditions::ALONE };
            outlook(&Choice::Auto, settings.wanted(), few, &conditions).unwrap().alternatives
        };
        for (fresh, kept) in with(false).iter().zip(&with(true)) {
            let (Ok(fresh_cost), Ok(cost)) = (&fresh.outcome, &kept.outcome) else { continue };
            let name = kept.protocol.name;
            let seconds = |estimate: &Estimate| estimate.time.unwrap().total_s;
            if kept.protocol.base_ots.is_some() {
                assert!(cost.traffic.sender < fresh_cost.traffic.sender, "{name}");
                assert!(seconds(cost) < seconds(fresh_cost) / 2.0, "{name}");
            } else {
                assert_eq!(cost, fresh_cost, "{name}");
            }
        }
        let malicious = Settings::default();
        let conditions = Conditions { kept_base_ots: true, ..Conditions::ALONE };
        let refused = outlook(&Choice::Auto, malicious.wanted(), few, &conditions);
        assert_eq!(refused.err(), Some(Unfit::KeptBaseOts));
    }

    #[test]
    fn an_outlook_holds_what_auto_takes_and_every_protocol() {
        let settings = Settings { security: Security::SemiHonest, ..Settings::default() };
        let look = outlook(&Choice::Auto, settings.wanted(), SIZES, &Conditions::ALONE).unwrap();
        let chosen = plan::choose(&Choice::Auto, settings.wanted(), Some(SIZES)).unwrap();
        assert_eq!(look.choice.protocol.name, chosen.protocol.name);
        assert_eq!(look.alternatives.len(), PROTOCOLS.len());
        for alternative in &look.alternatives {
            let name = alternative.protocol.name;
            match &alternative.outcome {
                Ok(estimate) => {
                    assert!(estimate.time.is_none_or(|time| time.total_s > 0.0), "{name}");
                    assert!(estimate.memory.receiver > 48 << 16, "{name}");
                    if name == chosen.protocol.name {
                        assert_eq!(*estimate, look.estimate);
                    }
                }
                Err(unfit) => assert!(alternative.protocol.needs_allow_insecure(), "{name}: {unfit}"),
            }
        }
        let variant = Settings { variant: Some("none".into()), ..settings };
        let named = Choice::Named("gbf".into());
        assert!(outlook(&named, variant.wanted(), SIZES, &Conditions::ALONE).is_err());
    }
}
