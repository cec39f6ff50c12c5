//! Encrypts blocks.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::error::SpillError;

/// Bytes of a block that are not records.
pub(crate) const TAG: usize = 16;

/// What a bucket is for; a constant in the code that uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(&'static str);

impl Label {
    /// The label `name`.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }
}

/// Which block it is.
#[derive(Clone, Copy)]
pub(crate) struct BlockName {
    pub(crate) label: Label,
    pub(crate) bucket: u32,
    pub(crate) block: u64,
    pub(crate) last: bool,
}

impl BlockName {
    fn nonce(self) -> Nonce {
        let mut nonce = [0; 12];
        nonce[..4].copy_from_slice(&self.bucket.to_le_bytes());
        nonce[4..].copy_from_slice(&self.block.to_le_bytes());
        Nonce::assume_unique_for_key(nonce)
    }

    fn data(self) -> Aad<Vec<u8>> {
        Aad::from([&[u8::from(self.last)], self.label.0.as_bytes()].concat())
    }
}

/// The key of one spill. The library wipes its memory when it is dropped.
pub(crate) struct Cipher(LessSafeKey);

impl Cipher {
    pub(crate) fn new(rng: &mut dyn CryptoRng) -> Result<Self, SpillError> {
        let mut key = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *key);
        let key = UnboundKey::new(&AES_256_GCM, &*key).map_err(|_| SpillError::Cipher)?;
        Ok(Cipher(LessSafeKey::new(key)))
    }

    /// Encrypts a block in place and appends its tag. A name must not be used twice.
    pub(crate) fn seal(&self, name: BlockName, block: &mut Vec<u8>) -> Result<(), SpillError> {
        let tag = self.0.seal_in_place_separate_tag(name.nonce(), name.data(), block);
        block.extend_from_slice(tag.map_err(|_| SpillError::Cipher)?.as_ref());
        Ok(())
    }

    /// The content of a block; none if it is not what was sealed under this name.
    pub(crate) fn open<'b>(&self, name: BlockName, block: &'b mut [u8]) -> Option<&'b [u8]> {
        let opened = self.0.open_in_place(name.nonce(), name.data(), block).ok()?;
        Some(&*opened)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    const NAME: BlockName = BlockName { label: Label::new("test"), bucket: 3, block: 5, last: false };

    fn cipher(seed: u64) -> Cipher {
        Cipher::new(&mut StdRng::seed_from_u64(seed)).unwrap()
    }

    #[test]
    fn a_block_opens_under_its_own_name_and_key_alone() {
        let mut sealed = b"content".to_vec();
        cipher(1).seal(NAME, &mut sealed).unwrap();
        assert_eq!(sealed.len(), 7 + TAG);
        assert_eq!(cipher(1).open(NAME, &mut sealed.clone()), Some(&b"content"[..]));
        let others = [
            BlockName { bucket: 4, ..NAME },
            BlockName { block: 6, ..NAME },
            BlockName { last: true, ..NAME },
            BlockName { label: Label::new("other"), ..NAME },
            // Equal bytes of the nonce, in other fields.
            BlockName { bucket: 0, block: (5 << 32) + 3, ..NAME },
        ];
        assert!(others.iter().all(|name| cipher(1).open(*name, &mut sealed.clone()).is_none()));
        assert!(cipher(2).open(NAME, &mut sealed.clone()).is_none());
        assert!(cipher(1).open(NAME, &mut sealed[1..].to_vec()).is_none());
        assert!(cipher(1).open(NAME, &mut []).is_none());
    }
}
