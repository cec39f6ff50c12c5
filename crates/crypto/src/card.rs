//! Group operations and the positions of Bloom filters on a card of NVIDIA (feature `cuda`).
//!
//! The bytes are those of the processor's back ends, so a party that has a card and one that has none understand each
//! other. Its memory holds secrets only during a call; [`vesica_kernels::cuda`] says what that leaves out.

use vesica_kernels::cuda;

use crate::group::{InvalidElement, Scalar};

pub use crate::device::{BloomBlocks, BloomFunctions, BloomShape};
pub use vesica_kernels::cuda::{CardError, LONGEST_ITEM, compile};

/// A card, with the kernels on it.
pub struct Card(cuda::Card);

impl Card {
    /// Card `number` of this machine, counted from 0. Compiling the kernels takes seconds;
    /// [`program`](Self::program) spares the next process most of it.
    ///
    /// # Errors
    /// If there is no driver, no such card or no compiler, or one of them fails.
    pub fn open(number: usize) -> Result<Self, CardError> {
        cuda::Card::open(number).map(Self)
    }

    /// Card `number` with the compiled kernels of another [`Card`] of the same kind, or of [`compile`]. The program
    /// sees every secret that the card is given.
    ///
    /// # Errors
    /// If there is no driver or no such card, or the program does not fit it.
    pub fn open_with(number: usize, program: Vec<u8>) -> Result<Self, CardError> {
        cuda::Card::open_with(number, program).map(Self)
    }

    /// How many cards the driver finds.
    ///
    /// # Errors
    /// If there is no driver, or it fails.
    pub fn count() -> Result<usize, CardError> {
        cuda::Card::count()
    }

    /// The names of the cards that the driver finds, if there is a compiler for them, too.
    ///
    /// # Errors
    /// If the driver or the compiler is missing, or the driver fails.
    pub fn names() -> Result<Vec<String>, CardError> {
        let names = cuda::Card::names()?;
        cuda::find_compiler().map(|()| names)
    }

    /// The name of the card, and its kind as the compiler calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The compiled kernels.
    #[must_use]
    pub fn program(&self) -> &[u8] {
        self.0.program()
    }

    /// [`Group::map_mul_encode`](crate::group::Group::map_mul_encode) of
    /// [`Ristretto255`](crate::group::Ristretto255).
    ///
    /// # Errors
    /// If the card or its driver fails.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn map_mul_encode(
        &self,
        scalar: &Scalar,
        uniform: &[[u8; 64]],
        out: &mut [[u8; 32]],
    ) -> Result<(), CardError> {
        self.0.map_mul_encode(&scalar.0, uniform, out)
    }

    /// [`Group::decode_mul_encode`](crate::group::Group::decode_mul_encode) of
    /// [`Ristretto255`](crate::group::Ristretto255); the inner result is what the peer sent.
    ///
    /// # Errors
    /// If the card or its driver fails.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn decode_mul_encode(
        &self,
        scalar: &Scalar,
        encoded: &[[u8; 32]],
        out: &mut [[u8; 32]],
    ) -> Result<Result<(), InvalidElement>, CardError> {
        self.0.decode_mul_encode(&scalar.0, encoded, out)
    }

    /// The bin of each item, and its slots in all slices: those of slice i at `slots[i · n ..]` for n items. Items of
    /// `width` bytes lie side by side.
    ///
    /// # Errors
    /// If the card or its driver fails.
    ///
    /// # Panics
    /// If the width is not 1 to [`LONGEST_ITEM`], the lengths do not fit each other, or an oracle has no key.
    pub fn bloom_positions(
        &self,
        functions: &BloomFunctions<'_>,
        items: &[u8],
        width: usize,
        bins: &mut [u32],
        slots: &mut [u32],
    ) -> Result<(), CardError> {
        let blocks = match functions.blocks {
            BloomBlocks::Narrow(keys) => cuda::BloomBlocks::Narrow(keys),
            BloomBlocks::Wide(oracle) => cuda::BloomBlocks::Wide(oracle.key_of_keyed()),
        };
        let BloomShape { bins: bin_count, slots: slot_count, hashes } = functions.shape;
        let shape = cuda::BloomShape { bins: bin_count, slots: slot_count, hashes };
        let functions = cuda::BloomFunctions { seed_key: functions.seed.key_of_keyed(), blocks, shape };
        self.0.bloom_positions(&functions, items, width, bins, slots)
    }
}
