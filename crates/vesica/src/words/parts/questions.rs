//! What a run in parts lets a party ask that cheats, and how many parts a side accepts.
//!
//! **Questions.** Each part is a run of its own, and the padding of a part is slots that a cheating party can fill with guesses:
//! it picks guesses that fall into the part. An attempt at a part beyond the first is another question of as many. So with
//! M items in a part, a run of B parts of which R are played again has (B + R)·M slots, for a set of n items. The protocol
//! says what M slots are worth ([`Entry::max_tested_keys`](vesica_protocols::registry::Entry::max_tested_keys)).
//!
//! **The limit** of a side is that a partner which asks (a receiver; with `--learns both` a sender too) has
//!
//! ```text
//! (B + R)·M ≤ N + ⌊n/4⌋        N: `--max-peer-rows`, and n ≤ N
//! ```
//!
//! The quarter is for the padding of honest sets: at 2^20 items, 64 parts have 6.4 % more slots than items. If the parts fit
//! without repetition, the run takes place, and as much of the usual allowance as fits is R. Otherwise both sides end with
//! 77 before anything is asked. With M·B growing in B, fewer parts always help. Semi-honest runs are among parties that
//! follow the protocol, and their padding asks nothing.
//!
//! **Parts for cores.** Where nobody needs parts, both sides may have cores for several. They take as many as the side with
//! fewer asks for, if both accept so many and the limits allow it; otherwise one. A side that shows something plays none of
//! them again, so that a cheater has no more questions than the padding gives it.
//!
//! **The number of parts** costs time, and questions of a side that has set no tight limit. So without `--max-parts` a side
//! accepts
//!
//! * as many parts as it asks for itself;
//! * as many as an engine or `--memory` takes for such sets if memory is not short: one for 2^20 items of the larger set,
//!   two at least;
//! * up to 64, or one for 2^16 items of the larger set, as long as the partner's slots are at most twice its items. (A
//!   quarter would refuse 16 parts of 10,000 keys, where a single run of `vole` lets a cheater ask about up to three times
//!   its keys. Who counts on a number of questions sets the limit above.)

use vesica_protocols::{Learns, Role, Sizes};

use super::{MOST, Parts, PartsError, PartsWanted};
use crate::words::settings::Limits;

/// Attempts beyond the first of each part that a small run may have.
const LEAST_ALLOWANCE: u32 = 4;

/// Of a larger one, one for so many parts.
const PARTS_AN_ATTEMPT: u32 = 16;

/// Parts that are accepted of sets of any size if they have not too much padding.
const FEW_PARTS: u32 = 64;

/// How many attempts beyond the first of each part a run may have, if so many parts are played at once: all of them may
/// break together.
pub(crate) fn allowance(parts: Parts, lanes: u16) -> u32 {
    let of_parts = (parts.count() as u32).div_ceil(PARTS_AN_ATTEMPT);
    if parts == Parts::ONE { 0 } else { LEAST_ALLOWANCE.max(of_parts).max(lanes.into()) }
}

/// Keys that a receiver can test in all parts, if it can test `of_part` in one of them and so many are played again.
pub(crate) fn tested(parts: Parts, of_part: u64, repeated: u32) -> u64 {
    (parts.count() as u64 + u64::from(repeated)).saturating_mul(of_part)
}

/// A side of a run, as both sides know it: what it accepts, and what it asks for.
pub(crate) struct Side {
    /// "this side" or "the partner".
    pub(crate) name: &'static str,
    pub(crate) role: Role,
    pub(crate) limits: Limits,
    pub(crate) wanted: PartsWanted,
}

/// What two sides have agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AgreedParts {
    /// B.
    pub(crate) parts: Parts,
    /// Whether they are there for the cores alone.
    pub(crate) for_cores: bool,
}

/// B: the larger number of parts that the two sides need, if both accept it. Where one is enough, as many as both sides have
/// cores for, if the limits allow so many in a run with that result.
pub(crate) fn agree_on_parts(
    sides: &[Side; 2],
    sizes: Sizes,
    learns: Learns,
) -> Result<AgreedParts, PartsError> {
    let [mine, theirs] = sides.each_ref().map(|side| side.wanted);
    let count = mine.needed.max(theirs.needed);
    if count <= 1 {
        let parts = Parts::new(mine.for_cores.min(theirs.for_cores).clamp(1, MOST))?;
        let accepted = sides.iter().all(|side| side.accepts(parts.count() as u32, sizes));
        let for_cores = parts != Parts::ONE && accepted && room(sides, parts, sizes, learns).is_ok();
        return Ok(AgreedParts { parts: if for_cores { parts } else { Parts::ONE }, for_cores });
    }
    match sides.iter().find(|side| !side.accepts(count, sizes)) {
        Some(side) => Err(PartsError::TooMany { count, limiter: side.name, most: side.most(count, sizes) }),
        None => Ok(AgreedParts { parts: Parts::new(count)?, for_cores: false }),
    }
}

impl Side {
    fn accepts(&self, count: u32, sizes: Sizes) -> bool {
        match self.limits.max_parts {
            Some(most) => count <= most.clamp(1, MOST),
            None => count <= MOST && (count <= self.wanted.needed || self.fits(count, sizes)),
        }
    }

    /// Whether so many parts are accepted that only the partner needs, where there is no `--max-parts`.
    fn fits(&self, count: u32, sizes: Sizes) -> bool {
        let (theirs, larger) = (sizes.of(self.role.other()) as u64, larger(sizes));
        let slots = |parts: Parts| tested(parts, parts.bound(theirs), 0);
        let little_padding = || Parts::new(count).is_ok_and(|parts| slots(parts) <= 2 * theirs);
        count <= usual(larger) || count <= most_of(larger) && little_padding()
    }

    /// The most parts, fewer than `count`, that it accepts.
    fn most(&self, count: u32, sizes: Sizes) -> u32 {
        let most = self.limits.max_parts.unwrap_or(most_of(larger(sizes)).max(self.wanted.needed));
        let fewer = 1..=most.min(MOST).min(count.saturating_sub(1));
        fewer.rev().find(|count| self.accepts(*count, sizes)).unwrap_or(1)
    }
}

fn larger(sizes: Sizes) -> u64 {
    sizes.receiver.max(sizes.sender) as u64
}

/// The parts that an engine takes for sets of that size at most.
fn usual(items: u64) -> u32 {
    super::numbers_of_parts(items, 2).next().unwrap_or(2)
}

/// Most parts without `--max-parts`.
fn most_of(items: u64) -> u32 {
    super::most_parts(items, FEW_PARTS)
}

/// How many parts may be played again within both sides' limits on the partner, in a malicious run. An error if not even the
/// parts fit.
pub(crate) fn room(sides: &[Side; 2], parts: Parts, sizes: Sizes, learns: Learns) -> Result<u32, PartsError> {
    let asks = |role| role == Role::Receiver || learns == Learns::Both;
    let mut room = u32::MAX;
    if parts == Parts::ONE {
        return Ok(room);
    }
    for side in sides.iter().filter(|side| asks(side.role.other())) {
        let whose = side.role.other();
        let (items, limit) = (sizes.of(whose) as u64, side.limits.max_peer_rows);
        let (of_part, most) = (parts.bound(items), limit.saturating_add(items / 4));
        let slots = tested(parts, of_part, 0);
        let Some(left) = most.checked_sub(slots) else {
            let (count, limiter) = (parts.count() as u32, side.name);
            let asked = Asked { whose: whose.name(), items, slots, limit, most };
            return Err(PartsError::Questions { count, limiter, asked });
        };
        let fit = left.checked_div(of_part).and_then(|fit| u32::try_from(fit).ok());
        room = room.min(fit.unwrap_or(u32::MAX));
    }
    Ok(room)
}

/// What a run would let a party ask, and what the other side accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// "receiver" or "sender".
    pub whose: &'static str,
    /// Its items, as it has said.
    pub items: u64,
    /// Items that the parts have room for.
    pub slots: u64,
    /// `--max-peer-rows` of the other side.
    pub limit: u64,
    /// That, and a quarter of the items.
    pub most: u64,
}

#[cfg(test)]
mod tests {
    use crate::words::registry::{self, Security, Shape};
    use vesica_protocols::{Parameters, registry::Entry};

    use super::*;

    fn side(role: Role, limits: Limits, needed: u32) -> Side {
        Side { name: role.name(), role, limits, wanted: PartsWanted { needed, for_cores: 1 } }
    }

    /// Both sides with the same limits, of which the receiver needs so many parts.
    fn sides(limits: Limits, needed: u32) -> [Side; 2] {
        [side(Role::Receiver, limits, needed), side(Role::Sender, limits, 1)]
    }

    fn limited(max_peer_rows: u64) -> Limits {
        Limits { max_peer_rows, ..Limits::default() }
    }

    fn sizes(receiver: usize, sender: usize) -> Sizes {
        Sizes { receiver, sender }
    }

    const COUNTS: [u32; 12] = [2, 3, 4, 7, 16, 63, 64, 100, 256, 1024, 4096, MOST];

    /// Of every run that takes place, the first attempts and those that are repeated.
    #[test]
    fn a_run_allows_what_the_limits_say_repeated_parts_included() {
        let (mut accepted, mut refused) = (0, 0);
        let items = [0, 1, 2, 10, 100, 1000, 10_000, 1 << 17, 1 << 20, 1 << 24, 1 << 30];
        for (n, count) in items.into_iter().flat_map(|n| COUNTS.map(|count| (n, count))) {
            let parts = Parts::new(count).unwrap();
            for limit in [n, n + n / 8, 2 * n, 10 * n, 1 << 30] {
                let limit = limit as u64;
                let (slots, most) = (parts.bound(n as u64), limit + n as u64 / 4);
                // A sender asks if it learns the result.
                for (sizes, learns) in [
                    (sizes(n, 5), Learns::Receiver),
                    (sizes(n, 0), Learns::Both),
                    (sizes(0, n), Learns::Both),
                ] {
                    match room(&sides(limited(limit), count), parts, sizes, learns) {
                        Ok(room) => {
                            accepted += 1;
                            for lanes in [1, 16, 500] {
                                let again = allowance(parts, lanes).min(room);
                                assert!(tested(parts, slots, again) <= most, "{n} {count} {limit}");
                            }
                            let next = tested(parts, slots, room.saturating_add(1));
                            assert!(room == u32::MAX || next > most, "{n} {count} {limit}: all that fit");
                        }
                        Err(PartsError::Questions { asked, .. }) => {
                            refused += 1;
                            let all = u64::from(count) * slots;
                            assert_eq!((asked.slots, asked.most, asked.limit), (all, most, limit));
                            assert!(all > most);
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
                // A sender that learns nothing asks nothing.
                assert!(room(&sides(limited(limit), count), parts, sizes(0, n), Learns::Receiver).is_ok());
            }
        }
        assert!(accepted > 300 && refused > 300, "{accepted} {refused}");
    }

    /// The limit of either side counts, on both.
    #[test]
    fn each_side_has_a_limit_on_what_the_other_asks() {
        let parts = Parts::new(16).unwrap();
        for (limits, learns, limiter) in [
            ([1 << 30, 10], Learns::Receiver, Some("sender")),
            ([10, 1 << 30], Learns::Receiver, None),
            ([10, 1 << 30], Learns::Both, Some("receiver")),
        ] {
            let [mine, theirs] = limits.map(limited);
            let both = [side(Role::Receiver, mine, 16), side(Role::Sender, theirs, 1)];
            let [one, other] = &both;
            let turned = [side(other.role, theirs, 1), side(one.role, mine, 16)];
            for sides in [both, turned] {
                let ended = room(&sides, parts, sizes(10, 10), learns);
                let said = ended.err().map(|error| match error {
                    PartsError::Questions {
                        count: 16,
                        limiter,
                        asked: Asked { slots: 160, most: 12, .. },
                    } => limiter,
                    other => panic!("{other}"),
                });
                assert_eq!(said, limiter);
            }
        }
    }

    /// What a part's slots are worth: one question each in `dkt`, up to three in `vole`.
    #[test]
    fn a_limit_is_worth_in_parts_what_it_is_worth_in_one_run() {
        for (name, worth) in [("dkt", 1), ("vole", 3)] {
            let entry: &Entry = registry::find(name).unwrap();
            for (n, count) in
                [10, 1000, 1 << 17, 1 << 20].into_iter().flat_map(|n| COUNTS.map(|count| (n, count)))
            {
                let parts = Parts::new(count).unwrap();
                let slots = parts.bound(n as u64);
                let parameters = Parameters { security: Security::Malicious, ..Parameters::default() };
                let shape = Shape { parameters, ..Shape::new(sizes(slots as usize, n)) };
                let of_part = entry.max_tested_keys_of(&shape).unwrap();
                assert!(of_part <= worth * slots + 8, "{name} {slots}: {of_part}");
            }
        }
    }

    /// The receiver asks for so many parts, and the sender has these limits. An error is the most that a side accepts.
    fn agreed(sizes: Sizes, count: u32, limits: Limits) -> Result<u32, u32> {
        let [receiver, _] = sides(Limits::default(), count);
        match agree_on_parts(&[receiver, side(Role::Sender, limits, 1)], sizes, Learns::Receiver) {
            Ok(agreed) => Ok(agreed.parts.count() as u32),
            Err(PartsError::TooMany { count: asked, most, .. }) if asked == count => Err(most),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn without_a_limit_the_sizes_say_how_many_parts_of_the_partners_are_accepted() {
        let of = |receiver, sender, count| agreed(sizes(receiver, sender), count, Limits::default());
        // What engines and `--memory` ask for, for small and large sets, and for few keys among many.
        for (receiver, sender, count) in [
            (1, 1, 2),
            (20, 20, 2),
            (1 << 20, 1 << 20, 2),
            (1 << 20, 1 << 20, 16),
            (1 << 24, 1 << 24, 256),
            (1 << 30, 1 << 30, 1024),
            (1 << 30, 1 << 30, 16_384),
            (5000, 100_000_000, 96),
            // `--parts` of one side.
            (2000, 2000, 8),
            (3000, 2000, 4),
            (60_000, 60_000, 64),
        ] {
            assert_eq!(of(receiver, sender, count), Ok(count), "{receiver} {sender}");
            let parts = Parts::new(count).unwrap();
            let sides = sides(Limits::default(), count);
            let room = room(&sides, parts, sizes(receiver, sender), Learns::Receiver).unwrap();
            assert!(room >= allowance(parts, 16), "{receiver} {sender} {count}: {room}");
        }
        assert_eq!(of(1000, 1000, MOST), Err(11));
        assert_eq!(of(10, 10, 3), Err(2));
        assert_eq!(of(1 << 20, 1 << 20, 65), Err(64));
        assert_eq!(of(5000, 100_000_000, 97), Err(96));
        assert_eq!([MOST + 1, u32::MAX].map(|count| of(1 << 20, 1 << 20, count)), [Err(MOST); 2]);
    }

    #[test]
    fn a_limit_that_is_given_holds_and_so_does_what_both_sides_ask_for() {
        let given = |most, count| {
            let limits = Limits { max_parts: Some(most), ..Limits::default() };
            agreed(sizes(1000, 1000), count, limits)
        };
        assert_eq!([given(7, 7), given(7, 8), given(1, 2)], [Ok(7), Err(7), Err(1)]);
        assert_eq!([given(MOST, MOST), given(MOST, MOST + 1)], [Ok(MOST), Err(MOST)]);
        let both = [Role::Receiver, Role::Sender].map(|role| side(role, Limits::default(), 500));
        let agreed = |sides: &[Side; 2]| {
            agree_on_parts(sides, sizes(10, 10), Learns::Receiver).map(|agreed| agreed.parts)
        };
        assert_eq!(agreed(&both), Ok(Parts::new(500).unwrap()));
        // The receiver needs more than the sender has asked for.
        let [mut receiver, sender] = both;
        receiver.wanted.needed = 501;
        let ended = agreed(&[receiver, sender]);
        assert_eq!(ended, Err(PartsError::TooMany { count: 501, limiter: "sender", most: 500 }));
    }

    /// Parts for the cores of both sides, in sets of so many items.
    fn for_cores(n: usize, limits: [Limits; 2], cores: [u32; 2]) -> usize {
        let [mut receiver, mut sender] =
            [(Role::Receiver, 0), (Role::Sender, 1)].map(|(role, at)| side(role, limits[at], 1));
        (receiver.wanted.for_cores, sender.wanted.for_cores) = (cores[0], cores[1]);
        let agreed = agree_on_parts(&[receiver, sender], sizes(n, n), Learns::Receiver).unwrap();
        assert_eq!(agreed.for_cores, agreed.parts != Parts::ONE);
        agreed.parts.count()
    }

    #[test]
    fn both_sides_have_a_core_for_each_part_that_nobody_needs() {
        let n = 1 << 20;
        let free = [Limits::default(); 2];
        for (cores, count) in [([1, 1], 1), ([8, 0], 1), ([8, 2], 2), ([5, 8], 5), ([u32::MAX, 16], 16)] {
            assert_eq!(for_cores(n, free, cores), count);
        }
        let at_most = |count| [Limits { max_parts: Some(count), ..Limits::default() }, Limits::default()];
        assert_eq!([1, 7, 8].map(|most| for_cores(n, at_most(most), [8, 8])), [1, 1, 8]);
    }

    /// A limit that leaves no room for the padding takes the parts away, and never the run.
    #[test]
    fn parts_for_cores_stay_within_the_limit_on_questions() {
        let limits = |n| [Limits::default(), limited(n)];
        assert_eq!(for_cores(1 << 20, limits(1 << 20), [16, 16]), 16);
        assert_eq!([64, 1000].map(|n| for_cores(n, limits(n as u64), [8, 8])), [1, 1]);
        // Of few items, parts are mostly padding, whatever the limits.
        assert_eq!(for_cores(1000, [Limits::default(); 2], [16, 16]), 1);
    }
}
