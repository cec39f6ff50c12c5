//! What can go wrong between the parties, and who is at fault.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use thiserror::Error;

use vesica_channel::{ChannelError, Fault, Span};
use vesica_text::{Text, text};

use crate::identity::PublicKey;

/// Everything that keeps a connection from being made, or ends it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NetError {
    /// The address cannot be read.
    #[error("the address `{address}` is not usable: {why}")]
    BadAddress {
        /// As given.
        address: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The address to listen on cannot be bound.
    #[error("cannot listen on {address}: {cause}")]
    Bind {
        /// As given.
        address: String,
        /// The system's reason.
        cause: String,
    },
    /// Plaintext was asked for, but the address is not a loopback address.
    #[error("plaintext is allowed on a loopback address only, and {address} is not one")]
    PlaintextNotLoopback {
        /// As given.
        address: String,
    },

    /// The partner's address never answered.
    #[error("{}", self.text())]
    Unreachable {
        /// As given.
        address: String,
        /// How long was tried.
        waited: Duration,
        /// Why the last attempt failed.
        last: RetryReason,
    },
    /// The partner did not connect to us.
    #[error("the partner did not connect to {address} within {}{}", Span(*waited), strangers_text(others))]
    NobodyCame {
        /// Where we listened.
        address: SocketAddr,
        /// For how long.
        waited: Duration,
        /// Who came in its place.
        others: Box<Others>,
    },
    /// Of several who were to connect to us, one did not, or none did.
    #[error(
        "{} to {address} within {}{}",
        if *all { "no party connected".to_owned() } else { format!("the party {key} did not connect") },
        Span(*waited),
        strangers_text(others)
    )]
    PartyMissing {
        /// Who did not come; the first of them.
        key: PublicKey,
        /// Whether nobody came.
        all: bool,
        /// Where we listened.
        address: SocketAddr,
        /// For how long.
        waited: Duration,
        /// Who else came.
        others: Box<Others>,
    },
    /// Whoever answered does not speak Vesica's protocol.
    #[error("{address} does not speak the vesica protocol")]
    NotVesica {
        /// Who answered.
        address: SocketAddr,
    },
    /// The partner speaks another version of the protocol.
    #[error("{}", self.text())]
    VersionMismatch {
        /// Our version.
        mine: u16,
        /// The partner's version.
        theirs: u16,
    },
    /// The other side has another key than the one we expect.
    #[error("{}", self.text())]
    WrongPeer {
        /// The key we were told to expect.
        expected: PublicKey,
        /// The key that was presented.
        presented: PublicKey,
    },
    /// The other side does not accept our key.
    #[error("{}", self.text())]
    RefusedByPeer {
        /// The key we presented.
        ours: PublicKey,
    },

    /// The relay never answered.
    #[error("could not reach the relay at {relay} within {}: {last}", Span(*waited))]
    RelayUnreachable {
        /// As given.
        relay: String,
        /// How long was tried.
        waited: Duration,
        /// Why the last attempt failed.
        last: RetryReason,
    },
    /// The partner did not come to the relay.
    #[error("the partner did not come to the relay at {relay} within {}: {last}", Span(*waited))]
    NobodyAtRelay {
        /// As given.
        relay: String,
        /// How long was tried.
        waited: Duration,
        /// Why the last attempt failed.
        last: RetryReason,
    },
    /// Whoever answered is no relay.
    #[error("{address} is not a vesica relay")]
    NotARelay {
        /// Who answered.
        address: SocketAddr,
    },
    /// The relay has another key than the one we expect.
    #[error("the relay at {relay} is not the expected one: it presented {presented}, expected is {expected}")]
    WrongRelay {
        /// As given.
        relay: String,
        /// The key we were told to expect.
        expected: PublicKey,
        /// The key that was presented.
        presented: PublicKey,
    },
    /// The relay gives no service.
    #[error("the relay at {relay} refused us, whose key is {ours}: {refusal}")]
    RefusedByRelay {
        /// As given.
        relay: String,
        /// The key we presented.
        ours: PublicKey,
        /// Why.
        refusal: Refusal,
    },
    /// The relay put somebody else in the partner's place, or altered what went through it.
    #[error("what came through the relay at {relay} does not prove the partner's key")]
    Mispaired {
        /// As given.
        relay: String,
    },

    /// The conversation failed, or could not begin.
    #[error(transparent)]
    Channel(#[from] ChannelError),
}

impl NetError {
    /// What it says, whoever the other side is.
    pub fn text(&self) -> Text {
        match self {
            Self::Unreachable { address, waited, last } => text!(
                "could not reach {the partner} at {} within {}: {}",
                address,
                Span(*waited).to_string(),
                last.text()
            ),
            Self::VersionMismatch { mine, theirs } => text!(
                "{the partner} speaks version {} of the protocol, this program version {}",
                theirs.to_string(),
                mine.to_string()
            ),
            Self::WrongPeer { expected, presented } => text!(
                "the other side is not {the expected partner}: it presented {}, expected is {}",
                presented.to_string(),
                expected.to_string()
            ),
            Self::RefusedByPeer { ours } => {
                text!("{the partner} refused our key {}: it expects another one", ours.to_string())
            }
            Self::Channel(error) => error.text(),
            other => Text::words(other),
        }
    }

    /// Who is at fault.
    pub fn fault(&self) -> Fault {
        match self {
            Self::BadAddress { .. } | Self::Bind { .. } | Self::PlaintextNotLoopback { .. } => Fault::Usage,
            // Whoever came alone, with another key, is most likely the partner.
            Self::NobodyCame { others, .. } | Self::PartyMissing { others, .. } if others.is_one_key() => {
                Fault::Identity
            }
            Self::Unreachable { .. }
            | Self::NobodyCame { .. }
            | Self::PartyMissing { .. }
            | Self::RelayUnreachable { .. }
            | Self::NobodyAtRelay { .. }
            | Self::Mispaired { .. } => Fault::Partner,
            Self::NotVesica { .. }
            | Self::VersionMismatch { .. }
            | Self::WrongPeer { .. }
            | Self::RefusedByPeer { .. }
            | Self::NotARelay { .. }
            | Self::WrongRelay { .. }
            | Self::RefusedByRelay { .. } => Fault::Identity,
            Self::Channel(error) => error.fault(),
        }
    }

    /// Whether it is about a relay, not about the partner.
    pub fn is_of_relay(&self) -> bool {
        matches!(
            self,
            Self::RelayUnreachable { .. }
                | Self::NotARelay { .. }
                | Self::WrongRelay { .. }
                | Self::RefusedByRelay { .. }
                | Self::Mispaired { .. }
        )
    }

    pub(crate) fn system(what: &'static str, cause: &impl ToString) -> Self {
        ChannelError::system(what, cause).into()
    }
}

/// Why an attempt to connect did not succeed, so that it is made again.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RetryReason {
    /// The name has no address, for now.
    #[error("the name cannot be resolved: {0}")]
    Resolve(String),
    /// Nobody listens there.
    #[error("nobody listens there")]
    Refused,
    /// The address did not answer.
    #[error("no answer")]
    NoAnswer,
    /// The resolver gave no answer in the time that was left.
    #[error("the name cannot be resolved: the resolver does not answer")]
    ResolverSilent,
    /// The other side took the connection and closed it at once.
    #[error("the other side closed the connection at once")]
    ClosedEarly,
    /// The other side is the partner, and the connection ended before its first message.
    #[error("{}", self.text())]
    LeftEarly,
    /// The other side plays the parts of a run, which this is not.
    #[error("it is busy with another run")]
    AnotherRun,
    /// The relay is not reached, or lost.
    #[error("the relay cannot be used: {0}")]
    Relay(Box<RetryReason>),
    /// The relay has no room.
    #[error("it has too many connections at once")]
    Busy,
    /// Whoever holds the run's connection has not told the relay of the run's key, or does so no longer.
    #[error("it does not know this run")]
    NotGranted,
    /// The partner is not at the relay.
    #[error("it is not there yet")]
    NotThere,
    /// Somebody is there who is not the partner, and this may change, or another address of the name may lead to it.
    #[error("{0}")]
    Stranger(String),
    /// The system's reason.
    #[error("{0}")]
    Other(String),
}

impl RetryReason {
    /// What it says, whoever the other side is.
    pub fn text(&self) -> Text {
        match self {
            Self::LeftEarly => {
                text!("{the partner} was there, and the connection ended before its first message")
            }
            other => Text::words(other),
        }
    }

    /// Whether an attempt for which the time did not suffice ends like this.
    pub(crate) fn says_little(&self) -> bool {
        match self {
            Self::NoAnswer | Self::ResolverSilent => true,
            Self::Relay(reason) => reason.says_little(),
            _ => false,
        }
    }
}

impl From<&io::Error> for RetryReason {
    fn from(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Self::NoAnswer,
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => Self::ClosedEarly,
            _ => Self::Other(error.to_string()),
        }
    }
}

/// Why someone who connected to us was turned away.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StrangerReason {
    /// It has another key than the partner.
    #[error("it presented another key, {0}")]
    OtherKey(PublicKey),
    /// It does not accept our key.
    #[error("it expects another key than ours")]
    RefusedUs,
    /// It does not speak the protocol.
    #[error("it does not speak the vesica protocol")]
    NotVesica,
    /// It said nothing, or not enough, for too long.
    #[error("it did not complete the handshake in time")]
    TooSlow,
    /// It went away.
    #[error("it closed the connection")]
    ClosedEarly,
}

/// Those who came to a listener and were not the partner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// How many.
    pub count: u64,
    /// Why the last of them was turned away.
    pub last: Option<StrangerReason>,
    /// Our key and the one expected, unless it was plaintext.
    pub keys: Option<(PublicKey, PublicKey)>,
    /// The key that the last one presented who presented any.
    pub other_key: Option<PublicKey>,
    /// How many presented another key than that, or none, and did not refuse ours.
    pub unlike: u64,
}

impl Others {
    /// One more.
    pub(crate) fn add(&mut self, reason: StrangerReason) {
        let first = self.count == 0;
        let like = match (&reason, &self.last) {
            (StrangerReason::OtherKey(_) | StrangerReason::RefusedUs, _) if first => true,
            (StrangerReason::OtherKey(key), _) => self.other_key == Some(*key),
            (StrangerReason::RefusedUs, Some(StrangerReason::RefusedUs)) => true,
            _ => false,
        };
        self.count += 1;
        self.unlike += u64::from(!like);
        if let StrangerReason::OtherKey(key) = reason {
            self.other_key = Some(key);
        }
        self.last = Some(reason);
    }

    /// Whether nobody came but one party with another key, or one that expects another key than ours.
    pub fn is_one_key(&self) -> bool {
        self.count > 0 && self.unlike == 0
    }
}

fn strangers_text(others: &Others) -> String {
    let Some(last) = &others.last else { return String::new() };
    let turned_away = match others.count {
        1 => format!("; one other was turned away, because {last}"),
        count => format!("; {count} others were turned away, the last because {last}"),
    };
    match (others.keys, last, others.other_key) {
        (Some((_, expected)), StrangerReason::OtherKey(_), _) => {
            format!("{turned_away}, and expected is {expected}")
        }
        (Some((_, expected)), _, Some(key)) => {
            format!("{turned_away}; one of them presented the key {key}, and expected is {expected}")
        }
        (Some((ours, _)), StrangerReason::RefusedUs, None) => format!("{turned_away}, {ours}"),
        _ => turned_away,
    }
}

/// Why a relay gives no service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The key is not on its list.
    #[error("the key is not on its list")]
    NotAllowed,
    /// It speaks another version.
    #[error("it speaks another version of the relay's protocol")]
    Version,
    /// It does not serve parts of runs, as relays of earlier versions.
    #[error("it does not serve runs in parts")]
    Parts,
    /// What was asked cannot be: a partner with one's own key, a run with a part.
    #[error("what it was asked for cannot be")]
    Malformed,
    /// Too many streams at once, of this key or in all.
    #[error("it has too many connections at once")]
    Busy,
    /// The partner's key is not on its list, so it need not wait for it.
    #[error("the partner's key is not on its list")]
    PartnerNotAllowed,
    /// Nobody who may do so holds a grant for that key and run, or does so no longer.
    #[error("no grant is open for this part's run")]
    NotGranted,
    /// A reason that this version does not know.
    #[error("its reason has number {0}, which this version does not know")]
    Other(u8),
}
