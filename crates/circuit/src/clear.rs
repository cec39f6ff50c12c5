//! The engine that computes in the clear: what every other engine is tested against. Only tests can reach it.

use crate::bits::Bits;
use crate::engine::{Engine, Input, Opening, Party};
use crate::error::Error;

/// Computes in the clear; it is both parties at once, so that it must know all private bits.
#[derive(Clone, Copy, Debug)]
pub struct Clear {
    chunk: usize,
}

impl Default for Clear {
    fn default() -> Self {
        Clear { chunk: usize::MAX }
    }
}

impl Clear {
    /// An engine that asks for so many instances at a time.
    #[must_use]
    pub fn with_chunk(chunk: usize) -> Self {
        Clear { chunk }
    }
}

impl Engine for Clear {
    type Wires = Bits;

    fn chunk(&self) -> usize {
        self.chunk
    }

    fn constant(&mut self, bit: bool, len: usize) -> Bits {
        Bits::repeat(bit, len)
    }

    fn input(&mut self, _: Party, bits: Input<'_>) -> Result<Vec<Bits>, Error> {
        match bits {
            Input::Known(rows) => Ok(rows.to_vec()),
            Input::Hidden { .. } => Err(Error::NotMine),
        }
    }

    fn not(&self, a: &Bits) -> Bits {
        a.zip_words(a, |word, _| !word)
    }

    fn and(&mut self, layer: &[(&Bits, &Bits)]) -> Result<Vec<Bits>, Error> {
        Ok(layer.iter().map(|(a, b)| a.zip_words(b, |a, b| a & b)).collect())
    }

    fn open(&mut self, _: Opening, wires: &[Bits]) -> Result<Option<Vec<Bits>>, Error> {
        Ok(Some(wires.to_vec()))
    }
}
