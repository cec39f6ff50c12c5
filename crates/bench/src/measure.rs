//! What of a run a table shows, in which unit, and with how many digits.

use serde::Deserialize;

/// What of a run a table shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// The receiver's wall time.
    Time,
    /// CPU time of both processes together.
    Cpu,
    /// Payload bytes in both directions.
    Traffic,
    /// Peak memory of both processes together.
    Memory,
    /// A parameter, by the program that derives it; nothing is run.
    Count,
}

/// A unit that a paper uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Unit {
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Minutes.
    #[serde(rename = "min")]
    Minutes,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
    /// 10^3 bytes.
    #[serde(rename = "KB")]
    Kilobytes,
    /// 10^6 bytes.
    #[serde(rename = "MB")]
    Megabytes,
    /// 2^20 bytes.
    #[serde(rename = "MiB")]
    Mebibytes,
    /// 10^9 bytes.
    #[serde(rename = "GB")]
    Gigabytes,
    /// A number, or what the column says.
    #[serde(rename = "count")]
    Count,
}

impl Unit {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Milliseconds => "ms",
            Unit::Seconds => "s",
            Unit::Minutes => "min",
            Unit::Bytes => "bytes",
            Unit::Kilobytes => "KB",
            Unit::Megabytes => "MB",
            Unit::Mebibytes => "MiB",
            Unit::Gigabytes => "GB",
            Unit::Count => "numbers",
        }
    }

    /// Seconds or bytes in one of it.
    pub fn in_base(self) -> f64 {
        match self {
            Unit::Milliseconds => 1e-3,
            Unit::Seconds | Unit::Bytes | Unit::Count => 1.0,
            Unit::Minutes => 60.0,
            Unit::Kilobytes => 1e3,
            Unit::Megabytes => 1e6,
            Unit::Mebibytes => (1u64 << 20) as f64,
            Unit::Gigabytes => 1e9,
        }
    }

    /// Whether that measure has this unit.
    pub fn fits(self, measure: Measure) -> bool {
        match self {
            Unit::Milliseconds | Unit::Seconds | Unit::Minutes => {
                matches!(measure, Measure::Time | Measure::Cpu)
            }
            Unit::Count => measure == Measure::Count,
            _ => matches!(measure, Measure::Traffic | Measure::Memory),
        }
    }
}

/// Three significant digits.
pub fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let digits = 2 - value.abs().log10().floor() as i32;
    if digits >= 0 {
        format!("{value:.*}", digits as usize)
    } else {
        let scale = 10f64.powi(-digits);
        format!("{:.0}", (value / scale).round() * scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_shown() {
        let cases = [
            (0.0, "0"),
            (0.012345, "0.0123"),
            (1.0, "1.00"),
            (12.34, "12.3"),
            (123.4, "123"),
            (123456.0, "123000"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
    }
}
