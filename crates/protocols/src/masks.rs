//! Masks: short hashes by which a party finds the items that the other party holds too.
//!
//! A mask has ℓ = λ + ⌈log2 n_r⌉ + ⌈log2 n_s⌉ bits (PSSZ15 §3.1, semi-honest), so that among the n_r · n_s
//! pairs of different items two equal masks appear with probability at most 2^-λ. On the wire it takes ⌈ℓ/8⌉
//! bytes, little-endian. A list whose positions mean nothing is sent *sorted*, which hides the order of the
//! sender's items.

use vesica_channel::{RecvHalf, SendHalf};
use vesica_crypto::memory::large_capacity;
use vesica_encode::radix::{self, Prefixed};

use crate::error::{Error, Misbehaviour, Misuse};
use crate::parameters::{Parameters, Security};
use crate::protocol::{Learns, Phase, Run, Sizes};

/// Masks handled between two calls of the channel.
const CHUNK: usize = 1 << 14;

/// The agreed width of a mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaskWidth {
    bits: u32,
}

impl MaskWidth {
    /// Whole hashes of 128 bits.
    pub const WHOLE: Self = Self { bits: u128::BITS };

    /// ℓ for sets of these sizes, where λ is `statistical`.
    pub fn for_sizes(sizes: Sizes, statistical: u32) -> Result<Self, Error> {
        Self::for_candidates(sizes, 1, statistical)
    }

    /// ℓ against semi-honest parties. Against malicious parties 128 bits: the security proof extracts a set
    /// from whole outputs.
    pub fn for_run(sizes: Sizes, parameters: &Parameters) -> Result<Self, Error> {
        match parameters.security {
            Security::SemiHonest => Self::for_sizes(sizes, parameters.statistical),
            Security::Malicious => Ok(Self::WHOLE),
        }
    }

    /// ℓ + ⌈log2 c⌉, where c masks of each of the receiver's items are compared with the sender's.
    pub fn for_candidates(sizes: Sizes, candidates: usize, statistical: u32) -> Result<Self, Error> {
        let Sizes { receiver, sender } = sizes;
        let bits = mask_bits(sizes, statistical) + ceil_log2(candidates);
        if bits <= u128::BITS {
            Ok(Self { bits })
        } else {
            Err(Misuse::TooManyItems { receiver, sender }.into())
        }
    }

    /// ℓ' = max(ℓ, λ + 2⌈log2 n_s⌉ - 1): bits of hashed items where the receiver would see two equal ones of
    /// the sender. Two different items of the sender are then hashed to one number with probability at most
    /// 2^-λ, and so are two of different sides.
    pub fn for_hashed_items(sizes: Sizes, statistical: u32) -> Result<Self, Error> {
        let Sizes { receiver, sender } = sizes;
        let within = statistical + (2 * ceil_log2(sender)).saturating_sub(1);
        let bits = mask_bits(sizes, statistical).max(within);
        if bits <= u128::BITS {
            Ok(Self { bits })
        } else {
            Err(Misuse::TooManyItems { receiver, sender }.into())
        }
    }

    /// λ + ⌈log2 n(n - 1)/2⌉ for n = n_r + n_s: bits of hashed items where two equal ones are a match, whosever
    /// they are. Two different items of both parties together are then hashed to one number with probability
    /// at most 2^-λ.
    pub fn for_all_items(sizes: Sizes, statistical: u32) -> Result<Self, Error> {
        let Sizes { receiver, sender } = sizes;
        let items = receiver as u128 + sender as u128;
        let pairs = items.checked_mul(items.saturating_sub(1)).map(|ordered| ordered / 2);
        let bits = pairs.map(|pairs| statistical + u128::BITS - pairs.saturating_sub(1).leading_zeros());
        match bits {
            Some(bits) if bits <= u128::BITS => Ok(Self { bits }),
            _ => Err(Misuse::TooManyItems { receiver, sender }.into()),
        }
    }

    /// λ + ⌈log2 c⌉, for values of which c pairs are compared, each random and its own.
    pub fn for_pairs(pairs: usize, statistical: u32) -> Self {
        Self { bits: statistical + ceil_log2(pairs) }
    }

    /// So many bits, at most 128: numbers that are sent like masks.
    pub(crate) fn of_bits(bits: u32) -> Self {
        Self { bits }
    }

    /// ℓ.
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// ⌈ℓ/8⌉: bytes of a mask on the wire.
    pub fn bytes(self) -> usize {
        self.bits.div_ceil(8) as usize
    }

    /// The mask made of the first ℓ bits of a hash.
    pub fn truncate(self, hash: &[u8; 16]) -> u128 {
        u128::from_le_bytes(*hash) & (u128::MAX >> (u128::BITS - self.bits))
    }
}

/// ℓ, also where it is more than a mask can have.
pub(crate) fn mask_bits(sizes: Sizes, statistical: u32) -> u32 {
    statistical + ceil_log2(sizes.receiver) + ceil_log2(sizes.sender)
}

/// ⌈log2 n⌉, and 0 for an empty set.
fn ceil_log2(n: usize) -> u32 {
    n.max(1).next_power_of_two().trailing_zeros()
}

/// Is told how many more masks have gone. An error ends the transfer.
pub(crate) type OnProgress<'a> = &'a mut dyn FnMut(usize) -> Result<(), Error>;

/// Sends `masks`, in the order given.
pub(crate) fn send(
    width: MaskWidth,
    masks: impl ExactSizeIterator<Item = u128>,
    channel: &mut dyn SendHalf,
    on_progress: OnProgress<'_>,
) -> Result<(), Error> {
    let mut buffer = Vec::with_capacity(CHUNK.min(masks.len()) * width.bytes());
    for mask in masks {
        buffer.extend_from_slice(&mask.to_le_bytes()[..width.bytes()]);
        if buffer.len() >= CHUNK * width.bytes() {
            channel.send(&buffer)?;
            buffer.clear();
            on_progress(CHUNK)?;
        }
    }
    channel.send(&buffer)?;
    Ok(channel.flush()?)
}

/// Receives `count` masks; a mask with a bit above the width is refused.
pub(crate) fn recv(
    width: MaskWidth,
    count: usize,
    channel: &mut dyn RecvHalf,
    on_progress: OnProgress<'_>,
) -> Result<Vec<u128>, Error> {
    let mut masks = Vec::new();
    let mut buffer = vec![0; CHUNK.min(count) * width.bytes()];
    while masks.len() < count {
        let take = (count - masks.len()).min(CHUNK);
        let bytes = &mut buffer[..take * width.bytes()];
        channel.recv_exact(bytes)?;
        for encoded in bytes.chunks_exact(width.bytes()) {
            let mut padded = [0; 16];
            padded[..encoded.len()].copy_from_slice(encoded);
            let mask = u128::from_le_bytes(padded);
            if mask != width.truncate(&padded) {
                return Err(Misbehaviour::WideMask { position: masks.len() }.into());
            }
            masks.push(mask);
        }
        on_progress(take)?;
    }
    Ok(masks)
}

/// Sends the masks of the sender's items in ascending order. Under `--learns both` the answer is the item at
/// each position.
///
/// # Errors
/// If the channel fails, or the run is cancelled.
pub fn send_sorted(
    run: &Run<'_>,
    width: MaskWidth,
    masks: impl Iterator<Item = (u128, u32)>,
    channel: &mut dyn SendHalf,
) -> Result<Vec<u32>, Error> {
    run.phase(Phase::Exchange, run.sizes.sender);
    let (mut mine, mut items) = (large_capacity(run.sizes.sender), Vec::new());
    match run.learns {
        Learns::Receiver => {
            mine.extend(masks.map(|(mask, _)| mask));
            sort(run.threads, width.bits(), &mut mine);
        }
        Learns::Both => {
            items.reserve(run.sizes.sender);
            masks.for_each(|(mask, item)| {
                mine.push(mask);
                items.push(item);
            });
            sort_with_items(run.threads, width.bits(), &mut mine, &mut items);
        }
    }
    send(width, mine.into_iter(), channel, &mut |masks| run.advance(masks))?;
    Ok(items)
}

/// Receives the sender's masks, which must ascend. Two equal ones are possible, if hardly probable; in malicious
/// runs they are refused, lest a sender repeat one guess and see how long that many matches take.
///
/// # Errors
/// If they do not ascend, the channel fails, or the run is cancelled.
pub fn recv_sorted(run: &Run<'_>, width: MaskWidth, channel: &mut dyn RecvHalf) -> Result<Vec<u128>, Error> {
    run.phase(Phase::Exchange, run.sizes.sender);
    let masks = recv(width, run.sizes.sender, channel, &mut |masks| run.advance(masks))?;
    // Whole masks are those of protocols for malicious parties.
    let equal_are_refused = run.parameters.security == Security::Malicious || width == MaskWidth::WHOLE;
    match masks.windows(2).position(|pair| pair[0] > pair[1] || equal_are_refused && pair[0] == pair[1]) {
        None => Ok(masks),
        Some(before) => Err(Misbehaviour::UnsortedMasks { position: before + 1 }.into()),
    }
}

/// A mask of mine and the item it belongs to; in the order of masks, then of items.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Tagged {
    mask: u128,
    item: u32,
}

impl Prefixed for Tagged {
    fn prefix(&self) -> u64 {
        self.mask.prefix()
    }
}

/// Sorts masks of `bits` bits.
pub(crate) fn sort(threads: usize, bits: u32, masks: &mut [u128]) {
    // The bits that differ come first, where the sort looks for them.
    let above = u128::BITS - bits;
    if above > 0 {
        masks.iter_mut().for_each(|mask| *mask <<= above);
    }
    radix::sort_by_threads(threads, masks);
    if above > 0 {
        masks.iter_mut().for_each(|mask| *mask >>= above);
    }
}

/// Sorts masks of `bits` bits, and with them the item that each belongs to. The order of equal masks is that of
/// their items.
pub(crate) fn sort_with_items(threads: usize, bits: u32, masks: &mut [u128], items: &mut [u32]) {
    let above = u128::BITS - bits;
    if above >= u32::BITS {
        // The item fits below its mask, so that half as many bytes move.
        masks.iter_mut().zip(&*items).for_each(|(mask, item)| *mask = *mask << above | u128::from(*item));
        radix::sort_by_threads(threads, masks);
        for (mask, item) in masks.iter_mut().zip(items) {
            *item = *mask as u32;
            *mask >>= above;
        }
    } else {
        let mut tagged: Vec<Tagged> = large_capacity(masks.len());
        tagged.extend(masks.iter().zip(&*items).map(|(&mask, &item)| Tagged { mask, item }));
        radix::sort_by_threads(threads, &mut tagged);
        let sorted = masks.iter_mut().zip(items).zip(tagged);
        sorted.for_each(|((mask, item), tagged)| (*mask, *item) = (tagged.mask, tagged.item));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::{MOST_STATISTICAL_SECURITY, STATISTICAL_SECURITY};
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn widths_follow_the_formula() {
        let bits = |receiver, sender| {
            MaskWidth::for_sizes(Sizes { receiver, sender }, STATISTICAL_SECURITY).unwrap().bits()
        };
        assert_eq!(bits(0, 0), 40);
        assert_eq!(bits(1, 1), 40);
        assert_eq!(bits(2, 3), 40 + 1 + 2);
        assert_eq!(bits(1 << 20, 1 << 20), 80);
        assert_eq!(bits((1 << 20) + 1, 1 << 20), 81);
        assert_eq!(MaskWidth { bits: 81 }.bytes(), 11);
        let hashed = |receiver, sender| {
            MaskWidth::for_hashed_items(Sizes { receiver, sender }, STATISTICAL_SECURITY)
                .map(|width| width.bits())
        };
        assert_eq!([hashed(1, 1), hashed(1 << 24, 1), hashed(1 << 20, 1 << 20)], [Ok(40), Ok(64), Ok(80)]);
        assert_eq!([hashed(1 << 8, 1 << 24), hashed(1, 1 << 24), hashed(1, 3)], [Ok(87), Ok(87), Ok(43)]);
        assert!(hashed(1, 1 << 44).is_ok() && hashed(1, 1 << 45).is_err());
        // A longer λ lengthens every width by as much.
        let sizes = Sizes { receiver: 300, sender: 5000 };
        let widths = |statistical| {
            [
                MaskWidth::for_sizes(sizes, statistical),
                MaskWidth::for_candidates(sizes, 7, statistical),
                MaskWidth::for_hashed_items(sizes, statistical),
                MaskWidth::for_all_items(sizes, statistical),
                Ok(MaskWidth::for_pairs(300, statistical)),
            ]
            .map(|width| width.unwrap().bits())
        };
        assert_eq!(widths(MOST_STATISTICAL_SECURITY), widths(STATISTICAL_SECURITY).map(|bits| bits + 16));
        let huge = Sizes { receiver: 1 << 60, sender: 1 << 60 };
        assert!(MaskWidth::for_all_items(huge, STATISTICAL_SECURITY).is_err());
        let most = Sizes { receiver: usize::MAX, sender: usize::MAX };
        assert!(MaskWidth::for_all_items(most, STATISTICAL_SECURITY).is_err());
        assert_eq!(
            MaskWidth::for_sizes(huge, STATISTICAL_SECURITY),
            Err(Misuse::TooManyItems { receiver: 1 << 60, sender: 1 << 60 }.into())
        );
    }

    #[test]
    fn hashes_of_all_items_collide_with_the_statistical_parameter_and_a_bit_less_would_not_do() {
        for (receiver, sender) in [(1, 2), (256, 1), (300, 3), (1000, 900), (1 << 20, 1 << 20), (1, 1 << 24)]
        {
            let bits =
                MaskWidth::for_all_items(Sizes { receiver, sender }, STATISTICAL_SECURITY).unwrap().bits();
            let pairs = |n: usize| (n * (n - 1) / 2) as f64;
            // Of either party, and of both.
            let all = pairs(receiver) + pairs(sender) + (receiver * sender) as f64;
            let exponent = all.log2() - f64::from(bits);
            assert!((-41.0..=-40.0).contains(&exponent), "{receiver}, {sender}: 2^{exponent}");
        }
        assert_eq!(
            MaskWidth::for_all_items(Sizes { receiver: 1, sender: 1 }, STATISTICAL_SECURITY).unwrap().bits(),
            40
        );
    }

    #[test]
    fn truncation_keeps_the_low_bits() {
        assert_eq!(MaskWidth { bits: 40 }.truncate(&[0xff; 16]), (1 << 40) - 1);
        assert_eq!(MaskWidth { bits: 128 }.truncate(&[0xff; 16]), u128::MAX);
    }

    #[test]
    fn masks_are_sorted_with_their_items() {
        let mut rng = StdRng::seed_from_u64(1);
        for bits in [1, 40, 80, 96, 97, 128] {
            for count in [0, 1, 5, 3000] {
                let width = MaskWidth { bits };
                let mut pairs: Vec<(u128, u32)> = (0..count)
                    .map(|_| (width.truncate(&rng.random()), rng.random()))
                    // Equal masks, and the greatest item.
                    .chain([(3 & width.truncate(&[0xff; 16]), u32::MAX), (1, 7), (1, 6)])
                    .collect();
                let (mut masks, mut items): (Vec<u128>, Vec<u32>) = pairs.iter().copied().unzip();
                let mut alone = masks.clone();
                pairs.sort_unstable();
                sort(1, bits, &mut alone);
                sort_with_items(1, bits, &mut masks, &mut items);
                assert!(masks.iter().copied().zip(items).eq(pairs), "{bits} {count}");
                assert_eq!(alone, masks);
            }
        }
    }

    #[test]
    fn lists_come_back_and_foreign_ones_are_refused() {
        use vesica_channel::{Channel, memory};
        use vesica_crypto::hash::Context;
        let width = MaskWidth { bits: 44 };
        let round_trip = |masks: &[u128]| {
            let (mut a, mut b) = memory::pair();
            send(width, masks.iter().copied(), a.split().0, &mut |_| Ok(())).unwrap();
            assert_eq!(a.traffic().payload_sent, masks.len() as u64 * 6);
            let sizes = Sizes { receiver: 1, sender: masks.len() };
            let context = Context::new(&[1; 32], "masks", b"", 1, masks.len() as u64);
            let run = crate::testing::run_of(context, sizes, crate::Parameters::default());
            recv_sorted(&run, width, b.split().1)
        };
        let many: Vec<u128> = (0..40_000).map(|i| i * 5).collect();
        assert_eq!(round_trip(&many).unwrap(), many);
        assert_eq!(round_trip(&[]).unwrap(), []);
        assert_eq!(round_trip(&[3, 3]).unwrap(), [3, 3]);
        assert_eq!(round_trip(&[3, 9, 8]), Err(Misbehaviour::UnsortedMasks { position: 2 }.into()));
        assert_eq!(round_trip(&[3, 1 << 44]), Err(Misbehaviour::WideMask { position: 1 }.into()));
    }
}
