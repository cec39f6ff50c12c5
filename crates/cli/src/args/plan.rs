//! The arguments of `vesica plan`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use vesica::memory::Budget;
use vesica::parts::MOST;
use vesica::plan::Conditions;
use vesica::protocols::Sizes;
use vesica::settings::{Settings, memory};

use super::common::set_size;
use super::options::{Chosen, Forecast};

#[derive(Args)]
pub(crate) struct Plan {
    /// Different keys of the receiver, padding included: a number, or 2^N
    #[arg(long, value_name = "N", value_parser = set_size)]
    receiver: usize,
    /// Different keys of the sender, padding included: a number, or 2^N
    #[arg(long, value_name = "N", value_parser = set_size)]
    sender: usize,
    /// Bandwidth between the parties: 100M and 1G are bits a second, 50MB is bytes [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = bandwidth)]
    bandwidth: Option<f64>,
    /// Round trip between the parties: 20ms, 0.2ms
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = latency)]
    latency: Duration,
    /// Threads of each party
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// The run is split into so many parts, or into as many as --memory takes, if these are more
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST)))]
    parts: u32,
    /// Both sides give this --memory, such as 512M or 4G, or half of this machine's free memory (auto)
    #[arg(long, value_name = "SIZE|auto", value_parser = memory)]
    memory: Option<Budget>,
    /// Both sides kept base OTs of an earlier run (--keep-base-ots); with --security semi-honest
    #[arg(long)]
    kept_base_ots: bool,
    #[command(flatten)]
    agreed: Chosen<Forecast>,
    /// Show for each protocol that cannot be taken why not
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
    /// Write it to a new FILE in place of the screen: a page for a person if the name ends in .html, otherwise JSON
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "all"])]
    pub(crate) output: Option<PathBuf>,
}

impl Plan {
    /// The terms of the run.
    pub(crate) fn settings(&self) -> Settings {
        Settings { parts: self.parts, ..self.agreed.settings.clone() }
    }

    /// Both sets' sizes.
    pub(crate) fn sizes(&self) -> Sizes {
        Sizes { receiver: self.receiver, sender: self.sender }
    }

    /// Threads, network and memory.
    pub(crate) fn conditions(&self) -> Conditions {
        Conditions {
            threads: self.threads.into(),
            bits_per_s: self.bandwidth,
            round_trip: self.latency,
            kept_base_ots: self.kept_base_ots,
            memory: self.memory,
        }
    }
}

/// The number before the unit and the unit; the number is finite and not negative.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim()))
}

/// `100M`, `1G`, `2.5Gbit/s`; `50MB` is bytes.
fn bandwidth(text: &str) -> Result<f64, String> {
    let read = || {
        let (number, unit) = number_and_unit(text)?;
        let unit = unit.strip_suffix("/s").unwrap_or(unit);
        let (unit, bits) = match (unit.strip_suffix("bit"), unit.strip_suffix('B')) {
            (Some(unit), _) => (unit, 1.0),
            (None, Some(unit)) => (unit, 8.0),
            (None, None) => (unit.strip_suffix("bps").unwrap_or(unit), 1.0),
        };
        let factor = match unit {
            "k" | "K" => 1e3,
            "M" => 1e6,
            "G" => 1e9,
            _ => return None,
        };
        Some(number * factor * bits).filter(|&rate| (1e3..=1e13).contains(&rate))
    };
    read().ok_or_else(|| "write bits a second such as 100M or 1G, or bytes such as 50MB".to_owned())
}

/// `20ms`, `0.2ms`, `1s`.
fn latency(text: &str) -> Result<Duration, String> {
    let read = || {
        let (number, unit) = number_and_unit(text)?;
        let seconds = match unit {
            "ms" => number / 1e3,
            "us" | "µs" => number / 1e6,
            "s" => number,
            _ => return None,
        };
        (seconds <= 60.0).then(|| Duration::from_secs_f64(seconds))
    };
    read().ok_or_else(|| "write a round trip such as 20ms, at most 60s".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read() {
        for (text, rate) in [
            ("100M", 1e8),
            ("1G", 1e9),
            ("2.5Gbit/s", 2.5e9),
            ("50MB/s", 4e8),
            ("50MB", 4e8),
            ("3600kbps", 3.6e6),
        ] {
            assert_eq!(bandwidth(text), Ok(rate), "{text}");
        }
        for bad in ["", "100", "M", "1.2.3M", "-1M", "1T", "0M", "1 MiB", "1e3M"] {
            assert!(bandwidth(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn round_trips_are_read() {
        let micros = Duration::from_micros;
        for (text, time) in [("20ms", 20_000), ("0.2ms", 200), ("1s", 1_000_000), ("150us", 150), ("0ms", 0)]
        {
            assert_eq!(latency(text), Ok(micros(time)), "{text}");
        }
        for bad in ["", "20", "ms", "61s", "-1ms", "1h"] {
            assert!(latency(bad).is_err(), "{bad}");
        }
    }
}
