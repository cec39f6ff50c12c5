//! Noise on counts.

use vesica_crypto::laplace;
use vesica_protocols::STATISTICAL_SECURITY;

use crate::table::{Section, power};

pub(crate) fn sections() -> Vec<Section> {
    let mut section = Section::new(
        "Noise on counts",
        "Each party adds a number x with probability (e^ε - 1)/(e^ε + 1)·e^(-ε·|x|) to a count. The number that is \
         opened has room for b on either side from each party. Beyond it, it wraps around: the count is wrong then, \
         and no less private. That must have probability at most 2^-λ/2 for each party; the tail is summed up here.",
        &["ε", "b", "beyond it", "allowed"],
    );
    for thousandths in [1, 10, 100, 500, 1000, 3000, 20_000] {
        let bound = laplace::bound(thousandths, 1000);
        let epsilon = f64::from(thousandths) / 1000.0;
        let (first, ratio) = ((epsilon / 2.0).tanh(), (-epsilon).exp());
        // Both sides, term by term, until a term changes nothing.
        let mut term = first * (-epsilon * (bound + 1) as f64).exp();
        let mut beyond = 0.0;
        while beyond + term > beyond {
            beyond += term;
            term *= ratio;
        }
        let (beyond, allowed) = ((2.0 * beyond).log2(), -f64::from(STATISTICAL_SECURITY) - 1.0);
        section.row(
            &[format!("{epsilon}"), bound.to_string(), power(beyond), power(allowed)],
            beyond <= allowed,
        );
    }
    vec![section]
}
