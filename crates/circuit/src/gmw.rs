//! GMW: each wire is a bit that is shared between both parties, and a layer of AND gates takes one message each
//! way.
//!
//! The parties learn what is opened to them and nothing else, as long as both follow the protocol
//! (semi-honest). Both do the same work; there is no garbler.
//!
//! **Sources:** Goldreich, Micali, Wigderson, STOC 1987, in the form with triples of Beaver, CRYPTO 1991. Triples come
//! from random OT extension as in Asharov, Lindell, Schneider, Zohner, CCS 2013, §5.1. An AND of one bit with w bits
//! takes one OT of strings in each direction instead of 2w OTs of bits: Pinkas, Schneider, Zohner, *Faster PSI Based on
//! OT Extension*, USENIX Security 2014, §3.2 ([`SingleBits`] keeps the other form, for comparison). Where one party
//! knows the bit, one OT in one direction is enough ([`Engine::and_private`](crate::Engine::and_private)).
//!
//! ```text
//! receiver, shares x_0, y_0                                   sender, shares x_1, y_1
//! set-up:     seed of its masks        ─►      ◄─             seed of its masks
//! triples:                     ◄── random OTs each way ──►     ([`random_ots`])
//! input x of the receiver:     x_0 = x ⊕ mask                  x_1 = mask
//! XOR, NOT:                    locally
//! AND:        x_0 ⊕ a_0, y_0 ⊕ b_0     ─►      ◄─             x_1 ⊕ a_1, y_1 ⊕ b_1
//!             d = x ⊕ a, e = y ⊕ b                             the same
//!             z_0 = c_0 ⊕ d·b_0 ⊕ e·a_0 ⊕ d·e                  z_1 = c_1 ⊕ d·b_1 ⊕ e·a_1
//! s·y, the receiver's s:       s ⊕ r   ─►      ◄─             u = y_1 ⊕ b
//!             z_0 = s·(y_0 ⊕ u) ⊕ t                            z_1 = m ⊕ (s ⊕ r)·b
//! open:       z_0                      ─► and/or ◄─           z_1
//! ```
//!
//! z_0 ⊕ z_1 = x·y, since c = a·b and x·y = (d ⊕ a)(e ⊕ b); in the private form t = m ⊕ r·b, and the sum is
//! s·y_0 ⊕ s·(y_1 ⊕ b) ⊕ r·b ⊕ (s ⊕ r)·b. What is sent for a gate is masked by a fresh part of a triple.
//! A share of an output tells its receiver no more than the output does, since it knows the other share.
//!
//! **Full links.** The gates of a layer are split into parts. All parts of a group, up to 2^24 gates, are sent
//! before the first answer is read: while a part is masked, earlier ones are on their way, and while an answer is
//! used, later ones arrive. Layers that depend on one another wait for the link; a circuit puts all its independent
//! gates into one call. Triples are made ahead, in batches of up to 2^20 ([`random_ots`]).
//!
//! | code | paper |
//! |---|---|
//! | [`Triples`]: `a`, `b`, `c` | multiplication triple |
//! | [`Received`]: `choices`, `strings` | r, t |
//! | [`Sent`]: `zeros`, `differences` | m, b |
//!
//! **Cost** of each party, in bytes ([`and_bytes`] and its kin) and OTs:
//!
//! | | sent by each party | OTs |
//! |---|---|---|
//! | n gates of a layer | ⌈2n/8⌉ | n each way |
//! | n selections among w bits, 1 < w ≤ 128 | ⌈n(w + 1)/8⌉ | n each way |
//! | the same with a private bit | ⌈n/8⌉ by the owner, ⌈nw/8⌉ by the other | n one way |
//! | opening of n bits | ⌈n/8⌉ by those who do not learn it alone | |
//! | input | nothing | |
//!
//! Local work is done on words of 64 gates.

pub mod cost;
mod engine;
#[cfg(any(test, feature = "testing"))]
pub mod ideal;
pub mod random_ots;
mod single_bits;
#[cfg(test)]
mod tests;
pub mod triples;

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::wide_prg::WidePrg;
use zeroize::Zeroizing;

pub use cost::Cost;
pub use random_ots::RandomOts;
pub use single_bits::SingleBits;
pub use triples::{Correlations, Demand, Need, Received, Sent, Triples};

use crate::bits::Bits;
use crate::engine::{Opening, Party, STRING_BITS, Watch};
use crate::error::Error;
use crate::shares;

/// Bytes of a seed.
const SEED: usize = 32;

/// Gates of a part of a layer: a message that stays in the first-level cache.
const PART: usize = 1 << 16;
/// Instances of a part have a multiple of this, so that all parts but the last are whole tiles and words.
const PART_UNIT: usize = 1 << 10;
/// Gates of a group of parts.
const GROUP: usize = 1 << 24;
/// Instances of a group of parts with strings.
const STRINGS_GROUP: usize = 1 << 18;

/// Instances of a part, and of a group of parts, and gates of an instance.
#[derive(Clone, Copy)]
struct Parts {
    part: usize,
    group: usize,
    width: usize,
}

/// How layers are split. Both parties split alike.
#[derive(Clone, Copy)]
struct Sizes {
    part: usize,
    unit: usize,
    group: usize,
    strings_group: usize,
}

impl Sizes {
    const DEFAULT: Self = Sizes { part: PART, unit: PART_UNIT, group: GROUP, strings_group: STRINGS_GROUP };

    fn of_bits(self) -> Parts {
        Parts { part: self.part, group: self.group, width: 1 }
    }

    /// For strings of this width.
    fn of_strings(self, width: usize) -> Parts {
        let part = (self.part / width.max(1)).next_multiple_of(self.unit).min(self.strings_group);
        Parts { part, group: self.strings_group / part * part, width }
    }
}

/// A party of the protocol, with its supply of triples.
pub struct Gmw<'a> {
    party: Party,
    correlations: &'a mut (dyn Correlations + 'a),
    channel: &'a mut dyn Channel,
    watch: &'a mut Watch<'a>,
    rng: &'a mut dyn CryptoRng,
    /// Masks of the inputs of the receiver and of the sender; both parties have both.
    masks: [WidePrg; 2],
    sizes: Sizes,
}

impl<'a> Gmw<'a> {
    /// Exchanges the seeds of the masks.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn new(
        party: Party,
        correlations: &'a mut (dyn Correlations + 'a),
        channel: &'a mut dyn Channel,
        watch: &'a mut Watch<'a>,
        rng: &'a mut dyn CryptoRng,
    ) -> Result<Self, Error> {
        let (mut mine, mut theirs) = (Zeroizing::new([0; SEED]), Zeroizing::new([0; SEED]));
        rng.fill_bytes(&mut *mine);
        channel.send(&*mine)?;
        channel.recv_exact(&mut *theirs)?;
        let (mine, theirs) = (WidePrg::from_seed(&mine), WidePrg::from_seed(&theirs));
        let masks = match party {
            Party::Receiver => [mine, theirs],
            Party::Sender => [theirs, mine],
        };
        Ok(Gmw { party, correlations, channel, watch, rng, masks, sizes: Sizes::DEFAULT })
    }

    /// Makes triples ahead, so that the first so many of each kind need no message.
    ///
    /// # Errors
    /// If the connection fails, or the partner's message is not what it must be.
    pub fn prepare(&mut self, needs: &[Need]) -> Result<(), Error> {
        needs.iter().try_for_each(|need| self.correlations.reserve(*need, self.channel, self.rng, self.watch))
    }

    /// The next masks of a party's inputs.
    fn masks(&mut self, owner: Party, rows: usize, len: usize) -> Vec<Bits> {
        let mut bytes = Zeroizing::new(vec![0; len.div_ceil(8)]);
        let masks = (0..rows).map(|_| {
            self.masks[owner as usize].fill(&mut bytes);
            Bits::from_bytes(&bytes, len)
        });
        masks.collect()
    }
}

/// Bytes that each party sends for the seeds.
#[must_use]
pub const fn setup_bytes() -> u64 {
    SEED as u64
}

/// Bytes that each party sends for a layer of so many AND gates.
#[must_use]
pub const fn and_bytes(gates: u64) -> u64 {
    (2 * gates).div_ceil(8)
}

/// Bytes that each party sends to multiply a row of bits by `width` rows.
#[must_use]
pub const fn select_bytes(instances: u64, width: u64) -> u64 {
    let (whole, rest) = (width / STRING_BITS as u64, width % STRING_BITS as u64);
    let one = if rest == 0 { 0 } else { (instances * (rest + 1)).div_ceil(8) };
    whole * (instances * (STRING_BITS as u64 + 1)).div_ceil(8) + one
}

/// Bytes that the owner of a row of bits, and the other party, send to multiply it by `width` rows.
#[must_use]
pub const fn private_bytes(instances: u64, width: u64) -> [u64; 2] {
    let (whole, rest) = (width / STRING_BITS as u64, width % STRING_BITS as u64);
    let other = whole * (instances * STRING_BITS as u64).div_ceil(8) + (instances * rest).div_ceil(8);
    [width.div_ceil(STRING_BITS as u64) * instances.div_ceil(8), other]
}

/// Bytes that a party sends to open so many bits of one call.
#[must_use]
pub fn opening_bytes(opening: Opening, sender: Party, bits: u64) -> u64 {
    shares::opening_bytes(opening, sender, bits)
}
