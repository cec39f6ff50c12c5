//! What GMW sends for a circuit, without the OTs: an engine that counts.

use super::{Demand, and_bytes, opening_bytes, private_bytes, select_bytes, setup_bytes};
use crate::bits::Bits;
use crate::count::{Count, Counted};
use crate::engine::{Engine, Input, Opening, Party};
use crate::error::Error;
use crate::wires::Wires;

/// Counts gates, and the bytes of each layer.
#[derive(Clone, Debug)]
pub struct Cost {
    /// The gates.
    pub count: Count,
    /// Bytes that the receiver and the sender send, for the seeds and the layers.
    pub sent: [u64; 2],
}

impl Default for Cost {
    fn default() -> Self {
        Cost { count: Count::default(), sent: [setup_bytes(); 2] }
    }
}

impl Cost {
    /// The cost of a circuit: `run` is given an engine that counts.
    ///
    /// # Errors
    /// Those of the circuit.
    pub fn of<X>(run: impl FnOnce(&mut Self) -> Result<(), X>) -> Result<Self, X> {
        let mut cost = Self::default();
        run(&mut cost)?;
        Ok(cost)
    }

    /// The OTs that it takes.
    #[must_use]
    pub fn demand(&self) -> Demand {
        Demand::of(&self.count)
    }

    fn both_send(&mut self, bytes: u64) {
        self.sent.iter_mut().for_each(|sent| *sent += bytes);
    }
}

impl Engine for Cost {
    type Wires = Counted;

    fn chunk(&self) -> usize {
        usize::MAX
    }

    fn constant(&mut self, bit: bool, len: usize) -> Counted {
        self.count.constant(bit, len)
    }

    fn input(&mut self, owner: Party, bits: Input<'_>) -> Result<Vec<Counted>, Error> {
        self.count.input(owner, bits)
    }

    fn not(&self, a: &Counted) -> Counted {
        self.count.not(a)
    }

    fn and(&mut self, layer: &[(&Counted, &Counted)]) -> Result<Vec<Counted>, Error> {
        self.both_send(and_bytes(layer.iter().map(|(a, _)| a.len() as u64).sum()));
        self.count.and(layer)
    }

    fn and_all(&mut self, select: &Counted, values: &[Counted]) -> Result<Vec<Counted>, Error> {
        let (instances, width) = (select.len() as u64, values.len() as u64);
        self.both_send(if width < 2 { and_bytes(instances * width) } else { select_bytes(instances, width) });
        self.count.and_all(select, values)
    }

    fn and_private(
        &mut self,
        owner: Party,
        select: Input<'_>,
        values: &[Counted],
    ) -> Result<Vec<Counted>, Error> {
        let [own, other] = private_bytes(select.row_len() as u64, values.len() as u64);
        self.sent[owner as usize] += own;
        self.sent[owner.other() as usize] += other;
        self.count.and_private(owner, select, values)
    }

    fn open(&mut self, opening: Opening, wires: &[Counted]) -> Result<Option<Vec<Bits>>, Error> {
        let bits = wires.iter().map(|row| row.len() as u64).sum();
        for party in [Party::Receiver, Party::Sender] {
            self.sent[party as usize] += opening_bytes(opening, party, bits);
        }
        self.count.open(opening, wires)
    }
}
