//! From noise to outputs, piece by piece, on several threads.
//!
//! Of one piece the trees grow on all threads; of several, each thread makes whole ones, in room of its own.

use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

use vesica_crypto::memory::{large_capacity, large_vec, wipe};
use vesica_crypto::par;

use super::codes::Word;
use super::plan::{AnyCode, Plan};

/// What a code may append beyond its outputs before it truncates them.
const MARGIN: usize = 64;

/// Room for the noise of a piece, and for compressing it.
pub(super) type Room<W> = [Vec<W>; 2];

/// The outputs of all pieces. `noise(threads, piece, room)` puts the noise of a piece into the room, whatever that held; the
/// room of a run on one thread, or with one piece, is `first`, which is left as it is.
pub(super) fn compressed<W: Word>(
    plan: &Plan,
    code: &AnyCode,
    first: &mut Room<W>,
    noise: impl Fn(usize, usize, &mut Vec<W>) + Sync,
) -> Vec<W> {
    let (pieces, outputs, threads) = (plan.pieces(), plan.outputs(), plan.threads());
    let mut out = large_capacity(pieces * outputs + MARGIN);
    if pieces == 1 || threads < 2 {
        let [room, scratch] = first;
        for piece in 0..pieces {
            noise(threads, piece, room);
            code.compress(room, scratch, &mut out);
        }
    } else {
        out.resize(pieces * outputs, W::default());
        let rooms = Mutex::new(vec![core::mem::take(first)]);
        let lock = || rooms.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(()) = par::for_each::<_, Infallible, _>(threads, out.chunks_mut(outputs), |piece, out| {
            let taken = lock().pop();
            let [mut room, mut scratch] = taken.unwrap_or_default();
            noise(1, piece, &mut room);
            let mut made = large_capacity(outputs + MARGIN);
            code.compress(&mut room, &mut scratch, &mut made);
            out.copy_from_slice(&made);
            lock().push([room, scratch]);
            Ok(())
        });
        lock().as_flattened_mut().iter_mut().for_each(wipe);
    }
    out.truncate(plan.length());
    out
}

/// Room for so many words, which hold anything.
pub(super) fn make_room<W: Word>(room: &mut Vec<W>, length: usize) {
    if room.len() != length {
        *room = large_vec(W::default(), length);
    }
}
