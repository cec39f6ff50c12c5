//! Pairwise comparison: each item of the receiver with each of the sender (HEK12 §4).
//!
//! The comparisons that concern one item are summed by ⊕, which is free: the items of a set differ, so at most
//! one comparison of an item holds (PSSZ15 §5). [`compare`] is for the form of the paper's Algorithm 1, where a
//! match is revealed as soon as it is found, so that matched items need no more comparisons.
//!
//! Cost: n_r·n_s·(σ - 1) AND gates of depth ⌈log2 σ⌉.

use std::ops::Range;

use crate::engine::Engine;
use crate::error::Error;
use crate::gadgets::equality::equal;
use crate::pieces::{at_once, in_pieces, ranges};
use crate::wires::Wires;

/// Pairs that are compared at a time, at most: what an engine that takes whole layers must hold.
const BATCH: usize = 1 << 20;

/// AND gates for sets of these sizes.
#[must_use]
pub fn ands(receiver: u64, sender: u64, sigma: u64) -> u64 {
    receiver * sender * sigma.saturating_sub(1)
}

/// AND gates that HEK12 Table 1 expects with early reveal, for sets of n items of which `both` are in the
/// intersection: ((2n - n̂)² + n̂)·(σ - 1)/4.
#[cfg(test)]
fn expected_ands(n: u64, both: u64, sigma: u64) -> f64 {
    let twice = (2 * n - both) as f64;
    (twice * twice + both as f64) * (sigma as f64 - 1.0) / 4.0
}

/// Which items are in the other set.
#[derive(Clone, Debug)]
pub struct Matches<W> {
    /// A wire for each item of the receiver.
    pub receiver: W,
    /// A wire for each item of the sender.
    pub sender: W,
}

/// Compares all pairs.
///
/// # Errors
/// As [`Engine::and`].
///
/// # Panics
/// If items have no bits, or not the same number of bits.
pub fn pairwise<E: Engine>(
    engine: &mut E,
    receiver: &[E::Wires],
    sender: &[E::Wires],
) -> Result<Matches<E::Wires>, Error> {
    assert!(!receiver.is_empty() && receiver.len() == sender.len(), "items of the same width");
    let (receivers, senders) = (receiver[0].len(), sender[0].len());
    let mut matches =
        Matches { receiver: engine.constant(false, receivers), sender: engine.constant(false, senders) };
    if receivers == 0 || senders == 0 {
        return Ok(matches);
    }
    // A tile is some items of the receiver against a run of the sender's.
    let tile = at_once(engine, BATCH);
    let run = tile.min(senders);
    for items in ranges(0..receivers, tile / run) {
        for run in ranges(0..senders, run) {
            compare_tile(engine, (receiver, items.clone()), (sender, run), &mut matches)?;
        }
    }
    Ok(matches)
}

/// Compares these pairs of positions, of an item of the receiver and an item of the sender: a wire for each.
///
/// # Errors
/// As [`Engine::and`].
///
/// # Panics
/// If a position is beyond the set, or items have no bits, or not the same number of bits.
pub fn compare<E: Engine>(
    engine: &mut E,
    receiver: &[E::Wires],
    sender: &[E::Wires],
    pairs: &[(u32, u32)],
) -> Result<E::Wires, Error> {
    let mut same = in_pieces(engine, (pairs.len(), BATCH), 1, |engine, piece| {
        let (left, right): (Vec<u32>, Vec<u32>) = pairs[piece].iter().copied().unzip();
        Ok(vec![equal(engine, &gathered(receiver, &left), &gathered(sender, &right))?])
    })?;
    Ok(same.swap_remove(0))
}

/// Compares some items of the receiver with a run of the sender's, and adds what holds to the matches.
fn compare_tile<E: Engine>(
    engine: &mut E,
    (receiver, items): (&[E::Wires], Range<usize>),
    (sender, run): (&[E::Wires], Range<usize>),
    matches: &mut Matches<E::Wires>,
) -> Result<(), Error> {
    let each = |of: fn(usize, usize) -> usize| -> Vec<u32> {
        items.clone().flat_map(|i| run.clone().map(move |j| of(i, j) as u32)).collect()
    };
    let (left, right) = (each(|i, _| i), each(|_, j| j));
    let same = equal(engine, &gathered(receiver, &left), &gathered(sender, &right))?;
    let mut of_run = matches.sender.slice(run.clone());
    for (i, item) in items.enumerate() {
        let of_item = same.slice(i * run.len()..(i + 1) * run.len());
        of_run = engine.xor(&of_run, &of_item);
        let sum = sum(engine, of_item);
        let before = matches.receiver.slice(item..item + 1);
        matches.receiver.write(item, &engine.xor(&before, &sum));
    }
    matches.sender.write(run.start, &of_run);
    Ok(())
}

/// The wires at these positions of all rows.
fn gathered<W: Wires>(rows: &[W], positions: &[u32]) -> Vec<W> {
    rows.iter().map(|row| row.gather(positions)).collect()
}

/// The ⊕ of all wires of a row that is not empty.
fn sum<E: Engine>(engine: &E, mut row: E::Wires) -> E::Wires {
    while row.len() > 1 {
        let half = row.len() / 2;
        let halves = engine.xor(&row.slice(0..half), &row.slice(half..2 * half));
        row = if row.len() % 2 == 0 {
            halves
        } else {
            E::Wires::join(&[&halves, &row.slice(2 * half..row.len())])
        };
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{Bits, rows};
    use crate::clear::Clear;
    use crate::count::Count;
    use crate::engine::{Input, Party};

    const SIGMA: usize = 9;

    /// Different numbers, in no order.
    fn set(len: usize, factor: u128) -> Vec<u128> {
        (0..len as u128).map(|i| i * factor % 509).collect()
    }

    #[test]
    fn all_pairs_are_compared() {
        for (n_r, n_s) in [(0, 0), (0, 5), (5, 0), (1, 1), (1, 60), (60, 1), (7, 13), (50, 40), (33, 200)] {
            let (receiver, sender) = (set(n_r, 3), set(n_s, 5));
            let (x, y) = (rows(&receiver, SIGMA), rows(&sender, SIGMA));
            for chunk in [1, 10, 64, 300, usize::MAX] {
                let matches = pairwise(&mut Clear::with_chunk(chunk), &x, &y).unwrap();
                assert_eq!(matches.receiver, receiver.iter().map(|item| sender.contains(item)).collect());
                assert_eq!(matches.sender, sender.iter().map(|item| receiver.contains(item)).collect());
            }
        }
    }

    #[test]
    fn some_pairs() {
        let (receiver, sender) = (set(20, 3), set(30, 5));
        let (x, y) = (rows(&receiver, SIGMA), rows(&sender, SIGMA));
        let pairs: Vec<_> = (0..600).map(|at| (at % 20, at / 20)).filter(|(i, j)| (i + j) % 4 != 1).collect();
        let expected: Bits = pairs.iter().map(|&(i, j)| receiver[i as usize] == sender[j as usize]).collect();
        for chunk in [7, 300, usize::MAX] {
            assert_eq!(compare(&mut Clear::with_chunk(chunk), &x, &y, &pairs).unwrap(), expected);
        }
    }

    #[test]
    fn gates_are_as_many_as_the_formula_says() {
        for (n_r, n_s, sigma) in [(64, 64, 32), (10, 33, 5), (33, 10, 1), (1, 1000, 61)] {
            for chunk in [1, 300, usize::MAX] {
                let mut count = Count::with_chunk(chunk);
                let wires = |count: &mut Count, len| {
                    count.input(Party::Sender, Input::Hidden { rows: sigma, len }).unwrap()
                };
                let (x, y) = (wires(&mut count, n_r), wires(&mut count, n_s));
                pairwise(&mut count, &x, &y).unwrap();
                assert_eq!(count.ands, ands(n_r as u64, n_s as u64, sigma as u64));
                assert_eq!(count.depth, sigma.next_power_of_two().ilog2());
            }
        }
        // HEK12 §4: early reveal saves three quarters if the sets are equal.
        assert!((expected_ands(1000, 1000, 32) / ands(1000, 1000, 32) as f64 - 0.25).abs() < 0.001);
        assert!((expected_ands(1000, 0, 32) - ands(1000, 1000, 32) as f64).abs() < 1e-6);
    }
}
