//! Correlated OTs with chosen choices from those with random ones (Beaver, CRYPTO 1995).
//!
//! ```text
//! receiver: a_j, t_j                       sender: Δ, q_j = t_j ⊕ a_j·Δ
//! d_j = c_j ⊕ a_j              ──►         q_j ⊕ d_j·Δ = t_j ⊕ c_j·Δ
//! ```
//!
//! To the sender d is uniformly random, as a is. A receiver that sends another d has made another choice.

use vesica_channel::Channel;
use vesica_crypto::block::Block;
use zeroize::Zeroizing;

use crate::base::bit;
use crate::error::Error;

/// Rows of one message.
pub(crate) const CHUNK: usize = 1 << 16;

/// The receiver's rows for its `choices`. `next` makes rows, and writes their random choices.
///
/// # Panics
/// If there are fewer choices than rows.
pub(crate) fn receive(
    choices: &[u8],
    rows: &mut [[Block; 1]],
    channel: &mut dyn Channel,
    mut next: impl FnMut(&mut [u8], &mut [[Block; 1]], &mut dyn Channel) -> Result<(), Error>,
) -> Result<(), Error> {
    assert!(choices.len() * 8 >= rows.len(), "one choice for each row");
    let mut differences = Zeroizing::new(vec![0; CHUNK.min(rows.len()).div_ceil(8)]);
    for (rows, choices) in rows.chunks_mut(CHUNK).zip(choices.chunks(CHUNK / 8)) {
        let differences = &mut differences[..rows.len().div_ceil(8)];
        next(differences, rows, channel)?;
        differences.iter_mut().zip(choices).for_each(|(random, choices)| *random ^= choices);
        if let (Some(last), rest @ 1..) = (differences.last_mut(), rows.len() % 8) {
            // Bits beyond the last row stay zero.
            *last &= (1 << rest) - 1;
        }
        channel.send(differences)?;
    }
    Ok(())
}

/// The sender's rows. `next` makes them, for random choices.
pub(crate) fn send(
    delta: Block,
    rows: &mut [[Block; 1]],
    channel: &mut dyn Channel,
    mut next: impl FnMut(&mut [[Block; 1]], &mut dyn Channel) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut differences = vec![0; CHUNK.min(rows.len()).div_ceil(8)];
    for rows in rows.chunks_mut(CHUNK) {
        let differences = &mut differences[..rows.len().div_ceil(8)];
        next(rows, channel)?;
        channel.recv_exact(differences)?;
        for (j, [row]) in rows.iter_mut().enumerate() {
            *row ^= delta & Block::mask(bit(differences, j) == 1);
        }
    }
    Ok(())
}
