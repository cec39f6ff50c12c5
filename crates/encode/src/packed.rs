//! Numbers of the same width side by side, without gaps: bits from the lowest of each byte up, rest zero.

/// Bytes of `count` numbers of `bits` bits.
#[must_use]
pub fn packed_bytes(count: usize, bits: u32) -> usize {
    (count as u128 * u128::from(bits)).div_ceil(8) as usize
}

/// Replaces `bytes` by these numbers of `bits` bits.
///
/// # Panics
/// If there are more than 128 bits.
pub fn pack(numbers: impl ExactSizeIterator<Item = u128>, bits: u32, bytes: &mut Vec<u8>) {
    assert!(bits <= u128::BITS, "numbers of {bits} bits");
    bytes.clear();
    bytes.resize(packed_bytes(numbers.len(), bits), 0);
    let mut packed = Packer::new(bytes);
    numbers.for_each(|number| packed.put(number & mask(bits), bits));
    packed.finish();
}

/// Appends the `count` numbers of `bits` bits that these bytes are; false if bits beyond the last one are set.
///
/// # Panics
/// If there are more than 128 bits, or more or fewer bytes than the numbers take.
#[must_use]
pub fn unpack(bytes: &[u8], count: usize, bits: u32, numbers: &mut Vec<u128>) -> bool {
    assert!(bits <= u128::BITS && bytes.len() == packed_bytes(count, bits), "{count} numbers of {bits} bits");
    let mut parts = Unpacker::new(bytes);
    numbers.extend((0..count).map(|_| parts.take(bits)));
    parts.rest() == 0
}

/// The lowest `bits` bits.
pub(crate) fn mask(bits: u32) -> u128 {
    u128::MAX.checked_shr(u128::BITS - bits).unwrap_or(0)
}

/// Packs numbers side by side.
pub(crate) struct Packer<'a> {
    bytes: &'a mut [u8],
    pending: u64,
    held: u32,
}

impl<'a> Packer<'a> {
    /// Into these bytes, as many as all numbers take.
    pub(crate) fn new(bytes: &'a mut [u8]) -> Self {
        Packer { bytes, pending: 0, held: 0 }
    }

    /// The next number, which has no more than `bits` bits.
    pub(crate) fn put(&mut self, value: u128, bits: u32) {
        if bits > 64 {
            self.put_word(value as u64, 64);
            self.put_word((value >> 64) as u64, bits - 64);
        } else {
            self.put_word(value as u64, bits);
        }
    }

    fn put_word(&mut self, value: u64, bits: u32) {
        let wide = u128::from(self.pending) | u128::from(value) << self.held;
        self.held += bits;
        if self.held < 64 {
            self.pending = wide as u64;
            return;
        }
        if let Some((head, rest)) = std::mem::take(&mut self.bytes).split_at_mut_checked(8) {
            head.copy_from_slice(&(wide as u64).to_le_bytes());
            self.bytes = rest;
        }
        self.pending = (wide >> 64) as u64;
        self.held -= 64;
    }

    /// Ends with the bits that fill no word.
    pub(crate) fn finish(self) {
        let last = self.pending.to_le_bytes();
        let left = self.bytes.len();
        self.bytes.copy_from_slice(&last[..left]);
    }
}

/// Unpacks numbers.
pub(crate) struct Unpacker<'a> {
    bytes: &'a [u8],
    pending: u64,
    held: u32,
}

impl<'a> Unpacker<'a> {
    /// From these bytes.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Unpacker { bytes, pending: 0, held: 0 }
    }

    /// The next number.
    pub(crate) fn take(&mut self, bits: u32) -> u128 {
        if bits > 64 {
            let low = self.take_word(64);
            u128::from(low) | u128::from(self.take_word(bits - 64)) << 64
        } else {
            u128::from(self.take_word(bits))
        }
    }

    fn take_word(&mut self, bits: u32) -> u64 {
        let mut wide = u128::from(self.pending);
        if self.held < bits {
            let mut word = [0; 8];
            let count = self.bytes.len().min(8);
            let (head, rest) = self.bytes.split_at(count);
            word[..count].copy_from_slice(head);
            self.bytes = rest;
            wide |= u128::from(u64::from_le_bytes(word)) << self.held;
            self.held += 64;
        }
        self.held -= bits;
        let rest = wide >> bits;
        self.pending = rest as u64;
        (wide & mask(bits)) as u64
    }

    /// The bits that are left, all of them in the last byte.
    pub(crate) fn rest(&self) -> u64 {
        self.pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_bits_beyond_the_last_are_refused() {
        let all: Vec<u128> =
            (1..=100u128).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)).collect();
        for count in [0, 1, 2, 8, 100] {
            for bits in [1, 7, 8, 40, 61, 63, 64, 65, 100, 128] {
                let mut bytes = vec![9; 3];
                pack(all[..count].iter().copied(), bits, &mut bytes);
                assert_eq!(bytes.len(), packed_bytes(count, bits));
                let mut found = Vec::new();
                assert!(unpack(&bytes, count, bits, &mut found));
                let expected: Vec<u128> = all[..count].iter().map(|number| number & mask(bits)).collect();
                assert_eq!(found, expected, "{count} of {bits} bits");
                if !(count * bits as usize).is_multiple_of(8) {
                    *bytes.last_mut().unwrap() |= 0x80;
                    assert!(!unpack(&bytes, count, bits, &mut found));
                }
            }
        }
    }
}
