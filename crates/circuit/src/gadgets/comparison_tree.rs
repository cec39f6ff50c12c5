//! Which of two numbers is the greater, in few layers: for engines that send a message for each.

use crate::engine::Engine;
use crate::error::Error;

/// Whether a > b, numbers of σ bits, in ⌈log2 σ⌉ + 1 layers of 3σ - ⌈log2 σ⌉ - 2 AND gates an instance
/// (Garay, Schoenmakers, Villegas, PKC 2007, §4.3, as in Schneider, Zohner, *GMW vs. Yao?*, FC 2013, which is the
/// comparison of PSZ14's depth-optimised circuit).
///
/// A node of the tree says of a range of bits whether a is greater there, g, and whether both agree, e. Above a low
/// and a high node, g = g_high ⊕ (e_high ∧ g_low) and e = e_high ∧ e_low: at most one of g_high and e_high is set.
/// Nobody asks whether the lowest range agrees.
///
/// # Errors
/// As [`Engine::and`].
///
/// # Panics
/// If the numbers have no bits, or not the same number of bits.
pub fn greater_by_tree<E: Engine>(engine: &mut E, a: &[E::Wires], b: &[E::Wires]) -> Result<E::Wires, Error> {
    assert!(!a.is_empty() && a.len() == b.len(), "numbers of the same width");
    let complements: Vec<_> = b.iter().map(|b| engine.not(b)).collect();
    let mut greater = engine.and(&a.iter().zip(&complements).collect::<Vec<_>>())?;
    // ¬(a_i ⊕ b_i), from the second node on: agree[i] belongs to greater[i + 1].
    let mut agree: Vec<_> =
        a.iter().zip(&complements).skip(1).map(|(a, not_b)| engine.xor(a, not_b)).collect();
    while greater.len() > 1 {
        let pairs = greater.len() / 2;
        // Node 2i + 1 is above node 2i.
        let mut layer: Vec<_> = (0..pairs).map(|i| (&agree[2 * i], &greater[2 * i])).collect();
        layer.extend((1..pairs).map(|i| (&agree[2 * i], &agree[2 * i - 1])));
        let mut products = engine.and(&layer)?;
        let mut above = products.split_off(pairs);
        let mut nodes: Vec<_> =
            products.iter().enumerate().map(|(i, kept)| engine.xor(&greater[2 * i + 1], kept)).collect();
        if greater.len() % 2 == 1 {
            // The highest node of an odd number waits for the next layer.
            nodes.extend(greater.pop());
            above.extend(agree.pop());
        }
        (greater, agree) = (nodes, above);
    }
    Ok(greater.swap_remove(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{Bits, rows};
    use crate::clear::Clear;
    use crate::count::Count;
    use crate::engine::{Input, Party};

    #[test]
    fn all_pairs_of_short_numbers() {
        for width in 1..=6 {
            let pairs: Vec<(u128, u128)> =
                (0..1 << (2 * width)).map(|i| (i >> width, i % (1 << width))).collect();
            let (a, b): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
            let expected: Bits = pairs.iter().map(|(a, b)| a > b).collect();
            let found = greater_by_tree(&mut Clear::default(), &rows(&a, width), &rows(&b, width)).unwrap();
            assert_eq!(found, expected, "{width} bits");
        }
    }

    #[test]
    fn long_numbers() {
        let numbers =
            [0, 1, 1 << 99, (1 << 100) - 1, 0x1234_5678_9abc_def0_1234_5678, 1 << 64, (1 << 64) - 1];
        let pairs: Vec<_> = numbers.iter().flat_map(|a| numbers.map(|b| (*a, b))).collect();
        let (a, b): (Vec<u128>, Vec<u128>) = pairs.iter().copied().unzip();
        let expected: Bits = pairs.iter().map(|(a, b)| a > b).collect();
        let found = greater_by_tree(&mut Clear::default(), &rows(&a, 100), &rows(&b, 100)).unwrap();
        assert_eq!(found, expected);
    }

    #[test]
    fn gates_and_layers_are_as_many_as_the_formulas_say() {
        for width in 1..=130 {
            let mut count = Count::default();
            let bits = Input::Hidden { rows: width, len: 3 };
            let [a, b] = [Party::Receiver, Party::Sender].map(|party| count.input(party, bits).unwrap());
            greater_by_tree(&mut count, &a, &b).unwrap();
            let levels = width.next_power_of_two().ilog2();
            assert_eq!(count.ands, 3 * (3 * width as u64 - u64::from(levels) - 2), "{width} bits");
            assert_eq!((count.depth, count.layers), (levels + 1, u64::from(levels) + 1), "{width} bits");
        }
    }
}
