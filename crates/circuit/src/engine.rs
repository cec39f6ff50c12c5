//! What a circuit is written for: rows of wires, gates on them, inputs and outputs.
//!
//! ```
//! use vesica_circuit::{Engine, Error, Input, Opening, Party};
//!
//! /// Whether one bit of each party is set, for as many pairs of bits as the parties have.
//! fn both<E: Engine>(engine: &mut E, mine: Input, theirs: Input) -> Result<Option<Vec<vesica_circuit::Bits>>, Error> {
//!     let receiver = engine.input(Party::Receiver, mine)?;
//!     let sender = engine.input(Party::Sender, theirs)?;
//!     let outputs = engine.and(&[(&receiver[0], &sender[0])])?;
//!     engine.open(Opening::ToReceiver, &outputs)
//! }
//! ```

use vesica_channel::Channel;

use crate::bits::Bits;
use crate::error::Error;
use crate::wires::Wires;

/// The most values that an engine multiplies by one bit in one step; more take a step for each so many.
pub const STRING_BITS: usize = 128;

/// A party of a circuit. In Yao's protocol the sender garbles and the receiver evaluates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Party {
    /// The party that learns an output by default.
    Receiver,
    /// The other one.
    Sender,
}

impl Party {
    /// The other party.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Party::Receiver => Party::Sender,
            Party::Sender => Party::Receiver,
        }
    }
}

/// Private bits of a party, in rows of the same length, as the program of either party has them.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// This party's own bits.
    Known(&'a [Bits]),
    /// The other party's bits, of which only their number is known.
    Hidden {
        /// How many rows.
        rows: usize,
        /// Wires of a row.
        len: usize,
    },
}

impl Input<'_> {
    /// How many rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        match self {
            Input::Known(rows) => rows.len(),
            Input::Hidden { rows, .. } => *rows,
        }
    }

    /// Wires of a row.
    #[must_use]
    pub fn row_len(&self) -> usize {
        match self {
            Input::Known(rows) => rows.first().map_or(0, |row| row.len()),
            Input::Hidden { len, .. } => *len,
        }
    }
}

/// Who learns an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opening {
    /// The receiver alone.
    ToReceiver,
    /// The sender alone.
    ToSender,
    /// Both.
    ToBoth,
}

impl Opening {
    /// Whether `party` learns it.
    #[must_use]
    pub fn is_to(self, party: Party) -> bool {
        match self {
            Opening::ToReceiver => party == Party::Receiver,
            Opening::ToSender => party == Party::Sender,
            Opening::ToBoth => true,
        }
    }
}

/// Called with the number of gates, other than XOR and NOT, that were computed since the last call. An error
/// ends the run.
pub type Watch<'a> = dyn FnMut(u64) -> Result<(), Error> + 'a;

/// What runs a circuit. Both parties call the same gates in the same order.
///
/// All rows of a call have the same length, unless it says more. XOR and NOT cost neither communication nor
/// cryptography; the gates of one call of [`and`](Self::and) are independent of one another, and an engine
/// that needs a message for a layer sends one for the call.
pub trait Engine {
    /// A row of wires.
    type Wires: Wires;

    /// How many instances of a gadget a circuit best gives to one call, if it has very many. An engine that
    /// keeps its work in the cache says a few hundred; one that sends a message a layer says `usize::MAX`.
    fn chunk(&self) -> usize;

    /// The connection to the other party, for messages beside the gates, which both have to send and receive
    /// at the same point. None of an engine that is both parties at once.
    fn channel(&mut self) -> Option<&mut dyn Channel> {
        None
    }

    /// `len` wires that carry a constant, which both parties know.
    fn constant(&mut self, bit: bool, len: usize) -> Self::Wires;

    /// Wires that carry the private bits of `owner`, row by row.
    ///
    /// # Errors
    /// If the connection fails, or the bits are not known to the owner's engine alone.
    fn input(&mut self, owner: Party, bits: Input<'_>) -> Result<Vec<Self::Wires>, Error>;

    /// ¬a.
    #[must_use]
    fn not(&self, a: &Self::Wires) -> Self::Wires;

    /// a ⊕ b.
    #[must_use]
    fn xor(&self, a: &Self::Wires, b: &Self::Wires) -> Self::Wires {
        a.xor(b)
    }

    /// a ∧ b of each pair of rows. Pairs may differ in length from one another.
    ///
    /// # Errors
    /// If the connection fails, or the caller asked to stop.
    fn and(&mut self, layer: &[(&Self::Wires, &Self::Wires)]) -> Result<Vec<Self::Wires>, Error>;

    /// `select` ∧ v of each row v: one bit of an instance against all bits of a value.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    fn and_all(&mut self, select: &Self::Wires, values: &[Self::Wires]) -> Result<Vec<Self::Wires>, Error> {
        let layer: Vec<_> = values.iter().map(|value| (select, value)).collect();
        self.and(&layer)
    }

    /// s ∧ v of each row v, where s is a row of private bits of `owner`, which need no wires of their own.
    ///
    /// # Errors
    /// As [`and`](Self::and) and [`input`](Self::input).
    fn and_private(
        &mut self,
        owner: Party,
        select: Input<'_>,
        values: &[Self::Wires],
    ) -> Result<Vec<Self::Wires>, Error> {
        let select = self.input(owner, select)?;
        self.and_all(&select[0], values)
    }

    /// The bits that the wires carry, to the parties that `opening` names.
    ///
    /// # Errors
    /// If the connection fails.
    fn open(&mut self, opening: Opening, wires: &[Self::Wires]) -> Result<Option<Vec<Bits>>, Error>;
}

/// A circuit is compiled once for all engines with the same wires if it is given a `&mut dyn Engine<Wires = …>`.
impl<E: Engine + ?Sized> Engine for &mut E {
    type Wires = E::Wires;

    fn chunk(&self) -> usize {
        (**self).chunk()
    }

    fn channel(&mut self) -> Option<&mut dyn Channel> {
        (**self).channel()
    }

    fn constant(&mut self, bit: bool, len: usize) -> Self::Wires {
        (**self).constant(bit, len)
    }

    fn input(&mut self, owner: Party, bits: Input<'_>) -> Result<Vec<Self::Wires>, Error> {
        (**self).input(owner, bits)
    }

    fn not(&self, a: &Self::Wires) -> Self::Wires {
        (**self).not(a)
    }

    fn xor(&self, a: &Self::Wires, b: &Self::Wires) -> Self::Wires {
        (**self).xor(a, b)
    }

    fn and(&mut self, layer: &[(&Self::Wires, &Self::Wires)]) -> Result<Vec<Self::Wires>, Error> {
        (**self).and(layer)
    }

    fn and_all(&mut self, select: &Self::Wires, values: &[Self::Wires]) -> Result<Vec<Self::Wires>, Error> {
        (**self).and_all(select, values)
    }

    fn and_private(
        &mut self,
        owner: Party,
        select: Input<'_>,
        values: &[Self::Wires],
    ) -> Result<Vec<Self::Wires>, Error> {
        (**self).and_private(owner, select, values)
    }

    fn open(&mut self, opening: Opening, wires: &[Self::Wires]) -> Result<Option<Vec<Bits>>, Error> {
        (**self).open(opening, wires)
    }
}
