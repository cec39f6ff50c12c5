//! What both generators share: reading a stream of blocks by bytes, and serving as a random number generator.

use zeroize::Zeroize;

use crate::block::Block;

/// Blocks generated ahead for small reads.
const BUFFER: usize = 16;

/// Reads a stream: small reads come from a buffer of blocks generated ahead. Wiped when dropped.
pub(crate) struct StreamReader {
    /// The next block to generate.
    counter: u64,
    buffer: [Block; BUFFER],
    /// Bytes of `buffer` that were handed out.
    used: usize,
}

impl StreamReader {
    /// The beginning of a stream.
    pub(crate) const fn new() -> Self {
        Self { counter: 0, buffer: [Block::ZERO; BUFFER], used: BUFFER * Block::BYTES }
    }

    /// Fills `out` with the next bytes of the stream. `keystream` fills whole blocks from a counter on.
    #[inline]
    pub(crate) fn fill(&mut self, out: &mut [u8], keystream: impl Fn(u64, &mut [u8])) {
        let buffered = &Block::slice_as_bytes(&self.buffer)[self.used..];
        let (from_buffer, rest) = out.split_at_mut(out.len().min(buffered.len()));
        from_buffer.copy_from_slice(&buffered[..from_buffer.len()]);
        self.used += from_buffer.len();
        // Large reads go straight into the caller's slice.
        let (direct, tail) =
            rest.split_at_mut(rest.len() / (BUFFER * Block::BYTES) * (BUFFER * Block::BYTES));
        keystream(self.counter, direct);
        self.counter += (direct.len() / Block::BYTES) as u64;
        if !tail.is_empty() {
            keystream(self.counter, Block::slice_as_mut_bytes(&mut self.buffer));
            self.counter += BUFFER as u64;
            tail.copy_from_slice(&Block::slice_as_bytes(&self.buffer)[..tail.len()]);
            self.used = tail.len();
        }
    }
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        self.buffer.zeroize();
    }
}

/// Implements `rand_core` for a generator with `fill`: words are its next bytes, little-endian.
macro_rules! serve_as_rng {
    ($generator:ty) => {
        impl ::rand_core::TryRng for $generator {
            type Error = ::core::convert::Infallible;

            fn try_next_u32(&mut self) -> Result<u32, ::core::convert::Infallible> {
                let mut word = [0; 4];
                self.fill(&mut word);
                Ok(u32::from_le_bytes(word))
            }

            fn try_next_u64(&mut self) -> Result<u64, ::core::convert::Infallible> {
                let mut word = [0; 8];
                self.fill(&mut word);
                Ok(u64::from_le_bytes(word))
            }

            fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), ::core::convert::Infallible> {
                self.fill(out);
                Ok(())
            }
        }

        impl ::rand_core::TryCryptoRng for $generator {}

        // Key schedule and buffer wipe themselves.
        impl ::zeroize::ZeroizeOnDrop for $generator {}
    };
}

pub(crate) use serve_as_rng;
