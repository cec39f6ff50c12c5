//! Catches panics of foreign decoders.
//!
//! The decoders of Parquet and Arrow do not check everything that they read, so some damaged files cause a
//! panic. This module catches it, and the caller reports damage. Nothing of a decoder is used after its
//! panic.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside a decoder, where a panic means a damaged input. A program whose panic hook
/// writes to the screen must check this first: the panic message could contain a value.
pub fn decoding() -> bool {
    DECODING.get()
}

/// The result of `decode`; none if it panicked.
pub(super) fn guarded<T>(decode: impl FnOnce() -> T) -> Option<T> {
    let before = DECODING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(decode)).ok();
    DECODING.set(before);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_no_result() {
        assert_eq!(guarded(decoding), Some(true));
        assert_eq!(guarded(|| guarded(|| 1).map(|_| decoding())), Some(Some(true)));
        assert!(guarded::<()>(|| panic!("expected on this test's screen")).is_none());
        assert!(!decoding());
    }
}
