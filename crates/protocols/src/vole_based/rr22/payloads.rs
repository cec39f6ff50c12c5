//! Payloads: for each position of its list of masks the sender sends the block of that item, encrypted under what the
//! OPRF gives at the item. So the receiver can open those of its matches and no others.
//!
//! ```text
//! receiver                                            sender
//!                 ◄── E_j for every position j ──     E_j = payload(y_j) ⊕ H_p(y_j), where y_j is the item of mask j
//! [after the confirmation:]
//! payload(x) = E_j ⊕ H_p(x) for every match (x, j)
//! ```
//!
//! H_p hashes the value whose other hash is F ([`Proofs::pads`]): without that value, which the receiver knows at its
//! own items alone, H_p is a random string of its own for every item and run, as long as the block. Masks tell nothing
//! of it.
//!
//! **What the receiver shows.** It takes the whole list, n_s blocks, whatever matches. It opens blocks when both sides
//! have confirmed the run; where both learn the result, before that, since the sender knows then which items match. It
//! checks nothing of what a block says, on purpose: a receiver that stopped at a block would show the sender, which made
//! that block bad, that its item matches.
//!
//! **A malicious sender** chooses what it sends. It can give any block for an item of its own: another payload, another
//! item's, or nothing that means anything; it could have entered such a payload. It learns nothing from that, and it
//! cannot change what opens at an item that it does not have. **A malicious receiver** learns the payloads of the items
//! that it asked about, as it learns which of them match.
//!
//! Source: PSI with data transfer of De Cristofaro, Tsudik, *Practical private set intersection protocols with linear
//! complexity*, FC 2010, §3, whose keys are a second hash of what a mask is a hash of. The OPRF is another one here.

use std::convert::Infallible;

use vesica_channel::{Channel, RecvHalf};
use vesica_crypto::memory::Wiped;
use vesica_crypto::par;
use vesica_encode::items::Items;

use crate::attached::{MatchedPayloads, Payloads};
use crate::error::Error;
use crate::oprf::vole::Proofs;
use crate::outcome::Outcome;
use crate::protocol::Run;
use crate::results::ResultKind;

/// Bytes of blocks that are handled between two calls of the channel: about that many.
const CHUNK: usize = 1 << 18;

/// Blocks of a task.
const TASK: usize = 1 << 10;

/// Bytes of a block; none where the run has no payloads.
pub(super) fn width(run: &Run<'_>) -> Option<usize> {
    match run.parameters.result {
        ResultKind::Payload { bytes } => Some(bytes as usize),
        _ => None,
    }
}

/// Adds the pads of these items to their blocks.
fn encrypt<P: Proofs + Sync>(
    threads: usize,
    proofs: &P,
    items: &Items,
    of: &[u32],
    width: usize,
    blocks: &mut [u8],
) {
    let tasks = of.chunks(TASK).zip(blocks.chunks_mut(TASK * width));
    let Ok(()) = par::for_each(threads, tasks, |_, (of, blocks)| {
        let mut pads = Wiped::from(vec![0; blocks.len()]);
        proofs.pads(items, of, &mut pads);
        blocks.iter_mut().zip(pads.iter()).for_each(|(byte, pad)| *byte ^= pad);
        Ok::<_, Infallible>(())
    });
}

/// Blocks of a message.
fn blocks_at_once(width: usize) -> usize {
    (CHUNK / width).max(1)
}

/// Sends the blocks, in the order of the masks: `order` has the item of each.
pub(super) fn send<P: Proofs + Sync>(
    run: &Run<'_>,
    (items, order): (&Items, &[u32]),
    proofs: &P,
    payloads: &Payloads,
    channel: &mut dyn Channel,
) -> Result<(), Error> {
    let mut blocks = Vec::new();
    for of in order.chunks(blocks_at_once(payloads.width())) {
        blocks.clear();
        of.iter().for_each(|item| blocks.extend_from_slice(payloads.get(*item as usize)));
        encrypt(run.threads, proofs, items, of, payloads.width(), &mut blocks);
        channel.send(&blocks)?;
        run.advance(of.len())?;
    }
    Ok(channel.flush()?)
}

/// Receives all n_s blocks, which are still encrypted.
pub(super) fn recv(run: &Run<'_>, width: usize, channel: &mut dyn RecvHalf) -> Result<Payloads, Error> {
    let mut blocks = vec![0; run.sizes.sender * width];
    for chunk in blocks.chunks_mut(blocks_at_once(width) * width) {
        channel.recv_exact(chunk)?;
        run.advance(chunk.len() / width)?;
    }
    Ok(Payloads::of_blocks(width, blocks))
}

/// The rows of the matches, with their blocks; `pairs` are those of an item of mine and a position.
pub(super) fn open<P: Proofs + Sync>(
    threads: usize,
    items: &Items,
    proofs: &P,
    encrypted: &Payloads,
    mut pairs: Vec<(u32, u32)>,
) -> Outcome {
    // Two masks of the sender can be equal in a semi-honest run, with probability 2^-λ.
    pairs.sort_unstable();
    pairs.dedup_by_key(|pair| pair.0);
    let matched: Vec<u32> = pairs.iter().map(|pair| pair.0).collect();
    let mut blocks = Vec::with_capacity(pairs.len() * encrypted.width());
    pairs.iter().for_each(|pair| blocks.extend_from_slice(encrypted.get(pair.1 as usize)));
    encrypt(threads, proofs, items, &matched, encrypted.width(), &mut blocks);
    let blocks = Payloads::of_blocks(encrypted.width(), blocks);
    Outcome::Payloads(MatchedPayloads::new(items, &matched, blocks))
}

#[cfg(test)]
mod tests;
