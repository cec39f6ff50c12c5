//! Base OTs that two parties keep from one run to the next: what each says of its own, and what both make of it.
//!
//! The parties compare what they have in the terms. Only if both have the same does a run take it; otherwise it makes base
//! OTs anew and both keep those, whatever had happened to the old ones. [`vesica_ot::base::kept`] has what a run derives from
//! them and why that is sound, docs/base-ots.md what it means for users; the file is in `base_ots/file.rs`.

use vesica_channel::codec::{CodecError, Reader, Writer};
use vesica_ot::base::kept;

pub(crate) mod file;

/// Runs that one set of base OTs serves at most. It bounds what a stolen file tells, and how far one side can fall behind.
pub const MOST_RUNS: u64 = 1024;

/// What tells base OTs apart. Public.
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

/// What a party says of base OTs in its terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// It keeps none.
    Nothing,
    /// It would keep them, and has none.
    Room,
    /// It has these.
    Have(Mark),
}

impl Offer {
    /// u8 kind, and the mark if there is one: id, u32 level, u32 count, u64 generation.
    pub(crate) fn encode(&self, writer: &mut Writer) {
        match self {
            Offer::Nothing => writer.u8(0),
            Offer::Room => writer.u8(1),
            Offer::Have(Mark { id, level, count, generation }) => {
                writer.u8(2).fixed(id).u32(*level).u32(*count).u64(*generation)
            }
        };
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        match reader.u8()? {
            0 => Ok(Offer::Nothing),
            1 => Ok(Offer::Room),
            2 => {
                let (id, level, count) = (reader.array()?, reader.u32()?, reader.u32()?);
                Ok(Offer::Have(Mark { id, level, count, generation: reader.u64()? }))
            }
            _ => Err(CodecError::Invalid { what: "offer of base OTs" }),
        }
    }
}

/// What the base OTs of a run are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaseOts {
    /// It needs none that may be kept.
    Unneeded,
    /// Made for this run alone: at least one of the parties keeps none.
    Alone,
    /// Made, and kept after the run.
    New(Why),
    /// Kept ones, which have served so many runs.
    Kept(u64),
}

/// Why base OTs that are to be kept are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Neither party has any.
    First,
    /// I have none, or not any more.
    MineGone,
    /// The partner has none, or not any more.
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
    /// What becomes of a run that needs so many, the same on both sides.
    pub(crate) fn agree(mine: &Offer, theirs: &Offer, (level, needed): (u32, u64)) -> Self {
        match (mine, theirs) {
            _ if needed == 0 || !kept::may_be_kept(level) => BaseOts::Unneeded,
            (Offer::Nothing, _) | (_, Offer::Nothing) => BaseOts::Alone,
            (Offer::Room, Offer::Room) => BaseOts::New(Why::First),
            (Offer::Room, Offer::Have(_)) => BaseOts::New(Why::MineGone),
            (Offer::Have(_), Offer::Room) => BaseOts::New(Why::TheirsGone),
            (Offer::Have(mine), Offer::Have(theirs)) => {
                // A side that fell behind, since its last run ended between the confirmation and the file, goes on to
                // where the other one is.
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

    /// In one word, for the report.
    pub fn name(&self) -> &'static str {
        match self {
            BaseOts::Unneeded => "none",
            BaseOts::Alone => "not kept",
            BaseOts::New(_) => "new",
            BaseOts::Kept(_) => "kept",
        }
    }
}

impl std::fmt::Display for BaseOts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let why = match self {
            BaseOts::Unneeded => {
                return f.write_str("this run needs none that may be kept; the file stays as it is");
            }
            BaseOts::Alone => {
                return f
                    .write_str("not kept, since the partner keeps none (both sides give --keep-base-ots)");
            }
            BaseOts::Kept(generation) => {
                return write!(
                    f,
                    "those kept from an earlier run ({} of {MOST_RUNS} runs with them)",
                    generation + 1
                );
            }
            BaseOts::New(why) => why,
        };
        f.write_str("made anew and kept, since ")?;
        f.write_str(match why {
            Why::First => "there are none yet",
            Why::MineGone => "this side has none",
            Why::TheirsGone => "the partner has none any more",
            Why::Different => "the two sides have different ones",
            Why::OtherLevel => "the old ones were made for another level than this run's",
            Why::TooFew => "this run needs more than there are",
            Why::Worn => "the old ones have served their number of runs",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: Mark = Mark { id: [7; 32], level: 192, count: 256, generation: 5 };

    #[test]
    fn offers_come_back_and_nothing_else_does() {
        for offer in [Offer::Nothing, Offer::Room, Offer::Have(MARK)] {
            let mut writer = Writer::new();
            offer.encode(&mut writer);
            let bytes = writer.into_vec();
            let mut reader = Reader::new(&bytes);
            assert_eq!(Offer::decode(&mut reader), Ok(offer));
            assert_eq!(reader.left(), 0);
            assert!((0..bytes.len()).all(|cut| Offer::decode(&mut Reader::new(&bytes[..cut])).is_err()));
        }
        assert!(Offer::decode(&mut Reader::new(&[3])).is_err());
    }

    #[test]
    fn both_sides_agree_and_only_on_what_both_have() {
        let have = |change: fn(&mut Mark)| {
            let mut mark = MARK;
            change(&mut mark);
            Offer::Have(mark)
        };
        let mine = have(|_| {});
        let cases = [
            (Offer::Nothing, mine, 256, BaseOts::Alone, BaseOts::Alone),
            (Offer::Nothing, Offer::Nothing, 256, BaseOts::Alone, BaseOts::Alone),
            (Offer::Room, Offer::Room, 256, BaseOts::New(Why::First), BaseOts::New(Why::First)),
            (mine, Offer::Room, 256, BaseOts::New(Why::TheirsGone), BaseOts::New(Why::MineGone)),
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
            let mine = Offer::Have(Mark { level: made, ..MARK });
            for level in [128, 192, 256] {
                let agreed = BaseOts::agree(&mine, &mine, (level, 128));
                let expected = if level == made { BaseOts::Kept(5) } else { BaseOts::New(Why::OtherLevel) };
                assert_eq!(agreed, expected, "{made} for {level}");
            }
            for theirs in [mine, Offer::Room] {
                assert_eq!(BaseOts::agree(&mine, &theirs, (80, 80)), BaseOts::Unneeded);
                assert_eq!(BaseOts::agree(&theirs, &mine, (80, 80)), BaseOts::Unneeded);
            }
        }
    }
}
