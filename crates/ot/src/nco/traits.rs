//! What a protocol takes of a batched OPRF or of 1-out-of-N OTs, whichever they come from: [`Receiver`](super::Receiver) and
//! [`Sender`](super::Sender), or their ideal twins (`nco::ideal`, for tests).

use vesica_channel::{Channel, RecvHalf};
use vesica_crypto::block::Block;

use crate::error::Error;

/// What a receiver does from here on, as it tells who measures it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It makes and sends rows.
    Extend,
    /// It hashes rows to outputs.
    Evaluate,
}

/// The party that learns one output of each OT, or of each group of OTs.
pub trait NcoReceiver<Word> {
    /// The next OTs, `size` for each group of as many words: `outputs[j]` is what the sender computes at group `j` of
    /// `words`, of all its OTs together.
    ///
    /// # Errors
    /// If the connection fails.
    ///
    /// # Panics
    /// If there are not as many outputs as groups of words, a group is none or longer than 1024 bytes of rows, or there are
    /// more than 2^48 OTs of one setup.
    fn extend_groups(
        &mut self,
        size: usize,
        words: &[Word],
        outputs: &mut [Block],
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        self.extend_in_steps(size, words, outputs, channel, &mut |_| ())
    }

    /// As [`extend_groups`](Self::extend_groups); `on_step` is told which step begins. The first and the last are
    /// [`Step::Extend`], the first untold.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    fn extend_in_steps(
        &mut self,
        size: usize,
        words: &[Word],
        outputs: &mut [Block],
        channel: &mut dyn Channel,
        on_step: &mut dyn FnMut(Step),
    ) -> Result<(), Error>;
}

/// The party that can evaluate every OT at any word, by rows of `W` blocks.
pub trait NcoSender<Word, const W: usize> {
    /// The number of the next OT, which [`evaluate_groups`](Self::evaluate_groups) wants to know of the first of its rows.
    fn next(&self) -> u64;

    /// The next OTs: the row of each.
    ///
    /// # Errors
    /// If the connection fails or the partner's message is not what it must be.
    ///
    /// # Panics
    /// If there are more than 2^48 OTs of one setup.
    fn extend(&mut self, rows: &mut [[Block; W]], channel: &mut dyn RecvHalf) -> Result<(), Error>;

    /// The outputs of groups of `size` OTs at any values: `outputs[i]` is that of the OTs of rows `at[i]` to `at[i]` +
    /// `size` - 1 together at group i of `words`. `rows` are what [`extend`](Self::extend) gave for the OTs from number
    /// `first` on. A group begins where the receiver's does.
    ///
    /// # Panics
    /// If there are not as many outputs as places and groups of words, a row is not there, or a group is none or longer than
    /// 1024 bytes of rows.
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
