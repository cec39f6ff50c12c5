//! The fields that the slots of the store are from, as they travel.

use vesica_channel::Channel;
use vesica_crypto::band;
use vesica_crypto::block::Block;
use vesica_crypto::memory::Wiped;
use vesica_encode::okvs::{self, Polynomial};
use vesica_ot::vole;
use zeroize::Zeroize;

use crate::error::Error;
use crate::protocol::Run;

/// Elements handled between two calls of the channel.
const CHUNK: usize = 1 << 14;

/// An element of GF(2^128) or GF(2^64).
pub(crate) trait FieldElement: vole::Value + band::XorValue + Zeroize {
    /// Bytes on the wire, little-endian.
    const BYTES: usize;

    /// The value that uniform bits stand for.
    fn of_block(block: Block) -> Self;

    /// The elements, in place of what `bytes` held.
    fn to_bytes(elements: &[Self], bytes: &mut Vec<u8>);

    fn from_bytes(bytes: &[u8], elements: &mut Vec<Self>);

    /// The table of a polynomial: of values of its field.
    fn interpolate(store: Polynomial, keys: &[Block], values: &[Self]) -> Result<Vec<Self>, okvs::Error>;

    /// Sends A', as progress of all the receiver's keys.
    fn send(table: &[Self], channel: &mut dyn Channel, run: &Run<'_>) -> Result<(), Error> {
        let mut progress = run.paced(run.sizes.receiver, table.len());
        let mut bytes = Vec::with_capacity(CHUNK * Self::BYTES);
        for elements in table.chunks(CHUNK) {
            Self::to_bytes(elements, &mut bytes);
            channel.send(&bytes)?;
            progress.advance(elements.len())?;
        }
        Ok(())
    }

    /// Receives A': B' = B ⊕ Δ·A', as progress of all the receiver's keys.
    fn recv_products(
        mut b: Wiped<Block>,
        delta: Block,
        channel: &mut dyn Channel,
        run: &Run<'_>,
    ) -> Result<Wiped<Block>, Error> {
        let mut progress = run.paced(run.sizes.receiver, b.len());
        let mut bytes = vec![0; CHUNK.min(b.len()) * Self::BYTES];
        let mut elements = Vec::with_capacity(CHUNK);
        for sums in b.chunks_mut(CHUNK) {
            let bytes = &mut bytes[..sums.len() * Self::BYTES];
            channel.recv_exact(bytes)?;
            elements.clear();
            Self::from_bytes(bytes, &mut elements);
            Self::add_products(sums, delta, &elements);
            progress.advance(elements.len())?;
        }
        Ok(b)
    }
}

impl FieldElement for Block {
    const BYTES: usize = 16;

    fn of_block(block: Block) -> Self {
        block
    }

    fn to_bytes(elements: &[Self], bytes: &mut Vec<u8>) {
        bytes.clear();
        bytes.extend_from_slice(Self::slice_as_bytes(elements));
    }

    fn from_bytes(bytes: &[u8], elements: &mut Vec<Self>) {
        elements.extend(bytes.as_chunks().0.iter().map(|bytes| Self::from_bytes(*bytes)));
    }

    fn interpolate(store: Polynomial, keys: &[Block], values: &[Self]) -> Result<Vec<Self>, okvs::Error> {
        store.encode(keys, values)
    }
}

impl FieldElement for u64 {
    const BYTES: usize = 8;

    fn of_block(block: Block) -> Self {
        block.to_halves().0
    }

    fn to_bytes(elements: &[Self], bytes: &mut Vec<u8>) {
        bytes.resize(8 * elements.len(), 0);
        let slots = bytes.as_chunks_mut().0.iter_mut();
        slots.zip(elements).for_each(|(bytes, element)| *bytes = element.to_le_bytes());
    }

    fn from_bytes(bytes: &[u8], elements: &mut Vec<Self>) {
        elements.extend(bytes.as_chunks().0.iter().map(|bytes| Self::from_le_bytes(*bytes)));
    }

    /// Polynomials are for malicious runs, whose values are not these.
    fn interpolate(_: Polynomial, keys: &[Block], _: &[Self]) -> Result<Vec<Self>, okvs::Error> {
        Err(okvs::Error::TooManyKeys { keys: keys.len(), most: 0 })
    }
}
