//! Many elements or items at once: cut into pieces that fit into the memory of the card, copied there and back.

use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig, PushKernelArg, ValidAsZeroBits};
use curve25519_dalek::Scalar;
use zeroize::Zeroizing;

use super::{Card, CardError};
use crate::InvalidElement;
use crate::block::Block;

/// Threads of a block: `BLOCK_OF` in `kernels.cu`.
const THREADS: u32 = 128;

/// Most elements or items of a piece, so that their numbers are words of 32 bits.
const PIECE: usize = 1 << 22;

/// Bytes of the longest item: one chunk of BLAKE3.
pub const LONGEST_ITEM: usize = 1024;

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

/// The hash functions of a Bloom filter.
#[derive(Clone, Copy)]
pub struct BloomFunctions<'a> {
    /// The key under which items hash to seeds and bins.
    pub seed_key: &'a [u8; 32],
    /// What makes slots of seeds.
    pub blocks: BloomBlocks<'a>,
    /// What the filter looks like.
    pub shape: BloomShape,
}

/// What makes blocks of four slots from the seed of an item.
#[derive(Clone, Copy)]
pub enum BloomBlocks<'a> {
    /// AES under these keys, one for each block. Seeds have 128 bits.
    Narrow(&'a [Block]),
    /// BLAKE3 under this key. Seeds have 256 bits.
    Wide(&'a [u8; 32]),
}

/// `BloomShape` of `bloom.h`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Shape {
    bins: u32,
    slots: u32,
    hashes: u32,
    count: u32,
}

// SAFETY: four words without padding, as the kernels declare them.
unsafe impl DeviceRepr for Shape {}

/// Memory of the card, overwritten with zeros before it is freed.
struct Wiped<T: DeviceRepr + ValidAsZeroBits>(CudaSlice<T>);

impl<T: DeviceRepr + ValidAsZeroBits> Drop for Wiped<T> {
    fn drop(&mut self) {
        let stream = self.0.stream().clone();
        // If the card has failed, its memory cannot be reached any more.
        let _ = stream.memset_zeros(&mut self.0);
    }
}

impl Card {
    /// `out[i] = encode(scalar · map(uniform[i]))`.
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
        assert_eq!(uniform.len(), out.len(), "one output per input");
        let scalar = self.scalar(scalar)?;
        let piece = self.piece(64 + 32)?;
        for (uniform, out) in uniform.chunks(piece).zip(out.chunks_mut(piece)) {
            let count = out.len() as u32;
            let uniform = self.copied(uniform.as_flattened())?;
            let mut encoded = self.zeros::<u8>(32 * out.len())?;
            let mut launch = self.stream.launch_builder(&self.map_mul_encode);
            launch.arg(&scalar.0).arg(&uniform.0).arg(&mut encoded.0).arg(&count);
            // SAFETY: the arguments are those of `map_mul_encode` in `kernels.cu`: 32 bytes of a scalar, 64 bytes in
            // and 32 bytes out for each of `count` elements.
            unsafe { launch.launch(threads(count)) }?;
            self.stream.memcpy_dtoh(&encoded.0, out.as_flattened_mut())?;
            self.stream.synchronize()?;
        }
        Ok(())
    }

    /// `out[i] = encode(scalar · decode(encoded[i]))`. The inner result is the first element whose encoding is not
    /// canonical or that of the identity; the content of `out` is then undefined.
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
        assert_eq!(encoded.len(), out.len(), "one output per input");
        let scalar = self.scalar(scalar)?;
        let piece = self.piece(32 + 32)?;
        for (number, (encoded, out)) in encoded.chunks(piece).zip(out.chunks_mut(piece)).enumerate() {
            let count = out.len() as u32;
            let encoded = self.copied(encoded.as_flattened())?;
            let mut products = self.zeros::<u8>(32 * out.len())?;
            let mut first_invalid = [u32::MAX];
            let mut invalid = self.copied(&first_invalid)?;
            let mut launch = self.stream.launch_builder(&self.decode_mul_encode);
            launch.arg(&scalar.0).arg(&encoded.0).arg(&mut products.0).arg(&count).arg(&mut invalid.0);
            // SAFETY: the arguments are those of `decode_mul_encode` in `kernels.cu`: 32 bytes of a scalar, 32 bytes in
            // and out for each of `count` elements, and a word.
            unsafe { launch.launch(threads(count)) }?;
            self.stream.memcpy_dtoh(&invalid.0, &mut first_invalid)?;
            self.stream.memcpy_dtoh(&products.0, out.as_flattened_mut())?;
            self.stream.synchronize()?;
            if first_invalid[0] != u32::MAX {
                return Ok(Err(InvalidElement { index: number * piece + first_invalid[0] as usize }));
            }
        }
        Ok(Ok(()))
    }

    /// The bin of each item, and its slots in all slices: those of slice i at `slots[i · n ..]` for n items. Items of
    /// `width` bytes lie side by side.
    ///
    /// # Errors
    /// If the card or its driver fails.
    ///
    /// # Panics
    /// If the width is not 1 to [`LONGEST_ITEM`], or the lengths do not fit each other.
    pub fn bloom_positions(
        &self,
        functions: &BloomFunctions<'_>,
        items: &[u8],
        width: usize,
        bins: &mut [u32],
        slots: &mut [u32],
    ) -> Result<(), CardError> {
        assert!((1..=LONGEST_ITEM).contains(&width), "an item of one chunk");
        let shape = functions.shape;
        let (count, hashes) = (bins.len(), shape.hashes as usize);
        assert!(
            items.len() == width * count && slots.len() == hashes * count,
            "a bin and slots for each item"
        );
        let seed_key = self.copied(functions.seed_key)?;
        let (function, blocks) = match functions.blocks {
            BloomBlocks::Narrow(keys) => {
                assert_eq!(keys.len(), hashes.div_ceil(4), "a key for each block of four slots");
                (&self.bloom_positions_narrow, self.round_keys(keys)?)
            }
            BloomBlocks::Wide(key) => (&self.bloom_positions_wide, self.copied(key.as_slice())?),
        };
        let piece = self.piece(width + 4 + 4 * hashes)?;
        let mut first = 0;
        for (items, bins) in items.chunks(piece * width).zip(bins.chunks_mut(piece)) {
            let here = bins.len();
            let shape =
                Shape { bins: shape.bins, slots: shape.slots, hashes: shape.hashes, count: here as u32 };
            let (items, width) = (self.copied(items)?, width as u32);
            let (mut bins_there, mut slots_there) = (self.zeros::<u32>(here)?, self.zeros(here * hashes)?);
            let mut launch = self.stream.launch_builder(function);
            launch.arg(&seed_key.0).arg(&blocks.0).arg(&items.0).arg(&width).arg(&shape);
            launch.arg(&mut bins_there.0).arg(&mut slots_there.0);
            // SAFETY: the arguments are those of both kernels: a key, the keys of the blocks, `width` bytes an item,
            // and room for a bin and `hashes` slots each.
            unsafe { launch.launch(threads(shape.count)) }?;
            self.stream.memcpy_dtoh(&bins_there.0, bins)?;
            for (slice, slots) in slots.chunks_mut(count).enumerate() {
                let there = slots_there.0.slice(slice * here..(slice + 1) * here);
                self.stream.memcpy_dtoh(&there, &mut slots[first..first + here])?;
            }
            self.stream.synchronize()?;
            first += here;
        }
        Ok(())
    }

    /// The round keys of AES, for two keys at a time; a last one without a partner is taken with zero.
    fn round_keys(&self, keys: &[Block]) -> Result<Wiped<u8>, CardError> {
        let pairs = keys.len().div_ceil(2);
        let mut padded = keys.to_vec();
        padded.resize(2 * pairs, Block::ZERO);
        let keys = self.copied(Block::slice_as_bytes(&padded))?;
        let mut round_keys = self.zeros::<u8>(pairs * 11 * 32)?;
        let pairs = pairs as u32;
        let mut launch = self.stream.launch_builder(&self.bloom_round_keys);
        launch.arg(&keys.0).arg(&pairs).arg(&mut round_keys.0);
        // SAFETY: the arguments are those of `bloom_round_keys` in `kernels.cu`: 32 bytes in and 11 times 32 bytes out
        // for each pair.
        unsafe { launch.launch(threads(pairs)) }?;
        Ok(round_keys)
    }

    /// The scalar, in the memory of the card.
    fn scalar(&self, scalar: &Scalar) -> Result<Wiped<u8>, CardError> {
        let bytes = Zeroizing::new(scalar.to_bytes());
        self.copied(bytes.as_slice())
    }

    fn copied<T: DeviceRepr + ValidAsZeroBits>(&self, values: &[T]) -> Result<Wiped<T>, CardError> {
        Ok(Wiped(self.stream.clone_htod(values)?))
    }

    fn zeros<T: DeviceRepr + ValidAsZeroBits>(&self, count: usize) -> Result<Wiped<T>, CardError> {
        Ok(Wiped(self.stream.alloc_zeros(count)?))
    }

    /// How many elements or items of so many bytes a piece has: half of the memory that is free, at most.
    fn piece(&self, bytes: usize) -> Result<usize, CardError> {
        let (free, _) = self.context.mem_get_info()?;
        Ok((free / 2 / bytes).clamp(1, PIECE))
    }
}

/// A thread for each of `count`.
fn threads(count: u32) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (count.div_ceil(THREADS).max(1), 1, 1),
        block_dim: (THREADS, 1, 1),
        shared_mem_bytes: 0,
    }
}
