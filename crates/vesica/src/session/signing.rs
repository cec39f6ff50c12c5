//! What both sides sign at the end of a run whose keys are known.
//!
//! After its size each side tells when it began and the version of its program. With that both have the whole statement but
//! for the digests of what was sent ([`crate::receipt`]). The signature goes with these digests, in DONE.

use std::collections::BTreeMap;

use vesica_channel::codec::{CodecError, Writer};
use vesica_channel::{Channel, Digests};
use vesica_net::{Connection, Identity, Nonces, PublicKey};
use vesica_protocols::{Learns, ResultName, Role};

use super::agreed::Agreed;
use super::error::SessionError;
use crate::words::receipt::{Party, Receipt, SetName, Statement};
use crate::words::report::shown_time;
use crate::words::settings::Word;

/// The version of this program.
pub(crate) const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// The most bytes of a version.
const MOST_OF_A_VERSION: usize = 32;

/// The last millisecond of the year 9999, behind which RFC 3339 has no times.
const LAST: u64 = 253_402_300_799_999;

/// Who signs on this side.
#[derive(Clone, Copy)]
pub(crate) struct Signer<'a> {
    pub(crate) identity: &'a Identity,
    /// When this side began, in milliseconds since 1970.
    pub(crate) started: u64,
}

/// What a side tells of itself.
pub(crate) struct Told {
    started: u64,
    version: String,
}

/// Who signs, and what.
pub(crate) struct Signing {
    identity: Identity,
    partner: PublicKey,
    role: Role,
    /// Without the digests.
    statement: Statement,
}

/// A statement that this side has signed.
pub(crate) struct Signed<'s> {
    signing: &'s Signing,
    statement: Statement,
    message: Vec<u8>,
    signature: [u8; 64],
}

impl Told {
    /// What this side tells, which began at that time, in milliseconds since 1970.
    pub(crate) fn at(started: u64) -> Self {
        Told { started: started.min(LAST), version: PROGRAM.to_owned() }
    }

    /// `u64 milliseconds since 1970 · u8 length · version`.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.u64(self.started).u8(self.version.len() as u8).fixed(self.version.as_bytes());
        writer.into_vec()
    }

    /// What the other side tells.
    pub(crate) fn recv(channel: &mut dyn Channel) -> Result<Self, SessionError> {
        let mut head = [0; 9];
        channel.recv_exact(&mut head)?;
        let [time @ .., length] = head;
        let invalid = |what| SessionError::Decode {
            what: "a beginning and a version",
            cause: CodecError::Invalid { what },
        };
        let started = u64::from_le_bytes(time);
        if started > LAST || usize::from(length) > MOST_OF_A_VERSION {
            return Err(invalid("time or version"));
        }
        let mut version = vec![0; length.into()];
        channel.recv_exact(&mut version)?;
        let version =
            String::from_utf8(version).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_graphic()));
        Ok(Told { started, version: version.ok_or_else(|| invalid("version"))? })
    }

    fn party(self, key: &PublicKey, items: Option<u64>) -> Party {
        let (started, version) = (shown_time(self.started), self.version);
        Party { key: key.to_string(), items, started, version, sent: String::new() }
    }
}

impl Signing {
    /// What will be signed of an agreed run. Refused if no receipt could hold it.
    pub(crate) fn of(
        agreed: &Agreed,
        terms: BTreeMap<String, String>,
        (identity, mine): (&Identity, Told),
        (partner, theirs): (&PublicKey, Told),
    ) -> Result<Self, SessionError> {
        let (role, sizes) = (agreed.role(), agreed.sizes);
        let size = |role| Some(sizes.of(role) as u64);
        let mine = mine.party(identity.public_key(), size(role));
        let theirs = theirs.party(partner, size(role.other()));
        let (receiver, sender) = match role {
            Role::Receiver => (mine, theirs),
            Role::Sender => (theirs, mine),
        };
        let statement = Statement {
            session: agreed.public_id(),
            protocol: agreed.protocol.name.to_owned(),
            parameters: agreed
                .stated_parameters()
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            terms,
            result: agreed.parameters.result.name().name().to_owned(),
            learns: agreed.learns.word().to_owned(),
            parts: agreed.parts.count() as u32,
            receiver,
            sender,
            set: None,
            wire: vesica_net::VERSION,
        };
        statement.check().map_err(|error| SessionError::Unsigned(error.to_string()))?;
        Ok(Signing { identity: identity.clone(), partner: *partner, role, statement })
    }

    /// What will be signed of a look-up in a kept set, over this connection.
    pub(crate) fn of_look_up(
        channel: &Connection,
        role: Role,
        protocol: &str,
        set: SetName,
        (identity, mine): (&Identity, Told),
        (partner, theirs): (&PublicKey, Told),
    ) -> Self {
        let Nonces { mine: my_nonce, theirs: their_nonce } = channel.nonces();
        let mine = (mine.party(identity.public_key(), None), my_nonce);
        let theirs = (theirs.party(partner, None), their_nonce);
        let [receiver, sender] = match role {
            Role::Receiver => [mine, theirs],
            Role::Sender => [theirs, mine],
        };
        let mut hasher = blake3::Hasher::new_derive_key("vesica look-up name v1");
        hasher.update(channel.channel_binding());
        for (party, nonce) in [&receiver, &sender] {
            hasher.update(nonce).update(party.key.as_bytes());
        }
        let statement = Statement {
            session: hasher.finalize().to_hex().to_string(),
            protocol: protocol.to_owned(),
            parameters: BTreeMap::new(),
            terms: BTreeMap::new(),
            result: ResultName::Rows.name().to_owned(),
            learns: Learns::Receiver.word().to_owned(),
            parts: 1,
            receiver: receiver.0,
            sender: sender.0,
            set: Some(set),
            wire: vesica_net::VERSION,
        };
        Signing { identity: identity.clone(), partner: *partner, role, statement }
    }

    /// With the number of keys that the look-up asked for.
    pub(crate) fn asked(mut self, keys: u64) -> Self {
        self.statement.receiver.items = Some(keys);
        self
    }

    /// Signs what this side saw.
    pub(crate) fn sign(&self, digests: &Digests) -> Result<Signed<'_>, SessionError> {
        let mut statement = self.statement.clone();
        for (role, digest) in [(self.role, digests.sent), (self.role.other(), digests.received)] {
            statement.party_mut(role).sent = blake3::Hash::from_bytes(digest).to_hex().to_string();
        }
        let unsigned = |why: String| SessionError::Unsigned(why);
        let message = statement.message().map_err(|error| unsigned(error.to_string()))?;
        let signature = self.identity.sign(&message).map_err(|error| unsigned(error.to_string()))?;
        Ok(Signed { signing: self, statement, message, signature })
    }
}

impl Signed<'_> {
    /// This side's signature.
    pub(crate) fn signature(&self) -> &[u8; 64] {
        &self.signature
    }

    /// The receipt, if the partner has signed the same statement.
    pub(crate) fn countersigned(self, theirs: &[u8; 64]) -> Result<Receipt, SessionError> {
        let Signed { signing, statement, message, signature: mine } = self;
        if !signing.partner.has_signed(&message, theirs) {
            return Err(SessionError::Unconfirmed("the statements that the two sides sign"));
        }
        Ok(match signing.role {
            Role::Receiver => Receipt::of(statement, &mine, theirs),
            Role::Sender => Receipt::of(statement, theirs, &mine),
        })
    }
}

#[cfg(test)]
mod tests;
