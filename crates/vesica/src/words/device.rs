//! `--device`: the cores, or a card beside them.

use std::fmt;
use std::str::FromStr;

use vesica_crypto::device::Device;

/// Seconds that it takes to open a card, about: its kernels are compiled.
const OPENING_S: u64 = 6;
/// Keys for which a core takes a second, at about 6 µs each.
const KEYS_PER_SECOND: u64 = 1_000_000 / 6;

/// On what a side computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceChoice {
    /// On the first card, where it saves more time than it takes to open, otherwise on the cores.
    #[default]
    Auto,
    /// On the cores.
    Cpu,
    /// On the card of this number, counted from 0.
    Cuda(usize),
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("cuda:").map(str::parse)) {
            ("auto", _) => Ok(DeviceChoice::Auto),
            ("cpu", _) => Ok(DeviceChoice::Cpu),
            (_, Some(Ok(_))) if !Device::CAN_HAVE_CARD => {
                Err("this build has no card; one with the feature `cuda` may have (docs/install.md)".into())
            }
            (_, Some(Ok(number))) => Ok(DeviceChoice::Cuda(number)),
            _ => Err("write auto, cpu, or cuda:N, where cuda:0 is the first card".into()),
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceChoice::Auto => f.write_str("auto"),
            DeviceChoice::Cpu => f.write_str("cpu"),
            DeviceChoice::Cuda(number) => write!(f, "cuda:{number}"),
        }
    }
}

/// The least keys for which `auto` opens a card: those that take so many threads as long as a card takes to open. The key of
/// a side costs at least one hash to the group and one product.
pub(crate) fn least_keys(threads: usize) -> u64 {
    OPENING_S * KEYS_PER_SECOND * threads as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_read_and_shown_as_they_are_written() {
        for text in ["auto", "cpu"] {
            assert_eq!(text.parse::<DeviceChoice>().unwrap().to_string(), text);
        }
        match "cuda:3".parse::<DeviceChoice>() {
            Ok(device) => assert_eq!((device, device.to_string()), (DeviceChoice::Cuda(3), "cuda:3".into())),
            Err(why) => {
                assert!(!Device::CAN_HAVE_CARD && why.starts_with("this build has no card"), "{why}")
            }
        }
        for text in ["", "cuda", "cuda:", "cuda:-1", "cuda:x", "gpu", "CPU"] {
            assert!(text.parse::<DeviceChoice>().unwrap_err().starts_with("write auto"), "{text}");
        }
    }

    #[test]
    fn a_card_is_for_about_a_million_keys_a_thread() {
        assert!((900_000..=1_000_000).contains(&least_keys(1)));
        assert_eq!(least_keys(16), 16 * least_keys(1));
    }
}
