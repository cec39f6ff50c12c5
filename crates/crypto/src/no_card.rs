//! In the place of a card, in a build without the feature `cuda`: there is none.

use crate::device::BloomFunctions;
use crate::group::{InvalidElement, Scalar};

/// A card that cannot be.
pub(crate) enum Card {}

/// The one reason why.
#[derive(Debug, thiserror::Error)]
#[error("this build has no card")]
pub(crate) struct CardError;

impl CardError {
    pub(crate) fn is_without_driver(&self) -> bool {
        true
    }
}

impl Card {
    pub(crate) fn open(_: usize) -> Result<Self, CardError> {
        Err(CardError)
    }

    pub(crate) fn count() -> Result<usize, CardError> {
        Err(CardError)
    }

    pub(crate) fn names() -> Result<Vec<String>, CardError> {
        Err(CardError)
    }

    pub(crate) fn name(&self) -> &str {
        match *self {}
    }

    pub(crate) fn map_mul_encode(
        &self,
        _: &Scalar,
        _: &[[u8; 64]],
        _: &mut [[u8; 32]],
    ) -> Result<(), CardError> {
        match *self {}
    }

    pub(crate) fn decode_mul_encode(
        &self,
        _: &Scalar,
        _: &[[u8; 32]],
        _: &mut [[u8; 32]],
    ) -> Result<Result<(), InvalidElement>, CardError> {
        match *self {}
    }

    pub(crate) fn bloom_positions(
        &self,
        _: &BloomFunctions<'_>,
        _: &[u8],
        _: usize,
        _: &mut [u32],
        _: &mut [u32],
    ) -> Result<(), CardError> {
        match *self {}
    }
}
