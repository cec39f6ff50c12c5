//! Oblivious transfer, its extensions, and vector oblivious linear evaluation.
//!
//! [`base`] makes a few hundred OTs from a group; the extensions make millions of those. Every extension gives
//! correlated rows, the form in which they can stand in for one another: [`CotSender`] and [`CotReceiver`]. [`iknp`] is the
//! one of the papers, [`softspoken`] the one against malicious parties and for few bytes; [`random`] and [`chosen`] make
//! strings of rows. [`kk13`] has many strings to choose from in one OT, [`kkrt`] all there are: a batched OPRF. [`vole`]
//! makes vector OLE of next to nothing, [`silent`] correlated OT of that.
//!
//! Beneath them: [`nco`] is the frame that [`kk13`] and [`kkrt`] share, [`small_field`] the vector OLE over small fields that
//! [`softspoken`] is made of, [`pprf`] the punctured trees of [`small_field`] and [`vole`].

#![forbid(unsafe_code)]

pub mod base;
pub mod chosen;
mod error;
#[cfg(any(test, feature = "testing"))]
pub mod ideal;
pub mod iknp;
pub mod kk13;
pub mod kkrt;
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

use vesica_channel::Channel;
use vesica_crypto::block::Block;

pub use error::Error;
pub use seed::Seed;

/// The side of correlated OTs that holds Δ: rows q_j, where the other side has t_j = q_j ⊕ c_j·Δ.
///
/// A row has `W` blocks, 128 columns each; columns that a level does not use are zero. Row numbers run on from call to
/// call.
pub trait CotSender<const W: usize> {
    /// Δ.
    fn delta(&self) -> [Block; W];

    /// The next rows.
    ///
    /// # Errors
    /// If the connection fails or the partner's message is not what it must be.
    fn extend(&mut self, rows: &mut [[Block; W]], channel: &mut dyn Channel) -> Result<(), Error>;
}

/// The side of correlated OTs that holds the choices c_j and rows t_j.
pub trait CotReceiver<const W: usize> {
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
}
