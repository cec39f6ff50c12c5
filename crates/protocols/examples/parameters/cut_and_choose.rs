//! The parameters of `gbf-rr16`.

use vesica_protocols::bloom_filter::rr16::parameters::Rr16Parameters;

use crate::table::{Section, count, power};

/// Sizes of the receiver's set.
const ITEMS: [usize; 6] = [1, 100, 1 << 8, 1 << 12, 1 << 16, 1 << 20];

const LN_2: f64 = std::f64::consts::LN_2;
const LAMBDA: f64 = 40.0;

pub(crate) fn sections() -> Vec<Section> {
    vec![numbers(), bounds(), tested()]
}

fn numbers() -> Section {
    let mut section = Section::new(
        "Cut and choose of `gbf-rr16`",
        "The program of RR16 §5.2 takes the number of hash functions k (80 to 100) and the rate p of opened \
         OTs (0.001 to 0.1) with the fewest OTs: nk ones are left to an honest receiver, N_maxones opened \
         ones pass, and a receiver that passes has fewer than N_1 ones left, with (N_1/N_bf)^k ≤ 2^-128. \
         *OTs derived* are those of the same formulas solved by bisection, for one group. Equal groups, and \
         slices that begin with a word of memory, cost up to 3 % and 3000 OTs more. RR16's code has 99,372 OTs at 2^8, 1,187,141 at \
         2^12, 16,992,857 at 2^16 and about 258 million at 2^20.\n\n[The protocol's \
         page](protocols/gbf-rr16.md#parameters) derives the bounds.",
        &["n_r", "k", "p", "ones", "N_maxones", "N_1", "slots", "groups", "OTs", "OTs derived"],
    );
    for items in ITEMS {
        let parameters = Rr16Parameters::for_items(items);
        let derived = fewest_ots(items as f64);
        let ots = parameters.ots();
        section.row(
            &[
                count(items),
                parameters.hashes().to_string(),
                format!("{:.4}", rate(&parameters)),
                format!("{:.3}", ones(&parameters) / ots as f64),
                parameters.most_opened_ones().to_string(),
                parameters.most_ones().to_string(),
                parameters.all_slots().to_string(),
                parameters.groups().to_string(),
                ots.to_string(),
                format!("{derived:.0}"),
            ],
            ots as f64 >= derived && (ots as f64) < 1.03 * derived + 3000.0,
        );
    }
    section
}

fn rate(parameters: &Rr16Parameters) -> f64 {
    parameters.opened() as f64 / f64::from(parameters.ots_of_group())
}

fn ones(parameters: &Rr16Parameters) -> f64 {
    (parameters.groups() * parameters.ones()) as f64
}

/// The fewest OTs of one group: RR16 §5.2, solved by bisection.
fn fewest_ots(items: f64) -> f64 {
    let mut best = f64::INFINITY;
    for hashes in 80..=100 {
        for rate in (1..=100).map(|thousandths| f64::from(thousandths) / 1000.0) {
            // The most that m ones have opened, and the ones that leave nk beside these.
            let most =
                |m: f64| least(|most| chernoff_above(most / (m * rate) - 1.0) * m * rate >= LAMBDA, m * rate);
            let honest = least(|m| m - most(m) >= items * f64::from(hashes), items);
            let opened = most(honest);
            let cheater =
                least(|m| chernoff_below(1.0 - opened / (m * rate)) * m * rate >= LAMBDA, opened / rate);
            let slots = (cheater - opened) * (128.0 / f64::from(hashes)).exp2();
            best = best.min(slots / (1.0 - rate));
        }
    }
    best
}

/// δ²/(2+δ).
fn chernoff_above(delta: f64) -> f64 {
    delta * delta / (2.0 + delta)
}

/// δ²/2.
fn chernoff_below(delta: f64) -> f64 {
    delta * delta / 2.0
}

/// The least number from `from` on that is enough.
fn least(enough: impl Fn(f64) -> bool, from: f64) -> f64 {
    let (mut few, mut many) = (from, 2.0 * from + 1000.0);
    while !enough(many) {
        many *= 2.0;
    }
    for _ in 0..40 {
        let middle = f64::midpoint(few, many);
        if enough(middle) { many = middle } else { few = middle }
    }
    many
}

fn bounds() -> Section {
    let mut section = Section::new(
        "Bounds of the cut and choose",
        "For groups as they are. The program uses Chernoff's bound in RR16's form, and e^-40 where 2^-40 is \
         asked for, and Bernstein's for the groups; *derived* is Chernoff's bound in its exact form, a·ln(a/μ) \
         - a + μ, for the opened ones, and with the entropy of a slot for the groups.\n- *Honest:* it opens \
         more ones than pass. *Groups:* one of them has ones too few; none has if there is one. Both end the \
         run with an error.\n- *Cheater:* it passes and keeps N_1 ones or more. *Foreign:* a key that it did \
         not choose lies in a filter of fewer ones.",
        &["n_r", "honest", "derived", "groups", "derived", "cheater", "derived", "foreign", "derived"],
    );
    for items in ITEMS {
        let parameters = Rr16Parameters::for_items(items);
        let (code, rate) = (parameters.bounds(), rate(&parameters));
        let most = parameters.most_opened_ones() as f64;
        let exact = |most: f64, mean: f64| -(most * (most / mean).ln() - most + mean) / LN_2;
        let honest = exact(most, rate * ones(&parameters));
        let cheater = exact(most, rate * (parameters.most_ones() as f64 + most));
        let (taken, slots) = (parameters.most_ones() as f64, parameters.slots() as f64);
        let all = slots * parameters.hashes() as f64;
        let foreign =
            parameters.hashes() as f64 * ((taken / all).ln() + (slots / 2f64.powi(32)).ln_1p()) / LN_2;
        let groups = group_lacks_ones(&parameters);
        let pairs = [
            (code.honest_fails, honest, -41.0),
            (code.group_lacks_ones, groups, -41.0),
            (code.cheater_passes, cheater, -40.0),
            (code.foreign_item, foreign, -128.0),
        ];
        let cells = pairs.iter().flat_map(|(code, derived, _)| [power(*code), power(*derived)]);
        // What is derived is sharper, or the same.
        let right = pairs.iter().all(|(code, derived, allowed)| *derived <= code + 1e-6 && code <= allowed);
        section.row(&std::iter::once(count(items)).chain(cells).collect::<Vec<_>>(), right);
    }
    section
}

/// log2 of a bound of the probability that the opened ones and the set slots of some group together exceed
/// its ones: over all ways to share the ones between the two, the worst pair of bounds by relative entropy.
fn group_lacks_ones(parameters: &Rr16Parameters) -> f64 {
    if parameters.groups() == 1 {
        return f64::NEG_INFINITY;
    }
    let entropy = |a: f64, p: f64| {
        if a <= p { 0.0 } else { a * (a / p).ln() + (1.0 - a) * ((1.0 - a) / (1.0 - p)).ln() }
    };
    let (kept, opened) = (parameters.kept() as f64, parameters.opened() as f64);
    let one = parameters.ones() as f64 / f64::from(parameters.ots_of_group());
    let slots = parameters.slots() as f64;
    let set = 1.0 - (1.0 - 1.0 / slots * (1.0 + slots / 2f64.powi(32))).powf(parameters.items() as f64);
    let shares = (0..=parameters.opened()).map(|share| share as f64);
    let both = shares.map(|share| {
        let of_opened = (-opened * entropy(share / opened, one)).exp();
        let needed = parameters.ones() as f64 - share;
        of_opened + (-kept * entropy((needed / kept).min(1.0 - 1e-9), set)).exp()
    });
    (parameters.groups() as f64 * both.fold(f64::INFINITY, f64::min)).log2()
}

fn tested() -> Section {
    let mut section = Section::new(
        "The bound on a malicious receiver's set in `gbf-rr16`",
        "A filter of N_1 ones holds n' of q hashed keys with probability at most C(q, n')·C(N, N_1)·2^(-128·n'), \
         N being its slots. The bound is the n' where that falls below 2^-40. RR16 §5.3 has q^n' and 2^N in \
         place of the binomial coefficients: \"about 6n\" for N ≤ 384·n and q = 2^64. It is derived with log2 C(q, \
         n') = n'·log2 q - log2 n'!, for q = 2^64.",
        &["n_r", "by RR16's formula", "n' in the code", "n' derived", "n'/n_r"],
    );
    // log2 of the evaluations.
    let queries = 64;
    for items in ITEMS {
        let parameters = Rr16Parameters::for_items(items);
        let code = parameters.most_tested_keys(queries);
        let derived = most_tested(&parameters, f64::from(queries));
        section.row(
            &[
                count(items),
                parameters.most_tested_keys_of_the_paper(queries).to_string(),
                code.to_string(),
                derived.to_string(),
                format!("{:.2}", code as f64 / items as f64),
            ],
            code >= derived && (code as f64) <= 1.01 * derived as f64 + 3.0,
        );
    }
    section
}

fn most_tested(parameters: &Rr16Parameters, queries: f64) -> u64 {
    let slots = (parameters.hashes() * parameters.slots()) as f64;
    let ones = parameters.most_ones() as f64;
    let choose = crate::table::log2_factorial;
    let filters = choose(slots) - choose(ones) - choose(slots - ones) + LAMBDA;
    let few = |keys: u64| keys as f64 * (128.0 - queries) + choose(keys as f64) < filters;
    let (mut low, mut high) = (0, 1 << 40);
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        if few(middle) { low = middle } else { high = middle }
    }
    high
}
