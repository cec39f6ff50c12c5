//! Addition with one AND gate a bit (Kolesnikov, Sadeghi, Schneider, CANS 2009, §3.1).

use crate::engine::{Engine, Input, Party};
use crate::error::Error;

/// The sum bit and the carry of three bits: c' = c ⊕ ((a ⊕ c) ∧ (b ⊕ c)).
///
/// # Errors
/// As [`Engine::and`].
pub fn full_adder<E: Engine>(
    engine: &mut E,
    a: &E::Wires,
    b: &E::Wires,
    carry: &E::Wires,
) -> Result<(E::Wires, E::Wires), Error> {
    let (left, right) = (engine.xor(a, carry), engine.xor(b, carry));
    let sum = engine.xor(&left, b);
    let product = engine.and(&[(&left, &right)])?;
    Ok((sum, engine.xor(carry, &product[0])))
}

/// a + b: as many bits as the longer number and one more, for as many AND gates an instance as the longer
/// number has bits.
///
/// # Errors
/// As [`Engine::and`].
///
/// # Panics
/// If a number has no bits.
pub fn add<E: Engine>(engine: &mut E, a: &[E::Wires], b: &[E::Wires]) -> Result<Vec<E::Wires>, Error> {
    let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
    assert!(!short.is_empty(), "numbers have bits");
    let mut sum = Vec::with_capacity(long.len() + 1);
    let mut carry = engine.and(&[(&long[0], &short[0])])?.swap_remove(0);
    sum.push(engine.xor(&long[0], &short[0]));
    for (a, b) in long.iter().zip(short).skip(1) {
        let (bit, next) = full_adder(engine, a, b, &carry)?;
        sum.push(bit);
        carry = next;
    }
    for a in &long[short.len()..] {
        sum.push(engine.xor(a, &carry));
        carry = engine.and(&[(a, &carry)])?.swap_remove(0);
    }
    sum.push(carry);
    Ok(sum)
}

/// v + m, where m is a number of w private bits of `owner`, at least as long as v of σ bits: w + 1 bits.
///
/// Above bit σ only the carry meets the mask, and the mask's bit is private: σ - 1 AND gates an instance, and
/// w - σ + 1 with a private bit.
///
/// # Errors
/// As [`Engine::and_private`].
///
/// # Panics
/// If v has no bits, or the mask fewer.
pub fn add_private<E: Engine>(
    engine: &mut E,
    owner: Party,
    mask: Input<'_>,
    value: &[E::Wires],
) -> Result<Vec<E::Wires>, Error> {
    assert!(!value.is_empty() && mask.rows() >= value.len(), "a mask that is as long as the value");
    let masks = engine.input(owner, mask)?;
    let mut sum = Vec::with_capacity(masks.len() + 1);
    let mut carry = engine.and_private(owner, row(mask, 0), &value[..1])?.swap_remove(0);
    sum.push(engine.xor(&masks[0], &value[0]));
    for (mask, value) in masks.iter().zip(value).skip(1) {
        let (bit, next) = full_adder(engine, mask, value, &carry)?;
        sum.push(bit);
        carry = next;
    }
    for (i, bit) in masks.iter().enumerate().skip(value.len()) {
        sum.push(engine.xor(bit, &carry));
        carry = engine.and_private(owner, row(mask, i), &[carry])?.swap_remove(0);
    }
    sum.push(carry);
    Ok(sum)
}

/// One row of an input.
fn row(input: Input<'_>, at: usize) -> Input<'_> {
    match input {
        Input::Known(rows) => Input::Known(&rows[at..=at]),
        Input::Hidden { len, .. } => Input::Hidden { rows: 1, len },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{numbers, rows};
    use crate::clear::Clear;
    use crate::count::Count;

    /// All pairs of a number of `a` bits and one of `b` bits.
    fn pairs(a: usize, b: usize) -> [Vec<u128>; 2] {
        let pairs = (0..1 << (a + b)).map(|i| (i >> b, i & ((1 << b) - 1)));
        let (a, b) = pairs.unzip();
        [a, b]
    }

    #[test]
    fn sums_of_all_short_numbers() {
        for (width, other) in [(1, 1), (1, 4), (4, 1), (3, 3), (4, 3)] {
            let [a, b] = pairs(width, other);
            let expected: Vec<u128> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
            let (a, b) = (rows(&a, width), rows(&b, other));
            assert_eq!(numbers(&add(&mut Clear::default(), &a, &b).unwrap()), expected);
            if other <= width {
                let mask = Input::Known(&a);
                let sum = add_private(&mut Clear::default(), Party::Sender, mask, &b).unwrap();
                assert_eq!((sum.len(), numbers(&sum)), (width + 1, expected));
            }
        }
    }

    #[test]
    fn a_gate_for_each_bit_of_the_longer_number() {
        for (long, short) in [(1, 1), (8, 3), (32, 32), (92, 32)] {
            let mut count = Count::default();
            let wires = count.input(Party::Receiver, Input::Hidden { rows: long, len: 10 }).unwrap();
            assert_eq!(add(&mut count, &wires, &wires[..short]).unwrap().len(), long + 1);
            assert_eq!((count.ands, count.depth), (10 * long as u64, long as u32));
            let mut count = Count::default();
            let mask = Input::Hidden { rows: long, len: 10 };
            add_private(&mut count, Party::Sender, mask, &wires[..short]).unwrap();
            let private = 10 * (long - short + 1) as u64;
            assert_eq!((count.ands, count.private_ands), (10 * (short as u64 - 1), private));
        }
    }
}
