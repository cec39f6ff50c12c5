//! Amounts as people read them.

use std::fmt;
use std::time::Duration;

/// A number of bytes: two digits of the largest unit that fits.
#[derive(Debug, Clone, Copy)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        match [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")].into_iter().find(|&(unit, _)| bytes >= unit) {
            Some((unit, name)) if bytes / unit < 9.95 => write!(f, "{:.1} {name}", bytes / unit),
            Some((unit, name)) => write!(f, "{:.0} {name}", bytes / unit),
            None => write!(f, "{bytes} B"),
        }
    }
}

/// A time in seconds. Two significant digits are more than an estimate knows.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.01 => format!("{:.1} ms", s * 1e3),
        s if s < 0.9995 => format!("{:.0} ms", s * 1e3),
        s if s < 99.5 => format!("{s:.1} s"),
        s if s < 5970.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// A time as a clock shows it: 0:07, 12:30, 1:02:03.
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// A number with a comma before every three digits: 1,234,567.
pub fn grouped(number: impl Into<i128>) -> String {
    let number = number.into();
    let digits = number.unsigned_abs().to_string();
    let mut grouped = String::from(if number < 0 { "−" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
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
        let bytes = [0, 999, 1000, 9949, 12_345, 4_200_000_000].map(|bytes| Bytes(bytes).to_string());
        assert_eq!(bytes, ["0 B", "999 B", "1.0 kB", "9.9 kB", "12 kB", "4.2 GB"]);
    }

    #[test]
    fn long_numbers_are_grouped() {
        let shown = [0, 7, 999, 1000, 20_338, 1_000_000, -4321].map(|number: i64| grouped(number));
        assert_eq!(shown, ["0", "7", "999", "1,000", "20,338", "1,000,000", "−4,321"]);
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }
}
