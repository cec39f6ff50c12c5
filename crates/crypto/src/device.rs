//! Where a party computes on many elements or items at once: on its cores, or on a card.
//!
//! A device is always there, and is the cores unless somebody [opens](Device::open) a card (feature `cuda`). Each
//! method says whether a card has computed. If it has not, because there is none or it has failed, the caller computes
//! on its cores: the bytes are the same. A card that has failed is not asked again, and [`Device::failure`] says why.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::block::Block;
#[cfg(feature = "cuda")]
use crate::card::{Card, CardError};
use crate::group::{InvalidElement, Scalar};
use crate::hash::Oracle;
#[cfg(not(feature = "cuda"))]
use crate::no_card::{Card, CardError};

/// Elements or items that one call of a card is given: enough to keep its threads busy. Local: changes no byte.
const PIECE: usize = 1 << 18;

/// The cores of this machine, or a card beside them. Clones share the card.
#[derive(Clone, Default)]
pub struct Device(Option<Arc<InUse>>);

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.name()).finish()
    }
}

struct InUse {
    /// One call at a time: each has the free memory of the card for itself.
    card: Mutex<Card>,
    name: String,
    failure: OnceLock<String>,
}

/// Why no card was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoCard {
    /// The reason, in words.
    pub reason: String,
    /// Whether there is something to mend: a driver is there, so that somebody expects a card to work.
    pub has_driver: bool,
}

impl From<CardError> for NoCard {
    fn from(error: CardError) -> Self {
        NoCard { reason: error.to_string(), has_driver: !error.is_without_driver() }
    }
}

/// A Bloom filter of several bins, as `vesica_encode::bloom` has them.
#[derive(Clone, Copy, Debug)]
pub struct BloomShape {
    /// Bins.
    pub bins: u32,
    /// Slots of a slice.
    pub slots: u32,
    /// Slices of a bin: hash functions.
    pub hashes: u32,
}

/// The hash functions of a Bloom filter: an oracle from items to seeds and bins, and what makes slots of seeds.
pub struct BloomFunctions<'a> {
    /// Items to seeds and bins; under a key, not a purpose.
    pub seed: &'a Oracle,
    /// Seeds to blocks of four slots.
    pub blocks: BloomBlocks<'a>,
    /// What the filter looks like.
    pub shape: BloomShape,
}

/// What makes blocks of four slots from the seed of an item.
#[derive(Clone, Copy)]
pub enum BloomBlocks<'a> {
    /// AES under these keys ([`FixedKey::ccr`](crate::aes_hash::FixedKey::ccr)), one for each block. Seeds have 128
    /// bits.
    Narrow(&'a [Block]),
    /// [`Oracle::hash_numbered`]. Seeds have 256 bits.
    Wide(&'a Oracle),
}

impl Device {
    /// Whether this build can use a card at all.
    pub const CAN_HAVE_CARD: bool = cfg!(feature = "cuda");

    /// Card `number` of this machine, counted from 0. That takes seconds: its kernels are compiled.
    ///
    /// # Errors
    /// If there is no such card, or it cannot be used.
    pub fn open(number: usize) -> Result<Self, NoCard> {
        let card = Card::open(number)?;
        let name = card.name().to_owned();
        Ok(Device(Some(Arc::new(InUse { card: Mutex::new(card), name, failure: OnceLock::new() }))))
    }

    /// How many cards this machine has.
    ///
    /// # Errors
    /// If nothing can tell.
    pub fn count() -> Result<usize, NoCard> {
        Ok(Card::count()?)
    }

    /// The names of the cards of this machine, in the order of their numbers.
    ///
    /// # Errors
    /// If nothing can tell, or there is no compiler for their kernels.
    pub fn names() -> Result<Vec<String>, NoCard> {
        Ok(Card::names()?)
    }

    /// The name of the card, if there is one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.0.as_deref().map(|in_use| in_use.name.as_str())
    }

    /// Why the card is not asked any more, if it has failed.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.0.as_deref()?.failure.get().map(String::as_str)
    }

    /// Whether a card computes.
    #[must_use]
    pub fn has_card(&self) -> bool {
        self.0.as_deref().is_some_and(|in_use| in_use.failure.get().is_none())
    }

    /// How many elements to hand over at once, where the cores would take so many.
    #[must_use]
    pub fn piece(&self, on_cores: usize) -> usize {
        if self.has_card() { PIECE.max(on_cores) } else { on_cores }
    }

    /// [`Group::map_mul_encode`](crate::group::Group::map_mul_encode) of
    /// [`Ristretto255`](crate::group::Ristretto255), if a card computes; whether it has.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn map_mul_encode(&self, scalar: &Scalar, uniform: &[[u8; 64]], out: &mut [[u8; 32]]) -> bool {
        self.ask(|card| card.map_mul_encode(scalar, uniform, out)).is_some()
    }

    /// [`Group::decode_mul_encode`](crate::group::Group::decode_mul_encode) of
    /// [`Ristretto255`](crate::group::Ristretto255), if a card computes; what has come of it.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn decode_mul_encode(
        &self,
        scalar: &Scalar,
        encoded: &[[u8; 32]],
        out: &mut [[u8; 32]],
    ) -> Option<Result<(), InvalidElement>> {
        self.ask(|card| card.decode_mul_encode(scalar, encoded, out))
    }

    /// The slots of items in all slices of a Bloom filter, if a card computes; whether it has. The slots of slice i are
    /// at `slots[i · n ..]` for n items, which lie side by side in `width` bytes each.
    ///
    /// # Panics
    /// If the lengths do not fit each other, the width is none of an item, or an oracle has no key.
    pub fn bloom_slots(
        &self,
        functions: &BloomFunctions<'_>,
        items: &[u8],
        width: usize,
        slots: &mut [u32],
    ) -> bool {
        let mut bins = vec![0; items.len() / width];
        self.ask(|card| card.bloom_positions(functions, items, width, &mut bins, slots)).is_some()
    }

    /// What the card computes, unless it fails.
    fn ask<T>(&self, compute: impl FnOnce(&Card) -> Result<T, CardError>) -> Option<T> {
        let in_use = self.0.as_deref().filter(|_| self.has_card())?;
        let card = in_use.card.lock().unwrap_or_else(PoisonError::into_inner);
        compute(&card).inspect_err(|error| drop(in_use.failure.set(error.to_string()))).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::{Group, Ristretto255};

    #[test]
    fn without_a_card_nothing_is_computed_and_pieces_stay_what_they_are() {
        let device = Device::default();
        let one = Ristretto255::scalar_from_uniform(&[1; 64]);
        let mut out = [[7; 32]; 2];
        assert!(!device.map_mul_encode(&one, &[[1; 64]; 2], &mut out));
        assert_eq!(device.decode_mul_encode(&one, &[[1; 32]; 2], &mut out), None);
        assert_eq!((out, device.piece(512)), ([[7; 32]; 2], 512));
        assert!(!device.has_card() && device.name().is_none() && device.failure().is_none());
    }

    #[test]
    fn a_card_that_is_not_there_is_refused_with_the_reason() {
        let refused = Device::open(usize::MAX).err().unwrap();
        assert!(!refused.reason.is_empty());
        assert_eq!(refused.has_driver, Device::count().is_ok());
        assert!(Device::CAN_HAVE_CARD || refused.reason == "this build has no card");
    }
}
