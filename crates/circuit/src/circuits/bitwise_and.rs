//! Bitwise AND: which numbers of a small public domain both parties have (HEK12 §3).
//!
//! Each party's set is a row of 2^σ bits, one for each number of the domain, set if the number is in the set.
//!
//! Cost: 2^σ AND gates of depth 1, one input of each being a bit that the sender alone knows; 2^σ input bits of the receiver.

use crate::engine::{Engine, Input, Party};
use crate::error::Error;
use crate::pieces::{and_private, batches, part};

/// Numbers whose input wires are held at a time, or as many as the engine takes at once if that is more.
const BATCH: usize = 1 << 20;

/// AND gates for a domain of so many numbers, each with a private bit of the sender.
#[must_use]
pub fn ands(domain: u64) -> u64 {
    domain
}

/// Gives `each` the match wires of the whole domain, in order and batch by batch: a set wire for each number
/// that both parties have. An input is one row.
///
/// # Errors
/// As [`Engine::input`] and [`Engine::and`], and those of `each`.
///
/// # Panics
/// If the inputs are not one row each, of the same length.
pub fn bitwise_and<E: Engine>(
    engine: &mut E,
    receiver: Input<'_>,
    sender: Input<'_>,
    mut each: impl FnMut(&mut E, E::Wires) -> Result<(), Error>,
) -> Result<(), Error> {
    let domain = receiver.row_len();
    assert_eq!((receiver.rows(), sender.rows(), sender.row_len()), (1, 1, domain), "a row of each party");
    for batch in batches(engine, domain, BATCH) {
        let (mine, theirs) = (part(receiver, batch.clone()), part(sender, batch));
        let numbers = engine.input(Party::Receiver, mine.as_input())?;
        // HEK12 §3: an AND for each number.
        let mut matches = and_private(engine, Party::Sender, theirs.as_input(), &numbers)?;
        each(engine, matches.swap_remove(0))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::Bits;
    use crate::clear::Clear;
    use crate::count::Count;

    fn set(domain: usize, step: usize) -> Vec<Bits> {
        vec![(0..domain).map(|number| (number * number + 1).is_multiple_of(step)).collect()]
    }

    #[test]
    fn numbers_that_both_have() {
        for (domain, chunk) in [(0, 5), (1, 5), (100, 1), (100, 7), (100, usize::MAX), (BATCH + 100, 300)] {
            let (receiver, sender) = (set(domain, 2), set(domain, 5));
            let mut matches = Vec::new();
            let mut engine = Clear::with_chunk(chunk);
            bitwise_and(&mut engine, Input::Known(&receiver), Input::Known(&sender), |_, batch| {
                matches.extend(batch.iter());
                Ok(())
            })
            .unwrap();
            let expected = receiver[0].iter().zip(sender[0].iter()).map(|(a, b)| a && b);
            assert_eq!(matches, expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_gate_for_each_number() {
        for chunk in [300, usize::MAX] {
            let mut count = Count::with_chunk(chunk);
            let input = Input::Hidden { rows: 1, len: 1 << 20 };
            bitwise_and(&mut count, input, input, |_, _| Ok(())).unwrap();
            assert_eq!((count.private_ands, count.depth, count.inputs), (ands(1 << 20), 1, [1 << 20; 2]));
            assert_eq!(count.ands, 0);
        }
    }
}
