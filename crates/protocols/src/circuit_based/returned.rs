//! `--learns both` after a circuit: the receiver returns the numbers of the matches, in ascending order.
//!
//! The receiver learns the result of the circuit and tells the sender what it is (HEK12 §5.3.2, §5.3.3). The
//! numbers are those that stand for items in the circuit, of σ bits: k as u32, then k numbers of ⌈σ/8⌉ bytes.
//! Their order says nothing, and the sender has them all. A receiver that lies can withhold matches; it cannot
//! invent one unless it guesses an item, which is why the sender refuses a number that is not its own.

use vesica_channel::{RecvHalf, SendHalf};

use crate::entry::Shape;
use crate::error::{Error, Misbehaviour};
use crate::masks::{self, MaskWidth};
use crate::protocol::Learns;

/// The bytes of the matches' numbers of σ bits; 0 where the receiver alone learns the result.
pub(crate) fn bytes(shape: &Shape, sigma: u32) -> u64 {
    match shape.learns {
        Learns::Receiver => 0,
        Learns::Both => 4 + shape.matches as u64 * u64::from(sigma.div_ceil(8)),
    }
}

/// Sends these numbers of σ bits.
pub(crate) fn send(mut numbers: Vec<u128>, sigma: u32, channel: &mut dyn SendHalf) -> Result<(), Error> {
    // Two items of mine can have become one number, with probability 2^-λ.
    numbers.sort_unstable();
    numbers.dedup();
    channel.send(&(numbers.len() as u32).to_le_bytes())?;
    masks::send(MaskWidth::of_bits(sigma), numbers.into_iter(), channel, &mut |_| Ok(()))
}

/// Receives at most `most` numbers of σ bits, and finds them among `own`: the items that have them.
pub(crate) fn recv(
    own: &[u128],
    sigma: u32,
    most: usize,
    channel: &mut dyn RecvHalf,
) -> Result<Vec<u32>, Error> {
    let mut count = [0; 4];
    channel.recv_exact(&mut count)?;
    let count = u32::from_le_bytes(count) as usize;
    if count > most.min(own.len()) {
        return Err(Misbehaviour::InvalidMatches.into());
    }
    let numbers = masks::recv(MaskWidth::of_bits(sigma), count, channel, &mut |_| Ok(()))?;
    let ascending = numbers.windows(2).all(|pair| pair[0] < pair[1]);
    let mut found = vec![false; numbers.len()];
    let mut items = Vec::with_capacity(numbers.len());
    for (item, number) in (0..).zip(own) {
        if let Ok(at) = numbers.binary_search(number) {
            found[at] = true;
            items.push(item);
        }
    }
    if ascending && found.iter().all(|found| *found) {
        Ok(items)
    } else {
        Err(Misbehaviour::InvalidMatches.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Sizes;
    use vesica_channel::{Channel, memory};

    #[test]
    fn numbers_find_the_items_that_have_them() {
        let own = [900, 5, 70_000, 5, 12];
        for (returned, items) in [
            (vec![], vec![]),
            (vec![12], vec![4]),
            (vec![70_000, 5], vec![1, 2, 3]),
            (vec![900, 900], vec![0]),
        ] {
            let (mut a, mut b) = memory::pair();
            let distinct = returned.iter().collect::<std::collections::HashSet<_>>().len();
            send(returned, 17, a.split().0).unwrap();
            let sizes = Sizes { receiver: 9, sender: 9 };
            let shape = Shape { learns: Learns::Both, matches: distinct, ..Shape::new(sizes) };
            assert_eq!(a.traffic().payload_sent, bytes(&shape, 17));
            assert_eq!(recv(&own, 17, 5, b.split().1).unwrap(), items);
        }
    }

    #[test]
    fn foreign_numbers_are_refused() {
        let refused = |most: usize, wire: &[u8]| {
            let (mut a, mut b) = memory::pair();
            a.send(wire).unwrap();
            a.flush().unwrap();
            drop(a);
            recv(&[1, 2, 3], 10, most, b.split().1).unwrap_err()
        };
        let bad = Error::from(Misbehaviour::InvalidMatches);
        assert_eq!(refused(3, &4u32.to_le_bytes()), bad, "more than we have");
        assert_eq!(refused(1, &2u32.to_le_bytes()), bad, "more than they have");
        assert_eq!(refused(3, &[1, 0, 0, 0, 4, 0]), bad, "not ours");
        assert_eq!(refused(3, &[2, 0, 0, 0, 2, 0, 1, 0]), bad, "not ascending");
        assert_eq!(refused(3, &[2, 0, 0, 0, 2, 0, 2, 0]), bad, "twice");
        let wide = Error::from(Misbehaviour::WideMask { position: 0 });
        assert_eq!(refused(3, &[1, 0, 0, 0, 1, 4]), wide);
    }
}
