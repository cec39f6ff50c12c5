//! The sum of many public points with public weights of 128 bits: Straus' method in every lane.
//!
//! A weight is Σ d_i · 16^i with 33 digits d_i from -8 to 8. The doublings between two digits are shared by all
//! points of a chunk; each point has a table of its multiples 1 to 8.

/// Defines the module over the field of the surrounding level.
macro_rules! weighted_sum {
    ($features:literal) => {
        use super::edwards::{Point, Projective};
        use super::field::{Digits, LANES};

        /// Vectors of points in a chunk: their tables fit the second-level cache.
        const CHUNK: usize = 32;
        /// Bits of a digit.
        const WIDTH: usize = 4;
        /// Digits of a weight; the last one is a carry.
        const DIGITS: usize = 128 / WIDTH + 1;

        /// `Σ weights[i] · points[i]`, in every lane. Lanes beyond the last weight do not count.
        #[target_feature(enable = $features)]
        pub(super) fn weighted_sum(weights: &[u128], points: &[Point]) -> Point {
            let mut total = Point::identity();
            for (weights, points) in weights.chunks(CHUNK * LANES).zip(points.chunks(CHUNK)) {
                let digits: Vec<_> = weights.chunks(LANES).map(digits).collect();
                let multiples: Vec<_> = points.iter().map(|point| Projective::multiples(point)).collect();
                let mut sum = Point::identity();
                for i in (0..DIGITS).rev() {
                    for _ in 0..WIDTH {
                        sum = sum.double();
                    }
                    for (digits, multiples) in digits.iter().zip(&multiples) {
                        sum = sum.add_projective(&Projective::look_up(multiples, &Digits::new(digits[i])));
                    }
                }
                total = total.add(&sum);
            }
            total.across()
        }

        /// The digits of up to eight weights, lowest first.
        fn digits(weights: &[u128]) -> [[i8; LANES]; DIGITS] {
            let mut digits = [[0; LANES]; DIGITS];
            for (lane, weight) in weights.iter().enumerate() {
                let mut carry = 0;
                for (i, digits) in digits.iter_mut().enumerate() {
                    let window = weight.checked_shr((i * WIDTH) as u32).unwrap_or(0) as i8 & 15;
                    let value = window + carry;
                    // From 8 on the digit is 16 less, and the next one is 1 more.
                    carry = i8::from(value >= 8);
                    digits[lane] = value - 16 * carry;
                }
            }
            digits
        }
    };
}
