//! Large vectors.
//!
//! Random access to hundreds of megabytes spends its time on translating addresses unless the pages are huge, and first
//! writes to them on being handed small ones. Where the system leaves the choice to programs, it has to be asked. And memory
//! that goes back to the system after each use comes anew and zeroed, which costs as much as several passes over it.

use zeroize::{Zeroize, optimization_barrier};

use crate::backend::{pages, prefetch};

/// A vector of `count` times `value`, on huge pages where the system has them. Otherwise as `vec![value; count]`.
#[must_use]
pub fn large_vec<T: Clone>(value: T, count: usize) -> Vec<T> {
    let mut vector = large_capacity(count);
    vector.resize(count, value);
    vector
}

/// An empty vector with room for `capacity`, on huge pages where the system has them.
#[must_use]
pub fn large_capacity<T>(capacity: usize) -> Vec<T> {
    let mut vector = Vec::with_capacity(capacity);
    pages::prefer_huge(vector.spare_capacity_mut());
    vector
}

/// Tells the allocator to keep the memory of large vectors that are freed, for the next ones, instead of returning it to the
/// system. For programs, once and at their start; up to a gigabyte at the end of the heap stays with the process. Nothing
/// happens where the allocator is not that of the GNU system.
pub fn keep_freed_memory() {
    pages::keep_freed();
}

/// Empties a vector of secrets and overwrites all its memory with default values, at the speed of memory. (`zeroize` writes
/// the room of a vector byte by byte.)
pub fn wipe<T: Copy + Default + Zeroize>(vector: &mut Vec<T>) {
    vector.clear();
    vector.resize(vector.capacity(), T::default());
    optimization_barrier(&vector[..]);
    vector.clear();
}

/// Overwrites the room of a vector behind its end, which held secrets, with default values.
pub fn wipe_rest<T: Copy + Default + Zeroize>(vector: &mut Vec<T>) {
    let length = vector.len();
    vector.resize(vector.capacity(), T::default());
    optimization_barrier(&vector[..]);
    vector.truncate(length);
}

/// Asks for `slice[index]` ahead of its use: of many places visited in random order, the next ones are then on their way
/// while the first is worked on. An index beyond the end asks for nothing.
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
