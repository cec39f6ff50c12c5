//! The fields that columns of the store are from, as they travel.

use vesica_channel::Channel;
use vesica_crypto::band;
use vesica_crypto::block::Block;
use vesica_encode::okvs::{self, Polynomial};
use vesica_ot::vole;
use zeroize::Zeroize;

use crate::error::Error;
use crate::protocol::Paced;

/// Columns handled between two calls of the channel.
const CHUNK: usize = 1 << 14;

/// An element of GF(2^128) or GF(2^64).
pub(super) trait Cell: vole::Value + band::XorValue + Zeroize {
    /// Bytes on the wire, little-endian.
    const BYTES: usize;

    /// The value that uniform bits stand for.
    fn of_block(block: Block) -> Self;

    /// The columns, in place of what `bytes` held.
    fn to_bytes(cells: &[Self], bytes: &mut Vec<u8>);

    fn from_bytes(bytes: &[u8], cells: &mut Vec<Self>);

    /// The table of a polynomial: of values of its field.
    fn interpolate(store: Polynomial, keys: &[Block], values: &[Self]) -> Result<Vec<Self>, okvs::Error>;

    /// Sends the columns.
    fn send(cells: &[Self], channel: &mut dyn Channel, progress: &mut Paced<'_>) -> Result<(), Error> {
        let mut bytes = Vec::with_capacity(CHUNK * Self::BYTES);
        for cells in cells.chunks(CHUNK) {
            Self::to_bytes(cells, &mut bytes);
            channel.send(&bytes)?;
            progress.advance(cells.len())?;
        }
        Ok(())
    }

    /// Adds Δ times the partner's columns to mine.
    fn recv_products(
        sums: &mut [Block],
        delta: Block,
        channel: &mut dyn Channel,
        progress: &mut Paced<'_>,
    ) -> Result<(), Error> {
        let mut bytes = vec![0; CHUNK.min(sums.len()) * Self::BYTES];
        let mut cells = Vec::with_capacity(CHUNK);
        for sums in sums.chunks_mut(CHUNK) {
            let bytes = &mut bytes[..sums.len() * Self::BYTES];
            channel.recv_exact(bytes)?;
            cells.clear();
            Self::from_bytes(bytes, &mut cells);
            Self::add_products(sums, delta, &cells);
            progress.advance(cells.len())?;
        }
        Ok(())
    }
}

impl Cell for Block {
    const BYTES: usize = 16;

    fn of_block(block: Block) -> Self {
        block
    }

    fn to_bytes(cells: &[Self], bytes: &mut Vec<u8>) {
        bytes.clear();
        bytes.extend_from_slice(Self::slice_as_bytes(cells));
    }

    fn from_bytes(bytes: &[u8], cells: &mut Vec<Self>) {
        cells.extend(bytes.as_chunks().0.iter().map(|bytes| Self::from_bytes(*bytes)));
    }

    fn interpolate(store: Polynomial, keys: &[Block], values: &[Self]) -> Result<Vec<Self>, okvs::Error> {
        store.encode(keys, values)
    }
}

impl Cell for u64 {
    const BYTES: usize = 8;

    fn of_block(block: Block) -> Self {
        block.to_halves().0
    }

    fn to_bytes(cells: &[Self], bytes: &mut Vec<u8>) {
        bytes.resize(8 * cells.len(), 0);
        bytes.as_chunks_mut().0.iter_mut().zip(cells).for_each(|(bytes, cell)| *bytes = cell.to_le_bytes());
    }

    fn from_bytes(bytes: &[u8], cells: &mut Vec<Self>) {
        cells.extend(bytes.as_chunks().0.iter().map(|bytes| Self::from_le_bytes(*bytes)));
    }

    /// Polynomials are for malicious runs, whose values are not these.
    fn interpolate(_: Polynomial, keys: &[Block], _: &[Self]) -> Result<Vec<Self>, okvs::Error> {
        Err(okvs::Error::TooManyKeys { keys: keys.len(), most: 0 })
    }
}
