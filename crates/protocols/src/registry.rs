//! The one list of protocols: it feeds the command line, the tables in the documents, the benchmarks and the
//! test loop. Another crate may have a list of its own protocols; the facade joins them.

use crate::{bloom_filter, circuit_based, ot_based, public_key, server_aided, vole_based};

pub use crate::entry::{
    Assist, Entry, Gates, Memory, Message, OnCard, Power, Receive, ReceivePairs, Roles, Send, SendList,
    Shape, Status,
};
pub use crate::parameters::Security;
pub use crate::protocol::Step;

/// Every protocol, in the order of the tables.
pub static PROTOCOLS: &[&Entry] = &[
    &vole_based::rr22::ENTRY,
    &public_key::dh::ENTRY,
    &public_key::dh_ffc::ENTRY,
    &public_key::blind_rsa::ENTRY,
    &public_key::dt10_dl::ENTRY,
    &public_key::blind_rsa::DT_RSA_ENTRY,
    &public_key::ope::ENTRY,
    &public_key::dkt10::ENTRY,
    &ot_based::kkrt16::ENTRY,
    &ot_based::ot_phasing::ENTRY,
    &ot_based::ot_psi::ENTRY,
    &bloom_filter::rr16::ENTRY,
    &bloom_filter::random_gbf::ENTRY,
    &bloom_filter::dcw13::ENTRY,
    &server_aided::kmrs14::ENTRY,
    &circuit_based::bitwise_and::ENTRY,
    &circuit_based::pairwise::ENTRY,
    &circuit_based::sort_compare_shuffle::sorting::ENTRY,
    &circuit_based::sort_compare_shuffle::waksman::ENTRY,
    &circuit_based::sort_compare_shuffle::homomorphic::ENTRY,
    &circuit_based::sort_compare_shuffle::few_layers::ENTRY,
    &circuit_based::phasing::ENTRY,
    &circuit_based::phasing::shared::ENTRY,
    &circuit_based::vole::ENTRY,
];

/// The protocol of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    PROTOCOLS.iter().copied().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Parameters;
    use crate::protocol::Sizes;
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
            parameters: Parameters { security, ..Parameters::default() },
            ..Shape::new(Sizes { receiver, sender: 1000 })
        };
        for entry in PROTOCOLS {
            let tested = |receiver| entry.max_tested_keys_of(&shape(Security::Malicious, receiver));
            let malicious = entry.security.contains(&Security::Malicious);
            assert_eq!(
                tested(9).is_some(),
                malicious,
                "{}: its entry says `.max_tested_keys(…)`",
                entry.name
            );
            assert_eq!(entry.max_tested_keys_of(&shape(Security::SemiHonest, 9)), None);
        }
        let vole = &vole_based::rr22::ENTRY;
        let tested = |receiver| vole.max_tested_keys_of(&shape(Security::Malicious, receiver));
        assert_eq!([tested(0), tested(1)], [Some(0), Some(3)]);
        assert!(tested(256) < tested(257) && tested(1 << 20) < Some(2 << 20));
    }

    #[test]
    fn nothing_insecure_or_broken_is_here() {
        assert!(PROTOCOLS.iter().all(|entry| !entry.needs_allow_insecure()));
    }
}
