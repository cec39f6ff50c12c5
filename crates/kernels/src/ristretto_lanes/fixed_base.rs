//! Many secret scalars times one public point, each lane a scalar of its own.
//!
//! A scalar is Σ d_i · 64^i with 43 digits d_i from -32 to 32, and the table has 1 to 32 times 64^i · B, so that
//! a product is a sum of 43 entries. The entries of one digit fill four registers a limb, in which each lane
//! finds its own by a permutation: neither a branch nor an address depends on a scalar.

/// Defines the module over the field of the surrounding level.
macro_rules! fixed_base {
    ($features:literal) => {
        use zeroize::Zeroize;

        use super::edwards::{Affine, Multiples, Point};
        use super::field::{Digits, ENTRIES, Fe, LANES};
        use super::power::invert_all;

        /// Bits of a digit.
        const WIDTH: usize = 6;
        /// Digits of a scalar below 2^253.
        pub(super) const DIGITS: usize = 253usize.div_ceil(WIDTH);

        /// The table of `base`; for each digit its multiples.
        ///
        /// `powers` are the points 64^i · base, the first in the lowest lane of the first vector.
        #[target_feature(enable = $features)]
        pub(super) fn table(powers: &[Point]) -> Vec<Multiples> {
            let mut table = vec![[[[0; ENTRIES]; 5]; 3]; DIGITS];
            for (powers, table) in powers.iter().zip(table.chunks_mut(LANES)) {
                let mut multiples = vec![*powers];
                while multiples.len() < ENTRIES {
                    multiples.push(multiples[multiples.len() - 1].add(powers));
                }
                let mut inverses: Vec<Fe> = multiples.iter().map(|multiple| multiple.z).collect();
                invert_all(&mut inverses);
                for (entry, (multiple, inverse)) in multiples.iter().zip(&inverses).enumerate() {
                    let parts = multiple.to_affine(inverse).to_limbs();
                    for (lane, table) in table.iter_mut().enumerate() {
                        for (part, table) in parts.iter().zip(table) {
                            part.iter().zip(table).for_each(|(limb, table)| table[entry] = limb[lane]);
                        }
                    }
                }
            }
            table
        }

        /// The products of the table's base with `N` vectors of scalars, little-endian and below 2^253.
        #[target_feature(enable = $features)]
        pub(super) fn multiply<const N: usize>(
            table: &[Multiples],
            scalars: &[[&[u8; 32]; LANES]; N],
        ) -> [Point; N] {
            let mut digits = scalars.map(digits);
            let mut sums = [Point::identity(); N];
            for (i, multiples) in table.iter().enumerate() {
                for n in 0..N {
                    sums[n] = sums[n].add_affine(&Affine::look_up(multiples, &Digits::new(digits[n][i])));
                }
            }
            digits.zeroize();
            sums
        }

        /// The digits of eight scalars, lowest first.
        fn digits(scalars: [&[u8; 32]; LANES]) -> [[i8; LANES]; DIGITS] {
            let mut digits = [[0; LANES]; DIGITS];
            for (lane, scalar) in scalars.into_iter().enumerate() {
                let mut carry = 0;
                for (i, digits) in digits.iter_mut().enumerate() {
                    let (byte, bit) = (i * WIDTH / 8, i * WIDTH % 8);
                    let high = scalar.get(byte + 1).copied().unwrap_or(0);
                    let window = u16::from_le_bytes([scalar[byte], high]) >> bit & ((1 << WIDTH) - 1);
                    let value = window + carry;
                    // From 32 on the digit is 64 less, and the next one is 1 more.
                    carry = value >> (WIDTH - 1) & 1 | value >> WIDTH;
                    digits[lane] = (value.cast_signed() - (carry << WIDTH).cast_signed()) as i8;
                }
            }
            digits
        }
    };
}
