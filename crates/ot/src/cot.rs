//! What every extension of correlated OTs offers, as traits.

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::block::Block;

use crate::error::Error;
use crate::security::SecurityModel;

/// The side of correlated OTs that holds Δ and gets rows q_j. The other side has t_j = q_j ⊕ c_j·Δ.
///
/// A row has `W` blocks, 128 columns each; columns that a level does not use are zero. Row numbers run on
/// from call to call.
pub trait CotSender<const W: usize> {
    /// The parties that the correlated OTs withstand. A protocol that needs malicious security asks for
    /// `CotSender<W, Security = Malicious>`.
    ///
    /// ```
    /// # use vesica_ot::{CotSender, security::Malicious, softspoken};
    /// fn protocol(ot: impl CotSender<1, Security = Malicious>) {}
    /// fn over_softspoken(ot: softspoken::Sender<Malicious>) {
    ///     protocol(ot);
    /// }
    /// ```
    ///
    /// ```compile_fail
    /// # use vesica_ot::{CotSender, iknp, security::Malicious};
    /// # fn protocol(ot: impl CotSender<1, Security = Malicious>) {}
    /// fn over_iknp(ot: iknp::Sender<1>) {
    ///     protocol(ot);
    /// }
    /// ```
    type Security: SecurityModel;

    /// Δ.
    fn delta(&self) -> [Block; W];

    /// The next rows.
    ///
    /// # Errors
    /// If the connection fails or the partner's message is not what it must be.
    fn extend(&mut self, rows: &mut [[Block; W]], channel: &mut dyn Channel) -> Result<(), Error>;

    /// The next rows, whose choices are random: the partner calls [`CotReceiver::extend_random`].
    ///
    /// # Errors
    /// As [`extend`](Self::extend).
    fn extend_random(&mut self, rows: &mut [[Block; W]], channel: &mut dyn Channel) -> Result<(), Error> {
        self.extend(rows, channel)
    }

    /// Sends what the partner waits for in its next `count` rows of [`extend_random`](Self::extend_random), if it
    /// waits for anything. The partner has called [`CotReceiver::prepare`] before. A party of both roles calls both
    /// before it makes any row; otherwise two parties may wait for each other.
    ///
    /// # Errors
    /// As [`extend`](Self::extend).
    fn prepare(&mut self, _count: usize, _channel: &mut dyn Channel) -> Result<(), Error> {
        Ok(())
    }
}

impl<const W: usize, C: CotSender<W>> CotSender<W> for &mut C {
    type Security = C::Security;

    fn delta(&self) -> [Block; W] {
        C::delta(self)
    }

    fn extend(&mut self, rows: &mut [[Block; W]], channel: &mut dyn Channel) -> Result<(), Error> {
        C::extend(self, rows, channel)
    }

    fn extend_random(&mut self, rows: &mut [[Block; W]], channel: &mut dyn Channel) -> Result<(), Error> {
        C::extend_random(self, rows, channel)
    }

    fn prepare(&mut self, count: usize, channel: &mut dyn Channel) -> Result<(), Error> {
        C::prepare(self, count, channel)
    }
}

/// The side of correlated OTs that holds the choices c_j and gets rows t_j.
pub trait CotReceiver<const W: usize> {
    /// As [`CotSender::Security`].
    type Security: SecurityModel;

    /// The next rows, for the receiver's own choices, packed eight to a byte, lowest first.
    ///
    /// # Errors
    /// If the connection fails.
    ///
    /// # Panics
    /// If there are fewer choices than rows.
    fn extend(
        &mut self,
        choices: &[u8],
        rows: &mut [[Block; W]],
        channel: &mut dyn Channel,
    ) -> Result<(), Error>;

    /// The next rows, for random choices, which are written to `choices`, packed eight to a byte. An extension
    /// whose choices are random by themselves sends less than for chosen ones. Bits of `choices` beyond the
    /// rows have no meaning.
    ///
    /// # Errors
    /// As [`extend`](Self::extend).
    ///
    /// # Panics
    /// If there is room for fewer choices than rows.
    fn extend_random(
        &mut self,
        choices: &mut [u8],
        rows: &mut [[Block; W]],
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Error> {
        rng.fill_bytes(choices);
        self.extend(choices, rows, channel)
    }

    /// Sends what [`CotSender::prepare`] waits for, for the next `count` rows of
    /// [`extend_random`](Self::extend_random), if it waits for anything.
    ///
    /// # Errors
    /// If the connection fails.
    fn prepare(&mut self, _count: usize, _channel: &mut dyn Channel) -> Result<(), Error> {
        Ok(())
    }
}

impl<const W: usize, C: CotReceiver<W>> CotReceiver<W> for &mut C {
    type Security = C::Security;

    fn extend(
        &mut self,
        choices: &[u8],
        rows: &mut [[Block; W]],
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        C::extend(self, choices, rows, channel)
    }

    fn extend_random(
        &mut self,
        choices: &mut [u8],
        rows: &mut [[Block; W]],
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Error> {
        C::extend_random(self, choices, rows, channel, rng)
    }

    fn prepare(&mut self, count: usize, channel: &mut dyn Channel) -> Result<(), Error> {
        C::prepare(self, count, channel)
    }
}
