//! Huge pages for large vectors.

use core::mem::MaybeUninit;

/// Bytes of a huge page.
#[cfg(target_os = "linux")]
const HUGE: usize = 2 << 20;

/// Asks for huge pages under `memory`, of which nothing has been written yet. A refusal costs speed alone.
pub(crate) fn prefer_huge<T>(memory: &mut [MaybeUninit<T>]) {
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
