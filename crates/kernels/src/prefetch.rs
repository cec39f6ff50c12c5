//! Prefetches memory before it is read.

/// Prefetches the cache line of `slice[index]`; an index beyond the end has no effect.
#[inline(always)]
pub fn read<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(entry) = slice.get(index) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE belongs to x86-64, and a prefetch of a valid address changes nothing but the caches.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(entry).cast()) };
    }
    #[cfg(target_arch = "aarch64")]
    if let Some(entry) = slice.get(index) {
        let place = core::ptr::from_ref(entry);
        // SAFETY: a prefetch of a valid address changes nothing but the caches.
        unsafe {
            core::arch::asm!("prfm pldl1keep, [{}]", in(reg) place, options(nostack, preserves_flags, readonly));
        }
    }
    #[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
    let _ = (slice, index);
}
