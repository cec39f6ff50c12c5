//! Brute force of salted hashing: the receiver tries every telephone number of a range.
//!
//! The salt keeps old tables of hashes from being used, and nothing else: it is known to the receiver, who
//! hashes whatever it likes and looks it up in the sender's list. It follows the protocol to the letter, can
//! do so years later, and the sender cannot notice.
//!
//! What prevents it: a hash that the receiver cannot compute alone, as in the protocols between two parties. In
//! `server-aided` the receiver has the key and sees no mask of the sender, unless the helper shows it.

use std::collections::HashSet;

use vesica_crypto::hash::Label;
use vesica_exhibits::naive_hash::ENTRY;
use vesica_protocols::testing::{Case, duel};
use vesica_protocols::{Ctx, MaskWidth};

use crate::{Error, phone_book, search, sets};

/// Bytes of the salt.
const SALT: usize = 32;

/// What the receiver learns.
#[derive(Debug)]
pub struct Learnt {
    /// The intersection, which is all that it should learn.
    pub intersection: usize,
    /// How many numbers it tried.
    pub tried: u32,
    /// The sender's numbers among them.
    pub numbers: Vec<u32>,
}

/// A receiver with three numbers against a sender with `customers` of the first `range`.
///
/// # Errors
/// If the honest run fails.
pub fn brute_force(range: u32, customers: usize) -> Result<(Learnt, Vec<u32>), Error> {
    let theirs = phone_book(range, customers, 1);
    let sets = sets(&[theirs[0], range, range + 1], &theirs)?;
    let intersection = sets.receiver_rows.len();
    let (numbers, sender) = duel(
        (&ENTRY, &sets, Case::default()),
        Box::new(|ctx| Ok(listen(ctx, range))),
        Box::new(|ctx| ENTRY.send(ctx, &sets.sender)),
    );
    sender?;
    Ok((Learnt { intersection, tried: range, numbers: numbers?? }, theirs))
}

/// Takes part as an honest receiver does, and keeps what it receives.
fn listen(ctx: &mut Ctx<'_, '_>, range: u32) -> Result<Vec<u32>, Error> {
    let run = ctx.run;
    let width = MaskWidth::for_sizes(run.sizes, run.parameters.statistical)?;
    let mut input = vec![0; SALT];
    ctx.rng.fill_bytes(&mut input);
    ctx.channel.send(&input)?;
    let mut list = vec![0; run.sizes.sender * width.bytes()];
    ctx.channel.recv_exact(&mut list)?;
    let masks: HashSet<&[u8]> = list.chunks(width.bytes()).collect();
    // From here on the sender is not needed.
    let oracle = run.context.oracle(Label::new("naive-hash: salt and item to mask"));
    Ok(search(range, |item| {
        input.truncate(SALT);
        input.extend_from_slice(item);
        let mut hash = [0; 16];
        oracle.hash(&input, &mut hash);
        masks.contains(&width.truncate(&hash).to_le_bytes()[..width.bytes()])
    })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_receiver_learns_the_whole_table() -> Result<(), Error> {
        let (learnt, theirs) = brute_force(50_000, 300)?;
        assert_eq!(learnt.intersection, 1);
        assert_eq!(learnt.numbers, theirs);
        Ok(())
    }
}
