//! What an engine gives to its tasks: all that the connection of a part takes, and nothing of the identity.
//!
//! ```text
//!   u16 version
//!   bool sender · bool both learn · name and parameters of the protocol · u64 n_r · u64 n_s · u32 B
//!   32 A · 32 tag · the key of this run · the partner's key of this run
//!   u16 round · where the partner is · how long it may be silent, how long a task waits, its threads
//!   32 H("vesica ticket v1", all of that)
//! ```
//!
//! Both ends are the same version of this library, on machines of one owner. So the hash is against damage, not against
//! somebody who forges it; a ticket with other values ends with a part that fails.
//!
//! A is what the ids of attempts hash of J ([`crate::scale::parts`]).
//!
//! **Secrecy.** Who has the key of the run can take this side's place in its parts until the run ends, and no longer. So a
//! ticket is not printed, and this library wipes its copies; what an engine makes of it (such as objects of Python) it has
//! to keep to itself. Neither J nor k nor the session id is in it, and nothing from which they follow.

use std::fmt;
use std::time::Duration;

use vesica_channel::codec::{CodecError, Reader, Writer};
use vesica_net::relay::RelayAddress;
use vesica_net::{Identity, PartsAddress, PublicKey};
use vesica_protocols::registry::Security;
use vesica_protocols::{KeyAgreement, Learns, Profile, ResultKind, Role, Sizes};
use zeroize::Zeroizing;

use super::super::toss::{Job, Player, Players};
use crate::session::Agreed;
use crate::session::partner::MOST_RELAYS;
use crate::words::auto;
use crate::words::error::Error;
use crate::words::parts::{self, Parts};
use crate::words::settings::{Choice, Wanted, Word};

const VERSION: u16 = 1;

/// Bytes of the hash at the end.
const HASH: usize = 32;

/// The longest text in a ticket: a private key, or an address.
const MOST_TEXT: usize = 1024;

/// What a task of a round has to know.
#[derive(Clone)]
pub(super) struct Ticket {
    pub(super) agreed: Agreed,
    pub(super) job: Job,
    pub(super) round: u16,
    pub(super) place: PartsAddress,
    /// Whether connections are encrypted.
    pub(super) secured: bool,
    /// How long the partner may be silent.
    pub(super) silence: Duration,
    /// How long a task waits at most while the partner plays other parts.
    pub(super) wait: Duration,
    /// As in the settings.
    pub(super) threads: usize,
}

/// A ticket as bytes. They are secret until the run has ended.
#[derive(Clone)]
pub struct TicketBytes(Zeroizing<Vec<u8>>);

impl TicketBytes {
    /// What [`Task::new`](super::Task::new) takes.
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for TicketBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TicketBytes(secret)")
    }
}

impl Ticket {
    pub(super) fn encode(&self) -> Result<TicketBytes, Error> {
        let pem = self.job.mine.to_pem().map_err(|_| refused("the key of the run has no form as text"))?;
        // No byte of it is left behind where the buffer grows.
        let mut writer = Writer::with_capacity((16 + 2 * MOST_RELAYS) * MOST_TEXT);
        let Agreed { protocol, parameters, sizes, parts, learns, .. } = &self.agreed;
        writer.u16(VERSION).bool(self.agreed.role() == Role::Sender).bool(*learns == Learns::Both);
        writer.text(protocol.name).text(parameters.security.word()).u32(parameters.level);
        writer.text(parameters.variant.map_or("", |variant| variant.name)).text(parameters.profile.word());
        writer.text(parameters.base_ots.word());
        writer.u64(sizes.receiver as u64).u64(sizes.sender as u64).u32(parts.count() as u32);
        writer.fixed(&self.job.attempts_id).fixed(&self.job.tag).text(&pem).fixed(self.job.theirs.as_bytes());
        writer.u16(self.round);
        encode_place(&self.place, &mut writer);
        writer.bool(self.secured).u64(self.silence.as_secs()).u64(self.wait.as_secs());
        writer.u32(self.threads as u32);
        let hash = hash(writer.as_slice());
        writer.fixed(&hash);
        Ok(TicketBytes(Zeroizing::new(writer.into_vec())))
    }

    /// Reads what [`encode`](Self::encode) has written.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let unreadable = || refused("the ticket of a part does not decode");
        let (body, own) = bytes.split_last_chunk::<HASH>().ok_or_else(unreadable)?;
        if hash(body) != *own {
            return Err(unreadable());
        }
        Self::decode_body(&mut Reader::new(body)).map_err(|_| unreadable())
    }

    fn decode_body(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        if reader.u16()? != VERSION {
            return Err(CodecError::Invalid { what: "version" });
        }
        let role = if reader.bool()? { Role::Sender } else { Role::Receiver };
        let learns = if reader.bool()? { Learns::Both } else { Learns::Receiver };
        let agreed = decode_agreed(reader, role, learns)?;
        let (attempts_id, tag) = (reader.array()?, reader.array()?);
        let mine = Identity::from_pem(reader.text(MOST_TEXT)?)
            .map_err(|_| CodecError::Invalid { what: "key of the run" })?;
        let theirs = PublicKey::from_bytes(reader.array()?);
        // None of these is of use to a task: its items are under the key already, and the round is given.
        let (id, items_key) = ([0; 32], [0; 32]);
        let players = Players { mine: Player::engine(1), theirs: Player::process(1) };
        let job = Job { id, items_key, attempts_id, tag, mine, theirs, players };
        let ticket = Ticket {
            agreed,
            job,
            round: reader.u16()?,
            place: decode_place(reader)?,
            secured: reader.bool()?,
            silence: Duration::from_secs(reader.u64()?),
            wait: Duration::from_secs(reader.u64()?),
            threads: reader.u32()? as usize,
        };
        reader.clone().finish()?;
        Ok(ticket)
    }
}

/// Sizes, parts and the protocol, as both sides have agreed on them.
fn decode_agreed(reader: &mut Reader<'_>, role: Role, learns: Learns) -> Result<Agreed, CodecError> {
    let invalid = |what| CodecError::Invalid { what };
    let name = reader.text(MOST_TEXT)?.to_owned();
    let security = Security::of(reader.text(MOST_TEXT)?).map_err(|_| invalid("security"))?;
    let level = reader.u32()?;
    let variant = Some(reader.text(MOST_TEXT)?).filter(|variant| !variant.is_empty());
    let profile = Profile::of(reader.text(MOST_TEXT)?).map_err(|_| invalid("profile"))?;
    let base_ots = KeyAgreement::of(reader.text(MOST_TEXT)?).map_err(|_| invalid("base OTs"))?;
    let (receiver, sender) = (reader.u64()?, reader.u64()?);
    let parts = Parts::new(reader.u32()?).map_err(|_| invalid("number of parts"))?;
    let size = |size: u64| usize::try_from(size).map_err(|_| invalid("size"));
    let sizes = Sizes { receiver: size(receiver)?, sender: size(sender)? };
    let played = parts::sizes(parts, sizes);
    if played.receiver.max(played.sender) > u32::MAX as usize || parts == Parts::ONE {
        return Err(invalid("number of parts"));
    }
    let wanted = Wanted {
        security,
        level,
        statistical: parts.statistical_security(),
        sigma: None,
        variant,
        profile,
        base_ots,
        paper_parameters: false,
        audit_max: None,
        result: ResultKind::Rows,
        min_matches: 0,
        noise: None,
        learns,
        // Both sides have allowed it, or it is none of those.
        allow_insecure: true,
        parts: parts.count() as u32,
    };
    let choice = auto::choose(&Choice::Named(name), wanted, Some(played));
    let choice = choice.map_err(|_| invalid("protocol"))?;
    Ok(Agreed::of_task(role, choice, learns, sizes, parts))
}

fn encode_place(place: &PartsAddress, writer: &mut Writer) {
    match place {
        PartsAddress::Partner(text) => writer.u8(0).text(text),
        PartsAddress::Relays { relays, partner } => {
            writer.u8(1).fixed(partner.as_bytes()).list(relays, |writer, RelayAddress { address, key }| {
                writer.text(address).fixed(key.as_bytes());
            })
        }
    };
}

fn decode_place(reader: &mut Reader<'_>) -> Result<PartsAddress, CodecError> {
    match reader.u8()? {
        0 => Ok(PartsAddress::Partner(reader.text(MOST_TEXT)?.to_owned())),
        1 => {
            let partner = PublicKey::from_bytes(reader.array()?);
            let relays = reader.list(MOST_RELAYS, |reader| {
                let address = reader.text(MOST_TEXT)?.to_owned();
                Ok(RelayAddress { address, key: PublicKey::from_bytes(reader.array()?) })
            });
            Ok(PartsAddress::Relays { relays: relays?, partner })
        }
        _ => Err(CodecError::Invalid { what: "address" }),
    }
}

fn hash(body: &[u8]) -> [u8; HASH] {
    blake3::derive_key("vesica ticket v1", body)
}

fn refused(message: &'static str) -> Error {
    let remedy =
        "give a part's task the ticket that `round()` returned in this run, in the same version of vesica";
    Error::usage(message, remedy)
}
