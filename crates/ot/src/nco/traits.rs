//! The two sides of 1-out-of-N OT, as protocols take them: [`Receiver`](super::Receiver) and
//! [`Sender`](super::Sender) implement them, and so do their ideal twins (`nco::ideal`, for tests).

use vesica_channel::{Channel, RecvHalf};
use vesica_crypto::block::Block;

use crate::error::Error;

/// A step of the receiver, as it reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The receiver makes and sends rows.
    Extend,
    /// The receiver hashes rows to outputs.
    Evaluate,
}

/// The party that learns one output of each OT, or of each group of OTs.
pub trait NcoReceiver<Word> {
    /// The next OTs, one for each of `words`; `size` of them make a group, which has one output. `outputs[j]`
    /// becomes the output that the sender computes at group `j` of `words`.
    ///
    /// # Errors
    /// If the connection fails, or one set-up has more than 2^48 OTs.
    ///
    /// # Panics
    /// If there are not as many outputs as groups of words, or a group is empty or longer than 1024 bytes of
    /// rows.
    fn extend_groups(
        &mut self,
        size: usize,
        words: &[Word],
        outputs: &mut [Block],
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        self.extend_in_steps(size, words, outputs, channel, &mut |_| ())
    }

    /// As [`extend_groups`](Self::extend_groups), with `on_step` called when a step begins. The first and the
    /// last step are [`Step::Extend`]; the first one is not reported.
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
    /// The number of the next OT. [`evaluate_groups`](Self::evaluate_groups) takes that of the first of its
    /// rows.
    fn next(&self) -> u64;

    /// The next OTs: the row of each.
    ///
    /// # Errors
    /// If the connection fails, the partner's message is not what it must be, or one set-up has more than
    /// 2^48 OTs.
    fn extend(&mut self, rows: &mut [[Block; W]], channel: &mut dyn RecvHalf) -> Result<(), Error>;

    /// The outputs of groups of `size` OTs at any words: `outputs[i]` is that of rows `at[i]` to `at[i]` +
    /// `size` - 1 at group i of `words`. `rows` are those that [`extend`](Self::extend) gave for the OTs from
    /// number `first` on. A group begins where the receiver's does.
    ///
    /// # Panics
    /// If `outputs`, `at` and the groups of words are not equally many, a row is not there, or a group is
    /// empty or longer than 1024 bytes of rows.
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
