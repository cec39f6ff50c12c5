//! What of the matches is revealed where it is not which ones they are: their number, whether there are enough
//! of them, or the sum of the values that belong to them.
//!
//! `matches` has a wire for each bin or slot: whether the item there is in the intersection. A function here
//! takes it from there to few wires, which the caller opens.
//!
//! **Values.** Where a value of 64 bits belongs to each item of a party, its wires are the sum of a bit of each
//! party: the other party holds v ⊕ s where the items match, and anything elsewhere, and the owner holds s.
//! (An OPPRF that programs v ⊕ s beside the value of a bin gives it that.) XOR costs nothing, so
//! [`sum`] takes wires of v. Where nothing matches they are random, and a gate a bit puts zero in their place.
//!
//! **Overflow.** The sum of n values can be 2^64 or more. Then it is not a result of 64 bits, and part of it
//! would mislead: [`sum`] gives a wire that says whether it fits, and zero in place of a sum that does not.
//!
//! | | AND gates |
//! |---|---|
//! | [`count`] | n less the ones in the binary form of n |
//! | [`at_least`] | at most ⌊log2 n⌋ + 1 more |
//! | [`sum`] | 64·n, and about one a bit for the sum |

use crate::engine::Engine;
use crate::error::Error;
use crate::gadgets::counter::{self, Counter};
use crate::gadgets::equality::all;
use crate::pieces::{pieces, slices};
use crate::wires::Wires;

/// Bits of a value.
pub const VALUE_BITS: usize = u64::BITS as usize;

/// How many of these wires carry a one: a number, lowest bit first, as rows of one wire; no row of no wire.
///
/// # Errors
/// As [`Engine::and`].
pub fn count<E: Engine>(engine: &mut E, matches: &E::Wires) -> Result<Vec<E::Wires>, Error> {
    let mut counter = Counter::default();
    counter.add(engine, matches)?;
    counter.finish(engine)
}

/// AND gates of [`count`] for so many wires.
#[cfg(test)]
fn count_ands(wires: u64) -> u64 {
    counter::ands(wires)
}

/// Whether at least `least` of these wires carry a one: one wire.
///
/// # Errors
/// As [`Engine::and`].
pub fn at_least<E: Engine>(engine: &mut E, matches: &E::Wires, least: u64) -> Result<E::Wires, Error> {
    let wires = matches.len() as u64;
    match least.checked_sub(1) {
        None => Ok(engine.constant(true, 1)),
        Some(_) if least > wires => Ok(engine.constant(false, 1)),
        Some(less) => {
            let number = count(engine, matches)?;
            counter::exceeds(engine, &number, less)
        }
    }
}

/// AND gates of [`at_least`] for so many wires.
#[cfg(test)]
fn at_least_ands(wires: u64, least: u64) -> u64 {
    match least.checked_sub(1) {
        Some(less) if least <= wires => counter::ands(wires) + counter::exceeds_ands(wires, less),
        _ => 0,
    }
}

/// A sum of values.
#[derive(Debug, Clone)]
pub struct Sum<W> {
    /// Whether it is below 2^64: one wire.
    pub fits: W,
    /// Its bits, lowest first, as rows of one wire; zero if it does not fit.
    pub bits: Vec<W>,
}

/// The sum of the values whose wire of `matches` carries a one. Row i of `values` has bit i of every value.
///
/// # Errors
/// As [`Engine::and`].
///
/// # Panics
/// If there are not [`VALUE_BITS`] rows, or they have not a wire for each match.
pub fn sum<E: Engine>(
    engine: &mut E,
    matches: &E::Wires,
    values: &[E::Wires],
) -> Result<Sum<E::Wires>, Error> {
    assert_eq!(values.len(), VALUE_BITS, "values of 64 bits");
    let mut counter = Counter::default();
    for piece in pieces(engine, matches.len()) {
        let values = slices(values, piece.clone());
        let matching = engine.and_all(&matches.slice(piece), &values)?;
        for (bit, row) in matching.iter().enumerate() {
            counter.add_weighted(engine, bit, row)?;
        }
    }
    let mut bits = counter.finish(engine)?;
    bits.resize_with(bits.len().max(VALUE_BITS), || engine.constant(false, 1));
    let above: Vec<_> = bits.split_off(VALUE_BITS).iter().map(|bit| engine.not(bit)).collect();
    if above.is_empty() {
        return Ok(Sum { fits: engine.constant(true, 1), bits });
    }
    let fits = all(engine, above)?;
    let bits = engine.and_all(&fits, &bits)?;
    Ok(Sum { fits, bits })
}

/// AND gates of [`sum`] for so many values: 64 a value to select it; ⌊m/2⌋ for the m wires of each weight, as
/// many of which go on to the next; and where the sum can overflow, one for each bit of the result and of
/// those above but one.
#[cfg(test)]
fn sum_ands(values: u64) -> u64 {
    let (mut carries, mut adders, mut width) = (0, 0, 0);
    for weight in 0.. {
        let wires = carries + if weight < VALUE_BITS { values } else { 0 };
        if wires == 0 {
            break;
        }
        (carries, width) = (wires / 2, width + 1);
        adders += carries;
    }
    let above = (width as u64).saturating_sub(VALUE_BITS as u64);
    let refused = if above > 0 { above - 1 + VALUE_BITS as u64 } else { 0 };
    VALUE_BITS as u64 * values + adders + refused
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{Bits, rows};
    use crate::clear::Clear;
    use crate::count::Count;
    use crate::engine::{Input, Party};

    fn number(bits: &[Bits]) -> u64 {
        bits.iter().enumerate().map(|(at, bit)| u64::from(bit.get(0)) << at).sum()
    }

    fn row(ones: usize, len: usize) -> Bits {
        (0..len).map(|at| at * 7919 % len.max(1) < ones).collect()
    }

    #[test]
    fn matches_are_counted_and_compared_with_a_number() {
        for (len, ones) in [(0, 0), (1, 0), (1, 1), (64, 64), (101, 40), (1000, 999)] {
            let matches = row(ones, len);
            for chunk in [1, 50, usize::MAX] {
                let engine = &mut Clear::with_chunk(chunk);
                assert_eq!(number(&count(engine, &matches).unwrap()), ones as u64);
                for least in [0, 1, ones as u64, ones as u64 + 1, len as u64, len as u64 + 1, u64::MAX] {
                    let enough = at_least(engine, &matches, least).unwrap();
                    assert_eq!((enough.len(), enough.get(0)), (1, ones as u64 >= least), "{least} of {ones}");
                }
            }
        }
    }

    #[test]
    fn values_of_matches_are_added_and_an_overflow_is_refused() {
        let small: Vec<u64> = (0..101).map(|i| i * i * 1_000_003).collect();
        let large: Vec<u64> = (0..101).map(|i| u64::MAX / 60 + i).collect();
        let most = vec![u64::MAX; 101];
        for values in [&small, &large, &most] {
            let wires = rows(&values.iter().map(|value| u128::from(*value)).collect::<Vec<_>>(), VALUE_BITS);
            for ones in [0, 1, 2, 59, 60, 61, 101] {
                let matches = row(ones, values.len());
                let exact: u128 =
                    matches.iter().zip(values).map(|(bit, value)| u128::from(bit) * u128::from(*value)).sum();
                for chunk in [1, 30, usize::MAX] {
                    let Sum { fits, bits } = sum(&mut Clear::with_chunk(chunk), &matches, &wires).unwrap();
                    let expected = u64::try_from(exact);
                    assert_eq!((fits.get(0), bits.len()), (expected.is_ok(), VALUE_BITS));
                    assert_eq!(number(&bits), expected.unwrap_or(0), "{ones} of {}", values.len());
                }
            }
        }
        let Sum { fits, bits } =
            sum(&mut Clear::default(), &row(0, 0), &vec![row(0, 0); VALUE_BITS]).unwrap();
        assert!(fits.get(0) && number(&bits) == 0);
    }

    #[test]
    fn gates_are_as_many_as_the_formulas_say() {
        for n in [0, 1, 2, 3, 7, 8, 100, 1023, 1024] {
            for chunk in [1, 13, usize::MAX] {
                let gates = |run: &dyn Fn(&mut Count, &[crate::count::Counted])| {
                    let mut count = Count::with_chunk(chunk);
                    let bits = Input::Hidden { rows: VALUE_BITS + 1, len: n };
                    let wires = count.input(Party::Receiver, bits).unwrap();
                    run(&mut count, &wires);
                    count.ands
                };
                let counted = gates(&|engine, wires| drop(count(engine, &wires[0])));
                assert_eq!(counted, count_ands(n as u64), "{n}");
                for least in [0, 1, 5, n as u64, n as u64 + 1] {
                    let compared = gates(&|engine, wires| drop(at_least(engine, &wires[0], least)));
                    assert_eq!(compared, at_least_ands(n as u64, least), "{least} of {n}");
                }
                let added = gates(&|engine, wires| drop(sum(engine, &wires[0], &wires[1..])));
                assert_eq!(added, sum_ands(n as u64), "{n} in pieces of {chunk}");
            }
        }
    }
}
