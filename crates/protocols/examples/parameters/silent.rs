//! Silent VOLE: noise, codes, values; and what a malicious run of `vole` bounds.

use vesica_crypto::block::Block;
use vesica_encode::okvs::Band;
use vesica_ot::vole::Plan;
use vesica_ot::vole::codes::{accumulate, random};
use vesica_ot::vole::parameters::{
    CODE, DISTANCE, FLIPS, PIECE, STRUCTURED, TEST, TWO_ROUNDS, derived_binary_weight, derived_field_weight,
};
use vesica_protocols::registry::{self, Shape};
use vesica_protocols::vole_based::rr22::costs::max_malicious_items;
use vesica_protocols::{Parameters, Profile, STATISTICAL_SECURITY, Sizes};

use crate::table::{Section, count, log2_factorial, power};

pub(crate) fn sections() -> Vec<Section> {
    vec![weights(), distances(), few_ones(), few_flips(), uneven(), lengths(), values(), malicious_receiver()]
}

/// What takes minutes.
pub(crate) fn slow_sections() -> Vec<Section> {
    vec![long_distances()]
}

fn weights() -> Section {
    let mut section = Section::new(
        "Noise weight of silent VOLE and OT",
        "Noise is regular: one value at a uniform position in each of t blocks. A linear test looks at a \
         word of relative weight δ. If values are uniform in a large field, the test sees no noise with \
         probability at most (1-δ)^t (eprint 2019/1159 §3, 2022/712). By the inequality of the means, a \
         word that spreads unevenly over blocks of one length is hit more often; for blocks whose lengths \
         differ by one there is a table below. If values are bits, the one in each block gives a bias of \
         |1-2δ_i|, where δ_i is the word's weight in that block. That is (1-2δ)^t for a word that spreads \
         evenly, and more for others; the table of words of few flips counts those.\n\nt is the least \
         multiple of 16 that brings (1-δ)^t or (1-2δ)^t below 2^-128. The next table shows that the codes \
         have δ = 0.10. `lean` takes δ = 0.20. Words below that weight exist (see below), and are believed \
         to be hard to find (pseudo-distances of the field's libraries, from low-weight search).",
        &["profile, values", "t in the code", "t derived", "δ", "test at δ", "test at 0.10"],
    );
    let test = |delta: f64, weight: usize, twice: f64| weight as f64 * (1.0 - twice * delta).log2();
    for (name, profile, delta) in
        [("conservative and fast", Profile::Conservative, DISTANCE), ("lean", Profile::Lean, 0.20)]
    {
        for (values, twice, weight, derived) in [
            ("a field", 1.0, profile.field_weight(), derived_field_weight(delta)),
            ("bits", 2.0, profile.binary_weight(), derived_binary_weight(delta)),
        ] {
            let (at, proven) = (test(delta, weight, twice), test(DISTANCE, weight, twice));
            let right = weight == derived && at <= -128.0;
            section.row(
                &[
                    format!("{name}, {values}"),
                    weight.to_string(),
                    derived.to_string(),
                    delta.to_string(),
                    power(at),
                    power(proven),
                ],
                right,
            );
        }
    }
    section
}

fn distances() -> Section {
    let mut section = Section::new(
        "Distance of the codes",
        "The table has the expected number of nonzero words of weight at most N/10, over the choice of the \
         code. By Markov's bound, the probability of drawing a code that has such a word is no larger. It \
         has the shortest length of each kind that a plan can have, and longer ones.\n- *Random matrices:* \
         (2^m - 1)·Σ C(N, w)·2^-N. The number falls with the length: its exponent is -N·(1/2 - H(0.10)), and \
         H(0.10) = 0.469.\n- *Block-accumulate codes* (eprint 2025/1828, 2026/1903): the weight enumerator \
         of the Golay blocks, through the transition probabilities of each accumulator behind a random \
         permutation. The next table has more lengths.",
        &["code", "outputs", "light words expected", "allowed"],
    );
    let least = 2 * Profile::Conservative.field_weight() + 1;
    for outputs in [least, STRUCTURED - 1] {
        let light = random::log2_light_words(random::Random::noise_for(outputs), DISTANCE);
        section.row(&["random matrix", &count(outputs), &power(light), &power(-CODE)], light <= -CODE);
    }
    for outputs in [STRUCTURED, 6000, 2 * STRUCTURED] {
        let noise = accumulate::Accumulate::noise_for(outputs);
        let light = accumulate::log2_light_words(noise, 3, DISTANCE);
        section.row(
            &["Golay blocks, three rounds", &count(outputs), &power(light), &power(-CODE)],
            light <= -CODE,
        );
    }
    section
}

/// The part of the words that decides how many light ones two rounds leave.
fn few_ones() -> Section {
    let mut section = Section::new(
        "Light words of two rounds at five lengths",
        "Two rounds are used from 2^18 outputs on, for noise of field values. This table sums the words \
         that have at most 240 ones before the first running sums, and at most 240 between the two. At 2^18 \
         the sum over all words is computed too (the slow table), and is the same to the digit. At other \
         lengths, words with more ones are not summed.\n\nNearly all of these words come from a single \
         Golay word of weight 8, through fewer than 40 ones. Their number falls as N^-3, which is three \
         bits for each doubling, as in the table:\n- There are 759·N/24 such Golay words.\n- Running sums \
         of eight ones have g ones with probability about C(g-1, 3)·C(N-g, 4)/C(N, 8), which is N^-4 for \
         each g.\n- The probability that running sums of g ones, g fixed, stay below N/10 does not depend \
         on N.",
        &["outputs", "light words expected", "of one Golay word of weight 8, below 40 ones", "allowed"],
    );
    let mut before: Option<(usize, f64)> = None;
    for outputs in [TWO_ROUNDS, 2 * TWO_ROUNDS, 3 * TWO_ROUNDS, 4 * TWO_ROUNDS, PIECE] {
        let noise = accumulate::Accumulate::noise_for(outputs);
        let (all, one) = accumulate::log2_light_words_of_few_ones(noise, DISTANCE, 240, 40);
        let falls = before.is_none_or(|(shorter, light)| {
            let expected = -3.0 * (outputs as f64 / shorter as f64).log2();
            (all - light - expected).abs() < 0.05
        });
        section.row(
            &[count(outputs), format!("2^{all:.2}"), format!("2^{one:.2}"), power(-CODE)],
            all <= -CODE && falls && all - one < 0.05,
        );
        before = Some((outputs, all));
    }
    section
}

/// What decides how well noise of bits hides.
fn few_flips() -> Section {
    let mut section = Section::new(
        "Words of few flips, for noise of bits",
        "Noise of bits has a single one in each block, and its position is all that is secret. A word that \
         covers a block whole always meets that one, and learns as little as from a block that it leaves \
         out: only blocks in which it changes from zeros to ones or back hide anything. A word is the \
         running sums of a word with ones at random positions, f of them, and flips at each. Flips that are \
         alone in their blocks give biases that are uniform in (0, 1), so that f of them give 2^-128 or \
         more with the probability that a gamma variable of f is at most 128·ln 2. The weight of the word, \
         which the tables above bound, does not enter.\n\nThe table has a bound on the expected number of \
         nonzero words that see a bias of 2^-128 or more, of those with at most 240 flips. It sums, over f, \
         the words that have f ones before the last running sums, each weighted with the least of \
         2^(128·s)·E[bias^s] over s = 0, 1/4, …, 9/4; the blocks are those of the noise, flips that share \
         one included. Words of 200 to 240 flips add next to nothing.\n\nWords of more flips are not summed: \
         nobody has counted those of these codes. The last column has the number of words of any flips for a \
         *random* code of the same length: 2^m · min over s of 2^(128·s) · Π E[|1 - 2w/b|^s], where w is a \
         binomial number of b fair coins for each block. With the blocks of `conservative` and `fast` there \
         is none. With those of `lean` there are very many, as for field values: relative weights of 0.20 in \
         every block see the noise. So the table does not say that `lean` hides anything. That rests on the \
         assumption that nobody finds such words \
         ([below](#what-lean-rests-on-light-words-exist-and-nobody-is-known-to-find-them)).\n\nSo noise of \
         bits takes three rounds at every length, from 2^16 outputs, where silent OT begins, up to the \
         longest piece. Two rounds, which suffice for field values, leave too many such words. \
         `lean` has fewer blocks, and as many words of few flips.",
        &[
            "profile",
            "outputs",
            "two rounds would leave",
            "words of few flips, three rounds",
            "allowed",
            "words of a random code",
        ],
    );
    let least = 1 << 16;
    for (name, profile, lengths) in [
        ("conservative and fast", Profile::Conservative, &[least, 1 << 17, TWO_ROUNDS, PIECE][..]),
        ("lean", Profile::Lean, &[least, PIECE]),
    ] {
        for &outputs in lengths {
            let plan = Plan::of_bits(outputs, profile);
            let words = |rounds| {
                accumulate::log2_words_of_few_flips(plan.noise(), rounds, plan.weight(), TEST, FLIPS)
            };
            let expected = words(plan.rounds());
            let random = log2_seeing_words(outputs, &blocks(plan.noise(), plan.weight()), |w| 1.0 - 2.0 * w);
            let few = (random <= -CODE) == (profile != Profile::Lean);
            section.row(
                &[name, &count(outputs), &power(words(2)), &power(expected), &power(-CODE), &power(random)],
                expected <= -CODE && plan.rounds() == 3 && few,
            );
        }
    }
    section
}

/// N noise values in t blocks have lengths that differ by one place, and a word may lie in the longer ones.
fn uneven() -> Section {
    let mut section = Section::new(
        "Words that short blocks miss",
        "Blocks have ⌊N/t⌋ and ⌈N/t⌉ positions, t = 848, and values are uniform in a field.\n- *Structured \
         codes:* the probability that the noise misses the worst word of weight N/10 + 1, with its ones at \
         the least costly positions.\n- *Random matrices* have short blocks, where that is not enough, and \
         are counted directly: the expected number of nonzero words that the noise misses with probability \
         2^-128 or more. It is at most 2^m · min over s of 2^(128·s) · Π E[(1 - w/b)^s], where w is a \
         binomial number of b fair coins for each block.",
        &["code", "outputs m", "positions a block", "bound", "allowed"],
    );
    let weight = Profile::Conservative.field_weight();
    for outputs in [2 * weight + 1, 2200, 3000, STRUCTURED - 1] {
        let noise = random::Random::noise_for(outputs);
        let missed = log2_seeing_words(outputs, &blocks(noise, weight), |w| 1.0 - w);
        let places = format!("{:.2}", noise as f64 / weight as f64);
        section.row(
            &["random matrix: words", &count(outputs), &places, &power(missed), &power(-CODE)],
            missed <= -CODE,
        );
    }
    for outputs in [STRUCTURED, 2 * STRUCTURED, TWO_ROUNDS] {
        let noise = accumulate::Accumulate::noise_for(outputs);
        let missed = log2_worst_word(noise, &blocks(noise, weight));
        let places = format!("{:.2}", noise as f64 / weight as f64);
        section.row(
            &["Golay blocks: a word is missed", &count(outputs), &places, &power(missed), &power(-128.0)],
            missed <= -128.0,
        );
    }
    section
}

/// The lengths of the blocks, as [`Plan`] cuts them, with how many there are of each.
fn blocks(noise: usize, weight: usize) -> [(usize, usize); 2] {
    let (short, longer) = (noise / weight, noise % weight);
    [(short, weight - longer), (short + 1, longer)]
}

/// log2 of a bound on the expected number of nonzero words of a random code that see the noise with 2^-128 or more, if
/// a word of relative weight x in a block sees the block's noise with |`seen(x)`|.
fn log2_seeing_words(outputs: usize, blocks: &[(usize, usize)], seen: impl Fn(f64) -> f64) -> f64 {
    // log2 E[seen^s] from each weight: log2 of its probability, and of what it sees.
    let of_blocks: Vec<Vec<(f64, f64)>> = blocks
        .iter()
        .map(|&(places, _)| {
            let b = places as f64;
            let weight = |w: usize| {
                let w = w as f64;
                let binomial = log2_factorial(b) - log2_factorial(w) - log2_factorial(b - w);
                (binomial - b, seen(w / b).abs().log2())
            };
            (0..=places).map(weight).filter(|(_, seen)| seen.is_finite()).collect()
        })
        .collect();
    let moment = |weights: &[(f64, f64)], s: f64| {
        let terms = || weights.iter().map(|(probability, seen)| probability + s * seen);
        let most = terms().fold(f64::NEG_INFINITY, f64::max);
        most + terms().map(|term| (term - most).exp2()).sum::<f64>().log2()
    };
    let at = |s: f64| {
        let of_blocks = of_blocks.iter().zip(blocks).map(|(of, &(_, times))| times as f64 * moment(of, s));
        outputs as f64 + 128.0 * s + of_blocks.sum::<f64>()
    };
    // Convex in s.
    let (mut least, mut most) = (0.1, 1e6);
    while most - least > 1e-6 * most {
        let third = (most - least) / 3.0;
        if at(least + third) < at(most - third) { most -= third } else { least += third }
    }
    at(least)
}

fn log2_worst_word(noise: usize, blocks: &[(usize, usize)]) -> f64 {
    // What the next one in a block with w of them costs grows with w: the cheapest first.
    let mut costs: Vec<f64> = Vec::new();
    for &(places, times) in blocks {
        for w in 0..places - 1 {
            let cost = ((places - w) as f64 / (places - w - 1) as f64).log2();
            costs.extend(core::iter::repeat_n(cost, times));
        }
    }
    costs.sort_by(f64::total_cmp);
    let ones = (DISTANCE * noise as f64) as usize + 1;
    -costs.iter().take(ones).sum::<f64>()
}

fn long_distances() -> Section {
    let mut section = Section::new(
        "Distance of the codes, where it takes minutes",
        "The table continues the one above: the shortest length at which two rounds are used, and a longer \
         code of three.",
        &["code", "outputs", "light words expected", "allowed"],
    );
    for (rounds, outputs) in [(3, 1 << 15), (2, TWO_ROUNDS)] {
        let light =
            accumulate::log2_light_words(accumulate::Accumulate::noise_for(outputs), rounds, DISTANCE);
        section.row(
            &[format!("Golay blocks, {rounds} rounds"), count(outputs), power(light), power(-CODE)],
            light <= -CODE,
        );
    }
    section
}

fn lengths() -> Section {
    let mut section = Section::new(
        "Lengths of silent VOLE",
        "Up to 2t outputs come from SoftSpoken's small-field VOLE without LPN: for so few outputs, half of \
         them would be noise values. Outputs are sums of noise values with coefficients 0 and 1. So no 128 + \
         λ of them may depend on fewer values. Half of the t values is more than that (the splitting attack \
         takes a systematic half). Codes end at whole blocks. Outputs that are too many are cut off, which \
         removes words and adds none.",
        &["parameter", "in the code", "derived", "from"],
    );
    let plan = |length| Plan::new(length, Profile::Conservative);
    let weight = Profile::Conservative.field_weight();
    let first = (1..10_000).find(|length| plan(*length).pieces() > 0).unwrap();
    section.same("first length with LPN", first, 2 * weight + 1, "more than 2t outputs");
    for (name, profile) in [("conservative", Profile::Conservative), ("lean", Profile::Lean)] {
        let half = profile.field_weight() / 2;
        let least = 128 + STATISTICAL_SECURITY as usize;
        section.row(
            &[&format!("t/2, {name}"), &half.to_string(), &format!("at least {least}"), "rank over GF(2)"],
            half >= least,
        );
    }
    let pieces = plan(PIECE + 1).pieces();
    section.same(
        "pieces for one output more than a code may have",
        pieces,
        2,
        "positions are numbered below 2^23",
    );
    section
}

fn values() -> Section {
    let mut section = Section::new(
        "Values of the OKVS in `vole`",
        "The only bad event is an item y of the sender outside X with Decode(P, y) = H_B(y). It has \
         probability at most n_s·2^-|B|. Profiles `fast` and `lean` take |B| = 64 while λ + log2 n_s ≤ 64. \
         The bytes of A' (eight or sixteen a slot) show what the code takes.",
        &["n_s, profile", "bits in the code", "bits derived", "bad event"],
    );
    for (sender, profile, name) in [
        (1 << 20, Profile::Conservative, "conservative"),
        (1 << 20, Profile::Fast, "fast"),
        (1 << 24, Profile::Fast, "fast"),
        ((1 << 24) + 1, Profile::Fast, "fast"),
        ((1 << 24) + 1, Profile::Lean, "lean"),
    ] {
        let bits = value_bits(sender, profile);
        let log2 = (sender as f64).log2();
        let fits = log2 + f64::from(STATISTICAL_SECURITY) <= 64.0;
        let derived = if fits && profile != Profile::Conservative { 64 } else { 128 };
        section.row(
            &[
                format!("{}, {name}", if sender % 2 == 1 { "2^24 + 1".into() } else { count(sender) }),
                bits.to_string(),
                derived.to_string(),
                power(log2 - bits as f64),
            ],
            bits == derived,
        );
    }
    section
}

/// |B|, from what the registry says of the message with A'.
fn value_bits(sender: usize, profile: Profile) -> u64 {
    let receiver = 1000;
    let entry = registry::find("vole").unwrap();
    let parameters = Parameters { profile, ..Parameters::default() };
    let shape = Shape { parameters, ..Shape::new(Sizes { receiver, sender }) };
    let columns = Band::new(receiver, Block::ZERO).unwrap().columns() as u64;
    let (_, bytes) = entry.sent(&shape).find(|(message, _)| message.formula.contains("m·(16")).unwrap();
    bytes * 8 / columns
}

fn malicious_receiver() -> Section {
    let mut section = Section::new(
        "The bound on a malicious receiver's set in `vole`",
        "An OKVS of m slots of 128 bits fits n' of q hashed items with probability at most C(q, \
         n')·2^(-128·(n' - m)). The bound is the n' where that falls below 2^-λ (HKLS24 shows that fitting \
         more than n_r is possible). It is derived with log2 C(q, n') = n'·log2 q - log2 n'!. The code \
         rounds up by log2 C(q, n') < n'·log2(q·e/n').",
        &["n_r", "q", "n' in the code", "n' derived", "n'/m"],
    );
    for items in [1 << 10, 1 << 20, 1 << 24] {
        let columns = Band::new(items, Block::ZERO).unwrap().columns() as f64;
        for queries in [64u32, 80, 100, 128] {
            let code = max_malicious_items(items, queries) as f64;
            let (mut least, mut most) = (columns, 1024.0 * columns);
            while most - least > 0.5 {
                let more = f64::midpoint(least, most);
                let ways = more * f64::from(queries) - log2_factorial(more);
                let fits = ways >= 128.0 * (more - columns) - f64::from(STATISTICAL_SECURITY);
                if fits { least = more } else { most = more }
            }
            section.row(
                &[
                    count(items),
                    format!("2^{queries}"),
                    format!("{code}"),
                    format!("{least:.0}"),
                    format!("{:.2}", code / columns),
                ],
                code >= least.floor() && code <= least * 1.002 + 4.0,
            );
        }
    }
    section
}
