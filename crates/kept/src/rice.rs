//! The Golomb–Rice code of gaps: `gap >> k` as that many zeros and a one, then the low `k` bits; low bits first.

/// The most bits that one step reads or writes: seven bits of a byte may be in use before them.
const STEP: u32 = 56;

/// Appends codes to bytes.
pub(crate) struct BitWriter<'b> {
    bytes: &'b mut Vec<u8>,
    pending: u64,
    used: u32,
}

impl<'b> BitWriter<'b> {
    pub(crate) fn new(bytes: &'b mut Vec<u8>) -> Self {
        BitWriter { bytes, pending: 0, used: 0 }
    }

    pub(crate) fn gap(&mut self, gap: u128, rice: u32) {
        let mut zeros = gap >> rice;
        while zeros >= u128::from(STEP) {
            self.bits(0, STEP);
            zeros -= u128::from(STEP);
        }
        // Fewer than 56 zeros, in two steps, as the one may be the 56th bit.
        self.bits(0, zeros as u32);
        self.bits(1, 1);
        let mut left = rice;
        while left > 0 {
            let step = left.min(STEP);
            self.bits((gap >> (rice - left)) as u64 & (u64::MAX >> (64 - step)), step);
            left -= step;
        }
    }

    fn bits(&mut self, bits: u64, count: u32) {
        self.pending |= bits << self.used;
        self.used += count;
        while self.used >= 8 {
            self.bytes.push(self.pending as u8);
            self.pending >>= 8;
            self.used -= 8;
        }
    }

    /// Pads the last byte with zeros.
    pub(crate) fn finish(self) {
        if self.used > 0 {
            self.bytes.push(self.pending as u8);
        }
    }
}

/// Reads codes from bytes that anybody may have written.
pub(crate) struct BitReader<'b> {
    bytes: &'b [u8],
    at: u64,
    end: u64,
}

impl<'b> BitReader<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        BitReader { bytes, at: 0, end: bytes.len() as u64 * 8 }
    }

    /// The next gap; none if the bytes end within it, or if it is beyond 128 bits.
    pub(crate) fn gap(&mut self, rice: u32) -> Option<u128> {
        let mut zeros = 0u128;
        loop {
            let (window, count) = self.window();
            if count == 0 {
                return None;
            }
            let run = window.trailing_zeros().min(count);
            zeros += u128::from(run);
            self.at += u64::from(run);
            if run < count {
                self.at += 1;
                break;
            }
        }
        let high = zeros << rice;
        if high >> rice != zeros {
            return None;
        }
        let mut low = 0u128;
        let mut read = 0;
        while read < rice {
            let step = (rice - read).min(STEP);
            let (window, count) = self.window();
            if count < step {
                return None;
            }
            low |= u128::from(window & (u64::MAX >> (64 - step))) << read;
            self.at += u64::from(step);
            read += step;
        }
        Some(high | low)
    }

    /// The next bits, and how many there are: 56 or more, or all that are left.
    fn window(&self) -> (u64, u32) {
        let rest = self.bytes.get((self.at / 8) as usize..).unwrap_or_default();
        let skip = (self.at % 8) as u32;
        let word = match rest.first_chunk::<8>() {
            Some(word) => u64::from_le_bytes(*word),
            None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        (word >> skip, u64::from(64 - skip).min(self.end - self.at) as u32)
    }

    /// Whether only the padding of the last byte is left, and is zero.
    pub(crate) fn is_finished(&self) -> bool {
        self.end - self.at < 8 && self.window().0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_come_back_and_a_cut_code_has_fewer() {
        for rice in [0, 1, 7, 55, 56, 57, 64, 100, 127] {
            let gaps: Vec<u128> = (0..300u128)
                .map(|index| (index * index % 131) << rice | index.pow(9) & ((1 << rice) - 1))
                .map(|gap| if rice > 120 { gap & (u128::MAX >> 1) } else { gap })
                .collect();
            let mut bytes = Vec::new();
            let mut writer = BitWriter::new(&mut bytes);
            gaps.iter().for_each(|gap| writer.gap(*gap, rice));
            writer.finish();
            let mut reader = BitReader::new(&bytes);
            assert!(gaps.iter().all(|gap| reader.gap(rice) == Some(*gap)), "{rice}");
            assert!(reader.is_finished());
            let mut reader = BitReader::new(&bytes[..bytes.len() - 1]);
            assert!(gaps.iter().any(|gap| reader.gap(rice) != Some(*gap)), "{rice}");
        }
    }

    #[test]
    fn the_bits_of_a_code_are_the_documented_ones() {
        let mut bytes = Vec::new();
        let mut writer = BitWriter::new(&mut bytes);
        // 2 zeros, a one, 101 low bits first; then no zero, a one, 010.
        writer.gap(0b10_101, 3);
        writer.gap(0b010, 3);
        writer.finish();
        assert_eq!(bytes, [0b0110_1100, 0b0000_0001]);
    }

    #[test]
    fn a_gap_beyond_128_bits_is_none() {
        assert_eq!(BitReader::new(&[0, 0, 255, 255, 255]).gap(127), None);
        assert_eq!(BitReader::new(&[0; 100]).gap(0), None);
        assert_eq!(BitReader::new(&[]).gap(0), None);
    }
}
