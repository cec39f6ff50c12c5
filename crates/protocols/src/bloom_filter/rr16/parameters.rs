//! The program of RR16 §5.2: numbers of hash functions, slots, OTs and opened OTs for any size of the
//! receiver's set.
//!
//! Like the paper's, it takes the number of hash functions k from 80 to 100 and the rate p of opened OTs from
//! 0.001 to 0.1 with the fewest OTs. Then it splits OTs and slots into equal *groups*, and checks all bounds
//! again for the groups as they are. A group has w slots and w + c OTs, of which c are opened, so that each
//! unopened OT serves one slot.
//!
//! | bound | where from |
//! |---|---|
//! | an honest receiver opens at most [`most_opened_ones`](Rr16Parameters::most_opened_ones) ones | Chernoff, e^-λ |
//! | each group of an honest receiver has ones enough | Bernstein, 2^-41 over all groups |
//! | a cheater that passes keeps fewer than [`most_ones`](Rr16Parameters::most_ones) ones | Chernoff, e^-λ |
//! | a foreign item lies in a filter of so many ones | (N_1/(k·s))^k ≤ 2^-κ |
//!
//! `docs/protocols/gbf-rr16.md` derives them. The paper writes e^-λ where it needs 2^-λ, and so does this
//! program: its first and third bound are 2^-57, which is enough in every part of a run, too. The second one
//! is computed for the λ of the run.
//!
//! Both parties must compute the same integers, so the program only adds, multiplies, divides and takes
//! square roots, which give the same result on every machine.

use vesica_encode::bloom::{FilterShape, SLICES_PER_BLOCK, power};

use crate::entry::Shape;
use crate::parameters::{DEFAULT_LEVEL, STATISTICAL_SECURITY};

/// The most items of a receiver: their OTs are numbered by 32 bits.
pub const MOST_ITEMS: usize = 1 << 24;

/// The numbers of hash functions that are tried (RR16 §6.2).
const HASHES: std::ops::RangeInclusive<u32> = 80..=100;
/// The rates of opened OTs that are tried, in thousandths (RR16 §6.2).
const RATES: std::ops::RangeInclusive<u32> = 1..=100;

/// Slots of a group, about. Groups so small that a permutation of one stays in the first-level cache come
/// first; a small set takes larger ones, whose ones vary less.
const GROUPS: [u64; 3] = [1 << 14, 1 << 15, LARGEST_GROUP];
/// The largest group: with its opened OTs it has at most 2^16.
const LARGEST_GROUP: u64 = 57_000;

/// Slots of a group are a multiple of this, so that the words of a filter belong to one group.
pub(super) const WORD: usize = u64::BITS as usize;
/// OTs of a group are a multiple of this, so that the bytes of the choices belong to one group.
const BYTE: u64 = 8;

const LAMBDA: f64 = STATISTICAL_SECURITY as f64;
const LN_2: f64 = std::f64::consts::LN_2;

/// What both parties compute from the size of the receiver's set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rr16Parameters {
    items: u32,
    hashes: u32,
    slots: u32,
    groups: u32,
    kept: u32,
    opened: u32,
    ones: u32,
    most_opened_ones: u64,
    most_ones: u64,
}

/// The fewest OTs, before they are split into groups.
#[derive(Clone, Copy)]
struct Draft {
    hashes: u32,
    rate: f64,
    slots: f64,
    ots: f64,
    /// N_1/(k·s) at most.
    taken: f64,
}

impl Rr16Parameters {
    /// The parameters for a receiver of so many items, at least one and at most [`MOST_ITEMS`]; a number
    /// beyond is taken for the nearest of these.
    #[must_use]
    pub fn for_items(items: usize) -> Self {
        Self::within(items, STATISTICAL_SECURITY)
    }

    /// The parameters of a run of this shape.
    pub(crate) fn of_shape(shape: &Shape) -> Self {
        Self::within(shape.sizes.receiver, shape.parameters.statistical)
    }

    /// The parameters for a receiver of so many items where λ is `statistical`.
    #[must_use]
    pub fn within(items: usize, statistical: u32) -> Self {
        let items = items.clamp(1, MOST_ITEMS) as u32;
        let mut best: Option<Draft> = None;
        for hashes in HASHES {
            let taken = taken(hashes);
            for thousandths in RATES {
                let rate = f64::from(thousandths) / 1000.0;
                let needed = f64::from(items) * f64::from(hashes);
                let most_opened = most_opened(ones(needed, rate), rate);
                let slots = most_ones(most_opened, rate) as f64 / taken;
                let draft = Draft { hashes, rate, slots, ots: slots / (1.0 - rate), taken };
                if best.is_none_or(|best| draft.ots < best.ots) {
                    best = Some(draft);
                }
            }
        }
        let Some(draft) = best else { unreachable!("there are numbers to try") };
        let fitting = GROUPS.into_iter().map(|group| Self::of_groups(items, &draft, group, 0));
        let fits = |parameters: &Self| parameters.every_group_has_ones(statistical);
        fitting.into_iter().find(fits).unwrap_or_else(|| {
            let more = (1..).map(|more| Self::of_groups(items, &draft, LARGEST_GROUP, more));
            let Some(parameters) = more.into_iter().find(fits) else {
                unreachable!("ones are enough at last")
            };
            parameters
        })
    }

    /// The parameters with groups of about so many slots, and `more` ones in each than RR16 counts.
    fn of_groups(items: u32, draft: &Draft, group: u64, more: u64) -> Self {
        let needed = f64::from(items) * f64::from(draft.hashes);
        let mut all = draft.slots.ceil() as u64;
        loop {
            let groups = all.div_ceil(group);
            let kept = all.div_ceil(groups).next_multiple_of(WORD as u64);
            let opened = (draft.rate * kept as f64 / (1.0 - draft.rate)).ceil() as u64;
            let opened = opened.next_multiple_of(BYTE);
            let rate = opened as f64 / (kept + opened) as f64;
            let mut ones = (ones(needed, rate) / groups as f64).ceil() as u64 + more;
            while (groups * ones) as f64 - (most_opened((groups * ones) as f64, rate) as f64) < needed {
                ones += 1;
            }
            let most_opened_ones = most_opened((groups * ones) as f64, rate);
            let most_ones = most_ones(most_opened_ones, rate);
            let found = Self {
                items,
                hashes: draft.hashes,
                slots: Self::slots_of(draft.hashes, groups * kept),
                groups: groups as u32,
                kept: kept as u32,
                opened: opened as u32,
                ones: ones as u32,
                most_opened_ones,
                most_ones,
            };
            if found.taken() <= draft.taken {
                return found;
            }
            // More slots, by what is missing.
            let missing = (found.taken() / draft.taken - 1.0) * all as f64;
            all += (missing as u64).max(WORD as u64);
        }
    }

    /// s, where so many slots are shared by k slices, and those of a block of positions begin at a whole
    /// word.
    fn slots_of(hashes: u32, all: u64) -> u32 {
        let padding = (hashes as usize).div_ceil(SLICES_PER_BLOCK) * WORD;
        ((all - padding as u64) / u64::from(hashes)) as u32
    }

    /// The fraction of taken slots in a cheater's filter, at most, counting the reduction of 32 bits to a
    /// slot: no slot is more than 1 + s·2^-32 times as likely as it should be.
    fn taken(&self) -> f64 {
        let all = f64::from(self.hashes) * f64::from(self.slots);
        self.most_ones as f64 / all * (1.0 + f64::from(self.slots) / (1u64 << 32) as f64)
    }

    /// Whether no group of an honest receiver lacks ones, but for a probability of 2^-(λ+1).
    fn every_group_has_ones(&self, statistical: u32) -> bool {
        // One group: nk ones are left, and no filter has more.
        self.groups == 1
            || self.spare_ones(LN_2 * f64::from(statistical + 2 + self.groups.ilog2() + 1)) >= 0.0
    }

    /// Ones that a group has beyond those that it needs, if neither the opened ones of a group nor its taken
    /// slots exceed what they exceed with probability e^-exponent.
    ///
    /// Both are bounded by Bernstein's inequality: P(X ≥ E X + d) ≤ exp(-d²/(2·(v + d/3))), v at least the
    /// variance. Opened ones are drawn without replacement. Taken slots are indicators that are negatively
    /// associated: balls in slots.
    fn spare_ones(&self, exponent: f64) -> f64 {
        let beyond = |v: f64| exponent / 3.0 + (exponent * exponent / 9.0 + 2.0 * exponent * v).sqrt();
        let one = f64::from(self.ones) / f64::from(self.ots_of_group());
        let opened = f64::from(self.opened) * one;
        let slot = 1.0 / f64::from(self.slots) * (1.0 + f64::from(self.slots) / (1u64 << 32) as f64);
        let set = 1.0 - power(1.0 - slot, self.items);
        let needed = f64::from(self.kept) * set;
        f64::from(self.ones)
            - (opened + beyond(opened * (1.0 - one)))
            - (needed + beyond(needed * (1.0 - set)))
    }
}

/// The largest fraction f with f^hashes ≤ 2^-κ.
fn taken(hashes: u32) -> f64 {
    let bound = power(0.5, DEFAULT_LEVEL);
    let (mut fits, mut too_much) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = (fits + too_much) / 2.0;
        if power(middle, hashes) <= bound { fits = middle } else { too_much = middle }
    }
    fits
}

/// m_h^1: the ones of an honest receiver that needs so many, and opens ones at this rate.
fn ones(needed: f64, rate: f64) -> f64 {
    let mut ones = needed;
    loop {
        let more = needed + most_opened(ones, rate) as f64;
        if more <= ones {
            return ones;
        }
        ones = more;
    }
}

/// N_maxones = (1 + δ)·p·m, with e^(-δ²/(2+δ)·p·m) = e^-λ: so many of m ones an honest receiver opens at
/// most.
fn most_opened(ones: f64, rate: f64) -> u64 {
    let mean = ones * rate;
    (mean + (LAMBDA + (LAMBDA * LAMBDA + 8.0 * LAMBDA * mean).sqrt()) / 2.0).ceil() as u64
}

/// N_1 = m_a - N_maxones, where (1 - δ')·p·m_a = N_maxones and e^(-δ'²/2·p·m_a) = e^-λ: so many ones are
/// left to no cheater that opens at most `most_opened`.
fn most_ones(most_opened: u64, rate: f64) -> u64 {
    let root = ((2.0 * LAMBDA).sqrt() + (2.0 * LAMBDA + 4.0 * most_opened as f64).sqrt()) / 2.0;
    (root * root / rate).ceil() as u64 - most_opened
}

/// The numbers.
impl Rr16Parameters {
    /// n: items of the receiver.
    #[must_use]
    pub fn items(&self) -> usize {
        self.items as usize
    }

    /// k: hash functions, and slices of the filter.
    #[must_use]
    pub fn hashes(&self) -> usize {
        self.hashes as usize
    }

    /// s: slots of a slice.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots as usize
    }

    /// The filter.
    #[must_use]
    pub fn shape(&self) -> FilterShape {
        FilterShape::one_bin(self.hashes, self.slots)
    }

    /// Groups of slots and OTs.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.groups as usize
    }

    /// w: slots of a group, and OTs of it that are not opened.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.kept as usize
    }

    /// c: OTs of a group that are opened.
    #[must_use]
    pub fn opened(&self) -> usize {
        self.opened as usize
    }

    /// Choices of a group that are ones, opened ones included.
    #[must_use]
    pub fn ones(&self) -> usize {
        self.ones as usize
    }

    /// w + c: OTs of a group.
    #[must_use]
    pub fn ots_of_group(&self) -> u32 {
        self.kept + self.opened
    }

    /// N_ot: all OTs.
    #[must_use]
    pub fn ots(&self) -> usize {
        self.groups() * self.ots_of_group() as usize
    }

    /// N_bf: all slots, a few of which no function reaches.
    #[must_use]
    pub fn all_slots(&self) -> usize {
        self.groups() * self.kept()
    }

    /// N_maxones: the most opened ones that pass.
    #[must_use]
    pub fn most_opened_ones(&self) -> u64 {
        self.most_opened_ones
    }

    /// N_1: a receiver that passes has fewer ones among the unopened OTs.
    #[must_use]
    pub fn most_ones(&self) -> u64 {
        self.most_ones
    }
}

#[cfg(any(test, feature = "testing"))]
impl Rr16Parameters {
    /// These parameters with another number of ones in each group, for a cheater.
    #[must_use]
    pub fn with_ones(self, ones: usize) -> Self {
        Self { ones: ones as u32, ..self }
    }
}

/// log2 of the probabilities that the parameters bound, for tables.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// An honest receiver opens more ones than pass.
    pub honest_fails: f64,
    /// A group of an honest receiver lacks ones.
    pub group_lacks_ones: f64,
    /// A cheater passes and keeps [`Rr16Parameters::most_ones`] ones or more.
    pub cheater_passes: f64,
    /// A foreign item lies in a filter of fewer ones than that.
    pub foreign_item: f64,
}

impl Rr16Parameters {
    /// The bounds, computed from the numbers as they are.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        let rate = f64::from(self.opened) / f64::from(self.ots_of_group());
        let mean = rate * f64::from(self.groups) * f64::from(self.ones);
        let most = self.most_opened_ones as f64;
        let delta = most / mean - 1.0;
        let cheater = rate * (self.most_ones as f64 + most);
        let (mut least, mut beyond) = (0.0, 1e6);
        for _ in 0..60 {
            let exponent = (least + beyond) / 2.0;
            if self.spare_ones(exponent) >= 0.0 { least = exponent } else { beyond = exponent }
        }
        let lacking = (2.0 * f64::from(self.groups)).log2() - least / LN_2;
        Bounds {
            honest_fails: -delta * delta / (2.0 + delta) * mean / LN_2,
            group_lacks_ones: if self.groups == 1 { f64::NEG_INFINITY } else { lacking },
            cheater_passes: -(cheater - most) * (cheater - most) / (2.0 * cheater) / LN_2,
            foreign_item: f64::from(self.hashes) * self.taken().log2(),
        }
    }

    /// n': the most keys that a cheating receiver tests against the sender's set, if it evaluates the hash
    /// functions 2^`log_queries` times; more with probability at most 2^-λ.
    ///
    /// RR16 §5.3 bounds that by n' ≤ (λ + N_bf)/(κ - log2 |Q|), from C(|Q|, n') ≤ |Q|^n' and C(N_bf, N_1) ≤
    /// 2^N_bf. This takes C(|Q|, n') ≤ (e·|Q|/n')^n' and 2^(H(N_1/N_bf)·N_bf).
    #[must_use]
    pub fn most_tested_keys(&self, log_queries: u32) -> u64 {
        let slots = f64::from(self.hashes) * f64::from(self.slots);
        let taken = (self.most_ones as f64 / slots).min(0.5);
        let entropy = -taken * taken.log2() - (1.0 - taken) * (1.0 - taken).log2();
        let filters = slots * entropy + LAMBDA;
        let kappa = f64::from(DEFAULT_LEVEL) - f64::from(log_queries);
        let exceeds = |keys: f64| keys * (kappa + (keys / std::f64::consts::E).log2().max(0.0)) >= filters;
        let (mut few, mut enough) = (0u64, 1 << 40);
        while enough - few > 1 {
            let middle = few + (enough - few) / 2;
            if exceeds(middle as f64) { enough = middle } else { few = middle }
        }
        enough
    }

    /// RR16's own bound of the same.
    #[must_use]
    pub fn most_tested_keys_of_the_paper(&self, log_queries: u32) -> u64 {
        let numerator = STATISTICAL_SECURITY as u64 + self.all_slots() as u64;
        numerator.div_ceil(u64::from(DEFAULT_LEVEL - log_queries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::MOST_STATISTICAL_SECURITY;

    #[test]
    fn the_bounds_hold_for_any_size() {
        let sizes = (1..400).chain((9..=24).flat_map(|log| [(1 << log) - 1, 1 << log, (1 << log) * 3 / 2]));
        for items in sizes {
            let parameters = Rr16Parameters::for_items(items);
            let bounds = parameters.bounds();
            let told = format!("{parameters:?} {bounds:?}");
            assert!(bounds.honest_fails <= -57.0 && bounds.cheater_passes <= -57.0, "{told}");
            assert!(bounds.group_lacks_ones <= -41.0 && bounds.foreign_item <= -128.0, "{told}");
            assert!(parameters.ots_of_group() <= 1 << 16 && parameters.ots() < 1 << 32, "{told}");
            let blocks = parameters.hashes().div_ceil(SLICES_PER_BLOCK);
            let reached = parameters.hashes() * parameters.slots() + blocks * WORD;
            assert!(reached <= parameters.all_slots(), "{told}");
            // Hardly more OTs than an ungrouped filter has.
            let left = parameters.groups() * parameters.ones() - parameters.most_opened_ones() as usize;
            assert!(left >= items.min(MOST_ITEMS) * parameters.hashes(), "{told}");
        }
    }

    #[test]
    fn groups_have_ones_enough_for_a_longer_lambda() {
        for statistical in [42, 50, MOST_STATISTICAL_SECURITY] {
            for items in [1, 20, 300, 5000, 1 << 16, 1 << 20] {
                let bounds = Rr16Parameters::within(items, statistical).bounds();
                let allowed = -f64::from(statistical);
                assert!(bounds.group_lacks_ones <= allowed - 1.0, "{items} {statistical} {bounds:?}");
                assert!(bounds.honest_fails <= allowed && bounds.cheater_passes <= allowed);
            }
        }
    }

    /// RR16, Figure 5 and §6.4: 260 million OTs for 2^20 items.
    #[test]
    fn the_numbers_are_those_of_the_paper() {
        let at = |log: u32| Rr16Parameters::for_items(1 << log);
        let ots: Vec<_> = [8, 12, 16, 20].map(|log| at(log).ots()).into();
        assert!((95_000..105_000).contains(&ots[0]), "{ots:?}");
        assert!((1_150_000..1_200_000).contains(&ots[1]), "{ots:?}");
        assert!((16_800_000..17_200_000).contains(&ots[2]), "{ots:?}");
        assert!((255_000_000..265_000_000).contains(&ots[3]), "{ots:?}");
    }

    #[test]
    fn a_cheater_tests_a_few_times_its_size() {
        let most = |items: usize, queries| Rr16Parameters::for_items(items).most_tested_keys(queries);
        assert!((5 << 19..3 << 20).contains(&most(1 << 20, 64)), "{}", most(1 << 20, 64));
        assert!((1..500).all(|items| most(items, 64) <= most(items + 1, 64) + 40));
        let paper = |items: usize| Rr16Parameters::for_items(items).most_tested_keys_of_the_paper(64);
        assert!(paper(1 << 20) < 6 << 20 && paper(1 << 20) > most(1 << 20, 64));
    }
}
