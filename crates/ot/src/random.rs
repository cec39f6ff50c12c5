//! Random OT: the pads that correlated rows give, hashed when they are needed.
//!
//! ```text
//! sender      H(j, q_j) and H(j, q_j ⊕ Δ)
//! receiver    H(j, t_j), which is the one that c_j names, since t_j = q_j ⊕ c_j·Δ
//! ```
//!
//! Nothing is sent, and a pad that is not asked for costs nothing (PSZ14 for both parties, RR16 §5).
//!
//! **Security:** to the receiver the other pad is H at an input offset by Δ. It is pseudo-random as long as H
//! is correlation robust. Rows of one block: H = π(π(x) ⊕ j) ⊕ π(x) with fixed-key AES, tweakable and
//! circular correlation robust (Guo, Katz, Wang, Yu, eprint 2019/074; see
//! [`aes_hash`](vesica_crypto::aes_hash) for the bound). Wider rows, for levels above 128: BLAKE3, keyed with
//! context and label, over j (16 bytes) and the whole row. A number j may be used for one row of a run under
//! one label, whatever call the row comes from. The caller numbers the rows and has to hold to that.

use std::convert::Infallible;

use vesica_crypto::aes_hash::FixedKey;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label, Oracle};
use vesica_crypto::memory::Wiped;
use vesica_crypto::par;

/// Rows of a call of the hash.
const BATCH: usize = 256;

/// Rows of a task.
const CHUNK: usize = 1 << 11;

/// Bits of a word.
const WORD: usize = u64::BITS as usize;

/// The hash H of a run and a label, which makes pads of rows. A pad is as wide as its row.
pub struct OtPads<const W: usize> {
    narrow: FixedKey,
    wide: Oracle,
    threads: usize,
}

impl<const W: usize> OtPads<W> {
    /// H of `label` in this context.
    #[must_use]
    pub fn of(context: &Context, label: Label) -> Self {
        Self { narrow: FixedKey::of(context, label), wide: context.oracle(label), threads: 1 }
    }

    /// Sets how many threads [`hash`](Self::hash) uses; the default is one.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Replaces rows number `first`, `first` + 1, … by their pads.
    pub fn hash(&self, first: u64, rows: &mut [[Block; W]]) {
        let Ok(()) = par::fill_chunks(self.threads, CHUNK, rows, |chunk, rows| {
            let first = first + (chunk * CHUNK) as u64;
            if W == 1 {
                self.narrow.tccr(first, rows.as_flattened_mut());
                return Ok::<_, Infallible>(());
            }
            for (number, rows) in (first..).step_by(BATCH).zip(rows.chunks_mut(BATCH)) {
                self.hash_wide((number..).take(rows.len()), rows);
            }
            Ok(())
        });
    }

    /// The lowest bit of the pad of each row ⊕ `offset`, for rows number `first`, `first` + 1, …, 64 to a word. The
    /// sender's two bits of an OT are those of the offsets zero and Δ.
    ///
    /// # Panics
    /// If there are more or fewer words than the bits need.
    pub fn bits(&self, first: u64, offset: &[Block; W], rows: &[[Block; W]], words: &mut [u64]) {
        assert_eq!(words.len(), rows.len().div_ceil(WORD), "as many words as the bits need");
        let Ok(()) = par::fill_chunks(self.threads, CHUNK / WORD, words, |chunk, words| {
            let at = chunk * CHUNK;
            let rows = &rows[at..rows.len().min(at + CHUNK)];
            let first = first + at as u64;
            if W == 1 {
                self.narrow.tccr_bits(first, &offset[0], rows.as_flattened(), words);
                return Ok::<_, Infallible>(());
            }
            let mut pads = Wiped::from(rows.to_vec());
            add_delta(offset, &mut pads);
            for (number, pads) in (first..).step_by(BATCH).zip(pads.chunks_mut(BATCH)) {
                self.hash_wide((number..).take(pads.len()), pads);
            }
            for (word, pads) in words.iter_mut().zip(pads.chunks(WORD)) {
                *word = pads.iter().rev().fold(0, |word, pad| word << 1 | pad[0].to_halves().0 & 1);
            }
            Ok(())
        });
    }

    /// Replaces each row by its pad, row i being number `numbers[i]`.
    ///
    /// # Panics
    /// If there is not one number for each row.
    pub fn hash_at(&self, numbers: &[u64], rows: &mut [[Block; W]]) {
        assert_eq!(numbers.len(), rows.len(), "one number a row");
        let mut tweaks = [Block::ZERO; BATCH];
        for (numbers, rows) in numbers.chunks(BATCH).zip(rows.chunks_mut(BATCH)) {
            if W == 1 {
                let tweaks = &mut tweaks[..numbers.len()];
                tweaks.iter_mut().zip(numbers).for_each(|(tweak, number)| *tweak = block(*number));
                self.narrow.tccr_at(tweaks, rows.as_flattened_mut());
            } else {
                self.hash_wide(numbers.iter().copied(), rows);
            }
        }
    }

    fn hash_wide(&self, numbers: impl Iterator<Item = u64>, rows: &mut [[Block; W]]) {
        let width = (1 + W) * Block::BYTES;
        let mut inputs = Wiped::from(Vec::with_capacity(rows.len() * width));
        for (number, row) in numbers.zip(&*rows) {
            inputs.extend_from_slice(block(number).as_bytes());
            inputs.extend_from_slice(Block::slice_as_bytes(row));
        }
        let pads = Block::slice_as_mut_bytes(rows.as_flattened_mut());
        self.wide.hash_batch(&inputs, width, pads, W * Block::BYTES);
    }
}

/// The number of a row, as a tweak of the hash.
fn block(number: u64) -> Block {
    Block::from_halves(number, 0)
}

/// The rows of the sender's other pads: q_j ⊕ Δ for every q_j.
pub fn add_delta<const W: usize>(delta: &[Block; W], rows: &mut [[Block; W]]) {
    for row in rows {
        for (block, delta) in row.iter_mut().zip(delta) {
            *block ^= *delta;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use aes::Aes128;
    use aes::cipher::{BlockCipherEncrypt, KeyInit};
    use vesica_crypto::prg::Prg;

    const LABEL: Label = Label::new("test: strings");

    pub(crate) fn context() -> Context {
        Context::new(&[8; 32], "test", b"", 1, 1)
    }

    fn rows<const W: usize>(count: usize) -> Vec<[Block; W]> {
        let mut rows = vec![[Block::ZERO; W]; count];
        Prg::from_seed([6; 16]).fill_blocks(rows.as_flattened_mut());
        rows
    }

    /// π(π(x) ⊕ j) ⊕ π(x), one AES call after the other.
    #[test]
    fn narrow_pads_follow_their_formula() {
        let mut key = [0; 16];
        context().hash(LABEL, b"", &mut key);
        let cipher = Aes128::new(&key.into());
        let permute = |block: u128| {
            let mut bytes = block.to_le_bytes();
            cipher.encrypt_block((&mut bytes).into());
            u128::from_le_bytes(bytes)
        };
        let (before, mut after) = (rows::<1>(300), rows::<1>(300));
        OtPads::<1>::of(&context(), LABEL).hash(77, &mut after);
        for (j, (x, y)) in (77..).zip(before.iter().zip(&after)) {
            let once = permute(x[0].to_u128());
            assert_eq!(y[0].to_u128(), permute(once ^ j) ^ once);
        }
    }

    /// The oracle's reference implementation, on number and row.
    #[test]
    fn wide_pads_follow_their_formula() {
        let (before, mut after) = (rows::<2>(300), rows::<2>(300));
        OtPads::<2>::of(&context(), LABEL).hash(77, &mut after);
        for (j, (x, y)) in (77u64..).zip(before.iter().zip(&after)) {
            let mut expected = [0; 32];
            let input = [&u128::from(j).to_le_bytes()[..], Block::slice_as_bytes(x)].concat();
            context().hash(LABEL, &input, &mut expected);
            assert_eq!(Block::slice_as_bytes(y), expected);
        }
    }

    fn picked_is_as_in_order<const W: usize>() {
        let pads = OtPads::<W>::of(&context(), LABEL);
        let (before, mut all) = (rows::<W>(1000), rows::<W>(1000));
        pads.hash(5, &mut all);
        let indices: Vec<usize> = (0..600).map(|i| i * 7 % 1000).collect();
        let numbers: Vec<u64> = indices.iter().map(|&index| 5 + index as u64).collect();
        let mut picked: Vec<_> = indices.iter().map(|&index| before[index]).collect();
        pads.hash_at(&numbers, &mut picked);
        assert!(picked.iter().zip(indices).all(|(pad, index)| *pad == all[index]));
    }

    #[test]
    fn pads_on_demand_are_those_in_order() {
        picked_is_as_in_order::<1>();
        picked_is_as_in_order::<2>();
    }

    #[test]
    fn threads_change_no_pad() {
        fn check<const W: usize>() {
            let hashed = |threads| {
                let mut rows = rows::<W>(10_000);
                OtPads::<W>::of(&context(), LABEL).with_threads(threads).hash(9, &mut rows);
                rows
            };
            let one = hashed(1);
            assert!([2, 4].into_iter().all(|threads| hashed(threads) == one));
        }
        check::<1>();
        check::<2>();
    }

    #[test]
    fn bits_are_the_lowest_of_both_pads() {
        fn check<const W: usize>() {
            let (count, offset) = (5000, [Block::from(u128::MAX / 5); W]);
            for (threads, offset) in [(1, [Block::ZERO; W]), (1, offset), (3, offset)] {
                let pads = OtPads::<W>::of(&context(), LABEL).with_threads(threads);
                let (rows, mut hashed) = (rows::<W>(count), rows::<W>(count));
                add_delta(&offset, &mut hashed);
                pads.hash(7, &mut hashed);
                let mut words = vec![u64::MAX; count.div_ceil(64)];
                pads.bits(7, &offset, &rows, &mut words);
                let bit = |i: usize| words[i / 64] >> (i % 64) & 1 == 1;
                assert!(
                    (0..64 * words.len()).all(|i| bit(i) == hashed.get(i).is_some_and(|pad| pad[0].bit(0)))
                );
            }
        }
        check::<1>();
        check::<2>();
    }

    /// Rows are equal here, so only the numbers tell the pads apart: in order and on demand, on one thread
    /// and on several.
    #[test]
    fn flaw_equal_rows_of_other_numbers_have_other_pads() {
        fn check<const W: usize>() {
            let count = 9000;
            let pads = OtPads::<W>::of(&context(), LABEL).with_threads(3);
            let (mut in_order, mut picked) = (vec![[Block::ONES; W]; count], vec![[Block::ONES; W]; count]);
            pads.hash(0, &mut in_order);
            pads.hash_at(&(count as u64..2 * count as u64).collect::<Vec<_>>(), &mut picked);
            let all = in_order.iter().chain(&picked).map(|pad| pad.map(Block::to_bytes));
            assert_eq!(all.collect::<std::collections::HashSet<_>>().len(), 2 * count);
        }
        check::<1>();
        check::<2>();
    }

    #[test]
    fn number_label_and_context_count() {
        let other = Context::new(&[9; 32], "test", b"", 1, 1);
        let pad = |context: &Context, label, number| {
            let mut row = rows::<1>(1);
            OtPads::of(context, label).hash(number, &mut row);
            row[0][0]
        };
        let first = pad(&context(), LABEL, 0);
        assert_ne!(first, pad(&context(), LABEL, 1));
        assert_ne!(first, pad(&context(), Label::new("test: others"), 0));
        assert_ne!(first, pad(&other, LABEL, 0));
    }
}
