//! Oblivious key-value stores.

use vesica_crypto::block::Block;
use vesica_encode::okvs::parameters::{BANDS, ClusterShape, band_failure, band_starts};
use vesica_encode::okvs::{Band128, Band256, Band512, Okvs, ThreeHash};
use vesica_protocols::registry::{self, Shape};
use vesica_protocols::vole_based::rr22::entry::max_malicious_items;
use vesica_protocols::{Learns, Parameters, STATISTICAL_SECURITY, Security, Sizes};

use crate::table::{Section, count, log2_factorial, power};

pub(crate) fn sections() -> Vec<Section> {
    vec![bands(), columns(), clusters(), malicious()]
}

fn bands() -> Section {
    let mut section = Section::new(
        "Random bands",
        "A band of w random bits at one of s = (1 + ε)·n places. Failure: the bound of `okvs::parameters`, a queue of rows that \
         wait for a pivot (BPSY23 interpolates simulations instead; they agree where both apply). Held at the most keys that \
         each width is offered for, and at fewer.",
        &["w", "1 + ε", "up to keys", "failure there", "allowed"],
    );
    for shape in BANDS {
        let starts = band_starts(shape.width, shape.most_keys).unwrap() as usize;
        let failure = band_failure(shape.width, shape.most_keys, starts).log2();
        let right = failure <= -f64::from(STATISTICAL_SECURITY)
            && starts == (shape.most_keys as u64 * shape.per_mille).div_ceil(1000) as usize;
        section.row(
            &[
                shape.width.to_string(),
                format!("{:.3}", shape.per_mille as f64 / 1000.0),
                count(shape.most_keys),
                power(failure),
                power(-f64::from(STATISTICAL_SECURITY)),
            ],
            right,
        );
    }
    section
}

fn columns() -> Section {
    let mut section = Section::new(
        "Columns of the stores",
        "What a table has: s + w - 1 for bands; for three hashes all columns of all clusters. Failure of `rb128`, the default, at \
         these sizes.",
        &["keys", "rb128", "rb256", "rb512", "three hashes", "failure of rb128"],
    );
    for keys in [1 << 8, 1 << 12, 1 << 16, 1 << 20, 1 << 24] {
        let starts = band_starts(128, keys).unwrap() as usize;
        let failure = band_failure(128, keys, starts).log2();
        let found = [
            Band128::new(keys, Block::ZERO).unwrap().columns(),
            Band256::new(keys, Block::ZERO).unwrap().columns(),
            Band512::new(keys, Block::ZERO).unwrap().columns(),
            ThreeHash::new(keys, Block::ZERO).unwrap().columns(),
        ];
        let ratio = |columns: usize| format!("{columns} ({:.3})", columns as f64 / keys as f64);
        let mut cells = vec![count(keys)];
        cells.extend(found.map(ratio));
        cells.push(power(failure));
        let widths = [128, 256, 512];
        let right =
            (0..3).all(|i| found[i] == band_starts(widths[i], keys).unwrap() as usize + widths[i] - 1);
        section.row(&cells, right && failure <= -f64::from(STATISTICAL_SECURITY));
    }
    section
}

fn malicious() -> Section {
    let mut section = Section::new(
        "The store of malicious runs of `vole`",
        "Up to 2^8 keys a polynomial over GF(2^128), with one column a key, which never fails (distinct points: Vandermonde); the \
         128-bit band above. What a receiver that cheats can have in it: m keys without effort, and n' with q hash evaluations, the largest n' \
         with log2 C(q, n') ≥ 128·(n' - m) - λ (exact factorials here, a bound from above in the code).",
        &["n_r", "m", "n' for q = 2^40", "n' for q = 2^64", "in the code"],
    );
    for keys in [1usize, 2, 10, 100, 256, 257, 1000, 10_000] {
        let few = keys <= 256;
        let columns = if few { keys } else { band_starts(128, keys).unwrap() as usize + 127 };
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
    let shape = Shape {
        sizes: Sizes { receiver, sender: 1000 },
        parameters: Parameters { security: Security::Malicious, ..Parameters::default() },
        learns: Learns::Receiver,
        matches: 0,
        kept_base_ots: false,
    };
    let message = entry.messages.iter().find(|message| message.formula.starts_with("m·(16")).unwrap();
    // 32 bytes are w_r.
    ((message.bytes)(&shape) as usize - 32) / Block::BYTES
}

/// Columns of a cluster that are no hash's.
const DENSE: usize = 64;

fn clusters() -> Section {
    let mut section = Section::new(
        "Three hashes in clusters",
        "Load: the exact binomial tail of a cluster, for all clusters together at most 2^-41. Columns: RR22 §4.2's fit to \
         simulations, here in floating point, λ' = 41 + log2 of the clusters: e = 1.223 + (λ' + 9.2)/s, s = 2^(0.555·log2 n + c), and \
         ⌊λ'/log2(e·n)⌋ + λ' dense columns over GF(2), for which there are 64. The code computes with integers and a rounded \
         slope, never fewer columns.",
        &["keys", "clusters", "load", "overflow", "columns in the code", "fit", "dense needed"],
    );
    for keys in [1 << 9, 1 << 12, 1 << 15, 1 << 17, 1 << 20, 1 << 24] {
        let shape = ClusterShape::for_keys(keys).unwrap();
        let clusters = f64::from(shape.clusters);
        let overflow = log2_tail(keys as f64, clusters, shape.keys as f64) + clusters.log2();
        let lambda = 41.0 + f64::from(shape.clusters.next_power_of_two().ilog2());
        let load = shape.keys.max(512) as f64;
        let w = 3f64.log2();
        let c = 0.093 * w.powi(3) - 1.01 * w.powi(2) + 2.925 * w - 0.133;
        // The slope at the power of two below, as the code has it: less slope, more columns.
        let slope = (0.555 * load.log2().floor() + c).exp2();
        let fit = load * (1.223 + (lambda + 9.2) / slope);
        let dense = (lambda / fit.log2()).floor() + lambda;
        let sparse = f64::from(shape.sparse);
        section.row(
            &[
                count(keys),
                shape.clusters.to_string(),
                shape.keys.to_string(),
                power(overflow),
                format!("{} + {DENSE}", shape.sparse),
                format!("{fit:.0}"),
                format!("{dense:.0}"),
            ],
            overflow <= -41.0
                && sparse >= fit.floor()
                && sparse <= fit * 1.002 + 2.0
                && dense <= DENSE as f64
                && shape.columns() == shape.sparse as usize + DENSE,
        );
    }
    section
}

/// log2 of the probability that one of `bins` bins gets more than `load` of `items` items.
fn log2_tail(items: f64, bins: f64, load: f64) -> f64 {
    if load >= items {
        return f64::NEG_INFINITY;
    }
    let share = 1.0 / bins;
    let first = load + 1.0;
    let log2 = log2_factorial(items) - log2_factorial(first) - log2_factorial(items - first)
        + first * share.log2()
        + (items - first) * (1.0 - share).log2();
    // The terms after the first, relative to it.
    let (mut sum, mut term, mut at) = (0.0, 1.0, first);
    while term > 1e-12 && at <= items {
        sum += term;
        term *= (items - at) / (at + 1.0) * share / (1.0 - share);
        at += 1.0;
    }
    log2 + sum.log2()
}
