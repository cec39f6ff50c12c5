//! What the consistency checks of the extensions share: coefficients that nobody knows before the message
//! that they check is complete, and a hash of the checked sums.

use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label, Oracle};
use vesica_crypto::prg::Prg;
use zeroize::Zeroize;

/// Bytes of the hash of the checked sums.
pub(crate) const HASH: usize = 32;

/// The labels of the oracles of a check.
pub(crate) struct CheckLabels {
    pub(crate) setup: Label,
    pub(crate) challenge: Label,
    pub(crate) rows: Label,
}

/// The oracles of a check, and the number of the next chunk.
pub(crate) struct Check {
    /// Keyed by context, label and message of the set-up.
    challenge: Oracle,
    rows: Oracle,
    pub(crate) chunk: u64,
}

impl Check {
    pub(crate) fn new(context: &Context, labels: CheckLabels, message: &[u8]) -> Self {
        let mut key = [0; 32];
        context.hash(labels.setup, message, &mut key);
        let mut bound = [0; 32];
        context.hash_parts(labels.challenge, &[&key], &mut bound);
        Self { challenge: Oracle::with_key(bound), rows: context.oracle(labels.rows), chunk: 0 }
    }

    /// The seed of χ of the next chunk, whose message begins with these bytes.
    pub(crate) fn seed(&mut self, message: &[u8]) -> [u8; 16] {
        // The chunk's number makes a key. In front of the hashed bytes it would move them off the hash's
        // chunk borders, and most of them would be hashed one chunk at a time.
        let (mut key, mut seed) = ([0; 32], [0; 16]);
        self.challenge.hash(&self.chunk.to_le_bytes(), &mut key);
        Oracle::with_key(key).hash(message, &mut seed);
        self.chunk += 1;
        seed
    }

    /// χ of the next chunk, one for each generated block, the last one being 1.
    pub(crate) fn coefficients(&mut self, message: &[u8], generated: usize) -> Vec<Block> {
        let mut coefficients = vec![Block::ZERO; generated];
        Prg::from_seed(self.seed(message)).fill_blocks(&mut coefficients[..generated - 1]);
        coefficients[generated - 1] = Block::from(1u128);
        coefficients
    }

    /// H of the sums, which are wiped.
    pub(crate) fn hash(&self, mut sums: Vec<Block>) -> [u8; HASH] {
        let mut hash = [0; HASH];
        self.rows.hash(Block::slice_as_bytes(&sums), &mut hash);
        sums.zeroize();
        hash
    }
}
