//! The ideal twin: an owner hands its bits to the other party, and both compute in the clear. It tests what stands on
//! an engine, without garbling or transfers. Only tests can reach it.
//!
//! An engine of this kind holds its party to the interface: the other's bits cannot be named, and an output is
//! returned only where it is opened.

use vesica_channel::Channel;

use crate::bits::Bits;
use crate::clear::Clear;
use crate::engine::{Engine, Input, Opening, Party};
use crate::error::Error;

/// One party's engine.
pub struct Ideal<'a> {
    me: Party,
    channel: &'a mut dyn Channel,
    clear: Clear,
}

impl<'a> Ideal<'a> {
    /// The engine of a party.
    #[must_use]
    pub fn new(me: Party, channel: &'a mut dyn Channel) -> Self {
        Ideal { me, channel, clear: Clear::with_chunk(super::labels::BATCH) }
    }
}

impl Engine for Ideal<'_> {
    type Wires = Bits;

    fn chunk(&self) -> usize {
        self.clear.chunk()
    }

    fn channel(&mut self) -> Option<&mut dyn Channel> {
        Some(self.channel)
    }

    fn constant(&mut self, bit: bool, len: usize) -> Bits {
        self.clear.constant(bit, len)
    }

    fn input(&mut self, owner: Party, bits: Input<'_>) -> Result<Vec<Bits>, Error> {
        match bits {
            Input::Known(rows) if owner == self.me => {
                for row in rows {
                    row.words().iter().try_for_each(|word| self.channel.send(&word.to_le_bytes()))?;
                }
                self.channel.flush()?;
                Ok(rows.to_vec())
            }
            Input::Hidden { rows, len } if owner != self.me => {
                let mut row = || {
                    let mut words = vec![0; len.div_ceil(64)];
                    for word in &mut words {
                        let mut bytes = [0; 8];
                        self.channel.recv_exact(&mut bytes)?;
                        *word = u64::from_le_bytes(bytes);
                    }
                    Ok(Bits::from_words(words, len))
                };
                (0..rows).map(|_| row()).collect()
            }
            _ => Err(Error::NotMine),
        }
    }

    fn not(&self, a: &Bits) -> Bits {
        self.clear.not(a)
    }

    fn and(&mut self, layer: &[(&Bits, &Bits)]) -> Result<Vec<Bits>, Error> {
        self.clear.and(layer)
    }

    fn open(&mut self, opening: Opening, wires: &[Bits]) -> Result<Option<Vec<Bits>>, Error> {
        Ok(if opening.is_to(self.me) { self.clear.open(opening, wires)? } else { None })
    }
}
