//! Selection by a bit: multiplexer, 2-sorter, duplicate selection.
//!
//! | gadget | AND gates, numbers of σ bits | HEK12 |
//! |---|---|---|
//! | [`select`] | σ | Figure 3 |
//! | [`sorter_differences`] | 2σ with [`greater`](super::greater_than::greater) | Figure 2(c) |
//! | [`duplicate`], and a product | 3σ - 1 | Figure 5(b) |
//!
//! Of three neighbours in a merged list at most one pair is equal, so the ∨ of [`duplicate`] could be a ⊕,
//! which is free. It stays a gate, as in the paper: then a party that repeats an item loses no match by it.

use super::equality::{equal, equal_pairs};
use super::greater_than::Greater;
use crate::engine::Engine;
use crate::error::Error;
use crate::wires::Wires;

/// Two numbers of each instance.
#[cfg(any(test, feature = "testing"))]
pub type Pair<W> = (Vec<W>, Vec<W>);

/// `set` where the condition holds, `unset` elsewhere: u ⊕ (c ∧ (s ⊕ u)).
///
/// # Errors
/// As [`Engine::and`].
///
/// # Panics
/// If the numbers have not the same number of bits.
pub fn select<E: Engine>(
    engine: &mut E,
    condition: &E::Wires,
    set: &[E::Wires],
    unset: &[E::Wires],
) -> Result<Vec<E::Wires>, Error> {
    let differences = differences_if(engine, condition, set, unset)?;
    Ok(xor_all(engine, unset, &differences))
}

/// a ⊕ b where the condition holds, zero elsewhere: added to both numbers, it exchanges them there.
fn differences_if<E: Engine>(
    engine: &mut E,
    condition: &E::Wires,
    a: &[E::Wires],
    b: &[E::Wires],
) -> Result<Vec<E::Wires>, Error> {
    let differences = xor_all(engine, a, b);
    engine.and_all(condition, &differences)
}

/// The smaller and the greater of a and b.
///
/// # Errors
/// As [`Engine::and`].
///
/// # Panics
/// If the numbers have no bits, or not the same number of bits.
#[cfg(any(test, feature = "testing"))]
pub fn two_sorter<E: Engine>(
    engine: &mut E,
    greater: Greater<E>,
    a: &[E::Wires],
    b: &[E::Wires],
) -> Result<Pair<E::Wires>, Error> {
    let differences = sorter_differences(engine, greater, a, b)?;
    Ok((xor_all(engine, a, &differences), xor_all(engine, b, &differences)))
}

/// What a 2-sorter adds to both numbers: a ⊕ b where a is the greater one, zero elsewhere.
///
/// # Errors
/// As [`Engine::and`].
///
/// # Panics
/// If the numbers have no bits, or not the same number of bits.
pub fn sorter_differences<E: Engine>(
    engine: &mut E,
    greater: Greater<E>,
    a: &[E::Wires],
    b: &[E::Wires],
) -> Result<Vec<E::Wires>, Error> {
    let swap = greater(engine, a, b)?;
    differences_if(engine, &swap, a, b)
}

/// b if a = b or b = c, else zero.
///
/// # Errors
/// As [`Engine::and`].
///
/// # Panics
/// If the numbers have no bits, or not the same number of bits.
#[cfg(any(test, feature = "testing"))]
pub fn dup_select_3<E: Engine>(
    engine: &mut E,
    a: &[E::Wires],
    b: &[E::Wires],
    c: &[E::Wires],
) -> Result<Vec<E::Wires>, Error> {
    let same = duplicate(engine, a, b, c)?;
    engine.and_all(&same, b)
}

/// Whether b = a or b = c, in as many layers as one comparison and one gate take. The last instances may have
/// no c: its rows are then shorter.
///
/// # Errors
/// As [`Engine::and`].
///
/// # Panics
/// If the numbers have no bits, or not the same number of bits, or there is more of c than of b.
pub fn duplicate<E: Engine>(
    engine: &mut E,
    a: &[E::Wires],
    b: &[E::Wires],
    c: &[E::Wires],
) -> Result<E::Wires, Error> {
    let seconds = c.first().map_or(0, Wires::len);
    if seconds == 0 {
        return equal(engine, a, b);
    }
    let with_c: Vec<_> = b.iter().map(|row| row.slice(0..seconds)).collect();
    let mut trees = equal_pairs(engine, &[(a, b), (&with_c, c)])?;
    let (second, mut same) = (trees.swap_remove(1), trees.swap_remove(0));
    let first = same.slice(0..seconds);
    let both = engine.and(&[(&first, &second)])?;
    same.write(0, &engine.xor(&engine.xor(&first, &second), &both[0]));
    Ok(same)
}

/// a ⊕ b of each pair of rows.
pub(crate) fn xor_all<E: Engine>(engine: &E, a: &[E::Wires], b: &[E::Wires]) -> Vec<E::Wires> {
    assert_eq!(a.len(), b.len(), "numbers of the same width");
    a.iter().zip(b).map(|(a, b)| engine.xor(a, b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{Bits, numbers, rows};
    use crate::clear::Clear;
    use crate::count::{Count, Counted};
    use crate::engine::{Input, Party};
    use crate::gadgets::greater_than::greater;

    const SIGMA: usize = 3;

    /// All triples of numbers of three bits.
    fn triples() -> [Vec<u128>; 3] {
        [6, 3, 0].map(|shift| (0..512).map(|i| i >> shift & 7).collect())
    }

    #[test]
    fn all_short_numbers() {
        let [a, b, c] = triples();
        let [x, y, z] = [&a, &b, &c].map(|list| rows(list, SIGMA));
        let mut engine = Clear::default();
        let (least, most) = two_sorter(&mut engine, greater, &x, &y).unwrap();
        let (least, most) = (numbers(&least), numbers(&most));
        let three = numbers(&dup_select_3(&mut engine, &x, &y, &z).unwrap());
        let condition: Bits = (0..512).map(|i| i % 3 == 0).collect();
        let chosen = numbers(&select(&mut engine, &condition, &x, &y).unwrap());
        for i in 0..512 {
            let (a, b, c) = (a[i], b[i], c[i]);
            assert_eq!((least[i], most[i]), (a.min(b), a.max(b)));
            assert_eq!(three[i], if a == b || b == c { b } else { 0 });
            assert_eq!(chosen[i], if i % 3 == 0 { a } else { b });
        }
    }

    #[test]
    fn gates_are_as_many_as_the_formulas_say() {
        for sigma in [1, 2, 31, 32, 33] {
            let number = |count: &mut Count| -> Vec<Counted> {
                count.input(Party::Sender, Input::Hidden { rows: sigma, len: 10 }).unwrap()
            };
            let ands = |run: fn(&mut Count, &[Counted]), expected: usize| {
                let mut count = Count::default();
                let wires = number(&mut count);
                run(&mut count, &wires);
                assert_eq!(count.ands, 10 * expected as u64);
            };
            ands(|count, a| drop(select(count, &a[0], a, a).unwrap()), sigma);
            ands(|count, a| drop(two_sorter(count, greater, a, a).unwrap()), 2 * sigma);
            ands(|count, a| drop(dup_select_3(count, a, a, a).unwrap()), 3 * sigma - 1);
        }
    }
}
