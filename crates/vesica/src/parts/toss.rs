//! The coin toss, and what follows from it: the name of the job, the key of the split, the tag of the connections.

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_channel::codec::Reader;
use vesica_net::{Connection, Identity, PublicKey};
use vesica_protocols::{Role, Sizes};

use super::PartsError;
use crate::session::{Agreed, SessionError};

/// This side asks for parts by their numbers.
const FOLLOWS: u8 = 0;

/// Parts that this side plays at once.
const AT_ONCE: u16 = 1;

/// What both sides have of a run in parts.
pub(crate) struct Job {
    /// J.
    pub(crate) id: [u8; 32],
    /// k.
    pub(crate) items_key: [u8; 32],
    /// The tag of the parts' connections.
    pub(crate) tag: [u8; 32],
    /// The key that this side shows on them.
    pub(crate) mine: Identity,
    /// The key that the partner shows.
    pub(crate) theirs: PublicKey,
}

/// The two coins.
#[derive(Clone, Copy)]
pub(crate) struct Coins {
    pub(crate) receiver: [u8; 32],
    pub(crate) sender: [u8; 32],
}

/// The commitment of a role to its coin.
pub(crate) fn commitment(role: Role, coin: &[u8; 32]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("vesica parts coin v2");
    hasher.update(&[u8::from(role == Role::Sender)]).update(coin);
    *hasher.finalize().as_bytes()
}

/// Tosses the coins with the partner, and exchanges the keys of the run.
pub(crate) fn agree(
    agreed: &Agreed,
    run: &mut Connection,
    rng: &mut dyn CryptoRng,
) -> Result<Job, SessionError> {
    let mine = Identity::generate().map_err(|_| PartsError::Key)?;
    let mut coin = [0; 32];
    rng.fill_bytes(&mut coin);
    let role = agreed.role();
    run.expect_prompt();
    // 1. Both are bound to their coins before either is seen.
    let promise = commitment(role, &coin);
    run.send(&[&[FOLLOWS][..], &AT_ONCE.to_le_bytes(), &promise].concat())?;
    let theirs = recv_promise(run)?;
    // 2. The coins, and the keys of the run.
    run.send(&[&coin[..], mine.public_key().as_bytes()].concat())?;
    let [their_coin, their_key] = [recv_32(run)?, recv_32(run)?];
    run.expect_within(None);
    if commitment(role.other(), &their_coin) != theirs {
        return Err(PartsError::Coin.into());
    }
    let coins = match role {
        Role::Receiver => Coins { receiver: coin, sender: their_coin },
        Role::Sender => Coins { receiver: their_coin, sender: coin },
    };
    Ok(Job::new(agreed, coins, mine, PublicKey::from_bytes(their_key)))
}

/// The partner's first message: a commitment, from a side that asks for parts as this one does.
fn recv_promise(run: &mut Connection) -> Result<[u8; 32], SessionError> {
    let mut bytes = [0; 35];
    run.recv_exact(&mut bytes)?;
    let mut reader = Reader::new(&bytes);
    let decode = |cause| SessionError::Decode { what: "a commitment", cause };
    let (names, at_once) = (reader.u8().map_err(decode)?, reader.u16().map_err(decode)?);
    if names != FOLLOWS || at_once == 0 {
        return Err(PartsError::Differ("way of asking for parts").into());
    }
    reader.array().map_err(decode)
}

fn recv_32(run: &mut Connection) -> Result<[u8; 32], SessionError> {
    let mut bytes = [0; 32];
    run.recv_exact(&mut bytes)?;
    Ok(bytes)
}

impl Job {
    fn new(agreed: &Agreed, coins: Coins, mine: Identity, theirs: PublicKey) -> Self {
        let Sizes { receiver, sender } = agreed.sizes;
        let mut hasher = blake3::Hasher::new_derive_key("vesica job v2");
        hasher.update(agreed.sid());
        for number in [receiver as u64, sender as u64, agreed.parts.count() as u64] {
            hasher.update(&number.to_le_bytes());
        }
        hasher.update(&coins.receiver).update(&coins.sender);
        let id = *hasher.finalize().as_bytes();
        let items_key = blake3::derive_key("vesica part items v2", &id);
        #[cfg(test)]
        let items_key = super::tests::KEY.get().unwrap_or(items_key);
        let tag = blake3::derive_key("vesica part tag v2", &id);
        Job { id, items_key, tag, mine, theirs }
    }
}
