//! Whether two numbers are equal: a tree of AND gates over the bits in which they agree (PSSZ15 §5).

use crate::engine::Engine;
use crate::error::Error;

/// Two numbers, each as the rows of its bits.
pub type Pair<'a, W> = (&'a [W], &'a [W]);

/// Whether all of these rows are set: `rows.len()` - 1 AND gates an instance, in ⌈log2 `rows.len()`⌉ layers.
///
/// # Errors
/// As [`Engine::and`].
///
/// # Panics
/// If there is no row.
pub fn all<E: Engine>(engine: &mut E, rows: Vec<E::Wires>) -> Result<E::Wires, Error> {
    Ok(all_of_each(engine, vec![rows])?.swap_remove(0))
}

/// [`all`] of each tree. A layer of all trees is one call of the engine; trees may differ in rows and in their
/// length.
///
/// # Errors
/// As [`Engine::and`].
///
/// # Panics
/// If a tree has no row.
pub fn all_of_each<E: Engine>(engine: &mut E, mut trees: Vec<Vec<E::Wires>>) -> Result<Vec<E::Wires>, Error> {
    assert!(trees.iter().all(|rows| !rows.is_empty()), "at least one row a tree");
    while trees.iter().any(|rows| rows.len() > 1) {
        let pairs: Vec<_> = trees.iter().flat_map(|rows| rows.as_chunks().0).map(|[a, b]| (a, b)).collect();
        let mut layer = engine.and(&pairs)?.into_iter();
        for rows in &mut trees {
            // The last row of an odd number waits for the next layer.
            let (gates, alone) = (rows.len() / 2, rows.len() % 2);
            rows.drain(..rows.len() - alone);
            rows.splice(..0, layer.by_ref().take(gates));
        }
    }
    Ok(trees.into_iter().map(|mut rows| rows.swap_remove(0)).collect())
}

/// Whether a = b, numbers of σ bits: σ - 1 AND gates an instance, in ⌈log2 σ⌉ layers.
///
/// # Errors
/// As [`Engine::and`].
///
/// # Panics
/// If the numbers have no bits, or not the same number of bits.
pub fn equal<E: Engine>(engine: &mut E, a: &[E::Wires], b: &[E::Wires]) -> Result<E::Wires, Error> {
    Ok(equal_pairs(engine, &[(a, b)])?.swap_remove(0))
}

/// [`equal`] of each pair, in as many layers as one pair takes. Pairs may differ in width and length.
///
/// # Errors
/// As [`Engine::and`].
///
/// # Panics
/// As [`equal`].
pub fn equal_pairs<E: Engine>(engine: &mut E, pairs: &[Pair<'_, E::Wires>]) -> Result<Vec<E::Wires>, Error> {
    let agreements = pairs.iter().map(|(a, b)| {
        assert_eq!(a.len(), b.len(), "numbers of the same width");
        a.iter().zip(*b).map(|(a, b)| engine.not(&engine.xor(a, b))).collect()
    });
    let trees = agreements.collect();
    all_of_each(engine, trees)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{Bits, rows};
    use crate::clear::Clear;
    use crate::count::Count;
    use crate::engine::{Input, Party};

    #[test]
    fn numbers_are_equal_if_all_of_their_bits_are() {
        for sigma in 1..=40 {
            let mut others: Vec<u128> = (0..sigma).map(|bit| 1 << bit).collect();
            others.extend([0, u128::MAX >> (128 - sigma)]);
            let a = rows(&vec![0; others.len()], sigma);
            let equal = equal(&mut Clear::default(), &a, &rows(&others, sigma)).unwrap();
            assert_eq!(equal, others.iter().map(|other| *other == 0).collect::<Bits>());
        }
    }

    #[test]
    fn pairs_of_any_widths_and_lengths_are_compared_together() {
        let shapes = [(1, 3), (2, 100), (7, 1), (8, 64), (33, 9)];
        let numbers = |salt: usize| {
            let number = move |i: usize| if i.is_multiple_of(salt) { 1 } else { 0 };
            shapes.map(|(width, len)| rows(&(0..len).map(number).collect::<Vec<u128>>(), width))
        };
        let (a, b) = (numbers(2), numbers(3));
        let pairs: Vec<_> = a.iter().zip(&b).map(|(a, b)| (&a[..], &b[..])).collect();
        let together = equal_pairs(&mut Clear::default(), &pairs).unwrap();
        for ((a, b), equals) in pairs.into_iter().zip(together) {
            assert_eq!(equals, equal(&mut Clear::default(), a, b).unwrap());
        }
        let mut count = Count::default();
        let wires = count.input(Party::Sender, Input::Hidden { rows: 33, len: 10 }).unwrap();
        equal_pairs(&mut count, &shapes.map(|(width, _)| (&wires[..width], &wires[..width]))).unwrap();
        assert_eq!((count.layers, count.depth, count.ands), (6, 6, 10 * (1 + 6 + 7 + 32)));
    }

    #[test]
    fn gates_are_as_many_as_the_formula_says() {
        for sigma in 1..=70usize {
            let mut count = Count::default();
            let wires = count.input(Party::Sender, Input::Hidden { rows: 2 * sigma, len: 10 }).unwrap();
            equal(&mut count, &wires[..sigma], &wires[sigma..]).unwrap();
            let depth = sigma.next_power_of_two().ilog2();
            assert_eq!(
                (count.ands, count.depth, count.layers),
                (10 * (sigma as u64 - 1), depth, depth.into())
            );
        }
    }
}
