//! Huge pages for large vectors, and an allocator that keeps the pages it has.

use core::mem::MaybeUninit;

use crate::block::Block;

/// Bytes of a huge page.
#[cfg(target_os = "linux")]
const HUGE: usize = 2 << 20;

/// Bytes at the start of the heap that are to lie on huge pages: what a run takes whose vectors are too small to have
/// such pages of their own.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const HEAP: usize = 64 << 20;

/// Asks for huge pages under `memory`, of which the program has written nothing yet. A refusal costs speed
/// alone.
pub fn prefer_huge<T>(memory: &mut [MaybeUninit<T>]) {
    #[cfg(target_os = "linux")]
    {
        let length = size_of_val(memory);
        let start: *mut u8 = memory.as_mut_ptr().cast();
        let skipped = start.align_offset(HUGE).min(length);
        let whole = (length - skipped) / HUGE * HUGE;
        if whole > 0 {
            // SAFETY: `skipped` is within the slice.
            let start = unsafe { start.add(skipped) };
            // SAFETY: whole pages inside a slice that is borrowed exclusively; the advice changes no content.
            let _ = unsafe { rustix::mm::madvise(start.cast(), whole, rustix::mm::Advice::LinuxHugepage) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

mod sealed {
    /// Only this module implements it: `zeros` relies on it.
    pub trait Sealed {}
}

/// Types for which zero bytes are a value.
pub trait Zeros: sealed::Sealed {}

macro_rules! zeros {
    ($($plain:ty),*) => { $(impl sealed::Sealed for $plain {} impl Zeros for $plain {})* };
}

zeros!(u8, u16, u32, u64, u128, usize, Block);

/// `count` zeros, on huge pages where the system has them.
pub fn zeros<T: Zeros>(count: usize) -> Vec<T> {
    let mut zeros = Box::<[T]>::new_zeroed_slice(count);
    prefer_huge(&mut zeros);
    // SAFETY: zero bytes are a value of these types.
    unsafe { zeros.assume_init() }.into_vec()
}

/// Tells the GNU allocator to keep freed memory in the process, and asks for huge pages under the first 64 MiB of the
/// heap. With another allocator it does nothing.
pub fn keep_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use core::ffi::c_int;
        // malloc.h
        const M_TRIM_THRESHOLD: c_int = -1;
        const M_MMAP_MAX: c_int = -4;
        unsafe extern "C" {
            fn mallopt(parameter: c_int, value: c_int) -> c_int;
        }
        // Blocks come from the heap and not from mappings of their own, and the heap shrinks late.
        for (parameter, value) in [(M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, 1 << 30)] {
            // SAFETY: the function of the C library that this program is linked with; it locks what it
            // changes. A refusal costs speed alone.
            let _ = unsafe { mallopt(parameter, value) };
        }
        // The heap grows by this much, of which nothing is in memory yet, and keeps it and the advice.
        let mut heap = Vec::<u8>::new();
        if heap.try_reserve_exact(HEAP).is_ok() {
            prefer_huge(heap.spare_capacity_mut());
        }
    }
}
