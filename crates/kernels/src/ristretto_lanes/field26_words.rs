//! What goes in and out of the field with limbs of 26 and 25 bits: residues, bytes, tables.

/// Defines it for the surrounding field.
macro_rules! field26_words {
    ($features:literal) => {
        /// These elements with limbs of 26 and 25 bits and values below p.
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
    };
}
