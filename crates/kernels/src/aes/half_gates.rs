//! Half gates on labels of one block.
//!
//! Half number j is hashed under the key `first` + j (in its low 64 bits) as H(x) = AES_k(σ(x)) ⊕ σ(x). A gate of two
//! wires takes two halves, a gate with a private input takes one.

pub mod formulas;

#[cfg(any(target_arch = "aarch64", target_arch = "wasm32", target_arch = "x86_64"))]
use super::Level;
#[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
use super::single;
#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{Backend, Kernels, rekeyed_by_library};
use crate::block::Block;

/// What all gates of a batch share.
pub struct Batch {
    /// The key of the first half.
    pub first: Block,
    /// The offset of the labels; zero for the evaluator.
    pub delta: Block,
    /// The bits of a label.
    pub cut: Block,
}

impl Batch {
    /// The key of half number `half` of the batch.
    fn key(&self, half: usize) -> Block {
        let (low, high) = self.first.to_halves();
        Block::from_halves(low.wrapping_add(half as u64), high)
    }

    /// cut(H(x)) of each x in half number `half`.
    fn hash<const N: usize>(&self, half: usize, mut x: [Block; N]) -> [[Block; 1]; N] {
        rekeyed_by_library::<N, true>(&[self.key(half)], x.each_mut().map(core::slice::from_mut));
        x.map(|hash| [hash & self.cut])
    }
}

/// Runs the kernel of the back end's level, or else the portable lines.
macro_rules! on_level {
    ($backend:expr, $kernel:ident($($argument:expr),*), $portable:block) => {
        match $backend.level_for(Kernels::Aes) {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a back end of this level exists only where its instructions do.
            Level::Avx512Vaes => unsafe { x86::wide::$kernel($($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::Avx2Vaes => unsafe { x86::middle::$kernel($($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::Avx2 => unsafe { x86::narrow::$kernel($($argument),*) },
            #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: as above.
            Level::Neon | Level::Simd128 => unsafe { single::$kernel($($argument),*) },
            _ => $portable,
        }
    };
}

/// Sets the table and the zero label of each gate, from those of its inputs. All rows have one length.
pub fn garble(
    backend: Backend,
    batch: &Batch,
    a: &[Block],
    b: &[Block],
    tables: &mut [[Block; 2]],
    out: &mut [Block],
) {
    on_level!(backend, garble(batch, a, b, tables, out), {
        for (i, (table, out)) in tables.iter_mut().zip(out).enumerate() {
            let hash_a = batch.hash(2 * i, [a[i], a[i] ^ batch.delta]);
            let hash_b = batch.hash(2 * i + 1, [b[i], b[i] ^ batch.delta]);
            let (made, [label]) =
                formulas::garble(&[batch.delta], &[a[i]], &[b[i]], hash_a.each_ref(), hash_b.each_ref());
            (*table, *out) = (made.map(|[row]| row), label);
        }
    });
}

/// As [`garble`], of gates one of whose inputs is a bit s that the garbler knows: `selected` has s·Δ of each.
pub fn garble_private(
    backend: Backend,
    batch: &Batch,
    selected: &[Block],
    x: &[Block],
    tables: &mut [Block],
    out: &mut [Block],
) {
    on_level!(backend, garble_private(batch, selected, x, tables, out), {
        for (i, (table, out)) in tables.iter_mut().zip(out).enumerate() {
            let hash = batch.hash(i, [x[i], x[i] ^ batch.delta]);
            [[*table], [*out]] = formulas::garble_private(&[selected[i]], &[x[i]], hash.each_ref());
        }
    });
}

/// Sets the label of each gate, from those of its inputs and its table. All rows have one length.
pub fn evaluate(
    backend: Backend,
    batch: &Batch,
    a: &[Block],
    b: &[Block],
    tables: &[[Block; 2]],
    out: &mut [Block],
) {
    on_level!(backend, evaluate(batch, a, b, tables, out), {
        for (i, (table, out)) in tables.iter().zip(out).enumerate() {
            let ([hash_a], [hash_b]) = (batch.hash(2 * i, [a[i]]), batch.hash(2 * i + 1, [b[i]]));
            [*out] = formulas::evaluate(&[a[i]], &[b[i]], &table.map(|row| [row]), &hash_a, &hash_b);
        }
    });
}

/// As [`evaluate`], of gates one of whose inputs the garbler knows.
pub fn evaluate_private(backend: Backend, batch: &Batch, x: &[Block], tables: &[Block], out: &mut [Block]) {
    on_level!(backend, evaluate_private(batch, x, tables, out), {
        for (i, (table, out)) in tables.iter().zip(out).enumerate() {
            let [hash] = batch.hash(i, [x[i]]);
            [*out] = formulas::evaluate_private(&[x[i]], &[*table], &hash);
        }
    });
}
