//! Base OTs in the other direction, from an extension: its receiver becomes the receiver of the base OTs.
//!
//! A protocol that takes OTs in both directions makes base OTs by group operations for one of them, or keeps them
//! ([`cache`](crate::base::cache)), and takes those of the other direction from the first rows of the first extension.
//!
//! ```text
//! receiver: c_i ←$ {0,1}, t_i            sender: q_i, Δ          q_i = t_i ⊕ c_i·Δ
//! c_i, H(i, t_i)                         H(i, q_i), H(i, q_i ⊕ Δ)
//! ```
//!
//! **Security:** that of the extension, with the hash of [`random`](crate::random).

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::memory::Wiped;
use zeroize::Zeroizing;

use crate::base::cache::Chosen;
use crate::cot::{CotReceiver, CotSender};
use crate::error::Error;
use crate::random::{OtPads, add_delta};
use crate::seed::Seed;

/// The receiver's side, with random choices. The label serves nothing else under this context.
///
/// # Errors
/// If the connection fails.
pub fn receive<const W: usize>(
    context: &Context,
    label: Label,
    ot: &mut impl CotReceiver<W>,
    count: usize,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Chosen, Error> {
    let mut choices = Zeroizing::new(vec![0; count.div_ceil(8)]);
    rng.fill_bytes(&mut choices);
    let mut rows = Wiped::from(vec![[Block::ZERO; W]; count]);
    ot.extend(&choices, &mut rows, channel)?;
    channel.flush()?;
    OtPads::of(context, label).hash(0, &mut rows);
    Ok(Chosen { choices, seeds: rows.iter().map(seed).collect() })
}

/// The sender's side: both strings of each.
///
/// # Errors
/// If the connection fails or the partner's message is not what it must be.
pub fn send<const W: usize>(
    context: &Context,
    label: Label,
    ot: &mut impl CotSender<W>,
    count: usize,
    channel: &mut dyn Channel,
) -> Result<Vec<[Seed; 2]>, Error> {
    let mut zeros = Wiped::from(vec![[Block::ZERO; W]; count]);
    ot.extend(&mut zeros, channel)?;
    let mut ones = Wiped::from(zeros.to_vec());
    add_delta(&ot.delta(), &mut ones);
    let pads = OtPads::of(context, label);
    pads.hash(0, &mut zeros);
    pads.hash(0, &mut ones);
    Ok(zeros.iter().zip(ones.iter()).map(|(zero, one)| [seed(zero), seed(one)]).collect())
}

/// A pad as a string: as strong as the level of its row.
fn seed<const W: usize>(pad: &[Block; W]) -> Seed {
    let mut bytes = Zeroizing::new([0; 32]);
    bytes.iter_mut().zip(Block::slice_as_bytes(pad)).for_each(|(byte, pad)| *byte = *pad);
    Seed::new(*bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Origin;
    use crate::iknp;
    use crate::random::tests::context;
    use vesica_channel::memory;
    use vesica_crypto::prg::Prg;

    fn check<const W: usize>(level: u32) {
        const LABELS: [Label; 2] = [Label::new("test: base"), Label::new("test: reversed")];
        let count = level as usize;
        let (mut here, mut there) = memory::pair();
        let (chosen, pairs) = std::thread::scope(|scope| {
            let sending = scope.spawn(|| {
                let rng = &mut Prg::from_seed([1; 16]);
                let mut ot = iknp::Sender::<W>::setup(
                    &context(),
                    LABELS[0],
                    level,
                    Origin::default(),
                    &mut there,
                    rng,
                )
                .unwrap();
                send(&context(), LABELS[1], &mut ot, count, &mut there).unwrap()
            });
            let rng = &mut Prg::from_seed([2; 16]);
            let mut ot =
                iknp::Receiver::<W>::setup(&context(), LABELS[0], level, Origin::default(), &mut here, rng)
                    .unwrap();
            (receive(&context(), LABELS[1], &mut ot, count, &mut here, rng).unwrap(), sending.join().unwrap())
        });
        let bit = |i: usize| usize::from(chosen.choices[i / 8] >> (i % 8) & 1);
        let mut seen = std::collections::HashSet::new();
        for (i, (chosen, pair)) in chosen.seeds.iter().zip(&pairs).enumerate() {
            assert!(*chosen == pair[bit(i)] && *chosen != pair[1 - bit(i)], "{i}");
            assert!(pair.iter().all(|seed| seen.insert(*seed.as_bytes())), "strings differ");
        }
        let ones = (0..count).filter(|i| bit(*i) == 1).count();
        assert!(pairs.len() == count && (count / 4..count * 3 / 4).contains(&ones));
    }

    #[test]
    fn the_receiver_of_the_extension_has_one_string_of_each() {
        check::<1>(80);
        check::<1>(128);
        check::<2>(192);
        check::<2>(256);
    }
}
