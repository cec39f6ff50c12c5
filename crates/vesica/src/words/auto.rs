//! Which protocol runs: a pure table of agreed values, so that both parties compute the same answer.

use std::ops::RangeFrom;

use vesica_protocols::{KeyAgreement, Learns, Parameters, ResultKind, ResultName, Sizes, Unsupported};
use vesica_text::{Text, text};

use crate::words::registry::{self, Entry, Security};
use crate::words::settings::{self, Wanted};

/// Why no protocol can run as asked. The text is for both parties: it holds agreed values only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// No such name in the registry.
    #[error("{}", registry::absent(.0))]
    Unknown(String),
    /// The protocol is not offered in that security model.
    #[error("{}", self.text())]
    Security {
        /// Its name.
        name: &'static str,
        /// What was asked for.
        security: Security,
    },
    /// The protocol cannot show the sender the result.
    #[error("protocol {0} cannot show the result to both sides")]
    LearnsBoth(&'static str),
    /// Marked insecure or broken, and not both sides allowed that.
    #[error("{}", self.text())]
    NotAllowed {
        /// Its name.
        name: &'static str,
        /// Its mark.
        standing: &'static str,
    },
    /// The protocol cannot be run with one of the parameters.
    #[error("{}", self.text())]
    Unsupported {
        /// Its name.
        name: &'static str,
        /// What it does not offer.
        what: Unsupported,
    },
    /// The paper's own parameters, and not both sides allowed them.
    #[error("{}", self.text())]
    PaperNotAllowed,
    /// A variant without a protocol.
    #[error("{}", self.text())]
    VariantOfAuto,
    /// An audit without a protocol: `auto` chooses none that has it.
    #[error("{}", self.text())]
    AuditOfAuto,
    /// The result is offered only between parties that follow the protocol.
    #[error("the result {0} is offered only between parties that follow the protocol")]
    ResultSecurity(ResultName),
    /// No protocol of this version offers what was asked for.
    #[error("{}", self.text())]
    Nothing(Security),
}

impl PlanError {
    /// What it says, with the options that it names as data.
    pub fn text(&self) -> Text {
        match self {
            PlanError::Security { name, security: Security::SemiHonest } => {
                text!("protocol {} runs only where the partner may cheat, with `[security malicious]`", *name)
            }
            PlanError::Security { name, security: Security::Malicious } => {
                text!("protocol {} is not secure against malicious parties", *name)
            }
            PlanError::NotAllowed { name, standing } => text!(
                "protocol {} is marked {} and runs only {if both sides give} `[allow-insecure]`",
                *name,
                *standing
            ),
            PlanError::Unsupported { name, what } => {
                text!("protocol {} does not offer {}", *name, what.text())
            }
            PlanError::PaperNotAllowed => text!(
                "the parameters of `[paper-parameters]` are for comparison with the papers and miss today's bounds; they run \
                 only {if both sides give} `[allow-insecure]`"
            ),
            PlanError::VariantOfAuto => text!("`[variant]` needs a protocol, and none was named"),
            PlanError::AuditOfAuto => {
                text!("`[audit-max]` needs a protocol that offers it, and none was named")
            }
            PlanError::Nothing(security) => text!(
                "`[protocol auto]` takes no protocol against {} parties with all the options that were given",
                security.to_string()
            ),
            other => Text::words(other),
        }
    }
}

/// The protocols that can refuse to reveal an intersection that is too large.
pub(crate) fn audited() -> String {
    let audited = registry::PROTOCOLS.iter().filter(|entry| entry.supports.audit);
    audited.map(|entry| format!("`{}`", entry.name)).collect::<Vec<_>>().join(", ")
}

/// The protocols that give that result.
pub(crate) fn giving(result: ResultName) -> String {
    let giving = registry::PROTOCOLS.iter().filter(|entry| entry.supports.results.contains(&result));
    giving.map(|entry| format!("`{}`", entry.name)).collect::<Vec<_>>().join(", ")
}

/// A protocol and the parameters it runs with.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// The protocol.
    pub protocol: &'static Entry,
    /// Its parameters.
    pub parameters: Parameters,
    /// Why this one, where `auto` chose it; "named" otherwise.
    pub reason: &'static str,
}

/// A line of the table by which `auto` chooses.
struct Rule {
    protocol: &'static str,
    /// Sizes of the larger set that it is meant for.
    larger: RangeFrom<usize>,
    reason: &'static str,
}

/// From this size of the larger set on, `auto` takes `vole` in place of `dh`. The size lies between the cross-overs of fast
/// and of slow networks, as `docs/auto.md` measures them.
const VOLE_FROM: usize = 1 << 13;

/// `auto` takes the first line that is meant for the sizes and whose protocol offers what was asked for.
const AUTO: &[Rule] = &[
    Rule { protocol: "vole", larger: VOLE_FROM.., reason: "the fastest protocol from 8,192 keys on" },
    Rule { protocol: "dh", larger: 0.., reason: "the cheapest protocol below 8,192 keys" },
    Rule { protocol: "vole", larger: 0.., reason: ONLY_ONE },
    Rule { protocol: "circuit-vole", larger: 0.., reason: OF_RESULT },
];

/// The table in words. Where a side says `auto` it is one of the terms, since two programs with different tables would wait
/// for each other's protocols.
pub(crate) fn auto_table() -> String {
    let line = |rule: &Rule| format!("{} from {}", rule.protocol, rule.larger.start);
    AUTO.iter().map(line).collect::<Vec<_>>().join(", ")
}

/// The reason where `dh` would be cheaper: security is never lowered for speed.
const ONLY_ONE: &str = "the fastest protocol that holds if a side cheats";

/// The reason where base OTs are made from ML-KEM, which no protocol without base OTs has.
const OF_BASE_OTS: &str = "what auto takes with base OTs from ML-KEM";

/// The reason where the result is not rows.
const OF_RESULT: &str = "the protocol that gives this result";

/// The protocol that was named, or that `auto` takes. Before the sizes are known, the answer only tells that there is one.
pub fn choose(
    asked: &settings::Choice,
    wanted: Wanted<'_>,
    sizes: Option<Sizes>,
) -> Result<Choice, PlanError> {
    match asked {
        settings::Choice::Named(name) => {
            permit(registry::find(name).ok_or_else(|| PlanError::Unknown(name.clone()))?, wanted)
        }
        settings::Choice::Auto if wanted.variant.is_some() => Err(PlanError::VariantOfAuto),
        settings::Choice::Auto if wanted.audit_max.is_some() => Err(PlanError::AuditOfAuto),
        settings::Choice::Auto => {
            let larger = sizes.map(|sizes| sizes.receiver.max(sizes.sender));
            let meant = |rule: &&Rule| larger.is_none_or(|larger| rule.larger.contains(&larger));
            let fits = |rule: &Rule| {
                let entry = registry::find(rule.protocol).filter(|entry| !entry.needs_allow_insecure())?;
                let reason = match (wanted.result, wanted.base_ots) {
                    (ResultKind::Rows, KeyAgreement::DiffieHellman) => rule.reason,
                    (ResultKind::Rows, KeyAgreement::MlKem) => OF_BASE_OTS,
                    _ => OF_RESULT,
                };
                Some(Choice { reason, ..permit(entry, wanted).ok()? })
            };
            AUTO.iter().filter(meant).find_map(fits).ok_or_else(|| nothing(wanted))
        }
    }
}

/// Why `auto` takes nothing.
fn nothing(wanted: Wanted<'_>) -> PlanError {
    let usual = Wanted { base_ots: KeyAgreement::default(), ..wanted };
    let only_base_ots = |rule: &Rule| {
        let entry = registry::find(rule.protocol).filter(|entry| entry.supports.base_ots)?;
        permit(entry, usual).ok()?;
        permit(entry, wanted).err()
    };
    if let Some(error) = AUTO.iter().find_map(only_base_ots) {
        return error;
    }
    let semi_honest = Wanted { security: Security::SemiHonest, ..wanted };
    let fits =
        |rule: &Rule| registry::find(rule.protocol).is_some_and(|entry| permit(entry, semi_honest).is_ok());
    if wanted.result != ResultKind::Rows && wanted.security == Security::Malicious && AUTO.iter().any(fits) {
        PlanError::ResultSecurity(wanted.result.name())
    } else {
        PlanError::Nothing(wanted.security)
    }
}

fn permit(protocol: &'static Entry, wanted: Wanted<'_>) -> Result<Choice, PlanError> {
    let name = protocol.name;
    let needs_allow_insecure = protocol.needs_allow_insecure();
    // A protocol that is marked insecure counts as semi-honest where it is allowed.
    let stands_in = needs_allow_insecure && wanted.security == Security::SemiHonest;
    if !stands_in && !protocol.security.contains(&wanted.security) {
        return Err(PlanError::Security { name, security: wanted.security });
    }
    if wanted.learns == Learns::Both && !protocol.learns_both {
        return Err(PlanError::LearnsBoth(name));
    }
    if needs_allow_insecure && !wanted.allow_insecure {
        return Err(PlanError::NotAllowed { name, standing: protocol.status.name() });
    }
    let unsupported = |what| PlanError::Unsupported { name, what };
    let variant = match wanted.variant {
        None => None,
        Some(name) => Some(protocol.supports.variant(name).ok_or(unsupported(Unsupported::Variant))?),
    };
    let parameters = Parameters {
        security: wanted.security,
        level: wanted.level,
        statistical: wanted.statistical,
        sigma: wanted.sigma,
        variant,
        profile: wanted.profile,
        base_ots: wanted.base_ots,
        paper: wanted.paper_parameters,
        audit_max: wanted.audit_max,
        result: wanted.result,
        min_matches: wanted.min_matches,
        noise: wanted.noise,
    };
    if wanted.learns == Learns::Both && !protocol.learns_both_with(&parameters) {
        return Err(PlanError::LearnsBoth(name));
    }
    if let Some(what) = protocol.supports.unsupported(&parameters) {
        return Err(unsupported(what));
    }
    if parameters.paper && !wanted.allow_insecure {
        return Err(PlanError::PaperNotAllowed);
    }
    Ok(Choice { protocol, parameters, reason: "named" })
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::words::registry::PROTOCOLS;

    use crate::words::settings::{Choice, Settings};

    /// The defaults, but for the security.
    fn wanted() -> Wanted<'static> {
        Wanted { security: Security::SemiHonest, variant: None, ..Settings::default().wanted() }
    }

    fn sizes(larger: usize) -> Option<Sizes> {
        Some(Sizes { receiver: larger, sender: 1 })
    }

    #[test]
    fn the_table_is_told_line_by_line() {
        assert_eq!(
            auto_table(),
            format!("vole from {VOLE_FROM}, dh from 0, vole from 0, circuit-vole from 0")
        );
    }

    #[test]
    fn auto_goes_by_the_larger_set() {
        let chosen = |receiver, sender| {
            let sizes = Some(Sizes { receiver, sender });
            choose(&Choice::Auto, wanted(), sizes).unwrap().protocol.name
        };
        for (receiver, sender) in [(0, 0), (1, 1), (VOLE_FROM - 1, 5), (5, VOLE_FROM - 1)] {
            assert_eq!(chosen(receiver, sender), "dh");
        }
        for (receiver, sender) in [(0, VOLE_FROM), (VOLE_FROM, 1), (1 << 20, 1 << 20), (1, 1 << 24)] {
            assert_eq!(chosen(receiver, sender), "vole");
        }
        assert!(AUTO.iter().all(|rule| registry::find(rule.protocol).is_some()));
    }

    #[test]
    fn the_default_withstands_malicious_parties_at_every_size() {
        let settings = Settings::default();
        for learns in [Learns::Receiver, Learns::Both] {
            for sizes in [None, sizes(0), sizes(1), sizes(VOLE_FROM - 1), sizes(VOLE_FROM), sizes(1 << 24)] {
                let wanted = Wanted { learns, ..settings.wanted() };
                let chosen = choose(&settings.protocol, wanted, sizes).unwrap();
                assert_eq!(chosen.parameters.security, Security::Malicious);
                assert!(chosen.protocol.security.contains(&Security::Malicious));
                let small = sizes.is_some_and(|sizes| sizes.receiver < VOLE_FROM);
                assert_eq!(chosen.reason == ONLY_ONE, small);
            }
        }
    }

    #[test]
    fn auto_never_takes_what_is_insecure_and_never_lowers_security() {
        for allow_insecure in [false, true] {
            for learns in [Learns::Receiver, Learns::Both] {
                for security in [Security::SemiHonest, Security::Malicious] {
                    for sizes in [None, sizes(1), sizes(1 << 20)] {
                        let wanted = Wanted { security, learns, allow_insecure, ..wanted() };
                        if let Ok(chosen) = choose(&Choice::Auto, wanted, sizes) {
                            let entry = chosen.protocol;
                            assert!(!entry.needs_allow_insecure() && entry.security.contains(&security));
                        }
                    }
                }
            }
        }
        assert_eq!(choose(&Choice::Auto, wanted(), None).unwrap().protocol.name, AUTO[0].protocol);
    }

    #[test]
    fn names_are_held_to_what_they_offer() {
        let choose = |name: &str, wanted| {
            choose(&Choice::Named(name.into()), wanted, None).map(|chosen| chosen.protocol.name)
        };
        assert_eq!(choose("dh", wanted()), Ok("dh"));
        assert_eq!(choose("dhh", wanted()), Err(PlanError::Unknown("dhh".into())));
        let insecure = PlanError::NotAllowed { name: "naive-hash", standing: "insecure" };
        assert_eq!(choose("naive-hash", wanted()), Err(insecure));
        assert_eq!(choose("naive-hash", Wanted { allow_insecure: true, ..wanted() }), Ok("naive-hash"));
        let malicious = Wanted { security: Security::Malicious, ..wanted() };
        assert_eq!(
            choose("dh", malicious),
            Err(PlanError::Security { name: "dh", security: Security::Malicious })
        );
    }

    #[test]
    fn parameters_are_held_to_what_the_protocol_offers() {
        let choose = |choice: &Choice, wanted| choose(choice, wanted, None).map(|chosen| chosen.parameters);
        let dh = Choice::Named("dh".into());
        let unsupported = |what| Err(PlanError::Unsupported { name: "dh", what });
        assert_eq!(choose(&dh, wanted()), Ok(Parameters::default()));
        assert_eq!(choose(&dh, Wanted { variant: Some("x"), ..wanted() }), unsupported(Unsupported::Variant));
        assert_eq!(choose(&dh, Wanted { sigma: Some(32), ..wanted() }), unsupported(Unsupported::Native));
        assert_eq!(
            choose(&Choice::Auto, Wanted { variant: Some("x"), ..wanted() }),
            Err(PlanError::VariantOfAuto)
        );
        for name in ["bwa", "pwc"] {
            let (named, sigma) = (Choice::Named(name.into()), Some(16));
            let alone = Wanted { variant: Some("malicious-ot"), sigma, ..wanted() };
            assert!(choose(&named, alone).is_ok());
            let both = Wanted { learns: Learns::Both, ..alone };
            assert_eq!(choose(&named, both), Err(PlanError::LearnsBoth(name)));
            assert!(choose(&named, Wanted { variant: None, ..both }).is_ok());
        }
        for entry in PROTOCOLS.iter().filter(|entry| entry.supports.paper) {
            let named = Choice::Named(entry.name.into());
            let paper = Wanted { paper_parameters: true, ..wanted() };
            assert_eq!(choose(&named, paper), Err(PlanError::PaperNotAllowed));
            assert!(choose(&named, Wanted { allow_insecure: true, ..paper }).unwrap().paper);
        }
    }
}
