//! Which of two numbers is the greater, with the fewest AND gates.

use crate::engine::Engine;
use crate::error::Error;
use crate::wires::Wires;

/// A circuit for a > b: [`greater`], or one with another balance of gates and depth.
pub type Greater<E> =
    fn(&mut E, &[<E as Engine>::Wires], &[<E as Engine>::Wires]) -> Result<<E as Engine>::Wires, Error>;

/// Whether a > b, numbers of σ bits: σ AND gates an instance, one after another (Kolesnikov, Sadeghi,
/// Schneider, *Improved garbled circuit building blocks*, CANS 2009, §3.2).
///
/// The gate of bit i says a_i if a_i ≠ b_i, and otherwise keeps what the lower bits said:
/// c ← c ⊕ ((a_i ⊕ c) ∧ (a_i ⊕ b_i)).
///
/// # Errors
/// As [`Engine::and`].
///
/// # Panics
/// If the numbers have no bits, or not the same number of bits.
pub fn greater<E: Engine>(engine: &mut E, a: &[E::Wires], b: &[E::Wires]) -> Result<E::Wires, Error> {
    assert!(!a.is_empty() && a.len() == b.len(), "numbers of the same width");
    // Below the lowest bit, nothing was said.
    let mut says = engine.and(&[(&a[0], &engine.xor(&a[0], &b[0]))])?.swap_remove(0);
    for (a, b) in a.iter().zip(b).skip(1) {
        let changes = engine.and(&[(&engine.xor(a, &says), &engine.xor(a, b))])?;
        says.add(0, &changes[0]);
    }
    Ok(says)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::rows;
    use crate::clear::Clear;
    use crate::count::Count;
    use crate::engine::{Input, Party};

    #[test]
    fn all_pairs_of_short_numbers() {
        for sigma in 1..=5 {
            let pairs: Vec<_> = (0..1 << (2 * sigma)).map(|i| (i >> sigma, i & ((1 << sigma) - 1))).collect();
            let a: Vec<u128> = pairs.iter().map(|pair| pair.0).collect();
            let b: Vec<u128> = pairs.iter().map(|pair| pair.1).collect();
            let result = greater(&mut Clear::default(), &rows(&a, sigma), &rows(&b, sigma)).unwrap();
            assert_eq!(result, pairs.iter().map(|(a, b)| a > b).collect());
        }
    }

    #[test]
    fn a_gate_for_each_bit() {
        for sigma in [1, 2, 32, 70] {
            let mut count = Count::default();
            let wires = count.input(Party::Sender, Input::Hidden { rows: 2 * sigma, len: 10 }).unwrap();
            greater(&mut count, &wires[..sigma], &wires[sigma..]).unwrap();
            assert_eq!((count.ands, count.depth), (10 * sigma as u64, sigma as u32));
        }
    }
}
