//! How many of many bits are one, and whether that is more than a public limit.
//!
//! [`Counter`] is a tree of full adders: an adder takes three wires of one weight and gives their sum, of the
//! same weight, and their carry, of twice the weight, for one AND:
//!
//! ```text
//! sum = a ⊕ b ⊕ c        carry = ((a ⊕ c) ∧ (b ⊕ c)) ⊕ c
//! ```
//!
//! Of m wires of a weight, ⌊m/2⌋ carries go on, whatever the order. So n bits cost ⌊n/2⌋ + ⌊n/4⌋ + … AND
//! gates: n less the ones in the binary form of n.
//!
//! [`lazy`] is the counter of Huang, Evans, Katz (NDSS 2012, §6), for comparison: it adds one bit after the
//! other to a number that grows with what was counted. It costs n·log2 n - n + 1 AND gates for n = 2^k; the
//! paper says n·log2 n - n.

use crate::engine::Engine;
use crate::error::Error;
use crate::pieces::{at_once, pieces};
use crate::wires::Wires;

/// Counts ones by full adders. Rows may come one after the other; what has come is added up in pieces of the
/// engine's [`chunk`](Engine::chunk).
#[derive(Debug)]
pub struct Counter<W> {
    /// The wires of weight 2^i, in pieces.
    columns: Vec<Column<W>>,
}

impl<W: Wires> Default for Counter<W> {
    fn default() -> Self {
        Counter { columns: Vec::new() }
    }
}

/// Wires of one weight.
#[derive(Debug)]
struct Column<W> {
    pieces: Vec<W>,
    len: usize,
}

impl<W: Wires> Column<W> {
    fn push(&mut self, row: W) {
        self.len += row.len();
        self.pieces.push(row);
    }

    /// The last `count` wires that came. There must be as many.
    fn take(&mut self, count: usize) -> W {
        let (mut taken, mut missing) = (Vec::new(), count);
        while missing > 0 {
            let Some(piece) = self.pieces.pop() else { break };
            let rest = piece.len().saturating_sub(missing);
            missing -= piece.len() - rest;
            taken.push(piece.slice(rest..piece.len()));
            if rest > 0 {
                self.pieces.push(piece.slice(0..rest));
            }
        }
        self.len -= count - missing;
        W::join(&taken.iter().collect::<Vec<_>>())
    }
}

/// Wires of one weight that are added: three rows, or two.
struct Adder<W> {
    column: usize,
    /// a ⊕ c and b ⊕ c; a and b themselves where there is no c.
    factors: [W; 2],
    /// a ⊕ b ⊕ c.
    sum: W,
    /// c.
    third: Option<W>,
}

impl<W: Wires> Counter<W> {
    fn column(&mut self, weight: usize) -> &mut Column<W> {
        if self.columns.len() <= weight {
            self.columns.resize_with(weight + 1, || Column { pieces: Vec::new(), len: 0 });
        }
        &mut self.columns[weight]
    }

    /// Counts the ones of this row too.
    ///
    /// # Errors
    /// As [`Engine::and`].
    pub fn add<E: Engine<Wires = W>>(&mut self, engine: &mut E, row: &W) -> Result<(), Error> {
        self.add_weighted(engine, 0, row)
    }

    /// Counts each one of this row as 2^`lowest`: rows of numbers' bits give the sum of the numbers.
    ///
    /// # Errors
    /// As [`Engine::and`].
    pub fn add_weighted<E: Engine<Wires = W>>(
        &mut self,
        engine: &mut E,
        lowest: usize,
        row: &W,
    ) -> Result<(), Error> {
        let chunk = at_once(engine, usize::MAX);
        for piece in pieces(engine, row.len()) {
            self.column(lowest).push(row.slice(piece));
            // Each weight passes on carries as soon as they fill a piece.
            let mut weight = lowest;
            while weight < self.columns.len() && self.columns[weight].len >= chunk.saturating_mul(3) {
                let adder = self.adder(engine, weight, chunk);
                self.apply(engine, vec![adder])?;
                weight += 1;
            }
        }
        Ok(())
    }

    /// The number that was counted, lowest bit first, as rows of one wire; no row if nothing was.
    ///
    /// # Errors
    /// As [`Engine::and`].
    pub fn finish<E: Engine<Wires = W>>(mut self, engine: &mut E) -> Result<Vec<W>, Error> {
        loop {
            let mut layer = Vec::new();
            // Two wires are added when no carry can come to them.
            let mut settled = true;
            for weight in 0..self.columns.len() {
                match self.columns[weight].len {
                    ..=1 => continue,
                    2 if settled => layer.push(self.adder(engine, weight, 1)),
                    2 => {}
                    len => layer.push(self.adder(engine, weight, len / 3)),
                }
                settled = false;
            }
            if layer.is_empty() {
                break;
            }
            self.apply(engine, layer)?;
        }
        let number = self.columns.into_iter().map(|mut column| match column.len {
            0 => engine.constant(false, 1),
            _ => column.take(1),
        });
        Ok(number.collect())
    }

    /// Takes `count` triples of a column, or a pair if it has no third wire.
    fn adder<E: Engine<Wires = W>>(&mut self, engine: &E, weight: usize, count: usize) -> Adder<W> {
        let column = self.column(weight);
        let [a, b] = [column.take(count), column.take(count)];
        if column.len < count {
            let sum = engine.xor(&a, &b);
            return Adder { column: weight, factors: [a, b], sum, third: None };
        }
        let c = column.take(count);
        let factors = [engine.xor(&a, &c), engine.xor(&b, &c)];
        let sum = engine.xor(&factors[0], &b);
        Adder { column: weight, factors, sum, third: Some(c) }
    }

    fn apply<E: Engine<Wires = W>>(&mut self, engine: &mut E, layer: Vec<Adder<W>>) -> Result<(), Error> {
        let gates: Vec<_> = layer.iter().map(|Adder { factors: [a, b], .. }| (a, b)).collect();
        let carries = engine.and(&gates)?;
        for (Adder { column, sum, third, .. }, carry) in layer.into_iter().zip(carries) {
            let carry = third.map_or_else(|| carry.clone(), |third| engine.xor(&carry, &third));
            self.column(column).push(sum);
            self.column(column + 1).push(carry);
        }
        Ok(())
    }
}

/// AND gates that a [`Counter`] of `count` bits takes.
#[must_use]
pub fn ands(count: u64) -> u64 {
    count - u64::from(count.count_ones())
}

/// The number of ones of these rows, as HEK12 counts it: one bit after the other is added to a number of as
/// many bits as what was counted before it can have.
///
/// # Errors
/// As [`Engine::and`].
pub fn lazy<E: Engine>(engine: &mut E, rows: &[&E::Wires]) -> Result<Vec<E::Wires>, Error> {
    let mut number: Vec<E::Wires> = Vec::new();
    let mut counted = 0u64;
    for row in rows {
        for at in 0..row.len() {
            let mut carry = row.slice(at..at + 1);
            for bit in &mut number {
                let next = engine.and(&[(&*bit, &carry)])?.swap_remove(0);
                *bit = engine.xor(bit, &carry);
                carry = next;
            }
            counted += 1;
            if width(counted) > number.len() {
                number.push(carry);
            }
        }
    }
    Ok(number)
}

/// AND gates of [`lazy`] for `count` bits.
#[must_use]
pub fn lazy_ands(count: u64) -> u64 {
    // The sum of the widths of 1, …, count - 1.
    let width = u64::from(count.saturating_sub(1).checked_ilog2().map_or(0, |log| log + 1));
    width * count - ((1 << width) - 1).min(width * count)
}

/// Bits of a number up to `most`.
fn width(most: u64) -> usize {
    most.checked_ilog2().map_or(0, |log| log as usize + 1)
}

/// Whether a number, lowest bit first, is larger than `most`.
///
/// # Errors
/// As [`Engine::and`].
///
/// # Panics
/// If the number has no bits.
pub fn exceeds<E: Engine>(engine: &mut E, number: &[E::Wires], most: u64) -> Result<E::Wires, Error> {
    assert!(!number.is_empty(), "a number has bits");
    let mut larger: Option<E::Wires> = None;
    for (at, bit) in number.iter().enumerate() {
        let is_one = at < 64 && most >> at & 1 == 1;
        // What the bits below decide counts where this bit is that of the limit.
        larger = match larger {
            None if is_one => None,
            None => Some(bit.clone()),
            Some(below) => {
                let both = engine.and(&[(bit, &below)])?.swap_remove(0);
                let either = || engine.xor(&engine.xor(bit, &below), &both);
                Some(if is_one { both } else { either() })
            }
        };
    }
    if width(most) > number.len() {
        larger = None;
    }
    Ok(larger.unwrap_or_else(|| engine.constant(false, number[0].len())))
}

/// AND gates of [`exceeds`] for a number that counts `count` bits.
#[must_use]
pub fn exceeds_ands(count: u64, most: u64) -> u64 {
    (width(count) as u64).saturating_sub(1 + u64::from(most.trailing_ones()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::Bits;
    use crate::clear::Clear;
    use crate::count::Count;
    use crate::engine::{Input, Party};

    fn value(number: &[Bits]) -> u64 {
        number.iter().enumerate().map(|(at, bit)| u64::from(bit.get(0)) << at).sum()
    }

    fn tree<E: Engine>(engine: &mut E, rows: &[&E::Wires]) -> Vec<E::Wires> {
        let mut counter = Counter::default();
        rows.iter().for_each(|row| counter.add(engine, row).unwrap());
        counter.finish(engine).unwrap()
    }

    fn rows(lens: &[usize], density: usize) -> Vec<Bits> {
        lens.iter().map(|&len| (0..len).map(|i| (i * 7 + len) % 10 < density).collect()).collect()
    }

    #[test]
    fn both_counters_count() {
        for lens in
            [&[1][..], &[2], &[3], &[0, 1], &[5, 0, 2], &[64], &[100, 1, 27], &[1000], &[300, 700, 41]]
        {
            for density in [0, 3, 10] {
                let rows = rows(lens, density);
                let ones: usize = rows.iter().flat_map(Bits::iter).filter(|bit| *bit).count();
                let rows: Vec<&Bits> = rows.iter().collect();
                for chunk in [1, 7, 64, usize::MAX] {
                    let engine = &mut Clear::with_chunk(chunk);
                    let number = tree(engine, &rows);
                    assert_eq!(
                        (value(&number), number.len()),
                        (ones as u64, width(lens.iter().sum::<usize>() as u64))
                    );
                }
                let number = lazy(&mut Clear::default(), &rows).unwrap();
                assert_eq!(
                    (value(&number), number.len()),
                    (ones as u64, width(lens.iter().sum::<usize>() as u64))
                );
            }
        }
        assert!(tree(&mut Clear::default(), &[]).is_empty());
    }

    #[test]
    fn the_gates_are_those_of_the_formulas() {
        for n in (0..70).chain([100, 128, 1000, 1 << 12]) {
            let bits = Input::Hidden { rows: 1, len: n };
            for chunk in [1, 13, usize::MAX] {
                let mut count = Count::with_chunk(chunk);
                let row = count.input(Party::Receiver, bits).unwrap().swap_remove(0);
                let number = tree(&mut count, &[&row]);
                assert_eq!((count.ands, number.len()), (ands(n as u64), width(n as u64)), "{n}");
            }
            let mut count = Count::default();
            let row = count.input(Party::Receiver, bits).unwrap().swap_remove(0);
            lazy(&mut count, &[&row]).unwrap();
            assert_eq!(count.ands, lazy_ands(n as u64), "{n}");
        }
        // HEK12 §6: n·log2 n - n.
        for log in 1..20 {
            assert_eq!(lazy_ands(1 << log), log * (1 << log) - (1 << log) + 1);
        }
        assert_eq!(ands(1 << 20), (1 << 20) - 1);
    }

    #[test]
    fn the_tree_is_shallow_where_layers_count() {
        let mut count = Count::default();
        let row =
            count.input(Party::Receiver, Input::Hidden { rows: 1, len: 1 << 16 }).unwrap().swap_remove(0);
        tree(&mut count, &[&row]);
        assert!(count.layers <= 50, "{} messages", count.layers);
    }

    #[test]
    fn limits_are_compared_exactly() {
        for bits in 1..6 {
            for number in 0..1u64 << bits {
                for most in 0..70 {
                    let row: Vec<Bits> = (0..bits).map(|at| Bits::repeat(number >> at & 1 == 1, 1)).collect();
                    let larger = exceeds(&mut Clear::default(), &row, most).unwrap();
                    assert_eq!(larger.get(0), number > most, "{number} of {bits} bits and {most}");
                }
            }
        }
        for (n, most) in [(100, 0), (100, 1), (100, 7), (100, 127), (128, 127), (1, 0), (64, 63), (64, 64)] {
            let mut count = Count::default();
            let number = count.input(Party::Receiver, Input::Hidden { rows: width(n), len: 1 }).unwrap();
            exceeds(&mut count, &number, most).unwrap();
            assert_eq!(count.ands, exceeds_ands(n, most), "{n} {most}");
        }
    }
}
