//! Silent correlated OT: a number of transfers that is known ahead, for well below a bit to some bits each.
//!
//! The set-up makes all rows, as a vector OLE whose values are bits ([`crate::vole`]): the choices are
//! random, and nothing is sent for them afterwards. A receiver with choices of its own sends one bit a row,
//! the difference to the random choice, and the sender adds Δ where the bit is set (`derandomized.rs`).
//!
//! **Security:** semi-honest or malicious, that of the vector OLE, by which the random choices are pseudo-random. Rows
//! are to be hashed, tweaked by their number, before they are used as keys.
//!
//! Source: Boyle and others (eprint 2019/1159), §5.
//!
//! Below 2^16 rows the extension below the LPN instance is used by itself, which takes fewer bytes.
//!
//! Memory: 17 bytes a row on the receiver's side, 16 on the sender's, and three times that during the set-up.

use core::marker::PhantomData;
use core::ops::Range;

use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_crypto::memory::Wiped;
use zeroize::Zeroizing;

use crate::base::KeyAgreement;
use crate::cot::{CotReceiver, CotSender};
use crate::derandomized;
use crate::error::Error;
use crate::security::{Profile, Security, SecurityModel};
use crate::vole::sender::Expanded;
use crate::vole::{self, Bit, Check, Plan};

/// Rows that are given out in order, each once.
struct Supply {
    rows: Wiped<Block>,
    used: usize,
}

impl Supply {
    fn left(&self) -> usize {
        self.rows.len() - self.used
    }

    /// The numbers of the next `count` rows.
    fn take(&mut self, count: usize) -> Result<Range<usize>, Error> {
        if count > self.left() {
            return Err(Error::Exhausted { asked: count, left: self.left() });
        }
        let first = self.used;
        self.used += count;
        Ok(first..self.used)
    }
}

/// The side that holds Δ.
pub struct Sender<S> {
    delta: Zeroizing<Block>,
    supply: Supply,
    security: PhantomData<S>,
}

impl<S: Check<Bit>> Sender<S> {
    /// Base OTs from this key agreement, and `count` rows.
    ///
    /// # Errors
    /// If the connection fails or the partner's messages are not what they must be.
    pub fn setup(
        context: &Context,
        count: usize,
        profile: Profile,
        agreement: KeyAgreement,
        channel: &mut dyn Channel,
        rng: &mut dyn rand_core::CryptoRng,
    ) -> Result<Self, Error> {
        Self::of_plan(context, &Plan::of_bits(count, profile).with_base_ots(agreement), channel, rng)
    }

    /// Base OTs, and rows by a [plan of bits](Plan::of_bits), on as many threads as it says.
    ///
    /// # Errors
    /// As [`setup`](Self::setup).
    pub fn of_plan(
        context: &Context,
        plan: &Plan,
        channel: &mut dyn Channel,
        rng: &mut dyn rand_core::CryptoRng,
    ) -> Result<Self, Error> {
        let Expanded { delta, b: rows } = vole::send::<Bit, S>(context, plan, channel, rng)?;
        Ok(Self { delta, supply: Supply { rows, used: 0 }, security: PhantomData })
    }
}

impl<S> Sender<S> {
    /// The next rows, for random choices of the receiver. Nothing is sent.
    ///
    /// # Errors
    /// If fewer are left.
    pub fn random(&mut self, count: usize) -> Result<&[Block], Error> {
        let taken = self.supply.take(count)?;
        Ok(&self.supply.rows[taken])
    }
}

impl<S: SecurityModel> CotSender<1> for Sender<S> {
    type Security = S;

    fn delta(&self) -> [Block; 1] {
        [*self.delta]
    }

    fn extend(&mut self, rows: &mut [[Block; 1]], channel: &mut dyn Channel) -> Result<(), Error> {
        derandomized::send(*self.delta, rows, channel, |rows, channel| self.extend_random(rows, channel))
    }

    fn extend_random(&mut self, rows: &mut [[Block; 1]], _: &mut dyn Channel) -> Result<(), Error> {
        let ready = self.random(rows.len())?;
        rows.as_flattened_mut().copy_from_slice(ready);
        Ok(())
    }
}

/// The side that holds choices.
pub struct Receiver<S> {
    choices: Wiped<Bit>,
    supply: Supply,
    security: PhantomData<S>,
}

impl<S: Check<Bit>> Receiver<S> {
    /// Base OTs from this key agreement, and `count` rows with random choices.
    ///
    /// # Errors
    /// If the connection fails or the partner's messages are not what they must be.
    pub fn setup(
        context: &Context,
        count: usize,
        profile: Profile,
        agreement: KeyAgreement,
        channel: &mut dyn Channel,
        rng: &mut dyn rand_core::CryptoRng,
    ) -> Result<Self, Error> {
        Self::of_plan(context, &Plan::of_bits(count, profile).with_base_ots(agreement), channel, rng)
    }

    /// Base OTs, and rows by a [plan of bits](Plan::of_bits), on as many threads as it says.
    ///
    /// # Errors
    /// As [`setup`](Self::setup).
    pub fn of_plan(
        context: &Context,
        plan: &Plan,
        channel: &mut dyn Channel,
        rng: &mut dyn rand_core::CryptoRng,
    ) -> Result<Self, Error> {
        let (choices, rows) = vole::receive::<Bit, S>(context, plan, channel, rng)?;
        Ok(Self { choices, supply: Supply { rows, used: 0 }, security: PhantomData })
    }
}

impl<S> Receiver<S> {
    /// The next rows and their random choices. Nothing is sent.
    ///
    /// # Errors
    /// If fewer are left.
    pub fn random(&mut self, count: usize) -> Result<(&[Bit], &[Block]), Error> {
        let taken = self.supply.take(count)?;
        Ok((&self.choices[taken.clone()], &self.supply.rows[taken]))
    }

    /// The next rows, and their random choices, packed.
    fn next(&mut self, choices: &mut [u8], rows: &mut [[Block; 1]]) -> Result<(), Error> {
        assert!(choices.len() * 8 >= rows.len(), "one choice for each row");
        let (random, ready) = self.random(rows.len())?;
        rows.as_flattened_mut().copy_from_slice(ready);
        choices.iter_mut().zip(random.chunks(8)).for_each(|(choices, random)| *choices = packed(random));
        Ok(())
    }
}

impl<S: SecurityModel> CotReceiver<1> for Receiver<S> {
    type Security = S;

    fn extend(
        &mut self,
        choices: &[u8],
        rows: &mut [[Block; 1]],
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        derandomized::receive(choices, rows, channel, |random, rows, _| self.next(random, rows))
    }

    fn extend_random(
        &mut self,
        choices: &mut [u8],
        rows: &mut [[Block; 1]],
        _: &mut dyn Channel,
        _: &mut dyn rand_core::CryptoRng,
    ) -> Result<(), Error> {
        self.next(choices, rows)
    }
}

/// Up to eight bits in a byte, lowest first.
fn packed(bits: &[Bit]) -> u8 {
    bits.iter().enumerate().fold(0, |byte, (j, bit)| byte | bit.number() << j)
}

/// Bytes of the set-up without the base OTs: from the receiver, and from the sender.
#[must_use]
pub fn setup_bytes(count: usize, profile: Profile, security: Security) -> [usize; 2] {
    let plan = Plan::of_bits(count, profile);
    [
        plan.correction_bytes::<Bit>(security) + plan.flight4_bytes(security),
        plan.flight3_bytes() + plan.flight5_bytes(security),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bit;
    use crate::derandomized::CHUNK;
    use crate::security::{Malicious, SemiHonest};
    use crate::small_field::tests::context;
    use crate::vole::Value;
    use vesica_channel::memory;
    use vesica_crypto::prg::Prg;

    fn check<S: Check<Bit>>(count: usize) {
        let (mut here, mut there) = memory::pair();
        let (profile, agreement) = (Profile::Conservative, KeyAgreement::default());
        let (mut receiver, mut sender) = std::thread::scope(|scope| {
            let setup = scope.spawn(|| {
                let rng = &mut Prg::from_seed([2; 16]);
                Receiver::<S>::setup(&context(), count, profile, agreement, &mut here, rng)
            });
            let rng = &mut Prg::from_seed([1; 16]);
            let sender = Sender::<S>::setup(&context(), count, profile, agreement, &mut there, rng);
            (setup.join().unwrap().unwrap(), sender.unwrap())
        });
        let delta = sender.delta()[0];
        let (choices, t) = receiver.random(501).unwrap();
        for ((choice, t), q) in choices.iter().zip(t).zip(sender.random(501).unwrap()) {
            assert!(*q == *t ^ choice.times(delta));
        }
        for rows in [0, 1, 8, 999] {
            let choices: Vec<u8> = (0..=rows / 8).map(|i| (37 * i + 11) as u8).collect();
            let (mut t, mut q) = (vec![[Block::ZERO]; rows], vec![[Block::ZERO]; rows]);
            receiver.extend(&choices, &mut t, &mut here).unwrap();
            here.flush().unwrap();
            sender.extend(&mut q, &mut there).unwrap();
            for j in 0..rows {
                let chosen = Block::mask(bit(&choices, j) == 1);
                assert!(q[j][0] == t[j][0] ^ (delta & chosen), "row {j}");
            }
        }
        let left = count - 1509;
        assert_eq!((receiver.supply.left(), sender.supply.left()), (left, left));
        let exhausted = Error::Exhausted { asked: left + 1, left };
        assert_eq!(sender.random(left + 1).err(), Some(exhausted.clone()));
        let mut rows = vec![[Block::ZERO]; left + 1];
        let choices = vec![0; left / 8 + 1];
        if left < CHUNK {
            assert_eq!(receiver.extend(&choices, &mut rows, &mut here), Err(exhausted));
        }
    }

    #[test]
    fn rows_are_correlated_with_random_and_with_chosen_bits() {
        check::<SemiHonest>(2000);
        check::<SemiHonest>(70_000);
        check::<Malicious>(66_000);
    }

    #[test]
    fn a_million_rows_cost_less_than_two_bits_each() {
        let [received, sent] = setup_bytes(1 << 20, Profile::Conservative, Security::Malicious);
        assert!(8 * (received + sent) < 2 << 20, "{received} + {sent}");
    }
}
