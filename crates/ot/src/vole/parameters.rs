//! Noise weights and code sizes, and the programs that derive them.
//!
//! **Linear tests.** A distinguisher that adds up outputs looks at a nonzero word v·G of the code. It fails
//! to see bias unless the noise misses the word. Noise has one nonzero value in each of t blocks, at a
//! uniform position. For a word of relative weight δ:
//!
//! * field-valued noise: the value is uniform in a large field, so the word sees nothing only if all t
//!   positions miss it, with probability at most (1-δ)^t (by the inequality of the means, where blocks have
//!   one length; `make parameters` counts the effect of lengths that differ by one);
//! * noise of bits: the one of block i contributes bias |1-2δ_i|, where δ_i is the word's weight in that
//!   block. That is (1-2δ)^t for a word that spreads evenly, and more for others: a block that it covers whole
//!   hides nothing. δ decides only the number of blocks. Words that do not spread, since they
//!   have few runs of zeros and ones, are counted by
//!   [`log2_words_of_few_flips`](super::codes::accumulate::log2_words_of_few_flips). Three rounds of permuting
//!   and summing make them rare; two do not.
//!
//! The weight is the smallest multiple of 16 that brings (1-δ)^t, or (1-2δ)^t, below 2^-128 at the distance
//! δ = 0.10. The programs [`log2_light_words`](super::codes::accumulate::log2_light_words) and its likes show
//! that the codes have this distance, but for a probability of 2^-40 over the choice of the code. Value zero
//! in a block (probability 2^-128, or 2^-64) is not excluded.
//!
//! **Profile `lean`** takes the weights that would make a test of 128 bits at δ = 0.20. No long code of rate
//! 1/2 has that distance (the first linear-programming bound allows 0.187), and a random one has about
//! 2^(0.22·N) words below it. `lean` rests on the assumption that nobody *finds* words so light that a test
//! with them costs less than 2^128, the search included. `make parameters` has the figures.
//!
//! **Subspace attack.** A binary code over field-valued noise makes outputs combinations of t values with
//! coefficients 0 and
//! 1. They are pseudo-random only if no few outputs depend on too few values. The codes here are not
//!    systematic, and t is above 256.

use crate::security::{Profile, STATISTICAL_SECURITY};

impl Profile {
    /// Weight of field-valued noise.
    #[must_use]
    pub const fn field_weight(self) -> usize {
        match self {
            Self::Conservative | Self::Fast => 848,
            Self::Lean => 400,
        }
    }

    /// Weight of binary noise.
    #[must_use]
    pub const fn binary_weight(self) -> usize {
        match self {
            Self::Conservative | Self::Fast => 400,
            Self::Lean => 176,
        }
    }
}

/// The distance that the codes are shown to have.
pub const DISTANCE: f64 = 0.10;

/// Security of the linear test in bits.
pub const TEST: f64 = 128.0;

/// -log2 of the probability that a code of less distance is drawn: λ.
pub const CODE: f64 = STATISTICAL_SECURITY as f64;

/// The flips up to which words that see noise of bits are counted. Of those, nearly all have fewer. `make parameters`
/// says what is known of words of more flips.
pub const FLIPS: usize = 240;

/// From how many outputs on a structured code replaces the random matrix.
pub const STRUCTURED: usize = (1 << 12) + 1;

/// From how many outputs on two rounds of permuting and summing suffice for noise of field values.
pub const TWO_ROUNDS: usize = 1 << 18;

/// Most outputs of one code; more are made in pieces.
pub const PIECE: usize = 3 << 19;

/// The weight that brings (1-δ)^t below 2^-128.
#[must_use]
pub fn derived_field_weight(distance: f64) -> usize {
    up_to_sixteen(TEST / -(1.0 - distance).log2())
}

/// The weight that brings (1-2δ)^t below 2^-128.
#[must_use]
pub fn derived_binary_weight(distance: f64) -> usize {
    up_to_sixteen(TEST / -(1.0 - 2.0 * distance).log2())
}

fn up_to_sixteen(weight: f64) -> usize {
    (weight.ceil() as usize).next_multiple_of(16)
}

#[cfg(test)]
mod tests {
    use super::super::Plan;
    use super::super::codes::{accumulate, random};
    use super::*;

    #[test]
    fn weights_are_the_derived_ones() {
        assert_eq!(Profile::Conservative.field_weight(), derived_field_weight(DISTANCE));
        assert_eq!(Profile::Conservative.binary_weight(), derived_binary_weight(DISTANCE));
        assert!(Profile::Lean.field_weight() >= derived_field_weight(0.20));
        assert!(Profile::Lean.binary_weight() >= derived_binary_weight(0.20));
    }

    #[test]
    fn codes_have_the_distance() {
        // Random matrices, from the shortest that the conservative profile has.
        for outputs in [2 * 848, STRUCTURED - 1] {
            let noise = random::Random::noise_for(outputs);
            assert!(random::log2_light_words(noise, DISTANCE) < -CODE, "{outputs}");
        }
        // Three rounds, from the shortest; the number falls with the length.
        let mut last = -CODE;
        for outputs in [STRUCTURED, 2 * STRUCTURED] {
            let noise = accumulate::Accumulate::noise_for(outputs);
            let light = accumulate::log2_light_words(noise, 3, DISTANCE);
            assert!(light < last, "{outputs}: {light}");
            last = light;
        }
    }

    #[test]
    fn flaw_words_of_few_flips_do_not_see_noise_of_bits() {
        let seen = |outputs, rounds: Option<usize>, flips| {
            let plan = Plan::of_bits(outputs, Profile::Conservative);
            assert_eq!((plan.pieces(), plan.outputs()), (1, outputs));
            let (noise, rounds) = (plan.noise(), rounds.unwrap_or(plan.rounds()));
            accumulate::log2_words_of_few_flips(noise, rounds, plan.weight(), TEST, flips)
        };
        // The shortest plan with LPN, the shortest that takes two rounds for field values, the longest.
        for outputs in [1 << 16, TWO_ROUNDS, PIECE] {
            let seen = seen(outputs, None, FLIPS);
            assert!(seen <= -CODE, "{outputs}: {seen}");
        }
        // The words of most flips hardly add to them; two rounds leave many more.
        assert!(seen(1 << 16, None, FLIPS) - seen(1 << 16, None, FLIPS - 40) < 0.01);
        assert!(seen(TWO_ROUNDS, Some(2), FLIPS) > -CODE);
    }

    /// Some minutes: at the shortest length that two rounds are used for.
    #[test]
    #[ignore = "takes minutes; run after any change of TWO_ROUNDS"]
    fn two_rounds_have_the_distance() {
        let noise = accumulate::Accumulate::noise_for(TWO_ROUNDS);
        let light = accumulate::log2_light_words(noise, 2, DISTANCE);
        assert!(light < -CODE, "{light}");
    }
}
