//! CPU time and memory of this process, by the operating system.

use vesica_crypto::memory::large_zeros;

use crate::words::system;

/// CPU time of all threads so far, in seconds.
pub fn cpu_seconds() -> f64 {
    system::cpu_seconds()
}

/// Peak resident memory in bytes, where the system tells it in `/proc`.
pub fn peak_rss() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Lets [`peak_rss`] count from now on, if the system can do that.
pub fn reset_peak_rss() {
    // If it cannot, the peak is that of the whole process.
    drop(std::fs::write("/proc/self/clear_refs", "5"));
}

/// Writes to each page of `bytes` of memory and frees them, so that the system has them ready for a while.
///
/// For benchmarks on virtual machines. Their hosts take free memory back after seconds, and a program that touches it then
/// waits for the host: up to 3 s a gigabyte, in place of 0.1 s. To be called in a process of its own that ends after it.
pub fn claim_memory(bytes: u64) {
    /// The smallest size of a page.
    const PAGE: usize = 4096;
    /// Small enough that no system refuses a single request.
    const PIECE: u64 = 1 << 26;
    let pieces = (0..bytes.div_ceil(PIECE)).map(|i| {
        let mut piece = large_zeros::<u8>(PIECE.min(bytes - i * PIECE) as usize);
        piece.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
        piece
    });
    // All pieces at once: otherwise each would get the pages of the one before.
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
