//! Selections bit by bit, as in GMW before PSZ14: what the optimised form is compared with.

use vesica_channel::Channel;

use crate::bits::Bits;
use crate::engine::{Engine, Input, Opening, Party};
use crate::error::Error;

/// An engine that computes an AND of one bit with w bits by w gates, also where a party knows the bit.
///
/// Over [`Gmw`](super::Gmw) it takes OTs of single bits, two a gate, and no OT of strings; over [`Cost`](super::Cost)
/// it counts them. [`Engine::and_all`] and [`Engine::and_private`] are those that the trait provides.
pub struct SingleBits<'a, E>(pub &'a mut E);

impl<E: Engine> Engine for SingleBits<'_, E> {
    type Wires = E::Wires;

    fn chunk(&self) -> usize {
        self.0.chunk()
    }

    fn channel(&mut self) -> Option<&mut dyn Channel> {
        self.0.channel()
    }

    fn constant(&mut self, bit: bool, len: usize) -> E::Wires {
        self.0.constant(bit, len)
    }

    fn input(&mut self, owner: Party, bits: Input<'_>) -> Result<Vec<E::Wires>, Error> {
        self.0.input(owner, bits)
    }

    fn not(&self, a: &E::Wires) -> E::Wires {
        self.0.not(a)
    }

    fn xor(&self, a: &E::Wires, b: &E::Wires) -> E::Wires {
        self.0.xor(a, b)
    }

    fn and(&mut self, layer: &[(&E::Wires, &E::Wires)]) -> Result<Vec<E::Wires>, Error> {
        self.0.and(layer)
    }

    fn open(&mut self, opening: Opening, wires: &[E::Wires]) -> Result<Option<Vec<Bits>>, Error> {
        self.0.open(opening, wires)
    }
}
