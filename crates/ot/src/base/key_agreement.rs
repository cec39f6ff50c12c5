//! The key agreement that base OTs are made from, and their roles with either one.
//!
//! Both forms are endemic OTs of Masny and Rindal, against malicious parties: [`masny_rindal`] from Diffie–Hellman over
//! ristretto255, where the two messages may cross, and [`ml_kem`] from ML-KEM-768, where the sender answers.

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::hash::{Context, Label};

use super::two_messages::{Receiver as _, SENDER_BYTES, Sender as _};
use super::{masny_rindal, ml_kem};
use crate::error::Error;
use crate::seed::Seed;

/// The key agreement that base OTs are made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum KeyAgreement {
    /// Diffie–Hellman, over the curve of the level.
    #[default]
    DiffieHellman,
    /// ML-KEM-768, up to level 128.
    MlKem,
}

impl KeyAgreement {
    /// Both.
    pub const ALL: [KeyAgreement; 2] = [KeyAgreement::DiffieHellman, KeyAgreement::MlKem];

    /// The name on the command line and in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            KeyAgreement::DiffieHellman => "diffie-hellman",
            KeyAgreement::MlKem => "ml-kem",
        }
    }

    /// Bytes of the messages of `count` base OTs up to level 128: from their receiver, from their sender.
    #[must_use]
    pub const fn bytes(self, count: usize) -> [usize; 2] {
        match self {
            KeyAgreement::DiffieHellman => [count * masny_rindal::RECEIVER_BYTES, SENDER_BYTES],
            KeyAgreement::MlKem => [count * ml_kem::RECEIVER_BYTES, count * ml_kem::SENDER_BYTES],
        }
    }
}

/// The receiver after it has sent its message.
pub enum Receiver {
    /// From Diffie–Hellman.
    DiffieHellman(masny_rindal::Receiver),
    /// From ML-KEM.
    MlKem(ml_kem::Receiver),
}

impl Receiver {
    /// Draws the receiver's secrets, and makes its message of `count` OTs. The choices are packed eight to a byte,
    /// lowest first.
    ///
    /// # Panics
    /// If there are fewer than `count` choices.
    #[must_use]
    pub fn new(
        agreement: KeyAgreement,
        context: &Context,
        label: Label,
        choices: &[u8],
        count: usize,
        rng: &mut dyn CryptoRng,
    ) -> (Self, Vec<u8>) {
        match agreement {
            KeyAgreement::DiffieHellman => {
                let (receiver, message) = masny_rindal::Receiver::new(context, label, choices, count, rng);
                (Receiver::DiffieHellman(receiver), message)
            }
            KeyAgreement::MlKem => {
                let (receiver, message) = ml_kem::Receiver::new(context, label, choices, count, rng);
                (Receiver::MlKem(receiver), message)
            }
        }
    }

    /// The chosen string of every OT.
    ///
    /// # Errors
    /// If the sender's message has another length than it must, or its element is not valid.
    pub fn finish(self, answer: &[u8]) -> Result<Vec<Seed>, Error> {
        match self {
            Receiver::DiffieHellman(receiver) => {
                receiver.finish(answer.try_into().map_err(|_| Error::MessageLength { what: "base OT" })?)
            }
            Receiver::MlKem(receiver) => receiver.finish(answer),
        }
    }
}

/// [`Receiver`] over a channel.
///
/// # Errors
/// If the connection fails, or the sender's message is not what it must be.
///
/// # Panics
/// If there are fewer than `count` choices.
pub fn receive(
    agreement: KeyAgreement,
    context: &Context,
    label: Label,
    choices: &[u8],
    count: usize,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<Seed>, Error> {
    let (receiver, message) = Receiver::new(agreement, context, label, choices, count, rng);
    channel.send(&message)?;
    channel.flush()?;
    let mut theirs = vec![0; agreement.bytes(count)[1]];
    channel.recv_exact(&mut theirs)?;
    receiver.finish(&theirs)
}

/// A sender's part, where the receiver's message of `count` OTs is there already: both strings of every OT, and the
/// sender's message.
///
/// # Errors
/// If the receiver's message is not that of as many OTs, or an element in it is not valid.
pub fn answer(
    agreement: KeyAgreement,
    context: &Context,
    label: Label,
    count: usize,
    message: &[u8],
    rng: &mut dyn CryptoRng,
) -> Result<(Vec<[Seed; 2]>, Vec<u8>), Error> {
    if message.len() != agreement.bytes(count)[0] {
        return Err(Error::MessageLength { what: "base OT" });
    }
    match agreement {
        KeyAgreement::DiffieHellman => {
            let (sender, public) = masny_rindal::Sender::new(context, label, rng);
            Ok((sender.finish(message)?, public.to_vec()))
        }
        KeyAgreement::MlKem => ml_kem::Sender::new(context, label, count, rng).finish(message),
    }
}
