//! A set in parts, for a run that is played as many small ones.
//!
//! Both parties split their sets by one keyed hash, pad every part to the same bound, and run the protocol on
//! one pair of parts after the other:
//!
//! ```text
//! item' = first w bytes of BLAKE3-keyed(k, digest)       w: the width of the digest, 16 or 32
//! part  = ⌊u64_be(item'[0..8]) · B / 2^64⌋               B parts, any number up to 65,536
//! ```
//!
//! Equal items of the two parties have equal item' and stand in the same part, so the intersection of the
//! whole is the union of those of the parts. Protocols take item' as they take digests.
//!
//! **The key k** must be drawn by a coin toss of both parties after both sets are fixed. Then the bound below
//! holds for every pair of sets. Under a key that is known before, whoever can put rows into a table could
//! choose keys that all fall into one part.
//!
//! **The bound.** A part of n items has more than M(n, B) with probability so small that of all 2·B parts of
//! both sides none does, except with probability 2^-λ. By Bernstein's inequality for u = n/B expected items
//! and a = ln 2^(λ + 1 + ⌈log2 B⌉) (one bit for the two sides, ⌈log2 B⌉ for the union over the parts):
//!
//! ```text
//! P[load > u + x] ≤ e^-(x²/2)/(u + x/3) = e^-a        for x = a/3 + √(2·a·u + (a/3)²)
//! ```
//!
//! [`Parts::bound`] computes that in integers, each step rounded up, so that both parties have the same. It
//! depends on n and B alone: the parts' loads stay secret. `hashing::parameters::bounds` sums the exact tail;
//! the tests compare.
//!
//! **Dummies** fill every part up to M. The first eight bytes of a dummy lie in the range of the part, as
//! those of its items do, and the others are those of a dummy's digest. So the order of a part's items does
//! not tell which are dummies. A dummy is equal to an item of the other side with probability 2^-(8w-log2 B).

use vesica_crypto::security::STATISTICAL_SECURITY;

use super::ItemsError;

/// Most parts of a run.
pub const MOST: u32 = 1 << 16;

/// ln 2, rounded up, in units of 2^-16.
const LN_2: u128 = 45_427;

/// Into how many parts the sets of a run are split.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Parts(u32);

impl Parts {
    /// A run in one piece.
    pub const ONE: Parts = Parts(1);

    /// So many parts, 1 to [`MOST`].
    pub fn new(count: u32) -> Result<Parts, PartsError> {
        if (1..=MOST).contains(&count) { Ok(Parts(count)) } else { Err(PartsError::Count { count }) }
    }

    /// B.
    pub fn count(self) -> usize {
        self.0 as usize
    }

    /// ⌈log2 B⌉.
    pub fn log2(self) -> u32 {
        self.0.next_power_of_two().ilog2()
    }

    /// λ inside a part: that of a run and ⌈log2 B⌉, so that all parts together fail with probability 2^-40.
    pub fn statistical_security(self) -> u32 {
        STATISTICAL_SECURITY + self.log2()
    }

    /// M(n, B): how many items each part of a set of `items` items is padded to.
    pub fn bound(self, items: u64) -> u64 {
        let bits = u128::from(STATISTICAL_SECURITY + 1 + self.log2());
        let a = (bits * LN_2).div_ceil(1 << 16);
        let u = u128::from(items).div_ceil(u128::from(self.0));
        let t = a.div_ceil(3);
        let square = 2 * a * u + t * t;
        let root = square.isqrt();
        let root = root + u128::from(root * root < square);
        // The minimum has 64 bits.
        (u + t + root).min(u128::from(items)) as u64
    }

    /// The part of an item whose first eight bytes are this number, big-endian.
    pub fn of_prefix(self, prefix: u64) -> usize {
        ((u128::from(prefix) * u128::from(self.0)) >> u64::BITS) as usize
    }

    /// The prefixes of the items of part `part`, which must be below B.
    pub(crate) fn range(self, part: usize) -> PrefixRange {
        // The least prefix of a part; of the part after the last one it is 2^64.
        let least = |part: u128| (part << u64::BITS).div_ceil(u128::from(self.0));
        let (start, end) = (least(part as u128), least(part as u128 + 1));
        PrefixRange { start: start as u64, len: end - start }
    }
}

/// Consecutive numbers of 64 bits: the prefixes of the items of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PrefixRange {
    pub(crate) start: u64,
    /// At least 1, at most 2^64.
    pub(crate) len: u128,
}

impl PrefixRange {
    /// Every number.
    pub(super) const ALL: PrefixRange = PrefixRange { start: 0, len: 1 << u64::BITS };

    /// A number of the range: a nearly uniform one if `number` is uniform.
    pub(crate) fn at(self, number: u64) -> u64 {
        self.start + ((u128::from(number) * self.len) >> u64::BITS) as u64
    }
}

/// Why a set could not be split.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartsError {
    /// There are 1 to [`MOST`] parts.
    #[error("{count} parts are not possible: a run has 1 to {MOST}")]
    Count {
        /// What was asked for.
        count: u32,
    },
    /// Native integers are used as they are, so no keyed hash can spread them.
    #[error("native items cannot be split into parts")]
    Native,
    /// More items than [`Parts::bound`] came to one part.
    #[error("part {part} has {items} items, more than its bound of {bound}: this happens to one run in 2^40")]
    Overfull {
        /// The first such part.
        part: usize,
        /// Its items.
        items: usize,
        /// M.
        bound: u64,
    },
    /// A part cannot be padded.
    #[error(transparent)]
    Items(#[from] ItemsError),
}

#[cfg(test)]
mod tests;
