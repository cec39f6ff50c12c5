//! What both parties have in their bins: one item of the receiver in each, all of the sender's that belong
//! there.

use std::ops::Range;

use vesica_circuit::circuits::phasing::{Receiver, Sender, Shape, Table};
use vesica_encode::hashing::parameters::{self, Cuckoo, paper};
use vesica_encode::hashing::{BinAssignments, Layout, Permutation, simple};
use vesica_encode::items::Items;
use zeroize::Zeroizing;

use crate::error::Error;
use crate::masks::MaskWidth;
use crate::oprf::bins::characters::{Characters, HeldCharacters, by_pieces, item_bits};
use crate::oprf::bins::{BinTable, BinWords};
use crate::ot_based::check_sizes;
use crate::parameters::Parameters;
use crate::protocol::{Run, Sizes};

/// What both parties derive from sizes and parameters.
pub(super) struct Plan {
    /// ℓ', of items that are hashed.
    pub(super) hashed: MaskWidth,
    /// σ: bits of an item's number.
    pub(super) sigma: u32,
    /// Functions, bins and stash.
    cuckoo: Cuckoo,
    /// What is compared.
    pub(super) shape: Shape,
    /// M: an empty bin of the receiver has it.
    vacant: u128,
}

impl Plan {
    /// # Errors
    /// If the sets are too large.
    pub(super) fn new(sizes: Sizes, parameters: &Parameters) -> Result<Self, Error> {
        let Sizes { receiver, sender } = sizes;
        check_sizes(sizes)?;
        let paper = parameters.paper;
        let hashed = if paper {
            MaskWidth::for_sizes(sizes, parameters.statistical)?
        } else {
            MaskWidth::for_hashed_items(sizes, parameters.statistical)?
        };
        let sigma = item_bits(parameters.sigma, hashed);
        let cuckoo = if paper {
            paper::two_way(receiver, sender)
        } else {
            parameters::three_way(receiver, parameters.statistical)
        };
        let Cuckoo { layout, stash } = cuckoo;
        let load = if paper && receiver == sender {
            paper::load_by_equation_5(receiver as f64) as usize
        } else {
            parameters::maximum_load(sender, layout, parameters.statistical)
        };
        let vacant = Permutation::count_remainders(sigma, layout);
        let bits = (u128::BITS - dummy(vacant).leading_zeros()) as usize;
        let shape = Shape {
            bins: Table { bins: layout.bins(), load, bits },
            stash: Table { bins: stash, load: sender, bits: sigma as usize },
        };
        Ok(Self { hashed, sigma, cuckoo, shape, vacant })
    }

    /// Bits of the numbers of matches that the receiver returns.
    pub(super) fn returned_bits(&self, parameters: &Parameters) -> u32 {
        parameters.sigma.unwrap_or(self.hashed.bits())
    }

    fn layout(&self) -> Layout {
        self.cuckoo.layout
    }
}

/// M + 1: an empty slot of the sender has it. It is no remainder, and not what an empty bin of the receiver
/// has: a match of the two would tell the receiver how full the sender's bin is.
fn dummy(vacant: u128) -> u128 {
    vacant + 1
}

/// The receiver's items in their bins.
pub(super) struct ReceiverBins {
    held: HeldCharacters,
    layout: Layout,
    /// Bytes of a remainder, and of an item.
    widths: [usize; 2],
    slots: usize,
}

impl ReceiverBins {
    pub(super) fn new(run: &Run<'_>, plan: &Plan, items: &Items) -> Result<Self, Error> {
        let words = Characters::new(plan.cuckoo, run.parameters.sigma, plan.hashed, true);
        let held = words.place(run, items)?;
        Ok(Self { held, layout: plan.layout(), widths: words.ots(), slots: plan.cuckoo.stash })
    }

    /// The items in the bins and slots that `matches` names.
    pub(super) fn items(&self, matches: impl Iterator<Item = bool>) -> Vec<u32> {
        let (bins, stash) = (self.layout.bins(), self.held.stash(0, &mut Vec::new()));
        let item = |at: usize| if at < bins { self.held.item(at) } else { stash.get(at - bins).copied() };
        matches.enumerate().filter(|(_, matches)| *matches).filter_map(|(at, _)| item(at)).collect()
    }
}

impl Receiver for ReceiverBins {
    fn bins(&self, bins: Range<usize>) -> Zeroizing<Vec<u128>> {
        let (mut words, mut all) = (Vec::new(), Zeroizing::new(Vec::with_capacity(bins.len())));
        for bins in self.layout.segments_of(bins) {
            self.held.words(bins, &mut words);
            all.extend(words.chunks_exact(self.widths[0]).map(number));
        }
        all
    }

    fn stash(&self, slots: Range<usize>) -> Zeroizing<Vec<u128>> {
        let mut words = Vec::new();
        self.held.stash(self.slots, &mut words);
        let items = words.chunks_exact(self.widths[1]).map(number).skip(slots.start).take(slots.len());
        Zeroizing::new(items.collect())
    }

    fn occupied(&self, slot: usize) -> bool {
        slot < self.held.stash(0, &mut Vec::new()).len()
    }
}

/// The sender's items in all of their bins.
pub(super) struct SenderBins {
    table: simple::Table,
    assignments: BinAssignments,
    dummy: u128,
    /// Whole items, where there is a stash.
    numbers: Vec<u128>,
}

impl SenderBins {
    pub(super) fn new(run: &Run<'_>, plan: &Plan, items: &Items) -> Result<Self, Error> {
        let permutation = Permutation::new(&run.context, plan.sigma, plan.layout());
        let mut assignments = BinAssignments::with_room(&permutation, items.len());
        let mut numbers = Vec::new();
        by_pieces(run, plan.hashed, items, false, |_, values, _| {
            assignments.extend(&permutation, run.threads, values.len(), |i| values[i]);
            if plan.cuckoo.stash > 0 {
                numbers.extend_from_slice(values);
            }
        })?;
        let table = simple::Table::build(run.threads, &assignments);
        let kind = if run.parameters.paper { Error::PaperParameters } else { Error::Chance };
        table
            .check_load(plan.shape.bins.load)
            .map_err(|_| kind("a bin has more of our items than it has slots"))?;
        Ok(Self { table, assignments, dummy: dummy(plan.vacant), numbers })
    }
}

impl Sender for SenderBins {
    fn bins(&self, bins: Range<usize>, slots: Range<usize>) -> Zeroizing<Vec<u128>> {
        let mut all = Zeroizing::new(vec![self.dummy; bins.len() * slots.len()]);
        let (mut found, mut bytes) = (Vec::new(), Vec::new());
        for segment in self.table.layout().segments_of(bins.clone()) {
            found.clear();
            for bin in segment.clone() {
                let items = self.table.bin(bin).iter().enumerate();
                let here = items.skip(slots.start).take(slots.len());
                found.extend(
                    here.map(|(slot, item)| ((slot - slots.start) * bins.len() + bin - bins.start, *item)),
                );
            }
            let (function, item) =
                (self.table.layout().function_of(segment.start), |i: usize| Some(found[i].1));
            self.assignments.remainders(function, found.len(), item, 0, &mut bytes);
            for ((at, _), remainder) in found.iter().zip(bytes.chunks_exact(self.assignments.width())) {
                all[*at] = number(remainder);
            }
        }
        all
    }

    fn items(&self, items: Range<usize>) -> Zeroizing<Vec<u128>> {
        self.numbers[items].to_vec().into()
    }
}

/// The number that these bytes encode, little-endian.
fn number(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u128::from(*byte))
}
