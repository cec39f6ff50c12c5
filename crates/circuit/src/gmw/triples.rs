//! What the gates are computed from: bits and strings that are correlated between the parties, each used once.
//!
//! ```text
//! triple of width w         a_0 ⊕ a_1 one bit, b_0 ⊕ b_1 and c_0 ⊕ c_1 of w bits,   c_0 ⊕ c_1 = (a_0 ⊕ a_1)·(b_0 ⊕ b_1)
//! private triple            one party: a bit r and t of w bits     the other: m and b of w bits,   t = m ⊕ r·b
//! ```
//!
//! A triple of width w is made of two private triples, one in each direction: a_i = r, b_i is the b of the OT
//! that party i sends, and c_i = a_i·b_i ⊕ t ⊕ m. The sum of both c_i is a_0·b_0 ⊕ a_1·b_1 ⊕ a_0·b_1 ⊕ a_1·b_0,
//! since t ⊕ m of an OT is the product of the bit of one party with the string of the other.

use rand_core::CryptoRng;
use vesica_channel::Channel;

use crate::bits::Bits;
use crate::count::Count;
use crate::engine::{Party, Watch};
use crate::error::Error;
use crate::wires::Wires;

/// A party's shares of triples of one width: row i of `b` and `c` holds bit i of every string.
pub struct Triples {
    /// One bit a triple.
    pub a: Bits,
    /// The strings that are multiplied by the bits.
    pub b: Vec<Bits>,
    /// The products.
    pub c: Vec<Bits>,
}

impl Triples {
    /// The triples of private ones in both directions.
    #[must_use]
    pub fn of(received: Received, sent: Sent) -> Self {
        let Received { choices: a, strings } = received;
        let Sent { zeros, differences: b } = sent;
        let products = b.iter().zip(strings.iter().zip(&zeros));
        // c = a·b ⊕ t ⊕ m
        let c = products.map(|(b, (t, m))| {
            let local = a.zip_words(b, |a, b| a & b).zip_words(t, |product, t| product ^ t);
            local.zip_words(m, |sum, m| sum ^ m)
        });
        Triples { c: c.collect(), a, b }
    }

    /// No triple of a width.
    #[must_use]
    pub fn none(width: usize) -> Self {
        let rows = || vec![Bits::repeat(false, 0); width];
        Triples { a: Bits::repeat(false, 0), b: rows(), c: rows() }
    }

    /// The last `count`, which are gone afterwards.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn take(&mut self, count: usize) -> Result<Self, Error> {
        let left = self.len();
        let at = left.checked_sub(count).ok_or(vesica_ot::Error::Exhausted { asked: count, left })?;
        let split = |rows: &mut [Bits]| rows.iter_mut().map(|row| row.split_off(at)).collect();
        Ok(Triples { a: self.a.split_off(at), b: split(&mut self.b), c: split(&mut self.c) })
    }

    /// All triples of several batches of this width.
    #[must_use]
    pub fn join(batches: &[Self], width: usize) -> Self {
        let join = |row: &dyn Fn(&Self) -> &Bits| -> Bits {
            Bits::join(&batches.iter().map(row).collect::<Vec<_>>())
        };
        Triples {
            a: join(&|batch| &batch.a),
            b: (0..width).map(|i| join(&|batch| &batch.b[i])).collect(),
            c: (0..width).map(|i| join(&|batch| &batch.c[i])).collect(),
        }
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.a.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.a.is_empty()
    }
}

/// Private triples of the party that has the bits r: what it received by OTs with these choices.
pub struct Received {
    /// r.
    pub choices: Bits,
    /// t, row by row.
    pub strings: Vec<Bits>,
}

/// Private triples of the other party: the strings of its OTs for choice 0, and what those for choice 1 differ by.
pub struct Sent {
    /// m, row by row.
    pub zeros: Vec<Bits>,
    /// b, row by row.
    pub differences: Vec<Bits>,
}

/// How many of which kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Triples of one bit.
    Bits(usize),
    /// Triples of strings of up to [`STRING_BITS`](crate::engine::STRING_BITS) bits.
    Strings(usize),
    /// Private triples of such strings, for bits of this party.
    Received(usize),
    /// Private triples of such strings, for bits of the other party.
    Sent(usize),
}

/// What a circuit takes in all.
///
/// With it, triples are made ahead, in few and large steps, and none is made in vain. If it is less than what the
/// circuit takes, the rest is made when it is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Triples of one bit.
    pub bits: u64,
    /// Triples of strings.
    pub strings: u64,
    /// Private triples for bits of the receiver and of the sender.
    pub private: [u64; 2],
}

impl Demand {
    /// The demand of the circuit that was counted.
    #[must_use]
    pub fn of(count: &Count) -> Self {
        let Count { ands, selects, select_ands, private_selects, .. } = *count;
        Demand { bits: ands - select_ands, strings: selects, private: private_selects }
    }

    /// The OTs whose choices a party makes, for bits and for strings: an extension is asked for each of these numbers,
    /// all but the last part of it in multiples of 1024.
    #[must_use]
    pub fn rows(&self, party: Party) -> [u64; 2] {
        [self.bits, self.strings + self.private[party as usize]]
    }
}

/// Where an engine's triples come from. Both parties ask for the same in the same order.
///
/// What is taken is never given out again.
pub trait Correlations {
    /// Makes what is lacking, so that so many can be taken without a message. In between it asks `watch`, for no
    /// gate, whether to go on. Where nothing is ever lacking, this does nothing.
    ///
    /// # Errors
    /// If the connection fails, the partner's message is not what it must be, or the caller asked to stop.
    fn reserve(
        &mut self,
        need: Need,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
        watch: &mut Watch<'_>,
    ) -> Result<(), Error> {
        let _ = (need, channel, rng, watch);
        Ok(())
    }

    /// The next triples of one bit.
    ///
    /// # Errors
    /// If fewer have been reserved.
    fn bits(&mut self, count: usize) -> Result<Triples, Error>;

    /// The next private triples for bits of this party.
    ///
    /// # Errors
    /// If fewer have been reserved.
    fn received(&mut self, count: usize, width: usize) -> Result<Received, Error>;

    /// The next private triples for bits of the other party.
    ///
    /// # Errors
    /// If fewer have been reserved.
    fn sent(&mut self, count: usize, width: usize) -> Result<Sent, Error>;

    /// The next triples of strings of `width` bits.
    ///
    /// # Errors
    /// If fewer have been reserved.
    fn strings(&mut self, count: usize, width: usize) -> Result<Triples, Error> {
        let received = self.received(count, width)?;
        Ok(Triples::of(received, self.sent(count, width)?))
    }
}
