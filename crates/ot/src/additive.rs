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
use crate::cot::{CotReceiver, CotSender};
use crate::error::Error;

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
mod tests;
