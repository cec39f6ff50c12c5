//! The text of the sums under a band, once for each kind of vectors.
//!
//! A vector holds `LANES / K` columns of K words. Lane e of vector g of a word stands for bit (g · LANES + e)
//! / K.

/// `band` · 2^by, by below 64, one word longer.
#[inline(always)]
pub(super) fn shifted<const N: usize>(band: &[u64; N], by: u32) -> ([u64; N], u64) {
    let mut words = *band;
    let mut carry = 0;
    for word in &mut words {
        let carried = (*word >> 1) >> (63 - by);
        *word = *word << by | carry;
        carry = carried;
    }
    (words, carry)
}

/// Defines the kernels over the vector operations of the surrounding module.
macro_rules! kernels {
    ($features:literal) => {
        /// Adds the columns of `row`, which begin at `place`, to `sum`. `words` selects among them.
        ///
        /// # Safety
        /// `place` begins 64 · N columns of K words in readable memory.
        #[target_feature(enable = $features)]
        #[inline]
        unsafe fn add_words<const N: usize, const K: usize>(
            mut sums: [V; 2],
            words: &[u64; N],
            place: *const u64,
        ) -> [V; 2] {
            for (w, word) in words.iter().enumerate() {
                let bits = splat(*word);
                for vector in 0..64 * K / LANES {
                    let mask = test(bits, lane_bits::<K>(vector));
                    // SAFETY: within the 64 · N columns.
                    let values = unsafe { place.add(64 * K * w + LANES * vector) };
                    // SAFETY: a whole vector lies within the columns.
                    sums[vector % 2] = unsafe { add_where(sums[vector % 2], mask, values) };
                }
            }
            sums
        }

        #[target_feature(enable = $features)]
        pub(in crate::band) fn sums<V: XorValue, const N: usize, const K: usize>(
            table: &[V],
            rows: &[BandRow<N>],
            sums: &mut [V],
        ) {
            assert!(K == V::WORDS && size_of::<V>() == 8 * K, "words of a value");
            let columns = LANES / K;
            // Columns before the first boundary of a cache line.
            let ahead = table.as_ptr().align_offset(LANES * 8) % columns;
            for (row, sum) in rows.iter().zip(sums) {
                let by = (row.start as usize + columns - ahead) % columns;
                let (Some(first), Some(window)) =
                    ((row.start as usize).checked_sub(by), table.len().checked_sub(64 * N + columns))
                else {
                    *sum = selected(table, row);
                    continue;
                };
                if first > window {
                    *sum = selected(table, row);
                    continue;
                }
                let (words, last) = shifted(&row.band, by as u32);
                let place = table[first..].as_ptr().cast::<u64>();
                // SAFETY: 64 · N + LANES / K columns follow `first`, values being K words each.
                let total = unsafe {
                    let [even, odd] = add_words::<N, K>([zero(), zero()], &words, place);
                    let mask = test(splat(last), lane_bits::<K>(0));
                    fold::<K>(xor(even, add_where(odd, mask, place.add(64 * N * K))))
                };
                // SAFETY: the first K words of a vector are a value.
                *sum = unsafe { core::ptr::from_ref(&total).cast::<V>().read() };
            }
        }

        #[target_feature(enable = $features)]
        pub(in super::super) fn back_substitute<V: XorValue, const N: usize, const K: usize>(
            bands: &[[u64; N]],
            table: &mut [V],
        ) {
            assert!(K == V::WORDS && size_of::<V>() == 8 * K, "words of a value");
            assert!(table.len() >= bands.len() + 64 * N + LANES, "a margin behind the last band");
            let columns = LANES / K;
            // Blocks of one vector, aligned; the columns before and behind them one by one.
            let ahead = (table.as_ptr().align_offset(LANES * 8) % columns).min(bands.len());
            let blocks = (bands.len() - ahead) / columns;
            substitute_range(bands, table, ahead + blocks * columns..bands.len());
            for block in (0..blocks).rev() {
                let first = ahead + block * columns;
                let place = table[first..].as_mut_ptr().cast::<u64>();
                // SAFETY: a vector's columns begin at `place`.
                let mut solved = unsafe { load(place) };
                for i in (0..columns).rev() {
                    let mut band = bands[first + i];
                    band[0] &= !1;
                    let (mut words, last) = shifted(&band, i as u32);
                    // Bits of this block are those of the values that are being solved; they are added last.
                    let own = test(splat(words[0]), lane_bits::<K>(0));
                    words[0] &= !(((1u128 << columns) - 1) as u64);
                    // SAFETY: 64 · N + LANES / K columns begin at `place`.
                    let total = unsafe {
                        let [even, odd] = add_words::<N, K>([zero(), zero()], &words, place);
                        let mask = test(splat(last), lane_bits::<K>(0));
                        xor(even, add_where(odd, mask, place.add(64 * N * K)))
                    };
                    let total = fold::<K>(xor(total, only(own, solved)));
                    solved = xor(solved, only(lanes_of::<K>(i), total));
                }
                // SAFETY: as for the load.
                unsafe { store(place, solved) };
            }
            substitute_range(bands, table, 0..ahead);
        }
    };
}

/// Bits that the lanes stand for: lane e has bit e / K, counted in `BITS`.
const fn lanes<const K: usize, const ALL: usize>() -> [u64; ALL] {
    let mut bits = [0; ALL];
    let mut e = 0;
    while e < ALL {
        bits[e] = 1 << (e / K % 64);
        e += 1;
    }
    bits
}

pub(super) struct Lanes<const K: usize>;

impl<const K: usize> Lanes<K> {
    /// One bit a lane, for the 64 · K lanes of a word; K is at most 4.
    pub(super) const BITS: [u64; 256] = lanes::<K, 256>();
    /// How far a word is to be shifted to the left that the lane's bit is the highest.
    #[cfg(target_arch = "x86_64")]
    pub(super) const SHIFTS: [u64; 256] = {
        let mut shifts = [0; 256];
        let mut e = 0;
        while e < 256 {
            shifts[e] = 63 - (e / K % 64) as u64;
            e += 1;
        }
        shifts
    };
}
