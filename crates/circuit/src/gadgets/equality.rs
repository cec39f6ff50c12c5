//! Whether two numbers are equal: a tree of AND gates over the bits in which they agree (PSSZ15 §5).

use crate::engine::Engine;
use crate::error::Error;

/// Whether all of these rows are set: `rows.len()` - 1 AND gates an instance, in ⌈log2 `rows.len()`⌉ layers.
///
/// # Errors
/// As [`Engine::and`].
///
/// # Panics
/// If there is no row.
pub fn all<E: Engine>(engine: &mut E, mut rows: Vec<E::Wires>) -> Result<E::Wires, Error> {
    assert!(!rows.is_empty(), "at least one row");
    while rows.len() > 1 {
        // The last row of an odd number waits for the next layer.
        let alone = if rows.len().is_multiple_of(2) { None } else { rows.pop() };
        let pairs: Vec<_> = rows.as_chunks().0.iter().map(|[a, b]| (a, b)).collect();
        let mut layer = engine.and(&pairs)?;
        layer.extend(alone);
        rows = layer;
    }
    Ok(rows.swap_remove(0))
}

/// Whether a = b, numbers of σ bits: σ - 1 AND gates an instance, in ⌈log2 σ⌉ layers.
///
/// # Errors
/// As [`Engine::and`].
///
/// # Panics
/// If the numbers have no bits, or not the same number of bits.
pub fn equal<E: Engine>(engine: &mut E, a: &[E::Wires], b: &[E::Wires]) -> Result<E::Wires, Error> {
    assert_eq!(a.len(), b.len(), "numbers of the same width");
    let agreements = a.iter().zip(b).map(|(a, b)| engine.not(&engine.xor(a, b))).collect();
    all(engine, agreements)
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
