//! What a run costs, as formulas for a reader and as programs: its messages, memory and gates, of a [`Shape`].

use vesica_ot::base::cache;

use crate::masks::mask_bits;
use crate::parameters::Parameters;
use crate::positions;
use crate::protocol::{Learns, Participant, Run, Sizes};

/// What a cost formula depends on.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Both set sizes, after padding.
    pub sizes: Sizes,
    /// Everything else that was agreed.
    pub parameters: Parameters,
    /// Who learns the result.
    pub learns: Learns,
    /// Items in the intersection; counts only where the sender learns it too.
    pub matches: usize,
    /// Whether the base OTs are those of an earlier run, so that none of their messages is sent.
    pub kept_base_ots: bool,
}

impl Shape {
    /// Sets of these sizes with the usual parameters; the receiver alone learns the result.
    pub fn new(sizes: Sizes) -> Self {
        let (parameters, learns) = (Parameters::default(), Learns::Receiver);
        Shape { sizes, parameters, learns, matches: 0, kept_base_ots: false }
    }

    /// A run, before its matches are known, and as if its base OTs were its own.
    pub fn of(run: &Run<'_>) -> Self {
        Shape { parameters: run.parameters, learns: run.learns, ..Self::new(run.sizes) }
    }

    /// n_r.
    pub fn receiver(&self) -> u64 {
        self.sizes.receiver as u64
    }

    /// n_s.
    pub fn sender(&self) -> u64 {
        self.sizes.sender as u64
    }

    /// The bytes of a message of base OTs: none if they are kept ones.
    pub fn unless_kept(&self, bytes: u64) -> u64 {
        if self.kept_base_ots && self.parameters.may_keep_base_ots() { 0 } else { bytes }
    }

    /// Bytes of the messages of `count` base OTs for a code-based extension, from their receiver and from their
    /// sender: none if they are kept ones.
    pub fn base_ots_for_code(&self, count: u64) -> [u64; 2] {
        cache::bytes_for_code(self.parameters.base_ots, count).map(|bytes| self.unless_kept(bytes))
    }

    /// ⌈ℓ/8⌉.
    pub fn mask(&self) -> u64 {
        u64::from(mask_bits(self.sizes, self.parameters.statistical).div_ceil(8))
    }
}

/// A message of a protocol. Its words name options as templates of [`vesica_text`] do.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    /// Who sends it.
    pub from: Participant,
    /// Who receives it.
    pub to: Participant,
    /// What it is.
    pub what: &'static str,
    /// Its bytes as a formula in n_r, n_s, ℓ = 40 + ⌈log2 n_r⌉ + ⌈log2 n_s⌉ and, where both learn, the
    /// matches k.
    pub formula: &'static str,
    /// The formula as a program; 0 where the message is not sent. [`Entry::sent`](crate::entry::Entry::sent) says which runs it is for.
    pub(crate) bytes: fn(&Shape) -> u64,
}

impl Message {
    /// A message of the receiver.
    pub const fn of_receiver(what: &'static str, formula: &'static str, bytes: fn(&Shape) -> u64) -> Self {
        Self::between(Participant::Receiver, Participant::Sender, what, formula, bytes)
    }

    /// A message of the sender.
    pub const fn of_sender(what: &'static str, formula: &'static str, bytes: fn(&Shape) -> u64) -> Self {
        Self::between(Participant::Sender, Participant::Receiver, what, formula, bytes)
    }

    /// A message in a protocol with a helper.
    pub const fn between(
        from: Participant,
        to: Participant,
        what: &'static str,
        formula: &'static str,
        bytes: fn(&Shape) -> u64,
    ) -> Self {
        Message { from, to, what, formula, bytes }
    }
}

/// The message, for a registry's entry; k is the number of matches.
pub(crate) const POSITIONS: Message = Message {
    from: Participant::Receiver,
    to: Participant::Sender,
    what: "positions of the matches ([learns both])",
    formula: "4 + min(4·k, ⌈n_s/8⌉)",
    bytes: |shape| match shape.learns {
        Learns::Receiver => 0,
        Learns::Both => 4 + positions::body_bytes(shape.sizes.sender, shape.matches) as u64,
    },
};

/// Bytes that a protocol adds to the items at its peak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Receiver's.
    pub receiver: u64,
    /// Sender's.
    pub sender: u64,
}

/// A power modulo a number, where such powers are most of what a protocol computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Power {
    /// Bits of the modulus.
    pub modulus: u32,
    /// Bits of the exponent.
    pub exponent: u32,
}

impl Power {
    /// A power with an exponent as long as the modulus.
    pub const fn full(modulus: u32) -> Self {
        Power { modulus, exponent: modulus }
    }

    /// What it takes, in products of bits: a product for each bit of the exponent, each of modulus times modulus.
    pub fn work(&self) -> f64 {
        f64::from(self.modulus).powi(2) * f64::from(self.exponent)
    }
}

/// The gates of a run that evaluates a circuit, each a cost of its own; XOR and NOT cost nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gates {
    /// AND gates.
    pub ands: u64,
    /// AND gates one of whose inputs is a private bit of the sender.
    pub private_ands: u64,
    /// The most AND gates on a path, where that is what a run costs.
    pub depth: Option<u32>,
}

impl Gates {
    /// All of them.
    pub fn all(&self) -> u64 {
        self.ands + self.private_ands
    }

    /// What they take, in AND gates: one with a private bit of the sender takes half of another.
    pub fn work(&self) -> f64 {
        self.ands as f64 + self.private_ands as f64 / 2.0
    }
}
