//! Parties that cheat, with consistent messages of their own, for `crates/protocols/tests/malicious`. Only
//! tests can reach them.

use vesica_crypto::block::Block;
use vesica_crypto::prg::Prg;
use vesica_encode::bloom::FilterPositions;
use vesica_encode::items::Items;

use super::filter::{ReceiverFilter, SenderFilter};
use super::offline::{Settled, offline_send};
use super::parameters::Rr16Parameters;
use super::state::ID;
use super::{COIN, COMMITMENT, OfflineReceiver, coins_of_receiver, coins_of_sender, context, masks_of};
use crate::error::Error;
use crate::masks;
use crate::protocol::{Ctx, Phase};

/// What a receiver does that it must not do; nothing by default.
#[derive(Clone, Copy, Default)]
pub struct ReceiverCheat {
    /// Ones in each group of its choices.
    pub ones: Option<usize>,
    /// So many opened ones are answered with zero.
    pub denied: usize,
    /// Is added to the sum of strings.
    pub sum: Block,
    /// What it does to its order of OTs.
    pub order: OrderCheat,
    /// It opens another coin than it committed to.
    pub coin: bool,
    /// It names another offline phase.
    pub id: bool,
    /// Its filter is as full as its ones allow, whatever its items are.
    pub full_filter: bool,
}

/// What a receiver does to the order of a group's OTs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderCheat {
    /// Nothing.
    #[default]
    None,
    /// One OT of choice 1 serves two slots.
    Repeated,
    /// A slot has an OT that was opened.
    Opened,
    /// A slot has an OT beyond the group.
    Beyond,
    /// Slots that are set have OTs of choice 0.
    Zeros,
}

/// What a cheating receiver ends with.
#[derive(Debug)]
pub struct Learnt {
    /// Which of its items have a mask among the sender's.
    pub matched: Vec<usize>,
    /// Set slots of its filter.
    pub set: usize,
}

/// A receiver that cheats. It may hold more items than it declared.
///
/// # Errors
/// As the honest one's.
pub fn receive(ctx: &mut Ctx<'_, '_>, items: &Items, cheat: &ReceiverCheat) -> Result<Learnt, Error> {
    let honest = Rr16Parameters::for_items(ctx.run.sizes.receiver);
    let mut settled = Settled::make(ctx, cheat.ones.map_or(honest, |ones| honest.with_ones(ones)))?;
    let mut denied = 0;
    for bit in 0..8 * settled.opened.len() {
        let (byte, mask) = (bit / 8, 1 << (bit % 8));
        if denied < cheat.denied && settled.opened[byte] & mask != 0 {
            settled.opened[byte] ^= mask;
            denied += 1;
        }
    }
    settled.sum ^= cheat.sum;
    let mut offline = settled.answer(ctx)?;
    disorder(&mut offline, cheat.order);
    if cheat.id {
        offline.id[0] ^= 1;
    }
    let context =
        if cheat.coin { false_coin(ctx, &offline.id)? } else { coins_of_receiver(ctx, &offline.id)? };
    ctx.run.phase(Phase::Hash, 0);
    let positions = FilterPositions::new(&context, offline.parameters.shape(), items, ctx.run.threads);
    let mut filter = ReceiverFilter::new(ctx.run, offline, &positions);
    if cheat.full_filter {
        filter.fill();
    }
    let set = filter.set().into_iter().filter(|set| *set).count();
    let inside = filter.holds();
    let sums = filter.permute_and_sum(ctx.run, ctx.channel)?;
    let masks = masks_of(&context);
    let mine = masks.of(ctx.run.threads, items, &positions, sums);
    let theirs = masks::recv_sorted(ctx.run, masks.width, ctx.channel.split().1)?;
    // A sum over a slot that is not set is of strings that it does not have.
    let matched = |&item: &usize| inside[item] && theirs.contains(&mine[item]);
    Ok(Learnt { matched: (0..items.len()).filter(matched).collect(), set })
}

fn disorder(offline: &mut OfflineReceiver, cheat: OrderCheat) {
    let (kept, ots) = (offline.parameters.kept(), offline.parameters.ots_of_group());
    let order = &mut offline.order[..kept];
    match cheat {
        OrderCheat::None => {}
        OrderCheat::Repeated => order[0] = order[1],
        OrderCheat::Opened => {
            let opened = (0..ots as u16).find(|number| !order.contains(number));
            order[0] = opened.unwrap_or_default();
        }
        OrderCheat::Beyond => order[0] = ots as u16,
        OrderCheat::Zeros => offline.order.chunks_mut(kept).for_each(<[u16]>::reverse),
    }
}

/// Opens another coin than it committed to.
fn false_coin(ctx: &mut Ctx<'_, '_>, id: &[u8; ID]) -> Result<vesica_crypto::hash::Context, Error> {
    let (mut mine, mut commitment, mut theirs) = ([0; COIN], [0; COIN], [0; ID + COIN]);
    ctx.rng.fill_bytes(&mut mine);
    ctx.run.context.hash(COMMITMENT, &mine, &mut commitment);
    ctx.channel.send(id)?;
    ctx.channel.send(&commitment)?;
    ctx.channel.flush()?;
    ctx.channel.recv_exact(&mut theirs)?;
    mine[0] ^= 1;
    ctx.channel.send(&mine)?;
    ctx.channel.flush()?;
    let mut senders = [0; COIN];
    senders.copy_from_slice(&theirs[ID..]);
    Ok(context(ctx.run, id, &mine, &senders))
}

/// The sender's part of the coin toss, under another id and without checks.
fn other_id(ctx: &mut Ctx<'_, '_>, id: &[u8; ID]) -> Result<vesica_crypto::hash::Context, Error> {
    let (mut mine, mut theirs, mut other) = ([0; COIN], [0; COIN], *id);
    ctx.rng.fill_bytes(&mut mine);
    ctx.channel.recv_exact(&mut [0; ID + COIN])?;
    other[0] ^= 1;
    ctx.channel.send(&other)?;
    ctx.channel.send(&mine)?;
    ctx.channel.flush()?;
    ctx.channel.recv_exact(&mut theirs)?;
    Ok(context(ctx.run, id, &theirs, &mine))
}

/// What a sender does that it must not do.
#[derive(Clone, Copy)]
pub struct SenderCheat<'a> {
    /// These rows of OTs are changed between the phases.
    pub rows: &'a [usize],
    /// The masks that it sends in place of its own, in ascending order.
    pub masks: &'a (dyn Fn(Vec<u128>) -> Vec<u128> + Sync),
    /// It names another offline phase, and takes no notice of the receiver's.
    pub id: bool,
}

/// A sender that cheats.
///
/// # Errors
/// As the honest one's.
pub fn send(ctx: &mut Ctx<'_, '_>, items: &Items, cheat: SenderCheat<'_>) -> Result<(), Error> {
    let mut offline = offline_send(ctx, ctx.run.sizes.receiver)?;
    // Different changes, since those of chosen strings add up.
    cheat.rows.iter().for_each(|&row| offline.rows[row] ^= Prg::from_seed(Block::from(row as u128)).block());
    let context = if cheat.id { other_id(ctx, &offline.id)? } else { coins_of_sender(ctx, &offline.id)? };
    let positions = FilterPositions::new(&context, offline.parameters.shape(), items, ctx.run.threads);
    let sums = SenderFilter::new(offline, &positions).sums(ctx.run, ctx.channel)?;
    let masks = masks_of(&context);
    let mut mine = masks.of(ctx.run.threads, items, &positions, sums);
    mine.sort_unstable();
    let sent = (cheat.masks)(mine);
    masks::send(masks.width, sent.into_iter(), ctx.channel.split().0, &mut |_| Ok(()))
}
