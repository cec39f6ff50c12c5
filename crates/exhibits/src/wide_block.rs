//! A block cipher E of 256-bit blocks under a key of 128 bits.
//!
//! ```text
//! k_1 ‖ … ‖ k_4 = stream(key)                                            the stream of `prg`
//! E(key, L ‖ R): L ⊕= AES_k1(R);  R ⊕= AES_k2(L);  L ⊕= AES_k3(R);  R ⊕= AES_k4(L)
//! ```
//!
//! Four rounds of a Feistel network with independent pseudo-random functions are a strong pseudo-random
//! permutation (Luby, Rackoff 1988). AES-128 takes the place of a function here. For q blocks, the distance to
//! a random permutation is at most about q²/2^128 plus 4·q²/2^129 beyond the advantage against AES: 2^-70 for
//! q = 2^28.
//!
//! Blocks are given as two slices, of the halves L and of the halves R. The time depends on their number alone.

use zeroize::Zeroize;

use vesica_crypto::aes_hash::FixedKey;
use vesica_crypto::backend::Backend;
use vesica_crypto::block::Block;
use vesica_crypto::prg::Prg;

/// Blocks encrypted at a time.
const BATCH: usize = 64;

/// E under a key, which is wiped when it is dropped.
pub struct WideBlockCipher {
    rounds: [FixedKey; 4],
}

impl WideBlockCipher {
    /// E(key, ·).
    #[must_use]
    pub fn new(key: Block) -> Self {
        Self::with_backend(Backend::detect(), key)
    }

    /// [`new`](Self::new), computed by `backend`.
    #[must_use]
    pub fn with_backend(backend: Backend, key: Block) -> Self {
        let mut keys = [Block::ZERO; 4];
        Prg::with_backend(backend, key).fill_blocks(&mut keys);
        let rounds = keys.map(|key| FixedKey::with_backend(backend, key));
        keys.zeroize();
        Self { rounds }
    }

    /// Encrypts the blocks `left[i] ‖ right[i]`.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn encrypt(&self, left: &mut [Block], right: &mut [Block]) {
        assert_eq!(left.len(), right.len(), "two halves of each block");
        for (left, right) in left.chunks_mut(BATCH).zip(right.chunks_mut(BATCH)) {
            let [first, second, third, fourth] = &self.rounds;
            round(first, right, left);
            round(second, left, right);
            round(third, right, left);
            round(fourth, left, right);
        }
    }

    /// Decrypts the blocks `left[i] ‖ right[i]`.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn decrypt(&self, left: &mut [Block], right: &mut [Block]) {
        assert_eq!(left.len(), right.len(), "two halves of each block");
        for (left, right) in left.chunks_mut(BATCH).zip(right.chunks_mut(BATCH)) {
            let [first, second, third, fourth] = &self.rounds;
            round(fourth, left, right);
            round(third, right, left);
            round(second, left, right);
            round(first, right, left);
        }
    }
}

/// to ⊕= AES_k(from).
fn round(key: &FixedKey, from: &[Block], to: &mut [Block]) {
    let mut hidden = [Block::ZERO; BATCH];
    let hidden = &mut hidden[..from.len()];
    hidden.copy_from_slice(from);
    key.permute(hidden);
    to.iter_mut().zip(&*hidden).for_each(|(to, hidden)| *to ^= *hidden);
    hidden.zeroize();
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes::Aes128;
    use aes::cipher::{BlockCipherEncrypt, KeyInit};

    /// The formula above, one call of the AES library after the other.
    fn reference(key: Block, mut left: u128, mut right: u128) -> (u128, u128) {
        let aes = |key: u128, block: u128| {
            let mut bytes = block.to_le_bytes();
            Aes128::new(&key.to_le_bytes().into()).encrypt_block((&mut bytes).into());
            u128::from_le_bytes(bytes)
        };
        let round = |counter, from| aes(aes(key.to_u128(), counter), from);
        left ^= round(0, right);
        right ^= round(1, left);
        left ^= round(2, right);
        right ^= round(3, left);
        (left, right)
    }

    #[test]
    fn blocks_follow_the_formula_and_come_back() {
        let mut prg = Prg::from_seed([3; 16]);
        let key = prg.block();
        for backend in Backend::available() {
            let cipher = WideBlockCipher::with_backend(backend, key);
            for count in [0, 1, 5, 64, 200] {
                let mut halves = [vec![Block::ZERO; count], vec![Block::ZERO; count]];
                halves.iter_mut().for_each(|half| prg.fill_blocks(half));
                let plain = halves.clone();
                let [left, right] = &mut halves;
                cipher.encrypt(left, right);
                for i in 0..count {
                    let expected = reference(key, plain[0][i].to_u128(), plain[1][i].to_u128());
                    assert_eq!((left[i].to_u128(), right[i].to_u128()), expected, "{backend:?}");
                }
                cipher.decrypt(left, right);
                assert!(halves == plain, "{backend:?}");
            }
        }
    }

    #[test]
    fn a_changed_bit_or_another_key_changes_the_first_half() {
        let cipher = WideBlockCipher::new(Block::from(1u128));
        let (left, right) = (Block::from(7u128), Block::from(9u128));
        let (mut c_left, mut c_right) = ([left], [right]);
        cipher.encrypt(&mut c_left, &mut c_right);
        for bit in 0..256 {
            let (mut other_left, mut other_right) = (c_left, c_right);
            let half = if bit < 128 { &mut other_left[0] } else { &mut other_right[0] };
            *half ^= Block::from(1u128 << (bit % 128));
            cipher.decrypt(&mut other_left, &mut other_right);
            assert!(other_left[0] != left, "bit {bit}");
        }
        WideBlockCipher::new(Block::from(2u128)).decrypt(&mut c_left, &mut c_right);
        assert!(c_left[0] != left);
    }
}
