//! What a party has in its bins: whole items, or their remainders.

use vesica_crypto::block::Block;
use vesica_crypto::memory::prefetch;
use vesica_encode::hashing::permutation::Placed;
use vesica_encode::hashing::{Digests, cuckoo, simple};
use vesica_encode::items::Items;

use super::super::numbers::{Numbered, push_characters};
use super::super::table;
use super::Plan;
use crate::error::Error;
use crate::protocol::Run;

#[cfg(doc)]
use vesica_encode::hashing::permutation::Permutation;

/// Items ahead whose numbers are on their way.
const AHEAD: usize = 64;

/// One party's items: where they go, and what takes their place there.
pub(super) struct Party<'a> {
    pub(super) run: &'a Run<'a>,
    pub(super) plan: &'a Plan,
    /// Bins and remainders, where these stand for the items.
    placed: Option<Placed>,
    /// What stands for no item in a bin: [`Permutation::vacant`], or a whole item of this party's own.
    vacant: Block,
    /// Whole items, where there is use for them.
    pub(super) numbered: Numbered,
}

impl<'a> Party<'a> {
    pub(super) fn new(
        run: &'a Run<'a>,
        plan: &'a Plan,
        items: &Items,
        order: Option<&[u32]>,
    ) -> Result<Self, Error> {
        let mut numbered = Numbered::new(run, plan.width, items, order, !plan.permuted)?;
        let mut vacant = own_number(&numbered.numbers);
        let placed = plan.permuted.then(|| {
            let (permutation, numbers) = (plan.permutation(&run.context), &numbered.numbers);
            vacant = Block::from_u128(permutation.vacant());
            permutation.place(run.threads, numbers.len(), |i| numbers[i].to_u128())
        });
        if plan.permuted && plan.cuckoo.stash == 0 {
            numbered.numbers = Vec::new();
        }
        Ok(Self { run, plan, placed, vacant, numbered })
    }

    /// Every item in one of its bins.
    pub(super) fn cuckoo(&self) -> Result<cuckoo::Table, Error> {
        let (layout, stash) = (self.plan.cuckoo.layout, self.plan.cuckoo.stash);
        let paper = self.run.parameters.paper;
        match &self.placed {
            Some(placed) => table(placed, stash, paper),
            None => table(&Digests::new(&self.numbered.digests, layout), stash, paper),
        }
    }

    /// Every item in all of its bins.
    pub(super) fn simple(&self) -> simple::Table {
        match &self.placed {
            Some(placed) => simple::Table::build(self.run.threads, placed),
            None => {
                let digests = Digests::new(&self.numbered.digests, self.plan.cuckoo.layout);
                simple::Table::build(self.run.threads, &digests)
            }
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
            return placed.remainders(function, count, item, self.vacant.to_u128(), words);
        }
        words.clear();
        let numbers = &self.numbered.numbers;
        for i in 0..count {
            let ahead = Some(i + AHEAD).filter(|ahead| *ahead < count).and_then(&item);
            prefetch(numbers, ahead.map_or(usize::MAX, |item| item as usize));
            let number = item(i).map_or(self.vacant, |item| numbers[item as usize]);
            push_characters(words, number.to_u128(), self.plan.characters);
        }
    }
}

/// What a party asks for where it has no item and whole items are compared: one that it has. It learns whether the sender has
/// that, which it does anyway.
pub(super) fn own_number(numbers: &[Block]) -> Block {
    numbers.first().copied().unwrap_or_default()
}
