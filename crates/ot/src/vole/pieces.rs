//! From noise to outputs, piece by piece, on several threads.
//!
//! The trees of one piece grow on all threads. Of several pieces each thread makes whole ones, in room of its
//! own. Leaves go into the code at once: to write and read a vector of all of them would cost more time than
//! to make them.

use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

use vesica_crypto::block::Block;
use vesica_crypto::memory::{Wiped, large_capacity, wipe};
use vesica_crypto::par;

use super::codes::{Code, MARGIN, Word};
use super::plan::{AnyCode, Plan, Tree};

/// Trees that each of several threads grows before the leaves go into the code.
const TREES_A_THREAD: usize = 32;

/// Room for the noise that a code has taken in, and for compressing it.
pub(super) type Room<W> = [Vec<W>; 2];

/// The outputs of all pieces. `fill(threads, piece, room)` puts the noise of a piece into the first of the
/// rooms, whatever they held. A run on one thread, or with one piece, works in `first`, which is left as it
/// is.
pub(super) fn compressed<W: Word>(
    plan: &Plan,
    code: &AnyCode,
    first: &mut Room<W>,
    fill: impl Fn(usize, usize, &mut Room<W>) + Sync,
) -> Vec<W> {
    let (pieces, outputs, threads) = (plan.pieces(), plan.outputs(), plan.threads());
    let mut out = large_capacity(pieces * outputs + MARGIN);
    if pieces == 1 || threads < 2 {
        for piece in 0..pieces {
            fill(threads, piece, first);
            let [room, scratch] = first;
            code.finish(room, scratch, &mut out);
        }
    } else {
        out.resize(pieces * outputs, W::default());
        let rooms = Mutex::new(vec![core::mem::take(first)]);
        let lock = || rooms.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(()) = par::for_each::<_, Infallible, _>(threads, out.chunks_mut(outputs), |piece, out| {
            let taken = lock().pop();
            let mut both = taken.unwrap_or_default();
            fill(1, piece, &mut both);
            let [room, scratch] = &mut both;
            let mut made = large_capacity(outputs + MARGIN);
            code.finish(room, scratch, &mut made);
            out.copy_from_slice(&made);
            wipe(&mut made);
            lock().push(both);
            Ok(())
        });
        lock().as_flattened_mut().iter_mut().for_each(wipe);
    }
    out.truncate(plan.length());
    out
}

/// Compresses where the room is not needed afterwards. It is wiped, and the outputs of one piece take memory of
/// it.
pub(super) fn compressed_last<W: Word>(
    plan: &Plan,
    code: &AnyCode,
    mut room: Room<W>,
    fill: impl Fn(usize, usize, &mut Room<W>) + Sync,
) -> Vec<W> {
    let out = if plan.pieces() == 1 {
        fill(plan.threads(), 0, &mut room);
        let [room, scratch] = &mut room;
        let mut out = code.finish_within(room, scratch);
        out.truncate(plan.length());
        out
    } else {
        compressed(plan, code, &mut room, fill)
    };
    room.iter_mut().for_each(wipe);
    out
}

/// Compresses noise that was kept, each piece once.
pub(super) fn compressed_kept(plan: &Plan, code: &AnyCode, kept: Vec<Wiped<Block>>) -> Vec<Block> {
    let kept = Mutex::new(kept);
    compressed_last(plan, code, Default::default(), |_, piece, [room, _]| {
        let noise = core::mem::take(&mut kept.lock().unwrap_or_else(PoisonError::into_inner)[piece]);
        code.intake(room).push(&noise);
    })
}

/// Grows the trees of a piece, each by `grow(tree, words, leaves)` with its item of `words`. Their leaves go to
/// `take`, those of some trees at a time.
pub(super) fn grown<T: Send>(
    plan: &Plan,
    threads: usize,
    piece: usize,
    words: impl Iterator<Item = T>,
    mut take: impl FnMut(&[Block]),
    grow: impl Fn(&Tree, T, &mut [Block]) + Sync,
) {
    let mut leaves = Vec::new();
    let mut trees = plan.trees(piece).zip(words).peekable();
    let at_once = if threads < 2 { 1 } else { threads * TREES_A_THREAD };
    while trees.peek().is_some() {
        let batch: Vec<(Tree, T)> = trees.by_ref().take(at_once).collect();
        let count = batch.iter().map(|(tree, _)| tree.leaves).sum();
        if leaves.len() < count {
            wipe(&mut leaves);
            leaves = vec![Block::ZERO; count];
        }
        let mut rest = &mut leaves[..count];
        let tasks = batch.into_iter().map(|(tree, words)| {
            let (own, others) = core::mem::take(&mut rest).split_at_mut(tree.leaves);
            rest = others;
            (tree, words, own)
        });
        let Ok(()) = par::for_each::<_, Infallible, _>(threads, tasks, |_, (tree, words, own)| {
            grow(&tree, words, own);
            Ok(())
        });
        take(&leaves[..count]);
    }
    wipe(&mut leaves);
}
