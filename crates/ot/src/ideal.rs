//! The ideal twin of correlated OT: both parties draw rows from one stream, and the receiver sends its
//! choices. Only tests can reach it.
//!
//! ```text
//! receiver, choices c                              sender, Δ ←$
//!                                 ◄── seed ──      draws the seed of the dealer's stream
//! t_j = row j of the stream       ── c ──►         q_j = row j of the stream ⊕ c_j·Δ
//! ```

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_crypto::prg::Prg;

use crate::base::bit;
use crate::cot::{CotReceiver, CotSender};
use crate::error::Error;
use crate::security::Malicious;

/// The party that holds Δ.
pub struct Sender<const W: usize> {
    delta: [Block; W],
    dealer: Dealer,
}

/// The party that chooses.
pub struct Receiver<const W: usize> {
    dealer: Dealer,
}

/// The rows, the same for both parties.
struct Dealer {
    columns: usize,
    rows: Prg,
}

impl Dealer {
    /// The next row; columns beyond those of the level are zero.
    fn row<const W: usize>(&mut self) -> [Block; W] {
        let mut row = [Block::ZERO; W];
        self.rows.fill(&mut Block::slice_as_mut_bytes(&mut row)[..self.columns / 8]);
        row
    }
}

impl<const W: usize> Sender<W> {
    /// Draws Δ of `columns` bits and the dealer's seed, and sends the seed.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn setup(
        _: &Context,
        columns: u32,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self, Error> {
        let (seed, columns) = (Block::random(rng), columns as usize);
        channel.send(seed.as_bytes())?;
        channel.flush()?;
        let mut delta = [Block::ZERO; W];
        rng.fill_bytes(&mut Block::slice_as_mut_bytes(&mut delta)[..columns / 8]);
        Ok(Self { delta, dealer: Dealer { columns, rows: Prg::from_seed(seed) } })
    }
}

impl<const W: usize> Receiver<W> {
    /// Receives the dealer's seed.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn setup(
        _: &Context,
        columns: u32,
        channel: &mut dyn Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<Self, Error> {
        let mut seed = Block::ZERO;
        channel.recv_exact(seed.as_mut_bytes())?;
        Ok(Self { dealer: Dealer { columns: columns as usize, rows: Prg::from_seed(seed) } })
    }
}

impl<const W: usize> CotSender<W> for Sender<W> {
    type Security = Malicious;

    fn delta(&self) -> [Block; W] {
        self.delta
    }

    fn extend(&mut self, rows: &mut [[Block; W]], channel: &mut dyn Channel) -> Result<(), Error> {
        let mut choices = vec![0; rows.len().div_ceil(8)];
        channel.recv_exact(&mut choices)?;
        for (j, row) in rows.iter_mut().enumerate() {
            let chosen = Block::mask(bit(&choices, j) == 1);
            let t = self.dealer.row::<W>();
            *row = core::array::from_fn(|word| t[word] ^ self.delta[word] & chosen);
        }
        Ok(())
    }
}

impl<const W: usize> CotReceiver<W> for Receiver<W> {
    type Security = Malicious;

    fn extend(
        &mut self,
        choices: &[u8],
        rows: &mut [[Block; W]],
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        channel.send(&choices[..rows.len().div_ceil(8)])?;
        rows.fill_with(|| self.dealer.row());
        Ok(channel.flush()?)
    }
}
