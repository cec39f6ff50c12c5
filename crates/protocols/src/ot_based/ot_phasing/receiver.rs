//! The receiver's steps.

use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_encode::items::Items;
use vesica_ot::nco::NcoReceiver;

use super::super::lists::{Search, Sought};
use super::super::numbers::push_characters;
use super::super::step_begins;
use super::Plan;
use super::held::Held;
use crate::error::Error;
use crate::protocol::{Phase, Run};

/// Pairs (item of mine, place in the sender's lists). `ots` ends the base OTs, whose first message is on its way.
pub(super) fn pairs<R: NcoReceiver<u8>>(
    run: &Run<'_>,
    plan: &Plan,
    items: &Items,
    ots: impl FnOnce(&mut dyn Channel) -> Result<R, vesica_ot::Error>,
    channel: &mut dyn Channel,
) -> Result<Vec<(u32, u32)>, Error> {
    // 2. While the sender answers: each item in one of its bins, or in the stash.
    run.phase(Phase::Hash, items.len());
    let held = Held::new(run, plan, items)?;
    let table = held.cuckoo()?;
    let mut ots = run.apart(Phase::BaseOts, || ots(channel))?;
    // 3. The mask of the item of each bin, 4. which is looked for in the list of the way in which it is held.
    run.phase(Phase::Extend, plan.cuckoo.layout.bins());
    let mut search = Search::new(run, plan.width, run.sizes.sender, plan.lists());
    let (mut words, mut masks) = (Vec::new(), Vec::new());
    for (function, first, bins) in plan.calls() {
        // An empty bin asks for what shows nothing: the sender cannot tell.
        held.characters(function, bins, |bin| table.get(first + bin), &mut words);
        masks.resize(bins, Block::ZERO);
        ots.extend_in_steps(plan.characters, &words, &mut masks, channel, &mut |step| {
            step_begins(run, step)
        })?;
        let (sought, all) = (&mut search.sought[function], plan.cuckoo.layout.segment_of(function));
        if first == all.start {
            *sought = Sought::new(plan.width, table.occupied(all));
        }
        for (bin, mask) in (first..).zip(&masks) {
            if let Some(item) = table.get(bin) {
                sought.push(plan.width, mask.to_u128(), item);
            }
        }
        run.advance(bins)?;
        search.take_ready(plan.cuckoo.layout.function_of(first + bins), channel)?;
    }
    stash(&held, &mut ots, table.stash(), &mut search.sought[plan.cuckoo.layout.functions()..], channel)?;
    channel.flush()?;
    drop((held, table));
    search.finish(channel.split().1)
}

/// The masks of the items in the stash, whole, each for its place.
fn stash(
    held: &Held<'_>,
    ots: &mut impl NcoReceiver<u8>,
    stash: &[u32],
    sought: &mut [Sought],
    channel: &mut dyn Channel,
) -> Result<(), Error> {
    let plan = held.plan;
    let mut words = Vec::new();
    for place in 0..plan.cuckoo.stash {
        let number = stash.get(place).map_or(held.own, |item| held.numbers[*item as usize]);
        push_characters(&mut words, number, plan.stash_characters);
    }
    let mut masks = vec![Block::ZERO; plan.cuckoo.stash];
    ots.extend_groups(plan.stash_characters, &words, &mut masks, channel)?;
    for ((item, mask), sought) in stash.iter().zip(masks).zip(sought) {
        sought.push(plan.width, mask.to_u128(), *item);
    }
    Ok(())
}
