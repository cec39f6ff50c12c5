//! A receiver that takes another string u in some groups, and answers the check as if it knew the bits of Δ that this
//! hides. Nothing but tests can reach it.

use vesica_crypto::block::Block;
use vesica_crypto::gf128::{self, Gf128};
use vesica_crypto::hash::Context;
use vesica_crypto::prg::Prg;
use vesica_crypto::weighted_xor_sum::BLOCKS;
use zeroize::Zeroize;

use super::{HASH, Receiver, Security, Terms, Width, checked_rows, small_field};
use crate::small_field::cheating::Cheat;

/// Another string in one group.
#[derive(Clone, Copy, Debug)]
pub struct Deviation {
    /// The group; not the first, where choices are random, for u is that group's then.
    pub group: usize,
    /// By how much the first block of its string differs from the others'.
    pub error: Block,
    /// What the group's bits of Δ are taken to be.
    pub guess: usize,
}

impl Receiver {
    /// Twice the same receiver, against a sender that checks, with these lies about its trees. One is for
    /// [`deviate`](Self::deviate).
    #[must_use]
    pub fn twins(
        context: &Context,
        width: Width,
        base: &[[Block; 2]],
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

    /// [`small_field::Receiver::grinding`] with its extension.
    #[must_use]
    pub fn grinding(
        context: &Context,
        width: Width,
        base: &[[Block; 2]],
        rng: &mut dyn rand_core::CryptoRng,
        alike: [usize; 2],
    ) -> (Self, Vec<u8>) {
        Self::over(context, width, small_field::Receiver::grinding(context, width, base, rng, alike))
    }

    fn over(
        context: &Context,
        width: Width,
        (field, message): (small_field::Receiver, Vec<u8>),
    ) -> (Self, Vec<u8>) {
        let terms = Terms::new(context, width, Security::Malicious, &message);
        let sums = vec![[Block::ZERO; BLOCKS]; width.groups()];
        (Self { field, terms, tiles: Vec::new(), sums }, message)
    }

    /// Replaces the honest message of this receiver's next chunk of `places` blocks, at the beginning of `message`.
    pub fn deviate(&mut self, places: usize, chosen: bool, message: &mut [u8], deviations: &[Deviation]) {
        let generated = self.terms.generated(places);
        let message = &mut message[..self.terms.bytes(places, chosen)];
        let (shifts, check) = message.split_at_mut(self.terms.bytes(places, chosen) - Block::BYTES - HASH);
        let (sum, hash) = check.split_at_mut(Block::BYTES);
        let (width, chunk) = (self.terms.width, self.terms.chunk);
        // u: random choices are what the strings become; chosen ones show in the shift of the first group.
        let (mut strings, mut own) = (vec![Block::ZERO; places], Vec::new());
        self.chunk(&mut strings, chosen, &mut own);
        if chosen {
            for (place, string) in strings.iter_mut().enumerate() {
                let at = shift_at(width, generated, chosen, 0, place);
                *string = block(&shifts[at..]) ^ block(&own[at..]);
            }
        }
        // The last block, which hides the others, from the honest sum.
        let mut sum_of_strings = |shifts: &[u8]| {
            self.terms.chunk = chunk;
            let coefficients = self.terms.coefficients(shifts, generated);
            (gf128::inner_product(&strings, &coefficients[..places]).to_block(), coefficients)
        };
        let hidden = block(sum) ^ sum_of_strings(shifts).0;
        for deviation in deviations {
            let at = shift_at(width, generated, chosen, deviation.group, 0);
            let shift = block(&shifts[at..]) ^ deviation.error;
            shifts[at..at + Block::BYTES].copy_from_slice(shift.as_bytes());
        }
        let (visible, coefficients) = sum_of_strings(shifts);
        sum.copy_from_slice((visible ^ hidden).as_bytes());
        let mut rows = checked_rows(&self.tiles, &coefficients);
        let k = width.bits();
        for deviation in deviations {
            let error = (Gf128::from(coefficients[0]) * Gf128::from(deviation.error)).to_block();
            for bit in 0..k {
                rows[deviation.group * k + bit] ^= error & Block::mask(deviation.guess >> bit & 1 == 1);
            }
        }
        let mut checked = [0; HASH];
        self.terms.checked.hash(Block::slice_as_bytes(&rows), &mut checked);
        rows.zeroize();
        hash.copy_from_slice(&checked);
    }

    /// Replaces the honest message of this receiver's next chunk of `places` blocks, at the beginning of `message`, by one
    /// with another string in `group`: errors at two of the generated blocks that the coefficients of the *honest*
    /// message take to zero, under the honest answer. It passes if the receiver knows the coefficients before it has
    /// chosen its strings.
    pub fn foresee(
        &mut self,
        (places, chosen): (usize, bool),
        message: &mut [u8],
        group: usize,
        [first, second]: [usize; 2],
    ) {
        let generated = self.terms.generated(places);
        let (width, bytes) = (self.terms.width, self.terms.bytes(places, chosen));
        let shifts = &mut message[..bytes - Block::BYTES - HASH];
        let coefficients = self.terms.coefficients(shifts, generated);
        // χ_a·χ_b + χ_b·χ_a = 0.
        for (place, error) in [(first, coefficients[second]), (second, coefficients[first])] {
            let at = shift_at(width, generated, chosen, group, place);
            let shift = block(&shifts[at..]) ^ error;
            shifts[at..at + Block::BYTES].copy_from_slice(shift.as_bytes());
        }
    }
}

/// Where the shift of a group stands for a place of a chunk.
fn shift_at(width: Width, generated: usize, chosen: bool, group: usize, place: usize) -> usize {
    let first = usize::from(!chosen);
    let (tile, place) = (place / BLOCKS, place % BLOCKS);
    let sent = (generated - tile * BLOCKS).min(BLOCKS);
    Block::BYTES * (tile * BLOCKS * (width.groups() - first) + (group - first) * sent + place)
}

fn block(bytes: &[u8]) -> Block {
    Block::from_bytes(core::array::from_fn(|i| bytes[i]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::small_field::cheating::digit;
    use crate::small_field::tests::{context, deal_from};
    use crate::softspoken::Sender;
    use crate::testing::credible;

    /// Rows of one extension by a receiver that deviates: Δ, choices, t, q; or nothing, if it was noticed.
    type Rows = (Block, Vec<u8>, Vec<[Block; 1]>, Vec<[Block; 1]>);

    fn run(
        width: Width,
        (chosen, count): (bool, usize),
        rng: &mut Prg,
        deviations: impl FnOnce(Block) -> Vec<Deviation>,
    ) -> Result<Rows, Error> {
        run_with(width, (chosen, count), rng, |twin, delta, sent| {
            twin.deviate(count.div_ceil(Block::BITS), chosen, sent, &deviations(delta));
        })
    }

    /// The same, where the receiver's twin changes its message, Δ being told.
    fn run_with(
        width: Width,
        (chosen, count): (bool, usize),
        rng: &mut Prg,
        cheat: impl FnOnce(&mut Receiver, Block, &mut [u8]),
    ) -> Result<Rows, Error> {
        let (pairs, delta, base) = deal_from(rng);
        let [(mut receiver, setup), (mut twin, _)] = Receiver::twins(&context(), width, &pairs, rng, &[]);
        let mut sender = Sender::new(&context(), width, Security::Malicious, delta, &base, &setup)?;
        let (mut t, mut q) = (vec![[Block::ZERO]; count], vec![[Block::ZERO]; count]);
        let mut choices = vec![0; count.div_ceil(8)];
        rng.fill(&mut choices);
        let mut sent = Vec::new();
        receiver.extend_to(chosen, &mut choices, &mut t, |message| {
            sent.extend_from_slice(message);
            Ok(())
        })?;
        cheat(&mut twin, delta, &mut sent);
        let mut unread = &sent[..];
        sender.extend_from(chosen, &mut q, |message| {
            let (now, later) = unread.split_at(message.len());
            message.copy_from_slice(now);
            unread = later;
            Ok(())
        })?;
        Ok((delta, choices, t, q))
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
        for chosen in [false, true] {
            for count in [1, 127, 128, 1000, 2500] {
                let rows = run(Width::Eight, (chosen, count), &mut rng, |_| Vec::new())
                    .unwrap_or_else(|error| panic!("{error}"));
                assert_rows(Width::Eight, &rows, &[]);
            }
        }
    }

    #[test]
    fn each_group_with_another_string_is_a_guess_of_its_bits() {
        // Width, groups with an error, runs: as many runs pass as the guessed bits say, those whose guess is right; and
        // what comes of it is the leakage that the functionality grants.
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
                let result = run(width, (run_number % 2 == 0, 300), &mut rng, |delta| {
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
        // The coefficients depend on every block of every group's string. If they did not, these would pass whatever Δ is.
        let mut rng = Prg::from_seed([35; 16]);
        let count = 300usize;
        let places = count.div_ceil(Block::BITS);
        for width in [Width::Two, Width::Eight] {
            for chosen in [false, true] {
                for group in [usize::from(!chosen), 7, width.groups() - 1] {
                    // The last of the generated blocks hides the others.
                    for pair in [[0, 1], [1, 2], [2, places]] {
                        let result = run_with(width, (chosen, count), &mut rng, |twin, _, sent| {
                            twin.foresee((places, chosen), sent, group, pair);
                        });
                        let error = result.err();
                        assert_eq!(
                            error,
                            Some(Error::Inconsistent),
                            "{width:?}, {chosen}, group {group}, {pair:?}"
                        );
                    }
                }
            }
        }
    }
}
