//! `--learns both`: the receiver tells the sender which of the masks it sent were matched.
//!
//! The sender's list has n_s masks in an order that the sender remembers. The receiver returns k positions in
//! it: k as u32, and then either the k positions in ascending order (u32 each) or a bitmap of n_s bits (first
//! mask = lowest bit of the first byte), whichever is shorter. That is all in a semi-honest run. A receiver
//! that lies can withhold matches or invent them, so the registry lists such a run as semi-honest.

use vesica_channel::{RecvHalf, SendHalf};

use crate::error::{Error, Misbehaviour};

/// Bytes behind the count.
pub(crate) fn body_bytes(listed: usize, matched: usize) -> usize {
    if is_bitmap(listed, matched) { listed.div_ceil(8) } else { 4 * matched }
}

fn is_bitmap(listed: usize, matched: usize) -> bool {
    listed.div_ceil(8) < 4 * matched
}

/// Sends the matched positions of a list of `listed` masks.
pub(crate) fn send(
    listed: usize,
    matched: impl Iterator<Item = u32>,
    channel: &mut dyn SendHalf,
) -> Result<(), Error> {
    let mut matched = matched.collect::<Vec<_>>();
    // Two of my items can have matched one mask, with probability 2^-λ.
    matched.sort_unstable();
    matched.dedup();
    channel.send(&(matched.len() as u32).to_le_bytes())?;
    let mut body = vec![0; body_bytes(listed, matched.len())];
    if is_bitmap(listed, matched.len()) {
        for position in matched {
            body[position as usize / 8] |= 1 << (position % 8);
        }
    } else {
        for (slot, position) in body.chunks_exact_mut(4).zip(matched) {
            slot.copy_from_slice(&position.to_le_bytes());
        }
    }
    channel.send(&body)?;
    Ok(channel.flush()?)
}

/// Receives positions in a list of `listed` masks, ascending.
pub(crate) fn recv(listed: usize, most: usize, channel: &mut dyn RecvHalf) -> Result<Vec<u32>, Error> {
    let mut count = [0; 4];
    channel.recv_exact(&mut count)?;
    let count = u32::from_le_bytes(count) as usize;
    if count > listed.min(most) {
        return Err(Misbehaviour::InvalidPositions.into());
    }
    let mut body = vec![0; body_bytes(listed, count)];
    channel.recv_exact(&mut body)?;
    let positions: Vec<u32> = if is_bitmap(listed, count) {
        let set = |position: &usize| body[position / 8] >> (position % 8) & 1 == 1;
        (0..body.len() * 8).filter(set).map(|position| position as u32).collect()
    } else {
        body.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    };
    let ascending = positions.windows(2).all(|pair| pair[0] < pair[1]);
    let within = positions.last().is_none_or(|&last| (last as usize) < listed);
    if positions.len() == count && ascending && within {
        Ok(positions)
    } else {
        Err(Misbehaviour::InvalidPositions.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vesica_channel::{Channel, memory};

    fn round_trip(listed: usize, matched: &[u32]) -> Result<Vec<u32>, Error> {
        let (mut a, mut b) = memory::pair();
        send(listed, matched.iter().copied(), a.split().0)?;
        recv(listed, listed, b.split().1)
    }

    #[test]
    fn lists_and_bitmaps_come_back() {
        for (listed, matched) in
            [(0, vec![]), (1, vec![0]), (9, vec![8]), (1000, vec![0, 7, 8, 999]), (64, (0..64).collect())]
        {
            assert_eq!(round_trip(listed, &matched).unwrap(), matched);
        }
    }

    #[test]
    fn foreign_positions_are_refused() {
        let refused = |listed: usize, most: usize, wire: &[u8]| {
            let (mut a, mut b) = memory::pair();
            a.send(wire).unwrap();
            a.flush().unwrap();
            drop(a);
            recv(listed, most, b.split().1).unwrap_err()
        };
        let bad = Error::from(Misbehaviour::InvalidPositions);
        assert_eq!(refused(8, 8, &9u32.to_le_bytes()), bad, "more matches than masks");
        assert_eq!(refused(8, 2, &3u32.to_le_bytes()), bad, "more matches than items");
        assert_eq!(refused(8, 8, &[2, 0, 0, 0, 0b1]), bad, "count and bitmap differ");
        assert_eq!(refused(4, 4, &[1, 0, 0, 0, 0b1_0000]), bad, "beyond the list");
        let descending = [2u32, 900, 1].map(u32::to_le_bytes).concat();
        assert_eq!(refused(1000, 1000, &descending), bad, "not ascending");
    }
}
