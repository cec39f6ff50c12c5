//! Networks by their rate and round trip, those of the papers among them.

use std::time::Duration;

use crate::limit::LONGEST;

/// A network between two parties, the same in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// What each direction carries, in bits per second; none: any amount at once. 0 is taken for 1.
    pub bandwidth_bits_per_s: Option<u64>,
    /// How long a bit needs to the other side and an answer back; each direction takes half of it.
    pub round_trip: Duration,
}

impl Network {
    /// 1 Gbit/s, 0.2 ms: "Gigabit LAN" of PSZ14 (slide "Communication effect on runtime") and the LAN of RR16 §6.1.
    /// PSSZ15 §8 and DCW13 measured in a Gigabit LAN, too, and state no round trip.
    pub const GIGABIT_LAN: Self = Self::of(1_000_000, 200);
    /// 100 Mbit/s: the LAN of HEK12 §7. It states no round trip; 0.2 ms is that of the other papers' LANs.
    pub const LAN_100: Self = Self::of(100_000, 200);
    /// 54 Mbit/s, 0.2 ms: "802.11g" of PSZ14 (slide "Communication effect on runtime").
    pub const WIFI_802_11G: Self = Self::of(54_000, 200);
    /// 25 Mbit/s, 10 ms: the faster "Intra-country" of PSZ14 (slide "Communication effect on runtime").
    pub const INTRA_COUNTRY_25: Self = Self::of(25_000, 10_000);
    /// 10 Mbit/s, 50 ms: the slower "Intra-country" of PSZ14 (slide "Communication effect on runtime").
    pub const INTRA_COUNTRY_10: Self = Self::of(10_000, 50_000);
    /// 3.6 Mbit/s, 500 ms: mobile, "HSDPA" of PSZ14 (slide "Communication effect on runtime", spelled HDSPA there).
    pub const HSDPA: Self = Self::of(3_600, 500_000);
    /// 50 MB/s, 96 ms: the WAN of PSSZ15 §8, between North Virginia and Frankfurt.
    pub const WAN_PSSZ15: Self = Self::of(400_000, 96_000);
    /// 60 Mbit/s, 95 ms: the simulated WAN of RR16 §6.1.
    pub const WAN_RR16: Self = Self::of(60_000, 95_000);

    const fn of(kilobits_per_s: u64, round_trip_us: u64) -> Self {
        Self {
            bandwidth_bits_per_s: Some(1000 * kilobits_per_s),
            round_trip: Duration::from_micros(round_trip_us),
        }
    }

    /// How long so many bytes take to leave, rounded up.
    pub fn leaving(&self, bytes: usize) -> Duration {
        let Some(rate) = self.bandwidth_bits_per_s else { return Duration::ZERO };
        let nanos = (bytes as u128 * 8 * 1_000_000_000).div_ceil(u128::from(rate.max(1)));
        Duration::from_nanos(nanos.try_into().unwrap_or(u64::MAX)).min(LONGEST)
    }

    /// How long it takes from one side to the other.
    pub fn crossing(&self) -> Duration {
        (self.round_trip / 2).min(LONGEST)
    }

    /// How long the last words of both sides may take beyond what they take without a network: each waits for a frame
    /// or two to leave.
    pub fn farewell(&self) -> Duration {
        (self.crossing() + 2 * self.leaving(64 << 10)) * 2
    }

    /// How many bytes leave in a given time.
    pub fn carries(&self, time: Duration) -> usize {
        let Some(rate) = self.bandwidth_bits_per_s else { return usize::MAX };
        let bytes = u128::from(rate) * time.as_nanos() / (8 * 1_000_000_000);
        bytes.try_into().unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_times_are_each_others_inverse() {
        let lan = Network::GIGABIT_LAN;
        assert_eq!(lan.leaving(125_000), Duration::from_millis(1));
        assert_eq!(lan.carries(Duration::from_millis(1)), 125_000);
        assert_eq!(Network::WAN_PSSZ15.leaving(50_000_000), Duration::from_secs(1));
        assert_eq!(Network::HSDPA.crossing(), Duration::from_millis(250));
        assert_eq!(Network::default().leaving(usize::MAX), Duration::ZERO);
    }
}
