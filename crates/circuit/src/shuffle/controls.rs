//! The control bits of a Waksman network for a given permutation: the looping algorithm (HEK12 Algorithm 2).

use std::fmt;
use std::ops::Range;

use zeroize::Zeroizing;

use super::{Side, halves, layers_of_inputs};
use crate::bits::Bits;
use crate::networks::Run;
use crate::wires::Wires;

/// Runs of so many bits on average are copied as ranges.
const LONG: usize = 64;

/// Marks an output that has no route yet.
const NONE: u32 = u32::MAX;

/// A private bit for each swapper of a network. They are wiped when dropped, and never printed.
pub struct Controls {
    len: usize,
    /// For each level, from the outermost: the bits of the input swappers and of the output swappers, each at
    /// the swapper's lower position.
    levels: Vec<[Bits; 2]>,
}

impl fmt::Debug for Controls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controls").field("len", &self.len).finish_non_exhaustive()
    }
}

impl Controls {
    /// The bits with which output i is input `permutation[i]`. The time depends on the permutation, which is
    /// fresh for each network and goes nowhere else; a caller wipes its copy.
    ///
    /// # Panics
    /// If it is no permutation.
    #[must_use]
    pub fn new(permutation: &[u32]) -> Self {
        let len = permutation.len();
        let mut seen = Zeroizing::new(vec![false; len]);
        let new = permutation
            .iter()
            .all(|&to| seen.get_mut(to as usize).is_some_and(|seen| !std::mem::replace(seen, true)));
        assert!(new, "a permutation has each number once");
        let mut orders = Orders {
            order: Zeroizing::new(permutation.to_vec()),
            inner: Zeroizing::new(vec![NONE; len]),
            inverse: Zeroizing::new(vec![0; len]),
        };
        let all = 0..len;
        let mut networks = vec![all];
        let mut levels = Vec::with_capacity(layers_of_inputs(len));
        for _ in 0..layers_of_inputs(len) {
            let mut bits = [vec![0; len.div_ceil(64)], vec![0; len.div_ceil(64)]];
            orders.inner.fill(NONE);
            for network in networks.iter().filter(|network| network.len() > 1) {
                orders.route(network, &mut bits);
            }
            std::mem::swap(&mut orders.order, &mut orders.inner);
            networks = networks.iter().flat_map(halves).collect();
            levels.push(bits.map(|words| Bits::from_words(words, len)));
        }
        Controls { len, levels }
    }

    /// How many numbers the network has.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The bits of some swappers of a level.
    pub(super) fn of(&self, side: Side, level: usize, runs: &[Run]) -> Bits {
        let bits = &self.levels[level][side as usize];
        let count: usize = runs.iter().map(|run| run.len).sum();
        if count / runs.len() >= LONG {
            return bits.ranges(&runs.iter().map(|run| run.low..run.low + run.len).collect::<Vec<_>>());
        }
        let positions: Vec<u32> =
            runs.iter().flat_map(|run| run.low as u32..(run.low + run.len) as u32).collect();
        bits.gather(&positions)
    }
}

/// The permutations of all networks of a level, each relative to its first position.
struct Orders {
    order: Zeroizing<Vec<u32>>,
    /// Those of their halves, which are found.
    inner: Zeroizing<Vec<u32>>,
    inverse: Zeroizing<Vec<u32>>,
}

impl Orders {
    /// Sets the swappers of a network, and finds the permutations of its halves.
    fn route(&mut self, network: &Range<usize>, bits: &mut [Vec<u64>; 2]) {
        let (n, half) = (network.len(), network.len() / 2);
        let order = &self.order[network.clone()];
        let inverse = &mut self.inverse[network.clone()];
        for (output, &input) in order.iter().enumerate() {
            inverse[input as usize] = output as u32;
        }
        let (upper, lower) = self.inner[network.clone()].split_at_mut(half);
        let pair = |position: usize| if position < half { position } else { position - half };
        let partner = |position: usize| if position < half { position + half } else { position - half };
        let mut set = |side: Side, pair: usize| {
            let position = network.start + pair;
            bits[side as usize][position / 64] |= 1 << (position % 64);
        };
        // The last output comes from the lower half: it has no swapper. A chain of routes that begins with it
        // ends at the last input, if that has none either, and otherwise at its own partner.
        for first in std::iter::once(n - 1).chain(half..2 * half) {
            let mut output = first;
            while lower[pair(output)] == NONE {
                // This output and its input go through the lower half …
                let input = order[output] as usize;
                lower[pair(output)] = pair(input) as u32;
                if input == 2 * half {
                    break;
                }
                if input < half {
                    set(Side::Inputs, input);
                }
                // … so the partner of its input goes through the upper half, to an output whose partner is next.
                let input = partner(input);
                let through_upper = inverse[input] as usize;
                upper[pair(through_upper)] = pair(input) as u32;
                if through_upper >= half {
                    set(Side::Outputs, pair(through_upper));
                }
                output = partner(through_upper);
            }
        }
    }
}
