//! The program that derives the numbers of hash functions, bins and slots.
//!
//! An item that is not among the n of a filter is *false positive* if all its k positions are taken. Its bin
//! holds j of the n items with binomial probability, a slot of a slice there is free with probability (1 -
//! 1/s)^j, and slices are independent, so over the choice of the hash functions
//!
//! ```text
//! P(false positive) = Σ_j Bin(n, 1/b)(j) · (1 - (1 - 1/s)^j)^k      and s is the smallest with P ≤ 2^-k
//! ```
//!
//! With one bin this is s = ⌈1/(1 - 2^(-1/n))⌉, about n·log2 e + ½: DCW13's m = k·n·log2 e, and less than 2k
//! slots more. The same sum bounds the probability that an item finds no slot of its own in a garbled filter
//! (Algorithm 1, line 20), because fewer than n items precede it.
//!
//! Both parties must compute the same integers. So the program only adds, multiplies and divides 64-bit
//! floating-point numbers, which gives the same result on every machine, and calls no logarithm or power.

/// Average items of a bin, at most. Local to speed: a slice of as many strings stays in the second-level
/// cache.
const BIN: usize = 1 << 13;

/// Up to so many items, the numbers of bins and slots have 32 bits.
const MOST_ITEMS: usize = usize::MAX >> usize::BITS.saturating_sub(44);

/// The public parameters of a filter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FilterShape {
    pub(super) hashes: u32,
    pub(super) bins: u32,
    pub(super) slots: u32,
}

impl FilterShape {
    /// The filter with `hashes` functions for `items` items whose false positives have probability 2^-hashes.
    /// A partner may claim more than 2^44 items; the filter is then the one for 2^44.
    #[must_use]
    pub fn for_items(hashes: u32, items: usize) -> Self {
        let items = items.min(MOST_ITEMS);
        let bins = items.div_ceil(BIN).max(1) as u32;
        let bound = power(0.5, hashes);
        let (mut too_few, mut enough) = (0, 4 * items.div_ceil(bins as usize) as u32 + 4);
        while enough - too_few > 1 {
            let slots = too_few + (enough - too_few) / 2;
            if (Self { hashes, bins, slots }).false_positive(items) <= bound {
                enough = slots;
            } else {
                too_few = slots;
            }
        }
        Self { hashes, bins, slots: enough }
    }

    /// The filter with `hashes` functions of which the positions of any `items` items take at most half: one
    /// bin with 2n slots in each slice (DCW13 §5: m = 2kn). A foreign item is positive with probability at most
    /// (1 - (1 - 1/2n)^n)^k, about 2^-1.35k, and 2^-k for n = 1.
    #[must_use]
    pub fn half_empty(hashes: u32, items: usize) -> Self {
        let slots = u32::try_from(items).map_or(u32::MAX - 1, |items| items.saturating_mul(2));
        Self::one_bin(hashes, slots)
    }

    /// One bin of `hashes` slices of so many slots, for a program of parameters that has bounds of its own.
    #[must_use]
    pub fn one_bin(hashes: u32, slots: u32) -> Self {
        Self { hashes, bins: 1, slots }
    }

    /// k: hash functions, and slices of each bin.
    #[must_use]
    pub fn hashes(&self) -> usize {
        self.hashes as usize
    }

    /// b: bins.
    #[must_use]
    pub fn bins(&self) -> usize {
        self.bins as usize
    }

    /// s: slots of a slice.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots as usize
    }

    /// m = b·k·s: slots of the whole filter.
    #[must_use]
    pub fn all_slots(&self) -> u64 {
        u64::from(self.bins) * u64::from(self.hashes) * u64::from(self.slots)
    }

    /// The probability, over the hash functions, that a foreign item is false positive in a filter of `items`
    /// items.
    #[must_use]
    pub fn false_positive(&self, items: usize) -> f64 {
        let (others, share) = (items as f64, 1.0 / f64::from(self.bins));
        // Weights of the loads relative to the likeliest one; smaller weights are negligible.
        let least = power(0.5, self.hashes + 64);
        let mode = (items as f64 * share) as u64;
        let free = 1.0 - 1.0 / f64::from(self.slots);
        let (mut all, mut taken) = (0.0, 0.0);
        let mut count = |weight: f64, slot_is_free: f64| {
            all += weight;
            taken += weight * power(1.0 - slot_is_free + self.bias(), self.hashes);
        };
        let free_at_mode = power(free, mode as u32);
        let (mut weight, mut slot_is_free, mut load) = (1.0, free_at_mode, mode as f64);
        while weight > least {
            count(weight, slot_is_free);
            weight *= (others - load) / (load + 1.0) * share / (1.0 - share).max(least);
            if self.bins == 1 {
                break;
            }
            slot_is_free *= free;
            load += 1.0;
        }
        (weight, slot_is_free, load) = (1.0, free_at_mode, mode as f64);
        while self.bins > 1 && load > 0.0 && weight > least {
            weight *= load / (others - load + 1.0) * (1.0 - share) / share;
            slot_is_free /= free;
            load -= 1.0;
            count(weight, slot_is_free);
        }
        taken / all
    }

    /// Bounds how much the reduction of 32 bits to a slot adds to the probability that a slot is taken.
    ///
    /// Multiply-shift gives each slot ⌊2^32/s⌋ or ⌈2^32/s⌉ of the 2^32 values: probabilities (1 + ε_j)/s with
    /// Σ ε_j = 0, and a spread of δ = s/2^32. A position is taken with Σ_j p_j·(1 - (1 - p_j)^n), whose first
    /// order in ε vanishes and whose second is at most n/(3s)·δ²/4 < δ²/8.
    fn bias(&self) -> f64 {
        let spread = f64::from(self.slots) / (1u64 << 32) as f64;
        spread * spread / 8.0
    }
}

/// base^exponent by squaring and multiplying.
#[must_use]
pub fn power(base: f64, exponent: u32) -> f64 {
    let (mut result, mut square, mut left) = (1.0, base, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result *= square;
        }
        square *= square;
        left >>= 1;
    }
    result
}
