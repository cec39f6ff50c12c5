//! What the operating system says of this process, and its memory.

use rustix::time::{ClockId, clock_gettime};
use vesica_crypto::memory::large_zeros;

/// CPU time of all threads so far, in seconds.
pub fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Peak resident memory in bytes, where the system tells it in `/proc`.
pub fn peak_rss() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Lets [`peak_rss`] count from now on, where the system can do that.
pub fn reset_peak_rss() {
    // Where it cannot, the peak of the whole process is told.
    drop(std::fs::write("/proc/self/clear_refs", "5"));
}

/// Writes to each page of `bytes` of memory and gives them back, so that the system has them at hand for a while.
///
/// For benchmarks on virtual machines: their hosts take free memory back after seconds, and who touches it next waits for the
/// host, up to 3 s a gigabyte where memory at hand takes 0.1 s. To be called in a process of its own that ends after it.
pub fn claim_memory(bytes: u64) {
    /// Of the smallest pages there are.
    const PAGE: usize = 4096;
    /// No single request is so large that a system refuses it out of hand.
    const PIECE: u64 = 1 << 26;
    let pieces = (0..bytes.div_ceil(PIECE)).map(|i| {
        let mut piece = large_zeros::<u8>(PIECE.min(bytes - i * PIECE) as usize);
        piece.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
        piece
    });
    // All of them at once, or each would have the pages of the one before.
    drop(std::hint::black_box(pieces.collect::<Vec<_>>()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claimed_memory_was_resident_all_at_once() {
        claim_memory(0);
        claim_memory(200_000_001);
        assert!(peak_rss().is_none_or(|peak| peak >= 200_000_001), "{:?}", peak_rss());
    }
}
