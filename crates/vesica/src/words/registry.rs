//! The protocols of this build: those of `vesica_protocols`, and with the feature `exhibits` those that are insecure or
//! broken (`vesica_exhibits`).

pub use vesica_protocols::registry::*;

#[cfg(feature = "exhibits")]
use vesica_exhibits::PROTOCOLS as EXHIBITS;
#[cfg(not(feature = "exhibits"))]
static EXHIBITS: &[&Entry] = &[];

use vesica_protocols::registry::PROTOCOLS as STANDARD;

/// The exhibits' names, whether or not this build has them.
const EXHIBITED: [&str; 2] = ["gbf-dcw-malicious", "naive-hash"];

/// Every protocol, in the order of the tables.
pub static PROTOCOLS: &[&Entry] = &{
    let mut all = [STANDARD[0]; STANDARD.len() + EXHIBITS.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < STANDARD.len() { STANDARD[at] } else { EXHIBITS[at - STANDARD.len()] };
        at += 1;
    }
    all
};

/// The protocol of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    PROTOCOLS.iter().copied().find(|entry| entry.name == name)
}

/// The protocols that this build leaves out.
pub fn left_out() -> impl Iterator<Item = &'static str> {
    EXHIBITED.into_iter().filter(|name| find(name).is_none())
}

/// Why there is no protocol of that name.
pub fn absent(name: &str) -> String {
    match EXHIBITED.contains(&name) {
        true => format!(
            "protocol {name} protects nothing or was broken, so this build leaves it out; one with the feature `exhibits` has \
             it, for comparison"
        ),
        false => format!("there is no protocol named \"{name}\"; `vesica protocols` lists them all"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protocols_of_both_crates_are_found_under_names_of_their_own() {
        let names: std::collections::HashSet<_> = PROTOCOLS.iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), STANDARD.len() + EXHIBITS.len());
        assert!(PROTOCOLS.iter().all(|entry| find(entry.name).is_some_and(|found| found.name == entry.name)));
    }

    #[test]
    fn an_exhibit_that_is_absent_is_named_with_its_feature() {
        for name in EXHIBITED {
            assert!(absent(name).contains("the feature `exhibits`"));
            assert_eq!(find(name).is_none(), left_out().any(|left_out| left_out == name));
        }
        assert!(absent("dhh").starts_with("there is no protocol named \"dhh\""));
    }
}
