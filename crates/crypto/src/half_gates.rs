//! Garbled AND gates: half gates over free XOR with point-and-permute, two ciphertexts a gate, and one if the garbler
//! knows an input.
//!
//! Source: Zahur, Rosulek, Evans, *Two halves make a whole*, EUROCRYPT 2015 (eprint 2014/756), Figure 2. A wire has
//! labels X (zero) and X ⊕ Δ (one); Δ is odd, so the lowest bits of the two labels differ, and that of X is the
//! wire's permute bit p. The evaluator holds one label of each wire and sees its lowest bit, but not p. XOR adds
//! labels, and NOT exchanges them: neither needs a table.
//!
//! ```text
//! garbler: zero labels A, B                                      evaluator: labels A, B with lowest bits s_a, s_b
//! T_G = H(A, j) ⊕ H(A ⊕ Δ, j) ⊕ p_b·Δ          ── T_G, T_E ──►
//! T_E = H(B, j+1) ⊕ H(B ⊕ Δ, j+1) ⊕ A
//! C = H(A, j) ⊕ p_a·T_G                                          C = H(A, j) ⊕ s_a·T_G
//!   ⊕ H(B, j+1) ⊕ p_b·(T_E ⊕ A)                                    ⊕ H(B, j+1) ⊕ s_b·(T_E ⊕ A)
//! ```
//!
//! A gate s ∧ x whose bit s the garbler knows is a generator's half alone: T = H(X, j) ⊕ H(X ⊕ Δ, j) ⊕ s·Δ. It is the
//! unary gate with row reduction of Huang, Evans, Katz (NDSS 2012, §5.3.3); whether it is the identity or the constant
//! zero stays hidden, as p_b does in a gate of two wires.
//!
//! **The hash** takes the number j of the half, which is never used again: two for a gate of two wires, one for a gate
//! with a private bit. Labels of ℓ bits are cut from it.
//!
//! | ℓ | H(x, j) | why it is circular correlation robust (CCR) |
//! |---|---|---|
//! | 80, 112, 128 | AES_k(σ(x)) ⊕ σ(x), k = k_0 + j | eprint 2019/1168, in the ideal cipher model: each key sees two inputs, so an attacker with p calls of the cipher gains about p/2^(ℓ-1), whatever the number of gates ([`aes_hash`](crate::aes_hash)) |
//! | 192, 256 | BLAKE3 under a key of the run, over j (16 bytes) and x (32 bytes) | in the random oracle model H(x ⊕ Δ, j) ⊕ b·Δ is uniform until someone asks for that input, which takes a guess of Δ: p/2^(ℓ-1). AES-128 would be weaker, through its key and its block |
//!
//! Δ has ℓ - 1 random bits: its lowest bit is one.
//!
//! k_0 and BLAKE3's key come from the context of the run. One context serves one garbled circuit.
//!
//! | symbol | code |
//! |---|---|
//! | T_G, T_E | `tables[i]` |
//! | s·Δ | `selected[i]` |
//! | j | `next` |
//!
//! Cost by gate: two keys scheduled, four blocks to garble and two to evaluate; half of it with a private bit.

use vesica_kernels::Backend;
use vesica_kernels::aes::half_gates::{self as kernel, Batch, formulas};

use crate::block::Block;
use crate::hash::{Context, Label, Oracle};
use crate::memory::Wiped;

/// Gates of a call of the wide hash.
const BATCH: usize = 64;

/// The hash of a garbled circuit, and the number of its next half gate. Garbler and evaluator each have one and call
/// it for the same gates in the same order; how they split them into calls is their own affair.
pub struct HalfGates<const W: usize> {
    backend: Backend,
    /// k_0.
    start: Block,
    wide: Oracle,
    cut: [Block; W],
    next: u64,
    /// The inputs of a call of the wide hash, number by label, and its outputs.
    inputs: Wiped<Block>,
    hashes: Wiped<[Block; W]>,
}

impl<const W: usize> HalfGates<W> {
    /// The gates of `label` in this context, with labels of `bits` bits, a multiple of eight.
    ///
    /// # Panics
    /// If labels of so many bits do not fill the last of `W` blocks at least in part.
    #[must_use]
    pub fn of(context: &Context, label: Label, bits: u32) -> Self {
        let bytes = bits as usize / 8;
        assert!(bits.is_multiple_of(8) && bytes.div_ceil(Block::BYTES) == W, "{bits} bits in {W} blocks");
        let mut start = [0; 16];
        context.hash(label, b"", &mut start);
        let mut cut = [Block::ZERO; W];
        Block::slice_as_mut_bytes(&mut cut)[..bytes].fill(u8::MAX);
        let hashes = if W == 1 { 0 } else { 4 * BATCH };
        Self {
            backend: Backend::detect(),
            start: Block::from(start),
            wide: context.oracle(label),
            cut,
            next: 0,
            inputs: Wiped::from(vec![Block::ZERO; (1 + W) * hashes]),
            hashes: Wiped::from(vec![[Block::ZERO; W]; hashes]),
        }
    }

    /// These gates, computed by `backend`.
    #[must_use]
    pub fn with_backend(self, backend: Backend) -> Self {
        Self { backend, ..self }
    }

    /// Sets the table and the zero label of each gate a ∧ b, from the zero labels of its inputs.
    ///
    /// # Panics
    /// If the rows differ in length.
    pub fn garble(
        &mut self,
        delta: &[Block; W],
        a: &[[Block; W]],
        b: &[[Block; W]],
        tables: &mut [[[Block; W]; 2]],
        out: &mut [[Block; W]],
    ) {
        assert!([b.len(), tables.len(), out.len()] == [a.len(); 3], "rows of one length");
        if let Some(batch) = self.narrow(delta) {
            let tables = tables.as_flattened_mut().as_flattened_mut().as_chunks_mut().0;
            let (a, b) = (a.as_flattened(), b.as_flattened());
            kernel::garble(self.backend, &batch, a, b, tables, out.as_flattened_mut());
        } else {
            let work = a.chunks(BATCH).zip(b.chunks(BATCH));
            let made = tables.chunks_mut(BATCH).zip(out.chunks_mut(BATCH));
            for (start, ((a, b), (tables, out))) in (self.next..).step_by(2 * BATCH).zip(work.zip(made)) {
                let hashes = self.hash::<2, 2>(start, [a, b], delta);
                for (i, [hash_a, hash_b]) in hashes.iter().enumerate() {
                    (tables[i], out[i]) =
                        formulas::garble(delta, &a[i], &b[i], hash_a.each_ref(), hash_b.each_ref());
                }
            }
        }
        self.next += 2 * a.len() as u64;
    }

    /// Sets the table and the zero label of each gate s ∧ x, from the zero label of x and from `selected`, which is
    /// Δ if s is set and else zero.
    ///
    /// # Panics
    /// If the rows differ in length.
    pub fn garble_private(
        &mut self,
        delta: &[Block; W],
        selected: &[[Block; W]],
        x: &[[Block; W]],
        tables: &mut [[Block; W]],
        out: &mut [[Block; W]],
    ) {
        assert!([selected.len(), tables.len(), out.len()] == [x.len(); 3], "rows of one length");
        if let Some(batch) = self.narrow(delta) {
            let (selected, x) = (selected.as_flattened(), x.as_flattened());
            let (tables, out) = (tables.as_flattened_mut(), out.as_flattened_mut());
            kernel::garble_private(self.backend, &batch, selected, x, tables, out);
        } else {
            let work = selected.chunks(BATCH).zip(x.chunks(BATCH));
            let made = tables.chunks_mut(BATCH).zip(out.chunks_mut(BATCH));
            for (start, ((selected, x), (tables, out))) in (self.next..).step_by(BATCH).zip(work.zip(made)) {
                let hashes = self.hash::<1, 2>(start, [x], delta);
                for (i, [hash]) in hashes.iter().enumerate() {
                    [tables[i], out[i]] = formulas::garble_private(&selected[i], &x[i], hash.each_ref());
                }
            }
        }
        self.next += x.len() as u64;
    }

    /// Sets the label of each gate a ∧ b, from those of its inputs and its table.
    ///
    /// # Panics
    /// If the rows differ in length.
    pub fn evaluate(
        &mut self,
        a: &[[Block; W]],
        b: &[[Block; W]],
        tables: &[[[Block; W]; 2]],
        out: &mut [[Block; W]],
    ) {
        assert!([b.len(), tables.len(), out.len()] == [a.len(); 3], "rows of one length");
        if let Some(batch) = self.narrow(&[Block::ZERO; W]) {
            let tables = tables.as_flattened().as_flattened().as_chunks().0;
            let (a, b) = (a.as_flattened(), b.as_flattened());
            kernel::evaluate(self.backend, &batch, a, b, tables, out.as_flattened_mut());
        } else {
            let work = a.chunks(BATCH).zip(b.chunks(BATCH));
            let made = tables.chunks(BATCH).zip(out.chunks_mut(BATCH));
            for (start, ((a, b), (tables, out))) in (self.next..).step_by(2 * BATCH).zip(work.zip(made)) {
                let hashes = self.hash::<2, 1>(start, [a, b], &[Block::ZERO; W]);
                for (i, [[hash_a], [hash_b]]) in hashes.iter().enumerate() {
                    out[i] = formulas::evaluate(&a[i], &b[i], &tables[i], hash_a, hash_b);
                }
            }
        }
        self.next += 2 * a.len() as u64;
    }

    /// Sets the label of each gate s ∧ x, from that of x and its table; the garbler knows s.
    ///
    /// # Panics
    /// If the rows differ in length.
    pub fn evaluate_private(&mut self, x: &[[Block; W]], tables: &[[Block; W]], out: &mut [[Block; W]]) {
        assert!([tables.len(), out.len()] == [x.len(); 2], "rows of one length");
        if let Some(batch) = self.narrow(&[Block::ZERO; W]) {
            let (x, tables) = (x.as_flattened(), tables.as_flattened());
            kernel::evaluate_private(self.backend, &batch, x, tables, out.as_flattened_mut());
        } else {
            let work = x.chunks(BATCH).zip(tables.chunks(BATCH)).zip(out.chunks_mut(BATCH));
            for (start, ((x, tables), out)) in (self.next..).step_by(BATCH).zip(work) {
                let hashes = self.hash::<1, 1>(start, [x], &[Block::ZERO; W]);
                for (i, [[hash]]) in hashes.iter().enumerate() {
                    out[i] = formulas::evaluate_private(&x[i], &tables[i], hash);
                }
            }
        }
        self.next += x.len() as u64;
    }

    /// What the kernels need for the next gates, if labels are of one block.
    fn narrow(&self, delta: &[Block; W]) -> Option<Batch> {
        let ([delta], [cut]) = (&delta[..], &self.cut[..]) else { return None };
        let (low, high) = self.start.to_halves();
        let first = Block::from_halves(low.wrapping_add(self.next), high);
        Some(Batch { first, delta: *delta, cut: *cut })
    }

    /// The wide hashes of some gates, of which each has a label in each of the `N` rows; the number of its first half is
    /// `start` and so on. There are the hashes of the labels themselves (`K` = 1), or also those of the labels ⊕ Δ.
    fn hash<const N: usize, const K: usize>(
        &mut self,
        start: u64,
        rows: [&[[Block; W]]; N],
        delta: &[Block; W],
    ) -> &[[[[Block; W]; K]; N]] {
        let (count, width) = (K * rows.iter().map(|row| row.len()).sum::<usize>(), (1 + W) * Block::BYTES);
        let inputs = &mut self.inputs[..(1 + W) * count];
        for (i, gate) in inputs.chunks_exact_mut((1 + W) * K * N).enumerate() {
            for (half, row) in rows.iter().enumerate() {
                let mut label = row[i];
                for k in 0..K {
                    let at = (1 + W) * (K * half + k);
                    gate[at] = Block::from_halves(start + (N * i + half) as u64, 0);
                    for (to, from) in gate[at + 1..=at + W].iter_mut().zip(&label) {
                        *to = *from;
                    }
                    label = Block::xor_rows(&label, delta);
                }
            }
        }
        let hashes = &mut self.hashes[..count];
        let out = Block::slice_as_mut_bytes(hashes.as_flattened_mut());
        self.wide.hash_batch_on(self.backend, Block::slice_as_bytes(inputs), width, out, W * Block::BYTES);
        for hash in hashes.iter_mut() {
            hash.iter_mut().zip(&self.cut).for_each(|(block, cut)| *block &= *cut);
        }
        hashes.as_chunks().0.as_chunks().0
    }
}

#[cfg(test)]
mod tests;
