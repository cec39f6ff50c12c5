//! Large vectors.
//!
//! Random access to hundreds of megabytes spends its time on translating addresses unless the pages are huge, and first
//! writes to them on being handed small ones. Where the system leaves the choice to programs, it has to be asked.

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
