//! Bloom filters and garbled Bloom filters.

use vesica_encode::bloom::FilterShape;

use crate::table::{Section, count, log2_factorial, power};

pub(crate) fn sections() -> Vec<Section> {
    vec![shapes()]
}

fn shapes() -> Section {
    let mut section = Section::new(
        "Bloom filters and garbled Bloom filters",
        "There are k = κ hash functions, each with a slice of s slots in each of b bins. s is the least \
         number for which a foreign item is positive with probability Σ_j Bin(n, 1/b)(j)·(1 - (1 - 1/s)^j)^k \
         ≤ 2^-k. Building a garbled filter fails with at most n times that probability (`gbf`; DCW13 Theorem \
         1). With one bin, s = ⌈1/(1 - 2^(-1/n))⌉. That is DCW13's m = k·n·log2 e, and less than 2k \
         more.\n\nPositions come from a seed of 128 bits up to k = 128, and of 256 bits above. Two items \
         share a seed with probability 2^-128 or 2^-256 a pair; the figures here do not include that.",
        &["κ", "items", "bins", "s in the code", "s derived", "false positive", "building fails"],
    );
    for level in [80u32, 128, 192, 256] {
        for items in [1, 1000, 1 << 12, 1 << 16, 1 << 20] {
            let shape = FilterShape::for_items(level, items);
            let derived = least_slots(level, items, shape.bins());
            let positive = log2_positive(level, items, shape.bins(), shape.slots());
            section.row(
                &[
                    level.to_string(),
                    count(items),
                    shape.bins().to_string(),
                    shape.slots().to_string(),
                    derived.to_string(),
                    power(positive),
                    power(positive + (items as f64).log2()),
                ],
                shape.slots() == derived
                    && shape.hashes() == level as usize
                    && positive <= -f64::from(level) + 1e-3,
            );
        }
    }
    section
}

fn least_slots(level: u32, items: usize, bins: usize) -> usize {
    let (mut few, mut enough) = (0, 16 * items / bins + 16);
    while enough - few > 1 {
        let slots = usize::midpoint(few, enough);
        let does = log2_positive(level, items, bins, slots) <= -f64::from(level);
        if does { enough = slots } else { few = slots }
    }
    enough
}

/// log2 of the probability of a false positive, by logarithms of factorials.
fn log2_positive(level: u32, items: usize, bins: usize, slots: usize) -> f64 {
    let (n, free) = (items as f64, 1.0 - 1.0 / slots as f64);
    let taken = |load: f64| f64::from(level) * (1.0 - free.powf(load)).log2();
    if bins == 1 {
        return taken(n);
    }
    let share = 1.0 / bins as f64;
    let spread = 60.0 * (n * share).sqrt() + 60.0;
    let loads = (n * share - spread).max(0.0) as u64..=(n * share + spread).min(n) as u64;
    let weight = |load: f64| {
        log2_factorial(n) - log2_factorial(load) - log2_factorial(n - load)
            + load * share.log2()
            + (n - load) * (1.0 - share).log2()
    };
    loads.map(|load| (weight(load as f64) + taken(load as f64)).exp2()).sum::<f64>().log2()
}
