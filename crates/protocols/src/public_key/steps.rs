//! Steps that several protocols of this family share: numbers on the wire, hashes to and from them, and the work of
//! a sender that answers the receiver while it computes masks of its own items.

use std::ops::Range;

use rand_core::CryptoRng;
use vesica_channel::{RecvHalf, SendHalf};
use vesica_crypto::bigint::{Modulus, Residues};
use vesica_crypto::hash::Oracle;
use vesica_crypto::wide_prg::WidePrg;
use vesica_encode::items::Items;
use zeroize::{Zeroize, Zeroizing};

use crate::error::Error;
use crate::masks::MaskWidth;
use crate::overlap::{Inbound, Stopped};
use crate::protocol::Run;

/// Streams of a party's own randomness: a chunk of its items has one, which is the same whenever it is asked for.
pub(super) struct Streams(Oracle);

impl Streams {
    pub(super) fn new(rng: &mut dyn CryptoRng) -> Self {
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        let streams = Oracle::with_key(seed);
        seed.zeroize();
        Streams(streams)
    }

    pub(super) fn get(&self, chunk: usize) -> WidePrg {
        let mut seed = Zeroizing::new([0; 32]);
        self.0.hash(&(chunk as u64).to_le_bytes(), &mut seed[..]);
        WidePrg::from_seed(&seed)
    }
}

/// Reads `count` numbers or elements of `each` bytes and passes them on, `piece` at a time.
pub(super) fn recv_each(
    (count, each, piece): (usize, usize, usize),
    channel: &mut dyn RecvHalf,
    push: &mut dyn FnMut(Vec<u8>),
) -> Result<(), Error> {
    let mut left = count;
    while left > 0 {
        let take = left.min(piece);
        let mut numbers = vec![0; take * each];
        channel.recv_exact(&mut numbers)?;
        left -= take;
        push(numbers);
    }
    Ok(())
}

/// Answers `theirs` elements of the receiver as they come, and works on `own` items, a piece at a time, while no
/// element waits to be answered: the receiver waits for the answers, so that they come first. `answer` gets the
/// position of a piece's first element, and says how many it has answered.
pub(super) fn answer_first<T>(
    run: &Run<'_>,
    (theirs, own, piece): (usize, usize, usize),
    inbound: &Inbound<T>,
    channel: &mut dyn SendHalf,
    mut answer: impl FnMut(usize, T, &mut dyn SendHalf) -> Result<usize, Error>,
    mut work: impl FnMut(Range<usize>) -> Result<(), Error>,
) -> Result<(), Stopped> {
    let (mut answered, mut worked) = (0, 0);
    while answered < theirs || worked < own {
        let waiting = if answered < theirs { inbound.ready()? } else { None };
        let elements = match waiting {
            None if worked < own => {
                let next = worked..own.min(worked + piece);
                let done = next.len();
                work(next)?;
                worked += done;
                run.advance(done)?;
                channel.check()?;
                continue;
            }
            None => inbound.wait()?,
            Some(elements) => elements,
        };
        let done = answer(answered, elements, channel)?;
        answered += done;
        run.advance(done)?;
    }
    Ok(())
}

/// The items at these indices as residues: `oracle` hashes each to 16 bytes more than a residue takes, so that the
/// residue is uniform but for 2^-128.
pub(super) fn hash_to_residues(
    oracle: &Oracle,
    modulus: &Modulus,
    items: &Items,
    indices: Range<usize>,
) -> Residues {
    let each = modulus.bytes() + Modulus::EXCESS;
    let inputs: Vec<u8> = indices.clone().flat_map(|index| items.get(index)).copied().collect();
    let mut wide = Zeroizing::new(vec![0; indices.len() * each]);
    oracle.hash_batch(&inputs, items.width(), &mut wide, each);
    modulus.reduce_wide(&wide, each)
}

/// Sets each mask to the hash of an encoded element of `each` bytes.
pub(super) fn hash_to_masks(
    oracle: &Oracle,
    width: MaskWidth,
    encoded: &[u8],
    each: usize,
    masks: &mut [u128],
) {
    let mut hashes = vec![[0; 16]; masks.len()];
    oracle.hash_batch(encoded, each, hashes.as_flattened_mut(), 16);
    for (mask, hash) in masks.iter_mut().zip(&hashes) {
        *mask = width.truncate(hash);
    }
}
