//! The security of an OT as a type. A protocol that needs malicious security asks for `S = Malicious`, and
//! does not compile with anything less.
//!
//! [`Security`] names the same two models as values, for what is decided at run time (terms, formulas of
//! bytes). A [`Profile`] names the arguments on which the parameters of a run rest.

pub use vesica_crypto::security::{STATISTICAL_SECURITY, Security};

use crate::base::{KeyAgreement, Origin};

mod sealed {
    pub trait Sealed {}
}

/// A security model as a type parameter: [`SemiHonest`] or [`Malicious`], and no other.
pub trait SecurityModel: sealed::Sealed + Send + Sync + 'static {
    /// This model as a value.
    const SECURITY: Security;

    /// Where base OTs may come from. Against malicious parties it names no cache of those of earlier runs: a failed
    /// check reveals something of Δ, and with one Δ in many runs that would add up.
    type BaseOts<'a>: Into<Origin<'a>> + Default;
}

/// The other party follows the protocol and tries to learn more from what it sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SemiHonest {}

/// The other party may deviate from the protocol in any way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malicious {}

impl sealed::Sealed for SemiHonest {}
impl sealed::Sealed for Malicious {}

impl SecurityModel for SemiHonest {
    const SECURITY: Security = Security::SemiHonest;

    type BaseOts<'a> = Origin<'a>;
}

impl SecurityModel for Malicious {
    const SECURITY: Security = Security::Malicious;

    type BaseOts<'a> = KeyAgreement;
}

/// The arguments on which the parameters of a run rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Profile {
    /// Published constructions, and bounds that are proven or computed. (docs/security-of-the-default.md
    /// names the parts that are this project's own.)
    #[default]
    Conservative,
    /// Steps that rest on an argument of this project's own.
    Fast,
    /// Noise weights that suffice if the light words of the codes, which exist, are hard to find.
    Lean,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Profile; 3] = [Profile::Conservative, Profile::Fast, Profile::Lean];

    /// The name on the command line and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Profile::Conservative => "conservative",
            Profile::Fast => "fast",
            Profile::Lean => "lean",
        }
    }
}
