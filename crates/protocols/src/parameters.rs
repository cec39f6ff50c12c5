//! What both parties agree on beside the sizes: security model, level, item width, variant and profile.

pub use vesica_crypto::security::MOST_STATISTICAL_SECURITY;
use vesica_encode::items::{Encoding, Width};
pub use vesica_ot::base::KeyAgreement;
use vesica_ot::base::cache::{self, LEAST_LEVEL};
pub use vesica_ot::security::{Profile, STATISTICAL_SECURITY, Security};
use vesica_text::{Text, text};

use crate::results::{Noise, ResultKind, ResultName};

/// The computational security level κ where nothing else is asked for.
pub const DEFAULT_LEVEL: u32 = 128;

/// What the items of a run at level κ are: native integers of σ bits, or digests. Digests have 256 bits above
/// level 128, and in malicious runs, where a party must not find two keys with one digest.
pub fn encoding_for(security: Security, level: u32, sigma: Option<u32>) -> Encoding {
    match (sigma, security) {
        (Some(sigma), _) => Encoding::Native { sigma },
        (None, Security::SemiHonest) if level <= DEFAULT_LEVEL => Encoding::Digest(Width::Digest128),
        (None, _) => Encoding::Digest(Width::Digest256),
    }
}

/// The parameters of a run. All are terms: both parties have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Parameters {
    /// What the run must withstand.
    pub security: Security,
    /// κ: computational security in bits.
    pub level: u32,
    /// λ: what depends on chance goes wrong with probability 2^-λ at most. It is [`STATISTICAL_SECURITY`], and more
    /// in a part of a run, so that all parts together go wrong that rarely. At most [`MOST_STATISTICAL_SECURITY`].
    pub statistical: u32,
    /// σ: items are integers below 2^σ, used as they are; none for digests.
    pub sigma: Option<u32>,
    /// One of the variants that the entry [supports](Supported::variant); none for the protocol's standard
    /// form.
    pub variant: Option<&'static Variant>,
    /// What the parameters rest on.
    pub profile: Profile,
    /// What base OTs are made from, where the run makes any.
    pub base_ots: KeyAgreement,
    /// The paper's own parameters, for comparison with its tables; they may miss the bounds this library
    /// keeps.
    pub paper: bool,
    /// The audit: the run reveals no intersection larger than this. None: of any size.
    pub audit_max: Option<u64>,
    /// What the run gives.
    pub result: ResultKind,
    /// With a count or sums: below so many matches the run reveals that there are fewer, and nothing else. 0:
    /// no minimum.
    pub min_matches: u64,
    /// With a count or a threshold: noise.
    pub noise: Option<Noise>,
}

impl Default for Parameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Parameters {
    /// What is agreed where nothing else is asked for.
    pub const DEFAULT: Self = Self {
        security: Security::SemiHonest,
        level: DEFAULT_LEVEL,
        statistical: STATISTICAL_SECURITY,
        sigma: None,
        variant: None,
        profile: Profile::Conservative,
        base_ots: KeyAgreement::DiffieHellman,
        paper: false,
        audit_max: None,
        result: ResultKind::Rows,
        min_matches: 0,
        noise: None,
    };

    /// What the items of the run are.
    pub fn encoding(&self) -> Encoding {
        encoding_for(self.security, self.level, self.sigma)
    }

    /// The name of the variant; empty for the standard form.
    pub fn variant_name(&self) -> &'static str {
        self.variant.map_or("", |variant| variant.name)
    }

    /// Whether base OTs of a run may be kept for later ones.
    pub fn may_keep_base_ots(&self) -> bool {
        cache::may_be_cached(self.base_ots, self.level)
    }

    /// A warning for plans and reports: what a run with these parameters assumes beyond its security model.
    /// Most have none.
    pub fn caveat(&self) -> Option<&'static str> {
        (self.profile == Profile::Lean).then_some(
            "lean: 128 bits only if light words of the code are hard to find; they exist, and no bound is proven",
        )
    }

    /// The text that the protocol context absorbs; different parameters have different texts.
    pub fn text(&self) -> String {
        let Parameters { security, level, sigma, profile, paper, .. } = self;
        let variant = self.variant_name();
        let sigma = sigma.map_or("none".to_owned(), |sigma| sigma.to_string());
        let profile = profile.name();
        let audit = self.audit_max.map_or(String::new(), |most| format!(" audit-max={most}"));
        let result = self.result.text() + &self.limits_text();
        let statistical = match self.statistical {
            STATISTICAL_SECURITY => String::new(),
            longer => format!(" statistical={longer}"),
        };
        let base_ots = match self.base_ots {
            KeyAgreement::DiffieHellman => String::new(),
            other => format!(" base-ots={}", other.name()),
        };
        format!(
            "security={security} level={level} sigma={sigma} variant={variant} profile={profile} paper={paper}{base_ots}{statistical}{audit}{result}"
        )
    }

    /// The minimum and the noise, where there are such.
    fn limits_text(&self) -> String {
        let least = match self.min_matches {
            0 => String::new(),
            least => format!(" min-matches={least}"),
        };
        let noise = self.noise.map_or(String::new(), |noise| format!(" noise={}", noise.thousandths()));
        least + &noise
    }
}

/// Another form of a protocol, which reproduces a table of its paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Variant {
    /// The name on the command line.
    pub name: &'static str,
    /// How it differs from the standard form.
    pub what: &'static str,
}

/// Declares the forms of a protocol: an enum that its code matches on, and the table of [`Variant`]s that its
/// entry shows. The first form is the standard one and has no name.
#[macro_export]
macro_rules! variants {
    ($(#[$about:meta])* $vis:vis enum $Forms:ident {
        $(#[$standard:meta])* $Standard:ident,
        $($(#[$doc:meta])* $Form:ident = $name:literal, $what:expr;)+
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis enum $Forms {
            $(#[$standard])* $Standard,
            $($(#[$doc])* $Form,)+
        }

        impl $Forms {
            $vis const VARIANTS: &'static [$crate::parameters::Variant] = &[$($crate::parameters::Variant { name: $name, what: $what }),+];

            /// What a run with this form has in its parameters.
            #[cfg(test)]
            #[allow(dead_code, reason = "not every protocol's tests ask for it")]
            $vis fn variant(self) -> Option<&'static $crate::parameters::Variant> {
                (self as usize).checked_sub(1).map(|at| &Self::VARIANTS[at])
            }

            /// The form of a run.
            $vis fn of(parameters: &$crate::parameters::Parameters) -> Self {
                match parameters.variant {
                    $(Some($crate::parameters::Variant { name: $name, .. }) => Self::$Form,)+
                    _ => Self::$Standard,
                }
            }
        }
    };
}
pub(crate) use variants;

/// The parameters that a protocol can be run with, beside the security models its entry names.
#[derive(Debug, Clone, Copy)]
pub struct Supported {
    /// The levels κ.
    pub levels: &'static [u32],
    /// The widths σ of native items; none if it takes digests only.
    pub sigma: Option<(u32, u32)>,
    /// Whether it takes digests.
    pub digests: bool,
    /// Forms beside the standard one.
    pub variants: &'static [Variant],
    /// Those of them in which the receiver alone learns the result, at the default level and without an audit.
    pub receiver_only: &'static [Variant],
    /// The profiles.
    pub profiles: &'static [Profile],
    /// Whether it makes base OTs, which may be from ML-KEM up to level 128.
    pub base_ots: bool,
    /// Whether it has the paper's own parameters as a switch.
    pub paper: bool,
    /// Whether it can refuse to reveal an intersection that is too large.
    pub audit: bool,
    /// The results it gives.
    pub results: &'static [ResultName],
}

impl Supported {
    /// One level, digests, one form, one profile: to be extended by `..Supported::STANDARD`.
    pub const STANDARD: Supported = Supported {
        levels: &[DEFAULT_LEVEL],
        sigma: None,
        digests: true,
        variants: &[],
        receiver_only: &[],
        profiles: &[Profile::Conservative],
        base_ots: false,
        paper: false,
        audit: false,
        results: &[ResultName::Rows],
    };

    /// The variant of that name.
    pub fn variant(&self, name: &str) -> Option<&'static Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// The first of `parameters` that the protocol does not support.
    pub fn unsupported(&self, parameters: &Parameters) -> Option<Unsupported> {
        let Parameters { level, sigma, variant, profile, base_ots, paper, .. } = *parameters;
        if !self.levels.contains(&level) {
            return Some(Unsupported::Level { level, offered: self.levels });
        }
        match (sigma, self.sigma) {
            (Some(_), None) => return Some(Unsupported::Native),
            (Some(sigma), Some((least, most))) if !(least..=most).contains(&sigma) => {
                return Some(Unsupported::Sigma { sigma, least, most });
            }
            (None, Some((least, most))) if !self.digests => {
                return Some(Unsupported::Digests { least, most });
            }
            _ => {}
        }
        if variant.is_some_and(|variant| !self.variants.contains(variant)) {
            return Some(Unsupported::Variant);
        }
        if self.is_receiver_only(parameters) {
            if level != DEFAULT_LEVEL {
                return Some(Unsupported::Level { level, offered: &[DEFAULT_LEVEL] });
            }
            if parameters.audit_max.is_some() {
                return Some(Unsupported::Audit);
            }
        }
        if !self.profiles.contains(&profile) {
            return Some(Unsupported::Profile(profile.name()));
        }
        if base_ots == KeyAgreement::MlKem && !(self.base_ots && level <= LEAST_LEVEL) {
            return Some(Unsupported::BaseOts { makes: self.base_ots });
        }
        if paper && !self.paper {
            return Some(Unsupported::Paper);
        }
        if let Some(unsupported) = unsupported_statistical(parameters) {
            return Some(unsupported);
        }
        if parameters.audit_max.is_some() && !self.audit {
            return Some(Unsupported::Audit);
        }
        self.unsupported_result(parameters)
    }

    /// Whether the receiver alone learns the result, whatever is asked for.
    pub fn is_receiver_only(&self, parameters: &Parameters) -> bool {
        parameters.variant.is_some_and(|variant| self.receiver_only.contains(variant))
    }

    /// What of the result that is asked for the protocol does not support.
    pub(crate) fn unsupported_result(&self, parameters: &Parameters) -> Option<Unsupported> {
        let result = parameters.result;
        let name = result.name();
        if !self.results.contains(&name) {
            return Some(Unsupported::Result { result: name, offered: self.results });
        }
        if !result.fits() {
            return Some(Unsupported::SizeOfResult);
        }
        let together = |limit| Some(Unsupported::Together { limit, result: name });
        if parameters.audit_max.is_some() && result != ResultKind::Rows {
            return together("a limit on the size of the intersection ([audit-max])");
        }
        if parameters.min_matches > 0 && !result.takes_minimum() {
            return together("a minimum of matches ([min-matches])");
        }
        if parameters.noise.is_some() && !result.takes_noise() {
            return together("noise ([noise])");
        }
        None
    }

    /// The usual parameters, with native items of 12 bits where it takes no digests.
    pub fn usual(&self) -> Parameters {
        const SIGMA: u32 = 12;
        let sigma = self.sigma.filter(|_| !self.digests).map(|(least, most)| SIGMA.clamp(least, most));
        Parameters { sigma, ..Parameters::default() }
    }
}

/// A λ that nothing is made for: the parameters of papers and native items are not for parts of a run.
fn unsupported_statistical(parameters: &Parameters) -> Option<Unsupported> {
    let Parameters { statistical, sigma, paper, .. } = *parameters;
    let in_a_part = statistical > STATISTICAL_SECURITY;
    if !(STATISTICAL_SECURITY..=MOST_STATISTICAL_SECURITY).contains(&statistical) {
        return Some(Unsupported::Statistical { statistical });
    }
    if in_a_part && paper {
        return Some(Unsupported::InParts("the parameters of the paper"));
    }
    (in_a_part && sigma.is_some()).then_some(Unsupported::InParts("native items ([sigma])"))
}

/// A parameter that a protocol cannot be run with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// No such level.
    #[error("level {level} (it has {offered:?})")]
    Level {
        /// What was asked for.
        level: u32,
        /// What there is.
        offered: &'static [u32],
    },
    /// It takes digests only.
    #[error("{}", self.text())]
    Native,
    /// It takes native items only.
    #[error("{}", self.text())]
    Digests {
        /// The narrowest.
        least: u32,
        /// The widest.
        most: u32,
    },
    /// Native items of another width.
    #[error("native items of {sigma} bits (it has {least} to {most})")]
    Sigma {
        /// What was asked for.
        sigma: u32,
        /// The narrowest.
        least: u32,
        /// The widest.
        most: u32,
    },
    /// No such form.
    #[error("a variant of that name")]
    Variant,
    /// No such profile.
    #[error("profile {0}")]
    Profile(&'static str),
    /// No base OTs from ML-KEM: none at that level, or none at all.
    #[error("{}", self.text())]
    BaseOts {
        /// Whether it makes base OTs.
        makes: bool,
    },
    /// No parameters of the paper's own.
    #[error("parameters of the paper's own")]
    Paper,
    /// A statistical security parameter that nothing is made for.
    #[error(
        "a statistical security of {statistical} bits (it is {STATISTICAL_SECURITY} to {MOST_STATISTICAL_SECURITY})"
    )]
    Statistical {
        /// What was asked for.
        statistical: u32,
    },
    /// It is not for runs in parts.
    #[error("{}", self.text())]
    InParts(&'static str),
    /// It reveals an intersection of any size.
    #[error("{}", self.text())]
    Audit,
    /// It gives other results.
    #[error("the result {result} (it has {})", names(offered))]
    Result {
        /// What was asked for.
        result: ResultName,
        /// What there is.
        offered: &'static [ResultName],
    },
    /// A payload block of no bytes or too many, or no sums or too many.
    #[error("payloads or sums of that size")]
    SizeOfResult,
    /// A limit that goes with other results.
    #[error("{}", self.text())]
    Together {
        /// What limits the result.
        limit: &'static str,
        /// The result.
        result: ResultName,
    },
}

impl Unsupported {
    /// What it says, with its options as data. What is not for parts and what limits a result are templates.
    pub fn text(&self) -> Text {
        match *self {
            Unsupported::Native => text!("native items ([sigma])"),
            Unsupported::Digests { least, most } => {
                text!("keys of any kind: it takes native items of {} to {} bits ([sigma])", least, most)
            }
            Unsupported::BaseOts { makes: true } => {
                text!("base OTs from ML-KEM ([base-ots]) above level {}", LEAST_LEVEL)
            }
            Unsupported::BaseOts { makes: false } => {
                text!("base OTs from ML-KEM ([base-ots]): it makes no base OTs")
            }
            Unsupported::InParts(what) => text!("{} in a run of several parts", what),
            Unsupported::Audit => {
                text!("a limit on the size of the intersection that is revealed ([audit-max])")
            }
            Unsupported::Together { limit, result } => {
                text!("{} together with the result {}", limit, result.name())
            }
            other => Text::words(other),
        }
    }
}

fn names(results: &[ResultName]) -> String {
    results.iter().map(|result| result.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFERS: Supported = Supported {
        levels: &[80, 128],
        sigma: Some((8, 64)),
        variants: &[Variant { name: "original", what: "as first published" }],
        paper: true,
        ..Supported::STANDARD
    };

    const ORIGINAL: &Variant = &OFFERS.variants[0];
    const OTHER: Variant = Variant { name: "other", what: "" };

    #[test]
    fn what_is_offered_is_taken_and_nothing_else() {
        let base = Parameters::default();
        assert_eq!(Supported::STANDARD.unsupported(&base), None);
        let all = Parameters { level: 80, sigma: Some(32), variant: Some(ORIGINAL), paper: true, ..base };
        assert_eq!(OFFERS.unsupported(&all), None);
        let refused = [
            (Parameters { level: 192, ..base }, Unsupported::Level { level: 192, offered: &[80, 128] }),
            (Parameters { sigma: Some(65), ..base }, Unsupported::Sigma { sigma: 65, least: 8, most: 64 }),
            (Parameters { variant: Some(&OTHER), ..base }, Unsupported::Variant),
            (Parameters { profile: Profile::Fast, ..base }, Unsupported::Profile("fast")),
            (Parameters { statistical: 39, ..base }, Unsupported::Statistical { statistical: 39 }),
            (Parameters { statistical: 57, ..base }, Unsupported::Statistical { statistical: 57 }),
            (
                Parameters { statistical: 41, paper: true, ..base },
                Unsupported::InParts("the parameters of the paper"),
            ),
            (
                Parameters { statistical: 41, sigma: Some(32), ..base },
                Unsupported::InParts("native items ([sigma])"),
            ),
        ];
        for (parameters, why) in refused {
            assert_eq!(OFFERS.unsupported(&parameters), Some(why));
        }
        assert_eq!(
            Supported::STANDARD.unsupported(&Parameters { sigma: Some(32), ..base }),
            Some(Unsupported::Native)
        );
        assert_eq!(
            Supported::STANDARD.unsupported(&Parameters { paper: true, ..base }),
            Some(Unsupported::Paper)
        );
        assert_eq!(
            Supported::STANDARD.unsupported(&Parameters { audit_max: Some(9), ..base }),
            Some(Unsupported::Audit)
        );
        let native = Supported { digests: false, audit: true, ..OFFERS };
        assert_eq!(native.unsupported(&base), Some(Unsupported::Digests { least: 8, most: 64 }));
        assert_eq!(native.unsupported(&Parameters { audit_max: Some(9), ..native.usual() }), None);
        assert_eq!(Supported::STANDARD.usual(), base);
    }

    #[test]
    fn items_are_as_wide_as_the_level_asks() {
        let base = Parameters::default();
        for (level, security, width) in [
            (80, Security::SemiHonest, Width::Digest128),
            (128, Security::SemiHonest, Width::Digest128),
            (128, Security::Malicious, Width::Digest256),
            (192, Security::SemiHonest, Width::Digest256),
            (256, Security::SemiHonest, Width::Digest256),
        ] {
            let encoding = Parameters { level, security, ..base }.encoding();
            assert_eq!(encoding, Encoding::Digest(width), "{security} at {level}");
        }
    }

    #[test]
    fn different_parameters_have_different_texts() {
        let base = Parameters::default();
        let others = [
            base,
            Parameters { security: Security::Malicious, ..base },
            Parameters { level: 80, ..base },
            Parameters { statistical: 41, ..base },
            Parameters { sigma: Some(32), ..base },
            Parameters { variant: Some(ORIGINAL), ..base },
            Parameters { profile: Profile::Lean, ..base },
            Parameters { paper: true, ..base },
            Parameters { audit_max: Some(0), ..base },
            Parameters { audit_max: Some(1), ..base },
        ];
        let texts: std::collections::HashSet<_> = others.iter().map(Parameters::text).collect();
        assert_eq!(texts.len(), others.len());
    }
}
