//! Silent correlated OT: a number of transfers that is known ahead, for a fraction of a bit to some bits each.
//!
//! All rows are made at the setup, as a vector OLE whose values are bits ([`crate::vole`]): random choices, nothing to
//! send for them afterwards. A receiver that has choices of its own sends one bit a row, by how much they differ from
//! the random ones, and the sender adds Δ where they do:
//!
//! ```text
//! receiver: a_j, t_j                       sender: Δ, q_j = t_j ⊕ a_j·Δ
//! d_j = c_j ⊕ a_j              ──►         q_j ⊕ d_j·Δ = t_j ⊕ c_j·Δ
//! ```
//!
//! d is uniformly random to the sender, a being pseudo-random. A receiver that sends another d has made another choice.
//! Security, semi-honest or malicious, is that of the vector OLE; rows are to be hashed, tweaked by their number, before
//! they are used as keys.
//!
//! Below 2^16 rows the extension that the LPN instance would start from is used by itself: fewer bytes.
//!
//! Memory: 17 bytes a row on the receiver's side, 16 on the sender's, and three times that during the setup.

use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_crypto::memory::Wiped;
use zeroize::Zeroizing;

use crate::security::{Malicious, Profile, Security, SemiHonest};
use crate::vole::sender::Expanded;
use crate::vole::{self, Bit, Plan};
use crate::{CotReceiver, CotSender, Error};

/// Rows handled between two calls of the channel.
const CHUNK: usize = 1 << 16;

/// The side that holds Δ.
pub struct Sender {
    delta: Zeroizing<Block>,
    rows: Wiped<Block>,
    used: usize,
}

impl Sender {
    /// Base OTs, and `count` rows.
    ///
    /// # Errors
    /// If the connection fails or the partner's messages are not what they must be.
    pub fn setup(
        context: &Context,
        count: usize,
        profile: Profile,
        security: Security,
        channel: &mut dyn Channel,
        rng: &mut dyn rand_core::CryptoRng,
    ) -> Result<Self, Error> {
        let plan = Plan::of_bits(count, profile);
        let Expanded { delta, b: rows } = match security {
            Security::SemiHonest => vole::send::<Bit, SemiHonest>(context, &plan, channel, rng)?,
            Security::Malicious => vole::send::<Bit, Malicious>(context, &plan, channel, rng)?,
        };
        Ok(Self { delta, rows, used: 0 })
    }

    /// Rows not yet given out.
    #[must_use]
    pub fn left(&self) -> usize {
        self.rows.len() - self.used
    }

    /// The next rows, the receiver's choices being random; nothing is sent.
    ///
    /// # Panics
    /// If fewer are left.
    pub fn random(&mut self, count: usize) -> &[Block] {
        let start = self.used;
        self.used += count;
        &self.rows[start..self.used]
    }
}

impl CotSender<1> for Sender {
    fn delta(&self) -> [Block; 1] {
        [*self.delta]
    }

    /// # Panics
    /// If fewer rows are left.
    fn extend(&mut self, rows: &mut [[Block; 1]], channel: &mut dyn Channel) -> Result<(), Error> {
        let mut differences = vec![0; CHUNK / 8];
        for rows in rows.as_flattened_mut().chunks_mut(CHUNK) {
            let differences = &mut differences[..rows.len().div_ceil(8)];
            channel.recv_exact(differences)?;
            let delta = *self.delta;
            rows.copy_from_slice(self.random(rows.len()));
            for (j, row) in rows.iter_mut().enumerate() {
                *row ^= delta & Block::mask(differences[j / 8] >> (j % 8) & 1 == 1);
            }
        }
        Ok(())
    }
}

/// The side that holds choices.
pub struct Receiver {
    choices: Wiped<Bit>,
    rows: Wiped<Block>,
    used: usize,
}

impl Receiver {
    /// Base OTs, and `count` rows with random choices.
    ///
    /// # Errors
    /// If the connection fails or the partner's messages are not what they must be.
    pub fn setup(
        context: &Context,
        count: usize,
        profile: Profile,
        security: Security,
        channel: &mut dyn Channel,
        rng: &mut dyn rand_core::CryptoRng,
    ) -> Result<Self, Error> {
        let plan = Plan::of_bits(count, profile);
        let (choices, rows) = match security {
            Security::SemiHonest => vole::receive::<Bit, SemiHonest>(context, &plan, channel, rng)?,
            Security::Malicious => vole::receive::<Bit, Malicious>(context, &plan, channel, rng)?,
        };
        Ok(Self { choices, rows, used: 0 })
    }

    /// Rows not yet given out.
    #[must_use]
    pub fn left(&self) -> usize {
        self.rows.len() - self.used
    }

    /// The next rows and their random choices; nothing is sent.
    ///
    /// # Panics
    /// If fewer are left.
    pub fn random(&mut self, count: usize) -> (&[Bit], &[Block]) {
        let start = self.used;
        self.used += count;
        (&self.choices[start..self.used], &self.rows[start..self.used])
    }
}

impl CotReceiver<1> for Receiver {
    /// # Panics
    /// If there are fewer choices than rows, or fewer rows are left.
    fn extend(
        &mut self,
        choices: &[u8],
        rows: &mut [[Block; 1]],
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        assert!(choices.len() * 8 >= rows.len(), "one choice for each row");
        let mut differences = Vec::with_capacity(CHUNK / 8);
        for (rows, choices) in rows.as_flattened_mut().chunks_mut(CHUNK).zip(choices.chunks(CHUNK / 8)) {
            let (random, ready) = self.random(rows.len());
            rows.copy_from_slice(ready);
            differences.clear();
            for (random, choices) in random.chunks(8).zip(choices) {
                let bits = random.iter().enumerate().fold(0, |bits, (j, bit)| bits | bit.number() << j);
                // Bits beyond the last row stay zero.
                differences.push(bits ^ (choices & (0xff >> (8 - random.len()))));
            }
            channel.send(&differences)?;
        }
        Ok(())
    }
}

/// Bytes of the setup in each direction, the base OTs aside: from the receiver, and from the sender.
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
    use crate::small_field::tests::context;
    use crate::vole::Value;
    use vesica_crypto::prg::Prg;
    use vesica_net::{Options, memory};

    #[test]
    fn rows_are_correlated_with_random_and_with_chosen_bits() {
        for (count, security) in
            [(2000, Security::SemiHonest), (70_000, Security::SemiHonest), (66_000, Security::Malicious)]
        {
            let (mut here, mut there) = memory::pair(&Options::default());
            let profile = Profile::Conservative;
            let (mut receiver, mut sender) = std::thread::scope(|scope| {
                let mut rng = Prg::from_seed([1; 16]);
                let setup = scope.spawn(|| {
                    Receiver::setup(
                        &context(),
                        count,
                        profile,
                        security,
                        &mut here,
                        &mut Prg::from_seed([2; 16]),
                    )
                });
                let sender = Sender::setup(&context(), count, profile, security, &mut there, &mut rng);
                (setup.join().unwrap().unwrap(), sender.unwrap())
            });
            let delta = sender.delta()[0];
            let (choices, t) = receiver.random(501);
            for ((choice, t), q) in choices.iter().zip(t).zip(sender.random(501)) {
                assert!(*q == *t ^ choice.times(delta));
            }
            for rows in [0, 1, 8, 999] {
                let choices: Vec<u8> = (0..=rows / 8).map(|i| (37 * i + 11) as u8).collect();
                let (mut t, mut q) = (vec![[Block::ZERO]; rows], vec![[Block::ZERO]; rows]);
                receiver.extend(&choices, &mut t, &mut here).unwrap();
                here.flush().unwrap();
                sender.extend(&mut q, &mut there).unwrap();
                for j in 0..rows {
                    let chosen = Block::mask(choices[j / 8] >> (j % 8) & 1 == 1);
                    assert!(q[j][0] == t[j][0] ^ (delta & chosen), "row {j}");
                }
            }
            assert_eq!((receiver.left(), sender.left()), (count - 1509, count - 1509));
        }
    }

    #[test]
    fn a_million_rows_cost_less_than_two_bits_each() {
        let [received, sent] = setup_bytes(1 << 20, Profile::Conservative, Security::Malicious);
        assert!(8 * (received + sent) < 2 << 20, "{received} + {sent}");
    }
}
