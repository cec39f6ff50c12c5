//! What a party and a relay say to each other, inside TLS and before the handover. All numbers are little-endian.
//!
//! ```text
//!  party  JOIN   u16 version · u8 kind 0 (run), 1 (part) · 32 label · 32 partner's key · u32 part · u16 round
//!                u16 version · u8 kind 2 (grant) · 32 run key · 32 tag
//!         PING   u8 1
//!         OVER   u8 2 · u16 round      on a grant: parts of that round, and of those before it, are played no more
//!  relay  WAIT   u8 1
//!         PAIRED u8 2 · u32 part
//!         REFUSED u8 3 · u8 reason
//!         CLOSED u8 4
//! ```
//!
//! A run has part 0 and round 0. WAIT also says that a grant is open.

use vesica_channel::codec::{CodecError, Reader, Writer};

use super::Label;
use crate::error::Refusal;
use crate::identity::PublicKey;

/// The version of what is said to a relay.
pub(crate) const VERSION: u16 = 2;
/// A party that waits is alive.
pub(crate) const PING: u8 = 1;
/// Of a grant: a round is over.
const OVER: u8 = 2;
/// In the place of a part's number: any at which the partner waits.
pub(crate) const ANY_PART: u32 = u32::MAX;

/// What a party asks of a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// The connection of a run.
    Run {
        /// [`Label::of_run`].
        label: Label,
        /// With whom.
        partner: PublicKey,
    },
    /// The connection of a part of a run.
    Part {
        /// The run's tag.
        tag: Label,
        /// With whom.
        partner: PublicKey,
        /// Which part; 2^32 - 1 for any at which the partner waits.
        part: u32,
        /// In which round.
        round: u16,
    },
    /// While it is open, that key may join parts of that tag in our name.
    Grant {
        /// A key made for the run.
        run_key: PublicKey,
        /// The run's tag.
        tag: Label,
    },
}

impl Refusal {
    const CODES: [(u8, Self); 7] = [
        (1, Self::NotAllowed),
        (2, Self::Version),
        (3, Self::Parts),
        (4, Self::Malformed),
        (5, Self::Busy),
        (6, Self::PartnerNotAllowed),
        (7, Self::NotGranted),
    ];

    fn code(self) -> u8 {
        match self {
            Self::Other(code) => code,
            known => Self::CODES.iter().find(|(_, refusal)| *refusal == known).map_or(0, |(code, _)| *code),
        }
    }

    fn of(code: u8) -> Self {
        Self::CODES
            .iter()
            .find(|(known, _)| *known == code)
            .map_or(Self::Other(code), |(_, refusal)| *refusal)
    }
}

impl Join {
    /// Whether a relay that has paired that part has done what was asked.
    pub(crate) fn is_answered_by(&self, paired: u32) -> bool {
        match self {
            Self::Run { .. } => paired == 0,
            Self::Part { part: ANY_PART, .. } => paired != ANY_PART,
            Self::Part { part, .. } => paired == *part,
            Self::Grant { .. } => false,
        }
    }

    /// As it goes over the wire.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::new();
        out.u16(VERSION);
        match self {
            Self::Run { label, partner } => {
                out.u8(0).fixed(&label.0).fixed(partner.as_bytes()).u32(0).u16(0);
            }
            Self::Part { tag, partner, part, round } => {
                out.u8(1).fixed(&tag.0).fixed(partner.as_bytes()).u32(*part).u16(*round);
            }
            Self::Grant { run_key, tag } => {
                out.u8(2).fixed(run_key.as_bytes()).fixed(&tag.0);
            }
        }
        out.into_vec()
    }

    /// The JOIN that these bytes begin with, and its length; none if more bytes are needed.
    ///
    /// # Errors
    /// If no bytes that follow make it a JOIN.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Self, usize)>, Refusal> {
        let mut reader = Reader::new(bytes);
        match Self::read(&mut reader) {
            Ok(join) => join.map(|join| Some((join, bytes.len() - reader.left()))),
            Err(_) => Ok(None),
        }
    }

    /// The outer error is that bytes are missing.
    fn read(reader: &mut Reader<'_>) -> Result<Result<Self, Refusal>, CodecError> {
        // Another version may have other fields after this one.
        if reader.u16()? != VERSION {
            return Ok(Err(Refusal::Version));
        }
        let kind = reader.u8()?;
        if kind > 2 {
            return Ok(Err(Refusal::Malformed));
        }
        let (first, second) = (reader.array()?, reader.array()?);
        if kind == 2 {
            return Ok(Ok(Self::Grant { run_key: PublicKey::from_bytes(first), tag: Label(second) }));
        }
        let (label, partner) = (Label(first), PublicKey::from_bytes(second));
        let (part, round) = (reader.u32()?, reader.u16()?);
        Ok(match (kind, part, round) {
            (1, _, _) => Ok(Self::Part { tag: label, partner, part, round }),
            (_, 0, 0) => Ok(Self::Run { label, partner }),
            _ => Err(Refusal::Malformed),
        })
    }
}

/// What a party says after its JOIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// It is alive.
    Ping,
    /// On a grant: that round is over, and those before it.
    Over {
        /// Which.
        round: u16,
    },
}

impl Sign {
    pub(crate) fn encode(self) -> Vec<u8> {
        let mut out = Writer::new();
        match self {
            Self::Ping => out.u8(PING),
            Self::Over { round } => out.u8(OVER).u16(round),
        };
        out.into_vec()
    }

    /// The sign that these bytes begin with, and its length; none if more bytes are needed.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Option<(Self, usize)>, CodecError> {
        let mut reader = Reader::new(bytes);
        match Self::read(&mut reader) {
            Ok(sign) => Ok(Some((sign, bytes.len() - reader.left()))),
            Err(CodecError::Truncated { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        match reader.u8()? {
            PING => Ok(Self::Ping),
            OVER => Ok(Self::Over { round: reader.u16()? }),
            _ => Err(CodecError::Invalid { what: "sign of a party" }),
        }
    }
}

/// What a relay answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// The partner is not there yet; the relay is alive.
    Wait,
    /// It is there: the relay's close_notify follows.
    Paired {
        /// Which part of the run.
        part: u32,
    },
    /// No service; the relay's close_notify follows.
    Refused(Refusal),
    /// The round is over.
    Closed,
}

impl Reply {
    pub(crate) fn encode(self) -> Vec<u8> {
        let mut out = Writer::new();
        match self {
            Self::Wait => out.u8(1),
            Self::Paired { part } => out.u8(2).u32(part),
            Self::Refused(refusal) => out.u8(3).u8(refusal.code()),
            Self::Closed => out.u8(4),
        };
        out.into_vec()
    }

    /// The reply that these bytes begin with, and its length; none if more bytes are needed.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Option<(Self, usize)>, CodecError> {
        let mut reader = Reader::new(bytes);
        match Self::read(&mut reader) {
            Ok(reply) => Ok(Some((reply, bytes.len() - reader.left()))),
            Err(CodecError::Truncated { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        match reader.u8()? {
            1 => Ok(Self::Wait),
            2 => Ok(Self::Paired { part: reader.u32()? }),
            3 => reader.u8().map(|code| Self::Refused(Refusal::of(code))),
            4 => Ok(Self::Closed),
            _ => Err(CodecError::Invalid { what: "reply of a relay" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joins() -> [Join; 3] {
        let (key, label) = (PublicKey::from_bytes([3; 32]), Label([7; 32]));
        [
            Join::Run { label, partner: key },
            Join::Part { tag: label, partner: key, part: u32::MAX, round: 5 },
            Join::Grant { run_key: key, tag: label },
        ]
    }

    #[test]
    fn a_join_is_read_from_any_beginning() {
        for join in joins() {
            let bytes = join.encode();
            for length in 0..bytes.len() {
                assert_eq!(Join::decode(&bytes[..length]), Ok(None), "{length} of {join:?}");
            }
            let more = [&bytes[..], &[PING, 9]].concat();
            assert_eq!(Join::decode(&more), Ok(Some((join, bytes.len()))));
        }
        assert_eq!(joins().map(|join| join.encode().len()), [73, 73, 67]);
    }

    #[test]
    fn what_cannot_be_a_join_is_known_at_its_first_byte_that_is_wrong() {
        assert_eq!(Join::decode(&[1, 0]), Err(Refusal::Version));
        assert_eq!(Join::decode(b"GET / HTTP/1.1"), Err(Refusal::Version));
        assert_eq!(Join::decode(&[2, 0, 3]), Err(Refusal::Malformed));
        // A run has no part and no round.
        for at in [67, 70, 71, 72] {
            let mut bytes = joins()[0].encode();
            bytes[at] = 1;
            assert_eq!(Join::decode(&bytes), Err(Refusal::Malformed), "{at}");
        }
    }

    #[test]
    fn a_relay_has_to_pair_the_part_that_was_asked_for() {
        let (partner, tag) = (PublicKey::from_bytes([3; 32]), Label([7; 32]));
        let part = |part| Join::Part { tag, partner, part, round: 5 };
        let answers = |join: Join| [0, 3, 4, ANY_PART].map(|paired| join.is_answered_by(paired));
        assert_eq!(answers(Join::Run { label: tag, partner }), [true, false, false, false]);
        assert_eq!(answers(part(3)), [false, true, false, false]);
        assert_eq!(answers(part(ANY_PART)), [true, true, true, false]);
        assert_eq!(answers(Join::Grant { run_key: partner, tag }), [false; 4]);
    }

    #[test]
    fn signs_round_trip_and_others_are_none() {
        for sign in [Sign::Ping, Sign::Over { round: 0 }, Sign::Over { round: u16::MAX }] {
            let bytes = sign.encode();
            assert_eq!(Sign::decode(&bytes), Ok(Some((sign, bytes.len()))));
            assert_eq!(Sign::decode(&bytes[..bytes.len() - 1]), Ok(None));
        }
        assert!(Sign::decode(&[0]).is_err() && Sign::decode(&[3]).is_err());
    }

    #[test]
    fn replies_round_trip_and_others_are_none() {
        let refusals = Refusal::CODES.map(|(_, refusal)| Reply::Refused(refusal));
        let replies =
            [Reply::Wait, Reply::Paired { part: 77 }, Reply::Closed, Reply::Refused(Refusal::Other(200))];
        for reply in refusals.into_iter().chain(replies) {
            let bytes = reply.encode();
            assert_eq!(Reply::decode(&bytes), Ok(Some((reply, bytes.len()))));
            assert_eq!(Reply::decode(&bytes[..bytes.len() - 1]), Ok(None));
        }
        assert!(Reply::decode(&[0]).is_err() && Reply::decode(&[5]).is_err());
    }
}
