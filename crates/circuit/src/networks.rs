//! Networks of 2-sorters for any number n of inputs, without padding to a power of two.
//!
//! | network | 2-sorters | stages |
//! |---|---|---|
//! | [`merge`]: the bitonic merger | (n/2)·log2 n for a power of two, [`merge_sorters`] | ⌈log2 n⌉ |
//! | [`sort`]: Batcher's odd-even merge sort | (k² - k + 4)·2^(k-2) - 1 for n = 2^k, [`sort_sorters`] | k(k + 1)/2, k = ⌈log2 n⌉ |
//!
//! Source: Batcher, *Sorting networks and their applications*, 1968. A network for n is that for the next
//! power of two in which the missing inputs, at the end, are greater than all others: they never move, and
//! their 2-sorters are left out. A merger so takes lists of any two lengths (Lang, *Bitonic sorting network
//! for n not a power of 2*, 1998).
//!
//! **Order of the work.** A stage compares inputs at one distance. An engine that wants few instances at a time
//! ([`Engine::chunk`]) gets the stages of large distances in pieces, and then, block by block, all stages of
//! small distances while the block is in the cache. For one that wants all, each stage is one layer.
//!
//! Every stage pairs runs of wires: those at consecutive positions with as many others.

use std::ops::Range;

use crate::engine::Engine;
use crate::error::Error;
use crate::gadgets::greater_than::Greater;
use crate::gadgets::select::sorter_differences;
use crate::wires::Wires;

pub(crate) use block::{Block, layer};

mod block;

/// Pairs (low + i, high + i) of positions, for i below len, with low < high.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) low: usize,
    pub(crate) high: usize,
    pub(crate) len: usize,
}

/// What a stage does with the numbers of its pairs, those of the low positions and those of the high ones, in
/// the order of the runs: it returns what is added (⊕) to both, which is their difference or zero.
pub(crate) type Exchange<'a, E> = dyn FnMut(
        &mut E,
        &[Run],
        &[<E as Engine>::Wires],
        &[<E as Engine>::Wires],
    ) -> Result<Vec<<E as Engine>::Wires>, Error>
    + 'a;

/// Sorts numbers that first fall and then rise, as two sorted lists do of which the first is reversed.
///
/// # Errors
/// As [`Engine::and`].
pub fn merge<E: Engine>(engine: &mut E, rows: &mut [E::Wires], greater: Greater<E>) -> Result<(), Error> {
    let all = 0..rows.first().map_or(0, Wires::len);
    merge_range(engine, rows, all, &mut |engine, _, low, high| sorter_differences(engine, greater, low, high))
}

/// Sorts numbers in any order, by the same comparisons whatever they are.
///
/// # Errors
/// As [`Engine::and`].
pub fn sort<E: Engine>(engine: &mut E, rows: &mut [E::Wires], greater: Greater<E>) -> Result<(), Error> {
    let all = 0..rows.first().map_or(0, Wires::len);
    sort_range(engine, rows, all, &mut |engine, _, low, high| sorter_differences(engine, greater, low, high))
}

/// The `count` largest numbers, in ascending order, or all if there are no more: HEK12 §5.3.1 so finds few
/// items among many zeros. It takes the next `count` numbers at a time, and sorts them together with the
/// largest so far. Here those are sorted already, so the next ones are sorted alone, and merged with them.
///
/// # Errors
/// As [`Engine::and`].
pub fn largest<E: Engine>(
    engine: &mut E,
    rows: &[E::Wires],
    count: usize,
    greater: Greater<E>,
) -> Result<Vec<E::Wires>, Error> {
    let len = rows.first().map_or(0, Wires::len);
    let part =
        |range: Range<usize>| -> Vec<E::Wires> { rows.iter().map(|row| row.slice(range.clone())).collect() };
    let mut kept = part(0..count.min(len));
    if count == 0 {
        return Ok(kept);
    }
    sort(engine, &mut kept, greater)?;
    let falling: Vec<u32> = (0..count as u32).rev().collect();
    for start in (count..len).step_by(count) {
        let mut next = part(start..(start + count).min(len));
        sort(engine, &mut next, greater)?;
        for (kept, next) in kept.iter_mut().zip(&next) {
            *kept = E::Wires::join(&[&kept.gather(&falling), next]);
        }
        merge(engine, &mut kept, greater)?;
        kept.iter_mut().for_each(|row| *row = row.slice(row.len() - count..row.len()));
    }
    Ok(kept)
}

/// 2-sorters of [`largest`] for n numbers.
#[must_use]
pub fn largest_sorters(n: u64, count: u64) -> u64 {
    if count == 0 || n <= count {
        return sort_sorters(n.min(count));
    }
    let (whole, part) = (n / count, n % count);
    let rest = if part == 0 { 0 } else { sort_sorters(part) + merge_sorters(count + part) };
    whole * sort_sorters(count) + (whole - 1) * merge_sorters(2 * count) + rest
}

/// 2-sorters of [`merge`] for n numbers: for each distance d, the positions in even blocks of d whose
/// partner exists.
#[must_use]
pub fn merge_sorters(n: u64) -> u64 {
    distances(n).map(|d| even_positions(n - d, d)).sum()
}

/// Stages of [`merge`] for n numbers: ⌈log2 n⌉.
#[must_use]
pub fn merge_stages(n: u64) -> u32 {
    n.max(1).next_power_of_two().ilog2()
}

/// 2-sorters of [`sort`] for n numbers.
#[must_use]
pub fn sort_sorters(n: u64) -> u64 {
    let merger = |width: u64| {
        // A last list that has no partner is left alone.
        let (whole, part) =
            (n / (2 * width), Some(n % (2 * width)).filter(|part| *part > width).unwrap_or(0));
        let stages = distances(2 * width).map(|d| {
            // The first stage pairs the halves, each later one the odd blocks of d with the even ones after.
            if d == width {
                return whole * d + part.saturating_sub(d);
            }
            let pairs = part.saturating_sub(d);
            whole * (width - d) + pairs - even_positions(pairs, d)
        });
        stages.sum::<u64>()
    };
    distances(n).map(merger).sum()
}

/// Stages of [`sort`] for n numbers: k(k + 1)/2 with k = ⌈log2 n⌉.
#[cfg(test)]
fn sort_stages(n: u64) -> u32 {
    let k = merge_stages(n);
    k * (k + 1) / 2
}

/// The powers of two below n, from the largest.
fn distances(n: u64) -> impl Iterator<Item = u64> {
    (0..merge_stages(n)).rev().map(|log| 1 << log)
}

/// How many of the first `count` positions are in even blocks of d.
fn even_positions(count: u64, d: u64) -> u64 {
    count / (2 * d) * d + (count % (2 * d)).min(d)
}

/// The largest power of two below `len`, which is at least 2.
fn half(len: usize) -> usize {
    len.next_power_of_two() / 2
}

/// Whether the engine takes all pairs among so many numbers at once.
pub(crate) fn is_block<E: Engine>(engine: &E, len: usize) -> bool {
    len <= engine.chunk().saturating_mul(2).max(2)
}

fn merge_range<E: Engine>(
    engine: &mut E,
    rows: &mut [E::Wires],
    range: Range<usize>,
    exchange: &mut Exchange<'_, E>,
) -> Result<(), Error> {
    if range.len() < 2 {
        return Ok(());
    }
    if !is_block(engine, range.len()) {
        let middle = range.start + half(range.len());
        let run = Run { low: range.start, high: middle, len: range.end - middle };
        layer(engine, rows, std::iter::once(run), exchange)?;
        merge_range(engine, rows, range.start..middle, exchange)?;
        return merge_range(engine, rows, middle..range.end, exchange);
    }
    let mut block = Block::of(rows, range.clone());
    let mut distance = half(range.len());
    while distance > 0 {
        let lows = range.clone().step_by(2 * distance);
        let runs: Vec<_> = lows.filter_map(|low| cut(low, distance, range.end)).collect();
        block.layer(engine, &runs, exchange)?;
        distance /= 2;
    }
    block.write_to(rows);
    Ok(())
}

fn sort_range<E: Engine>(
    engine: &mut E,
    rows: &mut [E::Wires],
    range: Range<usize>,
    exchange: &mut Exchange<'_, E>,
) -> Result<(), Error> {
    if range.len() < 2 {
        return Ok(());
    }
    let width = half(range.len());
    if !is_block(engine, range.len()) {
        let middle = range.start + width;
        sort_range(engine, rows, range.start..middle, exchange)?;
        sort_range(engine, rows, middle..range.end, exchange)?;
        let mut distance = width;
        while distance > 0 {
            layer(engine, rows, odd_even_stage(range.clone(), width, distance), exchange)?;
            distance /= 2;
        }
        return Ok(());
    }
    let mut block = Block::of(rows, range.clone());
    for log in 0..=width.ilog2() {
        let mut distance = 1 << log;
        while distance > 0 {
            let runs: Vec<_> = odd_even_stage(range.clone(), 1 << log, distance).collect();
            block.layer(engine, &runs, exchange)?;
            distance /= 2;
        }
    }
    block.write_to(rows);
    Ok(())
}

/// A stage of the odd-even mergers that each merge two sorted lists of `width` numbers.
fn odd_even_stage(range: Range<usize>, width: usize, distance: usize) -> impl Iterator<Item = Run> {
    // The first stage pairs the lists, each later one the odd blocks with the even ones after them.
    let end = range.end;
    let (first, count) = if distance == width { (0, 1) } else { (distance, width / distance - 1) };
    // A list that has no partner is sorted already.
    let merged = range.step_by(2 * width).filter(move |start| start + width < end);
    merged.flat_map(move |start| {
        let lows = (0..count).map(move |i| start + first + 2 * i * distance);
        lows.filter_map(move |low| cut(low, distance, end))
    })
}

/// The pairs of a block of `distance` positions with those after it that are before the end.
fn cut(low: usize, distance: usize, end: usize) -> Option<Run> {
    let high = low + distance;
    (high < end).then(|| Run { low, high, len: distance.min(end - high) })
}

#[cfg(test)]
mod tests;
