//! The side that has Δ and gets B.

use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

use vesica_crypto::block::Block;
use vesica_crypto::fold::BLOCKS;
use vesica_crypto::gf128::{self, Gf128};
use vesica_crypto::hash::Context;
use vesica_crypto::memory::wipe;
use vesica_crypto::par;
use vesica_crypto::prg::Prg;
use zeroize::Zeroize;

use super::check;
use super::pieces::{compressed, make_room};
use super::plan::{Plan, WIDTH};
use super::trees::{Forest, completion};
use super::value::Value;
use crate::CotSender;
use crate::Error;
use crate::pprf::levels;
use crate::softspoken::{self, Security};

/// The sender after the receiver's message.
pub struct Sender {
    plan: Plan,
    context: Context,
    delta: Block,
    /// The noise of each piece that is not compressed yet.
    pub(super) noise: Vec<Vec<Block>>,
    /// The outputs, where they are made at once.
    outputs: Vec<Block>,
    /// The sender's share of the VOLE that the check uses up.
    spare: Vec<Block>,
}

impl Sender {
    /// Grows the trees; `base` are the strings of 128 base OTs whose choices were the bits of `delta`, `message` is that
    /// of [`Receiver::new`](super::Receiver::new) over the same values. The sender's message is returned beside it.
    ///
    /// # Errors
    /// If the message has another length than it must, or (malicious security) fails a check.
    ///
    /// # Panics
    /// If there are not 128 base OTs, or the plan is malicious and no check covers values of this kind.
    pub fn new<V: Value>(
        context: &Context,
        plan: &Plan,
        delta: Block,
        base: &[Block],
        message: &[u8],
        rng: &mut dyn rand_core::CryptoRng,
    ) -> Result<(Self, Vec<u8>), Error> {
        assert!(V::CHECKED || plan.security() == Security::SemiHonest, "a check covers the values");
        let Correlations { mut offsets, mut gammas, spare } =
            Correlations::new::<V>(context, plan, delta, base, message)?;
        let mut sender = Self {
            plan: plan.over::<V>(),
            context: context.clone(),
            delta,
            noise: Vec::new(),
            outputs: Vec::new(),
            spare,
        };
        let mut message = Vec::new();
        if plan.pieces() == 0 {
            sender.outputs = core::mem::take(&mut gammas);
        } else {
            message = sender.grow(&offsets, &gammas, rng);
        }
        offsets.as_flattened_mut().zeroize();
        gammas.zeroize();
        Ok((sender, message))
    }

    /// Δ.
    #[must_use]
    pub fn delta(&self) -> Block {
        self.delta
    }

    /// In malicious runs: the reply to [`Receiver::challenge`](super::Receiver::challenge), once.
    ///
    /// # Errors
    /// If the challenge has another length than it must.
    pub fn reply(&mut self, challenge: &[u8]) -> Result<Vec<u8>, Error> {
        if challenge.len() != self.plan.challenge_bytes() {
            return Err(Error::MessageLength { what: "challenge of the check of a VOLE" });
        }
        let ([seed, hidden], Some(share)) = (challenge.as_chunks::<16>().0, self.spare.pop()) else {
            return Ok(Vec::new());
        };
        let length = self.plan.noise();
        let hidden = Gf128::from(Block::from_bytes(*hidden));
        let mut sum = Gf128::from(share) + Gf128::from(self.delta) * hidden;
        for (piece, noise) in self.noise.iter().enumerate() {
            let coefficients = check::coefficients(Block::from_bytes(*seed), piece, length);
            sum += gf128::inner_product(&coefficients, noise);
        }
        Ok(check::hash(&self.context, sum.to_block()).to_vec())
    }

    /// B. In malicious runs the receiver's challenge must have been replied to before.
    #[must_use]
    pub fn finish(mut self) -> Vec<Block> {
        if self.noise.is_empty() {
            return core::mem::take(&mut self.outputs);
        }
        let code = self.plan.code(&self.context);
        let noise = Mutex::new(core::mem::take(&mut self.noise));
        let mut room = Default::default();
        let out = compressed(&self.plan, &code, &mut room, |_, piece, room| {
            *room = core::mem::take(&mut noise.lock().unwrap_or_else(PoisonError::into_inner)[piece]);
        });
        room.iter_mut().for_each(wipe);
        out
    }

    /// The leaves of all trees, and the message. The pieces of a long vector are compressed at once, since nothing checks
    /// their noise in a semi-honest run; of one piece the message should be on its way first.
    fn grow(
        &mut self,
        offsets: &[[Block; 1]],
        gammas: &[Block],
        rng: &mut dyn rand_core::CryptoRng,
    ) -> Vec<u8> {
        let plan = &self.plan;
        let mut prg = Prg::from_rng(rng);
        let mut roots: Vec<Block> = (0..plan.pieces() * plan.weight()).map(|_| prg.block()).collect();
        let grower = Grower {
            plan,
            forest: Forest::new(&self.context, plan.shape()),
            delta: self.delta,
            offsets,
            gammas,
            roots: &roots,
        };
        let each = plan.sender_bytes() / Block::BYTES / plan.pieces();
        let mut words = vec![Block::ZERO; each * plan.pieces()];
        if plan.pieces() == 1 || plan.security() == Security::Malicious {
            for (piece, words) in words.chunks_mut(each).enumerate() {
                let mut noise = Vec::new();
                grower.grow(plan.threads(), piece, &mut noise, words);
                self.noise.push(noise);
            }
        } else {
            let slots: Vec<Mutex<&mut [Block]>> = words.chunks_mut(each).map(Mutex::new).collect();
            let mut room = Default::default();
            let code = plan.code(&self.context);
            self.outputs = compressed(plan, &code, &mut room, |threads, piece, room| {
                let mut words = slots[piece].lock().unwrap_or_else(PoisonError::into_inner);
                grower.grow(threads, piece, room, &mut words);
            });
            room.iter_mut().for_each(wipe);
        }
        roots.zeroize();
        Block::slice_as_bytes(&words).to_vec()
    }
}

/// The sender's side of what the trees are made of.
pub(super) struct Correlations {
    /// q of the correlated OTs.
    pub(super) offsets: Vec<[Block; 1]>,
    /// γ of each noise value, or of each output.
    pub(super) gammas: Vec<Block>,
    pub(super) spare: Vec<Block>,
}

impl Correlations {
    /// From the receiver's message, held to its length and, against malicious ones, its checks.
    pub(super) fn new<V: Value>(
        context: &Context,
        plan: &Plan,
        delta: Block,
        base: &[Block],
        message: &[u8],
    ) -> Result<Self, Error> {
        if message.len() != plan.receiver_bytes::<V>() {
            return Err(Error::MessageLength { what: "corrections of a VOLE" });
        }
        let (setup, mut corrections) =
            message.split_at(crate::small_field::message_bytes(WIDTH, plan.security()));
        let mut field = softspoken::Sender::new(context, WIDTH, plan.security(), delta, base, setup)?;
        let mut offsets = vec![[Block::ZERO]; plan.choices()];
        field.extend_from(true, &mut offsets, |bytes| {
            let (now, later) = corrections.split_at(bytes.len());
            bytes.copy_from_slice(now);
            corrections = later;
            Ok(())
        })?;
        let gammas = gammas::<V>(plan, &mut field, &mut corrections)?;
        let spare = draw::<Block>(plan.spare(), &mut field, &mut corrections)?;
        Ok(Self { offsets, gammas, spare })
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.delta.zeroize();
        self.noise.iter_mut().for_each(wipe);
        wipe(&mut self.outputs);
        self.spare.zeroize();
    }
}

/// γ of each value; Δ where there is but one value, whose VOLE is γ = Δ, δ = 0.
fn gammas<V: Value>(
    plan: &Plan,
    field: &mut softspoken::Sender,
    corrections: &mut &[u8],
) -> Result<Vec<Block>, Error> {
    if plan.pieces() > 0 && V::ONLY.is_some() {
        return Ok(vec![field.delta()[0]; plan.values()]);
    }
    let mut gammas = draw::<V>(plan.places::<V>(), field, corrections)?;
    gammas.truncate(plan.values());
    Ok(gammas)
}

/// The sender's shares of random values times Δ, from so many blocks of columns.
fn draw<V: Value>(
    mut left: usize,
    field: &mut softspoken::Sender,
    corrections: &mut &[u8],
) -> Result<Vec<Block>, Error> {
    let mut shares = Vec::new();
    while left > 0 {
        let places = left.min(field.chunk_places());
        let (now, later) = corrections.split_at(field.chunk_bytes(places, false));
        for (i, tile) in field.chunk(places, false, now)?.iter().take(places.div_ceil(BLOCKS)).enumerate() {
            V::correlations(tile, &[], (places - i * BLOCKS).min(BLOCKS), &mut Vec::new(), &mut shares);
        }
        (*corrections, left) = (later, left - places);
    }
    Ok(shares)
}

/// What the trees of a run are grown from.
struct Grower<'a> {
    plan: &'a Plan,
    forest: Forest,
    delta: Block,
    offsets: &'a [[Block; 1]],
    gammas: &'a [Block],
    roots: &'a [Block],
}

impl Grower<'_> {
    /// The leaves of the trees of a piece, and their words.
    fn grow(&self, threads: usize, piece: usize, noise: &mut Vec<Block>, words: &mut [Block]) {
        let plan = self.plan;
        make_room(noise, plan.noise());
        let mut index = piece * plan.choices() / plan.pieces();
        let (mut noise, mut words) = (&mut noise[..], words);
        let mut tasks = Vec::with_capacity(plan.weight());
        for block in plan.blocks() {
            let (leaves, noise_after) = noise.split_at_mut(block.len());
            let (own, words_after) = words.split_at_mut(plan.words(block.len()) + 1);
            tasks.push((index, leaves, own));
            index += levels(block.len());
            (noise, words) = (noise_after, words_after);
        }
        let Ok(()) =
            par::for_each::<_, Infallible, _>(threads, tasks.into_iter(), |block, (index, leaves, words)| {
                let tree = piece * plan.weight() + block;
                let offsets = &self.offsets[index..index + levels(leaves.len())];
                let mut grown = Vec::with_capacity(words.len());
                self.forest.grow(index as u64, (offsets, self.delta), self.roots[tree], leaves, &mut grown);
                grown.push(completion(self.gammas[tree], leaves));
                words.copy_from_slice(&grown);
                Ok(())
            });
    }
}
