//! What a protocol takes of a batched OPRF or of 1-out-of-N OTs, whichever they come from: [`Receiver`] and [`Sender`], or
//! their ideal twins (`coded::ideal`, for tests).

use vesica_crypto::block::Block;
use vesica_net::{Channel, RecvHalf};

use super::{Code, Receiver, Sender};
use crate::error::Error;

/// The party that learns one output of each OT, or of each group of OTs.
pub trait OprfReceiver<Word> {
    /// [`Receiver::extend_groups`].
    ///
    /// # Errors
    /// If the connection fails.
    fn extend_groups(
        &mut self,
        size: usize,
        words: &[Word],
        outputs: &mut [Block],
        channel: &mut Channel,
    ) -> Result<(), Error>;
}

/// The party that can evaluate every OT at any word, by rows of `W` blocks.
pub trait OprfSender<Word, const W: usize> {
    /// [`Sender::next`].
    fn next(&self) -> u64;

    /// [`Sender::extend`].
    ///
    /// # Errors
    /// If the connection fails or the partner's message is not what it must be.
    fn extend(&mut self, rows: &mut [[Block; W]], channel: &mut RecvHalf) -> Result<(), Error>;

    /// [`Sender::evaluate_groups`].
    fn evaluate_groups(
        &self,
        size: usize,
        first: u64,
        rows: &[[Block; W]],
        at: &[u32],
        words: &[Word],
        outputs: &mut [Block],
    );
}

impl<C: Code<W>, const W: usize> OprfReceiver<C::Word> for Receiver<C, W> {
    fn extend_groups(
        &mut self,
        size: usize,
        words: &[C::Word],
        outputs: &mut [Block],
        channel: &mut Channel,
    ) -> Result<(), Error> {
        self.extend_groups(size, words, outputs, channel)
    }
}

impl<C: Code<W>, const W: usize> OprfSender<C::Word, W> for Sender<C, W> {
    fn next(&self) -> u64 {
        self.next()
    }

    fn extend(&mut self, rows: &mut [[Block; W]], channel: &mut RecvHalf) -> Result<(), Error> {
        self.extend(rows, channel)
    }

    fn evaluate_groups(
        &self,
        size: usize,
        first: u64,
        rows: &[[Block; W]],
        at: &[u32],
        words: &[C::Word],
        outputs: &mut [Block],
    ) {
        self.evaluate_groups(size, first, rows, at, words, outputs);
    }
}
