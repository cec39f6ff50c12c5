//! Oblivious key-value stores.

use vesica_crypto::block::Block;
use vesica_encode::okvs::Band;
use vesica_encode::okvs::parameters::{BAND_SIZES, WIDTH, band_failure, band_starts};
use vesica_protocols::registry::{self, Shape};
use vesica_protocols::vole_based::rr22::costs::max_malicious_items;
use vesica_protocols::{Parameters, STATISTICAL_SECURITY, Security, Sizes};

use crate::table::{Section, count, log2_factorial, power};

pub(crate) fn sections() -> Vec<Section> {
    vec![bands(), columns(), malicious()]
}

fn bands() -> Section {
    let mut section = Section::new(
        "Random bands",
        "A band of w = 128 random bits starts at one of s = (1 + ε)·n slots. The failure is the bound of \
         `okvs::parameters`, from a queue of rows that wait for a pivot. (BPSY23 interpolates simulations \
         instead; they agree where both apply.) The bound must hold at the most keys that each 1 + ε is \
         offered for.",
        &["1 + ε", "up to keys", "failure there", "allowed"],
    );
    for size in BAND_SIZES {
        let starts = u64::from(band_starts(size.most_keys as usize).unwrap());
        let failure = band_failure(WIDTH, size.most_keys, starts).log2();
        let right = failure <= -f64::from(STATISTICAL_SECURITY)
            && starts == (size.most_keys * size.per_mille).div_ceil(1000);
        section.row(
            &[
                format!("{:.3}", size.per_mille as f64 / 1000.0),
                count(size.most_keys as usize),
                power(failure),
                power(-f64::from(STATISTICAL_SECURITY)),
            ],
            right,
        );
    }
    section
}

fn columns() -> Section {
    let mut section =
        Section::new("Slots of the OKVS", "An OKVS has s + w - 1 slots.", &["keys", "slots", "failure"]);
    for keys in [1 << 8, 1 << 12, 1 << 16, 1 << 20, 1 << 24] {
        let starts = band_starts(keys).unwrap() as usize;
        let failure = band_failure(WIDTH, keys as u64, starts as u64).log2();
        let columns = Band::new(keys, Block::ZERO).unwrap().columns();
        let cells = [count(keys), format!("{columns} ({:.3})", columns as f64 / keys as f64), power(failure)];
        section.row(&cells, columns == starts + WIDTH - 1 && failure <= -f64::from(STATISTICAL_SECURITY));
    }
    section
}

fn malicious() -> Section {
    let mut section = Section::new(
        "The OKVS of malicious runs of `vole`",
        "Up to 2^8 keys it is a polynomial over GF(2^128), with one slot a key, which never fails (distinct \
         points: Vandermonde). Above, it is the 128-bit band. A cheating receiver can have m keys in it \
         without effort. With q hash evaluations it can have n', the largest number with log2 C(q, n') ≥ \
         128·(n' - m) - λ (exact factorials here, a bound from above in the code).",
        &["n_r", "m", "n' for q = 2^40", "n' for q = 2^64", "in the code"],
    );
    for keys in [1usize, 2, 10, 100, 256, 257, 1000, 10_000] {
        let few = keys <= 256;
        let columns = if few { keys } else { band_starts(keys).unwrap() as usize + 127 };
        let derived = |log2_queries: u32| {
            let holds = |more: usize| {
                let ways = more as f64 * f64::from(log2_queries) - log2_factorial(more as f64);
                ways >= 128.0 * (more as f64 - columns as f64) - f64::from(STATISTICAL_SECURITY)
            };
            (columns..).take_while(|more| holds(*more)).last().unwrap_or(columns)
        };
        let found = [40, 64].map(derived);
        let code = [40, 64].map(|queries| max_malicious_items(keys, queries));
        let near = |i: usize| code[i] >= found[i] && code[i] as f64 <= found[i] as f64 * 1.002 + 4.0;
        section.row(
            &[
                count(keys),
                columns.to_string(),
                found[0].to_string(),
                found[1].to_string(),
                format!("{}, {}", code[0], code[1]),
            ],
            near(0) && near(1) && columns_on_the_wire(keys) == columns,
        );
    }
    section
}

/// m of a malicious run, from what the registry says of the message with A'.
fn columns_on_the_wire(receiver: usize) -> usize {
    let entry = registry::find("vole").unwrap();
    let parameters = Parameters { security: Security::Malicious, ..Parameters::default() };
    let shape = Shape { parameters, ..Shape::new(Sizes { receiver, sender: 1000 }) };
    let (_, bytes) = entry.sent(&shape).find(|(message, _)| message.formula.starts_with("m·(16")).unwrap();
    // 32 bytes are w_r.
    (bytes as usize - 32) / Block::BYTES
}
