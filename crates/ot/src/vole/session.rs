//! From base OTs on: the three flights, one by one or as a conversation.

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::transpose::ROWS;
use zeroize::{Zeroize, Zeroizing};

use super::plan::Plan;
use super::value::Value;
use super::{Receiver, Sender};
use crate::base::masny_rindal;
use crate::security::Security;
use crate::{Error, Seed};

const BASE: Label = Label::new("vole: base OT");

/// Flight 1: the sender between its base OT message and the receiver's.
pub struct Opening {
    context: Context,
    delta: Zeroizing<Block>,
    base: masny_rindal::Receiver,
}

impl Opening {
    /// Bytes of the message.
    pub const BYTES: usize = ROWS * masny_rindal::RECEIVER_BYTES;

    /// Draws Δ. The message is for [`answer`].
    #[must_use]
    pub fn new(context: &Context, rng: &mut dyn CryptoRng) -> (Self, Vec<u8>) {
        Self::with_delta(context, Block::random(rng), rng)
    }

    /// The same for this Δ.
    pub(super) fn with_delta(context: &Context, delta: Block, rng: &mut dyn CryptoRng) -> (Self, Vec<u8>) {
        let (base, message) = masny_rindal::Receiver::new(context, BASE, delta.as_bytes(), ROWS, rng);
        (Self { context: context.clone(), delta: Zeroizing::new(delta), base }, message)
    }

    /// The context of the run.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    /// Bytes of the receiver's answer, [`flight 2`](answer).
    #[must_use]
    pub fn answer_bytes<V: Value>(plan: &Plan) -> usize {
        masny_rindal::SENDER_BYTES + plan.receiver_bytes::<V>()
    }

    /// Flight 3, from the receiver's answer.
    ///
    /// # Errors
    /// If the answer is not what it must be.
    pub fn respond<V: Value>(
        self,
        plan: &Plan,
        answer: &[u8],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Sender, Vec<u8>), Error> {
        let context = self.context.clone();
        self.respond_with(answer, |delta, base, corrections| {
            Sender::new::<V>(&context, plan, delta, base, corrections, rng)
        })
    }

    /// The same, where a sender is made of Δ, the chosen strings and the receiver's corrections.
    pub(super) fn respond_with<S>(
        self,
        answer: &[u8],
        sender: impl FnOnce(Block, &[Block], &[u8]) -> Result<S, Error>,
    ) -> Result<S, Error> {
        let wrong = Error::MessageLength { what: "base OT and corrections of a VOLE" };
        let (public, corrections) = answer.split_first_chunk().ok_or(wrong)?;
        let mut base: Vec<Block> = self.base.finish(public)?.iter().map(Seed::block).collect();
        let sender = sender(*self.delta, &base, corrections);
        base.zeroize();
        sender
    }
}

/// Flight 2: the receiver's answer to the message of [`Opening::new`].
///
/// # Errors
/// If the opening is not what it must be.
pub fn answer<V: Value>(
    context: &Context,
    plan: &Plan,
    opening: &[u8],
    rng: &mut dyn CryptoRng,
) -> Result<(Receiver<V>, Vec<u8>), Error> {
    answer_with(context, opening, rng, |base, rng| Receiver::new(context, plan, base, rng))
}

/// The same, where a receiver and its corrections are made of both strings of the base OTs.
pub(super) fn answer_with<R>(
    context: &Context,
    opening: &[u8],
    rng: &mut dyn CryptoRng,
    receiver: impl FnOnce(&[[Block; 2]], &mut dyn CryptoRng) -> (R, Vec<u8>),
) -> Result<(R, Vec<u8>), Error> {
    if opening.len() != Opening::BYTES {
        return Err(Error::MessageLength { what: "base OT of a VOLE" });
    }
    let (base, public) = masny_rindal::Sender::new(context, BASE, rng);
    let base = base.finish(opening)?;
    let mut seeds: Vec<[Block; 2]> = base.iter().map(|[zero, one]| [zero.block(), one.block()]).collect();
    let (receiver, corrections) = receiver(&seeds, rng);
    seeds.as_flattened_mut().zeroize();
    Ok((receiver, [&public[..], &corrections].concat()))
}

/// The whole conversation of the sender: Δ and B.
///
/// # Errors
/// If the connection fails or the partner's messages are not what they must be.
pub fn send<V: Value>(
    context: &Context,
    plan: &Plan,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<(Block, Vec<Block>), Error> {
    let (opening, message) = Opening::new(context, rng);
    channel.send(&message)?;
    let mut answer = vec![0; Opening::answer_bytes::<V>(plan)];
    channel.recv_exact(&mut answer)?;
    let (mut sender, message) = opening.respond::<V>(plan, &answer, rng)?;
    channel.send(&message)?;
    channel.flush()?;
    confirm(&mut sender, plan, channel)?;
    Ok((sender.delta(), sender.finish()))
}

/// The sender's part in the check of a malicious run; nothing in others. It follows flight 3.
///
/// # Errors
/// If the connection fails.
pub fn confirm(sender: &mut Sender, plan: &Plan, channel: &mut dyn Channel) -> Result<(), Error> {
    if plan.challenge_bytes() > 0 {
        let mut challenge = vec![0; plan.challenge_bytes()];
        channel.recv_exact(&mut challenge)?;
        channel.send(&sender.reply(&challenge)?)?;
        channel.flush()?;
    }
    Ok(())
}

/// Receives flight 3 and, in malicious runs, checks it: what is left to do, [`Receiver::finish`], is silent.
///
/// # Errors
/// If the connection fails or the partner's messages are not what they must be.
pub fn accept<V: Value>(
    receiver: &mut Receiver<V>,
    plan: &Plan,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<(), Error> {
    let mut words = vec![0; plan.sender_bytes()];
    channel.recv_exact(&mut words)?;
    if plan.security() == Security::SemiHonest {
        return receiver.accept(words);
    }
    channel.send(&receiver.challenge(&words, rng)?)?;
    let mut reply = vec![0; plan.reply_bytes()];
    channel.recv_exact(&mut reply)?;
    receiver.confirm(&reply)
}

/// The whole conversation of the receiver: A and C.
///
/// # Errors
/// If the connection fails or the partner's messages are not what they must be.
pub fn receive<V: Value>(
    context: &Context,
    plan: &Plan,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<(Vec<V>, Vec<Block>), Error> {
    let mut opening = vec![0; Opening::BYTES];
    channel.recv_exact(&mut opening)?;
    let (mut receiver, message) = answer::<V>(context, plan, &opening, rng)?;
    channel.send(&message)?;
    channel.flush()?;
    // While the sender works.
    let values = receiver.values();
    accept(&mut receiver, plan, channel, rng)?;
    Ok((values, receiver.finish()))
}
