//! What the operating system says of this process.

use rustix::time::{ClockId, clock_gettime};

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
