//! Times as people read them.

use std::time::Duration;

/// Two significant digits are more than an estimate knows.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.01 => format!("{:.1} ms", s * 1e3),
        s if s < 0.9995 => format!("{:.0} ms", s * 1e3),
        s if s < 99.5 => format!("{s:.1} s"),
        s if s < 5970.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// A time as a clock shows it: 0:07, 12:30, 1:02:03.
pub(crate) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        let times = [0.00123, 0.0456, 0.9994, 1.0, 59.96, 3000.0, 7200.0].map(seconds);
        assert_eq!(times, ["1.2 ms", "46 ms", "999 ms", "1.0 s", "60.0 s", "50 min", "2.0 h"]);
        let clocks = [0, 7, 87, 180, 3599, 3723].map(|seconds| clock(Duration::from_secs(seconds)));
        assert_eq!(clocks, ["0:00", "0:07", "1:27", "3:00", "59:59", "1:02:03"]);
    }
}
