//! Large vectors.
//!
//! Random access to hundreds of megabytes spends its time on address translation, and first writes spend it
//! on page faults, unless the pages are huge. Some systems leave the choice to programs, so this module asks
//! for huge pages. Memory that returns to the system after each use comes back zeroed, which costs as much as
//! several passes over it; this module can keep it in the process.

use core::ops::{Deref, DerefMut};

use vesica_kernels::{pages, prefetch};
use zeroize::{ZeroizeOnDrop, optimization_barrier};

use crate::block::Block;
pub use vesica_kernels::pages::Zeros;

/// A vector of `count` times `value`, on huge pages where the system has them. Otherwise as `vec![value;
/// count]`.
#[must_use]
pub fn large_vec<T: Clone>(value: T, count: usize) -> Vec<T> {
    let mut vector = large_capacity(count);
    vector.resize(count, value);
    vector
}

/// A vector of `count` zeros, on huge pages where the system has them. Fresh memory from the system is zero
/// already, and is not written again.
#[inline]
#[must_use]
pub fn large_zeros<T: Zeros>(count: usize) -> Vec<T> {
    pages::zeros(count)
}

/// An empty vector with room for `capacity`, on huge pages where the system has them.
#[must_use]
pub fn large_capacity<T>(capacity: usize) -> Vec<T> {
    let mut vector = Vec::with_capacity(capacity);
    pages::prefer_huge(vector.spare_capacity_mut());
    vector
}

/// Tells the allocator to keep the memory of freed large vectors for later ones instead of returning it to
/// the system, and asks for huge pages under the first 64 MiB of the heap, where small runs have their vectors.
/// Programs call it once, at their start. Up to a gigabyte at the end of the heap then stays with the process.
/// Without the GNU allocator, the function does nothing.
pub fn keep_freed_memory() {
    pages::keep_freed();
}

/// Types of secrets, with a value that overwrites them.
pub trait Blank: Copy {
    /// The value that overwrites a secret.
    const BLANK: Self;

    /// Overwrites all of them.
    fn blank_all(secrets: &mut [Self]) {
        secrets.fill(Self::BLANK);
    }
}

macro_rules! blank {
    ($($plain:ty: $value:expr),*) => { $(impl Blank for $plain { const BLANK: Self = $value; })* };
}

blank!(u8: 0, u16: 0, u32: 0, u64: 0, u128: 0, usize: 0);

impl Blank for Block {
    const BLANK: Self = Block::ZERO;

    /// As bytes, which the system's library fills fastest.
    fn blank_all(secrets: &mut [Self]) {
        Block::slice_as_mut_bytes(secrets).fill(0);
    }
}

impl<T: Blank, const N: usize> Blank for [T; N] {
    const BLANK: Self = [T::BLANK; N];

    fn blank_all(secrets: &mut [Self]) {
        T::blank_all(secrets.as_flattened_mut());
    }
}

/// Empties a vector of secrets and overwrites all its memory with [blanks](Blank), at the speed of memory.
/// (`zeroize` writes the spare capacity of a vector byte by byte.)
pub fn wipe<T: Blank>(vector: &mut Vec<T>) {
    T::blank_all(vector);
    vector.resize(vector.capacity(), T::BLANK);
    optimization_barrier(&vector[..]);
    counted::add(size_of_val(&vector[..]));
    vector.clear();
}

/// A vector of secrets that is [wiped](wipe()) when it is dropped, on every way out of a function. A vector
/// that grows beyond its capacity leaves an unwiped copy behind, unless [`reserve`](Self::reserve) or
/// [`reserve_exact`](Self::reserve_exact) makes the room.
pub struct Wiped<T: Blank>(Vec<T>);

impl<T: Blank> Wiped<T> {
    /// The vector. The caller must then wipe it.
    #[must_use]
    pub fn into_vec(mut self) -> Vec<T> {
        core::mem::take(&mut self.0)
    }

    /// Makes room for so many more, or as many as there are, and wipes what was in the smaller room.
    pub fn reserve(&mut self, more: usize) {
        if self.0.capacity() - self.0.len() < more {
            self.reserve_exact(self.0.len().max(more));
        }
    }

    /// Makes room for exactly so many more, and wipes what was in the smaller room.
    pub fn reserve_exact(&mut self, more: usize) {
        if self.0.capacity() - self.0.len() < more {
            let mut grown = large_capacity(self.0.len() + more);
            grown.extend_from_slice(&self.0);
            wipe(&mut self.0);
            self.0 = grown;
        }
    }
}

impl<T: Blank> Default for Wiped<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Blank> From<Vec<T>> for Wiped<T> {
    fn from(vector: Vec<T>) -> Self {
        Self(vector)
    }
}

impl<T: Blank> Deref for Wiped<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: Blank> DerefMut for Wiped<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T: Blank> Drop for Wiped<T> {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

impl<T: Blank> ZeroizeOnDrop for Wiped<T> {}

/// Bytes that this thread has wiped so far, for tests.
#[cfg(any(test, feature = "testing"))]
#[must_use]
pub fn wiped_bytes() -> usize {
    counted::BYTES.get()
}

/// Counts wiped bytes, for tests.
mod counted {
    #[cfg(any(test, feature = "testing"))]
    std::thread_local! {
        pub(super) static BYTES: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
    }

    pub(super) fn add(bytes: usize) {
        #[cfg(any(test, feature = "testing"))]
        BYTES.set(BYTES.get() + bytes);
        #[cfg(not(any(test, feature = "testing")))]
        let _ = bytes;
    }
}

/// Overwrites the spare capacity of a vector, which held secrets, with [blanks](Blank).
pub fn wipe_rest<T: Blank>(vector: &mut Vec<T>) {
    let length = vector.len();
    vector.resize(vector.capacity(), T::BLANK);
    optimization_barrier(&vector[..]);
    vector.truncate(length);
}

/// Prefetches `slice[index]`. A loop that visits a slice in random order calls this for later indices while
/// it works on the current one. An index beyond the end has no effect.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    prefetch::read(slice, index);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefetch_changes_nothing() {
        let values = [1u64, 2, 3];
        for index in [0, 2, 3, usize::MAX] {
            prefetch(&values, index);
        }
        prefetch::<u8>(&[], 0);
        assert_eq!(values, [1, 2, 3]);
    }

    #[test]
    fn wiping_empties_and_keeps_the_room() {
        let mut vector = vec![5u64; 1000];
        vector.truncate(10);
        wipe(&mut vector);
        assert!(vector.is_empty() && vector.capacity() >= 1000);
        vector.resize(3, 7);
        assert_eq!(vector, [7; 3]);
    }

    #[test]
    fn what_is_wiped_on_drop_is_wiped_on_every_way_out() {
        fn leaves_by_error(secrets: Wiped<u64>) -> Result<usize, u32> {
            Err(secrets[2] as u32)?;
            Ok(secrets.len())
        }
        let before = wiped_bytes();
        assert_eq!(leaves_by_error(vec![1, 2, 3].into()), Err(3));
        assert_eq!(wiped_bytes() - before, 24);
        let mut kept = Wiped::from(Vec::with_capacity(4));
        kept.push(7u8);
        assert_eq!(kept.into_vec(), [7]);
        assert_eq!(wiped_bytes() - before, 24);
    }

    #[test]
    fn room_is_made_without_leaving_a_copy_behind() {
        let mut secrets = Wiped::from(vec![1u64, 2, 3]);
        let (before, room) = (wiped_bytes(), 8 * secrets.capacity());
        secrets.reserve(0);
        assert_eq!(wiped_bytes(), before, "there is room");
        secrets.reserve(50);
        assert_eq!(wiped_bytes() - before, room, "what was there has been wiped");
        let grown = secrets.capacity();
        secrets.extend(4..=53);
        assert!(secrets.iter().copied().eq(1..=53) && secrets.capacity() == grown);
    }

    #[test]
    fn large_zeros_are_zeros_in_used_memory_too() {
        for count in [0, 1, 1000, 3 << 20] {
            for _ in 0..2 {
                let mut zeros: Vec<u16> = large_zeros(count);
                assert!(zeros.len() == count && zeros.iter().all(|zero| *zero == 0));
                zeros.fill(7);
            }
        }
        assert!(large_zeros::<crate::block::Block>(99).iter().all(|zero| *zero == crate::block::Block::ZERO));
    }

    #[test]
    fn wiping_the_rest_keeps_what_is_in_use() {
        let mut vector = vec![5u64; 1000];
        vector.truncate(10);
        wipe_rest(&mut vector);
        assert_eq!(vector, [5; 10]);
    }

    #[test]
    fn is_an_ordinary_vector() {
        for count in [0, 1, 1000, 3 << 20] {
            let mut vector = large_vec(7u32, count);
            assert_eq!(vector.len(), count);
            assert!(vector.iter().all(|value| *value == 7));
            vector.push(8);
            assert_eq!(vector.pop(), Some(8));
        }
        assert!(large_capacity::<u64>(1 << 19).capacity() >= 1 << 19);
    }
}
