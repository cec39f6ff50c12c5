//! Each element times a short scalar of its own: windows of four bits with signed digits.
//!
//! The ladder starts from affine points, whose inversion pays for long scalars. Here points come and go in
//! extended coordinates, so that products can be added and multiplied again, and a scalar takes as many windows
//! as its public length asks. Additions are complete, so that no point needs a branch. A lane finds its
//! multiple by comparing its digit with each index of the table: neither a branch nor an address depends on a
//! scalar.

/// Defines the module over the field of the surrounding level.
macro_rules! window {
    ($features:literal) => {
        use zeroize::{Zeroize, ZeroizeOnDrop};

        use super::edwards::{Point, Projective};
        use super::field::{self, LANES};

        /// Bits of a window.
        const WIDTH: usize = 4;

        /// Signed digits from -8 to 8 of eight scalars in radix 16, lowest first, one scalar a lane.
        #[derive(Zeroize, ZeroizeOnDrop)]
        pub(super) struct Digits(Vec<[i8; LANES]>);

        impl Digits {
            /// The digits of little-endian numbers below 2^`bits`. Lanes beyond the end get zero.
            pub(super) fn new<'a>(numbers: impl Iterator<Item = &'a [u8]>, bits: usize) -> Self {
                let last = bits / WIDTH;
                let mut digits = vec![[0; LANES]; last + 1];
                for (lane, number) in numbers.enumerate() {
                    let mut carry = 0;
                    for (window, digits) in digits.iter_mut().enumerate() {
                        let byte = number.get(window / 2).copied().unwrap_or(0);
                        let digit = (byte >> (window % 2 * WIDTH) & 15).cast_signed() + carry;
                        // The last digit has three bits at most, and is 8 with the carry.
                        carry = if window < last { (digit + 8) >> WIDTH } else { 0 };
                        digits[lane] = digit - (carry << WIDTH);
                    }
                }
                Self(digits)
            }
        }

        /// `number · point` for each of the points; a lane has the same number in all of them.
        #[target_feature(enable = $features)]
        pub(super) fn multiply<const N: usize>(digits: &Digits, points: &[Point; N]) -> [Point; N] {
            let mut tables: Vec<[Projective; 8]> =
                points.iter().map(|point| Projective::multiples(point)).collect();
            let mut sums = [Point::identity(); N];
            for (window, digits) in digits.0.iter().rev().enumerate() {
                let digits = field::Digits::new(*digits);
                // Doubling by turns keeps the multipliers busy.
                if window > 0 {
                    for _ in 1..WIDTH {
                        for sum in &mut sums {
                            *sum = sum.double_without_t();
                        }
                    }
                    for sum in &mut sums {
                        *sum = sum.double();
                    }
                }
                for (sum, table) in sums.iter_mut().zip(&tables) {
                    *sum = sum.add_projective(&Projective::look_up(table, &digits));
                }
            }
            tables.zeroize();
            sums
        }
    };
}
