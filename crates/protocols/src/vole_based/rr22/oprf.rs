//! What items are hashed to, on the way into the store and out of it; and the coins of malicious runs.

use std::time::Duration;

use rand_core::CryptoRng;
use subtle::ConstantTimeEq;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label, Oracle};
use vesica_crypto::memory::{Wiped, large_zeros};
use vesica_crypto::par;
use vesica_encode::items::{Encoding, Items};
use vesica_encode::okvs::Decoded;

use super::cells::Cell;
use super::{context_of, entry, limits};
use crate::error::{Error, Misbehaviour};
use crate::parameters::Security;
use crate::protocol::{Learns, Run};

/// Items that one thread handles at a time. Local: changes no byte.
const CHUNK: usize = 1 << 12;

/// Bytes of a coin, of the string that opens a commitment, and of the commitment.
pub(super) const COIN: usize = 32;
/// Bytes by which the receiver proves a match to the sender.
pub(super) const PROOF: usize = 16;

pub(super) const COINS: Label = Label::new("vole: coins");
pub(super) const COMMITMENT: Label = Label::new("vole: commitment");
const STORE: Label = Label::new("vole: seed of the store");

/// The hashes of one run.
pub(super) struct Oracles<'a> {
    run: &'a Run<'a>,
    item: Oracle,
    mask: Oracle,
    proof: Oracle,
    pub(super) mask_bits: u32,
}

impl<'a> Oracles<'a> {
    pub(super) fn new(context: &Context, run: &'a Run<'a>) -> Self {
        Oracles {
            run,
            item: context.oracle(Label::new("vole: item to key and value")),
            mask: context.oracle(Label::new("vole: output to mask")),
            proof: context.oracle(Label::new("vole: output to proof of a match")),
            mask_bits: entry::mask_bits(run.sizes, run.parameters.security),
        }
    }

    /// Key in the store and H_B of every item.
    pub(super) fn keyed<V: Cell>(&self, items: &Items) -> Result<(Vec<Block>, Vec<V>), Error> {
        let mut keys: Vec<Block> = large_zeros(items.len());
        let mut values: Vec<V> = large_zeros(items.len());
        let tasks = keys.chunks_mut(CHUNK).zip(values.chunks_mut(CHUNK));
        par::for_each(self.run.threads, tasks, |index, (keys, values)| {
            let (bytes, width) = item_bytes(items, index * CHUNK..index * CHUNK + keys.len());
            let mut hashes = vec![[0; 32]; keys.len()];
            self.item.hash_batch(&bytes, width, hashes.as_flattened_mut(), 32);
            for ((key, value), hash) in keys.iter_mut().zip(values).zip(&hashes) {
                let [first, second] = [hash.as_chunks().0[0], hash.as_chunks().0[1]].map(Block::from_bytes);
                (*key, *value) = (first, V::of_block(second));
            }
            self.run.advance(keys.len())
        })?;
        Ok((keys, values))
    }

    /// The masks of what a store was decoded to, and the order that they are in. Malicious runs have them and the outputs in
    /// the order of the items; others have no further use for outputs.
    pub(super) fn masks_of(
        &self,
        items: &Items,
        decoded: Decoded<()>,
        shift: Option<Block>,
    ) -> Result<(Wiped<u128>, Wiped<Block>, Order), Error> {
        let (mut outputs, order) = match shift {
            None => (decoded.outputs, Order(Some(decoded.numbers))),
            Some(_) => (decoded.in_order(), Order::of_items()),
        };
        let masks = self.masks(items, &mut outputs, shift)?;
        if shift.is_none() {
            outputs = Wiped::default();
        }
        Ok((masks, outputs, order))
    }

    /// H_o of every output. Malicious runs add `shift` to the outputs first, and hash the item too. Semi-honest masks do not
    /// take it: fetched in the order of the store, the items would cost a fifth of a run's time at 2^20 (cache misses).
    pub(super) fn masks(
        &self,
        items: &Items,
        outputs: &mut [Block],
        shift: Option<Block>,
    ) -> Result<Wiped<u128>, Error> {
        let mut masks = Wiped::from(large_zeros(outputs.len()));
        let kept = u128::MAX >> (u128::BITS - self.mask_bits);
        let tasks = masks.chunks_mut(CHUNK).zip(outputs.chunks_mut(CHUNK));
        par::for_each(self.run.threads, tasks, |index, (masks, outputs)| {
            let mut hashes = Wiped::from(vec![[0; 16]; outputs.len()]);
            match shift {
                None => {
                    self.mask.hash_batch(Block::slice_as_bytes(outputs), 16, hashes.as_flattened_mut(), 16);
                }
                Some(shift) => {
                    outputs.iter_mut().for_each(|output| *output ^= shift);
                    let first = index * CHUNK;
                    let (bytes, width) = with_items(items, first..first + outputs.len(), outputs);
                    self.mask.hash_batch(&bytes, width, hashes.as_flattened_mut(), 16);
                }
            }
            for (mask, hash) in masks.iter_mut().zip(hashes.iter()) {
                *mask = u128::from_le_bytes(*hash) & kept;
            }
            self.run.advance(masks.len())
        })?;
        Ok(masks)
    }

    /// By which a malicious receiver shows that it has this output: a second function of it.
    pub(super) fn proof(&self, items: &Items, item: usize, output: Block) -> [u8; PROOF] {
        let (bytes, _) = with_items(items, std::iter::once(item), &[output]);
        let mut proof = [0; PROOF];
        self.proof.hash(&bytes, &mut proof);
        proof
    }

    /// Receives a proof of each matched item. A receiver can withhold matches, and cannot invent them.
    pub(super) fn check_proofs(
        &self,
        items: &Items,
        outputs: &[Block],
        matched: &[usize],
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        if self.run.parameters.security == Security::SemiHonest {
            return Ok(());
        }
        let mut right = subtle::Choice::from(1);
        for &item in matched {
            let mut proof = [0; PROOF];
            channel.recv_exact(&mut proof)?;
            right &= proof.ct_eq(&self.proof(items, item, outputs[item]));
        }
        if bool::from(right) { Ok(()) } else { Err(Misbehaviour::FailedCheck.into()) }
    }
}

/// Which item stands at each place of a list of masks; none: that of the place's number.
pub(super) struct Order(pub(super) Option<Vec<u32>>);

impl Order {
    /// That of the items themselves.
    pub(super) fn of_items() -> Self {
        Order(None)
    }

    #[inline]
    pub(super) fn item(&self, place: usize) -> u32 {
        self.0.as_ref().map_or(place as u32, |numbers| numbers[place])
    }
}

/// The proofs of the matches, in the order of the sender's list.
pub(super) struct Proofs(Vec<u8>);

impl Proofs {
    /// The proofs of pairs (item of mine, position in the sender's list); none in semi-honest runs.
    pub(super) fn of(oracles: &Oracles<'_>, items: &Items, outputs: &[Block], pairs: &[(u32, u32)]) -> Self {
        if oracles.run.parameters.security == Security::SemiHonest {
            return Proofs(Vec::new());
        }
        let mut pairs: Vec<(u32, u32)> = pairs.iter().map(|&(mine, theirs)| (theirs, mine)).collect();
        pairs.sort_unstable();
        pairs.dedup_by_key(|pair| pair.0);
        let proof = |&(_, mine): &(u32, u32)| oracles.proof(items, mine as usize, outputs[mine as usize]);
        Proofs(pairs.iter().flat_map(proof).collect())
    }

    pub(super) fn send(&self, channel: &mut dyn Channel) -> Result<(), Error> {
        channel.send(&self.0)?;
        Ok(channel.flush()?)
    }
}

/// The bytes of the items of these numbers, and how many each has.
fn item_bytes(items: &Items, numbers: impl Iterator<Item = usize>) -> (Vec<u8>, usize) {
    let native = matches!(items.encoding(), Encoding::Native { .. });
    let width = if native { size_of::<u64>() } else { items.width() };
    let mut bytes = Vec::with_capacity(numbers.size_hint().0 * width);
    for item in numbers {
        match items.native(item) {
            Some(number) => bytes.extend_from_slice(&number.to_le_bytes()),
            None => bytes.extend_from_slice(items.get(item)),
        }
    }
    (bytes, width)
}

/// Each output with its item behind it.
fn with_items(items: &Items, numbers: impl Iterator<Item = usize>, outputs: &[Block]) -> (Wiped<u8>, usize) {
    let (bytes, width) = item_bytes(items, numbers);
    let mut joined = Vec::with_capacity(outputs.len() * (Block::BYTES + width));
    for (output, item) in outputs.iter().zip(bytes.chunks_exact(width)) {
        joined.extend_from_slice(output.as_bytes());
        joined.extend_from_slice(item);
    }
    (joined.into(), Block::BYTES + width)
}

/// What malicious runs draw together: a context that neither party chose, and w.
///
/// ```text
/// receiver                                     sender
///                 ◄── H(c_s, o_s), H(w_s, o) ──
///                 ── c_r ──►
///                 ◄── c_s, o_s ──              context: c_r, c_s; of it, seeds of codes and of the store
///                 ── w_r, with A' ──►
///                 ◄── w_s, o, with the masks ──   w = w_r ⊕ w_s
/// ```
pub(super) struct Coins {
    pub(super) context: Context,
    /// My own part of w.
    pub(super) mine: [u8; COIN],
    /// The sender's: the string that opens its commitment. The receiver's: the commitment.
    pub(super) other: [u8; COIN],
    pub(super) commitments: Oracle,
    /// How long the partner may take while it could search.
    pub(super) limit: Duration,
}

/// Bytes of each message of coins, in order.
pub(super) const COIN_BYTES: [usize; 5] = [2 * COIN, COIN, 2 * COIN, COIN, 2 * COIN];

pub(super) fn draw(rng: &mut dyn CryptoRng) -> [u8; COIN] {
    let mut coin = [0; COIN];
    rng.fill_bytes(&mut coin);
    coin
}

pub(super) fn commit(oracle: &Oracle, which: u8, coin: &[u8; COIN], opening: &[u8; COIN]) -> [u8; COIN] {
    let mut commitment = [0; COIN];
    oracle.hash_parts(&[&[which], coin, opening], &mut commitment);
    commitment
}

fn block(coin: &[u8; COIN]) -> Block {
    Block::from_bytes(coin.as_chunks().0[0])
}

impl Coins {
    /// The receiver's part; none in semi-honest runs.
    pub(super) fn receive(
        run: &Run<'_>,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<Self>, Error> {
        if run.parameters.security == Security::SemiHonest {
            return Ok(None);
        }
        let commitments = run.context.oracle(COMMITMENT);
        let mut committed = [[0; COIN]; 2];
        channel.recv_exact(committed.as_flattened_mut())?;
        let (coin, mine) = (draw(rng), draw(rng));
        channel.send(&coin)?;
        let mut opened = [[0; COIN]; 2];
        channel.recv_exact(opened.as_flattened_mut())?;
        if commit(&commitments, 0, &opened[0], &opened[1]) != committed[0] {
            return Err(Misbehaviour::FailedCheck.into());
        }
        let context = context_of(run, [coin, opened[0]].as_flattened());
        let limit = limits::search(run);
        Ok(Some(Coins { context, mine, other: committed[1], commitments, limit }))
    }

    /// The sender's part; none in semi-honest runs.
    pub(super) fn send(
        run: &Run<'_>,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<Self>, Error> {
        if run.parameters.security == Security::SemiHonest {
            return Ok(None);
        }
        let commitments = run.context.oracle(COMMITMENT);
        let [coin, opening, mine, other] = [(); 4].map(|()| draw(rng));
        channel.send(&commit(&commitments, 0, &coin, &opening))?;
        channel.send(&commit(&commitments, 1, &mine, &other))?;
        let mut theirs = [0; COIN];
        channel.recv_exact(&mut theirs)?;
        channel.send(&coin)?;
        channel.send(&opening)?;
        channel.flush()?;
        // The receiver knows all hashes now. What it searches with them it has to find before A'.
        let limit = limits::search(run);
        channel.expect_within(Some(limit));
        let context = context_of(run, [theirs, coin].as_flattened());
        Ok(Some(Coins { context, mine, other, commitments, limit }))
    }

    /// The seed of the store: the items of either side are older than the coins, so neither has chosen it or them.
    pub(super) fn store_seed(&self) -> Block {
        let mut seed = [0; 16];
        self.context.hash(STORE, &[], &mut seed);
        Block::from_bytes(seed)
    }

    /// The receiver sends w_r behind A'. The sender knows w now, and has so long until its last mask is here.
    pub(super) fn answer(coins: Option<&Self>, channel: &mut dyn Channel) -> Result<(), Error> {
        let Some(coins) = coins else { return Ok(()) };
        channel.send(&coins.mine)?;
        channel.expect_within(Some(coins.limit));
        Ok(())
    }

    /// The sender receives w_r and opens its commitment: w.
    pub(super) fn open(self, channel: &mut dyn Channel) -> Result<Block, Error> {
        let mut theirs = [0; COIN];
        channel.recv_exact(&mut theirs)?;
        channel.expect_within(None);
        channel.send(&self.mine)?;
        channel.send(&self.other)?;
        channel.flush()?;
        Ok(block(&self.mine) ^ block(&theirs))
    }

    /// The receiver receives w_s and holds it to the commitment: w.
    pub(super) fn shift(self, channel: &mut dyn Channel) -> Result<Block, Error> {
        let mut opened = [[0; COIN]; 2];
        channel.recv_exact(opened.as_flattened_mut())?;
        if commit(&self.commitments, 1, &opened[0], &opened[1]) == self.other {
            Ok(block(&self.mine) ^ block(&opened[0]))
        } else {
            Err(Misbehaviour::FailedCheck.into())
        }
    }
}

/// Bytes of the proofs of `matches` matches.
pub(super) fn proof_bytes(security: Security, learns: Learns, matches: usize) -> u64 {
    if security == Security::Malicious && learns == Learns::Both { (PROOF * matches) as u64 } else { 0 }
}
