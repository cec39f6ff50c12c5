//! The one list of protocols: it feeds the command line, the tables in the documents, the benchmarks and the test loop.

use crate::masks::mask_bits;
use crate::parameters::{Parameters, Supported};
use crate::protocol::{Learns, Receive, Role, Send, Sizes};
use crate::vole_based::rr22::entry::max_malicious_items;
use crate::{bloom_filter, insecure, ot_based, public_key, vole_based};

pub use crate::parameters::Security;
pub use crate::protocol::Step;

/// Whether a protocol may be taken without being asked for by name, or at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Secure as its entry says.
    Standard,
    /// Protects nothing worth the name; runs only with `--allow-insecure`.
    Insecure,
    /// Broken since it was published; runs only with `--allow-insecure`.
    Broken,
}

impl Status {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Status::Standard => "standard",
            Status::Insecure => "insecure",
            Status::Broken => "broken",
        }
    }
}

/// What a cost formula depends on.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Both set sizes, after padding.
    pub sizes: Sizes,
    /// Everything else that was agreed.
    pub parameters: Parameters,
    /// Who learns the result.
    pub learns: Learns,
    /// Items in the intersection; counts only where the sender learns it too.
    pub matches: usize,
    /// Whether the base OTs are those of an earlier run, so that none of their messages is sent.
    pub kept_base_ots: bool,
}

impl Shape {
    /// n_r.
    pub fn receiver(&self) -> u64 {
        self.sizes.receiver as u64
    }

    /// n_s.
    pub fn sender(&self) -> u64 {
        self.sizes.sender as u64
    }

    /// The bytes of a message of base OTs: none if they are kept ones.
    pub fn unless_kept(&self, bytes: u64) -> u64 {
        if self.kept_base_ots { 0 } else { bytes }
    }

    /// ⌈ℓ/8⌉.
    pub fn mask(&self) -> u64 {
        u64::from(mask_bits(self.sizes).div_ceil(8))
    }
}

/// A message of a protocol.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    /// Who sends it.
    pub from: Role,
    /// What it is.
    pub what: &'static str,
    /// Its bytes as a formula in n_r, n_s, ℓ = 40 + ⌈log2 n_r⌉ + ⌈log2 n_s⌉ and, where both learn, the matches k.
    pub formula: &'static str,
    /// The formula as a program; 0 where the message is not sent.
    pub bytes: fn(&Shape) -> u64,
}

/// Bytes that a protocol adds to the items at its peak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Receiver's.
    pub receiver: u64,
    /// Sender's.
    pub sender: u64,
}

/// A protocol: what it is, what it costs, and its two roles.
pub struct Entry {
    /// The name on the command line.
    pub name: &'static str,
    /// What it is, in a few words.
    pub title: &'static str,
    /// The folder it lives in.
    pub family: &'static str,
    /// Paper and section.
    pub paper: &'static str,
    /// The security models it is offered in.
    pub security: &'static [Security],
    /// The parameters it can be run with.
    pub supports: Supported,
    /// Whether it may be used freely.
    pub status: Status,
    /// Whether it has a path by which the sender learns the result too.
    pub learns_both: bool,
    /// Who learns what.
    pub learns: &'static str,
    /// What else is seen.
    pub leakage: &'static str,
    /// The longest chain of messages of such a run that wait for each other, up to the receiver's last; two flights make a
    /// round trip. Messages that cross on their way count once.
    pub flights: fn(&Shape) -> u32,
    /// The phases that a role goes through, in order, unless one of the sets is empty. Their shares are rough: they serve the
    /// time left on the screen alone.
    pub steps: fn(Role, &Shape) -> &'static [Step],
    /// Base OTs of a run that the two parties may keep for their next one: how many. None where a run has no base OTs, or
    /// none that may be used again; see [`vesica_ot::base::cache`].
    pub base_ots: Option<fn(&Shape) -> u64>,
    /// Its messages, in the order in which each party sends its own.
    pub messages: &'static [Message],
    /// The memory formula, in bytes.
    pub memory: &'static str,
    /// The memory formula as a program.
    pub memory_bytes: fn(&Shape) -> Memory,
    /// Set size of the test that runs every protocol.
    pub test_items: usize,
    /// The receiver's role.
    pub receive: Receive,
    /// The sender's role.
    pub send: Send,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Entry {
    /// The flights of a run on 2^20 keys a side with the usual parameters, at each security that the protocol offers.
    pub fn usual_flights(&self) -> impl Iterator<Item = (Security, u32)> + '_ {
        self.security.iter().map(|&security| {
            let parameters = Parameters { security, ..Parameters::default() };
            let sizes = Sizes { receiver: 1 << 20, sender: 1 << 20 };
            let shape =
                Shape { sizes, parameters, learns: Learns::Receiver, matches: 0, kept_base_ots: false };
            (security, (self.flights)(&shape))
        })
    }

    /// DATA payload that `from` sends in a run of this shape.
    pub fn bytes(&self, from: Role, shape: &Shape) -> u64 {
        self.messages
            .iter()
            .filter(|message| message.from == from)
            .map(|message| (message.bytes)(shape))
            .sum()
    }

    /// In a malicious run: the most keys of its choice that a receiver can test against the sender's set, if it
    /// evaluates the run's hash at most 2^64 times; more with probability at most 2^-40. What a limit on the receiver's size is
    /// worth.
    pub fn max_tested_keys(&self, shape: &Shape) -> Option<u64> {
        // The one protocol that withstands malicious parties.
        (shape.parameters.security == Security::Malicious)
            .then(|| max_malicious_items(shape.sizes.receiver, 64) as u64)
    }

    /// Whether it runs only with `--allow-insecure`.
    pub fn needs_allow_insecure(&self) -> bool {
        self.status != Status::Standard
    }
}

/// Every protocol, in the order of the tables.
pub static PROTOCOLS: &[&Entry] = &[
    &vole_based::rr22::ENTRY,
    &public_key::dh::ENTRY,
    &ot_based::kkrt16::ENTRY,
    &ot_based::ot_phasing::ENTRY,
    &ot_based::ot_psi::ENTRY,
    &bloom_filter::random_gbf::ENTRY,
    &bloom_filter::dcw13::ENTRY,
    &insecure::naive_hash::ENTRY,
];

/// The protocol of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    PROTOCOLS.iter().copied().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_found() {
        let names: HashSet<_> = PROTOCOLS.iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), PROTOCOLS.len());
        for entry in PROTOCOLS {
            assert_eq!(find(entry.name).unwrap().name, entry.name);
        }
        assert!(find("auto").is_none());
    }

    #[test]
    fn what_a_receiver_can_test_is_known_of_every_malicious_run() {
        let shape = |security, receiver| Shape {
            sizes: Sizes { receiver, sender: 1000 },
            parameters: Parameters { security, ..Parameters::default() },
            learns: Learns::Receiver,
            matches: 0,
            kept_base_ots: false,
        };
        for entry in PROTOCOLS {
            let malicious = entry.security.contains(&Security::Malicious);
            assert!(!malicious || entry.name == vole_based::rr22::ENTRY.name, "{} has a bound", entry.name);
            assert_eq!(entry.max_tested_keys(&shape(Security::SemiHonest, 9)), None);
        }
        let tested =
            |receiver| vole_based::rr22::ENTRY.max_tested_keys(&shape(Security::Malicious, receiver));
        assert_eq!([tested(0), tested(1)], [Some(0), Some(3)]);
        assert!(tested(256) < tested(257) && tested(1 << 20) < Some(2 << 20));
    }

    #[test]
    fn nothing_insecure_stands_as_standard() {
        for entry in PROTOCOLS.iter().filter(|entry| entry.family == "insecure") {
            assert!(entry.needs_allow_insecure(), "{}", entry.name);
        }
    }
}
