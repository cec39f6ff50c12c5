//! The security model of a run, and the statistical security parameter of all that is built here.

/// Statistical security parameter λ: a bad event that depends on chance has probability at most 2^-λ (PSSZ15
/// §2.1, "λ = 40").
pub const STATISTICAL_SECURITY: u32 = 40;

/// The largest λ that a run can have: in a part of a run of 2^16 parts, all of which together miss with
/// probability at most 2^-40.
pub const MOST_STATISTICAL_SECURITY: u32 = STATISTICAL_SECURITY + 16;

/// The parties that a protocol withstands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Security {
    /// Parties that follow the protocol and try to learn more from what they see.
    SemiHonest,
    /// Parties that deviate from the protocol in any way.
    Malicious,
}

impl Security {
    /// Both models.
    pub const ALL: [Security; 2] = [Security::SemiHonest, Security::Malicious];

    /// The name on the command line and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Security::SemiHonest => "semi-honest",
            Security::Malicious => "malicious",
        }
    }
}

impl std::fmt::Display for Security {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
