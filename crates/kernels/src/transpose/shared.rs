//! The text of the transposition, once for each kind of vectors. Names of bits as in the parent module.
//!
//! Loops count: iterators are not inlined into functions with target features by every build.

/// Defines the kernel, over the vector operations of the surrounding module.
macro_rules! kernel {
    ($features:literal) => {
        /// Interleaves the bytes of two vectors, of each lane the lower or the upper half: bit 3 of the byte
        /// number leaves, the others move up, and the choice of vector becomes bit 0.
        #[target_feature(enable = $features)]
        #[inline]
        fn interleave<const REVERSED: bool>(zero: V, one: V) -> (V, V) {
            let (zero, one) = if REVERSED { (one, zero) } else { (zero, one) };
            (unpack_low8(zero, one), unpack_high8(zero, one))
        }

        /// Exchanges both bits of four vectors' numbers with the upper bits of the byte number, the upper one
        /// first.
        #[target_feature(enable = $features)]
        #[inline]
        fn exchange<const REVERSED: bool>(x: [V; 4]) -> [V; 4] {
            let (even, even_high) = interleave::<REVERSED>(x[0], x[2]);
            let (odd, odd_high) = interleave::<REVERSED>(x[1], x[3]);
            let (a, b) = interleave::<REVERSED>(even, odd);
            let (c, d) = interleave::<REVERSED>(even_high, odd_high);
            [a, b, c, d]
        }

        /// Rows 8r to 8r + 7 at one stripe of columns: vector k3 k2 k1 holds, for byte numbers with these
        /// bits, lanes k5 k4 and places k0 b2 b1 b0 of the bits i2 i1 i0.
        #[target_feature(enable = $features)]
        #[inline]
        fn eight_rows(rows: &[[Block; COLUMNS / 128]; 8], stripe: usize) -> [V; 8] {
            let mut x = [zero(); 8];
            for i in 0..8 {
                x[i] = load(&rows[i].as_chunks().0[stripe]);
            }
            // Vector numbers i2 i1 i0, then k3 i1 i0, then k3 k2 k1.
            let (a, e) = interleave::<REVERSED>(x[0], x[4]);
            let (b, f) = interleave::<REVERSED>(x[1], x[5]);
            let (c, g) = interleave::<REVERSED>(x[2], x[6]);
            let (d, h) = interleave::<REVERSED>(x[3], x[7]);
            let [a, b, c, d] = exchange::<REVERSED>([a, b, c, d]);
            let [e, f, g, h] = exchange::<REVERSED>([e, f, g, h]);
            let mut x = [a, b, c, d, e, f, g, h];
            for i in 0..8 {
                x[i] = turn_bits(x[i]);
            }
            x
        }

        #[target_feature(enable = $features)]
        pub(in super::super) fn transpose(tile: &Tile, columns: &mut [Block; COLUMNS]) {
            let mut halfway = [[zero(); 16]; 8];
            let (columns, tile) = (columns.as_chunks_mut::<STRIPE>().0, tile.as_chunks::<8>().0);
            for stripe in 0..columns.len() {
                let columns = &mut columns[stripe];
                for r in 0..16 {
                    let x = eight_rows(&tile[r], stripe);
                    for k in 0..8 {
                        halfway[k][r] = x[k];
                    }
                }
                for k in 0..8 {
                    let x = &halfway[k];
                    // Vector numbers r3 r2 r1 r0, then r3 r2 k0 b2; inside, b1 b0 r1 r0.
                    let a = exchange::<false>([x[0], x[1], x[2], x[3]]);
                    let b = exchange::<false>([x[4], x[5], x[6], x[7]]);
                    let c = exchange::<false>([x[8], x[9], x[10], x[11]]);
                    let d = exchange::<false>([x[12], x[13], x[14], x[15]]);
                    for low in 0..4 {
                        finish([a[low], b[low], c[low], d[low]], 16 * k + 4 * low, columns);
                    }
                }
            }
        }
    };
}
