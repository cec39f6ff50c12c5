//! Integers modulo p for the tests of the fields: slow and plain.

/// An integer below p, little-endian words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Int(pub(super) [u64; 4]);

impl Int {
    pub(super) const P: [u64; 4] = [u64::MAX - 18, u64::MAX, u64::MAX, u64::MAX >> 1];

    pub(super) fn small(value: u64) -> Self {
        Self([value, 0, 0, 0])
    }

    pub(super) fn add(self, other: Self) -> Self {
        // Both are below p, so the sum is below 2^256.
        let (sum, _) = words(self.0, other.0, u64::carrying_add);
        match words(sum, Self::P, u64::borrowing_sub) {
            (_, true) => Self(sum),
            (difference, false) => Self(difference),
        }
    }

    pub(super) fn negate(self) -> Self {
        Self(words(Self::P, self.0, u64::borrowing_sub).0).add(Self([0; 4]))
    }

    pub(super) fn mul(self, other: Self) -> Self {
        (0..256).rev().fold(Self([0; 4]), |sum, bit| {
            let double = sum.add(sum);
            if other.0[bit / 64] >> (bit % 64) & 1 == 1 { double.add(self) } else { double }
        })
    }

    /// The number with these limbs, of which limb k has `bits(k)` bits.
    pub(super) fn of_limbs(limbs: &[u64], bits: impl Fn(usize) -> u32) -> Self {
        let sum =
            |sum: Self, (k, limb): (usize, &u64)| sum.mul(Self::small(1 << bits(k))).add(Self::small(*limb));
        limbs.iter().enumerate().rev().fold(Self([0; 4]), sum)
    }

    pub(super) fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(self.0) {
            *bytes = word.to_le_bytes();
        }
        bytes
    }
}

fn words(a: [u64; 4], b: [u64; 4], step: fn(u64, u64, bool) -> (u64, bool)) -> ([u64; 4], bool) {
    let mut carry = false;
    let result = core::array::from_fn(|i| {
        let (word, next) = step(a[i], b[i], carry);
        carry = next;
        word
    });
    (result, carry)
}
