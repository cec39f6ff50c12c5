//! The flights over a channel, one by one or as a whole conversation.

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_crypto::memory::Wiped;

use super::plan::Plan;
use super::value::{CheckedValue, Covers, Value};
use super::{receiver, sender};
use crate::base::KeyAgreement;
use crate::error::Error;
use crate::security::{Malicious, Security, SemiHonest};

/// How either party of a VOLE over values V gets from its answer to the state in which it may expand.
pub trait Check<V: Value>: Covers<V> + Sized {
    /// The sender's part after flight 3: in malicious runs it answers the receiver's challenge. Nothing is
    /// sent in semi-honest runs.
    ///
    /// # Errors
    /// If the connection fails or the partner's message is not what it must be.
    fn answer_check(
        sender: sender::Answered<Self>,
        plan: &Plan,
        channel: &mut dyn Channel,
    ) -> Result<sender::Checked, Error>;

    /// The receiver's part: takes flight 3 and, in malicious runs, checks it. Returns A, if it was made.
    ///
    /// # Errors
    /// If the connection fails or the partner's messages are not what they must be.
    fn take_flight3(
        receiver: receiver::Answered<V, Self>,
        plan: &Plan,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Wiped<V>, receiver::Checked<V>), Error>;
}

impl<V: Value> Check<V> for SemiHonest {
    fn answer_check(
        sender: sender::Answered<Self>,
        _: &Plan,
        _: &mut dyn Channel,
    ) -> Result<sender::Checked, Error> {
        Ok(sender.accept())
    }

    fn take_flight3(
        receiver: receiver::Answered<V, Self>,
        plan: &Plan,
        channel: &mut dyn Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<(Wiped<V>, receiver::Checked<V>), Error> {
        receiver.accept(received(plan.flight3_bytes(), channel)?)
    }
}

impl<V: CheckedValue> Check<V> for Malicious {
    fn answer_check(
        sender: sender::Answered<Self>,
        plan: &Plan,
        channel: &mut dyn Channel,
    ) -> Result<sender::Checked, Error> {
        let flight4 = received(plan.flight4_bytes(Security::Malicious), channel)?;
        let (sender, flight5) = sender.reply(&flight4)?;
        channel.send(&flight5)?;
        channel.flush()?;
        Ok(sender)
    }

    fn take_flight3(
        receiver: receiver::Answered<V, Self>,
        plan: &Plan,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Wiped<V>, receiver::Checked<V>), Error> {
        take_reply(challenge(receiver, plan, channel, rng)?, plan, channel)
    }
}

/// Takes flight 3 of a malicious run and sends flight 4, the receiver's challenge. The receiver
/// can make A meanwhile.
///
/// # Errors
/// If the connection fails or flight 3 is not what it must be.
pub fn challenge<V: CheckedValue>(
    receiver: receiver::Answered<V, Malicious>,
    plan: &Plan,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<receiver::Challenged<V>, Error> {
    let flight3 = received(plan.flight3_bytes(), channel)?;
    let (receiver, flight4) = receiver.challenge(&flight3, rng)?;
    channel.send(&flight4)?;
    channel.flush()?;
    Ok(receiver)
}

/// Takes flight 5, the reply to the challenge. If it is right, returns A, masked or not, if it was made.
///
/// # Errors
/// If the connection fails or the reply does not fit.
pub fn take_reply<V: CheckedValue>(
    receiver: receiver::Challenged<V>,
    plan: &Plan,
    channel: &mut dyn Channel,
) -> Result<(Wiped<V>, receiver::Checked<V>), Error> {
    receiver.check(&received(plan.flight5_bytes(Security::Malicious), channel)?)
}

fn received(bytes: usize, channel: &mut dyn Channel) -> Result<Vec<u8>, Error> {
    let mut message = vec![0; bytes];
    channel.recv_exact(&mut message)?;
    Ok(message)
}

/// Flight 1: the sender draws Δ, and begins base OTs from this key agreement.
///
/// # Errors
/// If the connection fails.
pub fn open(
    context: &Context,
    agreement: KeyAgreement,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<sender::Opened, Error> {
    let (sender, flight1) = sender::Opened::new(context, agreement, rng);
    channel.send(&flight1)?;
    channel.flush()?;
    Ok(sender)
}

/// Flight 2, the receiver's answer to flight 1. It is left to the caller to flush the end of it, who may have more
/// to send.
///
/// # Errors
/// If the connection fails or flight 1 is not what it must be.
pub fn answer<V: Value, S: Check<V>>(
    context: &Context,
    plan: &Plan,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<receiver::Answered<V, S>, Error> {
    let flight1 = received(Plan::flight1_bytes(plan.base_ots()), channel)?;
    let (receiver, beginning) = receiver::Begun::new(context, plan.base_ots(), &flight1, rng)?;
    channel.send(&beginning)?;
    // The sender expands the same strings meanwhile.
    channel.flush()?;
    let (receiver, corrections) = receiver.answer(plan, rng);
    channel.send(&corrections)?;
    Ok(receiver)
}

/// Receives flight 2: its beginning, then, after the work that needs no more, the corrections. Between this and
/// [`respond`] the sender can work without the memory that the trees take.
///
/// # Errors
/// If the connection fails, or the part of the base OTs that flight 2 begins with is not valid.
pub fn receive_flight2<V: Value, S: Check<V>>(
    sender: sender::Opened,
    plan: &Plan,
    channel: &mut dyn Channel,
) -> Result<(sender::Prepared<S>, Vec<u8>), Error> {
    let beginning = received(Plan::beginning_bytes(plan.base_ots(), S::SECURITY), channel)?;
    let sender = sender.prepare::<V, S>(plan, &beginning)?;
    Ok((sender, received(plan.rest_bytes::<V>(S::SECURITY), channel)?))
}

/// Flight 3, the sender's answer to flight 2, and its part in the check.
///
/// # Errors
/// If the connection fails or the partner's messages are not what they must be.
pub fn respond<V: Value, S: Check<V>>(
    sender: sender::Prepared<S>,
    plan: &Plan,
    corrections: &[u8],
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<sender::Checked, Error> {
    let (sender, flight3) = sender.respond::<V>(plan, corrections, rng)?;
    channel.send(&flight3)?;
    channel.flush()?;
    drop(flight3);
    S::answer_check(sender, plan, channel)
}

/// The whole conversation of the sender: Δ and B.
///
/// # Errors
/// If the connection fails or the partner's messages are not what they must be.
pub fn send<V: Value, S: Check<V>>(
    context: &Context,
    plan: &Plan,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<sender::Expanded, Error> {
    let sender = open(context, plan.base_ots(), channel, rng)?;
    let (sender, corrections) = receive_flight2::<V, S>(sender, plan, channel)?;
    Ok(respond::<V, S>(sender, plan, &corrections, channel, rng)?.expand())
}

/// The whole conversation of the receiver: A and C.
///
/// # Errors
/// If the connection fails or the partner's messages are not what they must be.
pub fn receive<V: Value, S: Check<V>>(
    context: &Context,
    plan: &Plan,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<(Wiped<V>, Wiped<Block>), Error> {
    let mut receiver = answer::<V, S>(context, plan, channel, rng)?;
    channel.flush()?;
    // While the sender works.
    receiver.make_values();
    let (values, receiver) = S::take_flight3(receiver, plan, channel, rng)?;
    Ok((values, receiver.expand()))
}
