//! The oblivious pseudo-random function: what `vole`, `kkrt` and `ot-phasing` are built on.
//!
//! Ideal functionality (Freedman, Ishai, Pinkas, Reingold, TCC 2005; RS21, eprint 2021/266, §3; with several
//! functions: the batched OPRF of KKRT16, eprint 2016/799). It draws L random functions F_0, …, F_(L-1) with
//! outputs of 128 bits. Here, in `vole` and in `rr22` X is the receiver's set. The other files call it Y, as
//! PSSZ15 does.
//!
//! ```text
//! receiver (X)                                        sender (Y)
//! X ──►                                               of X it learns the size
//! F_i(x) for each x in X, with one i of its own
//! nothing else of F                                   F_0(y), …, F_(L-1)(y) for any y
//! ```
//!
//! Which i goes with an item is the receiver's secret. An OPRF by VOLE has L = 1, or as many as its caller
//! likes, who says under which one the receiver holds an item. One by bins has a function for each hash
//! function and each slot of the stash: the receiver holds an item in one of its bins, and the sender cannot
//! know in which.
//!
//! Both parties work at once, so outputs are streamed. The receiver hands its outputs to an [`OutputSink`],
//! the sender its own to an [`EvaluationSink`], and both lend their sink the channel between two messages of
//! the OPRF. PSI sends the sender's outputs, cut to masks, and looks the receiver's up among them. An OPPRF
//! or a payload adds its own message of the same kind: every output comes with the item, or with the
//! position, that it belongs to.
//!
//! An implementation is built by its protocol, from parameters and a set-up that it has begun
//! ([`OprfReceiver::evaluate`] may end it), and is used once.

pub(crate) mod bins;
pub(crate) mod programmable;
pub(crate) mod vole;

use vesica_channel::{Channel, SendHalf};
use vesica_crypto::block::Block;
use vesica_encode::items::Items;

use crate::error::Error;

/// The party that learns one output of each of its items.
pub trait OprfReceiver {
    /// What remains beside the outputs: `()`, or that by which the receiver can prove an output later.
    type Proofs;

    /// Evaluates F at all `items`. `sink` gets the outputs.
    ///
    /// # Errors
    /// If the connection fails, the partner's messages are not what they must be, or the items do not fit the
    /// parameters.
    fn evaluate(
        self,
        items: &Items,
        channel: &mut dyn Channel,
        sink: &mut impl OutputSink,
    ) -> Result<Self::Proofs, Error>;
}

/// The party that can evaluate every function at every item.
pub trait OprfSender {
    /// What remains beside the outputs: `()`, or that by which the sender can check the receiver's proofs.
    type Proofs;

    /// Evaluates F_0, …, F_(L-1) at all `items`, function after function. `sink` gets the outputs of item i
    /// under the number `position(i)`. That is all the sink knows of an item, so a random order has to be
    /// drawn once only; `position` is dropped as soon as it is not needed.
    ///
    /// # Errors
    /// As [`OprfReceiver::evaluate`].
    fn evaluate_all(
        self,
        items: &Items,
        position: impl Fn(usize) -> u32,
        channel: &mut dyn Channel,
        sink: &mut impl EvaluationSink,
    ) -> Result<Self::Proofs, Error>;
}

/// Takes the receiver's outputs.
pub trait OutputSink {
    /// Outputs of `function` come next, of `count` items. A hint: without it there is room for few.
    fn begin(&mut self, function: usize, count: usize);

    /// `outputs[i]` is F_function of the item number `item(i)`, or is to be ignored if there is none.
    fn put(&mut self, function: usize, outputs: &[Block], item: impl Fn(usize) -> Option<u32> + Sync);

    /// Called between two messages, when all outputs of the first `functions` functions are there. The sink
    /// can take what the sender has sent about them by now. It must not wait for more.
    ///
    /// # Errors
    /// If the connection fails, or what came is not what it must be.
    fn receive_available(&mut self, functions: usize, channel: &mut dyn Channel) -> Result<(), Error>;
}

/// Takes the sender's outputs.
pub trait EvaluationSink {
    /// Outputs of `function` come next, of `count` items.
    fn begin(&mut self, _function: usize, _count: usize) {}

    /// Outputs of the current function, and the position of each. In as many calls as the OPRF likes.
    fn put(&mut self, positions: impl Iterator<Item = u32>, outputs: &[Block]);

    /// Called between two messages: `done` of `all` steps of the current function are done. Steps do not
    /// depend on the items, so the sink may send in proportion to them without telling anything.
    ///
    /// # Errors
    /// If the connection fails.
    fn send_due(&mut self, done: usize, all: usize, channel: &mut dyn SendHalf) -> Result<(), Error>;

    /// All outputs of the current function are there. The next function's follow, if there is one.
    ///
    /// # Errors
    /// If the connection fails.
    fn complete(&mut self, channel: &mut dyn SendHalf) -> Result<(), Error>;
}
