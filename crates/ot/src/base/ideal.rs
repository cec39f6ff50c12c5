//! The ideal twin of a base OT: the sender draws the strings and sends both. Only tests can reach it.

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::hash::{Context, Label};

use super::bit;
use crate::error::Error;
use crate::seed::Seed;

/// Both strings of `count` OTs.
///
/// # Errors
/// If the connection fails.
pub fn send(
    _: &Context,
    _: Label,
    count: usize,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<[Seed; 2]>, Error> {
    let mut strings = Vec::with_capacity(count);
    for _ in 0..count {
        let pair = [(); 2].map(|()| {
            let mut bytes = [0; 32];
            rng.fill_bytes(&mut bytes);
            Seed::new(bytes)
        });
        for string in &pair {
            channel.send(string.as_bytes())?;
        }
        strings.push(pair);
    }
    channel.flush()?;
    Ok(strings)
}

/// The strings that `choices` name, packed eight to a byte.
///
/// # Errors
/// If the connection fails.
pub fn receive(
    _: &Context,
    _: Label,
    choices: &[u8],
    count: usize,
    channel: &mut dyn Channel,
    _: &mut dyn CryptoRng,
) -> Result<Vec<Seed>, Error> {
    let mut strings = Vec::with_capacity(count);
    for i in 0..count {
        let mut pair = [[0; 32]; 2];
        for string in &mut pair {
            channel.recv_exact(string)?;
        }
        strings.push(Seed::new(pair[usize::from(bit(choices, i))]));
    }
    Ok(strings)
}
