//! Arithmetic modulo p = 2^255 - 19 on eight elements at a time, with the multiply instruction that reads 32 bits.
//! Constant time.
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
    ($features:literal) => {
        use zeroize::Zeroize;

        pub(super) use super::super::LANES;
        use super::super::WordLimbs;

        /// A set of lanes, one bit each.
        pub(super) type Lanes = u8;

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

        #[inline]
        #[target_feature(enable = $features)]
        fn add_all(a: &Part, b: &Part) -> Part {
            let mut sum = *a;
            for k in 0..10 {
                sum[k] = add(sum[k], b[k]);
            }
            sum
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn biases() -> Part {
            let mut biases = [all(0); 10];
            for k in 0..10 {
                biases[k] = all(BIAS * P[k]);
            }
            biases
        }

        /// Carries limb `I` into the next one.
        #[inline]
        #[target_feature(enable = $features)]
        fn carry<const I: usize>(z: &mut Part) {
            let carry = if I % 2 == 0 { right::<26>(z[I]) } else { right::<25>(z[I]) };
            z[I] = and(z[I], all(LOW[I % 2]));
            // 2^255 = 19.
            let carry = if I == 9 { add(add(carry, left::<1>(carry)), left::<4>(carry)) } else { carry };
            let next = (I + 1) % 10;
            z[next] = add(z[next], carry);
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn carried(columns: &Part) -> Part {
            let mut z = *columns;
            carry::<0>(&mut z);
            carry::<4>(&mut z);
            carry::<1>(&mut z);
            carry::<5>(&mut z);
            carry::<2>(&mut z);
            carry::<6>(&mut z);
            carry::<3>(&mut z);
            carry::<7>(&mut z);
            carry::<4>(&mut z);
            carry::<8>(&mut z);
            carry::<9>(&mut z);
            carry::<0>(&mut z);
            z
        }

        /// Adds the products of limb `I` of `a`. `twice` and `times_19` are those multiples of a and b.
        #[inline]
        #[target_feature(enable = $features)]
        fn add_row<const I: usize>(z: &mut Part, [a, twice]: [&Part; 2], [b, times_19]: [&Part; 2]) {
            for j in 0..10 {
                let first = if I % 2 == 1 && j % 2 == 1 { twice[I] } else { a[I] };
                let second = if I + j < 10 { b[j] } else { times_19[j] };
                let k = (I + j) % 10;
                z[k] = add(z[k], multiply(first, second));
            }
        }

        /// `start + a · b`.
        #[inline]
        #[target_feature(enable = $features)]
        fn product(start: Part, a: &Part, b: &Part) -> Part {
            let (twice, mut times_19) = (add_all(a, a), *b);
            for j in 1..10 {
                times_19[j] = multiply(b[j], all(19));
            }
            let (a, b, mut z) = ([a, &twice], [b, &times_19], start);
            add_row::<0>(&mut z, a, b);
            add_row::<1>(&mut z, a, b);
            add_row::<2>(&mut z, a, b);
            add_row::<3>(&mut z, a, b);
            add_row::<4>(&mut z, a, b);
            add_row::<5>(&mut z, a, b);
            add_row::<6>(&mut z, a, b);
            add_row::<7>(&mut z, a, b);
            add_row::<8>(&mut z, a, b);
            add_row::<9>(&mut z, a, b);
            z
        }

        /// Adds the products of limb `I` of `a` with itself and with the later ones. Then come the multiples of a
        /// by 2, 19 and 38.
        #[inline]
        #[target_feature(enable = $features)]
        fn add_square_row<const I: usize>(z: &mut Part, a: &Part, multiples: &[Part; 3]) {
            let [twice, times_19, times_38] = multiples;
            for j in I..10 {
                let first = if I == j { a[I] } else { twice[I] };
                let second = match (I + j < 10, I % 2 == 1 && j % 2 == 1) {
                    (true, false) => a[j],
                    (true, true) => twice[j],
                    (false, false) => times_19[j],
                    (false, true) => times_38[j],
                };
                let k = (I + j) % 10;
                z[k] = add(z[k], multiply(first, second));
            }
        }

        /// `start + a²`.
        #[inline]
        #[target_feature(enable = $features)]
        fn square(start: Part, a: &Part) -> Part {
            let (twice, mut times_19, mut z) = (add_all(a, a), *a, start);
            for j in 5..10 {
                times_19[j] = multiply(a[j], all(19));
            }
            let multiples = [twice, times_19, add_all(&times_19, &times_19)];
            add_square_row::<0>(&mut z, a, &multiples);
            add_square_row::<1>(&mut z, a, &multiples);
            add_square_row::<2>(&mut z, a, &multiples);
            add_square_row::<3>(&mut z, a, &multiples);
            add_square_row::<4>(&mut z, a, &multiples);
            add_square_row::<5>(&mut z, a, &multiples);
            add_square_row::<6>(&mut z, a, &multiples);
            add_square_row::<7>(&mut z, a, &multiples);
            add_square_row::<8>(&mut z, a, &multiples);
            add_square_row::<9>(&mut z, a, &multiples);
            z
        }

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

        /// The same elements with limbs of 26 and 25 bits and values below p.
        ///
        /// An `Fe` is below 2^255 + 2^146 < 2p. It is at least p exactly if adding 19 carries out of bit 255; then
        /// adding 19 and dropping that bit subtracts p.
        #[inline]
        #[target_feature(enable = $features)]
        fn reduced(limbs: &Part) -> Part {
            let mut carry = all(19);
            for k in 0..10 {
                let sum = add(limbs[k], carry);
                carry = if k % 2 == 0 { right::<26>(sum) } else { right::<25>(sum) };
            }
            let mut carry = multiply(carry, all(19));
            let mut limbs = *limbs;
            for k in 0..10 {
                let sum = add(limbs[k], carry);
                carry = if k % 2 == 0 { right::<26>(sum) } else { right::<25>(sum) };
                limbs[k] = and(sum, all(LOW[k % 2]));
            }
            limbs
        }

        /// Limbs of 51 bits, each cut into one of 26 and one of 25.
        #[inline]
        #[target_feature(enable = $features)]
        fn split(words: [V; 5]) -> Part {
            let mut limbs = [all(0); 10];
            for k in 0..5 {
                limbs[2 * k] = and(words[k], all(LOW[0]));
                limbs[2 * k + 1] = right::<26>(words[k]);
            }
            limbs
        }

        /// The reverse of [`split`].
        #[inline]
        #[target_feature(enable = $features)]
        fn joined(limbs: &Part) -> [V; 5] {
            let mut words = [all(0); 5];
            for k in 0..5 {
                words[k] = or(limbs[2 * k], left::<26>(limbs[2 * k + 1]));
            }
            words
        }

        impl Fe {
            /// Little-endian bytes, one element a lane. Bit 255 is ignored, any value of the others taken modulo
            /// p.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn from_bytes(bytes: [&[u8; 32]; LANES]) -> Self {
                // Word i of lane n.
                let mut words = [[0; LANES]; 4];
                for (i, words) in words.iter_mut().enumerate() {
                    for (word, bytes) in words.iter_mut().zip(bytes) {
                        *word = u64::from_le_bytes(bytes.as_chunks().0[i]);
                    }
                }
                Self(parts!(|part| {
                    let mut w = [all(0); 4];
                    for i in 0..4 {
                        w[i] = load(&words[i].as_chunks().0[part]);
                    }
                    let mut limbs = [
                        w[0],
                        or(right::<51>(w[0]), left::<13>(w[1])),
                        or(right::<38>(w[1]), left::<26>(w[2])),
                        or(right::<25>(w[2]), left::<39>(w[3])),
                        right::<12>(w[3]),
                    ];
                    for k in 0..5 {
                        limbs[k] = and(limbs[k], all((1 << 51) - 1));
                    }
                    split(limbs)
                }))
            }

            /// Little-endian bytes of the least non-negative residues.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn to_bytes(self) -> [[u8; 32]; LANES] {
                let limbs = self.to_limbs();
                let mut bytes = [[0; 32]; LANES];
                for (lane, bytes) in bytes.iter_mut().enumerate() {
                    let [a, b, c, d, e] = limbs.map(|limb| limb[lane]);
                    let words = [a | b << 51, b >> 13 | c << 38, c >> 26 | d << 25, d >> 39 | e << 12];
                    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
                        *bytes = word.to_le_bytes();
                    }
                }
                bytes
            }

            /// Limbs of 51 bits, each with its eight lanes; below 2^51.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn to_limbs(self) -> WordLimbs {
                let mut limbs = [[0; LANES]; 5];
                for part in 0..PARTS {
                    let words = joined(&reduced(&self.0[part]));
                    for k in 0..5 {
                        limbs[k].as_chunks_mut().0[part] = store(words[k]);
                    }
                }
                limbs
            }

            /// Each lane takes the element of the lane that is `BY` further, cyclically.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn rotated<const BY: i32>(&self) -> Self {
                let mut rotated = self.0;
                for k in 0..10 {
                    let mut lanes = [0; LANES];
                    for part in 0..PARTS {
                        lanes.as_chunks_mut().0[part] = store(self.0[part][k]);
                    }
                    lanes.rotate_left(BY as usize);
                    for part in 0..PARTS {
                        rotated[part][k] = load(&lanes.as_chunks().0[part]);
                    }
                    lanes.zeroize();
                }
                Self(rotated)
            }

            /// Each lane takes the element of the table that its digit chooses, and `zero` if the digit is zero.
            /// The table is read as a whole, and permuted within registers.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn look_up(table: &Table, digits: &Digits, zero: u64) -> Self {
                Self(parts!(|part| {
                    let mut words = [all(0); 5];
                    for k in 0..5 {
                        words[k] = entry(&table[k], digits.index[part]);
                    }
                    let none = mask_of(digits.equal(0) >> (part * WIDTH));
                    words[0] = choose(none, all(zero), words[0]);
                    split(words)
                }))
            }
        }

        /// Entries of a [`Table`].
        pub(super) const ENTRIES: usize = 32;

        /// The limbs of 51 bits of the elements for the digits 1 to 32.
        pub(super) type Table = [[u64; ENTRIES]; 5];

        /// A digit from -32 to 32 in each lane, ready to choose from a [`Table`].
        #[derive(Clone, Copy)]
        pub(super) struct Digits {
            /// |digit| - 1.
            index: [V; PARTS],
            /// The digit is below zero.
            pub(super) negative: Lanes,
        }

        impl Digits {
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn new(digits: [i8; LANES]) -> Self {
                let (mut places, mut negative) = ([0; LANES], 0);
                for lane in 0..LANES {
                    places[lane] = u64::from(digits[lane].unsigned_abs()).wrapping_sub(1);
                    negative |= (digits[lane].cast_unsigned() >> 7) << lane;
                }
                let mut index = [all(0); PARTS];
                for part in 0..PARTS {
                    index[part] = load(&places.as_chunks().0[part]);
                }
                Self { index, negative }
            }

            /// |digit| is this number.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn equal(&self, size: u64) -> Lanes {
                let mut lanes = 0;
                for part in 0..PARTS {
                    lanes |= equal_lanes(self.index[part], all(size.wrapping_sub(1))) << (part * WIDTH);
                }
                lanes
            }
        }

        #[cfg(test)]
        mod tests {
            field26_tests!($features);
        }
    };
}
