//! The text of the kernels of GF(2^128), once for each kind of vectors, of `LANES` elements each.

/// Elements that stay in the cache while they are multiplied by entries of one table after the other.
pub(super) const BATCH: usize = 256;

/// x^128 modulo the field polynomial: ρ.
pub(super) const RHO: u128 = 0x87;

/// Defines the kernels over the vector operations of the surrounding module. What does not fill a vector is
/// left to the narrow ones, where nothing is left over.
macro_rules! kernels {
    ($features:literal) => {
        /// lo + hi·x^128, the product as a polynomial; Karatsuba on 64-bit halves.
        #[target_feature(enable = $features)]
        #[inline]
        fn product(x: V, y: V) -> (V, V) {
            let (low, high) = (multiply_halves::<0x00>(x, y), multiply_halves::<0x11>(x, y));
            let middle = multiply_halves::<0x00>(xor(x, swap_halves(x)), xor(y, swap_halves(y)));
            spread(low, xor(xor(middle, low), high), high)
        }

        /// low + middle·x^64 + high·x^128 as two halves.
        #[target_feature(enable = $features)]
        #[inline]
        fn spread(low: V, middle: V, high: V) -> (V, V) {
            let middle = swap_halves(middle);
            let upper_half = splat(Block::from_halves(0, u64::MAX));
            (xor(low, and(middle, upper_half)), xor(high, and_not(upper_half, middle)))
        }

        /// As in the parent module.
        #[target_feature(enable = $features)]
        #[inline]
        fn reduce((low, high): (V, V)) -> V {
            let rho = splat(Block::from_u128(RHO));
            let upper = swap_halves(multiply_halves::<0x01>(high, rho));
            let lower = multiply_halves::<0x00>(xor(high, upper), rho);
            let upper = and(upper, splat(Block::from_halves(0, u64::MAX)));
            xor(xor(low, upper), lower)
        }

        #[target_feature(enable = $features)]
        pub(in super::super) fn multiply(x: &mut [Block], y: &[Block]) {
            let (x, x_rest) = x.as_chunks_mut::<LANES>();
            let (y, y_rest) = y.as_chunks::<LANES>();
            for (x, y) in x.iter_mut().zip(y) {
                store(x, reduce(product(load(x), load(y))));
            }
            if !x_rest.is_empty() {
                narrow::multiply(x_rest, y_rest);
            }
        }

        #[target_feature(enable = $features)]
        pub(in super::super) fn multiply_add(y: &mut [Block], c: Block, x: &[Block]) {
            let factor = splat(c);
            let (y, y_rest) = y.as_chunks_mut::<LANES>();
            let (x, x_rest) = x.as_chunks::<LANES>();
            for (y, x) in y.iter_mut().zip(x) {
                store(y, xor(load(y), reduce(product(factor, load(x)))));
            }
            if !y_rest.is_empty() {
                narrow::multiply_add(y_rest, c, x_rest);
            }
        }

        #[target_feature(enable = $features)]
        pub(in super::super) fn butterfly(low: &mut [Block], high: &mut [Block], c: Block) {
            let factor = splat(c);
            let (low, low_rest) = low.as_chunks_mut::<LANES>();
            let (high, high_rest) = high.as_chunks_mut::<LANES>();
            for (low, high) in low.iter_mut().zip(high) {
                let (upper, sum) = (load(high), load(low));
                let sum = xor(sum, reduce(product(factor, upper)));
                store(low, sum);
                store(high, xor(upper, sum));
            }
            if !low_rest.is_empty() {
                narrow::butterfly(low_rest, high_rest, c);
            }
        }

        #[target_feature(enable = $features)]
        pub(in super::super) fn table_products(x: &mut [Block], tables: &[[Block; 8]], indices: &[u32]) {
            let (whole, rest) = x.as_chunks_mut::<LANES>();
            let (numbers, numbers_rest) = indices.as_chunks::<LANES>();
            for (whole, numbers) in whole.chunks_mut(BATCH / LANES).zip(numbers.chunks(BATCH / LANES)) {
                for (window, table) in (0..).zip(tables) {
                    let table = load_table(table);
                    for (x, numbers) in whole.iter_mut().zip(numbers) {
                        let factor = select(&table, numbers, 3 * window);
                        store(x, reduce(product(load(x), factor)));
                    }
                }
            }
            if !rest.is_empty() {
                narrow::table_products(rest, tables, numbers_rest);
            }
        }

        /// Low, middle and high products of the halves, without Karatsuba: sums take no reduction, so the
        /// additions that it costs would outweigh the multiplication that it saves.
        #[target_feature(enable = $features)]
        #[inline]
        fn add_product(sums: &mut [V; 3], x: V, y: V) {
            sums[0] = xor(sums[0], multiply_halves::<0x00>(x, y));
            sums[1] = xor(sums[1], xor(multiply_halves::<0x01>(x, y), multiply_halves::<0x10>(x, y)));
            sums[2] = xor(sums[2], multiply_halves::<0x11>(x, y));
        }

        /// Adds the products of each row with the factors, unreduced and lane by lane.
        #[target_feature(enable = $features)]
        pub(in super::super) fn add_row_products(
            sums: &mut [[Block; 12]],
            rows: &[[Block; 8]],
            factors: &[Block; 8],
        ) {
            let mut loaded = [splat(Block::ZERO); 8 / LANES];
            for (loaded, factors) in loaded.iter_mut().zip(factors.as_chunks::<LANES>().0) {
                *loaded = load(factors);
            }
            for (sums, row) in sums.iter_mut().zip(rows) {
                let (sums, row) = (sums.as_chunks_mut::<4>().0, row.as_chunks::<LANES>().0);
                let mut parts = [splat(Block::ZERO); 3];
                for (at, part) in parts.iter_mut().enumerate() {
                    *part = load(&sums[at].as_chunks::<LANES>().0[0]);
                }
                for (at, y) in loaded.iter().enumerate() {
                    add_product(&mut parts, load(&row[at]), *y);
                }
                for (at, part) in parts.iter().enumerate() {
                    store(&mut sums[at].as_chunks_mut::<LANES>().0[0], *part);
                }
            }
        }

        #[target_feature(enable = $features)]
        pub(in super::super) fn inner_product(x: &[Block], y: &[Block]) -> Block {
            let mut sums = [splat(Block::ZERO); 3];
            let (x, x_rest) = x.as_chunks::<LANES>();
            let (y, y_rest) = y.as_chunks::<LANES>();
            for (x, y) in x.iter().zip(y) {
                add_product(&mut sums, load(x), load(y));
            }
            let mut lanes = [Block::ZERO; LANES];
            store(&mut lanes, reduce(spread(sums[0], sums[1], sums[2])));
            let rest = if x_rest.is_empty() { Block::ZERO } else { narrow::inner_product(x_rest, y_rest) };
            lanes.into_iter().fold(rest, |sum, lane| sum ^ lane)
        }
    };
}
