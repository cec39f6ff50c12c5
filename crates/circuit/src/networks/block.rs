//! Stages of a network on a block of wires, or on all of them in pieces.

use std::ops::Range;

use super::{Exchange, Run};
use crate::engine::Engine;
use crate::error::Error;
use crate::pieces::{at_once, ranges};
use crate::wires::Wires;

/// Runs of so many wires on average are copied as ranges; of shorter ones, wires are picked one by one.
const LONG: usize = 64;

/// A stage on all rows, in pieces of as many pairs as the engine wants. Runs come in order, and those shorter
/// than a piece lie close to one another.
pub(crate) fn layer<E: Engine>(
    engine: &mut E,
    rows: &mut [E::Wires],
    runs: impl Iterator<Item = Run>,
    exchange: &mut Exchange<'_, E>,
) -> Result<(), Error> {
    let chunk = at_once(engine, usize::MAX);
    let mut group = Vec::new();
    let mut pairs = 0;
    for run in runs {
        if pairs + run.len > chunk {
            group_layer(engine, rows, &group, exchange)?;
            group.clear();
            pairs = 0;
        }
        if run.len <= chunk {
            pairs += run.len;
            group.push(run);
            continue;
        }
        for piece in ranges(0..run.len, chunk) {
            let (low, high) = (run.low + piece.start, run.high + piece.start);
            let piece = Run { low, high, len: piece.len() };
            by_ranges(engine, rows, 0, &[piece], exchange)?;
        }
    }
    group_layer(engine, rows, &group, exchange)
}

/// A piece of a stage: one run, or several in the window that they span.
fn group_layer<E: Engine>(
    engine: &mut E,
    rows: &mut [E::Wires],
    runs: &[Run],
    exchange: &mut Exchange<'_, E>,
) -> Result<(), Error> {
    let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return Ok(()) };
    if runs.len() == 1 {
        return by_ranges(engine, rows, 0, runs, exchange);
    }
    let mut block = Block::of(rows, first.low..last.high + last.len);
    block.layer(engine, runs, exchange)?;
    block.write_to(rows);
    Ok(())
}

/// A block of wires for which stage after stage is computed. Where runs are short, wires are not moved back
/// between stages.
pub(crate) struct Block<W> {
    start: usize,
    rows: Vec<W>,
    /// Where the wire of each position is, unless each is at its own.
    places: Option<Vec<u32>>,
}

impl<W: Wires> Block<W> {
    /// A copy of the wires in a range.
    pub(crate) fn of(rows: &[W], range: Range<usize>) -> Self {
        let start = range.start;
        Block { start, rows: rows.iter().map(|row| row.slice(range.clone())).collect(), places: None }
    }

    /// A stage of which all runs are in the block.
    pub(crate) fn layer<E: Engine<Wires = W>>(
        &mut self,
        engine: &mut E,
        runs: &[Run],
        exchange: &mut Exchange<'_, E>,
    ) -> Result<(), Error> {
        let pairs: usize = runs.iter().map(|run| run.len).sum();
        if pairs == 0 {
            return Ok(());
        }
        if pairs / runs.len() >= LONG {
            self.settle();
            return by_ranges(engine, &mut self.rows, self.start, runs, exchange);
        }
        self.by_positions(engine, runs, exchange)
    }

    /// Moves the wires to where they were taken from.
    pub(crate) fn write_to(mut self, rows: &mut [W]) {
        self.settle();
        rows.iter_mut().zip(&self.rows).for_each(|(row, part)| row.write(self.start, part));
    }

    /// Moves each wire to its own position.
    fn settle(&mut self) {
        if let Some(places) = self.places.take() {
            self.rows.iter_mut().for_each(|row| *row = row.gather(&places));
        }
    }

    /// A stage whose wires are picked one by one. They stay where the stage leaves them: those of the low
    /// positions, those of the high ones, those without a partner.
    fn by_positions<E: Engine<Wires = W>>(
        &mut self,
        engine: &mut E,
        runs: &[Run],
        exchange: &mut Exchange<'_, E>,
    ) -> Result<(), Error> {
        let len = self.rows.first().map_or(0, Wires::len);
        let places = self.places.take().unwrap_or_else(|| (0..len as u32).collect());
        let mut next = vec![u32::MAX; len];
        let mut count = 0;
        let mut moved = |position: usize| {
            next[position] = count;
            count += 1;
            places[position]
        };
        let mut positions = |of: fn(&Run) -> usize| -> Vec<u32> {
            let of = |run| (of(run) - self.start)..(of(run) - self.start + run.len);
            runs.iter().flat_map(of).map(&mut moved).collect()
        };
        let (lows, highs) = (positions(|run| run.low), positions(|run| run.high));
        let mut alone = Vec::new();
        for (place, next) in places.iter().zip(&mut next).filter(|(_, next)| **next == u32::MAX) {
            *next = (lows.len() + highs.len() + alone.len()) as u32;
            alone.push(*place);
        }
        let (count, order) = (lows.len(), [lows, highs, alone].concat());
        self.rows.iter_mut().for_each(|row| *row = row.gather(&order));
        let part = |at| -> Vec<W> { self.rows.iter().map(|row| row.slice(at..at + count)).collect() };
        let differences = exchange(engine, runs, &part(0), &part(count))?;
        for (row, difference) in self.rows.iter_mut().zip(&differences) {
            row.add(0, difference);
            row.add(count, difference);
        }
        self.places = Some(next);
        Ok(())
    }
}

/// A stage whose wires are copied range by range; `start` is the position of the rows' first wire.
fn by_ranges<E: Engine>(
    engine: &mut E,
    rows: &mut [E::Wires],
    start: usize,
    runs: &[Run],
    exchange: &mut Exchange<'_, E>,
) -> Result<(), Error> {
    let copy = |of: fn(&Run) -> usize| -> Vec<E::Wires> {
        let ranges: Vec<_> = runs.iter().map(|run| of(run) - start..of(run) - start + run.len).collect();
        rows.iter().map(|row| row.ranges(&ranges)).collect()
    };
    let (low, high) = (copy(|run| run.low), copy(|run| run.high));
    let differences = exchange(engine, runs, &low, &high)?;
    for (row, difference) in rows.iter_mut().zip(&differences) {
        if let [run] = runs {
            row.add(run.low - start, difference);
            row.add(run.high - start, difference);
            continue;
        }
        let mut at = 0;
        for run in runs {
            let part = difference.slice(at..at + run.len);
            row.add(run.low - start, &part);
            row.add(run.high - start, &part);
            at += run.len;
        }
    }
    Ok(())
}
