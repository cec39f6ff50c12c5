//! A receiver that takes another string u in some groups, and answers the check with a guess of the bits of Δ
//! that it would need. Only tests can reach it.

use vesica_crypto::block::Block;
use vesica_crypto::gf128::{self, Gf128};
use vesica_crypto::hash::Context;
use vesica_crypto::prg::Prg;
use vesica_crypto::transpose::ROWS;
use vesica_crypto::weighted_xor_sum::BLOCKS;

use super::{Choices, HASH, Receiver, Width, checked_rows, small_field};
use crate::security::Malicious;
use crate::small_field::cheating::Cheat;

/// Another string in one group.
#[derive(Clone, Copy, Debug)]
pub struct Deviation {
    /// The group; not the first, where choices are random, for u is that group's then.
    pub group: usize,
    /// By how much the first block of its string differs from the others'.
    pub error: Block,
    /// The guess of the group's bits of Δ.
    pub guess: usize,
}

impl Receiver<Malicious> {
    /// Twice the same receiver, against a sender that checks, with these lies about its trees. One is for
    /// [`deviate`](Self::deviate).
    #[must_use]
    pub fn twins(
        context: &Context,
        width: Width,
        base: &[[Block; 2]; ROWS],
        rng: &mut dyn rand_core::CryptoRng,
        cheats: &[Cheat],
    ) -> [(Self, Vec<u8>); 2] {
        let seed = Block::random(rng);
        [(); 2].map(|()| {
            let mut rng = Prg::from_seed(seed);
            let field = small_field::Receiver::cheating(context, width, base, &mut rng, cheats);
            Self::over(context, width, field)
        })
    }

    /// `small_field::Receiver::grinding` with its extension.
    #[must_use]
    pub fn grinding(
        context: &Context,
        width: Width,
        base: &[[Block; 2]; ROWS],
        rng: &mut dyn rand_core::CryptoRng,
        alike: [usize; 2],
    ) -> (Self, Vec<u8>) {
        Self::over(context, width, small_field::Receiver::grinding(context, width, base, rng, alike))
    }

    /// Replaces the honest message of this receiver's next chunk, which yields `blocks`, at the beginning of
    /// `message`.
    pub fn deviate(&mut self, blocks: usize, choices: Choices, message: &mut [u8], deviations: &[Deviation]) {
        let generated = self.sizes.generated(blocks);
        let message = &mut message[..self.sizes.bytes(blocks, choices)];
        let (differences, check) = message.split_at_mut(message.len() - Block::BYTES - HASH);
        let (sum, hash) = check.split_at_mut(Block::BYTES);
        let (width, chunk) = (self.sizes.width, self.check.chunk);
        // u: random choices are written to the strings; chosen ones show in the difference of the first
        // group.
        let (mut strings, mut own) = (vec![Block::ZERO; blocks], Vec::new());
        self.chunk(&mut strings, choices, &mut own);
        if choices == Choices::Chosen {
            for (index, string) in strings.iter_mut().enumerate() {
                let at = difference_at(width, generated, choices, 0, index);
                *string = block(&differences[at..]) ^ block(&own[at..]);
            }
        }
        // The last block, which hides the others, from the honest sum.
        let mut sum_of_strings = |differences: &[u8]| {
            self.check.chunk = chunk;
            let coefficients = self.check.coefficients(differences, generated);
            (gf128::inner_product(&strings, &coefficients[..blocks]).to_block(), coefficients)
        };
        let hidden = block(sum) ^ sum_of_strings(differences).0;
        for deviation in deviations {
            let at = difference_at(width, generated, choices, deviation.group, 0);
            let difference = block(&differences[at..]) ^ deviation.error;
            differences[at..at + Block::BYTES].copy_from_slice(difference.as_bytes());
        }
        let (visible, coefficients) = sum_of_strings(differences);
        sum.copy_from_slice((visible ^ hidden).as_bytes());
        let mut rows = checked_rows(&self.tiles, &coefficients);
        let k = width.bits();
        for deviation in deviations {
            let error = (Gf128::from(coefficients[0]) * Gf128::from(deviation.error)).to_block();
            for bit in 0..k {
                rows[deviation.group * k + bit] ^= error & Block::mask(deviation.guess >> bit & 1 == 1);
            }
        }
        hash.copy_from_slice(&self.check.hash(rows));
    }

    /// Replaces the honest message of this receiver's next chunk, which yields `blocks`, at the beginning of
    /// `message`. In the new one `group` has another string: errors at two of the generated blocks that the
    /// coefficients of the *honest* message take to zero, under the honest answer. It passes if the receiver
    /// knows the coefficients before it has chosen its strings.
    pub fn foresee(
        &mut self,
        blocks: usize,
        choices: Choices,
        message: &mut [u8],
        group: usize,
        [first, second]: [usize; 2],
    ) {
        let generated = self.sizes.generated(blocks);
        let (width, bytes) = (self.sizes.width, self.sizes.bytes(blocks, choices));
        let differences = &mut message[..bytes - Block::BYTES - HASH];
        let coefficients = self.check.coefficients(differences, generated);
        // χ_a·χ_b + χ_b·χ_a = 0.
        for (index, error) in [(first, coefficients[second]), (second, coefficients[first])] {
            let at = difference_at(width, generated, choices, group, index);
            let difference = block(&differences[at..]) ^ error;
            differences[at..at + Block::BYTES].copy_from_slice(difference.as_bytes());
        }
    }
}

/// Where the difference of a group stands in the message, for a block of the chunk.
fn difference_at(width: Width, generated: usize, choices: Choices, group: usize, index: usize) -> usize {
    let groups = choices.corrected_groups(width);
    let (tile, index) = (index / BLOCKS, index % BLOCKS);
    let sent = (generated - tile * BLOCKS).min(BLOCKS);
    Block::BYTES * (tile * BLOCKS * groups.len() + (group - groups.start) * sent + index)
}

fn block(bytes: &[u8]) -> Block {
    Block::from_bytes(core::array::from_fn(|i| bytes[i]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::small_field::cheating::digit;
    use crate::small_field::tests::{context, deal_from};
    use crate::softspoken::Sender;
    use crate::testing::credible;

    /// Rows of one extension by a receiver that deviates: Δ, choices, t, q; or nothing, if it was noticed.
    type Rows = (Block, Vec<u8>, Vec<[Block; 1]>, Vec<[Block; 1]>);

    fn run(
        width: Width,
        choices: Choices,
        count: usize,
        rng: &mut Prg,
        deviations: impl FnOnce(Block) -> Vec<Deviation>,
    ) -> Result<Rows, Error> {
        run_with(width, choices, count, rng, |twin, delta, sent| {
            twin.deviate(count.div_ceil(Block::BITS), choices, sent, &deviations(delta));
        })
    }

    /// Rows of one extension where the receiver's twin changes its message, Δ being told.
    fn run_with(
        width: Width,
        choices: Choices,
        count: usize,
        rng: &mut Prg,
        cheat: impl FnOnce(&mut Receiver<Malicious>, Block, &mut [u8]),
    ) -> Result<Rows, Error> {
        let (pairs, delta, base) = deal_from(rng);
        let [(mut receiver, setup), (mut twin, _)] = Receiver::twins(&context(), width, &pairs, rng, &[]);
        let mut sender = Sender::<Malicious>::new(&context(), width, delta, &base, &setup)?;
        let (mut t, mut q) = (vec![[Block::ZERO]; count], vec![[Block::ZERO]; count]);
        let mut bits = vec![0; count.div_ceil(8)];
        rng.fill(&mut bits);
        let mut sent = Vec::new();
        receiver.extend_to(choices, &mut bits, &mut t, |message| {
            sent.extend_from_slice(message);
            Ok(())
        })?;
        cheat(&mut twin, delta, &mut sent);
        let mut unread = &sent[..];
        sender.extend_from(choices, &mut q, |message| {
            let (now, later) = unread.split_at(message.len());
            message.copy_from_slice(now);
            unread = later;
            Ok(())
        })?;
        Ok((delta, bits, t, q))
    }

    /// Every row is what the theory says: in the groups with an error the choice is another one.
    fn assert_rows(width: Width, (delta, choices, t, q): &Rows, deviations: &[Deviation]) {
        for (j, (t, q)) in t.iter().zip(q).enumerate() {
            let mut expected = t[0] ^ (*delta & Block::mask(choices[j / 8] >> (j % 8) & 1 == 1));
            for deviation in deviations.iter().filter(|deviation| j < 128 && deviation.error.bit(j)) {
                let group = ((1u128 << width.bits()) - 1) << (deviation.group * width.bits());
                expected ^= *delta & Block::from(group);
            }
            assert!(q[0] == expected, "{width:?}, row {j}");
        }
    }

    #[test]
    fn no_deviation_is_the_honest_message() {
        let mut rng = Prg::from_seed([30; 16]);
        for choices in [Choices::Random, Choices::Chosen] {
            for count in [1, 127, 128, 1000, 2500] {
                let rows = run(Width::Eight, choices, count, &mut rng, |_| Vec::new())
                    .unwrap_or_else(|error| panic!("{error}"));
                assert_rows(Width::Eight, &rows, &[]);
            }
        }
    }

    #[test]
    fn each_group_with_another_string_is_a_guess_of_its_bits() {
        // Width, groups with an error, runs: as many runs pass as the guessed bits say, those whose guess is
        // right; and what comes of it is the leakage that the functionality grants.
        let cases: [(Width, &[usize], usize); 5] = [
            (Width::Two, &[1], 300),
            (Width::Two, &[5, 63], 300),
            (Width::Two, &[7, 8, 9], 400),
            (Width::Four, &[31], 300),
            (Width::Eight, &[15], 600),
        ];
        for (width, groups, runs) in cases {
            let mut rng = Prg::from_seed([groups.len() as u8; 16]);
            let mut accepted = 0;
            for run_number in 0..runs {
                let guesses: Vec<Deviation> = groups
                    .iter()
                    .map(|&group| {
                        let guess = rng.block().to_u128() as usize & ((1 << width.bits()) - 1);
                        Deviation { group, error: rng.block(), guess }
                    })
                    .collect();
                let mut right = false;
                let choices = if run_number % 2 == 0 { Choices::Chosen } else { Choices::Random };
                let result = run(width, choices, 300, &mut rng, |delta| {
                    right = guesses.iter().all(|guess| digit(width, delta, guess.group) == guess.guess);
                    guesses.clone()
                });
                match &result {
                    Ok(rows) => assert_rows(width, rows, &guesses),
                    Err(error) => assert_eq!(*error, Error::Inconsistent),
                }
                assert_eq!(result.is_ok(), right, "{width:?} {groups:?}");
                accepted += usize::from(right);
            }
            let probability = 0.5f64.powi((width.bits() * groups.len()) as i32);
            assert!(credible(accepted, runs, probability), "{width:?} {groups:?}: {accepted} of {runs}");
        }
    }

    #[test]
    fn strings_that_fit_coefficients_known_before_are_noticed() {
        // The coefficients depend on every block of every group's string. If they did not, these would pass
        // whatever Δ is.
        let mut rng = Prg::from_seed([35; 16]);
        let count = 300usize;
        let blocks = count.div_ceil(Block::BITS);
        for width in [Width::Two, Width::Eight] {
            for choices in [Choices::Random, Choices::Chosen] {
                for group in [choices.corrected_groups(width).start, 7, width.groups() - 1] {
                    // The last of the generated blocks hides the others.
                    for pair in [[0, 1], [1, 2], [2, blocks]] {
                        let result = run_with(width, choices, count, &mut rng, |twin, _, sent| {
                            twin.foresee(blocks, choices, sent, group, pair);
                        });
                        let error = result.err();
                        assert_eq!(
                            error,
                            Some(Error::Inconsistent),
                            "{width:?}, {choices:?}, group {group}, {pair:?}"
                        );
                    }
                }
            }
        }
    }
}
