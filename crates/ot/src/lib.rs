//! Oblivious transfer, its extensions, and vector oblivious linear evaluation.
//!
//! | module | what it is | source | security |
//! |---|---|---|---|
//! | [`base`] | a few hundred OTs from group operations | Masny, Rindal; Naor, Pinkas | either; semi-honest |
//! | [`iknp`] | correlated OT, κ bits an OT | IKNP03, ALSZ13 | semi-honest |
//! | [`kos`] | correlated OT, 128 bits an OT, for comparison with RR16 | KOS15 | malicious; see there |
//! | [`softspoken`] | correlated OT, 128/k bits an OT | Roy22 | either |
//! | [`silent`] | correlated OT, well below a bit an OT | as `vole` | either |
//! | [`random`] | random OT from any correlated OT | IKNP03 | that of its rows |
//! | [`chosen`] | OT of chosen or correlated strings | IKNP03, ALSZ13 | that of its rows |
//! | [`additive`] | shares of sums of bits times numbers | Gilboa99, ALSZ13 | semi-honest |
//! | [`kk13`] | 1-out-of-256 OT | KK13 | semi-honest |
//! | [`kkrt`] | 1-out-of-∞ OT, a batched OPRF | KKRT16 | semi-honest |
//! | [`vole`] | silent vector OLE | BCGIKRS19, Half-Tree | either |
//!
//! Every extension to correlated OT implements [`CotSender`] and [`CotReceiver`], so that one can replace
//! another. The traits name the security of the implementation as a type ([`security`]).
//!
//! Three modules are parts of these: [`nco`] is the code-based OT extension that [`kk13`] and [`kkrt`]
//! instantiate, [`small_field`] the vector OLE over small fields below [`softspoken`], [`pprf`] the
//! puncturable functions below [`small_field`] and [`vole`].

#![forbid(unsafe_code)]

pub mod additive;
pub mod base;
pub mod chosen;
mod consistency;
mod derandomized;
mod error;
#[cfg(any(test, feature = "testing"))]
pub mod ideal;
pub mod iknp;
pub mod kk13;
pub mod kkrt;
pub mod kos;
pub mod nco;
pub mod pprf;
pub mod random;
pub mod security;
mod seed;
pub mod silent;
pub mod small_field;
pub mod softspoken;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod vole;

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::block::Block;

pub use error::Error;
pub use seed::Seed;

use security::SecurityModel;

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
