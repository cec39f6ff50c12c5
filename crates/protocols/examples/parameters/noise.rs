//! What noise rests on beside linear tests by words of the guaranteed weight: light words of codes without a proven
//! distance, and algebraic attacks on regular noise.

use vesica_ot::security::Profile;
use vesica_ot::vole::codes::{accumulate, random};
use vesica_ot::vole::parameters::{PIECE, STRUCTURED};

use crate::table::{Section, count, log2_factorial, power};

pub(crate) fn sections() -> Vec<Section> {
    vec![light_words(), algebraic()]
}

/// H(x), the binary entropy.
fn entropy(x: f64) -> f64 {
    -x * x.log2() - (1.0 - x) * (1.0 - x).log2()
}

/// Where a monotone function of a place in `least..most` becomes true.
fn first(mut least: f64, mut most: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..100 {
        let middle = f64::midpoint(least, most);
        if holds(middle) { most = middle } else { least = middle }
    }
    most
}

/// What `lean` takes its weight from, and what codes of rate 1/2 can have.
fn light_words() -> Section {
    let mut section = Section::new(
        "What `lean` rests on: light words exist, and nobody is known to find them",
        "All codes here have rate 1/2. The first linear-programming bound (McEliece, Rodemich, Rumsey, Welch \
         1977: rate at most H(1/2 - √(δ·(1-δ)))) allows no long code of that rate a distance of 0.20. A \
         random code has about 2^(N·(H(0.20) - 1/2)) words of weight up to 0.20·N, and its lightest has \
         about 0.11·N (Gilbert and Varshamov). So linear tests better than 2^-128 exist for the weight t = \
         400 of `lean`. The assumption is that they cost too much to find.\n\nThe search here takes sums of \
         p rows of a random systematic generator, with p up to 4. The cost of a word of weight w is the \
         number of tries for one. The cost of the test is the number of tries divided by the test's chance, \
         (1-w/N)^400. That is one method, for random codes: it is no proof, and it is not computed for \
         structured codes. `conservative` and `fast` need none of this.",
        &["quantity", "N", "value", "must be"],
    );
    let bound = first(0.001, 0.499, |delta| entropy(0.5 - (delta * (1.0 - delta)).sqrt()) <= 0.5);
    section.row(
        &["largest distance by the first LP bound", "long", &format!("{bound:.3}"), "below 0.200"],
        bound < 0.2,
    );
    let lightest = first(0.001, 0.499, |delta| entropy(delta) >= 0.5);
    section.row(&["lightest words of a random code", "long", &format!("{lightest:.3}·N"), "–"], true);
    let test = Profile::Lean.field_weight() as f64 * (1.0 - lightest).log2();
    section.row(&["test with such a word misses the noise", "long", &power(test), "–"], true);
    section.row(
        &[
            "words of weight up to 0.20·N of a random code",
            "long",
            &format!("2^({:.2}·N)", entropy(0.2) - 0.5),
            "–",
        ],
        true,
    );
    for outputs in [2 * Profile::Lean.field_weight() + 1, STRUCTURED, 1 << 16, PIECE] {
        let noise = 2 * outputs;
        let (cost, weight) = cheapest_test(noise, Profile::Lean.field_weight());
        section.row(
            &[
                "cheapest test by sums of rows",
                &count(noise),
                &format!("2^{cost:.1}, weight {weight:.3}·N"),
                "above 2^128",
            ],
            cost >= 128.0,
        );
    }
    section
}

/// log2 of the cost of the cheapest test by sums of rows of a random systematic generator, and its relative weight.
fn cheapest_test(noise: usize, noise_weight: usize) -> (f64, f64) {
    let (places, half) = (noise as f64, noise / 2);
    let binomial = |n: usize, k: usize| {
        log2_factorial(n as f64) - log2_factorial(k as f64) - log2_factorial((n - k) as f64)
    };
    let mut best = (f64::INFINITY, 0.0);
    for rows in 1..=4usize {
        // log2 of the probability that the other half has at most w - p ones.
        let (mut log2_tail, tries_there_are) = (f64::NEG_INFINITY, binomial(half, rows));
        for ones in 0..=half / 2 {
            let term = binomial(half, ones) - half as f64;
            let (large, small) = if term > log2_tail { (term, log2_tail) } else { (log2_tail, term) };
            log2_tail = large + (1.0 + (small - large).exp2()).log2();
            let weight = (rows + ones) as f64 / places;
            if -log2_tail > tries_there_are {
                continue;
            }
            let cost = -log2_tail.min(0.0) - noise_weight as f64 * (1.0 - weight).log2();
            if cost < best.0 {
                best = (cost, weight);
            }
        }
    }
    best
}

/// Algebraic attacks on regular noise: no noise place of a block but one is used.
fn algebraic() -> Section {
    let mut section = Section::new(
        "Algebraic attacks on regular noise",
        "These attacks are not linear tests. The noise solves the linear equations that the outputs are, and \
         the quadratic equations e_i·e_j = 0 for two positions of one block (eprint 2023/176). The count is \
         crude: it treats the system as being as regular as possible. There are t blocks of b = ⌊N/t⌋ \
         positions, and m outputs. The first coefficient of the Hilbert series (1 + (b-1)·z)^t·(1 - z)^(m-t) \
         that is not positive gives the degree of regularity d. Linear algebra has to hold the monomials up \
         to that degree.\n\n*Hybrid*: the attacker first guesses that positions of each block are zero, so \
         that b' of b are left. The guess is right with probability (b'/b)^t. The cost is the number of \
         monomials squared, divided by that probability, least over b'. At b' = b/2 only linear algebra is \
         left, and the guess costs 2^t: that is the least cost nearly everywhere.\n\nInformation-set \
         decoding is a linear test with chosen words (eprint 2022/712 §3), and comes under the tables above. \
         Real systems may be somewhat easier than such a crude count says. The distance to 2^128 leaves room \
         for that.",
        &["profile", "outputs m", "b", "degree of regularity", "monomials", "hybrid", "must be"],
    );
    for (name, profile) in [("conservative and fast", Profile::Conservative), ("lean", Profile::Lean)] {
        let weight = profile.field_weight();
        for outputs in [2 * weight + 1, STRUCTURED - 1, 1 << 18, 1 << 20, PIECE] {
            let noise = match outputs {
                short if short < STRUCTURED => random::Random::noise_for(short),
                long => accumulate::Accumulate::noise_for(long),
            };
            // The short blocks alone: fewer unknowns than there are.
            let places = (noise / weight) as f64;
            let degree = regularity(places, weight as f64, outputs as f64);
            let (all, hybrid) = (monomials(places, weight, degree), hybrid(places, weight, outputs));
            section.row(
                &[
                    name,
                    &count(outputs),
                    &places.to_string(),
                    &degree.to_string(),
                    &format!("2^{all:.0}"),
                    &format!("2^{hybrid:.0}"),
                    "above 2^128",
                ],
                all >= 128.0 && hybrid >= 128.0,
            );
        }
    }
    section
}

/// The degree of the first coefficient of (1 + (b-1)·z)^t·(1-z)^(m-t) that is not positive.
///
/// With a = b - 1 and s = m - t the logarithmic derivative gives (k+1)·p_{k+1} = (t·a - s - (a-1)·k)·p_k - a·(t + s - k + 1)·p_{k-1},
/// here as quotients p_{k+1}/p_k, which are positive up to that degree.
fn regularity(places: f64, weight: f64, outputs: f64) -> usize {
    let (a, s) = (places - 1.0, outputs - weight);
    let mut quotient = weight * a - s;
    let mut degree = 0;
    while quotient > 0.0 {
        degree += 1;
        let k = degree as f64;
        let own = weight * a - s - (a - 1.0) * k;
        quotient = (own - a * (weight + s - k + 1.0) / quotient) / (k + 1.0);
    }
    degree + 1
}

/// log2 of the number of monomials of that degree in which no two variables are of one block.
fn monomials(places: f64, weight: usize, degree: usize) -> f64 {
    let (t, d) = (weight as f64, degree.min(weight) as f64);
    log2_factorial(t) - log2_factorial(d) - log2_factorial(t - d) + d * (places - 1.0).max(1.0).log2()
}

/// log2 of the cost of the best attack that first guesses places to be zero.
fn hybrid(places: f64, weight: usize, outputs: usize) -> f64 {
    let steps = 4096;
    let half = outputs as f64 / weight as f64;
    (0..=steps)
        .map(|step| half + (places - half) * f64::from(step) / f64::from(steps))
        .map(|left| {
            let degree = regularity(left, weight as f64, outputs as f64);
            weight as f64 * (places / left).log2() + 2.0 * monomials(left, weight, degree)
        })
        .fold(f64::INFINITY, f64::min)
}
