//! The settings of a run, with the defaults of the command line.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde::Serialize;
use vesica_encode::items::{Encoding, OnDuplicates};
use vesica_protocols::registry::Security;
use vesica_protocols::{
    DEFAULT_LEVEL, KeyAgreement, Learns, Noise, Profile, ResultKind, Role, STATISTICAL_SECURITY, encoding_for,
};
use vesica_table::OnFault;

pub use crate::words::device::DeviceChoice;
use crate::words::memory::Budget;
use crate::words::results::ResultOptions;
pub use crate::words::word::Word;

/// `--protocol NAME|auto`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Choice {
    /// The table of agreed values picks.
    #[default]
    Auto,
    /// By its name in the registry.
    Named(String),
}

impl Choice {
    /// The choice as a user writes it: `auto`, or a protocol's name.
    pub fn of(text: &str) -> Self {
        match text {
            "auto" => Choice::Auto,
            name => Choice::Named(name.to_owned()),
        }
    }
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Choice::Auto => f.write_str("auto"),
            Choice::Named(name) => f.write_str(name),
        }
    }
}

/// `--pad-to pow2|N`: hide the exact size of my set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum PadTo {
    /// Up to the next power of two.
    PowerOfTwo,
    /// Up to this many items; a larger set is an error.
    Exactly(usize),
}

impl PadTo {
    /// The size the partner sees for a set of `items`; none if the set does not fit.
    pub fn size(self, items: usize) -> Option<usize> {
        match self {
            PadTo::PowerOfTwo => items.checked_next_power_of_two(),
            PadTo::Exactly(size) => (size >= items).then_some(size),
        }
    }
}

/// The most that a partner accepts by default.
const MOST_PADDED: usize = 1 << 30;

impl FromStr for PadTo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "pow2" => Ok(PadTo::PowerOfTwo),
            number => match count(number).map(usize::try_from) {
                Ok(Ok(size @ 0..=MOST_PADDED)) => Ok(PadTo::Exactly(size)),
                _ => Err("write pow2, or a number of keys such as 50000 or 2^16, up to 2^30".into()),
            },
        }
    }
}

/// A number of rows or keys as a user writes it: `1000`, `50,000`, `5e6`, `1M`, or a power of two as `2^20`.
pub fn count(text: &str) -> Result<u64, String> {
    let number = match text.strip_prefix("2^") {
        Some(exponent) => exponent.parse().ok().and_then(|exponent| 1u64.checked_shl(exponent)),
        None => decimal(text),
    };
    number.ok_or_else(|| "write a number such as 50000, 50,000, 5e6, 1M or 2^20".to_owned())
}

/// `50000`, `50,000`, `5e6`, `2.5M`: a whole number.
fn decimal(text: &str) -> Option<u64> {
    let (number, power) = match text.find(['e', 'E', 'k', 'K', 'M', 'G']) {
        Some(at) => (
            &text[..at],
            match &text[at..] {
                "k" | "K" => 3,
                "M" => 6,
                "G" => 9,
                exponent => exponent[1..].parse::<u8>().ok()?.into(),
            },
        ),
        None => (text, 0u32),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut groups = whole.split([',', '_']);
    let first = groups.next()?;
    let grouped = groups.clone().next().is_none()
        || (1..=3).contains(&first.len()) && groups.all(|group| group.len() == 3);
    let digits = whole.replace([',', '_'], "") + fraction;
    let power = power.checked_sub(u32::try_from(fraction.len()).ok()?)?;
    if !grouped || first.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(10u64.checked_pow(power)?)
}

/// An amount of memory as a user writes it: `4G`, `512M`, or bytes without a unit, of which a megabyte is the
/// least: a smaller number has lost its unit. Units are powers of 1024.
pub fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let power = match unit.to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 1,
        "M" | "MB" | "MIB" => 2,
        "G" | "GB" | "GIB" => 3,
        "T" | "TB" | "TIB" => 4,
        _ => return Err("write a number and K, M, G or T, such as 512M or 4G".into()),
    };
    let number = u64::from_str(number).ok().and_then(|number| number.checked_mul(1 << (10 * power)));
    match number {
        Some(bytes @ 1..0x10_0000) if unit.is_empty() => Err(format!(
            "without a unit that is {bytes} bytes: write K, M, G or T behind the number, such as 4G"
        )),
        Some(0) | None => Err("write a number and K, M, G or T, such as 512M or 4G".into()),
        Some(bytes) => Ok(bytes),
    }
}

/// A memory budget as a user writes it: an amount, or `auto`, half of the free memory.
pub fn memory(text: &str) -> Result<Budget, String> {
    match text {
        "auto" => Budget::automatic().ok_or_else(|| "this system does not tell its free memory".to_owned()),
        text => size(text).map(Budget::named),
    }
}

/// A time as a user writes it: `90s`, `5m`, `2h`, or seconds without a unit.
pub fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let seconds = match unit {
        "" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        _ => return Err("write a number and s, m or h, such as 90s or 5m".into()),
    };
    let number =
        u64::from_str(number).map_err(|_| "write a number and s, m or h, such as 90s or 5m".to_owned())?;
    match number.checked_mul(seconds) {
        Some(seconds @ 1..=604_800) => Ok(Duration::from_secs(seconds)),
        _ => Err("at least a second, at most a week".into()),
    }
}

/// What this side accepts: sizes of the partner's set, counted after padding, and parts of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// `--min-peer-rows`.
    pub min_peer_rows: u64,
    /// `--max-peer-rows`.
    pub max_peer_rows: u64,
    /// `--max-parts`; none: what the sizes and this side's own parts suggest.
    pub max_parts: Option<u32>,
}

impl Limits {
    /// Whether this side accepts a run in several parts at all.
    pub(crate) fn takes_parts(&self) -> bool {
        self.max_parts != Some(1)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits { min_peer_rows: 0, max_peer_rows: 1 << 30, max_parts: None }
    }
}

/// What this side allows over all runs in its ledger that are with one partner about nearly the same set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunBudgets {
    /// `--max-counts`; none: [`USUAL_COUNTS`](crate::ledger::USUAL_COUNTS).
    pub max_counts: Option<u64>,
    /// `--max-questions`.
    pub max_questions: Option<u64>,
    /// `--max-epsilon`.
    pub max_epsilon: Option<Noise>,
}

impl RunBudgets {
    /// The option of a budget that is given, if there is one.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let counts = self.max_counts.map(|_| "max-counts");
        counts.or(self.max_questions.map(|_| "max-questions")).or(self.max_epsilon.map(|_| "max-epsilon"))
    }
}

/// Everything that is not a path, a key or an address.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Agreed: which protocol.
    pub protocol: Choice,
    /// Agreed: against which parties it must be secure.
    pub security: Security,
    /// Agreed: its computational security in bits.
    pub level: u32,
    /// Agreed: keys are integers below 2^σ, used as they are; none: digests.
    pub sigma: Option<u32>,
    /// Agreed: a variant of the named protocol.
    pub variant: Option<String>,
    /// Agreed: what the protocol's parameters rest on.
    pub profile: Profile,
    /// Agreed: what base OTs are made from.
    pub base_ots: KeyAgreement,
    /// Agreed: the paper's own parameters.
    pub paper_parameters: bool,
    /// Agreed: the most items of an intersection that the run reveals; none: any number.
    pub audit_max: Option<u64>,
    /// Agreed: what the result is, and what limits it.
    pub result: ResultOptions,
    /// Agreed: who learns the result.
    pub learns: Learns,
    /// Agreed: matching rows get a number that is the same on both sides for the same key; for [`Learns::Both`].
    pub match_id: bool,
    /// Bound: what is accepted from the partner.
    pub limits: Limits,
    /// Local: what the runs of a ledger may add up to.
    pub budgets: RunBudgets,
    /// Bound: into how many parts the run is split at least; the larger of both sides' numbers is taken.
    pub parts: u32,
    /// Local: threads to keep busy; 0 means all cores.
    pub threads: usize,
    /// Local: a card that this side computes on beside its cores.
    pub device: DeviceChoice,
    /// Local: memory that this process may use; none: [90 %](crate::memory::USUAL_SHARE) of the available memory.
    pub memory: Option<Budget>,
    /// Local: where temporary files lie; none: in `TMPDIR`, otherwise in `/var/tmp`.
    pub temp_dir: Option<PathBuf>,
    /// Local: how long silence may last, and how long to wait for the partner.
    pub timeout: Duration,
    /// Local: how long the whole run may take, if there is a limit.
    pub deadline: Option<Duration>,
    /// Local: rows with the same key.
    pub on_duplicates: OnDuplicates,
    /// Local: rows without a key.
    pub on_null: OnFault,
    /// Local: rows whose key breaks its rule.
    pub on_invalid: OnFault,
    /// Local: dummy items that hide the size.
    pub pad_to: Option<PadTo>,
    /// Bound: whether a protocol that the registry marks insecure or broken may run.
    pub allow_insecure: bool,
    /// Local: whether the report holds the digest of the input, which takes a pass over a file.
    pub digest_input: bool,
    /// Local: whether the report holds the receipt that both sides sign ([`crate::receipt`]), which needs keys on both sides.
    pub receipt: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            protocol: Choice::Auto,
            security: Security::Malicious,
            level: DEFAULT_LEVEL,
            sigma: None,
            variant: None,
            profile: Profile::Conservative,
            base_ots: KeyAgreement::DiffieHellman,
            paper_parameters: false,
            audit_max: None,
            result: ResultOptions::default(),
            learns: Learns::Receiver,
            match_id: false,
            limits: Limits::default(),
            budgets: RunBudgets::default(),
            parts: 1,
            threads: 0,
            device: DeviceChoice::Auto,
            memory: None,
            temp_dir: None,
            timeout: Duration::from_secs(300),
            deadline: None,
            on_duplicates: OnDuplicates::All,
            on_null: OnFault::Skip,
            on_invalid: OnFault::Error,
            pad_to: None,
            allow_insecure: false,
            digest_input: false,
            receipt: false,
        }
    }
}

/// What both parties agreed on before the protocol is chosen.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Against which parties the run must be secure.
    pub security: Security,
    /// Computational security in bits.
    pub level: u32,
    /// λ: statistical security in bits, longer in a part of a run.
    pub statistical: u32,
    /// Width of native items.
    pub sigma: Option<u32>,
    /// A variant of the protocol.
    pub variant: Option<&'a str>,
    /// What the parameters rest on.
    pub profile: Profile,
    /// What base OTs are made from.
    pub base_ots: KeyAgreement,
    /// Whether the paper's own parameters are wanted.
    pub paper_parameters: bool,
    /// The most items of an intersection that the run reveals.
    pub audit_max: Option<u64>,
    /// What the result is.
    pub result: ResultKind,
    /// The least matching keys that it is revealed of; 0: any number.
    pub min_matches: u64,
    /// Noise on a count.
    pub noise: Option<Noise>,
    /// Who learns the result.
    pub learns: Learns,
    /// Whether both sides allow what is marked insecure or broken.
    pub allow_insecure: bool,
    /// Into how many parts this side wants the run to be split, at least.
    pub parts: u32,
}

impl Settings {
    /// What the protocol must offer.
    pub fn wanted(&self) -> Wanted<'_> {
        Wanted {
            security: self.security,
            level: self.level,
            statistical: STATISTICAL_SECURITY,
            sigma: self.sigma,
            variant: self.variant.as_deref(),
            profile: self.profile,
            base_ots: self.base_ots,
            paper_parameters: self.paper_parameters,
            audit_max: self.audit_max,
            result: self.result.kind(),
            min_matches: self.result.min_matches.unwrap_or(0),
            noise: self.result.noise,
            learns: self.learns,
            allow_insecure: self.allow_insecure,
            parts: self.parts,
        }
    }

    /// What the items are.
    pub fn encoding(&self) -> Encoding {
        encoding_for(self.security, self.level, self.sigma)
    }

    /// Threads to keep busy, at least 1.
    pub fn threads(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads.min(MOST_THREADS),
        }
    }
}

/// Most threads of a party.
const MOST_THREADS: usize = 1024;

impl Settings {
    /// Whether a party in this role learns the result.
    pub fn learns_result(&self, role: Role) -> bool {
        role == Role::Receiver
            || self.learns == Learns::Both
            || matches!(self.result.kind(), ResultKind::AtLeast(_))
    }
}

impl Word for Security {
    const WORDS: &'static [(&'static str, Self)] =
        &[("malicious", Security::Malicious), ("semi-honest", Security::SemiHonest)];
}

impl Word for Profile {
    const WORDS: &'static [(&'static str, Self)] =
        &[("conservative", Profile::Conservative), ("fast", Profile::Fast), ("lean", Profile::Lean)];
}

impl Word for KeyAgreement {
    const WORDS: &'static [(&'static str, Self)] =
        &[("diffie-hellman", KeyAgreement::DiffieHellman), ("ml-kem", KeyAgreement::MlKem)];
}

impl Word for Learns {
    const WORDS: &'static [(&'static str, Self)] = &[("receiver", Learns::Receiver), ("both", Learns::Both)];
}

impl Word for OnDuplicates {
    const WORDS: &'static [(&'static str, Self)] =
        &[("all", OnDuplicates::All), ("first", OnDuplicates::First), ("error", OnDuplicates::Error)];
}

impl Word for OnFault {
    const WORDS: &'static [(&'static str, Self)] = &[("skip", OnFault::Skip), ("error", OnFault::Error)];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_names_of_their_values() {
        assert!(Security::WORDS.iter().all(|(word, value)| *word == value.name() && value.word() == *word));
        assert!(
            Profile::WORDS
                .iter()
                .all(|(word, value)| *word == value.name() && Profile::of(word) == Ok(*value))
        );
        assert!(KeyAgreement::ALL.iter().all(|agreement| agreement.word() == agreement.name()));
        assert_eq!((Security::WORDS.len(), Profile::WORDS.len()), (Security::ALL.len(), Profile::ALL.len()));
        assert_eq!(Learns::of("sender"), Err("write receiver or both".into()));
    }

    #[test]
    fn times_are_read_and_bounded() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        assert_eq!(duration("2h"), Ok(Duration::from_secs(7200)));
        assert_eq!(duration("7"), Ok(Duration::from_secs(7)));
        for bad in ["", "m", "0", "-1s", "1d", "1.5s", "99999999999999999999", "9999999h"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_read() {
        assert_eq!(
            ["4G", "512M", "1k", "2TiB", "77B", "1048576"].map(size),
            [4 << 30, 512 << 20, 1 << 10, 2 << 40, 77, 1 << 20].map(Ok)
        );
        // A forgotten unit.
        assert!(size("5").is_err_and(|said| said.contains("5 bytes")));
        assert!(["", "0", "G", "-1G", "1.5G", "4X", "99999999999G"].iter().all(|bad| size(bad).is_err()));
    }

    #[test]
    fn counts_are_read() {
        assert_eq!(["2^20", "1000", "2^0", "2^63"].map(count), [1 << 20, 1000, 1, 1 << 63].map(Ok));
        for (text, number) in
            [("5e6", 5_000_000), ("1M", 1_000_000), ("50,000", 50_000), ("1_000_000", 1_000_000)]
        {
            assert_eq!(count(text), Ok(number), "{text}");
        }
        for (text, number) in [("2.5M", 2_500_000), ("10k", 10_000), ("2G", 2_000_000_000), ("1.5e3", 1500)] {
            assert_eq!(count(text), Ok(number), "{text}");
        }
        for bad in [
            "2^64", "2^999", "2^", "^2", "", "-1", "1.5", "1e", "e3", "1e99", "1e-3", "50,00", ",000",
            "1,0000", "M", "1MM", "1.5e0", "١",
        ] {
            assert!(count(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn paddings_are_read() {
        assert_eq!("pow2".parse(), Ok(PadTo::PowerOfTwo));
        assert_eq!("1000".parse(), Ok(PadTo::Exactly(1000)));
        assert_eq!("2^20".parse(), Ok(PadTo::Exactly(1 << 20)));
        assert!(["two", "-1", "4000000000", "2^31", "2^"].iter().all(|bad| bad.parse::<PadTo>().is_err()));
    }

    #[test]
    fn padding_goes_up_and_never_down() {
        assert_eq!(PadTo::PowerOfTwo.size(0), Some(1));
        assert_eq!(PadTo::PowerOfTwo.size(5), Some(8));
        assert_eq!(PadTo::PowerOfTwo.size(8), Some(8));
        assert_eq!(PadTo::Exactly(10).size(10), Some(10));
        assert_eq!(PadTo::Exactly(10).size(11), None);
    }
}
