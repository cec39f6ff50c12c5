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
    assert!(packed.bytes.len() as u64 == packed.put.div_ceil(8), "as many numbers as the iterator said");
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
    /// Bits that have been put.
    put: u64,
}

impl<'a> Packer<'a> {
    /// Into these bytes, which are zero and as many as all numbers take.
    pub(crate) fn new(bytes: &'a mut [u8]) -> Self {
        Packer { bytes, put: 0 }
    }

    /// The next number, which has no more than `bits` bits.
    ///
    /// # Panics
    /// If there is no room for it.
    #[inline]
    pub(crate) fn put(&mut self, number: u128, bits: u32) {
        let (byte, shift) = ((self.put / 8) as usize, (self.put % 8) as u32);
        self.put += u64::from(bits);
        let (window, rest) = (number << shift, &mut self.bytes[byte..]);
        if let Some(bytes) = rest.first_chunk_mut() {
            *bytes = (u128::from_le_bytes(*bytes) | window).to_le_bytes();
        } else {
            let rest = &mut rest[..((shift + bits) as usize).div_ceil(8)];
            rest.iter_mut().zip(window.to_le_bytes()).for_each(|(byte, more)| *byte |= more);
        }
        if shift + bits > u128::BITS {
            rest[size_of::<u128>()] = (number >> (u128::BITS - shift)) as u8;
        }
    }
}

/// Unpacks numbers.
pub(crate) struct Unpacker<'a> {
    bytes: &'a [u8],
    /// Bits that have been taken.
    taken: u64,
}

impl<'a> Unpacker<'a> {
    /// From these bytes.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Unpacker { bytes, taken: 0 }
    }

    /// From the number of `bits` bits at that position on.
    pub(crate) fn at(bytes: &'a [u8], position: usize, bits: u32) -> Self {
        Unpacker { bytes, taken: position as u64 * u64::from(bits) }
    }

    /// The next number. Missing bits at the end are zero.
    #[inline]
    pub(crate) fn take(&mut self, bits: u32) -> u128 {
        let shift = (self.taken % 8) as u32;
        let rest = self.rest_of_bytes();
        self.taken += u64::from(bits);
        let window = rest.first_chunk().map_or_else(|| padded(rest), |window| u128::from_le_bytes(*window));
        let mut number = window >> shift;
        if shift + bits > u128::BITS {
            number |= u128::from(rest.get(size_of::<u128>()).copied().unwrap_or(0)) << (u128::BITS - shift);
        }
        number & mask(bits)
    }

    /// The bits that are left, all of them in the last byte.
    pub(crate) fn rest(&self) -> u8 {
        self.rest_of_bytes().first().map_or(0, |last| last >> (self.taken % 8))
    }

    /// From the byte of the next bit on.
    #[inline]
    fn rest_of_bytes(&self) -> &'a [u8] {
        self.bytes.get((self.taken / 8) as usize..).unwrap_or_default()
    }
}

/// The number of these bytes, of which there are fewer than sixteen, and zeros behind them.
#[cold]
fn padded(bytes: &[u8]) -> u128 {
    let mut all = [0; size_of::<u128>()];
    all[..bytes.len()].copy_from_slice(bytes);
    u128::from_le_bytes(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic = "range"]
    fn a_number_that_has_no_room_is_refused() {
        let mut bytes = [0; 3];
        let mut packed = Packer::new(&mut bytes);
        packed.put(0x1f, 5);
        packed.put(0xfffff, 20);
    }

    #[test]
    fn numbers_come_back_and_bits_beyond_the_last_are_refused() {
        let all: Vec<u128> =
            (1..=100u128).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)).collect();
        for count in [0, 1, 2, 8, 100] {
            for bits in [1, 7, 8, 40, 61, 63, 64, 65, 100, 121, 122, 127, 128] {
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
