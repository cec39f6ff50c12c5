//! The public digest of a key's canonical bytes.
//!
//! `digest = first w bytes of BLAKE3(key_w, canonical)`, BLAKE3 keyed with
//! `key_w = BLAKE3-derive-key("vesica item digest v1", w as u8)`. The width `w` is in the key, so a 128-bit digest is
//! not the beginning of the 256-bit one. Dummies are the same construction under a context of their own.

use std::sync::LazyLock;

use super::Width;

const ITEM_CONTEXT: &str = "vesica item digest v1";
const DUMMY_CONTEXT: &str = "vesica dummy item v1";

struct Keys {
    narrow: [u8; 32],
    wide: [u8; 32],
}

impl Keys {
    fn new(context: &str) -> Self {
        let key = |width: Width| blake3::derive_key(context, &[width.bytes() as u8]);
        Keys { narrow: key(Width::Digest128), wide: key(Width::Digest256) }
    }

    fn of(&self, width: Width) -> &[u8; 32] {
        match width {
            Width::Digest128 => &self.narrow,
            Width::Digest256 => &self.wide,
        }
    }
}

static ITEM_KEYS: LazyLock<Keys> = LazyLock::new(|| Keys::new(ITEM_CONTEXT));
static DUMMY_KEYS: LazyLock<Keys> = LazyLock::new(|| Keys::new(DUMMY_CONTEXT));

/// Many keys' canonical bytes, one after the other.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// All keys' bytes.
    pub bytes: &'a [u8],
    /// Where each key ends in `bytes`; the next one begins there.
    pub ends: &'a [usize],
}

/// The digest of one key in `out`, which is 16 or 32 bytes long as `width` says.
pub fn digest(width: Width, canonical: &[u8], out: &mut [u8]) {
    digest_batch(width, Batch { bytes: canonical, ends: &[canonical.len()] }, out);
}

/// The digests of a batch, one after the other in `out`.
///
/// # Panics
/// If `out` is not exactly as long as the digests, or the ends are not ascending within the bytes.
pub fn digest_batch(width: Width, batch: Batch<'_>, out: &mut [u8]) {
    assert_eq!(out.len(), batch.ends.len() * width.bytes(), "one digest for each key");
    let key = ITEM_KEYS.of(width);
    let mut start = 0;
    for (&end, out) in batch.ends.iter().zip(out.chunks_exact_mut(width.bytes())) {
        let hash = blake3::keyed_hash(key, &batch.bytes[start..end]);
        out.copy_from_slice(&hash.as_bytes()[..width.bytes()]);
        start = end;
    }
}

/// A dummy item in `out`: what no key's digest equals, save by a collision of BLAKE3.
///
/// # Panics
/// If `out` is not exactly as long as `width` says.
pub fn dummy(width: Width, random: &[u8; 32], out: &mut [u8]) {
    let hash = blake3::keyed_hash(DUMMY_KEYS.of(width), random);
    out.copy_from_slice(&hash.as_bytes()[..width.bytes()]);
}
