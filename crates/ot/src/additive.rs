//! Products of a bit of one party and a number of the other, as sums that are shared modulo 2^k.
//!
//! ```text
//! receiver, bits c_j                              sender, numbers x_j
//! c_j                   ──► correlated ──►        m_j, random
//! m_j + c_j·x_j         ◄──    OTs     ◄──        x_j
//! Σ m_j + c_j·x_j                                 -Σ m_j
//! ```
//!
//! The two sums add up to Σ c_j·x_j modulo 2^k, and each by itself is random. No product is shown, and no share
//! of a single one is kept.
//!
//! **Source:** Gilboa, *Two party RSA key generation*, CRYPTO 1999, §4.1, with the correlated OTs of Asharov,
//! Lindell, Schneider, Zohner, CCS 2013, §5.4: those of [`crate::chosen`], whose second string is the
//! first one plus x_j.
//!
//! **Security** is that of the extension, against semi-honest parties: nothing keeps the sender from giving
//! another number in each OT than the one that it is to give.
//!
//! Cost: ⌈k/8⌉ bytes a product, all of the sender's, beside what the extension sends. Memory: 16 bytes a product
//! of one call at the receiver, nothing at the sender.

use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::memory::Wiped;

use crate::chosen::{self, StringOt};
use crate::{CotReceiver, CotSender, Error};

/// Products of a call of the OTs at the sender.
const CHUNK: usize = 1 << 15;

/// Bytes of a number modulo 2^k.
const fn width(bits: u32) -> usize {
    bits.div_ceil(8) as usize
}

/// Bytes that the sender sends for `count` products modulo 2^`bits`, the extension's aside.
#[must_use]
pub const fn bytes(bits: u32, count: usize) -> u64 {
    chosen::correlated_bytes(width(bits), count)
}

/// A party's products over the correlated OTs `C`: the party with the numbers if that is a [`CotSender`], the
/// party with the bits if it is a [`CotReceiver`].
pub struct Products<C> {
    ots: StringOt<C, 1>,
    bits: u32,
}

impl<C> Products<C> {
    /// Products modulo 2^`bits`, under a label that nothing else of the context has.
    ///
    /// # Panics
    /// If `bits` is 0 or above 128.
    #[must_use]
    pub fn new(context: &Context, label: Label, bits: u32, rows: C) -> Self {
        Self { ots: StringOt::new(context, label, width(bits), rows), bits }
    }

    /// Sets how many threads hash; the default is one.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { ots: self.ots.with_threads(threads), ..self }
    }

    /// Modulo 2^k.
    fn reduced(&self, sum: u128) -> u128 {
        sum & (u128::MAX >> (u128::BITS - self.bits))
    }
}

impl<C: CotSender<1>> Products<C> {
    /// Gives numbers, by their index, for the next `count` products, and takes the share of their sum.
    ///
    /// # Errors
    /// If the extension or the connection fails.
    pub fn send(
        &mut self,
        count: usize,
        number: impl Fn(usize) -> u128,
        channel: &mut dyn Channel,
    ) -> Result<u128, Error> {
        let (mut share, mut zeros) = (0u128, Wiped::from(vec![[Block::ZERO]; CHUNK.min(count)]));
        for first in (0..count).step_by(CHUNK) {
            let zeros = &mut zeros[..CHUNK.min(count - first)];
            let plus = |j, m: &[Block; 1]| [Block::from(m[0].to_u128().wrapping_add(number(first + j)))];
            self.ots.send_correlated(zeros, plus, channel)?;
            share = zeros.iter().fold(share, |share, m| share.wrapping_sub(m[0].to_u128()));
        }
        Ok(self.reduced(share))
    }
}

impl<C: CotReceiver<1>> Products<C> {
    /// Gives bits for the next `count` products, packed eight to a byte, lowest first, and takes the share of
    /// their sum.
    ///
    /// # Errors
    /// If the extension or the connection fails.
    ///
    /// # Panics
    /// If there are fewer bits than products.
    pub fn receive(&mut self, count: usize, bits: &[u8], channel: &mut dyn Channel) -> Result<u128, Error> {
        let mut strings = Wiped::from(vec![[Block::ZERO]; count]);
        self.ots.receive_correlated(bits, &mut strings, channel)?;
        let share = strings.iter().fold(0u128, |share, string| share.wrapping_add(string[0].to_u128()));
        Ok(self.reduced(share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::security::{Profile, SemiHonest};
    use crate::{ideal, silent};
    use rand::{Rng, SeedableRng, rngs::StdRng};
    use std::thread;
    use vesica_channel::memory;
    use vesica_crypto::prg::Prg;

    const LABEL: Label = Label::new("test: products");

    fn context() -> Context {
        Context::new(&[3; 32], "test", b"", 1, 1)
    }

    /// Bits and numbers, of which some have more bits than k.
    fn inputs(count: usize, seed: u64) -> (Vec<u8>, Vec<u128>) {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut bits = vec![0; count.div_ceil(8)];
        rng.fill_bytes(&mut bits);
        (bits, (0..count).map(|_| u128::from(rng.next_u64()) * 0x1_0000_0000_0001).collect())
    }

    /// The shares of both, and the bytes that the sender sends for the products alone.
    fn shares(k: u32, (choices, numbers): (&[u8], &[u128]), seed: u8, over_ideal: bool) -> ([u128; 2], u64) {
        let (mut here, mut there) = memory::pair();
        let (context, count) = (&context(), numbers.len());
        thread::scope(|scope| {
            let sender = scope.spawn(move || {
                let (rng, number) = (&mut Prg::from_seed([seed; 16]), |j: usize| numbers[j]);
                let before;
                let share = if over_ideal {
                    let rows = ideal::Sender::<1>::setup(context, 128, &mut there, rng).unwrap();
                    before = there.traffic().payload_sent;
                    Products::new(context, LABEL, k, rows).send(count, number, &mut there)
                } else {
                    let rows = silent::Sender::<SemiHonest>::setup(
                        context,
                        count,
                        Profile::Conservative,
                        &mut there,
                        rng,
                    );
                    before = there.traffic().payload_sent;
                    Products::new(context, LABEL, k, rows.unwrap()).send(count, number, &mut there)
                };
                (share.unwrap(), there.traffic().payload_sent - before)
            });
            let rng = &mut Prg::from_seed([seed + 1; 16]);
            let mine = if over_ideal {
                let rows = ideal::Receiver::<1>::setup(context, 128, &mut here, rng).unwrap();
                Products::new(context, LABEL, k, rows).receive(count, choices, &mut here)
            } else {
                let profile = Profile::Conservative;
                let rows = silent::Receiver::<SemiHonest>::setup(context, count, profile, &mut here, rng);
                Products::new(context, LABEL, k, rows.unwrap()).receive(count, choices, &mut here)
            };
            let (theirs, bytes) = sender.join().unwrap();
            ([mine.unwrap(), theirs], bytes)
        })
    }

    fn modulo(sum: u128, k: u32) -> u128 {
        sum & (u128::MAX >> (128 - k))
    }

    #[test]
    fn shares_add_up_to_the_sum_of_the_products() {
        for over_ideal in [true, false] {
            for (k, count) in [(1, 9), (8, 1), (22, 1000), (64, 40_000), (85, 33_000), (128, 70), (22, 0)] {
                let (bits, numbers) = inputs(count, u64::from(k));
                let expected = (0..count).filter(|j| bits[j / 8] >> (j % 8) & 1 == 1);
                let expected = expected.fold(0u128, |sum, j| sum.wrapping_add(numbers[j]));
                let ([mine, theirs], sent) = shares(k, (&bits, &numbers), 5, over_ideal);
                assert_eq!(modulo(mine.wrapping_add(theirs), k), modulo(expected, k), "{k} bits, {count}");
                assert!(mine == modulo(mine, k) && theirs == modulo(theirs, k));
                assert_eq!(sent, bytes(k, count), "{k} bits, {count}");
            }
        }
    }

    #[test]
    fn flaw_a_share_says_nothing_of_the_sum() {
        // With other randomness the same inputs have other shares: each bit of either is 0 as often as 1, also where
        // the sum is zero.
        let (bits, numbers) = inputs(100, 1);
        for (k, bits) in [(64, &bits[..]), (64, &[0; 13][..]), (85, &bits[..])] {
            let runs = 64;
            let mut ones = [[0; 128]; 2];
            for seed in 0..runs {
                let (both, _) = shares(k, (bits, &numbers), 2 * seed, true);
                for (ones, share) in ones.iter_mut().zip(both) {
                    (0..k).for_each(|bit| ones[bit as usize] += share >> bit & 1);
                }
            }
            for bit in 0..k as usize {
                assert!(ones.iter().all(|ones| (8..=56).contains(&ones[bit])), "bit {bit} of {k}: {ones:?}");
            }
        }
    }
}
