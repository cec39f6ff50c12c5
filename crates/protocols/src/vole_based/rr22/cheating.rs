//! Cheating parties of malicious runs: each does what the honest one does but for the one thing it cheats in,
//! and its messages fit together. Nothing but tests can reach them.

use std::collections::HashMap;

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_encode::items::Items;
use vesica_encode::okvs::Band;
use vesica_encode::radix;
use vesica_encode::sorted;
use vesica_ot::security::Malicious;
use vesica_ot::vole::cheating::{self, ReceiverCheat as VoleCheat, WrongWord};
use vesica_ot::vole::{Check, Plan, Value};

use super::setup;
use crate::error::{Error, Misbehaviour};
use crate::oprf::vole::elements::FieldElement;
use crate::oprf::vole::hashes::{Hashes, KeysAndValues};
use crate::oprf::vole::malicious::{COIN, COMMITMENT, ReceiverShare, SenderShare, commit, draw};
use crate::oprf::vole::store::Store;
use crate::oprf::vole::{Coins, Hashing, Model, ShareOfW};
use crate::parameters::Security;
use crate::positions;
use crate::protocol::{Ctx, Learns, Run};

pub use super::costs::max_malicious_items;

/// Bytes that a receiver draws for its coins, before all else.
pub const RECEIVERS_COINS: usize = 2 * COIN;
/// Bytes that a sender draws for its coins, before all else.
pub const SENDERS_COINS: usize = 4 * COIN;

/// A base OT element made of the sender's message.
pub type Element = dyn Fn(&[u8]) -> [u8; 32] + Sync;

/// Pairs of an item and a position made of such pairs.
pub type Claims = dyn Fn(Vec<(u32, u32)>) -> Vec<(u32, u32)> + Sync;

/// The proofs that a receiver sends for its claims: from its claims, the sender's masks, and the proofs that
/// it has.
pub type Forgery = dyn Fn(&[(u32, u32)], &[u128], Vec<u8>) -> Vec<u8> + Sync;

/// What a receiver cheats in.
pub struct ReceiverCheat<'a> {
    /// Its part in the VOLE.
    pub vole: VoleCheat,
    /// Its base OT element, from the sender's message; none: an honest one.
    pub base: Option<&'a Element>,
    /// What it sends in place of A ⊕ P.
    pub table: &'a (dyn Fn(&mut [Block]) + Sync),
    /// Pairs (item of mine, position in the sender's list) that it claims under `--learns both`, from the
    /// true ones.
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
    /// Slots of its store.
    pub slots: usize,
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
    let setup = setup(run)?;
    let ctx = &mut Ctx::new(run, &mut *channel, &mut *rng);
    let Coins { context, seed, share } = ReceiverShare::toss(ctx, setup.limit)?;
    let mut flight1 = vec![0; Plan::flight1_bytes(setup.plan.base_ots())];
    channel.recv_exact(&mut flight1)?;
    let (vole, mut flight2) = cheating::answer(&context, &setup.plan, &flight1, rng, &cheat.vole)?;
    if let Some(base) = cheat.base {
        flight2[..32].copy_from_slice(&base(&flight1));
    }
    channel.send(&flight2)?;
    channel.flush()?;
    let hashes = Hashes::new(&context);
    let hashed = hashes.keys_and_values::<Block>(run, items)?;
    let store = Store::new(
        Security::Malicious,
        run.sizes.receiver,
        run.parameters.statistical,
        seed.unwrap_or(Block::ZERO),
    )?;
    let (table, stored) = overfit(&store, &hashed)?;
    let (mut masked, vole) = cheating::accept_anything(vole, table.into(), &setup.plan, channel, rng)?;
    (cheat.table)(&mut masked);
    Block::send(&masked, channel, run)?;
    share.send_w(channel)?;
    let values = store.sort(run, hashed)?.decode(run, vole.expand())?.in_order();
    let w = share.w(channel)?;
    let with = &Hashing { run, hashes: &hashes, items, w };
    let mine = masks(with, values.to_vec())?;
    let theirs = received_masks(run, channel)?;
    let pairs = equal(&mine, &theirs);
    if run.learns == Learns::Both {
        let mut claims = (cheat.claims)(pairs.clone());
        claims.sort_unstable_by_key(|pair| pair.1);
        let proof = |&(item, _): &(u32, u32)| {
            let item = item as usize;
            hashes.proof(items, item, values[item] ^ w)
        };
        let proofs = claims.iter().flat_map(proof).collect();
        positions::send(run.sizes.sender, claims.iter().map(|&(_, theirs)| theirs), channel.split().0)?;
        channel.send(&(cheat.proofs)(&claims, &theirs, proofs))?;
        channel.flush()?;
    }
    let mut matched: Vec<usize> = pairs.iter().map(|&(mine, _)| mine as usize).collect();
    matched.sort_unstable();
    Ok(Learnt { slots: store.slots(), stored, matched })
}

/// The masks of decoded values in the order of the items.
pub(super) fn masks(with: &Hashing<'_, Block>, mut values: Vec<Block>) -> Result<Vec<u128>, Error> {
    with.hashes
        .outputs(with.run, &mut values, |range, values, into| Malicious::hash(with, range, values, into))?;
    Ok(values.iter().map(|output| output.to_u128()).collect())
}

/// The sender's masks, in its order.
fn received_masks(run: &Run<'_>, channel: &mut dyn Channel) -> Result<Vec<u128>, Error> {
    let mut bytes = vec![0; sorted::encoded_bytes(run.sizes.sender, u128::BITS)];
    channel.recv_exact(&mut bytes)?;
    Ok(sorted::decode(&bytes, run.sizes.sender, u128::BITS).map_err(Misbehaviour::InvalidMasks)?)
}

/// The pairs of an item of mine and the position of its mask in the sender's list.
fn equal(mine: &[u128], theirs: &[u128]) -> Vec<(u32, u32)> {
    let items: HashMap<u128, u32> = mine.iter().copied().zip(0..).collect();
    (0..).zip(theirs).filter_map(|(position, mask)| Some((*items.get(mask)?, position))).collect()
}

/// A table for all of these keys whose rows are independent of those before, and which keys these are.
fn overfit(store: &Store, hashed: &KeysAndValues<Block>) -> Result<(Vec<Block>, Vec<usize>), Error> {
    let KeysAndValues { keys, values } = hashed;
    match store {
        Store::Band(band) => Ok(overfit_band(band, keys, values)),
        Store::Polynomial(polynomial) => {
            let count = polynomial.columns().min(keys.len());
            Ok((polynomial.encode(&keys[..count], &values[..count])?, (0..count).collect()))
        }
    }
}

/// A table of a band for all of these keys whose rows are independent of those before, and which keys these are.
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
    let setup = setup(run)?;
    let Coins { context, seed, share } = send_coins(run, channel, rng, cheat.coins)?;
    let delta = cheat.delta.unwrap_or_else(|| Block::random(rng));
    let (vole, flight1) = cheating::open(&context, setup.plan.base_ots(), delta, rng);
    channel.send(&flight1)?;
    channel.flush()?;
    let hashes = Hashes::new(&context);
    let KeysAndValues { keys, values } = hashes.keys_and_values::<Block>(run, items)?;
    let mut flight2 = vec![0; setup.plan.flight2_bytes::<Block>(Security::Malicious)];
    channel.recv_exact(&mut flight2)?;
    let wrong = (cheat.words)(&setup.plan);
    let (vole, flight3) = cheating::respond(vole, &setup.plan, &flight2, rng, &wrong)?;
    channel.send(&flight3)?;
    channel.flush()?;
    let b = <Malicious as Check<Block>>::answer_check(vole, &setup.plan, channel)?.expand().b;
    let b = Block::recv_products(b, delta, channel, run)?;
    let store = Store::new(
        Security::Malicious,
        run.sizes.receiver,
        run.parameters.statistical,
        seed.unwrap_or(Block::ZERO),
    )?;
    let w = if cheat.coins == CoinCheat::Cancelled {
        let mut theirs = [0; COIN];
        channel.recv_exact(&mut theirs)?;
        channel.send(&theirs)?;
        channel.send(&share.opening)?;
        Block::ZERO
    } else {
        share.w(channel)?
    };
    let hashed = KeysAndValues { keys, values: vec![(); values.len()] };
    let mut decoded = store.sort(run, hashed)?.decode(run, b)?.in_order();
    Block::add_products(&mut decoded, delta ^ cheat.other_delta, &values);
    let masks = masks(&Hashing { run, hashes: &hashes, items, w }, decoded.into_vec())?;
    channel.send(&(cheat.masks)(masks))?;
    Ok(channel.flush()?)
}

/// The first messages of coins.
fn send_coins(
    run: &Run<'_>,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
    cheat: CoinCheat,
) -> Result<Coins<SenderShare>, Error> {
    let session = if cheat == CoinCheat::Replayed {
        Context::new(&[0xee; 32], "vole", b"another session", 1, 1)
    } else {
        run.context.clone()
    };
    let commitments = session.oracle(COMMITMENT);
    let [coin, coin_opening, mut w_s, mut opening] = [(); 4].map(|()| draw(rng));
    let first = commit(&commitments, 0, &coin, &coin_opening);
    let second = if cheat == CoinCheat::Twice {
        (w_s, opening) = (coin, coin_opening);
        first
    } else {
        commit(&commitments, 1, &w_s, &opening)
    };
    channel.send(&first)?;
    channel.send(&second)?;
    let mut theirs = [0; COIN];
    channel.recv_exact(&mut theirs)?;
    let opened = if cheat == CoinCheat::Mirrored { theirs } else { coin };
    channel.send(&opened)?;
    channel.send(&coin_opening)?;
    channel.flush()?;
    Ok(Coins::new(run, [theirs, opened], SenderShare { w_s, opening }))
}
