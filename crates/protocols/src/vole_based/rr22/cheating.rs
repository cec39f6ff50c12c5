//! Cheating parties of malicious runs: each does what the honest one does but for the one thing it cheats in, and its
//! messages fit together. Nothing but tests can reach them.
#![expect(clippy::unwrap_used, reason = "a cheat in a run without coins is a mistake of the test")]

use std::collections::HashMap;

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_encode::items::Items;
use vesica_encode::okvs::Band;
use vesica_encode::radix;
use vesica_encode::sorted;
use vesica_ot::vole::cheating::{self, ReceiverCheat as VoleCheat, WrongWord};
use vesica_ot::vole::{self, Opening, Plan, Value};

use super::cells::Cell;
use super::oprf::{COIN, COMMITMENT, Coins, Oracles, commit, draw};
use super::store::Store;
use super::{context_of, entry};
use crate::error::{Error, Misbehaviour};
use crate::parameters::Security;
use crate::positions;
use crate::protocol::{Learns, Run};

pub use super::entry::max_malicious_items;

/// Bytes that a receiver draws for its coins, before all else.
pub const RECEIVERS_COINS: usize = 2 * COIN;
/// Bytes that a sender draws for its coins, before all else.
pub const SENDERS_COINS: usize = 4 * COIN;

/// A base OT element made of the sender's message.
pub type Element = dyn Fn(&[u8]) -> [u8; 32] + Sync;

/// Pairs of an item and a position made of such pairs.
pub type Claims = dyn Fn(Vec<(u32, u32)>) -> Vec<(u32, u32)> + Sync;

/// The proofs that a receiver sends for its claims: from its claims, the sender's masks, and the proofs that it has.
pub type Forgery = dyn Fn(&[(u32, u32)], &[u128], Vec<u8>) -> Vec<u8> + Sync;

/// What a receiver cheats in.
pub struct ReceiverCheat<'a> {
    /// Its part in the VOLE.
    pub vole: VoleCheat,
    /// Its base OT element, from the sender's message; none: an honest one.
    pub base: Option<&'a Element>,
    /// What it sends in place of A ⊕ P.
    pub table: &'a (dyn Fn(&mut [Block]) + Sync),
    /// Pairs (item of mine, position in the sender's list) that it claims under `--learns both`, from the true ones.
    pub claims: &'a Claims,
    /// What it proves them with.
    pub proofs: &'a Forgery,
}

impl Default for ReceiverCheat<'_> {
    fn default() -> Self {
        Self {
            vole: VoleCheat::default(),
            base: None,
            table: &|_| {},
            claims: &|pairs| pairs,
            proofs: &|_, _, proofs| proofs,
        }
    }
}

/// What a cheating receiver ends with.
pub struct Learnt {
    /// Columns of its store.
    pub columns: usize,
    /// Items that it could put into the store.
    pub stored: Vec<usize>,
    /// Items of its own that matched.
    pub matched: Vec<usize>,
}

/// The receiver's role, with any number of items, of which it puts into the store all that fit.
pub fn receive(
    run: &Run<'_>,
    items: &Items,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
    cheat: &ReceiverCheat<'_>,
) -> Result<Learnt, Error> {
    let coins = Coins::receive(run, channel, rng)?.unwrap();
    let plan = entry::plan(run)?;
    let mut opening = vec![0; Opening::BYTES];
    channel.recv_exact(&mut opening)?;
    let (mut vole, mut answer) = cheating::answer(&coins.context, &plan, &opening, rng, &cheat.vole)?;
    if let Some(base) = cheat.base {
        answer[..32].copy_from_slice(&base(&opening));
    }
    channel.send(&answer)?;
    channel.flush()?;
    let oracles = Oracles::new(&coins.context, run);
    let (keys, values) = oracles.keyed::<Block>(items)?;
    let store = Store::new(Security::Malicious, run.sizes.receiver, coins.store_seed())?;
    let (mut table, stored) = overfit(&store, &keys, &values)?;
    table.iter_mut().zip(vole.values()).for_each(|(cell, pad)| *cell ^= pad);
    (cheat.table)(&mut table);
    cheating::accept_anything(&mut vole, &plan, channel, rng)?;
    let c = vole.finish();
    <Block as Cell>::send(&table, channel, &mut run.paced(0, 1))?;
    Coins::answer(Some(&coins), channel)?;
    channel.flush()?;
    let mut outputs = store.place(1, keys, values).decode(1, &c).in_order();
    let shift = coins.shift(channel)?;
    let mine = oracles.masks(items, &mut outputs, Some(shift))?;
    let theirs = received_masks(run, channel)?;
    let pairs = pairs(&mine, &theirs);
    if run.learns == Learns::Both {
        let mut claims = (cheat.claims)(pairs.clone());
        claims.sort_unstable_by_key(|pair| pair.1);
        let proof = |&(item, _): &(u32, u32)| {
            let item = item as usize;
            oracles.proof(items, item, outputs[item])
        };
        let proofs = claims.iter().flat_map(proof).collect();
        positions::send(run.sizes.sender, claims.iter().map(|&(_, theirs)| theirs), channel.split().0)?;
        channel.send(&(cheat.proofs)(&claims, &theirs, proofs))?;
        channel.flush()?;
    }
    let mut matched: Vec<usize> = pairs.iter().map(|&(mine, _)| mine as usize).collect();
    matched.sort_unstable();
    Ok(Learnt { columns: store.columns(), stored, matched })
}

/// The sender's masks, in its order.
fn received_masks(run: &Run<'_>, channel: &mut dyn Channel) -> Result<Vec<u128>, Error> {
    let mut bytes = vec![0; sorted::encoded_bytes(run.sizes.sender, u128::BITS)];
    channel.recv_exact(&mut bytes)?;
    Ok(sorted::decode(&bytes, run.sizes.sender, u128::BITS).map_err(Misbehaviour::InvalidMasks)?)
}

/// The pairs of an item of mine and the position of its mask in the sender's list.
fn pairs(mine: &[u128], theirs: &[u128]) -> Vec<(u32, u32)> {
    let items: HashMap<u128, u32> = mine.iter().copied().zip(0..).collect();
    (0..).zip(theirs).filter_map(|(position, mask)| Some((*items.get(mask)?, position))).collect()
}

/// A table for all of these pairs whose rows are independent of those before, and which pairs these are.
fn overfit(store: &Store, keys: &[Block], values: &[Block]) -> Result<(Vec<Block>, Vec<usize>), Error> {
    match store {
        Store::Band(band) => Ok(overfit_band(band, keys, values)),
        Store::Polynomial(polynomial) => {
            let count = polynomial.columns().min(keys.len());
            Ok((polynomial.encode(&keys[..count], &values[..count])?, (0..count).collect()))
        }
    }
}

/// The same for a band.
fn overfit_band(store: &Band, keys: &[Block], values: &[Block]) -> (Vec<Block>, Vec<usize>) {
    // Decoding a table of unit vectors shows the row of a key, 128 columns at a time.
    let columns = store.columns();
    let mut rows = vec![Vec::new(); keys.len()];
    for first in (0..columns).step_by(Block::BITS) {
        let unit = |column: usize| match column.checked_sub(first) {
            Some(bit @ 0..128) => Block::from(1u128 << bit),
            _ => Block::ZERO,
        };
        let units: Vec<Block> = (0..columns).map(unit).collect();
        let mut part = vec![Block::ZERO; keys.len()];
        store.decode(1, &units, keys, &mut part);
        rows.iter_mut().zip(part).for_each(|(row, part): (&mut Vec<u128>, _)| row.push(part.to_u128()));
    }
    let has = |row: &[u128], column: usize| row[column / 128] >> (column % 128) & 1 == 1;
    let (mut echelon, mut stored) = (Vec::<(usize, Vec<u128>, Block)>::new(), Vec::new());
    for (index, (mut row, mut value)) in rows.into_iter().zip(values.iter().copied()).enumerate() {
        for (pivot, other, other_value) in &echelon {
            if has(&row, *pivot) {
                row.iter_mut().zip(other).for_each(|(word, other)| *word ^= other);
                value ^= *other_value;
            }
        }
        if let Some(pivot) = (0..columns).find(|&column| has(&row, column)) {
            echelon.push((pivot, row, value));
            stored.push(index);
        }
    }
    let mut table = vec![Block::ZERO; columns];
    for (pivot, row, value) in echelon.iter().rev() {
        let others = (0..columns).filter(|&column| column != *pivot && has(row, column));
        table[*pivot] = others.fold(*value, |sum, column| sum ^ table[column]);
    }
    (table, stored)
}

/// What a sender does with its commitments to coins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoinCheat {
    /// Keeps them.
    Honest,
    /// Opens the first to the receiver's coin, which it has seen.
    Mirrored,
    /// Opens the second to the receiver's part of w, so that w would be zero.
    Cancelled,
    /// Sends commitments of another session, and opens those.
    Replayed,
    /// Sends one commitment twice, and opens it twice.
    Twice,
}

/// What a sender cheats in.
pub struct SenderCheat<'a> {
    /// Its coins.
    pub coins: CoinCheat,
    /// Its Δ; none: a random one.
    pub delta: Option<Block>,
    /// Its words of the trees.
    pub words: &'a (dyn Fn(&Plan) -> Vec<WrongWord> + Sync),
    /// Added to Δ when the masks are made.
    pub other_delta: Block,
    /// The message of the masks, from the honest masks in the order of its items.
    pub masks: &'a (dyn Fn(Vec<u128>) -> Vec<u8> + Sync),
}

impl Default for SenderCheat<'_> {
    fn default() -> Self {
        Self {
            coins: CoinCheat::Honest,
            delta: None,
            words: &|_| Vec::new(),
            other_delta: Block::ZERO,
            masks: &mask_message,
        }
    }
}

/// Masks as the honest sender sends them.
#[must_use]
pub fn mask_message(mut masks: Vec<u128>) -> Vec<u8> {
    radix::sort(&mut masks);
    sorted::encode(&masks, u128::BITS)
}

/// The sender's role; whatever the receiver claims afterwards is not read.
pub fn send(
    run: &Run<'_>,
    items: &Items,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
    cheat: &SenderCheat<'_>,
) -> Result<(), Error> {
    let coins = send_coins(run, channel, rng, cheat.coins)?;
    let plan = entry::plan(run)?;
    let delta = cheat.delta.unwrap_or_else(|| Block::random(rng));
    let (opening, message) = cheating::open(&coins.context, delta, rng);
    channel.send(&message)?;
    channel.flush()?;
    let oracles = Oracles::new(&coins.context, run);
    let (keys, values) = oracles.keyed::<Block>(items)?;
    let mut answer = vec![0; Opening::answer_bytes::<Block>(&plan)];
    channel.recv_exact(&mut answer)?;
    let (mut vole, words) = cheating::respond(opening, &plan, &answer, rng, &(cheat.words)(&plan))?;
    channel.send(&words)?;
    channel.flush()?;
    vole::confirm(&mut vole, &plan, channel)?;
    let mut b = vole.finish();
    <Block as Cell>::recv_products(&mut b, delta, channel, &mut run.paced(0, 1))?;
    let store = Store::new(Security::Malicious, run.sizes.receiver, coins.store_seed())?;
    let shift = if cheat.coins == CoinCheat::Cancelled {
        let mut theirs = [0; COIN];
        channel.recv_exact(&mut theirs)?;
        channel.send(&theirs)?;
        channel.send(&coins.other)?;
        Block::ZERO
    } else {
        coins.open(channel)?
    };
    let mut outputs = store.place(1, keys, vec![(); values.len()]).decode(1, &b).in_order();
    Block::add_products(&mut outputs, delta ^ cheat.other_delta, &values);
    let masks = oracles.masks(items, &mut outputs, Some(shift))?;
    channel.send(&(cheat.masks)(masks.into_vec()))?;
    Ok(channel.flush()?)
}

/// The first messages of coins.
fn send_coins(
    run: &Run<'_>,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
    cheat: CoinCheat,
) -> Result<Coins, Error> {
    let session = if cheat == CoinCheat::Replayed {
        Context::new(&[0xee; 32], "vole", b"another session", 1, 1)
    } else {
        run.context.clone()
    };
    let commitments = session.oracle(COMMITMENT);
    let [coin, opening, mut mine, mut other] = [(); 4].map(|()| draw(rng));
    let first = commit(&commitments, 0, &coin, &opening);
    let second = if cheat == CoinCheat::Twice {
        (mine, other) = (coin, opening);
        first
    } else {
        commit(&commitments, 1, &mine, &other)
    };
    channel.send(&first)?;
    channel.send(&second)?;
    let mut theirs = [0; COIN];
    channel.recv_exact(&mut theirs)?;
    let opened = if cheat == CoinCheat::Mirrored { theirs } else { coin };
    channel.send(&opened)?;
    channel.send(&opening)?;
    channel.flush()?;
    let context = context_of(run, [theirs, opened].as_flattened());
    Ok(Coins { context, mine, other, commitments, limit: std::time::Duration::MAX })
}
