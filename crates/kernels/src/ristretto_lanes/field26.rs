//! Arithmetic modulo p = 2^255 - 19 on eight elements at a time, with the multiply instruction that reads 32 bits.
//! Constant time. Products and carries are in `field26_products.rs`, bytes and tables in `field26_words.rs`.
//!
//! An element is ten limbs of 26 and 25 bits by turns: limb k has the weight 2^⌈25.5 k⌉. Sums are formed on the
//! 64-bit columns that a multiplication leaves behind, and carried once. Two types tell the states apart:
//!
//! | type | limbs | may be |
//! |---|---|---|
//! | `Fe` | below 2^26; odd ones below 2^25 + 2^17, the last one below 2^25 | multiplied, squared, compared |
//! | `Columns` | below 2^63 | added, subtracted, carried |
//!
//! # Bounds
//!
//! *Products.* Column k takes the products of limbs i + j = k, and those of i + j = k + 10 times 19, because 2^255 =
//! 19 modulo p. Products of two odd limbs count twice: their weight is half a limb above. The sum is largest at k =
//! 0: 1 + 19 · (4 + 5/2) = 124.5 products of 2^52, and a little, below 2^59. A factor of the instruction is at most
//! 38 · (2^25 + 2^17) < 2^31.
//!
//! *Differences.* `a - b` is computed as a + 2^35 p - b. The limbs of 2^35 p are at least 2^60 - 2^35, and no
//! column of an element, a product or the sum of two products is as large: that is below 2 · 125 · 2^52.
//! Products may start at 2^35 p at no cost, and are then below 2^59 + 2^61, the sum of two such below 2^63.
//!
//! *Carries.* Two chains run side by side, from limbs 0 and 4. From columns below 2^63 the carries are below 2^39;
//! the topmost comes back times 19 and makes a last carry, from limb 0, below 2^17.

/// `$value` for each part of the lanes.
macro_rules! parts {
    (|$part:ident| $value:expr) => {{
        let mut parts = [[all(0); 10]; PARTS];
        for $part in 0..PARTS {
            parts[$part] = $value;
        }
        parts
    }};
}

/// Defines the field over the vector operations of the surrounding module.
macro_rules! field26 {
    ($features:literal, $inlined:meta) => {
        use zeroize::Zeroize;

        pub(super) use super::super::LANES;
        use super::super::WordLimbs;

        /// A set of lanes, one bit each.
        pub(super) type Lanes = u8;

        /// Vectors of elements that a ladder takes together: two would not fit into the registers.
        pub(super) const TOGETHER: usize = 1;

        /// Vectors that eight lanes take.
        const PARTS: usize = LANES / WIDTH;

        /// The largest limbs at even and at odd positions.
        const LOW: [u64; 2] = [(1 << 26) - 1, (1 << 25) - 1];

        /// The limbs of p.
        const P: [u64; 10] =
            [LOW[0] - 18, LOW[1], LOW[0], LOW[1], LOW[0], LOW[1], LOW[0], LOW[1], LOW[0], LOW[1]];

        /// The multiple of p that keeps differences positive.
        const BIAS: u64 = 1 << 35;

        /// The limbs of as many elements as a vector has lanes.
        type Part = [V; 10];

        /// Eight elements that may be multiplied.
        #[derive(Clone, Copy, Zeroize)]
        pub(super) struct Fe([Part; PARTS]);

        /// Eight elements as a multiplication leaves them, to be added and carried.
        #[derive(Clone, Copy, Zeroize)]
        pub(super) struct Columns([Part; PARTS]);

        /// All ones in some lanes, all zeros in the others.
        #[derive(Clone, Copy)]
        pub(super) struct Mask([V; PARTS]);

        impl Mask {
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn none() -> Self {
                Self([all(0); PARTS])
            }

            /// The lanes in whose word this bit is set.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn of_bit(words: &[u64; LANES], bit: u32) -> Self {
                let mut mask = [all(0); PARTS];
                for part in 0..PARTS {
                    let word = right_by(load(&words.as_chunks().0[part]), bit);
                    mask[part] = sub(all(0), and(word, all(1)));
                }
                Self(mask)
            }

            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn xor(self, other: Self) -> Self {
                let mut mask = self.0;
                for part in 0..PARTS {
                    mask[part] = xor(mask[part], other.0[part]);
                }
                Self(mask)
            }
        }

        field26_products!($features, $inlined);
        field26_words!($features);

        impl Columns {
            /// Brings the limbs back to a little over 25 bits.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn carry(self) -> Fe {
                Fe(parts!(|part| carried(&self.0[part])))
            }

            /// `self + other`.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn plus(self, other: Self) -> Self {
                Self(parts!(|part| add_all(&self.0[part], &other.0[part])))
            }

            /// `self - other` where `self` started from or was given the bias.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn minus(mut self, other: Self) -> Self {
                for part in 0..PARTS {
                    for k in 0..10 {
                        self.0[part][k] = sub(self.0[part][k], other.0[part][k]);
                    }
                }
                self
            }

            /// `self` plus the bias.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn biased(self) -> Self {
                Self(parts!(|part| add_all(&self.0[part], &biases())))
            }

            /// `self + factor · element` for a factor below 2^20; adds less than 2^46 to a column.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn plus_multiple(mut self, factor: u32, element: &Fe) -> Self {
                let factor = all(factor.into());
                for part in 0..PARTS {
                    for k in 0..10 {
                        self.0[part][k] = add(self.0[part][k], multiply(element.0[part][k], factor));
                    }
                }
                self
            }
        }

        impl Fe {
            /// The element with these limbs of 51 bits, none above 2^51, in every lane.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn splat(limbs: [u64; 5]) -> Self {
                let mut words = [all(0); 5];
                for k in 0..5 {
                    words[k] = all(limbs[k]);
                }
                Self([split(words); PARTS])
            }

            /// A small number, in every lane.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn small(value: u32) -> Self {
                Self::splat([value.into(), 0, 0, 0, 0])
            }

            /// The limbs as columns.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn columns(&self) -> Columns {
                Columns(self.0)
            }

            /// `self · other`, to be added or carried.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn product(&self, other: &Self) -> Columns {
                Columns(parts!(|part| product([all(0); 10], &self.0[part], &other.0[part])))
            }

            /// `self · other` with the bias, to be subtracted from.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn biased_product(&self, other: &Self) -> Columns {
                Columns(parts!(|part| product(biases(), &self.0[part], &other.0[part])))
            }

            /// `self²`, to be added or carried.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn squared(&self) -> Columns {
                Columns(parts!(|part| square([all(0); 10], &self.0[part])))
            }

            /// `self²` with the bias, to be subtracted from.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn biased_squared(&self) -> Columns {
                Columns(parts!(|part| square(biases(), &self.0[part])))
            }

            /// `self · other`.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn mul(&self, other: &Self) -> Self {
                self.product(other).carry()
            }

            /// `self²`.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn square(&self) -> Self {
                self.squared().carry()
            }

            /// `self + other`.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn add(&self, other: &Self) -> Self {
                self.columns().plus(other.columns()).carry()
            }

            /// `self - other`.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn sub(&self, other: &Self) -> Self {
                self.columns().biased().minus(other.columns()).carry()
            }

            /// `-self`.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn negate(&self) -> Self {
                Self::small(0).sub(self)
            }

            /// `self` where the lane is in the set, `other` elsewhere.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn where_in(&self, lanes: Lanes, other: &Self) -> Self {
                let mut chosen = other.0;
                for part in 0..PARTS {
                    let mask = mask_of(lanes >> (part * WIDTH));
                    for k in 0..10 {
                        chosen[part][k] = choose(mask, self.0[part][k], other.0[part][k]);
                    }
                }
                Self(chosen)
            }

            /// `other` where a bit of the mask is set, `self` elsewhere. Masks are all zeros or all ones.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn or_masked(&self, other: &Self, mask: Mask) -> Self {
                let mut chosen = self.0;
                for part in 0..PARTS {
                    for k in 0..10 {
                        chosen[part][k] = by_bits(mask.0[part], other.0[part][k], self.0[part][k]);
                    }
                }
                Self(chosen)
            }

            /// `-self` where the lane is in the set, `self` elsewhere.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn negate_in(&self, lanes: Lanes) -> Self {
                self.negate().where_in(lanes, self)
            }

            /// The absolute value in the sense of RFC 9496: `self` or `-self`, whichever is even when fully
            /// reduced.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn abs(&self) -> Self {
                self.negate_in(self.is_negative())
            }

            /// The lanes that hold zero.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn is_zero(&self) -> Lanes {
                let mut lanes = 0;
                for part in 0..PARTS {
                    let limbs = reduced(&self.0[part]);
                    let mut any = limbs[0];
                    for k in 1..10 {
                        any = or(any, limbs[k]);
                    }
                    lanes |= equal_lanes(any, all(0)) << (part * WIDTH);
                }
                lanes
            }

            /// The lanes whose least non-negative residue is odd, which RFC 9496 calls negative.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn is_negative(&self) -> Lanes {
                let mut lanes = 0;
                for part in 0..PARTS {
                    let lowest = and(reduced(&self.0[part])[0], all(1));
                    lanes |= equal_lanes(lowest, all(1)) << (part * WIDTH);
                }
                lanes
            }

            /// The lanes in which both are equal.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn equals(&self, other: &Self) -> Lanes {
                self.sub(other).is_zero()
            }
        }

        #[cfg(test)]
        mod tests {
            field26_tests!($features);
        }
    };
}
