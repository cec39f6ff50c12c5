//! The engine that counts: AND gates, gates with a private input, depth, inputs and outputs of a circuit. No
//! value is computed, so that a circuit of 2^31 gates is counted in seconds.

use std::ops::Range;

use crate::bits::Bits;
use crate::engine::{Engine, Input, Opening, Party, STRING_BITS};
use crate::error::Error;
use crate::wires::Wires;

/// Counts the gates of a circuit.
#[derive(Clone, Debug)]
pub struct Count {
    chunk: usize,
    /// AND gates.
    pub ands: u64,
    /// Instances of [`Engine::and_all`] with two values or more, counted once for every
    /// [128](crate::engine::STRING_BITS) values: an engine that multiplies a bit by a string takes one step for each.
    pub selects: u64,
    /// Those of the AND gates that belong to them.
    pub select_ands: u64,
    /// Instances of [`Engine::and_private`], of the receiver's and of the sender's bits, whatever the number of
    /// values, counted in the same steps.
    pub private_selects: [u64; 2],
    /// AND gates one of whose inputs is a private bit of a party: [`Engine::and_private`].
    pub private_ands: u64,
    /// Calls of [`Engine::and`] and its kin: the messages of an engine that needs one for a layer.
    pub layers: u64,
    /// The largest number of AND gates on a path.
    pub depth: u32,
    /// Input bits of the receiver and of the sender.
    pub inputs: [u64; 2],
    /// Bits that were opened.
    pub outputs: u64,
}

impl Default for Count {
    fn default() -> Self {
        Self::with_chunk(usize::MAX)
    }
}

impl Count {
    /// An engine that asks for so many instances at a time.
    #[must_use]
    pub fn with_chunk(chunk: usize) -> Self {
        Count {
            chunk,
            ands: 0,
            selects: 0,
            select_ands: 0,
            private_selects: [0; 2],
            private_ands: 0,
            layers: 0,
            depth: 0,
            inputs: [0; 2],
            outputs: 0,
        }
    }

    fn gates(&mut self, depth: u32, len: usize) -> Counted {
        self.depth = self.depth.max(depth + 1);
        Counted { len, depth: depth + 1 }
    }
}

/// A row of wires that carries nothing but its depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    len: usize,
    depth: u32,
}

impl Counted {
    /// The largest number of AND gates on a path from an input to a wire of the row.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.depth
    }
}

impl Wires for Counted {
    fn len(&self) -> usize {
        self.len
    }

    fn slice(&self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.len, "a range of the row");
        Counted { len: range.len(), ..*self }
    }

    fn write(&mut self, at: usize, from: &Self) {
        assert!(at.checked_add(from.len).is_some_and(|end| end <= self.len), "a range of the row");
        self.depth = self.depth.max(from.depth);
    }

    fn gather(&self, positions: &[u32]) -> Self {
        Counted { len: positions.len(), ..*self }
    }

    fn join(rows: &[&Self]) -> Self {
        assert!(!rows.is_empty(), "at least one row");
        let depth = rows.iter().map(|row| row.depth).max().unwrap_or(0);
        Counted { len: rows.iter().map(|row| row.len).sum(), depth }
    }

    fn xor(&self, other: &Self) -> Self {
        assert_eq!(self.len, other.len, "rows of one length");
        Counted { len: self.len, depth: self.depth.max(other.depth) }
    }

    fn add(&mut self, at: usize, from: &Self) {
        self.write(at, from);
    }
}

impl Engine for Count {
    type Wires = Counted;

    fn chunk(&self) -> usize {
        self.chunk
    }

    fn constant(&mut self, _: bool, len: usize) -> Counted {
        Counted { len, depth: 0 }
    }

    fn input(&mut self, owner: Party, bits: Input<'_>) -> Result<Vec<Counted>, Error> {
        self.inputs[owner as usize] += (bits.rows() * bits.row_len()) as u64;
        Ok(vec![Counted { len: bits.row_len(), depth: 0 }; bits.rows()])
    }

    fn not(&self, a: &Counted) -> Counted {
        *a
    }

    fn and(&mut self, layer: &[(&Counted, &Counted)]) -> Result<Vec<Counted>, Error> {
        self.layers += 1;
        let gates = layer.iter().map(|(a, b)| {
            assert_eq!(a.len, b.len, "rows of one length");
            self.ands += a.len as u64;
            self.gates(a.depth.max(b.depth), a.len)
        });
        Ok(gates.collect())
    }

    fn and_all(&mut self, select: &Counted, values: &[Counted]) -> Result<Vec<Counted>, Error> {
        if values.len() > 1 {
            self.selects += (select.len * values.len().div_ceil(STRING_BITS)) as u64;
            self.select_ands += (select.len * values.len()) as u64;
        }
        let layer: Vec<_> = values.iter().map(|value| (select, value)).collect();
        self.and(&layer)
    }

    fn and_private(
        &mut self,
        owner: Party,
        select: Input<'_>,
        values: &[Counted],
    ) -> Result<Vec<Counted>, Error> {
        self.layers += 1;
        self.private_selects[owner as usize] +=
            (select.row_len() * values.len().div_ceil(STRING_BITS)) as u64;
        self.inputs[owner as usize] += select.row_len() as u64;
        let gates = values.iter().map(|value| {
            assert_eq!(value.len, select.row_len(), "rows of one length");
            self.private_ands += value.len as u64;
            self.gates(value.depth, value.len)
        });
        Ok(gates.collect())
    }

    fn open(&mut self, _: Opening, wires: &[Counted]) -> Result<Option<Vec<Bits>>, Error> {
        self.outputs += wires.iter().map(|row| row.len as u64).sum::<u64>();
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_and_depth_are_counted() {
        let mut count = Count::default();
        let bits = Input::Hidden { rows: 3, len: 10 };
        let wires = count.input(Party::Sender, bits).unwrap();
        let sum = count.xor(&wires[0], &wires[1]);
        let layer = count.and(&[(&sum, &wires[2]), (&wires[0], &wires[1])]).unwrap();
        let last = count.and(&[(&layer[0], &layer[1])]).unwrap();
        let select = Input::Hidden { rows: 1, len: 10 };
        let chosen = count.and_private(Party::Receiver, select, &last).unwrap();
        assert_eq!(chosen[0].depth(), 3);
        count.open(Opening::ToBoth, &chosen).unwrap();
        assert_eq!((count.ands, count.private_ands, count.layers, count.depth), (30, 10, 3, 3));
        assert_eq!((count.selects, count.select_ands, count.private_selects), (0, 0, [10, 0]));
        count.and_all(&chosen[0], &layer[..1]).unwrap();
        assert_eq!((count.ands, count.selects, count.select_ands), (40, 0, 0));
        count.and_all(&chosen[0], &layer).unwrap();
        count.and_all(&chosen[0], &vec![layer[0]; 129]).unwrap();
        assert_eq!((count.ands, count.selects, count.select_ands), (1350, 30, 1310));
        assert_eq!((count.inputs, count.outputs), ([10, 30], 10));
    }
}
