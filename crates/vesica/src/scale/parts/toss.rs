//! The coin toss, and what follows from it: the name of the job, the key of the split, the tag of the connections.

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_channel::codec::{CodecError, Reader};
use vesica_net::{Connection, Identity, PublicKey};
use vesica_protocols::{Role, Sizes};

use crate::session::{Agreed, SessionError};
use crate::words::parts::PartsError;

/// How a side plays its parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Player {
    /// Whether its parts come by their numbers, as those of an engine do. A process takes whichever it is asked for.
    pub(crate) names: bool,
    /// Parts that it plays at once.
    pub(crate) at_once: u16,
}

/// Both sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Players {
    pub(crate) mine: Player,
    pub(crate) theirs: Player,
}

impl Players {
    /// Parts that a process plays at once with its partner.
    pub(crate) fn at_once(self) -> u16 {
        self.mine.at_once.min(self.theirs.at_once)
    }
}

impl Player {
    /// A process that plays so many parts at once.
    pub(crate) fn process(lanes: u16) -> Self {
        Player { names: false, at_once: lanes.max(1) }
    }

    /// An engine with so many slots.
    pub(crate) fn engine(slots: u16) -> Self {
        Player { names: true, at_once: slots.max(1) }
    }

    pub(super) fn encode(self) -> [u8; 3] {
        let [low, high] = self.at_once.to_le_bytes();
        [u8::from(self.names), low, high]
    }
}

/// What both sides have of a run in parts.
#[derive(Clone)]
pub(crate) struct Job {
    /// J.
    pub(crate) id: [u8; 32],
    /// k.
    pub(crate) items_key: [u8; 32],
    /// What the ids of attempts hash of J. It tells neither J nor k.
    pub(crate) attempts_id: [u8; 32],
    /// The tag of the parts' connections.
    pub(crate) tag: [u8; 32],
    /// The key that this side shows on them.
    pub(crate) mine: Identity,
    /// The key that the partner shows.
    pub(crate) theirs: PublicKey,
    /// How both sides play.
    pub(crate) players: Players,
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
    player: Player,
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
    run.send(&[&player.encode()[..], &promise].concat())?;
    let (their_player, theirs) = recv_promise(run)?;
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
    let players = Players { mine: player, theirs: their_player };
    Ok(Job::new(agreed, coins, (mine, PublicKey::from_bytes(their_key)), players))
}

/// The partner's first message: how it plays, and a commitment.
pub(super) fn recv_promise(run: &mut Connection) -> Result<(Player, [u8; 32]), SessionError> {
    let mut bytes = [0; 35];
    run.recv_exact(&mut bytes)?;
    let mut reader = Reader::new(&bytes);
    let decode = |cause| SessionError::Decode { what: "a commitment", cause };
    let (names, at_once) = (reader.bool().map_err(decode)?, reader.u16().map_err(decode)?);
    if at_once == 0 {
        return Err(decode(CodecError::Invalid { what: "number of parts at once" }));
    }
    Ok((Player { names, at_once }, reader.array().map_err(decode)?))
}

fn recv_32(run: &mut Connection) -> Result<[u8; 32], SessionError> {
    let mut bytes = [0; 32];
    run.recv_exact(&mut bytes)?;
    Ok(bytes)
}

impl Job {
    pub(super) fn new(
        agreed: &Agreed,
        coins: Coins,
        (mine, theirs): (Identity, PublicKey),
        players: Players,
    ) -> Self {
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
        let attempts_id = blake3::derive_key("vesica part attempts v2", &id);
        Job { id, items_key, attempts_id, tag, mine, theirs, players }
    }
}
