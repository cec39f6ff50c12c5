//! The formulas of one gate, given the hashes of its labels. Every label is that of the value zero; x ⊕ Δ is the
//! label of one, and the lowest bit of a label is its permute bit. All are in line: they run for every gate.

use crate::block::Block;

/// `x` if the lowest bit of `label` is set, else zero.
#[inline(always)]
fn select<const W: usize>(label: &[Block; W], x: &[Block; W]) -> [Block; W] {
    let mask = label.first().map_or(Block::ZERO, |low| Block::mask(low.bit(0)));
    Block::mask_row(x, mask)
}

/// The table (T_G, T_E) and the zero label of a ∧ b; `hash_a` has H(A) and H(A ⊕ Δ), `hash_b` those of B.
#[inline(always)]
pub fn garble<const W: usize>(
    delta: &[Block; W],
    a: &[Block; W],
    b: &[Block; W],
    hash_a: [&[Block; W]; 2],
    hash_b: [&[Block; W]; 2],
) -> ([[Block; W]; 2], [Block; W]) {
    // T_G = H(A) ⊕ H(A ⊕ Δ) ⊕ p_b·Δ     W_G = H(A) ⊕ p_a·T_G
    let [generator, generated] = garble_private(&select(b, delta), a, hash_a);
    // T_E = H(B) ⊕ H(B ⊕ Δ) ⊕ A         W_E = H(B) ⊕ p_b·(T_E ⊕ A)
    let both = Block::xor_rows(hash_b[0], hash_b[1]);
    let evaluated = Block::xor_rows(hash_b[0], &select(b, &both));
    ([generator, Block::xor_rows(&both, a)], Block::xor_rows(&generated, &evaluated))
}

/// The table and the zero label of s ∧ x, where the garbler knows s, `selected` is s·Δ, and `hash` has H(X) and
/// H(X ⊕ Δ).
#[inline(always)]
pub fn garble_private<const W: usize>(
    selected: &[Block; W],
    x: &[Block; W],
    hash: [&[Block; W]; 2],
) -> [[Block; W]; 2] {
    let table = Block::xor_rows(&Block::xor_rows(hash[0], hash[1]), selected);
    [table, Block::xor_rows(hash[0], &select(x, &table))]
}

/// The label of a ∧ b from those of its inputs, which the evaluator has.
#[inline(always)]
pub fn evaluate<const W: usize>(
    a: &[Block; W],
    b: &[Block; W],
    [generator, evaluator]: &[[Block; W]; 2],
    hash_a: &[Block; W],
    hash_b: &[Block; W],
) -> [Block; W] {
    let generated = evaluate_private(a, generator, hash_a);
    Block::xor_rows(&generated, &evaluate_private(b, &Block::xor_rows(evaluator, a), hash_b))
}

/// The label of s ∧ x from that of x, which the evaluator has.
#[inline(always)]
pub fn evaluate_private<const W: usize>(x: &[Block; W], table: &[Block; W], hash: &[Block; W]) -> [Block; W] {
    Block::xor_rows(hash, &select(x, table))
}
