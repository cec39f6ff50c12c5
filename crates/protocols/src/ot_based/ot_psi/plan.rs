//! What both parties derive from sizes and parameters, and the numbers that stand for items.

use vesica_crypto::block::Block;
use vesica_crypto::hash::Label;
use vesica_encode::hashing::Layout;
use vesica_encode::hashing::parameters::{self, paper};
use vesica_encode::items::Items;
use vesica_ot::kk13;

use crate::error::{Error, Misuse};
use crate::masks::MaskWidth;
use crate::oprf::bins::characters::{characters, item_bits};
use crate::oprf::bins::keys;
use crate::ot_based::check_sizes;
use crate::parameters::{Parameters, variants};
use crate::protocol::{Run, Sizes};

/// The protocol's name.
pub(super) const NAME: &str = "ot-psi";

/// Slots of bins, or of the stash, handled at a time. Local: a multiple of a tile of the OT extension, so
/// that it changes no byte.
pub(super) const REGION: usize = 1 << 12;

/// Masks that the receiver makes and looks up at a time, at least. Local.
const CANDIDATES: usize = 1 << 21;

/// Of a longer list, one for each so many of its masks. Local.
const MASKS_A_CANDIDATE: usize = 8;

/// Masks that a run of a variant may have: they are for comparison, and their lists are long.
const MOST_MASKS: usize = 1 << 28;

/// A list counts as one of so many masks: its OTs take as much.
const LEAST_LIST: usize = 1 << 8;

variants! {
    /// How items are hashed to bins.
    pub(super) enum Scheme {
        /// Cuckoo hashing.
        Cuckoo,
        /// Not at all.
        NoHashing = "no-hashing", "PSZ14: each of the receiver's items against the sender's whole set";
        /// One function.
        Simple = "simple-hashing", "PSZ14: both parties' items in one bin each, by one function";
        /// Two functions, the emptier bin.
        Balanced = "balanced-hashing", "PSZ14: the receiver's items in the emptier of two bins";
    }
}

/// What both parties derive from sizes and parameters.
pub(super) struct Plan {
    pub(super) scheme: Scheme,
    /// ℓ', of the masks.
    pub(super) width: MaskWidth,
    /// ℓ, of items that are hashed: in so many bits different ones differ.
    pub(super) word: MaskWidth,
    pub(super) layout: Layout,
    /// p, of the receiver in each bin; 0 where there are no bins.
    pub(super) slots: usize,
    pub(super) stash: usize,
    /// max_β: indices of the sender's items in each bin.
    pub(super) load: usize,
    pub(super) characters: usize,
    /// κ'
    pub(super) columns: usize,
    /// Masks that the receiver makes and looks up at a time. Local.
    pub(super) candidates: usize,
}

impl Plan {
    pub(super) fn new(sizes: Sizes, agreed: &Parameters) -> Result<Self, Error> {
        let Sizes { receiver, sender } = sizes;
        check_sizes(sizes)?;
        let scheme = Scheme::of(agreed);
        let (layout, slots, stash) = bins(scheme, receiver, agreed);
        let lists = layout.functions() * slots + stash;
        let masks = lists.saturating_mul(sender.max(LEAST_LIST));
        if scheme != Scheme::Cuckoo && masks > MOST_MASKS {
            let (protocol, variant, most) = (NAME, agreed.variant_name(), MOST_MASKS);
            return Err(Misuse::TooManyMasks { protocol, variant, receiver, sender, masks, most }.into());
        }
        let load = match scheme {
            // An item's index is its position in the list.
            Scheme::NoHashing => 1,
            Scheme::Cuckoo if agreed.paper && receiver == sender => {
                paper::load_by_equation_5(receiver as f64) as usize
            }
            _ => maximum_load(sender, layout, agreed.statistical),
        };
        let width =
            MaskWidth::for_candidates(sizes, if agreed.paper { 1 } else { load }, agreed.statistical)?;
        let word = MaskWidth::for_sizes(sizes, agreed.statistical)?;
        let characters = characters(item_bits(agreed.sigma, word));
        let (columns, candidates) = (kk13::columns(agreed.level), CANDIDATES.max(sender / MASKS_A_CANDIDATE));
        Ok(Self { scheme, width, word, layout, slots, stash, load, characters, columns, candidates })
    }

    /// The bins that have OTs.
    pub(super) fn bins(&self) -> usize {
        if self.slots > 0 { self.layout.bins() } else { 0 }
    }

    /// The slots of all bins: number `bin`·p + `slot`.
    pub(super) fn all_slots(&self) -> usize {
        self.bins() * self.slots
    }

    /// The list for a slot of a bin.
    pub(super) fn list_of(&self, slot: usize) -> usize {
        self.layout.function_of(slot / self.slots) * self.slots + slot % self.slots
    }

    /// The lists of the bins; those of the stash follow.
    pub(super) fn lists_of_bins(&self) -> usize {
        self.layout.functions() * self.slots
    }

    pub(super) fn transfers(&self) -> usize {
        (self.all_slots() + self.stash) * self.characters
    }

    pub(super) fn lists(&self) -> usize {
        self.lists_of_bins() + self.stash
    }
}

/// The bins, the receiver's slots in each, and in the stash.
fn bins(scheme: Scheme, items: usize, agreed: &Parameters) -> (Layout, usize, usize) {
    match scheme {
        Scheme::Cuckoo => {
            let cuckoo = if agreed.paper {
                paper::two_way(items, items)
            } else {
                parameters::two_way(items, agreed.statistical)
            };
            (cuckoo.layout, 1, cuckoo.stash)
        }
        Scheme::NoHashing => (Layout::new(1, 1), 0, items),
        Scheme::Simple => {
            // About ln n items a bin: 9/13 is ln 2, but for a thousandth.
            let average = (9 * items.next_power_of_two().ilog2()).div_ceil(13).max(1);
            let layout = Layout::new(1, items.div_ceil(average as usize) as u64);
            (layout, maximum_load(items, layout, agreed.statistical), 0)
        }
        Scheme::Balanced => {
            let layout = Layout::new(2, items as u64);
            // Of few items the bound for simple hashing, with all bins of every item, is the lower one.
            let slots = parameters::maximum_balanced_load(items, layout, agreed.statistical)
                .min(maximum_load(items, layout, agreed.statistical));
            (layout, slots, 0)
        }
    }
}

/// The most items in a bin, but for 2^-λ.
fn maximum_load(items: usize, layout: Layout, statistical: u32) -> usize {
    if layout.segment() == 1 { items } else { parameters::maximum_load(items, layout, statistical) }
}

/// What is hashed to bins of each item, and what is compared in them: native items of at most ℓ bits as they
/// are, others by ℓ bits of their digest.
pub(super) struct Words {
    pub(super) digests: Vec<Block>,
    pub(super) numbers: Vec<Block>,
}

impl Words {
    /// Of the items in the order given, or in their own.
    pub(super) fn of(
        run: &Run<'_>,
        plan: &Plan,
        items: &Items,
        order: Option<&[u32]>,
    ) -> Result<Self, Error> {
        let oracle = run.context.oracle(Label::new("ot-psi: item to key"));
        let digests = keys::hashed(run, &oracle, items, order)?;
        let item = |position: usize| order.map_or(position, |order| order[position] as usize);
        let numbers = match run.parameters.sigma {
            Some(sigma) if sigma <= plan.word.bits() => (0..items.len())
                .map(|position| Block::from_u128(items.native(item(position)).unwrap_or_default().into()))
                .collect(),
            _ => digests.iter().map(|hash| Block::from_u128(plan.word.truncate(hash.as_bytes()))).collect(),
        };
        Ok(Self { digests, numbers })
    }
}
