//! A secret permutation of n numbers: the network of Waksman, for any n (HEK12 §5.3.3).
//!
//! Source: Waksman, *A permutation network*, 1968; Beauquier, Darrot, *On arbitrary size Waksman networks and
//! their vulnerability*, 2002, for n that is not a power of two.
//!
//! ```text
//! inputs           i and h + i are swapped or not                h = ⌊n/2⌋
//!   0 .. h  ──►  ┌────────┐  ──►  network of h numbers      ──►  ┌────────┐  ──►  outputs
//!   h .. n  ──►  └────────┘  ──►  network of n - h numbers  ──►  └────────┘  ──►  i and h + i are swapped or not
//! ```
//!
//! Of an odd number, the last one goes straight to the second network and comes straight from it. Of an even
//! number, the last two outputs are not swapped: the paper's saving. The halves of a pair lie h apart, so each
//! network works in place on consecutive numbers.
//!
//! The owner of the permutation computes the [`Controls`], a private bit for each swapper. A swapper of two
//! numbers of σ bits is σ AND gates with that bit.
//!
//! Cost: n·k - 2^k + 1 swappers with k = ⌈log2 n⌉, in 2k - 1 layers. HEK12 Table 1 counts a swapper as a third
//! of its gates, because its gates need a third of the ciphertexts.

use std::ops::Range;

use crate::bits::Bits;
use crate::engine::{Engine, Input, Party};
use crate::error::Error;
use crate::gadgets::select::xor_all;
use crate::networks::{Block, Exchange, Run, is_block, layer};
use crate::wires::Wires;

pub use controls::Controls;

mod controls;

/// Swappers of the network for n numbers.
#[must_use]
pub fn swappers(n: u64) -> u64 {
    let k = layers_of_inputs(n as usize);
    (n * k as u64 + 1).saturating_sub(1 << k)
}

/// Layers of the network for n numbers.
#[must_use]
pub fn depth(n: u64) -> u32 {
    (2 * layers_of_inputs(n as usize) as u32).saturating_sub(1)
}

/// Puts the numbers in the order that the owner's controls say: output i is input π(i). Whoever does not own
/// the permutation has no controls.
///
/// # Errors
/// As [`Engine::and_private`].
///
/// # Panics
/// If the controls are for another number of inputs.
pub fn permute<E: Engine>(
    engine: &mut E,
    owner: Party,
    controls: Option<&Controls>,
    rows: &mut [E::Wires],
) -> Result<(), Error> {
    let len = rows.first().map_or(0, Wires::len);
    assert!(controls.is_none_or(|controls| controls.len() == len), "controls for as many numbers");
    Network { owner, controls }.range(engine, rows, 0..len, 0)
}

/// Before a network's two halves, or after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Inputs,
    Outputs,
}

/// How many layers have input swappers: ⌈log2 n⌉.
fn layers_of_inputs(n: usize) -> usize {
    n.max(1).next_power_of_two().ilog2() as usize
}

/// The swappers of one side of the network on a range, if it has any.
fn swappers_of(range: &Range<usize>, side: Side) -> Option<Run> {
    let half = range.len() / 2;
    let len =
        if side == Side::Outputs && range.len().is_multiple_of(2) { half.saturating_sub(1) } else { half };
    (len > 0).then(|| Run { low: range.start, high: range.start + half, len })
}

/// The ranges of both halves of a network.
fn halves(range: &Range<usize>) -> [Range<usize>; 2] {
    let middle = range.start + range.len() / 2;
    [range.start..middle, middle..range.end]
}

struct Network<'a> {
    owner: Party,
    controls: Option<&'a Controls>,
}

impl Network<'_> {
    /// The network on a range, which is `level` levels inside the whole one.
    fn range<E: Engine>(
        &self,
        engine: &mut E,
        rows: &mut [E::Wires],
        range: Range<usize>,
        level: usize,
    ) -> Result<(), Error> {
        if range.len() < 2 {
            return Ok(());
        }
        if is_block(engine, range.len()) {
            let mut block = Block::of(rows, range.clone());
            self.block(engine, &mut block, range, level)?;
            block.write_to(rows);
            return Ok(());
        }
        let inputs = swappers_of(&range, Side::Inputs);
        layer(engine, rows, inputs.into_iter(), &mut self.swaps(Side::Inputs, level))?;
        for half in halves(&range) {
            self.range(engine, rows, half, level + 1)?;
        }
        let outputs = swappers_of(&range, Side::Outputs);
        layer(engine, rows, outputs.into_iter(), &mut self.swaps(Side::Outputs, level))
    }

    /// Shuffles a block, with the swappers of all networks of a level in one layer.
    fn block<E: Engine>(
        &self,
        engine: &mut E,
        block: &mut Block<E::Wires>,
        range: Range<usize>,
        level: usize,
    ) -> Result<(), Error> {
        let mut levels = vec![vec![range.clone()]];
        for deeper in 1..layers_of_inputs(range.len()) {
            levels.push(levels[deeper - 1].iter().flat_map(halves).collect());
        }
        let inputs = levels.iter().enumerate().map(|(deeper, ranges)| (deeper, ranges, Side::Inputs));
        let outputs = levels.iter().enumerate().rev().map(|(deeper, ranges)| (deeper, ranges, Side::Outputs));
        for (deeper, ranges, side) in inputs.chain(outputs) {
            let runs: Vec<_> = ranges.iter().filter_map(|range| swappers_of(range, side)).collect();
            block.layer(engine, &runs, &mut self.swaps(side, level + deeper))?;
        }
        Ok(())
    }

    /// The swaps of one side of the networks of a level: s ∧ (x ⊕ y), for x and for y.
    fn swaps<E: Engine>(&self, side: Side, level: usize) -> Box<Exchange<'_, E>> {
        Box::new(move |engine, runs, low, high| {
            let differences = xor_all(engine, low, high);
            let select: Vec<Bits>;
            let input = match self.controls {
                Some(controls) => {
                    select = vec![controls.of(side, level, runs)];
                    Input::Known(&select)
                }
                None => Input::Hidden { rows: 1, len: runs.iter().map(|run| run.len).sum() },
            };
            engine.and_private(self.owner, input, &differences)
        })
    }
}

#[cfg(test)]
mod tests;
