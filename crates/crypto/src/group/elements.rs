//! Groups that compute with many elements at once.
//!
//! An encoding of a double costs a fraction of any other one, in ristretto255: no square root is needed. A
//! protocol that hashes, blinds or commits can have doubles everywhere, because doubling permutes a group of
//! odd order: 2·P says the same as P.

use super::{Group, InvalidElement};

/// Many elements, in whatever form this group computes with them fastest. Wiped when dropped.
///
/// All operations are constant time in elements and scalars unless their name says `vartime_`.
pub trait Elements<G: Group>: Sized + Send + Sync {
    /// The elements that uniform bytes map to, as in [`Group::map_to_group`].
    fn map(uniform: &[G::Uniform]) -> Self;
    /// The elements with these encodings.
    ///
    /// # Errors
    /// The first one that does not decode, as in [`Group::decode`].
    fn decode(encoded: &[G::Encoding]) -> Result<Self, InvalidElement>;
    /// The encodings of twice the elements.
    ///
    /// # Panics
    /// If `out` is not one for each.
    fn encode_doubles(&self, out: &mut [G::Encoding]);
    /// The encodings of the elements themselves, which cost more than those of their doubles.
    ///
    /// # Panics
    /// If `out` is not one for each.
    fn encode(&self, out: &mut [G::Encoding]);
    /// How many there are.
    fn count(&self) -> usize;
    /// `scalar · element` for each.
    #[must_use]
    fn multiply(&self, scalar: &G::Scalar) -> Self;
    /// `scalar · element` for each, for a scalar of 128 bits.
    #[must_use]
    fn multiply_short(&self, scalar: u128) -> Self;
    /// Adds the elements of `other`, one by one.
    ///
    /// # Panics
    /// If there are not as many.
    fn add_assign(&mut self, other: &Self);
    /// Adds one element to each.
    fn add_to_all(&mut self, element: &G::Element);
    /// Subtracts the elements of `other`, one by one.
    ///
    /// # Panics
    /// If there are not as many.
    fn sub_assign(&mut self, other: &Self);
    /// Puts `-element` in the place of each.
    fn negate(&mut self);
    /// Twice the sum of all.
    fn double_sum(&self) -> G::Element;
    /// `2 · Σ weights[i] · elements[i]` for public values, in time that may depend on them.
    ///
    /// # Panics
    /// If there are not as many weights.
    fn vartime_double_weighted_sum(&self, weights: &[u128]) -> G::Element;
}

/// A public element, ready to be multiplied by many secret scalars.
pub trait FixedBase<G: BatchGroup>: Send + Sync {
    /// Makes the tables of `base`.
    fn new(base: &G::Element) -> Self;
    /// `scalar · base` for each scalar.
    fn multiply(&self, scalars: &[G::Scalar]) -> G::Elements;
}

/// A group with both.
pub trait BatchGroup: Group {
    /// Many elements.
    type Elements: Elements<Self>;
    /// A base.
    type FixedBase: FixedBase<Self>;
}
