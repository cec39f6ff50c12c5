//! The public digest of a key's canonical bytes.
//!
//! `digest = first w bytes of BLAKE3(key_w, canonical)`, BLAKE3 keyed with `key_w = BLAKE3-derive-key("vesica
//! item digest v1", w as u8)`. The width `w` is in the key, so a 128-bit digest is a prefix of the 256-bit
//! one. Dummies are the same construction under a context of their own.

use std::sync::LazyLock;

use vesica_crypto::hash::Oracle;

use super::Width;

/// The digest function of each width.
struct Digests {
    narrow: Oracle,
    wide: Oracle,
}

impl Digests {
    fn new(context: &'static str) -> Self {
        let keyed = |width: Width| {
            let mut key = [0; 32];
            Oracle::derive_key(context).hash(&[width.bytes() as u8], &mut key);
            Oracle::with_key(key)
        };
        Digests { narrow: keyed(Width::Digest128), wide: keyed(Width::Digest256) }
    }

    fn of(&self, width: Width) -> &Oracle {
        match width {
            Width::Digest128 => &self.narrow,
            Width::Digest256 => &self.wide,
        }
    }
}

static ITEMS: LazyLock<Digests> = LazyLock::new(|| Digests::new("vesica item digest v1"));
static DUMMIES: LazyLock<Digests> = LazyLock::new(|| Digests::new("vesica dummy item v1"));

/// Many keys' canonical bytes, one after the other.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// All keys' bytes.
    pub bytes: &'a [u8],
    /// Where each key ends in `bytes` and the next one begins.
    pub ends: &'a [usize],
}

/// Writes the digest of one key to `out`.
///
/// # Panics
/// If the length of `out` is not `width`.
pub fn digest(width: Width, canonical: &[u8], out: &mut [u8]) {
    assert_eq!(out.len(), width.bytes(), "one digest");
    ITEMS.of(width).hash(canonical, out);
}

/// Writes the digests of a batch to `out`, one after the other. They equal [`digest`]; keys of up to 64 bytes
/// are faster.
///
/// # Panics
/// If `out` is not exactly as long as the digests, or the ends are not ascending within the bytes.
pub fn digest_batch(width: Width, batch: Batch<'_>, out: &mut [u8]) {
    ITEMS.of(width).hash_ranges(batch.bytes, batch.ends, out, width.bytes());
}

/// Computes the digests of keys of at most 64 bytes, each padded with zeros to a block; `N` is the width in
/// bytes.
pub(super) fn digest_blocks<const N: usize>(
    width: Width,
    blocks: &[[u8; 64]],
    lengths: &[u32],
    out: &mut [[u8; N]],
) {
    debug_assert_eq!(N, width.bytes(), "one digest");
    ITEMS.of(width).hash_blocks(blocks, lengths, out);
}

/// Writes a dummy item to `out`. No key's digest equals it, except by a collision of BLAKE3.
///
/// # Panics
/// If the length of `out` is not `width`.
pub fn dummy(width: Width, random: &[u8; 32], out: &mut [u8]) {
    assert_eq!(out.len(), width.bytes(), "one digest");
    DUMMIES.of(width).hash(random, out);
}
