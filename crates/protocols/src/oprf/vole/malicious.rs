//! What malicious runs add to the figure: coins of both parties, w, and proofs of matches.
//!
//! ```text
//! receiver                                     sender
//!                 ◄── H(c_s, o_s), H(w_s, o) ──
//!                 ── c_r ──►
//!                 ◄── c_s, o_s ──              context: c_r, c_s; of it, seeds of codes and of the store
//!                 ── w_r, with A' ──►
//!                 ◄── w_s, o ──                w = w_r ⊕ w_s
//! ```

use std::ops::Range;
use std::time::Duration;

use rand_core::CryptoRng;
use subtle::ConstantTimeEq;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label, Oracle};
use vesica_crypto::memory::Wiped;
use vesica_encode::items::Items;
use vesica_encode::okvs::Decoded;
use vesica_ot::security::Malicious;
use vesica_ot::vole;
use vesica_ot::vole::receiver::{Answered, Checked};

use super::elements::FieldElement;
use super::hashes::{Hashes, PROOF, with_items};
use super::{Coins, Hashing, Model, Order, Proofs, Setup, ShareOfW, Values, has_payloads};
use crate::error::{Error, Misbehaviour};
use crate::parameters::Security;
use crate::protocol::{Ctx, Learns, Phase, Run};

/// Bytes of a coin, of the string that opens a commitment, and of the commitment.
pub(crate) const COIN: usize = 32;
/// Bytes of each message of coins, in order.
pub(crate) const COIN_BYTES: [usize; 5] = [2 * COIN, COIN, 2 * COIN, COIN, 2 * COIN];

const COINS: Label = Label::new("vole: coins");
pub(crate) const COMMITMENT: Label = Label::new("vole: commitment");
const STORE: Label = Label::new("vole: seed of the store");

/// The receiver's share of w, once the context is known.
pub(crate) struct ReceiverShare {
    pub(crate) w_r: [u8; COIN],
    /// The sender's commitment to w_s.
    commitment: [u8; COIN],
    commitments: Oracle,
    /// How long the sender may take from w_r to its last mask.
    limit: Duration,
}

/// The sender's share of w, once the context is known.
pub(crate) struct SenderShare {
    pub(crate) w_s: [u8; COIN],
    /// Opens the commitment to w_s.
    pub(crate) opening: [u8; COIN],
}

pub(crate) fn draw(rng: &mut dyn CryptoRng) -> [u8; COIN] {
    let mut coin = [0; COIN];
    rng.fill_bytes(&mut coin);
    coin
}

pub(crate) fn commit(oracle: &Oracle, which: u8, coin: &[u8; COIN], opening: &[u8; COIN]) -> [u8; COIN] {
    let mut commitment = [0; COIN];
    oracle.hash_parts(&[&[which], coin, opening], &mut commitment);
    commitment
}

fn block(coin: &[u8; COIN]) -> Block {
    Block::from_bytes(coin.as_chunks().0[0])
}

impl<S> Coins<S> {
    /// From the receiver's coin and the sender's. The sender commits to its coin before it sees the
    /// receiver's, and the receiver sends its own before the sender's is opened. So neither party alone decides
    /// the context or the seed of the store; the sender can stop once it knows them. An honest party's items
    /// are fixed before. A malicious party can still choose its own: the receiver until it has sent A', the
    /// sender until it has sent its masks (`vole_based::rr22::limits`).
    pub(crate) fn new(run: &Run<'_>, [receivers, senders]: [[u8; COIN]; 2], share: S) -> Self {
        let context: Context = run.context.derive(COINS, [receivers, senders].as_flattened());
        let mut seed = [0; 16];
        context.hash(STORE, &[], &mut seed);
        Self { context, seed: Some(Block::from_bytes(seed)), share }
    }
}

impl ReceiverShare {
    /// Sends w_r, behind A'. The sender knows w now, and has so long until its last mask is here.
    pub(crate) fn send_w(&self, channel: &mut dyn Channel) -> Result<(), Error> {
        channel.send(&self.w_r)?;
        channel.expect_within(Some(self.limit));
        Ok(channel.flush()?)
    }
}

impl ShareOfW for ReceiverShare {
    type W = Block;

    fn toss(ctx: &mut Ctx<'_, '_>, limit: Duration) -> Result<Coins<Self>, Error> {
        let commitments = ctx.run.context.oracle(COMMITMENT);
        let mut committed = [[0; COIN]; 2];
        ctx.channel.recv_exact(committed.as_flattened_mut())?;
        let (coin, w_r) = (draw(ctx.rng), draw(ctx.rng));
        ctx.channel.send(&coin)?;
        let mut opened = [[0; COIN]; 2];
        ctx.channel.recv_exact(opened.as_flattened_mut())?;
        if commit(&commitments, 0, &opened[0], &opened[1]) != committed[0] {
            return Err(Misbehaviour::FailedCheck.into());
        }
        let share = ReceiverShare { w_r, commitment: committed[1], commitments, limit };
        Ok(Coins::new(ctx.run, [coin, opened[0]], share))
    }

    fn w(self, channel: &mut dyn Channel) -> Result<Block, Error> {
        let mut opened = [[0; COIN]; 2];
        channel.recv_exact(opened.as_flattened_mut())?;
        if commit(&self.commitments, 1, &opened[0], &opened[1]) == self.commitment {
            Ok(block(&self.w_r) ^ block(&opened[0]))
        } else {
            Err(Misbehaviour::FailedCheck.into())
        }
    }
}

impl ShareOfW for SenderShare {
    type W = Block;

    fn toss(ctx: &mut Ctx<'_, '_>, limit: Duration) -> Result<Coins<Self>, Error> {
        let commitments = ctx.run.context.oracle(COMMITMENT);
        let [coin, coin_opening, w_s, opening] = [(); 4].map(|()| draw(ctx.rng));
        ctx.channel.send(&commit(&commitments, 0, &coin, &coin_opening))?;
        ctx.channel.send(&commit(&commitments, 1, &w_s, &opening))?;
        let mut theirs = [0; COIN];
        ctx.channel.recv_exact(&mut theirs)?;
        ctx.channel.send(&coin)?;
        ctx.channel.send(&coin_opening)?;
        ctx.channel.flush()?;
        // The receiver knows all hashes now. What it searches with them it has to find before A'.
        ctx.channel.expect_within(Some(limit));
        Ok(Coins::new(ctx.run, [theirs, coin], SenderShare { w_s, opening }))
    }

    fn w(self, channel: &mut dyn Channel) -> Result<Block, Error> {
        let mut theirs = [0; COIN];
        channel.recv_exact(&mut theirs)?;
        channel.expect_within(None);
        channel.send(&self.w_s)?;
        channel.send(&self.opening)?;
        channel.flush()?;
        Ok(block(&self.w_s) ^ block(&theirs))
    }
}

impl Model<Block> for Malicious {
    type W = Block;
    type ReceiverShare = ReceiverShare;
    type SenderShare = SenderShare;
    type Proofs = KeptValues;

    /// Before the sender's last message has been checked, nothing that depends on A leaves. A is made while the sender
    /// replies to the challenge.
    fn send_masked(
        setup: &Setup,
        ctx: &mut Ctx<'_, '_>,
        share: &ReceiverShare,
        vole: Answered<Block, Self>,
        p: Wiped<Block>,
    ) -> Result<Checked<Block>, Error> {
        let (run, n) = (ctx.run, ctx.run.sizes.receiver);
        let mut vole = vole::challenge(vole, &setup.plan, ctx.channel, ctx.rng)?;
        vole.mask(p);
        run.advance(n)?;
        run.phase(Phase::Unblind, 4 * n);
        let (masked, vole) = vole::take_reply(vole, &setup.plan, ctx.channel)?;
        run.advance(n)?;
        Block::send(&masked, ctx.channel, run)?;
        share.send_w(ctx.channel)?;
        Ok(vole)
    }

    fn in_order(decoded: Decoded<()>) -> Values {
        Values { values: decoded.in_order(), order: Order(None) }
    }

    fn hash(with: &Hashing<'_, Block>, range: Range<usize>, values: &[Block], into: &mut [u8]) {
        let masked = values.iter().map(|value| *value ^ with.w);
        let (bytes, width) = with_items(with.items, range, masked);
        with.hashes.output.hash_batch(&bytes, width, into, 16);
    }

    fn proofs(with: &Hashing<'_, Block>, values: &Values) -> KeptValues {
        let kept = with.run.learns == Learns::Both || has_payloads(with.run);
        let values = if kept { values.by_item() } else { Wiped::default() };
        KeptValues { hashes: with.hashes.clone(), values, w: with.w }
    }
}

/// The decoded values of my items, where both parties learn the matches, or in a run for payloads. The receiver proves a
/// match by a second function of its value.
pub(crate) struct KeptValues {
    hashes: Hashes,
    values: Wiped<Block>,
    w: Block,
}

impl KeptValues {
    pub(crate) fn proof(&self, items: &Items, item: usize) -> [u8; PROOF] {
        self.hashes.proof(items, item, self.values[item] ^ self.w)
    }
}

impl Proofs for KeptValues {
    fn send(&self, items: &Items, pairs: &[(u32, u32)], channel: &mut dyn Channel) -> Result<(), Error> {
        let mut pairs: Vec<(u32, u32)> = pairs.iter().map(|&(mine, theirs)| (theirs, mine)).collect();
        pairs.sort_unstable();
        pairs.dedup_by_key(|pair| pair.0);
        let proofs: Vec<u8> = pairs.iter().flat_map(|&(_, mine)| self.proof(items, mine as usize)).collect();
        channel.send(&proofs)?;
        Ok(channel.flush()?)
    }

    fn check(&self, items: &Items, matched: &[usize], channel: &mut dyn Channel) -> Result<(), Error> {
        let mut right = subtle::Choice::from(1);
        for &item in matched {
            let mut proof = [0; PROOF];
            channel.recv_exact(&mut proof)?;
            right &= proof.ct_eq(&self.proof(items, item));
        }
        if bool::from(right) { Ok(()) } else { Err(Misbehaviour::FailedCheck.into()) }
    }

    /// As H_o, H_p takes the value, w and the item.
    fn pads(&self, items: &Items, of: &[u32], pads: &mut [u8]) {
        let (mut bytes, width) = (Vec::with_capacity(of.len() * items.width()), items.width());
        items.gather(of.len(), |index| of[index] as usize, &mut bytes);
        let mut joined = Wiped::from(Vec::with_capacity(of.len() * (Block::BYTES + width)));
        for (item, bytes) in of.iter().zip(bytes.chunks_exact(width)) {
            joined.extend_from_slice((self.values[*item as usize] ^ self.w).as_bytes());
            joined.extend_from_slice(bytes);
        }
        self.hashes.pads(&joined, Block::BYTES + width, pads);
    }
}

/// Bytes of the proofs of `matches` matches.
pub(crate) fn proof_bytes(security: Security, learns: Learns, matches: usize) -> u64 {
    if security == Security::Malicious && learns == Learns::Both { (PROOF * matches) as u64 } else { 0 }
}
