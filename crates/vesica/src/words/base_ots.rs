//! Base OTs that two parties keep from one run to the next: what each party states about its cache, and what
//! both conclude.
//!
//! The parties compare the states of their caches in the terms. A run uses cached base OTs only if both have
//! the same. Otherwise it makes new ones, and both parties store those. [`vesica_ot::base::cache`] says what
//! a run derives from cached base OTs and why that is secure. docs/base-ots.md says what it means for users.
//! The file is in `session/base_ots/`.

use vesica_channel::codec::{CodecError, Reader, Writer};
use vesica_ot::base::cache;
use vesica_text::{Text, text};

/// The most runs that one set of base OTs serves. This bounds what a stolen file reveals, and how far one
/// side can fall behind.
pub const MOST_RUNS: u64 = 1024;

/// What identifies a set of base OTs. It is public.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// A hash of the session in which they were made.
    pub id: [u8; 32],
    /// The level that they serve.
    pub level: u32,
    /// How many there are.
    pub count: u32,
    /// Runs that they have served.
    pub generation: u64,
}

/// The state of a party's cache, as its terms state it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheState {
    /// The party keeps no base OTs.
    Disabled,
    /// The party keeps base OTs, and has none yet.
    Empty,
    /// The party has this set.
    Holds(Mark),
}

impl CacheState {
    /// u8 kind, and the mark if there is one: id, u32 level, u32 count, u64 generation.
    pub(crate) fn encode(&self, writer: &mut Writer) {
        match self {
            CacheState::Disabled => writer.u8(0),
            CacheState::Empty => writer.u8(1),
            CacheState::Holds(Mark { id, level, count, generation }) => {
                writer.u8(2).fixed(id).u32(*level).u32(*count).u64(*generation)
            }
        };
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        match reader.u8()? {
            0 => Ok(CacheState::Disabled),
            1 => Ok(CacheState::Empty),
            2 => {
                let (id, level, count) = (reader.array()?, reader.u32()?, reader.u32()?);
                Ok(CacheState::Holds(Mark { id, level, count, generation: reader.u64()? }))
            }
            _ => Err(CodecError::Invalid { what: "offer of base OTs" }),
        }
    }
}

/// Where the base OTs of a run come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaseOts {
    /// The run needs none that may be cached.
    Unneeded,
    /// The run makes its own, which are not stored: at least one of the parties keeps none.
    Alone,
    /// The run makes new ones, which both parties store after it.
    New(Why),
    /// Cached ones, which have served so many runs.
    Kept(u64),
}

/// Why a run makes new base OTs to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Neither party has any.
    First,
    /// This side has none, or none any more.
    MineGone,
    /// The partner has none, or none any more.
    TheirsGone,
    /// The parties have different ones.
    Different,
    /// They were made for another level than this run's.
    OtherLevel,
    /// There are too few for this run.
    TooFew,
    /// They have served [`MOST_RUNS`].
    Worn,
}

impl BaseOts {
    /// Where the base OTs come from, for a run that needs so many. Both sides conclude the same.
    pub(crate) fn agree(mine: &CacheState, theirs: &CacheState, (level, needed): (u32, u64)) -> Self {
        match (mine, theirs) {
            _ if needed == 0 || level < cache::LEAST_LEVEL => BaseOts::Unneeded,
            (CacheState::Disabled, _) | (_, CacheState::Disabled) => BaseOts::Alone,
            (CacheState::Empty, CacheState::Empty) => BaseOts::New(Why::First),
            (CacheState::Empty, CacheState::Holds(_)) => BaseOts::New(Why::MineGone),
            (CacheState::Holds(_), CacheState::Empty) => BaseOts::New(Why::TheirsGone),
            (CacheState::Holds(mine), CacheState::Holds(theirs)) => {
                // A side falls behind if its last run ended between the confirmation and the writing of the
                // file. It then moves on to the generation of the other side.
                let generation = mine.generation.max(theirs.generation);
                match () {
                    () if (mine.id, mine.level, mine.count) != (theirs.id, theirs.level, theirs.count) => {
                        BaseOts::New(Why::Different)
                    }
                    () if mine.level != level => BaseOts::New(Why::OtherLevel),
                    () if u64::from(mine.count) < needed => BaseOts::New(Why::TooFew),
                    () if generation >= MOST_RUNS => BaseOts::New(Why::Worn),
                    () => BaseOts::Kept(generation),
                }
            }
        }
    }

    /// One word for the report.
    pub fn name(&self) -> &'static str {
        match self {
            BaseOts::Unneeded => "none",
            BaseOts::Alone => "not kept",
            BaseOts::New(_) => "new",
            BaseOts::Kept(_) => "kept",
        }
    }
}

impl BaseOts {
    /// What becomes of them, in words.
    pub(crate) fn text(&self) -> Text {
        let why = match self {
            BaseOts::Unneeded => {
                return text!("this run needs none that may be kept; the file stays unchanged");
            }
            BaseOts::Alone => {
                return text!(
                    "not kept, since the partner keeps none (both sides must give `[keep-base-ots]`)"
                );
            }
            BaseOts::Kept(generation) => {
                return text!(
                    "kept from an earlier run ({} of {} runs with them)",
                    generation + 1,
                    MOST_RUNS
                );
            }
            BaseOts::New(why) => why,
        };
        let why = match why {
            Why::First => "there are none yet",
            Why::MineGone => "this side has none",
            Why::TheirsGone => "the partner has none",
            Why::Different => "the two sides have different ones",
            Why::OtherLevel => "the old ones were made for another level",
            Why::TooFew => "this run needs more than there are",
            Why::Worn => "the old ones have served as many runs as they may",
        };
        text!("new ones, kept for later runs, since {}", why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: Mark = Mark { id: [7; 32], level: 192, count: 256, generation: 5 };

    #[test]
    fn offers_come_back_and_nothing_else_does() {
        for offer in [CacheState::Disabled, CacheState::Empty, CacheState::Holds(MARK)] {
            let mut writer = Writer::new();
            offer.encode(&mut writer);
            let bytes = writer.into_vec();
            let mut reader = Reader::new(&bytes);
            assert_eq!(CacheState::decode(&mut reader), Ok(offer));
            assert_eq!(reader.left(), 0);
            assert!((0..bytes.len()).all(|cut| CacheState::decode(&mut Reader::new(&bytes[..cut])).is_err()));
        }
        assert!(CacheState::decode(&mut Reader::new(&[3])).is_err());
    }

    #[test]
    fn both_sides_agree_and_only_on_what_both_have() {
        let have = |change: fn(&mut Mark)| {
            let mut mark = MARK;
            change(&mut mark);
            CacheState::Holds(mark)
        };
        let mine = have(|_| {});
        let cases = [
            (CacheState::Disabled, mine, 256, BaseOts::Alone, BaseOts::Alone),
            (CacheState::Disabled, CacheState::Disabled, 256, BaseOts::Alone, BaseOts::Alone),
            (CacheState::Empty, CacheState::Empty, 256, BaseOts::New(Why::First), BaseOts::New(Why::First)),
            (mine, CacheState::Empty, 256, BaseOts::New(Why::TheirsGone), BaseOts::New(Why::MineGone)),
            (mine, mine, 256, BaseOts::Kept(5), BaseOts::Kept(5)),
            (mine, mine, 128, BaseOts::Kept(5), BaseOts::Kept(5)),
            (mine, mine, 0, BaseOts::Unneeded, BaseOts::Unneeded),
            (mine, mine, 264, BaseOts::New(Why::TooFew), BaseOts::New(Why::TooFew)),
            (mine, have(|mark| mark.generation = 9), 256, BaseOts::Kept(9), BaseOts::Kept(9)),
            (
                mine,
                have(|mark| mark.generation = MOST_RUNS),
                256,
                BaseOts::New(Why::Worn),
                BaseOts::New(Why::Worn),
            ),
            (
                mine,
                have(|mark| mark.generation = u64::MAX),
                256,
                BaseOts::New(Why::Worn),
                BaseOts::New(Why::Worn),
            ),
            (
                mine,
                have(|mark| mark.id[31] ^= 1),
                8,
                BaseOts::New(Why::Different),
                BaseOts::New(Why::Different),
            ),
            (
                mine,
                have(|mark| mark.count = 264),
                8,
                BaseOts::New(Why::Different),
                BaseOts::New(Why::Different),
            ),
        ];
        for (mine, theirs, needed, here, there) in cases {
            let needed = (192, needed);
            assert_eq!(BaseOts::agree(&mine, &theirs, needed), here, "{mine:?} {theirs:?} {needed:?}");
            assert_eq!(BaseOts::agree(&theirs, &mine, needed), there, "{theirs:?} {mine:?} {needed:?}");
        }
        let stronger = have(|mark| mark.level = 256);
        assert_eq!(BaseOts::agree(&mine, &stronger, (192, 8)), BaseOts::New(Why::Different));
    }

    /// A run at another level, higher or lower, makes new ones; a run at level 80 leaves the file alone.
    #[test]
    fn flaw_no_run_takes_those_of_another_level() {
        for made in [128, 192, 256] {
            let mine = CacheState::Holds(Mark { level: made, ..MARK });
            for level in [128, 192, 256] {
                let agreed = BaseOts::agree(&mine, &mine, (level, 128));
                let expected = if level == made { BaseOts::Kept(5) } else { BaseOts::New(Why::OtherLevel) };
                assert_eq!(agreed, expected, "{made} for {level}");
            }
            for theirs in [mine, CacheState::Empty] {
                assert_eq!(BaseOts::agree(&mine, &theirs, (80, 80)), BaseOts::Unneeded);
                assert_eq!(BaseOts::agree(&theirs, &mine, (80, 80)), BaseOts::Unneeded);
            }
        }
    }
}
