//! What base OTs of one message each way have in common. The two messages go in any order.

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::hash::{Context, Label};

use crate::error::Error;
use crate::seed::Seed;

/// Bytes of a sender's message: an element of ristretto255.
pub const SENDER_BYTES: usize = 32;

/// The sender after it has sent its message.
pub trait Sender: Sized {
    /// Bytes of the receiver's message, for each OT.
    const RECEIVER_BYTES: usize;

    /// Draws the sender's secret, and makes its message.
    #[must_use]
    fn new(context: &Context, label: Label, rng: &mut dyn CryptoRng) -> (Self, [u8; SENDER_BYTES]);

    /// Both strings of every OT of the receiver's message.
    ///
    /// # Errors
    /// If the message is not a whole number of OTs, or an element in it is not valid.
    fn finish(self, message: &[u8]) -> Result<Vec<[Seed; 2]>, Error>;

    /// [`finish`](Self::finish) with the receiver's message of `count` OTs from the channel.
    ///
    /// # Errors
    /// If the connection fails or the partner's elements are not valid.
    fn receive(self, count: usize, channel: &mut dyn Channel) -> Result<Vec<[Seed; 2]>, Error> {
        let mut theirs = vec![0; count * Self::RECEIVER_BYTES];
        channel.recv_exact(&mut theirs)?;
        self.finish(&theirs)
    }
}

/// The receiver after it has sent its message.
pub trait Receiver: Sized {
    /// Draws the receiver's secrets, and makes its message of `count` OTs. The choices are packed eight to a byte,
    /// lowest first.
    ///
    /// # Panics
    /// If there are fewer than `count` choices.
    #[must_use]
    fn new(
        context: &Context,
        label: Label,
        choices: &[u8],
        count: usize,
        rng: &mut dyn CryptoRng,
    ) -> (Self, Vec<u8>);

    /// The chosen string of every OT.
    ///
    /// # Errors
    /// If the sender's element is not valid.
    fn finish(self, public: &[u8; SENDER_BYTES]) -> Result<Vec<Seed>, Error>;
}

/// Both strings of `count` OTs.
///
/// # Errors
/// If the connection fails or the partner's elements are not valid.
pub fn send<S: Sender>(
    context: &Context,
    label: Label,
    count: usize,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<[Seed; 2]>, Error> {
    let (sender, message) = S::new(context, label, rng);
    channel.send(&message)?;
    channel.flush()?;
    sender.receive(count, channel)
}

/// The strings that the first `count` of `choices` name, packed eight to a byte, lowest first.
///
/// # Errors
/// If the connection fails or the partner's element is not valid.
///
/// # Panics
/// If there are fewer choices.
pub fn receive<R: Receiver>(
    context: &Context,
    label: Label,
    choices: &[u8],
    count: usize,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<Seed>, Error> {
    let (receiver, message) = R::new(context, label, choices, count, rng);
    channel.send(&message)?;
    channel.flush()?;
    let mut theirs = [0; SENDER_BYTES];
    channel.recv_exact(&mut theirs)?;
    receiver.finish(&theirs)
}
