//! What the receiver has in its bins: whole items, or their remainders.

use vesica_crypto::block::Block;
use vesica_crypto::memory::{large_capacity, prefetch};
use vesica_encode::hashing::permutation::{BinAssignments, Permutation};
use vesica_encode::hashing::{Digests, cuckoo};
use vesica_encode::items::Items;

use super::super::numbers::{self, push_characters};
use super::super::table;
use super::Plan;
use crate::error::Error;
use crate::protocol::Run;

/// Items ahead whose numbers are on their way.
const AHEAD: usize = 64;

/// The receiver's items: where they may go, and what takes their place there.
pub(super) struct Held<'a> {
    run: &'a Run<'a>,
    pub(super) plan: &'a Plan,
    /// Bins and remainders, where these stand for the items.
    placed: Option<BinAssignments>,
    /// What stands for no item in a bin: [`Permutation::vacant`], or a whole item of the receiver's own.
    vacant: u128,
    /// What is asked for at a place of the stash that has no item: one that the receiver has. It learns whether the sender has
    /// that, which it does anyway.
    pub(super) own: u128,
    /// Whole items and digests, where there is use for them.
    pub(super) numbers: Vec<u128>,
    digests: Vec<Block>,
}

impl<'a> Held<'a> {
    pub(super) fn new(run: &'a Run<'a>, plan: &'a Plan, items: &Items) -> Result<Self, Error> {
        let permutation: Option<Permutation> = plan.permuted.then(|| plan.permutation(&run.context));
        let mut placed =
            permutation.as_ref().map(|permutation| BinAssignments::with_room(permutation, items.len()));
        let room = |wanted: bool| if wanted { items.len() } else { 0 };
        let (whole, mut own) = (!plan.permuted || plan.cuckoo.stash > 0, None);
        let mut numbers = large_capacity(room(whole));
        let mut digests = large_capacity(room(!plan.permuted));
        numbers::by_pieces(run, plan.hashed, items, !plan.permuted, |_, values, keys| {
            own = own.or(values.first().copied());
            if let (Some(permutation), Some(placed)) = (&permutation, &mut placed) {
                placed.extend(permutation, run.threads, values.len(), |i| values[i]);
            }
            if whole {
                numbers.extend_from_slice(values);
            }
            if !plan.permuted {
                digests.extend_from_slice(keys);
            }
        })?;
        let own = own.unwrap_or_default();
        let vacant = permutation.map_or(own, |permutation| permutation.vacant());
        Ok(Self { run, plan, placed, vacant, own, numbers, digests })
    }

    /// Every item in one of its bins.
    pub(super) fn cuckoo(&self) -> Result<cuckoo::Table, Error> {
        let (layout, stash) = (self.plan.cuckoo.layout, self.plan.cuckoo.stash);
        let paper = self.run.parameters.paper;
        match &self.placed {
            Some(placed) => table(placed, stash, paper),
            None => table(&Digests::new(&self.digests, layout), stash, paper),
        }
    }

    /// The characters of what stands for `count` items in their bins under `function`, or for none.
    pub(super) fn characters(
        &self,
        function: usize,
        count: usize,
        item: impl Fn(usize) -> Option<u32>,
        words: &mut Vec<u8>,
    ) {
        if let Some(placed) = &self.placed {
            return placed.remainders(function, count, item, self.vacant, words);
        }
        words.clear();
        for i in 0..count {
            let ahead = Some(i + AHEAD).filter(|ahead| *ahead < count).and_then(&item);
            prefetch(&self.numbers, ahead.map_or(usize::MAX, |item| item as usize));
            let number = item(i).map_or(self.vacant, |item| self.numbers[item as usize]);
            push_characters(words, number, self.plan.characters);
        }
    }
}
