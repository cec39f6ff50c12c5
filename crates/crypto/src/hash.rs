//! Hashes under a protocol context: the random oracles of the protocols.
//!
//! ```text
//! context key = BLAKE3-derive-key("vesica protocol context v1",
//!                   sid[32] ‖ len(name) ‖ name ‖ len(parameters) ‖ parameters ‖ n_r ‖ n_s)
//! oracle key  = BLAKE3-keyed(context key, label)
//! H(x)        = BLAKE3-keyed(oracle key, x)           as many bytes as asked for; shorter outputs are prefixes
//! ```
//!
//! Lengths and counts are 64-bit little-endian numbers, so no two contexts absorb the same bytes. The session
//! id, the protocol, its parameters and both sizes thus enter every hash of a run, and the label separates
//! the oracles of one run. Nothing that is computed in one session, role, protocol or step is of use in
//! another. A context key only derives oracle keys, and an oracle key only hashes. In the random oracle model
//! for BLAKE3, the keys of different contexts or labels are independent, and so are the oracles.
//!
//! The caller chooses how to encode an input. Fields of fixed width are put side by side. Several fields of
//! varying width go to [`Oracle::hash_parts`], which prefixes each with its length.

use blake3::Hasher;
use vesica_kernels::Backend;
use vesica_kernels::blake3::{Keyed, Mode};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::block::Block;

/// Domain of the context keys; a new version of the derivation gets a new one.
const DOMAIN: &str = "vesica protocol context v1";

/// The name of one oracle of a protocol; a constant in the code that uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(&'static str);

impl Label {
    /// The label `name`.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }
}

/// The context of one protocol run, to which every hash of the run is bound.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Context {
    key: [u8; 32],
}

impl Context {
    /// The context of one run of `protocol` with agreed `parameters` on sets of these sizes (padded, as on
    /// the wire).
    #[must_use]
    pub fn new(
        sid: &[u8; 32],
        protocol: &str,
        parameters: &[u8],
        receiver_items: u64,
        sender_items: u64,
    ) -> Self {
        let mut hasher = Hasher::new_derive_key(DOMAIN);
        hasher.update(sid);
        absorb_part(&mut hasher, protocol.as_bytes());
        absorb_part(&mut hasher, parameters);
        hasher.update(&receiver_items.to_le_bytes());
        hasher.update(&sender_items.to_le_bytes());
        Self { key: hasher.finalize().into() }
    }

    /// The context of all later hashes, once both parties have also agreed on `input`.
    #[must_use]
    pub fn derive(&self, label: Label, input: &[u8]) -> Self {
        let mut key = [0; 32];
        self.hash(label, input, &mut key);
        Self { key }
    }

    /// The oracle named `label`; keep it if you use it more than once.
    #[must_use]
    pub fn oracle(&self, label: Label) -> Oracle {
        Oracle::with_key(blake3::keyed_hash(&self.key, label.0.as_bytes()).into())
    }

    /// [`Oracle::hash`] of the oracle named `label`.
    pub fn hash(&self, label: Label, input: &[u8], out: &mut [u8]) {
        self.oracle(label).hash(input, out);
    }

    /// [`Oracle::hash_parts`] of the oracle named `label`.
    pub fn hash_parts(&self, label: Label, parts: &[&[u8]], out: &mut [u8]) {
        self.oracle(label).hash_parts(parts, out);
    }

    /// [`Oracle::hash_batch`] of the oracle named `label`.
    pub fn hash_batch(&self, label: Label, inputs: &[u8], width: usize, out: &mut [u8], out_width: usize) {
        self.oracle(label).hash_batch(inputs, width, out, out_width);
    }
}

/// One random oracle: BLAKE3 under a key that nothing else uses.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Oracle {
    key: [u8; 32],
    #[zeroize(skip)]
    mode: Mode,
}

impl Oracle {
    /// BLAKE3-keyed(key, ·): for hashes outside of runs, under a constant derived for the purpose.
    #[must_use]
    pub fn with_key(key: [u8; 32]) -> Self {
        Self { key, mode: Mode::Keyed }
    }

    /// BLAKE3-derive-key(purpose, ·): for hashes outside of runs; the purpose separates them.
    #[must_use]
    pub fn derive_key(purpose: &'static str) -> Self {
        Self { key: blake3::hazmat::hash_derive_key_context(purpose), mode: Mode::DeriveKey }
    }

    /// Fills `out` with the hash of `input`.
    pub fn hash(&self, input: &[u8], out: &mut [u8]) {
        self.keyed().hash(input, out);
    }

    /// Fills `out` with the hash of `parts`, each prefixed with its length: another split is another input.
    pub fn hash_parts(&self, parts: &[&[u8]], out: &mut [u8]) {
        let mut hasher = self.keyed().hasher();
        for part in parts {
            absorb_part(&mut hasher, part);
        }
        hasher.finalize_xof().fill(out);
    }

    /// Hashes many short inputs: sets row `i` of `out` to the hash of row `i` of `inputs`.
    ///
    /// Rows lie side by side, `width` and `out_width` bytes each. Equal to [`hash`](Self::hash) on every row.
    ///
    /// # Panics
    /// If a width is zero, a slice is not a whole number of rows, or the numbers of rows differ.
    pub fn hash_batch(&self, inputs: &[u8], width: usize, out: &mut [u8], out_width: usize) {
        self.hash_batch_on(Backend::detect(), inputs, width, out, out_width);
    }

    /// [`hash_batch`](Self::hash_batch) computed by `backend`.
    ///
    /// # Panics
    /// As [`hash_batch`](Self::hash_batch).
    pub fn hash_batch_on(
        &self,
        backend: Backend,
        inputs: &[u8],
        width: usize,
        out: &mut [u8],
        out_width: usize,
    ) {
        assert!(inputs.len().is_multiple_of(width) && out.len().is_multiple_of(out_width), "whole rows");
        assert_eq!(inputs.len() / width, out.len() / out_width, "one output per input");
        self.keyed().hash_side_by_side(backend, inputs, width, out, out_width);
    }

    /// Hashes rows of OTs: sets `out[i]` to the first 16 bytes of the hash of input `i`.
    ///
    /// Input `i` is `per` halves of a block of 64 bytes, padded with zeros to whole blocks. The low 48 bits
    /// of `numbers[i]`, little-endian, are added (XOR) to its last six bytes. If those bytes were zero, the
    /// number alone separates the inputs.
    ///
    /// # Panics
    /// If the lengths do not fit each other, or `per` is not 1 to 32.
    pub fn hash_numbered(&self, halves: &[[Block; 2]], per: usize, numbers: &[u64], out: &mut [Block]) {
        self.hash_numbered_on(Backend::detect(), halves, per, numbers, out);
    }

    /// [`hash_numbered`](Self::hash_numbered) computed by `backend`.
    ///
    /// # Panics
    /// As [`hash_numbered`](Self::hash_numbered).
    pub fn hash_numbered_on(
        &self,
        backend: Backend,
        halves: &[[Block; 2]],
        per: usize,
        numbers: &[u64],
        out: &mut [Block],
    ) {
        self.keyed().hash_numbered(backend, halves, per, numbers, out);
    }

    /// Hashes many inputs of any length that lie side by side: input `i` ends before `inputs[ends[i]]`, where
    /// the next one begins. Sets row `i` of `out` to its hash, equal to [`hash`](Self::hash).
    ///
    /// # Panics
    /// If the ends are not ascending within `inputs`, `out` is not one row of `out_width` bytes for each, or
    /// the width is zero.
    pub fn hash_ranges(&self, inputs: &[u8], ends: &[usize], out: &mut [u8], out_width: usize) {
        assert_eq!(ends.len() * out_width, out.len(), "one output per input");
        let mut start = 0;
        let ranges = ends.iter().map(|&end| {
            let input = &inputs[start..end];
            start = end;
            input
        });
        self.keyed().hash_rows(Backend::detect(), ranges, out, out_width);
    }

    /// Hashes many inputs of at most 64 bytes: input `i` is the first `lengths[i]` bytes of block `i`, whose
    /// other bytes are zero. Sets `out[i]`, of 16, 32, 48 or 64 bytes, to its hash, equal to
    /// [`hash`](Self::hash). Not for secrets: copies on the stack are not wiped.
    ///
    /// # Panics
    /// If the numbers of blocks, lengths and outputs differ, or a length is above 64.
    pub fn hash_blocks<const N: usize>(&self, blocks: &[[u8; 64]], lengths: &[u32], out: &mut [[u8; N]]) {
        assert!(blocks.len() == lengths.len() && blocks.len() == out.len(), "a length and an output a block");
        assert!(lengths.iter().all(|length| *length <= 64), "an input in each block");
        self.keyed().hash_blocks(Backend::detect(), blocks, lengths, out);
    }

    /// The key, for a card.
    ///
    /// # Panics
    /// If it is that of a purpose ([`derive_key`](Self::derive_key)).
    #[cfg(feature = "cuda")]
    pub(crate) fn key_of_keyed(&self) -> &[u8; 32] {
        assert!(self.mode == Mode::Keyed, "an oracle under a key");
        &self.key
    }

    fn keyed(&self) -> Keyed<'_> {
        Keyed { key: &self.key, mode: self.mode }
    }
}

fn absorb_part(hasher: &mut Hasher, part: &[u8]) {
    hasher.update(&(part.len() as u64).to_le_bytes());
    hasher.update(part);
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL: Label = Label::new("test");

    fn context() -> Context {
        Context::new(&[5; 32], "dh", b"parameters", 10, 20)
    }

    fn digest(context: &Context) -> [u8; 16] {
        let mut out = [0; 16];
        context.hash(LABEL, b"input", &mut out);
        out
    }

    #[test]
    fn follows_its_definition() {
        let mut absorbed = vec![5; 32];
        absorbed.extend([2, 0, 0, 0, 0, 0, 0, 0]);
        absorbed.extend(b"dh");
        absorbed.extend([10, 0, 0, 0, 0, 0, 0, 0]);
        absorbed.extend(b"parameters");
        absorbed.extend([10, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0]);
        let context_key = blake3::derive_key("vesica protocol context v1", &absorbed);
        let oracle_key = *blake3::keyed_hash(&context_key, b"test").as_bytes();
        assert_eq!(digest(&context()), blake3::keyed_hash(&oracle_key, b"input").as_bytes()[..16]);

        let mut parts = [0; 40];
        context().hash_parts(LABEL, &[b"in", b"", b"put"], &mut parts);
        let mut expected = [0; 40];
        let mut hasher = Hasher::new_keyed(&oracle_key);
        hasher.update(b"\x02\0\0\0\0\0\0\0in\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0put");
        hasher.finalize_xof().fill(&mut expected);
        assert_eq!(parts, expected);
    }

    #[test]
    fn every_field_of_the_context_counts() {
        let all = [
            context(),
            Context::new(&[6; 32], "dh", b"parameters", 10, 20),
            Context::new(&[5; 32], "dhp", b"arameters", 10, 20),
            Context::new(&[5; 32], "dh", b"parameter", 10, 20),
            Context::new(&[5; 32], "dh", b"parameters", 11, 20),
            Context::new(&[5; 32], "dh", b"parameters", 10, 21),
            Context::new(&[5; 32], "dh", b"parameters", 20, 10),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|b| digest(a) != digest(b)));
        }
        let mut other = [0; 16];
        context().hash(Label::new("other"), b"input", &mut other);
        assert_ne!(other, digest(&context()));
    }

    #[test]
    fn a_shorter_output_is_a_prefix() {
        let mut long = [0; 200];
        context().hash(LABEL, b"input", &mut long);
        for length in [0, 1, 16, 31, 32, 33, 64, 65, 199] {
            let mut out = vec![0; length];
            context().hash(LABEL, b"input", &mut out);
            assert_eq!(out, long[..length]);
        }
    }

    #[test]
    fn oracles_of_no_run_are_the_modes_of_blake3() {
        let mut out = [0; 32];
        Oracle::with_key([4; 32]).hash(b"input", &mut out);
        assert_eq!(out, *blake3::keyed_hash(&[4; 32], b"input").as_bytes());
        Oracle::derive_key("vesica test").hash(b"input", &mut out);
        assert_eq!(out, blake3::derive_key("vesica test", b"input"));
    }

    #[test]
    fn numbered_rows_are_whole_blocks_with_the_number_added_at_the_end() {
        let bytes: Vec<u8> = (0..50 * 32 * 32u32).map(|i| (i * 91 % 251) as u8).collect();
        let block = |bytes: &[u8]| Block::from(<[u8; 16]>::try_from(bytes).unwrap());
        let halves: Vec<[Block; 2]> =
            bytes.as_chunks::<32>().0.iter().map(|half| [block(&half[..16]), block(&half[16..])]).collect();
        let numbers: Vec<u64> = (0..50).map(|i| 0xabc_fedc_ba98_7654 - i * 0x1_0001).collect();
        let oracle = context().oracle(LABEL);
        for per in 1..=32 {
            let expected: Vec<[u8; 16]> = (0..50)
                .map(|i| {
                    let mut input = bytes[i * per * 32..][..per * 32].to_vec();
                    input.resize((per * 32).next_multiple_of(64), 0);
                    let end = input.len();
                    let number = numbers[i].to_le_bytes();
                    input[end - 6..].iter_mut().zip(number).for_each(|(byte, number)| *byte ^= number);
                    let mut out = [0; 16];
                    oracle.hash(&input, &mut out);
                    out
                })
                .collect();
            for count in [0, 1, 7, 8, 9, 15, 16, 17, 50] {
                for backend in Backend::available() {
                    let mut out = vec![Block::ZERO; count];
                    let halves = &halves[..count * per];
                    oracle.hash_numbered_on(backend, halves, per, &numbers[..count], &mut out);
                    let equal = out.iter().zip(&expected).all(|(a, b)| a.to_bytes() == *b);
                    assert!(equal, "{backend:?}, {per} halves, {count} inputs");
                }
            }
        }
    }

    #[test]
    fn a_batch_equals_single_hashes() {
        let bytes: Vec<u8> = (0..10_000u32).map(|i| (i * 7 % 251) as u8).collect();
        let oracle = context().oracle(LABEL);
        for (width, out_width) in [
            (1, 1),
            (16, 16),
            (17, 10),
            (32, 16),
            (32, 32),
            (48, 16),
            (64, 16),
            (64, 64),
            (65, 16),
            (100, 40),
        ] {
            for rows in [0, 1, 15, 16, 17, 50] {
                let inputs = &bytes[..rows * width];
                let mut out = vec![0; rows * out_width];
                oracle.hash_batch(inputs, width, &mut out, out_width);
                let ends: Vec<usize> = (1..=rows).map(|row| row * width).collect();
                let mut ranges = vec![0; out.len()];
                oracle.hash_ranges(inputs, &ends, &mut ranges, out_width);
                assert_eq!(ranges, out);
                for (input, out) in inputs.chunks(width).zip(out.chunks(out_width)) {
                    let mut single = vec![0; out_width];
                    oracle.hash(input, &mut single);
                    assert_eq!(out, single);
                }
            }
        }
    }
}
