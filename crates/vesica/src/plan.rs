//! Which protocol runs: a pure table of agreed values, so that both parties compute the same answer.

use vesica_protocols::Learns;
use vesica_protocols::registry::{self, Entry, PROTOCOLS, Security};

use crate::settings::Choice;

/// Why no protocol can run as asked. The text is for both parties: it holds agreed values only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// No such name in the registry.
    #[error("there is no protocol named \"{0}\"; `vesica protocols` lists them all")]
    Unknown(String),
    /// The protocol is not offered in that security model.
    #[error("protocol {name} is not secure against {security} parties")]
    Security {
        /// Its name.
        name: &'static str,
        /// What was asked for.
        security: Security,
    },
    /// The protocol has no path by which the sender learns the result.
    #[error("protocol {0} has no path by which both sides learn the result")]
    LearnsBoth(&'static str),
    /// Marked insecure or broken, and not both sides allowed that.
    #[error("protocol {name} is marked {standing} and runs only if both sides give --allow-insecure")]
    NotAllowed {
        /// Its name.
        name: &'static str,
        /// Its mark.
        standing: &'static str,
    },
    /// Nothing in this version withstands what was asked for.
    #[error("no protocol of this version is secure against {0} parties")]
    Nothing(Security),
}

/// What both parties agreed on before a protocol is chosen.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// What the run must withstand.
    pub security: Security,
    /// Who learns the result.
    pub learns: Learns,
    /// Whether both sides allow what is marked insecure or broken.
    pub allow_insecure: bool,
}

/// The protocol for `choice`.
pub fn choose(choice: &Choice, wanted: Wanted) -> Result<&'static Entry, PlanError> {
    match choice {
        Choice::Named(name) => {
            let entry = registry::find(name).ok_or_else(|| PlanError::Unknown(name.clone()))?;
            permit(entry, wanted)?;
            Ok(entry)
        }
        Choice::Auto => {
            let fits =
                |entry: &&'static Entry| !entry.needs_allow_insecure() && permit(entry, wanted).is_ok();
            // The registry lists what to prefer first.
            PROTOCOLS.iter().copied().find(fits).ok_or(PlanError::Nothing(wanted.security))
        }
    }
}

fn permit(entry: &'static Entry, wanted: Wanted) -> Result<(), PlanError> {
    let name = entry.name;
    // What is marked insecure withstands nothing; it stands in for the weaker model where that is allowed.
    let stands_in = entry.needs_allow_insecure() && wanted.security == Security::SemiHonest;
    if !stands_in && !entry.security.contains(&wanted.security) {
        Err(PlanError::Security { name, security: wanted.security })
    } else if wanted.learns == Learns::Both && !entry.learns_both {
        Err(PlanError::LearnsBoth(name))
    } else if entry.needs_allow_insecure() && !wanted.allow_insecure {
        Err(PlanError::NotAllowed { name, standing: entry.standing.name() })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Wanted =
        Wanted { security: Security::SemiHonest, learns: Learns::Receiver, allow_insecure: false };

    #[test]
    fn auto_never_takes_what_is_insecure_and_never_lowers_security() {
        for allow_insecure in [false, true] {
            for learns in [Learns::Receiver, Learns::Both] {
                for security in [Security::SemiHonest, Security::Malicious] {
                    if let Ok(entry) = choose(&Choice::Auto, Wanted { security, learns, allow_insecure }) {
                        assert!(!entry.needs_allow_insecure() && entry.security.contains(&security));
                    }
                }
            }
        }
        assert_eq!(choose(&Choice::Auto, WANTED).unwrap().name, "dh");
    }

    #[test]
    fn names_are_held_to_what_they_offer() {
        let choose = |name: &str, wanted| choose(&Choice::Named(name.into()), wanted).map(|entry| entry.name);
        assert_eq!(choose("dh", WANTED), Ok("dh"));
        assert_eq!(choose("dhh", WANTED), Err(PlanError::Unknown("dhh".into())));
        let insecure = PlanError::NotAllowed { name: "naive-hash", standing: "insecure" };
        assert_eq!(choose("naive-hash", WANTED), Err(insecure));
        assert_eq!(choose("naive-hash", Wanted { allow_insecure: true, ..WANTED }), Ok("naive-hash"));
        let malicious = Wanted { security: Security::Malicious, ..WANTED };
        assert_eq!(
            choose("dh", malicious),
            Err(PlanError::Security { name: "dh", security: Security::Malicious })
        );
    }
}
