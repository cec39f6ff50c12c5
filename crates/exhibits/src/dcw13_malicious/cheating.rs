//! Cheating parties: each does what the honest one does but for the one thing it cheats in. Only tests and
//! demonstrations can reach them.

use vesica_crypto::block::Block;
use vesica_crypto::gf128::Gf128;
use vesica_encode::items::Items;
use vesica_protocols::{Ctx, Error, Run};

use super::{Agreed, Party, ReceiverOffline, SenderOffline};
use crate::shamir::Sharing;

/// What a sender cheats in.
#[derive(Debug, Clone, Copy, Default)]
pub struct SenderCheat<'a> {
    /// Slots whose share it changes: **selective failure**. The receiver ends the run if one of them is 0 in
    /// its filter (`random`: it finds nothing then), and notices nothing if all are 1.
    pub shares: &'a [usize],
    /// Slots whose r_j it changes. The receiver ends the run if one of them is 1 in its filter.
    pub nonces: &'a [usize],
    /// Whether it encrypts under another key than it shares.
    pub other_key: bool,
}

/// The k slots of each of these items in the filter of a run.
pub fn slots_of(run: &Run<'_>, items: &Items) -> Result<Vec<Vec<usize>>, Error> {
    let party = Party::new(run, Agreed::of(run)?, items);
    let mut all = vec![Vec::new(); items.len()];
    let per_slice = party.agreed.filter.slots();
    party.for_each_slice(|slice, slots| {
        for (&item, &slot) in party.positions.items().iter().zip(slots) {
            all[item as usize].push(slice * per_slice + slot as usize);
        }
        Ok(())
    })?;
    Ok(all)
}

/// The sender's role, honest but for the shares of the slots `corrupted`.
pub fn send(ctx: &mut Ctx<'_, '_>, items: &Items, corrupted: &[usize]) -> Result<(), Error> {
    send_with(ctx, items, &SenderCheat { shares: corrupted, ..SenderCheat::default() })
}

/// The sender's role, honest but for `cheat`.
pub fn send_with(ctx: &mut Ctx<'_, '_>, items: &Items, cheat: &SenderCheat<'_>) -> Result<(), Error> {
    let agreed = Agreed::of(ctx.run)?;
    let mut offline = SenderOffline::prepare(ctx, &agreed)?;
    let lie = Block::from(1u128);
    cheat.shares.iter().for_each(|&slot| offline.shares[slot] ^= lie);
    cheat.nonces.iter().for_each(|&slot| offline.nonces[slot] ^= lie);
    if cheat.other_key {
        *offline.key += Gf128::ONE;
    }
    Party::new(ctx.run, agreed, items).send(ctx, offline)
}

/// The receiver's role with any number of items and a filter of its choice, made from the one of these items.
/// It keeps to the protocol otherwise, and tries to make a key of however few shares it gets. The answer is
/// which items it finds.
pub fn receive(ctx: &mut Ctx<'_, '_>, items: &Items, choose: &dyn Fn(&mut [u8])) -> Result<Vec<u32>, Error> {
    let agreed = Agreed::of(ctx.run)?;
    let offline = ReceiverOffline::prepare(ctx, &agreed)?;
    let party = Party::new(ctx.run, agreed, items);
    let mut filter = party.bloom_filter();
    choose(&mut filter);
    let any = Sharing::new(agreed.slots(), 1);
    party.receive(ctx, offline, &filter, &|zeros, shares| any.reconstruct(zeros, shares).unwrap_or_default())
}
