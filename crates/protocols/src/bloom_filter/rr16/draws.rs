//! Uniformly random orders of a group's OTs, and the OTs of a group that are opened.

use vesica_crypto::block::Block;
use vesica_crypto::memory::Wiped;
use vesica_crypto::prg::Prg;

/// Words that are drawn at a time.
const WORDS: usize = 1 << 10;

/// Numbers that are uniform below any bound.
struct Draws {
    prg: Prg,
    bytes: Wiped<u8>,
    used: usize,
}

impl Draws {
    fn new(seed: Block, stream: u64) -> Self {
        Self { prg: Prg::fork(seed, stream), bytes: Wiped::from(vec![0; WORDS * 4]), used: WORDS }
    }

    #[inline]
    fn word(&mut self) -> u32 {
        if self.used == WORDS {
            self.prg.fill(&mut self.bytes);
            self.used = 0;
        }
        let word = self.bytes.as_chunks().0[self.used];
        self.used += 1;
        u32::from_le_bytes(word)
    }

    /// A number below `bound`, by multiplication, and again where that would favour some (Lemire).
    #[inline]
    fn below(&mut self, bound: u32) -> u32 {
        loop {
            let product = u64::from(self.word()) * u64::from(bound);
            if product as u32 >= bound || product as u32 >= bound.wrapping_neg() % bound {
                return (product >> u32::BITS) as u32;
            }
        }
    }
}

/// Writes a uniformly random order of the numbers below `order.len()`, at most 2^16, to `order`.
///
/// Not constant time: memory accesses depend on the order.
pub(super) fn vartime_shuffle(seed: Block, group: u64, order: &mut [u16]) {
    let mut draws = Draws::new(seed, group);
    // From the inside out: each number takes the place of one that was put before it.
    for number in 0..order.len() {
        let other = draws.below(number as u32 + 1) as usize;
        order[number] = order[other];
        order[other] = number as u16;
    }
}

/// Which OTs of a group are opened: `opened.len()` different numbers below `marks.len()`, uniformly random,
/// listed in `opened` and marked by ones in `marks`.
pub(super) fn challenge(seed: Block, group: u64, opened: &mut [u16], marks: &mut [u8]) {
    let mut draws = Draws::new(seed, group);
    marks.fill(0);
    let ots = marks.len() as u32;
    for entry in opened {
        *entry = loop {
            let number = draws.below(ots) as u16;
            if std::mem::replace(&mut marks[usize::from(number)], 1) == 0 {
                break number;
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vesica_ot::testing::credible;

    #[test]
    fn orders_are_uniform_and_differ_by_seed_and_group() {
        let order = |seed: u128, group| {
            let mut order = [0; 5];
            vartime_shuffle(Block::from(seed), group, &mut order);
            order
        };
        let mut counts = std::collections::HashMap::new();
        for number in 0..12_000u64 {
            *counts.entry(order(u128::from(number % 3), number)).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 120);
        assert!(counts.values().all(|&count| credible(count, 12_000, 1.0 / 120.0)), "{counts:?}");
        let mut long = vec![0; 1 << 16];
        vartime_shuffle(Block::from(1u128), 7, &mut long);
        let mut sorted = long.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq(0..=u16::MAX) && long != sorted);
    }

    #[test]
    fn opened_ots_are_different_and_uniform() {
        let mut counts = [0; 40];
        let (mut opened, mut marks) = (vec![0; 7], vec![9; 40]);
        for group in 0..1000 {
            challenge(Block::from(5u128), group, &mut opened, &mut marks);
            assert_eq!(marks.iter().map(|&mark| usize::from(mark)).sum::<usize>(), 7);
            assert!(opened.iter().all(|&number| marks[usize::from(number)] == 1));
            opened.iter().for_each(|&number| counts[usize::from(number)] += 1);
        }
        assert!(counts.iter().all(|&count| credible(count, 1000, 7.0 / 40.0)), "{counts:?}");
    }
}
